"""Spaces: the recodings of one attribute that a scheme allows, numbered as a search meets them.

Partitions are of the values that occur; those that only the hierarchy knows follow (`covering`). A boundary divides the
values into groups of equal ceiling, and no block reaches across: a run of an ordered scheme is one among the values of
its group.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from ringfence.arrays import Longs
from ringfence.census.census import Quasi
from ringfence.declared import Scheme
from ringfence.errors import SpecError
from ringfence.search.progress import MOST_COUNTED
from ringfence.search.recode.covering import nodes_over, with_everything, with_subtrees
from ringfence.search.recode.partitions import CUT, NEVER, RUNS, SETS, Branch, Partitions, Rule
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

LARGEST_COUNTED = 64
"""Partitions of more values than this are too many to be counted, in runs as in sets."""


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
        if isinstance(self.walk, Partitions):
            return self._recode(self.walk.labelling.of(state, self.quasi.hierarchy.leaves))
        return self._recode(state)

    def merging(self, leaves: Sequence[int]) -> Recoding:
        """Return a recoding that has these leaves as a block, one that the scheme allows."""
        if isinstance(self.walk, Partitions):
            labels = np.arange(self.quasi.hierarchy.leaves)
            labels[list(leaves)] = min(leaves)
            return self._recode(labels)
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
        return list(self.meet_children(position, up=up))

    def meet_children(self, position: int, *, up: bool) -> Iterator[int]:
        """Yield the children of a recoding one by one: of 300 values there are 45,000, and each takes time."""
        if (up, position) in self._children:
            yield from self._children[up, position]
            return
        step, met = self.walk.coarser if up else self.walk.finer, []
        for state in step(self._states[position]):
            met.append(self.position(state))
            yield met[-1]
        self._children[up, position] = met

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


def ruled_out(spaces: Sequence[Space], judged: int) -> int:
    """Return how many recodings were not looked at, MOST_COUNTED if that is not to be counted."""
    for space in spaces:
        branches = space.walk.branches if isinstance(space.walk, Partitions) else []
        if any(len(branch.children) > LARGEST_COUNTED for branch in branches):
            return MOST_COUNTED
    return min(MOST_COUNTED, max(0, prod(space.walk.count for space in spaces) - judged))


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


def _partitions(quasi: Quasi, scheme: str) -> tuple[Partitions, Callable[[Longs], Recoding]]:
    """Return the partitions of a scheme, and how they are published, by the smallest value of each one's block."""
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
        return partitions, lambda labels: by_nodes(
            hierarchy, nodes_over(quasi, with_subtrees(quasi, labels, nodes=True))
        )
    in_ranges = scheme in ("ordered", "guided-ordered")
    name = namer(hierarchy, line=quasi.line, in_ranges=in_ranges, fanned=quasi.fanned)
    covering = with_everything if scheme in FREE else with_subtrees
    return partitions, lambda labels: by_blocks(hierarchy, covering(quasi, labels).astype(np.int32), name)


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
    """Add branches as the hierarchy has them over some leaves, which rise; groups of one value are that value."""
    hierarchy, top = quasi.hierarchy, quasi.hierarchy.common_ancestor(leaves)
    parent = hierarchy.parent.tolist()
    children: dict[int, list[int]] = {}
    for leaf in leaves:
        node, new = leaf, True
        while new and node != top:
            above = parent[node]
            new = above not in children
            children.setdefault(above, []).append(node)
            node = above
    place = np.argsort(np.argsort(quasi.ranks[leaves], kind="stable")).tolist()

    def places(node: int) -> list[int]:
        """Where the values below a node stand in the attribute's order."""
        start, stop = (bisect_left(leaves, int(end[node])) for end in (hierarchy.first, hierarchy.stop))
        found: list[int] = place[start:stop]
        return found

    def add(node: int) -> int:
        while len(parts := children.get(node, [])) == 1:
            node = parts[0]
        if not parts:
            return node
        if ordered:
            spots = {part: places(part) for part in parts}
            for part, of in spots.items():
                if max(of) - min(of) >= len(of):
                    raise SpecError(
                        f"attributes.{quasi.name}.order: the values under {hierarchy.labels[part]!r} do not stand side"
                        " by side in it, which the scheme 'guided-ordered' needs; change the order or the hierarchy, or"
                        " choose 'ordered' or 'guided-set'"
                    )
            parts = sorted(parts, key=lambda part: min(spots[part]))
        return _add(branches, [add(part) for part in parts], rule)

    return add(top)
