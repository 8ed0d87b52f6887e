"""What a specification may ask of which verb: methods that are there, promises that each of them can make."""

from ringfence.errors import SpecError, listed
from ringfence.item_spec import RELATIONAL_SEARCHES, check_items
from ringfence.spec import Spec

JUDGED_ONLY = ("alpha", "beta", "delta", "k_map", "presence")
"""Promises that the audit judges and that no method makes."""

RECODING = ("optimal", "levels")
"""Methods that decide on values, each recoded the same way everywhere."""
GROUPING = ("cluster", "hilbert", "mondrian", "local", "ring")
"""Methods that decide on rows, in groups."""
AVAILABLE = (*RECODING, *GROUPING, "anatomy", "itemsets")
COUNTING_PEOPLE = (*RECODING, *(name for name in GROUPING if name != "ring"))
"""Methods whose classes can be made of k different people, not only of k rows."""


def check_available(spec: Spec, *, promised: bool = True, force: bool = False) -> None:
    """Refuse what later versions will do, naming it."""
    _check_kind(spec)
    method, data = spec.method, spec.data
    missing = {
        f"method.name = {method.name!r}": method.name not in AVAILABLE,
        "data.table": data.table is not None,
        **{f"privacy.{key}": getattr(spec.privacy, key) is not None for key in JUDGED_ONLY},
        "method.representation": method.representation is not None and method.name not in GROUPING,
    }
    for what, asked in missing.items():
        if asked:
            raise SpecError(
                f"{what} is not there yet; there are: the methods {listed(AVAILABLE)}, with privacy.k, l, p, t and m"
            )
    check_promise(spec, promised=promised)
    if (method.name == "itemsets" and promised) or spec.has_buckets:
        return
    if method.search not in RELATIONAL_SEARCHES:
        raise SpecError(
            f"method.search = {method.search!r} is for the method 'itemsets'; allowed: {listed(RELATIONAL_SEARCHES)}"
        )
    if method.name == "ring":
        _check_ring(spec, force)
    elif method.name in GROUPING:
        _check_grouping(spec)
    for name in spec.of_role("quasi"):
        if spec.attributes[name].hierarchy is None:
            _check_needs_none(spec, name)


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
    if not spec.of_role("quasi") and (spec.method.name != "itemsets" or not promised):
        raise SpecError("no attribute has the role quasi: there is nothing to recode")
    if spec.has_buckets and promised:
        _check_anatomy(spec)
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
    if spec.method.name not in COUNTING_PEOPLE:
        raise SpecError(
            f"{key}: the method {spec.method.name!r} counts rows, not people; allowed: {listed(COUNTING_PEOPLE)}"
        )
    asked = [
        name for name in ("alpha", "beta", "delta", "k_map", "presence") if getattr(spec.privacy, name) is not None
    ]
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
    freer = [name for name in spec.of_role("quasi") if method.name == "optimal" and spec.scheme_of(name) != "level"]
    if method.name not in RECODING or freer:
        found = f"the scheme of {freer[0]!r} is {spec.scheme_of(freer[0])!r}" if freer else f"not {method.name!r}"
        raise SpecError(f"{key} is for the methods optimal, with the scheme level, and levels; {found}")
    others = [f"privacy.{name}" for name in ("l", "p", "t") if getattr(spec.privacy, name) is not None]
    for name in [*others, *(["method.keep_suppressed"] if method.keep_suppressed else [])]:
        raise SpecError(f"{name} beside {key}: all that is promised of a person's rows together is k")


def check_front(spec: Spec, freer: list[str]) -> None:
    """Refuse what a front over levels, or one over other schemes, cannot do."""
    if spec.data.composite:
        raise SpecError("data.composite = true: a front is over classes of rows; leave it out to count people in these")
    if spec.method.name != "optimal":
        raise SpecError(f"method.name = {spec.method.name!r}: a front is over recodings; allowed: optimal")
    if not freer and spec.frontier.k is not None:
        raise SpecError(
            "frontier.k belongs to schemes other than level: over levels, the front has every k; leave it out"
        )
    if freer and spec.frontier.algorithm != "exact":
        raise SpecError(
            f"frontier.algorithm = {spec.frontier.algorithm!r} is over the levels of hierarchies, but the scheme of"
            f" {freer[0]!r} is {spec.scheme_of(freer[0])!r}; allowed: exact"
        )
    if freer and "points" in spec.frontier.model_fields_set:
        raise SpecError(f"frontier.points is over levels, but the scheme of {freer[0]!r} is another; leave it out")


