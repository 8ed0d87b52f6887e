"""Mondrian: the table is cut in two at the median of its widest attribute, and the halves again, as long as both hold.

All parts are cut at the same time and judged together by the models: so any model can be promised.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Bools, Longs, distinct_rows, sum_by
from ringfence.census.census import Census
from ringfence.census.classes import Classes, Pairs
from ringfence.census.covers import Representation, by_attribute
from ringfence.census.groups import Groups, combinations
from ringfence.errors import Unsatisfiable, some_rows
from ringfence.judging.models import Promise
from ringfence.kernels.groups.median_cuts import NONE, choose_attributes, halves, median_cuts
from ringfence.search.groups.distances import places_of
from ringfence.search.groups.orders import gray_order
from ringfence.search.progress import Watch


@dataclass(frozen=True, eq=False)
class RowParts:
    """So many rows of a combination in a part, entry by entry. Entries stand by part; parts are numbered from 0 on.

    `tried[p, a]` says that part p cannot be cut in attribute a.
    """

    combination: Longs
    part: Longs
    rows: Longs
    tried: npt.NDArray[np.uint8]

    @property
    def bounds(self) -> Longs:
        """Where each part begins, and where the last one ends."""
        return np.searchsorted(self.part, np.arange(len(self.tried) + 1)).astype(np.int64)

    def take(self, chosen: Bools) -> "RowParts":
        """Return some of the parts."""
        stay = chosen[self.part]
        number = np.cumsum(chosen) - 1
        return RowParts(self.combination[stay], number[self.part[stay]], self.rows[stay], self.tried[chosen])

    def halved(self, lower: Longs) -> "RowParts":
        """Return parts 2p and 2p + 1 for each part p: `lower` rows of each entry, and the others."""
        part = np.concatenate([2 * self.part, 2 * self.part + 1])
        rows = np.concatenate([lower, self.rows - lower])
        by = np.argsort(part, kind="stable")
        by = by[rows[by] > 0]
        tried = np.zeros((2 * len(self.tried), self.tried.shape[1]), np.uint8)
        return RowParts(np.tile(self.combination, 2)[by], part[by], rows[by], tried)

    def beside(self, other: "RowParts") -> "RowParts":
        """Return these parts and others behind them."""
        return RowParts(
            np.concatenate([self.combination, other.combination]),
            np.concatenate([self.part, other.part + len(self.tried)]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.tried, other.tried]),
        )


class _Table:
    """A census as it is cut: where combinations lie on the lines of all attributes, and what parts must satisfy."""

    def __init__(self, census: Census, models: Promise, shown: Sequence[Representation]) -> None:
        self.census, self.models = census, models
        watched = range(len(census.sensitive)) if any(model.needs_values for model in models.models) else ()
        self.combinations = combinations(census, watched)
        places = [places_of(quasi) for quasi in census.quasi]
        lines = [np.unique(part, return_inverse=True) for part in places]
        ranks = np.stack([ranks[census.codes[:, a]] for a, (_, ranks) in enumerate(lines)], axis=1).astype(np.int32)
        self._ranks = ranks[self.combinations.tuples]
        self._places = np.concatenate([places for places, _ in lines])
        self._offsets = np.cumsum([0, *(len(places) for places, _ in lines)]).astype(np.int64)
        sets = [shown[a] == "set" and not quasi.numeric for a, quasi in enumerate(census.quasi)]
        self._steps = np.where(sets, [1 / max(1, quasi.hierarchy.leaves - 1) for quasi in census.quasi], 0.0)
        self._near = np.argsort(gray_order(census))[self.combinations.tuples]

    def blocks(self) -> RowParts:
        """Return the largest parts that are allowed: rows whose values have the same ceilings."""
        trees = [quasi.hierarchy for quasi in self.census.quasi]
        ceilings = np.stack([tree.ceilings[self.census.codes[:, a]] for a, tree in enumerate(trees)], axis=1)
        example, block = distinct_rows(ceilings, [len(tree.labels) for tree in trees])
        part = block[self.combinations.tuples]
        by = np.argsort(part, kind="stable")
        tried = np.zeros((len(example), len(trees)), np.uint8)
        return RowParts(by.astype(np.int64), part[by], self.combinations.weights[by], tried)

    def classes(self, parts: RowParts) -> Classes:
        """Return parts as models judge them."""
        count = len(parts.tried)
        pairs = []
        for i, s in enumerate(self.combinations.attributes):
            domain = self.census.sensitive[s].hierarchy.leaves
            value = self.combinations.values[parts.combination, i]
            keys, which = np.unique(parts.part * domain + value, return_inverse=True)
            homes, values = (keys // domain).astype(np.int32), (keys % domain).astype(np.int32)
            pairs.append(Pairs(len(keys), homes, values, sum_by(which, parts.rows, len(keys))))
        return Classes(
            size=count,
            keys=np.empty((0, count), np.int64),
            weights=sum_by(parts.part, parts.rows, count),
            member=np.empty(0, np.int32),
            fails=np.zeros(count, np.uint8),
            gone=np.empty(count, np.int64),
            pairs=tuple(pairs),
            tallies=np.empty((0, count)),
        )

    def failing(self, parts: RowParts) -> Bools:
        """Return which parts fail a model."""
        classes = self.classes(parts)
        self.models.judge(classes)
        fails: Bools = classes.fails == 1
        return fails

    def choose(self, parts: RowParts) -> Longs:
        """Return the attribute in which each part is cut next, NONE where there is none left."""
        chosen = np.empty(len(parts.tried), np.int64)
        ranks = self._ranks[parts.combination]
        choose_attributes(ranks, self._places, self._offsets, self._steps, parts.bounds, parts.tried, chosen)
        return chosen

    def cut(self, parts: RowParts, chosen: Longs, *, relaxed: bool) -> RowParts:
        """Return the halves of each part."""
        ranks, lower = self._ranks[parts.combination], np.zeros(len(parts.part), np.int64)
        if relaxed:
            halves(ranks, self._near[parts.combination], parts.rows, parts.bounds, chosen, lower)
        else:
            median_cuts(ranks, parts.rows, parts.bounds, chosen, lower)
        return parts.halved(lower)


def mondrian(
    census: Census,
    models: Promise,
    *,
    relaxed: bool = False,
    representation: Representation | Sequence[Representation] = "set",
    limit: int = 0,
    enough: int = 1,
    watch: Watch | None = None,
) -> Groups:
    """Return the parts that are left when no cut at a median leaves two halves that satisfy the models.

    A part is cut in the attribute in which it is widest, all domains being equally wide (a set is the wider the more
    values it has); if that is not allowed, in the next widest. *Strict*: between two values, where the halves are most
    equal. *Relaxed*: rows that have the value at the median go to either half, so that both have the same number; those
    that are alike otherwise stay together.

    Parameters
    ----------
    census
        What was counted.
    models
        What every part must satisfy: any models, with room for as many classes as there are rows.
    relaxed
        Whether rows of the same value may go to different halves.
    representation
        How parts are published, in all attributes or in each, and so which are wide.
    limit
        How many rows may be suppressed: those that boundaries leave apart from all others, if they fail.
    enough
        Parts of so many rows or fewer are not cut any further.
    watch
        Counts the cuts. When its time is up, the parts so far are returned.

    Raises
    ------
    Unsatisfiable
        If more than `limit` rows, or all, would have to be suppressed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> from ringfence.judging.models import promise
    >>> from ringfence.spec import Spec
    >>> spec = Spec(attributes={"age": {"role": "quasi", "order": "numeric"}}, privacy={"k": 2})
    >>> census = take_census(pa.table({"age": [20, 21, 29, 30, 60], "rows": [1, 1, 1, 1, 4]}), spec, "rows")
    >>> mondrian(census, promise(spec, census, room=census.rows)).sizes.tolist()
    [4, 2, 2]

    LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional k-Anonymity. ICDE 2006, section 4. Theirs puts the median
    itself into the lower half, which leaves little for the other where a value is common; ours cuts before or after it,
    as is more equal.
    """
    watch, table = watch or Watch(), _Table(census, models, by_attribute(census, representation))
    blocks = table.blocks()
    fails = table.failing(blocks)
    lost = int(blocks.rows[fails[blocks.part]].sum())
    if lost > limit or lost == census.rows:
        raise Unsatisfiable(
            f"to satisfy {models.wording}, {lost} of {some_rows(census.rows)} would have to be suppressed, and at most"
            f" {min(limit, census.rows - 1)} may be"
        )
    out, parts = blocks.take(fails), blocks.take(~fails)
    done = parts.take(np.zeros(len(parts.tried), np.bool_))
    while len(parts.tried):
        chosen = table.choose(parts)
        small = sum_by(parts.part, parts.rows, len(parts.tried)) <= enough
        over = (chosen == NONE) | small | watch.expired()
        done = done.beside(parts.take(over))
        parts, chosen = parts.take(~over), chosen[~over]
        if not len(chosen):
            break
        cut = table.cut(parts, chosen, relaxed=relaxed)  # parts of two rows or more: never more halves than rows
        fails = table.failing(cut)
        holds = ~(fails[::2] | fails[1::2])
        watch.advance(int(holds.sum()), census.rows - 1, "cuts at most")
        parts.tried[np.arange(len(chosen)), chosen] = 1
        parts = cut.take(np.repeat(holds, 2)).beside(parts.take(~holds))
    if lost:
        classes = table.classes(done.beside(out))
        models.judge(classes)
        if not models.rest_holds(classes):
            raise Unsatisfiable("the parts that remain are not t-close to what is published of them")
    return Groups.gathered(table.combinations, done.combination, done.part, done.rows)
