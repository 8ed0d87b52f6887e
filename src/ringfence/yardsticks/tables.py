"""Tables that users make of a release, cell by cell beside the original's: which share of the rows is not in its cell.

Of a row under a label, each value that the label holds gets its share. A row that was suppressed is in no cell. What
the cells of the original lack in the release, added up, is the share of rows that is misplaced: with as many rows on
both sides, the total variation distance.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.audit.trace.linkage import runs
from ringfence.yardsticks.reading import Likely, OriginalValues, ReadRows, Truth

MOST_CELLS = 100
"""Attributes of more values are put into so many cells where they are crossed with others: numbers in runs of about
as many rows, of all else the commonest values, and the rest in one."""
AT_ONCE = 1 << 22
"""How many numbers are held at once."""


class Table:
    """A table of some attributes: how many rows of the original are in each cell."""

    def __init__(self, truth: Truth, names: Sequence[str]) -> None:
        self._names = names
        self._of = truth.quasi if {*truth.quasi} >= {*names} else None
        self._cells = [_cells(truth, name, crossed=len(names) > 1) for name in names]
        self._actual = self._counted(truth)
        alone = [
            np.bincount(of, truth.marginal(name), minlength=width)
            for name, (of, width) in zip(names, self._cells, strict=True)
        ]
        self._product: Floats = truth.total * reduce(np.multiply.outer, alone).reshape(-1).astype(np.float64)

    def misplaced(self, release: ReadRows) -> float:
        """Return the share of rows that users of a release have not in their cells."""
        return self._lacking(self._counted(release))

    def _counted(self, side: ReadRows) -> Floats:
        return _table(side if self._of is None else side.merged(self._of), self._names, self._cells)

    @property
    def naively_misplaced(self) -> float:
        """The same of whoever knows every attribute by itself, and takes them to be independent."""
        return self._lacking(self._product)

    def _lacking(self, estimate: Floats) -> float:
        return float(np.maximum(self._actual - estimate, 0).sum().round(9) / self._actual.sum())


def _cells(truth: Truth, name: str, *, crossed: bool) -> tuple[Longs, int]:
    """Return in which cell of a table each value of an attribute is counted, and how many cells there are."""
    domain = truth.domains[name]
    if not crossed or len(domain) <= MOST_CELLS:
        return np.arange(len(domain)), len(domain)
    return _few_cells(domain, truth.marginal(name)), MOST_CELLS


def _few_cells(domain: OriginalValues, shares: Floats) -> Longs:
    cells = np.full(len(domain), MOST_CELLS - 1)
    if len(domain.line):
        before = np.cumsum(shares[domain.line]) - shares[domain.line]
        placed = float(shares[domain.line].sum())
        cells[domain.line] = np.minimum(before / max(placed, 1e-300) * (MOST_CELLS - 1), MOST_CELLS - 2).astype(int)
    else:
        commonest = np.argsort(-shares, kind="stable")[: MOST_CELLS - 1]
        cells[commonest] = np.arange(len(commonest))
    return cells


def _table(side: ReadRows, names: Sequence[str], cells: Sequence[tuple[Longs, int]]) -> Floats:
    """Return how many rows are in each cell of a table, flat."""
    columns, rows = side.projected(names)
    likely = [side.likely[name] for name in names]
    if len(names) == 1:
        rows = np.bincount(columns[0], rows, minlength=len(likely[0].sizes)).astype(np.float64)
        return likely[0].total(rows, cells[0][1])
    parts = np.prod([each.sizes[column] for each, column in zip(likely, columns, strict=True)], axis=0)
    if parts.sum() <= AT_ONCE:
        return _one_by_one(columns, rows, likely, cells)
    spreads = [each.spread(*of) for each, of in zip(likely, cells, strict=True)]
    width = int(np.prod([each.shape[1] for each in spreads[1:]], dtype=np.int64))
    total = np.zeros((spreads[0].shape[1], width))
    step = max(1, AT_ONCE // max(width, spreads[0].shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        others = rows[part, None]
        for column, spread in zip(columns[1:], spreads[1:], strict=True):
            others = (others[:, :, None] * spread[column[part]][:, None, :]).reshape(len(others), -1)
        total += spreads[0][columns[0][part]].T @ others
    return total.reshape(-1)


def _one_by_one(
    columns: Sequence[Longs], rows: Floats, likely: Sequence[Likely], cells: Sequence[tuple[Longs, int]]
) -> Floats:
    """Return the same by writing out what rows may stand for: less work where labels hold few values."""
    which, cell, weights = np.arange(len(rows)), np.zeros(len(rows), np.int64), rows
    for column, each, (of, width) in zip(columns, likely, cells, strict=True):
        label = column[which]
        sizes = each.sizes[label]
        at = runs(each.starts[label], sizes)
        which = np.repeat(which, sizes)
        cell = np.repeat(cell, sizes) * width + of[each.members[at]]
        weights = np.repeat(weights, sizes) * each.shares[at]
    total = int(np.prod([width for _, width in cells], dtype=np.int64))
    return np.bincount(cell, weights, minlength=total).astype(np.float64)
