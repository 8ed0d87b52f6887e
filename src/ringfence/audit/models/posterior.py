"""Rings for l-diversity as the paper has them, seen by someone who knows how they are made.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section 6,
orders a ring so that any l neighbours differ in their sensitive values. Whoever knows that strikes out assignments that
would give neighbours the same value; what is left may tell more than 1/l, up to everything. In small groups all
assignments are listed, and each is taken to be as likely as any other.
"""

from collections.abc import Iterator

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Released
from ringfence.audit.trace.against import Linked
from ringfence.audit.trace.ring_matches import Matches
from ringfence.audit.verdict import Finding, some

MOST_ROWS = 8


def judge_posteriors(matches: Matches, linked: Linked, released: Released, name: str, limit: int) -> Iterator[Finding]:
    """Find groups in which knowing how rings are ordered tells a sensitive value with more than 1/l.

    A published row holds the l neighbours that it was made from; where equal rows make it hold more, it says nothing
    certain about neighbours, and the group is left out.
    """
    names, others = matches.components
    bad, worst, example, groups = 0, 0.0, 0, 0
    for group in np.unique(names[: len(linked.published.rows)]).tolist():
        ours, theirs = np.flatnonzero(names == group), np.flatnonzero(others == group)
        rows = int(matches.graph.published[ours].sum())
        if matches.suppressed or rows > MOST_ROWS or rows != len(theirs):
            continue
        published, values = _single_rows(released, name, ours)
        here = names[matches.graph.left] == group
        edges = np.zeros((len(ours), len(theirs)), bool)
        edges[np.searchsorted(ours, matches.graph.left[here]), np.searchsorted(theirs, matches.graph.right[here])] = (
            True
        )
        fits = edges[np.searchsorted(ours, published)]
        told = _told(fits, values) if (fits.sum(axis=1) == limit).all() else None
        if told is not None and told > 1 / limit + 1e-9:
            bad, groups = bad + rows, groups + 1
            if told > worst:
                worst, example = told, int(ours[0])
    if bad:
        message = (
            f"{some(bad, 'row')} in {some(groups, 'group')} where whoever knows how the rings of the paper are ordered"
            f" can tell {name!r} with up to {worst:.4g}, not 1/l, l = {limit}; leave method.paper_diversity out"
        )
        yield Finding("l", message, bad, linked.example(example))


def _single_rows(released: Released, name: str, classes: Longs) -> tuple[Longs, Longs]:
    """Return the class and the sensitive value of each published row of some classes."""
    cells = released.cells_of[name]
    here = np.isin(cells.classes, classes)
    return np.repeat(cells.classes[here], cells.rows[here]), np.repeat(cells.values[here], cells.rows[here])


def _told(fits: Bools, values: Longs) -> float | None:
    """Return how sure one may be of the value of some row of the original, over the assignments that are left.

    `fits[i, t]` says that published row i holds row t; all rows that it holds must have different values.
    """
    size = len(values)
    tallies: dict[tuple[int, int], int] = {}
    total = 0
    given: list[int] = []

    def differ() -> bool:
        of = {target: int(values[row]) for row, target in enumerate(given)}
        return all(
            len({of[t] for t in held}) == len(held)
            for held in ([t for t in np.flatnonzero(row).tolist() if t in of] for row in fits)
        )

    def extend() -> None:
        nonlocal total
        if len(given) == size:
            total += 1
            for row, target in enumerate(given):
                tallies[target, int(values[row])] = tallies.get((target, int(values[row])), 0) + 1
            return
        for target in np.flatnonzero(fits[len(given)]).tolist():
            if target not in given:
                given.append(target)
                if differ():
                    extend()
                given.pop()

    extend()
    return max(tallies.values()) / total if total else None
