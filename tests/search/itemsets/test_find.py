"""Searches of item cuts against brute force over all cuts, the paper's example, and what must hold of every search."""

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.errors import SpecError, Unsatisfiable
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.find import SEARCHES, CutResult, find_cut
from ringfence.search.itemsets.preorder import Preorder
from ringfence.search.itemsets.proven_cut import backbone
from ringfence.search.itemsets.supports import Supports
from ringfence.search.progress import Watch
from ringfence.values.hierarchy import Hierarchy
from tests.item_tables import (
    Case,
    all_cuts,
    ancestors,
    baskets_of,
    cases,
    cheapest,
    is_above,
    is_anonymous,
    ncp,
    set_supports,
    undone,
)

EXACT = ("optimal", "breadth-first", "cheapest-first")
K, M = st.integers(1, 4), st.integers(1, 4)

A1, A2, B1, B2, A, B, ALL = range(7)
PAPER = Hierarchy.from_tree({"A": {"a1": {}, "a2": {}}, "B": {"b1": {}, "b2": {}}}, root="ALL")
FIGURE_2 = [[A1, B1, B2], [A2, B1], [A2, B1, B2], [A1, A2, B2]]


def cut_of(result: CutResult) -> tuple[int, ...]:
    return tuple(result.nodes.tolist())


def named(nodes: Sequence[int]) -> str:
    return "-".join(str(PAPER.labels[node]) for node in nodes)


# The paper's example


@pytest.mark.parametrize("search", SEARCHES)
def test_figure_2_ends_in_a1_and_a2_as_a(search: str) -> None:
    result = find_cut(baskets_of(PAPER, FIGURE_2), 2, 2, search=search)
    assert cut_of(result) == (A, A, B1, B2)
    assert result.search.cost == 2.5 / 11
    assert result.reasons.keys() == {A}
    assert (result.reasons[A].nodes, result.reasons[A].support) == ((A1, A2), 1)


def test_figure_6_the_expanded_database() -> None:
    supports = Supports(ItemTree(baskets_of(PAPER, FIGURE_2)))
    held = supports.held
    expanded = {
        frozenset(held.items[held.starts[b] : held.starts[b + 1]].tolist()): {
            node for node in range(ALL) if b in supports.having(node)
        }
        for b in range(4)
    }
    assert expanded == {
        frozenset({A1, B1, B2}): {A1, B1, B2, A, B},
        frozenset({A2, B1}): {A2, B1, A, B},
        frozenset({A2, B1, B2}): {A2, B1, B2, A, B},
        frozenset({A1, A2, B2}): {A1, A2, B2, A, B},
    }


def test_direct_examines_the_paths_that_section_4_3_tells_of() -> None:
    tree = ItemTree(baskets_of(PAPER, FIGURE_2))
    walk = Preorder(tree, Supports(tree), 2, Watch())
    cut = np.arange(4, dtype=np.int32)
    examined = []
    for path, support in walk.paths(cut, 2, look_ahead=False, every=True):
        examined.append(named(path))
        if support < 2:
            assert path == [A2, A1]
            walk.generalized[A] = True
            cut[:2] = A
    by_support = ["A", "A-B", "A-b1", "A-b2", "B", "B-a2", "B-a1", "a2", "a2-b1", "a2-b2", "a2-a1"]
    assert examined == [*by_support, "b1", "b1-b2", "b2"]  # then b1 and b2, and a1 no more


def test_apriori_leaves_generalized_items_out_of_its_next_pass() -> None:
    rows = [[A1, B1], [B1, B2], [B1, B2], [A2, B2], [A2, B1]]
    tree = ItemTree(baskets_of(PAPER, rows))
    walk = Preorder(tree, Supports(tree), 2, Watch())
    walk.apriori(1)  # a1 is bought once
    assert np.flatnonzero(walk.generalized).tolist() == [A]
    paths = [named(path) for path, _ in walk.paths(tree.cut(walk.generalized), 2, look_ahead=False, every=True)]
    assert paths == ["B", "B-A", "b1", "b1-A", "b1-b2", "A", "A-b2", "b2"]


# All searches against brute force


