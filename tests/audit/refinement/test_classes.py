"""Refinement of classes: what it calls certain is in every table that gives the same release, found by trying all."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from math import log2
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.refinement.found import Refinement

NUMBERS = ["1", "2", "3", "4"]
TOWNS = ["Oslo", "Voss", "Rome", "Bern", "Thun"]
TREE = {"Norway": ["Oslo", "Voss"], "Italy": ["Rome"], "Switzerland": ["Bern", "Thun"]}
ABOVE = {town: country for country, towns in TREE.items() for town in towns}

Values = tuple[str, ...]


def as_set(values: Values) -> str:
    """The label of some values where all are listed; all of a country have its name."""
    there = sorted({*values}, key=TOWNS.index)
    names = [country for country, towns in TREE.items() if sorted(towns) == sorted(there) and len(there) > 1]
    if len(there) == len(TOWNS):
        return "*"
    return names[0] if names else there[0] if len(there) == 1 else "{" + ", ".join(there) + "}"


def as_range(values: Values) -> str:
    """The label of some numbers where the first and the last are told."""
    return values[0] if len({*values}) == 1 else f"[{min(values)}, {max(values)}]"


def as_node(values: Values) -> str:
    """The lowest node above some towns."""
    if len({*values}) == 1:
        return values[0]
    countries = {ABOVE[town] for town in values}
    return countries.pop() if len(countries) == 1 else "*"


KINDS: dict[str, tuple[list[str], Any, dict[str, Any]]] = {
    "range": (NUMBERS, as_range, {"role": "quasi", "order": "numeric", "representation": "range"}),
    "set": (TOWNS, as_set, {"role": "quasi", "hierarchy": {"tree": TREE}, "representation": "set"}),
    "node": (TOWNS, as_node, {"role": "quasi", "hierarchy": {"tree": TREE}, "representation": "hierarchy"}),
}


def refined(kinds: list[str], rows: list[Values]) -> Refinement:
    """What comes out of a release of one class with these rows."""
    columns = {f"q{at}": [KINDS[kind][1](tuple(values))] * len(rows) for at, (kind, values) in told(kinds, rows)}
    attributes = {f"q{at}": KINDS[kind][2] for at, kind in enumerate(kinds)}
    spec = rf.Spec(attributes=attributes, privacy={"k": 1}, method={"name": "local"})
    original = pa.table({f"q{at}": values for at, values in enumerate(zip(*rows, strict=True))})
    found = rf.audit(pa.table(columns), spec, original, attacks="refinement").refinement
    assert found is not None
    return found


def told(kinds: list[str], rows: list[Values]) -> Iterator[tuple[int, tuple[str, Values]]]:
    """Each attribute with its kind and its values."""
    return enumerate(zip(kinds, zip(*rows, strict=True), strict=True))


def all_tables(kinds: list[str], rows: list[Values]) -> list[tuple[Values, ...]]:
    """All tables of as many rows that have the same labels."""
    labels = [KINDS[kind][1](values) for _, (kind, values) in told(kinds, rows)]
    every = [*product(*(KINDS[kind][0] for kind in kinds))]
    return [
        table
        for table in combinations_with_replacement(every, len(rows))
        if [KINDS[kind][1](values) for _, (kind, values) in told(kinds, [*table])] == labels
    ]


@st.composite
def classes(draw: st.DrawFn) -> tuple[list[str], list[Values]]:
    """Rows of a class: of one attribute up to four of them, of two up to three."""
    kinds = draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=2))
    row = st.tuples(*(st.sampled_from(KINDS[kind][0]) for kind in kinds))
    return kinds, draw(st.lists(row, min_size=2, max_size=4 if len(kinds) == 1 else 3))


@given(classes())
def test_what_is_certain_is_in_every_table_that_fits(case: tuple[list[str], list[Values]]) -> None:
    kinds, rows = case
    found, tables = refined(kinds, rows), all_tables(kinds, rows)
    certain = Counter(tables[0])
    for table in tables:
        certain &= Counter(table)
    labels = [KINDS[kind][1](values) for _, (kind, values) in told(kinds, rows)]
    if all(len({*values}) == 1 for values in zip(*rows, strict=True)):
        assert (found.plain, found.rebuilt) == (len(rows), 0)
    elif "*" in labels:  # which may be that of masked rows: nothing is said of it
        assert found.rebuilt <= certain.total()
    else:
        # A value that must be there comes out once; that it must be there twice is not seen.
        assert found.rebuilt == len(certain)
    assert found.right == found.rebuilt
    assert found.unique is not None
    assert found.unique <= found.rebuilt


@given(classes())
def test_bits_are_those_of_all_tables_that_fit(case: tuple[list[str], list[Values]]) -> None:
    kinds = ["range"]
    rows: list[Values] = [(row[0],) for row in case[1]] if case[0][0] == "range" else [("1",), ("4",), ("2",)]
    found = refined(kinds, rows)
    if len({*rows}) > 1:
        assert found.left == pytest.approx(log2(len(all_tables(kinds, rows))))
        assert found.determined == (len(rows) if len(rows) == 2 else 0)


@pytest.mark.parametrize(
    ("kind", "rows", "present"),
    [
        ("node", ["Oslo", "Voss"], 2),
        ("node", ["Oslo", "Rome"], 0),
        ("set", ["Oslo", "Rome", "Rome"], 2),
        ("set", ["Oslo", "Voss", "Voss"], 2),
        ("range", ["1", "2", "4"], 2),
    ],
)
def test_values_that_must_be_there(kind: str, rows: list[str], present: int) -> None:
    assert refined([kind], [(row,) for row in rows]).present == present


def test_bits_of_nodes() -> None:
    """Two of Oslo and Voss, three rows: one twice. The node tells that both are there."""
    found = refined(["node"], [("Oslo",), ("Voss",), ("Voss",)])
    assert found.before is not None
    assert found.left is not None
    assert 2**found.before == pytest.approx(4)
    assert 2**found.left == pytest.approx(2)


def test_labels_that_cannot_be_tight_tell_nothing() -> None:
    """Two rows under three towns: another tool's table, recoded alike everywhere."""
    spec = rf.Spec(attributes={"town": {"role": "quasi"}}, privacy={"k": 2})
    found = rf.audit(pa.table({"town": ["{Bern, Oslo, Rome}"] * 2}), spec, attacks="refinement").refinement
    assert found is not None
    assert (found.rebuilt, found.present, found.assumed) == (0, 0, True)
    assert found.sentences[0].startswith("If labels were made for each class by itself")


