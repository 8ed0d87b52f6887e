"""First use: processor seconds of a release where nothing is compiled yet, and where everything is; and its fixed cost.

Every method releases 400 rows of the sample in a process of its own, from its start to its end: first with an empty
folder of compiled kernels, then again with what the first has left there. Both are measured in the same run. The fixed
cost is that of `rf.anonymize` on Adult in memory, warm, by the loss DM, with its audit: the best of many, in processor
seconds and by the clock.
"""

import csv
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import ringfence as rf
from benchmarks.data import adult_attributes, write_adult
from benchmarks.timing import best_seconds
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
        for suppression, limit in [(0, None), (0, "1GB"), (0.01, None), (0.05, None)]:
            spec = rf.Spec(
                attributes=adult_attributes(),
                privacy={"k": 5},
                method={"name": "optimal", "metric": "dm", "suppression": suppression},
                data={} if limit is None else {"memory_limit": limit},
            ).at(place)
            release = partial(rf.anonymize, table, spec)
            asked = f"Adult, dm, {suppression:.0%} suppressed{'' if limit is None else ', by statements'}"
            seconds, wall = (
                round(best_seconds(release, 15, clock), 3) for clock in (time.process_time, time.monotonic)
            )
            yield {"fixed cost": asked, "seconds": seconds, "wall": wall}
