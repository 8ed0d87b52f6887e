"""How published values are spelled, so that equal ones look alike: numbers, days, ranges, sets, else plain text."""

import datetime as dt
import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

ROOT = "*"
"""The label that stands for anything."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_ITEM = r'"(?:[^"\\\x00-\x1f]|\\.)*"|[^,"\[\]{}()\\\n\r\t]+'
_UNQUOTED = re.compile(r'[^"\[\]{}()\\\n\r\t]+')
_ITEMS = re.compile(rf"(?:{_ITEM})(?:, (?:{_ITEM}))*")
_NEXT_ITEM = re.compile(rf"(?:^|, )({_ITEM})")
_SPAN = rf"\[(?:{_ITEM}), (?:{_ITEM})\]"
_SPANS = re.compile(rf"{{(?:{_SPAN}|{_ITEM})(?:, (?:{_SPAN}|{_ITEM}))*}}")
_NEXT_SPAN = re.compile(rf"(?:^|, )({_SPAN}|{_ITEM})")


_CLOCK = re.compile(r"(\d\d:\d\d:\d\d)(?:(\.\d*[1-9])0*|\.0+)?$", re.ASCII)


def plain(value: Any) -> str:
    r"""Return a value as a text file would show it.

    Whole floats have no fraction, truth is in lower case, times have no needless zeros, and bytes and durations are as
    databases write them.

    >>> plain(True), plain(2.0), plain(dt.datetime(2024, 1, 1, 8, 0, 0, 250_000)), plain(b"a'")
    ('true', '2', '2024-01-01 08:00:00.25', 'a\\x27')
    """
    if type(value) is str:
        return value
    shown = str(value)
    if isinstance(value, bool):
        shown = shown.lower()
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        shown = str(int(value))
    elif isinstance(value, bytes):
        shown = re.sub(r"[^ -~]|['\"\\]", lambda found: f"\\x{ord(found[0]):02X}", value.decode("latin-1"))
    elif isinstance(value, dt.datetime | dt.time):
        shown = _CLOCK.sub(lambda found: found[1] + (found[2] or ""), shown)
    elif type(value).__name__ == "MonthDayNano" and not any(value[:2]):  # an engine's duration
        shown = _told(value[2])
    return shown


def _told(nanoseconds: int) -> str:
    """Return a duration in hours, minutes and seconds."""
    whole, rest = divmod(Decimal(abs(nanoseconds)).scaleb(-9), 60)
    hours, minutes = divmod(int(whole), 60)
    seconds = f"{rest:012.9f}".rstrip("0").rstrip(".")
    return f"{'-' * (nanoseconds < 0)}{hours:02d}:{minutes:02d}:{seconds}"


def as_number(text: str) -> Decimal | None:
    """Return the number that a text spells, or None.

    >>> as_number("07.50"), as_number("[0, 5)")
    (Decimal('7.50'), None)
    """
    return Decimal(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


def is_number(text: str) -> bool:
    """Whether a text is a number in the one spelling that labels have for it.

    >>> is_number("7.5"), is_number("07.5")
    (True, False)
    """
    return as_number(text) is not None and spelled_number(text) == text


def spelled_number(text: str) -> str:
    """Return a number without exponent, needless zeros or the sign of a zero, and any other text as it is.

    >>> [spelled_number(text) for text in ("7", "07.0", "-0", "1e2", "[0, 5)")]
    ['7', '7', '0', '100', '[0, 5)']
    """
    number = as_number(text)
    if number is None:
        return text
    digits = f"{number:f}"
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits if number else "0"


def as_range(label: str) -> tuple[str, str] | None:
    """Return the two ends of a range, read out of their quotes, or None.

    >>> as_range('[a, "b, c"]'), as_range("[a b]")
    (('a', 'b, c'), None)
    """
    ends = [text for text, _ in _items(label, "[", "]")]
    return (ends[0], ends[1]) if len(ends) == 2 else None


def spans_of(label: str) -> tuple[tuple[str, str] | None, ...] | None:
    """Return what a range, or a set with ranges in it, names: two ends each, of a value itself, None if it is missing.

    None if no range is named.

    >>> spans_of("[1, 5]"), spans_of("{1, 5}")
    ((('1', '5'),), None)
    >>> spans_of("{[1, 5], 7, null}")
    (('1', '5'), ('7', '7'), None)
    """
    alone = as_range(label)
    if alone is not None:
        return (alone,)
    named = _NEXT_SPAN.findall(label[1:-1]) if "[" in label and _SPANS.fullmatch(label) else []
    if not any(part.startswith("[") for part in named):
        return None
    spans: list[tuple[str, str] | None] = []
    for part in named:
        ends, values = as_range(part), as_set(f"{{{part}}}")
        if ends is None and values is None:
            return None
        spans += [ends] if values is None else [None if value is None else (value, value) for value in values]
    return tuple(spans)


def ends_in(label: str) -> tuple[str | None, ...] | None:
    """Return the different ends of all ranges that a label names, None for a missing value; None if it names none.

    >>> ends_in("{[1, 5], 7, null}"), ends_in("7")
    (('1', '5', '7', None), None)
    """
    spans = spans_of(label)
    if spans is None:
        return None
    return tuple(dict.fromkeys(end for span in spans for end in ((None,) if span is None else span)))


def written(value: str) -> str:
    """Return a value as it stands in a range or a set: as it is if it reads back as itself, else in quotes.

    >>> written("a"), written("a, b"), written("")
    ('a', '"a, b"', '""')
    """
    return value if as_range(f"[{value}, {value}]") == (value, value) else json.dumps(value, ensure_ascii=False)


@lru_cache(1 << 17)
def as_set(label: str) -> tuple[str | None, ...] | None:
    """Return the values of a set, read out of their quotes, or None. A missing one is written null, and None here.

    >>> as_set('{a, "b, c", null, "null"}'), as_set("{a,b}")
    (('a', 'b, c', None, 'null'), None)
    """
    items = _items(label, "{", "}")
    return tuple(None if (text, quoted) == ("null", False) else text for text, quoted in items) or None


def _items(label: str, opening: str, closing: str) -> tuple[tuple[str, bool], ...]:
    """Return what stands between brackets, each item with whether it was in quotes; none where it is damaged."""
    return _listed(label[1:-1]) if label[:1] == opening and label[-1:] == closing and len(label) > 1 else ()


def _listed(inside: str) -> tuple[tuple[str, bool], ...]:
    if _UNQUOTED.fullmatch(inside):
        parts = inside.split(", ")
        return tuple((part, False) for part in parts) if all(map(_is_item, parts)) else ()
    if not _ITEMS.fullmatch(inside):
        return ()
    items = _NEXT_ITEM.findall(inside)
    if any(item != item.strip() for item in items):
        return ()
    try:
        return tuple((json.loads(item), True) if item.startswith('"') else (item, False) for item in items)
    except ValueError:  # an escape that JSON does not know
        return ()


def _is_item(text: str) -> bool:
    """Whether a text that stands in no quotes is an item of a list."""
    return bool(text) and "," not in text and text == text.strip()
