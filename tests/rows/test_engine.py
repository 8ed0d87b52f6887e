"""The engine through the public interface: every kind of source, every type of column, and rows that stay whole."""

import datetime as dt
import gc
import gzip
import json
import random
import re
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import DataError, EngineError, RingfenceError, SpecError
from ringfence.rows import duckdb_lines
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_sql import some_columns
from ringfence.rows.same_value import for_engine
from ringfence.rows.sources import LOW
from ringfence.rows.steps import numbered
from ringfence.spec.data import Data

FLAT = {"role": "quasi", "hierarchy": "flat"}
NUMBER = {"role": "quasi", "hierarchy": "flat", "order": "numeric"}
DAY = {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}}


def spec(
    k: int = 2, *, data: Mapping[str, Any] | None = None, method: Mapping[str, Any] | None = None, **roles: Any
) -> rf.Spec:
    """A specification of columns by their role, or by all that is to be said of them."""
    attributes = {name: role if isinstance(role, dict) else {"role": role} for name, role in roles.items()}
    return rf.Spec(data=dict(data or {}), attributes=attributes, privacy={"k": k}, method=dict(method or {}))


def at(**levels: int) -> dict[str, Any]:
    """A method that publishes at these levels, whatever must be suppressed."""
    return {"name": "levels", "levels": levels, "suppression": 1}


# Every kind of source


def make_people(rows: int = 300) -> pa.Table:
    """People with an own number each, without missing values."""
    draw = random.Random(5)
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "name": [f"person {i}" for i in range(rows)],
            "age": pa.array([draw.randint(20, 59) for _ in range(rows)], pa.int64()),
            "sex": [draw.choice("fm") for _ in range(rows)],
            "postcode": [f"0{draw.randint(120, 140)}" for _ in range(rows)],
            "seen": [dt.date(2020, 1, 1) + dt.timedelta(draw.randint(0, 900)) for _ in range(rows)],
            "illness": [draw.choice(["flu", "cold", "ache"]) for _ in range(rows)],
            "note": [f'note, "{i}"\n{"é" * (i % 3)}' for i in range(rows)],
        }
    )


PEOPLE = make_people()
PEOPLE_SPEC = rf.Spec(
    data={"unlisted": "publish"},
    attributes={
        "id": {"role": "insensitive"},
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": FLAT,
        "postcode": {"role": "quasi", "hierarchy": {"mask": "right"}},
        "seen": {"role": "quasi", "hierarchy": {"dates": ["quarter", "year"]}},
        "illness": {"role": "sensitive"},
    },
    privacy={"k": 4, "l": 2},
    method={"suppression": 0.1},
)


@pytest.fixture(scope="module")
def expected() -> rf.Release:
    """The release of the people, from Arrow."""
    return rf.anonymize(PEOPLE, PEOPLE_SPEC)


def as_csv(path: Path) -> Any:
    pa.csv.write_csv(PEOPLE, path / "people.csv")
    return path / "people.csv"


def as_parquet(path: Path) -> Any:
    pq.write_table(PEOPLE, path / "people.parquet", row_group_size=70)
    return str(path / "people.parquet")


def as_arrow_file(path: Path) -> Any:
    with pa.ipc.new_file(path / "people.arrow", PEOPLE.schema) as file:
        file.write_table(PEOPLE, max_chunksize=70)
    return path / "people.arrow"


def as_arrow_stream(path: Path) -> Any:
    with pa.ipc.new_stream(path / "people.ipc", PEOPLE.schema) as stream:
        stream.write_table(PEOPLE, max_chunksize=70)
    return path / "people.ipc"


def as_compressed_feather(path: Path) -> Any:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(path / "people.feather", PEOPLE.schema, options=options) as file:
        file.write_table(PEOPLE)
    return path / "people.feather"


SOURCES: dict[str, tuple[Callable[[Path], Any], type | str]] = {
    "CSV": (as_csv, pa.Table),
    "Parquet": (as_parquet, pa.Table),
    "Arrow file": (as_arrow_file, pa.Table),
    "Arrow stream": (as_arrow_stream, pa.Table),
    "compressed Arrow file": (as_compressed_feather, pa.Table),
    "Arrow table in chunks": (lambda _: pa.concat_tables([PEOPLE.slice(0, 100), PEOPLE.slice(100)]), pa.Table),
    "Arrow batch": (lambda _: PEOPLE.combine_chunks().to_batches()[0], pa.Table),
    "Arrow reader": (lambda _: PEOPLE.to_reader(), pa.Table),
    "pandas": (lambda _: PEOPLE.to_pandas(), pd.DataFrame),
    "pandas with Arrow inside": (lambda _: PEOPLE.to_pandas(types_mapper=pd.ArrowDtype), pd.DataFrame),
    "Polars": (lambda _: pl.from_arrow(PEOPLE), pl.DataFrame),
    "DuckDB": (lambda _: duckdb.from_arrow(PEOPLE), duckdb.DuckDBPyRelation),
    "own DuckDB connection": (lambda _: duckdb.connect().from_arrow(PEOPLE), duckdb.DuckDBPyRelation),
}


