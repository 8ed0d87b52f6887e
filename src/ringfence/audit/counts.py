"""A release in integer codes: the distinct combinations that the engine counted, grouped into classes.

From here on nothing depends on the order in which the engine returned them: labels are numbered in sorted order,
classes in the order of their labels.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Floats, Longs, distinct
from ringfence.audit.labels.blocks import has_blocks
from ringfence.audit.labels.moments import is_moment, written_moment
from ringfence.audit.labels.reading import speller
from ringfence.audit.labels.spelling import ROOT, plain
from ringfence.errors import DataError
from ringfence.rows.coded import is_coded, told_apart
from ringfence.rows.in_python import in_python
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its distinct published labels, sorted, with None for missing last; and each combination's label.

    `spelled` is each label in the spelling that its attribute has for it, where labels are told apart as they stand.
    """

    name: str
    labels: tuple[str | None, ...]
    codes: Longs
    spelled: tuple[str | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """How many rows of each class have each sensitive value: sorted by class, then value; pairs that occur only."""

    classes: Longs
    values: Longs
    rows: Longs
    sizes: Longs

    @cached_property
    def starts(self) -> Longs:
        """Where each class begins."""
        return np.searchsorted(self.classes, np.arange(len(self.sizes)))

    @cached_property
    def shares(self) -> Floats:
        """The share of each value in its class."""
        return self.rows / self.sizes[self.classes]

    def whole(self, values: int) -> Floats:
        """Return the share of each of so many values in the whole release."""
        shares: Floats = total_by(self.values, self.rows, values) / self.sizes.sum()
        return shares


@dataclass(frozen=True, eq=False)
class Released:
    """The combinations of a release: how many rows each has, and the class it belongs to.

    Rows are of one class if they have the same labels in all quasi-identifiers, to the letter: a reader tells `20-29`
    from `[20, 30)`, whatever both may mean. Sensitive values are the same if they mean the same, since a value in two
    spellings is not two values. Either can only make the measured promise smaller.
    """

    rows: Longs
    quasi: tuple[Column, ...]
    sensitive: Mapping[str, Column]
    class_of: Longs
    firsts: Longs
    """For each class, its first combination."""

    @cached_property
    def sizes(self) -> Longs:
        """How many rows each class has."""
        return total_by(self.class_of, self.rows, len(self.firsts))

    @cached_property
    def masked(self) -> Bools:
        """Which combinations have `*` in every quasi-identifier."""
        masked = np.full(len(self.rows), bool(self.quasi))
        for column in self.quasi:
            masked &= np.array([label == ROOT for label in column.labels], bool)[column.codes]
        return masked

    @cached_property
    def incomplete(self) -> Bools:
        """Which combinations miss a quasi-identifier."""
        incomplete = np.zeros(len(self.rows), bool)
        for column in self.quasi:
            incomplete |= np.array([label is None for label in column.labels], bool)[column.codes]
        return incomplete

    def labels_of(self, number: int) -> dict[str, str | None]:
        """Return the published labels of a class."""
        return {column.name: column.labels[column.codes[self.firsts[number]]] for column in self.quasi}

    @cached_property
    def cells_of(self) -> Mapping[str, Cells]:
        """The cells of each sensitive attribute, its values numbered as its labels are."""
        return {name: self.cells(column.codes, len(column.labels)) for name, column in self.sensitive.items()}

    def cells(self, values: Longs, count: int) -> Cells:
        """Return how many rows of each class have each value, given the value, below `count`, of each combination."""
        pairs, _, which = distinct(self.class_of * count + values)
        return Cells(
            classes=pairs // count,
            values=pairs % count,
            rows=total_by(which, self.rows, len(pairs)),
            sizes=self.sizes,
        )


def read_released(
    counted: pa.Table, rows: str, quasi: Sequence[str], sensitive: Sequence[str], spec: Spec, *, original: bool = False
) -> Released:
    """Code the combinations that an engine counted; the column `rows` holds their numbers of rows.

    In an `original`, values in two spellings are one.
    """
    read = read_column if original else read_labels
    judged = tuple(read(counted[name], name, spec) for name in quasi)
    firsts, class_of = classes(judged, counted.num_rows)
    return Released(
        rows=counted[rows].to_numpy().astype(np.int64),
        quasi=judged,
        sensitive={name: read_column(counted[name], name, spec) for name in sensitive},
        class_of=class_of,
        firsts=firsts,
    )


def sum_by(group: Longs, amounts: Floats, groups: int) -> Floats:
    """Return the sum of each group's amounts."""
    return np.bincount(group, amounts, minlength=groups).astype(np.float64, copy=False)


def total_by(group: Longs, rows: Longs, groups: int) -> Longs:
    """Return the number of rows of each group. Floats hold whole numbers exactly up to 2^53, more than tables have."""
    return np.bincount(group, rows, minlength=groups).astype(np.int64)


def read_labels(column: pa.ChunkedArray, name: str, spec: Spec) -> Column:
    """Number the distinct labels of a column as a reader tells them apart: text to the letter, all else by value.

    Whatever `*` stood for in the original, it is the label that holds everything. What stands for a missing value is
    one, unless values are missing in another way too: a reader tells these apart.
    """
    values, codes = _distinct(column, name)
    missing = [place for place, value in enumerate(values) if _is_gap(value, gaps(spec) - {ROOT})]
    if len(missing) == 1:
        values[missing[0]] = None
    spell = speller(spec.attributes[name], ranges=has_blocks(name, spec))
    spelled = [None if value is None else spell(value) for value in values]
    shown = [value if isinstance(value, str) else text for value, text in zip(values, spelled, strict=True)]
    labels, numbers = _numbered(shown)
    read_as = dict(zip(shown, spelled, strict=True))
    return Column(name, labels, numbers[codes], tuple(read_as[label] for label in labels))


def read_column(column: pa.ChunkedArray, name: str, spec: Spec) -> Column:
    """Spell the distinct values of a column alike and number them; only they pass through Python, never the rows.

    All that stands for a missing value is one: who has none has not several by spelling it in two ways.
    """
    values, codes = _distinct(column, name)
    none, spell = gaps(spec), _value_speller(name, spec)
    labels, numbers = _numbered([None if _is_gap(value, none) else spell(value) for value in values])
    return Column(name, labels, numbers[codes], labels)


def _value_speller(name: str, spec: Spec) -> Callable[[Any], str]:
    """Return how the values of a column are spelled, so that equal ones look alike: days however they are written."""
    attribute = spec.attributes.get(name)
    if attribute is None:
        return plain
    spell = speller(attribute, ranges=has_blocks(name, spec))
    if not attribute.dates:
        return spell

    def spell_moment(value: Any) -> str:
        text = spell(value)
        return text if is_moment(text) else written_moment(text, attribute.formats) or written_moment(text) or text

    return spell_moment


def gaps(spec: Spec) -> set[str]:
    """Return the texts that stand for a missing value."""
    return {"", *spec.data.missing_values}


def _distinct(column: pa.ChunkedArray, name: str) -> tuple[list[Any], Longs]:
    """Return the distinct values of a column, and which of them stands in each place."""
    if pa.types.is_dictionary(column.type) and not is_coded(column.type):
        column = column.cast(column.type.value_type)
    try:
        which, different = told_apart(column)
        return in_python(different, name), which
    except (pa.ArrowException, ValueError):
        raise DataError(
            f"column {name!r} holds {column.type}, which cannot be judged; allowed: text, numbers, dates"
        ) from None


def _is_gap(value: Any, words: Collection[str]) -> bool:
    """Whether a value is missing, or stands for one that is; only NaN differs from itself."""
    return value is None or value != value or value in words  # noqa: PLR0124


def _numbered(texts: Sequence[str | None]) -> tuple[tuple[str | None, ...], Longs]:
    """Return the distinct texts in their order, None last, and the number there of each."""
    labels = sorted({*texts}, key=lambda label: (label is None, label or ""))
    number = {label: position for position, label in enumerate(labels)}
    return tuple(labels), np.array([number[text] for text in texts], np.int64)


def classes(quasi: Sequence[Column], count: int) -> tuple[Longs, Longs]:
    """Return the first combination of each class, and the class of each combination.

    Combinations are compared by one number whose digits are their codes. Where that would not fit into 64 bits, the
    digits so far give way to their rank, which keeps their order.
    """
    packed, span = np.zeros(count, np.int64), 1
    for column in quasi:
        if span * len(column.labels) >= 2**63:
            ranks, _, packed = distinct(packed)
            span = len(ranks)
        packed = packed * len(column.labels) + column.codes
        span *= len(column.labels)
    _, firsts, class_of = distinct(packed)
    return firsts, class_of
