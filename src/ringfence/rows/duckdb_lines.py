"""Text files of few different lines, as DuckDB reads them: a line is parsed once, however often it is there.

To tell lines apart takes a quarter of the time that it takes to tell their fields apart. Where a line is a row, it is
then parsed as it would be in its file, and what comes of it stands for all lines like it.
"""

import csv
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringfence.arrays import Longs
from ringfence.rows.duckdb_words import literal, paths, quoted
from ringfence.rows.formats import without_compression

SMALL, COMPRESSED = 1 << 23, 16
"""Text files of fewer bytes in all are held in memory; for how many bytes one stands where a file is compressed."""
NOWHERE = "\x01"
"""What lines are not divided by: a file in which it stands is not for this."""


@dataclass(frozen=True)
class TextFiles:
    """Text files with the same columns, and how DuckDB is told to read them."""

    files: Sequence[Path]
    names: Sequence[str]
    delimiter: str
    quote: str
    options: str

    @property
    def query(self) -> str:
        """The rows of the files."""
        return f"SELECT * FROM read_csv({paths(self.files)}, header = true, {self.options})"

    @property
    def are_small(self) -> bool:
        """Whether what is in them is held in memory without a second thought."""
        shares = {file: 1 if without_compression(file)[1] is None else COMPRESSED for file in self.files}
        return sum(share * file.stat().st_size for file, share in shares.items()) < SMALL

    def some_fields(self, names: Sequence[str]) -> Callable[[Sequence[bytes]], Iterator[Hashable]]:
        """Return what reads the fields of some names from lines: all in all, whatever is odd about some of them."""
        which = [place for place, name in enumerate(self.names) if name in names]

        def read(lines: Sequence[bytes]) -> Iterator[Hashable]:
            texts = (line.decode("utf-8", "replace") for line in lines)
            with suppress(csv.Error):
                for fields in csv.reader(texts, delimiter=self.delimiter[0], quotechar=self.quote):
                    yield tuple(fields[place] for place in which if place < len(fields))

        return read

    def of_lines(self, file: Path) -> str:
        """Return a query for the rows of a file of lines like theirs, without names."""
        return f"SELECT * FROM read_csv({paths([file])}, header = false, {self.options})"


class DifferentLines:
    """The different lines of text files, in a table of the engine, with how often each is there. Leave it to let go.

    `count` is how many there are, of `total` lines; none if some line may not be a row by itself, and this cannot be
    used. All lines are rows if each of them is whole fields, one after the other: some that have no quotes, and some
    with nothing else around them. Whoever reads the first line then ends with it, and begins with the second.
    """

    def __init__(self, connection: Any, text: TextFiles, name: str) -> None:
        self._connection, self._text, self._name = connection, text, quoted(name)

    def __enter__(self) -> "DifferentLines":
        self.count, self.total = self._counted()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {self._name}")

    def _counted(self) -> tuple[int, int]:
        if len(self._text.delimiter) > 1:
            return 0, 0
        options = f"delim = {literal(NOWHERE)}, quote = '', escape = '', header = true, columns = {{'line': 'VARCHAR'}}"
        lines = f"read_csv({paths(self._text.files)}, {options}, auto_detect = false, hive_partitioning = false)"
        counted = f"SELECT line, count(*) AS rows FROM {lines} GROUP BY line"
        import duckdb

        try:
            self._connection.execute(f"CREATE TEMP TABLE {self._name} AS {counted}")
        except duckdb.Error:  # of lines that nobody can read, the usual way says which it is
            return 0, 0
        odd = f"CASE WHEN contains(line, {literal(self._text.quote)}) THEN NOT regexp_full_match(line, ?) END"
        count, total, strange = self._connection.execute(
            f"SELECT count(*), sum(rows), count(*) FILTER ({odd}) FROM {self._name}", [whole_fields(self._text)]
        ).fetchone()
        return (0, 0) if strange or not count else (count, int(total))

    def write(self, file: Path) -> Longs:
        """Write each line once, and return how often each is there, in the same order: that of the table."""
        options = f"FORMAT csv, HEADER false, DELIMITER {literal(NOWHERE)}, QUOTE '', ESCAPE ''"
        self._connection.execute(f"COPY (SELECT line FROM {self._name}) TO {literal(str(file))} ({options})")
        times: Longs = self._connection.execute(f"SELECT rows FROM {self._name}").to_arrow_table()["rows"].to_numpy()
        return times


def whole_fields(text: TextFiles) -> str:
    """Return the pattern of lines that are whole fields, with quotes around all of a field or none of it.

    >>> pattern = whole_fields(TextFiles([], [], ";", "|", ""))
    >>> [bool(re.fullmatch(pattern, line)) for line in ("1;|a; ||b|||;", "|a", "a|b|", "|a|b;c", "")]
    [True, False, False, False, True]
    """
    quote, delimiter = re.escape(text.quote), re.escape(text.delimiter)
    field = f"(?:{quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{quote}{delimiter}]*)"
    return f"{field}(?:{delimiter}{field})*"
