"""The row bound: what no release can go below in which every row is published like k rows of its block, or not at all.

Let m be the least that a row can lose in any group of k rows. In every release the row loses at least that: its label
covers the values of k rows, its own among them, and no label of fewer values loses more; suppressed it loses 1, which
is no less. So the mean of m over all rows is a lower bound, for groups and for rings, with any models beside k.
"""

from collections.abc import Sequence

import numpy as np

from ringfence.arrays import Floats, Ints
from ringfence.census.census import Census
from ringfence.census.covers import Representation
from ringfence.kernels.groups.row_bounds import least_losses
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept, layout_of, space_of
from ringfence.search.groups.line import Request, line_up, request
from ringfence.search.groups.orders import gray_order
from ringfence.search.progress import Watch

MOST_TRIED = 15_000
"""How many combinations are tried for a row, over k: each takes longer in larger groups."""
WORK = {"fast": 40_000_000, "good": 200_000_000, "best": 800_000_000}
"""How much work is done at most (`least_losses`), by the effort of the search: some ten seconds for the most. The rows
that seem to lose most come first; those that are not reached count nothing. Beyond half a million tuples none is looked
at."""
MOST_TUPLES = 500_000
AT_ONCE = 100
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
    if len(census.weights) > MOST_TUPLES:
        return 0.0
    wanted = request(census, GroupsAsked(k, (1,) * len(census.sensitive), limit=census.rows))
    space = _without_gaps(census, space_of(census, representation, loss), representation, loss)
    codes, steps = _steps(census, representation, loss)
    most = _known(wanted, space)
    found = np.zeros(len(census.weights))
    found[wanted.blocks < 0] = 1.0
    asking = np.flatnonzero((wanted.blocks >= 0) & (census.weights < wanted.k) & (most > 0))
    asking = asking[np.argsort(-(census.weights * most)[asking], kind="stable")]
    done, limit = 0, MOST_TRIED // wanted.k
    for begin in range(0, len(asking), AT_ONCE):
        if watch.expired() or done > WORK[effort]:
            break
        part = asking[begin : begin + AT_ONCE].astype(np.int64)
        done += least_losses(space, codes, steps, wanted.blocks, census.weights, wanted.k, part, most, limit, found)
    return float(census.weights @ np.minimum(found, 1.0)) / census.rows * (1 - ROUNDING)


def _without_gaps(
    census: Census, space: Geometry, representation: Representation | Sequence[Representation], loss: Kept
) -> Geometry:
    """Return a space in which lines with missing values lose nothing: no place there is theirs."""
    lines = layout_of(census, representation, loss).lines
    gaps = [bool(quasi.hierarchy.has_missing and quasi.rows[quasi.hierarchy.leaves - 1]) for quasi in census.quasi]
    return space._replace(limits=np.where([gaps[a] for a in lines], 0.0, space.limits).reshape(len(lines)))


def _steps(
    census: Census, representation: Representation | Sequence[Representation], loss: Kept
) -> tuple[Ints, Floats]:
    """Return the values of tuples in sets and trees, and what each loses at least with any other."""
    layout, space = layout_of(census, representation, loss), space_of(census, representation, loss)
    attributes = [*layout.sets, *layout.trees]
    steps = np.zeros((len(attributes), max([1, *(census.quasi[a].hierarchy.leaves for a in attributes)])))
    for s in range(len(layout.sets)):
        steps[s] = space.costs[s, 2]
    for i, a in enumerate(layout.trees):
        tree, base = census.quasi[a].hierarchy, int(space.bases[len(layout.lines) + i])
        nodes = space.numbers[base : base + len(tree.parent)]
        steps[len(layout.sets) + i, : tree.leaves] = nodes[tree.parent[: tree.leaves]]
    return np.ascontiguousarray(census.codes[:, attributes], np.int32), steps


def _known(wanted: Request, space: Geometry) -> Floats:
    """Return for each tuple what a row of it loses in some group of k rows."""
    line = line_up(wanted, gray_order(wanted.census))
    homes = line.cut(space, 0.0)
    lost = line.losses(space, homes)
    most = np.ones(len(wanted.census.weights))
    np.minimum.at(most, line.tuples, lost[homes])
    return most
