"""Files of few different rows: held as these, and everything comes out as of all rows."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError, EngineError
from ringfence.rows import in_memory, repeated
from ringfence.rows.coded import coded, plain
from ringfence.rows.dates import open_original
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.engine import as_released
from ringfence.rows.in_memory import combined, counted
from ringfence.rows.repeated import Repeated, lines_repeat
from ringfence.rows.sources import HIGH, LOW, ROWS
from ringfence.rows.steps import Step, recoded
from ringfence.spec.data import Data
from tests.rows.test_in_memory import ALIKE, recodings, tables

PEOPLE = ["38,Oslo,flu", "38,Oslo,flu", '41,"Bergen, or ""near"" it",', "41,,cold", "38,Oslo,cold", "52,Oslo,flu"]
FLAT = {"role": "quasi", "hierarchy": "flat"}


@pytest.fixture(autouse=True)
def _small_files_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "LARGE", 100)


def written(folder: Path, lines: list[str], names: str = "age,town,illness") -> Path:
    path = folder / "people.csv"
    path.write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")
    return path


def multiset(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def held(counted: pa.Table) -> Repeated:
    return Repeated.of(counted.drop_columns([ROWS]), counted[ROWS].to_numpy())


def asked(**more: Any) -> rf.Spec:
    attributes = {"age": FLAT, "town": FLAT, "illness": {"role": "sensitive"}, **more.pop("attributes", {})}
    privacy = more.pop("privacy", {"k": 3})
    return rf.Spec(attributes=attributes, privacy=privacy, method={"suppression": 0.2, "metric": "dm"}, **more)


def test_lines_that_repeat_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same, other = tmp_path / "same.csv", tmp_path / "other.csv"
    monkeypatch.setattr(repeated, "BLOCK", 256)  # places should not overlap
    same.write_text("a,b\n" + "1,2\n3,4\n" * 30_000)
    other.write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(30_000)))
    assert lines_repeat([same])
    assert not lines_repeat([other])
    assert not lines_repeat([other, other])
    monkeypatch.setattr(repeated, "LARGE", 1 << 20)
    assert not lines_repeat([same])  # too small to look
    assert not lines_repeat([])


@given(tables(), recodings(), st.lists(st.sampled_from(ALIKE), unique=True, min_size=1))
def test_different_rows_are_recoded_as_all_are(table: pa.Table, steps: list[Step], columns: list[str]) -> None:
    few = held(counted(combined(table, table.column_names)))
    assert few.total == table.num_rows
    assert multiset(plain(few.spread())) == multiset(table)
    done, all_done = few.recoded(steps, columns), recoded(coded(table), steps)
    if done is None or all_done is None:
        assert done is None
        assert all_done is None
        return
    expected = multiset(plain(all_done.select(columns)))
    assert multiset(plain(done.spread())) == expected
    assert multiset(plain(done.shuffled().table)) == expected
    assert len(done.times) == len(expected)  # rows that became the same are one


def test_every_order_is_as_likely() -> None:
    few = held(pa.table({"a": ["x", "y", "z"], ROWS: [2, 1, 1]}))
    draws = 12_000
    orders = Counter("".join(few.shuffled().table["a"].to_pylist()) for _ in range(draws))
    assert len(orders) == 12
    assert all(abs(times - draws / 12) < 200 for times in orders.values()), orders  # 6.6 standard deviations


def test_rows_with_the_same_number_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all numbers were the same, the order would be that of the different rows, which is drawn as well."""
    few = held(pa.table({"a": ["x", "y", "z"], ROWS: [50, 50, 50]}))
    honest = in_memory.drawn
    monkeypatch.setattr(repeated, "drawn", lambda count: honest(count) * 0 if count == 150 else honest(count))
    firsts = Counter(few.shuffled().table["a"][0].as_py() for _ in range(300))
    assert all(50 < times < 150 for times in firsts.values()), firsts
    assert len(firsts) == 3


