"""The pictures of docs/papers/itemsets: lines over what an experiment varies, side by side."""

from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from benchmarks.papers.pages import Row
from ringfence.report.style import Chart, data, layered

WIDTH, HEIGHT = 220, 230
COLOURS = ["#7a7f87", "#b8a13a", "#8c4fa3", "#e07b39", "#3a8f5c", "#1c5d99"]


def draw_panels(rows: Sequence[Row], panels: Sequence[str], value: str, by: str) -> Chart:
    """Draw a panel for each kind of row in `over`, and in it a line for each algorithm."""
    names = list(dict.fromkeys(row[by] for row in rows))
    scale = alt.Scale(domain=names, range=COLOURS[-len(names) :])
    colour = alt.Color("name:N", scale=scale, legend=alt.Legend(title=None))
    shown_as = alt.Scale(type="log") if value != "NCP" else alt.Scale(type="linear")
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
        axis = alt.Axis(title=value if panel == panels[0] else None, tickCount=5, format="~g")
        lines = alt.Chart(data(shown)).encode(
            x=alt.X("at:O", axis=alt.Axis(title=panel, labelAngle=0)),
            y=alt.Y("value:Q", scale=shown_as, axis=axis),
            color=colour,
        )
        marks = (
            lines.mark_line(strokeWidth=2),
            lines.mark_point(size=45, opacity=1, fill="white"),
            lines.mark_circle(opacity=1).encode(size=alt.Size("size:Q", scale=None)),
        )
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    chart: Any = alt.vconcat(alt.hconcat(*drawn, spacing=24).resolve_scale(y="independent"))
    return cast(alt.VConcatChart, chart)
