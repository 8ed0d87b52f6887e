"""What a draft looks at: the figures of each column and of pairs of columns, counted by the engine.

Rows stay where they are. The engine counts each column's values and sums the counts up to one row of figures; the
values themselves come back only where they are few.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Longs
from ringfence.draft.looks import DAY, GREATEST_SIZE, LEAST_SIZE, LONGEST_NUMBER, LOOKS, NUMBER, TIME_OF_DAY, UNPADDED
from ringfence.draft.spellings import MOSTLY, could_be_swapped, read_days, recognize
from ringfence.rows.coded import coded, told_apart
from ringfence.rows.engine import Engine
from ringfence.rows.in_python import in_python
from ringfence.rows.sources import ROWS
from ringfence.spec.hierarchies import CodeSystem
from ringfence.spec.written import CLOCK
from ringfence.values.keys import text

Kind: TypeAlias = Literal["text", "number", "day", "clock", "truth", "other"]

MOST_READ = 50_000
"""Of columns with more values than this, the values are not read for dates and codes."""

LISTED = 100
"""Of columns with more values than this, the values are not looked at one by one."""

TAIL = 0.01
"""The share of rows at either end of a column of numbers that are called its tails."""

CONTACT = r"[^@ ]+@[^@ ]+\.[^@ .]+|(^|[^0-9])(\+[0-9]|0[0-9]|\(0?[0-9])[0-9 ()/.-]{5,}[0-9]"
"""Somewhere in a text: an e-mail address, or a telephone number."""

CODE = r"^[A-Za-z0-9]+([ -][A-Za-z0-9]+)?$"


@dataclass(frozen=True)
class Spread:
    """Numbers: the least, the greatest, and those that a hundredth of the rows lie below and above."""

    least: float
    low: float
    high: float
    greatest: float
    whole: bool


@dataclass(frozen=True)
class Profile:
    """What is known of one column.

    `alone` counts rows whose value no other row has. `values` are the distinct values as labels with their numbers of
    rows, the commonest first, where they are at most `LISTED`. `look` is what at least nine tenths of the texts look
    like. `codes` is the system that most values are codes of, and how many rows have one; `formats` are those that
    dates are written in, if not as 2024-03-31, and `swappable` whether day and month could be the other way round. The
    shares are of rows with a value: `contacts` of those in which a telephone number or an e-mail address stands among
    letters, `sentences` of five or more words, `numbers` of numbers, `amounts` of these and of numbers with a unit or
    marks. `others` are what stands among numbers that are most of a column, the commonest first. `exact` counts rows
    that are alone with an amount, `figures` those that are so with any text in which a digit stands.
    """

    name: str
    kind: Kind
    holds: str
    rows: int
    missing: int
    distinct: int
    alone: int
    commonest: int
    values: tuple[tuple[str, int], ...] = ()
    spread: Spread | None = None
    days: tuple[dt.date, dt.date] | None = None
    look: str | None = None
    codes: tuple[CodeSystem, float] | None = None
    formats: tuple[str, ...] = ()
    swappable: bool = False
    contacts: float = 0.0
    sentences: float = 0.0
    numbers: float = 0.0
    others: tuple[str, ...] = ()
    amounts: float = 0.0
    exact: int = 0
    figures: int = 0
    shortest: int = 0
    longest: int = 0
    is_code: bool = False
    zero_led: bool = False
    has_stars: bool = False
    has_brackets: bool = False
    has_root: bool = False

    @property
    def present(self) -> int:
        """How many rows have a value."""
        return self.rows - self.missing

    @property
    def unique(self) -> float:
        """The share of rows that are alone with their value."""
        return self.alone / self.rows

    @property
    def nearly_unique(self) -> bool:
        """Whether four fifths of the values that there are stand in one row only."""
        return self.present > 0 and self.alone >= 0.8 * self.present

    @property
    def is_number(self) -> bool:
        """Whether every value is a number, and not one of the codes that are written with leading zeros."""
        return self.spread is not None and not self.zero_led


@dataclass(frozen=True)
class Pair:
    """Two columns together: how many combinations there are, and the share of rows that are alone with theirs."""

    columns: tuple[str, ...]
    distinct: int
    unique: float


@contextmanager
def held(engine: Engine, rows: ibis.Table) -> Iterator[ibis.Table]:
    """Yield the rows in a table of the engine's own, or in memory with their texts coded, if they lie there: they are
    counted many times, and a text file is slow to read."""
    there = engine.in_memory(rows, rows.columns)
    if there is not None:
        yield engine.hold(coded(there))
        return
    kept = engine.keep(rows)
    try:
        yield kept
    finally:
        engine.let_go(kept)


def look_at(engine: Engine, rows: ibis.Table) -> list[Profile]:
    """Return the profile of each column. Of each, the values are counted once, and all else is asked of the counts: a
    scan of a wide table takes as long as it has columns, whatever is asked."""
    total = engine.size(rows)
    profiles = []
    for name, holds in rows.schema().items():
        with engine.aside(), _counted(engine, rows, name) as counted:
            profiles.append(_profile(engine, counted, name, holds, total))
    return profiles


@contextmanager
def _counted(engine: Engine, rows: ibis.Table, name: str) -> Iterator[ibis.Table]:
    """Yield the values of a column, each with its number of rows, but for a missing one."""
    if engine.in_memory(rows, [name]) is not None:
        counted = engine.hold(engine.count(rows, [name]).rename_columns(["value", "n"]))
        yield counted.filter(counted.value.notnull())
        return
    with held(engine, rows.group_by(value=rows[name]).aggregate(n=rows.count())) as counted:
        yield counted.filter(counted.value.notnull())


def measure_together(engine: Engine, rows: ibis.Table, names: Sequence[str]) -> tuple[Pair, list[Pair]]:
    """Return how identifying some columns are together, and each two of them, the most identifying pairs first.

    One scan counts the combinations of all; those of two columns are sums of these counts. Missing is a value like any
    other.
    """
    counted = engine.count(rows, names)
    weights = counted[ROWS].to_numpy().astype(np.int64)
    total = int(weights.sum())
    codes = {name: numbered_values(counted[name]) for name in names}
    together = Pair(tuple(names), len(weights), int((weights == 1).sum()) / total)
    pairs = [_pair((a, b), *codes[a], *codes[b], weights, total) for a, b in combinations(names, 2)]
    return together, sorted(pairs, key=lambda pair: (-pair.unique, -pair.distinct))


def numbered_values(cells: pa.ChunkedArray) -> tuple[Longs, int]:
    """Return a number for each cell of a column, and how many values there are; missing is one, and 0 and -0 are."""
    which, values = told_apart(pc.add(cells, 0) if pa.types.is_floating(cells.type) else cells)
    return which, len(values)


def _pair(
    names: tuple[str, str], first: Longs, firsts: int, second: Longs, seconds: int, weights: Longs, total: int
) -> Pair:
    """Return how identifying two columns of codes are, from the numbers of rows of longer combinations."""
    packed = first * seconds + second
    if firsts * seconds > 4 * len(packed) + 1_000_000:  # too many to count each that could occur
        packed = np.unique(packed, return_inverse=True)[1]
    sizes = np.bincount(packed, weights)
    return Pair(names, int((sizes > 0).sum()), int((sizes == 1).sum()) / total)


def _kind(holds: Any) -> Kind:
    if holds.is_string():
        return "text"
    if holds.is_boolean():
        return "truth"
    if holds.is_numeric():
        return "number"
    if holds.is_time():
        return "clock"
    return "day" if holds.is_date() or holds.is_timestamp() else "other"


def _figures(engine: Engine, rows: ibis.Table, wanted: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Return the one row of an aggregate, over a column that has this name."""
    found = engine.fetch(rows.aggregate(**wanted))
    return {figure: in_python(found[figure].combine_chunks(), name)[0] for figure in found.column_names}


