"""The verbs: anonymize, run, compare, audit. Shared by the command line and whatever else speaks for the library.

Heavy libraries are imported inside the verbs, so that importing `ringfence` is quick.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.errors import DataError, SpecError, Unsatisfiable, suggestion
from ringfence.events import Listener
from ringfence.methods.checks import check_available, check_front, check_promise, check_shown, is_for_chosen_k
from ringfence.release.diary import Diary
from ringfence.release.fronts import Frontier, SchemeFrontier
from ringfence.release.jobs import Censuses, Decider, Made, count_rows, labels_of, reuser, searcher
from ringfence.release.release import Release
from ringfence.spec import Spec
from ringfence.spec.data import Data

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from ringfence.audit.trace.rows import Origin
    from ringfence.audit.verdict import Verdict
    from ringfence.census.census import Census
    from ringfence.certificates import CheckedBound
    from ringfence.draft.draft import Draft
    from ringfence.methods.candidates import Candidate
    from ringfence.plans.recode import GlobalPlan
    from ringfence.release.comparing import Comparison
    from ringfence.release.job import Job
    from ringfence.rows.engine import Engine
    from ringfence.rows.targets import Target
    from ringfence.search.decision import Decision


def anonymize(
    source: Any,
    spec: Spec,
    *,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
    force: bool = False,
) -> Release:
    """Return an audited release of a table, as a specification asks for it.

    One scan counts the combinations of quasi-identifiers, a search decides on the counts, a second scan rewrites the
    rows, and the audit judges the result from its published values alone.

    `source` is anything with Arrow inside (pandas, Polars, PyArrow, DuckDB), a DataFrame of Spark, the path of a file,
    or None for `data.source` of the specification; the release's table is of the same kind (Arrow for files). It
    is never changed. `attacks` are carried out on the release, as `audit` does it, and shown in its report. `listener`
    is told how far the work is, an `Event` at a time (`progress` gives one that shows it). `force` lets through what is
    known not to be sound, and releases that fail their audit: for experiments.

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
    names = _possible(attacks, spec)
    diary = Diary(listener)

    def decider(measured: Spec) -> Decider:
        return searcher(measured, diary)

    return _audited(_located(source, spec), spec, decider, diary, attacks=names, force=force)


