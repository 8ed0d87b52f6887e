"""The proof: attributes are decided step by step, and what cannot be better than the best answer is left out.

A node of the search gives each attribute that is not eliminated a box, and is bounded by a *relaxation*, with one
attribute eliminated (`Alone`) or two (`eliminate_two.TwoEliminated`). The node with the smallest bound comes first;
that bound holds for all that is left. The next decisions of the attributes whose probes gained most are probed, and the
one taken by which the search grows least. What a probe rules out stays ruled out below. When all boxes are complete and
the eliminated attributes still disagree, one of their joints is decided. Now and then, a better answer is looked for.
"""

import heapq
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count, repeat
from math import exp, inf, log
from typing import Any, Protocol

from ringfence.search.progress import Watch
from ringfence.search.recode.answers import Answers
from ringfence.search.recode.boxes import Box, BoxPart
from ringfence.search.recode.contexts import Contexts
from ringfence.search.recode.eliminate_one import OneEliminated
from ringfence.search.recode.eliminate_two import LowerBound

Option = tuple[int, tuple[int, ...]]
"""An attribute, by its place among those that are decided, and what would be decided of it."""

MOST_OPEN = 1 << 16
"""With more open nodes than this, the search dives: a node takes up to 50 KB (`eliminate_two.Lead` of two large
sets)."""

LEAST_GAIN, BEYOND = 1e-5, 0.5
"""A part gains at least so much of what is missing, or else nothing could be said; what it gains beyond the least of
the parts counts so much, as it would often be ruled out later at no cost."""

TRIALS, PROBED = 8, 3
"""An attribute is probed so many times before what it gained is trusted; then the so many that gained most are."""

SIDE_BY_SIDE, WORTH_A_THREAD = 4, 200_000
"""So many nodes are looked at together, by two threads if a bound takes so many steps of work."""


FAR, LEAST_KICK = 4, 1e-4
"""Under a time limit, a proof that is far off shares the time with answers: as long as it takes, times this power of
the share that is open. A kick counts as so many seconds at least."""

UNKNOWN, INSTEAD = 0.99, 4.0
"""While more than this share is open, nothing is known, and most of the time goes to answers: so many times as much."""


class Relaxation(Protocol):
    """What bounds nodes. `others` are decided step by step; `last` is searched through if all else fails.

    Better answers are looked for beside the proof, ever less often: a node more apart after each kick without any, up
    to `apart` nodes.
    """

    others: list[int]
    last: int
    start: Any
    apart: int

    def narrowed(self, boxes: Sequence[Box]) -> Contexts:
        """Return contexts that serve all boxes inside these."""

    def bound(
        self, boxes: Sequence[Box], contexts: Contexts, lead: Any, target: float, thorough: bool, /
    ) -> LowerBound:
        """Return what all recodings in some boxes cost at least; `lead` is that of the node above."""

    def work(self) -> int:
        """Return about how many steps a bound takes at most."""

    def split(self, bound: LowerBound, /) -> list[Any]:
        """Return leads that divide what the eliminated attributes have left to decide, if they have."""


class Alone:
    """One attribute eliminated by itself."""

    def __init__(self, bounder: OneEliminated) -> None:
        self._bounder, self.others, self.last = bounder, bounder.others, bounder.attribute
        self.start, self.narrowed, self.apart = None, bounder.narrowed, bounder.apart

    def bound(
        self, boxes: Sequence[Box], contexts: Contexts, _lead: None, _target: float, _thorough: bool, /
    ) -> LowerBound:
        """Return what all recodings in some boxes cost at least."""
        cost, state = self._bounder.bound(boxes, contexts)
        return LowerBound(cost, None if state is None else {self.last: state}, None)

    def work(self) -> int:
        """Return about how many steps a bound takes at most."""
        return len(self._bounder.finest.codes) * len(self._bounder.program.steps)

    def split(self, _bound: LowerBound, /) -> list[None]:
        """Return nothing: a program leaves nothing to decide."""
        return []


@dataclass(order=True)
class _Open:
    """A node in the queue; `place` decides which comes first."""

    place: tuple[int, float, int]
    bound: float = field(compare=False)
    boxes: tuple[Box, ...] = field(compare=False)
    dead: frozenset[Option] = field(compare=False)
    lead: Any = field(compare=False)


@dataclass(eq=False)
class _Look:
    """What a look at a node found: its parts, if there is anything left of it, or what is to be closed.

    `bounds` is how many nodes were bounded, and `gains` what attributes gained when they were probed.
    """

    bounds: int = 0
    parts: list[tuple[float, tuple[Box, ...], Any]] = field(default_factory=list)
    dead: set[Option] = field(default_factory=set)
    gains: list[tuple[int, float]] = field(default_factory=list)
    closing: tuple[tuple[Box, ...], LowerBound, float] | None = None


