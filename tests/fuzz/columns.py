"""Columns of many kinds: their values, as tables of every sort hold them, and which of these are one value."""

import datetime as dt
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

BERLIN = ZoneInfo("Europe/Berlin")
NUMBER, TEXT, MOMENT, TIME, BOOL, BYTES = "number", "text", "moment", "time", "bool", "bytes"


@dataclass(frozen=True)
class Kind:
    """A kind of column: what its values mean (`family`), how Arrow holds them, and the values to draw from."""

    name: str
    family: str
    arrow: pa.DataType
    pool: tuple[Any, ...]
    odd: tuple[Any, ...] = ()
    """Values that are drawn more rarely."""
    floating: bool = False
    pandas: str = ""
    """How pandas is made to hold it, where that is not what Arrow makes of it."""
    exact_days: bool = False
    """Whether every value is a whole day, so that hierarchies of dates fit."""
    formats: tuple[str, ...] = ()
    """How its text is dates, where it is."""
    duckdb: bool = True
    """Whether DuckDB gives it back as it was (its moments with a zone are in the session's)."""


def _zoned(text: str, fold: int = 0) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold)


def _days(*texts: str) -> tuple[dt.date, ...]:
    return tuple(map(dt.date.fromisoformat, texts))


DAYS = _days("2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "2024-03-31", "2024-10-27", "1999-12-31")
OLD_DAYS = _days("0999-05-01", "1582-10-15", "1969-12-31", "2262-04-12")
MOMENTS = tuple(
    map(
        dt.datetime.fromisoformat,
        [
            "2024-01-01",
            "2024-01-01 12:00",
            "2024-01-01 12:00:00.5",
            "2024-02-29 23:59:59",
            "1969-12-31 23:59:59.999999",
        ],
    )
)
ZONED = (
    _zoned("2024-10-27 02:30", 0),  # +02:00, and the next one +01:00: the clock shows the same
    _zoned("2024-10-27 02:30", 1),
    _zoned("2024-10-27 01:30"),
    _zoned("2024-10-27 03:30"),
    _zoned("2024-03-31 01:59:59"),
    _zoned("2024-03-31 03:00"),
)
WORDS = ("ash", "oak", "elm", "fir", "yew", "box tree", "Ulme")
LOOK_ALIKE = (
    "7",
    "07",
    "7.0",
    " 7",
    "7 ",
    "0",
    "-0",
    "1e3",
    "1000",
    "A",
    "Ａ",
    "a",
    "\u00e9",
    "e\u0301",
    "ß",
    "SS",
    "null",
    "NaN",
)
PUNCTUATED = (
    "a, b",
    "c; d",
    'say "x"',
    "two\nlines",
    "{a, b}",
    "[1, 2]",
    "a*",
    "<5",
    ">=3",
    "2024",
    "2020s",
    " ",
    "\\",
    "x..y",
)
MISSING = (None, "")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in [
        Kind(
            "float",
            NUMBER,
            pa.float64(),
            (-0.0, 0.0, 1.5, 2.0, 7.0, -3.25, 0.1, 12.0, 33.0),
            (1e20, 1e-7, 0.30000000000000004, 123456.789, math.nan, None, 5e-324),
            floating=True,
        ),
        Kind(
            "infinite",
            NUMBER,
            pa.float64(),
            (-0.0, 0.0, 1.0, 2.5, 2.5),
            (math.inf, -math.inf, math.nan, None),
            floating=True,
        ),
        Kind("float32", NUMBER, pa.float32(), (-0.0, 0.0, 0.5, 2.0, 7.0), (0.25, math.nan, None), floating=True),
        Kind("int", NUMBER, pa.int64(), (0, 1, 2, 3, 7, 12, 25, 40, -5)),
        Kind("small int", NUMBER, pa.int8(), (0, 1, 2, 3, 127, -128)),
        Kind("int and null", NUMBER, pa.int64(), (0, 1, 2, 3, 7, 12), (None,), pandas="Int64"),
        Kind("int as float", NUMBER, pa.int64(), (0, 1, 2, 3, 7, 12), (None,)),
        Kind(
            "big int", NUMBER, pa.int64(), (2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2), (2**63 - 1, -(2**63), 2**63 - 2, 0)
        ),
        Kind(
            "big int and null", NUMBER, pa.int64(), (2**53, 2**53 + 1, 2**53 + 2), (None, 2**63 - 1, 1), pandas="Int64"
        ),
        Kind("uint64", NUMBER, pa.uint64(), (0, 1, 2**63, 2**63 + 1, 2**64 - 1, 2**53 + 1), (None,), pandas="UInt64"),
        Kind("text", TEXT, pa.string(), WORDS),
        Kind("large text", TEXT, pa.large_string(), WORDS, MISSING),
        Kind("text and missing", TEXT, pa.string(), WORDS, (None, "", " ", "  ")),
        Kind("look-alike", TEXT, pa.string(), LOOK_ALIKE, MISSING),
        Kind("punctuated", TEXT, pa.string(), PUNCTUATED, ("", None, "ash", "*", "{}", "[a..b]")),
        Kind("codes", TEXT, pa.string(), ("47906", "47907", "47302", "48213", "48219", "01234"), (None, "7", "123456")),
        Kind(
            "numbers as text",
            TEXT,
            pa.string(),
            ("7", "07", "7.0", "12", "12.50", "12.5", "40", "-0", "0"),
            (None, "1e1", "10", ""),
        ),
        Kind(
            "decimal",
            NUMBER,
            pa.decimal128(12, 2),
            tuple(map(Decimal, ["1.10", "2.00", "0.00", "-3.25", "45.00"])),
            (None,),
        ),
        Kind(
            "decimal objects",
            NUMBER,
            pa.decimal128(12, 4),
            tuple(map(Decimal, ["1.1", "1.10", "1.100", "2", "2.0", "0", "-0.0", "45.25"])),
            (None,),
            pandas="objects",
        ),
        Kind("date", MOMENT, pa.date32(), DAYS, (None, *OLD_DAYS), exact_days=True),
        Kind("date64", MOMENT, pa.date64(), DAYS, (None,), exact_days=True),
        Kind("moment", MOMENT, pa.timestamp("us"), MOMENTS, (None,)),
        Kind("nanosecond", MOMENT, pa.timestamp("ns"), MOMENTS[:4], (None,)),
        Kind(
            "day as moment",
            MOMENT,
            pa.timestamp("s"),
            tuple(dt.datetime.combine(d, dt.time()) for d in DAYS),
            (None,),
            exact_days=True,
        ),
        Kind("zoned", MOMENT, pa.timestamp("us", "Europe/Berlin"), ZONED, (None,), duckdb=False),
        Kind(
            "dates as text",
            MOMENT,
            pa.string(),
            ("01.02.2020", "1.2.2020", "29.02.2024", "31.12.1999", "1.1.2000", "01.01.2000", "15.07.1969"),
            (None, "", "31.12.0999"),
            exact_days=True,
            formats=("%d.%m.%Y",),
        ),
        Kind(
            "moments as text",
            MOMENT,
            pa.large_string(),
            (
                "2/3/2024 07:30",
                "02/03/2024 07:30",
                "2/3/2024 00:00",
                "12/31/1999 23:59",
                "2024-02-03",
                "2024-02-03T07:30:00",
            ),
            (None, "1/1/2000 12:00"),
            formats=("%m/%d/%Y %H:%M", "iso"),
        ),
        Kind(
            "time",
            TIME,
            pa.time64("us"),
            (dt.time(0), dt.time(7, 30), dt.time(7, 30, 0, 5), dt.time(23, 59, 59)),
            (None,),
        ),
        Kind("bool", BOOL, pa.bool_(), (True, False)),
        Kind("bool and null", BOOL, pa.bool_(), (True, False), (None,), pandas="boolean"),
        Kind("bool objects", BOOL, pa.bool_(), (True, False), (None,), pandas="objects"),
        Kind("category", TEXT, pa.dictionary(pa.int32(), pa.string()), WORDS, (None,), pandas="category"),
        Kind("ordered category", TEXT, pa.dictionary(pa.int8(), pa.string()), WORDS, (None,), pandas="ordered"),
        Kind("category with ''", TEXT, pa.dictionary(pa.int32(), pa.string()), WORDS, MISSING, pandas="category"),
        Kind("category of numbers", NUMBER, pa.dictionary(pa.int32(), pa.int64()), (1, 2, 7, 12), (None,)),
        Kind("bytes", BYTES, pa.binary(), (b"a", b"b", b"\xff", b"\x00"), (None,)),
    ]
}


