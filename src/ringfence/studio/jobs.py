"""Jobs: long work in a process of its own. Whoever looks, now or later, sees how far it is."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any, Literal, TypeAlias

from ringfence.errors import RingfenceError
from ringfence.studio.worker import Bug, Ending, Killed, Worker

State: TypeAlias = Literal["running", "done", "failed", "killed"]

MOST_KEPT = 400
"""So many events of a search are kept, to draw how its best went down; then every other of them is forgotten."""


@dataclass(eq=False)
class Work:
    """One piece of long work: its stages, the best so far, and in the end its result or what went wrong.

    `parts` are results that come one by one, on the way to the whole.
    """

    kind: str
    worker: Worker
    is_own: bool
    """Whether the worker is there for this job alone."""
    id: str = field(default_factory=lambda: token_urlsafe(9))
    state: State = "running"
    ending: Ending = field(default_factory=Ending)
    stages: list[dict[str, Any]] = field(default_factory=list)
    course: list[tuple[float, float, float | None]] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)
    result: Any = None
    error: dict[str, str] | None = None
    version: int = 0
    """Goes up with everything that happens."""
    _began: float = field(default_factory=time.monotonic)
    _ended: float | None = None

    def start(self, task: str, finish: Callable[[Any], Any], **arguments: Any) -> "Work":
        """Begin. `finish` is given what came out, in the same thread, and returns what is to be shown of it."""
        threading.Thread(target=self._work, args=(task, finish, arguments), daemon=True).start()
        return self

    def _work(self, task: str, finish: Callable[[Any], Any], arguments: dict[str, Any]) -> None:
        try:
            self.result = finish(self.worker.do(task, self._told, self.ending, **arguments))
            state: State = "done"
        except Killed as error:
            state, self.error = "killed", {"kind": "Killed", "message": str(error)}
        except (RingfenceError, Bug) as error:
            state, self.error = "failed", {"kind": type(error).__name__, "message": str(error)}
        except Exception as error:  # whatever it is, somebody waits to be told
            message = f"a mistake in Ringfence, not in your input ({type(error).__name__}: {error})"
            state, self.error = "failed", {"kind": "Bug", "message": message}
        if self.is_own:
            self.worker.close()
        self._ended = time.monotonic()
        self.state = state
        self.version += 1

    def _told(self, content: dict[str, Any]) -> None:
        if "part" in content:
            self.parts.append(content["part"])
        event = content.get("event")
        if event is not None:
            if not self.stages or self.stages[-1]["stage"] != event["stage"]:
                self.stages.append({})
            since = self.stages[-1].get("since", event["seconds"])
            self.stages[-1] = {**event, "since": since}
            if event["best"] is not None:
                self.course.append((event["seconds"], event["best"], event["bound"]))
                if len(self.course) > MOST_KEPT:
                    del self.course[1:-1:2]
        self.version += 1

    def stop(self) -> None:
        """Ask for the best so far."""
        self.ending.stopping = True
        self.version += 1
        self.worker.stop()

    def kill(self) -> None:
        """End it at once; nothing is kept."""
        self.ending.killed = True
        self.worker.kill()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.state != "running"

    def as_dict(self) -> dict[str, Any]:
        """Return the job as JSON would have it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "stopping": self.ending.stopping,
            "seconds": round((self._ended or time.monotonic()) - self._began, 2),
            "stages": list(self.stages),
            "course": list(self.course),
            "parts": list(self.parts),
            "result": self.result,
            "error": self.error,
            "version": self.version,
        }
