"""Engines: rows are counted and rewritten where they lie, by relational expressions.

A search never sees rows, and rows never pass through Python: `count` is the first scan, the steps of a plan describe
the second, and `write` or `fetch` carry it out. What is particular to an engine is small, and abstract here; all else
is plain Ibis over it, the same for every engine. Of DuckDB: `duckdb`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

import ibis
import pyarrow as pa

from ringfence.rows.sources import LABEL, PLACE, ROWS, SHARE, WHICH
from ringfence.rows.steps import with_columns
from ringfence.spec.tables import Data

HIGH, LOW = f"{ROWS}: digests, high", f"{ROWS}: digests, low"
"""Columns of tallies: the sums of the two halves of digests."""


class Engine(ABC):
    """What does things to rows, for one job. `with` an engine, what it holds is gone in the end."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Let go of everything."""

    # What an engine must do in its own way

    @abstractmethod
    def open(self, source: Any, data: Data, *, as_it_stands: bool = False) -> ibis.Table:
        """Return the rows of a source: the path of a file, or any object that holds a table.

        Text files are read as text. This is the door: what counts as one value looks the same from here on
        (`same_value`). A release is opened `as_it_stands`, since a reader tells its cells apart by what they look like.
        """

    @abstractmethod
    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that has come through the door before."""

    @abstractmethod
    def hold_labels(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a small table with a column of labels: few, and repeated in many rows."""

    @abstractmethod
    def count(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each."""

    @abstractmethod
    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, all different, in the column `PLACE`: the order in which they come."""

    @abstractmethod
    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return for each number one that nobody can guess who does not know the secret, never the same twice."""

    @abstractmethod
    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; where cells may be missing, missing ones are."""

    @abstractmethod
    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""

    @abstractmethod
    def digest(self, cells: ibis.Value) -> ibis.Value:
        """Return a number of 64 bits for a structure of texts, with all bits evenly spread."""

    @abstractmethod
    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""

    @abstractmethod
    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""

    @abstractmethod
    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, the lines of a basket file, or CSV as `as_released` says."""

    # What follows from it

    def size(self, rows: ibis.Table) -> int:
        """Return how many rows there are."""
        return int(self.fetch(rows.aggregate(rows.count().name(ROWS)))[ROWS][0].as_py())

    def missing(self, rows: ibis.Table, name: str) -> tuple[int, int]:
        """Return how many rows have no value in a column, and the first of them, counted from 1; 0 if none."""
        placed = self.placed(rows.select(name))
        gaps = placed.filter(placed[name].isnull())
        found = self.fetch(gaps.aggregate([gaps.count().name(ROWS), gaps[PLACE].min().name(PLACE)]))
        first = found[PLACE][0].as_py()
        return found[ROWS][0].as_py(), 0 if first is None else first + 1

    def tally(self, rows: ibis.Table, columns: Sequence[str], digested: Sequence[str], key: str) -> pa.Table:
        """Count combinations of `columns`, and add up for each the digests of the cells that its rows have elsewhere.

        Digests have 64 bits under a key; their halves are added up apart, so that no sum overflows. Cells are compared
        as text files have them.
        """
        high = low = rows.count() * 0
        if digested:
            whole = self.digest(self._cells(rows, digested, key))
            high, low = (part.cast("int64").sum() for part in (whole >> 32, whole & 0xFFFFFFFF))
        grouped = rows.group_by(list(columns)) if columns else rows
        return self.fetch(grouped.aggregate([rows.count().name(ROWS), high.name(HIGH), low.name(LOW)]))

    def digests(self, rows: ibis.Table, columns: Sequence[str], key: str, name: str) -> ibis.Table:
        """Return the digest of some cells of each row, in a column of the given name."""
        return rows.select(self.digest(self._cells(rows, columns, key)).name(name))

    def marked(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a mark each: a digest of all their cells, so that rows with the same mark are the same."""
        return with_columns(rows, {WHICH: self.digest(self._cells(rows, rows.columns, token_hex(16)))})

    def _cells(self, rows: ibis.Table, columns: Sequence[str], key: str) -> ibis.Value:
        """Return some cells of a row as texts, by their place, after a key. An empty text is a missing one."""
        texts = {f"cell {place}": self.as_text(rows[name]).fill_null("") for place, name in enumerate(columns)}
        return ibis.struct({"key": ibis.literal(key), **texts})

    def typed(self, rows: ibis.Table, columns: Mapping[str, pa.Table]) -> ibis.Table:
        """Return rows with each column of labels replaced by what a table says of them."""
        names = list(rows.columns)
        for name, table in columns.items():
            news = [new for new in table.column_names if new != LABEL]
            key, apart = f"{name} {LABEL}", [f"{new} {SHARE}" for new in news]
            lookup = self.hold(table.select([LABEL, *news]).rename_columns([key, *apart]))
            rows = rows.left_join(lookup, [self.same(rows[name], lookup[key], nullable=True)]).drop(name, key)
            rows = with_columns(rows, {new: rows[old] for new, old in zip(news, apart, strict=True)}).drop(*apart)
            names[names.index(name) : names.index(name) + 1] = news
        return rows.select(*names)


def as_released(data: Data) -> Data:
    """Return how the text files of releases are to be read: in UTF-8, with a delimiter of one character."""
    delimiter = data.delimiter if len(data.delimiter) == 1 else ","
    return data.model_copy(update={"encoding": "utf-8", "delimiter": delimiter})
