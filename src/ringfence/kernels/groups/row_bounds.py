"""Row bounds: the least that a row can lose, whatever group of k rows it is published in.

Losses never fall when a group gets another row. So a group with a tuple in it loses at least what the two lose
together, and only tuples nearer than the best group known can be in a better one. These are tried in all combinations,
nearest first.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, LEAN, Geometry, Span, distance, loss_with, new_span, start, widen

DEAR = 10
"""How much more work an exact loss is than to see that another tuple is too far."""


class Sorted(NamedTuple):
    """The values of tuples in sets and trees, tuples in lexicographic order of them: `codes[t, a]`.

    A tuple that differs from t in attribute a, whatever they have else, loses at least `steps[a, codes[t, a]]` with it:
    no label is narrower than the next one above the value. The tuples from t to before `skips[t, a]` are alike in
    attributes 0 to a.
    """

    codes: Ints
    steps: Floats
    skips: Ints


@njit(**LEAN)
def _width(space: Geometry, one: int, other: int) -> float:
    """Return what two tuples lose together on lines."""
    lost = 0.0
    for i in range(len(space.limits)):
        base = space.bases[i]
        width = abs(space.numbers[base + space.ends[one, i]] - space.numbers[base + space.ends[other, i]])
        if space.bends[i] > 0:
            width /= 1 + width * space.bends[i]
        lost += min(space.limits[i], width)
    return lost


@njit(**BARE)
def _candidates(
    space: Geometry, alike: Sorted, blocks: Ints, t: int, most: float, span: Span, near: Ints, far: Floats
) -> tuple[int, int]:
    """Fill `near` with the tuples that lose less than `most` with one, and `far` with what; return how many, and how
    many were looked at: where the first attributes are too far already, all that have the same ones are passed over."""
    codes, steps, skips = alike.codes, alike.steps, alike.skips
    other, count, looks = np.int64(0), 0, 0
    while other < len(blocks):
        looks += 1
        lost, a = 0.0, 0
        while a < codes.shape[1]:
            if codes[t, a] != codes[other, a]:
                lost += steps[a, codes[t, a]]
                if lost >= most:
                    break
            a += 1
        if a < codes.shape[1]:
            other = np.int64(skips[other, a])
            continue
        if other != t and blocks[other] == blocks[t] and lost + _width(space, t, other) < most:
            exactly = distance(space, t, other, span)
            if exactly < most:
                near[count], far[count] = other, exactly
                count += 1
        other += 1
    return count, looks


@njit(cache=True, nogil=True)
def least_losses(
    space: Geometry, alike: Sorted, blocks: Ints, weights: Longs, k: int, tuples: Longs, most: Floats, limit: int,
    found: Floats,
) -> int:  # fmt: skip
    """Set `found[t]` for some tuples to what a row of each loses at least in any group of k rows of its block.

    `most[t]` is what it loses in some group, and falls to that of the best group seen. With `limit` combinations tried,
    the rest is not: then the number is that of the nearest k rows, of which the farthest is no nearer in any group.
    Return how much work it was, a tuple that is looked at and left counting 1.
    """
    span, every = new_span(space), len(blocks)
    ends, words = space.ends.shape[1], space.words.shape[1]
    low, high = np.empty((k + 1, ends), np.int32), np.empty((k + 1, ends), np.int32)
    covered = np.empty((k + 1, words), np.uint64)
    near, far = np.empty(every, np.int32), np.empty(every)
    turn, rows, lost = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64), np.empty(k + 1)
    work = 0
    for t in tuples:
        best = most[t]
        if weights[t] >= k or best <= 0.0:
            found[t] = 0.0
            continue
        count, looks = _candidates(space, alike, blocks, t, best, span, near, far)
        work += looks + DEAR * count
        order = np.argsort(far[:count])
        left = np.zeros(count + 1, np.int64)
        for j in range(count - 1, -1, -1):
            left[j] = left[j + 1] + weights[near[order[j]]]
        if weights[t] + left[0] < k:
            found[t] = best
            continue
        reach, within = 0, weights[t]
        while within < k:
            within += weights[near[order[reach]]]
            reach += 1
        nearest = far[order[reach - 1]]
        start(space, span, t)
        low[0], high[0], covered[0] = span.low, span.high, span.words
        turn[0], rows[0], lost[0], depth, nodes = 0, weights[t], 0.0, 0, 0
        while depth >= 0 and nodes < limit and best > nearest:
            j = turn[depth]
            if j >= count or far[order[j]] >= best or rows[depth] + left[j] < k:
                depth -= 1
                continue
            turn[depth] = j + 1
            other = near[order[j]]
            nodes += 1
            loss = loss_with(space, low[depth], high[depth], covered[depth], other)
            if loss >= best:
                continue
            if rows[depth] + weights[other] >= k:
                best = loss
                continue
            if loss <= lost[depth]:  # it costs nothing: no group is better without it
                turn[depth] = count
            low[depth + 1], high[depth + 1], covered[depth + 1] = low[depth], high[depth], covered[depth]
            widen(space.ends, space.words, low[depth + 1], high[depth + 1], covered[depth + 1], other)
            turn[depth + 1], rows[depth + 1], lost[depth + 1] = j + 1, rows[depth] + weights[other], loss
            depth += 1
        found[t], most[t] = nearest if depth >= 0 and best > nearest else best, best
        work += DEAR * nodes
    return work
