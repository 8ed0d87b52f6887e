"""The engine of DuckDB: files and tables in memory, counted and rewritten on one machine."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa

from ringfence.errors import DataError, EngineError, SpecError, listed
from ringfence.rows.engine import Engine, as_released
from ringfence.rows.item_columns import BASKET_FILES, read_basket_file
from ringfence.rows.number_marks import plain_number_rows, plain_number_table
from ringfence.rows.same_value import canonical_rows, canonical_table, for_engine, missing_words
from ringfence.rows.sources import (
    LABEL,
    PLACE,
    ROWS,
    as_arrow,
    csv_columns,
    read_ipc,
    readable_as_utf8,
    refuse_odd_names,
)
from ringfence.rows.staging import spilling
from ringfence.rows.steps import with_columns
from ringfence.spec.tables import Data


class DuckDB(Engine):
    """A DuckDB connection that lives for one job: it holds views of the sources, and small tables to join with.

    What it has no memory for, it writes into `scratch`, a folder for nobody else's eyes: by default one of the system's
    temporary folders, which is gone in the end.
    """

    def __init__(self, data: Data, *, scratch: Path | None = None) -> None:
        self._cleanup = contextlib.ExitStack()
        self._scratch = self._cleanup.enter_context(spilling()) if scratch is None else scratch
        self._ibis = ibis.duckdb.connect()
        self._duckdb = self._ibis.con
        self._tables = 0
        self._held: dict[str, pa.Table] = {}
        self._text_files: dict[str, str] = {}
        self._frugal = data.memory_limit is not None
        self._duckdb.execute("SET enable_progress_bar = false")  # at a prompt it would write between what we show
        self._duckdb.execute(f"SET temp_directory = {_literal(str(self._scratch / 'spilled'))}")
        if data.memory_limit is not None:
            try:
                with _saying("data.memory_limit", SpecError):
                    self._duckdb.execute(f"SET memory_limit = {_literal(data.memory_limit)}")
            except SpecError:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        self._duckdb.close()
        self._cleanup.close()

    def open(self, source: Any, data: Data, *, as_it_stands: bool = False) -> ibis.Table:
        """Return the rows of a source, with canonical cells unless `as_it_stands`."""
        if isinstance(source, str | Path):
            rows = self._open_file(Path(source), data, as_it_stands)
            return rows if as_it_stands else plain_number_rows(rows, data)
        table = as_arrow(source)
        return self.hold(
            table if as_it_stands else plain_number_table(canonical_table(table, data.missing_values), data)
        )

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that has come through the door before."""
        return self._register(for_engine(table))

    def hold_labels(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a small table, its texts as enumerations: one or two bytes each when rows are shuffled."""
        given, name = self.hold(table).get_name(), self._name()
        columns = []
        for place, field in enumerate(table.schema):
            column = _quoted(field.name)
            if pa.types.is_string(field.type) and field.name == LABEL:
                kind = _quoted(f"{name} labels {place}")
                self._duckdb.execute(
                    f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT {column} FROM {_quoted(given)} ORDER BY 1)"
                )
                column = f"{column}::{kind} AS {column}"
            columns.append(column)
        self._duckdb.execute(f"CREATE TEMP TABLE {_quoted(name)} AS SELECT {', '.join(columns)} FROM {_quoted(given)}")
        return self._ibis.table(name)

    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, in the order in which they come."""
        return rows.mutate(ibis.row_number().over().name(PLACE))

    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return a random number for each number, never the same twice: its hash with a secret of 128 bits or more.

        The engine's own generator has 32 bits of seed: whoever knows the rows as they came could try them all, and read
        from the order of a release which row is whose.
        """
        return md5_number(ibis.literal(secret) + number.cast("string"))

    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; where cells may be missing, missing ones are."""
        return left.identical_to(right) if nullable else left == right

    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""
        return _as_text(column)

    def digest(self, cells: ibis.Value) -> ibis.Value:
        """Return DuckDB's own hash, which is not for secrets, but spreads well: the key is what nobody knows."""
        return _hash(cells)

    def _open_file(self, path: Path, data: Data, as_it_stands: bool) -> ibis.Table:
        if not path.is_file():
            raise DataError(f"there is no file {str(path)!r}")
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                return self._open_csv(path, data, as_it_stands)
            case ".parquet" | ".pq":
                rows = self._open_parquet(path)
                return rows if as_it_stands else canonical_rows(rows, data.missing_values)
            case ".arrow" | ".feather" | ".ipc":
                return self.open(read_ipc(path), data, as_it_stands=as_it_stands)
            case suffix if suffix in BASKET_FILES:
                return self._register(read_basket_file(path, data.encoding))
        raise SpecError(
            f"cannot tell what {str(path)!r} is by its name;"
            " allowed: .csv, .tsv, .txt, .parquet, .pq, .arrow, .feather, .ipc; .dat and .spmf for baskets"
        )

    def _open_parquet(self, path: Path) -> ibis.Table:
        """Return the rows of a Parquet file, times as clocks in the zone show them that the file names."""
        schema = _parquet_schema(path)
        refuse_odd_names(schema.names)
        zones = {field.name: field.type.tz for field in schema if pa.types.is_timestamp(field.type) and field.type.tz}
        shown = [f"{_shown_by_clocks(_quoted(name), zone)} AS {_quoted(name)}" for name, zone in zones.items()]
        replaced = f" REPLACE ({', '.join(shown)})" if shown else ""
        with _saying(f"cannot read {str(path)!r}", DataError):
            return self._view(f"SELECT *{replaced} FROM read_parquet({_path(path)}, hive_partitioning = false)")

    def _open_csv(self, path: Path, data: Data, as_it_stands: bool) -> ibis.Table:
        shown = repr(str(path))
        path = self._cleanup.enter_context(readable_as_utf8(path, data.encoding, self._scratch))
        self._text_files[str(path)] = shown
        columns = csv_columns(path, data)
        options = {
            "delim": _literal(data.delimiter),
            "quote": _literal(data.quote),
            "escape": _literal(data.quote),
            "header": "true",
            "auto_detect": "false",
            "hive_partitioning": "false",
            "nullstr": f"[{', '.join(map(_literal, missing_words(() if as_it_stands else data.missing_values)))}]",
            "allow_quoted_nulls": str(not as_it_stands).lower(),
            "columns": "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in columns) + "}",
        }
        settings = ", ".join(f"{key} = {value}" for key, value in options.items())
        with _saying(f"cannot read {str(path)!r}", DataError):
            return self._view(f"SELECT * FROM read_csv({_path(path)}, {settings})")

    def count(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each.

        Plain columns of a table that is in memory are counted where they lie, which takes Arrow a fifth of the time.
        """
        with self._reading():
            held = self._plain(rows, columns)
            if held is None:
                return self._fetch(rows.group_by(list(columns)).aggregate(rows.count().name(ROWS)))
            return (
                held.group_by(list(columns), use_threads=False)
                .aggregate([([], "count_all")])
                .rename_columns([*columns, ROWS])
            )

    def _plain(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:
        """Return these columns of a table in memory, if they are just that, of types that Arrow and the engine compare
        alike, and memory is not to be spared."""
        node = rows.op()
        while isinstance(node, ops.Project) and all(_is_field(node.values[name], name) for name in columns):
            node = node.parent
        held = self._held.get(node.name) if isinstance(node, ops.DatabaseTable) and not self._frugal else None
        if held is None or not all(_compares_alike(held.schema.field(name).type) for name in columns):
            return None
        return held.select(list(columns))

    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""
        name = self._name()
        with self._reading():
            query = self._plain_text(self._ibis.compile(rows))
            self._duckdb.execute(f'CREATE TEMP TABLE "{name}" AS {query}')
        return self._ibis.table(name)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""
        with self._reading():
            return self._fetch(rows)

    def _fetch(self, rows: ibis.Table) -> pa.Table:
        table = self._duckdb.execute(self._ibis.compile(rows)).to_arrow_table()
        plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema]
        return table.cast(pa.schema(plain))

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, the lines of a basket file, or CSV as `as_released` says."""
        if path.suffix == ".parquet":
            options = "FORMAT parquet"
        elif path.suffix in BASKET_FILES:
            options = "FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE ''"
        else:
            rows, dialect, quote = _floats_as_text(rows), as_released(data), _literal(data.quote)
            options = f"FORMAT csv, HEADER true, DELIMITER {_literal(dialect.delimiter)}, QUOTE {quote}, ESCAPE {quote}"
            if len(rows.columns) == 1:  # a row without its only value would be an empty line, which readers pass over
                rows = with_columns(rows, {name: _as_text(rows[name]).fill_null("") for name in rows.columns})
        with self._reading(f"cannot write {str(path)!r}"):
            query = self._plain_text(self._ibis.compile(rows))
            self._duckdb.execute(f"COPY ({query}) TO {_literal(str(path))} ({options})")

    def _plain_text(self, query: str) -> str:
        """Return a query with enumerations as text: a Parquet file has the dictionary of all that a column could be,
        and its statistics, also of labels that no row is left with. To Ibis they are text already."""
        found = self._duckdb.sql(query)
        plain = {name: _without_enumerations(kind) for name, kind in zip(found.columns, found.types, strict=True)}
        changed = [name for name, kind in zip(found.columns, found.types, strict=True) if plain[name] != str(kind)]
        casts = [f"CAST({_quoted(name)} AS {plain[name]}) AS {_quoted(name)}" for name in changed]
        return f"SELECT * REPLACE ({', '.join(casts)}) FROM ({query})" if casts else query

    @contextlib.contextmanager
    def _reading(self, otherwise: str = "the engine failed") -> Iterator[None]:
        """Lay the blame on a text file where it lies there: its rows are only read when something is done with them."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            if "CSV" in str(error) or "unicode" in str(error).lower():
                raise DataError(f"cannot read {self._blamed(str(error))}: {_first_sentence(str(error))}") from error
            raise EngineError(f"{otherwise}: {_first_sentence(str(error))}") from error

    def _blamed(self, message: str) -> str:
        """Return the text file that a message names, as the caller called it; else those that there are."""
        named = [shown for path, shown in self._text_files.items() if path in message]
        return listed(named or self._text_files.values()) if self._text_files else "the text file"

    def _name(self) -> str:
        self._tables += 1
        return f"table {self._tables}"

    def _view(self, query: str) -> ibis.Table:
        name = self._name()
        self._duckdb.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
        return self._ibis.table(name)

    def _register(self, table: pa.Table) -> ibis.Table:
        name = self._name()
        with _saying(f"the engine cannot hold a table with columns {_kinds(table)}", DataError):
            self._duckdb.register(name, table)
            self._held[name] = table
            return self._ibis.table(name)


_ENUMERATION = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")


def _without_enumerations(kind: object) -> str:
    """Return a type of DuckDB with text in the place of enumerations, also inside lists and the like.

    >>> _without_enumerations("STRUCT(a ENUM('it''s (b)', 'c')[], d INTEGER)")
    'STRUCT(a VARCHAR[], d INTEGER)'
    """
    return _ENUMERATION.sub("VARCHAR", str(kind))


@ibis.udf.scalar.builtin(signature=(("string",), "decimal(38, 0)"))
def md5_number(text):  # type: ignore[no-untyped-def]  # what Ibis wants
    """The hash of a text as a number, by DuckDB."""


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def _hash(cells) -> dt.uint64:  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number of 64 bits for some cells, by DuckDB."""


def _is_field(value: ops.Value, name: str) -> bool:
    return isinstance(value, ops.Field) and value.name == name


def _compares_alike(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind))


