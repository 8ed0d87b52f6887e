"""Publishing: what lies where, what may be read in it, and that a failed run changes nothing."""

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence import api
from ringfence.audit.verdict import Finding, Verdict
from ringfence.audit.verify import verify
from ringfence.errors import DataError, EngineError, RingfenceError, SpecError, Unsatisfiable
from ringfence.plans.recode import GlobalPlan
from ringfence.release.folder import new_version

PUBLIC = {"release.csv", "manifest.json"}
PRIVATE = {"plan.json", "audit.json", "spec.toml", "log.txt"}
SEED = 918273645

# Values that cannot be mistaken for a count.
PEOPLE = pa.table(
    {
        "name": ["Zebedee", "Yolanda", "Xanthippe", "Wolfgang", "Vladimir", "Ulrike"],
        "height": [4731.25, 4732.25, 4733.25, 5834.75, 5835.75, 9936.5],
        "town": ["Quimper", "Quimper", "Roscoff", "Stavanger", "Tromsø", "Quimper"],
        "code": ["0xq1", "0xq2", "0xq1", "0xr1", "0xr2", "0zz9"],
        "born": [dt.date(1961, 5, day) for day in (3, 3, 4, 5, 6, 7)],
        "illness": ["gout", "lupus", "gout", "lupus", "gout", "lupus"],
        "letter": ["epsilon", "omicron", "upsilon", "theta", "omega", "kappa"],
    }
)
SPEC = rf.Spec(
    data={"missing_values": ["", "unbekannt"]},
    attributes={
        "name": {"role": "identifier"},
        "height": {"role": "quasi", "hierarchy": {"intervals": [500, 1000], "bottom": 4444.5, "top": 7777.5}},
        "town": {
            "role": "quasi",
            "hierarchy": {"tree": {"Brittany": ["Quimper", "Roscoff"], "Norway": ["Stavanger", "Tromsø"]}},
            "boundary": ["Brittany"],
        },
        "code": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "born": {"role": "quasi", "hierarchy": {"dates": ["month"]}},
        "illness": {"role": "sensitive", "order": ["gout", "lupus"]},
        "letter": {"role": "insensitive"},
    },
    privacy={"k": 2, "l": 2},
    method={"suppression": 0.5},
)


