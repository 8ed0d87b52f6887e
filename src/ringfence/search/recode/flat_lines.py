"""Lines of an attribute all of whose values may be merged in runs, or in any way: thousands of them at once.

What `run_lines` makes of any tree of branches, for the one branch that runs and sets without boundaries have. Values
stand in an order; *cuts* are where blocks of now begin, and *begins* where units do, both with the end.
"""

from random import Random

import numpy as np

from ringfence.arrays import Longs
from ringfence.census.census import Quasi
from ringfence.kernels.recode.priced_paths import NOBODY
from ringfence.search.recode.line_blocks import Shape

STEPS = (1, 2, 4, 8, 16, 32)
"""How far apart new cuts around those of now are tried, in values."""

SHUFFLED, IN_ORDER, TURNED, AROUND = 0.7, 0.6, 0.3, 0.6
"""How often blocks or their values are put into a random order, values of chunks into the attribute's own, this turned
to begin anywhere; and how often new cuts are tried around those of now."""


def in_runs(children: Longs, labels: Longs) -> tuple[Longs, Longs]:
    """Return values in their order, and where the blocks of now begin."""
    marks = labels[children]
    return children, np.concatenate([[0], np.flatnonzero(marks[1:] != marks[:-1]) + 1, [len(children)]])


def as_runs(quasi: Quasi, children: Longs, labels: Longs) -> tuple[Longs, Longs]:
    """Return values by block, both in the attribute's order, and where blocks begin: as runs, if that is what they
    are."""
    ranked = children[np.argsort(quasi.ranks[children], kind="stable")]
    _, first, block = np.unique(labels[ranked], return_index=True, return_inverse=True)
    order = np.argsort(first[block.reshape(-1)], kind="stable")
    return in_runs(ranked[order], labels)


def in_sets(quasi: Quasi, children: Longs, labels: Longs, draw: Random, *, ranked: bool) -> tuple[Longs, Longs]:
    """Return values by block, both in a random order mostly; and where blocks begin. If they are to be `ranked`, the
    values of most blocks stand in the attribute's order."""
    rng = np.random.default_rng(draw.getrandbits(63))
    _, block = np.unique(labels[children], return_inverse=True)
    block = block.reshape(-1)
    blocks, many = int(block.max()) + 1, len(children)
    by_block = rng.permutation(blocks) if draw.random() < SHUFFLED else np.arange(blocks)
    within = np.where((rng.random(blocks) < SHUFFLED)[block], rng.permutation(many), np.arange(many))
    if ranked:
        turns = np.where(rng.random(blocks) < TURNED, rng.integers(0, len(labels), blocks), 0)
        ranks = (quasi.ranks[children] + turns[block]) % len(labels)
        within = np.where((rng.random(blocks) < IN_ORDER)[block], ranks, within)
    order = np.lexsort([within, by_block[block]])
    sizes = np.bincount(by_block[block], minlength=blocks)
    return children[order], np.concatenate([[0], np.cumsum(sizes)])


def pieces(quasi: Quasi, leaves: Longs, cuts: Longs, most: int, draw: Random) -> Longs:
    """Cut runs into about so many units at most: around the cuts of now, or so that units have as many rows each."""
    blocks = len(cuts) - 1
    free = max(most - blocks, blocks // 2)
    if blocks > 1 and draw.random() < AROUND:
        step, each = draw.choice(STEPS), max(1, free // (2 * blocks))
        tried = (cuts[1:-1, None] + step * np.arange(-each, each + 1)[None, :]).reshape(-1)
    else:
        rows = np.cumsum(quasi.rows[leaves])
        tried = np.searchsorted(rows, (np.arange(free) + draw.random()) / free * rows[-1]) + 1
    return np.unique(np.concatenate([cuts, np.clip(tried, 0, len(leaves))]))


def chunks(cuts: Longs, most: int) -> Longs:
    """Cut blocks of sets into about so many units at most, of about the same size."""
    sizes = np.diff(cuts)
    free = max(most - len(sizes), len(sizes) // 2)
    parts = np.minimum(sizes, 1 + free * sizes // cuts[-1])
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    begins = np.repeat(cuts[:-1], parts) + number * np.repeat(sizes, parts) // np.repeat(parts, parts)
    return np.concatenate([begins, cuts[-1:]])


def segments(begins: Longs, cuts: Longs, most: int, draw: Random) -> list[int]:
    """Return the units at which segments end: where a block does, after about so many, the first one anywhere."""
    units = len(begins) - 1
    if units <= 2 * most:
        return [units]
    ends: list[int] = []
    start, room = 0, draw.randint(max(1, most // 4), most)
    last = 0
    for stop in np.searchsorted(begins, cuts[1:]).tolist():
        if last > start and stop - start > room:
            ends.append(last)
            start, room = last, most
        last = stop
    return [*ends, units]


def shape_of(ends: list[int]) -> Shape:
    """Return how units hang together: in a branch for each segment, and one above that merges nothing."""
    units, several = ends[-1], len(ends) > 1
    sizes = np.diff([0, *ends])
    segment = np.repeat(np.arange(len(ends)), sizes)
    child = np.arange(units) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    above = np.arange(len(ends) if several else 0)
    stops = np.cumsum(sizes)
    every = np.concatenate([sizes, [len(ends)]]) if several else sizes
    merges = np.arange(len(every)) < len(ends)
    return Shape(
        starts=np.concatenate([[0], np.cumsum(every)]),
        sizes=every,
        kinds=np.concatenate([np.full(units, NOBODY), above]),
        first=np.concatenate([np.arange(units), (stops - sizes)[above]]),
        last=np.concatenate([np.arange(units), (stops - 1)[above]]),
        offsets=np.concatenate([[0], np.cumsum(np.where(merges, (every + 1) ** 2, 0))]),
        merges=merges,
        branch=segment[None, :].astype(np.int64),
        child=child[None, :].astype(np.int64),
    )
