"""Answers: the best recoding so far, judged exactly, whoever found it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from ringfence.census.classes import Classes
from ringfence.search.progress import Watch
from ringfence.search.recode.boxes import Boxes
from ringfence.search.recode.lattice import SAME, SLACK
from ringfence.search.recode.question import Question

Node = tuple[int, ...]

Later = Callable[[bool], Sequence[Sequence[Any]]]
"""Returns more starts: those that are there by now, or if it is told to wait all of them."""


def nothing_later(_wait: bool) -> Sequence[Sequence[Any]]:
    """Return no more starts."""
    return ()


@dataclass(frozen=True)
class Answer:
    """A feasible node, its cost, and the rows that it suppresses."""

    node: Node
    cost: float
    suppressed: int

    def beats(self, other: "Answer") -> bool:
        """Whether this is better: cheaper, or as cheap with fewer rows suppressed. Of equals, the first found stays."""
        if abs(self.cost - other.cost) > SAME * max(abs(self.cost), abs(other.cost)):
            return self.cost < other.cost
        return self.suppressed < other.suppressed


class Answers(ABC):
    """The best answer so far, and how better ones are looked for.

    `idle` is the number of kicks since the last one that found a better answer; none can cost less than `floor`.
    """

    def __init__(self, asked: Question, watch: Watch) -> None:
        self.asked, self.watch = asked, watch
        self.census, self.spaces, self.terms = asked.census, asked.spaces, asked.terms
        self.roller, self.metric = asked.roller, asked.metric
        self.best: Answer | None = None
        self._room = self.roller.room()
        finest = tuple(space.finest for space in self.spaces)
        self.floor = self.metric.floor(finest, self._classes(finest))
        self.idle = 0

    @cached_property
    def boxes(self) -> list[Boxes]:
        """The parts of each attribute's space that a proof decides on."""
        return [Boxes(space) for space in self.spaces]

    @abstractmethod
    def settle(self, starts: Sequence[Sequence[Any]]) -> None:
        """Take the first steps, from the best of some starts, until these gain nothing more."""

    @abstractmethod
    def begin(self, starts: Sequence[Sequence[Any]], later: Later = nothing_later) -> None:
        """Improve some starts, and those that are there `later`; then kick until that gains nothing more."""

    @abstractmethod
    def kick(self, each: Callable[..., Iterable[Any]]) -> None:
        """Look for better answers for a while, `each` of several searches at the same time or not."""

    @property
    def target(self) -> float:
        """What a recoding must cost less than to be worth finding."""
        return inf if self.best is None else self.best.cost * (1 - SLACK)

    @property
    def proven(self) -> bool:
        """Whether the best is known to be the best without further proof."""
        return self.best is not None and self.target <= self.floor

    def go_on(self, judged: int) -> bool:
        """Count recodings that were judged; return whether there is time left."""
        self.watch.tick(self.best.cost if self.best else None, self.floor, nodes=judged)
        return not self.watch.expired()

    def consider(self, states: Sequence[Any]) -> bool:
        """Judge a node exactly, and keep it if it is the best; return whether it is feasible."""
        return self.consider_node(tuple(s.position(state) for s, state in zip(self.spaces, states, strict=True)))

    def consider_node(self, node: Node) -> bool:
        """Judge a node by its positions, as `consider` does."""
        classes = self._classes(node)
        suppressed = self.terms.promise.judge(classes)
        if suppressed > self.terms.limit or suppressed == self.census.rows:
            return False
        if not self.terms.promise.rest_holds(classes):
            return False
        found = Answer(node, self.metric.cost(node, classes), suppressed)
        if self.best is None or found.beats(self.best):
            self.best = found
        return True

    def _classes(self, node: Node) -> Classes:
        return self.roller.roll(self.roller.finest, self.roller.fields(list(enumerate(node))), self._room)

    def search_through(self, states: list[Any], attribute: int) -> bool:
        """Consider all partitions of an attribute that may be cheaper than the best, from the finest up.

        Return whether there was time for all.
        """
        space = self.spaces[attribute]
        todo = [space.finest]
        while todo:
            if self.watch.expired():
                return False
            position = todo.pop()
            states[attribute] = space.state(position)
            self.go_on(1)
            node = tuple(space.position(state) for space, state in zip(self.spaces, states, strict=True))
            if self.metric.floor(node, self._classes(node)) < self.target:
                self.consider(states)
                todo += space.children(position, up=True)
        return True

    def refine(self) -> None:
        """Split what can be split at no cost: of equals, programs take the partition that merges less."""
        for a in range(len(self.spaces)):
            assert self.best is not None, "there is something to refine"
            before = self.best
            states = [space.state(position) for space, position in zip(self.spaces, before.node, strict=True)]
            states[a] = self.best_of(a, states)
            self.best = None
            if states[a] is None or not self.consider(states) or not self._finer(before):
                self.best = before

    @abstractmethod
    def best_of(self, attribute: int, states: Sequence[Any]) -> Any:
        """Return the best partition of an attribute, given those of the others; None if there is none."""

    def _finer(self, other: Answer) -> bool:
        """Whether the best is as good as another answer, and merges less."""
        assert self.best is not None, "it was just found"
        if self.best.cost > other.cost * (1 + SAME) or self.best.suppressed > other.suppressed:
            return False
        blocks = [
            sum(len({*space[position].blocks.tolist()}) for space, position in zip(self.spaces, node, strict=True))
            for node in (self.best.node, other.node)
        ]
        return blocks[0] > blocks[1]
