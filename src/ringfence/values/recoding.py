"""Recoding: a partition of one attribute's leaves, each block with the label it is published under."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs, Numbers
from ringfence.errors import DataError
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.keys import quoted

Label = str | None
Namer = Callable[[Sequence[int]], Label]
"""Names a block by its leaves, in rising order."""


@dataclass(frozen=True, eq=False)
class Recoding:
    """What each leaf of an attribute is published as.

    `blocks[leaf]` is the smallest leaf of the leaf's block: leaves of one block are published under one label.
    `nodes[leaf]` is the lowest node that covers that label. With `whole`, the label is the node's own and covers all
    leaves below it, also those that a boundary keeps out of the block; else it covers the block and nothing else.
    """

    hierarchy: Hierarchy
    blocks: Ints
    nodes: Ints
    whole: bool
    name: Namer | None = None

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """For each leaf the label it is published under; None for a missing value that stays missing."""
        if self.name is None:
            return tuple(self.hierarchy.labels[node] for node in self.nodes.tolist())
        members: dict[int, list[int]] = {}
        for leaf, block in enumerate(self.blocks.tolist()):
            members.setdefault(block, []).append(leaf)
        labels = {block: self.name(leaves) for block, leaves in members.items()}
        if len({*labels.values()}) < len(labels):
            twice = next(label for label in labels.values() if list(labels.values()).count(label) > 1)
            raise DataError(f"the value {twice!r} looks like the label of a group of values; rename it, or them")
        return tuple(labels[block] for block in self.blocks.tolist())

    def total(self, numbers: Numbers) -> Floats:
        """Return for each leaf the sum of some numbers over the leaves that its label covers."""
        if self.whole:
            sums = np.concatenate([[0.0], np.cumsum(numbers)])
            return np.asarray(
                sums[self.hierarchy.stop[self.nodes]] - sums[self.hierarchy.first[self.nodes]], np.float64
            )
        return np.bincount(self.blocks, numbers, minlength=len(self.blocks))[self.blocks].astype(np.float64)

    def spread(self, numbers: Floats) -> Floats:
        """Return for each leaf how far apart the numbers are that its label covers; NaN is no number, none is 0."""
        low, high = np.full(len(self.hierarchy.labels), np.inf), np.full(len(self.hierarchy.labels), -np.inf)
        if self.whole:
            for node in np.unique(self.nodes).tolist():
                inside = numbers[self.hierarchy.first[node] : self.hierarchy.stop[node]]
                low[node] = np.fmin.reduce(inside, initial=np.inf)
                high[node] = np.fmax.reduce(inside, initial=-np.inf)
            low, high = low[self.nodes], high[self.nodes]
        else:
            np.fmin.at(low, self.blocks, numbers)
            np.fmax.at(high, self.blocks, numbers)
            low, high = low[self.blocks], high[self.blocks]
        return np.where(high > low, high - low, 0.0)

    @property
    def covered(self) -> Longs:
        """For each leaf, how many leaves its published label covers."""
        if self.whole:
            return (self.hierarchy.stop[self.nodes] - self.hierarchy.first[self.nodes]).astype(np.int64)
        return np.bincount(self.blocks, minlength=len(self.blocks))[self.blocks]

    @property
    def changes_nothing(self) -> bool:
        """Whether every leaf is published as itself."""
        return bool((self.nodes == np.arange(self.hierarchy.leaves)).all())


class Recodings(Protocol):
    """The recodings of one attribute, each known by its position. There may be more of them later."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> Recoding: ...


def by_nodes(hierarchy: Hierarchy, nodes: Ints) -> Recoding:
    """Return the recoding that publishes each leaf under the label of a node; leaves with the same node are a block."""
    smallest = np.full(len(hierarchy.labels), hierarchy.leaves, np.int32)
    np.minimum.at(smallest, nodes, np.arange(hierarchy.leaves, dtype=np.int32))
    return Recoding(hierarchy, smallest[nodes], nodes, whole=True)


def at_level(hierarchy: Hierarchy, level: int) -> Recoding:
    """Return the recoding that takes every leaf to its ancestor at one level: full-domain generalization.

    A leaf shallower than that stays as it is, and none is taken past its boundary (`Hierarchy.levels`).

    >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> at_level(work, 1).labels
    ('health', 'health', 'cook')
    """
    return by_nodes(hierarchy, hierarchy.levels[level])


def by_blocks(hierarchy: Hierarchy, blocks: Ints, name: Namer) -> Recoding:
    """Return the recoding that publishes each block under a label that covers the block and nothing else."""
    largest = np.zeros(hierarchy.leaves, np.int32)
    np.maximum.at(largest, blocks, np.arange(hierarchy.leaves, dtype=np.int32))
    return Recoding(hierarchy, blocks, hierarchy.common_ancestors(blocks, largest[blocks]), whole=False, name=name)


