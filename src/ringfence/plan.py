"""Plans: what a search decided, in terms of leaves and labels; saved and loaded as JSON.

A plan speaks of no row and of no engine. `rewrite` turns it, with the values that a census met, into what an engine
joins.
"""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from ringfence.builders import label
from ringfence.census import Census, Quasi
from ringfence.errors import DataError
from ringfence.hierarchy import MISSING, Ints
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.recoding import Recoding

FORMAT = "ringfence plan 1"
Label = str | None


@dataclass(frozen=True)
class ColumnPlan:
    """How one attribute is published: each leaf's label. A missing value is the leaf None.

    `level` is the level of its hierarchy, where the scheme has levels.
    """

    level: int | None
    leaves: tuple[Label, ...]
    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        if len(self.leaves) != len(self.labels) or len({*self.leaves}) != len(self.leaves) or (self.level or 0) < 0:
            raise ValueError("a column needs a level from 0 on, and one label for each of its different leaves")

    @property
    def changes_nothing(self) -> bool:
        """Whether every leaf is published as itself."""
        return self.leaves == self.labels

    def blocks(self) -> dict[str, list[str]]:
        """Return the leaves that are published under each label."""
        blocks: dict[str, list[str]] = {}
        for leaf, name in zip(self.leaves, self.labels, strict=True):
            blocks.setdefault(MISSING if name is None else name, []).append(MISSING if leaf is None else leaf)
        return blocks

    def __str__(self) -> str:
        count = len(self.blocks())
        labels = f"{count:,} label{'s' * (count != 1)} for {len(self.leaves):,} values"
        level = "" if self.level is None else f"level {self.level}, "
        return level + ("as it is" if self.changes_nothing else labels)


@dataclass(frozen=True)
class SavedPlan:
    """What all kinds of plan share: how they are saved and loaded."""

    kind: ClassVar[str]

    def dumps(self) -> str:
        """Return the plan as JSON."""
        return json.dumps({"format": FORMAT, "kind": self.kind, **asdict(self)}, ensure_ascii=False, indent=1)

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read a plan from JSON; a plan of another format, or a damaged one, is refused."""
        try:
            found = json.loads(text)
            written = (found.pop("format"), found.pop("kind"))
            if written != (FORMAT, cls.kind):
                raise DataError(f"this is a plan of another format or kind, {written}; allowed: {(FORMAT, cls.kind)}")
            plan: Self = TypeAdapter(cls).validate_json(json.dumps(found), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise DataError(f"this plan is damaged: {where}: {first['msg']}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                "this is not a plan, or a damaged one: it is not the JSON that a plan is saved as"
            ) from None
        return plan

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a JSON file."""
        try:
            return cls.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"there is no plan at {str(path)!r}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read the plan {str(path)!r}: {error}") from None

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON schema of saved plans."""
        schema = TypeAdapter(cls).json_schema()
        schema["properties"] = {"format": {"const": FORMAT}, "kind": {"const": cls.kind}, **schema["properties"]}
        schema["required"] = ["format", "kind", *schema["required"]]
        return schema


@dataclass(frozen=True)
class GlobalPlan(SavedPlan):
    """Recode each value the same way everywhere, and suppress the classes that fail.

    `suppressed` lists those classes by the leaf that stands for each of their blocks. With `masked`, their rows stay in
    the release with every quasi-identifier hidden; else they leave it. `complete` are the columns in which a row must
    not miss a value, if it is to be published at all. `spec` is the specification that the plan keeps, self-contained.
    """

    kind: ClassVar[str] = "global"
    columns: Mapping[str, ColumnPlan]
    suppressed: tuple[tuple[int, ...], ...]
    suppressed_rows: int
    masked: bool
    complete: tuple[str, ...]
    spec: str = ""

    def __post_init__(self) -> None:
        sizes = [len(column.leaves) for column in self.columns.values()]
        for leaves in self.suppressed:
            fits = len(leaves) == len(sizes) and all(0 <= leaf < size for leaf, size in zip(leaves, sizes, strict=True))
            if not fits:
                raise ValueError(f"the suppressed class {leaves} does not fit the columns")
        if self.suppressed_rows < len(self.suppressed):
            raise ValueError(f"{self.suppressed_rows} rows cannot fill {len(self.suppressed)} suppressed classes")

    @property
    def levels(self) -> dict[str, int]:
        """The level of each attribute whose scheme has levels."""
        return {name: column.level for name, column in self.columns.items() if column.level is not None}

    def _fate(self) -> str:
        fate = "masked" if self.masked else "dropped"
        return f"{self.suppressed_rows:,} rows in {len(self.suppressed):,} classes {fate}"

    def __str__(self) -> str:
        lines = ["Global plan"]
        for name, column in self.columns.items():
            lines.append(f"├─ {name}: {column}")
            if not column.changes_nothing:
                blocks = list(column.blocks().items())
                lines += [f"│  ├─ {clipped(label)}: {shortened(leaves, 8)}" for label, leaves in blocks[:8]]
                lines += [f"│  └─ and {len(blocks) - 8:,} more labels"] if len(blocks) > 8 else []
        return "\n".join([*lines, f"└─ {self._fate()}"])

    def _repr_html_(self) -> str:
        rows = [(name, column, shortened(list(map(clipped, column.blocks())))) for name, column in self.columns.items()]
        return table(["attribute", "recoding", "labels"], rows) + paragraph(self._fate())


def column_plan(level: int | None, recoding: Recoding) -> ColumnPlan:
    """Return the plan of one attribute under a recoding."""
    return ColumnPlan(level, recoding.hierarchy.labels[: recoding.hierarchy.leaves], recoding.labels)


@dataclass(frozen=True, eq=False)
class Relabel:
    """What a column's raw values become: one label for everything, or a value for each."""

    everything: str | None
    raw: pa.Array
    published: pa.Array


