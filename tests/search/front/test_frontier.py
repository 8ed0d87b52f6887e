"""Fronts against brute force from the definitions, and their kernels against slow twins."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, isclose, log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.arrays import Longs
from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.front import costs_by_k as kernels
from ringfence.methods import decide
from ringfence.search.front import node_costs
from ringfence.search.front.frontier import Front, Point, exact_front, undominated
from ringfence.search.front.node_costs import NodeCosts, walk
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.definitions import Best as BestNode
from tests.definitions import (
    Class,
    best_node,
    classes_at,
    distinct,
    earth_mover,
    ground_distance,
    k_anonymous,
    loss_of,
    recursive,
    union,
)
from tests.search.recode.test_lattice import SUPPRESSION, TREE
from tests.tables import Case, all_nodes, cases, limit_of, with_parts

METRICS = st.sampled_from(["dm", "hdm", "glm", "ncp", "ce", "gcp", "ntil"])
CELLS = st.sampled_from([1, 6, 40, 256])  # how many inner attributes there are depends on it
TARGET = "s0"


def full_spec(case: Case, metric: str, suppression: float, points: str = "release", k: int | None = None) -> Spec:
    """The case's specification with a loss, what may be suppressed, and what counts as a point."""
    return with_parts(
        case.spec,
        privacy={} if k is None else {"k": k},
        method={"metric": metric, "suppression": suppression, "target": TARGET},
        frontier={"points": points},
    )


