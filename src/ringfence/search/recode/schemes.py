"""The cheapest recoding of the attributes' schemes: which search finds it, by what is asked."""

from collections.abc import Sequence

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.judging.metrics import hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.plans.recode import GlobalPlan
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.search.recode import auto
from ringfence.search.recode.branch_and_bound import Techniques, climbs, search_partitions
from ringfence.search.recode.lattice import level_spaces, search_levels
from ringfence.search.recode.question import question
from ringfence.search.recode.recoded import decision_for
from ringfence.search.recode.spaces import Space
from ringfence.search.recode.starts import fitted_to, labels_of_plan
from ringfence.spec import Spec


def best_recodings(census: Census, spec: Spec, watch: Watch, starts: Sequence[GlobalPlan] = ()) -> Decision:
    """Return the cheapest recoding of the attributes' schemes.

    `starts` are plans that were found before: where they are recodings of these schemes, and keep the promise, what is
    returned costs no more.
    """
    models, limit = promise(spec, census), spec.row_limit(census.rows)
    schemes = [spec.scheme_of(name) for name in census.names]
    known = [labels_of_plan(census, plan) for plan in starts]
    if {*schemes} == {"level"} and spec.method.search == "auto":
        lattice = level_spaces(census)
        roller = Roller(census, lattice, hdm_tallies(census) if spec.method.metric == "hdm" else [])
        loss = metric(spec.method.metric, spec, census, roller, models.least)
        by_level = [Space(quasi, "level") for quasi in census.quasi] if known else []
        given = [fitted_to(by_level, labels) for labels in known]
        levels, result = search_levels(census, roller, models, loss, limit=limit, watch=watch, starts=given)
        recodings = [space[level] for space, level in zip(lattice, levels, strict=True)]
        return decision_for(census, spec, models, levels, recodings, result)
    spaces = [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)]
    given = [fitted_to(spaces, labels) for labels in known]
    asked = question(census, spec, spaces)
    if spec.method.search == "auto":
        node, result = auto.search(asked, watch, given)
    else:
        nodes = [tuple(space.position(state) for space, state in zip(spaces, each, strict=True)) for each in given]
        node, result = search_partitions(
            census, spaces, asked.roller, models, asked.metric,
            limit=limit, watch=watch, up=climbs(spaces, spec), techniques=Techniques.asked(spec), starts=nodes,
        )  # fmt: skip
    placed = list(zip(spaces, node, strict=True))
    reached = [space.level(position) for space, position in placed]
    return decision_for(census, spec, models, reached, [space[position] for space, position in placed], result)
