"""Partitions of an attribute's values: all that a scheme allows, each exactly once, upwards by merging and downwards by
splitting.

Every scheme is a tree of *branches* whose children are values or further branches, and a rule that says how the
children of a branch may be merged: all of them or none (`cut`), in runs (`ordered`), or in any way (`set`). A child
that is merged with others is *complete*: everything below it is one block. The free schemes have one branch with all
values below it, the guided ones follow the hierarchy. A partition is written as one restricted growth string per
branch: for each child the number of its block, blocks numbered as they are first met.

Branches are numbered with children before their parents. A step upwards changes the last branch in which anything is
merged, or one behind it; a step downwards the first branch in which anything is split, or one before it. So the way to
each partition is unique: the last step back is the last step of that branch.

Li and Li: Towards optimal k-anonymization. Data and Knowledge Engineering 65, 2008, section 3. Figures 6 and 7 there
repeat partitions; the rules here do not. The number of guided partitions below a node v is N(v): the sum, over the
partitions of v's children, of the product of N(c) over the children c left alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb, prod

from ringfence.search.recode.labelling import Labelling, State

Blocks = tuple[int, ...]
"""A partition of the children of one branch, as a restricted growth string."""


@dataclass(frozen=True)
class Branch:
    """Children that may be merged by a rule. A child from 0 on is a value; ~i is the branch numbered i."""

    children: tuple[int, ...]
    rule: "Rule"

    @property
    def apart(self) -> Blocks:
        """All children left alone."""
        return tuple(range(len(self.children)))

    @property
    def together(self) -> Blocks:
        """The coarsest that the rule allows."""
        return self.rule.coarsest(len(self.children))


@dataclass(frozen=True)
class Rule:
    """How the children of a branch may be merged.

    `merges` and `splits` give the next partitions, upwards from all apart and downwards from all together; each
    partition is met once. `mergeable` marks the children that are complete. `highest` and `lowest` are the coarsest
    and the finest partition that further steps from here can reach, all steps together. `allows` says whether a
    partition is one of the rule's.
    """

    coarsest: Callable[[int], Blocks]
    merges: Callable[[Blocks, Sequence[bool]], Iterator[Blocks]]
    splits: Callable[[Blocks], Iterator[Blocks]]
    highest: Callable[[Blocks, Sequence[bool]], Blocks]
    lowest: Callable[[Blocks], Blocks]
    count: Callable[[Sequence[int]], int]
    allows: Callable[[Blocks], bool]


def renumbered(blocks: Sequence[int]) -> Blocks:
    """Return a partition with its blocks numbered as they are first met."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(block, len(numbers)) for block in blocks)


def _one_block(size: int) -> Blocks:
    return (0,) * size


def _apart(blocks: Blocks) -> bool:
    return blocks[-1] == len(blocks) - 1


# All or none


def _merge_all(blocks: Blocks, mergeable: Sequence[bool]) -> Iterator[Blocks]:
    if _apart(blocks) and len(blocks) > 1 and all(mergeable):
        yield _one_block(len(blocks))


def _split_all(blocks: Blocks) -> Iterator[Blocks]:
    if not _apart(blocks):
        yield tuple(range(len(blocks)))


CUT = Rule(
    coarsest=_one_block,
    merges=_merge_all,
    splits=_split_all,
    highest=lambda blocks, mergeable: next(_merge_all(blocks, mergeable), blocks),
    lowest=lambda blocks: tuple(range(len(blocks))),
    count=lambda below: prod(below) + (len(below) > 1),
    allows=lambda blocks: _apart(blocks) or not any(blocks),
)


# Runs: merged or cut between neighbours, one joint after the other


def _joints(blocks: Blocks) -> list[int]:
    """Return the places i at which the children i and i + 1 are merged."""
    return [i for i in range(len(blocks) - 1) if blocks[i] == blocks[i + 1]]


def _from_joints(joined: set[int], size: int) -> Blocks:
    blocks = [0] * size
    for i in range(1, size):
        blocks[i] = blocks[i - 1] + (i - 1 not in joined)
    return tuple(blocks)


def _merge_runs(blocks: Blocks, mergeable: Sequence[bool]) -> Iterator[Blocks]:
    """Merge at a joint behind the last merged one: the way to a partition merges its joints from left to right."""
    joined = _joints(blocks)
    for i in range(joined[-1] + 1 if joined else 0, len(blocks) - 1):
        if mergeable[i] and mergeable[i + 1]:
            yield _from_joints({*joined, i}, len(blocks))


