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
def lose_all(weights: Longs, size: int, fails: Flags, gone: Longs) -> None:
    """Fill `gone` with all rows of failing classes, and none of others."""
    for i in range(size):
        gone[i] = weights[i] if fails[i] else 0


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
def squares_gained(weights: Longs, size: int, gone: Longs, penalty: int, least: int) -> int:
    """Return the sum of penalty - max(size, least) over the rows that go, `gone[i]` of each class."""
    total = 0
    for i in range(size):
        if gone[i] > 0:
            total += gone[i] * max(0, penalty - max(weights[i], least))
    return total


@njit(cache=True, nogil=True)
def failing_savings(
    keys: Longs,
    tallies: npt.NDArray[np.float64],
    weights: Longs,
    size: int,
    gone: Longs,
    fields: Longs,
    savings: npt.NDArray[np.float64],
) -> float:
    """Return the sum over fields, and classes all of whose rows go, of (the field's saving) · (the class's tally)."""
    total = 0.0
    for i in range(size):
        if gone[i] == weights[i]:
            for f in range(fields.shape[0]):
                leaf = (keys[fields[f, 0], i] >> fields[f, 1]) & fields[f, 2]
                total += savings[fields[f, 3] + leaf] * tallies[f, i]
    return total


@njit(cache=True, nogil=True)
def failing_cells(keys: Longs, size: int, gone: Longs, fields: Longs, losses: npt.NDArray[np.float64]) -> float:
    """Return the sum over rows that go, `gone[i]` of each class, of the losses of their fields; `losses` are addressed
    as in `roll_up`."""
    total = 0.0
    for i in range(size):
        if gone[i] > 0:
            for f in range(fields.shape[0]):
                leaf = (keys[fields[f, 0], i] >> fields[f, 1]) & fields[f, 2]
                total += gone[i] * losses[fields[f, 3] + leaf]
    return total
