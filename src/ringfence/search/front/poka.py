"""POkA: most of the front of k and loss from a part of the lattice.

The search starts at the coarsest node and goes from each node it finds, the *base*, to the next: the one with the
largest smaller k and a smaller loss. It descends a few levels below the base, and climbs from there as long as k and
loss stay below the base's. That takes k and loss never to fall from a node to a coarser one. With suppression loss may,
and nodes of the front can be missed; `recall_precision` says how many were, docs/papers/frontier how many on Adult.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, isclose

import numpy as np

from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.search.front.frontier import Front, Point, node_point, nothing_found, smallest_k
from ringfence.search.front.node_costs import NodeCosts
from ringfence.search.progress import Watch
from ringfence.search.recode.lattice import SAME
from ringfence.spec import Spec

Levels = tuple[int, ...]


def poka_front(census: Census, spec: Spec, watch: Watch) -> Front:
    """Return the front of k and loss over nodes as POkA finds it, and how many nodes it had to evaluate.

    Each node counts with the largest k that it can have, as with `frontier.points = "nodes"`. `frontier.depth` is how
    far below a base its search descends; "average" is the mean height of the hierarchies, rounded up.

    `frontier.careful` says whether to look where the paper's reasoning overlooks ties. It takes every node below the
    base to be worse than one next to the base, and the coarsest node to be on the front. But a node further down may
    have the same k and a smaller loss. With `careful`, nodes below the base are evaluated like others, and one with the
    base's k and a smaller loss takes its place. Then, if nothing is suppressed and the search descends to the bottom,
    what it finds is the exact front.

    Parameters
    ----------
    census, spec, watch
        As for `exact_front`. When the time is up, no further base is searched from, and the front is marked as
        not complete.

    Raises
    ------
    Unsatisfiable
        If no node found has the smallest k asked for.

    Examples
    --------
    Two people in each of three towns. Towns and counties both have k = 2, and the paper's reasoning stops at counties.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> counties = {"tree": {"north": ["a", "b"], "south": ["c"]}}
    >>> town = {"role": "quasi", "hierarchy": counties}
    >>> spec = Spec(attributes={"town": town}, method={"metric": "dm", "suppression": 0})
    >>> careful = spec.model_copy(update={"frontier": spec.frontier.model_copy(update={"careful": True})})
    >>> census = take_census(pa.table({"town": ["a", "b", "c"], "rows": [2, 2, 2]}), spec, "rows")
    >>> [(point.k, point.loss, point.levels) for point in poka_front(census, spec, Watch()).points]
    [(2, 20.0, (1,)), (6, 36.0, (2,))]
    >>> [(point.k, point.loss, point.levels) for point in poka_front(census, careful, Watch()).points]
    [(2, 12.0, (0,)), (6, 36.0, (2,))]

    Dewri, Ray, Ray, Whitley: POkA: Identifying Pareto-Optimal k-Anonymous Nodes in a Domain Hierarchy Lattice. CIKM
    2009, section 5, functions 1 to 3. Where the bottom of the lattice is nearer to a base than the depth, the paper
    climbs from nowhere; here from the bottom. Of nodes that tie in k and loss the lexicographically smallest is taken.
    """
    if spec.diversities() or spec.closenesses() or spec.privacy.p is not None:
        raise SpecError('frontier.algorithm = "poka" knows only k; for a front with l, p or t use "exact"')
    least, search = smallest_k(spec, census), _PokaSearch(census, spec, watch)
    bases = [search.base]
    complete = True
    while bases[-1].k > least or search.careful:
        complete = not watch.expired()
        found = search.next_to(bases[-1]) if complete else None
        if found is None or found.k < least:
            break
        if found.k == bases[-1].k:
            bases.pop()
        bases.append(found)
    points = tuple(point for point in reversed(bases) if point.k >= least)
    if not points:
        raise Unsatisfiable(nothing_found(census, spec, watch, least, complete=complete))
    evaluated = [point for point in search.evaluated.values() if point.k >= least]
    return Front(
        points=points,
        answers=points,
        least=least,
        nodes=len(search.evaluated),
        lattice=search.lattice_costs.lattice,
        seconds=watch.seconds,
        complete=complete,
        cloud_k=np.array([point.k for point in evaluated], np.int64),
        cloud_loss=np.array([point.loss for point in evaluated]),
    )


def search_depth(spec: Spec, census: Census) -> int:
    """Return how many levels below a base its search descends.

    The average is taken over the attributes' heights: as many steps as take an attribute from its top to its values.
    """
    depth = spec.frontier.depth
    return ceil(sum(census.heights) / len(census.heights)) if depth == "average" else depth


@dataclass(frozen=True)
class Agreement:
    """How much of an exact front was found, and how much of what was found is on it; both are shares."""

    recall: float
    precision: float


def recall_precision(found: Front, exact: Front) -> Agreement:
    """Compare a front that was found with the exact one over nodes.

    Points agree if their k and loss do: nodes that tie in both are equally good.

    >>> point = Point(k=5, loss=0.5, suppressed=0, classes=2, levels=(1, 0))
    >>> front = Front(points=(point,), answers=(point,), least=2, nodes=1, lattice=4, seconds=0.0)
    >>> recall_precision(front, front)
    Agreement(recall=1.0, precision=1.0)
    """
    losses = {point.k: point.loss for point in exact.points}
    right = sum(isclose(point.loss, losses.get(point.k, np.nan), rel_tol=1e-9) for point in found.points)
    return Agreement(recall=right / len(exact.points), precision=right / len(found.points))


@dataclass
class _Searched:
    """The results of one base's searches by where they started, so that none is made twice."""

    height: dict[Levels, Point | None] = field(default_factory=dict)
    depth: dict[Levels, Point | None] = field(default_factory=dict)


