"""The layout of clusters: the tuples of a census laid out for clustering, group by group, neighbours together.

Groups are those of the maximum allowed table that hold. Nothing is clustered across them, so they are worked on in
parallel, and the answer does not depend on how many are at the same time.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from math import lcm
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census
from ringfence.census.groups import Combinations, Groups, combinations, common_ancestors, information_losses
from ringfence.kernels.groups.cells import ClusterNeeds, Trees
from ringfence.kernels.groups.cheapest_first import cheapest_first, cut
from ringfence.kernels.groups.greedy import Combined, greedy
from ringfence.kernels.groups.growth import Tuples, radii
from ringfence.search.groups.boundaries import MaximumAllowed
from ringfence.search.progress import Watch

Result = TypeVar("Result")

FINEST_UNIT = 2**40
"""Losses are whole numbers of the largest unit that measures them all, or else of this share of a cell."""

BATCH = 2_000
"""Small groups go to a kernel together, until they have so many tuples: the way there costs more than they do."""

SMALL = 1_000
"""Parts of at most so many rows are clustered both ways."""

SHUFFLE = 2010
"""A seed for the order in which combinations that tie are taken in the paper's way: fixed, but no order of values."""


class ClusterLayout:
    """The tuples that are not suppressed, and what is asked of their clusters. When the time of `watch` is up, parts
    that were not begun are cut into runs of neighbours, or in the paper's way stay together.

    `order[i]` is the tuple of the census that stands at i. Groups stand between neighbouring `bounds`, and the parts
    that large groups were cut into between neighbouring `cuts`. A cell that is lost altogether loses `unit`.
    """

    def __init__(
        self,
        census: Census,
        allowed: MaximumAllowed,
        *,
        k: int,
        least_values: Sequence[int],
        weights: Floats,
        max_group: int,
        workers: int,
        watch: Watch,
    ) -> None:
        self.census = census
        self.workers = workers
        self.watch = watch
        # Low hierarchies lose most at a step: neighbours agree in them first, then in those with few values.
        attributes = sorted(
            range(len(census.quasi)), key=lambda a: (census.quasi[a].hierarchy.height, census.quasi[a].occurring)
        )
        codes, self.trees, self.unit = _compacted(census, attributes)
        kept = np.flatnonzero(~allowed.fails[allowed.member])
        keys = [codes[kept, place] for place in reversed(range(len(attributes)))]
        self.order = kept[np.lexsort([*keys, allowed.member[kept]])]
        member = allowed.member[self.order]
        self.bounds = np.concatenate([[0], np.flatnonzero(np.diff(member)) + 1, [len(member)]])
        self.looked_at = [s for s, least in enumerate(least_values) if least > 1]  # any row has one value
        self._first_value = np.cumsum([0, *(census.sensitive[s].hierarchy.leaves for s in self.looked_at)])
        self.tuples = Tuples(codes[self.order], census.weights[self.order], *self._values())
        self.asked = ClusterNeeds(
            k,
            np.array([least_values[s] for s in self.looked_at], np.int64),
            np.repeat(np.arange(len(self.looked_at), dtype=np.int32), np.diff(self._first_value)),
            np.array([weights[s] for s in self.looked_at], np.float64),
        )
        cuts = np.empty(len(self.order) + 1, np.int64)
        self.cuts = cuts[: cut(self.bounds, max_group, self.tuples, self.asked, cuts)]

    def _values(self) -> tuple[Longs, Ints]:
        """Return where the sensitive values of each tuple start, and the values, those of all attributes numbered
        together."""
        place = np.full(len(self.census.weights), -1)
        place[self.order] = np.arange(len(self.order))
        parts = [self.census.sensitive[s] for s in self.looked_at]
        none = np.empty(0, np.int64)
        tuples = np.concatenate([none, *(place[part.tuples] for part in parts)])
        values = np.concatenate([none, *(part.values + at for part, at in zip(parts, self._first_value, strict=False))])
        by_tuple = np.lexsort((values, tuples))
        by_tuple = by_tuple[tuples[by_tuple] >= 0]
        starts = np.searchsorted(tuples[by_tuple], np.arange(len(self.order) + 1))
        return starts, values[by_tuple].astype(np.int32)

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.cuts) - 1

    @cached_property
    def combinations(self) -> Combinations:
        """The distinct combinations of tuples and the values that are looked at."""
        return combinations(self.census, self.looked_at)

    @cached_property
    def distances(self) -> Longs:
        """For each tuple a loss that no cluster of its part can beat (`kernels.groups.growth.radii`); 0, which none
        can, for those that there was no time for."""
        out = np.zeros(len(self.order), np.int64)

        def work(cuts: Longs) -> None:
            if not self.watch.expired():
                radii(cuts, self.trees, self.tuples, self.asked, out)

        for _ in self._in_batches(self.cuts, work):
            pass
        return out

    @property
    def least_loss(self) -> float:
        """What no clustering can go below, all cells together; groups that were cut count nothing."""
        whole = np.isin(self.cuts[:-1], self.bounds) & np.isin(self.cuts[1:], self.bounds)
        counts = np.repeat(whole, np.diff(self.cuts)) * self.tuples.weights
        return float(self.distances @ counts) / self.unit

    @cached_property
    def part_of(self) -> Longs:
        """The part of each tuple of the census; those that are suppressed have none, and the number of parts."""
        part_of = np.full(len(self.census.weights), self.parts)
        part_of[self.order] = np.repeat(np.arange(self.parts), np.diff(self.cuts))
        return part_of

    def best(self) -> tuple[Groups, int]:
        """Return clusters grown cheapest first, and how many cells were tried.

        Small parts are clustered as the paper prints it as well, and the better of both is kept: among few rows, what
        is left in the end weighs more than how the first clusters were found.
        """
        rows = np.add.reduceat(self.tuples.weights, self.cuts[:-1])
        small = np.flatnonzero(rows <= SMALL)
        total = self.parts + len(small)
        cheapest, tried = self._cheapest_first(total)
        printed = self._as_printed(small, total)
        wins = np.flatnonzero(self._losses(printed)[small] < self._losses(cheapest)[small] - 1e-9)
        chosen = np.isin(self.part_of[cheapest.tuples], small[wins])
        instead = np.isin(self.part_of[printed.tuples], small[wins])
        return Groups.gathered(
            self.combinations,
            np.concatenate([cheapest.combination[~chosen], printed.combination[instead]]),
            np.concatenate([cheapest.group[~chosen], printed.group[instead] + cheapest.count]),
            np.concatenate([cheapest.rows[~chosen], printed.rows[instead]]),
        ), tried

    def as_printed(self) -> Groups:
        """Return clusters grown as the paper prints it."""
        return self._as_printed(np.arange(self.parts), self.parts)

    def _losses(self, groups: Groups) -> Floats:
        """Return what the rows of each part lose."""
        losses = groups.sizes * information_losses(self.census, common_ancestors(self.census, groups))
        _, example = np.unique(groups.group, return_index=True)
        by_part = np.zeros(self.parts)
        np.add.at(by_part, self.part_of[groups.tuples[example]], losses)
        return by_part

    def _cheapest_first(self, total: int) -> tuple[Groups, int]:
        keys, homes = self.distances.copy(), np.zeros(len(self.order), np.int32)
        counts = np.ones(self.parts, np.int64)
        part = self.part_of[self.order]
        seeds = np.lexsort((-self.tuples.weights, part))  # of tuples that tie, the one with most rows comes first

        def work(cuts: Longs) -> tuple[int, int]:
            first = int(np.searchsorted(self.cuts, cuts[0]))
            into = counts[first : first + len(cuts) - 1]
            if self.watch.expired():
                self._neighbours(cuts, homes, into)
                return len(cuts) - 1, 0
            tried = cheapest_first(cuts, self.trees, self.tuples, self.asked, keys, seeds, homes, into)
            return len(cuts) - 1, int(tried)

        cells = 0
        for done, tried in self._in_batches(self.cuts, work):
            self.watch.advance(done, total, "groups clustered")
            cells += tried
        cluster_of = np.full(len(self.census.weights), -1)
        cluster_of[self.order] = homes + (np.cumsum(counts) - counts)[part]
        home = cluster_of[self.combinations.tuples]
        kept = np.flatnonzero(home >= 0)
        return Groups.gathered(self.combinations, kept, home[kept], self.combinations.weights[kept]), cells

    def _neighbours(self, cuts: Longs, homes: Ints, counts: Longs) -> None:
        """Cluster parts that there is no time for as they stand: tuples next to each other, until they suffice."""
        runs = np.empty(int(cuts[-1] - cuts[0]) + 1, np.int64)
        runs = runs[: cut(cuts, 1, self.tuples, self.asked, runs)]
        begins = np.searchsorted(runs, cuts)  # parts begin where runs do
        counts[:] = np.diff(begins)
        numbers = np.arange(len(runs) - 1) - np.repeat(begins[:-1], counts)
        homes[cuts[0] : cuts[-1]] = np.repeat(numbers, np.diff(runs))

    def _as_printed(self, parts: Longs, total: int) -> Groups:
        found = self.combinations
        number = np.full(self.parts + 1, len(parts))
        number[parts] = np.arange(len(parts))
        part = number[self.part_of[found.tuples]]
        # In an order of values, the first of those that tie would always be of one kind, such as the youngest, and
        # clusters far worse than in the order of a file, which the paper had.
        order = np.lexsort((np.random.default_rng(SHUFFLE).permutation(len(part)), part))
        bounds = np.searchsorted(part[order], np.arange(len(parts) + 1))
        order = order[: bounds[-1]]
        place = np.zeros(len(self.census.weights), np.int64)
        place[self.order] = np.arange(len(self.order))
        combined = Combined(
            self.tuples.codes[place[found.tuples[order]]],
            (found.values[order] + self._first_value[:-1]).astype(np.int32),
            found.weights[order],
        )
        first_row = np.concatenate([[0], np.cumsum(combined.weights)])  # there are no more clusters than rows

        def work(bounds: Longs) -> tuple[int, list[Longs]]:
            numbers, rows = first_row[bounds[:-1]], combined.weights[bounds[0] : bounds[-1]]
            if self.watch.expired():
                return len(numbers), [np.arange(bounds[0], bounds[-1]), np.repeat(numbers, np.diff(bounds)), rows]
            entries = np.empty((3, int(rows.sum())), np.int64)
            size = greedy(bounds, numbers, self.trees, combined, self.asked, entries)
            return len(numbers), list(entries[:, :size])

        entries = [[np.empty(0, np.int64)] * 3]
        for done, some in self._in_batches(bounds, work):
            self.watch.advance(done, total, "groups clustered")
            entries.append(some)
        combination, cluster, rows = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        return Groups.gathered(found, order[combination], cluster, rows)

    def _in_batches(self, bounds: Longs, work: Callable[[Longs], Result]) -> Iterator[Result]:
        """Do some work on every part between bounds, several at a time; yield what comes of it, the largest first."""
        batches, start = [], 0
        for stop in range(1, len(bounds)):
            if bounds[stop] - bounds[start] >= BATCH or stop == len(bounds) - 1:
                batches.append(bounds[start : stop + 1])
                start = stop
        batches.sort(key=lambda batch: int(batch[0] - batch[-1]))
        if self.workers == 1 or len(batches) == 1:
            yield from map(work, batches)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            yield from pool.map(work, batches)