def front_of(census: Census, spec: Spec, cells: int = 256) -> Front | None:
    """The front, or None if there is none; with at most so many combinations of inner leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_costs, "CELLS_AT_MOST", cells)
        try:
            return exact_front(census, spec, Watch())
        except Unsatisfiable:
            return None


def same(one: float, other: float) -> bool:
    """Whether two losses are equal but for rounding."""
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class Release:
    """A node at some k, by the definitions."""

    k: int
    loss: float
    suppressed: int
    classes: int
    levels: tuple[int, ...]


def release(census: Census, levels: tuple[int, ...], k: int, metric: str, limit: int) -> Release | None:
    """What a node is at k, if it can be had."""
    everything = classes_at(census, levels)
    kept, lost = [c for c in everything if c.size >= k], [c for c in everything if c.size < k]
    suppressed = sum(c.size for c in lost)
    if not kept or suppressed > limit:
        return None
    loss = loss_of(metric, census, levels, kept, lost, k, 0)
    return Release(k, loss, suppressed, len(kept), levels)


def node_release(census: Census, levels: tuple[int, ...], metric: str, limit: int) -> Release:
    """A node at its largest k: the largest j such that at most so many rows, and not all, are in smaller classes."""
    sizes = [c.size for c in classes_at(census, levels)]
    k = max(j for j in range(1, max(sizes) + 1) if sum(size for size in sizes if size < j) <= limit)
    found = release(census, levels, k, metric, limit)
    assert found is not None
    return found


def dominates(one: Release, other: Release) -> bool:
    """Whether one release has no smaller k and no larger loss than another, and is better in one of both."""
    cheaper = one.loss < other.loss and not same(one.loss, other.loss)
    no_dearer = one.loss < other.loss or same(one.loss, other.loss)
    return (one.k >= other.k and cheaper) or (one.k > other.k and no_dearer)


def agree(point: Point, expected: Release) -> bool:
    """Whether a point is the release that was expected."""
    exactly = (point.k, point.suppressed, point.classes, point.levels)
    return same(point.loss, expected.loss) and exactly == (
        expected.k,
        expected.suppressed,
        expected.classes,
        expected.levels,
    )


@given(
    case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION, cells=CELLS, least=st.sampled_from([None, 1, 4])
)
def test_the_best_for_every_k_is_that_of_brute_force(
    case: Case, metric: str, suppression: float, cells: int, least: int | None
) -> None:
    spec = full_spec(case, metric, suppression, k=least)
    census = Case(case.table, spec).census
    front, limit = front_of(census, spec, cells), limit_of(suppression, census.rows)
    start = max(2, least or 2)
    expected: dict[int, BestNode] = {}
    for k in range(start, census.rows + 1):
        found = best_node(census, [k_anonymous(k)], metric, limit, k=k, target=0)
        if found is not None:
            expected[k] = found
    if front is None:
        assert not expected
        return
    assert front.complete
    assert sorted(expected) == list(range(start, max(expected) + 1))
    for k, best in expected.items():
        point = front.best(k)
        assert same(point.loss, best.cost)
        assert (point.suppressed, point.levels) == (best.suppressed, best.levels)
        assert point.classes == sum(c.size >= k for c in classes_at(census, best.levels))
        assert point.k >= k
    with pytest.raises(Unsatisfiable, match=f"largest k that is possible is {max(expected)}"):
        front.best(max(expected) + 1)
    with pytest.raises(SpecError, match=f"starts at {start}"):
        front.best(start - 1)
    # A point for each k after which the least loss grows.
    grows = [k for k in expected if k + 1 not in expected or not same(expected[k].cost, expected[k + 1].cost)]
    assert [point.k for point in front.points] == grows
    changes = [k for k in expected if expected.get(k + 1) != expected[k]]
    assert {point.k for point in front.answers} <= set(changes)


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION, cells=CELLS)
def test_no_point_is_dominated_and_every_release_is(case: Case, metric: str, suppression: float, cells: int) -> None:
    spec = full_spec(case, metric, suppression)
    census = Case(case.table, spec).census
    front, limit = front_of(census, spec, cells), limit_of(suppression, census.rows)
    pairs = itertools.product(all_nodes(census), range(2, census.rows + 1))
    releases = [found for levels, k in pairs if (found := release(census, levels, k, metric, limit))]
    if front is None:
        assert not releases
        return
    points = [release(census, point.levels, point.k, metric, limit) for point in front.points]
    for point, truth in zip(front.points, points, strict=True):
        assert truth is not None
        assert agree(point, truth)
        assert not any(dominates(other, truth) for other in releases)
    for some in releases:
        assert any(
            truth and (dominates(truth, some) or (truth.k == some.k and same(truth.loss, some.loss)))
            for truth in points
        )


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION)
def test_for_every_k_the_level_search_finds_the_same(case: Case, metric: str, suppression: float) -> None:
    spec = full_spec(case, metric, suppression)
    census = Case(case.table, spec).census
    front = front_of(census, spec)
    for k in range(2, census.rows + 2):
        asked = with_parts(spec, privacy={"k": k})
        if front is None or k > front.points[-1].k:
            with pytest.raises(Unsatisfiable):
                decide(census, asked, Watch())
            continue
        decision, point = decide(census, asked, Watch()), front.best(k)
        assert decision.search is not None
        assert point.loss == pytest.approx(decision.search.cost, rel=1e-12, abs=1e-15)
        assert point.levels == tuple(decision.plan.levels.values())
        assert point.suppressed == decision.plan.suppressed_rows
        assert point.classes == decision.metrics["classes"]


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION, cells=CELLS)
def test_the_front_of_nodes_is_that_of_brute_force(case: Case, metric: str, suppression: float, cells: int) -> None:
    spec = full_spec(case, metric, suppression, points="nodes")
    census = Case(case.table, spec).census
    front, limit = front_of(census, spec, cells), limit_of(suppression, census.rows)
    nodes = [node_release(census, levels, metric, limit) for levels in all_nodes(census)]
    nodes = [node for node in nodes if node.k >= 2]
    if front is None:
        assert not nodes
        return
    best = [node for node in nodes if not any(dominates(other, node) for other in nodes)]
    expected = [
        min((node for node in best if node.k == k), key=lambda node: node.levels) for k in sorted({n.k for n in best})
    ]
    assert len(front.points) == len(expected)
    assert all(agree(point, node) for point, node in zip(front.points, expected, strict=True))
    assert sorted(front.cloud_k.tolist()) == sorted(node.k for node in nodes)
    assert np.allclose(np.sort(front.cloud_loss), sorted(node.loss for node in nodes), rtol=1e-9)
    assert len(nodes) <= front.nodes <= front.lattice == len(list(all_nodes(census)))


# Three objectives.


@st.composite
def third_objectives(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one promise besides k."""
    kind = draw(st.sampled_from(["distinct", "entropy", "recursive", "p", "t"]))
    if kind == "p":
        return {"p": draw(st.integers(1, 2))}
    if kind == "t":
        distance = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
        return {"t": {"value": draw(st.sampled_from([1.0, 0.4])), "of": "s0", "distance": distance}}
    c = {"c": draw(st.sampled_from([0.5, 1.0, 2.5]))} if kind == "recursive" else {}
    return {"l": {"value": draw(st.integers(1, 2)), "kind": kind, "of": "s0", **c}}


