"""What every run of an attribute's children would suppress, and every node: where few values are watched.

As `failing_runs`. Values are counted once, up to each entry, so that those of any class are a difference, whatever the
branch. A class is judged only where rows enough were added for it to change (`class_rules.lasts`).
"""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.class_rules import (
    CELLS,
    ENTROPY,
    MINORITY,
    SQUARES,
    Watched,
    counts_for,
    lasts_by,
    weight_log,
)
from ringfence.kernels.recode.failing_runs import corner, corners, node_sums, run_sums, summed
from ringfence.kernels.recode.rooms import Room
from ringfence.kernels.recode.run_squares import add_squares

MOST_VALUES = 64
"""Where more values than this are watched, they are not counted up to each entry."""


@njit(cache=True, nogil=True)
def all_run_sums(
    size: int, room: Room, watched: Watched, branch: Longs, child: Longs, sizes: Longs, offsets: Longs, sums: Floats
) -> None:
    """Add up what `run_sums` does, by the way that is faster."""
    if watched.first[-1] <= MOST_VALUES and len(watched.values) > 0:
        counted_run_sums(size, room, watched, branch, child, sizes, offsets, sums)
    else:
        run_sums(size, room, watched, branch, child, sizes, offsets, sums)


@njit(cache=True, nogil=True)
def all_node_sums(size: int, room: Room, watched: Watched, node: Longs, sums: Floats) -> None:
    """Add up what `node_sums` does, by the way that is faster."""
    if watched.first[-1] <= MOST_VALUES and len(watched.values) > 0:
        counted_node_sums(size, room, watched, node, sums)
    else:
        node_sums(size, room, watched, node, sums)


@njit(cache=True, nogil=True)
def _counted(size: int, room: Room, watched: Watched) -> Longs:
    """Return how often each value is in all entries before each."""
    upto = np.empty((size + 1, watched.first[-1]), np.int64)
    upto[0] = 0
    begin, order, starts, values, weights = room.begin, room.order, watched.starts, watched.values, watched.weights
    for e in range(size):
        upto[e + 1] = upto[e]
        for i in range(begin[e], begin[e + 1]):
            t = order[i]
            for v in range(starts[t], starts[t + 1]):
                upto[e + 1, values[v]] += weights[v]
    return upto


@njit(cache=True, nogil=True)
def counted_run_sums(  # noqa: PLR0912, PLR0915  one loop, in which every step is short
    size: int, room: Room, watched: Watched, branch: Longs, child: Longs, sizes: Longs, offsets: Longs, sums: Floats
) -> None:
    """Add up what `run_sums` does."""
    upto, squares, widest = _counted(size, room, watched), watched.cost == SQUARES, sizes.max()
    counts = counts_for(watched)
    of, moved, k = counts.of, counts.moved, watched.k
    kind, part, least, factor = watched.kind, watched.part, watched.least, watched.factor
    first, shares, ranks = watched.first, watched.shares, watched.ranks
    root, parent, height = watched.root, watched.parent, watched.height
    home, place, own_rows, own_lacks, own_tallies = room.home, room.place, room.rows, room.lacks, room.tallies
    met, begins = np.empty(widest + 1, np.int64), np.empty(widest + 1, np.int64)
    rows, lacks, tallies = np.zeros(widest + 1, np.int64), np.zeros(widest + 1), np.zeros(widest + 1)
    labels = (first[watched.labels], first[watched.labels + 1]) if watched.cost == MINORITY else (0, 0)
    asks, costs = len(kind) > 0, watched.cost not in (CELLS, SQUARES)
    stops = watched.monotone and not costs
    scale, square = watched.scale, watched.scale if squares else 0.0
    for h in range(len(branch)):
        start = 0
        while start < size:
            b, here, many, e = branch[h, place[start]], home[start], 0, start
            while e < size and home[e] == here and branch[h, place[e]] == b:
                if b >= 0:
                    c = child[h, place[e]]
                    if many == 0 or met[many - 1] != c:
                        met[many], begins[many] = c, e
                        many += 1
                        rows[many], lacks[many], tallies[many] = rows[many - 1], lacks[many - 1], tallies[many - 1]
                    rows[many] += own_rows[e]
                    lacks[many] += own_lacks[e]
                    tallies[many] += own_tallies[e]
                e += 1
            start = e
            if b < 0:
                continue
            begins[many] = e
            offset, width, before = offsets[b], sizes[b] + 1, 0
            for i in range(many):
                low, high = offset + before * width, offset + (met[i] + 1) * width
                before, j = met[i] + 1, i + 1
                while j <= many:
                    own = rows[j] - rows[i]
                    same = np.inf if own >= k else float(own - k)
                    if asks and own >= k:
                        same = _lasts(
                            kind,
                            part,
                            least,
                            factor,
                            first,
                            shares,
                            ranks,
                            root,
                            parent,
                            height,
                            of,
                            moved,
                            upto,
                            begins[i],
                            begins[j],
                            own,
                        )
                    if same >= 0 and stops:
                        break
                    most = rows[j] + (same if same >= 0 else -1 - same)
                    while j <= many and rows[j] <= most:
                        own, beyond = rows[j] - rows[i], met[j] if j < many else width - 1
                        if same < 0:
                            lost = lacks[j] - lacks[i] - square * own * own
                            corners(sums, low, high, met[j - 1], beyond, lost, float(own), tallies[j] - tallies[i])
                        elif costs:
                            cost = -scale
                            if labels[1] > 0:
                                cost = scale * (own - _largest(upto, begins[i], begins[j], labels[0], labels[1]))
                            corner(sums, low, high, met[j - 1], beyond, cost)
                        j += 1
    for b in range(len(sizes)):
        if offsets[b + 1] > offsets[b]:
            summed(sums, offsets[b], sizes[b])
    if squares:
        add_squares(size, room, watched.scale, branch, child, sizes, offsets, sums)


