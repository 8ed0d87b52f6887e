"""What the rows of whole blocks lose, whatever recoding the blocks are of.

A search that compares thousands of blocks at once cannot make a recoding of each. Under every loss of cells, a row in a
block loses a number of the block, less another one times a *tally* of the row's own value. For means over cells the
latter is none; under HDM it is what the block leaves out, and the tally that of `metrics.hdm_tallies`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ringfence.arrays import Floats
from ringfence.census.census import Census, Quasi
from ringfence.judging.losses import CellLoss, Covering, cell_loss
from ringfence.judging.metrics import hdm_tallies


class CountedBlocks(Covering, Protocol):
    """Blocks, entry by entry: what their labels cover, and how many rows they have."""

    @property
    def rows(self) -> Floats:
        """How many rows each block has."""


@dataclass(frozen=True, eq=False)
class BlockLoss:
    """The loss of one attribute's cells, scaled so that those of a suppressed row lose 1 over all attributes.

    A published row of leaf v in block b loses `flat(b) - by_tally(b) * tally[v]`.
    """

    quasi: Quasi
    share: float
    cell: CellLoss | None
    tally: Floats

    def flat(self, blocks: CountedBlocks) -> Floats:
        """Return what each row of a block loses, but for its tally."""
        if self.share == 0:
            return np.zeros(len(blocks.rows))
        if self.cell is None:
            return np.full(len(blocks.rows), self.share)
        return self.share * self.cell.of(self.quasi, blocks)

    def by_tally(self, blocks: CountedBlocks) -> Floats:
        """Return what rows of a block lose less for each unit of their tally."""
        if self.share == 0 or self.cell is not None:
            return np.zeros(len(blocks.rows))
        if self.quasi.occurring == 1:  # nothing can be confused: it loses 1 - 1
            return np.full(len(blocks.rows), self.share)
        outside: Floats = self.share * (self.quasi.rows.sum() - blocks.rows)
        return outside


def block_losses(name: str, census: Census) -> tuple[BlockLoss, ...]:
    """Return the loss of each attribute's cells under a metric; none of them loses anything under one of classes."""
    loss = cell_loss(name)
    if loss is None and name != "hdm":
        return tuple(BlockLoss(quasi, 0.0, None, np.zeros(quasi.hierarchy.leaves)) for quasi in census.quasi)
    weights = [quasi.weight if loss is None else loss.weight(quasi) for quasi in census.quasi]
    tallies = hdm_tallies(census) if loss is None else [np.zeros(quasi.hierarchy.leaves) for quasi in census.quasi]
    return tuple(
        BlockLoss(quasi, weight / sum(weights), loss, tally)
        for quasi, weight, tally in zip(census.quasi, weights, tallies, strict=True)
    )
