"""Tables in and out of PostgreSQL: a connection, its types in Arrow's, and rows by COPY, batch by batch.

Rows travel as CSV, in which an empty field is a missing value and an empty text stands in quotes. Arrow reads and
writes that itself, so that no cell passes through Python but those of lists, which travel as JSON.
"""

import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ringfence.errors import DataError, EngineError, RingfenceError, SpecError, listed
from ringfence.rows.extras import needed
from ringfence.rows.remote import without_secrets

if TYPE_CHECKING:
    import psycopg

LOCK_WAIT = "30s"
"""How long a table that somebody else has locked is waited for."""
LONGEST_NAME = 63
"""How many bytes of a name PostgreSQL keeps."""
BLOCK = 1 << 25
"""How many bytes are read at a time, and how long a row may be."""

SETTINGS = {
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "jit": "off",
    "enable_nestloop": "off",  # rows find each other by equal cells: hashed, however few the server expects,
    "enable_mergejoin": "off",  # and however many columns: to sort all rows by eight takes three times as long
    "lock_timeout": LOCK_WAIT,
    "work_mem": "256MB",
    "temp_buffers": "64MB",
    "client_connection_check_interval": "2s",  # what a dead client has asked for ends soon
}

OIDS = {
    16: "bool", 20: "int64", 21: "int16", 23: "int32", 700: "float32", 701: "float64", 25: "text", 1043: "text",
    1042: "text", 1082: "date", 1114: "timestamp", 1083: "time", 17: "bytes", 1000: "bool[]", 1005: "int16[]",
    1007: "int32[]", 1016: "int64[]", 1021: "float32[]", 1022: "float64[]", 1009: "text[]", 1015: "text[]",
    1014: "text[]", 1182: "date[]",
}  # fmt: skip
"""Types that are read as they are, by their numbers in PostgreSQL; of all others: `read_as`."""
IBIS: Mapping[str, dt.DataType] = {
    "bool": dt.boolean, "int16": dt.int16, "int32": dt.int32, "int64": dt.int64, "float32": dt.float32,
    "float64": dt.float64, "text": dt.string, "date": dt.date, "timestamp": dt.Timestamp(scale=6), "time": dt.time,
    "bytes": dt.binary,
}  # fmt: skip
WRITTEN: Sequence[tuple[str, str]] = (
    ("is_boolean", "boolean"), ("is_int8", "smallint"), ("is_uint8", "smallint"), ("is_int16", "smallint"),
    ("is_uint16", "integer"), ("is_int32", "integer"), ("is_uint32", "bigint"), ("is_int64", "bigint"),
    ("is_uint64", "numeric(20)"), ("is_float16", "real"), ("is_float32", "real"), ("is_float64", "double precision"),
    ("is_string", "text"), ("is_large_string", "text"), ("is_null", "text"), ("is_date", "date"),
    ("is_timestamp", "timestamp"), ("is_time", "time"), ("is_binary", "bytea"), ("is_large_binary", "bytea"),
)  # fmt: skip
"""What Arrow asks a type, and what PostgreSQL has for it."""


def connect(address: str, key: str = "data.source") -> "psycopg.Connection[Any]":
    """Return a connection in one transaction, which sees the database as it was at its beginning.

    Whatever is made in it is there for others when it is committed, and is gone with a client that dies. Passwords come
    from where PostgreSQL's own clients take them: PGPASSWORD, .pgpass, or a service file.
    """
    driver = needed("psycopg", "from PostgreSQL", "postgres")
    parts, shown = urlsplit(address), without_secrets(address)
    if parts.password is not None or any(name in ("password", "sslpassword") for name, _ in parse_qsl(parts.query)):
        raise SpecError(
            f"{key} = {shown!r} came with a password, which does not belong into a specification: set PGPASSWORD, or"
            " put it into ~/.pgpass or a service file"
        )
    try:
        opened: psycopg.Connection[Any] = driver.connect(address, connect_timeout=10, application_name="ringfence")
    except driver.Error as error:
        raise EngineError(f"cannot connect to {shown!r}: {_first_line(error)}") from error
    opened.isolation_level = driver.IsolationLevel.REPEATABLE_READ
    with saying(f"cannot work in {shown!r}"):
        for name, value in SETTINGS.items():
            if name != "client_connection_check_interval" or opened.info.server_version >= 140000:
                opened.execute("SELECT set_config(%s, %s, false)", [name, value])
    return opened


