"""Rings of different sensitive values: what they are, and what someone who knows everything but the draws can tell.

The adversary knows every quasi-identifier, the algorithm, and how often each value occurs; he sees the rings, and which
value each slot shows. All arrangements of values are equally likely to him at first. For tiny tables, every arrangement
and every draw is carried out, and what he thinks of each row afterwards is read off.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.groups.deals import halve_safely
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.search.groups.ring import Rings
from ringfence.search.groups.ring_diversity import (
    deal_out,
    in_arcs,
    ring_width,
    rings_as_printed,
    rings_of_different_values,
)
from ringfence.spec import Spec
from tests.tables import Case, cases, count

Split = list[list[int]]
"""The rows of each ring, in its order."""
Splitter = Callable[[Sequence[int]], Iterator[tuple[Fraction, Split]]]
"""All ways, with their chances, to make rings of rows with these values."""


def worst_posterior(values: Sequence[int], width: int, splitter: Splitter) -> Fraction:
    """The highest probability with which the adversary can come to know a value of a row.

    A ring is drawn by one of `width` rotations, each as likely: they share no match and use all.
    """
    seen: dict[Any, dict[tuple[int, ...], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for arrangement in sorted(set(permutations(values))):
        for chance, split in splitter(arrangement):
            for turns in product(range(width), repeat=len(split)):
                shown = [
                    tuple(arrangement[ring[(slot + turn) % len(ring)]] for slot in range(len(ring)))
                    for ring, turn in zip(split, turns, strict=True)
                ]
                view = tuple(sorted(zip(map(tuple, split), shown, strict=True)))
                seen[view][arrangement] += chance
    worst = Fraction(0)
    for arrangements in seen.values():
        total = sum(arrangements.values(), Fraction(0))
        for row in range(len(values)):
            chances: dict[int, Fraction] = defaultdict(Fraction)
            for arrangement, chance in arrangements.items():
                chances[arrangement[row]] += chance
            worst = max(worst, max(chances.values()) / total)
    return worst


def orders_by_value(values: Sequence[int]) -> Iterator[npt.NDArray[np.int64]]:
    """Numbers for rows, in every order that the rows of one value can have among themselves."""
    rows = [[row for row, value in enumerate(values) if value == each] for each in sorted(set(values))]
    for orders in product(*(permutations(range(len(part))) for part in rows)):
        numbers = np.zeros(len(values), np.int64)
        for part, order in zip(rows, orders, strict=True):
            numbers[part] = order
        yield numbers


def dealt(width: int, lucky: Callable[[int], Iterator[Sequence[int]]]) -> Splitter:
    """Rings as they are made here, by every chance; `lucky` yields the numbers of values that are tried."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        array, bounds = np.array(values, np.int32), np.array([0, len(values)])
        lucks = list(lucky(len(values)))
        chances = list(orders_by_value(values))
        for luck, chance in product(lucks, chances):
            ring = deal_out(array, bounds, width, chance, np.array(luck))
            rings = [np.flatnonzero(ring == r).tolist() for r in range(int(ring.max()) + 1)]
            yield Fraction(1, len(lucks) * len(chances)), rings

    return split


def every_luck(different: int) -> Callable[[int], Iterator[Sequence[int]]]:
    """Every order of so many values, in one group."""
    return lambda rows: ((*order, *range(different, rows)) for order in permutations(range(different)))


def one_luck(rows: int) -> Iterator[Sequence[int]]:
    """Values as they are numbered: that is sound, too."""
    yield range(rows)


@pytest.mark.parametrize(
    ("values", "width", "luck"),
    [
        ([0, 0, 1, 1, 2, 2], 3, every_luck(3)),
        ([0, 0, 1, 1, 2, 2], 2, every_luck(3)),
        ([0, 0, 1, 1, 2, 3], 3, every_luck(4)),
        ([0, 1, 2, 3, 4], 3, one_luck),
        ([0, 0, 1, 2, 3], 2, every_luck(4)),
        ([0, 0, 0, 1, 1, 2, 3], 2, one_luck),
        ([0, 0, 1, 1, 2, 3, 4], 3, one_luck),
        ([0, 1, 2, 3, 4, 5], 3, one_luck),
    ],
)
def test_no_posterior_exceeds_what_is_promised(
    values: list[int], width: int, luck: Callable[[int], Iterator[Sequence[int]]]
) -> None:
    assert worst_posterior(values, width, dealt(width, luck)) == Fraction(1, width)


def test_groups_that_are_halved_keep_the_promise() -> None:
    values = [0, 1, 2, 3]
    begins = np.empty(5, np.int64)
    assert halve_safely(np.array(values, np.int32), np.array([0, 4]), 2, begins) == 2
    assert worst_posterior(values, 2, dealt(2, one_luck)) == Fraction(1, 2)
    values = [0, 0, 1, 1, 2, 2, 3, 3]
    assert halve_safely(np.array(values, np.int32), np.array([0, 8]), 2, np.empty(9, np.int64)) == 2