def measured(privacy: dict[str, Any], census: Census, classes: Sequence[Class]) -> float:
    """What some classes have of the promise, by its definition."""
    where = {part.name: position for position, part in enumerate(census.sensitive)}
    if "p" in privacy:
        return min(len(c.histograms[where[name]]) for c in classes for name in ("s0", "s1"))
    attribute = where["s0"]
    if "t" in privacy:
        whole = union(classes, attribute)
        cost = ground_distance(privacy["t"]["distance"], census.sensitive[attribute], whole)
        return max(float(earth_mover(c.histograms[attribute], whole, cost)) for c in classes)
    asked = privacy["l"]
    if asked["kind"] == "distinct":
        return max(n for n in range(9) if all(distinct(attribute, n)(c, classes) for c in classes))
    if asked["kind"] == "recursive":
        holding = [n for n in range(1, 9) if all(recursive(attribute, asked["c"], n)(c, classes) for c in classes)]
        return max(holding, default=0)
    shares = [[count / c.size for count in c.histograms[attribute].values()] for c in classes]
    return exp(min(-sum(share * log(share) for share in of_class) for of_class in shares))


@given(case=cases(sensitive=2), privacy=third_objectives(), metric=METRICS, k=st.sampled_from([None, 3]))
def test_the_front_of_three_is_that_of_brute_force(
    case: Case, privacy: dict[str, Any], metric: str, k: int | None
) -> None:
    attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    attributes["s0"] |= {"hierarchy": {"tree": TREE}}
    method = {"metric": metric, "suppression": 0.0, "target": "s1"}
    asked = privacy if k is None else {**privacy, "k": k}
    spec = with_parts(case.spec, attributes=attributes, privacy=asked, method=method)
    census = Case(case.table, spec).census
    target = [part.name for part in census.sensitive].index("s1")
    sign = -1 if "t" in privacy else 1
    promised = privacy["p"] if "p" in privacy else privacy["t" if "t" in privacy else "l"]["value"]
    nodes = []
    for levels in all_nodes(census):
        classes = classes_at(census, levels)
        smallest, third = min(c.size for c in classes), measured(privacy, census, classes)
        if smallest >= (k or 2) and sign * third >= sign * promised - 1e-9:
            loss = loss_of(metric, census, levels, classes, [], 1, target)
            nodes.append((smallest, third, loss, levels))

    def no_worse(one: Any, other: Any) -> bool:
        by_third = sign * one[1] >= sign * other[1] or same(one[1], other[1])
        return bool(one[0] >= other[0] and by_third and (one[2] <= other[2] or same(one[2], other[2])))

    front = front_of(census, spec)
    if front is None:
        assert not nodes
        return
    # Of nodes that are no worse than each other, the lexicographically smallest stands for all.
    expected = [
        node
        for node in nodes
        if not any(no_worse(other, node) and (not no_worse(node, other) or other[3] < node[3]) for other in nodes)
    ]
    found = sorted(front.points, key=lambda point: point.levels)
    assert [point.levels for point in found] == [node[3] for node in expected]
    for point, node in zip(found, expected, strict=True):
        assert point.measured is not None
        assert (point.k, point.suppressed) == (node[0], 0)
        assert same(point.measured, node[1])
        assert same(point.loss, node[2])
    assert front.objective == next(iter(privacy))
    for size in range(k or 2, front.answers[-1].k + 1):
        decision = decide(census, with_parts(spec, privacy={**privacy, "k": size}), Watch())
        assert front.best(size).levels == tuple(decision.plan.levels.values())


