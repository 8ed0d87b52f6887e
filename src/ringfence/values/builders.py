"""Hierarchies as specifications describe them: files, nested tables, intervals, masks, dates, fan-out, flat.

`read_domain` takes the distinct values of a column and returns the attribute's hierarchy and the leaf of each value.
Values first become *leaf labels*: numbers in one spelling ("7", "7.0" and "07" are one number), dates as ISO days, all
else as its text. The builders see labels only.
"""

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed, nearest
from ringfence.rows.moments import read_moment, spelled_moment
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute, BoundaryLevel
from ringfence.spec.checking import EXACT
from ringfence.spec.hierarchies import (
    CodeHierarchy,
    CodeSystem,
    DateHierarchy,
    DatePart,
    FanoutHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    PathsHierarchy,
    TreeHierarchy,
    exact,
)
from ringfence.spec.written import CLOCK, ISO
from ringfence.values.codes import SYSTEMS, looks_like_group
from ringfence.values.faults import is_heading, number_hint
from ringfence.values.hierarchy import MISSING, ROOT, Hierarchy

OnLine: TypeAlias = Decimal | dt.date | dt.time
"""What lies on a line: numbers, days, moments and times of day."""
Key: TypeAlias = OnLine | str
"""A value in the form in which the attribute compares it: a number, a day or a moment, else text."""

MOST_DIGITS = 60
"""Numbers beyond are taken for something else; within, all arithmetic here is exact."""

MASKED = "*"
"""What stands in the place of a masked character."""

SHOWN = 10
"""How many offending values an error lists."""


@dataclass(frozen=True)
class Domain:
    """The values of one attribute as they occur in the data, and the hierarchy above them.

    `leaves[i]` is the leaf of the i-th distinct value that was passed in; `keys[leaf]` is the number, day or moment
    that a leaf stands for, None for text, for a missing value and for leaves that only the hierarchy knows.
    `ranks[leaf]` is the leaf's place in the attribute's order; leaves that do not occur come after those that do, and a
    missing value last.
    """

    hierarchy: Hierarchy
    leaves: npt.NDArray[np.int32]
    keys: tuple[OnLine | None, ...]
    ranks: npt.NDArray[np.int32]


def read_domain(
    name: str, spec: Spec, values: Sequence[Any], counts: Sequence[int], known: Hierarchy | None = None
) -> Domain:
    """Return the domain of attribute `name` for these distinct values (None for missing) and their numbers of rows.

    The hierarchy is the one that the specification states, unless one that is already `known` is to be kept. Values
    that it does not cover are a DataError that lists up to ten of them with their counts.
    """
    attribute = spec.attributes[name]
    keys = read_keys(name, spec, values, counts)
    support: dict[Key, int] = {}
    for key, count in zip(keys, counts, strict=True):
        if key is not None:
            support[key] = support.get(key, 0) + count
    hierarchy = known or _build(name, spec, support, None in keys)
    index = hierarchy.leaf_index
    unknown = uncovered(keys, counts, hierarchy)
    if unknown:
        leaves_known = [leaf for leaf in index if leaf is not None]
        raise DataError(
            f"column {name!r} has values that its hierarchy does not cover: {_tally(unknown, leaves_known)};"
            f" add them to attributes.{name}.hierarchy or mend the data"
        )
    typed: list[OnLine | None] = [None] * hierarchy.leaves
    for key in support:
        if not isinstance(key, str):
            typed[index[label(key)]] = key
    leaves = np.array([index[None if key is None else label(key)] for key in keys], np.int32)
    ranks = np.full(hierarchy.leaves, hierarchy.leaves - 1, np.int32)
    occurring = [index[label(key)] for key in _ordered(name, attribute, support)]
    absent = sorted(set(range(hierarchy.leaves - hierarchy.has_missing)) - set(occurring))
    ranks[[*occurring, *absent]] = np.arange(len(occurring) + len(absent))
    return Domain(hierarchy, leaves, tuple(typed), ranks)


