"""The best partition of one attribute, by dynamic programming over its blocks.

With the partitions of all other attributes given, or bounded, a loss that adds up over classes or cells is a sum over
the blocks of the one that is left. Which blocks there are, and how they make up a partition, its scheme says: levels
are compared as wholes; a branch of the scheme's tree chooses the cheapest way to merge its children, where a child
left alone costs what its own best partition costs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.kernels.recode.block_costs import best_runs, best_sets
from ringfence.search.recode.labelling import State
from ringfence.search.recode.partitions import CUT, NEVER, RUNS, Branch, Partitions, renumbered
from ringfence.search.recode.spaces import Levels, Space

MOST_BLOCKS = 1 << 17
"""An attribute with more blocks than this has no exact program."""

MOST_MEMBERS = 1 << 22
"""Nor has one whose blocks have more values than this together: a program keeps them all, 8 bytes each."""

LARGEST_SET = 16
"""Children of a branch with more of them are merged in runs only, if need be: the program is not exact then."""


@dataclass(frozen=True, eq=False)
class Program:
    """The blocks of an attribute, and how the cheapest partition into them is found.

    `steps` build blocks up from *rows* (see `kernels.recode.block_costs.block_costs`): the first rows are the leaves,
    in the order of `leaves`; each row of `sums` unites earlier ones. `members` are the leaves of each block. `solve`
    takes the cost of every block and returns that of the cheapest partition, and its state in the attribute's space.
    """

    exact: bool
    leaves: Longs
    sums: tuple[tuple[int, ...], ...]
    steps: Longs
    members: tuple[tuple[int, ...], ...]
    solve: Callable[[Floats], tuple[float, Any]]

    def united(self, counts: Floats) -> Floats:
        """Return counts by leaf with a row for each sum added."""
        if not self.sums:
            return counts
        rows = list(counts)
        for parts in self.sums:
            rows.append(sum((rows[part] for part in parts[1:]), rows[parts[0]]))
        return np.array(rows)


def blocks_of(space: Space) -> int:
    """Return how many blocks an exact program over a space has; far too many where sets are large."""
    if isinstance(space.walk, Levels):
        return space.walk.count * len(space.quasi.rows)
    total = space.quasi.occurring
    for branch in space.walk.branches:
        children = len(branch.children)
        total += {RUNS: children * children // 2, CUT: 1, NEVER: 0}.get(branch.rule, 1 << min(children, 40))
    return total


def has_program(space: Space) -> bool:
    """Whether a program over a space is of a size that can be kept; one of large sets in runs, which is not exact."""
    if isinstance(space.walk, Levels):
        return True
    blocks = members = 0
    for branch in space.walk.branches:
        size = len(branch.children)
        runs = branch.rule is RUNS or size > LARGEST_SET
        blocks += {CUT: 1, NEVER: 0}.get(branch.rule, size * size // 2 if runs else 1 << size)
        members += {CUT: 1, NEVER: 0}.get(branch.rule, size**2 // 6 if runs else 1 << (size - 1)) * size
    return blocks <= MOST_BLOCKS and members <= MOST_MEMBERS


class _Builder:
    """Collects rows, steps and blocks."""

    def __init__(self, leaves: list[int]) -> None:
        self.exact = True
        self.row = {leaf: row for row, leaf in enumerate(leaves)}
        self.below: list[tuple[int, ...]] = [(leaf,) for leaf in leaves]
        self.sums: list[tuple[int, ...]] = []
        self.steps: list[tuple[int, int, int]] = []
        self.members: list[tuple[int, ...]] = []

    def sum(self, rows: tuple[int, ...]) -> int:
        """Add a row that unites others."""
        self.sums.append(rows)
        self.below.append(tuple(leaf for row in rows for leaf in self.below[row]))
        return len(self.below) - 1

    def block(self, depth: int, row: int, leaves: tuple[int, ...]) -> int:
        """Add a block: a row, and the block last built at the depth above."""
        self.steps.append((depth, row, len(self.members)))
        self.members.append(leaves)
        return len(self.members) - 1

    def finish(self, leaves: list[int], solve: Callable[[Floats], tuple[float, Any]]) -> Program:
        """Return the program."""
        return Program(self.exact, np.array(leaves), tuple(self.sums), np.array(self.steps), tuple(self.members), solve)


def program(space: Space) -> Program:
    """Return the program of an attribute's space.

    One that is not exact finds a partition that the space has, but maybe not the best.
    """
    leaves = np.flatnonzero(space.quasi.rows > 0).tolist()
    builder = _Builder(leaves)
    if isinstance(space.walk, Levels):
        return builder.finish(leaves, _levels(builder, space, space.walk, leaves))
    return builder.finish(leaves, _tree(builder, space.walk))


def _levels(builder: _Builder, space: Space, walk: Levels, leaves: list[int]) -> Callable[[Floats], tuple[float, Any]]:
    parts: list[tuple[int, list[int]]] = []
    known: dict[tuple[int, ...], int] = {}
    for level in walk.levels:
        blocks: dict[int, list[int]] = {}
        for leaf in leaves:
            blocks.setdefault(int(space.recode(level).blocks[leaf]), []).append(leaf)
        for members in map(tuple, blocks.values()):
            if members not in known:
                row = builder.row[members[0]]
                if len(members) > 1:
                    row = builder.sum(tuple(builder.row[leaf] for leaf in members))
                known[members] = builder.block(0, row, members)
        parts.append((level, [known[tuple(members)] for members in blocks.values()]))

    def solve(costs: Floats) -> tuple[float, Any]:
        return min((float(costs[blocks].sum()), level) for level, blocks in parts)

    return solve


def _tree(builder: _Builder, walk: Partitions) -> Callable[[Floats], tuple[float, State]]:
    """Return how the cheapest partition of a tree of branches is found, children before parents."""
    single = {leaf: builder.block(0, row, (leaf,)) for leaf, row in builder.row.items()}
    rows: list[int] = []
    ways: list[Callable[[Floats, Floats], tuple[float, tuple[int, ...]]]] = []
    for branch in walk.branches:
        below = [builder.row[child] if child >= 0 else rows[~child] for child in branch.children]
        ways.append(_way(builder, branch, below))
        if branch is not walk.branches[-1]:
            rows.append(builder.sum(tuple(below)))

    def solve(costs: Floats) -> tuple[float, State]:
        best: list[float] = []
        state: list[tuple[int, ...]] = []
        for branch, way in zip(walk.branches, ways, strict=True):
            alone = np.array([costs[single[child]] if child >= 0 else best[~child] for child in branch.children])
            cost, blocks = way(costs, alone)
            best.append(cost)
            state.append(blocks)
        return best[-1], completed(walk, state)

    return solve


def completed(walk: Partitions, state: list[tuple[int, ...]]) -> State:
    """Return the state in which everything below a child that is merged with others is one block."""
    for i in range(len(state) - 1, -1, -1):
        for child, block in zip(walk.branches[i].children, state[i], strict=True):
            if child < 0 and state[i].count(block) > 1:
                state[~child] = walk.branches[~child].together
    return tuple(state)


def _way(
    builder: _Builder, branch: Branch, rows: list[int]
) -> Callable[[Floats, Floats], tuple[float, tuple[int, ...]]]:
    """Add the blocks that a branch's rule allows of its children; return how the cheapest choice is found."""
    size = len(rows)
    if branch.rule is NEVER:
        return lambda _, alone: (float(alone.sum()), branch.apart)
    if branch.rule is CUT:
        row = builder.sum(tuple(rows))
        whole = builder.block(0, row, builder.below[row])
        return lambda costs, alone: min((float(alone.sum()), branch.apart), (float(costs[whole]), branch.together))
    if branch.rule is RUNS or size > LARGEST_SET:
        builder.exact = builder.exact and branch.rule is RUNS
        runs = np.zeros((size, size), np.int64)
        for start in range(size):
            leaves: tuple[int, ...] = ()
            for end in range(start, size):
                leaves += builder.below[rows[end]]
                runs[start, end] = builder.block(end - start, rows[end], leaves)

        def cheapest_runs(costs: Floats, alone: Floats) -> tuple[float, tuple[int, ...]]:
            choice = np.empty(size + 1, np.int64)
            cost = best_runs(alone, runs, costs, choice)
            blocks, end = [0] * size, size
            while end > 0:
                blocks[choice[end] : end] = [end] * (end - int(choice[end]))
                end = int(choice[end])
            return cost, renumbered(blocks)

        return cheapest_runs
    sets = np.zeros(1 << size, np.int64)
    _subsets(builder, rows, sets, 0, 0, 0, ())

    def cheapest_sets(costs: Floats, alone: Floats) -> tuple[float, tuple[int, ...]]:
        choice = np.empty(1 << size, np.int64)
        cost = best_sets(alone, sets, costs, choice)
        blocks, left = [0] * size, (1 << size) - 1
        while left:
            for child in range(size):
                if choice[left] >> child & 1:
                    blocks[child] = left
            left ^= int(choice[left])
        return cost, renumbered(blocks)

    return cheapest_sets


def _subsets(
    builder: _Builder, rows: list[int], sets: Longs, depth: int, chosen: int, start: int, leaves: tuple[int, ...]
) -> None:
    """Add every set of children, each as another one and a later child."""
    for child in range(start, len(rows)):
        united = chosen | 1 << child
        below = leaves + builder.below[rows[child]]
        sets[united] = builder.block(depth, rows[child], below)
        _subsets(builder, rows, sets, depth + 1, united, child + 1, below)
