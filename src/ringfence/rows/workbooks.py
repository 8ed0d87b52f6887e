"""Workbooks (.xlsx): one sheet is a table, its first row the names of columns."""

import warnings
import zipfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.rows.cells import table_of
from ringfence.rows.extras import needed
from ringfence.spec.data import Data


def read_sheet(path: Path, data: Data, shown: str) -> pa.Table:
    """Read the sheet `data.sheet` of a workbook, the first by default.

    Cells are what the workbook shows: of a formula, what it came to when it was last saved. Rows without any cell are
    no rows, unless there is but one column; neither are columns without a name and without cells.
    """
    openpyxl = needed("openpyxl", shown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and other things that have no part in a table
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise DataError(f"cannot read {shown} as a workbook: {_first_line(error)}") from error
        try:
            sheet = _sheet(book, data, shown)
            sheet.reset_dimensions()  # some programs write a wrong one, and rows would be cut off
            rows = list(sheet.iter_rows(values_only=True))
        except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise DataError(f"cannot read {shown} as a workbook: {_first_line(error)}") from error
        finally:
            book.close()
    where = f"sheet {sheet.title!r} of {shown}"
    filled = [number for number, row in enumerate(rows) if any(_is_there(cell) for cell in row)]
    if not filled:
        raise DataError(f"{where} is empty: its first row should hold the names of its columns")
    if filled[0] > 0:
        raise DataError(f"the first row of {where} is empty; it should hold the names of the columns")
    columns = [*zip_longest(*rows[: filled[-1] + 1])]
    columns = [cells for cells in columns if any(_is_there(cell) for cell in cells)]
    inside = filled[1:] if len(columns) > 1 else range(1, filled[-1] + 1)
    names, cells = [cells[0] for cells in columns], [[cells[row] for row in inside] for cells in columns]
    return table_of(names, cells, data.missing_values, where)


def _is_there(cell: Any) -> bool:
    return cell is not None and cell != ""


def _sheet(book: Any, data: Data, shown: str) -> Any:
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise DataError(f"{shown} has no sheet with cells")
    if data.sheet is None:
        return book.worksheets[0]
    if data.sheet not in names:
        raise SpecError(
            f"data.sheet = {data.sheet!r}: {shown} has no such sheet{suggestion(data.sheet, names)};"
            f" its sheets are: {listed(map(repr, names))}"
        )
    return book.worksheets[names.index(data.sheet)]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