# How fronts behave.


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION)
def test_the_order_of_rows_changes_nothing(case: Case, metric: str, suppression: float) -> None:
    spec = full_spec(case, metric, suppression)
    backwards = Case(case.table.take(list(range(case.table.num_rows))[::-1]), spec)
    one, other = front_of(Case(case.table, spec).census, spec), front_of(backwards.census, spec)
    assert (one and one.answers) == (other and other.answers)


def small_case(**parts: Any) -> tuple[Census, Spec]:
    """Six people in two towns."""
    table = pa.table({"town": ["a", "a", "a", "b", "b", "c"], "ill": ["x", "y", "x", "x", "y", "y"]})
    attributes = {"town": {"role": "quasi", "hierarchy": "flat"}, "ill": {"role": "sensitive"}}
    spec = Spec(attributes=attributes, **parts)
    return Case(table, spec).census, spec


def test_a_front_by_hand() -> None:
    census, spec = small_case(method={"metric": "dm", "suppression": 0.5})
    front = exact_front(census, spec, Watch())
    # Level 0 has classes of 3, 2, 1 rows; at k = 2 one row is lost (6), at k = 3 three rows (18). Level 1 has one of 6.
    assert front.points == (
        Point(k=2, loss=9 + 4 + 6, suppressed=1, classes=2, levels=(0,)),
        Point(k=3, loss=9 + 18, suppressed=3, classes=1, levels=(0,)),
        Point(k=6, loss=36, suppressed=0, classes=1, levels=(1,)),
    )
    nodes = exact_front(census, with_parts(spec, frontier={"points": "nodes"}), Watch())
    assert [(point.k, point.loss) for point in nodes.points] == [(3, 27), (6, 36)]
    assert nodes.cloud_k.tolist() == [3, 6]


def test_a_front_cut_short_says_so() -> None:
    census, spec = small_case(method={"metric": "dm", "suppression": 0.5})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_costs, "CELLS_AT_MOST", 1)
        front = exact_front(census, spec, Watch(time_limit=-1.0))  # up after the first node
    assert not front.complete
    assert front.nodes == 1
    assert [point.k for point in front.points] == [2, 3]
    with pytest.raises(Unsatisfiable, match=r"within method\.time_limit"):
        exact_front(census, with_parts(spec, privacy={"k": 2, "t": 0.0}, method={}), Watch(time_limit=-1.0))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"method": {"metric": "aecs"}}, "method.metric = 'aecs'"),
        ({"method": {"metric": "aecs"}, "privacy": {"l": 2}}, "method.metric = 'aecs'"),
        ({"privacy": {"l": 2, "p": 2}}, "one of privacy.l, privacy.p and privacy.t"),
        ({"privacy": {"l": 2}, "method": {"suppression": 0.1}}, "suppress nothing"),
        ({"method": {"metric": "ce"}}, "needs method.target"),
    ],
)
def test_what_has_no_front(parts: dict[str, Any], message: str) -> None:
    census, spec = small_case(**parts)
    with pytest.raises(SpecError, match=message):
        exact_front(census, spec, Watch())


def test_more_people_than_rows() -> None:
    census, spec = small_case(privacy={"k": 10**30})
    with pytest.raises(Unsatisfiable, match="6 rows"):
        exact_front(census, spec, Watch())