def _floats_as_text(rows: ibis.Table) -> ibis.Table:
    return with_columns(
        rows, {name: _as_text(rows[name]) for name, kind in rows.schema().items() if kind.is_floating()}
    )


def _as_text(column: ibis.Value) -> ibis.Value:
    """Return values as text, whole numbers without a fraction as labels have them: gaps turn integers into floats."""
    if not column.type().is_floating():
        return column.cast("string")
    whole = column.try_cast("int64")  # rounds, and is missing for what is too large
    same = (column.abs() < 2**53) & (whole.cast("float64") == column.cast("float64"))
    return ibis.ifelse(same, whole.cast("string"), column.cast("string"))


def _shown_by_clocks(column: str, zone: str) -> str:
    """Return what clocks show of a moment in a zone: one with a name, or an offset, which the engine has no name for.

    >>> _shown_by_clocks("seen", "-05:30")
    "timezone('UTC', seen) - INTERVAL 330 MINUTE"
    """
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    if offset is None:
        return f"timezone({_literal(zone)}, {column})"
    return f"timezone('UTC', {column}) {offset[1]} INTERVAL {int(offset[2]) * 60 + int(offset[3])} MINUTE"


def _parquet_schema(path: Path) -> pa.Schema:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {str(path)!r} as a Parquet file: {str(error).splitlines()[0]}") from error


def _kinds(table: pa.Table) -> str:
    return listed(f"{field.name!r} ({field.type})" for field in table.schema)


def _path(path: Path) -> str:
    """Return a path as the engine reads it: with what it would take for a pattern between brackets."""
    return _literal(re.sub(r"[*?\[]", r"[\g<0>]", str(path)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextlib.contextmanager
def _saying(what: str, kind: type[Exception]) -> Iterator[None]:
    """Turn the engine's complaints into a sentence."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise kind(f"{what}: {_first_sentence(str(error))}") from error


def _first_sentence(message: str) -> str:
    """Shorten what DuckDB says: where a text file is malformed, the line and the reason; else its first line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line[1]}: " if line else ""
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where}the file is not valid UTF-8; set data.encoding"
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"{where}{found[2]} fields where the first line has {found[1]}"
    if "unterminated quote" in message:
        return f"{where}a quote that does not end"
    if "Maximum line size" in message:
        return f"{where}it is too long"
    if line:
        return f"{where}it is malformed"
    return message.splitlines()[0]
