"""Whether a class holds, and what it costs, while rows are added to it one combination of values after the other.

The models of `judging.models`, for one class that grows. Counts of the values that are watched are kept beside it, and
of each attribute that is watched how many different values there are, the sum of w log w where that is asked for, and
the largest count.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.compiling import njit

DISTINCT, ENTROPY, RECURSIVE, FAR_EQUAL, FAR_ORDERED, FAR_IN_TREE = range(6)
"""The kinds of models beside a number of rows."""

CELLS, SQUARES, MINORITY, NUMBER = range(4)
"""What a class that holds costs by itself: nothing (its cells do), its square, the rows that are not of its commonest
label, or less than nothing for being one."""

SLACK = 1e-9
"""As `kernels.sensitive_values.SLACK`: a class fails only if it misses its threshold by more than this."""


SURELY = 1 - 1e-9
"""What is known of classes that rows are added to is known with such a share, for the sake of rounding."""

EXTRA, OVER, UNDER = range(3)
"""What is carried from node to node for a distance."""

MOST_LOGS = 4096
LOGS = np.array([0.0, *(weight * log(weight) for weight in range(1, MOST_LOGS))])
"""w log w for small counts, which most are: a logarithm takes longer than all else that is done for a value."""


class Watched(NamedTuple):
    """What is asked of classes, as arrays.

    Model m is of a kind, looks at the attribute `part[m]` and asks for `least[m]`, `factor[m]` where it has one. Values
    of attribute s are numbered from `first[s]` to before `first[s + 1]`; `shares` and `ranks` are theirs, the ranks
    within the attribute. `starts`, `values` and `weights` say which values each tuple has. Nodes of the tree of
    attribute s are numbered from `root[s]` on, with `parent` and `height` each. `monotone`: what holds goes on to hold.
    `entropic`: some model asks for entropy.
    """

    k: int
    kind: Longs
    part: Longs
    least: Floats
    factor: Floats
    first: Longs
    shares: Floats
    ranks: Longs
    root: Longs
    parent: Longs
    height: Floats
    starts: Longs
    values: Longs
    weights: Longs
    monotone: bool
    entropic: bool
    cost: int
    labels: int
    scale: float


class Counts(NamedTuple):
    """The values of the class that is growing, by number, by attribute, and which of them it has."""

    of: Longs
    different: Longs
    logs: Floats
    largest: Longs
    touched: Longs
    moved: Floats


@njit(cache=True, nogil=True)
def counts_for(watched: Watched) -> Counts:
    """Return room for the counts of one class."""
    parts, values, nodes = len(watched.first) - 1, watched.first[-1], len(watched.parent)
    return Counts(
        np.zeros(values, np.int64), np.zeros(parts, np.int64), np.zeros(parts), np.zeros(parts, np.int64),
        np.empty(values + 1, np.int64), np.zeros((max(nodes, values) + 1, 3)),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def clear(counts: Counts, met: int) -> None:
    """Forget the class; `met` is how many different values it has."""
    for i in range(met):
        counts.of[counts.touched[i]] = 0
    counts.different[:] = 0
    counts.logs[:] = 0.0
    counts.largest[:] = 0


@njit(cache=True, nogil=True)
def add(watched: Watched, counts: Counts, entry: int, met: int) -> int:
    """Add the values of a tuple; return how many different values the class has then."""
    return add_values(
        watched.starts, watched.values, watched.weights, watched.first, watched.entropic, counts.of, counts.different,
        counts.logs, counts.largest, counts.touched, entry, met,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def add_values(
    starts: Longs, values: Longs, weights: Longs, first: Longs, entropic: bool, of: Longs, different: Longs,
    logs: Floats, largest: Longs, touched: Longs, entry: int, met: int,
) -> int:  # fmt: skip
    """Do the same, told single arrays: to be handed all of `Watched` takes longer than to add a tuple."""
    part = 0
    for i in range(starts[entry], starts[entry + 1]):
        value, weight = values[i], weights[i]
        while value >= first[part + 1]:
            part += 1
        before = of[value]
        if before == 0:
            touched[met] = value
            met += 1
            different[part] += 1
        if entropic:
            logs[part] += weight_log(before + weight) - weight_log(before)
        of[value] = before + weight
        largest[part] = max(largest[part], before + weight)
    return met


@njit(cache=True, nogil=True)
def weight_log(weight: int) -> float:
    return float(LOGS[weight]) if weight < MOST_LOGS else weight * log(weight)


@njit(cache=True, nogil=True)
def holds(watched: Watched, counts: Counts, rows: int) -> bool:
    """Whether the class holds, by all models."""
    return bool(lasts(watched, counts, rows) >= 0)


@njit(cache=True, nogil=True)
def lasts(watched: Watched, counts: Counts, rows: int) -> float:
    """Return how many rows can be added, whatever their values, to a class that holds such that it surely goes on to
    hold: 0 or more. If it fails, less than 0: -1 less how many can be added such that it surely goes on to fail.
    """
    if rows < watched.k:
        return float(rows - watched.k)
    least_room = np.inf
    for m in range(len(watched.kind)):
        part = watched.part[m]
        room = lasts_by(
            watched.kind[m], watched.least[m], watched.factor[m], counts.different[part], counts.logs[part],
            counts.of, watched.first[part], watched.first[part + 1], watched.shares, watched.ranks,
            watched.root[part], watched.root[part + 1], watched.parent, watched.height, counts.moved, rows,
        )  # fmt: skip
        if room < 0:
            return room
        least_room = min(least_room, room)
    return least_room


@njit(cache=True, nogil=True, inline="always")
def lasts_by(
    kind: int, least: float, factor: float, different: int, logs: float, of: Longs, first: int, stop: int,
    shares: Floats, ranks: Longs, root: int, end: int, parent: Longs, height: Floats, moved: Floats, rows: int,
) -> float:  # fmt: skip
    """Return the same by one model. It is told single arrays: to be handed all of them takes longer than to judge.

    With n rows and r more: values stay as different. The entropy H becomes n H / (n + r) at least, as it is concave.
    The commonest value gains r at most, and the rare ones lose nothing. A distance d, a norm of what is too many and
    too few of each value, which is 1 at most, becomes from (n d - r) / (n + r) to (n d + r) / (n + r).
    """
    if kind == DISTINCT:
        return np.inf if different >= least else -1.0
    if kind == ENTROPY:
        entropy, asked = log(rows) - logs / rows, log(least) - SLACK
        room = np.inf if asked <= 0 else rows * (entropy - asked) / asked
    elif kind == RECURSIVE:
        room = _outweighed(of, first, stop, int(least), factor, rows)
    else:
        most = least + SLACK
        left = most - _distance(kind, of, first, stop, shares, ranks, root, end, parent, height, moved, rows)
        room = np.inf if most >= 1 else rows * left / (1 - most)
        if left < 0:
            return -1.0 + SURELY * rows * left / (1 + most)
    return SURELY * room if room >= 0 else -1.0


@njit(cache=True, nogil=True)
def _outweighed(of: Longs, first: int, stop: int, least: int, factor: float, rows: int) -> float:
    """Return by how much the commonest value is outweighed: r_1 < c (r_l + ... + r_m), r falling; less than 0 if it is
    not."""
    kept = max(1, least - 1)
    top = np.zeros(kept, np.int64)
    for value in range(first, stop):
        weight = of[value]
        place = kept - 1
        if weight <= top[place]:
            continue
        while place > 0 and top[place - 1] < weight:
            top[place] = top[place - 1]
            place -= 1
        top[place] = weight
    tail = rows
    for rank in range(least - 1):
        tail -= top[rank]
    room = factor * tail - SLACK - top[0]
    return float(room) if room > 0 else -1.0


@njit(cache=True, nogil=True, inline="always")
def _distance(
    kind: int, of: Longs, first: int, stop: int, shares: Floats, ranks: Longs, root: int, end: int, parent: Longs,
    height: Floats, moved: Floats, rows: int,
) -> float:  # fmt: skip
    """Return the earth mover's distance of the values from those of all rows (`kernels.sensitive_values`)."""
    distance = 0.0
    if kind == FAR_EQUAL:
        for value in range(first, stop):
            distance += abs(of[value] - rows * shares[value])
        return distance / (2 * rows)
    if kind == FAR_ORDERED:
        gaps, carried = -1, 0.0
        for value in range(first, stop):
            place = ranks[value]
            moved[place, EXTRA] = of[value] - rows * shares[value]
            moved[place, OVER] = shares[value]
            gaps += shares[value] > 0
        for place in range(stop - first):
            carried += moved[place, EXTRA]
            if moved[place, OVER] > 0:
                distance += abs(carried)
        return distance / (rows * gaps) if gaps > 0 else 0.0
    moved[: end - root] = 0.0
    for leaf in range(stop - first):
        moved[leaf, EXTRA] = of[first + leaf] / rows - shares[first + leaf]
    for node in range(end - root):
        distance += height[root + node] * min(moved[node, OVER], moved[node, UNDER])
        above = parent[root + node]
        if above != node:
            moved[above, EXTRA] += moved[node, EXTRA]
            if moved[node, EXTRA] > 0:
                moved[above, OVER] += moved[node, EXTRA]
            else:
                moved[above, UNDER] -= moved[node, EXTRA]
    return distance


@njit(cache=True, nogil=True)
def own_cost(watched: Watched, counts: Counts, rows: int) -> float:
    """Return what a class that holds costs by itself, beside the losses of its cells."""
    if watched.cost == SQUARES:
        return float(watched.scale * rows * rows)
    if watched.cost == MINORITY:
        return float(watched.scale * (rows - counts.largest[watched.labels]))
    if watched.cost == NUMBER:
        return float(-watched.scale)
    return 0.0
