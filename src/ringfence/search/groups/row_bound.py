"""The row bound: what no release can go below in which every row is published like k rows of its block, or not at all.

Let m be the least that a row can lose in any group of k rows. In every release the row loses at least that: its label
covers the values of k rows, its own among them, and no label of fewer values loses more; suppressed it loses 1, which
is no less. So the mean of m over all rows is a lower bound, for groups and for rings, with any models beside k.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.census.census import Census
from ringfence.census.covers import Representation
from ringfence.kernels.groups.row_bounds import Sorted, least_losses
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept, layout_of, space_of
from ringfence.search.groups.line import Request, RowLine, line_up, request
from ringfence.search.groups.orders import gray_order, improved_order, neighbours
from ringfence.search.progress import Watch

FEW_TRIED, MOST_TRIED = 1_000, 15_000
"""How many combinations are tried for a row, first for all, then for those that are left: over k, since each takes
longer in larger groups."""
WORK = {"fast": 40_000_000, "good": 200_000_000, "best": 800_000_000}
"""How much work is done at most (`least_losses`), by the effort of the search: some ten seconds for the most. The rows
that seem to lose most come first; those that are not reached count nothing."""
USUAL_TUPLES, MOST_TIMES, MOST_TUPLES = 10_000, 4, 500_000
"""With more tuples there is more work, in proportion, up to so many times. Beyond half a million none is looked at."""
EASY = 5
"""Groups of more rows are tried only after those of so many, of which all combinations can be tried: a group of k rows
has in it one of fewer with the same row, which loses no more. So what holds for fewer rows holds for k."""
AT_ONCE = 100
TO_BEGIN = 1e-4
"""Seconds for each tuple that a bound takes before its first row, about: what comes before is a search of its own."""
ROUNDING = 1e-9


def row_bound(
    census: Census,
    k: int,
    representation: Representation | Sequence[Representation],
    loss: Kept,
    watch: Watch,
    effort: str = "good",
) -> float:
    """Return what no release of groups of k rows or more can go below by a loss, published in a representation.

    A number or a day that is missing has no place on its line; attributes with such values that are published as ranges
    or lose their width count nothing here.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> counted = pa.table({"age": [20, 21, 29, 30, 40], "rows": [1] * 5})
    >>> census = take_census(counted, Spec(attributes={"age": {"role": "quasi", "order": "numeric"}}), "rows")
    >>> round(row_bound(census, 2, "range", "glm", Watch()), 6)  # (1 + 1 + 1 + 1 + 10) / 20 / 5
    0.14
    """
    if len(census.weights) > MOST_TUPLES or _is_late(watch, len(census.weights)):
        return 0.0
    wanted = request(census, GroupsAsked(k, (1,) * len(census.sensitive), limit=census.rows))
    space = _without_gaps(census, space_of(census, representation, loss), representation, loss)
    order, alike = _sorted(census, representation, loss)
    near = neighbours(census, space, wanted.blocks)
    line = line_up(wanted, improved_order(space, gray_order(census), near))
    blocks, weights = wanted.blocks[order], census.weights[order]
    there = space._replace(ends=space.ends[order], words=space.words[order])
    found, done = np.where(blocks < 0, 1.0, 0.0), 0
    work = WORK[effort] * min(MOST_TIMES, max(1.0, len(order) / USUAL_TUPLES))
    for rows in (EASY, wanted.k) if wanted.k > EASY else (wanted.k,):
        most = _known(replace(wanted, k=rows), line, space)[order]
        for limit in (FEW_TRIED // rows, MOST_TRIED // rows):
            asking = np.flatnonzero((blocks >= 0) & (weights < rows) & (most > found))
            asking = asking[np.argsort(most[asking], kind="stable")]
            tried = np.zeros(len(found))
            for begin in range(0, len(asking), AT_ONCE):
                if watch.expired() or done > work:
                    break
                part = asking[begin : begin + AT_ONCE].astype(np.int64)
                done += least_losses(there, alike, blocks, weights, rows, part, most, limit, tried)
            found = np.maximum(found, tried)
    return float(weights @ np.minimum(found, 1.0)) / census.rows * (1 - ROUNDING)


def _is_late(watch: Watch, tuples: int) -> bool:
    """Whether too little is left of the time of a search for a bound to be begun: it would be cut short."""
    return watch.time_limit is not None and watch.time_limit - watch.seconds < TO_BEGIN * tuples


def _without_gaps(
    census: Census, space: Geometry, representation: Representation | Sequence[Representation], loss: Kept
) -> Geometry:
    """Return a space in which lines with missing values lose nothing: no place there is theirs."""
    lines = layout_of(census, representation, loss).lines
    gaps = [bool(quasi.hierarchy.has_missing and quasi.rows[quasi.hierarchy.leaves - 1]) for quasi in census.quasi]
    return space._replace(limits=np.where([gaps[a] for a in lines], 0.0, space.limits).reshape(len(lines)))


def _sorted(
    census: Census, representation: Representation | Sequence[Representation], loss: Kept
) -> tuple[Longs, Sorted]:
    """Return the tuples in lexicographic order of their values in sets and trees, those in which a difference costs
    most first, and these values so."""
    layout, space = layout_of(census, representation, loss), space_of(census, representation, loss)
    attributes = [*layout.sets, *layout.trees]
    steps = np.zeros((len(attributes), max([1, *(census.quasi[a].hierarchy.leaves for a in attributes)])))
    for s in range(len(layout.sets)):
        steps[s] = space.costs[s, 2]
    for i, a in enumerate(layout.trees):
        tree, base = census.quasi[a].hierarchy, int(space.bases[len(layout.lines) + i])
        nodes = space.numbers[base : base + len(tree.parent)]
        steps[len(layout.sets) + i, : tree.leaves] = nodes[tree.parent[: tree.leaves]]
    codes = census.codes[:, attributes]
    dearest = np.argsort([-float(steps[i, codes[:, i]].mean()) for i in range(len(attributes))], kind="stable")
    steps, codes = steps[dearest], np.ascontiguousarray(codes[:, dearest], np.int32)
    tuples = len(codes)
    order = np.lexsort(codes.T[::-1]) if attributes else np.arange(tuples)
    codes = codes[order]
    skips, differs = np.full(codes.shape, tuples, np.int32), np.zeros(tuples, np.bool_)
    for a in range(codes.shape[1]):
        differs[1:] |= codes[1:, a] != codes[:-1, a]
        begins = np.append(np.flatnonzero(differs), tuples)
        skips[:, a] = begins[np.searchsorted(begins, np.arange(tuples), side="right")]
    return order, Sorted(codes, steps, skips)


def _known(wanted: Request, line: RowLine, space: Geometry) -> Floats:
    """Return for each tuple what a row of it loses in some group of k rows: where a line is cut."""
    homes = replace(line, asked=wanted).cut(space, 0.0)
    lost = line.losses(space, homes)
    most = np.ones(len(wanted.census.weights))
    np.minimum.at(most, line.tuples, lost[homes])
    return most