@pytest.mark.parametrize("search", SEARCHES)
@given(case=cases(), k=K, m=M, specialize=st.booleans())
def test_contract(search: str, case: Case, k: int, m: int, specialize: bool) -> None:
    least = cheapest(case, k, m)
    if least is None:
        with pytest.raises(Unsatisfiable):
            find_cut(case.baskets, k, m, search=search)
        return
    result = find_cut(case.baskets, k, m, search=search, specialize=specialize)
    cut = cut_of(result)
    assert cut in set(all_cuts(case.tree))
    assert is_anonymous(case.rows, cut, k, m)
    loss = ncp(case.rows, case.tree, cut)
    assert result.search.cost == pytest.approx(float(loss), rel=1e-12)
    assert loss >= least
    assert result.search.bound <= result.search.cost
    if search in EXACT:
        assert loss == least
        assert result.search.optimal
        assert result.search.bound == result.search.cost
    else:
        assert result.search.optimal == (loss == 0)
    generalized = {node for node in cut if node >= case.tree.leaves}
    assert result.reasons.keys() == generalized
    for node, reason in result.reasons.items():
        holding = [row for row in case.rows if all(_holds(case.tree, row, member) for member in reason.nodes)]
        assert reason.support == len(holding)
        assert 1 <= reason.support < k
        assert len(reason.nodes) <= m
        if specialize or search in EXACT:
            apart = undone(case.tree, cut, node)
            assert set(reason.nodes) <= set(apart)
            assert any(case.tree.parent[member] == node for member in reason.nodes)
            assert set_supports(case.rows, apart, m)[frozenset(reason.nodes)] == reason.support
        else:
            assert any(node in ancestors(case.tree, member) for member in reason.nodes)


def _holds(tree: Hierarchy, row: Sequence[int], node: int) -> bool:
    return any(node in ancestors(tree, leaf) for leaf in row)


@given(case=cases(), k=K, m=M, search=st.sampled_from(SEARCHES))
def test_no_node_of_a_specialized_cut_can_be_undone(case: Case, k: int, m: int, search: str) -> None:
    try:
        cut = cut_of(find_cut(case.baskets, k, m, search=search))
    except Unsatisfiable:
        return
    for node in {node for node in cut if node >= case.tree.leaves}:
        assert not is_anonymous(case.rows, undone(case.tree, cut, node), k, m)


@given(case=cases(), k=K, m=M)
def test_specializing_back_never_costs(case: Case, k: int, m: int) -> None:
    try:
        finer, coarser = (find_cut(case.baskets, k, m, search="apriori", specialize=s) for s in (True, False))
    except Unsatisfiable:
        return
    assert is_above(case.tree, cut_of(coarser), cut_of(finer))
    assert finer.search.cost <= coarser.search.cost


@given(case=cases(max_leaves=6), k=K, m=M)
def test_every_cut_above_an_anonymous_one_is_anonymous(case: Case, k: int, m: int) -> None:
    cuts = list(all_cuts(case.tree))
    anonymous = {cut: is_anonymous(case.rows, cut, k, m) for cut in cuts}
    for higher, lower in itertools.product(cuts, cuts):
        if anonymous[lower] and is_above(case.tree, higher, lower):
            assert anonymous[higher]


@given(case=cases(), k=K, m=M)
def test_the_backbone_is_what_every_anonymous_cut_generalizes(case: Case, k: int, m: int) -> None:
    tree = ItemTree(case.baskets)
    cuts = [np.array(cut, np.int32) for cut in all_cuts(case.tree) if is_anonymous(case.rows, cut, k, m)]
    if not cuts:
        return
    common = np.logical_and.reduce([tree.generalized(cut) for cut in cuts])
    assert np.array_equal(backbone(tree, Supports(tree), k, m, Watch()), common)


@given(case=cases(), k=K, m=M, search=st.sampled_from(SEARCHES))
def test_a_search_cut_short_is_anonymous_and_certifies_a_bound(case: Case, k: int, m: int, search: str) -> None:
    least = cheapest(case, k, m)
    if least is None:
        return
    result = find_cut(case.baskets, k, m, search=search, watch=Watch(time_limit=-1.0))  # up after the first node
    assert is_anonymous(case.rows, cut_of(result), k, m)
    assert result.search.bound <= float(least) * (1 + 1e-12)
    assert float(least) <= result.search.cost * (1 + 1e-12)
    if result.search.optimal:
        assert result.search.cost == pytest.approx(float(least), rel=1e-12)


@given(case=cases(max_leaves=10, max_rows=30), k=K, m=M)
def test_looking_ahead_misses_no_rare_path(case: Case, k: int, m: int) -> None:
    tree = ItemTree(case.baskets)
    supports = Supports(tree)

    def paths(look_ahead: bool) -> list[tuple[list[int], int]]:
        rng, walk = random.Random(7), Preorder(tree, supports, k, Watch())
        cut, met = np.arange(case.tree.leaves, dtype=np.int32), []
        for path, support in walk.paths(cut, m, look_ahead=look_ahead):
            met.append((path, support))
            raised = [int(tree.above[node]) for node in path if tree.above[node] >= 0]
            if raised:
                node = rng.choice(raised)
                walk.generalized[tree.below(node)] = True
                cut[tree.leaves_below(node)] = node
        return met

    assert paths(look_ahead=True) == paths(look_ahead=False)


@given(case=cases(), k=K, m=M, search=st.sampled_from(SEARCHES), data=st.data())
def test_the_order_of_rows_and_items_changes_nothing(
    case: Case, k: int, m: int, search: str, data: st.DataObject
) -> None:
    rows = [data.draw(st.permutations(row)) for row in data.draw(st.permutations(case.rows))]
    try:
        one = find_cut(case.baskets, k, m, search=search)
    except Unsatisfiable:
        return
    other = find_cut(baskets_of(case.tree, rows), k, m, search=search)
    assert cut_of(one) == cut_of(other)
    assert one.reasons == other.reasons
    assert one.search.nodes == other.search.nodes


