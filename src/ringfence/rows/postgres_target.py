"""A table of PostgreSQL as the place of a release: filled under another name, audited there, and put in place at once.

All of it is one transaction. Until it is committed nobody else sees anything of it, and the earlier table is what it
was; whatever ends it before, a client that is killed or a server, leaves nothing behind.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import unquote, urldefrag

import ibis
import psycopg
import pyarrow.parquet

from ringfence.errors import EngineError, SpecError
from ringfence.rows.engine import Engine
from ringfence.rows.postgres import Postgres
from ringfence.rows.postgres_wire import complaint, connect, copy_in, copy_out, create, quoted, read_as, saying
from ringfence.rows.remote import without_secrets
from ringfence.spec.data import Data

OURS = "Release by Ringfence"
"""How the comment on a table begins that a release may take the place of."""

THERE = """
    SELECT c.relkind, obj_description(c.oid, 'pg_class')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""


def note_at(address: str, engine: Engine) -> str | None:
    """Return the note of the release that an address names in the database of an engine."""
    assert isinstance(engine, Postgres)
    with saying(f"cannot read {without_secrets(address)!r}"):
        schema, name = _named(address, engine.connection)
        there = engine.connection.execute(THERE, [schema, name]).fetchone()
    return None if there is None else there[1]


def _named(address: str, connection: "psycopg.Connection[Any]") -> tuple[str, str]:
    """Return the schema and the name of the table that an address names."""
    schema, dot, name = unquote(urldefrag(address)[1]).rpartition(".")
    found = connection.execute("SELECT current_schema()").fetchone()
    return (schema if dot else str((found or ["public"])[0])), name


class PostgresTarget:
    """Where a release goes: a table, and for the second one of two, a table beside it. `with` it, what is not committed
    is gone in the end."""

    def __init__(self, address: str, engine: Engine) -> None:
        base, table = urldefrag(address)
        if not table:
            raise SpecError(f"{without_secrets(address)!r} names no table: put it behind a #, as in #people_released")
        self.address = address
        self.shown = f"the table {unquote(table)!r} of {without_secrets(base)!r}"
        self._engine = engine
        self._own = not (isinstance(engine, Postgres) and engine.address == base)
        self._connection = connect(base, "output.to") if self._own else engine.connection  # type: ignore[attr-defined]
        self._staged: dict[str, str] = {}
        with self._saying():
            self._schema, self._name = _named(address, self._connection)
        self.refuse_taken("")

    def __enter__(self) -> "PostgresTarget":
        return self

    def __exit__(self, *_: object) -> None:
        if self._own:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()

    @property
    def published(self) -> dict[str, dict[str, str]]:
        """The names of the tables."""
        return {("release" if not beside else beside[1:]): {"table": self._name + beside} for beside in self._staged}

    def refuse_taken(self, beside: str) -> None:
        """Refuse a target that is there and no release, and a schema in which no table can be made."""
        with self._saying():
            there = self._connection.execute(THERE, [self._schema, self._name + beside]).fetchone()
            may = self._connection.execute(
                "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %s", [self._schema]
            ).fetchone()
        if may is None or not may[0]:
            why = "there is no such schema" if may is None else "you may not make tables there: it needs CREATE"
            raise EngineError(f"cannot write {self.shown}: in the schema {self._schema!r}, {why}")
        if there is not None and (there[0] not in ("r", b"r") or not str(there[1]).startswith(OURS)):
            raise EngineError(
                f"cannot write {self.shown}: {self._name + beside!r} is there, and no release that could be replaced;"
                " rename it, or name another table"
            )

    def stage(self, rows: ibis.Table, beside: str = "") -> None:
        """Carry an expression out into a table of another name."""
        self.refuse_taken(beside)
        staged = f"{quoted(self._schema)}.{quoted(f'ringfence_{token_hex(8)}')}"
        with self._saying():
            create(self._connection, staged, rows.schema().to_pyarrow(), temporary=False)
        if self._own:
            with self._saying():
                copy_in(self._connection, staged, self._engine.batches(rows))
        else:
            assert isinstance(self._engine, Postgres)
            with self._saying():
                self._connection.execute(f"INSERT INTO {staged} {self._engine.query(rows)}")
                self._connection.execute(f"ANALYZE {staged}")
        self._staged[beside] = staged

    def open(self, scratch: Path, data: Data, beside: str = "") -> ibis.Table:
        """Return the rows of what was staged as they stand: where the engine is in another place, by way of a file."""
        staged = self._staged[beside]
        if not self._own:
            assert isinstance(self._engine, Postgres)
            return self._engine.open_relation(staged)
        with self._saying():
            found = self._connection.execute(f"SELECT * FROM {staged} LIMIT 0").description or []
            columns = {column.name: read_as(column) for column in found}
            query = f"SELECT {', '.join(expression for expression, _ in columns.values())} FROM {staged}"
            schema = ibis.schema({name: kind for name, (_, kind) in columns.items()})
            path = scratch / f"read back{beside}.parquet"
            with pyarrow.parquet.ParquetWriter(path, schema.to_pyarrow()) as writer:
                for batch in copy_out(self._connection, query, schema):
                    writer.write_batch(batch)
        return self._engine.open(path, data, as_it_stands=True)

    def commit(self, note: str, gone: Sequence[str] = ()) -> None:
        """Put what was staged in place of what was there, in one step; the `note` is a comment on the tables."""
        with self._saying():
            for beside in gone:
                there = self._connection.execute(THERE, [self._schema, self._name + beside]).fetchone()
                if there is not None and there[0] in ("r", b"r") and str(there[1]).startswith(OURS):
                    self._connection.execute(f"DROP TABLE {quoted(self._schema)}.{quoted(self._name + beside)}")
            for beside, staged in self._staged.items():
                final = f"{quoted(self._schema)}.{quoted(self._name + beside)}"
                self._connection.execute(f"DROP TABLE IF EXISTS {final}")
                self._connection.execute(f"ALTER TABLE {staged} RENAME TO {quoted(self._name + beside)}")
                comment = f"{OURS}: {note}".replace("'", "''")
                self._connection.execute(f"COMMENT ON TABLE {final} IS '{comment}'")
        try:
            self._connection.commit()
        except psycopg.Error as error:
            if not self._connection.closed:
                raise complaint(error, f"cannot write {self.shown}") from error
            raise EngineError(self._in_doubt(note)) from error

    def _in_doubt(self, note: str) -> str:
        """Return what to say where the server was told to commit and did not answer: only there it is known."""
        table = f"{quoted(self._schema)}.{quoted(self._name)}".replace("'", "''")
        return (
            f"cannot say whether {self.shown} was written: the connection was lost while it was put in place. It is the"
            f" new release if the comment on it ends in {note.rpartition(', ')[2]!r}, else what was there before; to"
            f" see it: SELECT obj_description(to_regclass('{table}'), 'pg_class'). Then run again: that is safe in both"
            " cases"
        )

    @contextlib.contextmanager
    def _saying(self) -> Iterator[None]:
        with saying(f"cannot write {self.shown}"):
            yield
