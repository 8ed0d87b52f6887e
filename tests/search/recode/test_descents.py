"""Attributes improved in turn: programs that find the best partition, costs that are true, and nothing left to gain."""

import itertools
from collections.abc import Callable
from math import inf
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.kernels.recode.in_turn import FEW, best_runs, best_sets
from ringfence.kernels.recode.keys import SPARSE
from ringfence.search.progress import Watch
from ringfence.search.recode.boxes import Boxes
from ringfence.search.recode.descents import Descent
from ringfence.search.recode.iterated import Iterated
from ringfence.spec import Spec
from tests.kernels.recode.test_beams import Counts, cost_of, partitions
from tests.search.recode.test_auto import Workshop
from tests.tables import Case


def shop(seed: int, scheme: str, *, sizes: tuple[int, ...], k: int = 3, suppression: float = 1.0) -> Workshop:
    """A table of skewed values, drawn anew for each seed."""
    draw = Random(seed)
    columns = {
        f"q{a}": [chr(97 + min(int(draw.expovariate(3 / size)), size - 1)) for _ in range(80)]
        for a, size in enumerate(sizes)
    }
    spec = Spec(attributes={name: {"role": "quasi", "scheme": scheme} for name in columns})
    method = {"metric": "dm", "suppression": suppression}
    return Workshop(Case(pa.table(columns), spec), [scheme] * len(sizes), {"k": k}, method)


def node_of(parts: Workshop, states: list[Any]) -> list[int]:
    """The node of some states."""
    return [space.position(state) for space, state in zip(parts.spaces, states, strict=True)]


def descent_of(parts: Workshop) -> Descent:
    """A descent over the attributes of a workshop."""
    return Descent(parts.census, parts.spaces, [Boxes(space) for space in parts.spaces], parts.terms)


def finest(parts: Workshop) -> list[Any]:
    """The states of the table as it is."""
    return [space.state(space.finest) for space in parts.spaces]


def only(times: int) -> Callable[[int], bool]:
    """Say so many times that there is time left."""
    left = iter([True] * times)
    return lambda _: next(left, False)


@given(drawn=partitions(), k=st.integers(1, 9), penalty=st.sampled_from([40.0, 200.0, inf]), runs=st.booleans())
def test_the_best_partition_is_found(drawn: tuple[Counts, list[int]], k: int, penalty: float, runs: bool) -> None:
    counts, _ = drawn
    values, blocks = len(counts), np.full(len(counts), -1)
    cost = (best_runs if runs else best_sets)(counts, float(k), penalty, blocks)
    every = itertools.product((0, 1), repeat=values - 1) if runs else itertools.product(range(values), repeat=values)
    tried = [tuple(itertools.accumulate((0, *each))) if runs else each for each in every]
    assert cost == min(cost_of(counts, each, k, penalty) for each in tried)
    assert cost == inf or cost_of(counts, tuple(blocks.tolist()), k, penalty) == cost
    assert not runs or (np.diff(blocks) >= 0).all()


