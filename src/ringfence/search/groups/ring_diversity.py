"""Rings with l-diversity: nobody's sensitive value is told with a probability above 1/l, also to those who know how.

A ring in which every sensitive value occurs once keeps that promise: whoever is in it carries each of the slots that he
may carry with the same probability, and no two of them show the same value. What remains is that the choice of rings
must not say more than their width allows for. Two rules see to that.

1. Rows are parted by quasi-identifiers alone. Whether they are, depends on how often each value occurs in the whole of
   a group, or on a *soft* test of its parts; who is in a group that failed one gets a wider ring (`soft_cuts`, with the
   proof).
2. A group is dealt out into rings by values and by chance, without a look at quasi-identifiers.

Rule 2 does not tell where values lie inside a ring: exchange the values of its rows in any way, and the chance of
dealing out these rings stays the same, since only the names of their rows have changed. (The tests enumerate all
arrangements and all draws of small tables.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Census
from ringfence.census.covers import Representation, by_attribute
from ringfence.census.groups import Combinations, combinations
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.groups.deals import largest_shares
from ringfence.kernels.groups.soft_cuts import NEED, RingGround, cut_softly
from ringfence.kernels.secret import Stream, fill_numbers
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.ring import Order, Rings, lay_out, line_of, occurring_ranks


@dataclass(frozen=True, eq=False)
class Laid:
    """Rows along an order, equal ones shuffled: the combination of each, its sensitive value, and where the rows begin
    that may be published alike."""

    combined: Combinations
    order: Ints
    values: Ints
    bounds: Longs

    def rings(self, arranged: Longs, starts: Longs, width: int, widths: Longs) -> Rings:
        """Return rings of these rows, arranged as they lie in them."""
        order = self.order[arranged]
        gone = self.combined.weights - np.bincount(order, minlength=len(self.combined.weights))
        return Rings(self.combined, order, starts, width, widths, gone)


def ring_width(k: int | None, l: int) -> int:  # noqa: E741  the literature's name
    """Return how many rows each slot covers: the least multiple of l that is at least k.

    >>> ring_width(None, 3), ring_width(3, 3), ring_width(10, 3)
    (3, 3, 12)
    """
    return -(-(k or 1) // l) * l


def rings_of_different_values(
    census: Census,
    attribute: int,
    *,
    width: int,
    order: Order = "nearest",
    representation: Representation | Sequence[Representation] = "set",
    metric: Kept = "gcp",
    limit: int = 0,
    need: float = NEED,
    stream: Stream,
) -> Rings:
    """Return rings in each of which every sensitive value occurs at most once; they have less than twice their width.

    Rings are `width` wide, or wider where a cut was refused: then as wide as the promise needs.

    Parameters
    ----------
    census
        What was counted.
    attribute
        The position in `census.sensitive` of the attribute that is protected.
    width
        One over the probability that is promised, and so the least number of values in a ring.
    order
        As for `rings_by_quasi_identifiers`; rows lie so inside a ring, and where no attribute can be cut.
    representation, metric
        What a cell shows, and the loss that is kept small by the choice of cuts.
    limit
        How many rows may be suppressed: those of groups, within the boundaries, that cannot be dealt out.
    need
        How sure a cut must look before it is tried. Any number is sound, if it was chosen without a look at the table.
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
    laid = laid_out(census, attribute, width, order, limit, stream)
    rows, widths = np.empty(len(laid.order), np.int64), np.empty(len(laid.order), np.int64)
    ground = ground_of(census, laid.combined.tuples[laid.order], representation, metric)
    cut_softly(ground, laid.values, laid.bounds, width, need, stream, rows, widths)
    chance, luck = np.empty(len(laid.order), np.int64), np.empty(len(laid.order), np.int64)
    fill_numbers(stream, chance)
    fill_numbers(stream, luck)
    begins = np.flatnonzero(widths)
    ring, ring_widths = deal_out(laid.values[rows], begins, widths[begins], chance, luck)
    arranged = rows[np.argsort(ring, kind="stable")]  # inside a ring as along the order, equal rows as shuffled
    starts = np.concatenate([[0], np.cumsum(np.bincount(ring))])
    return laid.rings(arranged, starts, width, ring_widths)


def ground_of(
    census: Census, tuples: Ints, representation: Representation | Sequence[Representation], metric: Kept
) -> RingGround:
    """Return where rows of these tuples lie, and what they lose together, averaged over attributes.

    Where ranges are shown, that is how far the outermost are apart; under a hierarchy likewise, in the order of its
    leaves, which comes near enough to choose a cut by.
    """
    shares = np.array([quasi.weight if metric == "glm" else 1.0 for quasi in census.quasi])
    shares /= shares.sum()
    shown = by_attribute(census, representation)
    spread = [shown[a] != "set" or (quasi.numeric and metric == "glm") for a, quasi in enumerate(census.quasi)]
    ranks = np.zeros((len(tuples), len(shown)), np.int32)
    places = np.zeros((len(shown), max(quasi.occurring for quasi in census.quasi)))
    for a, quasi in enumerate(census.quasi):
        place = occurring_ranks(quasi)
        ranks[:, a] = place[census.codes[tuples, a]]
        occurs = np.flatnonzero(quasi.rows > 0)
        places[a, place[occurs]] = shares[a] * line_of(quasi, metric)[occurs]
    steps = shares / np.maximum(1, [quasi.occurring - 1 for quasi in census.quasi])
    return RingGround(ranks, steps, np.array(spread), places)


def laid_out(census: Census, attribute: int, width: int, order: Order, limit: int, stream: Stream) -> Laid:
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
    return Laid(combined, rows[kept], values[kept], np.concatenate([[0], np.cumsum(sizes)]))


def deal_out(values: Ints, begins: Longs, widths: Longs, chance: Longs, luck: Longs) -> tuple[Longs, Longs]:
    """Return the ring of each row, and the width of each ring: every group is dealt out into as many as can be.

    Group g has the rows from `begins[g]` on. They are stacked by value, values in the order of their `luck` and the
    rows of each in that of their `chance`, and dealt to its n // `widths[g]` rings in turn. No value has more rows than
    there are rings, so none comes to the same ring twice. `luck` needs a number for every value of every group; one for
    each row is always enough.
    """
    sizes = np.diff([*begins, len(values)])
    home = np.repeat(np.arange(len(begins)), sizes)
    _, pair = np.unique(home * (int(values.max()) + 1) + values, return_inverse=True)
    stacked = np.lexsort((chance, luck[pair], home))
    turn = np.arange(len(home)) - np.repeat(begins, sizes)
    rings = sizes // widths
    ring = np.empty(len(home), np.int64)
    ring[stacked] = (np.cumsum(rings) - rings)[home] + turn % rings[home]
    return ring, np.repeat(widths, rings)
