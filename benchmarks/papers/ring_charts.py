"""The pictures of docs/papers/ring: what is lost, and the time it takes, side by side."""

from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from benchmarks.papers.pages import Row
from ringfence.report.style import Chart, data, layered

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
    scale = alt.Scale(domain=names, range=[COLOURS[name] for name in names])
    colour = alt.Color("name:N", scale=scale, legend=alt.Legend(title=None))
    drawn = []
    for value, title in (("gcp", "GCP"), ("seconds", "seconds")):
        shown = [{"at": row[over], "value": float(row[value]), "name": row["method"]} for row in rows]
        lines = alt.Chart(data(shown)).encode(
            x=alt.X("at:O", axis=alt.Axis(title=over, labelAngle=0, format="~s")),
            y=alt.Y("value:Q", axis=alt.Axis(title=title, tickCount=5)),
            color=colour,
        )
        marks = (lines.mark_line(strokeWidth=2), lines.mark_circle(size=50, opacity=1))
        drawn.append(layered(*marks, width=WIDTH, height=HEIGHT))
    chart: Any = alt.vconcat(alt.hconcat(*drawn, spacing=24))
    return cast(alt.VConcatChart, chart)
