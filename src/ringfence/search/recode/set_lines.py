"""Lines of sets: a block for every set of the children of a branch (`lines`), where these are few enough.

Where lines of sets in some order (`run_lines`) find good partitions, these find the best one: for proofs.
"""

from dataclasses import replace

import numpy as np

from ringfence.arrays import Floats, Ints, Longs, Numbers
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.failing_sets import set_ends, set_sums, set_totals
from ringfence.kernels.recode.priced_paths import NOBODY, block_costs
from ringfence.kernels.recode.priced_sets import cheapest_sets, cheapest_sets_within, chosen_sets
from ringfence.kernels.recode.rooms import Room
from ringfence.search.recode.line_blocks import RunBlocks, Shape, in_places, labelled

LARGEST = 16
"""How many children of a branch may be merged in any way; every one more doubles the sets."""

MOST_SETS = 1 << 17
"""How many sets there may be over all branches."""

MOST_REACHED = 1 << 23
"""How many numbers `cheapest_sets_within` may keep, 8 bytes each."""


def all_sets(shape: Shape) -> Shape | None:
    """Return the shape in which blocks are all sets of children instead of runs; None if these are too many."""
    merging = shape.sizes[shape.merges]
    if len(merging) and (merging.max() > LARGEST or (1 << merging).sum() > MOST_SETS):
        return None
    return replace(shape, offsets=np.cumsum([0, *np.where(shape.merges, 1 << shape.sizes, 0)]))


class SubsetBlocks(RunBlocks):
    """All sets of children, as blocks."""

    def total(self, numbers: Numbers) -> Floats:
        """Return the sum of some numbers over the leaves that each set covers."""
        return self._totals(numbers, set_totals)

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and the largest number of each set; leaves that only the hierarchy knows are within."""
        return self._both_ends(low, high, set_ends)


class SetLine:
    """A line of sets."""

    place: Longs
    placed: Ints

    def __init__(self, loss: BlockLoss, codes: Ints, blocks: SubsetBlocks, place: Longs, order: Longs) -> None:
        shape = blocks.shape
        self._loss, self._shape, self._order, places = loss, shape, order, shape.branch.shape[1]
        self.place, self.placed = place, in_places(codes, place, places)
        self._rows, self._tallies = blocks.rows, blocks.total(loss.quasi.rows * loss.tally)
        self._flat, self._by_tally = loss.flat(blocks), loss.by_tally(blocks)
        self._chosen, self._choice = np.zeros(places, np.int64), np.zeros(len(self._rows), np.int64)
        self._costs, self._gone = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every set costs and suppresses."""
        s = self._shape
        sums = np.zeros((s.blocks, 3))
        set_sums(size, room, watched, s.branch, s.child, s.sizes, s.offsets, sums)
        block_costs(sums, self._rows, self._tallies, self._flat, self._by_tally, self._costs, self._gone)

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest partition into sets."""
        s = self._shape
        found = cheapest_sets(
            s.starts, s.sizes, s.kinds, s.offsets, s.merges, self._costs, self._gone, price, self._choice
        )
        chosen_sets(s.starts, s.sizes, s.kinds, s.first, s.last, s.offsets, s.merges, self._choice, self._chosen)
        return found

    def steps_within(self, limit: int) -> int:
        """Return about how many steps `solve_within` takes; far too many where it would keep too much."""
        s = self._shape
        if (limit + 1) * s.blocks > MOST_REACHED:
            return 1 << 62
        below = int((s.kinds != NOBODY).sum())
        return (limit + 1) * int((3 ** s.sizes[s.merges]).sum() // 6 + (limit + 1) * below * s.sizes.max())

    def solve_within(self, limit: int) -> float:
        """Find the cheapest sets that suppress no more than a limit; return what they cost."""
        s = self._shape
        return cheapest_sets_within(
            s.starts, s.sizes, s.kinds, s.first, s.last, s.offsets, s.merges, self._costs, self._gone, limit,
            self._chosen,
        )  # fmt: skip

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the partition last found."""
        chosen = self._chosen[self.place[self._order]]
        return (*labelled(self._order, chosen, self._flat, self._by_tally, self._loss.tally), -1)
