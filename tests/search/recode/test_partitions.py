"""The six schemes: their spaces against all set partitions, filtered by what Li and Li say of each."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations, pairwise, permutations, product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.census import Quasi
from ringfence.declared import Scheme
from ringfence.errors import DataError, SpecError
from ringfence.search.recode.partitions import RUNS, SETS, Branch, Partitions
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.keys import quoted
from ringfence.values.recoding import Recoding
from tests.tables import Case, node_at, place, random_paths, scheme_cases

# Schemes: which partitions of the values that occur each allows, and how a partition is published.
# Li and Li: Towards optimal k-anonymization, 2008, section 2. All set partitions are made, and filtered.

Partition = frozenset[frozenset[int]]
Order = str | list[str] | None
SCHEMES: tuple[Scheme, ...] = ("level", "cut", "guided-ordered", "guided-set", "ordered", "set")
WITHIN: list[tuple[Scheme, Scheme]] = [
    ("level", "cut"),
    ("cut", "guided-ordered"),
    ("guided-ordered", "ordered"),
    ("ordered", "set"),
    ("guided-ordered", "guided-set"),
    ("guided-set", "set"),
]
"""Pairs of schemes of which the second allows all that the first allows."""


def set_partitions(values: Sequence[int]) -> Iterator[Partition]:
    """Every partition of some values: the first joins a block of a partition of the others, or none."""
    if not values:
        yield frozenset()
        return
    alone = frozenset(values[:1])
    for rest in set_partitions(values[1:]):
        yield rest | {alone}
        for block in rest:
            yield rest - {block} | {block | alone}


def coarser_or_equal(one: Partition, other: Partition) -> bool:
    """Whether every block of the other lies in a block of the one."""
    return all(any(part <= block for block in one) for part in other)


def in_order(quasi: Quasi, order: Order) -> list[int]:
    """The values that occur, in the order that the specification gives them, else in that of the leaves; missing
    last."""

    def place(leaf: int) -> tuple[bool, Any]:
        label = quasi.hierarchy.labels[leaf]
        if label is None:
            return True, 0
        if isinstance(order, list):
            return False, order.index(label)
        if order == "numeric":
            return False, Decimal(label)
        return False, label if order == "lexical" else leaf

    return sorted((leaf for leaf in range(quasi.hierarchy.leaves) if quasi.rows[leaf] > 0), key=place)


def groups_of(quasi: Quasi, order: Order) -> list[list[int]]:
    """The values that occur, apart by the highest node that they may be published as, each group in order."""
    groups: dict[int, list[int]] = defaultdict(list)
    for leaf in in_order(quasi, order):
        groups[int(quasi.hierarchy.ceilings[leaf])].append(leaf)
    return list(groups.values())


def ancestors(tree: Hierarchy, node: int) -> list[int]:
    """A node and all above it, from below."""
    return [node] if node == tree.root else [node, *ancestors(tree, int(tree.parent[node]))]


def lowest_over(tree: Hierarchy, leaves: Iterable[int]) -> int:
    """The lowest node over some leaves."""
    first, *others = [ancestors(tree, leaf) for leaf in leaves]
    return next(node for node in first if all(node in path for path in others))


def leaves_under(tree: Hierarchy, node: int) -> frozenset[int]:
    """The leaves that have a node above them, or are it."""
    return frozenset(leaf for leaf in range(tree.leaves) if node in ancestors(tree, leaf))


def side_by_side(values: Iterable[int], group: list[int]) -> bool:
    """Whether some values of a group stand next to each other in it."""
    places = sorted(group.index(value) for value in values)
    return places == list(range(places[0], places[0] + len(places)))


def torn_nodes(quasi: Quasi, order: Order) -> list[int]:
    """The nodes whose values do not stand next to each other in the order, each within its group."""
    return [
        node
        for node in range(len(quasi.hierarchy.labels))
        if any(
            inside and not side_by_side(inside, group)
            for group in groups_of(quasi, order)
            if (inside := leaves_under(quasi.hierarchy, node) & {*group}) is not None
        )
    ]


def partition_at(quasi: Quasi, level: int) -> Partition:
    """What a level makes of the values that occur."""
    blocks: dict[int, set[int]] = defaultdict(set)
    for leaf in in_order(quasi, None):
        blocks[node_at(quasi.hierarchy, leaf, level)].add(leaf)
    return frozenset(map(frozenset, blocks.values()))


def cut_partitions(tree: Hierarchy, node: int, values: frozenset[int]) -> set[Partition]:
    """What the cuts of the tree below a node make of some values: the node itself is published, or a cut of each
    child."""
    inside = values & leaves_under(tree, node)
    children = [child for child in range(tree.root) if tree.parent[child] == node]
    found = {frozenset([inside]) if inside else frozenset()}
    if children:
        below = [cut_partitions(tree, child, values) for child in children]
        found |= {frozenset().union(*parts) for parts in product(*below)}
    return found


def is_guided(block: frozenset[int], group: list[int], shared: dict[tuple[int, int], int]) -> bool:
    """Whether with x and y a block holds every value that is closer to x in the tree than y is; `shared` says how deep
    the lowest node over two values lies."""
    return all(z in block or shared[x, z] <= shared[x, y] for x, y in permutations(block, 2) for z in group)


def partitions_of(quasi: Quasi, order: Order, scheme: Scheme) -> set[Partition]:
    """All partitions of the values that occur which a scheme allows."""
    tree, values, groups = quasi.hierarchy, in_order(quasi, order), groups_of(quasi, order)
    if scheme == "level":
        return {partition_at(quasi, level) for level in range(tree.height + 1)}
    shared = {(x, y): int(tree.depth[lowest_over(tree, [x, y])]) for x, y in product(values, repeat=2)}

    def allows(block: frozenset[int]) -> bool:
        homes = [group for group in groups if block & {*group}]
        return (
            len(homes) == 1
            and (scheme not in ("ordered", "guided-ordered") or side_by_side(block, homes[0]))
            and (scheme not in ("guided-set", "guided-ordered") or is_guided(block, homes[0], shared))
        )

    found = {partition for partition in set_partitions(values) if all(map(allows, partition))}
    if scheme == "cut":
        cuts = [cut_partitions(tree, tree.root, frozenset(group)) for group in groups]
        found &= {frozenset().union(*parts) for parts in product(*cuts)}
    return found


@dataclass(frozen=True, eq=False)
class Choice:
    """A partition as a scheme publishes it. For each leaf: the leaves published alike, those that the label covers, the
    lowest node over these, and the label."""

    partition: Partition
    blocks: tuple[frozenset[int], ...]
    covered: tuple[frozenset[int], ...]
    nodes: tuple[int, ...]
    labels: tuple[str | None, ...]

    @cached_property
    def homes(self) -> tuple[int, ...]:
        """The smallest leaf of each leaf's block."""
        return tuple(map(min, self.blocks))

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """How far each leaf is from the smallest of its block: the smaller, the finer."""
        return tuple(leaf - home for leaf, home in enumerate(self.homes))


