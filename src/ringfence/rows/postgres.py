"""The engine of PostgreSQL: rows are counted, rewritten and audited inside the database they lie in.

A job is one transaction, which sees its source as it was at the beginning, however long it takes and whatever others
write. Small tables go in by COPY, as temporary tables; only counts, and what is asked for as a file, come out. Rows
have no order there: what is random is drawn by the database itself, from the operating system's entropy, so that no
secret stands in the text of a query.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import ibis
import ibis.expr.datatypes as dt
import psycopg
import pyarrow as pa

from ringfence.errors import DataError, RingfenceError, SpecError
from ringfence.rows.casts import cast_rows
from ringfence.rows.databases import chosen_table
from ringfence.rows.engine import Engine
from ringfence.rows.number_marks import plain_number_rows
from ringfence.rows.postgres_wire import (
    complaint,
    connect,
    copy_in,
    copy_out,
    create,
    quoted,
    read_as,
    saying,
)
from ringfence.rows.remote import is_database, without_secrets
from ringfence.rows.same_value import canonical_rows, canonical_table, for_engine
from ringfence.rows.sources import OWN, PLACE, as_arrow, refuse_odd_names
from ringfence.rows.steps import with_columns
from ringfence.spec.data import Data

NONE = f"{OWN} none"
"""What a missing cell is compared as: a text that no data has."""

TABLES = """
    SELECT n.nspname, c.relname, pg_table_is_visible(c.oid), c.relispartition
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 1, 2
"""
CASTS = {"int64": ("bigint", "numeric::bigint"), "float64": ("double precision",) * 2, "timestamp": ("timestamp",) * 2}
"""What PostgreSQL calls types that text is cast to, and how."""


UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}
SHARES = 4
"""How many parts of its memory a query may want at the same time: for sorting, and for joining by hash."""


class Postgres(Engine):
    """A connection to a database, in one transaction that lives for one job."""

    ordered = False

    @property
    def own_errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error,)

    def __init__(self, address: str, data: Data, *, scratch: Path | None = None) -> None:
        self.address = urldefrag(address)[0]
        self._shown, self._scratch = repr(without_secrets(self.address)), scratch
        self.connection = connect(self.address)
        if data.memory_limit is not None:
            with saying("data.memory_limit"):
                share = f"{_megabytes(data.memory_limit) // SHARES}MB"
                self.connection.execute("SELECT set_config('work_mem', %s, false)", [share])
        self._tables = 0
        self._casts: set[str] = set()

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(psycopg.Error):
            self.connection.close()

    def open(self, source: Any, data: Data, *, as_it_stands: bool = False) -> ibis.Table:
        """Return the rows of a table or a query of the database, or of anything else, which is then copied into it."""
        if is_database(source):
            rows = self._open_table(source, data)
            if not as_it_stands:
                rows = canonical_rows(rows, data.missing_values)
        elif isinstance(source, str | Path):
            return self._copied(source, data, as_it_stands)
        else:
            table = as_arrow(source)
            rows = self.hold(table if as_it_stands else canonical_table(table, data.missing_values))
        return rows if as_it_stands else cast_rows(self, plain_number_rows(rows, data), data.types)

    def _open_table(self, address: str, data: Data) -> ibis.Table:
        base, table = urldefrag(address)
        if base != self.address:
            raise SpecError(
                f"{without_secrets(address)!r} is another database than {self._shown}: a job works in one; copy the"
                " table there"
            )
        if table:
            data = data.model_copy(update={"table": unquote(table), "query": None})
        query = data.query
        return self.open_relation(self._named(data) if query is None else f"({query.strip().rstrip(';')}) AS source")

    def open_relation(self, relation: str) -> ibis.Table:
        """Return the rows of a table or a query in parentheses, as SQL has it, in types that are known here."""
        name = self._name()
        with saying(f"cannot read {self._shown}"):
            found = self.connection.execute(f"SELECT * FROM {relation} LIMIT 0").description or []
            refuse_odd_names([column.name for column in found])
            columns = {column.name: read_as(column) for column in found}
            selected = ", ".join(expression for expression, _ in columns.values())
            self.connection.execute(f"CREATE TEMPORARY VIEW {quoted(name)} AS SELECT {selected} FROM {relation}")
        return ibis.table({name: kind for name, (_, kind) in columns.items()}, name=name)

    def _named(self, data: Data) -> str:
        """Return the table that is wanted, as SQL has it."""
        with saying(f"cannot read {self._shown}"):
            found = self.connection.execute(TABLES).fetchall()
        names = {}
        for schema, table, visible, part in found:
            whole = f"{quoted(schema)}.{quoted(table)}"
            if visible and not part:
                names[table] = whole
            if not part or data.table == f"{schema}.{table}":
                names[f"{schema}.{table}"] = whole
        listed = [*names] if data.table in names else [name for name in names if name in dict(_short(found))]
        return names[chosen_table(listed, data, self._shown)]

    def _copied(self, path: str | Path, data: Data, as_it_stands: bool) -> ibis.Table:
        """Return the rows of a file, which DuckDB reads."""
        from ringfence.rows.duckdb import DuckDB

        with DuckDB(data, scratch=self._scratch) as reader:
            rows = reader.open(path, data, as_it_stands=as_it_stands)
            return self._hold(rows.schema(), reader.batches(rows))

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that has come through the door before, as a temporary table."""
        table = for_engine(table)
        return self._hold(ibis.Schema.from_pyarrow(table.schema), table.to_batches())

    def _hold(self, schema: ibis.Schema, batches: Any) -> ibis.Table:
        name = self._name()
        with self.blaming("a table cannot be held"):
            create(self.connection, quoted(name), schema.to_pyarrow(), temporary=True)
            copy_in(self.connection, quoted(name), batches)
            self.connection.execute(f"ANALYZE {quoted(name)}")  # the planner must know how small it is
        return ibis.table({each: dt.string if kind.is_null() else kind for each, kind in schema.items()}, name=name)

    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each."""
        return rows.mutate(ibis.row_number().over().name(PLACE))

    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:  # noqa: ARG002
        """Return a random number of 122 bits for each number, from the operating system's entropy.

        A secret would stand in the text of the query, and so in the server's log.
        """
        return ibis.ifelse(number.isnull(), None, _random())

    def shuffled(self, rows: ibis.Table) -> ibis.Table:
        """Return rows sorted by random numbers of 122 bits, drawn for each: they need no numbers of their own."""
        return rows.order_by(_random())

    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; missing ones as a text that no data has, since PostgreSQL cannot hash
        by IS NOT DISTINCT FROM."""
        if not nullable:
            return left == right
        return left.cast("string").fill_null(NONE) == right.cast("string").fill_null(NONE)

    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""
        if not column.type().is_floating():
            return column.cast("string")
        wide = column.cast("float64")
        whole = (wide.abs() < 2**53) & (wide == wide.floor())
        return ibis.ifelse(whole, column.cast("int64").cast("string"), column.cast("string"))

    def cast_or_none(self, cell: ibis.Value, kind: str) -> ibis.Value:
        """Return a cell in another type, missing where it has no counterpart there, by a function that only this
        transaction has."""
        if kind not in self._casts:
            given, way = CASTS[kind]
            with self.blaming():
                self.connection.execute(
                    f"CREATE FUNCTION pg_temp.ringfence_{kind}(cell text) RETURNS {given} LANGUAGE plpgsql IMMUTABLE AS"
                    f" $$ BEGIN RETURN cell::{way}; EXCEPTION WHEN data_exception THEN RETURN NULL; END $$"
                )
            self._casts.add(kind)
        return TRIED[kind](cell.cast("string"))

    def digest(self, texts: Sequence[ibis.Value]) -> ibis.Value:
        """Return PostgreSQL's own hash of each text, seeded with the hash of those before it.

        Its hashes of rows and arrays will not do: they are sums over cells, so that two rows that swap a cell have the
        same sum as before. Joining the texts first takes three times as long.
        """
        digest: ibis.Value = ibis.literal(0, "int64")
        for text in texts:
            digest = _hash(text.fill_null(""), digest)
        return digest

    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""
        name = self._name()
        with self.blaming():
            self.connection.execute(f"CREATE TEMPORARY TABLE {quoted(name)} AS {self.query(rows)}")
            self.connection.execute(f"ANALYZE {quoted(name)}")
        return ibis.table(rows.schema(), name=name)

    def query(self, rows: ibis.Table) -> str:
        """Return the query that an expression is."""
        return str(ibis.to_sql(rows, dialect="postgres"))

    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Carry an expression out and return its rows in batches as they come."""
        with self.blaming():
            try:
                yield from copy_out(self.connection, self.query(rows), rows.schema())
            except pa.ArrowInvalid as error:
                raise DataError(f"{self._shown} has values that cannot be read: {error}") from error

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file, which DuckDB writes from the batches as they come."""
        from ringfence.rows.duckdb import DuckDB

        if path.suffix != ".parquet":
            fractions = [name for name, kind in rows.schema().items() if kind.is_floating() or kind.is_decimal()]
            rows = with_columns(rows, {name: self.as_text(rows[name]) for name in fractions})
        with DuckDB(data, scratch=self._scratch) as writer:
            writer.write(writer.stream(rows.schema().to_pyarrow(), self.batches(rows)), path, data)

    def write_folder(self, rows: ibis.Table, folder: Path, data: Data, partition_by: Sequence[str]) -> None:
        """Carry an expression out into Parquet files of a folder, which DuckDB writes from the batches as they come."""
        from ringfence.rows.duckdb import DuckDB

        with DuckDB(data, scratch=self._scratch) as writer:
            writer.write_folder(
                writer.stream(rows.schema().to_pyarrow(), self.batches(rows)), folder, data, partition_by
            )

    def blame(self, error: Exception, otherwise: str) -> RingfenceError:
        """Return what the database says, and what to do about it."""
        return complaint(error, otherwise)

    def versions(self) -> dict[str, str]:
        """Return the version of the server."""
        return {"postgresql": str(self.connection.info.parameter_status("server_version"))}

    def _name(self) -> str:
        self._tables += 1
        return f"ringfence_{self._tables}"


