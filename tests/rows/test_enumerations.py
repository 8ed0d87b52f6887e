"""Columns of few texts: numbered while rows are sorted and written, and no text in a file that none of its rows has."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import EngineError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_enumerations import FEW, MOST, Enumerations
from ringfence.rows.sources import as_arrow
from ringfence.spec.data import Data

RNG = random.Random(5)
TOWNS = [*["Oslo", "Bergen", "it's", None] * 60, *(f"Q{place}" for place in range(10))]
PEOPLE = pa.table(
    {
        "town": RNG.sample(TOWNS, len(TOWNS)),
        "sex": [RNG.choice("fm") for _ in TOWNS],
        "number": [RNG.choice(["1", "2", "3.5"]) for _ in TOWNS],
        "day": [RNG.choice(["2020-01-01", "2020-02-01", "2021-01-01"]) for _ in TOWNS],
        "illness": [RNG.choice(["flu", "gout", ""]) for _ in TOWNS],
    }
)
ATTRIBUTES: dict[str, Any] = {
    "town": {"role": "quasi", "hierarchy": "flat"},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "number": {"role": "quasi", "order": "numeric", "hierarchy": {"intervals": [2]}},
    "day": {"role": "quasi", "format": "%Y-%m-%d", "hierarchy": {"dates": ["year"]}},
    "illness": {"role": "insensitive"},
}
METHODS: dict[str, dict[str, Any]] = {
    "as it is": {"name": "levels", "levels": {"town": 0, "sex": 1, "number": 1, "day": 1}, "suppression": 1},
    "recoded": {"name": "levels", "levels": {"town": 1, "sex": 0, "number": 1, "day": 1}, "suppression": 1},
    "masked": {"scheme": "level", "suppression": 0.05, "keep_suppressed": True},
    "groups": {"name": "mondrian", "suppression": 0.05},
    "ring": {"name": "ring", "seed": 1},
}


def spec_of(method: str, folder: Path) -> rf.Spec:
    """A specification for people in a file of a folder."""
    pq.write_table(PEOPLE, folder / "people.parquet")
    data = {"source": "people.parquet"}
    return rf.Spec(data=data, attributes=ATTRIBUTES, privacy={"k": 5}, method=METHODS[method]).at(folder)


@pytest.mark.parametrize("method", METHODS)
def test_plans_say_which_texts_rows_are_left_with(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text that is in a column of the release, and no other."""
    told: dict[str, list[str]] = {}
    honest = DuckDB.holding

    def holding(engine: DuckDB, rows: ibis.Table, texts: Mapping[str, pa.Array]) -> ibis.Table:
        told.update({name: sorted(known.to_pylist()) for name, known in texts.items()})
        return honest(engine, rows, texts)

    monkeypatch.setattr(DuckDB, "holding", holding)
    spec = spec_of(method, tmp_path)
    release = as_arrow(rf.anonymize(tmp_path / "people.parquet", spec).table)
    texts = {name for name in spec.of_role("quasi") if pa.types.is_string(release.schema.field(name).type)}
    assert texts == {*told} >= {"town", "sex"}
    assert told == {name: sorted(release[name].unique().drop_null().to_pylist()) for name in texts}
    assert not any(town.startswith("Q") for town in told["town"])


def test_files_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no text that is in none of their rows, as the plan has said."""
    written, copied = [], Enumerations._copy

    def copy(enumerations: Enumerations, query: str, path: Path) -> None:
        written.append(path.name)
        copied(enumerations, query, path)

    monkeypatch.setattr(Enumerations, "_copy", copy)
    rf.run(spec_of("as it is", tmp_path), tmp_path / "out", report=False)
    assert written == ["release.parquet"]
    statistics = pq.ParquetFile(tmp_path / "out/public/release.parquet").metadata.row_group(0).column(0).statistics
    assert (statistics.min, statistics.max, statistics.distinct_count) == ("Bergen", "it's", 3)


def test_a_text_that_no_row_is_left_with_is_not_in_the_file(tmp_path: Path) -> None:
    """Whoever said that it would be: in the dictionary, and in the statistics, it would tell of rows that are gone."""
    table = pa.table({"town": ["Oslo", "Bergen", None] * 500, "row": range(1500)})
    with DuckDB(Data()) as engine:
        for texts, path in (
            (["Bergen", "Oslo"], tmp_path / "b.parquet"),
            (["Bergen", "Oslo", "Qgone"], tmp_path / "c.parquet"),
        ):
            rows = engine.shuffled(engine.holding(engine.hold(table), {"town": pa.array(texts)}))
            engine.write(rows, path, Data())
            assert b"Qgone" not in path.read_bytes()
            written = pq.read_table(path)
            assert written.schema.field("town").type == pa.string()
            assert written.sort_by("row").to_pydict() == table.to_pydict()
            assert written["row"].to_pylist() != table["row"].to_pylist()
            statistics = pq.ParquetFile(path).metadata.row_group(0).column(0).statistics
            assert (statistics.min, statistics.max) == ("Bergen", "Oslo")


def test_a_text_that_was_not_named_is_not_lost_without_a_word(tmp_path: Path) -> None:
    with DuckDB(Data()) as engine:
        rows = engine.holding(engine.hold(pa.table({"town": ["Oslo", "Bergen"]})), {"town": pa.array(["Oslo"])})
        with pytest.raises(EngineError, match="Bergen"):
            engine.write(rows, tmp_path / "b.parquet", Data())


@pytest.mark.parametrize("many", [0, FEW, FEW + 1, MOST, MOST + 1])
def test_columns_of_any_number_of_texts_come_out_as_text(many: int, tmp_path: Path) -> None:
    table = pa.table({"text": pa.array([f"t{place}" for place in range(many)] + [None], pa.string())})
    with DuckDB(Data()) as engine:
        rows = engine.holding(engine.hold(table), {"text": table["text"].combine_chunks().drop_null()})
        assert engine.fetch(rows).equals(table)
        engine.write(rows, tmp_path / "b.parquet", Data())
        assert engine.fetch(engine.keep(rows)).equals(table)
    assert pq.read_table(tmp_path / "b.parquet").equals(table)


def test_enumerations_of_a_source_are_written_as_text(tmp_path: Path) -> None:
    """Also where they have the very texts of one that was named."""
    with duckdb.connect(tmp_path / "people.duckdb") as database:
        database.execute("CREATE TYPE mood AS ENUM ('good', 'Qbad')")
        database.execute("CREATE TABLE people AS SELECT 'good'::mood AS mood, ['good'::mood] AS moods FROM range(9)")
    with DuckDB(Data()) as engine:
        engine.holding(engine.hold(pa.table({"mood": ["good"]})), {"mood": pa.array(["Qbad", "good"])})
        engine.write(engine.open(tmp_path / "people.duckdb", Data()), tmp_path / "b.parquet", Data())
    assert b"Qbad" not in (tmp_path / "b.parquet").read_bytes()
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == [{"mood": "good", "moods": ["good"]}] * 9
