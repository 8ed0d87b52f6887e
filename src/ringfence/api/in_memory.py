"""From a table in memory to one in memory: anonymize, and apply an earlier plan."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.api.loading import load
from ringfence.api.making import (
    begun_with,
    check_choice,
    check_weights,
    job_of,
    located,
    make,
    marks,
    possible,
    release_of,
    whose,
    with_measures,
)
from ringfence.errors import SpecError, suggestion
from ringfence.events import Listener
from ringfence.methods.checks import check_available
from ringfence.release.diary import Diary
from ringfence.release.jobs import Decider, Made, labels_of, reuser, searcher
from ringfence.release.release import Release
from ringfence.spec import Spec

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from ringfence.audit.trace.rows import Origin
    from ringfence.plans.base import Plan
    from ringfence.plans.recode import GlobalPlan
    from ringfence.rows.engine import Engine


def anonymize(
    source: Any,
    spec: Spec,
    *,
    start: "Plan | str | Path | None" = None,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
    force: bool = False,
) -> Release:
    """Return an audited release of a table, as a specification asks for it.

    One scan counts the combinations of quasi-identifiers, a search decides on the counts, a second scan rewrites the
    rows, and the audit judges the result from its published values alone.

    `source` is anything with Arrow inside (pandas, Polars, PyArrow, DuckDB), a DataFrame of Spark, the path of a file,
    or None for `data.source` of the specification; the release's table is of the same kind (Arrow for files). It
    is never changed. `start` is a plan, or the path of a saved one, that the search of the method `optimal` begins
    with: it finds nothing worse, if the plan keeps the promise on these rows and is a recoding of the schemes.
    `attacks` are carried out on the release, as `audit` does it, and shown in its report. `listener` is told how far
    the work is, an `Event` at a time (`progress` gives one that shows it). `force` lets through what is known not to be
    sound, and releases that fail their audit: for experiments.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 38, 39], "illness": ["flu", "flu", "cold", "flu"]})
    >>> spec = Spec(
    ...     attributes={
    ...         "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    ...         "illness": {"role": "sensitive"},
    ...     },
    ...     privacy={"k": 2},
    ... )
    >>> release = anonymize(people, spec)
    >>> sorted(release.table["age"].to_pylist())
    ['[30, 35)', '[30, 35)', '[35, 40)', '[35, 40)']
    >>> release.audit.measured["k"]
    2
    """
    check_available(spec, force=force)
    load()
    names = possible(attacks, spec)
    diary, starts = Diary(listener), begun_with(start, spec)

    def decider(measured: Spec) -> Decider:
        return searcher(measured, diary, starts=starts)

    return make_audited(located(source, spec), spec, decider, diary, attacks=names, force=force)


def apply(plan: "GlobalPlan | str | Path", source: Any, *, unknown: str = "error") -> Release:
    """Return an audited release of new rows, recoded by a plan that was made for others.

    Every value becomes what the plan says; classes that fail the plan's promise on these rows are suppressed, within
    the limit that the plan's specification sets. A value that the plan does not know is a DataError, or with
    `unknown="suppress"` its rows are suppressed too, and masked where suppressed rows are (`method.keep_suppressed`).
    Counts of values (`output.counts`) are not made: whoever is in both tables could be told by what they differ in.
    Releases made by one plan can be read side by side, but whoever is in two of them is less protected than in one: see
    docs/promise.md on composition.

    `plan` is a plan or the path of a saved one; `source` is as for `anonymize`.
    """
    from ringfence.plans.recode import GlobalPlan

    if unknown not in ("error", "suppress"):
        raise SpecError(
            f"unknown = {unknown!r}{suggestion(unknown, ('error', 'suppress'))}: allowed: 'error', 'suppress'"
        )
    saved = GlobalPlan.load(plan) if isinstance(plan, str | Path) else plan
    if not saved.recodes_values:
        raise SpecError(f"a plan of the kind {saved.kind!r} is about the rows that it was made for; allowed: 'global'")
    spec = Spec.loads(saved.spec, "the plan's specification")
    spec = spec.model_copy(update={"output": spec.output.model_copy(update={"counts": False})})
    if spec.items is not None:
        raise SpecError(f"the plan says what becomes of quasi-identifiers, not of the baskets in {spec.items!r}")
    if spec.data.composite:
        raise SpecError("data.composite = true: which people are published was decided on the rows of the plan's own")

    def decider(measured: Spec) -> Decider:
        return reuser(saved, measured, unknown == "suppress")

    return make_audited(source, spec, decider, Diary(), reused=saved)


def make_audited(
    source: Any,
    spec: Spec,
    decider: Callable[[Spec], Decider],
    diary: Diary,
    *,
    attacks: tuple[str, ...] = (),
    reused: "GlobalPlan | None" = None,
    force: bool = False,
) -> Release:
    """Recode a source as `decider` says, and audit what came out; of a plan that is `reused`, labels are what that plan
    says that they are."""
    from ringfence.rows.casts import cast_table
    from ringfence.rows.dates import open_again, with_spelled_dates
    from ringfence.rows.engines import engine_for
    from ringfence.rows.number_marks import plain_number_table
    from ringfence.rows.remote import is_spark
    from ringfence.rows.same_value import canonical_table
    from ringfence.rows.sources import as_arrow, collected

    source = collected(source)
    check_choice(source, spec)
    held = None
    with engine_for(spec.data, source) as engine:
        if not isinstance(source, str | Path) and not is_spark(source):
            given = _coded_where_counted(as_arrow(source), spec)
            plain = plain_number_table(canonical_table(given, spec.data.missing_values), spec.data)
            held = with_spelled_dates(cast_table(engine, plain, spec.data.types), spec.formats)
        original = source if held is None else held
        rows = open_again(engine, original, spec)
        spec = with_measures(engine, rows, spec)
        if held is None or spec.data.basket_id is not None:
            table, origin, made = _rewrite_rows(engine, source, rows, spec, decider(spec))
        else:
            table, origin, made = _rewrite_in_memory(engine, source, held, spec, decider(spec))
        diary("audit", "auditing the release")
        labels = None if reused is None else labels_of(reused)
        job = job_of(engine, spec, rows, made, replace(origin, labels=labels), attacks, force)
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        counts = None if job.counts is None else engine.hold(job.counts)
        published = engine.open(table, spec.data, as_it_stands=True)
        verdict = job.passed(job.audited(published, values, counts))
        beside = [None if each is None else engine.handed_out(each, source) for each in (values, counts)]
        release = release_of(job, table, verdict, diary, original, *beside)
        # Models need to know which row was which, and nobody does after this.
        return replace(release, measured=job.measured(published, values, counts)) if spec.purpose.predict else release


def _coded_where_counted(table: "pa.Table", spec: Spec) -> "pa.Table":
    """Return a table in which the texts that rows are counted by are coded, once for all that is asked of them. All
    others may be different in every row."""
    from ringfence.census.census import counted_columns
    from ringfence.rows.coded import coded

    if spec.data.memory_limit is not None:  # everything goes by statements
        return table
    looked_at = {*counted_columns(spec), *spec.of_role("sensitive")}
    return coded(table, [name for name in table.column_names if name in looked_at])


def _rewrite_rows(
    engine: "Engine", source: Any, rows: "ibis.Table", spec: Spec, decide: Decider
) -> "tuple[Any, Origin, Made]":
    """Recode a file, or a long table, where the engine has it; return the release as a table of the source's kind."""
    made, origin, published = make(engine, rows, spec, decide)
    return engine.handed_out(published, source), origin, made


