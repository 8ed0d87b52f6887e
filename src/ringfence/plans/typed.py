"""Typed releases: what labels say, in types that can be computed with.

A set becomes a list of its values, a range its two ends. All of it is read from the published labels and from the roles
and orders of the specification: nothing is told that the labels do not tell.
"""

import calendar
import datetime as dt
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis
import pyarrow as pa

from ringfence.errors import SpecError
from ringfence.rows.engine import Engine
from ringfence.rows.sources import LABEL
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute

LOW, HIGH = "low", "high"

_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^,"\[\]{}()\\]+')
_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,9})?)?", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,9})?", re.ASCII)
_PART = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)|-Q(?P<quarter>[1-4])|(?<=0)(?P<decade>s))?", re.ASCII)

Value = Decimal | dt.datetime | dt.time | str
"""A number, a moment (a day as its midnight), or text."""


def typed_rows(engine: Engine, rows: ibis.Table, spec: Spec) -> ibis.Table | None:
    """Return released rows with sets of values as lists and ranges as two columns, such as `age low` and `age high`.

    None where no label of a quasi-identifier is either.
    """
    text = [name for name in spec.of_role("quasi") if name in rows.columns and rows[name].type().is_string()]
    labels = {name: engine.fetch(rows.select(name).distinct())[name].to_pylist() for name in text}
    columns = typed_columns(labels, spec.attributes)
    _refuse_taken(list(rows.columns), columns)
    return engine.typed(rows, columns) if columns else None


def typed_columns(
    labels: Mapping[str, Sequence[str | None]], attributes: Mapping[str, Attribute]
) -> Mapping[str, pa.Table]:
    """Return for each column with sets or ranges among its labels a table of these and what they say.

    Lists under the column's name: a value alone is a list of one, a missing one too; what does not list its values has
    none. Ends: of a range as it has them, also where one is not itself covered; of a value, twice itself; of a set of
    numbers or days, the least and the greatest. A label that says neither, such as `*`, has nothing. Values are numbers
    where the attribute is numeric, days or moments where it is of dates, else text. Of a month, quarter, year or decade
    the ends are its first and its last day. Of ranges that stand in a set, with each other or with a missing value, the
    ends are the first and the last.

    >>> age = Attribute(role="quasi", order="numeric")
    >>> table = typed_columns({"age": ["[30, 34]", "{36, 39}", "41"]}, {"age": age})
    >>> [[*row.values()][1:] for row in table["age"].to_pylist()]
    [[None, 30, 34], [[36, 39], 36, 39], [[41], 41, 41]]
    >>> born = Attribute(role="quasi", hierarchy={"dates": ["year"]})
    >>> table = typed_columns({"born": ["[1940-12-24, 1958-03-25]", "1940"]}, {"born": born})["born"]
    >>> [str(day) for day in table.to_pylist()[1].values()]
    ['1940', '1940-01-01', '1940-12-31']
    """
    return {
        name: table for name, words in labels.items() if (table := _typed(name, words, attributes[name])) is not None
    }


@dataclass(frozen=True)
class _Reading:
    """What a label says: the values that it lists, if it does, and its ends, if it has any."""

    values: tuple[Value | None, ...] | None = None
    low: Value | None = None
    high: Value | None = None
    kind: str = ""


def _typed(name: str, labels: Sequence[str | None], attribute: Attribute) -> pa.Table | None:
    """Return labels beside what they say, in as many columns as that takes; None where all are values as they are."""
    value = _value_of(attribute)
    read = [_read(label, value) for label in labels]
    kinds = {each.kind for each in read}
    if not kinds & {"set", "range"}:
        return None
    said = [item for each in read for item in (*(each.values or ()), each.low, each.high) if item is not None]
    kind, convert = _type_of(said)
    columns = {LABEL: pa.array(labels, pa.string())}
    if "set" in kinds:
        lists = [None if each.values is None else [*map(convert, each.values)] for each in read]
        columns[name] = pa.array(lists, pa.list_(kind))
    if "range" in kinds:
        columns[f"{name} {LOW}"] = pa.array([convert(each.low) for each in read], kind)
        columns[f"{name} {HIGH}"] = pa.array([convert(each.high) for each in read], kind)
    return pa.table(columns)


def _read(label: str | None, value: Callable[[str], Value | None]) -> _Reading:
    if label is None:
        return _Reading((None,))
    members = _items(label, "{", "}")
    if members is not None:
        values = tuple(None if item is None else value(item) for item in members)
        least: list[Any] = [each for each in values if isinstance(each, Decimal | dt.datetime | dt.time)]
        if len(least) < len(values):
            return _Reading(values, kind="set")
        return _Reading(values, min(least), max(least), "set")
    ends = _outer_ends(label, value) or _ends(label, value)
    if ends is not None:
        return _Reading(None, *ends, "range")
    part = _calendar_part(label) if value is _moment else None
    if part is not None:
        return _Reading(None, *part, "part")
    alone = None if label == "*" else value(label)
    return _Reading() if alone is None else _Reading((alone,), alone, alone)


