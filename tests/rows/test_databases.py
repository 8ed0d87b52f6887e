"""Databases that are kept from job to job: nothing of one is left for the next."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ringfence.errors import DataError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_databases import LARGEST, close_idle, given_back, taken
from ringfence.rows.sources import RAW
from ringfence.spec.data import Data

TABLE = pa.table({"town": ["Oslo", "Bergen"] * 4})


@pytest.fixture(autouse=True)
def _none_is_kept_yet() -> Iterator[None]:
    close_idle()
    yield
    close_idle()


def test_the_next_job_has_the_database_and_nothing_else_of_the_last() -> None:
    with DuckDB(Data(memory_limit="100MB")) as engine:
        rows = engine.hold(TABLE)
        kept = engine.keep(rows)
        engine.fetch(engine.holding(kept, {"town": pa.array(["Oslo", "Bergen"])}))
        engine.told("a secret")
        first, spilled = engine._database, engine._scratch
    assert not spilled.exists()
    with DuckDB(Data()) as engine:
        connection = engine._duckdb
        assert engine._database is first
        for of, where in {"tables": "TRUE", "views": "NOT internal", "types": "NOT internal"}.items():
            assert connection.execute(f"SELECT * FROM duckdb_{of}() WHERE {where}").fetchall() == [], of
        assert connection.execute("SELECT * FROM duckdb_variables()").fetchall() == []
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == (
            str(engine._scratch / "spilled"),
        )
        limit = connection.execute("SELECT current_setting('memory_limit')").fetchone()
        assert limit == (engine.memory,) != ("95.3 MiB",)
        assert sorted(engine.fetch(engine.shuffled(engine.hold(TABLE)))["town"].to_pylist()) == sorted(
            TABLE["town"].to_pylist()
        )


def test_jobs_at_the_same_time_have_one_each() -> None:
    with DuckDB(Data()) as one, DuckDB(Data()) as other:
        one.keep(one.hold(TABLE))
        other.keep(other.hold(TABLE))
        assert one._database is not other._database


def test_a_database_that_something_may_be_left_in_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE people AS SELECT 'Oslo' AS town")
    with DuckDB(Data()) as engine:  # it has a file open
        engine.open(path, Data())
        attached = engine._database
    with DuckDB(Data(memory_limit="50MB")) as engine:  # memory was not enough
        assert engine._database is not attached
        engine._duckdb.execute("SET threads = 1")
        engine._duckdb.execute("CREATE TEMP TABLE much AS SELECT md5(i::VARCHAR) AS raw FROM range(2000000) t(i)")
        spilled = engine._database
    with suppress(DataError), DuckDB(Data()) as engine:  # the job went wrong
        engine.keep(engine.hold(TABLE))
        failed = engine._database
        assert failed is not spilled
        raise DataError
    for each in (attached, spilled, failed):
        with pytest.raises(duckdb.ConnectionException):
            each.execute("SELECT 1")
    assert taken() not in (attached, spilled, failed)


def test_a_large_database_is_closed() -> None:
    database = taken()
    database.execute(f"CREATE TEMP TABLE much AS SELECT range AS {RAW!r} FROM range({LARGEST // 4})".replace("'", '"'))
    given_back(database)
    with pytest.raises(duckdb.ConnectionException):
        database.execute("SELECT 1")


FORKED = """
import os, sys
import pyarrow as pa
from ringfence.rows.duckdb import DuckDB
from ringfence.spec.data import Data

def used():
    with DuckDB(Data()) as engine:
        assert engine.fetch(engine.keep(engine.hold(pa.table({"town": ["Oslo"]})))).num_rows == 1
        return engine._database

kept = used()
for uses in (True, False):
    if os.fork() == 0:
        assert not uses or used() is not kept
        del kept
        sys.exit()  # with all that Python does at the end
    assert os.wait()[1] == 0
assert used() is kept
"""


def test_a_process_that_is_forked_makes_its_own() -> None:
    """In a process of its own, that has no other threads."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)
