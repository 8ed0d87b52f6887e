"""Bounds of boxes with two attributes eliminated together, an outer one and an inner one, each in runs or sets.

Every block of the outer attribute chooses its own partition of the inner one, and prices make them agree
(`kernels.recode.two_attributes`, with the proof). The more they agree, the closer the bound comes to what the two
attributes really cost, given the boxes of the others: with all boxes complete, to 99 % and more on census data, where
it is about 80 % without prices. If all agree, it is exact; if they do not, what they disagree on most is decided:
whether two inner values are merged.

Sets of 16 values are 65,535 blocks, too many to look at for every node. So a bound begins with the commonest values
only, and rows of the others cost what they cost at least, whatever they are merged with. That is a bound: a recoding
divides the commonest values into blocks, too, none of which costs more for being alone. Where few boxes are left,
because the others are ruled out, the next value is taken in: each block is left with it or without it. Rare values
hardly matter before the last percent of a proof, and then there are few boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import inf, log, log2
from typing import Any

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.census.census import Census
from ringfence.kernels.recode.block_graphs import Blocks, by_first_value
from ringfence.kernels.recode.two_attribute_boxes import box_costs, least_of
from ringfence.kernels.recode.two_attributes import ascend, links_among
from ringfence.search.recode.boxes import Box
from ringfence.search.recode.contexts import ContextClasses, Contexts, Merger, Terms
from ringfence.search.recode.partitions import RUNS, SETS, Partitions, renumbered
from ringfence.search.recode.spaces import Space

MOST_BOXES = 1 << 17
"""Two attributes with more boxes than this cost more to eliminate than it gains."""

MOST_COUNTS = 1 << 25
"""Rows of data are counted by context and cell, in 8 bytes each; with more counts than this, they would fill memory."""

LARGEST_SET = 16
"""Partitions into sets are found by tables of all sets."""

FIRST, COMMON, FEW = 6, 0.83, 20_000
"""So many values of sets are taken in at first, or those of so many of the rows; another one where there are so many
boxes left at most."""

ABOUT = 0.75
"""An attribute that takes so much of the effort to decide that another does may be as good to eliminate."""

THOROUGH, BRIEF = 20, 6
"""How many rounds of prices a node is worth, and how many a probe."""


@dataclass(frozen=True, eq=False)
class Lead:
    """What is known of the eliminated attributes in a node: blocks that are worth a look, and good prices.

    `live[i, o]` says whether inner block i and outer block o may still be together in a recoding worth finding.
    """

    outer: Blocks
    inner: Blocks
    live: Bools
    prices: Floats

    def with_outer_value(self) -> "Lead":
        """Return it with one outer value more: every set is left without it and with it, and it may be by itself."""
        sets, order = _grown(self.outer)
        alone = self.live.any(axis=1, keepdims=True)
        return replace(self, outer=sets, live=np.concatenate([self.live, self.live, alone], axis=1)[:, order])

    def with_inner_value(self) -> "Lead":
        """Return it with one inner value more."""
        sets, order = _grown(self.inner)
        alone = np.ones((1, self.live.shape[1]), np.bool_)
        return replace(self, inner=sets, live=np.concatenate([self.live, self.live, alone])[order])

    def without(self, ruled_out: Bools) -> "Lead":
        """Return it without some boxes, and without blocks that are in no partition then.

        Inner blocks are the same for all outer values, so one that has no live box with some outer value is in none.
        """
        lead, live = self, self.live & ~ruled_out
        while True:
            outer = np.asarray(live.any(axis=0))
            inner = np.asarray((live.astype(np.float32) @ lead.outer.has().astype(np.float32) > 0).all(axis=1))
            if outer.all() and inner.all():
                return replace(lead, live=live)
            live = live[np.ix_(inner, outer)]
            lead = replace(lead, outer=lead.outer.only(outer), inner=lead.inner.only(inner))

    def links(self) -> tuple[Bools, Bools]:
        """Return, for each link of the inner attribute, which blocks have both of its values, and which only one."""
        has, pairs = self.inner.has(), _pairs(self.inner)
        one, other = has[:, pairs[:, 0]].T, has[:, pairs[:, 1]].T
        return one & other, one ^ other

    def open_links(self) -> Longs:
        """Return the links that partitions into the inner blocks do not all choose, or all leave."""
        together, apart = self.links()
        return np.flatnonzero(together.any(axis=1) & apart.any(axis=1))


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What all recodings of a node cost at least; `states` of the eliminated attributes that cost as much, if known.

    `shares[link]` is the share of rows whose outer block chooses a link of the inner attribute
    (`kernels.recode.two_attributes`)."""

    cost: float
    states: dict[int, Any] | None
    lead: Any
    shares: Floats | None = None


