"""Itemsets: the cut of the item tree that makes baskets k^m-anonymous, where there is nothing but baskets."""

from typing import TYPE_CHECKING

from ringfence.declared import BASKETS
from ringfence.errors import SpecError, listed
from ringfence.methods.base import Method

if TYPE_CHECKING:
    from ringfence.census.baskets import Baskets
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


GREEDY = ("direct", "apriori")
"""The searches that may generalize more than they need."""


def _check(spec: "Spec") -> None:
    """Refuse a table without baskets, and what only quasi-identifiers have."""
    method, privacy = spec.method, spec.privacy
    if spec.items is None:
        raise SpecError(f"method.name = {method.name!r} needs an attribute of role items")
    if quasi := spec.of_role("quasi"):
        raise SpecError(
            f"method.name = 'itemsets' is for tables without quasi-identifiers, but there are: {listed(quasi)}; name"
            " the method for these, such as 'optimal': with privacy.m the baskets are made k^m-anonymous all the same"
        )
    for key, asked in (("l", privacy.l), ("p", privacy.p), ("t", privacy.t)):
        if asked is not None:
            raise SpecError(f"privacy.{key} is about classes, and there are none without quasi-identifiers")
    if method.search not in method.traits.searches:
        raise SpecError(
            f"method.search = {method.search!r} is not for 'itemsets'; allowed: {listed(method.traits.searches)}"
        )
    if "specialize" in method.model_fields_set and method.search not in GREEDY:
        raise SpecError(
            f"method.specialize = {method.specialize!r} with method.search = {method.search!r}: only what"
            f" {listed(map(repr, GREEDY))} find can be specialized further; leave it out"
        )


def _decide(baskets: "Baskets", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.decision import Decision
    from ringfence.search.itemsets.decide_baskets import decide_baskets

    found = decide_baskets(baskets, spec, watch)
    metrics = {"ncp": found.search.cost, "rows": baskets.rows, "suppressed": 0}  # no row is suppressed
    return Decision(found.plan, found.search, metrics, found)


ITEMSETS = Method(
    name="itemsets",
    line="the cut of the item tree that makes baskets k^m-anonymous at the least loss, proven",
    way=BASKETS,
    promises=("k", "m"),
    options=("search", "specialize", "metric", "time_limit"),
    losses=("ncp",),
    searches=("auto", "optimal", "direct", "apriori", "breadth-first", "cheapest-first"),
    check_promise=_check,
    decides=_decide,
)
