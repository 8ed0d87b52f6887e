"""Cells that lie in memory, numbered: the same number for the same cell, from 0 on as they are met.

Few of them are left to libraries, which are loaded anyway; many to kernels of ours, which take about half of the time
(`python -m benchmarks numbering`) but must be loaded first.
"""

import numpy as np
import pyarrow as pa

from ringfence.arrays import Flags, Ints, Longs, distinct

FEW = 5_000
"""Fewer cells than these are numbered by libraries."""
ROOM, MORE = 2**9, 8
"""For how many different texts there is room at first, and how much more then."""


def numbered_words(words: Longs) -> tuple[Longs, Longs]:
    """Return the number of each word, and the place of the first word with each number."""
    if len(words) < FEW:
        _, firsts, which = distinct(words)
        met = np.argsort(firsts)
        number = np.empty_like(met)
        number[met] = np.arange(len(met))
        return number[which], firsts[met]
    from ringfence.kernels.numbering import number_words

    which, firsts = np.empty_like(words), np.empty_like(words)
    count = number_words(words, which, firsts, np.empty(2 * _power_of_two(len(words)), np.int32))
    return which, firsts[:count].copy()


def listed_texts(texts: pa.Array) -> pa.DictionaryArray:
    """Return texts out of a list that has each of them once, and no missing one."""
    if len(texts) < FEW:
        return texts.dictionary_encode()
    which, firsts = _numbered_texts(texts)
    numbers = pa.array(which, mask=which < 0 if texts.null_count else None)
    return pa.DictionaryArray.from_arrays(numbers, texts.take(pa.array(firsts)))


def _numbered_texts(texts: pa.Array) -> tuple[Ints, Longs]:
    """Return the number of each text, -1 for missing ones, and the place of the first text with each number."""
    from ringfence.kernels.numbering import FULL, number_texts

    _, places, characters = texts.buffers()
    those = slice(texts.offset, texts.offset + len(texts) + 1)
    large = pa.types.is_large_string(texts.type)
    ends: Ints | Longs = (np.frombuffer(places, np.int64) if large else np.frombuffer(places, np.int32))[those]
    ends = ends.astype(np.int32, copy=False) if ends[-1] < 2**31 else ends
    letters = np.frombuffer(characters or b"", np.uint8)
    for array in (ends, letters):
        array.flags.writeable = False  # as some come: kernels are compiled for one or the other
    if not texts.null_count and _are_one(letters, ends):
        return np.zeros(len(texts), np.int32), np.zeros(1, np.int64)
    there = texts.is_valid().to_numpy(zero_copy_only=False) if texts.null_count else np.empty(0, bool)
    which, room = np.empty(len(texts), np.int32), ROOM
    while True:
        firsts, begun = np.empty(room, np.int64), np.empty((3, room), np.uint64)
        count = number_texts(letters, ends, there, which, firsts, np.empty(2 * room, np.int32), begun)
        if count != FULL:
            return which, firsts[:count].copy()
        room = min(MORE * room, _power_of_two(len(texts)))


def _are_one(letters: Flags, ends: Ints | Longs) -> bool:
    """Whether all texts are the same, as where a column is hidden."""
    begin, end, length = int(ends[0]), int(ends[-1]), int(ends[1] - ends[0])
    if end - begin != length * (len(ends) - 1):
        return False
    repeats = np.array_equal(letters[begin : end - length], letters[begin + length : end])
    return repeats and bool((np.diff(ends) == length).all())


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
