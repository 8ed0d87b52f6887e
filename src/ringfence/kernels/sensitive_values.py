"""Sensitive values in classes: which classes hold too few of them, or hold them unlike the whole table.

A table of pairs says how often class `homes[i]` holds value `values[i]`: `weights[i]` times. Pairs come in any order.
Sums of logarithms and distances are floating-point: a class fails only if it misses its threshold by more than `SLACK`.

Functions that `raise_` something say how many rows of a class go at least, however it is divided into parts and those
that fail go: what stays of it is made of parts that hold, and so it holds itself (judging/models says why). They leave
another `SLACK`, and a millionth of a row, for what sums are off by.
"""

from math import ceil, log

import numpy as np

from ringfence.arrays import Flags, Floats, Ints, Longs
from ringfence.compiling import njit

SLACK = 1e-9
PART = 1e-6


@njit(cache=True, nogil=True)
def mark_few_values(homes: Ints, size: int, classes: int, least: int, seen: Ints, fails: Flags) -> None:
    """Mark the classes with fewer than `least` different values."""
    seen[:classes] = 0
    for i in range(size):
        seen[homes[i]] += 1
    for c in range(classes):
        if seen[c] < least:
            fails[c] = 1


@njit(cache=True, nogil=True)
def entropies(homes: Ints, weights: Longs, size: int, totals: Longs, classes: int, entropy: Floats) -> None:
    """Fill `entropy` with that of each class: log W - (1/W) · sum of w log w."""
    entropy[:classes] = 0.0
    for i in range(size):
        entropy[homes[i]] += weights[i] * log(weights[i])
    for c in range(classes):
        entropy[c] = log(totals[c]) - entropy[c] / totals[c]


@njit(cache=True, nogil=True)
def mark_low_entropy(entropy: Floats, classes: int, least: float, fails: Flags) -> None:
    """Mark the classes whose entropy is below log `least`."""
    for c in range(classes):
        if entropy[c] < log(least) - SLACK:
            fails[c] = 1


@njit(cache=True, nogil=True)
def raise_for_low_entropy(entropy: Floats, totals: Longs, classes: int, least: float, gone: Longs) -> None:
    """Raise `gone` where a class has less entropy than log `least`.

    If a share s of it goes, its entropy is at least that of the rest times 1 - s (entropy is concave, and not below 0).
    """
    wanted = log(least) - 2 * SLACK
    for c in range(classes):
        if entropy[c] + SLACK < wanted:
            gone[c] = max(gone[c], ceil(totals[c] * (1 - (entropy[c] + SLACK) / wanted) - PART))


@njit(cache=True, nogil=True)
def excesses(
    homes: Ints, weights: Longs, size: int, totals: Longs, classes: int, c_factor: float, least: int, top: Longs,
    excess: Floats,
) -> None:  # fmt: skip
    """Fill `excess` with how far the commonest value of each class is from being outweighed: r_1 - c (r_l + ... + r_m),
    r falling.

    `top[c * max(1, l - 1) ...]` keeps the l - 1 largest counts of class c (the largest alone if l = 1); the tail is
    what is left of the class without them.
    """
    kept = max(1, least - 1)
    top[: classes * kept] = 0
    for i in range(size):
        start, weight = homes[i] * kept, weights[i]
        position = start + kept - 1
        if weight <= top[position]:
            continue
        while position > start and top[position - 1] < weight:
            top[position] = top[position - 1]
            position -= 1
        top[position] = weight
    for c in range(classes):
        tail = totals[c]
        for rank in range(least - 1):
            tail -= top[c * kept + rank]
        excess[c] = top[c * kept] - c_factor * tail


@njit(cache=True, nogil=True)
def mark_dominated(excess: Floats, classes: int, fails: Flags) -> None:
    """Mark the classes in which the commonest value is not outweighed."""
    for c in range(classes):
        if excess[c] >= -SLACK:
            fails[c] = 1


@njit(cache=True, nogil=True)
def raise_for_dominated(excess: Floats, classes: int, gone: Longs) -> None:
    """Raise `gone` where the commonest value of a class is not outweighed: each row that goes takes at most 1 from it,
    and adds nothing to what outweighs it."""
    for c in range(classes):
        if excess[c] > 0:
            gone[c] = max(gone[c], ceil(excess[c] - PART))


@njit(cache=True, nogil=True)
def value_shares(homes: Ints, values: Ints, weights: Longs, size: int, skip: Flags, shares: Floats) -> None:
    """Fill `shares` with the share of each value in all classes that are not to be skipped."""
    shares[:] = 0.0
    total = 0
    for i in range(size):
        if not skip[homes[i]]:
            shares[values[i]] += weights[i]
            total += weights[i]
    if total > 0:
        for value in range(len(shares)):
            shares[value] /= total


@njit(cache=True, nogil=True)
def mark_far(distances: Floats, classes: int, most: float, fails: Flags) -> None:
    """Mark the classes whose values are distributed further than `most` from those of all."""
    for c in range(classes):
        if distances[c] > most + SLACK:
            fails[c] = 1


