"""Bounds of boxes with two attributes eliminated together: an inner one in runs, an outer one in runs or small sets.

Every block of the outer attribute chooses its own partition of the inner one, and prices make them agree
(`kernels.nests`, with the proof). The more they agree, the closer the bound comes to what the two attributes really
cost, given the boxes of the others: with all boxes complete, to 99 % and more on census data, where it is about 80 %
without prices. If all agree, it is exact; if they do not, the joint they disagree on most is decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.census import Census, Floats, Longs
from ringfence.kernels.nests import CUT, MERGED, ascend, box_costs
from ringfence.partitions import RUNS, SETS, Partitions, renumbered
from ringfence.search.boxes import UNDECIDED, Box
from ringfence.search.merging import Contexts, Merger, Terms
from ringfence.spaces import Space

MOST_BOXES = 1 << 17
"""Two attributes with more boxes than this cost more to eliminate than it gains."""

MOST_COUNTS = 1 << 25
"""Rows of data are counted by context and cell, in 8 bytes each; with more counts than this, they would fill memory."""

LARGEST_SET = 8
"""Sets of more values have too many blocks to look at for every node."""

THOROUGH, BRIEF = 20, 6
"""How many rounds of prices a node is worth, and how many a probe."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of the outer attribute, those that may still be in a recoding that is worth finding, as `kernels.nests`
    takes them."""

    steps: Longs
    masks: Longs
    firsts: Longs
    ends: Longs

    def only(self, live: npt.NDArray[np.bool_]) -> "Blocks":
        """Return the blocks that are still live, and those that they are built from."""
        kept, wanted = live.copy(), set[int]()
        for block in range(len(kept) - 1, -1, -1):
            depth = int(self.steps[block, 0])
            kept[block] |= depth in wanted
            wanted.discard(depth)
            if kept[block] and depth > 0:
                wanted.add(depth - 1)
        if kept.all():
            return self
        before = np.cumsum([0, *kept])
        return Blocks(
            self.steps[kept],
            self.masks[kept] if len(self.masks) else self.masks,
            before[self.firsts] if len(self.firsts) else self.firsts,
            self.ends[kept] if len(self.ends) else self.ends,
        )


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
    """Bounds the boxes of all attributes but two."""

    def __init__(self, census: Census, spaces: Sequence[Space], outer: int, inner: int, terms: Terms) -> None:
        self.outer, self.inner = outer, inner
        self._values = [_values(spaces[outer]), _values(spaces[inner])]
        super().__init__(census, spaces, (outer, inner), [np.array(values) for values in self._values], terms)
        self._shape = (len(self._values[0]), len(self._values[1]))
        self._weights = self.finest.counts.sum(axis=1).reshape(self._shape).sum(axis=1)
        outers, inners = self._shape
        self._in_sets = _rule(spaces[outer]) is SETS
        self.start = Lead(
            _all_sets(outers) if self._in_sets else _all_runs(outers),
            np.zeros((outers, inners - 1)),
            np.full(inners - 1, UNDECIDED, np.int8),
        )
        self.last = outer

    def work(self, contexts: Contexts) -> int:
        """Return about how many steps a bound takes."""
        outers, inners = self._shape
        return len(contexts.codes) * outers * inners + len(self.start.blocks.steps) * inners * inners * 50

    def bound(self, boxes: Sequence[Box], contexts: Contexts, lead: Lead, target: float, thorough: bool, /) -> Bound:
        """Return what all recodings in some boxes cost at least, or some number above the target if that is more."""
        outers, inners = self._shape
        classes, blocks = self.classes(boxes, contexts), lead.blocks
        if classes is None or not len(blocks.steps):
            return Bound(inf, None, lead)
        heads = np.unique(classes.group, return_index=True)[1]
        covers = np.ascontiguousarray(classes.covers[:, heads])
        costs = np.empty((len(blocks.steps), inners * (inners + 1) // 2))
        box_costs(
            classes.counts.reshape(outers, inners, -1), covers.reshape(outers, inners, -1), classes.group,
            classes.large, blocks.steps, float(self.terms.promise.least), self.terms.penalty, costs,
        )  # fmt: skip
        prices, cuts = lead.prices.copy(), np.zeros((outers, inners - 1))
        chosen, through = np.full(outers, -1), np.empty(len(blocks.steps))
        cost, agree = ascend(
            costs, blocks.steps, blocks.masks, blocks.firsts, blocks.ends, lead.joints, self._weights,
            prices, target, THOROUGH if thorough else BRIEF, chosen, cuts, through,
        )  # fmt: skip
        if thorough and cost < target and not agree:
            blocks = blocks.only(through < target)
        settled = cost < target and not (lead.joints == UNDECIDED).any()  # nothing is left to disagree on
        states = self._states(chosen, lead.joints if settled else cuts[0]) if agree or settled else None
        return Bound(cost, states, Lead(blocks, prices, lead.joints), self._weights @ cuts / self._weights.sum())

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
        return {self.outer: (outer,), self.inner: (tuple(np.cumsum([0, *cuts.astype(int)]).tolist()),)}


def nested(census: Census, spaces: Sequence[Space], terms: Terms) -> tuple[int, int] | None:
    """Return which attributes to eliminate together, outer and inner, if there are such.

    They are those whose values tell most (the largest entropy): what they have to decide between them needs no search.
    """
    if not terms.squares or not terms.counts_only:
        return None
    inner = max(
        (a for a, space in enumerate(spaces) if _rule(space) is RUNS),
        key=lambda a: (_entropy(spaces[a]), -a),
        default=None,
    )
    if inner is None:
        return None
    inners = spaces[inner].quasi.occurring
    runs, room = inners * (inners + 1) // 2, MOST_COUNTS // (inners * len(census.codes))
    outer = max(
        (
            a
            for a, space in enumerate(spaces)
            if a != inner and 0 < _blocks(space) * runs <= MOST_BOXES and space.quasi.occurring <= room
        ),
        key=lambda a: (_entropy(spaces[a]), -a),
        default=None,
    )
    return None if outer is None else (outer, inner)


def _rule(space: Space) -> object:
    """Return the rule of a space that is one branch of runs or sets, of two values or more."""
    if isinstance(space.walk, Partitions) and len(space.walk.branches) == 1:
        branch = space.walk.branches[0]
        if branch.rule in (RUNS, SETS) and len(branch.children) > 1:
            return branch.rule
    return None


def _blocks(space: Space) -> int:
    """Return how many blocks a space has; 0 if it cannot be the outer one."""
    size, rule = space.quasi.occurring, _rule(space)
    if rule is RUNS:
        return size * (size + 1) // 2
    return (1 << size) - 1 if rule is SETS and size <= LARGEST_SET else 0


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


def _all_runs(size: int) -> Blocks:
    ends = [(start, end) for start in range(size) for end in range(start + 1, size + 1)]
    steps = [(end - 1 - start, end - 1) for start, end in ends]
    nothing = np.zeros(0, np.int64)
    return Blocks(np.array(steps), nothing, nothing, np.array(ends))


def _all_sets(size: int) -> Blocks:
    """Return all sets, each after the one that it adds its highest value to, by their lowest values."""
    steps: list[tuple[int, int]] = []
    masks: list[int] = []
    firsts: list[int] = []

    def grow(mask: int, depth: int, start: int) -> None:
        for value in range(start, size):
            if depth == 0:
                firsts.append(len(masks))
            steps.append((depth, value))
            masks.append(mask | 1 << value)
            grow(mask | 1 << value, depth + 1, value + 1)

    grow(0, 0, 0)
    return Blocks(np.array(steps), np.array(masks), np.array([*firsts, len(masks)]), np.zeros((0, 2), np.int64))