def _split_runs(blocks: Blocks) -> Iterator[Blocks]:
    """Cut at a joint behind the last cut."""
    joined = _joints(blocks)
    for i in range(_last_cut(blocks) + 1, len(blocks) - 1):
        yield _from_joints({*joined} - {i}, len(blocks))


def _last_cut(blocks: Blocks) -> int:
    return max((i for i in range(len(blocks) - 1) if blocks[i] != blocks[i + 1]), default=-1)


def _highest_runs(blocks: Blocks, mergeable: Sequence[bool]) -> Blocks:
    joined = _joints(blocks)
    free = range(joined[-1] + 1 if joined else 0, len(blocks) - 1)
    return _from_joints({*joined, *(i for i in free if mergeable[i] and mergeable[i + 1])}, len(blocks))


def _lowest_runs(blocks: Blocks) -> Blocks:
    return _from_joints({i for i in _joints(blocks) if i <= _last_cut(blocks)}, len(blocks))


def _count_runs(below: Sequence[int]) -> int:
    """Add up over the length of the last run: one child left alone, or a longer run of complete children."""
    ways = [1]
    for size in range(1, len(below) + 1):
        ways.append(ways[-1] * below[size - 1] + sum(ways[: size - 1]))
    return ways[-1]


def _are_runs(blocks: Blocks) -> bool:
    return all(left <= right for left, right in pairwise(blocks))


RUNS = Rule(_one_block, _merge_runs, _split_runs, _highest_runs, _lowest_runs, _count_runs, _are_runs)


# Sets


def _members(blocks: Blocks) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(max(blocks) + 1)]
    for child, block in enumerate(blocks):
        members[block].append(child)
    return members


def _last_shared(members: list[list[int]]) -> int:
    """Return the last block with two or more children, the first if there is none."""
    return max((b for b, children in enumerate(members) if len(children) > 1), default=0)