@pytest.mark.parametrize("scheme", ["ordered", "set"])
@pytest.mark.parametrize(("suppression", "at_once"), [(0.0, 1000), (1.0, 1000), (1.0, 0)])
def test_what_is_reached_is_true_and_no_attribute_can_be_improved(
    scheme: str, suppression: float, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringfence.search.recode.descents.SLICE", at_once)
    for seed in range(12):
        parts = shop(seed, scheme, sizes=(5, 4, 6), suppression=suppression)
        states = finest(parts)
        reached = descent_of(parts).improve(states, [0, 1, 2], inf, 0, lambda _: True)
        node = node_of(parts, states)
        assert parts.cost(node) == pytest.approx(reached)
        for a, space in enumerate(parts.spaces):
            others = ([*node[:a], space.position(state), *node[a + 1 :]] for state in _every_state(parts, a))
            assert min(parts.cost(other) for other in others) >= reached * (1 - 1e-9)


def _every_state(parts: Workshop, attribute: int) -> list[Any]:
    space = parts.spaces[attribute]
    todo, met = [space.finest], {space.finest}
    while todo:
        new = {*space.children(todo.pop(), up=True)} - met
        met |= new
        todo += new
    return [space.state(position) for position in met]


def test_many_classes_and_few_are_told_apart_alike() -> None:
    """Classes are looked up in a table of all combinations where there are few, else by their keys: both are met."""
    parts = shop(1, "ordered", sizes=(9, 9, 9, 9), k=2)
    assert SPARSE * len(parts.census.codes) < 9**4
    states = finest(parts)
    reached = descent_of(parts).improve(states, [0, 1, 2, 3], inf, 0, lambda _: True)
    node = node_of(parts, states)
    blocks = [len({*state[0]}) for state in states]
    assert np.prod(blocks) <= SPARSE * len(parts.census.codes)
    assert parts.cost(node) == pytest.approx(reached)
    before = finest(parts)
    assert descent_of(parts).improve(before, [0, 1, 2, 3], 0.0, 0, lambda _: True) == 0.0
    assert before == finest(parts)


def test_only_what_was_not_tried_is_tried_and_the_rest_stays() -> None:
    parts = shop(3, "set", sizes=(5, 4, 6))
    descent, states = descent_of(parts), finest(parts)
    judged: list[int] = []

    def go_on(number: int) -> bool:
        judged.append(number)
        return True

    reached = descent.improve(states, [0, 1, 2], inf, 0, go_on)
    before = list(states)
    judged.clear()
    assert descent.improve(states, [1, 0, 2], reached, 2, go_on) == reached
    assert states == before
    assert sum(judged) == 1


def test_a_descent_that_is_stopped_has_reached_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringfence.search.recode.descents.SLICE", 0)
    for times in range(1, 7):
        parts = shop(5, "set", sizes=(6, 5, 6))
        states = finest(parts)
        reached = descent_of(parts).improve(states, [0, 1, 2], inf, 0, only(times))
        assert parts.cost(node_of(parts, states)) == pytest.approx(reached)


def test_sets_of_more_values_than_all_of_whose_partitions_are_looked_at() -> None:
    parts = shop(7, "set", sizes=(FEW + 4, 20, 3))
    states = finest(parts)
    reached = descent_of(parts).improve(states, [0, 1, 2], inf, 0, lambda _: True)
    assert max(len(state[0]) for state in states) > FEW
    assert parts.cost(node_of(parts, states)) == pytest.approx(reached)
    assert reached < parts.cost([space.coarsest for space in parts.spaces])


def test_answers_are_at_least_as_good_as_what_is_reached_at_once() -> None:
    for seed in range(5):
        parts = shop(seed, "set", sizes=(6, 5, 6))
        answers = Iterated(parts.asked, Watch())
        answers.begin(())
        assert answers.best is not None
        reached = descent_of(parts).improve(finest(parts), [0, 1, 2], inf, 0, lambda _: True)
        assert answers.best.cost <= reached < parts.cost([space.coarsest for space in parts.spaces])


def test_attributes_that_are_not_runs_or_sets_are_improved_beside_the_others() -> None:
    """A tree of levels, runs and sets: nothing is left to gain in any of them."""
    draw = Random(11)
    columns = {f"q{a}": [draw.choice("abcdef") for _ in range(60)] for a in range(3)}
    tree = [[leaf, "abc" if leaf in "abc" else "def", "*"] for leaf in "abcdef"]
    spec = Spec(attributes={
        "q0": {"role": "quasi", "scheme": "level", "hierarchy": {"paths": tree}},
        "q1": {"role": "quasi", "scheme": "ordered"},
        "q2": {"role": "quasi", "scheme": "set"},
    })  # fmt: skip
    parts = Workshop(
        Case(pa.table(columns), spec), ["level", "ordered", "set"], {"k": 4}, {"metric": "dm", "suppression": 1.0}
    )
    assert descent_of(parts).attributes == [1, 2]
    answers = Iterated(parts.asked, Watch())
    answers.begin(())
    assert answers.best is not None
    nodes = itertools.product(
        *([space.position(s) for s in _every_state(parts, a)] for a, space in enumerate(parts.spaces))
    )
    assert answers.best.cost == pytest.approx(min(parts.cost(node) for node in nodes))
