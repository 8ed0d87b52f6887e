"""Telling combinations of codes apart, one code for each attribute: by key, or by place where there are few of them."""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit

EMPTY = -1
SPARSE = 16
"""Combinations of codes are looked up in a table of all of them unless there are so many times as many as contexts."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def find(key: Longs, keys: Longs, slots: Longs, size: int) -> int:
    """Return the number of a key; one that is met first becomes number `size` if there is room."""
    span, words = len(slots), len(key)
    mixed = np.uint64(key[0]) * GOLDEN
    for word in range(1, words):
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(key[word])) * GOLDEN
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(20)) & (span - 1)
    while True:
        found = slots[slot]
        if found == EMPTY:
            if size >= 0:
                slots[slot] = size
                keys[size] = key
            return size
        word = 0
        while word < words and keys[found, word] == key[word]:
            word += 1
        if word == words:
            return int(found)
        slot = (slot + 1) & (span - 1)


@njit(cache=True, nogil=True)
def words_in(fields: Longs) -> int:
    """Return how many words a key has."""
    return 1 + int(fields[:, 0].max()) if len(fields) else 1


@njit(cache=True, nogil=True)
def slots_for(entries: int) -> Longs:
    """Return empty slots for so many keys."""
    span = 16
    while span < 2 * entries:
        span *= 2
    return np.full(span, EMPTY, np.int64)


@njit(cache=True, nogil=True)
def classes_of(codes: Ints, tables: Longs, fields: Longs, member: Longs, first: Longs) -> int:
    """Number the classes of contexts under one table per attribute; return how many there are.

    `fields[a]` are the word and the shift of attribute a in a key. `member[i]` becomes the class of context i, and
    `first[c]` the first context of class c.
    """
    contexts, attributes = codes.shape
    places, span = places_of(tables)
    if span <= SPARSE * contexts:
        return _classes_by_place(codes, places, int(span), member, first)
    key = np.empty(words_in(fields), np.int64)
    slots, keys, size = slots_for(contexts), np.empty((contexts, len(key)), np.int64), 0
    for i in range(contexts):
        key[:] = 0
        for a in range(attributes):
            key[fields[a, 0]] |= tables[a, codes[i, a]] << fields[a, 1]
        found = find(key, keys, slots, size)
        if found == size:
            first[size] = i
            size += 1
        member[i] = found
    return size


@njit(cache=True, nogil=True)
def places_of(tables: Longs) -> tuple[Longs, float]:
    """Return what each value adds to the place of a combination of codes, and how many places there are.

    Values with the same code add the same; with too many places, what they add is of no use.
    """
    places, number, span = np.zeros_like(tables), np.empty(tables.max() + 1 if tables.size else 1, np.int64), 1.0
    for a in range(len(tables)):
        number[:] = EMPTY
        met = 0
        for value in range(tables.shape[1]):
            code = tables[a, value]
            if number[code] == EMPTY:
                number[code] = met
                met += 1
            places[a, value] = number[code] * int(min(span, 1e9))
        span *= met
    return places, span


@njit(cache=True, nogil=True)
def _classes_by_place(codes: Ints, places: Longs, span: int, member: Longs, first: Longs) -> int:
    numbers, size = np.full(span, EMPTY, np.int32), 0
    for i in range(len(codes)):
        place = 0
        for a in range(codes.shape[1]):
            place += places[a, codes[i, a]]
        if numbers[place] == EMPTY:
            numbers[place] = size
            first[size] = i
            size += 1
        member[i] = numbers[place]
    return size
