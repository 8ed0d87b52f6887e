"""What the engine can read besides files of its own: tables in memory, text in other encodings."""

import codecs
import contextlib
import csv
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed
from ringfence.spec import Data


def as_arrow(source: Any) -> pa.Table:
    """Return any table that has Arrow inside (pandas, Polars, PyArrow, DuckDB, ...), or an Arrow file, as Arrow."""
    try:
        if isinstance(source, Path):
            return _read_ipc(source)
        if isinstance(source, pa.Table):
            table = source
        elif kind_of(source) == "pandas":
            table = pa.Table.from_pandas(source, preserve_index=False)
        elif hasattr(source, "to_arrow_table"):
            table = source.to_arrow_table()
        elif hasattr(source, "__arrow_c_stream__"):
            table = pa.table(source)
        else:
            raise DataError(
                f"cannot read a table from a {type(source).__name__}; allowed: a path, or a pandas, Polars, PyArrow or"
                " DuckDB table, or anything with Arrow inside"
            )
    except pa.ArrowException as error:
        raise DataError(f"cannot read the table: {str(error).splitlines()[0]}") from error
    return _with_text_names(table)


def _read_ipc(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


def _with_text_names(table: pa.Table) -> pa.Table:
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise DataError(f"columns that occur more than once: {listed(twice)}")
    return table


def kind_of(source: Any) -> str:
    """Return the library that a table belongs to."""
    return type(source).__module__.partition(".")[0].lstrip("_")


def converter(source: Any) -> Callable[[pa.Table], Any]:
    """Return a function that turns an Arrow table into the caller's kind of table."""
    match kind_of(source):
        case "pandas":
            return lambda table: table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow
        case "duckdb":
            return lambda release: source.query("source", "SELECT * FROM release")  # noqa: ARG005
    return lambda table: table


@contextlib.contextmanager
def readable_as_utf8(path: Path, encoding: str) -> Iterator[Path]:
    """Yield a path at which the text of a file stands in UTF-8: the file's own, or that of a temporary copy."""
    try:
        known = codecs.lookup(encoding).name
    except LookupError:
        raise SpecError(
            f"data.encoding = {encoding!r} is not an encoding that Python knows, such as 'latin-1'"
        ) from None
    if known in ("utf-8", "ascii", "utf-8-sig"):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        try:
            with path.open(encoding=known, newline="") as text, copy.open("w", encoding="utf-8", newline="") as utf8:
                shutil.copyfileobj(text, utf8, 1 << 20)
        except UnicodeDecodeError as error:
            raise DataError(f"{str(path)!r} is not valid {encoding}: {error}") from None
        yield copy


def csv_columns(path: Path, data: Data) -> list[str]:
    """Return the column names in the first line of a text file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            line = next(iter(text), "")
            while line.count(data.quote) % 2 and (more := text.readline()):  # a line break inside quotes
                line += more
    except UnicodeDecodeError as error:
        raise DataError(f"{str(path)!r} is not valid UTF-8 ({error.reason}); set data.encoding") from None
    if not line.strip():
        raise DataError(f"{str(path)!r} is empty: its first line should hold the names of its columns")
    line = line.rstrip("\r\n")
    if len(data.delimiter) == 1:
        names = next(csv.reader([line], delimiter=data.delimiter, quotechar=data.quote))
    else:
        names = line.split(data.delimiter)
    if "" in names:
        raise DataError(f"column {names.index('') + 1} of {str(path)!r} has no name in the first line")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"columns that occur more than once in {str(path)!r}: {listed(twice)}")
    return names
