"""What runs of children cover, run by run."""

from random import Random

import numpy as np
import pytest

from ringfence.kernels.recode.run_covers import lowest_nodes, run_ends, run_totals

SIZES = [3, 1, 4, 2]
MERGES = [True, True, False, True]
STARTS = np.cumsum([0, *SIZES])
OFFSETS = np.cumsum([0, *((size + 1) ** 2 if merges else 0 for size, merges in zip(SIZES, MERGES, strict=True))])


def runs() -> list[tuple[int, int, int, int]]:
    """Branch, first and last child, and where the run is."""
    return [
        (b, i, j, int(OFFSETS[b]) + i * (size + 1) + j)
        for b, size in enumerate(SIZES)
        if MERGES[b]
        for i in range(size)
        for j in range(i, size)
    ]


def test_sums_and_ends_of_runs() -> None:
    for seed in range(10):
        draw = Random(seed)
        sums, alone, low = ([draw.uniform(-1, 1) for _ in range(sum(SIZES))] for _ in range(3))
        high = [value + draw.random() for value in low]
        whole = [draw.choice([np.nan, 7.0]) for _ in SIZES]
        shape = (STARTS, np.array(SIZES), OFFSETS, np.array(MERGES))
        totals, lows, highs = (np.zeros(OFFSETS[-1]) for _ in range(3))
        run_totals(*shape, np.array(sums), np.array(alone), np.array(whole), totals)
        run_ends(*shape, np.array(low), np.array(high), lows, highs)
        for b, i, j, run in runs():
            inside = slice(STARTS[b] + i, STARTS[b] + j + 1)
            expected = alone[STARTS[b] + i] if i == j else sum(sums[inside])
            if (i, j) == (0, SIZES[b] - 1) and not np.isnan(whole[b]):
                expected = whole[b]
            assert totals[run] == pytest.approx(expected)
            assert (lows[run], highs[run]) == (min(low[inside]), max(high[inside]))


def test_the_lowest_node_above_two_leaves() -> None:
    parent, stop = np.array([5, 5, 6, 6, 7, 7, 7, 7], np.int32), np.array([1, 2, 3, 4, 5, 2, 4, 5], np.int32)
    above = {leaf: [leaf] for leaf in range(5)}
    for leaf, way in above.items():
        while parent[way[-1]] != way[-1]:
            way.append(int(parent[way[-1]]))
        assert way[0] == leaf
    pairs = [(i, j) for i in range(5) for j in range(i, 5)]
    nodes = np.empty(len(pairs) + 1, np.int32)
    lows, highs = np.array([*(i for i, _ in pairs), np.inf]), np.array([*(j for _, j in pairs), -np.inf])
    lowest_nodes(lows, highs, parent, stop, nodes)
    assert nodes[-1] == 0
    for (i, j), node in zip(pairs, nodes, strict=False):
        assert node == next(common for common in above[i] if common in above[j])
