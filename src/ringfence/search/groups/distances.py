"""Spans: where the tuples of a census lie, so that groups of them lose what they will lose when they are published.

The loss is GLM: the mean over attributes, by weight, of (leaves covered - 1)/(leaves - 1), for numbers of the width
covered over the width of the data (Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002, section 3). Or
it is GCP: the mean of (values of the data covered - 1)/(values in the data - 1), for numbers too (Wong, Mamoulis,
Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, SIGMOD 2010, Definition 8). What is
covered depends on how groups are published: as sets of values, as ranges, or as nodes of hierarchies.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ringfence.arrays import Floats, Longs, Words
from ringfence.census.census import Census, Quasi
from ringfence.census.covers import Representation, by_attribute
from ringfence.kernels.groups.spans import Geometry

Kept = Literal["glm", "gcp"]
"""The losses that groups can be searched by."""

MOST_BITS = 512
"""Sets of more values are told apart by so many bits: values that share one count as one while groups are searched for.
Groups have far fewer values, so that this is rare, and one more value of so many costs little."""

WORD = 64

BEYOND = 2.0


def space_of(census: Census, representation: Representation | Sequence[Representation], loss: Kept = "glm") -> Geometry:
    """Return where the tuples of a census lie, given how all attributes are published, or each of them.

    On a line, a missing value with others costs as much as all of them together: GLM sees no width there, and would let
    it hide among any numbers.
    """
    shares = np.array([quasi.weight if loss == "glm" else 1.0 for quasi in census.quasi])
    shares /= shares.sum()
    lines, trees, sets = [], [], []
    shown = by_attribute(census, representation)
    for a, quasi in enumerate(census.quasi):
        if shown[a] == "hierarchy":
            trees.append(a)
        elif shown[a] == "range" or (quasi.numeric and loss == "glm"):
            lines.append(a)
        elif quasi.occurring > 1:
            sets.append(a)
    places = [shares[a] * places_of(census.quasi[a], loss) for a in lines]
    orders = [np.argsort(part, kind="stable") for part in places]
    numbers = [part[order] for part, order in zip(places, orders, strict=True)]
    numbers += [shares[a] * node_losses(census.quasi[a], loss) for a in trees]
    ends = [np.argsort(order)[census.codes[:, a]] for a, order in zip(lines, orders, strict=True)]
    ends += [census.codes[:, a].astype(np.int64) for a in trees]
    steps = [float(shares[a]) / _others(census.quasi[a], loss) for a in sets]
    words, holders, masks, scales = _packed(census, sets, steps)
    before = np.zeros(sum(map(len, places)), np.int32)  # trees stand behind lines in `numbers`, and so here
    return Geometry(
        ends=np.array(ends, np.int32).reshape(len(ends), len(census.weights)).T.copy(),
        bases=np.cumsum([0, *map(len, numbers)])[: len(numbers)].astype(np.int64),
        numbers=np.concatenate([np.empty(0), *numbers]),
        limits=shares[lines],
        parent=np.concatenate([before, *(census.quasi[a].hierarchy.parent for a in trees)]),
        stop=np.concatenate([before, *(census.quasi[a].hierarchy.stop for a in trees)]),
        words=words,
        holders=holders,
        masks=masks,
        scales=scales,
        first=sum(steps),
    )


def _others(quasi: Quasi, loss: Kept) -> int:
    """Return how many values there are besides one, or 1: all that can be lost."""
    return max(1, (quasi.hierarchy.leaves if loss == "glm" else quasi.occurring) - 1)


def places_of(quasi: Quasi, loss: Kept = "glm") -> Floats:
    """Return the place of each leaf on a line on which the data is 1 wide; a missing value lies beyond it, at 2.

    For GLM numbers lie where they are; other values at their rank among those that occur and may be published with
    them.
    """
    tree, occurs = quasi.hierarchy, quasi.rows > 0
    if quasi.numeric and loss == "glm":
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
        places[-1] = BEYOND
    return places


def _packed(census: Census, sets: list[int], steps: list[float]) -> tuple[Words, Longs, Words, Floats]:
    """Pack the values of sets into words side by side; return the words of each tuple, and the fields that are counted.

    A set that does not fit into what is left of a word begins a new one, and may go on into further ones.
    """
    fields: list[tuple[int, int, float]] = []
    columns: list[Words] = []
    used = WORD
    for a, step in zip(sets, steps, strict=True):
        quasi = census.quasi[a]
        bits = ((np.cumsum(quasi.rows > 0) - 1) % MOST_BITS)[census.codes[:, a]]
        size = min(quasi.occurring, MOST_BITS)
        if used + size > WORD:
            used = WORD
        for begin in range(0, size, WORD):
            if used == WORD:
                columns.append(np.zeros(len(bits), np.uint64))
                used = 0
            inside = (bits >= begin) & (bits < begin + WORD)
            columns[-1][inside] |= np.uint64(1) << (bits[inside] - begin + used).astype(np.uint64)
            width = min(WORD, size - begin)
            fields.append((len(columns) - 1, ((1 << width) - 1) << used, step))
            used += width
    words = np.stack(columns, axis=1) if columns else np.empty((len(census.weights), 0), np.uint64)
    return (
        words,
        np.array([holder for holder, _, _ in fields], np.int64),
        np.array([mask for _, mask, _ in fields], np.uint64),
        np.array([step for _, _, step in fields], np.float64),
    )


def node_losses(quasi: Quasi, loss: Kept) -> Floats:
    """Return what a cell loses that is published as each node of an attribute's hierarchy."""
    tree = quasi.hierarchy
    if loss == "gcp":
        occurring = np.concatenate([[0], np.cumsum(quasi.rows > 0)])
        covered: Longs = occurring[tree.stop] - occurring[tree.first]
        return np.maximum(covered - 1, 0) / _others(quasi, loss)
    if not quasi.numeric:
        return (tree.stop - tree.first - 1) / max(1, tree.leaves - 1)
    numbers = quasi.places
    low, high = np.where(np.isnan(numbers), np.inf, numbers), np.where(np.isnan(numbers), -np.inf, numbers)
    widths = np.array(
        [
            max(0.0, float(high[first:stop].max() - low[first:stop].min()))
            for first, stop in zip(tree.first.tolist(), tree.stop.tolist(), strict=True)
        ]
    )
    return widths / (widths[-1] or 1.0)