def _count_values(engine: Engine, counted: ibis.Table, name: str, kind: Kind) -> dict[str, Any]:
    """Return one row of figures on the distinct values of a column."""
    value, n = counted.value, counted.n
    wanted: dict[str, Any] = {
        "present": n.sum(),
        "distinct": counted.count(),
        "alone": (n == 1).sum(),
        "commonest": n.max(),
    }
    if kind == "text":
        is_number = value.re_search(NUMBER) & (value.length() <= LONGEST_NUMBER)
        as_number = is_number.ifelse(value.strip().try_cast("float64"), None)
        as_day = value.re_search(DAY).ifelse(value.substr(0, 10).try_cast("date"), None)
        wanted |= {
            **{f"look {look}": n.sum(where=value.re_search(form)) for look, form in LOOKS.items()},
            **_number_figures(as_number),
            "numbers": n.sum(where=_countable(as_number)),
            "exact": n.sum(where=(n == 1) & value.re_search(LOOKS["amounts"])),
            "figures": n.sum(where=(n == 1) & value.re_search("[0-9]")),
            "days": n.sum(where=as_day.notnull()),
            "clocks": n.sum(where=value.re_search(TIME_OF_DAY)),
            "padded": n.sum(where=value.re_search("^[0-9]{2}:")),
            "seconds": n.sum(where=value.re_search(":.*:")),
            "first": as_day.min(),
            "last": as_day.max(),
            "shortest": value.length().min(),
            "longest": value.length().max(),
            "contacts": n.sum(where=value.re_search(CONTACT) & value.re_search("[A-Za-z]{3}")),
            "codes": n.sum(where=value.re_search(CODE)),
            "digits": n.sum(where=value.re_search("[0-9]")),
            "zero led": value.re_search("^[+-]?0[0-9]").any(),
            "stars": value.contains("*").any(),
            "brackets": value.startswith("[").any(),
            "root": (value == "*").any(),
        }
    elif kind == "number":
        as_number = value.cast("float64")
        wanted |= {**_number_figures(as_number), "numbers": n.sum(where=_countable(as_number))}
    elif kind == "day":
        wanted |= {"first": value.cast("date").min(), "last": value.cast("date").max()}
    return _figures(engine, counted, wanted, name)


