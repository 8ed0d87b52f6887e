"""Tables in memory are counted, compared and rewritten as an engine would by statements: the same in both ways."""

import datetime as dt
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ibis.backends.duckdb import Backend

import ringfence as rf
from ringfence.errors import DataError
from ringfence.rows import duckdb_lines, in_memory
from ringfence.rows.coded import coded, plain
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.in_memory import shuffled
from ringfence.rows.lookups import FIRST, NUMBER, STOP, Draw, LookUp, NumberRows, packs
from ringfence.rows.sources import HIGH, LOW, ROWS, SHARE, WHICH
from ringfence.rows.steps import CarryOut, Complete, Copy, Drop, Hide, Pseudonym, Relabel, Step, recoded
from ringfence.spec.data import Data

BY_STATEMENTS = Data(memory_limit="1GB")
"""Where memory is to be spared, everything goes by statements."""
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "word": (pa.string(), ["a", "A", "a ", "", "é", None]),
    "whole": (pa.int16(), [0, -1, 7, None]),
    "large": (pa.uint64(), [0, 2**64 - 1, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29), None]),
    "number": (pa.float64(), [0.0, 0.1, 1e300, None]),
    "short": (pa.float32(), [0.1, -2.5, None]),
    "moment": (pa.timestamp("us"), [dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 0, 0, 5), None]),
}
ALIKE = [*KINDS]
STRANGE = {"number": [-0.0, 0.0, float("nan"), None], "short": [-0.0, 0.0, float("nan"), None]}
"""What Arrow tells apart otherwise than an engine: it does not come through the door."""


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
    for data, loaded in ((Data(), False), (Data(), True), (BY_STATEMENTS, False)):
        with DuckDB(data) as engine:
            held = engine.loaded(engine.hold(table)) if loaded else engine.hold(table)
            rows = CarryOut(steps, table.column_names, []).rows(
                engine, held, ["day", "word", "number", "short", "moment", "whole"]
            )
            found.append(engine.fetch(rows))
    *here, by_statements = found
    for each in here:
        assert each.schema == by_statements.schema
        assert bag(each) == bag(by_statements)


@pytest.mark.parametrize("cells", [["a", None, "b", "a"], ["a", "b", "b"], ["c", "a"], [None]])
@pytest.mark.parametrize("labels", [["x", "y", "x"], ["x", "x", None], [1, 2, 3]])
def test_coded_texts_get_their_labels_a_missing_one_too(cells: list[str | None], labels: list[Any]) -> None:
    known = ["a", "b", None]
    step = Relabel("word", pa.array(known), pa.array(labels))
    for table in (
        pa.table({"word": pa.array(cells, pa.string())}),
        coded(pa.table({"word": pa.array(cells, pa.string())})),
    ):
        done = recoded(table, [step])
        assert done is not None
        assert plain(done)["word"].to_pylist() == [labels[known.index(c)] if c in known else None for c in cells]


@given(tables(), st.lists(st.sampled_from(ALIKE), unique=True, min_size=1, max_size=3))
def test_coded_texts_are_counted_as_the_texts_that_they_are(table: pa.Table, names: list[str]) -> None:
    """Where they lie, and by an engine that is asked for what cannot be done there."""
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            rows = engine.loaded(engine.hold(table))
            filtered = engine.count(rows.filter(rows["word"].notnull()), names)
            kinds = [field.type for field in engine.fetch(rows).schema]
            found.append((bag(engine.count(rows, names)), bag(filtered), engine.variety(rows, names), kinds))
    assert found[0] == found[1]


@given(st.data(), st.sampled_from([*STRANGE]))
def test_what_arrow_tells_apart_otherwise_is_counted_and_compared_by_the_engine(data: st.DataObject, name: str) -> None:
    cells = [data.draw(st.lists(st.sampled_from(STRANGE[name]), min_size=1, max_size=6)) for _ in range(2)]
    ours, theirs = (pa.table({name: pa.array(each, KINDS[name][0])}) for each in cells)
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            here, there = engine.hold(ours), engine.hold(theirs)
            counted = [sorted(engine.count(each, [name])[ROWS].to_pylist()) for each in (here, there)]
            found.append((counted, engine.surplus(here, [name], there, [name]), engine.variety(here, [name])))
    assert found[0] == found[1]


