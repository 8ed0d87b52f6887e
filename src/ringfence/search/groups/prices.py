"""Prices: values that readers of a release would count too often cost more, others less, until the counts are right.

Readers take all values under a label to be equally likely. So n rows whose label covers d values are read as n/d rows
of each, and how often a value seems to occur in all groups may be far from how often it does. A row pays the mean price
of the values under its label; the prices that rows would pay for their own values add up to the same in all groups,
and are left out. Prices rise by what a value is read too often, as in the method of multipliers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census, Quasi
from ringfence.census.groups import lowest_covering
from ringfence.kernels.groups.places import Places
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.distances import MOST_BITS, WORD, Layout, bits_of

STEP, MOST = 0.3, 6.0
"""How much a price rises where a value is read twice as often as it occurs, and how high or low it may get: in what
rows lose on average at first."""
LEAST_SHARE = 0.001
"""Values of fewer rows are looked at as if they had this share of all."""
LARGEST_ERROR = 0.3
GENTLE_FROM = 20
"""For larger groups prices are smaller, in proportion: in them a row can do little for a value."""


@dataclass(eq=False)
class _Priced:
    """An attribute with a price for each of its values, as its kind of label tells them apart, and their rows."""

    attribute: int
    kind: str
    place: int
    actual: Floats
    weights: Floats
    prices: Floats


class Prices:
    """The prices of all values, for rows given by their tuples that lose `average` each at first."""

    def __init__(self, census: Census, layout: Layout, space: Geometry, tuples: Ints, average: float, k: int) -> None:
        self._census, self._space, self.paid = census, space, space
        gentle = min(1.0, GENTLE_FROM / k)
        self._step, self._most = gentle * STEP * average, gentle * MOST * average
        self._priced: list[_Priced] = []
        for s, a in enumerate(layout.sets):
            bits = bits_of(census.quasi[a])[census.codes[:, a]]
            self._add(a, "set", s, bits, tuples, min(MOST_BITS, census.quasi[a].occurring))
        for i, a in enumerate([*layout.lines, *layout.trees]):
            kind = "line" if i < len(layout.lines) else "tree"
            if a not in layout.sets and (kind == "tree" or _on_one_line(census.quasi[a])):
                self._add(a, kind, i, space.ends[:, i].astype(np.int64), tuples, census.quasi[a].hierarchy.leaves)

    def _add(self, a: int, kind: str, place: int, values: Longs, tuples: Ints, count: int) -> None:
        """Begin without prices for an attribute in which each tuple has one of so many values."""
        every = np.bincount(values, self._census.weights, count)
        actual = np.bincount(values[tuples], minlength=count).astype(np.float64)
        weights = np.maximum(every, LEAST_SHARE * self._census.rows)
        self._priced.append(_Priced(a, kind, place, actual, weights, np.zeros(count)))

    def excess(self, part: _Priced, places: Places) -> Floats:
        """Return how many rows more a reader would count of each value of an attribute than there are."""
        live = np.flatnonzero(places.sizes)
        sizes = places.sizes[live].astype(np.float64)
        if part.kind == "set":
            held = self._bits(part.place, places.covered[live])
            return np.asarray((sizes / held.sum(axis=1)) @ held - part.actual, np.float64)
        low, high = places.low[live, part.place], places.high[live, part.place]
        there = np.ones(len(part.prices))
        if part.kind == "tree":
            tree = self._census.quasi[part.attribute].hierarchy
            nodes = lowest_covering(tree, low, high)
            low, high = tree.first[nodes], tree.stop[nodes] - 1
        else:
            there = self._occurs(part)
        before = np.cumsum(there) - there
        share = sizes / np.maximum(1.0, before[high] + there[high] - before[low])
        steps = np.bincount(low, share, len(there) + 1) - np.bincount(high + 1, share, len(there) + 1)
        return np.asarray(np.cumsum(steps)[:-1] * there - part.actual, np.float64)

    def _occurs(self, part: _Priced) -> Floats:
        """Return which places of a line have rows at all: only those are under a label."""
        return (np.bincount(self._space.ends[:, part.place], minlength=len(part.prices)) > 0).astype(np.float64)

    def _positions(self, s: int) -> Longs:
        """Return where the bits of a set stand in all words, one behind the other."""
        fields = range(self._space.begins[s], self._space.begins[s + 1])
        found = [
            WORD * int(self._space.holders[f]) + np.flatnonzero(_unpacked(self._space.masks[f : f + 1])) for f in fields
        ]
        return np.concatenate(found)

    def _bits(self, s: int, covered: npt.NDArray[np.uint64]) -> Floats:
        """Return `held[g, b]`, whether group g has bit b of a set."""
        return _unpacked(covered)[:, self._positions(s)].astype(np.float64)

    def risen(self, places: Places) -> Geometry:
        """Let prices rise by what values are read too often, and return the space in which they are paid."""
        space = self._space
        prices, numbers = np.zeros(space.words.shape[1] * WORD), space.numbers.copy()
        lines = space.bases[len(space.limits)] if len(space.bases) > len(space.limits) else len(numbers)
        tolls = np.zeros((int(lines), 3))
        tolls[:, 2] = np.arange(len(tolls))
        for part in self._priced:
            error = np.clip(self.excess(part, places) / part.weights, -LARGEST_ERROR, LARGEST_ERROR)
            part.prices = np.clip(part.prices + self._step * error, -self._most, self._most)
            count = len(part.prices)
            if part.kind == "set":
                prices[self._positions(part.place)] = part.prices
                continue
            base = int(space.bases[part.place])
            if part.kind == "line":
                there = self._occurs(part)
                tolls[base : base + count, 0] = part.prices * there
                tolls[base : base + count, 1] = np.cumsum(part.prices * there)
                tolls[base : base + count, 2] = np.cumsum(there)
            else:
                tree = self._census.quasi[part.attribute].hierarchy
                sums = np.concatenate([[0.0], np.cumsum(part.prices)])
                numbers[base : base + len(tree.stop)] += (sums[tree.stop] - sums[tree.first]) / (tree.stop - tree.first)
        self.paid = space._replace(prices=prices.reshape(-1, WORD), numbers=numbers, tolls=tolls)
        return self.paid


def _on_one_line(quasi: Quasi) -> bool:
    """Whether all values can be published together: else those between two of a line need not be under their label."""
    return len(np.unique(quasi.hierarchy.ceilings[quasi.rows > 0])) == 1


def _unpacked(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Return the bits of words, the lowest of each first, those of further words in a row behind them."""
    little = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(little, axis=-1, bitorder="little")