def _countable(numbers: Any) -> Any:
    """Whether numbers are of a size that hierarchies can count with."""
    return (numbers == 0) | numbers.abs().between(LEAST_SIZE, GREATEST_SIZE)


def _others(counts: Mapping[str, int], kind: Kind) -> tuple[str, ...]:
    """Return what is no number that hierarchies can count with, the commonest first."""

    def counts_with(value: str) -> bool:
        is_number = kind == "number" or (len(value) <= LONGEST_NUMBER and re.search(NUMBER, value) is not None)
        return is_number and (float(value) == 0 or LEAST_SIZE <= abs(float(value)) <= GREATEST_SIZE)

    found = (value for value in counts if not counts_with(value))
    return tuple(sorted(found, key=lambda value: (-counts[value], value)))


def _number_figures(numbers: Any) -> dict[str, Any]:
    return {
        "least": numbers.min(),
        "greatest": numbers.max(),
        "fractions": (numbers % 1 != 0).any(),
    }


def _all_numbers(found: Mapping[str, Any], kind: Kind) -> bool:
    """Whether a column holds numbers only, all of a size that hierarchies can count with."""
    return kind in ("text", "number") and found["numbers"] == found["present"] and bool(found["present"])


def _tails(engine: Engine, counted: ibis.Table, present: int) -> tuple[float, float]:
    """Return the numbers below and above which the tails of a numeric column lie."""
    value = counted.value
    numbers = value.strip().try_cast("float64") if value.type().is_string() else value.cast("float64")
    counted = counted.group_by(x=numbers).aggregate(n=counted.n.sum())
    counted = counted.filter(counted.x.notnull())
    counted = counted.mutate(upto=counted.n.sum().over(ibis.cumulative_window(order_by=counted.x)))
    found = _figures(
        engine,
        counted,
        {
            "low": counted.x.min(where=counted.upto > TAIL * present),
            "high": counted.x.min(where=counted.upto >= (1 - TAIL) * present),
        },
    )
    return float(found["low"]), float(found["high"])


