"""Clusters within boundaries: the paper's tables, the definitions, and the kernels' twins in plain Python."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.events import Event
from ringfence.search.groups import cluster as cluster_module
from ringfence.search.groups import cluster_layout
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.cluster import ClusterResult, cluster, diversity_weights
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.clusterings import CheapestFirst, Cluster, Clusterer, ancestors, clusters_of, in_order, partitions
from tests.tables import Case, cases, count, with_parts

WEIGHTS = (0.3, 0.7)


@st.composite
def bounded(draw: st.DrawFn, max_rows: int = 14) -> Case:
    """A case with two sensitive attributes, in which about half of the quasi-identifiers have a boundary."""
    case = draw(cases(sensitive=2, max_rows=max_rows))
    attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    for quasi in case.census.quasi:
        if draw(st.booleans()):
            attributes[quasi.name]["boundary"] = {"level": draw(st.integers(0, quasi.hierarchy.height))}
    return Case(case.table, with_parts(case.spec, attributes=attributes))


ASKED = st.tuples(st.integers(1, 4), st.tuples(st.integers(1, 3), st.integers(1, 3)))
TIES = st.sampled_from(["best", "paper"])


def attempt(case: Case, k: int, least: tuple[int, ...], **parts: Any) -> ClusterResult | None:
    """An answer that may suppress all but one row, or None where there is none."""
    census = case.census
    try:
        return cluster(census, GroupsAsked(k, least, limit=census.rows - 1), weights=WEIGHTS, **parts)
    except Unsatisfiable:
        return None


# The paper's example: Tables 1 to 4.

PEOPLE = pa.table(
    {
        "marital": ["Married", "Married", "Married", "Single", "Single", "Single", "Single", "Married", "Divorced"],
        "gender": ["Male", "Female", "Male", "Female", "Male", "Female", "Female", "Male", "Female"],
        "age": ["37", "30", "36", "43", "45", "37", "32", "30", "41"],
        "diagnosis": ["Cancer", "Flu", "HIV", "Cancer", "Flu", "Flu", "Flu", "Diabetes", "Diabetes"],
    }
)
AGES = {"20-59": {"30-39": ["30", "32", "36", "37"], "40-49": ["41", "43", "45"]}}
PEOPLE_SPEC = Spec(
    attributes={
        "marital": {"role": "quasi", "hierarchy": {"tree": {"Mar.-Status": ["Married", "Single", "Divorced"]}}},
        "gender": {"role": "quasi", "hierarchy": {"tree": {"Person": ["Male", "Female"]}}},
        "age": {"role": "quasi", "hierarchy": {"tree": AGES}, "boundary": ["30-39", "40-49"]},
        "diagnosis": {"role": "sensitive"},
    }
)
MASKED = {  # the rows of each cluster, counted from 1, and what they are published as
    "MM1": {
        (1, 3, 8): ("Married", "Male", "30-39"),
        (2, 6, 7): ("Mar.-Status", "Female", "30-39"),
        (4, 5, 9): ("Mar.-Status", "Person", "40-49"),
    },
    "MM2": {
        (1, 3, 8): ("Married", "Male", "30-39"),
        (4, 5, 6): ("Single", "Person", "20-59"),
        (2, 7, 9): ("Mar.-Status", "Female", "20-59"),
    },
    "MM3": {
        (1, 2, 8): ("Married", "Person", "30-39"),
        (3, 6, 7): ("Mar.-Status", "Person", "30-39"),
        (4, 5, 9): ("Mar.-Status", "Person", "40-49"),
    },
}


def judged(published: Sequence[tuple[tuple[str, ...], dict[str, str]]], census: Census) -> tuple[int, int, int]:
    """The k and the p of published rows, each with its original, and the cells in which a boundary is broken."""
    classes: dict[tuple[str, ...], list[str]] = {}
    broken = 0
    for labels, original in published:
        classes.setdefault(labels, []).append(original["diagnosis"])
        for quasi, label in zip(census.quasi, labels, strict=True):
            tree = quasi.hierarchy
            leaf = tree.leaf_index[original[quasi.name]]
            allowed = ancestors(tree, leaf)[: ancestors(tree, leaf).index(int(tree.ceilings[leaf])) + 1]
            broken += label not in [tree.labels[node] for node in allowed]
    return min(map(len, classes.values())), min(len(set(values)) for values in classes.values()), broken


@pytest.mark.parametrize(("name", "expected"), [("MM1", (3, 1, 0)), ("MM2", (3, 2, 6)), ("MM3", (3, 2, 0))])
def test_the_papers_masked_tables_are_judged_as_the_paper_says(name: str, expected: tuple[int, int, int]) -> None:
    rows = PEOPLE.to_pylist()
    published = [(labels, rows[i - 1]) for members, labels in MASKED[name].items() for i in members]
    found = judged(published, count(PEOPLE, PEOPLE_SPEC))
    assert found == expected


@pytest.mark.parametrize("ties", ["best", "paper"])
def test_the_papers_table_is_clustered_within_its_constraints(ties: str) -> None:
    census = count(PEOPLE, PEOPLE_SPEC)
    result = cluster(census, GroupsAsked(3, [2]), ties=ties)
    names = list(census.names)
    published = []
    for members, nodes in zip(clusters_of(census, result.groups), result.nodes.tolist(), strict=True):
        labels = tuple(str(q.hierarchy.labels[node]) for q, node in zip(census.quasi, nodes, strict=True))
        for leaves, values in members:
            original = {
                n: str(q.hierarchy.labels[leaf]) for n, q, leaf in zip(names, census.quasi, leaves, strict=True)
            }
            diagnosis = str(census.sensitive[0].hierarchy.labels[values[0]])
            published.append((labels, {**original, "diagnosis": diagnosis}))
    k, p, broken = judged(published, census)
    assert (k >= 3, p >= 2, broken, len(published), result.suppressed) == (True, True, 0, 9, 0)


def test_the_papers_table_loses_no_more_than_the_papers_own_answer() -> None:
    # The cheapest cluster, three married men, leaves three women of whom all have the flu: they joined it, once.
    census, rows = count(PEOPLE, PEOPLE_SPEC), PEOPLE.to_pylist()
    clusterer = Clusterer(census, 3, (2,), (1.0,))
    trees = [quasi.hierarchy for quasi in census.quasi]
    leaves = [tuple(tree.leaf_index[row[name]] for name, tree in zip(census.names, trees, strict=True)) for row in rows]
    printed: list[Cluster] = [[(leaves[i - 1], ()) for i in members] for members in MASKED["MM3"]]
    result = cluster(census, GroupsAsked(3, [2]))
    assert result.ntil == pytest.approx(float(clusterer.ntil(printed, 0)))
    assert result.groups.sizes.tolist() == [3, 3, 3]


# Every answer.


@given(
    case=bounded(),
    asked=ASKED,
    ties=TIES,
    max_group=st.sampled_from([1, 2, 3, 50_000]),
    threads=st.sampled_from([1, 2]),
)
def test_every_cluster_holds_and_stays_within_its_boundaries(
    case: Case, asked: tuple[int, tuple[int, int]], ties: str, max_group: int, threads: int
) -> None:
    k, least = asked
    census = case.census
    clusterer = Clusterer(census, k, least, WEIGHTS)
    out = [row for group in clusterer.maximum_allowed() if not clusterer.holds(group) for row in group]
    result = attempt(case, k, least, ties=ties, max_group=max_group, threads=threads)
    if len(out) == census.rows:
        assert result is None
        return
    assert result is not None
    groups, clusters = result.groups, clusters_of(census, result.groups)
    assert all(clusterer.holds(members) for members in clusters)
    found = groups.combinations
    suppressed = [
        (tuple(census.codes[t].tolist()), tuple(values))
        for t, values, rows in zip(found.tuples, found.values.tolist(), groups.suppressed.tolist(), strict=True)
        for _ in range(rows)
    ]
    assert sorted(suppressed) == sorted(out)
    assert result.suppressed == len(out)
    for members, nodes in zip(clusters, result.nodes.tolist(), strict=True):
        assert tuple(nodes) == clusterer.nodes(members)
        for tree, node, a in zip(clusterer.trees, nodes, range(len(nodes)), strict=True):
            assert all(tree.ceilings[leaves[a]] in ancestors(tree, node) for leaves, _ in members)
    assert result.ntil == pytest.approx(float(clusterer.ntil(clusters, len(out))))
    assert result.loss == pytest.approx(result.ntil * census.rows * len(census.quasi))
    assert result.search.bound <= result.ntil
    assert result.search.certificate == "row"
    if len(out) > 0:
        with pytest.raises(Unsatisfiable, match=f"{len(out)} of {census.rows} rows would have to be suppressed"):
            cluster(census, GroupsAsked(k, least, limit=len(out) - 1), weights=WEIGHTS, ties=ties)


@given(case=bounded(), asked=ASKED)
def test_the_paper_s_clusters_are_those_of_its_pseudo_code(case: Case, asked: tuple[int, tuple[int, int]]) -> None:
    result = attempt(case, *asked, ties="paper")
    if result is not None:
        clusters, suppressed = Clusterer(case.census, *asked, WEIGHTS).greedy()
        assert in_order(clusters_of(case.census, result.groups)) == in_order(clusters)
        assert result.suppressed == suppressed


@given(case=bounded(max_rows=30), asked=ASKED)
def test_clusters_cheapest_first_are_those_of_plain_python(case: Case, asked: tuple[int, tuple[int, int]]) -> None:
    with patch.object(cluster_layout, "SMALL", 0):
        result = attempt(case, *asked)
    if result is not None:
        twin = CheapestFirst(Clusterer(case.census, *asked, WEIGHTS))
        assert in_order(clusters_of(case.census, result.groups)) == in_order(twin.clusters())


@given(case=bounded(max_rows=6), asked=ASKED, ties=TIES)
def test_no_clustering_beats_the_bound(case: Case, asked: tuple[int, tuple[int, int]], ties: str) -> None:
    result = attempt(case, *asked, ties=ties)
    if result is None:
        return
    clusterer = Clusterer(case.census, *asked, WEIGHTS)
    best = Fraction(0)
    for group in clusterer.maximum_allowed():
        if clusterer.holds(group):
            ways = [parts for parts in partitions(group) if all(map(clusterer.holds, parts))]
            best += min(sum((len(part) * clusterer.loss(part) for part in parts), Fraction(0)) for parts in ways)
    best = (best / len(case.census.quasi) + result.suppressed) / case.census.rows
    assert result.search.bound <= float(best) * (1 + 1e-12)
    assert float(best) <= result.ntil * (1 + 1e-12)
    if result.search.optimal:
        assert result.ntil == pytest.approx(float(best))


@given(case=bounded(), ties=TIES)
def test_one_row_and_one_value_change_nothing(case: Case, ties: str) -> None:
    result = attempt(case, 1, (1, 1), ties=ties)
    assert result is not None
    assert result.ntil == 0
    assert result.search.optimal
    assert all(len({leaves for leaves, _ in members}) == 1 for members in clusters_of(case.census, result.groups))


@given(case=bounded(), asked=ASKED, ties=TIES, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(
    case: Case, asked: tuple[int, tuple[int, int]], ties: str, seed: Any
) -> None:
    order = list(range(case.table.num_rows))
    seed.shuffle(order)
    one = attempt(case, *asked, ties=ties, threads=1)
    other = attempt(Case(case.table.take(order), case.spec), *asked, ties=ties, threads=2)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        for name in ("combination", "group", "rows", "suppressed"):
            assert np.array_equal(getattr(one.groups, name), getattr(other.groups, name))
        assert one.search.cost == other.search.cost


@given(case=bounded(max_rows=20), asked=ASKED)
def test_the_default_loses_no_more_than_the_paper_s(case: Case, asked: tuple[int, tuple[int, int]]) -> None:
    result = attempt(case, *asked)
    if result is not None:
        clusterer = Clusterer(case.census, *asked, WEIGHTS)
        assert result.ntil <= float(clusterer.ntil(*clusterer.greedy())) + 1e-12


# Larger tables, by a seed: enough tuples for many runs, more sensitive values than bits.


def crowd(rows: int, values: int, seed: int) -> Case:
    """People of many ages in a few towns, with a job and a salary of so many values."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(20, 60, rows),
        "town": rng.choice(["a", "b", "c", "d", "e"], rows, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
        "sex": rng.choice(["f", "m"], rows),
        "job": rng.choice(["cook", "smith", "clerk"], rows, p=[0.7, 0.2, 0.1]),
        "salary": rng.integers(0, values, rows),
    }
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
        "town": {"role": "quasi", "hierarchy": {"tree": {"coast": ["a", "b"], "hills": ["c", "d", "e"]}}},
        "sex": {"role": "quasi", "hierarchy": "flat"},
        "job": {"role": "sensitive"},
        "salary": {"role": "sensitive"},
    }
    return Case(pa.table(columns), Spec(attributes=attributes))


