"""Days and moments as labels spell them: 2024-03-31, and 2024-03-31 08:15:00 with as much of a fraction as it has.

A time of day is 08:15:00. It lies before all days, so that it can be compared with others of its kind.
"""

import datetime as dt
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ringfence.spec.written import CLOCK, ISO, tells_clock

_CLOCK = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?"
_MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:[T ]{_CLOCK})?", re.ASCII)
_TIME = re.compile(rf"(){_CLOCK}", re.ASCII)


def as_moment(text: str) -> Fraction | None:
    """Return where on the line of time a text lies, in days; None where it is no moment.

    >>> as_moment("0001-01-02") - as_moment("0001-01-01"), as_moment("2024-03-31 24:00:00"), as_moment("2024")
    (Fraction(1, 1), None, None)
    >>> as_moment("18:00:00")
    Fraction(3, 4)
    """
    found = _MOMENT.fullmatch(text) or _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        day = dt.date.fromisoformat(found[1]).toordinal() if found[1] else 0
    except ValueError:  # the thirteenth month, the thirtieth of February
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.group(2, 3, 4))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    fraction = Fraction(int(found[5] or 0), 10 ** len(found[5] or ""))
    return day + (hours * 3600 + minutes * 60 + seconds + fraction) / 86_400


def spelled_moment(value: Any) -> str:
    """Return a day or a moment as labels have it: midnight as its day, no needless zeros; any other text as it is.

    >>> spelled_moment(dt.datetime(2024, 3, 31)), spelled_moment("2024-03-31T08:15:00.50"), spelled_moment("2024")
    ('2024-03-31', '2024-03-31 08:15:00.5', '2024')
    """
    text = str(value)
    found = _MOMENT.fullmatch(text) or _TIME.fullmatch(text)
    if found is None or found[2] is None or as_moment(text) is None:
        return text
    clock = f"{found[2]}:{found[3]}:{found[4] or '00'}"
    fraction = (found[5] or "").rstrip("0")
    if clock == "00:00:00" and not fraction and found[1]:
        return found[1]
    return f"{found[1]} {clock}".lstrip() + f".{fraction}" * bool(fraction)


def written_moment(text: str, formats: Sequence[str] = ()) -> str | None:
    """Return what a text of the data means, by its formats or as ISO 8601 has it, as labels spell it; None for none.

    >>> written_moment("20240331T0815"), written_moment("31.3.2024", ["%d.%m.%Y"]), written_moment("31.3.2024")
    ('2024-03-31 08:15:00', '2024-03-31', None)
    """
    for form in formats or [ISO]:
        try:
            if form == CLOCK:
                return spelled_moment(dt.time.fromisoformat(text.strip()).replace(tzinfo=None))
            found = dt.datetime.fromisoformat(text.strip()) if form == ISO else dt.datetime.strptime(text.strip(), form)
        except ValueError:
            continue
        return spelled_moment(found.time() if tells_clock(form) else found.replace(tzinfo=None))
    return None


def is_clock(text: str) -> bool:
    """Whether a text is a time of day in the one spelling that labels have for it.

    >>> is_clock("08:15:00"), is_clock("08:15"), is_clock("2024-03-31")
    (True, False, False)
    """
    return _TIME.fullmatch(text) is not None and is_moment(text)


def is_moment(text: str) -> bool:
    """Whether a text is a day or a moment in the one spelling that labels have for it.

    >>> is_moment("2024-03-31"), is_moment("2024-03-31 00:00:00")
    (True, False)
    """
    return as_moment(text) is not None and spelled_moment(text) == text
