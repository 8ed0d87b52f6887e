"""Hilbert, Mondrian and local recoding against plain Python: losses, orders, cuts, and what their groups must have."""

import csv
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.papers.pages import DOCS
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.errors import Unsatisfiable
from ringfence.events import Event
from ringfence.judging.metrics import measure_groups
from ringfence.judging.models import promise
from ringfence.kernels.groups.cutting import NEVER, last_starts
from ringfence.kernels.groups.hilbert_curve import transpose_to_curve
from ringfence.kernels.groups.spans import distance, new_span, total_loss
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept, space_of
from ringfence.search.groups.hilbert import hilbert
from ringfence.search.groups.line import RowLine, line_up, request
from ringfence.search.groups.local import local
from ringfence.search.groups.mondrian import mondrian
from ringfence.search.groups.orders import gray_order, hilbert_order, improved_order, neighbours
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.groupings import cell_loss, cheapest_cut, group_loss, holds
from tests.tables import Case, cases, count, with_parts

SHOWN: list[Representation] = ["set", "range", "hierarchy"]
shown_as = st.sampled_from(SHOWN)
small = st.integers(1, 3)


def complete(case: Case) -> Case:
    """The rows that miss no value: on a line, losses with a missing value are not GLM."""
    whole = [row for row in case.rows() if None not in row.values()]
    assume(whole)
    return Case(pa.Table.from_pylist(whole, case.table.schema), case.spec)


def lined_up(case: Case, k: int, least: int, order: Any = gray_order) -> RowLine | None:
    """The rows of a case in some order, or None where there is no release."""
    census = case.census
    values = [least] * len(census.sensitive)
    try:
        asked = request(census, GroupsAsked(k, values, limit=census.rows))
    except Unsatisfiable:
        return None
    return line_up(asked, order(census))


def check(census: Census, groups: Groups, k: int, least: int) -> None:
    """Every group has k rows, enough values, and rows of one ceiling only."""
    assert (groups.sizes >= k).all()
    combined = groups.combinations
    for group in range(groups.count):
        inside = groups.combination[groups.group == group]
        values = [tuple(row) for row in combined.values[inside].tolist()]
        assert all(len({row[s] for row in values}) >= least for s in range(len(combined.attributes)))
        for a, quasi in enumerate(census.quasi):
            assert len({*quasi.hierarchy.ceilings[census.codes[combined.tuples[inside], a]].tolist()}) == 1


@given(case=cases(), representation=shown_as, loss=st.sampled_from(["glm", "gcp", "use"]), data=st.data())
def test_spans_lose_what_metrics_measure(
    case: Case, representation: Representation, loss: Kept, data: st.DataObject
) -> None:
    case = complete(case)
    line = lined_up(case, 1, 1)
    assert line is not None
    census, space = case.census, space_of(case.census, representation, loss)
    drawn = np.sort(data.draw(st.lists(st.integers(0, 3), min_size=len(line.tuples), max_size=len(line.tuples))))
    homes = drawn + 4 * np.searchsorted(line.bounds, np.arange(len(drawn)), side="right")  # none crosses a block
    total = line.loss(space, homes)
    groups = line.groups(homes)
    shown = cover_groups(census, groups, representation)
    assert measure_groups(census, case.spec, groups.sizes, shown)[loss] * census.rows == pytest.approx(total)
    if loss == "glm":
        by_hand = sum(
            group_loss(census, [tuple(census.codes[t]) for t in line.tuples[homes == home]], representation)
            for home in homes.tolist()
        )
        assert total == pytest.approx(float(by_hand))


def test_more_values_than_a_word_has_bits() -> None:
    values = [f"v{i:03}" for i in range(200)]
    table = pa.table({"a": [*values, "v000"], "b": [*"xy" * 100, "x"]})
    spec = Spec(attributes={name: {"role": "quasi", "hierarchy": "flat"} for name in ("a", "b")})
    census = count(table, spec)
    space = space_of(census, "set")
    everything = np.arange(len(census.weights), dtype=np.int32)
    assert total_loss(space, everything, np.array([0, len(everything)])) == pytest.approx(len(everything))
    pair = np.array([0, 1], np.int32)
    assert distance(space, 0, 1, new_span(space)) == pytest.approx((1 / 199 + 1) / 2)
    assert total_loss(space, pair, np.array([0, 2])) == pytest.approx(1 / 199 + 1)


@given(data=st.data(), k=st.integers(1, 4))
def test_last_starts_are_the_last_that_suffice(data: st.DataObject, k: int) -> None:
    least = data.draw(st.lists(st.integers(1, 3), max_size=2))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2) for _ in least]), min_size=1, max_size=10))
    values = np.array(rows, np.int32).reshape(len(rows), len(least)) + 3 * np.arange(len(least), dtype=np.int32)
    starts = np.empty(len(rows) + 1, np.int64)
    last_starts(values, np.arange(0, 3 * len(least) + 1, 3), k, np.array(least, np.int64), starts)
    for j in range(len(rows) + 1):
        assert starts[j] == max((i for i in range(j) if holds(rows[i:j], k, least)), default=NEVER)


