"""Anatomy: buckets of rows with different sensitive values."""

import heapq

import numpy as np

from ringfence.arrays import Longs
from ringfence.compiling import njit

FIELD = 32
"""Values are queued by falling number of rows left, c, then by their number v: as v - (c << FIELD)."""


@njit(cache=True, nogil=True)
def fill_buckets(starts: Longs, l: int, turns: Longs, homes: Longs) -> int:  # noqa: E741
    """Set `homes[r]` to the bucket of each row; return how many buckets there are.

    Rows of value v stand from `starts[v]` to before `starts[v + 1]`, in the order in which they are taken. As long as l
    values have rows left, the l commonest of them give one each to a new bucket. No value has more than one in l of all
    rows, and so none has more than one row left in the end: if v had two, it would have been among the l commonest, and
    given a row, each time, until fewer than l values were left. That row goes to the first bucket without its
    value from `turns[v]` on, wherever that is; there are more buckets than rows of the value that have one.
    """
    heap = [v - ((starts[v + 1] - starts[v]) << FIELD) for v in range(len(starts) - 1) if starts[v + 1] > starts[v]]
    heapq.heapify(heap)
    buckets, given = 0, np.zeros(len(starts) - 1, np.int64)
    chosen = np.empty(l, np.int64)
    while len(heap) >= l:
        for i in range(l):
            chosen[i] = heapq.heappop(heap)
        for i in range(l):
            left = -(chosen[i] >> FIELD)
            v = chosen[i] + (left << FIELD)
            homes[starts[v] + given[v]] = buckets
            given[v] += 1
            if left > 1:
                heapq.heappush(heap, chosen[i] + (1 << FIELD))
        buckets += 1
    holds = np.zeros(buckets, np.bool_)
    for v in range(len(starts) - 1):
        rest = starts[v] + given[v]
        if rest < starts[v + 1]:
            holds[:] = False
            for r in range(starts[v], rest):
                holds[homes[r]] = True
            for r in range(rest, starts[v + 1]):
                bucket = turns[v] % max(1, buckets)
                while holds[bucket]:
                    bucket = (bucket + 1) % buckets
                homes[r], holds[bucket] = bucket, True
    return buckets
