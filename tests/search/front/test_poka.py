"""POkA against the paper's functions written out, and against the exact front where it must find it."""

from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.search.front.frontier import Front, Point, exact_front
from ringfence.search.front.poka import Agreement, poka_front, recall_precision, search_depth
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.search.front.test_frontier import METRICS, Release, agree, node_release, same
from tests.search.recode.test_lattice import SUPPRESSION
from tests.tables import Case, all_nodes, cases, limit_of, with_parts

DEPTH = st.sampled_from([1, 2, 3, "average", 99])
Levels = tuple[int, ...]


def full_spec(case: Case, metric: str, suppression: float, depth: int | str) -> Spec:
    """The case's specification with a loss, what may be suppressed, and how far POkA descends."""
    method = {"metric": metric, "suppression": suppression, "target": "s0"}
    return with_parts(case.spec, method=method, frontier={"algorithm": "poka", "points": "nodes", "depth": depth})


def carefully(spec: Spec) -> Spec:
    """The same, with a careful search."""
    return spec.model_copy(update={"frontier": spec.frontier.model_copy(update={"careful": True})})


def found_by(census: Census, spec: Spec, *, careful: bool = False) -> Front | None:
    """What POkA finds, or None if that is nothing."""
    try:
        return poka_front(census, carefully(spec) if careful else spec, Watch())
    except Unsatisfiable:
        return None


class Paper:
    """Functions 1 to 3 of the paper, as they are printed, on nodes that are evaluated beforehand."""

    def __init__(self, nodes: dict[Levels, Release], heights: Levels, depth: int) -> None:
        self.nodes, self.heights, self.depth = nodes, heights, depth
        self.evaluated: set[Levels] = set()
        self.height_lists: dict[Levels, Release | None] = {}

    def evaluate(self, levels: Levels) -> Release:
        """Return k and loss of a node, and note that it was asked for."""
        self.evaluated.add(levels)
        return self.nodes[levels]

    def better(self, one: Release | None, other: Release | None) -> Release | None:
        """Return the release with the larger k, else the smaller loss, else the smaller levels."""
        if one is None or other is None:
            return one or other
        if one.k != other.k:
            return max(one, other, key=lambda release: release.k)
        if same(one.loss, other.loss):
            return min(one, other, key=lambda release: release.levels)
        return min(one, other, key=lambda release: release.loss)

    def below(self, levels: Levels) -> bool:
        """Whether a node is in the specialization graph of the base."""
        return all(level <= top for level, top in zip(levels, self.base.levels, strict=True))

    def distance(self, levels: Levels) -> int:
        """The sum of differences in level from the base."""
        return sum(abs(level - top) for level, top in zip(levels, self.base.levels, strict=True))

    def smaller(self, one: Release) -> bool:
        """Whether k and loss are below the base's."""
        return one.k < self.base.k and one.loss < self.base.loss and not same(one.loss, self.base.loss)

    def height_search(self, levels: Levels, use: bool) -> Release | None:
        """Function 1."""
        if levels in self.height_lists:
            return self.height_lists[levels]
        found = self.nodes[levels] if use else None
        for a, height in enumerate(self.heights):
            if levels[a] == height:
                continue
            child = tuple(level + (a == b) for b, level in enumerate(levels))
            if self.below(child) and self.distance(child) > 1:
                candidate = self.height_search(child, use=False)
            elif self.smaller(self.evaluate(child)):
                candidate = self.height_search(child, use=True)
            else:
                candidate = None
            found = self.better(found, candidate)
        self.height_lists[levels] = found
        return found

    def depth_search(self, levels: Levels) -> Release | None:
        """Function 2; the bottom of the lattice is climbed from wherever it is met."""
        found = None
        for a, level in enumerate(levels):
            if level == 0:
                continue
            child = tuple(other - (a == b) for b, other in enumerate(levels))
            if self.distance(child) == self.depth or not any(child):
                if self.distance(child) > 1:
                    candidate = self.height_search(child, use=False)
                else:
                    candidate = self.height_search(child, use=True) if self.smaller(self.evaluate(child)) else None
            else:
                candidate = self.depth_search(child)
            found = self.better(found, candidate)
        return found

    def poka(self) -> list[Release]:
        """Function 3."""
        self.base = self.evaluate(self.heights)
        found = [self.base]
        while self.base.k > 2:
            self.height_lists = {}
            following = self.depth_search(self.base.levels)
            if following is None:
                break
            self.base = following
            found.append(following)
        return [release for release in reversed(found) if release.k >= 2]


