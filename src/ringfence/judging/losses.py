"""Losses by name: each metric declared once, and what a cell loses under those that add up over cells.

Declarations are light, so that a specification can name a metric before anything is computed. How a search bounds
them, and what those cost that look at classes, is in `metrics`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Longs
from ringfence.declared import METRICS, MetricTraits, declare

if TYPE_CHECKING:
    from ringfence.census.census import Quasi
    from ringfence.values.hierarchy import Hierarchy


class Covering(Protocol):
    """What is published and what that covers, entry by entry: the leaves of a recoding, or the values of covers."""

    @property
    def covered(self) -> Longs:
        """How many leaves are covered."""

    @property
    def nodes(self) -> npt.NDArray[np.int32]:
        """The lowest nodes that cover as much."""

    def total(self, numbers: Longs) -> Floats:
        """Return the sum of some numbers over the leaves that are covered."""

    def spread(self, numbers: Floats) -> Floats:
        """Return how far apart the numbers of the leaves are that are covered."""


def general_loss(quasi: "Quasi", published: Covering) -> Floats:
    """GLM of a cell: (leaves covered - 1)/(leaves - 1), for numbers and dates the width covered over that of the data.

    Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002, section 3.
    """
    if quasi.numeric:
        return _width(quasi, published)
    return (published.covered - 1) / max(1, quasi.hierarchy.leaves - 1)


def _width(quasi: "Quasi", published: Covering) -> Floats:
    """Return how far apart the numbers or dates of the data are that are covered, as a share of all of them.

    0/0 is 0. A missing value has no place on the line: alone it has no width.
    """
    places = quasi.places
    span = 0.0 if np.isnan(places).all() else np.nanmax(places) - np.nanmin(places)
    return published.spread(places) / (span or 1.0)


class _Nodes:
    """Nodes of a hierarchy, each published as it is."""

    def __init__(self, tree: "Hierarchy", nodes: npt.NDArray[np.int32]) -> None:
        self._tree, self.nodes = tree, nodes

    @property
    def covered(self) -> Longs:
        return (self._tree.stop[self.nodes] - self._tree.first[self.nodes]).astype(np.int64)

    def total(self, numbers: Longs) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(numbers)])
        return np.asarray(sums[self._tree.stop[self.nodes]] - sums[self._tree.first[self.nodes]], np.float64)

    def spread(self, numbers: Floats) -> Floats:
        found, which = np.unique(self.nodes, return_inverse=True)
        inside = [numbers[self._tree.first[node] : self._tree.stop[node]] for node in found.tolist()]
        low = np.array([np.fmin.reduce(part, initial=np.inf) for part in inside])
        high = np.array([np.fmax.reduce(part, initial=-np.inf) for part in inside])
        return np.where(high > low, high - low, 0.0)[which]


def node_loss(quasi: "Quasi", published: Covering) -> Floats:
    """GLM of the lowest node that covers a cell; without a hierarchy between values and root, of the cell as it is.

    A set of four postcodes covers four, but whoever reads it knows no more of the country than their common region. A
    coarser cell has the same node or a higher one, so that the loss never falls.
    """
    tree = quasi.hierarchy
    return general_loss(quasi, _Nodes(tree, published.nodes) if tree.height > 1 else published)


def detail_loss(quasi: "Quasi", published: Covering) -> Floats:
    """What a reader would call lost of a cell: of numbers and dates their width, of all else what its node loses.

    The node of a range may be far wider than the range: of the last day of a decade and the next one, it is the root.
    """
    return general_loss(quasi, published) if quasi.numeric else node_loss(quasi, published)


def certainty_penalty(quasi: "Quasi", published: Covering) -> Floats:
    """NCP of a cell: leaves covered over leaves, 0 for a single one; for numbers the width, as in `general_loss`.

    Xu et al.: Utility-Based Anonymization Using Local Recoding, KDD 2006, section 3.
    """
    if quasi.numeric:
        return _width(quasi, published)
    return np.where(published.covered > 1, published.covered / quasi.hierarchy.leaves, 0.0)


def global_certainty_penalty(quasi: "Quasi", published: Covering) -> Floats:
    """GCP of a cell: (values of the data covered - 1)/(values in the data - 1).

    Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, 2010, Definition 8.
    """
    covered = published.total((quasi.rows > 0).astype(np.int64))
    shares: Floats = np.maximum(covered - 1, 0) / max(1, quasi.occurring - 1)
    return shares


def total_information_loss(quasi: "Quasi", published: Covering) -> Floats:
    """NTIL of a cell: the height of the tree below it over the height of the hierarchy.

    Campan, Truta, Cooper 2010, Definitions 10 and 11.
    """
    return quasi.hierarchy.heights[published.nodes] / quasi.hierarchy.height


def use_loss(quasi: "Quasi", published: Covering) -> Floats:
    """What a reader loses who takes the d values that a cell covers to be equally likely: 1 - 1/d; of numbers, width.

    A row is a 1 at its own value and 0 at all others; 1/d at each of d is off by 1 - 1/d, the sum of squares. Unlike
    GLM, it costs most to mix two values, and little to add further ones: what must be mixed is gathered in few cells.
    """
    if quasi.numeric:
        return _width(quasi, published)
    return 1.0 - 1.0 / np.maximum(1, published.covered)  # a block without values, which nobody publishes, loses none


def given_weight(quasi: "Quasi") -> float:
    """Return the weight that a specification gives an attribute."""
    return quasi.weight


def no_weight(quasi: "Quasi") -> float:  # noqa: ARG001
    """Return the same weight for every attribute."""
    return 1.0


LEAST_SPREAD = 0.01
"""What counts as the spread of an attribute whose rows nearly all have one value."""


def use_weight(quasi: "Quasi") -> float:
    """Return what a loss of use counts: of numbers the weight given, else that over the root of the attribute's spread.

    The spread is 1 - Σ p², p the shares of its values: the chance that two rows differ. Its root is about how far a row
    is from the average one; an error counts in such units. That it is the root, and not the spread, was found by trying
    on one table (`benchmarks/papers/use.py` has others).
    """
    if quasi.numeric or quasi.occurring == 1:
        return quasi.weight
    shares = quasi.rows / quasi.rows.sum()
    return float(quasi.weight / np.sqrt(max(LEAST_SPREAD, 1.0 - float(shares @ shares))))


@dataclass(frozen=True, kw_only=True)
class CellLoss(MetricTraits):
    """A metric that is the mean over cells: what a cell loses, 0 to 1, and how much that counts in each attribute.

    The loss must never fall from a recoding to a coarser one: the bounds of searches rest on that.
    """

    of: "Callable[[Quasi, Covering], Floats]"
    weight: "Callable[[Quasi], float]" = given_weight
    additive: bool = True
    every_k: bool = True


def cell_loss(name: str) -> CellLoss | None:
    """Return a metric that adds up over cells by its name; None for others."""
    declared = METRICS[name]
    return declared if isinstance(declared, CellLoss) else None


def cell_metrics() -> dict[str, CellLoss]:
    """Return the metrics that add up over cells."""
    return {name: each for name, each in METRICS.items() if isinstance(each, CellLoss)}


declare(
    MetricTraits(
        name="dm",
        line="discernibility: the sum over rows of the size of their class; a suppressed row counts all rows",
        meaning="Discernibility: the sum over rows of the size of their class; a suppressed row counts as all rows.",
        additive=True,
        every_k=True,
    ),
    MetricTraits(
        name="hdm",
        line="hierarchical discernibility: the sum over rows of the share of other values confused with theirs",
        meaning="Hierarchical discernibility: the sum over rows of the share of other rows whose value is now confused"
        " with theirs.",
        additive=True,
        every_k=True,
    ),
    CellLoss(
        name="glm",
        line="general loss: the mean over cells of the share of the domain that a published value covers beyond one",
        meaning="General loss: the share of an attribute's range of values that a published cell leaves open. 0:"
        " exact, 1: nothing is told.",
        of=general_loss,
    ),
    CellLoss(
        name="glm_nodes",
        line="general loss of nodes: as glm, a set or range as the lowest node of its hierarchy that covers it",
        meaning="General loss of nodes: as glm, where a set or range of values that have a hierarchy counts as the"
        " lowest node of it that covers them all.",
        of=node_loss,
    ),
    CellLoss(
        name="detail",
        line="detail lost: glm of numbers and dates, by their width, and of all else that of nodes",
        meaning="Detail lost: numbers and dates by the width that a cell leaves open, all else by the node of its"
        " hierarchy. 0: exact, 1: nothing is told.",
        of=detail_loss,
    ),
    CellLoss(
        name="ncp",
        line="normalized certainty penalty: the same share, counting the value itself; 0 for a single value",
        meaning="Normalized certainty penalty: as glm, counting the value itself. 0: exact, 1: nothing is told.",
        of=certainty_penalty,
    ),
    CellLoss(
        name="gcp",
        line="global certainty penalty: as glm, over the values that occur in the data, without attribute weights",
        meaning="Global certainty penalty: as glm, over the values that occur in the data.",
        of=global_certainty_penalty,
        weight=no_weight,
    ),
    CellLoss(
        name="ntil",
        line="normalized total information loss: the mean height of published values in their hierarchies",
        meaning="Total information loss: how high in its hierarchy a published cell stands. 0: the value itself, 1:"
        " the top.",
        of=total_information_loss,
        weight=no_weight,
    ),
    CellLoss(
        name="use",
        line="loss of use: how far off a reader is who takes the values under a label to be equally likely",
        meaning="Loss of use: how far off a reader is who takes all values under a label to be equally likely: 1 - 1/d"
        " where d values are covered, the width of numbers and dates; attributes with little variety count more.",
        of=use_loss,
        compared=True,
        weight=use_weight,
    ),
    MetricTraits(
        name="ce",
        line="classification error: the share of rows suppressed, or not of the commonest label (method.target)",
        meaning="Classification error: the share of rows suppressed, or not of the commonest label in their class.",
        every_k=True,
        needs_target=True,
    ),
    MetricTraits(
        name="aecs",
        line="average class size: rows over classes times k",
        meaning="Average class size, in units of k. 1: no class is larger than it must be.",
    ),
)
