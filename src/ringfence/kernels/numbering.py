"""Which cells are the same: each gets the number of the one like it that was met first, from 0 on in the order in which
they are met.

Both kernels look in a hash table for what they have met, and compare all of it, not only digests: what has one number
is the same to the last bit.
"""

from typing import Any

import numpy as np

from ringfence.arrays import Bools, Flags, Ints, Longs, Words
from ringfence.compiling import njit

NEW = -1
FULL = -1
WORD = 8


@njit(cache=True, nogil=True)
def number_words(words: Longs, which: Longs, firsts: Longs, slots: Ints) -> int:
    """Number some words, and return how many different ones there are.

    `which[i]` becomes the number of word i, `firsts[n]` the place of the first word with number n. `slots` has a power
    of two entries, at least twice as many as there are words.
    """
    slots[:] = NEW
    span, count = len(slots), 0
    for i in range(len(words)):
        slot = np.int64(_mixed(np.uint64(words[i]), np.uint64(0))) & (span - 1)
        while True:
            found = slots[slot]
            if found == NEW:
                slots[slot] = count
                firsts[count] = i
                which[i] = count
                count += 1
                break
            if words[firsts[found]] == words[i]:
                which[i] = found
                break
            slot = (slot + 1) & (span - 1)
    return count


@njit(cache=True, nogil=True)
def number_texts(
    letters: Flags, ends: Ints | Longs, there: Bools, which: Ints, firsts: Longs, slots: Ints, begun: Words
) -> int:
    """Number some texts, and return how many different ones there are, or `FULL` if they are more than half the slots.

    Text i is `letters[ends[i] : ends[i + 1]]`. `there` says which texts are to be numbered, all of them if it is empty;
    `which[i]` of all others becomes -1. `slots` has a power of two entries, `firsts` and the three rows of `begun` have
    half as many: they hold what tells most texts apart, their first word, their last one, and how long they are.
    """
    slots[:] = NEW
    final, count, some = np.uint64(len(slots) - 1), 0, len(there) > 0
    of_first, of_last, lengths = begun[0], begun[1], begun[2]
    for i in range(len(ends) - 1):
        if some and not there[i]:
            which[i] = NEW
            continue
        begin = np.int64(ends[i])
        length = np.int64(ends[i + 1]) - begin
        if length >= WORD:  # the last word may overlap the one before
            first, last = _word(letters, begin), _word(letters, begin + length - WORD)
        else:
            inside = length > 0 and begin + WORD <= len(letters)
            # What lies behind the text is pushed out.
            first = _word(letters, begin) << np.uint64(8 * (WORD - length)) if inside else _tail(letters, begin, length)
            last = np.uint64(0)
        mixed = _mixed(first ^ np.uint64(length), last)
        if length > 2 * WORD:
            mixed = _mixed_through(letters, begin, length, mixed)
        slot = mixed & final
        while True:
            found = slots[slot]
            if found == NEW:
                if 2 * count == len(slots):
                    return FULL
                slots[slot] = count
                firsts[count] = i
                of_first[count], of_last[count], lengths[count] = first, last, np.uint64(length)
                which[i] = count
                count += 1
                break
            known = np.uint64(found)
            if (
                of_first[known] == first
                and of_last[known] == last
                and lengths[known] == np.uint64(length)
                and (length <= 2 * WORD or _same_within(letters, begin, np.int64(ends[firsts[known]]), length))
            ):
                which[i] = found
                break
            slot = (slot + np.uint64(1)) & final
    return count


@njit(nogil=True)
def _mixed(one: Any, other: Any) -> Any:
    """Return 32 bits in which all bits of two words can be seen."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    mixed = one * factor
    return ((mixed ^ mixed >> np.uint64(29)) ^ other) * factor >> np.uint64(32)


# What few texts need has a function of its own: in the loop over all of them it would take registers from the rest.


@njit(nogil=True)
def _tail(letters: Flags, begin: Any, length: Any) -> Any:
    """Return fewer than eight letters as a word where eight cannot be read."""
    word = np.uint64(0)
    for at in range(begin, begin + length):
        word = word >> np.uint64(8) | np.uint64(letters[at]) << np.uint64(8 * (WORD - 1))
    return word


@njit(nogil=True)
def _mixed_through(letters: Flags, begin: Any, length: Any, mixed: Any) -> Any:
    """Mix into a number what a long text has between its first word and its last."""
    for at in range(begin + WORD, begin + length - WORD, WORD):
        mixed = _mixed(_word(letters, at), mixed)
    return mixed


@njit(nogil=True)
def _same_within(letters: Flags, one: Any, other: Any, length: Any) -> Any:
    """Whether two long texts of one length have the same between their first word and their last."""
    at = WORD
    while at < length - WORD and _word(letters, one + at) == _word(letters, other + at):
        at += WORD
    return at >= length - WORD


@njit(nogil=True)
def _word(letters: Flags, begin: Any) -> Any:
    """Return eight letters as a word. Places are unsigned, so that none is counted from the end: LLVM then reads the
    eight at once."""
    at = np.uint64(begin)
    return (
        np.uint64(letters[at])
        | np.uint64(letters[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(letters[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(letters[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(letters[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(letters[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(letters[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(letters[at + np.uint64(7)]) << np.uint64(56)
    )
