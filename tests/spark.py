"""Spark for tests: one session for all of a process, on this machine, with little memory."""

import atexit
import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""How Java is told to start soon: its libraries are not verified anew, and what runs for seconds is compiled simply."""


def missing(what: str) -> None:
    """Skip a test for want of something on this machine; under continuous integration, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}: continuous integration must have it")
    pytest.skip(what)


@functools.cache
def _session() -> Any:
    """The session of this process, or what is missing for one."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "Java is not installed (on Debian: apt-get install default-jre-headless)"
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return "pyspark is not installed (pip install 'ringfence[spark]')"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="ringfence-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.codegen.wholeStage": "false",  # to compile a statement takes longer than to carry it out here
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} {JVM}",
    }
    builder = SparkSession.builder.master("local[2, 4]").appName("ringfence tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


def spark() -> Any:
    """The session of this process, started when it is first asked for."""
    found = _session()
    if isinstance(found, str):
        missing(found)
    return found