def test_rows_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, PEOPLE * 50)
    data = Data(types={"age": "int"})
    with DuckDB(data) as engine, DuckDB(data) as other:
        rows = engine.at_hand(engine.open(path, data))
        monkeypatch.setattr(repeated, "LARGE", 1 << 30)
        plainly = other.at_hand(other.open(path, data))
        assert (engine.each_once(rows) is None, other.each_once(plainly) is None) == (False, True)
        names = [*rows.columns]
        assert rows.schema() == plainly.schema()
        assert multiset(engine.fetch(rows)) == multiset(other.fetch(plainly))
        assert engine.size(rows) == 300
        assert engine.estimate(rows, ["age"]) == 3
        for some in (["age"], ["town", "illness"], names):
            assert multiset(engine.count(rows, some)) == multiset(other.count(plainly, some))
        for some, digested in ((["age"], ["illness", "town"]), (["town"], []), ([], ["age"])):
            mine, theirs = (each.tally(of, some, digested, "key") for each, of in ((engine, rows), (other, plainly)))
            assert mine.schema.field(ROWS).type == pa.int64()
            assert multiset(mine) == multiset(theirs)
            assert mine.column_names == [*some, ROWS, HIGH, LOW]
        assert multiset(engine.fetch(engine.loaded(rows))) == multiset(other.fetch(plainly))


def test_what_is_too_much_for_memory_goes_the_usual_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, PEOPLE * 50)
    monkeypatch.setattr("ringfence.rows.duckdb_in_memory.SHARE_IN_MEMORY", 1e-9)
    with DuckDB(Data()) as engine:
        opened = engine.open(path, Data())
        rows = engine.at_hand(opened)
        assert engine.each_once(rows) is None
        assert engine.fetch(rows).equals(engine.fetch(opened))


def test_the_first_of_some_rows_is_that_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, [*PEOPLE * 50, "60,Oslo,", "61,,flu", *PEOPLE * 50])
    with DuckDB(Data()) as engine:
        rows = engine.at_hand(engine.open(path, Data()))
        assert engine.each_once(rows) is not None
        assert engine.first(rows, rows["age"] == "60") == 301
        assert engine.first(rows.select("town", "age"), (rows["age"] == "61") & rows["town"].isnull()) == 302
        assert engine.missing(rows, "illness") == (101, 3)
        with engine.aside():
            inner = engine.at_hand(engine.open(path, Data()))
            assert engine.each_once(inner) is not None
        assert engine.each_once(inner) is None  # its name will be another's


@pytest.mark.parametrize("odd", [None, "52,two\\nlines,flu", "52,a\\rb,flu"])
def test_the_release_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str | None) -> None:
    lines = PEOPLE * 50
    if odd is not None:
        cell = odd.replace("\\n", "\n").replace("\\r", "\r").split(",")
        lines += [f'{cell[0]},"{cell[1]}",{cell[2]}'] * 5
    path = written(tmp_path, lines)
    spec = asked(data={"source": str(path)})
    few = rf.run(spec, tmp_path / "few", report=False)
    monkeypatch.setattr(repeated, "LARGE", 1 << 30)
    plainly = rf.run(spec, tmp_path / "all", report=False)
    assert few.audit.ok
    assert few.audit.measured == plainly.audit.measured
    assert few.metrics == plainly.metrics
    both = [tmp_path / name / "public/release.csv" for name in ("few", "all")]
    dialect = as_released(Data())
    with DuckDB(dialect) as engine:
        mine, theirs = (engine.fetch(engine.open(file, dialect, as_it_stands=True)) for file in both)
    assert multiset(mine) == multiset(theirs)
    assert len({*mine["town"].to_pylist()}) > 2  # also what has to be quoted
    assert mine["age"].to_pylist() != theirs["age"].to_pylist()  # in an order of its own
    assert len(both[0].read_bytes()) == len(both[1].read_bytes())


