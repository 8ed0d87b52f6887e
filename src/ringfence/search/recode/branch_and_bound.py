"""Optimal recodings over any mix of schemes: branch and bound bottom-up and top-down, as Li and Li have it.

A node gives each attribute a recoding of its space. Bottom-up, the root is the finest node, and a child merges some
values of one attribute; top-down, the root is the coarsest, and a child splits some. A node keeps *applicators*: the
attributes that may still be changed below it. A child changes one of them, and keeps that one and those after it, in
the node's own order; so each combination of recodings is met exactly once.

Below a node lie recodings between two ends: F, the finest, and C, the coarsest. One of them is the node itself, the
other what all steps of all its applicators together would reach. Nothing between them costs less than `floor` at F
plus `gain` at C (`metrics`), and what a monotone model makes C suppress, all of them suppress.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import count
from math import inf
from random import Random

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.census.classes import Classes, Roller
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.judging.metrics import Metric
from ringfence.judging.models import Promise
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.recode.answers import Answers
from ringfence.search.recode.lattice import SAME, SLACK, impossible
from ringfence.search.recode.spaces import Space, ruled_out
from ringfence.spec import Spec

Node = tuple[int, ...]
SMALL_K = 5
"""Up to this k the way up was no longer than the way down on Adult; from 10 on it was (docs/papers/schemes)."""

WIDEST = 16
"""The largest set whose splits are tried one by one."""

AT_ONCE = 50
"""After so many nodes, better answers are looked for."""

SEEDS = 12
"""How many random nodes a search looks at before it starts."""


@dataclass(frozen=True)
class Techniques:
    """What the search may use, beside the two ends and their bound; all of it by default.

    `pruning`: leave out nodes whose bound exceeds the best cost. `useless`: drop applicators none of whose children
    can beat the best. `useful`: where nothing may be suppressed, change an attribute first that has to be changed;
    bottom-up only, as the paper has it. `seeding`: begin with the best of some random nodes. `requeueing`: compare a
    node with the best once more before its children are judged. (The paper puts the node into the queue again. Here
    its children wait there with its bound, and are compared by it when their turn comes.) `best_first`: take the node
    with the smallest bound first. `rearranging`: change first what merges the fewest classes.

    Each can be switched alone; without `pruning` only the order changes, and every node is judged. `requeueing` makes
    a difference only to the plain walk, breadth first: `best_first` ends by that very comparison, and `useless` and
    `rearranging` judge all children of a node before the first of them is queued, so each waits with its own bound.
    """

    pruning: bool = True
    useless: bool = True
    useful: bool = True
    seeding: bool = True
    requeueing: bool = True
    best_first: bool = True
    rearranging: bool = True

    @classmethod
    def asked(cls, spec: Spec) -> "Techniques":
        """Return those that a specification names; all, if it names none."""
        named = spec.method.techniques
        return cls() if named is None else cls(**{part.name: part.name in named for part in fields(cls)})

    @property
    def looking_ahead(self) -> bool:
        """Whether the children of a node are judged before they are queued."""
        return self.useless or self.rearranging

    @property
    def comparing_again(self) -> bool:
        """Whether a node in the queue is compared with the best of then, by the bound that it waits with."""
        return self.requeueing or self.best_first or self.looking_ahead


ALL_TECHNIQUES = Techniques()


@dataclass(frozen=True)
class RankedAnswer:
    """A feasible node with its cost, the rows it suppresses, and what decides between equals: how far it shifts each
    leaf from its own place, attribute by attribute."""

    node: Node
    cost: float
    suppressed: int
    shifts: tuple[tuple[int, ...], ...]


@dataclass(order=True)
class _Entry:
    """A node in the queue: `place` decides which comes first."""

    place: tuple[float, int]
    bound: float
    node: Node
    applicators: tuple[int, ...]
    judged: bool


def climbs(spaces: Sequence[Space], spec: Spec) -> bool:
    """Return whether to search bottom-up: as the specification says, else for small k, where little has to be merged.

    A block of n values can be split in two in 2^(n - 1) - 1 ways, and all of them are one step from it: with large sets
    there is no way but up.
    """
    large = [space for space in spaces if space.widest > WIDEST]
    if spec.method.search == "top-down" and large:
        raise SpecError(
            f"method.search = 'top-down' with the scheme {large[0].scheme!r}: a block of {large[0].widest} values of"
            f" {large[0].quasi.name!r} can be split in too many ways; allowed: up to {WIDEST} values, or 'bottom-up'"
        )
    if spec.method.search == "auto":
        return bool(large) or spec.k <= SMALL_K
    return spec.method.search == "bottom-up"


def search_partitions(
    census: Census,
    spaces: Sequence[Space],
    roller: Roller,
    promise: Promise,
    metric: Metric,
    *,
    limit: int,
    watch: Watch,
    up: bool,
    techniques: Techniques = ALL_TECHNIQUES,
    starts: Iterable[Node] = (),
) -> tuple[Node, SearchResult]:
    """Return the cheapest node that keeps `promise`, one recoding of each space, and the proof's figures.

    `limit` is the number of rows that may be suppressed, `up` says which way to search. On a time limit the best node
    so far is returned, with the smallest bound of those left open. `starts` are nodes that may be good ones.

    Li and Li: Towards optimal k-anonymization. Data and Knowledge Engineering 65, 2008, sections 3 and 4; top-down
    after Bayardo and Agrawal: Data Privacy through Optimal k-Anonymization. ICDE 2005. The second end of each node is
    ours.
    """
    search = _BranchAndBound(census, spaces, roller, promise, metric, limit, watch, up, techniques)
    search.look_at(starts)
    search.begin()
    search.run()
    coarsest = [space.coarsest for space in spaces]
    if search.best is None and search.open_bound < inf:
        search.look_at([tuple(coarsest)])  # that of all which most likely keeps the promise
    best = search.best
    if best is None:
        if search.open_bound < inf:
            raise Unsatisfiable(f"no release was found within method.time_limit = {watch.time_limit} seconds")
        raise Unsatisfiable(impossible(census, roller, coarsest, promise, limit))
    return best.node, SearchResult(
        cost=best.cost,
        optimal=search.open_bound > best.cost,
        bound=min(best.cost, max(0.0, search.open_bound)),  # no loss is below 0
        nodes=watch.nodes,
        pruned=ruled_out(spaces, search.met),
        seconds=watch.seconds,
    )


class Climb:
    """Branch and bound beside answers, bottom-up: what it finds is theirs, and what they find rules more out."""

    def __init__(
        self,
        census: Census,
        spaces: Sequence[Space],
        roller: Roller,
        promise: Promise,
        metric: Metric,
        answers: Answers,
        watch: Watch,
    ) -> None:
        self._search = _BranchAndBound(
            census, spaces, roller, promise, metric, answers.terms.limit, watch, True, ALL_TECHNIQUES
        )
        self._answers, self._watch, self._spaces, self._begun = answers, watch, spaces, False
        self.bound = -inf

    def run(self, most: float = inf) -> bool:
        """Go on, for about so many nodes; return whether nothing was left open."""
        search, answers = self._search, self._answers
        with ThreadPoolExecutor(2) as threads:
            while most > 0 and not self._watch.expired():
                if answers.best is not None:
                    search.look_at([answers.best.node])
                if not self._begun:
                    search.begin()
                    self._begun = True
                search.run(AT_ONCE)
                most -= AT_ONCE
                if search.best is not None:
                    answers.consider_node(search.best.node)
                if not search.queue:
                    return True
                self.bound = max(self.bound, min(entry.bound for entry in search.queue))
                answers.floor = max(answers.floor, self.bound)
                answers.kick(threads.map)
        return False


class _BranchAndBound:
    """The state of one search: the queue, the best so far, the bound of what was left open."""

    def __init__(
        self,
        census: Census,
        spaces: Sequence[Space],
        roller: Roller,
        promise: Promise,
        metric: Metric,
        limit: int,
        watch: Watch,
        up: bool,
        techniques: Techniques,
    ) -> None:
        self.rows, self.spaces, self.roller = census.rows, spaces, roller
        self.promise, self.metric, self.limit, self.watch = promise, metric, limit, watch
        self.up, self.use = up, techniques
        self.best: RankedAnswer | None = None
        self.open_bound = inf
        self.bound = -inf
        self.met = 0
        self.queue: list[_Entry] = []
        self.numbers = count()
        self.base, self.near, self.far = roller.room(), roller.room(), roller.room()

    def look_at(self, starts: Iterable[Node]) -> None:
        """Judge some nodes, and keep the best."""
        for node in starts:
            self._consider(node, self.roller.roll(self.roller.finest, self._fields(node), self.near))

    def begin(self) -> None:
        """Put the root into the queue."""
        if self.use.seeding:
            self._seed()
        root = tuple(space.finest if self.up else space.coarsest for space in self.spaces)
        applicators = tuple(range(len(root)))
        bound = -inf
        if self.use.looking_ahead:
            bound = self._judge(root, self.roller.roll(self.roller.finest, self._fields(root), self.near), 0.0)
        self._push(root, applicators, bound, judged=self.use.looking_ahead)

    def run(self, most: float = inf) -> None:
        """Search until nothing is left that could be better, the time is up, or so many nodes were expanded."""
        while self.queue and most > 0:
            most -= 1
            entry = heapq.heappop(self.queue)
            self.bound = entry.bound  # of the node under way
            if not self._done(entry):
                heapq.heappush(self.queue, entry)  # it stays open
                self.open_bound = min(other.bound for other in self.queue)
                return

    def _push(self, node: Node, applicators: tuple[int, ...], bound: float, *, judged: bool) -> None:
        place = (bound if self.use.best_first else 0.0, next(self.numbers))
        heapq.heappush(self.queue, _Entry(place, bound, node, applicators, judged))

    def _done(self, entry: _Entry) -> bool:
        """Do what a node takes; return False if there was no time for it."""
        if self.watch.expired():
            return False
        return (self.use.comparing_again and self._hopeless(entry.bound)) or self._expand(entry)

    def _expand(self, entry: _Entry) -> bool:
        """Judge a node if that is still to be done, find its other end, and meet its children.

        Return False, with none of them in the queue, if the time was up before all were met.
        """
        node, applicators = entry.node, self._open_applicators(entry)
        fine, coarse = self._ends(node, applicators)
        base = self.roller.roll(self.roller.finest, self._fields(fine), self.base)
        if not entry.judged:
            near = base if self.up else self.roller.roll(base, self._fields(node), self.near)
            if self._hopeless(self._judge(node, near, 0.0)):
                return True
        floor = self.metric.floor(fine, base)
        far = self.roller.roll(base, self._fields(coarse), self.far)
        gain = self._doomed_gain(coarse, far)
        bound = max(entry.bound, floor + gain)
        if self._hopeless(bound):
            return True
        if self.use.looking_ahead:
            return self._meet_children(node, applicators, base, floor, gain)
        order, expanded = self._in_order(node, applicators)
        met: list[tuple[Node, tuple[int, ...]]] = []
        for place, attribute in enumerate(expanded):
            for child in self._children(node, attribute):
                if self.watch.expired():
                    return False
                met.append((child, order[place:]))
        for child, left in met:
            self._push(child, left, bound, judged=False)
        return True

    def _meet_children(
        self, node: Node, applicators: tuple[int, ...], base: Classes, floor: float, gain: float
    ) -> bool:
        """Judge the children of a node, and put those into the queue that may lead to something better.

        Return False, with none of them in the queue, if the time was up before all were judged.

        The bound of a child takes its own end from the child and the other from the node, whose range is wider. If no
        child by an applicator can beat the best, neither can any node below that changes the attribute: it lies above
        (below, on the way down) one of those children, and the bound of a child holds for all that.
        """
        found: dict[int, list[tuple[Node, float]]] = {}
        change: dict[int, float] = {}
        for attribute in applicators:
            survivors, classes, children = [], 0, 0
            for child in self._children(node, attribute):
                if self.watch.expired():
                    return False
                fields = self.roller.fields([(attribute, child[attribute])]) if self.up else self._fields(child)
                table = self.roller.roll(base, fields, self.near)
                bound = self._judge(child, table, gain if self.up else floor)
                classes, children = classes + table.size, children + 1
                if not self._hopeless(bound):
                    survivors.append((child, bound))
            if survivors or not self.use.useless:
                found[attribute] = survivors
                change[attribute] = classes / max(children, 1)
        order = list(found)
        if self.use.rearranging:
            # The most classes left bottom-up, the fewest made top-down: the smallest step comes first, so that the
            # attribute with the fewest other applicators behind it is the one that changes most.
            order.sort(key=lambda attribute: -change[attribute] if self.up else change[attribute])
        applicators, expanded = self._in_order(node, order)
        for place, attribute in enumerate(expanded):
            for child, bound in found[attribute]:
                if not self._hopeless(bound):
                    self._push(child, applicators[place:], bound, judged=True)
        return True

    def _in_order(self, node: Node, applicators: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the applicators in order, and those of them that children are made by: one alone, if it is useful."""
        must = self._useful(node, applicators) if self.up and self.use.useful and self.limit == 0 else None
        if must is None:
            return tuple(applicators), tuple(applicators)
        return (must, *(attribute for attribute in applicators if attribute != must)), (must,)

    def _useful(self, node: Node, applicators: Sequence[int]) -> int | None:
        """Return an attribute that has to be changed below a node, if there is one that is known to be so.

        If all others at their coarsest leave a class that fails, so does everything finer: what keeps the promise
        without suppression changes this attribute. All models are monotone where nothing is suppressed.
        """
        for attribute in applicators:
            others = tuple(other for other in applicators if other != attribute)
            coarse = self._ends(node, others)[1]
            if self.promise.judge(self.roller.roll(self.base, self._fields(coarse), self.far)):
                return attribute
        return None

    def _judge(self, node: Node, classes: Classes, other: float) -> float:
        """Evaluate a node, keep it if it is the best so far, and return the bound of all below it.

        `other` is what the other end contributes: its gain bottom-up, its floor top-down.
        """
        self.met += 1
        self.watch.tick(self.best.cost if self.best else None)
        bound = other + (self.metric.floor(node, classes) if self.up else self._doomed_gain(node, classes))
        if not self._hopeless(bound):
            self._consider(node, classes)
        return bound

    def _consider(self, node: Node, classes: Classes) -> None:
        suppressed = self.promise.judge(classes)
        if suppressed > self.limit or suppressed == self.rows or not self.promise.rest_holds(classes):
            return
        cost = self.metric.cost(node, classes)
        best = self.best
        if best is not None:
            if cost - best.cost > SAME * abs(best.cost):
                return
            if best.cost - cost <= SAME * abs(best.cost):
                mine, theirs = (suppressed, self._shifts(node)), (best.suppressed, best.shifts)
                if mine >= theirs:
                    return
        self.best = RankedAnswer(node, cost, suppressed, self._shifts(node))

    def _shifts(self, node: Node) -> tuple[tuple[int, ...], ...]:
        blocks = [space[position].blocks.tolist() for space, position in zip(self.spaces, node, strict=True)]
        return tuple(tuple(leaf - block for leaf, block in enumerate(part)) for part in blocks)

    def _doomed_gain(self, node: Node, classes: Classes) -> float:
        """Return what the rows cost more that every recoding at least as fine as this suppresses; infinite if too many.

        Without suppression every model is monotone as a whole: if a class fails here, so does one of every finer node.
        """
        gone = self.promise.judge(classes) if self.limit == 0 else self.promise.mark_hopeless(classes)
        if gone <= self.limit and self.limit and self.promise.partly:
            gone = self.promise.raise_gone(classes)
        if gone > self.limit or gone == self.rows:
            return inf
        return self.metric.gain(node, classes) if gone else 0.0

    def _hopeless(self, bound: float) -> bool:
        """Whether nothing with this lower bound can beat the best, not even by a tie."""
        if not self.use.pruning:
            return False
        return bound == inf or (self.best is not None and bound > self.best.cost + SLACK * abs(self.best.cost))

    def _open_applicators(self, entry: _Entry) -> tuple[int, ...]:
        """Return the applicators of a node that can still change anything."""
        return tuple(a for a in entry.applicators if any(True for _ in self._children(entry.node, a)))

    def _children(self, node: Node, attribute: int) -> Iterator[Node]:
        for position in self.spaces[attribute].meet_children(node[attribute], up=self.up):
            yield (*node[:attribute], position, *node[attribute + 1 :])

    def _ends(self, node: Node, applicators: Sequence[int]) -> tuple[Node, Node]:
        """Return the finest and the coarsest of a node and all that its applicators can make of it."""
        far = list(node)
        for attribute in applicators:
            far[attribute] = self.spaces[attribute].end(node[attribute], up=self.up)
        return (node, tuple(far)) if self.up else (tuple(far), node)

    def _fields(self, node: Node) -> Longs:
        return self.roller.fields(list(enumerate(node)))

    def _seed(self) -> None:
        """Look at some random nodes first: what is good already need not be found again.

        Each attribute walks a random number of random steps. The draw is always the same, so that answers repeat.
        """
        draw = Random(2008)
        for _ in range(SEEDS):
            node = []
            for space in self.spaces:
                position = space.finest
                while draw.random() < 0.8:
                    children = []
                    for child in space.meet_children(position, up=True):
                        if self.watch.halted or self.watch.spent(1):  # eighty values have thousands of children
                            return
                        children.append(child)
                    if not children:
                        break
                    position = draw.choice(children)
                node.append(position)
            classes = self.roller.roll(self.roller.finest, self._fields(tuple(node)), self.near)
            self.watch.tick(self.best.cost if self.best else None)
            self._consider(tuple(node), classes)
