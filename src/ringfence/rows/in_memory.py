"""Tables in memory, counted and rewritten where they lie.

Most tables that are handed over in memory are small, and to tell an engine what to do with one takes longer than to do
it. So what every run does to them is done by Arrow, cell by cell as an engine would do it by statements: counting
combinations, comparing rows by sums of digests, drawing the order of rows, and the steps by which values are recoded
(`steps.recoded`). All else is left to the engine, and so are types of which the two might not take the same cells for
one (`compares_alike`).

Texts are coded before they are counted or compared (`coded`), once for all that is asked of a table.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Ints, Longs, Words, sum_by
from ringfence.rows.coded import is_coded, is_text, or_none
from ringfence.rows.numbered import numbered_words
from ringfence.rows.sources import HIGH, LOW, ROWS, WHICH

BITS_32 = 0xFFFFFFFF
FIRST_DAY, LAST_DAY = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
"""The first and the last day that Arrow and engines write alike, in days from 1970 on."""
FEW_IN_ORDER = 2**16
"""Of more numbers of 32 bits than these, two are mostly the same."""


def compares_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and engines take the same cells of a type for the same, if they are canonical (`same_value`)."""
    types = pa.types
    plain = is_text(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind)
    return bool(plain or is_coded(kind) or is_fraction(kind) or (types.is_timestamp(kind) and kind.tz is None))


def is_fraction(kind: pa.DataType) -> bool:
    """Whether numbers of this type may have a sign on zero, or be none: which Arrow then tells apart by their bits."""
    return bool(kind in (pa.float32(), pa.float64()))


def compare_alike(table: pa.Table) -> bool:
    """Whether Arrow and engines take the same cells of a table for the same: of fractions, where they are canonical."""
    kinds = table.schema.types
    return all(map(compares_alike, kinds)) and all(
        _are_canonical(column) for kind, column in zip(kinds, table.columns, strict=True) if is_fraction(kind)
    )


def _are_canonical(fractions: pa.ChunkedArray) -> bool:
    numbers = fractions.to_numpy()  # a missing one becomes NaN
    strange = np.isnan(numbers) | ((numbers == 0) & np.signbit(numbers))
    return bool(np.count_nonzero(strange) == fractions.null_count)


def spelled_alike(columns: Sequence[pa.ChunkedArray]) -> bool:
    """Whether cells of some columns are the same as text files have them where they are the same to Arrow, or where
    Arrow spells them alike: fractions and moments of two types, it may spell otherwise, and days before the year 1 or
    without end (`infinity`)."""
    kinds = {column.type for column in columns}
    if len(kinds) == 1:
        return True
    if any(is_fraction(kind) or pa.types.is_timestamp(kind) for kind in kinds):
        return False
    return all(_of_usual_years(column) for column in columns if pa.types.is_date32(column.type))


