"""Attacks on a release, carried out by someone who has the original but for its sensitive values.

Each says how often its guess would be right, over all targets and for the one who fares worst, beside what the promise
allows and beside what could be guessed without the release. Where all cases can be counted, they are; the rest is drawn
with a seed, so that it can be repeated. Attacks on sensitive values are in `guesses`.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import ibis
import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.attacks.at_hand import AtHand
from ringfence.audit.attacks.corruption import corrupt
from ringfence.audit.attacks.guesses import background, homogeneity, intersection, minimality
from ringfence.audit.column_findings import require_columns
from ringfence.audit.counts import Column, Released, classes, read_released, total_by
from ringfence.audit.trace.against import Linked, complete, read_linked
from ringfence.audit.trace.linkage import Coverage, Side, link
from ringfence.audit.trace.ring_matches import has_rings
from ringfence.audit.verdict import Attack, some
from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec

MOST_KNOWN = 3
TARGETS = 500
REFINEMENT = "refinement"
"""The attack that needs no original, and says what comes out instead of how often a guess is right."""
NAMES = ("linkage", "homogeneity", "background", "minimality", "corruption", "items", "intersection", REFINEMENT)
NEEDED = {
    "items": "an attribute of role items",
    "intersection": "the original and the other release",
    REFINEMENT: "quasi-identifiers, and of rings those that are cut and without privacy.l",
}

NOTHING = {
    "homogeneity": "no sensitive attribute is published, or the original lacks it",
    "background": "no sensitive attribute is published in classes",
    "minimality": "no class was merged for the sake of a sensitive attribute alone, as far as can be seen",
    "corruption": "the release cannot be traced back to the original",
    "intersection": "no sensitive attribute is published, or the original lacks it",
}
"""Why an attack may have nothing to go by."""


def choose(attacks: Sequence[str], spec: Spec, *, has_original: bool, has_other: bool) -> list[str]:
    """Return the attacks to carry out; "all" are those that can be. One that cannot be is refused.

    Most are judged row by row, and would make too little of people who have several: of all, only those are chosen then
    that read the labels alone.
    """
    beside = has_original and bool(spec.of_role("quasi"))
    plain_rings = spec.privacy.l is None and not spec.method.uncut  # of k to 2 k - 1 rows, in windows of k
    possible = {
        **dict.fromkeys(NAMES, beside),
        "items": spec.items is not None,
        "intersection": beside and has_other,
        REFINEMENT: bool(spec.of_role("quasi")) and (not has_rings(spec) or plain_rings),
    }
    if spec.has_buckets:  # a bucket shows its values, whoever is in it; who is whom is no secret
        possible = {name: name in ("homogeneity", "corruption") for name in NAMES}
    fair = [name for name in NAMES if possible[name] and (spec.data.entity is None or name == REFINEMENT)]
    chosen = fair if "all" in attacks else [*attacks]
    for name in chosen:
        if name not in NAMES:
            raise SpecError(f"there is no attack {name!r}{suggestion(name, NAMES)}; allowed: all, {listed(NAMES)}")
        if spec.data.entity is not None and name != REFINEMENT:
            raise SpecError(row_by_row(spec))
        if not possible[name]:
            needed = "classes" if spec.has_buckets else NEEDED.get(name, "the original")
            raise DataError(f"the attack {name!r} cannot be carried out: it needs {needed}")
    return chosen


def row_by_row(spec: Spec) -> str:
    """Say why some things are not asked where k counts people."""
    return (
        f"data.entity = {spec.data.entity!r}: populations, known rows and attacks are judged row by row, and would"
        " make too little of people who have several; leave them out, or leave data.entity out to judge rows"
    )


def carry_out(names: Sequence[str], at_hand: AtHand, other: AtHand | None) -> Iterator[Attack]:
    """Carry attacks on rows with quasi-identifiers out, in the order in which they are named."""
    for name in names:
        if name in ATTACKS:
            yield from ATTACKS[name](at_hand)
        elif name == "intersection" and other is not None:
            yield from intersection(at_hand, other)


def unsuccessful(names: Sequence[str], found: Sequence[Attack]) -> Iterator[str]:
    """Say of attacks that were to be carried out, and are not among what was found, why that is."""
    for name in names:
        if name != REFINEMENT and not any(attack.name == name for attack in found):
            yield f"the attack {name!r} has nothing to go by: {NOTHING[name]}"


def read_truth(engine: Engine, original: ibis.Table, sensitive: Sequence[str], spec: Spec) -> Released | None:
    """Return the original with its sensitive values, if it has them all."""
    if not {*sensitive} <= {*original.columns}:
        return None
    quasi = spec.of_role("quasi")
    counted = engine.count(complete(original, spec), [*quasi, *sensitive])
    return read_released(counted, ROWS, quasi, sensitive, spec, original=True)


def read_other(engine: Engine, other: ibis.Table, original: ibis.Table, sensitive: Sequence[str], spec: Spec) -> AtHand:
    """Return another release of the same table as attacks see it."""
    quasi = spec.of_role("quasi")
    require_columns(other.columns, [*quasi, *sensitive])
    linked = read_linked(engine, other, original, spec, blind=True)
    released = read_released(engine.count(other, [*quasi, *sensitive]), ROWS, quasi, sensitive, spec)
    return AtHand(released, linked, None, spec, None, {})


def linkage(at_hand: AtHand) -> Iterator[Attack]:
    """Look up rows by some known quasi-identifiers, and guess among those that fit: of each number, the worst choice.

    With all of them known, matches that are in no complete assignment are struck out first.
    """
    quasi = at_hand.linked.published.quasi
    for known in range(1, min(MOST_KNOWN, len(quasi) - 1) + 1):
        tried = {chosen: _looked_up(at_hand.linked, chosen) for chosen in combinations(range(len(quasi)), known)}
        chosen, (success, worst) = max(tried.items(), key=lambda each: each[1])
        names = listed(repr(quasi[place].name) for place in chosen)
        yield Attack("linkage", f"knowing {names}", success, worst, at_hand.share, 1 / at_hand.total)
    graph = at_hand.effective
    fits = total_by(graph.right, graph.published[graph.left], len(graph.original))
    success, worst = _guessed(fits, graph.original)
    yield Attack("linkage", "knowing all quasi-identifiers", success, worst, at_hand.share, 1 / at_hand.total)


def _looked_up(linked: Linked, chosen: Sequence[int]) -> tuple[float, float]:
    """Return how often a guess among the rows that fit some quasi-identifiers is right: on average, and at most."""
    labels = [linked.published.quasi[place] for place in chosen]
    covers = [linked.covers[place] for place in chosen]
    values = [Column("", (None,) * each.holds.shape[1], each.leaves) for each in covers]
    sides = []
    for columns, rows in ((labels, linked.published.rows), (values, linked.original.rows)):
        firsts, group = classes(columns, len(rows))
        narrow = tuple(Column(each.name, each.labels, each.codes[firsts]) for each in columns)
        sides.append(Side(narrow, np.zeros(len(firsts), np.int64), total_by(group, rows, len(firsts))))
    narrowed = [Coverage(v.codes, each.holds, each.past) for v, each in zip(sides[1].quasi, covers, strict=True)]
    graph = link(sides[0], sides[1], narrowed)
    return _guessed(total_by(graph.right, graph.published[graph.left], len(graph.original)), graph.original)


def _guessed(fits: Longs, people: Longs) -> tuple[float, float]:
    """Return how often a guess is right if so many rows fit so many people; who fits none is not found."""
    right = np.where(fits > 0, 1 / np.maximum(fits, 1), 0)
    return float((right * people).sum() / people.sum()), float(right.max())


def corruption(at_hand: AtHand) -> Iterator[Attack]:
    """Know whose some rows are, and guess among what that leaves for the others.

    Rows of a class are all alike, so of k at least k less those that are known are left; rings do not promise that.
    """
    if at_hand.matches is not None:
        known, k = max(at_hand.corrupted, 1), at_hand.spec.k
        after = corrupt(at_hand.matches, known, at_hand.seed)
        how = (
            f"knowing whose {some(known, 'other row')} {'is' if known == 1 else 'are'}{' (seeded)' * (not after.exact)}"
        )
        promised = 1 / (k - known) if known < k and not has_rings(at_hand.spec) else None
        success = after.chance * at_hand.total / at_hand.people
        yield Attack("corruption", how, success, 1 / after.fewest, promised, 1 / at_hand.total)


ATTACKS: dict[str, Callable[[AtHand], Iterator[Attack]]] = {
    "linkage": linkage,
    "homogeneity": homogeneity,
    "background": background,
    "minimality": minimality,
    "corruption": corruption,
}


def items(baskets: Sequence[Sequence[str | None]], spec: Spec, fewest: int, seed: int = 0) -> Attack:
    """Know up to m items of a basket, drawn with a seed, and guess among the baskets that have their labels.

    Who knows an item knows its label. `fewest` baskets hold the rarest combination of up to m labels, as the audit has
    counted: that is the one who fares worst.
    """
    m, rng = spec.m, np.random.default_rng(seed)
    full = sorted((labels for labels in map(_in_order, baskets) if labels), key=_as_text)  # whatever their order was
    holders: dict[str | None, set[int]] = {}
    for number, basket in enumerate(full):
        for label in basket:
            holders.setdefault(label, set()).add(number)
    right = []
    for target in rng.choice(len(full), min(len(full), TARGETS), replace=False).tolist() if full else []:
        labels = full[target]
        known = rng.choice(len(labels), min(m, len(labels)), replace=False).tolist()
        right.append(1 / len(set.intersection(*(holders[labels[place]] for place in known))))
    how = f"knowing up to {some(m, 'item')} ({some(len(right), 'basket')} drawn, seeded)"
    mean, worst = (float(np.mean(right)), 1 / fewest) if right else (0.0, 0.0)
    return Attack("items", how, mean, worst, 1 / spec.k, 1 / max(len(baskets), 1))


def _in_order(basket: Sequence[str | None]) -> list[str | None]:
    """Return the labels of a basket, each once, a missing one last."""
    return sorted({*basket}, key=lambda label: (label is None, label or ""))


def _as_text(basket: Sequence[str | None]) -> list[tuple[bool, str]]:
    return [(label is None, label or "") for label in basket]