def by_labels(hierarchy: Hierarchy, labels: Sequence[Label]) -> Recoding:
    """Return the recoding that published leaves under these labels, which a plan has kept."""
    if all(label in hierarchy.node_index for label in labels):
        return by_nodes(hierarchy, np.array([hierarchy.node_index[label] for label in labels], np.int32))
    first: dict[Label, int] = {}
    blocks = np.array([first.setdefault(label, leaf) for leaf, label in enumerate(labels)], np.int32)
    return by_blocks(hierarchy, blocks, lambda leaves: labels[leaves[0]])


@dataclass(frozen=True, eq=False)
class Line:
    """Leaves that are numbers or dates, in their order, and which leaves occur: others may lie within any range."""

    leaves: Ints
    occurs: npt.NDArray[np.bool_]

    @cached_property
    def _places(self) -> tuple[Longs, Longs]:
        """For each leaf its place, -1 if it has none, and how many leaves that occur stand up to there."""
        places, reached = np.full(len(self.occurs), -1), np.zeros(len(self.occurs), np.int64)
        places[self.leaves] = np.arange(len(self.leaves))
        reached[self.leaves] = np.cumsum(self.occurs[self.leaves])
        return places, reached

    def runs(self, leaves: Sequence[int]) -> list[tuple[int, int]]:
        """Return the first and the last leaf of each run in a block: between runs, there are others that occur.

        None where not all leaves are on the line.
        """
        places, reached = self._places
        block = np.array(leaves, np.int64)
        if not len(block) or (places[block] < 0).any():
            return []
        block = block[np.argsort(places[block])]
        others = np.diff(reached[block]) - self.occurs[block[1:]]
        begins = np.concatenate([[0], np.flatnonzero(others) + 1])
        ends = np.concatenate([begins[1:] - 1, [len(block) - 1]])
        return list(zip(block[begins].tolist(), block[ends].tolist(), strict=True))


def namer(hierarchy: Hierarchy, *, line: Line | None = None, in_ranges: bool = False) -> Namer:
    """Return how blocks are named: by their node where they are one, as a range, else as a set.

    A run of a `line` is a range. What is several runs, since a boundary keeps others between them out, is a set of
    ranges where values are published `in_ranges`, else one of values. A missing value in a set is written as null, and
    a value of that name in quotes.

    >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> name = namer(work)
    >>> name([0, 1]), name([1, 2]), name([0, 1, 2])
    ('health', '{doctor, cook}', '*')
    >>> ages = Hierarchy.from_paths([("30", "*"), ("31", "*"), ("40", "*")], missing=True)
    >>> line = Line(np.array([0, 1, 2]), np.array([True] * 4))
    >>> name = namer(ages, line=line)
    >>> name([0, 1]), name([0, 1, 3]), name([0, 2])
    ('[30, 31]', '{[30, 31], null}', '{30, 40}')
    >>> more = Hierarchy.from_paths([(age, "*") for age in ("30", "31", "40", "50", "51")])
    >>> namer(more, line=Line(np.arange(5), np.array([True] * 5)), in_ranges=True)([0, 1, 3, 4])
    '{[30, 31], [50, 51]}'
    """

    def name(leaves: Sequence[int]) -> Label:
        if len(leaves) == 1:
            return _alone(hierarchy.labels[leaves[0]])
        node = hierarchy.common_ancestor(leaves)
        if hierarchy.stop[node] - hierarchy.first[node] == len(leaves):
            return hierarchy.labels[node]
        present = [leaf for leaf in leaves if hierarchy.labels[leaf] is not None]
        runs = [] if line is None else line.runs(present)
        if runs and len(present) > 1 and (len(runs) == 1 or in_ranges):
            words = [_span(hierarchy.labels[low], hierarchy.labels[high]) for low, high in runs]
            words += ["null"] * (len(present) < len(leaves))
            return words[0] if len(words) == 1 else f"{{{', '.join(words)}}}"
        return "{" + ", ".join(_item(hierarchy.labels[leaf]) for leaf in leaves) + "}"

    return name


def _span(low: Label, high: Label) -> str:
    return f"{low}" if low == high else f"[{low}, {high}]"


def _alone(label: Label) -> Label:
    """Return a value as it stands, if it can be told from a set: inside one it would be in quotes."""
    if label is not None and label.startswith("{") and label.endswith("}"):
        raise DataError(f"the value {label!r} looks like the label of a group of values; rename it")
    return label


def _item(label: Label) -> str:
    if label is None:
        return "null"
    return '"null"' if label == "null" else quoted(label)