def _outer_ends(label: str, value: Callable[[str], Value | None]) -> tuple[Value | None, Value | None] | None:
    """Return the first and the last end of what stands in a set with ranges in it; None where it is none."""
    if not (label.startswith("{") and label.endswith("}") and "[" in label):
        return None
    inside = re.sub(r"\[([^\[\]\"]*)\]", r"\1", label[1:-1].removesuffix(", null"))
    ends = [None if item is None else value(item) for item in _items(f"{{{inside}}}", "{", "}") or [None]]
    return None if None in ends else (ends[0], ends[-1])


def _ends(label: str, value: Callable[[str], Value | None]) -> tuple[Value | None, Value | None] | None:
    """Return the ends of a range, None where it is open to that side; None where it is no range."""
    ends = _items(label, "[", "]") or _items(label, "[", ")") or []
    if len(ends) == 2 and None not in ends:
        return value(ends[0] or ""), value(ends[1] or "")
    if value is _number and label.startswith(("<", ">=")):  # bottom and top coding
        end = value(label.lstrip("<>="))
        return (None, end) if label[0] == "<" else (end, None)
    return None


def _items(label: str, opening: str, closing: str) -> list[str | None] | None:
    """Return what stands between brackets, read out of its quotes, None for null; None where it is no such label.

    >>> _items('{a, "b, c", null, "null"}', "{", "}"), _items("{a,b}", "{", "}")
    (['a', 'b, c', None, 'null'], None)
    """
    inside, place = label[1:-1], 0
    if label != f"{opening}{inside}{closing}":
        return None
    items: list[str | None] = []
    while (found := _ITEM.match(inside, place)) is not None:
        word, place = found[0], found.end()
        try:
            items.append(json.loads(word) if word.startswith('"') else None if word == "null" else word)
        except ValueError:  # an escape that JSON does not know
            return None
        if place == len(inside):
            return items
        if not inside.startswith(", ", place):
            return None
        place += len(", ")
    return None


def _value_of(attribute: Attribute) -> Callable[[str], Value | None]:
    if attribute.numeric:
        return _number
    if attribute.clocks:
        return _clock
    return _moment if attribute.dates else str


def _number(word: str) -> Decimal | None:
    return Decimal(word) if _NUMBER.fullmatch(word) else None


def _moment(word: str) -> dt.datetime | None:
    return dt.datetime.fromisoformat(word) if _MOMENT.fullmatch(word) else None


def _clock(word: str) -> dt.time | None:
    return dt.time.fromisoformat(word) if _TIME.fullmatch(word) else None


def _calendar_part(word: str) -> tuple[dt.datetime, dt.datetime] | None:
    """Return the first and the last day of a month, a quarter, a year or a decade; None where it is no such part.

    >>> [str(day.date()) for day in _calendar_part("2024-Q1")], _calendar_part("2024-01-01")
    (['2024-01-01', '2024-03-31'], None)
    """
    found = _PART.fullmatch(word)
    if found is None:
        return None
    year, month, quarter, decade = found["year"], found["month"], found["quarter"], found["decade"]
    first = int(month or 0) or 3 * int(quarter or 0) - 2 if month or quarter else 1
    months = 1 if month else 3 if quarter else 120 if decade else 12
    begin = int(year) * 12 + first - 1
    if not (begin >= 12 and begin + months <= 10_000 * 12) or not 1 <= first <= 12:
        return None
    later_year, later = divmod(begin + months - 1, 12)
    last = calendar.monthrange(later_year, later + 1)[1]
    return dt.datetime(int(year), first, 1), dt.datetime(later_year, later + 1, last)


def _type_of(values: Sequence[Value]) -> tuple[pa.DataType, Callable[[Any], Any]]:
    """Return the type that holds all these values as they are, and how they are brought into it.

    Numbers with more digits than a type holds stay text.
    """
    if values and isinstance(values[0], dt.datetime):
        whole = all(isinstance(value, dt.datetime) and value.time() == dt.time() for value in values)
        return pa.date32() if whole else pa.timestamp("us"), lambda value: value
    if values and isinstance(values[0], dt.time):
        return pa.time64("us"), lambda value: value
    if not values or not isinstance(values[0], Decimal):
        return pa.string(), lambda value: value
    numbers = [value for value in values if isinstance(value, Decimal)]
    if all(number == int(number) and abs(number) < 2**63 for number in numbers):
        return pa.int64(), lambda value: None if value is None else int(value)
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return pa.float64(), lambda value: None if value is None else float(value)
    return pa.string(), lambda value: None if value is None else f"{value:f}"


def _refuse_taken(columns: Sequence[str], typed: Mapping[str, pa.Table]) -> None:
    """Refuse a release whose columns already have the names that typed ones would get; the engine ignores case."""
    taken = {name.casefold() for name in columns}
    for name, table in typed.items():
        for new in table.column_names[1:]:
            if new != name and new.casefold() in taken:
                raise SpecError(f"an end of {name!r} would be published as {new!r}, but there is such a column already")
