"""Sums over a class table: what fails, what it costs, and what it must cost at least."""

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Flags, Longs
from ringfence.compiling import njit


@njit(cache=True, nogil=True)
def mark_small(weights: Longs, size: int, k: int, fails: Flags) -> None:
    """Mark the classes of fewer than `k` rows."""
    for i in range(size):
        if weights[i] < k:
            fails[i] = 1


@njit(cache=True, nogil=True)
def failing_rows(weights: Longs, size: int, fails: Flags) -> int:
    """Return how many rows lie in failing classes."""
    rows = 0
    for i in range(size):
        if fails[i]:
            rows += weights[i]
    return rows


@njit(cache=True, nogil=True)
def squares(weights: Longs, size: int, fails: Flags, penalty: int) -> int:
    """Return the sum of size² over the classes that hold and of size · `penalty` over those that fail."""
    total = 0
    for i in range(size):
        total += weights[i] * (penalty if fails[i] else weights[i])
    return total


@njit(cache=True, nogil=True)
def squares_from(weights: Longs, size: int, least: int) -> int:
    """Return the sum of size · max(size, least) over all classes."""
    total = 0
    for i in range(size):
        total += weights[i] * max(weights[i], least)
    return total


@njit(cache=True, nogil=True)
def squares_gained(weights: Longs, size: int, fails: Flags, penalty: int, least: int) -> int:
    """Return the sum of size · (penalty - max(size, least)) over the failing classes."""
    total = 0
    for i in range(size):
        if fails[i]:
            total += weights[i] * max(0, penalty - max(weights[i], least))
    return total


@njit(cache=True, nogil=True)
def failing_savings(
    keys: Longs,
    tallies: npt.NDArray[np.float64],
    size: int,
    fails: Flags,
    fields: Longs,
    savings: npt.NDArray[np.float64],
) -> float:
    """Return the sum over failing classes and fields of (the field's saving) · (the class's tally for it)."""
    total = 0.0
    for i in range(size):
        if fails[i]:
            for f in range(fields.shape[0]):
                leaf = (keys[fields[f, 0], i] >> fields[f, 1]) & fields[f, 2]
                total += savings[fields[f, 3] + leaf] * tallies[f, i]
    return total


@njit(cache=True, nogil=True)
def failing_cells(
    keys: Longs, weights: Longs, size: int, fails: Flags, fields: Longs, losses: npt.NDArray[np.float64]
) -> float:
    """Return the sum over failing classes of size · (the losses of its fields), `losses` addressed as in `roll_up`."""
    total = 0.0
    for i in range(size):
        if fails[i]:
            for f in range(fields.shape[0]):
                leaf = (keys[fields[f, 0], i] >> fields[f, 1]) & fields[f, 2]
                total += weights[i] * losses[fields[f, 3] + leaf]
    return total