def uncovered(keys: Sequence[Key | None], counts: Sequence[int], hierarchy: Hierarchy) -> dict[str, int]:
    """Return the labels that a hierarchy does not have, with their numbers of rows; a missing value as MISSING."""
    found: dict[str, int] = {}
    for key, count in zip(keys, counts, strict=True):
        name = None if key is None else label(key)
        if name not in hierarchy.leaf_index:
            found[name or MISSING] = found.get(name or MISSING, 0) + count
    return found


def read_keys(name: str, spec: Spec, values: Sequence[Any], counts: Sequence[int]) -> list[Key | None]:
    """Return values in the form in which their attribute compares them; those that have none are a DataError."""
    attribute = spec.attributes[name]
    key_of = _key_function(attribute)
    keys: list[Key | None] = []
    unreadable: dict[str, int] = {}
    for value, count in zip(values, counts, strict=True):
        try:
            keys.append(None if value is None or value != value else key_of(value))  # noqa: PLR0124  NaN is missing
        except (ValueError, InvalidOperation):
            unreadable[text(value)] = unreadable.get(text(value), 0) + count
            keys.append(None)
    if unreadable:
        dates = "times of day (as 08:15:00)" if attribute.clocks else "dates (as 2024-03-31)"
        kind = dates if attribute.dates else "numbers"
        hint = number_hint(unreadable) if attribute.numeric else ""
        if not attribute.dates and any(map(read_moment, unreadable)):
            hint = f"; where these are dates, say so: attributes.{name}.format = {ISO!r}"
        raise DataError(f"column {name!r} should hold {kind}, but has {_tally(unreadable)}{hint}")
    return keys


def stated_hierarchy(name: str, spec: Spec) -> Hierarchy | None:
    """Return the attribute's hierarchy where the specification alone determines it (files, paths, trees), else None."""
    if isinstance(spec.attributes[name].hierarchy, FileHierarchy | PathsHierarchy | TreeHierarchy):
        return _build(name, spec, {}, missing=False)
    return None


def self_contained(spec: Spec) -> Spec:
    """Return the specification with the rows of hierarchy files in the place of their names."""
    attributes = dict(spec.attributes)
    for name, attribute in spec.attributes.items():
        given = attribute.hierarchy
        if isinstance(given, FileHierarchy):
            rows = _file_paths(spec.locate(given.file), given, f"attributes.{name}.hierarchy")
            paths = PathsHierarchy(paths=[list(row) for row in rows])
            attributes[name] = attribute.model_copy(update={"hierarchy": paths})
    return spec.model_copy(update={"attributes": attributes})


