"""What blocks lose and suppress, and what that becomes if single values move from one block to another."""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.compiling import njit
from ringfence.kernels.recode.rooms import Room


@njit(cache=True, nogil=True)
def move_sums(
    size: int,
    contexts: int,
    room: Room,
    k: int,
    block: Longs,
    blocks: int,
    now: Floats,
    without: Floats,
    joined: Floats,
) -> None:
    """Add up what blocks of values lose by rows in classes of fewer than k, and how many rows these are.

    Entries are those of `failing_runs`, their places values; `block[v]` is the block of value v, and the last of the
    `blocks` is empty. `now[b]` are both sums, `without[v]` how they change for v's own block if v leaves it, and
    `joined[v, b]` how they change for block b if v joins it.
    """
    rows, lacks = np.zeros((contexts, blocks), np.int64), np.zeros((contexts, blocks))
    for e in range(size):
        rows[room.home[e], block[room.place[e]]] += room.rows[e]
        lacks[room.home[e], block[room.place[e]]] += room.lacks[e]
    for c in range(contexts):
        for b in range(blocks):
            if rows[c, b] < k:
                now[b, 0] += lacks[c, b]
                now[b, 1] += rows[c, b]
    for e in range(size):
        c, v = room.home[e], room.place[e]
        own, number, lack = block[v], room.rows[e], room.lacks[e]
        if rows[c, own] < k:
            without[v, 0] -= lack
            without[v, 1] -= number
        elif rows[c, own] - number < k:
            without[v, 0] += lacks[c, own] - lack
            without[v, 1] += rows[c, own] - number
        for b in range(blocks):
            if b == own:
                continue
            if rows[c, b] + number < k:
                joined[v, b, 0] += lack
                joined[v, b, 1] += number
            elif rows[c, b] < k:
                joined[v, b, 0] -= lacks[c, b]
                joined[v, b, 1] -= rows[c, b]
