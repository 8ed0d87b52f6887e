"""Row bounds: the least that a row can lose, whatever group of k rows it is published in.

Losses never fall when a group gets another row. So a group with a tuple in it loses at least what the two lose
together, and only tuples nearer than the best group known can be in a better one. These are tried in all combinations.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.nearby import Sorted, look_around, new_surroundings
from ringfence.kernels.groups.rounded import GrowingBoxes, Rounded, added, begin_box, grow_box, new_boxes
from ringfence.kernels.groups.sorting import sort_with
from ringfence.kernels.groups.spans import BARE


class Choices(NamedTuple):
    """Room for a search. At each depth there is a box of those chosen, which loses `lost` and has `rows`; candidates
    stand in `near` from `begins` on, `counts` of them, with what the box loses with each, and `turn` is next."""

    boxes: GrowingBoxes
    near: Ints
    losses: Longs
    begins: Longs
    counts: Longs
    turn: Longs
    lost: Longs
    rows: Longs
    chosen: Longs


@njit(cache=True, nogil=True)
def new_choices(space: Rounded, deepest: int, candidates: int) -> Choices:
    """Return room for searches in which so many tuples are chosen one by one at most, from so many candidates, those of
    all depths together. Beyond, bounds are taken."""
    longs = np.zeros((6, deepest + 2), np.int64)
    return Choices(
        new_boxes(space, deepest + 2),
        np.empty(candidates, np.int32),
        np.empty(candidates, np.int64),
        longs[0],
        longs[1],
        longs[2],
        longs[3],
        longs[4],
        longs[5],
    )


@njit(**BARE)
def _open(space: Rounded, weights: Longs, k: int, room: Choices, depth: int, best: int) -> int:
    """Look at the candidates of a depth; return the least loss known.

    What adds nothing to the box is taken in: no group is better without it. All others are sorted by what the box loses
    with them. One of them is the farthest in a better group, and those before it must suffice for its other rows.
    """
    begin, count, kept = room.begins[depth], room.counts[depth], room.begins[depth]
    lost = room.lost[depth]
    for i in range(begin, begin + count):
        t = room.near[i]
        more = added(space, room.boxes, depth, t, best - lost)
        if more == 0:
            room.rows[depth] += weights[t]
        elif lost + more < best:
            room.near[kept], room.losses[kept] = t, lost + more
            kept += 1
    count = kept - begin
    room.counts[depth], room.turn[depth] = count, count
    if room.rows[depth] >= k:
        room.counts[depth] = room.turn[depth] = 0
        return int(lost)
    sort_with(room.losses[begin:kept], room.near[begin:kept], count)
    rows = room.rows[depth]
    for i in range(count):
        rows += weights[room.near[begin + i]]
        if rows >= k:
            room.turn[depth] = i
            break
    return best


@njit(**BARE)
def _least(
    space: Rounded, weights: Longs, k: int, t: int, count: int, best: int, limit: int, room: Choices, most: Longs
) -> tuple[int, int, int]:
    """Return what the best group of a tuple and candidates is known to lose, which is `best` at first, what none of
    them loses less than, and how often a box was compared with a tuple. After `limit` comparisons, bounds are taken.

    Candidates are the first in `room.near`. Those of a better group learn of it by `most`.
    """
    begin_box(space, room.boxes, 0, t)
    room.begins[0], room.counts[0], room.lost[0], room.rows[0], room.chosen[0] = 0, count, 0, weights[t], t
    depth, work, least = 0, count, best
    best = _open(space, weights, k, room, 0, best)
    while depth >= 0:
        turn, begin = room.turn[depth], room.begins[depth]
        if turn >= room.counts[depth] or room.losses[begin + turn] >= min(best, least):
            depth -= 1
            continue
        lost, other, after = room.losses[begin + turn], room.near[begin + turn], begin + room.counts[depth]
        room.turn[depth] = turn + 1
        room.chosen[depth + 1] = other
        found, members = lost, depth + 2
        if room.rows[depth] + weights[other] < k:
            if work >= limit or depth + 2 == len(room.lost) or after + turn > len(room.near):
                least = min(least, lost)
                depth -= 1
                continue
            grow_box(space, room.boxes, depth, other)
            for i in range(turn):
                room.near[after + i] = room.near[begin + i]
            room.begins[depth + 1], room.counts[depth + 1] = after, turn
            room.lost[depth + 1], room.rows[depth + 1] = lost, room.rows[depth] + weights[other]
            work += turn
            depth += 1
            found = _open(space, weights, k, room, depth, best)
        if found < best:
            best = found
            for i in range(members):
                most[room.chosen[i]] = min(most[room.chosen[i]], best)
    return best, min(best, least), work


@njit(cache=True, nogil=True)
def try_neighbours(
    space: Rounded, weights: Longs, k: int, near: Ints, most: Longs, limit: int, room: Choices, enough: int
) -> int:
    """Lower `most[t]`, what a row of each tuple loses in some group of k rows, by groups of it and tuples near it.

    Return how much work it was, and end once it is enough, as `least_losses` does.
    """
    work, attributes = 0, space.lines.shape[1] + space.leaves.shape[1] + len(space.begins) - 1
    for t in range(len(near)):
        if work > enough:
            break
        if weights[t] >= k:
            most[t] = 0
        count = 0
        while count < near.shape[1] and near[t, count] >= 0:
            room.near[count] = near[t, count]
            count += 1
        if most[t] > 0:
            best, _, more = _least(space, weights, k, t, count, most[t], limit, room, most)
            most[t] = min(most[t], best)
            work += attributes * more
    return work


@njit(cache=True, nogil=True)
def least_losses(
    space: Rounded, order: Sorted, weights: Longs, k: int, tuples: Longs, most: Longs, limit: int, found: Longs,
    room: Choices, enough: int,
) -> int:  # fmt: skip
    """Raise `found[t]` for some tuples to what a row of each loses at least in any group of k rows of its block.

    `most[t]` is what it loses in some group, and falls to that of the best group seen. Near tuples are tried first,
    then those up to twice as far, until no group with farther ones can be better. After `limit` comparisons the number
    is what has been shown until then. Return how much work it was: values that were looked at, some eight nanoseconds
    each. Tuples are left out once that is `enough`.
    """
    around, work, attributes = new_surroundings(order), 0, len(order.kinds)
    for t in tuples:
        if work > enough:
            break
        if weights[t] >= k:
            most[t] = 0
        radius, shrunk = max(found[t], most[t] // 2), False
        while most[t] > found[t]:
            count, looks = look_around(space, order, t, radius, around, room.near, room.losses)
            work += looks
            if count > len(room.near) // 4:
                radius, shrunk = radius // 2, True
                if radius <= found[t]:
                    break
                continue
            best, least, more = _least(space, weights, k, t, count, most[t], limit, room, most)
            work += attributes * more
            most[t] = min(most[t], best)
            found[t] = max(found[t], min(least, radius))  # whoever is farther away loses at least the radius with it
            if shrunk or least <= radius:
                break
            radius = min(2 * radius + 1, most[t])
    return work