@pytest.fixture(scope="module")
def release() -> rf.Release:
    """The release of the people."""
    return rf.anonymize(PEOPLE, SPEC)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, where links lead, and whatever else is there."""

    def content(path: Path) -> bytes:
        if path.is_symlink():
            return f"a link to {path.readlink()}".encode()
        return path.read_bytes() if path.is_file() else b"a folder"

    return {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*"))}


def files(folder: Path) -> dict[str, bytes]:
    """Every file that a folder of releases shows."""
    shown = [path for part in ("public", "private") for path in sorted((folder / part).glob("**/*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in shown}


def without_notes(verdict: Verdict) -> Verdict:
    """A verdict without what it says about the manifest beside the file."""
    return replace(verdict, notes=tuple(note for note in verdict.notes if "manifest" not in note))


def manifest_of(path: Path) -> dict[str, Any]:
    """The manifest beside a release."""
    found: dict[str, Any] = json.loads((path.parent / "manifest.json").read_text(encoding="utf-8"))
    return found


# What lies where


def test_a_saved_release_has_the_files_of_the_design_and_no_others(release: rf.Release, tmp_path: Path) -> None:
    path = release.save(tmp_path / "new" / "folder")
    assert path == tmp_path / "new/folder/public/release.csv"
    assert {entry.name for entry in (tmp_path / "new/folder").iterdir()} == {"public", "private", ".ringfence"}
    assert {entry.name for entry in path.parent.iterdir()} == PUBLIC
    assert {entry.name for entry in (tmp_path / "new/folder/private").iterdir()} == {*PRIVATE, "report.html"}
    assert "The promise holds" in (tmp_path / "new/folder/private/report.html").read_text(encoding="utf-8")


def test_charts_are_saved_on_request_and_go_with_their_report(release: rf.Release, tmp_path: Path) -> None:
    release.save(tmp_path, plots=True)
    charts = {entry.suffix for entry in (tmp_path / "private/plots").iterdir()}
    assert charts == {".png", ".svg"}
    release.save(tmp_path, report=False)
    assert {entry.name for entry in (tmp_path / "private").iterdir()} == PRIVATE


def test_private_files_say_what_was_decided_asked_and_found(release: rf.Release, tmp_path: Path) -> None:
    release.save(tmp_path, report=False)
    private = tmp_path / "private"
    assert GlobalPlan.load(private / "plan.json") == release.plan
    assert rf.Spec.load(private / "spec.toml") == SPEC
    assert json.loads((private / "audit.json").read_text(encoding="utf-8"))["ok"] is True
    assert (private / "log.txt").read_text(encoding="utf-8").count("\n") >= 3


def test_a_release_is_saved_row_by_row(release: rf.Release, tmp_path: Path) -> None:
    path = release.save(tmp_path, report=False)
    saved = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(saved.columns) == release.table.column_names == PEOPLE.column_names[1:]
    assert saved.to_dict("records") == [
        {name: str(value) for name, value in row.items()} for row in release.table.to_pylist()
    ]


def test_a_path_may_be_text(release: rf.Release, tmp_path: Path) -> None:
    assert release.save(str(tmp_path), report=False).is_file()


def test_parquet_keeps_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "age": [31, 31],
            "born": [dt.date(1961, 5, 3)] * 2,
            "paid": pa.array([Decimal("1.50"), Decimal("2.50")], pa.decimal128(9, 2)),
            "well": [True, None],
            "text": ["", None],
        }
    )
    spec = rf.Spec(
        data={"unlisted": "publish"},
        attributes={"age": {"role": "quasi", "hierarchy": "flat"}, "born": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
    )
    path = rf.anonymize(table, spec).save(tmp_path, "parquet", report=False)
    assert path.name == "release.parquet"
    saved = pq.read_table(path)
    assert saved.schema.types == table.schema.types
    missing = table.set_column(4, "text", pa.array([None, None], pa.string()))  # an empty text is a missing one
    assert sorted(map(str, saved.to_pylist())) == sorted(map(str, missing.to_pylist()))
    assert manifest_of(path)["release"]["file"] == "release.parquet"
    assert rf.audit(path, spec).ok


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "arrow"])
def test_a_release_of_any_kind_of_table_can_be_saved(kind: str, tmp_path: Path) -> None:
    makers: dict[str, Callable[[pa.Table], Any]] = {
        "pandas": lambda table: table.to_pandas(),
        "polars": polars.from_arrow,
        "duckdb": duckdb.from_arrow,
        "arrow": lambda table: table,
    }
    for file_format in ("csv", "parquet"):
        path = rf.anonymize(makers[kind](PEOPLE), SPEC).save(tmp_path, file_format, report=False)
        assert rf.audit(path, SPEC).ok
        assert manifest_of(path)["counts"]["rows read"] == 6


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    "how",
    [
        {"hierarchy": {"tree": {"few": ["1", "2"], "many": ["3", "4"]}}},
        {"hierarchy": {"fanout": 2}, "order": ["4", "3", "2", "1"]},
        {"hierarchy": {"intervals": [2]}},
        {"hierarchy": {"mask": "right"}},
        {"hierarchy": "flat"},
    ],
    ids=str,
)
def test_whole_numbers_that_gaps_made_floats_can_be_saved(
    how: dict[str, Any], keep: bool, file_format: str, tmp_path: Path
) -> None:
    table = pd.DataFrame({"children": [1, 1, 2, 2, None, None, 3, 4]})
    assert table["children"].dtype == float
    for level in (0, 1):
        spec = rf.Spec(
            attributes={"children": {"role": "quasi", **how}},
            privacy={"k": 2},
            method={"name": "levels", "levels": {"children": level}, "suppression": 1, "keep_suppressed": keep},
        )
        path = rf.anonymize(table, spec).save(tmp_path, file_format, report=False)
        assert rf.audit(path, spec).ok


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_sensitive_numbers_are_judged_in_files_as_in_memory(file_format: str, tmp_path: Path) -> None:
    tree = {"tree": {"low": ["1", "2"], "high": ["3"]}}
    spec = rf.Spec(
        attributes={
            "q": {"role": "quasi", "hierarchy": "flat"},
            "s": {"role": "sensitive", "hierarchy": tree, "order": ["1", "2", "3"]},
        },
        privacy={"l": 2, "t": [{"value": 0.5, "distance": "hierarchical"}, {"value": 0.5, "distance": "ordered"}]},
    )
    release = rf.anonymize(pd.DataFrame({"q": list("aabb"), "s": [1.0, 2.0, 3.0, None]}), spec)
    assert without_notes(rf.audit(release.save(tmp_path, file_format, report=False), spec)) == release.audit


@pytest.mark.parametrize("hierarchy", ["flat", {"intervals": [5]}, {"tree": {"none": ["0"], "some": ["1"]}}], ids=str)
def test_a_zero_with_a_sign_is_a_zero(hierarchy: Any, tmp_path: Path) -> None:
    spec = rf.Spec(attributes={"x": {"role": "quasi", "hierarchy": hierarchy}}, privacy={"k": 2})
    path = rf.anonymize(pa.table({"x": [0.0, -0.0, 1.0, 1.0]}), spec).save(tmp_path, report=False)
    assert "-0" not in path.read_text()


def test_an_unknown_format_is_refused(release: rf.Release, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"xlsx.*csv, parquet"):
        release.save(tmp_path, "xlsx", report=False)
    assert contents(tmp_path) == {}


def test_a_table_that_was_changed_for_the_worse_is_not_saved(tmp_path: Path) -> None:
    release = rf.anonymize(PEOPLE.to_pandas(), SPEC)
    release.table.loc[0, "town"] = "Quimper"
    with pytest.raises(RingfenceError, match="audit"):
        release.save(tmp_path, report=False)
    assert contents(tmp_path) == {}


def test_releases_plans_and_verdicts_can_be_printed(release: rf.Release) -> None:
    for shown in (str(release), str(release.plan), str(release.audit), str(release.search)):
        assert shown
    assert "The promise holds." in str(release)
    for thing in (release.plan, release.audit, release.spec, release.search):
        assert type(thing).__name__ in repr(thing)


# The manifest


def test_the_manifest_says_what_may_be_known(release: rf.Release, tmp_path: Path) -> None:
    path = release.save(tmp_path, report=False)
    manifest = manifest_of(path)
    assert manifest["release"] == {"file": "release.csv", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert {"ringfence", "python", "duckdb"} <= manifest["versions"].keys()
    assert manifest["spec"]["privacy"] == {"k": 2, "l": 2}
    assert manifest["spec"]["attributes"].keys() == set(PEOPLE.column_names)
    assert manifest["spec"]["attributes"]["name"]["role"] == "identifier"
    assert manifest["levels"] == release.plan.levels
    assert manifest["verdict"]["ok"] is True
    assert manifest["verdict"]["measured"] == release.audit.measured
    assert manifest["metrics"].keys() == release.metrics.keys() - {"rows", "suppressed", "classes"}
    for name, loss in manifest["metrics"].items():
        assert loss == pytest.approx(release.metrics[name], rel=0.005), "the loss itself is told"
        assert len(Decimal(str(loss)).normalize().as_tuple().digits) <= 3, "more digits than anyone needs"
    assert manifest["search"]["optimal"] is True
    counts = manifest["counts"]
    assert counts["rows read"] == 6
    assert counts["rows published"] == release.table.num_rows
    assert counts["rows published"] + counts["rows suppressed"] == 6


def raw_texts(value: Any) -> set[str]:
    """The ways in which a value of the data may be spelled."""
    return {str(value), str(value).removesuffix(".0")}


@pytest.mark.parametrize("method", [{"suppression": 0.5}, {"name": "local", "seed": SEED}])
def test_the_manifest_shows_no_value_of_the_data_no_path_and_no_seed(method: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "a secret folder"
    folder.mkdir()
    pq.write_table(PEOPLE, folder / "secret source.parquet")
    parts = SPEC.model_dump(by_alias=True, exclude_unset=True)
    data = {**parts["data"], "source": "secret source.parquet"}
    spec = rf.Spec(**{**parts, "data": data, "method": method}).at(folder)
    path = api.run(spec, folder / "out", report=False).table
    text = (path.parent / "manifest.json").read_text(encoding="utf-8")
    hidden = {spelling for column in PEOPLE.columns for value in column.to_pylist() for spelling in raw_texts(value)}
    hidden |= {"Brittany", "Norway", "4444.5", "7777.5", "unbekannt", str(SEED), "secret", str(tmp_path), "1961-05"}
    assert [word for word in sorted(hidden) if word in text] == []
    released = b"".join(contents(path.parent).values())
    assert str(SEED).encode() not in released
    for name in PEOPLE["name"].to_pylist():
        assert name.encode() not in released


def test_the_manifest_shows_no_label_of_a_hierarchy_file_or_of_levels_by_value(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("Quimper;Brittany;*\nRoscoff;Brittany;*\nTromsø;Norway;*\n")
    spec = rf.Spec(
        attributes={"town": {"role": "quasi", "hierarchy": {"file": "secret.csv"}, "order": "lexical"}},
        privacy={"k": 2},
        method={"name": "levels", "levels": {"town": 1}, "suppression": 0.5},
    ).at(tmp_path)
    path = rf.anonymize(pa.table({"town": ["Quimper", "Roscoff", "Tromsø"]}), spec).save(tmp_path / "out", report=False)
    text = (path.parent / "manifest.json").read_text(encoding="utf-8")
    assert [word for word in ("Quimper", "Roscoff", "Tromsø", "Brittany", "Norway", "secret") if word in text] == []


@pytest.mark.parametrize(
    ("values", "keep", "fate", "published"),
    [
        (["a", "a", "a", "a", "a"], True, "none", 5),
        (["a", "a", "a", "b", "c"], False, "dropped", 3),
        (["a", "a", "a", "b", "c"], True, "kept", 5),
        (["a", "a", "a", "a", "b"], True, "dropped", 4),
    ],
)
def test_the_manifest_says_what_became_of_suppressed_rows(
    values: list[str], keep: bool, fate: str, published: int, tmp_path: Path
) -> None:
    spec = rf.Spec(
        attributes={"q": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
        method={"name": "levels", "levels": {"q": 0}, "suppression": 1, "keep_suppressed": keep},
    )
    release = rf.anonymize(pa.table({"q": values}), spec)
    path = release.save(tmp_path, report=False)
    manifest = manifest_of(path)
    assert manifest["suppressed rows"].startswith(fate)
    assert ("masked" in manifest["suppressed rows"]) == (keep and fate != "none")
    assert manifest["counts"]["rows published"] == published == release.table.num_rows
    assert manifest["counts"]["rows suppressed"] == release.plan.suppressed_rows
    assert path.read_text().count("*") == (release.plan.suppressed_rows if fate == "kept" else 0)
    assert rf.audit(path, spec).ok


def test_the_manifest_counts_rows_that_missed_a_value_apart(tmp_path: Path) -> None:
    spec = rf.Spec(
        data={"missing": "suppress"},
        attributes={"q": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
    )
    path = rf.anonymize(pa.table({"q": ["a", "a", None, "b"]}), spec).save(tmp_path, report=False)
    assert manifest_of(path)["counts"] == {
        "rows read": 4,
        "rows with missing values removed": 1,
        "rows suppressed": 1,
        "rows published": 2,
        "classes": 1,
    }


# Runs after runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table, and the release of a first run."""
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    api.run(spec_with(tmp_path), tmp_path / "out", report=False)
    return tmp_path