def nodes_of(census: Census, metric: str, suppression: float) -> dict[Levels, Release]:
    """Every node at its largest k, by the definitions."""
    limit = limit_of(suppression, census.rows)
    return {levels: node_release(census, levels, metric, limit) for levels in all_nodes(census)}


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION, depth=DEPTH)
def test_poka_is_what_the_paper_prints(case: Case, metric: str, suppression: float, depth: int | str) -> None:
    spec = full_spec(case, metric, suppression, depth)
    census = Case(case.table, spec).census
    nodes = nodes_of(census, metric, suppression)
    paper = Paper(nodes, census.heights, search_depth(spec, census))
    expected, front = paper.poka(), found_by(census, spec)
    if front is None:
        assert not expected
        return
    assert [point.levels for point in front.points] == [release.levels for release in expected]
    assert all(agree(point, release) for point, release in zip(front.points, expected, strict=True))
    assert front.nodes == len(paper.evaluated) <= front.lattice == len(nodes)
    assert sorted(front.cloud_k.tolist()) == sorted(nodes[node].k for node in paper.evaluated if nodes[node].k >= 2)


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION, depth=DEPTH, careful=st.booleans())
def test_poka_returns_true_points_none_of_which_dominates_another(
    case: Case,
    metric: str,
    suppression: float,
    depth: int | str,
    careful: bool,
) -> None:
    spec = full_spec(case, metric, suppression, depth)
    census = Case(case.table, spec).census
    front = found_by(census, spec, careful=careful)
    if front is None:
        return
    nodes = nodes_of(census, metric, suppression)
    assert all(agree(point, nodes[point.levels]) for point in front.points)
    assert [point.k for point in front.points] == sorted({point.k for point in front.points})
    losses = [point.loss for point in front.points]
    assert losses == sorted(losses)
    assert not any(same(one, other) for one, other in pairwise(losses))
    exact = exact_front(census, spec, Watch())
    agreement = recall_precision(front, exact)
    right = [p for p in front.points if any(p.k == e.k and same(p.loss, e.loss) for e in exact.points)]
    assert agreement == Agreement(len(right) / len(exact.points), len(right) / len(front.points))


@given(case=cases(sensitive=1), metric=METRICS, suppression=SUPPRESSION)
def test_k_never_falls_and_loss_only_if_rows_are_suppressed(case: Case, metric: str, suppression: float) -> None:
    census = Case(case.table, full_spec(case, metric, suppression, 1)).census
    nodes = nodes_of(census, metric, suppression)
    for levels, finer in nodes.items():
        for a, height in enumerate(census.heights):
            if levels[a] < height:
                coarser = nodes[*levels[:a], levels[a] + 1, *levels[a + 1 :]]
                assert coarser.k >= finer.k
                assert finer.suppressed or coarser.loss >= finer.loss or same(coarser.loss, finer.loss)


@given(case=cases(sensitive=1), metric=METRICS)
def test_careful_poka_is_exact_if_it_descends_to_the_bottom_and_nothing_is_suppressed(case: Case, metric: str) -> None:
    spec = full_spec(case, metric, 0.0, 1)
    census = Case(case.table, spec).census
    spec = full_spec(case, metric, 0.0, max(1, sum(census.heights)))
    front = found_by(census, spec, careful=True)
    if front is None:
        with pytest.raises(Unsatisfiable):
            exact_front(census, spec, Watch())
        return
    exact = exact_front(census, spec, Watch())
    assert [point.k for point in front.points] == [point.k for point in exact.points]
    assert np.allclose([p.loss for p in front.points], [p.loss for p in exact.points], rtol=1e-12)
    assert recall_precision(front, exact) == Agreement(1.0, 1.0)