def printed(width: int) -> Splitter:
    """The paper's ring: one, ordered by values."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        yield Fraction(1), [in_arcs(np.array(values, np.int32), width).tolist()]

    return split


def test_the_ring_of_the_paper_gives_everything_away() -> None:
    assert worst_posterior([0, 0, 1, 1, 2, 2], 3, printed(3)) == 1
    assert worst_posterior([0, 0, 1, 1], 2, printed(2)) > Fraction(1, 2)


def split_by_neighbours(width: int) -> Splitter:
    """Rings of neighbours where their values differ, else all rows dealt out: what must not be done."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        half = len(values) // 2
        if len({*values[:half]}) == half and len({*values[half:]}) == len(values) - half:
            yield Fraction(1), [list(range(half)), list(range(half, len(values)))]
        else:
            yield from dealt(width, one_luck)(values)

    return split


def test_a_split_that_depends_on_where_values_lie_is_noticed() -> None:
    assert worst_posterior([0, 0, 1, 2, 3, 4], 3, split_by_neighbours(3)) > Fraction(1, 3)


@given(case=cases(sensitive=1, max_rows=30), l=st.integers(1, 3), k=st.integers(1, 4))
def test_every_value_occurs_once_in_a_ring(case: Case, l: int, k: int) -> None:  # noqa: E741
    census, width = case.census, ring_width(k, l)
    assert width >= k
    assert width % l == 0
    assert width - l < k
    try:
        rings = rings_of_different_values(
            census, 0, width=width, limit=census.rows, stream=new_stream(secret_key("test", 1))
        )
    except (SpecError, Unsatisfiable):
        assume(False)
        raise
    check_rings(census, rings, width)
    values = rings.combinations.values[rings.order, 0]
    for first, stop in pairwise(rings.starts.tolist()):
        assert stop - first < 2 * width
        assert len({*values[first:stop].tolist()}) == stop - first


def check_rings(census: Census, rings: Rings, width: int) -> None:
    """Every ring is large enough and within the boundaries; rows are lost only where a value is too common."""
    rows = census.codes[rings.tuples]
    for first, stop in pairwise(rings.starts.tolist()):
        assert stop - first >= width
        for a, quasi in enumerate(census.quasi):
            assert len({*quasi.hierarchy.ceilings[rows[first:stop, a]].tolist()}) == 1
    groups: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for c, weight in enumerate(rings.combinations.weights.tolist()):
        leaves = census.codes[rings.combinations.tuples[c]]
        limits = tuple(int(q.hierarchy.ceilings[leaf]) for q, leaf in zip(census.quasi, leaves, strict=True))
        groups[limits][int(rings.combinations.values[c, 0])] += weight
    lost = sum(part.total() for part in groups.values() if max(part.values()) * width > part.total())
    assert rings.suppressed.sum() == lost


@given(case=cases(sensitive=1, max_rows=30), l=st.integers(1, 3))
def test_as_printed_neighbours_differ(case: Case, l: int) -> None:  # noqa: E741
    census = case.census
    try:
        rings = rings_as_printed(census, 0, l=l, limit=census.rows, stream=new_stream(secret_key("test", 2)))
    except Unsatisfiable:
        assume(False)
        raise
    check_rings(census, rings, l)
    values = rings.combinations.values[rings.order, 0].tolist()
    for first, stop in pairwise(rings.starts.tolist()):
        ring = values[first:stop]
        for slot in range(len(ring)):
            assert len({ring[(slot + step) % len(ring)] for step in range(l)}) == l


def patients(illness: Sequence[str]) -> Census:
    """A census of as many ages as there are illnesses."""
    spec = Spec(
        attributes={"age": {"role": "quasi", "order": "numeric"}, "illness": {"role": "sensitive"}},
        privacy={"l": 2},
    )
    return count(pa.table({"age": list(range(len(illness))), "illness": list(illness)}), spec)


def test_what_cannot_be_dealt_out_is_refused() -> None:
    stream = new_stream(secret_key("test"))
    with pytest.raises(SpecError, match=r"'illness' has 2 values, but rings here need 3"):
        rings_of_different_values(patients("abab"), 0, width=3, stream=stream)
    with pytest.raises(Unsatisfiable, match="3 of 5 rows"):
        rings_of_different_values(patients("aaabc"), 0, width=2, stream=stream)


def test_equal_rows_are_shuffled_before_ties_are_broken() -> None:
    """Of rows with the same quasi-identifiers, each takes each place of the ring as often as the others."""
    spec = Spec(
        attributes={"town": {"role": "quasi", "hierarchy": "flat"}, "illness": {"role": "sensitive"}},
        privacy={"l": 3},
    )
    census = count(pa.table({"town": ["u", "v", "v", "v"], "illness": list("abcd")}), spec)
    stream, counts = new_stream(secret_key("test", 3)), Counter[tuple[int, int]]()
    for _ in range(6000):
        rings = rings_of_different_values(census, 0, width=3, stream=stream)
        values = rings.combinations.values[rings.order, 0].tolist()
        counts.update(enumerate(values))
    assert {place: [counts[place, v] for v in range(4)] for place in range(4)}[0] == [6000, 0, 0, 0]
    often = [counts[place, value] for place in (1, 2, 3) for value in (1, 2, 3)]
    assert sum((n - 2000) ** 2 / 2000 for n in often) < 35
