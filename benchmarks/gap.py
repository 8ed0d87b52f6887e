"""How far `local` is from what it is to lose, and from what can be proven: its loss, the row bound and the dual bound
after some seconds, by k.

Groups are shown as sets, the loss is GLM. Adult is the 30,162 complete rows with eight quasi-identifiers, age as a
number; Census-Income has 199,523 rows and seven; the visits are made up, 6,000 of 2,500 patients, with six, and k is of
patients there. Seconds of bounds are the processor's, of both threads, of the dual bound alone.
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

MARKS = (10, 30)
GOALS = ((2, "best", 0.00388, 30), (5, "good", 0.0155, 2), (5, "best", 0.0147, 20), (10, "best", 0.0285, 20))
"""What `local` is to lose at most on Adult, by k and effort, and in how many seconds of two cores."""


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
    """Yield what `local` loses beside what it is to lose, then loss, bounds and gap of each table and k."""
    yield from goals(adult_census(folder)[0])
    for name, counted in (("Adult", adult_census), ("Census-Income", income_census)):
        census, _ = counted(folder)
        for k in (2, 5, 10):
            yield {"data": name, **gap(census, GroupsAsked(k, representation="set"))}
    for k in (2, 5):
        yield {"data": "visits", **gap(*visits_census(k))}


def goals(census: Census) -> Iterator[dict[str, Any]]:
    """Yield for each goal what is lost, and how long that takes by the clock and by the processor."""
    for k, effort, loss, seconds in GOALS:
        asked = GroupsAsked(k, representation="set")
        local(census, asked, watch=Watch(0.1))  # compiled
        clock, processor = time.perf_counter(), time.process_time()
        _, search = local(census, asked, effort=effort)
        yield {
            "data": "Adult",
            "k": k,
            "effort": effort,
            "glm": round(search.cost, 5),
            "seconds": round(time.perf_counter() - clock, 1),
            "processor seconds": round(time.process_time() - processor, 1),
            "asked": loss,
            "in seconds": seconds,
        }


def gap(census: Census, asked: GroupsAsked) -> dict[str, Any]:
    """Return what `local` loses, and what is proven after each of the marks."""
    groups, search = local(census, asked)
    return {"k": asked.k, "glm": round(search.cost, 5), **bounds(census, asked, groups, search)}


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
