"""Hierarchies: every array against what it means in plain Python, on ragged trees; boundaries; ambiguous labels."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.errors import SpecError
from ringfence.values.hierarchy import Hierarchy

Path = tuple[str, ...]
"""The labels from a leaf up to the root."""

LOCATION = [
    ("Albany", "New York", "East Coast", "United States"),
    ("New York City", "New York", "East Coast", "United States"),
    ("Boston", "Massachusetts", "East Coast", "United States"),
    ("Des Moines", "Iowa", "Midwest", "United States"),
    ("Wichita", "Kansas", "Midwest", "United States"),
]


def paths_of(shape: Any, names: Iterator[int], above: Path = ()) -> list[Path]:
    """Name the nodes of a nested list, each differently, and return the path of each leaf (an empty list)."""
    path = (f"n{next(names)}", *above)
    return [leaf for child in shape for leaf in paths_of(child, names, path)] if shape else [path]


ragged: st.SearchStrategy[Any] = st.recursive(
    st.just([]), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=12
)
trees = st.lists(ragged, min_size=1, max_size=4).map(lambda shape: paths_of(shape, count()))


@st.composite
def marked_trees(draw: st.DrawFn) -> tuple[list[Path], list[str]]:
    """Draw a ragged tree and some of its labels."""
    paths = draw(trees)
    return paths, draw(st.lists(st.sampled_from(labels_of(paths)), unique=True, max_size=5))


def labels_of(paths: Sequence[Path]) -> list[str]:
    return list(dict.fromkeys(label for path in paths for label in path))


def height_of(paths: Sequence[Path]) -> int:
    return max(len(path) - 1 for path in paths)


def steps_at(path: Path, level: int, height: int) -> int:
    """How far up its path a leaf is at a level: at depth height - level, or where it is when it is shallower."""
    return max(len(path) - 1 - (height - level), 0)


def ceiling_of(path: Path, marks: Sequence[str]) -> str:
    return next((label for label in path if label in marks), path[-1])


def named(hierarchy: Hierarchy, nodes: Iterable[int]) -> list[str | None]:
    return [hierarchy.labels[node] for node in nodes]


def boundary_refusal(hierarchy: Hierarchy, boundary: list[str] | int) -> str:
    with pytest.raises(SpecError) as caught:
        hierarchy.with_boundary(boundary, "attributes.place.boundary")
    return str(caught.value)


# The arrays


@given(trees)
def test_leaves_come_first_in_their_order_and_the_root_last(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    assert tree.leaves == len(paths)
    assert list(tree.labels[: tree.leaves]) == [path[0] for path in paths]
    assert sorted(map(str, tree.labels)) == sorted(labels_of(paths))
    assert tree.labels[tree.root] == paths[0][-1]
    assert tree.root == len(tree.labels) - 1


@given(trees)
def test_parents_are_the_next_labels_on_the_paths_and_come_after_their_children(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    above = {low: high for path in paths for low, high in pairwise(path)}
    assert {tree.labels[v]: tree.labels[tree.parent[v]] for v in range(tree.root)} == above
    assert all(tree.parent[v] > v for v in range(tree.root))
    assert tree.parent[tree.root] == tree.root


@given(trees)
def test_each_node_covers_a_run_of_leaves(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    for node, label in enumerate(tree.labels):
        below = [leaf for leaf, path in enumerate(paths) if label in path]
        assert list(range(tree.first[node], tree.stop[node])) == below


@given(trees)
def test_depth_counts_edges_to_the_root_and_heights_edges_to_the_deepest_leaf(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    depth = {label: len(path) - 1 - at for path in paths for at, label in enumerate(path)}
    assert {label: tree.depth[node] for node, label in enumerate(tree.labels)} == depth
    for node, label in enumerate(tree.labels):
        assert tree.heights[node] == max(path.index(str(label)) for path in paths if label in path)
    assert tree.height == height_of(paths) == tree.heights[tree.root]


@given(trees)
def test_a_level_takes_each_leaf_to_that_depth_or_leaves_it_when_shallower(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    assert tree.levels.shape == (height_of(paths) + 1, len(paths))
    for level in range(tree.height + 1):
        assert named(tree, tree.levels[level]) == [path[steps_at(path, level, tree.height)] for path in paths]


@given(marked_trees())
def test_each_level_is_a_refinement_of_the_next_with_or_without_boundaries(case: tuple[list[Path], list[str]]) -> None:
    paths, marks = case
    for tree in (Hierarchy.from_paths(paths), Hierarchy.from_paths(paths).with_boundary(marks)):
        for fine, coarse in zip(tree.levels, tree.levels[1:], strict=False):
            assert len({*zip(fine.tolist(), coarse.tolist(), strict=True)}) == len({*fine.tolist()})


@given(trees)
def test_the_lowest_level_is_the_leaves_and_the_highest_the_root(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    assert tree.levels[0].tolist() == list(range(tree.leaves))
    assert set(tree.levels[tree.height].tolist()) == {tree.root}


@given(trees, st.data())
def test_the_common_ancestor_is_the_lowest_node_over_all_of_them(paths: list[Path], data: st.DataObject) -> None:
    tree = Hierarchy.from_paths(paths)
    chosen = data.draw(st.lists(st.integers(0, len(paths) - 1), min_size=1, max_size=4))
    shared = next(label for label in paths[chosen[0]] if all(label in paths[leaf] for leaf in chosen))
    assert tree.labels[tree.common_ancestor(chosen)] == shared
    assert tree.labels[tree.common_ancestor(iter(chosen))] == shared


@given(trees)
def test_labels_find_their_leaf_and_their_node(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    assert tree.leaf_index == {path[0]: leaf for leaf, path in enumerate(paths)}
    assert tree.node_index == {label: node for node, label in enumerate(tree.labels)}


@given(trees, st.randoms(use_true_random=False))
def test_the_order_of_the_paths_changes_the_order_of_siblings_only(paths: list[Path], random: Any) -> None:
    shuffled = random.sample(paths, len(paths))
    tree = Hierarchy.from_paths(shuffled)
    leaves = list(tree.labels[: tree.leaves])
    assert sorted(map(str, leaves)) == sorted(path[0] for path in paths)
    for node, label in enumerate(tree.labels):
        covered = leaves[tree.first[node] : tree.stop[node]]
        assert sorted(map(str, covered)) == sorted(path[0] for path in paths if label in path)
    met = {label: place for place, label in reversed(list(enumerate(label for path in shuffled for label in path)))}
    for over in range(tree.leaves, tree.root + 1):
        children = [v for v in range(tree.root) if tree.parent[v] == over]
        children.sort(key=lambda v: int(tree.first[v]))
        assert children == sorted(children, key=lambda v: met[str(tree.labels[v])])


@given(trees)
def test_a_nested_table_and_its_paths_are_the_same_tree(paths: list[Path]) -> None:
    nested: dict[str | None, Any] = {}
    for path in paths:
        below = nested
        for label in path[-2::-1]:
            below = below.setdefault(label, {})
    one, other = Hierarchy.from_tree(nested, root=paths[0][-1]), Hierarchy.from_paths(paths)
    assert one.labels == other.labels
    for name in ("parent", "first", "stop", "depth", "ceilings"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_the_leaves_of_a_group_stand_together_even_if_their_rows_do_not() -> None:
    tree = Hierarchy.from_paths([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")])
    assert tree.labels == ("a", "c", "b", "x", "y", "*")


def test_a_path_may_be_very_long() -> None:
    code = "4" * 2000
    path = [code[:size] for size in range(len(code), -1, -1)]
    tree = Hierarchy.from_paths([path, ["5", ""]])
    assert tree.height == len(code)
    assert tree.labels[tree.levels[1, 0]] == path[1]


# Roots


def test_a_common_last_label_is_the_root() -> None:
    assert Hierarchy.from_paths([("a", "x", "all"), ("b", "all")]).labels == ("a", "b", "x", "all")


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        ([("a", "x"), ("b", "y")], ("a", "b", "x", "y", "*")),
        ([("a",), ("b",)], ("a", "b", "*")),
        ([("a",)], ("a", "*")),
        ([("a",), ("b", "x")], ("a", "b", "x", "*")),
    ],
)
def test_a_root_is_added_where_there_is_no_common_one(paths: list[Path], labels: Path) -> None:
    assert Hierarchy.from_paths(paths).labels == labels


@pytest.mark.parametrize("paths", [[], [()]])
def test_a_tree_without_leaves_is_refused(paths: list[Path]) -> None:
    with pytest.raises(SpecError, match="the work tree"):
        Hierarchy.from_paths(paths, where="the work tree")


# Missing values


@given(trees)
def test_a_missing_value_is_the_last_leaf_directly_under_the_root(paths: list[Path]) -> None:
    tree, without = Hierarchy.from_paths(paths, missing=True), Hierarchy.from_paths(paths)
    leaf = len(paths)
    assert (tree.has_missing, without.has_missing) == (True, False)
    assert tree.leaves == leaf + 1
    assert tree.labels[leaf] is None
    assert tree.leaf_index[None] == tree.node_index[None] == leaf
    assert (tree.parent[leaf], tree.depth[leaf], tree.heights[leaf]) == (tree.root, 1, 0)
    assert (tree.first[tree.root], tree.stop[tree.root]) == (0, leaf + 1)
    assert tree.labels[:leaf] + tree.labels[leaf + 1 :] == without.labels
    assert tree.levels[:, leaf].tolist() == [leaf] * tree.height + [tree.root]
    assert tree.common_ancestor([0, leaf]) == tree.root


def test_a_column_of_nothing_but_missing_values_has_the_missing_leaf_alone() -> None:
    tree = Hierarchy.from_tree({}, missing=True)
    assert tree.labels == (None, "*")
    assert tree.height == 1


# Boundaries


def test_the_ceiling_is_the_first_mark_on_the_way_up() -> None:
    """Campan, Truta, Cooper (2010), Figure 1: Albany may become New York at most, Des Moines Midwest."""
    tree = Hierarchy.from_paths(LOCATION).with_boundary(["New York", "Midwest", "United States"])
    assert named(tree, tree.ceilings) == ["New York", "New York", "United States", "Midwest", "Midwest"]


@given(trees)
def test_without_marks_the_ceiling_is_the_root(paths: list[Path]) -> None:
    tree = Hierarchy.from_paths(paths)
    assert set(tree.ceilings.tolist()) == set(tree.with_boundary([]).ceilings.tolist()) == {tree.root}


@given(marked_trees())
def test_ceilings_are_the_first_marked_nodes_leaves_included_else_the_root(case: tuple[list[Path], list[str]]) -> None:
    paths, marks = case
    tree = Hierarchy.from_paths(paths).with_boundary(marks)
    assert named(tree, tree.ceilings) == [ceiling_of(path, marks) for path in paths]


@given(marked_trees())
def test_levels_climb_as_without_boundaries_but_never_past_the_ceiling(case: tuple[list[Path], list[str]]) -> None:
    paths, marks = case
    tree = Hierarchy.from_paths(paths).with_boundary(marks)
    for level in range(tree.height + 1):
        steps = [min(steps_at(path, level, tree.height), path.index(ceiling_of(path, marks))) for path in paths]
        assert named(tree, tree.levels[level]) == [path[up] for path, up in zip(paths, steps, strict=True)]


@given(marked_trees())
def test_leaves_published_as_one_share_their_ceiling(case: tuple[list[Path], list[str]]) -> None:
    paths, marks = case
    tree = Hierarchy.from_paths(paths).with_boundary(marks)
    for nodes in tree.levels:
        blocks = {*zip(nodes.tolist(), tree.ceilings.tolist(), strict=True)}
        assert len(blocks) == len({*nodes.tolist()})


@given(trees, st.data())
def test_a_boundary_at_a_level_is_what_that_level_publishes(paths: list[Path], data: st.DataObject) -> None:
    free = Hierarchy.from_paths(paths)
    level = data.draw(st.integers(0, free.height))
    tree = free.with_boundary(level)
    assert tree.ceilings.tolist() == free.levels[level].tolist()
    for higher in range(free.height + 1):
        assert tree.levels[higher].tolist() == free.levels[min(higher, level)].tolist()


def test_a_boundary_leaves_the_tree_it_is_set_on_as_it_was() -> None:
    tree = Hierarchy.from_paths(LOCATION)
    tree.levels  # noqa: B018  # cached before the boundary is set
    bounded = tree.with_boundary(["New York"])
    assert set(tree.ceilings.tolist()) == {tree.root}
    assert named(bounded, bounded.levels[tree.height])[0] == "New York"


def test_an_unknown_boundary_is_refused_with_the_nearest_label() -> None:
    message = boundary_refusal(Hierarchy.from_paths(LOCATION), ["Midwest", "Masachusetts"])
    assert "attributes.place.boundary" in message
    assert "'Masachusetts'" in message
    assert "'Massachusetts'" in message


def test_a_boundary_above_the_root_is_refused_with_the_levels_there_are() -> None:
    message = boundary_refusal(Hierarchy.from_paths(LOCATION), 4)
    assert "attributes.place.boundary.level = 4" in message
    assert "0 to 3" in message


# Labels


@pytest.mark.parametrize(
    ("paths", "label"),
    [
        ([("a", "x", "*"), ("a", "x", "*")], "a"),
        ([("a", "x", "*"), ("a", "y", "*")], "a"),
        ([("a", "b", "*"), ("b", "*")], "b"),
        ([("b", "*"), ("a", "b", "*")], "b"),
        ([("b", "c", "*"), ("a", "b", "*")], "b"),
        ([("b", "b", "*"), ("a", "b", "*")], "b"),
        ([("a", "g", "x", "*"), ("b", "g", "y", "*")], "g"),
        ([("a", "g", "g", "*"), ("b", "g", "*")], "g"),
        ([("*", "*"), ("a", "*")], "*"),
    ],
    ids=[
        "leaf twice in a group",
        "leaf in two groups",
        "leaf after a group of its name",
        "leaf before a group of its name",
        "leaf of a group elsewhere",
        "leaf of a larger group",
        "two groups",
        "group in a larger group",
        "leaf and root",
    ],
)
def test_a_label_for_two_different_sets_of_values_is_refused_by_name(paths: list[Path], label: str) -> None:
    with pytest.raises(SpecError, match="the work tree") as caught:
        Hierarchy.from_paths(paths, where="the work tree")
    assert repr(label) in str(caught.value)


def test_an_only_child_may_bear_its_parents_name() -> None:
    tree = Hierarchy.from_paths([("a", "x", "x", "*"), ("y", "y", "y", "*")])
    assert tree.labels == ("a", "y", "x", "x", "y", "y", "*")
    assert tree.height == 3
    assert named(tree, tree.levels[2]) == ["x", "y"]


def test_of_nodes_that_share_a_label_the_lowest_is_found() -> None:
    tree = Hierarchy.from_paths([("a", "x", "x", "*"), ("y", "y", "*")])
    assert tree.depth[tree.node_index["x"]] == 2
    assert tree.node_index["y"] == tree.leaf_index["y"] == 1
