"""Annealing: rows change groups at random, towards neighbours, while ever fewer changes for the worse are accepted.

A *row* here is one of the rows of a tuple; rows of one tuple and the same sensitive values are alike. Groups have from
k rows to as many as there is room for, and of each sensitive attribute as many different values as is asked.
"""

from math import exp
from typing import NamedTuple

import numpy as np
from numba import njit

from ringfence.kernels.spans import BARE, LEAN, Floats, Ints, Longs, Space, Span, Words, loss_of, new_span, start, widen

NOBODY = -1


class Asked(NamedTuple):
    """What a group needs: k rows, and `least[s]` different values of each sensitive attribute s; and what s² rows
    cost, `size_weight`."""

    k: int
    least: Longs
    size_weight: float


class People(NamedTuple):
    """The rows: their tuples and `values`, of all attributes numbered together, and who is near whom.

    Rows of tuple t are those from `starts[t]` to before `starts[t + 1]`; `near[t]` are tuples near it, itself among
    them if it has several rows.
    """

    tuples: Ints
    values: Ints
    starts: Longs
    near: Ints


class Places(NamedTuple):
    """Who is where: row r is member `slots[r]` of group `homes[r]`.

    Group g has the first `sizes[g]` of `members[g]`; a row of it loses `losses[g]`. Groups without rows are `spare`,
    the first `free[0]` of them.
    """

    homes: Ints
    slots: Ints
    members: Ints
    sizes: Longs
    losses: Floats
    spare: Ints
    free: Longs


class Scratch(NamedTuple):
    """Room to work in."""

    span: Span
    seen: Longs
    stamp: Longs
    taken: Ints
    whence: Ints


