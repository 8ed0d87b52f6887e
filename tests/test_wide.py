"""Tables of hundreds of columns: what is done to them takes as long as they are wide, and no longer.

Nothing is timed. Counted are the columns that stand in expressions, in each table and in whatever is made of it, which
is what it takes to put them into words and to plan them, and calls of functions of ours: with twice as many columns
there may be twice as many of each, and what does not depend on columns. The shape of the table stays the same.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import ibis.expr.operations as ops
import pyarrow as pa
import pytest

import ringfence as rf
from benchmarks.check import counted
from ringfence.rows import duckdb
from ringfence.rows.duckdb_sql import statement

KINDS: list[Callable[[int], Any]] = [
    lambda row: "xyz"[row % 3],
    lambda row: row * 7 % 10,
    lambda row: row % 9 / 2 if row % 5 else None,
    lambda row: dt.date(2024, 1, 1) + dt.timedelta(row % 20),
    lambda row: f"note {row % 11}" if row % 4 else None,
    lambda row: row % 2 == 0,
]
FEW, MORE, MOST = 30, 60, 120


def wide(columns: int, rows: int = 60) -> pa.Table:
    """Return two columns that are recoded, one that may be hidden, and as many others as make up the width."""
    known = {
        "age": [20 + row * 13 % 50 for row in range(rows)],
        "town": ["abc"[row % 3] for row in range(rows)],
        "illness": [["flu", "cold", "gout", "none"][row * 5 % 4] for row in range(rows)],
    }
    others = {f"c{at:03}": [KINDS[at % len(KINDS)](row + at) for row in range(rows)] for at in range(columns - 3)}
    return pa.table(known | others)


def asked(table: pa.Table, method: str = "optimal", *, unlisted: bool = False, **data: Any) -> rf.Spec:
    attributes: dict[str, Any] = {name: {"role": "insensitive"} for name in table.column_names if not unlisted}
    attributes |= {
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 30]}},
        "town": {"role": "quasi", "hierarchy": "flat"},
        "illness": {"role": "sensitive"},
    }
    return rf.Spec(
        attributes=attributes,
        privacy={"l": 2} if method == "anatomy" else {"k": 3},
        method={"name": method, "seed": 1} if method == "ring" else {"name": method},
        data={"unlisted": "publish" if unlisted else "error", **data},
    )


def grows(monkeypatch: pytest.MonkeyPatch, work: Callable[[pa.Table], object]) -> dict[str, float]:
    """Return how much more work comes with the last columns than with those before, each of them taken alone: 1 where
    every column adds the same, 2 where work goes with the square of the width."""
    columns: list[int] = []

    def noted(node: ops.Node) -> str:
        columns.append(sum(len(table.schema) for table in node.find(ops.Relation)))
        return statement(node)

    monkeypatch.setattr(duckdb, "statement", noted)
    found = []
    for table in map(wide, (FEW, MORE, MOST)):
        work(table)
        columns.clear()
        found.append({"functions": counted(lambda: work(table))["functions"], "columns": sum(columns)})  # noqa: B023
    first, second, third = found
    return {
        what: (third[what] - second[what] + 10) / (MOST - MORE) / ((second[what] - first[what] + 10) / (MORE - FEW))
        for what in first
    }


SLACK = 1.25


def test_columns_without_a_role_are_looked_at_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = grows(monkeypatch, lambda table: rf.anonymize(table, asked(table, unlisted=True)))
    assert max(found.values()) < SLACK, found
    found = grows(monkeypatch, lambda table: rf.anonymize(table, asked(table, unlisted=True, memory_limit="1GB")))
    assert max(found.values()) < SLACK, found
