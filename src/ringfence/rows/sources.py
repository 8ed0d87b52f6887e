"""What the engine can read besides files of its own: tables in memory, text in other encodings."""

import codecs
import contextlib
import io
import re
import shutil
import tempfile
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs
from ringfence.errors import DataError, SpecError, listed
from ringfence.rows.coded import plain
from ringfence.spec.data import Data

OWN = "7b1f6c9e"
ROWS, WHICH, RAW, LABEL, FAILING, UNKNOWN, CODE, KEY, PLACE, TURN, SHARE, WHOSE = (
    f"{OWN} {name}"
    for name in (
        "number of rows",
        "which row",
        "as read",
        "as published",
        "fails",
        "unknown",
        "code",
        "key",
        "place",
        "turn",
        "share",
        "whose",
    )
)
"""Names of columns that the engine adds to those of the data, with a mark that no data has."""
HIGH, LOW = f"{ROWS}: digests, high", f"{ROWS}: digests, low"
"""Columns of tallies: the sums of the two halves of digests."""

BUCKET, COUNT = "bucket", "count"
"""Columns of the two tables that Anatomy publishes."""
ATTRIBUTE, VALUE, COUNTED = "attribute", "value", "rows"
"""Columns of the counts of values that are published beside a release."""
ROW_NAMES = "row names"
"""What a first column without a name is called."""
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
"""How compressed files end, and what Arrow calls the way they are compressed."""


def collected(source: Any) -> Any:
    """Return a Polars LazyFrame as the DataFrame that it comes to: it is asked once, since it may draw by chance."""
    return source.collect() if kind_of(source) == "polars" and hasattr(source, "collect") else source


def as_arrow(source: Any) -> pa.Table:
    """Return any table that has Arrow inside (pandas, Polars, PyArrow, DuckDB, ...) as an Arrow table."""
    source = collected(source)
    try:
        if isinstance(source, pa.Table):
            table = source
        elif kind_of(source) == "pandas" and hasattr(source, "columns"):
            refuse_odd_names([*map(str, source.columns)])  # before Arrow does, in its own words
            table = pa.Table.from_pandas(source, preserve_index=False)
        elif hasattr(source, "to_arrow_table"):
            table = source.to_arrow_table()
        elif hasattr(source, "__arrow_c_stream__") and kind_of(source) != "pandas":
            table = pa.table(source)
        elif isinstance(source, pa.RecordBatch):
            table = pa.Table.from_batches([source])
        else:
            raise DataError(
                f"cannot read a table from a {type(source).__name__}; allowed: a path, or a pandas, Polars, PyArrow or"
                " DuckDB table, or anything with Arrow inside"
            )
    except (pa.ArrowException, ValueError, TypeError) as error:
        told = "; ".join(str(part).splitlines()[0] for part in error.args)
        mixed = (
            "; give all cells of that column one type, such as text" if "Conversion failed for column" in told else ""
        )
        raise DataError(f"cannot read the table: {told}{mixed}") from error
    refuse_odd_names(table.column_names)
    return table


def read_ipc(path: Path, data: Data, shown: str) -> pa.Table:  # noqa: ARG001  as every reader
    """Read an Arrow file, of the kind that can be sought in or of the kind that streams."""
    try:
        with pa.memory_map(str(path)) as file:
            try:
                return pa.ipc.open_file(file).read_all()
            except pa.ArrowInvalid:
                file.seek(0)
                return pa.ipc.open_stream(file).read_all()
    except pa.ArrowException as error:
        raise DataError(f"cannot read {shown} as an Arrow file: {str(error).splitlines()[0]}") from error


def refuse_odd_names(columns: Sequence[str]) -> None:
    """Refuse tables without columns, columns without a name, and names that an engine could not tell apart: it ignores
    case."""
    if not columns:
        raise DataError("the table has no columns")
    seen: dict[str, tuple[int, str]] = {}
    for place, name in enumerate(columns, start=1):
        if not name:
            raise DataError(f"column {place} has no name, and nothing could be said of it; give it one")
        if name.casefold() in seen:
            earlier, other = seen[name.casefold()]
            if other == name:
                raise DataError(f"columns {earlier} and {place} are both called {name!r}; rename one")
            raise DataError(f"the engine cannot tell the column names {other!r} and {name!r} apart; rename one")
        if "\0" in name:
            raise DataError(f"the column name {name!r} has a zero byte in it: is this a text file?")
        if name.startswith(OWN):
            raise DataError(f"the engine keeps the name {name!r} for itself; rename that column")
        seen[name.casefold()] = place, name


def kind_of(source: Any) -> str:
    """Return the library that a table belongs to."""
    return type(source).__module__.partition(".")[0].lstrip("_")


