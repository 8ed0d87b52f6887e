"""Anatomy: buckets of rows with different values of the sensitive attribute; nothing else is changed."""

from typing import TYPE_CHECKING

from ringfence.declared import BUCKETS
from ringfence.errors import SpecError, listed
from ringfence.methods.base import Method

if TYPE_CHECKING:
    from ringfence.census.census import Census
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


def _check(spec: "Spec") -> None:
    """Refuse what buckets cannot promise, and what would tell what they hide."""
    asked, sensitive = spec.diversities(), spec.of_role("sensitive")
    promised = "the method 'anatomy' promises distinct l of one attribute, and nothing else"
    for key, value in spec.privacy:
        if key != "l" and value is not None:
            raise SpecError(f"privacy.{key}: {promised}")
    if len(asked) != 1 or asked[0].kind != "distinct":
        found = f"of kind {asked[0].kind!r}" if len(asked) == 1 else f"{len(asked)} times"
        raise SpecError(f"privacy.l is asked for {found}: {promised}")
    if len(sensitive) > 1:
        raise SpecError(
            "the method 'anatomy' hides one sensitive attribute, and others would tell it; there are:"
            f" {listed(sensitive)}"
        )
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'anatomy'")


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":  # noqa: ARG001
    from ringfence.plans.anatomy import anatomy_plan
    from ringfence.search.decision import Decision, complete_columns
    from ringfence.search.groups.anatomy import anatomize
    from ringfence.values.builders import self_contained

    asked = spec.diversities()[0]
    attribute = [part.name for part in census.sensitive].index(asked.attribute)
    seed = None if spec.method.seed is None else spec.method.seed % 2**64
    groups = anatomize(census, attribute, int(asked.value), seed)
    plan = anatomy_plan(census, groups, complete_columns(census, spec), self_contained(spec).dumps())
    return Decision(plan, None, {"rows": census.rows, "suppressed": 0, "buckets": groups.count})


ANATOMY = Method(
    name="anatomy",
    line="two tables: quasi-identifiers as they are, with a bucket, and the l or more values of each bucket",
    way=BUCKETS,
    promises=("l",),
    options=("seed",),
    check_promise=_check,
    decides=_decide,
)