def spec_with(folder: Path, **parts: Any) -> rf.Spec:
    """The specification, with its data in a folder and some of its tables replaced."""
    given = SPEC.model_dump(by_alias=True, exclude_unset=True)
    return rf.Spec(**{**given, "data": {"source": "people.parquet"}, **parts}).at(folder)


def test_a_second_run_takes_the_place_of_the_first(folder: Path) -> None:
    before = files(folder / "out")
    api.run(spec_with(folder, privacy={"k": 3}), folder / "out", report=False)
    after = files(folder / "out")
    assert len([*(folder / "out/.ringfence").glob("version-*")]) == 1, "the first is still there"
    assert after.keys() == before.keys()
    assert manifest_of(folder / "out/public/release.parquet")["spec"]["privacy"] == {"k": 3}
    assert before["private/spec.toml"] != after["private/spec.toml"]
    assert rf.audit(folder / "out/public/release.parquet", spec_with(folder, privacy={"k": 3})).ok


def test_a_release_in_another_format_takes_the_place_of_the_first(folder: Path, release: rf.Release) -> None:
    release.save(folder / "out", "csv", report=False)
    assert {entry.name for entry in (folder / "out/public").iterdir()} == PUBLIC
    release.save(folder / "out", "parquet", report=False)
    assert {entry.name for entry in (folder / "out/public").iterdir()} == {"release.parquet", "manifest.json"}


