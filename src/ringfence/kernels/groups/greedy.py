"""Greedy clustering as it is printed (Campan, Truta, Cooper 2010: GreedyPKClustering), on distinct combinations.

Rows of the same combination are interchangeable, so a combination is taken row by row, from those left of it. Where the
paper takes "one of" several, the first combination is taken.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.cells import (
    Cell,
    ClusterNeeds,
    Trees,
    loss_with,
    lowest_over,
    new_cell,
    see,
    start_cell,
    suffice,
    widen,
)
from ringfence.kernels.groups.growth import NONE, NOWHERE


class Combined(NamedTuple):
    """Combinations: their leaves, `values[c, s]` of each sensitive attribute, and their rows."""

    codes: Ints
    values: Ints
    weights: Longs


@njit(cache=True, nogil=True)
def greedy(
    bounds: Longs, first_clusters: Longs, trees: Trees, combined: Combined, asked: ClusterNeeds, entries: Longs
) -> int:
    """Cluster the combinations of each group, which together have all that is asked; return how many entries.

    Groups stand between neighbouring `bounds`, and their clusters are numbered from `first_clusters` on. Each entry
    (combination, cluster, rows) is a column of `entries`, which has room for one for each row.
    """
    size = NONE
    for g in range(len(bounds) - 1):
        size = _cluster(bounds[g], bounds[g + 1], first_clusters[g], trees, combined, asked, entries, size)
    return size


@njit(cache=True, nogil=True)
def _cluster(
    start: int, stop: int, number: int, trees: Trees, combined: Combined, asked: ClusterNeeds, entries: Longs, size: int
) -> int:
    """Cluster one group; return how many entries there are then.

    A cluster starts from the combination most diverse from the last seed (the first time: from the first combination);
    without sensitive attributes, from the one farthest from it. Then come the most diverse rows, of these the one that
    makes the cluster lose least, until it has values enough; then those that make it lose least until it has k rows.
    The paper puts all that is left into the last cluster before it finds that it lacks something: that is known before.
    """
    left, cell = combined.weights[start:stop].copy(), new_cell(NONE, trees, asked)
    remaining, available = _count_values(start, stop, combined, asked)
    count, rows_left, last = NONE, left.sum(), start
    most = rows_left // asked.k
    nodes, sizes = np.empty((most, combined.codes.shape[1]), np.int32), np.zeros(most, np.int64)
    while rows_left >= asked.k and suffice(available, asked):
        last = _next_seed(last, start, stop, trees, combined, asked, left, cell)
        start_cell(combined.codes[last], trees, cell)
        chosen, batch, loss = last, 1, NONE
        while chosen != NOWHERE:
            widen(combined.codes[chosen], trees, cell)
            for s in range(combined.values.shape[1]):
                value = combined.values[chosen, s]
                see(value, asked, cell)
                remaining[value] -= batch
                available[s] -= remaining[value] == 0
            left[chosen - start] -= batch
            rows_left -= batch
            sizes[count] += batch
            entries[0, size], entries[1, size], entries[2, size] = chosen, number + count, batch
            size += 1
            if not suffice(cell.distinct, asked):
                chosen, loss = _best_for_values(start, stop, combined, asked, left, cell)
                batch = 1
            elif sizes[count] < asked.k:
                before = loss
                chosen, loss = _nearest(start, stop, combined, left, cell)
                # As long as the cell stays as it is, the first combination that it covers stays the first.
                batch = min(left[chosen - start], asked.k - sizes[count]) if loss == before else 1
            else:
                chosen = NOWHERE
        for a in range(len(cell.nodes)):
            nodes[count, a] = cell.nodes[a]
        count += 1
    return _disperse(start, stop, number, trees, combined, left, nodes[:count], sizes[:count], entries, size)


@njit(cache=True, nogil=True)
def _count_values(start: int, stop: int, combined: Combined, asked: ClusterNeeds) -> tuple[Longs, Longs]:
    """Return the rows of each value, and the number of values of each sensitive attribute that have some."""
    remaining, available = np.zeros(len(asked.owner), np.int64), np.zeros(len(asked.least), np.int64)
    for c in range(start, stop):
        for s in range(combined.values.shape[1]):
            value = combined.values[c, s]
            available[s] += remaining[value] == 0
            remaining[value] += combined.weights[c]
    return remaining, available


@njit(cache=True, nogil=True)
def _next_seed(
    last: int, start: int, stop: int, trees: Trees, combined: Combined, asked: ClusterNeeds, left: Longs, cell: Cell
) -> int:
    """Return the first combination left that is most diverse from the last seed, or else farthest from it."""
    chosen, most = NOWHERE, -1.0
    attributes = combined.values.shape[1]
    if attributes == 0:
        start_cell(combined.codes[last], trees, cell)
    for c in range(start, stop):
        if left[c - start] == 0:
            continue
        diversity = float(_widened(c, combined, cell)) if attributes == 0 else 0.0
        for s in range(attributes):
            if combined.values[c, s] != combined.values[last, s]:
                diversity += asked.weights[s]
        if diversity > most:
            chosen, most = c, diversity
    return chosen


@njit(cache=True, nogil=True)
def _best_for_values(
    start: int, stop: int, combined: Combined, asked: ClusterNeeds, left: Longs, cell: Cell
) -> tuple[int, int]:
    """Return the first of those most diverse from the cluster that makes it lose least, and what it loses then."""
    chosen, most, least = NOWHERE, -1.0, 0
    for c in range(start, stop):
        if left[c - start] == 0:
            continue
        diversity = 0.0
        for s in range(combined.values.shape[1]):
            if cell.seen[combined.values[c, s]] != cell.stamp[0]:
                diversity += asked.weights[s]
        if diversity >= most:
            loss = _widened(c, combined, cell)
            if diversity > most or loss < least:
                chosen, most, least = c, diversity, loss
    return chosen, least


@njit(cache=True, nogil=True)
def _nearest(start: int, stop: int, combined: Combined, left: Longs, cell: Cell) -> tuple[int, int]:
    """Return the first combination that makes the cluster lose least, and what it loses then."""
    chosen, least = NOWHERE, 0
    for c in range(start, stop):
        if left[c - start] > 0:
            loss = _widened(c, combined, cell)
            if chosen == NOWHERE or loss < least:
                chosen, least = c, loss
    return chosen, least


@njit(cache=True, nogil=True)
def _widened(c: int, combined: Combined, cell: Cell) -> int:
    """Return what the cell loses when it is widened to a combination."""
    loss = 0
    for a in range(len(cell.nodes)):
        loss += cell.table[a, combined.codes[c, a]]
    return loss


@njit(cache=True, nogil=True)
def _disperse(
    start: int, stop: int, number: int, trees: Trees, combined: Combined, left: Longs, nodes: Ints, sizes: Longs,
    entries: Longs, size: int,
) -> int:  # fmt: skip
    """Give each row left to the first cluster of which the whole loss is least when it has joined."""
    for c in range(start, stop):
        leaves = combined.codes[c]
        for _ in range(left[c - start]):
            best, least = NOWHERE, 0
            for g in range(len(sizes)):
                loss = (sizes[g] + 1) * loss_with(leaves, nodes[g], trees)
                if best == NOWHERE or loss < least:
                    best, least = g, loss
            sizes[best] += 1
            for a in range(len(leaves)):
                nodes[best, a] = lowest_over(a, nodes[best, a], leaves[a], trees)
            entries[0, size], entries[1, size], entries[2, size] = c, number + best, 1
            size += 1
    return size
