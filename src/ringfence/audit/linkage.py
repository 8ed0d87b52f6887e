"""A release beside its original: which rows of one may be which rows of the other.

A published label stands for the values it holds: a node of the hierarchy for its leaves, a range, a set or a masked
code for what it says. A published row may come from a row of the original if it holds its values in all
quasi-identifiers, and is the same in whatever was published as it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ringfence.audit.counts import Bools, Column, Longs, classes, read_column, total_by
from ringfence.audit.flows import Graph
from ringfence.audit.reading import Interval, OneOf, read_label, speller
from ringfence.audit.spelling import as_number, spelled_number
from ringfence.builders import read_domain
from ringfence.hierarchy import ROOT, Hierarchy
from ringfence.spec import Spec

MOST_PAIRS = 1 << 22
"""How many pairs of combinations are compared in one go, for the sake of memory."""


@dataclass(frozen=True, eq=False)
class Side:
    """The distinct combinations of a table: its quasi-identifiers, a number for all else that is compared, the rows.

    `whose` is a number for the person that they are of, where people are told apart.
    """

    quasi: tuple[Column, ...]
    kept: Longs
    rows: Longs
    whose: Longs | None = None

    @property
    def total(self) -> int:
        """How many rows the table has."""
        return int(self.rows.sum())


@dataclass(frozen=True, eq=False)
class Cover:
    """One quasi-identifier: `leaves` of the original's combinations, and for each published label and leaf whether the
    label holds the leaf, and whether it would be past the leaf's boundary."""

    leaves: Longs
    holds: Bools
    past: Bools


def read_sides(
    release: pa.Table,
    original: pa.Table,
    quasi: Sequence[str],
    kept: Sequence[str],
    spec: Spec,
    rows: str,
    whose: str | None = None,
) -> tuple[Side, Side]:
    """Code the combinations of both tables; equal values of `kept` columns get equal numbers in both.

    Numbers are equal by value: one table may be a text file and the other not. `whose` is the column of the original
    that says whose its rows are; its values are told apart exactly as they stand.
    """
    merged = []
    for name in kept:
        columns = [read_column(table[name], name, spec) for table in (release, original)]
        spelled = [[None if text is None else spelled_number(text) for text in each.labels] for each in columns]
        labels = {label: number for number, label in enumerate(dict.fromkeys(spelled[0] + spelled[1]))}
        codes = [
            np.array([labels[label] for label in own], np.int64)[each.codes]
            for own, each in zip(spelled, columns, strict=True)
        ]
        merged.append(Column(name, tuple(labels), np.concatenate(codes)))
    _, together = classes(merged, release.num_rows + original.num_rows)
    numbers = np.split(together, [release.num_rows])
    people = None if whose is None else original[whose].combine_chunks().dictionary_encode().indices.to_numpy()
    ours, theirs = (
        _sorted([read_column(table[name], name, spec) for name in quasi], number, table[rows].to_numpy(), owners)
        for table, number, owners in zip((release, original), numbers, (None, people), strict=True)
    )
    return ours, theirs


def _sorted(quasi: Sequence[Column], kept: Longs, rows: Longs, whose: Longs | None) -> Side:
    """Put combinations into the order of their labels, so that nothing depends on the engine's, each of them once:
    the engine tells numbers apart that are only spelled differently."""
    others = [Column("", (None,) * (int(each.max(initial=0)) + 1), each) for each in (kept, whose) if each is not None]
    firsts, group = classes([*quasi, *others], len(kept))
    once = tuple(replace(column, codes=column.codes[firsts]) for column in quasi)
    owners = None if whose is None else whose[firsts]
    return Side(once, kept[firsts], total_by(group, rows.astype(np.int64), len(firsts)), owners)


def cover(published: Column, original: Column, rows: Longs, spec: Spec) -> Cover:
    """Return what the labels of a column hold; `rows` are those of the original's combinations.

    The original makes the hierarchy complete. A node is past the boundary of the leaves below it whose ceiling is
    deeper; other labels are past a leaf's boundary if they hold leaves that are not under its ceiling.
    """
    counts = total_by(original.codes, rows, len(original.labels)).tolist()
    domain = read_domain(published.name, spec, original.labels, counts)
    tree = domain.hierarchy
    leaves = _Leaves(tree, speller(spec.attributes[published.name]))
    holds = np.zeros((len(published.labels), tree.leaves), bool)
    past = np.zeros_like(holds)
    for label, held, beyond in zip(published.labels, holds, past, strict=True):
        node = leaves.node(label)
        if node is not None:
            held[tree.first[node] : tree.stop[node]] = True
            beyond[:] = tree.depth[tree.ceilings] > tree.depth[node]
        else:
            held[leaves.under(label or "")] = True
            within = np.concatenate(([0], np.cumsum(held)))
            beyond[:] = within[tree.stop[tree.ceilings]] - within[tree.first[tree.ceilings]] < within[-1]
    return Cover(domain.leaves.astype(np.int64)[original.codes], holds, past)


