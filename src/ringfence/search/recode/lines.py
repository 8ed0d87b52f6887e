"""Lines: the values of an attribute in a row, such that each block that is looked at is a run of them.

A line is made for improving one attribute. Its *units* are single values, or values that stay together this time; each
unit has a place. Lines of levels and cuts have a block for every node (`node_lines`). Those of runs and sets have one
for every run of units of a branch (`run_lines`): sets are put into an order at random that keeps the blocks of now
together, so that the best runs are never worse than these. The order of runs is given.
"""

from typing import Protocol

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.rooms import Room
from ringfence.search.recode.labelling import State
from ringfence.search.recode.node_lines import CutLine, LevelLine
from ringfence.search.recode.partitions import Partitions
from ringfence.search.recode.run_lines import RunLines
from ringfence.search.recode.spaces import FREE, Levels, Space


class BlockLine(Protocol):
    """A line, and the costs of its blocks once they are filled in.

    `place[leaf]` is where a leaf stands; `placed` are the tuples in that order.
    """

    place: Longs
    placed: Ints

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every block costs and suppresses, from so many entries of the other attributes' contexts."""

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest partition at a price for rows that are suppressed; return its cost without, and rows."""

    def steps_within(self, limit: int) -> int:
        """Return about how many steps `solve_within` takes."""

    def solve_within(self, limit: int) -> float:
        """Find the cheapest partition that suppresses no more than a limit; return what it costs, infinite if there is
        none."""

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the partition last found: a label and the loss of a row for each leaf, and its level if it is one."""


def line_for(space: Space, loss: BlockLoss, codes: Ints) -> "LevelLine | CutLine | RunLines":
    """Return the line of an attribute, or what makes its lines where there are many; `codes` are its column."""
    if isinstance(space.walk, Levels):
        return LevelLine(space.quasi, loss, codes, space.walk)
    if space.scheme == "cut" or _are_cuts(space):
        return CutLine(space.quasi, loss, codes, space.walk)
    return RunLines(space, space.walk, loss, codes)


def _are_cuts(space: Space) -> bool:
    """Whether blocks are the nodes of the hierarchy: under each are two others, and what covers them is the same."""
    assert isinstance(space.walk, Partitions), "levels are no partitions"
    hierarchy = space.quasi.hierarchy
    two_by_two = all(len(branch.children) == 2 for branch in space.walk.branches)
    return two_by_two and space.scheme not in FREE and bool((hierarchy.ceilings == hierarchy.root).all())


def labels_of(space: Space, walk: Partitions, state: State) -> Longs:
    """Return for each leaf the smallest leaf of its block; 0 where it does not occur."""
    return np.where(space.quasi.rows > 0, walk.labelling.of(state, space.quasi.hierarchy.leaves), 0)
