"""What every search reports: how far it is, when to stop, and what it can vouch for in the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

REPORT_EVERY = 0.1  # seconds

MOST_COUNTED = 2**53
"""More recodings than this are not counted: no number of that size is exact everywhere."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found out: the cost of its answer, and how good that is known to be.

    `bound` is a certified lower bound on the cost of any answer, `gap` the share of the cost that it leaves open.
    """

    cost: float
    optimal: bool
    bound: float
    nodes: int
    pruned: int
    seconds: float

    @property
    def gap(self) -> float:
        """How much cheaper, as a share of the cost, a better answer could still be."""
        return 0.0 if self.optimal or self.cost == 0 else (self.cost - self.bound) / self.cost


@dataclass
class Watch:
    """Counts evaluated nodes, tells a listener how far the search is, and says when its time is up."""

    time_limit: float | None = None
    listener: Callable[[str], None] | None = None
    nodes: int = 0
    started: float = field(default_factory=time.monotonic)
    _reported: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """How long the search has run."""
        return time.monotonic() - self.started

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
        self.listener(", ".join(words))

    def advance(self, done: int, total: int, what: str, best: float | None = None) -> None:
        """Count what has been done of something that is known to be so much, and report now and then."""
        self.nodes += done
        if self.listener is not None and self.seconds - self._reported > REPORT_EVERY:
            self._reported = self.seconds
            self.listener(f"{self.nodes:,} of {total:,} {what}" + ("" if best is None else f", loss {best:.5f}"))

    def expired(self) -> bool:
        """Whether the time is up; never before the first node, so that there is something to say."""
        return self.time_limit is not None and self.nodes > 0 and self.seconds > self.time_limit
