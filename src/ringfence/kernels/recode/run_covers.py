"""What runs of children cover: sums, ends and lowest nodes, for all runs of all branches of an attribute at once.

Branch b has `sizes[b]` children from `starts[b]` on; its run from i to j is at `offsets[b] + i * (sizes[b] + 1) + j`.
Branches that merge nothing have no runs.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit


@njit(cache=True, nogil=True)
def run_totals(
    starts: Longs, sizes: Longs, offsets: Longs, merges: Bools, sums: Floats, alone: Floats, whole: Floats, out: Floats
) -> None:
    """Fill in the sum of each run, by that of every child; `alone[c]` is that of a child that is all of a run.

    `whole[b]` is the sum of all children of a branch together, if that is another one, else NaN.
    """
    for b in range(len(sizes)):
        if not merges[b]:
            continue
        size, start = sizes[b], starts[b]
        for i in range(size):
            row, total = offsets[b] + i * (size + 1), 0.0
            for j in range(i, size):
                total += sums[start + j]
                out[row + j] = total
            out[row + i] = alone[start + i]
        if not np.isnan(whole[b]):
            out[offsets[b] + size - 1] = whole[b]


@njit(cache=True, nogil=True)
def run_ends(
    starts: Longs, sizes: Longs, offsets: Longs, merges: Bools, low: Floats, high: Floats, lows: Floats, highs: Floats
) -> None:
    """Fill in the smallest and the largest number of each run, by those of every child."""
    for b in range(len(sizes)):
        if not merges[b]:
            continue
        size, start = sizes[b], starts[b]
        for i in range(size):
            row, least, most = offsets[b] + i * (size + 1), np.inf, -np.inf
            for j in range(i, size):
                least, most = min(least, low[start + j]), max(most, high[start + j])
                lows[row + j], highs[row + j] = least, most


@njit(cache=True, nogil=True)
def lowest_nodes(lows: Floats, highs: Floats, parent: Ints, stop: Ints, nodes: Ints) -> None:
    """Fill in the lowest node above the smallest and the largest leaf of each run; 0 where there is no run."""
    for run in range(len(lows)):
        nodes[run] = 0
        if lows[run] <= highs[run]:
            node, last = np.int64(lows[run]), np.int64(highs[run])
            while stop[node] <= last:
                node = np.int64(parent[node])
            nodes[run] = node
