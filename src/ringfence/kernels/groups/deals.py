"""Deals: how rows are parted so that rings can be made of rows whose sensitive values all differ."""

import numpy as np
from numba import njit

from ringfence.arrays import Ints, Longs


@njit(cache=True, nogil=True)
def halve_safely(values: Ints, bounds: Longs, width: int, begins: Longs) -> int:
    """Halve groups of rows along their order as long as both halves can be dealt out, *however* their values lie.

    A group of n rows can be dealt into rings of `width` or more different values if and only if no value has more than
    n / width rows. It is halved if no value of the whole group has more rows than the smaller half may have of it:
    then every arrangement of the group's values allows it. So the decision shows nothing beyond how often each value
    occurs in the group, which the release shows anyway; a decision that looked at the halves would tell where values
    lie. Fill `begins` with the first row of each group and the number of rows; return how many groups there are.
    """
    counts = np.zeros(values.max() + 1 if len(values) else 1, np.int64)
    stack = np.empty((len(bounds) + 64, 2), np.int64)
    found = 0
    for g in range(len(bounds) - 1):
        stack[0] = bounds[g], bounds[g + 1]
        waiting = 1
        while waiting:
            waiting -= 1
            first, stop = stack[waiting]
            most = 0
            for r in range(first, stop):
                counts[values[r]] += 1
                most = max(most, counts[values[r]])
            for r in range(first, stop):
                counts[values[r]] = 0
            half = (stop - first) // 2
            if most * width <= half:
                stack[waiting] = first + half, stop
                stack[waiting + 1] = first, first + half
                waiting += 2
            else:
                begins[found] = first
                found += 1
    begins[found] = bounds[-1]
    return found


@njit(cache=True, nogil=True)
def largest_shares(values: Ints, bounds: Longs, most: Longs) -> None:
    """Set `most[g]` to the number of rows of the commonest value of each group."""
    counts = np.zeros(values.max() + 1 if len(values) else 1, np.int64)
    for g in range(len(bounds) - 1):
        most[g] = 0
        for r in range(bounds[g], bounds[g + 1]):
            counts[values[r]] += 1
            most[g] = max(most[g], counts[values[r]])
        for r in range(bounds[g], bounds[g + 1]):
            counts[values[r]] = 0