@pytest.mark.parametrize(
    ("method", "privacy"),
    [
        ({"name": "mondrian"}, {"k": 3}),
        ({"name": "local"}, {"k": 3}),
        ({"name": "ring"}, {"k": 3}),
        ({"name": "anatomy"}, {"l": 2}),
        ({"name": "optimal", "suppression": 0.3, "keep_suppressed": True}, {"k": 3}),
    ],
    ids=str,
)
def test_other_methods_hold(tmp_path: Path, method: dict[str, Any], privacy: dict[str, Any]) -> None:
    path = written(tmp_path, [*PEOPLE * 20, *["60,Oslo,flu", "61,Oslo,cold"] * 2])
    attributes = {"age": FLAT, "town": FLAT, "illness": {"role": "sensitive"}}
    spec = rf.Spec(data={"source": str(path)}, attributes=attributes, privacy=privacy, method=method)
    release = rf.run(spec, tmp_path / "out", report=False)
    assert release.audit.ok
    assert release.audit.measured["rows"] == 124
    assert release.audit.measured.get("masked", 0) == 4 * method.get("keep_suppressed", 0)


def test_a_release_that_was_tampered_with_is_found_out(tmp_path: Path) -> None:
    path = written(tmp_path, PEOPLE * 50)
    spec = asked(data={"source": str(path)})
    rf.run(spec, tmp_path / "out", report=False)
    release = tmp_path / "out/public/release.csv"
    names, *lines = release.read_text(encoding="utf-8").splitlines(keepends=True)
    assert rf.audit(release, spec, original=path).ok
    at = next(number for number, line in enumerate(lines) if "flu" in line)
    changed = [*lines[:at], lines[at].replace("flu", "cold"), *lines[at + 1 :]]
    release.write_text("".join([names, *changed]), encoding="utf-8")
    assert not rf.audit(release, spec, original=path).ok
    release.write_text("".join([names, *lines[1:]]), encoding="utf-8")
    strict = rf.Spec(attributes=spec.attributes, privacy={"k": 3}, data={"source": str(path)})
    assert not rf.audit(release, strict, original=path).ok  # where no row may go


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, [*PEOPLE * 50, "1,2,3,4", *PEOPLE * 50])
    with pytest.raises(DataError, match=r"line: 302|302"):
        rf.run(asked(data={"source": str(path)}), tmp_path / "out")


def test_dates_that_cannot_be_read_are_named_by_their_row(tmp_path: Path) -> None:
    lines = [
        line.replace("38", "03.04.2020").replace("41", "05.04.2020").replace("52", "07.04.2020") for line in PEOPLE
    ]
    path = written(tmp_path, [*lines * 50, "31.02.2020,Oslo,flu", *lines * 50])
    spec = asked(data={"source": str(path)}, attributes={"age": {**FLAT, "format": "%d.%m.%Y"}})
    with pytest.raises(DataError, match=r"row 301"):
        rf.run(spec, tmp_path / "out")


def lines_of(folder: Path, content: bytes) -> Path:
    path = folder / "lines.csv"
    path.write_bytes(content)
    return path


FOLDED = {
    "plain": b"1,2\n3,4\n",
    "quoted": b'"1","a, ""b"""\n3,"4"\n',
    "both spellings of a row": b'1,"2"\n"1",2\n1,2\n',
    "of Windows": b"1,2\r\n3,4\r\n",
    "missing": b",2\n?,4\n",
    "NUL": b"1,\x002\n3,4\n",
    "not English": "1,Ærø\n3,東京\n".encode(),
}
AS_USUAL = {
    "a line break in a cell": b'"1\n2",2\n3,4\n',
    "empty lines": b"1,2\n\n3,4\n",
    "quotes inside": b'1,x"y\n3,4\n',
    "quotes after a blank": b'1, "x"\n3,4\n',
    "what lines are told apart by": b"1,\x012\n3,4\n",
}
BROKEN = {
    "too few fields": b"1\n3,4\n",
    "too many fields": b"1,2\n3,4,5\n",
    "a quote that does not end": b'1,x"y\n3,"4\n',
    "two ways to end lines": b"1,2\r\n3,4\n",
    "no UTF-8": b"1,\xff\n3,4\n",
}


