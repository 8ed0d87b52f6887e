"""Counts of values beside a release, as a reader takes them: lines, and which of them a value is counted in.

A line names a value, a range of numbers or dates (`<20`, `[20, 25)`, `>=60`), a range of an order that is listed
(`[low, mid]`), a group of the hierarchy, or with `*` all that no other line is about; without a name it is about
missing values. A value is counted in the narrowest line that holds it, and in no other.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.audit.counts import total_by
from ringfence.audit.labels.moments import as_moment
from ringfence.audit.labels.spelling import ROOT, as_number, as_range
from ringfence.audit.labels.trees import Path
from ringfence.errors import DataError, listed
from ringfence.rows.sources import ATTRIBUTE, COUNTED, VALUE
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute

Point: TypeAlias = Decimal | Fraction | int
Span: TypeAlias = tuple[Point | None, Point | None]
"""From one point up to, not including, another; None where it is open to that side."""

_RANGE = re.compile(r"\[(?P<low>[^,]+), (?P<high>[^,]+)\)|<(?P<below>[^=].*)|>=(?P<above>.+)")


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of an attribute: what each is about, None for a missing value, and how many rows it has."""

    attribute: Attribute
    labels: tuple[str | None, ...]
    rows: Longs

    @cached_property
    def _number(self) -> dict[str | None, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def spans(self) -> list[tuple[Span, int]]:
        """The ranges in their order, where values have one, with the number of their line."""
        found = [(span_of(label, self.attribute), number) for number, label in enumerate(self.labels)]
        there = [(span, number) for span, number in found if span is not None]
        return sorted(there, key=lambda each: (each[0][0] is not None, each[0][0] or 0))

    @cached_property
    def _starts(self) -> list[Point]:
        return [low for (low, _), _ in self.spans if low is not None]

    def of(self, path: Path) -> int:
        """Return the line that a value is counted in, given its way up to the root; -1 if it is in none."""
        value = path[0]
        if value in self._number or value is None:
            return self._number.get(value, self._number.get(ROOT, -1))
        point = _point(value, self.attribute) if self.spans else None
        if point is not None:
            place = bisect_right(self._starts, point) + len(self.spans) - len(self._starts) - 1
            (_, high), number = self.spans[max(place, 0)]
            if place >= 0 and (high is None or point < high):
                return number
        above = (label for label in (*path[1:-1], ROOT) if label in self._number)
        return next((self._number[label] for label in above), -1)

    def among(self, paths: Sequence[Path]) -> Longs:
        """Return the line of each value."""
        return np.array([*map(self.of, paths)], np.int64).reshape(-1)

    def overlapping(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield ranges that share values."""
        for ((_, high), one), ((low, _), other) in pairwise(self.spans):
            if high is None or low is None or low < high:
                yield self.labels[one], self.labels[other]


def span_of(label: str | None, attribute: Attribute) -> Span | None:
    """Return the range that a label names, where an attribute has an order; None if it names none."""
    order = attribute.order
    if isinstance(order, list) and not attribute.measured:
        ends = as_range(label or "") if label not in order else None
        if ends is None or not {*ends} <= {*order}:
            return None
        low, high = map(order.index, ends)
        return (low, high + 1) if low < high else None
    found = _RANGE.fullmatch(label or "") if attribute.measured else None
    if found is None:
        return None
    low_end, high_end = found["low"] or found["above"], found["high"] or found["below"]
    points = [None if end is None else _point(end, attribute) for end in (low_end, high_end)]
    if any((end is None) != (point is None) for end, point in zip((low_end, high_end), points, strict=True)):
        return None
    first, last = points
    return None if first is not None and last is not None and first >= last else (first, last)


def _point(value: str, attribute: Attribute) -> Point | None:
    """Return where a value lies in the order of its attribute."""
    if isinstance(attribute.order, list) and not attribute.measured:
        return attribute.order.index(value) if value in attribute.order else None
    return as_moment(value) if attribute.dates else as_number(value)


def closed_labels(table: pa.Table) -> dict[str, list[str]]:
    """Return what the lines of each attribute name, ranges as a release has them, with both ends: what they say of
    values. Of a table that holds no lines, nothing; `read_lines` says why."""
    if table.column_names != [ATTRIBUTE, VALUE, COUNTED]:
        return {}
    found: dict[str, list[str]] = {}
    for name, label in zip(table[ATTRIBUTE].to_pylist(), _labels(table), strict=True):
        if label:
            ends = _RANGE.fullmatch(label)
            low, high = (None, None) if ends is None else (ends["low"] or ends["above"], ends["high"] or ends["below"])
            found.setdefault(name, []).append(label if ends is None else f"[{low or high}, {high or low}]")
    return found


def _labels(table: pa.Table) -> list[str | None]:
    """Return what lines name, as text: who reads a file of them may be handed numbers or days, where all are."""
    try:
        return [label or None for label in table[VALUE].cast(pa.string()).to_pylist()]
    except (pa.ArrowException, ValueError):
        raise DataError(
            f"the counts of values have a column {VALUE!r} of {table[VALUE].type}; allowed: text, numbers, dates"
        ) from None


def read_lines(table: pa.Table, spec: Spec) -> Mapping[str, Lines]:
    """Read counts of values, by attribute. What cannot be read at all is a DataError."""
    wanted = [ATTRIBUTE, VALUE, COUNTED]
    if table.column_names != wanted:
        raise DataError(
            f"the counts of values have the columns {listed(map(repr, table.column_names))}; allowed:"
            f" {listed(map(repr, wanted))}, in this order"
        )
    try:
        rows = table[COUNTED].cast(pa.int64()).to_numpy()
    except (pa.ArrowException, ValueError):
        raise DataError(f"the counts of values have a number of {COUNTED!r} that is no whole number") from None
    if table[COUNTED].null_count:
        raise DataError(f"the counts of values have a line without a number of {COUNTED!r}")
    names, labels = table[ATTRIBUTE].to_pylist(), _labels(table)
    found = {}
    for name in dict.fromkeys(names):
        places = [place for place, other in enumerate(names) if other == name]
        if name not in spec.of_role("quasi"):
            raise DataError(f"the counts of values are about {name!r}, which is no quasi-identifier")
        found[name] = Lines(spec.attributes[name], tuple(labels[place] for place in places), rows[places])
    return found


def summed(lines: Longs, rows: Longs, count: int) -> Longs:
    """Return how many rows each of so many lines has; those of no line are left out."""
    return total_by(lines[lines >= 0], rows[lines >= 0], count)
