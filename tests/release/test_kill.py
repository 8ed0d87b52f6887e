"""Kill it anywhere: the release that a folder shows is the old one or the new one, and what is left is swept."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence.errors import EngineError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.staging import LOCK, STAGED, spilling, staging
from ringfence.spec.data import Data
from tests.engines import postgres

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
PROGRAM = Path(__file__).parents[1] / "killed.py"

SPILL = """
import sys
from ringfence.rows.duckdb import DuckDB
from ringfence.spec import Data
with DuckDB(Data(memory_limit="50MB")) as engine:
    engine._duckdb.execute("SET threads = 1")
    engine._duckdb.execute("CREATE TEMP TABLE spilled AS SELECT md5(i::VARCHAR) AS raw FROM range(4000000) t(i)")
    print("spilled", flush=True)
    sys.stdin.read()
"""


WAYS = {"steps": 1, "first": 1 if LONG else 7, "random": 50 if LONG else 10, "files": 1}
"""Ways to kill, each with how many times, or at every how many steps."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, list[str]]]:
    """How many were killed in each way, and what was wrong then."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "tmp").mkdir()
    found = subprocess.run(
        [sys.executable, PROGRAM, folder, *(str(part) for way in WAYS.items() for part in way)],
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        capture_output=True,
        text=True,
        check=True,
        timeout=1200,
    )
    killed: dict[str, tuple[int, list[str]]] = {}
    wrong: list[str] = []
    for line in found.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            killed[told["way"]], wrong = (told["killed"], wrong), []
        else:
            wrong.append(line)
    assert wrong == []
    return killed


@pytest.mark.parametrize(
    ("way", "least"),
    [
        pytest.param("steps", 40, id="at every step of publishing"),
        pytest.param("first", 5, id="at steps of the first release"),
        pytest.param("random", 10, id="at random moments"),
        pytest.param("files", 10, id="while single files are written"),
    ],
)
def test_a_kill_leaves_the_old_release_or_the_new_one(
    way: str, least: int, said: dict[str, tuple[int, list[str]]]
) -> None:
    killed, wrong = said[way]
    assert wrong == []
    assert killed >= least


def test_a_kill_leaves_the_old_table_of_a_database_or_the_new_one(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path), "database", "10", postgres().address]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1200)
    assert found.stdout.splitlines() == ['{"killed": 10}']


@pytest.mark.parametrize(
    ("source", "output"),
    [("large.parquet", {}), ("large.csv", {}), ("large.parquet", {"to": "released", "partition_by": ["q"]})],
    ids=["the release", "a source that is parsed", "a folder of parts"],
)
def test_a_full_disk_leaves_the_old_release(source: str, output: dict[str, Any], tmp_path: Path) -> None:
    """The system refuses files of more than some bytes as it refuses those that a full disk has no room for."""
    noise = random.Random(6)

    def asked(source: str, output: dict[str, Any]) -> rf.Spec:
        attributes = {"q": {"role": "quasi", "hierarchy": "flat"}, "note": {"role": "insensitive"}}
        return rf.Spec(data={"source": source}, attributes=attributes, privacy={"k": 2}, output=output).at(tmp_path)

    for name, rows in (("small.parquet", 20), ("large.parquet", 3000)):
        table = pa.table({"q": ["a", "b"] * (rows // 2), "note": [noise.randbytes(200).hex() for _ in range(rows)]})
        pq.write_table(table, tmp_path / name)
    pyarrow.csv.write_csv(table, tmp_path / "large.csv")
    rf.run(asked("small.parquet", {}), tmp_path / "out", report=False)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out/public").iterdir()}
    there = {path.name for path in tmp_path.iterdir()}
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, unlimited[1]))
    try:
        with pytest.raises(EngineError, match="File too large; make room, or choose another place"):
            rf.run(asked(source, output), tmp_path / "out", report=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out/public").iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == there
    house = tmp_path / "out/.ringfence"
    assert {path.name for path in house.iterdir()} == {"current", "lock", (house / "current").readlink().name}
    assert rf.run(asked(source, output), tmp_path / "out", report=False).audit.ok


def test_what_does_not_fit_into_memory_is_private_and_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tmp", "cwd"):
        (tmp_path / name).mkdir()
    program = subprocess.Popen(
        [sys.executable, "-c", SPILL],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        cwd=tmp_path / "cwd",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == "spilled\n"
        [scratch] = (tmp_path / "tmp").iterdir()
        assert any(path.stat().st_size for path in scratch.glob("spilled/*")), "nothing was spilled"
        assert scratch.stat().st_mode & 0o777 == 0o700
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        with DuckDB(Data(memory_limit="1GB")):
            assert scratch.exists(), "a living run's was swept"
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert scratch.exists()
    with DuckDB(Data(memory_limit="1GB")):
        assert not scratch.exists()
    assert [*(tmp_path / "tmp").iterdir()] == []
    assert [*(tmp_path / "cwd").iterdir()] == []


def test_only_ours_and_only_dead_ones_are_swept(tmp_path: Path) -> None:
    (tmp_path / f"{STAGED}-mine").mkdir()
    (tmp_path / f"{STAGED}-0123456789abcdef.txt").write_text("mine")
    dead, empty, foreign = (tmp_path / f"{STAGED}-{digit * 16}" for digit in "def")
    for path in (dead, empty, foreign):
        path.mkdir()
    (dead / LOCK).touch()
    (dead / "part").mkdir()
    (dead / "part/raw.csv").write_text("raw")
    (foreign / "mine.txt").write_text("mine")  # without a lock it is none of ours
    with staging(tmp_path) as alive, staging(tmp_path) as other:
        assert {alive, other} <= {*tmp_path.iterdir()}
        assert alive.stat().st_mode & 0o777 == 0o700
        assert not dead.exists()
        assert not empty.exists()
    left = {f"{STAGED}-mine", f"{STAGED}-0123456789abcdef.txt", foreign.name}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_a_refused_engine_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Exception, match="memory_limit"):
        DuckDB(Data.model_construct(memory_limit="lots"))
    with spilling():
        assert len([*tmp_path.iterdir()]) == 1
    assert [*tmp_path.iterdir()] == []


def test_a_second_process_is_told_that_a_folder_is_in_use(tmp_path: Path) -> None:
    holder = "import sys, time; from pathlib import Path; from ringfence.release.folder import new_version\n"
    holder += "with new_version(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(600)\n"
    command = [sys.executable, "-c", holder, str(tmp_path / "out")]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "in\n"
        started = time.monotonic()
        second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert "another run is writing there" in second.stderr
        assert time.monotonic() - started < 30
        first.kill()
    third = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with third:
        assert third.stdout is not None
        assert third.stdout.readline() == "in\n", "the lock of a dead run holds"
        third.kill()
