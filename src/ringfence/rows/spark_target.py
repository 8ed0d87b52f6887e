"""A folder of Parquet files, or a table of Spark's catalogue, as the place of a release.

Rows are written by the executors under another name, read back and audited there, and put in place by renaming. What
dies before that leaves something of another name that no reader takes for a release, and the earlier one as it was.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import ibis

from ringfence.errors import EngineError, SpecError
from ringfence.rows.engine import Engine
from ringfence.rows.spark import Spark
from ringfence.spec.data import Data

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OURS = "ringfence"
"""The property by which a table is known that a release may take the place of."""
NOTE = "_RINGFENCE"
"""The file that says so of a folder; readers pass over what begins with an underscore."""


def spark_target(address: str, engine: Engine, partition_by: Sequence[str]) -> "SparkTarget":
    """Return the target that an address names: spark:///path, or spark://#table."""
    if not isinstance(engine, Spark):
        raise SpecError(f"output.to = {address!r} is for rows that lie in Spark; data.source is elsewhere")
    parts = urlsplit(address)
    if bool(parts.path.strip("/")) == bool(parts.fragment):
        raise SpecError(f"{address!r}: name a folder (spark:///data/released) or a table (spark://#health.released)")
    kind = CatalogueTarget if parts.fragment else FolderTarget
    return kind(unquote(parts.fragment or parts.path), address, engine, partition_by)


def note_at(address: str, engine: Engine) -> str | None:
    """Return the note of the release at an address; what is there and no release has none."""
    assert isinstance(engine, Spark)
    parts = urlsplit(address)
    table = unquote(parts.fragment)
    with engine.blaming(f"cannot read {address!r}"):
        if table:
            kept = engine.session.sql(f"SHOW TBLPROPERTIES {_named(table)}").collect()
            return next((row["value"] for row in kept if row["key"] == OURS), None)
        jvm: Any = engine.session._jvm
        path = jvm.org.apache.hadoop.fs.Path(unquote(parts.path), NOTE)
        files = path.getFileSystem(engine.session._jsparkSession.sessionState().newHadoopConf())
        if not files.exists(path):
            return None
        opened = files.open(path)
        try:
            return str(jvm.org.apache.commons.io.IOUtils.toString(opened, "UTF-8"))
        finally:
            opened.close()


class SparkTarget:
    """What folders and tables have in common: a name, and beside it that of a second table."""

    kind: str

    def __init__(self, name: str, address: str, engine: Spark, partition_by: Sequence[str]) -> None:
        self.address, self._name, self._engine, self._partition_by = address, name.rstrip("/"), engine, partition_by
        self._staged: dict[str, str] = {}
        self.refuse_taken("")

    def __enter__(self) -> "SparkTarget":
        return self

    def __exit__(self, *_: object) -> None:
        for staged in self._staged.values():
            with self._saying():
                self.drop(staged)

    @property
    def published(self) -> dict[str, dict[str, str]]:
        """The names of what was written, without the way to it."""
        last = self._name.rpartition("/" if self.kind == "folder" else ".")[2]
        return {("release" if not beside else beside[1:]): {self.kind: last + beside} for beside in self._staged}

    def stage(self, rows: ibis.Table, beside: str = "") -> None:
        """Carry an expression out under another name."""
        self.refuse_taken(beside)
        with self._saying():
            self._staged[beside] = self.write(self._engine.frame(rows), self._partition_by if not beside else ())

    def open(self, scratch: Path, data: Data, beside: str = "") -> ibis.Table:  # noqa: ARG002
        """Return the rows of what was staged, as they stand."""
        with self._saying():
            return self._engine.view(self.read(self._staged[beside]))

    def commit(self, note: str, gone: Sequence[str] = ()) -> None:
        """Put what was staged in place of what was there, which steps aside and comes back if that fails."""
        with self._saying():
            for beside, staged in [*self._staged.items()]:
                name, earlier = self._name + beside, f"{staged}_earlier"
                self.note(staged, note)
                there = self.exists(name)
                if there:
                    self.rename(name, earlier)
                try:
                    self.rename(staged, name)
                except BaseException:
                    if there:
                        self.rename(earlier, name)
                    raise
                del self._staged[beside]
                if there:
                    self.drop(earlier)
            for beside in gone:
                if self.exists(self._name + beside) and self.is_release(self._name + beside):
                    self.drop(self._name + beside)

    @contextmanager
    def _saying(self) -> Iterator[None]:
        with self._engine.blaming(f"cannot write the {self.kind} {self._name!r}"):
            yield

    def refuse_taken(self, beside: str) -> None:
        """Refuse a target that is there and no release."""
        with self._saying():
            name = self._name + beside
            taken = self.exists(name) and not self.is_release(name)
        if taken:
            raise EngineError(
                f"cannot write the {self.kind} {self._name + beside!r}: it is there, and no release that could be"
                " replaced; move it away, or name another"
            )

    def exists(self, name: str) -> bool:
        """Whether anything has this name."""
        raise NotImplementedError

    def is_release(self, name: str) -> bool:
        """Whether what has this name is a release."""
        raise NotImplementedError

    def write(self, frame: "DataFrame", partition_by: Sequence[str]) -> str:
        """Write rows under a name of their own, and return it."""
        raise NotImplementedError

    def read(self, name: str) -> "DataFrame":
        """Return what was written under a name."""
        raise NotImplementedError

    def note(self, name: str, note: str) -> None:
        """Say of what was written that it is a release, and which."""
        raise NotImplementedError

    def rename(self, name: str, new: str) -> None:
        """Give something another name, which nothing has."""
        raise NotImplementedError

    def drop(self, name: str) -> None:
        """Remove what was written."""
        raise NotImplementedError


