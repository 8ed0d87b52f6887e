"""Find a cut of an item tree that makes baskets k^m-anonymous, by any of the searches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ringfence.arrays import Bools, Ints
from ringfence.census.baskets import Baskets
from ringfence.errors import SpecError, Unsatisfiable, listed
from ringfence.search.itemsets.cuts import ItemTree
from ringfence.search.itemsets.preorder import Preorder
from ringfence.search.itemsets.proven_cut import Optimum
from ringfence.search.itemsets.specialize import specialize as undo
from ringfence.search.itemsets.supports import RareSet, Supports
from ringfence.search.itemsets.walks import CutWalk
from ringfence.search.progress import SearchResult, Watch
from ringfence.values.hierarchy import MISSING

SEARCHES = ("optimal", "apriori", "direct", "breadth-first", "cheapest-first")
MOST_CUTS = 10**7  # that a walk over all cuts is begun with, unless there is a time limit


@dataclass(frozen=True, eq=False)
class CutResult:
    """A cut, and what is known of it.

    `nodes[leaf]` is the node that a leaf is published as. The cost in `search` is NCP; its nodes are the cuts and sets
    that were judged, and what it pruned are cuts that were met but not judged. `reasons[node]` says for a node that
    stands for several items why: a rare set that would be published if it were undone.
    """

    nodes: Ints
    search: SearchResult
    reasons: Mapping[int, RareSet]


def find_cut(
    baskets: Baskets, k: int, m: int, *, search: str = "optimal", specialize: bool = True, watch: Watch | None = None
) -> CutResult:
    """Return a cut after which every set of up to m published items is held by k rows at least, or by none.

    Whoever knows up to m items of a basket then finds at least k baskets that it may be. The loss is NCP: the mean over
    all items of all rows of the share of leaves below the published node, 0 where that is the item itself. Leaves that
    nobody has count as leaves. A leaf is never published as a node above its ceiling.

    Parameters
    ----------
    baskets
        What was counted. Empty rows take no part: nobody can look for them.
    k, m
        Each at least 1.
    search
        "optimal" is the cheapest cut, proven. "apriori" and "direct" generalize wherever they meet a rare set, as the
        paper does; "breadth-first" is its walk over all cuts, and "cheapest-first" one that ends sooner, both for small
        domains.
    specialize
        Whether what "apriori" and "direct" generalized without need is undone in the end. It is not in the paper.
    watch
        Its time limit, if any, ends a search early. The cut is k^m-anonymous all the same, and `search.bound` is a
        certified bound on the loss of any such cut. "apriori" and "direct" then fall back to the coarsest cut.

    Raises
    ------
    Unsatisfiable
        If not even the coarsest cut is k^m-anonymous: fewer than k rows hold anything, or ceilings are too low.

    Examples
    --------
    The paper's example: four baskets, k = m = 2.

    >>> from ringfence.values.hierarchy import Hierarchy
    >>> tree = Hierarchy.from_tree({"A": {"a1": {}, "a2": {}}, "B": {"b1": {}, "b2": {}}})
    >>> rows = [[0, 2, 3], [1, 2], [1, 2, 3], [0, 1, 3]]
    >>> offsets = np.cumsum([0, *map(len, rows)])
    >>> found = find_cut(Baskets.from_lists("basket", tree, offsets, np.concatenate(rows)), k=2, m=2)
    >>> [tree.labels[node] for node in found.nodes], found.search.cost == 2.5 / 11, found.search.optimal
    (['A', 'A', 'b1', 'b2'], True, True)
    >>> {tree.labels[node]: (*(tree.labels[v] for v in why.nodes), why.support) for node, why in found.reasons.items()}
    {'A': ('a1', 'a2', 1)}

    Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008. We require at least k
    rows where its Definition 1 says more than k, and look at sets of every size up to m. The optimal search is ours.
    """
    if search not in SEARCHES:
        raise SpecError(f"method.search = {search!r} is not a search of item cuts; allowed: {listed(SEARCHES)}")
    if k < 1 or m < 1:
        raise SpecError(f"privacy.k = {k} and privacy.m = {m}: both must be at least 1")
    watch = watch or Watch()
    tree = ItemTree(baskets)
    supports = Supports(tree)
    m = min(m, int(np.diff(baskets.starts).max(initial=1)))
    _refuse_impossible(tree, supports, k, m)
    outcome = _SEARCH[search](tree, supports, k, m, watch)
    cut, reasons = tree.cut(outcome.generalized), outcome.reasons
    if specialize or reasons is None:
        cut, reasons = undo(tree, supports, cut, k, m, watch)
    cost = tree.cost(tree.generalized(cut))
    bound = min(cost, outcome.bound)
    standing = {int(node) for node in np.unique(cut) if node >= tree.hierarchy.leaves}
    return CutResult(
        nodes=cut,
        search=SearchResult(
            cost=cost / tree.scale,
            optimal=cost == bound,
            bound=bound / tree.scale,
            nodes=watch.nodes,
            pruned=outcome.pruned,
            seconds=watch.seconds,
        ),
        reasons={node: reasons[node] for node in sorted(standing & reasons.keys())},
    )


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What a search generalizes, a bound on the cost of any cut, and reasons where the search itself has them."""

    generalized: Bools
    bound: int = 0
    pruned: int = 0
    reasons: dict[int, RareSet] | None = None


