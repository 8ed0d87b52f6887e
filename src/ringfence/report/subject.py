"""What a report is about: all that its pages are made from, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from ringfence.audit.verdict import Verdict
from ringfence.census.baskets import Baskets
from ringfence.census.census import Census
from ringfence.report.vega import Chart
from ringfence.search.decision import Decision
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class Section:
    """A page, or a part of one: its HTML, and the charts in it by name."""

    html: Markup
    charts: Mapping[str, Chart]


@dataclass(frozen=True, eq=False)
class Subject:
    """A release, as a report tells of it.

    `census` counted the rows, `incomplete` more were left out because they miss a value. `baskets` are those of the
    rows that are published, if they have any; `attacks` is the section about attacks that were carried out,
    `use` that about what users of the release are off by.
    """

    census: Census
    decision: Decision
    verdict: Verdict
    spec: Spec
    incomplete: int
    baskets: Baskets | None = None
    attacks: Section | None = None
    use: Section | None = None
