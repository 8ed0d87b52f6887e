"""What a specification may name: methods, metrics and schemes, each declared once, with a line for people.

A declaration says what a specification has to know of a method or a metric. What decides, or measures, is the business
of `methods` and `losses`, which declare themselves here when `ringfence` is imported. Checks, the catalogue, the
command `methods`, the reports and the tests read what is declared, and list nothing of their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

Scheme: TypeAlias = Literal["level", "cut", "guided-ordered", "guided-set", "ordered", "set"]
Representation: TypeAlias = Literal["set", "range", "hierarchy"]
Wanted: TypeAlias = Literal["set", "range", "hierarchy", "plain"]
"""What a method may be told to show all attributes as: one representation, or whatever has no lists in cells."""

SCHEMES: dict[Scheme, str] = {
    "level": "every value of an attribute at the same level of its hierarchy (full-domain generalization)",
    "cut": "each value at a level of its own: a cut through the hierarchy",
    "guided-ordered": "runs of neighbours, across groups of the hierarchy only where whole groups are merged",
    "guided-set": "any values of a group together, across groups only where whole groups are merged",
    "ordered": "any runs of neighbours in the attribute's order; no hierarchy needed",
    "set": "any values together; no hierarchy needed",
}

CONTAINED: dict[Scheme, tuple[Scheme, ...]] = {
    "level": (),
    "cut": ("level",),
    "guided-ordered": ("level", "cut"),
    "guided-set": ("level", "cut", "guided-ordered"),
    "ordered": ("level", "cut", "guided-ordered"),
    "set": ("level", "cut", "guided-ordered", "guided-set", "ordered"),
}
"""The schemes whose recodings are all recodings of a scheme, where its order suits."""

RECODES = "recodes"
"""Decides on values: each is recoded the same way everywhere."""
GROUPS = "groups"
"""Decides on rows: which are published alike, whatever becomes of their values elsewhere."""
BUCKETS = "buckets"
"""Publishes two tables: rows with the number of a bucket, and the sensitive values of each."""
BASKETS = "baskets"
"""Decides on the items of baskets, in tables without quasi-identifiers."""


@dataclass(frozen=True, kw_only=True)
class MethodTraits:
    """What a specification, and whoever reads one, has to know of a method.

    Parameters
    ----------
    name
        What `method.name` calls it.
    line
        What it does, for people.
    way
        RECODES, GROUPS, BUCKETS or BASKETS.
    promises
        The keys of [privacy] that it can keep: m, where the baskets of rows may be treated after it.
    options
        The keys of [method] that it looks at; what they may be, `spec.method` says. Others that are set are refused.
    kinds
        The kinds of l-diversity that it can keep.
    searches
        What `method.search` may be, where it looks at that.
    counts_people
        Whether its classes can be made of k different people, not only of k rows (`data.entity`).
    composes
        Whether it can keep the rows of a person together (`data.composite`).
    losses
        What it can keep small, its own first; none for whatever is asked for.
    representation
        How it publishes groups unless told otherwise.
    suppression
        Which share of rows it may suppress unless told otherwise.
    by_scheme
        Whether the schemes of attributes say what it may publish. Without one, a method that recodes goes by levels.
    goes_on
        Whether its search can go on from plans that earlier ones have found, and then finds nothing worse.
    chosen
        Whether its releases are chosen among many because they lose little, which whoever knows that can reason from.
    rings
        Whether it publishes each row under a value of its own, unless told to publish groups alike (`homogeneous`).
    """

    name: str
    line: str
    way: str
    promises: tuple[str, ...]
    options: tuple[str, ...]
    kinds: tuple[str, ...] = ("distinct",)
    searches: tuple[str, ...] = ()
    counts_people: bool = False
    composes: bool = False
    losses: tuple[str, ...] = ()
    representation: Representation = "set"
    suppression: float = 1.0
    by_scheme: bool = False
    goes_on: bool = False
    chosen: bool = True
    rings: bool = False

    def minimized(self, asked: str) -> str:
        """Return the loss that is kept small where `asked` is asked for."""
        return asked if not self.losses or asked in self.losses else self.losses[0]


@dataclass(frozen=True, kw_only=True)
class MetricTraits:
    """What a specification, and whoever reads one, has to know of a metric: its name, and what it measures.

    `line` is for the catalogue, `meaning` for the people who read a report. `additive` says whether it is a sum over
    rows or cells, each of which costs what its class says: such a metric can be minimized attribute by attribute.
    `every_k` says whether it depends on k by nothing but what is suppressed, so that a front can show it for every k.
    `needs_target` says whether it is measured only where `method.target` is given. `compared` says whether it is worth
    a candidate of its own, beside what is asked for, where methods are compared: those that go by the use of releases.
    """

    name: str
    line: str
    meaning: str
    additive: bool = False
    every_k: bool = False
    needs_target: bool = False
    compared: bool = False


METHODS: dict[str, MethodTraits] = {}
METRICS: dict[str, MetricTraits] = {}


def declare(*declared: MethodTraits | MetricTraits) -> None:
    """Make methods or metrics known by their names; two of one name are a mistake."""
    for each in declared:
        known: dict[str, MethodTraits] | dict[str, MetricTraits]
        known = METHODS if isinstance(each, MethodTraits) else METRICS
        if each.name in known:
            raise ValueError(f"{each.name!r} is declared already")
        known[each.name] = each  # type: ignore[assignment]  # of its own kind, as chosen above


@contextmanager
def declared(*extra: MethodTraits | MetricTraits) -> Iterator[None]:
    """Make methods or metrics known for a while: for tests, and for trying one out."""
    declare(*extra)
    try:
        yield
    finally:
        for each in extra:
            (METHODS if isinstance(each, MethodTraits) else METRICS).pop(each.name)


def methods_that(**traits: object) -> list[str]:
    """Return the names of the methods with these traits.

    >>> methods_that(way=BUCKETS)
    ['anatomy']
    """
    return [
        name
        for name, method in METHODS.items()
        if all(getattr(method, trait) == wanted for trait, wanted in traits.items())
    ]
