"""What a box of two attributes costs at least: a block of the outer one, and one of the inner one.

It is added up over classes of the other attributes, as `kernels.recode.block_costs` says: a good part of a proof is
spent here. So classes are what is worked on side by side: what they have in a block is the sum of two rows of a table,
whether blocks are runs or sets (`partial_sums`), and only live boxes are looked at."""

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.block_graphs import Blocks, fill_partial_sums, partial_sums, parts_among

MOST = 1e300
"""Costs from this on are taken as infinite: where nothing may be suppressed, a row that must be costs so much."""


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
    group: Longs,
    large: int,
    outer: Blocks,
    inner: Blocks,
    live: Bools,
    k: float,
    penalty: float,
    costs: Floats,
) -> None:
    """Fill `costs[outer block, inner block]` with the least that the rows of a box cost, infinite if it is not `live`.

    `counts[outer value, inner value, class]` are rows of data, and `covers`, with `group[class]` in place of the class,
    what they can at most be merged with. Values that are not taken in can be merged with any block. Classes from
    `large` on are sums of small ones (`kernels.recode.block_costs.pool_small`).

    Classes that have fewer than k rows in an outer block have so in all its boxes: each of their rows costs k, or the
    penalty where the cover fails. Hence those of a group can be taken together, and those of all groups whose covers
    fail in no box. So there are *safe* classes, with k rows or more and such a cover; *risky* ones, with another cover;
    *small* ones with another cover, by group; and all others, which are *pooled*.
    """
    size, in_runs, most = inner.size, len(inner.ends) > 0, min(penalty, MOST)
    counted, covered = _summed(counts, size, outer), _summed(covers, size, outer)
    beyond = _with_rest(covers[outer.size :].sum(axis=0), size)
    totals, everything = counted[:, :size].sum(axis=1), counted[:, :size].sum(axis=2)
    classes, groups, parts = counts.shape[2], covers.shape[2], parts_among(size, in_runs)
    reach, place = np.empty((size + 1, groups)), np.empty(groups, np.int64)
    wanted = np.empty(len(inner.parts), np.int64)
    ids, values = np.empty((3, classes), np.int64), np.empty((size, max(classes, groups)))
    safe, risky, small = np.empty((parts, classes)), np.empty((parts, classes)), np.empty((parts, groups))
    pooled, pooled_values = np.empty((parts, 1)), np.empty((size, 1))
    around_risky, around_small = np.empty((parts, classes)), np.empty((parts, groups))
    risky_needs, small_needs = np.empty(classes), np.empty(groups)
    costs[:] = np.inf
    for block in range(len(outer.parts)):
        one, two = outer.parts[block]
        failing = _reach_of(covered[one], covered[two], beyond, k, reach, place)
        safes, riskies, smalls = _sorted_out(totals[one] + totals[two], group, place, large, k, ids)
        for i in range(size):
            pooled_values[i, 0] = everything[one, i] + everything[two, i]
            pooled_values[i, 0] -= _gathered(counted, one, two, i, ids[0], safes, values)
        fill_partial_sums(values, safes, in_runs, safe)
        if failing:
            for i in range(size):
                pooled_values[i, 0] -= _gathered(counted, one, two, i, ids[1], riskies, values)
            fill_partial_sums(values, riskies, in_runs, risky)
            _needs_of(reach, group[ids[1, :riskies]], k, values, risky_needs)
            fill_partial_sums(values, riskies, in_runs, around_risky)
            values[:, :failing] = 0.0
            for j in range(smalls):
                for i in range(size):
                    number = counted[one, i, ids[2, j]] + counted[two, i, ids[2, j]]
                    values[i, place[group[ids[2, j]]]] += number
                    pooled_values[i, 0] -= number
            fill_partial_sums(values, failing, in_runs, small)
            _needs_of(reach, np.flatnonzero(place >= 0), k, values, small_needs)
            fill_partial_sums(values, failing, in_runs, around_small)
        fill_partial_sums(pooled_values, 1, in_runs, pooled)
        for s in wanted[: _find(live[block], wanted)]:
            a, b = inner.parts[s]
            cost = k * (pooled[a, 0] + pooled[b, 0]) + _safe_cost(safe, a, b, safes, k)
            if failing:
                cost += _risky_cost(risky, around_risky, risky_needs, a, b, riskies, k, True, most)
                cost += _risky_cost(small, around_small, small_needs, a, b, failing, k, False, most)
            costs[block, s] = cost if cost < MOST else np.inf


