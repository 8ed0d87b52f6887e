"""Bounds of boxes: what all recodings of some boxes cost at least, with one attribute eliminated by its program.

The boxes of the other attributes say which combinations of values, *contexts*, are merged into classes in any case,
and what each class can at most be merged with. From both, `kernels.boxes.block_costs` knows what every block of the
eliminated attribute costs at least, and its program finds the cheapest partition into blocks. If all boxes are
complete, that is the best recoding of the attribute, and its exact cost.

Sound: a final class contains a class here (by rows and context) and lies in its cover. So if the cover fails, by a
monotone model, it fails; else each of its rows costs at least the class's size, and cells at least their loss here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.census import Census, Floats, Longs
from ringfence.hierarchy import Ints
from ringfence.kernels.boxes import (
    block_costs,
    classes_of,
    covers_of,
    gather,
    gather_masks,
    pool_small,
    square_costs,
)
from ringfence.metrics import Loss
from ringfence.models import DistinctDiversity, KAnonymity, Promise
from ringfence.search.boxes import Box
from ringfence.search.programs import program
from ringfence.spaces import Space

Masks = npt.NDArray[np.uint64]

MOST_PARTLY = 3
"""Covers of more attributes that are partly decided are taken as everything: each one more doubles their cells."""

WORD_BITS = 62


@dataclass(frozen=True, eq=False)
class Terms:
    """What the losses and the promise come to: squares of class sizes, or a loss for each cell.

    `losses[a]`, for cells, is the loss of attribute a, scaled so that a suppressed row costs `full`.
    """

    promise: Promise
    limit: int
    rows: int
    losses: tuple[Loss, ...]
    full: float = 0.0

    @property
    def squares(self) -> bool:
        """Whether classes cost their squares."""
        return not self.losses

    @property
    def penalty(self) -> float:
        """What a suppressed row costs under squares; infinite where none may be suppressed."""
        return inf if self.limit == 0 else float(self.rows)

    def applies(self, census: Census) -> bool:
        """Whether the promise can be read off counts and sets of values, as the kernels take them."""
        return all(isinstance(model, KAnonymity | DistinctDiversity) for model in self.promise.models) and all(
            part.hierarchy.leaves <= 64 for part in census.sensitive
        )


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, or classes of them, with their rows of data by value of the eliminated attribute.

    `codes[i]` are the values of the other attributes, `counts[leaf, i]` the rows, `masks[s, leaf, i]` the sensitive
    values as sets of bits.
    """

    codes: Ints
    counts: Floats
    masks: Masks


