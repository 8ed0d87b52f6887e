"""What every worker needs first, loaded and compiled once: workers are forked from a process that has imported this.

Kernels are read from their cache, or compiled, when they are called first; so a small front is found here, looked at,
and forgotten. No rows are read: an engine has threads, and these would not survive the fork.
"""

from importlib import import_module

import pyarrow as pa

from ringfence.census.census import take_census
from ringfence.release.fronts import Frontier
from ringfence.search.front.frontier import exact_front
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from ringfence.studio import tasks
from ringfence.studio.seen import FirstRows, seen

__all__ = ["tasks"]

FIRST_NEEDED = (
    "ibis.backends.duckdb",
    "pyarrow.dataset",
    "ringfence.audit.attacks.carry_out",
    "ringfence.audit.refinement.refine",
    "ringfence.audit.verify",
    "ringfence.draft.guess",
    "ringfence.draft.written",
    "ringfence.methods.candidates",
    "ringfence.release.comparing",
    "ringfence.release.publish",
    "ringfence.report.build",
    "ringfence.report.use",
    "ringfence.rows.dates",
    "ringfence.rows.engines",
    "ringfence.search.front.poka",
    "ringfence.search.front.scheme_front",
    "ringfence.search.groups.local",
    "ringfence.search.groups.mondrian",
    "ringfence.search.itemsets.decide_baskets",
    "ringfence.yardsticks.measure",
)
"""What drafts, fronts, releases and comparisons load when they are asked for; here it is loaded once for all."""

for name in FIRST_NEEDED:
    import_module(name)


def find_small_front() -> None:
    """Find what every k costs in a table of six rows, and look at it."""
    quasi = {"role": "quasi", "hierarchy": "flat"}
    table = pa.table({"age": ["1", "2", "3"], "town": ["a", "b", "c"], "rows": [3, 2, 1]})
    spec = Spec(attributes={"age": quasi, "town": quasi}, method={"metric": "glm", "suppression": 0.5})
    census = take_census(table, spec, "rows")
    found = Frontier(exact_front(census, spec, Watch()), census, spec)
    asked = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": 2})})
    seen(census, found.plan(2), asked, FirstRows.of(table.drop_columns("rows")))


find_small_front()
