"""The cheapest recoding of the attributes' schemes: which search finds it, by what is asked."""

from collections.abc import Sequence
from typing import Any

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.judging.metrics import hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.search.recode import auto
from ringfence.search.recode.branch_and_bound import Techniques, climbs, search_partitions
from ringfence.search.recode.lattice import level_spaces, search_levels
from ringfence.search.recode.question import question
from ringfence.search.recode.recoded import decision_for
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec


def best_recodings(
    census: Census, spec: Spec, watch: Watch, start: Sequence[Any] = ()
) -> tuple[Decision, tuple[Any, ...]]:
    """Return the cheapest recoding of the attributes' schemes, and its states in their spaces.

    `start` are states of which something is known to be feasible: where a search improves answers, it begins there.
    """
    models, limit = promise(spec, census), spec.row_limit(census.rows)
    schemes = [spec.scheme_of(name) for name in census.names]
    if {*schemes} == {"level"} and spec.method.search == "auto":
        lattice = level_spaces(census)
        roller = Roller(census, lattice, hdm_tallies(census) if spec.method.metric == "hdm" else [])
        loss = metric(spec.method.metric, spec, census, roller, models.least)
        levels, result = search_levels(census, roller, models, loss, limit=limit, watch=watch)
        recodings = [space[level] for space, level in zip(lattice, levels, strict=True)]
        return decision_for(census, spec, models, levels, recodings, result), tuple(levels)
    spaces = [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)]
    asked = question(census, spec, spaces)
    if spec.method.search == "auto":
        node, result = auto.search(asked, watch, start)
    else:
        starts = [tuple(space.position(state) for space, state in zip(spaces, start, strict=True))] if start else []
        up = climbs(spaces, spec)
        node, result = search_partitions(
            census, spaces, asked.roller, models, asked.metric,
            limit=limit, watch=watch, up=up, techniques=Techniques.asked(spec), starts=starts,
        )  # fmt: skip
    placed = list(zip(spaces, node, strict=True))
    reached = [space.level(position) for space, position in placed]
    decision = decision_for(census, spec, models, reached, [space[position] for space, position in placed], result)
    return decision, tuple(space.state(position) for space, position in placed)
