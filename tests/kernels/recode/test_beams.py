"""Good partitions into sets: what they are said to cost, the best where nothing is left out, and what they find."""

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ringfence.kernels.recode.beams import good_partition
from ringfence.kernels.recode.in_turn import best_sets
from ringfence.search.recode.proof import growth

Counts = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Counts, list[int]]:
    """Rows of data by value and class, and a partition of the values."""
    values, classes = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    counts = draw(arrays(np.float64, (values, classes), elements=st.integers(0, 6).map(float)))
    return counts, draw(st.lists(st.integers(0, values - 1), min_size=values, max_size=values))


def cost_of(counts: Counts, blocks: tuple[int, ...], k: int, penalty: float) -> float:
    """What a partition costs by the definition: every row the size of its class, or the penalty."""
    total = 0.0
    for block in {*blocks}:
        for number in counts[[value for value, other in enumerate(blocks) if other == block]].sum(axis=0):
            total += 0.0 if number == 0 else number * (number if number >= k else penalty)
    return total


@given(
    drawn=partitions(),
    k=st.integers(1, 9),
    penalty=st.sampled_from([40.0, 200.0, inf]),
    width=st.sampled_from([1, 3, 99]),
)
def test_a_good_partition_costs_what_it_is_said_to_no_more_than_before_and_least_where_all_are_kept(
    drawn: tuple[Counts, list[int]], k: int, penalty: float, width: int
) -> None:
    counts, before = drawn
    blocks = np.array(before)
    cost = good_partition(counts, float(k), penalty, width, blocks)
    every = itertools.product(range(len(counts)), repeat=len(counts))
    best = min(cost_of(counts, partition, k, penalty) for partition in every)
    assert best <= cost <= cost_of(counts, tuple(before), k, penalty)
    assert width < 99 or cost == best
    if cost < inf:
        assert cost_of(counts, tuple(blocks.tolist()), k, penalty) == cost


def test_the_best_partition_is_not_lost_however_few_are_gone_on_with() -> None:
    worse = 0
    for seed in range(40):
        counts = np.random.default_rng(seed).integers(0, 6, (7, 4)).astype(float)
        best, alone = np.empty(7, np.int64), np.arange(7)
        cost = best_sets(counts, 9.0, 1000.0, best)
        worse += good_partition(counts, 9.0, 1000.0, 1, alone) > cost
        assert good_partition(counts, 9.0, 1000.0, 1, best) == cost
    assert worse > 10  # it is not found anyhow


def test_a_set_is_kept_for_what_may_still_join_it() -> None:
    """Three rare values reach k only together. With two of them, the set looks bad to those who do not look ahead."""
    rare = [0.0, 2.0, 2.0]
    counts, blocks = np.array([[9.0, 9.0, 0.0], rare, rare, rare]), np.arange(4)
    assert good_partition(counts, 5.0, 1000.0, 1, blocks) == 9 * 9 + 9 * 9 + 6 * 6 + 6 * 6
    assert len({*blocks[1:].tolist()}) == 1


def test_of_as_many_partitions_as_there_are_that_cost_the_same_few_are_gone_on_with() -> None:
    """Forty values of one row each: until k is reached, every partition costs the same."""
    blocks = np.zeros(40, np.int64)
    cost = good_partition(np.ones((40, 1)), 8.0, 1000.0, 50, blocks)
    assert cost == 5 * 8 * 8
    assert sorted(np.bincount(blocks).tolist()) == [8] * 5


@given(gains=st.lists(st.floats(0.01, 1), min_size=2, max_size=6), more=st.floats(0.01, 1))
def test_a_search_grows_less_with_fewer_parts_and_with_parts_that_gain_more(gains: list[float], more: float) -> None:
    size = growth(gains, 0.0, 1.0)
    assert size <= growth([*gains, 1.0], 0.0, 1.0) * (1 + 1e-6)
    assert growth([min(1.0, gain + more) for gain in gains], 0.0, 1.0) <= size * (1 + 1e-6)
    assert growth([gain * 7 + 3 for gain in gains], 3.0, 10.0) == pytest.approx(size)


def test_parts_that_gain_half_each_have_four_ends_and_no_gain_is_told_from_some() -> None:
    assert np.exp(growth([0.5, 0.5], 0.0, 1.0)) == pytest.approx(4)
    assert np.exp(growth([0.5, 0.5, 0.5], 0.0, 1.0)) == pytest.approx(9)
    assert growth([0.0, 1.0], 0.0, 1.0) > growth([0.1, 0.1], 0.0, 1.0)
    assert growth([5.0, 5.0], 5.0, inf) == inf
