"""The picture of a front: loss against k, as a page to point at and as a file to print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ringfence.markup import folded, table
from ringfence.report import vega
from ringfence.report.style import ACCENT, INK, ORIGINAL, RELEASE, finish
from ringfence.report.vega import Chart, Layer, Options, layered
from ringfence.report.words import number
from ringfence.search.front.frontier import Front, Point
from ringfence.search.front.scheme_front import SchemeFront

MOST_CLOUD = 4_000
"""More nodes than this are thinned out: they are there to show where the front is not."""

KNEES = (
    "A knee (marked) is a point up to which k comes cheaply and from which it becomes dear: it lies furthest below the"
    " straight line between the losses at a quarter of its k and at four times its k."
)


MARKED = (2, 3, 5, 10, 20, 50, 100)
"""The k that people ask about: each is marked, and said in words."""
STEEP = 20
"""Losses that differ by more than this factor are drawn on a scale of logarithms: else the small ones, which are those
of the k that people ask about, all lie on the axis."""

MAY_MISS = (
    "POkA looks at a part of the recodings only: the front may miss points, and what it shows for a k may not be the"
    " cheapest."
)


STYLE = (
    "<style>body{font-family:Arial,Helvetica,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222b35}"
    "table{border-collapse:collapse}td,th{text-align:right;padding:.2em 1em;border-bottom:1px solid #e6e9ed}"
    "details{margin:1em 0;overflow-x:auto}</style>"
)


@dataclass(frozen=True, eq=False)
class FrontPicture:
    """A chart with the words that go with it: what it shows, `costs`, a row for each k that people ask about, and
    `points`, the whole front as a table."""

    chart: Chart
    title: str
    words: Sequence[str]
    costs: Sequence[Mapping[str, Any]]
    points: Sequence[Mapping[str, Any]]

    @property
    def sentences(self) -> list[str]:
        """What each k costs, in words."""
        return [row["words"] for row in self.costs]

    def html(self) -> str:
        """Return a page that needs nothing else: the chart tells the levels of each point under the pointer."""
        page = vega.html(self.chart)
        # The scripts may have the ends of head and body in strings: what is put in comes before and after all of them.
        top, bottom = page.replace("<title>Chart</title>", f"<title>{escape(self.title)}</title>{STYLE}", 1).rsplit(
            "</body>", 1
        )
        said = "".join(f"<p>{escape(words)}</p>" for words in self.words)
        return f"{top}{said}{self._told()}{self._points()}</body>{bottom}"

    def _told(self) -> str:
        """Return what each k costs, as a list and as a table."""
        if not self.costs:
            return ""
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        shown = [key for key in self.costs[0] if key != "words"]
        return f"<h2>What each k costs</h2><ul>{said}</ul>{_table(shown, self.costs)}"

    def _points(self) -> str:
        """Return the front, point by point, to be opened."""
        return folded(
            f"The whole front as a table: {len(self.points):,} points", _table(list(self.points[0]), self.points)
        )

    def png(self) -> bytes:
        """Return the chart as a PNG."""
        return vega.png(self.chart)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {"application/vnd.vegalite.v6+json": self.chart, "text/plain": self.title}


def _table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    return table(names, [[_figure(row[name]) for name in names] for row in rows])


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value)


def costs_of(points: Sequence[tuple[int, float, int]], rows: int, metric: str) -> list[dict[str, Any]]:
    """Return what each k that people ask about costs, given (k, loss, suppressed rows) of the best release for it."""
    found: list[dict[str, Any]] = []
    for k, loss, suppressed in points:
        words = f"k = {k:,}: a loss of {number(loss)} ({metric})"
        before = found[-1] if found else None
        if before is not None and before["loss"] > 0:
            more = loss / before["loss"] - 1
            change = "as much as" if abs(more) < 0.0005 else f"{abs(more):.0%} {'more' if more > 0 else 'less'} than"
            words += f", {change} for k = {before['k']:,}"
        left = f"{suppressed:,} of {rows:,} rows are" if suppressed else "no row is"
        found.append({"k": k, "loss": loss, "suppressed": suppressed, "words": f"{words}; {left} left out."})
    return found


def _axes(losses: Sequence[float], largest: int, metric: str) -> tuple[Options, Options]:
    """Return axes on which the k that people ask about can be read, and what they cost."""
    decades = [10**power for power in range(3, 10) if 10**power <= largest]
    ticks = [k for k in (*MARKED, *decades) if k <= largest] or [largest]
    axis = vega.options(title="k (log)", format=",", values=ticks)
    x = vega.shows("k:Q", scale=vega.options(type="log", nice=False), axis=axis)
    steep = min(losses) > 0 and max(losses) > STEEP * min(losses)
    scale = vega.options(type="log", nice=True) if steep else vega.options(zero=True)
    named = f"loss ({metric}{', log' if steep else ''})"
    return x, vega.shows(
        "loss:Q", scale=scale, axis=vega.options(title=named, format="~s" if max(losses) >= 1000 else "~g")
    )


@dataclass(frozen=True)
class About:
    """What a front is of: its loss, how many rows it was made from, its points as a table, and `notes` that its page
    has to say of them."""

    metric: str
    rows: int
    table: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()


def draw_front(
    front: Front, knees: Sequence[Point], names: Sequence[str], about: About, *, may_miss: bool = False
) -> FrontPicture:
    """Draw a front: its steps and points over the cloud of nodes that others dominate, knees marked, and the k that
    people ask about. `may_miss` says that it was found by a search that does not look everywhere."""
    marked, metric = {point.k for point in knees}, about.metric
    rows = [
        {
            "k": point.k,
            "loss": point.loss,
            "suppressed": point.suppressed,
            "classes": point.classes,
            "levels": ", ".join(f"{name} {level}" for name, level in zip(names, point.levels, strict=True)),
            "knee": f"k = {point.k:,}" if point.k in marked else "",
        }
        for point in front.points
    ]
    cloud = _cloud(front)
    losses = [*(point.loss for point in front.points), *(each["loss"] for each in cloud)]
    x, y = _axes(losses, max(point.k for point in front.points), metric)
    last_k = front.answers[-1].k
    asked = [(k, front.best(k)) for k in MARKED if max(front.least, 2) <= k <= last_k]
    costs = costs_of([(k, point.loss, point.suppressed) for k, point in asked], about.rows, metric)
    tips = [
        vega.shows(f"{field}:{kind}", format=",") for field, kind in (("k", "Q"), ("suppressed", "Q"), ("classes", "Q"))
    ]
    tips[1:1] = [vega.shows("loss:Q", format=",.6~g")]
    tips.append(vega.shows("levels:N"))
    base = Layer(rows).encode(x=x, y=y)
    knee_rows = [row for row in rows if row["knee"]]
    chart = layered(
        Layer(cloud).mark("circle", size=14, color=ORIGINAL, opacity=0.35).encode(x=x, y=y),
        base.mark("line", interpolate="step-before", color=RELEASE, strokeWidth=2),
        base.mark("circle", size=48, color=RELEASE, opacity=1).encode(tooltip=tips),
        *_told_k(costs, x, y),
        Layer(knee_rows).mark("point", size=170, color=ACCENT, strokeWidth=2).encode(x=x, y=y, tooltip=tips),
        Layer(knee_rows).mark("text", dx=10, dy=14, align="left", color=ACCENT).encode(x=x, y=y, text="knee:N"),
        width=760,
        height=430,
    )
    first, last = front.points[0], front.points[-1]
    title = (
        f"What each k costs: {metric} from {first.loss:,.4g} at k = {first.k:,} to {last.loss:,.4g} at k = {last.k:,}"
    )
    of = "recodings that it looked at" if may_miss else f"{front.lattice:,} recodings"
    words = [
        f"Each blue point is a release that none of the {of} betters: less loss means less k. Grey are recodings at the"
        " largest k that they can have. Black marks are the k that are told below.",
        *([MAY_MISS] if may_miss else []),
        *([KNEES] if knees else []),
        *about.notes,
    ]
    return FrontPicture(finish(chart, title), title, words, costs, about.table)


def _told_k(costs: Sequence[Mapping[str, Any]], x: Options, y: Options) -> list[Layer]:
    """Mark the k that are told in words."""
    base = Layer(costs).encode(x=x, y=y)
    return [
        base.mark("point", shape="diamond", size=90, color=INK, fill=INK, opacity=1),
        base.mark("text", dy=-15, color=INK, fontWeight="bold").encode(text=vega.shows("k:Q", format=",")),
    ]


def draw_scheme_front(front: SchemeFront, called: str, about: About) -> FrontPicture:
    """Draw what the chosen k cost: proven points filled, others hollow with a line down to what none can go below."""
    rows, metric = about.table, about.metric
    points = [{**row, "kind": "proven" if row["proven"] else "best found"} for row in rows]
    tips = [vega.shows("k:Q", format=","), vega.shows("kind:N")]
    tips += [
        vega.shows(f"{name}:Q", format=",.6~g")
        for name in ("loss", "at_least", "by_levels", "suppressed")
        if name in rows[0]
    ]
    most = max(row["k"] for row in rows)
    steps = [{"k": point.k, "loss": point.loss} for point in (front.levels.points if front.levels else ())]
    shown = [step for step in steps if step["k"] <= most] + [{**step, "k": most} for step in steps if step["k"] > most][
        :1
    ]
    bounds = [row["at_least"] for row in rows if row["at_least"] > 0]  # none is known of groups
    drawn = [*(row["loss"] for row in rows), *bounds, *(step["loss"] for step in shown)]
    x, y = _axes(drawn, most, metric)
    named = called
    names = [{"k": rows[-1]["k"], "loss": rows[-1]["loss"], "name": named, "colour": RELEASE}]
    names += [{**shown[-1], "name": "levels", "colour": "#6b7480"}] if shown else []
    open_ones = [point for point in points if not point["proven"]]
    base = Layer(points).encode(x=x, y=y)
    chart = layered(
        Layer(shown).mark("line", interpolate="step-before", color=ORIGINAL, strokeWidth=2).encode(x=x, y=y),
        Layer([point for point in open_ones if point["at_least"] > 0])
        .mark("rule", color=RELEASE, strokeDash=[3, 3])
        .encode(x=x, y=vega.shows("at_least:Q"), y2=vega.ends("loss")),
        base.mark("line", color=RELEASE, strokeWidth=1, opacity=0.5),
        Layer([point for point in points if point["proven"]])
        .mark("circle", size=70, color=RELEASE, opacity=1)
        .encode(x=x, y=y, tooltip=tips),
        Layer(open_ones).mark("point", size=70, color=RELEASE, fill="white").encode(x=x, y=y, tooltip=tips),
        Layer(names)
        .mark("text", align="right", dx=-10, dy=-10, fontWeight="bold")
        .encode(x=x, y=y, text="name:N", color=vega.shows("colour:N", scale=None)),
        width=760,
        height=430,
    )
    title = f"What each k costs by {named}: {metric} from {number(rows[0]['loss'])} to {number(rows[-1]['loss'])}"
    saved = [(1 - row["loss"] / row["by_levels"], row["k"]) for row in rows if row.get("by_levels")]
    if saved:
        share, k = max(saved)
        title += f"; up to {share:.0%} less than by levels (k = {k:,})"
    words = [
        "Blue are the best releases for the chosen k: filled where no better one exists, hollow where none was found;"
        " a dashed line then ends where none can go below, as far as that is known."
        f"{' Grey are the best recodings by levels of the hierarchies.' if shown else ''}",
        *about.notes,
    ]
    costs = costs_of([(row["k"], row["loss"], row["suppressed"]) for row in rows], about.rows, metric)
    return FrontPicture(finish(chart, title), title, words, costs, rows)


def _cloud(front: Front) -> list[dict[str, float]]:
    """Return nodes of the cloud, thinned out evenly where there are many."""
    count = len(front.cloud_k)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_CLOUD)).astype(int)) if count else np.empty(0, int)
    return [
        {"k": int(k), "loss": float(loss)}
        for k, loss in zip(front.cloud_k[chosen], front.cloud_loss[chosen], strict=True)
    ]
