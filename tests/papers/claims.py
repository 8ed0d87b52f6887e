"""The prose of pages against their tables: what it says in figures must be what the tables have.

A page is the name of one of docs/papers, or a file of docs.
"""

import csv
import re
from collections.abc import Iterable
from typing import Any

from benchmarks.papers.pages import DOCS

SECTIONS = ["Agrees", "Does not agree, and why", "Not comparable, and why", "Make it anew"]
HARMLESS = [
    r"Figs?\. \d+[a-d]?( to \d+| to [a-d]| and \d+|, \d+)*",  # the paper's own numbers
    r"Tables? \d+( (and|to) \d+)?",
    r"sections? \d+(\.\d+)*",
    r"\b[kmpl] = \d+(( and|,| or| to) \d+)*",  # which row or column of a table is meant
    r"\b(19|20)\d\d\b",
    r"BMS-WebView-\d( and -\d)?",
]


def table(page: str, name: str) -> list[dict[str, Any]]:
    """The rows of a page's table; cells that are numbers as numbers."""
    with (DOCS / page / f"{name}.csv").open(encoding="utf-8") as file:
        return [{key: _number(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


def _number(cell: str) -> Any:
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:
        return cell


def prose(page: str) -> str:
    """What a page says beside its tables, its code and where its links lead to, in one line."""
    path = DOCS.parent / page if page.endswith(".md") else DOCS / page / "README.md"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<!-- \S+\.csv -->.*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text)
    text = re.sub(r"\]\(\S+?\)", "]", text)
    return re.sub(r"\s+", " ", text)


def check(page: str, claims: Iterable[tuple[str, bool]], given: Iterable[str]) -> None:
    """Check that a page says each claim, that each holds, and that no other figure stands in its prose.

    `given` are phrases with figures that no table of ours can have: of the paper, of the data, of how it was measured.
    """
    text = prose(page)
    for claim, holds in claims:
        assert claim in text, f"{page} does not say: {claim}"
        assert holds, f"{page}: the tables do not bear out: {claim}"
        text = text.replace(claim, " ")
    for phrase in given:
        assert phrase in text, f"{page} no longer says: {phrase}"
        text = text.replace(phrase, " ")
    for pattern in HARMLESS:
        text = re.sub(pattern, " ", text)
    left = re.search(r".{0,80}\d.{0,80}", text)
    assert left is None, f"{page}: no table was asked about: {left.group(0)}"


def between(low: float, high: float, values: Iterable[float]) -> bool:
    """Whether values reach from one bound to the other, rounded as they are written."""
    kept = list(values)
    return low <= min(kept) and max(kept) <= high
