"""Rungs: the schemes that a scheme contains, searched beside it, from levels up.

Whatever is found on a rung is an answer of the scheme above it, and costs no more there. So a search that is handed all
of it is never worse. A rung is the search of its own scheme in its first steps, with the same draws and the same rungs
below it: what that finds within so many steps, or within its share of the time, is found here. The lattice of levels,
which is mostly proven at once, has all of the time.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event, Lock
from types import TracebackType
from typing import Any

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.declared import Scheme
from ringfence.errors import SpecError
from ringfence.search.progress import Watch
from ringfence.search.recode.answers import Answers
from ringfence.search.recode.spaces import FREE, Levels, Space
from ringfence.search.recode.starts import best_levels, fitted, leaf_labels
from ringfence.spec import Spec

SHARE, MOST_NODES = 1 / 12, 1000
"""So much of the time, and so many improvements, go to each rung."""

RUNGS: tuple[Scheme, ...] = ("cut", "guided-ordered", "guided-set", "ordered")
"""Each contains all before it that it contains at all."""

CONTAINED: dict[Scheme, tuple[Scheme, ...]] = {
    "level": (),
    "cut": (),
    "guided-ordered": ("cut",),
    "guided-set": ("cut", "guided-ordered"),
    "ordered": ("cut", "guided-ordered"),
    "set": RUNGS,
}
"""The schemes beside levels that a scheme contains, where its order suits."""

Searched = Callable[[Sequence[Space], Watch], Answers]
"""Returns what looks for answers of the same question over other spaces."""


class Rungs:
    """Searches what some spaces contain, beside whatever else is done while it is entered.

    `after` is the share of a time limit after which it begins, the lattice of levels apart.
    """

    def __init__(
        self, census: Census, spec: Spec, spaces: Sequence[Space], searched: Searched, watch: Watch, after: float | None
    ) -> None:
        self._census, self._spec, self._spaces, self._searched = census, spec, spaces, searched
        self._watch, self._after = watch.part(), after
        self._climbing = self._watch.part()
        self._takes = watch.seconds  # to make the search above it; each rung takes about as long to make
        self._threads = ThreadPoolExecutor(2)
        self._ended, self._lock = Event(), Lock()
        self._found: list[list[Any]] = []
        self._handed = 0
        self.by_levels: float | None = None
        """What the best recoding by levels costs, where that is proven."""

    def __enter__(self) -> "Rungs":
        levels = self._threads.submit(self._levels)
        self._under_way: list[Future[Any]] = [levels]
        if self._after is not None:
            self._under_way.append(self._threads.submit(self._climb, levels, self._after))
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.end()
        if kind is not None:
            self._watch.stopped = True
        self._threads.shutdown()

    def end(self) -> None:
        """Stop climbing; the lattice of levels is searched to its end, or that of the time."""
        self._climbing.stopped = True
        self._ended.set()

    def found(self, waits: bool) -> Sequence[Sequence[Any]]:
        """Return states of the spaces, each once: those that are there by now, or all."""
        if waits:
            wait(self._under_way)
        for future in self._under_way:
            if future.done():
                future.result()  # whatever went wrong is to be seen
        with self._lock:
            new, self._handed = self._found[self._handed :], len(self._found)
        return new

    def _add(self, labels: Sequence[Longs]) -> None:
        states = [fitted(space, part) for space, part in zip(self._spaces, labels, strict=True)]
        with self._lock:
            self._found.append(states)

    def _levels(self) -> list[Longs] | None:
        """Search the lattice of levels."""
        found = best_levels(self._census, self._spec, self._watch)
        if found is None:
            return None
        labels, cost, proven = found
        self.by_levels = cost if proven else None
        self._add(labels)
        return labels

    def _climb(self, levels: "Future[list[Longs] | None]", after: float) -> None:
        """Search one rung after the other, each from what is below it."""
        limit = self._watch.time_limit
        if limit is not None and self._ended.wait(max(0.0, after * limit - self._watch.seconds)):
            return
        below: list[tuple[list[Space], list[Longs]]] = []
        for spaces in contained_spaces(self._spaces):
            until = None if limit is None else self._watch.seconds + SHARE * limit
            own = self._climbing.part(until, MOST_NODES)
            starts = [labels for simpler, labels in below if all(map(contains, spaces, simpler))]
            if limit is None or levels.done():
                by_levels = levels.result()
                starts = [*([by_levels] if by_levels else []), *starts]
            late = limit is not None and self._watch.seconds + 2 * self._takes > limit
            if self._climbing.halted or late:
                return
            answers = self._searched(spaces, own)
            answers.begin(
                [[fitted(space, part) for space, part in zip(spaces, labels, strict=True)] for labels in starts]
            )
            if answers.best is not None:
                positions = zip(spaces, answers.best.node, strict=True)
                labels = [leaf_labels(space.quasi, space[position].blocks) for space, position in positions]
                below.append((spaces, labels))
                self._add(labels)


def contains(space: Space, other: Space) -> bool:
    """Whether a space has all partitions of another one over the same attribute, by their schemes."""
    return other.scheme in ("level", space.scheme, *CONTAINED[space.scheme])


def contained_spaces(spaces: Sequence[Space]) -> list[list[Space]]:
    """Return the spaces of simpler schemes, from the simplest on: one in which each attribute that contains a scheme
    has it. What says the same as another, or as the spaces themselves, is left out."""
    found: list[list[Space]] = []
    for scheme in RUNGS:
        try:
            simpler = [Space(s.quasi, scheme) if scheme in CONTAINED[s.scheme] else s for s in spaces]
        except SpecError:  # an order that tears nodes apart
            continue
        if not any(all(map(_alike, simpler, others)) for others in [spaces, *found]):
            found.append(simpler)
    return found


def _alike(space: Space, other: Space) -> bool:
    """Whether two spaces of an attribute have the same partitions, which cover the same leaves."""
    one, two = space.walk, other.walk
    if isinstance(one, Levels) or isinstance(two, Levels):
        return space.scheme == other.scheme
    same = (space.scheme in FREE) == (other.scheme in FREE) or bool((space.quasi.rows > 0).all())
    return same and one.branches == two.branches
