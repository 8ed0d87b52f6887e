"""Loose labels: no value is told by one, whatever the class; and the audit notices those that tell."""

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations_with_replacement
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.labels.trees import Tree
from ringfence.audit.refinement.loose import loosened
from ringfence.errors import SpecError
from ringfence.release.job import AuditFailed
from ringfence.search.groups import grouped
from ringfence.values.grid import Grid
from ringfence.values.hierarchy import Hierarchy

TREE: dict[str, Any] = {
    "Norway": ["Oslo", "Voss"],
    "Italy": ["Rome"],
    "Swiss": {"East": ["Chur", "Thun"], "West": ["Bern", "Biel"]},
}
TOWNS = ["Oslo", "Voss", "Rome", "Chur", "Thun", "Bern", "Biel"]
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "born": {"role": "quasi", "hierarchy": {"dates": ["quarter", "year"]}},
    "town": {"role": "quasi", "hierarchy": {"tree": TREE}},
    "sex": {"role": "quasi", "hierarchy": "flat"},
}


def people(rows: int = 60, seed: int = 27) -> pa.Table:
    """People, some of whom have gaps."""
    draw = random.Random(seed)
    return pa.table(
        {
            "age": [draw.choice([None, *range(20, 60)]) for _ in range(rows)],
            "born": [dt.date(1960, 1, 1) + dt.timedelta(draw.randrange(9000)) for _ in range(rows)],
            "town": [draw.choice(TOWNS) for _ in range(rows)],
            "sex": [draw.choice("fm") for _ in range(rows)],
        }
    )


def asked(name: str = "local", k: int = 2, **method: Any) -> rf.Spec:
    """A specification that asks for loose labels."""
    return rf.Spec(attributes=ATTRIBUTES, privacy={"k": k}, method={"name": name, "labels": "loose", **method})


@pytest.mark.parametrize("name", ["local", "mondrian", "hilbert", "cluster"])
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_comes_out_of_loose_labels(name: str, k: int, seed: int) -> None:
    release = rf.anonymize(people(seed=seed), asked(name, k), attacks="refinement")
    found = release.audit.refinement
    assert found is not None
    assert (found.rebuilt, found.determined, found.present) == (0, 0, 0)
    assert release.audit.measured["k"] >= max(k, 3)


def test_a_root_that_has_a_name_may_tell_since_nothing_is_above_it() -> None:
    sex = {"role": "quasi", "hierarchy": {"paths": [["f", "anyone"], ["m", "anyone"]]}}
    spec = rf.Spec(
        data={"missing": "error"},
        attributes={"sex": sex},
        privacy={"k": 3},
        method={"name": "local", "labels": "loose"},
    )
    release = rf.anonymize(pa.table({"sex": ["f", "m", "m", "m"]}), spec, attacks="refinement")
    assert [*release.table["sex"].to_pylist()] == ["anyone"] * 4
    assert release.audit.refinement is not None
    assert release.audit.refinement.present == 2  # and the attack says so


@pytest.mark.parametrize("name", ["local", "mondrian", "hilbert", "cluster"])
def test_loose_labels_stay_within_boundaries(name: str) -> None:
    attributes = {**ATTRIBUTES, "town": {**ATTRIBUTES["town"], "boundary": ["Swiss"]}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 3}, method={"name": name, "labels": "loose"})
    release = rf.anonymize(people(), spec, attacks="refinement")
    assert release.audit.refinement is not None
    assert release.audit.refinement.present == 0
    shown = Counter(release.table["town"].to_pylist())
    swiss = sum(shown[town] for town in ["Swiss", *TREE["Swiss"]["East"], *TREE["Swiss"]["West"]])
    assert swiss == sum(town in TOWNS[3:] for town in people()["town"].to_pylist())
    assert not {"East", "West", "Norway"} & {*shown}


def test_ranges_end_on_the_grid() -> None:
    shown = rf.anonymize(people(), asked()).table
    ranges = [label[1:-1].split(", ") for label in shown["age"].to_pylist() if label is not None and label[0] == "["]
    assert ranges
    assert all(int(end) % 5 == 0 for ends in ranges for end in ends)
    days = [label[1:-1].split(", ") for label in shown["born"].to_pylist() if label[0] == "["]
    assert all(day[5:] in ("01-01", "04-01", "07-01", "10-01") for ends in days for day in ends)


@pytest.mark.parametrize(
    ("width", "key", "below", "above"),
    [
        (Decimal("2.5"), Decimal("7.4"), Decimal("5.0"), Decimal("7.5")),
        (Decimal(5), Decimal(-1), Decimal(-5), Decimal(0)),
        (Decimal(5), Decimal(10), Decimal(10), Decimal(10)),
        ("month", dt.date(2023, 12, 5), dt.date(2023, 12, 1), dt.date(2024, 1, 1)),
        ("quarter", dt.date(2024, 4, 1), dt.date(2024, 4, 1), dt.date(2024, 4, 1)),
        ("year", dt.datetime(2024, 1, 1, 8), dt.date(2024, 1, 1), dt.date(2025, 1, 1)),
        ("decade", dt.date(1969, 12, 31), dt.date(1960, 1, 1), dt.date(1970, 1, 1)),
    ],
)
def test_points_of_grids(width: Any, key: Any, below: Any, above: Any) -> None:
    assert (Grid(width).below(key), Grid(width).above(key)) == (below, above)


