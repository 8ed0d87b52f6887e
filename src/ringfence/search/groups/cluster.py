"""Cluster: p-sensitive k-anonymity within boundaries, by greedy clustering.

Rows that may be generalized alike form the groups of the maximum allowed table (`boundaries`). Those that fail are
suppressed, the others are clustered, each by itself: by clusters grown cheapest first
(`kernels.groups.cheapest_first`), or as the paper has it (`kernels.groups.greedy`). Every cluster is published as the
lowest nodes that cover it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Floats, Ints
from ringfence.census.census import Census
from ringfence.census.groups import Groups, common_ancestors, information_losses
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.boundaries import MaximumAllowed, explain_suppression, failure, maximum_allowed
from ringfence.search.groups.cluster_layout import ClusterLayout
from ringfence.search.progress import SearchResult, Watch

FIRST_PART, STEP = 1_500, 4
"""Where time is limited: how many tuples the first parts have, and how many times as many the next."""


@dataclass(frozen=True, eq=False)
class ClusterResult:
    """The clusters, `nodes[g, a]` that group g is published as in attribute a, and what was found out on the way.

    `loss` is the total information loss, suppressed rows included; `search.cost` is the same per cell (NTIL), and
    `search.bound` what no clustering within these boundaries can go below (groups that were cut count nothing in it).
    `mam_groups` counts the groups of the maximum allowed table that hold, `parts` what they were cut into.
    """

    groups: Groups
    nodes: Ints
    suppressed: int
    loss: float
    search: SearchResult
    mam_groups: int
    parts: int

    @property
    def ntil(self) -> float:
        """The normalized total information loss."""
        return self.search.cost


def cluster(
    census: Census,
    asked: GroupsAsked,
    *,
    weights: Sequence[float] | None = None,
    ties: str = "best",
    max_group: int = 50_000,
    watch: Watch | None = None,
    threads: int | None = None,
) -> ClusterResult:
    """Return clusters of at least k rows with enough sensitive values, in which no value passes its boundary.

    Rows that no method could publish within the boundaries are suppressed, and no others. By default clusters are grown
    cheapest first: around each tuple, the cell of nodes that holds what is asked is found by widening it to the nearest
    tuple (to the nearest with a new value only once it has k rows); the cell that loses least takes in all it covers.
    When the rest cannot make a cluster, each tuple of it joins the cluster that it makes lose least more; then each
    cluster is split in two wherever both hold and lose less. With `ties =
    "paper"` clusters grow row by row as the paper says, and where it leaves a choice the first combination is taken, in
    an order that is always the same but has nothing to do with values, like the order of rows in a file.

    Parameters
    ----------
    census
        What was counted.
    asked
        What clusters must have, and how many rows may be suppressed. What is kept small is NTIL, as nodes have it.
    weights
        How much diversity counts in each sensitive attribute; by default `diversity_weights`.
    ties
        "best" or "paper".
    max_group
        Groups of more different tuples are first cut into neighbouring parts: tuples are put into lexicographic order,
        attributes with low hierarchies first, and that order is cut into equal parts.
    watch
        Counts the parts. Where its time is limited, small parts are clustered first, then larger ones as long as there
        is time, and the best clusters count. When it is up, the parts not begun are cut into runs
        of neighbours in that order, or in the paper's way are published as one cluster each.
    threads
        How many parts are clustered at the same time; as many as there are processors by default.

    Raises
    ------
    Unsatisfiable
        If more rows than `asked.limit`, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> age = {"role": "quasi", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 1}}
    >>> counted = pa.table({"age": [21, 24, 33, 33, 36], "ill": ["flu", "cold", "flu", "cold", "flu"], "rows": [1] * 5})
    >>> spec = Spec(attributes={"age": age, "ill": {"role": "sensitive"}})
    >>> result = cluster(take_census(counted, spec, "rows"), GroupsAsked(k=2, least_values=[2]))
    >>> result.groups.sizes.tolist(), result.suppressed, round(result.ntil, 3)
    ([2, 3], 0, 0.333)

    Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints. Transactions on Data Privacy 3
    (2010), section 3: GreedyCPKA; with all `least_values` 1, GreedyCKA; without boundaries, GreedyPKClustering. The
    order, the growth by cells, the bound and the cut into parts are ours; so is that a cluster which has enough is not
    given another row.
    """
    _check(census, asked, weights, ties, max_group)
    watch = watch or Watch()
    k, least_values, limit = min(asked.k, census.rows + 1), asked.least_values, asked.limit
    allowed = maximum_allowed(census, k, least_values)
    if allowed.suppressed > limit or allowed.suppressed == census.rows:
        raise Unsatisfiable(failure(explain_suppression(census, k=asked.k, least_values=least_values), asked.k, limit))
    best, sizes = None, _part_sizes(max_group, len(census.weights), limited=watch.time_limit is not None)
    for size in sizes:
        layout = ClusterLayout(
            census,
            allowed,
            k=k,
            least_values=least_values,
            weights=diversity_weights(census, [None] * len(census.sensitive)) if weights is None else np.array(weights),
            max_group=size,
            workers=threads or os.cpu_count() or 1,
            watch=watch if size == max_group else watch.part(),
        )
        begun = watch.seconds
        found = _clustered(layout, allowed, ties)
        if best is None or found.loss < best.loss:
            best = found
        # Work grows by the square of a part, and there are fewer parts: in proportion to their size.
        now = watch.seconds
        if watch.halted or (watch.time_limit is not None and now + STEP * (now - begun) > watch.time_limit):
            break
    assert best is not None, "there is always a size of parts"
    return best


def _part_sizes(max_group: int, tuples: int, *, limited: bool) -> list[int]:
    """Return of how many tuples parts may be: where time is limited, few first, then more as long as there is time."""
    sizes = [max_group]
    while limited and sizes[0] > FIRST_PART and tuples > FIRST_PART:
        sizes.insert(0, max(FIRST_PART, min(sizes[0], tuples) // STEP))
    return sizes


def _clustered(layout: ClusterLayout, allowed: MaximumAllowed, ties: str) -> ClusterResult:
    """Return what clusters of a layout lose."""
    census = layout.census
    groups, tried = layout.best() if ties == "best" else (layout.as_printed(), layout.parts)
    nodes = common_ancestors(census, groups)
    cells = census.rows * len(census.quasi)
    loss = float(groups.sizes @ information_losses(census, nodes)) + allowed.suppressed * len(census.quasi)
    bound = (layout.least_loss + allowed.suppressed * len(census.quasi)) / cells
    cost = loss / cells
    return ClusterResult(
        groups=groups,
        nodes=nodes,
        suppressed=allowed.suppressed,
        loss=loss,
        search=SearchResult(
            cost=cost,
            optimal=cost <= bound * (1 + 1e-12),
            bound=min(bound, cost),
            nodes=tried,
            pruned=0,
            seconds=layout.watch.seconds,
            certificate="row",
        ),
        mam_groups=len(layout.bounds) - 1,
        parts=layout.parts,
    )


def _check(census: Census, asked: GroupsAsked, weights: Sequence[float] | None, ties: str, max_group: int) -> None:
    if asked.k < 1 or max_group < 1:
        raise SpecError(f"k = {asked.k} and max_group = {max_group}: both have to be 1 or more")
    if ties not in ("best", "paper"):
        raise SpecError(f"method.ties = {ties!r}; allowed: best, paper")
    if len(asked.least_values) != len(census.sensitive):
        raise ValueError(
            f"{len(census.sensitive)} sensitive attributes need as many least_values: {asked.least_values}"
        )
    if weights is not None and (len(weights) != len(census.sensitive) or min(weights, default=1) <= 0):
        raise ValueError(f"{len(census.sensitive)} sensitive attributes need as many positive weights: {weights}")


def diversity_weights(census: Census, given: Sequence[float | None]) -> Floats:
    """Return how much each sensitive attribute counts in diversities, together 1.

    Attributes without a given weight get one inversely proportional to their number of different values (Campan, Truta,
    Cooper 2010, after Definition 12).
    """
    weights = [
        1 / len(np.unique(part.values)) if weight is None else weight
        for part, weight in zip(census.sensitive, given, strict=True)
    ]
    return np.array(weights) / (sum(weights) or 1)
