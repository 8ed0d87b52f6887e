"""Whole jobs on large tables, with audit and report: processor seconds and peak memory by rows, by combinations, by
attributes, by memory limit and by engine.

`python -m benchmarks engines` yields them as JSON, `python -m benchmarks.engines` as the tables of docs/engines.md; or
name tables, such as `python -m benchmarks.engines rows`. The table `unique`, of more than ten million combinations, is
made only if it is named. PostgreSQL's seconds are those of the client and of a server of its own, as tests start it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data import QUASI, adult, adult_attributes, data_folder, write_adult
from ringfence.rows.postgres_wire import copy_in, create
from ringfence.spec import Spec

CODE = "import sys, ringfence as rf; rf.run(rf.Spec.load(sys.argv[1]), sys.argv[2])"
MILLION = 1_000_000
FEW = 200
"""One cell in so many is from another row: few new combinations."""


def blown_up(table: pa.Table, path: Path, rows: int, mixed: int = FEW) -> None:
    """Write rows drawn from a table, one cell in `mixed` from another row, with a number of hours: the more rows, and
    the more mixed, the more combinations."""
    size = table.num_rows
    connection = duckdb.connect()
    connection.register("people", table.append_column("place", pa.array(range(size))))
    columns = ", ".join(
        f"""CASE WHEN hash(x, '{name}') % {mixed} = 0 THEN b."{name}" ELSE a."{name}" END AS "{name}\""""
        for name in table.column_names
    )
    connection.execute(
        f"""COPY (
            SELECT {columns}, (20 + hash(x, 'hours') % 41)::int AS hours
            FROM range({rows}) AS numbers(x)
            JOIN people AS a ON a.place = x % {size} JOIN people AS b ON b.place = hash(x, 'other') % {size}
        ) TO '{path}' (FORMAT {path.suffix[1:]})"""
    )


def spec_for(data: dict[str, Any], k: int = 10, quasi: int = len(QUASI), **more: Any) -> Spec:
    """So many alike in the first of eight quasi-identifiers, one row in a hundred suppressed."""
    attributes = {**adult_attributes(), "hours": {"role": "insensitive"}}
    for name in QUASI[quasi:]:
        attributes[name] = {"role": "insensitive"}
    method = {"suppression": 0.01, **more.pop("method", {})}
    return Spec(data=data, attributes=attributes, privacy={"k": k}, method=method, **more)


def job(spec: Spec, folder: Path) -> dict[str, Any]:
    """Run a job in a process of its own."""
    spec.dump(folder / "spec.toml")
    process = subprocess.Popen([sys.executable, "-c", CODE, str(folder / "spec.toml"), str(folder / "out")])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        return {"failed": status}
    log = (folder / "out/private/log.txt").read_text()
    manifest = json.loads((folder / "out/public/manifest.json").read_text())
    assert manifest["verdict"]["ok"]
    return {
        "combinations": log.partition(" different combinations; searching")[0].split()[-1],
        "processor seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak GB": round(used.ru_maxrss / 2**20, 2),
    }


def by_rows(folder: Path, into: Path) -> Iterator[dict[str, Any]]:
    """Yield jobs on ever more rows, and with little memory."""
    jobs = [
        ("csv", 3, None, 5), ("parquet", 0.3, None, 10), ("parquet", 3, None, 10), ("parquet", 30, None, 10),
        ("parquet", 30, "2GB", 10),
    ]  # fmt: skip
    for form, millions, limit, k in jobs:
        path = into / f"people-{millions}.{form}"
        if not path.exists():
            blown_up(adult(folder), path, int(millions * MILLION))
        data = {"source": path.name} if limit is None else {"source": path.name, "memory_limit": limit}
        found = job(spec_for(data, k), into)
        yield {"million rows": millions, "from": form, "k": k, "memory_limit": limit or "default", **found}