class FolderTarget(SparkTarget):
    """A folder of Parquet files, wherever Spark can write: a disk that all executors share, HDFS, a bucket."""

    kind = "folder"

    def __init__(self, name: str, address: str, engine: Spark, partition_by: Sequence[str]) -> None:
        jvm: Any = engine.session._jvm
        self._schemas: dict[str, Any] = {}
        self._path = jvm.org.apache.hadoop.fs.Path
        self._files = self._path(name).getFileSystem(engine.session._jsparkSession.sessionState().newHadoopConf())
        super().__init__(name, address, engine, partition_by)

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def is_release(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name, NOTE)))

    def write(self, frame: "DataFrame", partition_by: Sequence[str]) -> str:
        parent, _, last = self._name.rpartition("/")
        staged = f"{parent}/.{last}.unfinished-{token_hex(8)}"
        self._schemas[staged] = frame.schema
        frame.write.partitionBy(*partition_by).parquet(staged)
        return staged

    def read(self, name: str) -> "DataFrame":
        """With the columns as they were written: the names of folders say nothing of types."""
        schema = self._schemas[name]
        return self._engine.session.read.schema(schema).parquet(name).select(*map(_quoted, schema.names))

    def note(self, name: str, note: str) -> None:
        file = self._files.create(self._path(name, NOTE))
        file.write(note.encode())
        file.close()

    def rename(self, name: str, new: str) -> None:
        if not self._files.rename(self._path(name), self._path(new)):
            raise EngineError(f"cannot write the folder {self._name!r}: {name} cannot be renamed to {new}")

    def drop(self, name: str) -> None:
        self._files.delete(self._path(name), True)


class CatalogueTarget(SparkTarget):
    """A table of the catalogue, kept as Parquet."""

    kind = "table"

    def exists(self, name: str) -> bool:
        return bool(self._engine.session.catalog.tableExists(name))

    def is_release(self, name: str) -> bool:
        kept = self._engine.session.sql(f"SHOW TBLPROPERTIES {_named(name)}").collect()
        return any(row["key"] == OURS for row in kept)

    def write(self, frame: "DataFrame", partition_by: Sequence[str]) -> str:
        database, dot, _ = self._name.rpartition(".")
        staged = f"{database}{dot}ringfence_{token_hex(8)}"
        frame.write.format("parquet").partitionBy(*partition_by).saveAsTable(staged)
        return staged

    def read(self, name: str) -> "DataFrame":
        return self._engine.session.table(name)

    def note(self, name: str, note: str) -> None:
        self._engine.session.sql(f"ALTER TABLE {_named(name)} SET TBLPROPERTIES ('{OURS}' = '{note}')")

    def rename(self, name: str, new: str) -> None:
        self._engine.session.sql(f"ALTER TABLE {_named(name)} RENAME TO {_named(new)}")

    def drop(self, name: str) -> None:
        self._engine.session.sql(f"DROP TABLE IF EXISTS {_named(name)}")


def _named(table: str) -> str:
    return ".".join(map(_quoted, table.split(".")))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
