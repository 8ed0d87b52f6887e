"""Local: groups of rows that lose as little as we can make them, whatever values they have in common.

A good order of the tuples is cut into groups where that loses least; then rows change groups until little is left to
gain. Everything up to the cut depends on quasi-identifiers only.
"""

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringfence.arrays import Ints, Longs, Words, distinct_rows
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.kernels.groups import annealing as kernels
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import layout_of, space_of
from ringfence.search.groups.line import RowLine, line_up, request
from ringfence.search.groups.orders import NEIGHBOURS, gray_order, improved_order, neighbours
from ringfence.search.groups.prices import Prices
from ringfence.search.progress import SearchResult, Watch


@dataclass(frozen=True)
class Effort:
    """How hard to try: so many changes for each row, times the usual size of groups, the first ones at this heat."""

    changes: int
    hot: float = 0.8


EFFORTS = {"fast": Effort(0), "good": Effort(3_000), "best": Effort(45_000, hot=1.2)}

SLICES = 64
COLD = 0.08
"""At first and in the end, changes are accepted now and then that add the shares `hot` and `COLD` of what rows lose on
average."""

MOST_CUTS, WORTH = 5, 1e-3
"""How often classes are cut anew at most, and which share of the loss has to be gained by one for another."""

PARTS, LEAST_ROWS, STRIDE = 2, 2_000, (5**0.5 - 1) / 2
"""So many change groups at the same time, fewer of fewer rows: each has a stretch of the line, and all move on by such
a share of it between slices. It is a part of the search, not of the machine: the same seed gives the same groups."""

HOT_WITH_PRICES = 1.2
"""Prices need to move rows that lie well: the first changes are hotter, where there is time to cool down again."""

SIZE_WEIGHT = 0.2
"""What s rows of a group cost beside their loss: s²/k times this share of what rows lose on average at first. It keeps
groups small where that costs little, which the discernibility metric is grateful for."""


def local(
    census: Census,
    asked: GroupsAsked,
    *,
    effort: str = "good",
    seed: int = 0,
    watch: Watch | None = None,
) -> tuple[Groups, SearchResult]:
    """Return groups of at least k rows with enough sensitive values that lose as little as effort can make them.

    Tuples are put into a Gray-like order, which is made shorter by moving runs of them next to near ones (`orders`),
    and cut where that loses least, by dynamic programming (`kernels.groups.cutting`). Then rows change groups at
    random, towards near ones, while ever fewer changes for the worse are accepted (`kernels.groups.annealing`). The
    best groups seen are returned. How long that takes is budgeted in changes, not in seconds: the same seed gives the
    same groups.

    Where use is what counts (`asked.loss`), every value has a price, which rises while readers of the labels would
    count it too often (`prices`). The answer loses a little more than it would without, and marginals come out right.

    Parameters
    ----------
    census
        What was counted.
    asked
        What groups must have, how they are published, and how many rows may be suppressed.
    effort
        "fast" (only the order and the cut), "good" or "best".
    seed
        For the changes.
    watch
        Told how far the search is. When its time is up, the best groups so far are returned.

    Raises
    ------
    Unsatisfiable
        If more rows than `asked.limit`, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"age": [20, 21, 29, 30, 31, 60, 61], "rows": [1] * 7})
    >>> groups, search = local(take_census(counted, Spec(attributes={"age": age}), "rows"), GroupsAsked(k=2))
    >>> groups.sizes.tolist(), round(search.cost, 3)
    ([2, 3, 2], 0.035)

    The dynamic program is that of Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss
    (VLDB 2007), section 4, over several attributes and for sets as well. The rest is ours.
    """
    watch = watch or Watch()
    wanted = request(census, asked)
    space = space_of(census, asked.representation, asked.loss)
    order = gray_order(census)
    order = order[np.argsort(wanted.blocks[order], kind="stable")]
    count = NEIGHBOURS if asked.loss != "use" else _more_neighbours(wanted.k)
    found = neighbours(census, space, wanted.blocks, count, watch)
    line = line_up(wanted, improved_order(space, order, found, watch))
    homes = line.cut(space, 0.0)
    if wanted.looked_at:
        homes = min([homes, line.gather()], key=lambda each: line.loss(space, each))
    lost, steps = line.loss(space, homes), 0
    if EFFORTS[effort].changes and lost > 0:
        annealer = Annealer(line, space, homes, with_itself(found.near, census.weights), seed)
        steps, hot, prices = annealer.steps(EFFORTS[effort].changes), EFFORTS[effort].hot, None
        if asked.loss == "use":
            hot = max(hot, HOT_WITH_PRICES) if watch.time_limit is None else hot
            layout = layout_of(census, asked.representation, asked.loss)
            prices = Prices(census, layout, space, annealer.tuples, annealer.average, wanted.k)
        homes = annealer.run(steps, hot, watch, prices)
        if prices is None:
            homes = _cut_classes(line, space, homes, asked.representation)
        lost = line.loss(space, homes)
    cost = (lost + wanted.suppressed) / census.rows
    return line.groups(homes), SearchResult(
        cost=cost,
        optimal=lost == 0,
        bound=cost if lost == 0 else wanted.suppressed / census.rows,
        nodes=steps,
        pruned=0,
        seconds=watch.seconds,
    )


