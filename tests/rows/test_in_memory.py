"""Tables in memory are counted, compared and rewritten as an engine would by statements: the same in both ways."""

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ibis.backends.duckdb import Backend

import ringfence as rf
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.in_memory import shuffled
from ringfence.rows.sources import HIGH, LOW, ROWS
from ringfence.rows.steps import CarryOut, Complete, Drop, Hide, NumberRows, Relabel, Step, recoded
from ringfence.spec.data import Data

BY_STATEMENTS = Data(memory_limit="1GB")
"""Where memory is to be spared, everything goes by statements."""
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "word": (pa.string(), ["a", "A", "a ", "", "é", None]),
    "whole": (pa.int16(), [0, -1, 7, None]),
    "large": (pa.uint64(), [0, 2**64 - 1, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29), None]),
    "number": (pa.float64(), [0.1, 1e300, None]),
}
ALIKE = [name for name in KINDS if name != "number"]
"""Numbers with a fraction go along, and nothing is looked up by them."""


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 12))
    cells = {
        name: draw(st.lists(st.sampled_from(few), min_size=rows, max_size=rows)) for name, (_, few) in KINDS.items()
    }
    return pa.table({name: pa.array(cells[name], KINDS[name][0]) for name in KINDS})


@st.composite
def recodings(draw: st.DrawFn) -> list[Step]:
    """Steps as plans have them: rows with gaps go, labels are looked up or hidden, then classes go."""
    steps: list[Step] = [Complete(draw(st.lists(st.sampled_from(ALIKE), unique=True, max_size=1)))]
    types = {name: kind for name, (kind, _) in KINDS.items()}
    for name in draw(st.lists(st.sampled_from(ALIKE), unique=True, max_size=3)):
        if draw(st.booleans()):
            steps.append(Hide(name, draw(st.sampled_from(["*", None]))))
        else:
            known = draw(st.lists(st.sampled_from(KINDS[name][1]), unique=True))
            shown = draw(st.lists(st.sampled_from(["x", "y", None]), min_size=len(known), max_size=len(known)))
            steps.append(Relabel(name, pa.array(known, types[name]), pa.array(shown, pa.string())))
        types[name] = pa.string()
    looked_at = draw(st.lists(st.sampled_from(ALIKE), unique=True, min_size=1, max_size=3))
    gone = draw(st.integers(0, 3))
    values = {name: ["*", "x", "y", None] if types[name] == pa.string() else KINDS[name][1] for name in looked_at}
    labels = {
        name: pa.array(draw(st.lists(st.sampled_from(few), min_size=gone, max_size=gone)), types[name])
        for name, few in values.items()
    }
    return [*steps, Drop(pa.table(labels), masked=False)]


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@given(tables(), recodings())
def test_rows_are_recoded_as_by_statements(table: pa.Table, steps: list[Step]) -> None:
    found = []
    for data in (Data(), BY_STATEMENTS):
        with DuckDB(data) as engine:
            rows = CarryOut(steps, []).rows(engine, engine.hold(table), ["day", "word", "number", "whole"])
            found.append(engine.fetch(rows))
    here, by_statements = found
    assert here.schema == by_statements.schema
    assert bag(here) == bag(by_statements)


def test_what_is_not_for_this_place_is_left_to_the_engine() -> None:
    table = pa.table({"a": ["x", "y"], "b": [1, 2]})
    assert recoded(table, [NumberRows()]) is None
    assert recoded(table, [Drop(pa.table({"a": ["x"]}), masked=True)]) is None
    assert recoded(table, [Relabel("b", pa.array(["1"]), pa.array(["one"]))]) is None  # another type
    with DuckDB(Data()) as engine:
        rows = engine.hold(table)
        assert engine.in_memory(rows, ["a"]) is not None
        assert engine.in_memory(rows.filter(rows["b"] > 1), ["a"]) is None
        assert engine.in_memory(rows.mutate(a=rows["a"].upper()), ["a"]) is None
        assert engine.in_memory(engine.hold(pa.table({"moment": [dt.datetime(2024, 1, 1)]})), ["moment"]) is None


def test_every_order_of_rows_is_as_likely() -> None:
    """Of 3 rows there are 6 orders: of 3,000 draws, each has 500 give or take 20; six times that is beyond chance."""
    table = pa.table({"row": [0, 1, 2]})
    orders = Counter(tuple(shuffled(table)["row"].to_pylist()) for _ in range(3_000))
    assert len(orders) == 6
    assert all(abs(times - 500) < 6 * 20.4 for times in orders.values())


