"""Kill it anywhere: the release that a folder shows is the old one or the new one, and what is left is swept."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringfence.rows.duckdb import DuckDB
from ringfence.rows.staging import LOCK, STAGED, spilling, staging
from ringfence.spec.tables import Data

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


@pytest.mark.parametrize(
    ("what", "times", "least"),
    [
        pytest.param("steps", 1, 40, id="at every step of publishing"),
        pytest.param("first", 1 if LONG else 7, 5, id="at steps of the first release"),
        pytest.param("random", 50 if LONG else 6, 6, id="at random moments"),
        pytest.param("files", 1, 10, id="while single files are written"),
    ],
)
def test_a_kill_leaves_the_old_release_or_the_new_one(what: str, times: int, least: int, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    found = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, what, str(times)],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=True,
        timeout=1200,
    )
    *wrong, last = found.stdout.splitlines()
    assert wrong == []
    assert json.loads(last)["killed"] >= least


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
        with DuckDB(Data()):
            assert scratch.exists(), "a living run's was swept"
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert scratch.exists()
    with DuckDB(Data()):
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
