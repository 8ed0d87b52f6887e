"""How things are timed here: the best of several runs, after one that does not count."""

import time
from collections.abc import Callable
from typing import Any


def best_seconds(work: Callable[[], Any], runs: int = 5) -> float:
    """Return the shortest of several runs: the one least disturbed by whatever else the machine does."""
    work()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
