"""Trials: candidates of a comparison, each within its share of the time.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from statistics import fmean
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ringfence.errors import RingfenceError
from ringfence.events import Event
from ringfence.methods.candidates import Candidate
from ringfence.release.comparing import MeasuredRelease, Tried
from ringfence.release.diary import Diary
from ringfence.spec import Spec

if TYPE_CHECKING:
    from ringfence.plans.recode import GlobalPlan
    from ringfence.search.decision import Decision

SEARCHES = min(2, os.cpu_count() or 1)
"""How many searches go on at once, beside what is carried out: more would only take the time from each other."""
AHEAD = SEARCHES + 3
"""How many candidates are under way at most: searches go on while what was found before is carried out."""
LEAST_SECONDS = 0.2
"""No search gets less than this, as long as there is any time left."""
RINGS, RINGS_AGAIN = 4, 400_000
"""Beside their search, rings take about so many times as long as others, and once more for each so many rows: their
audit links every row with all that it may be."""
LAST_SHARE = 0.15
"""The share of the time that is left to write down what was found, and for what takes longer than it should."""

Search: TypeAlias = "Callable[[Spec, Sequence[GlobalPlan]], Decision | None]"
"""Decides, of nothing but a census, as a specification says, from plans to begin with; None where that depends on rows
as they are made."""


class Workbench(Protocol):
    """What candidates are tried on."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def diary(self) -> Diary:
        """Where it is told what has come of each."""

    def prepare(self, candidate: Candidate) -> Search:
        """Count what a candidate is searched for on; return the search, to be run whenever there is time for it."""

    def get_ready(self) -> None:
        """Make what all releases are measured by."""

    def finish(self, candidate: Candidate, hurried: Spec, decision: "Decision | None") -> MeasuredRelease:
        """Carry a decision out, audit what came out, and measure it."""


def try_all(candidates: Sequence[Candidate], bench: Workbench, *, budget: float, begun: float) -> list[Tried]:
    """Try candidates one after the other, each search within its share of the time that is left.

    The next ones are searched for in threads while what was found before is carried out, audited and measured here,
    where the rows are: whatever is found first. Each gets its share when its search begins: what others left is for all
    that follow, and what these take beside their search is kept for them. One that there is no time left for says so.
    The first is always tried. Compiling is no part of the time. They are returned in the order of `candidates`.
    What contains another one is searched for after it, from what was found for that: no scheme does worse than one that
    it contains.
    A listener that returns True when it hears of a candidate ends the time.
    """
    from ringfence.compiling import timed

    tried: list[Tried] = []
    with timed() as compiled, ThreadPoolExecutor(SEARCHES, "search") as ahead:
        trials = _Trials(bench, budget, begun, compiled, ahead)
        trials.waiting.update({each.name: each for each in candidates if each.refusal() is None})
        coming, under_way = deque(candidates), list[_Begun]()
        if coming:
            under_way.append(trials.begin(coming.popleft()))
            trials.get_ready()  # while the first is searched for
        while coming or under_way:
            # Before one was carried out, it is not known how many there is time for: one more is begun with.
            while len(under_way) < (AHEAD if trials.took else 2) and (following := trials.next_of(coming)) is not None:
                coming.remove(following)
                under_way.append(trials.begin(following))
            found = trials.conclude(_first_found(under_way))
            tried.append(found)
            words = found.reason or _in_short(found)
            event = Event("compare", 0, f"{found.name}: {words}", len(tried), len(candidates), "candidates")
            if bench.diary.told(event, found.row()) is True:
                trials.budget = 0.0  # enough has been seen: the others are not begun any more
    places = {each.name: place for place, each in enumerate(candidates)}
    return sorted(tried, key=lambda each: places[each.name])


def _first_found(under_way: "list[_Begun]") -> "_Begun":
    """Take the next candidate out of those under way that is not searched for any more; wait for one if need be."""
    searching = [each.searching for each in under_way if each.searching is not None]
    if len(searching) == len(under_way):
        wait(searching, return_when=FIRST_COMPLETED)
    found = next(each for each in under_way if each.searching is None or each.searching.done())
    under_way.remove(found)
    return found


