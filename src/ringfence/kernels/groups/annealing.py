"""Annealing: rows change groups at random, towards neighbours, while ever fewer changes for the worse are accepted.

A *row* here is one of the rows of a tuple; rows of one tuple and the same sensitive values are alike. Groups have from
k rows to as many as there is room for, and of each sensitive attribute as many different values as is asked.

For each group its span is kept, and for each row what its group would lose without it. So most changes are weighed
without looking at the other rows of a group; what was kept is put right when a change is made.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry, loss_between, loss_of_sets, loss_with, widen

NOBODY = -1
RARE = 256
"""One in so many changes makes a group anew, and one dissolves one."""


WINDOW, STAY = 512, 1024
"""So many rows in line are a window, in which so many changes are tried before another one is drawn: what they look at
is still at hand then. With rows drawn from everywhere, most of the time went to fetching them from far memory."""


class GroupNeeds(NamedTuple):
    """What a group needs: k rows, and `least[s]` different values of each sensitive attribute s; and what s rows cost
    beside their loss: `size_weight` s².

    `priced` says whether labels have prices: then a group may lose less with a row more, and what loses nothing, more.
    """

    k: int
    least: Longs
    size_weight: float
    priced: bool


class PlacedRows(NamedTuple):
    """The rows: their tuples and `values`, of all attributes numbered together, and who is near whom.

    Rows of tuple t are those from `starts[t]` to before `starts[t + 1]`; `near[t]` are tuples near it, nearest first,
    itself among them if it has several rows.
    """

    tuples: Ints
    values: Ints
    starts: Longs
    near: Ints


class Places(NamedTuple):
    """Who is where: row r is member `slots[r]` of group `homes[r]`, of which a row would lose `without[r]` without it.

    Group g has the first `sizes[g]` of `members[g]`, which has room for one more than a group may have. It spans
    `low[g]`, `high[g]` and `covered[g]`, and a row of it loses `losses[g]`. Groups without rows are `spare`, the first
    `free[0]` of them.

    Several may change groups at the same time, each those that are theirs: `owners[g]` is `mine`. A row stays with its
    owner meanwhile, and nobody looks at another's groups but to see whose they are: so what comes out does not depend
    on who is faster.
    """

    homes: Ints
    slots: Ints
    without: Floats
    members: Ints
    sizes: Longs
    low: Ints
    high: Ints
    covered: Words
    losses: Floats
    spare: Ints
    free: Longs
    owners: Ints
    mine: int


class MoveScratch(NamedTuple):
    """Room to work in: the span of some members and those behind them, what is lost in each attribute of which the
    outermost count, values seen, rows moved and whence or whither, and the state of what is random."""

    low: Ints
    high: Ints
    covered: Words
    parts: Floats
    seen: Longs
    stamp: Longs
    moved: Ints
    other: Ints
    state: Words


@njit(**LEAN)
def _draw(state: Words, below: int) -> np.int64:
    """Return a number from 0 to before `below`, by xorshift64* (Vigna 2016)."""
    word = state[0]
    word ^= word >> np.uint64(12)
    word ^= word << np.uint64(25)
    word ^= word >> np.uint64(27)
    state[0] = word
    return np.int64(((word * np.uint64(2685821657736338717)) >> np.uint64(32)) * np.uint64(below) >> np.uint64(32))


@njit(**LEAN)
def _patience(heat: float, state: Words) -> float:
    """Return by how much a change may make things worse: exponentially distributed, as Metropolis has it."""
    return -heat * log((_draw(state, 1 << 31) + 1) / (1 << 31))


@njit(**LEAN)
def _clear(low: Ints, high: Ints, covered: Words) -> None:
    """Make a span cover nothing."""
    for i in range(len(low)):
        low[i], high[i] = np.iinfo(np.int32).max, -1
    for w in range(len(covered)):
        covered[w] = 0


@njit(**BARE)
def refresh(space: Geometry, people: PlacedRows, places: Places, g: int, room: MoveScratch) -> None:
    """Put right what is kept of a group: its span, its loss, and what it would lose without each member.

    The span without a member is that of the members before it, kept in the group's place for a while, together with
    that of the members behind it. Mostly it is that of all but for an attribute or two: only these are weighed anew.
    """
    ends, words, tuples, parts = space.ends, space.words, people.tuples, room.parts
    members, size = places.members[g], places.sizes[g]
    low, high, covered = places.low[g], places.high[g], places.covered[g]
    all_low, all_high, all_covered = room.low[0], room.high[0], room.covered[0]
    places.losses[g] = 0.0
    if size == 0:
        return
    _clear(room.low[size], room.high[size], room.covered[size])
    for m in range(size - 1, -1, -1):
        t = tuples[members[m]]
        for i in range(len(low)):
            room.low[m, i] = min(ends[t, i], room.low[m + 1, i])
            room.high[m, i] = max(ends[t, i], room.high[m + 1, i])
        for w in range(len(covered)):
            room.covered[m, w] = words[t, w] | room.covered[m + 1, w]
    of_sets = loss_of_sets(space, all_covered, all_covered)
    loss = of_sets
    for i in range(len(low)):
        parts[i] = loss_between(space, i, all_low[i], all_high[i])
        loss += parts[i]
    places.losses[g] = loss
    _clear(low, high, covered)
    for m in range(size):
        row, saved, fewer = members[m], 0.0, False
        for i in range(len(low)):
            first, last = min(low[i], room.low[m + 1, i]), max(high[i], room.high[m + 1, i])
            if (first != all_low[i] or last != all_high[i]) and size > 1:
                saved += parts[i] - loss_between(space, i, first, last)
        for w in range(len(covered)):
            fewer |= covered[w] | room.covered[m + 1, w] != all_covered[w]
        if fewer and size > 1:
            saved += of_sets - loss_of_sets(space, covered, room.covered[m + 1])
        places.without[row] = loss - saved
        widen(ends, words, low, high, covered, tuples[row])


@njit(**BARE)
def refresh_all(space: Geometry, people: PlacedRows, places: Places, room: MoveScratch) -> None:
    """Put right what is kept of all groups."""
    for g in range(len(places.sizes)):
        if places.sizes[g] > 0:
            refresh(space, people, places, g, room)


@njit(**LEAN)
def _settled(people: PlacedRows, places: Places, asked: GroupNeeds, g: int) -> bool:
    """Whether a group loses nothing, all its rows being of one tuple as far as their labels go."""
    if not asked.priced:
        return bool(places.losses[g] <= 0.0)
    t = people.tuples[places.members[g, 0]]
    for m in range(1, places.sizes[g]):  # noqa: SIM110
        if people.tuples[places.members[g, m]] != t:
            return False
    return True


@njit(**BARE)
def _varied(
    people: PlacedRows, places: Places, asked: GroupNeeds, g: int, without: int, more: int, room: MoveScratch
) -> bool:
    """Whether a group has values enough without one of its rows, and with another."""
    members = places.members[g]
    for s in range(len(asked.least)):
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


@njit(**BARE)
def _transfer(places: Places, row: int, to: int) -> None:
    """Let a row change groups; the last member takes its slot. What is kept of the groups is put right later."""
    g, slot = places.homes[row], places.slots[row]
    last = places.sizes[g] - 1
    other = places.members[g, last]
    places.members[g, slot], places.slots[other] = other, slot
    places.sizes[g] = last
    slot = places.sizes[to]
    places.members[to, slot] = row
    places.slots[row], places.homes[row] = slot, to
    places.sizes[to] = slot + 1


@njit(**LEAN)
def _cost(asked: GroupNeeds, size: int, loss: float) -> float:
    return size * (loss + asked.size_weight * size)


@njit(**LEAN)
def _joined(space: Geometry, places: Places, g: int, t: int) -> float:
    """Return what a row of a group loses once a tuple has joined it."""
    return float(loss_with(space, places.low[g], places.high[g], places.covered[g], t))


@njit(**LEAN)
def _exchanged(
    space: Geometry, people: PlacedRows, places: Places, g: int, leaving: int, t: int, room: MoveScratch
) -> float:
    """Return what a row of a group loses once one of its rows has left and a tuple has joined it.

    A row whose leaving alone changes nothing leaves the span as it is, as far as losses go. Else the others are put
    together anew.
    """
    if places.without[leaving] == places.losses[g]:
        return float(_joined(space, places, g, t))
    ends, words, tuples, members = space.ends, space.words, people.tuples, places.members
    low, high, covered = room.low[0], room.high[0], room.covered[0]
    for i in range(len(low)):
        low[i] = high[i] = ends[t, i]
    for w in range(len(covered)):
        covered[w] = words[t, w]
    for m in range(places.sizes[g]):
        if members[g, m] != leaving:
            widen(ends, words, low, high, covered, tuples[members[g, m]])
    return float(loss_with(space, low, high, covered, t))


@njit(**BARE)
def _dissolve(
    space: Geometry, people: PlacedRows, places: Places, asked: GroupNeeds, g: int, heat: float, room: MoveScratch
) -> None:
    """Give the rows of a group to groups near them, each to the one that it costs least, if that is accepted."""
    capacity, moved = places.members.shape[1] - 1, 0
    change = -_cost(asked, places.sizes[g], places.losses[g]) - _patience(heat, room.state)
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
            home = np.int64(places.homes[first + _draw(room.state, stop - first)])
            if home in (np.int64(g), to) or places.owners[home] != places.mine or places.sizes[home] == capacity:
                continue
            size, loss = places.sizes[home], _joined(space, places, home, t)
            more = _cost(asked, size + 1, loss) - _cost(asked, size, places.losses[home])
            if more < best:
                best, to = more, home
        change += best
        if to != NOBODY:
            room.moved[moved], room.other[moved] = row, to
            moved += 1
            _transfer(places, row, to)
            refresh(space, people, places, to, room)
    if change <= 0.0:
        places.spare[places.free[0]] = g
        places.free[0] += 1
        return
    for i in range(moved - 1, -1, -1):
        _transfer(places, room.moved[i], g)
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
        if home != g and size > asked.k and _varied(people, places, asked, home, at, NOBODY, room):
            change += _cost(asked, size - 1, places.without[at]) - _cost(asked, size, places.losses[home])
            room.moved[moved], room.other[moved] = at, home
            moved += 1
            _transfer(places, at, g)
            refresh(space, people, places, home, room)
        at = np.int64(NOBODY)
        while at == NOBODY and 0 < moved < asked.k and look < len(near) and near[look] != NOBODY:
            first, stop = people.starts[near[look]], people.starts[near[look] + 1]
            if first < stop:
                at = first + _draw(room.state, stop - first)
            look += 1
    if moved == asked.k and _varied(people, places, asked, g, NOBODY, NOBODY, room):
        refresh(space, people, places, g, room)
        if change + _cost(asked, moved, places.losses[g]) <= 0.0:
            places.free[0] -= 1
            return
    for i in range(moved - 1, -1, -1):
        _transfer(places, room.moved[i], room.other[i])
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
    loss = _joined(space, places, to, people.tuples[row])
    change = _cost(asked, sizes[to] + 1, loss) - _cost(asked, sizes[to], losses[to])
    change += _cost(asked, sizes[home] - 1, places.without[row]) - _cost(asked, sizes[home], losses[home])
    if change <= _patience(heat, room.state) and _varied(people, places, asked, home, row, NOBODY, room):
        _transfer(places, row, to)
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
    change = sizes[a] * (_exchanged(space, people, places, a, one, people.tuples[other], room) - losses[a])
    if change > most and not asked.priced:
        return
    change += sizes[b] * (_exchanged(space, people, places, b, other, people.tuples[one], room) - without)
    if (
        change <= most
        and _varied(people, places, asked, a, one, other, room)
        and _varied(people, places, asked, b, other, one, room)
    ):
        _transfer(places, one, b)
        _transfer(places, other, a)
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
            begin = (first + _draw(state, count)) % len(tuples)
        row = begin + _draw(state, window)
        if row >= len(tuples):
            row -= len(tuples)
        a = homes[row]
        if owners[a] != mine or _settled(people, places, asked, a):
            continue
        kind = _draw(state, 2 * RARE)
        if kind == 0:
            _dissolve(space, people, places, asked, a, heat, room)
        if kind == 1:
            _spawn(space, people, places, asked, row, heat, room)
        t = near[tuples[row], min(_draw(state, near.shape[1]), _draw(state, near.shape[1]))]
        if kind <= 1 or t == NOBODY:
            continue
        other = starts[t] + _draw(state, starts[t + 1] - starts[t])
        b = homes[other]
        if starts[t] == starts[t + 1] or b == a or owners[b] != mine:
            continue
        if sizes[a] > asked.k and sizes[b] < capacity and (kind & 1 or sizes[b] == asked.k):
            row, other, a, b = other, row, b, a
        if sizes[b] > asked.k and sizes[a] < capacity:
            _move(space, people, places, asked, other, a, heat, room)
            continue
        third, fourth = members[a, _draw(state, sizes[a])], members[a, _draw(state, sizes[a])]
        if without[fourth] < without[third]:
            third = fourth
        if tuples[third] != tuples[other]:
            _swap(space, people, places, asked, third, other, heat, room)