def plain_rows(table: Any) -> list[tuple[str, ...]]:
    """The rows of any kind of table, as text and sorted."""
    if isinstance(table, duckdb.DuckDBPyRelation):
        names, rows = table.columns, table.fetchall()
    elif isinstance(table, pd.DataFrame):
        names, rows = list(table.columns), list(table.itertuples(index=False, name=None))
    elif isinstance(table, pl.DataFrame):
        names, rows = table.columns, table.rows()
    else:
        names, rows = table.column_names, [tuple(row.values()) for row in table.to_pylist()]
    assert list(names) == ["id", "age", "sex", "postcode", "seen", "illness", "note"]
    return sorted(tuple(map(str, row)) for row in rows)


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_table_from_anywhere_gives_the_same_release(kind: str, tmp_path: Path, expected: rf.Release) -> None:
    make, returned = SOURCES[kind]
    release = rf.anonymize(make(tmp_path), PEOPLE_SPEC)
    assert isinstance(release.table, returned)  # type: ignore[arg-type]
    assert release.plan == expected.plan
    assert release.metrics == expected.metrics
    assert release.audit == expected.audit
    assert plain_rows(release.table) == plain_rows(expected.table)


@pytest.mark.parametrize("kind", ["pandas", "Polars", "DuckDB", "own DuckDB connection"])
def test_the_table_that_was_passed_in_is_untouched(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind][0](tmp_path)
    before = pa.table(source) if kind == "Polars" else source.df() if "DuckDB" in kind else source.copy(deep=True)
    rf.anonymize(source, PEOPLE_SPEC)
    after = pa.table(source) if kind == "Polars" else source.df() if "DuckDB" in kind else source
    assert before.equals(after)


@pytest.mark.parametrize("kind", ["CSV", "Parquet", "Arrow file"])
def test_the_file_that_was_read_is_untouched(kind: str, tmp_path: Path) -> None:
    path = Path(SOURCES[kind][0](tmp_path))
    before = path.read_bytes()
    rf.anonymize(path, PEOPLE_SPEC)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_table_the_specification_says_where_it_is(tmp_path: Path, expected: rf.Release) -> None:
    as_csv(tmp_path)
    named = rf.Spec(
        **{
            **PEOPLE_SPEC.model_dump(by_alias=True, exclude_unset=True),
            "data": {"source": "people.csv", "unlisted": "publish"},
        }
    )
    assert plain_rows(rf.anonymize(None, named.at(tmp_path)).table) == plain_rows(expected.table)
    with pytest.raises(SpecError, match=r"data\.source"):
        rf.anonymize(None, PEOPLE_SPEC)


# A connection of the caller's


PAIRS = "SELECT * FROM (VALUES ('a', 1), ('a', 2), ('b', 3), ('b', 4)) AS pairs(q, n)"