class _TimeUp(RingfenceError):
    """There is no time left to search for a candidate."""


@dataclass
class _Trials:
    """Candidates on their way: how long each may search, and how long those before took beside their search."""

    bench: Workbench
    budget: float
    started: float
    compiled: Any
    ahead: ThreadPoolExecutor
    waiting: dict[str, Candidate] = field(default_factory=dict)
    """Those whose search has yet to begin."""
    searching: dict[str, float] = field(default_factory=dict)
    """When those searches are to end that go on."""
    found: dict[str, Candidate] = field(default_factory=dict)
    """Those whose search has begun, and that have not been carried out."""
    took: dict[str, list[float]] = field(default_factory=dict)
    """How long the candidates of a method took beside their search."""
    over: dict[str, float] = field(default_factory=dict)
    """By how much the last search of a method has gone on beyond its share."""
    getting_ready: float = 0.0
    """How long it took to make what releases are measured by."""
    known: "list[tuple[Candidate, Decision]]" = field(default_factory=list)
    """What was found for candidates that others are searched for from."""
    begun: bool = False
    """Whether any search was begun."""
    turn: Lock = field(default_factory=Lock)
    """Searches take their shares one after the other."""

    def _now(self) -> float:
        return time.monotonic() - float(self.compiled.seconds)

    def get_ready(self) -> None:
        """Make what all releases are measured by."""
        since = self._now()
        self.bench.get_ready()
        self.getting_ready = self._now() - since

    def begin(self, candidate: Candidate) -> "_Begun":
        """Begin to search for a candidate, if it can be made and there is time for it."""
        if (refusal := candidate.refusal()) is not None:
            return _Begun(candidate, refusal)
        is_first = not self.begun
        try:
            if not is_first:
                self._need_time(candidate)
            search = self.bench.prepare(candidate)
        except (RingfenceError, MemoryError) as error:
            del self.waiting[candidate.name]
            return _Begun(candidate, _why(error), late=isinstance(error, _TimeUp))
        self.begun = True
        return _Begun(candidate, None, searching=self.ahead.submit(self._searched, candidate, search, is_first))

    def next_of(self, coming: Iterable[Candidate]) -> Candidate | None:
        """Return the first candidate that contains none which is still searched for, or is yet to be; None if there is
        none, or nothing is left."""
        with self.turn:  # or else one that is just begun with would be neither waiting nor searched for
            open_ones = [*self.waiting.values(), *(self.found[name] for name in [*self.searching])]
        return next((each for each in coming if not any(each.contains(other) for other in open_ones)), None)

    def _left(self) -> float:
        return (1 - LAST_SHARE) * self.budget - (self._now() - self.started)

    def _beside(self, candidate: Candidate) -> float:
        """Return how long a candidate takes beside its search, as far as is known: as long as others of its method, or
        as all others, rings longer; before any is known, about as long as it took to get ready."""
        took = self.took.get(candidate.spec.method.name)
        if took:
            return fmean(took)
        times = RINGS + self.bench.rows / RINGS_AGAIN if candidate.spec.method.name == "ring" else 1
        return times * fmean([each for some in [*self.took.values()] for each in some] or [self.getting_ready])

    def _beyond(self, candidate: Candidate) -> float:
        """Return by how much a search goes on beyond its share: as the last of its method did, or the others did."""
        over = self.over.get(candidate.spec.method.name)
        return fmean([*self.over.values()] or [0.0]) if over is None else over

    def _need_time(self, candidate: Candidate) -> None:
        """Refuse to begin what cannot be expected to end in time, after what was found before."""
        beside = sum(map(self._beside, [candidate, *self.found.values()])) if self.took else 0.0
        if self._left() < self._beyond(candidate) + beside + LEAST_SECONDS:
            more = f"; give it more than {self.budget:g} seconds" if self.budget else ", as you wanted"
            raise _TimeUp(f"the time was up{more}")

    def _share(self, candidate: Candidate) -> float:
        """Return how long a candidate may be searched for: its share of what all threads can search in the time that is
        left, without what those that follow, too, take beside their searches. It must be carried out after it, too: the
        first of a method gets half of what that leaves at most. Where there is no time for all, it is kept for as many
        of the next as take half of it beside."""
        left, now = self._left(), self._now()
        room, following = SEARCHES * left / 2, [candidate]
        for each in [*self.waiting.values()]:
            needed = self._beside(each) + self._beyond(each)
            if each is candidate or needed < room:
                room -= needed
                following += [each] * (each is not candidate)
        taken = sum(map(self._beside, [*following, *self.found.values()])) + sum(map(self._beyond, following))
        taken += sum(max(0.0, until - now) for until in [*self.searching.values()])
        share = (SEARCHES * left - taken) * candidate.worth / sum(each.worth for each in following)
        last = left - self._beyond(candidate) - self._beside(candidate)
        if candidate.goes_on:  # others are only begun with after it
            share = min(share, left * candidate.worth / sum(each.worth for each in following if each.goes_on))
        if candidate.spec.method.name not in self.over:  # it may take as long for what no limit holds for
            last /= 2
        return max(min(share, last), LEAST_SECONDS)

    def _searched(self, candidate: Candidate, search: Search, is_first: bool) -> "_SearchDone":
        """Search in the share of the time that is left for it."""
        name, method = candidate.name, candidate.spec.method.name
        with self.turn:
            try:
                if not is_first:
                    self._need_time(candidate)  # others may have taken longer than it seemed
                share, begun = self._share(candidate), self._now()
            finally:
                del self.waiting[name]
            self.found[name], self.searching[name] = candidate, begun + share
        hurried = candidate.within(share, self.bench.rows)
        try:
            decision = search(hurried, self._starts(candidate))
            if candidate.goes_on and decision is not None:
                self.known.append((candidate, decision))  # before those are begun that wait for it
        finally:
            del self.searching[name]
        seconds = self._now() - begun
        self.over[method] = max(0.0, seconds - share)
        return _SearchDone(hurried, decision, seconds)

    def _starts(self, candidate: Candidate) -> "list[GlobalPlan]":
        """Return the best plan that was found for a candidate that this one contains."""
        found = [
            (decision.search.cost, decision.recoding)
            for each, decision in self.known
            if decision.search is not None and candidate.contains(each)
        ]
        return [plan for _, plan in sorted(found, key=lambda each: each[0])[:1]]

    def conclude(self, begun: "_Begun") -> Tried:
        """Return what came of a candidate: carry out what was found for it, audit and measure it."""
        candidate, searched = begun.candidate, 0.0
        if begun.searching is None:
            return Tried(candidate, None, begun.reason, 0.0, begun.late)
        since = self._now()
        try:
            found = begun.searching.result()
            searched = found.seconds
            made = self.bench.finish(candidate, found.hurried, found.decision)
        except (RingfenceError, MemoryError) as error:
            late = isinstance(error, _TimeUp)
            return Tried(candidate, None, _why(error), 0.0 if late else searched + self._now() - since, late)
        finally:
            self.found.pop(candidate.name, None)
        seconds = self._now() - since
        self.took.setdefault(candidate.spec.method.name, []).append(seconds)
        return Tried(candidate, made, None, searched + seconds)


@dataclass(frozen=True, eq=False)
class _SearchDone:
    """What a search within its limits decided, and how long it took."""

    hurried: Spec
    decision: "Decision | None"
    seconds: float


@dataclass(frozen=True, eq=False)
class _Begun:
    """A candidate that is being searched for, or in `reason` why it is not."""

    candidate: Candidate
    reason: str | None
    late: bool = False
    searching: "Future[_SearchDone] | None" = None


def _why(error: Exception) -> str:
    return str(error) or "there is not enough memory"


def _in_short(tried: Tried) -> str:
    use = None if tried.made is None else tried.made.use
    return "made" if use is None else f"queries are off by {use.queries:.1%}"
