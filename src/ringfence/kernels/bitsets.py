"""Bitsets: which baskets hold a node, a bit each; the rare sets of a coarse cut, by intersecting them.

A row of bits is long, and an intersection with many rows in it is known not to be rare after a few words. So this is
the way to judge cuts of some dozens or hundreds of nodes, whose sets are mostly common. Of a prefix only the words that
are not zero are kept, with their places.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

ONE = np.uint64(1)
SHIFT = np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its products with powers of two differ in their highest six bits
LOWEST = np.empty(64, np.int64)
for _bit in range(64):
    LOWEST[((int(DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit


class Prefixes(NamedTuple):
    """Scratch for `find_rare_bits`, with a row for every length of prefix: its words that are not zero."""

    words: Words
    places: Ints
    sizes: Longs
    at: Longs


def make_prefixes(size: int, words: int) -> Prefixes:
    """Return scratch for sets of up to `size` nodes, whose bitsets are so many words long."""
    return Prefixes(
        np.empty((size, words), np.uint64), np.empty((size, words), np.int32), np.zeros(size, np.int64),
        np.zeros(size, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def set_bits(baskets: Ints, bits: Words) -> None:
    """Set the bits of some baskets."""
    for b in baskets:
        bits[b >> 6] |= ONE << np.uint64(b & 63)


@njit(cache=True, nogil=True)
def _rows_of(word: np.uint64, place: int, weights: Longs, enough: int) -> int:
    """Return how many rows the baskets of one word stand for; stop counting at `enough`."""
    rows = 0
    while word and rows < enough:
        lowest = word & (~word + ONE)
        rows += weights[place * 64 + LOWEST[(lowest * DE_BRUIJN) >> SHIFT]]
        word ^= lowest
    return rows


@njit(cache=True, nogil=True)
def count_common(bits: Words, nodes: Ints, weights: Longs, enough: int) -> int:
    """Return how many rows hold all of some nodes, given by their rows of bits; stop counting at `enough`."""
    rows = 0
    for place in range(bits.shape[1]):
        word = bits[nodes[0], place]
        for i in range(1, len(nodes)):
            word &= bits[nodes[i], place]
        if word:
            rows += _rows_of(word, place, weights, enough - rows)
            if rows >= enough:
                break
    return rows


@njit(cache=True, nogil=True)
def find_rare_bits(
    bits: Words, nodes: Ints, heads: int, weights: Longs, k: int, size: int, room: Prefixes, found: Ints
) -> int:
    """Fill `found` with rare sets of `size` nodes, given by their rows of bits; return how many there are then.

    Only the first `heads` nodes may be a set's first member. Sets with a rare prefix are left out, as in `find_rare`.
    """
    hits, depth = 0, 0
    room.at[0] = -1
    while depth >= 0:
        room.at[depth] += 1
        at = room.at[depth]
        if at == (len(nodes) if depth > 0 else heads):
            depth -= 1
            continue
        if depth == size - 1:
            rows = _count_extension(bits[nodes[at]], depth, weights, k, room)
            if 0 < rows < k:
                for d in range(size):
                    found[hits, d] = nodes[room.at[d]]
                hits += 1
                if hits == len(found):
                    break
        elif _extend(bits[nodes[at]], depth, weights, k, room):
            depth += 1
            room.at[depth] = at
    return hits


@njit(cache=True, nogil=True)
def _count_extension(bits: Words, depth: int, weights: Longs, enough: int, room: Prefixes) -> int:
    """Return how many rows hold the prefix of length `depth` and one more node; stop counting at `enough`."""
    rows = 0
    if depth == 0:
        for place in range(len(bits)):
            if bits[place]:
                rows += _rows_of(bits[place], place, weights, enough - rows)
                if rows >= enough:
                    break
        return rows
    words, places = room.words[depth - 1], room.places[depth - 1]
    for i in range(room.sizes[depth - 1]):
        word = words[i] & bits[places[i]]
        if word:
            rows += _rows_of(word, places[i], weights, enough - rows)
            if rows >= enough:
                break
    return rows


@njit(cache=True, nogil=True)
def _extend(bits: Words, depth: int, weights: Longs, k: int, room: Prefixes) -> bool:
    """Make the prefix one longer; return whether it is common, so that its extensions are of interest."""
    words, places = room.words[depth], room.places[depth]
    size = rows = 0
    if depth == 0:
        for place in range(len(bits)):
            if bits[place]:
                words[size], places[size] = bits[place], place
                size += 1
    else:
        before, where = room.words[depth - 1], room.places[depth - 1]
        for i in range(room.sizes[depth - 1]):
            word = before[i] & bits[where[i]]
            if word:
                words[size], places[size] = word, where[i]
                size += 1
    room.sizes[depth] = size
    for i in range(size):
        rows += _rows_of(words[i], places[i], weights, k - rows)
        if rows >= k:
            break
    return rows >= k