@pytest.mark.parametrize(("k", "least"), [(5, (1, 1)), (4, (2, 3)), (3, (3, 2)), (6, (3, 6)), (2, (1, 2))])
@pytest.mark.parametrize("values", [7, 150])
def test_many_tuples_are_clustered_as_in_plain_python(k: int, least: tuple[int, int], values: int) -> None:
    case = crowd(rows=120, values=values, seed=k)
    with patch.object(cluster_layout, "SMALL", 0):
        result = attempt(case, k, least)
    assert result is not None
    clusterer = Clusterer(case.census, k, least, WEIGHTS)
    assert in_order(clusters_of(case.census, result.groups)) == in_order(CheapestFirst(clusterer).clusters())


@pytest.mark.parametrize(("k", "least"), [(5, (1, 1)), (4, (2, 3)), (6, (3, 4))])
def test_on_many_rows_the_default_loses_less_than_the_paper_s(k: int, least: tuple[int, int]) -> None:
    case = crowd(rows=3000, values=12, seed=1)
    with patch.object(cluster_layout, "SMALL", 0):
        best, paper = (attempt(case, k, least, ties=ties) for ties in ("best", "paper"))
    assert best is not None
    assert paper is not None
    assert best.ntil < paper.ntil
    assert best.search.bound == paper.search.bound


