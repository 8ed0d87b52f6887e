"""Rings along an order of rows: where the order is parted, where it is cut, and what each row's slot covers.

A ring is a run of at least k rows, closed to a circle: slot j is published as what rows j to j + k - 1 of it cover,
counted around. Rows are given by their tuples, so that equal rows cost nothing beside each other.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]


class Terrain(NamedTuple):
    """Where tuples lie, and what a row loses that is published as several of them together.

    Either `words[t]` are the values of tuple t, a bit each, and every further bit of word w loses `steps[w]`; `first`
    takes off the first ones. Or `ends[t]` are its places in attributes of which only the outermost count: on lines
    attribute i loses `steps[i]` for every place between, in trees what the lowest node over both loses, `losses` at
    `bases[i]` + node. A node covers the leaves before its `stop` that are not before it.
    """

    words: Words
    ends: Ints
    steps: Floats
    first: float
    bases: Longs
    parent: Ints
    stop: Ints
    losses: Floats


class Ends(NamedTuple):
    """What the rows next to some places cover, one row, two rows, ..., as far as it changes: step s at place p covers
    `words[p, s]`, `low` and `high` from `length[p, s]` rows on. `steps[p]` counts them."""

    steps: Longs
    length: Longs
    words: npt.NDArray[np.uint64]
    low: Ints
    high: Ints


M1, M2, M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
ONES = np.uint64(0x0101010101010101)
S1, S2, S4, S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(cache=True, nogil=True)
def _bits(word: np.uint64) -> np.int64:
    """Return how many bits are set: pairs, fours and bytes are added up side by side."""
    word = word - ((word >> S1) & M1)
    word = (word & M2) + ((word >> S2) & M2)
    word = (word + (word >> S4)) & M4
    return np.int64((word * ONES) >> S56)


@njit(cache=True, nogil=True)
def _loss_between(terrain: Terrain, i: int, low: int, high: int) -> float:
    """Return what attribute i loses between two places."""
    loss: float = 0.0
    if len(terrain.bases) == 0:
        loss = terrain.steps[i] * (high - low)
    else:
        node, base = low, terrain.bases[i]
        while terrain.stop[base + node] <= high:  # ranges are nested, and ancestors begin no later
            node = terrain.parent[base + node]
        loss = terrain.losses[base + node]
    return loss


@njit(cache=True, nogil=True)
def part_by_values(codes: Ints, k: int, bounds: Longs) -> int:
    """Part rows in lexicographic order, `codes[r]` with the first attribute first, into groups of at least k.

    Rows with the same value of the first attribute are a part; a part of fewer than k rows takes what it lacks from the
    larger of its neighbours, or, if that would leave too few there, is merged with it. Parts in which all rows agree
    are parted by the next attribute, and so on. Fill `bounds` with the first row of each group and the number of rows;
    return how many groups there are.

    Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, Fig. 8.
    Which neighbour is ours; where both have 2 k rows together, its text moves rows, as we do, and its figure merges.
    """
    rows, attributes = codes.shape
    stack, parts = np.empty((rows // k + attributes + 1, 3), np.int64), np.empty(rows + 1, np.int64)
    stack[0] = 0, rows, 0
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        first, stop, a = stack[waiting]
        found = 0
        for r in range(first, stop):
            if r == first or codes[r, a] != codes[r - 1, a]:
                parts[found] = r
                found += 1
        parts[found] = stop
        found = _mend(parts, found, k)
        for i in range(found - 1, -1, -1):
            low, high = parts[i], parts[i + 1]
            if a + 1 < attributes and codes[low, a] == codes[high - 1, a]:
                stack[waiting] = low, high, a + 1
            else:
                stack[waiting] = low, high, attributes
            waiting += 1
        while waiting and stack[waiting - 1, 2] == attributes:  # the first of those left is done
            waiting -= 1
            bounds[count] = stack[waiting, 0]
            count += 1
    bounds[count] = rows
    return count


@njit(cache=True, nogil=True)
def _mend(parts: Longs, found: int, k: int) -> int:
    """Move the bounds of parts until each has k rows; return how many are left."""
    i = 0
    while i < found:
        size = parts[i + 1] - parts[i]
        if size >= k or found == 1:
            i += 1
            continue
        before = parts[i] - parts[i - 1] if i > 0 else 0
        after = parts[i + 2] - parts[i + 1] if i + 1 < found else 0
        if max(before, after) + size >= 2 * k:
            if before >= after:
                parts[i] -= k - size
            else:
                parts[i + 1] += k - size
        else:
            gone = i if before >= after else i + 1  # the bound between the two goes
            for b in range(gone, found):
                parts[b] = parts[b + 1]
            found -= 1
            i = gone - 1
            continue
        i += 1
    return found


@njit(cache=True, nogil=True)
def window_losses(terrain: Terrain, tuples: Ints, k: int, sums: Floats) -> None:
    """Set `sums[p]` to what the windows of k rows that begin before row p lose together, as far as they end in time."""
    ends, words, steps = terrain.ends, terrain.words, terrain.steps
    attributes, loss = ends.shape[1], 0.0
    sums[0] = 0.0
    for p in range(len(tuples) - k + 1):
        if p == 0 or tuples[p] != tuples[p - 1] or tuples[p + k - 1] != tuples[p + k - 2]:
            loss = -terrain.first
            for w in range(words.shape[1]):
                covered = words[tuples[p], w]
                for r in range(p + 1, p + k):
                    covered |= words[tuples[r], w]
                loss += steps[w] * _bits(covered)
            for i in range(attributes):
                low = high = ends[tuples[p], i]
                for r in range(p + 1, p + k):
                    low, high = min(low, ends[tuples[r], i]), max(high, ends[tuples[r], i])
                loss += _loss_between(terrain, i, low, high)
        sums[p + 1] = sums[p] + loss


@njit(cache=True, nogil=True)
def _new_ends(terrain: Terrain, places: int, k: int) -> Ends:
    attributes, words = terrain.ends.shape[1], terrain.words.shape[1]
    return Ends(
        np.zeros(places, np.int64),
        np.empty((places, k), np.int64),
        np.empty((places, k, words), np.uint64),
        np.empty((places, k, attributes), np.int32),
        np.empty((places, k, attributes), np.int32),
    )


@njit(cache=True, nogil=True)
def _fill_end(terrain: Terrain, tuples: Ints, begin: int, step: int, k: int, noted: Ends, place: int) -> None:
    """Note what up to k - 1 rows cover from `begin` on, forwards or backwards."""
    ends, words, covered, low, high = terrain.ends, terrain.words, noted.words, noted.low, noted.high
    s = 0
    for count in range(1, k):
        r = begin + step * (count - 1)
        if r < 0 or r >= len(tuples):
            break
        t = tuples[r]
        if count > 1 and t == tuples[r - step]:
            continue
        changes = s == 0
        for w in range(words.shape[1]):
            covered[place, s, w] = words[t, w] | (covered[place, s - 1, w] if s else np.uint64(0))
            changes |= s > 0 and covered[place, s, w] != covered[place, s - 1, w]
        for i in range(ends.shape[1]):
            low[place, s, i] = min(ends[t, i], low[place, s - 1, i]) if s else ends[t, i]
            high[place, s, i] = max(ends[t, i], high[place, s - 1, i]) if s else ends[t, i]
            changes |= s > 0 and low[place, s, i] != low[place, s - 1, i]
            changes |= s > 0 and high[place, s, i] != high[place, s - 1, i]
        if changes:
            noted.length[place, s] = count
            s += 1
    noted.steps[place] = s


@njit(cache=True, nogil=True)
def _closing_loss(terrain: Terrain, k: int, tails: Ends, heads: Ends, q: int, enough: float) -> float:
    """Return what the k - 1 windows lose that close a ring: the last 1 to k - 1 rows with the first k - 1 to 1.

    The tail is noted at place 0, the head at q. Once the sum is `enough`, it is not added up further.
    """
    steps, one, other = terrain.steps, tails.words, heads.words
    low, high, lower, higher = tails.low, tails.high, heads.low, heads.high
    total: float = 0.0
    s, t = 0, heads.steps[q] - 1
    last = 0  # how many of the windows are added up: those with up to so many rows of the tail
    while last < k - 1:
        while s + 1 < tails.steps[0] and tails.length[0, s + 1] <= last + 1:
            s += 1
        while heads.length[q, t] > k - 1 - last:
            t -= 1
        upto = k - heads.length[q, t]  # with more of the tail, the head is shorter than this step of it
        if s + 1 < tails.steps[0]:
            upto = min(upto, tails.length[0, s + 1] - 1)
        loss = -terrain.first
        for w in range(one.shape[2]):
            loss += steps[w] * _bits(one[0, s, w] | other[q, t, w])
        for i in range(low.shape[2]):
            loss += _loss_between(terrain, i, min(low[0, s, i], lower[q, t, i]), max(high[0, s, i], higher[q, t, i]))
        total += (upto - last) * loss
        if total >= enough:
            break
        last = upto
    return total


@njit(cache=True, nogil=True)
def cut_rings(terrain: Terrain, tuples: Ints, bounds: Longs, k: int, most: int, starts: Longs) -> int:
    """Cut each group, rows `bounds[g]` to `bounds[g + 1]` - 1, into rings of k to `most` rows that lose least together.

    Fill `starts` with the first row of each ring and the number of rows; return how many rings there are. `most` is at
    least 2 k - 1, so that every group of k rows or more can be cut.

    The cost of a ring is that of its windows: those inside it are sums along the order, those that close it depend on
    its two ends only. A ring that costs no less without its closing windows than the best so far is passed over, since
    no window has a negative loss.
    """
    rows = len(tuples)
    sums = np.empty(rows + 2)
    window_losses(terrain, tuples, k, sums)
    heads, tails = _new_ends(terrain, most + 1, k), _new_ends(terrain, 1, k)
    cost, before = np.empty(rows + 1), np.empty(rows + 1, np.int64)
    count = 0
    for g in range(len(bounds) - 1):
        first, stop = bounds[g], bounds[g + 1]
        cost[first : stop + 1] = np.inf
        cost[first] = 0.0
        for j in range(first + k, stop + 1):
            newest = j - k
            _fill_end(terrain, tuples, newest, 1, k, heads, newest % (most + 1))
            _fill_end(terrain, tuples, j - 1, -1, k, tails, 0)
            oldest = max(first, j - most)
            likely, least = newest, np.inf
            for i in range(oldest, newest + 1):
                inside = cost[i] + sums[j - k + 1] - sums[i]
                if inside < least:
                    likely, least = i, inside
            for turn in range(oldest - 1, newest + 1):  # the likeliest first: it rules out most of the others
                i = likely if turn < oldest else turn
                inside = cost[i] + sums[j - k + 1] - sums[i]
                if inside >= cost[j] or (turn >= oldest and i == likely):
                    continue
                if j - i == k:
                    total = inside + (k - 1) * (sums[i + 1] - sums[i])
                else:
                    total = inside + _closing_loss(terrain, k, tails, heads, i % (most + 1), cost[j] - inside)
                if total < cost[j]:
                    cost[j], before[j] = total, i
        j, begin = stop, count
        while j > first:
            j = before[j]
            starts[count] = j
            count += 1
        starts[begin:count] = starts[begin:count][::-1].copy()
    starts[count] = rows
    return count


@njit(cache=True, nogil=True)
def slot_tuples(tuples: Ints, starts: Longs, k: int, fresh: Bools, slots: Longs, covered: Ints) -> int:
    """List the tuples that slots cover: entry e says that slot `slots[e]` covers `covered[e]`.

    A slot that covers the same stretch of tuples as the slot before it in the ring is not listed; `fresh` marks those
    that are. Return the number of entries; with too little room it is only counted.
    """
    entries = 0
    for ring in range(len(starts) - 1):
        first, size = starts[ring], starts[ring + 1] - starts[ring]
        for slot in range(size):
            gone, come = first + (slot - 1) % size, first + (slot + k - 1) % size
            same = slot > 0 and tuples[gone] == tuples[first + slot]
            same &= tuples[come] == tuples[first + (slot + k - 2) % size]
            fresh[first + slot] = not same
            if same:
                continue
            previous = -1
            for step in range(k):
                t = tuples[first + (slot + step) % size]
                if t != previous:
                    if entries < len(slots):
                        slots[entries], covered[entries] = first + slot, t
                    entries += 1
                previous = t
    return entries
