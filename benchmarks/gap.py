"""How far `local` is from what can be proven: its loss, the row bound and the dual bound after some seconds, by k.

Groups are shown as sets, the loss is GLM. Adult is the 30,162 complete rows with eight quasi-identifiers, age as a
number; Census-Income has 199,523 rows and seven; the visits are made up, 6,000 of 2,500 patients, with six, and k is of
patients there. Seconds are the processor's: of `local` with effort good and best (Adult only), and of the dual bound
alone, of both threads.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ringfence as rf
from benchmarks.data import count
from benchmarks.local import adult_census, income_census
from ringfence.census.census import Census
from ringfence.census.groups import Groups
from ringfence.events import Event
from ringfence.samples import visits
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.dual_bound import dual_bound
from ringfence.search.groups.grouped import groups_asked
from ringfence.search.groups.local import local
from ringfence.search.groups.row_bound import row_bound
from ringfence.search.progress import SearchResult, Watch

MARKS = (10, 30, 120)


def visits_census(k: int) -> tuple[Census, GroupsAsked]:
    """Return the census of the visits with their patients, and what groups of k patients need."""
    table = visits()
    drafted = rf.draft(table)
    quasi = {name: part for name, part in drafted.attributes.items() if part.role == "quasi"}
    data = {"entity": "patient", "unlisted": "drop"}
    method = {"name": "local", "representation": "set"}
    spec = rf.Spec(data=data, attributes=quasi, privacy={"k": k}, method=method)
    census = count(table, spec)
    return census, groups_asked(census, spec)


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield loss, bounds and gap of each table and k."""
    for name, counted in (("Adult", adult_census), ("Census-Income", income_census)):
        census, _ = counted(folder)
        for k in (2, 5, 10):
            yield {"data": name, **gap(census, GroupsAsked(k, representation="set"), best=name == "Adult")}
    for k in (2, 5):
        yield {"data": "visits", **gap(*visits_census(k))}


def gap(census: Census, asked: GroupsAsked, best: bool = False) -> dict[str, Any]:
    """Return what `local` loses, and what is proven after each of the marks."""
    found: dict[str, Any] = {"k": asked.k}
    for effort in ("good", "best") if best else ("good",):
        local(census, asked, watch=Watch(1e-9, nodes=1))  # compiled
        before = time.process_time()
        groups, search = local(census, asked, effort=effort)
        found[f"glm, {effort}"] = round(search.cost, 5)
        found[f"seconds, {effort}"] = round(time.process_time() - before, 1)
    return {**found, **bounds(census, asked, groups, search)}


def bounds(census: Census, asked: GroupsAsked, groups: Groups, search: SearchResult) -> dict[str, Any]:
    """Return the row bound, the dual bound after each of the marks, and how far the loss is from the last."""
    proven = dict.fromkeys(MARKS, 0.0)

    def listen(event: Event) -> None:
        for mark in MARKS:
            if event.seconds <= mark and event.bound is not None:
                proven[mark] = max(proven[mark], event.bound)

    watch = Watch(MARKS[-1], listen, nodes=1, clock=time.process_time)
    with watch.compiling_apart():
        found = dual_bound(census, asked.k, asked.representation, "glm", groups, watch, search.cost)
    if found is not None:
        proven[MARKS[-1]] = found.bound
    return {
        "row bound": round(row_bound(census, asked.k, asked.representation, "glm", Watch()), 5),
        **{f"dual, {mark} s": round(bound, 5) for mark, bound in proven.items()},
        "loss / bound": round(search.cost / max(proven[MARKS[-1]], 1e-12), 3),
    }
