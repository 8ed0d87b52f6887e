"""Group plans: which rows are published alike is decided row by row, as numbers of rows of each combination of values.

Rows of one combination cannot be told apart by any model, so it is left to chance which of them go to which group: an
engine numbers them in random order, and the plan says which numbers are whose.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import PlainValidator, WithJsonSchema

from ringfence.arrays import Ints, Longs
from ringfence.census.census import Census, Quasi, Sensitive
from ringfence.census.covers import Covers, Shown
from ringfence.census.groups import Groups
from ringfence.judging.losses import detail_loss
from ringfence.kernels.secret import secret_key
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.plans.base import Occasion, Plan
from ringfence.plans.published import Beside, Label, PlanColumn, Published, Together, others
from ringfence.plans.recode import typed_leaves
from ringfence.rows.lookups import FIRST, NUMBER, STOP, Draw, LookUp, NumberRows, packs
from ringfence.rows.sources import CODE, KEY, RAW, SHARE
from ringfence.rows.steps import CarryOut, Complete, Step
from ringfence.values.hierarchy import MISSING, Hierarchy

SHOWN_GROUPS = 8


def _column(kind: pa.DataType) -> PlainValidator:
    """Return what reads an array of this type from a list, or takes it as it is."""

    def read(given: Any) -> pa.Array:
        if isinstance(given, pa.Array) and given.type == kind:
            return given
        if isinstance(given, list):
            try:
                return pa.array(given, kind)
            except (pa.ArrowException, OverflowError):
                pass
        raise ValueError(f"a list of {kind} is expected")

    return PlainValidator(read)


def number_table(*columns: str) -> PlainValidator:
    """Return what reads a table of whole numbers from its columns, these or any, or takes it as it is."""

    def read(given: Any) -> pa.Table:
        if isinstance(given, Mapping) and all(isinstance(column, list) for column in given.values()):
            try:
                given = pa.table({name: pa.array(column, pa.int64()) for name, column in given.items()})
            except (pa.ArrowException, OverflowError):
                raise ValueError("columns of whole numbers, all of one length, are expected") from None
        if not isinstance(given, pa.Table) or (columns and tuple(given.column_names) != columns):
            raise ValueError(f"a table of whole numbers is expected, with the columns {columns}")
        return given

    return PlainValidator(read)


def columns_of_numbers(*names: str) -> WithJsonSchema:
    """Return the schema of a table of whole numbers."""
    return WithJsonSchema({"type": "object", "properties": dict.fromkeys(names, NUMBERS), "required": [*names]})


NUMBERS = {"type": "array", "items": {"type": "integer"}}
_LISTS = {"type": "array", "items": NUMBERS}
Numbers: TypeAlias = Annotated[pa.Array, _column(pa.int64()), WithJsonSchema(NUMBERS)]
Lists: TypeAlias = Annotated[pa.Array, _column(pa.list_(pa.int64())), WithJsonSchema(_LISTS)]
CombinationTable: TypeAlias = Annotated[
    pa.Table, number_table(), WithJsonSchema({"type": "object", "additionalProperties": NUMBERS})
]
COMBINATION, GROUP, ROWS = "combination", "group", "rows"
Entries: TypeAlias = Annotated[
    pa.Table, number_table(COMBINATION, GROUP, ROWS), columns_of_numbers(COMBINATION, GROUP, ROWS)
]


@dataclass(frozen=True)
class GroupColumn(PlanColumn):
    """A quasi-identifier: its leaves, the values it is published as, and which of them each group shows.

    Value j shows as `labels[j]` and covers the leaves `covers[j]`; group g shows value `groups[g]`.
    """

    leaves: tuple[Label, ...]
    labels: tuple[Label, ...]
    covers: Lists
    groups: Numbers

    def __post_init__(self) -> None:
        covered, lengths = pc.list_flatten(self.covers), pc.list_value_length(self.covers)
        if len(self.labels) != len(self.covers) or len({*self.labels}) < len(self.labels) or outside(lengths, 1):
            raise ValueError("every value of a column needs a label of its own and covers some leaves")
        if outside(covered, 0, len(self.leaves)):
            raise ValueError("a label covers leaves that the column does not have")
        if outside(self.groups, 0, len(self.labels)):
            raise ValueError("a group shows a value that the column does not have")

    @property
    def label_of_leaf(self) -> None:
        """None: a value may have another label in another group."""
        return None

    @cached_property
    def changes_nothing(self) -> bool:
        """Whether every group shows a value as it is."""
        if len(pc.list_flatten(self.covers)) > len(self.covers):
            return False
        firsts = pc.list_element(self.covers, 0).to_pylist()
        return all(label == self.leaves[leaf] for label, leaf in zip(self.labels, firsts, strict=True))

    def shown(self, hierarchy: Hierarchy) -> Shown:
        """Return the column as covers of its hierarchy's leaves."""
        return Shown(Covers.of_lists(hierarchy, self.labels, self.covers.to_pylist()), self.groups.to_numpy())

    def __str__(self) -> str:
        return shortened([clipped(MISSING if label is None else label) for label in self.labels], 8)


