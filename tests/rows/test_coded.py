"""Texts as numbers: whatever form a column comes in, what is told of it is what would be told of its texts."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.rows.coded import (
    CODED,
    coded,
    coded_column,
    is_coded,
    places,
    plain,
    retold,
    taken,
    texts_of,
    told_apart,
)

TEXTS = ["a", "A", "", "a ", "é", "b"]


@st.composite
def columns(draw: st.DrawFn) -> pa.ChunkedArray:
    """Columns of text in several chunks: plain, long, as views, out of lists with texts that no cell has or that stand
    there twice, or of which one is missing."""
    chunks = draw(st.lists(st.lists(st.sampled_from([*TEXTS, None]), max_size=6), max_size=3))
    form = draw(st.sampled_from(["plain", "long", "view", "listed", "listed by chunk"]))
    if form in ("plain", "long", "view"):
        kind = {"plain": pa.string(), "long": pa.large_string(), "view": pa.string_view()}[form]
        return pa.chunked_array(chunks, kind)
    arrays, known = [], draw(st.permutations([*TEXTS, *TEXTS[:2], None]))
    for chunk in chunks:
        if form == "listed by chunk":
            known = draw(st.permutations([*TEXTS, *TEXTS[2:4], None]))
        numbers = [None if text is None and draw(st.booleans()) else known.index(text) for text in chunk]
        arrays.append(pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int8()), pa.array(known, pa.string())))
    return pa.chunked_array(arrays, pa.dictionary(pa.int8(), pa.string()))


@given(columns())
def test_a_column_becomes_one_list_of_different_texts_and_stays_what_it_is(column: pa.ChunkedArray) -> None:
    found = coded_column(column)
    assert found.type == CODED
    assert found.to_pylist() == column.to_pylist()
    assert found.num_chunks == 1
    known = found.chunk(0).dictionary
    assert len(known.unique()) == len(known)
    assert known.null_count == 0


@given(columns(), st.data())
def test_values_are_told_apart_as_texts(column: pa.ChunkedArray, data: st.DataObject) -> None:
    cells = column.to_pylist()
    kept = data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)))
    left = [cell for cell, stays in zip(cells, kept, strict=True) if stays]
    column = coded_column(column).filter(pa.array(kept, pa.bool_()))  # its list may name what no cell has any more
    for each in (column, column.cast(pa.string())):
        which, values = told_apart(each)
        assert [values[number].as_py() for number in which.tolist()] == left
        assert Counter(values.to_pylist()) == Counter({*left}), "each once, and none that does not occur"
        assert values.type == pa.string()


@given(columns(), st.lists(st.sampled_from([*TEXTS, "z", None]), unique=True))
def test_values_are_found_and_taken(column: pa.ChunkedArray, values: list[Any]) -> None:
    known = pa.array(values, pa.string())
    expected = [values.index(cell) if cell in values else -1 for cell in column.to_pylist()]
    for each in (coded_column(column), coded_column(column).cast(pa.string())):
        assert places(each, known).tolist() == expected
    fetched = taken(known, np.array(expected, np.int64))
    assert fetched.to_pylist() == [None if place < 0 else values[place] for place in expected]


@given(columns())
def test_texts_are_changed_once_for_all_cells_that_have_them(column: pa.ChunkedArray) -> None:
    def told(texts: pa.Array) -> pa.Array:
        upper = pc.utf8_upper(texts)
        return pc.if_else(pc.equal(upper, ""), pa.scalar(None, upper.type), upper)

    expected = [None if not cell else cell.upper() for cell in column.to_pylist()]
    listed = retold(coded_column(column), told)
    assert listed.to_pylist() == expected
    assert len(listed.chunk(0).dictionary.unique()) == len(listed.chunk(0).dictionary), "a and A are one now"
    assert retold(coded_column(column).cast(pa.string()), told).to_pylist() == expected


@given(columns())
def test_tables_are_coded_where_they_hold_text_and_become_plain_again(column: pa.ChunkedArray) -> None:
    table = pa.table({"text": column.cast(pa.string()), "number": pa.array(range(len(column)), pa.int64())})
    found = coded(table)
    assert [is_coded(kind) for kind in found.schema.types] == [True, False]
    assert plain(found) == table
    assert coded(table, ["number"]) is table


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_hidden_column_becomes_plain_as_others_do(text: str, rows: int) -> None:
    for cells in ([text] * rows, [text, None]):
        found = texts_of(coded_column(pa.chunked_array([cells], pa.string())))
        found.validate(full=True)
        assert found.to_pylist() == cells
        assert found.type == pa.string()
