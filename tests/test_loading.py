"""What is loaded when a verb is called first, and what is not; and that the search for garbage is as it was."""

import gc
import subprocess
import sys

import pyarrow as pa
import pytest

from ringfence.garbage import not_searched_for
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_types import _TYPES
from ringfence.spec.data import Data

START = """
import gc, sys
from pathlib import Path
from tempfile import TemporaryDirectory
import pyarrow as pa, ringfence as rf
ages = [20, 21, 40, 41]
table = pa.table({"age": ages, "town": ["a", "b", "a", "b"], "born": pa.array(ages, pa.date32())})
quasi = {"role": "quasi", "hierarchy": {"intervals": [10]}}
attributes = {"age": quasi, "town": {"role": "quasi", "hierarchy": "flat"}, "born": {"role": "insensitive"}}
spec = rf.Spec(attributes=attributes, privacy={"k": 2})
"""
RELEASED = (
    START
    + """
release = rf.anonymize(table, spec)
assert release.audit.ok and rf.audit(release.table, spec, table).ok
assert not {"duckdb", "ibis.backends.duckdb"} & {*sys.modules}, "a table in memory needs no engine"
assert gc.isenabled()
"""
)
ALL_VERBS = (
    """
import sys
from ringfence.__main__ import _LeaveOut
sys.meta_path.insert(0, _LeaveOut())  # as if pandas were not installed
"""
    + START
    + """
release = rf.anonymize(table, spec)
assert rf.audit(release.table, spec, table, attacks="all").ok
assert rf.frontier(table, spec).plan(2) is not None
assert rf.compare(table, spec, budget=2).best.made
assert rf.draft(table).attributes
with TemporaryDirectory() as folder:
    release.save(folder)
    assert (Path(folder) / "private" / "report.html").exists()
    assert rf.audit(Path(folder) / "public" / "release.csv", spec).ok
"""
)


def test_a_table_in_memory_is_released_and_audited_without_an_engine() -> None:
    subprocess.run([sys.executable, "-c", RELEASED], check=True)


def test_nothing_needs_pandas() -> None:
    """It is no part of an installation: whoever has tables of pandas has pandas."""
    subprocess.run([sys.executable, "-c", ALL_VERBS], check=True)


def test_types_that_are_known_are_those_that_the_engine_says() -> None:
    with DuckDB(Data()) as engine:
        for kind, said in _TYPES.items():
            cells = pa.array(["a", None]).dictionary_encode() if pa.types.is_dictionary(kind) else pa.nulls(2, kind)
            engine._duckdb.register("asked", pa.table({"cell": cells}))
            assert engine._ibis.table("asked").schema()["cell"] == said, kind


SEARCH = """
import gc
from ringfence.garbage import not_searched_for
gc.set_threshold(50)
with not_searched_for():
    assert not gc.isenabled()
    cycle = []
    cycle.append(cycle)
    made = id(cycle)
    many = [[] for _ in range(1000)]
    assert made in {id(each) for each in gc.get_objects(generation=0)}, "it has not been looked through"
assert gc.isenabled() and gc.get_threshold()[0] == 50 and gc.get_freeze_count() == 0
assert made in {id(each) for each in gc.get_objects(generation=2)}, "it is taken for something that stays"
del cycle
assert gc.collect() > 0, "but it can still go"
"""
"""In a process of its own: that of the tests has frozen what it has loaded."""


def test_garbage_is_not_searched_for_inside_and_is_found_after_it() -> None:
    subprocess.run([sys.executable, "-c", SEARCH], check=True)


def test_a_failure_inside_turns_the_search_on_again() -> None:
    with pytest.raises(KeyError), not_searched_for():
        raise KeyError
    assert gc.isenabled()


def test_who_has_turned_the_search_off_or_frozen_something_keeps_that() -> None:
    gc.disable()
    try:
        with not_searched_for():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()  # as the tests do for all of them
    frozen = gc.get_freeze_count()
    with not_searched_for():
        pass
    assert gc.get_freeze_count() >= frozen * 0.9  # what was frozen may go, but is not thawed
