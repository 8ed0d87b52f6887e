"""The page: evidence and charts put into the template, with titles that say what they show."""

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import numba
import numpy as np
from markupsafe import Markup, escape

from ringfence.audit.verdict import some
from ringfence.census.census import Census, Quasi
from ringfence.declared import METRICS, SCHEMES
from ringfence.plans.base import Plan
from ringfence.plans.published import Published
from ringfence.report import evidence, pictures, plots, words
from ringfence.report.claims import limits, promises
from ringfence.report.style import WIDTH, as_svg, shown
from ringfence.report.subject import Section, Subject
from ringfence.report.vega import Chart
from ringfence.report.words import joined, number, percent
from ringfence.search.groups.boundaries import explain_suppression
from ringfence.search.progress import MOST_COUNTED
from ringfence.spec import Spec
from ringfence.spec.data import shown_name
from ringfence.version import __version__

CLEAR = 0.1
"""Pairs of attributes with at least this V count as associated."""
KINDS = ("recoding", "class-sizes", "losses", "marginal", "associations")
COUNTS = ("rows", "suppressed", "classes", "item_ncp")  # the section about baskets tells of the last


@dataclass(eq=False)
class Drawn:
    """What was computed and drawn for a page: evidence, and charts by name with their titles."""

    released: Published
    losses: dict[str, float]
    marginals: list[evidence.Marginal]
    pairs: list[evidence.Association]
    charts: dict[str, Chart] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, title: str, chart: Chart) -> None:
        """Keep a chart with its title."""
        self.charts[name], self.titles[name] = chart, title

    def figures(self, prefix: str) -> list[dict[str, Any]]:
        """Return the charts whose names start like this, as the template takes them."""
        names = [name for name in self.charts if name.startswith(prefix)]
        return [{"title": self.titles[name], "svg": inline(self.charts[name], self.titles[name])} for name in names]


def draw(released: Published, plan: Plan, spec: Spec) -> Drawn:
    """Compute the evidence and draw every chart of a report."""
    census = released.census
    drawn = Drawn(
        released=released,
        losses=evidence.attribute_losses(released),
        marginals=evidence.marginals(released),
        pairs=evidence.associations(released),
    )
    for place, (quasi, marginal) in enumerate(zip(census.quasi, drawn.marginals, strict=True), 1):
        column = plan.columns[quasi.name]
        if column.changes_nothing or column.tells_nothing:
            continue  # a sentence says it all
        name = _file_name("recoding", place, quasi.name)
        if column.label_of_leaf is not None:
            title = f"{quasi.name}: {_recoded(released, place - 1)}"
            drawn.add(name, title, pictures.recoding(quasi, column.label_of_leaf, released.kept(place - 1), title))
        elif quasi.numeric:
            reach = evidence.spans(released, place - 1)
            title = f"{quasi.name}: {_reach(reach, dates=quasi.has_dates)}"
            drawn.add(name, title, plots.spans(reach, title))
        else:
            bins = evidence.width_bins(released, place - 1)
            title = f"{quasi.name}: {_widths(bins)}"
            drawn.add(name, title, plots.widths(bins, title))
        title = f"{quasi.name}: {percent(marginal.moved)} misplaced"
        drawn.add(_file_name("marginal", place, quasi.name), title, plots.marginal(quasi, marginal, title))
    k = spec.k
    largest = max(int(census.sizes.max()), int(released.sizes.max()), k)
    title = _size_title(released)
    before, after = (evidence.size_bins(sizes, k, largest) for sizes in (census.sizes, released.sizes))
    if not spec.has_rings:
        drawn.add("class-sizes", title, plots.class_sizes(before, after, k, title))
    title = _loss_title(drawn.losses)
    drawn.add("losses", title, plots.losses(drawn.losses, title))
    if any(pair.before >= CLEAR for pair in drawn.pairs):
        title = _pairs_title(drawn.pairs)
        drawn.add("associations", title, plots.associations(drawn.pairs, title))
    return drawn


def _recoded(released: Published, attribute: int) -> str:
    """Say how many labels the values of an attribute become, and how many of them are only in suppressed rows."""
    quasi, kept = released.census.quasi[attribute], released.kept(attribute)
    gone = int(((quasi.rows > 0) & ~kept).sum())
    left = f", {gone:,} {'is' if gone == 1 else 'are'} suppressed" if gone else ""
    return f"{some(quasi.occurring, 'value')} become {some(len(released.labels(attribute)), 'label')}{left}"