class _Leaves:
    """The leaves of a hierarchy, to be found by labels."""

    def __init__(self, tree: Hierarchy, spell: Callable[[str], str]) -> None:
        self.tree, self.spell = tree, spell
        spelled = [None if label is None else spell(label) for label in tree.labels]
        self.nodes = {label: node for node, label in reversed([*enumerate(spelled)])}
        self.nodes.setdefault(ROOT, tree.root)
        self.leaves = spelled[: tree.leaves]
        numbers = {leaf: as_number(label) for leaf, label in enumerate(self.leaves) if label is not None}
        line = sorted((number, leaf) for leaf, number in numbers.items() if number is not None)
        self.numbers, self.by_number = [number for number, _ in line], [leaf for _, leaf in line]

    def node(self, label: str | None) -> int | None:
        """Return the node of a label, if it is one.

        A missing label is the leaf of the missing value; where the original has none, it was taken out, and may be
        anything.
        """
        return self.nodes.get(label, self.tree.root if label is None else None)

    def under(self, label: str) -> list[int]:
        """Return the leaves that some other label holds by what it says: none if it cannot be read."""
        meaning = read_label(label, self.spell)
        if isinstance(meaning, Interval):
            low, high = 0, len(self.numbers)
            if meaning.low is not None:
                low = (bisect_left if meaning.with_low else bisect_right)(self.numbers, meaning.low)
            if meaning.high is not None:
                high = (bisect_right if meaning.with_high else bisect_left)(self.numbers, meaning.high)
            return self.by_number[low:high]
        if isinstance(meaning, OneOf):
            nodes = [self.nodes[value] for value in meaning.values if value in self.nodes]
            return [leaf for node in nodes for leaf in range(self.tree.first[node], self.tree.stop[node])]
        return [leaf for leaf, text in enumerate(self.leaves) if text is not None and meaning.holds(text)]


def link(published: Side, original: Side, covers: Sequence[Cover]) -> Graph:
    """Return the graph of which published combinations may come from which combinations of the original.

    Pairs are met by one quasi-identifier, the most telling one: a label meets the combinations that have equal kept
    values and one of the leaves it holds. Of those, the ones remain that all its other labels hold, too.
    """
    labels = [column.codes for column in published.quasi]
    weights = [np.bincount(each.leaves, minlength=each.holds.shape[1]) for each in covers]
    met = [(each.holds @ weight)[label].sum() for each, weight, label in zip(covers, weights, labels, strict=True)]
    pivot = int(np.argmin(met))
    sizes, leaves = covers[pivot].holds.sum(axis=1), np.nonzero(covers[pivot].holds)[1]
    holder = np.repeat(np.arange(len(published.rows)), sizes[labels[pivot]])
    starts = (np.cumsum(sizes) - sizes)[labels[pivot]]
    leaf = leaves[runs(starts, sizes[labels[pivot]])]
    span = covers[pivot].holds.shape[1]
    keys = original.kept * span + covers[pivot].leaves
    order = np.argsort(keys, kind="stable")
    wanted = published.kept[holder] * span + leaf
    first = np.searchsorted(keys[order], wanted)
    count = np.searchsorted(keys[order], wanted, side="right") - first
    found = []
    for some in _shares(count):
        left, right = np.repeat(holder[some], count[some]), order[runs(first[some], count[some])]
        for place, each in enumerate(covers):
            if place != pivot:
                held = each.holds[labels[place][left], each.leaves[right]]
                left, right = left[held], right[held]
        found.append((left, right))
    left, right = (np.concatenate([np.zeros(0, np.int64), *(pair[side] for pair in found)]) for side in (0, 1))
    order = np.lexsort((right, left))
    return Graph(left[order], right[order], published.rows, original.rows)


def runs(starts: Longs, counts: Longs) -> Longs:
    """Return the whole numbers from each start on, so many of each.

    >>> runs(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    before = np.cumsum(counts) - counts
    runs: Longs = np.repeat(starts - before, counts) + np.arange(counts.sum())
    return runs


def _shares(counts: Longs) -> list[slice]:
    """Cut a list into stretches of about as many pairs as are compared in one go."""
    cuts = np.searchsorted(
        np.cumsum(counts), np.arange(MOST_PAIRS, counts.sum() + MOST_PAIRS, MOST_PAIRS), side="right"
    )
    stops = np.unique(np.append(cuts, len(counts))).tolist()
    return [slice(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]
