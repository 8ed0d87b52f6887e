"""The picture of a front: loss against k, as a page to point at and as a file to print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from ringfence.report.style import ACCENT, ORIGINAL, RELEASE, Chart, data, finish, layered
from ringfence.report.words import number
from ringfence.search.front.frontier import Front, Point
from ringfence.search.front.scheme_front import SchemeFront

MOST_CLOUD = 4_000
"""More nodes than this are thinned out: they are there to show where the front is not."""

KNEES = (
    "A knee (marked) is a point up to which k comes cheaply and from which it becomes dear: it lies furthest below the"
    " straight line between the losses at a quarter of its k and at four times its k."
)


@dataclass(frozen=True, eq=False)
class FrontPicture:
    """A chart with the words that go with it."""

    chart: Chart
    title: str
    words: str

    def html(self) -> str:
        """Return a page that needs nothing else: the chart tells the levels of each point under the pointer."""
        page: str = vl_convert.vegalite_to_html(self.chart.to_json(), bundle=True)
        style = (
            "<style>body{font-family:Arial,Helvetica,sans-serif;max-width:60em;margin:2em auto;color:#222b35}</style>"
        )
        head = f"<title>{escape(self.title)}</title>{style}"
        return page.replace("</head>", f"{head}</head>", 1).replace("</body>", f"<p>{escape(self.words)}</p></body>", 1)

    def png(self) -> bytes:
        """Return the chart as a PNG."""
        picture: bytes = vl_convert.vegalite_to_png(self.chart.to_json(), scale=2)
        return picture

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {"application/vnd.vegalite.v6+json": self.chart.to_dict(), "text/plain": self.title}


def draw_front(front: Front, knees: Sequence[Point], names: Sequence[str], metric: str) -> FrontPicture:
    """Draw a front: its steps and points over the cloud of nodes that others dominate, knees marked."""
    marked = {point.k for point in knees}
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
    x = alt.X("k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="k (log)", format=",", tickCount=8))
    y = alt.Y("loss:Q", axis=alt.Axis(title=f"loss ({metric})"))
    tips = [
        alt.Tooltip(f"{field}:{kind}", format=",")
        for field, kind in (("k", "Q"), ("suppressed", "Q"), ("classes", "Q"))
    ]
    tips[1:1] = [alt.Tooltip("loss:Q", format=",.6~g")]
    tips.append(alt.Tooltip("levels:N"))
    base = alt.Chart(data(rows)).encode(x=x, y=y)
    knee_rows = [row for row in rows if row["knee"]]
    chart = layered(
        alt.Chart(data(_cloud(front))).mark_circle(size=14, color=ORIGINAL, opacity=0.35).encode(x=x, y=y),
        base.mark_line(interpolate="step-before", color=RELEASE, strokeWidth=2),
        base.mark_circle(size=48, color=RELEASE, opacity=1).encode(tooltip=tips),
        alt.Chart(data(knee_rows)).mark_point(size=170, color=ACCENT, strokeWidth=2).encode(x=x, y=y, tooltip=tips),
        alt.Chart(data(knee_rows)).mark_text(dx=10, dy=14, align="left", color=ACCENT).encode(x=x, y=y, text="knee:N"),
        width=760,
        height=430,
    )
    first, last = front.points[0], front.points[-1]
    title = (
        f"What each k costs: {metric} from {first.loss:,.4g} at k = {first.k:,} to {last.loss:,.4g} at k = {last.k:,}"
    )
    words = (
        f"Each blue point is a release that none of the {front.lattice:,} recodings betters: less loss means less k."
        f" Grey are recodings at the largest k that they can have. {KNEES if knees else ''}"
    )
    return FrontPicture(finish(chart, title), title, words)


def draw_scheme_front(
    front: SchemeFront, rows: Sequence[Mapping[str, Any]], schemes: Sequence[str], metric: str
) -> FrontPicture:
    """Draw what the chosen k cost: proven points filled, others hollow with a line down to what none can go below."""
    points = [{**row, "kind": "proven" if row["proven"] else "best found"} for row in rows]
    x = alt.X("k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="k (log)", format=",", tickCount=8))
    y = alt.Y("loss:Q", axis=alt.Axis(title=f"loss ({metric})"))
    tips = [alt.Tooltip("k:Q", format=","), alt.Tooltip("kind:N")]
    tips += [alt.Tooltip(f"{name}:Q", format=",.6~g") for name in ("loss", "at_least", "by_levels", "suppressed")]
    most = max(row["k"] for row in rows)
    steps = [{"k": point.k, "loss": point.loss} for point in (front.levels.points if front.levels else ())]
    shown = [step for step in steps if step["k"] <= most] + [{**step, "k": most} for step in steps if step["k"] > most][
        :1
    ]
    named = f"the scheme{'s' * (len(schemes) > 1)} {' and '.join(schemes)}"
    names = [{"k": rows[-1]["k"], "loss": rows[-1]["loss"], "name": named, "colour": RELEASE}]
    names += [{**shown[-1], "name": "levels", "colour": "#6b7480"}] if shown else []
    open_ones = [point for point in points if not point["proven"]]
    base = alt.Chart(data(points)).encode(x=x, y=y)
    chart = layered(
        alt.Chart(data(shown)).mark_line(interpolate="step-before", color=ORIGINAL, strokeWidth=2).encode(x=x, y=y),
        alt.Chart(data(open_ones))
        .mark_rule(color=RELEASE, strokeDash=[3, 3])
        .encode(x=x, y=alt.Y("at_least:Q"), y2=alt.Y2("loss:Q")),
        base.mark_line(color=RELEASE, strokeWidth=1, opacity=0.5),
        alt.Chart(data([point for point in points if point["proven"]]))
        .mark_circle(size=70, color=RELEASE, opacity=1)
        .encode(x=x, y=y, tooltip=tips),
        alt.Chart(data(open_ones)).mark_point(size=70, color=RELEASE, fill="white").encode(x=x, y=y, tooltip=tips),
        alt.Chart(data(names))
        .mark_text(align="right", dx=-10, dy=-10, fontWeight="bold")
        .encode(x=x, y=y, text="name:N", color=alt.Color("colour:N", scale=None)),
        width=760,
        height=430,
    )
    title = f"What each k costs by {named}: {metric} from {number(rows[0]['loss'])} to {number(rows[-1]['loss'])}"
    saved = [(1 - row["loss"] / row["by_levels"], row["k"]) for row in rows if row["by_levels"]]
    if saved:
        share, k = max(saved)
        title += f"; up to {share:.0%} less than by levels (k = {k:,})"
    words = (
        "Blue are the best recodings for the chosen k: filled where no better one exists, hollow where none was found;"
        " the dashed line then ends where none can go below."
        f"{' Grey are the best recodings by levels of the hierarchies.' if shown else ''}"
    )
    return FrontPicture(finish(chart, title), title, words)


def _cloud(front: Front) -> list[dict[str, float]]:
    """Return nodes of the cloud, thinned out evenly where there are many."""
    count = len(front.cloud_k)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_CLOUD)).astype(int)) if count else np.empty(0, int)
    return [
        {"k": int(k), "loss": float(loss)}
        for k, loss in zip(front.cloud_k[chosen], front.cloud_loss[chosen], strict=True)
    ]
