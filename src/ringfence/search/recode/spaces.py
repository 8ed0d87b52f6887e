"""Spaces: the recodings of one attribute that a scheme allows, numbered as a search meets them.

Partitions are of the values that occur. Those that only the hierarchy knows follow: the guided schemes and `cut` merge
whole subtrees, with such values in them; the free ones leave them as they are, unless everything is merged. A boundary
divides the values into groups of equal ceiling, and no block reaches across: a run of an ordered scheme is one among
the values of its group.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.census.census import Quasi
from ringfence.declared import Scheme
from ringfence.errors import SpecError
from ringfence.search.recode.partitions import CUT, NEVER, RUNS, SETS, Branch, Partitions, Rule
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.recoding import Recoding, at_level, by_blocks, by_nodes, namer

FREE = ("ordered", "set")
"""Schemes that follow no hierarchy."""

RULES: dict[str, Rule] = {
    "cut": CUT,
    "ordered": RUNS,
    "set": SETS,
    "guided-ordered": RUNS,
    "guided-set": SETS,
}


class Space:
    """The recodings of an attribute under a scheme, each with a position that it gets when it is first asked for.

    There are two search trees: upwards from the finest recoding by merging, downwards from the coarsest by splitting.
    """

    walk: "Levels | Partitions"
    _recode: Callable[[Any], Recoding]

    def __init__(self, quasi: Quasi, scheme: Scheme) -> None:
        self.quasi = quasi
        self.scheme = scheme
        self.walk, self._recode = _levels(quasi) if scheme == "level" else _partitions(quasi, scheme)
        self._states: list[Any] = []
        self._positions: dict[Any, int] = {}
        self._lock = Lock()
        self._recodings: list[Recoding] = []
        self._children: dict[tuple[bool, int], list[int]] = {}
        self._ends: dict[tuple[bool, int], int] = {}
        self.finest = self.position(self.walk.finest)
        self.coarsest = self.position(self.walk.coarsest)

    @property
    def widest(self) -> int:
        """The largest number of children that may be merged in any way."""
        branches = self.walk.branches if isinstance(self.walk, Partitions) else []
        return max((len(branch.children) for branch in branches if branch.rule is SETS), default=0)

    def __len__(self) -> int:
        return len(self._recodings)

    def __getitem__(self, position: int) -> Recoding:
        return self._recodings[position]

    def recode(self, state: Any) -> Recoding:
        """Return the recoding of a state of the walk."""
        return self._recode(self.walk.blocks(state) if isinstance(self.walk, Partitions) else state)

    def merging(self, leaves: Sequence[int]) -> Recoding:
        """Return a recoding that has these leaves as a block, one that the scheme allows."""
        if isinstance(self.walk, Partitions):
            return self._recode([list(leaves)])
        recodings = (self.recode(level) for level in self.walk.levels)
        return next(found for found in recodings if len({*found.blocks[list(leaves)].tolist()}) == 1)

    def state(self, position: int) -> Any:
        """Return the state of the walk at a position."""
        return self._states[position]

    def level(self, position: int) -> int | None:
        """Return the level of a recoding, where the scheme has levels."""
        return int(self._states[position]) if self.scheme == "level" else None

    def children(self, position: int, *, up: bool) -> list[int]:
        """Return the children of a recoding in one of the search trees."""
        if (up, position) not in self._children:
            step = self.walk.coarser if up else self.walk.finer
            self._children[up, position] = [self.position(state) for state in step(self._states[position])]
        return self._children[up, position]

    def end(self, position: int, *, up: bool) -> int:
        """Return a recoding at least as coarse (or as fine) as all below this one in one of the search trees."""
        if (up, position) not in self._ends:
            state = self._states[position]
            self._ends[up, position] = self.position(self.walk.highest(state) if up else self.walk.lowest(state))
        return self._ends[up, position]

    def position(self, state: Any) -> int:
        """Return the position of a state of the walk."""
        if state not in self._positions:
            with self._lock:  # threads of a search meet new states at the same time
                if state not in self._positions:
                    self._recodings.append(self.recode(state))
                    self._states.append(state)
                    self._positions[state] = len(self._states) - 1
        return self._positions[state]


class Levels:
    """The levels of a hierarchy that differ in what they merge of the values that occur; of equal ones, the lowest."""

    def __init__(self, quasi: Quasi) -> None:
        self.levels: list[int] = []
        met: set[tuple[int, ...]] = set()
        for level in range(quasi.hierarchy.height + 1):
            nodes = quasi.hierarchy.levels[level][quasi.rows > 0].tolist()
            merged = tuple(nodes.index(node) for node in nodes)
            if merged not in met:
                met.add(merged)
                self.levels.append(level)
        self.finest, self.coarsest = self.levels[0], self.levels[-1]

    @property
    def count(self) -> int:
        """How many levels there are."""
        return len(self.levels)

    def coarser(self, level: int) -> Iterator[int]:
        """Return the next level up."""
        return iter([later for later in self.levels if later > level][:1])

    def finer(self, level: int) -> Iterator[int]:
        """Return the next level down."""
        return iter([earlier for earlier in self.levels if earlier < level][-1:])

    def highest(self, level: int) -> int:  # noqa: ARG002
        """Return the top level."""
        return self.coarsest

    def lowest(self, level: int) -> int:  # noqa: ARG002
        """Return the bottom level."""
        return self.finest


def _levels(quasi: Quasi) -> tuple["Levels", Callable[[int], Recoding]]:
    return Levels(quasi), lambda level: at_level(quasi.hierarchy, level)


def _partitions(quasi: Quasi, scheme: str) -> tuple[Partitions, Callable[[list[list[int]]], Recoding]]:
    """Return the partitions of a scheme, and how blocks of them are published; values in none of these stay alone."""
    hierarchy, rule = quasi.hierarchy, RULES[scheme]
    branches: list[Branch] = []
    groups = _groups(quasi)
    if scheme in FREE:
        tops = [_add(branches, sorted(group, key=lambda leaf: quasi.ranks[leaf]), rule) for group in groups]
    else:
        tops = [_follow(branches, quasi, group, rule, ordered=scheme == "guided-ordered") for group in groups]
    if len(tops) > 1 or tops[0] >= 0:
        branches.append(Branch(tuple(tops), NEVER))
    partitions = Partitions(branches)

    if scheme == "cut":
        return partitions, lambda blocks: _cut(hierarchy, blocks)
    occurring = np.flatnonzero(quasi.rows > 0)
    name = namer(hierarchy, line=quasi.line, in_ranges=scheme in ("ordered", "guided-ordered"))

    def recode(merged: list[list[int]]) -> Recoding:
        blocks = np.arange(hierarchy.leaves, dtype=np.int32)
        for block in merged:
            if len(block) > 1 and (scheme not in FREE or len(block) == len(occurring)):
                members = covered_by(quasi, block)
            else:
                members = np.array(block)
            blocks[members] = members.min()
        return by_blocks(hierarchy, blocks, name)

    return partitions, recode


def _cut(hierarchy: Hierarchy, blocks: list[list[int]]) -> Recoding:
    """Return the recoding that publishes each block as the lowest node above it, with all below that may be."""
    nodes = np.arange(hierarchy.leaves, dtype=np.int32)
    for block in blocks:
        if len(block) > 1:
            node = hierarchy.common_ancestor(block)
            below = np.arange(hierarchy.first[node], hierarchy.stop[node])
            nodes[below[hierarchy.ceilings[below] == hierarchy.ceilings[block[0]]]] = node
    return by_nodes(hierarchy, nodes)


def _groups(quasi: Quasi) -> list[list[int]]:
    """Return the values that occur in groups of equal ceiling."""
    groups: dict[int, list[int]] = {}
    for leaf in np.flatnonzero(quasi.rows > 0).tolist():
        groups.setdefault(int(quasi.hierarchy.ceilings[leaf]), []).append(leaf)
    return list(groups.values())


def _add(branches: list[Branch], children: list[int], rule: Rule) -> int:
    """Add a branch over some children; return it as a child, or the only child as it is."""
    if len(children) == 1:
        return children[0]
    branches.append(Branch(tuple(children), rule))
    return ~(len(branches) - 1)


def _follow(branches: list[Branch], quasi: Quasi, leaves: list[int], rule: Rule, *, ordered: bool) -> int:
    """Add branches as the hierarchy has them over some leaves; groups of one value are that value."""
    if len(leaves) == 1:
        return leaves[0]
    hierarchy = quasi.hierarchy
    node = hierarchy.common_ancestor(leaves)
    parts: dict[int, list[int]] = {}
    for leaf in leaves:
        parts.setdefault(_below(hierarchy, leaf, node), []).append(leaf)
    if ordered:
        places = {leaf: place for place, leaf in enumerate(sorted(leaves, key=lambda leaf: quasi.ranks[leaf]))}
        for part, members in parts.items():
            spots = [places[leaf] for leaf in members]
            if max(spots) - min(spots) >= len(spots):
                raise SpecError(
                    f"attributes.{quasi.name}.order: the values under {hierarchy.labels[part]!r} do not stand side by"
                    " side in it, which the scheme 'guided-ordered' needs; change the order or the hierarchy, or choose"
                    " 'ordered' or 'guided-set'"
                )
        parts = dict(sorted(parts.items(), key=lambda item: min(places[leaf] for leaf in item[1])))
    return _add(branches, [_follow(branches, quasi, part, rule, ordered=ordered) for part in parts.values()], rule)


def _below(hierarchy: Hierarchy, leaf: int, node: int) -> int:
    """Return the child of a node on a leaf's way up to it."""
    child = leaf
    while hierarchy.parent[child] != node:
        child = int(hierarchy.parent[child])
    return child


def covered_by(quasi: Quasi, block: list[int], above: int | None = None) -> npt.NDArray[np.int64]:
    """Return the leaves of the whole subtrees that a block of a guided scheme merges, as far as its boundary reaches.

    They are children of one node; if all of them that occur are merged, it is the node itself. So a larger block never
    has fewer leaves. (A block of a free scheme with all values that occur is such a node, too.) With a node `above`,
    the block is some of its children, however many.
    """
    hierarchy = quasi.hierarchy
    node = hierarchy.common_ancestor(block) if above is None else above
    inside: npt.NDArray[np.int64] = np.arange(hierarchy.first[node], hierarchy.stop[node])
    inside = inside[hierarchy.ceilings[inside] == hierarchy.ceilings[block[0]]]
    if above is not None or len(block) < (quasi.rows[inside] > 0).sum():
        merged = sorted({_below(hierarchy, leaf, node) for leaf in block}, key=lambda child: hierarchy.first[child])
        inside = np.concatenate([np.arange(hierarchy.first[child], hierarchy.stop[child]) for child in merged])
        inside = inside[hierarchy.ceilings[inside] == hierarchy.ceilings[block[0]]]
    return inside