def apply(plan: "GlobalPlan | str | Path", source: Any, *, unknown: str = "error") -> Release:
    """Return an audited release of new rows, recoded by a plan that was made for others.

    Every value becomes what the plan says; classes that fail the plan's promise on these rows are suppressed, within
    the limit that the plan's specification sets. A value that the plan does not know is a DataError, or with
    `unknown="suppress"` its rows are suppressed too. Releases made by one plan can be read side by side, but whoever
    is in two of them is less protected than in one: see docs/promise.md on composition.

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
    if spec.items is not None:
        raise SpecError(f"the plan says what becomes of quasi-identifiers, not of the baskets in {spec.items!r}")
    if spec.data.composite:
        raise SpecError("data.composite = true: which people are published was decided on the rows of the plan's own")

    def decider(measured: Spec) -> Decider:
        return reuser(saved, measured, unknown == "suppress")

    return _audited(source, spec, decider, Diary(), labels=labels_of(saved, spec))


def _named(attacks: str | Sequence[str]) -> tuple[str, ...]:
    return (attacks,) if isinstance(attacks, str) else tuple(attacks)


def _possible(attacks: str | Sequence[str], spec: Spec) -> tuple[str, ...]:
    """Return attacks by name. One that cannot be carried out is refused here, before anything is searched for."""
    names = _named(attacks)
    if names:
        from ringfence.audit.attacks.carry_out import choose

        choose(names, spec, has_original=True, has_other=False)
    return names


def _needs_original(spec: Spec, attacks: Sequence[str]) -> bool:
    """Whether a release is audited beside what it was made from; baskets alone are judged by themselves."""
    return spec.needs_original or bool(attacks and spec.of_role("quasi"))


def _audited(
    source: Any,
    spec: Spec,
    decider: Callable[[Spec], Decider],
    diary: Diary,
    *,
    attacks: tuple[str, ...] = (),
    labels: Spec | None = None,
    force: bool = False,
) -> Release:
    """Recode a source as `decider` says, and audit what came out. `labels` says what these hold, if `spec` does not."""
    from ringfence.rows.casts import cast_table
    from ringfence.rows.dates import open_again, with_spelled_dates
    from ringfence.rows.engines import engine_for
    from ringfence.rows.number_marks import plain_number_table
    from ringfence.rows.remote import is_spark
    from ringfence.rows.same_value import canonical_table
    from ringfence.rows.sources import as_arrow, collected

    source = collected(source)
    _check_choice(source, spec)
    held = None
    with engine_for(spec.data, source) as engine:
        if not isinstance(source, str | Path) and not is_spark(source):
            plain = plain_number_table(canonical_table(as_arrow(source), spec.data.missing_values), spec.data)
            held = with_spelled_dates(cast_table(engine, plain, spec.data.types), spec.formats)
        original = source if held is None else held
        rows = open_again(engine, original, spec)
        spec = _measured(engine, rows, spec)
        if held is None or spec.data.basket_id is not None:
            table, origin, made = _rewrite_rows(engine, source, rows, spec, decider(spec))
        else:
            table, origin, made = _rewrite_in_memory(engine, source, held, spec, decider(spec))
        diary("audit", "auditing the release")
        job = _job(engine, spec, rows, made, replace(origin, labels=labels), attacks, force)
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        published = engine.open(table, spec.data, as_it_stands=True)
        verdict = job.passed(job.audited(published, values))
        sensitive = None if values is None else engine.handed_out(values, source)
        release = _release(job, table, verdict, diary, original, sensitive)
        # Models need to know which row was which, and nobody does after this.
        return replace(release, measured=job.measured(published, values)) if spec.purpose.predict else release


def _measured(engine: "Engine", rows: "ibis.Table", spec: Spec) -> Spec:
    """Return a specification that says which columns hold dates or numbers, if the rows say so; and check it again."""
    from ringfence.rows.measured import with_measured
    from ringfence.values.builders import stated_hierarchy
    from ringfence.values.in_intervals import in_intervals

    trees = {name: stated_hierarchy(name, spec) for name in spec.perhaps_in_intervals}
    numbered = [name for name, tree in trees.items() if tree is not None and in_intervals(tree)]
    measured = with_measured(engine, rows, spec, numbered)
    check_shown(measured)
    return measured


def _job(
    engine: "Engine",
    spec: Spec,
    original: "ibis.Table",
    made: Made,
    origin: "Origin",
    attacks: tuple[str, ...],
    force: bool,
) -> "Job":
    """Return the job of publishing what was made."""
    from ringfence.release.job import Job

    return Job(
        engine,
        spec,
        made.decision,
        made.census,
        made.baskets,
        origin,
        original=original if _needs_original(spec, attacks) else None,
        attacks=attacks,
        force=force,
    )


def _release(job: "Job", table: Any, verdict: "Verdict", diary: Diary, original: Any, sensitive: Any) -> Release:
    """Return what came out of a job, with what a later audit of it needs."""
    return Release(
        table,
        job.decision,
        verdict,
        job.spec,
        job.census,
        tuple(diary.lines),
        job.baskets,
        original=None if job.original is None else original,
        traced=job.people(),
        sensitive=sensitive,
        attacks=tuple(job.attacks),
        made_from=None if job.origin is None or job.origin.labels is not None else original,
    )


def whose(spec: Spec) -> list[str]:
    """Return the column that goes with rows up to their audit and no further: whose they are, where k counts people."""
    from ringfence.rows.sources import WHOSE

    if spec.data.entity is None:
        return []
    return [WHOSE] if spec.data.composite else [spec.data.entity]


def marks(spec: Spec) -> list[str]:
    """Return the column that goes with rows up to their audit and no further: which row each is, where it needs one."""
    from ringfence.audit.trace.rows import is_marked
    from ringfence.rows.sources import WHICH

    return [WHICH] if is_marked(spec) else []


def _carried(columns: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns that rows are rewritten with: those that are published, whose and which they are."""
    return [*(name for name in columns if name != spec.data.basket_id), *whose(spec), *marks(spec)]


def _gathered(engine: "Engine", rows: "ibis.Table", spec: Spec) -> "tuple[ibis.Table, list[str]]":
    """Return rows, of a long table one a basket, with marks; and the columns that are published."""
    from ringfence.rows.basket_rows import gather
    from ringfence.rows.columns import check_columns

    columns = check_columns(rows.columns, spec)
    _check_weights(engine, rows, spec)
    rows = gather(engine, rows, spec, columns)
    return engine.marked(rows) if marks(spec) else rows, columns