def _cut_classes(
    line: RowLine, space: Geometry, homes: Longs, representation: Representation | Sequence[Representation]
) -> Longs:
    """Return groups in which the rows of groups under the same labels have been put together and cut anew, while that
    helps.

    Heat leaves rows of five ages in three groups that all say 30 to 34, where each age had rows enough for its own.
    """
    for _ in range(MOST_CUTS):
        homes = np.unique(homes, return_inverse=True)[1].reshape(-1)
        shown = cover_groups(line.asked.census, line.groups(homes), representation)
        labels = np.stack([part.value for part in shown], axis=1)
        classes = distinct_rows(labels, [len(part.covers.labels) for part in shown])[1]
        again = line.cut_again(space, homes, classes)
        if line.loss(space, again) >= line.loss(space, homes) * (1 - WORTH):
            return homes
        homes = again
    return homes


def _more_neighbours(k: int) -> int:
    """Return how many neighbours changes go towards where values have prices: the nearest may be too dear."""
    return min(40, max(16, 10 + 3 * k // 5))


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


class Annealer:
    """Rows in groups that may change: all but those of groups too large to be worth it.

    Tuples are numbered along the line here, and `space` has them so: what is near is then near in memory as well, and
    changes are tried in one window of the line after another (`kernels.groups.annealing`). `tuples` are those of the
    rows, as the census numbers them.
    """

    def __init__(self, line: RowLine, space: Geometry, homes: Longs, near: Ints, seed: int) -> None:
        asked = line.asked
        self._line, self._homes = line, homes
        self._usual = max(asked.k, int(asked.least.max(initial=1)))
        if asked.census.people is not None:  # k people have more rows than k
            self._usual = max(self._usual, int(np.median(np.bincount(homes))))
        capacity = 2 * self._usual - 1
        average = line.loss(space, homes) / len(homes)
        self._asked = kernels.GroupNeeds(asked.k, asked.least, SIZE_WEIGHT * average / self._usual, priced=False)
        sizes = np.bincount(homes)
        self._rows = np.flatnonzero(sizes[homes] <= capacity)
        order, place = _along(line, len(near))
        self._rows = self._rows[np.argsort(place[line.tuples[self._rows]], kind="stable")]
        self.tuples = line.tuples[self._rows]
        self.space = space = space._replace(ends=space.ends[order], words=space.words[order])
        tuples = place[self.tuples]
        self.people = kernels.PlacedRows(
            tuples,
            line.values[self._rows],
            np.searchsorted(tuples, np.arange(len(near) + 1)).astype(np.int64),
            np.where(near[order] == kernels.NOBODY, kernels.NOBODY, place[near[order]]).astype(np.int32),
        )
        states = np.random.SeedSequence(seed).generate_state(PARTS, np.uint64) | np.uint64(1)
        self._rooms = [self._roomy(capacity, states[i : i + 1]) for i in range(PARTS)]
        self.places = self._placed(np.unique(homes[self._rows], return_inverse=True)[1].astype(np.int32), capacity)
        kernels.refresh_all(space, self.people, self.places, self._rooms[0])

    def _roomy(self, capacity: int, state: Words) -> kernels.MoveScratch:
        """Return room to work in, and a state for what is random."""
        ends, words = self.space.ends.shape[1], self.space.words.shape[1]
        return kernels.MoveScratch(
            low=np.empty((capacity + 2, ends), np.int32),
            high=np.empty((capacity + 2, ends), np.int32),
            covered=np.empty((capacity + 2, words), np.uint64),
            parts=np.empty(ends),
            seen=np.zeros(int(self._line.asked.first_value[-1]), np.int64),
            stamp=np.zeros(1, np.int64),
            moved=np.empty(capacity + 1, np.int32),
            other=np.empty(capacity + 1, np.int32),
            state=state,
        )

    def _placed(self, homes: Ints, capacity: int) -> kernels.Places:
        """Return who is where. There are never more groups than rows would fill with k each."""
        count, most = int(homes.max(initial=-1)) + 1, len(homes) // self._asked.k
        by = np.argsort(homes, kind="stable")
        sizes = np.bincount(homes, minlength=most)
        slots = np.empty(len(homes), np.int32)
        slots[by] = np.arange(len(homes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members = np.full((most, capacity + 1), kernels.NOBODY, np.int32)
        members[homes, slots] = np.arange(len(homes))
        ends, words = self.space.ends.shape[1], self.space.words.shape[1]
        return kernels.Places(
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

    def steps(self, changes: int) -> int:
        """Return how many changes to try: fewer for large groups, in which each takes longer."""
        return len(self._rows) * changes // (self._usual + 3)

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

    def _divided(self, turn: int) -> list[tuple[kernels.Places, int, int]]:
        """Divide the groups among those who change them: by the stretch of the line that their first row stands in. The
        stretches begin elsewhere each time. Return what belongs to whom, and where each stretch begins and how long it
        is."""
        places, rows = self.places, len(self._rows)
        parts, begin = min(PARTS, 1 + rows // LEAST_ROWS), int(turn * STRIDE * rows) % rows
        free = int(places.free[0])
        places.owners[:] = (places.members[:, 0] - begin) % rows * parts // rows
        shares = []
        for i, spare in enumerate(np.array_split(places.spare[:free], parts)):
            places.owners[spare] = i
            room = np.concatenate([spare, np.empty(len(places.spare) - len(spare), np.int32)])
            first, last = -(-i * rows // parts), -(-(i + 1) * rows // parts)
            shares.append(
                (places._replace(spare=room, free=np.array([len(spare)]), mine=i), (begin + first) % rows, last - first)
            )
        return shares

    def _change(
        self,
        threads: Executor,
        space: Geometry,
        asked: kernels.GroupNeeds,
        steps: int,
        heats: Sequence[float],
        turn: int,
    ) -> None:
        """Try so many changes while the heat falls, by several who have their own groups each."""
        shares = self._divided(turn)
        list(
            threads.map(
                lambda share, room: kernels.anneal(
                    space, self.people, share[0], asked, steps // len(shares), *heats, room, *share[1:]
                ),
                shares,
                self._rooms,
            )
        )
        free = np.concatenate([share.spare[: share.free[0]] for share, _, _ in shares])
        self.places.spare[: len(free)], self.places.free[0] = free, len(free)

    def run(self, steps: int, hot: float, watch: Watch, prices: Prices | None = None) -> Longs:
        """Try so many changes; return the group of each row in the best groups seen.

        Where values have prices, these change as well, and costs cannot be compared: the last groups are returned.
        """
        places, rows, asked, space = self.places, self._line.asked.census.rows, self._asked, self.space
        self.best_cost, best = self.cost, places.homes.copy()
        heats = self.average * hot * (COLD / hot) ** (np.arange(SLICES + 1) / SLICES)
        each, begun, done = max(1, steps // SLICES), watch.seconds, 0
        with ThreadPoolExecutor(PARTS) as threads:
            for turn, slope in enumerate(pairwise(heats.tolist())):
                if not len(self._rows) or watch.expired():
                    break
                if watch.time_limit is not None and done:  # fewer changes, and cold in the end
                    pace = done / max(watch.seconds - begun, 1e-9)
                    each = max(1, min(each, int(pace * (watch.time_limit - watch.seconds) / (SLICES - turn))))
                if prices is not None:
                    space, asked = self.with_prices(prices.risen(places)), self._asked._replace(priced=True)
                    kernels.refresh_all(space, self.people, places, self._rooms[0])
                self._change(threads, space, asked, each, slope, turn)
                done += each
                if prices is not None or self.cost < self.best_cost:
                    self.best_cost, best = self.cost, places.homes.copy()
                watch.advance(each, steps, "changes tried", self.best_cost / rows)
        homes = self._homes + len(places.sizes)
        homes[self._rows] = best
        return homes
