"""Orders of the distinct tuples of a census, in which neighbours are alike. They look at quasi-identifiers only."""

from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census
from ringfence.kernels.groups.hilbert_curve import transpose_to_curve
from ringfence.kernels.groups.neighbours import look_around
from ringfence.kernels.groups.oropt import shorten
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.progress import Watch

BITS_A_WORD = 62
MOST_BITS = 16
NEIGHBOURS, REACH = 12, 4
SWEEPS = 20
TO_LOOK_AROUND = 0.25
"""The share of the time after which no more neighbours are looked for."""


def hilbert_order(census: Census) -> Longs:
    """Return the tuples in the order in which a Hilbert curve passes them.

    Each attribute is a dimension, its values in their order (that of the hierarchy if there is no other), scaled so
    that all domains are equally wide: else an attribute of few values would be in a corner of the curve. Tuples at the
    same place stand as the census has them.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> number = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "rows": [1, 1, 1, 1]})
    >>> census = take_census(counted, Spec(attributes={"x": number, "y": number}), "rows")
    >>> census.codes[hilbert_order(census)].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 0]]

    Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, section 5.
    """
    widest = max(quasi.hierarchy.leaves for quasi in census.quasi)
    bits = min(MOST_BITS, max(1, (widest - 1).bit_length()))
    last = (1 << bits) - 1
    scaled = [_digits(census, a) * last // max(1, quasi.hierarchy.leaves - 1) for a, quasi in enumerate(census.quasi)]
    points = np.stack(scaled, axis=1)
    transpose_to_curve(points, bits)
    digits = [(points[:, a] >> bit) & 1 for bit in reversed(range(bits)) for a in range(points.shape[1])]
    words = []
    for begin in range(0, len(digits), BITS_A_WORD):
        word = np.zeros(len(points), np.int64)
        for digit in digits[begin : begin + BITS_A_WORD]:
            word = 2 * word + digit
        words.append(word)
    return np.lexsort(words[::-1])


def gray_order(census: Census) -> Longs:
    """Return the tuples in a lexicographic order that turns back instead of jumping.

    Attributes with few values come first, since a difference there costs most. In every other block of equal first
    values, the next attribute runs backwards, so that neighbours across blocks differ as little as they can: a Gray
    code, as far as the tuples that occur allow.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> number = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"x": [0, 0, 0, 1, 1, 1], "y": [0, 1, 2, 0, 1, 2], "rows": [1] * 6})
    >>> census = take_census(counted, Spec(attributes={"x": number, "y": number}), "rows")
    >>> census.codes[gray_order(census)].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 2], [1, 1], [1, 0]]

    Few values first: Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing.
    SIGMOD 2010, section 5.3.1. Turning back is ours.
    """
    block = np.zeros(len(census.weights), np.int64)
    for a in few_values_first(census):
        leaves = census.quasi[a].hierarchy.leaves
        digit = _digits(census, a)
        digit = np.where(block % 2 == 1, leaves - 1 - digit, digit)
        block = np.unique(block * leaves + digit, return_inverse=True)[1]
    return np.argsort(block, kind="stable")


def few_values_first(census: Census) -> list[int]:
    """Return the attributes by rising number of values: a difference in one of few values costs most."""
    return sorted(range(len(census.quasi)), key=lambda a: census.quasi[a].occurring)


def _digits(census: Census, a: int) -> Longs:
    """Return the place of each tuple in the order of an attribute."""
    return census.quasi[a].ranks[census.codes[:, a]].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For each tuple some tuples near it, nearest first, and their distances; -1 and infinity where there are fewer."""

    near: Ints
    losses: Floats


def neighbours(
    census: Census, space: Geometry, blocks: Ints, count: int = NEIGHBOURS, watch: Watch | None = None
) -> Neighbours:
    """Return for each tuple up to so many of the nearest of its block.

    Tuples that differ in one attribute stand close in the lexicographic order that looks at this attribute last. So the
    next few in each such order are compared, and the nearest kept: no more work than sorting, and nearly as good as
    comparing all with all. Under a time limit, no further order is looked at when a share of the time is gone.
    """
    tuples = len(census.weights)
    found = Neighbours(np.full((tuples, count), -1, np.int32), np.full((tuples, count), np.inf))
    reach = REACH * count // NEIGHBOURS
    attributes = few_values_first(census)
    digits = {a: _digits(census, a) for a in attributes}
    for last in attributes:
        if watch is not None and watch.spent(TO_LOOK_AROUND) and last != attributes[0]:
            break
        key, span = blocks.astype(np.int64), int(blocks.max()) + 1
        for a in [*(a for a in attributes if a != last), last]:
            leaves = census.quasi[a].hierarchy.leaves
            if span * leaves > 2**BITS_A_WORD:
                known, key = np.unique(key, return_inverse=True)
                span = len(known)
            key, span = key * leaves + digits[a], span * leaves
        look_around(space, np.argsort(key, kind="stable"), blocks, reach, found.near, found.losses)
    return found


def improved_order(space: Geometry, order: Longs, found: Neighbours, watch: Watch | None = None) -> Longs:
    """Return an order made shorter by moving runs of up to three tuples next to one of their neighbours (Or-opt).

    The length of an order is what neighbours lose when they are published together, added up. Where there was no time
    to look for more neighbours, every tuple is tried once.
    """
    shorter = order.astype(np.int64)
    hurried = watch is not None and watch.spent(TO_LOOK_AROUND)
    shorten(space, shorter, found.near, found.losses, 1 if hurried else SWEEPS)
    return shorter
