"""What DuckDB need not be told: tables that lie in memory are counted, compared and rewritten where they lie.

Rows that repeat (`repeated`) are dealt with there, too. Where memory is to be spared, everything goes by statements.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.rows.coded import coded, plain
from ringfence.rows.duckdb_memory import gibibytes
from ringfence.rows.duckdb_repeats import Repeats
from ringfence.rows.engine import Engine
from ringfence.rows.in_memory import (
    Combinations,
    beside,
    combined,
    compare_alike,
    counted,
    shuffled,
    spelled_alike,
    stays_as_it_is,
    surplus,
    tallied,
)
from ringfence.rows.repeated import Repeated
from ringfence.rows.sources import ROWS, WHICH
from ringfence.rows.steps import Step, recoded

CELL, SHARE_IN_MEMORY = 8, 1 / 4
"""How many bytes a cell takes in memory, about, and which share of the engine's memory may be taken by rows there."""


class InMemory(Engine):
    """An engine that holds tables of Arrow by name, and does itself what can be done to them.

    `_limit` is how much memory was asked for, if any: then memory is to be spared. `_combined` are the cells that were
    counted last, and which rows have the same there: the audit of a run counts the original by the same cells again.
    """

    _limit: str | None
    _combined: tuple[pa.Table, Combinations] | None
    _held: dict[str, pa.Table]
    _repeats: Repeats

    @property
    @abstractmethod
    def memory(self) -> str:
        """How much memory the engine may use before it goes on on the disk."""

    @abstractmethod
    def _register(self, table: pa.Table) -> ibis.Table:
        """Hold a table under a name of its own."""

    @abstractmethod
    def _held_as(self, name: str) -> pa.Table | None:
        """Return the table that has a name, if one is held under it."""

    @abstractmethod
    def _in_drawn_order(self, few: Repeated) -> ibis.Table:
        """Return rows that repeat in an order that is drawn here."""

    def fetch_columns(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return some columns of rows: of a table in memory, without saying first which."""
        held = self.in_memory(rows, columns)
        return super().fetch_columns(rows, columns) if held is None else plain(held)

    def each_once(self, rows: ibis.Table) -> ibis.Table | None:
        """Return the different rows of those that repeat."""
        view = self._repeats.view(rows)
        return None if view is None else view.counted

    def missing(self, rows: ibis.Table, name: str) -> tuple[int, int | None]:
        """Return how many rows have no value in a column, and which comes first: of a table in memory there."""
        held = self.in_memory(rows, [name])
        if held is None:
            return super().missing(rows, name)
        none = held[name].is_null()
        first = pc.index(none, pa.scalar(True)).as_py()
        return pc.sum(none, min_count=0).as_py(), None if first < 0 else first + 1

    def first(self, rows: ibis.Table, those: ibis.Value) -> int | None:
        """Return which is the first of `those` rows, as they came."""
        came = self._repeats.as_they_came
        return super().first(came(rows.op()).to_expr(), came(those.op()).to_expr())

    def combinations(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Read rows, and count them by `columns`: a table in memory where it lies, which takes a fifth of the time."""
        held = self._compared(rows, columns)
        if held is None:
            return super().combinations(rows, columns)
        found = combined(held, columns)
        self._combined = held, found
        return counted(found)

    def tallies(self, tables: Sequence[tuple[ibis.Table, Sequence[str]]], digested: Sequence[str]) -> list[pa.Table]:
        """Return the `tally` of each table: of tables in memory where they lie, if all of them do."""
        held = [self._compared(rows, [*dict.fromkeys([*columns, *digested])]) for rows, columns in tables]
        there = [table for table in held if table is not None]
        if len(there) < len(tables) or not all(spelled_alike([each[name] for each in there]) for name in digested):
            return super().tallies(tables, digested)
        parts = [self._combined_again(table.select(names)) for table, (_, names) in zip(there, tables, strict=True)]
        found = tallied(there, parts, digested)
        for (rows, columns), each in zip(tables, found, strict=True):
            self._remember(rows, each.select([*columns, ROWS]))
        return found

    def _combined_again(self, cells: pa.Table) -> Combinations:
        """Return which rows of a table have the same: as it was found, if these are the cells that were counted.
        That is seen at once where they lie in the same place."""
        if self._combined is not None:
            last, found = self._combined
            names = cells.column_names
            if {*last.column_names} == {*names} and cells.equals(last.select(names)):
                return found
        return combined(cells, cells.column_names)

    def surplus(
        self, ours: ibis.Table, our_columns: Sequence[str], theirs: ibis.Table, their_columns: Sequence[str]
    ) -> int:
        """Return how many rows have cells more often than another table: of tables in memory where they lie."""
        here, there = self._compared(ours, our_columns), self._compared(theirs, their_columns)
        if here is None or there is None or not all(map(spelled_alike, zip(here.columns, there.columns, strict=True))):
            return super().surplus(ours, our_columns, theirs, their_columns)
        return surplus(here, there)

    def beside(
        self, rows: ibis.Table, columns: Sequence[str], known: ibis.Table, names: Mapping[str, str]
    ) -> ibis.Table:
        """Return some columns of marked rows beside those of the rows of their marks: in memory, if both lie there."""
        shown, firsts = self.in_memory(rows, [WHICH, *columns]), self.in_memory(known, [WHICH, *names])
        if shown is not None and firsts is not None:
            joined = beside(shown, firsts.rename_columns([WHICH, *names.values()]))
            if joined is not None:
                return self._register(joined)
        return super().beside(rows, columns, known, names)

    def counts(self, rows: ibis.Table, lots: Sequence[Sequence[str]]) -> list[pa.Table]:
        """Count rows by several lots of columns: of a table in memory, each by itself."""
        held = [self._compared(rows, lot) for lot in lots]
        there = [(table, lot) for table, lot in zip(held, lots, strict=True) if table is not None]
        return super().counts(rows, lots) if len(there) < len(lots) else [counted(combined(*each)) for each in there]

    def marked(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a mark each: of a table in memory, its place there."""
        held = self.in_memory(rows, rows.columns)
        if held is None:
            return super().marked(rows)
        return self._register(held.append_column(WHICH, pa.array(np.arange(held.num_rows))))

    def in_memory(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:
        """Return some columns of rows if these are just those of a table in memory."""
        name = self._lies(rows, columns)
        table = None if name is None else self._held_as(name)
        some = None if table is None else table.select(list(columns))
        return some if some is not None and all(map(stays_as_it_is, some.schema.types)) else None

    def at_once(self, rows: ibis.Table, steps: Sequence[Step], columns: Sequence[str]) -> ibis.Table | None:
        """Carry steps out on rows that lie in memory, if these are steps and types that Arrow is for."""
        view = self._repeats.view(rows)
        if view is not None and self._has_room(view.rows.total * len(columns)):
            few = view.rows.recoded(steps, columns)
            return None if few is None else self._in_drawn_order(few)
        held = self.in_memory(rows, rows.columns)
        done = None if held is None else recoded(held, steps)
        return None if done is None else self._register(shuffled(done.select(list(columns))))

    def _has_room(self, cells: int) -> bool:
        """Whether so many cells may be in memory: a part of what the engine may have, if that is not to be spared."""
        return self._limit is None and cells * CELL <= SHARE_IN_MEMORY * gibibytes(self.memory) * 2**30

    def size(self, rows: ibis.Table) -> int:
        """Return how many rows there are."""
        held = self.in_memory(rows, ())
        return super().size(rows) if held is None else held.num_rows

    def loaded(self, rows: ibis.Table) -> ibis.Table:
        """Return rows in memory, their texts coded, if they take no more than a part of what the engine may have."""
        if not self._has_room(super().size(rows) * len(rows.columns)):
            return self.keep(rows)
        view = self._repeats.view(rows)
        return self._register(coded(self.fetch(rows)) if view is None else view.rows.spread())

    def variety(self, rows: ibis.Table, columns: Sequence[str]) -> dict[str, int]:
        """Return how many different values some columns have."""
        held = self._compared(rows, columns)
        if held is None:
            return super().variety(rows, columns)
        return {name: len(held[name].drop_null().unique()) for name in columns}

    def _compared(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:
        """Return these columns of a table in memory, their texts coded, if their cells can be compared there."""
        name = self._lies(rows, columns)
        table = None if name is None else self._held_as(name)
        if name is None or table is None or not compare_alike(table.select(list(columns))):
            return None
        self._held[name] = coded(table, columns)  # once for all that is asked of it
        return self._held[name].select(list(columns))

    def _lies(self, rows: ibis.Table, columns: Sequence[str]) -> str | None:
        """Return the name of the table in memory that these columns of rows are just those of, if there is one, and
        memory is not to be spared."""
        node = rows.op()
        while isinstance(node, ops.DropColumns) or (
            isinstance(node, ops.Project) and all(_is_field(node.values[name], name) for name in columns)
        ):
            node = node.parent
        return node.name if isinstance(node, ops.DatabaseTable) and self._limit is None else None


def _is_field(value: ops.Value, name: str) -> bool:
    return isinstance(value, ops.Field) and value.name == name
