"""What every block of an attribute would suppress, given the recodings of all others: all blocks at once.

*Contexts* are what the other attributes tell apart. Tuples are sorted by context and by place, the place of their value
among those of the attribute. Within a context, a run of places is a class. What a class that fails loses goes to all
runs of places that have just these rows of the context: a rectangle of (first, last) pairs, whose corners are noted in
an array of differences, so that sums over it give every run what it would lose in all contexts together. Under a model
that goes on to hold once it does, only short runs fail: about k steps for each tuple.
"""

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.class_rules import (
    CELLS,
    SQUARES,
    Watched,
    add_values,
    clear,
    counts_for,
    holds,
    lasts,
    own_cost,
)
from ringfence.kernels.recode.rooms import Room
from ringfence.kernels.recode.run_squares import add_squares

EMPTY = -1
MIXED = np.int64(-7046029254386353131)


@njit(cache=True, nogil=True)
def contexts_of(keys: Longs, codes: Ints, own: Longs, room: Room) -> int:
    """Number the contexts, keys without an attribute's own part; return how many there are."""
    slots, heads, mask, size = room.slots, room.heads, len(room.slots) - 1, 0
    slots[:] = EMPTY
    for t in range(len(keys)):
        key = keys[t] - own[codes[t]]
        mixed = key * MIXED
        slot = (mixed ^ (mixed >> 32)) & mask
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = size
                heads[size] = key
                room.context[t] = size
                size += 1
                break
            if heads[found] == key:
                room.context[t] = found
                break
            slot = (slot + 1) & mask
    return size


@njit(cache=True, nogil=True)
def by_place(codes: Ints, place: Longs, places: int, order: Ints) -> None:
    """Fill in the tuples in the order of their places."""
    starts = np.zeros(places + 1, np.int64)
    for t in range(len(codes)):
        starts[place[codes[t]] + 1] += 1
    for p in range(places):
        starts[p + 1] += starts[p]
    for t in range(len(codes)):
        p = place[codes[t]]
        order[starts[p]] = t
        starts[p] += 1


@njit(cache=True, nogil=True)
def entries_of(
    contexts: int, placed: Ints, codes: Ints, place: Longs, weights: Longs, total: Floats, own: Floats, tally: Floats,
    room: Room,
) -> tuple[int, float]:  # fmt: skip
    """Sort tuples, which are `placed` in the order of their places, by context, and add up those that agree; return how
    many entries there are, and what the cells of all other attributes lose.

    `total[t]` is the loss of tuple t's cells and `own[leaf]` the attribute's part of it. A row that is suppressed lacks
    the rest to 1. `tally[leaf]` is added up by row, too.
    """
    tuples, starts, order = len(codes), room.starts, room.order
    starts[: contexts + 1] = 0
    for t in range(tuples):
        starts[room.context[t] + 1] += 1
    for c in range(contexts):
        starts[c + 1] += starts[c]
    for i in range(tuples):
        t = placed[i]
        c = room.context[t]
        order[starts[c]] = t
        starts[c] += 1
    size, base, last_context, last_place = -1, 0.0, -1, np.int64(-1)
    for i in range(tuples):
        t = order[i]
        c, leaf = room.context[t], codes[t]
        p = place[leaf]
        if c != last_context or p != last_place:
            last_context, last_place = c, p
            size += 1
            room.home[size], room.place[size], room.begin[size] = c, p, i
            room.rows[size], room.lacks[size], room.tallies[size] = 0, 0.0, 0.0
        lost = total[t] - own[leaf]
        weight = weights[t]
        base += weight * lost
        room.rows[size] += weight
        room.lacks[size] += weight * (1.0 - lost)
        room.tallies[size] += weight * tally[leaf]
    room.begin[size + 1] = tuples
    return size + 1, base


@njit(cache=True, nogil=True)
def shift(codes: Ints, keys: Longs, by_key: Longs, total: Floats, by_loss: Floats) -> None:
    """Change what tuples have of an attribute in their keys and losses."""
    for t in range(len(codes)):
        keys[t] += by_key[codes[t]]
        total[t] += by_loss[codes[t]]


