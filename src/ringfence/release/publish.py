"""Publishing: a release written, read back, audited and moved into place, with what may be shown and what may not
apart.

public/   release.csv or release.parquet, with the method anatomy also sensitive.csv or .parquet, of sets and ranges
          also typed.parquet, where they are asked for counts.csv or .parquet; manifest.json: made to be published, and
          no byte of it says more than the labels and these counts
private/  plan.json, audit.json, certificate.json, spec.toml, log.txt: may show values of the original

How they take their place in one step: `folder`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

import ibis

from ringfence.audit.trace.rows import same_rows
from ringfence.audit.verdict import Finding, Verdict
from ringfence.errors import EngineError, SpecError
from ringfence.plans.items import refuse_torn
from ringfence.plans.typed import typed_rows
from ringfence.release.folder import Version
from ringfence.release.job import AuditFailed, Job
from ringfence.release.manifest import (
    COUNTS,
    ID,
    MANIFEST,
    SENSITIVE,
    TYPED,
    beside,
    build_manifest,
    files_of,
    wrong_typed,
)
from ringfence.rows.basket_rows import LINES, as_text
from ringfence.rows.engine import Engine, as_counts, as_released
from ringfence.rows.places import is_local
from ringfence.rows.staging import put, spilling, staging, write_files
from ringfence.rows.targets import Target, noted
from ringfence.search.decision import Decision
from ringfence.spec import Spec
from ringfence.values.builders import self_contained

FORMATS = ("csv", "parquet", "dat", "spmf")


def publish(
    job: Job,
    rows: ibis.Table,
    version: Version,
    *,
    file_format: str,
    report: bool,
    plots: bool,
    sensitive: ibis.Table | None = None,
    target: Target | None = None,
) -> tuple[Path | str, Verdict]:
    """Write a release and all that goes with it, audit it, and make it what the folder of `version` shows.

    Returns where the release is, and the audit. Whatever fails before that leaves an earlier release as it was.
    `sensitive` is the second table of those that are two. With a `target`, rows go there and not into a file.
    """
    identity = token_hex(8)
    try:
        release = version.public / f"release.{file_format}"
        if target is None:
            verdict, written = _write_release(job, rows, release, sensitive)
            published = files_of(release)
        else:
            verdict, written = _fill(job, rows, target, version.scratch, sensitive)
            published = {key: {**each, ID: identity} for key, each in target.published.items()}
        manifest = build_manifest(
            published, job.decision, job.spec, verdict, job.census.incomplete, job.engine.versions()
        )
        (version.public / MANIFEST).write_bytes(_as_json(manifest))
        _write_private(job, version.private, verdict)
        if report or plots:
            _write_report(job, written, version.private, verdict, plots)
    except OSError as error:
        raise EngineError(f"cannot write to {str(version.folder)!r}: {error.strerror or error}") from error
    # Two places cannot change in one step. Whoever is killed between the two leaves the release with the earlier
    # manifest: sound, and known by its note, which has another `id`. Nothing but a renaming is left to do after it.
    version.prepare()
    if target is not None:
        gone = [f"_{second}" for second in (SENSITIVE, COUNTS) if second not in published]
        target.commit(noted(f"{verdict.measured['rows']:,} rows", identity), gone)
    version.publish()
    return (version.folder / "public" / release.name if target is None else target.address), verdict


Written: TypeAlias = tuple[ibis.Table, ibis.Table | None, ibis.Table | None]
"""The rows of a release as they stand where they were written, the second table of those that are two, and counts."""


def _fill(
    job: Job, rows: ibis.Table, target: Target, scratch: Path, sensitive: ibis.Table | None
) -> tuple[Verdict, Written]:
    """Put the rows where they go, under another name; read them back, and refuse what does not pass its audit."""
    target.stage(rows)
    values = counts = None
    if sensitive is not None:
        target.stage(sensitive, f"_{SENSITIVE}")
        values = target.open(scratch, job.spec.data, f"_{SENSITIVE}")
    if job.counts is not None:
        target.stage(job.engine.hold(job.counts), f"_{COUNTS}")
        counts = target.open(scratch, as_counts(job.spec.data), f"_{COUNTS}")
    written = target.open(scratch, job.spec.data)
    job.diary("audit", "auditing what was written")
    verdict = job.audited(written, values, counts)
    if not job.is_proven:
        verdict = verdict.with_findings([*_unlike(job.engine, written, rows, job.spec, "parquet")])
    return job.passed(verdict), (written, values, counts)


def _write_release(job: Job, rows: ibis.Table, release: Path, sensitive: ibis.Table | None) -> tuple[Verdict, Written]:
    """Write the rows, and what is published beside them; read them back, and refuse what does not pass its audit."""
    engine, spec, file_format = job.engine, job.spec, release.suffix[1:]
    _refuse_unreadable(rows, job.decision, spec, file_format)
    engine.write(as_text(rows, spec, file_format), release, spec.data)
    values = counts = None
    if sensitive is not None:
        engine.write(sensitive, second := Path(beside(release, SENSITIVE)), spec.data)
        values = engine.open(second, as_released(spec.data), as_it_stands=True)
    if job.counts is not None:
        engine.write(engine.hold(job.counts), second := Path(beside(release, COUNTS)), spec.data)
        counts = engine.open(second, as_counts(spec.data), as_it_stands=True)
    written = engine.folded(engine.open(release, as_released(spec.data), as_it_stands=True))
    job.diary("audit", "auditing what was written")
    verdict = job.audited(written, values, counts)
    if not job.is_proven:
        verdict = verdict.with_findings([*_unlike(engine, written, rows, spec, file_format)])
    job.passed(verdict)
    if file_format == "parquet":
        _write_typed(engine, release, spec)
    return verdict, (written, values, counts)


def _write_private(job: Job, folder: Path, verdict: Verdict) -> None:
    """Write what may show values of the original: the verdict, the plans, the specification and the log."""
    (folder / "audit.json").write_bytes(_as_json(verdict.as_dict()))
    plan, basket = job.decision.plan, job.decision.basket
    plan.save(folder / "plan.json")
    if basket is not None and basket.plan is not plan:
        basket.plan.save(folder / "items.json")
    if job.decision.certificate is not None:
        certificate = json.dumps(job.decision.certificate.as_dict(job.census), ensure_ascii=False)
        (folder / "certificate.json").write_text(certificate, encoding="utf-8")
    portable(job.spec).dump(folder / "spec.toml")
    (folder / "log.txt").write_text("".join(f"{line}\n" for line in job.diary.lines), encoding="utf-8")


def _write_report(job: Job, written: Written, folder: Path, verdict: Verdict, plots: bool) -> None:
    """Write the page for the people who answer for the release, and its charts if they are wanted."""
    from ringfence.report.build import build_report

    job.diary("report", "making the report")
    use = job.measured(*written) if job.spec.of_role("quasi") else None
    page = build_report(
        job.census, job.decision, verdict, job.spec, incomplete=job.census.incomplete, baskets=job.baskets, use=use
    )
    page.save(folder / "report.html")
    if plots:
        page.save_plots(folder / "plots")


def _unlike(engine: Engine, written: ibis.Table, rows: ibis.Table, spec: Spec, file_format: str) -> Iterator[Finding]:
    """Find out whether a file has other rows than were to be written. The numbers of baskets are drawn as they are."""
    basket = [] if spec.data.basket_id is None else [spec.data.basket_id]
    form = file_format if file_format not in LINES else "dat"
    read = as_text(written, spec, form) if file_format in LINES else written
    return same_rows(engine, read.drop(*basket), as_text(rows, spec, form).drop(*basket))


def _write_typed(engine: Engine, release: Path, spec: Spec) -> None:
    """Write a release once more beside itself, sets as lists and ranges as two columns, where it has any."""
    if not spec.groups_rows or all(spec.shown_as(name) == "hierarchy" for name in spec.of_role("quasi")):
        return
    rows = typed_rows(engine, engine.open(release, spec.data, as_it_stands=True), spec)
    if rows is not None:
        engine.write(rows, release.with_name(TYPED), spec.data)
        for wrong in wrong_typed(engine, release, spec):
            raise AuditFailed(
                f"this release did not pass its audit, so nothing was written; please report this: {wrong}"
            )


def _refuse_unreadable(rows: ibis.Table, decision: Decision, spec: Spec, file_format: str) -> None:
    """Refuse labels that could not be read back where lists of items become text."""
    if decision.basket is None or file_format == "parquet" or not rows[decision.basket.plan.column].type().is_array():
        return
    plan = decision.basket.plan
    separator = spec.attributes[plan.column].separator if file_format == "csv" else " "
    if separator is not None:
        refuse_torn(plan, plan.items.labels, separator)


def fill_audited(job: Job, rows: ibis.Table, target: Target) -> None:
    """Put a release where it goes, if it passes its audit when it is read back."""
    with spilling() as scratch:
        _fill(job, rows, target, scratch, None)
        note = noted(f"{job.decision.metrics['rows']:,} rows", token_hex(8))
        target.commit(note, [f"_{SENSITIVE}", f"_{COUNTS}"])


def write_audited(job: Job, rows: ibis.Table, target: Path) -> None:
    """Write a release into one file, which takes its place when it has been read back and has passed its audit."""
    if target.suffix.lower() not in (".csv", ".parquet"):
        raise SpecError(f"cannot tell what to write by the name {str(target)!r}; allowed: .csv, .parquet")
    try:
        with staging(target.parent) as folder:
            staged = folder / f"release{target.suffix.lower()}"
            job.engine.write(rows, staged, job.spec.data)
            written = job.engine.open(staged, as_released(job.spec.data), as_it_stands=True)
            job.passed(job.audited(written).with_findings([*same_rows(job.engine, written, rows)]))
            put(staged, target)
    except OSError as error:
        raise EngineError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


def save_audit(verdict: Verdict, spec: Spec, folder: Path, source: str | None = None) -> Path:
    """Write a verdict into a folder: audit.json for machines, and audit.html for people, whose path is returned.

    `source` is what the page calls the table. Both may show values of the original.
    """
    from ringfence.report.audit import audit_page

    page = audit_page(verdict, spec, source)
    write_files(folder, {"audit.json": _as_json(verdict.as_dict()), "audit.html": page.encode()})
    return folder / "audit.html"


def portable(spec: Spec) -> Spec:
    """Return a specification that runs from anywhere: hierarchies inside it, source and output by their full paths."""
    source = spec.data.source
    if source is not None and is_local(source):
        source = str(spec.locate(source).resolve())
    data = spec.data.model_copy(update={"source": source})
    output = spec.output
    if output.is_folder and output.to is not None:
        output = output.model_copy(update={"to": str(spec.locate(output.to).absolute())})
    return self_contained(spec).model_copy(update={"data": data, "output": output})


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
