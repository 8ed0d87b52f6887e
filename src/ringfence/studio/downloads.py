"""What can be taken home from a release, and how cells are written that a spreadsheet would run as formulas."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringfence.spec import Spec

FORMULA = ("=", "+", "-", "@", "\t", "\r")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Download:
    """A file of a release: where it lies, what it is called at home, what it is, and whether it must stay private."""

    path: Path
    name: str
    what: str
    private: bool


def downloads(folder: Path, stem: str) -> dict[str, Download]:
    """Return the files of a release that are there, by name."""
    known = [
        ("public/release.csv", "the release: the table to publish", False),
        ("public/release.parquet", "the release: the table to publish", False),
        ("public/release.dat", "the release: baskets to publish", False),
        ("public/release.spmf", "the release: baskets to publish", False),
        ("public/sensitive.csv", "the second table of the release", False),
        ("public/sensitive.parquet", "the second table of the release", False),
        ("public/counts.csv", "how many rows have which value: published beside the release", False),
        ("public/counts.parquet", "how many rows have which value: published beside the release", False),
        ("public/typed.parquet", "the release with sets as lists and ranges as two columns", False),
        ("public/manifest.json", "what it is, counts, losses and verdict: published beside the release", False),
        ("spec.toml", "the specification: ringfence run repeats the release by it", True),
        ("private/report.html", "the report for the people who answer for the release", True),
        ("private/audit.json", "the verdict in full, for machines", True),
        ("private/plan.json", "the plan: what became of every value", True),
        ("private/items.json", "the plan of the baskets", True),
        ("private/log.txt", "what happened when", True),
    ]
    found = {}
    for place, what, private in known:
        path = folder / place
        if path.is_file():
            name = f"{stem}-{path.name}" if path.name.startswith("release") else path.name
            found[path.name] = Download(path, f"{stem}.toml" if path.name == "spec.toml" else name, what, private)
    return found


def without_formulas(path: Path, spec: Spec) -> Iterator[bytes]:
    """Yield a CSV file with an apostrophe before cells that a spreadsheet would run as formulas.

    Numbers stay as they are, with their sign.
    """
    delimiter = spec.data.delimiter if len(spec.data.delimiter) == 1 else spec.data.delimiter[0]
    with path.open(encoding="utf-8", newline="") as file:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, delimiter=delimiter, quotechar=spec.data.quote, lineterminator="\n")
        for row in csv.reader(file, delimiter=delimiter, quotechar=spec.data.quote):
            writer.writerow([harmless(cell) for cell in row])
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()


def harmless(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("-5"), harmless("@SUM(A1)"), harmless("Oslo")
    ("'=1+1", '-5', "'@SUM(A1)", 'Oslo')
    """
    return f"'{cell}" if cell.startswith(FORMULA) and not NUMBER.fullmatch(cell) else cell
