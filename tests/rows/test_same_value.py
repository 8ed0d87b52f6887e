"""What counts as one value: the same in memory and in files, in every type, and never two in a release."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import DataError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.same_value import canonical_table
from ringfence.spec.data import Data

FLAT = {"role": "quasi", "hierarchy": "flat"}
NAN = float("nan")
BERLIN = ZoneInfo("Europe/Berlin")
TWICE = [dt.datetime(2023, 10, 29, 2, 30, fold=fold, tzinfo=BERLIN) for fold in (0, 1)]
"""Half past two, shown twice when summer time ended."""

ODD: dict[str, tuple[pa.Array, list[Any]]] = {
    "zeros": (pa.array([-0.0, 0.0, 1.5]), [0.0, 0.0, 1.5]),
    "short zeros": (pa.array([-0.0, 0.0, 1.5], pa.float32()), [0.0, 0.0, 1.5]),
    "no numbers": (pa.array([NAN, None, 1.5]), [None, None, 1.5]),
    "empty text": (pa.array(["", None, "a"]), [None, None, "a"]),
    "long text": (pa.array(["?", "", "a"], pa.large_string()), [None, None, "a"]),
    "categories": (pa.array(["?", "a", None]).dictionary_encode(), [None, "a", None]),
    "lists": (pa.array([[-0.0, 1.0], [0.0, NAN], None]), [[0.0, 1.0], [0.0, None], None]),
    "structures": (pa.array([{"x": -0.0}, {"x": NAN}, None]), [{"x": 0.0}, {"x": None}, None]),
    "decimals": (
        pa.array([Decimal("1.1"), Decimal("1.10"), None], pa.decimal128(9, 2)),
        [Decimal("1.10"), Decimal("1.10"), None],
    ),
    "blanks stay": (pa.array([" ", "a ", "a"]), [" ", "a ", "a"]),
}


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether values are the same to the sign of a zero."""
    return str(found) == str(expected)


