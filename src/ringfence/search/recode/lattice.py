"""The level lattice: the cheapest full-domain recoding, proven.

A node of the lattice gives each attribute one level. The search fixes the attributes one after the other, the one
with the most values first. A *box* is the set of nodes that agree on the attributes fixed so far; its finest node F
has the rest at level 0, its coarsest C at the top. Class tables are rolled up from one level of an attribute to the
next. A box is left out

- if the loss that no node above F can avoid, plus the loss of the rows that C must suppress, exceeds the best cost; or
- if C suppresses more rows than allowed.

The second, and the rows of the first, rest on what the models declare: what fails a monotone model at C fails in the
whole box, and of what is far from holding at C some goes in the whole box.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, prod

import numpy as np

from ringfence.census.census import Census
from ringfence.census.classes import Classes, Roller
from ringfence.errors import Unsatisfiable, some_rows, these
from ringfence.judging.metrics import Metric
from ringfence.judging.models import KAnonymity, KPeople, Promise
from ringfence.search.progress import SearchResult, Watch
from ringfence.values.recoding import Recoding, at_level

SAME = 1e-12  # costs this close, relatively, are equal
TRIES, WORTH = 2, 2  # how often parts are asked for before it is known what that saves; and how many nodes it costs
SLACK = 1e-10  # bounds are floating-point sums: only what exceeds the best cost by more than this is left out


@dataclass(frozen=True)
class FeasibleNode:
    """A feasible node: its levels in the order of the specification, its cost, and the rows it suppresses."""

    levels: tuple[int, ...]
    cost: float
    suppressed: int

    def beats(self, other: "FeasibleNode | None") -> bool:
        """Whether this is better: cheaper, else fewer rows suppressed, else lexicographically smaller."""
        if other is None:
            return True
        if abs(self.cost - other.cost) > SAME * max(abs(self.cost), abs(other.cost)):
            return self.cost < other.cost
        return (self.suppressed, self.levels) < (other.suppressed, other.levels)


def level_spaces(census: Census) -> list[list[Recoding]]:
    """Return for each attribute its recodings by level."""
    return [[at_level(q.hierarchy, level) for level in range(q.hierarchy.height + 1)] for q in census.quasi]


def search_levels(
    census: Census,
    roller: Roller,
    promise: Promise,
    metric: Metric,
    *,
    limit: int,
    watch: Watch,
    starts: Sequence[Sequence[int]] = (),
) -> tuple[tuple[int, ...], SearchResult]:
    """Return the levels of the cheapest full-domain recoding that keeps `promise`, and the proof's figures.

    `limit` is the number of rows that may be suppressed. On a time limit the best node so far is returned with the
    lowest bound of the boxes left open; if there is none yet, the coarsest. Boxes that cannot cost less than what the
    watch says is known elsewhere are left open, too. `starts` are levels that may be good ones.

    LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain K-Anonymity. SIGMOD 2005, section 3 (roll-up). The
    boxes and their bounds are ours.
    """
    search = _LevelSearch(census, roller, promise, metric, limit, watch)
    for levels in starts:
        search.judge_at(levels)
    search.decided = 0  # they are met again
    search.explore(0, roller.finest, floor=0.0)  # no loss is below 0
    if search.best is None and watch.expired():
        search.judge_at(census.heights)
    best = search.best
    if best is None:
        if watch.expired() or search.open_bound < inf:
            raise Unsatisfiable(f"no release was found within method.time_limit = {watch.time_limit} seconds")
        raise Unsatisfiable(impossible(census, roller, census.heights, promise, limit))
    total = prod(height + 1 for height in census.heights)
    bound = min(best.cost, search.open_bound)
    return best.levels, SearchResult(
        cost=best.cost,
        optimal=search.open_bound == inf,
        bound=bound,
        nodes=watch.nodes,
        pruned=total - search.decided,
        seconds=watch.seconds,
    )


class _LevelSearch:
    """The state of one search: the node under way, the best so far, the bound of what was left open."""

    def __init__(
        self, census: Census, roller: Roller, promise: Promise, metric: Metric, limit: int, watch: Watch
    ) -> None:
        self.roller, self.promise, self.metric, self.limit, self.watch = roller, promise, metric, limit, watch
        self.rows = census.rows
        self.heights = census.heights
        # Values tell most rows apart where there are many of them: decided first, they make C fail early.
        self.order = sorted(range(len(self.heights)), key=lambda a: (-census.quasi[a].occurring, a))
        self.levels = [0] * len(self.heights)
        self.looks_at_values_of_coarsest = (
            limit == 0 or metric.needs_values or any(model.needs_values for model in promise.monotone)
        )
        # What parts of classes must go is asked where it has closed boxes, by depth: how often, and how many it closed.
        self.inside = [prod(self.heights[a] + 1 for a in self.order[depth + 1 :]) for depth in range(len(self.order))]
        self.asked, self.closed = [0] * len(self.order), [0] * len(self.order)
        self.best: FeasibleNode | None = None
        self.open_bound = inf
        self.decided = 0
        self.to_level = [[roller.fields([(a, j)]) for j in range(h + 1)] for a, h in enumerate(self.heights)]
        self.to_top = [
            roller.fields([(a, self.heights[a]) for a in self.order[i + 1 :]]) for i in range(len(self.order))
        ]
        # Two tables in turn for each depth and each end of a box: one is rolled up into the other.
        self.fine_tables = [(roller.room(), roller.room()) for _ in self.order]
        self.coarse_tables = [(roller.room(), roller.room()) for _ in self.order]

    def explore(self, depth: int, finest: Classes, floor: float) -> None:
        """Search the box in which the first `depth` attributes are fixed; `finest` are its finest classes."""
        attribute, rest = self.order[depth], self.order[depth + 1 :]
        fine, coarse, partly = finest, None, self._asks_for_parts(depth)
        for level in range(self.heights[attribute] + 1):
            if self.watch.expired():
                self.open_bound = min(self.open_bound, floor)
                break
            self.levels[attribute] = level
            if not self.metric.needs_classes:
                floor = max(floor, self.metric.floor(self.levels, fine))
                if self._hopeless(floor):
                    break  # and so are all higher levels, which are coarser
            gone = 0
            if rest:
                coarse = self._coarsest(depth, level, fine, coarse, partly=partly)
                gone = self._lost(coarse)
                if self._too_many(gone):
                    continue  # the finest classes, which are many more, need not be known
            before, fine = fine, self._finest(depth, level, fine)
            if self.metric.needs_classes:
                floor = max(floor, self.metric.floor(self.levels, fine))
                if self._hopeless(floor):
                    break
            if level > 0 and not self.metric.needs_values:
                self.roller.roll_values(before, fine)
            if coarse is None:
                self._judge(fine)
            elif not self._box_closed(coarse, gone, rest, floor, partly=partly):
                self.explore(depth + 1, fine, floor)
        self.levels[attribute] = 0

    def _finest(self, depth: int, level: int, below: Classes) -> Classes:
        """Return the finest classes at a level of an attribute, from those at some lower level: values only where they
        are needed to bound the loss."""
        if level == 0:
            return below
        one, other = self.fine_tables[depth]
        table = self.roller.roll_sizes(below, self.to_level[self.order[depth]][level], other if below is one else one)
        return self.roller.roll_values(below, table) if self.metric.needs_values else table

    def _coarsest(self, depth: int, level: int, finest: Classes, below: Classes | None, *, partly: bool) -> Classes:
        """Return the coarsest classes at a level of an attribute, from those at the level below; at the lowest from the
        finest ones."""
        source, fields = (
            (finest, self.to_top[depth]) if below is None else (below, self.to_level[self.order[depth]][level])
        )
        table = self.roller.roll_sizes(source, fields, self.coarse_tables[depth][level % 2])
        return self.roller.roll_values(source, table) if partly or self.looks_at_values_of_coarsest else table

    def _hopeless(self, bound: float, suppressed: int = 0) -> bool:
        """Whether no node from the one under way upwards can beat the best, if each costs at least so much, and
        suppresses at least so many rows.

        One that costs the same and suppresses no fewer wins a tie only by smaller levels, and those of the node under
        way are the smallest of all. Without this, attributes that say the same would be tried in all combinations.
        """
        if bound >= self.watch.known:
            self.open_bound = min(self.open_bound, bound)
            return True
        if self.best is None:
            return False
        if bound > self.best.cost + SLACK * abs(self.best.cost):
            return True
        ties_at_best = bound >= self.best.cost * (1 - SAME) and suppressed >= self.best.suppressed
        return ties_at_best and self.best.levels <= tuple(self.levels)

    def _lost(self, coarsest: Classes) -> int:
        """Return how many rows are lost for the box above, by which of its coarsest classes fail.

        Without suppression every model is monotone as a whole: if C has a failing class, so has every finer node.
        With it, classes that fail a monotone model are lost for the whole box: they are `gone`.
        """
        return self.promise.judge(coarsest) if self.limit == 0 else self.promise.mark_hopeless(coarsest)

    def _box_closed(self, coarsest: Classes, gone: int, rest: Sequence[int], floor: float, *, partly: bool) -> bool:
        """Whether the box above can be left out, by what its coarsest classes must suppress: `gone` rows of those that
        are lost, and of others a part may be."""
        if self._too_much_goes(gone, coarsest, rest, floor):
            return True
        if not partly:
            return False
        depth = len(self.order) - len(rest) - 1
        closed = self._too_much_goes(self.promise.raise_gone(coarsest), coarsest, rest, floor)
        self.asked[depth] += 1
        self.closed[depth] += closed
        return closed

    def _asks_for_parts(self, depth: int) -> bool:
        """Whether it is worth while to ask what parts of classes must go: it takes as long as to judge some nodes, and
        saves those of the boxes that it closes."""
        if self.limit == 0 or not self.promise.partly:
            return False
        asked, saved = self.asked[depth], self.closed[depth] * self.inside[depth]
        return asked < TRIES or saved >= WORTH * asked

    def _too_many(self, rows: int) -> bool:
        """Whether so many rows are more than may go."""
        return rows > self.limit or rows == self.rows

    def _too_much_goes(self, gone: int, coarsest: Classes, rest: Sequence[int], floor: float) -> bool:
        """Whether so many rows are more than may go, or cost too much: those that are `gone` from the coarsest classes
        of the box above, at least."""
        if self._too_many(gone):
            return True
        for other in rest:
            self.levels[other] = self.heights[other]
        gain = self.metric.gain(self.levels, coarsest) if gone else 0
        for other in rest:
            self.levels[other] = 0
        return self._hopeless(floor + gain, gone)

    def judge_at(self, levels: Sequence[int]) -> None:
        """Evaluate a node by itself: one that is known, or the coarsest where no better one was found in time."""
        self.levels = list(levels)
        fields = self.roller.fields(list(enumerate(levels)))
        self._judge(self.roller.roll(self.roller.finest, fields, self.roller.room()))
        self.levels = [0] * len(self.levels)

    def _judge(self, classes: Classes) -> None:
        """Evaluate the node under way exactly."""
        self.watch.tick(self.best.cost if self.best else None)
        self.decided += 1
        suppressed = self.promise.judge(classes)
        if suppressed > self.limit or suppressed == self.rows or not self.promise.rest_holds(classes):
            return
        candidate = FeasibleNode(tuple(self.levels), self.metric.cost(self.levels, classes), suppressed)
        if candidate.beats(self.best):
            self.best = candidate


def impossible(census: Census, roller: Roller, coarsest: Sequence[int], promise: Promise, limit: int) -> str:
    """Say why no recoding is feasible, and which k would be; `coarsest` are the positions of the coarsest ones."""
    top = roller.roll(roller.finest, roller.fields(list(enumerate(coarsest))), roller.room())
    sizes = rows = top.weights[: top.size]
    for model in promise.models:
        if isinstance(model, KPeople):
            pairs = top.pairs[model.attribute]
            sizes = np.bincount(pairs.homes[: pairs.size], minlength=top.size)
    by_size = np.argsort(sizes, kind="stable").tolist()
    possible, lost = int(sizes[by_size[0]]), 0
    for smaller, larger in pairwise(by_size):
        lost += int(rows[smaller])
        if lost > limit:
            break
        possible = int(sizes[larger])
    allowed = f"with at most {limit} of {some_rows(census.rows)} suppressed" if limit else "without suppression"
    k = next((model.k for model in promise.models if isinstance(model, KAnonymity)), 1)
    hint = f"; the largest k that is possible is {possible}" if k > possible else ""
    return f"no recoding of {these(census.rows)} satisfies {promise.wording} {allowed}{hint}"
