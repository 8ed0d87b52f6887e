"""The cheapest partition of an attribute into sets of its values, at a price for each row that is suppressed.

As `priced_paths`; sets of the children of a branch are written in bits. What they cost comes from `failing_sets`.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.priced_paths import CLOSE, NOBODY, added


@njit(cache=True, nogil=True)
def cheapest_sets(  # noqa: PLR0912  a path over sets, with two ways to look for the last step
    starts: Longs, sizes: Longs, kinds: Longs, offsets: Longs, merges: Bools, costs: Floats, gone: Floats,
    price: float, choice: Longs,
) -> tuple[float, float]:  # fmt: skip
    """Find the cheapest partition of a tree of branches into sets; return what it costs, without the price, and
    suppresses.

    As `priced_paths.cheapest_runs`, with sets of children at `offsets[b] + s`. `choice` becomes for each set the block
    of its lowest child in the cheapest partition of it. Only blocks are looked at that are cheaper than any partition
    of them: of the best partitions of a set, one has no others.
    """
    branches = len(sizes)
    best_cost, best_gone = np.zeros(branches), np.zeros(branches)
    for b in range(branches):
        start, many, offset = starts[b], sizes[b], offsets[b]
        if not merges[b]:
            for i in range(many):
                best_cost[b] += best_cost[kinds[start + i]]
                best_gone[b] += best_gone[kinds[start + i]]
            continue
        full = (1 << many) - 1
        reached, cost, lost = np.zeros(full + 1), np.zeros(full + 1), np.zeros(full + 1)
        useful, worth = np.empty(full + 1, np.int64), np.empty(full + 1)  # blocks, by their highest child
        ends = np.zeros(many + 1, np.int64)
        for high in range(many):
            below = kinds[start + high]
            own_cost = costs[offset + (1 << high)] if below == NOBODY else best_cost[below]
            own_gone = gone[offset + (1 << high)] if below == NOBODY else best_gone[below]
            begin = end = ends[high]
            for others in range(1 << high):
                if high == many - 1 and high > 0:  # with the highest child, only the whole is asked for
                    break
                whole = 1 << high | others
                least, block = reached[others] + own_cost + price * own_gone, 1 << high
                if end - begin <= 1 << _size_of(others):
                    for i in range(begin, end):
                        if useful[i] & ~whole == 0:
                            sum_ = reached[whole ^ useful[i]] + worth[i]
                            if sum_ < least - CLOSE * abs(least):
                                least, block = sum_, useful[i]
                else:
                    part = (others - 1) & others
                    while part > 0:
                        sum_ = reached[others ^ part] + costs[offset + (1 << high | part)]
                        sum_ += price * gone[offset + (1 << high | part)]
                        if sum_ < least - CLOSE * abs(least):
                            least, block = sum_, 1 << high | part
                        part = (part - 1) & others
                if others:
                    sum_ = costs[offset + whole] + price * gone[offset + whole]
                    if sum_ < least - CLOSE * abs(least):
                        least, block = sum_, whole
                        useful[end], worth[end] = whole, sum_
                        end += 1
                _reach(offset, whole, block, least, own_cost, own_gone, high, costs, gone, reached, cost, lost, choice)
            ends[high + 1] = end
            if high == many - 1 and high > 0:
                least, block = reached[full ^ 1 << high] + own_cost + price * own_gone, 1 << high
                for others in range(1, 1 << high):
                    part = 1 << high | others
                    sum_ = reached[full ^ part] + costs[offset + part] + price * gone[offset + part]
                    if sum_ < least - CLOSE * abs(least):
                        least, block = sum_, part
                _reach(offset, full, block, least, own_cost, own_gone, high, costs, gone, reached, cost, lost, choice)
        best_cost[b], best_gone[b] = cost[full], lost[full]
    return best_cost[branches - 1], best_gone[branches - 1]


@njit(cache=True, nogil=True, inline="always")
def _reach(
    offset: int, whole: int, block: int, least: float, own_cost: float, own_gone: float, high: int, costs: Floats,
    gone: Floats, reached: Floats, cost: Floats, lost: Floats, choice: Longs,
) -> None:  # fmt: skip
    """Note the cheapest partition of a set of children: one block, and that of the rest."""
    rest = whole ^ block
    alone = block == 1 << high
    reached[whole], choice[offset + whole] = least, block
    cost[whole] = cost[rest] + (own_cost if alone else costs[offset + block])
    lost[whole] = lost[rest] + (own_gone if alone else gone[offset + block])


@njit(cache=True, nogil=True)
def _size_of(inside: int) -> int:
    size = 0
    while inside:
        inside &= inside - 1
        size += 1
    return size


@njit(cache=True, nogil=True)
def chosen_sets(
    starts: Longs, sizes: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools, choice: Longs,
    chosen: Longs,
) -> None:  # fmt: skip
    """Fill in the block that each place is in, by what `cheapest_sets` chose."""
    live = np.zeros(len(sizes), np.bool_)
    live[len(sizes) - 1] = True
    for b in range(len(sizes) - 1, -1, -1):
        if not live[b]:
            continue
        start, left = starts[b], (1 << sizes[b]) - 1
        if not merges[b]:
            for i in range(sizes[b]):
                live[kinds[start + i]] = True
            continue
        while left:
            block = choice[offsets[b] + left]
            _place(start, block, kinds, first, last, offsets[b], live, chosen)
            left ^= block


@njit(cache=True, nogil=True)
def _place(
    start: int, block: int, kinds: Longs, first: Longs, last: Longs, offset: int, live: Bools, chosen: Longs
) -> None:
    """Fill in a block for all places below it; a branch that is alone says itself what becomes of it."""
    if block & (block - 1) == 0:
        c = start
        while block >> (c - start) > 1:
            c += 1
        if kinds[c] != NOBODY:
            live[kinds[c]] = True
            return
    i = 0
    while block >> i:
        if block >> i & 1:
            chosen[first[start + i] : last[start + i] + 1] = offset + block
        i += 1


@njit(cache=True, nogil=True)
def cheapest_sets_within(
    starts: Longs, sizes: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools, costs: Floats,
    gone: Floats, limit: int, chosen: Longs,
) -> float:  # fmt: skip
    """Return what the cheapest partition into sets costs that suppresses no more than a limit; infinite if there is
    none.

    As `cheapest_sets`, for each number of rows up to the limit at once.
    """
    branches = len(sizes)
    best = np.full((branches, limit + 1), np.inf)
    reached = np.full((offsets[branches] + 1, limit + 1), np.inf)
    for b in range(branches):
        start, many, offset = starts[b], sizes[b], offsets[b]
        if not merges[b]:
            best[b, 0] = 0.0
            for i in range(many):
                before = best[b].copy()
                best[b] = np.inf
                _both(before, best[kinds[start + i]], best[b])
            continue
        full = (1 << many) - 1
        reached[offset, 0] = 0.0
        for whole in range(1, full + 1):
            high = _highest(whole)
            if high == many - 1 and whole < full:
                continue
            others = whole ^ 1 << high
            if kinds[start + high] != NOBODY:
                _both(reached[offset + others], best[kinds[start + high]], reached[offset + whole])
            part = others
            while True:
                block = 1 << high | part
                if part > 0 or kinds[start + high] == NOBODY:
                    rows = int(gone[offset + block] + 0.5)
                    added(reached[offset + (whole ^ block)], costs[offset + block], rows, reached[offset + whole])
                if part == 0:
                    break
                part = (part - 1) & others
        best[b] = reached[offset + full]
    least = best[branches - 1].argmin()
    if best[branches - 1, least] < np.inf:
        _traced_sets(starts, sizes, kinds, first, last, offsets, merges, costs, gone, best, reached, least, chosen)
    return float(best[branches - 1, least])


@njit(cache=True, nogil=True)
def _highest(inside: int) -> int:
    high = 0
    while inside >> (high + 1):
        high += 1
    return high


@njit(cache=True, nogil=True)
def _both(before: Floats, part: Floats, into: Floats) -> None:
    """Add what a part reached with each number of rows suppressed to what was reached before."""
    for rows in range(len(part)):
        if part[rows] < np.inf:
            added(before, part[rows], rows, into)


@njit(cache=True, nogil=True)
def _traced_sets(
    starts: Longs, sizes: Longs, kinds: Longs, first: Longs, last: Longs, offsets: Longs, merges: Bools, costs: Floats,
    gone: Floats, best: Floats, reached: Floats, least: int, chosen: Longs,
) -> None:  # fmt: skip
    """Fill in the blocks of the cheapest partition: each step is one whose sum is what was reached, to the last bit."""
    allowed = np.full(len(sizes), -1, np.int64)
    allowed[-1] = least
    live = np.zeros(len(sizes), np.bool_)
    for b in range(len(sizes) - 1, -1, -1):
        g = allowed[b]
        if g < 0:
            continue
        start, offset, left = starts[b], offsets[b], (1 << sizes[b]) - 1
        if not merges[b]:
            _shared(start, sizes[b], kinds, best, g, allowed)
            continue
        while left:
            high = _highest(left)
            others, goal = left ^ 1 << high, reached[offset + left, g]
            below, part, found = kinds[start + high], others, 0
            if below != NOBODY:
                for rows in range(g + 1):
                    if reached[offset + others, g - rows] + best[below, rows] == goal:
                        allowed[below], g, left, found = rows, g - rows, others, 1
                        break
            while not found:
                block = 1 << high | part
                rows = int(gone[offset + block] + 0.5)
                may = (part > 0 or below == NOBODY) and rows <= g
                if may and reached[offset + (left ^ block), g - rows] + costs[offset + block] == goal:
                    _place(start, block, kinds, first, last, offset, live, chosen)
                    g, left, found = g - rows, left ^ block, 1
                part = (part - 1) & others


@njit(cache=True, nogil=True)
def _shared(start: int, many: int, kinds: Longs, best: Floats, g: int, allowed: Longs) -> None:
    """Share the rows that branches side by side suppress together among them, from the last to the first."""
    before = np.full((many + 1, best.shape[1]), np.inf)
    before[0, 0] = 0.0
    for i in range(many):
        _both(before[i], best[kinds[start + i]], before[i + 1])
    for i in range(many - 1, -1, -1):
        below, goal = kinds[start + i], before[i + 1, g]
        for rows in range(g + 1):
            if before[i, g - rows] + best[below, rows] == goal:
                allowed[below], g = rows, g - rows
                break
