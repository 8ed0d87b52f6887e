"""The page of the paper on rings says what its tables say."""

from benchmarks.papers.pages import DOCS
from benchmarks.papers.ring_findings import FINDINGS, read_tables, with_findings


def test_the_findings_are_those_of_the_tables() -> None:
    folder = DOCS / "ring"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert with_findings(text, read_tables(folder)) == text
    for name, find in FINDINGS.items():
        for line in find(read_tables(folder)):
            assert line in text, name


def test_every_section_that_is_asked_for_is_there() -> None:
    text = (DOCS / "ring" / "README.md").read_text(encoding="utf-8")
    for title in ("Agrees", "Does not agree, and why", "Not comparable, and why", "Make it anew"):
        assert f"\n## {title}\n" in text
