"""Neighbours: for each tuple some that are near it, found side by side in several orders."""

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, Geometry, distance, new_span

NOBODY = -1


@njit(cache=True, nogil=True)
def look_around(space: Geometry, order: Longs, blocks: Ints, reach: int, near: Ints, losses: Floats) -> None:
    """Improve `near[t]`, the nearest tuples found so far, nearest first, by those up to `reach` places from t.

    `losses[t]` are their distances, infinite where there is none. Only tuples of the same block count.
    """
    span = new_span(space)
    for i in range(len(order)):
        for j in range(i + 1, min(len(order), i + reach + 1)):
            one, other = order[i], order[j]
            if blocks[one] == blocks[other]:
                far = distance(space, one, other, span)
                _keep(one, other, far, near, losses)
                _keep(other, one, far, near, losses)


@njit(**BARE)
def _keep(t: int, other: int, far: float, near: Ints, losses: Floats) -> None:
    """Insert a tuple among the nearest, unless it is there or too far."""
    last = near.shape[1] - 1
    if far >= losses[t, last]:
        return
    for i in range(last + 1):
        if near[t, i] == other:
            return
    i = last
    while i > 0 and losses[t, i - 1] > far:
        near[t, i], losses[t, i] = near[t, i - 1], losses[t, i - 1]
        i -= 1
    near[t, i], losses[t, i] = other, far
