"""Columns in the types that a specification gives them (`data.types`): decided at the door, before anything is counted.

A cast changes how a value is written, never which it is: what has no exact counterpart in the type is refused.
"""

from collections.abc import Mapping

import ibis
import pyarrow as pa

from ringfence.errors import DataError, listed
from ringfence.rows.coded import replaced
from ringfence.rows.engine import Engine
from ringfence.rows.sources import RAW, ROWS
from ringfence.rows.steps import with_columns
from ringfence.spec.attributes import CellType

MEANT = {"int": "whole numbers", "float": "numbers", "date": "dates (as 2024-03-31)", "text": "text"}
IS = {"text": "is_string", "int": "is_integer", "float": "is_floating", "date": "is_date"}
"""What Ibis asks a type whether it is that already."""
SHOWN = 10
"""How many offending values an error lists."""
WHOLE, NUMBER = r"^\s*[+-]?\d+(\.0*)?\s*$", r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
DAY = r"^\s*\d{4}-\d{2}-\d{2}([T ].*)?$"


def cast_rows(engine: Engine, rows: ibis.Table, types: Mapping[str, CellType]) -> ibis.Table:
    """Return rows with columns in the types that are given for them; values that have none are a DataError."""
    casts = {
        name: cast
        for name, kind in types.items()
        if name in rows.columns and (cast := _cast(engine, rows[name], kind)) is not None
    }
    if not casts:
        return rows
    failing = {name: rows[name].notnull() & cast.isnull() for name, cast in casts.items()}
    found = engine.fetch(rows.aggregate([fails.sum().name(name) for name, fails in failing.items()]))
    for name in casts:
        if found[name][0].as_py():
            raise _refusal(engine, rows.filter(failing[name]), name, types[name])
    return with_columns(rows, casts)


def cast_table(engine: Engine, table: pa.Table, types: Mapping[str, CellType]) -> pa.Table:
    """Return a table with columns in the types that are given for them, the others as they are."""
    names = [name for name in types if name in table.column_names]
    if not names:
        return table
    held = engine.hold(table.select(names))
    changed = [name for name in names if _cast(engine, held[name], types[name]) is not None]
    cast = engine.fetch(cast_rows(engine, held, types))
    return replaced(table, {table.schema.get_field_index(name): cast[name] for name in changed})


def _cast(engine: Engine, cell: ibis.Value, kind: CellType) -> ibis.Value | None:
    """Return a cell in another type, missing where it has no counterpart there; None where it is of that type."""
    if getattr(cell.type(), IS[kind])():
        return None
    casts = {"text": _as_text, "int": _as_whole, "float": _as_number, "date": _as_day}
    return casts[kind](engine, cell)


def _as_text(engine: Engine, cell: ibis.Value) -> ibis.Value:
    return ibis.null("string") if cell.type().is_nested() else engine.as_text(cell)


def _as_whole(engine: Engine, cell: ibis.Value) -> ibis.Value:
    given = cell.type()
    if given.is_string():
        return ibis.ifelse(cell.re_search(WHOLE), engine.cast_or_none(cell.strip(), "int64"), ibis.null("int64"))
    if given.is_floating() or given.is_decimal():
        whole = engine.cast_or_none(cell, "int64")  # which rounds
        return ibis.ifelse(whole.cast(given) == cell, whole, ibis.null("int64"))
    return ibis.null("int64")


def _as_number(engine: Engine, cell: ibis.Value) -> ibis.Value:
    given = cell.type()
    if given.is_string():
        number = engine.cast_or_none(cell.strip(), "float64")
        plain = ibis.ifelse(number == 0, 0.0, number)  # zero has no sign
        return ibis.ifelse(cell.re_search(NUMBER) & ~number.isinf(), plain, ibis.null("float64"))
    return cell.cast("float64") if given.is_integer() or given.is_decimal() else ibis.null("float64")


def _as_day(engine: Engine, cell: ibis.Value) -> ibis.Value:
    given = cell.type()
    if given.is_timestamp():
        return cell.date()
    if given.is_string():
        day = engine.cast_or_none(cell.strip(), "timestamp").date()
        return ibis.ifelse(cell.re_search(DAY), day, ibis.null("date"))
    return ibis.null("date")


def _refusal(engine: Engine, rows: ibis.Table, name: str, kind: CellType) -> DataError:
    cells = rows.select(engine.as_text(rows[name]).name(RAW))
    counted = cells.group_by(RAW).aggregate(cells.count().name(ROWS))
    first = engine.fetch(counted.order_by([ibis.desc(ROWS), RAW]).limit(SHOWN)).to_pylist()
    shown = listed(f"{each[RAW]!r} ({each[ROWS]} row{'s' * (each[ROWS] != 1)})" for each in first)
    return DataError(f"column {name!r} should hold {MEANT[kind]}, as data.types says, but has {shown}")
