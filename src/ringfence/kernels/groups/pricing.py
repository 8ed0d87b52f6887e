"""Prices of rows that no k rows together exceed: by how much some prices do, at most.

Prices are *kept* if the rows of no group of exactly k cost more together than k times what one of them loses there.
Larger groups follow: the mean price over a group is the mean over its groups of k, and none of these loses more. So
the sum of prices that are kept is a lower bound on what all rows lose.

Any prices can be made so. Rows are gone through from the lowest price up; each is lowered by the largest excess over
groups of it and rows before it. Every group is put right by its last row, since prices only fall later: also if what
was added up for it were prices of rows before it that had not been lowered yet. So several may lower prices side by
side, each knowing what the others had done some time ago.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.nearby import Sorted, Surroundings, look_around
from ringfence.kernels.groups.rounded import GrowingBoxes, Rounded, added, begin_box, grow_box, new_boxes
from ringfence.kernels.groups.sorting import sort_with
from ringfence.kernels.groups.spans import BARE, LEAN

NONE = -(2**62)


class Tops(NamedTuple):
    """The largest prices of lists, dearest first, and whose they are: `held[i]` of list i."""

    prices: Longs
    tuples: Ints
    held: Longs


class Search(NamedTuple):
    """Room for a search: at each depth the box, the candidates with what the box loses with each and what they cost,
    the branches with their bounds, and the dearest prices at hand."""

    boxes: GrowingBoxes
    near: Ints
    losses: Longs
    reach: Longs
    bounds: Longs
    branches: Longs
    turn: Longs
    counts: Longs
    lost: Longs
    paid: Longs
    inside: Tops
    chosen: Ints


@njit(cache=True, nogil=True)
def new_search(space: Rounded, k: int, room: int) -> Search:
    """Return room for searches over groups of k rows and so many candidates."""
    longs = np.empty((4, k + 1), np.int64)
    tops = Tops(np.empty((k + 3, k + 1), np.int64), np.empty((k + 3, k + 1), np.int32), np.zeros(k + 3, np.int64))
    return Search(
        new_boxes(space, k + 1),
        np.empty((max(2, k), room), np.int32),
        np.empty((max(2, k), room), np.int64),
        np.empty((max(2, k), room), np.int64),
        np.empty((max(2, k), room), np.int64),
        np.empty((max(2, k), room), np.int64),
        longs[0],
        longs[1],
        longs[2],
        longs[3],
        tops,
        np.empty(k + 1, np.int32),
    )


@njit(**LEAN)
def _put(tops: Tops, which: int, most: int, price: int, t: int, copies: int) -> None:
    """Add a price to a list of at most so many, as often as there are rows."""
    for _ in range(min(copies, most)):
        count = tops.held[which]
        if count == most and price <= tops.prices[which, most - 1]:
            return
        if count < most:
            tops.held[which] = count + 1
            i = count
        else:
            i = most - 1
        while i > 0 and tops.prices[which, i - 1] < price:
            tops.prices[which, i], tops.tuples[which, i] = tops.prices[which, i - 1], tops.tuples[which, i - 1]
            i -= 1
        tops.prices[which, i], tops.tuples[which, i] = price, t


@njit(**LEAN)
def _copy(tops: Tops, source: int, target: int, most: int) -> None:
    count = min(tops.held[source], most)
    for i in range(count):
        tops.prices[target, i], tops.tuples[target, i] = tops.prices[source, i], tops.tuples[source, i]
    tops.held[target] = count


@njit(**LEAN)
def _sum(tops: Tops, which: int, count: int) -> int:
    total = 0
    for i in range(min(count, tops.held[which])):
        total += tops.prices[which, i]
    return total


@njit(**BARE)
def _narrow(weights: Longs, prices: Longs, k: int, room: Search, depth: int, best: int, count: int) -> int:
    """Leave out candidates that exceed no more than is known even with the dearest others; return how many are left."""
    near, losses, tops, paid, left = room.near[depth], room.losses[depth], room.inside, room.paid[depth], k - 1 - depth
    every, before = k + 1, -1
    while count != before:
        before, others, count = count, _sum(tops, every, left - 1), 0
        _copy(tops, depth, every, left)
        for i in range(before):
            t = near[i]
            if paid + prices[t] + others - k * losses[i] > best:
                _put(tops, every, left, prices[t], t, weights[t])
                near[count], losses[count] = t, losses[i]
                count += 1
        if tops.held[every] < left:
            return 0
    return count


@njit(**LEAN)
def _dearest(tops: Tops, which: int, most: int, price: int, copies: int) -> tuple[int, int]:
    """Return what the dearest of a list and of some rows of one price cost together, at most so many, and how many."""
    total, taken = 0, 0
    for j in range(tops.held[which]):
        while copies > 0 and taken < most and tops.prices[which, j] <= price:
            total += price
            copies -= 1
            taken += 1
        if taken == most:
            return total, taken
        total += tops.prices[which, j]
        taken += 1
    more = min(copies, most - taken)
    return total + more * price, taken + more


@njit(**BARE)
def _branch(weights: Longs, prices: Longs, k: int, room: Search, depth: int, best: int, count: int) -> None:
    """Make a branch of each candidate as the farthest member, those with the largest bounds last."""
    near, losses, tops, paid, left = room.near[depth], room.losses[depth], room.inside, room.paid[depth], k - 1 - depth
    branches, bounds, reach, running, kids = room.branches[depth], room.bounds[depth], room.reach[depth], k + 2, 0
    sort_with(losses, near, count)
    _copy(tops, depth, running, left)
    for i in range(count):
        t = near[i]
        others, taken = _dearest(tops, running, left - 1, prices[t], min(weights[t], left) - 1)
        bound = paid + prices[t] + others - k * losses[i]
        if taken == left - 1 and bound > best:
            branches[kids], bounds[kids] = i, bound
            kids += 1
        _put(tops, running, left, prices[t], t, weights[t])
        reach[i] = paid + _sum(tops, running, left - 1) - k * losses[i] if tops.held[running] == left else NONE
    for i in range(count - 2, -1, -1):
        reach[i] = max(reach[i], reach[i + 1])
    sort_with(bounds, branches, kids)
    room.counts[depth], room.turn[depth] = count, kids


@njit(**BARE)
def _open(
    space: Rounded, weights: Longs, prices: Longs, k: int, room: Search, depth: int, best: int, group: Ints
) -> int:
    """Look at the groups of those chosen so far and some candidates; return the largest excess known.

    What lies in the box costs nothing more: the dearest of it are taken. Of all else the farthest member is branched
    on: candidates are sorted by what the box loses with them, and the branch of one has those before it. It exceeds at
    most by the prices chosen, its own, and the dearest others among these, less k times what the box loses with it.
    """
    near, losses, tops = room.near[depth], room.losses[depth], room.inside
    lost, paid, left = room.lost[depth], room.paid[depth], k - 1 - depth
    inside, every = depth, k + 1
    _copy(tops, inside, every, left)
    count, dearest = 0, prices[room.chosen[0]]
    most = (paid + left * dearest - best) // k - lost + 1
    for i in range(room.counts[depth]):
        t = near[i]
        more = added(space, room.boxes, depth, t, most)
        if more == 0:
            _put(tops, inside, left, prices[t], t, weights[t])
            _put(tops, every, left, prices[t], t, weights[t])
        elif more < most:
            _put(tops, every, left, prices[t], t, weights[t])
            near[count], losses[count] = t, lost + more
            count += 1
    room.turn[depth] = room.counts[depth] = 0
    if tops.held[every] < left:
        return best
    if tops.held[inside] == left:
        value = paid + _sum(tops, inside, left) - k * lost
        if value > best:
            best = value
            for i in range(depth + 1):
                group[i] = room.chosen[i]
            for i in range(left):
                group[depth + 1 + i] = tops.tuples[inside, i]
    count = _narrow(weights, prices, k, room, depth, best, count)
    if count > 0:
        _branch(weights, prices, k, room, depth, best, count)
    return best


@njit(**BARE)
def largest_excess(
    space: Rounded, weights: Longs, prices: Longs, k: int, seed: int, count: int, limit: int, room: Search, group: Ints
) -> tuple[int, int]:
    """Return by how much groups of k rows of a seed and candidates, `room.near[0]`, exceed what they lose at most, and
    the largest excess seen, that of `group`. Once `limit` branches were opened, bounds are taken."""
    begin_box(space, room.boxes, 0, seed)
    room.chosen[0], room.counts[0], room.lost[0], room.paid[0] = seed, count, 0, prices[seed]
    room.inside.held[0] = 0
    _put(room.inside, 0, k - 1, prices[seed], seed, weights[seed] - 1)
    best, most, opened, depth = 0, 0, 1 + count // 16, 0
    if k == 1:
        best = max(0, int(prices[seed]))
        group[0] = seed
        return best, best
    best = _open(space, weights, prices, k, room, 0, best, group)
    while depth >= 0:
        turn = room.turn[depth] - 1
        if turn < 0 or room.bounds[depth, turn] <= best:
            depth -= 1
            continue
        if opened >= limit:
            most = max(most, int(room.bounds[depth, turn]))
            depth -= 1
            continue
        room.turn[depth] = turn
        at = room.branches[depth, turn]
        t, left = room.near[depth, at], k - 1 - depth
        if left == 1:
            best = int(room.bounds[depth, turn])
            for i in range(depth + 1):
                group[i] = room.chosen[i]
            group[depth + 1] = t
            continue
        grow_box(space, room.boxes, depth, t)
        deeper, some = depth + 1, 0
        for i in range(at):
            other = room.near[depth, i]
            if room.reach[depth, i] + prices[other] > best:
                room.near[deeper, some] = other
                some += 1
        _copy(room.inside, depth, deeper, left - 1)
        _put(room.inside, deeper, left - 1, prices[t], t, weights[t] - 1)
        room.chosen[deeper], room.counts[deeper] = t, some
        room.lost[deeper], room.paid[deeper] = room.losses[depth, at], room.paid[depth] + prices[t]
        opened += 1 + some // 16
        best = _open(space, weights, prices, k, room, deeper, best, group)
        depth = deeper
    return max(best, most), best


class Near(NamedTuple):
    """The tuples near each, nearest first, and how far they are: all those nearer than `radius[t]` are among the first
    `held[t]`. They are found when they are first needed."""

    near: Ints
    far: Ints
    held: Longs
    radius: Longs


@njit(**BARE)
def _keep_near(
    space: Rounded, tuples: Sorted, seed: int, price: int, lists: Near, around: Surroundings, room: Search
) -> int:
    """Set `room.near[0]` to the tuples nearer to a seed than its price, and keep the nearest of them and some more."""
    near, far, radius = room.near[1], room.losses[1], price + price // 2
    some, _ = look_around(space, tuples, seed, radius, around, near, far)
    sort_with(far, near, some)
    kept = min(some, lists.near.shape[1])
    for i in range(kept):
        lists.near[seed, i], lists.far[seed, i] = near[i], far[i]
    lists.held[seed], lists.radius[seed] = kept, radius if kept == some else far[kept]
    count = 0
    while count < some and far[count] < price:
        room.near[0, count] = near[count]
        count += 1
    return count


@njit(cache=True, nogil=True)
def repair(
    space: Rounded, tuples: Sorted, weights: Longs, k: int, order: Longs, rank: Longs, begin: int, end: int, step: int,
    prices: Longs, limit: int, lists: Near, around: Surroundings, room: Search, found: Ints,
) -> int:  # fmt: skip
    """Lower the prices of tuples `order[begin:end:step]`, of rising price, those before them being kept already, or no
    lower than they will be.

    Where the dearest row of a group has no price, the group has none. Groups that exceeded go to `found`, the worst of
    each tuple; return how many.
    """
    count, group = 0, np.empty(k, np.int32)
    for place in range(begin, end, step):
        seed = order[place]
        price = prices[seed]
        if price <= 0:
            continue
        if price > lists.radius[seed]:
            every = _keep_near(space, tuples, seed, price, lists, around, room)
        else:
            every = 0
            while every < lists.held[seed] and lists.far[seed, every] < price:
                room.near[0, every] = lists.near[seed, every]
                every += 1
        some = 0
        for i in range(every):
            if rank[room.near[0, i]] < place:
                room.near[0, some] = room.near[0, i]
                some += 1
        over, seen = largest_excess(space, weights, prices, k, seed, some, limit, room, group)
        prices[seed] = price - over
        if seen > 0:
            found[count] = group
            count += 1
    return count


@njit(cache=True, nogil=True)
def group_losses(space: Rounded, groups: Ints, losses: Longs) -> None:
    """Set `losses[g]` to what a row of each group loses."""
    boxes = new_boxes(space, groups.shape[1] + 1)
    for g in range(len(groups)):
        begin_box(space, boxes, 0, groups[g, 0])
        losses[g] = 0
        for i in range(1, groups.shape[1]):
            losses[g] += added(space, boxes, i - 1, groups[g, i], 1 << 62)
            grow_box(space, boxes, i - 1, groups[g, i])
