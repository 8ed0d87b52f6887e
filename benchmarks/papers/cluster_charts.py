"""The pictures of docs/papers/cluster. Blue is ours, orange what the paper prints."""

from collections.abc import Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.style import ACCENT, RELEASE
from ringfence.report.vega import Chart, Layer, Options, layered

WIDTH, HEIGHT = 210, 220
COLOURS = {"printed": ACCENT, "ours": RELEASE}
DASHES = {"CPKA": [1, 0], "PK": [7, 4], "CKA": [1, 4]}


def draw_losses(rows: Sequence[Row]) -> Chart:
    """Fig. 5: the loss against p, for each k."""
    top = max(row[f"{kind}: {way}"] for row in rows for kind in DASHES for way in COLOURS)
    scale = vega.options(domain=[0, 1.05 * top], nice=False)
    return _panels(rows, list(DASHES), scale, vega.options(title="NTIL", tickCount=6))


def draw_times(rows: Sequence[Row]) -> Chart:
    """Fig. 6: the time against p, for each k."""
    times = [row[f"{kind}: {way}"] for row in rows for kind in DASHES for way in COLOURS]
    scale = vega.options(type="log", domain=[0.8 * min(times), 1.2 * max(times)], nice=False)
    axis = vega.options(title="seconds (log)", values=[0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], format="~g")
    return _panels(rows, list(DASHES), scale, axis)


def _panels(rows: Sequence[Row], kinds: Sequence[str], scale: Options, axis: Options) -> Chart:
    """Draw a panel for each k: a line for each kind of clustering and each way."""
    panels = []
    for k in dict.fromkeys(row["k"] for row in rows):
        marks = []
        for kind in kinds:
            for way, colour in COLOURS.items():
                points = [{"p": row["p"], "value": row[f"{kind}: {way}"]} for row in rows if row["k"] == k]
                x = vega.shows("p:Q", scale=vega.options(domain=[1.5, 13.5], nice=False), axis=_ticks())
                y = vega.shows("value:Q", scale=scale, axis=axis)
                base = Layer(points).encode(x=x, y=y)
                marks.append(base.mark("line", color=colour, strokeWidth=2, strokeDash=DASHES[kind]))
                if kind != "CKA":
                    marks.append(base.mark("circle", size=30, color=colour, opacity=1))
        panel = layered(*marks, width=WIDTH, height=HEIGHT)
        panel["title"] = {"text": f"k = {k}", "fontSize": 13, "fontWeight": "normal", "anchor": "middle", "offset": 6}
        panels.append(panel)
    return vega.below(vega.beside(*panels, spacing=20))


def _ticks() -> Options:
    return vega.options(title="p", values=[2, 3, 4, 6, 8, 10, 13], format="d")
