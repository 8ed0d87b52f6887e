"""Local recoding: loss and time of `local`, `hilbert` and `mondrian`, on Adult and on Census-Income.

Adult is the 30,162 complete rows with eight quasi-identifiers, age as a number. For comparison, figures that were
measured elsewhere on the same rows, by the same definitions, at k = 5 and k = 10: ARX's local recoding, 4 s, DM
253,100, GLM .0600 under its labels and .0306 as sets (k = 5); anonypy's Mondrian, 34 s, GLM .0315 and .0576, DM 312,784
and 515,532. Labels are to be compared with labels (`shown = "hierarchy"`), sets with sets.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.cluster import CENSUS_INCOME, specification
from benchmarks.data import adult_attributes, census_income, count, write_adult
from benchmarks.timing import best_seconds
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.judging.metrics import measure_groups
from ringfence.judging.models import promise
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.hilbert import hilbert
from ringfence.search.groups.local import local
from ringfence.search.groups.mondrian import mondrian
from ringfence.spec import Spec

ELSEWHERE: list[dict[str, Any]] = [
    {"data": "Adult", "method": "ARX local recoding, labels", "k": 5, "seconds": 4, "glm": 0.0600, "dm": 253_100},
    {"data": "Adult", "method": "ARX local recoding, sets", "k": 5, "seconds": 4, "glm": 0.0306, "dm": 253_100},
    {"data": "Adult", "method": "anonypy Mondrian", "k": 5, "seconds": 34, "glm": 0.0315, "dm": 312_784},
    {"data": "Adult", "method": "anonypy Mondrian", "k": 10, "seconds": 34, "glm": 0.0576, "dm": 515_532},
]


def adult_census(folder: Path) -> tuple[Census, Spec]:
    """Return the census of Adult with ages as numbers, and its specification."""
    attributes = adult_attributes()
    attributes["age"]["order"] = "numeric"
    with tempfile.TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        spec = Spec(attributes=attributes).at(place)
        return count(path, spec), spec


def income_census(folder: Path) -> tuple[Census, Spec]:
    """Return the census of Census-Income, without boundaries, and its specification."""
    spec = specification(CENSUS_INCOME, bounded=False)
    parts = spec.model_dump(by_alias=True, exclude_unset=True)
    parts["privacy"] = {"k": 5}
    spec = Spec(**parts)
    return count(census_income(folder), spec), spec


def methods(census: Census, spec: Spec, k: int, shown: Representation = "set") -> dict[str, Callable[[], Groups]]:
    """Return every way to group the rows of a census by name."""
    asked = Spec(attributes=spec.attributes, privacy={"k": k})
    ways: dict[str, Callable[[], Groups]] = {
        "mondrian": lambda: mondrian(census, promise(asked, census, census.rows), representation=shown),
        "mondrian, relaxed": lambda: mondrian(
            census, promise(asked, census, census.rows), relaxed=True, representation=shown
        ),
        "hilbert": lambda: hilbert(census, GroupsAsked(k, representation=shown))[0],
    }
    for effort in ("fast", "good", "best"):
        wanted = GroupsAsked(k, representation=shown)
        ways[f"local, {effort}"] = lambda effort=effort, wanted=wanted: local(census, wanted, effort=effort)[0]  # type: ignore[misc]
    return ways


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield time, loss and DM of every method; the figures of others first."""
    yield from ELSEWHERE
    census, spec = adult_census(folder)
    for k in (5, 10):
        for name, way in methods(census, spec, k).items():
            runs = 1 if name == "local, best" else 2
            yield {"data": "Adult", "method": name, "k": k, **timed(census, spec, way, "set", runs)}
    others: tuple[Representation, ...] = ("range", "hierarchy")
    for shown in others:
        for name, way in methods(census, spec, 5, shown).items():
            if name in ("mondrian", "hilbert", "local, good"):
                yield {"data": "Adult", "method": name, "k": 5, "shown": shown, **timed(census, spec, way, shown, 1)}
    census, spec = income_census(folder)
    for name, way in methods(census, spec, 5).items():
        if name != "local, best":
            yield {"data": "Census-Income", "method": name, "k": 5, **timed(census, spec, way, "set", runs=1)}


def timed(census: Census, spec: Spec, way: Callable[[], Groups], shown: Representation, runs: int) -> dict[str, Any]:
    """Return how long a way takes, and what it loses."""
    groups = way()
    measured = measure_groups(census, spec, groups.sizes, cover_groups(census, groups, shown))
    return {
        "seconds": round(best_seconds(way, runs=runs), 3),
        "processor seconds": round(best_seconds(way, runs=runs, clock=time.process_time), 3),
        "glm": round(measured["glm"], 5),
        "dm": int(measured["dm"]),
        "groups": groups.count,
    }
