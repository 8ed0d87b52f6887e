"""Whether a class can have fewer people than are asked for, where counting what fits leaves it open.

Fewer are possible if some people, one too few, could fill the class with their rows while every other published row is
still somebody's. So of the people who may be in it, all choices of one too few are tried, each by a flow. Where one of
them succeeds, the release and its original do not tell how many there are: had the rows of these people been taken, not
a cell of the release would differ.

No way is known that would not try many choices in the worst case: the fewest people who have a row in each of some
combinations are a smallest set cover (Karp: Reducibility among Combinatorial Problems, 1972). So there is a limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.trace.flows import Graph, max_flow

MOST_CHOICES = 500
"""So many choices of people are tried at most for a class; one with more stays open."""
MOST_EDGES = 2_000_000
"""And so many edges are gone over for all of them."""


@dataclass(frozen=True, eq=False)
class Owned:
    """Whose the rows of each combination of the original are: combinations, rising, people, and numbers of rows."""

    nodes: Longs
    people: Longs
    rows: Longs

    def of(self, node: int) -> dict[int, int]:
        """Return how many rows of a combination each person has."""
        place = slice(*np.searchsorted(self.nodes, [node, node + 1]).tolist())
        return dict(zip(self.people[place].tolist(), self.rows[place].tolist(), strict=True))


Found = Literal["enough", "fewer", "untried"]
"""Whether every way to trace rows back has k people in a class, one has fewer, or there were too many to try."""


def fewest(graph: Graph, classes: Longs, home: int, owned: Owned, sure: set[int], k: int) -> Found:
    """Say whether a class has rows of k people in every way to trace all rows back.

    `graph` has a complete flow, and `sure` are people who are in the class in any case.
    """
    names, _ = graph.components()
    near = np.isin(names[graph.left], np.unique(names[classes == home]))
    part = graph.part(near)
    supply = np.where(np.isin(np.arange(len(classes)), part.left), part.published, 0)
    inside = classes[part.left] == home
    whose = [owned.of(node) for node in part.right[inside].tolist()]
    others = sorted({person for each in whose for person in each} - sure)
    free = k - 1 - len(sure)
    choices = comb(len(others), free) if 0 <= free < len(others) else free >= len(others)
    if choices > MOST_CHOICES or choices * len(part.left) > MOST_EDGES:
        return "untried"
    capacity = np.minimum(part.published[part.left], part.original[part.right])
    for chosen in _choices(others, free):
        people, few = sure | chosen, capacity.copy()
        few[inside] = np.minimum(few[inside], [sum(each.get(person, 0) for person in people) for each in whose])
        if int(max_flow(part, supply, part.original, few).sum()) == int(supply.sum()):
            return "fewer"
    return "enough"


def _choices(others: list[int], free: int) -> Iterator[set[int]]:
    """Yield the people who may be in a class besides those who are in any case."""
    if free >= 0:
        yield from (set(chosen) for chosen in combinations(others, min(free, len(others))))
