"""Lines: the values of an attribute in a row, such that each block that is looked at is a run of them.

A line is made for improving one attribute. Its *units* are single values, or values that stay together this time; each
unit has a place. Lines of levels and cuts have a block for every node. Those of runs and sets have one for every run of
units of a branch: sets are put into an order at random that keeps the blocks of now together, so that the best runs
are never worse than these. The order of runs is given.

Whatever the domain, a line takes bounded memory: a branch with more than `MOST_UNITS` values has about so many units,
and where more blocks than that are there already, runs reach only through *segments* of so many units. That is
MOST_UNITS times as many numbers as there are units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from random import Random
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.census.census import Quasi
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.failing_runs import Room, by_place, node_sums, run_sums
from ringfence.kernels.recode.priced_paths import NOBODY, block_costs, cheapest_cut, cheapest_runs, cheapest_within
from ringfence.kernels.recode.run_covers import lowest_nodes, run_ends, run_totals
from ringfence.search.recode.partitions import NEVER, SETS, Partitions
from ringfence.search.recode.spaces import FREE, Levels, Space, covered_by
from ringfence.values.hierarchy import Hierarchy

MOST_UNITS = 128
"""How many units of a branch runs are made of."""

STEPS = (1, 2, 4, 8, 16, 32)
"""How far apart new cuts around those of now are tried, in values."""


class Line(Protocol):
    """A line, and the costs of its blocks once they are filled in.

    `place[leaf]` is where a leaf stands; `placed` are the tuples in that order.
    """

    place: Longs
    placed: Ints

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every block costs and suppresses, from so many entries of the other attributes' contexts."""

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest partition at a price for rows that are suppressed; return its cost without, and rows."""

    def solve_within(self, limit: int) -> float:
        """Find the cheapest partition that suppresses no more than a limit; return what it costs, infinite if there is
        none."""

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the partition last found: a label and the loss of a row for each leaf, and its level if it is one."""


class NodeBlocks:
    """Blocks that are published as nodes of a hierarchy."""

    def __init__(self, hierarchy: Hierarchy, nodes: Ints, rows: Floats) -> None:
        self._hierarchy, self.nodes, self.rows = hierarchy, nodes, rows

    def total(self, numbers: npt.NDArray[np.number]) -> Floats:
        """Return the sum of some numbers over the leaves below each node."""
        sums = np.concatenate([[0.0], np.cumsum(numbers)])
        found: Floats = sums[self._hierarchy.stop[self.nodes]] - sums[self._hierarchy.first[self.nodes]]
        return found

    @property
    def covered(self) -> Longs:
        """How many leaves are below each node."""
        return (self._hierarchy.stop[self.nodes] - self._hierarchy.first[self.nodes]).astype(np.int64)

    def spread(self, numbers: Floats) -> Floats:
        """Return how far apart the numbers below each node are."""
        low, high = np.full(len(self._hierarchy.labels), np.inf), np.full(len(self._hierarchy.labels), -np.inf)
        leaves = self._hierarchy.leaves
        low[:leaves] = np.where(np.isnan(numbers), np.inf, numbers)
        high[:leaves] = np.where(np.isnan(numbers), -np.inf, numbers)
        for node in range(self._hierarchy.root):  # children come before their parents
            above = self._hierarchy.parent[node]
            low[above], high[above] = min(low[above], low[node]), max(high[above], high[node])
        low, high = low[self.nodes], high[self.nodes]
        return np.where(high > low, high - low, 0.0)


