"""How dates, times and numbers are written in a source, as a specification tells it."""

import re
from typing import Any

from pydantic_core import PydanticCustomError

from ringfence.errors import listed
from ringfence.spec.checking import are_labels

ISO = "iso"
"""How dates are written that need no other format: 2024-03-31, with or without a time of day."""
CLOCK = "clock"
"""How times of day are written that need no other format: 08:15, or 08:15:00."""
_DIRECTIVE = re.compile(r"%(.?)")
_DATE_LETTERS = "YymbBdjHIpMSfz%"
"""What may stand behind a % in a format of dates, as Python's strptime reads it."""
FORMATS = (
    "'iso' for 2024-03-31, with or without a time of day, 'clock' for a time of day alone, as 08:15 or 08:15:00, a"
    " format such as '%d.%m.%Y' or '%H.%M', or a list, each once"
)


def tells_clock(form: str) -> bool:
    """Whether a format is of times of day, and of no day."""
    used = {*_DIRECTIVE.findall(form)} - {"%"}
    return form == CLOCK or (("H" in used or {"I", "p"} <= used) and used <= {*"HIpMSf"})


def check_formats(value: Any) -> Any:
    """Refuse a format of dates that does not say which day it is, and letters that mean nothing."""
    if value is not None and not isinstance(value, str) and not are_labels(value):
        raise PydanticCustomError("allowed", "allowed: {allowed}", {"allowed": FORMATS})
    for each in [value] if isinstance(value, str) else value or ():
        used = _DIRECTIVE.findall(each)
        strange = [f"%{letter}" for letter in used if not letter or letter not in _DATE_LETTERS]
        if strange:
            known = listed(f"%{letter}" for letter in _DATE_LETTERS)
            raise PydanticCustomError(
                "format",
                "{strange} means nothing in a format of dates; allowed: {known}",
                {"strange": listed(strange), "known": known},
            )
        tells_day = "j" in used or ("d" in used and {*used} & {*"mbB"})
        if each != ISO and not tells_clock(each) and not ({*used} & {*"Yy"} and tells_day):
            raise PydanticCustomError(
                "format",
                "{each} names neither year, month and day nor a time of day; allowed: {allowed}",
                {"each": repr(each), "allowed": FORMATS},
            )
    if isinstance(value, list) and len({*map(tells_clock, value)}) > 1:
        raise PydanticCustomError(
            "format", "{value} are formats of days and of times of day; a column holds either", {"value": repr(value)}
        )
    return value


BETWEEN_THOUSANDS = (".", ",", "'", "’", " ", "\u00a0", "\u202f")
"""What may stand between the thousands of numbers in text."""
