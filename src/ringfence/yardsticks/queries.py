"""Seeded COUNT queries over one to three attributes: what a user of a release answers, beside the truth.

Each is built around a row drawn at random: "how many women between 30 and 44 in Oslo are there?" Every fourth asks for
a value of an attribute that is published as it is, too. A third of them are about at least a tenth of the rows, a third
about a hundredth to a tenth, a third about a thousandth to a hundredth.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ringfence.arrays import Bools, Floats
from ringfence.audit.trace.linkage import runs
from ringfence.yardsticks.reading import OriginalValues, ReadRows, Truth

QUERIES = 1_000
MOST_PREDICATES = 3
MOST_LISTED = 5
"""How many values a question lists at most where they have no order."""
BESIDE_EVERY = 4
SIZES = ((0.1, 1.0), (0.01, 0.1), (0.001, 0.01))
"""Shares of the rows that a third of the questions each are about: from the first on, below the second."""
MOST_TRIES = 40
"""How many questions are drawn for each that is asked, at most: a small table has no small answers."""
BATCH = 500
SANITY = 0.001
"""Errors are relative to the true answer, or to this share of all rows where that is more."""
SEED = 2028
MOST_CELLS = 1 << 18
"""Tables of no more cells are made for the questions about some attributes."""
FEW_ROWS = 1 << 16
"""So many different rows are gone through for a question sooner than some of them are looked up."""


@dataclass(frozen=True, eq=False)
class CountQuery:
    """For some attributes, which values are asked for; the true number of rows, and which of `SIZES` that is."""

    wanted: Mapping[str, Bools]
    actual: float
    size: int


def make_queries(truth: Truth, count: int = QUERIES, seed: int = SEED) -> list[CountQuery]:
    """Draw queries about an original, as many of each size; fewer where there are none of that size."""
    counter, total = TrueCounts(truth), truth.total
    room = [count // len(SIZES) + (place < count % len(SIZES)) for place in range(len(SIZES))]
    room = [left if possible else 0 for left, possible in zip(room, _possible(truth), strict=True)]
    made: list[CountQuery] = []
    for wanted in _drawn(truth, MOST_TRIES * count, seed):
        if not any(room):
            break
        actual = counter.count(wanted)
        share = actual / total
        fits = [place for place, (low, high) in enumerate(SIZES) if low <= share and (share < high or high == 1)]
        if fits and room[fits[0]]:
            room[fits[0]] -= 1
            made.append(CountQuery(wanted, actual, fits[0]))
    return made


def _drawn(truth: Truth, tries: int, seed: int) -> Iterator[dict[str, Bools]]:
    """Draw what is asked for, each time around another row.

    Uniform numbers are what NumPy is least likely to change: everything is drawn by means of them, a batch at a time.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    upto = np.cumsum(truth.rows)
    quasi, others = truth.quasi, truth.others
    each = 3 + MOST_LISTED
    for begin in range(0, tries, BATCH):
        numbers = range(begin, min(begin + BATCH, tries))
        beside = [bool(others) and number % BESIDE_EVERY == BESIDE_EVERY - 1 for number in numbers]
        asked = [min(1 + number % MOST_PREDICATES, len(quasi)) for number in numbers]
        needed = [1 + len(quasi) + each * some + (1 + each) * more for some, more in zip(asked, beside, strict=True)]
        starts = np.cumsum([0, *needed])
        uniforms = rng.random(int(starts[-1]))
        rows = np.searchsorted(upto, uniforms[starts[:-1]] * upto[-1], side="right").tolist()
        places = uniforms[starts[:-1, None] + 1 + np.arange(len(quasi))].argsort(axis=1).tolist()
        for row, some, more, order, start in zip(rows, asked, beside, places, starts.tolist(), strict=False):
            at = start + 1 + len(quasi)
            names = [quasi[place] for place in order[:some]]
            wanted = {}
            for name in names:
                wanted[name] = _around(truth.domains[name], int(truth.codes[name][row]), uniforms[at : at + each])
                at += each
            if more:
                name = others[int(uniforms[at] * len(others))]
                around = uniforms[at + 1 : at + 1 + each]
                wanted[name] = _around(truth.domains[name], int(truth.codes[name][row]), around)
            yield wanted


def _possible(truth: Truth) -> list[bool]:
    """Return of which sizes there may be questions. None is about less than the rows that it is built around: whoever
    is alone among fifty is a fiftieth of them, so that nothing has to be drawn in search of a hundredth."""
    least = int(truth.rows.min()) / truth.total
    return [least < high or high == 1 for _, high in SIZES]