# Cases made by hand


@pytest.mark.parametrize("search", SEARCHES)
def test_short_baskets_count_though_they_hold_no_set_of_m(search: str) -> None:
    """a1 is bought once, and alone: no set of two holds it, so whoever looks at sets of m = 2 only would publish it."""
    rows = [[A1], [B1, B2], [B1, B2], [A2, B1], [A2, B1]]
    leaves = tuple(range(4))
    assert all(support >= 2 for nodes, support in set_supports(rows, leaves, 2).items() if len(nodes) == 2)
    result = find_cut(baskets_of(PAPER, rows), 2, 2, search=search)
    assert cut_of(result) == (A, A, B1, B2)


@pytest.mark.parametrize("search", SEARCHES)
def test_fewer_than_k_rows_with_items_is_unsatisfiable(search: str) -> None:
    with pytest.raises(Unsatisfiable, match=r"k = 3 needs at least 3 rows.*there are 2 \(2 more are empty\).*k.* is 2"):
        find_cut(baskets_of(PAPER, [[A1], [A1, A2], [], []]), 3, 2, search=search)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_boundary_that_is_too_low_is_unsatisfiable_and_names_a_set(search: str) -> None:
    tree = PAPER.with_boundary(["A", "B"])
    wanted = r"boundary of 'basket'.*k = 2 and m = 2.*only 1 row would show 'A', 'B'"
    with pytest.raises(Unsatisfiable, match=wanted):
        find_cut(baskets_of(tree, [[A1, B1], [A1], [A2], [B1], [B2]]), 2, 2, search=search)
    assert cut_of(find_cut(baskets_of(tree, [[A1], [A2], [B1], [B2]]), 2, 2, search=search)) == (A, A, B, B)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("rows", [[], [[], []]])
def test_where_nothing_was_bought_nothing_is_generalized(search: str, rows: list[list[int]]) -> None:
    result = find_cut(baskets_of(PAPER, rows), 5, 3, search=search)
    assert cut_of(result) == (A1, A2, B1, B2)
    assert (result.search.cost, result.search.optimal) == (0, True)


@pytest.mark.parametrize("search", SEARCHES)
def test_items_that_nobody_has_count_as_leaves(search: str) -> None:
    tree = Hierarchy.from_tree({"A": {"a1": {}, "a2": {}, "a3": {}}, "B": {"b1": {}}})
    result = find_cut(baskets_of(tree, [[0], [1], [1]]), 2, 1, search=search)
    assert [tree.labels[node] for node in result.nodes] == ["A", "A", "A", "b1"]
    assert result.search.cost == float(Fraction(3, 4))


@pytest.mark.parametrize("search", SEARCHES)
def test_a_last_small_group_may_take_everything_to_the_root(search: str) -> None:
    tree = Hierarchy.from_tree({"A": {"a1": {}, "a2": {}}, "B": {"C": {"c1": {}}}})
    result = find_cut(baskets_of(tree, [[0], [0], [1], [1], [2]]), 2, 1, search=search)
    assert set(result.nodes.tolist()) == {tree.root}
    assert result.search.cost == 1


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 0)])
def test_k_and_m_below_1_are_refused(k: int, m: int) -> None:
    with pytest.raises(SpecError, match=r"both must be at least 1"):
        find_cut(baskets_of(PAPER, FIGURE_2), k, m)


def test_an_unknown_search_is_refused() -> None:
    with pytest.raises(SpecError, match=r"method.search = 'best'.*allowed: optimal, apriori"):
        find_cut(baskets_of(PAPER, FIGURE_2), 2, 2, search="best")


@pytest.mark.parametrize("search", ["breadth-first", "cheapest-first"])
def test_walks_over_too_many_cuts_are_refused_unless_there_is_a_time_limit(search: str) -> None:
    tree = Hierarchy.from_tree({f"g{i}": {f"{i}a": {}, f"{i}b": {}} for i in range(30)})
    baskets = baskets_of(tree, [[i] for i in range(60)])
    assert ItemTree(baskets).cuts == 2**30 + 1
    with pytest.raises(SpecError, match=r"has 1.07e\+09; use \"optimal\""):
        find_cut(baskets, 2, 1, search=search)
    result = find_cut(baskets, 2, 1, search=search, watch=Watch(time_limit=0.05))
    assert result.search.bound <= 2 / 60 <= result.search.cost
    assert find_cut(baskets, 2, 1).search.cost == 2 / 60


@given(case=cases())
def test_the_number_of_cuts(case: Case) -> None:
    assert ItemTree(case.baskets).cuts == len(list(all_cuts(case.tree)))
