"""Pictures of recodings: a ruler for numbers and days, a tree for everything else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ringfence.arrays import Bools
from ringfence.census.census import Quasi
from ringfence.plans.published import Label
from ringfence.report import vega
from ringfence.report.plots import StepLine, along, on_line, outlined, position
from ringfence.report.style import FAINT, INK, RELEASE, WIDTH, finish, shown
from ringfence.report.vega import Chart, Layer, layered
from ringfence.report.words import percent

BANDS = ("#cfe0f1", "#9fc3e4")
CHARACTER = 6.3  # pixels, about, of a letter in a band's label
INTERVAL = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)([)\]])")
LINE = 14  # pixels that a line of turned text needs

RULER = WIDTH - 20

MOST_LINES = 40
MOST_GROUPS = 20
MOST_VALUES, FEWEST_VALUES = 5, 3
"""How many lines a label has at most where not all values have a place, and with fewer than which it has but one."""
LINE_HEIGHT = 17

SUPPRESSED = "suppressed: not published"


def recoding(quasi: Quasi, label_of: Sequence[Label], kept: Bools, title: str) -> Chart:
    """Draw which values are published under which label; those that are not `kept` are not published."""
    placed = [leaf for leaf, key in enumerate(quasi.keys) if key is not None and quasi.rows[leaf]]
    if len(placed) > 1:
        line = on_line(quasi, placed, quasi.rows)
        bands = _bands(quasi, label_of, kept, placed, line.width)
        if bands is not None:
            return finish(_ruler(quasi, line, bands), title)
    return finish(_tree(quasi, label_of, kept), title)


# The ruler


@dataclass(frozen=True)
class Stripe:
    """A label and the stretch of the line that it stands for."""

    label: str
    low: float
    high: float


def _bands(
    quasi: Quasi, label_of: Sequence[Label], kept: Bools, placed: list[int], width: float
) -> list[Stripe] | None:
    """Return the published labels as neighbouring stretches of a line; None where they are no such thing.

    A label that names an interval stands for that; any other reaches from its first value to the first of the next.
    One that only suppressed rows would have leaves a gap.
    """
    runs: list[tuple[str | None, list[float]]] = []
    for leaf in sorted(placed, key=lambda leaf: position(quasi.keys[leaf])):
        if not runs or runs[-1][0] != label_of[leaf]:
            runs.append((label_of[leaf], []))
        runs[-1][1].append(position(quasi.keys[leaf]))
    published = {label_of[leaf] for leaf in np.flatnonzero(kept).tolist()}
    if len({label for label, _ in runs}) < len(runs) or not published & {label for label, _ in runs}:
        return None
    ends = [*(places[0] for _, places in runs), runs[-1][1][-1] + width]
    bands = []
    for (label, _), (low, high) in zip(runs, pairwise(ends), strict=True):
        if label not in published:
            continue
        named = INTERVAL.fullmatch(label or "")
        if named:
            bands.append(Stripe(shown(label), float(named[1]), float(named[2]) + width * (named[3] == "]")))
        else:
            bands.append(Stripe(shown(label), low, high))
    return bands


def _ruler(quasi: Quasi, line: StepLine, bands: Sequence[Stripe]) -> Chart:
    """Draw the rows of each value on a line, and under it the stretches that are published, with their labels."""
    domain = [min(bands[0].low, line.places[0]), max(bands[-1].high, line.places[-1] + line.width)]
    pixel = RULER / (domain[1] - domain[0])
    level = all(len(band.label) * CHARACTER < (band.high - band.low) * pixel for band in bands)
    at, low = (along(quasi, field, domain=domain, orient="top") for field in ("at", "low"))
    stretches = [{"low": band.low, "high": band.high, "colour": BANDS[i % 2]} for i, band in enumerate(bands)]
    marks = [
        outlined(line, line.columns[0]).encode(
            x=at, y=vega.shows("height:Q", axis=None, stack=None, scale=vega.options(range=[70, 4]))
        ),
        Layer(stretches)
        .mark("rect", stroke="white")
        .encode(
            x=low,
            x2=along(quasi, "high"),
            y=vega.pixel(74),
            y2=vega.pixel(100),
            color=vega.shows("colour:N", scale=None),
        ),
        _band_labels(bands, pixel, level=level).encode(x=at),
    ]
    height = 104 if level else 108 + round(max(len(band.label) for band in bands) * CHARACTER)
    return layered(*marks, width=RULER, height=height)


def _band_labels(bands: Sequence[Stripe], pixel: float, *, level: bool) -> Layer:
    """Write labels into their bands if all fit, else below them, turned; where bands are narrow, not each of them."""
    named, free = [], float("-inf")
    for band in bands:
        middle = (band.low + band.high) / 2
        if level or middle * pixel >= free:
            named.append({"at": middle, "label": band.label})
            free = middle * pixel + LINE
    look: dict[str, Any] = {} if level else {"align": "right", "angle": 270}
    texts = Layer(named).mark("text", baseline="middle", color=INK, fontSize=11, **look)
    placed: Layer = texts.encode(y=vega.pixel(87 if level else 104), text="label:N")
    return placed


# The tree


@dataclass(frozen=True)
class Group:
    """A label, the values that occur under it as lines of text, and the share of rows that it has."""

    label: str
    lines: tuple[str, ...]
    share: float


def groups(quasi: Quasi, label_of: Sequence[Label], kept: Bools) -> list[Group]:
    """Return the labels with the values under them, cut down to what fits on a page: the commonest stay.

    Values that are not `kept`, which only suppressed rows have, come last.
    """
    members: dict[str | None, list[int]] = {}
    for leaf in np.flatnonzero((quasi.rows > 0) & kept).tolist():
        members.setdefault(label_of[leaf], []).append(leaf)
    rows = {label: int(quasi.rows[leaves].sum()) for label, leaves in members.items()}
    labels = list(members)
    if len(labels) > MOST_GROUPS:
        labels = sorted(labels, key=lambda label: -rows[label])[: MOST_GROUPS - 1]
    total = int(quasi.rows.sum())
    gone = np.flatnonzero((quasi.rows > 0) & ~kept).tolist()
    crowded = sum(len(members[label]) for label in labels) + len(gone) > MOST_LINES
    most = min(MOST_VALUES, MOST_LINES // (len(labels) + bool(gone))) if crowded else MOST_LINES
    most = most if most >= FEWEST_VALUES else 1
    found = [Group(shown(label), _lines(quasi, members[label], most), rows[label] / total) for label in labels]
    if len(labels) < len(members):
        rest = len(members) - len(labels)
        left = sum(rows.values()) - sum(rows[label] for label in labels)
        values = sum(len(leaves) for leaves in members.values()) - sum(len(members[label]) for label in labels)
        found.append(Group(f"and {rest:,} more labels", (f"{values:,} more values",), left / total))
    if gone:
        found.append(Group(SUPPRESSED, _lines(quasi, gone, most), int(quasi.rows[gone].sum()) / total))
    return found


def _lines(quasi: Quasi, leaves: list[int], most: int) -> tuple[str, ...]:
    names = [shown(quasi.hierarchy.labels[leaf], 30) for leaf in leaves]
    if len(names) <= most:
        return tuple(names)
    if most == 1:
        return (f"{shown(names[0], 14)} … {shown(names[-1], 14)} ({len(names):,})",)
    common = sorted(sorted(leaves, key=lambda leaf: -int(quasi.rows[leaf]))[: most - 1])
    return (*(shown(quasi.hierarchy.labels[leaf], 30) for leaf in common), f"and {len(leaves) - most + 1:,} more")


def _tree(quasi: Quasi, label_of: Sequence[Label], kept: Bools) -> Chart:
    """Draw values at the left, joined by brackets to the label that they are published under."""
    left, right, end = WIDTH * 0.44, WIDTH * 0.53, WIDTH - 10
    strokes: list[dict[str, float]] = []
    values = [_text(0, left - 6, "original", FAINT), _text(0, end, "rows", FAINT)]
    labels = [_text(0, right + 6, "published as", FAINT)]
    at = 1.3
    for group in groups(quasi, label_of, kept):
        places = [at + number for number in range(len(group.lines))]
        middle = (places[0] + places[-1]) / 2
        values += [_text(place, left - 6, line, INK) for place, line in zip(places, group.lines, strict=True)]
        values.append(_text(middle, end, percent(group.share), FAINT))
        labels.append(_text(middle, right + 6, group.label, FAINT if group.label == SUPPRESSED else RELEASE))
        bend = (left + right) / 2
        strokes += [{"x": left, "x2": bend, "y": place, "y2": place} for place in places]
        strokes.append({"x": bend, "x2": bend, "y": places[0], "y2": places[-1]})
        strokes.append({"x": bend, "x2": right, "y": middle, "y2": middle})
        at = places[-1] + (1.6 if len(places) > 1 else 1.15)
    x = vega.shows("x:Q", scale=None, axis=None)
    y = vega.shows("y:Q", scale=vega.options(domain=[-0.5, at - 0.4], reverse=True, nice=False, zero=False), axis=None)
    look = {"text": "text:N", "color": vega.shows("colour:N", scale=None)}
    marks = [
        Layer(strokes)
        .mark("rule", color=FAINT, strokeWidth=1.2, strokeCap="square")
        .encode(x=x, x2=vega.ends("x2"), y=y, y2=vega.ends("y2")),
        Layer(values).mark("text", align="right", baseline="middle", limit=left - 6).encode(x=x, y=y, **look),
        Layer(labels).mark("text", align="left", baseline="middle", limit=end - right - 50).encode(x=x, y=y, **look),
    ]
    return layered(*marks, width=WIDTH, height=round(LINE_HEIGHT * (at + 0.1)))


def _text(y: float, x: float, text: str, colour: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "colour": colour}
