"""Rings decided on: which rows lie in which ring, and what each of their slots is published as."""

from ringfence.census.census import Census
from ringfence.census.covers import cover_groups
from ringfence.census.groups import Groups
from ringfence.judging.metrics import measure_groups
from ringfence.judging.models import promise
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.search.decision import Decision, complete_columns
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.grouped import groups_decision, shown_as
from ringfence.search.groups.ring import Rings, cover_slots, ring_plan, rings_by_quasi_identifiers
from ringfence.search.groups.ring_diversity import ring_width, rings_of_different_values
from ringfence.search.groups.ring_printed import rings_as_printed
from ringfence.search.groups.shards import in_shards
from ringfence.search.progress import SearchResult, Watch
from ringfence.spec import Spec
from ringfence.spec.privacy import Diversity
from ringfence.values.builders import self_contained


def decide_rings(census: Census, spec: Spec, watch: Watch) -> tuple[Decision, Groups]:
    """Rings of rows, each row under a value that covers just as many rows as are asked for; and the rings as groups."""
    method = spec.method
    rings, _ = in_shards(census, spec, watch, _rings)
    groups = rings.as_groups()
    if method.homogeneous:
        return groups_decision(census, spec, groups, _unbounded(census, spec, groups, watch)), groups
    slots = cover_slots(census, rings, shown_as(census, spec))
    metrics = measure_groups(census, spec, slots.sizes, slots.shown)
    for name in ("dm", "aecs"):  # they speak of classes: rows that show the same. Here those say nothing
        del metrics[name]
    written = self_contained(spec).dumps()
    plan = ring_plan(census, rings, slots, complete_columns(census, spec), written, draw=method.draw)
    return Decision(plan, _found(metrics[method.minimized], len(rings.starts) - 1, watch), metrics), groups


def _rings(census: Census, spec: Spec, watch: Watch) -> tuple[Rings, None]:
    """Return the rings of a census."""
    method, limit, protected = spec.method, spec.row_limit(census.rows), spec.diversities()
    if protected:
        return _diverse_rings(census, spec, protected[0], limit), None
    rings = rings_by_quasi_identifiers(
        census,
        k=spec.k,
        partition="lexicographic" if method.parted == "lexicographic" else "whole",
        groups=_groups_under(census, spec, watch),
        order=method.order,
        max_ring=method.max_ring,
        cut=not (method.uncut or (method.homogeneous and method.parted != "whole")),
        representation=shown_as(census, spec),
        metric="glm" if method.minimized == "glm" else "gcp",
        limit=limit,
    )
    return rings, None


def _groups_under(census: Census, spec: Spec, watch: Watch) -> Groups | None:
    """Return the groups of another method that rings are to lie within, by quasi-identifiers alone; None for none."""
    method, alike = spec.method, (1,) * len(census.sensitive)
    asked = GroupsAsked(spec.k, alike, representation=shown_as(census, spec), limit=spec.row_limit(census.rows))
    match method.parted:
        case "cluster":
            from ringfence.search.groups.cluster import cluster

            return cluster(census, asked, watch=watch).groups
        case "hilbert":
            from ringfence.search.groups.hilbert import hilbert

            return hilbert(census, asked, watch=watch)[0]
        case "mondrian":
            from ringfence.search.groups.mondrian import mondrian

            models = promise(spec, census, room=census.rows)
            return mondrian(census, models, representation=asked.representation, limit=asked.limit, watch=watch)
        case "local":
            from ringfence.search.groups.local import local

            return local(census, asked, effort=method.effort, seed=method.fixed_seed, watch=watch)[0]
    return None


def _diverse_rings(census: Census, spec: Spec, asked: Diversity, limit: int) -> Rings:
    """Rings in which the values of a sensitive attribute differ."""
    attribute, l = [part.name for part in census.sensitive].index(asked.attribute), int(asked.value)  # noqa: E741
    stream = new_stream(secret_key("split", spec.method.seed))
    if spec.method.paper_diversity:
        return rings_as_printed(census, attribute, l=l, limit=limit, stream=stream)
    width = ring_width(spec.privacy.k, l)
    return rings_of_different_values(
        census,
        attribute,
        width=width,
        order=spec.method.order,
        representation=shown_as(census, spec),
        metric="glm" if spec.method.minimized == "glm" else "gcp",
        limit=limit,
        stream=stream,
    )


def _unbounded(census: Census, spec: Spec, groups: Groups, watch: Watch) -> SearchResult:
    shown = cover_groups(census, groups, shown_as(census, spec))
    return _found(measure_groups(census, spec, groups.sizes, shown)[spec.method.minimized], groups.count, watch)


def _found(cost: float, parts: int, watch: Watch) -> SearchResult:
    """Return the result of a search that says nothing about what others could find."""
    return SearchResult(cost=cost, optimal=cost == 0, bound=0.0, nodes=parts, pruned=0, seconds=watch.seconds)
