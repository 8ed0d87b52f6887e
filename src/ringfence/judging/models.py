"""Privacy models: what every class of a release must satisfy, what that needs counted, and when it is monotone.

A search may prune by what a model declares here, and by nothing else. `monotone` says whether every part of a failing
class fails too, so that rows which a coarse recoding must suppress are suppressed by every finer one. Without
suppression all models are monotone in the weaker sense that merging classes which hold gives classes which hold.

With suppression that tells something of models that are not monotone, too. Whatever parts a class is divided into, what
stays of it when those that fail are gone is made of parts that hold, and so it holds itself. A class that is far from
holding therefore loses some of its rows in every finer recoding, and each model says how many at least.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census, Sensitive
from ringfence.census.classes import Classes, merged
from ringfence.errors import listed
from ringfence.kernels import sensitive_values as kernels
from ringfence.kernels.class_sums import failing_rows, lose_all, mark_small
from ringfence.spec import Spec
from ringfence.spec.privacy import Closeness, Diversity


class Model(Protocol):
    """A condition on single classes."""

    @property
    def monotone(self) -> bool:
        """Whether every part of a failing class fails too."""

    @property
    def needs_values(self) -> bool:
        """Whether it looks at sensitive values, not only at the sizes of classes."""

    def mark_failing(self, classes: Classes) -> None:
        """Set `classes.fails` for each class that does not satisfy the model; leave the others alone."""


class PartlyLost(Model, Protocol):
    """A model that is not monotone: of a class that fails, some rows may stay in finer classes."""

    def raise_gone(self, classes: Classes) -> None:
        """Raise `classes.gone` to how many rows of each class go at least in every finer recoding, as all that fails
        goes."""


@dataclass(frozen=True)
class KAnonymity:
    """At least k rows in each class (Samarati and Sweeney 1998).

    Monotone: a part of a class with fewer than k rows has fewer than k rows.
    """

    k: int
    monotone: bool = True
    needs_values: bool = False

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes of fewer than k rows."""
        mark_small(classes.weights, classes.size, self.k, classes.fails)


@dataclass(frozen=True, eq=False)
class DistinctDiversity:
    """At least l different sensitive values in each class; over every sensitive attribute it is p-sensitivity.

    Machanavajjhala et al.: l-Diversity, ICDE 2006, section 4; Truta and Vinay: p-Sensitive k-Anonymity, 2006.
    Monotone: a part of a class has no value that the class lacks.
    """

    attribute: int
    least: int
    seen: Ints
    monotone: bool = True
    needs_values: bool = True

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes with fewer than l values."""
        pairs = classes.pairs[self.attribute]
        kernels.mark_few_values(pairs.homes, pairs.size, classes.size, self.least, self.seen, classes.fails)


@dataclass(frozen=True, eq=False)
class KPeople(DistinctDiversity):
    """At least k different people in each class, however many rows each of them has there.

    The people are values like those of a sensitive attribute, so this is distinct diversity of them, and as monotone.
    Wang, Fung: Anonymizing Sequential Releases, KDD 2006: (X, Y)-anonymity, X the quasi-identifiers, Y the people.
    """


@dataclass(frozen=True, eq=False)
class EntropyDiversity:
    """Sensitive values in each class as varied as l equally common ones: entropy at least log l.

    Machanavajjhala et al. 2006, Definition 4.1. Not monotone: a class that fails may have a part that holds. Without
    suppression it is, since the entropy of a mixture is at least the smallest entropy mixed.
    """

    attribute: int
    least: float
    sums: Floats
    monotone: bool = False
    needs_values: bool = True

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes of low entropy."""
        kernels.mark_low_entropy(self._entropies(classes), classes.size, self.least, classes.fails)

    def raise_gone(self, classes: Classes) -> None:
        """Entropy is concave: what stays of a class has as much as the least of its parts."""
        kernels.raise_for_low_entropy(self._entropies(classes), classes.weights, classes.size, self.least, classes.gone)

    def _entropies(self, classes: Classes) -> Floats:
        pairs = classes.pairs[self.attribute]
        kernels.entropies(pairs.homes, pairs.weights, pairs.size, classes.weights, classes.size, self.sums)
        return self.sums


