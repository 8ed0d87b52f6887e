"""Good recodings under any loss and any promise, found fast: walks that settle, are kicked, and settle again.

A walk settles (`walker`) from the coarsest recoding, from the finest and from those that are given. From the best of
these it goes on: one attribute is changed, or two; the others adapt to that; then all settle, at a price near the one
before. What is no worse is gone on from, now and then what is a little worse; a walk that is stuck goes on from
elsewhere: from where two good places are mixed, or where half of the best is changed. Two walks go side by side, in
two threads, and are compared after some kicks: that does not depend on threads.
(Lourenço, Martin and Stützle, "Iterated local search", in Handbook of Metaheuristics, 2003.)

What walks find is judged exactly before it is an answer. Where that refuses it, by t-closeness among what is left,
walks go on with a stricter t.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from math import inf
from typing import Any, NamedTuple

from ringfence.search.progress import Watch
from ringfence.search.recode.answers import Answer, Answers, Later, Node, nothing_later
from ringfence.search.recode.kicks import kicked
from ringfence.search.recode.question import Question
from ringfence.search.recode.walker import SAME, Remembered, Spot, Walker, state_of
from ringfence.search.recode.watching import tightened

SEEDS = (2008, 2010)
"""Of the draws of the walks."""

AT_ONCE, IMPROVED = 4, 32
"""So many kicks does a walk take before both are compared; fewer where these change more than so many attributes."""

FROM_COARSEST, FROM_FINEST = 1.0, 0.25
"""The prices to settle at first, in units of what a suppressed row costs."""

CHEAPER, LOWEST, UNUSED, WORTH = 0.25, 1e-3, 0.8, 1e-3
"""Where less than such a share of the rows that may be suppressed is, a lower price is tried, down to the lowest, as
long as that gains so much."""

PRICES = (0.1, 0.25, 0.5, 1.0, 1.0, 2.0, 4.0)
"""Times the price of before, after a kick."""

LOW_PRICES = (0.03, 0.1, 0.3)
"""Times the price of before, where that is the kick."""

WITHOUT_KICK, BOTH = 0.12, 0.3
"""How often a walk only settles at a low price, and how often two attributes are kicked."""

WORSE, SELDOM = 0.02, 0.1
"""So much worse may a place be that is gone on from, and how often."""

STUCK, CROSSED = 20, 0.5
"""After so many kicks without gain, a walk goes on from elsewhere; so often from where two good places are mixed."""

REMEMBERED = 12
"""How many good places are remembered."""

FAR_BEHIND = 0.2
"""A walk that loses so much more than the other one goes on from there."""

PATIENCE = 64
"""A proof begins after so many kicks without gain at the latest; better answers are looked for beside it."""

KEEPS_UP, LEAST = 0.02, 0.2
"""Walks over simpler spaces that are worse by no more than this have their full share of the time; the share of those
that are worse falls with the square of that, to the least. None is left: one kick may bring it to the fore. So what
simpler walks find by themselves, they find here as well, in some ten times the time, however far behind they begin."""

HANDED = 0.25
"""Walks over freer spaces have such a share of the time of one over simpler spaces, while what they have is from there:
where steps are slow, they may find nothing better in any time, and the simpler ones would by themselves."""

TIGHTER = 0.97
"""What t is multiplied by where an answer was refused."""


Each = Callable[..., Iterable[Any]]
"""Applies something to each of several arguments, at the same time or not."""


@dataclass
class _Way:
    """A walker, where it goes on from, and the price there; `first` is the price it settled at first, and `known` are
    good places where it was stuck."""

    walker: Walker
    spot: Spot
    price: float
    first: float
    known: list[Remembered]
    idle: int = 0


class _Start(NamedTuple):
    """Where a walk begins, at what price, and whether it spreads from there before it settles."""

    states: list[Any]
    price: float
    spreads: bool = False


class Simpler:
    """Walks over simpler spaces, which go on beside those over others that contain them."""

    def __init__(self, walks: "Walks", fitted: Callable[[Node], list[Any]]) -> None:
        self._walks, self._fitted = walks, fitted

    @property
    def effort(self) -> float:
        """What they have taken so far."""
        return self._walks.effort

    def keeps_up(self, best: Answer | None) -> bool:
        """Whether they are as good as the best of the others."""
        own = self._walks.best
        return own is not None and (best is None or not best.cost < own.cost * (1 - SAME))

    def share(self, best: Answer | None) -> float:
        """Return what they are worth beside the best of the others, which is worth 1: less, the worse they are, once
        they have looked at all their starts."""
        own = self._walks.best
        assert own is not None, "rungs have an answer"
        if best is None or self._walks.has_starts:
            return 1.0
        behind = own.cost / best.cost - 1 if best.cost > 0 else float(own.cost > 0)
        return max(LEAST, min(1.0, (KEEPS_UP / max(behind, KEEPS_UP)) ** 2))

    def kicked(self, each: Each, best: Answer | None) -> list[Any] | None:
        """Take some steps; return the best as states of the other spaces, if it is better than the best of these."""
        self._walks.kick(each)
        found = self._walks.best
        return None if found is None or best is None or found.cost >= best.cost else self._fitted(found.node)


class Walks(Answers):
    """Answers by walks; whether they spread from the coarsest recoding, or only settle from there, is told by
    `spreads`."""

    spreads = True

    def __init__(self, asked: Question, watch: Watch) -> None:
        super().__init__(asked, watch)
        self._settled: list[tuple[Spot, float]] = []
        self._ways: list[_Way] = []
        self._later: Later = nothing_later
        self._simpler: list[Simpler] = []
        self._waiting: list[Sequence[Any]] = []
        self._seconds = 0.0
        self._at_once = max(1, min(AT_ONCE, IMPROVED // len(self.spaces)))
        self._weights = [space.quasi.occurring**0.5 for space in self.spaces]

    @cached_property
    def _walkers(self) -> list[Walker]:
        ground, walkers = self.asked.ground, list[Walker]()
        for seed in SEEDS:
            walkers.append(Walker(ground, seed, self.go_on, walkers[0] if walkers else None))
        return walkers

    def settle(self, starts: Sequence[Sequence[Any]]) -> None:
        """Settle from the coarsest, and from the best of some starts, the finest if there are none; then kick once."""
        coarsest, finest = self._both_ends()
        for states in (coarsest, finest, *starts):
            self.consider(states)
        if self.watch.expired():
            return
        first = _Start(finest, FROM_FINEST)
        if starts and self.best is not None:
            first = _Start(self._best_states(), FROM_COARSEST)
        second = _Start(coarsest, FROM_COARSEST, spreads=True)
        if not self.spreads:
            second = _Start(list(starts[0]), FROM_COARSEST)
        self._waiting = [finest, *(() if self.spreads else [coarsest])] if starts else []
        with self._timed(), ThreadPoolExecutor(len(SEEDS)) as threads:
            self._settled = self._from_each([first, second], threads.map)
            self._set_out()
            if not self.proven:
                list(threads.map(self._steps, self._ways, repeat(1)))
                self._judge_found()

    def expect(self, later: Later) -> None:
        """Take in more starts once they are there."""
        self._later = later

    def begin(self, starts: Sequence[Sequence[Any]], later: Later = nothing_later) -> None:
        """Settle, from the finest, too; then kick until that gains nothing more.

        That is said after idle kicks, four times as many with each attribute more.
        """
        self.settle(starts)
        if not self._ways:
            return
        with ThreadPoolExecutor(len(SEEDS)) as threads:
            more = later(self.watch.time_limit is None)  # or else what is found would depend on when they are there
            self._later, self._waiting = nothing_later if more else later, [*self._waiting, *more]
            self.idle, most = 0, min(4 ** max(0, len(self.spaces) - 2), PATIENCE)
            while self.idle < most and not (self.proven or self.watch.expired()):
                self.kick(threads.map)

    def _both_ends(self) -> tuple[list[Any], list[Any]]:
        """Return the states of the coarsest and of the finest recoding."""
        coarsest = [space.state(space.coarsest) for space in self.spaces]
        return coarsest, [space.state(space.finest) for space in self.spaces]

    def _set_out(self) -> None:
        """Let both walks go on from the best place so far."""
        spot, price = min(self._settled, key=lambda end: self._rank(end[0]))
        ends = [end.place for end, _ in self._settled]
        self._ways = [_Way(walker, spot, price, price, list(ends)) for walker in self._walkers]

    def _from_starts(self, starts: Sequence[Sequence[Any]], each: Each) -> list[tuple[Spot, float]]:
        """Judge some starts, and settle from them."""
        for start in starts:
            self.consider(start)
        return self._from_each([_Start(list(start), FROM_COARSEST) for start in starts], each)

    def _from_each(self, starts: list[_Start], each: Each) -> list[tuple[Spot, float]]:
        """Settle from some starts, each at a price, those with odd numbers beside the others; judge what is found."""
        halves = list(each(self._ends_of, self._walkers, [starts[::2], starts[1::2]]))
        self._judge_found()
        return [end for half in halves for end in half]

    def _ends_of(self, walker: Walker, tasks: list[_Start]) -> list[tuple[Spot, float]]:
        """Settle from some starts, each at a price; return where that ends."""
        ends = []
        for states, price, spreads in tasks:
            walker.go_to(states)
            walker.note()
            order = list(walker.attributes)
            walker.draw.shuffle(order)
            if spreads:
                walker.spread(price, order)
            walker.settle(price, order)
            ends.append((walker.spot(), walker.price))
            while walker.gone < UNUSED * walker.limit and walker.price > LOWEST and not self.watch.expired():
                walker.settle(walker.price * CHEAPER, order)
                spot = walker.spot()
                if self._rank(spot) >= (ends[-1][0].gone > walker.limit, (1 - WORTH) * ends[-1][0].loss):
                    break
                ends[-1] = (spot, walker.price)
        return ends

    def _best_states(self) -> list[Any]:
        assert self.best is not None, "there is one to go to"
        return [space.state(place) for space, place in zip(self.spaces, self.best.node, strict=True)]

    def _rank(self, spot: Spot | Remembered) -> tuple[bool, float]:
        """Return what tells better places from worse ones."""
        return spot.gone > self.terms.limit, spot.loss

    @property
    def effort(self) -> float:
        """What both walks have taken so far: seconds, since a step may take a hundred times as long as one over simpler
        spaces; without a time limit steps, or else what is found would depend on the machine."""
        if self.watch.time_limit is not None:
            return self._seconds
        return sum(walker.steps for walker in self._walkers)

    def beside(self, simpler: "list[Simpler]") -> None:
        """Let walks over simpler spaces go on, too: at most half of the effort is theirs, by what each is worth; more
        while the best is theirs."""
        self._simpler = simpler

    def kick(self, each: Callable[..., Iterable[Any]]) -> None:
        """Let both walks take some steps, `each` of them at the same time or not, and judge what they found; or those
        over simpler spaces, if it is their turn.

        A step changes its own walk only, and what was found is taken in order: it does not depend on threads.
        """
        if not self._ways:
            return
        simpler = self._whose_turn()
        if simpler is not None:
            found = simpler.kicked(each, self.best)
            if found is not None:
                self.consider(found)
                self._waiting.append(found)
            return
        with self._timed():
            self._kick_own(each)

    def _kick_own(self, each: Each) -> None:
        more = self._later(False)
        if more:
            self._later = nothing_later
        if self._waiting or more:
            self._take_in([*self._waiting, *more], each)
            return
        list(each(self._steps, self._ways, repeat(self._at_once)))
        gained = self._judge_found()
        self._follow()
        self.idle = 0 if gained else self.idle + self._at_once * len(self._ways)

    @property
    def has_starts(self) -> bool:
        """Whether there are starts that were not looked at."""
        return bool(self._waiting)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the seconds of what is done meanwhile."""
        begun = self.watch.seconds
        yield
        self._seconds += self.watch.seconds - begun

    def _whose_turn(self) -> Simpler | None:
        """Return the walks over simpler spaces that have taken the least for what they are worth; None if these walks
        have."""
        shares = [simpler.share(self.best) for simpler in self._simpler]
        whole = max(1.0, sum(shares))
        turns = [
            (simpler.effort * whole / share, number)
            for number, (simpler, share) in enumerate(zip(self._simpler, shares, strict=True))
        ]
        taken, number = min(turns, default=(inf, 0))
        handed = any(simpler.keeps_up(self.best) for simpler in self._simpler)
        return self._simpler[number] if taken < self.effort / (HANDED if handed else 1.0) else None

    def _take_in(self, starts: Sequence[Sequence[Any]], each: Each) -> None:
        """Settle from some starts, and let one of the walks go on from there if that is better."""
        self._waiting = []
        ends = sorted(self._from_starts(starts, each), key=lambda end: self._rank(end[0]))
        for way, (spot, price) in zip(self._ways[1:], ends, strict=False):
            if self._rank(spot) < self._rank(way.spot):
                way.spot, way.price, way.first, way.idle = spot, price, price, 0

    def _follow(self) -> None:
        """Let a walk that is far behind the other one go on from there."""
        ahead, behind = sorted(self._ways, key=lambda way: self._rank(way.spot))
        if self._rank(behind.spot) > (ahead.spot.gone > self.terms.limit, (1 + FAR_BEHIND) * ahead.spot.loss):
            behind.spot, behind.price, behind.first, behind.idle = ahead.spot, ahead.price, ahead.first, 0

    def _judge_found(self) -> bool:
        """Judge what walks found, the cheapest first; return whether there is a new best answer."""
        before = self.target
        found = [(walker.found, walker) for walker in self._walkers if walker.found is not None]
        for (_, labels, levels), walker in sorted(found, key=lambda each: each[0][0]):
            parts = zip(self.spaces, labels, levels, strict=True)
            if not self.consider([state_of(space, part, level) for space, part, level in parts]):
                walker.watched, walker.bar = tightened(walker.watched, TIGHTER), inf
            walker.found = None
        best = min(walker.bar for walker in self._walkers)
        for walker in self._walkers:
            walker.bar = best
        return self.target < before

    def _steps(self, way: _Way, most: int) -> None:
        for _ in range(most):
            if self.watch.expired():
                return
            self._step(way)

    def _step(self, way: _Way) -> None:
        """Change one attribute, or two; improve all but the first, then all; go on from there if it is no worse.

        What has more values is changed more often: there are more ways to be stuck in it.
        """
        walker = way.walker
        draw, attributes = walker.draw, walker.attributes
        walker.back_to(way.spot)
        if draw.random() < WITHOUT_KICK:
            walker.settle(way.price * draw.choice(LOW_PRICES), draw.sample(attributes, len(attributes)))
        else:
            price, weights = way.price * draw.choice(PRICES), [self._weights[a] for a in attributes]
            first = draw.choices(attributes, weights)[0]
            for a in [first, *(draw.choices(attributes, weights) if draw.random() < BOTH else [])]:
                walker.put_state(a, kicked(self.spaces[a], walker.state(a), draw))
            others = [a for a in attributes if a != first]
            draw.shuffle(others)
            walker.descend_at(price, others)
            others.sort(key=lambda a: a in walker.sure)
            walker.settle(price, [first, *others], tried=len(walker.sure.intersection(others)))
        if walker.holds:
            way.price = min(4 * way.first, max(way.first / 4, 0.8 * way.price + 0.2 * walker.price))
        worse = WORSE if draw.random() < SELDOM else 0.0
        allowed = way.spot.loss + worse * abs(way.spot.loss) + SAME * walker.rows
        before = (way.spot.gone > walker.limit, way.spot.loss)
        if (not walker.holds, walker.loss) <= (before[0], allowed):
            way.idle = 0 if (not walker.holds, walker.loss + SAME * walker.rows) < before else way.idle + 1
            way.spot = walker.spot()
        else:
            way.idle += 1
        if way.idle > STUCK and self.best is not None:
            self._elsewhere(way)

    def _elsewhere(self, way: _Way) -> None:
        """Let a walk that is stuck go on from elsewhere: from two good places, each of which gives some attributes, or
        from the best with half of its attributes changed.

        Good recodings differ in what they tell at all: an attribute that one of them tells in full is hidden in
        another. No kick of one attribute leads from one to the other; each half of two, settled, may.
        """
        walker, draw = way.walker, way.walker.draw
        attributes, known = walker.attributes, way.known
        if all(abs(place.loss - way.spot.loss) > SAME * walker.rows for place in known):
            known.append(way.spot.place)
        known.sort(key=self._rank)
        del known[REMEMBERED:]
        order = draw.sample(attributes, len(attributes))
        if len(known) > 1 and draw.random() < CROSSED:
            one, other = draw.sample(known, 2)
            walker.put_parts(one, attributes)
            walker.put_parts(other, [a for a in attributes if draw.random() < 0.5])
        else:
            walker.go_to(self._best_states())
            for a in order[: (len(order) + 1) // 2]:
                walker.put_state(a, kicked(self.spaces[a], walker.state(a), draw))
        walker.settle(way.first, order)
        way.spot, way.idle = walker.spot(), 0

    def refine(self) -> None:
        """Split what can be split at no cost, if there is time: of equals, walks took what merges less anyway."""
        if not self.watch.expired():
            super().refine()

    def best_of(self, attribute: int, states: Sequence[Any]) -> Any:
        """Return the best partition of an attribute known, given those of the others."""
        walker = self._walkers[0]
        walker.go_to(states)
        walker.fill_up(attribute)
        return walker.state(attribute)
