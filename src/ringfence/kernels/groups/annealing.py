"""Annealing: rows change groups at random, towards neighbours, while ever fewer changes for the worse are accepted.

It is how large groups are improved, in which a change is weighed much faster than all chains (`chains`) that it may
begin.
"""

from math import log

import numpy as np

from ringfence.arrays import Words
from ringfence.compiling import njit
from ringfence.kernels.groups.places import (
    NOBODY,
    GroupNeeds,
    MoveScratch,
    PlacedRows,
    Places,
    draw,
    exchanged,
    group_cost,
    joined,
    refresh,
    settled,
    transfer,
    varied,
)
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry

RARE = 256
"""One in so many changes makes a group anew, and one dissolves one."""


WINDOW, STAY = 512, 1024
"""So many rows in line are a window, in which so many changes are tried before another one is drawn: what they look at
is still at hand then. With rows drawn from everywhere, most of the time went to fetching them from far memory."""


@njit(**LEAN)
def _patience(heat: float, state: Words) -> float:
    """Return by how much a change may make things worse: exponentially distributed, as Metropolis has it."""
    return -heat * log((draw(state, 1 << 31) + 1) / (1 << 31))


@njit(**BARE)
def _dissolve(
    space: Geometry, people: PlacedRows, places: Places, asked: GroupNeeds, g: int, heat: float, room: MoveScratch
) -> None:
    """Give the rows of a group to groups near them, each to the one that it costs least, if that is accepted."""
    capacity, moved = places.members.shape[1] - 1, 0
    change = -group_cost(asked, places.sizes[g], places.losses[g]) - _patience(heat, room.state)
    while places.sizes[g] > 0 and change <= 0.0:
        row = places.members[g, places.sizes[g] - 1]
        t = people.tuples[row]
        near = people.near[t]
        best, to = np.inf, np.int64(NOBODY)
        for i in range(len(near)):
            if near[i] == NOBODY:
                break
            first, stop = people.starts[near[i]], people.starts[near[i] + 1]
            if first == stop:
                continue
            home = np.int64(places.homes[first + draw(room.state, stop - first)])
            if home in (np.int64(g), to) or places.owners[home] != places.mine or places.sizes[home] == capacity:
                continue
            size, loss = places.sizes[home], joined(space, places, home, t)
            more = group_cost(asked, size + 1, loss) - group_cost(asked, size, places.losses[home])
            if more < best:
                best, to = more, home
        change += best
        if to != NOBODY:
            room.moved[moved], room.other[moved] = row, to
            moved += 1
            transfer(places, row, to)
            refresh(space, people, places, to, room)
    if change <= 0.0:
        places.spare[places.free[0]] = g
        places.free[0] += 1
        return
    for i in range(moved - 1, -1, -1):
        transfer(places, room.moved[i], g)
        refresh(space, people, places, room.other[i], room)
    refresh(space, people, places, g, room)


@njit(**BARE)
def _spawn(
    space: Geometry, people: PlacedRows, places: Places, asked: GroupNeeds, row: int, heat: float, room: MoveScratch
) -> None:
    """Make a group of a row and rows near it that their groups can do without, if that is accepted."""
    if places.free[0] == 0:
        return
    g, moved, at, look = places.spare[places.free[0] - 1], 0, np.int64(row), 0
    change = -_patience(heat, room.state)
    near = people.near[people.tuples[row]]
    while at != NOBODY:
        home = places.homes[at]
        size = places.sizes[home] if places.owners[home] == places.mine else 0
        if home != g and size > asked.k and varied(people, places, asked, home, at, NOBODY, room):
            change += group_cost(asked, size - 1, places.without[at]) - group_cost(asked, size, places.losses[home])
            room.moved[moved], room.other[moved] = at, home
            moved += 1
            transfer(places, at, g)
            refresh(space, people, places, home, room)
        at = np.int64(NOBODY)
        while at == NOBODY and 0 < moved < asked.k and look < len(near) and near[look] != NOBODY:
            first, stop = people.starts[near[look]], people.starts[near[look] + 1]
            if first < stop:
                at = first + draw(room.state, stop - first)
            look += 1
    if moved == asked.k and varied(people, places, asked, g, NOBODY, NOBODY, room):
        refresh(space, people, places, g, room)
        if change + group_cost(asked, moved, places.losses[g]) <= 0.0:
            places.free[0] -= 1
            return
    for i in range(moved - 1, -1, -1):
        transfer(places, room.moved[i], room.other[i])
        refresh(space, people, places, room.other[i], room)