@pytest.mark.parametrize("kind", list(ODD))
def test_memory_and_files_agree_on_what_is_one_value(kind: str, tmp_path: Path) -> None:
    array, expected = ODD[kind]
    table, data = pa.table({"x": array}), Data(missing_values=["?"])
    assert same(canonical_table(table, data.missing_values)["x"].to_pylist(), expected)
    pq.write_table(table, tmp_path / "table.parquet")
    with pa.OSFile(str(tmp_path / "table.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for source in (table, tmp_path / "table.parquet", tmp_path / "table.arrow"):
        with DuckDB(data) as engine:
            assert same(engine.fetch(engine.open(source, data))["x"].to_pylist(), expected)


def test_times_are_what_clocks_show_in_memory_and_in_files(tmp_path: Path) -> None:
    table = pa.table(
        {"x": pa.array([*TWICE, dt.datetime(2024, 1, 1, 0, 30, tzinfo=BERLIN)], pa.timestamp("us", "Europe/Berlin"))}
    )
    pq.write_table(table, tmp_path / "table.parquet")
    half_past = dt.datetime(2023, 10, 29, 2, 30)
    for source in (table, tmp_path / "table.parquet"):
        with DuckDB(Data()) as engine:
            found = engine.fetch(engine.open(source, Data()))["x"].to_pylist()
        assert found == [half_past, half_past, dt.datetime(2024, 1, 1, 0, 30)]


def test_a_day_has_no_time_of_day() -> None:
    table = pa.table({"x": pa.array([0, 5, 86_400_000], pa.int64()).cast(pa.date64(), safe=False)})
    assert canonical_table(table, [])["x"].cast(pa.int64()).to_pylist() == [0, 0, 86_400_000]


def test_what_is_canonical_is_not_touched() -> None:
    table = pa.table({"x": [1.5, None], "y": ["a", None], "z": [[1.5], None]})
    for name in table.column_names:
        assert canonical_table(table, [])[name] is not None
        assert canonical_table(table, []).column(name).chunk(0).equals(table[name].chunk(0))


def test_spans_of_months_are_refused() -> None:
    months = pa.array([pa.MonthDayNano([1, 0, 0]), pa.MonthDayNano([0, 30, 0])])
    with pytest.raises(DataError, match="'x' holds spans of months"):
        canonical_table(pa.table({"x": months}), [])


# Releases


def spec(**roles: Any) -> rf.Spec:
    """All rows are one class: what else is published is published as it is."""
    attributes = {name: role if isinstance(role, dict) else {"role": role} for name, role in roles.items()}
    return rf.Spec(attributes={"q": FLAT, **attributes}, privacy={"k": 2})


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": duckdb.from_arrow,
}


def as_arrow(table: Any) -> pa.Table:
    """Any kind of table as Arrow, with NaN where it has NaN."""
    if isinstance(table, pd.DataFrame):
        return pa.table({name: pa.array(column.to_list(), from_pandas=False) for name, column in table.items()})
    return table.to_arrow() if isinstance(table, pl.DataFrame) else pa.table(table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ["insensitive", "sensitive", FLAT], ids=str)
def test_one_value_is_published_as_one(kind: str, role: Any) -> None:
    table = pa.table({"q": ["a"] * 4, "x": pa.array([-0.0, 0.0, -0.0, 0.0])})
    release = rf.anonymize(KINDS[kind](table), spec(x=role))
    assert same(as_arrow(release.table)["x"].to_pylist(), [0.0] * 4)


def test_pandas_objects_come_back_as_one_value_each() -> None:
    frame = pd.DataFrame({"q": ["a"] * 4})
    frame["price"] = pd.Series([Decimal("1.1"), Decimal("1.10"), Decimal("1.1"), None], dtype=object)
    frame["text"] = pd.Series(["x", None, NAN, ""], dtype=object)
    frame["seen"] = pd.Series([*TWICE, *TWICE]).astype("datetime64[us, Europe/Berlin]")
    frame["size"] = pd.array([NAN, pd.NA, 1.0, -0.0], dtype="Float64")
    release = rf.anonymize(frame, spec(price="insensitive", text="insensitive", seen="insensitive", size="insensitive"))
    found = release.table
    assert sorted(map(str, found["price"])) == ["1.10", "1.10", "1.10", "None"]
    assert sorted(map(repr, found["text"])) == ["'x'", "None", "None", "None"]
    assert {moment.utcoffset() for moment in found["seen"]} == {dt.timedelta(hours=2)}
    assert found["seen"].dtype == frame["seen"].dtype
    assert sorted(map(str, found["size"])) == ["0.0", "1.0", "<NA>", "<NA>"]


CATEGORICAL: dict[str, tuple[Callable[[], Any], Callable[[Any], list[Any]]]] = {
    "pandas": (
        lambda: pd.DataFrame({"q": list("aab"), "x": pd.Categorical(["u", "v", "canary"], ["w", "v", "canary", "u"])}),
        lambda table: [*table["x"].cat.categories],
    ),
    "polars": (
        lambda: pl.DataFrame({"q": list("aab"), "x": ["u", "v", "canary"]}).with_columns(
            pl.col("x").cast(pl.Enum(["w", "v", "canary", "u"]))
        ),
        lambda table: table.schema["x"].categories.to_list(),
    ),
    "arrow": (
        lambda: pa.table({"q": list("aab"), "x": pa.array(["v", "u", "canary"]).dictionary_encode()}),
        lambda table: table["x"].combine_chunks().dictionary.to_pylist()[::-1],
    ),
}


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_categories_of_suppressed_rows_are_not_published(kind: str) -> None:
    make, categories = CATEGORICAL[kind]
    asked = rf.Spec(
        attributes={"q": FLAT, "x": {"role": "insensitive"}},
        privacy={"k": 2},
        method={"name": "levels", "levels": {"q": 0}, "suppression": 1},
    )
    release = rf.anonymize(make(), asked)
    assert len(release.table) == 2
    assert categories(release.table) == ["v", "u"]


def test_an_ordered_dictionary_keeps_its_order() -> None:
    values = pa.array(["low", "high", "low", "high"])
    ordered = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 2, 0], pa.int8()), pa.array(["high", "mid", "low"]), ordered=True
    )
    release = rf.anonymize(pa.table({"q": ["a"] * 4, "x": ordered}), spec(x="insensitive"))
    found = release.table["x"].combine_chunks()
    assert found.type == ordered.type
    assert found.dictionary.to_pylist() == ["high", "low"]
    assert sorted(found.to_pylist()) == sorted(values.to_pylist())


@pytest.mark.parametrize("method", ["mondrian", "local", "hilbert", "cluster", "ring"])
def test_rows_neither_double_nor_vanish_over_the_sign_of_a_zero(method: str) -> None:
    frame = pd.DataFrame(
        {"id": range(6), "age": [-0.0, -0.0, 0.0, 0.0, 5.0, 5.0], "city": list("xxyyzz"), "ill": list("abcabc")}
    )
    parts: dict[str, Any] = {"name": method} | ({"homogeneous": True} if method == "ring" else {})
    attributes = {"id": {"role": "insensitive"}, "age": FLAT, "city": FLAT, "ill": {"role": "sensitive"}}
    release = rf.anonymize(frame, rf.Spec(attributes=attributes, privacy={"k": 2}, method=parts))
    assert sorted(release.table["id"]) == [*range(6)]


