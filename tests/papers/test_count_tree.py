"""The count-tree of the paper on itemsets: as many nodes as there are sets, counted in plain Python."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from benchmarks.papers.count_tree import count_tree
from ringfence.search.itemsets.find import find_cut
from tests.clusterings import ancestors
from tests.item_tables import Case, cases


@settings(max_examples=12)
@given(case=cases(), k=st.integers(1, 4), m=st.integers(1, 4), apriori=st.booleans())
def test_nodes_are_the_sets_that_some_row_holds(case: Case, k: int, m: int, apriori: bool) -> None:
    baskets = case.baskets
    tree: Any = baskets.hierarchy
    try:
        cut = find_cut(baskets, k, m - 1, search="apriori", specialize=False).nodes if m > 1 else range(tree.leaves)
    except rf.errors.Unsatisfiable:
        return
    sets = set()
    above = {node: {*ancestors(tree, node)} for node in range(len(tree.parent))}
    for start, stop in pairwise(baskets.starts.tolist()):
        items = baskets.items[start:stop].tolist()
        nodes = {node for item in items for node in above[int(cut[item]) if apriori else item]} - {tree.root}
        grown: list[tuple[int, ...]] = [()]
        for _ in range(m):  # a set with two nodes of which one is above the other is in no set that counts
            grown = [
                (*some, node)
                for some in grown
                for node in nodes
                if (not some or some[-1] < node) and not any(a in above[node] or node in above[a] for a in some)
            ]
            sets.update(grown)
    assert count_tree(baskets, k, m, apriori=apriori) == len(sets)