@pytest.mark.parametrize("width", [2, 3, 5])
def test_no_value_is_certain_under_a_range_of_the_grid(width: int) -> None:
    """All groups of three numbers up to ten: what all under one range have in common is nothing."""
    groups: dict[tuple[Any, Any], list[set[int]]] = {}
    grid = Grid(Decimal(width))
    for values in combinations_with_replacement(range(11), 3):
        if len({*values}) > 1:
            ends = grid.below(Decimal(values[0])), grid.above(Decimal(values[-1]))
            groups.setdefault(ends, []).append({*values})
    whole = {ends: fitting for ends, fitting in groups.items() if ends[1] <= 10}
    assert whole
    assert not any(set.intersection(*fitting) for fitting in whole.values())


def test_intervals_of_two_values_are_not_shown() -> None:
    """Two numbers in an interval that has room for two are both there: the next interval above is shown."""
    attributes = {**ATTRIBUTES, "age": {"role": "quasi", "hierarchy": {"intervals": [2, 6, 12]}}}
    method = {"name": "local", "labels": "loose", "representation": "hierarchy"}
    shown = rf.anonymize(people(), rf.Spec(attributes=attributes, privacy={"k": 3}, method=method)).table
    ends = [label[1:-1].split(", ") for label in shown["age"].to_pylist() if label is not None and label[0] == "["]
    assert ends
    assert all(int(high) - int(low) > 2 for low, high in ends)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """Trees of a few values, told by their way down."""

    def grown(name: str, left: int) -> Any:
        kinds = draw(st.lists(st.booleans(), min_size=1, max_size=3)) if left else []
        return {f"{name}{at}": grown(f"{name}{at}", left - 1 if inner else 0) for at, inner in enumerate(kinds)}

    return {f"n{at}": grown(f"n{at}", depth - 1) for at in range(draw(st.integers(1, 3)))}


def paths(tree: dict[str, Any], above: tuple[str, ...] = ("*",)) -> Iterator[tuple[str, ...]]:
    """The way from each value up."""
    for name, below in tree.items():
        yield from paths(below, (name, *above)) if below else [(name, *above)]


@given(trees())
def test_the_audit_has_the_same_trees_and_their_labels_tell_nothing(tree: dict[str, Any]) -> None:
    ways = [*paths(tree)]
    ours, theirs = Hierarchy.from_paths(ways).loosened(), loosened(Tree.of(ways))
    assert {*ours.labels} == {label for path in theirs.paths for label in path}
    leaves = [path[0] for path in ways]
    held = {label: {path[0] for path in theirs.paths if label in path} for label in ours.labels}

    def shown(values: tuple[str, ...]) -> str:
        around = [label for label in held if held[label] >= {*values}]
        return str(min(around, key=lambda label: len(held[label])))

    groups: dict[str, list[set[str]]] = {}
    for values in combinations_with_replacement(leaves[:6], 3):
        groups.setdefault(shown(values), []).append({*values})
    for label, fitting in groups.items():
        certain = set.intersection(*fitting)
        assert not certain or label == "*" or len(held[label]) == 1 or len(leaves) > 6


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("town", ["{Oslo, Rome}"] * 3),
        ("town", ["Norway"] * 3),
        ("age", ["[21, 30]"] * 3),
        ("age", ["{20, 40}"] * 3),
        ("born", ["[1960-02-01, 1961-01-01]"] * 3),
        ("town", ["Rome"] * 2),
    ],
)
def test_labels_that_tell_are_found(column: str, labels: list[str]) -> None:
    plain = {"age": "30", "born": "1960-01-01", "town": "Rome", "sex": "f"}
    table = pa.table({name: labels if name == column else [value] * len(labels) for name, value in plain.items()})
    assert "loose" in {finding.rule for finding in rf.audit(table, asked(k=2)).findings}


def test_a_run_that_publishes_tight_labels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grid, "below", lambda _, key: key)
    with pytest.raises(AuditFailed, match="tells values of its class"):
        rf.anonymize(people(), asked())


def test_a_run_with_groups_of_two_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "LEAST_LOOSE", 2)
    with pytest.raises(AuditFailed, match="fewer than 3 rows"):
        rf.anonymize(people(), asked())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"town": {"role": "quasi"}}, "has no hierarchy"),
        ({"town": {**ATTRIBUTES["town"], "representation": "set"}}, "lists values"),
        ({"town": {**ATTRIBUTES["town"], "boundary": ["Norway"]}}, "'Norway' is a boundary of loose labels"),
        ({"age": {**ATTRIBUTES["age"], "boundary": {"level": 2}}}, "a range that ends on a grid may pass"),
        ({"age": {"role": "quasi", "order": "numeric", "hierarchy": "flat", "representation": "range"}}, "which grid"),
        ({"age": {"role": "quasi", "hierarchy": {"intervals": [1, 2]}}}, "values are in steps of 1"),
        ({"town": {"role": "quasi", "hierarchy": {"fanout": 3}}}, "named by values"),
    ],
)
def test_what_cannot_be_loose_is_refused(changed: dict[str, Any], message: str) -> None:
    spec = rf.Spec(attributes={**ATTRIBUTES, **changed}, privacy={"k": 2}, method={"name": "local", "labels": "loose"})
    with pytest.raises(SpecError, match=message):
        rf.anonymize(people(), spec)


def test_one_attribute_may_be_loose() -> None:
    attributes = {**ATTRIBUTES, "age": {**ATTRIBUTES["age"], "labels": "loose"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local"})
    shown = rf.anonymize(people(), spec).table
    assert any(label.startswith("{") for label in shown["town"].to_pylist())
    assert not any((label or "").startswith("{") for label in shown["age"].to_pylist())


def test_methods_without_groups_have_no_loose_labels() -> None:
    with pytest.raises(SpecError, match="labels"):
        rf.anonymize(people(), rf.Spec(attributes=ATTRIBUTES, privacy={"k": 2}, method={"labels": "loose"}))
