"""Losses in whole numbers: what a group of tuples loses, rounded down, so that what is concluded from it is exact.

As in `spans`, an attribute is a line, a tree or a set. Here a box grows one tuple at a time, and keeps by how much each
attribute of it would cost more: what a tuple adds is a few comparisons.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, LEAN, count_bits

GAP = np.iinfo(np.int64).min
"""Where a missing value lies on a line: nowhere, so that it adds nothing."""


class Rounded(NamedTuple):
    """Where each tuple lies, and what is lost, in whole units.

    Line i has tuple t at `lines[t, i]`; what lies between two places is lost: `tables[i, d]` of a distance d where it
    is `tabled`, else d itself. Tree i has the leaf `leaves[t, i]`, node n of it stands at `bases[i] + n`, covers the
    leaves from `first` to before `stop`, and loses `nodes`. Set s has the bits `masks[f]` of words `holders[f]`, f from
    `begins[s]` to before `begins[s + 1]`; d of them lose `costs[s, d]`.
    """

    lines: Longs
    tabled: Bools
    tables: Longs
    leaves: Ints
    bases: Longs
    parent: Ints
    first: Ints
    stop: Ints
    nodes: Longs
    words: Words
    begins: Longs
    holders: Longs
    masks: Words
    costs: Longs


class GrowingBoxes(NamedTuple):
    """Boxes, each the one before it with a tuple more: the ends of lines and what they lose, nodes of trees, bits of
    sets, and what one value more costs in each set."""

    low: Longs
    high: Longs
    widths: Longs
    nodes: Longs
    words: Words
    steps: Longs


@njit(cache=True, nogil=True)
def new_boxes(space: Rounded, count: int) -> GrowingBoxes:
    """Return room for some boxes."""
    lines, trees, sets = space.lines.shape[1], space.leaves.shape[1], len(space.begins) - 1
    return GrowingBoxes(
        np.empty((count, lines), np.int64),
        np.empty((count, lines), np.int64),
        np.empty((count, lines), np.int64),
        np.empty((count, trees), np.int64),
        np.empty((count, space.words.shape[1]), np.uint64),
        np.empty((count, sets), np.int64),
    )


@njit(**LEAN)
def _width(space: Rounded, i: int, apart: int) -> int:
    return space.tables[i, apart] if space.tabled[i] else apart


@njit(**LEAN)
def added(space: Rounded, boxes: GrowingBoxes, b: int, t: int, most: int) -> int:
    """Return what box b loses more with a tuple; not all of it once it is `most` or more."""
    more = 0
    for s in range(len(space.begins) - 1):
        for f in range(space.begins[s], space.begins[s + 1]):
            h = space.holders[f]
            if space.words[t, h] & ~boxes.words[b, h] & space.masks[f]:
                more += boxes.steps[b, s]
    if more >= most and more > 0:
        return more
    for i in range(space.lines.shape[1]):
        at, low, high = space.lines[t, i], boxes.low[b, i], boxes.high[b, i]
        if GAP in (at, low) or low <= at <= high:
            continue
        more += _width(space, i, high - at if at < low else at - low) - boxes.widths[b, i]
    for i in range(space.leaves.shape[1]):
        leaf, base, node = space.leaves[t, i], space.bases[i], boxes.nodes[b, i]
        if space.first[base + node] <= leaf < space.stop[base + node]:
            continue
        before = space.nodes[base + node]
        while not space.first[base + node] <= leaf < space.stop[base + node]:
            node = np.int64(space.parent[base + node])
        more += space.nodes[base + node] - before
    return more


@njit(**BARE)
def begin_box(space: Rounded, boxes: GrowingBoxes, b: int, t: int) -> None:
    """Make a box hold one tuple and nothing else, which loses nothing."""
    for i in range(space.lines.shape[1]):
        boxes.low[b, i] = boxes.high[b, i] = space.lines[t, i]
        boxes.widths[b, i] = 0
    for i in range(space.leaves.shape[1]):
        boxes.nodes[b, i] = space.leaves[t, i]
    for w in range(space.words.shape[1]):
        boxes.words[b, w] = space.words[t, w]
    for s in range(len(space.begins) - 1):
        boxes.steps[b, s] = space.costs[s, 2] - space.costs[s, 1]


@njit(**BARE)
def grow_box(space: Rounded, boxes: GrowingBoxes, b: int, t: int) -> None:
    """Make box b + 1 hold what box b holds, and one tuple more."""
    for i in range(space.lines.shape[1]):
        at, low, high = space.lines[t, i], boxes.low[b, i], boxes.high[b, i]
        if low == GAP:
            low = high = at
        elif at != GAP:
            low, high = min(at, low), max(at, high)
        boxes.low[b + 1, i], boxes.high[b + 1, i] = low, high
        boxes.widths[b + 1, i] = 0 if low == high else _width(space, i, high - low)
    for i in range(space.leaves.shape[1]):
        leaf, base, node = space.leaves[t, i], space.bases[i], boxes.nodes[b, i]
        while not space.first[base + node] <= leaf < space.stop[base + node]:
            node = np.int64(space.parent[base + node])
        boxes.nodes[b + 1, i] = node
    for w in range(space.words.shape[1]):
        boxes.words[b + 1, w] = boxes.words[b, w] | space.words[t, w]
    for s in range(len(space.begins) - 1):
        held = np.int64(0)
        for f in range(space.begins[s], space.begins[s + 1]):
            held += count_bits(boxes.words[b + 1, space.holders[f]] & space.masks[f])
        boxes.steps[b + 1, s] = space.costs[s, held + 1] - space.costs[s, held]
