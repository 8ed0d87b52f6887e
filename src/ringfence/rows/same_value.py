"""What counts as one value. Decided here, once, for every source and every role, before anything is counted.

Two cells may look different and still be one value. Were they two for the census and one for a join, rows would double
and others vanish; were they one for both and two in the release, a reader could tell people apart whom the promise
counts as alike. So cells become *canonical* at the door, and nothing behind it sees any others:

- a number that is none (NaN) is a missing value, and zero has no sign;
- text that stands for a missing value (`data.missing_values`, and always the empty text) is one, and so is a number
  or a day that such a text spells: `"9999"` in a text file and 9999 in a frame;
- a time with a zone is the time that clocks in that zone show: an hour that they show twice is one hour;
- a day has no time of day, even where a type could hold one;
- a value out of a list (a category, a dictionary) is the value, and what else is in the list is not looked at.

Text, whole numbers and decimals of one type are one value if they are the same to the last digit, as they come.
Tables in memory are made canonical as Arrow; files that an engine reads, by expressions that say the same.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.errors import DataError
from ringfence.rows.coded import coded_column, is_coded, is_text, lists_texts, replaced, retold

VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types whose cells refer to text that lies elsewhere, which cannot be computed with; and those that hold the text."""


def missing_words(words: Iterable[str]) -> list[str]:
    """Return the texts that stand for a missing value: those that are named, and the empty one.

    >>> missing_words(["?", ""])
    ['', '?']
    """
    return list(dict.fromkeys(["", *words]))


def canonical_table(table: pa.Table, missing: Sequence[str]) -> pa.Table:
    """Return a table in which cells that are one value are the same.

    Columns keep their types, but for dictionaries and views, which become what they hold, and texts out of a list,
    which are `coded`. Zones stay: of two moments that clocks show alike, the earlier stands for both.

    >>> odd = pa.table({"size": [-0.0, 0.0, float("nan"), None], "word": ["", "?", "a", None]})
    >>> canonical_table(odd, ["?"]).to_pydict()
    {'size': [0.0, 0.0, None, None], 'word': [None, None, 'a', None]}
    """
    words, others = pa.array(missing_words(missing)), {}
    for place, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if pa.types.is_interval(field.type):
            raise _without_measure(field.name)
        plain = _canonical_column(column, words)
        if plain is not column:
            others[place] = plain
    return replaced(table, others)


def _canonical_column(column: pa.ChunkedArray, words: pa.Array) -> pa.ChunkedArray:
    """Return a column with canonical cells: itself, where it has no others."""
    if lists_texts(column.type):
        return retold(coded_column(column), partial(_words, words=words))
    chunks = [_canonical(chunk, words) for chunk in column.chunks]
    if all(new is old for new, old in zip(chunks, column.chunks, strict=True)):
        return column
    return pa.chunked_array(chunks, chunks[0].type)


def _without_measure(name: str) -> DataError:
    """Return the refusal of times in months and days, of which nobody can say which are one: is a month 30 days?"""
    return DataError(f"column {name!r} holds spans of months and days, which have no fixed length; allowed: durations")


def _canonical(array: pa.Array, words: pa.Array) -> pa.Array:
    """Return an array with canonical cells: itself, where it has no others."""
    rules: Sequence[tuple[bool, Callable[[pa.Array, pa.Array], pa.Array]]] = (
        (pa.types.is_dictionary(array.type), _listed_values),
        (array.type in VIEWS, _viewed_values),
        (pa.types.is_floating(array.type), _plain_numbers),
        (pa.types.is_timestamp(array.type) and array.type.tz is not None, _as_clocks_show),
        (pa.types.is_date64(array.type), _whole_days),
        (_has_views(array.type), lambda array, _: array.cast(_without_views(array.type))),
        (_has_floats(array.type), _plain_cells),
        (is_text(array.type), _words),
    )
    plain = next((rule(array, words) for applies, rule in rules if applies), array)
    return plain if is_text(plain.type) else _without(plain, spelled(words.to_pylist(), plain.type))


def spelled(words: Iterable[str], kind: pa.DataType) -> pa.Array:
    """Return the values of a type that some words spell: of numbers and days, which are spelled in one way.

    >>> spelled(["", "?", "9999", "1900-01-01"], pa.int16()).to_pylist()
    [9999]
    """
    types = pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_date32(kind)):
        return pa.array([], kind)
    found = []
    for word in words:
        with contextlib.suppress(pa.ArrowException):  # it spells none
            found.append(pa.array([word]).cast(kind)[0])
    return pa.array([value.as_py() for value in found], kind)


def _without(array: pa.Array, gaps: pa.Array) -> pa.Array:
    """Return an array with missing values in the place of some."""
    if len(gaps) == 0 or not pc.any(there := pc.is_in(array, gaps)).as_py():
        return array
    return pc.if_else(there, pa.scalar(None, array.type), array)


