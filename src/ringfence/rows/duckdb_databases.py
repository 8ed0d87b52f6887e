"""Databases of DuckDB in memory. One that its job is done with is kept for the next job of the process.

To make one and to close it takes longer than most of what is done to a small file. Each job has a connection of its
own, and with it go its tables, views, types, variables and registered tables. One job at a time uses a database, and
it is kept only if nothing of the job can be left in it. Its settings are the next job's to set.
"""

import atexit
import ctypes
import os
from contextlib import suppress
from typing import Any

from ringfence.rows.duckdb_sql import draw

LARGEST = 1 << 26
"""A database that takes more bytes than this is closed."""
_idle: list[Any] = []
"""The database that is kept, if one is."""


def taken() -> Any:
    """Return a connection to a database that nobody else uses, from which others are made."""
    with suppress(IndexError):
        return _idle.pop()
    import duckdb

    database: Any = duckdb.connect()
    database.create_function("ringfence_drawn", draw, ["TINYINT"], "UBIGINT", type="arrow", side_effects=True)
    return database


def given_back(database: Any) -> None:
    """Keep a database for the next job if it is as it was when it was made, and none is kept; else close it."""
    import duckdb

    with suppress(duckdb.Error):
        database.execute("SET temp_directory = ''")  # refused where memory was not enough
        database.execute("RESET memory_limit")
        databases, used = database.execute(
            "SELECT (SELECT count(*) FROM duckdb_databases() WHERE NOT internal),"
            " (SELECT sum(memory_usage_bytes) FROM duckdb_memory())"
        ).fetchone()
        if databases == 1 and used <= LARGEST and not _idle:
            _idle.append(database)
            return
    database.close()


@atexit.register
def close_idle() -> None:
    """Close the database that is kept."""
    while _idle:
        _idle.pop().close()


def _let_be() -> None:
    """Forget a database in a process that was forked: it has none of the threads of it, and would wait for them without
    end when it is closed, even where Python closes it as the process ends. So it is never let go."""
    while _idle:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_idle.pop()))


os.register_at_fork(after_in_child=_let_be)
