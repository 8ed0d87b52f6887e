"""The table of one attribute: its role, its hierarchy, and what may be made of it."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from pydantic.functional_validators import BeforeValidator
from pydantic_core import PydanticCustomError

from ringfence.declared import Representation, Scheme
from ringfence.errors import listed
from ringfence.spec.checking import Positive, SpecTable, are_labels, either
from ringfence.spec.hierarchies import (
    CodeHierarchy,
    DateHierarchy,
    FanoutHierarchy,
    FileHierarchy,
    HierarchySpec,
    IntervalHierarchy,
    PathsHierarchy,
    TreeHierarchy,
    pick_hierarchy,
)
from ringfence.spec.written import check_formats, tells_clock

Role: TypeAlias = Literal["identifier", "quasi", "sensitive", "insensitive", "items"]
CellType: TypeAlias = Literal["text", "int", "float", "date"]
Labels: TypeAlias = Literal["tight", "loose"]
"""Whether labels are made from the values of a group and no others, or do not tell which values it has."""


class BoundaryLevel(SpecTable):
    """A boundary at one level of the hierarchy, for every value alike."""

    level: Annotated[int, Field(ge=0)]


class Attribute(SpecTable):
    """One column: what it is to an adversary, and how it may be made coarser."""

    role: Role
    hierarchy: Annotated[HierarchySpec | None, BeforeValidator(pick_hierarchy)] = None
    order: Annotated[
        Literal["numeric", "lexical"] | list[str] | None,
        either(
            '"numeric", "lexical" or a list of values, each once',
            lambda value: value in ("numeric", "lexical") or are_labels(value),
        ),
    ] = None
    scheme: Scheme | None = None
    weight: Positive = 1.0
    boundary: Annotated[
        list[str] | BoundaryLevel | None,
        either("a list of labels, each once, or { level = ... }", are_labels, BoundaryLevel),
    ] = None
    representation: Representation | None = None
    labels: Labels | None = None
    format: Annotated[str | list[str] | None, BeforeValidator(check_formats)] = None
    diversity_weight: Positive | None = None
    separator: Annotated[str, Field(min_length=1)] | None = None

    @property
    def dates(self) -> bool:
        """Whether the values are days, moments or times of day: by their format, or because their hierarchy is of
        dates."""
        return self.format is not None or isinstance(self.hierarchy, DateHierarchy)

    @property
    def formats(self) -> list[str]:
        """The formats of text that is dates: as given, else none."""
        return [self.format] if isinstance(self.format, str) else self.format or []

    @property
    def clocks(self) -> bool:
        """Whether the values are times of day: dates without a day."""
        return any(map(tells_clock, self.formats))

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers: by their order, or because their hierarchy is made of intervals."""
        return not self.dates and (self.order == "numeric" or isinstance(self.hierarchy, IntervalHierarchy))

    @property
    def perhaps_numbers(self) -> bool:
        """Whether the values are numbers if they look like it: neither an order nor a tree says otherwise.

        What a mask, codes or a tree are over are words to these, whatever they look like; and so is what is to be
        listed.
        """
        bare = self.hierarchy is None or self.hierarchy == "flat" or isinstance(self.hierarchy, FanoutHierarchy)
        return bare and self._unsaid

    @property
    def perhaps_in_intervals(self) -> bool:
        """Whether the values are numbers if the tree that is stated over them is one of intervals."""
        return isinstance(self.hierarchy, FileHierarchy | PathsHierarchy | TreeHierarchy) and self._unsaid

    @property
    def _unsaid(self) -> bool:
        """Whether nothing says what the values are, or that they are to be listed."""
        to_be_listed = "set" in (self.representation, self.scheme) or self.scheme == "guided-set"
        return not to_be_listed and self.order is None and not self.dates

    @property
    def measured(self) -> bool:
        """Whether the values lie on a line, with an order and a width: numbers and dates, unless they are listed."""
        return self.numeric or (self.dates and not isinstance(self.order, list))

    @property
    def measured_dates(self) -> bool:
        """Whether the values are dates on such a line."""
        return self.dates and self.measured

    @property
    def grid(self) -> "IntervalHierarchy | DateHierarchy | None":
        """What states the grid of loose ranges: the first width of intervals, or the first part of the calendar."""
        given = self.hierarchy
        return given if self.measured and isinstance(given, IntervalHierarchy | DateHierarchy) else None

    @property
    def ordered(self) -> bool:
        """Whether the values have an order of their own, so that a range of them says something."""
        return self.measured or self.order is not None

    @model_validator(mode="after")
    def _keys_fit_role(self) -> Self:
        fits: dict[str, tuple[str, ...]] = {
            "hierarchy": ("quasi", "sensitive", "items"),
            "order": ("quasi", "sensitive", "items"),
            "scheme": ("quasi",),
            "weight": ("quasi",),
            "representation": ("quasi",),
            "labels": ("quasi",),
            "format": ("quasi", "sensitive"),
            "boundary": ("quasi", "items"),
            "diversity_weight": ("sensitive",),
            "separator": ("items",),
        }
        strange = {key: fits[key] for key in fits if key in self.model_fields_set and self.role not in fits[key]}
        if strange:
            several = len(strange) > 1
            raise PydanticCustomError(
                "role",
                "{keys}, but the role here is {role}: take {them} out",
                {
                    "keys": ", ".join(
                        f"the key {key!r} is for the role {listed(for_)}" for key, for_ in strange.items()
                    ),
                    "role": repr(self.role),
                    "them": "them" if several else "it",
                },
            )
        if self.format is not None and isinstance(self.hierarchy, IntervalHierarchy):
            raise PydanticCustomError(
                "format", "intervals are of numbers; for dates, write hierarchy = { dates = ['month', 'year'] }"
            )
        if self.order == "numeric" and isinstance(self.hierarchy, CodeHierarchy):
            raise PydanticCustomError(
                "order", "order = 'numeric' does not go with a hierarchy of codes, which are text"
            )
        if self.representation == "hierarchy" and self.hierarchy is None:
            raise PydanticCustomError("representation", "representation = 'hierarchy' needs a hierarchy to show")
        if self.boundary is not None and self.hierarchy is None:
            raise PydanticCustomError("boundary", "a boundary needs a hierarchy to stand in")
        if self.role != "items" and isinstance(self.hierarchy, FanoutHierarchy) and self.hierarchy.by == "support":
            raise PydanticCustomError(
                "by",
                "hierarchy.by = 'support' is for the role items; the role here is {role}",
                {"role": repr(self.role)},
            )
        return self
