"""What groups are published as, and what that covers and costs, against the rows they have."""

from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census import covers
from ringfence.census.census import Census, Quasi
from ringfence.census.covers import Representation, cover, cover_groups
from ringfence.census.groups import Groups
from ringfence.judging.metrics import measure_groups
from ringfence.spec import Spec
from tests.census.test_groups import random_groups
from tests.clusterings import ancestors, height_below, lowest_common
from tests.definitions import use_weight
from tests.tables import Case, cases, place

REPRESENTATIONS: list[Representation] = list(get_args(Representation))


def expected_cover(quasi: Quasi, leaves: set[int], representation: Representation) -> set[int]:
    """The leaves that a group with these leaves is published as."""
    tree = quasi.hierarchy
    if representation == "set":
        return leaves
    if representation == "hierarchy":
        node = lowest_common(tree, sorted(leaves))
        return {leaf for leaf in range(tree.leaves) if node in ancestors(tree, leaf)}
    present = [leaf for leaf in leaves if tree.labels[leaf] is not None]
    ranks = [quasi.ranks[leaf] for leaf in present]
    limits = {tree.ceilings[leaf] for leaf in leaves}
    between = {
        leaf
        for leaf in range(tree.leaves)
        if present
        and quasi.rows[leaf]
        and tree.labels[leaf] is not None
        and min(ranks) <= quasi.ranks[leaf] <= max(ranks)
        and tree.ceilings[leaf] in limits
    }
    return leaves | between


def one_limit(census: Census, groups: Groups) -> bool:
    """Whether the leaves of every group share their ceilings, as every method sees to."""
    for a, quasi in enumerate(census.quasi):
        limits = quasi.hierarchy.ceilings[census.codes[groups.tuples, a]]
        if len(np.unique(np.stack([groups.group, limits]), axis=1).T) > groups.count:
            return False
    return True


@given(case=cases(sensitive=1), data=st.data())
def test_groups_are_published_as_what_they_have(case: Case, data: st.DataObject) -> None:
    census, groups = case.census, random_groups(case, data)
    asked = [data.draw(st.sampled_from(REPRESENTATIONS)) for _ in census.quasi]
    if not groups.count or not one_limit(census, groups):
        return
    shown = cover_groups(census, groups, asked)
    sizes = groups.sizes
    costs = {"glm": 0.0, "glm_nodes": 0.0, "detail": 0.0, "ncp": 0.0, "gcp": 0.0, "ntil": 0.0, "use": 0.0}
    weights = [quasi.weight for quasi in census.quasi]
    of_use = [use_weight(quasi) for quasi in census.quasi]
    for a, (quasi, part) in enumerate(zip(census.quasi, shown, strict=True)):
        assert len({*part.covers.labels}) == len(part.covers)
        covers = part.covers.lists()
        assert len({*map(tuple, covers)}) == len(covers)
        for group in range(groups.count):
            leaves = {*census.codes[groups.tuples[groups.group == group], a].tolist()}
            covered = expected_cover(quasi, leaves, asked[a])
            assert covers[part.value[group]] == sorted(covered)
            for name in costs:
                share = weights[a] / sum(weights) if name not in ("gcp", "ntil") else 1 / len(census.quasi)
                share = of_use[a] / sum(of_use) if name == "use" else share
                costs[name] += sizes[group] * share * cell_cost(name, quasi, covered)
    lost = census.rows - int(sizes.sum())
    measured = measure_groups(census, case.spec, sizes, shown)
    for name, cost in costs.items():
        assert measured[name] == pytest.approx((cost + lost) / census.rows)
    classes: dict[tuple[Any, ...], int] = {}
    for labels, size in zip(zip(*(part.labels for part in shown), strict=True), sizes.tolist(), strict=True):
        classes[labels] = classes.get(labels, 0) + size
    assert measured["dm"] == sum(size**2 for size in classes.values()) + lost * census.rows
    assert measured["classes"] == len(classes)