class Bounder:
    """Bounds the boxes of all attributes but one."""

    def __init__(self, census: Census, spaces: Sequence[Space], eliminated: int, terms: Terms) -> None:
        self.eliminated, self.terms, self.spaces = eliminated, terms, spaces
        self.others = [a for a in range(len(spaces)) if a != eliminated]
        self.program = program(spaces[eliminated])
        self.finest = self._contexts(census)
        self._fields = self._layout()
        widest = max((spaces[a].quasi.hierarchy.leaves for a in self.others), default=1)
        self._width = widest
        distinct = [model for model in terms.promise.models if isinstance(model, DistinctDiversity)]
        self._least = np.array([model.least for model in distinct], np.int64)
        self._starts, self._leaves, self._losses, self._own = self._own_losses()
        self._known: dict[tuple[int, Any, bool], tuple[float, Floats]] = {}

    def _contexts(self, census: Census) -> Contexts:
        leaves = self.program.leaves
        row_of = np.full(self.spaces[self.eliminated].quasi.hierarchy.leaves, -1)
        row_of[leaves] = np.arange(len(leaves))
        others = census.codes[:, self.others]
        codes, context = others[:1], np.zeros(len(others), np.int64)
        if self.others:
            codes, context = np.unique(others, axis=0, return_inverse=True)
            context = context.reshape(-1)
        counts = np.zeros((len(leaves), len(codes)))
        rows = row_of[census.codes[:, self.eliminated]]
        counts[rows, context] = census.weights
        distinct = [model for model in self.terms.promise.models if isinstance(model, DistinctDiversity)]
        masks = np.zeros((len(distinct), len(leaves), len(codes)), np.uint64)
        for mask, model in zip(masks, distinct, strict=True):
            part = census.sensitive[model.attribute]
            bits = np.left_shift(np.uint64(1), part.values.astype(np.uint64))
            np.bitwise_or.at(mask, (rows[part.tuples], context[part.tuples]), bits)
        return Contexts(np.ascontiguousarray(codes, np.int32), counts, masks)

    def _layout(self) -> Longs:
        fields, word, used = [], 0, 0
        for a in self.others:
            bits = (self.spaces[a].quasi.hierarchy.leaves + 1).bit_length()
            if used + bits > WORD_BITS:
                word, used = word + 1, 0
            fields.append((word, used))
            used += bits
        return np.array(fields, np.int64).reshape(-1, 2)

    def _own_losses(self) -> tuple[Longs, Longs, Floats, Floats]:
        """Return the blocks' leaves as rows, each with its loss in the block, and each block's loss over all rows."""
        row_of = {leaf: row for row, leaf in enumerate(self.program.leaves.tolist())}
        starts = np.cumsum([0, *(len(members) for members in self.program.members)])
        leaves = np.array([row_of[leaf] for members in self.program.members for leaf in members], np.int64)
        losses = np.zeros(len(leaves))
        quasi = self.spaces[self.eliminated].quasi
        if not self.terms.squares:
            loss, known = self.terms.losses[self.eliminated], {}
            for block, members in enumerate(self.program.members):
                known[block] = loss(quasi, self.spaces[self.eliminated].merging(members))[list(members)]
            losses = np.concatenate([known[block] for block in range(len(known))])
        weighed = losses * quasi.rows[self.program.leaves[leaves]]
        own = np.add.reduceat(weighed, starts[:-1])
        return starts, leaves, losses, own

    def narrowed(self, boxes: Sequence[Box]) -> Contexts:
        """Return contexts with those united that are merged in all of some boxes: enough for all boxes inside these.

        Cells may lose differently within a class, so for them contexts stay what they are.
        """
        if not self.terms.squares:
            return self.finest
        _, first, counts, masks = self._united(self.finest, boxes)
        return Contexts(np.ascontiguousarray(self.finest.codes[first]), counts, masks)

    def bound(self, boxes: Sequence[Box], contexts: Contexts) -> tuple[float, Any]:
        """Return what all recodings in some boxes cost at least, and the state of the eliminated attribute for that."""
        terms = self.terms
        member, first, counts, masks = self._united(contexts, boxes)
        covers, covered, large = counts, masks, counts.shape[1]
        if not all(box.complete for box in boxes):
            tables, partly = self._covers(boxes)
            large, member, first, counts, masks = self._pooled(contexts, tables, member, first, counts, masks)
            covers, covered = np.empty_like(counts), np.empty_like(masks)
            covers_of(contexts.codes[first], tables, partly, self._fields, counts, masks, covers, covered)
        doomed = counts.sum(axis=0)[covers.sum(axis=0) < terms.promise.least].sum()
        if doomed > terms.limit:
            return inf, None
        base, spares = 0.0, counts
        if not terms.squares:
            base, spares = self._cells(contexts, boxes, member, counts)
        costs = np.empty(len(self.program.members))
        united, least = self.program.united, terms.promise.least
        if terms.squares and not len(self._least):
            square_costs(united(counts), united(covers), large, self.program.steps, float(least), terms.penalty, costs)
        else:
            block_costs(
                united(counts), united(covers), self._united_masks(covered), spares,
                self.program.steps, self._starts, self._leaves, self._losses, self._own,
                large, least, self._least, terms.penalty, terms.squares, costs,
            )  # fmt: skip
        cost, state = self.program.solve(costs)
        return base + cost, state

    def _united(self, contexts: Contexts, boxes: Sequence[Box]) -> tuple[Longs, Longs, Floats, Masks]:
        tables = np.zeros((len(boxes), self._width), np.int64)
        for place, box in enumerate(boxes):
            tables[place, : len(box.merged)] = box.merged
        size = len(contexts.codes)
        member, first = np.empty(size, np.int64), np.empty(size, np.int64)
        classes = classes_of(contexts.codes, tables, self._fields, member, first)
        counts = np.empty((len(contexts.counts), classes))
        gather(contexts.counts, member, counts)
        masks = np.empty((*contexts.masks.shape[:2], classes), np.uint64)
        gather_masks(contexts.masks, member, masks)
        return member, first[:classes], counts, masks

    def _pooled(
        self, contexts: Contexts, tables: Longs, member: Longs, first: Longs, counts: Floats, masks: Masks
    ) -> tuple[int, Longs, Longs, Floats, Masks]:
        """Return classes with those united that cost the same together as one by one (`kernels.boxes.pool_small`).

        Under a loss for each cell, that is so of classes of any size: a row costs the same however many it is among.
        """
        small = float(self.terms.promise.least) if self.terms.squares else inf
        pool, chosen = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
        large, size = pool_small(contexts.codes[first], tables, self._fields, counts, small, pool, chosen)
        pooled = np.empty((len(counts), size))
        gather(counts, pool, pooled)
        seen = np.empty((*masks.shape[:2], size), np.uint64)
        gather_masks(masks, pool, seen)
        return large, pool[member], first[chosen[:size]], pooled, seen

    def _united_masks(self, masks: Masks) -> Masks:
        if not len(masks):
            return np.empty((0, len(self.program.leaves) + len(self.program.sums), masks.shape[2]), np.uint64)
        parts = []
        for mask in masks:
            rows = list(mask)
            for places in self.program.sums:
                rows.append(np.bitwise_or.reduce([rows[place] for place in places]))
            parts.append(np.array(rows))
        return np.array(parts)

    def _covers(self, boxes: Sequence[Box]) -> tuple[Longs, npt.NDArray[np.bool_]]:
        partly = np.array([box.partly for box in boxes])
        tables = np.zeros((len(boxes), self._width), np.int64)
        most = sorted(np.flatnonzero(partly).tolist(), key=lambda place: -len(boxes[place].choices))
        partly[most[MOST_PARTLY:]] = False
        for place, box in enumerate(boxes):
            if partly[place] or not box.partly:
                tables[place, : len(box.codes)] = box.codes
        return tables, partly

    def _cells(self, contexts: Contexts, boxes: Sequence[Box], member: Longs, counts: Floats) -> tuple[float, Floats]:
        """Return what the cells of the other attributes lose at least, and what suppressed rows lack to the full loss.

        What is not decided may lose as much as the coarsest recoding.
        """
        base, lost = 0.0, np.zeros(len(contexts.codes))
        for place, (a, box) in enumerate(zip(self.others, boxes, strict=True)):
            least, most = self._losses_of(a, box)
            base += least
            lost += most[contexts.codes[:, place]]
        spares = np.empty_like(counts)
        gather(contexts.counts * (self.terms.full - lost), member, spares)
        return base, spares

    def _losses_of(self, attribute: int, box: Box) -> tuple[float, Floats]:
        key = (attribute, box.state, box.complete)
        if key not in self._known:
            space, loss = self.spaces[attribute], self.terms.losses[attribute]
            least = loss(space.quasi, space.recode(box.state))
            most = least if box.complete else loss(space.quasi, space[space.coarsest])
            self._known[key] = (float(least @ space.quasi.rows), most)
        return self._known[key]
