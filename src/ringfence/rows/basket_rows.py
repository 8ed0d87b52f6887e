"""Rows with baskets, where they lie: gathered from long tables and spread again, relabelled, put into text.

Searches and the audit see one row a basket. A source may have one row an item instead, with a number for each basket
(`data.basket_id`); a release of it then has that form again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.errors import DataError, SpecError, listed
from ringfence.rows.columns import require_columns
from ringfence.rows.engine import Engine
from ringfence.rows.item_columns import ITEMS, item_lists
from ringfence.rows.sources import ROWS
from ringfence.rows.steps import numbered
from ringfence.spec import Spec


def gather(engine: Engine, rows: ibis.Table, spec: Spec, columns: Sequence[str]) -> ibis.Table:
    """Return one row a basket, its items as a list, where the source has one row an item; else the rows as they are.

    The rows of a basket must agree in all other `columns`. A row without an item makes an empty basket. The number of
    the basket is left behind.
    """
    basket, name = spec.data.basket_id, spec.items
    if basket is None or name is None:
        return rows
    require_columns(rows.columns, [basket, name])
    others = [column for column in columns if column not in (basket, name)]
    _refuse_torn(engine, rows, basket, others)
    gathered = rows.group_by([basket, *others]).aggregate(engine.listed(rows[name]).name(name))
    return gathered.select(*(column for column in columns if column != basket))


def _refuse_torn(engine: Engine, rows: ibis.Table, basket: str, others: Sequence[str]) -> None:
    """Refuse rows without a basket, and baskets whose rows differ in what should be said of the whole basket."""
    if missing := _size(engine, rows.filter(rows[basket].isnull())):
        raise DataError(f"data.basket_id = {basket!r} has no value in {missing:,} rows: whose items are these?")
    baskets = _size(engine, rows.select(basket).distinct())
    if _size(engine, rows.select(basket, *others).distinct()) == baskets:
        return
    torn = [other for other in others if _size(engine, rows.select(basket, other).distinct()) > baskets]
    raise DataError(
        f"rows of one basket differ in: {listed(map(repr, torn))}; what is said of a basket must be the same in all its"
        " rows, so leave these columns out (role identifier, or data.unlisted = 'drop')"
    )


def _size(engine: Engine, rows: ibis.Table) -> int:
    return int(engine.fetch(rows.aggregate(rows.count().name("rows")))["rows"][0].as_py())


def spread(engine: Engine, rows: ibis.Table, spec: Spec, columns: Sequence[str]) -> ibis.Table:
    """Return one row an item where the source has that: `columns`, with a number drawn at random for each basket.

    Rows stand by these numbers, then by label, so that their order tells nothing.
    """
    basket, name = spec.data.basket_id, spec.items
    if basket is None or name is None:
        return rows
    single = numbered(engine, rows, basket).unnest(name, keep_empty=True)
    return single.select(*columns).order_by([basket, name])


@dataclass(frozen=True, eq=False)
class CountedBaskets:
    """Different baskets, as lists of text, and how many rows have each."""

    lists: pa.ListArray
    rows: Longs

    def counted(self) -> Iterator[tuple[list[Any], int]]:
        """Yield each basket with its number of rows."""
        return zip(self.lists.to_pylist(), self.rows.tolist(), strict=True)


def count_baskets(engine: Engine, rows: ibis.Table, spec: Spec) -> CountedBaskets:
    """Count the baskets of rows, where these lie."""
    counted = engine.count(rows, [spec.item_column])
    return CountedBaskets(as_baskets(counted[spec.item_column], spec), counted[ROWS].to_numpy().astype(np.int64))


def as_baskets(column: pa.ChunkedArray, spec: Spec) -> pa.ListArray:
    """Return baskets as lists of text."""
    name = spec.item_column
    lists = item_lists(column, spec.attributes[name].separator, name)
    return pa.ListArray.from_arrays(lists.offsets, lists.values.cast(pa.string()))


LINES: Mapping[str, str] = {"dat": "", "spmf": "-2"}
"""The formats of basket files, each with what an empty basket is there."""


def as_text(rows: ibis.Table, spec: Spec, file_format: str) -> ibis.Table:
    """Return rows as a file takes them: in text files, lists of items become text."""
    name = spec.items
    if name is None or file_format == "parquet":
        return rows
    if file_format in LINES and list(rows.columns) != [ITEMS]:
        raise SpecError(
            f"a {file_format} file has one column, {ITEMS!r}, but here there are: {listed(map(repr, rows.columns))};"
            " allowed formats: csv, parquet"
        )
    if not rows[name].type().is_array():
        if file_format in LINES:
            raise SpecError(f"{name!r} holds text with a separator; allowed formats: csv, parquet")
        return rows
    items = rows[name].cast("array<string>")
    match file_format:
        case "dat":
            text = items.join(" ")
        case "spmf":
            text = items.map(lambda item: item + " -1 ").join("") + "-2"
        case _:
            text = items.join(_separator(spec, name))
    return rows.mutate(text.fill_null(LINES[file_format]).name(name) if file_format in LINES else text.name(name))


def _separator(spec: Spec, name: str) -> str:
    separator = spec.attributes[name].separator
    if separator is None:
        raise SpecError(
            f"{name!r} holds lists, which a CSV file does not have; give attributes.{name}.separator, or write Parquet"
        )
    return separator
