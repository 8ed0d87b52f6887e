"""What all runs of children cost where a class costs its square.

The square of a run's rows is the sum of the products of all pairs of children in it. So one number is noted for each
pair that a context has, and sums over pairs give every run what its classes cost in all contexts together.
"""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.rooms import Room


@njit(cache=True, nogil=True)
def add_squares(
    size: int, room: Room, scale: float, branch: Longs, child: Longs, sizes: Longs, offsets: Longs, sums: Floats
) -> None:
    """Add the squares of all classes, whether they hold or not, times a scale (`failing_runs.run_sums`)."""
    pairs, widest = np.zeros(len(sums)), sizes.max()
    met, rows = np.empty(widest + 1, np.int64), np.empty(widest + 1)
    home, place, own = room.home, room.place, room.rows
    for h in range(len(branch)):
        start = 0
        while start < size:
            b, here, many, e = branch[h, place[start]], home[start], 0, start
            while e < size and home[e] == here and branch[h, place[e]] == b:
                if b >= 0:
                    if many == 0 or met[many - 1] != child[h, place[e]]:
                        met[many], rows[many] = child[h, place[e]], 0.0
                        many += 1
                    rows[many - 1] += own[e]
                e += 1
            start = e
            for i in range(many):
                first = offsets[b] + met[i] * (sizes[b] + 1)
                pairs[first + met[i]] += rows[i] * rows[i]
                for j in range(i + 1, many):
                    pairs[first + met[j]] += 2 * rows[i] * rows[j]
    for b in range(len(sizes)):
        if offsets[b + 1] > offsets[b]:
            _add_pairs(pairs, scale, offsets[b], sizes[b], sums)


@njit(cache=True, nogil=True)
def _add_pairs(pairs: Floats, scale: float, offset: int, size: int, sums: Floats) -> None:
    """Add what the pairs of children in each run come to: whole numbers, which add up exactly."""
    width = size + 1
    for i in range(size - 1, -1, -1):
        row, here = offset + i * width, 0.0
        for j in range(row + i, row + size):
            here += pairs[j]
            pairs[j] = here + (pairs[j + width] if i + 1 < size else 0.0)
            sums[j, 0] += scale * pairs[j]
