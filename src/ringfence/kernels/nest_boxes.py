"""What a box of two attributes costs at least: a block of the outer one, and one of the inner one.

It is added up over classes of the other attributes, as `kernels.boxes` says: most of the time of a proof is spent here.
Rows of data are numbers in *places* of the inner attribute, by outer value and class. For runs, place i has the rows
before value i, so that a run has the difference of two places; for sets, place i has those of value i.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from ringfence.kernels.nest_blocks import Blocks

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LANES = 8
"""How many numbers are worked on at once."""

SPARSE = 6
"""Where fewer than one in so many sets is live, they are added up one by one instead of all together."""

MOST = 1e300
"""Costs from this on are taken as infinite: where nothing may be suppressed, a row that must be costs so much."""


@njit(cache=True, nogil=True)
def in_places(counts: Floats, inners: int, size: int, in_runs: bool, rest: bool) -> Floats:
    """Return `counts[class, cell]` by outer value, class and place of the first `size` inner values.

    There is a last place more, with all rows of these values, or else with the `rest`, those of all other values. For
    runs, places are filled up to a multiple of `LANES`.
    """
    classes, cells = counts.shape
    outers, last = cells // inners, (size + LANES - 1) // LANES * LANES if in_runs else size
    placed = np.zeros((outers, classes, last + 1))
    for outer in range(outers):
        for c in range(classes):
            total = 0.0
            for i in range(last):
                number = counts[c, outer * inners + i] if i < size else 0.0
                if in_runs:
                    placed[outer, c, i] = total
                else:
                    placed[outer, c, i] = number
                total += number
            if rest:
                total = 0.0
                for i in range(size, inners):
                    total += counts[c, outer * inners + i]
            placed[outer, c, last] = total
    return placed


@njit(cache=True, nogil=True)
def least_of(counts: Floats, inners: int, outer_size: int, inner_size: int, large: int, k: float) -> float:
    """Return what rows cost at least, whatever they are merged with, that are not in the first values of both."""
    total = 0.0
    for c in range(counts.shape[0]):
        for cell in range(counts.shape[1]):
            if cell >= outer_size * inners or cell % inners >= inner_size:
                number = counts[c, cell]
                total += number * (number if number > k and c < large else k)
    return total


@njit(cache=True, nogil=True)
def box_costs(
    counts: Floats,
    covers: Floats,
    beyond: Floats,
    group: Longs,
    large: int,
    parts: Longs,
    inner: Blocks,
    live: Flags,
    k: float,
    penalty: float,
    costs: Floats,
) -> None:
    """Fill `costs[inner block, outer block]` with the least that the rows of a box cost, infinite if it is not `live`.

    `counts[part, class]` are rows of data `in_places`, and over outer values as `partial_sums` has them; outer block b
    has those of `parts[b]`. `covers`, with `group[class]` in place of the class, are what it can at most be merged
    with, and `beyond` what any block can be, besides: values of the outer attribute that are not taken in. Those of the
    inner one are in their last place, the `rest`. Classes from `large` on are sums of small ones
    (`kernels.boxes.pool_small`).

    Classes that have fewer than k rows in a block have so in all its boxes, so that all of a group can be taken
    together: each row costs k, or the penalty.
    """
    places, size, most = counts.shape[2], inner.size, min(penalty, MOST)
    rows, reach = np.empty((counts.shape[1] + len(beyond), places)), np.empty(beyond.shape)
    groups, wanted = np.empty(len(rows), np.int64), np.empty(len(costs), np.int64)
    in_runs = len(inner.ends) > 0
    runs, room = np.empty((size, places - 1)), 1 if in_runs else 1 << size
    sets, tables = np.empty(room), np.empty((3, room + 1))
    for block in range(len(parts)):
        one, two = parts[block]
        for g in range(len(beyond)):
            for i in range(places):
                reach[g, i] = covers[one, g, i] + covers[two, g, i] + beyond[g, i]
        alone, met = _rows_of(counts[one], counts[two], group, len(beyond), large, k, rows, groups)
        amount = _find(live[:, block], wanted)
        costs[:, block] = np.inf
        if in_runs:
            runs[:] = 0.0
            for c in range(met):
                _add_runs(rows[c], reach[groups[c]], k, most, c < alone, runs)
            for s in wanted[:amount]:
                cost = runs[inner.ends[s, 0], inner.ends[s, 1] - 1]
                costs[s, block] = cost if cost < MOST else np.inf
        else:
            sets[:], some = 0.0, amount if amount * SPARSE < room else 0
            for c in range(met):
                _add_sets(rows[c], reach[groups[c]], k, most, c < alone, inner, wanted, some, tables, sets)
            for i in range(amount):
                cost = sets[i] if some else sets[inner.masks[wanted[i]]]
                costs[wanted[i], block] = cost if cost < MOST else np.inf


@njit(cache=True, nogil=True)
def _rows_of(
    one: Floats, two: Floats, group: Longs, amount: int, large: int, k: float, rows: Floats, groups: Longs
) -> tuple[int, int]:
    """Find the rows of an outer block: first of classes that have k or more, then of all others, by group.

    Return how many there are of the first, and of both.
    """
    classes, places = one.shape
    alone = 0
    for c in range(classes):
        if c < large and one[c, -1] + two[c, -1] >= k:
            groups[alone] = group[c]
            for i in range(places):
                rows[alone, i] = one[c, i] + two[c, i]
            alone += 1
    place = np.full(amount, -1)
    met = alone
    for c in range(classes):
        number, g = one[c, -1] + two[c, -1], group[c]
        if number > 0 and (c >= large or number < k):
            if place[g] < 0:
                place[g], groups[met], rows[met] = met, g, 0.0
                met += 1
            for i in range(places):
                rows[place[g], i] += one[c, i] + two[c, i]
    return alone, met


@njit(cache=True, nogil=True)
def _find(flags: Flags, places: Longs) -> int:
    """Find the places of flags that are set; return how many."""
    found = 0
    for i in range(len(flags)):
        if flags[i]:
            places[found] = i
            found += 1
    return found


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_runs(rows: Floats, reach: Floats, k: float, penalty: float, large: bool, sums: Floats) -> None:
    """Add what a class costs to `sums[first, last]` of each run.

    Several runs are done at once, with the same number of places for each: what is added where the last value is before
    the first means nothing. Numbers of rows are whole, and their sums far below 2^53, so they may be added up in any
    order.
    """
    inners, places = sums.shape
    fails = False
    for i in range(inners):
        fails |= reach[i + 1] - reach[i] < k
    for first in range(inners):
        total, before, around = sums[first], rows[first], reach[first]
        if not fails and large:
            for last in range(places):
                number = rows[last + 1] - before
                total[last] += number * max(number, k)
        elif not fails:
            for last in range(places):
                total[last] += (rows[last + 1] - before) * k
        else:
            for last in range(places):
                number = rows[last + 1] - before
                each = max(number, k) if large else k
                total[last] += number * (penalty if reach[last + 1] - around < k else each)


@njit(cache=True, nogil=True)
def _add_sets(
    rows: Floats,
    reach: Floats,
    k: float,
    penalty: float,
    large: bool,
    inner: Blocks,
    wanted: Longs,
    some: int,
    tables: Floats,
    sums: Floats,
) -> None:
    """Add what a class costs to the `sums` of all sets, by their masks, or of `some`, if few are wanted, one by one."""
    size = inner.size
    fails, amount = False, some if some else 1 << size
    for i in range(size):
        fails |= reach[i] + reach[size] < k
    for place in range(2 if fails else 1):
        values, start = (reach, reach[size]) if place else (rows, 0.0)
        if some:
            _some_sets(values, start, inner, wanted[:some], tables[2], tables[place])
        else:
            _all_sets(values, start, size, tables[place])
    _add_up(tables[0], tables[1], fails, k, penalty, large, sums[:amount])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_up(rows: Floats, reach: Floats, fails: bool, k: float, penalty: float, large: bool, sums: Floats) -> None:
    """Add what a class costs to the sums of sets, each of which has so many rows of it and of its cover."""
    if not fails and large:
        for s in range(len(sums)):
            number = rows[s]
            sums[s] += number * max(number, k)
    elif not fails:
        for s in range(len(sums)):
            sums[s] += rows[s] * k
    else:
        for s in range(len(sums)):
            number = rows[s]
            each = max(number, k) if large else k
            sums[s] += number * (penalty if reach[s] < k else each)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _all_sets(values: Floats, start: float, size: int, sums: Floats) -> None:
    """Fill `sums[mask]` with the sum of the values of a set, from `start` on."""
    sums[0] = start
    for value in range(size):
        bit = 1 << value
        _add_to_each(sums[:bit], values[value], sums[bit : 2 * bit])


@njit(cache=True, nogil=True)
def _add_to_each(before: Floats, more: float, after: Floats) -> None:
    for i in range(len(before)):  # apart, so that several can be done at once
        after[i] = before[i] + more


@njit(cache=True, nogil=True)
def _some_sets(values: Floats, start: float, inner: Blocks, wanted: Longs, halves: Floats, sums: Floats) -> None:
    """Fill `sums[i]` with the sum of the values of set `wanted[i]`, from `start` on, as `partial_sums` does."""
    low = (inner.size + 1) // 2
    _all_sets(values, start, low, halves)
    _all_sets(values[low:], 0.0, inner.size - low, halves[1 << low :])
    for i in range(len(wanted)):
        sums[i] = halves[inner.parts[wanted[i], 0]] + halves[inner.parts[wanted[i], 1]]
