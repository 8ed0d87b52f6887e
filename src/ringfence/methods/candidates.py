"""Candidates: every method, scheme and representation that may keep the promise of a specification.

They are read from what methods and metrics declare; one that is added to these is a candidate from then on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ringfence.declared import (
    BASKETS,
    BUCKETS,
    CONTAINED,
    GROUPS,
    METHODS,
    METRICS,
    RECODES,
    SCHEMES,
    MethodTraits,
    Wanted,
)
from ringfence.errors import SpecError, listed, suggestion
from ringfence.methods.checks import check_available
from ringfence.spec import Spec
from ringfence.spec.method import MethodTable

SETS, NODES = "sets", "nodes"
"""What groups are shown as where values have no order: lists of them, or labels of their hierarchies."""

DEFAULT_LOSS = "glm"
"""The loss that names do not tell."""

WORTH_EFFORT, WORTH_USE = 2, 6
"""How many shares of the time those get that effort makes better, and those that go by the use of releases, too."""

LEAST_FOR_GOOD = 0.5 / 30_000
"""With fewer seconds for a row, effort does not pay: `local` then has no time to change groups until they are cold."""


@dataclass(frozen=True)
class Candidate:
    """One way to make a release, by a name to call it by: `spec` asks for it."""

    name: str
    spec: Spec

    @property
    def promise(self) -> str:
        """What it promises, in words: not all methods promise the same by the same letter."""
        return ", ".join(_promises(self.spec))

    @property
    def as_asked(self) -> bool:
        """Whether it promises what the specification asks for in the usual sense: classes of rows that are alike."""
        return not self.spec.has_rings and not self.spec.has_buckets

    @property
    def plain(self) -> bool:
        """Whether ordinary software can read its releases: ranges and labels of hierarchies; no cell is a list."""
        spec = self.spec
        if spec.groups_rows:
            return not any(spec.shown_as(name) == "set" for name in spec.of_role("quasi"))
        if spec.method.traits.by_scheme:
            return not any(_lists(spec, name) for name in spec.of_role("quasi"))
        return spec.method.traits.way in (RECODES, BASKETS)

    @property
    def goes_on(self) -> bool:
        """Whether it is searched for from what was found for others that it contains."""
        return self.spec.method.traits.goes_on and not self.spec.data.composite

    def contains(self, other: "Candidate") -> bool:
        """Whether whatever is found for another one is an answer for this one, too, and costs no more."""
        return self.goes_on and other.goes_on and other.spec.method.scheme in CONTAINED[self.spec.method.scheme]

    @property
    def worth(self) -> int:
        """How many shares of the time it gets: more where effort makes a release better that may be advised."""
        method = self.spec.method
        if not self.as_asked or "effort" not in method.traits.options:
            return 1
        return WORTH_USE if METRICS[method.minimized].compared else WORTH_EFFORT

    def refusal(self) -> str | None:
        """Return why it cannot be made whatever the rows are; None if it perhaps can."""
        try:
            check_available(self.spec)
        except SpecError as error:
            return str(error)
        return None

    def within(self, seconds: float, rows: int) -> Spec:
        """Return the specification with a limit to the search, and no more effort than that leaves time for."""
        method, update = self.spec.method, {"time_limit": min(seconds, self.spec.method.time_limit or seconds)}
        if "time_limit" not in method.traits.options:
            return self.spec
        hurried: dict[str, Any] = dict(update)
        if "effort" in method.traits.options and method.effort != "fast":
            hurried["effort"] = "good" if seconds > LEAST_FOR_GOOD * rows else "fast"
        return self.spec.model_copy(update={"method": method.model_copy(update=hurried)})


def _lists(spec: Spec, name: str) -> bool:
    """Whether a scheme may list values of an attribute: in sets, in runs of what is no number or date, and in runs that
    a boundary interrupts."""
    scheme, attribute = spec.scheme_of(name), spec.attributes[name]
    if scheme in ("level", "cut"):
        return False
    return scheme in ("set", "guided-set") or not attribute.measured or attribute.boundary is not None


def _promises(spec: Spec) -> Iterator[str]:
    privacy = spec.privacy
    whose = "people" if spec.data.entity is not None else "rows"
    if spec.has_buckets:
        among = "".join(f"{part.value:g} " for part in spec.diversities())
        yield f"whose value is whose is hidden among {among}values; everything else stands there as it is (l, not k)"
        return
    if spec.has_rings:
        yield f"no row is told with more than 1 in {spec.k:,} by who does not know the draw (1/k, not k alike)"
        yield from (f"and no value of {part.of} with more than 1 in {part.value:g}" for part in spec.diversities())
        return
    if privacy.k is not None and spec.of_role("quasi"):
        yield f"each row is alike to those of {privacy.k:,} {whose}, itself included"
    if privacy.m is not None:
        yield f"each {privacy.m} items are in {privacy.k:,} baskets, or in none"
    for part in spec.diversities():
        yield f"at least {part.value:g} values of {part.of} ({part.kind}) among them"
    if privacy.p is not None:
        yield f"at least {privacy.p:,} values of each sensitive attribute among them"
    for close in spec.closenesses():
        yield f"{close.of} distributed there as everywhere, within {close.value:g}"


def candidates(spec: Spec, methods: Sequence[str] | None = None) -> list[Candidate]:
    """Return what could be tried: first a way of each method, then the next of each.

    What was asked for comes first, then methods that can go by the use of their releases, which are likeliest to be the
    best; what promises something else comes last. `methods` names some methods, or candidates.
    Methods for another kind of table are left out; a method may still refuse what is asked of it.
    """
    ways = [[*_ways(spec, method)] for name, method in METHODS.items() if _fits(method, spec)]
    ways.sort(key=lambda way: _turn(way[0], spec))
    found = [each for turn in zip_longest(*ways) for each in turn if each is not None]
    if methods is not None and not methods:
        raise SpecError(f"no method is named, so there is nothing to compare; allowed: {listed(METHODS)}")
    known = [*METHODS, *(each.name for each in found)]
    for name in methods or ():
        if name not in known:
            raise SpecError(f"there is no method {name!r}{suggestion(name, known)}; allowed: {listed(METHODS)}")
    return [each for each in found if methods is None or {each.name, each.spec.method.name} & {*methods}]


def _turn(first: Candidate, spec: Spec) -> tuple[bool, ...]:
    traits = first.spec.method.traits
    likely = any(METRICS[name].compared for name in traits.losses)
    return (traits.name != spec.method.name, not first.as_asked, not likely)


def _fits(method: MethodTraits, spec: Spec) -> bool:
    """Whether a method is for this kind of table. One whose releases are not chosen is tried only if asked for."""
    if not method.chosen and method.name != spec.method.name:
        return False
    return (method.way == BASKETS) == (not spec.of_role("quasi"))


def _ways(spec: Spec, method: MethodTraits) -> Iterator[Candidate]:
    """Yield the ways in which a method can be asked for: schemes, representations, losses; as it was asked for first.

    The keys of [method] that choose among these are one way of several; all others stand as they are given.
    """
    given = {
        key: getattr(spec.method, key)
        for key in spec.method.model_fields_set & {*method.options}
        if key not in ("scheme", "metric", "levels", "representation")
    }
    loss = _losses(spec, method)
    if method.by_scheme:
        for scheme in SCHEMES:
            parts = {**given, "scheme": scheme, **({"metric": loss[0]} if loss else {})}
            yield Candidate(f"{method.name}-{scheme}", _asking(spec, method, parts))
        return
    if not method.chosen:
        yield Candidate(method.name, _asking(spec, method, {**given, "levels": spec.method.levels}))
        return
    if method.way in (BUCKETS, BASKETS):
        yield Candidate(method.name, _asking(spec, method, given))
        return
    ways: dict[tuple[str, ...], Candidate] = {}
    for metric in loss or [""]:
        for shown in _shows(spec, method):
            named = method.name if metric in ("", DEFAULT_LOSS) else f"{method.name}-{metric}"
            asked = _asking(spec, method, {**given, "metric": metric or None})
            asked = _showing(asked, shown, spec.method.representation)
            ways.setdefault(_looks(asked), Candidate(f"{named}-{shown}", asked))
    yield from sorted(ways.values(), key=lambda way: _looks(way.spec) != _looks(spec))


def _looks(spec: Spec) -> tuple[str, ...]:
    """Return what tells the ways of a method apart: its loss, and what groups are shown as."""
    return (spec.method.name, spec.method.minimized, *map(spec.shown_as, spec.of_role("quasi")))


def _losses(spec: Spec, method: MethodTraits) -> list[str]:
    """Return what a method is to keep small: what is worth a candidate of its own, and what was asked for."""
    if "metric" not in method.options:
        return []
    compared, asked = [name for name in method.losses if METRICS[name].compared], method.minimized(spec.method.metric)
    return [*compared, method.losses[0] if asked in compared else asked]


def _shows(spec: Spec, method: MethodTraits) -> Iterable[str]:
    if method.way != GROUPS:
        return ["shown"]
    known = [NODES, SETS] if method.representation == "hierarchy" else [SETS, NODES]
    return known if spec.method.representation in (None, "plain") else ["shown", *known]


def _showing(spec: Spec, shown: str, asked: Wanted | None) -> Spec:
    """Return a specification whose groups show numbers and dates as ranges, all else as sets or nodes; or as asked."""
    attributes, update = dict(spec.attributes), {"representation": "plain" if shown == NODES else asked}
    for name in spec.of_role("quasi"):
        attribute = attributes[name]
        if attribute.representation is not None or attribute.measured:
            continue
        if shown == NODES and attribute.hierarchy is None and not attribute.ordered:
            attributes[name] = attribute.model_copy(update={"hierarchy": "flat"})
        if shown == SETS and spec.method.traits.representation != "set":
            attributes[name] = attribute.model_copy(update={"representation": "set"})
    method = spec.method if shown == SETS else spec.method.model_copy(update=update)
    return spec.model_copy(update={"attributes": attributes, "method": method})


def _asking(spec: Spec, method: MethodTraits, parts: dict[str, Any]) -> Spec:
    table = MethodTable(name=method.name, **{key: value for key, value in parts.items() if value is not None})
    update: dict[str, Any] = {"method": table}
    if spec.output.counts and method.way == BUCKETS:  # which have no labels that counts could be of use for
        update["output"] = spec.output.model_copy(update={"counts": False})
    return spec.model_copy(update=update)
