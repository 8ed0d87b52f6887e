"""First use: processor seconds of a release where nothing is compiled yet, and where everything is; and its fixed cost.

Every method releases 400 rows of the sample in a process of its own, from its start to its end: first with an empty
folder of compiled kernels, then again with what the first has left there. Both are measured in the same run. The fixed
cost is that of `rf.anonymize` on Adult in memory, warm, by the loss DM, with its audit: the best of many, in processor
seconds and by the clock. So is that of `rf.run` and `rf.audit` on text files, of Adult and of sixty people, which are
held in memory if they are small, beside what they take where they are not.
"""

import csv
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pyarrow.csv

import ringfence as rf
from benchmarks.data import adult_attributes, write_adult
from benchmarks.timing import best_seconds
from ringfence.rows import duckdb_lines
from ringfence.warming import tasks

CODE = "import sys; from ringfence.warming import compile_for; compile_for(sys.argv[1])"


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield first and second use of every method, then the fixed cost."""
    for task in tasks():
        with TemporaryDirectory() as kept:
            first, second = _used(task, kept), _used(task, kept)
        yield {"task": task, "first": first, "second": second, "longer by": round(first - second, 1)}
    yield from _fixed(folder)


def _used(task: str, kept: str) -> float:
    """Return the processor seconds of a process that does a task."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", CODE, task], check=True, env={**os.environ, "NUMBA_CACHE_DIR": kept})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)


def _fixed(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the fixed cost, in memory and, beside it, where memory is to be spared: by statements."""
    with TemporaryDirectory() as place:
        with write_adult(folder, Path(place)).open(encoding="utf-8") as file:
            table = pa.Table.from_pylist(list(csv.DictReader(file)))
        kinds = {"": table, ", from pandas": table.to_pandas(), ", from Polars": pl.from_arrow(table)}
        for suppression, limit, kind in [
            *((0, None, kind) for kind in kinds), (0, "1GB", ""), (0.01, None, ""), (0.05, None, "")
        ]:  # fmt: skip
            spec = rf.Spec(
                attributes=adult_attributes(),
                privacy={"k": 5},
                method={"name": "optimal", "metric": "dm", "suppression": suppression},
                data={} if limit is None else {"memory_limit": limit},
            ).at(place)
            release = partial(rf.anonymize, kinds[kind], spec)
            asked = f"Adult, dm, {suppression:.0%} suppressed{kind}{'' if limit is None else ', by statements'}"
            seconds, wall = (
                round(best_seconds(release, 15, clock), 3) for clock in (time.process_time, time.monotonic)
            )
            yield {"fixed cost": asked, "seconds": seconds, "wall": wall}
        people = {"age": [31, 32, 38, 39, 33, 41] * 10, "town": ["a", "b", "c"] * 20}
        pyarrow.csv.write_csv(pa.table(people), Path(place, "people.csv"))
        few = {
            "age": {"role": "quasi", "hierarchy": {"intervals": [5]}},
            "town": {"role": "quasi", "hierarchy": "flat"},
        }
        for name, attributes in (("adult.csv", adult_attributes()), ("people.csv", few)):
            yield from _file(Path(place, name), attributes)


def _file(path: Path, attributes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what it takes to make a release of a text file, and to audit it: held in memory, and by statements."""
    spec = rf.Spec(
        data={"source": path.name}, attributes=attributes, privacy={"k": 5}, method={"metric": "dm", "suppression": 0.2}
    ).at(path.parent)
    out = path.parent / "out"
    calls: dict[str, Callable[[], object]] = {"run": partial(rf.run, spec, out, report=False)}
    calls["audit"] = partial(rf.audit, out / "public" / "release.csv", spec, path)
    for call, done in calls.items():
        held = round(best_seconds(done, 15, time.process_time), 3)
        with patch.object(duckdb_lines, "SMALL", 0):
            stated = round(best_seconds(done, 15, time.process_time), 3)
        yield {"fixed cost": f"{call}, {path.name}", "seconds": held, "by statements": stated}