def published(quasi: Quasi, order: Order, scheme: Scheme, partition: Partition) -> Choice:
    """How a scheme publishes a partition of the values that occur.

    Levels and cuts publish nodes. Guided schemes merge whole subtrees, with the values that nobody has in them; free
    ones leave those alone, unless everything is merged: then all schemes publish what a cut would.
    """
    tree = quasi.hierarchy
    everyone = range(tree.leaves)
    if scheme == "level":
        level = next(level for level in range(tree.height + 1) if partition_at(quasi, level) == partition)
        nodes = tuple(node_at(tree, leaf, level) for leaf in everyone)
        blocks = tuple(frozenset(other for other in everyone if nodes[other] == node) for node in nodes)
    else:
        alike = {leaf: frozenset([leaf]) for leaf in everyone}
        for block in partition:
            if len(block) > 1:
                members = with_followers(quasi, scheme, block)
                alike |= dict.fromkeys(members, members)
        blocks = tuple(alike[leaf] for leaf in everyone)
        nodes = tuple(lowest_over(tree, block) for block in blocks)
    if scheme in ("level", "cut"):
        covered, labels = tuple(leaves_under(tree, node) for node in nodes), tuple(tree.labels[node] for node in nodes)
    else:
        covered, labels = blocks, tuple(label_of(quasi, order, block) for block in blocks)
    return Choice(partition, blocks, covered, nodes, labels)


