"""The methods by name: from a census and a specification to a plan, its search and its metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import floor
from typing import Any

import numpy as np

from ringfence.anatomy_plan import AnatomyPlan, anatomy_plan
from ringfence.builders import self_contained
from ringfence.census import Census
from ringfence.classes import Classes, Roller
from ringfence.covers import cover_groups
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.group_plan import GroupPlan, group_plan
from ringfence.groups import Groups
from ringfence.item_plan import ItemPlan
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.metrics import cell_losses, full_loss, hdm_tallies, measure, measure_groups, metric
from ringfence.models import Promise, promise
from ringfence.plan import GlobalPlan, column_plan
from ringfence.recoding import Recoding, at_level
from ringfence.ring_plan import RingPlan
from ringfence.search import auto
from ringfence.search.anatomy import anatomize
from ringfence.search.by_rows import starts_by_rows
from ringfence.search.cluster import cluster, diversity_weights
from ringfence.search.composites import Composed, compose, search_composites
from ringfence.search.hilbert import hilbert
from ringfence.search.items import BasketDecision
from ringfence.search.lattice import level_spaces, search_levels
from ringfence.search.local import local
from ringfence.search.merging import Terms
from ringfence.search.mondrian import mondrian
from ringfence.search.optimal import climbs, search_partitions
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.ring import Rings, cover_slots, ring_plan, rings_by_quasi_identifiers
from ringfence.search.ring_diversity import ring_width, rings_as_printed, rings_of_different_values
from ringfence.spaces import Space
from ringfence.spec import Diversity, Spec

MOST = 2**31 - 1
"""More people than this are not told apart: their numbers have 32 bits."""

Plan = GlobalPlan | GroupPlan | RingPlan | ItemPlan | AnatomyPlan


@dataclass(frozen=True)
class Decision:
    """What is to be done, how well that was searched, and what it costs.

    `basket` is what was decided on baskets, where rows have them. With the method `itemsets`, its plan is the plan.
    """

    plan: Plan
    search: SearchResult | None
    metrics: dict[str, float]
    basket: BasketDecision | None = None
    composed: Composed | None = None
    """Whose rows are suppressed, where those of a person stay together."""

    def with_baskets(self, basket: BasketDecision) -> "Decision":
        """Return the decision on rows together with that on their baskets."""
        return replace(self, metrics={**self.metrics, "item_ncp": basket.search.cost}, basket=basket)

    @property
    def recodes_values(self) -> bool:
        """Whether each value is recoded the same way everywhere."""
        return isinstance(self.plan, GlobalPlan)

    @property
    def row_plan(self) -> GlobalPlan | GroupPlan | RingPlan:
        """The plan of rows with quasi-identifiers, whatever is done to their baskets."""
        assert not isinstance(self.plan, ItemPlan | AnatomyPlan), "such a plan leaves quasi-identifiers as they are"
        return self.plan

    @property
    def recoding(self) -> GlobalPlan:
        """The plan of a method that recodes each value the same way everywhere."""
        assert isinstance(self.plan, GlobalPlan), "other plans recode rows or baskets, not values"
        return self.plan


def decide(census: Census, spec: Spec, watch: Watch) -> Decision:
    """Find the plan that a specification asks for."""
    return METHODS[spec.method.name](census, spec, watch)


def _optimal(census: Census, spec: Spec, watch: Watch) -> Decision:
    """The cheapest recoding of a scheme, proven."""
    if spec.data.composite:
        limit = row_limit(spec, census.rows)
        levels, result = search_composites(census, spec, limit=limit, watch=watch)
        return composite_decision(census, spec, levels, result)
    return best_recodings(census, spec, watch)[0]


def best_recodings(
    census: Census, spec: Spec, watch: Watch, start: Sequence[Any] = ()
) -> tuple[Decision, tuple[Any, ...]]:
    """Return the cheapest recoding of the attributes' schemes, and its states in their spaces.

    `start` are states of which something is known to be feasible: where a search improves answers, it begins there.
    """
    models, limit = promise(spec, census), row_limit(spec, census.rows)
    tallied = hdm_tallies(census) if spec.method.metric == "hdm" else []
    schemes = [spec.scheme_of(name) for name in census.names]
    if {*schemes} == {"level"} and spec.method.search == "auto":
        lattice = level_spaces(census)
        roller = Roller(census, lattice, tallied)
        loss = metric(spec.method.metric, spec, census, roller, models.least)
        levels, result = search_levels(census, roller, models, loss, limit=limit, watch=watch)
        recodings = [space[level] for space, level in zip(lattice, levels, strict=True)]
        return decision_for(census, spec, models, levels, recodings, result), tuple(levels)
    spaces = [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)]
    roller = Roller(census, spaces, tallied)
    loss = metric(spec.method.metric, spec, census, roller, models.least)
    terms = Terms(
        models, limit, census.rows, cell_losses(spec.method.metric, census), full_loss(spec.method.metric, census)
    )
    additive = spec.method.metric not in ("ce", "aecs")
    if spec.method.search == "auto" and additive and terms.applies(census) and auto.has_program(spaces):
        node, result = auto.search(census, spaces, roller, loss, terms, watch, start)
    else:
        starts = [tuple(space.position(state) for space, state in zip(spaces, start, strict=True))] if start else []
        if spec.method.search == "auto" and additive and census.people is not None and auto.has_program(spaces):
            starts += starts_by_rows(census, spec, spaces, judged(roller, models, limit), limit, watch)
        up = climbs(spaces, spec)
        node, result = search_partitions(
            census, spaces, roller, models, loss, limit=limit, watch=watch, up=up, starts=starts
        )
    placed = list(zip(spaces, node, strict=True))
    reached = [space.level(position) for space, position in placed]
    decision = decision_for(census, spec, models, reached, [space[position] for space, position in placed], result)
    return decision, tuple(space.state(position) for space, position in placed)


def judged(roller: Roller, models: Promise, limit: int) -> Callable[[tuple[int, ...]], bool]:
    """Return what says of a node whether it holds with so many rows suppressed."""
    room = roller.room()

    def holds(node: tuple[int, ...]) -> bool:
        classes = roller.roll(roller.finest, roller.fields(list(enumerate(node))), room)
        return models.judge(classes) <= min(limit, roller.census.rows - 1)

    return holds


def _levels(census: Census, spec: Spec, watch: Watch) -> Decision:  # noqa: ARG001
    """Publish at the levels that the user names; attributes not named stay as they are."""
    chosen = spec.method.levels or {}
    for name, height in zip(census.names, census.heights, strict=True):
        if chosen.get(name, 0) > height:
            raise SpecError(f"method.levels.{name} = {chosen[name]} is above the hierarchy; allowed: 0 to {height}")
    levels = [chosen.get(name, 0) for name in census.names]
    if spec.data.composite:
        return composite_decision(census, spec, levels, None)
    recodings = [at_level(quasi.hierarchy, level) for quasi, level in zip(census.quasi, levels, strict=True)]
    return decision_for(census, spec, promise(spec, census), levels, recodings, None)


def composite_decision(census: Census, spec: Spec, levels: Sequence[int], result: SearchResult | None) -> Decision:
    """Publish at some levels all rows of the people whose records enough others share."""
    recodings = [at_level(quasi.hierarchy, level) for quasi, level in zip(census.quasi, levels, strict=True)]
    composed, limit = compose(census, spec, recodings), row_limit(spec, census.rows)
    if composed.suppressed > limit or composed.suppressed == census.rows:
        raise Unsatisfiable(
            f"for all rows of a person together to be those of k = {spec.privacy.k} people at these levels,"
            f" {composed.suppressed} of {census.rows} rows would have to be suppressed, and at most"
            f" {min(limit, census.rows - 1)} may be"
        )
    plan = GlobalPlan(
        columns={q.name: column_plan(j, r) for q, j, r in zip(census.quasi, levels, recodings, strict=True)},
        suppressed=(),
        suppressed_rows=composed.suppressed,
        masked=False,
        complete=tuple(_complete_columns(census, spec)),
        spec=self_contained(spec).dumps(),
    )
    return Decision(plan, result, composed.metrics, composed=composed)


def _cluster(census: Census, spec: Spec, watch: Watch) -> Decision:
    """Clusters of rows within boundaries, with p different values of every sensitive attribute."""
    least = [least_values(spec, part.name) for part in census.sensitive]
    given = [
        None if part.name == census.entity else spec.attributes[part.name].diversity_weight for part in census.sensitive
    ]
    found = cluster(
        census,
        k=spec.privacy.k or 1,
        least_values=least,
        weights=diversity_weights(census, given).tolist(),
        ties=spec.method.ties,
        max_group=spec.method.max_group,
        limit=row_limit(spec, census.rows),
        watch=watch,
    )
    return groups_decision(census, spec, found.groups, found.search)


def _hilbert(census: Census, spec: Spec, watch: Watch) -> Decision:
    """Neighbours on a Hilbert curve, in groups that lose least along it."""
    groups, result = hilbert(
        census,
        k=spec.privacy.k or 1,
        least_values=[least_values(spec, part.name) for part in census.sensitive],
        representation=spec.method.shown_as,
        loss="gcp" if spec.method.minimized == "gcp" else "glm",
        limit=row_limit(spec, census.rows),
        watch=watch,
    )
    return _measured(groups_decision(census, spec, groups, result), spec)


def _mondrian(census: Census, spec: Spec, watch: Watch) -> Decision:
    """The table cut at medians, as long as both halves satisfy the models."""
    groups = mondrian(
        census,
        promise(spec, census, room=census.rows),
        relaxed=spec.method.relaxed,
        representation=spec.method.shown_as,
        limit=row_limit(spec, census.rows),
        watch=watch,
    )
    return groups_decision(census, spec, groups, None)


def _local(census: Census, spec: Spec, watch: Watch) -> Decision:
    """Groups that lose as little as effort can make them."""
    groups, result = local(
        census,
        k=spec.privacy.k or 1,
        least_values=[least_values(spec, part.name) for part in census.sensitive],
        representation=spec.method.shown_as,
        loss="gcp" if spec.method.minimized == "gcp" else "glm",
        effort=spec.method.effort,
        seed=spec.method.seed or 0,
        limit=row_limit(spec, census.rows),
        watch=watch,
    )
    return _measured(groups_decision(census, spec, groups, result), spec)


def _measured(decision: Decision, spec: Spec) -> Decision:
    """Let a search report the loss as it is measured, where it went by one that differs a little (`search.spans`)."""
    assert decision.search is not None
    return replace(decision, search=replace(decision.search, cost=decision.metrics[spec.method.minimized]))


def groups_decision(census: Census, spec: Spec, groups: Groups, result: SearchResult | None) -> Decision:
    """Turn groups into a plan that publishes them in the representation that is asked for."""
    shown = cover_groups(census, groups, spec.method.shown_as)
    plan = group_plan(census, groups, shown, _complete_columns(census, spec), self_contained(spec).dumps())
    return Decision(plan, result, measure_groups(census, spec, groups.sizes, shown))


def _ring(census: Census, spec: Spec, watch: Watch) -> Decision:
    """Rings of rows, each row under a value that covers just as many rows as are asked for."""
    method, limit = spec.method, row_limit(spec, census.rows)
    protected = spec.diversities()
    if protected:
        rings = _diverse_rings(census, spec, protected[0], limit)
    else:
        rings = rings_by_quasi_identifiers(
            census,
            k=spec.privacy.k or 1,
            partition="lexicographic" if method.parted == "lexicographic" else "whole",
            groups=_groups_under(census, spec, watch),
            order=method.order,
            max_ring=method.max_ring,
            cut=not method.homogeneous or method.parted == "whole",
            representation=method.shown_as,
            metric="glm" if method.minimized == "glm" else "gcp",
            limit=limit,
        )
    if method.homogeneous:
        return groups_decision(census, spec, rings.as_groups(), _unbounded(census, spec, rings.as_groups(), watch))
    slots = cover_slots(census, rings, method.shown_as)
    metrics = measure_groups(census, spec, slots.sizes, slots.shown)
    for name in ("dm", "aecs"):  # they speak of classes: rows that show the same. Here those say nothing
        del metrics[name]
    plan = ring_plan(census, rings, slots, _complete_columns(census, spec), self_contained(spec).dumps())
    return Decision(plan, _found(metrics[method.minimized], len(rings.starts) - 1, watch), metrics)


def _groups_under(census: Census, spec: Spec, watch: Watch) -> Groups | None:
    """Return the groups of another method that rings are to lie within, by quasi-identifiers alone; None for none."""
    k, limit, alike = spec.privacy.k or 1, row_limit(spec, census.rows), [1] * len(census.sensitive)
    shown = spec.method.shown_as
    match spec.method.parted:
        case "cluster":
            return cluster(census, k=k, least_values=alike, limit=limit, watch=watch).groups
        case "hilbert":
            return hilbert(census, k=k, least_values=alike, representation=shown, limit=limit, watch=watch)[0]
        case "mondrian":
            models = promise(spec, census, room=census.rows)
            return mondrian(census, models, relaxed=False, representation=shown, limit=limit, watch=watch)
        case "local":
            effort, seed = spec.method.effort, spec.method.seed or 0
            return local(
                census,
                k=k,
                least_values=alike,
                representation=shown,
                effort=effort,
                seed=seed,
                limit=limit,
                watch=watch,
            )[0]
    return None


def _diverse_rings(census: Census, spec: Spec, asked: Diversity, limit: int) -> Rings:
    """Rings in which the values of a sensitive attribute differ."""
    attribute, l = [part.name for part in census.sensitive].index(asked.of or ""), int(asked.value)  # noqa: E741
    stream = new_stream(secret_key("split", spec.method.seed))
    if spec.method.paper_diversity:
        return rings_as_printed(census, attribute, l=l, limit=limit, stream=stream)
    width = ring_width(spec.privacy.k, l)
    return rings_of_different_values(
        census, attribute, width=width, order=spec.method.order, limit=limit, stream=stream
    )


def _unbounded(census: Census, spec: Spec, groups: Groups, watch: Watch) -> SearchResult:
    shown = cover_groups(census, groups, spec.method.shown_as)
    return _found(measure_groups(census, spec, groups.sizes, shown)[spec.method.minimized], groups.count, watch)


def _found(cost: float, parts: int, watch: Watch) -> SearchResult:
    """Return the result of a search that says nothing about what others could find."""
    return SearchResult(cost=cost, optimal=cost == 0, bound=0.0, nodes=parts, pruned=0, seconds=watch.seconds)


def _anatomy(census: Census, spec: Spec, watch: Watch) -> Decision:  # noqa: ARG001
    """Buckets of rows with different values of the sensitive attribute; nothing else is changed, so nothing is lost."""
    asked = spec.diversities()[0]
    attribute = [part.name for part in census.sensitive].index(asked.of or "")
    seed = None if spec.method.seed is None else spec.method.seed % 2**64
    groups = anatomize(census, attribute, int(asked.value), seed)
    plan = anatomy_plan(census, groups, _complete_columns(census, spec), self_contained(spec).dumps())
    return Decision(plan, None, {"rows": census.rows, "suppressed": 0, "buckets": groups.count})


def least_values(spec: Spec, name: str) -> int:
    """Return how many different values of a sensitive attribute a class must have; of the people, k."""
    if name == spec.data.entity:
        return min(spec.privacy.k or 1, MOST)
    asked = [int(part.value) for part in spec.diversities() if part.of == name]
    return max([1, *asked, *([spec.privacy.p] if spec.privacy.p and name in spec.of_role("sensitive") else [])])


def decision_on_baskets(basket: BasketDecision, rows: int) -> Decision:
    """Return the decision where there is nothing but baskets: no row is suppressed."""
    metrics = {"ncp": basket.search.cost, "rows": rows, "suppressed": 0}
    return Decision(basket.plan, basket.search, metrics, basket)


METHODS: dict[str, Callable[[Census, Spec, Watch], Decision]] = {
    "optimal": _optimal,
    "levels": _levels,
    "cluster": _cluster,
    "ring": _ring,
    "hilbert": _hilbert,
    "mondrian": _mondrian,
    "local": _local,
    "anatomy": _anatomy,
}


def row_limit(spec: Spec, rows: int) -> int:
    """Return how many rows may be suppressed: the whole part of the share, computed as the decimal that was written."""
    return floor(Decimal(str(spec.method.suppression_limit)) * rows)


def decision_for(
    census: Census,
    spec: Spec,
    models: Promise,
    levels: Sequence[int | None],
    recodings: Sequence[Recoding],
    result: SearchResult | None,
    gone: int = 0,
) -> Decision:
    """Turn recodings into a plan: judge its classes once more, and list those that fail.

    `gone` rows are suppressed already, for other reasons.
    """
    roller = Roller(census, [[recoding] for recoding in recodings])
    classes = roller.roll(roller.finest, roller.fields([(a, 0) for a in range(len(recodings))]), roller.room())
    suppressed = models.judge(classes)
    rows, limit = census.rows + gone, row_limit(spec, census.rows + gone)
    if suppressed + gone > limit or suppressed == census.rows:
        raise Unsatisfiable(
            f"to satisfy {models.wording} at these levels, {suppressed + gone} of {rows} rows would have to be"
            f" suppressed, and at most {min(limit, rows - 1)} may be"
        )
    if not models.rest_holds(classes):
        raise Unsatisfiable("at these levels, the classes that remain are not t-close to what is published of them")
    failing = np.flatnonzero(classes.fails[: classes.size])
    plan = GlobalPlan(
        columns={
            quasi.name: column_plan(level, recoding)
            for quasi, level, recoding in zip(census.quasi, levels, recodings, strict=True)
        },
        suppressed=_leaves_of(census, classes, recodings, failing),
        suppressed_rows=suppressed,
        masked=spec.method.keep_suppressed and suppressed > 0 and models.holds_as_one(classes, failing),
        complete=tuple(_complete_columns(census, spec)),
        spec=self_contained(spec).dumps(),
    )
    return Decision(plan, result, measure(census, spec, recodings, models))


def _leaves_of(
    census: Census, classes: Classes, recodings: Sequence[Recoding], chosen: "np.typing.NDArray[np.intp]"
) -> tuple[tuple[int, ...], ...]:
    """Return the leaves that stand for the blocks of some classes, in lexicographic order."""
    _, example = np.unique(classes.member[: len(census.weights)], return_index=True)
    codes = census.codes[example[chosen]]
    leaves = np.stack([recoding.blocks[codes[:, a]] for a, recoding in enumerate(recodings)], axis=1)
    return tuple(sorted(map(tuple, leaves.tolist())))


def _complete_columns(census: Census, spec: Spec) -> list[str]:
    """Return the columns in which rows must not miss a value."""
    if spec.data.missing != "suppress":
        return []
    return list(dict.fromkeys([*census.names, *(part.name for part in census.sensitive)]))
