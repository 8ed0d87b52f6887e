"""Columns made of cells that come one by one, as workbooks, statistics packages and SQLite have them.

Such a cell has a type of its own, and a column none. A column whose cells are all of one kind gets the type of that
kind; any others are mixed, and become text, each cell as a text file would have it. Nothing is rounded, and nothing
goes missing.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError

WHOLE = 2**53
"""Below this, floats hold every whole number."""
LARGEST = 2**63


def column_of(cells: Sequence[Any], missing: Sequence[str]) -> pa.Array:
    """Return cells as a column of one type, without the texts that stand for a missing value.

    >>> column_of([1, 2.5, None], []).to_pylist(), column_of([7, "7a", dt.datetime(2024, 3, 1), "?"], ["?"]).to_pylist()
    ([1.0, 2.5, None], ['7', '7a', '2024-03-01', None])
    >>> column_of([dt.datetime(2024, 3, 1), None], []).type
    DataType(date32[day])
    """
    gaps = {"", *missing}
    there = [None if isinstance(cell, str) and cell in gaps else cell for cell in cells]
    kinds = {type(cell) for cell in there if cell is not None}
    if kinds == {dt.datetime} and all(cell is None or _is_day(cell) for cell in there):
        return pa.array([None if cell is None else cell.date() for cell in there], pa.date32())
    if kinds == {int, float} and all(cell is None or abs(cell) < WHOLE for cell in there):
        return pa.array([None if cell is None else float(cell) for cell in there], pa.float64())
    if len(kinds) == 1 and (kinds != {int} or all(cell is None or -LARGEST <= cell < LARGEST for cell in there)):
        return pa.array(there)
    return pa.array([None if cell is None else as_text(cell) for cell in there], pa.string())


def whole_numbers(cells: Sequence[Any]) -> Sequence[Any]:
    """Return floats as whole numbers where all of them are: some packages know no others.

    >>> whole_numbers([31.0, None]), whole_numbers([1.5, 2.0])
    ([31, None], [1.5, 2.0])
    """
    if any(isinstance(cell, float) and not (cell.is_integer() and abs(cell) < WHOLE) for cell in cells):
        return cells
    return [int(cell) if isinstance(cell, float) else cell for cell in cells]


def _is_day(cell: dt.datetime) -> bool:
    return cell.time() == dt.time()


def as_text(cell: Any) -> str:
    """Return a cell as a text file would have it: whole numbers without a fraction, days without a time."""
    match cell:
        case bool():
            return str(cell).lower()
        case float() if cell.is_integer() and abs(cell) < WHOLE:
            return str(int(cell))
        case dt.datetime() if _is_day(cell):
            return cell.date().isoformat()
        case bytes():
            return cell.hex()
    return str(cell)


def table_of(names: Sequence[Any], columns: Sequence[Sequence[Any]], missing: Sequence[str], where: str) -> pa.Table:
    """Return columns of cells as a table; `where` says what lacks the name of a column, or has it twice."""
    shown = ["" if name is None else as_text(name).strip() for name in names]
    for place, name in enumerate(shown):
        if not name:
            raise DataError(f"column {place + 1} of {where} has no name in the first row")
        if name in shown[:place]:
            raise DataError(f"columns that occur more than once in {where}: {name}")
    return pa.table([column_of(cells, missing) for cells in columns], names=shown)
