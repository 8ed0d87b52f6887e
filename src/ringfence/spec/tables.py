"""The tables of a specification, each checked on its own: data, attributes with their hierarchies, privacy, method,
purpose, frontier.

`Spec` puts them together and checks them against each other.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.functional_validators import BeforeValidator
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_plain_validator_function

from ringfence.declared import METHODS, METRICS, MethodTraits, Representation, Scheme, Wanted
from ringfence.errors import listed, suggestion

Role: TypeAlias = Literal["identifier", "quasi", "sensitive", "insensitive", "items"]
CellType: TypeAlias = Literal["text", "int", "float", "date"]
DatePart: TypeAlias = Literal["month", "quarter", "year", "decade"]
CodeSystem: TypeAlias = Literal["icd10", "atc", "nuts", "isco", "countries", "ipv4", "uk-postcode"]

ISO = "iso"
"""How dates are written that need no other format: 2024-03-31, with or without a time of day."""
CLOCK = "clock"
"""How times of day are written that need no other format: 08:15, or 08:15:00."""


EXACT = Context(prec=400)
"""Enough digits for sums and quotients of any numbers that a specification or a column may hold."""


class SpecTable(BaseModel):
    """A table of the specification: nothing is coerced, and an unknown key is an error that names the nearest one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_alias=True, validate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in value:
                if key not in known:
                    near = suggestion(str(key), known)
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key {key}{near}; allowed: {allowed}",
                        {"key": repr(str(key)), "near": near, "allowed": listed(known)},
                    )
        return value


def _either(allowed: str, is_scalar: Callable[[Any], bool], table: type[SpecTable] | None = None) -> BeforeValidator:
    """Return a check of a key that takes several kinds of value: so that an error speaks of the kind that was meant."""

    def check(value: Any) -> Any:
        if table is not None and isinstance(value, Mapping):
            return table.model_validate(value)
        if table is not None and _are_tables(value):
            return [table.model_validate(item) for item in value]
        if value is None or isinstance(value, SpecTable) or is_scalar(value):
            return value
        raise PydanticCustomError("allowed", "allowed: {allowed}", {"allowed": allowed})

    return BeforeValidator(check)


@dataclass(frozen=True)
class OneOf:
    """Check a key against names that are declared elsewhere, and may become more."""

    names: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check that a value is one of the names, in the words that are used of fixed ones."""

        def check(value: Any) -> str:
            names = list(dict.fromkeys(self.names()))
            if isinstance(value, str) and value in names:
                return value
            *most, last = map(repr, names)
            raise PydanticCustomError("allowed", "allowed: {names}", {"names": f"{', '.join(most)} or {last}"})

        return no_info_plain_validator_function(check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Say what is declared by now."""
        return {"type": "string", "enum": list(dict.fromkeys(self.names()))}


MethodName: TypeAlias = Annotated[str, OneOf(lambda: METHODS)]
MetricName: TypeAlias = Annotated[str, OneOf(lambda: METRICS)]
Technique: TypeAlias = Literal["pruning", "useless", "useful", "seeding", "requeueing", "best_first", "rearranging"]
Search: TypeAlias = Annotated[str, OneOf(lambda: (each for method in METHODS.values() for each in method.searches))]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _are_labels(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len({*value}) == len(value) > 0


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping | SpecTable) for item in value) and len(value) > 0


_DIRECTIVE = re.compile(r"%(.?)")
_DATE_LETTERS = "YymbBdjHIpMSfz%"
"""What may stand behind a % in a format of dates, as Python's strptime reads it."""
_FORMATS = (
    "'iso' for 2024-03-31, with or without a time of day, 'clock' for a time of day alone, as 08:15 or 08:15:00, a"
    " format such as '%d.%m.%Y' or '%H.%M', or a list, each once"
)


