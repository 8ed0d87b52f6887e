"""Single values of a set moved from one block to another, the best move first.

Paths over one order of many (`lines`) miss moves between blocks that do not stand side by side. With k as the only
promise, and a loss that is the same for all rows of a block, what every move gains is known from one table of contexts
and blocks.
"""

from dataclasses import dataclass

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import CELLS, Watched
from ringfence.kernels.recode.rooms import Room
from ringfence.kernels.recode.value_moves import move_sums
from ringfence.search.recode.covering import covered_by
from ringfence.search.recode.line_blocks import SetBlocks, in_places
from ringfence.search.recode.partitions import SETS, Partitions
from ringfence.search.recode.run_lines import MOST_UNITS
from ringfence.search.recode.spaces import FREE, Space

MOST_CELLS = 4_000_000
"""Of a table of contexts and blocks."""

MOST_MOVES = 8
"""So many values are moved before other attributes have their turn."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves the values of one attribute. `place` and `placed` are as those of a line whose units are single values."""

    loss: BlockLoss
    watched: Watched
    values: Longs
    everything: Longs
    place: Longs
    placed: Ints

    def moved(
        self, size: int, contexts: int, room: Room, labels: Longs, gone: float, price: float, limit: float
    ) -> Longs | None:
        """Return labels after some moves that are cheaper at a price, and suppress no more than a limit; None if there
        are none.

        `gone` is how many rows are suppressed now.
        """
        _, block = np.unique(labels[self.values], return_inverse=True)
        block, many = block.reshape(-1).astype(np.int64), len(self.values)
        first = block.copy()
        for _ in range(MOST_MOVES):
            blocks = int(block.max()) + 2
            if contexts * blocks > MOST_CELLS:
                break
            now, without, joined = np.zeros((blocks, 2)), np.zeros((many, 2)), np.zeros((many, blocks, 2))
            move_sums(size, contexts, room, self.watched.k, block, blocks, now, without, joined)
            gains, lost = self._gains(block, blocks, now, without, joined, price)
            gains[gone + lost > limit] = np.inf
            value, into = divmod(int(gains.argmin()), blocks)
            if gains[value, into] >= -1e-7:
                break
            gone += float(lost[value, into])
            block[value] = into
            block = np.unique(block, return_inverse=True)[1].reshape(-1)
        if (block == first).all():
            return None
        smallest = np.full(many, len(labels), np.int64)
        np.minimum.at(smallest, block, self.values)
        found = np.zeros_like(labels)
        found[self.values] = smallest[block]
        return found

    def _gains(
        self, block: Longs, blocks: int, now: Floats, without: Floats, joined: Floats, price: float
    ) -> tuple[Floats, Floats]:
        """Return by value and block how much dearer it is to move it there, and how many rows more that suppresses."""
        many, own = len(block), np.arange(len(block))
        inside = np.zeros((blocks, many), np.bool_)
        inside[block, own] = True
        left = inside[block]
        left[own, own] = False
        with_it = np.repeat(inside[None], many, axis=0)
        with_it[own, :, own] = True
        every = np.concatenate([inside, left, with_it.reshape(many * blocks, many)])
        shown = SetBlocks(self.loss.quasi, self.values, self.everything, every)
        flat, rows = self.loss.flat(shown), shown.rows
        here = flat[:blocks] * (rows[:blocks] - now[:, 1]) + now[:, 0] + price * now[:, 1]
        fewer, middle = now[block] + without, slice(blocks, blocks + many)
        after = flat[middle] * (rows[middle] - fewer[:, 1]) + fewer[:, 0] + price * fewer[:, 1]
        after[rows[middle] == 0] = 0.0
        more, end = now[None] + joined, blocks + many
        full = flat[end:].reshape(many, blocks) * (rows[end:].reshape(many, blocks) - more[:, :, 1])
        full += more[:, :, 0] + price * more[:, :, 1]
        gains = full - here[None] + (after - here[block])[:, None]
        gains[own, block] = np.inf
        gains[rows[middle] == 0, blocks - 1] = np.inf  # alone already
        return gains, joined[:, :, 1] + without[:, 1][:, None]


def moves_for(space: Space, loss: BlockLoss, watched: Watched, codes: Ints) -> Moves | None:
    """Return what moves the values of an attribute, where that can be told."""
    walk = space.walk
    plain = watched.cost == CELLS and not len(watched.kind) and loss.cell is not None
    if not plain or space.scheme not in FREE or not isinstance(walk, Partitions) or len(walk.branches) > 1:
        return None
    branch = walk.branches[0]
    if branch.rule is not SETS or not 2 < len(branch.children) <= MOST_UNITS:
        return None
    values = np.sort(np.array(branch.children, np.int64))
    place = np.zeros(len(loss.tally), np.int64)
    place[values] = np.arange(len(values))
    everything = covered_by(space.quasi, values.tolist())
    return Moves(loss, watched, values, everything, place, in_places(codes, place, len(values)))
