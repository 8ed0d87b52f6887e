"""Classes that grow, in plain Python: what the kernels of walks are compared with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from random import Random
from typing import Any

import numpy as np

from ringfence.kernels.recode.class_rules import (
    CELLS,
    DISTINCT,
    ENTROPY,
    FAR_EQUAL,
    FAR_IN_TREE,
    FAR_ORDERED,
    MINORITY,
    NUMBER,
    RECURSIVE,
    SQUARES,
    Watched,
)

TREES = [[3, 3, 4, 4, 4], [4, 4, 5, 5, 6, 6, 6]]
"""The parent of each node of each attribute's tree; leaves are first, the root is its own parent."""

LEAVES = [3, 4]


@dataclass(frozen=True)
class Rule:
    """A model: of a kind, over an attribute, asking for so much."""

    kind: int
    part: int
    least: float
    factor: float = 0.0


@dataclass(frozen=True, eq=False)
class World:
    """Tuples with values of two attributes, so many rows of each, and what is asked of classes of them."""

    k: int
    rules: list[Rule]
    values: list[dict[tuple[int, int], int]]
    ranks: list[list[int]]
    cost: int = CELLS
    scale: float = 0.5
    labels: int = 0

    @property
    def monotone(self) -> bool:
        return all(rule.kind == DISTINCT for rule in self.rules)

    @cached_property
    def _counted(self) -> dict[tuple[tuple[int, ...], int], Counter[int]]:
        """What was counted before: the same tuples are asked for by rule after rule."""
        return {}

    def counts(self, tuples: Sequence[int], part: int) -> Counter[int]:
        asked = tuple(tuples), part
        if asked not in self._counted:
            found: Counter[int] = Counter()
            for t in tuples:
                for (of, value), weight in self.values[t].items():
                    if of == part:
                        found[value] += weight
            self._counted[asked] = found
        return self._counted[asked]

    def rows(self, tuples: Sequence[int]) -> int:
        return sum(self.counts(tuples, 0).values())

    def holds(self, tuples: Sequence[int]) -> bool:
        """Whether tuples are a class that holds, from the definitions."""
        return self.rows(tuples) >= self.k and all(self._satisfied(rule, tuples) for rule in self.rules)

    def _satisfied(self, rule: Rule, tuples: Sequence[int]) -> bool:
        counts = self.counts(tuples, rule.part)
        rows = sum(counts.values())
        falling = sorted(counts.values(), reverse=True)
        if rule.kind == DISTINCT:
            return len(counts) >= rule.least
        if rule.kind == ENTROPY:
            return exp(-sum(n / rows * log(n / rows) for n in falling)) >= rule.least - 1e-7
        if rule.kind == RECURSIVE:
            return falling[0] < rule.factor * sum(falling[int(rule.least) - 1 :])
        return self._distance(rule, counts, rows) <= rule.least + 1e-9

    def _distance(self, rule: Rule, counts: Counter[int], rows: int) -> float:
        everything = self.counts(range(len(self.values)), rule.part)
        total, leaves = sum(everything.values()), LEAVES[rule.part]
        extra = [counts[v] / rows - everything[v] / total for v in range(leaves)]
        if rule.kind == FAR_EQUAL:
            return sum(map(abs, extra)) / 2
        if rule.kind == FAR_ORDERED:
            there = [v for v in sorted(range(leaves), key=lambda v: self.ranks[rule.part][v]) if everything[v]]
            steps = [abs(sum(extra[v] for v in there[: i + 1])) for i in range(len(there))]
            return sum(steps) / (len(there) - 1) if len(there) > 1 else 0.0
        parents, heights = TREES[rule.part], tree_heights(rule.part)
        below: dict[int, list[float]] = {}
        moved = 0.0
        for node, parent in enumerate(parents):
            own = extra[node] if node < leaves else sum(below[node])
            moved += heights[node] * min(
                sum(x for x in below.get(node, []) if x > 0), -sum(x for x in below.get(node, []) if x < 0)
            )
            if parent != node:
                below.setdefault(parent, []).append(own)
        return moved

    def own_cost(self, tuples: Sequence[int]) -> float:
        """What a class that holds costs beside its cells."""
        rows = self.rows(tuples)
        others = rows - max(self.counts(tuples, self.labels).values())
        return {CELLS: 0.0, SQUARES: self.scale * rows**2, MINORITY: self.scale * others, NUMBER: -self.scale}[
            self.cost
        ]

    @property
    def watched(self) -> Watched:
        first = np.cumsum([0, *LEAVES])
        entries = [sorted((first[of] + v, n) for (of, v), n in each.items()) for each in self.values]
        everything = [self.counts(range(len(self.values)), part) for part in range(2)]
        shares = [everything[s][v] / sum(everything[s].values()) for s in range(2) for v in range(LEAVES[s])]
        flat = [entry for each in entries for entry in each]
        return Watched(
            k=self.k,
            kind=np.array([rule.kind for rule in self.rules], np.int64),
            part=np.array([rule.part for rule in self.rules], np.int64),
            least=np.array([rule.least for rule in self.rules], np.float64),
            factor=np.array([rule.factor for rule in self.rules], np.float64),
            first=first,
            shares=np.array(shares),
            ranks=np.array([*self.ranks[0], *self.ranks[1]], np.int64),
            root=np.cumsum([0, *map(len, TREES)]),
            parent=np.array([*TREES[0], *TREES[1]], np.int64),
            height=np.array([*tree_heights(0), *tree_heights(1)]),
            starts=np.cumsum([0, *map(len, entries)]),
            values=np.array([value for value, _ in flat], np.int64),
            weights=np.array([weight for _, weight in flat], np.int64),
            monotone=self.monotone,
            entropic=any(rule.kind == ENTROPY for rule in self.rules),
            cost=self.cost,
            labels=self.labels,
            scale=self.scale,
        )


def tree_heights(part: int) -> list[float]:
    """The height of each node over that of the root."""
    heights = [0] * len(TREES[part])
    for node, parent in enumerate(TREES[part]):
        if parent != node:
            heights[parent] = max(heights[parent], heights[node] + 1)
    return [height / heights[-1] for height in heights]


RULES: list[list[Rule]] = [
    [],
    [Rule(DISTINCT, 1, 2)],
    [Rule(DISTINCT, 0, 2), Rule(DISTINCT, 1, 3)],
    *([Rule(ENTROPY, part, least)] for part, least in ((0, 1.7), (1, 2.4))),
    *([Rule(RECURSIVE, 1, least, c)] for least, c in ((1, 0.8), (2, 1.1), (3, 2.0))),
    *([Rule(kind, part, 0.25)] for kind in (FAR_EQUAL, FAR_ORDERED, FAR_IN_TREE) for part in (0, 1)),
    [Rule(ENTROPY, 0, 1.5), Rule(FAR_EQUAL, 1, 0.4)],
]


def a_world(seed: int, rules: list[Rule], tuples: int = 12, **more: Any) -> World:
    """Tuples of up to four rows each."""
    draw = Random(seed)
    values: list[dict[tuple[int, int], int]] = []
    for _ in range(tuples):
        here: Counter[tuple[int, int]] = Counter()
        for _ in range(draw.randint(1, 4)):
            for part, leaves in enumerate(LEAVES):
                here[part, draw.randrange(leaves - draw.randint(0, 1))] += 1
        values.append(dict(here))
    ranks = [draw.sample(range(leaves), leaves) for leaves in LEAVES]
    return World(draw.randint(1, 5), rules, values, ranks, **more)
