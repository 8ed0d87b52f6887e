"""The manifest: what it says is so, or the audit of the release says that it is not."""

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError
from ringfence.release.manifest import rounded

PEOPLE = pa.table(
    {
        "name": [f"name {i}" for i in range(12)],
        "age": [31, 32, 33, 34, 41, 42, 43, 44, 51, 52, 53, 99],
        "town": ["Oslo", "Voss"] * 6,
        "ill": ["gout", "flu", "lupus"] * 4,
    }
)
ATTRIBUTES: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 100]}},
    "town": {"role": "quasi", "hierarchy": "flat"},
    "ill": {"role": "sensitive"},
}
METHODS: dict[str, dict[str, Any]] = {
    "optimal": {},
    "sets": {"scheme": "set"},
    "levels": {"name": "levels", "levels": {"age": 1, "town": 1}, "suppression": 0.5},
    "masked": {"name": "levels", "levels": {"age": 1, "town": 0}, "suppression": 1, "keep_suppressed": True},
    "cluster": {"name": "cluster"},
    "mondrian": {"name": "mondrian"},
    "hilbert": {"name": "hilbert"},
    "local": {"name": "local"},
    "ring": {"name": "ring"},
    "homogeneous": {"name": "ring", "homogeneous": True},
    "anatomy": {"name": "anatomy"},
}


def spec_of(method: str, **privacy: Any) -> rf.Spec:
    """A specification for these people."""
    asked = {"l": 2} if method == "anatomy" else {"k": 2}
    return rf.Spec(attributes=ATTRIBUTES, privacy={**asked, **privacy}, method=METHODS[method])


def saved(folder: Path, method: str = "hilbert", file_format: str = "parquet") -> Path:
    """A saved release of these people."""
    return rf.anonymize(PEOPLE, spec_of(method)).save(folder, file_format, report=False)


