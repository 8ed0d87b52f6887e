"""Kernels that count sets of nodes against slow twins in plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from item_tables import Case, Cut, all_cuts, ancestors, cases, leaves_of, set_supports

from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.supports import Supports

K, M = st.integers(1, 4), st.integers(1, 4)


def rows_with(case: Case, nodes: tuple[int, ...]) -> int:
    """How many rows hold a leaf below each of some nodes."""
    leaves = [set(leaves_of(case.tree, node)) for node in nodes]
    return sum(all(below & set(row) for below in leaves) for row in case.rows)


def drawn_cut(case: Case, data: st.DataObject) -> Cut:
    return data.draw(st.sampled_from(sorted(all_cuts(case.tree))))


@given(case=cases(max_rows=150))
def test_bitsets_say_which_baskets_hold_a_node(case: Case) -> None:
    supports, baskets = Supports(ItemTree(case.baskets)), case.baskets
    for node in range(len(case.tree.labels)):
        below = set(leaves_of(case.tree, node))
        expected = [
            b
            for b in range(len(baskets.weights))
            if below & set(baskets.items[baskets.starts[b] : baskets.starts[b + 1]].tolist())
        ]
        assert supports.having(node).tolist() == expected
        assert supports.rows[node] == rows_with(case, (node,))


@given(case=cases(max_rows=150), size=st.integers(1, 4), enough=st.integers(1, 200), data=st.data())
def test_supports_are_counted_up_to_a_limit(case: Case, size: int, enough: int, data: st.DataObject) -> None:
    node = st.integers(0, len(case.tree.labels) - 1)
    nodes = tuple(data.draw(st.lists(node, min_size=size, max_size=size)))
    assert min(Supports(ItemTree(case.baskets)).support(nodes, enough), enough) == min(rows_with(case, nodes), enough)


@pytest.mark.parametrize("way", ["bits", "prefix"])
@given(case=cases(max_rows=150), k=st.integers(1, 40), m=M, data=st.data())
def test_rare_sets_are_those_of_the_definition(way: str, case: Case, k: int, m: int, data: st.DataObject) -> None:
    cut = drawn_cut(case, data)
    under = data.draw(st.sampled_from(sorted({v for node in cut for v in ancestors(case.tree, node)})))
    supports = Supports(ItemTree(case.baskets))
    supports._steps_by_bits = lambda *_: -1.0 if way == "bits" else np.inf  # type: ignore[method-assign]
    nodes = np.array(cut, np.int32)
    rare = {members for members, support in set_supports(case.rows, cut, m).items() if support < k}
    minimal = {members for members in rare if not any(members > other for other in rare)}
    inside = {v for v in cut if under in ancestors(case.tree, v)}
    for size in range(1, m + 1):
        found = [frozenset(row) for row in supports.rare_sets(nodes, k, size).tolist()]
        assert len(set(found)) == len(found)
        assert {members for members in minimal if len(members) == size} <= set(found) <= rare
        below = [frozenset(row) for row in supports.rare_sets(nodes, k, size, under=under).tolist()]
        assert len(set(below)) == len(below)
        assert {members for members in minimal if len(members) == size and members & inside} <= set(below)
        assert all(members in rare and members & inside for members in below)
        limited = supports.rare_sets(nodes, k, size, limit=2).tolist()
        assert len(limited) == min(2, len(found))
        assert {frozenset(row) for row in limited} <= rare
        again = [frozenset(row) for row in supports.rare_sets(nodes, k, size).tolist()]
        assert again == found  # whatever was left behind when the limit was reached


@given(case=cases(max_rows=60), k=st.integers(2, 20), m=M, data=st.data())
def test_a_smallest_rare_set_under_a_node(case: Case, k: int, m: int, data: st.DataObject) -> None:
    cut = drawn_cut(case, data)
    under = data.draw(st.sampled_from(sorted({v for node in cut for v in ancestors(case.tree, node)})))
    inside = {v for v in cut if under in ancestors(case.tree, v)}
    rare = {s: n for s, n in set_supports(case.rows, cut, m).items() if n < k and s & inside}
    found = Supports(ItemTree(case.baskets)).rare_set(np.array(cut, np.int32), k, m, under)
    if not rare:
        assert found is None
    else:
        assert found is not None
        assert len(found.nodes) == min(map(len, rare))
        assert rare[frozenset(found.nodes)] == found.support


@given(case=cases(max_rows=60), k=st.integers(2, 20), m=M, data=st.data())
def test_lifted_sets_are_rare_and_none_of_their_nodes_can_be_raised(
    case: Case, k: int, m: int, data: st.DataObject
) -> None:
    cut, tree = drawn_cut(case, data), ItemTree(case.baskets)
    supports = Supports(tree)
    for size in range(1, m + 1):
        sets = supports.rare_sets(np.array(cut, np.int32), k, size)
        lifted = supports.lifted(sets, k)
        assert len(lifted) == size * len(sets)
        for number, (start, members) in enumerate(
            zip(np.repeat(sets, size, axis=0).tolist(), lifted.tolist(), strict=True)
        ):
            assert members == slow_lift(case, tree, k, start, number % size)
            assert all(v in ancestors(case.tree, u) for v, u in zip(members, start, strict=True))
            assert 1 <= rows_with(case, tuple(members)) < k
            for place, node in enumerate(members):
                higher = int(tree.above[node])
                raised = (*members[:place], higher, *members[place + 1 :])
                assert higher < 0 or rows_with(case, raised) >= k


def slow_lift(case: Case, tree: ItemTree, k: int, members: list[int], begin: int) -> list[int]:
    """Raise the members in turn, each as far as the set stays rare."""
    members = list(members)
    for place in itertools.islice(itertools.cycle(range(len(members))), begin, begin + len(members)):
        while tree.above[members[place]] >= 0:
            raised = [*members[:place], int(tree.above[members[place]]), *members[place + 1 :]]
            if rows_with(case, tuple(raised)) >= k:
                break
            members = raised
    return members
