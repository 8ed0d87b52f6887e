"""Baskets decided on: from what was counted and a specification to an item plan, its search and its loss."""

from dataclasses import dataclass

from ringfence.census.baskets import Baskets
from ringfence.declared import BASKETS
from ringfence.errors import Unsatisfiable
from ringfence.plans.items import ItemPlan, Reason
from ringfence.plans.recode import ColumnPlan, leaf_labels
from ringfence.search.itemsets.find import find_cut
from ringfence.search.itemsets.supports import RareSet
from ringfence.search.progress import SearchResult, Watch
from ringfence.spec import Spec
from ringfence.values.builders import self_contained
from ringfence.values.hierarchy import MISSING
from ringfence.values.recoding import by_nodes


@dataclass(frozen=True)
class BasketDecision:
    """How baskets are published, and how well that was searched; the cost of the search is NCP."""

    plan: ItemPlan
    search: SearchResult


def decide_baskets(baskets: Baskets, spec: Spec, watch: Watch) -> BasketDecision:
    """Find the cut of the item tree that a specification asks for.

    With the method `itemsets` its search finds it; beside another method the optimal one does.
    """
    k, m = spec.k, spec.m
    if baskets.rows < k:
        raise Unsatisfiable(
            f"k = {k} needs at least {k} rows, but there are {baskets.rows}; the largest k that is possible is"
            f" {baskets.rows}"
        )
    asked = spec.method.search if spec.method.traits.way == BASKETS else "auto"
    search, specialize = "optimal" if asked == "auto" else asked, spec.method.specialize
    found = find_cut(baskets, k, m, search=search, specialize=specialize, watch=watch)
    plan = ItemPlan(
        column=baskets.name,
        items=ColumnPlan(None, leaf_labels(baskets.hierarchy), by_nodes(baskets.hierarchy, found.nodes).labels),
        reasons=tuple(_reason(baskets, node, rare) for node, rare in found.reasons.items()),
        spec=self_contained(spec).dumps(),
    )
    return BasketDecision(plan, found.search)


def _reason(baskets: Baskets, node: int, rare: RareSet) -> Reason:
    labels = baskets.hierarchy.labels
    return Reason(labels[node] or MISSING, tuple(labels[member] or MISSING for member in rare.nodes), rare.support)
