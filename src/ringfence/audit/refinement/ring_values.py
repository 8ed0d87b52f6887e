"""Kernels of the attack on rings: which values the rows of a ring have, given the labels of its windows in order.

Window w of a ring of n rows covers the k rows from w on, counted around. All values that a label says are behind it
must be among its rows', and each of its rows' values must be allowed by it. Attributes do not depend on each other.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Flags, Ints, Longs
from ringfence.compiling import njit

APART = 255
"""Of two labels that share no value."""
OTHER = -1
"""A value that is not determined, or that no label has to have."""
MOST_VALUES = 48
"""With more values to choose from for one row, an attribute is left open."""
MOST_SOLUTIONS = 60
"""How many solutions of an attribute, and how many combinations of those of all, are told apart."""
MOST_TRIALS = 2000
"""How many values are tried for the rows of one ring in one attribute before it is left open."""


class Labels(NamedTuple):
    """The labels of all attributes, numbered together: of label x the values `must[starts[x] : starts[x + 1]]` are
    behind it, and any from `low[x]` to `high[x]` may be."""

    starts: Longs
    must: Ints
    low: Ints
    high: Ints


@njit(cache=True, nogil=True)
def _allows(labels: Labels, x: int, value: int) -> bool:
    allowed: bool = labels.low[x] <= value <= labels.high[x]
    for i in range(labels.starts[x], labels.starts[x + 1]):
        allowed = allowed or labels.must[i] == value
    return allowed


@njit(cache=True, nogil=True)
def far(labels: Labels, x: int, y: int) -> int:
    """Return how many values are behind one of two labels and cannot be behind the other, or APART."""
    lacking, meeting = 0, max(labels.low[x], labels.low[y]) <= min(labels.high[x], labels.high[y])
    for one, other in ((x, y), (y, x)):
        lacks = 0
        for i in range(labels.starts[one], labels.starts[one + 1]):
            if _allows(labels, other, labels.must[i]):
                meeting = True
            else:
                lacks += 1
        lacking = max(lacking, lacks)
    return lacking if meeting else APART


@njit(cache=True, nogil=True)
def compare(labels: Labels, base: int, held: Longs, apart: Flags) -> int:
    """Fill in how far any two of the labels of an attribute are apart; return how many pairs of kinds may be next to
    each other by it, where `held` kinds have each label."""
    size, near = len(held), 0
    for x in range(size):
        for y in range(x, size):
            distance = far(labels, base + x, base + y)
            apart[x * size + y] = apart[y * size + x] = distance
            if distance <= 1:
                near += held[x] * held[y]
    return near


@njit(cache=True, nogil=True)
def _choices(labels: Labels, windows: Ints, n: int, k: int, p: int, choices: Ints) -> int:
    """Fill in the values that row p may have, those that all its windows allow; return how many, or -1 for too many.

    Values that no window has to have are alike: OTHER stands for them. There is one if not all numbers that the ranges
    share are among the others.
    """
    low, high, found = -(2**31), 2**31 - 1, 0
    for step in range(k):
        x = windows[(p - step) % n]
        low, high = max(low, labels.low[x]), min(high, labels.high[x])
    for step in range(k):
        x = windows[(p - step) % n]
        for i in range(labels.starts[x], labels.starts[x + 1]):
            value, good = labels.must[i], True
            for c in range(found):
                good = good and choices[c] != value
            for other in range(k):
                good = good and _allows(labels, windows[(p - other) % n], value)
            if good:
                if found == MOST_VALUES - 1:
                    return -1
                choices[found] = value
                found += 1
        if labels.low[x] > labels.high[x]:
            break  # all that it allows was looked at
    inside = 0
    for c in range(found):
        inside += low <= choices[c] <= high
    if high - low + 1 > inside:
        choices[found] = OTHER
        found += 1
    return found


@njit(cache=True, nogil=True)
def _force(labels: Labels, windows: Ints, n: int, k: int, choices: Ints, counts: Longs) -> bool:
    """Give each value that only one row of a window can have to that row, until nothing changes; False if none can."""
    changed = True
    while changed:
        changed = False
        for w in range(n):
            x = windows[w]
            for i in range(labels.starts[x], labels.starts[x + 1]):
                value, holders, last = labels.must[i], 0, 0
                for step in range(k):
                    p = (w + step) % n
                    for c in range(counts[p]):
                        if choices[p, c] == value:
                            holders, last = holders + 1, p
                if holders == 0:
                    return False
                if holders == 1 and counts[last] > 1:
                    choices[last, 0], counts[last], changed = value, 1, True
    return True


@njit(cache=True, nogil=True)
def _met(labels: Labels, x: int, values: Ints, w: int, n: int, k: int) -> bool:
    """Whether all that must be behind the label of a window is."""
    for i in range(labels.starts[x], labels.starts[x + 1]):
        good = False
        for step in range(k):
            good = good or values[(w + step) % n] == labels.must[i]
        if not good:
            return False
    return True


@njit(cache=True, nogil=True)
def _try_all(labels: Labels, windows: Ints, n: int, k: int, choices: Ints, counts: Longs, solutions: Ints) -> int:
    """Fill in all solutions; where there are more than there is room for, one with OTHER where they differ.

    Return how many were filled in. These are not gone through once every row that is not forced was seen with two
    values. Where it takes too long, all such rows are OTHER.
    """
    values, settled, tried = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int64)
    found, trials, p, undecided = 0, 0, 0, 1
    while p >= 0 and (found <= len(solutions) or undecided):
        if p == n:
            good = True
            for w in range(n - k + 1, n):  # those that go around
                good = good and _met(labels, windows[w], values, w, n, k)
            if good:
                undecided = 0
                for row in range(n):
                    settled[row] = values[row] if found == 0 or settled[row] == values[row] else OTHER
                    undecided += counts[row] > 1 and settled[row] != OTHER
                if found < len(solutions):
                    solutions[found, :n] = values
                found += 1
            p -= 1
        elif tried[p] == counts[p]:
            tried[p] = 0
            p -= 1
        elif trials == MOST_TRIALS:
            solutions[0, :n] = np.where(counts > 1, OTHER, choices[:, 0])
            return 1
        else:
            values[p] = choices[p, tried[p]]
            tried[p] += 1
            trials += 1
            if p < k - 1 or _met(labels, windows[p - k + 1], values, p - k + 1, n, k):
                p += 1
    if found > len(solutions):
        solutions[0, :n] = settled
        return 1
    return found


@njit(cache=True, nogil=True)
def solve(labels: Labels, windows: Ints, n: int, k: int, solutions: Ints) -> int:
    """Fill in what values the rows of a ring may have in one attribute, all solutions; return how many.

    Where there are too many, or it takes too long, there is one in which all values that are not settled are OTHER:
    it stands for any solution, and claims only become fewer by that.
    """
    x, plain = windows[0], True
    for w in range(n):
        plain = plain and windows[w] == x
    if plain and labels.low[x] > labels.high[x] and labels.starts[x + 1] == labels.starts[x] + 1:
        solutions[0, :n] = labels.must[labels.starts[x]]
        return 1
    choices, counts = np.empty((n, MOST_VALUES), np.int32), np.zeros(n, np.int64)
    for p in range(n):
        counts[p] = _choices(labels, windows, n, k, p, choices[p])
        if counts[p] == 0:
            return 0
    if counts.min() < 0:
        solutions[0, :n] = OTHER
        return 1
    if not _force(labels, windows, n, k, choices, counts):
        return 0
    return _try_all(labels, windows, n, k, choices, counts, solutions)


@njit(cache=True, nogil=True)
def _same(one: Ints, other: Ints) -> bool:
    for a in range(len(one)):  # noqa: SIM110  no arrays are made
        if one[a] != other[a]:
            return False
    return True


@njit(cache=True, nogil=True)
def _keep(certain: Ints, count: int, rows: Ints) -> int:
    """Keep of some tuples those that are among others too, as often as they are there; return how many are left."""
    kept, taken = 0, np.zeros(len(rows), np.bool_)
    for c in range(count):
        for p in range(len(rows)):
            if not taken[p] and _same(certain[c], rows[p]):
                certain[kept], taken[p] = certain[c], True
                kept += 1
                break
    return kept


@njit(cache=True, nogil=True)
def common_tuples(solutions: Ints, counts: Longs, n: int, certain: Ints) -> int:
    """Fill in the tuples that the rows of a ring have whatever solution each attribute has; return how many.

    `solutions[a, i]` is the i-th of `counts[a]` solutions of attribute a. Where these are too many combinations, those
    of the attribute with the most give way to one with OTHER where they differ. A tuple with OTHER is not known.
    """
    attributes, rows = len(counts), np.empty((n, len(counts)), np.int32)
    while counts.prod() > MOST_SOLUTIONS:
        most = counts.argmax()
        merged = solutions[most, 0, :n]
        for i in range(1, counts[most]):
            merged[:] = np.where(solutions[most, i, :n] == merged, merged, OTHER)
        counts[most] = 1
    kept = 0
    for number in range(counts.prod()):
        rest = number
        for a in range(attributes):
            rows[:, a] = solutions[a, rest % counts[a], :n]
            rest //= counts[a]
        if number == 0:
            for p in range(n):
                certain[kept] = rows[p]
                kept += rows[p].min() > OTHER
        else:
            kept = _keep(certain, kept, rows)
        if kept == 0:
            break
    return kept
