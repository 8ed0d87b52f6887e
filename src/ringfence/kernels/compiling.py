"""Compiling, told: kernels are compiled when they are first used, and kept on the disk for later runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from numba.core import event


class _Compilations(event.Listener):
    """Tells when compiling begins. One kernel compiles others within, so only the outermost counts."""

    def __init__(self, begins: Callable[[], object]) -> None:
        self._begins, self._depth, self._since = begins, 0, 0.0
        self.seconds = 0.0

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self._depth == 0:
            self._since = monotonic()
            self._begins()
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0:
            self.seconds += monotonic() - self._since


@contextmanager
def told(begins: Callable[[], object]) -> Iterator[_Compilations]:
    """Call `begins` whenever kernels must be compiled first. What is on the disk from earlier runs is not compiled."""
    compilations = _Compilations(begins)
    with event.install_listener("numba:compile", compilations):
        yield compilations
