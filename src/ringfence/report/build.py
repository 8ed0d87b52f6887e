"""The report: one page for the people who answer for a release, with the charts in it also as files of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ringfence.audit.verdict import Verdict
from ringfence.census.baskets import Baskets
from ringfence.census.census import Census
from ringfence.plans.anatomy import AnatomyPlan
from ringfence.plans.items import ItemPlan
from ringfence.report.anatomy import anatomy_page
from ringfence.report.attacks import attack_section
from ringfence.report.items import basket_section, item_page
from ringfence.report.page import row_page
from ringfence.report.style import as_svg
from ringfence.report.subject import Section, Subject
from ringfence.report.use import use_section
from ringfence.report.vega import Chart, png
from ringfence.search.decision import Decision
from ringfence.spec import Spec
from ringfence.yardsticks.measure import Measured


@dataclass(frozen=True, eq=False)
class Report:
    """A page of HTML that needs nothing else, and its charts by name. Both may show values of the original."""

    html: str
    charts: Mapping[str, Chart]

    def save(self, path: Path) -> None:
        """Write the page to a file."""
        path.write_text(self.html, encoding="utf-8")

    def save_plots(self, folder: Path) -> None:
        """Write every chart into a folder, as PNG and as SVG."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in self.charts.items():
            (folder / f"{name}.svg").write_text(as_svg(chart, titled=True), encoding="utf-8")
            (folder / f"{name}.png").write_bytes(png(chart))


def build_report(
    census: Census,
    decision: Decision,
    verdict: Verdict,
    spec: Spec,
    *,
    incomplete: int,
    baskets: Baskets | None = None,
    use: Measured | None = None,
) -> Report:
    """Return the report of a release: what was asked and done, what it costs, and what the audit says.

    All numbers but those of use are computed from the census, the plan and the verdict; rows are not looked at. The
    same inputs always give the same page. `census` should have counted every sensitive attribute, also those that no
    model looks at: what it lacks is missing in the evidence. `incomplete` is how many rows were left out because they
    miss a value. `baskets` are those of the rows that are published, if they have any; `use` is what their users are
    off by.
    """
    attacks = attack_section(verdict)
    told = None if use is None else use_section(use, spec)
    subject = Subject(census, decision, verdict, spec, incomplete, baskets, attacks, told)
    page = PAGES.get(decision.plan.kind, _rows)(subject)
    sections = [page, *(each for each in (told, attacks) if each is not None)]
    return Report(str(page.html), {name: chart for each in sections for name, chart in each.charts.items()})


def _rows(subject: Subject) -> Section:
    """Return the page of a release of rows, which may have baskets."""
    baskets, decided = subject.baskets, subject.decision.basket
    if baskets is None or decided is None:
        return row_page(subject)
    return row_page(subject, basket_section(baskets, decided))


PAGES = {AnatomyPlan.kind: anatomy_page, ItemPlan.kind: item_page}
"""Kinds of plan that have pages of their own, since they publish no quasi-identifiers under labels."""
