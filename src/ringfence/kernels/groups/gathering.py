"""Gathering: groups take rows from the front of a line, leaving out those that would keep them from what they need."""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit

NOBODY = -1
FARTHEST = 5_000
"""A group gives up after so many rows that it could not take: what it lacks is rare, and far away."""


@njit(cache=True, nogil=True)
def gather_blocks(values: Ints, counts: Longs, k: int, least: Longs, bounds: Longs, homes: Longs) -> int:
    """Set `homes[r]` to the group of each row, block by block; return how many groups there are.

    `values[r]` are the values of row r, those of all attributes numbered together, up to `counts[-1]`; a group needs k
    rows and `least[s]` different values of attribute s. A group begins with the first row that has none, and takes
    every next one after which it can still get all its values within its size. If it cannot, the first row waits. Rows
    that are left in the end join the group of the row before them, else behind them. Each block as a whole has
    all that is asked: if no group can be made, it is one.
    """
    size = max(k, int(least.max())) if len(least) else k
    seen, lacking, taken = np.zeros(counts[-1], np.int64), np.empty(len(least), np.int64), np.empty(size, np.int64)
    homes[:] = NOBODY
    stamp, count = 0, 0
    for b in range(len(bounds) - 1):
        first, stop, before = bounds[b], bounds[b + 1], count
        waiting = first
        while stop - waiting >= size:
            stamp += 1
            lacking[:] = least
            if _gather(waiting, stop, values, lacking, seen, stamp, homes, taken):
                homes[taken] = count
                count += 1
            else:
                waiting += 1
            while waiting < stop and homes[waiting] != NOBODY:
                waiting += 1
        count += count == before
        _join(homes[first:stop], count - 1)
    return count


@njit(cache=True, nogil=True)
def _gather(
    first: int, stop: int, values: Ints, lacking: Longs, seen: Longs, stamp: int, homes: Longs, taken: Longs
) -> bool:
    """Fill `taken` with rows for a group, the first among them; return whether there are enough."""
    rows, passed = 0, 0
    for r in range(first, stop):
        if homes[r] != NOBODY:
            continue
        if _fits(values[r], lacking, seen, stamp, len(taken) - rows - 1):
            for s in range(len(lacking)):
                lacking[s] -= seen[values[r, s]] != stamp
                seen[values[r, s]] = stamp
            taken[rows] = r
            rows += 1
            if rows == len(taken):
                return True
        else:
            passed += 1
            if passed > FARTHEST:
                break
    return False


@njit(cache=True, nogil=True)
def _fits(row: Ints, lacking: Longs, seen: Longs, stamp: int, room: int) -> bool:
    """Whether a group that takes a row has room for as many further rows as it then lacks values."""
    fits = True
    for s in range(len(lacking)):
        fits &= lacking[s] - (seen[row[s]] != stamp) <= room
    return fits


@njit(cache=True, nogil=True)
def _join(homes: Longs, last: int) -> None:
    """Give rows without a group to that of the nearest row before them, else behind them, else to the last group."""
    home = last
    for r in range(len(homes) - 1, -1, -1):
        if homes[r] != NOBODY:
            home = homes[r]
    for r in range(len(homes)):
        if homes[r] == NOBODY:
            homes[r] = home
        home = homes[r]
