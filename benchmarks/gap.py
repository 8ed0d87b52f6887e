"""How far `local` is from what can be proven: its loss, the row bound and the dual bound after some seconds, by k.

Groups are shown as sets, the loss is GLM. Adult is the 30,162 complete rows with eight quasi-identifiers, age as a
number; Census-Income has 199,523 rows and seven. Seconds are the processor's, of the dual bound alone.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.local import adult_census, income_census
from ringfence.census.census import Census
from ringfence.events import Event
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.dual_bound import dual_bound
from ringfence.search.groups.local import local
from ringfence.search.groups.row_bound import row_bound
from ringfence.search.progress import Watch

MARKS = (10, 30)


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield loss, bounds and gap of each table and k."""
    for name, counted in (("Adult", adult_census), ("Census-Income", income_census)):
        census, _ = counted(folder)
        for k in (2, 5, 10):
            yield {"data": name, "k": k, **gap(census, k)}


def gap(census: Census, k: int) -> dict[str, Any]:
    """Return what `local` loses, and what is proven after each of the marks."""
    groups, search = local(census, GroupsAsked(k, representation="set"))
    proven = dict.fromkeys(MARKS, 0.0)

    def listen(event: Event) -> None:
        for mark in MARKS:
            if event.seconds <= mark and event.bound is not None:
                proven[mark] = max(proven[mark], event.bound)

    watch = Watch(MARKS[-1], listen, nodes=1, clock=time.process_time)
    with watch.compiling_apart():
        found = dual_bound(census, k, "set", "glm", groups, watch, search.cost)
    if found is not None:
        proven[MARKS[-1]] = found.bound
    return {
        "glm": round(search.cost, 5),
        "row bound": round(row_bound(census, k, "set", "glm", Watch()), 5),
        **{f"dual, {mark} s": round(bound, 5) for mark, bound in proven.items()},
        "loss / bound": round(search.cost / max(proven[MARKS[-1]], 1e-12), 3),
    }
