"""What every engine must do in its own way, and what follows from it: one suite over all of them."""

import datetime as dt
from collections.abc import Iterator

import ibis
import numpy as np
import pyarrow as pa
import pytest

from ringfence.rows.engine import Engine
from ringfence.rows.lookups import LookUp, packs
from ringfence.rows.sources import PLACE, ROWS, WHICH
from ringfence.rows.steps import numbered
from tests.engines import ENGINES, started

CELLS = {
    "text": ["a", "b, \"c\"", "it's\nso", "", None, "é"],
    "whole": [1, -2, 3, None, 5, 6],
    "number": [0.1, 1e-7, -2.5, 1e300, None, 3.0],
    "flag": [True, False, None, True, False, True],
    "day": [dt.date(2024, 2, 29), dt.date(1890, 1, 1), None, dt.date(2000, 1, 1), dt.date(1999, 12, 31), None],
    "moment": [dt.datetime(2024, 2, 29, 12, 30, 1, 500), None, *[dt.datetime(1960, 1, 1)] * 4],
    "list": [["a", 'b "'], [], None, ["c, d", None], ["{}"], ["\\"]],
}  # fmt: skip


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with started(request.param) as engine:
        yield engine


def test_what_is_held_comes_back_as_it_was(engine: Engine) -> None:
    table = pa.table(CELLS)
    found = engine.fetch(engine.placed(engine.hold(table))).sort_by(PLACE)
    assert found.drop_columns([PLACE]).to_pydict() == CELLS
    assert len({*found[PLACE].to_pylist()}) == table.num_rows
    empty = engine.fetch(engine.hold(table.slice(0, 0)))
    assert empty.num_rows == 0
    assert empty.column_names == table.column_names
    assert engine.fetch(engine.hold(pa.table({"only": [None, "", "a"]})))["only"].to_pylist() == [None, "", "a"]


def test_rows_come_in_batches_and_are_counted(engine: Engine) -> None:
    rows = engine.hold(pa.table({"a": ["x", None, "x", None, None], "b": [1, 2, 1, 2, None]}))
    assert sum(batch.num_rows for batch in engine.batches(rows)) == 5
    counted = {tuple(row.values()) for row in engine.count(rows, ["a", "b"]).to_pylist()}
    assert counted == {("x", 1, 2), (None, 2, 2), (None, None, 1)}
    assert engine.missing(rows, "a") == (3, 2 if engine.ordered else None)


def test_what_was_counted_is_not_read_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": ["x", None, "x", None, None], "b": [1, 2, 2, 2, None], "c": [0.5, 0.5, -0.0, 0.0, 1.0]})
    rows, again = engine.hold(table), engine.hold(table)
    engine.count(rows, ["a", "b"])
    engine.tally(rows, ["b", "c"], ["a"], "key")
    monkeypatch.setattr(engine, "combinations", lambda *_: pytest.fail("read again"))
    found = [engine.count(rows, columns) for columns in (["b", "a"], ["a"], ["b"])]
    assert engine.size(rows) == 5
    assert engine.variety(rows, ["a", "b"]) == {"a": 1, "b": 2}
    monkeypatch.undo()
    for counted in found:
        fresh = engine.combinations(again, counted.column_names[:-1])
        assert {tuple(row.values()) for row in counted.to_pylist()} == {
            tuple(row.values()) for row in fresh.to_pylist()
        }
    zeros = engine.count(rows, ["c"])  # one value to the engine, and two to Arrow
    assert sorted(zeros[ROWS].to_pylist()) == [1, 2, 2]


def test_rows_find_each_other_by_cells_that_may_be_missing(engine: Engine) -> None:
    people = pa.table({"a": ["x", None, "y", ""], "b": [1, None, None, 4], "who": [1, 2, 3, 4]})
    known = pa.table({"a": ["x", None, "y", ""], "b": [1, None, None, 4], "found": [10, 20, 30, 40]})
    rows = LookUp(known, {"a": "a", "b": "b"}).carry_out(engine, engine.hold(people))
    found = {row["who"]: row["found"] for row in engine.fetch(rows).to_pylist()}
    assert found == {1: 10, 2: 20, 3: 30, 4: 40}


def test_numbers_of_columns_become_few_that_tell_them_apart(engine: Engine) -> None:
    sizes = {"a": 2**31, "b": 3, "c": 2**31, "d": 2}
    rows = {"a": [2**31 - 1, 0, 0], "b": [2, 1, 2], "c": [2**31 - 1, 0, 0], "d": [1, 1, 0]}
    words = packs(sizes, "word")
    assert [[*word.sizes] for word in words] == [["a", "b"], ["c", "d"]]
    packed = engine.hold(pa.table(rows))
    for word in words:
        packed = word.carry_out(engine, packed)
    found = {tuple(row.values()) for row in engine.fetch(packed).to_pylist()}
    arrays = {name: np.array(column) for name, column in rows.items()}
    assert found == {*zip(*(word.of(arrays).tolist() for word in words), strict=True)}
    assert len(found) == 3


