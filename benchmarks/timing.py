"""How things are timed here: the best of several runs, after one that does not count."""

import time
from collections.abc import Callable
from typing import Any


def best_seconds(work: Callable[[], Any], runs: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of several runs: the one least disturbed by whatever else the machine does.

    With `time.process_time` as the clock, what others do counts less still: it is the processor's time for all threads.
    """
    work()
    seconds = []
    for _ in range(runs):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)
