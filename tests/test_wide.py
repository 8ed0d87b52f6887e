"""Tables of hundreds of columns: what is done to them takes as long as they are wide, and no longer.

Nothing is timed. Counted are the columns that stand in expressions, in each table and in whatever is made of it, which
is what it takes to put them into words and to plan them, and calls of functions of ours: with twice as many columns
there may be twice as many of each, and what does not depend on columns. The shape of the table stays the same.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from benchmarks.check import counted
from benchmarks.wide import METHODS, asked, people, run, stated
from ringfence.errors import SpecError
from ringfence.rows import duckdb_views

FEW, MORE, MOST = 40, 80, 160


def grows(work: Callable[[pa.Table], object]) -> dict[str, float]:
    """Return how much more work comes with the last columns than with those before, each of them taken alone: 1 where
    every column adds the same, 2 where work goes with the square of the width."""
    found = []
    for table in map(people, (FEW, MORE, MOST)):
        job = partial(work, table)
        columns = stated(job)
        found.append({"functions": counted(job)["functions"], "columns": columns})
    first, second, third = found
    return {
        what: (third[what] - second[what] + 10) / (MOST - MORE) / ((second[what] - first[what] + 10) / (MORE - FEW))
        for what in first
    }


SLACK = 1.25


def test_columns_without_a_role_are_looked_at_all_at_once() -> None:
    found = grows(lambda table: rf.anonymize(table, asked(table, unlisted=True)))
    assert max(found.values()) < SLACK, found
    found = grows(lambda table: rf.anonymize(table, asked(table, unlisted=True, memory_limit="1GB")))
    assert max(found.values()) < SLACK, found


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_plan_takes_columns_along(tmp_path: Path, method: str) -> None:
    found = grows(lambda table: run(tmp_path, method, table))
    assert max(found.values()) < SLACK, found
    found = grows(lambda table: rf.anonymize(table, asked(table, method, memory_limit="1GB")))
    assert max(found.values()) < SLACK, found


ASKED: list[tuple[str, dict[str, str]]] = [
    *((method, {"missing": "suppress"}) for method in METHODS),
    ("optimal", {"entity": "who"}),
]


@pytest.mark.parametrize(("method", "more"), ASKED)
def test_columns_that_come_along_stay_what_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str, more: dict[str, str]
) -> None:
    days = pa.array([dt.date(2024, 1, 1 + row % 9) for row in range(60)])
    odd = {
        "a.b": [{"x": row, "y": [row % 3]} for row in range(60)],
        'he said "no"': [[None, "a", ""]] * 30 + [None] * 30,
        "x": pa.array([Decimal(row) / 4 for row in range(60)], pa.decimal128(9, 2)),
        "of bytes": [bytes([row]) for row in range(60)],
        "moment": days.cast(pa.timestamp("us")),
        "struct_pack": [dt.time(row % 24, row) for row in range(60)],
        "number": range(60),
    }
    who = {"who": [f"p{row // 2}" for row in range(60)]} if "entity" in more else {}
    table = pa.table({**{name: people(9)[name] for name in people(9).column_names}, **odd, **who})
    left = []
    for many in (1, 1000):
        monkeypatch.setattr(duckdb_views, "MANY", many)
        run(tmp_path, method, table, **more)
        released = pq.read_table(tmp_path / "out" / "public" / "release.parquet")
        left.append(released.sort_by("number").drop_columns(["age", "town"]))
    apart, together = left
    assert apart.schema == together.schema
    for released in (apart, together):
        assert released.num_rows >= 40
        shown = ["c000", "c003", *odd]
        assert released.select(shown).to_pylist() == table.take(released["number"]).select(shown).to_pylist()


def test_drafts_look_at_each_column_by_itself() -> None:
    found = grows(rf.draft)
    assert max(found.values()) < SLACK, found


def answers(columns: int, rows: int = 60) -> tuple[pa.Table, dict[str, Any]]:
    """Return a table of answers that others may know, all of them, and what a specification says of them."""
    cells = {f"q{at:03}": ["abc"[(row // 9 + at * row) % 3] for row in range(rows)] for at in range(columns)}
    return pa.table(cells), {name: {"role": "quasi", "hierarchy": "flat"} for name in cells}


@pytest.mark.parametrize("method", [{"name": "mondrian"}, {"name": "optimal", "metric": "dm", "time_limit": 2}])
def test_more_attributes_are_recoded_than_words_can_stand_in_each_other(tmp_path: Path, method: dict[str, Any]) -> None:
    table, attributes = answers(45)
    pq.write_table(table, tmp_path / "answers.parquet")
    spec = rf.Spec(attributes=attributes, privacy={"k": 3}, method=method, data={"source": "answers.parquet"})
    assert rf.run(spec.at(tmp_path), tmp_path / "out", report=False).audit.ok


def test_more_attributes_are_measured_than_arrays_have_dimensions(tmp_path: Path) -> None:
    table, attributes = answers(70)
    pq.write_table(table, tmp_path / "answers.parquet")
    method = {"name": "optimal", "metric": "dm", "time_limit": 1}
    spec = rf.Spec(attributes=attributes, privacy={"k": 30}, method=method, data={"source": "answers.parquet"})
    rf.run(spec.at(tmp_path), tmp_path / "out")
    assert "html" in (tmp_path / "out" / "private" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("algorithm", ["exact", "poka"])
def test_a_front_of_more_recodings_than_memory_holds_is_refused(algorithm: str) -> None:
    table, attributes = answers(40)
    with pytest.raises(SpecError, match="there are 1,099,511,627,776 recodings by levels"):
        rf.frontier(table, rf.Spec(attributes=attributes, frontier={"algorithm": algorithm}))
