"""Bounds of boxes with two attributes eliminated together: an inner one in runs, an outer one in runs or sets.

Every block of the outer attribute chooses its own partition of the inner one, and prices make them agree
(`kernels.nests`, with the proof). The more they agree, the closer the bound comes to what the two attributes really
cost, given the boxes of the others: with all boxes complete, to 99 % and more on census data, where it is about 80 %
without prices. If all agree, it is exact; if they do not, the joint they disagree on most is decided.

Sets of 16 values are 65,535 blocks, too many to look at for every node. So a bound begins with the commonest values
only, and rows of the others cost what they cost at least, whatever they are merged with. That is a bound: a recoding
divides the commonest values into blocks, too, none of which costs more for being alone. Where few of these blocks are
left, because the others are ruled out, the next value is taken in: each block is left with it or without it. Rare
values hardly matter before the last percent of a proof, and then there are few blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.census import Census, Floats, Longs
from ringfence.kernels.nests import CUT, MERGED, added_up, ascend, box_costs, least_of, partial_sums
from ringfence.partitions import RUNS, SETS, Partitions, renumbered
from ringfence.search.boxes import UNDECIDED, Box
from ringfence.search.merging import Classes, Contexts, Merger, Terms
from ringfence.spaces import Space

MOST_BOXES = 1 << 17
"""Two attributes with more boxes than this cost more to eliminate than it gains."""

MOST_COUNTS = 1 << 25
"""Rows of data are counted by context and cell, in 8 bytes each; with more counts than this, they would fill memory."""

LARGEST_SET = 16
"""Covers are found by a table of all sets, in 24 bytes each."""

FIRST, COMMON, FEW = 6, 0.83, 400
"""So many values of sets are taken in at first, or those of so many of the rows; another one where there are so many
blocks left at most."""

ABOUT = 0.75
"""An attribute that tells so much of what another does may be as good to eliminate."""

THOROUGH, BRIEF = 20, 6
"""How many rounds of prices a node is worth, and how many a probe."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of the first `size` values of the outer attribute, those that may still be in a recoding that is worth
    finding, as `kernels.nests` takes them."""

    size: int
    parts: Longs
    masks: Longs
    ends: Longs

    @classmethod
    def runs(cls, size: int) -> "Blocks":
        """Return all runs."""
        ends = np.array([(start, end) for start in range(size) for end in range(start + 1, size + 1)])
        return cls(size, np.stack([ends[:, 1], size + 1 + ends[:, 0]], axis=1), np.zeros(0, np.int64), ends)

    @classmethod
    def sets(cls, size: int, masks: Longs | None = None) -> "Blocks":
        """Return some sets, or all."""
        masks = np.arange(1, 1 << size) if masks is None else masks
        masks = masks[np.lexsort((masks, masks & -masks))]
        low = (size + 1) // 2
        parts = np.stack([masks & ((1 << low) - 1), (1 << low) + (masks >> low)], axis=1)
        return cls(size, parts, masks, np.zeros((0, 2), np.int64))

    def only(self, live: npt.NDArray[np.bool_]) -> "Blocks":
        """Return the blocks that are still live."""
        if live.all():
            return self
        if len(self.ends):
            return replace(self, parts=self.parts[live], ends=self.ends[live])
        return replace(self, parts=self.parts[live], masks=self.masks[live])

    def grown(self) -> "Blocks":
        """Return the sets with one more value: each without it and with it, and the value by itself."""
        value = 1 << self.size
        return Blocks.sets(self.size + 1, np.concatenate([self.masks, self.masks | value, [value]]))


@dataclass(frozen=True, eq=False)
class Lead:
    """What is known of the eliminated attributes in a node: blocks worth a look, good prices, decided joints."""

    blocks: Blocks
    prices: Floats
    joints: npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Bound:
    """What all recodings of a node cost at least; `states` of the eliminated attributes that cost as much, if known."""

    cost: float
    states: dict[int, Any] | None
    lead: Any
    cuts: Floats | None = None


class Nest(Merger):
    """Bounds the boxes of all attributes but two.

    Without an inner attribute, of all but one. With a `beam`, only so many sets that look best are gone on with: what
    is found then is no bound, but a good partition, in a small part of the time.
    """

    def __init__(
        self, census: Census, spaces: Sequence[Space], outer: int, inner: int | None, terms: Terms, *, beam: int = 0
    ) -> None:
        self.outer, self.inner, self._beam = outer, inner, beam
        eliminated = [outer] if inner is None else [outer, inner]
        self._values = [_values(spaces[a]) for a in eliminated]
        super().__init__(census, spaces, eliminated, [np.array(values) for values in self._values], terms)
        self._shape = (len(self._values[0]), 1 if inner is None else len(self._values[1]))
        self._weights = self.finest.counts.sum(axis=0).reshape(self._shape).sum(axis=1)
        outers, inners = self._shape
        self._in_sets = _rule(spaces[outer]) is SETS
        self.start = Lead(
            Blocks.sets(_first_values(spaces[outer])) if self._in_sets else Blocks.runs(outers),
            np.zeros((outers, inners - 1)),
            np.full(inners - 1, UNDECIDED, np.int8),
        )
        self.last = outer

    def work(self, contexts: Contexts) -> int:
        """Return about how many steps a bound takes."""
        outers, inners = self._shape
        return len(contexts.codes) * outers * inners + len(self.start.blocks.parts) * inners * inners * 50

    def bound(self, boxes: Sequence[Box], contexts: Contexts, lead: Lead, target: float, thorough: bool, /) -> Bound:
        """Return what all recodings in some boxes cost at least, or some number above the target if that is more."""
        outers, inners = self._shape
        classes = self.classes(boxes, contexts)
        if classes is None:
            return Bound(inf, None, lead)
        counts, covers = added_up(classes.counts, inners), added_up(classes.covers, inners)
        complete = all(box.complete for box in boxes)
        while True:
            found = self._bound(classes, counts, covers, lead, target, thorough)
            blocks = found.lead.blocks
            if not thorough or found.cost >= target or blocks.size == outers:
                return found
            if len(blocks.parts) > FEW and not complete:
                return found
            lead = replace(found.lead, blocks=blocks.grown())

    def _bound(
        self, classes: Classes, counts: Floats, covers: Floats, lead: Lead, target: float, thorough: bool
    ) -> Bound:
        """Return a bound with the outer values that are taken in so far."""
        outers, inners = self._shape
        blocks, k = lead.blocks, float(self.terms.promise.least)
        if not len(blocks.parts):
            return Bound(inf, None, lead)
        size = blocks.size
        beyond, base = covers[size:].sum(axis=0), least_of(counts[size:], classes.large, k)
        costs = np.empty((inners * (inners + 1) // 2, len(blocks.parts)))
        box_costs(
            partial_sums(counts[:size].reshape(size, -1), not self._in_sets).reshape(-1, *counts.shape[1:]),
            partial_sums(covers[:size].reshape(size, -1), not self._in_sets).reshape(-1, *covers.shape[1:]),
            beyond, classes.group, classes.large, blocks.parts, k, self.terms.penalty, inners, costs,
        )  # fmt: skip
        prices, cuts, weights = lead.prices.copy(), np.zeros((size, inners - 1)), self._weights[:size]
        chosen, through = np.full(size, -1), np.empty(len(blocks.parts))
        cost, agree = ascend(
            costs, blocks.parts, blocks.masks, blocks.ends, lead.joints, weights,
            prices[:size], target - base, THOROUGH if thorough else BRIEF, chosen, cuts, through,
        )  # fmt: skip
        cost += base
        if thorough and cost < target:
            blocks = blocks.only(self._live(through, target - base, blocks))
        settled = cost < target and not (lead.joints == UNDECIDED).any()  # nothing is left to disagree on
        states = None
        if (agree or settled) and size == outers:
            states = self._states(chosen, lead.joints if settled else cuts[0])
        return Bound(cost, states, Lead(blocks, prices, lead.joints), weights @ cuts / weights.sum())

    def _live(self, through: Floats, target: float, blocks: Blocks) -> npt.NDArray[np.bool_]:
        """Return which blocks to go on with: those that can be in a recoding below the target, by what it costs."""
        live = through < target
        if self._beam and live.sum() > self._beam:
            live &= through <= np.partition(through, self._beam)[self._beam]
            live |= blocks.masks & (blocks.masks - 1) == 0  # with single values, there is always a cover
        return live

    def split(self, bound: Bound) -> list[Lead]:
        """Return the two parts of a node, by the joint that its blocks disagree on most, if one is not decided."""
        open_joints = np.flatnonzero(bound.lead.joints == UNDECIDED)
        if not len(open_joints):
            return []
        shares = bound.cuts[open_joints] if bound.cuts is not None else np.zeros(len(open_joints))
        joint = open_joints[np.argmax(shares * (1 - shares))]
        parts = []
        for decided in (CUT, MERGED):
            joints = bound.lead.joints.copy()
            joints[joint] = decided
            parts.append(replace(bound.lead, joints=joints))
        return parts

    def _states(self, chosen: Longs, cuts: Floats | npt.NDArray[np.int8]) -> dict[int, Any]:
        block_of = dict(zip(self._values[0], chosen.tolist(), strict=True))
        walk = self.spaces[self.outer].walk
        assert isinstance(walk, Partitions), "nests are of such attributes"
        outer = renumbered([block_of[value] for value in walk.branches[0].children])
        if self.inner is None:
            return {self.outer: (outer,)}
        return {self.outer: (outer,), self.inner: (tuple(np.cumsum([0, *cuts.astype(int)]).tolist()),)}


def nested(census: Census, spaces: Sequence[Space], terms: Terms) -> list[tuple[int, int]]:
    """Return which attributes may best be eliminated together, outer and inner; none where that cannot be done.

    They are those whose values tell most (the largest entropy), or about as much: what they have to decide between
    them needs no search.
    """
    if not terms.nestable:
        return []
    telling = [_entropy(space) for space in spaces]
    pairs = []
    for inner, space in enumerate(spaces):
        if _rule(space) is not RUNS:
            continue
        inners = space.quasi.occurring
        runs, room = inners * (inners + 1) // 2, MOST_COUNTS // (inners * len(census.codes))
        for outer, other in enumerate(spaces):
            fits = can_be_outer(other) and other.quasi.occurring <= room and _first_blocks(other) * runs <= MOST_BOXES
            if outer != inner and fits:
                pairs.append((outer, inner))
    pairs.sort(key=lambda pair: (-telling[pair[0]] - telling[pair[1]], -telling[pair[1]], pair))
    return [
        pair for pair in pairs if all(telling[a] >= ABOUT * telling[b] for a, b in zip(pair, pairs[0], strict=True))
    ]


def _rule(space: Space) -> object:
    """Return the rule of a space that is one branch of runs or sets, of two values or more."""
    if isinstance(space.walk, Partitions) and len(space.walk.branches) == 1:
        branch = space.walk.branches[0]
        if branch.rule in (RUNS, SETS) and len(branch.children) > 1:
            return branch.rule
    return None


def can_be_outer(space: Space) -> bool:
    """Whether an attribute can be the outer one of a nest."""
    return _rule(space) is RUNS or (_rule(space) is SETS and space.quasi.occurring <= LARGEST_SET)


def _first_blocks(space: Space) -> int:
    """Return how many blocks an outer attribute has to begin with."""
    size = space.quasi.occurring
    return size * (size + 1) // 2 if _rule(space) is RUNS else (1 << _first_values(space)) - 1


def _first_values(space: Space) -> int:
    """Return how many values of sets are taken in at first."""
    rows = np.sort(space.quasi.rows[space.quasi.rows > 0])[::-1]
    common = 1 + int(np.searchsorted(np.cumsum(rows), COMMON * rows.sum()))
    return min(max(FIRST, common), len(rows))


def _entropy(space: Space) -> float:
    rows = space.quasi.rows[space.quasi.rows > 0]
    return float(-sum(share * log(share) for share in (rows / rows.sum()).tolist()))


def _values(space: Space) -> list[int]:
    """Return the values of an attribute, runs in their order, sets by falling frequency."""
    assert isinstance(space.walk, Partitions), "nests are of such attributes"
    values = list(space.walk.branches[0].children)
    if _rule(space) is SETS:
        values.sort(key=lambda value: (-int(space.quasi.rows[value]), value))
    return values