def by_combinations(folder: Path, into: Path) -> Iterator[dict[str, Any]]:
    """Yield jobs on three million rows, ever more of them different."""
    for mixed in (FEW, 20, 5, 2):
        blown_up(adult(folder), into / "people.parquet", 3 * MILLION, mixed)
        found = job(spec_for({"source": "people.parquet"}), into)
        yield {"million rows": 3, "cells from another row": f"1 in {mixed}", **found}


def nearly_unique(folder: Path, into: Path) -> Iterator[dict[str, Any]]:
    """Yield a job on rows that are nearly all different: in every cell, each value of its column is as likely."""
    millions, table, stride = 12, adult(folder), 1
    connection, cells, joins = duckdb.connect(), [], []
    for at, name in enumerate(table.column_names):
        values = pc.unique(table[name])
        connection.register(f"values{at}", pa.table({"place": range(len(values)), name: values}))
        joins.append(f"JOIN values{at} ON values{at}.place = number // {stride} % {len(values)}")
        cells.append(f'values{at}."{name}"')
        stride *= len(values)
    connection.execute(
        f"""COPY (
            SELECT {", ".join(cells)}, (20 + x % 41)::int AS hours
            FROM (SELECT x, hash(x) AS number FROM range({millions * MILLION}) AS numbers(x)) {" ".join(joins)}
        ) TO '{into / "people.parquet"}' (FORMAT parquet)"""
    )
    connection.close()
    yield {"million rows": millions, "cells": "any", **job(spec_for({"source": "people.parquet"}), into)}


def by_attributes(folder: Path, into: Path) -> Iterator[dict[str, Any]]:
    """Yield jobs on three million rows by the number of quasi-identifiers."""
    blown_up(adult(folder), into / "people.parquet", 3 * MILLION)
    for quasi in (2, 4, 6, 8):
        found = job(spec_for({"source": "people.parquet"}, quasi=quasi), into)
        yield {"million rows": 3, "quasi-identifiers": quasi, **found}


def by_engine(folder: Path, into: Path) -> Iterator[dict[str, Any]]:
    """Yield jobs on three million rows that lie in a file, and in a table of PostgreSQL on the same machine."""
    from tests.engines import postgres

    blown_up(adult(folder), into / "people.parquet", 3 * MILLION)
    server = postgres()
    with server.connected() as connection:
        file = pq.ParquetFile(into / "people.parquet")
        create(connection, "people", file.schema_arrow, temporary=False)
        copy_in(connection, "people", file.iter_batches(100_000))
        connection.execute("ANALYZE people")
    places: dict[str, dict[str, Any]] = {
        "DuckDB": {"data": {"source": "people.parquet"}},
        "PostgreSQL": {
            "data": {"source": server.address, "table": "people"},
            "output": {"to": server.address, "table": "released"},
        },
    }
    for plan, method in (("global", {}), ("group", {"name": "mondrian"})):
        for name, place in places.items():
            before = server.seconds
            found = job(spec_for(**place, method=method), into)
            found["processor seconds"] = round(found["processor seconds"] + server.seconds - before, 1)
            yield {"million rows": 3, "plan": plan, "engine": name, **found}


TABLES: dict[str, Callable[[Path, Path], Iterator[dict[str, Any]]]] = {
    "rows": by_rows,
    "combinations": by_combinations,
    "attributes": by_attributes,
    "engine": by_engine,
    "unique": nearly_unique,
}
USUAL = ("rows", "combinations", "attributes", "engine")


def measure(folder: Path, tables: Sequence[str] = USUAL) -> Iterator[dict[str, Any]]:
    """Yield the figures of every job."""
    for name in tables:
        with TemporaryDirectory() as temporary:
            into = Path(temporary)
            write_adult(folder, into, 1)  # and the hierarchies
            for found in TABLES[name](folder, into):
                yield {"table": name, **found}


if __name__ == "__main__":
    where = data_folder()
    assert where is not None, "set RINGFENCE_DATA"
    titles: list[str] = []
    for row in measure(where, sys.argv[1:] or USUAL):
        if [*row] != titles:
            titles = [*row]
            print("\n| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
        print("| " + " | ".join(str(row[title]) for title in titles) + " |", flush=True)
