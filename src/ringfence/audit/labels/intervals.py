"""Labels that span a stretch of a line: intervals of numbers, parts of the calendar.

Each is read back from its text as the specification would have it written, down to the last character, and says at
which level of the hierarchy it stands and what it covers.
"""

import datetime as dt
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from ringfence.audit.labels.spelling import ROOT, as_number, spelled_number
from ringfence.errors import listed
from ringfence.spec.hierarchies import DatePart, IntervalHierarchy

End: TypeAlias = Fraction | float
"""An end of a span, exact; a float only where it is infinite."""


@dataclass(frozen=True)
class LabelSpan:
    """What a label stands for: from `low` up to, not including, `high`; and the lowest level that has such a label."""

    level: int
    low: End
    high: End

    def has(self, value: "LabelSpan") -> bool:
        """Whether a number or a day lies in this."""
        return self.low <= value.low < self.high or self.low == self.high == value.low

    def covered_by(self, marks: Iterable["LabelSpan"]) -> bool:
        """Whether spans strictly inside this one leave none of it free."""
        inside = [
            (mark.low, mark.high)
            for mark in marks
            if self.low <= mark.low < mark.high <= self.high and (mark.low, mark.high) != (self.low, self.high)
        ]
        reached = self.low
        for low, high in sorted(inside):
            if low > reached:
                return False
            reached = max(reached, high)
        return bool(inside) and reached >= self.high


class LabelSpans(Protocol):
    """A kind of label that spans a stretch."""

    @property
    def allowed(self) -> str:
        """The labels there are, in words."""

    @property
    def root(self) -> LabelSpan:
        """What `*` stands for, at the highest level."""

    def read(self, label: str) -> LabelSpan | None:
        """Return what a label stands for, or None where it is none."""

    def around(self, value: LabelSpan, level: int) -> LabelSpan:
        """Return what holds a number or a day at a level below that of the root."""

    def label(self, span: LabelSpan) -> str:
        """Return the label of what holds a number or a day above it."""

    def shown(self, end: End) -> str:
        """Return a finite end as labels spell the number, or the day, that stands there."""


@dataclass(frozen=True)
class Intervals:
    """Numbers, in intervals of nested widths counted from `start`, with one open interval below `bottom` and from
    `top`.

    >>> ages = Intervals.of(IntervalHierarchy(intervals=[5, 10], top=85))
    >>> ages.read("[80, 85)").level, ages.read(">=85").level, ages.read("[80, 90)")
    (1, 1, None)
    """

    widths: tuple[Fraction, ...]
    start: Fraction
    bottom: Fraction | None
    top: Fraction | None

    @classmethod
    def of(cls, given: IntervalHierarchy) -> "Intervals":
        """Take the exact numbers that the specification spells."""
        return cls(
            widths=tuple(Fraction(str(width)) for width in given.intervals),
            start=Fraction(str(given.start)),
            bottom=None if given.bottom is None else Fraction(str(given.bottom)),
            top=None if given.top is None else Fraction(str(given.top)),
        )

    @property
    def allowed(self) -> str:
        """The labels there are, in words."""
        tails = [repr(tail) for tail in (self._below, self._above) if tail is not None]
        widths = listed(map(shown, self.widths))
        return listed(
            ["a number", f"'[low, high)' of width {widths} counted from {shown(self.start)}", *tails, repr(ROOT)]
        )

    @property
    def root(self) -> LabelSpan:
        """What `*` stands for, at the highest level."""
        return LabelSpan(len(self.widths) + 1, -math.inf, math.inf)

    def read(self, label: str) -> LabelSpan | None:
        """Return what a label stands for, or None where it is none."""
        if label == ROOT:
            return self.root
        if self.bottom is not None and label == self._below:
            return LabelSpan(1, -math.inf, self.bottom)
        if self.top is not None and label == self._above:
            return LabelSpan(1, self.top, math.inf)
        number = as_number(label)
        if number is not None:
            return LabelSpan(0, Fraction(number), Fraction(number))
        ends = re.fullmatch(r"\[(\S+), \S+\)", label)
        first = as_number(ends[1]) if ends else None
        if first is None:
            return None
        spans = (self._interval(Fraction(first), level) for level in range(1, self.root.level))
        return next((span for span in spans if label == self.label(span)), None)

    def around(self, value: LabelSpan, level: int) -> LabelSpan:
        """Return what holds a number at a level below that of the root."""
        if level == 0:
            return value
        if self.bottom is not None and value.low < self.bottom:
            return LabelSpan(1, -math.inf, self.bottom)
        if self.top is not None and value.low >= self.top:
            return LabelSpan(1, self.top, math.inf)
        return self._interval(Fraction(value.low), level)

    def label(self, span: LabelSpan) -> str:
        """Return the label of an interval."""
        if math.inf in (-span.low, span.high):
            return (self._below if span.low == -math.inf else self._above) or ROOT
        return f"[{shown(span.low)}, {shown(span.high)})"

    def shown(self, end: End) -> str:
        """Return a finite end as a number."""
        return shown(end)

    @property
    def _below(self) -> str | None:
        return None if self.bottom is None else f"<{shown(self.bottom)}"

    @property
    def _above(self) -> str | None:
        return None if self.top is None else f">={shown(self.top)}"

    def _interval(self, value: Fraction, level: int) -> LabelSpan:
        """Return the interval of one level that holds a value, cut where the open ones begin."""
        width = self.widths[level - 1]
        low = self.start + (value - self.start) // width * width
        high = low + width
        return LabelSpan(
            level,
            low if self.bottom is None else max(low, self.bottom),
            high if self.top is None else min(high, self.top),
        )


