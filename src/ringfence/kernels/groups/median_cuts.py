"""Mondrian: where each part of a table would be cut in two.

Entries are rows that are alike, `weights` of them; those of part p stand between neighbouring `bounds`.
"""

import numpy as np

from ringfence.arrays import Flags, Floats, Ints, Longs
from ringfence.compiling import njit

NONE = -1


@njit(cache=True, nogil=True)
def choose_attributes(
    ranks: Ints, places: Floats, offsets: Longs, steps: Floats, bounds: Longs, tried: Flags, chosen: Longs
) -> None:
    """Set `chosen[p]` to the attribute of part p that is widest among those not tried, NONE if none has any width.

    `ranks[e, a]` is the rank of entry e in attribute a, and `places[offsets[a] + rank]` where that lies. The width of a
    part is the distance of its ends; where `steps[a]` is not 0, so much for every value but the first. Of equals, the
    first is chosen.
    """
    seen, stamp = np.zeros(ranks.max() + 1, np.int64), 0
    for p in range(len(bounds) - 1):
        widest, chosen[p] = 0.0, NONE
        for a in range(ranks.shape[1]):
            if tried[p, a]:
                continue
            low, high = ranks[bounds[p], a], ranks[bounds[p], a]
            distinct, stamp = 0, stamp + 1
            for e in range(bounds[p], bounds[p + 1]):
                rank = ranks[e, a]
                low, high = min(low, rank), max(high, rank)
                distinct += seen[rank] != stamp
                seen[rank] = stamp
            width = (distinct - 1) * steps[a]
            if steps[a] == 0.0:
                width = places[offsets[a] + high] - places[offsets[a] + low]
            if width > widest:
                widest, chosen[p] = width, a


@njit(cache=True, nogil=True)
def median_cuts(ranks: Ints, weights: Longs, bounds: Longs, chosen: Longs, rows: Longs) -> None:
    """Set `rows[e]` to how many rows of entry e fall into the lower half of its part: all of them, or none.

    A part is cut between two values of its chosen attribute, where the halves are most equal; of equals, at the lower.
    """
    counts = np.zeros(ranks.max() + 1, np.int64)
    for p in range(len(bounds) - 1):
        a = chosen[p]
        total, low, high = 0, ranks[bounds[p], a], ranks[bounds[p], a]
        for e in range(bounds[p], bounds[p + 1]):
            rank = ranks[e, a]
            counts[rank] += weights[e]
            total += weights[e]
            low, high = min(low, rank), max(high, rank)
        below, nearest, last = 0, total + 1, low
        for rank in range(low, high):
            below += counts[rank]
            if counts[rank] and abs(2 * below - total) < nearest:
                nearest, last = abs(2 * below - total), rank
        for rank in range(low, high + 1):
            counts[rank] = 0
        for e in range(bounds[p], bounds[p + 1]):
            rows[e] = weights[e] if ranks[e, a] <= last else 0


@njit(cache=True, nogil=True)
def halves(ranks: Ints, places: Longs, weights: Longs, bounds: Longs, chosen: Longs, rows: Longs) -> None:
    """Set `rows[e]` to how many rows of entry e fall into the lower half of its part, which has half of all rows.

    Entries of one rank in the chosen attribute are taken in the order of their `places`, so that what is alike
    otherwise stays together.
    """
    for p in range(len(bounds) - 1):
        a, first, stop = chosen[p], bounds[p], bounds[p + 1]
        keys = np.empty(stop - first, np.int64)
        total = 0
        for e in range(first, stop):
            keys[e - first] = (np.int64(ranks[e, a]) << 40) + places[e]
            total += weights[e]
        left = total // 2
        for i in np.argsort(keys, kind="mergesort"):
            rows[first + i] = min(left, weights[first + i])
            left -= rows[first + i]
