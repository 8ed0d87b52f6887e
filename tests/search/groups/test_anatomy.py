"""Anatomy: buckets against what they must have, and the audit of both tables against planted violations."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.audit.trace.anatomy import verify_anatomy
from ringfence.audit.verdict import Verdict
from ringfence.errors import DataError, Unsatisfiable
from ringfence.kernels.groups.fill_buckets import fill_buckets
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.sources import BUCKET, COUNT
from ringfence.search.groups.anatomy import anatomize
from ringfence.spec import Spec
from tests.tables import Case, cases, with_parts


def slow_buckets(counts: list[int], l: int) -> tuple[list[int], int]:  # noqa: E741
    """The sizes of what each value has left, and how many buckets there are: bucket by bucket, from the paper."""
    left, buckets = list(counts), 0
    while sum(count > 0 for count in left) >= l:
        for value in sorted(range(len(left)), key=lambda v: (-left[v], v))[:l]:
            left[value] -= 1
        buckets += 1
    return left, buckets


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6), l=st.integers(1, 4), data=st.data())
def test_buckets_have_different_values(counts: list[int], l: int, data: st.DataObject) -> None:  # noqa: E741
    if sum(counts) == 0 or max(counts) * l > sum(counts):
        return
    starts = np.concatenate([[0], np.cumsum(counts)])
    turns = np.array(data.draw(st.lists(st.integers(0, 99), min_size=len(counts), max_size=len(counts))))
    homes = np.full(sum(counts), -1)
    buckets = fill_buckets(starts, l, turns, homes)
    left, expected = slow_buckets(counts, l)
    assert buckets == expected
    assert max(left) <= 1
    values = np.repeat(np.arange(len(counts)), counts)
    for bucket in range(buckets):
        inside = values[homes == bucket].tolist()
        assert len(inside) >= l
        assert len({*inside}) == len(inside)
    assert homes.min() >= 0


@given(case=cases(sensitive=2), l=st.integers(1, 3), attribute=st.integers(0, 1))
def test_every_row_is_in_a_bucket(case: Case, l: int, attribute: int) -> None:  # noqa: E741
    census = case.census
    most = max(Counter(case.table[f"s{attribute}"].to_pylist()).values())
    if most * l > case.table.num_rows:
        with pytest.raises(Unsatisfiable, match=f"{most} of {case.table.num_rows} rows"):
            anatomize(census, attribute, l)
        return
    groups = anatomize(census, attribute, l, seed=1)
    assert groups.sizes.sum() == case.table.num_rows
    assert not groups.suppressed.any()
    for group in range(groups.count):
        inside = groups.group == group
        values = np.repeat(groups.combinations.values[groups.combination[inside], 0], groups.rows[inside]).tolist()
        assert len({*values}) == len(values) >= l
    again = anatomize(census, attribute, l, seed=1)
    assert again.combination.tolist() == groups.combination.tolist()


SPEC = Spec(
    attributes={
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "order": "numeric"},
        "ill": {"role": "sensitive"},
    },
    privacy={"l": 2},
)
PEOPLE = {"age": [20, 21, 29, 30, 31], BUCKET: [1, 1, 2, 2, 2]}
VALUES = {BUCKET: [1, 1, 2, 2, 2], "ill": ["flu", "cold", "flu", "cold", "gout"], COUNT: [1, 1, 1, 1, 1]}


def verdict(people: dict[str, Any], values: dict[str, Any], spec: Spec = SPEC) -> Verdict:
    """What the audit says of two tables."""
    with DuckDB(spec.data) as engine:
        return verify_anatomy(engine, engine.hold(pa.table(people)), engine.hold(pa.table(values)), spec)


def test_two_sound_tables_pass() -> None:
    found = verdict(PEOPLE, VALUES)
    assert found.ok, found.findings
    assert found.measured == {"l": 2, "rows": 5, "buckets": 2}
    assert "anyone can be found" in found.notes[0]


@pytest.mark.parametrize(
    ("people", "values", "rule"),
    [
        ({}, {"ill": ["flu", "flu", "flu", "cold", "gout"]}, "l"),
        ({}, {COUNT: [1, 1, 2, 1, 1]}, "anatomy"),
        ({BUCKET: [1, 1, 2, 2, 3]}, {}, "anatomy"),
        ({"ill": list("abcde")}, {}, "anatomy"),
        ({"name": list("abcde")}, {}, "identifier"),
    ],
)
def test_what_is_wrong_is_found(people: dict[str, Any], values: dict[str, Any], rule: str) -> None:
    found = verdict({**PEOPLE, **people}, {**VALUES, **values})
    assert not found.ok
    assert rule in [finding.rule for finding in found.findings]


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(DataError, match="the table of values has no column 'ill'"):
        verdict(PEOPLE, {BUCKET: [1], COUNT: [1]})
    with pytest.raises(DataError, match="asks for 0"):
        verdict(PEOPLE, VALUES, with_parts(SPEC, privacy={"k": 2}))
