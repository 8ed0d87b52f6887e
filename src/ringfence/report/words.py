"""The report in words: what was asked, what the audit measured, and what that means."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ringfence.audit.verdict import Verdict, some
from ringfence.search.progress import SearchResult
from ringfence.spec import Spec
from ringfence.spec.attributes import BoundaryLevel
from ringfence.spec.hierarchies import HierarchySpec
from ringfence.spec.privacy import Bound, Closeness, Diversity, Likeness

ROLES = {
    "identifier": "identifier: left out",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive: published as it is",
    "insensitive": "insensitive: published as it is",
    "items": "items: baskets",
}

PROVEN = ", proven"
"""How the line of a method ends that proves its answers, if there is time."""

DISTANCES = {
    "equal": "for any set of values, its share in a class and in the whole differ by at most that",
    "ordered": "the mean ranks in a class and in the whole differ by at most that share of all ranks",
    "hierarchical": "for any topmost group, its share in a class and in the whole differ by at most that",
}


@dataclass(frozen=True)
class Kept:
    """One model of the promise: what was asked, what the audit measured, and what that means."""

    asked: str
    measured: str
    meaning: str


def joined(names: Iterable[str]) -> str:
    """Return names as a sentence lists them.

    >>> joined(["age"]), joined(["age", "sex", "town"])
    ('“age”', '“age”, “sex” and “town”')
    """
    quoted = [f"“{name}”" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)


def method(spec: Spec, search: SearchResult | None) -> str:
    """Say what the method of a run is; that its answer is proven only where it is.

    >>> from ringfence.search.progress import SearchResult
    >>> found = SearchResult(cost=0.3, optimal=False, bound=0.1, nodes=7, pruned=0, seconds=2)
    >>> method(Spec(attributes={"age": {"role": "quasi"}}), found)
    'the cheapest recoding of a scheme; here the best that was found, which is not proven to be the cheapest'
    """
    line = spec.method.traits.line
    if search is None or search.optimal or not line.endswith(PROVEN):
        return line
    return f"{line.removesuffix(PROVEN)}; here the best that was found, which is not proven to be the cheapest"


def number(value: float) -> str:
    """Return a number as a reader wants it: large and whole ones without a fraction, others to four digits.

    >>> number(5), number(14798.24), number(0.51114)
    ('5', '14,798', '0.5111')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Return a stretch of time in the largest unit that it has two of.

    >>> [duration(86_400 * days) for days in (0.01, 1, 12, 400, 4000)]
    ['14 minutes', '24 hours', '12 days', '13 months', '11 years']
    """
    units = {"year": 31_556_952, "month": 2_629_746, "day": 86_400, "hour": 3600, "minute": 60}
    for unit, length in units.items():
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}s"
    return f"{seconds:,.4g} second{'s' * (seconds != 1)}"


def percent(share: float) -> str:
    """Return a share as a reader can compare it: never 0 for something, nor 100 for almost everything.

    >>> [percent(share).replace("\u00a0", " ") for share in (0.1234, 0.00012, 0.9996, 0, 1, 0.056, 4)]
    ['12 %', '<0.1 %', '>99.9 %', '0 %', '100 %', '5.6 %', '400 %']
    """
    if 0 < share < 0.001:
        return "<0.1\u00a0%"
    if 0.999 < share < 1:
        return ">99.9\u00a0%"
    digits = 1 if 0 < share < 0.0995 or 0.99 < share < 1 else 0
    return f"{100 * share:,.{digits}f}\u00a0%".replace(".0\u00a0", "\u00a0")


# What was promised and kept


def kept(spec: Spec, verdict: Verdict) -> list[Kept]:
    """Return the models that were asked for, each with what the audit measured."""
    diversities, closenesses = spec.diversities(), spec.closenesses()
    of_l = _measured(verdict, "l", [(part.of, part.kind, part.c) for part in diversities])
    of_t = _measured(verdict, "t", [(part.of, part.distance) for part in closenesses])
    counted = "k" in verdict.measured or "k_rows" in verdict.measured
    lines = [_k(spec, verdict)] if spec.of_role("quasi") and counted else []
    lines += [_l(part, of_l.get((part.of, part.kind, part.c)), spec) for part in diversities]
    if spec.privacy.p is not None:
        lines.append(_p(spec, spec.privacy.p, verdict.measured.get("p")))
    lines += [_t(part, of_t.get((part.of, part.distance))) for part in closenesses]
    lines += [_bound(key, bound, verdict.measured.get(key)) for key, bound in spec.bounds().items()]
    lines += _population(spec, verdict)
    if spec.privacy.m is not None:
        lines.append(_km(spec, spec.privacy.m, verdict))
    return lines


def _measured(verdict: Verdict, letter: str, asked: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], float]:
    """Return what was measured of each model of a letter: the audit lists them in the order of the specification."""
    values = [value for key, value in verdict.measured.items() if key == letter or key.startswith(f"{letter}:")]
    return dict(zip(dict.fromkeys(asked), values, strict=False))  # a release without rows has none of them


def _found(letter: str, value: float | None) -> str:
    return "not measured" if value is None else f"{letter} = {number(value)}"


def _k(spec: Spec, verdict: Verdict) -> Kept:
    k = int(verdict.measured.get("k", 0))
    asked = "nothing" if spec.privacy.k is None else f"k = {spec.privacy.k:,}"
    if spec.data.entity is not None:
        return _people(asked, k, verdict, together=spec.data.composite)
    if spec.has_rings:
        meaning = (
            f"Whoever knows all quasi-identifiers of everybody, and how the release was made, finds {k:,} rows for a"
            f" person, each of which is that person's with a probability of 1/{k:,}, as long as he does not know the"
            " draw."
        )
    elif k <= 1:
        meaning = "Some rows are alone in their class: whoever knows their values finds them."
    else:
        meaning = (
            f"Every row shares its published quasi-identifiers with at least {some(k - 1, 'other')}. Whoever knows all"
            f" quasi-identifiers of a person finds at least {k:,} rows that fit, or none, and has no reason to prefer"
            " one."
        )
    return Kept(asked, _found("k", k), meaning)


def _people(asked: str, k: int, verdict: Verdict, *, together: bool) -> Kept:
    if "k" not in verdict.measured:
        meaning = "How many people are behind each class is not known: a release does not say whose its rows are."
        return Kept(f"{asked} people", "not judged", meaning)
    if k <= 1:
        meaning = "Nobody else has the rows of some people." if together else "Some classes may be of one person alone."
        return Kept(f"{asked} people", _found("k", k), meaning)
    if together:
        meaning = (
            f"All published rows of a person, taken together, have the same quasi-identifiers as those of at least"
            f" {some(k - 1, 'other')}. Whoever knows all quasi-identifiers of all rows of a person finds at least"
            f" {k:,} people that fit, or none, and has no reason to prefer one."
        )
        return Kept(f"{asked} people, rows together", f"{_found('k', k)} people", meaning)
    share = verdict.measured.get("largest_share")
    most = "" if share is None else f" At most {share:.0%} of the rows of a class are one person's."
    meaning = (
        f"Every class has rows of at least {k:,} different people. Whoever knows all quasi-identifiers of a person's"
        f" row finds rows of at least {k:,} people that fit, or none.{most}"
    )
    up_to = f" to {verdict.measured['k_most']}" if "k_most" in verdict.measured else ""
    return Kept(f"{asked} people", f"{_found('k', k)}{up_to} people", meaning)


def _km(spec: Spec, m: int, verdict: Verdict) -> Kept:
    least = verdict.measured.get(f"k:{spec.items}", verdict.measured["k"])
    size = int(verdict.measured.get("m", 0))
    meaning = (
        f"Every combination of up to {some(size, 'label')} that occurs in a basket of “{spec.items}” occurs in at least"
        f" {some(int(least), 'basket')}. Whoever knows up to {some(size, 'item')} of somebody's basket finds at least"
        " so many that fit, or none."
        if size
        else "Some labels occur in too few baskets: whoever knows that item of somebody's basket finds it."
    )
    return Kept(f"k^m = {spec.privacy.k:,}^{m} of “{spec.items}”", f"k = {int(least):,}, m = {size}", meaning)


def _l(part: Diversity, value: float | None, spec: Spec) -> Kept:
    name, least = f"“{part.of}”", number(part.value if value is None else value)
    match part.kind:
        case "distinct" if spec.has_buckets:
            meaning = f"In no bucket has a value of {name} more than one in {least} of the rows."
        case "distinct" if spec.has_rings:
            meaning = f"To whoever does not know the draw, no value of {name} has a probability above 1/{least}."
        case "distinct":
            meaning = f"Every class has at least {least} different values of {name}."
        case "entropy":
            meaning = f"In every class the values of {name} are at least as mixed as {least} equally common ones."
        case "recursive":
            c, excluded = float(part.c or 0), max(0, int(part.value) - 2)
            knowing = f", also for an adversary who can rule out up to {some(excluded, 'other')}" if excluded else ""
            meaning = f"In every class each value of {name} has a probability below {c / (1 + c):.2g}{knowing}."
    kind = part.kind if part.c is None else f"{part.kind}, c = {part.c:g}"
    return Kept(f"l = {part.value:g} of {name} ({kind})", _found("l", value), meaning)


def _p(spec: Spec, p: int, value: float | None) -> Kept:
    least = number(p if value is None else value)
    meaning = (
        f"Every class has at least {least} different values of {joined(spec.of_role('sensitive'))}, each by itself."
    )
    return Kept(f"p = {p}", _found("p", value), meaning)


def _t(part: Closeness, value: float | None) -> Kept:
    meaning = (
        f"In every class the values of “{part.of}” are distributed as in the whole release, up to a distance of"
        f" {number(part.value if value is None else value)} on a scale from 0 to 1: {DISTANCES[part.distance]}."
    )
    return Kept(f"t = {part.value:g} of “{part.of}” ({part.distance})", _found("t", value), meaning)


def _bound(key: str, bound: Bound, value: float | None) -> Kept:
    name, most = f"“{bound.of}”", number(bound.value if value is None else value)
    enhanced = isinstance(bound, Likeness) and bound.kind == "enhanced"
    meaning = {
        "alpha": f"No value of {name} has more than {most} of the rows of a class.",
        "beta": f"No value of {name} is more than {most} times commoner in a class than in the whole, beyond once.",
        "delta": f"The share of a value of {name} in a class and in the whole differ by a factor of at most e^{most}.",
    }[key]
    kind = " (enhanced: rare values are held to less)" if enhanced else ""
    return Kept(f"{key} = {bound.value:g} of {name}{kind}", _found(key, value), meaning)


def _population(spec: Spec, verdict: Verdict) -> Iterator[Kept]:
    """Yield what was asked beside a population."""
    measured = verdict.measured
    if spec.privacy.k_map is not None:
        fewest = measured.get("k_map")
        meaning = f"Every class fits at least {number(fewest or 0)} people of the population."
        yield Kept(f"k-map = {spec.privacy.k_map:,}", _found("k-map", fewest), meaning)
    wanted = spec.privacy.presence
    if wanted is not None:
        low, high = (number(measured.get(key, 0)) for key in ("presence_low", "presence_high"))
        meaning = f"Of someone in the population, it seems between {low} and {high} likely that he is in the release."
        yield Kept(f"presence between {wanted.low:g} and {wanted.high:g}", f"{low} to {high}", meaning)


# What was asked


def hierarchy(given: HierarchySpec | None) -> str:
    """Say how an attribute's values may be made coarser."""
    if given is None or given == "flat":
        return "" if given is None else "the value or nothing"
    return given.in_words


def boundary(given: list[str] | BoundaryLevel | None) -> str:
    """Say past what an attribute's values may not be generalized."""
    if given is None:
        return ""
    return f"level {given.level}" if isinstance(given, BoundaryLevel) else ", ".join(given)


def blame(name: str, with_it: float, without: float) -> str:
    """Say which attribute most of the error is about, given the shares of rows that are not in their cell in tables
    with it and without it.

    >>> blame("town", 0.47, 0.04).split(":")
    ['“town” costs most', ' in tables with it 47\xa0% of the rows are not in their cell, in all others 4\xa0%. If nobody counts by it, leave it out.']
    """  # noqa: E501
    costs = f"in tables with it {percent(with_it)} of the rows are not in their cell, in all others {percent(without)}"
    return f"“{name}” costs most: {costs}. If nobody counts by it, leave it out."
