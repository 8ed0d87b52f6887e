"""Kernels of the attack on rings: which slots can be one ring, and in which order.

Window j of a ring of n rows covers the k rows from j on, counted around. Two windows at distance d of each other share
max(0, k - d) + max(0, k - (n - d)) rows. So a value that is behind one label and cannot be behind the other needs a row
that they do not share, each such value one of its own; and where rows are shared, so is some value. That is asked of
each pair of slots while they are strung together, and of all windows at once when a ring is closed.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Flags, Ints, Longs
from ringfence.audit.refinement.ring_values import APART, MOST_SOLUTIONS, OTHER, Labels, common_tuples, far, solve
from ringfence.compiling import njit

NOTHING, ONE, SEVERAL, STOPPED = 0, 1, 2, 3
"""What came of a slot: it is in no ring that could be, in one, in several, or the search was stopped."""


class Kinds(NamedTuple):
    """The kinds of slots: kind g shows the label `labels[g, a]` of each attribute a, and `rows[g]` slots are of it.

    Of the attribute `driver`, `listed[first[x] : first[x + 1]]` are the kinds with its label x, counted from its first.
    `apart[at[a] + x * sizes[a] + y]` is how far labels x and y of attribute a are apart, counted from `base[a]`; where
    `at[a]` is -1, that is worked out when it is asked for. The driver's is there. Attributes are asked in this `order`:
    those first that tell most kinds apart.
    """

    labels: Ints
    rows: Longs
    driver: int
    first: Longs
    listed: Longs
    base: Longs
    sizes: Longs
    at: Longs
    apart: Flags
    order: Longs


class FoundRings(NamedTuple):
    """Closed rings: `seed[i]`, the place of the slot it was found from, its `size[i]`, the kind of each window, and the
    tuples that it certainly has in this order, filled up with OTHER."""

    seed: Longs
    size: Longs
    windows: Ints
    tuples: Ints


@njit(cache=True, nogil=True)
def _within(labels: Labels, kinds: Kinds, g: int, h: int, most: int) -> bool:
    """Whether two kinds are not further apart than that in any attribute."""
    for a in kinds.order:
        x, y, base, size = kinds.labels[g, a], kinds.labels[h, a], kinds.base[a], kinds.sizes[a]
        if x == y:
            continue
        distance = far(labels, x, y) if kinds.at[a] < 0 else kinds.apart[kinds.at[a] + (x - base) * size + y - base]
        if distance > most:
            return False
    return True


@njit(cache=True, nogil=True)
def _neighbours(labels: Labels, kinds: Kinds, g: int, room: Longs) -> tuple[int, int]:
    """Fill in the kinds that may be next to a kind, itself among them; return how many, and how many were looked at."""
    a, found, looked_at = kinds.driver, 0, 0
    size = kinds.sizes[a]
    row = kinds.at[a] + (kinds.labels[g, a] - kinds.base[a]) * size
    for y in range(size):
        if kinds.apart[row + y] > 1:
            continue
        looked_at += kinds.first[y + 1] - kinds.first[y]
        for i in range(kinds.first[y], kinds.first[y + 1]):
            h = kinds.listed[i]
            if _within(labels, kinds, g, h, 1):
                room[found] = h
                found += 1
    return found, looked_at


@njit(cache=True, nogil=True)
def _same_slots(one: Ints, other: Ints, n: int) -> bool:
    first, second = np.sort(one[:n]), np.sort(other[:n])
    return bool((first == second).all())


@njit(cache=True, nogil=True)
def _missed_rows(longest: int, k: int) -> Longs:
    """Return how many rows of a window another does not share, for each size of a ring and distance."""
    missed = np.full((longest + 1, longest + 1), APART)
    for n in range(k + 1, longest + 1):
        for d in range(1, n):
            shared = max(0, k - d) + max(0, k - (n - d))
            missed[n, d] = k - shared if shared else APART  # windows that share nothing may be anything
    return missed


@njit(cache=True, nogil=True)
def _close(labels: Labels, kinds: Kinds, string: Longs, n: int, k: int, tuples: Ints) -> int:
    """Fill in the tuples that a ring certainly has; return how many attributes were solved, below 0 if one has none."""
    column, solutions = np.empty(n, np.int32), np.empty((len(kinds.base), MOST_SOLUTIONS, n), np.int32)
    counts = np.empty(len(kinds.base), np.int64)
    for a in range(len(kinds.base)):
        for w in range(n):
            column[w] = kinds.labels[string[w], a]
        counts[a] = solve(labels, column, n, k, solutions[a])
        if counts[a] == 0:
            return -a - 1
    tuples[common_tuples(solutions, counts, n, tuples) :] = OTHER
    return len(kinds.base)


@njit(cache=True, nogil=True)
def _next(
    labels: Labels, kinds: Kinds, near: Longs, tried: int, string: Longs, p: int, k: int, missed: Longs, used: Longs
) -> int:
    """Return the place among the neighbours of the next kind that can be window p of a ring, -1 if there is none.

    At the end, each ring comes the other way round as well; one of both will do. The slots of a ring of k rows, all of
    which cover all its rows, are alike.
    """
    n = len(missed)
    for i in range(tried, len(near)):
        h = near[i]
        fits = used[h] < kinds.rows[h] and (p == 1 or p < n - 1 or h >= string[1]) and (n > k or h == string[0])
        for w in range(p - 1):
            fits = fits and _within(labels, kinds, string[w], h, missed[p - w])
        if fits:
            return i
    return -1


@njit(cache=True, nogil=True)
def search(  # noqa: PLR0912, PLR0915  what it keeps between seeds would be more to hand over
    labels: Labels, kinds: Kinds, seeds: Longs, k: int, longest: int, steps: int, most: int, budget: int
) -> tuple[Longs, FoundRings, int]:
    """Return for each seed, a kind of slots, what came of it, and the rings that its slots may be in.

    All rings of k to `longest` slots are strung together that begin with the seed, each way round once. Where all
    of them have the same slots, one such ring is there: its slots leave `kinds.rows`, and no other ring can have them.
    After so many `steps`, or with more than `most` rings, nothing is told of the seed; nor of those that are left when
    the `budget` of steps for all of them, and of looks for neighbours, is spent. The third result is what is left.
    """
    attributes, kind_count = kinds.labels.shape[1], len(kinds.rows)
    came, missed = np.full(len(seeds), STOPPED), _missed_rows(longest, k)
    found, room = 0, 1024
    of, sizes = np.empty(room, np.int64), np.empty(room, np.int64)
    windows, tuples = np.empty((room, longest), np.int32), np.empty((room, longest, attributes), np.int32)
    near_at, near_count, filled = np.full(kind_count, -1), np.zeros(kind_count, np.int64), 0
    near, fresh = np.empty(1 << 16, np.int64), np.empty(kind_count, np.int64)
    used, string, tried = np.zeros(kind_count, np.int64), np.empty(longest, np.int64), np.zeros(longest + 1, np.int64)
    for s in range(len(seeds)):
        seed, begun, taken = seeds[s], found, 0
        if kinds.rows[seed] == 0:  # all its slots were found in whole rings
            came[s] = ONE
            continue
        for n in range(k, longest + 1):
            string[0], tried[1], p = seed, 0, 1
            used[seed] += 1
            while p >= 1:
                stopped = taken > min(steps, budget) or found - begun > most
                if p == n and not stopped:
                    if found == room:
                        room *= 2
                        of, sizes = np.append(of, of), np.append(sizes, sizes)
                        windows, tuples = np.concatenate((windows, windows)), np.concatenate((tuples, tuples))
                    solved = _close(labels, kinds, string, n, k, tuples[found])
                    taken += abs(solved) * n * k * k // 2
                    if solved > 0:
                        of[found], sizes[found] = s, n
                        windows[found, :n] = string[:n]
                        found += 1
                elif p < n and not stopped:
                    g = string[p - 1]
                    if near_at[g] < 0:
                        near_at[g] = filled
                        near_count[g], looked_at = _neighbours(labels, kinds, g, fresh)
                        filled += near_count[g]
                        budget -= looked_at
                        while filled > len(near):
                            near = np.append(near, near)
                        near[near_at[g] : filled] = fresh[: near_count[g]]
                    beside = near[near_at[g] : near_at[g] + near_count[g]]
                    place = _next(labels, kinds, beside, tried[p], string, p, k, missed[n, :n], used)
                    taken += p * ((place if place >= 0 else len(beside)) - tried[p] + 1)
                    if place >= 0:
                        string[p], tried[p] = beside[place], place + 1
                        used[string[p]] += 1
                        p += 1
                        if p < n:
                            tried[p] = 0
                        continue
                p -= 1
                used[string[p]] -= 1
        stopped = taken > min(steps, budget) or found - begun > most
        budget -= taken
        if stopped:
            found = begun
            continue
        same = found > begun
        for i in range(begun + 1, found):
            same = same and sizes[i] == sizes[begun] and _same_slots(windows[i], windows[begun], sizes[i])
        came[s] = NOTHING if found == begun else ONE if same else SEVERAL
        for w in range(sizes[begun] if same else 0):
            kinds.rows[windows[begun, w]] -= 1
    return came, FoundRings(of[:found], sizes[:found], windows[:found], tuples[:found]), budget
