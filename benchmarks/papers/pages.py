"""The pages of docs/papers: a text for each paper and, beside it, the tables and pictures that its experiments make.

A table is a file NAME.csv. Where the text says `<!-- NAME.csv -->`, what stands from there to the next `<!-- end -->`
is made from it, so that a page cannot show other figures than its files.
"""

import csv
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ringfence.report.style import finish
from ringfence.report.vega import Chart, png

DOCS = Path(__file__).resolve().parents[2] / "docs" / "papers"

Row = Mapping[str, Any]


class Page:
    """The folder of a paper's page, README.md in it the text."""

    def __init__(self, paper: str, docs: Path = DOCS) -> None:
        self.folder = docs / paper
        self.folder.mkdir(parents=True, exist_ok=True)

    def table(self, name: str, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
        """Pass rows on as they come; after the last, write them as a table and show it in the text."""
        kept = []
        for row in rows:
            kept.append(row)
            yield {"table": name, **row}
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, fieldnames=list(kept[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        (self.folder / f"{name}.csv").write_text(file.getvalue(), encoding="utf-8")
        self.show(name)

    def show(self, name: str) -> None:
        """Put a table into the text, or put it in anew, if the text asks for it."""
        text = self.folder / "README.md"
        if text.exists():
            table = (self.folder / f"{name}.csv").read_text(encoding="utf-8")
            text.write_text(with_table(text.read_text(encoding="utf-8"), name, table), encoding="utf-8")

    def picture(self, name: str, chart: Chart, title: str, legend: str) -> None:
        """Write a chart, in the look of all charts, as NAME.png; the legend is a line below the title."""
        finish(chart, title)
        chart["title"] = {"text": title, "subtitle": legend, "subtitleFontSize": 13, "subtitlePadding": 6}
        (self.folder / f"{name}.png").write_bytes(_packed(png(chart)))


def with_table(text: str, name: str, table: str) -> str:
    """Return a text with a table, given as CSV, where it asks for one.

    >>> print(with_table("<!-- sizes.csv --><!-- end -->", "sizes", "rows,share\\n30162,0.5\\n"))
    <!-- sizes.csv -->
    | rows | share |
    |---|---|
    | 30,162 | 0.5 |
    <!-- end -->
    """
    header, *rows = csv.reader(io.StringIO(table))
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "---|" * len(header),
        *(f"| {' | '.join(f'{int(cell):,}' if cell.isdigit() else cell for cell in row)} |" for row in rows),
    ]
    opening, end = f"<!-- {name}.csv -->", "<!-- end -->"
    shown = "\n".join([opening, *lines, end])
    return re.sub(f"{re.escape(opening)}.*?{end}", lambda _: shown, text, flags=re.DOTALL)


def _packed(png: bytes) -> bytes:
    """Return the same picture in a fifth of the space or so: its pixels compressed as well as they can be."""
    kept, pixels, place = [png[:8]], b"", 8
    while place < len(png):
        length = int.from_bytes(png[place : place + 4])
        kind, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += length + 12  # the length, the kind and the checksum
        if kind == b"IDAT":
            pixels += content
            continue
        if kind == b"IEND":
            kept.append(_chunk(b"IDAT", zlib.compress(zlib.decompress(pixels), 9)))
        kept.append(_chunk(kind, content))
    return b"".join(kept)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + kind + content + zlib.crc32(kind + content).to_bytes(4)
