"""Bounds for losses of cells, with a price on rows that must be suppressed.

All attributes but one are decided step by step, in boxes. The coarsest recoding of each box says which rows are in
classes that fail whatever is decided; the finest says what each cell loses at least. One attribute is eliminated: given
these, its cheapest partition is a shortest path over runs or over sets (`lines`). Where all have too many values for
that, none is, and all are decided.

Sound: let a recoding in the boxes suppress s rows, no more than the limit. Its rows in failing classes of the coarsest
end fail, by monotone models, and lose everything; all others lose at least what they do at the finest end. So for any
price p of 0 or more it costs at least the least of loss + p · (rows that must go), less p · s, hence less p · limit.
One pass over the rows gives all partitions their loss and rows, so that every price costs one shortest path. The bound
is concave in the price, and rises while more rows than the limit must go: the best price is found by halving.
"""

from collections.abc import Sequence
from math import inf
from random import Random
from threading import local
from typing import Any

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.failing_runs import contexts_of, entries_of, node_sums, shift
from ringfence.kernels.recode.rooms import Room, room_for
from ringfence.search.recode.boxes import Box
from ringfence.search.recode.contexts import Contexts
from ringfence.search.recode.eliminate_two import LowerBound
from ringfence.search.recode.lines import BlockLine, line_for
from ringfence.search.recode.question import Ground
from ringfence.search.recode.run_lines import MOST_UNITS, RunLines
from ringfence.search.recode.spaces import Space
from ringfence.search.recode.walker import state_of

HIGHEST = 1e6
"""A price at which nothing is suppressed that need not be."""

HALVINGS = 8
"""How often the range of prices is halved."""

MOST_DECIDED = 8
"""Of sets of more values than this, too little can be decided for a proof to come near."""

SELDOM, OFTEN = 2, 48
"""So many nodes at most are bounded between looks for better answers: where a proof is out of reach, and else."""

MOST_STEPS = 100_000_000
"""So many steps at most, about a tenth of a second, go to the best recoding of the eliminated attribute for each number
of rows suppressed; they grow with the square of the limit."""

MOST_KEPT = 1 << 12
"""How many boxes of an attribute are kept as keys and losses."""


