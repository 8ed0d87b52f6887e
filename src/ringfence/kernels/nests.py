"""What two attributes cost at least together, each block of the outer one choosing its own partition of the inner one.

A *box* is a block of the outer attribute and a run of values of the inner one. What it costs at least is added up over
classes of the other attributes, as `kernels.boxes` says. For each outer block, the cheapest partition of the inner
attribute is a shortest path over its joints; from what the blocks cost then, the outer attribute is solved.

Blocks may choose differently, though in a recoding they must agree. *Prices* make them: every outer value pays a price
for each inner joint that its block cuts. The prices of a joint add up to nothing over all values, so that a cut on
which all agree costs nothing more. Hence with any such prices the cheapest choice costs no more than the best recoding.
Prices are raised where more is cut than on average, and lowered where less is, in proportion to the rows there (a
subgradient, with Polyak's step); that drives the bound up. Held, Wolfe and Crowder, "Validation of subgradient
optimization", Mathematical Programming 6, 1974, is the classic on it.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

MERGED, CUT = 0, 1
"""What is decided of a joint; anything else: nothing."""

LANES = 8
"""How many numbers are worked on at once."""

PATIENCE, CALMER, LEAST_PACE = 4, 0.7, 0.02
"""After so many rounds without gain, steps become shorter by this factor; below the last, it is not worth the while."""

GAIN = 1e-4
"""A round that raises the bound by less, relatively, has gained nothing."""


@njit(cache=True, nogil=True)
def partial_sums(values: Floats, in_runs: bool) -> Floats:
    """Return sums over outer values such that the sum over any block is that of two of them (`parts` of the block).

    `values[v]` are those of outer value v. For runs, they are the sums up to each value, and these less than nothing.
    For sets, they are the sums over all sets of the first half of the values, and over all sets of the second.
    """
    size, width = values.shape
    if in_runs:
        sums = np.zeros((2 * size + 2, width))
        for value in range(size):
            sums[value + 1] = sums[value] + values[value]
        sums[size + 1 :] = -sums[: size + 1]
        return sums
    low = (size + 1) // 2
    sums = np.zeros(((1 << low) + (1 << (size - low)), width))
    for value in range(size):
        base, bit = (0, 1 << value) if value < low else (1 << low, 1 << (value - low))
        for part in range(bit):
            sums[base + bit + part] = sums[base + part] + values[value]
    return sums


@njit(cache=True, nogil=True)
def added_up(counts: Floats, inners: int) -> Floats:
    """Return `counts[class, cell]` as rows of data before each inner value, by outer value and class.

    There is always a last place more, with all rows. Places are filled up with that to a multiple of `LANES`.
    """
    classes, cells = counts.shape
    outers, last = cells // inners, (inners + LANES - 1) // LANES * LANES
    sums = np.zeros((outers, classes, last + 1))
    for outer in range(outers):
        for c in range(classes):
            total = 0.0
            for i in range(last):
                total += counts[c, outer * inners + i] if i < inners else 0.0
                sums[outer, c, i + 1] = total
    return sums


@njit(cache=True, nogil=True)
def box_costs(
    counts: Floats,
    covers: Floats,
    beyond: Floats,
    group: Longs,
    large: int,
    parts: Longs,
    k: float,
    penalty: float,
    inners: int,
    costs: Floats,
) -> None:
    """Fill `costs[run, block]` with the least that the rows of a box cost.

    `counts[part, class]` are rows of data as `added_up`, and over outer values as `partial_sums` has them; block b has
    those of `parts[b]`. `covers`, with `group[class]` in place of the class, are what it can at most be merged with,
    and `beyond` what any block can be, besides. Classes from `large` on are sums of small ones
    (`kernels.boxes.pool_small`). Runs are numbered by their first and then by their last value.

    Classes that have fewer than k rows in a block have so in all its boxes, so that all of a group can be taken
    together: each row costs k, or the penalty.
    """
    classes, groups, places = counts.shape[1], covers.shape[1], counts.shape[2]
    rows, reach, pool = np.empty(places), np.empty(beyond.shape), np.empty(beyond.shape)
    filled, total, most = np.empty(groups, np.bool_), np.empty((inners, places - 1)), min(penalty, 1e300)
    for block in range(len(parts)):
        one, two = parts[block]
        total[:] = 0.0
        pool[:], filled[:] = 0.0, False
        for g in range(groups):
            for i in range(places):
                reach[g, i] = covers[one, g, i] + covers[two, g, i] + beyond[g, i]
        for c in range(classes):
            number, g = counts[one, c, -1] + counts[two, c, -1], group[c]
            if c < large and number >= k:
                for i in range(places):
                    rows[i] = counts[one, c, i] + counts[two, c, i]
                _add_costs(rows, reach[g], k, most, True, total)
            elif number > 0:
                filled[g] = True
                for i in range(places):
                    pool[g, i] += counts[one, c, i] + counts[two, c, i]
        for g in range(groups):
            if filled[g]:
                _add_costs(pool[g], reach[g], k, most, False, total)
        run = 0
        for first in range(inners):
            for last in range(first, inners):
                cost = total[first, last]
                costs[run, block] = cost if cost < 1e300 else np.inf
                run += 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_costs(rows: Floats, reach: Floats, k: float, penalty: float, large: bool, total: Floats) -> None:
    """Add what the rows of a class cost to `total[first, last]` of each run: the loop that most of a proof is spent in.

    `rows` and `reach`, those of the cover, are as `added_up` has them. It is written so that several runs are done at
    once, with the same number of places for each: what it adds where the last value is before the first means nothing.
    Numbers of rows are whole, and their sums far below 2^53, so they may be added up in any order.
    """
    inners, places = total.shape
    fails = False
    for i in range(inners):
        fails |= reach[i + 1] - reach[i] < k
    for first in range(inners):
        sums, before, around = total[first], rows[first], reach[first]
        if not fails and large:
            for last in range(places):
                number = rows[last + 1] - before
                sums[last] += number * max(number, k)
        elif not fails:
            for last in range(places):
                sums[last] += (rows[last + 1] - before) * k
        else:
            for last in range(places):
                number = rows[last + 1] - before
                each = max(number, k) if large else k
                sums[last] += number * (penalty if reach[last + 1] - around < k else each)


@njit(cache=True, nogil=True)
def least_of(counts: Floats, large: int, k: float) -> float:
    """Return what rows cost at least, whatever they are merged with: `counts[outer value, class]`, as `added_up`."""
    total = 0.0
    for value in range(counts.shape[0]):
        for c in range(counts.shape[1]):
            for i in range(counts.shape[2] - 1):
                number = counts[value, c, i + 1] - counts[value, c, i]
                total += number * (number if number > k and c < large else k)
    return total


@njit(cache=True, nogil=True)
def cheapest_path(costs: Floats, prices: Floats, joints: Bytes, best: Floats, before: Longs) -> float:
    """Return what the cheapest partition into runs costs, with the prices of its cuts.

    Joints that are decided are as decided. `best[j]` becomes the cost of the values before j, and `before[j]` the first
    value of their last run.
    """
    size = len(joints) + 1
    best[0] = 0.0
    for end in range(1, size + 1):
        least, chosen = np.inf, end - 1
        for start in range(end - 1, -1, -1):
            if start == 0:
                cost = costs[end - 1]
            elif joints[start - 1] == MERGED:
                continue
            else:
                run = start * size - start * (start - 1) // 2 + end - 1 - start
                cost = best[start] + prices[start - 1] + costs[run]
            if cost < least:
                least, chosen = cost, start
            if start > 0 and joints[start - 1] == CUT:
                break
        best[end], before[end] = least, chosen
    return float(best[size])


@njit(cache=True, nogil=True)
def path_costs(costs: Floats, prices: Floats, joints: Bytes) -> Floats:
    """Return what `cheapest_path` does for each block, several blocks at once: `prices[joint, block]`."""
    size, blocks = len(joints) + 1, costs.shape[1]
    best = np.full((size + 1, blocks), np.inf)
    for end in range(1, size + 1):
        least = best[end]
        for start in range(end - 1, -1, -1):
            if start > 0 and joints[start - 1] == MERGED:
                continue
            run = costs[start * size - start * (start - 1) // 2 + end - 1 - start]
            if start == 0:
                for block in range(blocks):
                    least[block] = min(least[block], run[block])
            else:
                before, price = best[start], prices[start - 1]
                for block in range(blocks):
                    least[block] = min(least[block], before[block] + price[block] + run[block])
                if joints[start - 1] == CUT:
                    break
    whole: Floats = best[size]
    return whole


@njit(cache=True, nogil=True)
def cover_runs(ends: Longs, costs: Floats, size: int, chosen: Longs, through: Floats) -> float:
    """Return what the cheapest cover of `size` values by runs costs, `chosen[v]` being the run of value v in it.

    `ends[b]` are the first value of run b and the one after its last; runs are in the order of their first values.
    `through[b]` becomes the cost of the cheapest cover that has run b.
    """
    ahead, after, last = np.full(size + 1, np.inf), np.full(size + 1, np.inf), np.full(size + 1, -1)
    ahead[0] = after[size] = 0.0
    for b in range(len(ends)):
        start, end = ends[b]
        if ahead[start] + costs[b] < ahead[end]:
            ahead[end], last[end] = ahead[start] + costs[b], b
    for b in range(len(ends) - 1, -1, -1):
        start, end = ends[b]
        after[start] = min(after[start], costs[b] + after[end])
    for b in range(len(ends)):
        through[b] = ahead[ends[b, 0]] + costs[b] + after[ends[b, 1]]
    end = size
    while end > 0 and last[end] >= 0:
        b = last[end]
        chosen[ends[b, 0] : end] = b
        end = ends[b, 0]
    return float(ahead[size])


@njit(cache=True, nogil=True)
def cover_sets(masks: Longs, costs: Floats, size: int, chosen: Longs, through: Floats) -> float:
    """Return what the cheapest cover of `size` values by sets costs, `chosen[v]` being the set of value v in it.

    `masks[b]` are the values of set b in bits; sets are in the order of their lowest values. `through[b]` becomes the
    cost of the cheapest cover that has set b. What is left to cover always loses the set of its lowest value next, so
    that each cover is met once; only what can be left is looked at.
    """
    full = (1 << size) - 1
    firsts, place = np.zeros(size + 1, np.int64), np.full(full + 1, -1, np.int32)
    for b in range(len(masks)):
        place[masks[b]] = b
        firsts[_lowest(masks[b]) + 1] += 1
    firsts[:] = np.cumsum(firsts)
    ahead, after, last = np.full(full + 1, np.inf), np.full(full + 1, np.inf), np.full(full + 1, -1, np.int32)
    ahead[full] = after[0] = 0.0
    inside = np.empty(len(masks), np.int32)
    for left in range(full, 0, -1):
        if ahead[left] < np.inf:
            for b in inside[: _sets_inside(left, masks, firsts, place, inside)]:
                if ahead[left] + costs[b] < ahead[left ^ masks[b]]:
                    ahead[left ^ masks[b]], last[left ^ masks[b]] = ahead[left] + costs[b], b
    through[:] = np.inf
    for left in range(1, full + 1):
        if ahead[left] < np.inf:
            for b in inside[: _sets_inside(left, masks, firsts, place, inside)]:
                cost = costs[b] + after[left ^ masks[b]]
                after[left] = min(after[left], cost)
                through[b] = min(through[b], ahead[left] + cost)
    covered = 0
    while covered != full and last[covered] >= 0:
        b = last[covered]
        for value in range(size):
            if masks[b] >> value & 1:
                chosen[value] = b
        covered |= masks[b]
    return float(ahead[0])


@njit(cache=True, nogil=True)
def _sets_inside(left: int, masks: Longs, firsts: Longs, place: Ints, inside: Ints) -> int:
    """Find the sets inside what is left that have its lowest value; return how many.

    Where there are few sets with that value, they are looked through; else all there could be are looked up.
    """
    rest = left & (left - 1)
    lowest, found = left ^ rest, 0
    first, end = firsts[_lowest(left)], firsts[_lowest(left) + 1]
    if end - first < 1 << _values_in(rest):
        for b in range(first, end):
            if masks[b] & ~left == 0:
                inside[found] = b
                found += 1
        return found
    others = rest
    while True:
        if place[others | lowest] >= 0:
            inside[found] = place[others | lowest]
            found += 1
        if others == 0:
            return found
        others = (others - 1) & rest


@njit(cache=True, nogil=True)
def _lowest(mask: int) -> int:
    value = 0
    while not mask >> value & 1:
        value += 1
    return value


@njit(cache=True, nogil=True)
def _values_in(mask: int) -> int:
    values = 0
    while mask:
        mask &= mask - 1
        values += 1
    return values


@njit(cache=True, nogil=True)
def cover(
    costs: Floats,
    parts: Longs,
    masks: Longs,
    ends: Longs,
    joints: Bytes,
    prices: Floats,
    chosen: Longs,
    through: Floats,
) -> float:
    """Return the bound under some prices; blocks are runs if there are `ends`, else sets (see `cover_runs` and
    `cover_sets`)."""
    outers, inners = len(chosen), len(joints) + 1
    sums, price = partial_sums(prices, len(ends) > 0), np.empty((inners - 1, len(parts)))
    for block in range(len(parts)):
        one, two = parts[block]
        for j in range(inners - 1):
            price[j, block] = sums[one, j] + sums[two, j]
    whole = path_costs(costs, price, joints)
    if len(ends):
        return cover_runs(ends, whole, outers, chosen, through)
    return cover_sets(masks, whole, outers, chosen, through)


@njit(cache=True, nogil=True)
def _cuts_of(costs: Floats, joints: Bytes, prices: Floats, chosen: Longs, cuts: Floats) -> None:
    """Fill `cuts[v, j]` with 1 where the block that was chosen for outer value v cuts joint j, else with 0."""
    inners = len(joints) + 1
    best, before = np.empty(inners + 1), np.zeros(inners + 1, np.int64)
    cuts[:] = 0.0
    for value in range(len(chosen)):
        block, known, price = chosen[value], -1, np.zeros(inners - 1)
        for other in range(len(chosen)):
            if chosen[other] == block:
                price += prices[other]
                known = other if other < value else known
        if known >= 0:
            cuts[value] = cuts[known]
            continue
        cheapest_path(costs[:, block], price, joints, best, before)
        end = before[inners]
        while end > 0:
            cuts[value, end - 1] = 1.0
            end = before[end]


@njit(cache=True, nogil=True)
def ascend(
    costs: Floats,
    parts: Longs,
    masks: Longs,
    ends: Longs,
    joints: Bytes,
    weights: Floats,
    prices: Floats,
    target: float,
    rounds: int,
    chosen: Longs,
    cuts: Floats,
    through: Floats,
) -> tuple[float, bool]:
    """Return a lower bound, and whether all blocks agree, so that it is what a recoding costs.

    `costs` are those of `box_costs`, `weights[v]` the rows of outer value v. At most so many `rounds` are made, and no
    more once the `target` is reached. `prices` become the best ones met, and `chosen`, `cuts` and `through` what they
    lead to.
    """
    total, outers = weights.sum(), len(weights)
    best, best_prices, pace, idle, agree = -np.inf, prices.copy(), 1.0, 0, False
    difference = np.empty_like(prices)
    for _ in range(rounds):
        bound = cover(costs, parts, masks, ends, joints, prices, chosen, through)
        idle += 1
        if bound > best:
            idle = 0 if bound > best + GAIN * abs(best) else idle
            best = bound
            best_prices[:] = prices
        if bound >= target:
            break
        _cuts_of(costs, joints, prices, chosen, cuts)
        for j in range(len(joints)):
            mean = (weights * cuts[:, j]).sum() / total
            difference[:, j] = cuts[:, j] - mean
        norm = 0.0
        for value in range(outers):
            norm += weights[value] * (difference[value] ** 2).sum()
        if norm <= 1e-9 * total:
            best, agree = bound, True
            break
        if idle >= PATIENCE:
            pace, idle = pace * CALMER, 0
            if pace < LEAST_PACE:
                break
        ahead = target - bound if target < np.inf else 0.1 * abs(bound)
        for value in range(outers):
            prices[value] += pace * ahead / norm * weights[value] * difference[value]
    if not agree:
        prices[:] = best_prices
        best = cover(costs, parts, masks, ends, joints, prices, chosen, through)
        if best < target:
            _cuts_of(costs, joints, prices, chosen, cuts)
    astray = 0.0  # what prices do not quite add up to nothing by, rounded as they are
    for j in range(len(joints)):
        astray += abs(prices[:, j].sum())
    through -= astray
    return best - astray, agree
