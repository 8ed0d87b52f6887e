"""Supports: how many rows hold a set of nodes, and which sets of a cut too few rows hold."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import factorial

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.kernels.itemsets.bitsets import (
    Bits,
    Prefixes,
    count_rows,
    find_rare_bits,
    gather_bits,
    lift_sets,
    list_baskets,
    make_prefixes,
)
from ringfence.kernels.itemsets.rare_sets import HeldItems, TreeArrays, find_rare, make_room, project
from ringfence.search.itemsets.cuts import ItemTree

MOST_SETS = 100_000  # that a search for rare sets returns at once
WORDS_PER_SET = 100  # that it takes, about, to see that a set is common


@dataclass(frozen=True)
class RareSet:
    """Nodes of some cut, in rising order, that at least one row holds together, but too few do: `support` rows."""

    nodes: tuple[int, ...]
    support: int


class Supports:
    """Counts sets of nodes in baskets: by bitsets, or prefix by prefix where that takes fewer steps."""

    def __init__(self, tree: ItemTree) -> None:
        baskets, hierarchy = tree.baskets, tree.hierarchy
        self.tree = tree
        self.held = HeldItems(baskets.starts, baskets.items, baskets.weights)
        self.arrays = TreeArrays(hierarchy.parent, hierarchy.first, hierarchy.stop)
        self.words = -(-len(baskets.weights) // 64)
        self.bits, self.rows = self._gather(len(hierarchy.labels))
        self._rooms: dict[int, Prefixes] = {}
        self._steps: dict[int, float] = {}

    def _gather(self, nodes: int) -> tuple[Bits, Longs]:
        """Make the bitsets of all nodes, and count the rows that hold each."""
        sizes, rows, none = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.full(nodes, -1, np.int32)
        nothing = Bits(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64))
        gather_bits(self.held, self.arrays, sizes, rows, none.copy(), nothing)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        bits = Bits(starts, np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint64))
        gather_bits(self.held, self.arrays, starts[:-1].copy(), np.zeros(nodes, np.int64), none, bits)
        return bits, rows

    def having(self, node: int) -> Ints:
        """The baskets that hold a node."""
        room = np.empty(64 * int(self.bits.starts[node + 1] - self.bits.starts[node]), np.int32)
        return room[: list_baskets(self.bits, node, room)]

    def support(self, nodes: Iterable[int], enough: int) -> int:
        """Return how many rows hold all of some nodes; anything from `enough` on says no more than that."""
        members = np.fromiter(nodes, np.int32)
        return int(count_rows(self.bits, members, self.held.weights, enough, self._room(len(members))))

    def lifted(self, sets: Ints, k: int) -> Ints:
        """Return the rare sets that come of raising members as far as possible, each beginning at each of its members.

        What is rare among higher nodes is rare below: all the sets that it stands for are dealt with at once.
        """
        lifted = np.repeat(sets, sets.shape[1], axis=0)
        lift_sets(self.bits, self.held.weights, self.tree.above, k, self._room(sets.shape[1]), lifted)
        return lifted

    def rare_set(self, cut: Ints, k: int, m: int, under: int) -> RareSet | None:
        """Return a smallest rare set of a cut with a member below `under`; None if all up to size m are common."""
        heads = cut[self.tree.leaves_below(under)]
        for size in range(1, m + 1):
            found = self.rare_sets(cut, k, size, heads=heads, limit=1)
            if len(found):
                nodes = tuple(sorted(found[0].tolist()))
                return RareSet(nodes, self.support(nodes, k))
        return None

    def rare_sets(self, cut: Ints, k: int, size: int, *, heads: Ints | None = None, limit: int = MOST_SETS) -> Ints:
        """Return rare sets of `size` nodes of a cut as rows, at most `limit`; those with a member in `heads`, if given.

        Sets with a rare subset may be missing: whoever asks size by size knows of that one.
        """
        is_head = np.full(len(self.rows), heads is None)
        if heads is not None:
            is_head[heads] = True
        nodes = cut[np.diff(cut, prepend=-1) != 0]
        nodes = nodes[self.rows[nodes] > 0]
        nodes = nodes[np.argsort(-self.rows[nodes], kind="stable")]  # the last member of a set is the rarest
        first, others = nodes[is_head[nodes]], nodes[~is_head[nodes]]
        found = np.empty((limit, size), np.int32)
        if len(first) == 0:
            return found[:0]
        if self._steps_by_bits(len(first), len(nodes), size) < self._steps_by_prefix(first, size):
            ordered, room = np.concatenate([first, others]), self._room(size)
            hits = find_rare_bits(self.bits, ordered, len(first), self.held.weights, k, size, 0, room, found)
        else:
            chosen = self._having_any(first)
            items = int(np.diff(self.held.starts)[chosen].sum())
            out = HeldItems(
                np.empty(len(chosen) + 1, np.int64), np.empty(items, np.int32), np.empty(len(chosen), np.int64)
            )
            ends = np.empty(len(chosen), np.int64)
            project(self.held, chosen, cut, is_head, out, ends)
            hits = find_rare(out, ends, k, size, make_room(size, len(self.rows), max(items, len(chosen))), found)
        return found[:hits]

    def _having_any(self, nodes: Ints) -> Ints:
        """The baskets that hold any of some nodes."""
        marked = np.zeros(len(self.held.weights), bool)
        for node in nodes.tolist():
            marked[self.having(node)] = True
        return np.flatnonzero(marked).astype(np.int32)

    def _room(self, size: int) -> Prefixes:
        if size not in self._rooms:
            self._rooms[size] = make_prefixes(size, self.words)
        return self._rooms[size]

    def _steps_by_prefix(self, heads: Ints, size: int) -> float:
        """About how many steps it takes to pass twice over all sets of this size in the baskets with one of `heads`."""
        if size not in self._steps:
            lengths = np.diff(self.held.starts).astype(float)
            self._steps[size] = float(np.mean(2 * lengths + 2 * lengths**size / factorial(size)))
        return min(int(self.rows[heads].sum()), len(self.held.weights)) * self._steps[size]

    def _steps_by_bits(self, heads: int, nodes: int, size: int) -> float:
        """About how many words it takes: all of a prefix, some of the last member."""
        prefixes = [heads * nodes**longer / factorial(longer) for longer in range(size)]
        return float(sum(prefixes[:-1]) * self.words + prefixes[-1] * min(self.words, WORDS_PER_SET))
