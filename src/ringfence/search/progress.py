"""What every search reports: how far it is, when to stop, and what it can vouch for in the end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from threading import Lock

REPORT_EVERY = 0.1  # seconds

LONG = 20.0
"""After so many seconds, a search without a time limit says how it moves, and how to stop it."""

MOST_COUNTED = 2**53
"""More recodings than this are not counted: no number of that size is exact everywhere."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found out: the cost of its answer, and how good that is known to be.

    `bound` is a certified lower bound on the cost of any answer, `gap` the share of the cost that it leaves open.
    `pruned` is MOST_COUNTED where there are too many to be counted.
    """

    cost: float
    optimal: bool
    bound: float
    nodes: int
    pruned: int
    seconds: float
    by_levels: float | None = None
    """What the best recoding by levels costs, where freer ones were searched and it is known."""

    @property
    def saved(self) -> float | None:
        """How much less than the best recoding by levels the answer costs, as a share of it, where that is known."""
        return None if not self.by_levels else 1 - self.cost / self.by_levels

    @property
    def gap(self) -> float:
        """How much cheaper, as a share of the cost, a better answer could still be."""
        return 0.0 if self.optimal or self.cost == 0 else (self.cost - self.bound) / self.cost


@dataclass
class Watch:
    """Counts evaluated nodes, tells a listener how far the search is, and says when its time is up.

    A search may also be given a number of nodes, `most`.
    """

    time_limit: float | None = None
    listener: Callable[[str], None] | None = None
    nodes: int = 0
    started: float = field(default_factory=time.monotonic)
    most: float = inf
    _reported: float = 0.0
    _bests: list[tuple[float, float]] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """How long the search has run."""
        return time.monotonic() - self.started

    @contextmanager
    def aside(self, what: str) -> Iterator[None]:
        """Do something that is no part of the search, and takes none of its time."""
        begun = time.monotonic()
        if self.listener is not None:
            self.listener(what)
        try:
            yield
        finally:
            self.started += time.monotonic() - begun

    def tick(self, best: float | None, bound: float | None = None, *, nodes: int = 1) -> None:
        """Count nodes, and report now and then: the best cost so far, and what is known to be the least possible."""
        with self._lock:  # threads count together
            self.nodes += nodes
        if self.listener is None or self.seconds - self._reported <= REPORT_EVERY:
            return
        self._reported = self.seconds
        words = [f"{self.nodes:,} recodings judged, {self.nodes / self.seconds:,.0f} a second"]
        words += [] if best is None else [f"best cost {best:,.6g}"]
        if best is not None and bound is not None and bound > 0:
            words.append(f"at least {bound:,.6g}, gap {max(0.0, 1 - bound / best):.1%}")
        self.listener(", ".join(words) + ("" if best is None else self._outlook(best)))

    def _outlook(self, best: float) -> str:
        """Say of a search that goes on for long how the best has moved, and how to stop it."""
        if self.time_limit is not None:
            return ""
        now = self.seconds
        self._bests.append((now, best))
        if now < LONG:
            return ""
        while len(self._bests) > 1 and self._bests[1][0] <= now / 2:
            del self._bests[0]
        before, earlier = self._bests[0]
        moved = f"{1 - best / earlier:.1%} better than" if best < earlier else "the same as"
        return f"; {moved} {now - before:,.0f} s ago; Ctrl-C takes the best so far, method.time_limit ends a search"

    def advance(self, done: int, total: int, what: str, best: float | None = None) -> None:
        """Count what has been done of something that is known to be so much, and report now and then."""
        self.nodes += done
        if self.listener is not None and self.seconds - self._reported > REPORT_EVERY:
            self._reported = self.seconds
            self.listener(f"{self.nodes:,} of {total:,} {what}" + ("" if best is None else f", loss {best:.5f}"))

    def expired(self) -> bool:
        """Whether the time is up; never before the first node, so that there is something to say."""
        if self.nodes >= self.most:
            return True
        return self.time_limit is not None and self.nodes > 0 and self.seconds > self.time_limit
