"""What DuckDB is told, as SQL has it; and what it complains of, in a sentence that helps."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringfence.rows.sources import split_fields
from ringfence.spec.data import Data

MIXED_ENDS = (
    "its lines do not all end in the same way, or a line break in a cell is not in quotes; write all line ends alike,"
    r" as \n or as \r\n"
)


def paths(paths: Sequence[Path]) -> str:
    """Return paths as the engine reads them: with what it would take for a pattern between brackets."""
    plain = [re.sub(r"[*?\[]", r"[\g<0>]", str(path)) for path in paths]
    return f"[{', '.join(map(literal, plain))}]"


def quoted(name: str) -> str:
    """Return the name of a column or a table as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


@contextlib.contextmanager
def saying(what: str, kind: type[Exception]) -> Iterator[None]:
    """Turn the engine's complaints into a sentence."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise kind(f"{what}: {first_sentence(str(error))}") from error


def first_sentence(message: str, data: Data | None = None) -> str:
    """Shorten what DuckDB says: where a text file is malformed, the line and the reason; else its first line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line[1]}: " if line else ""
    if any(word in message for word in ("expected records", "Malformed JSON", "JSON transform error")):
        told = re.search(r"in (?:line|record/value) (\d+)", message)
        return f'{f"line {told[1]}: " if told else ""}each line should hold one object, as {{"age": 31}}'
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where}the file is not valid UTF-8; set data.encoding"
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return where + _ragged(message, int(found[1]), int(found[2]), data)
    if limit := re.search(r"Maximum line size of (\d+)", message):
        return f"{where}it is too long; a line may have {int(limit[1]):,} bytes"
    if line:
        return where + ("a quote that does not end" if "unterminated quote" in message else "it is malformed")
    if "state machine reached an invalid state" in message:
        message = MIXED_ENDS
    return _ran_out(message) or message.splitlines()[0]


def _ran_out(message: str) -> str | None:
    """Say that there is too little memory, or room on the disk; None if that is not it."""
    if full := re.search("No space left on device|Disk quota exceeded|File too large", message):
        return f"{full[0]}; make room, or choose another place"
    memory = re.search(r"Out of Memory Error.*?/([\d.]+ \w+) used\)", message)
    if memory is None or "temp_directory" in message:  # it is the disk that has a limit
        return None
    return f"{memory[1]} of memory do not suffice; give more by data.memory_limit, or leave it out"


def _ragged(message: str, first: int, fields: int, data: Data | None) -> str:
    """Say how many fields a row has, all counted, and what may have happened to it."""
    if data is not None and (original := re.search(r"Original Line: ?(.*)\n", message)):
        fields = max(fields, len(split_fields(original[1], data.delimiter, data.quote)))
    return (
        f"{fields} {'field' if fields == 1 else 'fields'} where the first line has {first}{_why(fields > first, data)}"
    )


def _why(more: bool, data: Data | None) -> str:
    """Say what may have happened to a row."""
    if data is None:
        return ""
    if more:
        return f"; a field that holds {data.delimiter!r} must stand in quotes ({data.quote})"
    return "; was the row cut off, or is a line break not in quotes?"


def is_interruption(error: object) -> bool:
    """Whether DuckDB was interrupted by the user, which it tells by errors of its own."""
    return isinstance(error, Exception) and any(
        word in str(error) for word in ("Query interrupted", "KeyboardInterrupt")
    )