def with_followers(quasi: Quasi, scheme: Scheme, block: frozenset[int]) -> frozenset[int]:
    """The values of a block with those that nobody has and that follow them, as far as the boundary lets them."""
    tree = quasi.hierarchy
    top = lowest_over(tree, block)
    inside = {leaf for leaf in leaves_under(tree, top) if tree.ceilings[leaf] == tree.ceilings[min(block)]}
    if scheme == "cut" or len(block) == int((quasi.rows > 0).sum()):
        return frozenset(inside)
    if scheme in ("ordered", "set"):
        return block
    if {leaf for leaf in inside if quasi.rows[leaf] > 0} == block:  # all of the node's children
        return frozenset(inside)
    merged = [child for child in range(tree.root) if tree.parent[child] == top and leaves_under(tree, child) & block]
    return frozenset(inside & frozenset().union(*(leaves_under(tree, child) for child in merged)))


def label_of(quasi: Quasi, order: Order, block: frozenset[int]) -> str | None:
    """A value's own label, that of a node, a run of the numbers that occur as a range, else a set."""
    tree = quasi.hierarchy
    names = [tree.labels[leaf] for leaf in sorted(block)]
    if len(block) == 1:
        return names[0]
    node = lowest_over(tree, block)
    if leaves_under(tree, node) == block:
        return tree.labels[node]
    numbers = [leaf for leaf in in_order(quasi, order) if tree.labels[leaf] is not None]
    inside = block & {*numbers}
    if quasi.numeric and len(inside) > 1 and side_by_side(inside, numbers):
        ends = [tree.labels[leaf] for leaf in sorted(inside, key=lambda leaf: place(quasi.keys[leaf] or Decimal(0)))]
        span = f"[{ends[0]}, {ends[-1]}]"
        return span if inside == block else f"{{{span}, null}}"
    return (
        "{"
        + ", ".join("null" if name is None else '"null"' if name == "null" else quoted(name) for name in names)
        + "}"
    )


def choices(quasi: Quasi, order: Order, scheme: Scheme) -> list[Choice]:
    """All that a scheme can make of an attribute."""
    return [published(quasi, order, scheme, partition) for partition in partitions_of(quasi, order, scheme)]


# Walks through a space


def column(values: Sequence[Any], **attribute: Any) -> Quasi:
    """One attribute of a table without others."""
    spec = Spec(attributes={"x": {"role": "quasi", **attribute}})
    return Case(pa.table({"x": values}), spec).census.quasi[0]


def tree_of(space: Space, *, up: bool) -> dict[int, list[int]]:
    """The children of every recoding of a search tree; none may be met twice."""
    met: dict[int, list[int]] = {}
    waiting = [space.finest if up else space.coarsest]
    while waiting:
        position = waiting.pop()
        assert position not in met
        met[position] = space.children(position, up=up)
        waiting += met[position]
    return met


def descendants(tree: dict[int, list[int]], position: int) -> list[int]:
    """A recoding and all below it in a search tree."""
    return [position, *(below for child in tree[position] for below in descendants(tree, child))]


def partition_by(recoding: Recoding, leaves: Iterable[int]) -> Partition:
    """The partition that a recoding makes of some leaves."""
    blocks: dict[int, set[int]] = defaultdict(set)
    for leaf in leaves:
        blocks[int(recoding.blocks[leaf])].add(leaf)
    return frozenset(map(frozenset, blocks.values()))


