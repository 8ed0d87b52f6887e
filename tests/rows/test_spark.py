"""Spark: DataFrames, folders and tables as sources; rows that no failing task doubles or loses; nothing collected."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.errors import DataError, EngineError, RingfenceError, SpecError
from ringfence.rows.engines import engine_for
from ringfence.rows.sources import PLACE
from ringfence.rows.steps import with_columns
from ringfence.spec.data import Data, Output
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


BASKETS = rf.Spec(
    data={"unlisted": "publish"},
    attributes={"basket": {"role": "items", "hierarchy": {"fanout": 2}}},
    privacy={"k": 5, "m": 2},
    method={"name": "itemsets"},
)


def spec_of(method: str = "optimal", data: dict[str, Any] | None = None, **privacy: Any) -> rf.Spec:
    return rf.Spec(data=data or {}, attributes=ATTRIBUTES, privacy=privacy or {"k": 5}, method={"name": method})


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
    assert session.getActiveSession() is session
    assert [view.name for view in session.catalog.listTables() if view.isTemporary] == []
    assert session.catalog.listTables("global_temp") == []
    assert rf.audit(release.table, spec_of()).ok


def test_a_release_of_spark_is_saved_and_typed(tmp_path: Path) -> None:
    release = rf.anonymize(spark().createDataFrame(PEOPLE), spec_of("mondrian"))
    path = release.save(tmp_path / "out", "parquet", report=False)
    saved = pyarrow.parquet.read_table(path)
    assert sorted(saved["who"].to_pylist()) == list(range(600))
    assert rf.audit(path, spec_of("mondrian")).ok
    assert release.typed().count() == 600


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
            given = Data.model_validate(data)
            with engine_for(given, data["source"]) as engine:
                found = engine.fetch(engine.open(data["source"], given)).select(PEOPLE.column_names)
            assert found.sort_by("who").to_pylist() == PEOPLE.to_pylist()
        written = rf.run(spec_of(data={"source": f"spark://{folder}"}), tmp_path / "out", report=False)
        assert written.metrics == expected
        assert sorted(pyarrow.parquet.read_table(written.table)["who"].to_pylist()) == list(range(600))
        assert rf.audit(written.table, spec_of(), f"spark://{folder}").ok
    finally:
        session.sql("DROP DATABASE health CASCADE")
        session.catalog.dropTempView("people_here")


@pytest.mark.parametrize(
    ("data", "kind", "told"),
    [
        ({"source": "spark://"}, SpecError, "name a folder of Parquet files in the address"),
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
        days = ["2024-03-01 00:30:00", "2024-03-31 23:00:00", "2024-04-01 00:00:00"] * 2
        frame = session.createDataFrame([(day, n) for n, day in enumerate(days)], ["text", "n"])
        frame = frame.selectExpr("CAST(text AS timestamp) AS seen", "CAST(text AS timestamp) AS noted", "n")
        attributes = {
            "seen": {"role": "quasi", "hierarchy": {"dates": ["month"]}},
            "noted": {"role": "insensitive"},
            "n": {"role": "insensitive"},
        }
        spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "levels", "levels": {"seen": 1}})
        release = rf.anonymize(frame, spec)
        assert dict(release.table.dtypes)["noted"] == "timestamp"
        assert {row["n"]: row["noted"] for row in release.table.collect()} == {
            row["n"]: row["noted"] for row in frame.collect()
        }
        assert sorted(row["seen"] for row in release.table.collect()) == ["2024-03"] * 4 + ["2024-04"] * 2
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


# Targets


@pytest.mark.parametrize("method", ["optimal", "anatomy"])
def test_a_folder_takes_the_place_of_an_earlier_release(method: str, tmp_path: Path) -> None:
    session = spark()
    source, target = tmp_path / "people", tmp_path / "released"
    session.createDataFrame(PEOPLE).write.parquet(str(source))
    parts = ["illness"] if method == "optimal" else []
    spec = spec_of(method, {"source": f"spark://{source}"}, **{"l" if method == "anatomy" else "k": 2})
    spec = spec.model_copy(update={"output": Output(to=f"spark://{target}", partition_by=parts)})
    for _ in range(2):
        release = rf.run(spec, tmp_path / "out", report=False)
    assert sorted(path.name for path in tmp_path.iterdir() if "released" in path.name) == (
        ["released"] if method == "optimal" else ["released", "released_sensitive"]
    )
    assert len([*target.glob("illness=*")]) == 3 * len(parts)
    assert sorted(row["who"] for row in session.read.parquet(str(target)).collect()) == list(range(600))
    assert not (tmp_path / "out" / "public" / "release.parquet").exists()
    kept = rf.Spec.load(tmp_path / "out/private/spec.toml")
    assert rf.audit(release.table, kept).ok
    (target / "._RINGFENCE.crc").unlink()
    (target / "_RINGFENCE").write_text("version 0, id 0")
    [finding] = rf.audit(release.table, kept).findings
    assert "'released' is not the release that its manifest speaks of" in finding.message


@pytest.mark.parametrize("method", ["optimal", "local"])
def test_counts_of_values_go_beside_a_release_and_away_with_it(method: str, tmp_path: Path) -> None:
    session = spark()
    source, target = tmp_path / "people", tmp_path / "released"
    frame = session.createDataFrame(PEOPLE)
    frame.write.parquet(str(source))
    spec = spec_of(method, {"source": f"spark://{source}"}, k=2)
    counted = spec.model_copy(update={"output": Output(to=f"spark://{target}", counts=True)})
    release = rf.run(counted, tmp_path / "out", report=False)
    lines = session.read.parquet(str(tmp_path / "released_counts")).collect()
    total = {name: sum(row["rows"] for row in lines if row["attribute"] == name) for name in spec.of_role("quasi")}
    assert {*total.values()} == {release.metrics["rows"]}
    assert rf.audit(release.table, rf.Spec.load(tmp_path / "out/private/spec.toml")).measured["least_count"] >= 2
    rf.run(spec.model_copy(update={"output": Output(to=f"spark://{target}")}), tmp_path / "out", report=False)
    assert not (tmp_path / "released_counts").exists()
    told = rf.anonymize(frame, spec.model_copy(update={"output": Output(counts=True)})).counts
    assert {tuple(row) for row in told.collect()} == {tuple(row) for row in lines}


def test_a_table_takes_the_place_of_an_earlier_release_and_of_nothing_else(tmp_path: Path) -> None:
    session = spark()
    from ringfence.rows.spark_target import CatalogueTarget

    session.sql("CREATE DATABASE IF NOT EXISTS made")
    session.createDataFrame(PEOPLE).createOrReplaceTempView("people_here")
    data = {"source": "spark://", "table": "people_here"}
    try:
        for _ in range(2):
            spec = spec_of(data=data).model_copy(update={"output": Output(to="spark://", table="made.released")})
            rf.run(spec, tmp_path / "out", report=False)
        assert session.table("made.released").count() == 600
        kept = rf.Spec.load(tmp_path / "out/private/spec.toml")
        assert rf.audit("spark://#made.released", kept).ok
        session.sql("ALTER TABLE made.released SET TBLPROPERTIES ('ringfence' = 'version 0, id 0')")
        assert not rf.audit("spark://#made.released", kept).ok
        with pytest.MonkeyPatch.context() as patch:
            rename = CatalogueTarget.rename

            def fails(self: CatalogueTarget, name: str, new: str) -> None:
                if name.startswith("made.ringfence_") and not name.endswith("_earlier"):
                    raise EngineError("a catalogue that fails")
                rename(self, name, new)

            patch.setattr(CatalogueTarget, "rename", fails)
            with pytest.raises(EngineError, match="a catalogue that fails"):
                rf.run(spec, tmp_path / "out", report=False)
        assert session.table("made.released").count() == 600
        session.createDataFrame(PEOPLE).write.saveAsTable("made.ours")
        spec = spec.model_copy(update={"output": Output(to="spark://", table="made.ours")})
        with pytest.raises(EngineError, match=r"'made.ours': it is there, and no release"):
            rf.run(spec, tmp_path / "other", report=False)
        assert {table.tableName for table in session.sql("SHOW TABLES IN made").collect()} == {
            "released",
            "ours",
            "people_here",
        }
    finally:
        session.sql("DROP DATABASE made CASCADE")
        session.catalog.dropTempView("people_here")


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"to": "spark://"}, "name one: a folder in to"),
        ({"to": "spark:///a", "table": "b"}, "name one: a folder in to"),
        ({"partition_by": ["a"]}, "partition_by is for releases"),
    ],
)
def test_targets_that_say_nothing_or_too_much_are_refused(output: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, output=output)


# Nothing is doubled, lost or collected


def test_rows_that_are_drawn_anew_are_drawn_once() -> None:
    frame = (
        spark()
        .range(400)
        .selectExpr("id AS who", "CAST(rand() * 50 AS INT) AS age", "'Oslo' AS town", "'flu' AS illness")
    )
    release = rf.anonymize(frame, spec_of())
    assert release.audit.ok
    found = everyone(release)
    assert len({*found}) == len(found) == release.metrics["rows"]


def in_another_order(*, killed: bool = False) -> Any:
    """A function that returns rows in another order each time; if asked for, the first attempt of one task is `killed`
    half way, with its process. It is made here, so that workers get it as it is, and do not load this module for it."""

    def reordered(batches):  # type: ignore[no-untyped-def]  # types would have to go with it
        import os
        import secrets
        import signal

        import pyarrow
        import pyspark

        task = pyspark.TaskContext.get()
        assert task is not None, "carried out by a worker"
        for batch in batches:
            order = sorted(range(batch.num_rows), key=lambda _: secrets.randbits(64))
            yield batch.take(pyarrow.array(order, pyarrow.int64()))
            if killed and task.partitionId() == 0 and task.attemptNumber() == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reordered


def test_tasks_that_are_killed_double_and_lose_nobody() -> None:
    frame = spark().createDataFrame(PEOPLE).repartition(2)
    release = rf.anonymize(frame.mapInArrow(in_another_order(killed=True), frame.schema), spec_of("mondrian"))
    assert release.audit.ok
    assert release.table.collect() == release.table.collect()
    assert everyone(release) == list(range(600))


@pytest.mark.skipif("CI" not in os.environ, reason="starts a cluster of its own, half a minute: set CI to have it done")
def test_an_executor_that_is_killed_doubles_and_loses_nobody(tmp_path: Path) -> None:
    """Rows that lay with it alone are lost, and the job says so; those in a folder that all reach are not."""
    spark()  # or what is missing for it
    script = [sys.executable, "-m", "tests.lost_executor", str(tmp_path)]
    done = subprocess.run(script, check=True, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    without, with_folder = map(json.loads, done.stdout.splitlines())
    assert without["killed"] == with_folder["killed"] == 1
    assert "an executor was lost with rows that were drawn already; nothing was released" in without["said"]
    assert with_folder["ok"]
    assert with_folder["who"] == list(range(600))


def test_rows_keep_their_numbers_however_often_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark().createDataFrame(PEOPLE)
    unsteady = frame.mapInArrow(in_another_order(), frame.schema)
    from ringfence.rows.spark import Spark, _own_number

    def computed_twice() -> list[pa.Table]:
        with engine_for(Data(), unsteady) as engine:
            rows = engine.placed(engine.open(unsteady, Data()))
            return [engine.fetch(rows.select("who", PLACE)).sort_by("who") for _ in range(2)]

    first, again = computed_twice()
    assert first == again
    assert len({*first[PLACE].to_pylist()}) == 600
    monkeypatch.setattr(Spark, "placed", lambda _, rows: with_columns(rows, {PLACE: _own_number()}))
    first, again = computed_twice()  # the fault that the engine must not have: numbers that are not kept
    assert first != again


def test_rows_come_in_an_order_of_chance() -> None:
    """Of two rows, either comes first as often as the other: beside the input and beside another try. Rows that are
    dealt out by chance and not sorted by it would come in the input's order three times in four."""
    frame = spark().createDataFrame(PEOPLE)
    with engine_for(Data(), frame) as engine:
        rows = engine.open(frame, Data())
        first, again = (engine.fetch(engine.shuffled(rows).select("who"))["who"].to_pylist() for _ in range(2))
    assert sorted(first) == sorted(again) == list(range(600))
    place = {who: at for at, who in enumerate(again)}
    for order in (first, again, [place[who] for who in first]):
        pairs = [order[left] < order[right] for left in range(600) for right in range(left)]
        assert 0.4 < sum(pairs) / len(pairs) < 0.6  # seven standard deviations on either side


