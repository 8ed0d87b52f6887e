"""What a published label says by itself, whoever wrote it: a value, an interval, a set, a masked code, or nothing.

Tools spell intervals in many ways. These are read: `[20, 30)`, `[20,30[`, `(20, 30]`, `(60, Inf]`, `20-29`, `20–29`,
`20 to 29`, `20..29`, `>=60`, `≥60`, `>59`, `60+`, `60 and over`, `<20`, `<=19`, `≤19`, `under 20`. Two numbers with a
dash or dots between them are both included. Sets are `{a, b}` or `{a,b}`. A masked code has `*` in the place of
characters; `*` alone, in any number, is everything.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from ringfence.audit.labels.intervals import Intervals
from ringfence.audit.labels.moments import spelled_moment, written_moment
from ringfence.audit.labels.spelling import as_number, as_range, as_set, plain, spelled_number
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import DateHierarchy, FileHierarchy, IntervalHierarchy, PathsHierarchy, TreeHierarchy

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
_LOW, _HIGH = rf"(?:{_NUMBER}|-(?:inf|∞))", rf"(?:{_NUMBER}|\+?(?:inf|∞))"
_BRACKETS = re.compile(rf"([\[\](])\s*{_LOW}\s*[,;]\s*{_HIGH}\s*([\])\[])", re.ASCII | re.IGNORECASE)
_BETWEEN = re.compile(rf"{_NUMBER}\s*(?:-|–|—|\.\.\.?|to)\s*{_NUMBER}", re.ASCII)
_MORE = r"(?:and|or) (?:over|older|above|more)"
_ABOVE = re.compile(rf"(>=|≥|>|over|above)\s*{_NUMBER}|{_NUMBER}\s*(?:\+|{_MORE})", re.ASCII | re.IGNORECASE)
_BELOW = re.compile(rf"(<=|≤|up to|<|under|below)\s*{_NUMBER}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Everything:
    """A label that stands for any value."""

    def holds(self, value: str) -> bool:  # noqa: ARG002
        """Whether a value may stand behind this."""
        return True


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`, None where it is open to that side; each end belongs to it or not."""

    low: Decimal | None
    high: Decimal | None
    with_low: bool = True
    with_high: bool = True

    @property
    def spelled(self) -> str:
        """The interval as labels have it."""
        low, high = (None if end is None else spelled_number(str(end)) for end in (self.low, self.high))
        if low is None or high is None:
            signs = ("<=" if self.with_high else "<") if low is None else (">=" if self.with_low else ">")
            return f"{signs}{low or high}"
        return f"{'[' if self.with_low else '('}{low}, {high}{']' if self.with_high else ')'}"

    @property
    def as_open_above(self) -> "Interval":
        """The same whole numbers, from the first on up to, not including, the one after the last."""
        low = self.low if self.low is None or self.with_low else self.low + 1
        high = self.high if self.high is None or not self.with_high else self.high + 1
        whole = all(end is None or end == end.to_integral_value() for end in (self.low, self.high))
        return Interval(low, high, with_high=False) if whole else self

    def holds(self, value: str) -> bool:
        """Whether a value may stand behind this."""
        number = as_number(value)
        if number is None:
            return False
        above = self.low is None or number > self.low or (self.with_low and number == self.low)
        return above and (self.high is None or number < self.high or (self.with_high and number == self.high))


@dataclass(frozen=True)
class Masked:
    """A code of which some characters are hidden."""

    shown: str

    def holds(self, value: str) -> bool:
        """Whether a value may stand behind this: as long, and the same where characters are shown."""
        return len(value) == len(self.shown) and all(
            mask in ("*", there) for mask, there in zip(self.shown, value, strict=True)
        )


@dataclass(frozen=True)
class AnyOf:
    """Some values, None for a missing one."""

    values: frozenset[str | None]

    def holds(self, value: str) -> bool:
        """Whether a value may stand behind this."""
        return value in self.values


Reading: TypeAlias = Everything | Interval | Masked | AnyOf


def read_label(label: str, spell: Callable[[str], str] = str) -> Reading:
    """Return what a label says by itself; a text of no other form is a single value, spelled as `spell` does.

    >>> read_label("[20, 30)").holds("30"), read_label("20-30").holds("30"), read_label("≥60").holds("60")
    (False, True, True)
    >>> read_label("479**").holds("47906"), read_label('{a, "b, c"}').holds("b, c"), read_label("a").holds("b")
    (True, True, False)
    """
    text = label.strip()
    if text and not text.strip("*"):
        return Everything()
    interval = read_interval(text) if not text.startswith("{") else None
    if interval is not None:
        return interval
    items = read_set(text)
    if items is not None:
        return AnyOf(frozenset(None if item is None else spell(item) for item in items))
    return Masked(text) if "*" in text else AnyOf(frozenset([spell(label)]))


