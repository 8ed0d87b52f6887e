"""Decisions: what is to be done with the rows, how well that was searched, and what it costs."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ringfence.census.census import Census
from ringfence.plans.base import Plan
from ringfence.plans.recode import GlobalPlan
from ringfence.search.progress import SearchResult
from ringfence.spec import Spec

if TYPE_CHECKING:
    from ringfence.search.groups.dual_bound import Certificate
    from ringfence.search.itemsets.decide_baskets import BasketDecision
    from ringfence.search.recode.composites import Composed


@dataclass(frozen=True)
class Decision:
    """What is to be done, how well that was searched, and what it costs.

    `basket` is what was decided on baskets, where rows have them. With the method `itemsets`, its plan is the plan.
    """

    plan: Plan
    search: SearchResult | None
    metrics: dict[str, float]
    basket: "BasketDecision | None" = None
    composed: "Composed | None" = None
    """Whose rows are suppressed, where those of a person stay together."""
    certificate: "Certificate | None" = None
    """What proves the bound of the search, where that can be checked by others (`method.bound = "dual"`)."""

    def with_baskets(self, basket: "BasketDecision") -> "Decision":
        """Return the decision on rows together with that on their baskets."""
        return replace(self, metrics={**self.metrics, "item_ncp": basket.search.cost}, basket=basket)

    @property
    def suppressed(self) -> int:
        """How many rows are suppressed: in classes that fail, and for values that a plan which is used again does not
        know."""
        return int(self.metrics["suppressed"] + self.metrics.get("unknown", 0))

    @property
    def baskets(self) -> "BasketDecision":
        """What was decided on baskets, for whoever knows that there are some."""
        assert self.basket is not None, "the rows have no baskets"
        return self.basket

    @property
    def recoding(self) -> GlobalPlan:
        """The plan, for whoever knows that each value was recoded the same way everywhere."""
        assert isinstance(self.plan, GlobalPlan), "other plans recode rows or baskets, not values"
        return self.plan


def complete_columns(census: Census, spec: Spec) -> list[str]:
    """Return the columns in which rows must not miss a value."""
    if spec.data.missing != "suppress":
        return []
    return list(dict.fromkeys([*census.names, *(part.name for part in census.sensitive)]))