# Kernels and their twins.


@st.composite
def entries(draw: st.DrawFn) -> tuple[kernels.Entries, kernels.Inner]:
    """Draw a table of entries and some nodes over their cells."""
    size, cells, count = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(1, 3))

    def ints(low: int, high: int, length: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=length, max_size=length))

    homes = [home for home in range(size) for _ in range(2)]
    weights = np.array(ints(1, 5, size), np.int64)
    table = kernels.Entries(
        contexts=np.array(ints(0, 3, size), np.int32),
        cells=np.array(ints(0, cells - 1, size), np.int32),
        weights=weights,
        sizes=weights,
        spares=np.array(ints(0, 9, size), float),
        homes=np.array(homes, np.int32),
        labels=np.array([0, 2] * size, np.int32),
        label_rows=np.array(ints(1, 5, 2 * size), np.int64),
        label_count=3,
    )
    inner = kernels.Inner(
        blocks=np.array([ints(0, count - 1, cells)], np.int32),
        counts=np.array([count]),
        spares=np.array([ints(0, 9, cells)], float),
        losses=np.array([2.0]),
        numbers=np.array([1]),
        above=np.array([[-1]], np.int32),
    )
    return table, inner


def room_for(table: kernels.Entries, count: int) -> kernels.FrontScratch:
    """Scratch for small tables."""
    size, rows = len(table.weights), int(table.weights.sum())
    places = max(4, size) * count
    return kernels.FrontScratch(
        hopeless=np.zeros(4, np.bool_),
        places=np.empty(size, np.int64),
        steps=np.empty(size, np.int64),
        sums=np.zeros(places, np.int64),
        tops=np.zeros(places, np.int64),
        counts=np.zeros(places * table.label_count, np.int64),
        rows_at=np.zeros(rows + 1, np.int64),
        classes_at=np.zeros(rows + 1, np.int64),
        spare_at=np.zeros(rows + 1),
    )


def longs(size: int, fill: int = 0) -> Longs:
    """So many times the same number."""
    return np.full(size, fill, np.int64)


def best_for(rows: int) -> kernels.Best:
    """No release yet, for any k."""
    return kernels.Best(np.zeros(rows + 1), longs(rows + 1), longs(rows + 1), longs(rows + 1, -1))


def judged_for(nodes: int) -> kernels.Judged:
    """No node judged yet."""
    return kernels.Judged(longs(nodes), np.zeros(nodes), longs(nodes), longs(nodes))


