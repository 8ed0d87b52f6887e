"""The covering problem against brute force over all choices of nodes."""

import itertools
import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.kernels.itemsets.forest_cover import (
    OPEN,
    OUT,
    TAKEN,
    Clauses,
    complete,
    mark_implied,
    price,
    propagate,
    settle,
)
from ringfence.search.itemsets import covering
from ringfence.search.itemsets.covering import cheapest_cover
from ringfence.search.progress import Watch

Nodes = frozenset[int]


@dataclass(frozen=True)
class Problem:
    """A forest with children before parents, weights, and clauses without a node above another."""

    above: list[int]
    weights: list[int]
    clauses: list[tuple[int, ...]]

    def is_above(self, higher: int, node: int) -> bool:
        while node >= 0 and node != higher:
            node = self.above[node]
        return node == higher

    def answers(self) -> list[Nodes]:
        """All choices that take with a node all below it and meet every clause."""
        count = len(self.above)
        found = []
        for states in itertools.product((False, True), repeat=count):
            closed = all(states[v] or self.above[v] < 0 or not states[self.above[v]] for v in range(count))
            if closed and all(any(states[v] for v in clause) for clause in self.clauses):
                found.append(frozenset(v for v in range(count) if states[v]))
        return found

    def cost(self, answer: Nodes) -> int:
        return sum(self.weights[v] for v in answer)

    @property
    def cover(self) -> Clauses:
        first = [min(u for u in range(v + 1) if self.is_above(v, u)) for v in range(len(self.above))]
        starts = np.cumsum([0, *(len(clause) for clause in self.clauses)])
        return Clauses(
            np.array(self.above, np.int32),
            np.array(first, np.int32),
            np.array(self.weights, np.int64),
            starts.astype(np.int32),
            np.array([v for clause in self.clauses for v in clause], np.int32),
        )


