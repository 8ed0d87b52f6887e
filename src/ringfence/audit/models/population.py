"""A release beside a table of the population that its rows were drawn from: k-map and presence.

Sweeney: Guaranteeing Anonymity when Sharing Medical Data, the Datafly System. AMIA 1997 (k-map): every published
combination fits at least k people of the population. Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from
Shared Databases. SIGMOD 2007 (delta-presence): whoever of the population fits a class of f rows together with F in all
is in the release with probability f / F, and whoever fits none is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.audit.counts import total_by
from ringfence.audit.trace.against import Linked
from ringfence.audit.verdict import Finding, some
from ringfence.spec import Spec

TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Fits:
    """How many people of a population each class of the release fits, and whether all people fit some class."""

    linked: Linked
    people: Longs
    all_fit: bool

    @property
    def presence(self) -> Floats:
        """How likely it is that someone who fits a class is in the release; certain, where nobody else does."""
        shares: Floats = np.minimum(self.linked.published.rows / np.maximum(self.people, 1), 1.0)
        return shares

    def findings(self, spec: Spec) -> Iterator[Finding]:
        """Judge k-map and presence where they are asked for."""
        rows = self.linked.published.rows
        if spec.privacy.k_map is not None:
            what = (
                f"fit fewer than k_map = {spec.privacy.k_map} people of the population, the fewest {self.people.min()}"
            )
            yield from self._about("k_map", self.people < spec.privacy.k_map, what, int(self.people.argmin()))
        wanted = spec.privacy.presence
        if wanted is not None:
            most, least = int(self.presence.argmax()), int(self.presence.argmin())
            what = f"tell with more than {wanted.high:g} that who fits is in the release, at most"
            high = self.presence > wanted.high + TOLERANCE
            yield from self._about("presence", high, f"{what} {self.presence[most]:.6g}", most)
            what = f"tell with less than {wanted.low:g} that who fits is in the release, at least"
            low = self.presence < wanted.low - TOLERANCE
            yield from self._about("presence", low, f"{what} {self.presence[least]:.6g}", least)
            if wanted.low > 0 and not self.all_fit:
                message = "some people of the population fit no row, so that they are known not to be in the release"
                yield Finding("presence", message, int(rows.sum()), {})

    def _about(self, rule: str, fails: Bools, what: str, worst: int) -> Iterator[Finding]:
        if fails.any():
            rows = int(self.linked.published.rows[fails].sum())
            message = f"{some(rows, 'row')} in {some(int(fails.sum()), 'class')} {what}"
            yield Finding(rule, message, rows, self.linked.example(worst))

    @property
    def measured(self) -> dict[str, int | float]:
        """The people that the rarest class fits, and the range of presence."""
        low = float(self.presence.min()) if self.all_fit else 0.0
        return {"k_map": int(self.people.min()), "presence_low": low, "presence_high": float(self.presence.max())}


def fit(linked: Linked) -> Fits:
    """Count the people of a population, in the place of the original, that each class of a release fits."""
    graph = linked.graph
    people = total_by(graph.left, graph.original[graph.right], len(graph.published))
    return Fits(linked, people, len(np.unique(graph.right)) == len(graph.original))
