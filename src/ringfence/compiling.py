"""Kernels are compiled when they are first used, and kept on the disk for later runs; and that is told.

What is kept lies where numba keeps it (beside the code, in the user's folder of caches, or in NUMBA_CACHE_DIR), in a
folder for each module and everything that it is compiled from. Numba by itself would look only at a function's own
file, by its time: code that comes from another file would stay what it was, and a tuple that was renamed would be an
error before the file is looked at. And two processes that save at once could each name the same file in their index,
and then run the other's code; here one waits for the other.
"""

import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

COMPILES, PREPARES = "numba:compile", "numba:compiler_lock"
"""What numba calls compiling, and that together with loading what was compiled before: one thread does it at a time."""
OLD = 7 * 24 * 3600
"""Seconds after which what other sources were compiled to is thrown away: until then, somebody may still run them."""
Result = TypeVar("Result")
_IMPORTED = re.compile(r"^from ([\w.]+) import", re.MULTILINE)


def njit(**options: Any) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Compile a function as numba's `njit` does, but with `cache` keep it as said above, if it can be kept anywhere."""
    kept = options.pop("cache", False)

    def compiled(function: Callable[..., Result]) -> Callable[..., Result]:
        dispatcher: Any = numba.njit(**options)(function)
        if kept:
            with suppress(RuntimeError):  # there is no folder to write to: it is compiled in every run
                dispatcher._cache = KernelCache(function)
        return cast(Callable[..., Result], dispatcher)

    return compiled


class KernelCache(FunctionCache):
    """What a function was compiled to, kept apart by the sources of everything that it is compiled from."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        digest = sources(function.__module__)
        self._family = Path(self._cache_path), f"{function.__module__}-"
        self._cache_path = os.path.join(self._cache_path, f"{function.__module__}-{digest}")  # noqa: PTH118
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, digest)

    def _save_overload(self, signature: Any, data: Any) -> None:
        folder = Path(self._cache_path)
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._throw_old_away()
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            super()._save_overload(signature, data)

    def _throw_old_away(self) -> None:
        place, begin = self._family
        for other in place.glob(f"{begin}*"):
            with suppress(FileNotFoundError):  # somebody else has thrown it away
                if time.time() - other.stat().st_mtime > OLD:
                    shutil.rmtree(other, ignore_errors=True)


@cache
def sources(module: str) -> str:
    """Return a digest of the source of a module and of all that it imports from its own package."""
    text = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    package = f"{module.split('.', maxsplit=1)[0]}."
    digests = [sources(name) for name in sorted({*_IMPORTED.findall(text)}) if name.startswith(package)]
    return sha256("\n".join([text, *digests]).encode()).hexdigest()[:16]


class _Compilations(event.Listener):
    """Tells when compiling begins, and how long it has taken. One kernel compiles others within, and threads wait for
    each other: what lies within something else counts once."""

    def __init__(self, begins: Callable[[], object], clock: Callable[[], float]) -> None:
        self._begins, self._clock, self._lock = begins, clock, Lock()
        self._depth, self._since, self._before = 0, 0.0, 0.0

    @property
    def seconds(self) -> float:
        """How long it has taken, up to now."""
        with self._lock:
            return self._before + (self._clock() - self._since if self._depth else 0.0)

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._since = self._clock()
        self._begins()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._before += self._clock() - self._since


@contextmanager
def told(begins: Callable[[], object]) -> Iterator[None]:
    """Call `begins` whenever kernels must be compiled first. What is on the disk from earlier runs is not compiled."""
    with event.install_listener(COMPILES, _Compilations(begins, time.monotonic)):
        yield


@contextmanager
def timed(clock: Callable[[], float] = time.monotonic) -> Iterator[_Compilations]:
    """Yield how many `seconds` of a clock are taken by compiling kernels, or by loading them."""
    compilations = _Compilations(lambda: None, clock)
    with event.install_listener(PREPARES, compilations):
        yield compilations
