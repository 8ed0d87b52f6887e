"""Blocks of values in a published column: the grammar of a column, and how sets and ranges come on top of it.

The schemes `ordered`, `set`, `guided-ordered` and `guided-set` merge values as no hierarchy has them merged, and their
labels name what was merged: `{a, b}` these two values, `[20, 34]` all numbers from 20 to 34, and dates alike;
`{[20, 34], null}` a missing value with them, and `{[20, 34], [60, 64]}` those on both sides of what a boundary keeps
out. So do methods that decide on rows, which may publish a value here under one label and there under another.

A column of such a scheme is also judged as a whole. The schemes recode globally: every value of the original has one
label, so every person fits one class. Where the labels alone show a value under two of them, one is not true, or rows
of two releases were mixed. No model fails by that (who fits two classes fits the rows of both, and each class has what
the model asks), but readers are misled, and no other rule here would notice a block that bears a wrong name. So it is a
finding of its own, where it is certain:

- values, sets and ranges name what they hold;
- a label of a stated tree holds its leaves, less those that a boundary keeps below it;
- an interval, a part of the calendar or a group of numbers holds all of its stretch, unless the boundary is a list of
  labels: beside one, it may stand for the rest.

Left out are `*`, which may stand for the rest, too, or for rows that were suppressed and kept; masked codes; and groups
of a fan-out over text. So are the schemes `level` and `cut`, whose labels name no values: there a table that mixes the
levels of a hierarchy has always passed, and by default every specification has the scheme `level`, also one that is
written to judge a table of other making.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from ringfence.audit.labels.moments import as_moment
from ringfence.audit.labels.spelling import as_set, ends_in, spans_of
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute

Test: TypeAlias = Callable[[str], bool]
Values: TypeAlias = Sequence[str | None]
"""Values as labels spell them, None for a missing one."""

Place: TypeAlias = tuple[int, Any, int]
"""A place on the line of all values: before all (-1), among the values (0) or at the missing one (1), which comes last;
there, at a value (0) or right after it (1)."""

Stretch: TypeAlias = tuple[Place, Place]
"""From one place up to, not including, another."""

MOST_REMEMBERED = 1 << 16
"""How many values of an attribute are remembered: many labels name the same."""

MISSING: Stretch = (1, None, 0), (1, None, 1)


def recoded_in_blocks(name: str, spec: Spec) -> bool:
    """Whether each value of an attribute has one label, which may be a set or a range."""
    return spec.method.traits.by_scheme and spec.scheme_of(name) not in ("level", "cut")


def has_blocks(name: str, spec: Spec) -> bool:
    """Whether the labels of an attribute may be sets and ranges."""
    return recoded_in_blocks(name, spec) or (spec.groups_rows and spec.shown_as(name) != "hierarchy")


def stretch(low: Any, high: Any, *, closed: bool) -> Stretch:
    """Return what lies from one value up to another, which itself belongs to it if `closed`."""
    return (0, low, 0), (0, high, int(closed))


def position(attribute: Attribute) -> Callable[[str], Any]:
    """Return where on a line a value lies: a number by its value, a date by its moment, a text anywhere as long as it
    is the same place."""
    if attribute.measured_dates:
        return as_moment
    return Fraction if attribute.numeric else str


@dataclass(frozen=True)
class Grammar:
    """What may stand in one published column.

    `reads` tells labels from other text, `passes` those of them that lie above the boundary; `allowed` says in words
    what reads. `is_value` tells single values; where values are `free`, that is nearly any text. `apart` tells values
    that no label may hold together, since certainly not all have the same ceiling: the highest node that a value may
    be published as. `marked` are numbers at which a mark of the boundary begins. `holds` is what a label certainly
    stands for, and `disjoint` says whether no value may stand under two labels.
    """

    allowed: str
    reads: Test
    passes: Test
    is_value: Test
    apart: Callable[[Values], bool]
    holds: Callable[[str], Sequence[Stretch]]
    marked: Sequence[str] = ()
    free: bool = False
    disjoint: bool = False

    def sharing(self, labels: Iterable[str | None]) -> set[str | None]:
        """Return labels that share a value with another where none may, None being the label of a missing value.

        From left to right, a stretch that begins before all earlier ones have ended overlaps the one that ends last;
        if any two overlap, this is so when the second of them begins. What does not read holds nothing.
        """
        if not self.disjoint:
            return set()
        held = [(*each, label) for label in labels for each in ([MISSING] if label is None else self.holds(label))]
        sharing: set[str | None] = set()
        reached: Place = (-1, None, 0)
        holder = None
        for start, end, label in sorted(held, key=lambda each: each[:2]):
            if start < reached:
                sharing |= {holder, label}
            if end > reached:
                reached, holder = end, label
        return sharing


def with_blocks(form: Grammar, attribute: Attribute, *, missing: bool) -> Grammar:
    """Return a grammar that reads sets as well, of `missing` values too if there may be any; and ranges of numbers and
    dates.

    A text in braces is a set, or a damaged one, unless the specification states it as a label or as a value. A range
    is judged by its ends, and by the marks that begin inside it: the data has what a list of labels marks, so some
    value of each such mark is in the range, and its ceiling lies within the mark. Where a boundary keeps what lies
    between out, a set has several ranges, in rising order.
    """
    at, is_value = lru_cache(MOST_REMEMBERED)(position(attribute)), lru_cache(MOST_REMEMBERED)(form.is_value)

    def is_other(label: str) -> bool:
        return form.reads(label) and not (form.free and label.startswith("{") and label.endswith("}"))

    def spans(label: str) -> list[tuple[str, str]] | None:
        """Return the ranges of a label, single values among them as ranges from themselves to themselves."""
        named = spans_of(label) if attribute.measured else None
        if named is None or (None in named and not missing):
            return None
        found = [span for span in named if span is not None]
        if not all(is_value(end) for span in found for end in span) or _written(found, None in named) != label:
            return None
        if len(found) > 1 and attribute.boundary is None:
            return None
        places = [at(end) for low, high in found for end in dict.fromkeys([low, high])]
        return found if all(one < another for one, another in pairwise(places)) else None

    def items(label: str) -> Values | None:
        found = as_set(label)
        if found is None or not 1 < len(found) == len({*found}) or (attribute.measured and '"' in label):
            return None
        return found if all(missing if item is None else is_value(item) for item in found) else None

    def reads(label: str) -> bool:
        return items(label) is not None or spans(label) is not None or is_other(label)  # what takes longest comes last

    def passes(label: str) -> bool:
        if is_other(label):
            return form.passes(label)
        found = spans(label)
        if found is None:
            return form.apart(items(label) or ())
        inside = [value for value in form.marked for low, high in found if at(low) < at(value) < at(high)]
        return form.apart([*(ends_in(label) or ()), *inside])

    def holds(label: str) -> Sequence[Stretch]:
        if is_other(label):
            return form.holds(label)
        found = spans(label)
        if found is not None:
            gap = [MISSING] if None in (ends_in(label) or ()) else []
            return [*(stretch(*map(at, span), closed=True) for span in found), *gap]
        return [each for item in items(label) or () for each in ([MISSING] if item is None else form.holds(item))]

    what = "dates" if attribute.dates else "numbers"
    ranges = f"'[low, high]' of two {what} in rising order, " if attribute.measured else ""
    return replace(
        form,
        allowed=f"{form.allowed}, {ranges}'{{a, b}}' of two or more different values",
        reads=reads,
        passes=passes,
        holds=holds,
    )


def _written(spans: Sequence[tuple[str, str]], gap: bool) -> str:
    """Return ranges as a label has them, a value that is alone as itself."""
    words = [low if low == high else f"[{low}, {high}]" for low, high in spans] + ["null"] * gap
    return words[0] if len(words) == 1 else f"{{{', '.join(words)}}}"
