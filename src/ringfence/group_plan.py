"""Group plans: which rows are published alike is decided row by row, as numbers of rows of each combination of values.

Rows of one combination cannot be told apart by any model, so it is left to chance which of them go to which group: an
engine numbers them in random order, and the plan says which numbers are whose.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ringfence.census import Census, Longs, Quasi, Sensitive
from ringfence.covers import Covers, Shown
from ringfence.groups import Groups
from ringfence.hierarchy import MISSING, Hierarchy
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.plan import Label, SavedPlan, typed_leaves

SHOWN_GROUPS = 8


@dataclass(frozen=True)
class GroupColumn:
    """A quasi-identifier: its leaves, the values it is published as, and which of them each group shows.

    Value j shows as `labels[j]` and covers the leaves `covers[j]`; group g shows value `groups[g]`.
    """

    leaves: tuple[Label, ...]
    labels: tuple[Label, ...]
    covers: tuple[tuple[int, ...], ...]
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.covers) or len({*self.labels}) < len(self.labels) or not all(self.covers):
            raise ValueError("every value of a column needs a label of its own and covers some leaves")
        if not all(0 <= leaf < len(self.leaves) for leaves in self.covers for leaf in leaves):
            raise ValueError("a label covers leaves that the column does not have")
        if not all(0 <= value < len(self.labels) for value in self.groups):
            raise ValueError("a group shows a value that the column does not have")

    @property
    def level(self) -> None:
        """Groups have no levels."""
        return None

    @property
    def changes_nothing(self) -> bool:
        """Whether every group shows a value as it is."""
        return all(len(leaves) == 1 and label == self.leaves[leaves[0]] for label, leaves in self._values())

    def _values(self) -> Iterable[tuple[Label, tuple[int, ...]]]:
        return zip(self.labels, self.covers, strict=True)

    def shown(self, hierarchy: Hierarchy) -> Shown:
        """Return the column as covers of its hierarchy's leaves."""
        return Shown(Covers.of_lists(hierarchy, self.labels, self.covers), np.array(self.groups, np.int64))

    def __str__(self) -> str:
        return shortened([clipped(MISSING if label is None else label) for label in self.labels], 8)


