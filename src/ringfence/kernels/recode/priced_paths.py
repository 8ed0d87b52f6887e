"""The cheapest partition of an attribute into blocks, at a price for each row that is suppressed.

Every block comes with what it costs and how many rows it suppresses. Of equals, what merges less is taken.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.compiling import njit

CLOSE = 1e-12
NOBODY = -1


@njit(cache=True, nogil=True)
def block_costs(
    sums: Floats, rows: Floats, tallies: Floats, flat: Floats, by_tally: Floats, costs: Floats, gone: Floats
) -> None:
    """Fill in what blocks cost and how many rows they suppress, from what they lose by these (`failing_runs`).

    A row that is published costs `flat` less `by_tally` times its tally. `rows` and `tallies` are those of the block.
    """
    for i in range(len(costs)):
        gone[i] = sums[i, 1]
        costs[i] = sums[i, 0] + flat[i] * (rows[i] - gone[i]) - by_tally[i] * (tallies[i] - sums[i, 2])


@njit(cache=True, nogil=True)
def cheapest_runs(  # noqa: PLR0912  a path there and back
    starts: Longs, sizes: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools,
    costs: Floats, gone: Floats, price: float, chosen: Longs,
) -> tuple[float, float]:  # fmt: skip
    """Find the cheapest partition of a tree of branches; return what it costs, without the price, and suppresses.

    Branches come with children before their parents. Branch b has the children from `starts[b]` on; child c is a place
    if `kinds[c]` is NOBODY, else that branch; its places are from `first[c]` to `last[c]`. Runs of its children are at
    `offsets[b] + i * (sizes[b] + 1) + j`; if it does not merge any, there are none. `chosen[p]` becomes the run that
    place p is in.
    """
    branches = len(sizes)
    best, best_cost, best_gone = np.zeros(branches), np.zeros(branches), np.zeros(branches)
    choice = np.zeros(starts[branches] + branches, np.int64)
    for b in range(branches):
        start, size, width = starts[b], sizes[b], sizes[b] + 1
        if not merges[b]:
            for i in range(size):
                c = kinds[start + i]
                best[b] += best[c]
                best_cost[b] += best_cost[c]
                best_gone[b] += best_gone[c]
            continue
        reached, cost, lost = np.zeros(width), np.zeros(width), np.zeros(width)
        for end in range(1, width):
            alone = kinds[start + end - 1]
            run = offsets[b] + (end - 1) * width + end - 1
            own_cost = costs[run] if alone == NOBODY else best_cost[alone]
            own_gone = gone[run] if alone == NOBODY else best_gone[alone]
            least, where = reached[end - 1] + own_cost + price * own_gone, end - 1
            for begin in range(end - 2, -1, -1):
                run = offsets[b] + begin * width + end - 1
                sum_ = reached[begin] + costs[run] + price * gone[run]
                if sum_ < least - CLOSE * abs(least):
                    least, where = sum_, begin
            if where < end - 1:
                run = offsets[b] + where * width + end - 1
                own_cost, own_gone = costs[run], gone[run]
            reached[end], choice[start + b + end] = least, where
            cost[end], lost[end] = cost[where] + own_cost, lost[where] + own_gone
        best[b], best_cost[b], best_gone[b] = reached[size], cost[size], lost[size]
    live = np.zeros(branches, np.bool_)
    live[branches - 1] = True
    for b in range(branches - 1, -1, -1):
        if not live[b]:
            continue
        start, end = starts[b], sizes[b]
        if not merges[b]:
            for i in range(end):
                live[kinds[start + i]] = True
            continue
        while end > 0:
            begin = choice[start + b + end]
            if begin == end - 1 and kinds[start + begin] != NOBODY:
                live[kinds[start + begin]] = True
            else:
                run = offsets[b] + begin * (sizes[b] + 1) + end - 1
                chosen[first[start + begin] : last[start + end - 1] + 1] = run
            end = begin
    return best_cost[branches - 1], best_gone[branches - 1]


@njit(cache=True, nogil=True)
def cheapest_cut(
    starts: Longs, kinds: Longs, first: Longs, last: Longs, merges: Bools, places: int, costs: Floats, gone: Floats,
    price: float, chosen: Longs,
) -> tuple[float, float]:  # fmt: skip
    """Find the cheapest cut through a tree of branches; return what it costs, without the price, and suppresses.

    As `cheapest_runs`, but a branch is one block, of number `places` + b, or its children are on their own; place p
    alone is block p. `first[c]` and `last[c]` are the places below child c. `chosen[p]` becomes the block of place p.
    """
    branches = len(merges)
    best_cost, best_gone = np.zeros(branches), np.zeros(branches)
    whole = np.zeros(branches, np.bool_)
    for b in range(branches):
        cost, lost = 0.0, 0.0
        for c in range(starts[b], starts[b + 1]):
            below = kinds[c]
            cost += costs[first[c]] if below == NOBODY else best_cost[below]
            lost += gone[first[c]] if below == NOBODY else best_gone[below]
        together = costs[places + b] + price * gone[places + b]
        if merges[b] and together < (cost + price * lost) - CLOSE * abs(cost + price * lost):
            whole[b], cost, lost = True, costs[places + b], gone[places + b]
        best_cost[b], best_gone[b] = cost, lost
    live = np.zeros(branches, np.bool_)
    live[branches - 1] = True
    for b in range(branches - 1, -1, -1):
        if not live[b]:
            continue
        for c in range(starts[b], starts[b + 1]):
            if whole[b]:
                chosen[first[c] : last[c] + 1] = places + b
            elif kinds[c] == NOBODY:
                chosen[first[c]] = first[c]
            else:
                live[kinds[c]] = True
    return best_cost[branches - 1], best_gone[branches - 1]


@njit(cache=True, nogil=True)
def cheapest_within(
    starts: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools, runs: bool, places: int,
    costs: Floats, gone: Floats, limit: int, chosen: Longs,
) -> float:  # fmt: skip
    """Return what the cheapest partition costs that suppresses no more than a limit; infinite if there is none.

    As `cheapest_runs`, or if there are no `runs` as `cheapest_cut`, for each number of rows up to the limit at once.
    """
    branches = len(merges)
    best = np.full((branches, limit + 1), np.inf)
    reached = np.full((starts[branches] + branches, limit + 1), np.inf)
    for b in range(branches):
        start, size = starts[b], starts[b + 1] - starts[b]
        here, width = start + b, size + 1
        reached[here, 0] = 0.0
        for end in range(1, width):
            below = kinds[start + end - 1]
            if below != NOBODY:
                for rows in range(limit + 1):
                    if best[below, rows] < np.inf:
                        added(reached[here + end - 1], best[below, rows], rows, reached[here + end])
            for begin in range(end - 1 if below == NOBODY else end - 2, -1, -1):
                if begin < end - 1 and not (runs and merges[b]):
                    break
                block = offsets[b] + begin * width + end - 1 if runs else first[start + begin]
                added(reached[here + begin], costs[block], int(gone[block] + 0.5), reached[here + end])
        best[b] = reached[here + size]
        if merges[b] and not runs:
            rows = int(gone[places + b] + 0.5)
            if rows <= limit:
                best[b, rows] = min(best[b, rows], costs[places + b])
    least = best[branches - 1].argmin()
    if best[branches - 1, least] < np.inf:
        _traced(starts, kinds, first, last, offsets, merges, runs, places, costs, gone, best, reached, least, chosen)
    return float(best[branches - 1, least])


@njit(cache=True, nogil=True)
def added(before: Floats, cost: float, rows: int, into: Floats) -> None:
    """Add a block, or a part, to what was reached with each number of rows suppressed."""
    for g in range(len(before) - rows):
        into[g + rows] = min(into[g + rows], before[g] + cost)


@njit(cache=True, nogil=True)
def _traced(
    starts: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools, runs: bool, places: int,
    costs: Floats, gone: Floats, best: Floats, reached: Floats, least: int, chosen: Longs,
) -> None:  # fmt: skip
    """Fill in the blocks of the cheapest partition: each step is one whose sum is what was reached, to the last bit."""
    branches = len(merges)
    allowed = np.full(branches, -1, np.int64)
    allowed[branches - 1] = least
    for b in range(branches - 1, -1, -1):
        g = allowed[b]
        if g < 0:
            continue
        start, end = starts[b], starts[b + 1] - starts[b]
        here, width = start + b, end + 1
        if reached[here + end, g] > best[b, g]:
            chosen[first[start] : last[start + end - 1] + 1] = places + b
            continue
        while end > 0:
            below, goal, found = kinds[start + end - 1], reached[here + end, g], False
            if below != NOBODY:
                for rows in range(g + 1):
                    if reached[here + end - 1, g - rows] + best[below, rows] == goal:
                        allowed[below], found = rows, True
                        g, end = g - rows, end - 1
                        break
            begin = end - 1
            while not found:
                block = offsets[b] + begin * width + end - 1 if runs else first[start + begin]
                rows = int(gone[block] + 0.5)
                if rows <= g and reached[here + begin, g - rows] + costs[block] == goal:
                    chosen[first[start + begin] : last[start + end - 1] + 1] = block
                    g, end, found = g - rows, begin, True
                begin -= 1
