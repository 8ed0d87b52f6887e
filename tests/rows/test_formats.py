"""Tables as people have them: every format written by the library that is known for it, read, released and refused."""

import contextlib
import datetime as dt
import gzip
import http.server
import io
import json
import random
import sqlite3
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

import ringfence as rf
from ringfence.errors import DataError, RingfenceError, SpecError
from ringfence.rows import extras, places
from ringfence.rows.duckdb import DuckDB
from ringfence.spec.data import Data

ROWS = 200


def make_visits() -> pa.Table:
    """Visits with gaps in a text, a number, a date and a yes or no."""
    draw = random.Random(7)

    def perhaps(value: Any) -> Any:
        return value if draw.random() > 0.05 else None

    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "age": pa.array([perhaps(draw.randint(20, 59)) for _ in range(ROWS)], pa.int64()),
            "sex": [draw.choice(["female", "male"]) for _ in range(ROWS)],
            "postcode": [perhaps(f"0{draw.randint(120, 125)}") for _ in range(ROWS)],
            "seen": pa.array([perhaps(dt.date(2020, 1, draw.randint(1, 28))) for _ in range(ROWS)], pa.date32()),
            "cost": pa.array([perhaps(draw.randint(1, 40) / 4) for _ in range(ROWS)], pa.float64()),
            "note": [f'é, "{i}"; \n' for i in range(ROWS)],
        }
    )


