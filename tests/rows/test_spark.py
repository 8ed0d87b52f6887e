"""Spark: DataFrames, folders and tables as sources; rows that no failing task doubles or loses; nothing collected."""

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.errors import DataError, SpecError
from ringfence.rows.engines import engine_for
from ringfence.rows.steps import shuffled
from ringfence.spec.tables import Data
from tests.spark import spark

RNG = random.Random(5)
PEOPLE = pa.table(
    {
        "who": range(600),
        "age": [RNG.choice([20, 21, 25, 30, 31, 42]) for _ in range(600)],
        "town": [RNG.choice(["Oslo", "Hamar", None]) for _ in range(600)],
        "illness": [RNG.choice(["flu", "cold", "gout"]) for _ in range(600)],
    }
)
ATTRIBUTES: dict[str, Any] = {
    "who": {"role": "insensitive"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": "flat"},
    "illness": {"role": "sensitive"},
}


def spec_of(method: str = "optimal", data: dict[str, Any] | None = None, **privacy: Any) -> rf.Spec:
    return rf.Spec(
        data=data or {}, attributes=ATTRIBUTES, privacy=privacy or {"k": 5}, method={"name": method, "seed": 3}
    )


def everyone(release: rf.Release) -> list[int]:
    return sorted(row["who"] for row in release.table.select("who").collect())


# Sources


def test_a_data_frame_gives_a_data_frame_and_its_session_stays_as_it_is() -> None:
    session = spark()
    before = dict(session.conf.getAll)
    people = session.createDataFrame(PEOPLE)
    release = rf.anonymize(people, spec_of())
    assert release.table.columns == PEOPLE.column_names
    assert release.table.sparkSession is session
    assert everyone(release) == list(range(600))
    assert [row["who"] for row in release.table.collect()] != list(range(600))
    assert release.table.collect() == release.table.collect()
    assert dict(session.conf.getAll) == before
    assert [view.name for view in session.catalog.listTables() if view.isTemporary] == []
    assert session.catalog.listTables("global_temp") == []
    assert rf.audit(release.table, spec_of()).ok


def test_a_release_of_spark_is_saved_and_typed(tmp_path: Path) -> None:
    release = rf.anonymize(spark().createDataFrame(PEOPLE), spec_of("mondrian"))
    path = release.save(tmp_path / "out", "parquet", report=False)
    saved = pyarrow.parquet.read_table(path)
    assert sorted(saved["who"].to_pylist()) == list(range(600))
    assert rf.audit(path, spec_of("mondrian")).ok
    assert {"age low", "age high"} <= {*release.typed().columns}


def test_folders_and_tables_are_sources(tmp_path: Path) -> None:
    session = spark()
    folder = tmp_path / "some people"
    session.createDataFrame(PEOPLE).repartition(3).write.parquet(str(folder))
    session.sql("CREATE DATABASE IF NOT EXISTS health")
    session.createDataFrame(PEOPLE).write.mode("overwrite").saveAsTable("health.people")
    session.createDataFrame(PEOPLE).createOrReplaceTempView("people_here")
    expected = rf.anonymize(PEOPLE, spec_of()).metrics
    try:
        for data in (
            {"source": f"spark://{folder}"},
            {"source": "spark://", "table": "health.people"},
            {"source": "spark://", "table": "people_here"},
            {"source": "spark://", "table": f"parquet.`{folder}`"},
        ):
            release = rf.anonymize(None, spec_of(data=data))
            assert release.metrics == expected
            assert everyone(release) == list(range(600))
        written = rf.run(spec_of(data={"source": f"spark://{folder}"}), tmp_path / "out")
        assert sorted(pyarrow.parquet.read_table(written.table)["who"].to_pylist()) == list(range(600))
        assert rf.audit(written.table, spec_of(), f"spark://{folder}").ok
    finally:
        session.sql("DROP DATABASE health CASCADE")
        session.catalog.dropTempView("people_here")


@pytest.mark.parametrize(
    ("data", "kind", "told"),
    [
        ({"source": "spark://"}, SpecError, "name a folder of Parquet files in the source"),
        ({"source": "spark:///here", "table": "people"}, SpecError, "or a table of the catalogue"),
        ({"source": "spark:///no/such/folder"}, DataError, "cannot read 'spark:///no/such/folder'.*PATH_NOT_FOUND"),
        ({"source": "spark://", "table": "nobody"}, DataError, "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_what_is_not_there_is_named(data: dict[str, Any], kind: type[Exception], told: str) -> None:
    spark()
    with pytest.raises(kind, match=told):
        rf.anonymize(None, spec_of(data=data))


def test_columns_that_cannot_be_read_are_named() -> None:
    frame = spark().sql("SELECT 1 AS age, map('a', 1) AS pairs")
    with pytest.raises(DataError, match=r"'pairs' \(map<string,int>\)"):
        rf.anonymize(frame, spec_of())


def test_moments_come_back_as_they_were() -> None:
    session = spark()
    zone = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        days = ["2024-03-01 00:30:00", "2024-03-01 23:00:00", "2024-03-02 00:00:00"] * 2
        frame = session.createDataFrame([(day, n) for n, day in enumerate(days)], ["text", "n"])
        frame = frame.selectExpr("CAST(text AS timestamp) AS seen", "CAST(text AS timestamp) AS noted", "n")
        attributes = {
            "seen": {"role": "quasi", "hierarchy": {"dates": ["day", "month"]}},
            "noted": {"role": "insensitive"},
            "n": {"role": "insensitive"},
        }
        spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "levels", "levels": {"seen": 1}})
        release = rf.anonymize(frame, spec)
        assert dict(release.table.dtypes)["noted"] == "timestamp"
        assert {row["n"]: row["noted"] for row in release.table.collect()} == {
            row["n"]: row["noted"] for row in frame.collect()
        }
        assert sorted(row["seen"] for row in release.table.collect()) == ["2024-03-01"] * 4 + ["2024-03-02"] * 2
    finally:
        session.conf.set("spark.sql.session.timeZone", zone)


def test_odd_cells_are_one_value() -> None:
    session = spark()
    frame = session.sql(
        "SELECT * FROM VALUES (double('NaN'), 'a'), (null, 'A'), (-0.0D, 'b'), (0.0D, 'B') AS t(x, word)"
    )
    frame = frame.selectExpr("x", "word COLLATE UTF8_LCASE AS word")
    with engine_for(Data(), frame) as engine:
        rows = engine.open(frame, Data())
        counted = {(row["x"], *[*row.values()][1:]) for row in engine.count(rows, ["x"]).to_pylist()}
        assert counted == {(None, 2), (0.0, 2)}
        assert engine.count(rows, ["word"]).num_rows == 4


# Nothing is doubled, lost or collected


def test_rows_that_are_drawn_anew_are_drawn_once() -> None:
    frame = spark().range(400).selectExpr("id AS who", "CAST(rand() * 50 AS INT) AS age", "'Oslo' AS town", "'flu' AS illness")
    release = rf.anonymize(frame, spec_of())
    assert release.audit.ok
    assert everyone(release) == list(range(400))


def failing_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return rows in another order each time; the first attempt of each task fails half way."""
    import secrets

    import pyspark

    attempt = pyspark.TaskContext.get().attemptNumber()  # type: ignore[union-attr]
    for batch in batches:
        order = sorted(range(batch.num_rows), key=lambda _: secrets.randbits(64))
        yield batch.take(pa.array(order, pa.int64()))
        if attempt == 0:
            raise RuntimeError("a task that fails")


@pytest.mark.parametrize("method", ["optimal", "mondrian", "ring", "anatomy"])
def test_tasks_that_fail_double_and_lose_nobody(method: str) -> None:
    frame = spark().createDataFrame(PEOPLE).repartition(4)
    unsteady = frame.mapInArrow(failing_at_first, frame.schema)
    release = rf.anonymize(unsteady, spec_of(method, **({"l": 2} if method == "anatomy" else {"k": 5})))
    assert release.audit.ok
    assert everyone(release) == list(range(600))


def test_lost_shuffles_double_and_lose_nobody(tmp_path: Path) -> None:
    """Rows in another order each time they are computed, sorted by chance, and what was shuffled for that deleted as
    soon as the first part of it has been read: Spark computes it again for the others, by the numbers that were kept."""
    session = spark()
    folder = session.sparkContext.getConf().get("spark.local.dir")
    mark = tmp_path / "done"

    def unsteady(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import secrets

        for batch in batches:
            yield batch.take(pa.array(sorted(range(batch.num_rows), key=lambda _: secrets.randbits(64)), pa.int64()))

    def deleting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        if not mark.exists():
            mark.touch()
            for file in Path(folder).rglob("shuffle_*.data"):
                file.unlink(missing_ok=True)

    frame = session.range(20_000, numPartitions=4).selectExpr("id AS who")
    with engine_for(Data(), frame) as engine:
        engine.session.conf.set("spark.sql.shuffle.partitions", "8")  # type: ignore[attr-defined]
        engine.session.conf.set("spark.sql.adaptive.enabled", "false")  # type: ignore[attr-defined]
        rows = shuffled(engine, engine.open(frame.mapInArrow(unsteady, frame.schema), Data()))
        found = engine.frame(rows).mapInArrow(deleting, "who long").toArrow()  # type: ignore[attr-defined]
    assert mark.exists()
    assert sorted(found["who"].to_pylist()) == list(range(20_000))


@pytest.mark.parametrize("method", ["optimal", "mondrian", "ring"])
def test_only_counts_come_to_the_driver(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ringfence.rows.spark import Spark

    fetched: list[int] = []
    fetch = Spark.fetch

    def watched(self: Spark, rows: Any) -> pa.Table:
        table = fetch(self, rows)
        fetched.append(table.num_rows)
        return table

    monkeypatch.setattr(Spark, "fetch", watched)
    monkeypatch.setattr(Spark, "batches", None)
    rows = spark().range(5_000).selectExpr(
        "id AS who", "CAST(20 + id % 6 AS INT) AS age", "IF(id % 4 = 0, 'Oslo', 'Hamar') AS town", "'flu' AS illness"
    )
    release = rf.anonymize(rows, spec_of(method))
    assert release.audit.ok
    assert fetched
    assert max(fetched) < 500


def test_secrets_stand_in_no_query() -> None:
    frame = spark().createDataFrame(PEOPLE)
    with engine_for(Data(), frame) as engine:
        rows = engine.placed(engine.open(frame, Data()))
        chance = engine.by_chance(rows.who, "c0ffee")
        drawn = engine.frame(rows.order_by(chance))  # type: ignore[attr-defined]
        assert drawn.count() == 600
        shown = drawn._jdf.queryExecution().toString()
    assert "md5" in shown
    assert "c0ffee" not in shown