@contextlib.contextmanager
def saying(what: str) -> Iterator[None]:
    """Turn the database's complaints into a sentence."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise complaint(error, what) from error


def complaint(error: Exception, what: str) -> RingfenceError:
    """Return what to say where the database fails, and what to do about it."""
    from psycopg import errors

    why = _first_line(error)
    match error:
        case errors.LockNotAvailable():
            hint = (
                f"; somebody else has held a lock on it for {LOCK_WAIT}: try again when they have ended"
                " (pg_stat_activity shows who it is)"
            )
        case errors.InsufficientPrivilege():
            hint = (
                "; a source needs the right to SELECT and to make temporary tables (TEMPORARY on the database), a"
                " target CREATE on its schema"
            )
        case errors.ReadOnlySqlTransaction():
            hint = "; temporary tables are needed, which a server that only follows another cannot have"
        case errors.DependentObjectsStillExist():
            hint = "; views or keys depend on the earlier table: drop them first, or name another table"
        case errors.DiskFull() | errors.OutOfMemory():
            hint = "; the server has no room for it"
        case errors.UntranslatableCharacter() | errors.CharacterNotInRepertoire():
            hint = "; text in PostgreSQL cannot have a zero byte, and only what its encoding has"
        case errors.AdminShutdown() | errors.CrashShutdown() | errors.OperationalError() if not error.sqlstate:
            hint = "; the connection was lost, and nothing was written: try again"
        case errors.AdminShutdown() | errors.CrashShutdown():
            hint = "; the server ended the connection, and nothing was written: try again"
        case _:
            hint = ""
    kind = SpecError if isinstance(error, errors.SyntaxError | errors.UndefinedColumn) else EngineError
    return kind(f"{what}: {why}{hint}")


def _first_line(error: Exception) -> str:
    diagnosis = getattr(error, "diag", None)
    told = getattr(diagnosis, "message_primary", None) or str(error)
    return str(told).strip().splitlines()[0] if str(told).strip() else type(error).__name__


def quoted(name: str) -> str:
    """Return the name of a column or a table as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def read_as(column: "psycopg.Column") -> tuple[str, dt.DataType]:
    """Return how a column of a query is selected, and what it then holds.

    Text is compared to the letter, whatever its collation. Moments are what clocks in UTC show; numbers without a
    precision are text.
    """
    name = quoted(column.name)
    known = OIDS.get(column.type_code)
    match column.type_code:
        case 1186:
            return name, dt.Interval("s")
        case 1184:
            return f"timezone('UTC', {name}) AS {name}", IBIS["timestamp"]
        case 1700 if column.precision:
            return name, dt.Decimal(column.precision, column.scale)
    if known is None or known == "text":
        text = f"trim_scale({name})" if column.type_code == 1700 else name
        return f'{text}::text COLLATE "C" AS {name}', dt.string
    if known.endswith("[]"):
        cast = f"::text[] AS {name}" if known == "text[]" else ""
        return f"{name}{cast}", dt.Array(IBIS[known[:-2]])
    return name, IBIS[known]


