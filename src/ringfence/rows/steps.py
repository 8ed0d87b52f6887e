"""Steps: the few things that are done to rows, of which the carrying out of every plan is composed.

A plan says which steps, an engine what is particular to it: how it holds a small table, numbers rows, compares cells
that may be missing and draws by chance. All else is plain Ibis, the same on every engine. Columns that steps add for
each other have names that no data has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from secrets import token_hex
from typing import Protocol, runtime_checkable

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Bools, Longs, distinct_rows
from ringfence.rows.sources import FAILING, LABEL, OWN, PLACE, RAW, SHARE, TURN

MASK = "*"
NUMBER, FIRST, STOP = "number", "first", "stop"
"""Columns of the table that `Draw` gives shares by, beside `SHARE`."""


class Hands(Protocol):
    """What steps need of an engine."""

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a small table, to be joined with."""

    def holding(self, rows: ibis.Table, texts: Mapping[str, pa.Array]) -> ibis.Table:
        """Return rows of which some columns of text hold these texts, and no other."""

    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, all different, in the column `PLACE`."""

    def numbered_by(self, rows: ibis.Table, order: ibis.Value, name: str) -> ibis.Table:
        """Return rows with a column that numbers them from 0 on, sorted by `order`."""

    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return for each number what to sort it by, which nobody can guess who does not know the secret."""

    def shuffled(self, rows: ibis.Table) -> ibis.Table:
        """Return rows in a random order: that of the input must not show."""

    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; where cells may be missing, missing ones are."""

    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them."""

    def at_once(self, rows: ibis.Table, steps: "Sequence[Step]", columns: Sequence[str]) -> ibis.Table | None:
        """Carry steps out on rows that lie in memory, and return some columns in random order, if that can be."""


class Step(Protocol):
    """Something that is done to rows."""

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        """Return what becomes of the rows."""


@runtime_checkable
class InMemoryStep(Step, Protocol):
    """Something that can be done to a table in memory as well."""

    def recode(self, table: pa.Table) -> pa.Table | None:
        """Return what becomes of the rows; None where that needs an engine."""


def recoded(table: pa.Table, steps: Sequence[Step]) -> pa.Table | None:
    """Return what becomes of a table in memory by some steps; None where one of them needs an engine."""
    for step in steps:
        done = step.recode(table) if isinstance(step, InMemoryStep) else None
        if done is None:
            return None
        table = done
    return table


@dataclass(frozen=True, eq=False)
class CarryOut:
    """How a plan is carried out: its steps, the columns whose values these change, and those that they add.

    `texts` are those that columns of text hold in the end, where that is known: each that a row is left with, no other.
    """

    steps: Sequence[Step]
    changed: Sequence[str]
    added: Sequence[str] = ()
    texts: Mapping[str, pa.Array] = field(default_factory=dict)

    def rows(self, engine: Hands, rows: ibis.Table, columns: Sequence[str]) -> ibis.Table:
        """Return some columns of what becomes of the rows, and those that are added, in random order."""
        names = [*columns, *self.added]
        done = engine.at_once(rows, self.steps, names)
        if done is not None:
            return done
        for step in self.steps:
            rows = step.carry_out(engine, rows)
        rows = rows.select(*names)
        texts = {name: known for name, known in self.texts.items() if name in names and rows[name].type().is_string()}
        return engine.shuffled(engine.holding(rows, texts) if texts else rows)


@dataclass(frozen=True, eq=False)
class Complete:
    """Rows that miss a value in one of these columns go."""

    columns: Sequence[str]

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        for name in self.columns:
            rows = rows.filter(rows[name].notnull())
        return rows

    def recode(self, table: pa.Table) -> pa.Table:
        for name in self.columns:
            table = table.filter(pc.is_valid(table[name])) if table[name].null_count else table
        return table


@dataclass(frozen=True, eq=False)
class Without:
    """Rows with one of these values in a column go."""

    column: str
    values: pa.Array

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        gone = engine.hold(pa.table({RAW: self.values}))
        return rows.anti_join(gone, [engine.same(rows[self.column], gone[RAW], bool(self.values.null_count))])


@dataclass(frozen=True, eq=False)
class Copy:
    """A column goes on under another name as well."""

    column: str
    name: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        return with_columns(rows, {self.name: rows[self.column]})


@dataclass(frozen=True, eq=False)
class Hide:
    """Every row has the same label in a column."""

    column: str
    label: str | None

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        return with_columns(rows, {self.column: ibis.literal(self.label, "string")})

    def recode(self, table: pa.Table) -> pa.Table:
        return _with(table, self.column, pa.repeat(pa.scalar(self.label, pa.string()), table.num_rows))