@njit(cache=True, nogil=True)
def new_scratch(space: Space, values: int, capacity: int) -> Scratch:
    """Return room to work in."""
    return Scratch(
        new_span(space),
        np.zeros(values, np.int64),
        np.zeros(1, np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
    )


@njit(**BARE)
def _draw(state: Words, below: int) -> np.int64:
    """Return a number from 0 to before `below`, by xorshift64* (Vigna 2016)."""
    word = state[0]
    word ^= word >> np.uint64(12)
    word ^= word << np.uint64(25)
    word ^= word >> np.uint64(27)
    state[0] = word
    return np.int64(((word * np.uint64(2685821657736338717)) >> np.uint64(32)) * np.uint64(below) >> np.uint64(32))


@njit(**LEAN)
def _loss_with(space: Space, people: People, places: Places, g: int, without: int, more: int, span: Span) -> float:
    """Return what a row of a group loses without one of its rows, and with another."""
    ends, words, low, high, covered = space.ends, space.words, span.low, span.high, span.words
    tuples, members, size = people.tuples, places.members, places.sizes[g]
    first = members[g, 0] if members[g, 0] != without else members[g, 1]
    start(space, span, tuples[first] if more == NOBODY else tuples[more])
    for i in range(size):
        if members[g, i] != without:
            widen(ends, words, low, high, covered, tuples[members[g, i]])
    return float(loss_of(space, span))


@njit(**BARE)
def _varied(people: People, places: Places, asked: Asked, g: int, without: int, more: int, room: Scratch) -> bool:
    """Whether a group has values enough without one of its rows, and with another."""
    members = places.members[g]
    for s in range(len(asked.least)):
        if asked.least[s] <= 1:
            continue
        room.stamp[0] += 1
        stamp, distinct = room.stamp[0], 0
        for i in range(places.sizes[g] + 1):
            row = members[i] if i < places.sizes[g] else more
            if row == NOBODY or (i < places.sizes[g] and row == without):
                continue
            value = people.values[row, s]
            distinct += room.seen[value] != stamp
            room.seen[value] = stamp
        if distinct < asked.least[s]:
            return False
    return True


@njit(**LEAN)
def _cost(asked: Asked, size: int, loss: float) -> float:
    return size * (loss + asked.size_weight * size)


@njit(**LEAN)
def _take(places: Places, row: int) -> None:
    """Take a row out of its group; the last member takes its slot."""
    g, slot = places.homes[row], places.slots[row]
    last = places.sizes[g] - 1
    other = places.members[g, last]
    places.members[g, slot] = other
    places.slots[other] = slot
    places.sizes[g] = last


@njit(**LEAN)
def _put(places: Places, row: int, g: int) -> None:
    """Put a row into a group."""
    slot = places.sizes[g]
    places.members[g, slot] = row
    places.slots[row], places.homes[row] = slot, g
    places.sizes[g] = slot + 1


@njit(**LEAN)
def _accepts(change: float, heat: float, state: Words) -> bool:
    """Whether a change of the cost is accepted: always for the better, for the worse the less likely the more."""
    if change <= 0.0:
        return True
    return change < 20.0 * heat and _draw(state, 1 << 30) < exp(-change / heat) * (1 << 30)


@njit(**LEAN)
def _swap(
    space: Space, people: People, places: Places, asked: Asked, one: int, other: int, heat: float, room: Scratch,
    state: Words,
) -> float:  # fmt: skip
    """Let two rows of different groups change places, if that is accepted; return by how much the cost changed."""
    losses, sizes = places.losses, places.sizes
    a, b = places.homes[one], places.homes[other]
    mine = _loss_with(space, people, places, a, one, other, room.span)
    change = sizes[a] * (mine - losses[a])
    if change - sizes[b] * losses[b] > 20.0 * heat:
        return 0.0
    yours = _loss_with(space, people, places, b, other, one, room.span)
    change += sizes[b] * (yours - losses[b])
    if not _accepts(change, heat, state):
        return 0.0
    if not (
        _varied(people, places, asked, a, one, other, room) and _varied(people, places, asked, b, other, one, room)
    ):
        return 0.0
    _take(places, one)
    _take(places, other)
    _put(places, one, b)
    _put(places, other, a)
    losses[a], losses[b] = mine, yours
    return float(change)


@njit(**LEAN)
def _move(
    space: Space, people: People, places: Places, asked: Asked, row: int, to: int, heat: float, room: Scratch,
    state: Words,
) -> float:  # fmt: skip
    """Move a row to another group, if that is accepted; return by how much the cost changed."""
    home, losses = places.homes[row], places.losses
    size, more = places.sizes[home], places.sizes[to]
    after = _loss_with(space, people, places, to, NOBODY, row, room.span)
    change = _cost(asked, more + 1, after) - _cost(asked, more, losses[to])
    if change - _cost(asked, size, losses[home]) > 20.0 * heat:
        return 0.0
    left = _loss_with(space, people, places, home, row, NOBODY, room.span)
    change += _cost(asked, size - 1, left) - _cost(asked, size, losses[home])
    if not _accepts(change, heat, state) or not _varied(people, places, asked, home, row, NOBODY, room):
        return 0.0
    _take(places, row)
    _put(places, row, to)
    losses[home], losses[to] = left, after
    return float(change)


@njit(**BARE)
def _dissolve(
    space: Space, people: People, places: Places, asked: Asked, g: int, heat: float, room: Scratch, state: Words
) -> float:
    """Give the rows of a group to groups near them, if that is accepted; return by how much the cost changed."""
    capacity, size = places.members.shape[1], places.sizes[g]
    change = -_cost(asked, size, places.losses[g])
    moved = 0
    while places.sizes[g] > 0:
        row = places.members[g, places.sizes[g] - 1]
        near = people.near[people.tuples[row]]
        best, to, after = np.inf, np.int64(NOBODY), 0.0
        for i in range(len(near)):
            if near[i] == NOBODY:
                break
            first, stop = people.starts[near[i]], people.starts[near[i] + 1]
            if first == stop:
                continue
            home = np.int64(places.homes[first + _draw(state, stop - first)])
            if home in (np.int64(g), to) or places.sizes[home] == capacity:
                continue
            loss = _loss_with(space, people, places, home, NOBODY, row, room.span)
            more = _cost(asked, places.sizes[home] + 1, loss) - _cost(asked, places.sizes[home], places.losses[home])
            if more < best:
                best, to, after = more, home, loss
        if to == NOBODY:
            change = np.inf
            break
        change += best
        room.taken[moved], room.whence[moved] = row, to
        moved += 1
        _take(places, row)
        _put(places, row, to)
        places.losses[to] = after
        if change > 20.0 * heat and change - best > 20.0 * heat:
            change = np.inf
            break
    if change < np.inf and _accepts(change, heat, state):
        places.spare[places.free[0]] = g
        places.free[0] += 1
        return float(change)
    for i in range(moved - 1, -1, -1):
        _take(places, room.taken[i])
        _put(places, room.taken[i], g)
    for i in range(moved):
        places.losses[room.whence[i]] = _loss_with(space, people, places, room.whence[i], NOBODY, NOBODY, room.span)
    return 0.0


@njit(**BARE)
def _spawn(
    space: Space, people: People, places: Places, asked: Asked, row: int, heat: float, room: Scratch, state: Words
) -> float:
    """Make a group of a row and rows near it that their groups can do without, if that is accepted; return by how much
    the cost changed."""
    if places.free[0] == 0:
        return 0.0
    g = places.spare[places.free[0] - 1]
    change, moved = 0.0, 0
    at, look = row, 0
    near = people.near[people.tuples[row]]
    while True:
        home = places.homes[at]
        if home != g and places.sizes[home] > asked.k and _varied(people, places, asked, home, at, NOBODY, room):
            left = _loss_with(space, people, places, home, at, NOBODY, room.span)
            change += _cost(asked, places.sizes[home] - 1, left) - _cost(asked, places.sizes[home], places.losses[home])
            places.losses[home] = left
            room.taken[moved], room.whence[moved] = at, home
            moved += 1
            _take(places, at)
            _put(places, at, g)
        at = NOBODY
        while at == NOBODY and 0 < moved < asked.k and look < len(near) and near[look] != NOBODY:
            first, stop = people.starts[near[look]], people.starts[near[look] + 1]
            if first < stop:
                at = first + _draw(state, stop - first)
            look += 1
        if at == NOBODY:
            break
    if moved == asked.k and _varied(people, places, asked, g, NOBODY, NOBODY, room):
        loss = _loss_with(space, people, places, g, NOBODY, NOBODY, room.span)
        if _accepts(change + _cost(asked, moved, loss), heat, state):
            places.losses[g] = loss
            places.free[0] -= 1
            return float(change + _cost(asked, moved, loss))
    for i in range(moved - 1, -1, -1):
        _take(places, room.taken[i])
        _put(places, room.taken[i], room.whence[i])
    for i in range(moved):
        places.losses[room.whence[i]] = _loss_with(space, people, places, room.whence[i], NOBODY, NOBODY, room.span)
    return 0.0


@njit(**BARE)
def anneal(
    space: Space, people: People, places: Places, asked: Asked, steps: int, hot: float, cold: float, room: Scratch,
    state: Words,
) -> float:  # fmt: skip
    """Try so many changes, the heat falling evenly (by factors) from `hot` to `cold`; return what the cost changed by.

    A row of a group that loses something, and a row near it in another group, say which two groups are changed: one of
    the two joins the other, or the nearer takes the place of a third.
    """
    tuples, starts, near = people.tuples, people.starts, people.near
    homes, members, sizes, losses = places.homes, places.members, places.sizes, places.losses
    capacity, total = members.shape[1], 0.0
    heat, every = hot, 1024
    factor = (cold / hot) ** (every / max(every, steps)) if hot > 0 else 1.0
    for step in range(steps):
        if step % every == every - 1:
            heat *= factor
        row = _draw(state, len(tuples))
        a = homes[row]
        if losses[a] <= 0.0:
            continue
        kind = _draw(state, 256)
        if kind == 0:
            total += _dissolve(space, people, places, asked, a, heat, room, state)
            continue
        if kind == 1:
            total += _spawn(space, people, places, asked, row, heat, room, state)
            continue
        t = near[tuples[row], _draw(state, near.shape[1])]
        if t == NOBODY:
            continue
        other = starts[t] + _draw(state, starts[t + 1] - starts[t])
        if other == starts[t + 1]:
            continue
        b = homes[other]
        if b == a:
            continue
        if sizes[b] > asked.k and sizes[a] < capacity and kind & 1:
            total += _move(space, people, places, asked, other, a, heat, room, state)
        elif sizes[a] > asked.k and sizes[b] < capacity and kind & 2:
            total += _move(space, people, places, asked, row, b, heat, room, state)
        else:
            third = members[a, _draw(state, sizes[a])]
            if third != row and tuples[third] != tuples[other]:
                total += _swap(space, people, places, asked, third, other, heat, room, state)
    return total


@njit(cache=True, nogil=True)
def weigh(space: Space, people: People, places: Places, room: Scratch) -> None:
    """Set what a row of each group loses."""
    for g in range(len(places.sizes)):
        if places.sizes[g] > 0:
            places.losses[g] = _loss_with(space, people, places, g, NOBODY, NOBODY, room.span)
