"""Lines of runs, or of sets in some order: a block for every run of units of a branch (`lines`).

Whatever the domain, a line takes bounded memory: a branch with more than `MOST_UNITS` values has about so many units,
and where more blocks than that are there already, runs reach only through *segments* of so many units. That is
MOST_UNITS times as many numbers as there are units.
"""

from itertools import pairwise
from random import Random

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.judging.block_losses import BlockLoss
from ringfence.kernels.recode.class_rules import Watched
from ringfence.kernels.recode.judged_runs import all_run_sums
from ringfence.kernels.recode.priced_paths import NOBODY, block_costs, cheapest_runs, cheapest_within
from ringfence.kernels.recode.rooms import Room
from ringfence.search.recode import flat_lines
from ringfence.search.recode.covering import covered_by
from ringfence.search.recode.line_blocks import Parts, RunBlocks, Shape, in_places, labelled
from ringfence.search.recode.partitions import NEVER, SETS, Partitions
from ringfence.search.recode.set_lines import LARGEST, SetLine, SubsetBlocks, all_sets
from ringfence.search.recode.spaces import FREE, Space
from ringfence.search.recode.tree_lines import TreeLines

MOST_UNITS = 128
"""How many units of a branch runs are made of."""

AS_RUNS = 0.5
"""How often large sets are improved as runs are: in the order of their values, around the cuts of now."""


class RunLine:
    """A line of runs, or of sets in some order."""

    place: Longs
    placed: Ints

    def __init__(
        self, loss: BlockLoss, codes: Ints, shape: Shape, blocks: RunBlocks, place: Longs, order: Longs
    ) -> None:
        self._loss, self._shape, self._order = loss, shape, order
        places = shape.branch.shape[1]
        self.place, self.placed = place, in_places(codes, place, places)
        self._rows = blocks.rows
        self._tallies = blocks.total(loss.quasi.rows * loss.tally) if loss.tally.any() else np.zeros(len(self._rows))
        self._flat, self._by_tally = loss.flat(blocks), loss.by_tally(blocks)
        self._chosen = np.zeros(places, np.int64)
        self._costs, self._gone = np.zeros(len(self._rows)), np.zeros(len(self._rows))

    def fill(self, size: int, room: Room, watched: Watched) -> None:
        """Work out what every run costs and suppresses."""
        s = self._shape
        sums = np.zeros((s.blocks, 3))
        all_run_sums(size, room, watched, s.branch, s.child, s.sizes, s.offsets, sums)
        block_costs(sums, self._rows, self._tallies, self._flat, self._by_tally, self._costs, self._gone)

    def solve(self, price: float) -> tuple[float, float]:
        """Find the cheapest partition into runs."""
        s = self._shape
        return cheapest_runs(
            s.starts, s.sizes, s.kinds, s.first, s.last, s.offsets, s.merges, self._costs, self._gone, price,
            self._chosen,
        )  # fmt: skip

    def steps_within(self, limit: int) -> int:
        """Return about how many steps `solve_within` takes."""
        below = int((self._shape.kinds != NOBODY).sum())
        return (limit + 1) * (self._shape.blocks + (limit + 1) * below)

    def solve_within(self, limit: int) -> float:
        """Find the cheapest runs that suppress no more than a limit; return what they cost."""
        s = self._shape
        return cheapest_within(
            s.starts, s.kinds, s.first, s.last, s.offsets, s.merges, True, 0, self._costs, self._gone, limit,
            self._chosen,
        )  # fmt: skip

    def partition(self) -> tuple[Longs, Floats, int]:
        """Return the partition last found."""
        chosen = self._chosen[self.place[self._order]]
        return (*labelled(self._order, chosen, self._flat, self._by_tally, self._loss.tally), -1)


