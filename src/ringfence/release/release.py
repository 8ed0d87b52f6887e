"""Releases: what came out of a run, with everything that was decided, measured and judged on the way.

Heavy libraries are imported inside the methods, so that importing `ringfence` is quick.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.errors import SpecError, listed
from ringfence.spec import Spec

if TYPE_CHECKING:
    import ibis

    from ringfence.audit.verdict import Verdict
    from ringfence.census.baskets import Baskets
    from ringfence.census.census import Census
    from ringfence.plans.base import Plan
    from ringfence.plans.items import ItemExplanation, ItemPlan
    from ringfence.release.job import Job
    from ringfence.report.build import Report
    from ringfence.rows.engine import Engine
    from ringfence.search.decision import Decision
    from ringfence.search.groups.boundaries import Explanation
    from ringfence.search.progress import SearchResult
    from ringfence.yardsticks.measure import Measured


@dataclass(frozen=True, eq=False)
class Release:
    """What came out: the table to publish, the decision behind it, what it costs, and the audit's verdict."""

    table: Any
    decision: "Decision" = field(repr=False)
    audit: "Verdict"
    spec: Spec = field(repr=False)
    census: "Census" = field(repr=False)
    log: tuple[str, ...] = field(default=(), repr=False)
    baskets: "Baskets | None" = field(default=None, repr=False)
    original: Any = field(default=None, repr=False)
    """What it was made from: a path, an Arrow table or a DataFrame of Spark. Only kept where a release cannot be
    audited without it, or attacks were asked for."""
    traced: Any = field(default=None, repr=False)
    """Its rows with whose they are, where k counts people: never to be published, and saved nowhere."""
    sensitive: Any = None
    """The second table of the method `anatomy`: how often each sensitive value is in each bucket. None for others."""
    counts: Any = None
    """How many of its rows have each value of each quasi-identifier, where `output.counts` asks for it: a table with
    the columns attribute, value and rows. `*` is all that no other line is about."""
    attacks: tuple[str, ...] = field(default=(), repr=False)
    """The attacks that were asked for; `audit.attacks.carry_out` has what they achieve."""

    made_from: Any = field(default=None, repr=False)
    """What it was made from, for what its users are off by to be measured; None where a plan was applied."""
    measured: "Measured | None" = field(default=None, repr=False)
    """What its users are off by, where that was measured when it was made: models need to know which row was which."""

    @cached_property
    def use(self) -> "Measured | None":
        """What users of the release are off by, read from its table alone (docs/how-it-works.md, yardsticks)."""
        from ringfence.rows.dates import open_again
        from ringfence.rows.engine import as_counts
        from ringfence.rows.engines import engine_for
        from ringfence.yardsticks.measure import measured

        if self.measured is not None or self.made_from is None:
            return self.measured
        with engine_for(self.spec.data, self.made_from) as engine:
            original = open_again(engine, self.made_from, self.spec)
            rows = engine.open(self.table, self.spec.data, as_it_stands=True)
            values = counts = None
            if self.sensitive is not None:
                values = engine.open(self.sensitive, self.spec.data, as_it_stands=True)
            if self.counts is not None:
                counts = engine.open(self.counts, as_counts(self.spec.data), as_it_stands=True)
            return measured(engine, rows, original, self.spec, values=values, counts=counts)

    @property
    def plan(self) -> "Plan":
        """What was decided. May show values of the original."""
        return self.decision.plan

    @property
    def item_plan(self) -> "ItemPlan | None":
        """What was decided on baskets, beside quasi-identifiers or alone; None where there are none."""
        return None if self.decision.basket is None else self.decision.basket.plan

    @property
    def metrics(self) -> Mapping[str, float]:
        """Every loss by name, and the numbers of rows, suppressed rows and classes."""
        return self.decision.metrics

    @property
    def search(self) -> "SearchResult | None":
        """How well the search can vouch for the plan; None where nothing was searched."""
        return self.decision.search

    @property
    def incomplete(self) -> int:
        """How many rows were left out because they miss a value."""
        return self.census.incomplete

    def report(self) -> "Report":
        """Return a page for the people who answer for the release. May show values of the original."""
        from ringfence.report.build import build_report

        if self._applied:
            raise SpecError(
                "there is no report of new rows under an earlier plan: what they lose would be measured by the"
                " hierarchies that the plan was made with; the report of the run that made the plan says what it does"
            )
        return build_report(
            self.census,
            self.decision,
            self.audit,
            self.spec,
            incomplete=self.incomplete,
            baskets=self.baskets,
            use=self.use,
        )

    def typed(self) -> Any:
        """Return the release with sets of values as lists, and ranges as two columns, such as `age low` and `age high`.

        As an Arrow table, or of a DataFrame of Spark as such a one. Made from the published labels alone: see
        `typed.typed_columns`. Other columns stay as they are. The rows may be
        in another order than in `table`.
        """
        from ringfence.plans.typed import typed_rows
        from ringfence.rows.engines import engine_for

        with engine_for(self.spec.data, self.table) as engine:
            rows = engine.open(self.table, self.spec.data, as_it_stands=True)
            typed = typed_rows(engine, rows, self.spec)
            return engine.handed_out(rows if typed is None else typed, None)

    def explain(self) -> "Explanation | ItemExplanation":
        """Say which rows no method could publish within the boundaries, and what other boundaries would change.

        Counted, not guessed: `sentences` in words, `lost` group by group, `remedies` boundary by boundary. Rows that
        were suppressed though no boundary forces it, for other parts of the promise or for a smaller loss, are said to
        be so. With the
        method `itemsets`, say which rare sets forced each generalization: `sentences`, and `reasons` label by label.
        """
        from ringfence.search.groups.boundaries import Explanation, explain_suppression

        if self.item_plan is not None and self.item_plan is self.plan:
            return self.item_plan.explain()
        if self.spec.data.composite:
            raise SpecError("data.composite = true: people are suppressed for all their rows, not for a boundary")
        gone = int(self.metrics.get("suppressed", 0))
        if self.spec.has_buckets:
            return Explanation(int(self.metrics["rows"]), suppressed=0, unbounded=0, lost=(), remedies=(), gone=gone)
        least = [self.spec.least_values(part.name) for part in self.census.sensitive]
        return replace(explain_suppression(self.census, k=self.spec.k, least_values=least), gone=gone)

    @property
    def _applied(self) -> bool:
        """Whether it is of new rows, by an earlier plan."""
        return "unknown" in self.metrics

    def save(
        self, folder: str | Path, file_format: str | None = None, *, report: bool = True, plots: bool = False
    ) -> Path:
        """Write the release into a folder: what may be published under `public`, what may not under `private`.

        `file_format` is "csv" or "parquet", for baskets alone also "dat" (FIMI) or "spmf"; by default CSV, unless rows
        have lists of items and no separator for them. `report` makes the page, `plots` saves its charts as PNG and SVG
        too; new rows under an earlier plan (`rf.apply`) have neither. The file is read back and audited before it takes
        its place. An earlier release is replaced in one step when everything is ready, or, if anything fails, not at
        all. Returns the release's path.
        """
        from ringfence.release.folder import new_version
        from ringfence.release.publish import FORMATS, publish
        from ringfence.rows.engines import engine_for

        file_format = file_format or usual_format(self.spec)
        report, plots = report and not self._applied, plots and not self._applied
        if file_format not in FORMATS:
            raise SpecError(f"file_format = {file_format!r}: allowed: {listed(FORMATS)}")
        with (
            new_version(Path(folder)) as version,
            engine_for(self.spec.data, self.table, self.original, scratch=version.scratch) as engine,
        ):

            def opened(table: Any) -> Any:
                return None if table is None else engine.open(table, self.spec.data, as_it_stands=True)

            path, _ = publish(
                self.job(engine, report=report or plots),
                opened(self.table),
                version,
                file_format=file_format,
                report=report,
                plots=plots,
                sensitive=opened(self.sensitive),
            )
        return Path(path)

    def job(self, engine: "Engine", *, report: bool = False) -> "Job":
        """Return the job of publishing it once more: its rows have been proven, and need only be the same."""
        from ringfence.release.diary import Diary
        from ringfence.release.job import Job
        from ringfence.rows.dates import open_again

        return Job(
            engine,
            self.spec,
            self.decision,
            self.census,
            self.baskets,
            original=None if self.original is None else open_again(engine, self.original, self.spec),
            traced=self._traced_by(engine),
            attacks=self.attacks,
            diary=Diary(lines=self.log),
            use=self.use if report else None,
        )

    def _traced_by(self, engine: "Engine") -> "ibis.Table | None":
        """Return the rows with whose they are. They have been through the door, and have columns of our own."""
        import pyarrow as pa

        if isinstance(self.traced, pa.Table):
            return engine.hold(self.traced)
        return None if self.traced is None else engine.open(self.traced, self.spec.data, as_it_stands=True)

    def _plans(self) -> "list[Plan]":
        return [self.plan, *([] if self.item_plan in (None, self.plan) else [self.item_plan])]

    def __repr__(self) -> str:
        from ringfence.release.card import card_of

        return f"{card_of(self)}\n\nmore: print(release), release.table, release.plan, release.audit, release.report()"

    def __str__(self) -> str:
        from ringfence.release.card import card_of

        return "\n\n".join(map(str, [card_of(self), *self._plans(), self.audit]))

    def _repr_html_(self) -> str:
        from ringfence.markup import folded
        from ringfence.release.card import card_of

        plans = [folded(f"{plan.kind.capitalize()} plan", plan._repr_html_()) for plan in self._plans()]
        return "".join([card_of(self)._repr_html_(), *plans, folded("Audit", self.audit._repr_html_())])


def usual_format(spec: Spec) -> str:
    """Return the format that a release in memory is written in: CSV, unless that cannot hold its lists of items."""
    lists = spec.items is not None and spec.data.basket_id is None and spec.attributes[spec.items].separator is None
    return "parquet" if lists else "csv"