def tells_clock(form: str) -> bool:
    """Whether a format is of times of day, and of no day."""
    used = {*_DIRECTIVE.findall(form)} - {"%"}
    return form == CLOCK or (("H" in used or {"I", "p"} <= used) and used <= {*"HIpMSf"})


def _check_formats(value: Any) -> Any:
    """Refuse a format of dates that does not say which day it is, and letters that mean nothing."""
    if value is not None and not isinstance(value, str) and not _are_labels(value):
        raise PydanticCustomError("allowed", "allowed: {allowed}", {"allowed": _FORMATS})
    for each in [value] if isinstance(value, str) else value or ():
        used = _DIRECTIVE.findall(each)
        strange = [f"%{letter}" for letter in used if not letter or letter not in _DATE_LETTERS]
        if strange:
            known = listed(f"%{letter}" for letter in _DATE_LETTERS)
            raise PydanticCustomError(
                "format",
                "{strange} means nothing in a format of dates; allowed: {known}",
                {"strange": listed(strange), "known": known},
            )
        tells_day = "j" in used or ("d" in used and {*used} & {*"mbB"})
        if each != ISO and not tells_clock(each) and not ({*used} & {*"Yy"} and tells_day):
            raise PydanticCustomError(
                "format",
                "{each} names neither year, month and day nor a time of day; allowed: {allowed}",
                {"each": repr(each), "allowed": _FORMATS},
            )
    if isinstance(value, list) and len({*map(tells_clock, value)}) > 1:
        raise PydanticCustomError(
            "format", "{value} are formats of days and of times of day; a column holds either", {"value": repr(value)}
        )
    return value