class RunLines:
    """Makes the lines of an attribute whose children are merged in runs or in any way."""

    def __init__(self, space: Space, walk: Partitions, loss: BlockLoss, codes: Ints) -> None:
        self._quasi, self._branches, self._loss, self._codes = space.quasi, walk.branches, loss, codes
        self._below: list[Longs] = []
        for branch in self._branches:
            parts = [np.array([child]) if child >= 0 else self._below[~child] for child in branch.children]
            self._below.append(np.concatenate(parts))
        self.fixed = not any(
            len(branch.children) > 2 and (branch.rule is SETS or len(branch.children) > MOST_UNITS)
            for branch in self._branches
        )
        flat = space.scheme in FREE and len(self._branches) == 1 and self._branches[0].rule is not NEVER
        self._flat = np.array(self._branches[0].children, np.int64) if flat else None
        self._covers, self._wholes = self._covering(space.scheme in FREE)
        self.large = any(len(branch.children) > MOST_UNITS and branch.rule is not NEVER for branch in self._branches)
        leaves = self._quasi.hierarchy.leaves
        self._tree = None if self.large or flat else TreeLines(self._branches, self._covers, leaves)
        numbers = range(len(self._branches)) if self._tree is None else self._tree.numbers
        self._by_number = wholes({n: w for n, w in zip(numbers, self._wholes, strict=True) if w is not None})

    def _covering(self, free: bool) -> tuple[list[list[Longs]], list[Longs | None]]:
        """Return for each branch what its children cover, and what they do all together, where that is more."""
        covers: list[list[Longs]] = []
        wholes: list[Longs | None] = []
        all_occur = bool((self._quasi.rows > 0).all())
        for branch, below in zip(self._branches, self._below, strict=True):
            if branch.rule is NEVER:
                covers.append([])
                wholes.append(None)
                continue
            children = [child if child >= 0 else int(self._below[~child][0]) for child in branch.children]
            if all_occur:
                covers.append([np.array([child]) if child >= 0 else self._below[~child] for child in branch.children])
                wholes.append(None)
            elif free:
                covers.append([np.array([leaf]) for leaf in children])
                everything = len(children) == self._quasi.occurring
                wholes.append(covered_by(self._quasi, children) if everything else None)
            else:
                node = self._quasi.hierarchy.common_ancestor(below.tolist())
                own = self._quasi.hierarchy.parent[children] == node  # a leaf right below covers itself
                covers.append(
                    [
                        np.array([leaf]) if itself else covered_by(self._quasi, [leaf], node)
                        for leaf, itself in zip(children, own.tolist(), strict=True)
                    ]
                )
                wholes.append(covered_by(self._quasi, below.tolist()))
        return covers, wholes

    def make(self, labels: Longs, draw: Random) -> RunLine:
        """Return a line of which the blocks of now, by their labels, are runs of units."""
        if self._flat is not None:
            return self._make_flat(self._flat, labels, draw)
        if self._tree is not None:
            line = self._tree.make(*((None, None) if self.fixed else (labels, draw)))
            blocks = RunBlocks(self._quasi, line.shape, line.covers, line.alone, *self._by_number)
            return RunLine(self._loss, self._codes, line.shape, blocks, line.place, self._below[-1])
        made = _Made()
        self._visit(len(self._branches) - 1, labels, draw, made)
        shape = made.shape()
        blocks = RunBlocks(self._quasi, shape, *made.covering)
        place = made.places(self._quasi.hierarchy.leaves)
        return RunLine(self._loss, self._codes, shape, blocks, place, np.concatenate(made.units))

    def every_set(self) -> SetLine | None:
        """Return a line that has every set of children as a block; None if these are too many, or none are sets."""
        if any(branch.rule not in (SETS, NEVER) or len(branch.children) > LARGEST for branch in self._branches):
            return None
        made = _Made()
        self._visit(len(self._branches) - 1, None, None, made)
        shape = all_sets(made.shape())
        if shape is None:
            return None
        blocks = SubsetBlocks(self._quasi, shape, *made.covering)
        place = made.places(self._quasi.hierarchy.leaves)
        return SetLine(self._loss, self._codes, blocks, place, np.concatenate(made.units))

    def _make_flat(self, children: Longs, labels: Longs, draw: Random) -> RunLine:
        """Return a line of values that all are children of one branch."""
        quasi, large = self._quasi, len(children) > MOST_UNITS
        in_sets = self._branches[0].rule is SETS
        as_runs = large and in_sets and draw.random() < AS_RUNS
        if as_runs:
            leaves, cuts = flat_lines.as_runs(quasi, children, labels)
        elif in_sets:
            leaves, cuts = flat_lines.in_sets(quasi, children, labels, draw, ranked=large)
        else:
            leaves, cuts = flat_lines.in_runs(children, labels)
        begins = np.arange(len(leaves) + 1)
        if large and in_sets and not as_runs:
            begins = flat_lines.chunks(cuts, MOST_UNITS)
        elif large:
            begins = flat_lines.pieces(quasi, leaves, cuts, MOST_UNITS, draw)
        ends = flat_lines.segments(begins, cuts, MOST_UNITS, draw) if large else [len(leaves)]
        units, sizes = len(begins) - 1, np.diff(begins)
        shape = flat_lines.shape_of(ends)
        above = len(shape.kinds) - units  # segments, as children that cover nothing by themselves
        covers = np.concatenate([leaves, np.zeros(above, np.int64)])
        blocks = RunBlocks(
            quasi,
            shape,
            Parts(covers, np.concatenate([begins, len(leaves) + 1 + np.arange(above)])),
            np.concatenate([np.where(sizes == 1, leaves[begins[:-1]], -1), np.full(above, -1)]),
            *(self._by_number if len(ends) == 1 else wholes({})),
        )
        place = np.zeros(quasi.hierarchy.leaves, np.int64)
        place[leaves] = np.repeat(np.arange(units), sizes)
        return RunLine(self._loss, self._codes, shape, blocks, place, leaves)

    def _visit(self, number: int, labels: Longs | None, draw: Random | None, made: "_Made") -> int:
        """Add a branch to a line, and all below it; return its number there. Without labels, all children are units."""
        branch = self._branches[number]
        if branch.rule is NEVER:
            below = []
            for child in branch.children:
                if child >= 0:
                    below.append(made.branch([made.place(np.array([child]), np.array([child]), child)], merges=True))
                else:
                    below.append(self._visit(~child, labels, draw, made))
            return made.branch([made.under(b) for b in below], merges=False)
        segments = self._segments(number, labels, draw)
        found = []
        for segment in segments:
            children = []
            for unit in segment:
                cover = self._covers[number][unit[0]]
                if len(unit) > 1:
                    cover = np.concatenate([self._covers[number][child] for child in unit])
                child = branch.children[unit[0]]
                if len(unit) == 1 and child < 0:
                    children.append(made.under(self._visit(~child, labels, draw, made), cover))
                else:
                    leaves = [np.array([c]) if c >= 0 else self._below[~c] for c in (branch.children[i] for i in unit)]
                    inside = leaves[0] if len(leaves) == 1 else np.concatenate(leaves)
                    children.append(made.place(inside, cover, child if len(unit) == 1 else -1))
            found.append(made.branch(children, merges=True))
        if len(found) > 1:
            return made.branch([made.under(b) for b in found], merges=False)
        whole = self._wholes[number]
        if whole is not None:
            made.wholes[found[0]] = whole
        return found[0]

    def _segments(self, number: int, labels: Longs | None, draw: Random | None) -> list[list[list[int]]]:
        """Return the children of a branch as units, in an order, and these in segments."""
        branch = self._branches[number]
        size = len(branch.children)
        if labels is None or draw is None or (branch.rule is not SETS and size <= MOST_UNITS):
            return [[[child] for child in range(size)]]
        blocks = self._shuffled(number, labels, draw) if branch.rule is SETS else self._in_a_row(number, labels)
        if size <= MOST_UNITS:
            return [[[child] for block in blocks for child in block]]
        return _in_segments((self._chunks if branch.rule is SETS else self._pieces)(number, blocks, draw), draw)

    def _shuffled(self, number: int, labels: Longs, draw: Random) -> list[list[int]]:
        """Return the children of a branch by block, mostly in a random order."""
        together: dict[int, list[int]] = {}
        for child, mark in enumerate(self._marks(number, labels)):
            together.setdefault(mark, []).append(child)
        blocks = list(together.values())
        if draw.random() > 0.3:
            draw.shuffle(blocks)
        for block in blocks:
            if draw.random() < 0.7:
                draw.shuffle(block)
        return blocks

    def _in_a_row(self, number: int, labels: Longs) -> list[list[int]]:
        """Return the children of a branch in their order, by block."""
        blocks: list[list[int]] = []
        for child, mark in enumerate(marks := self._marks(number, labels)):
            if child > 0 and mark == marks[child - 1]:
                blocks[-1].append(child)
            else:
                blocks.append([child])
        return blocks

    def _marks(self, number: int, labels: Longs) -> list[int]:
        """Return the same number for children of a branch that are merged, another one for each that is not."""
        marks = []
        for place, child in enumerate(self._branches[number].children):
            leaves = [child] if child >= 0 else self._below[~child]
            mark = int(labels[leaves[0]])
            marks.append(mark if child >= 0 or (labels[leaves] == mark).all() else -1 - place)
        return marks

    def _pieces(self, number: int, blocks: list[list[int]], draw: Random) -> list[list[list[int]]]:
        """Cut runs into pieces: around the cuts of now, or so that pieces have as many rows each."""
        children = [child for block in blocks for child in block]
        cuts = np.cumsum([0, *map(len, blocks)])
        free = max(MOST_UNITS - len(blocks), len(blocks) // 2)
        if len(blocks) > 1 and draw.random() < 0.6:
            step, each = draw.choice(flat_lines.STEPS), max(1, free // (2 * len(blocks)))
            tried = (cuts[1:-1, None] + step * np.arange(-each, each + 1)[None, :]).reshape(-1)
        else:
            rows = np.cumsum([self._rows_of(number, child) for child in children])
            marks = (np.arange(free) + draw.random()) / free * rows[-1]
            tried = np.searchsorted(rows, marks) + 1
        every = np.unique(np.concatenate([cuts, np.clip(tried, 0, len(children))]))
        homes = np.searchsorted(cuts, every[:-1], side="right") - 1
        units: list[list[list[int]]] = [[] for _ in blocks]
        for home, start, stop in zip(homes.tolist(), every[:-1].tolist(), every[1:].tolist(), strict=True):
            units[home].append(children[start:stop])
        return units

    def _chunks(self, number: int, blocks: list[list[int]], draw: Random) -> list[list[list[int]]]:
        """Cut blocks of sets into chunks of about the same size: in the attribute's order, or in any."""
        children = self._branches[number].children
        size = sum(map(len, blocks))
        free = max(MOST_UNITS - len(blocks), len(blocks) // 2)
        units = []
        for block in blocks:
            if draw.random() < 0.6:
                block.sort(key=lambda child: self._quasi.ranks[self._first_leaf(children[child])])
                turn = draw.randrange(len(block))
                block[:] = block[turn:] + block[:turn] if draw.random() < 0.3 else block
            pieces = min(len(block), 1 + free * len(block) // size)
            cuts = np.linspace(0, len(block), pieces + 1).astype(int).tolist()
            units.append([block[i:j] for i, j in pairwise(cuts)])
        return units

    def _first_leaf(self, child: int) -> int:
        return child if child >= 0 else int(self._below[~child][0])

    def _rows_of(self, number: int, child: int) -> int:
        leaf = self._branches[number].children[child]
        return int(self._quasi.rows[leaf] if leaf >= 0 else self._quasi.rows[self._below[~leaf]].sum())


def _in_segments(units: list[list[list[int]]], draw: Random) -> list[list[list[int]]]:
    """Return units, by block, in segments that end where a block does, the first one of any length."""
    if sum(map(len, units)) <= 2 * MOST_UNITS:
        return [[unit for block in units for unit in block]]
    segments: list[list[list[int]]] = [[]]
    most = draw.randint(MOST_UNITS // 4, MOST_UNITS)
    for block in units:
        if segments[-1] and len(segments[-1]) + len(block) > most:
            segments.append([])
            most = MOST_UNITS
        segments[-1] += block
    return segments


def wholes(by_branch: dict[int, Longs]) -> tuple[Longs, Parts]:
    """Return branches, and the leaves that all children of each cover, as `RunBlocks` takes them."""
    return np.array([*by_branch], np.int64), Parts.of([*by_branch.values()])


class _Made:
    """Collects the branches and units of a line, children before their parents."""

    def __init__(self) -> None:
        self.units: list[Longs] = []
        self.covers: list[Longs] = []
        self.alone: list[int] = []
        self.wholes: dict[int, Longs] = {}
        self._branches: list[tuple[list[tuple[int, int, int, Longs, int]], bool]] = []
        self._spans: list[tuple[int, int]] = []

    def place(self, leaves: Longs, cover: Longs, alone: int) -> tuple[int, int, int, Longs, int]:
        """Add a unit; return it as a child."""
        self.units.append(leaves)
        here = len(self.units) - 1
        return (NOBODY, here, here, cover, alone if len(leaves) == 1 else -1)

    def under(self, branch: int, cover: Longs | None = None) -> tuple[int, int, int, Longs, int]:
        """Return a branch as a child."""
        first, last = self._spans[branch]
        return (branch, first, last, np.zeros(1, np.int64) if cover is None else cover, -1)

    @property
    def covering(self) -> tuple[Parts, Longs, Longs, Parts]:
        """What children cover, as `RunBlocks` takes it; once the shape is known."""
        return Parts.of(self.covers), np.array(self.alone), *wholes(self.wholes)

    def places(self, leaves: int) -> Longs:
        """Return the place of each leaf."""
        place = np.zeros(leaves, np.int64)
        for p, unit in enumerate(self.units):
            place[unit] = p
        return place

    def branch(self, children: list[tuple[int, int, int, Longs, int]], *, merges: bool) -> int:
        """Add a branch; return its number."""
        self._branches.append((children, merges))
        self._spans.append((children[0][1], children[-1][2]))
        return len(self._branches) - 1

    def shape(self) -> Shape:
        """Return how all of it hangs together."""
        sizes = [len(children) for children, _ in self._branches]
        merges = [merging for _, merging in self._branches]
        every = [child for children, _ in self._branches for child in children]
        self.covers = [child[3] for child in every]
        self.alone = [child[4] for child in every]
        parent = {
            child[0]: (b, i) for b, (children, _) in enumerate(self._branches) for i, child in enumerate(children)
        }
        depths = [0] * len(sizes)
        for b in range(len(sizes) - 2, -1, -1):
            depths[b] = depths[parent[b][0]] + 1
        branch = np.full((max(depths) + 1, len(self.units)), -1, np.int64)
        child = np.zeros_like(branch)
        for b, (children, merging) in enumerate(self._branches):
            if merging:
                for i, (_, first, last, _, _) in enumerate(children):
                    branch[depths[b], first : last + 1] = b
                    child[depths[b], first : last + 1] = i
        used = (branch >= 0).any(axis=1)
        ends = [(size + 1) ** 2 if merging else 0 for size, merging in zip(sizes, merges, strict=True)]
        return Shape(
            starts=np.cumsum([0, *sizes]),
            sizes=np.array(sizes),
            kinds=np.array([each[0] for each in every]),
            first=np.array([each[1] for each in every]),
            last=np.array([each[2] for each in every]),
            offsets=np.cumsum([0, *ends]),
            merges=np.array(merges),
            branch=np.ascontiguousarray(branch[used]),
            child=np.ascontiguousarray(child[used]),
        )
