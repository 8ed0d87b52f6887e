"""Arrays: the types that are passed around, and two ways to sum over equal rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Flags = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


def distinct_rows(codes: Ints | Longs, sizes: Sequence[int]) -> tuple[Longs, Longs]:
    """Return one position for each distinct row, in lexicographic order, and for each row which of them it equals.

    Rows are compared by one number, the digits being their codes; where that would not fit into 64 bits, the digits
    so far are replaced by their rank, which keeps their order.
    """
    number, span = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if span * size > 2**62:
            ranks, number = np.unique(number, return_inverse=True)
            span = len(ranks)
        number = number * size + column
        span *= size
    _, example, which = np.unique(number, return_index=True, return_inverse=True)
    return example, which


def sum_by(group: Longs | Ints, weights: Longs, groups: int) -> Longs:
    """Return the sum of the weights of each group, in integers."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, weights)
    return sums
