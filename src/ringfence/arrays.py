"""Arrays: the types that are passed around, and how equal numbers and equal rows are found and added up."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = Longs | Floats
Bools = npt.NDArray[np.bool_]
Flags = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


def distinct(numbers: Longs) -> tuple[Longs, Longs, Longs]:
    """Return the different ones of some numbers, in rising order; where each stands first; and which of them each is.

    That is what `np.unique` returns, in a quarter of the time: it sorts in a way that keeps the order of what is equal,
    so as to know which stands first, where the least place of all equal ones says the same.

    >>> [part.tolist() for part in distinct(np.array([7, 3, 7, 5]))]
    [[3, 5, 7], [1, 3, 0], [2, 0, 2, 1]]
    """
    if len(numbers) and numbers.min() >= 0 and numbers.max() < len(numbers):
        return _distinct_below(numbers)
    order = np.argsort(numbers)
    risen = numbers[order]
    begins = np.empty(len(risen), bool)
    begins[:1] = True
    np.not_equal(risen[1:], risen[:-1], out=begins[1:])
    which = np.empty(len(risen), np.int64)
    which[order] = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    first = np.minimum.reduceat(order, starts) if len(starts) else order
    return risen[starts], first, which


def _distinct_below(numbers: Longs) -> tuple[Longs, Longs, Longs]:
    """Do the same for numbers of which none is negative, or as large as there are numbers: each has a place of its own,
    and nothing need be sorted."""
    first = np.full(len(numbers), len(numbers))
    np.minimum.at(first, numbers, np.arange(len(numbers)))
    risen = np.flatnonzero(first < len(numbers))
    rank = np.empty(len(numbers), np.int64)
    rank[risen] = np.arange(len(risen))
    return risen, first[risen], rank[numbers]


def distinct_rows(codes: Ints | Longs, sizes: Sequence[int]) -> tuple[Longs, Longs]:
    """Return one position for each distinct row, in lexicographic order, and for each row which of them it equals.

    Rows are compared by one number, the digits being their codes; where that would not fit into 64 bits, the digits
    so far are replaced by their rank, which keeps their order.
    """
    number, span = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if span * size > 2**62:
            ranks, _, number = distinct(number)
            span = len(ranks)
        number = number * size + column
        span *= size
    _, example, which = distinct(number)
    return example, which


def sum_by(group: Longs | Ints, weights: Longs, groups: int) -> Longs:
    """Return the sum of the weights of each group, in integers."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, weights)
    return sums