Number: TypeAlias = Annotated[int | float, _either("a number", _is_number)]
Positive: TypeAlias = Annotated[Number, Field(gt=0)]
Share: TypeAlias = Annotated[Number, Field(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Name: TypeAlias = Annotated[str, Field(min_length=1)]


BETWEEN_THOUSANDS = (".", ",", "'", "’", " ", "\u00a0", "\u202f")
"""What may stand between the thousands of numbers in text."""


class Data(SpecTable):
    """Where the rows are and how to read them."""

    source: Name | None = None
    table: str | None = None
    query: Name | None = None
    sheet: str | None = None
    types: dict[str, CellType] = {}
    delimiter: Annotated[str, Field(min_length=1, max_length=4)] = ","
    quote: Annotated[str, Field(min_length=1, max_length=1)] = '"'
    encoding: Name = "utf-8"
    decimal: Literal[".", ","] = "."
    thousands: Annotated[
        str | None,
        _either(
            "'.', ',', an apostrophe, a blank, or a no-break or thin one", lambda value: value in BETWEEN_THOUSANDS
        ),
    ] = None
    unlisted: Literal["error", "drop", "publish"] = "error"
    missing: Literal["value", "suppress", "error"] = "value"
    missing_values: list[str] = [""]
    entity: str | None = None
    composite: bool = False
    weights: str | None = None
    basket_id: str | None = None
    memory_limit: Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?[KMGT]i?B$")] | None = None

    @model_validator(mode="after")
    def _keys_agree(self) -> Self:
        if self.table is not None and self.query is not None:
            raise PydanticCustomError("query", "table and query both say which rows are meant; leave one of them out")
        if self.thousands == self.decimal:
            raise PydanticCustomError(
                "thousands",
                "thousands = {mark} stands before the decimals too; set decimal to the other of '.' and ','",
                {"mark": repr(self.thousands)},
            )
        return self


class Output(SpecTable):
    """Where a release goes, if not into the files of a folder."""

    to: Name | None = None
    table: Name | None = None
    partition_by: list[Name] = []

    @model_validator(mode="after")
    def _keys_go_together(self) -> Self:
        if self.to is not None and not self.is_folder and not re.match("(postgres(ql)?|spark)://", self.to):
            raise PydanticCustomError("output", "to is a folder, or an address with postgresql:// or spark://")
        spark = self.to is not None and self.to.startswith("spark://")
        if spark and bool(urlsplit(self.to or "").path.strip("/")) == (self.table is not None):
            raise PydanticCustomError(
                "output", "name one: a folder in to, as in spark:///data/released, or a table, with to = 'spark://'"
            )
        if not spark and not self.is_folder and (self.to is None) != (self.table is None):
            what = "to" if self.to is None else "table"
            raise PydanticCustomError("output", "to and table go together; {what} is not there", {"what": what})
        if self.is_folder and self.table is not None:
            raise PydanticCustomError("output", "to is a folder, which has no table")
        if self.partition_by and not spark and not self.is_folder:
            raise PydanticCustomError("output", "partition_by is for releases that go to a folder, or to spark://")
        return self

    @property
    def is_folder(self) -> bool:
        """Whether a release goes into Parquet files of a folder on this machine."""
        return self.to is not None and "://" not in self.to

    @property
    def address(self) -> str | None:
        """The database or the cluster and the table in it, or a folder; None where a release goes into files."""
        return self.to if self.to is None or self.table is None else f"{self.to}#{quote(self.table)}"


def shown_name(source: str | Path) -> str:
    """Return what a source is called on pages: the last part of its path, without what may be a key.

    >>> shown_name("data/people.csv"), shown_name("https://host/people.csv?key=1"), shown_name("-")
    ('people.csv', 'people.csv', 'standard input')
    """
    name = str(source)
    if name == "-":
        return "standard input"
    if "#" in name and "://" in name:
        return unquote(urlsplit(name).fragment)
    return PurePath(urlsplit(name).path if "://" in name else name).name


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


class TreeHierarchy(HierarchyTable):
    """Nested tables: a key is a node, a list holds its leaves (or further tables)."""

    tree: dict[str, Any]


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


def _pick_hierarchy(value: Any) -> Any:
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


Labels: TypeAlias = Literal["tight", "loose"]
"""Whether labels are made from the values of a group and no others, or do not tell which values it has."""

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


class BoundaryLevel(SpecTable):
    """A boundary at one level of the hierarchy, for every value alike."""

    level: Annotated[int, Field(ge=0)]


class Attribute(SpecTable):
    """One column: what it is to an adversary, and how it may be made coarser."""

    role: Role
    hierarchy: Annotated[HierarchySpec | None, BeforeValidator(_pick_hierarchy)] = None
    order: Annotated[
        Literal["numeric", "lexical"] | list[str] | None,
        _either(
            '"numeric", "lexical" or a list of values, each once',
            lambda value: value in ("numeric", "lexical") or _are_labels(value),
        ),
    ] = None
    scheme: Scheme | None = None
    weight: Positive = 1.0
    boundary: Annotated[
        list[str] | BoundaryLevel | None,
        _either("a list of labels, each once, or { level = ... }", _are_labels, BoundaryLevel),
    ] = None
    representation: Representation | None = None
    labels: Labels | None = None
    format: Annotated[str | list[str] | None, BeforeValidator(_check_formats)] = None
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
        for key, roles in fits.items():
            if key in self.model_fields_set and self.role not in roles:
                raise PydanticCustomError(
                    "role",
                    "the key {key} is for the role {roles}, but the role here is {role}",
                    {"key": repr(key), "roles": listed(roles), "role": repr(self.role)},
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


class AboutAttribute(SpecTable):
    """A condition on the values of the sensitive attribute `of`, which may be left out where there is but one."""

    @property
    def attribute(self) -> str:
        """The attribute that it is about; `Spec` knows which where it was left out, and says so in what it returns."""
        of = getattr(self, "of", None)  # a field of each kind, in its place among the others
        assert isinstance(of, str), "only the specification knows of which attribute"
        return of


class Diversity(AboutAttribute):
    """At least so many well-represented sensitive values in each class."""

    value: Annotated[Number, Field(ge=1)]
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    of: str | None = None
    c: Positive | None = None

    @model_validator(mode="after")
    def _c_with_recursive(self) -> Self:
        if (self.c is not None) != (self.kind == "recursive"):
            raise PydanticCustomError("c", "the key 'c' belongs to kind = 'recursive', which cannot do without it")
        if self.kind != "entropy" and self.value != int(self.value):
            raise PydanticCustomError("value", "'value' must be a whole number unless kind = 'entropy'")
        return self


class Closeness(AboutAttribute):
    """The sensitive values of each class distributed nearly as in the whole release."""

    value: Share
    of: str | None = None
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"


class Bound(AboutAttribute):
    """A limit on what a class may give away about a sensitive attribute."""

    value: Positive
    of: str | None = None


class Likeness(Bound):
    """How much more frequent a sensitive value may be in a class than in the whole release, in shares of the latter."""

    kind: Literal["basic", "enhanced"] = "basic"


class Presence(SpecTable):
    """How likely it may be, at least and at most, that someone of the population is in the release."""

    low: Share = 0
    high: Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise PydanticCustomError("low", "low = {low} is above high = {high}", {"low": self.low, "high": self.high})
        return self


@dataclass(frozen=True)
class ModelTraits:
    """What is declared of a privacy model beside its key: a line for people, and whether methods can promise it.

    What is not promised by any method, the audit judges all the same.
    """

    line: str
    promised: bool = True


class Privacy(SpecTable):
    """The promise: a key for each model."""

    k: Annotated[
        Count | None,
        ModelTraits(
            "k-anonymity: each combination of published quasi-identifiers is shared by at least k rows; with"
            " data.entity, by k people"
        ),
    ] = None
    l: Annotated[  # noqa: E741  the literature's name
        Count | Diversity | list[Diversity] | None,
        _either(
            "a whole number from 1 on, a table with value, kind, of and c, or a list of such tables",
            lambda value: _is_count(value) or _are_tables(value),
            Diversity,
        ),
        ModelTraits(
            "l-diversity: l different sensitive values in each class, or as varied as that (entropy, recursive)"
        ),
    ] = None
    p: Annotated[
        Count | None,
        ModelTraits("p-sensitivity: at least p different values of every sensitive attribute in each class"),
    ] = None
    t: Annotated[
        Share | Closeness | list[Closeness] | None,
        _either(
            "a number from 0 to 1, a table with value, of and distance, or a list of such tables",
            lambda value: _is_share(value) or _are_tables(value),
            Closeness,
        ),
        ModelTraits(
            "t-closeness: sensitive values distributed in each class as in the release, within t (equal, ordered,"
            " hierarchical distance)"
        ),
    ] = None
    m: Annotated[
        Count | None,
        ModelTraits(
            "k^m-anonymity, with k: each combination of 1 to m published items is in at least k baskets, or in none"
        ),
    ] = None
    alpha: Annotated[
        Positive | Bound | None,
        _either("a number from 0 to 1, or a table with value and of", _is_number, Bound),
        ModelTraits("(alpha, k)-anonymity: no sensitive value has more than this share of a class", promised=False),
    ] = None
    beta: Annotated[
        Positive | Likeness | None,
        _either("a number, or a table with value, of and kind", _is_number, Likeness),
        ModelTraits(
            "beta-likeness: no value is much more frequent in a class than in the release (basic, enhanced)",
            promised=False,
        ),
    ] = None
    delta: Annotated[
        Positive | Bound | None,
        _either("a number, or a table with value and of", _is_number, Bound),
        ModelTraits(
            "delta-disclosure privacy: the logarithm of that ratio stays below delta, both ways", promised=False
        ),
    ] = None
    k_map: Annotated[
        Count | None,
        ModelTraits("k-map: each class fits at least so many people of a population (--population)", promised=False),
    ] = None
    presence: Annotated[
        Presence | None,
        ModelTraits(
            "delta-presence: how likely someone of the population is in the release, at least and at most",
            promised=False,
        ),
    ] = None


MODELS: dict[str, ModelTraits] = {
    key: part for key, field in Privacy.model_fields.items() for part in field.metadata if isinstance(part, ModelTraits)
}
"""The privacy models by their keys."""


class MethodTable(SpecTable):
    """How to find the release, and what counts as a loss."""

    name: MethodName = "optimal"
    scheme: Scheme = "level"
    search: Search = "auto"
    techniques: list[Technique] | None = None
    specialize: bool = True
    metric: MetricName = "glm"
    suppression: Share | None = None
    keep_suppressed: bool = False
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    target: str | None = None
    partition: Literal["whole", "lexicographic", "hilbert", "mondrian", "cluster", "local"] | None = None
    order: Literal["nearest", "gray", "lexicographic", "hilbert"] = "nearest"
    max_ring: Count | None = None
    uncut: bool = False
    draw: Literal["walks", "paper"] = "walks"
    homogeneous: bool = False
    paper_diversity: bool = False
    representation: Wanted | None = None
    labels: Labels = "tight"
    effort: Literal["fast", "good", "best"] = "good"
    bound: Literal["row", "dual"] = "row"
    relaxed: bool = False
    ties: Literal["best", "paper"] = "best"
    max_group: Count = 50_000
    shards: Count | None = None
    time_limit: Positive | None = None
    seed: int | None = None

    @property
    def traits(self) -> MethodTraits:
        """What is declared of the method."""
        return METHODS[self.name]

    @property
    def suppression_limit(self) -> float:
        """The share of rows that may be dropped: as given, else the method's own."""
        return self.traits.suppression if self.suppression is None else self.suppression

    @property
    def minimized(self) -> str:
        """The loss that is kept small: methods that decide on groups of rows have one of their own."""
        return self.traits.minimized(self.metric)

    @property
    def fixed_seed(self) -> int:
        """The seed of what is random in a search: as given, else always the same."""
        return self.seed or 0

    @property
    def parted(self) -> str:
        """Into which groups rows are parted before rings are made of them: as given, else as `homogeneous` needs it."""
        return self.partition or ("lexicographic" if self.homogeneous else "whole")

    @model_validator(mode="after")
    def _levels_for_levels(self) -> Self:
        if ("levels" in self.traits.options) != (self.levels is not None):
            raise PydanticCustomError(
                "levels", "the key 'levels' belongs to name = 'levels', which cannot do without it"
            )
        return self


MOST_COUNTED_TOGETHER = 3
"""Attributes of a table that users are said to make: with more, nearly every row has a cell of its own."""


class Purpose(SpecTable):
    """What the release is for: what it is judged by in reports, and where methods are compared."""

    counts: Annotated[list[list[str]], Field(min_length=1)] | None = None
    predict: Annotated[list[str], Field(min_length=1)] | None = None
    describe: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _tables_of_few(self) -> Self:
        for names in self.counts or []:
            if not 1 <= len({*names}) == len(names) <= MOST_COUNTED_TOGETHER:
                raise PydanticCustomError(
                    "counts",
                    "'counts' has {names}; allowed: lists of one to three different attributes",
                    {"names": repr(names)},
                )
        if self.predict is not None and len({*self.predict}) < len(self.predict):
            raise PydanticCustomError("predict", "'predict' names an attribute twice")
        return self


class FrontierTable(SpecTable):
    """How to find the whole front of k and loss."""

    algorithm: Literal["exact", "poka"] = "exact"
    k: Annotated[list[Count], Field(min_length=1)] | None = None
    points: Literal["release", "nodes"] = "release"
    depth: Annotated[
        Literal["average"] | Count,
        _either('"average" or a whole number from 1 on', lambda value: value == "average" or _is_count(value)),
    ] = "average"
    careful: bool = False
