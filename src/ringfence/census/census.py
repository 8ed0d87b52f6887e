"""Census: how many rows carry each combination of values, in integer codes. All that any search sees of the data."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Floats, Ints, Longs, distinct_rows, sum_by
from ringfence.errors import DataError, listed
from ringfence.rows.coded import told_apart
from ringfence.rows.in_python import in_python
from ringfence.spec import Spec
from ringfence.spec.hierarchies import FanoutHierarchy
from ringfence.values.builders import Domain, read_domain
from ringfence.values.grid import Grid
from ringfence.values.hierarchy import Hierarchy
from ringfence.values.keys import OnLine
from ringfence.values.recoding import Line

EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class Quasi:
    """A quasi-identifier: its hierarchy, which raw value is which leaf, and how many rows each leaf has.

    `ranks[leaf]` is the leaf's place in the attribute's order; without one, that of the hierarchy. Where leaves lie on
    a line, as numbers and dates do, it is `numeric`: what lies between two of them has a width. Loose ranges end at the
    points of a `grid`; a tree for loose labels has no node that would tell a value. The groups of a `fanned` hierarchy
    are called by values of the data.
    """

    name: str
    hierarchy: Hierarchy
    keys: tuple[OnLine | None, ...]
    raw: pa.Array
    raw_leaves: Ints
    rows: Longs
    ranks: Ints
    numeric: bool
    weight: float
    grid: Grid | None = None
    fanned: bool = False

    @property
    def occurring(self) -> int:
        """How many different values occur."""
        return int((self.rows > 0).sum())

    @property
    def has_dates(self) -> bool:
        """Whether the values are days, moments or times of day."""
        return any(isinstance(key, dt.date | dt.time) for key in self.keys)

    @cached_property
    def places(self) -> Floats:
        """Where each leaf that occurs lies on the line: its number, or its seconds; NaN for all others."""
        places = np.array([np.nan if key is None else place_of(key) for key in self.keys])
        return np.where(self.rows > 0, places, np.nan)

    @cached_property
    def line(self) -> Line | None:
        """The leaves on their line, where they have one."""
        if not self.numeric:
            return None
        placed = np.flatnonzero([key is not None for key in self.keys])
        return Line(placed[np.argsort(self.ranks[placed], kind="stable")].astype(np.int32), self.rows > 0)


def place_of(key: OnLine) -> float:
    """Return where a number or a moment lies on the line: its value, or its seconds; those of a time from midnight."""
    if isinstance(key, Decimal):
        return float(key)
    day = dt.datetime.combine(EPOCH, key) if isinstance(key, dt.time) else key
    moment = day if isinstance(day, dt.datetime) else dt.datetime.combine(day, dt.time())
    return (moment - EPOCH).total_seconds()


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive attribute: pairs (tuple, value) with their numbers of rows, which raw value is which leaf, and the
    place of each value in its order."""

    name: str
    hierarchy: Hierarchy
    raw: pa.Array
    raw_leaves: Ints
    ranks: Ints
    tuples: Ints
    values: Ints
    weights: Longs

    def renumbered(self, number: Longs) -> "Sensitive":
        """Return the pairs of the tuples that have a number from 0 on, by these numbers."""
        there = number[self.tuples] >= 0
        return replace(
            self,
            tuples=number[self.tuples[there]].astype(np.int32),
            values=self.values[there],
            weights=self.weights[there],
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """What was counted together: a tuple, `values[s]` of each sensitive attribute s, and the number of rows.

    Entries are as the engine counted them: those that differ only in the spelling of a number stand apart.
    """

    tuples: Longs
    values: tuple[Ints, ...]
    weights: Longs


@dataclass(frozen=True, eq=False)
class Census:
    """The distinct tuples of quasi-identifier leaves, `codes[i]`, and the number of rows of each, `weights[i]`.

    `joint` says which values of the sensitive attributes occur together. `incomplete` counts rows that `missing =
    "suppress"` took out; they are in no other figure. Where rows have an `entity`, the people are counted as the values
    of one more sensitive attribute of that name, the last: how many people a class has is how many of them it has.
    Where people are suppressed with all their rows, tuples stand once for those who are (`lost`) and once for others.
    """

    quasi: tuple[Quasi, ...]
    codes: Ints
    weights: Longs
    joint: Joint
    sensitive: tuple[Sensitive, ...] = ()
    incomplete: int = 0
    entity: str | None = None
    lost: npt.NDArray[np.bool_] | None = None

    @property
    def rows(self) -> int:
        """N: all rows counted."""
        return int(self.weights.sum())

    @property
    def sizes(self) -> Longs:
        """How many rows each distinct tuple has."""
        if self.lost is None:
            return self.weights
        example, which = distinct_rows(self.codes, [quasi.hierarchy.leaves for quasi in self.quasi])
        return sum_by(which, self.weights, len(example))

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers in the order of the specification."""
        return tuple(quasi.name for quasi in self.quasi)

    @property
    def people(self) -> int | None:
        """The place of the people among the sensitive attributes, where they are told apart."""
        return None if self.entity is None else len(self.sensitive) - 1

    def part(self, tuples: Longs) -> "Census":
        """Return the census of some tuples, given in rising order, alone.

        Attributes stay those of the whole: what there is between two values, and so what a label covers and what it
        loses, does not depend on which rows are looked at together.
        """
        number = np.full(len(self.weights), -1)
        number[tuples] = np.arange(len(tuples))
        there = number[self.joint.tuples] >= 0
        return replace(
            self,
            codes=self.codes[tuples],
            weights=self.weights[tuples],
            joint=Joint(
                tuples=number[self.joint.tuples[there]],
                values=tuple(values[there] for values in self.joint.values),
                weights=self.joint.weights[there],
            ),
            sensitive=tuple(part.renumbered(number) for part in self.sensitive),
            lost=None if self.lost is None else self.lost[tuples],
        )

    @property
    def heights(self) -> tuple[int, ...]:
        """The height of each quasi-identifier's hierarchy."""
        return tuple(quasi.hierarchy.height for quasi in self.quasi)


def uncounted(rows: int) -> Census:
    """Return the census of rows without quasi-identifiers: they are all alike."""
    weights, same = np.array([rows]), np.zeros(1, np.int64)
    return Census((), np.empty((1, 0), np.int32), weights, Joint(same, (), weights))


def counted_columns(spec: Spec) -> list[str]:
    """Return the columns that must be counted together: quasi-identifiers, then what models and metrics look at."""
    columns = spec.of_role("quasi")
    privacy = spec.privacy
    if privacy.p is not None:
        columns += spec.of_role("sensitive")
    columns += [part.of for part in spec.diversities() if part.of is not None]
    columns += [part.of for part in spec.closenesses() if part.of is not None]
    if spec.method.target is not None:
        columns.append(spec.method.target)
    if spec.data.entity is not None:
        columns.append(spec.data.entity)
    return list(dict.fromkeys(columns))


def take_census(
    counted: pa.Table, spec: Spec, weight: str, known: Mapping[str, Hierarchy] = MappingProxyType({})
) -> Census:
    """Code the distinct combinations that an engine counted; the column `weight` holds their numbers of rows.

    Combinations that differ only in the spelling of a number become one. Rows with missing values stay, go or are an
    error, as `data.missing` says. Attributes with a `known` hierarchy keep it.
    """
    names = [name for name in counted.column_names if name != weight]
    weights = counted[weight].to_numpy().astype(np.int64)
    if weights.sum() == 0:
        raise DataError("the data has no rows")
    counted, weights, incomplete = _treat_missing(counted, names, weights, spec)
    entity = spec.data.entity
    names.sort(key=lambda name: name == entity)  # the people last, whatever else was counted
    quasi_names = [name for name in names if name != entity and spec.attributes[name].role == "quasi"]
    columns = {
        name: _people(counted[name], name)
        if name == entity
        else _code(counted[name], name, weights, spec, known.get(name))
        for name in names
    }
    if entity is not None:
        _refuse_changing(spec, {name: column[1] for name, column in columns.items()}, entity)
    codes = np.stack([columns[name][1] for name in quasi_names], axis=1)
    example, tuple_of = distinct_rows(codes, [columns[name][0].hierarchy.leaves for name in quasi_names])
    watched = [name for name in names if name not in quasi_names or name == spec.method.target]
    return Census(
        quasi=tuple(_quasi(name, columns[name], weights, spec, known=name in known) for name in quasi_names),
        codes=codes[example],
        weights=sum_by(tuple_of, weights, len(example)),
        joint=Joint(tuple_of, tuple(columns[name][1] for name in watched), weights),
        sensitive=tuple(_sensitive(name, columns[name], tuple_of, weights) for name in watched),
        incomplete=incomplete,
        entity=entity,
    )


def _treat_missing(counted: pa.Table, names: list[str], weights: Longs, spec: Spec) -> tuple[pa.Table, Longs, int]:
    """Keep, drop or refuse the combinations with a missing value; return what stays and how many rows went."""
    if spec.data.missing == "value":
        return counted, weights, 0
    gaps: Mapping[str, npt.NDArray[np.bool_]] = {
        name: pc.is_null(counted[name], nan_is_null=True).to_numpy() for name in names
    }
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if not incomplete.any():
        return counted, weights, 0
    if spec.data.missing == "error":
        where = [f"{name!r} ({int(weights[gap].sum())} rows)" for name, gap in gaps.items() if gap.any()]
        raise DataError(f"data.missing = 'error', but values are missing in: {listed(where)}")
    if incomplete.all():
        raise DataError("data.missing = 'suppress' leaves no rows: every row has a missing value")
    return counted.filter(pa.array(~incomplete)), weights[~incomplete], int(weights[incomplete].sum())


def _code(
    column: pa.ChunkedArray, name: str, weights: Longs, spec: Spec, known: Hierarchy | None
) -> tuple[Domain, Ints, pa.Array]:
    """Return the domain of a column, the leaf of each of its rows, and its distinct raw values."""
    indices, values = _encoded(column, name)
    counts = sum_by(indices, weights, len(values))
    domain = read_domain(name, spec, in_python(values, name), counts.tolist(), known)
    return domain, domain.leaves[indices], values


def _people(column: pa.ChunkedArray, name: str) -> tuple[Domain, Ints, pa.Array]:
    """Return the people of a table as a domain of numbers, in the order of what they are called by.

    Two rows are of one person exactly if they have the same value. Nothing of a census, and so of a plan, repeats it.
    """
    indices, values = _encoded(column, name)
    if values.null_count:
        raise DataError(f"data.entity = {name!r} has no value in some rows: whose are they?")
    leaves = np.empty(len(values), np.int32)
    leaves[pc.sort_indices(values).to_numpy()] = np.arange(len(values), dtype=np.int32)
    people = Hierarchy.from_tree({str(number): {} for number in range(len(values))})
    ranks = np.arange(len(values), dtype=np.int32)
    return Domain(people, leaves, (None,) * len(values), ranks), leaves[indices], values


def _refuse_changing(spec: Spec, codes: Mapping[str, Ints], entity: str) -> None:
    """Refuse people with several values of an attribute that l or p looks at.

    Different values are then those of different people, as l and p mean it; else one person's rows could have them all.
    """
    looked_at = spec.of_role("sensitive") if spec.privacy.p is not None else []
    for name in dict.fromkeys([*looked_at, *(part.attribute for part in spec.diversities())]):
        values = np.unique(np.stack([codes[entity], codes[name]]), axis=1)[0]
        several = int((np.bincount(values) > 1).sum())
        if several:
            raise DataError(
                f"{several:,} people have several values of {name!r}, and could make l or p hold all by themselves;"
                f" beside data.entity = {entity!r} they are allowed for attributes of which everybody has one value"
            )


def _encoded(column: pa.ChunkedArray, name: str) -> tuple[Longs, pa.Array]:
    """Return which of its distinct values each row of a column has, and these."""
    if pa.types.is_nested(column.type):
        raise DataError(
            f"column {name!r} holds {column.type}, which has no labels; allowed: text, numbers, dates, truth values"
        )
    return told_apart(column)


def _quasi(
    name: str, column: tuple[Domain, Ints, pa.Array], weights: Longs, spec: Spec, *, known: bool = False
) -> Quasi:
    domain, leaves, raw = column
    attribute = spec.attributes[name]
    loose = spec.is_loose(name)
    grid = Grid.of(attribute.grid) if loose and spec.shown_as(name) == "range" and attribute.grid is not None else None
    if grid is not None:
        grid.refuse_too_fine(name, domain.keys)
    return Quasi(
        name=name,
        hierarchy=domain.hierarchy.loosened() if loose else domain.hierarchy,
        keys=domain.keys,
        raw=raw,
        raw_leaves=domain.leaves,
        rows=sum_by(leaves, weights, domain.hierarchy.leaves),
        ranks=domain.ranks if attribute.ordered else np.arange(domain.hierarchy.leaves, dtype=np.int32),
        numeric=attribute.measured,
        weight=float(attribute.weight),
        grid=grid,
        fanned=not known and isinstance(attribute.hierarchy, FanoutHierarchy),
    )


def _sensitive(name: str, column: tuple[Domain, Ints, pa.Array], tuple_of: Longs, weights: Longs) -> Sensitive:
    domain, values, raw = column
    rows = np.stack([tuple_of, values], axis=1)
    example, pair_of = distinct_rows(rows, [len(tuple_of), domain.hierarchy.leaves])
    return Sensitive(
        name=name,
        hierarchy=domain.hierarchy,
        raw=raw,
        raw_leaves=domain.leaves,
        ranks=domain.ranks,
        tuples=rows[example, 0].astype(np.int32),
        values=rows[example, 1].astype(np.int32),
        weights=sum_by(pair_of, weights, len(example)),
    )
