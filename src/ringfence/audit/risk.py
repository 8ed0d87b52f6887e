"""How likely it is that someone in a release is found, and by what: risk, in numbers that a steward can defend.

Prosecutor: the target is known to be in the release, so one in a class of f rows is found with 1/f. Journalist: he is
known to be in a population, of which F rows fit the class, so with 1/F. Marketer: the share of all rows that a guess
for each of them would get right. El Emam, Dankar: Protecting Privacy Using k-Anonymity. JAMIA 15(5), 2008; El Emam:
Guide to the De-Identification of Personal Health Information, 2013, chapter 16.

A release without classes (method `ring`) has, for each row, the largest k that holds for it in the place of f. Where k
counts people (`data.entity`), the people of a class take the place of its rows everywhere: a guess which row of a class
is one of the target's is right with 1/f on average over its f people, more for those who have more rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, islice, pairwise
from typing import Any, Literal

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.counts import Column, classes, total_by

THRESHOLD = 0.2
"""Rows are at risk above this: in classes of fewer than five."""
BANDS = (1, 2, 3, 4, 5, 10, 20, 50, 100)
SHOWN_COLUMNS = 10
MOST_TOGETHER = 3


@dataclass(frozen=True)
class Adversary:
    """What one kind of adversary gets: the highest risk of any row, the mean, and the share of rows above the
    threshold."""

    highest: float
    mean: float
    at_risk: float


@dataclass(frozen=True)
class Band:
    """Rows whose target is one of `low` to `high` candidates (None: or more): in how many classes, and how many."""

    low: int
    high: int | None
    classes: int
    rows: int


@dataclass(frozen=True)
class Singling:
    """Some quasi-identifiers taken alone: how many rows nobody else shares their labels with, and how many share them
    with fewer than k."""

    columns: tuple[str, ...]
    unique: int
    below_k: int


@dataclass(frozen=True)
class Uniques:
    """Rows that are alone in their class, and in the population.

    `population` is its size. Where a table of it was given, `population_uniques` are the rows that fit one person of it
    only; where only its size is known, by weights, an estimate of how many of its people are alone with their labels.
    """

    sample: int
    population: float | None = None
    population_uniques: float | None = None
    estimated: bool = False


@dataclass(frozen=True)
class Risk:
    """The risk of a release: by adversary, by size of class, by columns.

    `journalist` is None without a population. `marketer` is the share that a guess for each row would get right, among
    the population where there is one.
    """

    threshold: float
    prosecutor: Adversary
    journalist: Adversary | None
    marketer: float
    distribution: tuple[Band, ...]
    uniques: Uniques
    singling: tuple[Singling, ...]
    counts: Literal["rows", "people"] = "rows"
    """What all figures are of: where people are counted, who has rows in several classes is counted in each."""


def measure_risk(
    rows: Longs,
    candidates: Longs,
    quasi: Sequence[Column],
    k: int,
    *,
    population: Longs | None = None,
    population_size: float | None = None,
    members: tuple[Longs, Longs] | None = None,
) -> Risk:
    """Return the risk of a release whose combinations have these rows, each hidden among so many candidates.

    `population` has, for each combination, how many rows of a population fit its labels; without it, a
    `population_size` is enough to estimate how many are unique there. `quasi` is empty where labels of single columns
    say nothing, in a release without classes. Where people are counted and not rows, `members` says which combinations
    and people belong together.
    """
    alone = int(rows[candidates == 1].sum())
    uniques = Uniques(sample=alone)
    if population is not None:
        only = int(rows[population == 1].sum())
        uniques = Uniques(alone, float(population_size or 0), float(only), estimated=False)
    elif population_size is not None:
        estimate = population_uniques(candidates, population_size)
        uniques = Uniques(alone, population_size, estimate, estimated=True)
    hidden = candidates if population is None else population
    return Risk(
        threshold=THRESHOLD,
        prosecutor=_adversary(rows, candidates),
        journalist=None if population is None else _adversary(rows, population),
        marketer=float((rows / np.maximum(hidden, 1)).sum() / rows.sum()),
        distribution=tuple(_bands(rows, candidates)),
        uniques=uniques,
        singling=tuple(single_out(rows, quasi, k, members)),
        counts="rows" if members is None else "people",
    )


def _adversary(rows: Longs, candidates: Longs) -> Adversary:
    risks = 1 / np.maximum(candidates, 1)
    total = rows.sum()
    return Adversary(
        highest=float(risks.max()),
        mean=float((rows * risks).sum() / total),
        at_risk=float(rows[risks > THRESHOLD + 1e-12].sum() / total),
    )


def _bands(rows: Longs, candidates: Longs) -> list[Band]:
    bands = []
    for low, after in pairwise([*BANDS, None]):
        assert low is not None
        within = (candidates >= low) & (candidates < (after or math.inf))
        bands.append(Band(low, None if after is None else after - 1, int(within.sum()), int(rows[within].sum())))
    return bands


def single_out(
    rows: Longs, quasi: Sequence[Column], k: int, members: tuple[Longs, Longs] | None = None
) -> list[Singling]:
    """Return the columns, pairs and triples that single out the most rows, the worst first, smaller sets first.

    With `members`, people take the place of rows; who is in several combinations of a group counts once in it.
    """
    found = []
    sets = (combinations(quasi, size) for size in range(1, min(MOST_TOGETHER, len(quasi)) + 1))
    chosen_sets = chain.from_iterable(sets)
    if members is None and rows.min() >= max(k, 2):  # rows that share some columns are those of whole combinations
        return [Singling(tuple(c.name for c in chosen), 0, 0) for chosen in islice(chosen_sets, SHOWN_COLUMNS)]
    for chosen in chosen_sets:
        shared = _shared(rows, chosen) if members is None else _shared_by_people(*members, chosen)
        found.append(
            Singling(
                columns=tuple(column.name for column in chosen),
                unique=int((shared == 1).sum()),
                below_k=int(shared[shared < k].sum()),
            )
        )
    found.sort(key=lambda each: (-each.unique, -each.below_k, len(each.columns)))
    return found[:SHOWN_COLUMNS]


def _shared(rows: Longs, chosen: Sequence[Column]) -> Longs:
    """Return the numbers of rows of the groups that some columns make, counted in a table of all their labels if that
    is not too large."""
    packed, span = np.zeros(len(rows), np.int64), 1
    for column in chosen:
        packed = packed * len(column.labels) + column.codes
        span *= len(column.labels)
    if span > 4 * len(rows) + 1000:
        ranks, packed = np.unique(packed, return_inverse=True)
        span = len(ranks)
    counts = total_by(packed, rows, span)
    return counts[counts > 0]


def _shared_by_people(combinations: Longs, people: Longs, chosen: Sequence[Column]) -> Longs:
    """Return the numbers of people of the groups that some columns make."""
    _, group = classes(chosen, len(chosen[0].codes))
    span = int(people.max()) + 1
    distinct = np.unique(group[combinations] * span + people)
    return np.bincount(distinct // span)


def population_uniques(sizes: Longs, population: float) -> float | None:
    """Return how many rows of a population are expected to be alone with their labels, by Pitman's sampling formula.

    The sizes of the classes of a sample are fitted by largest likelihood; the expected number of classes of one row in
    a population of this size follows. None where there is nothing to fit: fewer than two classes.

    Hoshino: Applying Pitman's Sampling Formula to Microdata Disclosure Risk Assessment. Journal of Official Statistics
    17(4), 2001. The formula for the expectation is the exact one, not the asymptotic.
    """
    rows, classes = int(sizes.sum()), len(sizes)
    if classes < 2 or population < rows:
        return None
    which, counts = np.unique(sizes, return_counts=True)
    of_size = list(zip(which.tolist(), counts.tolist(), strict=True))

    def within(alpha: float) -> float:
        return math.fsum(count * (math.lgamma(size - alpha) - math.lgamma(1 - alpha)) for size, count in of_size)

    def between(alpha: float, theta: float) -> float:
        joined = (classes - 1) * math.log(alpha) + math.lgamma(theta / alpha + classes) - math.lgamma(theta / alpha + 1)
        return joined - math.lgamma(theta + rows) + math.lgamma(theta + 1)

    def best_theta(alpha: float) -> float:
        return math.exp(_largest(lambda power: between(alpha, math.exp(power) - alpha), -12.0, 25.0)) - alpha

    alpha = _largest(lambda alpha: within(alpha) + between(alpha, best_theta(alpha)), 1e-4, 1 - 1e-4)
    theta = best_theta(alpha)
    logarithm = math.log(population) + math.lgamma(theta + alpha + population - 1) - math.lgamma(theta + alpha)
    expected = math.exp(logarithm - math.lgamma(theta + population) + math.lgamma(theta + 1))
    return float(min(expected, population))


def _largest(function: Callable[[float], float], low: float, high: float, steps: int = 48) -> float:
    """Return where a function with one peak is largest, by golden sections."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
    return float((low + high) / 2)