def _clock_rows(found: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many rows have times of day without seconds, and with them."""
    return int(found["present"] - (found["seconds"] or 0)), int(found["seconds"] or 0)


def _profile(engine: Engine, counted: ibis.Table, name: str, holds: Any, total: int) -> Profile:
    kind = _kind(holds)
    found = _count_values(engine, counted, name, kind)
    present = int(found["present"] or 0)
    tails = _tails(engine, counted, present) if _all_numbers(found, kind) else None
    distinct = int(found.get("distinct") or 0)
    is_day = kind == "day" or (kind == "text" and present > 0 and found["days"] == present)
    numbers = int(found.get("numbers") or 0) / max(1, present)
    look = next((look for look in LOOKS if int(found.get(f"look {look}") or 0) >= 0.9 * present > 0), None)
    read = MOST_READ if kind in ("text", "number") else LISTED
    counts = _as_labels(engine.fetch(counted)) if 0 < distinct <= read else {}
    formats: tuple[str, ...] = ()
    days = (found["first"], found["last"]) if is_day and present else None
    if kind == "text" and not is_day and (found_days := read_days(counts)):
        formats, days = found_days
        is_day = True
    is_clock = kind == "text" and found["clocks"] == present > 0
    if is_clock:
        ways = [form for form, rows_so in zip(UNPADDED, _clock_rows(found), strict=True) if rows_so]
        formats = (CLOCK,) if found["padded"] == present else tuple(ways)
    recognized = recognize(name, counts) if kind in ("text", "number") and not is_day else None
    return Profile(
        name=name,
        kind="day"
        if is_day
        else "clock"
        if is_clock
        else "number"
        if tails is not None
        else "text"
        if kind == "number"
        else kind,
        holds=str(holds),
        rows=total,
        missing=total - present,
        distinct=distinct,
        alone=int(found.get("alone") or 0),
        commonest=int(found.get("commonest") or 0),
        values=tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))) if distinct <= LISTED else (),
        spread=None if tails is None else _spread(found, tails),
        days=days,
        look=look,
        codes=recognized,
        formats=formats,
        swappable=any(could_be_swapped(counts, form) for form in formats),
        contacts=int(found.get("contacts") or 0) / max(1, present),
        sentences=int(found.get("look free text") or 0) / max(1, present),
        numbers=numbers,
        others=_others(counts, kind) if MOSTLY <= numbers < 1 else (),
        amounts=max(numbers, int(found.get("look amounts") or 0) / max(1, present)),
        figures=int(found.get("figures") or 0),
        exact=int((found["alone"] if kind == "number" else found.get("exact")) or 0),
        shortest=int(found.get("shortest") or 0),
        longest=int(found.get("longest") or 0),
        is_code=present > 0 and found.get("codes") == found.get("digits") == present,
        zero_led=bool(found.get("zero led")),
        has_stars=bool(found.get("stars")),
        has_brackets=bool(found.get("brackets")),
        has_root=bool(found.get("root")),
    )


def _spread(found: Mapping[str, Any], tails: tuple[float, float]) -> Spread:
    return Spread(found["least"], *tails, found["greatest"], whole=not found["fractions"])


def value_counts(engine: Engine, rows: ibis.Table, name: str) -> dict[str, int]:
    """Return the values of a column as labels, with their numbers of rows."""
    return _as_labels(engine.count(rows, [name]))


def _as_labels(counted: pa.Table) -> dict[str, int]:
    """Return counted values as the labels that hierarchies have, with their numbers of rows."""
    counts: dict[str, int] = {}
    for value, count in zip(*(column.to_pylist() for column in counted.columns), strict=True):
        if value is not None:
            counts[text(value)] = counts.get(text(value), 0) + int(count)
    return counts
