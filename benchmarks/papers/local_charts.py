"""The pictures of docs/papers/local: loss, discernibility, the errors of answers, and time, side by side."""

from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from benchmarks.papers.pages import Row
from ringfence.report.style import Chart, data, layered

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
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    colour = alt.Color("name:N", scale=scale, legend=alt.Legend(title=None))
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
        lines = alt.Chart(data(shown)).encode(
            x=alt.X("at:O", axis=alt.Axis(title=over, labelAngle=0)),
            y=alt.Y("value:Q", axis=alt.Axis(title=title, tickCount=5, format="~s" if value == "dm" else "")),
            color=colour,
        )
        marks = (lines.mark_line(strokeWidth=2), lines.mark_circle(size=50, opacity=1))
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    chart: Any = alt.vconcat(alt.hconcat(*drawn[:2], spacing=24), alt.hconcat(*drawn[2:], spacing=24))
    return cast(alt.VConcatChart, chart)