@given(
    drawn=entries(),
    kind=st.sampled_from([kernels.SIZES, kernels.CELLS, kernels.LABELS]),
    people=st.booleans(),
    data=st.data(),
)
def test_judging_a_node(
    drawn: tuple[kernels.Entries, kernels.Inner], kind: int, people: bool, data: st.DataObject
) -> None:
    table, inner = drawn
    if people:  # fewer than there are rows, and every entry is a class by itself
        some = [data.draw(st.integers(1, weight)) for weight in table.weights.tolist()]
        table = table._replace(contexts=np.arange(len(some), dtype=np.int32), sizes=np.array(some, np.int64))
        inner = inner._replace(blocks=np.zeros_like(inner.blocks))
    rows = int(table.weights.sum())
    least, limit = data.draw(st.integers(1, 6)), data.draw(st.integers(0, rows))
    terms, best, judged = kernels.FrontTerms(kind, 4.0, rows, least, limit, people), best_for(rows), judged_for(9)
    room = room_for(table, int(inner.counts[0]))
    looked_at = kernels.judge_nodes(table, inner, 0.5, 6, terms, best, judged, room)
    assert looked_at == 1
    assert not any(part.any() for part in room[3:])

    # The twin: classes as sets of entries; every size of a class as a k.
    classes = defaultdict(list)
    for e in range(len(table.weights)):
        classes[int(table.contexts[e]), int(inner.blocks[0, table.cells[e]])].append(e)
    sizes = {name: int(table.sizes[members].sum()) for name, members in classes.items()}
    held = {name: int(table.weights[members].sum()) for name, members in classes.items()}

    def majority(members: list[int]) -> int:
        counts: Counter[int] = Counter()
        for home, label, weight in zip(table.homes, table.labels, table.label_rows, strict=True):
            counts[int(label)] += int(weight) * (home in members)
        return max(counts.values())

    def spare(name: tuple[int, int]) -> float:
        if kind == kernels.SIZES:
            return float(held[name] * (rows - held[name]))
        if kind == kernels.LABELS:
            return float(majority(classes[name]))
        cell = [table.spares[e] + table.weights[e] * inner.spares[0, table.cells[e]] for e in classes[name]]
        return float(sum(cell))

    base = {
        kernels.SIZES: float(sum(size**2 for size in held.values())),
        kernels.CELLS: 2.5,
        kernels.LABELS: float(rows - sum(majority(members) for members in classes.values())),
    }[kind]
    expected: dict[int, list[float]] = {}
    for k in sorted(set(sizes.values())):
        lost = [name for name in classes if sizes[name] < k]
        suppressed = sum(held[name] for name in lost)
        if k >= least and suppressed <= limit:
            cost = (base + sum(spare(name) for name in lost)) / 4.0
            expected[k] = [cost, suppressed, len(classes) - len(lost), 7]
    assert [k for k in range(rows + 1) if best.node[k] >= 0] == list(expected)
    for k, release in expected.items():
        assert [float(part[k]) for part in best] == pytest.approx(release)
    assert judged.k[7] == max(expected, default=0)
    if expected:
        assert [float(part[7]) for part in judged[1:]] == pytest.approx(expected[max(expected)][:3])


def test_nodes_below_a_hopeless_one_are_left_out() -> None:
    alone, none = longs(2, 1), np.empty(0, np.int32)
    table = kernels.Entries(
        contexts=np.arange(2, dtype=np.int32),
        cells=np.zeros(2, np.int32),
        weights=alone,
        sizes=alone,
        spares=np.empty(0),
        homes=none,
        labels=none,
        label_rows=longs(0),
        label_count=1,
    )
    inner = kernels.Inner(
        blocks=np.zeros((4, 1), np.int32),
        counts=longs(4, 1),
        spares=np.zeros((4, 1)),
        losses=np.zeros(4),
        numbers=np.arange(4),
        above=np.array([[1, 2], [3, -1], [-1, 3], [-1, -1]], np.int32),
    )

    def looked_at(least: int) -> int:
        terms = kernels.FrontTerms(kernels.SIZES, 1.0, 2, least, 1, False)
        return int(kernels.judge_nodes(table, inner, 0.0, 0, terms, best_for(2), judged_for(4), room_for(table, 1)))

    assert looked_at(least=1) == 4
    assert looked_at(least=2) == 1


@given(numbers=st.lists(st.integers(0, 99), max_size=40))
def test_sort(numbers: list[int]) -> None:
    array = np.array(numbers, np.int64)
    kernels._sort(array)
    assert array.tolist() == sorted(numbers)


@given(
    offers=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 4), st.integers(0, 3), st.integers(0, 5)), max_size=8)
)
def test_sweep_finds_the_best_at_or_above_every_k(offers: list[tuple[int, int, int, int]]) -> None:
    best, runs = best_for(8), longs(9)
    for k, cost, lost, node in offers:
        kernels.offer(best, k, float(cost), lost, 1, node)
    answers = runs[: kernels.sweep(best, runs)].tolist()
    assert answers == sorted(answers, reverse=True)
    for k in range(9):
        above = [(cost, lost, node) for at, cost, lost, node in offers if at >= k]
        answer = min((at for at in answers if at >= k), default=None)
        if answer is None:
            assert not above
        else:
            assert (best.cost[answer], best.lost[answer], best.node[answer]) == min(above)