@njit(**LEAN)
def _move(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    row: int,
    to: int,
    heat: float,
    room: MoveScratch,
) -> None:
    """Let a row join another group, if that is accepted."""
    home, sizes, losses = places.homes[row], places.sizes, places.losses
    loss = joined(space, places, to, people.tuples[row])
    change = group_cost(asked, sizes[to] + 1, loss) - group_cost(asked, sizes[to], losses[to])
    change += group_cost(asked, sizes[home] - 1, places.without[row]) - group_cost(asked, sizes[home], losses[home])
    if change <= _patience(heat, room.state) and varied(people, places, asked, home, row, NOBODY, room):
        transfer(places, row, to)
        refresh(space, people, places, to, room)
        refresh(space, people, places, home, room)


@njit(**LEAN)
def _swap(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    one: int,
    other: int,
    heat: float,
    room: MoveScratch,
) -> None:
    """Let two rows change places, if that is accepted.

    The second group loses at least what it would lose without its row, unless there are prices: that may be enough to
    refuse.
    """
    a, b, sizes, losses = places.homes[one], places.homes[other], places.sizes, places.losses
    without = places.without[other]
    most = _patience(heat, room.state) - sizes[b] * (without - losses[b])
    change = sizes[a] * (exchanged(space, people, places, a, one, people.tuples[other], room) - losses[a])
    if change > most and not asked.priced:
        return
    change += sizes[b] * (exchanged(space, people, places, b, other, people.tuples[one], room) - without)
    if (
        change <= most
        and varied(people, places, asked, a, one, other, room)
        and varied(people, places, asked, b, other, one, room)
    ):
        transfer(places, one, b)
        transfer(places, other, a)
        refresh(space, people, places, a, room)
        refresh(space, people, places, b, room)


@njit(**BARE)
def anneal(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    steps: int,
    hot: float,
    cold: float,
    room: MoveScratch,
    first: int,
    count: int,
) -> None:
    """Try so many changes, the heat falling evenly (by factors) from `hot` to `cold`.

    Windows begin at any of `count` rows from the `first` on, and all go on from the last row to the first. A row of
    a group that loses something, and a row near it in another group, the nearer of two drawn, say which two groups are
    changed: one of the two joins the other, or the nearer takes the place of a third, of two drawn the one without
    which the group loses less.
    """
    tuples, starts, near, state = people.tuples, people.starts, people.near, room.state
    homes, members, sizes, without = places.homes, places.members, places.sizes, places.without
    owners, mine = places.owners, places.mine
    capacity, heat, begin, window = members.shape[1] - 1, hot, np.int64(0), min(WINDOW, len(tuples))
    factor = (cold / hot) ** (STAY / max(STAY, steps)) if hot > 0 else 1.0
    for step in range(steps):
        if step % STAY == 0:
            heat *= factor if step > 0 else 1.0
            begin = (first + draw(state, count)) % len(tuples)
        row = begin + draw(state, window)
        if row >= len(tuples):
            row -= len(tuples)
        a = homes[row]
        if owners[a] != mine or settled(people, places, asked, a):
            continue
        kind = draw(state, 2 * RARE)
        if kind == 0:
            _dissolve(space, people, places, asked, a, heat, room)
        if kind == 1:
            _spawn(space, people, places, asked, row, heat, room)
        t = near[tuples[row], min(draw(state, near.shape[1]), draw(state, near.shape[1]))]
        if kind <= 1 or t == NOBODY:
            continue
        other = starts[t] + draw(state, starts[t + 1] - starts[t])
        b = homes[other]
        if starts[t] == starts[t + 1] or b == a or owners[b] != mine:
            continue
        if sizes[a] > asked.k and sizes[b] < capacity and (kind & 1 or sizes[b] == asked.k):
            row, other, a, b = other, row, b, a
        if sizes[b] > asked.k and sizes[a] < capacity:
            _move(space, people, places, asked, other, a, heat, room)
            continue
        third, fourth = members[a, draw(state, sizes[a])], members[a, draw(state, sizes[a])]
        if without[fourth] < without[third]:
            third = fourth
        if tuples[third] != tuples[other]:
            _swap(space, people, places, asked, third, other, heat, room)
