"""How tools meet: in turns, each run a process of its own, so that what disturbs one disturbs all."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.peers.contestants import ARX, Contestant, K, Question
from benchmarks.peers.reading import Unreadable, judge, read
from benchmarks.peers.tables import Contest

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-peers"
DRIVERS = Path(__file__).with_name("drivers.py")
ROUNDS = 3
SLOW = 4.0
"""A job that took more seconds is not run again."""
SECONDS = 60
BYTES = 8 * 2**30

Row = dict[str, Any]


def arx_jars() -> str:
    """Return the class path of ARX: the jars of the folder ARX_HOME; empty where there is none."""
    home = os.environ.get("ARX_HOME")
    return "" if home is None else ":".join(map(str, sorted(Path(home).glob("*.jar"))))


@dataclass(frozen=True)
class Bench:
    """Where tools are installed, and the command that each run is put behind, if any."""

    behind: tuple[str, ...] = ()
    environments: Path = ENVIRONMENTS

    def python(self, contestant: Contestant) -> str:
        """Return the interpreter of a tool's environment."""
        return sys.executable if contestant.ours else str(self.environments / contestant.package / "bin" / "python")

    def install(self, contestant: Contestant) -> None:
        """Make the environment of a tool, unless it is there. What went wrong is kept for `run` to tell."""
        place, asked = self.environments / contestant.package, " ".join(contestant.requirements)
        if contestant is ARX:
            self._compile(place)
            return
        ready = place / ".ready"
        if contestant.ours or (ready.exists() and ready.read_text(encoding="utf-8").splitlines()[0] == asked):
            return
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        command = [str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, *contestant.requirements], check=False, capture_output=True, text=True)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = "" if done.returncode == 0 else f"\npip: {' '.join(errors) or done.stderr[-200:]}"
        ready.write_text(asked + why, encoding="utf-8")

    def _compile(self, place: Path) -> None:
        """Compile what asks ARX, with the jars of the folder ARX_HOME."""
        place.mkdir(parents=True, exist_ok=True)
        command = ["javac", "-cp", arx_jars(), "-d", str(place), str(DRIVERS.with_name("Arx.java"))]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            why = "" if done.returncode == 0 else f"\njavac: {' '.join(done.stderr.split())}"
        except OSError as error:
            why = f"\njavac: {error.strerror}"
        (place / ".ready").write_text(ARX.package + why, encoding="utf-8")

    def _command(self, contestant: Contestant, task: Row, place: Path) -> list[str]:
        if contestant is not ARX:
            return [self.python(contestant), str(DRIVERS), str(place / "task.json")]
        java = ["java", f"-Xmx{BYTES // 2**30}g", "-cp", f"{self.environments / ARX.package}:{arx_jars()}", "Arx"]
        asked = (task["folder"], ",".join(task["quasi"]), task["k"], task["suppression"])
        return [*java, *map(str, asked), str(place / "release.csv"), str(place / "figures.json")]

    def run(self, contestant: Contestant, task: Row, place: Path) -> Row:
        """Run one job; return its figures, or how it failed."""
        if not contestant.ours:
            _, *why = (self.environments / contestant.package / ".ready").read_text(encoding="utf-8").splitlines()
            if why:
                return {"failed": f"could not be installed: {why[0]}"[:300]}
        figures = place / "figures.json"
        figures.unlink(missing_ok=True)
        whole = {
            **{"driver": contestant.driver, "package": contestant.package, "again": contestant.again},
            **{"seconds": SECONDS, "bytes": BYTES, "figures": str(figures), "release": str(place / "release.csv")},
            **task,
        }
        (place / "task.json").write_text(json.dumps(whole), encoding="utf-8")
        command = [*self.behind, *self._command(contestant, task, place)]
        try:  # our drivers end themselves in time, ARX must be ended
            done = subprocess.run(command, check=False, capture_output=True, timeout=SECONDS + 10)
        except subprocess.TimeoutExpired:
            return {"failed": f"not done in {SECONDS} s"}
        if figures.exists():
            found: Row = json.loads(figures.read_text(encoding="utf-8"))
            return found
        if done.returncode in (-signal.SIGALRM, 128 + signal.SIGALRM):
            return {"failed": f"not done in {SECONDS} s"}
        return {"failed": f"ended with {done.returncode}: {done.stderr.decode(errors='replace')[-200:].strip()}"}


def meet(
    bench: Bench, contest: Contest, question: Question, contestants: Sequence[Contestant], rounds: int = ROUNDS
) -> Iterator[Row]:
    """Let contestants answer a question in turns; after each run yield its row, the best of its runs so far."""
    rows: dict[str, Row] = {}
    with TemporaryDirectory() as temporary:
        for turn in range(rounds):
            for each in contestants:
                row = rows.setdefault(each.name, {"table": contest.name, "question": question.name, "tool": each.name})
                if turn and ("failed" in row or row["job"] > SLOW):
                    continue
                figures = bench.run(each, _task(contest, question, each), Path(temporary))
                if turn == 0:
                    row |= figures
                    if "failed" not in figures:
                        row |= {"runs": 0, **_read(Path(temporary) / "release.csv", contest, question)}
                if "failed" not in row and "failed" not in figures:
                    row["runs"] += 1
                    row |= {key: min(row[key], value) for key, value in figures.items() if isinstance(value, float)}
                yield row


def _task(contest: Contest, question: Question, contestant: Contestant) -> Row:
    task = {"folder": str(contest.folder), "quasi": contest.quasi, "numeric": contest.numeric, "k": K}
    task |= {"beside": contest.beside, "suppression": question.suppression}
    if contestant.ours:
        beside = "sensitive" if contestant.driver == "ringfence_audit" else "insensitive"
        task["attributes"] = {**question.attributes(contest), contest.beside: {"role": beside}}
        task["method"] = dict(contestant.method)
    return task


def _read(release: Path, contest: Contest, question: Question) -> Row:
    """Return what is read from a release, or the values that a judge found."""
    if question.name == "judging":
        return {"values": json.loads(release.read_text(encoding="utf-8"))}
    try:
        reading = read(release, contest)
    except Unreadable as error:
        return {"failed": f"its release cannot be read: {error}"}
    verdict = judge(reading, contest, question.spec(contest))
    read_off = {"glm": reading.glm, "dm": reading.dm, "gone": reading.gone, "classes": reading.classes}
    return {**read_off, "smallest": reading.smallest, "audit": verdict}
