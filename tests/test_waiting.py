"""What one sees while a run is at work: events, the display on a terminal, and what an interruption keeps."""

import io
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numba
import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import ringfence as rf
from ringfence.compiling import told
from ringfence.display import Display, shown
from ringfence.search.progress import Watch

ENDLESS = """
[data]
source = "crowd.csv"
[privacy]
k = 3
[method]
scheme = "set"
metric = "glm"
suppression = 0.1
"""


def crowd() -> pa.Table:
    """A table in which no search for the best sets of values ends soon."""
    random = np.random.default_rng(7)
    return pa.table({f"q{place}": (random.geometric(0.2, 2000) % 14).astype(str) for place in range(6)})


def endless() -> rf.Spec:
    attributes = {f"q{place}": {"role": "quasi"} for place in range(6)}
    method = {"scheme": "set", "metric": "glm", "suppression": 0.1}
    return rf.Spec(attributes=attributes, privacy={"k": 3}, method=method)


def test_events_tell_the_stages_and_how_far_a_search_is() -> None:
    events: list[rf.Event] = []
    spec = endless().model_copy(update={"method": endless().method.model_copy(update={"time_limit": 0.8})})
    release = rf.anonymize(crowd(), spec, listener=events.append)
    stages = list(dict.fromkeys(event.stage for event in events if event.stage != "compile"))
    assert stages == ["count", "search", "rewrite", "audit"]
    assert [event.seconds for event in events] == sorted(event.seconds for event in events)
    judged = [event for event in events if event.best is not None]
    assert judged
    assert all(event.done is not None and event.unit == "recodings judged" for event in judged)
    assert judged[-1].best is not None
    assert release.search is not None
    assert judged[-1].best >= release.search.cost - 1e-9


def test_a_listener_can_ask_for_the_best_so_far() -> None:
    release = rf.anonymize(crowd(), endless(), listener=lambda event: event.best is not None)
    assert release.audit.ok
    assert release.search is not None
    assert not release.search.optimal


@pytest.mark.parametrize("metric", ["glm", "dm"])
@pytest.mark.parametrize("stop", [None, 1, 5, 40])
def test_the_best_so_far_never_rises_and_is_what_an_interruption_takes(metric: str, stop: int | None) -> None:
    """A set is climbed to over simpler schemes, each of which has a best of its own."""
    random = np.random.default_rng(3)
    days = np.datetime64("2020-01-01") + random.integers(0, 900, 600)
    table = pa.table({
        "born": days.astype(str).tolist(), "cost": np.round(random.lognormal(6, 1, 600), 2),
        "sex": random.choice(["f", "m"], 600), "zip": random.choice(["10115", "10117", "20095", "20097"], 600),
    })  # fmt: skip
    spec = rf.Spec(
        attributes={
            "born": {"role": "quasi", "format": "iso", "hierarchy": {"dates": ["month", "year"]}},
            "cost": {"role": "quasi", "hierarchy": {"intervals": [500, 2000, 8000]}},
            "sex": {"role": "quasi", "hierarchy": "flat"},
            "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
        },
        privacy={"k": 5},
        method={"scheme": "set", "suppression": 0.05, "metric": metric, "time_limit": 2},
    )
    told: list[float] = []

    def listener(event: rf.Event) -> bool:
        told.extend([] if event.best is None else [event.best])
        return stop is not None and len(told) >= stop

    with patch("ringfence.search.progress.REPORT_EVERY", -1):
        release = rf.anonymize(table, spec, listener=listener)
    assert len(told) >= (stop or 100)
    assert told == sorted(told, reverse=True)
    assert release.search is not None
    assert release.search.cost <= told[(stop or 0) - 1] * (1 + 1e-9)


def test_what_is_compiled_is_told_and_is_no_part_of_a_search() -> None:
    now = [100.0]

    def compiling_takes_five_seconds() -> None:
        now[0] += 5

    doubled = numba.njit(lambda number: 2 * number)
    watch = Watch(1.0, clock=lambda: now[0], nodes=1)
    part = watch.part()
    with told(compiling_takes_five_seconds), watch.compiling_apart():
        assert doubled(2) == 4
        assert (watch.compiled, watch.seconds, part.seconds) == (5, 0, 0)
        assert not watch.expired()
        assert doubled(3) == 6  # what is there is not compiled
        now[0] += 2
        assert (watch.compiled, watch.seconds) == (5, 2)
        assert watch.expired()
        assert part.expired() is False  # it has judged nothing
    assert (watch.compiled, watch.seconds) == (5, 2)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (rf.Event("count", 1, "counting the rows"), "counting the rows"),
        (rf.Event("search", 1, "searching", 1200, 3000, "groups"), "searching: 1,200 of 3,000 groups"),
        (rf.Event("search", 1, "searching", 7, None, "cuts", 0.5), "searching: 7 cuts, best 0.5"),
        (rf.Event("search", 1, "searching", 7, None, "cuts", 0.5, 0.0), "searching: 7 cuts, best 0.5"),
        (
            rf.Event("search", 1, "searching", 7, None, "cuts", 0.0, 0.1),
            "searching: 7 cuts, best 0, at least 0.1, gap 0.0%",
        ),
    ],
)
def test_an_event_in_words(event: rf.Event, words: str) -> None:
    assert str(event) == words


