"""Covering: the cheapest set of nodes that meets all clauses known so far, by branch and bound in whole numbers."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.baskets import Longs
from ringfence.hierarchy import Ints
from ringfence.kernels.covering import (
    OPEN,
    OUT,
    TAKEN,
    Cover,
    Floats,
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
LARGEST = 2**61


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
    """Return the cheapest nodes that meet all clauses; `known` is an answer to start from.

    Best bound first. At each step prices are sought, the bound is computed from them, an answer is rounded from the
    fractional one, and every node is settled whose other way costs no less than the best answer. What is still open is
    branched on at the node that the fractional answer is least sure of. When the time is up, or `looks` partial answers
    have been branched on, the best answer so far comes with the lowest bound left open.
    """
    search = _Search(above, weights, clauses, known)
    search.look_at(np.full(len(known), OPEN, np.int8), prices, FIRST_ROUNDS)
    first = prices.copy()
    while looks > 0 and search.open and search.open[0][0] < search.best_cost and not watch.expired():
        looks -= 1
        search.branch()
    bound = min([search.best_cost, *(entry[0] for entry in search.open[:1])])
    return Choice(search.best, search.best_cost, bound, first / search.unit)


class _Search:
    """One covering problem, its best answer, and the partial answers left to look at."""

    def __init__(self, above: Ints, weights: Longs, clauses: Sequence[Sequence[int]], known: States) -> None:
        starts = np.concatenate([[0], np.cumsum([len(clause) for clause in clauses])]).astype(np.int32)
        nodes = np.fromiter((node for clause in clauses for node in clause), np.int32)
        first = np.arange(len(above), dtype=np.int32)
        for node in range(len(above)):
            if above[node] >= 0:
                first[above[node]] = min(first[above[node]], first[node])
        self.cover = Cover(above, first, weights, starts, nodes)
        before = np.concatenate([[0], np.cumsum(weights)])
        self.subtrees = before[1:] - before[first]  # the weight of each node and all below it
        # Prices are fractions: in whole numbers they are counted in parts of 1 / unit, as fine as 64 bits allow.
        most = max(1, int(weights.sum())) * (len(clauses) + len(weights) + 1)
        self.unit = 1 << max(0, min(20, LARGEST.bit_length() - most.bit_length()))
        self.whole, self.real = weights * self.unit, (weights * self.unit).astype(float)
        self.best, self.best_cost = known.copy(), int(weights[known == TAKEN].sum())
        self.open: list[tuple[int, int, int, States, Floats]] = []
        self.looks = 0

    def branch(self) -> None:
        """Look at both ways to go on from the partial answer with the lowest bound."""
        _, _, node, states, prices = heapq.heappop(self.open)
        for way in (take, leave_out):
            branch = states.copy()
            way(self.cover, branch, node)
            self.look_at(branch, prices.copy(), ROUNDS)

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
            extra = int(
                price(
                    cover, states, unmet, prices.astype(np.int64), self.whole, totals, values, np.empty(len(mean), bool)
                )
            )
            bound = paid - (-extra // self.unit)
            if bound >= self.best_cost:
                return
            before = states.copy()
            settle(cover, states, totals, values, extra, (self.best_cost - paid - 1) * self.unit + 1)
            if np.array_equal(before, states):
                candidates = np.unique(np.concatenate([_clause(cover, c) for c in unmet]))
                candidates = candidates[states[candidates] == OPEN]
                node = int(candidates[np.argmax(self.subtrees[candidates] * np.minimum(mean, 1 - mean)[candidates])])
                self.looks += 1
                heapq.heappush(self.open, (bound, self.looks, node, states, prices))
                return

    def _keep(self, answer: States) -> None:
        cost = int(self.cover.weights[answer == TAKEN].sum())
        if cost < self.best_cost:
            self.best, self.best_cost = answer, cost


def _clause(cover: Cover, clause: int) -> Ints:
    return cover.nodes[cover.starts[clause] : cover.starts[clause + 1]]
