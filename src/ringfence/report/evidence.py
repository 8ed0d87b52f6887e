"""The numbers of the report: what a plan makes of the classes, the marginals and the associations of a census.

Everything is computed from the census and the plan, never from rows. Where a reader of the release would have to guess
which value stands behind a published label, the guess is the plainest one: all values that are published under it are
equally likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ringfence.census import Census, Floats, Longs, Sensitive
from ringfence.metrics import general_loss
from ringfence.plan import ColumnPlan, GlobalPlan
from ringfence.recoding import by_labels

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer]

MASK = "*"
DENSE = 1 << 20
"""Tables of pairs with up to so many cells are counted in place, larger ones by sorting the pairs that occur."""


@dataclass(frozen=True, eq=False)
class Published:
    """What a plan makes of a census.

    `blocks[a][leaf]` is the first leaf that attribute a publishes under the same label. `suppressed[i]` says whether
    the rows of tuple i are suppressed. `homes[i]` is the class that they are published in, or -1 where they are
    dropped; `sizes` are the classes' numbers of rows.
    """

    census: Census
    blocks: tuple[Longs, ...]
    suppressed: Bools
    masked: bool
    homes: Longs
    sizes: Longs

    @property
    def rows(self) -> int:
        """How many rows are published, masked ones included."""
        return int(self.sizes.sum())

    @property
    def masked_rows(self) -> int:
        """How many rows are published with every quasi-identifier hidden."""
        return int(self.census.weights[self.suppressed].sum()) if self.masked else 0

    @cached_property
    def covered(self) -> tuple[Longs, ...]:
        """For each attribute and leaf, how many leaves are published under its label."""
        return tuple(np.bincount(block, minlength=len(block))[block] for block in self.blocks)

    @cached_property
    def kept(self) -> Longs:
        """The tuples whose rows are published with their labels."""
        return np.flatnonzero(~self.suppressed)


def published(census: Census, plan: GlobalPlan) -> Published:
    """Return what a plan makes of a census: which class every tuple is published in, if at all."""
    blocks = tuple(_blocks(plan.columns[quasi.name]) for quasi in census.quasi)
    coarse = np.stack([block[column] for block, column in zip(blocks, census.codes.T, strict=True)], axis=1)
    home = np.zeros(len(coarse), np.int64)
    for block, column in zip(blocks, coarse.T, strict=True):
        _, home = np.unique(home * len(block) + column, return_inverse=True)
    _, example = np.unique(home, return_index=True)
    classes, gone = coarse[example], set(plan.suppressed)
    fails = np.array([tuple(leaves) in gone for leaves in classes.tolist()], np.bool_)
    number = np.where(fails, -1, np.cumsum(~fails) - 1)
    if plan.masked:
        number[fails] = _masked_class(classes, fails, number, [plan.columns[name] for name in census.names])
    homes = number[home]
    shown = homes >= 0
    sizes = np.bincount(homes[shown], census.weights[shown]).astype(np.int64)
    return Published(census, blocks, fails[home], plan.masked, homes, sizes)


def _blocks(column: ColumnPlan) -> Longs:
    first: dict[str | None, int] = {}
    return np.array([first.setdefault(label, leaf) for leaf, label in enumerate(column.labels)], np.int64)


def _masked_class(classes: Longs, fails: Bools, number: Longs, columns: Sequence[ColumnPlan]) -> int:
    """Return the number of the class that masked rows are in: one of their own, unless others show the same labels.

    That happens where a boundary keeps some values from the root: what is published as `*` then looks like them.
    """
    hidden = [np.array([label == MASK for label in column.labels]) for column in columns]
    alike = np.logical_and.reduce([part[classes[:, a]] for a, part in enumerate(hidden)]) & ~fails
    return int(number[alike][0]) if alike.any() else int((~fails).sum())


# Classes


@dataclass(frozen=True)
class SizeBin:
    """Classes of `low` to `high` - 1 rows, and the share of all rows that is in them."""

    low: int
    high: int
    share: float


def size_bins(sizes: Longs, k: int, largest: int) -> list[SizeBin]:
    """Return how rows are distributed over sizes of classes, in steps of 1, 2, 5, 10, ... with k among them."""
    edges = {k, 1}
    step = 1
    while step <= largest * 10:
        edges |= {step, 2 * step, 5 * step}
        step *= 10
    ends = sorted(edge for edge in edges if edge <= largest)
    ends.append(min(edge for edge in edges if edge > largest))
    rows, _ = np.histogram(sizes, ends, weights=sizes)
    total = max(1, int(sizes.sum()))
    return [SizeBin(low, high, float(n) / total) for low, high, n in zip(ends, ends[1:], rows, strict=False)]


@dataclass(frozen=True)
class Uniformity:
    """How many rows are in classes all of whose rows have the same value of a sensitive attribute."""

    name: str
    rows: int
    classes: int


def uniformities(released: Published) -> list[Uniformity]:
    """Return for every sensitive attribute where a class gives its value away."""
    found = []
    for part in others(released.census):
        homes = released.homes[part.tuples]
        shown = homes >= 0
        pairs = np.unique(homes[shown] * part.hierarchy.leaves + part.values[shown])
        values = np.bincount(pairs // part.hierarchy.leaves, minlength=len(released.sizes))
        found.append(Uniformity(part.name, int(released.sizes[values == 1].sum()), int((values == 1).sum())))
    return found


def others(census: Census) -> list[Sensitive]:
    """Return the attributes that were counted beside the quasi-identifiers: they are published as they are."""
    return [part for part in census.sensitive if part.name not in census.names]


# Losses


def attribute_losses(released: Published, plan: GlobalPlan) -> dict[str, float]:
    """Return the general loss (glm) of each attribute; the cells of suppressed rows cost 1."""
    census, losses = released.census, {}
    weights = census.weights[released.kept]
    for a, quasi in enumerate(census.quasi):
        loss = general_loss(quasi, by_labels(quasi.hierarchy, plan.columns[quasi.name].labels))
        kept = float((weights * loss[census.codes[released.kept, a]]).sum())
        losses[quasi.name] = (kept + census.rows - int(weights.sum())) / census.rows
    return losses


# Marginals


@dataclass(frozen=True, eq=False)
class Marginal:
    """The share of rows of each leaf, in the original and as the release lets one guess it."""

    name: str
    before: Floats
    after: Floats

    @property
    def moved(self) -> float:
        """The share of rows that would have to change their value to turn one into the other: total variation."""
        return round(float(np.abs(self.before - self.after).sum() / 2), 12)  # sums of fractions are not exact


def marginals(released: Published) -> list[Marginal]:
    """Return the marginal of each quasi-identifier: the rows of a label are spread evenly over the leaves it covers."""
    census = released.census
    kept = census.weights[released.kept]
    found = []
    for a, (quasi, block, covered) in enumerate(zip(census.quasi, released.blocks, released.covered, strict=True)):
        rows = np.bincount(block[census.codes[released.kept, a]], kept, minlength=len(block))
        after = (rows / covered)[block] + released.masked_rows / len(block)
        found.append(Marginal(quasi.name, quasi.rows / census.rows, after / released.rows))
    return found


def other_marginals(released: Published) -> list[Marginal]:
    """Return the marginals of what is published as it is: only rows that were dropped can change them."""
    found = []
    for part in others(released.census):
        shown = released.homes[part.tuples] >= 0
        before = np.bincount(part.values, part.weights, minlength=part.hierarchy.leaves)
        after = np.bincount(part.values[shown], part.weights[shown], minlength=part.hierarchy.leaves)
        found.append(Marginal(part.name, before / before.sum(), after / after.sum()))
    return found


# Associations


@dataclass(frozen=True)
class Association:
    """How strongly two attributes go together, from 0 to 1, in the original and in the release."""

    names: tuple[str, str]
    before: float
    after: float


@dataclass(frozen=True)
class Contingency:
    """A table of two attributes: its rows, how many values each has, and the mean square contingency phi²."""

    rows: float
    first: int
    second: int
    phi2: float

    @property
    def unbiased(self) -> float:
        """Phi² less what independent attributes would show by chance alone."""
        chance = (self.first - 1) * (self.second - 1) / (self.rows - 1) if self.rows > 1 else 0.0
        return max(0.0, self.phi2 - chance)

    @property
    def most(self) -> float:
        """The largest phi² that attributes of so many values can have, corrected for chance like phi² itself."""
        if self.rows <= 1:
            return 0.0
        return min(count - 1 - (count - 1) ** 2 / (self.rows - 1) for count in (self.first, self.second))


def cramers_v(table: Contingency, scale: Contingency) -> float:
    """Return Cramér's V of one table, corrected for chance, on the scale of another.

    Spreading labels evenly over their values leaves phi² as it is, so the table of labels tells what the table of
    guessed values would show. Both are put on the scale of the original, where they can be compared.

    Bergsma: A bias-correction for Cramér's V and Tschuprow's T. Journal of the Korean Statistical Society 42, 2013.
    """
    return min(1.0, float(np.sqrt(table.unbiased / scale.most))) if scale.most > 1e-12 else 0.0


def contingency(one: Codes, other: Codes, weights: Longs) -> Contingency:
    """Count two columns of codes against each other."""
    width, span = int(other.max()) + 1, (int(one.max()) + 1) * (int(other.max()) + 1)
    keys = one.astype(np.int64) * width + other
    if span <= DENSE:
        table = np.bincount(keys, weights, minlength=span)
        cells = np.flatnonzero(table)
        counts = table[cells]
    else:
        cells, which = np.unique(keys, return_inverse=True)
        counts = np.bincount(which, weights)
    first, second = cells // width, cells % width
    firsts, seconds = np.bincount(first, counts), np.bincount(second, counts)
    phi2 = float((counts**2 / (firsts[first] * seconds[second])).sum()) - 1
    return Contingency(float(counts.sum()), int((firsts > 0).sum()), int((seconds > 0).sum()), max(0.0, phi2))


def associations(released: Published) -> list[Association]:
    """Return how strongly each pair of attributes goes together, the strongest in the original first.

    Pairs of quasi-identifiers, and of a quasi-identifier with what else was counted. Masked rows tell nothing about
    either and are left out.
    """
    census, kept = released.census, released.kept
    columns = [np.ascontiguousarray(census.codes[:, a]) for a in range(len(census.quasi))]
    coarse = [block[column[kept]] for block, column in zip(released.blocks, columns, strict=True)]
    found = []
    for a, b in combinations(range(len(columns)), 2):
        before = contingency(columns[a], columns[b], census.weights)
        after = contingency(coarse[a], coarse[b], census.weights[kept])
        found.append(_association(census.names[a], census.names[b], before, after))
    for part in others(census):
        shown = ~released.suppressed[part.tuples]
        tuples, values, weights = part.tuples[shown], part.values[shown], part.weights[shown]
        for column, block, name in zip(columns, released.blocks, census.names, strict=True):
            before = contingency(column[part.tuples], part.values, part.weights)
            found.append(_association(name, part.name, before, contingency(block[column[tuples]], values, weights)))
    return sorted(found, key=lambda pair: -pair.before)


def _association(one: str, other: str, before: Contingency, after: Contingency) -> Association:
    return Association((one, other), cramers_v(before, before), cramers_v(after, before))
