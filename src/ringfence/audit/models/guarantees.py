"""The models of a specification, judged class by class: k, l, p, t, alpha, beta, delta."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringfence.arrays import Bools, Floats, Longs
from ringfence.audit.counts import Column, Released
from ringfence.audit.labels.growing import tree_over
from ringfence.audit.labels.spelling import as_number
from ringfence.audit.models import closeness, diversity, likeness
from ringfence.audit.verdict import Finding, some
from ringfence.errors import DataError, listed
from ringfence.spec import Spec
from ringfence.spec.privacy import Bound, Closeness, Diversity, Likeness

TOLERANCE = 1e-9
"""By how much a measured fraction may miss its limit: more than rounding can make of it, less than anyone means."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """One model: the score of each class under it, which classes fail, and the worst of all."""

    rule: str
    key: str
    scores: Longs | Floats
    fails: Bools
    worst: int
    what: str
    """What is wrong with classes that fail, and with the worst, in words that follow "in 3 classes"."""

    @property
    def measured(self) -> int | float:
        """The worst class's score, which the whole release has to answer for."""
        score: int | float = self.scores[self.worst].item()
        return score

    def finding(self, released: Released) -> Finding | None:
        """Return the violation, if there is one."""
        if not self.fails.any():
            return None
        rows, classes = int(released.sizes[self.fails].sum()), int(self.fails.sum())
        return Finding(
            rule=self.rule,
            message=f"{some(rows, 'row')} in {some(classes, 'class')} {self.what}",
            rows=rows,
            example=released.labels_of(self.worst),
        )


def judge(released: Released, spec: Spec) -> Iterator[Judgement]:
    """Judge a release that has rows by every model that the specification asks for; k is measured in any case."""
    yield _k(released, spec.k)
    for key, wanted in diversity_keys(spec):
        yield _l(released, wanted, key)
    if spec.privacy.p is not None:
        yield _p(released, spec.privacy.p, spec.of_role("sensitive"))
    closenesses = spec.closenesses()
    for key, near in zip(
        _keys("t", [(part.attribute, part.distance) for part in closenesses]), closenesses, strict=True
    ):
        yield _t(released, near, key, spec)
    for key, bound in spec.bounds().items():
        yield _BOUNDS[key](released, bound)


def diversity_keys(spec: Spec) -> list[tuple[str, Diversity]]:
    """Return the diversities that are asked for, each with the name of what is measured."""
    diversities = spec.diversities()
    return [*zip(_keys("l", [_diversity_names(part) for part in diversities]), diversities, strict=True)]


