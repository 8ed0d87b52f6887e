"""The page of a release of baskets, and the section about baskets on the page of any other release."""

from markupsafe import Markup

from ringfence.audit.verdict import some
from ringfence.census.baskets import Baskets
from ringfence.report import item_pictures, words
from ringfence.report.claims import limits, promises
from ringfence.report.item_evidence import ItemEvidence
from ringfence.report.page import every_page, inline, template
from ringfence.report.subject import Section, Subject
from ringfence.report.words import percent
from ringfence.search.itemsets.decide_baskets import BasketDecision

LISTED = 40
COMMONEST = 10


def basket_section(baskets: Baskets, decision: BasketDecision) -> Section:
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
    return Section(Markup(html), charts)


def item_page(subject: Subject) -> Section:
    """Return the page of a release that has baskets and no quasi-identifiers."""
    baskets, decision, spec = subject.baskets, subject.decision.baskets, subject.spec
    assert baskets is not None, "a release of baskets has some"
    section = basket_section(baskets, decision)
    html = template("items").render(
        **every_page(subject),
        kept=words.kept(spec, subject.verdict),
        rows=baskets.rows,
        empty=baskets.empty,
        different=len(baskets.weights),
        items=baskets.hierarchy.leaves,
        kept_items=ItemEvidence(baskets, decision.plan).kept,
        labels=len(set(decision.plan.items.labels)),
        ncp=decision.search.cost,
        search=decision.search,
        basket=section.html,
        promises=list(promises(spec)),
        limits=list(limits(spec, decision.plan, {})),
    )
    return Section(Markup(html), section.charts)
