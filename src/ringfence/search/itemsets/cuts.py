"""Cuts of the item tree: which there are under the boundaries, and what each costs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.census.baskets import Baskets
from ringfence.values.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class ItemTree:
    """The item tree with all that a search of cuts asks of it.

    A cut is known by what is *generalized*: an inner node is if everything below it is published as itself or as
    something higher. So with a node everything below it is generalized, and the cost of a cut is the sum of the
    `weights` of what is. Costs are whole numbers, NCP times `scale`.
    """

    baskets: Baskets

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree itself."""
        return self.baskets.hierarchy

    @cached_property
    def may_stand(self) -> Bools:
        """Whether a node may stand in a cut: no leaf below it has its ceiling further down."""
        tree = self.hierarchy
        lowest = [*tree.depth[tree.ceilings].tolist(), *[0] * (len(tree.labels) - tree.leaves)]
        for node, parent in enumerate(tree.parent[: tree.root].tolist()):  # children come before their parents
            lowest[parent] = max(lowest[parent], lowest[node])
        return np.array(lowest) <= tree.depth

    @cached_property
    def tops(self) -> Ints:
        """The coarsest cut: the highest node that may stand for each leaf."""
        return self.cut(self.may_stand & (np.arange(len(self.may_stand)) >= self.hierarchy.leaves))

    @property
    def cuts(self) -> int:
        """How many cuts there are: a node with c_1, ..., c_n cuts below its children has 1 + c_1 · ... · c_n."""
        below = [1] * len(self.hierarchy.labels)
        for node, parent in enumerate(self.hierarchy.parent[: self.hierarchy.root].tolist()):
            below[node] += node >= self.hierarchy.leaves and bool(self.may_stand[node])
            below[parent] *= below[node]
        return below[-1] + bool(self.may_stand[-1])

    @cached_property
    def above(self) -> Ints:
        """The parent of each node where it may stand in a cut, else -1."""
        parent = self.hierarchy.parent
        higher = self.may_stand[parent] & (parent != np.arange(len(parent)))
        return np.where(higher, parent, -1).astype(np.int32)

    @cached_property
    def _children(self) -> tuple[Ints, Longs]:
        """All nodes but the root by their parents, and where each parent's begin."""
        parents = self.hierarchy.parent[: self.hierarchy.root]
        counts = np.bincount(parents, minlength=len(self.hierarchy.labels))
        return np.argsort(parents, kind="stable").astype(np.int32), np.concatenate([[0], np.cumsum(counts)])

    def children(self, node: int) -> Ints:
        """The children of a node, in the order of their numbers."""
        nodes, starts = self._children
        return nodes[starts[node] : starts[node + 1]]

    @cached_property
    def _published(self) -> Longs:
        """What it costs to publish each node: rows · leaves for every item below it; an only leaf loses nothing."""
        tree = self.hierarchy
        before = np.concatenate([[0], np.cumsum(self.baskets.occurrences)])
        leaves = (tree.stop - tree.first).astype(np.int64)
        costs: Longs = (before[tree.stop] - before[tree.first]) * np.where(leaves > 1, leaves, 0)
        return costs

    @cached_property
    def weights(self) -> Longs:
        """What it costs to generalize each inner node after its children; 0 for leaves, never negative.

        Publishing a node costs its weight plus those of all inner nodes below it, since these sums telescope.
        """
        weights: Longs = self._published.copy()
        np.subtract.at(weights, self.hierarchy.parent[: self.hierarchy.root], self._published[: self.hierarchy.root])
        return weights

    @property
    def scale(self) -> int:
        """The cost of publishing everything as the root, whose NCP is 1; 1 where nothing is published."""
        return max(1, int(self.baskets.occurrences.sum()) * self.hierarchy.leaves)

    def cost(self, generalized: Bools) -> int:
        """The cost of what is generalized."""
        return int(self.weights[generalized].sum())

    def cut(self, generalized: Bools) -> Ints:
        """The node that each leaf is published as: the highest one above it that is generalized, else itself."""
        nodes = np.arange(self.hierarchy.leaves, dtype=np.int32)
        for _ in range(self.hierarchy.height):
            above = self.hierarchy.parent[nodes]
            nodes = np.where(generalized[above], above, nodes)
        return nodes

    def generalized(self, cut: Ints) -> Bools:
        """What a cut generalizes: the inner nodes that are in the cut or below it."""
        tree = self.hierarchy
        flags = tree.depth >= tree.depth[cut[tree.first]]
        flags[: tree.leaves] = False
        return flags

    @cached_property
    def lowest_inner(self) -> Ints:
        """For each inner node v the lowest number of an inner node below it, or v: inner nodes below v are numbered
        from there to v, since each is numbered after all below it."""
        tree = self.hierarchy
        lowest = list(range(len(tree.labels)))
        for node, parent in zip(range(tree.leaves, tree.root), tree.parent[tree.leaves :].tolist(), strict=False):
            lowest[parent] = min(lowest[parent], lowest[node])
        return np.array(lowest, np.int32)

    def below(self, node: int) -> slice:
        """An inner node and all inner nodes below it."""
        return slice(int(self.lowest_inner[node]), node + 1)

    def leaves_below(self, node: int) -> slice:
        """The leaves below a node."""
        return slice(int(self.hierarchy.first[node]), int(self.hierarchy.stop[node]))

    def extra(self, generalized: Bools, node: int) -> int:
        """What it costs to generalize a node on top of what is."""
        below = self.below(node)
        return int(self.weights[below][~generalized[below]].sum())
