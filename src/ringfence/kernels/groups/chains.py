"""Chains: a row takes another's place in its group, that one a third's in another group, and so on.

The last row takes the place that the first one left, or joins a group as one more if the first could be spared. No
group is met twice, so what a chain changes is the sum of what its links change, and the best one is a shortest path
from row to row. Links may cost less than nothing, so it is not found for certain; but all links of a chain that gains
something can be gone through, beginning at the right one, without ever having lost more than was gained so far (Lin and
Kernighan 1973). So only rows are looked at that are reached at less cost than the first row's leaving gained, nearest
first. Mostly these are few.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
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
    transfer,
    varied,
)
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry

TINY = 1e-12
"""What is gained by less may be due to rounding."""
ROWS_OF_A_TUPLE = 3
"""So many rows of a near tuple are looked at: others mostly are in groups of their own."""
LONGEST = 40


class Chains(NamedTuple):
    """Room for a search of chains, and what was moved.

    Link i ends with row `rows[i]`, which has to leave group `entered[i]`, where `rows[parent[i]]` takes its place; up
    to there the chain has `length[i]` links and costs `cost[i]`. There are `links[0]`; those that were not gone on from
    are in a `heap`, the cheapest first, `waiting[0]` of them. The best chain changes what is lost by `best[0]`, and its
    last link and whither that one's row goes are its `end`. Row r was `reached[r]` in the search of that number, at
    cost `least[r]`; group g was `met[g]` by the look of that number. `clocks` are the numbers of the search and of the
    look.

    Moves are noted one behind the other, the first `noted[0]`: who moved whence and whither.
    """

    rows: Ints
    entered: Ints
    parent: Ints
    length: Ints
    cost: Floats
    links: Longs
    heap: Ints
    waiting: Longs
    best: Floats
    end: Longs
    reached: Longs
    least: Floats
    met: Longs
    clocks: Longs
    moved: Ints
    whence: Ints
    whither: Ints
    noted: Longs


def new_chains(rows: int, groups: int, links: int, moves: int) -> Chains:
    """Return room for chains among so many rows and groups, searched by so many links, and for some moves."""
    return Chains(
        rows=np.empty(links, np.int32),
        entered=np.empty(links, np.int32),
        parent=np.empty(links, np.int32),
        length=np.empty(links, np.int32),
        cost=np.empty(links),
        links=np.zeros(1, np.int64),
        heap=np.empty(links, np.int32),
        waiting=np.zeros(1, np.int64),
        best=np.zeros(1),
        end=np.zeros(2, np.int64),
        reached=np.zeros(rows, np.int64),
        least=np.empty(rows),
        met=np.zeros(groups, np.int64),
        clocks=np.zeros(2, np.int64),
        moved=np.empty(moves, np.int32),
        whence=np.empty(moves, np.int32),
        whither=np.empty(moves, np.int32),
        noted=np.zeros(1, np.int64),
    )


@njit(**LEAN)
def _push(chains: Chains, link: int) -> None:
    """Add a link to the heap."""
    heap, cost, at = chains.heap, chains.cost, chains.waiting[0]
    while at > 0 and cost[heap[(at - 1) // 2]] > cost[link]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = link
    chains.waiting[0] += 1


@njit(**LEAN)
def _pop(chains: Chains) -> np.int64:
    """Take the cheapest link out of the heap."""
    heap, cost, at = chains.heap, chains.cost, 0
    chains.waiting[0] -= 1
    first, held = np.int64(heap[0]), chains.waiting[0]
    last = heap[held]
    while 2 * at + 1 < held:
        kid = 2 * at + 1
        if kid + 1 < held and cost[heap[kid + 1]] < cost[heap[kid]]:
            kid += 1
        if cost[heap[kid]] >= cost[last]:
            break
        heap[at] = heap[kid]
        at = kid
    heap[at] = last
    return first


@njit(**LEAN)
def _meets(chains: Chains, link: int, g: int) -> bool:
    """Whether a chain up to some link has entered a group."""
    at = np.int64(link)
    while at > 0:
        if chains.entered[at] == g:
            return True
        at = np.int64(chains.parent[at])
    return False


@njit(**LEAN)
def _end(chains: Chains, link: int, to: int, change: float) -> None:
    """Note a chain that ends with a link whose row goes to some group, if it is the best so far."""
    if change < chains.best[0]:
        chains.best[0], chains.end[0], chains.end[1] = change, link, to


@njit(**LEAN)
def _enter(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    link: int,
    g: int,
    left: float,
    gain: float,
    chains: Chains,
    room: MoveScratch,
) -> None:
    """Let a link's row enter a group, as one more, or in the place of any member: these are new links.

    A member is passed over if its place costs too much even if that saves all that the group would lose less without
    the member. Where one value more costs no less the fewer there are, as in ranges and sets, it cannot save more, and
    in trees it hardly does.
    """
    tuples, size, loss = people.tuples, places.sizes[g], places.losses[g]
    row, cost, search = chains.rows[link], chains.cost[link], chains.clocks[0]
    t = tuples[row]
    with_it = joined(space, places, g, t)
    if size < places.members.shape[1] - 1:
        _end(chains, link, g, left + cost + group_cost(asked, size + 1, with_it) - group_cost(asked, size, loss))
    if chains.length[link] == LONGEST:
        return
    for m in range(size):
        other = np.int64(places.members[g, m])
        saved = loss - places.without[other]
        further, most = cost + size * (with_it - saved - loss), gain + chains.best[0]
        if chains.reached[other] == search:
            most = min(most, chains.least[other] - TINY)
        if further < most and saved > 0.0:
            further = cost + size * (exchanged(space, people, places, g, other, t, room) - loss)
        new = chains.links[0]
        if further >= most or tuples[other] == t or new == len(chains.rows):
            continue
        if varied(people, places, asked, g, other, row, room):
            chains.rows[new], chains.entered[new], chains.parent[new] = other, g, link
            chains.length[new], chains.cost[new] = chains.length[link] + 1, further
            chains.reached[other], chains.least[other] = search, further
            chains.links[0] += 1
            _push(chains, new)


@njit(**LEAN)
def _go_on(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    link: int,
    left: float,
    gain: float,
    chains: Chains,
    room: MoveScratch,
) -> None:
    """Let a link's row enter the groups of rows near it."""
    near, starts, home = people.near[people.tuples[chains.rows[link]]], people.starts, chains.entered[0]
    chains.clocks[1] += 1
    for n in range(len(near)):
        if near[n] == NOBODY:
            break
        first, count = starts[near[n]], starts[near[n] + 1] - starts[near[n]]
        at = draw(room.state, count) if count > ROWS_OF_A_TUPLE else np.int64(0)
        for _ in range(min(count, ROWS_OF_A_TUPLE)):
            g = np.int64(places.homes[first + at])
            at = at + 1 if at + 1 < count else np.int64(0)
            if chains.met[g] != chains.clocks[1] and places.owners[g] == places.mine and g != home:
                chains.met[g] = chains.clocks[1]
                if not _meets(chains, link, g):
                    _enter(space, people, places, asked, link, g, left, gain, chains, room)


