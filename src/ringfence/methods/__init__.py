"""The methods, one module each, in the order in which they are shown."""

from collections.abc import Sequence
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
    from ringfence.plans.recode import GlobalPlan
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


declare(OPTIMAL, LEVELS, CLUSTER, RING, LOCAL, HILBERT, MONDRIAN, ANATOMY, ITEMSETS)


def decide(counted: Any, spec: "Spec", watch: "Watch", starts: "Sequence[GlobalPlan]" = ()) -> "Decision":
    """Find the plan that a specification asks for, by its method, on what was counted: a census, or baskets.

    `starts` are plans to begin with, for a method that can.
    """
    method = named(spec.method.name)
    with watch.compiling_apart():
        decision = method.decides(counted, spec, watch, *([starts] if starts else []))
        if decision.search is None:
            return decision
        return replace(decision, search=replace(decision.search, compiled=watch.compiled))
