"""What Ibis calls the types of tables in memory that DuckDB holds: known, so that the engine need not be asked."""

from collections.abc import Iterable
from functools import lru_cache

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from ringfence.rows.coded import CODED

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


def learn(types: Iterable[pa.DataType], called: Iterable[dt.DataType]) -> None:
    """Remember what the engine says of some types."""
    _TYPES.update(zip(types, called, strict=True))


@lru_cache(maxsize=200)
def _schema_of(names: tuple[str, ...], types: tuple[dt.DataType, ...]) -> ibis.Schema:
    """Return the schema of these columns: tables of one job often have the same ones, and those of the next job."""
    return ibis.schema(dict(zip(names, types, strict=True)))
