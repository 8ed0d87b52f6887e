"""The row bound against brute force: never above the cost of any release, and as high as rows one by one allow."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census
from ringfence.census.covers import cover_groups
from ringfence.census.groups import Groups, combinations
from ringfence.judging.metrics import measure_groups
from ringfence.kernels.groups.nearby import look_around, new_surroundings
from ringfence.kernels.groups.pricing import group_losses
from ringfence.samples import people, people_spec
from ringfence.search.groups import row_bound as bounds
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.row_bound import row_bound
from ringfence.search.groups.sorted_tuples import sort_tuples
from ringfence.search.groups.whole_losses import UNIT, whole_losses
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.search.groups.test_local import shown_as
from tests.tables import Case, cases

LOSSES: list[Kept] = ["glm", "gcp", "use"]


def partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    """All ways to part some rows."""
    if not rows:
        yield []
        return
    first, *others = rows
    for parts in partitions(others):
        yield [[first], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [first, *parts[i]], *parts[i + 1 :]]


def releases(census: Census, spec: Spec, k: int, representation: Any, loss: str) -> Iterator[float]:
    """What every release costs: all ways to part the rows, groups that are too small being suppressed."""
    combined = combinations(census, ())
    tuples = np.repeat(np.arange(len(combined.weights)), combined.weights)
    ceilings = np.stack([quasi.hierarchy.ceilings[census.codes[:, a]] for a, quasi in enumerate(census.quasi)], axis=1)
    for parts in partitions(list(range(len(tuples)))):
        large = [part for part in parts if len(part) >= k]
        if not large or any(len({tuple(ceilings[tuples[row]].tolist()) for row in part}) > 1 for part in large):
            continue
        rows = np.array([row for part in large for row in part])
        homes = np.repeat(np.arange(len(large)), [len(part) for part in large])
        groups = Groups.gathered(combined, tuples[rows], homes, np.ones(len(rows), np.int64))
        yield measure_groups(census, spec, groups.sizes, cover_groups(census, groups, representation))[loss]


@given(
    case=cases(max_rows=6),
    k=st.integers(1, 3),
    representation=shown_as,
    loss=st.sampled_from(LOSSES),
    easy=st.sampled_from([1, 2, 5]),
    limits=st.sampled_from([(60, 200_000), (1, 200_000), (60, 8), (2, 48)]),
)
def test_no_release_costs_less(
    case: Case, k: int, representation: Any, loss: Kept, easy: int, limits: tuple[int, int]
) -> None:
    census = case.census
    assume(k <= census.rows)
    costs = list(releases(census, case.spec, k, representation, loss))
    assume(costs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "EASY", easy)
        patch.setattr(bounds, "DEEPEST", limits[0])
        patch.setattr(bounds, "CANDIDATES", limits[1])
        try:
            bound = row_bound(census, k, representation, loss, Watch())
        except rf.errors.Unsatisfiable:
            return
    assert bound <= min(costs) + 1e-12


@given(case=cases(max_rows=6), k=st.integers(2, 3), representation=shown_as, loss=st.sampled_from(LOSSES))
def test_the_bound_is_the_mean_of_what_rows_lose_at_least(case: Case, k: int, representation: Any, loss: Kept) -> None:
    census = case.census
    combined = combinations(census, ())
    tuples = np.repeat(np.arange(len(combined.weights)), combined.weights)
    assume(all(len(np.unique(quasi.hierarchy.ceilings)) == 1 for quasi in census.quasi) and k <= len(tuples))
    least = np.full(len(tuples), np.inf)
    for chosen in range(1 << len(tuples)):
        rows = np.flatnonzero([chosen >> row & 1 for row in range(len(tuples))])
        if len(rows) < k:
            continue
        alone = np.zeros(len(rows), np.int64)
        groups = Groups.gathered(combined, tuples[rows], alone, np.ones(len(rows), np.int64))
        shown = cover_groups(census, groups, representation)
        cost = measure_groups(census, case.spec, groups.sizes, shown)[loss] * census.rows
        least[rows] = np.minimum(least[rows], (cost - (census.rows - len(rows))) / len(rows))
    assert row_bound(census, k, representation, loss, Watch()) == pytest.approx(least.mean(), abs=3e-8)


@given(case=cases(max_rows=12), representation=shown_as, loss=st.sampled_from(LOSSES), share=st.floats(0, 1))
def test_all_that_is_near_is_found(case: Case, representation: Any, loss: Kept, share: float) -> None:
    space, tuples = whole_losses(case.census, representation, loss), len(case.census.weights)
    _, alike, there = sort_tuples(space, np.arange(tuples, dtype=np.int32) % 2)
    pairs = np.array([(t, other) for t in range(tuples) for other in range(tuples)], np.int32)
    apart = np.empty(len(pairs), np.int64)
    group_losses(there, pairs, apart)
    radius, half = int(share * UNIT), (tuples + 1) // 2
    near, far, room = np.empty(tuples, np.int32), np.empty(tuples, np.int64), new_surroundings(alike)
    for t in range(tuples):
        block = range(half) if t < half else range(half, tuples)
        count, _ = look_around(there, alike, t, radius, room, near, far)
        expected = [(other, int(apart[t * tuples + other])) for other in block if other != t]
        assert list(zip(near[:count], far[:count], strict=True)) == [pair for pair in expected if pair[1] < radius]


def test_rows_that_are_not_looked_at_count_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(400)
    names = ("age", "sex", "country", "education")
    attributes = {name: people_spec().attributes[name] for name in names}
    census = Case(table.select([*names]), Spec(attributes=attributes)).census
    whole = row_bound(census, 4, "set", "glm", Watch())
    monkeypatch.setattr(bounds, "FEW_TRIED", 0)
    monkeypatch.setattr(bounds, "MOST_TRIED", 0)
    nearest = row_bound(census, 4, "set", "glm", Watch())
    monkeypatch.setitem(bounds.WORK, "good", 120_000)
    monkeypatch.setattr(bounds, "AT_ONCE", 20)
    some = row_bound(census, 4, "set", "glm", Watch())
    assert 0 < some < nearest < whole
    monkeypatch.setattr(bounds, "USUAL_TUPLES", 0.001)
    monkeypatch.setattr(bounds, "MOST_TIMES", 1e9)
    assert row_bound(census, 4, "set", "glm", Watch()) > some  # more tuples, more work
    monkeypatch.setattr(bounds, "MOST_TUPLES", 10)
    assert row_bound(census, 4, "set", "glm", Watch()) == 0


@pytest.mark.parametrize(
    ("tried", "deepest", "candidates"), [(0, 60, 200_000), (30, 60, 200_000), (10**6, 1, 200_000), (10**6, 60, 48)]
)
def test_whatever_cuts_a_search_short_lowers_the_bound(
    monkeypatch: pytest.MonkeyPatch, tried: int, deepest: int, candidates: int
) -> None:
    names = ("age", "sex", "country", "education")
    attributes = {name: people_spec().attributes[name] for name in names}
    census = Case(people(300).select([*names]), Spec(attributes=attributes)).census
    monkeypatch.setattr(bounds, "MOST_TRIED", 10**6)
    whole = row_bound(census, 9, "set", "glm", Watch(), "best")
    monkeypatch.setattr(bounds, "FEW_TRIED", tried)
    monkeypatch.setattr(bounds, "MOST_TRIED", tried)
    monkeypatch.setattr(bounds, "DEEPEST", deepest)
    monkeypatch.setattr(bounds, "CANDIDATES", candidates)
    assert row_bound(census, 9, "set", "glm", Watch(), "best") < whole


def test_a_bound_that_would_be_cut_short_is_not_begun() -> None:
    table = pa.table({"age": [20, 21, 29, 30, 31, 60, 61]})
    census = Case(table, Spec(attributes={"age": {"role": "quasi", "order": "numeric"}})).census
    assert row_bound(census, 2, "range", "glm", Watch(time_limit=0.0)) == 0
    assert row_bound(census, 2, "range", "glm", Watch(time_limit=60.0)) == pytest.approx(7 / 41 / 7)


def test_what_holds_for_fewer_rows_holds_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(400)
    names = ("age", "sex", "country", "education")
    attributes = {name: people_spec().attributes[name] for name in names}
    census = Case(table.select([*names]), Spec(attributes=attributes)).census
    monkeypatch.setattr(bounds, "FEW_TRIED", 600)
    monkeypatch.setattr(bounds, "MOST_TRIED", 600)
    monkeypatch.setattr(bounds, "EASY", 30)
    alone = row_bound(census, 30, "set", "glm", Watch())
    monkeypatch.setattr(bounds, "EASY", 5)
    few, both = row_bound(census, 5, "set", "glm", Watch()), row_bound(census, 30, "set", "glm", Watch())
    assert both >= max(few, alone)


@pytest.mark.parametrize("name", ["local", "hilbert", "mondrian", "ring"])
def test_releases_say_what_none_can_lose_less_than(name: str) -> None:
    table = pa.table({"age": [20, 21, 29, 30, 31, 60, 61]})
    spec = Spec(
        attributes={"age": {"role": "quasi", "order": "numeric"}},
        privacy={"k": 2},
        method={"name": name, "metric": "glm"} if name != "mondrian" else {"name": name},
    )
    search = rf.anonymize(table, spec).search
    assert search is not None
    assert search.bound == pytest.approx(7 / 41 / 7)
    assert search.bound <= search.cost
    assert not search.optimal
    assert search.certificate == "row"
