"""The costs of a lattice's nodes: what each of its nodes costs at every k.

Class tables are rolled up level by level for the attributes with many values. For those with the fewest, the *inner*
ones, no table is made: all their nodes are judged from one table in which they are as in the data
(`kernels.front.costs_by_k`). No node is left out but those that lose too many rows at the smallest k, and so at every
k."""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.census.census import Census
from ringfence.census.classes import Classes, Pairs, Roller
from ringfence.declared import METRICS
from ringfence.errors import SpecError, listed
from ringfence.judging.losses import cell_metrics
from ringfence.judging.metrics import hdm_tallies, metric, rows_outside
from ringfence.kernels.front.costs_by_k import (
    CELLS,
    LABELS,
    SIZES,
    Best,
    Entries,
    FrontScratch,
    FrontTerms,
    Inner,
    Judged,
    add_up_spares,
    judge_nodes,
    number_cells,
)
from ringfence.search.progress import Watch
from ringfence.search.recode.lattice import level_spaces
from ringfence.spec import Spec
from ringfence.values.recoding import Recoding

CELLS_AT_MOST = 256  # more combinations of inner leaves would spread a context over too much memory
PLACES_AT_MOST = 2**25  # a place is eight bytes, and each combination of a context and a cell has one


MOST_NODES = 10**8
"""A front is found among so many recodings: each takes 32 bytes of memory."""


def _refuse_many(nodes: int) -> None:
    if nodes > MOST_NODES:
        raise SpecError(
            f"there are {nodes:,} recodings by levels, and a whole front is found among {MOST_NODES:,} at most: give"
            " fewer attributes the role quasi"
        )


