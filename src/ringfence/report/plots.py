"""The charts of the evidence: class sizes, losses, marginals, associations, errors of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import log
from typing import Any

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.census.census import Quasi, place_of
from ringfence.report import vega
from ringfence.report.evidence import SPANS, Association, Marginal, SizeBin, Spans, WidthBin
from ringfence.report.style import ACCENT, FAINT, ORIGINAL, RELEASE, SMALL_WIDTH, WIDTH, finish, named, shown
from ringfence.report.vega import Chart, Layer, Options, Rows, layered
from ringfence.report.words import percent
from ringfence.values.keys import OnLine

SHOWN_PAIRS = 14
SHOWN_VALUES, MOST_NAMED = 16, 60
"""Values without an order are drawn by name, so many of up to so many; beyond, all side by side without names."""
MOST_STEPS = 500
"""Values side by side are drawn one by one up to so many; beyond, in `BINS` bins of equal width."""
BINS = 50
THINNEST = 200
"""A step is drawn at least as wide as this part of the line."""
NARROW = 34  # pixels that a label needs
ERROR_EDGES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, np.inf)
ERROR_NAMES = ("up to 5 %", "5 to 10 %", "10 to 20 %", "20 to 50 %", "50 to 100 %", "over 100 %")


# Class sizes


def class_sizes(before: Sequence[SizeBin], after: Sequence[SizeBin], k: int, title: str) -> Chart:
    """Draw how rows are distributed over sizes of classes: the original above, the release below."""
    highest = max(part.share for part in (*before, *after))
    panels = [
        _size_panel(before, highest, k, ORIGINAL, "original", last=False),
        _size_panel(after, highest, k, RELEASE, "release", last=True),
    ]
    return finish(vega.below(*panels, spacing=26), title)


def _size_panel(bins: Sequence[SizeBin], highest: float, k: int, colour: str, name: str, *, last: bool) -> Chart:
    top, height, width = bins[-1].high, 110, WIDTH - 20
    ticks = [edge for edge in (m * 10**e for e in range(12) for m in (1, 2, 5)) if edge <= top]
    if len(ticks) > 10:
        ticks = [edge for edge in ticks if str(edge).startswith("1")]
    axis = vega.options(
        values=ticks, format=",d", grid=False, zindex=1, labels=last, ticks=last, labelOverlap=True,
        title="size of the class: rows that share the same combination" if last else None,
    )  # fmt: skip
    scale = vega.options(type="log", domain=[1, top], nice=False)
    y = vega.shows("share:Q", axis=None, scale=vega.options(domain=[0, highest * 1.2]))
    base = Layer(
        [
            {
                "low": part.low,
                "high": part.high,
                "middle": (part.low * part.high) ** 0.5,
                "share": part.share,
                "label": percent(part.share) if log(part.high / part.low) * width > NARROW * log(top) else "",
            }
            for part in bins
            if part.share > 0
        ]
    )
    line = Layer([{"k": k, "name": f"k = {k:,}"}])
    at_k = vega.shows("k:Q", scale=scale)
    marks = [
        base.mark("rect", color=colour, stroke="white").encode(
            x=vega.shows("low:Q", scale=scale, axis=axis), x2=vega.ends("high"), y=y, y2=vega.pixel(height)
        ),
        line.mark("rule", color=ACCENT, strokeWidth=2, strokeDash=[5, 3]).encode(x=at_k),
        base.mark("text", dy=-7, fontSize=11).encode(x=vega.shows("middle:Q", scale=scale), y=y, text="label:N"),
        Layer([{"name": name}])
        .mark("text", align="right", fontWeight="bold", fontSize=13, color=FAINT if colour == ORIGINAL else colour)
        .encode(x=vega.pixel(width), y=vega.pixel(-6), text="name:N"),
    ]
    if not last:
        note = line.mark("text", color=ACCENT, align="left", dx=5, fontWeight="bold")
        marks.append(note.encode(x=at_k, y=vega.pixel(-6), text="name:N"))
    return layered(*marks, width=width, height=height)


# Losses and errors


def losses(by_attribute: Mapping[str, float], title: str) -> Chart:
    """Draw the loss of each attribute as a bar from 0 to 1, the largest first."""
    rows = [
        {"name": shown(name, 28), "place": place, "share": loss, "label": percent(loss)}
        for place, (name, loss) in enumerate(sorted(by_attribute.items(), key=lambda item: -item[1]))
    ]
    return finish(bars(rows, 1.0, "share of the attribute's detail that is lost"), title)


def widths(bins: Sequence[WidthBin], title: str) -> Chart:
    """Draw what share of the rows shows how many values of the data in a cell."""
    rows = [
        {"name": _values(part), "place": place, "share": part.share, "label": percent(part.share)}
        for place, part in enumerate(bins)
    ]
    top = max(part.share for part in bins)
    return finish(bars(rows, top, "share of the rows, by how many values their cell stands for"), title)


def spans(reach: Spans, title: str) -> Chart:
    """Draw what share of the rows shows cells that cover how much of the line."""
    names = ["one value", *(f"up to {percent(share)}" for share in SPANS[:-1]), f"over {percent(SPANS[-2])}"]
    rows = [
        {"name": name, "place": place, "share": share, "label": percent(share)}
        for place, (name, share) in enumerate(zip(names, reach.shares, strict=True))
    ]
    axis = "share of the rows, by what share of the line their cell covers"
    return finish(bars(rows, max(reach.shares), axis), title)


def _values(part: WidthBin) -> str:
    if part.low == part.high:
        return "one value" if part.low == 1 else f"{part.low:,} values"
    return f"{part.low:,} to {part.high:,}"


def query_errors(errors: Floats, title: str) -> Chart:
    """Draw what share of the queries is answered with what error."""
    counts, _ = np.histogram(errors, ERROR_EDGES)
    rows = [
        {"name": name, "place": place, "share": share, "label": percent(share)}
        for place, (name, share) in enumerate(zip(ERROR_NAMES, (counts / len(errors)).tolist(), strict=True))
    ]
    return finish(bars(rows, float(counts.max()) / len(errors), "share of the questions, by relative error"), title)


def bars(rows: Rows, top: float, axis_title: str) -> Chart:
    """Draw horizontal bars with their names at the left and their labels at the end."""
    base, y = Layer(rows), named(rows)
    axis = vega.options(format="~%", tickCount=5, title=axis_title)
    x = vega.shows("share:Q", scale=vega.options(domain=[0, top * 1.15]), axis=axis)
    return layered(
        base.mark("bar", color=RELEASE, height={"band": 0.66}).encode(x=x, y=y),
        base.mark("text", align="left", dx=5).encode(x=x, y=y, text="label:N"),
        width=WIDTH,
        height=vega.step(24),
        fit=True,
    )


# Marginals


def marginal(quasi: Quasi, found: Marginal, title: str) -> Chart:
    """Draw the shares of values in the original, filled, and as the release lets one guess them, as strokes."""
    occurring = np.flatnonzero((found.before > 0) | (found.after > 0)).tolist()
    placed = [leaf for leaf in occurring if quasi.keys[leaf] is not None]
    if len(placed) > 1:
        line = on_line(quasi, placed, found.before, found.after)
        return finish(_steps(line, *(along(quasi, field) for field in ("at", "low", "high"))), title)
    if len(occurring) <= MOST_NAMED:
        return finish(_listed(quasi, found, occurring), title)
    parts = np.array_split(occurring, min(len(occurring), MOST_STEPS))  # neighbours by their mean, if there are many
    columns = [[float(shares[part].mean()) for part in parts] for shares in (found.before, found.after)]
    line = StepLine([float(number) for number in range(len(parts))], 1.0, columns)
    axis = vega.options(title="values, in the order of the hierarchy", grid=False, labels=False, ticks=False)
    at, low = (vega.shows(field, scale=vega.options(nice=False, zero=False), axis=axis) for field in ("at:Q", "low:Q"))
    return finish(_steps(line, at, low, vega.ends("high")), title)


@dataclass(frozen=True)
class StepLine:
    """Places on a line, each the start of a step of some width, with columns of numbers there."""

    places: list[float]
    width: float
    columns: list[list[float]]


def position(key: OnLine | None) -> float:
    """Return where a number, a day or a moment stands on a line; times in milliseconds, as Vega counts them."""
    if key is None or isinstance(key, Decimal):
        return float(key or 0)
    return place_of(key) * 1000


def on_line(quasi: Quasi, placed: Sequence[int], *columns: Floats | Longs) -> StepLine:
    """Return some leaves as steps on a line: one by one, or the sums of bins if there are many."""
    order = sorted(placed, key=lambda leaf: position(quasi.keys[leaf]))
    places = np.array([position(quasi.keys[leaf]) for leaf in order])
    span = float(places[-1] - places[0])
    if len(places) <= MOST_STEPS or span == 0:
        width = max(float(np.diff(places).min()), span / THINNEST) or 1.0
        return StepLine(places.tolist(), width, [column[order].tolist() for column in columns])
    edges = np.linspace(places[0], places[-1], BINS + 1)
    sums = [np.histogram(places, edges, weights=column[order])[0].tolist() for column in columns]
    return StepLine(edges[:-1].tolist(), span / BINS, sums)


def along(quasi: Quasi, field: str, **options: Any) -> Any:
    """Return the channel that puts a field of numbers or days on the line; options of its axis or scale go with it."""
    dates = quasi.has_dates
    kind = "T" if dates else "Q"
    if field == "high":
        return vega.ends(field)
    domain = {"domain": options.pop("domain")} if "domain" in options else {}
    scale = vega.options(type="utc", nice=False, **domain) if dates else vega.options(nice=False, zero=False, **domain)
    axis = vega.options(title=None, grid=False, tickCount=6, labelOverlap=True, **options)
    return vega.shows(f"{field}:{kind}", scale=scale, axis=axis)


def outlined(line: StepLine, heights: Sequence[float]) -> Layer:
    """Draw steps as one filled shape, from the field `at`: hundreds of bars would show their seams."""
    corners: list[dict[str, float]] = []
    ends = [*line.places[1:], np.inf]
    for place, following, height in zip(line.places, ends, heights, strict=True):
        if corners and place > corners[-1]["at"]:
            corners += [{"at": corners[-1]["at"], "height": 0.0}, {"at": place, "height": 0.0}]
        end = following if following - place < 1.001 * line.width else place + line.width
        corners += [{"at": place, "height": height}, {"at": end, "height": height}]
    shape: Layer = Layer(corners).mark("area", color=ORIGINAL, order=False)  # joined as they are listed
    return shape


def _strokes(line: StepLine, heights: Sequence[float]) -> list[dict[str, float]]:
    """Return steps as strokes from `low` to `high`, neighbours of one height as one."""
    strokes: list[dict[str, float]] = []
    for place, height in zip(line.places, heights, strict=True):
        last = strokes[-1] if strokes else None
        if last and abs(last["height"] - height) <= 1e-9 and place - last["high"] < 0.001 * line.width:
            last["high"] = place + line.width
        else:
            strokes.append({"low": place, "high": place + line.width, "height": height})
    return strokes


def _steps(line: StepLine, at: Options, low: Options, high: Options) -> Chart:
    shares = vega.options(format=".1~%", tickCount=3, title=None, domain=False, ticks=False)
    y = vega.shows("height:Q", axis=shares, stack=None)
    before, after = line.columns
    strokes = Layer(_strokes(line, after)).mark("rule", color=RELEASE, strokeWidth=2)
    return layered(
        outlined(line, before).encode(x=at, y=y),
        strokes.encode(x=low, x2=high, y=y),
        width=SMALL_WIDTH,
        height=130,
        fit=True,
    )


def _listed(quasi: Quasi, found: Marginal, leaves: list[int]) -> Chart:
    """Draw values by name, the commonest first."""
    common = sorted(leaves, key=lambda leaf: -found.before[leaf])[:SHOWN_VALUES]
    rows = [
        {
            "name": shown(quasi.hierarchy.labels[leaf], 24),
            "place": place,
            "before": float(found.before[leaf]),
            "after": float(found.after[leaf]),
        }
        for place, leaf in enumerate(common)
    ]
    left_out = f"the {SHOWN_VALUES} commonest of {len(leaves)} values" if len(leaves) > SHOWN_VALUES else None
    base, y, axis = Layer(rows), named(rows), vega.options(format="~%", tickCount=3, title=left_out)
    bars = base.mark("bar", color=ORIGINAL, height={"band": 0.7})
    ticks = base.mark("tick", color=RELEASE, opacity=1, thickness=3, height={"band": 0.9})
    return layered(
        bars.encode(x=vega.shows("before:Q", axis=axis), y=y),
        ticks.encode(x=vega.shows("after:Q", axis=axis), y=y),
        width=SMALL_WIDTH,
        height=vega.step(17),
        fit=True,
    )


# Associations


def associations(pairs: Sequence[Association], title: str) -> Chart:
    """Draw for the strongest pairs how strong they were and are."""
    rows = [
        {
            "name": f"{shown(pair.names[0], 16)} × {shown(pair.names[1], 16)}",
            "place": place,
            "before": pair.before,
            "after": pair.after,
        }
        for place, pair in enumerate(pairs[:SHOWN_PAIRS])
    ]
    top = max(0.1, *(max(pair.before, pair.after) for pair in pairs))
    axis = vega.options(tickCount=5, title="strength of the association (Cramér's V)")
    base, y, scale = Layer(rows), named(rows), vega.options(domain=[0, min(1.0, top * 1.05)])
    before, after = (vega.shows(f"{field}:Q", scale=scale, axis=axis) for field in ("before", "after"))
    chart = layered(
        base.mark("rule", color="#c9d0d8", strokeWidth=3).encode(x=before, x2=vega.ends("after"), y=y),
        base.mark("circle", color="#838d98", size=90, opacity=1).encode(x=before, y=y),
        base.mark("square", color=RELEASE, size=80, opacity=1).encode(x=after, y=y),
        width=WIDTH,
        height=vega.step(22),
        fit=True,
    )
    return finish(chart, title)