def values_by(quasi: Quasi, recoding: Recoding) -> Partition:
    """The partition of the values that occur."""
    return partition_by(recoding, in_order(quasi, None))


def leaves_by(recoding: Recoding) -> Partition:
    """The partition of all leaves."""
    return partition_by(recoding, range(recoding.hierarchy.leaves))


def schemes_for(quasi: Quasi, order: Order) -> list[Scheme]:
    """The schemes that can be asked for: guided-ordered needs an order that tears no node apart."""
    return [scheme for scheme in SCHEMES if scheme != "guided-ordered" or not torn_nodes(quasi, order)]


attributes = scheme_cases(most=(6,), max_rows=12)


def the_attribute(case: Case) -> tuple[Quasi, Order]:
    """The attribute of a table with one, and its order."""
    return case.census.quasi[0], case.spec.attributes["q0"].order


# Counts

WORK = {
    "government": ["state", "local", "federal"],
    "private": ["private company"],
    "self-employed": ["inc", "not inc"],
    "unemployed": ["without pay", "never worked"],
}
WORK_VALUES = [value for group in WORK.values() for value in group]
BELL = [1, 1, 2, 5, 15, 52, 203, 877]


@pytest.mark.parametrize(
    ("scheme", "count"),
    [("level", 3), ("cut", 9), ("guided-ordered", 40), ("guided-set", 67), ("ordered", 128), ("set", 4140)],
)
def test_the_work_class_tree_has_as_many_partitions_as_the_paper_says(scheme: Scheme, count: int) -> None:
    space = Space(column(WORK_VALUES, hierarchy={"tree": WORK}), scheme)
    assert space.walk.count == count
    for up in (True, False):
        met = tree_of(space, up=up)
        assert len(met) == len({leaves_by(space[position]) for position in met}) == count


@pytest.mark.parametrize("size", range(1, 8))
def test_flat_attributes_have_bell_numbers_and_powers_of_two(size: int) -> None:
    quasi = column(list("abcdefg"[:size]))
    expected = {
        "level": min(size, 2),
        "cut": min(size, 2),
        "guided-ordered": 2 ** (size - 1),
        "ordered": 2 ** (size - 1),
        "guided-set": BELL[size],
        "set": BELL[size],
    }
    for scheme in SCHEMES:
        space = Space(quasi, scheme)
        assert space.walk.count == len(tree_of(space, up=True)) == len(tree_of(space, up=False)) == expected[scheme]


def test_partitions_of_four_values_are_fifteen_where_figure_6_makes_sixteen() -> None:
    four = Partitions([Branch((0, 1, 2, 3), SETS)])
    met = [four.finest]
    for state in met:
        met += four.coarser(state)
    assert len(met) == len({*met}) == four.count == 15
    # Examples 1 and 2: what may be merged next
    five = Partitions([Branch((0, 1, 2, 3, 4), SETS)])
    assert {*five.coarser(((0, 1, 1, 2, 3),))} == {((0, 1, 1, 1, 2),), ((0, 1, 1, 2, 2),), ((0, 1, 1, 2, 1),)}
    assert {*five.coarser(((0, 1, 2, 0, 3),))} == {
        ((0, 1, 1, 0, 2),),
        ((0, 1, 2, 0, 2),),
        ((0, 1, 2, 0, 1),),
        ((0, 1, 2, 0, 0),),
    }


def test_examples_4_and_5_have_three_and_two_ways_on() -> None:
    state = ((0, 1, 1, 2, 3, 3, 4, 5),)  # <{1}, {2, 3}, {4}, {5, 6}, {7}, {8}>
    assert len([*Partitions([Branch(tuple(range(8)), SETS)]).coarser(state)]) == 3  # four by Figure 6
    assert len([*Partitions([Branch(tuple(range(8)), RUNS)]).coarser(state)]) == 2


