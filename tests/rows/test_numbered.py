"""Cells get the number of the first one like them, by libraries and by kernels alike, whatever their digests are."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringfence.kernels import numbering
from ringfence.rows import numbered
from ringfence.rows.coded import coded
from ringfence.rows.in_memory import combined, counted, tallied
from ringfence.rows.numbered import listed_texts, numbered_words
from ringfence.rows.sources import ROWS
from tests.rows.test_in_memory import KINDS, tables

PIECES = ["", "a", "b", "\0", "é", "abcdefgh", "abcdefgi", "bbcdefgh", "日本語"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
"""Texts of up to 45 bytes, of which many are the same but for a letter somewhere: at an end, or in the middle."""


def first_met(cells: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The number of each cell, and the cells by number: the twin."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(cell, len(numbers)) for cell in cells], [*numbers]


@pytest.mark.parametrize("few", [1, 10**6], ids=["kernels", "libraries"])
@given(st.lists(st.sampled_from([0, 1, -1, 2**62, -(2**62), 2**32, 7]), max_size=20))
def test_words_are_numbered_as_they_are_met(few: int, words: list[int]) -> None:
    with patch.object(numbered, "FEW", few):
        which, firsts = numbered_words(np.array(words, np.int64))
    numbers, known = first_met(words)
    assert which.tolist() == numbers
    assert firsts.tolist() == [words.index(word) for word in known]


@pytest.mark.parametrize("few", [1, 10**6], ids=["kernels", "libraries"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@given(st.lists(st.one_of(st.none(), TEXTS), max_size=24), st.integers(0, 3), st.sampled_from([1, 4]))
@example([*"abcdefghij"], 0, 1)
@example(["ab", "longer than a word", "ab"], 0, 4)
@example(["the same"] * 4, 1, 4)
@example(["a", "", "aa"], 0, 4)  # as many letters as if all were the first, and the same ones
@example(["ab", "ac", "ab"], 0, 4)
@example(["long before", "ab", "cd", "ab", None, "cd"], 1, 4)
def test_texts_are_listed_as_they_are_met(
    few: int, kind: pa.DataType, texts: list[str | None], begin: int, room: int
) -> None:
    """Also those of a slice, and more of them than there is room for at first."""
    cells = pa.array(texts, kind)[begin:]
    with patch.object(numbered, "FEW", few), patch.object(numbered, "ROOM", room):
        found = listed_texts(cells)
    assert found.to_pylist() == texts[begin:]
    assert found.dictionary.to_pylist() == first_met([text for text in texts[begin:] if text is not None])[1]
    assert found.dictionary.type == kind


@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(st.integers(-3, 3), min_size=1, max_size=8))
@example(["abcdefgh" + end for end in ("a", "b", "abcdefgh", "abcdefgi")], [0])
@example(["", "\0", "abcdefgh", "abcdefgh" * 2, "abcdefgh" * 3, "abcdefghbbcdefghabcdefgh"], [0])
def test_what_has_the_same_digest_is_told_apart(texts: list[str], words: list[int]) -> None:
    """The kernels as Python, where every digest is the same."""
    with (
        patch.object(numbering, "_mixed", lambda one, other: 5),  # noqa: ARG005
        patch.object(numbering, "_mixed_through", lambda *_: 5),
        patch.object(numbering, "number_texts", numbering.number_texts.py_func),  # type: ignore[attr-defined]
        patch.object(numbering, "number_words", numbering.number_words.py_func),  # type: ignore[attr-defined]
        patch.object(numbered, "FEW", 1),
    ):
        found = listed_texts(pa.array(texts))
        which, _ = numbered_words(np.array(words, np.int64))
    assert found.to_pylist() == texts
    assert found.dictionary.to_pylist() == first_met(texts)[1]
    assert which.tolist() == first_met(words)[0]


@given(tables(), st.lists(st.sampled_from([*KINDS]), unique=True, min_size=1))
def test_combinations_are_counted_alike_by_libraries_and_by_kernels(table: pa.Table, names: list[str]) -> None:
    found = []
    for few in (1, 10**6):
        with patch.object(numbered, "FEW", few):
            given_so = coded(table)
            halves = [given_so, given_so.slice(1)]
            tallies = tallied(halves, [combined(halves[0], names), combined(halves[1], [])], names)
            found.append(
                [
                    counted(combined(given_so, names)),
                    *(each.select([*columns, ROWS]) for each, columns in zip(tallies, [names, []], strict=True)),
                ]
            )
    assert [each.to_pydict() for each in found[0]] == [each.to_pydict() for each in found[1]]


def test_digits_that_do_not_fit_into_a_word_are_numbered_first() -> None:
    """Five columns of 2^16 values: in one word of 64 bits, nothing would be left of the first."""
    values = np.arange(2**16)
    columns = [np.append(values, [3, 4]), *(np.append(values, [7, 7]) for _ in range(4))]
    table = pa.table({f"c{place}": column for place, column in enumerate(columns)})
    found = counted(combined(table, table.column_names))
    assert found.num_rows == 2**16 + 2
    assert found[ROWS].to_pylist() == [1] * found.num_rows
