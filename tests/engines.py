"""The engines that suites run over, each started as its users have it."""

from contextlib import AbstractContextManager

from ringfence.rows.engine import Engine
from ringfence.rows.engines import engine_for
from ringfence.spec.tables import Data
from tests.spark import spark

ENGINES = ["duckdb", "spark"]


def started(name: str, data: Data | None = None) -> AbstractContextManager[Engine]:
    """An engine that holds nothing yet."""
    if name == "spark":
        spark()
        return engine_for(data or Data(), "spark://")
    return engine_for(data or Data())
