"""Runs that are killed: a program that forks run after run, kills each somewhere, and looks at what is left.

    python tests/killed.py FOLDER steps|first|files|random TIMES ...
    python tests/killed.py FOLDER database TIMES ADDRESS

What is wrong is printed, line by line; after each way to kill, how many were killed. It is a program of its own because
the parent must be warm, so that a run takes a moment, and must not have threads.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import ringfence as rf
from ringfence import api
from ringfence.release.folder import Version, new_version
from ringfence.rows import staging
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_databases import close_idle

EVERY = 4
"""After so many kills at steps, a whole run is left in peace; else, what the next one begins with."""
STEPS = ("replace", "rename", "symlink", "fsync", "mkdir", "unlink", "rmdir", "open")
"""What a run asks the system for that changes something, or is about to."""
OLD, NEW = 2, 3


def spec(folder: Path, k: int) -> rf.Spec:
    """A specification that tells by its k which run a release is of."""
    return rf.Spec(
        data={"source": "people.csv"},
        attributes={"q": {"role": "quasi", "hierarchy": "flat"}, "s": {"role": "insensitive"}},
        privacy={"k": k},
        method={"name": "levels", "levels": {"q": 0}, "suppression": 1},
    ).at(folder)


def run(folder: Path, k: int) -> None:
    """Publish once."""
    api.run(spec(folder, k), folder / "out", report=False)


def die_at(step: int) -> None:
    """Have this process killed just before so many steps of publishing are done."""
    left = [step]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)

        return mortal

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    written = counted(io.open)
    io.open = lambda file, mode="r", *rest, **named: (written if "w" in mode else open)(file, mode, *rest, **named)  # type: ignore[assignment]
    DuckDB.write = counted(DuckDB.write)  # type: ignore[method-assign]


def forked(work: Callable[[], None], *, after: float | None = None) -> bool:
    """Do something in a process of its own, killed after some seconds if need be; whether it came to its end."""
    close_idle()  # it has threads
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"a run failed: {type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == 0


def shown(folder: Path) -> Iterator[str]:
    """What is wrong with what a folder shows after a kill."""
    public = folder / "out/public"
    try:
        manifest = json.loads((public / "manifest.json").read_text())
        rows = (public / "release.csv").read_bytes()
    except FileNotFoundError as error:
        yield f"the release is gone: {error}"
        return
    if hashlib.sha256(rows).hexdigest() != manifest["release"]["sha256"]:
        yield "the release is not the one of its manifest"
    if manifest["spec"]["privacy"] not in ({"k": OLD}, {"k": NEW}) or not (folder / "out/private/log.txt").exists():
        yield "neither the old release nor the new one"


def other_k(folder: Path) -> int:
    """The k of the release that a folder does not show."""
    manifest = folder / "out/public/manifest.json"
    shows_new = manifest.exists() and json.loads(manifest.read_text())["spec"]["privacy"] == {"k": NEW}
    return OLD if shows_new else NEW


def names_in(folder: Path) -> set[str]:
    """What lies in a folder."""
    return {path.name for path in folder.iterdir()}


def left(folder: Path) -> Iterator[str]:
    """What is left beside the one release after a run that was not disturbed."""
    house = folder / "out/.ringfence"
    expected = {
        house: {"current", "lock", (house / "current").readlink().name},
        folder / "out": {"public", "private", ".ringfence"},
        Path.cwd(): set(),
        Path(tempfile.gettempdir()): set(),
    }
    for place, names in expected.items():
        if names_in(place) != names:
            yield f"left in {place}: {names_in(place) - names}"


def sweep(folder: Path) -> None:
    """Begin a run, which sweeps what dead ones have left, and let it be."""
    with new_version(folder / "out"), staging.spilling():
        pass


def after_a_kill(folder: Path, when: str, work: Callable[[], None], *, first: bool = False) -> None:
    """Look at what a kill has left, publish again, or begin to, and look again."""
    public = folder / "out/public/release.csv"
    wrong = [] if first and not public.exists() else [*shown(folder)]
    if not forked(work):
        wrong.append("the next run failed")
    for line in [*wrong, *shown(folder), *left(folder)]:
        print(f"killed {when}: {line}", flush=True)


def at_every_step(folder: Path, every: int, *, first: bool) -> int:
    """Kill a run at every so many steps; return how many there were."""
    step = 0
    while True:
        if first:
            shutil.rmtree(folder / "out", ignore_errors=True)

        def work(step: int = step, k: int = other_k(folder)) -> None:
            die_at(step)
            run(folder, k)

        if forked(work):
            for line in [*shown(folder), *left(folder)]:
                print(f"not killed at all: {line}", flush=True)
            return step // every
        whole = first or step % EVERY == 0
        after_a_kill(
            folder, f"before step {step}", partial(run, folder, OLD) if whole else partial(sweep, folder), first=first
        )
        step += every


def at_random(folder: Path, times: int) -> int:
    """Kill runs at random moments."""
    started = time.monotonic()
    forked(lambda: run(folder, NEW))
    duration = time.monotonic() - started
    for _ in range(times):
        moment = random.uniform(0, duration)
        forked(lambda: run(folder, NEW), after=moment)
        after_a_kill(folder, f"after {moment:.4f} s", partial(run, folder, OLD))
    return times


def while_files_are_written(folder: Path) -> int:
    """Kill the writing of two files at every step: each is the old one or the new one, and nothing is left."""
    step = 0
    out = folder / "files"
    staging.write_files(out, {"a": b"old", "b": b"old"})
    while True:

        def work(step: int = step) -> None:
            die_at(step)
            staging.write_files(out, {"a": b"new", "b": b"new"})

        ended = forked(work)
        if {(out / name).read_bytes() for name in ("a", "b")} - {b"old", b"new"}:
            print(f"killed before step {step}: a file is neither old nor new")
        staging.write_files(out, {"a": b"old", "b": b"old"})
        if names_in(out) != {"a", "b"}:
            print(f"killed before step {step}: left are {names_in(out)}")
        if ended:
            return step
        step += 1


def in_a_database(folder: Path, times: int, address: str) -> int:
    """Kill runs from table to table at random moments, and look at what the database has after each."""
    import psycopg

    def run_there() -> None:
        whole = rf.Spec(
            data={"source": address, "query": "SELECT 'q' || i % 3 AS q, i AS s FROM generate_series(1, 3000) AS i"},
            attributes={"q": {"role": "quasi", "hierarchy": "flat"}, "s": {"role": "insensitive"}},
            privacy={"k": 2},
            output={"to": address, "table": "killed.released"},
        )
        api.run(whole, folder / "out", report=False)

    def killed_in_between() -> None:
        Version.publish = lambda self: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]  # noqa: ARG005
        run_there()

    with psycopg.connect(address, autocommit=True) as watching:
        watching.execute("DROP SCHEMA IF EXISTS killed CASCADE")
        watching.execute("CREATE SCHEMA killed")
    run_there()
    started = time.monotonic()
    forked(run_there)
    duration = time.monotonic() - started
    public = folder / "out/public/manifest.json"

    def manifest_is_wrong() -> bool:
        """Whether an audit tells that the table is not the one that the run's manifest speaks of."""
        judged = rf.audit(f"{address}#killed.released", rf.Spec.load(folder / "out/private/spec.toml"))
        return any("is not the release that its manifest speaks of" in each.message for each in judged.findings)

    before = public.read_bytes()
    forked(killed_in_between)
    if public.read_bytes() != before or not manifest_is_wrong():
        print("killed between table and folder: nobody notices", flush=True)
    if not forked(run_there) or public.read_bytes() == before or manifest_is_wrong():
        print("killed between table and folder: the next run did not mend it", flush=True)
    for _ in range(times):
        moment = random.uniform(0, duration)
        forked(run_there, after=moment)
        with psycopg.connect(address) as watching:
            tables = watching.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'killed'").fetchall()
            rows = watching.execute("SELECT count(*), count(DISTINCT s) FROM killed.released").fetchone()
        if tables != [("released",)] or rows != (3000, 3000):
            print(f"killed after {moment:.4f} s: {tables}, {rows}", flush=True)
    if not forked(run_there):
        print("the next run failed", flush=True)
    with psycopg.connect(address, autocommit=True) as watching:
        watching.execute("DROP SCHEMA killed CASCADE")
    return times


def main(folder: Path, *ways: str) -> None:
    """Kill in one way after the other, look, and say how often."""
    if ways[0] == "database":
        print(json.dumps({"killed": in_a_database(folder, int(ways[1]), ways[2])}))
        return
    (folder / "people.csv").write_text("q,s\n" + "".join(f"{'abc'[i % 3]},{i}\n" for i in range(12)) + "z,99\n")
    with contextlib.suppress(FileExistsError):
        (folder / "cwd").mkdir()
    os.chdir(folder / "cwd")
    for what, times in zip(ways[::2], map(int, ways[1::2]), strict=True):
        run(folder, OLD)
        match what:
            case "steps" | "first":
                done = at_every_step(folder, times, first=what == "first")
            case "files":
                done = while_files_are_written(folder)
            case _:
                done = at_random(folder, times)
        print(json.dumps({"way": what, "killed": done}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
