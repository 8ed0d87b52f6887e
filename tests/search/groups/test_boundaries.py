"""What must be suppressed within boundaries, and what other boundaries would change: by brute force over the rows."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.census import Census
from ringfence.search.groups.boundaries import Explanation, explain_suppression, failure, maximum_allowed
from ringfence.spec import Spec
from ringfence.spec.method import MethodTable
from ringfence.values.hierarchy import Hierarchy
from tests.clusterings import ancestors
from tests.tables import Case, cases, count, with_parts

TREE = {"north": {"fjords": ["a", "b"], "woods": ["c"]}, "south": {"lakes": ["d", "e"], "hills": ["f"]}}


@st.composite
def bounded(draw: st.DrawFn) -> Case:
    """A case in which most quasi-identifiers have a boundary, by level or by labels, perhaps one below the other."""
    case = draw(cases(sensitive=2))
    attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    for quasi in case.census.quasi:
        tree = quasi.hierarchy
        known = sorted({label for label in tree.labels if label is not None})
        labels = st.lists(st.sampled_from(known), max_size=4, unique=True)
        boundary = draw(st.none() | st.integers(0, tree.height).map(lambda level: {"level": level}) | labels)
        if boundary:
            attributes[quasi.name]["boundary"] = boundary
    return Case(case.table, with_parts(case.spec, attributes=attributes))


def lost_rows(census: Census, trees: Sequence[Hierarchy], k: int, least: tuple[int, int]) -> Counter[Any]:
    """The rows (tuple and values) whose ceilings too few rows, or rows with too few values, share."""
    groups: dict[tuple[int, ...], list[tuple[Any, ...]]] = defaultdict(list)
    joint = census.joint
    for t, weight, *values in zip(joint.tuples, joint.weights, *joint.values, strict=True):
        codes = census.codes[t].tolist()
        ceilings = tuple(int(tree.ceilings[leaf]) for tree, leaf in zip(trees, codes, strict=True))
        groups[ceilings] += [(int(t), *map(int, values))] * int(weight)
    lost: Counter[Any] = Counter()
    for rows in groups.values():
        if len(rows) < k or any(len({row[1 + s] for row in rows}) < need for s, need in enumerate(least)):
            lost.update(rows)
    return lost


@given(case=bounded(), k=st.integers(1, 5), least=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_every_number_of_an_explanation_is_that_of_brute_force(case: Case, k: int, least: tuple[int, int]) -> None:
    census = case.census
    trees = [quasi.hierarchy for quasi in census.quasi]
    explanation = explain_suppression(census, k=k, least_values=least)
    lost = lost_rows(census, trees, k, least)
    assert explanation.suppressed == lost.total() == sum(group.rows for group in explanation.lost)
    assert explanation.unbounded == lost_rows(census, [t.without_boundary() for t in trees], k, least).total()
    allowed = maximum_allowed(census, k, least)
    assert {row[0] for row in lost} == set(np.flatnonzero(allowed.fails[allowed.member]).tolist())
    bounds = [a for a, tree in enumerate(trees) if (tree.ceilings != tree.root).any()]
    assert [remedy.attribute for remedy in explanation.remedies] == [census.quasi[a].name for a in bounds]
    for a, remedy in zip(bounds, explanation.remedies, strict=True):
        others = [
            [*trees[:a], new, *trees[a + 1 :]] for new in (trees[a].with_raised_boundary(), trees[a].without_boundary())
        ]
        raised, removed = (lost_rows(census, other, k, least) for other in others)
        assert (remedy.raised, remedy.removed) == (raised.total(), removed.total())
        assert removed <= raised <= lost
        saved = sum(group.rows for group in explanation.lost if remedy.attribute in group.saved_by)
        assert saved == (lost - raised).total()
    if lost:
        assert len(explanation.sentences) == 1 + len(bounds)
        assert f"{lost.total()} of {census.rows}" in failure(explanation, k, 0) or not bounds
    else:
        assert explanation.sentences == ("No row has to be suppressed.",)


@given(case=bounded())
def test_a_raised_boundary_is_nowhere_lower_and_parts_no_values(case: Case) -> None:
    for quasi in case.census.quasi:
        tree, raised = quasi.hierarchy, quasi.hierarchy.with_raised_boundary()
        for leaf in range(tree.leaves):
            assert raised.ceilings[leaf] in ancestors(tree, int(tree.ceilings[leaf]))
        for one in range(tree.leaves):
            for other in range(tree.leaves):
                if tree.ceilings[one] == tree.ceilings[other]:
                    assert raised.ceilings[one] == raised.ceilings[other]
        while (raised.ceilings != raised.root).any():  # it gets to the root in the end
            before, raised = raised, raised.with_raised_boundary()
            assert (before.ceilings != raised.ceilings).any()


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        (["fjords", "woods", "lakes", "hills"], ["north"] * 3 + ["south"] * 3),
        (["fjords", "north"], ["north"] * 3 + ["*"] * 3),  # the mark that comes to north keeps its other leaf there
        (["a", "north", "south"], ["*"] * 6),  # at fjords, the mark of a would catch b, which had more room
        (["woods"], ["*"] * 6),  # woods has one leaf; at north, its mark would catch a and b
        (["c", "fjords", "south"], ["north"] * 3 + ["*"] * 3),
    ],
)
def test_every_mark_moves_up_to_the_next_node_with_more_leaves(boundary: list[str], expected: list[str]) -> None:
    paths = [
        (leaf, group, region, "*")
        for region, groups in TREE.items()
        for group, leaves in groups.items()
        for leaf in leaves
    ]
    raised = Hierarchy.from_paths(paths).with_boundary(boundary).with_raised_boundary()
    assert [raised.labels[node] for node in raised.ceilings] == expected


def test_an_explanation_says_which_boundary_is_to_blame() -> None:
    spec = Spec(
        attributes={
            "place": {"role": "quasi", "hierarchy": {"tree": TREE}, "boundary": {"level": 1}},
            "sex": {"role": "quasi", "hierarchy": "flat", "boundary": {"level": 0}},
            "job": {"role": "sensitive"},
        }
    )
    table = pa.table(
        {
            "place": ["a", "b", "b", "c", "d", "e", "f", "f"],
            "sex": ["w", "w", "w", "w", "m", "m", "m", "m"],
            "job": ["cook", "cook", "smith", "cook", "cook", "smith", "cook", "cook"],
        }
    )
    explanation = explain_suppression(count(table, spec), k=2, least_values=[2])
    assert [(lost.labels, lost.rows, lost.lacks, lost.saved_by) for lost in explanation.lost] == [
        ({"place": "hills", "sex": "m"}, 2, ("1 value of 'job', 2 needed",), ("place",)),
        ({"place": "woods", "sex": "w"}, 1, ("1 row, 2 needed", "1 value of 'job', 2 needed"), ("place",)),
    ]
    assert explanation.sentences == (
        "3 of 8 rows have to be suppressed: within the boundaries, too few others may be published like them.",
        "If 'place' were allowed one level more, 0 rows instead of 3 would go; without its boundary, 0.",
        "If 'sex' were allowed one level more, 3 rows instead of 3 would go; without its boundary, 3.",
    )
    assert failure(explanation, 2, 1) == (
        "within the boundaries, 3 of 8 rows would have to be suppressed for k = 2, and at most 1 may be (the largest"
        " group of them, place hills, sex m: 1 value of 'job', 2 needed);"
        " if 'place' were allowed one level more, 0 would"
    )


def test_rows_that_no_boundary_forces_out_are_told_apart_from_those_that_one_does() -> None:
    table = pa.table({"sex": ["m"] * 6 + ["f"] * 6 + ["d"], "age": [31] * 6 + [32] * 6 + [95]})
    sex, age = {"role": "quasi", "hierarchy": "flat"}, {"role": "quasi", "hierarchy": {"intervals": [10]}}
    spec = Spec(attributes={"sex": sex, "age": age}, privacy={"k": 3}, method={"suppression": 0.2})
    release = rf.anonymize(table, spec)
    assert release.metrics["suppressed"] == 1
    assert release.explain().sentences == ("1 of 13 rows was suppressed, which no boundary forces.",)
    whole = rf.anonymize(table, spec.model_copy(update={"method": MethodTable(suppression=0)}))
    assert whole.explain().sentences == ("No row has to be suppressed.",)
    both = replace(Explanation(rows=8, suppressed=3, unbounded=0, lost=(), remedies=()), gone=5).sentences
    assert both[0].startswith("3 of 8 rows have to be suppressed")
    assert both[-1] == "Beyond these, 2 rows were suppressed, which no boundary forces."
