"""Contexts of the attributes that are decided step by step, merged as their boxes say.

The other attributes are *eliminated* (`eliminate_one`, `eliminate_two`): whatever is decided, their cheapest recoding
is found without search. Here, a *context* is a combination of values of the attributes that are decided; its rows of
data are known by *cell*, a combination of values of the eliminated ones. The boxes say which contexts are merged into
classes in any case, and what each class can at most be merged with, its cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs, Words
from ringfence.census.census import Census
from ringfence.judging.metrics import Loss
from ringfence.judging.models import DistinctDiversity, KAnonymity, Promise
from ringfence.kernels.recode.block_costs import covers_of, gather, gather_masks, pool_small
from ringfence.kernels.recode.keys import classes_of
from ringfence.search.recode.boxes import Box
from ringfence.search.recode.spaces import Space

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

    @property
    def allows_two(self) -> bool:
        """Whether classes cost their squares, and the promise asks for so many rows in each and nothing else."""
        return self.squares and all(isinstance(model, KAnonymity) for model in self.promise.models)

    def applies(self, census: Census) -> bool:
        """Whether the promise can be read off counts and sets of values, as the kernels take them."""
        return all(isinstance(model, KAnonymity | DistinctDiversity) for model in self.promise.models) and all(
            part.hierarchy.leaves <= 64 for part in census.sensitive
        )


@dataclass(frozen=True, eq=False)
class Contexts:
    """Contexts, or classes of them, with their rows of data by cell.

    `codes[i]` are the values of the attributes that are decided, `counts[i, cell]` the rows, `masks[s, i, cell]` the
    sensitive values as sets of bits.
    """

    codes: Ints
    counts: Floats
    masks: Words


@dataclass(frozen=True, eq=False)
class ContextClasses:
    """Classes of contexts: `member[i]` is that of context i; those from `large` on are sums of small ones.

    `counts[c, cell]` are their rows of data. `group[c]` is the same for classes with the same cover; `covers` and
    `covered` are the rows and the sensitive values of covers, by group.
    """

    member: Longs
    group: Longs
    large: int
    counts: Floats
    covers: Floats
    covered: Words


def layout(leaves: Sequence[int]) -> Longs:
    """Return the word and the shift of each attribute in the keys of combinations of codes, some more than leaves."""
    fields, word, used = [], 0, 0
    for number in leaves:
        bits = (number + 1).bit_length()
        if used + bits > WORD_BITS:
            word, used = word + 1, 0
        fields.append((word, used))
        used += bits
    return np.array(fields, np.int64).reshape(-1, 2)


class Merger:
    """Merges the contexts of all attributes but the eliminated ones; see `proof.Relaxation` for `apart`."""

    apart = 16

    def __init__(
        self, census: Census, spaces: Sequence[Space], eliminated: Sequence[int], leaves: Sequence[Longs], terms: Terms
    ) -> None:
        self.terms, self.spaces, self.eliminated = terms, spaces, eliminated
        self.others = [a for a in range(len(spaces)) if a not in eliminated]
        self.finest = self._contexts(census, leaves)
        self._fields = layout([spaces[a].quasi.hierarchy.leaves for a in self.others])
        self._width = max((spaces[a].quasi.hierarchy.leaves for a in self.others), default=1)

    def _contexts(self, census: Census, leaves: Sequence[Longs]) -> Contexts:
        """Return the contexts; cells are numbered by the places of their values in `leaves`."""
        cells = np.zeros(len(census.codes), np.int64)
        for a, values in zip(self.eliminated, leaves, strict=True):
            place = np.full(self.spaces[a].quasi.hierarchy.leaves, -1)
            place[values] = np.arange(len(values))
            cells = cells * len(values) + place[census.codes[:, a]]
        others = census.codes[:, self.others]
        codes, context = others[:1], np.zeros(len(others), np.int64)
        if self.others:
            codes, context = np.unique(others, axis=0, return_inverse=True)
            context = context.reshape(-1)
        size = int(np.prod([len(values) for values in leaves]))
        counts = np.zeros((len(codes), size))
        np.add.at(counts, (context, cells), census.weights)
        distinct = [model for model in self.terms.promise.models if isinstance(model, DistinctDiversity)]
        masks = np.zeros((len(distinct), len(codes), size), np.uint64)
        for mask, model in zip(masks, distinct, strict=True):
            part = census.sensitive[model.attribute]
            bits = np.left_shift(np.uint64(1), part.values.astype(np.uint64))
            np.bitwise_or.at(mask, (context[part.tuples], cells[part.tuples]), bits)
        return Contexts(np.ascontiguousarray(codes, np.int32), counts, masks)

    def narrowed(self, boxes: Sequence[Box]) -> Contexts:
        """Return contexts with those united that are merged in all of some boxes: enough for all boxes inside these.

        Cells may lose differently within a class, so for them contexts stay what they are.
        """
        if not self.terms.squares:
            return self.finest
        _, first, counts, masks = self._united(self.finest, boxes)
        return Contexts(np.ascontiguousarray(self.finest.codes[first]), counts, masks)

    def classes(self, boxes: Sequence[Box], contexts: Contexts) -> ContextClasses | None:
        """Return the classes of contexts that some boxes make; None if more rows than allowed must be suppressed."""
        member, first, counts, masks = self._united(contexts, boxes)
        size = len(counts)
        found = ContextClasses(member, np.arange(size), size, counts, counts, masks)
        if not all(box.complete for box in boxes):
            tables, partly = self._covers(boxes)
            large, member, first, counts, masks = self._pooled(contexts, tables, member, first, counts, masks)
            codes = contexts.codes[first]
            group, heads = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
            groups = classes_of(codes, tables, self._fields, group, heads)
            covers = np.empty((groups, counts.shape[1]))
            covered = np.empty((len(masks), *covers.shape), np.uint64)
            covers_of(codes, tables, partly, self._fields, heads[:groups], counts, masks, covers, covered)
            found = ContextClasses(member, group, large, counts, covers, covered)
        failing = found.covers.sum(axis=1) < self.terms.promise.least
        return None if found.counts[failing[found.group]].sum() > self.terms.limit else found

    def _united(self, contexts: Contexts, boxes: Sequence[Box]) -> tuple[Longs, Longs, Floats, Words]:
        tables = np.zeros((len(boxes), self._width), np.int64)
        for place, box in enumerate(boxes):
            tables[place, : len(box.merged)] = box.merged
        size = len(contexts.codes)
        member, first = np.empty(size, np.int64), np.empty(size, np.int64)
        classes = classes_of(contexts.codes, tables, self._fields, member, first)
        counts = np.empty((classes, contexts.counts.shape[1]))
        gather(contexts.counts, member, counts)
        masks = np.empty((len(contexts.masks), *counts.shape), np.uint64)
        gather_masks(contexts.masks, member, masks)
        return member, first[:classes], counts, masks

    def _pooled(
        self, contexts: Contexts, tables: Longs, member: Longs, first: Longs, counts: Floats, masks: Words
    ) -> tuple[int, Longs, Longs, Floats, Words]:
        """Return classes with those united that cost the same together as one by one
        (`kernels.recode.block_costs.pool_small`).

        Under a loss for each cell, that is so of classes of any size: a row costs the same however many it is among.
        """
        small = float(self.terms.promise.least) if self.terms.squares else inf
        pool, chosen = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
        large, size = pool_small(contexts.codes[first], tables, self._fields, counts, small, pool, chosen)
        pooled = np.empty((size, counts.shape[1]))
        gather(counts, pool, pooled)
        seen = np.empty((len(masks), *pooled.shape), np.uint64)
        gather_masks(masks, pool, seen)
        return large, pool[member], first[chosen[:size]], pooled, seen

    def _covers(self, boxes: Sequence[Box]) -> tuple[Longs, npt.NDArray[np.bool_]]:
        partly = np.array([box.partly for box in boxes])
        tables = np.zeros((len(boxes), self._width), np.int64)
        most = sorted(np.flatnonzero(partly).tolist(), key=lambda place: -len(boxes[place].choices))
        partly[most[MOST_PARTLY:]] = False
        for place, box in enumerate(boxes):
            if partly[place] or not box.partly:
                tables[place, : len(box.codes)] = box.codes
        return tables, partly
