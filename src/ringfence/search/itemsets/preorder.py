"""Direct and apriori anonymization: generalize wherever a walk over all sets of nodes meets a rare one.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008, sections 4.3 and 4.4. The
sets are those of a count-tree over the items and all that they can be generalized to (section 4.1). Where the paper
looks at sets of m nodes alone, we look at all of up to m: a basket of fewer items has no set of m.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from ringfence.arrays import Bools, Ints
from ringfence.kernels.itemsets.bitsets import make_prefixes
from ringfence.kernels.itemsets.preorder_walk import Walk, WalkGround, next_path
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.supports import RareSet, Supports
from ringfence.search.progress import Watch


class Preorder:
    """Walks over sets of nodes, and what has been generalized on the way.

    `reasons[v]` is the rare set for whose sake node v was generalized. `complete` says whether no rare set is left.
    """

    def __init__(self, tree: ItemTree, supports: Supports, k: int, watch: Watch) -> None:
        self.tree, self.supports, self.k, self.watch = tree, supports, k, watch
        self.generalized: Bools = np.zeros(len(tree.hierarchy.labels), bool)
        self.reasons: dict[int, RareSet] = {}
        self.complete = False

    def direct(self, m: int) -> None:
        """Direct anonymization: one walk over the sets of up to m nodes."""
        self.complete = self._pass(m, known=0)

    def apriori(self, m: int) -> None:
        """Apriori anonymization: a walk over the sets of one node, then of up to two, and so on.

        What a walk generalizes is out of the way of the next; and of smaller sets none is rare then.
        """
        self.complete = all(self._pass(size, known=size - 1) for size in range(1, m + 1))

    def _pass(self, size: int, known: int) -> bool:
        """Repair every rare path of up to `size` nodes; return whether the time allowed for it."""
        cut = self.tree.cut(self.generalized)
        for path, support in self.paths(cut, size, known):
            self.watch.tick(None)
            for node in self._repair(path):
                self.generalized[self.tree.below(node)] = True
                cut[self.tree.leaves_below(node)] = node
                self.reasons[node] = RareSet(tuple(sorted(path)), support)
            if self.watch.expired():
                return False
        return True

    def paths(
        self, cut: Ints, size: int, known: int = 0, *, look_ahead: bool = True, every: bool = False
    ) -> Iterator[tuple[list[int], int]]:
        """Yield the rare paths of up to `size` nodes in preorder, or every path, with their supports counted up to k.

        What the caller generalizes between two of them, in `cut` as well, is taken into account. Paths of up to `known`
        nodes are known to be common. Without `look_ahead`, all paths are examined, as in the paper.
        """
        held = self.supports.held
        order, ranks = self._ranking()
        ground = WalkGround(self.supports.bits, held.weights, self.supports.arrays, order, ranks, self.k, known)
        walk = Walk(
            path=np.zeros(size, np.int32),
            at=np.full(size, -1, np.int64),
            depth=np.zeros(2, np.int64),
            support=np.zeros(1, np.int64),
            prefixes=make_prefixes(size, self.supports.words),
        )
        while length := next_path(ground, cut, self.generalized, walk, look_ahead, every):
            yield walk.path[:length].tolist(), int(walk.support[0])

    def _ranking(self) -> tuple[Ints, Ints]:
        """The nodes that may stand in a cut, the root aside, by falling support, each before those below it."""
        tree, rows = self.tree.hierarchy, self.supports.rows
        nodes = np.flatnonzero(self.tree.may_stand[: tree.root] & (rows[: tree.root] > 0))
        order = nodes[np.lexsort((nodes, tree.depth[nodes], -rows[nodes]))].astype(np.int32)
        ranks = np.full(len(tree.labels), -1, np.int32)
        ranks[order] = np.arange(len(order))
        return order, ranks

    def _repair(self, path: list[int]) -> list[int]:
        """Return the cheapest nodes to generalize so that what the path becomes is common.

        The sets that raising nodes of the path leads to come by rising cost; costs never fall when a node is raised.
        Of equal costs that with fewer steps counts, then the smaller nodes. A node that is raised takes in those of the
        path below it.
        """
        tree = self.tree.hierarchy
        start = tuple(sorted(path))
        queue, seen = [(0, 0, start)], {start}
        while queue:
            _, steps, nodes = heapq.heappop(queue)
            if steps > 0 and self.supports.support(nodes, self.k) >= self.k:
                return [node for node in nodes if node not in path]
            for higher in (int(self.tree.above[node]) for node in nodes):
                if higher < 0:
                    continue
                others = [u for u in nodes if not tree.first[higher] <= tree.first[u] < tree.stop[higher]]
                raised = tuple(sorted([*others, higher]))
                if raised not in seen:
                    seen.add(raised)
                    new = [node for node in raised if node not in path]
                    cost = sum(self.tree.extra(self.generalized, node) for node in new)
                    heapq.heappush(queue, (cost, steps + 1, raised))
        raise AssertionError("the coarsest cut was found to be k^m-anonymous")