def cell_cost(name: str, quasi: Quasi, covered: set[int]) -> float:
    """The loss of a cell that covers these leaves, by the definitions."""
    tree = quasi.hierarchy
    if name == "detail":
        name = "glm" if quasi.numeric else "glm_nodes"
    if name == "glm_nodes":
        name, node = "glm", lowest_common(tree, sorted(covered))
        below = {leaf for leaf in range(tree.leaves) if node in ancestors(tree, leaf)}
        covered = below if tree.height > 1 else covered
    occurring = [leaf for leaf in range(tree.leaves) if quasi.rows[leaf]]
    if name == "ntil":
        return height_below(tree, lowest_common(tree, sorted(covered))) / tree.height
    if name == "gcp":
        return max(0, len(covered & {*occurring}) - 1) / max(1, len(occurring) - 1)
    if quasi.numeric:
        numbers = {leaf: place(key) for leaf in occurring if (key := quasi.keys[leaf]) is not None}
        inside = [number for leaf, number in numbers.items() if leaf in covered]
        whole = max(numbers.values()) - min(numbers.values()) if numbers else 0
        return float((max(inside) - min(inside)) / whole) if inside and whole else 0.0
    if name == "use":
        return 1 - 1 / len(covered)
    if name == "glm":
        return (len(covered) - 1) / max(1, tree.leaves - 1)
    return len(covered) / tree.leaves if len(covered) > 1 else 0.0


@pytest.mark.parametrize("words", [None, 0, 1])
def test_many_sets_are_told_apart(words: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets are numbered leaf by leaf, all at once: none may be taken for another, however they nest, and also where
    sums of words do not tell them apart: nothing from anything, or only how large they are."""
    if words is not None:
        monkeypatch.setattr(covers, "_words", lambda count: np.full(count, words, np.uint64))
    rng = np.random.default_rng(1)
    table = pa.table({"n": [str(n) for n in range(12)]})
    spec = Spec(attributes={"n": {"role": "quasi", "order": "numeric", "hierarchy": "flat"}}, privacy={"k": 1})
    quasi = rf.anonymize(table, spec).census.quasi[0]
    sets = [{*rng.integers(0, 12, rng.integers(1, 8)).tolist()} for _ in range(400)]
    entries = [(group, leaf) for group, leaves in enumerate(sets) for leaf in leaves]
    groups, leaves = np.array(entries).T
    order = rng.permutation(len(entries))
    shown = cover(quasi, groups[order], leaves[order], len(sets), "set")
    lists = shown.covers.lists()
    assert [lists[value] for value in shown.value.tolist()] == [sorted(each) for each in sets]
    assert len(lists) == len({*map(frozenset, sets)})


TABLE = pa.table(
    {
        "age": [21, 22, 24, 27, 33, 36, 38, None],
        "town": ["Oslo", "Rome", "Oslo", "Rome", "Bonn", "Bonn", "Oslo", "Bonn"],
        "ill": ["flu", "cold"] * 4,
    }
)


@pytest.mark.parametrize(
    ("representation", "hierarchy"),
    [("set", True), ("set", False), ("range", True), ("range", False), ("hierarchy", True)],
)
def test_clusters_in_every_representation(representation: str, hierarchy: bool) -> None:
    age: dict[str, Any] = {"role": "quasi", "order": "numeric"}
    town: dict[str, Any] = {"role": "quasi"}
    if hierarchy:
        age["hierarchy"], town["hierarchy"] = (
            {"intervals": [10]},
            {"tree": {"North": ["Oslo"], "South": ["Bonn", "Rome"]}},
        )
    spec = Spec(
        attributes={"age": age, "town": town, "ill": {"role": "sensitive"}},
        privacy={"k": 2, "p": 2},
        method={"name": "cluster", "representation": representation},
    )
    release = rf.anonymize(TABLE, spec)
    assert release.audit.ok
    assert release.audit.measured["k"] >= 2
    assert type(release.plan).loads(release.plan.dumps()) == release.plan
    ages = {*release.table["age"].to_pylist()}
    if representation == "hierarchy":
        assert ages <= {"[20, 30)", "[30, 40)", "*", None}
    else:
        assert any(label and label.startswith(("[", "{")) for label in ages)


def test_nodes_need_a_hierarchy() -> None:
    spec = Spec(
        attributes={"age": {"role": "quasi"}, "town": {"role": "insensitive"}, "ill": {"role": "sensitive"}},
        privacy={"k": 2},
        method={"name": "cluster"},
    )
    with pytest.raises(
        rf.errors.SpecError, match=r"attributes\.age has no hierarchy, which the method 'cluster' goes by"
    ):
        rf.anonymize(TABLE, spec)
