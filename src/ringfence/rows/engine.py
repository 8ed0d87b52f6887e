"""Engines: rows are counted and rewritten where they lie, by relational expressions.

A search never sees rows, and rows never pass through Python: `count` is the first scan, the steps of a plan describe
the second, and `write` or `fetch` carry it out. What is particular to an engine is small, and abstract here; all else
is plain Ibis over it, the same for every engine. Of DuckDB: `duckdb`; which engine a source has: `engines`.

What Ibis cannot say alike on all engines, expressions must not say: `try_cast`, structures and the order of rows are
here; casts of fractions to text are `as_text`; cells that may be missing are compared by `same`; names that are made up
are short, since some engines cut names at 63 bytes.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from math import log
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Self

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.errors import RingfenceError
from ringfence.rows.in_memory import compares_alike
from ringfence.rows.sources import HIGH, KEY, LABEL, LOW, OWN, PLACE, RAW, ROWS, SHARE, WHICH, like
from ringfence.rows.steps import AT_ONCE, Step, with_columns
from ringfence.spec.data import Data

CELLS = 4096
"""In how many parts digests are looked at for an estimate."""
REMEMBERED = 1_000_000
"""Counts of up to so many combinations are remembered."""


class Engine(ABC):
    """What does things to rows, for one job. `with` an engine, what it holds is gone in the end."""

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Let go of everything."""

    # What an engine must do in its own way

    ordered: ClassVar[bool]
    """Whether rows have an order that means something, so that one can be called the first."""

    @property
    @abstractmethod
    def own_errors(self) -> tuple[type[Exception], ...]:
        """What it raises where it fails; `blame` turns that into a sentence."""

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
    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, all different, in the column `PLACE`: where they are `ordered`, from 0 on in
        that order. Where rows may be computed again on the way (a task that is retried), they are kept first."""

    @abstractmethod
    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return for each number what it is to be sorted by, never the same twice, that nobody can guess who does not
        know the secret. Where rows have no order that could be repeated, an engine may draw by itself instead."""

    @abstractmethod
    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same, as a condition that rows can be hashed by; where cells may be missing
        (`nullable`), missing ones are the same."""

    @abstractmethod
    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""

    @abstractmethod
    def cast_or_none(self, cell: ibis.Value, kind: str) -> ibis.Value:
        """Return a cell in another type, missing where it has no counterpart there."""

    @abstractmethod
    def digest(self, texts: Sequence[ibis.Value]) -> ibis.Value:
        """Return a number of 64 bits for some texts, with all bits evenly spread; a missing one is as an empty one, or
        as a text of its own."""

    @abstractmethod
    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""

    @abstractmethod
    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Carry an expression out and return its rows in batches as they come, with labels as plain text.

        Until they are used up, the engine may not be asked for anything else.
        """

    @abstractmethod
    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, the lines of a basket file, or CSV as `as_released` says."""

    @abstractmethod
    def write_folder(self, rows: ibis.Table, folder: Path, data: Data, partition_by: Sequence[str]) -> None:
        """Carry an expression out into Parquet files of a new folder; the values of some columns become folders."""

    @abstractmethod
    def blame(self, error: Exception, otherwise: str) -> RingfenceError:
        """Return what to say of one of its own errors: what is at fault, else what was `otherwise` being done."""

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions of what it runs on, by name: a manifest tells them."""

    # What follows from it

    @property
    def memory(self) -> str | None:
        """How much memory it may use before it goes on on the disk; None where that is not its business."""
        return None

    def each(self, tasks: Sequence[Callable[[], Any]]) -> Iterable[Any]:
        """Do some tasks at the same time, and return what comes of each, in their order: here, or where an engine has
        others to do it. A task may be done twice."""
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(lambda task: task(), tasks)

    def told(self, text: str) -> ibis.Value:
        """Return a text that is another one in every run, such as a key, for expressions."""
        return ibis.literal(text)

    def holding(self, rows: ibis.Table, texts: Mapping[str, pa.Array]) -> ibis.Table:  # noqa: ARG002
        """Return rows of which some columns of text are known to hold these texts, none of them missing, and no other:
        each of them in many rows, so that an engine may number them."""
        return rows

    def shuffled(self, rows: ibis.Table) -> ibis.Table:
        """Return rows in a random order that nobody can guess: that of the input must not show."""
        placed = self.placed(rows)
        return placed.order_by(self.by_chance(placed[PLACE], token_hex(16))).drop(PLACE)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""
        return pa.Table.from_batches(self.batches(rows), plain_schema(rows))

    def fetch_columns(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return some columns of rows, with labels as plain text."""
        return self.fetch(rows.select(*columns))

    def listed(self, cells: ibis.Value) -> ibis.Value:
        """Return the cells of a group as a sorted list, those that are missing left out."""
        return cells.collect(order_by=cells)

    def handed_out(self, rows: ibis.Table, source: Any) -> Any:
        """Carry an expression out and return its rows as a table of the source's kind, which outlasts the engine."""
        return like(source, self.fetch(rows))

    def numbered_by(self, rows: ibis.Table, order: ibis.Value, name: str) -> ibis.Table:
        """Return rows with a column that numbers them from 0 on, sorted by `order`."""
        return rows.mutate(ibis.row_number().over(order_by=order).name(name))

    def named(self, rows: ibis.Table) -> ibis.Table:
        """Return rows under a name, where an engine can give one to an expression: what is done to them is then put
        into words without what was done before, which takes as long as rows are wide."""
        return rows

    def apart(
        self,
        rows: ibis.Table,
        looked_at: Collection[str],  # noqa: ARG002
        work: Callable[[ibis.Table], ibis.Table],
    ) -> ibis.Table:
        """Return what becomes of rows by some work that looks at some columns, at most, and leaves all others as they
        are. Where these are many, an engine may have them come along as one."""
        return work(rows)

    def let_go(self, kept: ibis.Table) -> None:
        """Let go of rows that were kept, where that frees memory before the engine ends."""
        del kept

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let go in the end of all that is opened, held and kept inside, where that frees memory."""
        yield

    def in_memory(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:  # noqa: ARG002
        """Return some columns of rows if these are just those of a table in memory, to be looked at there."""
        return None

    def at_once(self, rows: ibis.Table, steps: Sequence[Step], columns: Sequence[str]) -> ibis.Table | None:  # noqa: ARG002
        """Carry steps out on rows that lie in memory, and return some columns in random order; None if that is not for
        these steps or these rows, which go by expressions."""
        return None

    def at_hand(self, rows: ibis.Table) -> ibis.Table:
        """Return rows that are to be read several times, in a form in which that is quick."""
        return rows

    def folded(self, rows: ibis.Table) -> ibis.Table:
        """Return rows that may be read only once: in memory, or as the different ones, where that is quicker."""
        return rows

    def each_once(self, rows: ibis.Table) -> ibis.Table | None:  # noqa: ARG002
        """Return the different rows, with how often each is there in the column `ROWS`, if they are held so."""
        return None

    def loaded(self, rows: ibis.Table) -> ibis.Table:
        """Return rows that much will be asked of, and that are recoded again and again, where that is quickest."""
        return self.keep(rows)

    def count(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each.

        What was counted is remembered: the same rows are not read again for some of the same columns.
        """
        known = self._known(rows, columns)
        if known is None:
            known = self.combinations(rows, columns)
            self._remember(rows, known)
        return known

    def _known(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:
        """Return the count of some columns, if it or one of more columns was taken."""
        taken = [counted for counted in self._counted(rows) if {*columns} <= {*counted.column_names}]
        return _summed(min(taken, key=len), columns) if taken else None

    def combinations(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Read rows, and count them by `columns`."""
        return self.fetch(rows.group_by(list(columns)).aggregate(rows.count().name(ROWS)))

    @cached_property
    def _counts(self) -> dict[Any, list[pa.Table]]:
        """What was counted of which expression."""
        return {}

    def _counted(self, rows: ibis.Table) -> list[pa.Table]:
        return self._counts.get(rows.op(), [])

    def _remember(self, rows: ibis.Table, counted: pa.Table) -> None:
        if counted.num_rows <= REMEMBERED:
            coarser = {*counted.column_names}
            finer = [known for known in self._counted(rows) if not {*known.column_names} <= coarser]
            self._counts[rows.op()] = [*finer, counted]

    def variety(self, rows: ibis.Table, columns: Sequence[str]) -> dict[str, int]:
        """Return how many different values some columns have: from what was counted, or else by one scan."""
        found = {}
        for name in columns:
            known = next((counted for counted in self._counted(rows) if name in counted.column_names), None)
            if known is not None:
                found[name] = pc.count_distinct(known[name]).as_py()
        rest = [name for name in columns if name not in found]
        if rest:
            scanned = self.fetch(rows.aggregate([rows[name].nunique().name(name) for name in rest]))
            found |= {name: scanned[name][0].as_py() for name in rest}
        return found

    def estimate(self, rows: ibis.Table, columns: Sequence[str]) -> int:
        """Return about how many distinct combinations of `columns` there are, within some percent; exactly, where they
        were counted.

        Digests deal the combinations into m = `CELLS` parts, and give each a random number between 0 and 1. With n
        combinations, the least number of a part is m/n on average, so that m^2 over the sum of them estimates n, with a
        relative error of 1/sqrt(m). As long as one part in twenty is empty, there are few combinations, and the empty
        ones tell better how many (linear counting, Whang et al. 1990).
        """
        known = self._known(rows, columns)
        if known is not None:
            self._remember(rows, known)  # it will be asked for soon
            return int(known.num_rows)
        digest = self.digest([self.told(token_hex(8)), *(self.as_text(rows[name]) for name in columns)])
        parts = rows.select((digest & (CELLS - 1)).name(KEY), ((digest >> 16) & 0xFFFFFFFF).name(PLACE))
        least = self.fetch(parts.group_by(KEY).aggregate(parts[PLACE].min().name(PLACE)))[PLACE]
        empty = CELLS - len(least)
        if empty > CELLS / 20:
            return round(CELLS * log(CELLS / empty))
        total: float = empty + sum((place + 0.5) / 2**32 for place in least.to_pylist())
        return round(CELLS**2 / total)

    @contextmanager
    def blaming(self, otherwise: str = "the engine failed") -> Iterator[None]:
        """Say what is at fault where the engine fails."""
        try:
            yield
        except self.own_errors as error:
            raise self.blame(error, otherwise) from error

    def size(self, rows: ibis.Table) -> int:
        """Return how many rows there are."""
        for counted in self._counted(rows):
            return int(pc.sum(counted[ROWS]).as_py() or 0)
        return int(self.fetch(rows.aggregate(rows.count().name(ROWS)))[ROWS][0].as_py())

    def missing(self, rows: ibis.Table, name: str) -> tuple[int, int | None]:
        """Return how many rows have no value in a column, and which is the first of them (`first`)."""
        missing = self.size(rows.filter(rows[name].isnull()))
        return missing, self.first(rows, rows[name].isnull()) if missing else None

    def first(self, rows: ibis.Table, those: ibis.Value) -> int | None:
        """Return which is the first of `those` rows, counted from 1; None if there is none, or no order of rows."""
        if not self.ordered:
            return None
        placed = self.placed(rows.select(those.name(KEY)))
        found = self.fetch(placed.filter(placed[KEY]).aggregate(placed[PLACE].min().name(PLACE)))[PLACE][0].as_py()
        return None if found is None else int(found) + 1

    def tallies(self, tables: Sequence[tuple[ibis.Table, Sequence[str]]], digested: Sequence[str]) -> list[pa.Table]:
        """Return the `tally` of each table by columns of its own, with the same digests in all: their sums can be
        compared, and nobody knows the key."""
        key = token_hex(16)
        return [self.tally(rows, columns, digested, key) for rows, columns in tables]

    def tally(self, rows: ibis.Table, columns: Sequence[str], digested: Sequence[str], key: str) -> pa.Table:
        """Count combinations of `columns`, and add up for each the digests of the cells that its rows have elsewhere.

        Digests have 64 bits under a key; their halves are added up apart, so that no sum overflows. Cells are compared
        as text files have them.
        """
        once = self.each_once(rows)
        each = rows if once is None else once
        times = 1 if once is None else once[ROWS]
        count = rows.count() if once is None else once[ROWS].sum()
        high = low = count * 0
        if digested:
            whole = self.digest(self._texts(each, digested, self.told(key)))
            halves = ((whole >> 32) & 0xFFFFFFFF, whole & 0xFFFFFFFF)  # numbers may have a sign
            high, low = ((part.cast(dt.int64) * times).sum() for part in halves)
        grouped = each.group_by(list(columns)) if columns else each
        tallied = self.fetch(grouped.aggregate([count.name(ROWS), high.name(HIGH), low.name(LOW)]))
        # Engines add whole numbers up to decimals.
        tallied = tallied.set_column(len(columns), ROWS, tallied[ROWS].cast(pa.int64()))
        self._remember(rows, tallied.select([*columns, ROWS]))
        return tallied

    def surplus(
        self, ours: ibis.Table, our_columns: Sequence[str], theirs: ibis.Table, their_columns: Sequence[str]
    ) -> int:
        """Return how many rows have cells in some columns more often than another table has them in its columns.

        Cells are compared as text files have them, all of a row by one digest, under a key that nobody knows.
        """
        key = self.told(token_hex(16))
        here, there = (
            rows.select(self.digest(self._texts(rows, columns, key)).name(name))
            for rows, columns, name in ((ours, our_columns, KEY), (theirs, their_columns, RAW))
        )
        there = there.group_by(RAW).aggregate(there.count().name(PLACE))
        here = here.group_by(KEY).aggregate(here.count().name(ROWS))
        joined = here.left_join(there, here[KEY] == there[RAW])
        more = joined[ROWS] - joined[PLACE].fill_null(0)
        found = self.fetch(joined.filter(more > 0).aggregate(more.sum().name(ROWS)))[ROWS].to_pylist()[0]
        return int(found or 0)

    def beside(
        self, rows: ibis.Table, columns: Sequence[str], known: ibis.Table, names: Mapping[str, str]
    ) -> ibis.Table:
        """Return some columns of marked rows, each beside what the row of its mark has in `known`: the columns `names`,
        each under the name that is given for it. Rows that share a mark are the same, so that one stands for all."""
        apart = {name: f"{OWN} beside {place}" for place, name in enumerate(names)}
        firsts = known.select(known[WHICH].name(KEY), *(known[name].name(apart[name]) for name in names)).distinct()
        shown = rows.select(WHICH, *columns)
        joined = shown.inner_join(firsts, shown[WHICH] == firsts[KEY])
        return joined.select(*columns, *(joined[apart[name]].name(shown) for name, shown in names.items()))

    def counts(self, rows: ibis.Table, lots: Sequence[Sequence[str]]) -> list[pa.Table]:
        """Count rows by each of several lots of columns in one scan. A combination may come several times."""
        joint = self.count(rows, [*dict.fromkeys(name for lot in lots for name in lot)])
        found = [(_summed(joint, lot), joint.select([*lot, ROWS])) for lot in lots]
        return [several if once is None else once for once, several in found]

    def marked(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a mark each: a digest of all their cells, so that rows with the same mark are the same."""
        digest = self.digest(self._texts(rows, rows.columns, self.told(token_hex(16))))
        return self.named(with_columns(rows, {WHICH: digest}))

    def _texts(self, rows: ibis.Table, columns: Sequence[str], key: ibis.Value) -> list[ibis.Value]:
        """Return some cells of a row as texts, after a key. An empty text is a missing one."""
        return [key, *(self.as_text(rows[name]).fill_null("") for name in columns)]

    def typed(self, rows: ibis.Table, columns: Mapping[str, pa.Table]) -> ibis.Table:
        """Return rows with each column of labels replaced by what a table says of them."""
        names = [new for name in rows.columns for new in (_news(columns[name]) if name in columns else [name])]
        return self.apart(rows, columns, lambda rows: self._typed(rows, columns)).select(*names)

    def _typed(self, rows: ibis.Table, columns: Mapping[str, pa.Table]) -> ibis.Table:
        for place, (name, table) in enumerate(columns.items()):
            rows = self.named(rows) if place % AT_ONCE == AT_ONCE - 1 else rows
            news = _news(table)
            key, apart = f"{LABEL} {place}", [f"{SHARE} {place} {at}" for at in range(len(news))]
            nullable = bool(table[LABEL].null_count)
            lookup = self.hold(table.select([LABEL, *news]).rename_columns([key, *apart]))
            rows = rows.left_join(lookup, [self.same(rows[name], lookup[key], nullable)]).drop(name, key)
            rows = with_columns(rows, {new: rows[old] for new, old in zip(news, apart, strict=True)}).drop(*apart)
        return rows


def _news(table: pa.Table) -> list[str]:
    """Return the columns of a table beside the labels that it is about."""
    return [name for name in table.column_names if name != LABEL]


def _summed(counted: pa.Table, columns: Sequence[str]) -> pa.Table | None:
    """Return the counts of some of the columns that were counted; None where Arrow may tell apart what an engine takes
    for the same."""
    if {*columns, ROWS} == {*counted.column_names}:
        return counted.select([*columns, ROWS])
    if not columns or not all(compares_alike(counted.schema.field(name).type) for name in columns):
        return None
    return counted.group_by([*columns], use_threads=False).aggregate([(ROWS, "sum")]).rename_columns([*columns, ROWS])


def plain_schema(rows: ibis.Table) -> pa.Schema:
    """Return what Arrow calls the columns of an expression."""
    return rows.schema().to_pyarrow()


def as_counts(data: Data) -> Data:
    """Return how text files of counts are to be read: as releases, but what is said of columns is not about theirs."""
    return Data(delimiter=as_released(data).delimiter, quote=data.quote)


def as_released(data: Data) -> Data:
    """Return how the text files of releases are to be read: in UTF-8, with a delimiter of one character."""
    delimiter = data.delimiter if len(data.delimiter) == 1 else ","
    return data.model_copy(update={"encoding": "utf-8", "delimiter": delimiter})
