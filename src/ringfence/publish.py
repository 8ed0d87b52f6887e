"""Publishing: a release written, read back, audited and moved into place, with what may be shown and what may not
apart.

public/   release.csv or release.parquet, with the method anatomy also sensitive.csv or .parquet, manifest.json: made to
          be published
private/  plan.json, audit.json, spec.toml, log.txt: may show values of the original
"""

import contextlib
import hashlib
import json
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numba
import numpy
import pyarrow

from ringfence.audit.verify import Finding, Verdict, verify
from ringfence.basket_rows import as_text
from ringfence.baskets import Baskets
from ringfence.builders import self_contained
from ringfence.census import Census
from ringfence.engine import Engine, as_released
from ringfence.errors import DataError, EngineError, RingfenceError, SpecError
from ringfence.group_plan import GroupPlan
from ringfence.item_plan import refuse_torn
from ringfence.ring_plan import RingPlan
from ringfence.search.decision import Decision, Plan
from ringfence.search.progress import SearchResult
from ringfence.spec import Spec
from ringfence.typed import refuse_taken, typed_columns
from ringfence.version import __version__

FORMATS = ("csv", "parquet", "dat", "spmf")
MANIFEST = "ringfence manifest 1"
COUNTED = ("rows", "suppressed", "classes", "buckets")
"""Metrics that are no losses."""
TYPED = "typed.parquet"
"""Beside a release in Parquet: the same, with labels in types that can be computed with."""
SENSITIVE = "sensitive"
"""Beside a release of the method `anatomy`, in the same format: the sensitive values of each bucket."""


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


