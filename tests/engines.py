"""The engines that suites run over, each started as its users have it."""

from contextlib import AbstractContextManager

from ringfence.rows.engine import Engine
from ringfence.rows.engines import engine_for
from ringfence.spec.tables import Data

ENGINES = ["duckdb"]


def started(name: str) -> AbstractContextManager[Engine]:
    """An engine that holds nothing yet."""
    assert name in ENGINES
    return engine_for(Data())
