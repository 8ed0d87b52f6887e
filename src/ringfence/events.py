"""Events: what a run tells, while it works, to whoever listens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["count", "compile", "search", "rewrite", "write", "audit", "report", "compare"]
"""What a run is busy with: counting rows, compiling what searches are made of, searching, rewriting rows, writing them,
auditing them, making the page about them, or comparing them with others."""


@dataclass(frozen=True)
class Event:
    """Something that happened, in words and in figures.

    `seconds` is how long the run has taken so far. Where something is known to be so much, `done` of `total` are done;
    else `done` is how much was looked at, and `unit` says of what. `best` is the loss of the best answer so far, and
    `bound` what none can go below. Where releases are compared, `candidate` is what has come of one of them: its row
    of the comparison's table.

    >>> print(Event("search", 1.5, "searching", done=120, unit="recodings", best=0.5, bound=0.4))
    searching: 120 recodings, best 0.5, at least 0.4, gap 20.0%
    """

    stage: Stage
    seconds: float
    what: str
    done: int | None = None
    total: int | None = None
    unit: str = ""
    best: float | None = None
    bound: float | None = None
    candidate: Mapping[str, object] | None = None

    @property
    def gap(self) -> float | None:
        """The share of the best loss that a better answer could still save; None where nothing is known."""
        if self.best is None or self.bound is None or self.bound <= 0:
            return None
        return max(0.0, 1 - self.bound / self.best) if self.best > 0 else 0.0

    @property
    def figures(self) -> str:
        """How far it is, in words: empty where there is nothing to tell."""
        words = []
        if self.done is not None:
            words.append(f"{self.done:,}{'' if self.total is None else f' of {self.total:,}'} {self.unit}".rstrip())
        words += [] if self.best is None else [f"best {self.best:,.6g}"]
        words += [] if self.gap is None else [f"at least {self.bound:,.6g}", f"gap {self.gap:.1%}"]
        return ", ".join(words)

    def __str__(self) -> str:
        return f"{self.what}: {self.figures}" if self.figures else self.what


Listener: TypeAlias = Callable[[Event], object]
"""Is told every event. One that returns True asks a search that has an answer to stop: the best so far will do."""
