"""Composite records: all rows of a person as one, and which of them are alike.

A record is a stretch of entries, each a class and how many rows of it the record has. Two records are alike if they
have the same rows of the same classes. Each is walked through a tree of what was met so far, class by class in rising
order; where two end at the same node they are alike. The tree is a table of steps, found by hash and compared in full.
"""

import numpy as np

from ringfence.arrays import Flags, Ints, Longs
from ringfence.compiling import njit

EMPTY = -1


@njit(cache=True, nogil=True)
def alike(starts: Longs, homes: Ints, rows: Longs, steps: Longs, slots: Longs, room: Longs, ends: Longs) -> int:
    """Fill `ends` with the same number for records that are alike, and no others; return a number above all of them.

    Record r has the entries `starts[r]` to before `starts[r + 1]`: `rows[e]` rows of class `homes[e]`; of a class there
    may be several. `steps` has three columns and a row for every entry and one more; `slots` a power of two entries, at
    least twice as many as there are entries; `room` two rows as long as the longest record.
    """
    slots[:] = EMPTY
    nodes, mask = 1, len(slots) - 1  # node 0 is where all records begin
    for r in range(len(starts) - 1):
        size = _gather(starts[r], starts[r + 1], homes, rows, room)
        node = 0
        for i in range(size):
            home, count = room[0, i], room[1, i]
            mixed = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(home)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(count)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
            slot = np.int64(mixed >> np.uint64(33)) & mask
            while True:
                found = slots[slot]
                if found == EMPTY:
                    steps[nodes, 0], steps[nodes, 1], steps[nodes, 2] = node, home, count
                    slots[slot] = found = nodes
                    nodes += 1
                    break
                if steps[found, 0] == node and steps[found, 1] == home and steps[found, 2] == count:
                    break
                slot = (slot + 1) & mask
            node = found
        ends[r] = node
    return nodes


@njit(cache=True, nogil=True)
def _gather(start: int, stop: int, homes: Ints, rows: Longs, room: Longs) -> int:
    """Put the classes of a record into rising order, each once with all its rows; return how many there are."""
    size = 0
    for e in range(start, stop):
        home, at = np.int64(homes[e]), size
        while at > 0 and room[0, at - 1] > home:
            at -= 1
        if at > 0 and room[0, at - 1] == home:
            room[1, at - 1] += rows[e]
            continue
        for i in range(size, at, -1):
            room[0, i], room[1, i] = room[0, i - 1], room[1, i - 1]
        room[0, at], room[1, at] = home, rows[e]
        size += 1
    return size


@njit(cache=True, nogil=True)
def mark_rare(ends: Longs, people: Longs, nodes: int, k: int, seen: Longs, rare: Flags) -> None:
    """Mark the records that fewer than k people have; record r is that of `people[r]` of them."""
    seen[:nodes] = 0
    for r in range(len(ends)):
        seen[ends[r]] += people[r]
    for r in range(len(ends)):
        rare[r] = seen[ends[r]] < k