def shown(end: End) -> str:
    """Return a finite end as labels spell it: all that come here were spelled in decimals, so this ends."""
    places = 0
    while (end * 10**places) % 1:
        places += 1
    return spelled_number(f"{int(end * 10**places)}e-{places}")


_FORMS: dict[DatePart, tuple[str, str]] = {
    "month": (r"(\d{4})-(\d\d)", "2024-03"),
    "quarter": (r"(\d{4})-Q([1-4])", "2024-Q1"),
    "year": (r"(\d{4})", "2024"),
    "decade": (r"(\d{3}0)s", "2020s"),
}
_MONTHS: dict[DatePart, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


@dataclass(frozen=True)
class Dates:
    """Days, in the parts of the calendar that the specification lists.

    >>> Dates(("quarter",)).read("2024-Q1").level, Dates(("quarter",)).read("2024-01")
    (1, None)
    """

    parts: tuple[DatePart, ...]

    @property
    def allowed(self) -> str:
        """The labels there are, by example."""
        return listed(["a day as '2024-03-31'", *(repr(_FORMS[part][1]) for part in self.parts), repr(ROOT)])

    @property
    def root(self) -> LabelSpan:
        """What `*` stands for, at the highest level."""
        return LabelSpan(len(self.parts) + 1, -math.inf, math.inf)

    def read(self, label: str) -> LabelSpan | None:
        """Return what a label stands for, in days, or None where it is none."""
        if label == ROOT:
            return self.root
        try:
            if re.fullmatch(r"\d{4}-\d\d-\d\d", label, re.ASCII):
                day = Fraction(dt.date.fromisoformat(label).toordinal())
                return LabelSpan(0, day, day + 1)
            for level, part in enumerate(self.parts, 1):
                found = re.fullmatch(_FORMS[part][0], label, re.ASCII)
                if found:
                    return LabelSpan(level, *_days(part, *map(int, found.groups())))
        except ValueError:  # the thirteenth month, the thirtieth of February
            pass
        return None

    def around(self, value: LabelSpan, level: int) -> LabelSpan:
        """Return what holds a day at a level below that of the root."""
        if level == 0:
            return value
        day, part = dt.date.fromordinal(int(value.low)), self.parts[level - 1]
        months = _MONTHS[part]
        year = day.year // 10 * 10 if part == "decade" else day.year
        return LabelSpan(level, *_days(part, year, (day.month - 1) // months + 1))

    def label(self, span: LabelSpan) -> str:
        """Return the label of a part of the calendar, which begins as its first day is written."""
        first = dt.date.fromordinal(int(span.low)).isoformat()
        match self.parts[span.level - 1]:
            case "month":
                return first[:7]
            case "quarter":
                return f"{first[:4]}-Q{int(first[5:7]) // 3 + 1}"
            case "year":
                return first[:4]
            case "decade":
                return f"{first[:3]}0s"

    def shown(self, end: End) -> str:
        """Return a finite end as the day that begins there."""
        return dt.date.fromordinal(int(end)).isoformat()


def _days(part: DatePart, year: int, within: int = 1) -> tuple[Fraction, Fraction]:
    """Return the first day of a part of the calendar and the first day after it; ValueError where there is none."""
    months = _MONTHS[part]
    month = (within - 1) * months + 1 if part in ("month", "quarter") else 1
    first = dt.date(max(year, dt.MINYEAR) if part == "decade" else year, month, 1)  # '0000s' begins with the year 1
    later_year, later_month = divmod(year * 12 + month - 1 + months, 12)
    after = (
        dt.date(later_year, later_month + 1, 1).toordinal() if later_year <= dt.MAXYEAR else dt.date.max.toordinal() + 1
    )
    return Fraction(first.toordinal()), Fraction(after)
