"""The pictures of docs/papers/itemsets: lines over what an experiment varies, side by side."""

from collections.abc import Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.vega import Chart, Layer, layered

WIDTH, HEIGHT = 220, 230
COLOURS = ["#7a7f87", "#b8a13a", "#8c4fa3", "#e07b39", "#3a8f5c", "#1c5d99"]


def draw_panels(rows: Sequence[Row], panels: Sequence[str], value: str, by: str) -> Chart:
    """Draw a panel for each kind of row in `over`, and in it a line for each algorithm."""
    names = list(dict.fromkeys(row[by] for row in rows))
    scale = vega.options(domain=names, range=COLOURS[-len(names) :])
    colour = vega.shows("name:N", scale=scale, legend=vega.options(title=None))
    shown_as = vega.options(type="log") if value != "NCP" else vega.options(type="linear")
    drawn = []
    for panel in panels:
        shown = [
            {
                "at": row[panel],
                "value": float(row[value]),
                "name": row[by],
                "size": 0 if "gap" in row["proven"] else 45,
            }
            for row in rows
            if row["over"] == panel
        ]
        axis = vega.options(title=value if panel == panels[0] else None, tickCount=5, format="~g")
        lines = Layer(shown).encode(
            x=vega.shows("at:O", axis=vega.options(title=panel, labelAngle=0)),
            y=vega.shows("value:Q", scale=shown_as, axis=axis),
            color=colour,
        )
        marks = (
            lines.mark("line", strokeWidth=2),
            lines.mark("point", size=45, opacity=1, fill="white"),
            lines.mark("circle", opacity=1).encode(size=vega.shows("size:Q", scale=None)),
        )
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    return vega.below(vega.beside(*drawn, spacing=24, resolve={"scale": {"y": "independent"}}))