def _made(engine: "Engine", rows: "ibis.Table", spec: Spec, decide: Decider) -> "tuple[Made, Origin, ibis.Table]":
    """Return what is made of the rows of an original, where they come from, and what is to be published of them.

    Which rows go where may be left to chance: where rows have marks, it is drawn here, once for all that follows.
    """
    from ringfence.audit.trace.rows import Origin
    from ringfence.rows.basket_rows import spread

    rows, columns = _gathered(engine, rows, spec)
    made = decide(engine, rows, _carried(columns, spec))
    hidden = [*whose(spec), *marks(spec)]
    if not hidden:
        return made, Origin(rows), made.rows
    kept = engine.keep(made.rows)
    return made, Origin(rows, kept), spread(engine, kept.drop(*hidden), spec, columns)


def _rewrite_rows(
    engine: "Engine", source: Any, rows: "ibis.Table", spec: Spec, decide: Decider
) -> "tuple[Any, Origin, Made]":
    """Recode a file, or a long table, where the engine has it; return the release as a table of the source's kind."""
    made, origin, published = _made(engine, rows, spec, decide)
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
    from ringfence.rows.columns import check_columns
    from ringfence.rows.sources import WHICH, as_arrow, assemble

    columns = check_columns(table.column_names, spec)
    _check_weights(engine, engine.hold(table), spec)
    looked_at = list(dict.fromkeys([*counted_columns(spec), *spec.of_role("sensitive", "items")]))
    marked = table.append_column(WHICH, pa.array(np.arange(table.num_rows)))
    pseudonym = [] if spec.pseudonym is None else [spec.pseudonym]
    carried = [WHICH, *spec.of_role("quasi", "sensitive", "items"), *pseudonym, *whose(spec)]
    made = decide(engine, engine.hold(marked.select([*looked_at, WHICH])), carried)
    fetched = engine.fetch(made.rows.select(WHICH, *made.changed, *whose(spec)))
    kind = source if not hasattr(source, "read_next_batch") else table  # a reader is used up, and becomes a table
    positions = fetched[WHICH].to_numpy()
    released = assemble(kind, table, columns, positions, fetched.select(made.changed), cast=spec.data.types)
    if not whose(spec) and not marks(spec):
        return released, Origin(engine.hold(table)), made
    traced = as_arrow(released)
    for name in (*whose(spec), WHICH):
        traced = traced.append_column(name, fetched[name])
    return released, Origin(engine.hold(marked), engine.hold(traced)), made


def run(
    spec: Spec,
    folder: str | Path,
    *,
    report: bool = True,
    plots: bool = False,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
    force: bool = False,
) -> Release:
    """Anonymize `data.source` of a specification straight into a folder, as `Release.save` lays it out.

    The rows go from file to file without being held in memory; the audit judges the file that was written. The
    release's `table` is its path (and `sensitive`, where there are two tables, that of the second). `attacks` are
    carried out on the file, and shown in the report.
    """
    from ringfence.release.folder import new_version
    from ringfence.release.manifest import SENSITIVE, beside
    from ringfence.release.publish import publish
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for

    check_available(spec, force=force)
    names = _possible(attacks, spec)
    diary = Diary(listener)
    source = _located(None, spec)
    with (
        new_version(Path(folder)) as version,
        engine_for(spec.data, source, scratch=version.scratch) as engine,
        _target(_output(spec), engine, spec) as target,
    ):
        _check_choice(source, spec)
        original = open_original(engine, source, spec)
        spec = _measured(engine, original, spec)
        made, origin, rows = _made(engine, original, spec, searcher(spec, diary))
        diary("write", "writing the release")
        job = replace(_job(engine, spec, original, made, origin, names, force), diary=diary)
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        form = _format_of(source, spec)
        path, verdict = publish(
            job, rows, version, file_format=form, report=report, plots=plots, sensitive=values, target=target
        )
        second = None if made.sensitive is None else beside(path) if isinstance(path, Path) else f"{path}_{SENSITIVE}"
        return _release(job, path, verdict, diary, source, second)


def _output(spec: Spec) -> str | None:
    """Return where the rows of a release go, if not into files of a run's folder."""
    output = spec.output
    return str(spec.locate(output.to)) if output.is_folder and output.to is not None else output.address


