"""Folders of Parquet files, as sources and as the place of a release: parts by column, put in place in one step."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import EngineError, SpecError
from ringfence.release.job import AuditFailed
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.parquet_folder import ParquetFolder
from ringfence.spec.data import Data
from tests.engines import put

PEOPLE = pa.table(
    {
        "who": [f"p{number}" for number in range(12)],
        "age": [31, 32, 33, 34, 38, 39] * 2,
        "region": ["north", "north/east", None] * 4,
        "illness": ["a", "b", "c"] * 4,
    }
)
ATTRIBUTES: dict[str, Any] = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "region": {"role": "quasi", "hierarchy": "flat"},
    "illness": {"role": "sensitive"},
}


def asked(folder: Path, parts: list[str], k: int = 2, source: str = "people.parquet", **more: Any) -> rf.Spec:
    if source == "people.parquet":
        pq.write_table(PEOPLE, folder / source)
    output = {"to": "released", "partition_by": parts}
    return rf.Spec(
        data={"source": source, **more.pop("data", {})},
        attributes=ATTRIBUTES,
        privacy=more.pop("privacy", {"k": k}),
        output=output,
        **more,
    ).at(folder)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("parts", [[], ["region"], ["region", "age"]])
def test_a_release_in_parts_is_the_release(parts: list[str], tmp_path: Path) -> None:
    spec = asked(tmp_path, parts)
    release = rf.run(spec, tmp_path / "out", report=len(parts) == 1)
    assert release.audit.ok
    assert Path(release.table) == tmp_path / "released"
    depth = {len(path.relative_to(tmp_path / "released").parts) for path in (tmp_path / "released").rglob("*.parquet")}
    assert depth == {len(parts) + 1}
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    note = (tmp_path / "released/_RINGFENCE").read_text()
    assert manifest["release"] == {"folder": "released", "id": note.rpartition(" ")[2]}
    kept = rf.Spec.load(tmp_path / "out/private/spec.toml")
    assert rf.audit(tmp_path / "released", kept).ok
    (tmp_path / "released/_RINGFENCE").write_text(note[:-1] + ("0" if note[-1] != "0" else "1"))
    [finding] = rf.audit(tmp_path / "released", kept).findings
    assert "'released' is not the release that its manifest speaks of" in finding.message
    assert rf.audit(tmp_path / "released", spec).ok
    plain = rf.anonymize(tmp_path / "people.parquet", spec.model_copy(update={"output": type(spec.output)()}))
    with DuckDB(Data()) as engine:
        rows = engine.fetch(engine.open(tmp_path / "released", Data(), as_it_stands=True))
    columns = plain.table.column_names
    assert "who" not in rows.column_names
    ours, theirs = (
        sorted([f"{cell}" for cell in row.values()] for row in each.to_pylist())
        for each in (rows.select(columns), plain.table)
    )  # names of folders have no types
    assert ours == theirs


def test_what_is_published_in_parts_can_be_a_source(tmp_path: Path) -> None:
    rf.run(asked(tmp_path, ["region"]), tmp_path / "out", report=False)
    again = {**ATTRIBUTES, "age": {"role": "insensitive"}}
    del again["who"]
    for source in ("released", "released/*/*.parquet", "rel*sed"):
        spec = rf.Spec(data={"source": source}, attributes=again, privacy={"k": 2}).at(tmp_path)
        assert rf.run(spec, tmp_path / "again", report=False).audit.ok


@pytest.mark.parametrize("column", ["who", "illnes"])
def test_only_what_is_published_makes_folders(column: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"partition_by names '{column}'.*not a column of the release"):
        rf.run(asked(tmp_path, [column]), tmp_path / "out", report=False)
    assert names(tmp_path) == {"people.parquet"}


def test_not_every_column_can_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="none is left"):
        rf.run(asked(tmp_path, ["age", "region", "illness"]), tmp_path / "out", report=False)


def test_a_later_release_takes_the_place_of_an_earlier_one_and_leaves_nothing(tmp_path: Path) -> None:
    rf.run(asked(tmp_path, ["region"]), tmp_path / "out", report=False)
    first = {path.relative_to(tmp_path / "released") for path in (tmp_path / "released").rglob("*.parquet")}
    rf.run(asked(tmp_path, ["illness"], k=4), tmp_path / "out", report=False)
    assert first.isdisjoint(path.relative_to(tmp_path / "released") for path in (tmp_path / "released").rglob("*"))
    assert len([*(tmp_path / ".released.ringfence").glob("version-*")]) == 1


def test_two_tables_are_two_folders(tmp_path: Path) -> None:
    spec = asked(tmp_path, ["region"], privacy={"l": 2}, method={"name": "anatomy"})
    release = rf.run(spec, tmp_path / "out", report=False)
    assert release.audit.ok
    assert names(tmp_path / "released_sensitive") == {"data_0.parquet", "_RINGFENCE"}
    assert rf.audit(tmp_path / "released", spec, sensitive=tmp_path / "released_sensitive").ok


def test_counts_of_values_are_a_folder_beside_it_that_goes_with_them(tmp_path: Path) -> None:
    spec = asked(tmp_path, ["region"])
    counted = spec.model_copy(update={"output": spec.output.model_copy(update={"counts": True})})
    release = rf.run(counted, tmp_path / "out")
    assert names(tmp_path / "released_counts") == {"data_0.parquet", "_RINGFENCE"}
    assert rf.audit(release.table, counted).measured["least_count"] >= 2
    assert (
        json.loads((tmp_path / "out/public/manifest.json").read_text())["value counts"]["folder"] == "released_counts"
    )
    rf.run(spec, tmp_path / "out", report=False)
    assert "released_counts" not in names(tmp_path)


def test_what_is_no_release_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "released").mkdir()
    (tmp_path / "released/mine.txt").write_text("mine")
    with pytest.raises(EngineError, match="no release that could be replaced"):
        rf.run(asked(tmp_path, []), tmp_path / "out", report=False)
    assert names(tmp_path) == {"people.parquet", "released"}


def test_a_release_that_is_refused_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rf.run(asked(tmp_path, ["region"]), tmp_path / "out", report=False)
    before = {path: path.read_bytes() for path in (tmp_path / "released").rglob("*.parquet")}
    write = DuckDB.write_folder

    def lose_a_part(self: DuckDB, rows: Any, folder: Path, data: Data, parts: Any) -> None:
        write(self, rows, folder, data, parts)
        min(folder.rglob("*.parquet")).unlink()

    monkeypatch.setattr(DuckDB, "write_folder", lose_a_part)
    with pytest.raises(AuditFailed):
        rf.run(asked(tmp_path, ["region"]), tmp_path / "out", report=False)
    assert {path: path.read_bytes() for path in (tmp_path / "released").rglob("*.parquet")} == before
    assert len([*(tmp_path / ".released.ringfence").glob("version-*")]) == 1
    monkeypatch.undo()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(DuckDB, "write_folder", lose_a_part)
    with pytest.raises(AuditFailed):
        rf.run(asked(tmp_path / "elsewhere", ["region"]), tmp_path / "elsewhere/out", report=False)
    assert names(tmp_path / "elsewhere") == {"people.parquet"}


def test_one_run_at_a_time_and_what_a_dead_one_left_is_swept(tmp_path: Path) -> None:
    with DuckDB(Data()) as engine:
        rows = engine.hold(PEOPLE)
        with ParquetFolder(tmp_path / "released", engine, Data(), []) as target:
            target.stage(rows)
            with (
                pytest.raises(EngineError, match="another run is writing there"),
                ParquetFolder(tmp_path / "released", engine, Data(), []),
            ):
                pass
            target.commit("")
        house = tmp_path / ".released.ringfence"
        (house / "version-dead/release").mkdir(parents=True)
        (house / "next").symlink_to("version-dead")
        with ParquetFolder(tmp_path / "released", engine, Data(), []):
            pass
        assert engine.size(engine.open(tmp_path / "released", Data())) == 12
    assert len([*house.iterdir()]) == 3  # the lock, the version, and which it is


def test_rows_of_a_database_go_into_a_folder(tmp_path: Path) -> None:
    source, data = put("postgres", PEOPLE, tmp_path)
    release = rf.run(asked(tmp_path, ["region"], source=source, data=data), tmp_path / "out", report=False)
    assert release.audit.ok
    assert len([*(tmp_path / "released").glob("region=*")]) == 3
