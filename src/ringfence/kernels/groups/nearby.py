"""All tuples near one: those that lose less with it than some limit.

Tuples stand in lexicographic order of their values. What two tuples lose together is a sum over attributes, of which no
part is negative: where the first attributes are too far already, all tuples with the same ones are passed over at once.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.rounded import GAP, Rounded
from ringfence.kernels.groups.spans import BARE, LEAN


class Sorted(NamedTuple):
    """Tuples in lexicographic order of the values `codes[t, a]`, each block by itself: that of t from `begins[t]` to
    before `ends[t]`.

    The tuples from t to before `skips[t, a]` are alike in attributes 0 to a; `alike[t]` is how many of the first
    attributes t shares with the tuple before it. Value v of attribute a is that of tuple `examples[bases[a] + v]`, and
    `kinds[a]` says where the attribute is in a space: `(0, s)` is set s, `(1, i)` line i, `(2, i)` tree i.
    """

    codes: Ints
    begins: Longs
    ends: Longs
    skips: Ints
    alike: Ints
    bases: Longs
    examples: Ints
    kinds: Longs


class Surroundings(NamedTuple):
    """Room for a look around: what each value loses with that of the tuple in the middle, and the sum so far."""

    apart: Longs
    sums: Longs


@njit(cache=True, nogil=True)
def new_surroundings(order: Sorted) -> Surroundings:
    """Return room for looks around."""
    return Surroundings(np.empty(len(order.examples), np.int64), np.zeros(len(order.kinds) + 1, np.int64))


@njit(**LEAN)
def _apart(space: Rounded, kind: int, i: int, one: int, other: int) -> int:
    """Return what two tuples lose together in an attribute."""
    if kind == 0:
        for f in range(space.begins[i], space.begins[i + 1]):
            h = space.holders[f]
            if (space.words[one, h] ^ space.words[other, h]) & space.masks[f]:
                return int(space.costs[i, 2] - space.costs[i, 1])
        return 0
    if kind == 1:
        first, second = space.lines[one, i], space.lines[other, i]
        if first == second or GAP in (first, second):
            return 0
        return int(space.tables[i, abs(first - second)]) if space.tabled[i] else int(abs(first - second))
    base, leaf, node = space.bases[i], space.leaves[other, i], np.int64(space.leaves[one, i])
    while not space.first[base + node] <= leaf < space.stop[base + node]:
        node = np.int64(space.parent[base + node])
    return int(space.nodes[base + node] - space.nodes[base + space.leaves[one, i]])


@njit(**BARE)
def look_around(
    space: Rounded, order: Sorted, t: int, radius: int, room: Surroundings, near: Ints, far: Longs
) -> tuple[int, int]:
    """Fill `near` with the other tuples of a block that lose less than a radius with one, and `far` with what, as many
    as there is room for; return how many there are, and how many values were looked at."""
    codes, skips, sums, attributes = order.codes, order.skips, room.sums, len(order.kinds)
    for a in range(attributes):
        for place in range(order.bases[a], order.bases[a + 1]):
            room.apart[place] = _apart(space, order.kinds[a, 0], order.kinds[a, 1], t, order.examples[place])
    other, stop, count, looks, at = order.begins[t], order.ends[t], 0, len(order.examples), np.int64(0)
    while other < stop:
        while at < attributes:
            looks += 1
            sums[at + 1] = sums[at] + room.apart[order.bases[at] + codes[other, at]]
            if sums[at + 1] >= radius:
                break
            at += 1
        if at == attributes:
            if other != t:
                if count < len(near):
                    near[count], far[count] = other, sums[at]
                count += 1
            other += 1
        else:
            other = np.int64(skips[other, at])
        if other < stop:
            at = np.int64(order.alike[other])
    return count, looks
