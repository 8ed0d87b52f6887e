"""What a specification may ask of which verb: methods that are there, promises that each of them can make."""

from collections.abc import Collection

from ringfence.declared import BASKETS, GROUPS, METHODS, methods_that
from ringfence.errors import SpecError, listed
from ringfence.methods.base import named
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import FanoutHierarchy
from ringfence.spec.item_checks import check_items
from ringfence.spec.method import MethodTable
from ringfence.spec.privacy import MODELS

JUDGED_ONLY = tuple(key for key, model in MODELS.items() if not model.promised)
"""Promises that the audit judges and that no method makes."""


KEPT_ANYWAY = ("name", "suppression", "seed", "time_limit")
"""Keys that say what must hold: of a method that suppresses nothing, draws nothing or searches for nothing, it does."""


def check_available(spec: Spec, *, promised: bool = True, force: bool = False) -> None:
    """Refuse what later versions will do, naming it."""
    _check_kind(spec)
    method = spec.method
    for key in JUDGED_ONLY:
        if getattr(spec.privacy, key) is not None:
            raise SpecError(
                f"privacy.{key} is not there yet; there are: the methods {listed(METHODS)}, with privacy.k, l, p, t"
                " and m"
            )
    _check_keys(spec)
    if "loose" in {attribute.labels for attribute in spec.attributes.values()}:
        takers = [name for name, other in METHODS.items() if "labels" in other.options]
        if method.name not in takers:
            raise SpecError(
                f"labels = 'loose' is for the methods {listed(takers)}, not {method.name!r}; where each value is"
                " recoded alike everywhere, labels tell nothing of their class anyway"
            )
    if method.shards is not None:
        _check_shards(spec)
    check_promise(spec, promised=promised)
    if spec.output.counts and promised:
        _check_counts(spec)
    if (method.traits.way == BASKETS and promised) or spec.has_buckets:
        return
    if "search" in method.traits.options and method.search not in method.traits.searches:
        takers = [name for name, other in METHODS.items() if method.search in other.searches]
        raise SpecError(
            f"method.search = {method.search!r} is for the method {listed(map(repr, takers))}; allowed:"
            f" {listed(method.traits.searches)}"
        )
    named(method.name).check_run(spec, force)
    for name in spec.of_role("quasi"):
        if spec.attributes[name].hierarchy is None:
            _check_needs_none(spec, name)


def _check_keys(spec: Spec) -> None:
    """Refuse keys of [method] that were set, and that the method never looks at: who sets one takes it to do something.

    Where methods are compared, each takes what it looks at. Some keys are kept also by methods that need not look at
    them (`KEPT_ANYWAY`), and every loss is measured of all releases: only one that a method cannot keep small is
    refused.
    """
    method = spec.method
    for key in MethodTable.model_fields:  # in the order of the reference
        value = getattr(method, key)
        if key in KEPT_ANYWAY or key not in method.model_fields_set or value is None:
            continue
        said = f"method.{key} = {_as_toml(value)}"
        takers = [name for name, other in METHODS.items() if key in other.options]
        if key not in method.traits.options and key != "metric":
            several = "methods" if len(takers) > 1 else "method"
            raise SpecError(
                f"{said} is for the {several} {listed(takers)}; {method.name!r} does not look at it: leave it out"
            )
        if key == "metric" and method.traits.losses and value not in method.traits.losses:
            raise SpecError(
                f"{said}: the method {method.name!r} cannot keep it small; allowed: {listed(method.traits.losses)}"
            )