def read_set(text: str) -> tuple[str | None, ...] | None:
    """Return the values of a set, or None; also of one that is written without blanks or quotes.

    >>> read_set("{a,b c}"), read_set('{"", "b, c"}'), read_set("{}"), read_set("{a,}"), read_set("a")
    (('a', 'b c'), ('', 'b, c'), None, None, None)
    """
    items = as_set(text)
    if items is None and re.fullmatch(r'\{[^{}"]+\}', text):
        parts = tuple(part.strip() for part in text[1:-1].split(","))
        return parts if all(parts) else None
    return items


def read_interval(text: str) -> Interval | None:
    """Return the interval that a text spells, or None. One whose ends fall is none.

    >>> read_interval("-5--1"), read_interval("30-20")
    (Interval(low=Decimal('-5'), high=Decimal('-1'), with_low=True, with_high=True), None)
    """
    found = _BRACKETS.fullmatch(text)
    if found:
        low, high = (None if end is None else Decimal(end) for end in (found[2], found[3]))
        interval = Interval(low, high, low is None or found[1] == "[", high is None or found[4] == "]")
        if low is None and high is None:
            return None
    elif found := _BETWEEN.fullmatch(text):
        interval = Interval(Decimal(found[1]), Decimal(found[2]))
    elif found := _ABOVE.fullmatch(text):
        interval = Interval(Decimal(found[2] or found[3]), None, with_low=found[1] in (">=", "≥", None))
    elif found := _BELOW.fullmatch(text):
        interval = Interval(None, Decimal(found[2]), with_high=found[1].lower() in ("<=", "≤", "up to"))
    else:
        return None
    rises = interval.low is None or interval.high is None or interval.low <= interval.high
    return interval if rises else None


def speller(attribute: Attribute, *, ranges: bool = False) -> Callable[[Any], str]:
    """Return how the values and labels of an attribute are spelled, so that equal ones look alike.

    Numbers have one spelling, and so have intervals, unless the specification states its labels itself. Where there may
    be `ranges`, `[20, 29]` is one of them, not another spelling of the interval `[20, 30)`: its ends are values.
    """
    if not attribute.numeric:
        return spelled_moment if attribute.dates else plain
    if isinstance(attribute.hierarchy, FileHierarchy | PathsHierarchy | TreeHierarchy):
        return lambda value: spelled_number(plain(value))
    kind = Intervals.of(attribute.hierarchy) if isinstance(attribute.hierarchy, IntervalHierarchy) else None

    def spell(value: Any) -> str:
        text = spelled_number(plain(value))
        return text if ranges and as_range(text) is not None else _spelled_interval(text, kind)

    return spell


def one_spelling(name: str, spec: Spec) -> Callable[[str], str]:
    """Return how values that are published as they are, are compared: numbers by value, and days by what they are.

    Where a hierarchy of dates is over moments, they are days: at what time is not published.
    """
    attribute = spec.attributes.get(name)
    if attribute is None or not isinstance(attribute.hierarchy, DateHierarchy):
        return spelled_number
    return lambda text: (written_moment(text) or text)[: len("2024-03-31")]


def _spelled_interval(text: str, kind: Intervals | None) -> str:
    """Return an interval as labels have it; where there is a hierarchy of intervals, only if it is one of those.

    Those are open above. One that includes its end is one of whole numbers, and ends before the next.

    >>> _spelled_interval("20–29", None), _spelled_interval("60+", None), _spelled_interval("]1;2]", None)
    ('[20, 29]', '>=60', '(1, 2]')
    >>> tens = Intervals.of(IntervalHierarchy(intervals=[10]))
    >>> _spelled_interval("20-29", tens), _spelled_interval("[20,30[", tens), _spelled_interval("20-28", tens)
    ('[20, 30)', '[20, 30)', '20-28')
    """
    interval = read_interval(text)
    if interval is None:
        return text
    if kind is None:
        return interval.spelled
    for each in (interval, interval.as_open_above):
        if kind.read(each.spelled) is not None:
            return each.spelled
    return text
