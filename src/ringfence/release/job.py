"""A job: one value that carries what was asked, decided and found out about rows, from their source to a release."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import ibis
import pyarrow as pa

from ringfence.audit.trace.rows import Origin
from ringfence.audit.verdict import Verdict
from ringfence.audit.verify import verify
from ringfence.census.baskets import Baskets
from ringfence.census.census import Census
from ringfence.errors import RingfenceError
from ringfence.plans.counted import counted_values
from ringfence.release.diary import Diary
from ringfence.rows.engine import Engine
from ringfence.rows.sources import WHICH
from ringfence.search.decision import Decision
from ringfence.spec import Spec
from ringfence.yardsticks.measure import Measured, measured


class AuditFailed(RingfenceError):
    """A release of our own making did not pass the audit: a bug in Ringfence. Nothing was written."""


@dataclass(frozen=True, eq=False)
class Job:
    """What an engine does for a specification, after it was decided.

    `census` has also counted what no model looks at, for the evidence in a report; `baskets` are those of the rows that
    are published. `origin` is what a run knows of where its rows come from. `original` is for releases that cannot be
    audited without it, and for `attacks` to be carried out; `traced` are rows with whose they are, where k counts
    people. `force` lets a release pass that its audit refuses. `use` is what users are off by,
    where that was measured before.
    """

    engine: Engine
    spec: Spec
    decision: Decision
    census: Census
    baskets: Baskets | None = None
    origin: Origin | None = None
    original: ibis.Table | None = None
    traced: ibis.Table | None = None
    attacks: Sequence[str] = ()
    diary: Diary = field(default_factory=Diary)
    force: bool = False
    use: Measured | None = None

    @cached_property
    def counts(self) -> pa.Table | None:
        """How many published rows have each value of each quasi-identifier, where that is to be told."""
        if not self.spec.output.counts:
            return None
        composed = self.decision.composed
        published = self.decision.plan.published(self.census if composed is None else composed.census)
        assert published is not None, "who asks for counts has quasi-identifiers"
        return counted_values(published, self.spec)

    @property
    def is_proven(self) -> bool:
        """Whether the audit of published rows proves by itself that they are the original's: they need no marks."""
        return self.origin is not None and self.origin.marked is None

    def audited(self, rows: ibis.Table, values: ibis.Table | None = None, counts: ibis.Table | None = None) -> Verdict:
        """Return the verdict on published rows, on the second table of those that are two, and on counts of values."""
        return verify(
            self.engine,
            rows,
            self.spec,
            self.original,
            attacks=self.attacks,
            values=values,
            counts=counts,
            traced=self.traced,
            origin=None if self.origin is None else replace(self.origin, suppressed=self._gone),
        )

    @property
    def _gone(self) -> int:
        """How many rows of the original were decided to go: none where they stay masked."""
        return 0 if self.decision.plan.masked else self.decision.suppressed

    def measured(
        self, rows: ibis.Table, values: ibis.Table | None = None, counts: ibis.Table | None = None
    ) -> Measured | None:
        """Return what users of published rows are off by; None where that is not known, or they have no labels."""
        if self.origin is None or self.origin.labels is not None:
            return self.use
        return measured(self.engine, rows, self.origin.original, self.spec, self.origin, values, counts)

    def passed(self, verdict: Verdict) -> Verdict:
        """Refuse a release that its audit refuses, unless forced, or that has other rows than were decided on."""
        expected = self.decision.metrics["rows"] + (self.decision.suppressed if self.decision.plan.masked else 0)
        if verdict.measured["rows"] != expected:
            raise AuditFailed(
                f"this release has {verdict.measured['rows']} rows, not the {expected} that were decided on, so nothing"
                " was written; unless you changed it, please report this"
            )
        if not verdict.ok and not self.force:
            raise AuditFailed(
                "this release did not pass its audit, so nothing was written; unless you changed it, please report"
                f" this: {[*(finding.message for finding in verdict.findings), *verdict.unjudged][0]}"
            )
        return verdict

    def people(self) -> Any:
        """Return the rows of the release with whose they are, where k counts people."""
        if self.origin is None or self.origin.marked is None or self.spec.data.entity is None:
            return None
        return self.engine.handed_out(self.origin.marked.drop(WHICH), None)