class Priced:
    """Bounds the boxes of all attributes but one (`proof.Relaxation`)."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.spaces, self.terms = ground, ground.spaces, ground.terms
        self.eliminated = _to_eliminate(ground)
        self.others = [a for a in range(len(self.spaces)) if a != self.eliminated]
        self.last = self.others[0] if self.eliminated is None else self.eliminated
        self.start = None
        large = any(space.widest > MOST_DECIDED for space in self.spaces)
        self.apart = SELDOM if large else OFTEN
        self._own = local()
        self._codes = list(np.ascontiguousarray(ground.census.codes.T, np.int32))
        self._weights = ground.census.weights.astype(np.int64)
        numbers, whole = np.random.default_rng(2010), np.iinfo(np.int64)
        # Keys that agree by chance unite contexts, which can only lower the bound.
        self._marks = [numbers.integers(whole.min, whole.max, len(loss.tally) + 3) for loss in ground.losses]
        self._known: dict[tuple[int, Any, bytes], tuple[Longs, Floats, bool]] = {}

    def narrowed(self, _boxes: Sequence[Box]) -> Contexts:
        """Return contexts that serve all boxes inside these: here, boxes are all that is needed."""
        return NOTHING

    def work(self) -> int:
        """Return about how many steps a bound takes at most."""
        return 10 * len(self._weights) * len(self.spaces)

    def split(self, _bound: LowerBound, /) -> list[None]:
        """Return nothing: a path leaves nothing to decide."""
        return []

    def bound(
        self, boxes: Sequence[Box], _contexts: Contexts, _lead: None, target: float, _thorough: bool, /
    ) -> LowerBound:
        """Return what all recodings in some boxes cost at least."""
        keys, total = np.zeros(len(self._weights), np.int64), np.zeros(len(self._weights))
        for a, box in zip(self.others, boxes, strict=True):
            marks, losses, idle = self._ends(a, box)
            if not idle:
                shift(self._codes[a], keys, marks, total, losses)
        room, line = self._tools()
        a = self.eliminated or 0
        loss = self.ground.losses[a]
        nothing, none = np.zeros(len(loss.tally)), np.zeros(len(loss.tally), np.int64)
        size = contexts_of(keys, self._codes[a], none, room)
        entries, base = entries_of(
            size, line.placed, self._codes[a], line.place, self._weights, total, nothing, loss.tally, room
        )
        line.fill(entries, room, self.ground.watched)
        found = self._best_price(line, base, target / self.terms.full)
        unsure = found.states is None and found.cost < target and all(box.complete for box in boxes)
        if unsure and line.steps_within(self.terms.limit) <= MOST_STEPS:
            # All else is given: what is best within the limit is found exactly, for every number of rows.
            cost = base + line.solve_within(self.terms.limit)
            return LowerBound(cost * self.terms.full, self._state(line) if cost < inf else None, None)
        return found

    def _tools(self) -> tuple[Room, BlockLine]:
        """Return a room and a line of this thread's own."""
        if not hasattr(self._own, "tools"):
            self._own.tools = (room_for(len(self._weights)), self._line())
        tools: tuple[Room, BlockLine] = self._own.tools
        return tools

    def _line(self) -> BlockLine:
        if self.eliminated is None:
            return _Whole(len(self._weights), len(self.ground.losses[0].tally))
        a = self.eliminated
        line = _exact_line(self.spaces[a], self.ground.losses[a], self._codes[a])
        assert line is not None, "only such an attribute is eliminated"
        return line

    def _best_price(self, line: BlockLine, base: float, target: float) -> LowerBound:
        full, limit = self.terms.full, self.terms.limit
        cost, gone = line.solve(0.0)
        best = base + cost
        if gone <= limit:
            return LowerBound(best * full, self._state(line), None)
        low, high = 0.0, 0.25
        while gone > limit:
            if high > HIGHEST:
                return LowerBound(inf, None, None)
            cost, gone = line.solve(high)
            best = max(best, base + cost + high * (gone - limit))
            low, high = (high, 2 * high) if gone > limit else (low, high)
        for _ in range(HALVINGS):
            if best >= target:
                break
            middle = (low + high) / 2
            cost, gone = line.solve(middle)
            best = max(best, base + cost + middle * (gone - limit))
            low, high = (middle, high) if gone > limit else (low, middle)
        return LowerBound(best * full, None, None)

    def _state(self, line: BlockLine) -> dict[int, Any] | None:
        """Return the state of the eliminated attribute that was last found, if one is eliminated."""
        if self.eliminated is None:
            return None
        labels, _, level = line.partition()
        return {self.eliminated: state_of(self.spaces[self.eliminated], labels, level)}

    def _ends(self, a: int, box: Box) -> tuple[Longs, Floats, bool]:
        """Return by leaf what a box contributes to the keys of its coarsest end, and the losses of its finest; and
        whether that is nothing for all."""
        key = (a, box.state, b"" if box.partly else box.codes.tobytes())
        if key not in self._known:
            space, losses = self.spaces[a], self.terms.losses[a]
            codes = np.zeros_like(box.codes) if box.partly else box.codes
            finest = losses(space.quasi, space.recode(box.state)) / self.terms.full
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            occurring = space.quasi.rows > 0
            idle = not finest[occurring].any() and len(np.unique(codes[occurring])) == 1
            self._known[key] = (self._marks[a][codes], finest, idle)
        return self._known[key]


class _Whole:
    """A line of one block that loses nothing by itself: an attribute about which nothing is known."""

    def __init__(self, tuples: int, leaves: int) -> None:
        self.place, self.placed = np.zeros(leaves, np.int64), np.arange(tuples, dtype=np.int32)
        self._sums = np.zeros((1, 3))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what it costs and suppresses."""
        self._sums[:] = 0.0
        node_sums(size, room, watched, np.zeros((1, 1), np.int64), self._sums)

    def solve(self, _price: float) -> tuple[float, float]:
        """Return both."""
        return float(self._sums[0, 0]), float(self._sums[0, 1])

    def steps_within(self, _limit: int) -> int:
        """Return about how many steps that takes."""
        return 1

    def solve_within(self, limit: int) -> float:
        """Return what it costs, if it suppresses no more than a limit."""
        return float(self._sums[0, 0]) if self._sums[0, 1] <= limit else inf

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return nothing of use: it has no values."""
        return self.place, np.zeros(len(self.place)), -1


NOTHING = Contexts(np.empty((0, 0), np.int32), np.empty((0, 0)), np.empty((0, 0, 0), np.uint64))


def _exact_line(space: Space, loss: BlockLoss, codes: Ints) -> BlockLine | None:
    """Return a line that finds the best partition of an attribute, if there is one."""
    maker = line_for(space, loss, codes)
    if not isinstance(maker, RunLines):
        return maker
    return maker.make(np.zeros(len(loss.tally), np.int64), Random(0)) if maker.fixed else maker.every_set()


def _to_eliminate(ground: Ground) -> int | None:
    """Return the attribute with most partitions of which the best is found at once, if there is one."""
    found = []
    for a, (space, loss) in enumerate(zip(ground.spaces, ground.losses, strict=True)):
        few = space.quasi.occurring <= 4 * MOST_UNITS
        if few and _exact_line(space, loss, np.empty(0, np.int32)) is not None:
            found.append((space.walk.count, -a))
    return -max(found)[1] if found else None
