"""Folders whose content changes in one step.

What a folder shows is a version, and the change from one to the next is the renaming of one link:

    out/public               -> .ringfence/current/public      made once
    out/private              -> .ringfence/current/private     made once
    out/.ringfence/current   -> version-5c0f...                replaced: this is the one step
    out/.ringfence/version-5c0f.../public, private, files.json

Whoever is killed leaves either the earlier version or the new one in place, and the next to come sweeps the rest. This
module knows nothing of what is in the files.
"""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from ringfence.errors import EngineError, listed
from ringfence.rows.staging import LOCK, locked, naming, sync

PUBLIC, PRIVATE = "public", "private"
HOUSE, CURRENT, NEXT, SCRATCH, FILES = ".ringfence", "current", "next", "scratch", "files.json"
ATTEMPTS = 100
"""How often a folder is made again that others, who tidy up after themselves, have just removed."""

_VERSION = re.compile(r"version-[0-9a-f]{16}")


@dataclass(frozen=True)
class Version:
    """What is to take the place of a folder's content: files are put into `public` and `private`, then published."""

    folder: Path
    path: Path

    @property
    def public(self) -> Path:
        """Where files are put that may be shown."""
        return self.path / PUBLIC

    @property
    def private(self) -> Path:
        """Where files are put that may not."""
        return self.path / PRIVATE

    @property
    def scratch(self) -> Path:
        """A folder for what only this user may read and must not stay: it goes in the end, or with the next sweep."""
        return self.path.parent / SCRATCH

    def prepare(self) -> None:
        """Bring everything to the disk, and refuse what cannot be published: what is left to do is one renaming."""
        house = self.path.parent
        with naming(self.folder):
            _refuse_taken(self.folder)
            _refuse_foreign(self.folder)
            files = sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file())
            (self.path / FILES).write_text(json.dumps(files), encoding="utf-8")
            for path in self.path.rglob("*"):
                sync(path)
            sync(self.path)
            for part in (PUBLIC, PRIVATE):  # they lead nowhere as long as there is no current version
                if not os.path.lexists(self.folder / part):
                    (self.folder / part).symlink_to(_aim(part))
            sync(house)
            sync(self.folder)

    def publish(self) -> None:
        """Make this version, which was prepared, the one that the folder shows. It is on the disk when this returns."""
        house = self.path.parent
        with naming(self.folder):
            (house / NEXT).replace(house / CURRENT)
            sync(house)


@contextlib.contextmanager
def new_version(folder: Path) -> Iterator[Version]:
    """Yield a version to fill. What is not published when this ends is gone, with all that was made for it.

    A folder in which another run is at work, or that holds what is not ours where links should be, is refused before
    anything is done. What dead runs have left is swept: whoever has the lock knows that all others are dead.
    """
    with contextlib.ExitStack() as ending:
        with naming(folder):
            _refuse_taken(folder)
            ending.callback(os.close, _enter(folder, ending))
            ending.callback(_leave, folder)
            _sweep(folder / HOUSE)
            _refuse_foreign(folder)
            version = Version(folder, folder / HOUSE / f"version-{token_hex(8)}")
            version.public.mkdir(parents=True)
            version.private.mkdir()
            version.scratch.mkdir(0o700)
            try:
                (folder / HOUSE / NEXT).symlink_to(version.path.name)
            except OSError as error:
                raise EngineError(
                    f"cannot write to {str(folder)!r}: a release is put in place by a symbolic link, and none can be"
                    f" made there ({error.strerror or error}); choose a folder on another file system"
                ) from error
        yield version


def _aim(part: str) -> str:
    return f"{HOUSE}/{CURRENT}/{part}"


def _is_ours(link: Path) -> bool:
    return link.is_symlink() and str(link.readlink()) == _aim(link.name)


def _refuse_taken(folder: Path) -> None:
    """Refuse a folder that holds anything but our links under the names of our links."""
    for link in (folder / PUBLIC, folder / PRIVATE):
        if os.path.lexists(link) and not _is_ours(link):
            raise EngineError(
                f"cannot write to {str(folder)!r}: {str(link)!r} is there, and no release that could be replaced in one"
                " step; move it away, or choose another folder"
            )
    current = folder / HOUSE / CURRENT
    if os.path.lexists(current) and not (current.is_symlink() and _VERSION.fullmatch(str(current.readlink()))):
        raise EngineError(f"cannot write to {str(folder)!r}: {str(current)!r} is no link to a release; move it away")


def _refuse_foreign(folder: Path) -> None:
    """Refuse to replace a version that holds files which somebody put there since: they would be lost."""
    version = folder / HOUSE / CURRENT
    if not version.is_dir():
        return
    version = version.resolve()
    try:
        known = {*json.loads((version / FILES).read_text(encoding="utf-8")), FILES}
    except (OSError, ValueError):
        known = {FILES}
    found = [str(path.relative_to(version)) for path in sorted(version.rglob("*")) if not path.is_dir()]
    strange = [repr(name) for name in found if name not in known]
    if strange:
        raise EngineError(
            f"cannot write to {str(folder)!r}: no run has put {listed(strange[:5])} there, and it would be lost;"
            " move it away, or choose another folder"
        )


def _enter(folder: Path, ending: contextlib.ExitStack) -> int:
    """Lock a folder, made if need be, and return the lock. What was made for it goes if it stays empty."""
    house = folder / HOUSE
    for _ in range(ATTEMPTS):
        try:
            for path in reversed([house, *house.parents]):
                if not path.is_dir():
                    path.mkdir()
                    ending.callback(_remove_empty, path)
                    sync(path.parent)
            lock = locked(house / LOCK, make=True)
        except FileNotFoundError:  # another run has just ended, and tidied up
            continue
        except FileExistsError:  # another run has just begun
            if path.is_dir():
                continue
            raise
        if lock is not None:
            return lock
        break
    raise EngineError(
        f"cannot write to {str(folder)!r}: another run is writing there; wait until it has ended, or choose another"
        " folder"
    )


def _leave(folder: Path) -> None:
    """Sweep, and where nothing was ever published, take the links and the lock away too."""
    house = folder / HOUSE
    with contextlib.suppress(OSError):  # the next to come tries again
        _sweep(house)
        if not os.path.lexists(house / CURRENT):
            for link in (folder / PUBLIC, folder / PRIVATE):
                if _is_ours(link):
                    link.unlink()
            (house / LOCK).unlink()
            house.rmdir()


def _sweep(house: Path) -> None:
    """Remove every version but the current one, and what else a run may leave. Only for the one who has the lock."""
    current = (house / CURRENT).readlink().name if (house / CURRENT).is_symlink() else None
    for path in list(house.iterdir()):
        if path.name == NEXT:
            path.unlink()
        elif path.name == SCRATCH or (_VERSION.fullmatch(path.name) and path.name != current):
            shutil.rmtree(path)


def _remove_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir()
