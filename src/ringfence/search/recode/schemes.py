"""The cheapest recoding of the attributes' schemes: which search finds it, by what is asked."""

from collections.abc import Callable, Sequence
from typing import Any

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.declared import METRICS
from ringfence.judging.metrics import cell_losses, full_loss, hdm_tallies, metric
from ringfence.judging.models import Promise, promise
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.search.recode import auto
from ringfence.search.recode.branch_and_bound import climbs, search_partitions
from ringfence.search.recode.contexts import Terms
from ringfence.search.recode.lattice import level_spaces, search_levels
from ringfence.search.recode.people_starts import starts_by_rows
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
    tallied = hdm_tallies(census) if spec.method.metric == "hdm" else []
    schemes = [spec.scheme_of(name) for name in census.names]
    if {*schemes} == {"level"} and spec.method.search == "auto":
        lattice = level_spaces(census)
        roller = Roller(census, lattice, tallied)
        loss = metric(spec.method.metric, spec, census, roller, models.least)
        levels, result = search_levels(census, roller, models, loss, limit=limit, watch=watch)
        recodings = [space[level] for space, level in zip(lattice, levels, strict=True)]
        return decision_for(census, spec, models, levels, recodings, result), tuple(levels)
    spaces = [Space(quasi, scheme) for quasi, scheme in zip(census.quasi, schemes, strict=True)]
    roller = Roller(census, spaces, tallied)
    loss = metric(spec.method.metric, spec, census, roller, models.least)
    terms = Terms(
        models, limit, census.rows, cell_losses(spec.method.metric, census), full_loss(spec.method.metric, census)
    )
    additive = METRICS[spec.method.metric].additive
    if spec.method.search == "auto" and additive and terms.applies(census) and auto.has_program(spaces):
        node, result = auto.search(census, spaces, roller, loss, terms, watch, start)
    else:
        starts = [tuple(space.position(state) for space, state in zip(spaces, start, strict=True))] if start else []
        if spec.method.search == "auto" and additive and census.people is not None and auto.has_program(spaces):
            starts += starts_by_rows(census, spec, spaces, judged(roller, models, limit), limit, watch)
        up = climbs(spaces, spec)
        node, result = search_partitions(
            census, spaces, roller, models, loss, limit=limit, watch=watch, up=up, starts=starts
        )
    placed = list(zip(spaces, node, strict=True))
    reached = [space.level(position) for space, position in placed]
    decision = decision_for(census, spec, models, reached, [space[position] for space, position in placed], result)
    return decision, tuple(space.state(position) for space, position in placed)


def judged(roller: Roller, models: Promise, limit: int) -> Callable[[tuple[int, ...]], bool]:
    """Return what says of a node whether it holds with so many rows suppressed."""
    room = roller.room()

    def holds(node: tuple[int, ...]) -> bool:
        classes = roller.roll(roller.finest, roller.fields(list(enumerate(node))), room)
        return models.judge(classes) <= min(limit, roller.census.rows - 1)

    return holds