@contextmanager
def _target(address: str | None, engine: "Engine", spec: Spec) -> "Iterator[Target | None]":
    """Return where rows go that do not go into files, refused at once where that cannot be."""
    if address is None:
        yield None
        return
    from ringfence.rows.targets import target_for

    with target_for(address, engine, spec.data, spec.output.partition_by) as target:
        yield target


def _format_of(source: str | Path, spec: Spec) -> str:
    """Return the format that a source has, as far as releases are written in it; else Parquet."""
    from ringfence.rows.formats import BASKETS
    from ringfence.rows.item_columns import file_is_spmf
    from ringfence.rows.places import find

    place = find(source)
    if place.form is BASKETS:
        return "spmf" if file_is_spmf(place.files[0], spec.data.encoding) else "dat"
    return place.form.released_as


def apply_to_file(plan: str | Path, source: str | Path, target: str | Path, *, unknown: str = "error") -> Release:
    """Recode a file by a saved plan into another file, which takes its place when it has passed its audit.

    Either may be a table of a database: `postgresql://host/base#table`.
    """
    from ringfence.release.publish import fill_audited, write_audited
    from ringfence.rows.engines import engine_for
    from ringfence.rows.remote import is_database, is_spark

    release = apply(plan, source, unknown=unknown)
    with engine_for(release.spec.data, source) as engine:
        rows = engine.open(release.table, release.spec.data, as_it_stands=True)
        if is_database(target) or is_spark(target):
            with _target(str(target), engine, release.spec) as table:
                assert table is not None, "an address was given"
                fill_audited(release.job(engine), rows, table)
        else:
            write_audited(release.job(engine), rows, Path(target))
    return replace(release, table=target)


def frontier(source: Any, spec: Spec, *, listener: Listener | None = None) -> Frontier | SchemeFrontier:
    """Return the front of k and loss: what every k costs.

    With the scheme `level`, every node of the lattice is evaluated by roll-up, for all k at once. `spec.frontier` says
    which front: of pairs of node and k ("release", the default), or of nodes alone, as Dewri et al. 2009 have it;
    exactly, or by their search POkA. What `privacy` asks for are minima; none is needed. With one of l, p and t, and
    no suppression, the front has three objectives. With any other scheme, with l, p or t beside a `suppression`, and
    with methods that decide on groups of rows, the k of `frontier.k` are searched one by one, as the method would.
    `source` is as for `anonymize`.
    """
    from ringfence.census.census import take_census
    from ringfence.methods import decide
    from ringfence.rows.columns import check_columns
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import ROWS
    from ringfence.search.front.frontier import exact_front
    from ringfence.search.front.poka import poka_front
    from ringfence.search.front.scheme_front import chosen_front, scheme_front

    check_available(spec, promised=False)
    freer = [name for name in spec.of_role("quasi") if spec.scheme_of(name) != "level"]
    check_front(spec, freer)
    diary = Diary(listener)
    with engine_for(spec.data, _located(source, spec)) as engine:
        diary("count", "counting the rows")
        source = _located(source, spec)
        _check_choice(source, spec)
        rows = open_original(engine, source, spec)
        spec = _measured(engine, rows, spec)
        check_columns(rows.columns, spec)
        census = take_census(count_rows(engine, rows, spec), spec, ROWS)
    diary("search", f"{census.rows:,} rows, {len(census.weights):,} different combinations; searching")
    with diary.searching(spec) as watch:
        if is_for_chosen_k(spec):
            return SchemeFrontier(chosen_front(census, spec, watch, decide), census, spec)
        if freer:
            return SchemeFrontier(scheme_front(census, spec, watch), census, spec)
        find = poka_front if spec.frontier.algorithm == "poka" else exact_front
        return Frontier(find(census, spec, watch), census, spec)