@dataclass(frozen=True, eq=False)
class Together:
    """Rows of a person stay together: the column that says whose they are, and the people whose rows all go."""

    entity: str
    gone: pa.Array


@dataclass(frozen=True, eq=False)
class Rewrite:
    """A global plan as an engine carries it out: columns to relabel, and the published values of classes to
    suppress."""

    relabels: Mapping[str, Relabel]
    suppressed: pa.Table
    masked: bool
    complete: Sequence[str]
    unknown: Mapping[str, pa.Array]
    together: Together | None = None


def rewrite(plan: GlobalPlan, census: Census, unknown: Mapping[str, pa.Array] = MappingProxyType({})) -> Rewrite:
    """Return what an engine must do to the rows that `census` counted; those with `unknown` values are dropped."""
    published = [_published(quasi, plan.columns[quasi.name]) for quasi in census.quasi]
    relabels = {
        quasi.name: _relabel(quasi, plan.columns[quasi.name], values)
        for quasi, values in zip(census.quasi, published, strict=True)
    }
    leaves: Ints = np.array(plan.suppressed, np.int32).reshape(-1, len(census.quasi))
    return Rewrite(
        relabels={name: relabel for name, relabel in relabels.items() if relabel is not None},
        suppressed=pa.table(
            {
                q.name: values.take(pa.array(leaves[:, a]))
                for a, (q, values) in enumerate(zip(census.quasi, published, strict=True))
            }
        ),
        masked=plan.masked,
        complete=plan.complete,
        unknown=unknown,
    )


def _published(quasi: Quasi, column: ColumnPlan) -> pa.Array:
    """Return what each leaf is published as: text where the column is generalized, else a value of its type."""
    return typed_leaves(quasi) if column.changes_nothing else pa.array(column.labels, pa.string())


def typed_leaves(quasi: Quasi) -> pa.Array:
    """Return each leaf as a value of its column's type."""
    raw = quasi.raw.type
    if any(isinstance(key, dt.date) for key in quasi.keys):
        days = pa.array(quasi.keys, pa.date32())
        return days.cast(raw) if pa.types.is_timestamp(raw) else days
    if pa.types.is_string(raw) or pa.types.is_large_string(raw):
        return _numbers(quasi.keys) or pa.array(quasi.hierarchy.labels[: quasi.hierarchy.leaves], raw)
    position = np.full(quasi.hierarchy.leaves, -1)
    position[quasi.raw_leaves] = np.arange(len(quasi.raw))
    return quasi.raw.take(pa.array(position, mask=position < 0))


def _numbers(keys: Sequence[Decimal | dt.date | None]) -> pa.Array | None:
    """Return numbers that came as text in a type of their own, so that their spellings become one; None without any.

    Numbers with more digits than a type holds stay text.
    """
    numbers = [key for key in keys if isinstance(key, Decimal)]
    if not numbers:
        return None
    if all(number == int(number) and abs(number) < 2**63 for number in numbers):
        return pa.array([int(key) if isinstance(key, Decimal) else None for key in keys], pa.int64())
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return pa.array([float(key) if isinstance(key, Decimal) else None for key in keys], pa.float64())
    return pa.array([label(key) if isinstance(key, Decimal) else None for key in keys], pa.string())


def _relabel(quasi: Quasi, column: ColumnPlan, published: pa.Array) -> Relabel | None:
    """Return what a column's raw values become, or None where they stay what they are."""
    if not column.changes_nothing and len(set(column.labels)) == 1:
        return Relabel(column.labels[0], quasi.raw, published)
    values = published.take(pa.array(quasi.raw_leaves))
    if column.changes_nothing and values.type == quasi.raw.type and values.equals(quasi.raw):
        return None
    return Relabel(None, quasi.raw, values)
