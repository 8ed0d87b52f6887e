"""Plans: what a search decided, in terms of leaves and labels; saved and loaded as JSON.

A plan speaks of no row and of no engine. `carry_out` turns it, with the values that a census met, into steps.
"""

import datetime as dt
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from ringfence.baskets import BasketColumn
from ringfence.builders import label
from ringfence.census import Census, Quasi
from ringfence.errors import DataError
from ringfence.hierarchy import MISSING, Ints
from ringfence.markup import clipped, paragraph, shortened, table
from ringfence.recoding import Recoding
from ringfence.sources import WHOSE
from ringfence.steps import CarryOut, Complete, Copy, Drop, Hide, Pseudonym, Relabel, Step, Without

FORMAT = "ringfence plan 2"
CHUNK = 100_000
"""How many cells of a table are written in one go."""
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


@dataclass(frozen=True, eq=False)
class Occasion:
    """What a plan is carried out on: rows that `census` counted, or `baskets` beside it.

    `seed` is for draws that are to be repeated. Rows with `unknown` values go, by column; so do all rows of the people
    `gone`, where those of a person stay together. `separator` stands between the items of baskets that are text.
    """

    census: Census
    seed: int | None = None
    unknown: Mapping[str, pa.Array] = field(default_factory=dict)
    gone: pa.Array | None = None
    baskets: BasketColumn | None = None
    separator: str | None = None


@dataclass(frozen=True)
class SavedPlan(ABC):
    """What all kinds of plan share: how they are saved, loaded and carried out."""

    kind: ClassVar[str]

    @abstractmethod
    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows."""

    def beside(self, census: Census) -> pa.Table | None:  # noqa: ARG002
        """Return the table that is published beside the rows, if there is one."""
        return None

    def dumps(self) -> str:
        """Return the plan as JSON: tables by column, each on a line."""
        written = {"format": FORMAT, "kind": self.kind, **{f.name: getattr(self, f.name) for f in fields(self)}}
        parts = [f"{json.dumps(name)}: {_as_json(value, 1)}" for name, value in written.items()]
        return "{\n " + ",\n ".join(parts) + "\n}"

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read a plan from JSON; a plan of another format, or a damaged one, is refused."""
        try:
            found = json.loads(text)
            written = (found.pop("format"), found.pop("kind"))
            if written != (FORMAT, cls.kind):
                raise DataError(f"this is a plan of another format or kind, {written}; allowed: {(FORMAT, cls.kind)}")
            plan: Self = TypeAdapter(cls).validate_json(text, strict=True)
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


def _as_json(value: Any, depth: int) -> str:
    """Return a value as JSON. Arrays and tables of numbers, which may be long, never become Python's all at once."""
    if isinstance(value, pa.Table):
        value = {name: value[name].combine_chunks() for name in value.column_names}
    if isinstance(value, pa.Array):
        chunks = (value.slice(start, CHUNK).to_pylist() for start in range(0, len(value), CHUNK))
        return f"[{', '.join(json.dumps(chunk, ensure_ascii=False)[1:-1] for chunk in chunks)}]"
    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value)}
    if isinstance(value, Mapping):
        names = [json.dumps(name, ensure_ascii=False) for name in value]
        written = [_as_json(each, depth + 1) for each in value.values()]
        parts = [f"\n{' ' * depth} {name}: {each}" for name, each in zip(names, written, strict=True)]
        return "{" + ",".join(parts) + "\n" + " " * depth + "}"
    if isinstance(value, tuple) and any(map(is_dataclass, value)):
        return "[" + ", ".join(_as_json(each, depth) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


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

    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows: labels looked up column by column, and failing classes dropped."""
        census = occasion.census
        published = {quasi.name: _published(quasi, self.columns[quasi.name]) for quasi in census.quasi}
        relabels = [_relabel(quasi, self.columns[quasi.name], published[quasi.name]) for quasi in census.quasi]
        leaves: Ints = np.array(self.suppressed, np.int32).reshape(-1, len(census.quasi))
        failing = {name: values.take(pa.array(leaves[:, a])) for a, (name, values) in enumerate(published.items())}
        steps: list[Step] = [Complete(self.complete)]
        steps += [Without(name, values) for name, values in occasion.unknown.items()]
        steps += [relabel for relabel in relabels if relabel is not None]
        changed = [*published] if self.masked else [relabel.column for relabel in relabels if relabel is not None]
        if occasion.gone is not None:
            entity = census.entity or ""
            steps = [Without(entity, occasion.gone), Copy(entity, WHOSE), *steps, Pseudonym(entity)]
            changed.append(entity)
        return CarryOut([*steps, Drop(pa.table(failing), self.masked)], changed)

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


def _relabel(quasi: Quasi, column: ColumnPlan, published: pa.Array) -> Relabel | Hide | None:
    """Return what a column's raw values become, or None where they stay what they are."""
    if not column.changes_nothing and len(set(column.labels)) == 1:
        return Hide(quasi.name, column.labels[0])
    values = published.take(pa.array(quasi.raw_leaves))
    if column.changes_nothing and values.type == quasi.raw.type and values.equals(quasi.raw):
        return None
    return Relabel(quasi.name, quasi.raw, values)