def test_files_of_others_in_the_folder_stay(folder: Path) -> None:
    (folder / "out/notes.txt").write_text("mine")
    api.run(spec_with(folder), folder / "out", report=False)
    assert (folder / "out/notes.txt").read_text() == "mine"


@pytest.mark.parametrize("place", ["public/readme.txt", "private/plots/mine.png"])
def test_a_release_with_files_of_others_in_it_is_not_replaced(folder: Path, place: str) -> None:
    (folder / "out" / place).parent.mkdir(exist_ok=True)
    (folder / "out" / place).write_text("mine")
    before = contents(folder)
    with pytest.raises(EngineError, match=f"{place}.*would be lost"):
        api.run(spec_with(folder), folder / "out", report=False)
    assert contents(folder) == before


def test_the_run_of_a_file_tells_where_the_release_lies(folder: Path) -> None:
    release = api.run(spec_with(folder), folder / "out", report=False)
    assert release.table == folder / "out/public/release.parquet"
    assert release.audit.ok
    assert "The promise holds." in str(release)
    assert without_notes(rf.audit(release.table, release.spec)) == release.audit


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"privacy": {"k": 7}}, Unsatisfiable),
        ({"data": {"source": "nobody.parquet"}}, DataError),
        ({"data": {"source": "people.parquet", "table": "people"}}, SpecError),
        ({"attributes": {"name": {"role": "identifier"}}}, SpecError),
        ({"attributes": {"nobody": {"role": "quasi", "hierarchy": "flat"}}, "privacy": {"k": 2}}, DataError),
        (
            {
                "data": {"source": "people.parquet", "unlisted": "drop"},
                "attributes": {"town": {"role": "quasi", "hierarchy": {"tree": {"Brittany": ["Quimper"]}}}},
                "privacy": {"k": 2},
            },
            DataError,
        ),
    ],
)
def test_a_run_that_fails_changes_nothing(folder: Path, parts: dict[str, Any], error: type[RingfenceError]) -> None:
    before = contents(folder)
    with pytest.raises(error):
        api.run(spec_with(folder, **parts), folder / "out", report=False)
    assert contents(folder) == before
    with pytest.raises(error):
        api.run(spec_with(folder, **parts), folder / "elsewhere", report=False)
    assert contents(folder) == before


