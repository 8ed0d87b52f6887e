"""Mondrian: the table cut at medians, as long as both halves satisfy the models."""

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
    from ringfence.judging.models import promise
    from ringfence.search.groups.grouped import shown_as, with_least_rows
    from ringfence.search.groups.mondrian import mondrian

    models = promise(with_least_rows(spec), census, room=census.rows)
    groups = mondrian(
        census,
        models,
        relaxed=spec.method.relaxed,
        representation=shown_as(census, spec),
        limit=spec.row_limit(census.rows),
        watch=watch,
    )
    return groups, None


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.groups.grouped import decided
    from ringfence.search.groups.shards import in_shards

    return decided(census, spec, *in_shards(census, spec, watch, _groups), watch)


MONDRIAN = Method(
    name="mondrian",
    line="the table cut at the median of its widest attribute, and the halves again",
    way=GROUPS,
    promises=("k", "l", "p", "t", "m"),
    kinds=("distinct", "entropy", "recursive"),
    options=(*WHATEVER, "representation", "labels", "shards", "bound", "relaxed"),
    counts_people=True,
    losses=("glm",),
    check_run=check_grouping,
    decides=_decide,
)
