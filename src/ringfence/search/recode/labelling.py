"""Labels of partitions: for each value the smallest one of its block, and back, for thousands of values at once.

A partition is written as one string of block numbers per branch (`partitions`); what walks look at are labels.
*Entries* are the children of all branches, one branch after the other.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ringfence.arrays import Longs

if TYPE_CHECKING:
    from ringfence.search.recode.partitions import Branch

State = tuple[tuple[int, ...], ...]


class Labelling:
    """The labels of partitions over some branches, children before their parents."""

    def __init__(self, branches: "Sequence[Branch]") -> None:
        self._branches = branches

    @cached_property
    def _inner(self) -> list[list[tuple[int, int]]]:
        """For each branch its children that are branches: their places and numbers."""
        return [[(p, ~child) for p, child in enumerate(b.children) if child < 0] for b in self._branches]

    @cached_property
    def _below(self) -> list[tuple[Longs, Longs]]:
        """For each branch the values below it, and the place of the child under which each is."""
        below: list[tuple[Longs, Longs]] = []
        for branch, inner in zip(self._branches, self._inner, strict=True):
            if not inner:
                below.append((np.array(branch.children), np.arange(len(branch.children))))
                continue
            parts = [np.array([child]) if child >= 0 else below[~child][0] for child in branch.children]
            below.append((np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])))
        return below

    @cached_property
    def _entries(self) -> tuple[Longs, Longs, Longs, list[int]]:
        """The values below all entries, where those of each begin, its branch, and where branches begin."""
        starts = [0, *np.cumsum([len(branch.children) for branch in self._branches]).tolist()]
        values = np.concatenate([values for values, _ in self._below])
        of_value = np.concatenate([child + start for (_, child), start in zip(self._below, starts, strict=False)])
        begins = np.flatnonzero(np.diff(of_value, prepend=-1))
        return values, begins, np.repeat(np.arange(len(self._branches)), np.diff(starts)), starts

    def of(self, state: State, leaves: int) -> Longs:
        """Return for each of so many leaves the smallest one of its block; those that are no values are alone."""
        labels = np.arange(leaves)
        done = [False] * len(state)  # merged with others, as a part of a branch above
        for i in range(len(state) - 1, -1, -1):
            inner, blocks = self._inner[i], state[i]
            if done[i] or blocks[-1] == len(blocks) - 1:  # all apart
                for _, branch in inner if done[i] else ():
                    done[branch] = True
                continue
            numbers, values, child = np.array(blocks), *self._below[i]
            many = np.bincount(numbers) > 1
            for place, branch in inner:
                done[branch] = bool(many[blocks[place]])
            number = numbers[child]
            merged = many[number]
            smallest = np.full(len(many), leaves)
            np.minimum.at(smallest, number[merged], values[merged])
            labels[values[merged]] = smallest[number[merged]]
        return labels

    def state(self, labels: Longs) -> State:
        """Return the partition in which children whose values all have the same label are together with those that
        have it, too; others are alone.

        It is the inverse of `of`. Whether rules allow it is another question, if the labels are not of these branches.
        """
        values, begins, branch, starts = self._entries
        low, high = np.minimum.reduceat(labels[values], begins), np.maximum.reduceat(labels[values], begins)
        entries = np.arange(len(branch))
        marks = np.where(low == high, low, len(labels) + entries)
        _, first, block = np.unique(
            branch * (len(labels) + len(entries)) + marks, return_index=True, return_inverse=True
        )
        opens = np.zeros(len(entries), np.int64)  # blocks are numbered as they are first met in their branch
        opens[first] = 1
        met = np.cumsum(opens) - opens
        numbers = (met[first] - met[np.array(starts[:-1])][branch[first]])[block.reshape(-1)].tolist()
        return tuple(tuple(numbers[start:stop]) for start, stop in pairwise(starts))
