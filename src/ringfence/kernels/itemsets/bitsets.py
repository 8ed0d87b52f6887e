"""Bitsets: which baskets hold a node, a bit each, 64 to a word; rare sets by intersecting them.

Of each node only the words that are not zero are kept, with their places. A set is built up member by member, and of
every *prefix* the words are kept: by place, and as a list of the places that are not zero. Whether one more member
makes it rare takes a walk over the words of that member, or of the prefix if these are few; it ends as soon as k rows
have been met, which is soon, since long baskets come first. That is the way to judge single sets, and cuts of some
hundreds of nodes, whose sets are mostly common.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.itemsets.rare_sets import HeldItems, TreeArrays

ONE = np.uint64(1)
SHIFT = np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its products with powers of two differ in their highest six bits
BIT_OF = np.empty(64, np.int64)
for _bit in range(64):
    BIT_OF[((int(DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit


class Bits(NamedTuple):
    """The words of node v that are not zero: `words[starts[v] : starts[v + 1]]`, at rising `places`."""

    starts: Longs
    places: Ints
    words: Words


class Prefixes(NamedTuple):
    """Scratch with a row for every length of prefix: its words by place, the places of those that are not zero, and how
    many these are; `at` belongs to `find_rare_bits`."""

    words: Words
    places: Ints
    sizes: Longs
    at: Longs


def make_prefixes(size: int, words: int) -> Prefixes:
    """Return scratch for sets of up to `size` nodes, whose bitsets are so many words long."""
    return Prefixes(
        words=np.zeros((size, words), np.uint64),
        places=np.empty((size, words), np.int32),
        sizes=np.zeros(size, np.int64),
        at=np.zeros(size, np.int64),
    )


@njit(cache=True, nogil=True)
def gather_bits(held: HeldItems, tree: TreeArrays, ends: Longs, rows: Longs, last: Ints, bits: Bits) -> None:
    """Move `ends[v]` on by the number of words of node v, and `rows[v]` by that of the rows that hold it.

    Unless `bits` has no room, the words are written down. `last[v]` is the place of the last one, at first -1. A node
    above a leaf has been met in a basket if and only if the leaf before it in the basket is below the node too: items
    ascend, and the leaves below a node are contiguous.
    """
    starts, items = held.starts, held.items
    for b in range(len(starts) - 1):
        place, bit, previous = b >> 6, ONE << np.uint64(b & 63), -1
        for i in range(starts[b], starts[b + 1]):
            leaf = node = items[i]
            while previous < tree.first[node]:
                new = last[node] != place
                ends[node] += new
                last[node] = place
                rows[node] += held.weights[b]
                if len(bits.words):
                    bits.places[ends[node] - 1] = place
                    bits.words[ends[node] - 1] = bit if new else bits.words[ends[node] - 1] | bit
                if tree.parent[node] == node:
                    break
                node = tree.parent[node]
            previous = leaf


@njit(cache=True, nogil=True)
def list_baskets(bits: Bits, node: int, baskets: Ints) -> int:
    """Fill `baskets` with those that hold a node; return how many they are."""
    count = 0
    for w in range(bits.starts[node], bits.starts[node + 1]):
        word = bits.words[w]
        while word:
            lowest = word & (~word + ONE)
            baskets[count] = bits.places[w] * 64 + BIT_OF[(lowest * DE_BRUIJN) >> SHIFT]
            count += 1
            word ^= lowest
    return count


@njit(cache=True, nogil=True)
def _rows_of(word: np.uint64, place: int, weights: Longs, enough: int) -> int:
    """Return how many rows the baskets of one word stand for; stop counting at `enough`."""
    rows = 0
    while word and rows < enough:
        lowest = word & (~word + ONE)
        rows += weights[place * 64 + BIT_OF[(lowest * DE_BRUIJN) >> SHIFT]]
        word ^= lowest
    return rows


@njit(cache=True, nogil=True)
def count_extension(bits: Bits, node: int, length: int, weights: Longs, enough: int, room: Prefixes) -> int:
    """Return how many rows hold the prefix of this length and one more node; stop counting at `enough`."""
    rows, low, high = 0, bits.starts[node], bits.starts[node + 1]
    if length == 0:
        for w in range(low, high):
            rows += _rows_of(bits.words[w], bits.places[w], weights, enough - rows)
            if rows >= enough:
                break
        return rows
    prefix, places, size = room.words[length - 1], room.places[length - 1], room.sizes[length - 1]
    if 8 * size < high - low:  # so few that they are looked up
        for i in range(size):
            w = _find_place(bits.places, low, high, places[i])
            word = bits.words[w] & prefix[places[i]] if w >= 0 else np.uint64(0)
            if word:
                rows += _rows_of(word, places[i], weights, enough - rows)
                if rows >= enough:
                    break
        return rows
    for w in range(low, high):
        word = bits.words[w] & prefix[bits.places[w]]
        if word:
            rows += _rows_of(word, bits.places[w], weights, enough - rows)
            if rows >= enough:
                break
    return rows


@njit(cache=True, nogil=True)
def _find_place(places: Ints, low: int, high: int, place: int) -> int:
    """Return where a place stands among rising ones, or -1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low if low < end and places[low] == place else -1


