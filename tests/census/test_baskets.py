"""Baskets against a plain count of sets."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.baskets import Baskets
from ringfence.rows.item_columns import item_lists
from ringfence.values.hierarchy import Hierarchy
from tests.item_tables import Case, baskets_of, cases


def content(baskets: Baskets) -> list[tuple[tuple[int, ...], int]]:
    bounds = zip(baskets.starts[:-1].tolist(), baskets.starts[1:].tolist(), baskets.weights.tolist(), strict=True)
    return [(tuple(baskets.items[low:high].tolist()), weight) for low, high, weight in bounds]


@given(case=cases(max_rows=40))
def test_equal_sets_become_one_basket_and_empty_rows_none(case: Case) -> None:
    baskets = case.baskets
    expected = Counter(tuple(sorted(set(row))) for row in case.rows)
    assert baskets.empty == expected.pop((), 0)
    assert content(baskets) == sorted(expected.items(), key=lambda pair: (len(pair[0]), pair[0]), reverse=True)
    assert baskets.rows == len(case.rows)
    assert baskets.filled == sum(1 for row in case.rows if row)
    assert baskets.occurrences.tolist() == [sum(leaf in row for row in case.rows) for leaf in range(case.tree.leaves)]


@given(case=cases(), data=st.data())
def test_a_long_table_makes_the_same_baskets_as_lists(case: Case, data: st.DataObject) -> None:
    pairs = data.draw(st.permutations([(number, leaf) for number, row in enumerate(case.rows) for leaf in row]))
    rows, leaves = np.array(pairs, np.int64).reshape(-1, 2).T
    long = Baskets.from_pairs("basket", case.tree, rows, leaves, len(case.rows))
    assert content(long) == content(case.baskets)
    assert long.empty == case.baskets.empty


@given(case=cases(), data=st.data())
def test_rows_that_were_counted_before_weigh_as_many(case: Case, data: st.DataObject) -> None:
    times = np.array([data.draw(st.integers(1, 3)) for _ in case.rows], np.int64)
    rows = np.repeat(np.arange(len(case.rows)), [len(row) for row in case.rows])
    leaves = np.array([leaf for row in case.rows for leaf in row], np.int64)
    weighed = Baskets.from_pairs("basket", case.tree, rows, leaves, len(case.rows), times)
    repeated = baskets_of(case.tree, [row for row, n in zip(case.rows, times.tolist(), strict=True) for _ in range(n)])
    assert content(weighed) == content(repeated)
    assert (weighed.rows, weighed.empty) == (repeated.rows, repeated.empty)


@pytest.mark.parametrize(
    ("column", "separator", "lists"),
    [
        (pa.array([["a", None, ""], None, [], ["b", " a "]]), None, [["a"], [], [], ["b", "a"]]),
        (pa.array([[1, None], [2]], pa.large_list(pa.int16())), None, [[1], [2]]),
        (pa.array([[1.0, float("nan")], []]), None, [[1.0], []]),
        (pa.array(["a; b;;a", None, " ", ";"]), ";", [["a", "b", "a"], [], [], []]),
        (pa.array(["a b", "a b"]).dictionary_encode(), " ", [["a", "b"], ["a", "b"]]),
        (pa.array(["red wine, milk"], pa.large_string()), ",", [["red wine", "milk"]]),
        (pa.nulls(2), None, [[], []]),
    ],
    ids=str,
)
def test_items_of_every_kind_of_column(column: pa.Array, separator: str | None, lists: list[list[object]]) -> None:
    assert item_lists(pa.chunked_array([column]), separator, "basket").to_pylist() == lists
    if len(column) > 1:
        parts = pa.chunked_array([column.slice(0, 1), column.slice(1)])
        assert item_lists(parts, separator, "basket").to_pylist() == lists


def test_lists_may_be_a_part_of_a_longer_column() -> None:
    tree = Hierarchy.from_tree({"a": {}, "b": {}, "c": {}})
    baskets = Baskets.from_lists("basket", tree, np.array([2, 4, 4, 5]), np.array([0, 0, 1, 2, 1, 0]))
    assert content(baskets) == [((1, 2), 1), ((1,), 1)]
    assert baskets.empty == 1


def test_long_baskets_that_differ_late_are_told_apart() -> None:
    tree = Hierarchy.from_tree({f"item {i}": {} for i in range(1000)})
    long = list(range(999))
    baskets = baskets_of(tree, [long, [*long[:-1], 999], long, long[:-1]])
    assert [(items[-1], len(items), weight) for items, weight in content(baskets)] == [
        (999, 999, 1),
        (998, 999, 2),
        (997, 998, 1),
    ]
