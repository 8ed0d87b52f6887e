"""Boxes: parts of an attribute's space, each with what is merged in all of its recodings and what can at most be
merged.

A box is split into smaller ones until it holds one recoding. How, depends on the scheme: sets decide value by value,
the commonest first, which block it joins, or that it opens one; runs decide joint by joint, from the first on, whether
neighbours are merged; everything else climbs the search tree of its space. Common values of sets are decided first
because they are decided easily: to merge them costs much, and to keep them apart limits what others can join.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from ringfence.arrays import Longs
from ringfence.kernels.recode.block_costs import ANY, OPEN
from ringfence.search.recode.partitions import RUNS, SETS, Partitions, renumbered
from ringfence.search.recode.spaces import Space

UNDECIDED = 2
"""The choice at a joint that may be cut (1) or not (0)."""

AT_ONCE = 256
"""Where a tree has no more recodings than this, they are all taken in one step: between them, little can be said."""

KEPT = 1 << 14
"""How many boxes of single recodings are kept: those of good answers come again and again."""


@dataclass(frozen=True, eq=False)
class Box:
    """Some recodings of one attribute.

    `merged[leaf]` is the same for values that are merged in all of them. `codes` say what can at most be merged: values
    of one code, and beside them those that are OPEN. `state` is the finest of them in the space; it is the only one if
    the box is `complete`. `choices` are what was decided.
    """

    merged: Longs
    codes: Longs
    partly: bool
    complete: bool
    state: Any
    choices: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BoxPart:
    """A part of a box, and the option that was taken for it: the same name in every box where it can be taken."""

    option: tuple[int, ...]
    box: Box


class Boxes:
    """The boxes of one attribute, made once each."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: dict[tuple[int, ...], Box] = {}
        self._decisions: dict[tuple[int, ...], list[list[BoxPart]]] = {}
        branches = space.walk.branches if isinstance(space.walk, Partitions) else []
        self._rule = branches[0].rule if len(branches) == 1 and branches[0].rule in (RUNS, SETS) else None
        self._values = list(branches[0].children) if self._rule is not None else []
        rows = space.quasi.rows[self._values].tolist()
        if self._rule is SETS:
            self._order = sorted(range(len(rows)), key=lambda value: (-rows[value], value))
        if self._rule is RUNS:
            self.root = self._box((UNDECIDED,) * (len(rows) - 1))
        else:
            self.root = self._box((0,) if self._rule is SETS else (space.finest, 0))

    @lru_cache(maxsize=KEPT)  # noqa: B019 - boxes live as long as the search
    def exactly(self, state: Any) -> Box:
        """Return the box of one recoding."""
        table = _table(self.space, state)
        return Box(table, table + 2, partly=False, complete=True, state=state, choices=())

    def decisions(self, box: Box) -> list[list[BoxPart]]:
        """Return the decisions that may be taken next, each as the parts that it splits a box into."""
        if box.choices not in self._decisions:
            self._decisions[box.choices] = list(self._next(box.choices))
        return self._decisions[box.choices]

    def _next(self, choices: tuple[int, ...]) -> Iterator[list[BoxPart]]:
        if self._rule is SETS:
            yield [
                BoxPart(after, self._box(after)) for block in range(max(choices) + 2) for after in [(*choices, block)]
            ]
        elif self._rule is RUNS:
            joint = choices.index(UNDECIDED)
            yield [BoxPart((joint, cut), self._box((*choices[:joint], cut, *choices[joint + 1 :]))) for cut in (0, 1)]
        elif self.space.walk.count <= AT_ONCE:
            yield [BoxPart(after, self._box(after)) for place in self._every() for after in [(place, 1)]]
        else:
            higher = self.space.children(choices[0], up=True)
            yield [BoxPart(after, self._box(after)) for after in [(choices[0], 1), *((other, 0) for other in higher)]]

    def _every(self) -> list[int]:
        """Return the positions of all recodings."""
        found = [self.space.finest]
        for position in found:
            found += self.space.children(position, up=True)
        return found

    def _box(self, choices: tuple[int, ...]) -> Box:
        if choices not in self._known:
            self._known[choices] = self._made(choices)
        return self._known[choices]

    def _made(self, choices: tuple[int, ...]) -> Box:
        if self._rule is SETS:
            return self._assigned(choices)
        if self._rule is RUNS:
            return self._cut(choices)
        position, exact = choices
        end = position if exact else self.space.end(position, up=True)
        return Box(
            merged=_table(self.space, self.space.state(position)),
            codes=self.space[end].blocks.astype(np.int64) + 2,
            partly=False,
            complete=bool(exact) or end == position,
            state=self.space.state(position),
            choices=choices,
        )

    def _assigned(self, choices: Sequence[int]) -> Box:
        """Return the sets in which the commonest values are in these blocks. The others can join any of them."""
        blocks = list(range(len(choices), len(choices) + len(self._values)))
        codes = np.full(self.space.quasi.hierarchy.leaves, OPEN, np.int64)
        for value, block in zip(self._order, choices, strict=False):
            blocks[value] = block
            codes[self._values[value]] = block + 2
        complete = len(choices) == len(self._values)
        first = len(choices) == 1 and not complete
        if first:  # one value in one block: everything is still possible
            codes[:] = ANY
        state = (renumbered(blocks),)
        return Box(_table(self.space, state), codes, not complete and not first, complete, state, tuple(choices))

    def _cut(self, choices: Sequence[int]) -> Box:
        """Return the runs that are cut, or not, at some joints; at the others they may be either."""
        fine = [int(choice != 0) for choice in choices]
        coarse = [int(choice == 1) for choice in choices]
        codes = np.full(self.space.quasi.hierarchy.leaves, ANY, np.int64)
        codes[self._values] = 2 + np.cumsum([0, *coarse])
        state = (tuple(accumulate([0, *fine])),)
        return Box(
            merged=_table(self.space, state),
            codes=codes,
            partly=False,
            complete=UNDECIDED not in choices,
            state=state,
            choices=tuple(choices),
        )


def _table(space: Space, state: Any) -> Longs:
    """Return for each leaf the smallest leaf of its block in a partition; 0 for leaves that do not occur."""
    leaves = space.quasi.hierarchy.leaves
    table = space.walk.labelling.of(state, leaves) if isinstance(space.walk, Partitions) else space.recode(state).blocks
    return np.where(space.quasi.rows > 0, table, 0).astype(np.int64)