@njit(cache=True, nogil=True)
def extend(bits: Bits, node: int, length: int, weights: Longs, k: int, room: Prefixes) -> bool:
    """Make the prefix of this length one node longer; return whether k rows hold it then."""
    words, places, rows, size = room.words[length], room.places[length], 0, 0
    for i in range(room.sizes[length]):
        words[places[i]] = 0
    for w in range(bits.starts[node], bits.starts[node + 1]):
        place = bits.places[w]
        word = bits.words[w] if length == 0 else bits.words[w] & room.words[length - 1, place]
        if word:
            words[place], places[size] = word, place
            size += 1
            rows += _rows_of(word, place, weights, k - rows)
    room.sizes[length] = size
    return rows >= k


@njit(cache=True, nogil=True)
def count_rows(bits: Bits, members: Ints, weights: Longs, enough: int, room: Prefixes) -> int:
    """Return how many rows hold all members; stop counting at `enough`."""
    for length in range(len(members) - 1):
        extend(bits, members[length], length, weights, enough, room)
    return count_extension(bits, members[-1], len(members) - 1, weights, enough, room)


@njit(cache=True, nogil=True)
def find_rare_bits(
    bits: Bits, nodes: Ints, heads: int, weights: Longs, k: int, size: int, base: int, room: Prefixes, found: Ints
) -> int:
    """Fill `found` with rare sets of `size` nodes, as many as it has rows; return how many there are then.

    Only the first `heads` nodes may be a set's first member. Sets with a rare prefix are left out, as in `find_rare`.
    If `base` is not 0, a set counts as rare if it is so together with the prefix of that length in `room`.
    """
    hits, depth = 0, 0
    room.at[base] = -1
    while depth >= 0:
        room.at[base + depth] += 1
        at = room.at[base + depth]
        if at == (len(nodes) if depth > 0 else heads):
            depth -= 1
        elif depth < size - 1:
            if extend(bits, nodes[at], base + depth, weights, k, room):
                depth += 1
                room.at[base + depth] = at
        elif 0 < count_extension(bits, nodes[at], base + depth, weights, k, room) < k:
            for d in range(size):
                found[hits, d] = nodes[room.at[base + d]]
            hits += 1
            if hits == len(found):
                break
    return hits


@njit(cache=True, nogil=True)
def lift_sets(bits: Bits, weights: Longs, above: Ints, k: int, room: Prefixes, sets: Ints) -> None:
    """Raise the members of rare sets one after the other, each as far as its set stays rare.

    Set s begins with its member number s modulo the size. `above[v]` is the node above v, or -1 where v may not be
    raised.
    """
    count, size = sets.shape
    for s in range(count):
        members = sets[s]
        for turn in range(size):
            i, length = (s + turn) % size, 0
            for j in range(size):
                if j != i:
                    extend(bits, members[j], length, weights, k, room)
                    length += 1
            higher = above[members[i]]
            while higher >= 0 and count_extension(bits, higher, length, weights, k, room) < k:
                members[i] = higher
                higher = above[higher]