@given(case=cases(sensitive=1, max_rows=9), k=small, least=small, representation=shown_as)
def test_no_cut_of_the_same_line_loses_less(case: Case, k: int, least: int, representation: Representation) -> None:
    case = complete(case)
    line = lined_up(case, k, least, hilbert_order)
    if line is None:
        return
    census = case.census
    homes = line.cut(space_of(census, representation), 0.0)
    check(census, line.groups(homes), k, least)
    assert (np.diff(homes) >= 0).all()
    by_hand = 0.0
    for first, stop in pairwise(line.bounds.tolist()):
        rows = [tuple(census.codes[t]) for t in line.tuples[first:stop]]
        values = [tuple(row) for row in line.values[first:stop].tolist()]
        best = cheapest_cut(census, rows, values, k, line.asked.least.tolist(), representation)
        assert best is not None
        by_hand += float(best)
    assert line.loss(space_of(census, representation), homes) == pytest.approx(by_hand)
    if not line.asked.looked_at:
        assert np.bincount(homes).max() <= 2 * k - 1


@given(case=cases(sensitive=2), k=small, least=small)
def test_gathered_groups_have_all_they_need(case: Case, k: int, least: int) -> None:
    line = lined_up(case, k, least)
    if line is None:
        return
    groups = line.groups(line.gather())
    check(case.census, groups, k, least)
    assert groups.sizes.sum() == case.census.rows - line.asked.suppressed


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2)])
def test_a_hilbert_curve_passes_every_point_step_by_step(dimensions: int, bits: int) -> None:
    points = np.array(list(product(range(1 << bits), repeat=dimensions)), np.int64)
    places = points.copy()
    transpose_to_curve(places, bits)
    digits = [(places[:, d] >> bit) & 1 for bit in reversed(range(bits)) for d in range(dimensions)]
    number = sum(digit << shift for shift, digit in enumerate(reversed(digits)))
    assert sorted(number.tolist()) == list(range(len(points)))
    steps = np.abs(np.diff(points[np.argsort(number)], axis=0))
    assert (steps.sum(axis=1) == 1).all()


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_the_gray_order_of_all_tuples_takes_single_steps(sizes: list[int]) -> None:
    rows = list(product(*[range(size) for size in sizes]))
    names = [f"q{a}" for a in range(len(sizes))]
    spec = Spec(attributes={name: {"role": "quasi", "order": "numeric"} for name in names})
    census = count(pa.table({name: [row[a] for row in rows] for a, name in enumerate(names)}), spec)
    ordered = census.codes[gray_order(census)].astype(np.int64)
    assert sorted(map(tuple, ordered.tolist())) == rows
    assert (np.abs(np.diff(ordered, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("hurried", [False, True])
@given(case=cases(), representation=shown_as)
def test_orders_are_permutations_and_get_shorter(hurried: bool, case: Case, representation: Representation) -> None:
    census, watch = case.census, Watch(time_limit=1e-9 if hurried else None)
    space, asked = space_of(census, representation), request(census, GroupsAsked(1))
    found = neighbours(census, space, asked.blocks, watch=watch)
    span = new_span(space)

    def length(order: Any) -> float:
        return float(sum(distance(space, one, other, span) for one, other in pairwise(order.tolist())))

    for t, (near, losses) in enumerate(zip(found.near.tolist(), found.losses.tolist(), strict=True)):
        there = [other for other in near if other >= 0]
        assert t not in there
        assert len({*there}) == len(there)
        assert losses == sorted(losses)
        assert losses[: len(there)] == [distance(space, t, other, span) for other in there]
        assert all(asked.blocks[other] == asked.blocks[t] for other in there)
    for whole in (hilbert_order(census), gray_order(census)):
        assert sorted(whole.tolist()) == list(range(len(census.weights)))
        order = whole[np.argsort(asked.blocks[whole], kind="stable")]
        shorter = improved_order(space, order, found, watch)
        assert sorted(shorter.tolist()) == sorted(order.tolist())
        assert length(shorter) <= length(order) + 1e-9


@given(case=cases(sensitive=1), k=small, least=small, representation=shown_as, data=st.data())
def test_classes_cut_anew_lose_no_more_and_are_no_larger(
    case: Case, k: int, least: int, representation: Representation, data: st.DataObject
) -> None:
    line = lined_up(case, k, least)
    if line is None:
        return
    census, space = case.census, space_of(case.census, representation)
    shuffled = np.array(data.draw(st.permutations(range(len(line.tuples)))))
    shuffled = shuffled[np.argsort(np.searchsorted(line.bounds, shuffled, side="right"), kind="stable")]
    mixed = RowLine(line.asked, line.combination[shuffled], line.tuples[shuffled], line.values[shuffled], line.bounds)
    homes = np.empty(len(shuffled), np.int64)
    homes[shuffled] = mixed.cut(space, 0.0)

    def classes(homes: Any) -> Any:
        shown = cover_groups(census, line.groups(homes), representation)
        return np.unique(np.stack([part.value for part in shown], axis=1), axis=0, return_inverse=True)[1].reshape(-1)

    again = line.cut_again(space, homes, classes(homes))
    check(census, line.groups(again), k, least)
    assert line.loss(space, again) <= line.loss(space, homes) + 1e-9
    of_row = classes(homes)[homes]
    kept = (np.bincount(classes(homes)) == 1)[of_row]
    for home in np.unique(homes[kept]).tolist():  # what is under labels of its own stays together
        assert len({*again[homes == home].tolist()}) == 1
    for group in np.unique(again).tolist():  # and no group reaches across classes
        assert len({*of_row[again == group].tolist()}) == 1


@given(case=cases(sensitive=2), k=small, least=small, representation=shown_as)
def test_local_groups_are_never_worse_than_the_cut(
    case: Case, k: int, least: int, representation: Representation
) -> None:
    census = case.census
    values = [least] * len(census.sensitive)

    def search(effort: str, seed: int = 0) -> Any:
        asked = GroupsAsked(k, values, representation=representation, limit=census.rows)
        return local(census, asked, effort=effort, seed=seed)

    try:
        fast, cut = search("fast")
    except Unsatisfiable:
        return
    check(census, fast, k, least)
    good, improved = search("good", 5)
    check(census, good, k, least)
    again, _ = search("good", 5)
    assert again.combination.tolist() == good.combination.tolist()
    assert again.group.tolist() == good.group.tolist()
    assert improved.cost <= cut.cost + 1e-9


@given(case=cases(sensitive=1), k=small, least=small, representation=shown_as)
def test_hilbert_groups_have_all_they_need(case: Case, k: int, least: int, representation: Representation) -> None:
    census = case.census
    values, limit = [least] * len(census.sensitive), census.rows
    try:
        groups, search = hilbert(census, GroupsAsked(k, values, representation=representation, limit=limit))
    except Unsatisfiable:
        return
    check(census, groups, k, least)
    assert 0 <= search.cost <= 1
    if least == 1:
        assert groups.sizes.max() <= 2 * k - 1


@given(case=cases(sensitive=2), k=small, privacy=st.sampled_from([{}, {"p": 2}, {"t": {"value": 0.4, "of": "s0"}}]))
def test_mondrian_cuts_as_long_as_both_halves_hold(case: Case, k: int, privacy: dict[str, Any]) -> None:
    spec = with_parts(case.spec, privacy={"k": k, **privacy})
    census = case.census
    for relaxed in (False, True):
        try:
            groups = mondrian(census, promise(spec, census, census.rows), relaxed=relaxed, limit=census.rows)
        except Unsatisfiable:
            continue
        check(census, groups, k, privacy.get("p", 1))
        if privacy:
            continue
        for group in range(groups.count):
            inside = groups.group == group
            tuples, rows = groups.tuples[inside], groups.rows[inside]
            for a, quasi in enumerate(census.quasi):
                codes = census.codes[tuples, a]
                if quasi.numeric and None in [quasi.hierarchy.labels[leaf] for leaf in codes]:
                    continue
                if cell_loss(quasi, codes.tolist(), "set") == 0:
                    continue
                if relaxed:
                    assert rows.sum() < 2 * k
                    continue
                ranks = quasi.ranks[codes]
                below = [int(rows[ranks <= cut].sum()) for cut in sorted({*ranks.tolist()})[:-1]]
                half = min(below, key=lambda part: abs(2 * part - rows.sum()))
                assert min(half, rows.sum() - half) < k


@given(case=cases(sensitive=1), k=small)
def test_when_time_is_up_the_groups_so_far_hold(case: Case, k: int) -> None:
    census = case.census
    told: list[Event] = []
    for watch in (Watch(1e-9, told.append), Watch(1e-9, told.append, nodes=1)):
        try:
            groups, _ = local(census, GroupsAsked(k, limit=census.rows), watch=watch)
            parts = mondrian(census, promise(with_parts(case.spec, privacy={"k": k}), census, census.rows), watch=watch)
        except Unsatisfiable:
            return
        check(census, groups, k, 1)
        check(census, parts, k, 1)


def rows_of(name: str) -> list[dict[str, str]]:
    """A table of the page that compares the methods."""
    with (DOCS / "local" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["adult-k", "adult-attributes", "census-income"])
def test_local_is_never_worse_than_its_rivals_where_they_were_measured(name: str) -> None:
    losses: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows_of(name):
        losses.setdefault((row["attributes"], row["k"]), {})[row["method"]] = float(row["glm"])
    for measured in losses.values():
        assert measured["local"] <= measured["local, fast"]
        assert measured["local, fast"] <= min(measured["hilbert"], measured["mondrian"])
