"""The dual bound: prices of rows that no group of k rows can exceed add up to what no release can go below.

Let every row have a price, so that the rows of any k together cost no more than k times what each of them loses there
(`kernels.groups.pricing` says why larger groups follow). Then the rows of every group lose at least what they cost, and
a suppressed row loses 1, which is no less than a price. So the prices of all rows are a lower bound, whatever else is
promised and however many rows may be suppressed. What holds for groups of fewer rows holds for groups of k.

It holds for rings, too, in which labels cover k rows and every row is covered by k labels (or m of both, m no less than
k): all labels together lose no less than the mean price of what each covers, and in the sum of these means every row
counts k times a k-th of its price. So the linear program of rings is the same.

Prices rise by a linear program over the groups that were found to be in their way (`kernels.groups.master`), and are
then lowered until they hold: so every round ends with a certificate, and the best one is kept. All is counted in whole
numbers (`whole_losses`).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from math import inf, nextafter
from typing import Any

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.census.census import Census
from ringfence.census.covers import Representation
from ringfence.census.groups import Groups
from ringfence.kernels.groups.master import step_prices
from ringfence.kernels.groups.nearby import new_surroundings
from ringfence.kernels.groups.pricing import Near, group_losses, new_search, repair
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.line import request
from ringfence.search.groups.sorted_tuples import sort_tuples
from ringfence.search.groups.whole_losses import SLACK, UNIT, whole_losses
from ringfence.search.progress import Watch

MOST_ROWS = 7
"""Groups of more rows have too many combinations: for these, the bound of groups of so many is taken."""
STEPS, BALANCE = 300, 0.07
"""Steps of the linear program between two rounds, and how far prices go in one, as a share of their mean."""
WIDE, LEAST_WIDE, LOWEST = 0.6, 0.2, -1.5
"""How far prices may go from the best certificate: so far as a share of each, and of their mean; and how low."""
HALFWAY = 0.5
"""Prices are tried between those of the linear program and the best certificate."""
TRIED, MORE, LITTLE = 500, 4, 0.01
MOST_TRIED, MOST_TRIED_UNASKED = 2_000_000, 8_000
"""Branches opened for a tuple before bounds are taken: at first, times so many when a round gains less than such a
share, and at most, with a limit of time and without. What is lost by bounds is little at first, and all that is lost
in the end, when a round takes minutes."""
KEPT = 12_000_000
"""Near tuples that are kept, of all tuples together."""
ROUNDS, IDLE, WORTH = 60, 5, 1e-3
"""Without a limit of time, so many rounds at most, and no more once so many have gained less than this share."""
SAME = 1e-9
"""What is nearer to a cost than this, relatively, has reached it."""
MOST_GROUPS, SLACKEST = 300_000, 1.0
"""With more groups in the program, those are dropped that cost less than they may, by so many mean prices."""
AT_ONCE, PARTS, LEAST_TUPLES = 100, 2, 2_000
"""So many tuples have their prices lowered before the clock is looked at, by so many side by side: each takes every
other tuple, and hears after that what the others have lowered. It is a part of the search, not of the machine. Of fewer
tuples than that too many of those at once would be near each other: then one does it all."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Prices of rows in billionths, by tuple of the census, that no group of so many rows exceeds."""

    rows: int
    prices: Longs
    bound: float

    def as_dict(self, census: Census) -> dict[str, Any]:
        """Return all that is needed to check it beside data and specification. It shows values of the data."""
        return {
            "format": "ringfence dual certificate 1",
            "rows": self.rows,
            "bound": self.bound,
            "values": {quasi.name: list(quasi.hierarchy.labels[: quasi.hierarchy.leaves]) for quasi in census.quasi},
            "tuples": census.codes.tolist(),
            "prices": self.prices.tolist(),
        }


@dataclass(eq=False)
class _Program:
    """The groups that are in the way of prices, what each may cost, and its share in a fractional release."""

    groups: Ints
    limits: Longs
    shares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.shares = np.zeros(len(self.groups))

    def add(self, groups: Ints, limits: Longs) -> None:
        """Take in groups that are not there yet."""
        _, first = np.unique(np.concatenate([self.groups, groups]), axis=0, return_index=True)
        new = first[first >= len(self.groups)] - len(self.groups)
        self.groups = np.concatenate([self.groups, groups[new]])
        self.limits = np.concatenate([self.limits, limits[new]])
        self.shares = np.concatenate([self.shares, np.zeros(len(new))])

    def drop(self, prices: Floats, slackest: float) -> None:
        """Leave groups out that cost far less than they may."""
        kept = (self.shares > 0) | (self.limits - prices[self.groups].sum(axis=1) < slackest)
        self.groups, self.limits, self.shares = self.groups[kept], self.limits[kept], self.shares[kept]