def test_rows_that_are_doubled_or_lost_stop_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an executor that is lost would do it, if numbers were drawn again for what is computed again."""
    from ringfence.rows.spark import Spark

    placed = Spark.placed

    def doubled(self: Spark, rows: Any) -> Any:
        numbered = placed(self, rows)
        return numbered.filter(numbered["who"] != 7).union(numbered.filter(numbered["who"] == 8))

    monkeypatch.setattr(Spark, "placed", doubled)
    with pytest.raises(RingfenceError, match=r"rows, not the 600 that were decided on|cannot be traced back to a row"):
        rf.anonymize(spark().createDataFrame(PEOPLE), spec_of("mondrian"))


def test_shards_are_searched_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringfence.rows.spark.PIECE", 20_000)
    spec = rf.Spec(attributes=ATTRIBUTES, privacy={"k": 5}, method={"name": "hilbert", "shards": 2})
    here = rf.anonymize(PEOPLE, spec)
    monkeypatch.setattr("ringfence.search.groups.hilbert.hilbert", None)  # the driver could not do it
    there = rf.anonymize(spark().createDataFrame(PEOPLE), spec)
    assert there.audit.ok
    assert there.metrics == here.metrics
    assert there.plan.dumps() == here.plan.dumps()


@pytest.mark.parametrize("method", ["optimal", "mondrian", "ring", "itemsets"])
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
    rows = (
        spark()
        .range(5_000)
        .selectExpr(
            "id AS who",
            "CAST(20 + id % 6 AS INT) AS age",
            "IF(id % 4 = 0, 'Oslo', 'Hamar') AS town",
            "'flu' AS illness",
            "array('tea', IF(id % 3 = 0, 'milk', 'cake')) AS basket",
        )
    )
    spec = spec_of(method) if method != "itemsets" else BASKETS
    release = rf.anonymize(rows if method == "itemsets" else rows.drop("basket"), spec)
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


def test_a_cluster_whose_address_is_none_is_named() -> None:
    """In a process of its own, since a session that there is would be taken."""
    spark()
    asked = "from ringfence.rows.spark_session import session_for as s; from ringfence.spec.data import Data"
    script = [sys.executable, "-c", f"{asked}; s('spark://no host', Data(source='spark://no host', table='people'))"]
    done = subprocess.run(script, check=False, timeout=300, stderr=subprocess.PIPE, text=True)
    assert "EngineError: Spark does not start: java.net.URISyntaxException" in done.stderr