def test_a_fan_out_is_no_range() -> None:
    """A group of a fan-out has the name of its ends, whoever is in it."""
    attributes = {"x": {"role": "quasi", "hierarchy": {"fanout": 2}, "representation": "hierarchy"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": "local"})
    found = rf.audit(pa.table({"x": ["[a, b]"] * 2}), spec, attacks="refinement").refinement
    assert found is not None
    assert (found.rebuilt, found.present) == (0, 0)


@pytest.mark.parametrize("name", ["local", "mondrian", "hilbert", "cluster"])
@pytest.mark.parametrize("shown", ["set", "range", "hierarchy"])
def test_rows_that_come_out_of_releases_are_right(name: str, shown: str) -> None:
    draw = random.Random(27)
    table = pa.table(
        {
            "age": [draw.randint(1, 9) for _ in range(60)],
            "town": [draw.choice(TOWNS) for _ in range(60)],
            "sex": [draw.choice("fm") for _ in range(60)],
        }
    )
    attributes = {
        "age": {"role": "quasi", "hierarchy": {"intervals": [2, 4, 8]}, "order": "numeric"},
        "town": {"role": "quasi", "hierarchy": {"tree": TREE}},
        "sex": {"role": "quasi", "hierarchy": "flat"},
    }
    method = {"name": name, "representation": shown}
    release = rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 2}, method=method), attacks="refinement")
    found = release.audit.refinement
    assert found is not None
    assert found.rebuilt > 0
    assert found.right == found.rebuilt


@pytest.mark.parametrize("root", ["*", "anyone"])
@pytest.mark.parametrize(
    ("data", "method", "present"),
    [
        ({"missing": "error"}, {}, 2),
        ({"missing": "suppress"}, {}, 2),
        ({}, {}, 0),  # a missing value may be under the root as well
    ],
)
def test_the_root_over_two_values_tells_both_if_nothing_else_can_be_there(
    root: str, data: dict[str, Any], method: dict[str, Any], present: int
) -> None:
    paths = {"paths": [["f", root], ["m", root]]}
    sex = {"role": "quasi", "hierarchy": paths, "representation": "hierarchy"}
    attributes = {"sex": sex, "age": {"role": "quasi", "order": "numeric"}}
    spec = rf.Spec(data=data, attributes=attributes, privacy={"k": 1}, method={"name": "local", **method})
    found = rf.audit(pa.table({"sex": [root] * 3, "age": ["30"] * 3}), spec, attacks="refinement").refinement
    assert found is not None
    assert (found.present, found.rebuilt) == (present, present)
