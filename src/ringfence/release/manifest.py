"""The manifest: what may be told about a release, and whether what it tells is so."""

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from math import isfinite
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote, urlsplit

import numba
import numpy
import pyarrow
import pyarrow.parquet

from ringfence.audit.trace.rows import same_rows
from ringfence.audit.verdict import Finding, Verdict
from ringfence.errors import DataError, listed
from ringfence.plans.typed import LOW, typed_rows
from ringfence.release.folder import PRIVATE, PUBLIC
from ringfence.rows.engine import Engine, as_released
from ringfence.rows.places import local_file
from ringfence.rows.remote import is_database, is_spark
from ringfence.rows.targets import identity_at
from ringfence.search.decision import Decision
from ringfence.search.progress import MOST_COUNTED, SearchResult
from ringfence.spec import Spec
from ringfence.spec.written import CLOCK
from ringfence.version import __version__

MANIFEST = "manifest.json"
FORMAT = "ringfence manifest 1"
ID = "id"
"""Of a release that is no file: what its note says where it is, drawn for it."""
COUNTED = ("rows", "suppressed", "unknown", "classes", "buckets")
"""Metrics that are no losses."""
TYPED = "typed.parquet"
"""Beside a release in Parquet: the same, with labels in types that can be computed with."""
SENSITIVE = "sensitive"
"""Beside a release of the method `anatomy`, in the same format: the sensitive values of each bucket."""
COUNTS, VALUE_COUNTS = "counts", "value counts"
"""Beside a release, in the same format: how many of its rows have which value. Manifests have other counts as well."""
DIGITS = 3
"""How many digits are told of losses: in full, they would tell which of the tables that fit a small release it was."""
FILES = ("release", "typed", SENSITIVE, VALUE_COUNTS)
MAY_SAY = {
    "format", "versions", *FILES, "spec", "counts", "suppressed rows", "levels", "metrics", "search",
    "search of item cuts", "verdict",
}  # fmt: skip
BY_THE_ORIGINAL = ("matches", "ineffective", "past_boundary", "past_boundary_most")
"""Whole numbers among the measured that follow from more than the release, and count no rows of it."""
READ, REMOVED = "rows read", "rows with missing values removed"
SUPPRESSED, PUBLISHED = "rows suppressed", "rows published"
KEPT = "kept, with every quasi-identifier masked"


def beside(release: str | Path, what: str) -> str | Path:
    """Return where the second table of a release stands, or the counts of its values."""
    if is_database(release) or is_spark(release):
        return f"{release}_{what}"
    path = Path(release)
    return path.with_name(f"{path.name}_{what}" if path.is_dir() else f"{what}{path.suffix}")


def files_of(release: Path) -> dict[str, dict[str, str]]:
    """Return the files that a release has, with their hashes."""
    files = {"release": release, "typed": release.with_name(TYPED)}
    files |= {key: Path(beside(release, key)) for key in (SENSITIVE, COUNTS)}
    return {key: {"file": file.name, "sha256": file_hash(file)} for key, file in files.items() if file.exists()}


def build_manifest(
    published: Mapping[str, Mapping[str, str]],
    decision: Decision,
    spec: Spec,
    verdict: Verdict,
    incomplete: int,
    engines: Mapping[str, str],
) -> dict[str, Any]:
    """Return what may be told about a release: nothing in it is a value of the data.

    `published` is what there is of it (`files_of`, or tables), `engines` are the versions of what made it.
    """
    metrics = decision.metrics
    search = {"search": decision.search}
    if decision.basket is not None and decision.basket.plan is not decision.plan:
        search["search of item cuts"] = decision.basket.search
    return {
        "format": FORMAT,
        "versions": {
            "ringfence": __version__,
            "python": platform.python_version(),
            **{part.__name__: part.__version__ for part in (numpy, numba, pyarrow)},
            **engines,
        },
        **{VALUE_COUNTS if key == COUNTS else key: told for key, told in published.items()},
        "spec": public_spec(spec),
        "counts": {
            READ: metrics["rows"] + decision.suppressed + incomplete,
            REMOVED: incomplete,
            SUPPRESSED: decision.suppressed,
            PUBLISHED: metrics["rows"] + (decision.suppressed if decision.plan.masked else 0),
            **{name: metrics[name] for name in ("classes", "buckets") if name in metrics},
        },
        "suppressed rows": _fate(decision, spec),
        "levels": decision.plan.levels,
        "metrics": {name: rounded(value) for name, value in metrics.items() if name not in COUNTED},
        **{key: _public_figures(found) for key, found in search.items()},
        "verdict": {"ok": verdict.ok, "measured": _public_measures(verdict)},
    }


