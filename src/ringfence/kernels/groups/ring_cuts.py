"""Rings along an order of rows: where the order is parted, where it is cut, and what each row's slot covers.

A ring is a run of at least k rows, closed to a circle: slot j is published as what rows j to j + k - 1 of it cover,
counted around. Rows are given by their tuples, so that equal rows cost nothing beside each other.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit


class Terrain(NamedTuple):
    """Where tuples lie, and what a row loses that is published as several of them together, attribute by attribute.

    Of *sets*, `values[t]` are the values of tuple t, those of all attributes numbered together: every value loses its
    `prices`, except that the first of each attribute together are free, which `first` takes off. Of *lines* and *trees*
    only the outermost places `ends[t]` count; place e of the i-th stands at `bases[i]` + e. On a line the difference of
    the `numbers` is lost, at most `caps[i]`; in a tree, the number of the lowest node over both, where a node covers
    the leaves before its `stop` that are not before it. The first `lines` are lines, all others trees.
    """

    values: Ints
    prices: Floats
    first: float
    ends: Ints
    bases: Longs
    numbers: Floats
    caps: Floats
    lines: int
    parent: Ints
    stop: Ints


class Ends(NamedTuple):
    """The outermost places of the rows next to some place, one row, two rows, ..., as far as they change: step s at
    place p has its `low` and `high` from `length[p, s]` rows on. `steps[p]` counts them."""

    steps: Longs
    length: Longs
    low: Ints
    high: Ints


@njit(cache=True, nogil=True)
def _loss_between(terrain: Terrain, i: int, low: int, high: int) -> float:
    """Return what attribute i loses between two places."""
    base, node = terrain.bases[i], low
    loss: float = 0.0
    if i >= terrain.lines:
        while terrain.stop[base + node] <= high:  # ranges are nested, and ancestors begin no later
            node = terrain.parent[base + node]
        loss = terrain.numbers[base + node]
    else:
        loss = min(terrain.caps[i], terrain.numbers[base + high] - terrain.numbers[base + low])
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
    values, prices, ends = terrain.values, terrain.prices, terrain.ends
    held, loss = np.zeros(len(prices), np.int64), 0.0
    sums[0], paid = 0.0, 0.0
    for r in range(len(tuples)):
        for a in range(values.shape[1]):
            value = values[tuples[r], a]
            paid += prices[value] * (held[value] == 0)
            held[value] += 1
        p = r - k + 1
        if p < 0:
            continue
        same = p > 0 and tuples[p] == tuples[p - 1] and tuples[r] == tuples[r - 1]
        if not same:
            loss = paid - terrain.first
            for i in range(ends.shape[1]):
                low = high = ends[tuples[p], i]
                for other in range(p + 1, r + 1):
                    low, high = min(low, ends[tuples[other], i]), max(high, ends[tuples[other], i])
                loss += _loss_between(terrain, i, low, high)
        sums[p + 1] = sums[p] + max(loss, 0.0)
        for a in range(values.shape[1]):
            value = values[tuples[p], a]
            held[value] -= 1
            paid -= prices[value] * (held[value] == 0)


@njit(cache=True, nogil=True)
def _end_prices(terrain: Terrain, tuples: Ints, k: int, step: int, sums: Floats) -> None:
    """Set `sums[r]` to what the values cost of the 1, 2, ..., k - 1 rows from r on, forwards or backwards, together.

    A value that is first met as the n-th row is in k - n of them.
    """
    if k == 1:
        sums[:] = 0.0
        return
    values, prices = terrain.values, terrain.prices
    rows = len(tuples)
    met = np.full(len(prices), rows + k if step > 0 else -1 - k)
    total, active = 0.0, 0.0
    r = rows - 1 if step > 0 else 0
    for _ in range(rows):
        total -= active  # all that was met is now one row further off
        gone = r + step * (k - 1)
        for a in range(values.shape[1] if 0 <= gone < rows else 0):
            value = values[tuples[gone], a]
            if met[value] == gone:
                active -= prices[value]
        for a in range(values.shape[1]):
            value = values[tuples[r], a]
            n = (met[value] - r) * step + 1
            if n < k:
                total -= prices[value] * (k - n)
                active -= prices[value]
            met[value] = r
            total += prices[value] * (k - 1)
            active += prices[value]
        sums[r] = total
        r -= step


@njit(cache=True, nogil=True)
def _note_values(terrain: Terrain, tuples: Ints, begin: int, k: int, seen: Longs, noted: Ints, length: Longs) -> int:
    """Note the values of up to k - 1 rows from `begin` on, each with the number of rows it takes to meet it."""
    values, count = terrain.values, 0
    for n in range(1, min(k, len(tuples) - begin + 1)):
        t = tuples[begin + n - 1]
        if n > 1 and t == tuples[begin + n - 2]:
            continue
        for a in range(values.shape[1]):
            value = values[t, a]
            if seen[value] != begin:
                seen[value] = begin
                noted[count], length[count] = value, n
                count += 1
    return count


@njit(cache=True, nogil=True)
def _new_ends(terrain: Terrain, places: int, k: int) -> Ends:
    attributes = terrain.ends.shape[1]
    return Ends(
        np.zeros(places, np.int64),
        np.empty((places, k), np.int64),
        np.empty((places, k, attributes), np.int32),
        np.empty((places, k, attributes), np.int32),
    )


@njit(cache=True, nogil=True)
def _fill_end(ends: Ints, tuples: Ints, begin: int, step: int, k: int, noted: Ends, place: int) -> None:
    """Note the outermost places of up to k - 1 rows from `begin` on, forwards or backwards."""
    low, high = noted.low[place], noted.high[place]
    s = 0
    for count in range(1, k):
        r = begin + step * (count - 1)
        if r < 0 or r >= len(tuples):
            break
        changes = s == 0
        for i in range(ends.shape[1]):
            end = ends[tuples[r], i]
            low[s, i] = min(end, low[s - 1, i]) if s else end
            high[s, i] = max(end, high[s - 1, i]) if s else end
            changes |= s > 0 and (low[s, i] != low[s - 1, i] or high[s, i] != high[s - 1, i])
        if changes:
            noted.length[place, s] = count
            s += 1
    noted.steps[place] = s


@njit(cache=True, nogil=True)
def _closing_loss(terrain: Terrain, k: int, tails: Ends, heads: Ends, q: int, enough: float) -> float:
    """Return what the k - 1 windows lose that close a ring: the last 1 to k - 1 rows with the first k - 1 to 1.

    The tail is noted at place 0, the head at q. Once the sum is `enough`, it is not added up further.
    """
    low, high, lower, higher = tails.low[0], tails.high[0], heads.low[q], heads.high[q]
    length, longer = tails.length[0], heads.length[q]
    total: float = 0.0
    s, t = 0, heads.steps[q] - 1
    last = 0  # how many of the windows are added up: those with up to so many rows of the tail
    while last < k - 1:
        while s + 1 < tails.steps[0] and length[s + 1] <= last + 1:
            s += 1
        while longer[t] > k - 1 - last:
            t -= 1
        upto = k - longer[t]  # with more of the tail, the head is shorter than this step of it
        if s + 1 < tails.steps[0]:
            upto = min(upto, length[s + 1] - 1)
        for i in range(low.shape[1]):
            loss = _loss_between(terrain, i, min(low[s, i], lower[t, i]), max(high[s, i], higher[t, i]))
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
    its two ends only. Of sets, they cost what both ends do, less what is paid twice; of outermost places, they are
    added up one by one, as far as they differ.
    """
    rows, room = len(tuples), most + 1
    sums, before = np.empty(rows + 2), np.empty(rows + 1, np.int64)
    window_losses(terrain, tuples, k, sums)
    price, sets, ends = terrain.prices, terrain.values.shape[1] > 0, terrain.ends.shape[1] > 0
    head, tail, free = np.empty(rows), np.empty(rows), (k - 1) * terrain.first
    _end_prices(terrain, tuples, k, 1, head)
    _end_prices(terrain, tuples, k, -1, tail)
    noted = np.empty((room, k * terrain.values.shape[1]), np.int32)
    length = np.empty(noted.shape, np.int64)
    count, seen, met = np.zeros(room, np.int64), np.full(len(price), -1), np.full(len(price), -2 * k - most)
    heads, tails = _new_ends(terrain, room, k), _new_ends(terrain, 1, k)
    cost, found = np.empty(rows + 1), 0
    for g in range(len(bounds) - 1):
        first, stop = bounds[g], bounds[g + 1]
        cost[first : stop + 1] = np.inf
        cost[first] = 0.0
        for r in range(first, first + k - 1):
            for a in range(terrain.values.shape[1]):
                met[terrain.values[tuples[r], a]] = r
        for j in range(first + k, stop + 1):
            newest, oldest = j - k, max(first, j - most)
            if sets:
                for a in range(terrain.values.shape[1]):
                    met[terrain.values[tuples[j - 1], a]] = j - 1
                q = newest % room
                count[q] = _note_values(terrain, tuples, newest, k, seen, noted[q], length[q])
            if ends:
                _fill_end(terrain.ends, tuples, newest, 1, k, heads, newest % room)
                _fill_end(terrain.ends, tuples, j - 1, -1, k, tails, 0)
            for i in range(newest, oldest - 1, -1):
                total, q = cost[i] + sums[newest + 1] - sums[i], i % room
                if total >= cost[j]:  # closing windows lose nothing or more
                    continue
                if sets:
                    total += head[i] + tail[j - 1] - free - _paid_twice(noted, length, q, count[q], price, met, j, k)
                if ends and total < cost[j]:
                    total += _closing_loss(terrain, k, tails, heads, q, cost[j] - total)
                if total < cost[j]:
                    cost[j], before[j] = total, i
        found = _read_back(before, first, stop, starts, found)
    starts[found] = rows
    return found