def _check_needs_none(spec: Spec, name: str) -> None:
    """Refuse an attribute without a hierarchy where what is published are labels of one."""
    method = spec.method
    scheme = spec.scheme_of(name) if method.name == "optimal" else "level"
    if method.name in GROUPING and method.shown_as == "hierarchy":
        raise SpecError(
            f"attributes.{name} has no hierarchy, which method.representation = 'hierarchy' needs; give it one, or"
            " representation = 'set' or 'range', which need none"
        )
    if method.name not in GROUPING and scheme not in ("ordered", "set"):
        raise SpecError(
            f"attributes.{name} has no hierarchy, which the scheme {scheme!r} needs; give it one, or"
            " scheme = 'ordered' or 'set', which need none"
        )


def _check_grouping(spec: Spec) -> None:
    """Refuse what methods that decide on groups of rows cannot promise."""
    name = spec.method.name
    for part in spec.diversities():
        if part.kind != "distinct" and name != "mondrian":
            raise SpecError(f"privacy.l with kind = {part.kind!r}: the method {name!r} promises k, p and distinct l")
    if spec.closenesses() and name != "mondrian":
        raise SpecError(f"privacy.t: the method {name!r} promises k, p and distinct l; allowed: no t")
    if spec.method.keep_suppressed:
        raise SpecError(f"method.keep_suppressed = true: the method {name!r} drops the rows that it suppresses")


def _check_anatomy(spec: Spec) -> None:
    """Refuse what buckets cannot promise, and what would tell what they hide."""
    asked, sensitive = spec.diversities(), spec.of_role("sensitive")
    promised = "the method 'anatomy' promises distinct l of one attribute, and nothing else"
    for key, value in spec.privacy:
        if key != "l" and value is not None:
            raise SpecError(f"privacy.{key}: {promised}")
    if len(asked) != 1 or asked[0].kind != "distinct":
        found = f"of kind {asked[0].kind!r}" if len(asked) == 1 else f"{len(asked)} times"
        raise SpecError(f"privacy.l is asked for {found}: {promised}")
    if len(sensitive) > 1:
        raise SpecError(
            "the method 'anatomy' hides one sensitive attribute, and others would tell it; there are:"
            f" {listed(sensitive)}"
        )
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'anatomy'")


def _check_ring(spec: Spec, force: bool) -> None:
    """Refuse what rings cannot promise."""
    method, privacy, asked = spec.method, spec.privacy, spec.diversities()
    promised = "the method 'ring' promises k, and distinct l of one attribute"
    if privacy.p is not None or spec.closenesses() or len(asked) > 1:
        key = "p" if privacy.p is not None else "t" if spec.closenesses() else "l"
        raise SpecError(f"privacy.{key}: {promised}")
    if asked and asked[0].kind != "distinct":
        raise SpecError(f"privacy.l with kind = {asked[0].kind!r}: {promised}")
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'ring' yet")
    if method.keep_suppressed:
        raise SpecError("method.keep_suppressed = true: the method 'ring' drops the rows that it suppresses")
    if asked and (method.homogeneous or method.partition is not None or method.max_ring is not None):
        raise SpecError(
            "privacy.l: rings of different values are dealt out by rules of their own; leave out method.partition,"
            " max_ring and homogeneous"
        )
    if method.paper_diversity and not asked:
        raise SpecError("method.paper_diversity = true is about privacy.l, which is not asked for")
    if method.paper_diversity and not force:
        raise SpecError(
            "method.paper_diversity = true is not sound: whoever knows how its rings are ordered can work out sensitive"
            " values; it is there for experiments, and has to be forced"
        )
