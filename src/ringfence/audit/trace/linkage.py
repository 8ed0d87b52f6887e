"""A release beside its original: which rows of one may be which rows of the other.

A published label stands for the values it holds: a node of the hierarchy for its leaves, a range, a set or a masked
code for what it says. A published row may come from a row of the original if it holds its values in all
quasi-identifiers, and is the same in whatever was published as it is.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Column, classes, read_column, read_labels, total_by
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.moments import as_moment, spelled_moment
from ringfence.audit.labels.reading import AnyOf, Interval, one_spelling, read_label
from ringfence.audit.labels.spelling import OR_MISSING, as_number, as_range, has_missing, spelled_number
from ringfence.audit.labels.trees import Tree
from ringfence.audit.trace.flows import Graph
from ringfence.spec import Spec
from ringfence.spec.tables import Attribute

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
class Coverage:
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
        spell = one_spelling(name, spec)
        spelled = [[None if text is None else spell(text) for text in each.labels] for each in columns]
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
        _sorted([read(table[name], name, spec) for name in quasi], number, table[rows].to_numpy(), owners)
        for table, read, number, owners in zip(
            (release, original), (read_labels, read_column), numbers, (None, people), strict=True
        )
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


def cover(published: Column, original: Column, rows: Longs, spec: Spec) -> Coverage:
    """Return what the labels of a column hold; `rows` are those of the original's combinations.

    The original makes the tree complete. A label of the tree is past the boundary of the values that it is above the
    ceiling of; other labels are past a value's boundary if they hold values that its ceiling does not.
    """
    counts = total_by(original.codes, rows, len(original.labels)).tolist()
    tree, numbers = tree_over(published.name, spec, original.labels, counts)
    values = _Values(tree, spec.attributes[published.name])
    holds = np.zeros((len(published.labels), len(tree.paths)), bool)
    past = np.zeros_like(holds)
    for label, held, beyond in zip(published.labels, holds, past, strict=True):
        found = values.found(label)
        if found is not None:
            held[found[0]] = True
            beyond[found[0]] = found[1] > tree.limits[found[0]]
        else:
            held[values.under(label or "")] = True
            total = held.sum()
            for within, bounded in values.ceilings:
                beyond[bounded] = held[within].sum() < total
    return Coverage(numbers[original.codes], holds, past)


class _Values:
    """The values of a tree, to be found by labels."""

    def __init__(self, tree: Tree, attribute: Attribute) -> None:
        self.tree = tree
        self.spell = spelled_number if attribute.numeric else spelled_moment if attribute.dates else _written_out
        self.place: Callable[[str], Decimal | Fraction | None] = as_moment if attribute.dates else as_number
        self.texts = [path[0] for path in tree.paths]
        line = [(self.place(text or ""), leaf) for leaf, text in enumerate(self.texts)]
        rising = sorted((number, leaf) for number, leaf in line if number is not None)
        self.numbers, self.by_number = [number for number, _ in rising], [leaf for _, leaf in rising]

    @cached_property
    def ceilings(self) -> list[tuple[Longs, list[int]]]:
        """What each ceiling holds, and the values whose ceiling it is."""
        bounded: dict[str | None, list[int]] = {}
        for leaf, label in enumerate(self.tree.ceiling_labels):
            bounded.setdefault(label, []).append(leaf)
        held = ((self.tree.held(label), leaves) for label, leaves in bounded.items())
        return [(found[0], leaves) for found, leaves in held if found is not None]

    def found(self, label: str | None) -> tuple[Longs, Longs] | None:
        """Return what a label of the tree holds, and the steps there; None if it is no label of the tree.

        A missing label is the missing value; where the original has none, it was taken out, and may be anything.
        Numbers and days may be spelled in another way than the tree has them. An interval may not: it holds what it
        says, and `20-29` says less than `[20, 30)`.
        """
        if label is None:
            return self.tree.held(None) or self.tree.held(self.tree.root)
        return self.tree.held(label) or self.tree.held(self.spell(label))

    def under(self, label: str) -> list[int]:
        """Return the values that some other label holds by what it says: none if it cannot be read."""
        if has_missing(label):
            gap = self.tree.held(None)
            return [*self.under(label[1 : -len(OR_MISSING)]), *([] if gap is None else gap[0].tolist())]
        ends = as_range(label) if self.place is as_moment else None
        if ends is not None:
            first, last = map(as_moment, ends)
            if first is None or last is None:
                return []
            return self.by_number[bisect_left(self.numbers, first) : bisect_right(self.numbers, last)]
        meaning = read_label(label)
        if isinstance(meaning, Interval):
            low, high = 0, len(self.numbers)
            if meaning.low is not None:
                low = (bisect_left if meaning.with_low else bisect_right)(self.numbers, meaning.low)
            if meaning.high is not None:
                high = (bisect_right if meaning.with_high else bisect_left)(self.numbers, meaning.high)
            return self.by_number[low:high]
        if isinstance(meaning, AnyOf):
            held = [self.tree.held(None) if value in (None, "") else self.found(value) for value in meaning.values]
            return [leaf for found in held if found is not None for leaf in found[0].tolist()]
        return [leaf for leaf, text in enumerate(self.texts) if text is not None and meaning.holds(text)]


def _written_out(text: str) -> str:
    """Return a large number as text files have it, in powers of ten or with a fraction of zero, in full.

    All other text is as it stands: a code of `007` is not one of `7`.

    >>> _written_out("1e+20"), _written_out("9007199254740992.0"), _written_out("7.0")
    ('100000000000000000000', '9007199254740992', '7.0')
    """
    return spelled_number(text) if re.search(r"[eE]|\d{16}\.0$", text) else text


def link(published: Side, original: Side, covers: Sequence[Coverage]) -> Graph:
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
