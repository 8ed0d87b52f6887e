"""Text that is dates at the door, and moments with a zone: the same from files and from every kind of frame."""

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.errors import DataError
from ringfence.rows.moments import read_moment, spelled_moment
from ringfence.spec import Spec

TEXTS = ["01.02.2020", "1.2.2020", "29.02.2024", None, "", "1.2.2020", "29.2.2024", "29.02.2024"]
SPELLED = ["2020-02-01", "2020-02-01", "2020-02-01", "2024-02-29", "2024-02-29", "2024-02-29", "", ""]


def spec_of(**seen: Any) -> Spec:
    """A specification of one quasi-identifier."""
    attributes = {"seen": {"role": "quasi", "hierarchy": "flat", **seen}, "row": {"role": "insensitive"}}
    return Spec(attributes=attributes, privacy={"k": 1})


def cells(table: Any) -> list[str]:
    """The cells of the column `seen`, as a text file would have them, sorted."""
    column = table["seen"]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return sorted("" if pd.isna(value) else str(value) for value in values)


def sources(table: pa.Table, folder: Path) -> dict[str, Any]:
    """A table in every form that it may come in."""
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    pyarrow.feather.write_feather(table, str(folder / "a.arrow"), compression="uncompressed")
    table.to_pandas().to_parquet(folder / "b.parquet")
    return {
        "arrow": table,
        "pandas": table.to_pandas(),
        **({} if _has_offset(table) else {"polars": pl.from_arrow(table)}),
        "parquet": folder / "a.parquet",
        "pandas' parquet": folder / "b.parquet",
        "feather": folder / "a.arrow",
    }


def _has_offset(table: pa.Table) -> bool:
    """Whether a column has a zone without a name, which Polars has none of."""
    return any(pa.types.is_timestamp(kind) and ":" in (kind.tz or "") for kind in table.schema.types)


def test_two_spellings_of_a_day_are_one_value_from_every_source(tmp_path: Path) -> None:
    table = pa.table({"seen": pa.array(TEXTS, pa.string()), "row": range(8)})
    (tmp_path / "a.csv").write_text("seen,row\n" + "".join(f"{text or ''},{n}\n" for n, text in enumerate(TEXTS)))
    for kind, source in {**sources(table, tmp_path), "csv": tmp_path / "a.csv"}.items():
        release = rf.anonymize(source, spec_of(format="%d.%m.%Y"))
        assert cells(release.table) == sorted(SPELLED), kind
        assert release.census.quasi[0].keys[:2] == (dt.datetime(2020, 2, 1), dt.datetime(2024, 2, 29)), kind
        assert rf.audit(release.table, release.spec, original=source).ok, kind


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC", "+02:00", "-05:30", "Etc/GMT+5"])
def test_a_moment_with_a_zone_is_the_local_day_it_shows(zone: str, tmp_path: Path) -> None:
    late = dt.datetime(2024, 3, 31, 23, 30, tzinfo=dt.UTC)
    moments = [late + dt.timedelta(hours=hours) for hours in (0, 0, 1, 5, 5, 11)]
    table = pa.table({"seen": pa.array(moments, pa.timestamp("us", zone)), "row": range(6)})
    shown = sorted(str(moment.date()) for moment in pc.local_timestamp(table["seen"]).to_pylist())
    found = {}
    spec = spec_of(hierarchy={"dates": ["month"]})
    for kind, source in sources(table, tmp_path).items():
        release = rf.anonymize(source, spec)
        found[kind] = sorted(
            label for quasi in release.census.quasi for label, rows in _leaves(quasi) for _ in range(rows)
        )
    assert found == dict.fromkeys(found, shown)


def _leaves(quasi: Any) -> list[tuple[str, int]]:
    return list(zip(quasi.hierarchy.labels, quasi.rows.tolist(), strict=False))


def test_text_that_is_no_date_is_named_with_its_row(tmp_path: Path) -> None:
    texts = ["01.02.2020", "1.2.20", "2020-02-01", "30.02.2020"]
    (tmp_path / "a.csv").write_text("seen,row\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)))
    for source in (tmp_path / "a.csv", pa.table({"seen": texts, "row": range(4)})):
        with pytest.raises(DataError) as caught:
            rf.anonymize(source, spec_of(format="%d.%m.%Y"))
        message = str(caught.value)
        assert "column 'seen' should hold dates as '%d.%m.%Y', but has" in message
        assert "'1.2.20', '2020-02-01' and '30.02.2020'" in message or "'1.2.20', '2020-02-01', '30.02.2020'" in message
        assert "first in row 2" in message


def test_two_formats_that_disagree_are_an_error_and_two_that_agree_are_none() -> None:
    either = spec_of(format=["%d/%m/%Y", "%m/%d/%Y"])
    with pytest.raises(DataError, match=r"'01/02/2020', first in row 2; it is 2020-02-01 by '%d/%m/%Y' and"):
        rf.anonymize(pa.table({"seen": ["31/12/1999", "01/02/2020"], "row": [1, 2]}), either)
    release = rf.anonymize(pa.table({"seen": ["31/12/1999", "12/31/1999", "02/02/2020"], "row": [1, 2, 3]}), either)
    assert cells(release.table) == ["1999-12-31", "1999-12-31", "2020-02-02"]


def test_two_digits_of_a_year_are_read_where_they_are_asked_for() -> None:
    table = pa.table({"seen": ["1.2.20", "1.2.69"], "row": [1, 2]})
    with pytest.raises(DataError, match="should hold dates"):
        rf.anonymize(table, spec_of(format="%d.%m.%Y"))
    assert cells(rf.anonymize(table, spec_of(format="%d.%m.%y")).table) == ["1969-02-01", "2020-02-01"]


def test_dates_that_are_said_to_be_numbers_get_a_hint() -> None:
    with pytest.raises(DataError, match=r"where these are dates, say so: attributes\.seen\.format = 'iso'"):
        rf.anonymize(pa.table({"seen": ["1940-12-24"], "row": [1]}), spec_of(order="numeric"))


@pytest.mark.parametrize(
    ("text", "formats", "spelled"),
    [
        ("2024-03-31T08:15:00.250+02:00", ["iso"], "2024-03-31 08:15:00.25"),
        (" 31.03.2024 ", ["%d.%m.%Y"], "2024-03-31"),
        ("31 Mar 2024 00:00", ["%d %b %Y %H:%M"], "2024-03-31"),
        ("2024-091", ["%Y-%j"], "2024-03-31"),
        ("31.03.24", ["%d.%m.%Y"], None),
        ("2024-02-30", ["iso"], None),
        ("", ["iso"], None),
    ],
)
def test_moments_in_their_one_spelling(text: str, formats: list[str], spelled: str | None) -> None:
    moment = read_moment(text, formats)
    assert (None if moment is None else spelled_moment(moment)) == spelled
