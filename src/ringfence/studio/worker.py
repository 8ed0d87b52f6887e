"""Workers: processes of their own that do one task after the other for one project, and can be stopped or killed.

The server stays light and quick to answer: whatever reads rows, searches or audits happens here. Processes are forked
from one that has everything loaded, so that a new one is there at once.
"""

import contextlib
import multiprocessing as mp
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ringfence import errors
from ringfence.errors import EngineError, RingfenceError
from ringfence.events import Event

LOADED = "ringfence.studio.warm"
"""What new processes have loaded already."""

LOOK_EVERY = 0.25  # seconds between two looks at the memory of a worker

Told = Callable[[Any], None]


class Killed(RingfenceError):
    """Somebody ended the work: nothing of it is kept."""


class OutOfMemory(EngineError):
    """The work took more memory than a project may have."""


def context() -> Any:
    """Return how processes are started; the first call begins to load what they need."""
    if "forkserver" not in mp.get_all_start_methods():
        return mp.get_context("spawn")
    found = mp.get_context("forkserver")
    found.set_forkserver_preload([LOADED])
    return found


def warm_up() -> None:
    """Begin to load what workers need, so that the first of them does not wait for it."""
    if "forkserver" in mp.get_all_start_methods():
        context()
        from multiprocessing import forkserver

        forkserver.ensure_running()


ENDED = "the work was ended, and nothing of it is kept"


@dataclass
class Ending:
    """Whether somebody wants a task to end with the best so far, or at once."""

    stopping: bool = False
    killed: bool = False


class Worker:
    """A process that works in a folder. It is started when something is asked of it, and anew after it was killed."""

    def __init__(self, folder: Path, most_memory: int) -> None:
        self.folder, self.most_memory = folder, most_memory
        self._busy = threading.Lock()
        self._process: Any = None
        self._link: Connection | None = None
        self._stop: Any = None
        self._killed = False
        self.memory_of_all: Callable[[], int] = lambda: self.memory
        """How many bytes all workers of the same project have together."""

    def do(self, task: str, told: Told | None = None, ending: Ending | None = None, **arguments: Any) -> Any:
        """Have a task done and return what came out of it. `told` hears what the worker tells on the way.

        What goes wrong is raised as it was there; a worker that was killed, or that took too much memory, too. Whoever
        wants it to end says so in `ending` first and then by `stop` or `kill`: here it is looked at after the process
        has begun, so either they find the process, or the process finds what they said.
        """
        with self._busy:
            link = self._started()
            self._stop.clear()
            if ending is not None and ending.stopping:
                self._stop.set()
            if ending is not None and ending.killed:
                self._let_go()
                raise Killed(ENDED)
            try:
                link.send((task, arguments))
                while True:
                    while not link.poll(LOOK_EVERY):
                        self._check_memory()
                    kind, content = link.recv()
                    if kind == "told":
                        if told is not None:
                            told(content)
                    elif kind == "done":
                        return content
                    else:
                        raise _as_raised(*content)
            except (EOFError, OSError):
                self._let_go()
                if self._killed:
                    raise Killed(ENDED) from None
                raise EngineError(
                    "the process that did the work ended without a word; perhaps the machine has too little memory"
                ) from None

    def stop(self) -> None:
        """Ask a search to end with the best so far."""
        if self._stop is not None:
            self._stop.set()

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
        process = self._process
        if process is not None:
            with contextlib.suppress(ValueError):  # it has been let go of
                process.kill()

    def close(self) -> None:
        """End the process, whatever it does, and wait until it has gone."""
        self.kill()
        with self._busy:
            self._let_go()

    @property
    def memory(self) -> int:
        """How many bytes of memory the process has now."""
        process = self._process
        return 0 if process is None or process.pid is None else _resident(process.pid)

    def _started(self) -> Connection:
        if self._process is not None and self._link is not None and self._process.is_alive():
            return self._link
        self._let_go()
        start, self._killed = context(), False
        ours: Connection
        ours, theirs = start.Pipe()
        self._stop = start.Event()
        self._process = start.Process(target=work, args=(theirs, self._stop, str(self.folder)), daemon=True)
        self._process.start()
        theirs.close()
        self._link = ours
        return ours

    def _let_go(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._link is not None:
            self._link.close()
        self._process = self._link = None

    def _check_memory(self) -> None:
        if self.memory_of_all() > self.most_memory:
            self._let_go()
            raise OutOfMemory(
                f"the work took more than the {self.most_memory / 1e9:,.1f} GB of memory that a project may have, and"
                " was ended; start `ringfence studio` with a larger --memory, or take fewer rows or columns"
            )


def work(link: Connection, stop: Any, folder: str) -> None:
    """Do what is asked for, task after task, until nobody is there any more."""
    os.chdir(folder)

    def tell(content: Any) -> bool:
        link.send(("told", content))
        return bool(stop.is_set())

    desk: Any = None
    while True:
        try:
            task, arguments = link.recv()
        except EOFError:
            return
        try:
            if desk is None:
                from ringfence.studio.tasks import Desk

                desk = Desk(Path(folder), tell)
            link.send(("done", getattr(desk, task)(**arguments)))
        except RingfenceError as error:
            link.send(("failed", (type(error).__name__, str(error).replace(f"{folder}{os.sep}", ""))))
        except BrokenPipeError:
            return
        except Exception as error:
            message = f"a mistake in Ringfence, not in your input ({type(error).__name__}: {error})"
            link.send(("failed", ("Bug", message)))


class Bug(Exception):
    """A mistake of ours, in a worker."""


def _as_raised(kind: str, message: str) -> Exception:
    raised = getattr(errors, kind, None)
    if isinstance(raised, type) and issubclass(raised, RingfenceError):
        return raised(message)
    return Bug(message) if kind == "Bug" else EngineError(message)


def as_told(event: Event) -> dict[str, Any]:
    """Return an event as JSON would have it."""
    return {
        "stage": event.stage,
        "what": event.what,
        "figures": event.figures,
        "seconds": round(event.seconds, 2),
        "best": event.best,
        "bound": event.bound,
        "gap": event.gap,
    }


def _resident(pid: int) -> int:
    """Return the memory of a process in bytes; 0 where nobody can tell."""
    statm = Path(f"/proc/{pid}/statm")
    try:
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        pass
    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(told.stdout.strip() or 0) * 1024
    except (OSError, ValueError):
        return 0