def catalogue(connection: Any) -> list[Any]:
    """All that a connection has names for."""
    found: list[Any] = connection.execute(
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    return sorted(found)


@pytest.mark.parametrize("name", ["release", "source", "table", "rows", "people", "table 1"])
def test_tables_of_the_callers_connection_are_neither_read_nor_changed(name: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE \"{name}\" AS SELECT 'mine' AS q, 0 AS n")
    before = catalogue(connection)
    release = rf.anonymize(connection.sql(PAIRS), spec(q=FLAT, n="insensitive"))
    assert sorted(release.table.fetchall()) == [("a", 1), ("a", 2), ("b", 3), ("b", 4)]
    assert connection.execute(f'SELECT * FROM "{name}"').fetchall() == [("mine", 0)]
    assert catalogue(connection) == before


def test_a_relation_stays_usable_after_another_release() -> None:
    relation = duckdb.connect().sql(PAIRS)
    first = rf.anonymize(relation, spec(q=FLAT, n="insensitive")).table
    second = rf.anonymize(relation, spec(4, q=FLAT, n="insensitive")).table
    assert sorted(first.fetchall()) == [("a", 1), ("a", 2), ("b", 3), ("b", 4)]
    assert sorted(second.fetchall()) == [("*", 1), ("*", 2), ("*", 3), ("*", 4)]
    assert relation.fetchall() == [("a", 1), ("a", 2), ("b", 3), ("b", 4)]


def test_a_connection_that_may_not_look_at_python_objects_works() -> None:
    connection = duckdb.connect(config={"python_enable_replacements": False})
    release = rf.anonymize(connection.sql(PAIRS), spec(q=FLAT, n="insensitive"))
    assert len(release.table.fetchall()) == 4


# Tables that cannot be read


@pytest.mark.parametrize(
    "source",
    [
        {"q": ["a"]},
        [{"q": "a"}],
        5,
        pd.DataFrame({"q": ["a", 1]}, dtype=object),
        pd.DataFrame([["a", "b"]], columns=["q", "q"]),
        pd.DataFrame({"": ["a"]}),
        pd.DataFrame(),
        pd.DataFrame({"q": []}),
        pd.Series(["a"], name="q"),
        pl.Series("q", ["a"]),
        pa.table([["a"], ["b"]], names=["q", "q"]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_not_a_table_of_named_columns_is_refused(source: Any) -> None:
    with pytest.raises(DataError):
        rf.anonymize(source, spec(1, data={"unlisted": "drop"}, q=FLAT))


@pytest.mark.parametrize("table", [pa.table({"q": ["a"], "Q": ["b"]}), pd.DataFrame({"q": ["a"], "Q": ["b"]})])
@pytest.mark.parametrize("roles", [{"q": FLAT, "Q": FLAT}, {"q": FLAT}])
def test_names_that_differ_in_case_are_named(table: Any, roles: Any) -> None:
    with pytest.raises(DataError, match=r"'q'.*'Q'"):
        rf.anonymize(table, spec(1, data={"unlisted": "publish"}, **roles))


def test_a_column_of_mixed_types_is_named() -> None:
    with pytest.raises(DataError, match="mixed"):
        rf.anonymize(pd.DataFrame({"q": ["a", "a"], "mixed": ["a", 1]}), spec(q=FLAT, mixed="insensitive"))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([Decimal(1), Decimal(2)], pa.decimal256(60, 2)),
    ],
    ids=lambda array: str(array.type),
)
def test_a_quasi_identifier_of_a_type_that_has_no_labels_is_refused(array: pa.Array) -> None:
    with pytest.raises(RingfenceError, match=r"'q'|Decimal"):
        rf.anonymize(pa.table({"q": array}), spec(1, q=FLAT))


# Types


NOON = dt.datetime(2024, 3, 31, 12, 30)
TYPED = [
    pa.array([1, 2, None], pa.int8()),
    pa.array([2**62, 2, None], pa.int64()),
    pa.array([2**64 - 1, 2, None], pa.uint64()),
    pa.array([1.5, -2, None], pa.float32()),
    pa.array([1.5, 1e300, None], pa.float64()),
    pa.array([True, False, None]),
    pa.array([dt.date(2024, 3, 31), dt.date(1850, 1, 1), None]),
    pa.array([NOON, NOON, None], pa.timestamp("s")),
    pa.array([NOON, NOON, None], pa.timestamp("us")),
    pa.array([NOON, NOON, None], pa.timestamp("ns")),
    pa.array([NOON, NOON, None], pa.timestamp("us", "UTC")),
    pa.array([NOON, NOON, None], pa.timestamp("us", "America/Lima")),
    pa.array([dt.time(12, 30), dt.time(0), None], pa.time64("us")),
    pa.array([dt.timedelta(3), dt.timedelta(0, 5), None], pa.duration("us")),
    pa.array([Decimal("1.50"), Decimal("-2.00"), None], pa.decimal128(10, 2)),
    pa.array(["01234", " ", None], pa.string()),
    pa.array(["01234", " ", None], pa.large_string()),
    pa.array(["a", "b", None]).dictionary_encode(),
    pa.array([10, 20, None]).dictionary_encode(),
    pa.array([b"\xff", b"", None], pa.binary()),
]


@pytest.mark.parametrize("array", TYPED, ids=lambda array: str(array.type))
@pytest.mark.parametrize("role", ["quasi", "insensitive"])
def test_what_is_not_generalized_keeps_its_type_and_values(array: pa.Array, role: str) -> None:
    table = pa.table({"n": [0, 1, 2], "x": array})
    release = rf.anonymize(table, spec(1, n=FLAT, x=FLAT if role == "quasi" else role)).table
    assert release.schema.field("x").type == array.type
    assert release.sort_by("n")["x"].to_pylist() == array.to_pylist()


FINE = [
    pa.array([0, 2**63, 2**64 - 1, 2**63], pa.uint64()),
    pa.array([1, 2**40 + 1, 5, 5], pa.timestamp("ns")),
    pa.array([1, 2**40 + 1, 5, 5], pa.time64("ns")),
]


@pytest.mark.parametrize("array", [*TYPED, *FINE], ids=lambda array: str(array.type))
def test_a_condition_holds_for_the_same_rows_of_a_table_in_memory_and_of_one_that_the_engine_made(
    array: pa.Array,
) -> None:
    with DuckDB(Data()) as engine:
        with engine.aside():
            engine.hold(pa.table({"n": range(len(array)), "x": array}))  # its name is given again
        held = engine.hold(for_engine(pa.table({"n": range(len(array)), "x": array})))
        kept = engine.keep(held)
        values = kept.filter(kept.n.isin([0, 1])).select("x").distinct()
        some = engine.keep(values.mutate(there=ibis.literal(True)))
        asked: list[Callable[[ibis.Table], ibis.Table]] = [
            lambda rows: rows.filter(rows.x.isin(values.x)),
            lambda rows: rows.semi_join(some, "x"),
            lambda rows: rows.filter(rows.x.isin([rows.x.min(), rows.x.max()])),
            lambda rows: rows.filter(rows.x >= values.x.max().as_scalar()),
        ]
        for ask in asked:
            found = [engine.fetch(ask(rows).select("n").order_by("n")) for rows in (held, kept)]
            assert found[0] == found[1]


@pytest.mark.parametrize("array", FINE, ids=lambda array: str(array.type))
@pytest.mark.parametrize("keep", [True, False])
def test_rows_of_few_values_that_arrow_is_told_wrongly_are_suppressed(array: pa.Array, keep: bool) -> None:
    micro = array if array.type == pa.uint64() else pc.multiply(array.cast(pa.int64()), 1000).cast(array.type)
    table = pa.table({"x": pa.concat_arrays([micro] * 4), "y": [*"aabb"] * 4})
    method = {"name": "optimal", "scheme": "set", "suppression": 1, "keep_suppressed": keep}
    release = rf.anonymize(table, spec(3, x=FLAT, y=FLAT, method=method))
    assert release.audit.ok
    assert min(Counter(zip(*(release.table[name].to_pylist() for name in "xy"), strict=True)).values()) >= 3


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (pa.array([5000, 1], pa.timestamp("ns")), r"'x' has 1970-01-01 00:00:00\.000000001, which is more exact"),
        (pa.array([5000, 1], pa.timestamp("ns", "Asia/Tokyo")), r"'x' has 1970-01-01 09:00:00\.000000001, which is mo"),
        (pa.array([5000, 1], pa.time64("ns")), r"'x' has 00:00:00\.000000001, which is more exact than micros"),
        (pa.array([0, 253402300800], pa.timestamp("s")), r"'x' has 10000-01-01 00:00:00; allowed: .* 1 to 9999"),
        (pa.array([0, 2**62], pa.timestamp("s")), r"'x' has 4611686018427387904; allowed: .* 1 to 9999"),
        (pa.array([0, 2**31 - 2], pa.date32()), r"'x' has 2147483646; allowed: .* 1 to 9999"),
        (pa.array([0, 2**31 - 1], pa.date32()), r"'x' has infinity; allowed: .* 1 to 9999"),
        (pa.array([0, 1 - 2**63], pa.timestamp("us")), r"'x' has -infinity; allowed: .* 1 to 9999"),
    ],
    ids=lambda part: str(part.type) if isinstance(part, pa.Array) else None,
)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_moments_that_are_too_exact_or_too_far_are_refused_with_the_first_of_them(
    array: pa.Array, said: str, role: str
) -> None:
    table = pa.table({"x": array, "y": ["a", "a"]})
    attributes = {"x": FLAT if role == "quasi" else {"role": role}, "y": FLAT}
    with pytest.raises(DataError, match=said):
        rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 1} if role == "quasi" else {"k": 1, "l": 2}))
    with pytest.raises(DataError, match=said):
        rf.audit(table, spec(1, x=FLAT, y=FLAT))


