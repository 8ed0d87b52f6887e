"""Steps: the few things that are done to rows, of which the carrying out of every plan is composed.

A plan says which steps, an engine what is particular to it: how it holds a small table, numbers rows, compares cells
that may be missing and draws by chance. All else is plain Ibis, the same on every engine. Columns that steps add for
each other have names that no data has.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Protocol, runtime_checkable

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs, distinct_rows
from ringfence.rows.coded import is_coded, places, retold, taken
from ringfence.rows.in_memory import compares_alike
from ringfence.rows.sources import FAILING, LABEL, PLACE, RAW, UNKNOWN

MASK = "*"
AT_ONCE = 4
"""So many steps are put into words together: of hundreds, one for each attribute, words would stand too deep in others
to be found by who goes through them."""


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

    def named(self, rows: ibis.Table) -> ibis.Table:
        """Return rows under a name, where an engine can give one to an expression."""

    def apart(
        self, rows: ibis.Table, looked_at: Collection[str], work: Callable[[ibis.Table], ibis.Table]
    ) -> ibis.Table:
        """Return what becomes of rows by some work that leaves all columns but some as they are."""

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
    """How a plan is carried out: its steps, the columns that these look at, those whose values they change, and those
    that they add.

    `texts` tells those that columns of text hold in the end, where that is known: each that a row is left with, no
    other. It is asked where rows go by an engine.
    """

    steps: Sequence[Step]
    looked_at: Collection[str]
    changed: Sequence[str]
    added: Sequence[str] = ()
    texts: Callable[[], Mapping[str, pa.Array]] = dict

    def rows(self, engine: Hands, rows: ibis.Table, columns: Sequence[str]) -> ibis.Table:
        """Return some columns of what becomes of the rows, and those that are added, in random order."""
        names = [*columns, *self.added]
        done = engine.at_once(rows, self.steps, names)
        if done is not None:
            return done
        given = rows.drop(*({*rows.columns} - {*columns, *self.looked_at}))
        rows = engine.apart(given, self.looked_at, partial(self._carried_out, engine)).select(*names)
        texts = {name: known for name, known in self.texts().items() if name in names and rows[name].type().is_string()}
        return engine.shuffled(engine.holding(rows, texts) if texts else rows)

    def _carried_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        for at, step in enumerate(self.steps, 1):
            rows = step.carry_out(engine, rows)
            rows = rows if at % AT_ONCE else engine.named(rows)
        return rows


@dataclass(frozen=True, eq=False)
class Complete:
    """Rows that miss a value in one of these columns go."""

    columns: Sequence[str]

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        return rows.filter([rows[name].notnull() for name in self.columns]) if self.columns else rows

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
class Tell:
    """Rows with one of these values in one of these columns are told apart by a column of their own, `UNKNOWN`."""

    values: Mapping[str, pa.Array]

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        names = [*rows.columns, UNKNOWN]
        rows = with_columns(rows, {UNKNOWN: ibis.literal(False)})
        for name, values in self.values.items():
            those = engine.hold(pa.table({RAW: values, FAILING: [True] * len(values)}))
            joined = rows.left_join(those, [engine.same(rows[name], those[RAW], bool(values.null_count))])
            rows = with_columns(joined, {UNKNOWN: joined[UNKNOWN] | joined[FAILING].notnull()}).select(*names)
        return rows


@dataclass(frozen=True, eq=False)
class MaskTold:
    """Rows that were told apart have every label hidden."""

    columns: Sequence[str]

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:
        mask = {name: ibis.ifelse(rows[UNKNOWN], MASK, engine.as_text(rows[name])) for name in self.columns}
        return with_columns(rows, mask).drop(UNKNOWN)


@dataclass(frozen=True, eq=False)
class Copy:
    """A column goes on under another name as well."""

    column: str
    name: str

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        return with_columns(rows, {self.name: rows[self.column]})

    def recode(self, table: pa.Table) -> pa.Table:
        return with_column(table, self.name, table[self.column])


@dataclass(frozen=True, eq=False)
class Hide:
    """Every row has the same label in a column."""

    column: str
    label: str | None

    def carry_out(self, engine: Hands, rows: ibis.Table) -> ibis.Table:  # noqa: ARG002
        return with_columns(rows, {self.column: ibis.literal(self.label, "string")})

    def recode(self, table: pa.Table) -> pa.Table:
        same = np.zeros(table.num_rows, np.int64)
        return with_column(table, self.column, taken(pa.array([self.label], pa.string()), same))


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
        given = table[self.column]
        if (given.type.value_type if is_coded(given.type) else given.type) != self.raw.type:
            return None
        if is_coded(given.type) and not given.null_count and pa.types.is_string(self.published.type):
            return with_column(table, self.column, retold(given, self._labels))  # a few texts, and no cell
        return with_column(table, self.column, taken(self.published, places(given, self.raw)))

    def _labels(self, texts: pa.Array) -> pa.Array:
        """Return what becomes of some texts; nothing of those that no row has."""
        return self.published.take(pc.index_in(texts, self.raw))


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
        found = (
            None if self.masked else found_in(table, self.classes, {name: name for name in self.classes.column_names})
        )
        return None if found is None else table.filter(pa.array(found < 0))


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


def with_column(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return a table in memory with a column added or replaced."""
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)


def found_in(table: pa.Table, known: pa.Table, keys: Mapping[str, str]) -> Longs | None:
    """Return where in `known`, which has nothing twice, each row of a table is by its `keys`, missing ones being the
    same; -1 where it is not. `keys` are columns of the table, each with that of `known`; None where their types are
    others, or those of which engines might take other cells for the same."""
    for own, its in keys.items():
        kind = table[own].type.value_type if is_coded(table[own].type) else table[own].type
        if kind != known[its].type or not compares_alike(kind):
            return None
    if len(keys) == 1:
        ((own, its),) = keys.items()
        return places(table[own], known[its].combine_chunks())
    codes, sizes = [], []
    for own, its in keys.items():
        labels = known[its].combine_chunks().unique()
        codes.append(np.concatenate([places(known[its], labels), places(table[own], labels)]))
        sizes.append(len(labels) + 1)
    distinct, which = distinct_rows(np.stack(codes, axis=1) + 1, sizes)
    place = np.full(len(distinct), -1)
    place[which[: known.num_rows]] = np.arange(known.num_rows)
    there: Longs = place[which[known.num_rows :]]
    return there
