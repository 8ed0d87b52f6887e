"""Steps by which each row finds what was decided for it: what stands beside its cells in a table, or what falls to its
turn among rows that are alike.

They go by expressions where rows lie in an engine, and by Arrow and NumPy where they lie in memory: as in `steps`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa

from ringfence.arrays import Bools, Longs
from ringfence.rows.coded import taken
from ringfence.rows.sources import OWN, PLACE, SHARE, TURN
from ringfence.rows.steps import Hands, found_in, with_column, with_columns

NUMBER, FIRST, STOP = "number", "first", "stop"
"""Columns of the table that `Draw` gives shares by, beside `SHARE`."""


@dataclass(frozen=True, eq=False)
class LookUp:
    """Each row gets the columns of a table that stand where its own cells are the table's; rows that find none go.

    `keys` are the columns to look by, each with the table's column of the same cells. What the table has besides comes
    to the rows, or takes the place of what they have under its name.
    """

    table: pa.Table
    keys: Mapping[str, str]

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        names = {name: f"{OWN} looked up {place}" for place, name in enumerate(self.table.column_names)}
        held = engine.hold(self.table.rename_columns(list(names.values())))
        nullable = {column: bool(self.table[column].null_count) for column in self.keys.values()}
        same = [engine.same(rows[own], held[names[its]], nullable[its]) for own, its in self.keys.items()]
        joined = rows.inner_join(held, same)
        news = {new: joined[name] for new, name in names.items() if new not in self.keys.values()}
        return with_columns(joined, news).drop(*names.values())

    def recode(self, table: pa.Table) -> pa.Table | None:
        place = found_in(table, self.table, self.keys)
        if place is None:
            return None
        table, place = _those(table, place, place >= 0)
        for name in self.table.column_names:
            if name not in self.keys.values():
                table = with_column(table, name, taken(self.table[name], place))
        return table


@dataclass(frozen=True, eq=False)
class Pack:
    """Whole numbers of some columns, each below its `size`, become one number in a column of the given name.

    Rows are then looked up by one number: engines hash it sooner, and know better how many rows will find it.
    """

    sizes: Mapping[str, int]
    name: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        packed: ibis.Value = ibis.literal(0, dt.int64)
        for column, size in self.sizes.items():
            packed = packed * ibis.literal(size, dt.int64) + rows[column]
        return with_columns(rows, {self.name: packed}).drop(*self.sizes)

    def recode(self, table: pa.Table) -> pa.Table:
        packed = self.of({column: table[column].to_numpy() for column in self.sizes})
        return table.append_column(self.name, pa.array(packed)).drop_columns([*self.sizes])

    def of(self, columns: Mapping[str, Longs]) -> Longs:
        """Return the same number of numbers that are not in rows."""
        packed = np.zeros(1, np.int64)
        for column, size in self.sizes.items():
            packed = packed * size + columns[column]
        return packed


def packs(sizes: Mapping[str, int], name: str) -> list[Pack]:
    """Return what packs columns into as few numbers of 63 bits as hold them."""
    words: list[dict[str, int]] = []
    for column, size in sizes.items():
        if not words or prod([*words[-1].values(), size]) >= 2**63:
            words.append({})
        words[-1][column] = size
    return [Pack(word, f"{name} {place}") for place, word in enumerate(words)]


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows with the same number in a column get turns, in an order drawn by chance, and by them a share of a table.

    A share belongs to the turns from `FIRST` to before `STOP` of the rows with its `NUMBER`, and comes to them in the
    column `SHARE`. Rows whose turn is in no share go. Who knows the secret, and the order in which the rows came, can
    draw again.
    """

    column: str
    shares: pa.Table
    secret: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        order = engine.by_chance(rows[PLACE], self.secret)
        rows = rows.mutate(ibis.row_number().over(group_by=rows[self.column], order_by=order).name(TURN))
        names = {name: f"{OWN} drawn {name}" for name in (NUMBER, FIRST, STOP)}
        held = engine.hold(self.shares.rename_columns([*names.values(), SHARE]))
        turns = [rows[TURN] >= held[names[FIRST]], rows[TURN] < held[names[STOP]]]
        return rows.inner_join(held, [rows[self.column] == held[names[NUMBER]], *turns]).drop(*names.values())

    def recode(self, table: pa.Table) -> pa.Table:
        shares = self.shares.sort_by([(NUMBER, "ascending"), (FIRST, "ascending")])
        number, first, stop, share = (shares[name].to_numpy() for name in (NUMBER, FIRST, STOP, SHARE))
        mine = table[self.column].to_numpy()
        turns = np.zeros(len(mine), np.int64)
        drawn = ~_all_in_one(number, first, stop, mine)[mine]
        turns[drawn] = self._turns(mine[drawn])
        # The last share of the number that begins by the turn is the only one that it may be in: none share a turn.
        span = int(max(turns.max(initial=0), stop.max(initial=0))) + 1
        at = np.searchsorted(number * span + first, mine * span + turns, side="right") - 1
        found = at >= 0
        found[found] = (number[at[found]] == mine[found]) & (turns[found] < stop[at[found]])
        table, at = _those(table, at, found)
        return with_column(table, SHARE, pa.array(share[at]))

    def _turns(self, numbers: Longs) -> Longs:
        """Return the turn of each row among those with its number, in an order that only the secret tells: that of the
        words of a key stream (SHAKE256), one for each row."""
        words = np.frombuffer(hashlib.shake_256(self.secret.encode()).digest(8 * len(numbers)), np.uint64)
        order = np.lexsort((words, numbers))
        begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        turns = np.empty(len(numbers), np.int64)
        turns[order] = np.arange(len(numbers)) - np.repeat(begins, np.diff([*begins, len(numbers)]))
        return turns


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Rows are numbered as they come, for what is drawn by chance later."""

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        return engine.placed(rows)

    def recode(self, table: pa.Table) -> pa.Table:
        return with_column(table, PLACE, pa.array(np.arange(table.num_rows)))


def _all_in_one(number: Longs, first: Longs, stop: Longs, rows: Longs) -> Bools:
    """Return for each number whether its only share takes all rows that have it: whose turn it is does not matter."""
    counts = np.bincount(rows)
    shares = np.bincount(number, minlength=len(counts))[: len(counts)]
    known = number < len(counts)
    takes: Bools = np.zeros(len(counts), np.bool_)
    takes[number[known]] = (first[known] == 0) & (stop[known] >= counts[number[known]])
    takes &= shares == 1
    return takes


def _those(table: pa.Table, places: Longs, kept: Bools) -> tuple[pa.Table, Longs]:
    """Return some rows of a table, and their places elsewhere."""
    return (table, places) if kept.all() else (table.filter(pa.array(kept)), places[kept])
