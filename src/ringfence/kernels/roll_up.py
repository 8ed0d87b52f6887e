"""Class tables: rows grouped by their quasi-identifiers, rolled up from finer to coarser groups.

A class is known by a *key* of one or more 64-bit words in which each attribute has a field of bits. The field holds a
leaf that stands for the class's block (the block's smallest). Since it is itself a leaf, one look-up table per
recoding coarsens any finer class, whatever recoding that class came from.
"""

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit

EMPTY = -1
FACTOR = 0x9E3779B97F4A7C15


@njit(cache=True, nogil=True)
def roll_up(
    keys: Longs,
    weights: Longs,
    size: int,
    fields: Longs,
    tables: Longs,
    scratch: Longs,
    out_keys: Longs,
    out_weights: Longs,
    member: Ints,
    slots: Ints,
) -> int:
    """Group `size` classes by their keys after `fields` of them are recoded; return how many classes there are then.

    `keys[word, i]` are the words of class i. `fields` has a row (word, shift, mask, offset into `tables`) for each
    attribute to be recoded. `member[i]` becomes the new class of the old class i; new classes are numbered as they are
    first met, so the result does not depend on the hash. `scratch` is as large as `keys`; `slots` has a power of two
    entries, at least twice `size`.
    """
    for word in range(keys.shape[0]):
        for i in range(size):
            scratch[word, i] = keys[word, i]
    for f in range(fields.shape[0]):
        row, shift, mask = scratch[fields[f, 0]], fields[f, 1], fields[f, 2]
        keep, table = ~(mask << shift), tables[fields[f, 3] :]
        for i in range(size):
            row[i] = (row[i] & keep) | (table[(row[i] >> shift) & mask] << shift)
    if keys.shape[0] == 1:  # nearly always: to ask for further words takes a fifth of the time
        return _group(scratch[0], weights, size, out_keys[0], out_weights, member, slots)
    return _group_by_words(scratch, weights, size, out_keys, out_weights, member, slots)


@njit(nogil=True)
def _group(
    keys: Longs, weights: Longs, size: int, out_keys: Longs, out_weights: Longs, member: Ints, slots: Ints
) -> int:
    """Group classes by keys of one word."""
    span = _clear(slots, size)
    classes = 0
    for i in range(size):
        key = keys[i]
        slot = np.int64(np.uint64(key) * np.uint64(FACTOR) >> np.uint64(32)) & (span - 1)
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = classes
                out_keys[classes] = key
                out_weights[classes] = weights[i]
                member[i] = classes
                classes += 1
                break
            if out_keys[found] == key:
                out_weights[found] += weights[i]
                member[i] = found
                break
            slot = (slot + 1) & (span - 1)
    return classes


@njit(nogil=True)
def _group_by_words(
    keys: Longs, weights: Longs, size: int, out_keys: Longs, out_weights: Longs, member: Ints, slots: Ints
) -> int:
    """Group classes by keys of several words."""
    words = keys.shape[0]
    span = _clear(slots, size)
    classes = 0
    for i in range(size):
        mixed = np.uint64(keys[0, i]) * np.uint64(FACTOR)
        for word in range(1, words):
            mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(keys[word, i])) * np.uint64(FACTOR)
        slot = np.int64(mixed >> np.uint64(32)) & (span - 1)
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = classes
                for word in range(words):
                    out_keys[word, classes] = keys[word, i]
                out_weights[classes] = weights[i]
                member[i] = classes
                classes += 1
                break
            word = 0
            while word < words and out_keys[word, found] == keys[word, i]:
                word += 1
            if word == words:
                out_weights[found] += weights[i]
                member[i] = found
                break
            slot = (slot + 1) & (span - 1)
    return classes


@njit(cache=True, nogil=True)
def roll_up_pairs(
    homes: Ints,
    values: Ints,
    weights: Longs,
    size: int,
    member: Ints,
    classes: int,
    domain: int,
    out_homes: Ints,
    out_values: Ints,
    out_weights: Longs,
    slots: Ints,
) -> int:
    """Group `size` pairs (class, sensitive value) after class c became class `member[c]`; return how many remain.

    There are `classes` classes then, and `domain` values. If all their pairs fit into the slots, each has a slot of
    its own; else pairs are hashed.
    """
    span = _clear(slots, size)
    dense = classes * domain <= span
    pairs = 0
    for i in range(size):
        home, value = np.int64(member[homes[i]]), np.int64(values[i])
        if dense:
            slot = home * domain + value
        else:
            mixed = (np.uint64(home) << np.uint64(32) | np.uint64(value)) * np.uint64(FACTOR)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(FACTOR)
            slot = np.int64(mixed >> np.uint64(32)) & (span - 1)
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = pairs
                out_homes[pairs] = home
                out_values[pairs] = value
                out_weights[pairs] = weights[i]
                pairs += 1
                break
            if dense or (out_homes[found] == home and out_values[found] == value):
                out_weights[found] += weights[i]
                break
            slot = (slot + 1) & (span - 1)
    return pairs


@njit(cache=True, nogil=True)
def roll_up_tallies(
    tallies: npt.NDArray[np.float64], size: int, member: Ints, out_tallies: npt.NDArray[np.float64], classes: int
) -> None:
    """Add up the tallies of `size` classes after class i became class `member[i]`, one of `classes`."""
    for row in range(tallies.shape[0]):
        out_tallies[row, :classes] = 0.0
        for i in range(size):
            out_tallies[row, member[i]] += tallies[row, i]


@njit(cache=True, nogil=True)
def _clear(slots: Ints, size: int) -> int:
    """Empty as many slots as a hash table of `size` entries needs, and return how many those are."""
    span = 16
    while span < 2 * size:
        span *= 2
    slots[:span] = EMPTY
    return span
