"""Bounds of boxes: what all recodings of some boxes cost at least, with one attribute eliminated by its program.

From the classes that the boxes of the other attributes make (`contexts`), `kernels.recode.block_costs.block_costs`
knows what every block of the eliminated attribute costs at least, and its program finds the cheapest partition into
blocks. If all boxes are complete, that is the best recoding of the attribute, and its exact cost.

Sound: a final class contains a class here (by rows and context) and lies in its cover. So if the cover fails, by a
monotone model, it fails; else each of its rows costs at least the class's size, and cells at least their loss here.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from ringfence.arrays import Floats, Longs, Words
from ringfence.census.census import Census
from ringfence.judging.models import DistinctDiversity
from ringfence.kernels.recode.block_costs import block_costs, gather, square_costs
from ringfence.search.recode.boxes import Box
from ringfence.search.recode.contexts import ContextClasses, Contexts, Merger, Terms
from ringfence.search.recode.programs import program
from ringfence.search.recode.spaces import Space


class OneEliminated(Merger):
    """Bounds the boxes of all attributes but one."""

    def __init__(self, census: Census, spaces: Sequence[Space], eliminated: int, terms: Terms) -> None:
        self.attribute = eliminated
        self.program = program(spaces[eliminated])
        super().__init__(census, spaces, [eliminated], [self.program.leaves], terms)
        distinct = [model for model in terms.promise.models if isinstance(model, DistinctDiversity)]
        self._least = np.array([model.least for model in distinct], np.int64)
        self._starts, self._leaves, self._losses, self._own = self._own_losses()
        self._known: dict[tuple[int, Any, bool], tuple[float, Floats]] = {}

    def _own_losses(self) -> tuple[Longs, Longs, Floats, Floats]:
        """Return the blocks' leaves as rows, each with its loss in the block, and each block's loss over all rows."""
        row_of = {leaf: row for row, leaf in enumerate(self.program.leaves.tolist())}
        starts = np.cumsum([0, *(len(members) for members in self.program.members)])
        leaves = np.array([row_of[leaf] for members in self.program.members for leaf in members], np.int64)
        losses = np.zeros(len(leaves))
        quasi = self.spaces[self.attribute].quasi
        if not self.terms.squares:
            loss, known = self.terms.losses[self.attribute], {}
            for block, members in enumerate(self.program.members):
                known[block] = loss(quasi, self.spaces[self.attribute].merging(members))[list(members)]
            losses = np.concatenate([known[block] for block in range(len(known))])
        weighed = losses * quasi.rows[self.program.leaves[leaves]]
        own = np.add.reduceat(weighed, starts[:-1])
        return starts, leaves, losses, own

    def bound(self, boxes: Sequence[Box], contexts: Contexts) -> tuple[float, Any]:
        """Return what all recodings in some boxes cost at least, and the state of the eliminated attribute for that."""
        terms, classes = self.terms, self.classes(boxes, contexts)
        if classes is None:
            return inf, None
        by_leaf = np.ascontiguousarray(classes.counts.T)
        base, spares = 0.0, by_leaf
        if not terms.squares:
            base, spares = self._cells(contexts, boxes, classes)
        costs = np.empty(len(self.program.members))
        counts = self.program.united(by_leaf)
        covers = counts
        if classes.covers is not classes.counts:
            covers = self.program.united(np.ascontiguousarray(classes.covers[classes.group].T))
        steps, large, least = self.program.steps, classes.large, terms.promise.least
        if terms.squares and not len(self._least):
            square_costs(counts, covers, large, steps, float(least), terms.penalty, costs)
        else:
            block_costs(
                counts, covers, self._united_masks(classes.covered[:, classes.group].transpose(0, 2, 1)), spares,
                steps, self._starts, self._leaves, self._losses, self._own,
                large, least, self._least, terms.penalty, terms.squares, costs,
            )  # fmt: skip
        cost, state = self.program.solve(costs)
        return base + cost, state

    def _united_masks(self, masks: Words) -> Words:
        if not len(masks):
            return np.empty((0, len(self.program.leaves) + len(self.program.sums), masks.shape[2]), np.uint64)
        parts = []
        for mask in masks:
            rows = list(mask)
            for places in self.program.sums:
                rows.append(np.bitwise_or.reduce([rows[place] for place in places]))
            parts.append(np.array(rows))
        return np.array(parts)

    def _cells(self, contexts: Contexts, boxes: Sequence[Box], classes: ContextClasses) -> tuple[float, Floats]:
        """Return what the cells of the other attributes lose at least, and what suppressed rows lack to the full loss.

        What is not decided may lose as much as the coarsest recoding.
        """
        base, lost = 0.0, np.zeros(len(contexts.codes))
        for place, (a, box) in enumerate(zip(self.others, boxes, strict=True)):
            least, most = self._losses_of(a, box)
            base += least
            lost += most[contexts.codes[:, place]]
        spares = np.empty_like(classes.counts)
        gather(contexts.counts * (self.terms.full - lost)[:, None], classes.member, spares)
        return base, np.ascontiguousarray(spares.T)

    def _losses_of(self, attribute: int, box: Box) -> tuple[float, Floats]:
        key = (attribute, box.state, box.complete)
        if key not in self._known:
            space, loss = self.spaces[attribute], self.terms.losses[attribute]
            least = loss(space.quasi, space.recode(box.state))
            most = least if box.complete else loss(space.quasi, space[space.coarsest])
            self._known[key] = (float(least @ space.quasi.rows), most)
        return self._known[key]
