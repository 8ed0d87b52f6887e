"""The walk of direct and apriori anonymization: the paths of a count-tree in preorder, without the tree.

The nodes of the hierarchy are ranked, those that most rows hold first, each before all below it. A *path* is a set of
nodes by rising rank, none above another. The tree of Terrovitis, Mamoulis and Kalnis has a node for each path that
occurs in some basket, with its support; here the support of a path is counted when the walk comes to it.

Between two paths the caller may generalize nodes. Paths with a node below a generalized one are *stale*: the walk
passes over them, and goes back to the longest prefix that is not.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.itemsets.bitsets import Bits, Prefixes, count_extension, extend, find_rare_bits
from ringfence.kernels.itemsets.rare_sets import TreeArrays


class WalkGround(NamedTuple):
    """What a walk is over: bitsets and weights of baskets, the tree, and the nodes by rank; `ranks[order[i]]` is i.

    Paths of up to `known` nodes are known to be common.
    """

    bits: Bits
    weights: Longs
    tree: TreeArrays
    order: Ints
    ranks: Ints
    k: int
    known: int


class Walk(NamedTuple):
    """Where a walk stands: at `path[: depth[0] + 1]`, whose node at place d has rank `at[d]`.

    `support[0]` is the support of that path, counted up to k. `depth[1]` says whether it is still to be extended.
    """

    path: Ints
    at: Longs
    depth: Longs
    support: Longs
    prefixes: Prefixes


@njit(cache=True, nogil=True)
def next_path(ground: WalkGround, cut: Ints, generalized: Bools, walk: Walk, look_ahead: bool, every: bool) -> int:
    """Go on to the next path that is rare, or with `every` to the next that occurs; return its length, 0 at the end.

    With `look_ahead` a path is extended only if some set of nodes of the current cut extends it to a rare one. Nothing
    is missed by that: if a set of nodes that are not stale is rare, then so are the sets of nodes of the cut below it
    that occur, and these rank after it.
    """
    tree, path, depth = ground.tree, walk.path, walk.depth[0]
    while True:
        if walk.depth[1] and depth + 1 < len(path) and not _stale(generalized, tree, path[depth]):
            node = path[depth]
            common = extend(ground.bits, node, depth, ground.weights, ground.k, walk.prefixes)
            if common and not (look_ahead and not _rare_beyond(ground, cut, depth + 1, walk)):
                walk.at[depth + 1] = walk.at[depth]
                depth += 1
        walk.depth[1] = 0
        for d in range(depth):
            if _stale(generalized, tree, path[d]):
                depth = d
                break
        walk.at[depth] += 1
        if walk.at[depth] == len(ground.order):
            depth -= 1
            if depth < 0:
                return 0
            continue
        node = ground.order[walk.at[depth]]
        if _stale(generalized, tree, node) or _related(tree, path, depth, node):
            continue
        support = count_extension(ground.bits, node, depth, ground.weights, ground.k, walk.prefixes)
        if support == 0:
            continue
        path[depth], walk.depth[1] = node, 1
        if every or support < ground.k:
            walk.depth[0], walk.support[0] = depth, support
            return int(depth) + 1


@njit(cache=True, nogil=True)
def _stale(generalized: Bools, tree: TreeArrays, node: int) -> bool:
    """Whether a node is below one that is generalized."""
    return bool(tree.parent[node] != node and generalized[tree.parent[node]])


@njit(cache=True, nogil=True)
def _related(tree: TreeArrays, path: Ints, length: int, node: int) -> bool:
    """Whether a node is above or below one of the first nodes of a path, or is it."""
    related = False
    for d in range(length):
        related |= tree.first[node] < tree.stop[path[d]] and tree.first[path[d]] < tree.stop[node]
    return related


@njit(cache=True, nogil=True)
def _rare_beyond(ground: WalkGround, cut: Ints, length: int, walk: Walk) -> bool:
    """Whether nodes of the cut, all after the path and beside it, extend it to a rare set."""
    tree, path = ground.tree, walk.path
    beyond = np.empty(len(cut), np.int32)
    count = leaf = 0
    while leaf < len(cut):
        node = cut[leaf]
        if ground.ranks[node] > ground.ranks[path[length - 1]] and not _related(tree, path, length, node):
            beyond[count] = node
            count += 1
        leaf = tree.stop[node]
    found = np.empty((1, len(path)), np.int32)
    for more in range(max(1, ground.known + 1 - length), len(path) - length + 1):
        if find_rare_bits(
            ground.bits, beyond[:count], count, ground.weights, ground.k, more, length, walk.prefixes, found
        ):  # fmt: skip
            return True
    return False