def check_bound(certificate: Path | str, spec: Spec, source: Any = None) -> "CheckedBound":
    """Check the certificate of a dual bound (`method.bound = "dual"`) against the original and its specification.

    Nothing of the search is used: the rows are counted again, and all groups of so many rows as the certificate speaks
    of are gone through. `certificate` is the path of a run's private/certificate.json, `source` as for `anonymize`.

    Raises
    ------
    DataError
        If the file is no certificate, is about other rows, or says more than its prices add up to.
    """
    from ringfence.census.census import take_census
    from ringfence.certificates import check_certificate
    from ringfence.rows.columns import check_columns
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import ROWS

    check_available(spec)
    if not spec.groups_rows:
        raise SpecError(f"method.name = {spec.method.name!r}: certificates are about groups of rows")
    try:
        content = json.loads(Path(certificate).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the certificate {str(certificate)!r}: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{str(certificate)!r} is no certificate: it holds no table of keys")
    source = _located(source, spec)
    with engine_for(spec.data, source) as engine:
        rows = open_original(engine, source, spec)
        spec = _measured(engine, rows, spec)
        check_columns(rows.columns, spec)
        census = take_census(count_rows(engine, rows, spec), spec, ROWS)
    least = max([spec.k, *(spec.least_values(part.name) for part in census.sensitive)])
    if spec.has_loose_labels:
        least = max(least, 3)  # docs/specification.md, representations
    return check_certificate(content, census, spec.method.minimized, [*map(spec.shown_as, census.names)], least)


def compare(
    source: Any,
    spec: Spec,
    *,
    budget: float = 30.0,
    methods: Sequence[str] | None = None,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
) -> "Comparison":
    """Try every method, scheme and representation that can keep the promise; return them side by side.

    All decide on the same census, each within its share of `budget` seconds. Every release is carried out, audited, and
    measured by what its users would be off by (`yardsticks`), from its published table alone; `spec.purpose` says what
    they want to do with it. A candidate that cannot be made says why. `methods` are the names of some methods, None for
    all; `attacks` are carried out on every release. `listener` is also told what came of each candidate, by an event of
    the stage "compare" whose `candidate` is its row of the table. `source` is as for `anonymize`.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 38, 39] * 5, "town": ["Oslo", "Voss"] * 10})
    >>> attributes = {"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}}, "town": {"role": "quasi"}}
    >>> found = compare(people, Spec(attributes=attributes, privacy={"k": 5}), methods=["local", "mondrian"])
    >>> sorted(found.table["name"].to_pylist())[-1]
    'mondrian-sets'
    >>> found.release(found.best.name).audit.ok
    True
    """
    from ringfence.methods.candidates import candidates
    from ringfence.release.comparing import Comparison, MeasuredRelease, Tried, try_all
    from ringfence.rows.columns import check_columns
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import as_arrow, collected
    from ringfence.yardsticks.measure import is_measured, measure_rows, ruler
    from ringfence.yardsticks.models import check_installed

    check_promise(spec)
    if not budget > 0:
        raise SpecError(f"budget = {budget!r}: allowed: a number of seconds above 0")
    if spec.purpose.predict:
        check_installed()
    diary, begun, censuses = Diary(listener), time.monotonic(), Censuses()
    source = collected(_located(source, spec))
    source = as_arrow(source) if hasattr(source, "read_next_batch") else source  # a reader would be used up
    with engine_for(spec.data, source) as engine:
        _check_choice(source, spec)
        diary("count", "counting the rows")
        original = engine.keep(open_original(engine, source, spec))
        check_columns(original.columns, spec)
        spec = _measured(engine, original, spec)
        found = ruler(engine, original, spec) if is_measured(spec) else None

        def diary_of(candidate: "Candidate") -> Diary:
            return Diary(None if listener is None else _about(candidate.name, diary))

        def prepare(candidate: "Candidate") -> "Callable[[Spec], Decision | None]":
            if spec.items is not None:  # what is decided on baskets depends on the draw before it
                return lambda _: None
            return _search(censuses.of(engine, original, candidate.spec), diary_of(candidate))

        def finish(candidate: "Candidate", hurried: Spec, decision: "Decision | None") -> MeasuredRelease:
            told = diary_of(candidate)
            made, origin, rows = _made(engine, original, hurried, searcher(hurried, told, censuses, decision))
            table = engine.fetch(rows)
            published = engine.open(table, hurried.data, as_it_stands=True)
            job = _job(engine, hurried, original, made, origin, _named(attacks), force=False)
            values = None if made.sensitive is None else engine.hold(made.sensitive)
            told("audit", "auditing the release")
            verdict = job.passed(job.audited(published, values))
            use = None if found is None else measure_rows(engine, published, found, hurried, origin, values)
            return MeasuredRelease(made.decision, verdict, use, _examples(table, hurried))

        tried = try_all(
            candidates(spec, methods),
            prepare,
            finish,
            rows=engine.size(original),
            budget=budget,
            spent=time.monotonic() - begun,
            diary=diary,
        )
    if not any(each.made for each in tried):
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in tried[:3])
        raise Unsatisfiable(f"none of {len(tried)} candidates could be made: {reasons}")

    def remake(chosen: Tried) -> Release:
        assert chosen.made is not None, "only what was made can be made again"
        decided, quiet = chosen.made.decision, Diary()
        again = decided if spec.items is None else None  # what is decided on baskets depends on the draw before it

        def decider(dated: Spec) -> Decider:
            return searcher(dated, quiet, censuses, again)

        return _audited(source, chosen.candidate.spec, decider, quiet, attacks=_named(attacks))

    naive = None if found is None else found.naive
    rows = next(
        int(each.made.decision.metrics["rows"] + each.made.decision.metrics["suppressed"])
        for each in tried
        if each.made
    )
    return Comparison(spec, tuple(tried), naive, rows, budget, time.monotonic() - begun, remake)


