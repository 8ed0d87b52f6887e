"""The row bound: what no release can go below in which every row is published like k rows of its block, or not at all.

Let m be the least that a row can lose in any group of k rows. In every release the row loses at least that: its label
covers the values of k rows, its own among them, and no label of fewer values loses more; suppressed it loses 1, which
is no less. So the mean of m over all rows is a lower bound, for groups and for rings, with any models beside k.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ringfence.arrays import Floats
from ringfence.census.census import Census
from ringfence.census.covers import Representation
from ringfence.kernels.groups.row_bounds import least_losses, new_choices, try_neighbours
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept, space_of
from ringfence.search.groups.line import Request, RowLine, line_up, request
from ringfence.search.groups.orders import gray_order, neighbours
from ringfence.search.groups.sorted_tuples import sort_tuples
from ringfence.search.groups.whole_losses import SLACK, UNIT, whole_losses
from ringfence.search.progress import Watch

FEW_TRIED, MOST_TRIED = 500, 50_000
"""How many comparisons are made for a row, first for all, then for those that are left."""
WORK = {"fast": 25_000_000, "good": 70_000_000, "best": 700_000_000}
"""How much work is done at most (`least_losses`), by the effort of the search: a fifth of a second, half a second and
five seconds, about a quarter of what `local` takes. Rows that lose least in some known group come first, since they are
decided soonest; those that are not reached count nothing."""
USUAL_TUPLES, MOST_TIMES, MOST_TUPLES = 10_000, 4, 500_000
"""With more tuples there is more work, in proportion, up to so many times. Beyond half a million none is looked at."""
EASY = 5
"""Groups of more rows are tried only after those of so many, of which all combinations can be tried: a group of k rows
has in it one of fewer with the same row, which loses no more. So what holds for fewer rows holds for k."""
DEEPEST, CANDIDATES = 60, 200_000
"""So many tuples of a group are chosen one by one at most, from so many candidates."""
AT_ONCE = 500
ROUNDING = 1e-12
TO_BEGIN = 2e-5
"""Seconds for each tuple that a bound takes before its first row, about: neighbours are found, and tuples sorted."""


def row_bound(
    census: Census,
    k: int,
    representation: Representation | Sequence[Representation],
    loss: Kept,
    watch: Watch,
    effort: str = "good",
) -> float:
    """Return what no release of groups of k rows or more can go below by a loss, published in a representation.

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
    order, alike, there = sort_tuples(whole_losses(census, representation, loss), wanted.blocks)
    place = np.append(np.argsort(order), -1)
    space = space_of(census, representation, loss)
    near = place[neighbours(census, space, wanted.blocks).near[order]].astype(np.int32)
    line = line_up(wanted, gray_order(census))
    blocks, weights = wanted.blocks[order], census.weights[order]
    room = new_choices(there, min(DEEPEST, wanted.k), max(4 * near.shape[1], CANDIDATES))
    found, done = np.where(blocks < 0, UNIT, 0), 0
    work = int(WORK[effort] * min(MOST_TIMES, max(1.0, len(order) / USUAL_TUPLES)))
    for rows in (EASY, wanted.k) if wanted.k > EASY else (wanted.k,):
        known = _known(replace(wanted, k=rows), line, space)[order]
        most = np.ceil(np.minimum(known, 1.0) * UNIT).astype(np.int64) + SLACK * len(census.quasi)
        done += try_neighbours(there, weights, rows, near, most, FEW_TRIED, room, (work - done) // 4)
        for limit in (FEW_TRIED, MOST_TRIED):
            asking = np.flatnonzero((blocks >= 0) & (most > found))
            asking = asking[np.argsort(most[asking], kind="stable")]
            for begin in range(0, len(asking), AT_ONCE):
                if watch.expired() or done > work:
                    break
                part = asking[begin : begin + AT_ONCE]
                done += least_losses(there, alike, weights, rows, part, most, limit, found, room, work - done)
    total = int(weights @ np.minimum(found, UNIT)) - SLACK * len(census.quasi) * census.rows
    return max(0.0, total / UNIT / census.rows * (1 - ROUNDING))


def _is_late(watch: Watch, tuples: int) -> bool:
    """Whether too little is left of the time of a search for a bound to be begun: it would be cut short."""
    return watch.time_limit is not None and watch.time_limit - watch.seconds < TO_BEGIN * tuples


def _known(wanted: Request, line: RowLine, space: Geometry) -> Floats:
    """Return for each tuple what a row of it loses in some group of k rows: where a line is cut."""
    homes = replace(line, asked=wanted).cut(space, 0.0)
    lost = line.losses(space, homes)
    most = np.ones(len(wanted.census.weights))
    np.minimum.at(most, line.tuples, lost[homes])
    return most
