"""Counts of values beside a release: what is counted together, against a plain-Python oracle on tiny tables."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.audit.count_lines import read_lines
from ringfence.census.census import Census
from ringfence.plans.counted import counted_values
from ringfence.plans.published import Beside, Published
from ringfence.spec import Spec
from tests.tables import count

TREE = {"north": {"fjord": ["Oslo", "Bergen"], "plain": ["Turku"]}, "south": ["Rome", "Bari", "Lima"]}
PATHS = {
    "Oslo": ("fjord", "north"),
    "Bergen": ("fjord", "north"),
    "Turku": ("plain", "north"),
    "Rome": ("south",),
    "Bari": ("south",),
    "Lima": ("south",),
    None: (),
}
KINDS: dict[str, Any] = {
    "number": ({"order": "numeric"}, ["1", "2", "2.5", "7", "40", "41", "300", None]),
    "date": ({"format": "%Y-%m-%d"}, ["2023-12-31", "2024-01-01", "2024-01-09", "2024-02-03", "2025-06-07", None]),
    "order": ({"order": ["a", "b", "c, d", "e", "f", "g"]}, ["a", "b", "c, d", "f", "g", None]),
    "tree": ({"hierarchy": {"tree": TREE}}, [*PATHS]),
    "flat": ({"hierarchy": "flat"}, ["x", "y", "z", "<5", None]),
    "fanout": ({"hierarchy": {"fanout": 2}, "order": "lexical"}, ["p", "q", "r", "s", None]),
}


def whole(census: Census) -> Published:
    """Return a census of which all rows are published; who they are of, too, where that was counted."""
    whose = None
    if census.people is not None:
        part = census.sensitive[census.people]
        whose = Beside(part, part.tuples.astype(np.int64), part.values.astype(np.int64), part.weights)
    rows = len(census.weights)
    return Published(
        census, census.weights, census.codes.astype(np.int64), (), (), np.zeros(rows, np.bool_), True, (), whose
    )


def counted(kind: dict[str, Any], values: Sequence[str | None], k: int, people: list[str] | None = None) -> pa.Table:
    attributes = {"v": {"role": "quasi", **kind}}
    entity = {} if people is None else {"data": {"entity": "who"}}
    spec = Spec(attributes=attributes, privacy={"k": k}, method={"name": "local"}, **entity)
    table = pa.table({"v": pa.array(values, pa.string()), **({} if people is None else {"who": people})})
    return counted_values(whole(count(table, spec)), spec)


def lines(table: pa.Table) -> dict[str | None, int]:
    found = dict(zip(table["value"].to_pylist(), table["rows"].to_pylist(), strict=True))
    assert len(found) == table.num_rows
    return found


@st.composite
def columns(draw: st.DrawFn, kind: str) -> tuple[list[str | None], list[str]]:
    known = KINDS[kind][1]
    numbers = draw(st.lists(st.integers(0, 6), min_size=len(known), max_size=len(known)))
    values = [value for value, times in zip(known, numbers, strict=True) for _ in range(times)] or known[:1]
    return values, draw(st.lists(st.sampled_from("ABCDEFG"), min_size=len(values), max_size=len(values)))


@pytest.mark.parametrize("by_people", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_lines_are_a_partition_of_k_or_more(kind: str, by_people: bool, data: st.DataObject) -> None:
    values, people = data.draw(columns(kind))
    k = data.draw(st.integers(2, 5))
    if len({*people} if by_people else people) < k:
        return
    table = counted(KINDS[kind][0], values, k, people if by_people else None)
    spec = Spec(attributes={"v": {"role": "quasi", **KINDS[kind][0]}}, privacy={"k": k})
    read = read_lines(table, spec)["v"]
    paths = [(value, *(PATHS[value] if kind == "tree" else ()), "*") for value in values]
    in_line: dict[int, list[int]] = {}
    for place, path in enumerate(paths):
        in_line.setdefault(read.of(path), []).append(place)
    assert sorted(in_line) == [*range(len(read.labels))]  # every value is in a line, and no line is empty
    for number, places in in_line.items():
        assert read.rows[number] == len(places)  # it is true
        assert len({people[place] for place in places} if by_people else places) >= k
        label = read.labels[number]
        if label in values:  # nobody is named whom fewer than k share
            assert {values[place] for place in places} == {label}
    # Whatever is taken from whatever is a union of lines, each of k or more.
    total = len(values)
    for size in range(1, min(len(read.labels), 4)):
        assert all(k <= sum(some) <= total - k for some in combinations(read.rows.tolist(), size))


@pytest.mark.parametrize("kind", ["number", "date", "order"])
@given(data=st.data())
def test_there_are_as_many_ranges_as_can_be(kind: str, data: st.DataObject) -> None:
    values, _ = data.draw(columns(kind))
    values = [value for value in values if value is not None]
    k = data.draw(st.integers(2, 5))
    if len(values) < k:
        return
    rows = [times for _, times in sorted(Counter(map(KINDS[kind][1].index, values)).items())]
    most = max(
        len(cuts) + 1
        for size in range(len(rows))
        for cuts in combinations(range(1, len(rows)), size)
        if all(sum(rows[i:j]) >= k for i, j in zip((0, *cuts), (*cuts, len(rows)), strict=True))
    )
    assert len(lines(counted(KINDS[kind][0], values, k))) == most


@given(data=st.data())
def test_what_is_left_below_a_node_is_its_line_if_it_has_k(data: st.DataObject) -> None:
    values, _ = data.draw(columns("tree"))
    k = data.draw(st.integers(2, 5))
    if len(values) < k:
        return
    left = Counter(values)
    expected: dict[str | None, int] = {value: rows for value, rows in left.items() if rows >= k}
    left = Counter({value: rows for value, rows in left.items() if rows < k})
    for node in ("fjord", "plain", "north", "south"):  # from below
        below = [value for value in left if node in PATHS[value]]
        if sum(left[value] for value in below) >= k:
            expected[node] = sum(left.pop(value) for value in below)
    rest = sum(left.values())
    found = lines(counted(KINDS["tree"][0], values, k))
    if rest == 0 or rest >= k:
        assert found == expected | ({"*": rest} if rest else {})
    else:  # the smallest line that no other is above has joined the rest
        above = {**PATHS, "fjord": ("north",), "plain": ("north",)}
        free = {label: rows for label, rows in expected.items() if not {*above.get(label, ())} & {*expected}}
        (joined,) = {*expected} - {*found}
        assert free[joined] == min(free.values())
        assert found["*"] == rest + expected[joined]
        assert {**found, joined: 0, "*": 0} == {**expected, joined: 0, "*": 0}


def test_ranges_end_at_round_points_and_name_no_rare_value() -> None:
    incomes = ["1203", "1311", "1987", "2444", "2445", "2446", "98765"]
    assert lines(counted({"order": "numeric"}, incomes, 2)) == {"<1900": 2, "[1900, 2445)": 2, ">=2445": 3}
    days = ["2023-11-05", "2023-12-30", "2024-03-02", "2024-03-03", "2024-03-17", "2024-03-18"]
    dates = lines(counted({"format": "%Y-%m-%d"}, days, 2))
    assert dates == {"<2024-01-01": 2, "[2024-01-01, 2024-03-17)": 2, ">=2024-03-17": 2}


def test_a_rare_missing_value_joins_the_smallest_line() -> None:
    assert lines(counted({"order": "numeric"}, ["1"] * 4 + ["2"] * 3 + [None], 3)) == {"1": 4, "*": 4}
    assert lines(counted({"order": "numeric"}, ["1"] * 4 + [None] * 3, 3)) == {"1": 4, None: 3}


def test_one_line_is_all_that_may_be_told() -> None:
    assert lines(counted({"hierarchy": "flat"}, ["a", "b", "c"], 3)) == {"*": 3}
    assert lines(counted({"order": "numeric"}, ["1", "2", "3"], 3)) == {"*": 3}
    assert lines(counted({"hierarchy": "flat"}, ["a"] * 3, 3)) == {"a": 3}


def test_moments_and_times_of_day_are_cut_too() -> None:
    spec = Spec(attributes={"v": {"role": "quasi", "format": "iso"}}, privacy={"k": 2})
    moments = [dt.datetime(2024, 3, 2, 8, minute) for minute in (1, 2, 14, 15)]
    table = counted_values(whole(count(pa.table({"v": moments}), spec)), spec)
    assert lines(table) == {"<2024-03-02 08:14:00": 2, ">=2024-03-02 08:14:00": 2}