class _Gains:
    """What probing the decisions of each attribute has gained so far, on average."""

    def __init__(self, attributes: int) -> None:
        self._sums, self._trials = [0.0] * attributes, [0] * attributes

    def promising(self, decisions: list[tuple[int, list[BoxPart]]]) -> list[tuple[int, list[BoxPart]]]:
        """Return the decisions that are worth a probe, the best first; attributes that are little known before all."""
        new = [each for each in decisions if self._trials[each[0]] < TRIALS]
        tried = [each for each in decisions if self._trials[each[0]] >= TRIALS]
        tried.sort(key=lambda each: -self._sums[each[0]] / self._trials[each[0]])
        return new + tried[:PROBED]

    def add(self, place: int, gain: float) -> None:
        """Note what a probe gained."""
        self._sums[place] += gain
        self._trials[place] += 1


def growth(costs: Sequence[float], least: float, target: float) -> float:
    """Return how much a search grows whose nodes are all divided as one is, into parts of such costs; less is better.

    If parts gain g1, g2, ... of what is missing from the least to the target, a search has e^x ends, where the sum of
    all e^(-x g) is 1. So few parts are better than many that gain as much. Le Bodic and Nemhauser, "An abstract model
    for branching and its application to mixed integer programming", Mathematical Programming 166, 2017.
    """
    missing = (target if target < inf else max(costs)) - least
    if missing <= 0:
        return inf
    gains = [max((cost - least) / missing, LEAST_GAIN) for cost in costs]
    gains = [min(gains) + BEYOND * (gain - min(gains)) for gain in gains]
    low, high = 0.0, log(len(gains)) / min(gains)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(exp(-middle * gain) for gain in gains) > 1 else (low, middle)
    return high


