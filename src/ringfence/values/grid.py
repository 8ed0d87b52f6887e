"""Grids: points on the line of numbers, or of time, at which loose ranges end. The specification states them."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from math import gcd, lcm

from ringfence.errors import SpecError
from ringfence.spec.checking import EXACT
from ringfence.spec.hierarchies import DateHierarchy, DatePart, IntervalHierarchy, exact

Key = Decimal | dt.date
MONTHS: dict[DatePart, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


@dataclass(frozen=True)
class Grid:
    """The points of a grid: every so many numbers from `start` on, or where every part of the calendar begins."""

    width: Decimal | DatePart
    start: Decimal = Decimal(0)

    @classmethod
    def of(cls, given: IntervalHierarchy | DateHierarchy) -> "Grid":
        """Return the grid of the narrowest intervals, or of the shortest parts of the calendar."""
        if isinstance(given, DateHierarchy):
            return cls(given.dates[0])
        return cls(exact(given.intervals[0]), exact(given.start))

    def below(self, key: Key) -> Key:
        """Return the last point that is not above a number or a moment.

        >>> Grid(Decimal(5)).below(Decimal(24)), Grid("year").below(dt.date(2024, 5, 17))
        (Decimal('20'), datetime.date(2024, 1, 1))
        """
        return self._number(key, ROUND_FLOOR) if isinstance(key, Decimal) else _begin(key, self._months, 0)

    def above(self, key: Key) -> Key:
        """Return the first point that is not below a number or a moment.

        >>> Grid(Decimal(5)).above(Decimal(25)), Grid("month").above(dt.date(2024, 12, 17))
        (Decimal('25'), datetime.date(2025, 1, 1))
        """
        if isinstance(key, Decimal):
            return self._number(key, ROUND_CEILING)
        before = _begin(key, self._months, 0)
        return before if _moment(before) == _moment(key) else _begin(key, self._months, 1)

    def refuse_too_fine(self, name: str, keys: Sequence[Key | dt.time | None]) -> None:
        """Refuse a grid whose ranges would tell values: of numbers in steps of one, [20, 21] is 20 and 21.

        With points at least two steps apart, either end of a range may be a value or not.
        """
        numbers = [Fraction(key) for key in keys if isinstance(key, Decimal)]
        if len(numbers) > 1 and isinstance(self.width, Decimal):
            scale = lcm(*(number.denominator for number in numbers))
            step = Fraction(gcd(*(int((number - numbers[0]) * scale) for number in numbers)), scale)
            if self.width < 2 * step:
                raise SpecError(
                    f"attributes.{name} is to have loose labels on a grid of {self.width}, but its values are in steps"
                    f" of {float(step):g}, and ranges would tell them; the first width must be twice that or more"
                )

    @property
    def _months(self) -> int:
        assert not isinstance(self.width, Decimal), "the grid of dates is of parts of the calendar"
        return MONTHS[self.width]

    def _number(self, key: Decimal, rounding: str) -> Decimal:
        assert isinstance(self.width, Decimal)
        steps = EXACT.divide(EXACT.subtract(key, self.start), self.width).to_integral_value(rounding)
        return EXACT.add(self.start, EXACT.multiply(steps, self.width))


def _begin(day: dt.date, months: int, later: int) -> dt.date:
    """Return the day on which a part of so many months begins, this one or a later one."""
    count = ((day.year * 12 + day.month - 1) // months + later) * months
    year = min(max(count // 12, dt.MINYEAR), dt.MAXYEAR)
    return dt.date(year, count % 12 + 1, 1)


def _moment(day: dt.date) -> dt.datetime:
    return day if isinstance(day, dt.datetime) else dt.datetime.combine(day, dt.time())
