"""What a run shows while one waits: its stages, how long they take, how far it is, and what is best so far.

On a terminal, or in a notebook, nothing is shown of work that takes less than a second, and nothing is left of it
afterwards. Where there is neither, as in the log of a job, a search that goes on for long says so in a line now and
then.
"""

import io
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from ringfence.events import Event

QUIET = 1.0  # seconds in which nothing is shown
PATIENCE = 20.0
"""After so many seconds of a search that has an answer, it is said how to stop; in a log again after twice as many, and
so on."""


class Display:
    """A listener that shows what it is told.

    `stopping` is what it answers: whether a search that has an answer is to stop.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.current: Event | None = None
        self._began = self._since = self._improved = time.monotonic()
        self._done: list[tuple[str, float]] = []
        self._first: float | None = None
        self._spinner = Spinner("dots")

    def __call__(self, event: Event) -> bool:
        now, before = time.monotonic(), self.current
        if before is None or event.stage != before.stage:
            if before is not None:
                self._done.append((before.what, now - self._since))
            self._since = self._improved = now
            self._first = None
        elif event.best != before.best:
            self._improved = now
        self.current = event
        self._first = event.best if self._first is None else self._first
        return self.stopping

    @property
    def has_answer(self) -> bool:
        """Whether a search is going on that has an answer already."""
        return self.current is not None and self.current.stage == "search" and self.current.best is not None

    def __rich__(self) -> RenderableType:
        now = time.monotonic()
        if now - self._began < QUIET or self.current is None:
            return ""
        stages = Table.grid(padding=(0, 2))
        for what, seconds in self._done:
            stages.add_row("[green]✓[/green]", what, f"{seconds:.1f} s")
        stages.add_row(self._spinner, f"[bold]{self.current.what}[/bold]", f"{now - self._since:.1f} s")
        lines: list[RenderableType] = [stages]
        if self.current.figures:
            lines.append(f"   {self.current.figures}")
        if self.has_answer and now - self._since > PATIENCE:
            lines.append(f"   [dim]{self._standing(now)} {self._how_to_stop()}[/dim]")
        return Group(*lines)

    def _standing(self, now: float) -> str:
        """Return how the best has moved."""
        best = self.current.best if self.current is not None else None
        gained = 1 - best / self._first if best is not None and self._first else 0.0
        below = f", {gained:.1%} below the first one" if gained > 0 else ""
        return f"the best so far is {now - self._improved:.0f} s old{below}."

    def _how_to_stop(self) -> str:
        if self.stopping:
            return "It is being taken; Ctrl-C once more keeps nothing."
        return "Ctrl-C takes it; Ctrl-C twice keeps nothing; method.time_limit sets a limit."


class Log(Display):
    """Writes a line about a search that goes on for long: where it stands, how the best has moved, and how to stop."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console, self._wait = console, PATIENCE

    def __call__(self, event: Event) -> bool:
        stops = super().__call__(event)
        now = time.monotonic()
        if self.has_answer and not stops and now - self._since > self._wait:
            self._wait = 2 * (now - self._since)
            where = f"{event.what} for {now - self._since:.0f} s: {event.figures}; {self._standing(now)}"
            self._console.print(f"{where} {self._how_to_stop()}", markup=False, highlight=False, soft_wrap=True)
        return stops


@contextmanager
def shown(console: Console | None = None) -> Iterator[Display]:
    """Show what a run is busy with as long as the context lasts; see `api.progress`."""
    console = console or Console(stderr=True)
    display = Display() if console.is_jupyter or console.is_terminal else Log(console)
    view: AbstractContextManager[object]
    if console.is_jupyter:
        view = _under_the_cell(display)
    elif isinstance(display, Log):
        view = nullcontext()
    else:
        view = Live(display, console=console, refresh_per_second=8, transient=True)
    with _stoppable(display), view:
        yield display


@contextmanager
def _under_the_cell(display: Display) -> Iterator[None]:
    """Show it in a notebook by what each has: rich would ask for packages that few have, and show nothing without."""
    from IPython.display import HTML
    from IPython.display import display as put

    place, over = put(HTML(""), display_id=True), threading.Event()

    def refresh() -> None:
        while not over.wait(0.25):
            place.update(HTML(_as_html(display)))

    thread = threading.Thread(target=refresh, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        place.update(HTML(""))


def _as_html(display: Display) -> str:
    paper = Console(file=io.StringIO(), width=100, record=True, force_jupyter=False)
    paper.print(display)
    return paper.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


@contextmanager
def _stoppable(display: Display) -> Iterator[None]:
    """Let the first Ctrl-C ask for the best so far, where there is one."""
    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield
        return

    def interrupted(number: int, frame: Any) -> None:  # noqa: ARG001
        if display.stopping or not display.has_answer:
            raise KeyboardInterrupt
        display.stopping = True

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