def _build(name: str, spec: Spec, support: Mapping[Key, int], missing: bool) -> Hierarchy:
    """Build the hierarchy of an attribute over the keys that occur, and mark its boundary."""
    attribute, where = spec.attributes[name], f"attributes.{name}.hierarchy"
    keys = _ordered(name, attribute, support)
    match attribute.hierarchy:
        case FileHierarchy() as given:
            paths = _file_paths(spec.locate(given.file), given, where)
            if support and paths[0][0] not in map(label, support) and is_heading(paths[0], paths[1:], name):
                raise SpecError(
                    f"{where}.file: row 1 of {given.file!r} seems to name its columns ({listed(map(repr, paths[0]))}),"
                    " and would become a leaf: every row should be leaf, parent, ..., root; take that row out"
                )
            hierarchy = Hierarchy.from_paths(_sorted_paths(paths, attribute, where), missing=missing, where=where)
        case PathsHierarchy(paths=rows):
            paths = _sorted_paths([tuple(row) for row in rows], attribute, where)
            hierarchy = Hierarchy.from_paths(paths, missing=missing, where=where)
        case TreeHierarchy(tree=tree):
            paths = _tree_paths(tree, (ROOT,), where)
            hierarchy = Hierarchy.from_paths(_sorted_paths(paths, attribute, where), missing=missing, where=where)
        case IntervalHierarchy() as given:
            paths = [_interval_path(key, given) for key in keys if isinstance(key, Decimal)]
            hierarchy = _from_data(name, paths, missing)
        case MaskHierarchy(mask=side):
            starred = {label(key): support[key] for key in keys if MASKED in label(key)}
            if starred:
                raise DataError(
                    f"column {name!r} has codes with {MASKED!r}, which stands for a masked character: {_tally(starred)}"
                )
            hierarchy = _from_data(name, [_mask_path(label(key), side == "right") for key in keys], missing)
        case DateHierarchy(dates=parts):
            paths = [_date_path(key, parts) for key in keys if isinstance(key, dt.date)]
            hierarchy = _from_data(name, paths, missing)
        case FanoutHierarchy(fanout=fanout, by=by):
            # Blanks and commas often stand between items, so labels of groups of items do without.
            between = ".." if attribute.role == "items" else ", "
            keys = sorted(keys, key=lambda key: -support[key]) if by == "support" else keys
            _refuse_bracketed(name, {label(key): support[key] for key in keys}, attribute)
            paths = _fanout_paths([label(key) for key in keys], fanout, between)
            hierarchy = _from_data(name, paths, missing)
        case CodeHierarchy(codes=system):
            paths = _code_paths(name, {label(key): support[key] for key in keys}, system)
            hierarchy = _from_data(name, paths, missing)
        case _:  # flat, or none: the values under one root
            hierarchy = _from_data(name, [(label(key), ROOT) for key in keys], missing)
    boundary = attribute.boundary
    if boundary is None:
        return hierarchy
    marks = boundary.level if isinstance(boundary, BoundaryLevel) else boundary
    return hierarchy.with_boundary(marks, f"attributes.{name}.boundary")


def _refuse_bracketed(name: str, support: Mapping[str, int], attribute: Attribute) -> None:
    """Refuse values that nobody could tell from groups of a fan-out, unless their order lists them."""
    known = attribute.order if isinstance(attribute.order, list) else []
    odd = {
        value: rows for value, rows in support.items() if re.fullmatch(r"\[.*\]", value, re.S) and value not in known
    }
    if odd and attribute.role != "items":
        raise DataError(
            f"column {name!r} has values in square brackets, which stand for groups of a fan-out: {_tally(odd)}"
        )


def _from_data(name: str, paths: Sequence[Sequence[str]], missing: bool) -> Hierarchy:
    """Build a hierarchy over the values of a column; one without any (all missing) has the missing leaf alone."""
    if not paths and not missing:
        raise DataError(f"column {name!r} has no values")
    if not paths:
        return Hierarchy.from_tree({}, missing=missing, where=f"column {name!r}")
    try:
        return Hierarchy.from_paths(paths, missing=missing, where=f"the hierarchy over column {name!r}")
    except SpecError as error:  # the data brought the clash: a value that looks like a label of the hierarchy
        raise DataError(str(error)) from None


# Values, keys and labels


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
    result = _decimal(digits)
    if abs(result.adjusted()) > MOST_DIGITS or len(digits) > MOST_DIGITS:
        raise ValueError(value)
    return result


def _decimal(digits: str) -> Decimal:
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


def _key_function(attribute: Attribute) -> Callable[[Any], Key]:
    """Return how values are compared: dates by moments, or by days where that is all their hierarchy knows."""
    if attribute.numeric:
        return number
    if not attribute.dates:
        return text
    if attribute.clocks:
        return _clock
    return _day if isinstance(attribute.hierarchy, DateHierarchy) else _moment


def _ordered(name: str, attribute: Attribute, support: Mapping[Key, int]) -> list[Key]:
    """Return keys in the attribute's order: as listed, by number, by day, or by text; numbers by value if all are."""
    keys = list(support)
    if isinstance(attribute.order, list):
        rank = {word: position for position, word in enumerate(attribute.order)}
        strange = {label(key): support[key] for key in support if label(key) not in rank}
        if strange:
            found = _tally(strange, attribute.order)
            raise DataError(f"column {name!r} has values that attributes.{name}.order does not list: {found}")
        return sorted(keys, key=lambda key: rank[label(key)])
    if attribute.order is None and all(isinstance(key, str) for key in keys):
        try:
            return sorted(keys, key=lambda key: (_decimal(str(key)), str(key)))
        except (ValueError, InvalidOperation):
            pass
    return sorted(keys)


