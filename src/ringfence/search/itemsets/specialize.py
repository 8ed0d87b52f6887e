"""Specialize back: undo what is generalized without need, and say what forces the rest."""

import heapq

import numpy as np

from ringfence.arrays import Ints
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.supports import RareSet, Supports
from ringfence.search.progress import Watch


def specialize(
    tree: ItemTree, supports: Supports, cut: Ints, k: int, m: int, watch: Watch
) -> tuple[Ints, dict[int, RareSet]]:
    """Return a cut below a k^m-anonymous one that is so too, and of which no node can be undone, with the reasons.

    A node is undone if its children can stand in its place. Those that save most are tried first; of equal ones, the
    first. One that cannot be undone can never be: whatever else is undone only adds rare sets. The reason of a node is
    a rare set that would be published if it alone were undone in the cut returned; it has a child of the node as a
    member. When the time is up, nothing more is tried, and nodes that were not tried are without a reason.
    """
    cut = cut.copy()
    reasons: dict[int, RareSet] = {}
    queue = [(-int(tree.weights[node]), int(node)) for node in np.unique(cut) if node >= tree.hierarchy.leaves]
    heapq.heapify(queue)
    while queue and not watch.expired():
        _, node = heapq.heappop(queue)
        watch.tick(None)
        reason = what_forces(tree, supports, cut, k, m, node)
        if reason is not None:
            reasons[node] = reason
            continue
        for child in tree.children(node).tolist():
            cut[tree.leaves_below(child)] = child
            if child >= tree.hierarchy.leaves:
                heapq.heappush(queue, (-int(tree.weights[child]), child))
    standing = set(np.unique(cut).tolist())
    for node, reason in reasons.items():  # some may speak of nodes that were undone later
        if not set(reason.nodes) <= standing.union(tree.children(node).tolist()):
            found = what_forces(tree, supports, cut, k, m, node)
            assert found is not None
            reasons[node] = found
    return cut, reasons


def what_forces(tree: ItemTree, supports: Supports, cut: Ints, k: int, m: int, node: int) -> RareSet | None:
    """Return a smallest rare set that undoing a node of a k^m-anonymous cut would publish; None if there is none.

    Sets without a child of the node are sets of the cut itself, which has no rare ones.
    """
    undone = cut.copy()
    for child in tree.children(node).tolist():
        undone[tree.leaves_below(child)] = child
    return supports.rare_set(undone, k, m, under=node)