@dataclass(frozen=True, eq=False)
class RecursiveDiversity:
    """The commonest sensitive value outweighed by c times the values from the l-th on: r_1 < c (r_l + ... + r_m).

    Machanavajjhala et al. 2006, Definition 4.2. Not monotone: see `EntropyDiversity`. Without suppression it is, since
    the largest count of a union is at most the sum of the largest, and its tail at least the sum of the tails.
    """

    attribute: int
    least: int
    c: float
    top: Longs
    sums: Floats
    monotone: bool = False
    needs_values: bool = True

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes that one value dominates."""
        kernels.mark_dominated(self._excesses(classes), classes.size, classes.fails)

    def raise_gone(self, classes: Classes) -> None:
        """In what stays of a class the commonest value is outweighed, as it is in each part: see above."""
        kernels.raise_for_dominated(self._excesses(classes), classes.size, classes.gone)

    def _excesses(self, classes: Classes) -> Floats:
        pairs = classes.pairs[self.attribute]
        kernels.excesses(
            pairs.homes, pairs.weights, pairs.size, classes.weights, classes.size, self.c, self.least, self.top,
            self.sums,
        )  # fmt: skip
        return self.sums


@dataclass(frozen=True, eq=False)
class TCloseness:
    """Sensitive values in each class distributed within t of the whole: by earth mover's distance.

    `mark_failing` measures against all rows. What is published are the rows that hold, and they must be close to each
    other, not to rows that nobody sees: `fails_among` measures them against themselves.

    Li, Li, Venkatasubramanian: t-Closeness, ICDE 2007, sections 3 and 5. Not monotone: a part of a class can be closer
    to the whole than the class. Without suppression it is, since the distance is convex.
    """

    attribute: int
    most: float
    distance: str
    sensitive: Sensitive
    starts: Ints
    order: Ints
    sums: Floats
    shares: Floats
    monotone: bool = False
    needs_values: bool = True

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes that are far from the distribution of all rows."""
        kernels.mark_far(self._distances(classes, self.shares), classes.size, self.most, classes.fails)

    def raise_gone(self, classes: Classes) -> None:
        """Distances are convex: what stays of a class is as near to all rows as the farthest of its parts."""
        kernels.raise_for_far(
            self._distances(classes, self.shares), classes.weights, classes.size, self.most, classes.gone
        )

    def fails_among(self, classes: Classes, kept: npt.NDArray[np.uint8]) -> bool:
        """Return whether a class that is published is far from the distribution of all that is published."""
        pairs, far, shares = classes.pairs[self.attribute], np.zeros(classes.size, np.uint8), np.empty_like(self.shares)
        kernels.value_shares(pairs.homes, pairs.values, pairs.weights, pairs.size, 1 - kept, shares)
        kernels.mark_far(self._distances(classes, shares), classes.size, self.most, far)
        return bool((far & kept).any())

    def _distances(self, classes: Classes, shares: Floats) -> Floats:
        """Return how far each class is from some shares of values."""
        pairs, hierarchy = classes.pairs[self.attribute], self.sensitive.hierarchy
        if self.distance == "equal":
            kernels.distances_if_equal(
                pairs.homes, pairs.values, pairs.weights, pairs.size, classes.weights, classes.size, shares, self.sums
            )
            return self.sums
        kernels.sort_by_home(pairs.homes, pairs.size, classes.size, self.starts, self.order)
        if self.distance == "ordered":
            kernels.distances_if_ordered(
                pairs.values, pairs.weights, self.starts, self.order, classes.weights, classes.size, shares,
                self.sensitive.ranks, np.empty(hierarchy.leaves), self.sums,
            )  # fmt: skip
            return self.sums
        nodes = len(hierarchy.labels)
        kernels.distances_in_tree(
            pairs.values, pairs.weights, self.starts, self.order, classes.weights, classes.size, shares,
            hierarchy.parent, hierarchy.heights / hierarchy.height, np.empty(nodes), np.empty(nodes), np.empty(nodes),
            self.sums,
        )  # fmt: skip
        return self.sums


@dataclass(frozen=True)
class Promise:
    """All the models of a specification at once; a class fails if it fails any."""

    models: tuple[Model, ...]
    least: int
    """No class that holds has fewer rows than this."""
    wording: str = ""
    """What was asked for, in the terms of the specification."""

    def judge(self, classes: Classes) -> int:
        """Mark the classes that fail, and return how many rows they hold."""
        return self._judge(classes, self.models)

    @cached_property
    def monotone(self) -> list[Model]:
        """The models by which a class is lost in every finer recoding."""
        return [model for model in self.models if model.monotone]

    @cached_property
    def partly(self) -> list[PartlyLost]:
        """The others, by which a part of it may be."""
        return [cast(PartlyLost, model) for model in self.models if not model.monotone]

    def mark_hopeless(self, classes: Classes) -> int:
        """Mark the classes all whose parts fail as well, by the monotone models; return how many rows they hold. All
        of these are `gone`, and none of others."""
        hopeless = self._judge(classes, self.monotone)
        lose_all(classes.weights, classes.size, classes.fails, classes.gone)
        return hopeless

    def raise_gone(self, classes: Classes) -> int:
        """Raise what `mark_hopeless` has filled `classes.gone` with, by the other models: to how many rows of each
        class every finer recoding suppresses at least. Return the sum."""
        for model in self.partly:
            model.raise_gone(classes)
        return int(classes.gone[: classes.size].sum())

    def rest_holds(self, classes: Classes) -> bool:
        """Whether the classes that `judge` left standing hold among themselves, once the others are gone.

        Only t-closeness looks beyond the single class.
        """
        if not classes.fails[: classes.size].any():
            return True
        kept = 1 - classes.fails[: classes.size]
        return not any(model.fails_among(classes, kept) for model in self.models if isinstance(model, TCloseness))

    def holds_as_one(self, classes: Classes, chosen: npt.NDArray[np.intp]) -> bool:
        """Whether the rows of some classes satisfy every model when they are published as one class with the rest."""
        together = merged(classes, chosen)
        self.judge(together)
        return not together.fails[together.size - 1]

    def _judge(self, classes: Classes, models: Sequence[Model]) -> int:
        classes.fails[: classes.size] = 0
        for model in models:
            model.mark_failing(classes)
        return int(failing_rows(classes.weights, classes.size, classes.fails))


