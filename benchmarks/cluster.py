"""Clusters within boundaries: how long they take and what they lose, on Adult and on Census-Income.

The notes that this started from have, for the 45,222 rows of Adult at k = 10 and p = 4, an NTIL of .115 for the paper's
rules and of .065 for better ones. `gap` is what a better clustering might still save, by the bound that comes with it.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.data import census_income, count, whole_adult
from benchmarks.timing import best_seconds
from ringfence.census.census import Census
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.cluster import ClusterResult, cluster, diversity_weights
from ringfence.spec import Spec

ADULT = Path(__file__).parent / "papers" / "cluster.toml"
CENSUS_INCOME = Path(__file__).parent / "census-income.toml"


def specification(path: Path, *, bounded: bool) -> Spec:
    """Return a specification with its boundaries, or without."""
    parts = Spec.load(path).model_dump(by_alias=True, exclude_unset=True)
    if not bounded:
        for attribute in parts["attributes"].values():
            attribute.pop("boundary", None)
    return Spec(**parts)


def clusterer(rows: pa.Table, spec: Spec) -> Callable[..., ClusterResult]:
    """Return a function that clusters some rows as a specification says, but for what it is told otherwise."""
    return over(count(rows, spec), spec)


def over(census: Census, spec: Spec) -> Callable[..., ClusterResult]:
    """Return a function that clusters a census as a specification says, but for what it is told otherwise."""
    weights = diversity_weights(census, [spec.attributes[part.name].diversity_weight for part in census.sensitive])

    def work(k: int = spec.k, p: int = spec.privacy.p or 1, **others: Any) -> ClusterResult:
        least = [p] * len(census.sensitive)
        asked = GroupsAsked(k, least, limit=census.rows - 1)
        return cluster(census, asked, weights=weights.tolist(), **others)

    return work


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield time and loss: of both ways, with boundaries and without, and of groups that are cut."""
    people = whole_adult(folder)
    for bounded in (False, True):
        work = clusterer(people, specification(ADULT, bounded=bounded))
        for ties in ("best", "paper"):
            yield {"data": "Adult", "bounded": bounded, **_timed(work, ties=ties, threads=1)}
    work = clusterer(people, specification(ADULT, bounded=False))
    for max_group in (4000, 2000, 1000, 500, 200):
        yield {"data": "Adult", "bounded": False, **_timed(work, max_group=max_group, threads=1)}
    households = census_income(folder)
    for bounded in (True, False):
        work = clusterer(households, specification(CENSUS_INCOME, bounded=bounded))
        for threads in (1, 2):
            yield {"data": "Census-Income", "bounded": bounded, **_timed(work, threads=threads)}
        for max_group in () if bounded else (10_000, 2000):
            yield {"data": "Census-Income", "bounded": bounded, **_timed(work, max_group=max_group, threads=2)}


def _timed(work: Callable[..., ClusterResult], **options: Any) -> dict[str, Any]:
    result = work(**options)
    groups = result.groups
    return {
        **options,
        "rows": int(groups.combinations.weights.sum()),
        "seconds": round(best_seconds(lambda: work(**options), runs=2), 3),
        "processor seconds": round(best_seconds(lambda: work(**options), runs=2, clock=time.process_time), 3),
        "ntil": round(result.ntil, 5),
        "gap": round(result.search.gap, 3),
        "suppressed": result.suppressed,
        "clusters": groups.count,
        "largest": int(groups.sizes.max()),
        "groups": result.mam_groups,
        "parts": result.parts,
    }
