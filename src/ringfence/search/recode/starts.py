"""Where a search over a scheme begins: at the best recodings of schemes that it contains.

Every partition of a scheme is one of each freer scheme, where it costs no more: there, a label covers the same values
or fewer. So the best recoding by levels, which is proven fast, is a start for all, and what is found with cuts or runs
is a start for those that can do more (`rungs`). A search that begins there ends no worse. So does one that begins at a
plan which was found before, by a search of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np

from ringfence.arrays import Longs
from ringfence.census.census import Census, Quasi
from ringfence.census.classes import Roller
from ringfence.errors import Unsatisfiable
from ringfence.judging.metrics import hdm_tallies, metric
from ringfence.judging.models import promise
from ringfence.plans.recode import GlobalPlan
from ringfence.search.progress import Watch
from ringfence.search.recode.lattice import level_spaces, search_levels
from ringfence.search.recode.partitions import CUT, NEVER, RUNS, Blocks, Rule, renumbered
from ringfence.search.recode.programs import completed
from ringfence.search.recode.spaces import Levels, Space
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class Found:
    """A recoding, as a label for each leaf of each attribute, what it costs, and whether that is proven to be best."""

    labels: list[Longs]
    cost: float
    proven: bool


def best_levels(census: Census, spec: Spec, watch: Watch) -> Found | None:
    """Return the best recoding by levels; None if there is none.

    It has models of its own, as they keep scratch arrays and may judge other classes at the same time.
    """
    models, lattice = promise(spec, census), level_spaces(census)
    roller = Roller(census, lattice, hdm_tallies(census) if spec.method.metric == "hdm" else [])
    loss = metric(spec.method.metric, spec, census, roller, models.least)
    try:
        levels, result = search_levels(census, roller, models, loss, limit=spec.row_limit(census.rows), watch=watch)
    except Unsatisfiable:
        return None
    labels = [
        leaf_labels(q, space[level].blocks) for q, space, level in zip(census.quasi, lattice, levels, strict=True)
    ]
    return Found(labels, result.cost, result.optimal)


def leaf_labels(quasi: Quasi, blocks: "np.typing.NDArray[np.int32]") -> Longs:
    """Return the smallest leaf that occurs in each leaf's block; 0 for leaves that do not occur."""
    occurring = np.flatnonzero(quasi.rows > 0)
    smallest = np.full(len(blocks), len(blocks), np.int64)
    np.minimum.at(smallest, blocks[occurring], occurring)
    labels = np.zeros(len(blocks), np.int64)
    labels[occurring] = smallest[blocks[occurring]]
    return labels


def labels_of_plan(census: Census, plan: GlobalPlan) -> list[Longs]:
    """Return a label for each leaf of each attribute, the same for those that a plan publishes under one label.

    A value that the plan does not know is left as it is.
    """
    labels = []
    for quasi in census.quasi:
        column = plan.columns[quasi.name]
        known = dict(zip(column.leaves, column.labels, strict=True))
        blocks: dict[tuple[bool, str | None], int] = {}
        of = [
            blocks.setdefault((leaf in known, known.get(leaf, leaf)), number)
            for number, leaf in enumerate(quasi.hierarchy.labels[: quasi.hierarchy.leaves])
        ]
        labels.append(leaf_labels(quasi, np.array(of, np.int32)))
    return labels


def fitted_to(spaces: Sequence[Space], labels: Sequence[Longs]) -> list[Any]:
    """Return the finest states of spaces in which leaves with the same label are merged."""
    return [fitted(space, part) for space, part in zip(spaces, labels, strict=True)]


def fitted(space: Space, labels: Longs) -> Any:
    """Return the finest state of a space in which leaves with the same label are merged."""
    walk = space.walk
    occurring = space.quasi.rows > 0
    if isinstance(walk, Levels):
        of = labels[occurring].tolist()
        for level in walk.levels:
            if len({*zip(of, space.recode(level).blocks[occurring].tolist(), strict=True)}) == len({*of}):
                return level
        return walk.coarsest
    whole = walk.labelling.state(labels)
    if walk.allows(whole) and (walk.labelling.of(whole, len(labels)) == labels)[occurring].all():
        return whole  # nothing else is to be merged
    state: list[Blocks] = []
    below: list[set[int]] = []
    for branch in walk.branches:
        marks = [{int(labels[child])} if child >= 0 else below[~child] for child in branch.children]
        below.append({*chain.from_iterable(marks)})
        state.append(_united(branch.rule, marks))
    return completed(walk, state)


def _united(rule: Rule, marks: list[set[int]]) -> Blocks:
    """Return the finest blocks of children by a rule such that those which share a mark are together."""
    size = len(marks)
    apart = tuple(range(size))
    if rule is NEVER:
        return apart
    first, last = dict[int, int](), dict[int, int]()
    above = list(apart)  # a child that it is together with, itself for one that stands for its block
    for child, of in enumerate(marks):
        for mark in of:
            one, other = _top(above, first.setdefault(mark, child)), _top(above, child)
            above[max(one, other)] = min(one, other)
            last[mark] = child
    if rule is CUT:
        return apart if all(child == up for child, up in enumerate(above)) else (0,) * size
    if rule is RUNS:
        covered = [0] * (size + 1)  # joints are covered from the first child of a mark to its last
        for mark, child in first.items():
            covered[child] += 1
            covered[last[mark]] -= 1
        return tuple(accumulate([0, *(int(over == 0) for over in accumulate(covered[: size - 1]))]))
    return renumbered([_top(above, child) for child in apart])


def _top(above: list[int], child: int) -> int:
    """Return the child that stands for the block of another, and shorten the way to it."""
    while above[child] != child:
        above[child] = above[above[child]]
        child = above[child]
    return child
