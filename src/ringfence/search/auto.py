"""The search behind `search = "auto"`: a good answer at once, then better ones, and the proof.

*First answers.* Given the partitions of all other attributes, the best one of an attribute is found exactly by its
program. Attributes are improved in turn until none can be; then a few values are moved at random, and all over again.

*Proof.* One attribute is eliminated by its program; the others are decided step by step. A node of the search gives
each of them a box, and is bounded as `Bounder` says. The node with the smallest bound comes first. The next decisions
of the attributes whose probes gained most are probed, and the one taken whose parts are bounded highest. What a probe
rules out stays ruled out below.

The idea of eliminating an attribute and of bounds from both ends goes beyond Li and Li 2008 and Bayardo and Agrawal
2005, whose searches are in `optimal`.
"""

import heapq
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from math import inf, prod
from random import Random
from typing import Any

from ringfence.census import Census
from ringfence.classes import Roller
from ringfence.errors import Unsatisfiable
from ringfence.metrics import Metric
from ringfence.partitions import Partitions, renumbered
from ringfence.search.bounding import Bounder, Contexts, Terms
from ringfence.search.boxes import Box, Boxes, Part
from ringfence.search.lattice import SAME, SLACK, impossible
from ringfence.search.programs import MOST_BLOCKS, blocks_of
from ringfence.search.progress import MOST_COUNTED, SearchResult, Watch
from ringfence.spaces import Levels, Space

Node = tuple[int, ...]
Option = tuple[int, tuple[int, ...]]
"""An attribute, by its place among those that are decided, and what would be decided of it."""

CHEAP_SETS, CHEAP_RUNS = 1 << 11, 1 << 14
"""A program that bounds every node should not have more blocks than this. Sets double with every value; runs do not,
and what is left to decide step by step when their attribute is not eliminated is far more."""

ROUNDS = 24
"""How often the first answer is shaken up and improved again."""

SELDOM = 8
"""Every how many rounds large programs take part, too."""

MOST_OPEN = 1 << 20
"""With more open nodes than this, the search dives."""

TRIALS, PROBED = 8, 3
"""An attribute is probed so many times before what it gained is trusted; then the so many that gained most are."""

WORTH_A_THREAD = 200_000
"""Probes with fewer steps of work are done one after the other."""


@dataclass(order=True)
class _Open:
    """A node in the queue; `place` decides which comes first."""

    place: tuple[int, float, int]
    bound: float = field(compare=False)
    boxes: tuple[Box, ...] = field(compare=False)
    dead: frozenset[Option] = field(compare=False)


@dataclass(frozen=True)
class Answer:
    """A feasible node, its cost, and the rows that it suppresses."""

    node: Node
    cost: float
    suppressed: int


class _Gains:
    """What probing the decisions of each attribute has gained so far, on average."""

    def __init__(self, attributes: int) -> None:
        self._sums, self._trials = [0.0] * attributes, [0] * attributes

    def promising(self, decisions: list[tuple[int, list[Part]]]) -> list[tuple[int, list[Part]]]:
        """Return the decisions that are worth a probe, the best first; attributes that are little known before all."""
        new = [each for each in decisions if self._trials[each[0]] < TRIALS]
        tried = [each for each in decisions if self._trials[each[0]] >= TRIALS]
        tried.sort(key=lambda each: -self._sums[each[0]] / self._trials[each[0]])
        return new + tried[:PROBED]

    def add(self, place: int, gain: float) -> None:
        """Note what a probe gained."""
        self._sums[place] += gain
        self._trials[place] += 1


