"""Recodings decided on: the classes they make are judged once more, those that fail are listed, the rest measured."""

from collections.abc import Sequence

import numpy as np

from ringfence.census.census import Census
from ringfence.census.classes import Classes
from ringfence.errors import Unsatisfiable, some_rows
from ringfence.judging.metrics import measure_classes, recoded
from ringfence.judging.models import Promise
from ringfence.plans.recode import GlobalPlan, column_plans
from ringfence.search.decision import Decision, complete_columns
from ringfence.search.progress import SearchResult
from ringfence.spec import Spec
from ringfence.values.builders import self_contained
from ringfence.values.recoding import Recoding, at_level


def decision_for(
    census: Census,
    spec: Spec,
    models: Promise,
    levels: Sequence[int | None],
    recodings: Sequence[Recoding],
    result: SearchResult | None,
    gone: int = 0,
) -> Decision:
    """Turn recodings into a plan, and measure it. `gone` rows are suppressed already, for other reasons."""
    roller, classes = recoded(census, recodings)
    plan = _plan(census, spec, models, levels, recodings, classes, gone)
    node = [0] * len(recodings)
    metrics = measure_classes(census, spec, roller, node, classes, models.least, plan.suppressed_rows)
    return Decision(plan, result, metrics)


def plan_for(
    census: Census,
    spec: Spec,
    models: Promise,
    levels: Sequence[int | None],
    recodings: Sequence[Recoding],
) -> GlobalPlan:
    """Turn recodings into a plan."""
    return _plan(census, spec, models, levels, recodings, recoded(census, recodings)[1])


def _plan(
    census: Census,
    spec: Spec,
    models: Promise,
    levels: Sequence[int | None],
    recodings: Sequence[Recoding],
    classes: Classes,
    gone: int = 0,
) -> GlobalPlan:
    """Turn recodings into a plan: judge the classes that they make once more, and list those that fail."""
    suppressed = models.judge(classes)
    rows, limit = census.rows + gone, spec.row_limit(census.rows + gone)
    if suppressed + gone > limit or suppressed == census.rows:
        raise Unsatisfiable(
            f"to satisfy {models.wording} at these levels, {suppressed + gone} of {some_rows(rows)} would have to be"
            f" suppressed, and at most {min(limit, rows - 1)} may be"
        )
    if not models.rest_holds(classes):
        raise Unsatisfiable("at these levels, the classes that remain are not t-close to what is published of them")
    fails = classes.fails[: classes.size].astype(np.bool_)
    failing = np.flatnonzero(fails)
    gone_with_class = fails[classes.member[: len(census.weights)]]
    return GlobalPlan(
        columns=column_plans(census, levels, recodings, gone_with_class),
        suppressed=_leaves_of(census, classes, recodings, failing),
        suppressed_rows=suppressed,
        masked=spec.method.keep_suppressed and suppressed > 0 and models.holds_as_one(classes, failing),
        complete=tuple(complete_columns(census, spec)),
        spec=self_contained(spec).dumps(),
    )


def _leaves_of(
    census: Census, classes: Classes, recodings: Sequence[Recoding], chosen: "np.typing.NDArray[np.intp]"
) -> tuple[tuple[int, ...], ...]:
    """Return the leaves that stand for the blocks of some classes, in lexicographic order."""
    if len(chosen) == 0:
        return ()
    _, example = np.unique(classes.member[: len(census.weights)], return_index=True)
    codes = census.codes[example[chosen]]
    leaves = np.stack([recoding.blocks[codes[:, a]] for a, recoding in enumerate(recodings)], axis=1)
    return tuple(sorted(map(tuple, leaves.tolist())))


def composite_decision(census: Census, spec: Spec, levels: Sequence[int], result: SearchResult | None) -> Decision:
    """Publish at some levels all rows of the people whose records enough others share."""
    from ringfence.search.recode.composites import compose

    recodings = [at_level(quasi.hierarchy, level) for quasi, level in zip(census.quasi, levels, strict=True)]
    composed, limit = compose(census, spec, recodings), spec.row_limit(census.rows)
    if composed.suppressed > limit or composed.suppressed == census.rows:
        raise Unsatisfiable(
            f"for all rows of a person together to be those of k = {spec.privacy.k} people at these levels,"
            f" {composed.suppressed} of {some_rows(census.rows)} would have to be suppressed, and at most"
            f" {min(limit, census.rows - 1)} may be"
        )
    plan = GlobalPlan(
        columns=column_plans(composed.census, levels, recodings, composed.census.lost),
        suppressed=(),
        suppressed_rows=composed.suppressed,
        masked=False,
        complete=tuple(complete_columns(census, spec)),
        spec=self_contained(spec).dumps(),
    )
    return Decision(plan, result, composed.metrics, composed=composed)
