"""Yardsticks say what a user of a release would find out, by definitions in plain Python."""

import itertools
from collections import Counter as Tally
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.rows.duckdb import DuckDB
from ringfence.yardsticks import queries
from ringfence.yardsticks.measure import Ruler, Yardsticks, read_rows, ruler
from ringfence.yardsticks.queries import SANITY, SIZES, Counter, CountQuery, make_queries
from ringfence.yardsticks.reading import ReadRows
from ringfence.yardsticks.tables import MOST_CELLS

TOWNS = {"tree": {"east": ["Oslo", "Hamar"], "west": ["Bergen", "Voss", "Odda"]}}
ATTRIBUTES = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": TOWNS},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "ill": {"role": "sensitive"},
}


def spec(**parts: Any) -> rf.Spec:
    """A specification over four attributes."""
    return rf.Spec(**{"attributes": ATTRIBUTES, "privacy": {"k": 2}, **parts})


def people(rows: int = 200, seed: int = 1) -> pa.Table:
    """People who are different in different towns."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 5, rows)
    return pa.table(
        {
            "age": rng.integers(20, 40, rows) + 8 * (town == 2),
            "town": np.array(["Oslo", "Hamar", "Bergen", "Voss", "Odda"])[town],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "ill": np.array(["flu", "cold", "gout"])[rng.integers(0, 3, rows) * (town > 1)],
        }
    )


def measured(table: pa.Table, released: Any, given: rf.Spec, values: Any = None) -> tuple[Ruler, ReadRows, Yardsticks]:
    """Return what releases are measured by, what is read of this one, and how far off its users are."""
    with DuckDB(given.data) as engine:
        found = ruler(engine, engine.open(table, given.data), given)
        rows = engine.open(released, given.data, as_it_stands=True)
        second = None if values is None else engine.open(values, given.data, as_it_stands=True)
        side = read_rows(engine, rows, found, given, second)
        return found, side, found.measure(side)


def may_be(label: Any) -> dict[str, float]:
    """What a label of this table may stand for, in plain words; written apart from the code."""
    text, inside = str(label), {"east": ["Oslo", "Hamar"], "west": ["Bergen", "Voss", "Odda"]}
    if text == "*":
        raise AssertionError("nothing here is hidden altogether")
    if text.startswith("["):
        low, high = text[1:-1].split(", ")
        values = [str(age) for age in range(int(low), int(high) + text.endswith("]"))]
    else:
        values = inside.get(text) or text.strip("{}").split(", ")
    return dict.fromkeys(values, 1 / len(values))


def estimated(released: pa.Table, wanted: dict[str, set[str]]) -> float:
    """How many rows of a release have wanted values, row by row."""
    total = 0.0
    for row in released.to_pylist():
        share = 1.0
        for name, values in wanted.items():
            share *= sum(part for value, part in may_be(row[name]).items() if value in values)
        total += share
    return total


def in_words(found: Ruler, query: CountQuery) -> dict[str, set[str]]:
    """A query by the values that it asks for."""
    domains = found.truth.domains
    return {
        name: {str(domains[name].values[value]) for value in np.flatnonzero(wanted).tolist()}
        for name, wanted in query.wanted.items()
    }


@pytest.fixture(scope="module")
def grouped() -> tuple[pa.Table, rf.Spec, pa.Table]:
    table, given = people(), spec(method={"name": "local", "effort": "fast"})
    return table, given, rf.anonymize(table, given).table


def test_queries_are_answered_as_a_reader_would_row_by_row(grouped: tuple[pa.Table, rf.Spec, pa.Table]) -> None:
    table, given, released = grouped
    found, _, yardsticks = measured(table, released, given)
    ages = {*map(str, table["age"].to_pylist())}
    assert {*map(str, range(20, 40))} <= ages, "each age occurs, so that a range holds as many values as it is wide"
    errors = []
    for query in found.queries[::25]:
        wanted = in_words(found, query)
        actual = sum(all(str(row[name]) in wanted[name] for name in wanted) for row in table.to_pylist())
        assert actual == query.actual
        errors.append(abs(estimated(released, wanted) - actual) / max(actual, SANITY * len(table)))
    with DuckDB(given.data) as engine:
        rows = engine.open(released, given.data, as_it_stands=True)
        side = read_rows(engine, rows, found, given)
    few = Ruler(found.truth)
    few.__dict__["queries"] = found.queries[::25]
    assert few.measure(side).queries == pytest.approx(np.mean(errors))
    assert yardsticks.queries > 0


def test_tables_lack_the_rows_that_stand_elsewhere(grouped: tuple[pa.Table, rf.Spec, pa.Table]) -> None:
    table, given, released = grouped
    _, _, yardsticks = measured(table, released, given)
    for names in [("age",), ("age", "town"), ("town", "sex")]:
        before = Tally(tuple(str(row[name]) for name in names) for row in table.to_pylist())
        after: Tally[tuple[str, ...]] = Tally()
        for row in released.to_pylist():
            for cell in itertools.product(*(may_be(row[name]).items() for name in names)):
                after[tuple(value for value, _ in cell)] += np.prod([part for _, part in cell])  # type: ignore[assignment]
        lacking = sum(max(count - after[cell], 0) for cell, count in before.items())
        assert yardsticks.tables[names] == pytest.approx(lacking / len(table))
    singles = [yardsticks.tables[(name,)] for name in ("age", "town", "sex")]
    pairs = [yardsticks.tables[pair] for pair in itertools.combinations(("age", "town", "sex"), 2)]
    assert yardsticks.singles == pytest.approx(np.mean(singles))
    assert yardsticks.pairs == pytest.approx(np.mean(pairs))
    assert yardsticks.counts == pytest.approx(np.mean(singles + pairs)), "without a purpose, all count alike"


def test_whoever_has_the_original_is_never_off() -> None:
    table, given = people(), spec()
    _, _, yardsticks = measured(table, table, given)
    assert {*yardsticks.as_dict().values()} <= {0.0, None}


def test_whoever_has_nothing_is_off_by_all_and_suppressed_rows_are_lacking() -> None:
    table, given = people(), spec()
    half = table.slice(0, 100)
    _, _, yardsticks = measured(table, half, given)
    assert yardsticks.singles == yardsticks.pairs == 0.5


def test_a_purpose_says_which_tables_count() -> None:
    table = people()
    given = spec(purpose={"counts": [["town", "ill"], ["age", "sex", "town"]]}, method={"name": "local"})
    released = rf.anonymize(table, given).table
    _, _, yardsticks = measured(table, released, given)
    asked = [yardsticks.tables[("town", "ill")], yardsticks.tables[("age", "sex", "town")]]
    assert yardsticks.counts == pytest.approx(np.mean(asked))
    assert yardsticks.counts > 0


def test_the_naive_baseline_knows_each_attribute_by_itself() -> None:
    table, given = people(), spec()
    found, _, _ = measured(table, table, given)
    rows = table.to_pylist()
    assert found.naive.singles == 0
    lacking = 0.0
    for town, sex in itertools.product({*table["town"].to_pylist()}, ("f", "m")):
        both = np.mean([row["town"] == town and row["sex"] == sex for row in rows])
        apart = np.mean([row["town"] == town for row in rows]) * np.mean([row["sex"] == sex for row in rows])
        lacking += max(both - apart, 0)
    assert found.naive.tables[("town", "sex")] == pytest.approx(lacking)
    independent = pa.table(
        {"age": [20, 20, 30, 30], "town": ["Oslo", "Voss"] * 2, "sex": ["f"] * 4, "ill": ["flu"] * 4}
    )
    assert measured(independent, independent, given)[0].naive.queries == 0


def test_a_third_of_the_queries_is_about_many_some_and_few_rows() -> None:
    table, given = people(3_000), spec()
    found, _, _ = measured(table, table, given)
    shares = np.array([query.actual for query in found.queries]) / 3_000
    assert np.histogram(shares, [0, 0.001, 0.01, 0.1, 1.01])[0].tolist() == [0, 333, 333, 334]
    assert {len([name for name in query.wanted if name != "ill"]) for query in found.queries} == {1, 2, 3}
    assert any("ill" in query.wanted for query in found.queries)


def test_a_table_without_small_answers_is_asked_what_there_is() -> None:
    given = rf.Spec(attributes={"sex": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    table = pa.table({"sex": ["f"] * 6 + ["m"] * 4})
    found, _, yardsticks = measured(table, table, given)
    assert {query.size for query in found.queries} == {0}
    assert (yardsticks.by_size, yardsticks.pairs) == ((0.0, None, None), 0.0)


@pytest.mark.parametrize(("rows", "drawn"), [(9, 100), (60, 1_000), (200, 4_000)])
def test_sizes_that_no_answer_can_have_are_not_looked_for(
    rows: int, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions are the same as if they had been, and fewer are drawn for them."""
    table, given = people(rows), spec()
    with DuckDB(given.data) as engine:
        truth = ruler(engine, engine.open(table, given.data), given).truth
    with monkeypatch.context() as patch:
        watched = MagicMock(wraps=Counter(truth, truth.quasi).count)
        patch.setattr(Counter, "count", watched)
        made = make_queries(truth, 100)
        assert watched.call_count <= drawn
    monkeypatch.setattr(queries, "_possible", lambda _: [True] * len(SIZES))
    for one, other in zip(made, make_queries(truth, 100), strict=True):
        assert (one.actual, one.size) == (other.actual, other.size)
        assert all((one.wanted[name] == other.wanted[name]).all() for name in {*one.wanted, *other.wanted})


