"""Losses: what a release costs, and what every coarser one must cost at least.

Two kinds. *Class* metrics look at the sizes of classes; *cell* metrics add up a loss for every published cell, which
depends on its attribute's recoding alone. Each gives three numbers for a table of classes at a node of the search
space:

- `cost`: what publishing these classes costs, the failing ones suppressed;
- `floor`: no coarser recoding of these classes costs less;
- `gain`: if these are the coarsest classes of a box, and everywhere in the box at least `gone` of the rows of each are
  suppressed, then every release in the box costs at least the box's finest `floor` plus this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from ringfence.arrays import Floats, Longs, distinct_rows
from ringfence.census.census import Census, Quasi
from ringfence.census.classes import Classes, Roller
from ringfence.census.covers import Shown
from ringfence.declared import METRICS
from ringfence.errors import SpecError
from ringfence.judging.losses import cell_loss, cell_metrics
from ringfence.kernels.class_sums import (
    failing_cells,
    failing_savings,
    lose_all,
    squares,
    squares_from,
    squares_gained,
)
from ringfence.kernels.sensitive_values import majorities
from ringfence.spec import Spec
from ringfence.values.recoding import Recoding

Loss = Callable[[Quasi, Recoding], Floats]
"""The loss of each leaf of an attribute under a recoding."""


Node = Sequence[int]
"""For each attribute, in the order of the specification, the position of its recoding in its space."""


class Metric(Protocol):
    """A loss that a search can minimize."""

    @property
    def needs_values(self) -> bool:
        """Whether it looks at sensitive values or labels, not only at the sizes of classes."""

    @property
    def needs_classes(self) -> bool:
        """Whether its floor looks at classes, not at the node alone."""

    def cost(self, node: Node, classes: Classes) -> float:
        """Return the loss of publishing `classes` without those that fail."""

    def floor(self, node: Node, classes: Classes) -> float:
        """Return a number that no recoding at or above this one can fall below, whatever it suppresses."""

    def gain(self, node: Node, classes: Classes) -> float:
        """Return what a box whose coarsest classes these are costs beyond its finest floor, for the rows that go."""


@dataclass(frozen=True)
class Discernibility:
    """DM: a row costs the size of its class, a suppressed row N (Bayardo and Agrawal 2005; Li and Li 2008, section 4).

    Floor: a row whose class has s rows here has at least s in any coarser class, and at least `least` in any class
    that is published; suppressed it costs N, which is no less. Gain: rows that go wherever we go cost N each; the
    floor counted at most max(S, least) for each, S the size of its class here, since its finer class is no larger.
    """

    rows: int
    least: int
    needs_values: bool = False
    needs_classes: bool = True

    def cost(self, node: Node, classes: Classes) -> int:  # noqa: ARG002
        """Return the sum of size² over published classes and of N over suppressed rows."""
        return int(squares(classes.weights, classes.size, classes.fails, self.rows))

    def floor(self, node: Node, classes: Classes) -> int:  # noqa: ARG002
        """Return the sum over rows of their class's size, or of `least` where that is more."""
        return int(squares_from(classes.weights, classes.size, self.least))

    def gain(self, node: Node, classes: Classes) -> int:  # noqa: ARG002
        """Return what the rows that go cost more than the floor can have counted."""
        return int(squares_gained(classes.weights, classes.size, classes.gone, self.rows, self.least))


