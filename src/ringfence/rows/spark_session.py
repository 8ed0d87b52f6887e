"""Spark from outside: the session that a job runs in, what `spark://` means, and Spark's types in Arrow's."""

import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from ringfence.errors import DataError, EngineError, RingfenceError, SpecError, listed
from ringfence.rows.coded import replaced
from ringfence.rows.remote import SPARK
from ringfence.rows.sources import refuse_odd_names
from ringfence.spec.data import Data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWN_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
}
UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}
"""Spark has no numbers without a sign: what holds them instead."""
PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp_ntz", "binary")
"""Types of Spark that are read as they are, besides text, decimals, moments and lists of these."""


def session_for(source: Any, data: Data) -> "SparkSession":
    """Return the session that a source lies in: that of a DataFrame, the one that is active, or a new one.

    An address may name the cluster that a new session is started on, as Spark's own addresses of clusters do; without
    one, Spark's own configuration says which, and if that says nothing, it is this machine.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if not isinstance(source, str):
        there: SparkSession = source.sparkSession
        _refuse_connect(there)
        return there
    active = SparkSession.getActiveSession()
    if active is not None:
        _refuse_connect(active)
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers must run what the driver runs
    builder = SparkSession.builder.appName("ringfence").config("spark.ui.showConsoleProgress", "false")
    if urlsplit(source).netloc:
        builder = builder.master(f"{SPARK}://{urlsplit(source).netloc}")
    if data.memory_limit is not None:
        builder = builder.config("spark.driver.memory", _as_spark_says(data.memory_limit))
    try:
        started = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        raise EngineError(
            f"Spark does not start: {first_line(error)}; is there Java 17 or 21 (JAVA_HOME), and is the cluster up?"
        ) from error
    started.sparkContext.setLogLevel("ERROR")
    return started


def own_session(home: "SparkSession") -> "SparkSession":
    """Return a session beside another, with its settings, in which moments mean the same wherever it runs."""
    own = home.newSession()
    given = {name: value for name, value in home.conf.getAll.items() if home.conf.isModifiable(name)}
    for name, value in {**given, **OWN_SETTINGS}.items():
        own.conf.set(name, value)
    return own


def activate(session: "SparkSession") -> None:
    """Make a session the active one again: whichever made a DataFrame last has taken its place."""
    session.createDataFrame([], "nothing int")


def moved(frame: "DataFrame", session: "SparkSession") -> "DataFrame":
    """Return a DataFrame of one session as one of another on the same cluster."""
    name = f"ringfence_{token_hex(8)}"
    frame.createGlobalTempView(name)
    try:
        return session.table(f"global_temp.{name}")
    finally:
        session.catalog.dropGlobalTempView(name)


def _refuse_connect(session: Any) -> None:
    if "connect" in type(session).__module__:
        raise SpecError(
            "this is a session of Spark Connect, which cannot pin rows to what was drawn for them; use a session on the"
            " cluster itself (spark-submit, or a notebook that runs there)"
        )


def _as_spark_says(size: str) -> str:
    """Return a size of memory in megabytes, as Spark wants it.

    >>> _as_spark_says("1.5GB"), _as_spark_says("512MiB")
    ('1536m', '512m')
    """
    number = size.rstrip("KMGTiB ")
    power = {"K": -1, "M": 0, "G": 1, "T": 2}[size[len(number) :].strip()[0]]
    return f"{max(1, round(float(number) * 1024**power))}m"


def opened(session: "SparkSession", source: Any, data: Data) -> "DataFrame":
    """Return what a source is: a DataFrame, a table of the catalogue, or a folder of Parquet files."""
    frame = source if not isinstance(source, str) else _addressed(session, source, data)
    refuse_odd_names(frame.columns)
    return as_the_door_has_it(frame)


def _addressed(session: "SparkSession", address: str, data: Data) -> "DataFrame":
    from pyspark.errors import AnalysisException

    parts = urlsplit(address)
    path, table = unquote(parts.path), unquote(parts.fragment) or data.table
    if bool(path.strip("/")) == (table is not None):
        raise SpecError(
            f"{address!r} with the table {table!r}: name a folder of Parquet files in the address"
            " (spark:///data/people), or a table of the catalogue (source = 'spark://', table = 'health.people')"
        )
    try:
        return session.table(table) if table is not None else session.read.parquet(path)
    except AnalysisException as error:
        raise DataError(f"cannot read {table or address!r}: {first_line(error)}") from error


def as_the_door_has_it(frame: "DataFrame") -> "DataFrame":
    """Return rows with moments as clocks in the session's zone show them, and text that is compared to the letter."""
    from pyspark.sql import functions as f

    changed = {}
    odd = []
    for field in frame.schema.fields:
        kind = field.dataType.simpleString()
        cell = f.col(_quoted(field.name))
        if kind == "timestamp":
            changed[field.name] = cell.cast("timestamp_ntz")
        elif kind.startswith(("string", "varchar", "char")):
            changed[field.name] = cell if kind == "string" else cell.cast("string")
        elif not _is_plain(kind):
            odd.append(f"{field.name!r} ({kind})")
    if odd:
        raise DataError(f"columns of Spark that cannot be read: {listed(odd)}; cast them, or leave them out")
    return frame.select([changed.get(name, f.col(_quoted(name))).alias(name) for name in frame.columns])


