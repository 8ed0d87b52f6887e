"""Deals: how rows are parted so that rings can be made of rows whose sensitive values all differ."""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit


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
