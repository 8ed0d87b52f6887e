"""The front over schemes other than levels: the best recoding for some chosen k, each searched by itself.

There are too many recodings to look at all of them, as the front over levels does. But what is known of one k helps
with the others. What holds for a k holds for every smaller one, at no more loss: rows that the larger k suppresses cost
at least as much as published ones. So searches go from the largest k down, each from the answer of the one before, and
what no recoding can go below for a k, none can for a larger one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ringfence.census.census import Census
from ringfence.declared import METRICS
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.events import Listener
from ringfence.plans.recode import GlobalPlan
from ringfence.search.decision import Decision
from ringfence.search.front.frontier import Front, exact_front
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.recode.schemes import best_recodings
from ringfence.spec import Spec

Decide = Callable[[Census, Spec, Watch], Decision]
"""What decides for one k."""

USUAL = (2, 3, 5, 10, 20, 50, 100)
"""The k that are shown if none are chosen."""


@dataclass(frozen=True, eq=False)
class SchemePoint:
    """The best that was found for a k, and how good that is known to be."""

    k: int
    decision: Decision
    search: SearchResult

    @property
    def loss(self) -> float:
        """What it costs."""
        return self.search.cost


@dataclass(frozen=True, eq=False)
class SchemeFront:
    """What the chosen k cost, by rising k, beside the front over levels where the attributes have them.

    `impossible` are the chosen k that no recoding satisfies.
    """

    points: tuple[SchemePoint, ...]
    levels: Front | None
    impossible: tuple[int, ...]
    seconds: float

    def best(self, k: int) -> SchemePoint:
        """Return the point for k, or for the smallest chosen k above it: what holds there holds for k."""
        if k < 1:
            raise SpecError(f"k = {k}; allowed: 1 or more")
        for point in self.points:
            if point.k >= k:
                return point
        raise Unsatisfiable(f"k = {k} is above the front: the largest k that was looked at and is possible is"
                            f" {self.points[-1].k}")  # fmt: skip

    def level_loss(self, k: int) -> float | None:
        """Return what the best recoding by levels costs for k, if there is one."""
        if self.levels is None or k > self.levels.answers[-1].k:
            return None
        return self.levels.best(max(k, self.levels.least)).loss


def scheme_front(census: Census, spec: Spec, watch: Watch) -> SchemeFront:
    """Return the best recodings of the attributes' schemes for each k of `frontier.k`.

    Each k is searched as `method.search` says, the largest first. `method.time_limit` is for all of them together: each
    gets its share of what is left. A point whose search was ended early says so, with what none can go below.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> tree = {"tree": {"x": ["a", "b"], "y": ["c"]}}
    >>> spec = Spec(
    ...     attributes={"town": {"role": "quasi", "hierarchy": tree}},
    ...     method={"scheme": "set", "metric": "dm", "suppression": 0},
    ...     frontier={"k": [2, 3]},
    ... )
    >>> census = take_census(pa.table({"town": ["a", "b", "c"], "rows": [3, 1, 1]}), spec, "rows")
    >>> front = scheme_front(census, spec, Watch())
    >>> [(point.k, point.loss, point.search.optimal, front.level_loss(point.k)) for point in front.points]
    [(2, 13, True, 25.0), (3, 25, True, 25.0)]
    """
    chosen = sorted({*(spec.frontier.k or [k for k in USUAL if k <= census.rows // 2] or [2])})
    levels = _over_levels(census, spec, watch)
    points: list[SchemePoint] = []
    impossible: list[int] = []
    known: list[GlobalPlan] = []
    for place, k in enumerate(reversed(chosen)):
        left = None if watch.time_limit is None else max(0.0, watch.time_limit - watch.seconds) / (len(chosen) - place)
        asked = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": k})})
        own = Watch(left, None if watch.listener is None else _telling(watch.listener, k))
        try:
            with own.compiling_apart():
                decision = best_recodings(census, asked, own, known)
        except Unsatisfiable:
            impossible.append(k)
            continue
        assert decision.search is not None, "recodings of schemes are searched"
        known = [decision.recoding]
        points.append(SchemePoint(k, decision, decision.search))
    if not points:
        raise Unsatisfiable(f"no recoding of these schemes is possible for any k of {chosen}")
    return SchemeFront(_with_rising_bounds(points[::-1]), levels, tuple(sorted(impossible)), watch.seconds)


def chosen_front(census: Census, spec: Spec, watch: Watch, decide: Decide) -> SchemeFront:
    """Return what a method finds for each k of `frontier.k`, each searched by itself: for groups of rows, and for
    recodings by levels with further models and suppression.

    Nothing is concluded from one k for another: which rows are suppressed for t or for varied values depends on k.
    """
    chosen = sorted({*(spec.frontier.k or [k for k in USUAL if k <= census.rows // 2] or [2])})
    points: list[SchemePoint] = []
    impossible: list[int] = []
    for place, k in enumerate(chosen):
        left = None if watch.time_limit is None else max(0.0, watch.time_limit - watch.seconds) / (len(chosen) - place)
        asked = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": k})})
        own = Watch(left, None if watch.listener is None else _telling(watch.listener, k))
        try:
            decision = decide(census, asked, own)
        except Unsatisfiable:
            impossible.append(k)
            continue
        cost = decision.metrics[spec.method.minimized]
        found = decision.search or SearchResult(cost, cost == 0, 0.0, own.nodes, 0, own.seconds)
        points.append(SchemePoint(k, decision, replace(found, cost=cost)))
    if not points:
        raise Unsatisfiable(f"no release is possible for any k of {chosen}")
    return SchemeFront(tuple(points), None, tuple(impossible), watch.seconds)


def _telling(listener: Listener, k: int) -> Listener:
    """Return a listener that says which k is being searched."""
    return lambda event: listener(replace(event, what=f"{event.what} for k = {k}"))


def _over_levels(census: Census, spec: Spec, watch: Watch) -> Front | None:
    """Return the front over levels, where every attribute has a hierarchy and the loss can be shown for all k."""
    names = census.names
    if not METRICS[spec.method.metric].every_k or any(spec.attributes[name].hierarchy is None for name in names):
        return None
    if spec.diversities() or spec.closenesses() or spec.privacy.p is not None:
        return None  # it would have three objectives
    method = spec.method.model_copy(update={"scheme": "level", "search": "auto"})
    attributes = {name: part.model_copy(update={"scheme": None}) for name, part in spec.attributes.items()}
    frontier = spec.frontier.model_copy(update={"k": None, "points": "release"})
    plain = spec.model_copy(update={"method": method, "attributes": attributes, "frontier": frontier})
    try:
        return exact_front(census, plain, Watch(watch.time_limit, watch.listener))
    except Unsatisfiable:
        return None


def _with_rising_bounds(points: list[SchemePoint]) -> tuple[SchemePoint, ...]:
    """Raise what is known of each point to what is known of smaller k, and mark those that are proven by it."""
    found, reached = [], 0.0
    for point in points:
        reached = max(reached, point.search.bound)
        proven = point.search.optimal or reached >= point.loss * (1 - 1e-12)
        bound = point.loss if proven else reached
        search = replace(point.search, bound=bound, optimal=proven)
        found.append(replace(point, search=search, decision=replace(point.decision, search=search)))
    return tuple(found)
