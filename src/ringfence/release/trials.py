"""Trials: candidates of a comparison, each within its share of the time.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ringfence.errors import RingfenceError
from ringfence.events import Event
from ringfence.methods.candidates import Candidate
from ringfence.release.comparing import MeasuredRelease, Tried
from ringfence.release.diary import Diary
from ringfence.spec import Spec

if TYPE_CHECKING:
    from ringfence.search.decision import Decision

AHEAD = 3
"""How many candidates are under way at most: searches go on while what was found before is carried out."""
LEAST_SECONDS = 0.2
"""No search gets less than this, as long as there is any time left."""
LAST_SHARE = 0.1
"""The share of the time that is left to write down what was found, and for what takes longer than it should."""

Search: TypeAlias = "Callable[[Spec], Decision | None]"
"""Decides, of nothing but a census, as a specification says; None where that depends on rows as they are made."""


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

    def finish(self, candidate: Candidate, hurried: Spec, decision: "Decision | None") -> MeasuredRelease:
        """Carry a decision out, audit what came out, and measure it."""


def try_all(candidates: Sequence[Candidate], bench: Workbench, *, budget: float, begun: float) -> list[Tried]:
    """Try candidates one after the other, each search within its share of the time that is left.

    The next ones are searched for in a thread while what was found before is carried out, audited and measured here,
    where the rows are. Each gets its share when its search begins: what others left is for all that follow. One that
    there is no time left for says so. The first is always tried. Compiling is no part of the time.
    A listener that returns True when it hears of a candidate ends the time.
    """
    from ringfence.compiling import timed

    tried: list[Tried] = []
    with timed() as compiled, ThreadPoolExecutor(1, "search") as ahead:
        trials = _Trials(bench, budget, begun, compiled, ahead)
        trials.waiting.update({each.name: each.worth for each in candidates if each.refusal() is None})
        under_way: deque[_Begun] = deque()
        for place in range(len(candidates)):
            for following in candidates[place + len(under_way) : place + AHEAD]:
                under_way.append(trials.begin(following))
            found = trials.conclude(under_way.popleft())
            tried.append(found)
            words = found.reason or _in_short(found)
            event = Event("compare", 0, f"{found.name}: {words}", len(tried), len(candidates), "candidates")
            if bench.diary.told(event, found.row()) is True:
                trials.budget = 0.0  # enough has been seen: the others are not begun any more
    return tried


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
    waiting: dict[str, int] = field(default_factory=dict)
    """How many shares of the time those are to have whose search has yet to begin."""
    under_way: int = 0
    took: list[float] = field(default_factory=list)
    """How long candidates took beside their search."""
    over: dict[str, float] = field(default_factory=dict)
    """By how much searches of a method, or those of all others, have gone on beyond their share."""

    def _now(self) -> float:
        return time.monotonic() - float(self.compiled.seconds)

    def begin(self, candidate: Candidate) -> "_Begun":
        """Begin to search for a candidate, if it can be made and there is time for it."""
        if (refusal := candidate.refusal()) is not None:
            return _Begun(candidate, refusal)
        is_first = not self.took and not self.under_way
        try:
            if not is_first:
                self._need_time(candidate, self.under_way)
            search = self.bench.prepare(candidate)
        except (RingfenceError, MemoryError) as error:
            self.waiting.pop(candidate.name, None)
            return _Begun(candidate, _why(error), late=isinstance(error, _TimeUp))
        self.under_way += 1
        return _Begun(candidate, None, searching=self.ahead.submit(self._searched, candidate, search, is_first))

    def _left(self) -> float:
        return (1 - LAST_SHARE) * self.budget - (self._now() - self.started)

    def _beside(self) -> float:
        """Return how long a candidate takes beside its search; the first also loads what all need."""
        took = [*self.took]
        return fmean(took[1:] or took or [0.0])

    def _need_time(self, candidate: Candidate, before: int) -> None:
        """Refuse to begin what cannot be expected to end in time, after so many others that are under way."""
        over = self.over.get(candidate.spec.method.name, max(self.over.values(), default=0.0))
        if self._left() < over + self._beside() * (1 + before) + LEAST_SECONDS:
            more = f"; give it more than {self.budget:g} seconds" if self.budget else ", as you wanted"
            raise _TimeUp(f"the time was up{more}")

    def _searched(self, candidate: Candidate, search: Search, is_first: bool) -> "_SearchDone":
        """Search in the share of the time that is left for it."""
        if not is_first:
            self._need_time(candidate, 0)  # others may have taken longer than it seemed
        over = self.over.get(candidate.spec.method.name, 0.0)
        shares = max(sum([*self.waiting.values()]), candidate.worth)
        share = (self._left() - self._beside()) * candidate.worth / shares - over
        self.waiting.pop(candidate.name, None)
        share = max(share, LEAST_SECONDS)
        hurried, begun = candidate.within(share, self.bench.rows), self._now()
        decision = search(hurried)
        seconds = self._now() - begun
        method = candidate.spec.method.name
        self.over[method] = max(self.over.get(method, 0.0), seconds - share)
        return _SearchDone(hurried, decision, seconds)

    def conclude(self, begun: "_Begun") -> Tried:
        """Return what came of a candidate: carry out what was found for it, audit and measure it."""
        if begun.searching is None:
            return Tried(begun.candidate, None, begun.reason, 0.0, begun.late)
        searched, since = 0.0, self._now()
        try:
            found = begun.searching.result()
            searched, since = found.seconds, self._now()
            made = self.bench.finish(begun.candidate, found.hurried, found.decision)
        except (RingfenceError, MemoryError) as error:
            late = isinstance(error, _TimeUp)
            seconds = 0.0 if late else searched + self._now() - since
            return Tried(begun.candidate, None, _why(error), seconds, late)
        finally:
            self.under_way -= 1
        seconds = self._now() - since
        self.took.append(seconds)
        return Tried(begun.candidate, made, None, searched + seconds)


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
