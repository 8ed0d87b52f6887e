"""Rings in plain Python, from their definitions: what kernels and searches must agree with."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from ringfence.census.census import Census
from ringfence.census.covers import Representation
from tests.census.test_covers import cell_cost, expected_cover

Row = tuple[int, ...]


def windows(ring: Sequence[Row], k: int) -> list[list[Row]]:
    """The rows that each slot of a ring covers."""
    return [[ring[(slot + step) % len(ring)] for step in range(k)] for slot in range(len(ring))]


def cover_of(census: Census, rows: Sequence[Row], representation: Representation) -> list[set[int]]:
    """The leaves that each attribute shows for some rows published together."""
    return [expected_cover(quasi, {row[a] for row in rows}, representation) for a, quasi in enumerate(census.quasi)]


def gcp_of(census: Census, rows: Sequence[Row], representation: Representation) -> Fraction:
    """Definition 8 for one published row."""
    total = Fraction(0)
    for quasi, covered in zip(census.quasi, cover_of(census, rows, representation), strict=True):
        occurring = sum(int(quasi.rows[leaf] > 0) for leaf in covered)
        total += Fraction(max(occurring - 1, 0), max(quasi.occurring - 1, 1))
    return total / len(census.quasi)


def glm_of(census: Census, rows: Sequence[Row], representation: Representation) -> Fraction:
    """The general loss of one published row."""
    covers = cover_of(census, rows, representation)
    total = sum(
        quasi.weight * cell_cost("glm", quasi, covered) for quasi, covered in zip(census.quasi, covers, strict=True)
    )
    return Fraction(total / sum(quasi.weight for quasi in census.quasi))


LOSSES = {"gcp": gcp_of, "glm": glm_of}


def ring_loss(
    census: Census, ring: Sequence[Row], k: int, representation: Representation, metric: str = "gcp"
) -> Fraction:
    """What the rows of a ring lose together."""
    return sum((LOSSES[metric](census, window, representation) for window in windows(ring, k)), Fraction(0))


def cuts(rows: int, least: int, most: int) -> Iterator[list[int]]:
    """Every way to cut so many rows into rings of `least` to `most`: their sizes."""
    if rows == 0:
        yield []
    for size in range(least, min(rows, most) + 1):
        for rest in cuts(rows - size, least, most):
            yield [size, *rest]


def parts_as_printed(rows: list[Row], k: int, a: int = 0) -> list[list[Row]]:
    """Fig. 8: rows in lexicographic order, parted by one attribute after the other."""
    parts: list[list[Row]] = []
    for row in rows:
        if parts and parts[-1][-1][a] == row[a]:
            parts[-1].append(row)
        else:
            parts.append([row])
    i = 0
    while i < len(parts):
        if len(parts[i]) >= k or len(parts) == 1:
            i += 1
            continue
        sizes = {n: len(parts[n]) for n in (i - 1, i + 1) if 0 <= n < len(parts)}
        neighbour = max(sizes, key=lambda n: (sizes[n], n < i))
        lacking = k - len(parts[i])
        if sizes[neighbour] - lacking >= k:
            if neighbour < i:
                parts[i] = parts[neighbour][-lacking:] + parts[i]
                parts[neighbour] = parts[neighbour][:-lacking]
            else:
                parts[i] += parts[neighbour][:lacking]
                parts[neighbour] = parts[neighbour][lacking:]
            i += 1
        else:
            low = min(i, neighbour)
            parts[low : low + 2] = [parts[low] + parts[low + 1]]
            i = low
    found = []
    for part in parts:
        last = a + 1 == len(rows[0]) or part[0][a] != part[-1][a]
        found += [part] if last else parts_as_printed(part, k, a + 1)
    return found


def sizes_of(starts: Sequence[int]) -> list[int]:
    """The sizes of what begins at some places."""
    return [stop - first for first, stop in pairwise(starts)]


UNIT = 1024
Part = tuple[tuple[int, ...], int]
"""Rows that are dealt out together, and the width of their rings."""


def soft_cuts(
    ranks: Sequence[Sequence[int]], values: Sequence[int], width: int, need: float
) -> list[tuple[Fraction, tuple[Part, ...]]]:
    """Every way in which rows can be parted by soft cuts, with its chance. What is lost is the number of values."""
    return _parted(tuple(range(len(values))), (width - 1) * UNIT, frozenset(), ranks, values, need)


def _parted(
    rows: tuple[int, ...],
    price: int,
    barred: frozenset[int],
    ranks: Sequence[Sequence[int]],
    values: Sequence[int],
    need: float,
) -> list[tuple[Fraction, tuple[Part, ...]]]:
    n, most = len(rows), _commonest(rows, values)
    found: list[tuple[Fraction, tuple[Part, ...]]] = []
    chance = Fraction(1)  # that everything so far was refused

    def both(first: tuple[int, ...]) -> list[tuple[Fraction, tuple[Part, ...]]]:
        second = tuple(row for row in rows if row not in first)
        return [
            (p * q, left + right)
            for p, left in _parted(first, price, barred, ranks, values, need)
            for q, right in _parted(second, price, barred, ranks, values, need)
        ]

    base = price // UNIT + (price % UNIT > 0) + 1
    cuts = _cuts(rows, ranks, base) if n >= 2 * base else []
    for a, first in cuts:
        base = price // UNIT + (price % UNIT > 0) + 1
        low = min(len(first), n - len(first))
        if most <= low // base:
            return found + [(chance * p, parts) for p, parts in both(first)]
        higher = _tried_at(price, n, most, low, need)
        if a in barred or higher == price:
            continue
        second = [row for row in rows if row not in first]
        room = min(len(first) // base - _commonest(first, values), len(second) // base - _commonest(second, values))
        refused = Fraction(price, higher) ** (room + 1) if room >= 0 else Fraction(1)
        if refused < 1:
            found += [(chance * (1 - refused) * p, parts) for p, parts in both(first)]
        chance, price, barred = chance * refused, higher, barred | {a}
    base = price // UNIT + (price % UNIT > 0) + 1
    if n >= 2 * base and most <= n // 2 // base:
        return found + [(chance * p, parts) for p, parts in both(rows[: n // 2])]
    return [*found, (chance, ((rows, base),))]


def _commonest(rows: Sequence[int], values: Sequence[int]) -> int:
    return max(Counter(values[row] for row in rows).values())


def _tried_at(price: int, n: int, most: int, low: int, need: float) -> int:
    base = price // UNIT + (price % UNIT > 0) + 1
    room = low * (1 / base - most / n) / 2
    for width in range(price // UNIT + 2, n // most + 1) if room > 0 else ():
        top = (width - 1) * UNIT
        if math.log(top / price) * room >= need:
            return max(price + 1, min(top, math.ceil(max(price * math.exp(need / room), math.sqrt(price * top)))))
    return price


def _cuts(rows: tuple[int, ...], ranks: Sequence[Sequence[int]], width: int) -> list[tuple[int, tuple[int, ...]]]:
    """The first part of the middlemost cut of each attribute, those that gain most first."""
    found = []
    for a in range(len(ranks[0])):
        firsts = [
            tuple(row for row in rows if ranks[row][a] <= value) for value in sorted({ranks[row][a] for row in rows})
        ]
        firsts = [first for first in firsts if min(len(first), len(rows) - len(first)) >= width]
        if firsts:
            first = min(firsts, key=lambda first: abs(2 * len(first) - len(rows)))
            second = tuple(row for row in rows if row not in first)
            after = _expected(first, ranks, width) + _expected(second, ranks, width)
            gained = _expected(rows, ranks, width) - after
            if gained > 0:  # what is gained counts by the fourth root of the smaller part's share
                found.append((-(gained**4) * min(len(first), len(second)) / len(rows), a, first))
    return [(a, first) for _, a, first in sorted(found)]


def _expected(rows: Sequence[int], ranks: Sequence[Sequence[int]], width: int) -> Fraction:
    """What rows lose together if random ones of them are published together: values beyond the first."""
    different = Fraction(0)
    for a in range(len(ranks[0])):
        for count in Counter(ranks[row][a] for row in rows).values():
            different += 1 - Fraction(math.comb(len(rows) - count, width), math.comb(len(rows), width))
        different -= 1
    return different * len(rows)