def _compacted(census: Census, attributes: Sequence[int]) -> tuple[Ints, Trees, int]:
    """Return the codes and hierarchies of some attributes without leaves that do not occur, and what a lost cell
    loses."""
    unit = min(lcm(*(quasi.hierarchy.height for quasi in census.quasi)), FINEST_UNIT)
    codes = np.empty((len(census.weights), len(attributes)), np.int32)
    parts: list[tuple[npt.NDArray[np.integer], ...]] = []
    for place, attribute in enumerate(attributes):
        tree = census.quasi[attribute].hierarchy
        occurring, codes[:, place] = np.unique(census.codes[:, attribute], return_inverse=True)
        first, stop = np.searchsorted(occurring, tree.first), np.searchsorted(occurring, tree.stop)
        kept = np.flatnonzero(stop > first)  # with a node that covers something, all nodes above it
        steps = np.rint(tree.heights[kept].astype(np.float64) * unit / tree.height)
        parts.append((np.searchsorted(kept, tree.parent[kept]), first[kept], stop[kept], steps))
    parent, first, stop, steps = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    offsets = np.cumsum([0, *(len(part[0]) for part in parts)])
    trees = Trees(
        offsets, parent.astype(np.int32), first.astype(np.int32), stop.astype(np.int32), steps.astype(np.int64)
    )
    return codes, trees, unit