def _around(domain: OriginalValues, value: int, uniforms: Floats) -> Bools:
    """Return which values are asked for: a range around a number, a group around a value, or a short list with it."""
    wanted = np.zeros(len(domain), np.bool_)
    wanted[value] = True
    line = domain.line
    if len(line):
        if domain.rank[value] >= 0:
            place, size = int(domain.rank[value]), 1 + int(uniforms[0] * len(line) / 2)
            start = max(0, place - int(uniforms[1] * size))
            wanted[line[start : start + size]] = True
    elif domain.inner[value] and uniforms[2] < 0.5:
        wanted[domain.inner[value][int(uniforms[0] * len(domain.inner[value]))]] = True
    else:
        more = int(uniforms[0] * min(MOST_LISTED, len(domain) // 2))
        wanted[(uniforms[3 : 3 + more] * len(domain)).astype(np.intp)] = True
    return wanted


class TrueCounts:
    """Counts what is asked for in an original: in a table by the attributes of a query, where that is small."""

    def __init__(self, truth: Truth) -> None:
        self._truth, self._counter = truth, Counter(truth, truth.quasi)
        self._tables: dict[tuple[str, ...], Floats | None] = {}

    def count(self, wanted: Mapping[str, Bools]) -> float:
        """Return how many rows there are."""
        names = tuple(sorted(wanted))
        if names not in self._tables:
            self._tables[names] = self._table(names)
        table = self._tables[names]
        if table is None and len(self._truth.rows) > FEW_ROWS:
            return self._counter.count(wanted)
        if table is None:
            hits = [wanted[name][self._truth.codes[name]] for name in names]
            return float(self._truth.rows[np.logical_and.reduce(hits)].sum())
        return float(table[np.ix_(*(wanted[name] for name in names))].sum())

    def _table(self, names: tuple[str, ...]) -> Floats | None:
        truth = self._truth
        sizes = [len(truth.domains[name]) for name in names]
        if prod(sizes) > min(MOST_CELLS, len(truth.rows)):
            return None
        key = np.ravel_multi_index([truth.codes[name] for name in names], sizes)
        counts: Floats = np.bincount(key, truth.rows, minlength=prod(sizes)).astype(np.float64)
        return counts.reshape(sizes)


class Counter:
    """Answers queries from what rows show, each by how likely it stands for what is asked for.

    Entries are looked up by the label of the attribute that leaves fewest of them, and only these are gone through.
    Where some attributes have few combinations beside the entries, they are counted by them once for all queries.
    """

    def __init__(self, side: ReadRows, quasi: Sequence[str]) -> None:
        self._side, self._quasi = side, tuple(quasi)
        self._sides: dict[tuple[str, ...], ReadRows] = {}

    def _by(self, names: tuple[str, ...]) -> ReadRows:
        """Return rows to answer queries about some attributes from: with as few entries as it pays to look for."""
        if names not in self._sides:
            side = self._side.merged(self._quasi) if {*self._quasi} >= {*names} else self._side
            cells = prod(len(side.likely[name].sizes) for name in names)
            self._sides[names] = side.merged(names) if cells <= min(MOST_CELLS, len(side.rows) // 2) else side
        return self._sides[names]

    def count(self, wanted: Mapping[str, Bools]) -> float:
        """Return how many rows there are, as far as can be told."""
        side = self._by(tuple(sorted(wanted)))
        factors = {name: side.likely[name].expected(some) for name, some in wanted.items()}
        left = {name: int(side.entries(name)[2][factor > 0].sum()) for name, factor in factors.items()}
        first, *others = sorted(factors, key=lambda name: left[name])
        order, starts, sizes = side.entries(first)
        hit = np.flatnonzero(factors[first])
        chosen = order[runs(starts[hit], sizes[hit])]
        rows = np.repeat(factors[first][hit], sizes[hit]) * side.rows[chosen].astype(np.float64)
        for name in others:
            shares = factors[name][side.codes[name][chosen]]
            hits = np.flatnonzero(shares)
            chosen = chosen[hits]
            rows = rows[hits] * shares[hits]
        return float(rows.sum())


def answers(side: ReadRows, quasi: Sequence[str], queries: Sequence[CountQuery]) -> Floats:
    """Return what a user of a release answers."""
    counter = Counter(side, quasi)
    return np.array([counter.count(query.wanted) for query in queries])


def naive_answers(truth: Truth, queries: Sequence[CountQuery]) -> Floats:
    """Return what is answered by whoever knows every attribute by itself, and takes them to be independent."""
    shares = {name: truth.marginal(name) for name in truth.domains}
    products = [prod(float(shares[name] @ wanted) for name, wanted in query.wanted.items()) for query in queries]
    return truth.total * np.array(products)


@dataclass(frozen=True, eq=False)
class Answered:
    """Queries about an original, and what somebody answers who has less than that."""

    truth: Truth
    queries: Sequence[CountQuery]
    estimates: Floats

    @property
    def errors(self) -> Floats:
        """The relative error of each answer."""
        return errors(self.queries, self.estimates, self.truth.total)


def errors(queries: Sequence[CountQuery], estimates: Floats, rows: int) -> Floats:
    """Return the relative error of each answer, with a sanity bound for small ones."""
    actual = np.array([query.actual for query in queries])
    off: Floats = np.abs(estimates - actual) / np.maximum(actual, SANITY * rows)
    return off.round(12)  # sums of shares are not exact