def closed_form(tree: Hierarchy, node: int, scheme: Scheme) -> int:
    """N(v): over the partitions of v's children, the product of N(c) over the children left alone."""
    if node < tree.leaves:
        return 1
    children = sorted((v for v in range(tree.root) if tree.parent[v] == node), key=lambda v: int(tree.first[v]))
    counts = [closed_form(tree, child, scheme) for child in children]
    if scheme == "cut":
        return prod(counts) + (len(counts) > 1)
    if scheme == "guided-set":
        partitions: Iterable[Partition] = set_partitions(range(len(counts)))
    else:
        ends = [
            (0, *cuts, len(counts)) for size in range(len(counts)) for cuts in combinations(range(1, len(counts)), size)
        ]
        partitions = [frozenset(frozenset(range(a, b)) for a, b in pairwise(cuts)) for cuts in ends]
    return sum(prod(counts[min(block)] for block in parts if len(block) == 1) for parts in partitions)


@given(rng=st.randoms(use_true_random=False), size=st.integers(1, 16))
def test_counts_have_a_closed_form_where_there_are_too_many_to_walk(rng: Any, size: int) -> None:
    values = [f"v{i:02}" for i in range(size)]
    groups = [values[start : start + 5] for start in range(0, size, 5)]
    paths = [[*path, "*"] for i, part in enumerate(groups) for path in random_paths(part, rng, (f"H{i}",))]
    quasi = column(values, hierarchy={"paths": paths})
    for scheme in ("cut", "guided-ordered", "guided-set"):
        assert Space(quasi, scheme).walk.count == closed_form(quasi.hierarchy, quasi.hierarchy.root, scheme)


# Spaces of random attributes: trees with values that nobody has, missing values, boundaries, orders


@given(case=attributes)
def test_every_partition_of_a_scheme_is_met_once_upwards_and_once_downwards(case: Case) -> None:
    quasi, order = the_attribute(case)
    for scheme in schemes_for(quasi, order):
        space, expected = Space(quasi, scheme), partitions_of(quasi, order, scheme)
        for up in (True, False):
            met = [values_by(quasi, space[position]) for position in tree_of(space, up=up)]
            assert len(met) == len({*met}), scheme
            assert {*met} == expected, scheme
        assert space.walk.count == len(expected), scheme


@given(case=attributes)
def test_children_are_strictly_coarser_upwards_and_finer_downwards(case: Case) -> None:
    quasi, order = the_attribute(case)
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        for up in (True, False):
            for parent, children in tree_of(space, up=up).items():
                for child in children:
                    coarse, fine = (space[child], space[parent]) if up else (space[parent], space[child])
                    assert values_by(quasi, coarse) != values_by(quasi, fine)
                    assert coarser_or_equal(values_by(quasi, coarse), values_by(quasi, fine))
                    assert coarser_or_equal(leaves_by(coarse), leaves_by(fine))
                    assert (coarse.covered >= fine.covered).all()


@given(case=attributes)
def test_the_ends_of_a_recoding_bound_all_below_it(case: Case) -> None:
    quasi, order = the_attribute(case)
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        for up in (True, False):
            tree = tree_of(space, up=up)
            for position in tree:
                end = space[space.end(position, up=up)]
                for below in descendants(tree, position):
                    coarse, fine = (end, space[below]) if up else (space[below], end)
                    assert coarser_or_equal(leaves_by(coarse), leaves_by(fine))
                    assert (coarse.covered >= fine.covered).all()


@given(case=attributes)
def test_ends_belong_to_the_space(case: Case) -> None:
    quasi, order = the_attribute(case)
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        upwards = tree_of(space, up=True)
        assert {space.end(position, up=True) for position in upwards} <= {*upwards}
        assert {space.end(position, up=False) for position in upwards} <= {*upwards}


@given(case=attributes)
def test_schemes_contain_each_other_as_the_paper_has_it(case: Case) -> None:
    quasi, order = the_attribute(case)
    found = {}
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        found[scheme] = {values_by(quasi, space[position]) for position in tree_of(space, up=True)}
    for narrow, wide in WITHIN:
        if narrow in found and wide in found:
            assert found[narrow] <= found[wide], (narrow, wide)
    if "guided-ordered" not in found:  # what the order tears apart
        assert found["cut"] <= found["guided-set"]


