"""Numbering cells: texts and combinations of many rows, by our kernels and, in the same run, by what Arrow has for it.

Adult's columns in memory, all as text; a million different names; and how many rows have each combination of all of
Adult's columns, whose texts are numbered already. Seconds are the best of several runs.
"""

import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from benchmarks.data import write_adult
from benchmarks.timing import best_seconds
from ringfence.rows.coded import coded, coded_column
from ringfence.rows.in_memory import combined, counted

MANY = 1_000_000


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what each takes, beside Arrow."""
    with TemporaryDirectory() as place, write_adult(folder, Path(place)).open(encoding="utf-8") as file:
        table = pa.Table.from_pylist(list(csv.DictReader(file)))
    names = pa.table({"name": [f"person number {row * 7919 % MANY}" for row in range(MANY)]})
    for what, given in (("Adult", table), (f"{MANY:,} names", names)):
        yield _row(f"texts of {what} numbered", partial(_coded, given), partial(_listed_by_arrow, given))
    numbered = coded(table)
    ours = partial(_counted, numbered)
    yield _row("Adult counted by all columns, texts numbered", ours, partial(_counted_by_arrow, numbered))


def _coded(table: pa.Table) -> list[pa.ChunkedArray]:
    return [coded_column(each) for each in table.columns]


def _listed_by_arrow(table: pa.Table) -> list[pa.ChunkedArray]:
    return [each.dictionary_encode() for each in table.columns]


def _counted(table: pa.Table) -> pa.Table:
    return counted(combined(table, table.column_names))


def _counted_by_arrow(table: pa.Table) -> pa.Table:
    return table.group_by(table.column_names, use_threads=False).aggregate([([], "count_all")])


def _row(what: str, ours: Callable[[], Any], by_arrow: Callable[[], Any]) -> dict[str, Any]:
    taken, beside = best_seconds(ours, 15), best_seconds(by_arrow, 15)
    return {"work": what, "ours": round(taken, 5), "Arrow": round(beside, 5), "Arrow / ours": round(beside / taken, 1)}