class Proof:
    """The queue of open nodes, and the bound of all that was left open."""

    def __init__(self, relaxation: Relaxation, answers: Answers, watch: Watch) -> None:
        self.relaxation, self.answers, self.watch = relaxation, answers, watch
        self.bound = -inf
        self._queue: list[_Open] = []
        self._numbers, self._wait, self._owed = count(), relaxation.apart, 0.0
        self._gains = _Gains(len(relaxation.others))

    def run(self, most: float = inf) -> bool:
        """Decide step by step, at most about so many nodes; return whether nothing was left open.

        Several nodes are looked at together, and what was found is taken in their order: it does not depend on threads.
        """
        if self.bound == -inf:
            self._begin()
        with ThreadPoolExecutor(2) as threads:
            each = threads.map if self.relaxation.work() >= WORTH_A_THREAD else map
            while self._queue:
                if most <= 0 or self.watch.expired():
                    return False
                begun = self.watch.seconds
                nodes = [heapq.heappop(self._queue) for _ in range(min(SIDE_BY_SIDE, len(self._queue)))]
                looks = list(each(self._look, nodes, repeat(self.answers.target)))
                late = False
                for node, look in zip(nodes, looks, strict=True):
                    if look is None or not self._take(look):
                        heapq.heappush(self._queue, node)  # it stays open, or a later run would take it for done
                        late = True
                if late:
                    return False
                if self._queue and self._queue[0].place[0] == 1:  # while it dives, the last smallest bound still holds
                    self._raise(self._queue[0].bound)
                most -= len(nodes)
                self._wait -= len(nodes)
                looked = self.watch.seconds - begun
                if self._wait <= 0:
                    self.answers.kick(each)
                    self._wait = min(self.relaxation.apart, 1 + self.answers.idle)
                if self.watch.time_limit is not None:
                    share = self._open()
                    self._kick_for(looked * (INSTEAD if share > UNKNOWN else share**FAR), each)
        return True

    def _open(self) -> float:
        """Return how much cheaper, as a share of the best answer, a better one could still be."""
        target = self.answers.target
        return 1.0 if not 0 < target < inf else 1 - max(0.0, self.bound) / target

    def _kick_for(self, seconds: float, each: Any) -> None:
        """Look for better answers for so long, and as long as it took too long before."""
        self._owed += seconds
        while self._owed > 0 and not (self.answers.proven or self.watch.expired()):
            begun = self.watch.seconds
            self.answers.kick(each)
            self._owed -= max(self.watch.seconds - begun, LEAST_KICK)

    def _begin(self) -> None:
        root = tuple(self.answers.boxes[a].root for a in self.relaxation.others)
        start, target = self.relaxation.start, self.answers.target
        self._raise(self.relaxation.bound(root, self.relaxation.narrowed(root), start, target, False).cost)
        self._push(self.bound, root, frozenset(), start)

    def _raise(self, bound: float) -> None:
        """Raise the bound: whatever is not open costs no less than the best answer."""
        self.bound = max(self.bound, bound)
        self.answers.floor = max(self.answers.floor, min(self.bound, self.answers.target))

    def _push(self, bound: float, boxes: tuple[Box, ...], dead: frozenset[Option], lead: Any) -> None:
        decided = sum(len(box.choices) for box in boxes)
        place = (0, -decided) if len(self._queue) > MOST_OPEN else (1, bound)
        heapq.heappush(self._queue, _Open((*place, next(self._numbers)), bound, boxes, dead, lead))

    def _look(self, node: _Open, target: float) -> _Look | None:
        """Find the parts of a node that may be below the target; None if there was no time for it.

        It changes nothing, so that others can look at the same time.
        """
        look = _Look(dead=set(node.dead))
        boxes = self._settled(node) if node.bound < target else None
        if boxes is None:
            return look
        contexts = self.relaxation.narrowed(boxes)
        here = self.relaxation.bound(boxes, contexts, node.lead, target, True)
        look.bounds += 1
        least = max(node.bound, here.cost)
        if least >= target:
            return look
        if all(box.complete for box in boxes):
            look.closing = (boxes, here, least)
            return look
        return look if self._branch(look, least, boxes, contexts, here.lead, target) else None

    def _branch(
        self, look: _Look, least: float, boxes: tuple[Box, ...], contexts: Contexts, lead: Any, target: float
    ) -> bool:
        """Probe the next decisions of attributes that gain much, and take the one by which the search grows least.

        Return whether there was time for it.
        """
        smallest = inf
        for place, decision in self._gains.promising(list(self._decisions(boxes))):
            found, alive = [], []
            for part in decision:
                if self.watch.expired():
                    return False
                if (place, part.option) in look.dead:
                    continue
                inside = (*boxes[:place], part.box, *boxes[place + 1 :])
                bound = self.relaxation.bound(inside, contexts, lead, target, False)
                look.bounds += 1
                found.append(max(bound.cost, least))
                if found[-1] >= target:
                    look.dead.add((place, part.option))
                else:
                    alive.append((found[-1], inside, bound.lead))
            most = target if target < inf else max([least, *(cost for cost in found if cost < inf)])
            mean = sum(min(cost, most) for cost in found) / max(1, len(found))
            look.gains.append((place, min([most, *found]) + mean / 5 - 6 / 5 * least))
            if len(alive) <= 1:
                look.parts = alive
                return True
            size = growth([cost for cost, _, _ in alive], least, target)
            if not look.parts or size < smallest:
                smallest, look.parts = size, alive
        return True

    def _take(self, look: _Look) -> bool:
        """Put the parts of a node in its place; return whether there was time for it."""
        self.answers.go_on(look.bounds)
        for place, gain in look.gains:
            self._gains.add(place, gain)
        for cost, inside, lead in look.parts:
            self._push(cost, inside, frozenset(look.dead), lead)
        return look.closing is None or self._close(*look.closing)

    def _decisions(self, boxes: Sequence[Box]) -> Iterator[tuple[int, list[BoxPart]]]:
        for place, a in enumerate(self.relaxation.others):
            if not boxes[place].complete:
                for decision in self.answers.boxes[a].decisions(boxes[place]):
                    yield place, decision

    def _settled(self, node: _Open) -> tuple[Box, ...] | None:
        """Take the decisions of which all parts but one are ruled out; None if there is one without any part left."""
        boxes, changed = node.boxes, True
        while changed:
            changed = False
            for place, decision in self._decisions(boxes):
                left = [part for part in decision if (place, part.option) not in node.dead]
                if not left:
                    return None
                if len(left) == 1:
                    boxes = (*boxes[:place], left[0].box, *boxes[place + 1 :])
                    changed = True
                    break
        return boxes

    def _close(self, boxes: tuple[Box, ...], here: LowerBound, least: float) -> bool:
        """Take the best recoding of a node in which all but the eliminated attributes are decided, if they agree on it.

        Bounds do not know how much may be suppressed. Where the best recoding suppresses more, the eliminated
        attributes are decided further, and the last one of them is searched through. Return whether there was time.
        """
        states: list[Any] = [None] * len(self.answers.spaces)
        for a, box in zip(self.relaxation.others, boxes, strict=True):
            states[a] = box.state
        for a, state in (here.states or {}).items():
            states[a] = state
        if here.states and self.answers.consider(states):
            return True
        parts = self.relaxation.split(here)
        for lead in parts:
            self._push(least, boxes, frozenset(), lead)
        return bool(parts) or self.answers.search_through(states, self.relaxation.last)
