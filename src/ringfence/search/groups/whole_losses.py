"""Losses of groups in whole numbers: billionths of what a row can lose, rounded down.

Every part of a loss is rounded down by itself, and parts that never fell as a group grew do not fall now. So what is
concluded from whole losses holds of the true ones. Only a width, the difference of two rounded places, may come out too
large, by `SLACK` at most: that is taken off in the end.
"""

from collections.abc import Sequence

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.census.census import Census
from ringfence.census.covers import Representation
from ringfence.judging.losses import cell_metrics
from ringfence.kernels.groups.rounded import GAP, Rounded
from ringfence.search.groups.distances import Kept, layout_of, node_losses, places_of, space_of

UNIT = 10**9
SLACK = 4
"""By how many units a width may be too large: each place is rounded by less than one, and whoever checks it may have
rounded the other way."""
TINY = 1e-3
"""What may be wrong with a loss in units before it is rounded: it was computed with sixteen digits."""


def whole(losses: Floats) -> Longs:
    """Return losses in units, rounded down."""
    return np.maximum(0, np.floor(losses * UNIT - TINY)).astype(np.int64)


def whole_losses(census: Census, representation: Representation | Sequence[Representation], loss: Kept) -> Rounded:
    """Return where the tuples of a census lie, given how attributes are published, and what is lost in whole units.

    A missing number lies nowhere: it adds no width, as in the losses that are measured.
    """
    layout, space = layout_of(census, representation, loss), space_of(census, representation, loss)
    weight = cell_metrics()[loss].weight
    shares = np.array([weight(quasi) for quasi in census.quasi])
    shares /= shares.sum()
    lines = [_line(census, a, loss, float(shares[a])) for a in layout.lines]
    tuples, longest = len(census.weights), max([1, *(len(table) for _, table in lines)])
    trees = [census.quasi[a].hierarchy for a in layout.trees]
    costs = np.pad(space.costs, ((0, 0), (0, 1)), mode="edge")
    return Rounded(
        lines=np.array([places for places, _ in lines], np.int64).reshape(len(lines), tuples).T.copy(),
        tabled=np.array([len(table) > 0 for _, table in lines], np.bool_),
        tables=np.array([np.pad(table, (0, longest - len(table))) for _, table in lines], np.int64).reshape(
            len(lines), longest
        ),
        leaves=np.ascontiguousarray(census.codes[:, list(layout.trees)], np.int32),
        bases=np.cumsum([0, *(len(tree.parent) for tree in trees)])[: len(trees)].astype(np.int64),
        parent=np.concatenate([np.empty(0, np.int32), *(tree.parent for tree in trees)]),
        first=np.concatenate([np.empty(0, np.int32), *(tree.first for tree in trees)]),
        stop=np.concatenate([np.empty(0, np.int32), *(tree.stop for tree in trees)]),
        nodes=np.concatenate(
            [
                np.empty(0, np.int64),
                *(whole(float(shares[a]) * node_losses(census.quasi[a], loss)) for a in layout.trees),
            ]
        ),
        words=space.words,
        begins=space.begins,
        holders=space.holders,
        masks=space.masks,
        costs=whole(costs),
    )


def _line(census: Census, a: int, loss: Kept, share: float) -> tuple[Longs, Longs]:
    """Return where the tuples lie on a line, and what distances lose, or nothing where it is the distance itself."""
    quasi = census.quasi[a]
    tree, places = quasi.hierarchy, places_of(quasi, loss)
    gaps = np.isnan(quasi.places) if quasi.numeric else np.zeros(tree.leaves, np.bool_)
    if tree.has_missing:
        gaps[-1] = True
    if quasi.numeric and loss != "gcp":
        at, table = np.floor(share * np.where(gaps, 0.0, places) * UNIT).astype(np.int64), np.empty(0, np.int64)
    else:  # ranks, scaled
        others = 1 if loss == "use" else max(1, (tree.leaves if loss == "glm" else quasi.occurring) - 1)
        at = np.rint(np.where(gaps, 0.0, places) * others).astype(np.int64)
        apart: Floats = np.arange(int(at.max(initial=0)) + 1, dtype=np.float64)
        table = whole(share * (1.0 - 1.0 / (1.0 + apart) if loss == "use" else apart / others))
    return np.where(gaps, GAP, at)[census.codes[:, a]], table
