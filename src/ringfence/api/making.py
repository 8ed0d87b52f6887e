"""What all verbs that make a release do alike: check what is asked, gather rows, decide, rewrite, judge."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.errors import SpecError
from ringfence.methods.checks import check_shown, check_start
from ringfence.release.diary import Diary
from ringfence.release.jobs import Decider, Made
from ringfence.release.release import Release
from ringfence.spec import Spec

if TYPE_CHECKING:
    import ibis

    from ringfence.audit.trace.rows import Origin
    from ringfence.audit.verdict import Verdict
    from ringfence.plans.base import Plan
    from ringfence.plans.recode import GlobalPlan
    from ringfence.release.job import Job
    from ringfence.rows.engine import Engine


def named(attacks: str | Sequence[str]) -> tuple[str, ...]:
    return (attacks,) if isinstance(attacks, str) else tuple(attacks)


def possible(attacks: str | Sequence[str], spec: Spec) -> tuple[str, ...]:
    """Return attacks by name. One that cannot be carried out is refused here, before anything is searched for."""
    names = named(attacks)
    if names:
        from ringfence.audit.attacks.carry_out import choose

        choose(names, spec, has_original=True, has_other=False)
    return names


def _needs_original(spec: Spec, attacks: Sequence[str]) -> bool:
    """Whether a release is audited beside what it was made from; baskets alone are judged by themselves."""
    return spec.needs_original or bool(attacks and spec.of_role("quasi"))


def begun_with(start: "Plan | str | Path | None", spec: Spec) -> "list[GlobalPlan]":
    """Return the plan that a search is to begin with, if there is one: a plan, or the path of a saved one."""
    from ringfence.plans.recode import GlobalPlan

    if start is None:
        return []
    plan = GlobalPlan.load(start) if isinstance(start, str | Path) else start
    if plan.kind != GlobalPlan.kind:
        raise SpecError(f"a plan to begin with is one that recodes values ({GlobalPlan.kind!r}), not {plan.kind!r}")
    assert isinstance(plan, GlobalPlan), "so its kind says"
    check_start(spec, plan.columns)
    return [plan]


def with_measures(engine: "Engine", rows: "ibis.Table", spec: Spec) -> Spec:
    """Return a specification that says which columns hold dates or numbers, if the rows say so; and check it again."""
    from ringfence.rows.measured import with_measured
    from ringfence.values.builders import stated_hierarchy
    from ringfence.values.in_intervals import in_intervals

    trees = {name: stated_hierarchy(name, spec) for name in spec.perhaps_in_intervals}
    numbered = [name for name, tree in trees.items() if tree is not None and in_intervals(tree)]
    measured = with_measured(engine, rows, spec, numbered)
    check_shown(measured)
    return measured


def job_of(
    engine: "Engine",
    spec: Spec,
    original: "ibis.Table",
    made: Made,
    origin: "Origin",
    attacks: tuple[str, ...],
    force: bool,
) -> "Job":
    """Return the job of publishing what was made."""
    from ringfence.release.job import Job

    return Job(
        engine,
        spec,
        made.decision,
        made.census,
        made.baskets,
        origin,
        original=original if _needs_original(spec, attacks) else None,
        attacks=attacks,
        force=force,
    )


def release_of(
    job: "Job", table: Any, verdict: "Verdict", diary: Diary, original: Any, sensitive: Any, counts: Any
) -> Release:
    """Return what came out of a job, with what a later audit of it needs."""
    return Release(
        table,
        job.decision,
        verdict,
        job.spec,
        job.census,
        tuple(diary.lines),
        job.baskets,
        original=None if job.original is None else original,
        traced=job.people(),
        sensitive=sensitive,
        counts=counts,
        attacks=tuple(job.attacks),
        made_from=None if job.origin is None or job.origin.labels is not None else original,
    )


def whose(spec: Spec) -> list[str]:
    """Return the column that goes with rows up to their audit and no further: whose they are, where k counts people."""
    from ringfence.rows.sources import WHOSE

    if spec.data.entity is None:
        return []
    return [WHOSE] if spec.data.composite else [spec.data.entity]


def marks(spec: Spec) -> list[str]:
    """Return the column that goes with rows up to their audit and no further: which row each is, where it needs one."""
    from ringfence.audit.trace.rows import is_marked
    from ringfence.rows.sources import WHICH

    return [WHICH] if is_marked(spec) else []


def _carried(columns: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns that rows are rewritten with: those that are published, whose and which they are."""
    return [*(name for name in columns if name != spec.data.basket_id), *whose(spec), *marks(spec)]


def gathered(engine: "Engine", rows: "ibis.Table", spec: Spec) -> "tuple[ibis.Table, list[str]]":
    """Return rows, of a long table one a basket, with marks; and the columns that are published."""
    from ringfence.rows.basket_rows import gather
    from ringfence.rows.columns import published

    columns = published(rows.columns, spec)
    check_weights(engine, rows, spec)
    rows = gather(engine, rows, spec, columns)
    return engine.marked(rows) if marks(spec) else rows, columns


def make(engine: "Engine", rows: "ibis.Table", spec: Spec, decide: Decider) -> "tuple[Made, Origin, ibis.Table]":
    """Return what is made of the rows of an original, where they come from, and what is to be published of them.

    Which rows go where may be left to chance: where rows have marks, it is drawn here, once for all that follows.
    """
    from ringfence.audit.trace.rows import Origin
    from ringfence.rows.basket_rows import spread

    rows, columns = gathered(engine, rows, spec)
    made = decide(engine, rows, _carried(columns, spec))
    hidden = [*whose(spec), *marks(spec)]
    if not hidden:
        return made, Origin(rows), made.rows
    kept = made_once(engine, made.rows)
    return made, Origin(rows, kept), spread(engine, kept.drop(*hidden), spec, columns)


def made_once(engine: "Engine", rows: "ibis.Table") -> "ibis.Table":
    """Return rows that are made once and for all: those that lie in memory are."""
    return engine.keep(rows) if engine.in_memory(rows, rows.columns) is None else rows


def located(source: Any, spec: Spec) -> Any:
    """Return the source that was passed in, or the one that the specification names."""
    from ringfence.rows.places import is_local

    if source is not None:
        return source
    if spec.data.source is None:
        raise SpecError("there is no data: pass a table, or name a file in data.source")
    return spec.locate(spec.data.source) if is_local(spec.data.source) else spec.data.source


def check_weights(engine: "Engine", rows: "ibis.Table", spec: Spec) -> None:
    """Refuse what is no weight before anything is searched for: the audit adds weights up in the end."""
    from ringfence.rows.columns import weights_total

    if spec.data.weights is not None:
        weights_total(engine, rows, spec.data.weights)


def check_choice(source: Any, spec: Spec) -> None:
    """Refuse keys that choose one of the tables of a file, where they have no meaning for it."""
    from ringfence.rows.formats import POSTGRESQL
    from ringfence.rows.places import find

    if isinstance(source, str | Path):
        form = find(source).form
        if spec.data.query is not None and form is not POSTGRESQL:
            raise SpecError(f"data.query has no meaning for a source of the kind {form.name}; allowed: PostgreSQL")
        for key, value in {"sheet": spec.data.sheet, "table": spec.data.table}.items():
            if value is not None and form.chosen_by != key:
                raise SpecError(f"data.{key} = {value!r} has no meaning for a source of the kind {form.name}")
