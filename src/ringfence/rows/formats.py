"""The formats of files, each declared once: by which names it is known, and who reads it.

A format that the engine does not read by itself is read by Python into an Arrow table. Either way its rows come in by
the door (`same_value`), like all others. A new format is one more entry here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ringfence.errors import SpecError, listed, suggestion
from ringfence.rows.databases import read_sqlite
from ringfence.rows.item_columns import read_baskets
from ringfence.rows.labelled import READERS, read_labelled
from ringfence.rows.sources import COMPRESSED, read_ipc
from ringfence.rows.workbooks import read_sheet
from ringfence.spec.data import Data

Reader = Callable[[Path, Data, str], pa.Table]
"""Reads a file as its specification says; the last argument is what the file is called in messages."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of files.

    Parameters
    ----------
    name
        What people call it.
    suffixes
        How the names of its files end.
    reads
        Reads a file into a table; None where the engine does so by itself.
    several
        Whether files of it make one table together: folders and patterns.
    compressed
        Whether its files may be compressed.
    released_as
        In which format a release of such a source is written.
    chosen_by
        The key of [data] that says which of the tables in a file is meant.
    """

    name: str
    suffixes: tuple[str, ...]
    reads: Reader | None = None
    several: bool = False
    compressed: bool = False
    released_as: str = "parquet"
    chosen_by: str | None = None


TEXT = Format(name="CSV", suffixes=(".csv", ".tsv", ".txt"), several=True, compressed=True, released_as="csv")
PARQUET = Format(name="Parquet", suffixes=(".parquet", ".pq"), several=True)
JSON_LINES = Format(name="JSON lines", suffixes=(".jsonl", ".ndjson"), several=True, compressed=True)
DUCKDB = Format(name="DuckDB", suffixes=(".duckdb", ".ddb"), chosen_by="table")
SQLITE = Format(name="SQLite", suffixes=(".sqlite", ".sqlite3", ".db"), reads=read_sqlite, chosen_by="table")
POSTGRESQL = Format(name="PostgreSQL", suffixes=(), chosen_by="table")
SPARK_TABLE = Format(name="Spark", suffixes=(), chosen_by="table")
BASKETS = Format(name="baskets", suffixes=(".dat", ".spmf"), reads=read_baskets, released_as="dat")

FORMATS: tuple[Format, ...] = (
    TEXT,
    PARQUET,
    Format(name="Arrow", suffixes=(".arrow", ".feather", ".ipc"), reads=read_ipc),
    JSON_LINES,
    Format(name="Excel", suffixes=(".xlsx", ".xlsm"), reads=read_sheet, chosen_by="sheet"),
    Format(name="SPSS and Stata", suffixes=tuple(READERS), reads=read_labelled),
    SQLITE,
    DUCKDB,
    BASKETS,
)


INSTEAD = {
    ".zip": "{shown} is an archive: unpack it",
    ".tar": "{shown} is an archive: unpack it",
    ".bz2": "{shown} is compressed in a way that is not read: unpack it",
    ".xz": "{shown} is compressed in a way that is not read: unpack it",
    ".xls": "{shown} is a workbook of the old kind: save it as .xlsx",
    ".ods": "{shown} is a workbook of another kind: save it as .xlsx",
    ".json": "{shown}: of JSON, one object a line is read, called .jsonl",
    ".sas7bdat": "{shown} is a file of SAS: export it, as Parquet or CSV",
    ".rds": "{shown} is a file of R: export it, as Parquet or CSV",
}
"""What to do with files that are known and not read."""


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its name; None where that does not tell.

    >>> format_of(Path("visits.csv.gz")).name, format_of(Path("visits.parquet.gz"))
    ('CSV', None)
    """
    inner, compressed = without_compression(path)
    return next(
        (form for form in FORMATS if inner.suffix.lower() in form.suffixes and (form.compressed or not compressed)),
        None,
    )


def without_compression(path: Path) -> tuple[Path, str | None]:
    """Return a name without what says that the file is compressed, and what Arrow calls that.

    >>> without_compression(Path("a.csv.zst"))
    (PosixPath('a.csv'), 'zstd')
    """
    way = COMPRESSED.get(path.suffix.lower())
    return (path.with_suffix(""), way) if way is not None else (path, None)


def known_format(path: Path, shown: str) -> Format:
    """Return the format of a file, which its name must tell."""
    form = format_of(path)
    if form is None:
        inner, _ = without_compression(path)
        ending = inner.suffix.lower()
        near = suggestion(ending, [suffix for each in FORMATS for suffix in each.suffixes]) if ending else ""
        hint = INSTEAD.get(ending, f"cannot tell what {shown} is by its name{near}")
        raise SpecError(f"{hint.format(shown=shown)}; allowed: {listed(_allowed())}")
    return form


def _allowed() -> Iterator[str]:
    for form in FORMATS:
        also = ", also .gz and .zst" if form.compressed else ""
        yield f"{form.name} ({', '.join(form.suffixes)}{also})"
