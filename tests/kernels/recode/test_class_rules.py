"""Classes that grow hold, and cost, what the definitions say."""

from math import log
from random import Random

import pytest

from ringfence.kernels.recode.class_rules import (
    CELLS,
    MINORITY,
    MOST_LOGS,
    NUMBER,
    SQUARES,
    add,
    clear,
    counts_for,
    holds,
    lasts,
    own_cost,
    weight_log,
)
from tests.kernels.recode.growing import RULES, Rule, a_world


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_class_holds_by_the_definitions_as_it_grows(rules: list[Rule]) -> None:
    said = set()
    for seed in range(25):
        world, draw = a_world(seed, rules), Random(seed)
        watched = world.watched
        counts = counts_for(watched)
        for _ in range(3):
            tuples, met = draw.sample(range(12), 7), 0
            for size in range(1, 8):
                met = add(watched, counts, tuples[size - 1], met)
                found = holds(watched, counts, world.rows(tuples[:size]))
                assert found == world.holds(tuples[:size]), (seed, tuples[:size])
                said.add(found)
            clear(counts, met)
            assert not counts.of.any()
            assert not counts.logs.any()
    assert said == {True, False}


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_class_stays_as_it_is_for_as_many_rows_as_is_said(rules: list[Rule]) -> None:
    """Whatever rows are added, and whether it holds or fails; that is said of more than none."""
    least, most = 0.0, 0.0
    for seed in range(60):
        world, draw = a_world(seed, rules, tuples=40), Random(seed)
        watched = world.watched
        counts, met, tuples = counts_for(watched), 0, draw.sample(range(40), 30)
        for size in range(1, 30):
            met = add(watched, counts, tuples[size - 1], met)
            rows = world.rows(tuples[:size])
            lasting = lasts(watched, counts, rows)
            assert (lasting >= 0) == world.holds(tuples[:size])
            for more in range(size + 1, 31):
                if world.rows(tuples[:more]) - rows > (lasting if lasting >= 0 else -1 - lasting):
                    break
                assert world.holds(tuples[:more]) == (lasting >= 0)
                least, most = min(least, lasting), max(most, lasting)
    assert least < -1
    assert most > 0


@pytest.mark.parametrize("cost", [CELLS, SQUARES, MINORITY, NUMBER])
def test_a_class_costs_what_it_should(cost: int) -> None:
    for seed in range(20):
        world, draw = a_world(seed, [], cost=cost, labels=seed % 2), Random(seed)
        watched = world.watched
        counts, met, tuples = counts_for(watched), 0, draw.sample(range(12), 5)
        for size in range(1, 6):
            met = add(watched, counts, tuples[size - 1], met)
            assert own_cost(watched, counts, world.rows(tuples[:size])) == pytest.approx(world.own_cost(tuples[:size]))


def test_logs_of_counts_are_the_same_from_the_table_and_beyond_it() -> None:
    assert weight_log(0) == weight_log(1) == 0.0
    for weight in (2, 3, MOST_LOGS - 1, MOST_LOGS, MOST_LOGS + 1, 10**9):
        assert weight_log(weight) == pytest.approx(weight * log(weight), rel=1e-15)
