"""Cutting: an order of rows is cut into groups of neighbours that lose least, by dynamic programming.

What a group needs is said by the last place at which a group that ends at some row may begin. Parts of a group lose no
more than the group, so groups that could be cut into two that have all they need are not considered.
"""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import Geometry, loss_with, new_span, start, widen

NEVER = -1


@njit(cache=True, nogil=True)
def last_starts(values: Ints, counts: Longs, k: int, least: Longs, starts: Longs) -> None:
    """Set `starts[j]` to the last i so that rows i to j - 1 have all that is asked, NEVER if there is none.

    `values[r]` are the values of row r, those of all attributes numbered together; attribute s has those from
    `counts[s]` to before `counts[s + 1]`, and a group needs `least[s]` of them. What suffices up to row j suffices up
    to j + 1, so the last beginning never moves back.
    """
    rows, attributes = values.shape
    held, distinct = np.zeros(counts[-1], np.int64), np.zeros(attributes, np.int64)
    begin = 0
    starts[0] = NEVER
    for j in range(1, rows + 1):
        for s in range(attributes):
            value = values[j - 1, s]
            distinct[s] += held[value] == 0
            held[value] += 1
        while j - begin > k and _can_lose(values[begin], held, distinct, least):
            for s in range(attributes):
                value = values[begin, s]
                held[value] -= 1
                distinct[s] -= held[value] == 0
            begin += 1
        enough = j - begin >= k
        for s in range(attributes):
            enough &= distinct[s] >= least[s]
        starts[j] = begin if enough else NEVER


@njit(cache=True, nogil=True)
def _can_lose(row: Ints, held: Longs, distinct: Longs, least: Longs) -> bool:
    """Whether what is left without a row still has values enough."""
    enough = True
    for s in range(len(row)):
        enough &= distinct[s] - (held[row[s]] == 1) >= least[s]
    return enough


@njit(cache=True, nogil=True)
def cut(space: Geometry, tuples: Ints, starts: Longs, size_weight: float, begins: Longs) -> int:
    """Cut rows, given by their tuples, where they lose least; fill `begins` with the groups' first rows.

    Return how many groups there are. A group of s rows costs s times what a row of it loses, and `size_weight` s².
    `begins` needs room for a group of every row, and one more: the number of rows ends it.

    Rows i to j - 1 can be cut into two groups that have all they need if and only if starts[starts[j]] >= i: the second
    begins at starts[j] at the latest, the first ends there. Both together then cost no more than the whole.
    """
    rows = len(tuples)
    cost, before = np.full(rows + 1, np.inf), np.full(rows + 1, NEVER)
    cost[0] = 0.0
    span = new_span(space)
    ends, words, low, high, covered = space.ends, space.words, span.low, span.high, span.words
    for j in range(1, rows + 1):
        latest = starts[j]
        if latest == NEVER:
            continue
        earliest = starts[latest] + 1
        previous = tuples[j - 1]
        start(space, span, previous)
        loss = 0.0
        for i in range(j - 1, earliest - 1, -1):
            t = tuples[i]
            if t != previous:
                widen(ends, words, low, high, covered, t)
                loss, previous = NEVER, t
            if i <= latest and cost[i] < np.inf:
                if loss == NEVER:
                    loss = loss_with(space, low, high, covered, t)
                size = j - i
                total = cost[i] + size * (loss + size_weight * size)
                if total < cost[j]:
                    cost[j], before[j] = total, i
    count, j = 0, rows
    while j > 0:
        begins[count] = before[j]
        count += 1
        j = before[j]
    begins[:count] = begins[:count][::-1].copy()
    begins[count] = rows
    return count


@njit(cache=True, nogil=True)
def cut_blocks(
    space: Geometry, tuples: Ints, values: Ints, counts: Longs, k: int, least: Longs, bounds: Longs, size_weight: float,
    begins: Longs,
) -> int:  # fmt: skip
    """Cut the rows of each block, which stand between neighbouring `bounds`, as `cut` does; return how many groups.

    Each block as a whole has all that is asked.
    """
    starts, count = np.empty(len(tuples) + 1, np.int64), 0
    for b in range(len(bounds) - 1):
        first, stop = bounds[b], bounds[b + 1]
        last_starts(values[first:stop], counts, k, least, starts)
        more = cut(space, tuples[first:stop], starts, size_weight, begins[count:])
        for g in range(count, count + more + 1):
            begins[g] += first
        count += more
    return count
