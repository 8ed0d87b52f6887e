"""Itemsets: which sets of nodes too few rows hold, counted prefix by prefix.

Nodes are those of a hierarchy, leaves first, each over a contiguous range of leaves; a basket's items are ascending
leaves. A basket holds a node if it holds a leaf below it. A set of nodes, none above another, is *rare* if at least one
row holds all of it but fewer than k rows do.

To count the sets of some size, their members are fixed one after the other. For each prefix there is a list of places:
in which baskets it occurs, and where its last member stands. One pass over what stands behind those places counts all
extensions at once, in an array with a place for every node; so no table of sets is ever stored.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.compiling import njit


class HeldItems(NamedTuple):
    """What baskets hold: basket b the `items[starts[b] : starts[b + 1]]`; `weights[b]` rows are like it."""

    starts: Longs
    items: Ints
    weights: Longs


class TreeArrays(NamedTuple):
    """Arrays over nodes, as in `Hierarchy`."""

    parent: Ints
    first: Ints
    stop: Ints


class CountScratch(NamedTuple):
    """Scratch for `find_rare`, with a row for every length of prefix; `sums` and `numbers` are zero between calls.

    The occurrences of the prefixes of some length stand in `baskets` and `places`, grouped by their last member:
    group g, of member `members[g]`, from `bounds[g]` to `bounds[g + 1] - 1`.
    """

    sums: Longs
    numbers: Longs
    baskets: Ints
    places: Ints
    members: Ints
    bounds: Longs
    groups: Longs
    at: Longs
    prefix: Ints


def make_room(size: int, nodes: int, occurrences: int) -> CountScratch:
    """Return scratch for sets of up to `size` nodes out of `nodes`, in baskets with so many items and rows in all."""
    return CountScratch(
        sums=np.zeros(nodes, np.int64),
        numbers=np.zeros(nodes, np.int64),
        baskets=np.empty((size, occurrences), np.int32),
        places=np.empty((size, occurrences), np.int32),
        members=np.empty((size, nodes), np.int32),
        bounds=np.zeros((size, nodes + 1), np.int64),
        groups=np.zeros(size, np.int64),
        at=np.zeros(size, np.int64),
        prefix=np.empty(size, np.int32),
    )


@njit(cache=True, nogil=True)
def project(held: HeldItems, chosen: Ints, cut: Ints, is_head: Bools, out: HeldItems, heads: Longs) -> None:
    """Fill `out` with the nodes of the chosen baskets under a cut, those that are heads first: up to `heads[b]` - 1.

    Leaves of one node stand side by side, so each node is written once.
    """
    size = 0
    for j in range(len(chosen)):
        b = chosen[j]
        begin, end = held.starts[b], held.starts[b + 1]
        out.starts[j], out.weights[j] = size, held.weights[b]
        last = -1
        for i in range(begin, end):
            leaf = held.items[i]
            if is_head[cut[leaf]] and cut[leaf] != last:
                last = cut[leaf]
                out.items[size] = last
                size += 1
        heads[j] = size
        last = -1
        for i in range(begin, end):
            leaf = held.items[i]
            if not is_head[cut[leaf]] and cut[leaf] != last:
                last = cut[leaf]
                out.items[size] = last
                size += 1
    out.starts[len(chosen)] = size


@njit(cache=True, nogil=True)
def find_rare(held: HeldItems, heads: Longs, k: int, size: int, room: CountScratch, found: Ints) -> int:
    """Fill `found` with rare sets of `size` nodes, as many as it has rows; return how many there are then.

    Of the items of a basket only those before `heads[b]` may be a set's first member; the baskets must agree on some
    order of nodes. Sets with a rare prefix are left out: who looks for sets size by size has met that one before.
    """
    baskets, places, hits, depth = room.baskets, room.places, 0, 0
    for b in range(len(heads)):
        baskets[0, b], places[0, b] = b, held.starts[b] - 1
    room.groups[0], room.at[0] = 1, -1
    room.bounds[0, 0], room.bounds[0, 1] = 0, len(heads)
    while depth >= 0:
        room.at[depth] += 1
        group = room.at[depth]
        if group == room.groups[depth]:
            depth -= 1
            continue
        low, high = room.bounds[depth, group], room.bounds[depth, group + 1]
        if depth > 0:
            room.prefix[depth - 1] = room.members[depth, group]
        stops = held.starts[1:] if depth > 0 else heads
        if depth == size - 1:
            hits = _report(held, stops, baskets[depth, low:high], places[depth, low:high], k, size, room, found, hits)
            if hits == len(found):
                break
        else:
            _deliver(held, stops, baskets[depth, low:high], places[depth, low:high], k, depth + 1, room)
            depth += 1
            room.at[depth] = -1
    return hits


@njit(cache=True, nogil=True)
def _report(
    held: HeldItems,
    stops: Longs,
    baskets: Ints,
    places: Ints,
    k: int,
    size: int,
    room: CountScratch,
    found: Ints,
    hits: int,
) -> int:
    """Count what extends the prefix at these places, and note what is rare; return how many sets are noted then."""
    sums, items = room.sums, held.items
    for o in range(len(baskets)):
        b = baskets[o]
        for i in range(places[o] + 1, stops[b]):
            sums[items[i]] += held.weights[b]
    for o in range(len(baskets)):
        for i in range(places[o] + 1, stops[baskets[o]]):
            node = items[i]
            if 0 < sums[node] < k and hits < len(found):
                found[hits, : size - 1] = room.prefix[: size - 1]
                found[hits, size - 1] = node
                hits += 1
            sums[node] = 0
    return hits


@njit(cache=True, nogil=True)
def _deliver(
    held: HeldItems, stops: Longs, baskets: Ints, places: Ints, k: int, depth: int, room: CountScratch
) -> None:
    """Group the occurrences of all extensions of a prefix that are not rare: the prefixes of length `depth`."""
    sums, numbers, items = room.sums, room.numbers, held.items
    members, bounds = room.members[depth], room.bounds[depth]
    met = groups = end = 0
    for o in range(len(baskets)):
        b = baskets[o]
        for i in range(places[o] + 1, stops[b]):
            node = items[i]
            if numbers[node] == 0:
                members[met] = node
                met += 1
            numbers[node] += 1
            sums[node] += held.weights[b]
    for g in range(met):
        node = members[g]
        common = sums[node] >= k
        sums[node] = end if common else -1  # from here on: where the next occurrence goes
        if common:
            members[groups], bounds[groups] = node, end
            end += numbers[node]
            groups += 1
        numbers[node] = 0
    bounds[groups], room.groups[depth] = end, groups
    for o in range(len(baskets)):
        b = baskets[o]
        for i in range(places[o] + 1, stops[b]):
            place = sums[items[i]]
            if place >= 0:
                room.baskets[depth, place], room.places[depth, place] = b, i
                sums[items[i]] = place + 1
    for o in range(len(baskets)):
        for i in range(places[o] + 1, stops[baskets[o]]):
            sums[items[i]] = 0