@njit(cache=True, nogil=True)
def run_sums(  # noqa: PLR0912, PLR0915  one loop, in which every step is short
    size: int, room: Room, watched: Watched, branch: Longs, child: Longs, sizes: Longs, offsets: Longs,
    sums: Floats,
) -> None:  # fmt: skip
    """Add up what every run of children of a branch loses, how many rows it suppresses, and their tallies: `sums[run]`.

    `branch[h, p]` is the branch over place p in row h, if it has one (else -1), and `child[h, p]` which of its
    `sizes[b]` children; the run from i to j is at `offsets[b] + i * (sizes[b] + 1) + j`. Branches that merge nothing
    have no runs.
    """
    counts = counts_for(watched)
    costs = watched.cost not in (CELLS, SQUARES)
    stops = watched.monotone and not costs
    square = watched.scale if watched.cost == SQUARES else 0.0
    watches, asks = len(watched.values) > 0, len(watched.kind) > 0
    starts, values, weights, first_value = watched.starts, watched.values, watched.weights, watched.first
    of, different, logs, largest, touched = counts.of, counts.different, counts.logs, counts.largest, counts.touched
    for h in range(len(branch)):
        start = 0
        while start < size:
            b = branch[h, room.place[start]]
            stop = start + 1
            while stop < size and room.home[stop] == room.home[start] and branch[h, room.place[stop]] == b:
                stop += 1
            if b >= 0:
                width, offset = sizes[b] + 1, offsets[b]
                before = 0
                for a in range(start, stop):
                    first = child[h, room.place[a]]
                    if a > start and child[h, room.place[a - 1]] == first:
                        continue
                    rows, lacks, tallies, met = 0, 0.0, 0.0, 0
                    held, same = False, 0.0  # up to so many rows, by what was judged last
                    for e in range(a, stop):
                        rows += room.rows[e]
                        lacks += room.lacks[e]
                        tallies += room.tallies[e]
                        if watches:
                            for i in range(room.begin[e], room.begin[e + 1]):
                                met = add_values(
                                    starts, values, weights, first_value, watched.entropic, of, different, logs,
                                    largest, touched, room.order[i], met,
                                )  # fmt: skip
                        last = child[h, room.place[e]]
                        beyond = width - 1
                        if e + 1 < stop:
                            beyond = child[h, room.place[e + 1]]
                            if beyond == last:
                                continue
                        low, high = offset + before * width, offset + (first + 1) * width
                        if rows > same:
                            lasting = np.inf if rows >= watched.k else float(rows - watched.k)
                            if asks and rows >= watched.k:
                                lasting = lasts(watched, counts, rows)
                            held, same = lasting >= 0, rows + (lasting if lasting >= 0 else -1 - lasting)
                        if held:
                            if stops:
                                break
                            if costs:
                                corner(sums, low, high, last, beyond, own_cost(watched, counts, rows))
                        else:
                            lost = lacks - square * rows * rows  # which is added below, for all
                            corners(sums, low, high, last, beyond, lost, float(rows), tallies)
                    if watches:
                        clear(counts, met)
                    before = first + 1
            start = stop
    for b in range(len(sizes)):
        if offsets[b + 1] > offsets[b]:
            summed(sums, offsets[b], sizes[b])
    if watched.cost == SQUARES:
        add_squares(size, room, watched.scale, branch, child, sizes, offsets, sums)


@njit(cache=True, nogil=True, inline="always")
def corners(
    sums: Floats, low: int, high: int, last: int, beyond: int, lost: float, gone: float, tallied: float
) -> None:
    """Note amounts for all runs whose first child is in one range and whose last is in another."""
    for run, sign in ((low + last, 1.0), (high + last, -1.0), (low + beyond, -1.0), (high + beyond, 1.0)):
        sums[run, 0] += sign * lost
        sums[run, 1] += sign * gone
        sums[run, 2] += sign * tallied


@njit(cache=True, nogil=True, inline="always")
def corner(sums: Floats, low: int, high: int, last: int, beyond: int, lost: float) -> None:
    """Note only what they lose."""
    sums[low + last, 0] += lost
    sums[high + last, 0] -= lost
    sums[low + beyond, 0] -= lost
    sums[high + beyond, 0] += lost


@njit(cache=True, nogil=True)
def summed(sums: Floats, offset: int, size: int) -> None:
    """Turn differences into what they are the differences of."""
    width = size + 1
    for i in range(width):
        row = offset + i * width
        lost, gone, tallied = 0.0, 0.0, 0.0
        for j in range(row, row + width):
            lost += sums[j, 0]
            gone += sums[j, 1]
            tallied += sums[j, 2]
            sums[j, 0], sums[j, 1], sums[j, 2] = lost, gone, tallied
            if i > 0:
                sums[j, 0] += sums[j - width, 0]
                sums[j, 1] += sums[j - width, 1]
                sums[j, 2] += sums[j - width, 2]


@njit(cache=True, nogil=True)
def node_sums(size: int, room: Room, watched: Watched, node: Longs, sums: Floats) -> None:
    """Add up what every node loses as a block, how many rows it suppresses, and their tallies: `sums[block]`.

    `node[h, p]` is the node over place p in row h, -1 for none. Places under one node stand side by side.
    """
    counts = counts_for(watched)
    watches, asks = len(watched.values) > 0, len(watched.kind) > 0
    starts, values, weights, first_value = watched.starts, watched.values, watched.weights, watched.first
    of, different, logs, largest, touched = counts.of, counts.different, counts.logs, counts.largest, counts.touched
    for h in range(len(node)):
        e = 0
        while e < size:
            block, home = node[h, room.place[e]], room.home[e]
            rows, lacks, tallies, met = 0, 0.0, 0.0, 0
            while e < size and room.home[e] == home and node[h, room.place[e]] == block:
                rows += room.rows[e]
                lacks += room.lacks[e]
                tallies += room.tallies[e]
                if watches and block >= 0:
                    for i in range(room.begin[e], room.begin[e + 1]):
                        met = add_values(
                            starts, values, weights, first_value, watched.entropic, of, different, logs, largest,
                            touched, room.order[i], met,
                        )  # fmt: skip
                e += 1
            if block >= 0:
                if rows >= watched.k and (not asks or holds(watched, counts, rows)):
                    sums[block, 0] += own_cost(watched, counts, rows)
                else:
                    sums[block, 0] += lacks
                    sums[block, 1] += rows
                    sums[block, 2] += tallies
                if met > 0:
                    clear(counts, met)
