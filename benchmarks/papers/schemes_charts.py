"""The pictures of docs/papers/schemes: lines over k, or over the number of attributes, side by side."""

from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from benchmarks.papers.pages import Row
from ringfence.report.style import Chart, data, layered

WIDTH, HEIGHT = 300, 240
COLOURS = ["#1c5d99", "#e07b39", "#3a8f5c", "#8c4fa3", "#7a7f87", "#c23b4b"]


def draw_lines(rows: Sequence[Row], panels: Sequence[str], value: str, by: str) -> Chart:
    """Draw a panel for each kind of row in `over`, and in it a line for each search or scheme."""
    names = list(dict.fromkeys(row[by] for row in rows))
    colour = alt.Color("name:N", scale=alt.Scale(domain=names, range=COLOURS), legend=alt.Legend(title=None))
    drawn = []
    for panel in panels:
        over = "attributes" if panel == "attributes" else "k"
        shown = [
            {"at": row[over], "value": row[value], "name": row[by], "size": 50 if row["proven"] == "yes" else 0}
            for row in rows
            if row["over"] == panel
        ]
        lines = alt.Chart(data(shown)).encode(
            x=alt.X("at:O", axis=alt.Axis(title=over, labelAngle=0)),
            y=alt.Y(
                "value:Q",
                scale=alt.Scale(type="log", nice=False, padding=8),
                axis=alt.Axis(title=f"{panel if value == 'cost' else value} (log)", tickCount=4, format="~s"),
            ),
            color=colour,
        )
        marks = (
            lines.mark_line(strokeWidth=2),
            lines.mark_point(size=50, opacity=1, fill="white"),
            lines.mark_circle(opacity=1).encode(size=alt.Size("size:Q", scale=None)),
        )
        drawn.append(layered(*marks, width=WIDTH * 2 // len(panels), height=HEIGHT))
    chart: Any = alt.vconcat(alt.hconcat(*drawn, spacing=24))
    return cast(alt.VConcatChart, chart)