def _has_floats(kind: pa.DataType) -> bool:
    """Whether lists or structures have floats in them."""
    parts = [kind.field(place).type for place in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return any(pa.types.is_floating(part) or _has_floats(part) for part in parts)


def _has_views(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind)) and _without_views(kind) != kind


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return a type of lists in which text lies where it belongs."""
    if pa.types.is_large_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    if pa.types.is_list(kind):
        return pa.list_(_without_views(kind.value_type))
    return VIEWS.get(kind, kind)


def _listed_values(array: pa.Array, words: pa.Array) -> pa.Array:
    return _canonical(_decoded(array), words)


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    """Return the values that a dictionary stands for."""
    kind = array.type.value_type
    return array.dictionary.cast(VIEWS.get(kind, kind)).take(array.indices)


def _viewed_values(array: pa.Array, words: pa.Array) -> pa.Array:
    return _canonical(array.cast(VIEWS[array.type]), words)


def _whole_days(array: pa.Array, _: pa.Array) -> pa.Array:
    return array.cast(pa.date32(), safe=False).cast(array.type)


def _words(array: pa.Array, words: pa.Array) -> pa.Array:
    """Return text without what stands for a missing value."""
    gaps = pc.is_in(array, words.cast(array.type))
    return pc.if_else(gaps, pa.scalar(None, array.type), array) if pc.any(gaps).as_py() else array


def _plain_numbers(array: pa.Array, _: pa.Array) -> pa.Array:
    """Return floats without NaN, and zeros without a sign; the reciprocal tells the sign of a zero."""
    wide = array.cast(pa.float64())
    strange = pc.is_nan(wide)
    signed = pc.and_(pc.equal(wide, 0.0), pc.less(pc.divide(1.0, wide), 0.0))
    if not pc.any(pc.or_(strange, signed)).as_py():
        return array
    plain = pc.if_else(strange, pa.scalar(None, pa.float64()), pc.if_else(signed, 0.0, wide))
    return plain.cast(array.type)


def _plain_cells(array: pa.Array, _: pa.Array) -> pa.Array:
    """Return lists and structures with plain numbers in them; compared as text, since -0.0 == 0.0."""
    cells = array.to_pylist()
    plain = [_plain_cell(cell) for cell in cells]
    return array if str(plain) == str(cells) else pa.array(plain, array.type)


def _plain_cell(cell: Any) -> Any:
    """Return a cell of lists and structures with plain numbers in it."""
    match cell:
        case float():
            return None if cell != cell else cell + 0.0  # noqa: PLR0124  only NaN differs from itself; -0.0 + 0.0 = 0.0
        case dict():
            return {name: _plain_cell(part) for name, part in cell.items()}
        case list() | tuple():
            return type(cell)(map(_plain_cell, cell))
    return cell


def _as_clocks_show(array: pa.Array, _: pa.Array) -> pa.Array:
    """Return moments with the earlier of two that clocks in their zone show alike in the place of both."""
    shown = pc.local_timestamp(array)
    moments = pc.assume_timezone(shown, array.type.tz, ambiguous="earliest", nonexistent="earliest")
    return array if moments.equals(array) else moments


def for_engine(table: pa.Table, *, reads_coded: bool = False) -> pa.Table:
    """Return a table as engines read it: times as clocks show them, no dictionaries, but for coded texts where the
    engine `reads_coded` ones, floats of 32 bits at least."""
    others = {}
    for place, (column, kind) in enumerate(zip(table.columns, table.schema.types, strict=True)):
        if reads_coded and is_coded(kind):
            continue
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            others[place] = pc.local_timestamp(column)
        elif pa.types.is_dictionary(kind):
            others[place] = pa.chunked_array(map(_decoded, column.chunks), VIEWS.get(kind.value_type, kind.value_type))
        elif kind in VIEWS or _has_views(kind):
            others[place] = column.cast(_without_views(kind))
        elif pa.types.is_float16(kind):
            others[place] = column.cast(pa.float32())
    return replaced(table, others)


def canonical_rows(rows: ibis.Table, missing: Sequence[str]) -> ibis.Table:
    """Return rows that an engine reads from a file, with canonical cells; zones are the business of who opens it."""
    words = missing_words(missing)
    for name, kind in rows.schema().items():
        if kind.is_interval():
            raise _without_measure(name)
    plain = {name: _expression(rows[name], kind, words) for name, kind in rows.schema().items()}
    changed = [value.name(name) for name, value in plain.items() if value is not None]
    return rows.mutate(changed) if changed else rows


def _expression(cell: ibis.Value, kind: dt.DataType, words: Sequence[str]) -> ibis.Value | None:
    """Return what makes a cell canonical; None where there is nothing to do."""
    if kind.is_floating():
        plain = ibis.ifelse(cell.isnan(), None, ibis.ifelse(cell == 0, 0.0, cell)).cast(kind)
        gaps = spelled(words, pa.float32() if kind.is_float32() else pa.float64()).to_pylist()
        return ibis.ifelse(plain.isin(gaps), None, plain).cast(kind) if gaps else plain
    if kind.is_integer() or kind.is_date() or kind.is_decimal():
        gaps = spelled(words, kind.to_pyarrow()).to_pylist()
        return ibis.ifelse(cell.isin([ibis.literal(gap, kind) for gap in gaps]), None, cell) if gaps else None
    if kind.is_string() and words:
        return ibis.ifelse(cell.isin(words), None, cell)
    if not _holds_numbers(kind):
        return None
    if kind.is_array():
        return cell.map(lambda part: _expression(part, kind.value_type, ()))
    parts = {name: _expression(cell[name], part, ()) for name, part in kind.fields.items()}
    whole = ibis.struct({name: cell[name] if part is None else part for name, part in parts.items()})
    return ibis.ifelse(cell.isnull(), None, whole)


def _holds_numbers(kind: dt.DataType) -> bool:
    """Whether lists or structures have floats in them."""
    if kind.is_array():
        return bool(kind.value_type.is_floating() or _holds_numbers(kind.value_type))
    return kind.is_struct() and any(part.is_floating() or _holds_numbers(part) for part in kind.types)
