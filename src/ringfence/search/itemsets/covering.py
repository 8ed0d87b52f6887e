"""Covering: the cheapest set of nodes that meets all clauses known so far, by branch and bound in whole numbers."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.kernels.itemsets.forest_cover import (
    OPEN,
    OUT,
    TAKEN,
    Clauses,
    States,
    complete,
    leave_out,
    price,
    propagate,
    seek_prices,
    settle,
    take,
    unmet_clauses,
)
from ringfence.search.progress import Watch

FIRST_ROUNDS, ROUNDS = 600, 100  # of the search for prices: at the start, and after each branching
LARGEST = 2**55  # sums of prices and weights stay a few times that


@dataclass(frozen=True, eq=False)
class Choice:
    """Which nodes to take, what they cost, and a certified lower bound on the cost of any choice.

    `prices` are those of the clauses, good ones to start from when there are more clauses.
    """

    taken: States
    cost: int
    bound: int
    prices: Floats


def cheapest_cover(
    above: Ints,
    weights: Longs,
    clauses: Sequence[Sequence[int]],
    known: States,
    prices: Floats,
    *,
    looks: int,
    watch: Watch,
) -> Choice:
    """Return the cheapest nodes that meet all clauses; see `kernels.itemsets.forest_cover` for what that means.

    Best bound first. For each partial answer prices are sought, the bound is computed from them, an answer is rounded
    from the fractional one, and every node is settled whose other way costs no less than the best answer. What is still
    open is branched on at the node that matters most: much weight below it, and the fractional answer undecided.

    Parameters
    ----------
    above, weights
        The forest: the node above each, or -1, and the weight of each.
    clauses
        Each a list of nodes of which one must be taken; no node of a clause is above another.
    known
        An answer to start from.
    prices
        One per clause, to start from: any will do.
    looks, watch
        When so many partial answers have been branched on, or the time is up, the best answer so far comes with the
        lowest bound left open.
    """
    search = _CoverSearch(above, weights, clauses, known, prices)
    search.look_at(np.full(len(known), OPEN, np.int8), search.prices, FIRST_ROUNDS)
    while looks > 0 and search.open and search.open[0][0] < search.best_cost and not watch.expired():
        looks -= 1
        search.branch()
    bound = min([search.best_cost, *(entry[0] for entry in search.open[:1])])
    return Choice(search.best, search.best_cost, bound, search.prices / search.unit)


class _CoverSearch:
    """One covering problem, its best answer, and the partial answers left to branch on, by bound and age."""

    def __init__(
        self, above: Ints, weights: Longs, clauses: Sequence[Sequence[int]], known: States, prices: Floats
    ) -> None:
        starts = np.concatenate([[0], np.cumsum([len(clause) for clause in clauses])]).astype(np.int32)
        nodes = np.fromiter((node for clause in clauses for node in clause), np.int32)
        first = list(range(len(above)))
        for node, higher in enumerate(above.tolist()):
            if higher >= 0:
                first[higher] = min(first[higher], first[node])
        self.cover = Clauses(above, np.array(first, np.int32), weights, starts, nodes)
        before = np.concatenate([[0], np.cumsum(weights)])
        self.subtrees = before[1:] - before[first]  # the weight of each node and all below it
        # Prices are fractions: in whole numbers they are counted in parts of 1 / unit, as fine as 64 bits allow.
        self.unit = 1 << max(0, min(20, LARGEST.bit_length() - int(weights.sum()).bit_length()))
        self.whole, self.real = weights * self.unit, (weights * self.unit).astype(float)
        self.prices = prices * self.unit
        self.best, self.best_cost = known.copy(), int(weights[known == TAKEN].sum())
        self.open: list[tuple[int, int, int, States]] = []
        self._age = 0

    def branch(self) -> None:
        """Look at both ways to go on from the partial answer with the lowest bound.

        Both start from the first prices, which turned out no worse than those of the partial answer.
        """
        _, _, node, states = heapq.heappop(self.open)
        for way in (take, leave_out):
            branch = states.copy()
            way(self.cover, branch, node)
            self.look_at(branch, self.prices.copy(), ROUNDS)

    def look_at(self, states: States, prices: Floats, rounds: int) -> None:
        """Bound a partial answer, and keep it for branching unless it cannot lead to a better one."""
        cover, mean = self.cover, np.zeros(len(states))
        totals, values = np.zeros((2, len(states)), np.int64)
        room = np.empty(len(cover.starts) - 1, np.int32)
        while propagate(cover, states):
            paid = int(cover.weights[states == TAKEN].sum())
            unmet = room[: unmet_clauses(cover, states, room)]
            if len(unmet) == 0:
                self._keep(np.where(states == TAKEN, TAKEN, OUT).astype(np.int8))
            if len(unmet) == 0 or paid >= self.best_cost:
                return
            goal = float((self.best_cost - paid) * self.unit)
            seek_prices(cover, states, unmet, prices, self.real, goal, rounds, mean)
            answer = np.empty_like(states)
            complete(cover, states, mean, answer)
            self._keep(answer)
            chosen = np.empty(len(states), bool)
            extra = int(price(cover, states, unmet, self._in_whole(prices), self.whole, totals, values, chosen))
            bound = paid - (-extra // self.unit)
            if bound >= self.best_cost:
                return
            before = states.copy()
            settle(cover, states, totals, values, extra, (self.best_cost - paid - 1) * self.unit + 1)
            if np.array_equal(before, states):
                self._age += 1
                heapq.heappush(self.open, (bound, self._age, self._doubtful(states, unmet, mean), states))
                return

    def _in_whole(self, prices: Floats) -> Longs:
        """Prices in whole numbers, all together no more than all weights: better ones are not, and none overflows."""
        most, together = float(self.whole.sum()), float(prices.sum())
        return np.asarray(prices * min(1.0, most / max(1.0, together)), np.int64)

    def _doubtful(self, states: States, unmet: Ints, mean: Floats) -> int:
        """The node to branch on: one of an unmet clause."""
        cover, inside = self.cover, np.zeros(len(states), bool)
        for clause in unmet.tolist():
            inside[cover.nodes[cover.starts[clause] : cover.starts[clause + 1]]] = True
        weight = np.where(inside & (states == OPEN), self.subtrees * np.minimum(mean, 1 - mean), -1.0)
        return int(np.argmax(weight))

    def _keep(self, answer: States) -> None:
        """Keep an answer if it is the best so far."""
        cost = int(self.cover.weights[answer == TAKEN].sum())
        if cost < self.best_cost:
            self.best, self.best_cost = answer, cost