def test_the_display_shows_stages_figures_and_how_to_stop() -> None:
    display = Display()
    screen = Console(file=io.StringIO(), width=120)
    with patch("ringfence.display.QUIET", 0.0), patch("ringfence.display.PATIENCE", -1.0):
        display(rf.Event("count", 0.1, "counting the rows"))
        display(rf.Event("search", 0.2, "searching", 10, None, "recodings judged", 0.5, 0.25))
        screen.print(display)
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    for words in (
        "✓",
        "counting the rows",
        "10 recodings judged, best 0.5, at least 0.25, gap 50.0%",
        "Ctrl-C takes it",
    ):
        assert words in text


def test_a_long_search_says_how_old_its_best_is_and_how_to_stop() -> None:
    """Only once it has gone on for long, and has an answer; then by when the best has last moved."""
    display, clock = Display(), [0.0]
    display._began = display._since = display._improved = 0.0

    def told(seconds: float, best: float | None) -> str:
        clock[0] = seconds
        display(rf.Event("search", seconds, "searching", 10, None, "recodings judged", best, 0.1))
        screen = Console(file=io.StringIO(), width=150)
        screen.print(display)
        assert isinstance(screen.file, io.StringIO)
        return screen.file.getvalue()

    with patch("ringfence.display.time.monotonic", lambda: clock[0]):
        assert "Ctrl-C" not in told(2, 0.5)
        assert "Ctrl-C" not in told(19, 0.5)
        assert "best 0.4, at least 0.1, gap 75.0%" in told(30, 0.4)
        text = told(75, 0.4)
        assert "the best so far is 45 s old, 20.0% below the first one. Ctrl-C takes it" in text
        assert "method.time_limit sets a limit" in text
        assert "the best so far is 0 s old" in told(80, 0.3)
        display.stopping = True
        assert "It is being taken; Ctrl-C once more keeps nothing." in told(90, 0.3)
        assert "Ctrl-C" not in told(95, None)


def test_a_log_is_told_of_a_long_search_ever_less_often() -> None:
    """Where there is no terminal: what a search without a limit has found, how that has moved, and how to stop it."""
    paper, clock = io.StringIO(), [0.0]
    with patch("ringfence.display.time.monotonic", lambda: clock[0]), shown(Console(file=paper)) as listener:
        for second in range(100):
            clock[0] = float(second)
            best = None if second < 5 else 0.5 if second < 30 else 0.4
            listener(rf.Event("search", second, "searching", 10, None, "recodings judged", best, 0.1))
    lines = paper.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == [f"searching for {when} s" for when in (21, 43, 87)]
    assert "best 0.5, at least 0.1, gap 80.0%; the best so far is 16 s old. Ctrl-C takes it" in lines[0]
    assert "best 0.4, at least 0.1, gap 75.0%; the best so far is 57 s old, 20.0% below the first one." in lines[2]
    assert "method.time_limit sets a limit" in lines[2]


def test_nothing_is_shown_of_short_work() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with shown(screen) as listener:
        listener(rf.Event("count", 0.1, "counting the rows"))
    assert isinstance(screen.file, io.StringIO)
    assert "counting" not in screen.file.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow.csv

    pyarrow.csv.write_csv(crowd(), tmp_path / "crowd.csv")
    attributes = "".join(f'[attributes.q{place}]\nrole = "quasi"\n' for place in range(6))
    (tmp_path / "endless.toml").write_text(ENDLESS + attributes)
    quick = ENDLESS.replace('scheme = "set"', 'scheme = "set"\ntime_limit = 0.2')
    (tmp_path / "quick.toml").write_text(quick + attributes)
    return tmp_path


class Terminal:
    """The command line on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ringfence", *arguments],
            cwd=folder, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "COLUMNS": "160", "TERM": "xterm"},
        )  # fmt: skip
        os.close(slave)
        self.said = ""

    def parts(self) -> Iterator[str]:
        """Yield what is said, as it is said."""
        while True:
            try:
                part = os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody has the other end any more
                return
            self.said += part
            yield part

    def interrupt_at(self, words: str) -> None:
        """Press Ctrl-C when these words have appeared."""
        for _ in self.parts():
            if words in self.said:
                self.process.send_signal(signal.SIGINT)
                return
        raise AssertionError(f"{words!r} was not said: {self.said}")

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        for _ in self.parts():
            pass
        os.close(self.master)
        return self.process.wait(60)


def test_ctrl_c_takes_the_best_so_far(folder: Path) -> None:
    terminal = Terminal(folder, "run", "endless.toml", "-o", "out", "--no-report")
    terminal.interrupt_at("best")
    assert terminal.end() == 0, terminal.said
    assert "The promise holds." in terminal.said
    assert "search: the best that was found" in terminal.said or "not proven optimal" in terminal.said
    assert (folder / "out" / "public" / "release.csv").exists()


def test_ctrl_c_twice_keeps_what_was_there(folder: Path) -> None:
    rf.run(rf.Spec.load(folder / "quick.toml"), folder / "out", report=False)
    kept = (folder / "out" / "public" / "release.csv").read_bytes()
    terminal = Terminal(folder, "run", "endless.toml", "-o", "out", "--no-report")
    terminal.interrupt_at("best")
    time.sleep(0.01)  # two that are pending are one
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130, terminal.said
    assert "the release that was there is in 'out', whole, as it was" in terminal.said
    assert (folder / "out" / "public" / "release.csv").read_bytes() == kept


def test_the_version_is_told() -> None:
    told = subprocess.run([sys.executable, "-m", "ringfence", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"ringfence {rf.__version__}\n"
