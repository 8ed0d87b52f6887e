"""What all kinds of plan can do: be saved and loaded, say what is published, and give the steps that carry them out."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from ringfence.census.baskets import BasketColumn
from ringfence.census.census import Census, Quasi, Sensitive
from ringfence.errors import DataError
from ringfence.plans.published import PlanColumn, Published, Together
from ringfence.rows.steps import CarryOut

FORMAT = "ringfence plan 2"

ABOUT = {
    "group": "A plan of groups is about the rows that it was made for, and cannot be applied to others",
    "ring": "A plan of rings is about the rows that it was made for, and cannot be applied to others",
    "anatomy": "A plan of buckets is about the rows that it was made for, and cannot be applied to others",
}
"""What is said of plans that decide on rows, where one that recodes values is needed."""

CHUNK = 100_000
"""How many cells of a table are written in one go."""


@dataclass(frozen=True, eq=False)
class Occasion:
    """What a plan is carried out on: rows that `census` counted, or `baskets` beside it.

    `seed` is for draws that are to be repeated. Rows with `unknown` values go, by column, or are
    masked if rows that are suppressed are; so go all rows of the people
    `gone`, where those of a person stay together. `separator` stands between the items of baskets that are text.
    """

    census: Census
    seed: int | None = None
    unknown: Mapping[str, pa.Array] = field(default_factory=dict)
    gone: pa.Array | None = None
    baskets: BasketColumn | None = None
    separator: str | None = None


class Plan(ABC):
    """What was decided, in terms of leaves and labels.

    Every kind can be saved and loaded, says what is published, and gives the steps that carry it out. Whoever works
    with plans asks them, and need not know which kinds there are. What is said here holds where a kind says nothing
    else.
    """

    kind: ClassVar[str]
    recodes_values: ClassVar[bool] = False
    """Whether each value is recoded the same way everywhere, so that the plan can recode other rows, too."""
    spec: str
    suppressed_rows: int
    masked: bool

    if TYPE_CHECKING:  # a field of most kinds, worked out by others

        @property
        def columns(self) -> Mapping[str, PlanColumn]:
            """The columns that are recoded, with the labels that they are published under."""

    @abstractmethod
    def carry_out(self, occasion: Occasion) -> CarryOut:
        """Return what must be done to the rows."""

    def beside(self, census: Census) -> pa.Table | None:  # noqa: ARG002
        """Return the table that is published beside the rows, if there is one."""
        return None

    def published(self, census: Census) -> Published | None:  # noqa: ARG002
        """Return what the plan makes of the quasi-identifiers of a census; None where it does not touch them."""
        return None

    def untouched(self, census: Census) -> Sequence[Quasi | Sensitive]:
        """Return the attributes that were counted and are published as they are."""
        return census.sensitive

    @property
    def levels(self) -> dict[str, int]:
        """The level of each attribute whose scheme has levels."""
        return {}

    @property
    def together(self) -> Together | None:
        """The groups or rings that rows were put into; None where values were recoded."""
        return None

    @property
    def failing_classes(self) -> int | None:
        """How many classes were suppressed; None where it is rows."""
        return None

    @abstractmethod
    def _repr_html_(self) -> str:
        """Return what was decided, for a notebook."""

    def dumps(self) -> str:
        """Return the plan as JSON: tables by column, each on a line."""
        assert is_dataclass(self), "every kind of plan is one"
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
                raise DataError(cls._refusal(*written))
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

    @classmethod
    def _refusal(cls, form: object, kind: object) -> str:
        """Say why a plan of another format or kind is none of this one."""
        if form != FORMAT:
            return f"this is a plan of another format, {form!r}; allowed: {FORMAT!r}"
        why = f"this is a plan of another kind, {kind!r}; allowed: {cls.kind!r}"
        if kind not in ABOUT or not cls.recodes_values:
            return why
        return f"{why}. {ABOUT[str(kind)]}; method.name = 'optimal' and 'levels' make plans that recode values"

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a JSON file."""
        try:
            return cls.loads(Path(path).read_text(encoding="utf-8"))
        except DataError as error:
            raise DataError(f"cannot use {str(path)!r}: {error}") from None
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
