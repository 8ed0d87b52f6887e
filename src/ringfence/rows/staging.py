"""Temporary folders that do not outlive their use for long, and files that change in one step.

Whoever uses a temporary folder holds a lock in it, which the kernel takes back when the process ends, however it ends.
So the next to come can tell the folders of the dead, and removes them.
"""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex

from ringfence.errors import EngineError

LOCK = "lock"
STAGED, SPILLED = ".unfinished", "ringfence"
"""What temporary folders are called: beside the files that are to come of them, and in the system's."""


@contextlib.contextmanager
def staging(folder: Path, kind: str = STAGED) -> Iterator[Path]:
    """Yield a new folder inside another that only this user can read, and remove it in the end.

    Folders of the same kind that dead processes left are removed at the start.
    """
    _bury(folder, kind)
    path, lock = _claim(folder, kind)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):  # the next to come tries again
            _remove(path)
        os.close(lock)


def spilling() -> contextlib.AbstractContextManager[Path]:
    """Return a `staging` in the system's temporary folder."""
    return staging(Path(tempfile.gettempdir()), SPILLED)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder: each is there as a whole, or what was there before."""
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with staging(folder) as staged:
            for name, content in files.items():
                (staged / name).write_bytes(content)
            for name in files:
                put(staged / name, folder / name)


def put(staged: Path, target: Path) -> None:
    """Put a finished file into the place of another in the same file system, in one step."""
    sync(staged)
    staged.replace(target)
    sync(target.parent)


def locked(path: Path, *, make: bool) -> int | None:
    """Return a file that is locked for its holder alone, as long as it is open; None if somebody else has it.

    Whoever has a lock may remove its file. Then it is another file, or none, that the next to come would lock: to have
    locked what is no longer there means nothing.
    """
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT * make, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.stat()):
                    return lock
        except BlockingIOError:
            os.close(lock)
            return None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def naming(place: Path) -> Iterator[None]:
    """Say what it is that cannot be written."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise EngineError(
            f"cannot write to {str(place)!r}: a file has that name, or is on the way; name a folder"
        ) from error
    except OSError as error:
        raise EngineError(f"cannot write to {str(place)!r}: {error.strerror or error}") from error


def _claim(folder: Path, kind: str) -> tuple[Path, int]:
    """Make a temporary folder and lock it. One that was taken for a dead one's before it was locked is made anew."""
    while True:
        path = folder / f"{kind}-{token_hex(8)}"
        path.mkdir(0o700)
        with contextlib.suppress(FileNotFoundError):
            lock = locked(path / LOCK, make=True)
            if lock is not None:
                return path, lock


def _bury(folder: Path, kind: str) -> None:
    """Remove the temporary folders of this user that nobody holds any more."""
    ours = re.compile(rf"{re.escape(kind)}-[0-9a-f]{{16}}")
    for path in list(folder.iterdir()):
        if not ours.fullmatch(path.name) or path.is_symlink():
            continue
        with contextlib.suppress(OSError):  # somebody else has just removed it
            if path.stat().st_uid != os.getuid():
                continue
            if not any(path.iterdir()):  # its maker was killed before it was locked, or will make another
                path.rmdir()
                continue
            lock = locked(path / LOCK, make=False)
            if lock is not None:
                try:
                    _remove(path)
                finally:
                    os.close(lock)


def _remove(path: Path) -> None:
    """Remove a temporary folder, its lock last: as long as there is anything in it, it can be told whose it is."""
    for part in list(path.iterdir()):
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part)
        elif part.name != LOCK:
            part.unlink()
    (path / LOCK).unlink(missing_ok=True)
    path.rmdir()