def test_a_draft_of_days_that_are_too_far_is_refused() -> None:
    table = pa.table({"x": pa.array([0, 253402300800], pa.timestamp("s")), "y": ["a", "a"]})
    with pytest.raises(DataError, match=r"'x' has 10000-01-01; allowed: days and moments of the years 1 to 9999"):
        rf.draft(table)


def test_moments_that_nobody_compares_stay_as_exact_as_they_are() -> None:
    table = pa.table({"x": pa.array([5000, 1], pa.timestamp("ns")), "y": ["a", "a"]})
    release = rf.anonymize(table, spec(2, x="insensitive", y=FLAT)).table
    assert sorted(release["x"].cast(pa.int64()).to_pylist()) == [1, 5000]


def test_nested_values_travel() -> None:
    table = pa.table({"q": ["a", "a"], "x": [[1, 2], None], "y": [{"u": 1, "v": "w"}, None]})
    release = rf.anonymize(table, spec(q=FLAT, x="insensitive", y="insensitive")).table
    assert release.schema.types == table.schema.types
    assert sorted(map(str, release.to_pylist())) == sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3, 4]),
        pd.Series([1.5, 2, None, 4]),
        pd.Series([True, False, True, True]),
        pd.Series([2**60 + 1, None, 3, 4], dtype="Int64"),
        pd.Series(["x", "y", "x", None], dtype="category"),
        pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02", None, None])),
        pd.Series(pd.to_timedelta([1, 2, 3, None], unit="h")),
    ],
    ids=["integers", "floats", "truth", "integers with gaps", "categories", "times", "durations"],
)
def test_pandas_columns_come_back_as_they_went_in(column: Any) -> None:
    table = pd.DataFrame({"q": ["a"] * 4, "n": range(4), "x": column})
    release = rf.anonymize(table, spec(q=FLAT, n="insensitive", x="insensitive")).table
    returned = release.sort_values("n")["x"].reset_index(drop=True)
    pd.testing.assert_series_equal(returned, column, check_names=False)


@pytest.mark.parametrize(
    ("array", "hierarchy", "labels"),
    [
        (pa.array([1, 2, 13, 14]), {"intervals": [10]}, ["[0, 10)", "[0, 10)", "[10, 20)", "[10, 20)"]),
        (pa.array([Decimal("1.5"), Decimal("2.5")]), {"intervals": [2]}, ["[0, 2)", "[2, 4)"]),
        (pa.array([dt.date(2024, 3, 31), dt.date(2024, 3, 1)]), {"dates": ["month"]}, ["2024-03", "2024-03"]),
        (pa.array([NOON, NOON], pa.timestamp("us")), {"dates": ["month"]}, ["2024-03", "2024-03"]),
        (pa.array([True, False]), {"tree": {"any": ["true"], "none": ["false"]}}, ["any", "none"]),
        (pa.array([7, 8]), {"tree": {"low": ["7"], "high": ["8"]}}, ["low", "high"]),
        (pa.array(["ab", "b"], pa.large_string()), {"mask": "left"}, ["*b", "b"]),
        (pa.array(["b", "c"]).dictionary_encode(), {"tree": {"x": ["b"], "y": ["c"]}}, ["x", "y"]),
    ],
    ids=lambda part: str(part.type) if isinstance(part, pa.Array) else None,
)
def test_what_is_generalized_becomes_text(array: pa.Array, hierarchy: Any, labels: list[str]) -> None:
    table = pa.table({"x": array, "n": range(len(array))})
    asked = spec(1, x={"role": "quasi", "hierarchy": hierarchy}, n="insensitive", method=at(x=1))
    release = rf.anonymize(table, asked).table
    assert release.schema.field("x").type == pa.string()
    assert release.sort_by("n")["x"].to_pylist() == labels