def assemble(
    source: Any,
    table: pa.Table,
    columns: Sequence[str],
    positions: Longs,
    changed: pa.Table,
    cast: Container[str] = (),
) -> Any:
    """Return some rows of a caller's table, in the order of `positions`, as a table of the caller's kind.

    `table` is the caller's table as Arrow, its cells canonical. The columns of `changed` take the place of those of the
    same name, or come last. All others are given back in the caller's types, but for those that were `cast` on request;
    what types list besides values (the categories of a column) is what occurs in the rows that are returned.
    """
    news = {*changed.column_names}
    own = table.select([name for name in columns if name not in news]).take(pa.array(positions))
    names = dict.fromkeys([*columns, *changed.column_names])
    rows = plain(pa.table({name: (changed if name in news else own)[name] for name in names}))
    kept = [name for name in columns if name not in news and name not in cast]
    match kind_of(source):
        case "pandas":
            import pandas

            cells = {name: _as_series(rows[name]) for name in rows.column_names}
            called = {str(name): name for name in source.columns}  # Arrow's names are texts
            for name in kept:
                cells[name] = _as_pandas(rows[name], source[called[name]])
            return pandas.DataFrame(cells, index=pandas.RangeIndex(rows.num_rows))
        case "polars":
            import polars

            frame = polars.DataFrame(rows)
            return frame.with_columns([_as_polars(frame[name], source.schema[name]) for name in kept])
        case "duckdb":
            import duckdb

            return duckdb.from_arrow(rows)
    given = as_arrow(source)
    typed = {name: _as_arrow(rows[name], given[name]) for name in kept}
    return pa.table({name: typed.get(name, rows[name]) for name in names})


def _as_series(column: pa.ChunkedArray) -> Any:
    """Return a column for pandas: lists as Python has them; whole numbers beside gaps as floats, if these hold them."""
    import pandas

    if pa.types.is_nested(column.type):
        return column.to_pylist()
    if pa.types.is_integer(column.type) and column.null_count:
        ends = pc.min_max(column).as_py()
        if any(end is not None and abs(end) > 2**53 for end in ends.values()):
            return pandas.Series(column.to_pylist(), dtype="UInt64" if pa.types.is_uint64(column.type) else "Int64")
    return column.to_pandas()


def _as_pandas(column: pa.ChunkedArray, given: Any) -> Any:
    """Return a column in the type of one of pandas. Objects are what Python has for the values, missing ones None."""
    import pandas

    kind = given.dtype
    if pandas.api.types.is_object_dtype(kind) or pa.types.is_nested(column.type):
        return pandas.Series(column.to_pylist(), dtype=kind)
    if isinstance(kind, pandas.CategoricalDtype):
        values = column.to_pandas()
        there = {*values.dropna()}
        kind = pandas.CategoricalDtype([each for each in kind.categories if each in there], kind.ordered)
        return values.astype(kind)
    if isinstance(kind, pandas.ArrowDtype):
        arrow = pa.chunked_array(given.array.__arrow_array__())
        return pandas.Series(pandas.arrays.ArrowExtensionArray(_as_arrow(column, arrow)))
    if hasattr(kind, "__from_arrow__"):
        return pandas.Series(kind.__from_arrow__(column))
    return column.to_pandas().astype(kind)


def _as_polars(column: Any, kind: Any) -> Any:
    """Return a column in a type of Polars."""
    import polars

    if isinstance(kind, polars.Enum):
        there = {*column.drop_nulls()}
        return column.cast(polars.Enum([each for each in kind.categories if each in there]))
    return column.cast(kind)