@pytest.mark.parametrize("content", [*FOLDED.values(), *AS_USUAL.values()], ids=[*FOLDED, *AS_USUAL])
def test_lines_are_parsed_once_where_each_is_a_row(tmp_path: Path, content: bytes) -> None:
    names = b"a,b\r\n" if b"\r" in content else b"a,b\n"
    path = lines_of(tmp_path, names + content * 100)
    data = Data(missing_values=["", "?"])
    with DuckDB(data) as engine:
        rows = engine.open(path, data)
        folded = engine.folded(rows)
        assert (engine.each_once(folded) is not None) is (content in FOLDED.values())
        assert multiset(engine.fetch(folded)) == multiset(engine.fetch(rows))
        assert multiset(engine.count(folded, ["b"])) == multiset(engine.count(rows, ["b"]))


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_broken_lines_are_named_as_usual(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines_of(tmp_path, b"a,b\n" + b"1,2\n" * 100 + content)
    said = []
    for large in (100, 1 << 30):
        monkeypatch.setattr(repeated, "LARGE", large)
        with pytest.raises(DataError) as error:
            rf.anonymize(path, rf.Spec(attributes={"a": FLAT, "b": FLAT}, privacy={"k": 2}))
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "lines.csv" in said[0]


@given(st.lists(st.text('a",\n\r ', max_size=7), min_size=1, max_size=6), st.sampled_from([",", ";", "\t"]))
def test_folded_rows_are_those_of_any_text(lines: list[str], delimiter: str) -> None:
    """Also of text that is hardly CSV: either way the same rows, or the same complaint."""
    content = f"a{delimiter}b\n" + "".join(f"{line.replace(',', delimiter)}\n" for line in lines * 40)
    data = Data(delimiter=delimiter)
    with TemporaryDirectory() as folder, DuckDB(data) as engine:
        rows = engine.open(lines_of(Path(folder), content.encode()), data)
        found: list[Any] = []
        for each in (rows, engine.folded(rows)):
            try:
                found.append(multiset(engine.fetch(each)))
            except DataError as error:
                found.append(str(error))
        assert found[0] == found[1]


def test_files_in_several_parts_are_folded_together(tmp_path: Path) -> None:
    for part in range(3):
        (tmp_path / f"part{part}.csv").write_bytes(b"a,b\n" + b"1,2\n3,4\n" * (50 + part))
    with DuckDB(Data()) as engine:
        rows = engine.folded(engine.open(tmp_path / "*.csv", Data()))
        assert engine.each_once(rows) is not None
        assert engine.size(rows) == 306
        assert multiset(engine.count(rows, ["a"])) == Counter({("1", 153): 1, ("3", 153): 1})


def test_names_that_are_left_out_do_not_tell_rows_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{number},"Doe, {number}",{line}' for number, line in enumerate(PEOPLE * 50)]
    path = written(tmp_path, lines, "id,name,age,town,illness")
    secret = {"id": {"role": "identifier"}, "name": {"role": "identifier"}}
    spec = asked(data={"source": str(path)}, attributes=secret)
    with DuckDB(Data()) as engine:
        rows = open_original(engine, path, spec)
        assert [*rows.columns] == ["age", "town", "illness"]
        assert engine.each_once(rows) is not None
        assert engine.size(rows) == 300
        assert engine.first(rows, rows["age"] == "52") == 6
    few = rf.run(spec, tmp_path / "few", report=False)
    monkeypatch.setattr(repeated, "LARGE", 1 << 30)
    plainly = rf.run(spec, tmp_path / "all", report=False)
    assert few.audit.ok
    assert few.audit.measured == plainly.audit.measured
    assert few.metrics == plainly.metrics


@pytest.mark.parametrize("names", ["age,town,illness", "id,age,town,illness"])
def test_rows_that_only_seem_to_repeat_go_the_usual_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    monkeypatch.setattr("ringfence.rows.duckdb.lines_repeat", lambda *_: True)
    lines = [f"{number},Oslo,flu" for number in range(300)]
    lines = [f"{number},{line}" for number, line in enumerate(lines)] if names.startswith("id") else lines
    path = written(tmp_path, lines, names)
    with DuckDB(Data()) as engine:
        opened = engine.open(path, Data()).select("age", "town", "illness")
        rows = engine.at_hand(opened)
        assert engine.each_once(rows) is None
        assert engine.fetch(rows).equals(engine.fetch(opened))
        left = engine._duckdb.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        assert left == (0,)  # what was counted for it has gone


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, PEOPLE * 50)
    with DuckDB(Data(), scratch=tmp_path / "gone") as engine, pytest.raises(EngineError, match="the engine failed"):
        engine.folded(engine.open(path, Data()))
