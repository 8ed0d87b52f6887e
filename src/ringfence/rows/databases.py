"""Database files: SQLite, read by Python in batches, and what is said where the table that is wanted is not there."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.rows.cells import as_text
from ringfence.spec.data import Data

BATCH = 100_000
STORED = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
"""What SQLite calls the kinds of its cells, each of which has one of its own."""


def chosen_table(tables: Sequence[str], data: Data, shown: str) -> str:
    """Return the table of a database that is wanted: `data.table`, or the only one there is."""
    known = listed(map(repr, tables))
    if not tables:
        raise DataError(f"{shown} has no tables")
    if data.table is None and len(tables) > 1:
        raise SpecError(f"{shown} has several tables: name one in data.table; there are: {known}")
    if data.table is not None and data.table not in tables:
        raise SpecError(
            f"data.table = {data.table!r}: {shown} has no such table{suggestion(data.table, tables)};"
            f" there are: {known}"
        )
    return tables[0] if data.table is None else data.table


def read_sqlite(path: Path, data: Data, shown: str) -> pa.Table:
    """Read a table or a view of an SQLite file, without changing it.

    A column whose cells are all of one kind has its type; whole numbers beside others are numbers; and any other
    mixture is text.
    """
    with _reading(path, shown) as database:
        tables = [
            name
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'"
                " ESCAPE '\\' ORDER BY name"
            )
        ]
        table = _quoted(chosen_table(tables, data, shown))
        names = [about[0] for about in database.execute(f"SELECT * FROM {table} LIMIT 0").description]
        kinds = {name: _kind(database, table, name) for name in names}
        fields = pa.schema([(name, STORED[kind]) for name, kind in kinds.items()])
        batches = [pa.RecordBatch.from_arrays(columns, schema=fields) for columns in _batches(database, table, kinds)]
    return pa.Table.from_batches(batches, fields)


def _kind(database: sqlite3.Connection, table: str, name: str) -> str:
    """Return the kind of cells that holds all of a column's."""
    column = _quoted(name)
    found = {kind for (kind,) in database.execute(f"SELECT DISTINCT typeof({column}) FROM {table}")} - {"null"}
    if found == {"integer", "real"}:
        most = database.execute(f"SELECT max(abs({column})) FROM {table} WHERE typeof({column}) = 'integer'").fetchone()
        return "real" if most[0] < 2**53 else "text"
    return found.pop() if len(found) == 1 else "text"


def _batches(database: sqlite3.Connection, table: str, kinds: dict[str, str]) -> Iterator[list[pa.Array]]:
    cursor = database.execute(f"SELECT {', '.join(map(_quoted, kinds))} FROM {table}")
    while rows := cursor.fetchmany(BATCH):
        columns = zip(*rows, strict=True)
        yield [_column(cells, kind) for cells, kind in zip(columns, kinds.values(), strict=True)]


def _column(cells: Sequence[object], kind: str) -> pa.Array:
    if kind == "text" and any(not isinstance(cell, str | None) for cell in cells):
        cells = [None if cell is None else as_text(cell) for cell in cells]
    return pa.array(cells, STORED[kind])


@contextmanager
def _reading(path: Path, shown: str) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {shown} as an SQLite file: {error}") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
