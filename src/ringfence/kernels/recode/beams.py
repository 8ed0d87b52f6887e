"""A good partition of one attribute into sets, given those of all others: not proven to be the best, but found fast.

Values are taken in one by one, the commonest first. Every partition that is kept is gone on with in all ways: the next
value joins one of its sets, or is by itself. Then only the cheapest are kept, where a class is not suppressed yet that
reaches k with what is still to come: a beam search. The partition that there was before is always kept, too; so what is
found costs no more. Partitions have many sets in common, and what a set costs is computed once.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.compiling import njit

MOST = 1e300
"""What a suppressed row costs where none may be: too much, but a number, so that no row of it costs nothing."""


@njit(cache=True, nogil=True)
def good_partition(counts: Floats, k: float, penalty: float, width: int, blocks: Longs) -> float:
    """Improve a partition, `blocks[value]` being the number of a value's set, and return what it costs then.

    `counts[value, class]` are rows of data, the commonest values first; about `width` partitions are gone on with. Sets
    are numbered, `rows` being their rows of data: partition p has the sets `sets[p, : sizes[p]]`, and value v is in
    that at the place `places[p, v]`.
    """
    values, classes = counts.shape
    before, same = _by_first_value(blocks), 0
    rows, to_come = np.zeros((0, classes)), counts.sum(axis=0)
    sets, sizes, places = np.zeros((1, values), np.int64), np.zeros(1, np.int64), np.zeros((1, values), np.int64)
    totals = np.zeros(1)
    for value in range(values):
        to_come -= counts[value]
        amount, rows = len(rows), _with_value(rows, counts[value])
        costs = np.empty(len(rows))
        for s in range(len(rows)):
            costs[s] = _cost(rows, s, to_come, k, min(penalty, MOST))
        parents, joined, totals = _ways_on(sets, sizes, costs)
        kept = _cheapest(totals, width)
        way = int(np.flatnonzero((parents == same) & (joined == before[value]))[0])
        kept[way], same = True, int(kept[:way].sum())
        parents, joined, totals = parents[kept], joined[kept], totals[kept]
        sets, sizes, places = sets[parents], sizes[parents], places[parents]
        for p in range(len(joined)):
            place = joined[p]
            places[p, value] = place
            if place < sizes[p]:
                sets[p, place] += amount
            else:
                sets[p, place] = 2 * amount
                sizes[p] += 1
        rows = _used(rows, sets, sizes)
    best = np.argmin(totals)
    blocks[:] = places[best]
    return totals[best] if totals[best] < MOST else np.inf


@njit(cache=True, nogil=True)
def _by_first_value(blocks: Longs) -> Longs:
    """Number sets in the order of their first values, as they are met."""
    number, met, found = np.full(blocks.max() + 1, -1), 0, np.empty_like(blocks)
    for value in range(len(blocks)):
        if number[blocks[value]] < 0:
            number[blocks[value]] = met
            met += 1
        found[value] = number[blocks[value]]
    return found


@njit(cache=True, nogil=True)
def _with_value(rows: Floats, more: Floats) -> Floats:
    """Return the rows of data of sets without a value, then with it, then of the value by itself."""
    amount = len(rows)
    grown = np.empty((2 * amount + 1, len(more)))
    for s in range(amount):
        for c in range(len(more)):
            grown[s, c], grown[amount + s, c] = rows[s, c], rows[s, c] + more[c]
    grown[2 * amount] = more
    return grown


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _cost(rows: Floats, place: int, to_come: Floats, k: float, penalty: float) -> float:
    """Return what a set costs at least: each row k, or as many as there are in its class, or the penalty."""
    total = 0.0
    for c in range(len(to_come)):
        number = rows[place, c]
        total += number * (penalty if number + to_come[c] < k else max(number, k))
    return total


@njit(cache=True, nogil=True)
def _ways_on(sets: Longs, sizes: Longs, costs: Floats) -> tuple[Longs, Longs, Floats]:
    """Return all ways to go on with partitions: which, the place of the set that the value joins, and the cost.

    `costs` are those of sets, numbered as in `_with_value`.
    """
    ways, amount = (sizes + 1).sum(), len(costs) // 2
    parents, joined, totals, way = np.empty(ways, np.int64), np.empty(ways, np.int64), np.empty(ways), 0
    for p in range(len(sizes)):
        before = 0.0
        for place in range(sizes[p]):
            before += costs[sets[p, place]]
        for place in range(sizes[p] + 1):
            rest = before
            if place < sizes[p]:
                rest -= costs[sets[p, place]]
                if before >= MOST:  # of which nothing can be taken away without loss
                    rest = 0.0
                    for other in range(sizes[p]):
                        rest += costs[sets[p, other]] if other != place else 0.0
            one = sets[p, place] + amount if place < sizes[p] else 2 * amount
            parents[way], joined[way], totals[way] = p, place, rest + costs[one]
            way += 1
    return parents, joined, totals


@njit(cache=True, nogil=True)
def _cheapest(totals: Floats, width: int) -> Bools:
    """Return which ways are the cheapest; of equals, the first."""
    if len(totals) <= width:
        return np.ones(len(totals), np.bool_)
    limit = np.partition(totals, width - 1)[width - 1]
    kept: Bools = totals < limit
    for way in np.flatnonzero(totals == limit)[: width - kept.sum()]:
        kept[way] = True
    return kept


@njit(cache=True, nogil=True)
def _used(rows: Floats, sets: Longs, sizes: Longs) -> Floats:
    """Return the rows of data of sets that are used, and number these anew."""
    number, used, amount = np.full(len(rows), -1), np.empty(len(rows), np.int64), 0
    for p in range(len(sizes)):
        for place in range(sizes[p]):
            s = sets[p, place]
            if number[s] < 0:
                number[s], used[amount] = amount, s
                amount += 1
            sets[p, place] = number[s]
    return rows[used[:amount]]
