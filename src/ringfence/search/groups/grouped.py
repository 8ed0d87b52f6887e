"""Groups of rows: what a specification asks of them, and what is decided once they are found."""

from dataclasses import replace

from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.judging.metrics import measure_groups
from ringfence.plans.group import group_plan
from ringfence.search.decision import Decision, complete_columns
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.dual_bound import dual_bound
from ringfence.search.groups.purpose import wants_counts
from ringfence.search.groups.row_bound import row_bound
from ringfence.search.progress import SearchResult, Watch
from ringfence.spec import Spec
from ringfence.values.builders import self_contained

LEAST_LOOSE = 3
"""Rows of a group under loose labels: of two rows, a label with two values under it tells both."""


def shown_as(census: Census, spec: Spec) -> tuple[Representation, ...]:
    """Return how groups show each attribute of a census."""
    return tuple(map(spec.shown_as, census.names))


def with_least_rows(spec: Spec) -> Spec:
    """Return a specification whose k is as large as loose labels need it."""
    if not spec.has_loose_labels or spec.k >= LEAST_LOOSE:
        return spec
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": LEAST_LOOSE})})


def _kept(minimized: str) -> Kept:
    """Return what groups are searched by where a loss is to be small: methods of other losses go by `glm`."""
    return "gcp" if minimized == "gcp" else "use" if minimized == "use" else "glm"


def groups_asked(census: Census, spec: Spec) -> GroupsAsked:
    """Return what a specification asks of groups, for every method that makes some."""
    return GroupsAsked(
        k=with_least_rows(spec).k,
        least_values=tuple(spec.least_values(part.name) for part in census.sensitive),
        representation=shown_as(census, spec),
        loss=_kept(spec.method.minimized),
        limit=spec.row_limit(census.rows),
        priced=wants_counts(spec),
    )


def groups_decision(census: Census, spec: Spec, groups: Groups, result: SearchResult | None) -> Decision:
    """Turn groups into a plan that publishes each attribute in its representation.

    A search may have gone by a loss that differs a little from the one that is measured (`search.groups.distances`):
    what it reports is what is measured.
    """
    shown = cover_groups(census, groups, shown_as(census, spec))
    plan = group_plan(census, groups, shown, complete_columns(census, spec), self_contained(spec).dumps())
    metrics = measure_groups(census, spec, groups.sizes, shown)
    found = None if result is None else replace(result, cost=metrics[spec.method.minimized])
    return Decision(plan, found, metrics)


def decided(census: Census, spec: Spec, groups: Groups, result: SearchResult | None, watch: Watch) -> Decision:
    """Turn groups into a plan, and say what no release of groups can lose less than."""
    return proven(census, spec, groups_decision(census, spec, groups, result), groups, watch)


def proven(census: Census, spec: Spec, decision: Decision, groups: Groups, watch: Watch) -> Decision:
    """Say of a decision what no release of its kind can lose less than, by a certificate if one is asked for.

    Groups are where its search begins: those that are decided on, or rings.
    """
    decision = bounded(census, spec, decision, watch)
    search = decision.search
    if spec.method.bound != "dual" or search is None:
        return decision
    k, kept = least_rows(census, spec), _kept(spec.method.minimized)
    watch.begun()  # there are groups: whatever is proven of them, there is something to say
    found = dual_bound(census, k, shown_as(census, spec), kept, groups, watch, search.cost)
    if found is not None and search.optimal:
        return replace(decision, certificate=found)
    if found is None or found.bound <= search.bound:
        return decision
    search = replace(search, bound=min(found.bound, search.cost), certificate="dual", seconds=watch.seconds)
    return replace(decision, search=search, certificate=found)


def least_rows(census: Census, spec: Spec) -> int:
    """Return how many rows every group has at least: one that has l values of an attribute has l rows. In rings, it is
    how many rows every label covers."""
    if spec.has_rings:
        return spec.k
    return max([with_least_rows(spec).k, *(spec.least_values(part.name) for part in census.sensitive)])


def bounded(census: Census, spec: Spec, decision: Decision, watch: Watch) -> Decision:
    """Say of a decision what no release of its kind can lose less than (`row_bound`).

    Rings of different values are of a kind of their own.
    """
    minimized, k = spec.method.minimized, least_rows(census, spec)
    effort = spec.method.effort if "effort" in spec.method.traits.options else "fast"
    bound = row_bound(census, k, shown_as(census, spec), _kept(minimized), watch, effort)
    cost = decision.metrics[minimized]
    search = decision.search or SearchResult(
        cost=cost, optimal=cost == 0, bound=0.0, nodes=int(decision.metrics["classes"]), pruned=0, seconds=watch.seconds
    )
    if bound > search.bound:
        search = replace(search, bound=bound, certificate="row")
    return replace(decision, search=search)
