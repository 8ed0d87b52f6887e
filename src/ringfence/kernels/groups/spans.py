"""Spans: what a group of tuples covers in each attribute, and what a row published so loses.

An attribute is a *line* (numbers, or ranges of an order: what lies between the ends is lost), a *tree* (the lowest
node over all of them counts) or a *set* (the number of values counts). Losses are scaled so that they add up over
attributes. A span grows by tuples, and never shrinks: to take a tuple out, the others are put together anew.
"""

from typing import Any, NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs, Words
from ringfence.compiling import njit

BARE: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
"""For functions of innermost loops that neither make arrays nor keep any: to count who uses which array, each time one
is taken out of a tuple, would cost more than all the rest."""

LEAN: dict[str, Any] = {**BARE, "forceinline": True}
"""The same for small functions of many arguments, which cost less where they are used than to be called."""


class Geometry(NamedTuple):
    """Where each tuple lies.

    `ends[t]` are its places in the attributes of which the outermost count: first on lines, then its leaves in trees.
    Place e of line i, as node e of tree i, stands at `bases[i] + e`. Of a line, the difference y of the `numbers` is
    lost, bent to y / (1 + y `bends[i]`), at most `limits[i]`; of a tree, the number of the lowest node over all, where
    a node covers the leaves before its `stop` that are not before it.

    `words[t]` are its values in sets, a bit each. Set s has the bits `masks[f]` of words `holders[f]`, f from
    `begins[s]` to before `begins[s + 1]`; d of them lose `costs[s, d]`.

    Where there are `prices`, a row also pays the mean price of the values under its label: `prices[w, b]` is that of
    bit b of word w; `tolls[e]` are the price of place e of a line, the sum of all up to it, and their number; nodes
    have theirs in their numbers.
    """

    ends: Ints
    bases: Longs
    numbers: Floats
    limits: Floats
    bends: Floats
    parent: Ints
    stop: Ints
    words: Words
    begins: Longs
    holders: Longs
    masks: Words
    costs: Floats
    prices: Floats
    tolls: Floats


class Span(NamedTuple):
    """What some tuples cover: the outermost places of lines and trees, and the bits of sets."""

    low: Ints
    high: Ints
    words: Words


M1 = np.uint64(0x5555555555555555)
M2 = np.uint64(0x3333333333333333)
M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
ONES = np.uint64(0x0101010101010101)
S1, S2, S4, S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(**BARE)
def count_bits(word: np.uint64) -> np.int64:
    """Return how many bits are set: pairs, fours and bytes are added up side by side."""
    word = word - ((word >> S1) & M1)
    word = (word & M2) + ((word >> S2) & M2)
    word = (word + (word >> S4)) & M4
    return np.int64((word * ONES) >> S56)


@njit(**BARE)
def paid_for(prices: Floats, word: np.uint64) -> float:
    """Return the sum of the prices of all bits that are set, the lowest first."""
    paid = 0.0
    while word:
        rest = word & (word - S1)
        paid += prices[count_bits((word ^ rest) - S1)]
        word = rest
    return paid


@njit(**BARE)
def mean_toll(tolls: Floats, first: int, last: int) -> float:
    """Return the mean price of the places of a line from one to another, both included; 0 where none has one."""
    held = tolls[last, 2] - tolls[first, 2] + 1
    return float((tolls[last, 1] - tolls[first, 1] + tolls[first, 0]) / held)


@njit(cache=True, nogil=True)
def new_span(space: Geometry) -> Span:
    """Return room for a span."""
    ends = space.ends.shape[1]
    return Span(np.empty(ends, np.int32), np.empty(ends, np.int32), np.empty(space.words.shape[1], np.uint64))


@njit(**LEAN)
def start(space: Geometry, span: Span, t: int) -> None:
    """Make a span cover one tuple and nothing else."""
    ends, words, low, high, covered = space.ends, space.words, span.low, span.high, span.words
    for i in range(len(low)):
        low[i] = high[i] = ends[t, i]
    for w in range(len(covered)):
        covered[w] = words[t, w]


@njit(**LEAN)
def widen(ends: Ints, words: Words, low: Ints, high: Ints, covered: Words, t: int) -> None:
    """Make a span cover one tuple more.

    It is called in innermost loops, and so takes the arrays of a space and a span one by one.
    """
    for i in range(len(low)):
        low[i] = min(low[i], ends[t, i])
        high[i] = max(high[i], ends[t, i])
    for w in range(len(covered)):
        covered[w] |= words[t, w]


@njit(**LEAN)
def loss_between(space: Geometry, i: int, first: int, last: int) -> float:
    """Return what a row loses on a line or in a tree that is published as two places and all between them."""
    base, numbers = space.bases[i], space.numbers
    if i < len(space.limits):
        width = numbers[base + last] - numbers[base + first]
        if space.bends[i] > 0:
            width /= 1 + width * space.bends[i]
        loss = min(space.limits[i], width)
        if len(space.tolls) > 0:
            loss += mean_toll(space.tolls, base + first, base + last)
        return float(loss)
    node = first
    while space.stop[base + node] <= last:  # ranges are nested, and ancestors begin no later
        node = space.parent[base + node]
    return float(numbers[base + node])


@njit(**LEAN)
def loss_of_sets(space: Geometry, covered: Words, more: Words) -> float:
    """Return what a row loses in sets that is published as some bits and some more."""
    masks, holders, begins, costs = space.masks, space.holders, space.begins, space.costs
    loss = 0.0
    for s in range(len(begins) - 1):
        held = np.int64(0)
        for f in range(begins[s], begins[s + 1]):
            held += count_bits((covered[holders[f]] | more[holders[f]]) & masks[f])
        loss += costs[s, held]
        if len(space.prices) > 0:
            paid = 0.0
            for f in range(begins[s], begins[s + 1]):
                paid += paid_for(space.prices[holders[f]], (covered[holders[f]] | more[holders[f]]) & masks[f])
            loss += paid / held
    return loss


@njit(**LEAN)
def loss_with(space: Geometry, low: Ints, high: Ints, covered: Words, t: int) -> float:
    """Return what a row loses that is published as a span and one tuple, which the span may cover already."""
    ends, loss = space.ends, 0.0
    for i in range(len(low)):
        loss += loss_between(space, i, min(low[i], ends[t, i]), max(high[i], ends[t, i]))
    return loss + loss_of_sets(space, covered, space.words[t])


@njit(**BARE)
def distance(space: Geometry, one: int, other: int, span: Span) -> float:
    """Return what a row loses that is published as two tuples together."""
    start(space, span, one)
    return float(loss_with(space, span.low, span.high, span.words, other))


@njit(cache=True, nogil=True)
def row_losses(space: Geometry, tuples: Ints, begins: Longs, losses: Floats) -> None:
    """Set `losses[g]` to what a row of group g loses; groups of tuples stand between neighbouring `begins`."""
    span = new_span(space)
    for g in range(len(begins) - 1):
        first = tuples[begins[g]]
        start(space, span, first)
        for i in range(begins[g] + 1, begins[g + 1]):
            widen(space.ends, space.words, span.low, span.high, span.words, tuples[i])
        losses[g] = loss_with(space, span.low, span.high, span.words, first)


@njit(cache=True, nogil=True)
def total_loss(space: Geometry, tuples: Ints, begins: Longs) -> float:
    """Return what all rows lose together, given by their tuples, in groups that stand between neighbouring `begins`."""
    losses = np.empty(len(begins) - 1)
    row_losses(space, tuples, begins, losses)
    total = 0.0
    for g in range(len(losses)):
        total += (begins[g + 1] - begins[g]) * losses[g]
    return total