@njit(**BARE)
def _find(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    first: int,
    looks: int,
    chains: Chains,
    room: MoveScratch,
) -> None:
    """Find the best chain from a row on, going on from so many links at most."""
    home = np.int64(places.homes[first])
    size, without = places.sizes[home], places.without[first]
    before = size * places.losses[home]
    left = np.inf  # what its group changes by if nobody takes its place
    if size > asked.k and varied(people, places, asked, home, first, NOBODY, room):
        left = group_cost(asked, size - 1, without) - group_cost(asked, size, places.losses[home])
    gain = max(-left, before - size * without)
    chains.clocks[0] += 1
    chains.rows[0], chains.entered[0], chains.parent[0], chains.length[0] = first, home, NOBODY, 0
    chains.cost[0], chains.reached[first], chains.least[first] = 0.0, chains.clocks[0], 0.0
    chains.links[0], chains.waiting[0] = 1, 0
    chains.best[0], chains.end[0] = -TINY, NOBODY
    _push(chains, 0)
    while chains.waiting[0] > 0 and looks > 0:
        link = _pop(chains)
        row, cost = np.int64(chains.rows[link]), chains.cost[link]
        if cost > chains.least[row]:  # it was reached at less cost since
            continue
        if cost >= gain + chains.best[0]:
            break
        looks -= 1
        if link > 0 and varied(people, places, asked, home, first, row, room):
            with_it = exchanged(space, people, places, home, first, people.tuples[row], room)
            _end(chains, link, home, cost + size * with_it - before)
        _go_on(space, people, places, asked, link, left, gain, chains, room)


@njit(**BARE)
def refresh_moved(
    space: Geometry, people: PlacedRows, places: Places, chains: Chains, begin: int, room: MoveScratch
) -> None:
    """Put right what is kept of the groups between which rows moved, from some move on."""
    chains.clocks[1] += 1
    for i in range(begin, chains.noted[0]):
        for g in (chains.whence[i], chains.whither[i]):
            if chains.met[g] != chains.clocks[1]:
                chains.met[g] = chains.clocks[1]
                refresh(space, people, places, g, room)


@njit(**BARE)
def improve(
    space: Geometry,
    people: PlacedRows,
    places: Places,
    asked: GroupNeeds,
    row: int,
    looks: int,
    chains: Chains,
    room: MoveScratch,
) -> float:
    """Carry out the best chain found from a row on; return what it changes, which is nothing where none gains.

    Its moves are noted, the last one first: so no group ever has more than one row too many, and none too few for long.
    """
    begin = chains.noted[0]
    if begin + LONGEST >= len(chains.moved):
        return 0.0
    _find(space, people, places, asked, row, looks, chains, room)
    link, to = chains.end[0], chains.end[1]
    if link == NOBODY:
        return 0.0
    while link >= 0:
        at, mover = chains.noted[0], np.int64(chains.rows[link])
        chains.moved[at], chains.whence[at], chains.whither[at] = mover, places.homes[mover], to
        chains.noted[0] = at + 1
        transfer(places, mover, to)
        to, link = np.int64(chains.entered[link]), np.int64(chains.parent[link])
    refresh_moved(space, people, places, chains, begin, room)
    return float(chains.best[0])


@njit(**BARE)
def take_back(
    space: Geometry, people: PlacedRows, places: Places, chains: Chains, begin: int, room: MoveScratch
) -> None:
    """Undo the chains whose moves were noted from some move on."""
    for i in range(chains.noted[0] - 1, begin - 1, -1):
        transfer(places, chains.moved[i], chains.whence[i])
    refresh_moved(space, people, places, chains, begin, room)
    chains.noted[0] = begin
