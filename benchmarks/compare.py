"""How long comparisons take and how many candidates get a turn: the sample people with the default budget, and three
million of them within two minutes."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import ringfence as rf
from ringfence.samples import people, people_spec

MANY = 3_000_000


def measure(_: Path) -> Iterator[dict[str, Any]]:
    """Yield what came of each. Before them a small one, so that kernels are compiled and libraries loaded."""
    rf.compare(people(1_000), people_spec(), budget=10)
    yield compared(people(), budget=30)
    yield compared(people(MANY), budget=120)


def compared(table: pa.Table, budget: float) -> dict[str, Any]:
    """Return how long a comparison took, wall and processor, which candidates were made and which came too late."""
    wall, processor = time.perf_counter(), time.process_time()
    found = rf.compare(table, people_spec(), budget=budget)
    made = [each for each in found.tried if each.made is not None]
    return {
        "rows": table.num_rows,
        "budget": budget,
        "seconds": round(time.perf_counter() - wall, 1),
        "processor seconds": round(time.process_time() - processor, 1),
        "peak GB, so far": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 1),
        "candidates": len(found.tried),
        "made": len(made),
        "too late": sum(each.late for each in found.tried),
        "advised": found.best.name,
        "off": round(found.off(found.best), 4),
        "slowest": {each.name: round(each.seconds, 1) for each in sorted(made, key=lambda each: -each.seconds)[:3]},
    }