@dataclass(frozen=True)
class Column:
    """A column of a table: its kind and its values, as they were drawn."""

    kind: Kind
    values: tuple[Any, ...]
    numeric: bool = False
    """Whether the specification says that its text is numbers."""

    def array(self) -> pa.Array:
        """The values, held by Arrow."""
        if pa.types.is_dictionary(self.kind.arrow):
            plain = pa.array(self.values, self.kind.arrow.value_type)
            return plain.dictionary_encode().cast(self.kind.arrow)
        return pa.array(self.values, self.kind.arrow)

    def canonical(self, cell: Any) -> Any:
        """What a cell of this column means: equal for two cells exactly if they are one value. None is a missing one.

        A cell may be a value in any type that tables have, or the text of one. What is no value of the column's
        family stays text.
        """
        if missing(cell):
            return None
        if self.kind.family == TEXT:
            number = _number(cell.strip() if isinstance(cell, str) else cell) if self.numeric else None
            return str(cell) if number is None else number
        return _MEANINGS[self.kind.family](cell, self.kind)

    def meanings(self) -> list[Any]:
        """The canonical value of every row."""
        return [self.canonical(value) for value in self.values]


def missing(cell: Any) -> bool:
    """Whether a cell, of a table of any sort, is a missing value. An empty text is one, in a frame as in a file."""
    if cell is None or (isinstance(cell, str) and cell == ""):
        return True
    return type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float | Decimal) and cell != cell)  # noqa: PLR0124


