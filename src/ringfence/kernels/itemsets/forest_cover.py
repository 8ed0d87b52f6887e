"""Covering on a forest: the cheapest choice of nodes that meets every clause, where a node brings all below it.

Each *node* has a weight; whoever takes a node takes everything below it. A *clause* is a list of nodes of which at
least one must be taken. Nodes are numbered with children before parents, so that the nodes below v are `first[v]` to
v - 1. In a partial answer a node is OUT (and so are all above it), TAKEN (and so are all below it) or OPEN.

The lower bound is Lagrange's. Give each unmet clause a price of 0 or more, and let each of its open nodes be cheaper by
it. Then any answer costs at least (all prices) + (the cheapest choice at the reduced weights, clauses forgotten): it
pays every price once at least. That choice is made in one pass over the forest. This holds for whatever prices, so
they may be sought in floating point; the bound itself is computed in whole numbers.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit

Numbers = npt.NDArray[Any]  # whole or floating-point
States = npt.NDArray[np.int8]

OUT, TAKEN, OPEN = 0, 1, 2


class Clauses(NamedTuple):
    """The forest, and the clauses one behind the other: clause c has the nodes `nodes[starts[c] : starts[c + 1]]`.

    `above[v]` is the node above v, or -1.
    """

    above: Ints
    first: Ints
    weights: Longs
    starts: Ints
    nodes: Ints


@njit(cache=True, nogil=True)
def take(cover: Clauses, states: States, node: int) -> None:
    """Take a node and all below it."""
    states[cover.first[node] : node + 1] = TAKEN


@njit(cache=True, nogil=True)
def leave_out(cover: Clauses, states: States, node: int) -> None:
    """Leave out a node and all above it."""
    while node >= 0 and states[node] != OUT:
        states[node] = OUT
        node = cover.above[node]


@njit(cache=True, nogil=True)
def propagate(cover: Clauses, states: States) -> bool:
    """Take the last open node of every unmet clause, as long as there is one; return whether all can still be met."""
    changed = True
    while changed:
        changed = False
        for c in range(len(cover.starts) - 1):
            open_nodes, last, met = 0, -1, False
            for i in range(cover.starts[c], cover.starts[c + 1]):
                state = states[cover.nodes[i]]
                met |= state == TAKEN
                if state == OPEN:
                    open_nodes += 1
                    last = cover.nodes[i]
            if met or open_nodes > 1:
                continue
            if open_nodes == 0:
                return False
            take(cover, states, last)
            changed = True
    return True


@njit(cache=True, nogil=True)
def unmet_clauses(cover: Clauses, states: States, unmet: Ints) -> int:
    """Fill `unmet` with the clauses of which nothing is taken yet; return how many they are."""
    count = 0
    for c in range(len(cover.starts) - 1):
        met = False
        for i in range(cover.starts[c], cover.starts[c + 1]):
            met |= states[cover.nodes[i]] == TAKEN
        if not met:
            unmet[count] = c
            count += 1
    return count


@njit(cache=True, nogil=True)
def price(
    cover: Clauses, states: States, unmet: Ints, prices: Numbers, weights: Numbers, totals: Numbers, values: Numbers,
    chosen: Bools,
) -> Any:  # fmt: skip
    """Return the bound, above what is taken already, that prices give; `chosen` becomes the choice at reduced weights.

    `totals[v]` becomes the reduced weight of v and all below it, `values[v]` the cheapest choice among these. Prices
    and weights are both whole or both floating-point numbers.
    """
    bound = prices[:0].sum()  # a zero of their kind
    for v in range(len(weights)):
        totals[v] = weights[v] if states[v] == OPEN else 0
        values[v] = 0
    for c in unmet:
        bound += prices[c]
        for i in range(cover.starts[c], cover.starts[c + 1]):
            if states[cover.nodes[i]] == OPEN:
                totals[cover.nodes[i]] -= prices[c]
    for v in range(len(weights)):
        chosen[v] = states[v] == OPEN and totals[v] < values[v]
        if chosen[v]:
            values[v] = totals[v]
        if cover.above[v] < 0:
            bound += values[v]
        else:
            totals[cover.above[v]] += totals[v]
            values[cover.above[v]] += values[v]
    for v in range(len(weights) - 2, -1, -1):
        if cover.above[v] >= 0 and chosen[cover.above[v]]:
            chosen[v] = True
    return bound


@njit(cache=True, nogil=True)
def seek_prices(
    cover: Clauses, states: States, unmet: Ints, prices: Floats, weights: Floats, goal: float, rounds: int, mean: Floats
) -> None:
    """Improve `prices`; `mean` becomes, about, a fractional answer that goes with them.

    The volume algorithm: from the best prices so far, step along what a running mean of the choices leaves unmet.
    Barahona, Anbil: The volume algorithm: producing primal solutions with a subgradient method. Math. Program. 2000.
    """
    totals, values, chosen = np.zeros(len(weights)), np.zeros(len(weights)), np.zeros(len(weights), np.bool_)
    trial = prices.copy()
    best = price(cover, states, unmet, prices, weights, totals, values, chosen)
    for v in range(len(weights)):
        mean[v] = chosen[v]
    pace, good, bad = 0.5, 0, 0
    for turn in range(rounds):
        length = 0.0
        for c in unmet:
            lacking = _lacking(cover, states, c, mean)
            if lacking > 0 or prices[c] > 0:
                length += lacking * lacking
        if length < 1e-9 or best >= goal:
            break
        step = pace * (goal - best) / length
        for c in unmet:
            trial[c] = max(0.0, prices[c] + step * _lacking(cover, states, c, mean))
        bound = price(cover, states, unmet, trial, weights, totals, values, chosen)
        share = 0.3 if turn < 50 else 0.1 if turn < 300 else 0.03
        for v in range(len(weights)):
            mean[v] += share * (chosen[v] - mean[v])
        if bound > best:
            best, good, bad = bound, good + 1, 0
            for c in unmet:
                prices[c] = trial[c]
            if good == 4:
                pace, good = min(2.0, 1.1 * pace), 0
        else:
            bad += 1
            if bad == 20:
                pace, bad = 0.66 * pace, 0


@njit(cache=True, nogil=True)
def _lacking(cover: Clauses, states: States, clause: int, mean: Floats) -> float:
    """How much a clause lacks under a fractional answer."""
    lacking = 1.0
    for i in range(cover.starts[clause], cover.starts[clause + 1]):
        if states[cover.nodes[i]] == OPEN:
            lacking -= mean[cover.nodes[i]]
    return lacking


@njit(cache=True, nogil=True)
def settle(cover: Clauses, states: States, totals: Longs, values: Longs, bound: int, limit: int) -> None:
    """Take or leave out open nodes wherever the other way costs `limit` or more; the arrays are those of `price`.

    `rise[v]` is what the bound rises by if all above v are left out: the sum, over these, of the cheapest
    choices below a node less the cheapest choice at it. If v is left out too, its own is added. If v is taken, then
    it or a node above it is the highest taken: for each of these the bound rises by what leaving out all above it
    costs, plus its total less its value; the least of these is what taking v costs.
    """
    count = len(states)
    below = np.zeros(count, np.int64)  # the sum of the values of a node's children
    rise = np.zeros(count, np.int64)
    cheapest = np.zeros(count, np.int64)
    for v in range(count):
        if cover.above[v] >= 0:
            below[cover.above[v]] += values[v]
    for v in range(count - 1, -1, -1):
        above = cover.above[v]
        rise[v] = rise[above] + below[above] - values[above] if above >= 0 else 0
        if states[v] != OPEN:
            cheapest[v] = np.int64(2) ** 62
            continue
        cheapest[v] = rise[v] + totals[v] - values[v]
        if above >= 0:
            cheapest[v] = min(cheapest[v], cheapest[above])
    for v in range(count):
        if states[v] != OPEN:
            continue
        if bound + rise[v] + below[v] - values[v] >= limit:
            take(cover, states, v)
        elif bound + cheapest[v] >= limit:
            leave_out(cover, states, v)


@njit(cache=True, nogil=True)
def complete(cover: Clauses, states: States, mean: Floats, answer: States) -> None:
    """Complete a partial answer: for each unmet clause take the open node that `mean` favours; undo what is idle."""
    answer[:] = states
    for c in range(len(cover.starts) - 1):
        best, met = -1, False
        for i in range(cover.starts[c], cover.starts[c + 1]):
            node = cover.nodes[i]
            met |= answer[node] == TAKEN
            if answer[node] == OPEN and (best < 0 or mean[node] > mean[best]):
                best = node
        if not met and best >= 0:
            take(cover, answer, best)
    for v in range(len(states) - 1, -1, -1):  # a node only after those above it
        above = cover.above[v]
        highest = above < 0 or answer[above] == OUT
        if answer[v] == OPEN or (states[v] == OPEN and highest and not _needed(cover, answer, v)):
            answer[v] = OUT


@njit(cache=True, nogil=True)
def _needed(cover: Clauses, answer: States, node: int) -> bool:
    """Whether some clause is met by this node alone."""
    for c in range(len(cover.starts) - 1):
        inside, others = False, False
        for i in range(cover.starts[c], cover.starts[c + 1]):
            inside |= cover.nodes[i] == node
            others |= cover.nodes[i] != node and answer[cover.nodes[i]] == TAKEN
        if inside and not others:
            return True
    return False


@njit(cache=True, nogil=True)
def mark_implied(above: Ints, starts: Ints, nodes: Ints, implied: Bools) -> None:
    """Mark the clauses that another one implies: one all of whose nodes are, or are above, nodes of the first.

    Whatever meets that one takes such a node, and with it the one below. No two different clauses imply each other as
    long as no node of a clause is above another. Clauses are looked up by their last node.
    """
    count = len(starts) - 1
    heads, following = np.full(len(above), -1, np.int32), np.empty(count, np.int32)
    for c in range(count):
        last = nodes[starts[c + 1] - 1]
        following[c], heads[last] = heads[last], c
    stamps = np.full(len(above), -1, np.int32)
    for c in range(count):
        for i in range(starts[c], starts[c + 1]):
            node = nodes[i]
            while node >= 0:
                stamps[node] = c
                node = above[node]
        implied[c] = False
        for i in range(starts[c], starts[c + 1]):
            node = nodes[i]
            while node >= 0 and not implied[c]:
                other = heads[node]
                while other >= 0 and not implied[c]:
                    inside = other != c
                    for j in range(starts[other], starts[other + 1]):
                        inside = inside and stamps[nodes[j]] == c
                    implied[c] = inside
                    other = following[other]
                node = above[node]