@given(case=attributes)
def test_blocks_and_labels_are_those_of_the_design(case: Case) -> None:
    quasi, order = the_attribute(case)
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        for position in tree_of(space, up=True):
            recoding = space[position]
            expected = published(quasi, order, scheme, values_by(quasi, recoding))
            assert recoding.blocks.tolist() == list(expected.homes), scheme
            assert recoding.covered.tolist() == [len(leaves) for leaves in expected.covered], scheme
            assert recoding.labels == expected.labels, scheme


@given(case=attributes)
def test_no_block_reaches_across_a_boundary(case: Case) -> None:
    quasi, order = the_attribute(case)
    ceilings = quasi.hierarchy.ceilings
    for scheme in schemes_for(quasi, order):
        space = Space(quasi, scheme)
        for position in tree_of(space, up=True):
            for block in leaves_by(space[position]):
                assert len({int(ceilings[leaf]) for leaf in block}) == 1


@given(case=attributes)
def test_guided_ordered_refuses_an_order_that_tears_a_node_apart(case: Case) -> None:
    quasi, order = the_attribute(case)
    torn = torn_nodes(quasi, order)
    if not torn:
        Space(quasi, "guided-ordered")
        return
    with pytest.raises(SpecError) as refused:
        Space(quasi, "guided-ordered")
    assert "attributes.q0.order" in str(refused.value)
    assert any(repr(quasi.hierarchy.labels[node]) in str(refused.value) for node in torn)


def test_the_error_names_the_node_that_the_order_tears_apart() -> None:
    tree = {"north": ["a", "b"], "south": ["c", "d"]}
    quasi = column(list("abcd"), hierarchy={"tree": tree}, order=["a", "c", "d", "b"])
    with pytest.raises(SpecError, match=r"attributes\.x\.order.*'north'.*guided-ordered"):
        Space(quasi, "guided-ordered")
    assert Space(quasi, "ordered").walk.count == 8
    assert Space(quasi, "guided-set").walk.count == 5


def test_levels_that_differ_only_in_values_that_nobody_has_are_one() -> None:
    quasi = column(["a", "b"], hierarchy={"tree": {"A": ["a", "x"], "B": ["b", "y"]}})
    assert Space(quasi, "level").walk.count == 2


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme != "level"])
def test_everything_merged_is_published_as_the_lowest_node_over_it(scheme: Scheme) -> None:
    quasi = column(["a", "b"], hierarchy={"tree": {"A": ["a", "b", "x"], "B": ["y"]}})
    space = Space(quasi, scheme)
    assert space[space.coarsest].labels == ("A", "A", "A", "y")


# Labels


def labels_of(quasi: Quasi, scheme: Scheme) -> set[tuple[str | None, ...]]:
    """What the values that occur are published as, over all recodings of a space."""
    space, values = Space(quasi, scheme), in_order(quasi, None)
    return {tuple(space[position].labels[leaf] for leaf in values) for position in tree_of(space, up=True)}


def test_runs_of_numbers_are_ranges() -> None:
    quasi = column([34, 20, 8, 20], order="numeric")
    assert labels_of(quasi, "ordered") == {
        ("8", "20", "34"),
        ("[8, 20]", "[8, 20]", "34"),
        ("8", "[20, 34]", "[20, 34]"),
        ("*", "*", "*"),
    }
    assert ("{8, 34}", "20", "{8, 34}") in labels_of(quasi, "set")
    assert ("[8, 20]", "[8, 20]", "34") in labels_of(quasi, "set")


def test_a_missing_number_is_part_of_no_range() -> None:
    quasi = column([1, 2, None], order="numeric")
    assert labels_of(quasi, "ordered") == {
        ("1", "2", None),
        ("[1, 2]", "[1, 2]", None),
        ("1", "{2, null}", "{2, null}"),
        ("*", "*", "*"),
    }


