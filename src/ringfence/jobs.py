"""Jobs: what happens to rows between a source and a release, whatever becomes of them before and after.

Heavy libraries are imported inside the functions, so that importing `ringfence` is quick.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.spec import Spec

if TYPE_CHECKING:
    import ibis

    from ringfence.engine import Engine
    from ringfence.plan import GlobalPlan, Rewrite
    from ringfence.search.methods import Decision

Listener = Callable[[str], None]
"""Told in a few words what is going on."""


class Diary:
    """Keeps what happened when, and passes it on."""

    def __init__(self, listener: Listener | None) -> None:
        self.lines: list[str] = []
        self._listener = listener

    def __call__(self, event: str) -> None:
        now = dt.datetime.now().astimezone().isoformat(timespec="milliseconds")
        self.lines.append(f"{now} {event}")
        self.tell(event)

    def tell(self, event: str) -> None:
        """Pass an event on without keeping it."""
        if self._listener is not None:
            self._listener(event)


@dataclass(frozen=True, eq=False)
class Made:
    """Rows as they are to be released, the columns whose values change, the decision, and the incomplete rows gone."""

    rows: "ibis.Table"
    changed: list[str]
    decision: "Decision"
    incomplete: int


Decider = Callable[["Engine", "ibis.Table", Sequence[str]], Made]
"""Counts rows, decides, and describes the release with these columns."""


def searcher(spec: Spec, diary: Diary) -> Decider:
    """Decide by the method that a specification asks for."""

    def decide_on(engine: "Engine", rows: "ibis.Table", columns: Sequence[str]) -> Made:
        from ringfence.census import counted_columns, take_census
        from ringfence.engine import ROWS
        from ringfence.plan import rewrite
        from ringfence.search.methods import decide
        from ringfence.search.progress import Watch

        diary("counting the rows")
        census = take_census(engine.count(rows, counted_columns(spec)), spec, ROWS)
        diary(f"{census.rows:,} rows, {len(census.weights):,} different combinations; searching")
        decision = decide(census, spec, Watch(spec.method.time_limit, diary.tell))
        diary("rewriting the rows")
        return _made(engine, rows, columns, decision, rewrite(decision.plan, census), census.incomplete)

    return decide_on


def reuser(plan: "GlobalPlan", spec: Spec, suppress_unknown: bool) -> Decider:
    """Decide by a plan that there is."""

    def decide_on(engine: "Engine", rows: "ibis.Table", columns: Sequence[str]) -> Made:
        from ringfence.census import counted_columns
        from ringfence.engine import ROWS
        from ringfence.plan import rewrite
        from ringfence.search.reuse import reuse_plan

        counted = engine.count(rows, counted_columns(spec))
        reused = reuse_plan(counted, ROWS, plan, spec, suppress_unknown=suppress_unknown)
        changes = rewrite(reused.decision.plan, reused.census, reused.unknown)
        return _made(engine, rows, columns, reused.decision, changes, reused.census.incomplete)

    return decide_on


def _made(
    engine: "Engine",
    rows: "ibis.Table",
    columns: Sequence[str],
    decision: "Decision",
    changes: "Rewrite",
    incomplete: int,
) -> Made:
    changed = list(decision.plan.columns) if changes.masked else list(changes.relabels)
    return Made(engine.recode(rows, changes, columns), changed, decision, incomplete)