class _Pricer:
    """What makes prices of the tuples of a census hold."""

    def __init__(
        self, census: Census, rows: int, representation: Representation | Sequence[Representation], loss: Kept
    ) -> None:
        blocks = request(census, GroupsAsked(rows, (1,) * len(census.sensitive), limit=census.rows)).blocks
        self._order, self._tuples, self._space = sort_tuples(whole_losses(census, representation, loss), blocks)
        self._place = np.argsort(self._order).astype(np.int32)
        self.rows, self._weights, self._blocks = rows, census.weights[self._order], blocks[self._order]
        self._parts, self.tried = PARTS if len(census.weights) >= LEAST_TUPLES else 1, TRIED
        self._arounds = [new_surroundings(self._tuples) for _ in range(self._parts)]
        self._slack = SLACK * len(census.quasi) * census.rows
        tuples = len(census.weights)
        kept = max(1, min(tuples, 512, KEPT // tuples))
        self._near = Near(
            np.empty((tuples, kept), np.int32),
            np.empty((tuples, kept), np.int32),
            np.zeros(tuples, np.int64),
            np.full(tuples, -1, np.int64),
        )
        self._rooms = [new_search(self._space, rows, tuples) for _ in range(self._parts)]

    def kept(self, prices: Longs, watch: Watch, cost: float, best: float) -> tuple[Longs, Ints] | None:
        """Return prices that hold, no higher than some, and groups that exceeded these; None if there was no time."""
        prices = prices[self._order]
        held = np.where(self._blocks < 0, UNIT, np.minimum(prices, UNIT))
        order = np.argsort(prices, kind="stable")
        order = order[self._blocks[order] >= 0]
        rank = np.full(len(held), len(held))
        rank[order] = np.arange(len(order))
        parts, helds = self._parts, [held, *(held.copy() for _ in range(1, self._parts))]
        found: list[Ints] = []

        def lower(part: int, begin: int, end: int) -> Ints:
            exceeded = np.empty((AT_ONCE, self.rows), np.int32)
            count = repair(
                self._space, self._tuples, self._weights, self.rows, order, rank, begin + part, end, parts,
                helds[part], self.tried, self._near, self._arounds[part], self._rooms[part], exceeded,
            )  # fmt: skip
            return exceeded[:count]

        with ThreadPoolExecutor(parts) as threads:
            for begin in range(0, len(order), AT_ONCE):
                end = min(len(order), begin + AT_ONCE)
                found += threads.map(lower, range(parts), [begin] * parts, [end] * parts)
                for part, other in permutations(range(parts), 2):
                    lowered = order[begin + part : end : parts]
                    helds[other][lowered] = helds[part][lowered]
                watch.tick(cost, best, nodes=0)
                if watch.expired():
                    return None
        exceeded = np.concatenate([np.empty((0, self.rows), np.int32), *found])
        return held[self._place], np.sort(self._order[exceeded].astype(np.int32), axis=1)

    def limits(self, groups: Ints) -> Longs:
        """Return what the rows of each group may cost together."""
        limits = np.empty(len(groups), np.int64)
        group_losses(self._space, self._place[groups], limits)
        return self.rows * limits

    @property
    def suppressed(self) -> Bools:
        """Which tuples cannot be published."""
        return (self._blocks < 0)[self._place]

    def certificate(self, prices: Longs) -> Certificate:
        """Return what prices prove that hold."""
        return Certificate(self.rows, prices, self.bound(prices))

    def bound(self, prices: Longs) -> float:
        """Return what all rows lose at least on average by prices that hold, rounded down."""
        total = sum(map(int, prices[self._order] * self._weights)) - self._slack
        return max(0.0, nextafter(float(Fraction(total, UNIT * int(self._weights.sum()))), -inf))


def dual_bound(
    census: Census,
    k: int,
    representation: Representation | Sequence[Representation],
    loss: Kept,
    groups: Groups,
    watch: Watch,
    cost: float = inf,
) -> Certificate | None:
    """Return the best certificate that was found for groups of k rows or more, or None if there was no time for any.

    Parameters
    ----------
    census
        What was counted.
    k, representation, loss
        What groups must have, how they are published, and what they lose.
    groups
        The groups of some release: where prices begin.
    watch
        Told how far it is; when its time is up, the best certificate so far is returned. Without a limit of time it
        ends when little is gained.
    cost
        What the release loses: a bound that reaches it ends the search.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.search.groups.local import local
    >>> from ringfence.spec import Spec
    >>> counted = pa.table({"age": [20, 21, 29, 30, 40], "rows": [1] * 5})
    >>> census = take_census(counted, Spec(attributes={"age": {"role": "quasi", "order": "numeric"}}), "rows")
    >>> groups, search = local(census, GroupsAsked(2, representation="range"))
    >>> found = dual_bound(census, 2, "range", "glm", groups, Watch(), search.cost)
    >>> round(search.cost, 3), round(found.bound, 3)
    (0.35, 0.24)
    """
    rows = min(k, MOST_ROWS)
    pricer = _Pricer(census, rows, representation, loss)
    known = _windows(groups, rows)
    program = _Program(known, pricer.limits(known))
    if not program.limits.any():  # nothing is lost but by rows that nobody can publish
        return pricer.certificate(np.where(pricer.suppressed, UNIT, 0))
    prices = _first_prices(program, len(census.weights))
    high = np.where(census.weights >= rows, 0.0, float(UNIT))
    most_tried = MOST_TRIED_UNASKED if watch.time_limit is None else MOST_TRIED
    best, idle, tried = None, 0, np.minimum(prices / 2, high)
    for _ in range(10**9 if watch.time_limit is not None else ROUNDS):
        found = pricer.kept(np.floor(tried).astype(np.int64), watch, cost, 0.0 if best is None else best.bound)
        if found is None:
            break
        held, exceeded = found
        bound = pricer.bound(held)
        before = 0.0 if best is None else best.bound
        idle = 0 if bound > before * (1 + WORTH) else idle + 1
        if bound < before * (1 + LITTLE):
            pricer.tried = min(MORE * pricer.tried, most_tried)
        if best is None or bound > before:
            best = pricer.certificate(held)
        if best.bound >= cost * (1 - SAME) or (watch.time_limit is None and idle > IDLE):
            break
        program.add(exceeded, pricer.limits(exceeded))
        mean = max(1.0, float(np.abs(best.prices) @ census.weights) / census.rows)
        apart = WIDE * np.abs(best.prices) + LEAST_WIDE * mean
        upper = np.minimum(high, np.maximum(best.prices, 0) + apart)
        lower = np.minimum(upper, np.maximum(best.prices - apart, LOWEST * mean))
        means = np.empty(len(prices)), np.empty(len(program.groups))
        step_prices(
            program.groups, program.limits.astype(np.float64), census.weights, lower, upper, prices, program.shares,
            BALANCE * mean, STEPS, *means,
        )  # fmt: skip
        prices, program.shares = means
        if len(program.groups) > MOST_GROUPS:
            program.drop(prices, SLACKEST * mean)
        tried = HALFWAY * best.prices + (1 - HALFWAY) * prices
    return best


def _windows(groups: Groups, rows: int) -> Ints:
    """Return groups of so many rows that lie side by side in larger ones, in a ring: together they have all rows."""
    by = np.argsort(groups.group, kind="stable")
    tuples, home = np.repeat(groups.tuples[by], groups.rows[by]), np.repeat(groups.group[by], groups.rows[by])
    begins = np.flatnonzero(np.diff(home, prepend=-1))
    sizes = np.diff([*begins, len(home)])
    place = np.arange(len(home)) - np.repeat(begins, sizes)
    around = (place[:, None] + np.arange(rows)) % np.repeat(sizes, sizes)[:, None]
    windows = tuples[np.repeat(begins, sizes)[:, None] + around]
    return np.unique(np.sort(windows, axis=1), axis=0).astype(np.int32)


def _first_prices(program: _Program, tuples: int) -> Floats:
    """Return for each tuple what its rows lose on average in the groups of a program; nothing where it is in none."""
    count, lost = np.zeros(tuples), np.zeros(tuples)
    for i in range(program.groups.shape[1]):
        np.add.at(count, program.groups[:, i], 1.0)
        np.add.at(lost, program.groups[:, i], program.limits / program.groups.shape[1])
    return lost / np.maximum(1.0, count)
