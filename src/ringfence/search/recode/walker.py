"""Walks over recodings: one attribute is improved after the other, at a price for each row that is suppressed.

With the recodings of all others given, the best one of an attribute is a shortest path over its blocks (`lines`), for
any price. A price is what keeps a walk within the limit: without one, a row that loses much already is cheap to
suppress, and walks end where far too many are. To *settle*, improve all at a price; while too many rows are suppressed,
raise it and go on; then, attribute by attribute, look for the price at which the limit just holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.kernels.recode.class_rules import NUMBER
from ringfence.kernels.recode.failing_runs import contexts_of, entries_of, node_sums, shift
from ringfence.kernels.recode.rooms import Room, room_for
from ringfence.search.recode.lines import BlockLine, labels_of, line_for
from ringfence.search.recode.moves import Moves, moves_for
from ringfence.search.recode.node_lines import CutLine, LevelLine
from ringfence.search.recode.partitions import Partitions
from ringfence.search.recode.question import Ground
from ringfence.search.recode.run_lines import RunLines
from ringfence.search.recode.spaces import Levels, Space

HIGHEST = 1e7
"""A price at which nothing is suppressed that need not be."""

RAISED, GENTLY = 2.0, 1.5
"""What prices are multiplied by until the limit holds; less where nothing may be suppressed, which is furthest away:
what is merged at too high a price stays merged."""

HALVINGS = 14
"""How often the range of prices is halved in which the limit just holds."""

GAINING = 3e-3
"""An attribute of more values than lines have units is improved again as long as a try lowers the loss by such a share:
a line has few of its cuts, and a place that is left before they are good is taken for a bad one."""

SAME = 1e-9
"""Losses that differ by less than this share of a row, for each row, are equal."""


class Remembered(NamedTuple):
    """Labels, losses and level by attribute, what that loses, and what it suppresses."""

    labels: tuple[Longs, ...]
    losses: tuple[Floats, ...]
    levels: tuple[int, ...]
    loss: float
    gone: float


@dataclass(frozen=True, eq=False)
class Spot:
    """Where a walk is: labels, losses and level by attribute, what follows from them by tuple, its loss and what it
    suppresses."""

    labels: tuple[Longs, ...]
    losses: tuple[Floats, ...]
    levels: tuple[int, ...]
    keys: Longs
    total: Floats
    loss: float
    gone: float

    @property
    def place(self) -> "Remembered":
        """The same without what follows by tuple, to be remembered for long."""
        return Remembered(self.labels, self.losses, self.levels, self.loss, self.gone)


class Walker:
    """One walk: where it is, and how it goes on.

    `found` is the best place so far that keeps the limit, if it is better than the `bar`; `steps` are the attributes
    that it has tried to improve. Attributes are `sure` whose best partition is found in one try; of others, a line is
    one of many. What makes lines of runs is shared with another walk over the same ground, if there is one: with
    thousands of values it takes a while to make.
    """

    def __init__(self, ground: Ground, seed: int, go_on: Callable[[int], bool], other: "Walker | None" = None) -> None:
        self.ground, self.draw, self._more = ground, Random(seed), go_on
        self.steps = 0
        self.watched = ground.watched
        self.spaces, self.rows, self.limit = ground.spaces, ground.census.rows, ground.terms.limit
        self.attributes = [a for a, space in enumerate(self.spaces) if space.quasi.occurring > 1] or [0]
        codes = np.ascontiguousarray(ground.census.codes.T, np.int32)
        self._codes, self._weights = list(codes), ground.census.weights.astype(np.int64)
        self._room: Room = room_for(len(self._weights))
        made = [None] * len(self.spaces) if other is None else other._makers
        self._makers: list[LevelLine | CutLine | RunLines] = [
            maker if isinstance(maker, RunLines) else line_for(*parts)
            for maker, *parts in zip(made, self.spaces, ground.losses, self._codes, strict=True)
        ]
        self._moves: list[Moves | None] = [
            moves_for(space, loss, ground.watched, own)
            for space, loss, own in zip(self.spaces, ground.losses, self._codes, strict=True)
        ]
        self.sure = {a for a, maker in enumerate(self._makers) if not isinstance(maker, RunLines) or maker.fixed}
        self.large = {a for a, maker in enumerate(self._makers) if isinstance(maker, RunLines) and maker.large}
        self._every = np.arange(len(self._weights), dtype=np.int32)
        self._fixed: dict[int, BlockLine] = {}
        numbers = np.random.default_rng(2008)
        whole = np.iinfo(np.int64)
        # Keys add up by attribute. Two that agree by chance, one in 10^19, mislead a walk; answers are judged anew.
        self._marks = [numbers.integers(whole.min, whole.max, len(loss.tally)) for loss in ground.losses]
        self.found: tuple[float, tuple[Longs, ...], tuple[int, ...]] | None = None
        self.bar = np.inf
        self.price = 1.0

    def _go_on(self, steps: int) -> bool:
        """Count steps; return whether there is time left."""
        self.steps += steps
        return self._more(steps)

    # Where it is

    def go_to(self, states: Sequence[Any]) -> None:
        """Go to some states of the spaces."""
        self.labels: list[Longs] = []
        self.losses: list[Floats] = []
        self.levels: list[int] = []
        for a, state in enumerate(states):
            labels, losses, level = self._partition(a, state)
            self.labels.append(labels)
            self.losses.append(losses)
            self.levels.append(level)
        self.keys = np.zeros(len(self._weights), np.int64)
        self.total = np.full(len(self._weights), 1.0 if self.watched.cost == NUMBER else 0.0)
        for a, codes in enumerate(self._codes):
            self.keys += self._marks[a][self.labels[a]][codes]
            self.total += self.losses[a][codes]
        self._evaluate()

    def _evaluate(self) -> None:
        """Work out what the place costs and suppresses: an attribute with one value in all contexts changes nothing."""
        leaves = len(self._marks[0])
        size = contexts_of(self.keys, self._codes[0], np.zeros(leaves, np.int64), self._room)
        nothing = np.zeros(leaves)
        entries, base = entries_of(
            size, self._every, self._codes[0], np.zeros(leaves, np.int64), self._weights, self.total, nothing, nothing,
            self._room,
        )  # fmt: skip
        sums = np.zeros((1, 3))
        node_sums(entries, self._room, self.watched, np.zeros((1, 1), np.int64), sums)
        self.loss, self.gone = base + float(sums[0, 0]), float(sums[0, 1])

    def put(self, a: int, labels: Longs, losses: Floats, level: int) -> None:
        """Change the partition of an attribute, whatever that costs."""
        by_key = self._marks[a][labels] - self._marks[a][self.labels[a]]
        shift(self._codes[a], self.keys, by_key, self.total, losses - self.losses[a])
        self.labels[a], self.losses[a], self.levels[a] = labels, losses, level

    def put_parts(self, place: Remembered, attributes: Sequence[int]) -> None:
        """Change the partitions of some attributes to those of another place."""
        for a in attributes:
            self.put(a, place.labels[a], place.losses[a], place.levels[a])
        self._evaluate()

    def put_state(self, a: int, state: Any) -> None:
        """Change the partition of an attribute to a state of its space."""
        self.put(a, *self._partition(a, state))
        self._evaluate()

    def _partition(self, a: int, state: Any) -> tuple[Longs, Floats, int]:
        space, terms, maker = self.spaces[a], self.ground.terms, self._makers[a]
        if isinstance(maker, LevelLine):
            return maker.at(state)
        assert isinstance(space.walk, Partitions), "all others are partitions"
        losses = np.zeros(space.quasi.hierarchy.leaves)
        if terms.losses:
            losses = terms.losses[a](space.quasi, space.recode(state)) / terms.full
        return labels_of(space, space.walk, state), losses, -1

    def state(self, a: int) -> Any:
        """Return the state of an attribute's space that it is in."""
        return state_of(self.spaces[a], self.labels[a], self.levels[a])

    def spot(self) -> Spot:
        """Return where it is, to come back to."""
        return Spot(
            tuple(self.labels), tuple(self.losses), tuple(self.levels), self.keys.copy(), self.total.copy(), self.loss,
            self.gone,
        )  # fmt: skip

    def back_to(self, spot: Spot) -> None:
        """Go where it was."""
        self.labels, self.losses, self.levels = list(spot.labels), list(spot.losses), list(spot.levels)
        self.keys, self.total = spot.keys.copy(), spot.total.copy()
        self.loss, self.gone = spot.loss, spot.gone

    @property
    def holds(self) -> bool:
        """Whether no more is suppressed than may be, and not everything."""
        return self.gone <= self.limit and self.gone < self.rows

    def note(self) -> None:
        """Keep the place if it is the best that holds."""
        if self.holds and self.loss < self.bar - SAME * self.rows:
            self.bar = self.loss
            self.found = (self.loss, tuple(self.labels), tuple(self.levels))

    # How it goes on

    def _line(self, a: int) -> BlockLine:
        maker = self._makers[a]
        if not isinstance(maker, RunLines):
            return maker
        if not maker.fixed:
            return maker.make(self.labels[a], self.draw)
        if a not in self._fixed:
            self._fixed[a] = maker.make(self.labels[a], self.draw)
        return self._fixed[a]

    def _filled(self, a: int) -> tuple[BlockLine, float]:
        """Return a line of an attribute with the costs of its blocks, and what all other cells lose."""
        line, codes = self._line(a), self._codes[a]
        size = contexts_of(self.keys, codes, self._marks[a][self.labels[a]], self._room)
        entries, base = entries_of(
            size, line.placed, codes, line.place, self._weights, self.total, self.losses[a],
            self.ground.losses[a].tally, self._room,
        )  # fmt: skip
        line.fill(entries, self._room, self.watched)
        return line, base

    def improve(self, a: int, price: float) -> bool:
        """Replace the partition of an attribute by the best one at a price; return whether that is a gain."""
        line, base = self._filled(a)
        cost, gone = line.solve(price)
        if not base + cost + price * gone < self.loss + price * self.gone - SAME * self.rows:
            return False
        self._take(a, line, base + cost, gone)
        return True

    def fill_up(self, a: int) -> bool:
        """Replace the partition of an attribute by the best one known that keeps the limit; return whether that is a
        gain."""
        line, base = self._filled(a)
        best, kept = np.inf, -1.0
        low, high = 0.0, 0.0
        while high < HIGHEST:
            cost, gone = line.solve(high)
            if gone <= self.limit:
                best, kept = cost, high
                break
            low, high = high, max(1.0, 4 * high)
        if kept < 0:
            return False
        for _ in range(HALVINGS if kept > 0 else 0):
            middle = (low + high) / 2
            cost, gone = line.solve(middle)
            if gone <= self.limit:
                high = middle
                if cost < best:
                    best, kept = cost, middle
            else:
                low = middle
            if high - low < 1e-3 * high:
                break
        if self.gone <= self.limit and base + best >= self.loss - SAME * self.rows:
            return False
        cost, gone = line.solve(kept)
        self._take(a, line, base + cost, gone)
        return True

    def move(self, a: int, price: float, limit: float) -> bool:
        """Move single values of a set while that is cheaper at a price; return whether that is a gain."""
        moves = self._moves[a]
        if moves is None:
            return False
        codes = self._codes[a]
        size = contexts_of(self.keys, codes, self._marks[a][self.labels[a]], self._room)
        entries, _ = entries_of(
            size, moves.placed, codes, moves.place, self._weights, self.total, self.losses[a],
            self.ground.losses[a].tally, self._room,
        )  # fmt: skip
        labels = moves.moved(entries, size, self._room, self.labels[a], self.gone, price, limit)
        if labels is None:
            return False
        self.put_state(a, state_of(self.spaces[a], labels))
        self.note()
        return True

    def _take(self, a: int, line: BlockLine, loss: float, gone: float) -> None:
        self.put(a, *line.partition())
        self.loss, self.gone = loss, gone
        if self.watched.k == self.ground.watched.k:
            self.note()

    def descend(self, order: Sequence[int], step: Callable[[int], bool], tried: int = 0) -> bool:
        """Improve attributes in turn until none gains; return whether one did. So many of them, from the end, need not
        be tried before another one gains."""
        idle, turn, any_gained = tried, 0, False
        while idle < len(order) and self._go_on(1):
            a, before = order[turn % len(order)], self.loss
            gained = step(a)
            while a in self.large and before - self.loss > GAINING * abs(before) and self._go_on(1):
                before = self.loss
                step(a)
            idle, turn, any_gained = (1 if gained else idle + 1), turn + 1, any_gained or gained
        return any_gained

    def spread(self, price: float, order: Sequence[int]) -> None:
        """From the coarsest recoding, share what may be told among attributes: descend with a k of half of all rows,
        a quarter, and so on down to that which is asked for, at each step by what gains most.

        With the k asked for, the first attribute in turn would be told in full, and nothing be left for the others.
        """
        asked, k = self.watched, self.rows // 2
        while k > asked.k and self._go_on(0):
            self.watched = asked._replace(k=k)
            self._evaluate()
            self._descend_steepest(price, order)
            k //= 2
        self.watched = asked
        self._evaluate()
        self.note()

    def _descend_steepest(self, price: float, order: Sequence[int]) -> None:
        """Improve the attribute that gains most at a price, again and again, until none that was left gains.

        What others would have gained before is taken for what they would gain at most: mostly it is more.
        """
        gains = dict.fromkeys(order, np.inf)
        while self._go_on(1):
            a = max(gains, key=lambda each: gains[each])
            if gains[a] <= 0:
                return
            line, base = self._filled(a)
            cost, gone = line.solve(price)
            gain = self.loss + price * self.gone - (base + cost + price * gone)
            gains[a] = 0.0
            if gain > SAME * self.rows:
                if gain >= max(gains.values()):
                    self._take(a, line, base + cost, gone)
                else:
                    gains[a] = gain

    def _can_keep_more(self, order: Sequence[int]) -> bool:
        """Whether some attribute by itself, at any price, can lower what is suppressed: among many that are as fine as
        can be, none can."""
        for a in order:
            if not self._go_on(1):
                return False
            line, _ = self._filled(a)
            if line.solve(HIGHEST)[1] < self.gone:
                return True
        return False

    def descend_at(self, price: float, order: Sequence[int], tried: int = 0) -> bool:
        """Improve attributes in turn at a price; return whether that is a gain."""
        return self.descend(order, lambda a: self.improve(a, price) | self.move(a, price, np.inf), tried)

    def settle(self, price: float, order: Sequence[int], tried: int = 0) -> None:
        """Descend at a price, raise it until the limit holds, then use the room that is left. So many attributes, from
        the end, are sure, and were tried at that price since anything changed."""
        gained = self.descend_at(price, order, tried)
        while self.gone > self.limit and price < HIGHEST and self._go_on(0):
            if not gained and not self._can_keep_more(order):
                break
            price = max((RAISED if self.limit > 0 else GENTLY) * price, 0.05)
            gained = self.descend_at(price, order)
        self.price = price
        if self.gone == self.limit == 0:  # what is cheaper and suppresses nothing is so at any price: it is taken
            order = [a for a in order if a not in self.sure]
        self.use_room(order)

    def use_room(self, order: Sequence[int]) -> None:
        """Improve attributes in turn such that the limit holds."""
        self.descend(order, lambda a: self.fill_up(a) | (self.holds and self.move(a, 0.0, self.limit)))


def state_of(space: Space, labels: Longs, level: int = -1) -> Any:
    """Return the state of a space in which leaves with the same label are merged."""
    return level if isinstance(space.walk, Levels) else space.walk.labelling.state(labels)