def test_questions_and_answers_do_not_depend_on_the_order_of_rows(grouped: tuple[pa.Table, rf.Spec, pa.Table]) -> None:
    table, given, released = grouped
    back = table.take(pa.array(np.arange(len(table))[::-1]))
    shuffled = released.take(pa.array(np.arange(len(released))[::-1]))
    assert measured(table, released, given)[2].as_dict() == pytest.approx(measured(back, shuffled, given)[2].as_dict())


def test_values_of_buckets_are_as_likely_as_they_are_frequent_there() -> None:
    table = pa.table({"age": [20, 20, 21, 21], "ill": ["flu", "cold", "flu", "cold"]})
    attributes = {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    purpose = {"counts": [["ill", "age"]]}
    given = rf.Spec(attributes=attributes, privacy={"l": 2}, method={"name": "anatomy"}, purpose=purpose)
    first = pa.table({"age": [20, 20, 21, 21], "bucket": [1, 1, 2, 2]})
    same = pa.table({"bucket": [1, 1, 2, 2], "ill": ["flu", "cold", "flu", "cold"], "count": [1, 1, 1, 1]})
    assert measured(table, first, given, same)[2].counts == 0
    other = pa.table({"bucket": [1, 2, 2], "ill": ["flu", "flu", "cold"], "count": [2, 1, 1]})
    assert measured(table, first, given, other)[2].counts == pytest.approx(0.25)
    release = rf.anonymize(table, given)
    assert measured(table, release.table, given, release.sensitive)[2].singles == 0


def test_many_values_are_crossed_in_few_cells() -> None:
    rows = 400
    attributes = {"n": {"role": "quasi", "order": "numeric"}, "code": {"role": "quasi"}}
    given = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local", "effort": "fast"})
    table = pa.table({"n": np.arange(rows) * 3, "code": [f"c{n}" for n in range(rows)]})
    found, _, yardsticks = measured(table, rf.anonymize(table, given).table, given)
    assert len(found.tables[("n", "code")]._actual) == MOST_CELLS**2
    assert 0 < yardsticks.tables[("n", "code")] < 1


@pytest.mark.parametrize("seed", [1, 2])
def test_queries_are_seeded(seed: int) -> None:
    table, given = people(), spec()
    truth = measured(table, table, given)[0].truth
    one, again = (make_queries(truth, 20, seed) for _ in range(2))
    assert [query.actual for query in one] == [query.actual for query in again]


def test_values_of_a_hierarchy_that_nobody_has() -> None:
    quasi = {"role": "quasi", "hierarchy": {"tree": {"some": ["a", "b"], "none": ["y", "z"]}}}
    spec = rf.Spec(attributes={"x": quasi}, privacy={"k": 2}, method={"name": "local", "representation": "set"})
    table = pa.table({"x": ["a", "a", "b", "b"]})
    with DuckDB(spec.data) as engine:
        by = ruler(engine, engine.open(table, spec.data), spec)
        side = read_rows(engine, engine.open(rf.anonymize(table, spec).table, spec.data, as_it_stands=True), by, spec)
        assert by.measure(side).singles == 0


def test_what_cannot_be_asked_for_is_left_alone() -> None:
    table = people().append_column("scans", pa.array([[1, 2]] * 200)).append_column("raw", pa.array([b"x"] * 200))
    attributes = {**ATTRIBUTES, "scans": {"role": "sensitive"}, "raw": {"role": "sensitive"}}
    given = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local", "effort": "fast"})
    release = rf.anonymize(table, given)
    assert release.use is not None
    assert release.use.release.queries > 0
