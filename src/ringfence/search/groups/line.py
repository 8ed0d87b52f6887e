"""A line: the rows that can be published, one behind the other, as groups of them are asked for.

Rows stand in blocks of equal ceilings, which no group reaches across, and in each block in some order of tuples. Rows
of one tuple are dealt out by their sensitive values, so that neighbours differ in them where they can.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census
from ringfence.census.groups import Combinations, Groups, combinations
from ringfence.errors import Unsatisfiable
from ringfence.kernels.groups.cutting import cut_blocks
from ringfence.kernels.groups.gathering import gather_blocks
from ringfence.kernels.groups.spans import Geometry, row_losses, total_loss
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.boundaries import MaximumAllowed, explain_suppression, failure, maximum_allowed


@dataclass(frozen=True, eq=False)
class Request:
    """What groups of a census must have: k rows, and of each sensitive attribute that is looked at `least` values.

    `blocks[t]` is the block of tuple t; those with `-1` are suppressed, since no method could publish them.
    """

    census: Census
    k: int
    looked_at: tuple[int, ...]
    least: Longs
    blocks: Ints
    suppressed: int

    @cached_property
    def combinations(self) -> Combinations:
        """The distinct combinations of tuples and the values that are looked at."""
        return combinations(self.census, self.looked_at)

    @cached_property
    def first_value(self) -> Longs:
        """Where the values of each attribute that is looked at begin when all are numbered together."""
        return np.cumsum([0, *(self.census.sensitive[s].hierarchy.leaves for s in self.looked_at)])

    def groups(self, combination: Longs, group: Longs, rows: Longs) -> Groups:
        """Return groups: so many rows of a combination go to a group, entry by entry."""
        return Groups.gathered(self.combinations, combination, group, rows)


def request(census: Census, asked: GroupsAsked) -> Request:
    """Say what groups must have, and which rows must go: those that too few others may be published like.

    Raises
    ------
    Unsatisfiable
        If more rows than `asked.limit`, or all, would have to be suppressed.
    """
    k, limit = min(asked.k, census.rows + 1), asked.limit
    least = list(asked.least_values) or [1] * len(census.sensitive)
    allowed = maximum_allowed(census, k, least)
    if allowed.suppressed > limit or allowed.suppressed == census.rows:
        raise Unsatisfiable(failure(explain_suppression(census, k=asked.k, least_values=least), asked.k, limit))
    looked_at = tuple(s for s, count in enumerate(least) if count > 1)  # any row has one value
    return Request(
        census=census,
        k=k,
        looked_at=looked_at,
        least=np.array([least[s] for s in looked_at], np.int64),
        blocks=_blocks(allowed),
        suppressed=allowed.suppressed,
    )


def _blocks(allowed: MaximumAllowed) -> Ints:
    blocks = np.where(allowed.fails[allowed.member], -1, allowed.member)
    return blocks.astype(np.int32)


@dataclass(frozen=True, eq=False)
class RowLine:
    """Rows one behind the other: the combination of each, its tuple, and its values, all attributes numbered together.

    Blocks stand between neighbouring `bounds`.
    """

    asked: Request
    combination: Longs
    tuples: Ints
    values: Ints
    bounds: Longs

    def cut(self, space: Geometry, size_weight: float) -> Longs:
        """Return the group of each row when the line is cut where its rows lose least (`kernels.groups.cutting`)."""
        begins = np.empty(len(self.tuples) + 1, np.int64)
        count = cut_blocks(
            space, self.tuples, self.values, self.asked.first_value, self.asked.k, self.asked.least, self.bounds,
            size_weight, begins,
        )  # fmt: skip
        return np.repeat(np.arange(count), np.diff(begins[: count + 1]))

    def cut_again(self, space: Geometry, homes: Longs, classes: Longs) -> Longs:
        """Return the groups of rows once the rows of each class of several groups have been put in line and cut anew.

        `classes[g]` is the class of group g: groups under the same labels are one class. No part of a class has labels
        wider than its own, so whatever it is cut into, its rows lose no more.
        """
        several = np.bincount(classes, minlength=1) > 1
        rows = np.flatnonzero(several[classes[homes]])
        if not len(rows):
            return homes
        rows = rows[np.argsort(classes[homes[rows]], kind="stable")]
        bounds = np.flatnonzero(np.diff(classes[homes[rows]], prepend=-1, append=-1)).astype(np.int64)
        begins = np.empty(len(rows) + 1, np.int64)
        count = cut_blocks(
            space, self.tuples[rows], self.values[rows], self.asked.first_value, self.asked.k, self.asked.least, bounds,
            0.0, begins,
        )  # fmt: skip
        again = homes.copy()
        again[rows] = int(homes.max()) + 1 + np.repeat(np.arange(count), np.diff(begins[: count + 1]))
        return np.unique(again, return_inverse=True)[1].reshape(-1)

    def gather(self) -> Longs:
        """Return the group of each row when groups take the next rows that they can use
        (`kernels.groups.gathering`)."""
        homes = np.empty(len(self.tuples), np.int64)
        gather_blocks(self.values, self.asked.first_value, self.asked.k, self.asked.least, self.bounds, homes)
        return homes

    def losses(self, space: Geometry, homes: Longs) -> Floats:
        """Return what a row of each group loses, groups being numbered from 0 on without a gap."""
        by, sizes = np.argsort(homes, kind="stable"), np.bincount(homes)
        found = np.empty(len(sizes))
        row_losses(space, self.tuples[by], np.concatenate([[0], np.cumsum(sizes)]), found)
        return found

    def loss(self, space: Geometry, homes: Longs) -> float:
        """Return what the rows lose together in some groups."""
        by = np.argsort(homes, kind="stable")
        begins = np.flatnonzero(np.diff(homes[by], prepend=-1, append=homes.max() + 1))
        return float(total_loss(space, self.tuples[by], begins))

    def groups(self, homes: Longs) -> Groups:
        """Return the groups in which row r goes to group `homes[r]`."""
        return self.asked.groups(self.combination, homes, np.ones(len(homes), np.int64))


def line_up(asked: Request, order: Longs) -> RowLine:
    """Put the rows that can be published into a line, their tuples in some order."""
    kept = order[asked.blocks[order] >= 0]
    kept = kept[np.argsort(asked.blocks[kept], kind="stable")]
    place = np.full(len(asked.census.weights), -1)
    place[kept] = np.arange(len(kept))
    combined = asked.combinations
    combination = np.repeat(np.arange(len(combined.weights)), combined.weights)
    combination = combination[place[combined.tuples[combination]] >= 0]
    # Row i of a combination of w rows comes at share (i + 1/2)/w of its tuple's rows: values are dealt out evenly.
    begins = np.flatnonzero(np.diff(combination, prepend=-1))
    turn = np.arange(len(combination)) - np.repeat(begins, np.diff([*begins, len(combination)]))
    share = (turn + 0.5) / combined.weights[combination]
    tuples = combined.tuples[combination]
    by = (
        np.lexsort((combination, share, place[tuples])) if asked.looked_at else np.argsort(place[tuples], kind="stable")
    )
    tuples, combination = tuples[by], combination[by]
    blocks = asked.blocks[tuples]
    return RowLine(
        asked=asked,
        combination=combination,
        tuples=tuples,
        values=(combined.values[combination] + asked.first_value[:-1]).astype(np.int32),
        bounds=np.concatenate([np.flatnonzero(np.diff(blocks, prepend=-1)), [len(blocks)]]).astype(np.int64),
    )
