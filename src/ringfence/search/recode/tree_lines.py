"""Lines of an attribute whose branches follow a hierarchy: thousands of branches at once.

What `run_lines` makes of any tree of branches, where none has more children than a line has units. All that a line says
of a branch is then known beforehand, but for the order of its children: runs keep theirs; sets have one at random that
keeps the blocks of now together. *Entries* are the children of all branches, one branch after the other.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.kernels.recode.priced_paths import NOBODY
from ringfence.search.recode.line_blocks import Parts, Shape
from ringfence.search.recode.partitions import NEVER, SETS, Branch

SHUFFLED = 0.7
"""How often blocks of a branch, or the children of a block, are put into a random order."""

NOTHING = np.zeros(1, np.int64)
"""What a child covers that is merged with no other."""


class TreeLine(NamedTuple):
    """The shape of a line, what its children cover, the leaf that each is (-1 if several), and where leaves stand."""

    shape: Shape
    covers: Parts
    alone: Longs
    place: Longs


class TreeLines:
    """Makes the shapes of lines; `covers` are the leaves that each child of a branch covers when it is merged."""

    def __init__(self, branches: Sequence[Branch], covers: Sequence[Sequence[Longs]], leaves: int) -> None:
        self._leaves = leaves
        self._sizes: list[int] = []
        self._merges: list[bool] = []
        kinds: list[int] = []
        alone: list[int] = []
        below: list[Longs] = []
        covering: list[Longs] = []
        self.numbers: list[int] = []  # of the branches, here
        under: list[Longs] = []
        shuffled: list[bool] = []

        def add(entries: Sequence[tuple[int, int, Longs, Longs]], *, merges: bool, in_sets: bool) -> int:
            for kind, leaf, values, cover in entries:
                kinds.append(kind)
                alone.append(leaf)
                below.append(values)
                covering.append(cover)
            self._sizes.append(len(entries))
            self._merges.append(merges)
            shuffled.append(in_sets)
            under.append(np.concatenate([values for _, _, values, _ in entries]))
            return len(self._sizes) - 1

        for branch, own in zip(branches, covers, strict=True):
            entries = []
            for place, child in enumerate(branch.children):
                leaf = np.array([child])
                if branch.rule is NEVER and child >= 0:
                    number = add([(NOBODY, child, leaf, leaf)], merges=True, in_sets=False)
                    entries.append((number, -1, leaf, NOTHING))
                elif child >= 0:
                    entries.append((NOBODY, child, leaf, own[place]))
                else:
                    number = self.numbers[~child]
                    entries.append((number, -1, under[number], NOTHING if branch.rule is NEVER else own[place]))
            never = branch.rule is NEVER
            self.numbers.append(add(entries, merges=not never, in_sets=branch.rule is SETS))
        self._kinds, self._alone = np.array(kinds), np.array(alone)
        self._below, self._covers = Parts.of(below), Parts.of(covering)
        self._counts = np.array([len(values) for values in below])
        self._of = np.repeat(np.arange(len(self._sizes)), self._sizes)
        self._starts = np.cumsum([0, *self._sizes])
        self._in_sets: Bools = np.array(shuffled)
        self._depths = self._by_depth()

    def _by_depth(self) -> Longs:
        """Return how far below the root, the last, each branch is: parents come after their children."""
        depths = np.zeros(len(self._sizes), np.int64)
        inner = np.flatnonzero(self._kinds != NOBODY)
        for entry in inner[::-1].tolist():
            depths[self._kinds[entry]] = depths[self._of[entry]] + 1
        return depths

    def make(self, labels: Longs | None, draw: Random | None) -> TreeLine:
        """Return a line of which the blocks of now, by their labels, are runs; without these, in the given order."""
        ordered = np.arange(len(self._kinds)) if labels is None or draw is None else self._order(labels, draw)
        kinds, counts, sizes = self._kinds[ordered], self._counts[ordered], np.array(self._sizes)
        before = np.cumsum(counts) - counts
        within = before - before[self._starts[:-1]][self._of]
        begins, deepest = np.zeros(len(sizes), np.int64), int(self._depths.max())
        merges = np.array(self._merges)
        at = [np.flatnonzero(self._depths[self._of] == depth) for depth in range(deepest + 1)]
        first = np.zeros(len(kinds), np.int64)
        units = int(counts[at[0]].sum())
        branch, child = np.full((deepest + 1, units), -1), np.zeros((deepest + 1, units), np.int64)
        for depth, entries in enumerate(at):
            first[entries] = begins[self._of[entries]] + within[entries]
            inner = entries[kinds[entries] != NOBODY]
            begins[kinds[inner]] = first[inner]
            merging = entries[merges[self._of[entries]]]
            units_of = Parts.ranges(first[merging], counts[merging])
            branch[depth, units_of] = np.repeat(self._of[merging], counts[merging])
            child[depth, units_of] = np.repeat(merging - self._starts[self._of[merging]], counts[merging])
        used = (branch >= 0).any(axis=1)
        alone, values = self._alone[ordered], np.flatnonzero(kinds == NOBODY)
        place = np.zeros(self._leaves, np.int64)
        place[alone[values]] = first[values]
        shape = Shape(
            starts=self._starts,
            sizes=sizes,
            kinds=kinds,
            first=first,
            last=first + counts - 1,
            offsets=np.concatenate([[0], np.cumsum(np.where(merges, (sizes + 1) ** 2, 0))]),
            merges=merges,
            branch=np.ascontiguousarray(branch[used]),
            child=np.ascontiguousarray(child[used]),
        )
        return TreeLine(shape, self._covers.taken(ordered), alone, place)

    def _order(self, labels: Longs, draw: Random) -> Longs:
        """Return entries in their branches' order; of sets by block, both blocks and their children at random mostly.

        Children that are merged have the same label. One that is not complete has several, and is alone.
        """
        rng, entries = np.random.default_rng(draw.getrandbits(63)), np.arange(len(self._kinds))
        low, high = self._below.ends(labels)
        marks = np.where(low == high, low, self._leaves + entries)
        _, first, block = np.unique(
            self._of * (self._leaves + len(entries)) + marks, return_index=True, return_inverse=True
        )
        block = block.reshape(-1)
        any_block = (rng.random(len(self._sizes)) < SHUFFLED)[self._of]
        any_child = (rng.random(len(first)) < SHUFFLED)[block]
        blocks = np.where(any_block, rng.permutation(len(first))[block], first[block])
        within = np.where(any_child, rng.permutation(len(entries)), entries)
        in_sets = self._in_sets[self._of]
        return np.lexsort([np.where(in_sets, within, entries), np.where(in_sets, blocks, 0), self._of])
