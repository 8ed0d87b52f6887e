"""Covering: which leaves that do not occur go with a block of values that do.

Partitions are of the values that occur. Those that only the hierarchy knows follow: a block of a guided scheme or a cut
has whole subtrees, with such leaves in them, as far as its boundary reaches; the free schemes leave them as they are,
unless everything is merged. Blocks are told by labels: the smallest leaf of its block for each leaf.
"""

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Quasi
from ringfence.values.hierarchy import Hierarchy


def with_everything(quasi: Quasi, labels: Longs) -> Longs:
    """Return labels in which a block of all values that occur has all leaves below its node."""
    hierarchy, occurring = quasi.hierarchy, np.flatnonzero(quasi.rows > 0)
    if len(occurring) == 1 or (labels[occurring] != labels[occurring[0]]).any():
        return labels
    inside = covered_by(quasi, occurring.tolist())
    labels = np.arange(hierarchy.leaves)
    labels[inside] = inside.min()
    return labels


def with_subtrees(quasi: Quasi, labels: Longs, *, nodes: bool = False) -> Longs:
    """Return labels in which each block of several values has the subtrees below its node that have one of them; all
    of these if it has all values there, or if blocks are `nodes`.

    No two blocks have values in the same such subtree: one that is merged with others is merged as a whole. So there is
    at most one block that a leaf goes with, wherever on its way up that is met.
    """
    hierarchy, leaves = quasi.hierarchy, len(labels)
    left = np.flatnonzero(quasi.rows == 0)
    occurring = np.flatnonzero(quasi.rows > 0)
    sizes = np.bincount(labels[occurring], minlength=leaves)
    values = occurring[sizes[labels[occurring]] > 1]
    if not len(left) or not len(values):
        return labels
    tops = hierarchy.common_ancestors(labels[values].astype(np.int32), _largest(labels)[values])
    by_child, by_node = np.full((2, len(hierarchy.labels)), -1)
    by_child[_below_tops(hierarchy, values, tops)] = labels[values]
    ceilings = hierarchy.ceilings[values].astype(np.int64)
    known = np.sort(hierarchy.ceilings[occurring].astype(np.int64) * leaves + occurring)
    ends = [np.searchsorted(known, ceilings * leaves + ends[tops]) for ends in (hierarchy.first, hierarchy.stop)]
    whole = nodes | (sizes[labels[values]] == ends[1] - ends[0])
    by_node[tops[whole]] = labels[values[whole]]
    labels = labels.copy()
    way = left.astype(np.int32)
    for _ in range(hierarchy.height):
        for met in (by_child[way], by_node[hierarchy.parent[way]]):
            here = (met >= 0) & (hierarchy.ceilings[met] == hierarchy.ceilings[left])
            labels[left[here]] = met[here]
        way = hierarchy.parent[way]
    smallest = np.full(leaves, leaves)
    np.minimum.at(smallest, labels, np.arange(leaves))
    return smallest[labels]


def nodes_over(quasi: Quasi, labels: Longs) -> Ints:
    """Return for each leaf the lowest node above its block."""
    return quasi.hierarchy.common_ancestors(labels.astype(np.int32), _largest(labels))


def covered_by(quasi: Quasi, block: list[int], above: int | None = None) -> npt.NDArray[np.int64]:
    """Return the leaves of the whole subtrees that a block of a guided scheme merges, as far as its boundary reaches.

    They are children of one node; if all of them that occur are merged, it is the node itself. So a larger block never
    has fewer leaves. (A block of a free scheme with all values that occur is such a node, too.) With a node `above`,
    the block is some of its children, however many.
    """
    hierarchy = quasi.hierarchy
    node = hierarchy.common_ancestor(block) if above is None else above
    inside: npt.NDArray[np.int64] = np.arange(hierarchy.first[node], hierarchy.stop[node])
    inside = inside[hierarchy.ceilings[inside] == hierarchy.ceilings[block[0]]]
    if above is not None or len(block) < (quasi.rows[inside] > 0).sum():
        merged = sorted({_below(hierarchy, leaf, node) for leaf in block}, key=lambda child: hierarchy.first[child])
        inside = np.concatenate([np.arange(hierarchy.first[child], hierarchy.stop[child]) for child in merged])
        inside = inside[hierarchy.ceilings[inside] == hierarchy.ceilings[block[0]]]
    return inside


def _largest(labels: Longs) -> Ints:
    """Return for each leaf the largest that has the same label."""
    largest = np.zeros(len(labels), np.int32)
    np.maximum.at(largest, labels, np.arange(len(labels), dtype=np.int32))
    return largest[labels]


def _below(hierarchy: Hierarchy, leaf: int, node: int) -> int:
    """Return the child of a node on a leaf's way up to it."""
    child = leaf
    while hierarchy.parent[child] != node:
        child = int(hierarchy.parent[child])
    return child


def _below_tops(hierarchy: Hierarchy, values: Longs, tops: Ints) -> Ints:
    """Return the same for many values, each with a node of its own."""
    children = values.astype(np.int32)
    short = np.flatnonzero(hierarchy.parent[children] != tops)
    while len(short):
        children[short] = hierarchy.parent[children[short]]
        short = short[hierarchy.parent[children[short]] != tops[short]]
    return children
