"""Numbers with other marks than a point become the same numbers at the door, from every source."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import SpecError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.number_marks import plain_number_table
from ringfence.spec.data import Data

CELLS = {
    "1.234,50": "1234.50",
    "7,5": "7.5",
    "-7,5": "-7.5",
    "+1.000": "+1000",
    "12": "12",
    "31.12.2024": "31.12.2024",
    "1.23": "1.23",
    "1,2,3": "1,2,3",
    "v1,5": "v1,5",
    ",5": ",5",
    "1.2345,0": "1.2345,0",
}
"""What becomes of cells where a comma stands before decimals, and points between thousands."""


def test_every_source_gives_the_same_numbers(tmp_path: Path) -> None:
    data = Data(delimiter=";", decimal=",", thousands=".")
    table = pa.table({"x": list(CELLS), "y": ["a"] * len(CELLS)})
    (tmp_path / "x.csv").write_text("x;y\n" + "".join(f"{cell};a\n" for cell in CELLS))
    pq.write_table(table, tmp_path / "x.parquet")
    with DuckDB(data) as engine:
        for source in (table, tmp_path / "x.csv", tmp_path / "x.parquet"):
            assert engine.fetch(engine.open(source, data))["x"].to_pylist() == list(CELLS.values())
            assert engine.fetch(engine.open(source, data, as_it_stands=True))["x"].to_pylist() == list(CELLS)


@given(
    number=st.decimals(min_value=-(10**9), max_value=10**9, places=2),
    marks=st.sampled_from([(",", "."), (",", None), (".", ","), (",", " "), (".", "'"), (".", "\u202f")]),
)
def test_numbers_come_back(number: object, marks: tuple[str, str | None]) -> None:
    decimal, thousands = marks
    plain = f"{number:.2f}"
    shown = f"{number:,.2f}" if thousands else plain
    written = "".join({",": thousands or "", ".": decimal}.get(c, c) for c in shown)
    data = Data.model_validate({"decimal": decimal, "thousands": thousands})
    assert plain_number_table(pa.table({"x": [written]}), data)["x"].to_pylist() == [plain]


def test_a_release_of_such_numbers(tmp_path: Path) -> None:
    (tmp_path / "pay.csv").write_text("pay;sex\n" + "".join(f"1.{200 + i},50;f\n" for i in range(40)))
    spec = rf.Spec(
        data={"source": "pay.csv", "delimiter": ";", "decimal": ",", "thousands": "."},
        attributes={
            "pay": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
            "sex": {"role": "insensitive"},
        },
        privacy={"k": 5},
    ).at(tmp_path)
    release = rf.anonymize(None, spec)
    assert release.audit.ok
    assert "[1200, 1210)" in release.table["pay"].to_pylist()
    assert rf.audit(release.table, spec, tmp_path / "pay.csv").ok


def test_marks_must_differ() -> None:
    with pytest.raises(SpecError, match="thousands = ',' stands before the decimals too"):
        rf.Spec(data={"decimal": ",", "thousands": ","}, attributes={"a": {"role": "quasi"}})
    with pytest.raises(SpecError, match="thousands"):
        rf.Spec(data={"thousands": "."}, attributes={"a": {"role": "quasi"}})
