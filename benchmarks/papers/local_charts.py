"""The pictures of docs/papers/local: loss, discernibility, the errors of answers, and time, side by side."""

from collections.abc import Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.vega import Chart, Layer, layered

WIDTH, HEIGHT = 270, 200
COLOURS = {
    "cluster": "#7a7f87",
    "mondrian": "#c9a227",
    "hilbert": "#8c6bb1",
    "local, fast": "#7fbf9a",
    "local": "#2e8b57",
    "ring": "#1c5d99",
}


def draw_methods(rows: Sequence[Row], over: str) -> Chart:
    """Draw a line for each method, over k or attributes."""
    scale = vega.options(domain=list(COLOURS), range=list(COLOURS.values()))
    colour = vega.shows("name:N", scale=scale, legend=vega.options(title=None))
    drawn = []
    for value, title in (
        ("glm", "GLM"),
        ("dm", "DM"),
        ("query error", "mean error of answers"),
        ("seconds", "seconds"),
    ):
        shown = [
            {"at": row[over], "value": float(row[value]), "name": row["method"]} for row in rows if row[value] != ""
        ]
        lines = Layer(shown).encode(
            x=vega.shows("at:O", axis=vega.options(title=over, labelAngle=0)),
            y=vega.shows("value:Q", axis=vega.options(title=title, tickCount=5, format="~s" if value == "dm" else "")),
            color=colour,
        )
        marks = (lines.mark("line", strokeWidth=2), lines.mark("circle", size=50, opacity=1))
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    return vega.below(vega.beside(*drawn[:2], spacing=24), vega.beside(*drawn[2:], spacing=24))
