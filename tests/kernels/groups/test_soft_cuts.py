"""Soft cuts against their twin, which lists every way that rows can be parted with its exact chance."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringfence.kernels.groups.soft_cuts import UNIT, RingGround, cut_softly, width_at
from ringfence.kernels.secret import Stream, new_stream, secret_key
from tests.rings import Part, soft_cuts

TIMES = 3000


def parted(
    ranks: Sequence[Sequence[int]], values: Sequence[int], width: int, need: float, stream: Stream
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The parts that the kernel makes in one go."""
    array, rows, widths = np.array(ranks, np.int32), np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    attributes = array.shape[1]
    ground = RingGround(array, np.ones(attributes), np.zeros(attributes, np.bool_), np.zeros((attributes, 9)))
    bounds = np.array([0, len(values)])
    cut_softly(ground, np.array(values, np.int32), bounds, width, need, stream, rows, widths)
    begins = np.flatnonzero(widths)
    parts = np.split(rows, begins[1:])
    return tuple((tuple(part.tolist()), int(widths[begin])) for part, begin in zip(parts, begins, strict=True))


NESTED = ([[0, 2], [0, 2], [1, 0], [1, 1], [1, 2], [1, 2], [1, 2], [1, 2]], [5, 1, 0, 1, 0, 2, 3, 4])
TWO_ATTRIBUTES = ([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 2]], [0, 2, 0, 1, 1, 3, 4])
UNEVEN = ([[0], [0], [1], [1], [1], [1]], [0, 1, 0, 1, 2, 3])


@pytest.mark.parametrize(
    ("ranks", "values", "width", "need"),
    [(*NESTED, 2, 0.0), (*TWO_ATTRIBUTES, 2, 0.0), (*UNEVEN, 2, 0.0), (*NESTED, 2, 0.2)],
)
def test_parts_are_as_likely_as_they_should_be(
    ranks: list[list[int]], values: list[int], width: int, need: float
) -> None:
    expected: dict[tuple[Part, ...], Fraction] = defaultdict(Fraction)
    for chance, parts in soft_cuts(ranks, values, width, need):
        expected[tuple(sorted(parts))] += chance
    assert sum(expected.values(), Fraction(0)) == 1
    assert len(expected) > 1
    stream = new_stream(secret_key("test", 26))
    seen = Counter(tuple(sorted(parted(ranks, values, width, need, stream))) for _ in range(TIMES))
    assert {*seen} <= {*expected}
    for parts, chance in expected.items():
        spread = 5 * float(TIMES * chance * (1 - chance)) ** 0.5 + 1
        assert abs(seen[parts] - TIMES * float(chance)) < spread, parts


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.tuples(st.integers(0, 3), st.integers(0, 2)), st.integers(0, 5)), min_size=2, max_size=12
    ),
    width=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_every_part_can_be_dealt_out_and_is_one_of_the_twins(
    rows: list[tuple[tuple[int, int], int]], width: int, seed: int
) -> None:
    ranks, values = [list(row[0]) for row in rows], [row[1] for row in rows]
    if max(Counter(values).values()) * width > len(values):
        return
    parts = parted(ranks, values, width, 0.3, new_stream(secret_key("test", seed)))
    assert sorted(row for part, _ in parts for row in part) == list(range(len(values)))
    for part, each in parts:
        assert each >= width
        assert max(Counter(values[row] for row in part).values()) <= len(part) // each
    if width > 1:
        possible = {tuple(sorted(way)) for chance, way in soft_cuts(ranks, values, width, 0.3) if chance}
        assert tuple(sorted(parts)) in possible


def test_widths_go_with_prices() -> None:
    assert [width_at(price) for price in (UNIT, UNIT + 1, 2 * UNIT, 2 * UNIT + 1)] == [2, 3, 3, 4]
