"""Releases in classes: what tight labels give away of the rows of a class.

A class has n rows, and under each label as many values as the label says. Of how its values are spread over the rows,
labels say nothing: exchanging the values of one attribute between the rows of a class changes no label. So where two
attributes vary, no row (x, y) is certain: some table that fits has another row with another x and y than this one, and
with the two x exchanged it fits as well; as long as rows with x and y are left, this can be done again. Where one
attribute alone varies, each value that must be there is a certain row, and if there are as many such values as rows,
all rows are certain.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import comb, lgamma, log, log1p, log2
from typing import TypeAlias

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Released
from ringfence.audit.refinement.found import Refinement
from ringfence.audit.refinement.meanings import Meaning, meanings, root_of
from ringfence.audit.verdict import Finding, some
from ringfence.spec import Spec

Row: TypeAlias = tuple[str | None, ...]
"""A value of each quasi-identifier, None for a missing one."""

LEAST = 3
"""Rows of a class under loose labels."""

SMALL = 60
"""Up to so many rows and values, possibilities are counted in whole numbers."""


def refine_classes(released: Released, spec: Spec) -> tuple[Refinement, list[Row]]:
    """Return what comes out of a release in classes, and the rows that do.

    A class that has fewer rows than its label lists values has labels that are not tight, and tells nothing.
    """
    read = [meanings(column, spec) for column in released.quasi]
    labels = np.stack([column.codes[released.firsts] for column in released.quasi], axis=1)
    sizes = released.sizes
    plain = _by_label(read, labels, lambda each: each.plain) > 0
    present = _by_label(read, labels, lambda each: len(each.present))
    tight = np.where(plain, 0, present).max(axis=1) <= sizes
    varying = (~plain).sum(axis=1)
    hidden = ~plain & tight[:, None]
    rows = [*_certain_rows(read, labels, np.flatnonzero((varying == 1) & tight), hidden)]
    before, left = _bits(read, labels, hidden, sizes)
    determined = hidden & (present == sizes[:, None])
    return Refinement(
        rows=int(sizes.sum()),
        plain=int(sizes[varying == 0].sum()),
        rebuilt=len(rows),
        cells=int((~plain * sizes[:, None]).sum()),
        determined=int((determined * sizes[:, None]).sum()),
        present=int(present[hidden].sum()),
        before=before,
        left=left,
        assumed=not spec.groups_rows,
    ), rows


def loose_findings(released: Released, spec: Spec) -> Iterator[Finding]:
    """Find labels that tell which values are in their class, where they may not.

    A label that tells none stays the same whichever of the values under it the rows of the class have, as long as two
    of them, or of their groups, differ. Of two rows, a label of two values would tell both all the same. The root may
    tell: there is no label above it, so that an attribute of two values cannot hide that both are there.
    """
    loose = [column for column in released.quasi if spec.is_loose(column.name)]
    for column in loose:
        root = root_of(column.name, spec)
        telling = [
            not each.plain and bool(each.present) and label != root
            for label, each in zip(column.spelled, meanings(column, spec), strict=True)
        ]
        tells = np.array(telling)[column.codes]
        if tells.any():
            rows, first = int(released.rows[tells].sum()), int(np.argmax(tells))
            message = f"{column.name!r} tells values of its class in {some(rows, 'row')}, though labels are to be loose"
            yield Finding("loose", message, rows, {column.name: column.labels[column.codes[first]]})
    small = np.flatnonzero(released.sizes < LEAST)
    if loose and len(small):
        rows = int(released.sizes[small].sum())
        message = f"{some(rows, 'row')} in classes of fewer than {LEAST} rows, whose labels tell values though loose"
        yield Finding("loose", message, rows, released.labels_of(int(small[0])))


def _by_label(read: Sequence[Sequence[Meaning]], labels: Longs, of: Callable[[Meaning], int]) -> Longs:
    """Return a figure of each label, class by class and attribute by attribute."""
    return np.stack([np.array([*map(of, column)], np.int64)[labels[:, a]] for a, column in enumerate(read)], axis=1)


def _certain_rows(read: Sequence[Sequence[Meaning]], labels: Longs, chosen: Longs, hidden: Bools) -> Iterator[Row]:
    """Yield the certain rows of classes in each of which one attribute varies: one for each value that is there."""
    where = hidden[chosen].argmax(axis=1)
    for attribute, codes in zip(where.tolist(), labels[chosen].tolist(), strict=True):
        said = [column[code].present for column, code in zip(read, codes, strict=True)]
        shown = [values[0] if place != attribute else None for place, values in enumerate(said)]
        for value in said[attribute]:
            yield (*shown[:attribute], value, *shown[attribute + 1 :])


def _bits(
    read: Sequence[Sequence[Meaning]], labels: Longs, hidden: Bools, sizes: Longs
) -> tuple[float | None, float | None]:
    """Return how many bits tell which values the rows of a class have under a label: as it seems, and as it is.

    The mean over all classes and generalized attributes of which the number of values is known.
    """
    before, left, cells = 0.0, 0.0, 0
    for a, column in enumerate(read):
        known = np.array([each.width is not None for each in column])[labels[:, a]] & hidden[:, a]
        pairs, counts = np.unique(np.stack([labels[known, a], sizes[known]], axis=1), axis=0, return_counts=True)
        for (label, rows), count in zip(pairs.tolist(), counts.tolist(), strict=True):
            meaning = column[label]
            assert meaning.width is not None
            before += count * _choices(rows, meaning.width)
            left += count * _bits_left(rows, meaning)
            cells += count
    return (before / cells, left / cells) if cells else (None, None)


def _bits_left(rows: int, meaning: Meaning) -> float:
    """Return the bits of the values that so many rows may have, given what must be there."""
    width, parts = meaning.width or 1, meaning.parts
    if not parts:
        return _choices(rows - len(meaning.present), width)
    if rows <= SMALL and width <= SMALL:
        return log2(comb(rows + width - 1, rows) - sum(comb(rows + part - 1, rows) for part in parts))
    seeming = _choices(rows, width)
    return seeming + log1p(-sum(2.0 ** (_choices(rows, part) - seeming) for part in parts)) / log(2)


@cache
def _choices(rows: int, width: int) -> float:
    """Return the bits that tell how often each of some values occurs in so many rows."""
    return (lgamma(rows + width) - lgamma(rows + 1) - lgamma(width)) / log(2)
