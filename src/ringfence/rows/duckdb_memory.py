"""How much memory DuckDB gets."""

from functools import cache
from typing import Any

from ringfence.rows.duckdb_words import literal

SHARE_OF_MEMORY = 1 / 6 / 0.8
"""Of what DuckDB would take by itself, 80 % of the machine: a sixth of the machine. More hardly helps (docs/engines.md:
30 million rows with 2 GB and with 6)."""
UNITS = {"bytes": 2**-30, "KiB": 2**-20, "MiB": 2**-10, "GiB": 1, "TiB": 2**10}


def setting(connection: Any, name: str) -> str:
    """Return what a connection shows of a setting."""
    return str(connection.execute(f"SELECT current_setting({literal(name)})").fetchall()[0][0])


def usual_limit(connection: Any) -> str:
    """Return how much memory a new connection gets, where nothing is asked for: a share of what DuckDB would take."""
    return f"{SHARE_OF_MEMORY * gibibytes(setting(connection, 'memory_limit')):.3f}GiB"


@cache
def usual_memory() -> str:
    """Return the same in the words of DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = {literal(usual_limit(connection))}")
        return setting(connection, "memory_limit")


def gibibytes(shown: str) -> float:
    """Return a size that DuckDB shows.

    >>> gibibytes("18.7 GiB"), gibibytes("512.0 MiB")
    (18.7, 0.5)
    """
    number, unit = shown.split()
    return float(number) * UNITS[unit]
