"""Files of SPSS (.sav) and Stata (.dta): codes with labels, and gaps of several kinds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError
from ringfence.rows.cells import as_text, table_of, whole_numbers
from ringfence.rows.extras import needed
from ringfence.spec.data import Data

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta"}
CODES = ("int", "float")
"""What `data.types` says of a column whose codes are wanted, and not their labels."""


def read_labelled(path: Path, data: Data, shown: str) -> pa.Table:
    """Read a file of SPSS or Stata: codes that have labels as these, values that were declared missing as missing.

    A code without a label in a column that has some is read as its digits. Whole numbers are whole, though the
    packages keep all numbers as floats.
    """
    pyreadstat = needed("pyreadstat", shown)
    read = getattr(pyreadstat, READERS[path.suffix.lower()])
    try:
        found, about = read(str(path), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"cannot read {shown}: {str(error).splitlines()[0]}") from error
    columns = [
        _labelled(cells, about.variable_value_labels.get(name, {}))
        if data.types.get(name) not in CODES
        else whole_numbers(cells)
        for name, cells in found.items()
    ]
    return table_of(list(found), columns, data.missing_values, shown)


def _labelled(cells: Sequence[Any], labels: Mapping[Any, str]) -> Sequence[Any]:
    """Return cells with their labels. Two codes of one label are two values, and stay apart by their codes.

    >>> _labelled([1.0, 2.0, 3.0, None], {1: "yes", 2: "yes"})
    ['yes (1)', 'yes (2)', '3', None]
    """
    if not labels:
        return whole_numbers(cells)
    often = Counter(labels.values())
    told = {code: label if often[label] == 1 else f"{label} ({as_text(code)})" for code, label in labels.items()}
    return [None if cell is None else told.get(cell, as_text(cell)) for cell in cells]