def test_buckets_neither_double_nor_lose_rows_over_the_sign_of_a_zero() -> None:
    frame = pd.DataFrame({"id": range(4), "city": list("wxyz"), "ill": [-0.0, 0.0, 1.0, 2.0]})
    attributes = {"id": {"role": "insensitive"}, "city": FLAT, "ill": {"role": "sensitive"}}
    asked = rf.Spec(attributes=attributes, privacy={"l": {"value": 2, "of": "ill"}}, method={"name": "anatomy"})
    release = rf.anonymize(frame, asked)
    assert sorted(release.table["id"]) == [*range(4)]
    assert not np.signbit(release.sensitive["ill"]).any()


def test_spellings_of_a_sensitive_number_are_published_as_one() -> None:
    table = pa.table({"q": ["a"] * 4, "x": ["7", "07", "7.0", "8"], "n": range(4)})
    release = rf.anonymize(
        table,
        rf.Spec(
            attributes={"q": FLAT, "x": {"role": "sensitive", "order": "numeric"}, "n": {"role": "insensitive"}},
            privacy={"k": 2, "l": {"value": 2, "of": "x"}},
        ),
    )
    assert release.table.sort_by("n")["x"].to_pylist() == ["7", "7", "7", "8"]
    assert release.audit.measured["l"] == 2


@pytest.mark.parametrize(("seed", "repeats"), [(5, True), (None, False)])
def test_a_seed_repeats_the_draw_of_a_ring_and_nothing_else_does(seed: int | None, repeats: bool) -> None:
    frame = pd.DataFrame({"age": range(20, 60), "n": range(40)})
    # One long ring: in rings of k rows all slots look alike, whatever is drawn.
    method = {"name": "ring", "uncut": True} | ({} if seed is None else {"seed": seed})
    asked = rf.Spec(attributes={"age": FLAT, "n": {"role": "insensitive"}}, privacy={"k": 3}, method=method)
    # Two draws are the same once in a thousand times, since the shifts of the whole ring are likelier; five never are.
    drawn = {tuple(rf.anonymize(frame, asked).table.sort_values("n")["age"]) for _ in range(5)}
    assert (len(drawn) == 1) == repeats


@pytest.mark.parametrize(
    "method",
    [
        {"name": "optimal"},
        {"name": "optimal", "suppression": 0.2, "keep_suppressed": True},
        {"name": "levels", "levels": {"town": 1, "age": 1}},
        {"name": "mondrian"},
        {"name": "local", "representation": "plain"},
        {"name": "cluster", "representation": "hierarchy"},
    ],
    ids=lambda method: "-".join(map(str, method.values())),
)
@pytest.mark.parametrize("missing", ["value", "suppress"])
@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_where_a_star_is_a_missing_value_it_is_still_the_label_that_holds_everything(
    method: dict[str, Any], missing: str, written: str, tmp_path: Path
) -> None:
    towns = ["*", "Oslo", "Oslo", "Rome", "Rome", "Bern", "*", "*", "Oslo", "Lima"]
    table = pa.table({"town": towns * 3, "age": [str(20 + i % 7) if i % 5 else "*" for i in range(30)]})
    asked = rf.Spec(
        data={"missing_values": ["*"], "missing": missing},
        attributes={"town": FLAT, "age": {"role": "quasi", "hierarchy": {"intervals": [5]}}},
        privacy={"k": 3},
        method=method,
        output={"counts": True},
    )
    path = rf.anonymize(table, asked).save(tmp_path, written, report=False)
    assert rf.audit(path, asked).ok
    assert rf.audit(path, asked, table).ok


@pytest.mark.parametrize("gap", ["*", "?", "", None])
def test_what_stands_for_a_missing_sensitive_value_is_one_in_any_file(gap: str | None) -> None:
    """A star is a label of quasi-identifiers, and of nothing else."""
    asked = rf.Spec(
        data={"missing_values": ["*", "?"], "missing": "suppress"},
        attributes={"q": FLAT, "s": {"role": "sensitive"}},
        privacy={"l": {"value": 2, "of": "s"}},
    )
    verdict = rf.audit(pa.table({"q": ["a"] * 4, "s": ["flu", "flu", "cold", gap]}), asked)
    assert [finding.rule for finding in verdict.findings] == ["missing"]