def _search(census: "Census", diary: Diary) -> "Callable[[Spec], Decision]":
    """Return a search, to be run whenever there is time for it, within the limits of a specification."""
    from ringfence.methods import decide

    def search(spec: Spec) -> "Decision":
        diary("search", "searching")
        with diary.searching(spec) as watch:
            return decide(census, spec, watch)

    return search


def _about(name: str, diary: Diary) -> Listener:
    """Return a listener that says which candidate it is told of."""
    return lambda event: diary.tell(replace(event, what=f"{name}: {event.what}"))


def _examples(table: "pa.Table", spec: Spec) -> "tuple[dict[str, Any], ...]":
    """Return a few rows of a release, as far as they are recoded."""
    recoded = [name for name in table.column_names if name in spec.of_role("quasi", "items")]
    return tuple(
        {name: None if cell is None else str(cell) for name, cell in row.items()}
        for row in table.select(recoded).slice(0, 3).to_pylist()
    )


def progress() -> AbstractContextManager[Listener]:
    """Show on the terminal, or in the notebook, what a run is busy with, as long as the context lasts.

    Gives a listener for `anonymize`, `run` and `frontier`: the stage, the time, how far it is, the best loss so far and
    what none can go below. Where there is neither, a search that goes on for long says so in a line now and then. The
    first Ctrl-C in a search that has an answer ends the search, and the run goes on with the best so far; any other
    interrupts the run.

    >>> with progress() as listener:  # doctest: +SKIP
    ...     release = anonymize(table, spec, listener=listener)
    """
    from ringfence.display import shown

    return shown()


def draft(source: Any, folder: str | Path = ".") -> "Draft":
    """Look at a table and return a drafted specification: roles with reasons, hierarchies that fit.

    `source` is the path of a file, or anything with Arrow inside (pandas, Polars, PyArrow, DuckDB). The draft is a
    `Spec` that runs as it is; `toml` is how `ringfence init` writes it, to be kept in `folder`, with the reasons as
    comments. It is a guess from the names and values of the columns: only you know what others know about these people.

    >>> import pyarrow as pa
    >>> patients = [f"P{n}" for n in range(20)]
    >>> visits = pa.table({"patient": patients * 3, "sex": ["f", "m"] * 30, "nights": [1, 2, 3, 4, 5, 6] * 10})
    >>> drafted = draft(visits)
    >>> drafted.data.entity, drafted.reasons["sex"]
    ('patient', 'the sex, which others know')
    >>> anonymize(visits, drafted).audit.ok
    True
    """
    from ringfence.draft.draft import draft_spec
    from ringfence.draft.guess import guess_data
    from ringfence.draft.written import how_written
    from ringfence.rows.engines import engine_for
    from ringfence.rows.formats import TEXT
    from ringfence.rows.places import find, is_local
    from ringfence.rows.remote import is_spark
    from ringfence.rows.sources import as_arrow, collected, unpacked

    name, data = None, Data()
    if isinstance(source, str | Path):
        place = find(source)
        name = os.path.relpath(Path(source).resolve(), Path(folder).resolve()) if is_local(source) else str(source)
        if place.form is TEXT:
            with unpacked(place.files[0]) as text:
                data = guess_data(text)
    given = source if name is not None or is_spark(source) else as_arrow(collected(source))
    with engine_for(data, given) as engine:
        data, told = how_written(engine, engine.open(given, data), data)
        return draft_spec(engine, engine.open(given, data), data, name, told)