def test_days_keep_their_type_until_they_are_generalized() -> None:
    for kind in (pa.date32(), pa.timestamp("us"), pa.timestamp("ns")):
        array = pa.array([dt.datetime(2024, 3, 31), dt.datetime(2024, 4, 1)]).cast(kind)
        release = rf.anonymize(pa.table({"x": array}), spec(1, x=DAY)).table
        assert release.schema.field("x").type == array.type
        assert sorted(release["x"].to_pylist()) == array.to_pylist()


def test_the_day_of_a_time_is_that_of_its_own_zone() -> None:
    instant = dt.datetime(2023, 12, 31, 23, 30, tzinfo=dt.UTC)  # already next year in Helsinki
    table = pa.table({"x": pa.array([instant] * 2, pa.timestamp("us", "Europe/Helsinki"))})
    release = rf.anonymize(table, spec(x=DAY, method=at(x=2))).table
    assert release["x"].to_pylist() == ["2024", "2024"]


def test_digits_of_other_scripts_are_text(tmp_path: Path) -> None:
    table = pa.table({"x": ["٣", "10", "11", "12"]})
    asked = rf.Spec(
        attributes={"x": {"role": "quasi", "hierarchy": {"fanout": 2}}},
        privacy={"k": 1},
        method={"name": "levels", "levels": {"x": 1}},
    )
    assert rf.anonymize(table, asked).audit.ok
    (tmp_path / "lone.csv").write_bytes(b"x\na\rb\nc\n")
    with pytest.raises(DataError, match=r"lone\.csv"):
        rf.anonymize(tmp_path / "lone.csv", rf.Spec(attributes={"x": FLAT}, privacy={"k": 1}))