def _optimal(tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch) -> _Outcome:
    optimum = Optimum(tree, supports, k, m, watch)
    optimum.run()
    return _Outcome(optimum.best, optimum.bound)


def _greedy(tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch, *, direct: bool) -> _Outcome:
    walk = Preorder(tree, supports, k, watch)
    (walk.direct if direct else walk.apriori)(m)
    if not walk.complete:
        return _Outcome(tree.generalized(tree.tops))
    return _Outcome(walk.generalized, reasons=walk.reasons)


def _walk(tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch, *, cheapest: bool) -> _Outcome:
    cuts = tree.cuts
    if cuts > MOST_CUTS and watch.time_limit is None:
        raise SpecError(
            f"method.search walks over the cuts of an item tree one by one, and this one has {cuts:.3g};"
            ' use "optimal", or set method.time_limit'
        )
    walk = CutWalk(tree, supports, k, m, watch)
    (walk.cheapest_first if cheapest else walk.breadth_first)()
    generalized = tree.generalized(tree.tops) if walk.best is None else walk.generalized(walk.best)
    return _Outcome(generalized, walk.bound, len(walk.marked))


_SEARCH: dict[str, Callable[[ItemTree, Supports, int, int, Watch], _Outcome]] = {
    "optimal": _optimal,
    "apriori": partial(_greedy, direct=False),
    "direct": partial(_greedy, direct=True),
    "breadth-first": partial(_walk, cheapest=False),
    "cheapest-first": partial(_walk, cheapest=True),
}


def _refuse_impossible(tree: ItemTree, supports: Supports, k: int, m: int) -> None:
    """Raise Unsatisfiable if the coarsest cut has a rare set: by monotonicity every finer one has one too."""
    baskets = tree.baskets
    if 0 < baskets.filled < k:
        empty = f" ({baskets.empty} more are empty)" if baskets.empty else ""
        raise Unsatisfiable(
            f"k = {k} needs at least {k} rows with items in {baskets.name!r}, but there are {baskets.filled}{empty};"
            f" the largest k that is possible is {baskets.filled}"
        )
    rare = supports.rare_set(tree.tops, k, m, under=tree.hierarchy.root)
    if rare is not None:
        labels = listed(repr(tree.hierarchy.labels[node] or MISSING) for node in rare.nodes)
        raise Unsatisfiable(
            f"the boundary of {baskets.name!r} is too low for k = {k} and m = {m}: even where everything is generalized"
            f" as far as it allows, only {rare.support} row{'s' * (rare.support != 1)} would show {labels}"
        )