class _NodeLine:
    """What lines of levels and of cuts share: a block for every node."""

    place: Longs
    placed: Ints

    def __init__(self, quasi: Quasi, loss: BlockLoss, codes: Ints, order: Longs, node: Longs, nodes: Ints) -> None:
        """`order` are the leaves by place, `node[h, p]` the blocks over place p, `nodes` what blocks are published
        as."""
        self._quasi, self._loss, self._order, self._node = quasi, loss, order, node
        self.place = np.zeros(quasi.hierarchy.leaves, np.int64)
        self.place[order] = np.arange(len(order))
        self.placed = _placed(codes, self.place, len(order))
        own, tallies = quasi.rows[order].astype(np.float64), (quasi.rows * loss.tally)[order]
        self._rows, self._tallies = np.zeros(len(nodes)), np.zeros(len(nodes))
        for row in node:
            inside = row >= 0
            self._rows += np.bincount(row[inside], own[inside], minlength=len(nodes))
            self._tallies += np.bincount(row[inside], tallies[inside], minlength=len(nodes))
        blocks = NodeBlocks(quasi.hierarchy, nodes, self._rows)
        self._flat, self._by_tally = loss.flat(blocks), loss.by_tally(blocks)
        self._costs, self._gone = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every node costs and suppresses."""
        sums = np.zeros((len(self._rows), 3))
        node_sums(size, room, watched, self._node, sums)
        block_costs(sums, self._rows, self._tallies, self._flat, self._by_tally, self._costs, self._gone)

    def _labels(self, chosen: Longs) -> tuple[Longs, Floats]:
        return _labelled(self._order, chosen, self._flat, self._by_tally, self._loss.tally)


class LevelLine(_NodeLine):
    """A line of levels: each is taken as a whole."""

    def __init__(self, quasi: Quasi, loss: BlockLoss, codes: Ints, walk: Levels) -> None:
        levels = quasi.hierarchy.levels
        # Leaves that share a node share it at all higher levels: so sorted, they stand side by side at each.
        occurring = np.flatnonzero(quasi.rows > 0)
        order = occurring[np.lexsort([levels[level][occurring] for level in walk.levels])]
        node = np.empty((len(walk.levels), len(order)), np.int64)
        nodes: list[Ints] = []
        for row, level in enumerate(walk.levels):
            found, number = np.unique(levels[level][order], return_inverse=True)
            node[row] = number.reshape(-1) + sum(map(len, nodes))
            nodes.append(found)
        super().__init__(quasi, loss, codes, order, node, np.concatenate(nodes).astype(np.int32))
        self._levels, self._level = walk.levels, 0

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest level."""
        found = []
        for row, blocks in enumerate(self._node):
            inside = np.unique(blocks)
            cost, gone = float(self._costs[inside].sum()), float(self._gone[inside].sum())
            found.append((cost + price * gone, row, cost, gone))
        _, self._level, cost, gone = min(found)
        return cost, gone

    def solve_within(self, limit: int) -> float:
        """Find the cheapest level that suppresses no more than a limit; return what it costs."""
        found = [(inf, self._level)]
        for row, blocks in enumerate(self._node):
            inside = np.unique(blocks)
            if self._gone[inside].sum() <= limit:
                found.append((float(self._costs[inside].sum()), row))
        cost, self._level = min(found)
        return cost

    def at(self, level: int) -> tuple[Longs, Floats, int]:
        """Return the partition of a level."""
        return (*self._labels(self._node[self._levels.index(level)]), level)

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the level last found."""
        return self.at(self._levels[self._level])


class CutLine(_NodeLine):
    """A line of cuts: each branch is one block, or its children are on their own."""

    def __init__(self, quasi: Quasi, loss: BlockLoss, codes: Ints, walk: Partitions) -> None:
        below: list[list[int]] = []
        for branch in walk.branches:
            below.append([leaf for child in branch.children for leaf in ([child] if child >= 0 else below[~child])])
        order = np.array(below[-1], np.int64)
        place = {leaf: p for p, leaf in enumerate(below[-1])}
        heights: list[int] = []
        for branch in walk.branches:
            heights.append(1 + max(0 if child >= 0 else heights[~child] for child in branch.children))
        node = np.full((max(heights) + 1, len(order)), -1, np.int64)
        node[0] = np.arange(len(order))
        nodes = [*below[-1]]
        self._starts = np.cumsum([0, *(len(branch.children) for branch in walk.branches)])
        self._kinds = np.array([NOBODY if c >= 0 else ~c for branch in walk.branches for c in branch.children])
        ends = [place[c] if c >= 0 else place[below[~c][0]] for branch in walk.branches for c in branch.children]
        self._first = np.array(ends)
        ends = [place[c] if c >= 0 else place[below[~c][-1]] for branch in walk.branches for c in branch.children]
        self._last = np.array(ends)
        self._merges = np.array([branch.rule is not NEVER for branch in walk.branches])
        for b, leaves in enumerate(below):
            nodes.append(quasi.hierarchy.common_ancestor(leaves))
            if self._merges[b]:
                node[heights[b], place[leaves[0]] : place[leaves[-1]] + 1] = len(order) + b
        super().__init__(quasi, loss, codes, order, node, np.array(nodes, np.int32))
        self._chosen = np.zeros(len(order), np.int64)

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest cut."""
        return cheapest_cut(
            self._starts, self._kinds, self._first, self._last, self._merges, len(self._order), self._costs,
            self._gone, price, self._chosen,
        )  # fmt: skip

    def solve_within(self, limit: int) -> float:
        """Find the cheapest cut that suppresses no more than a limit; return what it costs."""
        return cheapest_within(
            self._starts, self._kinds, self._first, self._last, self._starts, self._merges, False, len(self._order),
            self._costs, self._gone, limit, self._chosen,
        )  # fmt: skip

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the cut last found."""
        return (*self._labels(self._chosen), -1)


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
    def runs(self) -> int:
        """How many numbers all runs take."""
        return int(self.offsets[-1])


class RunBlocks:
    """Runs of units, as blocks.

    Child c of the shape covers the leaves `members[begins[c]:begins[c + 1]]`; `alone[c]` is the leaf that it is, -1 if
    it is several. `wholes[b]` are the leaves that all children of a branch cover together, where these are more.
    """

    def __init__(
        self, quasi: Quasi, shape: Shape, members: Longs, begins: Longs, alone: Longs, wholes: dict[int, Longs]
    ) -> None:
        self._quasi, self._shape, self._members, self._begins = quasi, shape, members, begins
        self._alone, self._wholes = alone, wholes

    def total(self, numbers: npt.NDArray[np.number]) -> Floats:
        """Return the sum of some numbers over the leaves that each run covers."""
        sums = np.add.reduceat(numbers[self._members].astype(np.float64), self._begins[:-1])
        alone = np.where(self._alone >= 0, numbers[self._alone], sums).astype(np.float64)
        whole = np.full(len(self._shape.sizes), np.nan)
        for branch, leaves in self._wholes.items():
            whole[branch] = numbers[leaves].sum()
        found = np.zeros(self._shape.runs)
        s = self._shape
        run_totals(s.starts, s.sizes, s.offsets, s.merges, sums, alone, whole, found)
        return found

    @cached_property
    def rows(self) -> Floats:
        """How many rows each run has."""
        return self.total(self._quasi.rows)

    @property
    def covered(self) -> Longs:
        """How many leaves each run covers."""
        return self.total(np.ones(self._quasi.hierarchy.leaves)).astype(np.int64)

    def spread(self, numbers: Floats) -> Floats:
        """Return how far apart the numbers of the leaves are that each run covers."""
        low = np.fmin.reduceat(numbers[self._members], self._begins[:-1])
        high = np.fmax.reduceat(numbers[self._members], self._begins[:-1])
        lows, highs = self._ends(np.where(np.isnan(low), np.inf, low), np.where(np.isnan(high), -np.inf, high))
        return np.where(highs > lows, highs - lows, 0.0)

    @property
    def nodes(self) -> Ints:
        """The lowest node above each run."""
        hierarchy = self._quasi.hierarchy
        low = np.minimum.reduceat(self._members, self._begins[:-1])
        high = np.maximum.reduceat(self._members, self._begins[:-1])
        lone = self._alone >= 0
        low, high = np.where(lone, self._alone, low), np.where(lone, self._alone, high)
        lows, highs = self._ends(low.astype(np.float64), high.astype(np.float64))
        nodes = np.empty(len(lows), np.int32)
        lowest_nodes(lows, highs, hierarchy.parent, hierarchy.stop, nodes)
        return nodes

    def _ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        s = self._shape
        lows, highs = np.full(s.runs, np.inf), np.full(s.runs, -np.inf)
        run_ends(s.starts, s.sizes, s.offsets, s.merges, low, high, lows, highs)
        return lows, highs


class RunLine:
    """A line of runs, or of sets in some order."""

    place: Longs
    placed: Ints

    def __init__(
        self, loss: BlockLoss, codes: Ints, shape: Shape, blocks: RunBlocks, place: Longs, order: Longs
    ) -> None:
        self._loss, self._shape, self._order = loss, shape, order
        places = shape.branch.shape[1]
        self.place, self.placed = place, _placed(codes, place, places)
        self._rows, self._tallies = blocks.rows, blocks.total(loss.quasi.rows * loss.tally)
        self._flat, self._by_tally = loss.flat(blocks), loss.by_tally(blocks)
        self._chosen = np.zeros(places, np.int64)
        self._costs, self._gone = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every run costs and suppresses."""
        s = self._shape
        sums = np.zeros((s.runs, 3))
        run_sums(size, room, watched, s.branch, s.child, s.sizes, s.offsets, sums)
        block_costs(sums, self._rows, self._tallies, self._flat, self._by_tally, self._costs, self._gone)

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest partition into runs."""
        s = self._shape
        return cheapest_runs(
            s.starts, s.sizes, s.kinds, s.first, s.last, s.offsets, s.merges, self._costs, self._gone, price,
            self._chosen,
        )  # fmt: skip

    def solve_within(self, limit: int) -> float:
        """Find the cheapest runs that suppress no more than a limit; return what they cost."""
        s = self._shape
        return cheapest_within(
            s.starts, s.kinds, s.first, s.last, s.offsets, s.merges, True, 0, self._costs, self._gone, limit,
            self._chosen,
        )  # fmt: skip

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the partition last found."""
        chosen = self._chosen[self.place[self._order]]
        return (*_labelled(self._order, chosen, self._flat, self._by_tally, self._loss.tally), -1)