@njit(cache=True, nogil=True)
def _lasts(
    kind: Longs, part: Longs, least: Floats, factor: Floats, first: Longs, shares: Floats, ranks: Longs, root: Longs,
    parent: Longs, height: Floats, of: Longs, moved: Floats, upto: Longs, start: int, stop: int, rows: int,
) -> float:  # fmt: skip
    """Return what `class_rules.lasts` does, of the class of some entries."""
    least_room = np.inf
    for m in range(len(kind)):
        p = part[m]
        different, logs = 0, 0.0
        for value in range(first[p], first[p + 1]):
            weight = upto[stop, value] - upto[start, value]
            of[value] = weight
            different += weight > 0
            if kind[m] == ENTROPY:
                logs += weight_log(weight)
        room = lasts_by(
            kind[m], least[m], factor[m], different, logs, of, first[p], first[p + 1], shares, ranks, root[p],
            root[p + 1], parent, height, moved, rows,
        )  # fmt: skip
        if room < 0:
            return room
        least_room = min(least_room, room)
    return least_room


@njit(cache=True, nogil=True)
def _largest(upto: Longs, start: int, stop: int, low: int, high: int) -> int:
    """Return how often the commonest of some values is in some entries."""
    most = 0
    for value in range(low, high):
        most = max(most, upto[stop, value] - upto[start, value])
    return most


@njit(cache=True, nogil=True)
def counted_node_sums(size: int, room: Room, watched: Watched, node: Longs, sums: Floats) -> None:
    """Add up what `node_sums` does."""
    upto, counts = _counted(size, room, watched), counts_for(watched)
    of, moved, k = counts.of, counts.moved, watched.k
    kind, part, least, factor = watched.kind, watched.part, watched.least, watched.factor
    first, shares, ranks = watched.first, watched.shares, watched.ranks
    root, parent, height = watched.root, watched.parent, watched.height
    home, place, own_rows, own_lacks, own_tallies = room.home, room.place, room.rows, room.lacks, room.tallies
    for h in range(len(node)):
        e = 0
        while e < size:
            start, block, here = e, node[h, place[e]], home[e]
            rows, lacks, tallies = 0, 0.0, 0.0
            while e < size and home[e] == here and node[h, place[e]] == block:
                rows += own_rows[e]
                lacks += own_lacks[e]
                tallies += own_tallies[e]
                e += 1
            if block < 0:
                continue
            if rows >= k and (
                len(kind) == 0
                or _lasts(
                    kind,
                    part,
                    least,
                    factor,
                    first,
                    shares,
                    ranks,
                    root,
                    parent,
                    height,
                    of,
                    moved,
                    upto,
                    start,
                    e,
                    rows,
                )
                >= 0
            ):
                cost = 0.0
                if watched.cost == SQUARES:
                    cost = watched.scale * rows * rows
                elif watched.cost == MINORITY:
                    largest = _largest(upto, start, e, first[watched.labels], first[watched.labels + 1])
                    cost = watched.scale * (rows - largest)
                elif watched.cost != CELLS:
                    cost = -watched.scale
                sums[block, 0] += cost
            else:
                sums[block, 0] += lacks
                sums[block, 1] += rows
                sums[block, 2] += tallies
