"""Rings of different sensitive values: what they are, and what someone who knows everything but the draws can tell.

The adversary knows every quasi-identifier, the algorithm, and how often each value occurs; he sees the rings, and which
value each slot shows. All arrangements of values are equally likely to him at first. For tiny tables, every arrangement
and every draw is carried out, and what he thinks of each row afterwards is read off.
"""

import math
import os
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
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.search.groups.ring import Rings
from ringfence.search.groups.ring_diversity import deal_out, ring_width, rings_of_different_values
from ringfence.search.groups.ring_printed import in_arcs, rings_as_printed
from ringfence.spec import Spec
from tests.rings import Part, soft_cuts
from tests.tables import Case, cases, count

Split = list[tuple[list[int], int]]
"""The rows of each ring, in its order, and how many of them its slots cover."""
Splitter = Callable[[Sequence[int]], Iterator[tuple[Fraction, Split]]]
"""All ways, with their chances, to make rings of rows with these values."""


def worst_posterior(values: Sequence[int], splitter: Splitter) -> Fraction:
    """The highest probability with which the adversary can come to know a value of a row.

    A ring is drawn by one of as many rotations as it is wide, each as likely: they share no match and use all. Slots
    that cover the whole ring look all the same.
    """
    seen: dict[Any, dict[tuple[int, ...], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for arrangement in sorted(set(permutations(values))):
        for chance, split in splitter(arrangement):
            ways = [range(width) if len(ring) > width else range(1) for ring, width in split]
            each = chance / math.prod(map(len, ways))
            for turns in product(*ways):
                view = []
                for (ring, width), turn in zip(split, turns, strict=True):
                    shown = tuple(arrangement[ring[(slot + turn) % len(ring)]] for slot in range(len(ring)))
                    view.append((tuple(ring), width, shown if len(ring) > width else tuple(sorted(shown))))
                seen[tuple(sorted(view))][arrangement] += each
    worst = Fraction(0)
    for arrangements in seen.values():
        unit = math.lcm(*(chance.denominator for chance in arrangements.values()))
        whole = Counter({arrangement: int(chance * unit) for arrangement, chance in arrangements.items()})
        for row in range(len(values)):
            chances: Counter[int] = Counter()
            for arrangement, units in whole.items():
                chances[arrangement[row]] += units
            worst = max(worst, Fraction(max(chances.values()), whole.total()))
    return worst


def orders_by_value(values: Sequence[int]) -> Iterator[npt.NDArray[np.int64]]:
    """Numbers for rows, in every order that the rows of one value can have among themselves."""
    rows = [[row for row, value in enumerate(values) if value == each] for each in sorted(set(values))]
    for orders in product(*(permutations(range(len(part))) for part in rows)):
        numbers = np.zeros(len(values), np.int64)
        for part, order in zip(rows, orders, strict=True):
            numbers[part] = order
        yield numbers


Lucky = Callable[[int], Iterator[Sequence[int]]]
"""Yields the numbers of values that are tried for so many rows."""


def dealt(width: int, lucky: Lucky, ranks: Sequence[Sequence[int]] | None = None, need: float = 0.0) -> Splitter:
    """Rings as they are made here, by every chance: parted as `ranks` have it, or not at all."""
    return parted_and_dealt(
        lambda values: (
            [(Fraction(1), ((tuple(range(len(values))), width),))]
            if ranks is None
            else soft_cuts(ranks, values, width, need)
        ),
        lucky,
    )


def parted_and_dealt(
    parted: Callable[[Sequence[int]], Sequence[tuple[Fraction, tuple[Part, ...]]]], lucky: Lucky
) -> Splitter:
    """Rings of the parts that rows fall into, by every chance."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        lucks, chances = list(lucky(len(values))), list(orders_by_value(values))
        for likely, parts in parted(values):
            rows = np.concatenate([part for part, _ in parts])
            begins = np.cumsum([0, *(len(part) for part, _ in parts[:-1])])
            each, array = np.array([width for _, width in parts]), np.array(values, np.int32)[rows]
            for luck, chance in product(lucks, chances):
                ring, widths = deal_out(array, begins, each, chance[rows], np.array(luck))
                split = [(np.sort(rows[ring == r]).tolist(), int(width)) for r, width in enumerate(widths)]
                yield likely / (len(lucks) * len(chances)), split

    return split


def every_luck(different: int) -> Lucky:
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
def test_no_posterior_exceeds_what_is_promised(values: list[int], width: int, luck: Lucky) -> None:
    assert worst_posterior(values, dealt(width, luck)) == Fraction(1, width)


LONG = pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "long", reason="takes half a minute: make test-long")
ALONE = [[0], [0], [1], [1], [1], [1]]
"""Quasi-identifiers: one cut, of which the smaller part cannot take all."""
TWO = [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 2]]
"""Two cuts: if the first is refused, the second is tried; of seven rows one ring is longer than it is wide."""
NESTED = [[0, 2], [0, 2], [1, 0], [1, 1], [1, 2], [1, 2], [1, 2], [1, 2]]
"""Parts that are cut softly are cut softly again."""
EVEN = [[0], [0], [0], [0], [1], [1], [1], [1]]


@pytest.mark.parametrize(
    ("ranks", "values", "width", "luck"),
    [
        (ALONE, [0, 0, 1, 1, 2, 3], 2, every_luck(4)),
        (ALONE, [0, 0, 1, 1, 2, 2], 2, every_luck(3)),
        (TWO, [0, 0, 1, 1, 2, 3, 4], 2, one_luck),
        (TWO, [0, 0, 1, 1, 2, 2, 3], 2, one_luck),
        pytest.param(NESTED, [0, 0, 1, 1, 2, 2, 3, 3], 2, one_luck, marks=LONG),
        (EVEN, [0, 0, 1, 1, 2, 3, 4, 5], 3, one_luck),
    ],
)
def test_soft_cuts_keep_the_promise(ranks: list[list[int]], values: list[int], width: int, luck: Lucky) -> None:
    """Every arrangement of values, every cut that is made or refused, every deal and every draw."""
    assert worst_posterior(values, dealt(width, luck, ranks)) == Fraction(1, width)


@pytest.mark.parametrize(("ranks", "values"), [(ALONE, [0, 0, 1, 1, 2, 3]), (TWO, [0, 0, 1, 1, 2, 3, 4])])
def test_soft_cuts_without_wider_rings_are_noticed(ranks: list[list[int]], values: list[int]) -> None:
    """What must not be done: who is in a group where a cut was refused gets a ring like any other."""

    def narrow(values: Sequence[int]) -> list[tuple[Fraction, tuple[Part, ...]]]:
        cuts = soft_cuts(ranks, values, 2, 0.0)
        return [(chance, tuple((part, 2) for part, _ in parts)) for chance, parts in cuts]

    assert worst_posterior(values, parted_and_dealt(narrow, one_luck)) > Fraction(1, 2)


def test_cuts_that_are_made_whenever_they_can_be_are_noticed() -> None:
    """What must not be done: only cuts that cannot be made are refused."""

    def hard(values: Sequence[int]) -> list[tuple[Fraction, tuple[Part, ...]]]:
        cuts = soft_cuts(ALONE, values, 2, 0.0)
        made = next((parts for _, parts in cuts if len(parts) > 1), cuts[-1][1])
        return [(Fraction(1), tuple((part, 2) for part, _ in made))]

    assert worst_posterior([0, 0, 1, 1, 2, 3], parted_and_dealt(hard, one_luck)) == 1


def printed(width: int) -> Splitter:
    """The paper's ring: one, ordered by values."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        yield Fraction(1), [(in_arcs(np.array(values, np.int32), width).tolist(), width)]

    return split


def test_the_ring_of_the_paper_gives_everything_away() -> None:
    assert worst_posterior([0, 0, 1, 1, 2, 2], printed(3)) == 1
    assert worst_posterior([0, 0, 1, 1], printed(2)) > Fraction(1, 2)


def split_by_neighbours(width: int) -> Splitter:
    """Rings of neighbours where their values differ, else all rows dealt out: what must not be done."""

    def split(values: Sequence[int]) -> Iterator[tuple[Fraction, Split]]:
        half = len(values) // 2
        if len({*values[:half]}) == half and len({*values[half:]}) == len(values) - half:
            yield Fraction(1), [(list(range(half)), width), (list(range(half, len(values))), width)]
        else:
            yield from dealt(width, one_luck)(values)

    return split


def test_a_split_that_depends_on_where_values_lie_is_noticed() -> None:
    assert worst_posterior([0, 0, 1, 2, 3, 4], split_by_neighbours(3)) > Fraction(1, 3)


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
    for (first, stop), wide in zip(pairwise(rings.starts.tolist()), rings.widths.tolist(), strict=True):
        assert width <= wide <= stop - first < 2 * wide
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
    for _ in range(3000):
        rings = rings_of_different_values(census, 0, width=3, order="gray", stream=stream)
        values = rings.combinations.values[rings.order, 0].tolist()
        counts.update(enumerate(values))
    assert {place: [counts[place, v] for v in range(4)] for place in range(4)}[0] == [3000, 0, 0, 0]
    often = [counts[place, value] for place in (1, 2, 3) for value in (1, 2, 3)]
    assert sum((n - 1000) ** 2 / 1000 for n in often) < 35