def outside(numbers: pa.Array, least: int, stop: int | None = None) -> bool:
    """Whether any number is missing, below `least`, or not below `stop`."""
    found = pc.min_max(numbers).as_py()
    if numbers.null_count:
        return True
    return len(numbers) > 0 and (found["min"] < least or (stop is not None and found["max"] >= stop))


@dataclass(frozen=True)
class LabelledPlan(Plan):
    """What plans share in which rows, not values, are decided on: the labels of their groups, and how they are shown.

    `columns` are the quasi-identifiers, `watched` the leaves of sensitive attributes that tell rows apart. A
    combination has a leaf of each of them.
    """

    columns: Mapping[str, GroupColumn]
    watched: Mapping[str, tuple[Label, ...]]
    combinations: CombinationTable

    @property
    def groups(self) -> int:
        """How many groups there are, or kinds of slots: what is told apart by its labels."""
        return max((len(column.groups) for column in self.columns.values()), default=0)

    @abstractmethod
    def _headline(self) -> str:
        """Say what was decided in a line."""

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the labels of the first groups."""
        shown = [column.groups.slice(0, SHOWN_GROUPS).to_pylist() for column in self.columns.values()]
        labels = [[c.labels[v] for v in values] for c, values in zip(self.columns.values(), shown, strict=True)]
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
    entries: Entries
    suppressed_rows: int
    complete: tuple[str, ...] = ()
    spec: str = ""
    masked: bool = False

    def __post_init__(self) -> None:
        sizes = {name: len(column.leaves) for name, column in self.columns.items()}
        sizes |= {name: len(leaves) for name, leaves in self.watched.items()}
        if self.combinations.column_names != [*sizes]:
            raise ValueError(f"combinations have the columns {self.combinations.column_names}, not {[*sizes]}")
        for name, size in sizes.items():
            if outside(self.combinations[name].combine_chunks(), 0, size):
                raise ValueError(f"a combination has a leaf of {name!r} that the column does not have")
        if len({len(column.groups) for column in self.columns.values()}) > 1:
            raise ValueError("every column needs a value for every group")
        most = {COMBINATION: (0, self.combinations.num_rows), GROUP: (0, self.groups), ROWS: (1, None)}
        for name, (least, stop) in most.items():
            if outside(self.entries[name].combine_chunks(), least, stop):
                raise ValueError(f"an entry has a {name} that there is not")
        if self.masked or self.suppressed_rows < 0:
            raise ValueError("suppressed rows leave a release of groups")

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows. Which rows of a combination go where is always drawn anew."""
        return self.steps(occasion.census, secret_key("rows"))

    def steps(self, census: Census, secret: bytes) -> CarryOut:
        """Return what must be done to the rows, with the secret of what is drawn.

        Every row gets the number of its combination, and by a turn that is drawn among the rows of that combination
        its group; from the group follow its labels.
        """
        parts: list[Quasi | Sensitive] = [*census.quasi]
        parts += [part for name in self.watched for part in census.sensitive if part.name == name]
        codes = {part.name: f"{part.name} {CODE}" for part in parts}
        steps: list[Step] = [Complete(self.complete), NumberRows()]
        for part in parts:
            leaves = pa.array(part.raw_leaves.astype(np.int64))
            steps.append(LookUp(pa.table({RAW: part.raw, codes[part.name]: leaves}), {part.name: RAW}))
        sizes = {codes[part.name]: part.hierarchy.leaves for part in parts}
        known = {codes[name]: self.combinations[name].to_numpy() for name in codes}
        words, labels = packs(sizes, CODE), self._labels(census)
        numbered = {word.name: word.of(known) for word in words} | {KEY: np.arange(self.combinations.num_rows)}
        steps += [
            *words,
            LookUp(pa.table(numbered), {word.name: word.name for word in words}),
            Draw(KEY, self._shares(), secret.hex()),
            LookUp(labels, {SHARE: SHARE}),
        ]
        looked_at = {*(part.name for part in parts), *self.complete}
        return CarryOut(steps, looked_at, [*self.columns], texts=partial(self._texts, labels))

    def _texts(self, labels: pa.Table) -> dict[str, pa.Array]:
        """Return the texts that groups show in each column of text."""
        shown = labels.take(pc.unique(self.entries[GROUP]))
        return {
            name: pc.unique(shown[name]).drop_null() for name in self.columns if pa.types.is_string(shown[name].type)
        }

    def _shares(self) -> pa.Table:
        """Return which turns of the rows of a combination go to which group."""
        entries = self.entries.sort_by([(COMBINATION, "ascending"), (GROUP, "ascending")])
        combination, group, rows = (entries[name].to_numpy() for name in (COMBINATION, GROUP, ROWS))
        stop = np.cumsum(rows)
        first = stop - rows
        base = first[np.searchsorted(combination, combination)]
        return pa.table({NUMBER: combination, FIRST: first - base, STOP: stop - base, SHARE: group})

    def _labels(self, census: Census) -> pa.Table:
        """Return what each group is published as: text, or values of the column's type where nothing is generalized."""
        shown = {SHARE: pa.array(np.arange(self.groups))}
        for quasi in census.quasi:
            column = self.columns[quasi.name]
            values = pa.array(column.labels, pa.string())
            if column.changes_nothing:
                values = typed_leaves(quasi).take(pc.list_element(column.covers, 0))
            shown[quasi.name] = values.take(column.groups)
        return pa.table(shown)

    @property
    def together(self) -> Together:
        """The groups, with their rows."""
        rows = np.bincount(self.entries[GROUP].to_numpy(), self.entries[ROWS].to_numpy(), self.groups)
        return Together.of(rows.astype(np.int64))

    def published(self, census: Census) -> Published:
        """Return what the plan makes of a census: its entries, as they are."""
        combination, group, rows = (self.entries[name].to_numpy() for name in (COMBINATION, GROUP, ROWS))
        columns = [self.columns[quasi.name].shown(quasi.hierarchy) for quasi in census.quasi]
        watched = {name: self.combinations[name].to_numpy() for name in self.watched}
        each = np.arange(len(rows))
        people = None if census.people is None else census.sensitive[census.people]
        return Published(
            census=census,
            weights=rows,
            before=np.stack([self.combinations[name].to_numpy() for name in census.names], axis=1)[combination],
            shown=tuple(Shown(column.covers, column.value[group]) for column in columns),
            losses=tuple(detail_loss(quasi, part.covers) for quasi, part in zip(census.quasi, columns, strict=True)),
            masked=np.zeros(len(rows), np.bool_),
            recoded=False,
            beside=tuple(
                Beside(part, each, watched[part.name][combination], rows)
                for part in others(census)
                if part.name in watched
            ),
            whose=None
            if people is None or people.name not in watched
            else Beside(people, each, watched[people.name][combination], rows),
        )

    def _headline(self) -> str:
        return f"{self.groups:,} groups; {self.suppressed_rows:,} rows dropped"


