"""What every search reports: how far it is, when to stop, and what it can vouch for in the end."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from threading import Lock
from typing import Any, Protocol, TypeAlias

from ringfence.events import Event, Listener

REPORT_EVERY = 0.1  # seconds

MOST_COUNTED = 2**53
"""More recodings than this are not counted: no number of that size is exact everywhere."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found out: the cost of its answer, and how good that is known to be.

    `bound` is a certified lower bound on the cost of any answer, `gap` the share of the cost that it leaves open.
    `certificate` says by what it is known where it does not come from the search itself: "row", if from what each row
    loses at least, whatever becomes of the others; "dual", if from prices of rows that no group can exceed.
    `pruned` is MOST_COUNTED where there are too many to be counted.
    """

    cost: float
    optimal: bool
    bound: float
    nodes: int
    pruned: int
    seconds: float
    """What the search took, without compiling."""
    compiled: float = 0.0
    """The seconds that compiling kernels took, or loading them, before and within the search."""
    by_levels: float | None = None
    """What the best recoding by levels costs, where freer ones were searched and it is known."""
    certificate: str | None = None

    @property
    def saved(self) -> float | None:
        """How much less than the best recoding by levels the answer costs, as a share of it, where that is known."""
        return None if not self.by_levels else 1 - self.cost / self.by_levels

    @property
    def gap(self) -> float:
        """How much cheaper, as a share of the cost, a better answer could still be."""
        return 0.0 if self.optimal or self.cost == 0 else (self.cost - self.bound) / self.cost


Tasks: TypeAlias = Sequence[Callable[[], Any]]
Each: TypeAlias = Callable[[Tasks], Iterable[Any]]


def one_by_one(tasks: Tasks) -> Iterator[Any]:
    """Yield what comes of each task."""
    return (task() for task in tasks)


class Compilations(Protocol):
    """What knows how long compiling has taken."""

    @property
    def seconds(self) -> float:
        """How long, up to now."""


@dataclass
class Watch:
    """Counts evaluated nodes, tells a listener how far the search is, and says when it is to stop.

    A search may also be given a number of nodes, `most`. If it is part of another one, `whole`, it stops with it when
    the user has had enough. Seconds are those of a `clock`: the time of day's, or that of the processors where others
    use them, too. While kernels are compiled it stands still (`compiling_apart`).
    """

    time_limit: float | None = None
    listener: Listener | None = None
    nodes: int = 0
    clock: Callable[[], float] = time.monotonic
    started: float = -inf
    stopped: bool = False
    """Whether the listener has asked for what was found so far."""
    most: float = inf
    whole: "Watch | None" = None
    best: float | None = None
    """The best cost that was told: of what parts of a search find, one after the other, the best is taken."""
    known: float = inf
    """What an answer costs that was found elsewhere: what costs no less need not be looked for."""
    each: Each = one_by_one
    """Does several parts of a search: here and one by one, unless whoever has others to do it says so."""
    _compiling: "Compilations | None" = None
    _reported: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.started == -inf:
            self.started = self.clock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent elsewhere, a watch has what is left of its time; its listener stays."""
        return Watch, (None if self.time_limit is None else max(0.0, self.time_limit - self.seconds),)

    @property
    def seconds(self) -> float:
        """How long the search has run, without compiling."""
        return self.clock() - self.started - self.compiled

    @property
    def compiled(self) -> float:
        """How long kernels were compiled, or loaded."""
        if self.whole is not None:
            return self.whole.compiled
        return 0.0 if self._compiling is None else self._compiling.seconds

    @property
    def halted(self) -> bool:
        """Whether it was asked to stop, or what it is part of."""
        return self.stopped or (self.whole is not None and self.whole.halted)

    def part(self, until: float | None = None, most: float = inf) -> "Watch":
        """Return a watch for something beside the search, by the same clock: it stops when the search's time is up, or
        before, after so many seconds of it or so many nodes."""
        limits = [limit for limit in (until, self.time_limit) if limit is not None]
        return Watch(min(limits, default=None), clock=self.clock, started=self.started, most=most, whole=self)

    @contextmanager
    def compiling_apart(self) -> Iterator[None]:
        """Let the clock stand still while kernels are compiled, or loaded: that is no part of the search."""
        from ringfence.compiling import timed

        if self._compiling is not None:  # it does already
            yield
            return
        with timed(self.clock) as self._compiling:
            yield

    def tick(self, best: float | None, bound: float | None = None, *, nodes: int = 1) -> None:
        """Count nodes, and report now and then: the best cost so far, and what is known to be the least possible."""
        with self._lock:  # threads count together
            self.nodes += nodes
            if best is not None:
                self.best = best if self.best is None else min(self.best, best)
        self._tell(None, "recodings judged", self.best, bound)

    def advance(self, done: int, total: int, what: str, best: float | None = None) -> None:
        """Count what has been done of something that is known to be so much, and report now and then."""
        self.nodes += done
        self._tell(total, what, best, None)

    def _tell(self, total: int | None, unit: str, best: float | None, bound: float | None) -> None:
        if self.listener is None or self.seconds - self._reported <= REPORT_EVERY:
            return
        self._reported = self.seconds
        event = Event("search", self.seconds, "searching", self.nodes, total, unit, best, bound)
        if self.listener(event) is True and best is not None:
            self.stopped = True

    def begun(self) -> None:
        """Have it stop when its time is up, also before a node was counted."""
        self.nodes = max(self.nodes, 1)

    def spent(self, share: float) -> bool:
        """Whether such a share of the time is gone, where there is a limit."""
        return self.time_limit is not None and self.seconds > share * self.time_limit

    def expired(self) -> bool:
        """Whether the search is to stop; never before the first node, so that there is something to say."""
        if self.halted or self.nodes >= self.most:
            return True
        return self.time_limit is not None and self.nodes > 0 and self.seconds > self.time_limit