def _as_toml(value: object) -> str:
    """Return a value as it is written in a specification, near enough."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _check_shards(spec: Spec) -> None:
    """Refuse shards of what is decided on all rows together."""
    key = f"method.shards = {spec.method.shards}"
    if spec.needs_whole_table:
        what = "privacy.t is measured against" if spec.closenesses() else "rings with privacy.l are dealt out over"
        raise SpecError(f"{key}: {what} the whole table, which no shard knows; leave one of them out")


def _check_kind(spec: object) -> None:
    """Refuse a path, or a dictionary: whoever forgot to make a specification of it should be told how."""
    if not isinstance(spec, Spec):
        raise SpecError(
            f"the specification is a {type(spec).__name__}; allowed: a Spec, made by Spec.load(path),"
            " Spec.loads(text) or Spec(attributes=..., privacy=...)"
        )


def check_promise(spec: Spec, *, promised: bool = True) -> None:
    """Refuse a specification that promises nothing, or nothing about anyone."""
    _check_kind(spec)
    privacy = spec.privacy
    judged = any(getattr(privacy, key) is not None for key in JUDGED_ONLY)
    if promised and not judged and (privacy.k, privacy.l, privacy.p, privacy.t) == (None, None, None, None):
        raise SpecError("[privacy] promises nothing; give at least one of k, l, p and t")
    check_items(spec)
    if promised:
        named(spec.method.name).check_promise(spec)
    if not spec.of_role("quasi") and (spec.method.traits.way != BASKETS or not promised):
        raise SpecError("no attribute has the role quasi: there is nothing to recode")
    if spec.data.entity is not None:
        _check_entity(spec, spec.data.entity, promised=promised)
    if spec.data.composite:
        _check_composite(spec)


def _check_entity(spec: Spec, entity: str, *, promised: bool) -> None:
    """Refuse what cannot be promised of people who have several rows."""
    attribute, key = spec.attributes.get(entity), f"data.entity = {entity!r}"
    if attribute is not None and attribute.role != "identifier":
        raise SpecError(
            f"{key} says whose a row is and is never published, so its role can only be identifier (or it has none),"
            f" not {attribute.role!r}"
        )
    if promised and spec.privacy.k is None:
        raise SpecError(f"{key} makes privacy.k count people; give privacy.k, or leave data.entity out")
    if spec.method.target == entity:
        raise SpecError(f"method.target = {entity!r} is the column of data.entity, which is never published")
    if spec.items is not None:
        raise SpecError(
            f"{key}: what is promised of the baskets in {spec.items!r} counts baskets, not people; for one basket a"
            f" person, set data.basket_id = {entity!r} instead"
        )
    if not spec.method.traits.counts_people:
        allowed = listed(methods_that(counts_people=True))
        raise SpecError(f"{key}: the method {spec.method.name!r} counts rows, not people; allowed: {allowed}")
    asked = [name for name in JUDGED_ONLY if getattr(spec.privacy, name) is not None]
    asked += [f"l with kind = {part.kind!r}" for part in spec.diversities() if part.kind != "distinct"]
    for name in asked:
        raise SpecError(
            f"privacy.{name} beside {key}: it counts rows, and one person's may be all that make it hold; allowed"
            " beside data.entity: privacy.k, distinct l, p and t"
        )


def _check_composite(spec: Spec) -> None:
    """Refuse what cannot be promised of all rows of a person together."""
    method, key = spec.method, "data.composite = true"
    if spec.data.entity is None:
        raise SpecError(f"{key} needs data.entity: the column that says whose a row is")
    freer = [name for name in spec.of_role("quasi") if method.traits.by_scheme and spec.scheme_of(name) != "level"]
    if not method.traits.composes or freer:
        found = f"the scheme of {freer[0]!r} is {spec.scheme_of(freer[0])!r}" if freer else f"not {method.name!r}"
        composing = [METHODS[name] for name in methods_that(composes=True)]
        allowed = " and ".join(f"{each.name}{', with the scheme level,' * each.by_scheme}" for each in composing)
        raise SpecError(f"{key} is for the methods {allowed}; {found}")
    others = [f"privacy.{name}" for name in ("l", "p", "t") if getattr(spec.privacy, name) is not None]
    for name in [*others, *(["method.keep_suppressed"] if method.keep_suppressed else [])]:
        raise SpecError(f"{name} beside {key}: all that is promised of a person's rows together is k")


def _check_counts(spec: Spec) -> None:
    """Refuse counts of values where they would say nothing, or more than is promised."""
    key = "output.counts = true"
    if spec.has_buckets:
        raise SpecError(
            f"{key}: the method {spec.method.name!r} publishes quasi-identifiers as they are, and whoever wants counts"
            " can count them; leave it out"
        )
    if not spec.of_role("quasi"):
        raise SpecError(f"{key} is about quasi-identifiers, and there are none; counts of items are not published")
    if spec.k < 2:
        raise SpecError(f"{key} needs privacy.k of 2 or more: no count is of fewer rows than k")
    if spec.has_loose_labels:
        raise SpecError(
            f"{key} does not go with labels = 'loose': these promise that nothing tells which values a group has, and"
            " from counts and labels together some of that can be worked out; leave one of them out"
        )


def check_start(spec: Spec, columns: Collection[str]) -> None:
    """Refuse a plan with such columns to begin a search with, where it cannot be begun with one, or not with this."""
    if not spec.method.traits.goes_on:
        allowed = listed(methods_that(goes_on=True))
        raise SpecError(
            f"a plan to begin with: the method {spec.method.name!r} begins anew each time; allowed: {allowed}"
        )
    if spec.data.composite:
        raise SpecError(
            "a plan to begin with does not go with data.composite = true, whose search begins anew each time"
        )
    missing = [name for name in spec.of_role("quasi") if name not in columns]
    if missing:
        raise SpecError(
            f"the plan to begin with says nothing of the quasi-identifier {missing[0]!r}: it was made for"
            f" {listed(map(repr, columns))}"
        )


def is_for_chosen_k(spec: Spec) -> bool:
    """Whether a front is made one k after the other, by what decides for one: of groups, and over levels with further
    models where rows may be suppressed. (Freer schemes are always searched so, from the largest k down.)"""
    further = bool(spec.diversities() or spec.closenesses() or spec.privacy.p is not None)
    by_levels = all(spec.scheme_of(name) == "level" for name in spec.of_role("quasi"))
    return spec.groups_rows or (further and by_levels and bool(spec.method.suppression))


def check_front(spec: Spec, freer: list[str]) -> None:
    """Refuse what a front over levels, or one over other schemes, cannot do."""
    if spec.data.composite:
        raise SpecError("data.composite = true: a front is over classes of rows; leave it out to count people in these")
    if not spec.method.traits.by_scheme and not spec.groups_rows:
        allowed = listed([*methods_that(by_scheme=True), *methods_that(way=GROUPS)])
        raise SpecError(f"method.name = {spec.method.name!r}: a front is over recodings or groups; allowed: {allowed}")
    if is_for_chosen_k(spec) and spec.frontier.algorithm != "exact":
        raise SpecError(
            f"frontier.algorithm = {spec.frontier.algorithm!r} is over recodings by levels without further models;"
            " allowed here: exact"
        )
    if not freer and spec.frontier.k is not None and not is_for_chosen_k(spec):
        raise SpecError(
            "frontier.k belongs to schemes other than level: over levels, the front has every k; leave it out"
        )
    if freer and spec.frontier.algorithm != "exact":
        raise SpecError(
            f"frontier.algorithm = {spec.frontier.algorithm!r} is over the levels of hierarchies, but the scheme of"
            f" {freer[0]!r} is {spec.scheme_of(freer[0])!r}; allowed: exact"
        )
    for key in ("careful", "depth"):
        if key in spec.frontier.model_fields_set and spec.frontier.algorithm != "poka":
            raise SpecError(
                f"frontier.{key} with frontier.algorithm = {spec.frontier.algorithm!r}, which misses nothing; it is for"
                " 'poka': leave it out"
            )
    if "points" in spec.frontier.model_fields_set and (freer or is_for_chosen_k(spec)):
        why = (
            f"the scheme of {freer[0]!r} is another"
            if freer and not spec.groups_rows
            else "what is asked for here is searched for one k after the other"
        )
        raise SpecError(f"frontier.points is over levels, but {why}; leave it out")


def check_shown(spec: Spec) -> None:
    """Refuse ranges of values that have no order: what lies between two of them would say nothing.

    A specification alone does not tell; a column may turn out to hold dates. Refuse also what cannot be loose.
    """
    for name in spec.of_role("quasi"):
        attribute = spec.attributes[name]
        if spec.is_loose(name):
            _check_loose(name, attribute, spec)
        if attribute.representation == "range" and not attribute.ordered:
            raise SpecError(
                f"attributes.{name}.representation = 'range', but its values have no order; give it one"
                f" (attributes.{name}.order = 'numeric', 'lexical' or a list), say how its dates are written"
                f" (attributes.{name}.format), or choose representation = 'set' or 'hierarchy'"
            )
        bare = attribute.hierarchy is None and attribute.representation is None and not attribute.ordered
        if spec.method.representation == "plain" and bare:
            raise SpecError(
                f"attributes.{name} has neither a hierarchy nor an order, so that only a list could show it, and"
                " method.representation = 'plain' has no lists; give it one (hierarchy = 'flat' hides what differs)"
            )


def _check_loose(name: str, attribute: Attribute, spec: Spec) -> None:
    """Refuse labels that list values, or whose grid nobody has stated; and ranges within boundaries."""
    shown, asked = spec.shown_as(name), f"attributes.{name} is to have loose labels"
    if shown == "set":
        raise SpecError(f"{asked}, but representation = 'set' lists values; allowed: range, hierarchy")
    if shown == "range" and attribute.grid is None:
        raise SpecError(
            f"{asked}, but nothing says on which grid its ranges end; give it hierarchy = {{ intervals = [...] }}, or"
            " { dates = [...] } of dates: the first of them is the grid"
        )
    if attribute.hierarchy is None:
        raise SpecError(f"{asked}, and has no hierarchy whose labels they could be; give it one")
    if isinstance(attribute.hierarchy, FanoutHierarchy):
        raise SpecError(f"{asked}, but the groups of a fan-out are named by values; give it another hierarchy")
    if attribute.boundary is not None and shown == "range":
        raise SpecError(
            f"{asked}, and has a boundary, which a range that ends on a grid may pass; leave the boundary out, or show"
            " nodes (representation = 'hierarchy')"
        )


def _check_needs_none(spec: Spec, name: str) -> None:
    """Refuse an attribute without a hierarchy where what is published are labels of one."""
    method = spec.method
    scheme = spec.scheme_of(name) if method.traits.by_scheme else "level"
    by_nodes = method.traits.representation == "hierarchy" and method.representation in (None, "hierarchy")
    if method.traits.way == GROUPS and by_nodes and spec.attributes[name].representation is None:
        raise SpecError(
            f"attributes.{name} has no hierarchy, which the method {method.name!r} goes by; give it one, or"
            " method.representation = 'set' or 'range', which need none"
        )
    if method.traits.way != GROUPS and scheme not in ("ordered", "set"):
        raise SpecError(
            f"attributes.{name} has no hierarchy, which the scheme {scheme!r} needs; give it one, or"
            " scheme = 'ordered' or 'set', which need none"
        )
