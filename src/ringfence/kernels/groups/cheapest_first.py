"""Clusters cheapest first: by rising loss, each cell that covers what is asked takes in all tuples that it covers.

All rows of a tuple go to the same cluster. What is left when the rest cannot make one is dispersed among those made;
then clusters are split where that loses less (`splitting`).
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.cells import Cell, ClusterNeeds, Trees, loss_with, lowest_over, new_cell, suffice
from ringfence.kernels.groups.growth import (
    NEVER,
    NONE,
    NOWHERE,
    RUN,
    WIDENS,
    Runs,
    Tuples,
    gather_runs,
    grow,
    new_runs,
    too_far,
)
from ringfence.kernels.groups.splitting import split_clusters


class Clusters(NamedTuple):
    """Clusters: the nodes of each, what a row of it loses, and its rows."""

    nodes: Ints
    losses: Longs
    rows: Longs


@njit(cache=True, nogil=True)
def cheapest_first(
    bounds: Longs,
    trees: Trees,
    tuples: Tuples,
    asked: ClusterNeeds,
    keys: Longs,
    seeds: Longs,
    homes: Ints,
    counts: Longs,
) -> int:
    """Cluster the tuples of each group, which together have all that is asked; return how many cells were tried.

    Groups stand between neighbouring `bounds`. `seeds` has the tuples of each group in the order in which they are
    preferred as seeds, and is used up. `homes[t]` becomes the cluster of tuple t, numbered in each group from 0
    on; `counts` says how many there are. `keys[t]` is a lower bound on what a cluster around t loses, and rises as
    tuples are taken.
    """
    tried = 0
    for g in range(len(bounds) - 1):
        start, stop = bounds[g], bounds[g + 1]
        more, counts[g] = _cluster(start, stop, trees, tuples, asked, keys, seeds[start:stop], homes)
        tried += more
    return tried


@njit(cache=True, nogil=True)
def _cluster(
    start: int, stop: int, trees: Trees, tuples: Tuples, asked: ClusterNeeds, keys: Longs, seeds: Longs, homes: Ints
) -> tuple[int, int]:
    """Cluster one group; return how many cells were tried, and how many became clusters.

    At each level of loss, the lowest of all keys, the cell around every seed with that key is grown. If it loses no
    more than the level, it becomes a cluster, else the key rises. Seeds with more rows come first.
    """
    size = stop - start
    cell, runs = new_cell(size, trees, asked), new_runs(start, size, tuples)
    clusters = Clusters(
        np.empty((size, tuples.codes.shape[1]), np.int32), np.empty(size, np.int64), np.zeros(size, np.int64)
    )
    homes[start:stop] = NOWHERE
    left, made, tried, possible = size, NONE, NONE, True
    while possible and left > 0:
        level = _lowest_key(seeds, left, keys, homes)
        for i in range(left):
            seed = seeds[i]
            if homes[seed] != NOWHERE or keys[seed] > level:
                continue
            tried += 1
            loss = grow(seed, runs.run_of[seed - start], level, WIDENS, size, trees, tuples, asked, runs, cell)
            if loss == NEVER:  # even the cell of all that is left has not enough
                possible = False
                break
            if loss > level:
                keys[seed] = loss
                continue
            clusters.losses[made] = loss
            left -= _take_in(made, size, runs, cell, clusters, homes)
            made += 1
            if 4 * left < 3 * size:
                size = gather_runs(start, size, tuples, runs)
    if left > 0:
        some = Clusters(clusters.nodes[:made], clusters.losses[:made], clusters.rows[:made])
        _lowest_key(seeds, left, keys, homes)
        _disperse(seeds[:left], trees, tuples, some, homes)
    return tried, split_clusters(start, stop, trees, tuples, asked, homes)


@njit(cache=True, nogil=True)
def _lowest_key(seeds: Longs, left: int, keys: Longs, homes: Ints) -> int:
    """Return the lowest key of the seeds that have no home yet, `left` of them, and move them to the front."""
    lowest, count, i = NEVER, 0, 0
    while count < left:
        if homes[seeds[i]] == NOWHERE:
            seeds[count] = seeds[i]
            lowest = min(lowest, keys[seeds[i]])
            count += 1
        i += 1
    return lowest


@njit(cache=True, nogil=True)
def _take_in(cluster: int, size: int, runs: Runs, cell: Cell, clusters: Clusters, homes: Ints) -> int:
    """Give all tuples that the cell covers to a cluster; return how many."""
    for a in range(len(cell.nodes)):
        clusters.nodes[cluster, a] = cell.nodes[a]
    taken = 0
    for run in range((size + RUN - 1) // RUN):
        if too_far(run, clusters.losses[cluster], runs, cell):
            continue
        for i in range(run * RUN, min(size, run * RUN + RUN)):
            if cell.covered[i] == cell.stamp[0]:
                homes[runs.live[i]] = cluster
                clusters.rows[cluster] += runs.rows[i]
                runs.rows[i] = 0
                taken += 1
    return taken


@njit(cache=True, nogil=True)
def _disperse(rest: Longs, trees: Trees, tuples: Tuples, clusters: Clusters, homes: Ints) -> None:
    """Give each tuple of the rest to a cluster.

    At each step one cluster is widened to one tuple, where that adds least loss for each row of the tuple, and takes in
    all that it covers then.
    """
    prices, best = np.empty(len(rest)), np.empty(len(rest), np.int64)
    for i in range(len(rest)):
        prices[i], best[i] = _best_cluster(rest[i], trees, tuples, clusters)
    left = len(rest)
    while left > 0:
        i = int(np.argmin(prices))
        c, leaves = best[i], tuples.codes[rest[i]]
        clusters.losses[c] = loss_with(leaves, clusters.nodes[c], trees)
        for a in range(len(leaves)):
            clusters.nodes[c, a] = lowest_over(a, clusters.nodes[c, a], leaves[a], trees)
        for j in range(len(rest)):
            if prices[j] < np.inf and loss_with(tuples.codes[rest[j]], clusters.nodes[c], trees) == clusters.losses[c]:
                homes[rest[j]], prices[j] = c, np.inf
                clusters.rows[c] += tuples.weights[rest[j]]
                left -= 1
        for j in range(len(rest)):
            if prices[j] == np.inf:
                continue
            if best[j] == c:
                prices[j], best[j] = _best_cluster(rest[j], trees, tuples, clusters)
            else:
                price = _price(rest[j], c, trees, tuples, clusters)
                if price < prices[j] or (price == prices[j] and c < best[j]):
                    prices[j], best[j] = price, c


@njit(cache=True, nogil=True)
def _best_cluster(t: int, trees: Trees, tuples: Tuples, clusters: Clusters) -> tuple[float, int]:
    """Return the lowest price of a tuple, and the first cluster that has it."""
    lowest, best = np.inf, NOWHERE
    for c in range(len(clusters.rows)):
        price = _price(t, c, trees, tuples, clusters)
        if price < lowest:
            lowest, best = price, c
    return lowest, best


@njit(cache=True, nogil=True)
def _price(t: int, c: int, trees: Trees, tuples: Tuples, clusters: Clusters) -> float:
    """Return by how much the loss of all rows grows when a tuple joins a cluster, for each row of the tuple."""
    before, joining = clusters.rows[c], tuples.weights[t]
    loss = loss_with(tuples.codes[t], clusters.nodes[c], trees)
    return float(((before + joining) * loss - before * clusters.losses[c]) / joining)


@njit(cache=True, nogil=True)
def cut(bounds: Longs, most: int, tuples: Tuples, asked: ClusterNeeds, cuts: Longs) -> int:
    """Cut groups of more than `most` tuples where they stand, into equal parts of no more; return how many bounds.

    Each part has all that is asked: one that lacks something goes on until it has it, and a last one that does joins
    the one before.
    """
    seen, distinct = np.zeros(len(asked.owner), np.int64), np.zeros(len(asked.least), np.int64)
    count, stamp = 0, 0
    for g in range(len(bounds) - 1):
        start, stop = bounds[g], bounds[g + 1]
        cuts[count] = start
        count += 1
        pieces = (stop - start + most - 1) // most
        if pieces == 1:
            continue
        whole = count
        rows, stamp, distinct[:] = 0, stamp + 1, 0
        for t in range(start, stop):
            if (t - cuts[count - 1]) * pieces >= stop - start and rows >= asked.k and suffice(distinct, asked):
                cuts[count] = t
                count += 1
                rows, stamp, distinct[:] = 0, stamp + 1, 0
            rows += tuples.weights[t]
            for j in range(tuples.starts[t], tuples.starts[t + 1]):
                value = tuples.values[j]
                if seen[value] != stamp:
                    seen[value] = stamp
                    distinct[asked.owner[value]] += 1
        if count > whole and not (rows >= asked.k and suffice(distinct, asked)):
            count -= 1
    cuts[count] = bounds[-1]
    return count + 1
