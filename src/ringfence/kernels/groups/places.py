"""Places: which row is in which group, while rows change groups, and what these lose.

A *row* here is one of the rows of a tuple; rows of one tuple and the same sensitive values are alike. Groups have from
k rows to as many as there is room for, and of each sensitive attribute as many different values as is asked.

For each group its span is kept, and for each row what its group would lose without it. So most changes are weighed
without looking at the other rows of a group; what was kept is put right when a change is made.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry, loss_between, loss_of_sets, loss_with, widen

NOBODY = -1


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
def draw(state: Words, below: int) -> np.int64:
    """Return a number from 0 to before `below`, by xorshift64* (Vigna 2016)."""
    word = state[0]
    word ^= word >> np.uint64(12)
    word ^= word << np.uint64(25)
    word ^= word >> np.uint64(27)
    state[0] = word
    return np.int64(((word * np.uint64(2685821657736338717)) >> np.uint64(32)) * np.uint64(below) >> np.uint64(32))


@njit(**LEAN)
def clear(low: Ints, high: Ints, covered: Words) -> None:
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
    clear(room.low[size], room.high[size], room.covered[size])
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
    clear(low, high, covered)
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
def settled(people: PlacedRows, places: Places, asked: GroupNeeds, g: int) -> bool:
    """Whether a group loses nothing, all its rows being of one tuple as far as their labels go."""
    if not asked.priced:
        return bool(places.losses[g] <= 0.0)
    t = people.tuples[places.members[g, 0]]
    for m in range(1, places.sizes[g]):  # noqa: SIM110
        if people.tuples[places.members[g, m]] != t:
            return False
    return True


@njit(**BARE)
def varied(
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
def transfer(places: Places, row: int, to: int) -> None:
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
def group_cost(asked: GroupNeeds, size: int, loss: float) -> float:
    """Return what a group of so many rows costs that lose so much each."""
    return size * (loss + asked.size_weight * size)


@njit(**LEAN)
def joined(space: Geometry, places: Places, g: int, t: int) -> float:
    """Return what a row of a group loses once a tuple has joined it."""
    return float(loss_with(space, places.low[g], places.high[g], places.covered[g], t))


@njit(**LEAN)
def exchanged(
    space: Geometry, people: PlacedRows, places: Places, g: int, leaving: int, t: int, room: MoveScratch
) -> float:
    """Return what a row of a group loses once one of its rows has left and a tuple has joined it.

    A row whose leaving alone changes nothing leaves the span as it is, as far as losses go. Else the others are put
    together anew.
    """
    if places.without[leaving] == places.losses[g]:
        return float(joined(space, places, g, t))
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
