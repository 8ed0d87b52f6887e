"""Jobs on executors that are processes of their own, one of which is killed in the middle: a script, since a process
has one session of Spark. Prints what came of each job.

The executor is killed when the rows have their numbers, and before groups are drawn by them. Without a folder for
checkpoints some of the numbered rows are lost with it; with one, they are not.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import ringfence as rf
from ringfence.errors import EngineError
from ringfence.rows.spark import Spark
from tests.spark import JVM

ROWS = 600
PEOPLE = pa.table({"who": range(ROWS), "age": [20 + row % 7 for row in range(ROWS)], "town": ["Oslo", "Hamar"] * 300})
SPEC = rf.Spec(
    attributes={"who": {"role": "insensitive"}, "age": {"role": "quasi"}, "town": {"role": "quasi"}},
    privacy={"k": 5},
    method={"name": "mondrian", "seed": 3},
)


def executors() -> list[int]:
    """The processes that are executors of this one's."""
    parents, found = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue  # it has ended
    return [pid for pid in found if parents.get(parents[pid]) == os.getpid()]


def released(frame: Any) -> dict[str, Any]:
    """Anonymize rows while an executor is killed, and return who is published, or what is said instead."""
    killed: list[int] = []
    placed = Spark.placed

    def disturbed(self: Spark, rows: Any) -> Any:
        numbered = placed(self, rows)
        if not killed:  # the order of rows is drawn later, by other numbers
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)
        return numbered

    Spark.placed = disturbed  # type: ignore[method-assign]
    try:
        release = rf.anonymize(frame, SPEC)
        found = sorted(row["who"] for row in release.table.collect())
        return {"killed": len(killed), "ok": release.audit.ok, "who": found}
    except EngineError as error:
        return {"killed": len(killed), "said": str(error)}
    finally:
        Spark.placed = placed  # type: ignore[method-assign]


if __name__ == "__main__":
    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": JVM,
        "spark.executor.extraJavaOptions": JVM,
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("a lost executor")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    people = session.createDataFrame(PEOPLE).repartition(2)
    print(json.dumps(released(people)), flush=True)
    session.sparkContext.setCheckpointDir(sys.argv[1])
    print(json.dumps(released(people)), flush=True)
    session.stop()
