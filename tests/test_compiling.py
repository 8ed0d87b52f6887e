"""What was compiled is kept, and is never what other sources were compiled to."""

import importlib
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core.compiler_lock import global_compiler_lock

from ringfence import compiling
from ringfence.compiling import (
    AHEAD,
    FEATURES,
    OLD,
    PROCESSOR,
    KernelCache,
    brought_kernels,
    njit,
    sources,
    timed,
    told,
)

TUPLES = """
from typing import NamedTuple
from ringfence.compiling import njit

class {name}(NamedTuple):
    number: int

@njit(cache=True)
def changed(given):
    return given.number {change}
"""
KERNEL = """
from ringfence.compiling import njit
from {package}.tuples import changed

@njit(cache=True)
def twice(given):
    return 2 * changed(given)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a kernel that is compiled from two files."""
    folder = tmp_path / "kernels_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "kernel.py").write_text(KERNEL.format(package=folder.name))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # sources here change within a second
    yield folder
    forget(folder)


def forget(package: Path) -> None:
    """Forget the package, as if another process began."""
    for name in [name for name in sys.modules if name.split(".")[0] == package.name]:
        del sys.modules[name]
    importlib.invalidate_caches()
    sources.cache_clear()


def run(package: Path, name: str, change: str) -> tuple[int, int]:
    """Return what the kernel makes of 5, and how often something was compiled for it."""
    path = package / "tuples.py"
    path.write_text(TUPLES.format(name=name, change=change))
    os.utime(path, ns=(time.time_ns(), time.time_ns()))
    forget(package)
    kernel, tuples = (importlib.import_module(f"{package.name}.{part}") for part in ("kernel", "tuples"))
    begun: list[None] = []
    with told(lambda: begun.append(None)):
        return kernel.twice(getattr(tuples, name)(5)), len(begun)


def test_what_is_imported_counts_as_the_source_and_a_tuple_may_be_renamed(package: Path) -> None:
    assert run(package, "Pair", "+ 1") == (12, 1)
    assert run(package, "Pair", "+ 1") == (12, 0)
    assert run(package, "Pair", "+ 2") == (14, 1)
    assert run(package, "Couple", "+ 2") == (14, 1)
    assert run(package, "Pair", "+ 1") == (12, 0)


def doubled(number: Any) -> Any:
    return 2 * number


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to keep things in."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def saved(cache: Any, signature: str, words: str) -> None:
    cache._impl = SimpleNamespace(
        check_cachable=lambda _: True,
        locator=SimpleNamespace(ensure_cache_path=lambda: None),
        reduce=lambda data: data.words,
    )
    cache._save_overload(signature, SimpleNamespace(codegen=CODEGEN, words=words))


CODEGEN = SimpleNamespace(magic_tuple=lambda: ("a processor",))


@pytest.mark.usefixtures("place")
def test_two_that_save_at_once_do_not_mix_their_code_up() -> None:
    slow: Any
    quick: Any
    reader: Any
    slow, quick, reader = KernelCache(doubled), KernelCache(doubled), KernelCache(doubled)
    looked, load = threading.Event(), slow._cache_file._load_index

    def slowly() -> Any:
        found = load()
        looked.set()
        time.sleep(0.3)
        return found

    slow._cache_file._load_index = slowly
    first = threading.Thread(target=saved, args=(slow, "of numbers", "code of numbers"))
    first.start()
    assert looked.wait(10)
    saved(quick, "of fractions", "code of fractions")
    first.join()
    for kind in ("numbers", "fractions"):
        assert reader._cache_file.load(reader._index_key(f"of {kind}", CODEGEN)) == f"code of {kind}"


def test_a_clock_that_stands_still_while_kernels_are_compiled_goes_on_after_it() -> None:
    """Also if it was begun with while another search's kernels were: it would else stand still for good, and a search
    that asks it for the time would never end."""
    now = [0.0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    with ExitStack() as search:
        with global_compiler_lock:
            compilations = search.enter_context(timed(lambda: now[0]))
            wait(1)
        wait(2)
        assert compilations.seconds == 0, "what had begun before does not count"
        for _ in range(2):
            with global_compiler_lock:
                wait(3)
                with global_compiler_lock:
                    wait(4)
            wait(5)
        assert compilations.seconds == 14, "and nothing counts twice"


def test_threads_that_wait_for_each_others_kernels_count_once() -> None:
    now, waiting = [0.0], threading.Event()
    done: list[float] = []

    def wait_for_the_lock() -> None:
        waiting.set()
        with global_compiler_lock:
            now[0] += 2

    other = threading.Thread(target=wait_for_the_lock)
    with timed(lambda: now[0]) as compilations:
        with global_compiler_lock:
            other.start()
            waiting.wait()
            now[0] += 1
            done.append(compilations.seconds)
        other.join()
        now[0] += 4
        done.append(compilations.seconds)
    assert done == [1, 3]


def test_what_old_sources_were_compiled_to_is_thrown_away(place: Path) -> None:
    cache = KernelCache(doubled)
    folder = Path(cache.cache_path)
    assert folder.is_relative_to(place)
    old, recent = (folder.with_name(f"{doubled.__module__}-{digest}") for digest in ("0", "1"))
    old.mkdir(parents=True)
    recent.mkdir()
    os.utime(old, (time.time() - OLD - 60,) * 2)
    saved(cache, "of numbers", "code")
    assert not old.exists()
    assert recent.exists()


def test_where_nothing_can_be_kept_kernels_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.caching.FunctionCache.__init__", nowhere)
    assert njit(cache=True)(doubled)(21) == 42


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are compiled ahead for x86-64")
def test_what_was_compiled_ahead_is_found_if_it_is_for_what_runs_here(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compiled for a kind of processor in another process, and then no longer here; of other sources it is."""
    (package / "tuples.py").write_text(TUPLES.format(name="Pair", change="+ 1"))
    code = f"from {package.name} import kernel, tuples; assert kernel.twice(tuples.Pair(5)) == 12"
    kind = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": FEATURES, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    paths = {"PYTHONPATH": os.pathsep.join([str(package.parent), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **kind, **paths})
    for compiled in (tmp_path / "kept").glob(f"*/{package.name}.*"):
        shutil.copytree(compiled, tmp_path / "brought" / AHEAD / compiled.name)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(compiling, "BROUGHT", tmp_path / "brought")
    monkeypatch.setattr(compiling, "NEEDED", ())  # whatever this processor can do, it can do this
    brought_kernels.cache_clear()
    try:
        assert run(package, "Pair", "+ 1") == (12, 0)
        assert not [*(tmp_path / "own").rglob("*.nbc")]
        assert run(package, "Pair", "+ 2") == (14, 1)
        monkeypatch.setattr(compiling, "NEEDED", ("a feature that no processor has",))
        brought_kernels.cache_clear()
        assert brought_kernels() is None
    finally:
        monkeypatch.undo()
        brought_kernels.cache_clear()