@dataclass(frozen=True)
class LabelledPlan(SavedPlan, ABC):
    """What plans share in which rows, not values, are decided on: the labels of their groups, and how they are shown.

    `columns` are the quasi-identifiers, `watched` the leaves of sensitive attributes that tell rows apart. A
    combination has a leaf of each column, then of each watched one.
    """

    columns: Mapping[str, GroupColumn]
    watched: Mapping[str, tuple[Label, ...]]
    combinations: tuple[tuple[int, ...], ...]

    @property
    def groups(self) -> int:
        """How many groups there are, or kinds of slots: what is told apart by its labels."""
        return max((len(column.groups) for column in self.columns.values()), default=0)

    @property
    def levels(self) -> dict[str, int]:
        """Rows have no levels."""
        return {}

    @abstractmethod
    def _headline(self) -> str:
        """Say what was decided in a line."""

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the labels of the first groups."""
        labels = [[c.labels[value] for value in c.groups[:SHOWN_GROUPS]] for c in self.columns.values()]
        return [tuple("" if label is None else clipped(label) for label in row) for row in zip(*labels, strict=True)]

    def __str__(self) -> str:
        lines = [f"{self.kind.capitalize()} plan: {self._headline()}"]
        lines += [f"├─ {name}: {column}" for name, column in self.columns.items()]
        return "\n".join([*lines[:-1], lines[-1].replace("├", "└")])

    def _repr_html_(self) -> str:
        return paragraph(self._headline()) + table(list(self.columns), self._rows())


@dataclass(frozen=True)
class GroupPlan(LabelledPlan):
    """Publish rows in groups, each under its own labels.

    `entries` are (combination, group, rows): so many rows of the combination go to the group; what is left of a
    combination is suppressed. `complete` are the columns in which a row must not miss a value. `spec` is the
    specification that the plan keeps, self-contained.
    """

    kind: ClassVar[str] = "group"
    entries: tuple[tuple[int, int, int], ...]
    suppressed_rows: int
    complete: tuple[str, ...] = ()
    spec: str = ""
    masked: bool = False

    def __post_init__(self) -> None:
        sizes = [len(column.leaves) for column in self.columns.values()] + [*map(len, self.watched.values())]
        for leaves in self.combinations:
            fits = len(leaves) == len(sizes) and all(0 <= leaf < size for leaf, size in zip(leaves, sizes, strict=True))
            if not fits:
                raise ValueError(f"the combination {leaves} does not fit the columns")
        groups = {len(column.groups) for column in self.columns.values()}
        if len(groups) > 1:
            raise ValueError("every column needs a value for every group")
        for combination, group, rows in self.entries:
            if not (0 <= combination < len(self.combinations) and 0 <= group < min(groups, default=0) and rows > 0):
                raise ValueError(f"the entry {(combination, group, rows)} speaks of no combination, group or row")
        if self.masked or self.suppressed_rows < 0:
            raise ValueError("suppressed rows leave a release of groups")

    def _headline(self) -> str:
        return f"{self.groups:,} groups; {self.suppressed_rows:,} rows dropped"


def group_plan(census: Census, groups: Groups, shown: Sequence[Shown], complete: Sequence[str], spec: str) -> GroupPlan:
    """Return the plan that publishes each group as `shown`, attribute by attribute."""
    combined = groups.combinations
    watched = [census.sensitive[a] for a in combined.attributes]
    codes = np.concatenate([census.codes[combined.tuples], combined.values], axis=1)
    entries = np.stack([groups.combination, groups.group, groups.rows], axis=1)
    return GroupPlan(
        columns={quasi.name: plan_column(quasi, part) for quasi, part in zip(census.quasi, shown, strict=True)},
        watched={part.name: plan_leaves(part) for part in watched},
        combinations=tuple(map(tuple, codes.tolist())),
        entries=tuple(map(tuple, entries.tolist())),
        suppressed_rows=int(groups.suppressed.sum()),
        complete=tuple(complete),
        spec=spec,
    )


def plan_column(quasi: Quasi, shown: Shown) -> GroupColumn:
    covers = tuple(map(tuple, shown.covers.lists()))
    return GroupColumn(plan_leaves(quasi), shown.covers.labels, covers, tuple(shown.value.tolist()))


def plan_leaves(part: Quasi | Sensitive) -> tuple[Label, ...]:
    return part.hierarchy.labels[: part.hierarchy.leaves]


@dataclass(frozen=True, eq=False)
class Regrouping:
    """A group plan as an engine carries it out.

    `codes` have for each column the raw values and their codes; `combinations` the codes and a number for each
    combination; `shares` the group that the rows numbered from `first` to before `stop` of a combination go to;
    `labels` what each group is published as. Which of the rows of a combination has which number follows from `secret`.
    """

    codes: Mapping[str, tuple[pa.Array, Longs]]
    combinations: pa.Table
    shares: pa.Table
    labels: pa.Table
    complete: Sequence[str]
    secret: str


COMBINATION, FIRST, STOP, GROUP = "combination", "first", "stop", "group"


def regrouping(plan: GroupPlan, census: Census, secret: str) -> Regrouping:
    """Return what an engine must do to the rows that `census` counted."""
    parts: list[Quasi | Sensitive] = [*census.quasi]
    parts += [part for name in plan.watched for part in census.sensitive if part.name == name]
    codes = np.array(plan.combinations, np.int64).reshape(-1, len(parts))
    entries = np.array(plan.entries, np.int64).reshape(-1, 3)
    entries = entries[np.lexsort((entries[:, 1], entries[:, 0]))]
    stop = np.cumsum(entries[:, 2])
    begins = np.concatenate([[True], np.diff(entries[:, 0]) > 0]) if len(entries) else np.empty(0, bool)
    before = np.concatenate([[0], stop])[:-1]
    base = np.repeat(before[begins], np.diff([*np.flatnonzero(begins), len(entries)]))
    return Regrouping(
        codes={part.name: (part.raw, part.raw_leaves.astype(np.int64)) for part in parts},
        combinations=pa.table(
            {**{part.name: codes[:, i] for i, part in enumerate(parts)}, COMBINATION: np.arange(len(codes))}
        ),
        shares=pa.table({COMBINATION: entries[:, 0], FIRST: before - base, STOP: stop - base, GROUP: entries[:, 1]}),
        labels=pa.table(
            {
                GROUP: np.arange(plan.groups),
                **{quasi.name: _labels(quasi, plan.columns[quasi.name]) for quasi in census.quasi},
            }
        ),
        complete=plan.complete,
        secret=secret,
    )


def _labels(quasi: Quasi, column: GroupColumn) -> pa.Array:
    """Return what each group is published as: text, or values of the column's type where nothing is generalized."""
    values = pa.array(column.labels, pa.string())
    if column.changes_nothing:
        values = typed_leaves(quasi).take(pa.array([leaves[0] for leaves in column.covers], pa.int64()))
    return values.take(pa.array(column.groups, pa.int64()))
