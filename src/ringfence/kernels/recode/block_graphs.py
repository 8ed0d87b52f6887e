"""Blocks of values, and partitions into them as ways through a graph.

A partition into runs is a way from the first value to the last, each run an *arc* from the value it starts with to the
one after it. A partition into sets is one, too: a state is the set of values that are left, and an arc takes away a set
that has the lowest of them, so that each partition is one way. So the cheapest partition, and the cheapest one that has
a certain block, are shortest paths, whatever the blocks are. Only states that can be met are in the graph.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit


class Blocks(NamedTuple):
    """Some blocks of the first `size` values of an attribute: runs by their `ends`, or sets by their `masks`.

    `ends[b]` are the first value of run b and the one after its last, `masks[b]` the values of set b as bits. Both are
    in the order of their first values. `parts` are as `partial_sums` has them.
    """

    size: int
    parts: Longs
    masks: Longs
    ends: Longs

    @classmethod
    def runs(cls, size: int) -> "Blocks":
        """Return all runs."""
        ends = np.array([(start, end) for start in range(size) for end in range(start + 1, size + 1)])
        return cls(size, np.stack([ends[:, 1], size + 1 + ends[:, 0]], axis=1), np.zeros(0, np.int64), ends)

    @classmethod
    def sets(cls, size: int, masks: Longs | None = None) -> "Blocks":
        """Return some sets, in the order of `by_first_value`, or all."""
        if masks is None:
            masks = np.arange(1, 1 << size)
            masks = masks[by_first_value(masks)]
        low = (size + 1) // 2
        parts = np.stack([masks & ((1 << low) - 1), (1 << low) + (masks >> low)], axis=1)
        return cls(size, parts, masks, np.zeros((0, 2), np.int64))

    @property
    def in_runs(self) -> bool:
        """Whether they are runs."""
        return len(self.ends) > 0

    def only(self, live: Bools) -> "Blocks":
        """Return some of them."""
        if self.in_runs:
            return self._replace(parts=self.parts[live], ends=self.ends[live])
        return self._replace(parts=self.parts[live], masks=self.masks[live])

    def has(self) -> Bools:
        """Return which values each of them has."""
        values = np.arange(self.size)
        if self.in_runs:
            return (self.ends[:, :1] <= values) & (values < self.ends[:, 1:])
        return (self.masks[:, None] >> values & 1).astype(np.bool_)


def by_first_value(masks: Longs) -> Longs:
    """Return the order of sets by their lowest values."""
    return np.lexsort((masks, masks & -masks))


class BlockGraph(NamedTuple):
    """Partitions into some blocks: `arcs[i]` are the state it leaves, the one it leads to, and its block.

    State 0 is the first, and state `end` the last. Arcs are in the order of the states they leave: those of state s are
    `arcs[leaving[s] : leaving[s + 1]]`. No arc leads back to an earlier state.
    """

    arcs: Ints
    leaving: Longs
    end: int


@njit(cache=True, nogil=True)
def parts_among(size: int, in_runs: bool) -> int:
    """Return how many partial sums there are over so many values."""
    low = (size + 1) // 2
    return 2 * size + 2 if in_runs else (1 << low) + (1 << (size - low))


@njit(cache=True, nogil=True)
def partial_sums(values: Floats, in_runs: bool) -> Floats:
    """Return sums over values such that the sum over any block is that of two of them (`parts` of the block).

    `values[v]` are those of value v. For runs, they are the sums up to each value, and these less than nothing. For
    sets, they are the sums over all sets of the first half of the values, and over all sets of the second.
    """
    size, width = values.shape
    sums = np.empty((parts_among(size, in_runs), width))
    fill_partial_sums(values, width, in_runs, sums)
    return sums


@njit(cache=True, nogil=True)
def fill_partial_sums(values: Floats, width: int, in_runs: bool, sums: Floats) -> None:
    """Fill the first columns of `sums` with the partial sums of those of some values."""
    size, low = len(values), (len(values) + 1) // 2
    sums[0, :width] = 0.0
    if in_runs:
        sums[size + 1, :width] = 0.0
        for value in range(size):
            for i in range(width):
                total = sums[value, i] + values[value, i]
                sums[value + 1, i], sums[size + 2 + value, i] = total, -total
        return
    sums[1 << low, :width] = 0.0
    for value in range(size):
        base, bit = (0, 1 << value) if value < low else (1 << low, 1 << (value - low))
        for part in range(base, base + bit):
            for i in range(width):
                sums[part + bit, i] = sums[part, i] + values[value, i]


@njit(cache=True, nogil=True)
def graph_of(blocks: Blocks) -> BlockGraph:
    """Return the partitions into some blocks."""
    if len(blocks.ends) > 0:
        return _graph_of_runs(blocks)
    size, masks = blocks.size, blocks.masks
    full = (1 << size) - 1
    firsts, place = np.zeros(size + 1, np.int64), np.full(full + 1, -1, np.int32)
    for b in range(len(masks)):
        place[masks[b]] = b
        firsts[_lowest(masks[b]) + 1] += 1
    firsts[:] = np.cumsum(firsts)
    met, number, states = np.zeros(full + 1, np.bool_), np.empty(full + 1, np.int32), 0
    met[full] = True
    arcs, inside, count = np.empty((1024, 3), np.int32), np.empty(len(masks), np.int32), 0
    for left in range(full, 0, -1):
        if not met[left]:
            continue
        number[left] = states
        found = _sets_inside(left, masks, firsts, place, inside)
        if count + found > len(arcs):
            longer = np.empty((2 * (count + found), 3), np.int32)
            longer[:count] = arcs[:count]
            arcs = longer
        for i in range(found):
            rest = left ^ masks[inside[i]]
            met[rest] = True
            arcs[count, 0], arcs[count, 1], arcs[count, 2] = states, rest, inside[i]
            count += 1
        states += 1
    number[0] = states
    leaving = np.zeros(states + 2, np.int64)
    for i in range(count):
        arcs[i, 1] = number[arcs[i, 1]]
        leaving[arcs[i, 0] + 1] += 1
    return BlockGraph(arcs[:count].copy(), np.cumsum(leaving), states)


@njit(cache=True, nogil=True)
def _graph_of_runs(blocks: Blocks) -> BlockGraph:
    arcs, leaving = np.empty((len(blocks.ends), 3), np.int32), np.zeros(blocks.size + 2, np.int64)
    for b in range(len(blocks.ends)):
        arcs[b, 0], arcs[b, 1], arcs[b, 2] = blocks.ends[b, 0], blocks.ends[b, 1], b
        leaving[blocks.ends[b, 0] + 1] += 1
    return BlockGraph(arcs, np.cumsum(leaving), blocks.size)


@njit(cache=True, nogil=True)
def _sets_inside(left: int, masks: Longs, firsts: Longs, place: Ints, inside: Ints) -> int:
    """Find the sets inside what is left that have its lowest value; return how many.

    Where there are few sets with that value, they are looked through; else all there could be are looked up.
    """
    rest = left & (left - 1)
    lowest, found = left ^ rest, 0
    first, end = firsts[_lowest(left)], firsts[_lowest(left) + 1]
    if end - first < 1 << _values_in(rest):
        for b in range(first, end):
            if masks[b] & ~left == 0:
                inside[found] = b
                found += 1
        return found
    others = rest
    while True:
        if place[others | lowest] >= 0:
            inside[found] = place[others | lowest]
            found += 1
        if others == 0:
            return found
        others = (others - 1) & rest


@njit(cache=True, nogil=True)
def _lowest(mask: int) -> int:
    value = 0
    while not mask >> value & 1:
        value += 1
    return value


@njit(cache=True, nogil=True)
def _values_in(mask: int) -> int:
    values = 0
    while mask:
        mask &= mask - 1
        values += 1
    return values


@njit(cache=True, nogil=True)
def _has(blocks: Blocks, block: int, value: int) -> bool:
    if len(blocks.ends) > 0:
        return bool(blocks.ends[block, 0] <= value < blocks.ends[block, 1])
    return bool(blocks.masks[block] >> value & 1)


@njit(cache=True, nogil=True)
def cheapest_partition(blocks: Blocks, graph: BlockGraph, costs: Floats, chosen: Longs, through: Floats) -> float:
    """Return what the cheapest partition costs, `chosen[v]` being the block of value v in it, or -1 if there is none.

    `through[b]` becomes the cost of the cheapest partition that has block b.
    """
    arcs, end = graph.arcs, graph.end
    ahead, after = np.full(end + 1, np.inf), np.full(end + 1, np.inf)
    ahead[0] = after[end] = 0.0
    for i in range(len(arcs)):
        ahead[arcs[i, 1]] = min(ahead[arcs[i, 1]], ahead[arcs[i, 0]] + costs[arcs[i, 2]])
    through[:] = np.inf
    for i in range(len(arcs) - 1, -1, -1):
        tail, head, b = arcs[i]
        cost = costs[b] + after[head]
        after[tail] = min(after[tail], cost)
        through[b] = min(through[b], ahead[tail] + cost)
    chosen[:] = -1
    state = 0
    while after[0] < np.inf and state < end:
        for i in range(graph.leaving[state], graph.leaving[state + 1]):
            if costs[arcs[i, 2]] + after[arcs[i, 1]] == after[state]:
                for value in range(blocks.size):
                    if _has(blocks, arcs[i, 2], value):
                        chosen[value] = arcs[i, 2]
                state = arcs[i, 1]
                break
    return float(after[0])
