"""Kicks: partitions that differ from one by little, or by much, for searches that are stuck."""

from itertools import accumulate, pairwise
from random import Random
from typing import Any

from ringfence.search.recode.partitions import CUT, NEVER, RUNS, SETS, Blocks, Branch, renumbered
from ringfence.search.recode.programs import completed
from ringfence.search.recode.spaces import Levels, Space

MOST_CUTS = 64
"""A run that is cut anew has at most about so many cuts: thousands of them would be merged again one by one."""


def kicked(space: Space, state: Any, draw: Random) -> Any:
    """Return a partition that the space has: some joints of one cut or merged, values moved, or branches."""
    walk = space.walk
    if isinstance(walk, Levels):
        return draw.choice(walk.levels)
    branches = list(state)
    places = [place for place, branch in enumerate(walk.branches) if len(branch.children) > 1]
    if places:
        place = draw.choice(places)
        branches[place] = _kicked_branch(walk.branches[place], branches[place], draw)
    return completed(walk, branches)


def _kicked_branch(branch: Branch, blocks: Blocks, draw: Random) -> Blocks:
    if branch.rule is CUT or (len(blocks) == 2 and branch.rule is not NEVER):
        return branch.apart if blocks == branch.together else branch.together
    if branch.rule is RUNS:
        return _cut_otherwise(blocks, draw)
    if branch.rule is SETS:
        for _ in range(draw.choice((1, 2, 3))):
            blocks = _moved(blocks, draw)
    return blocks


def _cut_otherwise(blocks: Blocks, draw: Random) -> Blocks:
    joints = [int(left != right) for left, right in pairwise(blocks)]
    way = draw.random()
    if way < 0.15:
        return (0,) * len(blocks)
    if way < 0.3:
        share = draw.random() * min(1.0, MOST_CUTS / len(joints))
        joints = [int(draw.random() < share) for _ in joints]
    else:
        for _ in range(draw.choice((1, 1, 2, 3))):
            joints[draw.randrange(len(joints))] ^= 1
    return tuple(accumulate([0, *joints]))


def _moved(blocks: Blocks, draw: Random) -> Blocks:
    """Merge two blocks, or take a value out of its own: for itself, or for another one."""
    way, most = draw.random(), max(blocks)
    if way < 0.3 and most > 0:
        kept, gone = draw.sample(range(most + 1), 2)
        return renumbered([kept if block == gone else block for block in blocks])
    value = draw.randrange(len(blocks))
    into = most + 1 if way < 0.65 else draw.randint(0, most)
    return renumbered([*blocks[:value], into, *blocks[value + 1 :]])