def _keys(letter: str, names: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name for each measure, as short as tells it from the others.

    >>> _keys("t", [("pay", "equal")]), _keys("t", [("pay", "equal"), ("pay", "ordered"), ("job", "equal")])
    (['t'], ['t:pay:equal', 't:pay:ordered', 't:job'])
    """
    keys = []
    for name in names:
        lengths = range(len(name) + 1)
        alone = (n for n in lengths if sum(other[:n] == name[:n] for other in names) == 1)
        keys.append(":".join([letter, *name[: next(alone, len(name))]]))
    return keys


def _diversity_names(wanted: Diversity) -> tuple[str, ...]:
    return (wanted.attribute, wanted.kind, *([] if wanted.c is None else [f"{wanted.c:g}"]))


def _k(released: Released, k: int) -> Judgement:
    sizes = released.sizes
    worst = int(sizes.argmin())
    return Judgement("k", "k", sizes, sizes < k, worst, f"of fewer than k = {k} rows, the smallest of {sizes[worst]}")


def _l(released: Released, wanted: Diversity, key: str) -> Judgement:
    name = wanted.attribute
    cells = released.cells_of[name]
    scores: Longs | Floats
    match wanted.kind:
        case "distinct":
            scores = diversity.distinct(cells)
            what = f"with fewer than l = {wanted.value:g} distinct values of {name!r}, the fewest"
        case "entropy":
            scores = diversity.effective(cells)
            what = f"where the entropy of {name!r} is below log l, l = {wanted.value:g}, the least of them log"
        case "recursive":
            scores = diversity.recursive(cells, float(wanted.c or 0))
            pair = f"(c, l) = ({wanted.c:g}, {wanted.value:g})"
            what = f"where the commonest value of {name!r} is too common for {pair}, the worst holds for l up to"
    worst = int(scores.argmin())
    return Judgement("l", key, scores, scores < wanted.value - TOLERANCE, worst, f"{what} {scores[worst]:g}")


def _p(released: Released, p: int, names: Sequence[str]) -> Judgement:
    by_attribute = np.stack([diversity.distinct(released.cells_of[name]) for name in names])
    scores = by_attribute.min(axis=0)
    worst = int(scores.argmin())
    poorest = names[int(by_attribute[:, worst].argmin())]
    what = (
        f"with fewer than p = {p} distinct values of a sensitive attribute, the fewest {scores[worst]} (of {poorest!r})"
    )
    return Judgement("p", "p", scores, scores < p, worst, what)


def _t(released: Released, wanted: Closeness, key: str, spec: Spec) -> Judgement:
    column = released.sensitive[wanted.attribute]
    count = len(column.labels)
    match wanted.distance:
        case "equal":
            scores = closeness.equal(released.cells_of[column.name], count)
        case "ordered":
            scores = closeness.ordered(released.cells(_ranks(column, spec)[column.codes], count), count)
        case "hierarchical":
            # What the hierarchy does not cover is a DataError: without its place in the tree there is no distance.
            rows = np.bincount(column.codes, released.rows).astype(int).tolist()
            tree, leaves = tree_over(column.name, spec, column.labels, rows)
            scores = closeness.hierarchical(released.cells(leaves[column.codes], len(tree.paths)), tree)
    worst = int(scores.argmax())
    what = (
        f"where the values of {column.name!r} are farther than t = {wanted.value:g} from those of the whole release"
        f" ({wanted.distance} distance), the farthest {scores[worst]:.6g}"
    )
    return Judgement("t", key, scores, scores > wanted.value + TOLERANCE, worst, what)


def _ranks(column: Column, spec: Spec) -> Longs:
    """Return the position of each label of a column in the attribute's order; a missing value comes last.

    Only values that occur have a position, also where the order lists others.
    """
    attribute = spec.attributes[column.name]
    labels = [label for label in column.labels if label is not None]
    if isinstance(attribute.order, list):
        place = {word: position for position, word in enumerate(attribute.order)}
        order: list[Any] = [place.get(label) for label in labels]
        needed = f"attributes.{column.name}.order to list them"
    elif attribute.numeric:
        order, needed = [as_number(label) for label in labels], "numbers"
    else:
        return np.arange(len(column.labels))  # labels are sorted as text
    strange = [repr(label) for label, position in zip(labels, order, strict=True) if position is None]
    if strange:
        raise DataError(
            f"column {column.name!r} of the release has values without a place in its order: {listed(strange[:10])};"
            f" ordered distance needs {needed}"
        )
    by_order = sorted(range(len(labels)), key=order.__getitem__)
    ranks = np.arange(len(column.labels))
    ranks[by_order] = np.arange(len(labels))
    return ranks


def _alpha(released: Released, bound: Bound) -> Judgement:
    scores = likeness.most_common(released.cells_of[bound.attribute])
    worst = int(scores.argmax())
    what = (
        f"where one value of {bound.of!r} has more than alpha = {bound.value:g} of the rows, the most {scores[worst]:g}"
    )
    return Judgement("alpha", "alpha", scores, scores > bound.value + TOLERANCE, worst, what)


def _beta(released: Released, bound: Bound) -> Judgement:
    cells, values = released.cells_of[bound.attribute], len(released.sensitive[bound.attribute].labels)
    scores = likeness.gain(cells, values)
    enhanced = isinstance(bound, Likeness) and bound.kind == "enhanced"
    fails = likeness.beyond(cells, values, bound.value) if enhanced else scores > bound.value + TOLERANCE
    limit = f"the lesser of beta = {bound.value:g} and -ln of that share" if enhanced else f"beta = {bound.value:g}"
    worst = int(np.where(fails, scores, -1).argmax()) if fails.any() else int(scores.argmax())
    what = (
        f"where the share of a value of {bound.of!r} exceeds its share of the release by more than {limit}, relatively,"
        f" the worst by {scores[worst]:.6g}"
    )
    return Judgement("beta", "beta", scores, fails, worst, what)


def _delta(released: Released, bound: Bound) -> Judgement:
    scores = likeness.disclosure(released.cells_of[bound.attribute], len(released.sensitive[bound.attribute].labels))
    worst = int(scores.argmax())
    what = (
        f"where the share of a value of {bound.of!r} is farther from its share of the release than delta ="
        f" {bound.value:g}, in logarithms, the farthest {scores[worst]:.6g}"
    )
    return Judgement("delta", "delta", scores, scores >= bound.value - TOLERANCE, worst, what)


_BOUNDS = {"alpha": _alpha, "beta": _beta, "delta": _delta}
