"""A release beside its original: which rows of one may be which rows of the other.

A published label stands for the values it holds: a node of the hierarchy for its leaves, a range, a set or a masked
code for what it says. A published row may come from a row of the original if it holds its values in all
quasi-identifiers, and is the same in whatever was published as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Column, classes, read_column, read_labels, total_by
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.held import held_in
from ringfence.audit.labels.reading import one_spelling
from ringfence.audit.labels.trees import Tree
from ringfence.audit.trace.flows import Graph
from ringfence.compiling import njit
from ringfence.rows.coded import told_apart
from ringfence.spec import Spec

NONE = np.zeros(0, np.int64)


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
    merged = [together(release[name], original[name], name, spec) for name in kept]
    _, numbered = classes(merged, release.num_rows + original.num_rows)
    numbers = np.split(numbered, [release.num_rows])
    people = None if whose is None else told_apart(original[whose])[0]
    ours, theirs = (
        _sorted([read(table[name], name, spec) for name in quasi], number, table[rows].to_numpy(), owners)
        for table, read, number, owners in zip(
            (release, original), (read_labels, read_column), numbers, (None, people), strict=True
        )
    )
    return ours, theirs


def together(ours: pa.ChunkedArray, theirs: pa.ChunkedArray, name: str, spec: Spec) -> Column:
    """Return a column of both tables, with equal codes for what is one value however it is spelled."""
    columns = [read_column(each, name, spec) for each in (ours, theirs)]
    spell = one_spelling(name, spec)
    spelled = [[None if text is None else spell(text) for text in each.labels] for each in columns]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(spelled[0] + spelled[1]))}
    codes = [
        np.array([numbers[label] for label in own], np.int64)[each.codes]
        for own, each in zip(spelled, columns, strict=True)
    ]
    return Column(name, tuple(numbers), np.concatenate(codes))


def _sorted(quasi: Sequence[Column], kept: Longs, rows: Longs, whose: Longs | None) -> Side:
    """Put combinations into the order of their labels, so that nothing depends on the engine's, each of them once:
    the engine tells numbers apart that are only spelled differently."""
    others = [Column("", (None,) * (int(each.max(initial=0)) + 1), each) for each in (kept, whose) if each is not None]
    firsts, group = classes([*quasi, *others], len(kept))
    once = tuple(replace(column, codes=column.codes[firsts]) for column in quasi)
    owners = None if whose is None else whose[firsts]
    return Side(once, kept[firsts], total_by(group, rows.astype(np.int64), len(firsts)), owners)


def cover(published: Column, original: Column, rows: Longs, spec: Spec, known: Tree | None = None) -> Coverage:
    """Return what the labels of a column hold; `rows` are those of the original's combinations.

    The original makes the tree complete. A label of the tree is past the boundary of the values that it is above the
    ceiling of; other labels are past a value's boundary if they hold values that its ceiling does not.
    """
    counts = total_by(original.codes, rows, len(original.labels)).tolist()
    tree, numbers = tree_over(published.name, spec, original.labels, counts, known)
    values = held_in(tree, spec.attributes[published.name])
    held = [values.by(label) for label in published.labels]
    holds = np.zeros((len(held), len(tree.paths)), bool)
    holds[np.repeat(np.arange(len(held)), [len(leaves) for leaves in held]), np.concatenate([NONE, *held])] = True
    past = np.zeros_like(holds)
    for label, within, beyond in zip(published.labels, holds, past, strict=True) if tree.is_bounded else ():
        found = values.found(label)
        if found is not None:
            beyond[found[0]] = found[1] > tree.limits[found[0]]
        else:
            total = within.sum()
            for below, bounded in values.ceilings:
                beyond[bounded] = within[below].sum() < total
    return Coverage(numbers[original.codes], holds, past)


def link(published: Side, original: Side, covers: Sequence[Coverage]) -> Graph:
    """Return the graph of which published combinations may come from which combinations of the original.

    Pairs are met by one quasi-identifier, the most telling one: a label meets the combinations that have equal kept
    values and one of the leaves it holds. Of those, the ones remain that all its other labels hold, too.
    """
    labels = [column.codes for column in published.quasi]
    weights = [np.bincount(each.leaves, minlength=each.holds.shape[1]) for each in covers]
    met = [(each.holds @ weight)[label].sum() for each, weight, label in zip(covers, weights, labels, strict=True)]
    pivot, *others = np.argsort(met, kind="stable").tolist()  # the most telling first
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
    widths = np.array([covers[place].holds.shape[1] for place in others], np.int64)
    flat = [covers[place].holds.reshape(-1) for place in others]
    meeting = _Meeting(
        holder=holder,
        first=first,
        times=count,
        order=order,
        labels=_stacked([labels[place] for place in others], len(published.rows)),
        leaves=_stacked([covers[place].leaves for place in others], len(original.rows)),
        begins=np.cumsum([0, *(len(each) for each in flat)])[:-1],
        widths=widths,
        holds=np.concatenate([np.zeros(0, bool), *flat]),
    )
    left = np.empty(_meet(meeting, NONE, NONE), np.int64)
    right = np.empty_like(left)
    _meet(meeting, left, right)
    order = np.lexsort((right, left))
    return Graph(left[order], right[order], published.rows, original.rows)


class _Meeting(NamedTuple):
    """Pairs to be looked at: `holder[e]` with each of `order[first[e] : first[e] + times[e]]`. Of every other attribute
    i, label l holds leaf v if `holds[begins[i] + l * widths[i] + v]`."""

    holder: Longs
    first: Longs
    times: Longs
    order: Longs
    labels: Longs
    leaves: Longs
    begins: Longs
    widths: Longs
    holds: Bools


def _stacked(columns: Sequence[Longs], length: int) -> Longs:
    """Return columns side by side, those of a row next to each other."""
    return np.stack([*columns], axis=1).astype(np.int64) if columns else np.zeros((length, 0), np.int64)


@njit(cache=True, nogil=True)
def _meet(meeting: _Meeting, left: Longs, right: Longs) -> int:
    """Write down the pairs of which the labels hold all leaves, and return how many there are; without room for them,
    only count them."""
    found = 0
    for entry in range(len(meeting.holder)):
        one = meeting.holder[entry]
        for place in range(meeting.first[entry], meeting.first[entry] + meeting.times[entry]):
            other, fits = meeting.order[place], True
            for i in range(len(meeting.widths)):
                cell = meeting.labels[one, i] * meeting.widths[i] + meeting.leaves[other, i]
                if not meeting.holds[meeting.begins[i] + cell]:
                    fits = False
                    break
            if fits:
                if len(left):
                    left[found], right[found] = one, other
                found += 1
    return found


def runs(starts: Longs, counts: Longs) -> Longs:
    """Return the whole numbers from each start on, so many of each.

    >>> runs(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    before = np.cumsum(counts) - counts
    runs: Longs = np.repeat(starts - before, counts) + np.arange(counts.sum())
    return runs