def _number(cell: Any) -> Decimal | None:
    """Return a number, exactly; None if it is none. Zero has no sign."""
    if isinstance(cell, bool) or (isinstance(cell, str) and ("_" in cell or not cell.isascii())):
        return None
    try:
        number = (
            cell if isinstance(cell, Decimal) else Decimal(repr(cell.item()) if hasattr(cell, "item") else str(cell))
        )
    except InvalidOperation:
        return None
    return None if number.is_nan() else number if number else Decimal(0)


def _as_number(cell: Any, kind: Kind) -> Any:
    number = _number(cell)
    if number is None:
        return str(cell)
    return _number(repr(float(number))) if kind.floating else number


def _as_moment(cell: Any, kind: Kind) -> Any:
    """Return the time that the clock of its zone shows; a day is its midnight."""
    if isinstance(cell, str):
        for form in kind.formats:
            try:
                return dt.datetime.strptime(cell, form)
            except ValueError:
                continue
        try:
            cell = dt.datetime.fromisoformat(cell)
        except ValueError:
            return cell
    if hasattr(cell, "to_pydatetime"):
        cell = cell.to_pydatetime()
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=None, fold=0)
    return dt.datetime.combine(cell, dt.time())


def _as_time(cell: Any, kind: Kind) -> Any:  # noqa: ARG001
    try:
        return dt.time.fromisoformat(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def _as_bool(cell: Any, kind: Kind) -> Any:  # noqa: ARG001
    return {"true": True, "false": False}.get(str(cell).lower(), str(cell))


def _as_bytes(cell: Any, kind: Kind) -> Any:  # noqa: ARG001
    """Return the bytes; of text, which has several ways to spell them, what it most likely stands for."""
    cell = str(cell) if isinstance(cell, int) else cell  # where all of them were read as numbers
    if isinstance(cell, str):
        for value in (b"a", b"b", b"\xff", b"\x00"):
            if cell in (
                value.hex(),
                value.decode("latin-1"),
                repr(value),
                "\\x" + value.hex(),
                "\\x" + value.hex().upper(),
            ):
                return value
        return cell
    return bytes(cell)


_MEANINGS: dict[str, Callable[[Any, Kind], Any]] = {
    NUMBER: _as_number,
    MOMENT: _as_moment,
    TIME: _as_time,
    BOOL: _as_bool,
    BYTES: _as_bytes,
}


def spelled(meaning: Any) -> str:
    """The text of a canonical value, as a text file has it."""
    if meaning is None:
        return ""
    if isinstance(meaning, Decimal):
        whole = meaning.is_finite() and meaning == meaning.to_integral_value() and abs(meaning) < 10**20
        return str(int(meaning) if whole else meaning.normalize())
    if isinstance(meaning, dt.datetime):
        return str(meaning.date() if meaning.time() == dt.time() else meaning)
    if isinstance(meaning, bool):
        return str(meaning).lower()
    if isinstance(meaning, bytes):
        return meaning.hex()
    return str(meaning)


def draw_column(rng: random.Random, rows: int, kind: Kind, *, diverse: bool = False) -> Column:
    """Draw a column: few different values, so that rows come together, and now and then a rare one; or `diverse`."""
    common = rng.sample(kind.pool, len(kind.pool) if diverse else min(len(kind.pool), rng.randint(1, 5)))
    rare = rng.choice([0, 0, 0.05, 0.25]) if kind.odd else 0.0
    values = [rng.choice(kind.odd) if rng.random() < rare else rng.choice(common) for _ in range(rows)]
    return Column(kind, tuple(values))


def pandas_series(column: Column, rng: random.Random) -> Any:
    """Return a column as pandas holds it, in the caller's dtype."""
    import pandas as pd

    values: Sequence[Any] = column.values
    style = column.kind.pandas
    if style in ("Int64", "UInt64"):  # by its parts: from a list, pandas may go by way of floats
        cells = np.array([value or 0 for value in values], style.lower())
        return pd.Series(pd.arrays.IntegerArray(cells, np.array([value is None for value in values])))
    if style == "boolean":
        return pd.Series(pd.array(list(values), dtype=style))
    if style == "objects":
        return pd.Series(list(values), dtype=object)
    if style in ("category", "ordered"):
        known = [*dict.fromkeys(value for value in values if value is not None), "never seen", "nobody"]
        rng.shuffle(known)
        return pd.Series(pd.Categorical(values, categories=known, ordered=style == "ordered"))
    if column.kind.family == TEXT and rng.random() < 0.3 and not pa.types.is_dictionary(column.kind.arrow):
        return pd.Series(
            [math.nan if value is None and rng.random() < 0.5 else value for value in values], dtype=object
        )
    return column.array().to_pandas()