class AutoSearch:
    """One search: the programs of all attributes, the best so far, the bound of what was left open."""

    def __init__(
        self,
        census: Census,
        spaces: Sequence[Space],
        roller: Roller,
        metric: Metric,
        terms: Terms,
        watch: Watch,
        start: Sequence[Any] = (),
    ) -> None:
        self.start = list(start)
        self.census, self.spaces, self.roller, self.metric, self.terms, self.watch = (
            census, spaces, roller, metric, terms, watch,
        )  # fmt: skip
        self.eliminated = _eliminated(spaces, [blocks_of(space) for space in spaces])
        self.bounders = [Bounder(census, spaces, a, terms) for a in range(len(spaces))]
        self.boxes = [Boxes(space) for space in spaces]
        self.best: Answer | None = None
        self.bound = -inf
        self.room = roller.room()
        self.numbers = count()
        self.draw = Random(2008)
        self.gains = _Gains(len(spaces))

    def run(self) -> tuple[Node, SearchResult]:
        """Search until the best is proven, the time is up, or the user has had enough."""
        proven = False
        try:
            self._first_answers()
            proven = self._prove()
        except KeyboardInterrupt:
            if self.best is None:
                raise
        if self.best is None:
            if not proven:
                raise Unsatisfiable(f"no release was found within method.time_limit = {self.watch.time_limit} seconds")
            coarsest = [space.coarsest for space in self.spaces]
            raise Unsatisfiable(impossible(self.census, self.roller, coarsest, self.terms.promise, self.terms.limit))
        self._refine()
        total = prod(space.walk.count for space in self.spaces)
        return self.best.node, SearchResult(
            cost=self.best.cost,
            optimal=proven,
            bound=self.best.cost if proven else min(self.best.cost, max(self.bound, 0.0)),
            nodes=self.watch.nodes,
            pruned=min(MOST_COUNTED, max(0, total - self.watch.nodes)),
            seconds=self.watch.seconds,
        )

    # First answers

    def first_answer(self) -> Answer | None:
        """Return a good answer, if any was found, and prove nothing."""
        self._first_answers()
        return self.best

    def _first_answers(self) -> None:
        """Improve some starts, that which was given first, then shake the best one up."""
        if self.start:
            self._consider(self.start)
            self._improve(list(self.start))
        for start in ([space.coarsest for space in self.spaces], [space.finest for space in self.spaces]):
            self._improve([space.state(position) for space, position in zip(self.spaces, start, strict=True)])
        for number in range(ROUNDS):
            if self.watch.expired():
                return
            best = self.best.node if self.best else [space.coarsest for space in self.spaces]
            states = [space.state(position) for space, position in zip(self.spaces, best, strict=True)]
            for a in self.draw.sample(range(len(states)), min(2, len(states))):
                states[a] = self._shaken(a)
            self._improve(states, thorough=number % SELDOM == SELDOM - 1)

    def _shaken(self, attribute: int) -> Any:
        """Return a random partition of an attribute: some random steps upwards from the finest."""
        space = self.spaces[attribute]
        position = space.finest
        for _ in range(self.draw.randint(0, max(1, space.quasi.occurring))):
            higher = space.children(position, up=True)
            if not higher:
                break
            position = self.draw.choice(higher)
        return space.state(position)

    def _improve(self, states: list[Any], *, thorough: bool = True) -> None:
        """Replace the partition of one attribute after the other by the best one, until nothing gets better.

        Attributes with large programs are left out unless it is to be thorough.
        """
        reached, tried = inf, 0
        sizes = [len(bounder.program.members) for bounder in self.bounders]
        order = [a for a, size in enumerate(sizes) if thorough or _cheap(self.spaces[a], size)]
        while tried < len(order) and not self.watch.expired():
            a = order[0]
            order = [*order[1:], a]
            bounder = self.bounders[a]
            boxes = [self.boxes[other].exactly(states[other]) for other in bounder.others]
            cost, state = bounder.bound(boxes, bounder.narrowed(boxes))
            self.watch.tick(self.best.cost if self.best else None)
            tried += 1
            if state is not None and cost < reached - SLACK * abs(reached if reached < inf else 1.0):
                reached, tried = cost, 1
                states[a] = state
        if reached < inf:
            self._move_values(states, reached)
            self._consider(states)

    def _move_values(self, states: list[Any], reached: float) -> None:
        """Move single values of sets that are too large for an exact program to other blocks, while that is cheaper."""
        bounder = self.bounders[self.eliminated]
        for a, space in enumerate(self.spaces):
            if self.bounders[a].program.exact or isinstance(space.walk, Levels) or len(space.walk.branches) > 1:
                continue
            for value in range(len(states[a][0])):
                for block in range(max(states[a][0]) + 2):
                    if self.watch.expired() or block == states[a][0][value]:
                        continue
                    moved = renumbered([*states[a][0][:value], block, *states[a][0][value + 1 :]])
                    boxes = [
                        self.boxes[other].exactly((moved,) if other == a else states[other]) for other in bounder.others
                    ]
                    cost, state = bounder.bound(boxes, bounder.narrowed(boxes))
                    self.watch.tick(self.best.cost if self.best else None)
                    if state is not None and cost < reached * (1 - SLACK):
                        reached = cost
                        states[a], states[self.eliminated] = (moved,), state

    def _consider(self, states: Sequence[Any]) -> bool:
        """Judge a node exactly, and keep it if it is the best; return whether it is feasible."""
        node = tuple(space.position(state) for space, state in zip(self.spaces, states, strict=True))
        classes = self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(node))), self.room)
        suppressed = self.terms.promise.judge(classes)
        if suppressed > self.terms.limit or suppressed == self.census.rows:
            return False
        found = Answer(node, self.metric.cost(node, classes), suppressed)
        if self.best is None or (found.cost, found.suppressed) < (self.best.cost, self.best.suppressed):
            self.best = found
        return True

    def _refine(self) -> None:
        """Split what can be split at no cost: of equals, programs take the partition that merges less."""
        for a in range(len(self.bounders)):
            assert self.best is not None, "there is something to refine"
            bounder, before = self.bounders[a], self.best
            states = [space.state(position) for space, position in zip(self.spaces, before.node, strict=True)]
            boxes = [self.boxes[other].exactly(states[other]) for other in bounder.others]
            states[a] = bounder.bound(boxes, bounder.narrowed(boxes))[1]
            self.best = None
            if states[a] is None or not self._consider(states) or not self._finer(before):
                self.best = before

    def _finer(self, other: Answer) -> bool:
        """Whether the best is as good as another answer, and merges less."""
        assert self.best is not None, "it was just found"
        if self.best.cost > other.cost * (1 + SAME) or self.best.suppressed > other.suppressed:
            return False
        blocks = [
            sum(len({*space[position].blocks.tolist()}) for space, position in zip(self.spaces, node, strict=True))
            for node in (self.best.node, other.node)
        ]
        return blocks[0] > blocks[1]

    # Proof

    def _prove(self) -> bool:
        """Decide the other attributes step by step; return whether nothing was left open."""
        bounder = self.bounders[self.eliminated]
        others = bounder.others
        queue: list[_Open] = []
        root = tuple(self.boxes[a].root for a in others)
        bound, state = bounder.bound(root, bounder.narrowed(root))
        if bound == inf or all(box.complete for box in root):
            if state is not None:
                self._close(root, state)
            return True
        self._push(queue, bound, root, frozenset())
        with ThreadPoolExecutor(2) as threads:
            while queue:
                node = heapq.heappop(queue)
                if node.place[0] == 1:  # the smallest bound of all; while it dives, the last such one still holds
                    self.bound = node.bound
                if self.watch.expired():
                    return False
                if self._hopeless(node.bound):
                    continue
                for bound, boxes, dead in self._branch(bounder, node, threads):
                    self._push(queue, bound, boxes, dead)
        return True

    def _push(self, queue: list[_Open], bound: float, boxes: tuple[Box, ...], dead: frozenset[Option]) -> None:
        decided = sum(len(box.choices) for box in boxes)
        place = (0, -decided, 0) if len(queue) > MOST_OPEN else (1, bound, decided)
        heapq.heappush(queue, _Open((place[0], place[1], next(self.numbers)), bound, boxes, dead))

    def _branch(
        self, bounder: Bounder, node: _Open, threads: ThreadPoolExecutor
    ) -> Iterator[tuple[float, tuple[Box, ...], frozenset[Option]]]:
        """Probe the next decisions of attributes that gain much, and yield the parts of the one bounded highest."""
        settled = self._settled(bounder, node)
        if settled is None:
            return
        contexts, dead = bounder.narrowed(settled), set(node.dead)
        best: tuple[tuple[float, float], list[tuple[float, tuple[Box, ...]]]] | None = None
        for place, decision in self.gains.promising(list(self._decisions(bounder, settled))):
            if self.watch.expired():
                yield node.bound, node.boxes, node.dead
                return
            parts = [part for part in decision if (place, part.option) not in dead]
            probes = [(*settled[:place], part.box, *settled[place + 1 :]) for part in parts]
            found, alive = [], []
            for part, boxes, (bound, state) in zip(
                parts, probes, self._bounds(bounder, probes, contexts, threads), strict=True
            ):
                self.watch.tick(self.best.cost if self.best else None, self.bound)
                found.append(max(bound, node.bound))
                if not self._hopeless(found[-1]) and all(box.complete for box in boxes):
                    self._close(boxes, state)
                    found[-1] = inf
                if self._hopeless(found[-1]):
                    dead.add((place, part.option))
                else:
                    alive.append((found[-1], boxes))
            most = self.best.cost if self.best else max([node.bound, *(bound for bound in found if bound < inf)])
            mean = sum(min(bound, most) for bound in found) / max(1, len(found))
            self.gains.add(place, min([most, *found]) + mean / 5 - 6 / 5 * node.bound)
            if len(alive) <= 1:
                best = ((inf, inf), alive)
                break
            score = (min(bound for bound, _ in alive), mean)
            if best is None or score > best[0]:
                best = (score, alive)
        for bound, boxes in best[1] if best else []:
            yield bound, boxes, frozenset(dead)

    def _decisions(self, bounder: Bounder, boxes: Sequence[Box]) -> Iterator[tuple[int, list[Part]]]:
        for place, a in enumerate(bounder.others):
            if not boxes[place].complete:
                for decision in self.boxes[a].decisions(boxes[place]):
                    yield place, decision

    def _settled(self, bounder: Bounder, node: _Open) -> tuple[Box, ...] | None:
        """Take the decisions of which all parts but one are ruled out; None if there is one without any part left."""
        boxes, changed = node.boxes, True
        while changed:
            changed = False
            for place, decision in self._decisions(bounder, boxes):
                left = [part for part in decision if (place, part.option) not in node.dead]
                if not left:
                    return None
                if len(left) == 1:
                    boxes = (*boxes[:place], left[0].box, *boxes[place + 1 :])
                    changed = True
                    break
        if all(box.complete for box in boxes):
            bound, state = bounder.bound(boxes, bounder.narrowed(boxes))
            if not self._hopeless(bound):
                self._close(boxes, state)
            return None
        return boxes

    def _bounds(
        self,
        bounder: Bounder,
        probes: Sequence[tuple[Box, ...]],
        contexts: Contexts,
        threads: ThreadPoolExecutor,
    ) -> Iterator[tuple[float, Any]]:
        """Bound some nodes, side by side if there is much to do; in the same order whatever the threads do."""
        if len(contexts.codes) * len(bounder.program.steps) < WORTH_A_THREAD:
            return iter([bounder.bound(boxes, contexts) for boxes in probes])
        return threads.map(lambda boxes: bounder.bound(boxes, contexts), probes)

    def _close(self, boxes: Sequence[Box], state: Any) -> None:
        """Take the best recoding of a node in which all but the eliminated attribute are decided.

        Its program does not know how much may be suppressed. Where its answer suppresses more, the attribute is
        searched through from the finest recoding up.
        """
        states = [box.state for box in boxes]
        states.insert(self.eliminated, state)
        if not self._consider(states):
            space = self.spaces[self.eliminated]
            todo = [space.finest]
            while todo:
                position = todo.pop()
                states[self.eliminated] = space.state(position)
                if self._promising(states):
                    self._consider(states)
                    todo += space.children(position, up=True)

    def _promising(self, states: Sequence[Any]) -> bool:
        """Whether a node, or one above it, may be cheaper than the best."""
        self.watch.tick(self.best.cost if self.best else None, self.bound)
        node = tuple(space.position(state) for space, state in zip(self.spaces, states, strict=True))
        classes = self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(node))), self.room)
        return not self._hopeless(self.metric.floor(node, classes))

    def _hopeless(self, bound: float) -> bool:
        """Whether nothing with this lower bound is cheaper than the best."""
        return bound == inf or (self.best is not None and bound >= self.best.cost * (1 - SLACK))


def has_program(spaces: Sequence[Space]) -> bool:
    """Whether some attribute has an exact program, without which none can be eliminated."""
    return min(blocks_of(space) for space in spaces) <= MOST_BLOCKS


def _cheap(space: Space, size: int) -> bool:
    """Whether a program of so many blocks can be afforded for every node."""
    return size <= (CHEAP_SETS if space.widest else CHEAP_RUNS)


def _eliminated(spaces: Sequence[Space], sizes: Sequence[int]) -> int:
    """Return the attribute to eliminate: the one with the most values whose program is cheap, else the cheapest."""
    cheap = [a for a, size in enumerate(sizes) if _cheap(spaces[a], size)]
    if not cheap:
        return min(range(len(sizes)), key=lambda a: (sizes[a], a))
    return max(cheap, key=lambda a: (spaces[a].quasi.occurring, isinstance(spaces[a].walk, Partitions), -a))