def rounded(value: float, direction: str = ROUND_HALF_EVEN) -> float:
    """Return a number to three digits, whole if it was.

    >>> rounded(0.0123456), rounded(98765), rounded(0.10001, ROUND_CEILING)
    (0.0123, 98800, 0.101)
    """
    if not isfinite(value):
        return value
    short = Context(prec=DIGITS, rounding=direction).create_decimal(Decimal(repr(value)))
    return int(short) if isinstance(value, int) else float(short)


def search_figures(search: SearchResult | None) -> dict[str, Any] | None:
    """Return the figures of a search that depend on nothing but data and specification."""
    if search is None:
        return None
    return {
        "cost": search.cost,
        "optimal": search.optimal,
        "bound": search.bound,
        "certificate": search.certificate,
        "gap": search.gap,
        "nodes": search.nodes,
        "pruned": search.pruned if search.pruned < MOST_COUNTED else None,
    }


def _public_figures(search: SearchResult | None) -> dict[str, Any] | None:
    """Return the figures of a search rounded so that none promises more: the bound goes down, the gap up."""
    figures = search_figures(search)
    if figures is None:
        return None
    directions = {"gap": ROUND_CEILING} | ({} if figures["optimal"] else {"bound": ROUND_FLOOR})
    return {
        key: value if isinstance(value, bool | str | None) else rounded(value, directions.get(key, ROUND_HALF_EVEN))
        for key, value in figures.items()
    }


def _public_measures(verdict: Verdict) -> dict[str, float]:
    return {
        key: value if isinstance(value, int) and key not in BY_THE_ORIGINAL else rounded(value)
        for key, value in verdict.measured.items()
    }


def _fate(decision: Decision, spec: Spec) -> str:
    if decision.suppressed == 0:
        return "none"
    if decision.plan.masked:
        return KEPT
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


# Whether it is so


def with_manifest(engine: Engine, verdict: Verdict, release: str | Path, spec: Spec, read: Spec) -> Verdict:
    """Add to the verdict on a release what is wrong with its manifest: beside it, if that speaks of this file; of a
    table or a folder, in the folder of the run that the specification comes from.

    Everything is checked that follows from the release and the specification, and what follows from the original where
    the verdict has seen it. What cannot be checked, a note says. `read` is the specification with what labels tell of
    columns.
    """
    file = local_file(release)
    manifest = _of_the_run(spec) if file is None else file.parent / MANIFEST
    if manifest is None or not manifest.is_file():
        return verdict
    try:
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        told = stated["release"]
        names = {kind: told[kind] for kind in ("file", "table", "folder") if kind in told}
        kept_as = ("file",) if file is not None else ("table", "folder")
        if names and _last_name(release) not in [names.get(kind) for kind in kept_as]:
            return verdict  # it is another release's
        wrong = [
            *_wrong_form(stated),
            *(_wrong_files(stated, file) if file is not None else _wrong_release(told, release, engine)),
            *_wrong_promise(stated, spec),
            *_wrong_counts(stated, verdict),
            *_wrong_measures(stated["verdict"]["measured"], _public_measures(verdict)),
        ]
        wrong += wrong_typed(engine, file, read, spec) if file is not None and "typed" in stated else ()
        note = _unchecked(stated, verdict)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{str(manifest)!r} is not a manifest, or a damaged one") from None
    findings = [Finding("manifest", message, int(verdict.measured["rows"]), {}) for message in wrong]
    return replace(
        verdict,
        ok=verdict.ok and not findings,
        findings=(*verdict.findings, *findings),
        notes=(*verdict.notes, note),
    )


