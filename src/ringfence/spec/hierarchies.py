"""Hierarchies as a specification gives them."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ringfence.errors import listed, suggestion
from ringfence.spec.checking import EXACT, Name, Number, Positive, SpecTable

DatePart: TypeAlias = Literal["month", "quarter", "year", "decade"]
CodeSystem: TypeAlias = Literal["icd10", "atc", "nuts", "isco", "countries", "ipv4", "uk-postcode"]


class HierarchyTable(SpecTable):
    """A hierarchy as a specification gives it."""

    @property
    def in_words(self) -> str:
        """What reports call it."""
        return "tree"


class FileHierarchy(HierarchyTable):
    """One row a leaf: leaf, its parent, its grandparent, ... up to the root. Rows may differ in length."""

    file: Name
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: Name = "utf-8"

    @property
    def in_words(self) -> str:
        """What reports call it."""
        return f"tree in the file {self.file}"


class PathsHierarchy(HierarchyTable):
    """What a file would say, in the specification itself: one list a leaf, from the leaf up to the root."""

    paths: Annotated[list[Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]


MOST_DEEP = 100
"""Tables within tables: no tree that people keep is deeper than ten, and what goes down them goes by recursion."""


class TreeHierarchy(HierarchyTable):
    """Nested tables: a key is a node, a list holds its leaves (or further tables)."""

    tree: dict[str, Any]

    @model_validator(mode="after")
    def _not_too_deep(self) -> Self:
        level: list[Any] = [self.tree]
        for _ in range(MOST_DEEP):
            parts = (each.values() if isinstance(each, Mapping) else each for each in level)
            level = [below for part in parts for below in part if isinstance(below, Mapping | list)]
        if level:
            raise PydanticCustomError(
                "tree", "the tree is more than {most} tables deep, which none has to be", {"most": MOST_DEEP}
            )
        return self


class IntervalHierarchy(HierarchyTable):
    """Numbers in intervals of nested widths, counted from `from`; below `bottom` and from `top` on, one interval
    each."""

    intervals: Annotated[list[Positive], Field(min_length=1)]
    start: Number = Field(default=0, alias="from")
    bottom: Number | None = None
    top: Number | None = None

    @model_validator(mode="after")
    def _widths_nest(self) -> Self:
        for narrow, wide in pairwise(exact(width) for width in self.intervals):
            if wide <= narrow or EXACT.remainder(wide, narrow):
                raise PydanticCustomError(
                    "intervals",
                    "the width {wide} is not a larger multiple of {narrow}; each must nest in the next",
                    {"wide": str(wide), "narrow": str(narrow)},
                )
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise PydanticCustomError(
                "bottom", "bottom = {bottom} is not below top = {top}", {"bottom": self.bottom, "top": self.top}
            )
        return self

    @property
    def in_words(self) -> str:
        """What reports call it."""
        widths = ", ".join(f"{width:g}" for width in self.intervals)
        low = [] if self.bottom is None else [f"one below {self.bottom:g}"]
        high = [] if self.top is None else [f"one from {self.top:g} on"]
        return ", ".join([f"intervals of {widths}", *low, *high])


def exact(value: int | float) -> Decimal:
    """Return a number as the decimal it was written as."""
    return Decimal(str(value))


class MaskHierarchy(HierarchyTable):
    """Codes that lose one character after the other, from the right or from the left."""

    mask: Literal["right", "left"]

    @property
    def in_words(self) -> str:
        """What reports call it."""
        return f"characters masked from the {self.mask}"


class DateHierarchy(HierarchyTable):
    """Days in months, quarters, years and decades."""

    dates: Annotated[list[DatePart], Field(min_length=1)]

    @model_validator(mode="after")
    def _parts_rise(self) -> Self:
        order = list(get_args(DatePart))
        ranks = [order.index(part) for part in self.dates]
        if ranks != sorted(set(ranks)):
            raise PydanticCustomError(
                "dates",
                "dates = {dates} must rise, each once, in the order {order}",
                {"dates": repr(self.dates), "order": listed(order)},
            )
        return self

    @property
    def in_words(self) -> str:
        """What reports call it."""
        return ", ".join(self.dates)


class FanoutHierarchy(HierarchyTable):
    """The values in order, in consecutive groups of so many, level by level up to one root.

    The order is the attribute's, or for items that of falling support: what is about as common stands together.
    """

    fanout: Annotated[int, Field(ge=2)]
    by: Literal["order", "support"] = "order"

    @property
    def in_words(self) -> str:
        """What reports call it."""
        neighbours = "neighbours by falling support" if self.by == "support" else "neighbours"
        return f"groups of {self.fanout} {neighbours}"


class CodeHierarchy(HierarchyTable):
    """Codes of a public system, in the groups that their characters say."""

    codes: CodeSystem

    @property
    def in_words(self) -> str:
        """What reports call it."""
        return f"groups of {self.codes} codes"


HIERARCHY_KINDS: dict[str, type[HierarchyTable]] = {
    "file": FileHierarchy,
    "paths": PathsHierarchy,
    "tree": TreeHierarchy,
    "intervals": IntervalHierarchy,
    "mask": MaskHierarchy,
    "dates": DateHierarchy,
    "fanout": FanoutHierarchy,
    "codes": CodeHierarchy,
}


def pick_hierarchy(value: Any) -> Any:
    """Let the one key that names a kind of hierarchy decide how the table is checked."""
    kinds = [kind for kind in HIERARCHY_KINDS if kind in value] if isinstance(value, Mapping) else []
    if len(kinds) == 1:
        return HIERARCHY_KINDS[kinds[0]].model_validate(value)
    if value is None or value == "flat" or isinstance(value, SpecTable):
        return value
    if isinstance(value, Mapping):
        strange = [str(key) for key in value if key not in HIERARCHY_KINDS]
        near = suggestion(strange[0], HIERARCHY_KINDS) if strange and not kinds else ""
        found = f"; this one has {listed(map(repr, kinds or strange))}{near}"
    else:
        found = ""
    raise PydanticCustomError(
        "allowed",
        'allowed: "flat", or a table with exactly one of the keys {kinds}{found}',
        {"kinds": listed(HIERARCHY_KINDS), "found": found},
    )


HierarchySpec: TypeAlias = (
    Literal["flat"]
    | FileHierarchy
    | PathsHierarchy
    | TreeHierarchy
    | IntervalHierarchy
    | MaskHierarchy
    | DateHierarchy
    | FanoutHierarchy
    | CodeHierarchy
)
