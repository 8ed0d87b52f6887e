"""Where a table lies: a file, several that make one, standard input, the web or a bucket; found out before it is read.

What comes from elsewhere is copied once, into a private folder that goes with the process: rows are read more than
once, and must be the same each time.
"""

import atexit
import contextlib
import functools
import glob
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.rows.formats import FORMATS, POSTGRESQL, SPARK_TABLE, Format, format_of, known_format
from ringfence.rows.remote import download, is_database, is_remote, is_spark, without_secrets
from ringfence.rows.sniffing import suffix_of
from ringfence.rows.staging import spilling

STDIN = "-"
"""What standard input is called."""

_COPIES = contextlib.ExitStack()
atexit.register(_COPIES.close)


@dataclass(frozen=True)
class Place:
    """Files of one format that make a table, what it is called in messages, and what folders say of its rows.

    `folders[file]` are the columns that the names of folders make, as in `region=north/1.parquet`; all files have the
    same.
    """

    shown: str
    files: tuple[Path, ...]
    form: Format
    folders: Mapping[Path, Mapping[str, str]] = field(default_factory=dict)

    def called(self, file: Path) -> str:
        """Return what one of the files is called in messages."""
        return self.shown if len(self.files) == 1 else repr(str(file))


def find(source: str | Path) -> Place:
    """Return where a table lies that is called so: a path, a pattern, a folder, `-` or an address.

    A table in a database has no files: what reads it is an engine of its own.
    """
    name = str(source)
    if name == STDIN:
        copy = _copied(name)
        return Place("standard input", (copy,), known_format(copy, "standard input"))
    if is_database(name) or is_spark(name):
        return Place(repr(without_secrets(name)), (), POSTGRESQL if is_database(name) else SPARK_TABLE)
    if is_remote(name):
        copy, shown = _copied(name), repr(without_secrets(name))
        return Place(shown, (copy,), known_format(copy, shown))
    path, shown = Path(source), repr(name)
    try:
        is_file = path.is_file()
    except OSError as error:  # a name that no file can have, or a folder that may not be entered
        raise DataError(f"cannot read {shown}: {error.strerror or error}") from None
    if is_file:
        form = known_format(path, shown)
        if ".db" in path.suffixes and suffix_of(path) == ".duckdb":
            form = next(each for each in FORMATS if ".duckdb" in each.suffixes)
        return Place(shown, (path,), form)
    if path.is_dir():
        return _together(shown, path, [*_inside(path)])
    if glob.has_magic(name):
        found = sorted(Path(each) for each in glob.iglob(name, recursive=True))  # noqa: PTH207  paths may be absolute
        files = [file for each in found for file in (_inside(each) if each.is_dir() else [each])]
        if not files:
            raise DataError(f"no file matches {shown}")
        gone = [repr(str(file)) for file in files if not file.is_file()]
        if gone:
            raise DataError(f"{shown} matches {listed(gone)}, which leads to no file")
        return _together(shown, _above(path), files)
    if path.exists():
        raise DataError(f"{shown} is neither a file nor a folder")
    if path.is_symlink():
        raise DataError(f"{shown} is a link to {str(path.readlink())!r}, where there is nothing")
    raise DataError(f"there is no file {shown}{_instead(path)}")


def is_local(source: str | Path) -> bool:
    """Whether a source is a path on this machine, or a pattern of such."""
    return str(source) != STDIN and not is_remote(str(source))


def local_file(source: object) -> Path | None:
    """Return the one file on this machine that a source is; None where it is anything else."""
    if not isinstance(source, str | Path) or not is_local(source):
        return None
    return Path(source) if Path(source).is_file() else None


def _instead(path: Path) -> str:
    """Say where a path goes wrong: at a folder that is not there, or at a name that is spelled otherwise."""
    if not path.parent.is_dir():
        return f": there is no folder {str(path.parent)!r}"
    return suggestion(path.name, [each.name for each in path.parent.iterdir() if format_of(each) is not None])


def _inside(folder: Path) -> Iterator[Path]:
    """Return the files in a folder and those inside it, but for hidden ones and those that other tools leave."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _above(pattern: Path) -> Path:
    """Return the folder that a pattern starts from."""
    fixed = [*pattern.parts]
    while fixed and glob.has_magic(str(Path(*fixed))):
        fixed.pop()
    return Path(*fixed)


def _together(shown: str, root: Path, files: Sequence[Path]) -> Place:
    """Return files that make a table: all of one format, one that can be read so."""
    forms = {file: form for file in files if (form := format_of(file)) is not None}
    able = listed(form.name for form in FORMATS if form.several)
    if not forms:
        there = f"; it has {listed(repr(file.name) for file in files[:5])}" if files else ""
        raise DataError(f"{shown} has no files of a known kind{there}; of folders, these are read: {able}")
    first, form = next(iter(forms.items()))
    for file, other in forms.items():
        if other is not form:
            raise DataError(
                f"{shown} has files of different kinds: {str(first)!r} is {form.name}, {str(file)!r} is {other.name};"
                f" name those of one kind by a pattern, such as {str(root / f'*{first.suffix}')!r}"
            )
    if not form.several and len(forms) > 1:
        raise DataError(f"{shown} has {len(forms)} files of the kind {form.name}: name one; several can be of: {able}")
    return Place(shown, tuple(forms), form, _folders(shown, root, [*forms]))


def _folders(shown: str, root: Path, files: Sequence[Path]) -> dict[Path, dict[str, str]]:
    """Return the columns that the names of folders make: `region=north`."""
    made = {}
    for file in files:
        parts = [part.partition("=") for part in file.relative_to(root).parts[:-1]]
        made[file] = {name: value for name, sign, value in parts if sign}
    names = [*made[files[0]]]
    for file, columns in made.items():
        if [*columns] != names:
            raise DataError(
                f"the folders of {shown} make different columns: {listed(names)} above {str(files[0])!r},"
                f" {listed(columns)} above {str(file)!r}"
            )
    return made if names else {}


@functools.cache
def _copied(source: str) -> Path:
    """Copy what is not a file on this machine into one, whose name tells what it is."""
    folder = _COPIES.enter_context(spilling())
    copy = folder / "copy"
    if source == STDIN:
        if sys.stdin is None or sys.stdin.isatty():
            raise SpecError("there is nothing on standard input: pipe a table into it, or name a file")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        name = f"stdin{suffix_of(copy)}"
    else:
        told = Path(download(source, copy))
        name = told.name if format_of(told) is not None else f"{told.stem or 'copy'}{suffix_of(copy)}"
    return copy.rename(folder / name)
