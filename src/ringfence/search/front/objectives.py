"""What a table of classes can promise besides k: the l, p or t that it has.

The names and figures are those of the audit, which computes them by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringfence.arrays import Floats
from ringfence.census.census import Census, Sensitive
from ringfence.census.classes import Classes, Pairs
from ringfence.errors import SpecError
from ringfence.kernels.sensitive_values import SLACK
from ringfence.spec import Spec

Measure = Callable[[Classes], float]


@dataclass(frozen=True)
class Objective:
    """A promise besides k: its name, and what a table of classes has of it. Of l and p more is better, of t less."""

    name: Literal["l", "p", "t"]
    measure: Measure

    def goodness(self, measured: Floats) -> Floats:
        """Return numbers that are larger where the promise is better."""
        return -measured if self.name == "t" else measured


def objective(spec: Spec, census: Census) -> Objective:
    """Return the one promise besides k that a specification asks for."""
    diversities, closenesses, p = spec.diversities(), spec.closenesses(), spec.privacy.p
    if len(diversities) + len(closenesses) + (p is not None) != 1:
        raise SpecError("a front shows k, a loss and one more promise: give one of privacy.l, privacy.p and privacy.t")
    where = {part.name: position for position, part in enumerate(census.sensitive)}
    if p is not None:
        return Objective("p", _fewest_values([where[name] for name in spec.of_role("sensitive")]))
    if closenesses:
        asked = closenesses[0]
        return Objective("t", _largest_distance(where[asked.attribute], asked.distance, census))
    part = diversities[0]
    attribute = where[part.attribute]
    if part.kind == "distinct":
        return Objective("l", _fewest_values([attribute]))
    return Objective("l", _least_entropy(attribute) if part.kind == "entropy" else _recursive(attribute, part.c or 0.0))


def _fewest_values(attributes: list[int]) -> Measure:
    """The fewest different values that a class has of any of the attributes."""

    def measure(classes: Classes) -> float:
        return float(min(np.bincount(_homes(classes.pairs[a])).min() for a in attributes))

    return measure


def _least_entropy(attribute: int) -> Measure:
    """As many equally common values as would have the least entropy of a class: exp of it."""

    def measure(classes: Classes) -> float:
        pairs, sizes = classes.pairs[attribute], classes.weights[: classes.size]
        weights = pairs.weights[: pairs.size]
        sums = np.bincount(_homes(pairs), weights * np.log(weights))
        return float(np.exp((np.log(sizes) - sums / sizes).min()))

    return measure


def _recursive(attribute: int, c: float) -> Measure:
    """The largest l with r_1 < c (r_l + ... + r_m) in every class, r the counts of its values, falling; 0 if none.

    The sum falls as l grows: so the l that hold are the first few, and counting them gives the largest.
    """

    def measure(classes: Classes) -> float:
        pairs, sizes = classes.pairs[attribute], classes.weights[: classes.size]
        order = np.lexsort((-pairs.weights[: pairs.size], _homes(pairs)))
        homes, weights = pairs.homes[order], pairs.weights[order]
        starts = np.searchsorted(homes, np.arange(classes.size))
        before = np.cumsum(weights) - weights
        tails = sizes[homes] - (before - before[starts][homes])
        holds = weights[starts][homes] < c * tails - SLACK
        return float(np.bincount(homes[holds], minlength=classes.size).min())

    return measure


def _largest_distance(attribute: int, distance: str, census: Census) -> Measure:
    """The largest earth mover's distance of a class's values from those of all rows.

    Li, Li, Venkatasubramanian: t-Closeness. ICDE 2007, section 5; see `models.TCloseness`.
    """
    sensitive = census.sensitive[attribute]
    whole = np.bincount(sensitive.values, sensitive.weights, sensitive.hierarchy.leaves) / census.rows
    of_shares = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}[distance]

    def measure(classes: Classes) -> float:
        pairs = classes.pairs[attribute]
        homes, values = _homes(pairs), pairs.values[: pairs.size]
        shares = np.zeros((classes.size, len(whole)))
        shares[homes, values] = pairs.weights[: pairs.size] / classes.weights[homes]
        return float(of_shares(shares - whole, whole, sensitive).max())

    return measure


def _equal(excess: Floats, whole: Floats, sensitive: Sensitive) -> Floats:  # noqa: ARG001
    """Half the differences: what is too much somewhere is too little elsewhere."""
    distances: Floats = np.abs(excess).sum(axis=1) / 2
    return distances


def _ordered(excess: Floats, whole: Floats, sensitive: Sensitive) -> Floats:
    """What must pass each gap between neighbouring values that occur, over the number of gaps."""
    by_rank = np.argsort(sensitive.ranks)
    occurring = by_rank[whole[by_rank] > 0]
    distances: Floats = np.abs(np.cumsum(excess[:, occurring], axis=1)).sum(axis=1) / max(1, len(occurring) - 1)
    return distances


def _hierarchical(excess: Floats, whole: Floats, sensitive: Sensitive) -> Floats:
    """At each node what its children have too much meets what they lack, at the height of the node.

    That is half of what leaves its children less what leaves the node itself. So a node counts half of what leaves it,
    times how much higher its parent is.
    """
    tree = sensitive.hierarchy
    rises = (tree.heights[tree.parent] - tree.heights) / (2 * tree.height)
    running = np.concatenate([np.zeros((len(excess), 1)), np.cumsum(excess, axis=1)], axis=1)
    distances: Floats = np.abs(running[:, tree.stop] - running[:, tree.first]) @ rises
    assert len(whole) == tree.leaves
    return distances


def _homes(pairs: Pairs) -> "np.typing.NDArray[np.int32]":
    return pairs.homes[: pairs.size]
