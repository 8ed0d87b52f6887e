"""Spans: where the tuples of a census lie, so that groups of them lose what they will lose when they are published.

The loss is GLM: the mean over attributes, by weight, of (leaves covered - 1)/(leaves - 1), for numbers of the width
covered over the width of the data (Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002, section 3). Or
it is GCP: the mean of (values of the data covered - 1)/(values in the data - 1), for numbers too (Wong, Mamoulis,
Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, SIGMOD 2010, Definition 8). Or it is the
loss of use (`judging.losses.use_loss`). What is covered depends on how groups are published: as sets of values, as
ranges, or as nodes of hierarchies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringfence.arrays import Floats, Longs, Words
from ringfence.census.census import Census, Quasi
from ringfence.census.covers import Representation, by_attribute
from ringfence.judging.losses import cell_metrics
from ringfence.kernels.groups.spans import Geometry

Kept = Literal["glm", "gcp", "use"]
"""The losses that groups can be searched by."""

MOST_BITS = 512
"""Sets of more values are told apart by so many bits: values that share one count as one while groups are searched for.
Groups have far fewer values, so that this is rare, and one more value of so many costs little."""

WORD = 64

BEYOND, FAR = 2.0, 1e9


@dataclass(frozen=True)
class Layout:
    """Which attributes lie on lines, in trees and in sets, each in the order in which a space has them.

    Under `use`, numbers that are published as sets are in both: they lose their width, and their values have prices.
    """

    lines: tuple[int, ...]
    trees: tuple[int, ...]
    sets: tuple[int, ...]


def layout_of(census: Census, representation: Representation | Sequence[Representation], loss: Kept) -> Layout:
    """Say where attributes lie, given how all are published, or each of them."""
    lines, trees, sets = [], [], []
    for a, (quasi, shown) in enumerate(zip(census.quasi, by_attribute(census, representation), strict=True)):
        if shown == "hierarchy":
            trees.append(a)
            continue
        on_line = shown == "range" or (quasi.numeric and loss != "gcp")
        if on_line:
            lines.append(a)
        if shown == "set" and quasi.occurring > 1 and (loss == "use" or not on_line):
            sets.append(a)
    return Layout(tuple(lines), tuple(trees), tuple(sets))


def space_of(census: Census, representation: Representation | Sequence[Representation], loss: Kept = "glm") -> Geometry:
    """Return where the tuples of a census lie, given how all attributes are published, or each of them.

    On a line, a missing value with others costs as much as all of them together: GLM sees no width there, and would let
    it hide among any numbers.
    """
    layout = layout_of(census, representation, loss)
    lines, trees, sets = list(layout.lines), layout.trees, layout.sets
    weight = cell_metrics()[loss].weight
    shares = np.array([weight(quasi) for quasi in census.quasi])
    shares /= shares.sum()
    places = [shares[a] * places_of(census.quasi[a], loss) for a in lines]
    orders = [np.argsort(part, kind="stable") for part in places]
    numbers = [part[order] for part, order in zip(places, orders, strict=True)]
    numbers += [shares[a] * node_losses(census.quasi[a], loss) for a in trees]
    ends = [np.argsort(order)[census.codes[:, a]] for a, order in zip(lines, orders, strict=True)]
    ends += [census.codes[:, a].astype(np.int64) for a in trees]
    words, begins, holders, masks = _packed(census, sets)
    before = np.zeros(sum(map(len, places)), np.int32)  # trees stand behind lines in `numbers`, and so here
    costs = [shares[a] * _set_losses(census.quasi[a], loss) * (a not in lines) for a in sets]
    bent = loss == "use"
    return Geometry(
        ends=np.array(ends, np.int32).reshape(len(ends), len(census.weights)).T.copy(),
        bases=np.cumsum([0, *map(len, numbers)])[: len(numbers)].astype(np.int64),
        numbers=np.concatenate([np.empty(0), *numbers]),
        limits=shares[lines],
        bends=np.array([0.0 if census.quasi[a].numeric or not bent else 1 / shares[a] for a in lines]),
        parent=np.concatenate([before, *(census.quasi[a].hierarchy.parent for a in trees)]),
        stop=np.concatenate([before, *(census.quasi[a].hierarchy.stop for a in trees)]),
        words=words,
        begins=begins,
        holders=holders,
        masks=masks,
        costs=np.array(costs).reshape(len(sets), MOST_BITS + 1),
        prices=np.empty((0, WORD)),
        tolls=np.empty((0, 3)),
    )


def _set_losses(quasi: Quasi, loss: Kept) -> Floats:
    """Return what a cell loses by the number of its values, from 0 to `MOST_BITS`."""
    held = np.arange(MOST_BITS + 1)
    if loss == "use":
        return 1.0 - 1.0 / np.maximum(1, held)
    return np.maximum(0, held - 1) / _others(quasi, loss)


def _others(quasi: Quasi, loss: Kept) -> int:
    """Return how many values there are besides one, or 1: all that can be lost."""
    if loss == "use":  # ranks are bent, not scaled
        return 1
    return max(1, (quasi.hierarchy.leaves if loss == "glm" else quasi.occurring) - 1)


def places_of(quasi: Quasi, loss: Kept = "glm") -> Floats:
    """Return the place of each leaf on a line on which the data is 1 wide; a missing value lies beyond it, at 2.

    Numbers lie where they are, but for GCP; other values at their rank among those that occur and may be published with
    them. For `use` these ranks are not scaled, since what they lose does not grow in proportion.
    """
    tree, occurs = quasi.hierarchy, quasi.rows > 0
    if quasi.numeric and loss != "gcp":
        numbers = quasi.places
        if np.isnan(numbers).all():
            return np.zeros(len(numbers))
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        places = (numbers - low) / (high - low if high > low else 1.0)
        return np.where(np.isnan(places), BEYOND, places)
    order = np.lexsort((quasi.ranks, tree.ceilings))
    before: Longs = np.cumsum(occurs[order]) - occurs[order]
    begins = np.flatnonzero(np.diff(tree.ceilings[order], prepend=-1))
    places = np.empty(tree.leaves)
    places[order] = (before - np.repeat(before[begins], np.diff([*begins, tree.leaves]))) / _others(quasi, loss)
    if tree.has_missing:
        places[-1] = FAR if loss == "use" else BEYOND
    return places


def _packed(census: Census, sets: Sequence[int]) -> tuple[Words, Longs, Longs, Words]:
    """Pack the values of sets into words side by side; return the words of each tuple, and the fields that are counted.

    A set that does not fit into what is left of a word begins a new one, and may go on into further ones.
    """
    fields: list[tuple[int, int]] = []
    columns: list[Words] = []
    begins, used = [0], WORD
    for a in sets:
        bits = bits_of(census.quasi[a])[census.codes[:, a]]
        size = min(census.quasi[a].occurring, MOST_BITS)
        if used + size > WORD:
            used = WORD
        for begin in range(0, size, WORD):
            if used == WORD:
                columns.append(np.zeros(len(bits), np.uint64))
                used = 0
            inside = (bits >= begin) & (bits < begin + WORD)
            columns[-1][inside] |= np.uint64(1) << (bits[inside] - begin + used).astype(np.uint64)
            width = min(WORD, size - begin)
            fields.append((len(columns) - 1, ((1 << width) - 1) << used))
            used += width
        begins.append(len(fields))
    words = np.stack(columns, axis=1) if columns else np.empty((len(census.weights), 0), np.uint64)
    return (
        words,
        np.array(begins, np.int64),
        np.array([holder for holder, _ in fields], np.int64),
        np.array([mask for _, mask in fields], np.uint64),
    )


def bits_of(quasi: Quasi) -> Longs:
    """Return the bit of each leaf that occurs in a set, from 0 on."""
    bits: Longs = (np.cumsum(quasi.rows > 0) - 1) % MOST_BITS
    return bits


def node_losses(quasi: Quasi, loss: Kept) -> Floats:
    """Return what a cell loses that is published as each node of an attribute's hierarchy."""
    tree = quasi.hierarchy
    if loss == "gcp":
        occurring = np.concatenate([[0], np.cumsum(quasi.rows > 0)])
        occur: Longs = occurring[tree.stop] - occurring[tree.first]
        return np.maximum(occur - 1, 0) / _others(quasi, loss)
    if not quasi.numeric:
        covered = tree.stop - tree.first
        return 1.0 - 1.0 / covered if loss == "use" else (covered - 1) / max(1, tree.leaves - 1)
    numbers = quasi.places
    low, high = np.where(np.isnan(numbers), np.inf, numbers), np.where(np.isnan(numbers), -np.inf, numbers)
    widths = np.array(
        [
            max(0.0, float(high[first:stop].max() - low[first:stop].min()))
            for first, stop in zip(tree.first.tolist(), tree.stop.tolist(), strict=True)
        ]
    )
    return widths / (widths[-1] or 1.0)