def publish(
    engine: Engine,
    rows: ibis.Table,
    decision: Decision,
    spec: Spec,
    census: Census,
    folder: Path,
    *,
    file_format: str,
    original: ibis.Table | None = None,
    traced: ibis.Table | None = None,
    attacks: Sequence[str] = (),
    force: bool = False,
    log: Sequence[str],
    report: bool,
    plots: bool,
    baskets: Baskets | None = None,
    sensitive: ibis.Table | None = None,
) -> tuple[Path, Verdict]:
    """Write a release and all that goes with it into `folder`; return the release's path and the audit of that file.

    Everything is written under another name first and moved when it is complete and audited. Whatever fails before that
    leaves the files of an earlier run as they were. `original` is for releases that cannot be audited without it, and
    for `attacks` to be carried out; `traced` are the rows with whose they are, where k counts people; `sensitive` is
    the second table of those that are two.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as temporary:
            staged = Path(temporary)
            (staged / "public").mkdir()
            (staged / "private").mkdir()
            release = staged / "public" / f"release.{file_format}"
            _refuse_unreadable(rows, decision, spec, file_format)
            engine.write(as_text(rows, spec, file_format), release, spec.data)
            values = None
            if sensitive is not None:
                engine.write(sensitive, beside(release), spec.data)
                values = engine.open(beside(release), as_released(spec.data))
            written = engine.open(release, as_released(spec.data))
            verdict = verify(engine, written, spec, original, attacks=attacks, values=values, traced=traced)
            check(verdict, decision, force=force)
            if file_format == "parquet":
                _write_typed(engine, release, decision, spec, census)
            _write_json(staged / "public/manifest.json", _manifest(release, decision, spec, verdict, census.incomplete))
            _write_json(staged / "private/audit.json", verdict.as_dict())
            decision.plan.save(staged / "private/plan.json")
            if decision.basket is not None and decision.basket.plan is not decision.plan:
                decision.basket.plan.save(staged / "private/items.json")
            _portable(spec).dump(staged / "private/spec.toml")
            if report or plots:
                from ringfence.report import build_report

                page = build_report(census, decision, verdict, spec, incomplete=census.incomplete, baskets=baskets)
                page.save(staged / "private/report.html")
                if plots:
                    page.save_plots(staged / "private/plots")
            (staged / "private/log.txt").write_text("".join(f"{line}\n" for line in log), encoding="utf-8")
            others = [f"{name}.{other}" for name in ("release", SENSITIVE) for other in FORMATS]
            _move_into_place(staged, folder, [TYPED, *others])
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from error
    return folder / "public" / release.name, verdict


def beside(release: Path) -> Path:
    """Return where the sensitive values of the buckets of a release stand."""
    return release.with_name(f"{SENSITIVE}{release.suffix}")


def _write_typed(engine: Engine, release: Path, decision: Decision, spec: Spec, census: Census) -> None:
    """Write a release once more beside itself, sets as lists and ranges as two columns, where it has any."""
    plan = decision.plan
    columns = typed_columns(plan, census, spec.method.shown_as) if isinstance(plan, GroupPlan | RingPlan) else {}
    if columns:
        rows = engine.open(release, spec.data)
        refuse_taken(list(rows.columns), columns)
        engine.write(engine.typed(rows, columns), release.with_name(TYPED), spec.data)


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
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unfinished-") as temporary:
            staged = Path(temporary) / f"release{target.suffix.lower()}"
            engine.write(rows, staged, spec.data)
            written = engine.open(staged, as_released(spec.data))
            check(verify(engine, written, spec, original, traced=traced), decision)
            staged.replace(target)
    except OSError as error:
        raise EngineError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


def save_audit(verdict: Verdict, spec: Spec, folder: Path, source: str | None = None) -> Path:
    """Write a verdict into a folder: audit.json for machines, and audit.html for people, whose path is returned.

    `source` is what the page calls the table. Both may show values of the original.
    """
    from ringfence.report import audit_page

    page = audit_page(verdict, spec, source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as temporary:
            staged = Path(temporary)
            _write_json(staged / "audit.json", verdict.as_dict())
            (staged / "audit.html").write_text(page, encoding="utf-8")
            for part in ("audit.json", "audit.html"):
                (staged / part).replace(folder / part)
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from error
    return folder / "audit.html"


def _portable(spec: Spec) -> Spec:
    """Return a specification that runs from anywhere: hierarchies inside it, the source by its full path."""
    source = None if spec.data.source is None else str(spec.locate(spec.data.source).resolve())
    data = spec.data.model_copy(update={"source": source})
    return self_contained(spec).model_copy(update={"data": data})


def _move_into_place(staged: Path, folder: Path, outdated: Sequence[str]) -> None:
    """Put the files of a finished run in the place of an earlier one's: all of them, or, if one cannot be, none.

    What was there is set aside first, and put back if anything fails. `outdated` are public files without a successor.
    """
    aside = staged / "aside"
    new = [part.relative_to(staged) for part in sorted(staged.rglob("*")) if part.is_file()]
    drawn = [part.relative_to(folder) for part in sorted(folder.glob("private/plots/*")) if part.is_file()]
    unmade = [Path("private/report.html"), Path("private/items.json")]
    old = dict.fromkeys([*new, *unmade, *drawn, *(Path("public") / name for name in outdated)])
    moved: list[tuple[Path, Path]] = []

    def move(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
        moved.append((target, source))

    try:
        for part in old:
            if (folder / part).exists():
                if (folder / part).is_dir():
                    raise IsADirectoryError(f"{str(folder / part)!r} is a folder")
                move(folder / part, aside / part)
        for part in new:
            move(staged / part, folder / part)
    except BaseException:
        for target, source in reversed(moved):
            target.replace(source)
        raise
    with contextlib.suppress(OSError):  # left empty by a run without plots, or not there
        (folder / "private" / "plots").rmdir()


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _manifest(release: Path, decision: Decision, spec: Spec, verdict: Verdict, incomplete: int) -> dict[str, Any]:
    """Return what may be told about a release: nothing in it is a value of the data."""
    metrics, typed, values = decision.metrics, release.with_name(TYPED), beside(release)
    return {
        "format": MANIFEST,
        "versions": {
            "ringfence": __version__,
            "python": platform.python_version(),
            **{part.__name__: part.__version__ for part in (numpy, numba, duckdb, pyarrow)},
        },
        "release": {"file": release.name, "sha256": file_hash(release)},
        **({"typed": {"file": TYPED, "sha256": file_hash(typed)}} if typed.exists() else {}),
        **({"sensitive": {"file": values.name, "sha256": file_hash(values)}} if values.exists() else {}),
        "spec": public_spec(spec),
        "counts": {
            "rows read": metrics["rows"] + metrics["suppressed"] + incomplete,
            "rows with missing values removed": incomplete,
            "rows suppressed": metrics["suppressed"],
            "rows published": metrics["rows"] + (metrics["suppressed"] if decision.plan.masked else 0),
            **{name: metrics[name] for name in ("classes", "buckets") if name in metrics},
        },
        "suppressed rows": _fate(decision.plan, spec),
        "levels": decision.plan.levels,
        "metrics": {name: value for name, value in metrics.items() if name not in COUNTED},
        "search": search_figures(decision.search),
        **_basket_search(decision),
        "verdict": {"ok": verdict.ok, "measured": dict(verdict.measured)},
    }


def _basket_search(decision: Decision) -> dict[str, Any]:
    if decision.basket is None or decision.basket.plan is decision.plan:
        return {}
    return {"search of item cuts": search_figures(decision.basket.search)}


def search_figures(search: SearchResult | None) -> dict[str, Any] | None:
    """Return the figures of a search that depend on nothing but data and specification."""
    if search is None:
        return None
    return {
        "cost": search.cost,
        "optimal": search.optimal,
        "bound": search.bound,
        "gap": search.gap,
        "nodes": search.nodes,
        "pruned": search.pruned,
    }


def _fate(plan: Plan, spec: Spec) -> str:
    if plan.suppressed_rows == 0:
        return "none"
    if plan.masked:
        return "kept, with every quasi-identifier masked"
    if spec.method.keep_suppressed:
        return "dropped: masked, they would not have satisfied the models as one class"
    return "dropped"


def public_spec(spec: Spec) -> dict[str, Any]:
    """Return a specification without any value of the data, without paths and without the seed."""
    attributes = {}
    for name, attribute in spec.attributes.items():
        shown = attribute.model_dump(
            include={"role", "scheme", "weight", "diversity_weight"}, exclude_unset=True, exclude_none=True
        )
        if attribute.hierarchy is not None:
            shown["hierarchy"] = (
                attribute.hierarchy if attribute.hierarchy == "flat" else kind_of_hierarchy(attribute.hierarchy)
            )
        if attribute.boundary is not None:
            shown["boundary"] = True
        attributes[name] = shown
    return {
        "data": spec.data.model_dump(
            include={"missing", "unlisted"} | ({"entity", "composite"} & spec.data.model_fields_set)
        ),
        "attributes": attributes,
        "privacy": spec.privacy.model_dump(exclude_none=True),
        "method": spec.method.model_dump(exclude_unset=True, exclude_none=True, exclude={"seed"}),
    }


def kind_of_hierarchy(hierarchy: Any) -> str:
    """Return how a hierarchy is given: the name of its first key."""
    return str(next(iter(type(hierarchy).model_fields)))


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_manifest(verdict: Verdict, release: Path) -> Verdict:
    """Add a finding where a manifest beside the release speaks of another file."""
    manifest = release.parent / "manifest.json"
    if not manifest.is_file():
        return verdict
    try:
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        if stated["release"]["file"] != release.name:
            return verdict
        files = [stated[key] for key in ("release", SENSITIVE) if key in stated]
        paths = {release.with_name(each["file"]): each["sha256"] for each in files}
        changed = [path.name for path, stated in paths.items() if not path.is_file() or file_hash(path) != stated]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{str(manifest)!r} is not a manifest, or a damaged one") from None
    findings = [
        Finding(
            rule="manifest",
            message=f"{name!r} is not the file that its manifest speaks of: it was changed after it was published",
            rows=int(verdict.measured["rows"]),
            example={},
        )
        for name in changed
    ]
    return replace(verdict, ok=verdict.ok and not findings, findings=(*verdict.findings, *findings))
