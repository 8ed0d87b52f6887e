"""Optimal: the cheapest recoding of a scheme, proven."""

from typing import TYPE_CHECKING

from ringfence.declared import RECODES
from ringfence.errors import SpecError
from ringfence.methods.base import WHATEVER, Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.census.census import Census
    from ringfence.plans.recode import GlobalPlan
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


def _check(spec: "Spec", force: bool = False) -> None:  # noqa: ARG001
    """Refuse ways to search, and techniques of branch and bound, where something else searches."""
    if spec.data.composite and spec.method.search != "auto":
        raise SpecError(
            f"method.search = {spec.method.search!r} beside data.composite = true: what keeps the rows of a person"
            " together is searched for in a way of its own; allowed: 'auto'"
        )
    if spec.method.techniques is not None and spec.method.search == "auto":
        raise SpecError(
            "method.techniques with method.search = 'auto', which has none of them; allowed: 'bottom-up' and 'top-down'"
        )


def _decide(census: "Census", spec: "Spec", watch: "Watch", starts: "Sequence[GlobalPlan]" = ()) -> "Decision":
    if spec.data.composite:
        from ringfence.search.recode.composites import search_composites
        from ringfence.search.recode.recoded import composite_decision

        levels, result = search_composites(census, spec, limit=spec.row_limit(census.rows), watch=watch)
        return composite_decision(census, spec, levels, result)
    from ringfence.search.recode.schemes import best_recodings

    return best_recodings(census, spec, watch, starts)


OPTIMAL = Method(
    name="optimal",
    line="the cheapest recoding of a scheme, proven",
    way=RECODES,
    promises=("k", "l", "p", "t", "m"),
    kinds=("distinct", "entropy", "recursive"),
    options=(*WHATEVER, "scheme", "search", "techniques", "metric", "target", "keep_suppressed"),
    searches=("auto", "bottom-up", "top-down"),
    counts_people=True,
    composes=True,
    by_scheme=True,
    goes_on=True,
    check_run=_check,
    decides=_decide,
)
