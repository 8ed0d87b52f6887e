"""The numbers of the report: what a plan makes of the classes, the marginals and the associations of a census.

Everything is computed from the census and the plan, never from rows. Where a reader of the release would have to guess
which value stands behind a published label, the guess is the plainest one: all values that are published under it are
equally likely.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Longs
from ringfence.plans.published import Published

Codes = npt.NDArray[np.integer]

WIDTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
SEED = 2010
DENSE = 1 << 20
"""Tables of pairs with up to so many cells are counted in place, larger ones by sorting the pairs that occur."""


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
    rows = np.bincount(np.searchsorted(ends, sizes, side="right") - 1, sizes, minlength=len(ends) - 1)
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
    for each in released.beside:
        width = each.part.hierarchy.leaves
        pairs = np.unique(released.homes[each.entries] * width + each.values)
        values = np.bincount(pairs // width, minlength=len(released.sizes))
        found.append(Uniformity(each.part.name, int(released.sizes[values == 1].sum()), int((values == 1).sum())))
    return found


# Losses


def attribute_losses(released: Published) -> dict[str, float]:
    """Return the detail that each attribute loses; the cells of suppressed rows cost 1."""
    census, dropped = released.census, released.census.rows - released.rows
    rows_of = [np.bincount(shown.value, released.weights, minlength=len(shown.covers)) for shown in released.shown]
    return {
        quasi.name: (float(rows @ loss) + dropped) / census.rows
        for quasi, rows, loss in zip(census.quasi, rows_of, released.losses, strict=True)
    }


SPANS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where bins of what cells on a line cover end, as shares of the whole."""


@dataclass(frozen=True)
class WidthBin:
    """Cells that stand for `low` to `high` values of the data, and the share of all rows that has them."""

    low: int
    high: int
    share: float


def width_bins(released: Published, attribute: int) -> list[WidthBin]:
    """Return how many values of the data the published cells of an attribute stand for, in steps of 1, 2, 3, 5, ..."""
    quasi, shown = released.census.quasi[attribute], released.shown[attribute]
    widths = shown.covers.total((quasi.rows > 0).astype(np.int64))[shown.value]
    lows = [low for low in WIDTHS if low < quasi.occurring] + [quasi.occurring]
    rows, _ = np.histogram(np.maximum(widths, 1), [*lows, quasi.occurring + 1], weights=released.weights)
    highs = [high - 1 for high in [*lows[1:], quasi.occurring + 1]]
    return [
        WidthBin(low, high, share)
        for low, high, share in zip(lows, highs, (rows / released.rows).tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Spans:
    """How far the published cells of an attribute on a line reach, in its own measure: seconds, where it is of dates.

    `half` and `most` are what half of the rows and nine in ten do not exceed, `whole` is what all values span. `shares`
    are those of rows by how much of the whole their cell covers: nothing, then up to each of `SPANS`.
    """

    half: float
    most: float
    whole: float
    shares: tuple[float, ...]


def spans(released: Published, attribute: int) -> Spans:
    """Return how far the published cells of an attribute on a line reach."""
    quasi, shown = released.census.quasi[attribute], released.shown[attribute]
    reach, whole = shown.covers.spread(quasi.places), float(np.nanmax(quasi.places) - np.nanmin(quasi.places))
    order = np.argsort(reach[shown.value], kind="stable")
    upto = np.cumsum(released.weights[order]) / released.rows
    half, most = (float(reach[shown.value][order][np.searchsorted(upto, q - 1e-9)]) for q in (0.5, 0.9))
    ends = [-1.0, 0.0, *(whole * share * (1 + 1e-9) for share in SPANS)]
    kinds = np.searchsorted(ends, reach[shown.value], side="left") - 1
    shares = np.bincount(kinds, released.weights, minlength=len(SPANS) + 1) / released.rows
    return Spans(half, most, whole, tuple(shares.tolist()))


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
    found = []
    for quasi, shown in zip(census.quasi, released.shown, strict=True):
        covers = shown.covers
        rows = np.bincount(shown.value, released.weights, minlength=len(covers)) / covers.covered
        after = np.bincount(covers.members, rows[covers.values], minlength=quasi.hierarchy.leaves)
        found.append(Marginal(quasi.name, quasi.rows / census.rows, after / released.rows))
    return found


def other_marginals(released: Published) -> list[Marginal]:
    """Return the marginals of what is published as it is: only rows that were dropped can change them."""
    found = []
    for each in released.beside:
        part, width = each.part, each.part.hierarchy.leaves
        before = np.bincount(part.values, part.weights, minlength=width)
        after = np.bincount(each.values, each.weights, minlength=width)
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
    either and are left out. Where rows and not values were recoded, labels overlap, and a table of labels tells little
    about values: there every row is given one of its labels' values, drawn at random, the same in every report.
    """
    census = released.census
    columns = [np.ascontiguousarray(census.codes[:, a]) for a in range(len(census.quasi))]
    kept = np.flatnonzero(~released.masked)
    guess = _Guess(released, kept, released.weights[kept])
    found = []
    for a, b in combinations(range(len(columns)), 2):
        before = contingency(columns[a], columns[b], census.weights)
        after = contingency(guess.codes(a), guess.codes(b), guess.weights)
        found.append(_association(census.names[a], census.names[b], before, after))
    for each in released.beside:
        part = each.part
        pairs = np.flatnonzero(~released.masked[each.entries])
        guess = _Guess(released, each.entries[pairs], each.weights[pairs])
        values = guess.spread(each.values[pairs])
        for a, (column, name) in enumerate(zip(columns, census.names, strict=True)):
            before = contingency(column[part.tuples], part.values, part.weights)
            after = contingency(guess.codes(a), values, guess.weights)
            found.append(_association(name, part.name, before, after))
    return sorted(found, key=lambda pair: -pair.before)


class _Guess:
    """What a reader takes some entries to be: their labels where values were recoded, else a value of them, drawn for
    each row."""

    def __init__(self, released: Published, entries: Longs, weights: Longs) -> None:
        self._released = released
        self._rows = np.arange(len(entries)) if released.recoded else np.repeat(np.arange(len(entries)), weights)
        self._entries = entries[self._rows]
        self.weights = weights if released.recoded else np.ones(len(self._rows), np.int64)

    def spread(self, numbers: Longs) -> Longs:
        """Return a number of each entry for each of what is counted: entries, or their rows."""
        return numbers[self._rows]

    def codes(self, attribute: int) -> Codes:
        """Return what is shown in an attribute, or drawn."""
        shown = self._released.shown[attribute]
        value = shown.value[self._entries]
        if self._released.recoded:
            return value
        uniform = np.random.Generator(np.random.PCG64([SEED, attribute])).random(len(value))
        covers = shown.covers
        return covers.members[covers.starts[value] + (uniform * covers.covered[value]).astype(np.int64)]


def _association(one: str, other: str, before: Contingency, after: Contingency) -> Association:
    return Association((one, other), cramers_v(before, before), cramers_v(after, before))