def test_large_groups_are_cut_into_neighbouring_parts() -> None:
    case = crowd(rows=2000, values=12, seed=2)
    whole, cut = attempt(case, 5, (2, 3)), attempt(case, 5, (2, 3), max_group=60)
    assert whole is not None
    assert cut is not None
    assert whole.parts == 1
    assert cut.parts == -(-len(case.census.weights) // 60)
    assert whole.ntil < cut.ntil < 2 * whole.ntil
    assert cut.search.bound == 0 < whole.search.bound


def test_losses_that_no_small_unit_measures_are_rounded() -> None:
    case = crowd(rows=300, values=7, seed=3)
    exact = attempt(case, 4, (2, 2))
    with patch.object(cluster_layout, "FINEST_UNIT", 7):  # the heights are 4, 2 and 1
        rounded = attempt(case, 4, (2, 2))
    assert exact is not None
    assert rounded is not None
    clusterer = Clusterer(case.census, 4, (2, 2), WEIGHTS)
    assert all(clusterer.holds(members) for members in clusters_of(case.census, rounded.groups))
    assert rounded.ntil < 2 * exact.ntil


def test_when_the_time_is_up_groups_of_the_paper_are_published_whole() -> None:
    result = attempt(crowd(rows=300, values=7, seed=4), 4, (2, 2), ties="paper", watch=Watch(time_limit=0, nodes=1))
    assert result is not None
    assert result.groups.count == 1
    assert result.ntil == 1


def test_when_the_time_is_up_neighbours_are_published_together() -> None:
    case = crowd(rows=2_000, values=7, seed=4)  # too many to be clustered both ways
    whole = attempt(case, 4, (2, 2))
    result = attempt(case, 4, (2, 2), watch=Watch(time_limit=0, nodes=1))
    assert whole is not None
    assert result is not None
    clusterer = Clusterer(case.census, 4, (2, 2), WEIGHTS)
    assert all(clusterer.holds(members) for members in clusters_of(case.census, result.groups))
    assert result.groups.sizes.sum() == 2_000
    assert whole.ntil < result.ntil < 0.8


@pytest.mark.parametrize("seconds", [1e-6, 60])
def test_with_a_limit_small_parts_come_first_and_the_best_counts(seconds: float) -> None:
    case = crowd(rows=300, values=7, seed=4)
    with patch.object(cluster_module, "FIRST_PART", 20):
        result = attempt(case, 4, (2, 2), watch=Watch(time_limit=seconds))
    whole = attempt(case, 4, (2, 2))
    assert whole is not None
    assert result is not None
    clusterer = Clusterer(case.census, 4, (2, 2), WEIGHTS)
    assert all(clusterer.holds(members) for members in clusters_of(case.census, result.groups))
    assert result.ntil <= whole.ntil or seconds < 1


def test_progress_is_told() -> None:
    said: list[Event] = []
    with patch("ringfence.search.progress.REPORT_EVERY", -1.0):
        attempt(crowd(rows=300, values=7, seed=5), 4, (2, 2), watch=Watch(listener=said.append))
    assert [event.figures for event in said] == ["1 of 2 groups clustered", "2 of 2 groups clustered"]


def test_diversity_counts_by_the_number_of_values_unless_it_is_given() -> None:
    census = crowd(rows=300, values=6, seed=6).census
    assert diversity_weights(census, [None, None]) == pytest.approx([2 / 3, 1 / 3])
    assert diversity_weights(census, [0.3, 0.1]) == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"ties": "fair"}, "method.ties = 'fair'; allowed: best, paper"),
        ({"k": 0}, "k = 0 and max_group = 50000: both have to be 1 or more"),
        ({"max_group": 0}, "k = 2 and max_group = 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(parts: dict[str, Any], message: str) -> None:
    census = crowd(rows=30, values=6, seed=7).census
    asked = GroupsAsked(parts.get("k", 2), (1, 1))
    with pytest.raises(SpecError, match=message):
        cluster(census, asked, **{key: value for key, value in parts.items() if key != "k"})


@pytest.mark.parametrize("parts", [{"least_values": (1,)}, {"weights": (1.0,)}, {"weights": (1.0, 0.0)}])
def test_arguments_that_do_not_fit_the_census_are_a_mistake_of_ours(parts: dict[str, Any]) -> None:
    census = crowd(rows=30, values=6, seed=7).census
    asked = GroupsAsked(2, parts.get("least_values", (1, 1)))
    with pytest.raises(ValueError, match="2 sensitive attributes need as many"):
        cluster(census, asked, weights=parts.get("weights"))


def test_more_rows_than_there_are_is_unsatisfiable() -> None:
    census = crowd(rows=30, values=6, seed=7).census
    with pytest.raises(
        Unsatisfiable, match="30 rows cannot be published with k = 31: together they have 30 rows, 31 needed"
    ):
        cluster(census, GroupsAsked(31, (1, 1), limit=30))