@dataclass(frozen=True, eq=False)
class ClassificationError:
    """CE: the share of rows that are suppressed or not of their class's majority label (Iyengar 2002, section 3).

    Floor: the majority of a union is at most the sum of the majorities, so merging classes frees no row from the
    minority; suppressing one costs it whole. Gain: rows of a class that goes all count; the floor counted at most the
    minority of it.
    """

    rows: int
    target: int
    majorities: Longs
    needs_values: bool = True
    needs_classes: bool = True

    def cost(self, node: Node, classes: Classes) -> float:
        """Return the share of rows suppressed or in the minority."""
        lose_all(classes.weights, classes.size, classes.fails, classes.gone)
        return self.floor(node, classes) + self.gain(node, classes)

    def floor(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return the share of rows in the minority of their class."""
        return (self.rows - int(self._majorities(classes).sum())) / self.rows

    def gain(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return the share of rows in the majority of classes that go whole."""
        whole = classes.gone[: classes.size] == classes.weights[: classes.size]
        return int(self._majorities(classes)[whole].sum()) / self.rows

    def _majorities(self, classes: Classes) -> Longs:
        labels = classes.pairs[self.target]
        majorities(labels.homes, labels.weights, labels.size, classes.size, self.majorities)
        return self.majorities[: classes.size]


@dataclass(frozen=True)
class AverageClassSize:
    """AECS: N/(classes · k), the mean class size in units of k (LeFevre, DeWitt, Ramakrishnan 2006, section 3).

    Floor: a published class contains a class of `least` rows or more, or consists of smaller ones with at least that
    many rows together; so there are at most as many as the former, plus the rows of the latter over `least`.
    """

    rows: int
    k: int
    least: int
    needs_values: bool = False
    needs_classes: bool = True

    def cost(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return N/(published classes · k)."""
        published = int((classes.fails[: classes.size] == 0).sum())
        return self.rows / (published * self.k) if published else inf

    def floor(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return the average if as many classes as possible could be published."""
        sizes = classes.weights[: classes.size]
        large = sizes >= self.least
        most = int(large.sum()) + int(sizes[~large].sum()) // self.least
        return self.rows / (most * self.k) if most else inf

    def gain(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return 0: what is suppressed may still leave as many classes."""
        return 0.0


class CellMetric:
    """A loss of 0 to 1 for every cell, 1 for the cells of suppressed rows, averaged over attributes by weight.

    `loss(quasi, recoding)` is the loss of each leaf under a recoding. It never falls from a recoding to a coarser one,
    which makes the bounds sound. Floor: every cell costs at least its loss here, suppressed or not. Gain: the cells of
    rows that go cost 1; the floor counted at most their loss here, which is the same for all rows of a class.
    """

    needs_values = False
    needs_classes = False

    def __init__(self, census: Census, roller: Roller, loss: Loss, weights: Sequence[float], scale: float) -> None:
        self._census, self._roller, self._scale = census, roller, scale
        self._loss, self._shares = loss, [weight * scale / sum(weights) for weight in weights]
        self._losses = roller.per_leaf(self._scaled, np.float64)
        self._sums: list[list[float]] = [[] for _ in weights]

    def _scaled(self, attribute: int, recoding: Recoding) -> Floats:
        return self._shares[attribute] * self._loss(self._census.quasi[attribute], recoding)

    def _sum(self, attribute: int, recoding: int) -> float:
        """Return the loss of an attribute's cells under a recoding if nothing is suppressed."""
        sums, space = self._sums[attribute], self._roller.spaces[attribute]
        while len(sums) <= recoding:
            sums.append(float(self._census.quasi[attribute].rows @ self._scaled(attribute, space[len(sums)])))
        return sums[recoding]

    def cost(self, node: Node, classes: Classes) -> float:
        """Return the loss of all cells, those of failing rows counting 1."""
        lose_all(classes.weights, classes.size, classes.fails, classes.gone)
        return self.floor(node, classes) + self.gain(node, classes)

    def floor(self, node: Node, classes: Classes) -> float:  # noqa: ARG002
        """Return the loss of all cells as if nothing were suppressed."""
        return sum(self._sum(attribute, recoding) for attribute, recoding in enumerate(node))

    def gain(self, node: Node, classes: Classes) -> float:
        """Return what the cells of rows that go lack to 1."""
        lost = int(classes.gone[: classes.size].sum())
        if lost == 0:
            return 0.0
        fields = self._roller.fields(list(enumerate(node)))
        kept = failing_cells(classes.keys, classes.size, classes.gone, fields, self._losses.numbers())
        return max(0.0, float(self._scale * lost - kept))


class HierarchicalDiscernibility(CellMetric):
    """HDM: of the rows with another value, the share that can no longer be told from a row's own, over attributes.

    (N_e - N_v)/(N - N_v), N_v the rows with the row's value and N_e those in its block, 0/0 = 0; 1 for a suppressed row
    (Li and Li 2008, section 4.2). Within a block the loss differs by value, so what a suppressed row adds to it,
    1 - (N_e - N_v)/(N - N_v) = (N - N_e)/(N - N_v), is a saving of the block times a tally of the row. Which rows of a
    class go matters, so that only those of classes that go whole are gained by.
    """

    def __init__(self, census: Census, roller: Roller) -> None:
        super().__init__(census, roller, _confusion, [quasi.weight for quasi in census.quasi], scale=1.0)
        self._savings = roller.per_leaf(
            lambda a, recoding: self._shares[a] * rows_outside(census.quasi[a], recoding), np.float64
        )

    def gain(self, node: Node, classes: Classes) -> float:
        """Return what the cells of rows that go lack to 1."""
        fields = self._roller.fields(list(enumerate(node)))
        savings = self._savings.numbers()
        return float(
            failing_savings(classes.keys, classes.tallies, classes.weights, classes.size, classes.gone, fields, savings)
        )


def hdm_tallies(census: Census) -> list[Floats]:
    """Return for each attribute and leaf what a row with it is to be tallied as: 1/(N - N_v), or 1 where that is
    1/0."""
    return [1 / np.where(census.rows > quasi.rows, census.rows - quasi.rows, 1) for quasi in census.quasi]


def _block_rows(quasi: Quasi, recoding: Recoding) -> Longs:
    """Return for each leaf how many rows its block has."""
    in_block = np.zeros(quasi.hierarchy.leaves, np.int64)
    np.add.at(in_block, recoding.blocks, quasi.rows)
    return in_block[recoding.blocks]


def _confusion(quasi: Quasi, recoding: Recoding) -> Floats:
    """Return (N_e - N_v)/(N - N_v) for each leaf."""
    confused = _block_rows(quasi, recoding) - quasi.rows
    shares: Floats = confused / np.maximum(quasi.rows.sum() - quasi.rows, 1)
    return shares


def rows_outside(quasi: Quasi, recoding: Recoding) -> Floats:
    """Return N - N_e for each leaf; 1 where all rows have the same value, which nothing can make less certain."""
    if quasi.occurring == 1:
        return np.ones(quasi.hierarchy.leaves)
    outside: Floats = (quasi.rows.sum() - _block_rows(quasi, recoding)).astype(np.float64)
    return outside


def metric(name: str, spec: Spec, census: Census, roller: Roller, least: int) -> Metric:
    """Return a metric by name for the recodings that a roller of this census takes.

    `least` is the smallest size that a published class can have.
    """
    loss = cell_loss(name)
    if loss is None:
        return OF_CLASSES[name](spec, census, roller, min(least, census.rows))
    weights = [loss.weight(quasi) for quasi in census.quasi]
    return CellMetric(census, roller, loss.of, weights, scale=1 / census.rows)


def _classification_error(spec: Spec, census: Census, roller: Roller, least: int) -> Metric:  # noqa: ARG001
    if spec.method.target is None:
        raise SpecError("method.metric = 'ce' needs method.target: the attribute whose values are to be predicted")
    watched = [part.name for part in census.sensitive]
    return ClassificationError(census.rows, watched.index(spec.method.target), np.empty_like(census.weights))


OF_CLASSES: dict[str, Callable[[Spec, Census, Roller, int], Metric]] = {
    "dm": lambda spec, census, roller, least: Discernibility(census.rows, least),  # noqa: ARG005
    "hdm": lambda spec, census, roller, least: HierarchicalDiscernibility(census, roller),  # noqa: ARG005
    "ce": _classification_error,
    "aecs": lambda spec, census, roller, least: AverageClassSize(census.rows, spec.k, least),  # noqa: ARG005
}
"""The metrics that look at classes, each made of a specification, a census, a roller and the least size of a class."""

OF_GROUPS: dict[str, Callable[[Spec, Census, Longs, int], float]] = {
    "dm": lambda spec, census, sizes, lost: int((sizes**2).sum()) + census.rows * lost,  # noqa: ARG005
    "aecs": lambda spec, census, sizes, lost: census.rows / (len(sizes) * spec.k),  # noqa: ARG005
}
"""Those of them that groups have as well, by the sizes of their classes and the number of rows suppressed."""


def measure_groups(census: Census, spec: Spec, sizes: Longs, shown: Sequence[Shown]) -> dict[str, float]:
    """Return every metric of a release of groups of these sizes, `shown[a]` what they are published as in attribute a.

    Groups that are published alike are one class. Rows in no group are suppressed. `hdm` is about partitions of values,
    which groups do not have.
    """
    published = int(sizes.sum())
    lost = census.rows - published
    labels = np.stack([part.value for part in shown], axis=1)
    alike, home = distinct_rows(labels, [len(part.covers.labels) for part in shown])
    classes = np.bincount(home, sizes, minlength=len(alike)).astype(np.int64)
    values = {name: of_groups(spec, census, classes, lost) for name, of_groups in OF_GROUPS.items()}
    for name, loss in cell_metrics().items():
        weights = [loss.weight(quasi) for quasi in census.quasi]
        total = float(lost)
        for quasi, part, weight in zip(census.quasi, shown, weights, strict=True):
            total += weight / sum(weights) * float(sizes @ loss.of(quasi, part.covers)[part.value])
        values[name] = total / census.rows
    return {**values, "rows": published, "suppressed": lost, "classes": len(classes)}


def cell_losses(name: str, census: Census) -> tuple[Loss, ...]:
    """Return the loss of each attribute's cells under a cell metric, scaled as they add up; none for other metrics."""
    loss = cell_loss(name)
    if name != "hdm" and loss is None:
        return ()
    weights = [quasi.weight if loss is None else loss.weight(quasi) for quasi in census.quasi]
    of, full = _confusion if loss is None else loss.of, full_loss(name, census)

    def scaled(share: float) -> Loss:
        return lambda quasi, recoding: share * of(quasi, recoding)

    return tuple(scaled(full * weight / sum(weights)) for weight in weights)


def full_loss(name: str, census: Census) -> float:
    """Return what a suppressed row costs under a cell metric."""
    return 1.0 if name == "hdm" else 1 / census.rows


def recoded(census: Census, recodings: Sequence[Recoding]) -> tuple[Roller, Classes]:
    """Return the classes that recodings make, and the roller that made them."""
    roller = Roller(census, [[recoding] for recoding in recodings])
    fields = roller.fields([(attribute, 0) for attribute in range(len(recodings))])
    return roller, roller.roll(roller.finest, fields, roller.room())


def measure_classes(
    census: Census, spec: Spec, roller: Roller, node: Node, classes: Classes, least: int, suppressed: int
) -> dict[str, float]:
    """Return every metric of a table of classes of which the failing ones, with so many rows, are suppressed.

    Classes were rolled up from the finest ones. Only of those that are suppressed does any metric ask for tallies.
    """
    if suppressed:
        roller.tally(classes, hdm_tallies(census))
    of_classes = [name for name in OF_CLASSES if not METRICS[name].needs_target]
    of_labels = [name for name in OF_CLASSES if METRICS[name].needs_target and spec.method.target is not None]
    names = [*of_classes, *cell_metrics(), *of_labels]
    values = {name: metric(name, spec, census, roller, least).cost(node, classes) for name in names}
    published = int((classes.fails[: classes.size] == 0).sum())
    return {**values, "rows": census.rows - suppressed, "suppressed": suppressed, "classes": published}
