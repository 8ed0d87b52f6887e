"""Hilbert: neighbours on a Hilbert curve, in groups that lose least along it."""

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
    from ringfence.search.groups.hilbert import hilbert

    groups, result = hilbert(census, groups_asked(census, spec), watch=watch)
    return bounded(census, spec, measured_decision(census, spec, groups, result), watch)


HILBERT = Method(
    name="hilbert",
    line="groups of neighbours on a Hilbert curve, cut where that loses least",
    way=GROUPS,
    promises=("k", "l", "p", "m"),
    options=(*WHATEVER, "metric", "representation", "labels"),
    counts_people=True,
    losses=("glm", "gcp", "use"),
    check_run=check_grouping,
    decides=_decide,
)