def test_long_names_stay_apart(engine: Engine) -> None:
    names = [f"{'n' * 60}{end}" for end in "ab"]
    rows = engine.hold(pa.table({names[0]: ["x", "y"], names[1]: [1, 2]}))
    known = pa.table({names[0]: ["x", "y"], names[1]: [3, 4]})
    looked = LookUp(known, {names[0]: names[0]}).carry_out(engine, rows)
    assert sorted(engine.fetch(looked).to_pylist(), key=str) == [
        {names[0]: "x", names[1]: 3},
        {names[0]: "y", names[1]: 4},
    ]


def test_chance_is_drawn_anew_and_kept_once(engine: Engine) -> None:
    rows = engine.hold(pa.table({"row": range(500)}))
    orders = [engine.fetch(engine.shuffled(rows))["row"].to_pylist() for _ in range(2)]
    assert orders[0] != orders[1] != list(range(500))
    assert sorted(orders[0]) == list(range(500))
    drawn = engine.keep(numbered(engine, rows, "number"))
    once, again = (sorted(map(str, engine.fetch(drawn).to_pylist())) for _ in range(2))
    assert once == again
    assert sorted(engine.fetch(drawn)["number"].to_pylist()) == list(range(1, 501))


@pytest.mark.parametrize("different", [3, 3_000, 30_000])
def test_combinations_are_estimated(engine: Engine, different: int) -> None:
    table = pa.table({"a": [str(row % different) for row in range(40_000)], "b": ["x"] * 40_000})
    assert engine.estimate(engine.hold(table), ["a", "b"]) == pytest.approx(different, rel=0.12)


def test_digests_tell_rows_apart_wherever_a_cell_ends(engine: Engine) -> None:
    rows = engine.hold(pa.table({"a": ["xy", "x", "x", None], "b": ["z", "yz", "yz", "xyz"]}))
    found = engine.fetch(engine.marked(rows))[WHICH].to_pylist()
    assert len({*found}) in (3, 4)  # digests are the same for the same rows, places never are
    tallied = engine.tally(rows, ["a"], ["b"], "key").to_pylist()
    assert {row["a"]: row[ROWS] for row in tallied} == {"xy": 1, "x": 2, None: 1}


def test_rows_that_swap_a_cell_are_other_rows(engine: Engine) -> None:
    """A digest that is a sum over cells would not notice; neither would rows that are two columns swapped."""
    columns = {"a": ["1", "2", "3", "4"], "b": ["5", "6", "7", "8"], "c": ["x"] * 4}
    swapped = [{**columns, "b": ["6", "5", "7", "8"]}, {**columns, "a": columns["b"], "b": columns["a"]}]
    sums = [
        engine.tally(engine.hold(pa.table(each)), [], ["a", "b", "c"], "key").to_pylist()[0].values()
        for each in (columns, *swapped)
    ]
    assert len({tuple(each) for each in sums}) == 3


def test_casts_that_fail_give_nothing(engine: Engine) -> None:
    rows = engine.hold(pa.table({"text": ["12", "-1.5e3", "x", "2024-02-30", "2024-02-29", None, "9" * 30]}))
    casts = {kind: engine.cast_or_none(rows["text"], kind).name(kind) for kind in ("int64", "float64", "timestamp")}
    found = engine.fetch(rows.select("text", *casts.values())).to_pylist()
    by_text = {row["text"]: row for row in found}
    assert by_text["12"]["int64"] == 12
    assert by_text["9" * 30]["int64"] is None
    assert [by_text[text]["float64"] for text in ("-1.5e3", "x", None)] == [-1500.0, None, None]
    assert by_text["2024-02-29"]["timestamp"] == dt.datetime(2024, 2, 29)
    assert by_text["2024-02-30"]["timestamp"] is None


def test_numbers_are_text_as_text_files_have_them(engine: Engine) -> None:
    rows = engine.hold(pa.table({"number": [1.0, 0.5, None, -3.0], "whole": [7, None, 0, -1]}))
    texts = engine.fetch(engine.placed(rows.select(*(engine.as_text(rows[name]).name(name) for name in rows.columns))))
    assert texts["number"].to_pylist() == ["1", "0.5", None, "-3"]
    assert texts["whole"].to_pylist() == ["7", None, "0", "-1"]


def test_a_failure_is_a_sentence(engine: Engine) -> None:
    rows = engine.hold(pa.table({"a": ["x"]}))
    with pytest.raises(Exception, match="the engine failed: "), engine.blaming():
        raise engine.own_errors[0]("something\nlong")
    assert engine.fetch(rows.filter(ibis.literal(True))).num_rows == 1
    assert all(version[0].isdigit() for version in engine.versions().values())
    assert engine.versions()
