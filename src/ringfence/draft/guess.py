"""How a text file is written: its encoding and its delimiter."""

import codecs
import csv
import io
from pathlib import Path
from typing import Any, BinaryIO

from ringfence.errors import DataError
from ringfence.spec.data import Data

SAMPLE = 1 << 18
CHUNK = 1 << 20
DELIMITERS = (",", ";", "\t", "|")
TEXT_FILES = (".csv", ".tsv", ".txt")


def guess_data(path: Path) -> Data:
    """Return how a text file is to be read; for files of other kinds, what there is to say without looking.

    The encoding is UTF-16 where the file begins so, UTF-8 where all of it is valid UTF-8, else that of Western Europe.
    The delimiter is found out from the first records: the one that gives each the most fields, and the same number of
    them.
    """
    if path.suffix.lower() not in TEXT_FILES:
        return Data()
    try:
        encoding = _encoding(path)
        with path.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as file:
            sample = file.read(SAMPLE)
            cut = bool(file.read(1))
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {str(path)!r}: {error}") from None
    if "\x00" in sample:
        raise DataError(f"{str(path)!r} is not a text file: it has zero bytes")
    delimiter = _delimiter(sample, cut, "\t" if path.suffix.lower() == ".tsv" else ",")
    found: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
    usual = Data().model_dump()
    return Data(**{key: value for key, value in found.items() if value != usual[key]})


def _encoding(path: Path) -> str:
    """Read all of a file, piece by piece: the first character beyond ASCII may be far down."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        start = file.read(CHUNK)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        try:
            piece = start
            while piece:
                decoder.decode(piece)
                piece = file.read(CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            _refuse_mixed(path, file)
            return _western(file)
    return "utf-8"


def _refuse_mixed(path: Path, file: BinaryIO) -> None:
    """Refuse a file of which some lines are UTF-8 and others are not: in one encoding, half of its names are garbled.

    Letters beyond ASCII of other encodings hardly ever stand so that they make valid UTF-8.
    """
    file.seek(0)
    first: dict[bool, int] = {}
    for number, line in enumerate(file, 1):
        if not line.isascii():
            first.setdefault(_is_utf8(line), number)
        if len(first) == 2:
            raise DataError(
                f"{str(path)!r} is in two encodings: line {first[True]} is UTF-8, line {first[False]} is not; write all"
                " of it in one, best UTF-8"
            )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _western(file: BinaryIO) -> str:
    """Tell Windows's encoding, which has quotes, dashes and the euro where Latin-1 has control characters."""
    file.seek(0)
    controls: set[int] = set()
    while piece := file.read(CHUNK):
        controls |= {*piece} & {*range(0x80, 0xA0)}
    return "cp1252" if controls and not controls & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"


def _delimiter(sample: str, cut: bool, otherwise: str) -> str:
    """Return the delimiter that fits best."""
    apart = {delimiter: _records(sample, delimiter, cut) for delimiter in (otherwise, *DELIMITERS)}
    best = next((d for d, tried in apart.items() if all(len(record) == 1 for record in tried)), otherwise)
    score = (0.5, len(sample))  # more than half of the records must have as many fields as the header
    for delimiter, tried in apart.items():
        fields = len(tried[0]) if tried else 0
        regular = sum(len(record) == fields for record in tried) / max(1, len(tried))
        if fields > 1 and (regular, fields) > score:
            best, score = delimiter, (regular, fields)
    records = apart[best]
    spaced = best == "," and '"' not in sample and all(cell[:1] == " " for record in records for cell in record[1:])
    return ", " if spaced and len(records) > 1 and len(records[0]) > 1 else best


def _records(sample: str, delimiter: str, cut: bool) -> list[list[str]]:
    """Return the records of a sample, without the last one where it may be cut off."""
    try:
        records = [record for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if record]
    except csv.Error:
        return []
    return records[:-1] if cut and len(records) > 1 else records