def _labelled(leaves: Longs, blocks: Longs, flat: Floats, by_tally: Floats, tally: Floats) -> tuple[Longs, Floats]:
    """Return for each leaf the smallest leaf of its block, and what a row with it loses; 0 where it is in none."""
    labels, losses = np.zeros(len(tally), np.int64), np.zeros(len(tally))
    _, number = np.unique(blocks, return_inverse=True)
    smallest = np.full(len(leaves), len(tally), np.int64)
    np.minimum.at(smallest, number.reshape(-1), leaves)
    labels[leaves] = smallest[number.reshape(-1)]
    losses[leaves] = flat[blocks] - by_tally[blocks] * tally[leaves]
    return labels, losses


class RunLines:
    """Makes the lines of an attribute whose children are merged in runs or in any way."""

    def __init__(self, space: Space, walk: Partitions, loss: BlockLoss, codes: Ints) -> None:
        self._quasi, self._branches, self._loss, self._codes = space.quasi, walk.branches, loss, codes
        self._below: list[Longs] = []
        for branch in self._branches:
            parts = [np.array([child]) if child >= 0 else self._below[~child] for child in branch.children]
            self._below.append(np.concatenate(parts))
        self.fixed = not any(
            len(branch.children) > 2 and (branch.rule is SETS or len(branch.children) > MOST_UNITS)
            for branch in self._branches
        )
        self._ranked = np.array(sorted(self._below[-1].tolist(), key=lambda leaf: self._quasi.ranks[leaf]))
        self._covers: list[list[Longs]] = []
        self._wholes: list[Longs | None] = []
        for branch, below in zip(self._branches, self._below, strict=True):
            if branch.rule is NEVER:
                self._covers.append([])
                self._wholes.append(None)
                continue
            children = [child if child >= 0 else int(self._below[~child][0]) for child in branch.children]
            if space.scheme in FREE:
                self._covers.append([np.array([leaf]) for leaf in children])
                everything = len(children) == self._quasi.occurring
                self._wholes.append(covered_by(self._quasi, children) if everything else None)
            else:
                node = self._quasi.hierarchy.common_ancestor(below.tolist())
                self._covers.append([covered_by(self._quasi, [leaf], node) for leaf in children])
                self._wholes.append(covered_by(self._quasi, below.tolist()))

    def make(self, labels: Longs, draw: Random) -> RunLine:
        """Return a line of which the blocks of now, by their labels, are runs of units."""
        made = _Made()
        self._visit(len(self._branches) - 1, labels, draw, made)
        shape = made.shape()
        leaves = self._quasi.hierarchy.leaves
        place = np.zeros(leaves, np.int64)
        for p, unit in enumerate(made.units):
            place[unit] = p
        members = np.concatenate(made.covers)
        begins = np.cumsum([0, *map(len, made.covers)])
        blocks = RunBlocks(self._quasi, shape, members, begins, np.array(made.alone), made.wholes)
        return RunLine(self._loss, self._codes, shape, blocks, place, np.concatenate(made.units))

    def _visit(self, number: int, labels: Longs, draw: Random, made: "_Made") -> int:
        """Add a branch to a line, and all below it; return its number there."""
        branch = self._branches[number]
        if branch.rule is NEVER:
            below = []
            for child in branch.children:
                if child >= 0:
                    below.append(made.branch([made.place(np.array([child]), np.array([child]), child)], merges=True))
                else:
                    below.append(self._visit(~child, labels, draw, made))
            return made.branch([made.under(b) for b in below], merges=False)
        segments = self._segments(number, labels, draw)
        found = []
        for segment in segments:
            children = []
            for unit in segment:
                cover = self._covers[number][unit[0]]
                if len(unit) > 1:
                    cover = np.concatenate([self._covers[number][child] for child in unit])
                child = branch.children[unit[0]]
                if len(unit) == 1 and child < 0:
                    children.append(made.under(self._visit(~child, labels, draw, made), cover))
                else:
                    leaves = [np.array([c]) if c >= 0 else self._below[~c] for c in (branch.children[i] for i in unit)]
                    inside = leaves[0] if len(leaves) == 1 else np.concatenate(leaves)
                    children.append(made.place(inside, cover, child if len(unit) == 1 else -1))
            found.append(made.branch(children, merges=True))
        if len(found) > 1:
            return made.branch([made.under(b) for b in found], merges=False)
        whole = self._wholes[number]
        if whole is not None:
            made.wholes[found[0]] = whole
        return found[0]

    def _segments(self, number: int, labels: Longs, draw: Random) -> list[list[list[int]]]:
        """Return the children of a branch as units, in an order, and these in segments."""
        branch = self._branches[number]
        size = len(branch.children)
        if branch.rule is not SETS and size <= MOST_UNITS:
            return [[[child] for child in range(size)]]
        blocks = self._shuffled(number, labels, draw) if branch.rule is SETS else self._in_a_row(number, labels)
        if size <= MOST_UNITS:
            return [[[child] for block in blocks for child in block]]
        return _in_segments((self._chunks if branch.rule is SETS else self._pieces)(number, blocks, draw), draw)

    def _shuffled(self, number: int, labels: Longs, draw: Random) -> list[list[int]]:
        """Return the children of a branch by block, mostly in a random order."""
        together: dict[int, list[int]] = {}
        for child, mark in enumerate(self._marks(number, labels)):
            together.setdefault(mark, []).append(child)
        blocks = list(together.values())
        if draw.random() > 0.3:
            draw.shuffle(blocks)
        for block in blocks:
            if draw.random() < 0.7:
                draw.shuffle(block)
        return blocks

    def _in_a_row(self, number: int, labels: Longs) -> list[list[int]]:
        """Return the children of a branch in their order, by block."""
        blocks: list[list[int]] = []
        for child, mark in enumerate(marks := self._marks(number, labels)):
            if child > 0 and mark == marks[child - 1]:
                blocks[-1].append(child)
            else:
                blocks.append([child])
        return blocks

    def _marks(self, number: int, labels: Longs) -> list[int]:
        """Return the same number for children of a branch that are merged, another one for each that is not."""
        marks = []
        for place, child in enumerate(self._branches[number].children):
            leaves = [child] if child >= 0 else self._below[~child]
            mark = int(labels[leaves[0]])
            marks.append(mark if child >= 0 or (labels[leaves] == mark).all() else -1 - place)
        return marks

    def _pieces(self, number: int, blocks: list[list[int]], draw: Random) -> list[list[list[int]]]:
        """Cut runs into pieces: around the cuts of now, or so that pieces have as many rows each."""
        children = [child for block in blocks for child in block]
        cuts = np.cumsum([0, *map(len, blocks)])
        free = max(MOST_UNITS - len(blocks), len(blocks) // 2)
        if len(blocks) > 1 and draw.random() < 0.6:
            step, each = draw.choice(STEPS), max(1, free // (2 * len(blocks)))
            tried = (cuts[1:-1, None] + step * np.arange(-each, each + 1)[None, :]).reshape(-1)
        else:
            rows = np.cumsum([self._rows_of(number, child) for child in children])
            marks = (np.arange(free) + draw.random()) / free * rows[-1]
            tried = np.searchsorted(rows, marks) + 1
        every = np.unique(np.concatenate([cuts, np.clip(tried, 0, len(children))]))
        homes = np.searchsorted(cuts, every[:-1], side="right") - 1
        units: list[list[list[int]]] = [[] for _ in blocks]
        for home, start, stop in zip(homes.tolist(), every[:-1].tolist(), every[1:].tolist(), strict=True):
            units[home].append(children[start:stop])
        return units

    def _chunks(self, number: int, blocks: list[list[int]], draw: Random) -> list[list[list[int]]]:
        """Cut blocks of sets into chunks of about the same size: in the attribute's order, or in any."""
        children = self._branches[number].children
        size = sum(map(len, blocks))
        free = max(MOST_UNITS - len(blocks), len(blocks) // 2)
        units = []
        for block in blocks:
            if draw.random() < 0.6:
                block.sort(key=lambda child: self._quasi.ranks[self._first_leaf(children[child])])
                turn = draw.randrange(len(block))
                block[:] = block[turn:] + block[:turn] if draw.random() < 0.3 else block
            pieces = min(len(block), 1 + free * len(block) // size)
            cuts = np.linspace(0, len(block), pieces + 1).astype(int).tolist()
            units.append([block[i:j] for i, j in pairwise(cuts)])
        return units

    def _first_leaf(self, child: int) -> int:
        return child if child >= 0 else int(self._below[~child][0])

    def _rows_of(self, number: int, child: int) -> int:
        leaf = self._branches[number].children[child]
        return int(self._quasi.rows[leaf] if leaf >= 0 else self._quasi.rows[self._below[~leaf]].sum())


def _in_segments(units: list[list[list[int]]], draw: Random) -> list[list[list[int]]]:
    """Return units, by block, in segments that end where a block does, the first one of any length."""
    if sum(map(len, units)) <= 2 * MOST_UNITS:
        return [[unit for block in units for unit in block]]
    segments: list[list[list[int]]] = [[]]
    most = draw.randint(MOST_UNITS // 4, MOST_UNITS)
    for block in units:
        if segments[-1] and len(segments[-1]) + len(block) > most:
            segments.append([])
            most = MOST_UNITS
        segments[-1] += block
    return segments


class _Made:
    """Collects the branches and units of a line, children before their parents."""

    def __init__(self) -> None:
        self.units: list[Longs] = []
        self.covers: list[Longs] = []
        self.alone: list[int] = []
        self.wholes: dict[int, Longs] = {}
        self._branches: list[tuple[list[tuple[int, int, int, Longs, int]], bool]] = []
        self._spans: list[tuple[int, int]] = []

    def place(self, leaves: Longs, cover: Longs, alone: int) -> tuple[int, int, int, Longs, int]:
        """Add a unit; return it as a child."""
        self.units.append(leaves)
        here = len(self.units) - 1
        return (NOBODY, here, here, cover, alone if len(leaves) == 1 else -1)

    def under(self, branch: int, cover: Longs | None = None) -> tuple[int, int, int, Longs, int]:
        """Return a branch as a child."""
        first, last = self._spans[branch]
        return (branch, first, last, np.zeros(1, np.int64) if cover is None else cover, -1)

    def branch(self, children: list[tuple[int, int, int, Longs, int]], *, merges: bool) -> int:
        """Add a branch; return its number."""
        self._branches.append((children, merges))
        self._spans.append((children[0][1], children[-1][2]))
        return len(self._branches) - 1

    def shape(self) -> Shape:
        """Return how all of it hangs together."""
        sizes = [len(children) for children, _ in self._branches]
        merges = [merging for _, merging in self._branches]
        every = [child for children, _ in self._branches for child in children]
        self.covers = [child[3] for child in every]
        self.alone = [child[4] for child in every]
        parent = {
            child[0]: (b, i) for b, (children, _) in enumerate(self._branches) for i, child in enumerate(children)
        }
        depths = [0] * len(sizes)
        for b in range(len(sizes) - 2, -1, -1):
            depths[b] = depths[parent[b][0]] + 1
        branch = np.full((max(depths) + 1, len(self.units)), -1, np.int64)
        child = np.zeros_like(branch)
        for b, (children, merging) in enumerate(self._branches):
            if merging:
                for i, (_, first, last, _, _) in enumerate(children):
                    branch[depths[b], first : last + 1] = b
                    child[depths[b], first : last + 1] = i
        used = (branch >= 0).any(axis=1)
        ends = [(size + 1) ** 2 if merging else 0 for size, merging in zip(sizes, merges, strict=True)]
        return Shape(
            starts=np.cumsum([0, *sizes]),
            sizes=np.array(sizes),
            kinds=np.array([each[0] for each in every]),
            first=np.array([each[1] for each in every]),
            last=np.array([each[2] for each in every]),
            offsets=np.cumsum([0, *ends]),
            merges=np.array(merges),
            branch=np.ascontiguousarray(branch[used]),
            child=np.ascontiguousarray(child[used]),
        )


def _placed(codes: Ints, place: Longs, places: int) -> Ints:
    """Return tuples in the order of the places of their values."""
    order = np.empty(len(codes), np.int32)
    by_place(codes, place, places, order)
    return order


def line_for(space: Space, loss: BlockLoss, codes: Ints) -> "LevelLine | CutLine | RunLines":
    """Return the line of an attribute, or what makes its lines where there are many; `codes` are its column."""
    if isinstance(space.walk, Levels):
        return LevelLine(space.quasi, loss, codes, space.walk)
    if space.scheme == "cut":
        return CutLine(space.quasi, loss, codes, space.walk)
    return RunLines(space, space.walk, loss, codes)


def labels_of(space: Space, blocks: Sequence[Sequence[int]]) -> Longs:
    """Return for each leaf the smallest leaf of its block; 0 where it is in none."""
    labels = np.zeros(space.quasi.hierarchy.leaves, np.int64)
    for block in blocks:
        labels[list(block)] = min(block)
    return labels
