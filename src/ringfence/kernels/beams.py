"""A good partition of one attribute into sets, given those of all others: not proven to be the best, but found fast.

Values are taken in one by one, the commonest first. Every set that is kept is gone on with as it is and with the next
value, and the value may be by itself. Then only the sets that look best are kept: those of the cheapest partitions of
the values so far, where a class is not suppressed yet that reaches k with what is still to come. Partitions may combine
any of the sets, so few sets are many partitions.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from ringfence.kernels.nest_blocks import Blocks, cheapest_partition, graph_of

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

MOST = 1e300
"""What a suppressed row costs where none may be: too much, but a number, so that no row of it costs nothing."""


@njit(cache=True, nogil=True)
def good_partition(counts: Floats, k: float, penalty: float, width: int, blocks: Longs) -> float:
    """Fill `blocks[value]` with the number of its set in a good partition, and return what that costs.

    `counts[value, class]` are rows of data, the commonest values first; about `width` sets are gone on with.
    """
    values, classes = counts.shape
    each = min(penalty, MOST)
    masks, rows = np.zeros(0, np.int64), np.zeros((0, classes))
    chosen = np.zeros(0, np.int64)
    cost, to_come = 0.0, counts.sum(axis=0)
    for value in range(values):
        to_come -= counts[value]
        masks, rows = _with_value(masks, rows, value, counts[value])
        costs, through = np.empty(len(masks)), np.empty(len(masks))
        for s in range(len(masks)):
            costs[s] = _cost(rows, s, to_come, k, each)
        chosen = np.empty(value + 1, np.int64)
        sets = Blocks(value + 1, np.zeros((0, 2), np.int64), masks, np.zeros((0, 2), np.int64))
        cost = cheapest_partition(sets, graph_of(sets), costs, chosen, through)
        if value < values - 1 and len(masks) > width:
            kept = through <= np.sort(through)[width - 1]
            for s in range(len(masks)):
                kept[s] |= masks[s] & (masks[s] - 1) == 0  # with single values there is always a partition
            masks, rows = masks[kept], rows[kept]
    blocks[:] = chosen
    return cost if cost < MOST else np.inf


@njit(cache=True, nogil=True)
def _with_value(masks: Longs, rows: Floats, value: int, more: Floats) -> tuple[Longs, Floats]:
    """Return sets without a value, with it, and the value by itself, in the order of `by_first_value`."""
    amount = len(masks)
    grown, grown_rows = np.empty(2 * amount + 1, np.int64), np.empty((2 * amount + 1, len(more)))
    for s in range(amount):
        grown[s], grown[amount + s] = masks[s], masks[s] | 1 << value
    grown[2 * amount] = 1 << value
    order = np.argsort((grown & -grown) * (1 << (value + 1)) + grown)
    for place in range(len(order)):
        s = order[place]
        if s < amount:
            grown_rows[place] = rows[s]
        elif s < 2 * amount:
            grown_rows[place] = rows[s - amount] + more
        else:
            grown_rows[place] = more
    return grown[order], grown_rows


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _cost(rows: Floats, place: int, to_come: Floats, k: float, penalty: float) -> float:
    """Return what a set costs at least: each row k, or as many as there are in its class, or the penalty."""
    total = 0.0
    for c in range(len(to_come)):
        number = rows[place, c]
        total += number * (penalty if number + to_come[c] < k else max(number, k))
    return total