def _wrong_form(stated: Mapping[str, Any]) -> Iterator[str]:
    if stated["format"] != FORMAT:
        yield f"the manifest's format is {stated['format']!r}, not {FORMAT!r}"
    strange = [key for key in stated if key not in MAY_SAY]
    if strange:
        yield f"the manifest says what no manifest says: {listed(map(repr, strange))}"


def _wrong_files(stated: Mapping[str, Any], release: Path) -> Iterator[str]:
    """Find files that are others than those listed, and where all that lies beside the release is published, those
    that are not listed."""
    files = {stated[key]["file"]: stated[key]["sha256"] for key in FILES if key in stated}
    for name, expected in files.items():
        path = release.with_name(name)
        if not path.is_file() or file_hash(path) != expected:
            yield f"{name!r} is not the file that its manifest speaks of: it was changed after it was published"
        elif path.suffix == ".parquet" and pyarrow.parquet.read_metadata(path).metadata:
            yield f"{name!r} holds more than its rows: there is metadata that no release has"
    if release.parent.name == PUBLIC:
        strange = sorted(path.name for path in release.parent.iterdir() if path.name not in {*files, MANIFEST})
        if strange:
            yield f"there are files beside the release that its manifest does not list: {listed(map(repr, strange))}"


def _of_the_run(spec: Spec) -> Path | None:
    """Return where the manifest is of the run that a specification was kept by, if it was."""
    kept = spec.locate("").resolve()
    return kept.with_name(PUBLIC) / MANIFEST if kept.name == PRIVATE else None


def _last_name(release: str | Path) -> str:
    """Return what a manifest calls a release: the last part of its name.

    >>> _last_name("out/public/release.csv"), _last_name("postgresql://host/base#public.people")
    ('release.csv', 'people')
    """
    parts = urlsplit(str(release))
    if parts.fragment and parts.scheme:
        return unquote(parts.fragment).rpartition(".")[2]
    return PurePath(unquote(parts.path) if parts.scheme else release).name


def _wrong_release(told: Mapping[str, str], release: str | Path, engine: Engine) -> Iterator[str]:
    """Find out whether a table or a folder is another release than the one that was listed."""
    if identity_at(release, engine) != told[ID]:
        yield (
            f"{_last_name(release)!r} is not the release that its manifest speaks of: it was made by another run, which"
            " perhaps was stopped before it put its manifest in place; run again"
        )


def wrong_typed(engine: Engine, release: Path, *readings: Spec) -> list[str]:
    """Find out whether the typed file beside a release says what the release's labels say, row by row, and no more: by
    one of some specifications, which may differ in what columns hold.

    What looks like days or numbers may be text, which only the original tells. Whichever the typed file says, labels
    must bear it out.
    """
    path = release.with_name(TYPED)
    if not path.is_file():
        return []
    shown = engine.open(path, readings[0].data, as_it_stands=True)
    rows = engine.open(release, as_released(readings[0].data), as_it_stands=True)
    wrong = []
    for spec in readings:
        said = typed_rows(engine, rows, _as_typed(spec, shown.schema().to_pyarrow()))
        if said is None or said.schema() != shown.schema():
            columns = "none" if said is None else listed(map(repr, said.columns))
            wrong.append(f"{TYPED!r} has other columns, or other types, than the labels of the release make: {columns}")
        elif [*same_rows(engine, shown, said)]:
            wrong.append(f"{TYPED!r} does not say what the labels of the release say")
        else:
            return []
    return wrong[:1]