@st.composite
def problems(draw: st.DrawFn, *, scale: int = 1) -> Problem:
    """Draw a forest of up to nine nodes, numbered as a walk leaves them, and up to twelve clauses."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    count = rng.randint(1, 9)
    above = [-1] * count
    roots: list[int] = []
    for v in range(count):  # v takes some of the last trees that have no node above them yet
        taken = rng.randint(0, min(3, len(roots)))
        for child in roots[len(roots) - taken :]:
            above[child] = v
        roots = [*roots[: len(roots) - taken], v]
    problem = Problem(above, [rng.choice([0, 1, 2, 3, 5, 8, 13]) * scale for _ in range(count)], [])
    clauses = {
        tuple(sorted(rng.sample(range(count), rng.randint(1, min(4, count))))) for _ in range(rng.randint(1, 12))
    }
    kept = [
        tuple(v for v in clause if not any(u != v and problem.is_above(v, u) for u in clause))
        for clause in sorted(clauses)
    ]
    return Problem(above, problem.weights, list(dict.fromkeys(kept)))


@pytest.mark.parametrize("rounds", [(600, 100), (3, 2), (0, 0)])
@given(problem=problems(), looks=st.sampled_from([0, 1, 2, 10**6]), data=st.data())
def test_cheapest_cover_is_that_of_brute_force(
    rounds: tuple[int, int], problem: Problem, looks: int, data: st.DataObject
) -> None:
    answers = problem.answers()
    least = min(problem.cost(answer) for answer in answers)
    known = data.draw(st.sampled_from(answers))
    prices = np.array([data.draw(st.integers(0, 20)) for _ in problem.clauses], float)
    with pytest.MonkeyPatch.context() as patch:  # the fewer rounds, the more must be branched on
        patch.setattr(covering, "FIRST_ROUNDS", rounds[0])
        patch.setattr(covering, "ROUNDS", rounds[1])
        choice = cheapest_cover(
            problem.cover.above, problem.cover.weights, problem.clauses,
            np.array([v in known for v in range(len(problem.above))], np.int8), prices, looks=looks, watch=Watch(),
        )  # fmt: skip
    taken = frozenset(np.flatnonzero(choice.taken == TAKEN).tolist())
    assert taken in answers
    assert choice.cost == problem.cost(taken)
    assert choice.bound <= least <= choice.cost
    if looks > 2:
        assert choice.bound == least == choice.cost


@given(problem=problems(scale=2**52 // 100))
def test_large_weights_do_not_overflow(problem: Problem) -> None:
    least = min(problem.cost(answer) for answer in problem.answers())
    everything, prices = np.ones(len(problem.above), np.int8), np.full(len(problem.clauses), 1e30)
    cover = problem.cover
    choice = cheapest_cover(cover.above, cover.weights, problem.clauses, everything, prices, looks=10**6, watch=Watch())
    assert choice.bound == least == choice.cost


def partial_answer(problem: Problem, data: st.DataObject) -> np.typing.NDArray[np.int8]:
    """Some nodes taken with all below them, some left out with all above them."""
    states = np.full(len(problem.above), OPEN, np.int8)
    for v in range(len(states)):
        way = data.draw(st.sampled_from([OPEN, OPEN, OUT, TAKEN]))
        related = [u for u in range(len(states)) if (problem.is_above(u, v) if way == OUT else problem.is_above(v, u))]
        if way != OPEN and all(states[u] in (OPEN, way) for u in related):
            states[related] = way
    return states


def extends(states: np.typing.NDArray[np.int8], answer: Nodes) -> bool:
    return all((v in answer) == (state == TAKEN) for v, state in enumerate(states) if state != OPEN)


@given(problem=problems(), data=st.data())
def test_propagation_loses_no_answer(problem: Problem, data: st.DataObject) -> None:
    states = partial_answer(problem, data)
    answers = [answer for answer in problem.answers() if extends(states, answer)]
    possible = propagate(problem.cover, states)
    assert possible or not answers
    assert all(extends(states, answer) for answer in answers)


@given(problem=problems(), data=st.data())
def test_prices_give_a_bound_and_settle_only_what_no_better_answer_does(problem: Problem, data: st.DataObject) -> None:
    cover, states = problem.cover, partial_answer(problem, data)
    answers = [answer for answer in problem.answers() if extends(states, answer)]
    paid = sum(problem.weights[v] for v in np.flatnonzero(states == TAKEN))
    unmet = [c for c, clause in enumerate(problem.clauses) if not any(states[v] == TAKEN for v in clause)]
    prices = np.array([data.draw(st.integers(0, 12)) for _ in problem.clauses], np.int64)
    totals, values = np.zeros((2, len(states)), np.int64)
    bound = price(
        cover, states, np.array(unmet, np.int32), prices, cover.weights, totals, values, np.empty(len(states), bool)
    )
    open_answers = [
        frozenset(answer)
        for size in range(len(states) + 1)
        for answer in itertools.combinations(np.flatnonzero(states == OPEN).tolist(), size)
        if all(u in answer or states[u] != OPEN for v in answer for u in range(v) if problem.is_above(v, u))
    ]
    reduced = min(
        problem.cost(answer) - sum(int(prices[c]) * len(answer & set(problem.clauses[c])) for c in unmet)
        for answer in open_answers
    )
    assert bound == sum(int(prices[c]) for c in unmet) + reduced
    assert all(paid + bound <= problem.cost(answer) for answer in answers)
    limit = data.draw(st.integers(0, 40))
    settle(cover, states, totals, values, bound, limit)
    assert all(extends(states, answer) for answer in answers if problem.cost(answer) - paid < limit)


@given(problem=problems(), data=st.data())
def test_completing_meets_all_clauses_and_takes_nothing_idle(problem: Problem, data: st.DataObject) -> None:
    states = partial_answer(problem, data)
    if not propagate(problem.cover, states):
        return
    mean = np.array([data.draw(st.floats(0, 1)) for _ in states])
    answer = np.empty_like(states)
    complete(problem.cover, states, mean, answer)
    taken = frozenset(np.flatnonzero(answer == TAKEN).tolist())
    answers = problem.answers()
    assert taken in answers
    assert extends(states, taken)
    assert not any(taken - {v} in answers for v in taken if states[v] == OPEN)


@given(problem=problems())
def test_implied_clauses_are_those_that_another_one_makes_true(problem: Problem) -> None:
    def met(answer: Nodes, clause: tuple[int, ...]) -> bool:
        return any(v in answer for v in clause)

    cover, implied = problem.cover, np.zeros(len(problem.clauses), bool)
    mark_implied(cover.above, cover.starts, cover.nodes, implied)
    free = Problem(problem.above, problem.weights, []).answers()
    for c, clause in enumerate(problem.clauses):
        others = [other for other in problem.clauses if other != clause]
        expected = any(all(met(answer, clause) for answer in free if met(answer, other)) for other in others)
        assert implied[c] == expected
