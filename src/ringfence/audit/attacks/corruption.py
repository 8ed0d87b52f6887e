"""An adversary who already knows whose some published rows are: how many candidates that leaves for the others.

Knowing who a row is takes it out of the graph of matches; some of the other matches may then be in no complete
assignment any more. In a group where everyone may be anyone, c known rows leave size - c candidates. In a ring of k = 2
one known row tells all the others.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section 5.2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.counts import total_by
from ringfence.audit.trace.flows import Graph, effective, match
from ringfence.audit.trace.ring_matches import Matches

MOST_TRIALS = 2_000
SAMPLES = 200
"""How many ways to know rows are drawn in a group at most; in many or large groups fewer, at least one."""
MOST_EDGES = 1 << 20
"""How many edges are looked at, in all draws together, where a draw takes as long as 250 more."""


@dataclass(frozen=True)
class Corruption:
    """The fewest candidates that some row is left with when c others are known: as found, and as is certain.

    `exact` where all ways to know c rows were looked at (or need not be); else `fewest` is the worst of a seeded
    sample, and nothing is certain but that one candidate is left.
    """

    known: int
    fewest: int
    exact: bool
    chance: float
    """How often a guess is right, over all published rows, if the known ones are in the group of each."""
    samples: int = 0
    """How many ways to know rows were drawn."""

    @property
    def bound(self) -> int:
        """What is certain."""
        return self.fewest if self.exact else 1

    def __str__(self) -> str:
        how = "exactly" if self.exact else f"the worst of {self.samples:,} seeded samples; it may be 1"
        return f"whoever knows {self.known} rows has {self.fewest} candidates or more for any other ({how})"


def corrupt(matches: Matches, known: int, seed: int = 0) -> Corruption:
    """Return what knowing so many rows leaves, at worst, group by group.

    Groups do not tell anything about each other, so as many known rows as can be are in the group of the row that is
    looked for. Up to two known rows in a small
    group are tried in all ways; otherwise rows are drawn one after the other, each with a true match of what is left.
    """
    graph, (names, _) = matches.graph, matches.components
    trials = MOST_TRIALS
    left: list[tuple[int, int]] = []  # the rows of each group, and the fewest candidates of any
    large: list[tuple[Graph, int, int]] = []
    order = np.argsort(np.bincount(names[graph.left], minlength=len(names)), kind="stable")
    for name in order[np.isin(order, names)].tolist():
        part, suppressed = _group(matches, name)
        rows = int(part.published.sum()) - suppressed
        here = min(known, rows - 1)
        ways = comb(len(part.left) + here - 1, here) if here >= 0 else 0
        if here < 0:
            continue  # all of them are suppressed
        if len(part.left) == len(part.published) * len(part.original):
            left.append((rows, int(part.original.sum()) - here))
        elif known <= 2 and ways <= trials:
            trials -= ways
            each_way = combinations_with_replacement(range(len(part.left)), here)
            left.append((rows, _least(part, suppressed, (_left(part, suppressed, way) for way in each_way))))
        else:
            large.append((part, suppressed, here))
    rng, samples = np.random.default_rng(seed), 0
    for part, suppressed, here in large:
        draws = min(SAMPLES, max(1, MOST_EDGES // len(large) // (max(here, 1) * (len(part.left) + 250))))
        drawn = (_left_by_chance(part, suppressed, here, rng) for _ in range(draws))
        left.append((int(part.published.sum()) - suppressed, _least(part, suppressed, drawn)))
        samples += draws
    chance = sum(rows / fewest for rows, fewest in left) / sum(rows for rows, _ in left)
    return Corruption(known, min(fewest for _, fewest in left), not large, chance, samples)


def _least(graph: Graph, suppressed: int, found: Iterable[int | None]) -> int:
    """Return the least of what was found; where no way to know rows was possible, what is there without."""
    return min((each for each in found if each is not None), default=_fewest(graph, suppressed) or 1)


def _group(matches: Matches, name: int) -> tuple[Graph, int]:
    """Return one group as a graph of its own, suppressed rows last on the left, and how many of those there are."""
    graph, (names, others) = matches.graph, matches.components
    here = names[graph.left] == name
    ours, theirs = np.flatnonzero(names == name), np.flatnonzero(others == name)
    part = Graph(
        np.searchsorted(ours, graph.left[here]),
        np.searchsorted(theirs, graph.right[here]),
        graph.published[ours],
        graph.original[theirs],
    )
    return part, matches.suppressed if matches.suppressed and ours[-1] == len(names) - 1 else 0


def _without(graph: Graph, edge: int) -> Graph | None:
    """Return the graph after a row on each side of an edge is known to be the other; None if that cannot be."""
    published, original = graph.published.copy(), graph.original.copy()
    published[graph.left[edge]] -= 1
    original[graph.right[edge]] -= 1
    if published.min() < 0 or original.min() < 0:
        return None
    alive = (published[graph.left] > 0) & (original[graph.right] > 0)
    rest = Graph(graph.left[alive], graph.right[alive], published, original)
    flow = match(rest)
    return rest.part(effective(rest, flow)) if flow.sum() == published.sum() else None


def _left(graph: Graph, suppressed: int, way: Sequence[int]) -> int | None:
    """Return the fewest candidates of any row when these edges are known; None if they are not true together."""
    hidden, rest = _hidden(graph, suppressed), graph
    for left, right in [(graph.left[edge], graph.right[edge]) for edge in way]:
        edge = np.flatnonzero((rest.left == left) & (rest.right == right) & (rest.left != hidden))
        after = _without(rest, int(edge[0])) if len(edge) else None
        if after is None:
            return None
        rest = after
    return _fewest(rest, suppressed)


def _left_by_chance(graph: Graph, suppressed: int, known: int, rng: np.random.Generator) -> int | None:
    """Return the fewest candidates of any row when so many rows, drawn one after the other, are known."""
    rest = graph
    for _ in range(known):
        usable = np.flatnonzero(rest.left != _hidden(graph, suppressed))
        after = _without(rest, int(rng.choice(usable))) if len(usable) else None
        if after is None:
            return None
        rest = after
    return _fewest(rest, suppressed)


def _hidden(graph: Graph, suppressed: int) -> int:
    """Return the node of the suppressed rows, -1 if there is none."""
    return len(graph.published) - 1 if suppressed else -1


def _fewest(graph: Graph, suppressed: int) -> int | None:
    degrees: Longs = total_by(graph.left, graph.original[graph.right], len(graph.published))
    rows = graph.published.copy()
    if suppressed:
        rows[-1] = 0
    return int(degrees[rows > 0].min()) if (rows > 0).any() else None
