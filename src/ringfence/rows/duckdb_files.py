"""How DuckDB reads files: a query for each format that it knows by itself."""

import codecs
import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed
from ringfence.rows.databases import chosen_table
from ringfence.rows.duckdb_lines import TextFiles
from ringfence.rows.duckdb_words import literal, paths, quoted, saying
from ringfence.rows.formats import DUCKDB, JSON_LINES, PARQUET, TEXT, Format, without_compression
from ringfence.rows.places import Place
from ringfence.rows.same_value import missing_words
from ringfence.rows.sniffing import suffix_of
from ringfence.rows.sources import csv_columns, odd_line_end, plain_text, refuse_odd_names
from ringfence.spec.data import Data

SENSED = re.compile(r"\b(DATE|TIMESTAMP|TIME|UUID|JSON)\b(?! )")
"""What DuckDB makes of texts in JSON that look like something else. A name of a field has a blank behind it."""


class DuckDBFiles:
    """Files as DuckDB reads them, for one connection. What must be copied to be read goes into `scratch`.

    `texts` are the text files that were opened, by the path that DuckDB knows them by: what they are called in
    messages, and how their fields are told apart. `of_query` are those of each query for text.
    """

    def __init__(self, connection: Any, scratch: Path, cleanup: contextlib.ExitStack) -> None:
        self._connection, self._scratch, self._cleanup = connection, scratch, cleanup
        self._whole: set[Path] = set()
        self._attached: dict[Path, str] = {}
        self.texts: dict[str, tuple[str, Data]] = {}
        self.of_query: dict[str, TextFiles] = {}

    def query(self, place: Place, data: Data, as_it_stands: bool) -> str | None:
        """Return a query for the rows at a place; None for formats that DuckDB does not read by itself."""
        queries: dict[Format, Callable[[Place, Data, bool], str]] = {
            TEXT: self._text,
            PARQUET: self._parquet,
            JSON_LINES: self._json_lines,
            DUCKDB: self._database,
        }
        return queries[place.form](place, data, as_it_stands) if place.form in queries else None

    def _text(self, place: Place, data: Data, as_it_stands: bool) -> str:
        if place.folders:
            raise DataError(f"{place.shown} has folders with names like columns, which are read of Parquet only")
        files, columns = [], []
        for file in place.files:
            shown = place.called(file)
            self._check_whole(file, shown)
            _refuse_other_kinds(file, shown, data)
            path = self._cleanup.enter_context(plain_text(file, data.encoding, self._scratch, shown))
            self.texts[str(path)] = shown, data
            columns.append(csv_columns(path, data, shown))
            files.append(path)
            if columns[-1] != columns[0]:
                raise _unlike(place, file, columns[0], columns[-1])
        if not as_it_stands:
            _refuse_unreadable(data)
        options = {
            "delim": literal(data.delimiter),
            "quote": literal(data.quote),
            "escape": literal(data.quote),
            "auto_detect": "false",
            "hive_partitioning": "false",
            "nullstr": f"[{', '.join(map(literal, missing_words(() if as_it_stands else data.missing_values)))}]",
            "allow_quoted_nulls": str(not as_it_stands).lower(),
            "columns": _columns(dict.fromkeys(columns[0], "VARCHAR")),
        }
        for end in filter(None, (odd_line_end(file, data.quote) for file in files)):
            options["new_line"] = literal(end.replace("\r", r"\r").replace("\n", r"\n"))  # else found out for each file
        found = TextFiles(files, columns[0], data.delimiter, data.quote, _options(options))
        self.of_query[found.query] = found
        return found.query

    def _parquet(self, place: Place, data: Data, as_it_stands: bool) -> str:  # noqa: ARG002
        """Times are as clocks in the zone show them that the file names."""
        schemas = [_parquet_schema(file, place.called(file)) for file in place.files]
        first = schemas[0]
        for file, schema in zip(place.files, schemas, strict=True):
            refuse_odd_names(schema.names)
            if sorted(schema.names) != sorted(first.names):
                raise _unlike(place, file, first.names, schema.names)
            for kind in schema:
                if kind.type != first.field(kind.name).type:
                    raise DataError(
                        f"the files of {place.shown} do not agree: column {kind.name!r} holds {kind.type} in"
                        f" {str(file)!r}, and {first.field(kind.name).type} in {str(place.files[0])!r}"
                    )
        named = [*place.folders[place.files[0]]] if place.folders else []
        twice = [name for name in named if name in first.names]
        if twice:
            raise DataError(f"{place.shown} has {listed(map(repr, twice))} both as a column and as names of folders")
        refuse_odd_names([*first.names, *named])
        zones = {field.name: field.type.tz for field in first if pa.types.is_timestamp(field.type) and field.type.tz}
        shown = {name: _shown_by_clocks(quoted(name), zone) for name, zone in zones.items()}
        columns = [f"{shown.get(name, quoted(name))} AS {quoted(name)}" for name in [*first.names, *named]]
        options = {"hive_partitioning": str(bool(named)).lower()}
        if named:
            options["hive_types_autocast"] = "false"
        return f"SELECT {', '.join(columns)} FROM read_parquet({paths(place.files)}, {_options(options)})"

    def _json_lines(self, place: Place, data: Data, as_it_stands: bool) -> str:  # noqa: ARG002
        """Text stays text, also where it looks like a date; a column with numbers and texts is text."""
        if place.folders:
            raise DataError(f"{place.shown} has folders with names like columns, which are read of Parquet only")
        options = {"format": "'newline_delimited'", "records": "true", "maximum_object_size": str(1 << 28)}
        every = {"sample_size": "-1", "convert_strings_to_integers": "false", "union_by_name": "true"}
        kinds: list[dict[str, str]] = []
        for file in place.files:
            shown = place.called(file)
            self._check_whole(file, shown)
            self.texts[str(file)] = shown, data
            if file.stat().st_size == 0:
                raise DataError(f'{shown} is empty: each line should hold one object, as {{"age": 31}}')
            with saying(f"cannot read {shown}", DataError):
                found = self._connection.sql(f"SELECT * FROM read_json({paths([file])}, {_options(options | every)})")
            _refuse_renamed(self._connection, file, shown, found.columns)
            kinds.append(
                {name: SENSED.sub("VARCHAR", str(kind)) for name, kind in zip(found.columns, found.types, strict=True)}
            )
            if sorted(kinds[-1]) != sorted(kinds[0]):
                raise _unlike(place, file, [*kinds[0]], [*kinds[-1]])
        refuse_odd_names([*kinds[0]])
        columns = {name: _common([each[name] for each in kinds]) for name in kinds[0]}
        return f"SELECT * FROM read_json({paths(place.files)}, {_options(options)}, columns = {_columns(columns)})"

    def _database(self, place: Place, data: Data, as_it_stands: bool) -> str:  # noqa: ARG002
        (file,) = place.files
        if file not in self._attached:
            name = f"file {len(self._attached)}"
            with saying(f"cannot read {place.shown}", DataError):
                self._connection.execute(f"ATTACH {literal(str(file))} AS {quoted(name)} (READ_ONLY)")
            self._attached[file] = name
        base = self._attached[file]
        found = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY ALL",
            [base],
        ).fetchall()
        tables = {(name if schema == "main" else f"{schema}.{name}"): (schema, name) for schema, name in found}
        schema, name = tables[chosen_table([*tables], data, place.shown)]
        whole = f"{quoted(base)}.{quoted(schema)}.{quoted(name)}"
        with saying(f"cannot read {place.shown}", DataError):
            rows = self._connection.sql(f"SELECT * FROM {whole}")
        refuse_odd_names(rows.columns)
        shown = {
            name: f"timezone('UTC', {quoted(name)})"
            for name, kind in zip(rows.columns, rows.types, strict=True)
            if str(kind) == "TIMESTAMP WITH TIME ZONE"
        }
        columns = [f"{shown.get(name, quoted(name))} AS {quoted(name)}" for name in rows.columns]
        return f"SELECT {', '.join(columns)} FROM {whole}"

    def _check_whole(self, file: Path, shown: str) -> None:
        """Refuse compressed files that are cut off or damaged: DuckDB takes what there is for all."""
        _, way = without_compression(file)
        if way is None or file in self._whole:
            return
        try:
            with pa.input_stream(str(file), compression=way) as content:
                while content.read(1 << 22):
                    pass
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"cannot unpack {shown}, it is cut off or damaged: {str(error).splitlines()[0]}") from None
        self._whole.add(file)


