"""A workload of COUNT queries from census and plan, by which `local` and `metric = "use"` were measured at first.

Reports have another, by the published table alone (`ringfence.yardsticks`); this one keeps figures comparable.

A query asks how many rows have certain values in one to three quasi-identifiers and, every fourth time, a certain
value of a sensitive attribute: "how many women between 30 and 44 in Oslo are nurses?" It is built around a row drawn at
random, so that questions are asked about people who exist. The reader knows the labels and the hierarchies, and takes
all values under a label to be equally likely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Longs
from ringfence.census.census import Census, Quasi, Sensitive
from ringfence.plans.published import Published
from ringfence.report.evidence import Codes

QUERIES = 1_000
MOST_PREDICATES = 3
MOST_LISTED = 5
"""How many values a question lists at most where they have no order."""
SENSITIVE_EVERY = 4
SANITY = 0.001
"""Errors are relative to the true answer, or to this share of all rows where that is more."""
SEED = 2010
Factors: TypeAlias = Mapping[int, npt.NDArray[Any]]
"""For some attributes, how much a row with each leaf counts: yes or no, or a share."""


@dataclass(frozen=True, eq=False)
class Query:
    """For some quasi-identifiers, which leaves are asked for; and perhaps a value of an attribute beside them."""

    wanted: Mapping[int, Bools]
    beside: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries with their answers, true and estimated from the release."""

    census: Census
    parts: Sequence[Sensitive]
    queries: tuple[Query, ...]
    actual: Floats
    estimate: Floats

    @property
    def errors(self) -> Floats:
        """The relative error of each answer, with a sanity bound for small answers."""
        errors = np.abs(self.estimate - self.actual) / np.maximum(self.actual, SANITY * self.census.rows)
        return errors.round(12)  # sums of fractions are not exact


def run_workload(released: Published, queries: int = QUERIES) -> Workload:
    """Ask a seeded workload of the census and of the release."""
    answers = QueryAnswers(released)
    made = make_queries(released.census, released.parts, queries)
    return Workload(
        census=released.census,
        parts=released.parts,
        queries=tuple(made),
        actual=np.array([answers.actual(query) for query in made]),
        estimate=np.array([answers.estimate(query) for query in made]),
    )


def make_queries(census: Census, parts: Sequence[Sensitive], queries: int, seed: int = SEED) -> list[Query]:
    """Draw queries: ranges of numbers and dates, up to five listed values of everything else."""
    # Uniform numbers are what NumPy is least likely to change: everything is drawn by means of them.
    rng = np.random.Generator(np.random.PCG64(seed))
    of_tuples = np.cumsum(census.weights)
    of_pairs = [np.cumsum(part.weights) for part in parts]
    domains = [_Domain(quasi) for quasi in census.quasi]
    made = []
    for number in range(queries):
        beside = None
        if parts and number % SENSITIVE_EVERY == SENSITIVE_EVERY - 1:
            chosen = int(rng.random() * len(parts))
            pair = _draw(of_pairs[chosen], rng.random())
            beside = (chosen, int(parts[chosen].values[pair]))
            anchor = int(parts[chosen].tuples[pair])
        else:
            anchor = _draw(of_tuples, rng.random())
        attributes = rng.random(len(domains)).argsort()[: 1 + number % MOST_PREDICATES].tolist()
        wanted = {a: domains[a].around(int(census.codes[anchor, a]), rng.random(2 + MOST_LISTED)) for a in attributes}
        made.append(Query(wanted, beside))
    return made


def _draw(sums: Longs, uniform: float) -> int:
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))


class _Domain:
    """The values of a quasi-identifier that a question can ask for; numbers and days in their order."""

    def __init__(self, quasi: Quasi) -> None:
        self._leaves = quasi.hierarchy.leaves
        placed = in_order(quasi, np.flatnonzero(quasi.rows).tolist())
        self._ordered = bool(placed)
        self._values = np.array(placed) if placed else np.flatnonzero(quasi.rows)
        self._place = {leaf: place for place, leaf in enumerate(placed)}

    def around(self, leaf: int, uniforms: Floats) -> Bools:
        """Return which leaves are asked for: a range around a number or a day, else a list with the value in it."""
        wanted = np.zeros(self._leaves, np.bool_)
        wanted[leaf] = True
        values = self._values
        if leaf in self._place:
            size = 1 + int(uniforms[0] * len(values) / 2)
            start = max(0, self._place[leaf] - int(uniforms[1] * size))
            wanted[values[start : start + size]] = True
        elif not self._ordered:  # where others have a place in an order, a missing value is asked for alone
            more = int(uniforms[0] * min(MOST_LISTED, len(values) // 2))
            wanted[values[(uniforms[2 : 2 + more] * len(values)).astype(np.intp)]] = True
        return wanted


def in_order(quasi: Quasi, leaves: Sequence[int]) -> list[int]:
    """Return those leaves that are numbers or days, in their order: that of a tree's leaves may be another."""
    keys: dict[int, Any] = {leaf: quasi.keys[leaf] for leaf in leaves if quasi.keys[leaf] is not None}
    return sorted(keys, key=keys.__getitem__)


class QueryAnswers:
    """Answers queries from the tuples of the census, and from what is published of them."""

    def __init__(self, released: Published) -> None:
        self._released = released
        self._original = [np.ascontiguousarray(column, np.intp) for column in released.census.codes.T]
        self._shown = [part.value for part in released.shown]
        # Of what is shown alike one entry is enough: all have the same shares of what is asked for.
        alike = np.zeros(len(released.weights), np.int64)
        for part in released.shown:
            _, alike = np.unique(alike * len(part.covers) + part.value, return_inverse=True)
        _, self._examples = np.unique(alike, return_index=True)
        self._sizes = np.bincount(alike, released.weights)
        self._having = [_positions(part.values) for part in released.parts]
        self._showing = [_positions(each.values) for each in released.beside]

    def actual(self, query: Query) -> float:
        """Count the rows of the original."""
        if query.beside is None:
            return _count(self._original, query.wanted, slice(None), self._released.census.weights)
        which, value = query.beside
        part, pairs = self._released.parts[which], self._having[which][value]
        return _count(self._original, query.wanted, part.tuples[pairs], part.weights[pairs])

    def estimate(self, query: Query) -> float:
        """Count the rows of the release, each by the share of its labels' values that is asked for."""
        factors = {}
        for a, wanted in query.wanted.items():
            covers = self._released.shown[a].covers
            factors[a] = covers.total(wanted.astype(np.int64)) / covers.covered
        if query.beside is None:
            return _count(self._shown, factors, self._examples, self._sizes)
        which, value = query.beside
        each, pairs = self._released.beside[which], self._showing[which].get(value, np.empty(0, np.intp))
        return _count(self._shown, factors, each.entries[pairs], each.weights[pairs])


def _positions(values: Codes) -> dict[int, Codes]:
    """Return where each value stands."""
    return {value: np.flatnonzero(values == value) for value in np.unique(values).tolist()}


def _count(columns: Sequence[Codes], factors: Factors, chosen: Codes | slice, weights: Longs | Floats) -> float:
    """Add up the weights of what is chosen, each times the factors of its values in some columns."""
    for a, factor in sorted(factors.items(), key=lambda item: float(item[1].mean())):
        shares = factor.take(columns[a][chosen])
        hits = np.flatnonzero(shares)  # most drop out at the first, narrowest question
        chosen = hits if isinstance(chosen, slice) else chosen[hits]
        weights = weights[hits] * shares[hits]
    return float(weights.sum())
