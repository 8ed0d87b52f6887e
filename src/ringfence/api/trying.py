"""What candidates of a comparison are tried on: carried out, audited and measured, all on the same rows.

Only the columns are taken along that anything looks at: all others are published as they are, whatever is decided.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ringfence.api.making import job_of, made_once, make
from ringfence.events import Listener
from ringfence.release.comparing import MeasuredRelease
from ringfence.release.diary import Diary
from ringfence.release.jobs import Censuses, carry_out, searcher
from ringfence.spec import Spec
from ringfence.spec.data import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ibis

    from ringfence.census.census import Census
    from ringfence.methods.candidates import Candidate
    from ringfence.plans.recode import GlobalPlan
    from ringfence.release.trials import Search
    from ringfence.rows.engine import Engine
    from ringfence.search.decision import Decision
    from ringfence.yardsticks.measure import Ruler, Yardsticks


@dataclass(frozen=True, eq=False)
class Bench:
    """What all candidates are tried on: the rows, what was counted of them, and what releases are measured by."""

    engine: "Engine"
    original: "ibis.Table"
    rows: int
    spec: Spec
    attacks: tuple[str, ...]
    diary: Diary
    censuses: Censuses = field(default_factory=Censuses)

    @cached_property
    def ruler(self) -> "Ruler | None":
        """What releases are measured by; None where nothing is."""
        from ringfence.yardsticks.measure import is_measured, ruler

        return ruler(self.engine, self.original, self.spec) if is_measured(self.spec) else None

    @property
    def naive(self) -> "Yardsticks | None":
        """What somebody is off by who knows each attribute by itself."""
        return None if self.ruler is None else self.ruler.naive

    def get_ready(self) -> None:
        """Make what all releases are measured by, and measure what somebody knows without any."""
        _ = self.naive

    def _diary_of(self, candidate: "Candidate") -> Diary:
        return Diary(_about(candidate.name, self.diary))

    def prepare(self, candidate: "Candidate") -> "Search":
        """Count what a candidate is searched for on; return the search, to be run whenever there is time for it."""
        if self.spec.items is not None:  # what is decided on baskets depends on the draw before it
            return lambda _, __: None
        return partial(_search, self._census(candidate.spec), self._diary_of(candidate))

    def _census(self, spec: Spec) -> "Census":
        return self.censuses.of(self.engine, self.original, spec)

    def finish(self, candidate: "Candidate", hurried: Spec, decision: "Decision | None") -> MeasuredRelease:
        """Carry a decision out, audit what came out, and measure it."""
        from ringfence.yardsticks.measure import measure_rows

        told, engine = self._diary_of(candidate), self.engine
        if decision is None:
            lean, decider = hurried, searcher(hurried, told, self.censuses)
        else:
            told("rewrite", "rewriting the rows")
            lean = _lean(hurried)
            decider = partial(carry_out, spec=lean, census=self._census(hurried), decision=decision)
        with engine.aside():
            made, origin, rows = make(engine, self.original, lean, decider)
            published = made_once(engine, rows)
            job = job_of(engine, lean, self.original, made, origin, self.attacks, force=False)
            values = None if made.sensitive is None else engine.hold(made.sensitive)
            told("audit", "auditing the release")
            counts = None if job.counts is None else engine.hold(job.counts)
            verdict = job.passed(job.audited(published, values, counts))
            use = None
            if self.ruler is not None:
                use = measure_rows(engine, published, self.ruler, lean, origin, values, counts)
            return MeasuredRelease(made.decision, verdict, use, _examples(engine, published, lean))


def _search(census: "Census", diary: Diary, spec: Spec, starts: "Sequence[GlobalPlan]") -> "Decision":
    """Search within the limits of a specification, from some plans."""
    from ringfence.methods import decide

    diary("search", "searching")
    with diary.searching(spec) as watch:
        return decide(census, spec, watch, starts)


def _about(name: str, diary: Diary) -> Listener:
    """Return a listener that says which candidate it is told of."""
    return lambda event: diary.tell(replace(event, what=f"{name}: {event.what}"))


def looked_at(spec: Spec) -> list[str]:
    """Return the columns that a method, an audit or a yardstick may look at."""
    data, asked = spec.data, [*(spec.purpose.counts or []), spec.purpose.predict or []]
    others = [name for name in (data.entity, data.weights, data.basket_id) if name is not None]
    return [*spec.of_role("quasi", "sensitive", "items"), *others, *(name for names in asked for name in names)]


def _lean(spec: Spec) -> Spec:
    """Return what a specification says of the columns that are looked at."""
    there = {*looked_at(spec)}
    attributes = {name: each for name, each in spec.attributes.items() if name in there}
    types = {name: kind for name, kind in spec.data.types.items() if name in there}
    data = spec.data.model_copy(update={"types": types})
    return spec.model_copy(update={"attributes": attributes, "data": data, "output": Output(counts=spec.output.counts)})


def _examples(engine: "Engine", rows: "ibis.Table", spec: Spec) -> tuple[dict[str, Any], ...]:
    """Return a few rows of a release, as far as they are recoded."""
    recoded = [name for name in rows.columns if name in spec.of_role("quasi", "items")]
    shown = engine.fetch(rows.select(*recoded).limit(3)).to_pylist()
    return tuple({name: None if cell is None else str(cell) for name, cell in row.items()} for row in shown)
