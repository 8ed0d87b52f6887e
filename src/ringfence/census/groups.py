"""Groups: which rows are published alike, where that is decided row by row and not value by value.

Rows with the same quasi-identifiers and the same values of the sensitive attributes that models look at cannot be told
apart by any model: they are one *combination*. So an answer says how many rows of each combination go to which group,
and it does not matter which of them do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs, distinct_rows, sum_by
from ringfence.census.census import Census
from ringfence.values.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of a tuple, `tuples[c]`, and values, `values[c, i]` of `attributes[i]`, with their
    rows.

    `attributes` are positions in `Census.sensitive`. Combinations stand in lexicographic order, so those of one tuple
    stand together.
    """

    attributes: tuple[int, ...]
    tuples: Ints
    values: Ints
    weights: Longs


def combinations(census: Census, attributes: Sequence[int]) -> Combinations:
    """Return the distinct combinations of the quasi-identifiers and some sensitive attributes.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.spec import Spec
    >>> roles = {"town": {"role": "quasi", "hierarchy": "flat"}, "job": {"role": "sensitive"}}
    >>> counted = pa.table({"town": ["a", "a", "b"], "job": ["cook", "smith", "cook"], "rows": [3, 1, 2]})
    >>> census = take_census(counted, Spec(attributes=roles), "rows")
    >>> combinations(census, [0]).weights.tolist(), combinations(census, []).weights.tolist()
    ([3, 1, 2], [4, 2])
    """
    joint = census.joint
    rows = np.stack([joint.tuples, *(joint.values[a] for a in attributes)], axis=1)
    sizes = [len(census.weights), *(census.sensitive[a].hierarchy.leaves for a in attributes)]
    example, which = distinct_rows(rows, sizes)
    distinct = rows[example].astype(np.int32)
    return Combinations(
        attributes=tuple(attributes),
        tuples=distinct[:, 0],
        values=distinct[:, 1:],
        weights=sum_by(which, joint.weights, len(example)),
    )


@dataclass(frozen=True, eq=False)
class Groups:
    """How many rows of each combination go to which group: `rows[i]` of `combination[i]` go to `group[i]`.

    `suppressed[c]` rows of combination c go nowhere. Entries stand by group, then by combination, each pair once.
    Groups are numbered from 0 on, and none is empty.
    """

    combinations: Combinations
    combination: Ints
    group: Ints
    rows: Longs
    suppressed: Longs

    def __post_init__(self) -> None:
        weights = self.combinations.weights
        placed = sum_by(self.combination, self.rows, len(weights))
        if (self.rows <= 0).any() or (self.suppressed < 0).any() or (placed + self.suppressed != weights).any():
            raise ValueError("every row of a combination goes to one group or is suppressed")
        pairs = self.group.astype(np.int64) * len(weights) + self.combination
        if (np.diff(pairs) <= 0).any() or not np.array_equal(np.unique(self.group), np.arange(self.count)):
            raise ValueError("groups are numbered without a gap, their entries in order, each pair once")

    @classmethod
    def gathered(
        cls,
        combinations: Combinations,
        combination: npt.NDArray[np.int64],
        group: npt.NDArray[np.int64],
        rows: Longs,
    ) -> "Groups":
        """Return the groups of entries in any order, pairs perhaps repeated; rows that go nowhere are suppressed."""
        total = len(combinations.weights)
        pairs, which = np.unique(group.astype(np.int64) * total + combination, return_inverse=True)
        sums = sum_by(which, rows, len(pairs))
        return cls(
            combinations=combinations,
            combination=(pairs % total).astype(np.int32),
            group=np.unique(pairs // total, return_inverse=True)[1].astype(np.int32),
            rows=sums,
            suppressed=combinations.weights - sum_by(combination, rows, total),
        )

    @classmethod
    def joined(cls, whole: Combinations, places: Sequence[Longs], parts: Sequence["Groups"]) -> "Groups":
        """Return the groups of all parts of a census: combination c of part i is `places[i][c]` of the whole."""
        before = np.cumsum([0, *(part.count for part in parts[:-1])]).tolist()
        return cls.gathered(
            whole,
            np.concatenate([place[part.combination] for part, place in zip(parts, places, strict=True)]),
            np.concatenate([part.group + first for part, first in zip(parts, before, strict=True)]),
            np.concatenate([part.rows for part in parts]),
        )

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.group[-1]) + 1 if len(self.group) else 0

    @property
    def sizes(self) -> Longs:
        """How many rows each group has."""
        return sum_by(self.group, self.rows, self.count)

    @property
    def tuples(self) -> Ints:
        """The tuple of each entry."""
        return self.combinations.tuples[self.combination]


def common_ancestors(census: Census, groups: Groups) -> Ints:
    """Return `nodes[g, a]`, the lowest node of attribute a's hierarchy that covers every row of group g."""
    nodes = np.empty((groups.count, len(census.quasi)), np.int32)
    for a, quasi in enumerate(census.quasi):
        nodes[:, a] = lowest_nodes(quasi.hierarchy, groups.group, census.codes[groups.tuples, a], groups.count)
    return nodes


def lowest_nodes(
    hierarchy: Hierarchy, groups: npt.NDArray[np.integer], leaves: npt.NDArray[np.integer], count: int
) -> Ints:
    """Return for each of `count` groups the lowest node above all its leaves, `leaves[i]` being one of `groups[i]`."""
    low, high = np.full(count, hierarchy.leaves, np.int32), np.zeros(count, np.int32)
    np.minimum.at(low, groups, leaves.astype(np.int32))
    np.maximum.at(high, groups, leaves.astype(np.int32))
    return lowest_covering(hierarchy, low, high)


def lowest_covering(hierarchy: Hierarchy, low: Ints, high: Ints) -> Ints:
    """Climb from each lower leaf until the upper one is covered: ranges are nested, and ancestors start no later."""
    node = low
    for _ in range(hierarchy.height):
        node = np.where(hierarchy.stop[node] <= high, hierarchy.parent[node], node)
    return node


def information_losses(census: Census, nodes: Ints) -> Floats:
    """Return what a row of each group loses: the heights below its nodes over those of the hierarchies, added up.

    Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints. Transactions on Data Privacy 3
    (2010), Definition 10, for a single row.
    """
    losses = np.zeros(len(nodes))
    for a, quasi in enumerate(census.quasi):
        losses += quasi.hierarchy.heights[nodes[:, a]] / quasi.hierarchy.height
    return losses