def test_a_release_that_fails_its_audit_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> Verdict:
        return replace(verify(*arguments, **named), ok=False, findings=(Finding("k", "planted", 1, {}),))

    before = contents(folder)
    monkeypatch.setattr("ringfence.release.job.verify", refuse)
    with pytest.raises(RingfenceError, match="planted"):
        api.run(spec_with(folder, privacy={"k": 3}), folder / "out", report=False)
    assert contents(folder) == before


def test_a_run_that_is_interrupted_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    before = contents(folder)
    monkeypatch.setattr("ringfence.release.job.verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        api.run(spec_with(folder, privacy={"k": 3}), folder / "out", report=False)
    assert contents(folder) == before


@pytest.mark.parametrize("place", ["public", "private"])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_not_ours_is_not_replaced(folder: Path, place: str, kind: str) -> None:
    (folder / "out" / place).unlink()
    match kind:
        case "file":
            (folder / "out" / place).write_text("mine")
        case "folder":
            (folder / "out" / place).mkdir()
        case "link":
            (folder / "out" / place).symlink_to(folder)
    before = contents(folder)
    with pytest.raises(EngineError, match=f"{place}' is there"):
        api.run(spec_with(folder, privacy={"k": 3}), folder / "out", report=False)
    assert contents(folder) == before


def test_a_link_that_was_removed_is_made_again(folder: Path) -> None:
    (folder / "out/public").unlink()
    api.run(spec_with(folder), folder / "out", report=False)
    assert rf.audit(folder / "out/public/release.parquet", spec_with(folder)).ok


def test_a_folder_without_links_is_refused_before_any_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    before = contents(folder)
    for out in ("out", "new/folder"):
        with pytest.raises(EngineError, match="symbolic link"):
            api.run(spec_with(folder, data={"source": "nobody.parquet"}), folder / out, report=False)
    assert contents(folder) == before


def test_a_second_run_into_a_folder_says_that_it_is_in_use(folder: Path, release: rf.Release) -> None:
    for out in (folder / "out", folder / "new"):
        with new_version(out):
            with pytest.raises(EngineError, match="another run is writing there"):
                api.run(spec_with(folder, data={"source": "nobody.parquet"}), out, report=False)
            with pytest.raises(EngineError, match="another run is writing there"):
                release.save(out, report=False)
    release.save(folder / "out", report=False)
    assert not (folder / "new").exists()


def test_a_folder_that_cannot_be_made_is_refused(folder: Path, release: rf.Release) -> None:
    for place in (folder / "people.parquet", folder / "people.parquet" / "below"):
        with pytest.raises(EngineError, match=r"people\.parquet"):
            release.save(place, report=False)


# The audit of files


def test_a_file_that_was_changed_is_not_the_one_of_its_manifest(release: rf.Release, tmp_path: Path) -> None:
    path = release.save(tmp_path, report=False)
    assert rf.audit(path, SPEC) == rf.audit(str(path), SPEC)
    path.write_bytes(path.read_bytes() + b"\n")
    verdict = rf.audit(path, SPEC)
    assert not verdict.ok
    assert [finding.rule for finding in verdict.findings] == ["manifest"]
    assert "manifest" in str(verdict)


def test_a_manifest_of_another_file_says_nothing(release: rf.Release, tmp_path: Path) -> None:
    path = release.save(tmp_path, report=False)
    other = path.with_name("other.csv")
    other.write_bytes(path.read_bytes() + b"\n")
    assert rf.audit(other, SPEC).ok


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_the_audit_of_the_file_is_the_audit_of_the_table(release: rf.Release, file_format: str, tmp_path: Path) -> None:
    of_file = rf.audit(release.save(tmp_path, file_format, report=False), SPEC)
    assert without_notes(of_file) == release.audit == rf.audit(release.table, SPEC)


@pytest.mark.parametrize("method", [{"name": "levels", "levels": {"age": 1}}, {"name": "mondrian"}], ids=str)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_rows_of_a_file_are_in_no_order_of_the_original(method: dict[str, Any], kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20 + i % 40 for i in range(2000)], "n": range(2000)})
    source = tmp_path / f"people.{kind}"
    frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    attributes = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "n": {"role": "insensitive"}}
    asked = rf.Spec(data={"source": str(source)}, attributes=attributes, privacy={"k": 2}, method=method)
    path = rf.run(asked, tmp_path / "out", report=False).table
    order = (pd.read_csv(path) if kind == "csv" else pd.read_parquet(path))["n"]
    assert sorted(order) == [*range(2000)]
    assert 800 < int((order.diff() > 0).sum()) < 1200  # half of 1,999 steps go up, give or take 13