@given(tables(), st.sampled_from([*KINDS]))
def test_gaps_are_counted_and_the_first_is_found_as_by_statements(table: pa.Table, name: str) -> None:
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            held = engine.hold(table)
            found.append((engine.missing(held, name), engine.missing(engine.loaded(held), name)))
    gaps = [place for place, cell in enumerate(table[name].to_pylist(), 1) if cell is None]
    assert found == [((len(gaps), gaps[0] if gaps else None),) * 2] * 2


def test_columns_whose_types_were_held_before_are_known_by_them_and_what_no_engine_holds_is_refused() -> None:
    table = pa.table({name: pa.array([], kind) for name, (kind, _) in KINDS.items()})
    with DuckDB(Data()) as engine:
        before = engine.hold(table).schema()
    with DuckDB(Data()) as engine:
        renamed = engine.hold(table.rename_columns([name.upper() for name in KINDS]))
        assert "_duckdb" not in engine.__dict__  # it was not asked
        assert renamed.schema().types == before.types
        assert engine.fetch(renamed.limit(1)).schema.types == table.schema.types
    with DuckDB(Data()) as engine, pytest.raises(DataError, match="cannot hold a table with columns"):
        engine.hold(pa.table({"word": ["a"], "wide": pa.array([1], pa.decimal256(60, 2))}))
    with DuckDB(Data()) as engine:
        assert engine.hold(pa.table({"word": ["a"], "Word": ["b"]})).columns == ("word", "Word_1")  # as the engine says


def test_what_is_made_aside_is_gone_and_its_names_are_given_again() -> None:
    with DuckDB(Data()) as engine:
        kept = engine.hold(pa.table({"a": ["x", "y"]}))
        names = []
        for word in ("p", "q"):
            with engine.aside():
                rows = engine.hold(pa.table({"a": [word, word]}))
                labels = engine.holding(rows, {"a": pa.array([word])})
                drawn = engine.keep(rows.mutate(b=rows["a"].upper()))
                names.append([each.get_name() for each in (rows, labels, drawn)])
                (tally,) = engine.tallies([(rows, ["a"])], [])  # not of the rows that had this name before
                assert tally.select(["a", ROWS]).to_pylist() == [{"a": word, ROWS: 2}]
                engine._counts.clear()
                assert engine.count(rows, ["a"]).to_pylist() == [{"a": word, ROWS: 2}]
                assert engine.fetch(drawn)["b"].to_pylist() == [word.upper()] * 2
                assert engine.fetch(labels)["a"].to_pylist() == [word] * 2
        assert names[0] == names[1]
        assert engine._duckdb.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []
        assert engine.count(kept, ["a"])["a"].to_pylist() == ["x", "y"]


def test_what_was_counted_is_tallied_by_the_same_combinations() -> None:
    table = pa.table({"a": ["x", "y", "x", None], "b": [1, 2, 1, 1], "c": ["p", "q", "q", "p"]})
    tallies = []
    for counted_before in (True, False):
        with DuckDB(Data()) as engine:
            rows, others = engine.hold(table), engine.hold(table.slice(1))
            if counted_before:
                engine.count(rows, ["b", "a"])
            found = engine.tallies([(rows, ["a", "b"]), (others, ["a", "b"])], ["c"])
            tallies.append([each.select(["a", "b", ROWS]).to_pylist() for each in found])
            assert found[0][LOW].to_pylist() != found[0][HIGH].to_pylist()
    assert tallies[0] == tallies[1]
    assert {(each["a"], each["b"], each[ROWS]) for each in tallies[0][0]} == {("x", 1, 2), ("y", 2, 1), (None, 1, 1)}


def test_what_is_not_for_this_place_is_left_to_the_engine() -> None:
    table = pa.table({"a": ["x", "y"], "b": [1, 2]})
    assert recoded(table, [Pseudonym("a")]) is None
    assert recoded(table, [LookUp(pa.table({"b": ["1"], "c": ["one"]}), {"b": "b"})]) is None  # another type
    assert recoded(table, [Drop(pa.table({"a": ["x"]}), masked=True)]) is None
    assert recoded(table, [Relabel("b", pa.array(["1"]), pa.array(["one"]))]) is None  # another type
    with DuckDB(Data()) as engine:
        rows = engine.hold(table)
        assert engine.in_memory(rows, ["a"]) is not None
        assert engine.in_memory(rows.filter(rows["b"] > 1), ["a"]) is None
        assert engine.in_memory(rows.mutate(a=rows["a"].upper()), ["a"]) is None
        clock = pa.table({"clock": [dt.time(8, 15)]})
        assert engine.in_memory(engine.hold(clock), ["clock"]) is None