@njit(cache=True, nogil=True)
def raise_for_far(distances: Floats, totals: Longs, classes: int, most: float, gone: Longs) -> None:
    """Raise `gone` where a class is further than `most` from all.

    If a share s of it goes, its distance is at most (1 - s) times that of the rest plus s times that of what goes
    (distances are convex), and no distance is above 1.
    """
    allowed = most + 2 * SLACK
    for c in range(classes):
        if allowed < 1 and distances[c] > allowed:
            gone[c] = max(gone[c], ceil(totals[c] * ((distances[c] - allowed) / (1 - allowed)) - PART))


@njit(cache=True, nogil=True)
def distances_if_equal(
    homes: Ints, values: Ints, weights: Longs, size: int, totals: Longs, classes: int, shares: Floats,
    distances: Floats,
) -> None:  # fmt: skip
    """Fill `distances` with those of the values of each class from `shares`: half the sum of differences.

    A value that a class lacks differs by its share q; so half of 1 + the sum of |p - q| - q over the values it has.
    """
    distances[:classes] = 1.0
    for i in range(size):
        q = shares[values[i]]
        distances[homes[i]] += abs(weights[i] / totals[homes[i]] - q) - q
    distances[:classes] /= 2


@njit(cache=True, nogil=True)
def sort_by_home(homes: Ints, size: int, classes: int, starts: Ints, order: Ints) -> None:
    """Fill `order` so that the pairs of class c stand at `order[starts[c]]` to `order[starts[c + 1] - 1]`."""
    starts[: classes + 1] = 0
    for i in range(size):
        starts[homes[i] + 1] += 1
    for c in range(classes):
        starts[c + 1] += starts[c]
    for i in range(size - 1, -1, -1):  # from the back: each class's end moves down to its start
        home = homes[i] + 1
        starts[home] -= 1
        order[starts[home]] = i
    for c in range(classes):  # now starts[c + 1] is where class c starts
        starts[c] = starts[c + 1]
    starts[classes] = size


@njit(cache=True, nogil=True)
def distances_if_ordered(
    values: Ints, weights: Longs, starts: Ints, order: Ints, totals: Longs, classes: int, shares: Floats, ranks: Ints,
    row: Floats, distances: Floats,
) -> None:  # fmt: skip
    """Fill `distances` with those of each class from `shares` when moving mass costs the number of ranks it passes.

    The cheapest way to move it along a line carries past each gap what lies on one side too much: the sum of
    |P(i) - Q(i)| over cumulated shares, divided by the number of gaps. Only values that occur in the whole have a place
    in the order: `ranks[v]` says which of all it is.
    """
    gaps = -1
    ranked = np.empty(len(shares))
    for value in range(len(shares)):
        ranked[ranks[value]] = shares[value]
        gaps += shares[value] > 0
    for c in range(classes):
        row[:] = 0.0
        for i in range(starts[c], starts[c + 1]):
            row[ranks[values[order[i]]]] = weights[order[i]] / totals[c]
        carried = distance = 0.0
        for rank in range(len(shares)):
            carried += row[rank] - ranked[rank]
            if ranked[rank] > 0:
                distance += abs(carried)
        distances[c] = distance / gaps if gaps > 0 else 0.0


@njit(cache=True, nogil=True)
def distances_in_tree(
    values: Ints, weights: Longs, starts: Ints, order: Ints, totals: Longs, classes: int, shares: Floats,
    parent: Ints, costs: Floats, extra: Floats, over: Floats, under: Floats, distances: Floats,
) -> None:  # fmt: skip
    """Fill `distances` with those of each class from `shares` when moving mass costs the height of the common ancestor.

    At each node what its children have too much meets what they lack, and the smaller of both is moved there, at
    `costs[node]`. Nodes are numbered with children before parents (Li, Li, Venkatasubramanian 2007, section 5.2).
    """
    leaves = len(shares)
    for c in range(classes):
        extra[:] = 0.0
        over[:] = 0.0
        under[:] = 0.0
        for leaf in range(leaves):
            extra[leaf] = -shares[leaf]
        for i in range(starts[c], starts[c + 1]):
            extra[values[order[i]]] += weights[order[i]] / totals[c]
        distance = 0.0
        for node in range(len(parent)):
            distance += costs[node] * min(over[node], under[node])
            above = parent[node]
            if above != node:
                extra[above] += extra[node]
                if extra[node] > 0:
                    over[above] += extra[node]
                else:
                    under[above] -= extra[node]
        distances[c] = distance


@njit(cache=True, nogil=True)
def majorities(homes: Ints, weights: Longs, size: int, classes: int, most: Longs) -> None:
    """Fill `most` with how many rows of each class have its commonest value."""
    most[:classes] = 0
    for i in range(size):
        most[homes[i]] = max(most[homes[i]], weights[i])
