"""Covers: what published values stand for where rows, not values, are decided on.

A value may then be published under many labels, each of which covers some leaves: a node of the hierarchy, a range of
the attribute's order, or any set. `cover` makes them from what lies in each group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Ints, Longs, Numbers, Words
from ringfence.census.census import Census, Quasi, place_of
from ringfence.census.groups import Groups, lowest_covering, lowest_nodes
from ringfence.errors import DataError
from ringfence.values.grid import Grid
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.keys import label
from ringfence.values.paths import group_label
from ringfence.values.recoding import Label, namer

Representation = Literal["set", "range", "hierarchy"]


@dataclass(frozen=True, eq=False)
class Covers:
    """The values that one attribute is published as: value j shows as `labels[j]` and covers the leaves
    `members[starts[j] : starts[j + 1]]`, in rising order."""

    hierarchy: Hierarchy
    labels: tuple[Label, ...]
    members: Ints
    starts: Longs

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def covered(self) -> Longs:
        """For each value, how many leaves it covers."""
        return np.diff(self.starts)

    @cached_property
    def nodes(self) -> Ints:
        """For each value, the lowest node of the hierarchy that covers it."""
        return lowest_covering(self.hierarchy, self.members[self.starts[:-1]], self.members[self.starts[1:] - 1])

    @cached_property
    def values(self) -> Longs:
        """For each of `members`, which value it belongs to."""
        return np.repeat(np.arange(len(self)), self.covered)

    def total(self, numbers: Numbers) -> Floats:
        """Return for each value the sum of some numbers over the leaves that it covers."""
        return np.bincount(self.values, numbers[self.members], minlength=len(self)).astype(np.float64)

    def spread(self, numbers: Floats) -> Floats:
        """Return for each value how far apart the numbers are that it covers; NaN is no number, none is 0."""
        if not len(self):
            return np.zeros(0)
        low = np.fmin.reduceat(numbers[self.members], self.starts[:-1])
        high = np.fmax.reduceat(numbers[self.members], self.starts[:-1])
        return np.where(high > low, high - low, 0.0)

    def lists(self) -> list[list[int]]:
        """Return the leaves that each value covers."""
        return [part.tolist() for part in np.split(self.members, self.starts[1:-1])] if len(self) else []

    @classmethod
    def of_lists(cls, hierarchy: Hierarchy, labels: Sequence[Label], lists: Sequence[Sequence[int]]) -> "Covers":
        """Return the values with these labels that cover these leaves."""
        members = np.array([leaf for leaves in lists for leaf in leaves], np.int32)
        return cls(hierarchy, tuple(labels), members, np.cumsum([0, *map(len, lists)]))


@dataclass(frozen=True, eq=False)
class Shown:
    """What groups, or whatever is published alike, show in one attribute: `value[g]` among those of `covers`."""

    covers: Covers
    value: Longs

    @property
    def labels(self) -> list[Label]:
        """What each group shows."""
        return [self.covers.labels[value] for value in self.value.tolist()]


def by_attribute(
    census: Census, representation: Representation | Sequence[Representation]
) -> tuple[Representation, ...]:
    """Return how each attribute is shown, where one representation may be given for all of them."""
    if isinstance(representation, str):
        return (representation,) * len(census.quasi)
    return tuple(representation)


def cover_groups(
    census: Census, groups: Groups, representation: Representation | Sequence[Representation]
) -> tuple[Shown, ...]:
    """Return for every attribute what each group is published as, in one representation or each in its own."""
    codes, shown = census.codes[groups.tuples], by_attribute(census, representation)
    return tuple(
        cover(quasi, groups.group, codes[:, a], groups.count, shown[a]) for a, quasi in enumerate(census.quasi)
    )


def cover(
    quasi: Quasi,
    groups: npt.NDArray[np.integer],
    leaves: npt.NDArray[np.integer],
    count: int,
    representation: Representation,
) -> Shown:
    """Return what `count` groups are published as in one attribute, where group `groups[i]` has the leaf `leaves[i]`.

    "set": just the leaves that the group has. "range": all that occur between the first and the last of them in the
    attribute's order; a missing value has no place in it and is covered only where the group has one. "hierarchy": the
    lowest node above them. A label covers no value of another ceiling than the group's, whatever the representation;
    for "hierarchy" that is so where all leaves of a group have the same ceiling. And it names no value that no group
    has, though it may cover it: only rows that are suppressed have those. Different values are still named differently,
    since the ends of a range are leaves of a group, and a group of a higher node has a leaf that is not below a lower.
    """
    told = np.zeros(quasi.hierarchy.leaves, np.bool_)
    told[leaves] = True
    if representation == "range" and quasi.grid is not None:
        return _grid_ranges(quasi, quasi.grid, groups, leaves, count)
    match representation:
        case "set":
            members, starts, value = _sets(groups, leaves, quasi.hierarchy.leaves, count)
        case "range":
            members, starts, value = _ranges(quasi, groups, leaves, count)
        case "hierarchy":
            return _nodes(quasi, groups, leaves, count, told)
    name = namer(quasi.hierarchy, line=quasi.line, in_ranges=representation == "range", fanned=quasi.fanned)
    parts = np.split(members, starts[1:-1])
    if representation == "range" and quasi.fanned and quasi.line is None:
        labels = tuple(_neighbours(quasi, part) or name(part.tolist(), told) for part in parts)
    else:
        labels = tuple(name(part.tolist(), told) for part in parts)
    if len({*labels}) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(f"the value {twice!r} looks like the label of a group of values; rename it, or them")
    return Shown(Covers(quasi.hierarchy, labels, members, starts), value)


def _sets(
    groups: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer], width: int, count: int
) -> tuple[Ints, Longs, Longs]:
    """Return the different sets of leaves that groups have, and which of them each group has.

    Groups with equal sets are found by reading all sets at once, leaf by leaf: what is alike so far gets a number, and
    that number with the next leaf gives the next. A set that has ended keeps its number, which only sets of its own
    size can share.
    """
    pairs = np.unique(groups.astype(np.int64) * width + leaves)
    of, leaf = pairs // width, (pairs % width).astype(np.int32)
    sizes = np.bincount(of, minlength=count)
    starts = np.cumsum(sizes) - sizes
    firsts, which = _alike(leaf, starts, sizes, width)
    alike = np.zeros(len(firsts), np.int64)
    for place in range(int(sizes.max(initial=0))):
        going = np.flatnonzero(sizes[firsts] > place)
        alike[going] = np.unique(alike[going] * width + leaf[starts[firsts[going]] + place], return_inverse=True)[1]
    _, example, value = np.unique(sizes[firsts] * (count + 1) + alike, return_index=True, return_inverse=True)
    example = firsts[example]
    lengths = sizes[example]
    return leaf[_runs(starts[example], lengths)], np.concatenate([[0], np.cumsum(lengths)]), value[which]


def _alike(leaf: Ints, starts: Longs, sizes: Longs, width: int) -> tuple[Longs, Longs]:
    """Return a few groups among which every set of leaves occurs, and for each group which of them has its set.

    Sets are told apart by sums of words that are drawn for leaves, and then compared leaf by leaf: if two different
    ones have the same sum, every group is for itself.
    """
    upto = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_words(width)[leaf])])
    _, firsts, which = np.unique(upto[starts + sizes] - upto[starts], return_index=True, return_inverse=True)
    same = (sizes[firsts][which] == sizes).all()
    if not same or (leaf[_runs(starts[firsts][which], sizes)] != leaf).any():
        return np.arange(len(sizes)), np.arange(len(sizes))
    return firsts, which


def _words(count: int) -> Words:
    return np.random.default_rng(count).integers(0, 2**63, count, np.uint64)


def _runs(starts: Longs, sizes: Longs) -> Longs:
    """Return the whole numbers from each start on, so many of each."""
    runs: Longs = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    return runs


def _ranges(
    quasi: Quasi, groups: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer], count: int
) -> tuple[Ints, Longs, Longs]:
    """Return the different ranges from the first to the last leaf of each group, and which of them each group has."""
    hierarchy, ranks = quasi.hierarchy, quasi.ranks
    missing = np.array([label is None for label in hierarchy.labels[: hierarchy.leaves]])
    low, high = np.full(count, hierarchy.leaves), np.full(count, -1)
    lacks, ceiling = np.zeros(count, np.bool_), np.zeros(count, np.int64)
    lacks[groups[missing[leaves]]] = True
    ceiling[groups] = hierarchy.ceilings[leaves]
    placed = ~missing[leaves]
    np.minimum.at(low, groups[placed], ranks[leaves[placed]])
    np.maximum.at(high, groups[placed], ranks[leaves[placed]])
    ends, value = np.unique(np.stack([low, high, lacks, ceiling], axis=1), axis=0, return_inverse=True)
    occurs = quasi.rows > 0
    parts = [
        np.flatnonzero(
            (occurs & ~missing & (ranks >= first) & (ranks <= last) & (hierarchy.ceilings == limit)) | (missing & gap)
        )
        for first, last, gap, limit in ends.tolist()
    ]
    members = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int32)
    return members, np.cumsum([0, *map(len, parts)]), value.reshape(-1)


def _neighbours(quasi: Quasi, leaves: Ints) -> Label:
    """Return what neighbours of a fan-out are called, as its groups are: by the first and the last of them. None where
    leaves are no neighbours: a boundary keeps others between them out, or one is missing."""
    names = quasi.hierarchy.labels
    if (
        len(leaves) in (1, quasi.hierarchy.leaves)
        or names[leaves[-1]] is None
        or (np.diff(quasi.ranks[leaves]) != 1).any()
    ):
        return None
    return group_label([names[leaves[0]] or "", names[leaves[-1]] or ""])


def _grid_ranges(
    quasi: Quasi, grid: Grid, groups: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer], count: int
) -> Shown:
    """Return for each group its one value, or the range between the points of a grid around it; with what is missing,
    the root: anything else would tell that something is."""
    tree, missing = quasi.hierarchy, np.array([key is None for key in quasi.keys])
    by_rank = np.argsort(quasi.ranks, kind="stable")
    low, high = np.full(count, tree.leaves), np.full(count, -1)
    np.minimum.at(low, groups, np.where(missing[leaves], tree.leaves, quasi.ranks[leaves]))
    np.maximum.at(high, groups, np.where(missing[leaves], -1, quasi.ranks[leaves]))
    gap = np.zeros(count, bool)
    gap[groups[missing[leaves]]] = True
    kinds, value = np.unique(np.stack([low, high, gap], axis=1), axis=0, return_inverse=True)
    found: dict[Label, Ints] = {}
    labels: list[Label] = []
    for first, last, lacks in kinds.tolist():
        if lacks:
            labels.append(tree.labels[tree.root] if last >= 0 else None)
            members = np.arange(0 if last >= 0 else tree.leaves - 1, tree.leaves)
        elif first == last:
            labels.append(tree.labels[by_rank[first]])
            members = by_rank[[first]]
        else:
            ends = [grid.below(quasi.keys[by_rank[first]]), grid.above(quasi.keys[by_rank[last]])]
            labels.append(f"[{label(ends[0])}, {label(ends[1])}]")
            low_end, high_end = map(place_of, ends)
            members = np.flatnonzero((quasi.places >= low_end) & (quasi.places <= high_end))
        found.setdefault(labels[-1], members.astype(np.int32))
    number = {each: place for place, each in enumerate(found)}
    starts = np.cumsum([0, *map(len, found.values())])
    covers = Covers(tree, tuple(found), np.concatenate([np.empty(0, np.int32), *found.values()]), starts)
    return Shown(covers, np.array([number[each] for each in labels], np.int64)[value.reshape(-1)])


def _nodes(
    quasi: Quasi, groups: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer], count: int, told: Bools
) -> Shown:
    """Return the lowest nodes above the leaves of each group; those of a fan-out are called by leaves that are told."""
    hierarchy = quasi.hierarchy
    nodes, value = np.unique(lowest_nodes(hierarchy, groups, leaves, count), return_inverse=True)
    parts = [np.arange(hierarchy.first[node], hierarchy.stop[node], dtype=np.int32) for node in nodes.tolist()]
    labels = tuple(hierarchy.labels[node] for node in nodes.tolist())
    if quasi.fanned:
        name = namer(hierarchy, fanned=True)
        labels = tuple(name(part.tolist(), told) for part in parts)
    members = np.concatenate([np.empty(0, np.int32), *parts])
    return Shown(Covers(hierarchy, labels, members, np.cumsum([0, *map(len, parts)])), value)