def _moves(blocks: Blocks, mergeable: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Return the pairs (child, block) such that the child, alone so far, may join the block.

    Let L be the last block with two or more children (the first block if there is none). Only a child behind L moves,
    into L or a block behind it, and only if it comes after all of that block's children. The way to a partition fills
    its blocks from first to last, each in rising order: to go back, take the last child out of the last block of two
    or more.
    """
    members = _members(blocks)
    last = _last_shared(members)
    for block in range(last + 1, len(members)):
        child = members[block][0]
        for into in range(last, block):
            if members[into][-1] < child and mergeable[child] and all(mergeable[other] for other in members[into]):
                yield child, into


def _merge_sets(blocks: Blocks, mergeable: Sequence[bool]) -> Iterator[Blocks]:
    for child, into in _moves(blocks, mergeable):
        yield renumbered([*blocks[:child], into, *blocks[child + 1 :]])


def _split_sets(blocks: Blocks) -> Iterator[Blocks]:
    """Split the last block in two in every way.

    To go back, merge the last two blocks: the later one has the larger first child, so it was split off.
    """
    last = max(blocks)
    _, *rest = [child for child, block in enumerate(blocks) if block == last]
    for size in range(1, len(rest) + 1):
        for leaving in combinations(rest, size):
            split = list(blocks)
            for child in leaving:
                split[child] = last + 1
            yield tuple(split)


def _highest_sets(blocks: Blocks, mergeable: Sequence[bool]) -> Blocks:
    """Join along all moves: children alone behind the last block join each other, and that block if one may join it.

    Whoever joins a block later comes after all its children then, so also after those of now: that move is among these.
    """
    members = _members(blocks)
    last = _last_shared(members)
    joining = {children[0] for children in members[last + 1 :] if mergeable[children[0]]}
    if joining and max(joining) > members[last][-1] and all(mergeable[child] for child in members[last]):
        joining.update(members[last])
    first = min((blocks[child] for child in joining), default=0)
    return renumbered([first if child in joining else block for child, block in enumerate(blocks)])


def _lowest_sets(blocks: Blocks) -> Blocks:
    last = max(blocks)
    return renumbered([-child - 1 if block == last else block for child, block in enumerate(blocks)])


def _count_sets(below: Sequence[int]) -> int:
    """Add up over the children left alone, c, whose product of N counts, and over the partitions of the others without
    single ones."""
    ways = [1]  # coefficients by how many children are left alone: elementary symmetric sums
    for count in below:
        ways = [a + b * count for a, b in zip([*ways, 0], [0, *ways], strict=True)]
    coupled = [1, 0]  # partitions of n without single ones: choose who shares the block of the last
    for n in range(2, len(below) + 1):
        coupled.append(sum(comb(n - 1, size) * coupled[n - 1 - size] for size in range(1, n)))
    return sum(ways[alone] * coupled[len(below) - alone] for alone in range(len(below) + 1))


SETS = Rule(_one_block, _merge_sets, _split_sets, _highest_sets, _lowest_sets, _count_sets, lambda _: True)


# Never: the groups within which a boundary keeps values, side by side

NEVER = Rule(
    coarsest=lambda size: tuple(range(size)),
    merges=lambda _blocks, _mergeable: iter(()),
    splits=lambda _blocks: iter(()),
    highest=lambda blocks, _mergeable: blocks,
    lowest=lambda blocks: blocks,
    count=prod,
    allows=_apart,
)


class Partitions:
    """All partitions that a tree of branches allows, as a search tree upwards and one downwards.

    `branches` come with children before their parents, the root last.

    >>> three = Partitions([Branch((0, 1, 2), SETS)])
    >>> list(three.coarser(three.finest))
    [((0, 0, 1),), ((0, 1, 0),), ((0, 1, 1),)]
    >>> three.count
    5
    """

    def __init__(self, branches: Sequence[Branch]) -> None:
        self.branches = list(branches)
        self._parent: dict[int, tuple[int, int]] = {
            ~child: (i, place)
            for i, branch in enumerate(self.branches)
            for place, child in enumerate(branch.children)
            if child < 0
        }
        self.labelling = Labelling(self.branches)
        self.finest: State = tuple(branch.apart for branch in self.branches)
        self.coarsest: State = tuple(branch.together for branch in self.branches)

    @property
    def count(self) -> int:
        """How many partitions there are, by the closed form."""
        counts: list[int] = []
        for branch in self.branches:
            counts.append(branch.rule.count([1 if child >= 0 else counts[~child] for child in branch.children]))
        return counts[-1]

    def coarser(self, state: State) -> Iterator[State]:
        """Return the children of a partition in the search tree upwards: each merges some blocks of it."""
        for i in range(self._last_merged(state), len(self.branches)):
            for blocks in self.branches[i].rule.merges(state[i], self._complete(state, i)):
                yield (*state[:i], blocks, *state[i + 1 :])

    def finer(self, state: State) -> Iterator[State]:
        """Return the children of a partition in the search tree downwards: each splits a block of it."""
        for i in range(self._last_split(state), -1, -1):
            if self._alone(state, i):
                for blocks in self.branches[i].rule.splits(state[i]):
                    yield (*state[:i], blocks, *state[i + 1 :])

    def highest(self, state: State) -> State:
        """Return a partition coarser than all below this one in the search tree upwards, or equal to them."""
        reached = list(state)
        for i in range(self._last_merged(state), len(self.branches)):
            # A branch that can become one block counts as one: what can only be merged then is merged here.
            reached[i] = self.branches[i].rule.highest(state[i], self._complete(reached, i))
        return tuple(reached)

    def lowest(self, state: State) -> State:
        """Return a partition finer than all below this one in the search tree downwards, or equal to them."""
        reached = list(state)
        for i in range(self._last_split(state), -1, -1):
            if self._alone(reached, i):
                reached[i] = self.branches[i].rule.lowest(state[i])
        return tuple(reached)

    def allows(self, state: State) -> bool:
        """Whether each branch is as its rule has it, if children that are merged with others are complete."""
        return all(branch.rule.allows(blocks) for branch, blocks in zip(self.branches, state, strict=True))

    def _last_merged(self, state: State) -> int:
        """Return the last branch with merged children; the first branch if there is none."""
        return max((i for i, blocks in enumerate(state) if not _apart(blocks)), default=0)

    def _last_split(self, state: State) -> int:
        """Return the first branch whose children are not all together, the last if there is none: parents come first on
        the way down."""
        split = (i for i, branch in enumerate(self.branches) if state[i] != branch.together)
        return min(split, default=len(self.branches) - 1)

    def _complete(self, state: Sequence[Blocks], i: int) -> list[bool]:
        return [child >= 0 or max(state[~child]) == 0 for child in self.branches[i].children]

    def _alone(self, state: Sequence[Blocks], i: int) -> bool:
        """Whether a branch is merged with no other, so that its own children may be split."""
        if i not in self._parent:
            return True
        over, place = self._parent[i]
        return state[over].count(state[over][place]) == 1 and self._alone(state, over)
