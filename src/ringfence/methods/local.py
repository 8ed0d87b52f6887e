"""Local: groups that lose as little as effort can make them."""

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
    from ringfence.search.groups.grouped import groups_asked
    from ringfence.search.groups.local import local
    from ringfence.search.groups.purpose import for_purpose

    method, asked = spec.method, groups_asked(census, spec)
    return local(for_purpose(census, spec), asked, effort=method.effort, seed=method.fixed_seed, watch=watch)


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.groups.grouped import decided
    from ringfence.search.groups.shards import in_shards

    return decided(census, spec, *in_shards(census, spec, watch, _groups), watch)


LOCAL = Method(
    name="local",
    line="groups of rows that lose as little as an order, an optimal cut of it and chains of exchanges can make them",
    way=GROUPS,
    promises=("k", "l", "p", "m"),
    options=(*WHATEVER, "metric", "representation", "labels", "shards", "bound", "effort", "seed"),
    counts_people=True,
    losses=("glm", "gcp", "use"),
    check_run=check_grouping,
    decides=_decide,
)