class NodeCosts:
    """What each node of the level lattice costs at every k from `least` on, written down node by node.

    `best` has for each k the cheapest release so far that keeps a class of k rows and loses all smaller ones; `judged`
    has for each node the release with the largest k that it can have. Nodes are numbered in lexicographic order. Where
    the census tells people apart, k counts them, and not rows.

    Parameters
    ----------
    census, spec
        The counts; the loss, and how much may be suppressed.
    least
        The smallest k of interest.
    by_one
        Whether nodes are asked for one at a time, in any order, by `look_up`, rather than all at once by `fill`.
    """

    def __init__(self, census: Census, spec: Spec, least: int, *, by_one: bool = False) -> None:
        refuse_other_losses(spec)
        name, rows = spec.method.metric, census.rows
        kind = {"dm": SIZES, "ce": LABELS}.get(name, CELLS)
        self.census, self.heights, self.spaces = census, census.heights, level_spaces(census)
        self._people = census.people
        self._terms = FrontTerms(
            kind, float(rows) if kind == LABELS else 1.0, rows, least, spec.row_limit(rows), census.people is not None
        )
        self._tallied = hdm_tallies(census) if name == "hdm" else []
        self.roller = Roller(census, self.spaces, self._tallied)
        self._metric = metric(name, spec, census, self.roller, least)
        self._savings: list[list[Floats]] = []
        if kind == CELLS:
            saving = _saving(name, census)
            self._savings = [[saving(a, recoding) for recoding in space] for a, space in enumerate(self.spaces)]
            self._per_leaf = self.roller.per_leaf(saving, np.float64)
        watched = [part.name for part in census.sensitive]
        self._target = watched.index(spec.method.target or "") if kind == LABELS else None
        self._labels = 1 if self._target is None else census.sensitive[self._target].hierarchy.leaves
        _refuse_many(self.lattice)
        self._order = sorted(range(len(self.heights)), key=lambda a: (-census.quasi[a].occurring, a))
        self._values = self._target is not None or self._people is not None
        self._inner = [] if by_one or self._people is not None else self._fitting()
        self._outer = self._order[: len(self._order) - len(self._inner)]
        self._make_room()

    @property
    def lattice(self) -> int:
        """How many nodes there are."""
        return prod(height + 1 for height in self.heights)

    def number(self, levels: Sequence[int]) -> int:
        """Return the place of a node in lexicographic order."""
        number = 0
        for level, height in zip(levels, self.heights, strict=True):
            number = number * (height + 1) + level
        return number

    def levels(self, number: int) -> tuple[int, ...]:
        """Return the node at a place in lexicographic order."""
        return tuple(int(level) for level in np.unravel_index(number, [height + 1 for height in self.heights]))

    def fill(self, watch: Watch) -> bool:
        """Judge every node; return whether there was time for all."""
        for levels, classes in walk(self.roller, self._outer, values=self._values, first_level=self._first_level):
            if watch.expired():
                return False
            watch.nodes += self._judge(levels, classes) - 1
            watch.tick(None)
        return True

    def look_up(self, levels: Sequence[int]) -> int:
        """Judge a single node; return its number."""
        roll = self.roller.roll if self._values else self.roller.roll_sizes
        self._judge(levels, roll(self.roller.finest, self.roller.fields(list(enumerate(levels))), self._table))
        return self.number(levels)

    def _first_level(self, classes: Classes, attribute: int, free: Sequence[int]) -> int:
        """Return the level of an attribute below which no node has a release for the least k, whatever levels the
        `free` attributes have; one above its top if none has.

        With all of these and the inner ones at their top, each class is a union of what it is at lower levels: rows in
        classes smaller than the least k, and so with fewer people than that, stay in such classes below. So do they as
        the attribute goes up, and the first level that loses few enough is all there is to find.
        """
        if self._terms.limit == self._terms.rows or not (free or self._inner):
            return 0
        fields = np.concatenate([self.roller.fields([(a, self.heights[a]) for a in free]), self._to_top])
        level, tops = 0, self.roller.roll_sizes(classes, fields, self._table)
        while self._loses_too_many(tops):
            level += 1
            if level > self.heights[attribute]:
                break
            into = self._other if tops is self._table else self._table
            tops = self.roller.roll_sizes(tops, self.roller.fields([(attribute, level)]), into)
        return level

    def _loses_too_many(self, classes: Classes) -> bool:
        weights = classes.weights[: classes.size]
        return int(weights[weights < self._terms.least].sum()) > self._terms.limit

    def _judge(self, levels: Sequence[int], classes: Classes) -> int:
        """Judge the inner nodes over classes with the outer attributes at these levels; return how many it took."""
        size, contexts = classes.size, self._alone
        if self._inner:
            above = self.roller.roll_sizes(classes, self._to_top, self._table)
            if self._loses_too_many(above):
                return 1  # and so does every node below it
            contexts = above.member
            number_cells(classes.keys, size, self._to_top, self._strides, self._cells)
        loss, spares = 0.0, self._spares[:0]
        if self._savings:
            fields = self.roller.fields([(a, levels[a]) for a in self._outer])
            tallies = classes.tallies[self._outer, :size] if self._tallied else classes.tallies
            add_up_spares(classes.keys, classes.weights, tallies, size, fields, self._per_leaf.numbers(), self._spares)
            loss, spares = self._metric.floor(levels, classes), self._spares[:size]
        pairs = self._no_pairs if self._target is None else classes.pairs[self._target]
        sizes = classes.weights[:size] if self._people is None else people_of(classes, self._people)
        entries = Entries(
            contexts[:size], self._cells[:size], classes.weights[:size], sizes, spares,
            pairs.homes[: pairs.size], pairs.values[: pairs.size], pairs.weights[: pairs.size], self._labels,
        )  # fmt: skip
        number = self.number(levels)
        return int(judge_nodes(entries, self._nodes, loss, number, self._terms, self.best, self.judged, self._room))

    def _fitting(self) -> list[int]:
        """Return the attributes with the fewest values, as many as have few enough combinations of leaves."""
        most = min(CELLS_AT_MOST, PLACES_AT_MOST // len(self.census.weights)) // self._labels
        fitting: list[int] = []
        for attribute in reversed(self._order):
            most //= self.census.quasi[attribute].hierarchy.leaves
            if most == 0:
                break
            fitting.insert(0, attribute)
        return fitting

    def _make_room(self) -> None:
        rows, tuples, nodes = self.census.rows, len(self.census.weights), self.lattice
        leaves = [self.census.quasi[a].hierarchy.leaves for a in self._inner]
        self._strides = np.array([prod(leaves[i + 1 :]) for i in range(len(leaves))], np.int64)
        self._to_top = self.roller.fields([(a, self.heights[a]) for a in self._inner])
        self._nodes = self._inner_nodes(leaves)
        self._alone = np.arange(tuples, dtype=np.int32)
        self._cells, self._spares = np.zeros(tuples, np.int32), np.empty(tuples)
        self._no_pairs = Pairs(0, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
        self._table, self._other = self.roller.room(), self.roller.room()
        places = tuples * prod(leaves)
        self._room = FrontScratch(
            hopeless=np.zeros(len(self._nodes.counts), np.bool_),
            places=np.empty(tuples, np.int64),
            steps=np.empty(tuples, np.int64),
            sums=np.zeros(places, np.int64),
            tops=np.zeros(0 if self._target is None else places, np.int64),
            counts=np.zeros(0 if self._target is None else places * self._labels, np.int64),
            rows_at=np.zeros(rows + 1, np.int64),
            classes_at=np.zeros(rows + 1, np.int64),
            spare_at=np.zeros(rows + 1),
        )
        self.best = Best(
            cost=np.empty(rows + 1),
            lost=np.empty(rows + 1, np.int64),
            classes=np.empty(rows + 1, np.int64),
            node=np.full(rows + 1, -1, np.int64),
        )
        self.judged = Judged(
            k=np.zeros(nodes, np.int64),
            cost=np.empty(nodes),
            lost=np.empty(nodes, np.int64),
            classes=np.empty(nodes, np.int64),
        )

    def _inner_nodes(self, leaves: Sequence[int]) -> Inner:
        """Return all combinations of levels of the inner attributes, and what each makes of a combination of leaves."""
        cells = np.array(list(np.ndindex(*leaves)), np.int64).reshape(prod(leaves), len(leaves)).T
        nodes = list(product(*(range(self.heights[a] + 1) for a in self._inner)))
        place = {node: z for z, node in enumerate(nodes)}
        inner = Inner(
            blocks=np.zeros((len(nodes), prod(leaves)), np.int32),
            counts=np.zeros(len(nodes), np.int64),
            spares=np.zeros((len(nodes), prod(leaves))),
            losses=np.zeros(len(nodes)),
            numbers=np.zeros(len(nodes), np.int64),
            above=np.full((len(nodes), len(leaves)), -1, np.int32),
        )
        for z, node in enumerate(nodes):
            levels, block = [0] * len(self.heights), np.zeros(prod(leaves), np.int64)
            for i, (a, leaf) in enumerate(zip(self._inner, cells, strict=True)):
                levels[a] = node[i]
                block = block * leaves[i] + self.spaces[a][node[i]].blocks[leaf]
                inner.above[z, i] = place.get((*node[:i], node[i] + 1, *node[i + 1 :]), -1)
                if self._savings:
                    inner.spares[z] += self._savings[a][node[i]][leaf] * (
                        self._tallied[a][leaf] if self._tallied else 1
                    )
            inner.blocks[z] = np.unique(block, return_inverse=True)[1]
            inner.counts[z] = inner.blocks[z].max() + 1
            inner.numbers[z] = self.number(levels)
            # At level 0 no cell loses anything, so outer and inner levels can be accounted for apart.
            inner.losses[z] = self._metric.floor(levels, self.roller.finest) if self._savings else 0.0
        return inner


def people_of(classes: Classes, attribute: int) -> Longs:
    """Return how many different people each class has, `attribute` being theirs among the sensitive ones."""
    pairs = classes.pairs[attribute]
    return np.bincount(pairs.homes[: pairs.size], minlength=classes.size)


def refuse_other_losses(spec: Spec) -> None:
    """Raise a SpecError if the loss depends on k other than by what is suppressed."""
    if not METRICS[spec.method.metric].every_k:
        allowed = listed(name for name, each in METRICS.items() if each.every_k)
        raise SpecError(f"method.metric = {spec.method.metric!r} cannot be shown for every k; allowed: {allowed}")


def walk(
    roller: Roller,
    order: Sequence[int],
    *,
    values: bool,
    first_level: Callable[[Classes, int, Sequence[int]], int] | None = None,
) -> Iterator[tuple[list[int], Classes]]:
    """Yield every node of some attributes, the others at level 0, with its classes; pairs too if asked for.

    Attributes are fixed in the given order, and each table is rolled up from one that is a level lower in the attribute
    fixed last. What is yielded is overwritten by the next. `first_level` says of some classes, for the attribute to be
    fixed next and those still free after it, from which level on there is anything to find: lower ones are left out. It
    must never rise as classes get coarser; where it was 0, it is not asked again.
    """
    heights = roller.census.heights
    levels = [0] * len(heights)
    tables = [(roller.room(), roller.room()) for _ in order]  # one is rolled up into the other
    roll = roller.roll if values else roller.roll_sizes

    def fix(depth: int, classes: Classes, is_open: bool) -> Generator[tuple[list[int], Classes], None, bool]:
        """Fix what is left; return whether every level of the first was worth a look, which `is_open` says it is."""
        if depth == len(order):
            yield levels, classes
            return True
        attribute = order[depth]
        first = 0 if is_open or first_level is None else first_level(classes, attribute, order[depth + 1 :])
        next_is_open = False
        for level in range(first, heights[attribute] + 1):
            levels[attribute] = level
            if level > 0:
                classes = roll(classes, roller.fields([(attribute, level)]), tables[depth][level % 2])
            next_is_open = yield from fix(depth + 1, classes, next_is_open)
        levels[attribute] = 0
        return first == 0

    yield from fix(0, roller.finest, False)


def _saving(name: str, census: Census) -> Callable[[int, Recoding], Floats]:
    """Return what a cell of an attribute's leaf costs less than a suppressed one under a recoding; for `hdm` per
    tally."""
    if name == "hdm":
        total = sum(quasi.weight for quasi in census.quasi)
        return lambda a, recoding: census.quasi[a].weight / total * rows_outside(census.quasi[a], recoding)
    loss = cell_metrics()[name]
    weights = [loss.weight(quasi) for quasi in census.quasi]
    shares = [weight / sum(weights) / census.rows for weight in weights]
    return lambda a, recoding: shares[a] * (1 - loss.of(census.quasi[a], recoding))
