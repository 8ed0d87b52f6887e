"""The pictures of docs/papers/schemes: lines over k, or over the number of attributes, side by side."""

from collections.abc import Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.vega import Chart, Layer, layered

WIDTH, HEIGHT = 300, 240
COLOURS = ["#1c5d99", "#e07b39", "#3a8f5c", "#8c4fa3", "#7a7f87", "#c23b4b"]


def draw_lines(rows: Sequence[Row], panels: Sequence[str], value: str, by: str) -> Chart:
    """Draw a panel for each kind of row in `over`, and in it a line for each search or scheme."""
    names = list(dict.fromkeys(row[by] for row in rows))
    colour = vega.shows("name:N", scale=vega.options(domain=names, range=COLOURS), legend=vega.options(title=None))
    drawn = []
    for panel in panels:
        over = "attributes" if panel == "attributes" else "k"
        shown = [
            {"at": row[over], "value": row[value], "name": row[by], "size": 50 if row["proven"] == "yes" else 0}
            for row in rows
            if row["over"] == panel
        ]
        lines = Layer(shown).encode(
            x=vega.shows("at:O", axis=vega.options(title=over, labelAngle=0)),
            y=vega.shows(
                "value:Q",
                scale=vega.options(type="log", nice=False, padding=8),
                axis=vega.options(title=f"{panel if value == 'cost' else value} (log)", tickCount=4, format="~s"),
            ),
            color=colour,
        )
        marks = (
            lines.mark("line", strokeWidth=2),
            lines.mark("point", size=50, opacity=1, fill="white"),
            lines.mark("circle", opacity=1).encode(size=vega.shows("size:Q", scale=None)),
        )
        drawn.append(layered(*marks, width=WIDTH * 2 // len(panels), height=HEIGHT))
    return vega.below(vega.beside(*drawn, spacing=24))
