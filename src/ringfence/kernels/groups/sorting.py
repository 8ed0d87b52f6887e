"""Short lists that are sorted where they stand, in innermost loops that make no arrays."""

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE


@njit(**BARE)
def sort_with(keys: Longs, others: Ints | Longs, count: int) -> None:
    """Sort keys, and others with them, in rising order: by gaps that shrink (Ciura 2001)."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, count):
            key, other, j = keys[i], others[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], others[j] = keys[j - gap], others[j - gap]
                j -= gap
            keys[j], others[j] = key, other
