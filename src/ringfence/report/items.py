"""The page of a release of baskets, and the section about baskets on the page of any other release."""

from dataclasses import dataclass, field

from markupsafe import Markup

from ringfence.audit.verdict import Verdict, some
from ringfence.census.baskets import Baskets
from ringfence.report import item_pictures, words
from ringfence.report.claims import limits, promises
from ringfence.report.item_evidence import ItemEvidence
from ringfence.report.page import columns_table, inline, template, versions
from ringfence.report.style import Chart
from ringfence.report.words import percent
from ringfence.search.itemsets.decide_baskets import BasketDecision
from ringfence.spec import Spec
from ringfence.spec.tables import shown_name

LISTED = 40
COMMONEST = 10


@dataclass(eq=False)
class BasketSection:
    """What a page says about baskets: its HTML, and its charts by name."""

    evidence: ItemEvidence
    html: Markup
    charts: dict[str, Chart] = field(default_factory=dict)


def basket_section(baskets: Baskets, decision: BasketDecision) -> BasketSection:
    """Draw the cut on the item tree, and say what forced each generalization and what it costs."""
    evidence = ItemEvidence(baskets, decision.plan)
    labels = len(set(decision.plan.items.labels))
    shares = evidence.widths()
    titles = {
        "item-cut": f"{baskets.name}: {some(evidence.tree.leaves, 'item')} become {some(labels, 'label')}",
        "item-widths": f"Of {percent(shares[0][1])} of all items, the item itself is published",
    }
    charts = {"item-widths": item_pictures.widths(shares, titles["item-widths"])}
    if evidence.groups:
        charts["item-cut"] = item_pictures.cut(evidence, titles["item-cut"])
    html = template("basket").render(
        groups=evidence.groups,
        items=evidence.tree.leaves,
        labels=labels,
        kept=evidence.kept,
        titles=titles,
        svgs={name: inline(chart, titles[name]) for name, chart in charts.items()},
        drawn=item_pictures.MOST_GROUPS,
        listed=LISTED,
        commonest=evidence.commonest(COMMONEST),
        ncp=decision.search.cost,
        search=decision.search,
    )
    return BasketSection(evidence, Markup(html), charts)


def render_items(
    section: BasketSection, decision: BasketDecision, verdict: Verdict, spec: Spec, attacks: Markup | None = None
) -> str:
    """Return the page of a release that has baskets and no quasi-identifiers."""
    baskets = section.evidence.baskets
    return template("items").render(
        source=shown_name(spec.data.source) if spec.data.source else None,
        verdict=verdict,
        attacks=attacks,
        kept=words.kept(spec, verdict),
        spec=spec,
        rows=baskets.rows,
        empty=baskets.empty,
        different=len(baskets.weights),
        items=baskets.hierarchy.leaves,
        kept_items=section.evidence.kept,
        labels=len(set(decision.plan.items.labels)),
        ncp=decision.search.cost,
        search=decision.search,
        method=spec.method.traits.line,
        attributes=columns_table(spec),
        basket=section.html,
        promises=list(promises(spec)),
        limits=list(limits(spec, decision.plan, {})),
        versions=versions(),
    )
