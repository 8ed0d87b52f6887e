"""Tables in memory that DuckDB holds: how they are handed over, and what Ibis calls their types, which is known, so
that the engine need not be asked."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from ringfence.rows.coded import CODED
from ringfence.rows.duckdb_words import quoted

_WIDTHS = (8, 16, 32, 64)
_TYPES: dict[pa.DataType, dt.DataType] = {
    pa.string(): dt.string,
    pa.large_string(): dt.string,
    CODED: dt.string,
    pa.bool_(): dt.boolean,
    pa.date32(): dt.date,
    **{getattr(pa, f"{sign}int{width}")(): getattr(dt, f"{sign}int{width}") for sign in ("", "u") for width in _WIDTHS},
    **{getattr(pa, f"float{width}")(): getattr(dt, f"float{width}") for width in (32, 64)},
}
"""The usual ones, and those that the engine was asked about before."""


def known_schema(table: pa.Table) -> ibis.Schema | None:
    """Return what Ibis calls the columns of a table; None where the engine is to be asked, or has to refuse them."""
    names, types = table.column_names, table.schema.types
    if len({name.casefold() for name in names}) < len(names) or not all(kind in _TYPES for kind in types):
        return None
    return _schema_of(tuple(names), tuple(_TYPES[kind] for kind in types))


def hand_over(connection: Any, name: str, table: pa.Table) -> None:
    """Let DuckDB read a table in memory under a name.

    It leaves it to Arrow to find the rows that a statement wants, and says some values to Arrow wrongly: rows are then
    lost without a word, or the statement fails. Where a column is not simply that of the table, it does so itself.
    """
    if not any(map(_is_misread, table.schema.types)):
        connection.register(name, table)
        return
    connection.register(_given(name), table)
    columns = [(quoted(field.name), _is_misread(field.type)) for field in table.schema]
    shown = ", ".join(f"coalesce({column}, {column}) AS {column}" if misread else column for column, misread in columns)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT {shown} FROM {quoted(_given(name))}")


def take_back(connection: Any, name: str, table: pa.Table) -> None:
    """Let DuckDB forget a table that was handed over."""
    if any(map(_is_misread, table.schema.types)):
        connection.execute(f"DROP VIEW {quoted(name)}")
        name = _given(name)
    connection.unregister(name)


def _given(name: str) -> str:
    return f"{name} as it is given"


def _is_misread(kind: pa.DataType) -> bool:
    """Whether DuckDB says values of a type to Arrow wrongly: those above 2**63, and parts of a microsecond."""
    fine = (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns"
    return bool(fine or pa.types.is_uint64(kind))


def learn(types: Iterable[pa.DataType], called: Iterable[dt.DataType]) -> None:
    """Remember what the engine says of some types."""
    _TYPES.update(zip(types, called, strict=True))


@lru_cache(maxsize=200)
def _schema_of(names: tuple[str, ...], types: tuple[dt.DataType, ...]) -> ibis.Schema:
    """Return the schema of these columns: tables of one job often have the same ones, and those of the next job."""
    return ibis.schema(dict(zip(names, types, strict=True)))
