"""The cheapest cut that is k^m-anonymous, proven.

For each inner node v there is one question: is it generalized, so that everything below it is published as v or
something higher? If a node is, then so is all below it; and costs add up over what is. A rare set, one that at least
one row holds but fewer than k rows do, is rare in every cut that has its members; so of their parents one must be
generalized. That is a *clause*. A cut is k^m-anonymous if and only if it meets the clauses of all rare sets of up to m
nodes: of its own rare sets it meets none. There are too many of them to list, so they are found as needed:

1. *Backbone*: nodes that every k^m-anonymous cut generalizes. v is one if and only if the coarsest cut in which the
   children of v stand apart is not k^m-anonymous, since all cuts that do not generalize v are below that one.
2. Of the clauses found so far, the cheapest cover is computed exactly. All cuts must meet these clauses, so its cost is
   a lower bound. If the cut that it makes is k^m-anonymous, it is the cheapest of all.
3. Otherwise that cut has rare sets. They are *lifted*, their members raised as far as they stay rare, which makes the
   strongest clauses; and until no rare sets are left, further nodes are generalized, which yields more clauses, and a
   k^m-anonymous cut to fall back on. Go to 2.
"""

from collections.abc import Iterable

import numpy as np

from ringfence.arrays import Bools, Ints
from ringfence.kernels.itemsets.forest_cover import TAKEN, mark_implied
from ringfence.search.itemsets.covering import cheapest_cover
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.supports import Supports
from ringfence.search.progress import Watch

LIFTED_AT_ONCE = 1000

Clause = tuple[int, ...]
"""Numbers of free nodes, rising, none above another."""


def backbone(tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch) -> Bools:
    """Return which nodes every k^m-anonymous cut generalizes; when the time is up, those known so far.

    From the tops down: below a node of the backbone all is in it, and below others both happens. At each node v the cut
    has the children of v and, of every node above v, the other children. Without a child of v, its sets are those of
    the cut looked at for the parent of v, which has no rare ones.
    """
    hierarchy = tree.hierarchy
    forced = np.zeros(len(hierarchy.labels), bool)
    cut = tree.tops.copy()
    stack = [(int(node), False) for node in np.unique(cut) if node >= hierarchy.leaves]
    while stack and not watch.expired():
        node, left = stack.pop()
        if left:
            cut[tree.leaves_below(node)] = node
            continue
        children = tree.children(node).tolist()
        for child in children:
            cut[tree.leaves_below(child)] = child
        watch.tick(None)
        stack.append((node, True))
        if supports.rare_set(cut, k, m, under=node) is not None:
            forced[tree.below(node)] = True
        else:
            stack.extend((child, False) for child in children if child >= hierarchy.leaves)
    return forced


class Optimum:
    """The search for the cheapest cut: `best` is what it generalizes, `cost` its cost, `bound` what is proven."""

    def __init__(self, tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch) -> None:
        self.tree, self.supports, self.k, self.m, self.watch = tree, supports, k, m, watch
        self.best: Bools = tree.generalized(tree.tops)
        self.cost = tree.cost(self.best)
        self.forced: Bools = backbone(tree, supports, k, m, watch)
        self.bound = tree.cost(self.forced)
        nodes = np.arange(len(tree.hierarchy.labels))
        self.free = np.flatnonzero(tree.may_stand & (nodes >= tree.hierarchy.leaves) & ~self.forced)
        self.number = np.full(len(nodes) + 1, -1, np.int32)  # the last is that of no node
        self.number[self.free] = np.arange(len(self.free))
        self.prices: dict[Clause, float] = {}  # of the clauses so far, in the order in which they were found

    def run(self) -> None:
        """Find the cheapest cut, or when the time is up the best so far and what is proven then."""
        looks = 0
        while self.bound < self.cost and not self.watch.expired():
            generalized = self._cheapest_cover(looks)
            rare = self._rare_sets(generalized)
            if len(rare) == 0:
                looks = max(1, 4 * looks)  # if that was not proven to be the cheapest cover, branch more next time
            elif not self._meet(rare, generalized):
                break
            cost = self.tree.cost(generalized)
            if cost < self.cost:
                self.best, self.cost = generalized, cost

    def _cheapest_cover(self, looks: int) -> Bools:
        """Return what the cheapest cover of the clauses so far generalizes, and raise the bound."""
        generalized = self.forced.copy()
        if self.prices:
            choice = cheapest_cover(
                self.number[self.tree.above[self.free]], self.tree.weights[self.free], list(self.prices),
                self.best[self.free].astype(np.int8), np.fromiter(self.prices.values(), float),
                looks=looks, watch=self.watch,
            )  # fmt: skip
            generalized[self.free] = choice.taken == TAKEN
            self.prices = dict(zip(self.prices, choice.prices.tolist(), strict=True))
            self.bound = max(self.bound, self.tree.cost(self.forced) + choice.bound)
        return generalized

    def _rare_sets(self, generalized: Bools) -> Ints:
        """Return rare sets of the smallest size that there is; none if the cut is k^m-anonymous.

        Each has a node that the best cut, which is k^m-anonymous, generalizes to a higher one. Sets of other nodes are
        in some cut above that one, so they are common.
        """
        self.watch.tick(self.cost / self.tree.scale)
        cut = self.tree.cut(generalized)
        lower = cut[self.best[self.tree.hierarchy.parent[cut]] & (cut != self.tree.hierarchy.root)]
        for size in range(1, self.m + 1):
            found = self.supports.rare_sets(cut, self.k, size, heads=lower)
            if len(found):
                break
        return found

    def _meet(self, rare: Ints, generalized: Bools) -> bool:
        """Generalize further until no set is rare, and note the clauses on the way; return whether time allowed it."""
        while len(rare):
            if self.watch.expired():
                return False
            some = rare[:: -(-len(rare) // LIFTED_AT_ONCE)]
            for clause in self._clauses(self.supports.lifted(some, self.k)):
                self.prices.setdefault(clause, 0.0)
                nodes = self.free[list(clause)].tolist()
                if not generalized[nodes].any():
                    _, cheapest = min((self.tree.extra(generalized, node), node) for node in nodes)
                    generalized[self.tree.below(cheapest)] = True
            rare = rare[~generalized[self.tree.hierarchy.parent[rare]].any(axis=1)]
            if len(rare) == 0:
                rare = self._rare_sets(generalized)
        self._drop_implied()
        return True

    def _clauses(self, sets: Ints) -> Iterable[Clause]:
        """Return the clauses of rare sets: parents of their members, without those above others.

        Where a node is one of several of which one must be generalized, a node above it need not be named: with that
        one, it is generalized too.
        """
        lowest = self.tree.lowest_inner
        clauses: dict[Clause, None] = {}
        for row in np.unique(np.sort(self.tree.above[sets], axis=1), axis=0).tolist():
            parents = sorted({node for node in row if node >= 0})
            kept = [node for node in parents if not any(lowest[node] <= other < node for other in parents)]
            clauses[tuple(self.number[kept].tolist())] = None
        return clauses

    def _drop_implied(self) -> None:
        """Forget the clauses that others imply."""
        clauses = list(self.prices)
        starts = np.concatenate([[0], np.cumsum([len(clause) for clause in clauses])]).astype(np.int32)
        nodes = np.fromiter((node for clause in clauses for node in clause), np.int32)
        implied = np.zeros(len(clauses), bool)
        mark_implied(self.number[self.tree.above[self.free]], starts, nodes, implied)
        self.prices = {clause: self.prices[clause] for clause, i in zip(clauses, implied, strict=True) if not i}
