"""Groups made anew: the rows of a few groups that lie together are divided among groups again, more or less at random.

Then chains (`chains`) run from all rows of groups that changed, as long as any gains. If all of it together loses more
than there was lost before, it is undone. So what was found is never lost, and whoever stops has the best groups so far
(Schrimpf and others 2000 call it ruin and recreate).
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.groups.chains import TINY, Chains, improve, refresh_moved, take_back
from ringfence.kernels.groups.places import (
    NOBODY,
    GroupNeeds,
    MoveScratch,
    PlacedRows,
    Places,
    clear,
    draw,
    group_cost,
    settled,
)
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry, loss_with, widen

POOLED, PAIRS = 4, 4
"""So many groups are pooled at most: that many one time in `PAIRS`, else two."""
FEWER = 16
"""One in so many times the pooled rows are put into fewer groups than they would fill."""
LOOKS = 40
"""From so many rows a chain is looked for at most."""
LINKS, MOVES = 2_000, 4_000
"""So many links are kept of a search, and so many moves noted, beside those of pooled rows."""
WINDOW, STAY = 512, 16
"""So many rows in line are a window, in which so many groups are made anew before another one is drawn: what they look
at is still at hand then."""


class Pool(NamedTuple):
    """Rows that are divided anew: the first of `rows` stand in no part yet, row i of the others in part `part[i]`.

    `groups` are those whose rows they are, and one more. Part p has `sizes[p]` rows and spans `low[p]`, `high[p]` and
    `covered[p]`; a row of it loses `losses[p]`. `lacks` are the values that it needs beside those it has, by attribute.

    Rows that chains are to be looked for from are in a `queue`, those who wait there `waiting`.
    """

    rows: Ints
    part: Ints
    groups: Ints
    sizes: Longs
    low: Ints
    high: Ints
    covered: Words
    losses: Floats
    lacks: Longs
    queue: Ints
    waiting: Bools


def new_pool(capacity: int, ends: int, words: int, sensitive: int, rows: int) -> Pool:
    """Return room to divide the rows of a few groups, each of as many as it may have, of so many rows in all."""
    pooled = POOLED * capacity
    return Pool(
        rows=np.empty(pooled, np.int32),
        part=np.empty(pooled, np.int32),
        groups=np.empty(POOLED + 1, np.int32),
        sizes=np.empty(POOLED + 1, np.int64),
        low=np.empty((POOLED + 1, ends), np.int32),
        high=np.empty((POOLED + 1, ends), np.int32),
        covered=np.empty((POOLED + 1, words), np.uint64),
        losses=np.empty(POOLED + 1),
        lacks=np.empty(sensitive, np.int64),
        queue=np.empty(MOVES + 2 * pooled, np.int32),
        waiting=np.zeros(rows, np.bool_),
    )


@njit(**BARE)
def _gather(people: PlacedRows, places: Places, g: np.int64, pool: Pool, room: MoveScratch) -> tuple[int, int]:
    """Pool the rows of a group and of some near it; return how many groups and rows there are."""
    near, starts, state = people.near, people.starts, room.state
    most = POOLED if draw(state, PAIRS) == 0 else 2
    count, rows = 0, 0
    for attempt in range(4 * most):
        if attempt > 0:
            t = near[
                people.tuples[pool.rows[draw(state, rows)]], min(draw(state, near.shape[1]), draw(state, near.shape[1]))
            ]
            if t == NOBODY or starts[t] == starts[t + 1]:
                continue
            g = np.int64(places.homes[starts[t] + draw(state, starts[t + 1] - starts[t])])
        known = places.owners[g] != places.mine
        for i in range(count):
            known |= pool.groups[i] == g
        if known:
            continue
        pool.groups[count] = g
        count += 1
        for m in range(places.sizes[g]):
            pool.rows[rows] = places.members[g, m]
            rows += 1
        if count == most:
            break
    return count, rows


@njit(**LEAN)
def _take(space: Geometry, people: PlacedRows, p: int, at: int, left: int, pool: Pool, room: MoveScratch) -> int:
    """Put row `at` of those that are left into a part; return how many are left then."""
    left -= 1
    row = pool.rows[at]
    pool.rows[at], pool.rows[left], pool.part[left] = pool.rows[left], row, p
    widen(space.ends, space.words, pool.low[p], pool.high[p], pool.covered[p], people.tuples[row])
    pool.sizes[p] += 1
    for s in range(len(pool.lacks)):
        value = people.values[row, s]
        pool.lacks[s] -= room.seen[value] != room.stamp[0]
        room.seen[value] = room.stamp[0]
    return left


@njit(**LEAN)
def _useful(people: PlacedRows, asked: GroupNeeds, p: int, row: int, pool: Pool, room: MoveScratch) -> bool:
    """Whether a part with a row can still get all values that it needs, without having more rows than it must."""
    free = max(1, asked.k - pool.sizes[p])
    for s in range(len(pool.lacks)):
        if pool.lacks[s] >= free and room.seen[people.values[row, s]] == room.stamp[0]:
            return False
    return True


@njit(**LEAN)
def _lacking(asked: GroupNeeds, p: int, pool: Pool) -> bool:
    """Whether a part needs rows or values."""
    for s in range(len(pool.lacks)):
        if pool.lacks[s] > 0:
            return True
    return bool(pool.sizes[p] < asked.k)


@njit(**LEAN)
def _nearest(
    space: Geometry, people: PlacedRows, asked: GroupNeeds, p: int, left: int, pool: Pool, room: MoveScratch
) -> np.int64:
    """Return which of the rows that are left a part loses least with, of those that it can use; any to begin with."""
    best, chosen = np.inf, np.int64(NOBODY)
    if pool.sizes[p] == 0 and left > 0:
        return draw(room.state, left)
    for i in range(left):
        if _useful(people, asked, p, pool.rows[i], pool, room):
            t = people.tuples[pool.rows[i]]
            loss = loss_with(space, pool.low[p], pool.high[p], pool.covered[p], t)
            if loss < best:
                best, chosen = loss, np.int64(i)
    pool.losses[p] = best
    return chosen


@njit(**LEAN)
def _cheapest(
    space: Geometry, people: PlacedRows, asked: GroupNeeds, parts: int, capacity: int, row: int, pool: Pool
) -> np.int64:
    """Return the part that a row costs least to join."""
    least, best, chosen = np.inf, 0.0, np.int64(NOBODY)
    for p in range(parts):
        if pool.sizes[p] < capacity:
            loss = loss_with(space, pool.low[p], pool.high[p], pool.covered[p], people.tuples[row])
            more = group_cost(asked, pool.sizes[p] + 1, loss) - group_cost(asked, pool.sizes[p], pool.losses[p])
            if more < least:
                least, best, chosen = more, loss, np.int64(p)
    if chosen != NOBODY:
        pool.losses[chosen] = best
    return chosen


@njit(**BARE)
def _divide(
    space: Geometry,
    people: PlacedRows,
    asked: GroupNeeds,
    parts: int,
    rows: int,
    capacity: int,
    pool: Pool,
    room: MoveScratch,
) -> bool:
    """Divide the pooled rows: a part begins with any of them, and takes those that it loses least with until it has all
    it needs; rows that are left over go where they cost least. Return whether that was possible."""
    left = rows
    for p in range(parts):
        clear(pool.low[p], pool.high[p], pool.covered[p])
        pool.sizes[p], pool.losses[p] = 0, 0.0
        room.stamp[0] += 1
        for s in range(len(pool.lacks)):
            pool.lacks[s] = asked.least[s]
        while _lacking(asked, p, pool):
            chosen = _nearest(space, people, asked, p, left, pool, room)
            if chosen == NOBODY or pool.sizes[p] == capacity:
                return False
            left = _take(space, people, p, chosen, left, pool, room)
    while left > 0:
        chosen = _cheapest(space, people, asked, parts, capacity, pool.rows[left - 1], pool)
        if chosen == NOBODY:
            return False
        left = _take(space, people, chosen, left - 1, left, pool, room)
    return True


@njit(**BARE)
def _settle_in(places: Places, chains: Chains, rows: int, pool: Pool, count: int) -> None:
    """Let the rows that were moved first enter their groups, which had lost all of theirs."""
    for i in range(count):
        places.sizes[pool.groups[i]] = 0
    for i in range(rows):
        row, g = chains.moved[i], chains.whither[i]
        slot = places.sizes[g]
        places.members[g, slot] = row
        places.homes[row], places.slots[row] = g, slot
        places.sizes[g] = slot + 1


@njit(**BARE)
def _deal(places: Places, chains: Chains, rows: int, pool: Pool, count: int, parts: int) -> None:
    """Let the pooled rows of `count` groups go where they were divided to: a part more than that is a spare group."""
    if parts > count:
        places.free[0] -= 1
        pool.groups[count] = places.spare[places.free[0]]
    for i in range(rows):
        row = pool.rows[i]
        chains.moved[i], chains.whence[i], chains.whither[i] = row, places.homes[row], pool.groups[pool.part[i]]
    chains.noted[0] = rows
    _settle_in(places, chains, rows, pool, max(count, parts))
    for p in range(parts, count):
        places.spare[places.free[0]] = pool.groups[p]
        places.free[0] += 1


@njit(**BARE)
def _deal_back(places: Places, chains: Chains, rows: int, pool: Pool, count: int, parts: int) -> None:
    """Let them go back."""
    for i in range(rows):
        chains.whence[i], chains.whither[i] = chains.whither[i], chains.whence[i]
    _settle_in(places, chains, rows, pool, max(count, parts))
    if parts > count:
        places.spare[places.free[0]] = pool.groups[count]
        places.free[0] += 1
    places.free[0] -= max(0, count - parts)


@njit(**LEAN)
def _cost(places: Places, asked: GroupNeeds, pool: Pool, count: int) -> float:
    """Return what the first of the pooled groups cost together."""
    total = 0.0
    for i in range(count):
        total += group_cost(asked, places.sizes[pool.groups[i]], places.losses[pool.groups[i]])
    return total


@njit(**LEAN)
def _wait(places: Places, chains: Chains, begin: int, held: int, pool: Pool) -> int:
    """Put the rows of all groups between which rows moved, from some move on, into the queue; return how many it has
    had then. What does not fit is left out."""
    chains.clocks[1] += 1
    for i in range(begin, chains.noted[0]):
        for g in (chains.whence[i], chains.whither[i]):
            if chains.met[g] == chains.clocks[1]:
                continue
            chains.met[g] = chains.clocks[1]
            for m in range(places.sizes[g]):
                row = places.members[g, m]
                if not pool.waiting[row] and held < len(pool.queue):
                    pool.waiting[row] = True
                    pool.queue[held] = row
                    held += 1
    return held


@njit(**BARE)
def _run_chains(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    held: int,
    chains: Chains,
    pool: Pool,
    room: MoveScratch,
) -> float:
    """Look for chains from the rows that wait, and those that come to wait by it; return what that changes."""
    change, at = 0.0, 0
    while at < held:
        row = np.int64(pool.queue[at])
        pool.waiting[row] = False
        at += 1
        if settled(people, places, asked, places.homes[row]):
            continue
        begin = chains.noted[0]
        gained = improve(space, people, places, asked, row, LOOKS, chains, room)
        if gained < 0.0:
            change += gained
            held = _wait(places, chains, begin, held, pool)
    return change


@njit(**BARE)
def tidy(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    first: int,
    count: int,
    chains: Chains,
    pool: Pool,
    room: MoveScratch,
) -> None:
    """Look for chains from so many rows on, beginning with the `first`; from the last row it goes on to row 0."""
    for i in range(count):
        row = (first + i) % len(people.tuples)
        if places.owners[places.homes[row]] == places.mine:
            pool.queue[0], pool.waiting[row], chains.noted[0] = row, True, 0
            _run_chains(space, people, places, asked, 1, chains, pool, room)


@njit(**BARE)
def remake(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    first: int,
    count: int,
    times: int,
    chains: Chains,
    pool: Pool,
    room: MoveScratch,
) -> None:
    """Make groups anew so many times, where a row in windows that begin at any of `count` rows from the `first` on
    loses something."""
    capacity, begin, state = places.members.shape[1] - 1, np.int64(0), room.state
    for turn in range(times):
        if turn % STAY == 0:
            begin = first + draw(state, count)
        g = np.int64(places.homes[(begin + draw(state, WINDOW)) % len(people.tuples)])
        if places.owners[g] != places.mine or settled(people, places, asked, g):
            continue
        groups, rows = _gather(people, places, g, pool, room)
        parts = min(rows // asked.k, groups + min(1, places.free[0]))
        if (parts - 1) * capacity >= rows and draw(state, FEWER) == 0:
            parts -= 1
        if groups == 1 or not _divide(space, people, asked, parts, rows, capacity, pool, room):
            continue
        change = -_cost(places, asked, pool, groups)
        _deal(places, chains, rows, pool, groups, parts)
        refresh_moved(space, people, places, chains, 0, room)
        change += _cost(places, asked, pool, parts)
        held = _wait(places, chains, 0, 0, pool)
        change += _run_chains(space, people, places, asked, held, chains, pool, room)
        if change > TINY:
            take_back(space, people, places, chains, rows, room)
            _deal_back(places, chains, rows, pool, groups, parts)
            refresh_moved(space, people, places, chains, 0, room)