@given(tables(), st.data())
def test_rows_are_compared_as_by_statements(one: pa.Table, data: st.DataObject) -> None:
    """Classes have equal sums in one way exactly where they have them in the other: where they have the same rows.

    The other table has the same rows in another order, and in one column perhaps the cells of other rows, or gaps.
    """
    names, digested = (data.draw(st.lists(st.sampled_from(ALIKE), unique=True, max_size=3)) for _ in range(2))
    order = data.draw(st.permutations(range(one.num_rows)))
    other, slipped = one.take(pa.array(order, pa.int64())), data.draw(st.sampled_from(ALIKE))
    cells = data.draw(st.sampled_from([one[slipped], other[slipped], pa.nulls(one.num_rows, one[slipped].type)]))
    other = other.set_column(other.column_names.index(slipped), slipped, cells)
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            tallies = engine.tallies([(engine.hold(each), names) for each in (one, other)], digested)
        sums = [{tuple(row[name] for name in names): row for row in each.to_pylist()} for each in tallies]
        same = {
            where: [sums[0][where][name] == sums[1][where][name] for name in (ROWS, HIGH, LOW)]
            for where in sums[0].keys() & sums[1].keys()
        }
        found.append(([{where: row[ROWS] for where, row in each.items()} for each in sums], same))
    assert found[0] == found[1]


@pytest.mark.parametrize("way", [Data(), BY_STATEMENTS], ids=["in memory", "by statements"])
@pytest.mark.parametrize(
    ("cells", "same"),
    [
        ({"a": list("0012"), "b": list("prpq")}, False),  # the same cells in other rows
        ({"a": list("2100"), "b": list("prqp")}, True),  # another order
        ({"a": list("0012"), "b": ["p", "q", "r", None]}, False),
        ({"a": list("0112"), "b": list("prrp")}, False),  # one row twice, and another not at all
    ],
)
def test_sums_tell_other_rows(cells: dict[str, list[str | None]], same: bool, way: Data) -> None:
    with DuckDB(way) as engine:
        given = engine.hold(pa.table({"a": list("0012"), "b": list("pqrp")}))
        sums = engine.tallies([(given, []), (engine.hold(pa.table(cells)), [])], ["a", "b"])
        assert (sums[0].to_pylist() == sums[1].to_pylist()) == same
        gaps = engine.tallies([(engine.hold(pa.table({"a": each})), []) for each in (["", "x"], ["x", None])], ["a"])
        assert gaps[0].to_pylist() == gaps[1].to_pylist()  # text files have them alike


PEOPLE = pa.table(
    {
        "age": [str(20 + row * 7 % 31) if row % 11 else None for row in range(300)],
        "town": [["Oslo", "Voss", "Bergen", ""][row * row % 4] for row in range(300)],
        "born": [dt.date(1980 + row % 5, 1, 1) for row in range(300)],
        "illness": [["flu", "cold", "gout"][row % 3] for row in range(300)],
        "pay": [row * 1.5 for row in range(300)],
    }
)
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "order": "numeric", "hierarchy": {"intervals": [5, 10, 40]}},
    "town": {"role": "quasi", "hierarchy": "flat"},
    "born": {"role": "quasi", "hierarchy": {"dates": ["year"]}},
    "illness": {"role": "sensitive"},
    "pay": {"role": "insensitive"},
}
ASKED: dict[str, dict[str, Any]] = {
    "k": {},
    "suppressed": {"method": {"name": "optimal", "metric": "dm", "suppression": 0.1}},
    "masked": {"method": {"name": "optimal", "suppression": 0.1, "keep_suppressed": True}},
    "incomplete": {"data": {"missing": "suppress"}},
    "diverse": {"privacy": {"k": 3, "l": 2}},
    "groups": {"method": {"name": "mondrian"}},
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_release_is_the_same_in_both_ways(asked: str) -> None:
    releases = []
    for limit in ({}, {"memory_limit": "1GB"}):
        part = ASKED[asked]
        spec = rf.Spec(
            attributes=ATTRIBUTES,
            privacy=part.get("privacy", {"k": 4}),
            method=part.get("method", {}),
            data={**part.get("data", {}), **limit},
        )
        releases.append(rf.anonymize(PEOPLE, spec))
    here, there = releases
    assert here.plan.columns == there.plan.columns
    assert here.metrics == there.metrics
    assert here.audit.measured == there.audit.measured
    assert here.audit.ok
    assert here.table.schema == there.table.schema
    if asked != "groups":  # which of two rows that are alike goes where is left to chance
        assert bag(here.table) == bag(there.table)


def test_a_small_job_asks_the_engine_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine calls types it is asked once; then a table of plain types is dealt with where it lies."""
    spec = rf.Spec(attributes={"town": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 4})
    table = PEOPLE.select(["town"])
    first = rf.anonymize(table, spec)
    monkeypatch.setattr(Backend, "reconnect", lambda _: pytest.fail("a connection was made"))
    assert rf.anonymize(table, spec).metrics == first.metrics