VISITS = make_visits()
ATTRIBUTES: dict[str, Any] = {
    "id": {"role": "insensitive"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "postcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "seen": {"role": "sensitive"},
    "cost": {"role": "insensitive"},
    "note": {"role": "insensitive"},
}


def asked(k: int = 4, **data: Any) -> rf.Spec:
    """What is asked of the visits."""
    return rf.Spec(data=data, attributes=ATTRIBUTES, privacy={"k": k}, method={"suppression": 0.2})


def to_csv(path: Path, table: pa.Table = VISITS) -> Path:
    pa.csv.write_csv(table, path)
    return path


def to_gzip(path: Path) -> Path:
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(VISITS, file)
    return path


def to_zst(path: Path) -> Path:
    with pa.output_stream(str(path), compression="zstd") as file:
        pa.csv.write_csv(VISITS, file)
    return path


def to_parquet(path: Path, table: pa.Table = VISITS) -> Path:
    pq.write_table(table, path)
    return path


def to_parts(path: Path, write: Callable[[Path, pa.Table], Path], suffix: str) -> Path:
    path.mkdir()
    for part in range(3):
        write(path / f"part-{part}{suffix}", VISITS.slice(part * 70, 70))
    (path / "_SUCCESS").write_text("")
    (path / ".crc").write_text("")
    return path


def to_regions(path: Path) -> Path:
    for sex in ("female", "male"):
        (path / f"sex={sex}").mkdir(parents=True)
        rows = VISITS.filter(pa.compute.equal(VISITS["sex"], sex)).drop_columns("sex")
        to_parquet(path / f"sex={sex}" / "1.parquet", rows)
    return path


def to_jsonl(path: Path, table: pa.Table = VISITS) -> Path:
    lines = [json.dumps(row, default=str) for row in table.to_pylist()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def to_polars_ndjson(path: Path) -> Path:
    pl.from_arrow(VISITS).write_ndjson(path)  # type: ignore[union-attr]
    return path


def to_xlsx(path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.append(VISITS.column_names)
    for row in VISITS.to_pylist():
        book.active.append(list(row.values()))
    book.save(path)
    return path


def to_pandas_xlsx(path: Path) -> Path:
    with pd.ExcelWriter(path) as book:
        VISITS.to_pandas().to_excel(book, sheet_name="visits", index=False)
    return path


def to_sav(path: Path) -> Path:
    frame = VISITS.to_pandas()
    frame["sex"] = frame["sex"].map({"female": 1, "male": 2})
    write = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
    write(frame, str(path), variable_value_labels={"sex": {1: "female", 2: "male", 3: "other"}})
    return path


def to_sqlite(path: Path) -> Path:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE visits (id INT, age INT, sex TEXT, postcode TEXT, seen DATE, cost REAL, note)")
        rows = [tuple(row.values()) for row in json.loads(json.dumps(VISITS.to_pylist(), default=str))]
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    database.close()
    return path


def to_duckdb(path: Path) -> Path:
    with duckdb.connect(str(path)) as database:
        database.register("given", VISITS)
        database.execute("CREATE TABLE visits AS SELECT * FROM given")
    return path


def in_polars(frame: pl.DataFrame) -> pl.LazyFrame:
    return frame.lazy().filter(pl.col("id") >= 0)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: to_csv(folder / "visits.csv"),
    "csv.gz": lambda folder: to_gzip(folder / "visits.csv.gz"),
    "csv.zst": lambda folder: to_zst(folder / "visits.csv.zst"),
    "parquet": lambda folder: to_parquet(folder / "visits.parquet"),
    "folder of csv": lambda folder: to_parts(folder / "visits", to_csv, ".csv"),
    "folder of parquet": lambda folder: to_parts(folder / "visits", to_parquet, ".parquet"),
    "folder of jsonl": lambda folder: to_parts(folder / "visits", to_jsonl, ".jsonl"),
    "folders of parquet": lambda folder: to_regions(folder / "visits"),
    "pattern": lambda folder: str(to_parts(folder / "visits", to_csv, ".csv") / "part-*.csv"),
    "pattern of folders": lambda folder: str(to_parts(folder / "visits", to_parquet, ".pq").parent / "**" / "*.pq"),
    "jsonl": lambda folder: to_jsonl(folder / "visits.jsonl"),
    "ndjson by Polars": lambda folder: to_polars_ndjson(folder / "visits.ndjson"),
    "xlsx": lambda folder: to_xlsx(folder / "visits.xlsx"),
    "xlsx by pandas": lambda folder: to_pandas_xlsx(folder / "visits.xlsx"),
    "sav": lambda folder: to_sav(folder / "visits.sav"),
    "zsav": lambda folder: to_sav(folder / "visits.zsav"),
    "dta": lambda folder: to_sav(folder / "visits.dta"),
    "sqlite": lambda folder: to_sqlite(folder / "visits.sqlite"),
    "db of SQLite": lambda folder: to_sqlite(folder / "visits.db"),
    "duckdb": lambda folder: to_duckdb(folder / "visits.duckdb"),
    "db of DuckDB": lambda folder: to_duckdb(folder / "visits.db"),
    "pandas": lambda _: VISITS.to_pandas(),
    "pandas with categories": lambda _: VISITS.to_pandas().astype({"sex": "category", "postcode": "category"}),
    "polars": lambda _: pl.from_arrow(VISITS),
    "lazy": lambda _: in_polars(pl.from_arrow(VISITS)),  # type: ignore[arg-type]
}


def counted(table: Any) -> Counter[tuple[str, ...]]:
    """The rows of a release as a text file would have them, however often each is there."""
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    elif isinstance(table, pl.DataFrame):
        table = table.to_arrow()
    rows = (tuple(row[name] for name in ATTRIBUTES) for row in table.to_pylist())
    return Counter(tuple(shown(cell) for cell in row) for row in rows)


def shown(cell: Any) -> str:
    """A cell as text files have it: of numbers, their value."""
    try:
        return str(float(cell))
    except (TypeError, ValueError):
        return str(cell)


@pytest.fixture(scope="module")
def expected() -> rf.Release:
    return rf.anonymize(VISITS, asked())


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_table_in_any_format_gives_the_same_release(kind: str, tmp_path: Path, expected: rf.Release) -> None:
    release = rf.anonymize(SOURCES[kind](tmp_path), asked())
    assert release.audit.ok
    assert release.plan.levels == expected.plan.levels
    assert counted(release.table) == counted(expected.table)


@pytest.mark.parametrize("kind", ["csv.gz", "folder of parquet", "jsonl", "xlsx", "sav", "sqlite", "duckdb"])
def test_any_format_goes_straight_into_a_folder_and_is_an_original(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    made = rf.run(asked(source=str(source)), tmp_path / "out", report=False)
    assert Path(made.table).suffix == (".csv" if "csv" in kind else ".parquet")
    verdict = rf.audit(made.table, asked(), source)
    assert verdict.ok, verdict
    again = rf.apply(tmp_path / "out" / "private" / "plan.json", source)
    assert again.audit.ok
    wrong = rf.audit(made.table, asked(), to_csv(tmp_path / "wrong.csv", VISITS.slice(0, 50)))
    assert not wrong.ok


@pytest.mark.parametrize(
    "kind", ["csv.gz", "csv.zst", "folder of csv", "pattern", "jsonl", "xlsx", "sav", "db of SQLite"]
)
def test_a_draft_of_any_format_runs(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    draft = rf.api.draft(source, tmp_path)
    assert draft.rows == ROWS
    found = rf.Spec.loads(draft.toml).at(tmp_path)
    assert rf.run(found, tmp_path / "out", report=False).audit.ok


# Types and categories


def test_types_survive_where_nothing_is_recoded(tmp_path: Path) -> None:
    rows = VISITS.append_column("yes", pa.array([True, None] * (ROWS // 2)))
    rows = rows.append_column("small", pa.array([7] * ROWS, pa.int16()))
    rows = rows.append_column("price", pa.array([1] * ROWS, pa.decimal128(9, 2)))
    spec = asked(source=str(to_parquet(tmp_path / "v.parquet", rows)), unlisted="publish")
    released = pq.read_table(rf.run(spec, tmp_path / "out", report=False).table)
    for name in ("id", "seen", "cost", "yes", "small", "price"):
        assert released.schema.field(name).type == rows.schema.field(name).type, name


def test_categories_survive_where_nothing_is_recoded() -> None:
    frame = pd.DataFrame({"q": ["a"] * 4, "c": pd.Categorical(list("xyxy"), ["z", "y", "x"], ordered=True)})
    spec = rf.Spec(
        attributes={"q": {"role": "quasi", "hierarchy": "flat"}, "c": {"role": "insensitive"}}, privacy={"k": 2}
    )
    assert list(rf.anonymize(frame, spec).table["c"].cat.categories) == ["y", "x"]
    lazy = pl.LazyFrame({"q": ["a"] * 4, "c": list("xyxy")}, schema_overrides={"c": pl.Enum(["z", "y", "x"])})
    release = rf.anonymize(lazy, spec)
    assert isinstance(release.table, pl.DataFrame)
    assert release.table.schema["c"] == pl.Enum(["y", "x"])


def test_a_lazy_frame_is_asked_once() -> None:
    asks = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        asks.append(1)
        return frame

    lazy = pl.from_arrow(VISITS).lazy().map_batches(seen)  # type: ignore[union-attr]
    rf.anonymize(lazy, asked())
    assert len(asks) == 1


def opened(source: Any, **data: Any) -> pa.Table:
    with DuckDB(Data(**data)) as engine:
        return engine.fetch(engine.open(source, Data(**data)))


def test_labels_of_spss_and_stata_are_values(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"sex": [1.0, 2, 9, 4], "age": [31.0, 32, None, 5], "twice": [1, 2, 1, 2], "text": ["a", "", "b", "c"]}
    )
    labels: dict[str, dict[int | float, str]] = {"sex": {1: "m", 2: "f", 9: "refused"}, "twice": {1: "same", 2: "same"}}
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels, missing_ranges={"sex": [9]})
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), variable_value_labels=labels)
    spss, stata = opened(tmp_path / "a.sav"), opened(tmp_path / "a.dta")
    assert spss["sex"].to_pylist() == ["m", "f", None, "4"]
    assert stata["sex"].to_pylist() == ["m", "f", "refused", "4"]
    assert spss["age"].to_pylist() == [31, 32, None, 5]
    assert pa.types.is_integer(spss["age"].type)
    assert spss["twice"].to_pylist() == ["same (1)", "same (2)", "same (1)", "same (2)"]
    assert spss["text"].to_pylist() == ["a", None, "b", "c"]
    assert opened(tmp_path / "a.dta", types={"sex": "int"})["sex"].to_pylist() == [1, 2, 9, 4]


def sheet(path: Path, rows: list[list[Any]], name: str = "people") -> Path:
    book = openpyxl.Workbook()
    book.active.title = "read me"
    book.active.append(["note"])
    book.create_sheet(name)
    for row in rows:
        book[name].append(row)
    book.save(path)
    return path


def test_cells_of_a_workbook_come_as_what_they_are(tmp_path: Path) -> None:
    moment = dt.datetime(2024, 3, 1, 12, 30)
    rows: list[list[Any]] = [
        ["whole", "number", "day", "time", "yes", "mixed", "gaps", None],
        [1, 1.5, dt.date(2024, 3, 1), moment, True, 7, "?", None],
        [None, None, None, None, None, None, None, None],
        [None, 2, None, None, None, "7a", None, None],
        [3, None, dt.date(2024, 3, 2), moment, False, dt.date(2024, 3, 1), 4, None],
    ]
    table = opened(sheet(tmp_path / "a.xlsx", rows), sheet="people", missing_values=["?"])
    assert table.to_pydict() == {
        "whole": [1, None, 3],
        "number": [1.5, 2.0, None],
        "day": [dt.date(2024, 3, 1), None, dt.date(2024, 3, 2)],
        "time": [moment, None, moment],
        "yes": [True, None, False],
        "mixed": ["7", "7a", "2024-03-01"],
        "gaps": [None, None, 4],
    }
    assert opened(tmp_path / "a.xlsx").column_names == ["note"]


def test_cells_of_sqlite_come_as_what_they_are(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute('CREATE TABLE "odd ""name" (whole, number, mixed, bytes, empty, large)')
        database.execute('CREATE VIEW other AS SELECT whole FROM "odd ""name"')
        rows = [(1, 1, 1, b"a", None, 2**60), (None, 2.5, "x", None, None, 0.5)]
        database.executemany('INSERT INTO "odd ""name" VALUES (?, ?, ?, ?, ?, ?)', rows)
    database.close()
    table = opened(tmp_path / "a.db", table='odd "name')
    assert table.to_pydict() == {
        "whole": [1, None],
        "number": [1.0, 2.5],
        "mixed": ["1", "x"],
        "bytes": [b"a", None],
        "empty": [None, None],
        "large": [str(2**60), "0.5"],
    }
    assert opened(tmp_path / "a.db", table="other").num_rows == 2


def test_text_in_json_stays_text(tmp_path: Path) -> None:
    rows = [
        {"code": "01", "day": "2024-03-01", "id": "7b1f6c9e-0000-0000-0000-000000000000", "mixed": 1, "list": ["a"]},
        {"code": "02", "day": "2024-03-02", "mixed": "x", "list": [], "DATE kept": {"DATE": 1.5}},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = opened(tmp_path / "a.jsonl").to_pydict()
    assert table["code"] == ["01", "02"]
    assert table["day"] == ["2024-03-01", "2024-03-02"]
    assert table["id"] == ["7b1f6c9e-0000-0000-0000-000000000000", None]
    assert table["mixed"] == ["1", "x"]
    assert table["list"] == [["a"], []]
    assert table["DATE kept"] == [None, {"DATE": 1.5}]


def test_baskets_in_json_are_lists(tmp_path: Path) -> None:
    lines = ['{"basket": ["milk", "wine"]}', '{"basket": ["milk", "wine"]}', '{"basket": []}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    spec = rf.Spec(
        attributes={"basket": {"role": "items", "hierarchy": "flat"}},
        privacy={"k": 2, "m": 2},
        method={"name": "itemsets"},
    )
    assert sorted(rf.anonymize(tmp_path / "a.jsonl", spec).table["basket"].to_pylist()) == [[], *[["milk", "wine"]] * 2]


def test_tables_of_duckdb_files(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.execute("SET TimeZone = 'Asia/Tokyo'")
        database.execute("CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('ok', 'sad')")
        database.execute("CREATE TABLE s.t AS SELECT 'ok'::mood AS m, TIMESTAMPTZ '2024-03-01 12:00:00Z' AS seen")
        database.execute("CREATE VIEW v AS SELECT 1 AS n")
    table = opened(tmp_path / "a.duckdb", table="s.t")
    assert table.to_pydict() == {"m": ["ok"], "seen": [dt.datetime(2024, 3, 1, 12)]}
    assert opened(tmp_path / "a.duckdb", table="v").to_pydict() == {"n": [1]}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_compressed_text_in_another_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("q,n\né,1\n".encode(encoding)))
    assert opened(tmp_path / "a.csv.gz", encoding=encoding).to_pydict() == {"q": ["é"], "n": ["1"]}


# Standard input and the web


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Nothing has been copied from elsewhere yet."""
    places._copied.cache_clear()
    yield monkeypatch
    places._copied.cache_clear()


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "csv.zst", "parquet", "jsonl", "xlsx", "sav", "sqlite", "duckdb"])
def test_standard_input_is_what_it_looks_like(
    kind: str, tmp_path: Path, fresh: pytest.MonkeyPatch, expected: rf.Release
) -> None:
    pipe(fresh, SOURCES[kind](tmp_path).read_bytes())
    made = rf.run(asked(source="-"), tmp_path / "out", report=False)
    verdict = rf.audit(made.table, asked(), "-")  # it can be read again
    assert verdict.ok
    assert verdict.measured["rows"] == expected.audit.measured["rows"]


def test_an_empty_or_absent_standard_input_is_told(fresh: pytest.MonkeyPatch) -> None:
    pipe(fresh, b"")
    with pytest.raises(DataError, match="standard input is empty"):
        rf.anonymize("-", asked())
    places._copied.cache_clear()
    fresh.setattr(sys, "stdin", types.SimpleNamespace(isatty=lambda: True))
    with pytest.raises(SpecError, match="nothing on standard input"):
        rf.anonymize("-", asked())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server on this machine, that has a table, a page, and a table that breaks off."""
    table = to_parquet(tmp_path / "visits.parquet").read_bytes()
    answers = {"/visits.parquet": table, "/download": table, "/page.csv": b"<!DOCTYPE html><p>Log in"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].removeprefix("/bucket")
            body = answers.get(path, table)
            self.send_response(404 if path == "/none.csv" else 200)
            self.send_header("Content-Length", str(len(body) + 10 * (path == "/cut.parquet")))
            self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  as the library calls it

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as here:
        thread = threading.Thread(target=here.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{here.server_port}"
        here.shutdown()
        thread.join()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", ["/visits.parquet?key=SECRET", "/download"])
def test_a_table_on_the_web(name: str, server: str, expected: rf.Release, tmp_path: Path) -> None:
    made = rf.run(asked(source=server + name), tmp_path / "out")
    assert counted(pq.read_table(made.table)) == counted(expected.table)
    assert "SECRET" not in (tmp_path / "out" / "private" / "report.html").read_text()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("{server}/none.csv?key=SECRET", "the server answers 404"),
        ("{server}/page.csv?key=SECRET", "is a web page"),
        ("{server}/cut.parquet?key=SECRET", "was cut off"),
        ("http://example.invalid/a.csv?key=SECRET", "not encrypted"),
        ("https://me:SECRET@example.invalid/a.csv", "password"),
        ("https://example.invalid/a.csv?key=SECRET", "is the address right"),
        ("http://127.0.0.1:1/a.csv?key=SECRET", "refused"),
        ("mysql://me:SECRET@host/base", "mysql:// cannot be read"),
        ("ftp://host/a.csv", "ftp:// cannot be read"),
    ],
)
def test_what_the_web_does_not_give_is_told_without_secrets(address: str, said: str, server: str) -> None:
    with pytest.raises(RingfenceError, match=said) as error:
        rf.anonymize(address.format(server=server), asked())
    assert "SECRET" not in str(error.value)


@pytest.mark.usefixtures("fresh")
def test_a_bucket_is_read_and_refused_without_secrets(
    server: str, monkeypatch: pytest.MonkeyPatch, expected: rf.Release
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    assert counted(rf.anonymize("s3://bucket/visits.parquet", asked()).table) == counted(expected.table)
    with pytest.raises(DataError, match="is the address right") as error:
        rf.anonymize("s3://bucket/none.csv", asked())
    assert "SECRET" not in str(error.value)


# What is refused, and how


def people(folder: Path, name: str, table: pa.Table) -> Path:
    folder.mkdir(exist_ok=True)
    return (to_csv if name.endswith(".csv") else to_parquet)(folder / name, table)


def test_files_that_differ_are_named(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    people(parts, "1.csv", VISITS)
    people(parts, "2.csv", VISITS.rename_columns(["id", "age", "gender", *VISITS.column_names[3:]]))
    with pytest.raises(DataError, match=r"2\.csv' lacks 'sex' and has 'gender' besides"):
        rf.anonymize(parts, asked())
    people(parts, "2.csv", VISITS.select(VISITS.column_names[::-1]))
    with pytest.raises(DataError, match=r"2\.csv' has them in another order"):
        rf.anonymize(parts, asked())
    people(parts, "2.parquet", VISITS)
    with pytest.raises(DataError, match=r"different kinds: .*1\.csv' is CSV, .*2\.parquet' is Parquet; .*\*\.csv"):
        rf.anonymize(parts, asked())
    rows = tmp_path / "rows"
    people(rows, "1.parquet", VISITS)
    people(rows, "2.parquet", VISITS.set_column(1, "age", VISITS["age"].cast(pa.string())))
    with pytest.raises(DataError, match=r"column 'age' holds string in .*2\.parquet', and int64 in .*1\.parquet'"):
        rf.anonymize(rows, asked())
    people(rows, "2.parquet", VISITS.select(VISITS.column_names[::-1]))  # names tell columns apart
    assert rf.anonymize(rows, asked()).metrics["rows"] > ROWS


def test_a_ragged_row_of_one_of_several_files_is_found(tmp_path: Path) -> None:
    for part in range(3):
        (tmp_path / f"{part}.csv").write_text("a,b\n1,2\n" + "1,2,3,4,5\n" * (part == 1))
    spec = rf.Spec(
        attributes={"a": {"role": "quasi", "hierarchy": "flat"}, "b": {"role": "insensitive"}}, privacy={"k": 2}
    )
    with pytest.raises(DataError, match=r"1\.csv': line 3: 5 fields where the first line has 2"):
        rf.anonymize(tmp_path, spec)


@pytest.mark.parametrize("kind", ["csv.gz", "csv.zst"])
@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_compressed_files_that_are_cut_off_are_refused(kind: str, keep: float, tmp_path: Path) -> None:
    path = SOURCES[kind](tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(DataError, match="cut off or damaged"):
        rf.anonymize(path, asked())


def test_a_compressed_file_with_a_wrong_sum_is_refused(tmp_path: Path) -> None:
    path = SOURCES["csv.gz"](tmp_path)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match="cut off or damaged"):
        rf.anonymize(path, asked())


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_tables_are_listed_where_the_one_that_is_wanted_is_not_there(kind: str, tmp_path: Path) -> None:
    path = SOURCES[kind](tmp_path)
    with pytest.raises(SpecError, match=r"no such table \(did you mean 'visits'\?\); there are: 'visits'"):
        rf.anonymize(path, asked(table="visit"))
    base: Any = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    base.execute("CREATE TABLE more (n INT)")
    base.commit() if kind == "sqlite" else None
    base.close()
    with pytest.raises(SpecError, match=r"several tables: name one in data\.table; there are: 'more', 'visits'"):
        rf.anonymize(path, asked())
    assert rf.anonymize(path, asked(table="visits")).audit.ok


def test_sheets_are_listed(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", [["q"], [1]])
    with pytest.raises(
        SpecError, match=r"no such sheet \(did you mean 'people'\?\); its sheets are: 'read me', 'people'"
    ):
        rf.anonymize(path, asked(sheet="peple"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "is empty"),
        ([[None, None], ["a", "b"]], "the first row of sheet 'people' .* is empty"),
        ([["a", None], [1, 2]], "column 2 of sheet 'people' .* has no name"),
        ([["a", "a"], [1, 2]], "more than once in sheet 'people'"),
    ],
)
def test_sheets_that_are_no_tables_are_refused(rows: list[list[Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        opened(sheet(tmp_path / "a.xlsx", rows), sheet="people")


@pytest.mark.parametrize("suffix", ["xlsx", "sav", "dta", "sqlite", "duckdb", "parquet", "arrow", "jsonl", "csv.gz"])
def test_files_that_are_not_what_their_name_says_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{suffix}"
    path.write_bytes(b"age,city\n31,Oslo\n")
    with pytest.raises(DataError, match=rf"cannot (read|unpack) .*people\.{suffix}"):
        rf.anonymize(path, asked())
    path.write_bytes(b"")
    with pytest.raises(DataError, match=rf"people\.{suffix}"):
        rf.anonymize(path, asked())


@pytest.mark.parametrize(("suffix", "library"), [("xlsx", "openpyxl"), ("sav", "pyreadstat"), ("dta", "pyreadstat")])
def test_a_library_that_is_not_installed_is_named(
    suffix: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SOURCES[suffix](tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SpecError, match=rf"needs {library}, which is not installed: pip install 'ringfence\[files\]'"):
        rf.anonymize(path, asked())
    assert extras.needed("json", "nothing") is json


def test_paths_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    to_csv(tmp_path / "visits.csv")
    for source, said in [
        ("visit.csv", r"there is no file .*visit\.csv' \(did you mean 'visits\.csv'\?\)"),
        ("none/visits.csv", r"there is no folder .*none'"),
        ("*.parquet", r"no file matches .*\*\.parquet'"),
        ("visits.zip", "there is no file"),
    ]:
        with pytest.raises(DataError, match=said):
            rf.anonymize(tmp_path / source, asked())
    (tmp_path / "visits.cvs").write_text("a\n1\n")
    with pytest.raises(SpecError, match=r"by its name \(did you mean '\.csv'\?\); allowed: CSV \(\.csv, \.tsv"):
        rf.anonymize(tmp_path / "visits.cvs", asked())
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="no files of a known kind; of folders, these are read: CSV, Parquet"):
        rf.anonymize(tmp_path / "folder", asked())
    (tmp_path / "folder" / "read.me").write_text("")
    with pytest.raises(DataError, match=r"it has 'read\.me'"):
        rf.anonymize(tmp_path / "folder", asked())


# The same table, the same release: missing values and types


def test_numbers_and_days_that_stand_for_missing_do_so_in_every_source(tmp_path: Path) -> None:
    rows = {
        "age": pa.array([31, 9999, 31, 31], pa.int64()),
        "pay": pa.array([1.5, 1.5, -9.0, 1.5]),
        "exact": pa.array([1, 2, 3, -9], pa.decimal128(5, 1)),
        "seen": pa.array([dt.date(2024, 3, 1), dt.date(1900, 1, 1), None, dt.date(2024, 3, 1)]),
        "word": ["a", "9999", "b", "c"],
    }
    table = pa.table(rows)
    data = {"missing_values": ["9999", "-9", "1900-01-01", "?"]}
    want = {
        "age": [31, None, 31, 31],
        "pay": [1.5, 1.5, None, 1.5],
        "seen": [dt.date(2024, 3, 1), None, None, dt.date(2024, 3, 1)],
        "word": ["a", None, "b", "c"],
    }
    for source in (table, table.to_pandas(), pl.from_arrow(table), to_parquet(tmp_path / "a.parquet", table)):
        found = opened(source, **data)
        assert {name: found[name].to_pylist() for name in want} == want
        assert found["exact"].null_count == 1
    text = opened(to_csv(tmp_path / "a.csv", table), **data)
    assert [name for name in want if text[name].null_count != found[name].null_count] == []


CODES = pa.table({"zip": [1234, 99, 1234, None], "year": ["2020", " 2021", "2020.0", "?"], "seen": ["2024-03-01"] * 4})
TYPES = {"zip": "text", "year": "int", "seen": "date"}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet", "csv", "jsonl", "duckdb"])
def test_columns_have_the_types_that_are_asked_for(kind: str, tmp_path: Path) -> None:
    make: dict[str, Callable[[], Any]] = {
        "arrow": lambda: CODES,
        "pandas": CODES.to_pandas,
        "polars": lambda: pl.from_arrow(CODES),
        "parquet": lambda: to_parquet(tmp_path / "a.parquet", CODES),
        "csv": lambda: to_csv(tmp_path / "a.csv", CODES),
        "jsonl": lambda: to_jsonl(tmp_path / "a.jsonl", CODES),
        "duckdb": lambda: duckdb.from_arrow(CODES),
    }
    data = {"types": TYPES, "missing_values": ["?"], "unlisted": "publish"}
    spec = rf.Spec(data=data, attributes={"zip": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 1})
    table = rf.anonymize(make[kind](), spec).table
    if kind == "pandas":
        table = pa.Table.from_pandas(table, preserve_index=False)
    elif kind != "arrow":
        table = pa.table(table.to_arrow_table()) if kind == "duckdb" else pa.table(table)
    rows = sorted((row["zip"] or "", row["year"] or 0, row["seen"]) for row in table.to_pylist())
    day = dt.date(2024, 3, 1)
    assert rows == [("", 0, day), ("1234", 2020, day), ("1234", 2020, day), ("99", 2021, day)]


@pytest.mark.parametrize(
    ("kind", "cells", "said"),
    [
        (
            "int",
            ["1", "1.5", "x", "x"],
            r"whole numbers, as data\.types says, but has 'x' \(2 rows\), '1\.5' \(1 row\)",
        ),
        ("int", [1.0, 1.5], r"whole numbers.*'1\.5'"),
        ("int", ["99999999999999999999"], "whole numbers"),
        ("int", [True], "whole numbers"),
        ("float", ["1,5"], r"numbers.*'1,5'"),
        ("float", ["inf"], "numbers"),
        ("date", ["31.12.2024"], r"dates \(as 2024-03-31\).*'31\.12\.2024'"),
        ("date", ["2024-02-30"], "dates"),
        ("date", [20240301], "dates"),
        ("text", [["a"]], "text"),
    ],
)
def test_values_without_a_counterpart_in_a_type_are_refused(kind: str, cells: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=rf"column 'q' should hold {said}"):
        opened(pa.table({"q": cells}), types={"q": kind})


def test_types_of_columns_that_are_not_there_are_refused() -> None:
    with pytest.raises(DataError, match=r"data\.types.*'zap' \(did you mean 'zip'\?\)"):
        rf.anonymize(
            CODES,
            rf.Spec(
                data={"types": {"zap": "text"}, "unlisted": "drop"},
                attributes={"zip": {"role": "quasi", "hierarchy": "flat"}},
                privacy={"k": 1},
            ),
        )


@pytest.mark.parametrize("ends", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("inside", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("many", [False, True], ids=["few rows", "many rows"])
def test_a_name_may_hold_a_line_break_other_than_that_of_the_rows(
    ends: str, inside: str, many: bool, tmp_path: Path
) -> None:
    """Spreadsheets write one for what was typed into a cell, and another at the end of a row."""
    rows = [["31", f"a{inside}b"], ["33", "c"]] * (500_000 if many else 1)
    lines = [f'"age{inside}(years)",word', *(f'{age},"{word}"' for age, word in rows), ""]
    (tmp_path / "people.csv").write_text(ends.join(lines), newline="")
    found = opened(tmp_path / "people.csv")
    assert found.column_names == [f"age{inside}(years)", "word"]
    assert Counter(map(tuple, zip(*found.to_pydict().values(), strict=True))) == Counter(map(tuple, rows))


@pytest.mark.parametrize("ends", [("\r\n", "\n"), ("\n", "\r\n"), ("\n", "\r")], ids=repr)
def test_lines_that_end_differently_are_refused(ends: tuple[str, str], tmp_path: Path) -> None:
    text = "age,sex{0}31,m{0}33,f{0}31,m{1}33,f{1}".format(*ends)
    (tmp_path / "people.csv").write_text(text, newline="")
    with pytest.raises(DataError, match=r"'.*people.csv': its lines do not all end in the same way, or a line break"):
        opened(tmp_path / "people.csv")


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=,", "# exported 2024"])
def test_a_line_above_the_names_is_no_name(first: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"{first}\nage;sex\n31;m\n33;f\n")
    for of_draft in (False, True):
        with pytest.raises(DataError, match=r"first line of '.*people.csv' is .*; it should hold the names"):
            rf.draft(tmp_path / "people.csv") if of_draft else opened(tmp_path / "people.csv")


def test_a_name_may_begin_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("#,age\n1,31\n2,33\n")
    assert opened(tmp_path / "people.csv").column_names == ["#", "age"]


def test_a_table_of_one_column_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("#number\n1\n2\n")
    assert opened(tmp_path / "people.csv").column_names == ["#number"]


def test_a_link_that_leads_to_no_file_is_told(tmp_path: Path) -> None:
    people(tmp_path, "a.csv", pa.table({"age": [31]}))
    (tmp_path / "b.csv").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"matches '.*b.csv', which leads to no file"):
        opened(tmp_path / "*.csv")
    with pytest.raises(DataError, match=r"b.csv' is a link to 'nowhere', where there is nothing"):
        opened(tmp_path / "b.csv")


def test_columns_of_a_frame_may_have_numbers_for_names() -> None:
    frame = pd.DataFrame({"age": [31, 32, 38, 39] * 5, 5: [1] * 20, 6: ["flu", "cold"] * 10})
    age = {"role": "quasi", "hierarchy": {"intervals": [5]}}
    attributes = {"age": age, "5": {"role": "insensitive"}, "6": {"role": "sensitive"}}
    release = rf.anonymize(frame, rf.Spec(attributes=attributes, privacy={"k": 2}))
    assert [*release.table.columns] == ["age", "5", "6"]
    assert release.table["5"].tolist() == [1] * 20
    assert release.table["5"].dtype == frame[5].dtype


def test_a_column_of_numbers_and_words_is_refused_with_what_helps() -> None:
    frame = pd.DataFrame({"age": [31, "unknown", 38]})
    with pytest.raises(DataError, match=r"table: Could not convert 'unknown'.* column age .* one type, such as text"):
        rf.draft(frame)


def odd_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:  # noqa: ARG001
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return pd.DataFrame([[*row] for row in rows], columns=table.column_names)


def odd_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "odd.parquet")
    return folder / "odd.parquet"


def odd_arrow(table: pa.Table, folder: Path) -> Path:
    pyarrow.feather.write_feather(table, str(folder / "odd.arrow"))
    return folder / "odd.arrow"


@pytest.mark.parametrize("make", [lambda table, _: table, odd_pandas, odd_parquet, odd_arrow])
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["age", "", "note"], "column 2 has no name"),
        (["age", "note", "note"], "columns 2 and 3 are both called 'note'; rename one"),
        (["age", "age", "note"], "columns 1 and 2 are both called 'age'; rename one"),
        (["age", "", ""], "column 2 has no name"),
    ],
)
def test_columns_without_a_name_and_of_one_name_are_refused(
    names: list[str], said: str, make: Callable[[pa.Table, Path], Any], tmp_path: Path
) -> None:
    source = make(pa.table([["20", "21"], ["a", "b"], ["c", "d"]], names=names), tmp_path)
    age = {"role": "quasi", "hierarchy": "flat"}
    spec = rf.Spec(data={"unlisted": "drop"}, attributes={"age": age}, privacy={"k": 1})
    for use in (rf.draft, lambda table: rf.anonymize(table, spec), lambda table: rf.audit(table, spec)):
        with pytest.raises(DataError, match=said):
            use(source)


def test_a_column_without_a_name_is_refused_in_databases_and_in_json(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "odd.db")) as base:
        base.execute('CREATE TABLE people (age INTEGER, "" TEXT)')
    with pytest.raises(DataError, match="column 2 has no name"):
        opened(tmp_path / "odd.db")
    lines = tmp_path / "odd.jsonl"
    lines.write_text('{"age": 20, "": "a"}\n{"age": 21, "": "b"}\n')  # DuckDB calls it C1, and then finds no values
    with pytest.raises(DataError, match=r'odd.jsonl.* has objects with a key that has no name \(\{"": \.\.\.\}\)'):
        opened(lines)
    lines.write_text('{"C1": 20, "C2": "a"}\n')
    assert opened(lines).to_pylist() == [{"C1": 20, "C2": "a"}]


@pytest.mark.parametrize("encoding", ["idna", "undefined", "rot13", "nothing"])
def test_what_is_no_encoding_of_text_is_refused(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age\n20\n")
    with pytest.raises(SpecError, match=f"data.encoding = '{encoding}' is not an encoding that Python knows"):
        opened(tmp_path / "a.csv", encoding=encoding)


@pytest.mark.parametrize("encoding", ["undefined", "rot13", "nothing"])
def test_what_is_no_encoding_of_text_is_refused_of_hierarchies(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("20;*\n")
    age = {"role": "quasi", "hierarchy": {"file": "a.csv", "encoding": encoding}}
    spec = rf.Spec(attributes={"age": age}, privacy={"k": 1}).at(tmp_path)
    with pytest.raises(SpecError, match=f"attributes.age.hierarchy.file: cannot read .* as {encoding}"):
        rf.anonymize(pa.table({"age": ["20"]}), spec)


@pytest.mark.parametrize("word", ["20, 30", 'as "said"'])
def test_missing_values_that_need_quotes_are_refused_in_text_files(word: str, tmp_path: Path) -> None:
    table = pa.table({"age": [word, "31"], "sex": ["f", "m"]})
    with pytest.raises(SpecError, match=f"data.missing_values has {word!r}, and in text files none may hold"):
        opened(to_csv(tmp_path / "a.csv", table), missing_values=[word])
    pq.write_table(table, tmp_path / "a.parquet")
    assert opened(tmp_path / "a.parquet", missing_values=[word])["age"].to_pylist() == [None, "31"]


def test_a_name_that_no_file_can_have_is_told() -> None:
    with pytest.raises(DataError, match=r"cannot read 'a{60}\.\.\.' \(5,000 characters\): File name too long"):
        opened(Path("a" * 5_000))
