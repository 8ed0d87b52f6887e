"""Texts in memory, *coded*: a list of the different ones, and for each cell its number there (Arrow's dictionaries).

Texts are repeated in many rows. Coded, they are compared and moved as numbers are, and what is asked of texts is asked
of the list. Each text is in its list once, and one list is for all of a column; engines read coded texts as the texts
that they are. What is handed out is plain: the list may name what no row has any more.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs
from ringfence.rows.numbered import listed_texts

CODED = pa.dictionary(pa.int32(), pa.string())


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, one beside the other."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_coded(kind: pa.DataType) -> bool:
    """Whether texts of this type are coded."""
    return bool(kind == CODED)


def lists_texts(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers of texts in some list: coded, or such as categories come."""
    return bool(pa.types.is_dictionary(kind) and _has_letters(kind.value_type))


def _has_letters(kind: pa.DataType) -> bool:
    return is_text(kind) or bool(pa.types.is_string_view(kind))


def coded_column(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts coded, whatever type they come in: also out of lists in which a text stands twice."""
    if pa.types.is_dictionary(cells.type):
        listed = [chunk if _is_listed_once(chunk) else _listed_anew(chunk) for chunk in cells.chunks]
    else:
        cells = cells.cast(pa.large_string()) if pa.types.is_string_view(cells.type) else cells  # views make no lists
        listed = [_as_coded(listed_texts(chunk)) for chunk in cells.chunks]
    return pa.chunked_array([_one_list(pa.chunked_array(listed, CODED))])


def coded(table: pa.Table, names: Iterable[str] | None = None) -> pa.Table:
    """Return a table with the texts of some columns coded, or of all."""
    schema = table.schema
    places = range(len(schema)) if names is None else map(schema.get_field_index, names)
    others = {}
    for place in places:
        cells = table.column(place)
        if _has_letters(cells.type):
            others[place] = coded_column(cells)
        elif is_coded(cells.type) and cells.num_chunks != 1:
            others[place] = pa.chunked_array([cells.unify_dictionaries().combine_chunks()])
    return replaced(table, others)


def with_coded_lists(table: pa.Table) -> pa.Table:
    """Return a table in which texts out of lists are coded, others as they are."""
    lists = [place for place, kind in enumerate(table.schema.types) if lists_texts(kind)]
    return replaced(table, {place: coded_column(table.column(place)) for place in lists})


def plain(table: pa.Table) -> pa.Table:
    """Return a table with its texts as texts."""
    found = [place for place, kind in enumerate(table.schema.types) if is_coded(kind)]
    return replaced(table, {place: texts_of(table.column(place)) for place in found})


def replaced(table: pa.Table, others: Mapping[int, pa.ChunkedArray]) -> pa.Table:
    """Return a table with other columns at some places, under the same names. All at once: Arrow goes through every
    column of a table to exchange one."""
    if not others:
        return table
    fields, columns = [*table.schema], table.columns
    for place, column in others.items():
        fields[place], columns[place] = fields[place].with_type(column.type), column
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def retold(cells: pa.ChunkedArray, told: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """Return a column in which texts are others, or none, as is told of those that there are, coded or not."""
    if not is_coded(cells.type):
        return pa.chunked_array([told(chunk) for chunk in cells.chunks], cells.type)
    whole = _one_list(cells)
    texts = whole.dictionary
    others = told(texts)
    return cells if others is texts else pa.chunked_array([_listed(whole.indices, others)])


def texts_of(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its texts as texts."""
    if not is_coded(cells.type):
        return cells
    text = _only_text(cells)
    if text is None or len(text) * len(cells) >= 2**31:
        return cells.cast(pa.string())
    ends = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(len(text))  # a tenth of the time that others take
    buffers = [pa.py_buffer(ends), pa.py_buffer(text * len(cells))]
    return pa.chunked_array([pa.StringArray.from_buffers(len(cells), *buffers)])


def _only_text(cells: pa.ChunkedArray) -> bytes | None:
    """Return the letters of the one text that all cells have, as where a column is hidden; None where they differ."""
    if cells.num_chunks != 1 or cells.null_count or len(cells.chunk(0).dictionary) != 1:
        return None
    text = cells.chunk(0).dictionary[0].as_py()
    return None if text is None else text.encode()


def told_apart(cells: pa.ChunkedArray) -> tuple[Longs, pa.Array]:
    """Return which of the different values of a column each cell has, and these: those that occur, texts as texts, and
    a missing one among them."""
    if not is_coded(cells.type):
        encoded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary
    whole = _one_list(cells)
    known, which = whole.dictionary, or_none(whole.indices)
    if whole.indices.null_count:
        which[which < 0] = len(known)
        known = pa.concat_arrays([known, pa.nulls(1, pa.string())])  # a missing one is the last
    there = np.zeros(len(known), bool)
    there[which] = True
    return (which, known) if there.all() else ((np.cumsum(there) - 1)[which], known.filter(pa.array(there)))


def places(column: pa.ChunkedArray, values: pa.Array) -> Longs:
    """Return where among some values, all different and of the column's type, each cell is; -1 where it is not."""
    if not is_coded(column.type):
        return or_none(pc.index_in(column, values))
    cells = _one_list(column)
    of_text = or_none(pc.index_in(cells.dictionary, values))
    of_gap = or_none(pc.index_in(pa.nulls(1, values.type), values))
    which = pc.fill_null(cells.indices, len(of_text)).to_numpy(zero_copy_only=False)
    found: Longs = np.append(of_text, of_gap)[which]
    return found


def or_none(numbers: pa.Array | pa.ChunkedArray) -> Longs:
    """Return numbers, -1 in the place of those that are missing."""
    there = pc.fill_null(numbers, -1) if numbers.null_count else numbers
    where: Longs = there.to_numpy().astype(np.int64)
    return where


def taken(values: pa.Array | pa.ChunkedArray, which: Longs) -> pa.Array:
    """Return the values at some places, texts coded; nothing where the place is -1."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    values = values.dictionary_encode() if pa.types.is_string(values.type) else values
    return values.take(pa.array(which, mask=which < 0 if which.min(initial=0) < 0 else None))


def _one_list(cells: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column of lists as one array, which has one."""
    return cells.chunk(0) if cells.num_chunks == 1 else cells.unify_dictionaries().combine_chunks()


def _as_coded(listed: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return texts out of a list with the type that coded ones have."""
    if is_coded(listed.type):
        return listed
    return pa.DictionaryArray.from_arrays(listed.indices, listed.dictionary.cast(pa.string()))


def _is_listed_once(cells: pa.DictionaryArray) -> bool:
    """Whether these are coded texts, of which each stands in their list once, and a missing one not at all."""
    if not is_coded(cells.type) or cells.dictionary.null_count:
        return False
    return len(cells.dictionary.unique()) == len(cells.dictionary)


def _listed_anew(cells: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return texts out of any list, coded."""
    return _listed(cells.indices, cells.dictionary.cast(pa.string()))


def _listed(numbers: pa.Array, texts: pa.Array) -> pa.DictionaryArray:
    """Return the texts with these numbers, each listed once, and a missing one not at all."""
    once = texts.dictionary_encode()
    if len(once.dictionary) < len(texts):
        numbers = once.indices.take(numbers)
    return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), once.dictionary)
