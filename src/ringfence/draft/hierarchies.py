"""Which hierarchy fits the values of a quasi-identifier: intervals, masks, dates, groups of rare values.

Each column gets a *ladder*: the hierarchy that keeps most choices first, then simpler ones, the last of them flat. The
search for a release tries combinations of levels, so columns climb down their ladders until those are few enough.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from itertools import takewhile
from math import prod
from typing import Any, TypeAlias

from ringfence.draft.profile import Profile, Spread
from ringfence.draft.words import Nature
from ringfence.spec.tables import EXACT, DatePart

MOST_NODES = 50_000
"""So many combinations of levels are searched in seconds."""

MOST_QUASI = MOST_NODES.bit_length() - 1
"""With more quasi-identifiers than this, even flat hierarchies have more combinations."""

COMMON = 0.05
"""Values that fewer rows have than this share of them are put together."""

RARE = 0.2
"""Of these, those that are rarer than this share of the commonest are put together first, where there are many."""

MANY_VALUES = 12
LONGEST_CODE = 10

Tree: TypeAlias = Mapping[str, "Tree | Sequence[str]"]


@dataclass(frozen=True)
class Fit:
    """A hierarchy as a specification states it (a table of its keys, or "flat"), in words, and its height."""

    hierarchy: Mapping[str, Any]
    words: str
    height: int
    order: str | Sequence[str] | None = None
    advice: str = ""


FLAT = Fit({}, "as it is or hidden", 1)
ITEM_GROUPS = Fit(
    {"fanout": 5, "by": "support"},
    "groups of 5 items that are about as common, and so on",
    1,
    advice="Better give a tree of items that mean alike: a file, or nested tables",
)


def ladder(column: Profile, nature: Nature) -> list[Fit]:
    """Return hierarchies for a column of some nature, the richest first, the last of them flat."""
    if column.distinct <= 2 and column.kind != "day":
        return [FLAT]
    if column.days is not None:
        return [*_dates(column), FLAT]
    if column.look == "dates" and not column.has_stars:
        advice = "Written as 2024-03-31, dates could become months and years"
        return [Fit({"mask": "left"}, "characters hidden from the left", column.longest, advice=advice), FLAT]
    if _length(column) and (nature == "postcode" or (nature == "category" and _is_code(column))):
        mask = Fit({"mask": "right"}, "characters hidden from the right", _length(column))
        return [mask, *_fanouts(column), FLAT]
    if column.spread is not None and column.is_number and nature != "category":
        flat = Fit({}, FLAT.words, 1, order="numeric")
        return [*_intervals(column.spread, nature), flat]
    return [*(_bands(column) or _groups(column)), FLAT]


def within_reach(ladders: Sequence[Sequence[Fit]], distinct: Sequence[int]) -> list[Fit]:
    """Return one hierarchy from each ladder, so that there are at most `MOST_NODES` combinations of levels.

    Trees lose a level first, then the tallest of the other hierarchies. Only when none has a level to spare are some
    given up, those of the columns with the fewest values first. `distinct` are their numbers of values.
    """
    steps = [0] * len(ladders)

    def fits() -> list[Fit]:
        return [rungs[step] for rungs, step in zip(ladders, steps, strict=True)]

    def urgency(at: int) -> tuple[bool, bool, int, int, int]:
        now, then = ladders[at][steps[at]], ladders[at][steps[at] + 1]
        stays = {*now.hierarchy} == {*then.hierarchy}
        return stays, stays and "tree" in now.hierarchy, now.height if stays else 0, -distinct[at], at

    while prod(fit.height + 1 for fit in fits()) > MOST_NODES:
        movable = [at for at, step in enumerate(steps) if step + 1 < len(ladders[at])]
        if not movable:
            break
        steps[max(movable, key=urgency)] += 1
    return fits()


# Numbers


def _intervals(spread: Spread, nature: Nature) -> list[Fit]:
    """Return intervals of three, two and one width, with rare numbers at either end put together."""
    least, low, high, greatest = (Decimal(str(x)) for x in (spread.least, spread.low, spread.high, spread.greatest))
    span = high - low or greatest - least
    is_age = nature == "age" and least >= 0 and greatest <= 130
    in_years = is_age or (nature == "year" and span > 20)
    chain = [Decimal(width) for width in (5, 10, 20)] if in_years else nice_widths(span, whole=spread.whole)
    widths = list(takewhile(lambda width: width < span + spread.whole, chain))
    if not widths:
        return []
    start = least if spread.whole and span <= 10 else Decimal(0)
    ends: dict[str, Any] = {} if start == 0 else {"from": _number(start)}
    bottom, top = (
        start + (((end - start) / widths[0]).to_integral_value(ROUND_FLOOR) + steps) * widths[0]
        for end, steps in ((low, 0), (high, 1))
    )
    words = ""
    if least < bottom - widths[0]:
        ends["bottom"] = _number(bottom)
        words += f", under {_number(bottom)}"
    if greatest >= top + widths[0]:
        ends["top"] = _number(top)
        words += f", {_number(top)} and over"
    return [
        Fit(
            {"intervals": [_number(width) for width in widths[:count]], **ends},
            f"intervals of {_in_words([str(_number(width)) for width in widths[:count]])}{words}",
            count + 1,
        )
        for count in range(len(widths), 0, -1)
    ]


def nice_widths(span: Decimal, *, whole: bool) -> list[Decimal]:
    """Return three widths, each a multiple of the one before, the first about a twentieth of a span.

    >>> [[f"{width:f}" for width in nice_widths(Decimal(span), whole=False)] for span in ("100", "0.7", "43")]
    [['5', '10', '20'], ['0.05', '0.1', '0.2'], ['2', '10', '20']]
    """
    target = span / 20
    scale = Decimal(1).scaleb(target.adjusted())
    first = min((scale * digit for digit in (1, 2, 5, 10)), key=lambda width: max(width / target, target / width))
    if whole:
        first = max(first, Decimal(2))
    factors = {1: (1, 5, 10), 2: (1, 5, 10), 5: (1, 2, 4)}[int(first.scaleb(-first.adjusted()))]
    return [(first * factor).normalize(EXACT) for factor in factors]


def _number(value: Decimal) -> int | float:
    """Return a number as TOML writes it."""
    return int(value) if value == int(value) and abs(value) < 10**18 else float(value)


def _in_words(items: Sequence[str]) -> str:
    """Return a list in words.

    >>> _in_words(["5", "10", "20"])
    '5, 10 and 20'
    """
    return " and ".join(part for part in (", ".join(items[:-1]), items[-1]) if part)


# Days and codes


def _dates(column: Profile) -> list[Fit]:
    """Return parts of the calendar by the time that the days span."""
    first, last = column.days or (None, None)
    if first is None or last is None:
        return []
    years = (last - first).days / 365.25
    parts: list[DatePart] = ["month"] if years < 0.25 else ["month", "quarter"]
    if years >= 1.5:
        parts = ["month", "quarter", "year"]
    if years >= 15:
        parts = ["month", "year", "decade"]
    ladders = [parts, parts[1:], parts[2:]]
    return [Fit({"dates": some}, f"{_in_words(some)}", len(some) + 1) for some in ladders if some]


def _is_code(column: Profile) -> bool:
    """Whether texts are codes of one length, and too many to group one by one."""
    size = column.longest
    return column.is_code and column.distinct > 30 and size == column.shortest and 3 <= size <= 8


def _length(column: Profile) -> int:
    """Return how long the codes of a column are at most, 0 where they cannot be masked."""
    if column.kind == "text" or column.longest:
        length = 0 if column.has_stars else column.longest
    else:
        spread = column.spread
        length = len(str(int(spread.greatest))) if spread and spread.whole and spread.least >= 0 else 0
    return length if 2 <= length <= LONGEST_CODE else 0


# Categories


def _fanouts(column: Profile) -> list[Fit]:
    """Return groups of neighbours in the order of the values."""
    if column.has_brackets or column.has_stars:  # a value that looks like a group could not be told from one
        return []
    size = 5 if column.distinct <= 500 else 10
    height, covered = 1, size
    while covered < column.distinct:
        height, covered = height + 1, covered * size
    if height == 1:
        return []
    order = "numeric" if column.is_number else "lexical"
    return [Fit({"fanout": size}, f"groups of {size} neighbours in {order} order", height, order)]


def _bands(column: Profile) -> list[Fit]:
    """Return groups of neighbouring bands where all values are such, as `20-29` or `85+`."""
    starts = {value: _band_start(value) for value, _ in column.values}
    single = sum(value.isdigit() for value in starts)
    if len(starts) < 4 or single > len(starts) // 2 or None in starts.values() or column.has_brackets:
        return []
    bands = sorted(starts, key=lambda value: (starts[value] or 0.0, value))
    size = 2 if len(bands) <= 8 else 3
    height, covered = 1, size
    while covered < len(bands):
        height, covered = height + 1, covered * size
    return [Fit({"fanout": size}, f"{size} neighbouring bands together, and so on", height, tuple(bands))]


def _band_start(value: str) -> float | None:
    """Return where a band begins, or None for a text that is none.

    >>> [_band_start(band) for band in ("20-29", "85+", "<=30k", "under 18", "a-b")]
    [20.0, 85.0, -inf, -inf, None]
    """
    unit = r"\d{1,9}(?:\.\d{1,9})? ?(?:[kKmM€$£%]|years?|Jahre)?"
    if re.fullmatch(rf"(?:<=?|under|below|unter|bis) ?{unit}", value):
        return float("-inf")
    found = re.fullmatch(
        rf"(?:(?:>=?|over|above|über|ab) ?)?({unit})(?: ?(?:-|–|to|bis|\.\.) ?{unit}| ?\+| and over| and older)?", value
    )
    digits = re.match(r"[\d.]+", found[1]) if found else None
    return float(digits[0]) + (value[0] == ">") / 2 if digits else None  # ">90k" after "60k-90k" and "90k"


def _groups(column: Profile) -> list[Fit]:
    """Return trees that put rare values together: first the rarest, then all but the common ones.

    Where no value is common there is nothing to put together by, and neighbours in the alphabet are grouped.
    """
    if not column.values:
        return _fanouts(column)
    common = [value for value, count in column.values if count >= COMMON * column.present]
    others = column.values[len(common) :]
    if not common:
        return _fanouts(column) if len(column.values) > 20 else []
    if len(others) < 2:
        return []
    middle = [value for value, count in others if count >= RARE * others[0][1]]
    rare = [value for value, count in others if count < RARE * others[0][1]]
    other_label, rare_label = _free_labels({value for value, _ in column.values})
    own: dict[str, Tree | Sequence[str]] = {value: [value] for value in common}
    advice = "Better put values together that mean alike"
    simple = Fit(
        {"tree": {**own, other_label: sorted([*middle, *rare])}},
        f"{len(others)} rare values together as {other_label!r}",
        2,
        advice=advice,
    )
    if len(column.values) <= MANY_VALUES or len(rare) < 2:
        return [simple]
    below = {**{value: [value] for value in middle}, rare_label: sorted(rare)}
    nested = Fit(
        {"tree": {**own, other_label: below}},
        f"{len(rare)} values together as {rare_label!r}, then {len(others)} as {other_label!r}",
        3,
        advice=advice,
    )
    return [nested, simple]


def _free_labels(values: set[str]) -> tuple[str, str]:
    """Return labels for groups that no value has."""
    free = [
        next(label for label in (word, *(f"{word} {n}" for n in range(2, len(values) + 3))) if label not in values)
        for word in ("Other", "Rare")
    ]
    return free[0], free[1]


__all__ = ["FLAT", "ITEM_GROUPS", "MOST_NODES", "MOST_QUASI", "Fit", "Tree", "ladder", "nice_widths", "within_reach"]