def test_a_postcode_keeps_its_zero(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("zip,n\n01234,007\n01234,1e5\n")
    asked = spec(zip={"role": "quasi", "hierarchy": {"mask": "right"}}, n="insensitive")
    release = rf.anonymize(tmp_path / "people.csv", asked).table
    assert sorted(map(tuple, map(dict.values, release.to_pylist()))) == [("01234", "007"), ("01234", "1e5")]


@pytest.mark.parametrize("hierarchy", ["flat", {"intervals": [5]}])
def test_a_number_in_many_spellings_is_one_value(hierarchy: Any, tmp_path: Path) -> None:
    spellings = ["7", "07", "7.0", " 7", "+7", "7e0", "8.5", "8.50", "08.5", "850e-2", "8.5 ", "+8.5"]
    asked = spec(6, x={"role": "quasi", "hierarchy": hierarchy, "order": "numeric"})
    for table in (pa.table({"x": spellings}), pd.DataFrame({"x": spellings})):
        release = rf.anonymize(table, asked)
        assert release.metrics["classes"] == 2
        assert len({*release.table["x"].to_pylist()} if isinstance(table, pa.Table) else {*release.table["x"]}) == 2
    _, *words = rf.anonymize(pa.table({"x": spellings}), asked).save(tmp_path, report=False).read_text().split()
    assert sorted(map(Decimal, words)) == [Decimal(7)] * 6 + [Decimal("8.5")] * 6
    assert len({*words}) == 2


@pytest.mark.parametrize(
    "numbers",
    [
        ["9223372036854775809", "9223372036854775810"],
        ["9007199254740993", "0.5"],
        ["0.12345678901234567891", "0.12345678901234567892"],
        ["123456789012345678901234567890", "-1"],
    ],
)
def test_numbers_are_published_to_the_last_digit(numbers: list[str]) -> None:
    release = rf.anonymize(pa.table({"x": numbers * 2}), spec(2, x=NUMBER))
    assert sorted(Decimal(str(value)) for value in release.table["x"].to_pylist()) == sorted(map(Decimal, numbers * 2))


@pytest.mark.parametrize(
    "twins", [("9223372036854775809", "9223372036854775810"), ("0.12345678901234567891", "0.12345678901234567892")]
)
def test_numbers_that_differ_in_the_last_digit_are_not_suppressed_together(twins: tuple[str, str]) -> None:
    release = rf.anonymize(pa.table({"x": [twins[0]] * 3 + [twins[1]] + ["5"] * 2}), spec(x=NUMBER, method=at(x=0)))
    assert release.metrics["suppressed"] == 1
    assert release.table.num_rows == 5


# Rows stay whole


@pytest.fixture(scope="module")
def people_by_id() -> dict[int, dict[str, Any]]:
    """The people by their number."""
    return {row["id"]: row for row in PEOPLE.to_pylist()}


@pytest.mark.parametrize("keep", [True, False])
def test_every_value_stays_with_its_row(keep: bool, people_by_id: dict[int, dict[str, Any]]) -> None:
    parts = PEOPLE_SPEC.model_dump(by_alias=True, exclude_unset=True)
    method = {**at(age=1, postcode=1, seen=2), "keep_suppressed": keep}
    release = rf.anonymize(PEOPLE, rf.Spec(**{**parts, "method": method}))
    assert 0 < release.plan.suppressed_rows < PEOPLE.num_rows
    assert release.plan.masked == keep
    labels = {
        name: dict(zip(column.leaves, column.labels, strict=True)) for name, column in release.plan.columns.items()
    }
    seen = []
    masked = 0
    for row in release.table.to_pylist():
        original = people_by_id[row["id"]]
        published = {name: str(row[name]) for name in labels}
        if keep and set(published.values()) == {"*"}:
            masked += 1
        else:
            assert published == {name: labels[name][str(original[name])] for name in labels}
        assert (row["illness"], row["note"]) == (original["illness"], original["note"])
        assert "name" not in row
        seen.append(row["id"])
    assert len(seen) == len({*seen}) == PEOPLE.num_rows - (0 if keep else release.plan.suppressed_rows)
    assert masked == (release.plan.suppressed_rows if keep else 0)


def test_the_order_of_rows_is_neither_the_inputs_nor_twice_the_same() -> None:
    table = pa.table({"id": range(1000), "q": ["a", "b"] * 500})
    for level in (0, 1):
        asked = spec(id="insensitive", q=FLAT, method=at(q=level))
        one, other = (rf.anonymize(table, asked).table["id"].to_pylist() for _ in range(2))
        assert sorted(one) == sorted(other) == list(range(1000))
        assert len({tuple(one), tuple(other), tuple(range(1000)), tuple(range(999, -1, -1))}) == 4
        assert sum(a < b for a, b in pairwise(one)) in range(400, 600)


def test_a_seed_does_not_fix_the_order_of_rows() -> None:
    table = pa.table({"id": range(1000), "q": ["a", "b"] * 500})
    asked = spec(id="insensitive", q=FLAT, method={"name": "local", "seed": 7})
    one, other = (rf.anonymize(table, asked).table["id"].to_pylist() for _ in range(2))
    assert one != other


def test_columns_come_in_the_order_of_the_data() -> None:
    table = pa.table({"c": ["x"] * 2, "b": ["x"] * 2, "a": ["x"] * 2, "d": ["x"] * 2})
    asked = spec(data={"unlisted": "publish"}, a=FLAT, b="sensitive", d="identifier")
    assert rf.anonymize(table, asked).table.column_names == ["c", "b", "a"]


# Missing values and suppressed rows


def test_missing_and_empty_are_one_value_everywhere() -> None:
    table = pa.table({"q": ["", None, None, "x", "x"], "n": range(5)})
    release = rf.anonymize(table, spec(q=FLAT, n="insensitive"))
    assert release.table.sort_by("n")["q"].to_pylist() == [None, None, None, "x", "x"]
    assert release.audit.measured["missing"] == 3


@pytest.mark.parametrize("kind", ["arrow", "parquet", "csv"])
def test_what_stands_for_missing_does_so_in_every_source(kind: str, tmp_path: Path) -> None:
    asked = spec(data={"missing": "suppress", "missing_values": ["?"]}, q=FLAT)
    table = pa.table({"q": ["?", "", "x", "x"]})
    source: Any = table
    if kind != "arrow":
        source = tmp_path / f"table.{kind}"
        (pq.write_table if kind == "parquet" else pyarrow.csv.write_csv)(table, source)
    release = rf.anonymize(source, asked)
    assert release.table["q"].to_pylist() == ["x", "x"]
    assert release.incomplete == 2


def test_rows_that_miss_a_value_go_before_anything_is_counted() -> None:
    table = pa.table({"q": ["a", "a", None], "s": ["x", "y", "x"], "n": [1, None, 3]})
    asked = spec(data={"missing": "suppress"}, q=FLAT, s="sensitive", n="insensitive")
    release = rf.anonymize(table, asked)
    assert release.incomplete == 1
    assert release.metrics["rows"] == 2
    assert sorted(release.table["n"].to_pylist(), key=str) == [1, None]


def test_masked_rows_have_stars_in_columns_of_any_type() -> None:
    table = pa.table(
        {
            "i": [1, 1, 2, 3],
            "d": [dt.date(2024, 1, 1)] * 4,
            "f": [1.5, 1.5, 2.5, None],
            "b": [True, True, False, False],
            "n": [1, 2, 3, 4],
        }
    )
    release = rf.anonymize(
        table, spec(i=NUMBER, d=DAY, f=FLAT, b=FLAT, n="insensitive", method={**at(i=0), "keep_suppressed": True})
    )
    assert release.plan.masked
    assert release.table.sort_by("n").to_pylist() == [
        {"i": "1", "d": "2024-01-01", "f": "1.5", "b": "true", "n": 1},
        {"i": "1", "d": "2024-01-01", "f": "1.5", "b": "true", "n": 2},
        {"i": "*", "d": "*", "f": "*", "b": "*", "n": 3},
        {"i": "*", "d": "*", "f": "*", "b": "*", "n": 4},
    ]
    assert release.audit.measured["masked"] == 2


def test_suppressed_rows_that_are_too_few_to_mask_are_dropped() -> None:
    asked = spec(i=NUMBER, method={**at(i=0), "keep_suppressed": True})
    release = rf.anonymize(pa.table({"i": [1, 1, 2]}), asked)
    assert not release.plan.masked
    assert release.table["i"].to_pylist() == [1, 1]


# What the engine may use


@pytest.mark.parametrize("limit", ["4GB", "500 MiB", "1.5GB", "50MB", "48 MiB", "70000KB", "0.1TB"])
def test_a_memory_limit_is_accepted(limit: str) -> None:
    assert rf.anonymize(pa.table({"q": ["a", "a"]}), spec(data={"memory_limit": limit}, q=FLAT)).audit.ok


NO_SIZES = [
    "lots", "", " ", "4", "4G", "4gb", "4GB ", "4 bananas", "-1GB", "+1GB", "1e9GB", "1.GB", "\uff11GB", "0GB", "0.0TB",
    "1KB", "49MB", "1001TB", "99999999999999999999TB", "1" * 400 + "TB", "1GB'; SELECT 1; --", 4, ["4GB"],
]  # fmt: skip


@pytest.mark.parametrize("limit", NO_SIZES, ids=range(len(NO_SIZES)))
def test_a_nonsensical_memory_limit_is_refused(limit: Any) -> None:
    with pytest.raises(SpecError, match=r"^data\.memory_limit = .*: allowed: a size from 50MB to 1000TB, such as 4GB"):
        spec(data={"memory_limit": limit}, q=FLAT)


def test_a_memory_limit_that_is_too_small_for_the_rows_says_so() -> None:
    query = "SELECT list(i::VARCHAR || 'so much memory is not there') FROM range(5_000_000) AS t(i)"
    with DuckDB(Data(memory_limit="50MB")) as engine, pytest.raises(EngineError) as refusal, engine.blaming("rows"):
        engine._duckdb.execute(query)
    assert (
        str(refusal.value) == "rows: 47.6 MiB of memory do not suffice; give more by data.memory_limit, or leave it out"
    )


@pytest.mark.parametrize("start", ["import ringfence", "import ringfence.cli"])
def test_importing_is_light(start: str) -> None:
    heavy = ["numba", "ibis", "vl_convert", "nicegui", "pandas", "duckdb"]
    code = f"import sys, json; {start}; print(json.dumps([name for name in {heavy} if name in sys.modules]))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(finished.stdout) == []


def test_rows_are_shuffled_by_a_secret_and_not_by_the_engines_seed() -> None:
    """DuckDB's generator can be seeded in 2^32 ways, which could be tried one by one."""
    table = pa.table({"row": list(range(100))})
    orders = []
    with DuckDB(Data()) as engine:
        for _ in range(2):
            engine._duckdb.execute("SELECT setseed(0.5)")
            orders.append(engine.fetch(engine.shuffled(engine.open(table, Data())))["row"].to_pylist())
        numbers = engine.fetch(numbered(engine, engine.open(table, Data()), "number"))
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(100))
    assert sorted(numbers["number"].to_pylist()) == list(range(1, 101))
    assert [row["row"] for row in sorted(numbers.to_pylist(), key=lambda row: row["number"])] != list(range(100))


