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
    extra: Floats
    over: Floats
    under: Floats


@njit(cache=True, nogil=True)
def counts_for(watched: Watched) -> Counts:
    """Return room for the counts of one class."""
    parts, values, nodes = len(watched.first) - 1, watched.first[-1], len(watched.parent)
    return Counts(
        np.zeros(values, np.int64), np.zeros(parts, np.int64), np.zeros(parts), np.zeros(parts, np.int64),
        np.empty(values + 1, np.int64), np.zeros(nodes + 1), np.zeros(nodes + 1), np.zeros(nodes + 1),
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
    part = 0
    for i in range(watched.starts[entry], watched.starts[entry + 1]):
        value, weight = watched.values[i], watched.weights[i]
        while value >= watched.first[part + 1]:
            part += 1
        before = counts.of[value]
        if before == 0:
            counts.touched[met] = value
            met += 1
            counts.different[part] += 1
        if watched.entropic:
            counts.logs[part] += _weight_log(before + weight) - _weight_log(before)
        counts.of[value] = before + weight
        counts.largest[part] = max(counts.largest[part], before + weight)
    return met


@njit(cache=True, nogil=True)
def _weight_log(weight: int) -> float:
    return float(LOGS[weight]) if weight < MOST_LOGS else weight * log(weight)


@njit(cache=True, nogil=True)
def holds(watched: Watched, counts: Counts, rows: int) -> bool:
    """Whether the class holds, by all models."""
    if rows < watched.k:
        return False
    for m in range(len(watched.kind)):
        kind, part, least = watched.kind[m], watched.part[m], watched.least[m]
        if kind == DISTINCT:
            if counts.different[part] < least:
                return False
        elif kind == ENTROPY:
            if log(rows) - counts.logs[part] / rows < log(least) - SLACK:
                return False
        elif kind == RECURSIVE:
            if _dominated(watched, counts, part, int(least), watched.factor[m], rows):
                return False
        elif _distance(watched, counts, kind, part, rows) > least + SLACK:
            return False
    return True


@njit(cache=True, nogil=True)
def _dominated(watched: Watched, counts: Counts, part: int, least: int, factor: float, rows: int) -> bool:
    """Whether the commonest value is not outweighed: r_1 >= c (r_l + ... + r_m), r falling."""
    kept = max(1, least - 1)
    top = np.zeros(kept, np.int64)
    for value in range(watched.first[part], watched.first[part + 1]):
        weight = counts.of[value]
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
    return bool(top[0] >= factor * tail - SLACK)


@njit(cache=True, nogil=True)
def _distance(watched: Watched, counts: Counts, kind: int, part: int, rows: int) -> float:
    """Return the earth mover's distance of the values from those of all rows (`kernels.sensitive_values`)."""
    first, stop = watched.first[part], watched.first[part + 1]
    distance = 0.0
    if kind == FAR_EQUAL:
        for value in range(first, stop):
            distance += abs(counts.of[value] / rows - watched.shares[value])
        return distance / 2
    if kind == FAR_ORDERED:
        gaps, carried = -1, 0.0
        for value in range(first, stop):
            place = first + watched.ranks[value]
            counts.extra[place] = counts.of[value] / rows - watched.shares[value]
            counts.over[place] = watched.shares[value]
            gaps += watched.shares[value] > 0
        for place in range(first, stop):
            carried += counts.extra[place]
            if counts.over[place] > 0:
                distance += abs(carried)
        return distance / gaps if gaps > 0 else 0.0
    root, nodes = watched.root[part], watched.root[part + 1] - watched.root[part]
    counts.extra[:nodes] = 0.0
    counts.over[:nodes] = 0.0
    counts.under[:nodes] = 0.0
    for leaf in range(stop - first):
        counts.extra[leaf] = counts.of[first + leaf] / rows - watched.shares[first + leaf]
    for node in range(nodes):
        distance += watched.height[root + node] * min(counts.over[node], counts.under[node])
        above = watched.parent[root + node]
        if above != node:
            counts.extra[above] += counts.extra[node]
            if counts.extra[node] > 0:
                counts.over[above] += counts.extra[node]
            else:
                counts.under[above] -= counts.extra[node]
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
