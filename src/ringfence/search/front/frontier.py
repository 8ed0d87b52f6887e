"""Frontier: every k at once. What each k costs, and the recoding that costs no more.

A *release* is a node of the level lattice at some k: the classes of fewer than k rows (or of fewer than k people, where
these are told apart) are suppressed, and these are at most as many rows as allowed. It dominates another if it promises
no less, loses no more, and is better in one of both. The front are the releases that none dominates.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.errors import SpecError, Unsatisfiable, these
from ringfence.judging.metrics import metric
from ringfence.judging.models import promise
from ringfence.kernels.front.costs_by_k import sweep
from ringfence.search.front.node_costs import NodeCosts, people_of, refuse_other_losses, walk
from ringfence.search.front.objectives import objective
from ringfence.search.progress import Watch
from ringfence.search.recode.lattice import SAME, FeasibleNode, level_spaces
from ringfence.spec import Spec

ROUNDING = 1e-9  # measures of l and t this close, relatively, are equal: they are sums of logarithms and of shares


@dataclass(frozen=True)
class Point:
    """A release: its k, loss, suppressed rows, published classes and levels in the order of the specification.

    `measured` is the l, p or t that it has, where the front shows one.
    """

    k: int
    loss: float
    suppressed: int
    classes: int
    levels: tuple[int, ...]
    measured: float | None = None


@dataclass(frozen=True, eq=False)
class Front:
    """The releases that none dominates, by rising k, and how they were found.

    `points` are the front. `answers` say what is best for every k: each has the largest k that it is best for. They are
    more than the points only where a smaller k has the same loss with fewer suppressed rows or, with a third objective,
    smaller levels. Of `lattice` nodes, `nodes` were evaluated; the exact search leaves out only nodes that can have no
    release for the smallest k. `complete` is false if the time was up before the last node: then these are the best of
    the nodes seen. `cloud_k` and `cloud_loss` are the nodes evaluated that have a release, those of the front too, each
    at the largest k that it can have. `objective` names the third objective (l, p or t), if there is one; of t less is
    better.
    """

    points: tuple[Point, ...]
    answers: tuple[Point, ...]
    least: int
    nodes: int
    lattice: int
    seconds: float
    complete: bool = True
    objective: str | None = None
    cloud_k: Longs = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    cloud_loss: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    def best(self, k: int) -> Point:
        """Return the cheapest release that holds for k; ties go to fewest suppressed rows, then the smallest levels."""
        if k < self.least:
            raise SpecError(f"k = {k} is below the front, which starts at {self.least}")
        place = bisect_left(self.answers, k, key=lambda point: point.k)
        if place == len(self.answers):
            raise Unsatisfiable(f"k = {k} is above the front: the largest k that is possible is {self.answers[-1].k}")
        return self.answers[place]


def exact_front(census: Census, spec: Spec, watch: Watch) -> Front:
    """Return the exact front of k and loss over the level lattice.

    With `frontier.points = "release"` it is over all pairs of a node and a k: the best for each k is what
    `search_levels` finds for it. With "nodes", as the paper has it, each node counts once, with the largest k that it
    can have: the largest j such that no more rows than may be suppressed lie in classes smaller than j. With one of
    `privacy.l`, `privacy.p` and `privacy.t`, it is over nodes that suppress nothing, and of three objectives: k, what
    the node has of the other, and loss. What `privacy` says are minima (for t, a maximum); k is at least 2.

    A node suppresses the same classes for every k between two sizes of classes that occur, and the larger stands for
    all. So a node offers as many releases as it has sizes, and the best for k is the best of those at k or above.

    Parameters
    ----------
    census
        What was counted, with the sensitive attributes that models and losses look at.
    spec
        `method.metric` is the loss, `method.suppression` the share of rows that may go.
    watch
        Counts the nodes. When its time is up, the front of the nodes so far is returned, marked as not complete.

    Raises
    ------
    Unsatisfiable
        If no node has a release for the smallest k.

    Examples
    --------
    Six people in three towns; half of them may be suppressed.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> town = {"role": "quasi", "hierarchy": "flat"}
    >>> spec = Spec(attributes={"town": town}, method={"metric": "dm", "suppression": 0.5})
    >>> census = take_census(pa.table({"town": ["a", "b", "c"], "rows": [3, 2, 1]}), spec, "rows")
    >>> front = exact_front(census, spec, Watch())
    >>> [(point.k, point.loss, point.suppressed, point.levels) for point in front.points]
    [(2, 19.0, 1, (0,)), (3, 27.0, 3, (0,)), (6, 36.0, 0, (1,))]
    >>> front.best(4).levels
    (1,)

    Dewri, Ray, Ray, Whitley: POkA: Identifying Pareto-Optimal k-Anonymous Nodes in a Domain Hierarchy Lattice. CIKM
    2009, sections 3 (domination) and 5 (one point per node). The front over pairs and the third objective are ours.
    """
    if spec.diversities() or spec.closenesses() or spec.privacy.p is not None:
        return _front_of_three(census, spec, watch)
    least = smallest_k(spec, census)
    lattice_costs = NodeCosts(census, spec, least)
    complete = lattice_costs.fill(watch)
    nodes = np.flatnonzero(lattice_costs.judged.k >= least)
    if len(nodes) == 0:
        raise Unsatisfiable(nothing_found(census, spec, watch, least, complete=complete))
    if spec.frontier.points == "release":
        answers = _cheapest_releases(lattice_costs)
    else:
        answers = [node_point(lattice_costs, int(node)) for node in _front_nodes(lattice_costs, nodes)]
    return Front(
        points=_falling_losses(answers),
        answers=tuple(answers),
        least=least,
        nodes=watch.nodes,
        lattice=lattice_costs.lattice,
        seconds=watch.seconds,
        complete=complete,
        cloud_k=lattice_costs.judged.k[nodes],
        cloud_loss=lattice_costs.judged.cost[nodes],
    )


def smallest_k(spec: Spec, census: Census) -> int:
    """Return where a front starts: at k = 2, or what the specification asks for if that is more."""
    return min(max(2, spec.privacy.k or 2), census.rows + 1)


def node_point(lattice_costs: NodeCosts, node: int) -> Point:
    """Return a node of a lattice at the largest k that it can have."""
    judged = lattice_costs.judged
    return Point(
        k=int(judged.k[node]),
        loss=float(judged.cost[node]),
        suppressed=int(judged.lost[node]),
        classes=int(judged.classes[node]),
        levels=lattice_costs.levels(node),
    )


def nothing_found(census: Census, spec: Spec, watch: Watch, least: int, *, complete: bool) -> str:
    """Say why a front is empty."""
    if not complete:
        return f"no release was found within method.time_limit = {watch.time_limit} seconds"
    limit = spec.row_limit(census.rows)
    allowed = f"with at most {limit} of them suppressed" if limit else "without suppression"
    return f"no full-domain recoding of {these(census.rows)} has a release for k = {least} {allowed}"


def undominated(k: Longs, goodness: Floats, loss: Floats) -> Longs:
    """Return which of some points no other dominates: k and goodness up, loss down; of equal points the first.

    Points are taken by rising loss, and of equal loss by falling k, then falling goodness: so a point is dominated, or
    equal to one before it, exactly if one that was kept before has no smaller k and no smaller goodness. `reach` keeps
    for each k the largest goodness among those kept with no smaller k.

    >>> undominated(np.array([2, 3, 3]), np.zeros(3), np.array([0.5, 0.2, 0.4])).tolist()
    [1]
    """
    places, levels = np.unique(k, return_inverse=True)[1], _ranks(goodness, ROUNDING)
    reach = np.full(len(k), -1)
    kept = []
    for point in np.lexsort((np.arange(len(k)), -levels, -places, _ranks(loss, SAME))).tolist():
        if reach[places[point]] < levels[point]:
            kept.append(point)
            below = reach[: places[point] + 1]
            np.maximum(below, levels[point], out=below)
    return np.array(sorted(kept, key=lambda point: (k[point], loss[point])), np.int64)


def _ranks(values: Floats, same: float) -> Longs:
    """Return the place of each value among all that differ, relatively, by more than `same`."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    differs = np.diff(ordered) > same * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(differs)])
    return ranks


