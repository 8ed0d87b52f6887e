"""Supports: how many rows hold a set of nodes, and which sets of a cut too few rows hold."""

from collections.abc import Iterable
from math import factorial

import numpy as np
import numpy.typing as npt

from ringfence.baskets import Longs
from ringfence.hierarchy import Ints
from ringfence.kernels.bitsets import count_common, find_rare_bits, make_prefixes, set_bits
from ringfence.kernels.itemsets import Held, Tree, count_rows, find_rare, list_baskets, make_room, project
from ringfence.search.itemsets.cuts import ItemTree

MOST_WORDS = 2**25  # bitsets may take 256 MB; what does not fit is counted by lists


class Supports:
    """Counts sets of nodes in baskets, by lists of baskets or by bitsets, whichever takes fewer steps."""

    def __init__(self, tree: ItemTree) -> None:
        baskets, hierarchy = tree.baskets, tree.hierarchy
        self.tree = tree
        self.held = Held(baskets.starts, baskets.items, baskets.weights)
        self.arrays = Tree(hierarchy.parent, hierarchy.first, hierarchy.stop, tree.tops)
        nodes = len(hierarchy.labels)
        counts, self.rows = np.zeros((2, nodes), np.int64)
        list_baskets(self.held, self.arrays, counts, self.rows, np.empty(0, np.int32))
        self.list_starts: Longs = np.concatenate([[0], np.cumsum(counts)])
        self.lists: Ints = np.empty(self.list_starts[-1], np.int32)
        list_baskets(self.held, self.arrays, self.list_starts[:-1].copy(), np.zeros(nodes, np.int64), self.lists)
        self.lengths: Longs = np.diff(baskets.starts)
        self.everything: Ints = np.arange(len(baskets.weights), dtype=np.int32)
        self._words = -(-len(baskets.weights) // 64)
        self._bits: npt.NDArray[np.uint64] = np.empty((0, self._words), np.uint64)
        self._bit_rows: Ints = np.full(nodes, -1, np.int32)
        self._bit_count = 0
        self._steps_per_basket: dict[int, float] = {}

    def having(self, node: int) -> Ints:
        """The baskets that hold a node."""
        return self.lists[self.list_starts[node] : self.list_starts[node + 1]]

    def support(self, members: Iterable[int], enough: int) -> int:
        """Return how many rows hold all members; anything from `enough` on says no more than that."""
        nodes = np.fromiter(members, np.int32)
        if self._make_bits(nodes):
            return int(count_common(self._bits, self._bit_rows[nodes], self.held.weights, enough))
        rarest = int(nodes[np.argmin(self.list_starts[nodes + 1] - self.list_starts[nodes])])
        return int(count_rows(self.held, self.arrays, self.having(rarest), nodes, enough))

    def rare_set(self, cut: Ints, k: int, m: int, under: int) -> tuple[tuple[int, ...], int] | None:
        """Return a smallest rare set of a cut with a member below `under`, and its support; None if all are common."""
        for size in range(1, m + 1):
            found = self.rare_sets(cut, k, size, under=under, limit=1)
            if len(found):
                members = tuple(sorted(found[0].tolist()))
                return members, self.support(members, k)
        return None

    def rare_sets(self, cut: Ints, k: int, size: int, *, under: int | None = None, limit: int = 100_000) -> Ints:
        """Return rare sets of `size` nodes of a cut, at most `limit`, as rows; the smaller sets are taken to be common.

        If `under` is given, only sets with a member below it.
        """
        tree = self.tree.hierarchy
        under = tree.root if under is None else under
        low, high = int(tree.first[under]), int(tree.stop[under])
        nodes = cut[np.diff(cut, prepend=-1) != 0]
        nodes = nodes[self.rows[nodes] > 0]
        inside = (tree.first[nodes] >= low) & (tree.first[nodes] < high)
        heads = int(inside.sum())
        chosen = self.having(under) if under != tree.root else self.everything
        found = np.empty((limit, size), np.int32)
        if heads == 0:
            return found[:0]
        if self._steps_by_bits(heads, len(nodes), size) < self._steps_by_lists(len(chosen), size):
            ordered = np.concatenate([nodes[inside], nodes[~inside]])
            if self._make_bits(ordered):
                hits = find_rare_bits(
                    self._bits, self._bit_rows[ordered], heads, self.held.weights, k, size,
                    make_prefixes(size, self._words), found,
                )  # fmt: skip
                return self._node_of[found[:hits]]
        items = int(self.lengths[chosen].sum())
        out = Held(np.empty(len(chosen) + 1, np.int64), np.empty(items, np.int32), np.empty(len(chosen), np.int64))
        ends = np.empty(len(chosen), np.int64)
        project(self.held, chosen, cut, low, high, out, ends)
        hits = find_rare(out, ends, k, size, make_room(size, len(tree.labels), max(items, len(chosen))), found)
        return found[:hits]

    def _steps_by_lists(self, baskets: int, size: int) -> float:
        """About how many steps it takes to count all sets of this size in so many baskets, twice each."""
        if size not in self._steps_per_basket:
            lengths = self.lengths.astype(float)
            self._steps_per_basket[size] = float(np.mean(2 * lengths + 2 * lengths**size / factorial(size)))
        return baskets * self._steps_per_basket[size]

    def _steps_by_bits(self, heads: int, nodes: int, size: int) -> float:
        """About how many words it takes to intersect: all for a prefix, some for the last member."""
        prefixes = [heads * nodes**longer / factorial(longer) for longer in range(size)]
        return sum(prefixes[:-1]) * self._words + prefixes[-1] * min(self._words, 100)

    def _make_bits(self, nodes: Ints) -> bool:
        """Make the bitsets of some nodes where there are none yet; return whether there is room for them."""
        new = nodes[self._bit_rows[nodes] < 0]
        if len(new) == 0:
            return True
        wanted = self._bit_count + len(new)
        if wanted * self._words > MOST_WORDS:
            return False
        if wanted > len(self._bits):
            more = np.zeros((max(wanted, 2 * len(self._bits)), self._words), np.uint64)
            more[: self._bit_count] = self._bits[: self._bit_count]
            self._bits = more
        for node in new.tolist():
            set_bits(self.having(node), self._bits[self._bit_count])
            self._bit_rows[node] = self._bit_count
            self._bit_count += 1
        return True

    @property
    def _node_of(self) -> Ints:
        """The node of each row of bits."""
        nodes = np.empty(self._bit_count, np.int32)
        made = np.flatnonzero(self._bit_rows >= 0)
        nodes[self._bit_rows[made]] = made
        return nodes
