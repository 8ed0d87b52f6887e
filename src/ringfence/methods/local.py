"""Local: groups that lose as little as effort can make them."""

from typing import TYPE_CHECKING

from ringfence.declared import GROUPS
from ringfence.methods.base import WHATEVER, Method, check_grouping

if TYPE_CHECKING:
    from ringfence.census.census import Census
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.groups.grouped import bounded, groups_asked, measured_decision
    from ringfence.search.groups.local import local

    method = spec.method
    groups, result = local(
        census, groups_asked(census, spec), effort=method.effort, seed=method.fixed_seed, watch=watch
    )
    return bounded(census, spec, measured_decision(census, spec, groups, result), watch)


LOCAL = Method(
    name="local",
    line="groups of rows that lose as little as an order, an optimal cut of it and annealing can make them",
    way=GROUPS,
    promises=("k", "l", "p", "m"),
    options=(*WHATEVER, "metric", "representation", "labels", "effort", "seed"),
    counts_people=True,
    losses=("glm", "gcp", "use"),
    check_run=check_grouping,
    decides=_decide,
)