def _refuse_other_kinds(file: Path, shown: str, data: Data) -> None:
    """Refuse what is no text by its first bytes, or text in an encoding that shows there and is another."""
    found = suffix_of(file)
    if not found.startswith((".csv", ".jsonl")) or (
        found.endswith((".gz", ".zst")) and not without_compression(file)[1]
    ):
        raise DataError(f"{shown} is no plain text: by its first bytes, its name should end in {found}")
    with file.open("rb") as content:
        wide = content.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    if wide and data.encoding == Data().encoding:
        raise DataError(f'{shown} is not valid UTF-8, but text in UTF-16: set data.encoding = "utf-16"')


def _refuse_unreadable(data: Data) -> None:
    """Refuse texts that stand for a missing value where DuckDB would not find them: they need quotes around them."""
    for word in data.missing_values:
        if data.delimiter in word or data.quote in word:
            raise SpecError(
                f"data.missing_values has {word!r}, and in text files none may hold the delimiter ({data.delimiter}) or"
                f" the quote ({data.quote}); leave its cells empty in the file, or leave it out here"
            )


def _refuse_renamed(connection: Any, file: Path, shown: str, names: Sequence[str]) -> None:
    """Refuse keys without a name, and names that differ in case alone: DuckDB gives one of them another, which no line
    has, so that it would find no values."""
    folded = {name.casefold() for name in names}
    twins = any((base := re.fullmatch(r"(.*)_\d+", name.casefold())) and base[1] in folded for name in names)
    if not twins and not any(re.fullmatch(r"C\d+", name) for name in names):
        return
    with saying(f"cannot read {shown}", DataError):
        lines = f"read_json_objects({paths([file])}, format = 'newline_delimited')"
        keys = connection.execute(f"SELECT DISTINCT unnest(json_keys(json)) FROM {lines}").fetchall()
    if ("",) in keys:
        raise DataError(f'{shown} has objects with a key that has no name ({{"": ...}}); give it one')
    refuse_odd_names(sorted(key for (key,) in keys))


