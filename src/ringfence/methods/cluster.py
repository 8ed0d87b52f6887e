"""Cluster: groups of similar rows within boundaries, with p different values of every sensitive attribute."""

from typing import TYPE_CHECKING

from ringfence.declared import GROUPS
from ringfence.methods.base import WHATEVER, Method, check_grouping

if TYPE_CHECKING:
    from ringfence.census.census import Census
    from ringfence.census.groups import Groups
    from ringfence.search.decision import Decision
    from ringfence.search.progress import SearchResult, Watch
    from ringfence.spec import Spec


def _groups(census: "Census", spec: "Spec", watch: "Watch") -> "tuple[Groups, SearchResult | None]":
    from ringfence.search.groups.cluster import cluster, diversity_weights
    from ringfence.search.groups.grouped import groups_asked

    given = [
        None if part.name == census.entity else spec.attributes[part.name].diversity_weight for part in census.sensitive
    ]
    found = cluster(
        census,
        groups_asked(census, spec),
        weights=diversity_weights(census, given).tolist(),
        ties=spec.method.ties,
        max_group=min(spec.method.max_group, max(len(census.weights), 1)),
        watch=watch,
    )
    return found.groups, found.search


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.groups.grouped import groups_decision
    from ringfence.search.groups.shards import in_shards

    return groups_decision(census, spec, *in_shards(census, spec, watch, _groups))


CLUSTER = Method(
    name="cluster",
    line="groups of similar rows within boundaries, each published as the lowest labels that cover it",
    way=GROUPS,
    promises=("k", "l", "p", "m"),
    options=(*WHATEVER, "representation", "labels", "shards", "ties", "max_group"),
    counts_people=True,
    losses=("ntil",),
    representation="hierarchy",
    check_run=check_grouping,
    decides=_decide,
)