def test_text_makes_sets_and_nodes_keep_their_labels() -> None:
    quasi = column(list("abcd"), hierarchy={"tree": {"A": ["a", "b", "c"], "D": ["d"]}})
    assert ("A", "A", "A", "d") in labels_of(quasi, "set")
    assert ("{a, c}", "b", "{a, c}", "d") in labels_of(quasi, "set")
    assert ("{a, b}", "{a, b}", "c", "d") in labels_of(quasi, "guided-ordered")
    assert labels_of(quasi, "level") == {("a", "b", "c", "d"), ("A", "A", "A", "D"), ("*", "*", "*", "*")}
    assert labels_of(quasi, "cut") == {("a", "b", "c", "d"), ("A", "A", "A", "d"), ("*", "*", "*", "*")}


def test_odd_values_are_quoted_in_sets() -> None:
    quasi = column(["a, b", "null", None, "z"])
    assert quasi.hierarchy.labels == ("a, b", "null", "z", None, "*")
    found = labels_of(quasi, "set")
    assert ('{"a, b", "null"}', '{"a, b", "null"}', "z", None) in found
    assert ("a, b", '{"null", null}', "z", '{"null", null}') in found
    assert ("*", "*", "*", "*") in found


def test_a_root_has_the_name_that_its_file_gave_it() -> None:
    quasi = column(["a", "b"], hierarchy={"paths": [["a", "anywhere"], ["b", "anywhere"]]})
    for scheme in SCHEMES:
        assert labels_of(quasi, scheme) == {("a", "b"), ("anywhere", "anywhere")}


def test_a_value_that_looks_like_a_set_is_an_error_when_both_would_be_published() -> None:
    quasi = column(["a", "b", "{a, b}"])
    space = Space(quasi, "set")
    merged = next(
        p
        for p in tree_of(space, up=True)
        if values_by(quasi, space[p]) == frozenset({frozenset({0, 1}), frozenset({2})})
    )
    with pytest.raises(DataError, match=r"'\{a, b\}'"):
        _ = space[merged].labels


def test_threads_that_meet_new_partitions_at_the_same_time_agree_on_their_positions() -> None:
    """Searches look at several nodes at once; with positions mixed up, one recoding would be published for another."""
    space, interval = Space(column([*"abcdefg"]), "set"), sys.getswitchinterval()
    every = [*everything_above(space.walk, space.walk.finest)]
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = [*threads.map(lambda part: [space.position(state) for state in part], [every, every[::-1]] * 2)]
    finally:
        sys.setswitchinterval(interval)
    assert found[0] == found[2] == found[1][::-1] == found[3][::-1]
    assert sorted({*found[0]}) == list(range(len(space)))
    assert len(every) == 877
    for state, position in zip(every, found[0], strict=True):
        assert space.state(position) == state
        assert np.array_equal(space[position].blocks, space.recode(state).blocks)


def everything_above(walk: Any, state: Any) -> Iterator[Any]:
    """All partitions from one upwards."""
    yield state
    for other in walk.coarser(state):
        yield from everything_above(walk, other)


def test_the_highest_set_joins_along_all_moves() -> None:
    """Children that one step may join to each other are together in it, and no others."""
    size = 6
    tree = Partitions([Branch(tuple(range(size)), SETS)])
    todo = [tree.finest]
    while todo:
        state = todo.pop()
        todo += (steps := [*tree.coarser(state)])
        for mergeable in product([False, True], repeat=size):
            joined = {i: {j for j in range(size) if state[0][j] == state[0][i]} for i in range(size)}
            for blocks in SETS.merges(state[0], mergeable):
                for i, j in combinations(range(size), 2):
                    if blocks[i] == blocks[j]:
                        for each in (together := joined[i] | joined[j]):
                            joined[each] = together
            highest = SETS.highest(state[0], mergeable)
            assert {i: {j for j in range(size) if highest[j] == highest[i]} for i in range(size)} == joined
        assert bool(steps) == (tree.highest(state) != state)
