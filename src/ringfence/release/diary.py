"""The diary of a run: what happened when, kept for the log and told to whoever listens."""

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from ringfence.events import Event, Listener, Stage
from ringfence.spec import Spec

if TYPE_CHECKING:
    from ringfence.search.progress import Each, Watch


class Diary:
    """Keeps what happened when, and passes it on."""

    def __init__(self, listener: Listener | None = None, lines: Iterable[str] = ()) -> None:
        self.lines = [*lines]
        self._listener = listener
        self._started = time.monotonic()
        self._telling = Lock()

    def __call__(self, stage: Stage, what: str) -> None:
        self._keep(what)
        self.tell(Event(stage, 0, what))

    def _keep(self, what: str) -> None:
        now = dt.datetime.now().astimezone().isoformat(timespec="milliseconds")
        self.lines.append(f"{now} {what}")

    def tell(self, event: Event) -> object:
        """Pass an event on without keeping it, with the time since the run began; return what the listener says.

        Threads take turns: a listener hears one event at a time.
        """
        if self._listener is None:
            return None
        with self._telling:
            return self._listener(replace(event, seconds=time.monotonic() - self._started))

    def told(self, event: Event, candidate: Mapping[str, object]) -> object:
        """Keep and pass on what came of a candidate, where releases are compared; return what the listener says."""
        self._keep(event.what)
        return self.tell(replace(event, candidate=candidate))

    @contextmanager
    def searching(self, spec: Spec, each: "Each | None" = None) -> "Iterator[Watch]":
        """Yield what a search is watched by; tell also when it has to be compiled first. `each` does parts of it."""
        from ringfence.compiling import told
        from ringfence.search.progress import Watch, one_by_one

        compiling = Event("compile", 0, "compiling for the first use; this is kept, and takes its time only once")
        watch = Watch(spec.method.time_limit, self.tell, each=each or one_by_one)
        with told(lambda: self.tell(compiling)), watch.compiling_apart():
            yield watch
