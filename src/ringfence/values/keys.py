"""Values as an attribute compares them: numbers, days, moments, times, else text; and how each is spelled as a leaf."""

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from ringfence.errors import listed, nearest
from ringfence.rows.moments import read_moment, spelled_moment
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import DateHierarchy
from ringfence.spec.written import CLOCK

OnLine: TypeAlias = Decimal | dt.date | dt.time
"""What lies on a line: numbers, days, moments and times of day."""
Key: TypeAlias = OnLine | str
"""A value in the form in which the attribute compares it: a number, a day or a moment, else text."""
MOST_DIGITS = 60
"""Numbers beyond are taken for something else; within, all arithmetic here is exact."""
SHOWN = 10
"""How many offending values an error lists."""


def text(value: Any) -> str:
    r"""Return a value as text files have it: a label looks the same whether its column is generalized or not.

    Whole floats have no fraction, since missing values turn integers into floats, as far as floats hold these. Times
    have no needless zeros, bytes that are no letters are written in hexadecimals, and a duration is told in hours,
    minutes and seconds.

    >>> text(3.0), text(dt.time(12, 30, 0, 500_000)), text(b"a\xff"), text(pa.MonthDayNano([0, 0, 5 * 10**9]))
    ('3', '12:30:00.5', 'a\\xFF', '00:00:05')
    """
    shown = str(value)
    match value:
        case bool():
            shown = shown.lower()
        case float() if value.is_integer() and abs(value) < 2**53:
            shown = str(int(value))
        case bytes():
            shown = "".join(chr(c) if 32 <= c < 127 and chr(c) not in "'\"\\" else f"\\x{c:02X}" for c in value)
        case pa.MonthDayNano() if value[0] == value[1] == 0:
            shown = _duration(value[2])
        case dt.datetime() | dt.time():
            clock, dot, fraction = shown.partition(".")
            shown = clock + (dot + fraction).rstrip("0").rstrip(".")
    return shown


def _duration(nanoseconds: int) -> str:
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    fraction = f".{rest:09}".rstrip("0").rstrip(".")
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{'-' * (nanoseconds < 0)}{clock}{fraction}"


def label(key: Key) -> str:
    """Return the leaf label of a key: a number without exponent or trailing zeros, a day as 2024-03-31.

    >>> label(dt.datetime(2024, 3, 31)), label(dt.datetime(2024, 3, 31, 8, 15))
    ('2024-03-31', '2024-03-31 08:15:00')
    """
    if isinstance(key, Decimal):
        digits = format(key, "f")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return "0" if digits in ("", "-", "-0") else digits
    return spelled_moment(key) if isinstance(key, dt.date | dt.time) else key


def number(value: Any) -> Decimal:
    """Return a value as an exact number; ValueError where it is none.

    >>> number("07.50")
    Decimal('7.50')
    """
    digits = value.strip() if isinstance(value, str) else text(value)
    result = decimal_of(digits)
    if abs(result.adjusted()) > MOST_DIGITS or len(digits) > MOST_DIGITS:
        raise ValueError(value)
    return result


def decimal_of(digits: str) -> Decimal:
    """Return the number that a text spells, however large or small; ValueError where it spells none."""
    result = Decimal(digits.strip())
    if not result.is_finite() or "_" in digits or not digits.isascii():
        raise ValueError(digits)
    return result


def _day(value: Any) -> dt.date:
    return _moment(value).date()


def _moment(value: Any) -> dt.datetime:
    """Return a day or a moment as clocks show it, a day as its midnight; ValueError where it is none."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    found = read_moment(value) if isinstance(value, str) else None
    if not isinstance(found, dt.datetime):
        raise ValueError(value)
    return found


def _clock(value: Any) -> dt.time:
    """Return a time of day; ValueError where it is none."""
    found = read_moment(value, [CLOCK]) if isinstance(value, str) else value
    if not isinstance(found, dt.time):
        raise ValueError(value)
    return found.replace(tzinfo=None)


def key_function(attribute: Attribute) -> Callable[[Any], Key]:
    """Return how values are compared: dates by moments, or by days where that is all their hierarchy knows."""
    if attribute.numeric:
        return number
    if not attribute.dates:
        return text
    if attribute.clocks:
        return _clock
    return _day if isinstance(attribute.hierarchy, DateHierarchy) else _moment


def tally(counts: Mapping[str, int], known: Sequence[str] = ()) -> str:
    """Say which values stand in how many rows, up to ten, the commonest first, each with the nearest known value."""
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = []
    for value, count in common[:SHOWN]:
        near = nearest(value, known)
        hint = "" if near is None else f", nearest is {near!r}"
        shown.append(f"{value!r} ({count} row{'s' * (count != 1)}{hint})")
    rest = f" and {len(common) - SHOWN} more values" if len(common) > SHOWN else ""
    return listed(shown) + rest


def quoted(word: str) -> str:
    """Return a value as it stands inside a range or a set: in quotes where it would be misread without.

    >>> quoted("a"), quoted("a, b")
    ('a', '"a, b"')
    """
    plain = word == word.strip() and word != "" and not set(word) & set(',"[]{}()\\\n\r\t')
    return word if plain else json.dumps(word, ensure_ascii=False)
