"""Groups improved row by row: the books are kept, nothing gets worse, and what is left cannot be bettered by a step."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.covers import Representation
from ringfence.kernels.groups.chains import improve, take_back
from ringfence.kernels.groups.remaking import LOOKS, remake, tidy
from ringfence.kernels.groups.spans import Geometry, total_loss
from ringfence.samples import people, people_spec
from ringfence.search.groups import improving
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import space_of
from ringfence.search.groups.improving import Effort, Improver, with_itself
from ringfence.search.groups.line import RowLine
from ringfence.search.groups.local import local
from ringfence.search.groups.orders import neighbours
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.search.groups.test_local import check, lined_up, shown_as, small
from tests.tables import Case, cases, count, with_parts


def row_loss(space: Geometry, tuples: Any) -> float:
    """What a row loses that is published with others."""
    return float(total_loss(space, np.asarray(tuples, np.int32), np.array([0, len(tuples)]))) / len(tuples)


def improver_of(line: RowLine, representation: Representation, seed: int = 0) -> Improver:
    """Groups of a line that may change."""
    census, space = line.asked.census, space_of(line.asked.census, representation)
    near = with_itself(neighbours(census, space, line.asked.blocks).near, census.weights)
    return Improver(line, space, line.cut(space, 0.0), near, seed)


def groups_of(improver: Improver) -> list[list[int]]:
    """The rows of each group, in no order."""
    places = improver.places
    return sorted(sorted(places.members[g, : places.sizes[g]].tolist()) for g in np.flatnonzero(places.sizes))


def check_books(improver: Improver, space: Geometry) -> None:
    """All that is kept of groups is what comes out when it is computed anew."""
    places = improver.places
    for row, (home, slot) in enumerate(zip(places.homes, places.slots, strict=True)):
        assert places.members[home, slot] == row
    assert places.sizes.tolist() == np.bincount(places.homes, minlength=len(places.sizes)).tolist()
    assert sorted(places.spare[: places.free[0]].tolist()) == np.flatnonzero(places.sizes == 0).tolist()
    for g in np.flatnonzero(places.sizes).tolist():
        inside = improver.tuples[places.members[g, : places.sizes[g]]]
        assert places.losses[g] == pytest.approx(row_loss(space, inside), abs=1e-9)
        for slot in range(len(inside)):
            others = np.delete(inside, slot)
            expected = row_loss(space, others) if len(others) else 0.0
            assert places.without[places.members[g, slot]] == pytest.approx(expected, abs=1e-9)


@given(
    case=cases(sensitive=1),
    k=small,
    least=small,
    seed=st.integers(0, 3),
    representation=shown_as,
    parted=st.booleans(),
    large=st.sampled_from([0, 10**9]),
)
def test_the_books_are_kept(
    case: Case, k: int, least: int, seed: int, representation: Representation, parted: bool, large: int
) -> None:
    line = lined_up(case, k, least)
    if line is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improving, "LEAST_ROWS", 1 if parted else 10**9)
        patch.setattr(improving, "LARGE", large)
        patch.setattr(improving, "LARGE_IN_TREES", large)
        improver = improver_of(line, representation, seed)
        before = improver.cost
        found, _ = improver.improve(Effort(60, 600, hot=0.5), Watch())
    check(case.census, line.groups(found), k, least)
    check_books(improver, space_of(case.census, representation))
    if large:
        assert improver.cost <= before + 1e-9
    sizes = np.bincount(found)
    sizes = sizes[sizes > 0]
    losses = line.losses(space_of(case.census, representation), np.unique(found, return_inverse=True)[1])
    kept = sizes <= 2 * max(k, least) - 1  # the others do not take part
    weight = improver._asked.size_weight
    assert float((sizes * (losses + weight * sizes))[kept].sum()) <= before + 1e-9  # also of the best while hot


@given(case=cases(sensitive=1, max_rows=14), k=st.integers(2, 3), least=small, representation=shown_as)
def test_a_chain_changes_what_it_says_and_can_be_taken_back(
    case: Case, k: int, least: int, representation: Representation
) -> None:
    line = lined_up(case, k, least)
    if line is None:
        return
    improver = improver_of(line, representation)
    places, (chains, _, room) = improver.places, improver._workers[0]
    for row in range(len(places.homes)):
        before, groups = improver.cost, groups_of(improver)
        chains.noted[0] = 0
        change = improve(improver.space, improver.people, places, improver._asked, row, LOOKS, chains, room)
        assert improver.cost - before == pytest.approx(change, abs=1e-9)
        assert change <= 0
        if change < 0:
            moved = chains.moved[: chains.noted[0]].tolist()
            assert len({*moved}) == len(moved)  # nobody moves twice
            take_back(improver.space, improver.people, places, chains, 0, room)
            assert groups_of(improver) == groups
            assert improver.cost == pytest.approx(before, abs=1e-9)
            improve(improver.space, improver.people, places, improver._asked, row, LOOKS, chains, room)
    check_books(improver, space_of(case.census, representation))


def steps_from(groups: list[list[int]], k: int) -> Iterator[list[list[int]]]:
    """All groups that one row's move, or two rows' exchange, makes of some."""
    for one, first in enumerate(groups):
        for other, second in enumerate(groups):
            for row in first:
                rest = [member for member in first if member != row]
                if other != one and len(first) > k and len(second) < 2 * k - 1:
                    yield [rest, [*second, row]]
                for guest in second if one < other else []:
                    yield [[*rest, guest], [*(member for member in second if member != guest), row]]


@given(case=cases(max_rows=12), k=st.integers(1, 3), representation=st.sampled_from(["set", "range"]))
def test_no_step_betters_what_chains_leave(case: Case, k: int, representation: Representation) -> None:
    """Where all rows are near each other, and losses of one value more never rise."""
    line = lined_up(case, k, 1)
    if line is None or case.census.weights.max() > 3:
        return
    improver = improver_of(line, representation)
    if not len(improver.places.homes):
        return
    cost = np.inf
    while improver.cost < cost - 1e-9:
        cost = improver.cost
        tidy(
            improver.space,
            improver.people,
            improver.places,
            improver._asked,
            0,
            len(improver.places.homes),
            *improver._workers[0],
        )
    space, tuples = space_of(case.census, representation), improver.tuples
    blocks = line.asked.blocks
    groups = groups_of(improver)
    whole = {tuple(sorted(group)): len(group) * row_loss(space, tuples[group]) for group in groups}
    for step in steps_from(groups, k):
        if any(len({*blocks[tuples[group]].tolist()}) > 1 for group in step):
            continue
        rows = {row for group in step for row in group}
        before = sum(lost for group, lost in whole.items() if {*group} <= rows)
        assert sum(len(group) * row_loss(space, tuples[group]) for group in step) >= before - 1e-9


@given(
    case=cases(sensitive=1, max_rows=14),
    k=st.integers(1, 3),
    least=small,
    representation=shown_as,
    seed=st.integers(0, 9),
)
def test_groups_made_anew_are_better_or_as_they_were(
    case: Case, k: int, least: int, representation: Representation, seed: int
) -> None:
    line = lined_up(case, k, least)
    if line is None:
        return
    improver = improver_of(line, representation, seed)
    if not len(improver.places.homes):
        return
    for _ in range(10):
        before = improver.cost
        remake(
            improver.space, improver.people, improver.places, improver._asked, 0, len(improver.places.homes), 1,
            *improver._workers[0],
        )  # fmt: skip
        check_books(improver, space_of(case.census, representation))
        assert improver.cost <= before + 1e-9


def least_loss(space: Geometry, rows: int, k: int) -> float:
    """What rows lose in the best groups of all: those of the first row, with the best of what is left."""
    best: dict[int, float] = {0: 0.0}
    for left in range(1, 1 << rows):
        inside = [row for row in range(rows) if left >> row & 1]
        best[left] = min(
            (
                len(group) * row_loss(space, group) + best[left - sum(1 << row for row in group)]
                for size in range(k, min(len(inside), 2 * k - 1) + 1)
                for group in ([inside[0], *others] for others in combinations(inside[1:], size - 1))
            ),
            default=np.inf,
        )
    return best[(1 << rows) - 1]


@pytest.mark.parametrize("k", [2, 3])
def test_tiny_tables_are_solved(k: int) -> None:
    number, numbers = {"role": "quasi", "order": "numeric"}, np.random.default_rng(k)
    spec = Spec(attributes={"x": number, "y": number, "z": {"role": "quasi", "hierarchy": "flat"}})
    for _ in range(8):
        columns = {"x": numbers.permutation(20)[:9], "y": numbers.integers(0, 20, 9), "z": numbers.choice([*"abcd"], 9)}
        census = count(pa.table(columns), spec)
        _, search = local(census, GroupsAsked(k, representation="set"))
        assert search.cost * 9 == pytest.approx(least_loss(space_of(census, "set"), 9, k))


def test_groups_do_not_depend_on_who_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("age", "sex", "country", "education", "postcode")
    spec = Spec(attributes={name: people_spec().attributes[name] for name in names})
    census = Case(people(6_000).select([*names]), spec).census
    assert len(census.weights) > improving.LEAST_ROWS * (improving.PARTS - 1)
    side_by_side = local(census, GroupsAsked(5))[0]
    monkeypatch.setattr(improving, "ThreadPoolExecutor", lambda _: ThreadPoolExecutor(1))
    in_turn = local(census, GroupsAsked(5))[0]
    monkeypatch.setattr(improving, "LEAST_ROWS", 10**9)
    whole = local(census, GroupsAsked(5))[0]
    assert np.array_equal(side_by_side.group, in_turn.group)
    assert np.array_equal(side_by_side.tuples, in_turn.tuples)
    assert not np.array_equal(side_by_side.group, whole.group)  # they did divide the rows


def test_it_makes_no_difference_how_often_the_time_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit can be kept only if pieces are short, and the same seed must give the same groups all the same."""
    spec = with_parts(people_spec(), method={"name": "local", "seed": 4}, privacy={"k": 3})
    expired, plans = Watch.expired, []
    looks: list[int] = []

    def looked(watch: Watch) -> bool:
        looks[-1] += 1
        return expired(watch)

    monkeypatch.setattr(Watch, "expired", looked)
    for seconds in (0.0, 1e9):
        looks.append(0)
        monkeypatch.setattr(improving, "PIECE", seconds)
        plans.append(rf.anonymize(people(2_000), spec).plan)
    assert looks[0] > 2 * looks[1]
    assert plans[0] == plans[1]
