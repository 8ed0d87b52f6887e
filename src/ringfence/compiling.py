"""Kernels are compiled when they are first used, and kept on the disk for later runs; and that is told.

What is kept lies where numba keeps it (beside the code, in the user's folder of caches, or in NUMBA_CACHE_DIR), in a
folder for each module and everything that it is compiled from. Numba by itself would look only at a function's own
file, by its time: code that comes from another file would stay what it was, and a tuple that was renamed would be an
error before the file is looked at. And two processes that save at once could each name the same file in their index,
and then run the other's code; here one waits for the other.

A wheel may bring kernels that were compiled ahead, for a kind of processor that most machines have. They are found by
the same digest of their sources, and by the versions of Python, numba and llvmlite. What has none is compiled here.
"""

import fcntl
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, TypeVar, cast

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core import config, event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

from ringfence.garbage import not_searched_for

COMPILES, PREPARES = "numba:compile", "numba:compiler_lock"
"""What numba calls compiling, and that together with loading what was compiled before: one thread does it at a time."""
OLD = 7 * 24 * 3600
"""Seconds after which what other sources were compiled to is thrown away: until then, somebody may still run them."""
PROCESSOR = "x86-64-v3"
"""Of what kind a processor must be for kernels that were compiled ahead: most since 2015 are."""
NEEDED = (
    *("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf", "avx", "avx2", "bmi", "bmi2", "f16c", "fma"),
    *("lzcnt", "movbe", "xsave"),
)
FEATURES = ",".join(f"+{name}" for name in NEEDED)
"""What it can do, and how LLVM is told."""
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
AHEAD = f"{_PYTHON}-numba{numba.__version__}-llvmlite{llvmlite.__version__}-{PROCESSOR}"
"""The folder of kernels that were compiled ahead for what runs here."""
BROUGHT = Path(__file__).parent / "compiled"
"""Where an installed package has such folders, if any."""
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
        brought = brought_kernels()
        self._brought = None
        if brought is not None:
            place = brought / f"{function.__module__}-{digest}"
            self._brought = IndexDataCacheFile(str(place), self._impl.filename_base, digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what a signature was compiled to, if it was."""
        _set_up()
        return super().load_overload(sig, target_context)

    def _load_overload(self, signature: Any, target: Any) -> Any:
        """Return what a signature was compiled to here, else what was brought along, if anything."""
        found = super()._load_overload(signature, target)
        if found is not None or self._brought is None:
            return found
        _, (system, *_), code = self._index_key(signature, target.codegen())
        data = self._brought.load((signature, (system, PROCESSOR, FEATURES), code))
        return None if data is None else self._impl.rebuild(target, data)

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
def _set_up() -> None:
    """Have numba make ready all that it makes ready before it loads its first kernel."""
    with not_searched_for():
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


@cache
def brought_kernels() -> Path | None:
    """Return where the kernels are that came with the package, if they are for what runs here: the same versions, and a
    processor that can do what they need. Whoever tells numba of another processor has them compiled for it."""
    folder = BROUGHT / AHEAD
    if not folder.is_dir() or config.CPU_NAME is not None:
        return None
    can = llvm.get_host_cpu_features()
    return folder if all(can.get(name) for name in NEEDED) else None


@cache
def sources(module: str) -> str:
    """Return a digest of the source of a module and of all that it imports from its own package."""
    text = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    package = f"{module.split('.', maxsplit=1)[0]}."
    digests = [sources(name) for name in sorted({*_IMPORTED.findall(text)}) if name.startswith(package)]
    return sha256("\n".join([text, *digests]).encode()).hexdigest()[:16]


class _Compilations(event.Listener):
    """Tells when compiling begins, and how long it has taken. One kernel compiles others within, and threads wait for
    each other: what lies within something else counts once. What had begun before anybody listened does not count:
    only its end is heard, and taken for the end of something else it would leave the count wrong for good."""

    def __init__(self, begins: Callable[[], object], clock: Callable[[], float]) -> None:
        self._begins, self._clock, self._lock = begins, clock, Lock()
        self._under_way = Counter[int]()
        """How much each thread is in the middle of."""
        self._since, self._before = 0.0, 0.0

    @property
    def seconds(self) -> float:
        """How long it has taken, up to now."""
        with self._lock:
            return self._before + (self._clock() - self._since if self._under_way else 0.0)

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        with self._lock:
            is_first = not self._under_way
            self._under_way[get_ident()] += 1
            if is_first:
                self._since = self._clock()
        if is_first:
            self._begins()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        thread = get_ident()
        with self._lock:
            if thread not in self._under_way:
                return
            self._under_way[thread] -= 1
            if self._under_way[thread] == 0:
                del self._under_way[thread]
            if not self._under_way:
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
