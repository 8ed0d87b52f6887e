"""Clusters split: what took in a rest that could not make a cluster may be two clusters in another way.

A cell that loses little may use up what the rest would have needed, such as the only other sensitive value nearby. The
rest then joins clusters that were not made for it, and all of them lose more. Around another seed the same tuples may
fall into two clusters that hold and lose less together.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.cells import ClusterNeeds, Trees, loss_with, lowest_over, suffice
from ringfence.kernels.groups.growth import NEVER, NOWHERE, Tuples

MOST_SPLIT = 400
"""Clusters of more tuples are left as they are: a split looks at pairs of tuples, again and again."""


class SplitRoom(NamedTuple):
    """Room for a split: which tuples are in the first part, as it is tried and at its best, and what a part covers."""

    first: Bools
    best: Bools
    nodes: Ints
    seen: Bools
    distinct: Longs


@njit(cache=True, nogil=True)
def split_clusters(start: int, stop: int, trees: Trees, tuples: Tuples, asked: ClusterNeeds, homes: Ints) -> int:
    """Split the clusters of the tuples from `start` to `stop` where that loses less; return how many there are then.

    Each tuple of a cluster is tried as a seed: the nearest tuples join it until they have all that is asked, and if the
    others have it too, these are two clusters. The best split is made, and both parts are split again. So every cluster
    holds, and all together never lose more.
    """
    size = stop - start
    members = start + np.argsort(homes[start:stop], kind="mergesort")  # in each cluster in their own order
    room = SplitRoom(
        np.empty(size, np.bool_), np.empty(size, np.bool_), np.empty(tuples.codes.shape[1], np.int32),
        np.empty(len(asked.owner), np.bool_), np.empty(len(asked.least), np.int64),
    )  # fmt: skip
    made, at = 0, 0
    ends = np.empty(size, np.int64)  # of clusters that are still to be split, the next on top
    top = 0
    for i in range(size, 0, -1):
        if i == size or homes[members[i - 1]] != homes[members[i]]:
            ends[top] = i
            top += 1
    while top > 0:
        cluster = members[at : ends[top - 1]]
        if _best_split(cluster, trees, tuples, asked, room):
            first = room.best[: len(cluster)]
            some, others = cluster[first], cluster[~first]
            cluster[: len(some)] = some
            cluster[len(some) :] = others
            ends[top] = at + len(some)
            top += 1
        else:
            for t in cluster:
                homes[t] = made
            made += 1
            at = ends[top - 1]
            top -= 1
    return made


@njit(cache=True, nogil=True)
def _best_split(cluster: Longs, trees: Trees, tuples: Tuples, asked: ClusterNeeds, room: SplitRoom) -> bool:
    """Note in `room.best` the first part of the split that loses least; return whether one loses less than none."""
    size, rows = len(cluster), 0
    for t in cluster:
        rows += tuples.weights[t]
    if size > MOST_SPLIT or rows < 2 * asked.k:
        return False
    room.first[:size] = False
    least, found = rows * _loss(cluster, False, trees, tuples, room), False
    for seed in range(size):
        if least == 0:
            break
        taken = _grow(seed, cluster, trees, tuples, asked, room)
        lost = taken * _loss(cluster, True, trees, tuples, room)
        if rows - taken < asked.k or lost >= least:
            continue
        lost += (rows - taken) * _loss(cluster, False, trees, tuples, room)
        if lost < least and _rest_suffices(cluster, tuples, asked, room):
            least, found = lost, True
            room.best[:size] = room.first[:size]
    return found


@njit(cache=True, nogil=True)
def _grow(seed: int, cluster: Longs, trees: Trees, tuples: Tuples, asked: ClusterNeeds, room: SplitRoom) -> int:
    """Let the nearest tuples join a seed until they have all that is asked; return how many rows they have.

    Once there are k rows, only tuples with a value that is lacking join. The whole cluster has all values, so there is
    always one.
    """
    room.first[: len(cluster)] = False
    room.seen[:] = False
    room.distinct[:] = 0
    room.nodes[:] = tuples.codes[cluster[seed]]
    joins, rows = seed, 0
    while True:
        t = cluster[joins]
        room.first[joins] = True
        rows += tuples.weights[t]
        for a in range(len(room.nodes)):
            room.nodes[a] = lowest_over(a, room.nodes[a], tuples.codes[t, a], trees)
        _see(t, tuples, asked, room)
        enough = suffice(room.distinct, asked)
        if rows >= asked.k and enough:
            return int(rows)
        nearest, joins = NEVER, NOWHERE
        for i in range(len(cluster)):
            if room.first[i] or (rows >= asked.k and not _brings(cluster[i], tuples, asked, room)):
                continue
            loss = loss_with(tuples.codes[cluster[i]], room.nodes, trees)
            if loss < nearest:
                nearest, joins = loss, i
        if joins == NOWHERE:
            return int(rows)


@njit(cache=True, nogil=True)
def _see(t: int, tuples: Tuples, asked: ClusterNeeds, room: SplitRoom) -> None:
    """Count the values of a tuple that are new."""
    for j in range(tuples.starts[t], tuples.starts[t + 1]):
        value = tuples.values[j]
        if not room.seen[value]:
            room.seen[value] = True
            room.distinct[asked.owner[value]] += 1


@njit(cache=True, nogil=True)
def _brings(t: int, tuples: Tuples, asked: ClusterNeeds, room: SplitRoom) -> bool:
    """Whether a tuple has a new value of an attribute that lacks one."""
    for j in range(tuples.starts[t], tuples.starts[t + 1]):
        value = tuples.values[j]
        owner = asked.owner[value]
        if not room.seen[value] and room.distinct[owner] < asked.least[owner]:
            return True
    return False


@njit(cache=True, nogil=True)
def _rest_suffices(cluster: Longs, tuples: Tuples, asked: ClusterNeeds, room: SplitRoom) -> bool:
    """Whether the tuples that are not in the first part have enough values."""
    room.seen[:] = False
    room.distinct[:] = 0
    for i in range(len(cluster)):
        if not room.first[i]:
            _see(cluster[i], tuples, asked, room)
    return suffice(room.distinct, asked)


@njit(cache=True, nogil=True)
def _loss(cluster: Longs, first: bool, trees: Trees, tuples: Tuples, room: SplitRoom) -> int:
    """Return what a row of one part loses: as the lowest nodes that cover all of its tuples."""
    begun = False
    for i in range(len(cluster)):
        if room.first[i] != first:
            continue
        leaves = tuples.codes[cluster[i]]
        for a in range(len(leaves)):
            room.nodes[a] = lowest_over(a, room.nodes[a], leaves[a], trees) if begun else leaves[a]
        begun = True
    loss = 0
    for a in range(len(room.nodes)):
        loss += trees.steps[trees.offsets[a] + room.nodes[a]]
    return loss
