"""Rungs: the schemes that a scheme contains, each taken on the way to it, from the simplest up.

Whatever is found on a rung is an answer of every scheme above it, and costs no more there. A rung begins where the one
below it has ended, and takes the very steps that the search of its own scheme takes first. So two searches, one over a
scheme that contains the other's, do the same until the simpler one stands on its own scheme; from there the freer one
goes on from the same place, with more to choose from, while the other looks around. So do the rungs, in turns, as long
as they are not far behind: what the other finds while it looks around, they find as well, only later. Where steps are
slow, rungs also find good answers sooner: simple schemes settle in few steps.

The lattice of levels is no rung: it is searched beside, for as long as there is time, and mostly proven at once.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from types import TracebackType
from typing import Any

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.declared import CONTAINED, Scheme
from ringfence.errors import SpecError
from ringfence.search.progress import Watch
from ringfence.search.recode.answers import Node
from ringfence.search.recode.partitions import CUT, NEVER, Branch, Rule
from ringfence.search.recode.spaces import FREE, Levels, Space
from ringfence.search.recode.starts import Found, best_levels, fitted_to, leaf_labels
from ringfence.search.recode.walks import Simpler, Walks
from ringfence.spec import Spec

LAST: Scheme = "guided-set"
RUNGS: tuple[Scheme, ...] = ("cut", "guided-ordered", "ordered", LAST)
"""Each comes after all that it contains."""

SPREADING = 2
"""So many rungs spread from the coarsest recoding: mostly the lowest one of trees and the lowest one of runs."""

CLIMBING = 0.25
"""After such a share of the time only runs are still climbed to: sets are improved as runs are, and begin there."""

FOR_LEVELS, AT_MOST = 0.1, 0.3
"""After such a share of the time the search of levels only looks for what is better than all that others have found;
after the second, it is left if they have found better."""


LEVEL_WORK, LEAST_NODES = 10**8, 1000
"""Without a time limit, so many nodes times combinations of values are judged of the lattice of levels; no fewer than
so many nodes, though."""


class ByLevels:
    """The search of the lattice of levels, beside whatever else is done while this is entered."""

    def __init__(self, census: Census, spec: Spec, watch: Watch) -> None:
        most = inf if watch.time_limit is not None else max(LEAST_NODES, LEVEL_WORK // len(census.weights))
        self._asked = (census, spec, watch.part(most=most))
        self._watch, self._thread = self._asked[2], ThreadPoolExecutor(1)

    def __enter__(self) -> "ByLevels":
        self._search = self._thread.submit(best_levels, *self._asked)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._watch.stopped = kind is not None
        self._thread.shutdown()

    def leave(self, found: float | None) -> None:
        """Once there was some time, look only for what is better than that which was found elsewhere; stop after more
        of it: levels are proven soon, or never. What is best so far says nothing: the optimum is often met last."""
        if found is None or not self._watch.spent(FOR_LEVELS):
            return
        self._watch.known = min(self._watch.known, found)
        if self._watch.spent(AT_MOST) and found < (self._watch.best or inf):
            self._watch.stopped = True

    def best(self, *, waits: bool) -> Found | None:
        """Return the best recoding by levels, if there is one, and it is there by now."""
        return self._search.result() if waits or self._search.done() else None


def climbed(
    spaces: Sequence[Space],
    walks_over: Callable[[Sequence[Space]], Walks],
    levels: ByLevels,
    watch: Watch,
) -> tuple[list[list[Any]], list[Simpler]]:
    """Take all rungs below some spaces; return what was found, as states of these, and the rungs, to go on with.

    `walks_over` returns walks over other spaces. Without a time limit, the optimum of levels is waited for, so that
    what is found does not depend on when it is there.
    """
    below: list[tuple[Sequence[Space], Sequence[Longs]]] = []
    costs: list[float] = []
    rungs: list[Simpler] = []
    for simpler in contained_spaces(spaces):
        if watch.expired() or (watch.spent(CLIMBING) and any(space.scheme == LAST for space in simpler)):
            break
        starts = [labels for others, labels in below if all(map(contains, simpler, others))]
        found = levels.best(waits=watch.time_limit is None)
        starts += [found.labels] if found is not None else []
        walks = walks_over(simpler)
        walks.spreads = len(below) < SPREADING
        walks.settle([fitted_to(simpler, labels) for labels in starts])
        if walks.best is not None:
            levels.leave(walks.best.cost)
            below.append((simpler, labels_of_node(simpler, walks.best.node)))
            costs.append(walks.best.cost)
            walks.expect(partial(_as_starts, simpler, levels))
            rungs.append(Simpler(walks, partial(_as_states, spaces, simpler)))
    if watch.expired():  # there is time for no more than to say what is best
        below = [] if not below else [below[costs.index(min(costs))]]
    return [fitted_to(spaces, labels) for _, labels in below], rungs


def _as_starts(spaces: Sequence[Space], levels: ByLevels, waits: bool) -> list[list[Any]]:
    """Return the best recoding by levels as states of some spaces, if it is there, or waited for."""
    found = levels.best(waits=waits)
    return [] if found is None else [fitted_to(spaces, found.labels)]


def labels_of_node(spaces: Sequence[Space], node: Node) -> list[Longs]:
    """Return a label for each leaf of each attribute, the same for those that are merged."""
    return [leaf_labels(space.quasi, space[place].blocks) for space, place in zip(spaces, node, strict=True)]


def _as_states(spaces: Sequence[Space], simpler: Sequence[Space], node: Node) -> list[Any]:
    """Return a node of simpler spaces as states of those that contain them."""
    return fitted_to(spaces, labels_of_node(simpler, node))


def contains(space: Space, other: Space) -> bool:
    """Whether a space has all partitions of another one over the same attribute, by their schemes."""
    return other.scheme in (space.scheme, *CONTAINED[space.scheme])


def contained_spaces(spaces: Sequence[Space]) -> Iterator[list[Space]]:
    """Yield the spaces of simpler schemes, from the simplest on: one in which each attribute that contains a scheme
    has it. What says the same as another, or as the spaces themselves, is left out."""
    found: list[Sequence[Space]] = [spaces]
    for scheme in RUNGS:
        try:
            simpler = [Space(s.quasi, scheme) if scheme in CONTAINED[s.scheme] else s for s in spaces]
        except SpecError:  # an order that tears nodes apart
            continue
        if not any(all(map(_alike, simpler, others)) for others in found):
            found.append(simpler)
            yield simpler


def _alike(space: Space, other: Space) -> bool:
    """Whether two spaces of an attribute have the same partitions, which cover the same leaves."""
    one, two = space.walk, other.walk
    if isinstance(one, Levels) or isinstance(two, Levels):
        return space.scheme == other.scheme
    same = (space.scheme in FREE) == (other.scheme in FREE) or bool((space.quasi.rows > 0).all())
    return same and [*map(_allowed, one.branches)] == [*map(_allowed, two.branches)]


def _allowed(branch: Branch) -> tuple[tuple[int, ...], Rule]:
    """Return the children of a branch, and how they may be merged: of two, every rule but one allows the same."""
    return branch.children, CUT if len(branch.children) == 2 and branch.rule is not NEVER else branch.rule
