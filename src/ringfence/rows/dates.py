"""Text that is dates: read by its formats at the door, and in one spelling from there on (`moments`).

Distinct texts are read here, by Python, wherever their rows lie: so a file and a table in memory mean the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from ringfence.errors import DataError, first_in, listed
from ringfence.rows.coded import coded_column, is_coded, is_text, replaced, retold
from ringfence.rows.columns import check_columns, columns_read
from ringfence.rows.engine import Engine
from ringfence.rows.lookups import LookUp
from ringfence.rows.moments import read_moment, spelled_moment
from ringfence.rows.remote import is_spark
from ringfence.rows.sources import RAW
from ringfence.spec import Spec


def spellings(
    name: str, texts: Iterable[str], formats: Sequence[str], first_row: Callable[[list[str]], int | None]
) -> dict[str, str]:
    """Return the one spelling of each text of a column; one that its formats do not read is a DataError.

    `first_row` tells where the first of some texts stands.
    """
    found: dict[str, str] = {}
    unread: list[str] = []
    for text in texts:
        try:
            moment = read_moment(text, formats)
        except ValueError as error:
            raise DataError(
                f"column {name!r} has {text!r}{first_in(first_row([text]))}; it is {error}; leave one of"
                f" these formats out of attributes.{name}.format, or write the day so that it can be told"
            ) from None
        if moment is None:
            unread.append(text)
        else:
            found[text] = spelled_moment(moment)
    if unread:
        shown = listed([repr(each) for each in sorted(unread)[:10]])
        more = f" and {len(unread) - 10} more values" if len(unread) > 10 else ""
        raise DataError(
            f"column {name!r} should hold dates as {listed(map(repr, formats))}, but has"
            f" {shown}{more}{first_in(first_row(unread))}; add their format to attributes.{name}.format, or say in"
            " data.missing_values that they are missing"
        )
    return found


def with_spelled_dates(table: pa.Table, formats: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return a table in memory with text that is dates in one spelling. Columns of other types say it by these.

    >>> table = pa.table({"seen": ["1.2.2020", "01.02.2020", None]})
    >>> with_spelled_dates(table, {"seen": ["%d.%m.%Y"]})["seen"].to_pylist()
    ['2020-02-01', '2020-02-01', None]
    """
    spelled = {}
    for name, given in formats.items():
        place = table.schema.get_field_index(name)
        if place >= 0 and (is_text(table.column(place).type) or is_coded(table.column(place).type)):
            column = coded_column(table.column(place))
            spelled[place] = retold(column, partial(_spelled, name, given, _first_of(column)))
    return replaced(table, spelled)


def _spelled(
    name: str, formats: Sequence[str], first_row: Callable[[list[str]], int | None], texts: pa.Array
) -> pa.Array:
    known = spellings(name, texts.to_pylist(), formats, first_row)
    return pa.array([known[text] for text in texts.to_pylist()], pa.string())


def _first_of(column: pa.ChunkedArray) -> Callable[[list[str]], int | None]:
    def first(texts: list[str]) -> int | None:
        wanted = {*texts}
        return next((row for row, text in enumerate(column.to_pylist(), 1) if text in wanted), None)

    return first


def with_spelled_rows(engine: Engine, rows: ibis.Table, formats: Mapping[str, Sequence[str]]) -> ibis.Table:
    """Return rows of an engine with text that is dates in one spelling; its distinct texts are fetched for that."""
    for name, given in formats.items():
        if name not in rows.columns or not rows[name].type().is_string():
            continue
        texts = engine.fetch(rows.select(rows[name].name(RAW)).distinct())[RAW].to_pylist()
        known = spellings(name, [text for text in texts if text is not None], given, _first_in(engine, rows, name))
        spelled = {RAW: pa.array(texts, pa.string()), name: pa.array([known.get(text) for text in texts], pa.string())}
        rows = LookUp(pa.table(spelled), {name: RAW}).carry_out(engine, rows).select(*rows.columns)
    return rows


def _first_in(engine: Engine, rows: ibis.Table, name: str) -> Callable[[list[str]], int | None]:
    def first(texts: list[str]) -> int | None:
        return engine.first(rows, rows[name].isin(texts))

    return first


def open_original(engine: Engine, source: Any, spec: Spec) -> ibis.Table:
    """Return the rows of a source through the whole door: canonical cells, and dates in one spelling.

    Columns are checked before all of the rows are read; what nothing looks at stays outside.
    """
    rows = engine.open(source, spec.data)
    check_columns(rows.columns, spec)
    rows = rows.select(*columns_read(rows.columns, spec))
    return with_spelled_rows(engine, engine.at_hand(rows), spec.formats)


def open_again(engine: Engine, original: Any, spec: Spec) -> ibis.Table:
    """Return the rows of an original that was opened before: as a table in memory, it has come through the door."""
    as_given = isinstance(original, str | Path) or is_spark(original)
    return open_original(engine, original, spec) if as_given else engine.hold(original)