def with_zones(frame: "DataFrame", given: "DataFrame") -> "DataFrame":
    """Return rows with moments as another DataFrame has them: as points in time, if these clocks showed such."""
    from pyspark.sql import functions as f

    zoned = {field.name for field in given.schema.fields if field.dataType.simpleString() == "timestamp"}
    cells = {field.name: f.col(_quoted(field.name)) for field in frame.schema.fields}
    for field in frame.schema.fields:
        if field.name in zoned and field.dataType.simpleString() == "timestamp_ntz":
            cells[field.name] = cells[field.name].cast("timestamp_ltz").alias(field.name)
    return frame.select(list(cells.values()))


def _is_plain(kind: str) -> bool:
    if kind.startswith("array<"):
        return _is_plain(kind[len("array<") : -1])
    return kind in (*PLAIN, "string", "void") or kind.startswith(("decimal", "interval"))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def is_drawn_anew(frame: "DataFrame") -> bool:
    """Whether rows would not be the same if they were computed twice."""
    return not frame._jdf.queryExecution().analyzed().deterministic()


def schema_of(frame: "DataFrame") -> ibis.Schema:
    """Return the columns of a DataFrame; those that hold nothing are text."""
    from ibis.backends.pyspark.datatypes import PySparkType

    kinds = {field.name: PySparkType.to_ibis(field.dataType) for field in frame.schema.fields}
    return ibis.schema({name: dt.string if kind.is_null() else kind for name, kind in kinds.items()})


def frame_of(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """Return a table in memory as a DataFrame."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_schema

    others = {}
    for place, given in enumerate(table.schema.types):
        kind = UNSIGNED.get(given, pa.string() if pa.types.is_null(given) else given)
        if pa.types.is_timestamp(kind) and kind.unit != "us":
            kind = pa.timestamp("us")
        if kind != given:
            others[place] = table.column(place).cast(kind)
    table = replaced(table, others)
    try:
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    except PySparkTypeError as error:
        raise DataError(f"Spark cannot hold this table: {first_line(error)}") from error
    return session.createDataFrame(table, schema)


def as_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return batches as rows of one cell each, in which a whole batch travels (carried out by Spark's workers)."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def carried_out(pieces: Iterable[tuple[int, tuple[int, bytes]]]) -> Iterator[bytes]:
    """Do the task that came in pieces, and return what comes of it (carried out by Spark's workers)."""
    task = pickle.loads(b"".join(piece for _, piece in sorted(part for _, part in pieces)))
    yield pickle.dumps(task())


def first_line(error: BaseException) -> str:
    """Return what Spark says, in a line: of failed tasks, what failed in them."""
    told = str(error).strip().splitlines() or [type(error).__name__]
    cause = [line for line in told if line.startswith("Caused by: ")]
    return (cause[-1].partition(": ")[2] if cause else told[0]).removesuffix(".")


def complaint(error: Exception, what: str) -> RingfenceError:
    """Return what to say where Spark fails, and what to do about it."""
    why, told = first_line(error), str(error)
    if "maxResultSize" in told:
        return EngineError(f"{what}: {why}; the counts are too many for the driver: raise spark.driver.maxResultSize")
    if "OutOfMemoryError" in told:
        return EngineError(f"{what}: {why}; raise spark.driver.memory or spark.executor.memory")
    if "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in told or "Checkpoint block" in told:
        return EngineError(
            f"{what}: an executor was lost with rows that were drawn already; nothing was released: run again, or set"
            " spark.checkpoint.dir to a folder that all executors reach"
        )
    return EngineError(f"{what}: {why}")