def _rewrite_in_memory(
    engine: "Engine", source: Any, table: "pa.Table", spec: Spec, decide: Decider
) -> "tuple[Any, Origin, Made]":
    """Recode a caller's table: the engine sees the columns it needs, the others stay what they are.

    The mark of a row is its place.
    """
    import numpy as np
    import pyarrow as pa

    from ringfence.audit.trace.rows import Origin
    from ringfence.census.census import counted_columns
    from ringfence.rows.columns import check_columns, published
    from ringfence.rows.sources import WHICH, as_arrow, assemble

    check_columns(table.column_names, spec)
    columns = published(table.column_names, spec)
    check_weights(engine, engine.hold(table), spec)
    looked_at = list(dict.fromkeys([*counted_columns(spec), *spec.of_role("sensitive", "items")]))
    marked = table.append_column(WHICH, pa.array(np.arange(table.num_rows)))
    pseudonym = [] if spec.pseudonym is None else [spec.pseudonym]
    carried = [WHICH, *spec.of_role("quasi", "sensitive", "items"), *pseudonym, *whose(spec)]
    made = decide(engine, engine.hold(marked.select([*looked_at, WHICH])), carried)
    fetched = engine.fetch_columns(made.rows, [WHICH, *made.changed, *whose(spec)])
    kind = source if not hasattr(source, "read_next_batch") else table  # a reader is used up, and becomes a table
    positions = fetched[WHICH].to_numpy()
    released = assemble(kind, table, columns, positions, fetched.select(made.changed), cast=spec.data.types)
    if not whose(spec) and not marks(spec):
        return released, Origin(engine.hold(table)), made
    traced = as_arrow(released)
    for name in (*whose(spec), WHICH):
        traced = traced.append_column(name, fetched[name])
    return released, Origin(engine.hold(marked), engine.hold(traced)), made