def _as_typed(spec: Spec, schema: pyarrow.Schema) -> Spec:
    """Return a specification that says of columns that they hold days, times or numbers where a typed file does."""
    types = {field.name: field.type for field in schema}
    ends = {name: types.get(f"{name} {LOW}", types.get(name)) for name in spec.attributes}
    each = {name: getattr(kind, "value_type", kind) for name, kind in ends.items() if kind is not None}

    def holding(*tests: Callable[[pyarrow.DataType], bool]) -> list[str]:
        return [name for name, kind in each.items() if any(test(kind) for test in tests)]

    is_a = pyarrow.types
    spec = spec.with_dates(holding(is_a.is_date, is_a.is_timestamp)).with_dates(holding(is_a.is_time), CLOCK)
    perhaps = {*spec.perhaps_numbers, *spec.perhaps_in_intervals}
    return spec.with_numbers(perhaps.intersection(holding(is_a.is_integer, is_a.is_floating)))


def _wrong_promise(stated: Mapping[str, Any], spec: Spec) -> Iterator[str]:
    """Find where the specification that the release was made by, as far as it is told, is another one."""
    ours, theirs = json.loads(json.dumps(public_spec(spec))), stated["spec"]
    if theirs["privacy"] != ours["privacy"]:
        yield f"the manifest promises {theirs['privacy']}, the specification {ours['privacy']}"
    for name in {**ours["attributes"], **theirs["attributes"]}:
        roles = [side["attributes"].get(name, {}).get("role") for side in (theirs, ours)]
        if roles[0] != roles[1]:
            yield f"the manifest says that {name!r} has the role {roles[0]!r}, the specification {roles[1]!r}"
    if VALUE_COUNTS in stated and not spec.output.counts:
        yield "the manifest lists counts of values, which the specification does not ask for (output.counts)"
    for key in ("entity", "composite"):
        if theirs["data"].get(key) != ours["data"].get(key):
            yield (
                f"the manifest says that data.{key} is {theirs['data'].get(key)!r},"
                f" the specification {ours['data'].get(key)!r}"
            )


def _wrong_counts(stated: Mapping[str, Any], verdict: Verdict) -> Iterator[str]:
    """Find counts that are others than those of the release, or of the original where that was seen."""
    counts, measured = stated["counts"], verdict.measured
    kept = stated["suppressed rows"] == KEPT
    gone = 0 if kept else counts[SUPPRESSED]
    if counts[READ] != counts[PUBLISHED] + gone + counts[REMOVED]:
        yield f"the manifest's counts of rows do not add up: {counts}"
    found = {PUBLISHED: measured["rows"]}
    found |= {key: measured[key] for key in ("classes", "buckets") if key in measured and key in counts}
    if kept and counts.get("classes") == measured.get("classes", 0) - 1:  # those that are masked are one class more
        del found["classes"]
    if "original" in measured:
        found |= {READ: measured["original"] + counts[REMOVED]}
        found |= {} if kept else {SUPPRESSED: measured["suppressed"]}
    for key, count in found.items():
        if counts[key] != count:
            yield f"the manifest says {key}: {counts[key]:,}, but there are {count:,}"


def _wrong_measures(stated: Mapping[str, float], found: Mapping[str, float]) -> Iterator[str]:
    """Find measures that cannot be both what was stated and what was found; some are known only from one to another."""

    def known(measured: Mapping[str, float], key: str) -> tuple[float, float]:
        return measured[key], measured.get(f"{key}_most", measured[key])

    for key in found.keys() & stated.keys():
        (low, high), (least, most) = known(stated, key), known(found, key)
        if not key.endswith("_most") and (low > most or high < least):
            yield f"the manifest says {key} = {stated[key]:,}, but the audit measures {found[key]:,}"


def _unchecked(stated: Mapping[str, Any], verdict: Verdict) -> str:
    """Say what of a manifest had to be believed."""
    measured = [key for key in stated["verdict"]["measured"] if key not in verdict.measured]
    believed, seen = ["versions", "levels", "losses", "what was searched", REMOVED], "the release and its original"
    if "original" not in verdict.measured:
        believed, seen = [*believed, READ, SUPPRESSED], "the release"
    return f"Of the manifest, {seen} cannot show: {listed([*believed, *measured])}"
