"""Walks over all cuts, from the items up: the paper's, breadth first, and one that takes the cheapest first.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008, section 4.2. There are
exponentially many cuts, so these are for small domains; `optimal` finds the same cost in large ones.
"""

import heapq
from collections import deque
from collections.abc import Iterator

import numpy as np

from ringfence.arrays import Bools
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.supports import Supports
from ringfence.search.progress import Watch

Mask = int
"""A cut: the inner nodes that it generalizes, as bits."""


class CutWalk:
    """A walk over cuts: the best that was found, and what the walk has learned.

    `complete` says whether it came to its end; `marked` are the cuts that are known to be k^m-anonymous without having
    been looked at, since a finer one is.
    """

    def __init__(self, tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch) -> None:
        self.tree, self.supports, self.k, self.m, self.watch = tree, supports, k, m, watch
        hierarchy = tree.hierarchy
        self.inner = [v for v in range(hierarchy.leaves, len(hierarchy.labels)) if tree.may_stand[v]]
        self._bit = {node: 1 << i for i, node in enumerate(self.inner)}
        self._children = [sum(self._bit.get(c, 0) for c in tree.children(node).tolist()) for node in self.inner]
        self._weights = [int(tree.weights[node]) for node in self.inner]
        self._clauses: list[Mask] = []
        self.best: Mask | None = None
        self.best_cost = 0
        self.bound = 0
        self.marked: set[Mask] = set()
        self.complete = False

    def breadth_first(self) -> None:
        """Look at cuts level by level; above one that holds, look no further.

        The paper's algorithm 2: cuts directly above one that holds are marked, and neither queued nor looked at.
        """
        queue, queued = deque([0]), {0}
        while queue and not self.watch.expired():
            cut = queue.popleft()
            if cut in self.marked:
                continue
            self.watch.tick(None)
            if self._holds(cut):
                self.marked.update(self._above(cut))
                self._offer(cut)
            else:
                new = [higher for higher in self._above(cut) if higher not in queued and higher not in self.marked]
                queue.extend(new)
                queued.update(new)
        self.complete = not queue
        self.bound = self.best_cost if self.complete else 0

    def cheapest_first(self) -> None:
        """Look at cuts by rising cost: the first that holds is the cheapest, since costs never fall on the way up."""
        queue, queued = [(0, 0, 0)], {0}
        while queue and not self.watch.expired():
            cost, level, cut = heapq.heappop(queue)
            self.bound = cost
            self.watch.tick(None)
            if self._holds(cut):
                self._offer(cut)
                self.complete = True
                return
            for higher in self._above(cut):
                if higher not in queued:
                    queued.add(higher)
                    heapq.heappush(queue, (self._cost(higher), level + 1, higher))

    def generalized(self, cut: Mask) -> Bools:
        """What a cut generalizes."""
        flags = np.zeros(len(self.tree.hierarchy.labels), bool)
        flags[[node for node in self.inner if cut & self._bit[node]]] = True
        return flags

    def _offer(self, cut: Mask) -> None:
        cost = self._cost(cut)
        if self.best is None or cost < self.best_cost:
            self.best, self.best_cost = cut, cost

    def _cost(self, cut: Mask) -> int:
        return sum(weight for i, weight in enumerate(self._weights) if cut >> i & 1)

    def _above(self, cut: Mask) -> Iterator[Mask]:
        """The cuts directly above: one more node generalized, all of whose children stand in the cut."""
        for i, children in enumerate(self._children):
            if not cut >> i & 1 and cut & children == children:
                yield cut | 1 << i

    def _holds(self, cut: Mask) -> bool:
        """Whether a cut is k^m-anonymous.

        A rare set is rare in every cut that keeps its members: all in which no parent of them is generalized. So each
        one that is found is remembered by those parents, as high as it can be lifted.
        """
        if any(cut & clause == 0 for clause in self._clauses):
            return False
        nodes = self.tree.cut(self.generalized(cut))
        for size in range(1, self.m + 1):
            found = self.supports.rare_sets(nodes, self.k, size, limit=1)
            if len(found):
                for members in self.supports.lifted(found, self.k).tolist():
                    parents = {int(self.tree.above[node]) for node in members}
                    self._clauses.append(sum(self._bit[node] for node in parents if node >= 0))
                return False
        return True
