"""From a source to what is written: run, and apply an earlier plan."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ringfence.api.in_memory import apply
from ringfence.api.loading import load
from ringfence.api.making import begun_with, check_choice, job_of, located, make, possible, release_of, with_measures
from ringfence.errors import SpecError
from ringfence.events import Listener
from ringfence.methods.checks import check_available
from ringfence.release.diary import Diary
from ringfence.release.jobs import searcher
from ringfence.release.release import Release
from ringfence.spec import Spec

if TYPE_CHECKING:
    from ringfence.plans.base import Plan
    from ringfence.rows.engine import Engine
    from ringfence.rows.targets import Target


def run(
    spec: Spec,
    folder: str | Path,
    *,
    report: bool = True,
    plots: bool = False,
    start: "Plan | str | Path | None" = None,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
    force: bool = False,
) -> Release:
    """Anonymize `data.source` of a specification straight into a folder, as `Release.save` lays it out.

    Unless they are few, the rows go from file to file without being held in memory; the audit judges the file that was
    written. The release's `table` is its path (and `sensitive`, where there are two tables, that of the second, and
    `counts` that of the counts of values). `start` is as for `anonymize`; `attacks` are carried out on the file, and
    shown in the report.
    """
    check_available(spec, force=force)
    load()

    from ringfence.release.folder import new_version
    from ringfence.release.manifest import COUNTS, SENSITIVE, beside
    from ringfence.release.publish import publish
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for

    names = possible(attacks, spec)
    diary, starts = Diary(listener), begun_with(start, spec)
    source = located(None, spec)
    with (
        new_version(Path(folder)) as version,
        engine_for(spec.data, source, scratch=version.scratch) as engine,
        target_of(_output(spec), engine, spec) as target,
    ):
        check_choice(source, spec)
        original = open_original(engine, source, spec)
        spec = with_measures(engine, original, spec)
        made, origin, rows = make(engine, original, spec, searcher(spec, diary, starts=starts))
        diary("write", "writing the release")
        job = replace(job_of(engine, spec, original, made, origin, names, force), diary=diary)
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        form = _format_of(source, spec)
        path, verdict = publish(
            job, rows, version, file_format=form, report=report, plots=plots, sensitive=values, target=target
        )
        second = None if made.sensitive is None else beside(path, SENSITIVE)
        counts = None if job.counts is None else beside(path, COUNTS)
        return release_of(job, path, verdict, diary, source, second, counts)


def _output(spec: Spec) -> str | None:
    """Return where the rows of a release go, if not into files of a run's folder."""
    output = spec.output
    return str(spec.locate(output.to)) if output.is_folder and output.to is not None else output.address


@contextmanager
def target_of(address: str | None, engine: "Engine", spec: Spec) -> "Iterator[Target | None]":
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

    Either may be a table of a database: `postgresql://host/base#table`. What is read is never written over.
    """
    from ringfence.release.publish import fill_audited, write_audited
    from ringfence.rows.engines import engine_for
    from ringfence.rows.remote import is_database, is_spark

    if not is_database(target) and not is_spark(target):
        _refuse_to_write_over(Path(target), plan, source)
    release = apply(plan, source, unknown=unknown)
    with engine_for(release.spec.data, source) as engine:
        rows = engine.open(release.table, release.spec.data, as_it_stands=True)
        if is_database(target) or is_spark(target):
            with target_of(str(target), engine, release.spec) as table:
                assert table is not None, "an address was given"
                fill_audited(release.job(engine), rows, table)
        else:
            write_audited(release.job(engine), rows, Path(target))
    return replace(release, table=target)


def _refuse_to_write_over(target: Path, plan: str | Path, source: str | Path) -> None:
    """Refuse to put a release in the place of the rows that it is made of, of the plan, or of the rows of the plan."""
    from ringfence.plans.recode import GlobalPlan
    from ringfence.rows.places import find

    if not target.exists():
        return
    first = Spec.loads(GlobalPlan.load(plan).spec, "the plan's specification").data.source
    rows = "the rows that are to be recoded"
    read = {**dict.fromkeys(find(source).files, rows), Path(plan): "the plan"}
    if first is not None:
        read[Path(first)] = "the rows that the plan was made for"
    for path, what in read.items():
        if path.exists() and path.samefile(target):
            raise SpecError(f"{str(target)!r} holds {what}, and is not written over; name another file")