@dataclass(frozen=True)
class Counted:
    """What models are made over: a census, with room for so many classes.

    `most` is more than all rows: as good as any larger number, and no larger than a kernel takes.
    """

    census: Census
    tuples: int

    @property
    def most(self) -> int:
        """One more than there are rows."""
        return self.census.rows + 1

    def place(self, attribute: str) -> int:
        """Return where an attribute stands among the sensitive ones that were counted."""
        return [part.name for part in self.census.sensitive].index(attribute)


@dataclass(frozen=True)
class PromisedModel:
    """A key of [privacy]: the models that it asks for, and what that is in a few words."""

    make: Callable[[Spec, Counted], Iterable[Model]]
    words: Callable[[Spec], Iterable[str]]


def _anonymity(spec: Spec, counted: Counted) -> Iterator[Model]:
    k = min(spec.k, counted.most)
    yield KAnonymity(k)  # k people have k rows: where people are counted, this holds all the more
    if counted.census.people is not None:
        yield KPeople(counted.census.people, k, np.empty(counted.tuples, np.int32))


def _k_words(spec: Spec) -> Iterator[str]:
    if spec.privacy.k is not None:
        yield f"k = {spec.privacy.k}{' people' * (spec.data.entity is not None)}"


def _diversities(spec: Spec, counted: Counted) -> Iterator[Model]:
    for asked in spec.diversities():
        yield _diversity(asked, counted.place(asked.attribute), counted.tuples, counted.most)


def _l_words(spec: Spec) -> Iterator[str]:
    for part in spec.diversities():
        yield f"{part.kind} l = {part.value:g}" if part.kind != "distinct" else f"l = {part.value}"


def _sensitivity(spec: Spec, counted: Counted) -> Iterator[Model]:
    for name in spec.of_role("sensitive") if spec.privacy.p is not None else ():
        least = min(spec.privacy.p or 1, counted.most)
        yield DistinctDiversity(counted.place(name), least, np.empty(counted.tuples, np.int32))


def _p_words(spec: Spec) -> Iterator[str]:
    if spec.privacy.p is not None:
        yield f"p = {spec.privacy.p}"


def _closenesses(spec: Spec, counted: Counted) -> Iterator[Model]:
    for asked in spec.closenesses():
        yield _closeness(asked, counted.place(asked.attribute), counted.census, counted.tuples)


def _t_words(spec: Spec) -> Iterator[str]:
    for part in spec.closenesses():
        yield f"t = {part.value:g}"


PROMISED = {
    "k": PromisedModel(_anonymity, _k_words),
    "l": PromisedModel(_diversities, _l_words),
    "p": PromisedModel(_sensitivity, _p_words),
    "t": PromisedModel(_closenesses, _t_words),
}
"""The models of classes, by the keys that ask for them. (That of baskets, m, is not about classes.)"""


def promise(spec: Spec, census: Census, room: int = 0) -> Promise:
    """Return the models that a specification asks for, over a census that counted what they need.

    They can judge as many classes as there are tuples, or `room` if that is more.
    """
    counted = Counted(census, max(room, len(census.weights)) + 1)
    models = tuple(made for model in PROMISED.values() for made in model.make(spec, counted))
    least = [model.k for model in models if isinstance(model, KAnonymity)]
    least += [model.least for model in models if isinstance(model, DistinctDiversity)]
    words = [words for model in PROMISED.values() for words in model.words(spec)]
    return Promise(models, least=max(least), wording=listed(words))


def _diversity(asked: Diversity, attribute: int, tuples: int, most: int) -> Model:
    if asked.kind == "entropy":
        return EntropyDiversity(attribute, float(min(asked.value, most)), np.empty(tuples))
    least = int(min(asked.value, most))
    if asked.kind == "recursive":
        room = np.empty(tuples * max(1, least - 1), np.int64)
        return RecursiveDiversity(attribute, least, float(asked.c or 0), room, np.empty(tuples))
    return DistinctDiversity(attribute, least, np.empty(tuples, np.int32))


def _closeness(asked: Closeness, attribute: int, census: Census, tuples: int) -> TCloseness:
    sensitive = census.sensitive[attribute]
    shares = np.bincount(sensitive.values, sensitive.weights, minlength=sensitive.hierarchy.leaves)
    return TCloseness(
        attribute=attribute,
        most=float(asked.value),
        distance=asked.distance,
        sensitive=sensitive,
        starts=np.empty(tuples + 1, np.int32),
        order=np.empty(max(tuples, len(sensitive.weights)), np.int32),
        sums=np.empty(tuples),
        shares=shares / shares.sum(),
    )