@given(case=cases())
def test_the_average_depth_is_the_mean_height_rounded_up(case: Case) -> None:
    heights = case.census.heights
    assert search_depth(case.spec, case.census) == ceil(sum(heights) / len(heights))
    assert search_depth(with_parts(case.spec, frontier={"depth": 7}), case.census) == 7


def towns(**parts: Any) -> tuple[Census, Spec]:
    """Two people in each of three towns, two of which lie in one county."""
    table = pa.table({"town": ["a", "a", "b", "b", "c", "c"]})
    attribute = {"role": "quasi", "hierarchy": {"tree": {"north": ["a", "b"], "south": ["c"]}}}
    spec = Spec(attributes={"town": attribute}, **parts)
    return Case(table, spec).census, spec


def test_the_paper_misses_a_node_with_the_same_k_further_down() -> None:
    census, spec = towns(method={"metric": "dm", "suppression": 0.0}, frontier={"points": "nodes", "depth": 2})
    exact = exact_front(census, spec, Watch())
    assert [(point.k, point.loss, point.levels) for point in exact.points] == [(2, 12, (0,)), (6, 36, (2,))]
    paper = poka_front(census, spec, Watch())
    assert [(point.k, point.loss, point.levels) for point in paper.points] == [(2, 20, (1,)), (6, 36, (2,))]
    assert paper.nodes == 2
    assert recall_precision(paper, exact) == Agreement(recall=0.5, precision=0.5)
    careful = poka_front(census, carefully(spec), Watch())
    assert careful.points == exact.points
    assert careful.nodes == 3
    assert careful.best(3) == Point(k=6, loss=36, suppressed=0, classes=1, levels=(2,))


def test_poka_knows_only_k() -> None:
    table = pa.table({"town": ["a", "b"], "ill": ["x", "y"]})
    attributes = {"town": {"role": "quasi", "hierarchy": "flat"}, "ill": {"role": "sensitive"}}
    spec = Spec(attributes=attributes, privacy={"l": 2})
    with pytest.raises(SpecError, match=r'"poka" knows only k'):
        poka_front(Case(table, spec).census, spec, Watch())


def test_poka_cut_short_says_so() -> None:
    census, spec = towns(frontier={"depth": 1})
    front = poka_front(census, spec, Watch(time_limit=-1.0))  # up after the first node
    assert not front.complete
    assert [point.levels for point in front.points] == [(2,)]


def test_more_people_than_rows() -> None:
    census, spec = towns(privacy={"k": 7})
    with pytest.raises(Unsatisfiable, match="k = 7"):
        poka_front(census, spec, Watch())


def test_a_specification_asks_for_a_careful_search() -> None:
    table = pa.table({"town": ["a", "a", "b", "b", "c", "c"]})
    spec = Spec(
        attributes={"town": {"role": "quasi", "hierarchy": {"tree": {"north": ["a", "b"], "south": ["c"]}}}},
        method={"suppression": 0, "metric": "dm"},
        frontier={"algorithm": "poka", "careful": True},
    )
    plain = spec.model_copy(update={"frontier": spec.frontier.model_copy(update={"careful": False})})
    assert [len({*rf.frontier(table, each).table["loss"].to_pylist()} & {12.0}) for each in (spec, plain)] == [1, 0]
    exact = spec.model_copy(update={"frontier": spec.frontier.model_copy(update={"algorithm": "exact"})})
    with pytest.raises(SpecError, match=r"frontier\.careful with frontier\.algorithm = 'exact'.*'poka'"):
        rf.frontier(table, exact)
