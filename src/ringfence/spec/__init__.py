"""The specification: what the data is, what may be promised about it, and how to get there. TOML in and out.

Every key is checked on its own by its type, in the other modules of this package, and against the other keys by `Spec`.
What can only be checked against a hierarchy (a boundary, a level) is checked where the hierarchy is built, and what
only against the data (a column, a value) where the data is read; all of them speak the same way.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from math import floor
from pathlib import Path
from typing import Annotated, Any, Self
from uuid import uuid4

import tomli_w
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from ringfence.declared import BUCKETS, GROUPS, RECODES, Representation, Scheme
from ringfence.errors import SpecError, listed
from ringfence.keeping import kept_up_to
from ringfence.spec.attributes import Attribute, Role
from ringfence.spec.checking import SpecTable
from ringfence.spec.complaints import NEEDED, sentence
from ringfence.spec.data import Data, Output
from ringfence.spec.fitting import check_parts, check_purpose
from ringfence.spec.hierarchies import DateHierarchy, IntervalHierarchy, exact
from ringfence.spec.method import FrontierTable, MethodTable, Purpose
from ringfence.spec.privacy import Bound, Closeness, Diversity, Likeness, Privacy
from ringfence.spec.written import CLOCK, ISO

MOST_PEOPLE = 2**31 - 1
"""More people than this are not told apart: their numbers have 32 bits."""


class Spec(SpecTable):
    """A specification: data, attributes, privacy, method, purpose, frontier.

    Paths in it are relative to the folder of the file it was loaded from (the working folder if it was not).

    >>> spec = Spec(attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}}}, privacy={"k": 2})
    >>> Spec.loads(spec.dumps()) == spec
    True
    """

    data: Data = Data()
    attributes: Annotated[dict[str, Attribute], Field(min_length=1)]
    privacy: Privacy = Privacy()
    method: MethodTable = MethodTable()
    purpose: Purpose = Purpose()
    frontier: FrontierTable = FrontierTable()
    output: Output = Output()
    _folder: Path = PrivateAttr(default=Path())

    def __init__(self, /, **parts: Any) -> None:
        try:
            super().__init__(**parts)
        except ValidationError as error:
            raise SpecError(sentence(error)) from None

    def __eq__(self, other: object) -> bool:
        """Two specs are equal if they say the same in the same order, wherever they were loaded from.

        The order of attributes decides ties, and that of a tree's leaves is their order.
        """
        return isinstance(other, Spec) and json.dumps(self.model_dump()) == json.dumps(other.model_dump())

    __hash__ = None  # type: ignore[assignment]  # it holds dictionaries

    @classmethod
    def load(cls, path: str | Path) -> "Spec":
        """Read a specification from a TOML file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SpecError(f"there is no specification at {str(path)!r}") from None
        except IsADirectoryError:
            raise SpecError(f"{str(path)!r} is a folder; a specification is a TOML file") from None
        except OSError as error:
            raise SpecError(f"cannot read the specification {str(path)!r}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise SpecError(
                f"{str(path)!r} is not a specification: it is no text in UTF-8, as TOML files are"
            ) from None
        spec = cls.loads(text.removeprefix("\ufeff"), name=str(path))
        spec._folder = path.parent
        return spec

    @classmethod
    def loads(cls, text: str, name: str = "the specification") -> "Spec":
        """Read a specification from TOML text."""
        try:
            parts = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            drafted = "" if name.endswith(".toml") or " " in name else "; `ringfence init` drafts one of a table"
            raise SpecError(f"{name} is not valid TOML: {error}{drafted}") from None
        except RecursionError:
            raise SpecError(f"{name} has tables or lists within each other too deep to be read") from None
        if not parts:
            raise SpecError(f"{name} is empty; {NEEDED}, and [privacy] with a promise, such as k = 5")
        return cls(**parts)

    def dumps(self) -> str:
        """Return the specification as TOML: the keys that were given, in the order of the reference."""
        parts = self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
        written: dict[str, str] = {}
        for attribute in parts["attributes"].values():
            hierarchy = attribute.get("hierarchy")
            for key, write in (("tree", _inline), ("paths", _rows)) if isinstance(hierarchy, dict) else ():
                if key in hierarchy:
                    mark = f"{key} {uuid4()}"
                    written[mark] = write(hierarchy[key])
                    hierarchy[key] = mark
        text = tomli_w.dumps(parts)
        for mark, part in written.items():
            text = text.replace(f'"{mark}"', part)
        return text

    def dump(self, path: str | Path) -> None:
        """Write the specification to a TOML file."""
        path = Path(path)
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_text(self.dumps(), encoding="utf-8")
        unfinished.replace(path)

    def locate(self, path: str) -> Path:
        """Return where a path named in the specification lies."""
        return self._folder / path

    def at(self, folder: str | Path) -> Self:
        """Return the same specification with its paths relative to `folder`."""
        copy = self.model_copy()
        copy._folder = Path(folder)
        return copy

    @property
    def has_rings(self) -> bool:
        """Whether each row is published under a value of its own: such releases have no classes to speak of."""
        return self.method.traits.rings and not self.method.homogeneous

    @property
    def recodes_values(self) -> bool:
        """Whether values were decided on: each has the same label everywhere."""
        return self.method.traits.way == RECODES

    @property
    def groups_rows(self) -> bool:
        """Whether rows were decided on: a value may have one label in one row, and another in the next."""
        return self.method.traits.way == GROUPS

    @property
    def needs_whole_table(self) -> bool:
        """Whether groups of rows can be judged, or dealt out, only with all rows at hand: t, and rings with l."""
        return bool(self.closenesses() or (self.method.traits.rings and self.diversities()))

    @property
    def pseudonym(self) -> str | None:
        """The column under which rows of a person stay together in a release, with new values; None if they do not."""
        return self.data.entity if self.data.composite else None

    @property
    def needs_original(self) -> bool:
        """Whether a release can be judged only beside what it was made from."""
        return self.has_rings or self.data.entity is not None

    @property
    def has_buckets(self) -> bool:
        """Whether two tables are published: rows with the number of a bucket, and the sensitive values of each."""
        return self.method.traits.way == BUCKETS

    @property
    def k(self) -> int:
        """How many rows, or people, must be alike: as given, else 1, which asks for nothing."""
        return self.privacy.k or 1

    @property
    def m(self) -> int:
        """How many items of a basket the adversary knows: as given, else 1."""
        return self.privacy.m or 1

    def row_limit(self, rows: int) -> int:
        """Return how many of so many rows may be suppressed: the whole part of the share, as the decimal it is."""
        return floor(exact(self.method.suppression_limit) * rows)

    def least_values(self, name: str) -> int:
        """Return how many different values of a sensitive attribute a class must have; of the people, k."""
        if name == self.data.entity:
            return min(self.k, MOST_PEOPLE)
        asked = [int(part.value) for part in self.diversities() if part.of == name]
        return max([1, *asked, *([self.privacy.p] if self.privacy.p and name in self.of_role("sensitive") else [])])

    def scheme_of(self, name: str) -> Scheme:
        """Return the scheme of an attribute: its own, else the method's, of dates in runs of neighbours.

        Sets would list them, which has to be asked for by attribute.
        """
        attribute = self.attributes[name]
        unlisted: dict[Scheme, Scheme] = {"set": "ordered", "guided-set": "guided-ordered"}
        scheme = self.method.scheme
        if attribute.measured_dates and attribute.representation != "set":
            scheme = unlisted.get(scheme, scheme)
        return attribute.scheme or scheme

    def shown_as(self, name: str) -> Representation:
        """Return how groups show an attribute: as it says, else as the method is told to, else by what it holds.

        Numbers and dates are ranges, all else what the method makes of it. The method's key goes for what can be shown
        so: a range needs an order, a node a hierarchy, and exact dates are listed only where their attribute says so.
        "plain" lists nothing: all else is a node, or a range where it has an order and no hierarchy.
        """
        attribute, asked = self.attributes[name], self.method.representation
        if self.is_loose(name) and asked != "hierarchy":
            return attribute.representation or ("range" if attribute.grid is not None else "hierarchy")
        fits = {
            "range": attribute.ordered,
            "hierarchy": attribute.hierarchy is not None,
            "set": not attribute.measured_dates,
        }
        if attribute.representation is not None:
            return attribute.representation
        if asked == "plain" and not attribute.measured:
            return "hierarchy" if fits["hierarchy"] or not fits["range"] else "range"
        if asked is not None and asked != "plain" and fits[asked]:
            return asked
        return "range" if attribute.measured else self.method.traits.representation

    def is_loose(self, name: str) -> bool:
        """Whether groups show an attribute under labels that do not tell which values they have."""
        return self.groups_rows and (self.attributes[name].labels or self.method.labels) == "loose"

    @property
    def has_loose_labels(self) -> bool:
        """Whether any attribute is shown so."""
        return any(map(self.is_loose, self.of_role("quasi")))

    @property
    def formats(self) -> dict[str, list[str]]:
        """The formats of text that is dates, by attribute."""
        return {name: attribute.formats for name, attribute in self.attributes.items() if attribute.formats}

    def with_dates(self, columns: Iterable[str], form: str = ISO) -> Self:
        """Return the same specification, which says of these columns that they hold dates, or times of day by `form`.

        A table says so by their type. Attributes that are to be numbers, or whose order is listed, stay what they are.
        """
        looked_at = {*self.of_role("quasi", "sensitive")}
        found = [
            name
            for name in columns
            if name in looked_at
            and not self.attributes[name].dates
            and not isinstance(self.attributes[name].hierarchy, IntervalHierarchy)
            and not (form == CLOCK and isinstance(self.attributes[name].hierarchy, DateHierarchy))
            and not isinstance(self.attributes[name].order, list)
        ]
        dated = {name: self.attributes[name].model_copy(update={"format": form}) for name in found}
        return self.model_copy(update={"attributes": {**self.attributes, **dated}}) if dated else self

    @property
    def perhaps_numbers(self) -> list[str]:
        """The quasi-identifiers that are numbers if all their values are."""
        return [name for name in self._untyped if self.attributes[name].perhaps_numbers]

    @property
    def perhaps_in_intervals(self) -> list[str]:
        """The quasi-identifiers that are numbers if the trees over them are of intervals, where rows are decided on.

        Where values are, trees say what is published.
        """
        return [name for name in self._untyped if self.groups_rows and self.attributes[name].perhaps_in_intervals]

    @property
    def _untyped(self) -> list[str]:
        """The quasi-identifiers that are not said to be text."""
        return [name for name in self.of_role("quasi") if self.data.types.get(name) != "text"]

    def with_numbers(self, columns: Iterable[str]) -> Self:
        """Return the same specification, which says of these columns that they hold numbers."""
        numbers = {name: self.attributes[name].model_copy(update={"order": "numeric"}) for name in columns}
        return self.model_copy(update={"attributes": {**self.attributes, **numbers}}) if numbers else self

    def of_role(self, *roles: Role) -> list[str]:
        """Return the attributes of these roles in the order of the specification."""
        return [name for name, attribute in self.attributes.items() if attribute.role in roles]

    @property
    def items(self) -> str | None:
        """The attribute that holds baskets, if there is one."""
        return next(iter(self.of_role("items")), None)

    @property
    def item_column(self) -> str:
        """The attribute that holds baskets, for whoever knows that there is one."""
        assert self.items is not None, "no attribute has the role items"
        return self.items

    @property
    def entity(self) -> str:
        """The column that says whose a row is, for whoever knows that there is one."""
        assert self.data.entity is not None, "rows are not said to be anybody's"
        return self.data.entity

    def diversities(self) -> list[Diversity]:
        """Return the l-diversities asked for, each naming its attribute."""
        asked = self.privacy.l
        if asked is None:
            return []
        if isinstance(asked, int):
            asked = Diversity(value=asked)
        return [
            part if part.of else part.model_copy(update={"of": self._only_sensitive("privacy.l")})
            for part in (asked if isinstance(asked, list) else [asked])
        ]

    def closenesses(self) -> list[Closeness]:
        """Return the t-closenesses asked for, each naming its attribute."""
        asked = self.privacy.t
        if asked is None:
            return []
        if isinstance(asked, int | float):
            asked = Closeness(value=asked)
        return [
            part if part.of else part.model_copy(update={"of": self._only_sensitive("privacy.t")})
            for part in (asked if isinstance(asked, list) else [asked])
        ]

    def bounds(self) -> dict[str, Bound]:
        """Return the limits asked for under alpha, beta and delta, each naming its attribute."""
        given = {"alpha": self.privacy.alpha, "beta": self.privacy.beta, "delta": self.privacy.delta}
        bounds = {}
        for key, asked in given.items():
            if asked is not None:
                bound = asked if isinstance(asked, Bound) else (Likeness if key == "beta" else Bound)(value=asked)
                of = bound.of or self._only_sensitive(f"privacy.{key}")
                bounds[key] = bound.model_copy(update={"of": of})
        return bounds

    def _only_sensitive(self, key: str) -> str:
        sensitive = self.of_role("sensitive")
        if len(sensitive) != 1:
            raise SpecError(
                f"{key} does not say of which attribute, and there are {len(sensitive)} sensitive ones"
                f" ({listed(sensitive)}); add `of = ...`"
            )
        return sensitive[0]

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_purpose(self)
        check_parts(self)
        return self


def _inline(tree: Any) -> str:
    """Write nested tables on one line: TOML's other way to write them does not keep the order of lists and tables."""
    if isinstance(tree, Mapping):
        return "{ " + ", ".join(f"{_quoted(key)} = {_inline(below)}" for key, below in tree.items()) + " }"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_inline, tree)) + "]"
    return _quoted(str(tree))


def _rows(paths: Sequence[Sequence[str]]) -> str:
    return _listed(tuple(map(tuple, paths)))


@kept_up_to(1_000)  # rows
def _listed(paths: Sequence[Sequence[str]]) -> str:
    """Write lists of texts, each on a line: there may be many, and what writes all of TOML takes its time."""
    return "[\n" + "".join(f"    {_quoted(path)},\n" for path in paths) + "]"


def _quoted(text: str | Sequence[str]) -> str:
    """Write a text, or a list of texts, as JSON has it: TOML has it so, too, but for one character."""
    if not isinstance(text, str):
        return "[" + ", ".join(map(_quoted, text)) + "]"
    return encode_basestring(text).replace("\x7f", "\\u007f")