def _widths(bins: Sequence[evidence.WidthBin]) -> str:
    """Say how many values the published cells of an attribute stand for."""
    shares = np.cumsum([part.share for part in bins])
    most = bins[int(np.searchsorted(shares, 0.9 - 1e-9))].high
    rest = f", nine in ten stand for up to {most:,} of {bins[-1].high:,}" if most > 1 else ""
    return f"{percent(bins[0].share)} of the cells show one value{rest}"


def _reach(reach: evidence.Spans, *, dates: bool) -> str:
    """Say how far the published cells of an attribute on a line reach."""
    half, most, whole = map(words.duration if dates else number, (reach.half, reach.most, reach.whole))
    if reach.most == 0:
        return f"nine in ten cells show one value; all values span {whole}"
    shown = "show one value" if reach.half == 0 else f"span {half} or less"
    return f"half of the cells {shown}, nine in ten span {most} or less, of {whole}"


def _file_name(kind: str, place: int, name: str) -> str:
    """Return a name for a chart that any file system takes; the place tells names apart that become alike."""
    return f"{kind}-{place:02}-{re.sub(r'[^A-Za-z0-9_]+', '-', name)[:40].strip('-')}".rstrip("-")


def inline(chart: Chart, title: str) -> Markup:
    """Return a chart as SVG for a page: scalable, with its title for those who cannot see it, and no names of schemas.
    Letters may stand out at its edges: a browser with wider ones than the chart was drawn with would cut names off."""
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", as_svg(chart, titled=False), count=2)
    width = re.search(r'width="([\d.]+)"', svg)
    size = f"max-width:{float(width[1]) if width else WIDTH:.0f}px;overflow:visible"
    head = f'<svg role="img" aria-label="{escape(title)}" style="{size}"'
    return Markup(re.sub(r'<svg\b(.*?) width="[^"]*" height="[^"]*"', lambda found: head + found[1], svg, count=1))


# Titles


def _size_title(released: Published) -> str:
    weights = released.census.sizes
    alone = int((weights == 1).sum()) / released.census.rows
    least = int(released.sizes.min())
    before = (
        f"{percent(alone)} of the rows were alone with their combination of values"
        if alone
        else f"The smallest class of the original had {some(int(weights.min()), 'row')}"
    )
    return f"{before}; the smallest class of the release has {some(least, 'row')}"


def _loss_title(losses: dict[str, float]) -> str:
    all_lost = [name for name, loss in losses.items() if loss == 1]
    least = min(losses, key=lambda name: losses[name])
    most = max(losses, key=lambda name: losses[name])
    if losses[most] == 0:
        return "No attribute loses any detail"
    if all_lost:
        rest = f"; “{least}” loses least, {percent(losses[least])}" if len(all_lost) < len(losses) else ""
        return f"{joined(all_lost)} tell{'s' * (len(all_lost) == 1)} nothing any more{rest}"
    highest, lowest = percent(losses[most]), percent(losses[least])
    if highest == lowest:
        whose = "Each attribute" if len(losses) > 1 else f"“{most}”"
        return f"{whose} loses {highest} of its detail"
    return f"“{most}” loses most detail ({highest}), “{least}” least ({lowest})"


def _pairs_title(pairs: Sequence[evidence.Association]) -> str:
    clear = [pair for pair in pairs if pair.before >= CLEAR]
    half = sum(pair.after >= pair.before / 2 for pair in clear)
    return f"Of {some(len(clear), 'clear association')}, {half} keep at least half of their strength"


# The page


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of this folder."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"percent": percent, "number": number, "joined": joined, "some": some, "label": shown}
    return environment.get_template(f"{name}.html.jinja")


def every_page(subject: Subject) -> dict[str, Any]:
    """Return what the page of every release says, whatever its plan is."""
    spec, attacks = subject.spec, subject.attacks
    return {
        "source": shown_name(spec.data.source) if spec.data.source else None,
        "verdict": subject.verdict,
        "attacks": None if attacks is None else attacks.html,
        "use": None if subject.use is None else subject.use.html,
        "spec": spec,
        "method": words.method(spec, subject.decision.search),
        "attributes": columns_table(spec),
        "versions": versions(),
    }


