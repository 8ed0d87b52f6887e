"""Where a release goes that is no file of a run's folder: a table of a database, or a folder of Parquet files; filled,
read back, put in place at once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

import ibis

from ringfence.rows.engine import Engine
from ringfence.rows.extras import needed
from ringfence.rows.remote import is_database, is_spark
from ringfence.spec.data import Data
from ringfence.version import __version__


class Target(Protocol):
    """A table that a release becomes, and beside it the second of those that are two. `with` a target, what was not
    committed is gone in the end, and what was there before is as it was."""

    address: str
    """What it is called, by which it can be opened again."""

    def __enter__(self) -> Self:
        """Refuse at once what cannot become a release."""

    def __exit__(self, *_: object) -> None:
        """Let go of what was not committed."""

    @property
    def published(self) -> dict[str, dict[str, str]]:
        """What the manifest says of where the release is."""

    def stage(self, rows: ibis.Table, beside: str = "") -> None:
        """Carry an expression out where nobody takes it for a release."""

    def open(self, scratch: Path, data: Data, beside: str = "") -> ibis.Table:
        """Return the rows of what was staged, as they stand."""

    def commit(self, note: str, gone: Sequence[str] = ()) -> None:
        """Put all that was staged in place of what was there, in one step, with a note that can be read there. What an
        earlier release had beside it and this one has not, `gone`, is taken away."""


def noted(told: str, identity: str) -> str:
    """Return the note that a release carries where it is: what made it, and which release it is.

    >>> noted("6 rows", "5c0f").partition(", ")[2]
    '6 rows, id 5c0f'
    """
    return f"version {__version__}, {told}, id {identity}"


def identity_at(address: str | Path, engine: Engine) -> str | None:
    """Return which release is at an address, by the note that it carries; None where there is none."""
    if is_database(address):
        from ringfence.rows.postgres_target import note_at
    elif is_spark(address):
        from ringfence.rows.spark_target import note_at
    else:
        from ringfence.rows.parquet_folder import note_at
    found = re.search(r"\bid ([0-9a-f]+)$", note_at(str(address), engine) or "")
    return None if found is None else found[1]


def target_for(address: str, engine: Engine, data: Data, partition_by: Sequence[str] = ()) -> Target:
    """Return the target that an address names, for rows that an engine has; `partition_by` is for folders."""
    if is_spark(address):
        needed("pyspark", "from Spark", "spark")
        from ringfence.rows.spark_target import spark_target

        return spark_target(address, engine, partition_by)
    if is_database(address):
        from ringfence.rows.postgres_target import PostgresTarget

        return PostgresTarget(address, engine)
    from ringfence.rows.parquet_folder import ParquetFolder

    return ParquetFolder(Path(address), engine, data, partition_by)
