"""Whole jobs on large tables: processor seconds and peak memory, by engine, rows and memory limit.

`python -m benchmarks engines` goes to three million rows; `python -m benchmarks.engines 30000000 2GB` asks for more.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.data import adult, adult_attributes, data_folder, write_adult
from ringfence.spec import Spec

CODE = "import sys, ringfence as rf; rf.run(rf.Spec.load(sys.argv[1]), sys.argv[2])"


def blown_up(table: pa.Table, path: Path, rows: int) -> None:
    """Write rows drawn from a table, one cell in two hundred from another row, with a number of hours: the more rows,
    the more combinations."""
    size = table.num_rows
    connection = duckdb.connect()
    connection.register("people", table.append_column("place", pa.array(range(size))))
    columns = ", ".join(
        f"""CASE WHEN hash(x, '{name}') % 200 = 0 THEN b."{name}" ELSE a."{name}" END AS "{name}\""""
        for name in table.column_names
    )
    connection.execute(
        f"""COPY (
            SELECT {columns}, (20 + hash(x, 'hours') % 41)::int AS hours
            FROM range({rows}) AS numbers(x)
            JOIN people AS a ON a.place = x % {size} JOIN people AS b ON b.place = hash(x, 'other') % {size}
        ) TO '{path}' (FORMAT {path.suffix[1:]})"""
    )


def spec_for(source: str, **data: Any) -> Spec:
    """Ten alike in eight quasi-identifiers, one row in a hundred suppressed."""
    return Spec(
        data={"source": source, **data},
        attributes={**adult_attributes(), "hours": {"role": "insensitive"}},
        privacy={"k": 10},
        method={"suppression": 0.01},
    )


def job(spec: Spec, folder: Path) -> dict[str, Any]:
    """Run a job in a process of its own."""
    spec.dump(folder / "spec.toml")
    process = subprocess.Popen([sys.executable, "-c", CODE, str(folder / "spec.toml"), str(folder / "out")])
    _, status, used = os.wait4(process.pid, 0)
    manifest = json.loads((folder / "out/public/manifest.json").read_text()) if not status else {}
    return {
        "processor seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak GB": round(used.ru_maxrss / 2**20, 2),
        "ok": manifest.get("verdict", {}).get("ok"),
        "log": (folder / "out/private/log.txt").read_text().splitlines() if not status else [],
    }


def measure(
    folder: Path, rows: int = 3_000_000, memory_limit: str | None = None, form: str = "parquet"
) -> Iterator[dict[str, Any]]:
    """Yield the figures of one job."""
    with TemporaryDirectory() as temporary:
        into = Path(temporary)
        write_adult(folder, into, 1)  # and the hierarchies
        blown_up(adult(folder), into / f"people.{form}", rows)
        limit = {} if memory_limit is None else {"memory_limit": memory_limit}
        yield {
            "rows": rows,
            "from": form,
            "memory_limit": memory_limit,
            **job(spec_for(f"people.{form}", **limit), into),
        }


if __name__ == "__main__":
    where = data_folder()
    assert where is not None, "set RINGFENCE_DATA"
    for figures in measure(
        where, int(sys.argv[1]), sys.argv[2] if sys.argv[2:] and sys.argv[2] != "-" else None, *sys.argv[3:]
    ):
        print(json.dumps(figures, indent=1))