def _sorted_paths(paths: list[tuple[str, ...]], attribute: Attribute, where: str) -> list[tuple[str, ...]]:
    """Put the leaves of a stated tree into the attribute's order where it has one, else leave them as they stand."""
    if isinstance(attribute.order, list):
        rank = {word: position for position, word in enumerate(attribute.order)}
        return sorted(paths, key=lambda path: rank.get(path[0], len(rank)))
    if attribute.numeric:
        numbered = []
        for leaf, *up in paths:
            try:
                numbered.append((number(leaf), tuple(up)))
            except (ValueError, InvalidOperation):
                raise SpecError(
                    f"{where} has the leaf {leaf!r}, which is not a number, but order = 'numeric'"
                ) from None
        return [(label(leaf), *up) for leaf, up in sorted(numbered, key=lambda path: path[0])]
    if attribute.dates:
        dated = ((read_moment(leaf, attribute.formats or [ISO]), leaf, up) for leaf, *up in paths)
        paths = [(leaf if moment is None else label(moment), *up) for moment, leaf, up in dated]
    return sorted(paths) if attribute.order == "lexical" else paths


def _tally(counts: Mapping[str, int], known: Sequence[str] = ()) -> str:
    """Say which values stand in how many rows, up to ten, the commonest first, each with the nearest known value."""
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = []
    for value, count in common[:SHOWN]:
        near = nearest(value, known)
        hint = "" if near is None else f", nearest is {near!r}"
        shown.append(f"{value!r} ({count} row{'s' * (count != 1)}{hint})")
    rest = f" and {len(common) - SHOWN} more values" if len(common) > SHOWN else ""
    return listed(shown) + rest


# Paths from leaf to root, by kind of hierarchy


def _file_paths(path: Path, given: FileHierarchy, where: str) -> list[tuple[str, ...]]:
    """Read one path a row: leaf, parent, ..., root. Empty fields are left out, so short rows make an unbalanced
    tree."""
    try:
        with path.open(encoding=given.encoding, newline="") as file:
            content = file.read().removeprefix("\ufeff")
    except FileNotFoundError:
        raise SpecError(f"{where}.file: there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise SpecError(f"{where}.file: {str(path)!r} is a folder; it should be a file with one row a leaf") from None
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise SpecError(f"{where}.file: cannot read {str(path)!r} as {given.encoding}: {error}") from None
    delimiter = given.delimiter or _guess_delimiter(content)
    paths = []
    try:
        for row_number, row in enumerate(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter), 1):
            cells = [cell for cell in row if cell != ""]
            if row and row[0] == "" and cells:
                raise SpecError(f"{where}.file: row {row_number} of {str(path)!r} has no leaf in its first field")
            if cells:
                paths.append(tuple(cells))
    except csv.Error as error:
        raise SpecError(f"{where}.file: cannot read {str(path)!r}: {error}") from None
    if not paths:
        raise SpecError(f"{where}.file: {str(path)!r} is empty; it needs one row a leaf: leaf, parent, ..., root")
    return list(dict.fromkeys(paths))  # a row that stands there twice says the same twice


def _guess_delimiter(content: str) -> str:
    """Return the delimiter that the file uses most; `;` where it uses none, since a lone leaf needs none."""
    return max(";,\t|", key=content.count)


def _tree_paths(tree: object, above: tuple[str, ...], where: str) -> list[tuple[str, ...]]:
    """Walk nested tables: a key is a group, a list holds leaves or further tables."""
    if isinstance(tree, str):
        return [(tree, *above)]
    if isinstance(tree, Mapping) and tree:
        return [path for key, below in tree.items() for path in _tree_paths(below, (str(key), *above), where)]
    if isinstance(tree, list) and tree:
        return [path for below in tree for path in _tree_paths(below, above, where)]
    raise SpecError(f"{where}.tree: {tree!r} under {above[0]!r} is not allowed; allowed: a label, a list or a table")