@given(case=cases(), data=st.data())
def test_cells_and_spares_of_entries(case: Case, data: st.DataObject) -> None:
    census = case.census
    lattice_costs = NodeCosts(census, case.spec, 2)
    inner = data.draw(st.lists(st.integers(0, len(census.quasi) - 1), min_size=1, unique=True))
    leaves = [census.quasi[a].hierarchy.leaves for a in inner]
    strides = np.array([int(np.prod(leaves[i + 1 :])) for i in range(len(leaves))], np.int64)
    fields, finest = lattice_costs.roller.fields([(a, 0) for a in inner]), lattice_costs.roller.finest
    cells = np.empty(finest.size, np.int32)
    kernels.number_cells(finest.keys, finest.size, fields, strides, cells)
    codes = census.codes[:, inner]
    assert cells.tolist() == [sum(int(c) * int(s) for c, s in zip(row, strides, strict=True)) for row in codes]

    per_leaf = lattice_costs.roller.per_leaf(lambda _, recoding: np.arange(recoding.hierarchy.leaves) + 0.0, np.float64)
    savings = per_leaf.numbers()
    spares = np.empty(finest.size)
    for tallies in (
        np.empty((0, finest.size)),
        np.arange(len(inner) * finest.size, dtype=float).reshape(len(inner), -1),
    ):
        kernels.add_up_spares(finest.keys, finest.weights, tallies, finest.size, fields, savings, spares)
        for e, row in enumerate(codes):
            rows = tallies[:, e] if len(tallies) else [finest.weights[e]] * len(inner)
            assert spares[e] == pytest.approx(sum(int(c) * float(n) for c, n in zip(row, rows, strict=True)))


@given(
    points=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2])), max_size=12
    )
)
def test_undominated(points: list[tuple[int, int, float]]) -> None:
    if not points:
        return
    k, goodness, loss = (np.array(part) for part in zip(*points, strict=True))
    rounded = [(a, b, -round(c, 9)) for a, b, c in points]

    def beaten(i: int) -> Iterator[bool]:
        for j, other in enumerate(rounded):
            no_worse = all(x >= y for x, y in zip(other, rounded[i], strict=True))
            yield no_worse and (other != rounded[i] or j < i)

    expected = {i for i in range(len(points)) if not any(beaten(i))}
    found = undominated(k, goodness.astype(float), loss)
    assert set(found.tolist()) == expected
    assert k[found].tolist() == sorted(k[found].tolist())


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION)
def test_a_node_looked_up_is_the_node_of_the_whole_ledger(case: Case, metric: str, suppression: float) -> None:
    spec = full_spec(case, metric, suppression)
    census = Case(case.table, spec).census
    whole, single = NodeCosts(census, spec, 1), NodeCosts(census, spec, 1, by_one=True)
    assert whole.fill(Watch())
    for number, levels in enumerate(all_nodes(census)):
        assert single.number(levels) == number
        assert single.levels(number) == levels
        assert single.look_up(levels) == number
        for one, other in zip(whole.judged, single.judged, strict=True):
            assert one[number] == pytest.approx(other[number], rel=1e-12)
    assert whole.judged.cost.max() < inf


@given(case=cases(sensitive=1))
def test_walk_visits_every_node_with_its_classes(case: Case) -> None:
    spec = full_spec(case, "ce", 0.0)
    census = Case(case.table, spec).census
    order = list(range(len(census.quasi)))[::-1]
    seen = []
    for levels, classes in walk(NodeCosts(census, spec, 2).roller, order, values=True):
        seen.append(tuple(levels))
        expected = sorted(c.size for c in classes_at(census, tuple(levels)))
        assert sorted(classes.weights[: classes.size].tolist()) == expected
        pairs = classes.pairs[0]
        rows = np.bincount(pairs.homes[: pairs.size], pairs.weights[: pairs.size])
        assert rows.tolist() == classes.weights[: classes.size].tolist()
    assert sorted(seen) == list(all_nodes(census))