def _unlike(place: Place, file: Path, first: Sequence[str], other: Sequence[str]) -> DataError:
    """Return the refusal of a file whose columns are not those of the first."""
    lacks, more = [name for name in first if name not in other], [name for name in other if name not in first]
    differs = [
        *([f"lacks {listed(map(repr, lacks))}"] if lacks else []),
        *([f"has {listed(map(repr, more))} besides"] if more else []),
    ] or ["has them in another order"]
    return DataError(
        f"the files of {place.shown} do not have the same columns: {str(file)!r} {' and '.join(differs)};"
        f" those of {str(place.files[0])!r} are {listed(map(repr, first))}"
    )


def _common(kinds: Sequence[str]) -> str:
    """Return the type that holds the values of a column in all files: numbers, or else text."""
    different = {*kinds}
    if len(different) == 1:
        return kinds[0]
    return "DOUBLE" if different <= {"BIGINT", "UBIGINT", "HUGEINT", "DOUBLE"} else "VARCHAR"


def _parquet_schema(path: Path, shown: str) -> pa.Schema:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {shown} as a Parquet file: {str(error).splitlines()[0]}") from error


def _shown_by_clocks(column: str, zone: str) -> str:
    """Return what clocks show of a moment in a zone: one with a name, or an offset, which the engine has no name for.

    >>> _shown_by_clocks("seen", "-05:30")
    "timezone('UTC', seen) - INTERVAL 330 MINUTE"
    """
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    if offset is None:
        return f"timezone({literal(zone)}, {column})"
    return f"timezone('UTC', {column}) {offset[1]} INTERVAL {int(offset[2]) * 60 + int(offset[3])} MINUTE"


def _columns(kinds: dict[str, str]) -> str:
    return "{" + ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in kinds.items()) + "}"


def _options(options: dict[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in options.items())