class TwoEliminated(Merger):
    """Bounds the boxes of all attributes but two."""

    def __init__(self, census: Census, spaces: Sequence[Space], outer: int, inner: int, terms: Terms) -> None:
        self.outer, self.inner, eliminated = outer, inner, [outer, inner]
        self._values = [values_of(spaces[a]) for a in eliminated]
        super().__init__(census, spaces, eliminated, [np.array(values) for values in self._values], terms)
        outers, inners = self._shape = (len(self._values[0]), len(self._values[1]))
        rows = self.finest.counts.sum(axis=0).reshape(self._shape)
        self._weights = [rows.sum(axis=1), rows.sum(axis=0)]
        first, inside = _first_blocks(spaces[outer]), _first_blocks(spaces[inner])
        live = np.ones((len(inside.parts), len(first.parts)), np.bool_)
        self.start = Lead(first, inside, live, np.zeros((outers, links_among(inners, inside.in_runs))))
        self.last = outer

    def work(self) -> int:
        """Return about how many steps a bound takes at most."""
        return self.finest.counts.size + self.start.live.size * 50

    def bound(
        self, boxes: Sequence[Box], contexts: Contexts, lead: Lead, target: float, thorough: bool, /
    ) -> LowerBound:
        """Return what all recodings in some boxes cost at least, or some number above the target if that is more."""
        outers, inners = self._shape
        classes = self.classes(boxes, contexts)
        if classes is None:
            return LowerBound(inf, None, lead)
        complete, rounds = all(box.complete for box in boxes), THOROUGH if thorough else BRIEF
        while True:
            found = self._bound(classes, lead, target, thorough, rounds)
            lead, rounds = found.lead, BRIEF
            left = (outers - lead.outer.size, inners - lead.inner.size)
            if not thorough or found.cost >= target or left == (0, 0):
                return found
            if lead.live.sum() > FEW and not (complete and not len(lead.open_links())):
                return found  # other attributes are decided first, or which inner values are merged, while any are not
            if left[1] == 0 or (left[0] > 0 and self._weights[0][-left[0]] >= self._weights[1][-left[1]]):
                lead = lead.with_outer_value()
            else:
                lead = lead.with_inner_value()

    def _bound(self, classes: ContextClasses, lead: Lead, target: float, thorough: bool, rounds: int) -> LowerBound:
        """Return a bound with the values that are taken in so far."""
        if not lead.live.size:
            return LowerBound(inf, None, lead)
        outer, inner, inners = lead.outer, lead.inner, self._shape[1]
        k = float(self.terms.promise.least)
        base = least_of(classes.counts, inners, outer.size, inner.size, classes.large, k)
        costs = self._costs(classes, lead, k)
        links, weights = links_among(inner.size, inner.in_runs), self._weights[0][: outer.size]
        prices, choices = lead.prices[: outer.size, :links].copy(), np.zeros((outer.size, links))
        chosen, through = np.full(outer.size, -1), np.full(costs.shape if thorough else (0, 0), -inf)
        cost, agree = ascend(costs, outer, inner, weights, prices, target - base, rounds, chosen, choices, through)
        all_prices = lead.prices.copy()
        all_prices[: outer.size, :links] = prices
        after = replace(lead, prices=all_prices)
        states, reached = None, cost >= target - base
        if not reached:
            if agree and (outer.size, inner.size) == self._shape:
                states = self._states(chosen, choices[0])
            if thorough:
                after = after.without(through >= target - base)
        cost = max(cost + base, target) if reached else cost + base  # whatever rounding does
        return LowerBound(cost, states, after, weights @ choices / weights.sum())

    def _costs(self, classes: ContextClasses, lead: Lead, k: float) -> Floats:
        """Return what boxes cost at least, by inner and outer block.

        Costs of boxes do not depend on which attribute is the outer one. It is faster with fewer blocks outside.
        """
        turned = not lead.inner.in_runs and len(lead.outer.parts) > len(lead.inner.parts)
        counts, covers = (
            np.ascontiguousarray(rows.reshape(-1, *self._shape).transpose((2, 1, 0) if turned else (1, 2, 0)))
            for rows in (classes.counts, classes.covers)
        )
        one, other = (lead.inner, lead.outer) if turned else (lead.outer, lead.inner)
        live = lead.live if turned else np.ascontiguousarray(lead.live.T)
        costs = np.empty(live.shape)
        box_costs(counts, covers, classes.group, classes.large, one, other, live, k, self.terms.penalty, costs)
        return costs if turned else np.ascontiguousarray(costs.T)

    def split(self, bound: LowerBound) -> list[Lead]:
        """Return the two parts of a node, by the link that its blocks disagree on most, if one is not decided.

        Both parts are by inner blocks: those of partitions that choose the link, and those of the others.
        """
        lead: Lead = bound.lead
        links, shares = lead.open_links(), bound.shares
        if not len(links) or shares is None:  # blocks that did not agree yet have one partition left
            return [] if bound.states else [lead]
        link = links[np.argmax((shares * (1 - shares))[links])]
        together, apart = lead.links()
        return [
            replace(lead, inner=lead.inner.only(kept), live=lead.live[kept]) for kept in (~together[link], ~apart[link])
        ]

    def _states(self, chosen: Longs, choices: Floats) -> dict[int, Any]:
        """Return the partitions of both attributes; `choices` are the links of the inner one."""
        values, spaces = self._values, self.spaces
        if self.start.inner.in_runs:
            blocks = np.cumsum([0, *choices.astype(int)]).tolist()
        else:
            blocks = list(range(len(values[1])))
            pairs = _pairs(self.start.inner, len(blocks)).tolist()
            for (i, j), merged in zip(pairs, choices.tolist(), strict=True):
                blocks[j] = min(blocks[i], blocks[j]) if merged else blocks[j]
        return {
            self.outer: state_of(spaces[self.outer], values[0], chosen.tolist()),
            self.inner: state_of(spaces[self.inner], values[1], blocks),
        }