@given(st.data())
def test_rows_find_their_shares_as_by_statements(data: st.DataObject) -> None:
    """Each row gets a number by its cells, by one word or two, and by its turn a share; who has no share goes."""
    rows = data.draw(st.integers(0, 14))
    cells = {name: data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)) for name in "ab"}
    table = pa.table({name: pa.array(each, pa.int64()) for name, each in cells.items()})
    table = table.append_column("row", pa.array(range(rows), pa.int64()))
    known = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), unique=True, max_size=6))
    lookup = pa.table({name: pa.array([each[place] for each in known], pa.int64()) for place, name in enumerate("ab")})
    numbered = lookup.append_column("number", pa.array(range(len(known)), pa.int64()))
    shares: dict[str, list[int]] = {NUMBER: [], FIRST: [], STOP: [], SHARE: []}
    for number in range(len(known)):
        ends = sorted(data.draw(st.sets(st.integers(0, 5), max_size=3)))
        for first, stop in pairwise(ends):
            for name, value in zip(shares, (number, first, stop, 10 * number + first), strict=True):
                shares[name].append(value)
    taken = data.draw(st.permutations(range(len(shares[NUMBER]))))
    given_shares = pa.table({name: pa.array(each, pa.int64()) for name, each in shares.items()}).take(
        pa.array(taken, pa.int64())
    )
    finding: list[Step] = [LookUp(numbered, {"a": "a", "b": "b"})]
    if data.draw(st.booleans()):
        (word,) = packs({"a": 3, "b": 3}, "word")
        packed = word.of({name: lookup[name].to_numpy() for name in "ab"})[: len(known)]
        by_word = pa.table({"word": pa.array(packed), "number": numbered["number"]})
        finding = [Copy("a", "a kept"), word, LookUp(by_word, {word.name: "word"})]
    steps = [NumberRows(), *finding, Draw("number", given_shares, "secret")]
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            kept = CarryOut(steps, table.column_names, []).rows(engine, engine.hold(table), ["number", SHARE, "row"])
            fetched = engine.fetch(kept)
        assert len({*fetched["row"].to_pylist()}) == fetched.num_rows
        found.append(Counter(zip(fetched["number"].to_pylist(), fetched[SHARE].to_pylist(), strict=True)))
    assert found[0] == found[1]
    expected: Counter[tuple[int, int]] = Counter()
    for number, first, stop, share in zip(*shares.values(), strict=True):
        having = sum(pair == known[number] for pair in zip(cells["a"], cells["b"], strict=True))
        expected[number, share] += max(0, min(stop, having) - first)
    assert found[0] == +expected


def test_turns_are_drawn_and_drawn_again_by_the_secret() -> None:
    """Of 4 rows, 2 go to a share: all 6 pairs are as likely, of 3,000 draws 500 give or take 20 each."""
    table = pa.table({"number": [0] * 4, "row": [0, 1, 2, 3]})
    shares = pa.table({NUMBER: [0, 0], FIRST: [0, 2], STOP: [2, 4], SHARE: [7, 8]})

    def first_two(secret: str) -> tuple[int, ...]:
        drawn = recoded(table, [Draw("number", shares, secret)])
        assert drawn is not None
        return tuple(row["row"] for row in drawn.to_pylist() if row[SHARE] == 7)

    pairs = Counter(first_two(f"secret {number}") for number in range(3_000))
    assert len(pairs) == 6
    assert all(abs(times - 500) < 6 * 20.4 for times in pairs.values())
    assert first_two("secret 1") == first_two("secret 1")


@given(tables(), st.data())
def test_rows_are_found_beside_their_marks_as_by_statements(table: pa.Table, data: st.DataObject) -> None:
    """Marks are places; rows that are there more often than in the original are counted, whatever they hold."""
    places = data.draw(st.lists(st.sampled_from(range(table.num_rows)), max_size=6)) if table.num_rows else []
    marked = table.append_column(WHICH, pa.array(range(table.num_rows), pa.int64()))
    shown = marked.take(pa.array(places, pa.int64()))
    cells = data.draw(st.lists(st.sampled_from(KINDS["word"][1]), min_size=len(places), max_size=len(places)))
    shown = shown.set_column(shown.column_names.index("word"), "word", pa.array(cells, pa.string()))
    names = {"word": "was", "day": "born", "number": "much"}
    found = []
    for way in (Data(), BY_STATEMENTS):
        with DuckDB(way) as engine:
            ours, theirs = engine.hold(shown), engine.hold(marked)
            more = engine.surplus(ours, [WHICH, "word", "whole"], theirs, [WHICH, "word", "whole"])
            beside = engine.beside(ours, ["word", "flag"], theirs, names)
            counts = engine.counts(beside, [["word", "was"], ["flag", "born"]])
            found.append((more, bag(engine.fetch(beside)), [bag(each) for each in counts]))
    assert found[0] == found[1]
    seen = [(place, cell or "") for place, cell in zip(places, cells, strict=True)]
    known = [(place, cell or "") for place, cell in enumerate(table["word"].to_pylist())]
    assert found[0][0] == (Counter(seen) - Counter(known)).total()


