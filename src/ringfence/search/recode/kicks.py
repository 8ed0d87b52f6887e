"""Kicks: partitions that differ from one by little, or by much, for searches that are stuck."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Any

from ringfence.search.recode.partitions import CUT, NEVER, RUNS, SETS, Blocks, Branch, Partitions, renumbered
from ringfence.search.recode.programs import completed
from ringfence.search.recode.spaces import Levels, Space

MOST_CUTS = 64
"""A run that is cut anew has at most about so many cuts: thousands of them would be merged again one by one."""

BY_DEPTH = 0.25
"""How often the depth of the branch that is kicked is drawn first: of a large tree, nearly all branches are at its
ends."""

AS_RUNS = 0.5
"""How often large sets are kicked as runs are: of thousands of values, one that is moved changes nothing, and a cut
does."""


def kicked(space: Space, state: Any, draw: Random) -> Any:
    """Return a partition that the space has: some joints of one cut or merged, values moved, or branches."""
    walk = space.walk
    if isinstance(walk, Levels):
        return draw.choice(walk.levels)
    branches = list(state)
    by_depth = _free_branches(walk, state)
    if by_depth:
        if draw.random() < BY_DEPTH:
            by_depth = [draw.choice(by_depth)]
        place = draw.choice([place for places in by_depth for place in places])
        branches[place] = _kicked_branch(walk.branches[place], branches[place], draw)
    return completed(walk, branches)


def _free_branches(walk: Partitions, state: Sequence[Blocks]) -> list[list[int]]:
    """Return the branches whose kick is one of the partition, by their depth: below children that are merged with
    others, whatever is cut is merged again."""
    found: list[list[int]] = []
    here = [len(walk.branches) - 1] if walk.branches else []
    while here:
        open_here = [b for b in here if len(walk.branches[b].children) > 1 and walk.branches[b].rule is not NEVER]
        found += [open_here] if open_here else []
        below = []
        for b in here:
            blocks, sizes = state[b], Counter(state[b])
            below += [
                ~child
                for child, block in zip(walk.branches[b].children, blocks, strict=True)
                if child < 0 and sizes[block] == 1
            ]
        here = below
    return found


def _kicked_branch(branch: Branch, blocks: Blocks, draw: Random) -> Blocks:
    if branch.rule is CUT or (len(blocks) == 2 and branch.rule is not NEVER):
        return branch.apart if blocks == branch.together else branch.together
    if branch.rule is RUNS:
        return _cut_otherwise(blocks, draw)
    if branch.rule is SETS:
        if len(blocks) > MOST_CUTS and draw.random() < AS_RUNS:
            return _cut_otherwise(blocks, draw)
        for _ in range(draw.choice((1, 2, 3))):
            blocks = _moved(blocks, draw)
    return blocks


def _cut_otherwise(blocks: Blocks, draw: Random) -> Blocks:
    """Merge everything, cut everything anew into runs, or cut or merge at some joints: runs stay runs."""
    joints, way = len(blocks) - 1, draw.random()
    if way < 0.15 and max(blocks) > 0:
        return (0,) * len(blocks)
    if way < 0.3:
        share = draw.random() * min(1.0, MOST_CUTS / joints)
        return tuple(accumulate([0, *(int(draw.random() < share) for _ in range(joints))]))
    for _ in range(draw.choice((1, 1, 2, 3))):
        blocks = _toggled(blocks, draw.randrange(joints))
    return blocks


def _toggled(blocks: Blocks, joint: int) -> Blocks:
    """Merge the blocks on both sides of a joint; if they are one, cut it there: what is behind is a block of its
    own."""
    left, right = blocks[joint], blocks[joint + 1]
    if left != right:
        return renumbered([left if block == right else block for block in blocks])
    behind = (max(blocks) + 1 if block == left else block for block in blocks[joint + 1 :])
    return renumbered([*blocks[: joint + 1], *behind])


def _moved(blocks: Blocks, draw: Random) -> Blocks:
    """Merge two blocks, or take a value out of its own: for itself, or for another one."""
    way, most = draw.random(), max(blocks)
    if way < 0.3 and most > 0:
        kept, gone = draw.sample(range(most + 1), 2)
        return renumbered([kept if block == gone else block for block in blocks])
    value = draw.randrange(len(blocks))
    into = most + 1 if way < 0.65 else draw.randint(0, most)
    return renumbered([*blocks[:value], into, *blocks[value + 1 :]])
