"""Improving the partitions of several attributes in turn, each given those of all others, until none can be.

All of it is one kernel: a step takes a tenth of a millisecond or two, and as much again if Python is asked in between,
which also would make threads wait for each other.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.beams import MOST, good_partition
from ringfence.kernels.recode.keys import EMPTY, SPARSE, classes_of, places_of

FEW = 8
"""Of sets of so many values, all partitions are looked at; of more, good ones."""

EFFORT = 20_000_000
"""Fewer partitions are gone on with where they would take more steps than this: hundreds of values, or of classes."""


@njit(cache=True, nogil=True)
def improve_in_turn(
    codes: Ints,
    columns: Ints,
    weights: Floats,
    fields: Longs,
    places: Longs,
    sizes: Longs,
    in_runs: Bools,
    k: float,
    penalty: float,
    width: int,
    slack: float,
    most: int,
    order: Longs,
    tables: Longs,
    reached: float,
    tried: int,
) -> tuple[float, int, int]:
    """Improve attributes in their order, again and again, for about so many steps of work; return what it costs then,
    how many were tried since the last gain, and how often an attribute was.

    `tables[a, leaf]` is the block of a leaf of attribute a, and is changed. `codes[i]` are the leaves of tuple i, of
    which there are `weights[i]`; `columns` is the same turned. `places[a, leaf]` says where a leaf is among the values
    of the attribute, `sizes[a]` of them. So many of the attributes, the last ones, were tried since `reached` was.
    """
    tuples = len(codes)
    member, first, wholes = np.empty(tuples, np.int64), np.empty(tuples, np.int64), np.empty(tuples, np.int64)
    adds, span = places_of(tables)
    _add_up(codes, adds, wholes)
    done, work = 0, 0
    while tried < len(order) and work < most:
        a = order[done % len(order)]
        own = tables[a].copy()
        if span <= SPARSE * tuples:
            classes = _classes_without(columns[a], adds[a], wholes, int(span), member)
        else:
            tables[a] = 0
            classes = classes_of(codes, tables, fields, member, first)
            tables[a] = own
        counts = np.zeros((sizes[a], classes))
        for i in range(tuples):
            counts[places[a, columns[a, i]], member[i]] += weights[i]
        blocks = np.empty(sizes[a], np.int64)
        for leaf in range(len(own)):
            if places[a, leaf] >= 0:
                blocks[places[a, leaf]] = own[leaf]
        if in_runs[a]:
            cost = best_runs(counts, k, penalty, blocks)
        elif sizes[a] <= FEW:
            cost = best_sets(counts, k, penalty, blocks)
        else:
            affordable = max(1, min(width, EFFORT // (classes * sizes[a] ** 2)))
            cost = good_partition(counts, k, penalty, affordable, blocks)
        done += 1
        tried += 1
        work += tuples + 4 * classes * sizes[a] ** 2
        if cost < reached and (reached == np.inf or cost < reached - slack * abs(reached)):
            reached, tried = cost, 1
            for leaf in range(len(own)):
                if places[a, leaf] >= 0:
                    tables[a, leaf] = blocks[places[a, leaf]]
            adds, span = places_of(tables)
            _add_up(codes, adds, wholes)
    return reached, tried, done


@njit(cache=True, nogil=True)
def _add_up(codes: Ints, adds: Longs, wholes: Longs) -> None:
    """Fill `wholes[i]` with the place of tuple i among all combinations of blocks."""
    for i in range(len(codes)):
        place = 0
        for a in range(codes.shape[1]):
            place += adds[a, codes[i, a]]
        wholes[i] = place


@njit(cache=True, nogil=True)
def _classes_without(column: Ints, adds: Longs, wholes: Longs, span: int, member: Longs) -> int:
    """Number the classes of tuples under all attributes but one, whose leaves are `column`; return how many."""
    numbers, size = np.full(span, EMPTY, np.int32), 0
    for i in range(len(column)):
        place = wholes[i] - adds[column[i]]
        if numbers[place] == EMPTY:
            numbers[place] = size
            size += 1
        member[i] = numbers[place]
    return size


@njit(cache=True, nogil=True)
def best_runs(counts: Floats, k: float, penalty: float, blocks: Longs) -> float:
    """Fill `blocks[value]` with the number of its run in the cheapest partition into runs; return what that costs.

    `counts[value, class]` are rows of data. Of equals, a partition that merges less is taken.
    """
    values, classes = counts.shape
    least, end_of = np.zeros(values + 1), np.empty(values, np.int64)
    for start in range(values - 1, -1, -1):
        rows = np.zeros(classes)
        least[start] = np.inf
        for end in range(start + 1, values + 1):
            cost = _with_more(rows, counts, end - 1, k, min(penalty, MOST)) + least[end]
            if cost < least[start]:
                least[start], end_of[start] = cost, end
    start, number = 0, 0
    while start < values:
        blocks[start : end_of[start]] = number
        start, number = end_of[start], number + 1
    return least[0] if least[0] < MOST else np.inf


@njit(cache=True, nogil=True)
def best_sets(counts: Floats, k: float, penalty: float, blocks: Longs) -> float:
    """Fill `blocks[value]` with the number of its set in the cheapest partition into sets; return what that costs.

    Sets of values are written as bits, and each partition is found by the sets that have the lowest value left.
    """
    values, classes = counts.shape
    rows, costs = np.zeros((1 << values, classes)), np.zeros(1 << values)
    least, chosen = np.zeros(1 << values), np.zeros(1 << values, np.int64)
    value = 0
    for one in range(1, 1 << values):
        if one == 2 << value:
            value += 1
        rows[one] = rows[one ^ 1 << value]
        costs[one] = _with_more(rows[one], counts, value, k, min(penalty, MOST))
        lowest, least[one] = one & -one, np.inf
        others = rest = one ^ lowest
        while True:
            cost = costs[others | lowest] + least[rest ^ others]
            if cost <= least[one]:  # of equals, the smaller set
                least[one], chosen[one] = cost, others | lowest
            if others == 0:
                break
            others = (others - 1) & rest
    left, number = (1 << values) - 1, 0
    while left > 0:
        for value in range(values):
            if chosen[left] >> value & 1:
                blocks[value] = number
        left, number = left ^ chosen[left], number + 1
    return least[-1] if least[-1] < MOST else np.inf


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _with_more(rows: Floats, counts: Floats, value: int, k: float, penalty: float) -> float:
    """Add the rows of a value; return what they cost: each as many as there are in its class, or the penalty."""
    total = 0.0
    for c in range(len(rows)):
        number = rows[c] + counts[value, c]
        rows[c] = number
        total += number * (penalty if number < k else number)
    return total
