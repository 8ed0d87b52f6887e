"""Publishing: a release written, read back, audited and moved into place, with what may be shown and what may not
apart.

public/   release.csv or release.parquet, with the method anatomy also sensitive.csv or .parquet, of sets and ranges
          also typed.parquet; manifest.json: made to be published, and no byte of it says more than the labels
private/  plan.json, audit.json, spec.toml, log.txt: may show values of the original

How they take their place in one step: `folder`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis

from ringfence.audit.trace.rows import Origin, same_rows
from ringfence.audit.verdict import Finding, Verdict
from ringfence.audit.verify import verify
from ringfence.census.baskets import Baskets
from ringfence.census.census import Census
from ringfence.errors import EngineError, RingfenceError, SpecError
from ringfence.plans.items import refuse_torn
from ringfence.plans.typed import typed_rows
from ringfence.release.folder import Version
from ringfence.release.manifest import MANIFEST, TYPED, beside, build_manifest, wrong_typed
from ringfence.rows.basket_rows import LINES, as_text
from ringfence.rows.engine import Engine, as_released
from ringfence.rows.staging import put, staging, write_files
from ringfence.search.decision import Decision
from ringfence.spec import Spec
from ringfence.values.builders import self_contained

FORMATS = ("csv", "parquet", "dat", "spmf")


class AuditFailed(RingfenceError):
    """A release of our own making did not pass the audit: a bug in Ringfence. Nothing was written."""


def check(verdict: Verdict, decision: Decision, *, force: bool = False) -> Verdict:
    """Refuse a release that its audit refuses, unless forced, or that has other rows than were decided on."""
    expected = decision.metrics["rows"] + (decision.metrics["suppressed"] if decision.plan.masked else 0)
    if verdict.measured["rows"] != expected:
        raise AuditFailed(
            f"this release has {verdict.measured['rows']} rows, not the {expected} that were decided on, so nothing was"
            " written; unless you changed it, please report this"
        )
    if not verdict.ok and not force:
        raise AuditFailed(
            "this release did not pass its audit, so nothing was written; unless you changed it, please report this:"
            f" {[*(finding.message for finding in verdict.findings), *verdict.unjudged][0]}"
        )
    return verdict


def proven_by(origin: Origin, decision: Decision) -> Origin:
    """Return what is known of rows with how many of them were decided to go: none where they stay masked."""
    gone = 0 if decision.plan.masked else decision.metrics["suppressed"]
    return replace(origin, suppressed=int(gone + decision.metrics.get("unknown", 0)))


def publish(
    engine: Engine,
    rows: ibis.Table,
    decision: Decision,
    spec: Spec,
    census: Census,
    version: Version,
    *,
    file_format: str,
    original: ibis.Table | None = None,
    traced: ibis.Table | None = None,
    origin: Origin | None = None,
    attacks: Sequence[str] = (),
    force: bool = False,
    log: Sequence[str],
    report: bool,
    plots: bool,
    baskets: Baskets | None = None,
    sensitive: ibis.Table | None = None,
) -> tuple[Path, Verdict]:
    """Write a release and all that goes with it, audit the file, and make it what the folder of `version` shows.

    Returns the release's path and the audit. Whatever fails before that leaves an earlier release as it was. `original`
    is for releases that cannot be audited without it, and for `attacks` to be carried out; `traced` are the rows with
    whose they are, where k counts people; `sensitive` is the second table of those that are two.
    """
    try:
        release = version.public / f"release.{file_format}"
        _refuse_unreadable(rows, decision, spec, file_format)
        engine.write(as_text(rows, spec, file_format), release, spec.data)
        values = None
        if sensitive is not None:
            engine.write(sensitive, beside(release), spec.data)
            values = engine.open(beside(release), as_released(spec.data), as_it_stands=True)
        written = engine.open(release, as_released(spec.data), as_it_stands=True)
        known = None if origin is None else proven_by(origin, decision)
        verdict = verify(engine, written, spec, original, attacks=attacks, values=values, traced=traced, origin=known)
        if origin is None or origin.marked is not None:  # else the file itself was proven
            verdict = verdict.with_findings([*_unlike(engine, written, rows, spec, file_format)])
        check(verdict, decision, force=force)
        if file_format == "parquet":
            _write_typed(engine, release, spec)
        manifest = build_manifest(release, decision, spec, verdict, census.incomplete)
        (version.public / MANIFEST).write_bytes(_as_json(manifest))
        private = version.private
        (private / "audit.json").write_bytes(_as_json(verdict.as_dict()))
        decision.plan.save(private / "plan.json")
        if decision.basket is not None and decision.basket.plan is not decision.plan:
            decision.basket.plan.save(private / "items.json")
        _portable(spec).dump(private / "spec.toml")
        if report or plots:
            from ringfence.report.build import build_report

            page = build_report(census, decision, verdict, spec, incomplete=census.incomplete, baskets=baskets)
            page.save(private / "report.html")
            if plots:
                page.save_plots(private / "plots")
        (private / "log.txt").write_text("".join(f"{line}\n" for line in log), encoding="utf-8")
    except OSError as error:
        raise EngineError(f"cannot write to {str(version.folder)!r}: {error.strerror or error}") from error
    version.publish()
    return version.folder / "public" / release.name, verdict


def _unlike(engine: Engine, written: ibis.Table, rows: ibis.Table, spec: Spec, file_format: str) -> Iterator[Finding]:
    """Find out whether a file has other rows than were to be written. The numbers of baskets are drawn as they are."""
    basket = [] if spec.data.basket_id is None else [spec.data.basket_id]
    form = file_format if file_format not in LINES else "dat"
    read = as_text(written, spec, form) if file_format in LINES else written
    return same_rows(engine, read.drop(*basket), as_text(rows, spec, form).drop(*basket))


def _write_typed(engine: Engine, release: Path, spec: Spec) -> None:
    """Write a release once more beside itself, sets as lists and ranges as two columns, where it has any."""
    if not spec.groups_rows or spec.method.shown_as == "hierarchy":
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


def write_audited(
    engine: Engine,
    rows: ibis.Table,
    decision: Decision,
    spec: Spec,
    target: Path,
    *,
    original: ibis.Table | None = None,
    traced: ibis.Table | None = None,
) -> None:
    """Write a release into one file, which takes its place when it has been read back and has passed its audit."""
    if target.suffix.lower() not in (".csv", ".parquet"):
        raise SpecError(f"cannot tell what to write by the name {str(target)!r}; allowed: .csv, .parquet")
    try:
        with staging(target.parent) as folder:
            staged = folder / f"release{target.suffix.lower()}"
            engine.write(rows, staged, spec.data)
            written = engine.open(staged, as_released(spec.data), as_it_stands=True)
            verdict = verify(engine, written, spec, original, traced=traced)
            check(verdict.with_findings([*same_rows(engine, written, rows)]), decision)
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


def _portable(spec: Spec) -> Spec:
    """Return a specification that runs from anywhere: hierarchies inside it, the source by its full path."""
    source = None if spec.data.source is None else str(spec.locate(spec.data.source).resolve())
    data = spec.data.model_copy(update={"source": source})
    return self_contained(spec).model_copy(update={"data": data})


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