def written_type(kind: pa.DataType, name: str) -> str:
    """Return the type that PostgreSQL has for one of Arrow's."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"{written_type(kind.value_type, name)}[]"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    for question, found in WRITTEN:
        if getattr(pa.types, question)(kind):
            return found
    raise DataError(f"column {name!r} holds {kind}, for which PostgreSQL has no type")


def refuse_long_names(names: Iterable[str]) -> None:
    """Refuse names of which PostgreSQL would keep a part."""
    long = [name for name in names if len(name.encode()) > LONGEST_NAME]
    if long:
        raise DataError(
            f"PostgreSQL keeps {LONGEST_NAME} bytes of a name, and these columns have longer ones:"
            f" {listed(map(repr, long))}; rename them"
        )


# Out


def copy_out(connection: "psycopg.Connection[Any]", query: str, schema: ibis.Schema) -> Iterator[pa.RecordBatch]:
    """Return the rows of a query as they come."""
    names = [f"c{place}" for place in range(len(schema))]
    kinds = [_travels_as(kind) for kind in schema.types]
    exprs = [_sent(quoted(name), kind) for name, kind in schema.items()]
    select = f"SELECT {', '.join(exprs)} FROM ({query}) AS ringfence_rows"
    with connection.cursor() as cursor, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as copy:
        stream = io.BufferedReader(_Stream(copy), 1 << 20)
        if not stream.peek(1):
            return
        reader = pyarrow.csv.open_csv(
            stream,
            pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK, use_threads=False),
            pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(
                column_types=dict(zip(names, kinds, strict=True)),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
        wanted = schema.to_pyarrow()
        for batch in reader:
            yield pa.record_batch(
                [_received(column, field.type) for column, field in zip(batch.columns, wanted, strict=True)],
                schema=wanted,
            )


class _Stream(io.RawIOBase):
    """What a COPY sends, as a file."""

    def __init__(self, copy: Any) -> None:
        self._parts, self._left = iter(copy), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = memoryview(part)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _travels_as(kind: dt.DataType) -> pa.DataType:
    return pa.string() if kind.is_array() or kind.is_binary() else kind.to_pyarrow()


def _sent(name: str, kind: dt.DataType) -> str:
    if kind.is_array():
        return f"array_to_json({name})"
    return f"encode({name}, 'hex')" if kind.is_binary() else name


def _received(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        cells = [None if cell is None else json.loads(cell) for cell in column.to_pylist()]
        if pa.types.is_date(kind.value_type):
            return pa.array(cells, pa.list_(pa.string())).cast(kind)
        return pa.array(cells, kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if cell is None else bytes.fromhex(cell) for cell in column.to_pylist()], kind)
    return column.cast(kind)


# In


def create(connection: "psycopg.Connection[Any]", name: str, schema: pa.Schema, *, temporary: bool) -> None:
    """Make an empty table; its `name` is as SQL has it."""
    refuse_long_names(schema.names)
    columns = [f"{quoted(field.name)} {written_type(field.type, field.name)}" for field in schema]
    columns = [f'{each} COLLATE "C"' if each.endswith(" text") and temporary else each for each in columns]
    kind = "TEMPORARY TABLE" if temporary else "TABLE"
    connection.execute(f"CREATE {kind} {name} ({', '.join(columns)})")


def copy_in(connection: "psycopg.Connection[Any]", name: str, batches: Iterable[pa.RecordBatch]) -> None:
    """Put rows into a table that there is; its `name` is as SQL has it."""
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        for batch in batches:
            plain = pa.table([_plain(column) for column in batch.columns], names=batch.schema.names)
            sink = pa.BufferOutputStream()
            pyarrow.csv.write_csv(plain, sink, options)
            copy.write(memoryview(sink.getvalue()))


def _plain(column: pa.Array) -> pa.Array:
    """Return cells as PostgreSQL reads them from text."""
    kind, types = column.type, pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        return _as_array_text(column)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return pa.array([None if cell is None else f"\\x{cell.hex()}" for cell in column.to_pylist()], pa.string())
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        return column
    return column.cast(pa.float32() if types.is_float16(kind) else kind).cast(pa.string())


def _as_array_text(column: pa.ListArray) -> pa.Array:
    """Return lists as PostgreSQL writes arrays: {"a","b \\" c",NULL}."""
    texts = column.values.cast(pa.string())
    texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    shown = pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "NULL")
    lists = type(column).from_arrays(column.offsets, shown, mask=pc.is_null(column) if column.null_count else None)
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
