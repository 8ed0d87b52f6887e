"""Levels: publish at the levels that the user names; attributes not named stay as they are."""

from typing import TYPE_CHECKING

from ringfence.declared import RECODES
from ringfence.errors import SpecError
from ringfence.methods.base import Method

if TYPE_CHECKING:
    from ringfence.census.census import Census
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":  # noqa: ARG001
    from ringfence.judging.models import promise
    from ringfence.search.recode.recoded import composite_decision, decision_for
    from ringfence.values.recoding import at_level

    chosen = spec.method.levels or {}
    for name, height in zip(census.names, census.heights, strict=True):
        if chosen.get(name, 0) > height:
            raise SpecError(f"method.levels.{name} = {chosen[name]} is above the hierarchy; allowed: 0 to {height}")
    levels = [chosen.get(name, 0) for name in census.names]
    if spec.data.composite:
        return composite_decision(census, spec, levels, None)
    recodings = [at_level(quasi.hierarchy, level) for quasi, level in zip(census.quasi, levels, strict=True)]
    return decision_for(census, spec, promise(spec, census), levels, recodings, None)


LEVELS = Method(
    name="levels",
    line="publish at the levels you name",
    way=RECODES,
    promises=("k", "l", "p", "t", "m"),
    kinds=("distinct", "entropy", "recursive"),
    options=("suppression", "levels", "target", "keep_suppressed"),
    counts_people=True,
    composes=True,
    suppression=0.0,
    chosen=False,
    decides=_decide,
)
