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
Bytes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

MERGED, CUT = 0, 1
"""What is decided of a joint; anything else: nothing."""

PATIENCE, CALMER, LEAST_PACE = 4, 0.7, 0.02
"""After so many rounds without gain, steps become shorter by this factor; below the last, it is not worth the while."""

GAIN = 1e-4
"""A round that raises the bound by less, relatively, has gained nothing."""


@njit(cache=True, nogil=True)
def box_costs(
    counts: Floats,
    covers: Floats,
    group: Longs,
    large: int,
    steps: Longs,
    k: float,
    penalty: float,
    costs: Floats,
) -> None:
    """Fill `costs[block, run]` with the least that the rows of a box cost.

    `counts[outer value, inner value, class]` are rows of data; `covers`, with `group[class]` in place of the class,
    what it can at most be merged with. Classes from `large` on are sums of small ones (`kernels.boxes.pool_small`).
    Blocks are built up in `steps` (depth, outer value): a block is the value and what was last built at the depth
    above. Runs are numbered by their first and then by their last value.

    Classes that have fewer than k rows in a block have so in all its boxes, so that all of a group can be taken
    together: each row costs k, or the penalty.
    """
    _, inners, classes = counts.shape
    groups = covers.shape[2]
    depths = steps[:, 0].max() + 1
    here, reach = np.zeros((depths + 1, inners, classes)), np.zeros((depths + 1, inners, groups))
    big, around = np.zeros((inners, classes)), np.zeros((inners, classes))
    pool, pooled, beside = np.zeros((inners, groups)), np.zeros((inners, groups)), np.zeros((inners, groups))
    totals, chosen, filled = np.zeros(classes), np.zeros(classes, np.int64), np.zeros(groups, np.int64)
    for block in range(len(steps)):
        depth, value = steps[block]
        rows, cover = here[depth + 1], reach[depth + 1]
        rows[:], cover[:] = counts[value], covers[value]
        if depth > 0:
            rows += here[depth]
            cover += reach[depth]
        totals[:] = 0.0
        for i in range(inners):
            totals += rows[i]
        pool[:] = 0.0
        bigs, pools = 0, 0
        for c in range(classes):
            if c < large and totals[c] >= k:
                chosen[bigs] = c
                bigs += 1
            elif totals[c] > 0:
                for i in range(inners):
                    pool[i, group[c]] += rows[i, c]
        for g in range(groups):
            if pool[:, g].any():
                filled[pools] = g
                pools += 1
        for i in range(inners):
            for place in range(bigs):
                big[i, place], around[i, place] = rows[i, chosen[place]], cover[i, group[chosen[place]]]
            for place in range(pools):
                pooled[i, place], beside[i, place] = pool[i, filled[place]], cover[i, filled[place]]
        _run_costs(big, around, bigs, pooled, beside, pools, k, min(penalty, 1e300), costs[block])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _run_costs(
    big: Floats,
    around: Floats,
    bigs: int,
    pooled: Floats,
    beside: Floats,
    pools: int,
    k: float,
    penalty: float,
    costs: Floats,
) -> None:
    """Fill in what the runs of a block cost: the loop that most of a proof is spent in.

    It is written so that several classes are done at once. Numbers of rows are whole, and their sums far below 2^53, so
    they may be added up in any order.
    """
    number, reach, rest, reached = np.zeros(bigs), np.zeros(bigs), np.zeros(pools), np.zeros(pools)
    run = 0
    for start in range(len(big)):
        number[:], reach[:], rest[:], reached[:] = 0.0, 0.0, 0.0, 0.0
        for end in range(start, len(big)):
            total, few, lost = 0.0, 0.0, 0.0
            for c in range(bigs):
                x, y = number[c] + big[end, c], reach[c] + around[end, c]
                number[c], reach[c] = x, y
                total += x * (penalty if y < k else (x if x > k else k))
            for c in range(pools):
                x, y = rest[c] + pooled[end, c], reached[c] + beside[end, c]
                rest[c], reached[c] = x, y
                few += x
                lost += x if y < k else 0.0
            total += (few - lost) * k + lost * penalty
            costs[run] = total if total < 1e300 else np.inf
            run += 1


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
def cover_sets(masks: Longs, firsts: Longs, costs: Floats, size: int, chosen: Longs, through: Floats) -> float:
    """Return what the cheapest cover of `size` values by sets costs, `chosen[v]` being the set of value v in it.

    `masks[b]` are the values of set b in bits; the sets with the lowest value v are those from `firsts[v]` to
    `firsts[v + 1]`. `through[b]` becomes the cost of the cheapest cover that has set b. What is left to cover always
    loses the set of its lowest value next, so that each cover is met once; only what can be left is looked at.
    """
    full = (1 << size) - 1
    lowest = np.zeros(full + 1, np.int64)
    for left in range(1, full + 1):
        lowest[left] = 0 if left & 1 else lowest[left >> 1] + 1
    ahead, after, last = np.full(full + 1, np.inf), np.full(full + 1, np.inf), np.full(full + 1, -1, np.int32)
    ahead[full] = after[0] = 0.0
    for left in range(full, 0, -1):
        if ahead[left] < np.inf:
            for b in range(firsts[lowest[left]], firsts[lowest[left] + 1]):
                if masks[b] & ~left == 0 and ahead[left] + costs[b] < ahead[left ^ masks[b]]:
                    ahead[left ^ masks[b]], last[left ^ masks[b]] = ahead[left] + costs[b], b
    through[:] = np.inf
    for left in range(1, full + 1):
        if ahead[left] < np.inf:
            for b in range(firsts[lowest[left]], firsts[lowest[left] + 1]):
                if masks[b] & ~left == 0:
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
def cover(
    costs: Floats,
    steps: Longs,
    masks: Longs,
    firsts: Longs,
    ends: Longs,
    joints: Bytes,
    prices: Floats,
    chosen: Longs,
    through: Floats,
) -> float:
    """Return the bound under some prices; blocks are runs if there are `ends`, else sets (see `cover_runs` and
    `cover_sets`)."""
    outers, inners = len(chosen), len(joints) + 1
    depths = steps[:, 0].max() + 1
    sums, whole = np.zeros((depths + 1, inners - 1)), np.empty(len(steps))
    best, before = np.empty(inners + 1), np.zeros(inners + 1, np.int64)
    for block in range(len(steps)):
        depth, value = steps[block]
        sums[depth + 1] = sums[depth] + prices[value]
        whole[block] = cheapest_path(costs[block], sums[depth + 1], joints, best, before)
    if len(ends):
        return cover_runs(ends, whole, outers, chosen, through)
    return cover_sets(masks, firsts, whole, outers, chosen, through)


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
        cheapest_path(costs[block], price, joints, best, before)
        end = before[inners]
        while end > 0:
            cuts[value, end - 1] = 1.0
            end = before[end]


@njit(cache=True, nogil=True)
def ascend(
    costs: Floats,
    steps: Longs,
    masks: Longs,
    firsts: Longs,
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
    best, best_prices, pace, idle = -np.inf, prices.copy(), 1.0, 0
    difference = np.empty_like(prices)
    for _ in range(rounds):
        bound = cover(costs, steps, masks, firsts, ends, joints, prices, chosen, through)
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
            return bound, True
        if idle >= PATIENCE:
            pace, idle = pace * CALMER, 0
            if pace < LEAST_PACE:
                break
        ahead = target - bound if target < np.inf else 0.1 * abs(bound)
        for value in range(outers):
            prices[value] += pace * ahead / norm * weights[value] * difference[value]
    prices[:] = best_prices
    best = cover(costs, steps, masks, firsts, ends, joints, prices, chosen, through)
    if best < target:
        _cuts_of(costs, joints, prices, chosen, cuts)
    astray = 0.0  # what prices do not quite add up to nothing by, rounded as they are
    for j in range(len(joints)):
        astray += abs(prices[:, j].sum())
    through -= astray
    return best - astray, False