def _interval_path(key: Decimal, given: IntervalHierarchy) -> tuple[str, ...]:
    """Return number, interval, wider interval, ..., root. Intervals hold their lower end, and not their upper."""
    widths, start = [exact(width) for width in given.intervals], exact(given.start)
    bottom = None if given.bottom is None else exact(given.bottom)
    top = None if given.top is None else exact(given.top)
    path = [label(key)]
    for width in widths:
        if bottom is not None and key < bottom:
            path.append(f"<{label(bottom)}")
        elif top is not None and key >= top:
            path.append(f">={label(top)}")
        else:
            steps = EXACT.divide_int(EXACT.subtract(key, start), width)
            low = EXACT.fma(steps, width, start)
            low = EXACT.subtract(low, width) if low > key else low  # integer division rounds towards zero
            high = EXACT.add(low, width)
            low = low if bottom is None else max(low, bottom)
            high = high if top is None else min(high, top)
            path.append(f"[{label(low)}, {label(high)})")
    return (*path, ROOT)


def _mask_path(code: str, right: bool) -> tuple[str, ...]:
    """Return code, then the code with one more character masked each time, then the root.

    >>> _mask_path("479", right=True)
    ('479', '47*', '4**', '*')
    """
    size = len(code)
    masked = [code[: size - n] + "*" * n if right else "*" * n + code[n:] for n in range(1, size)]
    return (code, *masked, ROOT)


DATE_PARTS: dict[DatePart, Callable[[dt.date], str]] = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
}


def _date_path(day: dt.date, parts: Sequence[DatePart]) -> tuple[str, ...]:
    return (label(day), *(DATE_PARTS[part](day) for part in parts), ROOT)


def _code_paths(name: str, counts: Mapping[str, int], system: CodeSystem) -> list[tuple[str, ...]]:
    """Return paths through the groups of a system of codes; what is no code of it is directly under the root."""
    given = SYSTEMS[system]
    above = {value: given.above(value) for value in counts}
    if above and not any(above.values()):
        raise DataError(
            f"column {name!r} has no {given.words} codes such as {given.example!r}, but {_tally(counts)}; see"
            f" attributes.{name}.hierarchy, codes = {system!r}"
        )
    groups = {value: count for value, count in counts.items() if looks_like_group(value, system)}
    if groups:
        raise DataError(
            f"column {name!r} has values that look like groups of {given.words} codes, and could not be told from"
            f" these: {_tally(groups)}; rename them, or put them into data.missing_values"
        )
    return [(value, *(labels or ()), ROOT) for value, labels in above.items()]


def _fanout_paths(leaves: Sequence[str], fanout: int, between: str = ", ") -> list[tuple[str, ...]]:
    """Return paths through consecutive groups of `fanout`, groups of groups, ... up to one root.

    A group is called by its first and its last leaf.

    >>> _fanout_paths(["a", "b", "c"], 2)
    [('a', '[a, b]', '*'), ('b', '[a, b]', '*'), ('c', 'c', '*')]
    """
    paths: list[tuple[str, ...]] = [(leaf,) for leaf in leaves]
    size = fanout
    while size < len(leaves):
        for start in range(0, len(leaves), size):
            group = leaves[start : start + size]
            name = group[0] if len(group) == 1 else f"[{quoted(group[0])}{between}{quoted(group[-1])}]"
            for position in range(start, start + len(group)):
                paths[position] = (*paths[position], name)
        size *= fanout
    return [(*path, ROOT) for path in paths]


def quoted(word: str) -> str:
    """Return a value as it stands inside a range or a set: in quotes where it would be misread without.

    >>> quoted("a"), quoted("a, b")
    ('a', '"a, b"')
    """
    plain = word == word.strip() and word != "" and not set(word) & set(',"[]{}()\\\n\r\t')
    return word if plain else json.dumps(word, ensure_ascii=False)
