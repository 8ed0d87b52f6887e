"""How commands tell what goes on, what went wrong, and what came out as JSON."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ringfence import api
from ringfence.events import Listener


def print_error(kind: str, message: str, as_json: bool) -> None:
    """Write an error to stderr: as a sentence, or in the one JSON shape that all errors have."""
    shown = (
        json.dumps({"error": {"kind": kind, "message": message}}, ensure_ascii=False)
        if as_json
        else f"error: {message}"
    )
    print(shown, file=sys.stderr)


def print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))


class Interrupted(Exception):
    """Somebody pressed Ctrl-C; says what was kept. Typer would end the process without a word for a plain interrupt."""


@contextmanager
def progress(quiet: bool, folder: Path | None = None) -> Iterator[Listener | None]:
    """Yield a listener that shows on a terminal what is going on, or tells a log of long searches; None where nobody is
    to be told.

    An interruption says what was kept: `folder` is where a release goes that takes its place in one step.
    """
    before = _version_in(folder)
    try:
        if quiet:
            yield None
        else:
            with api.progress() as listener:
                yield listener
    except KeyboardInterrupt:
        now = _version_in(folder)
        kept = "nothing was written" if folder is None else "no release was written"
        if now is not None:
            what = "the release that was there" if now == before else "the new release"
            kept = f"{what} is in {str(folder)!r}, whole" + (", as it was" if now == before else "")
        raise Interrupted(f"interrupted; {kept}") from None


def _version_in(folder: Path | None) -> str | None:
    """Return which version of a release a folder shows; None where it has none."""
    from ringfence.release.folder import CURRENT, HOUSE

    current = None if folder is None else folder / HOUSE / CURRENT
    return str(current.readlink()) if current is not None and current.is_symlink() else None