def rewrite(release: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a manifest says, and have it tell the true hashes."""
    path = release.parent / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    for key in ("release", "typed", "sensitive"):
        if key in manifest:
            manifest[key]["sha256"] = hashlib.sha256((release.parent / manifest[key]["file"]).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))


def complaints(release: Path, spec: rf.Spec, original: Any = None) -> str:
    """What the audit finds wrong with the manifest."""
    verdict = rf.audit(release, spec, original)
    assert verdict.ok == (not verdict.findings)
    assert {finding.rule for finding in verdict.findings} <= {"manifest"}
    return "; ".join(finding.message for finding in verdict.findings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_what_we_publish_is_what_we_say(method: str, file_format: str, tmp_path: Path) -> None:
    release, spec = saved(tmp_path, method, file_format), spec_of(method)
    assert complaints(release, spec, PEOPLE) == ""
    if method != "ring":
        assert complaints(release, spec) == ""


def exchanged(table: pa.Table) -> pa.Table:
    """A table with names in it."""
    return table.append_column("name", PEOPLE["name"].slice(0, table.num_rows))


def sick_with_gout(table: pa.Table) -> pa.Table:
    """A table in which everybody has the gout."""
    gout = pa.array(["gout"] * table.num_rows)
    return table.set_column(table.column_names.index("ill"), "ill", gout)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (exchanged, "other columns"),
        (lambda table: table.slice(1), "does not say what the labels"),
        (lambda table: pa.concat_tables([table.slice(1), table.slice(1, 1)]), "does not say what the labels"),
        (sick_with_gout, "does not say what the labels"),
        (lambda table: table.replace_schema_metadata({"name": "name 3"}), "metadata"),
    ],
)
def test_a_typed_file_says_what_the_labels_say(change: Any, message: str, tmp_path: Path) -> None:
    release = saved(tmp_path)
    typed = release.with_name("typed.parquet")
    pq.write_table(change(pq.read_table(typed)), typed, store_schema="metadata" in message)
    assert "changed after it was published" in complaints(release, spec_of("hilbert"))
    rewrite(release, lambda _: None)
    assert re.search(message, complaints(release, spec_of("hilbert")))


def test_rows_of_a_typed_file_may_come_in_any_order(tmp_path: Path) -> None:
    release = saved(tmp_path)
    typed = release.with_name("typed.parquet")
    table = pq.read_table(typed)
    pq.write_table(table.take(list(reversed(range(table.num_rows)))), typed, store_schema=False)
    assert "changed after it was published" in complaints(release, spec_of("hilbert"))
    rewrite(release, lambda _: None)
    assert complaints(release, spec_of("hilbert")) == ""


def test_sets_of_days_are_typed_as_days_and_as_no_others(tmp_path: Path) -> None:
    first, second = [None, dt.date(2023, 3, 31)], [dt.date(2024, 3, 31)]
    spec = rf.Spec(
        attributes={"seen": {"role": "quasi", "hierarchy": "flat", "representation": "set"}, "town": {"role": "quasi"}},
        privacy={"k": 2},
        method={"name": "mondrian"},
    )
    table = pa.table({"seen": first + second * 2, "town": ["Oslo", "Oslo", "Voss", "Voss"]})
    release = rf.anonymize(table, spec).save(tmp_path, "parquet", report=False)
    typed = release.with_name("typed.parquet")
    assert {*map(frozenset, pq.read_table(typed)["seen"].to_pylist())} == {frozenset(first), frozenset(second)}
    assert complaints(release, spec) == ""
    said = pq.read_table(typed)
    other = pa.array([[dt.date(2024, 4, 2)], *said["seen"].to_pylist()[1:]], said.schema.field("seen").type)
    pq.write_table(said.set_column(0, "seen", other), typed, store_schema=False)
    rewrite(release, lambda _: None)
    assert "does not say what the labels" in complaints(release, spec)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2, None, 7, 7], pa.int64()),  # a set, and no range that would tell that these are numbers
        ([2.5, None, 7, 7], pa.float64()),
        ([dt.time(8), dt.time(8, 30), dt.time(20), dt.time(20)], pa.time64("us")),
        ([dt.time(8), None, dt.time(20), dt.time(20)], pa.time64("us")),
        (["2024-03-31", "2024-04-02", "2024-05-01", "2024-05-01"], pa.string()),  # text, not days, to the run
        (["08:00:00", "08:30:00", "20:00:00", "20:00:00"], pa.string()),
    ],
)
def test_a_typed_file_tells_what_labels_do_not(values: list[Any], kind: pa.DataType, tmp_path: Path) -> None:
    spec = rf.Spec(
        attributes={"x": {"role": "quasi", "hierarchy": {"fanout": 2}}, "town": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
        method={"name": "mondrian"},
    )
    table = pa.table({"x": values, "town": ["Oslo", "Oslo", "Voss", "Voss"]})
    release = rf.anonymize(table, spec).save(tmp_path, "parquet", report=False)
    typed = pq.read_schema(release.with_name("typed.parquet"))
    assert kind in ((typed.field("x").type.value_type,) if "x" in typed.names else typed.types)
    assert complaints(release, spec) == ""
    assert not rf.audit(release, spec, table).findings


@pytest.mark.parametrize("name", ["names.csv", ".hidden", "typed.csv"])
def test_files_that_the_manifest_does_not_list_are_found(name: str, tmp_path: Path) -> None:
    release = saved(tmp_path)
    release.with_name(name).write_text("name 3\n")
    assert name in complaints(release, spec_of("hilbert"))


def test_a_release_that_lies_elsewhere_may_lie_beside_other_files(tmp_path: Path) -> None:
    release = saved(tmp_path / "out", file_format="csv")
    for path in release.parent.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert complaints(tmp_path / "release.csv", spec_of("hilbert")) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stated: stated.update(format="ringfence manifest 0"), "format"),
        (lambda stated: stated.update(people=["name 3"]), "'people'"),
        (lambda stated: stated["spec"]["privacy"].update(k=5), "promises"),
        (lambda stated: stated["spec"]["privacy"].update(t=0.1), "promises"),
        (lambda stated: stated["spec"]["attributes"]["ill"].update(role="insensitive"), "'ill'.*'insensitive'"),
        (lambda stated: stated["spec"]["attributes"].pop("town"), "'town'"),
        (lambda stated: stated["spec"]["data"].update(entity="name"), "entity"),
        (lambda stated: stated["counts"].update({"rows published": 13, "rows read": 13}), "rows published: 13"),
        (lambda stated: stated["counts"].update({"rows read": 99}), "add up"),
        (lambda stated: stated["counts"].update(classes=1), "classes: 1"),
        (lambda stated: stated["verdict"]["measured"].update(k=9), "k = 9"),
        (lambda stated: stated["verdict"]["measured"].update(rows=13), "rows = 13"),
    ],
)
def test_what_can_be_checked_is_checked(change: Any, message: str, tmp_path: Path) -> None:
    release = saved(tmp_path)
    rewrite(release, change)
    assert re.search(message, complaints(release, spec_of("hilbert")))


def test_what_the_original_shows_is_checked_beside_it(tmp_path: Path) -> None:
    release, spec = saved(tmp_path, "levels"), spec_of("levels")
    rewrite(release, lambda stated: stated["counts"].update({"rows read": 112, "rows suppressed": 101}))
    manifest = json.loads((release.parent / "manifest.json").read_text())
    published = manifest["counts"]["rows published"]
    rewrite(release, lambda stated: stated["counts"].update({"rows suppressed": 112 - published}))
    assert complaints(release, spec) == ""
    assert "rows read: 112, but there are 12" in complaints(release, spec, PEOPLE)


def test_what_cannot_be_checked_is_said(tmp_path: Path) -> None:
    release, spec = saved(tmp_path), spec_of("hilbert")
    [note] = [note for note in rf.audit(release, spec).notes if "manifest" in note]
    assert "losses" in note
    assert "rows suppressed" in note
    [note] = [note for note in rf.audit(release, spec, PEOPLE).notes if "manifest" in note]
    assert "rows suppressed" not in note


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"release": {"file": "release.csv"}}', '{"release": 1}'])
def test_a_damaged_manifest_is_no_verdict(content: str, tmp_path: Path) -> None:
    release = saved(tmp_path, file_format="csv")
    (release.parent / "manifest.json").write_text(content)
    with pytest.raises(DataError, match="manifest"):
        rf.audit(release, spec_of("hilbert"))


@pytest.mark.parametrize("method", METHODS)
def test_losses_have_three_digits(method: str, tmp_path: Path) -> None:
    manifest = json.loads((saved(tmp_path, method).parent / "manifest.json").read_text())
    found = {key: value for key, value in (manifest["search"] or {}).items() if key != "certificate"}
    figures = [value for value in (*manifest["metrics"].values(), *found.values()) if value is not None]
    figures += [value for value in manifest["verdict"]["measured"].values() if isinstance(value, float)]
    assert [figure for figure in figures if float(f"{figure:.3g}") != figure] == []


@given(st.floats(1e-9, 1e15) | st.integers(0, 10**15))
def test_rounding_keeps_kind_direction_and_size(value: float) -> None:
    assert type(rounded(value)) is type(value)
    assert rounded(value, ROUND_FLOOR) <= value <= rounded(value, ROUND_CEILING)
    assert math.isclose(rounded(value), value, rel_tol=0.0051)
    assert rounded(rounded(value)) == rounded(value)