@njit(cache=True, nogil=True)
def _paid_twice(noted: Ints, length: Longs, q: int, count: int, price: Floats, met: Longs, j: int, k: int) -> float:
    """Return what values cost that closing windows have from the head noted at q and from the tail that ends before j.

    `met` has the last row of each value. A value of the x-th row of the tail and the y-th of the head is in windows
    with m >= x and k - m >= y rows of them.
    """
    total: float = 0.0
    for n in range(count):
        value = noted[q, n]
        both = k + 1 - (j - met[value]) - length[q, n]
        if both > 0:
            total += price[value] * both
    return total


@njit(cache=True, nogil=True)
def _read_back(before: Longs, first: int, stop: int, starts: Longs, found: int) -> int:
    """Read the rings of a group from their ends back, and put their beginnings behind those that were found."""
    j, begin = stop, found
    while j > first:
        j = before[j]
        starts[found] = j
        found += 1
    starts[begin:found] = starts[begin:found][::-1].copy()
    return found


@njit(cache=True, nogil=True)
def slot_tuples(tuples: Ints, starts: Longs, widths: Longs, fresh: Bools, slots: Longs, covered: Ints) -> int:
    """List the tuples that slots cover: entry e says that slot `slots[e]` covers `covered[e]`.

    Slots of ring r cover `widths[r]` rows. One that covers the same stretch of tuples as the slot before it in the ring
    is not listed; `fresh` marks those that are. Return the number of entries; with too little room it is only counted.
    """
    entries = 0
    for ring in range(len(starts) - 1):
        first, size, k = starts[ring], starts[ring + 1] - starts[ring], widths[ring]
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
