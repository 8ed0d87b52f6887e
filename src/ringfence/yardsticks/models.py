"""Models of an attribute from the quasi-identifiers: trained on a release, tested on rows of the original held out.

Rows are split at random, two thirds to train and one third to test, several times over. The model is trained on what
the release shows of the first and tested on the second as they were, which are no part of its training: not even as
published. (They are part of what labels were made from, as they are in any release.) Beside it stands the model that is
trained on the original rows of the same split; a naive reader's guesses have an AUC of one half, and an R2 of 0.

What is under a label enters as what is expected of it: the shares of its values, the mean of its numbers and of their
squares. The models are linear (ridge regression, of categories on each of them), which takes hundredths of a second;
categories are judged by the area under the ROC curve (of several, the mean over all, weighted), numbers by R2.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.errors import SpecError
from ringfence.yardsticks.linking import LinkedRows
from ringfence.yardsticks.reading import Likely, OriginalValues, Truth

SEEDS = (1, 2, 3)
HELD_OUT = 1 / 3
MOST_SHARES = 20
"""Values of an attribute whose shares a model looks at: the commonest; all others are one."""
MOST_CATEGORIES = 10
"""Numbers of more different values are told as numbers, and of all else no more values are told apart."""
MOST_ROWS = 20_000
"""A model is trained on, and tested on, no more rows than this, drawn at random."""


@dataclass(frozen=True)
class Score:
    """How well an attribute is told: `measure` is "AUC" or "R2", its mean over the splits and its spread (largest less
    smallest); `original` and `original_spread` are those of the model that has the original rows."""

    measure: str
    mean: float
    spread: float
    original: float
    original_spread: float

    @property
    def naive(self) -> float:
        """What somebody gets who knows nothing but how often each value occurs."""
        return 0.5 if self.measure == "AUC" else 0.0

    @property
    def lost(self) -> float:
        """The share of what the quasi-identifiers tell about it that is lost: 0 as with the original, 1 all of it."""
        told = self.original - self.naive
        return min(1.0, max(0.0, (self.original - self.mean) / told)) if told > 0 else 0.0


def is_installed() -> bool:
    """Whether the library is there that makes models."""
    return find_spec("sklearn") is not None


def check_installed() -> None:
    """Refuse to measure models where the library is missing that makes them."""
    if not is_installed():
        raise SpecError(
            "purpose.predict needs scikit-learn, which is not installed: pip install 'ringfence[models]', or leave"
            " predict out"
        )


class Lessons:
    """What is to be told, of an original: its splits and features, made once for all releases."""

    def __init__(self, truth: Truth, name: str) -> None:
        self._truth, self._name = truth, name
        domain = truth.domains[name]
        shares = truth.marginal(name)
        self._numeric = len(domain.line) > MOST_CATEGORIES
        if self._numeric:
            self._target = np.nan_to_num(domain.places, nan=float(np.nansum(domain.places * shares)))
        else:
            commonest = np.argsort(-shares, kind="stable")[: MOST_CATEGORIES - 1]
            self._target = np.full(len(domain), MOST_CATEGORIES - 1.0)
            self._target[commonest] = np.arange(len(commonest))
        self._features = {each: _features(truth, each) for each in truth.quasi}
        self._held_out = [_split(truth.rows, seed) for seed in SEEDS]

    @cached_property
    def original(self) -> Score:
        """What is told by a model that was trained on rows of the original."""
        truth = self._truth
        found = self._scores(LinkedRows(truth.rows, np.arange(len(truth.rows)), truth.codes, truth.likely))
        mean, spread = float(np.mean(found)), float(np.ptp(found))
        return Score("R2" if self._numeric else "AUC", mean, spread, mean, spread)

    def score(self, linked: LinkedRows) -> Score:
        """Train on a release, and test on rows that it was not trained on."""
        found = self._scores(linked)
        return replace(self.original, mean=float(np.mean(found)), spread=float(np.ptp(found)))

    def _scores(self, linked: LinkedRows) -> list[float]:
        return [self._tested(linked, held, seed) for held, seed in zip(self._held_out, SEEDS, strict=True)]

    def _tested(self, linked: LinkedRows, held: Floats | Longs, seed: int) -> float:
        truth = self._truth
        # Of rows that were alike, and are told alike, it does not matter which are held out: each gives its share.
        kept = 1 - held / truth.rows
        weights = linked.rows * kept[linked.before]
        learnt = _few(weights, seed)
        likely = linked.likely[self._name]
        known = linked.codes[self._name][learnt]
        sizes = likely.sizes[known]
        entry = np.repeat(learnt, sizes)
        at = np.repeat(likely.starts[known], sizes) + _counting(sizes)
        target, weight = self._target[likely.members[at]], weights[entry] * likely.shares[at]
        x = np.hstack(
            [shape.of(linked.likely[name])[linked.codes[name][entry]] for name, shape in self._features.items()]
        )
        asked = _few(held.astype(np.float64), seed + len(SEEDS))
        tests = np.hstack(
            [shape.of(truth.likely[name])[truth.codes[name][asked]] for name, shape in self._features.items()]
        )
        return _judged(
            self._numeric, (x, target, weight), (tests, self._target[truth.codes[self._name][asked]], held[asked])
        )


@dataclass(frozen=True, eq=False)
class _Shape:
    """What a model sees of an attribute: columns of numbers for each of its values."""

    columns: Floats

    def of(self, likely: Likely) -> Floats:
        """Return what is expected of each label."""
        return np.stack([likely.expected(column) for column in self.columns.T], axis=1)


def _features(truth: Truth, name: str) -> _Shape:
    domain: OriginalValues = truth.domains[name]
    shares = truth.marginal(name)
    if len(domain.line):
        gap = np.isnan(domain.places)
        places = np.where(gap, 0, domain.places)
        placed = shares * ~gap / max(float(shares[~gap].sum()), 1e-300)
        mean = float(placed @ places)
        deviation = float(np.sqrt(placed @ (places - mean) ** 2)) or 1.0
        scaled = np.where(gap, 0, (places - mean) / deviation)
        return _Shape(np.stack([scaled, scaled**2, gap.astype(np.float64)], axis=1))
    commonest = np.argsort(-shares, kind="stable")[:MOST_SHARES]
    columns = np.zeros((len(domain), len(commonest)))
    columns[commonest, np.arange(len(commonest))] = 1
    return _Shape(columns)


def _split(rows: Longs, seed: int) -> Longs:
    """Return how many rows of each entry are held out."""
    return np.random.Generator(np.random.PCG64(seed)).binomial(rows, HELD_OUT)


def _few(weights: Floats, seed: int) -> Longs:
    """Return the entries that have any weight; of many, some that are drawn at random."""
    there = np.flatnonzero(weights > 1e-12)
    if len(there) <= MOST_ROWS:
        return there
    uniforms = np.random.Generator(np.random.PCG64(seed)).random(len(there))
    return np.sort(there[np.argsort(uniforms, kind="stable")[:MOST_ROWS]])


def _counting(sizes: Longs) -> Longs:
    counted: Longs = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return counted


Lesson = tuple[Floats, Floats, Floats | Longs]
"""Features, targets and weights."""


def _judged(numeric: bool, learnt: Lesson, asked: Lesson) -> float:
    """Return how well a model tells what is asked, that was trained on what was learnt."""
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score, roc_auc_score

    (x, target, weight), (tests, truth, times) = learnt, asked
    if numeric:
        told = Ridge(solver="cholesky").fit(x, target, sample_weight=weight).predict(tests)
        return max(0.0, float(r2_score(truth, told, sample_weight=times)))
    values = np.unique(truth)
    if len(values) < 2:
        return 0.5
    is_so = (target[:, None] == values[None, :]).astype(np.float64)
    told = Ridge(solver="cholesky").fit(x, is_so, sample_weight=weight).predict(tests).reshape(len(tests), -1)
    shares = [float(times[truth == value].sum()) for value in values]
    found = [
        float(roc_auc_score(truth == value, told[:, place], sample_weight=times)) for place, value in enumerate(values)
    ]
    return float(np.average(found, weights=shares))