def test_counting_in_memory_is_counting_by_the_engine() -> None:
    rng = random.Random(5)
    table = pa.table(
        {
            "text": [rng.choice(["a", "", "é", None]) for _ in range(300)],
            "whole": pa.array([rng.choice([1, -1, None]) for _ in range(300)], pa.int16()),
            "flag": [rng.choice([True, False, None]) for _ in range(300)],
            "day": [rng.choice([dt.date(2024, 2, 29), dt.date(1960, 1, 1), None]) for _ in range(300)],
            "float": [rng.choice([0.0, -0.0, float("nan"), None, 1.5]) for _ in range(300)],
        }
    )

    def counted(memory_limit: str | None, columns: list[str]) -> set[tuple[Any, ...]]:
        with DuckDB(Data(memory_limit=memory_limit)) as engine:
            found = engine.count(engine.open(table, Data()), columns)
            return {tuple(row.values()) for row in found.to_pylist()}

    for columns in (["text"], ["day", "flag"], ["whole", "text", "flag", "day"], ["float", "text"]):
        ours = counted(None, columns)
        assert ours == counted("1GB", columns)
        assert sum(row[-1] for row in ours) == 300


@pytest.mark.parametrize("encoding", ["rot13", "latin-17"])
def test_what_is_no_encoding_of_text_is_refused(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("q\na\na\n", encoding="utf-8")
    with pytest.raises(SpecError, match=f"data.encoding = '{encoding}' is not an encoding"):
        rf.anonymize(tmp_path / "people.csv", spec(data={"encoding": encoding}, q=FLAT))


def test_the_log_says_how_much_memory_there_is_and_what_is_to_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("q\n" + "a\nb\nc\n" * 5, encoding="utf-8")
    plain = rf.anonymize(path, spec(q=FLAT))
    assert re.search(r"counting the rows, with up to [\d.]+ [GM]iB of memory$", plain.log[0])
    frugal = rf.anonymize(path, spec(data={"memory_limit": "1GB"}, q=FLAT))
    assert "up to 953.6 MiB of memory; there are about 3 different combinations" in frugal.log[0]
    monkeypatch.setattr("ringfence.release.jobs.MANY_ROWS", 14)
    assert "about 3 different combinations" in rf.anonymize(path, spec(q=FLAT)).log[0]


def test_text_is_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,zip\n30,01234\n31,\n30,01234\n")
    with DuckDB(Data()) as engine:
        rows = engine.at_hand(engine.open(path, Data()))
        path.unlink()
        assert engine.fetch(rows).to_pydict() == {"age": ["30", "31", "30"], "zip": ["01234", None, "01234"]}
        assert engine.first(rows, rows["zip"].isnull()) == 2
        held = engine.hold(pa.table({"a": [1]}))
        assert engine.at_hand(held) is held


def test_small_text_files_are_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,zip,name\n30,01234,Ann\n31,,Bo\n30,01234,Cy\n")
    monkeypatch.setattr(duckdb_lines, "SMALL", path.stat().st_size + 1)
    data = Data(types={"age": "int"})
    with DuckDB(data) as engine:
        rows = engine.folded(engine.open(path, data).drop("name"))
        path.unlink()
        held = engine.in_memory(rows, ["age", "zip"])
        assert held is not None
        assert held.schema.field("age").type == pa.int64()
        assert held.to_pydict() == {"age": [30, 31, 30], "zip": ["01234", None, "01234"]}
        assert engine.first(rows, rows["zip"].isnull()) == 2


@pytest.mark.parametrize(("limit", "packed"), [(None, False), ("1GB", False), (None, True)])
def test_other_text_files_are_not(
    limit: str | None, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / ("people.csv.gz" if packed else "people.csv"), b"age\n30\n31\n"
    path.write_bytes(gzip.compress(text) if packed else text)
    more = 10 if packed else 1 if limit is not None else 0
    monkeypatch.setattr(duckdb_lines, "SMALL", more * path.stat().st_size)
    with DuckDB(Data(memory_limit=limit)) as engine:
        rows = engine.folded(engine.open(path, Data()))
        assert engine.in_memory(rows, ["age"]) is None


def test_a_missing_column_is_told_before_rows_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,town\n30,Oslo\n31,Oslo,more\n")
    attributes = {"age": {"role": "quasi", "hierarchy": "flat"}, "city": {"role": "insensitive"}}
    spec = rf.Spec(data={"source": "people.csv"}, attributes=attributes, privacy={"k": 1}).at(tmp_path)
    with pytest.raises(DataError, match="has no column 'city'"):
        rf.run(spec, tmp_path / "out")


def test_columns_of_a_table_are_asked_for_without_a_compiler() -> None:
    table = pa.table({'a "b"': [1, 2], "ß": ["x", None], "C": [True, False], "d": [0.5, None]})
    with DuckDB(Data()) as engine:
        rows = engine.hold(table)
        engine._duckdb.register(rows.get_name(), table)
        plain = [
            rows,
            rows.drop("C"),
            rows.select("d", "ß"),
            rows.drop("C").select(rows["ß"].name("d"), rows["d"].name("ß"), rows['a "b"']).drop("ß"),
            rows.rename({"x": "d", "d": "C"}).select("x", "d", "ß").rename({"C": "x"}),
            rows.mutate(e=rows["d"]),
        ]
        for each in plain:
            said = some_columns(each.op())
            assert said is not None
            found = engine._duckdb.execute(said).to_arrow_table()
            compiled = engine._duckdb.execute(str(ibis.duckdb.compile(each))).to_arrow_table()
            assert found.equals(compiled)
            assert found.column_names == [*each.columns]
        other = engine.hold(table)
        joined = rows.inner_join(other, [rows["C"] == other["C"]])
        for each in (rows.filter(rows["C"]), rows.select(rows["d"] + 1), rows.distinct(), joined):
            assert some_columns(each.op()) is None


def test_statements_are_kept_and_secrets_are_not_in_them() -> None:
    """Runs of one shape have the same statements, and what was drawn in one has no part in the next."""
    from ringfence.rows.duckdb_sql import statement

    table = pa.table({"row": list(range(50)), "text": ["a", "b"] * 25})

    def run() -> tuple[list[int], list[int]]:
        with DuckDB(Data()) as engine:
            rows = engine.open(table, Data())
            order = engine.fetch(numbered(engine, rows, "number").order_by("number"))["row"].to_pylist()
            sums = engine.tally(rows, ["text"], ["row"], "a key" if not keys else "another key")
            keys.append("used")
            return order, sorted(sums[LOW].to_pylist())

    keys: list[str] = []
    first = run()
    before = statement.cache_info()
    second = run()
    after = statement.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 2)
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_what_an_engine_held_is_let_go_though_its_statements_are_kept() -> None:
    table = pa.table({"number": list(range(1000))})
    held = weakref.ref(table)
    with DuckDB(Data()) as engine:
        assert engine.fetch(engine.hold(table).limit(1)).num_rows == 1
        del table
        assert held() is not None
    del engine
    gc.collect()
    assert held() is None