def shown_risk(risk: Risk) -> list[str]:
    """Return risk in lines for people."""
    lines = [
        f"  prosecutor: at most {risk.prosecutor.highest:.4g}, on average {risk.prosecutor.mean:.4g};"
        f" {risk.prosecutor.at_risk:.2%} of the {risk.counts} above {risk.threshold:g}"
    ]
    if risk.journalist is not None:
        lines.append(
            f"  journalist: at most {risk.journalist.highest:.4g}, on average {risk.journalist.mean:.4g};"
            f" {risk.journalist.at_risk:.2%} of the {risk.counts} above {risk.threshold:g}"
        )
    lines.append(f"  marketer: {risk.marketer:.4g}")
    uniques = risk.uniques
    lines.append(f"  unique {risk.counts}: {uniques.sample:,}")
    if uniques.population_uniques is not None:
        how = "estimated" if uniques.estimated else "counted"
        lines[-1] += f"; in the population of {uniques.population:,.0f}: {uniques.population_uniques:,.0f} ({how})"
    worst = [each for each in risk.singling if each.unique or each.below_k][:3]
    lines += [
        f"  singled out by {' and '.join(map(repr, each.columns))}: {each.unique:,} alone, {each.below_k:,} among fewer"
        f" than k {risk.counts}"
        for each in worst
    ]
    return lines


def as_json(risk: Risk) -> dict[str, Any]:
    """Return risk as JSON would have it."""
    parts = asdict(risk)
    for each in parts["singling"]:
        each["columns"] = [*each["columns"]]
    return {**parts, "distribution": [*parts["distribution"]], "singling": [*parts["singling"]]}
