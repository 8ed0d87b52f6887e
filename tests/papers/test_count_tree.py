"""The count-tree of the paper on itemsets: as many nodes as there are sets, counted in plain Python."""

from itertools import combinations, pairwise
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
        for size in range(1, m + 1):
            for some in combinations(sorted(nodes), size):
                if not any(a in above[b] or b in above[a] for a, b in combinations(some, 2)):
                    sets.add(some)
    assert count_tree(baskets, k, m, apriori=apriori) == len(sets)
