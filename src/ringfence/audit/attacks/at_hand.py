"""What an adversary has in front of him: the release, the original but for its sensitive values, and who fits whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.audit.counts import Cells, Released, total_by
from ringfence.audit.trace.against import Linked
from ringfence.audit.trace.flows import Graph
from ringfence.audit.trace.linkage import runs
from ringfence.audit.trace.ring_matches import Matches
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class AtHand:
    """What attacks have at hand.

    `truth` is the original with its sensitive values, by which guesses are checked and which the adversary does not
    see; None where it lacks them. Its classes are the combinations of the original that `linked` has. `measured` is
    what the audit measured.
    """

    released: Released
    linked: Linked
    matches: Matches | None
    spec: Spec
    truth: Released | None
    measured: Mapping[str, int | float]
    corrupted: int = 0
    seed: int = 0

    @property
    def total(self) -> int:
        """How many rows are published."""
        return int(self.released.rows.sum())

    @property
    def people(self) -> int:
        """How many rows the original has: each is a target once."""
        return self.linked.original.total

    @property
    def share(self) -> float | None:
        """What k-anonymity allows."""
        return None if self.spec.privacy.k is None else 1 / self.spec.privacy.k

    @cached_property
    def effective(self) -> Graph:
        """Who fits whom, without matches that are in no complete assignment, where that could be found out."""
        return self.linked.graph if self.matches is None else self.matches.graph.part(~self.matches.hidden)


@dataclass(frozen=True, eq=False)
class Hints:
    """How many published rows with each sensitive value fit each combination of the original: only what occurs."""

    combinations: Longs
    values: Longs
    rows: Longs
    count: int
    """How many values there are."""

    @property
    def keys(self) -> Longs:
        """One number for each pair, in rising order."""
        return self.combinations * self.count + self.values

    def meet(self, other: "Hints") -> "Hints":
        """Return how often two releases of the same people agree: where one shows nothing, nothing is left."""
        keys, ours, theirs = np.intersect1d(self.keys, other.keys, assume_unique=True, return_indices=True)
        return Hints(keys // self.count, keys % self.count, self.rows[ours] * other.rows[theirs], self.count)

    @cached_property
    def best(self) -> Longs:
        """The pair with the likeliest value of each combination that has any; of equals, the first."""
        order = np.lexsort((self.values, -self.rows, self.combinations))
        return order[np.unique(self.combinations[order], return_index=True)[1]]

    @cached_property
    def sure(self) -> Floats:
        """How likely the likeliest value seems to be, for the combinations that have any."""
        chosen = self.combinations[self.best]
        totals = total_by(self.combinations, self.rows, int(self.combinations.max(initial=-1)) + 1)
        seeming: Floats = self.rows[self.best] / totals[chosen]
        return seeming

    def right(self, truth: "Hints", people: int) -> float:
        """Return the share of people whose likeliest value is theirs."""
        guessed = np.isin(truth.keys, self.keys[self.best])
        return float(truth.rows[guessed].sum() / people)


def hints(cells: Cells, graph: Graph, codes: Longs, count: int) -> Hints:
    """Return what the rows of a release tell of those they fit; `codes` number its values as the adversary does."""
    per = np.bincount(cells.classes, minlength=len(cells.sizes))[graph.left]
    cell = runs(cells.starts[graph.left], per)
    return _gathered(np.repeat(graph.right, per), codes[cells.values[cell]], cells.rows[cell], count)


def true_values(truth: Released, name: str, codes: Longs, count: int) -> Hints:
    """Return how many rows of each combination of the original have each value."""
    cells = truth.cells_of[name]
    return _gathered(cells.classes, codes[cells.values], cells.rows, count)


def _gathered(combinations: Longs, values: Longs, rows: Longs, count: int) -> Hints:
    keys, which = np.unique(combinations * count + values, return_inverse=True)
    return Hints(keys // count, keys % count, total_by(which, rows, len(keys)), count)


def numbered(*columns: tuple[str | None, ...]) -> tuple[list[Longs], int]:
    """Return numbers for the labels of several columns, equal labels having equal ones; and how many there are."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(label for each in columns for label in each))}
    return [np.array([numbers[label] for label in each], np.int64) for each in columns], len(numbers)