def _of_usual_years(days: pa.ChunkedArray) -> bool:
    """Whether all days are of the years 1 to 9999."""
    ends = pc.min_max(days.cast(pa.int32()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return first is None or (first >= FIRST_DAY and last <= LAST_DAY)


def stays_as_it_is(kind: pa.DataType) -> bool:
    """Whether cells of a type come out of an engine, where nothing is done to them, as they went in."""
    return compares_alike(kind) and not pa.types.is_large_string(kind)


Combinations = tuple[Longs, Mapping[str, pa.ChunkedArray]]
"""A number for each row of a table, the same for those that have the same in some columns, and what these have."""


def counted(combinations: Combinations) -> pa.Table:
    """Return the distinct combinations of some columns, and in the column `ROWS` how many rows have each."""
    which, different = combinations
    return pa.table({**different, ROWS: np.bincount(which)})


def tallied(tables: Sequence[pa.Table], combined: Sequence[Combinations], digested: Sequence[str]) -> list[pa.Table]:
    """Count combinations of some columns of each table, and add up for each the digests of what its rows have in the
    columns that are `digested`, as an engine's `tally` does.

    A digest here is a number of 64 bits drawn from the operating system's entropy for each different lot of cells. Two
    different multisets of rows then have the same sum with a chance of 2^-64, whatever they hold. Cells are compared
    as text files have them, where a missing one is empty.
    """
    ends = np.cumsum([table.num_rows for table in tables])
    lot, lots = _lots(tables, digested, int(ends[-1]))
    digests = drawn(lots) if digested else np.zeros(1, np.uint64)
    halves = {HIGH: digests >> np.uint64(32), LOW: digests & np.uint64(BITS_32)}
    found = []
    for table, (which, different), end in zip(tables, combined, ends.tolist(), strict=True):
        sums: dict[str, Longs] = {ROWS: np.bincount(which, minlength=0 if different else 1)}  # no rows are a sum, too
        own = lot[end - table.num_rows : end]
        for name, half in halves.items():
            sums[name] = sum_by(which, half.astype(np.int64)[own], len(sums[ROWS]))
        found.append(pa.table({**different, **sums}))
    return found


def surplus(ours: pa.Table, theirs: pa.Table) -> int:
    """Return how many rows of a table are there more often than in another, which has its columns in the same order.

    Cells are compared as text files have them, where a missing one is empty.
    """
    theirs = theirs.rename_columns(ours.column_names)
    lot, lots = _lots([ours, theirs], ours.column_names, ours.num_rows + theirs.num_rows)
    here, there = (np.bincount(each, minlength=lots) for each in np.split(lot, [ours.num_rows]))
    return int(np.maximum(here - there, 0).sum())


def beside(shown: pa.Table, known: pa.Table) -> pa.Table | None:
    """Return marked rows, each with the columns that the row of its mark has in another table, without the marks. None
    where marks are no places: that is for an engine."""
    marks = known[WHICH].to_numpy()
    if not np.array_equal(marks, np.arange(len(marks))):
        return None
    place = shown[WHICH]
    table = shown.drop_columns([WHICH])
    for name in known.column_names:
        if name != WHICH:
            table = table.append_column(name, known[name].take(place))
    return table


def _lots(tables: Sequence[pa.Table], columns: Sequence[str], rows: int) -> tuple[Longs, int]:
    """Return a number for what each row of some tables has in some columns, the same for the same; and how many."""
    lot, lots = _packed([_same([table[name] for table in tables]) for name in columns], rows)
    if lots <= max(rows, 1):
        return lot, lots
    lot, firsts = numbered_words(lot)
    return lot, len(firsts)


def _packed(columns: Sequence[tuple[Ints | Longs, int]], rows: int) -> tuple[Longs, int]:
    """Return a number for each combination of numbers that rows have in some columns, and what all are below; with the
    numbers of a column stands below what they are.

    They are digits of one number. Where that would not fit into 64 bits, the digits so far are numbered themselves.
    """
    packed, span = np.zeros(rows, np.int64), 1
    for numbers, below in columns:
        if span * below >= 2**63:  # after this, both factors are at most one more than the rows are
            packed, firsts = numbered_words(packed)
            span = len(firsts)
        packed *= below
        packed += numbers
        span *= below
    return packed, span


def combined(table: pa.Table, columns: Sequence[str]) -> Combinations:
    """Return which rows have the same in some columns, and what these have."""
    which, firsts = numbered_words(_packed([_numbered(table[name]) for name in columns], table.num_rows)[0])
    place = pa.array(firsts)
    return which, {name: table[name].take(place) for name in columns}


def _same(columns: Sequence[pa.ChunkedArray]) -> tuple[Ints | Longs, int]:
    """Return a number for each cell of some columns, one after the other, the same for the same text; and what all are
    below."""
    kind = columns[0].type
    if not (is_text(kind) or is_coded(kind)) and all(column.type == kind for column in columns):
        return _numbered(pa.chunked_array([chunk for column in columns for chunk in column.chunks], kind))
    encoded = [_encoded(column) for column in columns]
    texts = [pc.fill_null(each.dictionary.cast(pa.string()), "") for each in encoded]
    known = pa.chunked_array([*texts, pa.array([""])]).unique()
    empty = pc.index_in(pa.array([""]), known)[0].as_py()
    codes = [
        np.append(or_none(pc.index_in(text, known)), empty)[_filled(each.indices, len(text))]
        for each, text in zip(encoded, texts, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.int64), *codes]), len(known)


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().combine_chunks()
    return column.combine_chunks().dictionary_encode()


def _numbered(column: pa.ChunkedArray) -> tuple[Ints | Longs, int]:
    """Return a number for each cell, the same for the same, and what all are below. Missing cells are the same."""
    if is_coded(column.type):
        cells = _encoded(column)
        below = len(cells.dictionary)
        return _filled(cells.indices, below), below + 1
    cells = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return cells.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(cells.dictionary)


def _filled(numbers: pa.Array, missing: int) -> Ints:
    """Return numbers, and this one in the place of those that are missing."""
    there = pc.fill_null(numbers, pa.scalar(missing, numbers.type)) if numbers.null_count else numbers
    found: Ints = there.to_numpy()
    return found


def shuffled(table: pa.Table) -> pa.Table:
    """Return rows in an order that is drawn from the operating system's entropy."""
    return table.take(pa.array(drawn_order(table.num_rows)))


def drawn_order(count: int) -> Longs:
    """Return so many places in a random order: sorted by numbers of 64 bits, drawn for each. Few are sorted by numbers
    of 32 bits, drawn again until no two are the same, in half the time: then every order is exactly as likely."""
    if count > FEW_IN_ORDER:
        return np.argsort(drawn(count))
    places = np.arange(count, dtype=np.uint64)
    while True:
        line = np.frombuffer(os.urandom(4 * count), np.uint32).astype(np.uint64) << np.uint64(32) | places
        line.sort()
        numbers = line >> np.uint64(32)
        if (numbers[1:] != numbers[:-1]).all():
            return (line & np.uint64(BITS_32)).astype(np.int64)


def drawn(count: int) -> Words:
    """Return so many numbers of 64 bits from the operating system's entropy."""
    return np.frombuffer(os.urandom(8 * count), np.uint64)
