"""Jobs: what happens to rows between a source and a release, whatever becomes of them before and after.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ringfence.declared import BASKETS
from ringfence.errors import DataError, first_in, some_rows
from ringfence.release.diary import Diary
from ringfence.spec import Spec

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from ringfence.census.baskets import Baskets
    from ringfence.census.census import Census, Quasi, Sensitive
    from ringfence.plans.base import Occasion
    from ringfence.plans.recode import GlobalPlan
    from ringfence.rows.engine import Engine
    from ringfence.rows.steps import CarryOut, Relabel
    from ringfence.search.decision import Decision

MOST_VALUES = 2_000
"""Sensitive attributes with more values are not counted for evidence: nearly every row would be a combination."""
MANY_ROWS = 1_000_000
"""Of more rows, it is told how many combinations are to be expected."""


@dataclass(frozen=True, eq=False)
class Made:
    """Rows as they are to be released, the columns whose values change, the decision, and what it was taken on.

    `census` has also counted the sensitive attributes that no model looks at, for the evidence in a report. `baskets`
    are those of the rows that are published, if they have any; `sensitive` is the second table of the method `anatomy`.
    """

    rows: "ibis.Table"
    changed: list[str]
    decision: "Decision"
    census: "Census"
    baskets: "Baskets | None" = None
    sensitive: "pa.Table | None" = None


Decider = Callable[["Engine", "ibis.Table", Sequence[str]], Made]
"""Counts rows, decides, and describes the release with these columns."""


def count_rows(engine: "Engine", rows: "ibis.Table", spec: Spec) -> "pa.Table":
    """Count the combinations that a census is taken of. A row that is nobody's is refused, unless such rows go.

    It could be counted as a person of its own only by counting somebody twice who has other rows.
    """
    from ringfence.census.census import counted_columns

    entity = spec.data.entity
    if entity is not None and spec.data.missing != "suppress":
        nobodys, first = engine.missing(rows, entity)
        if nobodys:
            raise DataError(
                f"data.entity = {entity!r} has no value in {some_rows(nobodys)}{first_in(first)}: whose are"
                " they? Say so, or set data.missing = 'suppress' to leave such rows out"
            )
    return engine.count(rows, counted_columns(spec))


class Censuses:
    """Censuses of one original, each taken once: specifications that differ in the method often share one."""

    def __init__(self) -> None:
        self._taken: dict[tuple[object, ...], Census] = {}

    def of(self, engine: "Engine", rows: "ibis.Table", spec: Spec) -> "Census":
        """Return the census that a specification needs."""
        from ringfence.census.census import counted_columns, take_census
        from ringfence.rows.sources import ROWS

        key = (*counted_columns(spec), *map(spec.is_loose, spec.of_role("quasi")))
        if key not in self._taken:
            self._taken[key] = take_census(count_rows(engine, rows, spec), spec, ROWS)
        return self._taken[key]


def _counting(engine: "Engine", rows: "ibis.Table", spec: Spec) -> str:
    """Say what is counted: by an engine with how much memory, and of many rows, or where memory is to be spared, how
    many combinations are to be expected: searches hold them in memory."""
    from ringfence.census.census import counted_columns

    there = engine.in_memory(rows, counted_columns(spec)) is not None
    memory = None if there else engine.memory
    told = "counting the rows" + ("" if memory is None else f", with up to {memory} of memory")
    if spec.data.memory_limit is None and engine.size(rows) <= MANY_ROWS:
        return told
    return f"{told}; there are about {engine.estimate(rows, counted_columns(spec)):,} different combinations"


def searcher(
    spec: Spec,
    diary: Diary,
    censuses: Censuses | None = None,
    decided: "Decision | None" = None,
    starts: "Sequence[GlobalPlan]" = (),
) -> Decider:
    """Decide by the method that a specification asks for; then on baskets, if rows have them.

    `censuses` are those that were taken of the same rows before; `decided` is what was decided on them, if it was;
    `starts` are plans to begin the search with.
    """

    def decide_on(engine: "Engine", rows: "ibis.Table", columns: Sequence[str]) -> Made:
        if spec.items is None:
            return decide_on_rows(engine, rows, columns)
        if spec.method.traits.way == BASKETS:
            return _on_baskets(engine, rows.select(*columns), spec, diary, None)
        made = decide_on_rows(engine, rows, columns)
        # Which rows are suppressed may be left to chance: draw before counting their baskets, and not again after.
        return _on_baskets(engine, engine.keep(made.rows), spec, diary, made)

    def decide_on_rows(engine: "Engine", rows: "ibis.Table", columns: Sequence[str]) -> Made:
        from ringfence.methods import decide
        from ringfence.search.recode.composites import compose

        diary("count", _counting(engine, rows, spec))
        census = (censuses or Censuses()).of(engine, rows, spec)
        decision = decided
        if decision is None:
            how = "searching, beginning with an earlier plan" if starts else "searching"
            diary("search", f"{census.rows:,} rows, {len(census.weights):,} different combinations; {how}")
            with diary.searching(spec, engine.each) as watch:
                decision = decide(census, spec, watch, starts)
        diary("rewrite", "rewriting the rows")
        made = carry_out(engine, rows, columns, spec, census, decision)
        if decision.plan.recodes_values:
            evidence = _with_evidence(engine, rows, spec, census)
            if decision.composed is not None:
                evidence = compose(evidence, spec, decision.composed.recodings).census
            made = replace(made, census=evidence)
        return made

    return decide_on


def carry_out(
    engine: "Engine", rows: "ibis.Table", columns: Sequence[str], spec: Spec, census: "Census", decision: "Decision"
) -> Made:
    """Return what becomes of rows by what was decided on their census."""
    from ringfence.plans.base import Occasion

    respelled = _respelled(decision.plan.untouched(census), census)
    occasion = Occasion(census, spec.method.seed, gone=_gone(decision, census))
    return _made(engine, rows, columns, decision, occasion, respelled)


def _respelled(parts: "Sequence[Quasi | Sensitive]", census: "Census") -> "list[Relabel]":
    """Return the steps by which a number or a day of these attributes gets one spelling.

    They are published as they are, and are one value for the models; two spellings of it would tell apart whom these
    count as alike. A plan finds its rows by the spellings that they came with, so that these are its last steps.
    """
    import numpy as np
    import pyarrow as pa

    from ringfence.rows.steps import Relabel

    steps = []
    for part in parts:
        recoded = part in census.sensitive and part.name in (census.entity, *census.names)
        if not recoded and len(np.unique(part.raw_leaves)) < len(part.raw):
            labels = pa.array(part.hierarchy.labels[: part.hierarchy.leaves], pa.string())
            spelled = labels.take(pa.array(part.raw_leaves)).cast(part.raw.type)
            steps.append(Relabel(part.name, part.raw, spelled))
    return steps


def _gone(decision: "Decision", census: "Census") -> "pa.Array | None":
    """Return whose rows all go, as the data names them, where rows of a person stay together."""
    import numpy as np
    import pyarrow as pa

    if decision.composed is None:
        return None
    people = census.sensitive[census.people or 0]
    return people.raw.filter(pa.array(np.isin(people.raw_leaves, decision.composed.people)))


def _on_baskets(engine: "Engine", rows: "ibis.Table", spec: Spec, diary: Diary, made: Made | None) -> Made:
    """Decide on the baskets of rows that are to be published; `made` is what was decided on these rows before."""
    import pyarrow as pa

    from ringfence.census.baskets import take_baskets
    from ringfence.census.census import uncounted
    from ringfence.methods import decide
    from ringfence.plans.base import Occasion
    from ringfence.rows.sources import ROWS
    from ringfence.search.itemsets.decide_baskets import decide_baskets

    diary("count", "counting the baskets")
    name = spec.item_column
    column = take_baskets(engine.count(rows, [name]), spec, ROWS)
    baskets = column.baskets
    found = f"{baskets.rows:,} baskets, {len(baskets.weights):,} different ones, {baskets.empty:,} empty"
    diary("search", f"{found}; searching")
    with diary.searching(spec) as watch:
        if made is None:
            decision, changed, census = decide(baskets, spec, watch), [], uncounted(baskets.rows)
        else:
            decision = made.decision.with_baskets(decide_baskets(baskets, spec, watch))
            changed, census = made.changed, made.census
    diary("rewrite", "rewriting the baskets")
    separator = None if pa.types.is_nested(column.raw.type) else spec.attributes[name].separator
    occasion = Occasion(census, baskets=column, separator=separator)
    released = decision.baskets.plan.carry_out(occasion).rows(engine, rows, rows.columns)
    return Made(released, [*changed, name], decision, census, baskets)


def labels_of(plan: "GlobalPlan") -> dict[str, dict[str | None, str | None]]:
    """Return under which label a plan publishes each value that it knows."""
    return {name: column.known for name, column in plan.columns.items()}


def reuser(plan: "GlobalPlan", spec: Spec, suppress_unknown: bool) -> Decider:
    """Decide by a plan that there is."""

    def decide_on(engine: "Engine", rows: "ibis.Table", columns: Sequence[str]) -> Made:
        from ringfence.plans.base import Occasion
        from ringfence.rows.sources import ROWS
        from ringfence.search.recode.reuse import reuse_plan

        reused = reuse_plan(count_rows(engine, rows, spec), ROWS, plan, spec, suppress_unknown=suppress_unknown)
        respelled = _respelled(plan.untouched(reused.everyone), reused.everyone)
        occasion = Occasion(reused.census, unknown=reused.unknown)
        return _made(engine, rows, columns, reused.decision, occasion, respelled)

    return decide_on


def _made(
    engine: "Engine",
    rows: "ibis.Table",
    columns: Sequence[str],
    decision: "Decision",
    occasion: "Occasion",
    respelled: "Sequence[Relabel]",
) -> Made:
    """Carry a decision out, and then what is to be spelled alike."""
    done = decision.plan.carry_out(occasion)
    steps = [each for each in respelled if each.column in columns]
    if steps:
        done = replace(
            done,
            steps=[*done.steps, *steps],
            looked_at={*done.looked_at, *(each.column for each in steps)},
            texts=partial(_left_as_known, done, steps),
        )
    return Made(
        rows=done.rows(engine, rows, columns),
        changed=[*done.changed, *done.added, *(each.column for each in steps)],
        decision=decision,
        census=occasion.census,
        sensitive=decision.plan.beside(occasion.census),
    )


def _with_evidence(engine: "Engine", rows: "ibis.Table", spec: Spec, census: "Census") -> "Census":
    """Return a census that has also counted the sensitive attributes that no model looks at, unless of many values."""
    from ringfence.census.census import counted_columns, take_census
    from ringfence.rows.sources import ROWS

    counted = counted_columns(spec)
    others = [name for name in spec.of_role("sensitive") if name not in counted]
    if not others or spec.data.missing != "value":  # else rows that miss a value there would be lost for the decision
        return census
    values = engine.variety(rows, others)
    few = [name for name in others if values[name] <= MOST_VALUES]
    if not few:
        return census
    try:
        return take_census(engine.count(rows, [*counted, *few]), spec, ROWS)
    except DataError:  # what no model looks at may hold what it likes
        return census


def _left_as_known(done: "CarryOut", respelled: "Sequence[Relabel]") -> dict[str, "pa.Array"]:
    """Return the texts that are known of columns that are not spelled anew in the end."""
    return {name: known for name, known in done.texts().items() if all(name != each.column for each in respelled)}
