"""Recoding: a partition of one attribute's leaves, each block with the label it is published under."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.hierarchy import Hierarchy, Ints


@dataclass(frozen=True, eq=False)
class Recoding:
    """`nodes[leaf]`: the hierarchy node under whose label a leaf is published. Leaves with the same node are a
    block."""

    hierarchy: Hierarchy
    nodes: Ints

    @cached_property
    def blocks(self) -> Ints:
        """For each leaf the smallest leaf of its block."""
        smallest = np.full(len(self.hierarchy.labels), self.hierarchy.leaves, np.int32)
        np.minimum.at(smallest, self.nodes, np.arange(self.hierarchy.leaves, dtype=np.int32))
        return smallest[self.nodes]

    @property
    def labels(self) -> list[str | None]:
        """For each leaf the label it is published under; None for a missing value that stays missing."""
        return [self.hierarchy.labels[node] for node in self.nodes]

    @property
    def covered(self) -> Ints:
        """For each leaf, how many leaves its published label covers."""
        return self.hierarchy.stop[self.nodes] - self.hierarchy.first[self.nodes]

    @property
    def changes_nothing(self) -> bool:
        """Whether every leaf is published as itself."""
        return bool((self.nodes == np.arange(self.hierarchy.leaves)).all())


def at_level(hierarchy: Hierarchy, level: int) -> Recoding:
    """Return the recoding that takes every leaf to its ancestor at one level: full-domain generalization.

    A leaf shallower than that stays as it is, and none is taken past its boundary (`Hierarchy.levels`).

    >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> at_level(work, 1).labels
    ['health', 'health', 'cook']
    """
    return Recoding(hierarchy, hierarchy.levels[level])
