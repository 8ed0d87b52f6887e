"""What a plan publishes: which rows of a census as what, and what that tells of each column, whatever its kind."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Bools, Floats, Longs, distinct_rows
from ringfence.census.census import Census, Sensitive
from ringfence.census.covers import Shown

Label = str | None


@dataclass(frozen=True, eq=False)
class Beside:
    """An attribute that is published as it is: `weights[i]` rows of the entry `entries[i]` have the value
    `values[i]`."""

    part: Sensitive
    entries: Longs
    values: Longs
    weights: Longs


@dataclass(frozen=True, eq=False)
class Published:
    """What a plan makes of a census, in entries of rows that are published alike.

    Entry e has `weights[e]` rows, which had the leaves `before[e]`, and shows `shown[a].value[e]` in attribute a; where
    it is `masked`, its rows were suppressed and kept, with everything hidden. `losses[a]` is the detail that each value
    loses which attribute a shows. `recoded` says whether every value has one label, masked rows aside. `beside` are the
    attributes that are published as they are, as far as the plan tells which rows have which value. `whose` are the
    people behind the entries, where they are told apart: published nowhere.
    """

    census: Census
    weights: Longs
    before: Longs
    shown: tuple[Shown, ...]
    losses: tuple[Floats, ...]
    masked: Bools
    recoded: bool
    beside: tuple[Beside, ...]
    whose: Beside | None = None

    @property
    def rows(self) -> int:
        """How many rows are published, masked ones included."""
        return int(self.weights.sum())

    @property
    def suppressed_rows(self) -> int:
        """How many rows are suppressed, masked ones included."""
        return self.census.rows - int(self.weights[~self.masked].sum())

    def labels(self, attribute: int) -> set[Label]:
        """Return the labels that an attribute has in the release, masked rows aside."""
        part = self.shown[attribute]
        return {part.covers.labels[j] for j in np.unique(part.value[~self.masked]).tolist()}

    def kept(self, attribute: int) -> Bools:
        """Return which leaves of an attribute any row has that is not suppressed."""
        kept = np.zeros(self.census.quasi[attribute].hierarchy.leaves, bool)
        kept[self.before[~self.masked, attribute]] = True
        return kept

    @cached_property
    def homes(self) -> Longs:
        """The class of each entry: what shows the same labels, masked or not, is one class."""
        alike = []
        for part in self.shown:
            first: dict[str | None, int] = {}
            same = np.array([first.setdefault(label, j) for j, label in enumerate(part.covers.labels)], np.int64)
            alike.append(same[part.value])
        return distinct_rows(np.stack(alike, axis=1), [len(part.covers) for part in self.shown])[1]

    @cached_property
    def sizes(self) -> Longs:
        """How many rows each class has."""
        return np.bincount(self.homes, self.weights).astype(np.int64)

    @property
    def parts(self) -> list[Sensitive]:
        """The attributes that are published as they are."""
        return [each.part for each in self.beside]


@dataclass(frozen=True)
class Together:
    """Rows that were put together: how many groups or rings there are, and how many rows these have: the least, half of
    them at most, and the most.

    In groups all rows are published alike. In rings each place is published as what `width` to `widest` neighbours
    cover, and nobody's row is told with more than 1 / `width`.
    """

    count: int
    least: int
    half: int
    most: int
    width: int | None = None
    widest: int | None = None

    @classmethod
    def of(cls, sizes: Longs, width: int | None = None, widest: int | None = None) -> "Together":
        """Return groups of these sizes; with a width, rings."""
        return cls(len(sizes), int(sizes.min()), int(np.median(sizes)), int(sizes.max()), width, widest)


class PlanColumn(ABC):
    """What all plans tell of a column: its leaves, and the labels that they are published under."""

    leaves: tuple[Label, ...]
    labels: tuple[Label, ...]

    @property
    @abstractmethod
    def changes_nothing(self) -> bool:
        """Whether every value is published as itself."""

    @property
    @abstractmethod
    def label_of_leaf(self) -> tuple[Label, ...] | None:
        """The label of each leaf; None where one value is published here under one label and there under another."""

    @property
    def tells_nothing(self) -> bool:
        """Whether all values are published under one label that is none of them."""
        return len(set(self.labels)) == 1 and not self.changes_nothing


def others(census: Census) -> list[Sensitive]:
    """Return the attributes that were counted beside the quasi-identifiers: they are published as they are.

    The people are not: whose a row is, is published nowhere.
    """
    return [part for part in census.sensitive if part.name not in (*census.names, census.entity)]