def row_page(subject: Subject, basket: Section | None = None) -> Section:
    """Return the page of a release of rows; `basket` is the section about their baskets, where there are any."""
    census, decision, spec, incomplete = subject.census, subject.decision, subject.spec, subject.incomplete
    plan, metrics, released = decision.plan, decision.metrics, decision.plan.published(census)
    assert released is not None, "rows with quasi-identifiers are published"
    drawn = draw(released, plan, spec)
    uniform = {found.name: found for found in evidence.uniformities(released)}
    html = template("page").render(
        **every_page(subject),
        basket=None if basket is None else basket.html,
        kept=words.kept(spec, subject.verdict),
        plan=plan,
        counts={
            "read": census.rows + incomplete,
            "incomplete": incomplete,
            "counted": census.rows,
            "suppressed": plan.suppressed_rows,
            "published": released.rows,
            "classes": len(released.sizes),
            "combinations": len(census.sizes),
            "alone": int((census.sizes == 1).sum()),
            "alone_after": int((released.sizes == 1).sum()),
        },
        together=plan.together,
        failing=None if spec.data.composite else plan.failing_classes,
        fate=_fate(plan, spec),
        explanation=_explanation(census, plan, spec),
        metrics=[(name, value, METRICS[name].meaning) for name, value in metrics.items() if name not in COUNTS],
        detail=metrics["detail"],
        limit=min(spec.row_limit(census.rows), census.rows),
        metric=METRICS[spec.method.minimized].line,
        schemes={name: SCHEMES[name] for name in dict.fromkeys(map(spec.scheme_of, census.names))},
        done=_done(census, plan, drawn, spec),
        same=[name for name in census.names if plan.columns[name].changes_nothing],
        hidden=[name for name in census.names if plan.columns[name].tells_nothing],
        figures={kind: drawn.figures(kind) for kind in KINDS},
        others=evidence.other_marginals(released),
        pairs=drawn.pairs,
        promises=list(promises(spec)),
        limits=list(limits(spec, plan, uniform)),
        search=decision.search,
        most_counted=MOST_COUNTED,
    )
    return Section(Markup(html), {**drawn.charts, **({} if basket is None else basket.charts)})


def columns_table(spec: Spec) -> list[dict[str, str]]:
    """Return what the specification says of each column."""
    return [
        {
            "name": name,
            "role": words.ROLES[attribute.role],
            "hierarchy": words.hierarchy(attribute.hierarchy),
            "weight": f"{attribute.weight:g}" if attribute.role == "quasi" else "",
            "boundary": words.boundary(attribute.boundary),
        }
        for name, attribute in spec.attributes.items()
    ]


def versions() -> dict[str, str]:
    """Return the versions of what made the release."""
    return {
        "ringfence": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "duckdb": duckdb.__version__,
    }


def _explanation(census: Census, plan: Plan, spec: Spec) -> list[str]:
    """Say which rows boundaries cost, and what other boundaries would change, where groups keep within them."""
    bounded = any((quasi.hierarchy.ceilings != quasi.hierarchy.root).any() for quasi in census.quasi)
    if plan.together is None or not bounded:
        return []
    least = [spec.least_values(part.name) for part in census.sensitive]
    explanation = explain_suppression(census, k=spec.k, least_values=least)
    return list(replace(explanation, gone=plan.suppressed_rows).sentences)


def _fate(plan: Plan, spec: Spec) -> str:
    """Say what became of the suppressed rows."""
    if plan.masked:
        return "Suppressed rows stay in the release, with * in every quasi-identifier."
    if spec.method.keep_suppressed:
        return "Suppressed rows left the release: masked, they would not have kept the promise as one class."
    return "Suppressed rows left the release."


def _done(census: Census, plan: Plan, drawn: Drawn, spec: Spec) -> list[dict[str, Any]]:
    """Return for each quasi-identifier what became of it."""
    return [
        {
            "name": quasi.name,
            "values": quasi.occurring,
            "labels": len(drawn.released.labels(place)),
            "recoding": _recoding(quasi, plan, spec),
            "loss": drawn.losses[quasi.name],
            "moved": marginal.moved,
        }
        for place, (quasi, marginal) in enumerate(zip(census.quasi, drawn.marginals, strict=True))
    ]


def _recoding(quasi: Quasi, plan: Plan, spec: Spec) -> str:
    if plan.columns[quasi.name].label_of_leaf is None:
        return {"hierarchy": "labels of its hierarchy", "set": "sets", "range": "ranges"}[spec.shown_as(quasi.name)]
    level = plan.levels.get(quasi.name)
    return spec.scheme_of(quasi.name) if level is None else f"level {level} of {quasi.hierarchy.height}"
