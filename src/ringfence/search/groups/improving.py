"""Groups improved row by row: small ones by chains of rows and by being made anew, large ones by annealing.

Both ways keep the same books (`kernels.groups.places`), and divide the rows among threads alike.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs, Words
from ringfence.kernels.groups.annealing import anneal
from ringfence.kernels.groups.chains import Chains, new_chains
from ringfence.kernels.groups.places import (
    NOBODY,
    GroupNeeds,
    MoveScratch,
    PlacedRows,
    Places,
    refresh_all,
)
from ringfence.kernels.groups.remaking import LINKS, MOVES, POOLED, Pool, new_pool, remake, tidy
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.line import RowLine
from ringfence.search.groups.prices import Prices
from ringfence.search.progress import Watch

PARTS, LEAST_ROWS, STRIDE = 2, 2_000, (5**0.5 - 1) / 2
"""So many change groups at the same time, fewer of fewer rows: each has a stretch of the line, and all move on by such
a share of it between turns. It is a part of the search, not of the machine: the same seed gives the same groups."""

LARGE, LARGE_IN_TREES, FULL = 12, 7, 6
"""Groups of more rows than that are improved by annealing, sooner where nodes of trees are published; from `FULL` rows
on, it takes longer to make them anew by more than their size."""

TURNS, LONGEST_TURN = 64, 2_000
"""Groups are changed in so many turns, and made anew in more where one would move more rows than that."""

TIDIED, PIECE = 5_000, 0.02
"""Rows are looked at for chains in pieces, up to so many at once, of about so many seconds: the time is looked at in
between. Where pieces begin makes no other difference."""

COLD, HOT_WITH_PRICES = 0.08, 1.2
"""Annealing begins by now and then accepting changes that add the share `Effort.hot` of what rows lose on average, and
ends with the share `COLD`. Prices need to move rows that lie well: then the first changes are hotter, where there is
time to cool down again."""

SIZE_WEIGHT = 0.2
"""What s rows of a group cost beside their loss: s²/k times this share of what rows lose on average at first. It keeps
groups small where that costs little, which the discernibility metric is grateful for."""


@dataclass(frozen=True)
class Effort:
    """How hard to try: how often groups are made anew for each row, or how many changes are tried by annealing for each
    row, both the less often the larger groups are, and how hot that begins."""

    remade: float
    changes: int
    hot: float


class ThreadRoom(NamedTuple):
    """Whoever changes groups has room of its own, and a state for what is random."""

    chains: Chains
    pool: Pool
    room: MoveScratch


class Share(NamedTuple):
    """What belongs to one who changes groups: these, and a stretch of the line, where it begins and how long it is."""

    places: Places
    first: int
    length: int


def with_itself(near: Ints, weights: Longs) -> Ints:
    """Put each tuple of several rows first among its neighbours: its rows are near each other."""
    moved = near.copy()
    several = np.flatnonzero(weights > 1)
    moved[several, 1:] = near[several, :-1]
    moved[several, 0] = several
    return moved


def _along(line: RowLine, tuples: int) -> tuple[Longs, Ints]:
    """Return the tuples as they stand in line, those that are not there behind the others, and the place of each."""
    known, first = np.unique(line.tuples, return_index=True)
    order = np.concatenate([known[np.argsort(first)], np.setdiff1d(np.arange(tuples), known)])
    place = np.empty(tuples, np.int32)
    place[order] = np.arange(tuples)
    return order, place


class Improver:
    """Rows in groups that may change: all but those of groups too large to be worth it.

    Tuples are numbered along the line here, and `space` has them so: what is near is then near in memory as well.
    `tuples` are those of the rows, as the census numbers them.
    """

    def __init__(self, line: RowLine, space: Geometry, homes: Longs, near: Ints, seed: int) -> None:
        asked = line.asked
        self._line, self._homes = line, homes
        self._usual = max(asked.k, int(asked.least.max(initial=1)))
        if asked.census.people is not None:  # k people have more rows than k
            self._usual = max(self._usual, int(np.median(np.bincount(homes))))
        trees = space.ends.shape[1] > len(space.limits)
        self._large = LARGE_IN_TREES if trees else LARGE
        capacity = 2 * self._usual - 1
        average = line.loss(space, homes) / len(homes)
        self._asked = GroupNeeds(asked.k, asked.least, SIZE_WEIGHT * average / self._usual, priced=False)
        sizes = np.bincount(homes)
        self._rows = np.flatnonzero(sizes[homes] <= capacity)
        order, place = _along(line, len(near))
        self._rows = self._rows[np.argsort(place[line.tuples[self._rows]], kind="stable")]
        self.tuples = line.tuples[self._rows]
        self.space = space = space._replace(ends=space.ends[order], words=space.words[order])
        tuples = place[self.tuples]
        self.people = PlacedRows(
            tuples,
            line.values[self._rows],
            np.searchsorted(tuples, np.arange(len(near) + 1)).astype(np.int64),
            np.where(near[order] == NOBODY, NOBODY, place[near[order]]).astype(np.int32),
        )
        self.places = self._placed(np.unique(homes[self._rows], return_inverse=True)[1].astype(np.int32), capacity)
        states = np.random.SeedSequence(seed).generate_state(PARTS, np.uint64) | np.uint64(1)
        self._workers = [self._worker(capacity, states[i : i + 1]) for i in range(PARTS)]
        self.refresh(space)

    def _worker(self, capacity: int, state: Words) -> ThreadRoom:
        """Return room to work in, given a state for what is random."""
        ends, words, rows = self.space.ends.shape[1], self.space.words.shape[1], len(self._rows)
        return ThreadRoom(
            new_chains(rows, len(self.places.sizes), LINKS, MOVES + POOLED * capacity),
            new_pool(capacity, ends, words, len(self._asked.least), rows),
            MoveScratch(
                low=np.empty((capacity + 2, ends), np.int32),
                high=np.empty((capacity + 2, ends), np.int32),
                covered=np.empty((capacity + 2, words), np.uint64),
                parts=np.empty(ends),
                seen=np.zeros(int(self._line.asked.first_value[-1]), np.int64),
                stamp=np.zeros(1, np.int64),
                moved=np.empty(capacity + 1, np.int32),
                other=np.empty(capacity + 1, np.int32),
                state=state,
            ),
        )

    def _placed(self, homes: Ints, capacity: int) -> Places:
        """Return who is where. There are never more groups than rows would fill with k each."""
        count, most = int(homes.max(initial=-1)) + 1, len(homes) // self._asked.k
        by = np.argsort(homes, kind="stable")
        sizes = np.bincount(homes, minlength=most)
        slots = np.empty(len(homes), np.int32)
        slots[by] = np.arange(len(homes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = np.full((most, capacity + 1), NOBODY, np.int32)
        members[homes, slots] = np.arange(len(homes))
        ends, words = self.space.ends.shape[1], self.space.words.shape[1]
        return Places(
            homes=homes,
            slots=slots,
            without=np.empty(len(homes)),
            members=members,
            sizes=sizes,
            low=np.empty((most, ends), np.int32),
            high=np.empty((most, ends), np.int32),
            covered=np.empty((most, words), np.uint64),
            losses=np.zeros(most),
            spare=np.concatenate([np.arange(count, most), np.arange(count)]).astype(np.int32),
            free=np.array([most - count]),
            owners=np.zeros(most, np.int32),
            mine=0,
        )

    def refresh(self, space: Geometry) -> None:
        """Put right what is kept of all groups, for a space in which labels cost what they cost now."""
        refresh_all(space, self.people, self.places, self._workers[0].room)

    @property
    def cost(self) -> float:
        """What all groups cost that may change."""
        sizes = self.places.sizes
        return float(sizes @ (self.places.losses + self._asked.size_weight * sizes))

    @property
    def average(self) -> float:
        """What a row loses on average that may change groups."""
        return float(self.places.sizes @ self.places.losses) / max(1, len(self._rows))

    def with_prices(self, paid: Geometry) -> Geometry:
        """Return the space with the prices of one in which tuples are numbered as in the census."""
        return self.space._replace(prices=paid.prices, numbers=paid.numbers, tolls=paid.tolls)

    def _divided(self, turn: int) -> list[Share]:
        """Divide the groups among those who change them: by the stretch of the line that their first row stands in. The
        stretches begin elsewhere each turn."""
        places, rows = self.places, len(self._rows)
        parts, begin = min(PARTS, 1 + rows // LEAST_ROWS), int(turn * STRIDE * rows) % rows
        free = int(places.free[0])
        places.owners[:] = (places.members[:, 0] - begin) % rows * parts // rows
        shares = []
        for i, spare in enumerate(np.array_split(places.spare[:free], parts)):
            places.owners[spare] = i
            room = np.concatenate([spare, np.empty(len(places.spare) - len(spare), np.int32)])
            first, last = -(-i * rows // parts), -(-(i + 1) * rows // parts)
            own = places._replace(spare=room, free=np.array([len(spare)]), mine=i)
            shares.append(Share(own, (begin + first) % rows, last - first))
        return shares

    def _work(self, threads: Executor, shares: list[Share], work: Callable[..., Any], *each: Sequence[int]) -> None:
        """Let all work, each on what belongs to it, and put together which groups are spare."""
        list(threads.map(work, shares, self._workers, *each))
        free = np.concatenate([share.places.spare[: share.places.free[0]] for share in shares])
        self.places.spare[: len(free)], self.places.free[0] = free, len(free)

    def improve(self, effort: Effort, watch: Watch, prices: Prices | None = None) -> tuple[Longs, int]:
        """Return the group of each row once an effort was made, and how much was tried.

        Where values have prices, which change as well, it takes heat to follow them.
        """
        begun = watch.nodes
        best = self.places.homes
        if len(self._rows):
            with ThreadPoolExecutor(PARTS) as threads:
                if prices is None and self._usual <= self._large:
                    self._chain(threads, effort, watch)
                else:
                    best = self._anneal(threads, effort, watch, prices)
        homes = self._homes + len(self.places.sizes)
        homes[self._rows] = best
        return homes, watch.nodes - begun

    def _chain(self, threads: Executor, effort: Effort, watch: Watch) -> None:
        """Look for chains, then make groups anew."""
        times = int(len(self._rows) * effort.remade / (self._usual + 3) * min(1.0, FULL / self._usual))
        turns = max(TURNS, -(-times * self._usual // LONGEST_TURN))
        each, total = max(1, times // turns), times + 2 * len(self._rows)
        for turn in range(2):  # the second time with other stretches
            self._tidy(threads, turn, total, watch)
        for turn in range(turns):
            if watch.expired():
                break
            shares = self._divided(turn)

            def work(share: Share, worker: ThreadRoom, each: int = each // len(shares)) -> None:
                places, first, length = share
                remake(self.space, self.people, places, self._asked, first, length, each, *worker)

            self._work(threads, shares, work)
            self._tell(watch, each, total, self.cost)

    def _tidy(self, threads: Executor, turn: int, total: int, watch: Watch) -> None:
        """Look for chains from all rows on."""
        shares = self._divided(turn)
        begin, rows = 0, 1
        while begin < max(share.length for share in shares):
            if watch.expired():
                return
            counts = [max(0, min(rows, share.length - begin)) for share in shares]

            def work(share: Share, worker: ThreadRoom, count: int, begin: int = begin) -> None:
                first = (share.first + begin) % len(self._rows)
                tidy(self.space, self.people, share.places, self._asked, first, count, *worker)

            began = watch.seconds
            self._work(threads, shares, work, counts)
            self._tell(watch, sum(counts), total, self.cost)
            begin += rows
            rows = max(1, min(TIDIED, 2 * rows, int(rows * PIECE / max(watch.seconds - began, 1e-9))))

    def _anneal(self, threads: Executor, effort: Effort, watch: Watch, prices: Prices | None) -> Ints:
        """Try changes while the heat falls; return the group of each row in the best groups seen.

        Where values have prices, costs cannot be compared: the last groups are returned.
        """
        space, asked, best_cost, best = self.space, self._asked, self.cost, self.places.homes.copy()
        hot = max(effort.hot, HOT_WITH_PRICES) if prices is not None and watch.time_limit is None else effort.hot
        heats = self.average * hot * (COLD / hot) ** (np.arange(TURNS + 1) / TURNS)
        total = len(self._rows) * effort.changes // (self._usual + 3)
        each, begun, done = max(1, total // TURNS), watch.seconds, 0
        for turn, slope in enumerate(pairwise(heats.tolist())):
            if watch.expired():
                break
            if watch.time_limit is not None and done:  # fewer changes, and cold in the end
                pace = done / max(watch.seconds - begun, 1e-9)
                each = max(1, min(each, int(pace * (watch.time_limit - watch.seconds) / (TURNS - turn))))
            if prices is not None:
                self.refresh(self.space)  # what is told is what groups lose, without what is paid for values
                best_cost = min(best_cost, self.cost)
                space, asked = self.with_prices(prices.risen(self.places)), self._asked._replace(priced=True)
                self.refresh(space)
            shares = self._divided(turn)

            def work(
                share: Share,
                worker: ThreadRoom,
                space: Geometry = space,
                asked: GroupNeeds = asked,
                steps: int = each // len(shares),
                slope: tuple[float, float] = slope,
            ) -> None:
                anneal(space, self.people, share.places, asked, steps, *slope, worker.room, share.first, share.length)

            self._work(threads, shares, work)
            done += each
            if prices is not None:
                best = self.places.homes.copy()
            elif self.cost < best_cost:
                best_cost, best = self.cost, self.places.homes.copy()
            self._tell(watch, each, total, best_cost)
        return best

    def _tell(self, watch: Watch, done: int, total: int, cost: float) -> None:
        """Say how far it is."""
        watch.advance(done, total, "changes tried", cost / self._line.asked.census.rows)
