"""A folder of Parquet files as the place of a release: filled elsewhere, audited there, and put in place in one step.

What a reader opens is a link, and what it leads to changes when another link is renamed:

    released                       -> .released.ringfence/current/release      made once
    .released.ringfence/current    -> version-5c0f...                          replaced: this is the one step

Whoever is killed leaves the earlier version or the new one in place, and the next to come sweeps the rest.
"""

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

import ibis

from ringfence.errors import EngineError
from ringfence.rows.engine import Engine
from ringfence.rows.staging import LOCK, locked, naming, sync
from ringfence.spec.data import Data

RELEASE, CURRENT, NEXT = "release", "current", "next"
NOTE = "_RINGFENCE"
"""The file that says which release a folder is; readers pass over what begins with an underscore."""


def note_at(address: str, engine: Engine) -> str | None:  # noqa: ARG001
    """Return the note of the release in a folder."""
    with contextlib.suppress(OSError):
        return (Path(address) / NOTE).read_text(encoding="utf-8")
    return None


class ParquetFolder:
    """Where a release goes: a folder of Parquet files and, for the second of two tables, one beside it."""

    def __init__(self, path: Path, engine: Engine, data: Data, partition_by: Sequence[str]) -> None:
        self.address = str(path)
        self._path, self._engine, self._data, self._partition_by = path, engine, data, partition_by
        self._house = path.with_name(f".{path.name}.ringfence")
        self._version = self._house / f"version-{token_hex(8)}"
        self._staged: list[str] = []

    def __enter__(self) -> "ParquetFolder":
        with naming(self._path):
            self._refuse_taken("")
            self._house.mkdir(parents=True, exist_ok=True)
            lock = locked(self._house / LOCK, make=True)
            if lock is None:
                raise EngineError(
                    f"cannot write to {self.address!r}: another run is writing there; wait until it has ended, or name"
                    " another folder"
                )
            self._lock = lock
            self._sweep()
            self._version.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # the next to come tries again
            self._sweep()
            if not os.path.lexists(self._house / CURRENT):
                for beside in self._staged:
                    self._link(beside).unlink(missing_ok=True)
                (self._house / LOCK).unlink()
                self._house.rmdir()
        os.close(self._lock)

    @property
    def published(self) -> dict[str, dict[str, str]]:
        """The names of the folders, without the way to them."""
        return {beside[1:] or RELEASE: {"folder": self._link(beside).name} for beside in self._staged}

    def stage(self, rows: ibis.Table, beside: str = "") -> None:
        """Carry an expression out into files that nobody takes for a release."""
        self._refuse_taken(beside)
        folder = self._version / f"{RELEASE}{beside}"
        self._engine.write_folder(rows, folder, self._data, () if beside else self._partition_by)
        self._staged.append(beside)

    def open(self, scratch: Path, data: Data, beside: str = "") -> ibis.Table:  # noqa: ARG002
        """Return the rows of what was staged, as they stand."""
        return self._engine.open(self._version / f"{RELEASE}{beside}", data, as_it_stands=True)

    def commit(self, note: str, gone: Sequence[str] = ()) -> None:
        """Put what was staged in place of what was there: all of it is on the disk before one link is renamed."""
        with naming(self._path):
            for beside in self._staged:
                (self._version / f"{RELEASE}{beside}" / NOTE).write_text(note, encoding="utf-8")
            for path in (*self._version.rglob("*"), self._version):
                sync(path)
            for beside in self._staged:  # they lead nowhere as long as there is no current version
                if not os.path.lexists(self._link(beside)):
                    self._link(beside).symlink_to(self._aim(beside))
            (self._house / NEXT).symlink_to(self._version.name)
            (self._house / NEXT).replace(self._house / CURRENT)
            for beside in gone:  # they lead nowhere any more
                if self._is_ours(beside):
                    self._link(beside).unlink()
            sync(self._house)
            sync(self._path.parent)

    def _link(self, beside: str) -> Path:
        return self._path.with_name(self._path.name + beside)

    def _is_ours(self, beside: str) -> bool:
        link = self._link(beside)
        return link.is_symlink() and str(link.readlink()) == self._aim(beside)

    def _aim(self, beside: str) -> str:
        return f"{self._house.name}/{CURRENT}/{RELEASE}{beside}"

    def _refuse_taken(self, beside: str) -> None:
        """Refuse a target that is there and no release."""
        link = self._link(beside)
        if os.path.lexists(link) and not self._is_ours(beside):
            raise EngineError(
                f"cannot write to {str(link)!r}: it is there, and no release that could be replaced; move it away, or"
                " name another folder"
            )

    def _sweep(self) -> None:
        """Remove every version but the current one. Only for the one who has the lock."""
        current = self._house / CURRENT
        kept = {LOCK, CURRENT, current.readlink().name if current.is_symlink() else ""}
        for path in [*self._house.iterdir()]:
            if path.is_symlink() and path.name == NEXT:
                path.unlink()
            elif path.name not in kept:
                shutil.rmtree(path)
