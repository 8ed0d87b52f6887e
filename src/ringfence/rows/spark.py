"""The engine of Apache Spark: rows are counted, rewritten and audited by the executors that hold them.

Only counts come to the driver, and small tables go out, broadcast. Spark may compute rows again at any time: a task
that failed, an executor that was lost. So rows get their numbers in one step that is kept (checkpointed: cut off from
what it was computed from), before anything random depends on them. What is drawn for a row is a function of its number
and a secret, the same however often it is computed, so that no row is doubled or lost by a task that runs twice.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException

from ringfence.errors import RingfenceError
from ringfence.rows.casts import cast_rows
from ringfence.rows.engine import Engine, plain_schema
from ringfence.rows.formats import PARQUET
from ringfence.rows.number_marks import plain_number_rows
from ringfence.rows.places import find
from ringfence.rows.remote import is_spark
from ringfence.rows.same_value import canonical_rows, canonical_table, for_engine
from ringfence.rows.sources import KEY, OWN, PLACE, ROWS, as_arrow
from ringfence.rows.spark_session import (
    activate,
    as_messages,
    carried_out,
    complaint,
    frame_of,
    is_drawn_anew,
    moved,
    opened,
    own_session,
    schema_of,
    session_for,
    with_zones,
)
from ringfence.rows.steps import with_columns
from ringfence.spec.data import Data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BROADCAST = 1 << 27
"""Tables of up to so many bytes are sent to every executor; larger ones are joined by shuffling both sides."""
PIECE = 1 << 25
"""In how many bytes at a time tasks are sent to workers."""
IN_PARTITION = 33
"""Of the numbers that Spark gives to rows, the lower bits count inside a partition; the others tell which it is."""


class Spark(Engine):
    """A session of its own, for one job, beside the session that the source lies in, which stays as it is."""

    ordered = False

    @property
    def own_errors(self) -> tuple[type[Exception], ...]:
        return (PySparkException, Py4JError)

    def __init__(self, source: Any, data: Data, *, scratch: Path | None = None) -> None:
        self.home = session_for(source, data)
        self.session = own_session(self.home)
        self._scratch = scratch
        self._views = 0

    def __exit__(self, *_: object) -> None:
        for number in range(self._views):
            self.session.catalog.dropTempView(_view_name(number))
        activate(self.home)

    def open(self, source: Any, data: Data, *, as_it_stands: bool = False) -> ibis.Table:
        """Return the rows of a DataFrame, a table of the catalogue or Parquet files; anything else is copied to Spark.

        Rows that are drawn anew each time they are computed are drawn once, here.
        """
        if is_spark(source):
            with self.blaming("cannot read the source"):
                frame = moved(opened(self.home, source, data), self.session)
                rows = self.view(frame) if not is_drawn_anew(frame) else self._kept(frame)
        elif isinstance(source, str | Path):
            place = find(source)
            if place.form is not PARQUET or place.folders:
                return self._copied(source, data, as_it_stands)
            with self.blaming(f"cannot read {place.shown}"):
                files = [file.resolve().as_uri() for file in place.files]
                rows = self.view(opened(self.session, self.session.read.parquet(*files), data))
        else:
            table = as_arrow(source)
            rows = self.hold(table if as_it_stands else canonical_table(table, data.missing_values))
            return rows if as_it_stands else cast_rows(self, plain_number_rows(rows, data), data.types)
        if as_it_stands:
            return rows
        return cast_rows(self, plain_number_rows(canonical_rows(rows, data.missing_values), data), data.types)

    def _copied(self, path: str | Path, data: Data, as_it_stands: bool) -> ibis.Table:
        """Return the rows of a file, which DuckDB reads on the driver."""
        from ringfence.rows.duckdb import DuckDB

        with DuckDB(data, scratch=self._scratch) as reader:
            return self.hold(reader.fetch(reader.open(path, data, as_it_stands=as_it_stands)))

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that has come through the door before; small ones are broadcast when joined."""
        from pyspark.sql.functions import broadcast

        with self.blaming("a table cannot be held"):
            frame = frame_of(self.session, for_engine(table))
            return self.view(broadcast(frame) if table.nbytes <= BROADCAST else frame)

    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, kept: computed again, they might come in another order."""
        return self.keep(with_columns(rows, {PLACE: _own_number()}))

    def numbered_by(self, rows: ibis.Table, order: ibis.Value, name: str) -> ibis.Table:
        """Number rows from 0 on: inside each partition of the sorted rows, and on from the rows of those before it."""
        sorted_rows = self.placed(rows.order_by(order))
        places = sorted_rows.select((sorted_rows[PLACE] >> IN_PARTITION).name(KEY))
        sizes = self.fetch(places.group_by(KEY).aggregate(places.count().name(ROWS))).sort_by(KEY)
        before = np.cumsum(sizes[ROWS].to_numpy()) - sizes[ROWS].to_numpy()
        key, first = f"{OWN} partition", f"{OWN} rows before"
        held = self.hold(pa.table({key: sizes[KEY], first: before}))
        joined = sorted_rows.inner_join(held, [(sorted_rows[PLACE] >> IN_PARTITION) == held[key]])
        number = (joined[PLACE] & ((1 << IN_PARTITION) - 1)) + joined[first]
        return with_columns(joined, {name: number}).select(*rows.columns, name)

    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return the hash of each number with a secret of 128 bits or more, which lies in a table of its own: texts of
        queries are shown by Spark's pages and written into its logs."""
        held = self.hold(pa.table({KEY: [secret]}))
        return _md5(held[KEY].as_scalar() + number.cast("string"))

    def shuffled(self, rows: ibis.Table) -> ibis.Table:
        """Return rows dealt to partitions by numbers that are drawn for each, and sorted by them in each partition.

        Where a row comes to lie depends on these numbers alone, not on how the rows came. To sort rows over all
        partitions, Spark would draw the numbers twice: first to see where partitions are to begin.
        """
        placed = self.placed(rows)
        number = _hash(self.by_chance(placed[PLACE], token_hex(16)))  # shorter than the text, and as hard to guess
        drawn = with_columns(placed, {KEY: number}).drop(PLACE)
        with self.blaming():
            return self.view(self.frame(drawn).repartition(KEY).sortWithinPartitions(KEY).drop(KEY))

    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; where cells may be missing, missing ones are."""
        return left.identical_to(right) if nullable else left == right

    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""
        if not column.type().is_floating():
            return column.cast("string")
        wide = column.cast("float64")
        whole = (wide.abs() < 2**53) & (wide == wide.floor())
        return ibis.ifelse(whole, wide.try_cast("int64").cast("string"), column.cast("string"))

    def cast_or_none(self, cell: ibis.Value, kind: str) -> ibis.Value:
        """Return a cell in another type, missing where it has no counterpart there."""
        if kind == "int64" and cell.type().is_string():  # 2.0 is a whole number too
            cell = cell.try_cast(dt.Decimal(38, 1))
        return cell.try_cast(kind)

    def listed(self, cells: ibis.Value) -> ibis.Value:
        """Return the cells of a group as a sorted list, those that are missing left out."""
        return cells.collect().sort()

    def digest(self, texts: Sequence[ibis.Value]) -> ibis.Value:
        """Return Spark's own hash, which is not for secrets, but spreads well: the key is what nobody knows."""
        return _hash(ibis.struct({f"text {place}": text.fill_null("") for place, text in enumerate(texts)}))

    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""
        with self.blaming():
            return self._kept(self.frame(rows))

    def _kept(self, frame: "DataFrame") -> ibis.Table:
        """Return rows that are computed now, and never again.

        Where the session has a folder for checkpoints, they survive executors. Else they lie with these: if one is
        lost, the job fails, where rows that are merely cached would be drawn a second time without a word.
        """
        if self.session.sparkContext.getCheckpointDir() is not None:
            return self.view(frame.checkpoint(eager=True))
        return self.view(frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK))

    def each(self, tasks: Sequence[Callable[[], Any]]) -> Iterable[Any]:
        """Do tasks by workers, each in a partition of its own, and return what comes of them. They go out in pieces, by
        a shuffle: what is sent along with a task of Spark's own may not be large."""
        sent = [pickle.dumps(task) for task in tasks]
        pieces = [
            (number, (first, task[first : first + PIECE]))
            for number, task in enumerate(sent)
            for first in range(0, len(task), PIECE)
        ]
        with self.blaming("a part of the search failed"):
            dealt = self.session.sparkContext.parallelize(pieces, len(pieces)).partitionBy(len(tasks), int)
            return [pickle.loads(done) for done in dealt.mapPartitions(carried_out).collect()]

    def frame(self, rows: ibis.Table) -> "DataFrame":
        """Return an expression as a DataFrame."""
        return self.session.sql(ibis.pyspark.compile(rows))

    def handed_out(self, rows: ibis.Table, source: Any) -> Any:
        """Return rows as a DataFrame that stays when the engine is gone, each drawn once and for all; moments with the
        zone that they came with."""
        frame = moved(self.frame(self.keep(rows)), self.home)
        return frame if source is None or isinstance(source, str | Path) else with_zones(frame, source)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, which are counts: they come to the driver all at once."""
        with self.blaming():
            return self.frame(rows).toArrow().cast(plain_schema(rows))

    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Carry an expression out and return its rows, partition by partition: the driver never has more than two."""
        schema = plain_schema(rows)
        with self.blaming():
            messages = self.frame(rows).mapInArrow(as_messages, "batch binary")
            for message in messages.toLocalIterator(prefetchPartitions=True):
                for batch in pa.ipc.open_stream(bytes(message["batch"])):
                    yield batch.cast(schema)

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file on the driver, which DuckDB writes from the batches as they come."""
        from ringfence.rows.duckdb import DuckDB

        if path.suffix != ".parquet":
            fractions = [name for name, kind in rows.schema().items() if kind.is_floating() or kind.is_decimal()]
            rows = with_columns(rows, {name: self.as_text(rows[name]) for name in fractions})
        with DuckDB(data, scratch=self._scratch) as writer:
            writer.write(writer.stream(plain_schema(rows), self.batches(rows)), path, data)

    def write_folder(self, rows: ibis.Table, folder: Path, data: Data, partition_by: Sequence[str]) -> None:
        """Carry an expression out into Parquet files of a folder, which DuckDB writes from the batches as they come."""
        from ringfence.rows.duckdb import DuckDB

        with DuckDB(data, scratch=self._scratch) as writer:
            writer.write_folder(writer.stream(plain_schema(rows), self.batches(rows)), folder, data, partition_by)

    def blame(self, error: Exception, otherwise: str) -> RingfenceError:
        """Return what Spark says, and what to do about it."""
        return complaint(error, otherwise)

    def versions(self) -> dict[str, str]:
        """Return the version of Spark."""
        return {"spark": str(self.session.version)}

    def view(self, frame: "DataFrame") -> ibis.Table:
        """Return the rows of a DataFrame of this session."""
        name = _view_name(self._views)
        frame.createTempView(name)
        self._views += 1
        return ibis.table(schema_of(frame), name=name)


def _view_name(number: int) -> str:
    return f"ringfence_{number}"


@ibis.udf.scalar.builtin(name="monotonically_increasing_id", signature=((), "int64"))
def _own_number():  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number for each row, by Spark: the partition in its upper bits, its place there in the lower ones."""


@ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
def _md5(text):  # type: ignore[no-untyped-def]  # what Ibis wants
    """The hash of a text, by Spark."""


@ibis.udf.scalar.builtin(name="xxhash64")  # type: ignore[untyped-decorator]
def _hash(cells) -> dt.int64:  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number of 64 bits for some cells, by Spark."""
