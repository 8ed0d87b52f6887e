"""The methods, one module each, in the order in which they are shown."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ringfence.declared import declare
from ringfence.methods.anatomy import ANATOMY
from ringfence.methods.base import named
from ringfence.methods.cluster import CLUSTER
from ringfence.methods.hilbert import HILBERT
from ringfence.methods.itemsets import ITEMSETS
from ringfence.methods.levels import LEVELS
from ringfence.methods.local import LOCAL
from ringfence.methods.mondrian import MONDRIAN
from ringfence.methods.optimal import OPTIMAL
from ringfence.methods.ring import RING

if TYPE_CHECKING:
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


declare(OPTIMAL, LEVELS, CLUSTER, RING, LOCAL, HILBERT, MONDRIAN, ANATOMY, ITEMSETS)


def decide(counted: Any, spec: "Spec", watch: "Watch") -> "Decision":
    """Find the plan that a specification asks for, by its method, on what was counted: a census, or baskets."""
    with watch.compiling_apart():
        decision = named(spec.method.name).decides(counted, spec, watch)
        if decision.search is None:
            return decision
        return replace(decision, search=replace(decision.search, compiled=watch.compiled))