@pytest.mark.parametrize("few", [0, 2**16], ids=["many", "few"])
def test_every_order_of_rows_is_as_likely(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 rows there are 6 orders: of 3,000 draws, each has 500 give or take 20; six times that is beyond chance."""
    monkeypatch.setattr(in_memory, "FEW_IN_ORDER", few)
    table = pa.table({"row": [0, 1, 2]})
    orders = Counter(tuple(shuffled(table)["row"].to_pylist()) for _ in range(3_000))
    assert len(orders) == 6
    assert all(abs(times - 500) < 6 * 20.4 for times in orders.values())


def test_rows_that_drew_the_same_number_draw_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their places, the first would always come first."""
    draws = iter([[7, 9, 7], [2**32 - 1, 2**31, 0]])
    monkeypatch.setattr("os.urandom", lambda length: np.array(next(draws), np.uint32).tobytes()[:length])
    assert shuffled(pa.table({"row": ["a", "b", "c"]}))["row"].to_pylist() == ["c", "b", "a"]


def test_no_rows_have_an_order() -> None:
    assert shuffled(pa.table({"row": pa.array([], pa.string())})).num_rows == 0


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


FAR_DAYS = {"infinity": 2**31 - 1, "-infinity": 1 - 2**31, "0044-03-15 (BC)": -735160, "12024-01-01": 3672148}
"""Days that Arrow and engines write in different ways, or that no calendar has, by what DuckDB writes."""


@pytest.mark.parametrize("small", [0, 1_000_000], ids=["by statements", "in memory"])
@pytest.mark.parametrize("method", ["optimal", "local"])
@pytest.mark.parametrize("day", FAR_DAYS)
def test_days_that_no_calendar_has_are_published_as_they_are_where_nothing_compares_them(
    day: str, method: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_lines, "SMALL", small)
    days = pa.array([18262, FAR_DAYS[day], None, 18262], pa.date32())
    table = pa.table({"age": [20, 21, 22, 23], "until": days})
    age = {"role": "quasi", "hierarchy": {"intervals": [10]}}
    attributes = {"age": age, "until": {"role": "insensitive"}}
    spec = rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": method})
    release = rf.anonymize(table, spec)
    assert sorted(map(str, release.table["until"].cast(pa.int32()).to_pylist())) == sorted(
        map(str, days.cast(pa.int32()).to_pylist())
    )
    saved = release.save(tmp_path, "csv", report=False)
    assert sorted(line.rpartition(",")[2] for line in saved.read_text().splitlines()[1:]) == sorted(
        ["2020-01-01", "2020-01-01", "", day]
    )
    with pytest.raises(DataError, match=r"column 'until' has .*; allowed: days and moments of the years 1 to 9999"):
        rf.audit(saved, spec, table)


def test_a_small_job_asks_the_engine_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine calls types it is asked once; then a table of plain types is dealt with where it lies."""
    spec = rf.Spec(attributes={"town": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 4})
    table = PEOPLE.select(["town"])
    first = rf.anonymize(table, spec)
    monkeypatch.setattr(Backend, "reconnect", lambda _: pytest.fail("a connection was made"))
    assert rf.anonymize(table, spec).metrics == first.metrics


@pytest.mark.parametrize(
    ("told", "interrupted"),
    [
        (RuntimeError("Query interrupted"), True),
        (DataError("... while executing the UDF: KeyboardInterrupt: <EMPTY MESSAGE>"), True),
        (RuntimeError("anything else"), False),
    ],
    ids=str,
)
def test_an_interruption_of_the_engine_is_one(told: Exception, interrupted: bool) -> None:
    """DuckDB tells it by errors of its own, which nobody would take for it."""
    with pytest.raises(KeyboardInterrupt if interrupted else type(told)), DuckDB(Data()):
        raise told
