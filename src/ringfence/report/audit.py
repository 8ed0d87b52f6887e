"""The page of an audit: the verdict on any table, whoever made it."""

from collections.abc import Iterator

from ringfence.audit.verdict import Verdict
from ringfence.report import words
from ringfence.report.attacks import attack_section
from ringfence.report.page import columns_table, template, versions
from ringfence.spec import Spec

TILES = {
    "rows": ("rows published", ""),
    "classes": ("classes", ""),
    "masked": ("rows masked", "everything hidden"),
    "missing": ("rows with a gap", "a quasi-identifier is missing"),
    "suppressed": ("rows suppressed", "of the original"),
    "buckets": ("buckets", ""),
}


def audit_page(verdict: Verdict, spec: Spec, source: str | None = None) -> str:
    """Return the page: the verdict, what is wrong and what would mend it, risk, and attacks."""
    section = attack_section(verdict)
    return template("audit").render(
        source=source,
        verdict=verdict,
        kept=[line for line in words.kept(spec, verdict) if line.asked != "nothing"],
        traced="original" in verdict.measured,
        tiles=list(_tiles(verdict)),
        attacks=None if section is None else section.html,
        attributes=columns_table(spec),
        versions=versions(),
    )


def _tiles(verdict: Verdict) -> Iterator[tuple[str, float, str]]:
    for key, (name, about) in TILES.items():
        if key in verdict.measured:
            yield name, verdict.measured[key], about