class _PokaSearch:
    """POkA's height and depth search, over nodes that are evaluated once."""

    def __init__(self, census: Census, spec: Spec, watch: Watch) -> None:
        self.lattice_costs = NodeCosts(census, spec, least=1, by_one=True)
        self.watch, self.careful = watch, spec.frontier.careful
        self.depth = search_depth(spec, census)
        self.evaluated: dict[Levels, Point] = {}
        self.base = self.evaluate(census.heights)
        self.lists = _Searched()

    def evaluate(self, levels: Levels) -> Point:
        """Return what a node offers, looked up if it was not before."""
        if levels not in self.evaluated:
            self.evaluated[levels] = node_point(self.lattice_costs, self.lattice_costs.look_up(levels))
            self.watch.tick(None)
        return self.evaluated[levels]

    def next_to(self, base: Point) -> Point | None:
        """Return the node with the largest k below the base's and a smaller loss, as far as the searches reach."""
        self.base, self.lists = base, _Searched()
        return self._depth_search(base.levels)

    def _depth_search(self, levels: Levels) -> Point | None:
        """Return the best node above those nodes at or below this one that lie as deep as the search descends."""
        if levels not in self.lists.depth:
            if self._steps_below_base(levels) == self.depth or not any(levels):
                found = self._enter(levels)
            else:
                found = _best(self._depth_search(child) for child in _neighbours(levels, -1, levels))
            self.lists.depth[levels] = found
        return self.lists.depth[levels]

    def _height_search(self, levels: Levels, start: Point | None) -> Point | None:
        """Return the best node above this one, or `start`, which is this one if it may be the answer itself."""
        if levels not in self.lists.height:
            above = (self._enter(child) for child in _neighbours(levels, 1, self.lattice_costs.heights))
            self.lists.height[levels] = _best([start, *above])
        return self.lists.height[levels]

    def _enter(self, levels: Levels) -> Point | None:
        """Return the best node at or above this one, without looking further where k or loss reach the base's.

        Both grow upwards, so nothing above such a node can be the answer. A node below the base is not even evaluated
        unless it is next to it: its k is no larger than that of a neighbour of the base.
        """
        if not self.careful and self._steps_below_base(levels) > 1:
            return self._height_search(levels, None)
        point = self.evaluate(levels)
        smaller_k = point.k <= self.base.k if self.careful else point.k < self.base.k
        return self._height_search(levels, point) if smaller_k and _cheaper(point, self.base) else None

    def _steps_below_base(self, levels: Levels) -> int:
        """Return how many levels a node lies below the base; 0 if it is not below it in every attribute."""
        steps = [top - level for top, level in zip(self.base.levels, levels, strict=True)]
        return sum(steps) if min(steps) >= 0 else 0


def _neighbours(levels: Levels, step: int, ends: Sequence[int]) -> Iterator[Levels]:
    """Yield the nodes that are one level higher, or lower, in one attribute; `ends` are the highest levels there are,
    or, downwards, those that must not be 0."""
    for a, level in enumerate(levels):
        if (level < ends[a]) if step > 0 else (level > 0):
            yield (*levels[:a], level + step, *levels[a + 1 :])


def _best(points: Iterable[Point | None]) -> Point | None:
    """Return the point with the largest k, of those the cheapest, of those the one with the smallest levels."""
    best: Point | None = None
    for point in points:
        if point is None or point is best:
            continue
        if (
            best is None
            or point.k > best.k
            or (
                point.k == best.k
                and (_cheaper(point, best) or (not _cheaper(best, point) and point.levels < best.levels))
            )
        ):
            best = point
    return best


def _cheaper(one: Point, other: Point) -> bool:
    """Return whether one point costs less than another, by more than rounding."""
    return other.loss - one.loss > SAME * max(abs(one.loss), abs(other.loss))
