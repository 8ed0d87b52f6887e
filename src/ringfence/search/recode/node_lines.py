"""Lines of levels and of cuts: a block for every node of the hierarchy (`lines`)."""

from math import inf

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Quasi
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.judged_runs import all_node_sums
from ringfence.kernels.recode.priced_paths import NOBODY, block_costs, cheapest_cut, cheapest_within
from ringfence.kernels.recode.rooms import Room
from ringfence.search.recode.line_blocks import NodeBlocks, in_places, labelled
from ringfence.search.recode.partitions import NEVER, Partitions
from ringfence.search.recode.spaces import Levels


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
        self.placed = in_places(codes, self.place, len(order))
        own, tallies = quasi.rows[order].astype(np.float64), (quasi.rows * loss.tally)[order]
        self._rows, self._tallies = np.zeros(len(nodes)), np.zeros(len(nodes))
        for row in node:
            inside = row >= 0
            self._rows += np.bincount(row[inside], own[inside], minlength=len(nodes))
            self._tallies += np.bincount(row[inside], tallies[inside], minlength=len(nodes))
        blocks = NodeBlocks(quasi, nodes, self._rows)
        self._flat, self._by_tally = loss.flat(blocks), loss.by_tally(blocks)
        self._costs, self._gone = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every node costs and suppresses."""
        sums = np.zeros((len(self._rows), 3))
        all_node_sums(size, room, watched, self._node, sums)
        block_costs(sums, self._rows, self._tallies, self._flat, self._by_tally, self._costs, self._gone)

    def _labels(self, chosen: Longs) -> tuple[Longs, Floats]:
        return labelled(self._order, chosen, self._flat, self._by_tally, self._loss.tally)


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

    def steps_within(self, _limit: int) -> int:
        """Return about how many steps `solve_within` takes."""
        return len(self._rows)

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

    def steps_within(self, limit: int) -> int:
        """Return about how many steps `solve_within` takes."""
        below = int((self._kinds != NOBODY).sum())
        return (limit + 1) * (len(self._kinds) + (limit + 1) * below)

    def solve_within(self, limit: int) -> float:
        """Find the cheapest cut that suppresses no more than a limit; return what it costs."""
        return cheapest_within(
            self._starts, self._kinds, self._first, self._last, self._starts, self._merges, False, len(self._order),
            self._costs, self._gone, limit, self._chosen,
        )  # fmt: skip

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the cut last found."""
        return (*self._labels(self._chosen), -1)
