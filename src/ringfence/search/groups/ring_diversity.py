"""Rings with l-diversity: nobody's sensitive value is told with a probability above 1/l, also to those who know how.

A ring in which every sensitive value occurs once keeps that promise: whoever is in it carries each of its `width` slots
with probability 1/width, and no two of them show the same value. What remains is that the choice of rings must not say
more. Two rules see to that.

1. Rows are parted along an order that looks at quasi-identifiers only, and whether a group is parted depends on nothing
   but how often each value occurs in the whole of it (`halve_safely`).
2. A group is dealt out into rings by values and by chance, without a look at quasi-identifiers.

Why that is enough: exchange the values of rows of one ring in any way. The counts in every group stay the same, so rule
1 parts alike; and by rule 2 the chance of dealing out these rings stays the same, since only the names of their rows
have changed. So, given the rings, all arrangements of values inside each are equally likely, and the draw of
who carries which slot does the rest. (The tests enumerate all arrangements and all draws of small tables.)
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Census
from ringfence.census.groups import Combinations, combinations
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.groups.deals import halve_safely, largest_shares
from ringfence.kernels.secret import Stream, fill_numbers
from ringfence.search.groups.ring import Order, Rings, lay_out, lexicographic_parts


@dataclass(frozen=True, eq=False)
class _Laid:
    """Rows along an order, equal ones shuffled: the combination of each, its sensitive value, and where the rows begin
    that may be published alike."""

    combined: Combinations
    order: Ints
    values: Ints
    bounds: Longs


def ring_width(k: int | None, l: int) -> int:  # noqa: E741  the literature's name
    """Return how many rows each slot covers: the least multiple of l that is at least k.

    >>> ring_width(None, 3), ring_width(3, 3), ring_width(10, 3)
    (3, 3, 12)
    """
    return -(-(k or 1) // l) * l


def rings_of_different_values(
    census: Census, attribute: int, *, width: int, order: Order = "nearest", limit: int = 0, stream: Stream
) -> Rings:
    """Return rings of `width` to below 2 `width` rows, in each of which every sensitive value occurs at most once.

    Parameters
    ----------
    census
        What was counted.
    attribute
        The position in `census.sensitive` of the attribute that is protected.
    width
        How many rows each slot covers, and so the least number of values in a ring.
    order
        As for `rings_by_quasi_identifiers`.
    limit
        How many rows may be suppressed: those of groups, within the boundaries, that cannot be dealt out.
    stream
        Where chance comes from: a keystream that nobody else knows.

    Raises
    ------
    SpecError
        If the attribute has fewer than `width` values.
    Unsatisfiable
        If a value is too common: more than one row in `width` has it.

    Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section
    6, has rings that are ordered by sensitive values, which tells who knows the algorithm more than it should
    (`rings_as_printed`). Both rules are ours.
    """
    part = census.sensitive[attribute]
    different = len(np.unique(part.values))
    if different < width:
        raise SpecError(
            f"{part.name!r} has {different} values, but rings here need {width} different ones: the least multiple of l"
            " that is at least k; allowed: a smaller l or k"
        )
    laid = _laid_out(census, attribute, width, order, limit, stream)
    chance, luck = np.empty(len(laid.order), np.int64), np.empty(len(laid.order), np.int64)
    fill_numbers(stream, chance)
    fill_numbers(stream, luck)
    ring = deal_out(laid.values, laid.bounds, width, chance, luck)
    arranged = np.argsort(ring, kind="stable")  # inside a ring as along the order, equal rows as shuffled
    starts = np.concatenate([[0], np.cumsum(np.bincount(ring))])
    return _rings(laid, arranged, starts, width)


def _laid_out(census: Census, attribute: int, width: int, order: Order, limit: int, stream: Stream) -> _Laid:
    """Put rows into an order, equal ones shuffled, and leave out groups that are lost within the boundaries."""
    combined = combinations(census, [attribute])
    tuples, bounds = lay_out(census, k=width, order=order, limit=limit)
    place = np.full(len(census.weights), -1)
    seen, first = np.unique(tuples, return_index=True)
    place[seen] = first
    rows = np.repeat(np.arange(len(combined.weights), dtype=np.int32), combined.weights)
    rows = rows[place[combined.tuples[rows]] >= 0]
    chance = np.empty(len(rows), np.int64)
    fill_numbers(stream, chance)
    rows = rows[np.lexsort((chance, place[combined.tuples[rows]]))]
    values = np.ascontiguousarray(combined.values[rows, 0])
    most = np.empty(len(bounds) - 1, np.int64)
    largest_shares(values, bounds, most)
    fails = most * width > np.diff(bounds)
    lost = int(np.diff(bounds)[fails].sum())
    if lost + census.rows - len(rows) > limit or lost == len(rows):
        name, worst = census.sensitive[attribute].name, int(np.argmax(most * width - np.diff(bounds)))
        raise Unsatisfiable(
            f"one value of {name!r} has {most[worst]} of {np.diff(bounds)[worst]} rows that may be published alike, but"
            f" for rings of {width} different values at most one row in {width} may have it"
        )
    kept = np.repeat(~fails, np.diff(bounds))
    sizes = np.diff(bounds)[~fails]
    return _Laid(combined, rows[kept], values[kept], np.concatenate([[0], np.cumsum(sizes)]))


def deal_out(values: Ints, bounds: Longs, width: int, chance: Longs, luck: Longs) -> Longs:
    """Return the ring of each row: groups are halved while that is safe, and dealt out into as many rings as can be.

    The rows of a group are stacked by value, values in the order of their `luck` and the rows of each in that of their
    `chance`, and dealt to its n // width rings in turn. No value has more rows than there are rings, so none comes to
    the same ring twice. `luck` needs a number for every value of every group; one for each row is always enough.
    """
    begins = np.empty(len(values) + 1, np.int64)
    groups = halve_safely(values, bounds, width, begins)
    sizes = np.diff(begins[: groups + 1])
    home = np.repeat(np.arange(groups), sizes)
    _, pair = np.unique(home * (int(values.max()) + 1) + values, return_inverse=True)
    stacked = np.lexsort((chance, luck[pair], home))
    turn = np.arange(len(home)) - np.repeat(begins[:groups], sizes)
    rings = sizes // width
    ring = np.empty(len(home), np.int64)
    ring[stacked] = (np.cumsum(rings) - rings)[home] + turn % rings[home]
    return ring


def rings_as_printed(census: Census, attribute: int, *, l: int, limit: int = 0, stream: Stream) -> Rings:  # noqa: E741
    """Return rings in which every l neighbours have different values, as the paper has them. **Not sound.**

    Parts of the lexicographic order that are not l-diverse are merged with the next. Each is one ring, ordered so that
    no l neighbours share a value: the values, by falling count, are dealt out row by row into n // l arcs of nearly the
    same length. That order depends on sensitive values, and who knows this can rule out assignments; of a group with
    the values a, a, b, b, c, c and l = 3 he learns everything. For experiments only.

    Wong, Mamoulis, Cheung 2010, section 6.
    """
    laid = _laid_out(census, attribute, l, "lexicographic", limit, stream)
    parts = lexicographic_parts(census, laid.combined.tuples[laid.order], laid.bounds, l)
    bounds = _merged_until_diverse(laid, parts, l)
    arranged = np.concatenate([first + in_arcs(laid.values[first:stop], l) for first, stop in pairwise(bounds)])
    return _rings(laid, arranged, bounds, l)


def _merged_until_diverse(laid: _Laid, parts: Longs, l: int) -> Longs:  # noqa: E741
    """Merge parts that are not l-diverse with the next, the last ones with those before, within the boundaries."""
    kept = [int(laid.bounds[0])]
    counts: dict[int, int] = {}
    for first, stop in zip(parts[:-1].tolist(), parts[1:].tolist(), strict=True):
        for value in laid.values[first:stop].tolist():
            counts[value] = counts.get(value, 0) + 1
        if max(counts.values()) * l <= stop - kept[-1]:
            kept.append(stop)
            counts = {}
        elif stop in laid.bounds:  # no part is left here: go back until all of it together holds, as the whole does
            while max(counts.values()) * l > stop - kept[-1]:
                before = kept.pop()
                for value in laid.values[kept[-1] : before].tolist():
                    counts[value] = counts.get(value, 0) + 1
            kept.append(stop)
            counts = {}
    return np.array(kept, np.int64)


def in_arcs(values: Ints, l: int) -> Longs:  # noqa: E741
    """Return an order of rows around a ring in which no l neighbours share a value; none has more than n // l rows."""
    arcs = len(values) // l
    counts = np.bincount(values)
    dealt = np.lexsort((np.arange(len(values)), values, -counts[values]))
    return dealt[np.lexsort((np.arange(len(values)) // arcs, np.arange(len(values)) % arcs))]


def _rings(laid: _Laid, arranged: Longs, starts: Longs, width: int) -> Rings:
    order = laid.order[arranged]
    gone = laid.combined.weights - np.bincount(order, minlength=len(laid.combined.weights))
    return Rings(laid.combined, order, starts, width, gone)
