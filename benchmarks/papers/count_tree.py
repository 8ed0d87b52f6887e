"""How many nodes the count-tree of Terrovitis, Mamoulis and Kalnis would have; no search here stores it.

The tree has a node for each set of up to m nodes of the item tree, none above another and never the root, that some row
holds: each prefix of such a set is one too. OA and DA store it whole. AA makes one in each round, of nodes that were
not generalized in an earlier one; the last, for sets of m, is the largest.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008, sections 4.1 and 4.4.
"""

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.census.baskets import Baskets
from ringfence.compiling import njit
from ringfence.search.itemsets.find import find_cut

MOST_STAMPS = 2**27
"""Sets that begin with the same node are marked in a table of so many numbers at most."""


def count_tree(baskets: Baskets, k: int, m: int, *, apriori: bool) -> int | None:
    """Return the nodes of the largest count-tree that is stored; None if there is no room to count them."""
    tree = baskets.hierarchy
    nodes = np.arange(tree.leaves)
    if apriori and m > 1:
        nodes = find_cut(baskets, k, m - 1, search="apriori", specialize=False).nodes.astype(np.int64)
    parent = tree.parent.astype(np.int64)
    kept = np.zeros(len(parent), np.bool_)
    for node in np.unique(nodes).tolist():
        while node != tree.root and not kept[node]:
            kept[node] = True
            node = int(parent[node])  # noqa: PLW2901
    number = np.cumsum(kept) - 1
    count = int(kept.sum())
    if count ** (m - 1) > MOST_STAMPS:
        return None
    above = np.zeros((count, count), np.bool_)
    for node in np.flatnonzero(kept).tolist():
        other = int(parent[node])
        while other != tree.root:
            above[number[node], number[other]] = above[number[other], number[node]] = True
            other = int(parent[other])
    starts, held = _extended(baskets.starts, baskets.items, nodes, parent, tree.root, number, count)
    return int(_distinct_sets(starts, held, above, m, count))


@njit(cache=True, nogil=True)
def _extended(
    starts: Longs, items: Ints, nodes: Longs, parent: Longs, root: int, number: Longs, count: int
) -> tuple[Longs, Longs]:
    """Return the nodes that each row holds, by number."""
    stamp = np.full(count, -1, np.int64)
    sizes, held = np.zeros(len(starts), np.int64), np.empty(16, np.int64)
    size = 0
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            node = nodes[items[i]]
            while node != root and stamp[number[node]] != row:
                stamp[number[node]] = row
                if size == len(held):
                    held = np.concatenate((held, np.empty(size, np.int64)))
                held[size] = number[node]
                size += 1
                node = parent[node]
        sizes[row + 1] = size
        held[sizes[row] : size].sort()
    return sizes, held[:size]


@njit(cache=True, nogil=True)
def _distinct_sets(starts: Longs, held: Longs, above: Bools, m: int, count: int) -> int:
    """Return how many sets of 1 to m unrelated nodes are held by some row, those with the same first node together."""
    rows = np.searchsorted(starts, np.arange(len(held)), side="right") - 1
    order = np.argsort(held, kind="mergesort")
    bounds = np.searchsorted(held[order], np.arange(count + 1))
    stamps = np.full(2 * count ** (m - 1), -1, np.int32)  # of sets of each size, by their nodes after the first
    found = 0
    for first in range(count):
        found += bounds[first] < bounds[first + 1]
        for at in order[bounds[first] : bounds[first + 1]]:
            found += _extend(first, held[at + 1 : starts[rows[at] + 1]], above, stamps, m)
    return found


@njit(cache=True, nogil=True)
def _extend(first: int, others: Longs, above: Bools, stamps: Ints, m: int) -> int:
    """Return how many sets are new that go on from a first node with others of its row, depth first.

    Of the `size` nodes that are chosen, `codes` numbers those after the first among those of as many, `before` is how
    many codes shorter sets have together, and `places` is which of the others is next.
    """
    count, found, size = len(above), 0, 1
    chosen, places, codes, before = (
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
    )
    chosen[0] = first
    while size > 0:
        if size == m or places[size] == len(others):
            size -= 1
            continue
        node = others[places[size]]
        places[size] += 1
        related = False
        for other in chosen[:size]:
            related |= above[other, node]
        if related:
            continue
        code = codes[size] * count + node
        if stamps[before[size] + code] != first:
            stamps[before[size] + code] = first
            found += 1
        chosen[size] = node
        size += 1
        places[size], codes[size], before[size] = places[size - 1], code, before[size - 1] + count ** (size - 1)
    return found
