"""Rings for l-diversity as the paper has them. **Not sound**: for experiments only.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section 6.
"""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Census
from ringfence.kernels.secret import Stream, below
from ringfence.search.groups.orders import few_values_first
from ringfence.search.groups.ring import Rings
from ringfence.search.groups.ring_diversity import laid_out


def rings_as_printed(census: Census, attribute: int, *, l: int, limit: int = 0, stream: Stream) -> Rings:  # noqa: E741
    """Return rings in which every l neighbours have different values, as the paper has them. **Not sound.**

    Rows are parted by one attribute after the other, that with the fewest values first. On each level a part that is
    not l-diverse is merged with one that makes it so; if there is none, with random ones until it is. Parts in which
    rows differ in the attribute are parted no further. A part with more rows than there are sensitive values is split
    so that each value occurs once; any other is one ring, ordered so that no l neighbours share a value.

    All of that depends on sensitive values, and who knows this can rule out assignments; of a group with the values a,
    a, b, b, c, c and l = 3 he learns everything.

    The paper leaves open which partner a part is merged with (here the nearest along the order that will do), what a
    huge part is (here one in which some value must occur twice) and how it is split (here into as few as can be, the
    rows of each value dealt to them in turn along the order).
    """
    laid = laid_out(census, attribute, l, "lexicographic", limit, stream)
    tuples = laid.combined.tuples[laid.order]
    ranks = np.stack([quasi.ranks[census.codes[tuples, a]] for a, quasi in enumerate(census.quasi)], axis=1)
    ranks = ranks[:, few_values_first(census)]
    different = len(np.unique(laid.values))
    rings: list[Longs] = []
    for first, stop in zip(laid.bounds[:-1].tolist(), laid.bounds[1:].tolist(), strict=True):
        rows = np.arange(first, stop)
        for part in diverse_parts(ranks, laid.values, rows[np.lexsort(ranks[rows].T[::-1])], l, stream):
            if len(part) > different:
                rings += split_by_values(laid.values, part)
            else:
                rings.append(part[in_arcs(laid.values[part], l)])
    starts = np.cumsum([0, *map(len, rings)])
    return laid.rings(np.concatenate(rings), starts, l, np.full(len(rings), l))


def diverse_parts(ranks: Ints, values: Ints, rows: Longs, l: int, stream: Stream) -> list[Longs]:  # noqa: E741
    """Part rows in lexicographic order, `ranks[r]` with the first attribute first, into parts that are l-diverse."""
    found, waiting = [], [(rows, 0)]
    while waiting:
        rows, a = waiting.pop()
        begins = np.flatnonzero(np.diff(ranks[rows, a], prepend=-1))
        for part in _merged(values, np.split(rows, begins[1:]), l, stream):
            if a + 1 < ranks.shape[1] and (ranks[part, a] == ranks[part[0], a]).all():
                waiting.append((part, a + 1))
            else:
                found.append(part)
    return found


def _merged(values: Ints, parts: list[Longs], l: int, stream: Stream) -> list[Longs]:  # noqa: E741
    """Merge parts until each is l-diverse, as all of them together are."""
    names, codes = np.unique(np.concatenate([values[part] for part in parts]), return_inverse=True)
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    counts = np.zeros((len(parts), len(names)), np.int64)
    np.add.at(counts, (owner, codes), 1)
    alive = np.ones(len(parts), bool)
    for j in range(len(parts)):
        while alive[j] and counts[j].max() * l > counts[j].sum():
            others = np.flatnonzero(alive & (np.arange(len(parts)) != j))
            together = counts[others] + counts[j]
            helps = others[together.max(axis=1) * l <= together.sum(axis=1)]
            if len(helps):
                partner = int(helps[np.argmin(np.abs(helps - j))])
            else:
                partner = int(others[below(stream, len(others))])
            counts[j] += counts[partner]
            parts[j] = np.concatenate([parts[j], parts[partner]])
            alive[partner] = False
    return [parts[j] for j in np.flatnonzero(alive)]


def split_by_values(values: Ints, rows: Longs) -> list[Longs]:
    """Split rows into as few parts as there can be if each value is to occur once in each: n / l rows or more, each."""
    parts = int(np.bincount(values[rows]).max())
    stacked = rows[np.argsort(values[rows], kind="stable")]
    return [np.sort(stacked[first::parts]) for first in range(parts)]


def in_arcs(values: Ints, l: int) -> Longs:  # noqa: E741
    """Return an order of rows around a ring in which no l neighbours share a value; none has more than n // l rows."""
    arcs = len(values) // l
    counts = np.bincount(values)
    dealt = np.lexsort((np.arange(len(values)), values, -counts[values]))
    return dealt[np.lexsort((np.arange(len(values)) // arcs, np.arange(len(values)) % arcs))]