def _megabytes(limit: str) -> int:
    """Return a limit in megabytes.

    >>> _megabytes("2GB"), _megabytes("512 MiB")
    (2048, 512)
    """
    unit = limit.rstrip("iB")[-1]
    return max(int(float(limit.rstrip("iB")[:-1]) * UNITS[unit]), SHARES)


def _short(found: Sequence[tuple[str, str, bool, bool]]) -> Iterator[tuple[str, str]]:
    """Return tables by what they are called in lists: without a schema where none is needed; partitions are parts."""
    for schema, table, visible, part in found:
        if not part:
            yield (table if visible else f"{schema}.{table}"), schema


@ibis.udf.scalar.builtin(name="gen_random_uuid", signature=((), "uuid"))
def _random():  # type: ignore[no-untyped-def]  # what Ibis wants
    """A random number of 122 bits, by PostgreSQL."""


@ibis.udf.scalar.builtin(name="hashtextextended", signature=(("string", "int64"), "int64"))
def _hash(text, seed):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number of 64 bits for a text, by PostgreSQL."""


@ibis.udf.scalar.builtin(name="ringfence_int64", database="pg_temp", signature=(("string",), "int64"))
def _int64(cell):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A text as a whole number, missing where it is none."""


@ibis.udf.scalar.builtin(name="ringfence_float64", database="pg_temp", signature=(("string",), "float64"))
def _float64(cell):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A text as a number, missing where it is none."""


@ibis.udf.scalar.builtin(name="ringfence_timestamp", database="pg_temp", signature=(("string",), "timestamp"))
def _timestamp(cell):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A text as a moment, missing where it is none."""


TRIED: dict[str, Callable[[ibis.Value], ibis.Value]] = {"int64": _int64, "float64": _float64, "timestamp": _timestamp}