def _front_nodes(lattice_costs: NodeCosts, nodes: Longs) -> Longs:
    """Return the nodes, of some, that no other dominates at its largest k, by rising k."""
    judged = lattice_costs.judged
    return nodes[undominated(judged.k[nodes], np.zeros(len(nodes)), judged.cost[nodes])]


def _cheapest_releases(lattice_costs: NodeCosts) -> list[Point]:
    """Return the cheapest release for every k, by rising k, each with the largest k that it is the cheapest for."""
    best, runs = lattice_costs.best, np.empty(len(lattice_costs.best.node), np.int64)
    count = sweep(best, runs)
    return [
        Point(
            k=k,
            loss=float(best.cost[k]),
            suppressed=int(best.lost[k]),
            classes=int(best.classes[k]),
            levels=lattice_costs.levels(int(best.node[k])),
        )
        for k in reversed(runs[:count].tolist())
    ]


def _falling_losses(answers: Sequence[Point]) -> tuple[Point, ...]:
    """Return the answers that lose less than all with a larger k."""
    points: list[Point] = []
    for point in reversed(answers):
        if not points or points[-1].loss - point.loss > SAME * abs(points[-1].loss):
            points.append(point)
    return tuple(reversed(points))


def _front_of_three(census: Census, spec: Spec, watch: Watch) -> Front:
    """Return the exact front of k, of l, p or t, and of loss, over nodes that suppress nothing."""
    if spec.method.suppression:
        raise SpecError(
            f"method.suppression = {spec.method.suppression}: a front with l, p or t is of releases that suppress"
            " nothing; leave it out, or set it to 0"
        )
    refuse_other_losses(spec)
    spaces, least = level_spaces(census), smallest_k(spec, census)
    roller, third, models = Roller(census, spaces), objective(spec, census), promise(spec, census)
    loss = metric(spec.method.metric, spec, census, roller, least)
    order = sorted(range(len(census.heights)), key=lambda a: (-census.quasi[a].occurring, a))
    found: list[Point] = []
    complete = True
    for levels, classes in walk(roller, order, values=True):
        if watch.expired():
            complete = False
            break
        watch.tick(None)
        sizes = classes.weights[: classes.size] if census.people is None else people_of(classes, census.people)
        k = int(sizes.min())
        if k >= least and models.judge(classes) == 0:
            cost = float(loss.cost(levels, classes))
            found.append(Point(k, cost, 0, classes.size, tuple(levels), third.measure(classes)))
    if not found:
        raise Unsatisfiable(nothing_found(census, spec, watch, least, complete=complete))
    found.sort(key=lambda point: point.levels)
    ks, costs = np.array([point.k for point in found]), np.array([point.loss for point in found])
    goodness = third.goodness(np.array([point.measured for point in found]))
    points = [found[place] for place in undominated(ks, goodness, costs)]
    return Front(
        points=tuple(points),
        answers=_cheapest_nodes(found),
        least=least,
        nodes=watch.nodes,
        lattice=int(np.prod([height + 1 for height in census.heights])),
        seconds=watch.seconds,
        complete=complete,
        objective=third.name,
        cloud_k=ks,
        cloud_loss=costs,
    )


def _cheapest_nodes(found: Sequence[Point]) -> tuple[Point, ...]:
    """Return the cheapest of some nodes for every k, by rising k, each with the largest k that it is cheapest for."""
    answers: list[Point] = []
    best: FeasibleNode | None = None
    for point in sorted(found, key=lambda point: (-point.k, point.levels)):
        candidate = FeasibleNode(point.levels, point.loss, point.suppressed)
        if candidate.beats(best):
            best = candidate
            if answers and answers[-1].k == point.k:
                answers.pop()
            answers.append(point)
    return tuple(reversed(answers))
