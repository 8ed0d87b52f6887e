"""Whole jobs on Spark beside the same on DuckDB: processor seconds of all processes, the JVM's too, start-up aside; and
what of that is the driver's.

`python -m benchmarks spark` goes to 300,000 rows; `python -m benchmarks.spark 3000000 30000000` asks for more. A job on
as many rows, up to three million, is done first, so that everything is started, loaded and compiled: the JVM compiles
what it runs often, while it runs. In `local[2]` the driver's JVM is that of the executors; in
`local-cluster[2,1,2048]` they are apart.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import adult, data_folder, write_adult
from benchmarks.engines import blown_up, spec_for
from ringfence.spec.data import Output

FIRST = 3_000_000
"""How many rows the job has at most that starts everything."""
TICKS = os.sysconf("SC_CLK_TCK")
MASTERS = {"spark": "local[2]", "spark, apart": "local-cluster[2,1,2048]"}


def measure(folder: Path, *sizes: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of each job, by rows and engine."""
    for rows in sizes or (300_000,):
        with TemporaryDirectory() as temporary:
            into = Path(temporary)
            write_adult(folder, into, 1)  # and the hierarchies
            for name, count in {"first": min(rows, FIRST), "people": rows}.items():
                blown_up(adult(folder), into / f"{name}.parquet", count)
            for engine in ("duckdb", *MASTERS):
                command = [sys.executable, "-m", "benchmarks.spark", "--job", engine, temporary]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                yield {"rows": rows, "engine": engine, **json.loads(done.stdout.splitlines()[-1])}


def job(engine: str, folder: Path) -> dict[str, Any]:
    """Do a job that starts everything and then the one that is measured, in this process."""
    import ringfence as rf

    if engine in MASTERS:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(MASTERS[engine]).config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", "3g").config("spark.executor.memory", "2g")
        builder.config("spark.ui.showConsoleProgress", "false").getOrCreate().sparkContext.setLogLevel("ERROR")
    before: dict[str, float] = {}
    for name in ("first", "people"):
        before = _seconds()
        source = folder / f"{name}.parquet"
        spec = spec_for({"source": str(source) if engine == "duckdb" else f"spark://{source}"}).at(folder)
        if engine in MASTERS:
            spec = spec.model_copy(update={"output": Output(to=f"spark://{folder / f'{name} {engine}'}")})
        release = rf.run(spec, folder / f"{name} {engine} out", report=False)
        assert release.audit.ok
    after = _seconds()
    used = {part: round(after[part] - before[part], 1) for part in after}
    return {"processor seconds": round(sum(used.values()), 1), **used, "peak GB": _peaks()}


def _processes() -> dict[str, list[int]]:
    """Return the processes of this job, by what they do: this one, the JVM that it started, and all below that."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    jvm = [pid for pid, parent in parents.items() if parent == os.getpid()]
    others, found = [*jvm], [*jvm]
    while others:
        others = [pid for pid, parent in parents.items() if parent in others]
        found += others
    return {"python": [os.getpid()], "jvm": jvm, "below": [pid for pid in found if pid not in jvm]}


def _seconds() -> dict[str, float]:
    """Return the processor seconds of each part, with those of processes that have ended below it."""
    found = {}
    for part, pids in _processes().items():
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15] for pid in pids]
        found[part] = sum(int(ticks) for each in fields for ticks in each) / TICKS
    return found


def _peaks() -> dict[str, float]:
    """Return the largest memory that a process of each part has had."""
    peaks = {}
    for part, pids in _processes().items():
        lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
        peaks[part] = max([int(line.split()[1]) for line in lines if line.startswith("VmHWM")], default=0) / 2**20
    return {part: round(peak, 2) for part, peak in peaks.items()}


if __name__ == "__main__":
    if sys.argv[1] == "--job":
        print(json.dumps(job(sys.argv[2], Path(sys.argv[3]))))
    else:
        where = data_folder()
        assert where is not None, "set RINGFENCE_DATA"
        for figures in measure(where, *map(int, sys.argv[1:])):
            print(json.dumps(figures), flush=True)
