"""What every set of an attribute's values would suppress, given the recodings of all others: all sets at once.

As `failing_runs`, but a block is any set of the children of a branch, written in bits. What a class that fails loses
goes to all sets that have just these rows of the context: sets that agree on the children that the context has. If
those are few, it is noted by what it adds to the sets below it (Möbius), so that one sum over subsets gives every set
what it loses in all contexts together; if they are many, it is noted for every set that agrees.

Sums and differences of so many numbers would not be exact in floats. They are whole numbers here, in units of a share
of the whole that is smaller than what floats tell apart; those wrap around and come out right in the end.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.class_rules import Counts, Watched, add, clear, counts_for, holds
from ringfence.kernels.recode.rooms import Room

UNITS = 2.0**60
"""What all rows together lack or tally, in whole numbers."""


@njit(cache=True, nogil=True)
def set_sums(  # noqa: PLR0912, PLR0915  one loop over contexts, in which every step is short
    size: int, room: Room, watched: Watched, branch: Longs, child: Longs, sizes: Longs, offsets: Longs, sums: Floats
) -> None:  # fmt: skip
    """Fill in what every set of children of a branch loses, how many rows it suppresses, and their tallies:
    `sums[set]`.

    `branch` and `child` are those of `failing_runs.run_sums`; set s of branch b, in bits, is at `offsets[b] + s`.
    Models are monotone, and losses those of cells: what holds goes on to hold, and costs nothing by itself.
    """
    counts = counts_for(watched)
    units = (_units(room.lacks[:size]), 1.0, _units(room.tallies[:size]))
    widest = 0
    for b in range(len(sizes)):
        if offsets[b + 1] > offsets[b]:
            widest = max(widest, sizes[b])
    noted, added = np.zeros((len(sums), 3), np.int64), np.zeros((len(sums), 3), np.int64)
    dense = np.zeros((1 << widest, 3), np.int64)
    failing, amounts = np.empty(1 << widest, np.int64), np.empty((1 << widest, 3), np.int64)
    begins, bits = np.empty(widest + 2, np.int64), np.empty(widest + 1, np.int64)
    own, path = np.empty((widest + 1, 3), np.int64), np.empty((widest + 2, 3), np.int64)
    chosen, following = np.empty(widest + 2, np.int64), np.empty(widest + 2, np.int64)
    for h in range(len(branch)):
        start = 0
        while start < size:
            b = branch[h, room.place[start]]
            stop = start + 1
            while stop < size and room.home[stop] == room.home[start] and branch[h, room.place[stop]] == b:
                stop += 1
            first, start = start, stop
            if b < 0:
                continue
            many, offset = 0, offsets[b]  # the children that the context has, and their entries
            for e in range(first, stop):
                if e == first or child[h, room.place[e]] != child[h, room.place[e - 1]]:
                    begins[many], bits[many], own[many] = e, child[h, room.place[e]], 0
                    many += 1
                own[many - 1, 0] += np.int64(room.lacks[e] * units[0])
                own[many - 1, 1] += room.rows[e]
                own[many - 1, 2] += np.int64(room.tallies[e] * units[2])
            begins[many] = stop
            found, depth = 0, 0
            chosen[0], following[0], path[0] = 0, 0, 0
            while depth >= 0:  # all sets that fail: whatever contains one that holds does, too
                i = following[depth]
                if i == many:
                    depth -= 1
                    continue
                following[depth] = i + 1
                rows = path[depth, 1] + own[i, 1]
                inside = chosen[depth] | 1 << i
                if rows >= watched.k and _holds(watched, counts, room, begins, inside, rows):
                    continue
                depth += 1
                path[depth] = path[depth - 1] + own[i]
                chosen[depth], following[depth] = inside, i + 1
                failing[found], amounts[found] = inside, path[depth]
                found += 1
            beyond = ((1 << sizes[b]) - 1) ^ _set_of((1 << many) - 1, bits)
            if found << (sizes[b] - many) <= many << many:
                for i in range(found):
                    with_it, more = offset + _set_of(failing[i], bits), beyond
                    while True:
                        noted[with_it + more] += amounts[i]
                        if more == 0:
                            break
                        more = (more - 1) & beyond
            else:
                dense[: 1 << many] = 0
                for i in range(found):
                    dense[failing[i]] = amounts[i]
                for bit in range(many):
                    for inside in range(1 << many):
                        if inside >> bit & 1:
                            dense[inside] -= dense[inside ^ 1 << bit]
                for inside in range(1, 1 << many):
                    added[offset + _set_of(inside, bits)] += dense[inside]
    for b in range(len(sizes)):
        offset = offsets[b]
        if offsets[b + 1] > offset:
            for bit in range(sizes[b]):
                for inside in range(1 << sizes[b]):
                    if inside >> bit & 1:
                        added[offset + inside] += added[offset + (inside ^ 1 << bit)]
    for i in range(len(sums)):
        for part in range(3):
            sums[i, part] = (noted[i, part] + added[i, part]) / units[part]


@njit(cache=True, nogil=True)
def _units(numbers: Floats) -> float:
    total = np.abs(numbers).sum()
    return UNITS / total if total > 0 else 1.0


@njit(cache=True, nogil=True)
def _set_of(inside: int, bits: Longs) -> int:
    """Return the children that some of those of a context are, in bits."""
    found, i = 0, 0
    while inside >> i:
        if inside >> i & 1:
            found |= 1 << bits[i]
        i += 1
    return found


@njit(cache=True, nogil=True)
def _holds(watched: Watched, counts: Counts, room: Room, begins: Longs, inside: int, rows: int) -> bool:
    """Whether a class of at least k rows holds by the other models, too."""
    if len(watched.kind) == 0:
        return True
    met, i = 0, 0
    while inside >> i:
        if inside >> i & 1:
            for entry in range(room.begin[begins[i]], room.begin[begins[i + 1]]):
                met = add(watched, counts, room.order[entry], met)
        i += 1
    found = holds(watched, counts, rows)
    clear(counts, met)
    return found


@njit(cache=True, nogil=True)
def set_totals(
    starts: Longs, sizes: Longs, offsets: Longs, merges: Bools, sums: Floats, alone: Floats, whole: Floats, out: Floats
) -> None:
    """Fill in the sum of each set of children, as `run_covers.run_totals` does of each run."""
    for b in range(len(sizes)):
        if not merges[b]:
            continue
        start, offset = starts[b], offsets[b]
        out[offset] = 0.0
        for i in range(sizes[b]):
            for inside in range(1 << i):
                out[offset + (1 << i) + inside] = out[offset + inside] + sums[start + i]
        for i in range(sizes[b]):
            out[offset + (1 << i)] = alone[start + i]
        if not np.isnan(whole[b]):
            out[offsets[b + 1] - 1] = whole[b]


@njit(cache=True, nogil=True)
def set_ends(
    starts: Longs, sizes: Longs, offsets: Longs, merges: Bools, low: Floats, high: Floats, lows: Floats, highs: Floats
) -> None:
    """Fill in the smallest and the largest number of each set of children, by those of every child."""
    for b in range(len(sizes)):
        if not merges[b]:
            continue
        start, offset = starts[b], offsets[b]
        lows[offset], highs[offset] = np.inf, -np.inf
        for i in range(sizes[b]):
            for inside in range(1 << i):
                lows[offset + (1 << i) + inside] = min(lows[offset + inside], low[start + i])
                highs[offset + (1 << i) + inside] = max(highs[offset + inside], high[start + i])
