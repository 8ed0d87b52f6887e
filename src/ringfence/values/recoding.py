"""Recoding: a partition of one attribute's leaves, each block with the label it is published under."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Ints, Longs, Numbers
from ringfence.errors import DataError
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.keys import quoted
from ringfence.values.paths import group_label

Label = str | None
Namer = Callable[[Sequence[int], Bools | None], Label]
"""Names a block by its leaves, in rising order; given which leaves may be told, by no other."""


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
        return self._labels({block: self.name(leaves, None) for block, leaves in self._members.items()})

    @cached_property
    def _members(self) -> dict[int, list[int]]:
        """The leaves of each block, by the smallest."""
        members: dict[int, list[int]] = {}
        for leaf, block in enumerate(self.blocks.tolist()):
            members.setdefault(block, []).append(leaf)
        return members

    def _labels(self, named: Mapping[int, Label]) -> tuple[Label, ...]:
        """Return for each leaf the label of its block."""
        if len({*named.values()}) < len(named):
            twice = next(label for label in named.values() if list(named.values()).count(label) > 1)
            raise DataError(f"the value {twice!r} looks like the label of a group of values; rename it, or them")
        return tuple(named[block] for block in self.blocks.tolist())

    def telling(self, occurs: Bools, kept: Bools, *, fanned: bool) -> tuple[tuple[Label, ...], tuple[int, ...]]:
        """Return the labels where none names a leaf that `occurs` and is not `kept`, and the leaves that theirs then
        leaves out.

        A label that a hierarchy has of its own names no value and stays. A `fanned` hierarchy is a fan-out: its labels
        name the first and the last value of a group. What nobody is published under keeps its label.
        """
        name = self.name or (_group_namer(self.hierarchy, self.nodes) if fanned else None)
        told = kept | ~occurs
        if name is None or told.all():
            return self.labels, ()
        named: dict[int, Label] = {}
        left_out: list[int] = []
        for block, leaves in self._members.items():
            named[block] = self.labels[block]
            if kept[leaves].any() and not told[leaves].all():
                named[block] = name(leaves, told)
                if named[block] != self.labels[block]:
                    left_out += [leaf for leaf in leaves if not told[leaf]]
        return self._labels(named), tuple(sorted(left_out))

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
    smallest = np.empty(len(hierarchy.labels), np.int32)
    smallest[nodes[::-1]] = np.arange(hierarchy.leaves, dtype=np.int32)[::-1]  # of those with one node, the last stays
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
    largest = np.empty(hierarchy.leaves, np.int32)
    largest[blocks] = np.arange(hierarchy.leaves, dtype=np.int32)  # of those in one block, the last stays
    return Recoding(hierarchy, blocks, hierarchy.common_ancestors(blocks, largest[blocks]), whole=False, name=name)


def by_labels(hierarchy: Hierarchy, labels: Sequence[Label]) -> Recoding:
    """Return the recoding that published leaves under these labels, which a plan has kept.

    A label that leaves out a leaf of its block may be called like a lower node, which the leaf is not under.
    """
    if all(label in hierarchy.node_index for label in labels):
        nodes = np.array([hierarchy.node_index[label] for label in labels], np.int32)
        leaves = np.arange(len(labels))
        if ((hierarchy.first[nodes] <= leaves) & (leaves < hierarchy.stop[nodes])).all():
            return by_nodes(hierarchy, nodes)
    first: dict[Label, int] = {}
    blocks = np.array([first.setdefault(label, leaf) for leaf, label in enumerate(labels)], np.int32)
    return by_blocks(hierarchy, blocks, lambda leaves, _: labels[leaves[0]])


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

    def runs(self, leaves: Sequence[int]) -> list[Longs]:
        """Return the leaves of each run in a block, as they lie on the line: between runs, there are others that occur.

        None where not all leaves are on the line.
        """
        places, reached = self._places
        block = np.array(leaves, np.int64)
        if not len(block) or (places[block] < 0).any():
            return []
        block = block[np.argsort(places[block])]
        others = np.diff(reached[block]) - self.occurs[block[1:]]
        return np.split(block, np.flatnonzero(others) + 1)


def namer(hierarchy: Hierarchy, *, line: Line | None = None, in_ranges: bool = False, fanned: bool = False) -> Namer:
    """Return how blocks are named: by their node where they are one, as a range, else as a set.

    A run of a `line` is a range. What is several runs, since a boundary keeps others between them out, is a set of
    ranges where values are published `in_ranges`, else one of values. A missing value in a set is written as null, and
    a value of that name in quotes.

    >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> name = namer(work)
    >>> name([0, 1], None), name([1, 2], None), name([0, 1, 2], None)
    ('health', '{doctor, cook}', '*')
    >>> ages = Hierarchy.from_paths([("30", "*"), ("31", "*"), ("40", "*")], missing=True)
    >>> line = Line(np.array([0, 1, 2]), np.array([True] * 4))
    >>> name = namer(ages, line=line)
    >>> name([0, 1], None), name([0, 1, 3], None), name([0, 2], None)
    ('[30, 31]', '{[30, 31], null}', '{30, 40}')
    >>> more = Hierarchy.from_paths([(age, "*") for age in ("30", "31", "40", "50", "51")])
    >>> namer(more, line=Line(np.arange(5), np.array([True] * 5)), in_ranges=True)([0, 1, 3, 4], None)
    '{[30, 31], [50, 51]}'

    Of leaves that may not be told, a set has none, and a range does not end at one: it may lie between its ends, where
    nobody sees it. Nodes keep their labels, which name no leaf, but those of a `fanned` hierarchy, which is a fan-out.

    >>> name([0, 1, 3], np.array([True, True, True, False])), name([0, 2], np.array([True, True, False, True]))
    ('[30, 31]', '30')
    """

    def name(leaves: Sequence[int], told: Bools | None) -> Label:
        if len(leaves) == 1:
            return _alone(hierarchy.labels[leaves[0]])
        node = hierarchy.common_ancestor(leaves)
        named = list(leaves) if told is None else [leaf for leaf in leaves if told[leaf]]
        if hierarchy.stop[node] - hierarchy.first[node] == len(leaves):
            return _of_group(hierarchy, node, named) if fanned and len(named) < len(leaves) else hierarchy.labels[node]
        if len(named) == 1:
            return _alone(hierarchy.labels[named[0]])
        present = [leaf for leaf in leaves if hierarchy.labels[leaf] is not None]
        runs = [] if line is None else line.runs(present)
        if runs and len(present) > 1 and (len(runs) == 1 or in_ranges):
            shown = [run if told is None else run[told[run]] for run in runs]
            words = [_span(hierarchy.labels[run[0]], hierarchy.labels[run[-1]]) for run in shown if len(run)]
            words += ["null" for leaf in named if hierarchy.labels[leaf] is None]
            return words[0] if len(words) == 1 else f"{{{', '.join(words)}}}"
        return "{" + ", ".join(_item(hierarchy.labels[leaf]) for leaf in named) + "}"

    return name


def _group_namer(hierarchy: Hierarchy, nodes: Ints) -> Namer:
    """Return how the blocks of a fan-out are named that nodes were taken for, though a boundary may keep leaves out."""
    return lambda leaves, told: _of_group(
        hierarchy, int(nodes[leaves[0]]), [leaf for leaf in leaves if told is None or told[leaf]]
    )


def _of_group(hierarchy: Hierarchy, node: int, named: Sequence[int]) -> Label:
    """Return the label of a node of a fan-out, by the first and the last of some leaves below it; the root's says
    nothing."""
    if node == hierarchy.root:
        return hierarchy.labels[node]
    return group_label([hierarchy.labels[leaf] or "" for leaf in (named[0], named[-1])])


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
