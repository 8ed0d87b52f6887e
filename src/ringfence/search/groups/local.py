"""Local: groups of rows that lose as little as we can make them, whatever values they have in common.

A good order of the tuples is cut into groups where that loses least; then rows change groups until little is left to
gain. Everything up to the cut depends on quasi-identifiers only.
"""

from collections.abc import Sequence

import numpy as np

from ringfence.arrays import Longs, distinct_rows
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.census.groups import Groups
from ringfence.kernels.groups.spans import Geometry
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import layout_of, space_of
from ringfence.search.groups.improving import Effort, Improver, with_itself
from ringfence.search.groups.line import RowLine, line_up, request
from ringfence.search.groups.orders import NEIGHBOURS, gray_order, improved_order, neighbours
from ringfence.search.groups.prices import Prices
from ringfence.search.progress import SearchResult, Watch

EFFORTS = {"fast": None, "good": Effort(1.0, 3_000, hot=0.8), "best": Effort(40.0, 45_000, hot=1.2)}

MOST_CUTS, WORTH = 5, 1e-3
"""How often classes are cut anew at most, and which share of the loss has to be gained by one for another."""


def local(
    census: Census,
    asked: GroupsAsked,
    *,
    effort: str = "good",
    seed: int = 0,
    watch: Watch | None = None,
) -> tuple[Groups, SearchResult]:
    """Return groups of at least k rows with enough sensitive values that lose as little as effort can make them.

    Tuples are put into a Gray-like order, which is made shorter by moving runs of them next to near ones (`orders`),
    and cut where that loses least, by dynamic programming (`kernels.groups.cutting`). Then rows change places
    in chains that gain something (`kernels.groups.chains`), and a few groups at a time are made anew, which is undone
    unless chains make something better of it (`kernels.groups.remaking`). In large groups, and where there are prices,
    rows change groups at random, towards near ones, while ever fewer changes for the worse are accepted
    (`kernels.groups.annealing`). How long that takes is budgeted in changes, not in seconds: the same seed gives the
    same groups.

    Where use is what counts (`asked.loss`), and users count rows (`asked.priced`), every value has a price, which
    rises while readers of the labels would count it too often (`prices`). The answer loses a little more than it would
    without, and marginals come out right.

    Parameters
    ----------
    census
        What was counted.
    asked
        What groups must have, how they are published, and how many rows may be suppressed.
    effort
        "fast" (only the order and the cut), "good" or "best".
    seed
        For the changes.
    watch
        Told how far the search is. When its time is up, the best groups so far are returned.

    Raises
    ------
    Unsatisfiable
        If more rows than `asked.limit`, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "order": "numeric"}
    >>> counted = pa.table({"age": [20, 21, 29, 30, 31, 60, 61], "rows": [1] * 7})
    >>> groups, search = local(take_census(counted, Spec(attributes={"age": age}), "rows"), GroupsAsked(k=2))
    >>> groups.sizes.tolist(), round(search.cost, 3)
    ([2, 3, 2], 0.035)

    The dynamic program is that of Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss
    (VLDB 2007), section 4, over several attributes and for sets as well. The rest is ours.
    """
    watch = watch or Watch()
    wanted = request(census, asked)
    space = space_of(census, asked.representation, asked.loss)
    order = gray_order(census)
    order = order[np.argsort(wanted.blocks[order], kind="stable")]
    priced = asked.loss == "use" and asked.priced
    count = _more_neighbours(wanted.k) if priced else NEIGHBOURS
    found = neighbours(census, space, wanted.blocks, count, watch)
    line = line_up(wanted, improved_order(space, order, found, watch))
    homes = line.cut(space, 0.0)
    if wanted.looked_at:
        homes = min([homes, line.gather()], key=lambda each: line.loss(space, each))
    lost, steps = line.loss(space, homes), 0
    trying = EFFORTS[effort]
    if trying is not None and lost > 0:
        improver = Improver(line, space, homes, with_itself(found.near, census.weights), seed)
        prices = None
        if priced:
            layout = layout_of(census, asked.representation, asked.loss)
            prices = Prices(census, layout, space, improver.tuples, improver.average, wanted.k)
        homes, steps = improver.improve(trying, watch, prices)
        if prices is None:
            homes = _cut_classes(line, space, homes, asked.representation)
        lost = line.loss(space, homes)
    cost = (lost + wanted.suppressed) / census.rows
    return line.groups(homes), SearchResult(
        cost=cost,
        optimal=lost == 0,
        bound=cost if lost == 0 else wanted.suppressed / census.rows,
        nodes=steps,
        pruned=0,
        seconds=watch.seconds,
    )


def _cut_classes(
    line: RowLine, space: Geometry, homes: Longs, representation: Representation | Sequence[Representation]
) -> Longs:
    """Return groups in which the rows of groups under the same labels have been put together and cut anew, while that
    helps.

    Rows of five ages may stand in three groups that all say 30 to 34, where each age had rows enough for its own.
    """
    for _ in range(MOST_CUTS):
        homes = np.unique(homes, return_inverse=True)[1].reshape(-1)
        shown = cover_groups(line.asked.census, line.groups(homes), representation)
        labels = np.stack([part.value for part in shown], axis=1)
        classes = distinct_rows(labels, [len(part.covers.labels) for part in shown])[1]
        again = line.cut_again(space, homes, classes)
        if line.loss(space, again) >= line.loss(space, homes) * (1 - WORTH):
            return homes
        homes = again
    return homes


def _more_neighbours(k: int) -> int:
    """Return how many neighbours changes go towards where values have prices: the nearest may be too dear."""
    return min(40, max(16, 10 + 3 * k // 5))