def audit(
    table: Any,
    spec: Spec,
    original: Any = None,
    *,
    sensitive: Any = None,
    population: Any = None,
    other: Any = None,
    corrupted: int = 0,
    attacks: str | Sequence[str] = (),
) -> "Verdict":
    """Judge a release: does what it shows keep the promise of the specification, and how likely is anyone found?

    Works on any table, whoever made it: it reads the published values and the specification, and shares no code with
    the searches. `table` is a path or a table of any kind. Where a manifest stands beside the file, all that it says
    of the release must be so, and the files that it lists must be those it speaks of; that of a table or a folder is
    looked for where the specification is from, in the folder of a run (`out/private/spec.toml`). With the `original`,
    a path or a table, the release is also traced back to it: no row may be made up, none past its boundary, and rows
    suppressed are counted. A release of the method `ring` cannot be judged without it, and neither can k where it
    counts people (`data.entity`): see `Verdict.unjudged`. With a table of the `population` that the rows come from,
    `verdict.risk` has what a journalist gets, and k-map and presence are judged. `corrupted` asks what is left to
    guess for an adversary who knows whose that many rows are. `attacks` are carried out with the original at hand:
    "all", or some of linkage, homogeneity, background, minimality, corruption, items, and intersection with an `other`
    release of the same table; refinement needs the release alone. A release of the method `anatomy` is two tables:
    `sensitive` is the second, by default the file of that name beside the first.
    """
    from ringfence.audit.labels.told import told_measures
    from ringfence.audit.verify import verify
    from ringfence.release.manifest import SENSITIVE, beside, with_manifest
    from ringfence.rows.dates import with_spelled_rows
    from ringfence.rows.engine import as_released
    from ringfence.rows.engines import engine_for
    from ringfence.rows.remote import is_database, is_spark

    check_promise(spec)
    if sensitive is None and spec.has_buckets and isinstance(table, str | Path):
        sensitive = f"{table}_{SENSITIVE}" if is_database(table) or is_spark(table) else beside(Path(table))
    with engine_for(spec.data, table, original, population, other) as engine:
        known = [None if each is None else engine.open(each, spec.data) for each in (original, population)]
        wanted = _named(attacks)

        def judged(data: Data) -> "tuple[Verdict, Spec]":
            rows = engine.open(table, data, as_it_stands=True)
            told = told_measures(engine, rows, spec, known)
            before, everyone = (
                None if each is None else with_spelled_rows(engine, each, told.formats) for each in known
            )
            verdict = verify(
                engine,
                rows,
                told,
                before,
                population=everyone,
                other=None if other is None else engine.open(other, data, as_it_stands=True),
                corrupted=corrupted,
                attacks=wanted,
                values=None if sensitive is None else engine.open(sensitive, data, as_it_stands=True),
            )
            return verdict, told

        if not isinstance(table, str | Path):
            return judged(spec.data)[0]
        try:  # as a release of ours is written, else as the original is
            verdict, told = judged(as_released(spec.data))
        except DataError:
            if as_released(spec.data) == spec.data:
                raise
            verdict, told = judged(spec.data)
        return with_manifest(engine, verdict, table, told)


def _located(source: Any, spec: Spec) -> Any:
    """Return the source that was passed in, or the one that the specification names."""
    from ringfence.rows.places import is_local

    if source is not None:
        return source
    if spec.data.source is None:
        raise SpecError("there is no data: pass a table, or name a file in data.source")
    return spec.locate(spec.data.source) if is_local(spec.data.source) else spec.data.source


def _check_weights(engine: "Engine", rows: "ibis.Table", spec: Spec) -> None:
    """Refuse what is no weight before anything is searched for: the audit adds weights up in the end."""
    from ringfence.rows.columns import weights_total

    if spec.data.weights is not None:
        weights_total(engine, rows, spec.data.weights)


def _check_choice(source: Any, spec: Spec) -> None:
    """Refuse keys that choose one of the tables of a file, where they have no meaning for it."""
    from ringfence.rows.formats import POSTGRESQL
    from ringfence.rows.places import find

    if isinstance(source, str | Path):
        form = find(source).form
        if spec.data.query is not None and form is not POSTGRESQL:
            raise SpecError(f"data.query has no meaning for a source of the kind {form.name}; allowed: PostgreSQL")
        for key, value in {"sheet": spec.data.sheet, "table": spec.data.table}.items():
            if value is not None and form.chosen_by != key:
                raise SpecError(f"data.{key} = {value!r} has no meaning for a source of the kind {form.name}")