@njit(cache=True, nogil=True)
def _summed(rows: Floats, size: int, outer: Blocks) -> Floats:
    """Return partial sums over the outer values that are taken in, by inner value and class, and of the rest."""
    placed = np.empty((outer.size, (size + 1) * rows.shape[2]))
    for value in range(outer.size):
        placed[value] = _with_rest(rows[value], size).reshape(-1)
    sums = partial_sums(placed, len(outer.ends) > 0)
    return sums.reshape((len(sums), size + 1, rows.shape[2]))


@njit(cache=True, nogil=True)
def _with_rest(rows: Floats, size: int) -> Floats:
    """Return rows of the inner values that are taken in, and of the others together."""
    with_rest = np.zeros((size + 1, rows.shape[1]))
    with_rest[:size] = rows[:size]
    for i in range(size, len(rows)):
        with_rest[size] += rows[i]
    return with_rest


@njit(cache=True, nogil=True)
def _reach_of(one: Floats, two: Floats, beyond: Floats, k: float, reach: Floats, place: Longs) -> int:
    """Find what covers have of an outer block by inner value, and of the rest, and which may fail; return how many.

    `place[group]` numbers those, the others have none. A cover that does not fail with a single inner value does not
    with any block.
    """
    reach[:] = one + two + beyond
    failing = 0
    for g in range(len(place)):
        fails = False
        for i in range(len(reach) - 1):
            fails |= reach[i, g] + reach[-1, g] < k
        place[g] = failing if fails else -1
        failing += fails
    return failing


@njit(cache=True, nogil=True)
def _sorted_out(total: Floats, group: Longs, place: Longs, large: int, k: float, ids: Longs) -> tuple[int, int, int]:
    """Find the safe classes, the risky ones, and the small ones that are not pooled; return how many there are."""
    safes = riskies = smalls = 0
    for c in range(len(total)):
        fails = place[group[c]] >= 0
        if c < large and total[c] >= k:
            if fails:
                ids[1, riskies] = c
                riskies += 1
            else:
                ids[0, safes] = c
                safes += 1
        elif fails and total[c] > 0:
            ids[2, smalls] = c
            smalls += 1
    return safes, riskies, smalls


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _gathered(counted: Floats, one: int, two: int, value: int, ids: Longs, amount: int, values: Floats) -> float:
    """Fill `values[value]` with the rows that some classes have of it; return how many they are."""
    total = 0.0
    for j in range(amount):
        number = counted[one, value, ids[j]] + counted[two, value, ids[j]]
        values[value, j] = number
        total += number
    return total


@njit(cache=True, nogil=True)
def _needs_of(reach: Floats, groups: Longs, k: float, values: Floats, needs: Floats) -> None:
    """Fill `values` with what covers have by inner value, and `needs` with what they need, beside the rest."""
    size = len(reach) - 1
    for j in range(len(groups)):
        needs[j] = k - reach[size, groups[j]]
        for i in range(size):
            values[i, j] = reach[i, groups[j]]


@njit(cache=True, nogil=True)
def _find(flags: Bools, places: Longs) -> int:
    """Find the places of flags that are set; return how many."""
    found = 0
    for i in range(len(flags)):
        if flags[i]:
            places[found] = i
            found += 1
    return found


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _safe_cost(sums: Floats, a: int, b: int, amount: int, k: float) -> float:
    """Return what classes cost whose rows are the sums of two parts.

    Numbers of rows are whole, and their sums far below 2^53, so they may be added up in any order. Indices are those of
    the whole table, as parts of it would be counted as references, which takes longer than the sum.
    """
    total = 0.0
    for c in range(amount):
        number = sums[a, c] + sums[b, c]
        total += number * max(number, k)
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _risky_cost(
    sums: Floats, around: Floats, needs: Floats, a: int, b: int, amount: int, k: float, large: bool, penalty: float
) -> float:
    """Return what classes cost, large or small ones, that are suppressed where their covers have less than needed."""
    total = 0.0
    for c in range(amount):
        number = sums[a, c] + sums[b, c]
        each = max(number, k) if large else k
        total += number * (penalty if around[a, c] + around[b, c] < needs[c] else each)
    return total