@dataclass(frozen=True, eq=False)
class Relabel:
    """Each value of a column becomes another: what stands beside it, `published[i]` beside `raw[i]`."""

    column: str
    raw: pa.Array
    published: pa.Array

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        lookup = engine.hold(pa.table({RAW: self.raw, LABEL: self.published}))
        joined = rows.left_join(lookup, [engine.same(rows[self.column], lookup[RAW], bool(self.raw.null_count))])
        return with_columns(joined.drop(self.column), {self.column: joined[LABEL]}).select(*rows.columns)

    def recode(self, table: pa.Table) -> pa.Table | None:
        given = table[self.column].combine_chunks()
        if given.type != self.raw.type:
            return None
        return _with(table, self.column, self.published.take(pc.index_in(given, self.raw)))


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


@dataclass(frozen=True, eq=False)
class Pack:
    """Whole numbers of some columns, each below its `size`, become one number in a column of the given name.

    Rows are then looked up by one number: engines hash it sooner, and know better how many rows will find it.
    """

    sizes: Mapping[str, int]
    name: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        packed: ibis.Value = ibis.literal(0, "int64")
        for column, size in self.sizes.items():
            packed = packed * ibis.literal(size, "int64") + rows[column]
        return with_columns(rows, {self.name: packed}).drop(*self.sizes)

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


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Rows are numbered as they come, for what is drawn by chance later."""

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        return engine.placed(rows)


@dataclass(frozen=True, eq=False)
class Drop:
    """Rows of these classes go, each a row of a table of labels; or, `masked`, stay with every label hidden."""

    classes: pa.Table
    masked: bool

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        if self.classes.num_rows == 0:
            return rows
        names = self.classes.column_names
        apart = {name: f"{FAILING} {place}" for place, name in enumerate(names)}
        table = self.classes.rename_columns([*apart.values()])
        failing = engine.hold(table.append_column(FAILING, pa.array([True] * table.num_rows)))
        nullable = {name: bool(self.classes[name].null_count) for name in names}
        same = [engine.same(rows[name], failing[apart[name]], nullable[name]) for name in names]
        if not self.masked:
            return rows.anti_join(failing, same)
        joined = rows.left_join(failing, same)
        fails = joined[FAILING].notnull()
        mask = {name: ibis.ifelse(fails, MASK, engine.as_text(joined[name])) for name in names}
        return with_columns(joined, mask).select(*rows.columns)

    def recode(self, table: pa.Table) -> pa.Table | None:
        if self.classes.num_rows == 0:
            return table
        if self.masked or any(table[name].type != self.classes[name].type for name in self.classes.column_names):
            return None
        return table.filter(pa.array(~_among(table, self.classes)))


@dataclass(frozen=True, eq=False)
class Pseudonym:
    """Each value of a column becomes a number drawn at random."""

    column: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        values = numbered(engine, rows.select(rows[self.column].name(RAW)).distinct(), LABEL)
        joined = rows.inner_join(values, [rows[self.column] == values[RAW]])
        return with_columns(joined.drop(self.column), {self.column: joined[LABEL]}).select(*rows.columns)


def numbered(engine: Hands, rows: ibis.Table, name: str) -> ibis.Table:
    """Return rows with a column that numbers them from 1 on, in a random order."""
    placed = engine.placed(rows)
    drawn = engine.numbered_by(placed, engine.by_chance(placed[PLACE], token_hex(16)), name)
    return with_columns(drawn, {name: drawn[name] + 1}).drop(PLACE)


def with_columns(rows: ibis.Table, columns: Mapping[str, ibis.Value]) -> ibis.Table:
    """Return rows with some columns added or replaced, whatever they are called."""
    return rows.mutate([value.name(name) for name, value in columns.items()]) if columns else rows


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _among(table: pa.Table, classes: pa.Table) -> Bools:
    """Return which rows have the labels of one of some classes, missing ones being the same."""
    codes, sizes = [], []
    for name in classes.column_names:
        labels = classes[name].combine_chunks().unique()
        both = pa.chunked_array([*classes[name].chunks, *table[name].chunks], labels.type)
        codes.append(pc.fill_null(pc.index_in(both, labels), len(labels)).to_numpy().astype(np.int64))
        sizes.append(len(labels) + 1)
    distinct, which = distinct_rows(np.stack(codes, axis=1), sizes)
    fails = np.zeros(len(distinct), np.bool_)
    fails[which[: classes.num_rows]] = True
    those: Bools = fails[which[classes.num_rows :]]
    return those
