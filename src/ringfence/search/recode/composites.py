"""Composite records: all rows of a person are published together, and k people have the same.

Under a recoding, a person's *record* is the multiset of the classes of all their rows. It is published if at least k
people have the same one; else all rows of theirs are suppressed. Records that are alike stay alike under any coarser
recoding, so that whoever is suppressed at a node is suppressed at every finer one.

Gong, Luo, Yang, Ni, Li: Anonymizing 1:M Microdata with High Utility. Knowledge-Based Systems 115, 2017, has the problem
and a local recoding for it; recoding by levels, its search and its proof are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.census.census import Census, Joint
from ringfence.census.classes import Classes, Roller
from ringfence.errors import Unsatisfiable
from ringfence.judging.metrics import Discernibility, hdm_tallies, measure_classes, metric
from ringfence.kernels.recode.alike_records import alike, mark_rare
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.recode.lattice import SLACK, FeasibleNode, level_spaces
from ringfence.spec import Spec
from ringfence.values.recoding import Recoding


class Composites:
    """The records of a census in which people are told apart, those that are alike in the data taken together.

    `census` has an entry for each record and tuple of it, in the place of tuples: what is suppressed are entries of
    some records, not whole tuples. Record r has the entries `starts[r]` to before `starts[r + 1]`, with `own[e]` rows
    for each of its `people[r]`. `record_of[p]` is the record of person p.
    """

    def __init__(self, census: Census, k: int) -> None:
        assert census.people is not None, "records are made of the rows of people"
        self.k, part = k, census.sensitive[census.people]
        by = np.lexsort((part.tuples, part.values))
        starts = np.searchsorted(part.values[by], np.arange(part.hierarchy.leaves + 1))
        ends = _Trie(starts, part.weights[by]).alike(part.tuples[by])[0]
        _, first, self.record_of = np.unique(ends, return_index=True, return_inverse=True)
        self.people = np.bincount(self.record_of)
        lengths = np.diff(starts)[first]
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = by[np.repeat(starts[first] - self.starts[:-1], lengths) + np.arange(self.starts[-1])]
        tuples, self.own = part.tuples[entries], part.weights[entries]
        self.record = np.repeat(np.arange(len(first)), lengths)
        self.census = self._extended(census, tuples)
        self._trie = _Trie(self.starts, self.own)

    def _extended(self, census: Census, tuples: Ints) -> Census:
        """Return the census with an entry for each tuple of each record."""
        entry = {}
        span = len(census.weights)
        keys = self.record * span + tuples
        order = np.argsort(keys)
        joint, people = census.joint, census.joint.values[census.people or 0]
        home = order[np.searchsorted(keys[order], self.record_of[people] * span + joint.tuples)]
        for place, part in enumerate(census.sensitive):
            pairs, which = np.unique(home * part.hierarchy.leaves + joint.values[place], return_inverse=True)
            weights = np.bincount(which, joint.weights).astype(np.int64)
            entry[place] = replace(
                part,
                tuples=(pairs // part.hierarchy.leaves).astype(np.int32),
                values=(pairs % part.hierarchy.leaves).astype(np.int32),
                weights=weights,
            )
        return replace(
            census,
            codes=census.codes[tuples],
            weights=self.own * self.people[self.record],
            joint=Joint(home, joint.values, joint.weights),
            sensitive=tuple(entry[place] for place in range(len(entry))),
        )

    def rare(self, homes: Ints) -> Bools:
        """Return which records fewer than k people have, given the class of each entry."""
        return self._trie.rare(homes, self.people, self.k)

    def lost(self, rare: Bools) -> int:
        """Return how many rows the people of some records have."""
        return int(self.census.weights[rare[self.record]].sum())

    def marked(self, roller: Roller, fields: Longs, rare: Bools, into: Classes) -> Classes:
        """Return the classes of a node with the rows of rare records apart from the others, and failing."""
        roller.finest.keys[-1] = rare[self.record]
        classes = roller.roll(roller.finest, fields, into)
        roller.finest.keys[-1] = 0
        classes.fails[: classes.size] = classes.keys[-1, : classes.size]
        return classes


class _Trie:
    """Room to find out which records are alike, again and again."""

    def __init__(self, starts: Longs, rows: Longs) -> None:
        entries = int(starts[-1])
        self._starts, self._rows = starts.astype(np.int64), rows
        self._steps = np.empty((entries + 1, 3), np.int64)
        self._slots = np.empty(max(16, 1 << (2 * entries).bit_length()), np.int64)
        self._room = np.empty((2, int(np.diff(starts).max())), np.int64)
        self._seen = np.empty(entries + 1, np.int64)
        self._ends, self._rare = np.empty(len(starts) - 1, np.int64), np.empty(len(starts) - 1, np.uint8)

    def alike(self, homes: Ints) -> tuple[Longs, int]:
        """Return a number for each record, the same for those that are alike, and one above all numbers."""
        nodes = alike(self._starts, homes, self._rows, self._steps, self._slots, self._room, self._ends)
        return self._ends, int(nodes)

    def rare(self, homes: Ints, people: Longs, k: int) -> Bools:
        """Return which records fewer than k people have."""
        ends, nodes = self.alike(homes)
        mark_rare(ends, people, nodes, k, self._seen, self._rare)
        rare: Bools = self._rare == 1
        return rare


def search_composites(census: Census, spec: Spec, *, limit: int, watch: Watch) -> tuple[tuple[int, ...], SearchResult]:
    """Return the levels that cost least, with every published record that of k people and `limit` rows lost at most.

    Nodes are looked at from the coarsest on, in falling lexicographic order, so that all coarser ones come before. One
    that loses too many rows is left out with all that are finer; so is one whose floor is above the best so far.
    """
    search = _CompositeSearch(census, spec, limit, watch)
    bound = search.run()
    best = search.best
    if best is None:
        if watch.expired():
            raise Unsatisfiable(f"no release was found within method.time_limit = {watch.time_limit} seconds")
        allowed = f"with at most {limit} of {census.rows} rows suppressed" if limit else "without suppression"
        raise Unsatisfiable(
            f"no recoding by levels of these {census.rows} rows makes all rows of a person together those of k ="
            f" {spec.privacy.k} people {allowed}"
        )
    total = prod(height + 1 for height in census.heights)
    return best.levels, SearchResult(
        cost=best.cost,
        optimal=bound == inf,
        bound=min(best.cost, bound),
        nodes=watch.nodes,
        pruned=total - watch.nodes,
        seconds=watch.seconds,
    )


class _CompositeSearch:
    """One search: what was left out, and the best so far."""

    def __init__(self, census: Census, spec: Spec, limit: int, watch: Watch) -> None:
        self.composites = Composites(census, min(spec.k, census.rows + 1))
        self.limit, self.watch, self.rows = limit, watch, census.rows
        extended, spaces = self.composites.census, level_spaces(census)
        tallied = hdm_tallies(extended) if spec.method.metric == "hdm" else []
        self.roller = Roller(extended, spaces, tallied, marked=True)
        self.metric = metric(spec.method.metric, spec, extended, self.roller, self.composites.k)
        self.tables = (self.roller.room(), self.roller.room())
        self.best: FeasibleNode | None = None

    def run(self) -> float:
        """Look at all nodes that may be the best; return what those cost at least that there was no time for."""
        heights = self.composites.census.heights
        hopeless = np.zeros([height + 1 for height in heights], np.bool_)
        for levels in product(*(range(height, -1, -1) for height in heights)):
            if hopeless[levels]:
                continue
            if self.watch.expired():
                return self._floor([0] * len(heights), self._classes([0] * len(heights)))
            self.watch.tick(self.best.cost if self.best else None)
            classes = self._classes(levels)
            if self._floor(levels, classes) > self._reached():
                continue
            rare = self.composites.rare(classes.member)
            lost = self.composites.lost(rare)
            if lost > self.limit or lost == self.rows:  # so does every finer node, where no more people are alike
                hopeless[tuple(slice(level + 1) for level in levels)] = True
            else:
                self._offer(levels, rare, lost)
        return inf

    def _reached(self) -> float:
        return inf if self.best is None else self.best.cost + SLACK * abs(self.best.cost)

    def _classes(self, levels: Sequence[int]) -> Classes:
        return self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(levels))), self.tables[0])

    def _offer(self, levels: tuple[int, ...], rare: Bools, lost: int) -> None:
        fields = self.roller.fields(list(enumerate(levels)))
        classes = self.composites.marked(self.roller, fields, rare, self.tables[1])
        candidate = FeasibleNode(levels, self.metric.cost(levels, classes), lost)
        if candidate.beats(self.best):
            self.best = candidate

    def _floor(self, levels: Sequence[int], classes: Classes) -> float:
        """Return what no node at or above this one can cost less than.

        Discernibility counts on classes being published or suppressed as a whole. Here w of the s rows of a class may
        be published, for w² + (s - w) N; over all w that is at least s² if s <= N/2, else s N - N²/4. This is convex in
        s and 0 at 0, so the classes of a coarser node, which are unions, cost no less together. Other losses are of
        rows, or of rows that are not of the majority, or count classes: they hold for any part of a class.
        """
        if not isinstance(self.metric, Discernibility):
            return float(self.metric.floor(levels, classes))
        sizes = classes.weights[: classes.size].astype(np.float64)
        return float(np.where(sizes <= self.rows / 2, sizes**2, sizes * self.rows - self.rows**2 / 4).sum())


@dataclass(frozen=True, eq=False)
class Composed:
    """What recodings make of the records of a census: whose rows are lost, and what that costs.

    `census` is extended by records, and says which of its entries are lost; `people` are those whose rows are.
    """

    recodings: tuple[Recoding, ...]
    census: Census
    people: Longs
    suppressed: int
    metrics: dict[str, float]


def compose(census: Census, spec: Spec, recodings: Sequence[Recoding]) -> Composed:
    """Judge the records that some recodings make, and measure what is published of them."""
    composites = Composites(census, min(spec.k, census.rows + 1))
    roller = Roller(composites.census, [[r] for r in recodings], marked=True)
    node = [0] * len(recodings)
    fields = roller.fields(list(enumerate(node)))
    rare = composites.rare(roller.roll(roller.finest, fields, roller.room()).member)
    classes, lost = composites.marked(roller, fields, rare, roller.room()), composites.lost(rare)
    return Composed(
        recodings=tuple(recodings),
        census=replace(composites.census, lost=rare[composites.record]),
        people=np.flatnonzero(rare[composites.record_of]),
        suppressed=lost,
        metrics=measure_classes(composites.census, spec, roller, node, classes, composites.k, lost),
    )
