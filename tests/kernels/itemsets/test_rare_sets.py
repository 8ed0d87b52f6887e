"""Kernels that count sets of nodes against slow twins in plain Python."""

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.arrays import Bools
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.preorder import Preorder
from ringfence.search.itemsets.supports import Supports
from ringfence.search.progress import Watch
from ringfence.values.hierarchy import Hierarchy
from tests.item_tables import Case, Cut, all_cuts, ancestors, baskets_of, cases, leaves_of, set_supports

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
        heads = np.array(sorted(inside), np.int32)
        below = [frozenset(row) for row in supports.rare_sets(nodes, k, size, heads=heads).tolist()]
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


@given(case=cases(max_leaves=10, max_rows=60), k=K, m=M, every=st.booleans(), seed=st.integers(0, 2**32))
def test_the_walk_meets_paths_in_preorder_and_passes_over_what_is_generalized(
    case: Case, k: int, m: int, every: bool, seed: int
) -> None:
    tree = ItemTree(case.baskets)
    supports = Supports(tree)

    def generalize_some(generalized: Bools, path: list[int], rng: random.Random) -> int | None:
        """Now and then generalize the parent of a node of the path."""
        higher = int(tree.above[rng.choice(path)])
        if higher < 0 or rng.random() < 0.5:
            return None
        generalized[tree.below(higher)] = True
        return higher

    walk, rng = Preorder(tree, supports, k, Watch()), random.Random(seed)
    cut, met = np.arange(case.tree.leaves, dtype=np.int32), []
    for path, support in walk.paths(cut, m, look_ahead=False, every=every):
        met.append((tuple(path), min(support, k)))  # anything from k on says no more
        node = generalize_some(walk.generalized, path, rng)
        if node is not None:
            cut[tree.leaves_below(node)] = node

    generalized, rng, expected = np.zeros(len(case.tree.labels), bool), random.Random(seed), []
    for nodes in slow_paths(case, tree, generalized, k, m):
        support = min(rows_with(case, nodes), k)
        if every or support < k:
            expected.append((nodes, support))
            generalize_some(generalized, list(nodes), rng)
    assert met == expected


def slow_paths(case: Case, tree: ItemTree, generalized: Bools, k: int, m: int) -> Iterator[tuple[int, ...]]:
    """Every path that occurs, as long as no node of it is below a generalized one; extended if k rows hold it."""
    hierarchy = case.tree
    nodes = [v for v in range(hierarchy.root) if tree.may_stand[v] and rows_with(case, (v,)) > 0]
    order = sorted(nodes, key=lambda v: (-rows_with(case, (v,)), hierarchy.depth[v], v))

    def stale(path: tuple[int, ...]) -> bool:
        return any(generalized[hierarchy.parent[v]] for v in path)

    def related(v: int, u: int) -> bool:
        return v in ancestors(hierarchy, u) or u in ancestors(hierarchy, v)

    def extend(prefix: tuple[int, ...], start: int) -> Iterator[tuple[int, ...]]:
        for place in range(start, len(order)):
            path = (*prefix, order[place])
            if stale(prefix):
                return
            if stale(path) or any(related(order[place], v) for v in prefix) or rows_with(case, path) == 0:
                continue
            yield path
            if len(path) < m and not stale(path) and rows_with(case, path) >= k:
                yield from extend(path, place + 1)

    return extend((), 0)


@pytest.mark.parametrize("way", ["bits", "prefix"])
def test_bitsets_of_many_words(way: str) -> None:
    """A thousand different baskets and more: words that are zero, and prefixes of few words beside nodes of many."""
    rng = random.Random(2008)
    tree = Hierarchy.from_tree({f"g{g}": {f"{g}-{i}": {} for i in range(5)} for g in range(4)})
    chances = [0.002, 0.004, 0.01, 0.05, *[rng.uniform(0.1, 0.6) for _ in range(16)]]
    rows = [[leaf for leaf, chance in enumerate(chances) if rng.random() < chance] for _ in range(4000)]
    baskets = baskets_of(tree, rows)
    assert len(baskets.weights) > 2000
    supports = Supports(ItemTree(baskets))
    supports._steps_by_bits = lambda *_: -1.0 if way == "bits" else np.inf  # type: ignore[method-assign]
    cut = tuple(range(20))
    expected = set_supports(rows, cut, 3)
    for nodes, support in expected.items():
        assert min(supports.support(nodes, 50), 50) == min(support, 50)
    rare = {members for members, support in expected.items() if support < 5}
    minimal = {members for members in rare if not any(members > other for other in rare)}
    for size in (1, 2, 3):
        found = {frozenset(row) for row in supports.rare_sets(np.arange(20, dtype=np.int32), 5, size).tolist()}
        assert {members for members in minimal if len(members) == size} <= found <= rare
    assert len(minimal) > 50
