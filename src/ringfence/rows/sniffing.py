"""What a file is by its first bytes, where no name tells."""

from pathlib import Path

import pyarrow as pa

from ringfence.rows.sources import COMPRESSED

HEAD = 4096
MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"SQLite format 3\0": ".sqlite",
    b"PK\x03\x04": ".xlsx",
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"<stata_dta>": ".dta",
}
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


def suffix_of(path: Path) -> str:
    """Return how the name of a file should end, by what is in it; what looks like nothing else is a text file."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    for start, suffix in PACKED.items():
        if head.startswith(start):
            try:
                with pa.input_stream(str(path), compression=COMPRESSED[suffix]) as inner:
                    return _plain(inner.read(HEAD)) + suffix
            except OSError:  # damaged: whoever reads it says so
                return f".csv{suffix}"
    return _plain(head)


def _plain(head: bytes) -> str:
    if head[8:12] == b"DUCK":
        return ".duckdb"
    for start, suffix in MAGIC.items():
        if head.startswith(start) and b"\0" in head:  # a column of a text file may be called PAR1
            return suffix
    return ".jsonl" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else ".csv"
