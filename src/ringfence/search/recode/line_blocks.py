"""Blocks of an attribute's values, thousands at once, as losses ask about them (`judging.block_losses`).

They are nodes of a hierarchy, runs of units, or sets of values. What losses ask follows from two things: the sum of
some numbers over the leaves that each block covers, and the smallest and the largest of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Ints, Longs, Numbers
from ringfence.census.census import Quasi
from ringfence.kernels.recode.failing_runs import by_place
from ringfence.kernels.recode.run_covers import lowest_nodes, run_ends, run_totals


class CoveringBlocks(ABC):
    """Blocks, entry by entry, and what their labels cover."""

    def __init__(self, quasi: Quasi) -> None:
        self._quasi = quasi

    @abstractmethod
    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over the leaves that each block covers."""

    @abstractmethod
    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest of some numbers and the largest of others over the leaves of each block."""

    @cached_property
    def rows(self) -> Floats:
        """How many rows each block has."""
        return self.total(self._quasi.rows)

    @property
    def covered(self) -> Longs:
        """How many leaves each block covers."""
        return self.total(np.ones(self._quasi.hierarchy.leaves)).astype(np.int64)

    def spread(self, numbers: Floats) -> Floats:
        """Return how far apart the numbers of each block are, those that are no numbers apart."""
        missing = np.isnan(numbers)
        low, high = self.ends(np.where(missing, np.inf, numbers), np.where(missing, -np.inf, numbers))
        return np.where(high > low, high - low, 0.0)

    @property
    def nodes(self) -> Ints:
        """The lowest node above each block."""
        hierarchy = self._quasi.hierarchy
        own = np.arange(hierarchy.leaves, dtype=np.float64)
        low, high = self.ends(own, own)
        nodes = np.empty(len(low), np.int32)
        lowest_nodes(low, high, hierarchy.parent, hierarchy.stop, nodes)
        return nodes


class NodeBlocks(CoveringBlocks):
    """Blocks that are published as nodes of a hierarchy; past a boundary, a node has more rows than its block."""

    def __init__(self, quasi: Quasi, nodes: Ints, rows: Floats) -> None:
        super().__init__(quasi)
        self._nodes, self._rows = nodes, rows

    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over the leaves below each node."""
        hierarchy, sums = self._quasi.hierarchy, np.concatenate([[0.0], np.cumsum(numbers)])
        found: Floats = sums[hierarchy.stop[self._nodes]] - sums[hierarchy.first[self._nodes]]
        return found

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and the largest number below each node."""
        hierarchy = self._quasi.hierarchy
        lows, highs = np.full(len(hierarchy.labels), np.inf), np.full(len(hierarchy.labels), -np.inf)
        lows[: hierarchy.leaves], highs[: hierarchy.leaves] = low, high
        for node in range(hierarchy.root):  # children come before their parents
            above = hierarchy.parent[node]
            lows[above], highs[above] = min(lows[above], lows[node]), max(highs[above], highs[node])
        return lows[self._nodes], highs[self._nodes]

    @cached_property
    def rows(self) -> Floats:
        """How many rows each block has."""
        return self._rows

    @property
    def nodes(self) -> Ints:
        """The nodes themselves."""
        return self._nodes


@dataclass(frozen=True, eq=False)
class Parts:
    """Numbers of leaves in parts: `members[begins[p]:begins[p + 1]]` is part p. None is empty."""

    members: Longs
    begins: Longs

    @staticmethod
    def of(parts: Sequence[Longs]) -> "Parts":
        """Return some arrays as parts."""
        members = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return Parts(members, np.cumsum([0, *map(len, parts)]))

    @staticmethod
    def ranges(first: Longs, sizes: Longs) -> Longs:
        """Return the whole numbers from each of some on, so many each."""
        ends = np.cumsum(sizes)
        return np.repeat(first - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)

    def taken(self, order: Longs) -> "Parts":
        """Return the same parts in another order."""
        sizes = np.diff(self.begins)[order]
        return Parts(self.members[self.ranges(self.begins[order], sizes)], np.concatenate([[0], np.cumsum(sizes)]))

    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over each part."""
        return self._reduced(np.add, numbers.astype(np.float64))

    def ends(self, numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the smallest and the largest of some numbers in each part."""
        return self._reduced(np.minimum, numbers), self._reduced(np.maximum, numbers)

    def _reduced(self, how: np.ufunc, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if len(self.begins) == 1:
            return np.zeros(0, numbers.dtype)
        found: npt.NDArray[Any] = how.reduceat(numbers[self.members], self.begins[:-1])
        return found


@dataclass(frozen=True, eq=False)
class Shape:
    """How the units of a line make up a tree of branches, as the kernels take it (`cheapest_runs`)."""

    starts: Longs
    sizes: Longs
    kinds: Longs
    first: Longs
    last: Longs
    offsets: Longs
    merges: Bools
    branch: Longs
    child: Longs

    @property
    def blocks(self) -> int:
        """How many numbers all runs, or sets, take."""
        return int(self.offsets[-1])


class RunBlocks(CoveringBlocks):
    """Runs of units, as blocks.

    `covers` are the leaves of each child of the shape; `alone[c]` is the leaf that it is, -1 if it is several. `wholes`
    are the leaves that all children of a branch cover together, those of `branches`, where these are more.
    """

    def __init__(self, quasi: Quasi, shape: Shape, covers: Parts, alone: Longs, branches: Longs, wholes: Parts) -> None:
        super().__init__(quasi)
        self.shape, self._covers, self._alone, self._branches, self._wholes = shape, covers, alone, branches, wholes

    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over the leaves that each run covers."""
        return self._totals(numbers, run_totals)

    def _totals(self, numbers: Numbers, add_up: Callable[..., None]) -> Floats:
        sums = self._covers.total(numbers)
        alone = np.where(self._alone >= 0, numbers[self._alone], sums).astype(np.float64)
        whole = np.full(len(self.shape.sizes), np.nan)
        whole[self._branches] = self._wholes.total(numbers)
        found = np.zeros(self.shape.blocks)
        s = self.shape
        add_up(s.starts, s.sizes, s.offsets, s.merges, sums, alone, whole, found)
        return found

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and the largest number of each run; leaves that only the hierarchy knows are within."""
        return self._both_ends(low, high, run_ends)

    def _both_ends(self, low: Floats, high: Floats, find: Callable[..., None]) -> tuple[Floats, Floats]:
        lone, s = self._alone >= 0, self.shape
        least, most = self._covers.ends(low)[0], self._covers.ends(high)[1]
        lows, highs = np.full(s.blocks, np.inf), np.full(s.blocks, -np.inf)
        least, most = np.where(lone, low[self._alone], least), np.where(lone, high[self._alone], most)
        find(s.starts, s.sizes, s.offsets, s.merges, least, most, lows, highs)
        return lows, highs


class SetBlocks(CoveringBlocks):
    """Blocks by the values that they have: `inside[i, v]` says whether block i has value v.

    One that has them all covers `everything`.
    """

    def __init__(self, quasi: Quasi, values: Longs, everything: Longs, inside: Bools) -> None:
        super().__init__(quasi)
        self._values, self._everything, self._inside = values, everything, inside
        self._whole = inside.all(axis=1)

    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over the leaves that each block covers."""
        sums = self._inside @ numbers[self._values].astype(np.float64)
        return np.where(self._whole, float(numbers[self._everything].sum()), sums)

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and the largest number of each block."""
        lows = np.where(self._inside, low[self._values], np.inf).min(axis=1)
        return lows, np.where(self._inside, high[self._values], -np.inf).max(axis=1)


def labelled(leaves: Longs, blocks: Longs, flat: Floats, by_tally: Floats, tally: Floats) -> tuple[Longs, Floats]:
    """Return for each leaf the smallest leaf of its block, and what a row with it loses; 0 where it is in none."""
    labels, losses = np.zeros(len(tally), np.int64), np.zeros(len(tally))
    _, number = np.unique(blocks, return_inverse=True)
    smallest = np.full(len(leaves), len(tally), np.int64)
    np.minimum.at(smallest, number.reshape(-1), leaves)
    labels[leaves] = smallest[number.reshape(-1)]
    losses[leaves] = flat[blocks] - by_tally[blocks] * tally[leaves]
    return labels, losses


def in_places(codes: Ints, place: Longs, places: int) -> Ints:
    """Return tuples in the order of the places of their values."""
    order = np.empty(len(codes), np.int32)
    by_place(codes, place, places, order)
    return order