def _as_arrow(column: pa.ChunkedArray, given: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the type that it was given in.

    A dictionary has what occurs: in the order given where that means something, else sorted, so that it tells nothing.
    """
    kind = given.type
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    flat = column.combine_chunks()
    there = pc.drop_null(flat.unique())
    if kind.ordered:
        listed_before = pa.concat_arrays([chunk.dictionary for chunk in given.chunks]).unique()
        there = listed_before.filter(pc.is_in(listed_before, there))
    else:
        there = there.take(pc.sort_indices(there))
    places = pc.index_in(flat, there).cast(kind.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, there, ordered=kind.ordered)])


def like(source: Any, table: pa.Table) -> Any:
    """Return a table as one of the caller's kind; of what is no table in memory, as Arrow."""
    match kind_of(source):
        case "pandas":
            import pandas

            return pandas.DataFrame({name: _as_series(table[name]) for name in table.column_names})
        case "polars":
            import polars

            return polars.from_arrow(table)
        case "duckdb":
            import duckdb

            return duckdb.from_arrow(table)
    return table


def split_fields(line: str, delimiter: str, quote: str) -> list[str]:
    """Return the fields of a line; a quote inside quotes stands twice.

    >>> split_fields("a, 'b, c', 'it''s'", ", ", "'")
    ['a', 'b, c', "it's"]
    """
    parts, fields, field = re.split(f"({re.escape(quote)}|{re.escape(delimiter)})", line), [], ""
    inside = False
    for place, part in enumerate(parts):
        if part == quote:
            field += quote if not inside and place > 1 and parts[place - 2] == quote and not parts[place - 1] else ""
            inside = not inside
        elif part == delimiter and not inside:
            fields.append(field)
            field = ""
        else:
            field += part
    return [*fields, field]


def text_of(path: Path, encoding: str) -> TextIO:
    """Return the text of a file, compressed or not."""
    way = COMPRESSED.get(path.suffix.lower())
    return io.TextIOWrapper(pa.input_stream(str(path), compression=way), encoding=encoding, newline="")


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a path at which a text file stands uncompressed: the file's own, or that of a temporary copy."""
    way = COMPRESSED.get(path.suffix.lower())
    if way is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.with_suffix("").name
        try:
            with pa.input_stream(str(path), compression=way) as packed, copy.open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"cannot unpack {str(path)!r}: {str(error).splitlines()[0]}") from None
        yield copy


@contextlib.contextmanager
def plain_text(path: Path, encoding: str, scratch: Path, shown: str) -> Iterator[Path]:
    """Yield a path at which the text of a file stands in UTF-8: the file's own, or that of a temporary copy."""
    try:
        known = codecs.lookup(encoding).name
        b" ".decode(known, "ignore")  # some of what Python knows, such as rot13, is no encoding of text
    except (LookupError, UnicodeError):  # the latter of those that read no other text, such as idna
        raise SpecError(
            f"data.encoding = {encoding!r} is not an encoding that Python knows, such as 'latin-1'"
        ) from None
    if known in ("utf-8", "ascii", "utf-8-sig"):
        yield path
        return
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        copy = Path(folder) / "text.csv"
        try:
            with text_of(path, known) as text, copy.open("w", encoding="utf-8", newline="") as utf8:
                shutil.copyfileobj(text, utf8, 1 << 20)
        except UnicodeError as error:
            raise DataError(f"{shown} is not valid {encoding}: {error}") from None
        yield copy


def _first_line(text: TextIO, quote: str) -> str:
    """Return a line with its end; there may be line breaks inside quotes."""
    line = text.readline()
    while line.count(quote) % 2 and (more := text.readline()):
        line += more
    return line


def _has_fewer_fields(line: str, other: str) -> bool:
    """Whether some delimiter is usual in another line, and not in this one."""
    return any(each in other and each not in line for each in ",;\t|")


def odd_line_end(path: Path, quote: str) -> str | None:
    """Return how the first line of a text file ends, where the first line break in it stands in a name, and is another.

    Programs write `\\n` into cells, and end lines with `\\r\\n`; who goes by the first one reads no rows.
    """
    with text_of(path, "utf-8-sig") as text:
        first, *others = re.findall(r"\r\n|\r|\n", _first_line(text, quote)) or [""]
    return others[-1] if others and others[-1] != first else None


def csv_columns(path: Path, data: Data, shown: str) -> list[str]:
    """Return the column names in the first line of a text file."""
    try:
        with text_of(path, "utf-8-sig") as text:
            line = _first_line(text, data.quote)
            more = text.readline(1 << 16) if line.strip() else text.read(1 << 16)
    except UnicodeDecodeError as error:
        raise DataError(f"{shown} is not valid UTF-8 ({error.reason}); set data.encoding") from None
    if more.strip() and not line.strip():
        raise DataError(f"the first line of {shown} is empty; it should hold the names of the columns")
    if not line.strip():
        raise DataError(f"{shown} is empty: its first line should hold the names of its columns")
    if line.count(data.quote) % 2:
        raise DataError(f"cannot read {shown}: line 1: a quote that does not end")
    if re.fullmatch(r"(?i)\"?sep=.\"?", line.strip()) or (line[0] == "#" and _has_fewer_fields(line, more)):
        raise DataError(
            f"the first line of {shown} is {line.strip()!r}; it should hold the names of the columns: take out what"
            " stands above them"
        )
    names = split_fields(line.rstrip("\r\n"), data.delimiter, data.quote)
    if names[0] == "" and ROW_NAMES not in names:  # R and pandas write the names of rows so
        names[0] = ROW_NAMES
    if "" in names:
        ends = f"; it ends with {data.delimiter!r}" if names.index("") == len(names) - 1 else ""
        raise DataError(f"column {names.index('') + 1} of {shown} has no name in the first line{ends}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"columns that occur more than once in {shown}: {listed(twice)}")
    refuse_odd_names(names)
    return names
