"""The pictures of docs/papers/frontier. Blue is exact, orange what POkA finds, grey everything else."""

from collections.abc import Mapping, Sequence

from benchmarks.papers.pages import Row
from ringfence.report import vega
from ringfence.report.style import ACCENT, ORIGINAL, RELEASE
from ringfence.report.vega import Chart, Layer, Options, layered
from ringfence.search.front.frontier import Front

LOSSES = {"glm": "general loss (glm)", "dm": "discernibility (dm)", "ce": "classification error (ce)"}
TICKS = {
    "glm": [0.2, 0.3, 0.4, 0.6, 0.8, 1],
    "dm": [1e7, 3e7, 1e8, 3e8, 9e8],
    "ce": [0.16, 0.18, 0.2, 0.22, 0.24, 0.26],
}
WIDTH, HEIGHT = 270, 220


def draw_fronts(fronts: Mapping[str, tuple[Front, Front]]) -> Chart:
    """Fig. 4: above, all nodes and the exact front; below, the exact front and what POkA finds."""
    above = [_panel(metric, LOSSES[metric], exact) for metric, (exact, _) in fronts.items()]
    below = [_panel(metric, "", exact, found) for metric, (exact, found) in fronts.items()]
    return _grid(above, below)


def draw_depths(exact: Front, found: Mapping[int, Front]) -> Chart:
    """Fig. 5: the exact front of general loss, and what POkA finds at some depths."""
    return _grid([_panel("glm", f"depth {depth}", exact, front) for depth, front in found.items()])


def draw_lattices(rows: Sequence[Row]) -> Chart:
    """Fig. 6: the share of nodes that POkA evaluates against the size of the lattice."""
    shown = [{"nodes": row["nodes"], "share": row["evaluated %"], "number": row["attributes"]} for row in rows]
    chosen = [place for place, row in zip(shown, rows, strict=True) if row["in order"]]
    x = vega.shows(
        "nodes:Q", scale=_log([3, 30_000]), axis=_axis("nodes of the lattice (log)", [10, 100, 1_000, 10_000], ",")
    )
    y = vega.shows(
        "share:Q", axis=vega.options(title="nodes evaluated, %", tickCount=5), scale=vega.options(domain=[0, 100])
    )
    line = Layer(chosen).encode(x=x, y=y)
    return layered(
        Layer(shown).mark("circle", size=28, color=ORIGINAL, opacity=0.6).encode(x=x, y=y),
        line.mark("line", color=ACCENT, strokeWidth=2),
        line.mark("circle", size=60, color=ACCENT, opacity=1),
        line.mark("text", dx=8, dy=-9, align="left", color=ACCENT, fontWeight="bold").encode(text="number:N"),
        width=620,
        height=300,
    )


def draw_speed(rows: Sequence[Row]) -> Chart:
    """The time of exact fronts against nodes evaluated times distinct rows: rings for the smaller lattice."""
    fewest = min(row["nodes"] for row in rows)
    shown = [
        {
            "work": row["evaluated"] * row["distinct rows"] / 1e6,
            "seconds": row["seconds"],
            "rows": f"{row['rows']:,} rows" if row["metric"] == "glm" else "",
            "small": row["nodes"] == fewest,
        }
        for row in rows
    ]
    axis = vega.options(title="nodes evaluated · distinct rows, millions", format="d", tickCount=6)
    x = vega.shows("work:Q", axis=axis, scale=_padded(shown, "work", 1.2))
    y = vega.shows("seconds:Q", axis=vega.options(title="seconds", tickCount=6), scale=_padded(shown, "seconds", 1.1))
    small, large = ([row for row in shown if row["small"] is size] for size in (True, False))
    return layered(
        Layer(small).mark("point", size=60, color=RELEASE, strokeWidth=2, opacity=1).encode(x=x, y=y),
        Layer(large).mark("point", size=60, color=RELEASE, filled=True, opacity=1).encode(x=x, y=y),
        Layer(small).mark("text", dx=-9, dy=-8, align="right").encode(x=x, y=y, text="rows:N"),
        Layer(large).mark("text", dx=9, dy=9, align="left").encode(x=x, y=y, text="rows:N"),
        width=620,
        height=300,
    )


def _panel(metric: str, title: str, exact: Front, found: Front | None = None) -> Chart:
    """Draw k and loss of the nodes on the exact front, and of all or, if there are any, of those that were found."""
    ends = [float(exact.cloud_loss.min()) * 0.97, float(exact.cloud_loss.max()) * 1.03]
    x = vega.shows(
        "k:Q", scale=_log([1.6, 1.5 * exact.points[-1].k]), axis=_axis("k (log)", [2, 10, 100, 1_000, 10_000], ",")
    )
    y = vega.shows(
        "loss:Q", scale=_log(ends), axis=_axis("loss (log)", TICKS[metric], "~s" if metric == "dm" else "~g")
    )
    rings = _points(exact).mark("point", size=55, color=RELEASE, strokeWidth=1.6, opacity=1)
    if found is None:
        nodes = [{"k": int(k), "loss": float(loss)} for k, loss in zip(exact.cloud_k, exact.cloud_loss, strict=True)]
        layers = [Layer(nodes).mark("circle", size=7, color=ORIGINAL, opacity=0.4), rings]
    else:
        layers = [rings, _points(found).mark("circle", size=24, color=ACCENT, opacity=1)]
    panel = layered(*(layer.encode(x=x, y=y) for layer in layers), width=WIDTH, height=HEIGHT)
    panel["title"] = {
        "text": title,
        "fontSize": 13,
        "fontWeight": "normal",
        "anchor": "middle",
        "frame": "group",
        "offset": 6,
    }
    return panel


def _points(front: Front) -> Layer:
    return Layer([{"k": point.k, "loss": point.loss} for point in front.points])


def _axis(title: str, ticks: Sequence[float], form: str) -> Options:
    return vega.options(title=title, values=list(ticks), format=form)


def _log(ends: Sequence[float]) -> Options:
    return vega.options(type="log", nice=False, domain=list(ends))


def _padded(rows: Sequence[Row], field: str, factor: float) -> Options:
    return vega.options(domain=[0, factor * max(row[field] for row in rows)], nice=False)


def _grid(*rows: Sequence[Chart]) -> Chart:
    return vega.below(*(vega.beside(*row, spacing=24) for row in rows), spacing=16)