def group_plan(census: Census, groups: Groups, shown: Sequence[Shown], complete: Sequence[str], spec: str) -> GroupPlan:
    """Return the plan that publishes each group as `shown`, attribute by attribute."""
    combined = groups.combinations
    watched = [census.sensitive[a] for a in combined.attributes]
    codes = np.concatenate([census.codes[combined.tuples], combined.values], axis=1)
    return GroupPlan(
        columns={quasi.name: plan_column(quasi, part) for quasi, part in zip(census.quasi, shown, strict=True)},
        watched={part.name: plan_leaves(part) for part in watched},
        combinations=combination_table(codes, [*census.names, *(part.name for part in watched)]),
        entries=entry_table(groups.combination, groups.group, groups.rows),
        suppressed_rows=int(groups.suppressed.sum()),
        complete=tuple(complete),
        spec=spec,
    )


def combination_table(codes: Longs | Ints, names: Sequence[str]) -> pa.Table:
    """Return combinations of leaves, a row each, as a table of these columns."""
    return pa.table({name: codes[:, place].astype(np.int64) for place, name in enumerate(names)})


def entry_table(combination: Longs | Ints, group: Longs | Ints, rows: Longs) -> pa.Table:
    """Return entries as a table: so many rows of a combination go to a group."""
    columns = zip((COMBINATION, GROUP, ROWS), (combination, group, rows), strict=True)
    return pa.table({name: numbers.astype(np.int64) for name, numbers in columns})


def plan_column(quasi: Quasi, shown: Shown) -> GroupColumn:
    """Return what groups show of an attribute, as a plan has it."""
    covers = pa.ListArray.from_arrays(
        pa.array(shown.covers.starts, pa.int32()), pa.array(shown.covers.members, pa.int64())
    )
    return GroupColumn(plan_leaves(quasi), shown.covers.labels, covers, pa.array(shown.value, pa.int64()))


def plan_leaves(part: Quasi | Sensitive) -> tuple[Label, ...]:
    """Return the labels of an attribute's leaves."""
    return part.hierarchy.labels[: part.hierarchy.leaves]
