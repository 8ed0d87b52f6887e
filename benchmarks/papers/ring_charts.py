"""The pictures of docs/papers/ring: what is lost, and the time it takes, side by side."""

from collections.abc import Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.vega import Chart, Layer, layered

WIDTH, HEIGHT = 300, 240
COLOURS = {
    "HR": "#c9a227",
    "HS": "#8c6bb1",
    "AT": "#b5485d",
    "HP": "#7a7f87",
    "NH": "#e07b39",
    "ring": "#1c5d99",
    "local": "#2e8b57",
}


def draw_curves(rows: Sequence[Row], over: str) -> Chart:
    """Draw a line for each method, over rows, attributes or k."""
    names = list(dict.fromkeys(row["method"] for row in rows))
    scale = vega.options(domain=names, range=[COLOURS[name] for name in names])
    colour = vega.shows("name:N", scale=scale, legend=vega.options(title=None))
    drawn = []
    for value, title in (("gcp", "GCP"), ("seconds", "seconds")):
        shown = [{"at": row[over], "value": float(row[value]), "name": row["method"]} for row in rows]
        lines = Layer(shown).encode(
            x=vega.shows("at:O", axis=vega.options(title=over, labelAngle=0, format="~s")),
            y=vega.shows("value:Q", axis=vega.options(title=title, tickCount=5)),
            color=colour,
        )
        marks = (lines.mark("line", strokeWidth=2), lines.mark("circle", size=50, opacity=1))
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    return vega.below(vega.beside(*drawn, spacing=24))
