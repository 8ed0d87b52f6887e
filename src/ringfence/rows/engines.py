"""Which engine does a job: the one that holds its rows already, else DuckDB."""

from pathlib import Path
from typing import Any

from ringfence.rows.engine import Engine
from ringfence.rows.extras import needed
from ringfence.spec.data import Data


def engine_for(data: Data, *sources: Any, scratch: Path | None = None) -> Engine:
    """Return the engine for a job on some sources: that of the first which lies in one, else DuckDB.

    What it has no memory for, it may write into `scratch`.
    """
    from ringfence.rows.duckdb import DuckDB
    from ringfence.rows.remote import is_database, is_spark

    for source in sources:
        if is_database(source):
            needed("psycopg", "from PostgreSQL", "postgres")
            from ringfence.rows.postgres import Postgres

            return Postgres(source, data, scratch=scratch)
        if is_spark(source):
            needed("pyspark", "from Spark", "spark")
            from ringfence.rows.spark import Spark

            return Spark(source, data, scratch=scratch)
    return DuckDB(data, scratch=scratch)
