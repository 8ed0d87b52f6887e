"""Rings in plain Python, from their definitions: what kernels and searches must agree with."""

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
