"""Privacy models: what every class of a release must satisfy, what that needs counted, and when it is monotone.

A search may prune by what a model declares here, and by nothing else. `monotone` says whether every part of a failing
class fails too, so that rows which a coarse recoding must suppress are suppressed by every finer one. Without
suppression all models are monotone in the weaker sense that merging classes which hold gives classes which hold.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.census.census import Census, Sensitive
from ringfence.census.classes import Classes, merged
from ringfence.errors import listed
from ringfence.kernels import sensitive_values as kernels
from ringfence.kernels.class_sums import failing_rows, mark_small
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
        pairs = classes.pairs[self.attribute]
        kernels.mark_low_entropy(
            pairs.homes, pairs.weights, pairs.size, classes.weights, classes.size, self.least, self.sums, classes.fails
        )


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
    monotone: bool = False
    needs_values: bool = True

    def mark_failing(self, classes: Classes) -> None:
        """Mark classes that one value dominates."""
        pairs = classes.pairs[self.attribute]
        kernels.mark_dominated(
            pairs.homes, pairs.weights, pairs.size, classes.weights, classes.size, self.c, self.least, self.top,
            classes.fails,
        )  # fmt: skip


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
        self._mark(classes, self.shares, classes.fails)

    def fails_among(self, classes: Classes, kept: npt.NDArray[np.uint8]) -> bool:
        """Return whether a class that is published is far from the distribution of all that is published."""
        pairs, far, shares = classes.pairs[self.attribute], np.zeros(classes.size, np.uint8), np.empty_like(self.shares)
        kernels.value_shares(pairs.homes, pairs.values, pairs.weights, pairs.size, 1 - kept, shares)
        self._mark(classes, shares, far)
        return bool((far & kept).any())

    def _mark(self, classes: Classes, shares: Floats, fails: npt.NDArray[np.uint8]) -> None:
        pairs, hierarchy = classes.pairs[self.attribute], self.sensitive.hierarchy
        if self.distance == "equal":
            kernels.mark_far_equal(
                pairs.homes, pairs.values, pairs.weights, pairs.size, classes.weights, classes.size, shares, self.most,
                self.sums, fails,
            )  # fmt: skip
            return
        kernels.sort_by_home(pairs.homes, pairs.size, classes.size, self.starts, self.order)
        if self.distance == "ordered":
            kernels.mark_far_ordered(
                pairs.values, pairs.weights, self.starts, self.order, classes.weights, classes.size, shares,
                self.sensitive.ranks, self.most, np.empty(hierarchy.leaves), fails,
            )  # fmt: skip
            return
        nodes = len(hierarchy.labels)
        kernels.mark_far_in_tree(
            pairs.values, pairs.weights, self.starts, self.order, classes.weights, classes.size, shares,
            hierarchy.parent, hierarchy.heights / hierarchy.height, self.most,
            np.empty(nodes), np.empty(nodes), np.empty(nodes), fails,
        )  # fmt: skip


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
    def needs_values_for_hopeless(self) -> bool:
        """Whether `mark_hopeless` looks at sensitive values, not only at the sizes of classes."""
        return any(model.needs_values for model in self.models if model.monotone)

    def mark_hopeless(self, classes: Classes) -> int:
        """Mark the classes all whose parts fail as well, by the monotone models; return how many rows they hold."""
        return self._judge(classes, [model for model in self.models if model.monotone])

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
        return RecursiveDiversity(attribute, least, float(asked.c or 0), room)
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
