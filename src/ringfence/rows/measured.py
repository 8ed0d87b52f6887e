"""Which columns lie on a line, where the specification does not say: dates by their type, numbers by what they are.

A number is one in a file as it is in a frame, so that both make the same release: text counts as numbers where every
cell is one as numbers are written. A single 01234 says that these are codes.
"""

from collections.abc import Iterable

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.rows.coded import is_coded
from ringfence.rows.engine import Engine
from ringfence.spec import Spec
from ringfence.spec.written import CLOCK

PLAIN = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$"
LEAST, MOST = 1e-15, 1e15
"""Numbers beyond are told apart by digits that no measure has: they are left as the values that they are."""
SEEN = "seen"


def with_measured(engine: Engine, rows: ibis.Table, spec: Spec, in_intervals: Iterable[str] = ()) -> Spec:
    """Return a specification that says of columns that they hold dates or numbers where rows say so.

    Of columns under a tree these may hold numbers that are `in_intervals`.
    """
    spec = spec.with_dates(date_columns(rows)).with_dates(clock_columns(rows), CLOCK)
    trees = [name for name in in_intervals if name in spec.perhaps_in_intervals]
    return spec.with_numbers(number_columns(engine, rows, [*spec.perhaps_numbers, *trees]))


def date_columns(rows: ibis.Table) -> list[str]:
    """Return the columns whose type says that they hold days or moments."""
    return [name for name, kind in rows.schema().items() if kind.is_date() or kind.is_timestamp()]


def clock_columns(rows: ibis.Table) -> list[str]:
    """Return the columns whose type says that they hold times of day."""
    return [name for name, kind in rows.schema().items() if kind.is_time()]


def number_columns(engine: Engine, rows: ibis.Table, columns: list[str]) -> list[str]:
    """Return which of some columns hold numbers, and nothing else but gaps."""
    there = [name for name in columns if name in rows.columns]
    held = engine.in_memory(rows, there)
    if held is not None:
        return [name for name in there if _are_numbers(held[name])]
    asked = {}
    for name in there:
        fits = _is_number(rows[name])
        if fits is not None:
            asked[name] = fits
    if not asked:
        return []
    counts = [(rows[name].notnull() & ~fits).sum().name(name) for name, fits in asked.items()]
    counts += [rows[name].count().name(f"{name} {SEEN}") for name in asked]
    found = engine.fetch(rows.aggregate(counts)).to_pylist()[0]
    return [name for name in asked if found[f"{name} {SEEN}"] and not found[name]]


def _is_number(cell: ibis.Value) -> ibis.Value | None:
    """Return whether a cell that is not missing is a number; None where its type says that it is none."""
    kind = cell.type()
    if kind.is_string():
        return cell.re_search(PLAIN)
    if not (kind.is_integer() or kind.is_floating() or kind.is_decimal()):
        return None
    size = cell.cast("float64").abs()
    return (size == 0) | size.between(LEAST, MOST)


def _are_numbers(cells: pa.ChunkedArray) -> bool:
    """Whether cells are numbers, as `_is_number` has it, and nothing else but gaps."""
    values = pc.drop_null(cells.unique())
    values = values.dictionary_decode() if is_coded(values.type) else values
    if len(values) == 0:
        return False
    if pa.types.is_string(values.type):
        return bool(pc.all(pc.match_substring_regex(values, PLAIN)).as_py())
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return False
    sizes = np.abs(values.to_numpy().astype(np.float64))
    return bool(((sizes == 0) | ((sizes >= LEAST) & (sizes <= MOST))).all())