def state_of(space: Space, values: list[int], blocks: list[int]) -> Any:
    """Return the partition in which values are in some blocks."""
    block_of = dict(zip(values, blocks, strict=True))
    assert isinstance(space.walk, Partitions), "only such attributes are eliminated together"
    return (renumbered([block_of[value] for value in space.walk.branches[0].children]),)


def _pairs(blocks: Blocks, size: int | None = None) -> Longs:
    """Return the two values of each link, as `kernels.recode.two_attributes` numbers them."""
    size = blocks.size if size is None else size
    if blocks.in_runs:
        return np.array([(j, j + 1) for j in range(size - 1)], np.int64).reshape(-1, 2)
    return np.array([(i, j) for j in range(size) for i in range(j)], np.int64).reshape(-1, 2)


def _grown(sets: Blocks) -> tuple[Blocks, Longs]:
    """Return sets with one more value: those without it, those with it, and the value by itself, and their order."""
    value = 1 << sets.size
    masks = np.concatenate([sets.masks, sets.masks | value, [value]])
    order = by_first_value(masks)
    return Blocks.sets(sets.size + 1, masks[order]), order


def pairs_to_eliminate(census: Census, spaces: Sequence[Space], terms: Terms) -> list[tuple[int, int]]:
    """Return which attributes may best be eliminated together, outer and inner; none where that cannot be done.

    They are those that take most to decide, or about as much: what they have to decide between them needs no search.
    """
    if not terms.allows_two:
        return []
    blocks = [_amount(space) if can_be_nested(space) else 0 for space in spaces]
    pairs = []
    for (outer, one), (inner, other) in permutations(enumerate(blocks), 2):
        cells = spaces[outer].quasi.occurring * spaces[inner].quasi.occurring
        backwards = rule_of(spaces[inner]) is SETS and (rule_of(spaces[outer]) is RUNS or one < other)
        if 0 < one * other <= MOST_BOXES and cells * len(census.codes) <= MOST_COUNTS and not backwards:
            pairs.append((outer, inner))
    effort = {pair: sorted(_effort(spaces[a]) for a in pair) for pair in pairs}
    most = max(effort.values(), key=sum, default=[])
    pairs.sort(key=lambda pair: (-sum(effort[pair]), pair))
    return [
        pair for pair in pairs if all(each >= ABOUT * other for each, other in zip(effort[pair], most, strict=True))
    ]


def _effort(space: Space) -> float:
    """Return about how much there is to decide: partitions, in bits, less so where few values have most of the rows."""
    shares = space.quasi.rows[space.quasi.rows > 0] / space.quasi.rows.sum()
    return float(-(shares * np.log(shares)).sum() / log(len(shares)) * log2(space.walk.count))


def rule_of(space: Space) -> object:
    """Return the rule of a space that is one branch of runs or sets, of two values or more."""
    if isinstance(space.walk, Partitions) and len(space.walk.branches) == 1:
        branch = space.walk.branches[0]
        if branch.rule in (RUNS, SETS) and len(branch.children) > 1:
            return branch.rule
    return None


def can_be_nested(space: Space) -> bool:
    """Whether an attribute can be one of two that are eliminated together."""
    return rule_of(space) is RUNS or (rule_of(space) is SETS and space.quasi.occurring <= LARGEST_SET)


def _first_blocks(space: Space) -> Blocks:
    """Return the blocks to begin with."""
    return Blocks.runs(space.quasi.occurring) if rule_of(space) is RUNS else Blocks.sets(_first_values(space))


def _amount(space: Space) -> int:
    """Return how many blocks there are to begin with."""
    size = space.quasi.occurring
    return size * (size + 1) // 2 if rule_of(space) is RUNS else (1 << _first_values(space)) - 1


def _first_values(space: Space) -> int:
    """Return how many values of sets are taken in at first."""
    rows = np.sort(space.quasi.rows[space.quasi.rows > 0])[::-1]
    common = 1 + int(np.searchsorted(np.cumsum(rows), COMMON * rows.sum()))
    return min(max(FIRST, common), len(rows))


def values_of(space: Space) -> list[int]:
    """Return the values of an attribute, runs in their order, sets by falling frequency."""
    assert isinstance(space.walk, Partitions), "only such attributes are eliminated together"
    values = list(space.walk.branches[0].children)
    if rule_of(space) is SETS:
        values.sort(key=lambda value: (-int(space.quasi.rows[value]), value))
    return values
