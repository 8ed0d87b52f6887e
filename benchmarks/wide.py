"""Tables of hundreds of columns, most of which are published as they are: how long a column takes in a wide table.

Tables have 200 rows, so that columns are what takes time. Each job is done with some columns and with four times as
many, first of all and once more: `each` is how long a column takes in the wide table, beside how long it takes in the
narrow one, the job done with eight columns taken off from both. 1 is a job that takes as long as its table is wide, 4
one that goes by the square. `first` includes what is put into words for the first time, as a command does.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import ringfence as rf
from ringfence.rows import duckdb
from ringfence.rows.duckdb_sql import statement

FEWEST, FEW, MANY = 8, 120, 480
METHODS = ("optimal", "mondrian", "ring", "anatomy")
KINDS: list[Callable[[int], Any]] = [
    lambda row: "xyz"[row % 3],
    lambda row: row * 7 % 10,
    lambda row: row % 9 / 2 if row % 5 else None,
    lambda row: dt.date(2024, 1, 1) + dt.timedelta(row % 20),
    lambda row: f"note {row % 11}" if row % 4 else None,
    lambda row: row % 2 == 0,
]


def people(columns: int, rows: int = 60) -> pa.Table:
    """Return two columns that are recoded, one that may be hidden, and as many others as make up the width."""
    known = {
        "age": [20 + row * 13 % 50 for row in range(rows)],
        "town": ["abc"[row % 3] for row in range(rows)],
        "illness": [["flu", "cold", "gout", "none"][row * 5 % 4] for row in range(rows)],
    }
    others = {f"c{at:03}": [KINDS[at % len(KINDS)](row + at) for row in range(rows)] for at in range(columns - 3)}
    return pa.table(known | others)


def asked(table: pa.Table, method: str = "optimal", *, unlisted: bool = False, **data: Any) -> rf.Spec:
    """Return what is asked of such a table; the other columns have a role, or are `unlisted` and published."""
    listed = [] if unlisted else [name for name in table.column_names if name != data.get("entity")]
    attributes: dict[str, Any] = {name: {"role": "insensitive"} for name in listed}
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


def run(folder: Path, method: str, table: pa.Table, kind: str = "parquet", **data: Any) -> rf.Release:
    """Return a release of a file. DuckDB reads Parquet, and everything that is done to rows goes by statements."""
    source = folder / f"people.{kind}"
    if kind == "parquet":
        pq.write_table(table, source)
    else:
        pyarrow.csv.write_csv(table, source)
    return rf.run(asked(table, method, source=str(source), **data), folder / "out", report=False)


def stated(work: Callable[[], object]) -> int:
    """Return how many columns stand in the statements of DuckDB meanwhile: those of each table, and of whatever is made
    of it on the way. To put them into words and to plan them takes nearly all of the time of a wide table."""
    columns = []

    def noted(node: ops.Node) -> str:
        columns.append(sum(len(table.schema) for table in node.find(ops.Relation)))
        return statement(node)

    with patch.object(duckdb, "statement", noted):
        work()
    return sum(columns)


def measure(folder: Path) -> Iterator[dict[str, Any]]:  # noqa: ARG001  as every benchmark; the tables are made up
    """Yield for each job how long it takes, and how long a column does beside one of a narrow table."""
    with TemporaryDirectory() as temporary:
        into = Path(temporary)
        jobs: dict[str, Callable[[pa.Table], object]] = {
            "anonymize": lambda table: rf.anonymize(table, asked(table)),
            "anonymize, columns without a role": lambda table: rf.anonymize(table, asked(table, unlisted=True)),
            "anonymize, by statements": lambda table: rf.anonymize(table, asked(table, memory_limit="1GB")),
            **{f"run, Parquet, {method}": partial(run, into, method) for method in METHODS},
            "run, CSV": partial(run, into, "optimal", kind="csv"),
            "draft": rf.draft,
        }
        for name, job in jobs.items():
            job(people(FEWEST - 1, 200))
            taken = [_seconds(partial(job, people(columns, 200))) for columns in (FEWEST, FEW, MANY)]
            found: dict[str, Any] = {"job": name}
            for way, (fewest, few, many) in zip(("first", "again"), zip(*taken, strict=True), strict=True):
                each = (many - fewest) / (MANY - FEWEST) / ((few - fewest) / (FEW - FEWEST))
                found |= {way: round(many, 2), f"{way}, each": round(each, 2)}
            yield found


def _seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Return the processor seconds of a job when it is done for the first time, and the least of two more times."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return seconds[0], min(seconds[1:])
