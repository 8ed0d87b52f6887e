"""Which hierarchy fits the values of a column: intervals, masks, dates, codes, neighbours in an order.

Each has as many levels as its values give: a release is as coarse as it must be, and where there is a step between a
value and `*`, fewer values end as `*`. Words that tell no order and no groups have none: a tree that was made up would
put together what has nothing in common, and call that little or much detail lost.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import takewhile
from typing import Any

from ringfence.draft.page import share, shown
from ringfence.draft.profile import LISTED, Profile, Spread
from ringfence.draft.scales import scale_of
from ringfence.draft.spellings import MOSTLY
from ringfence.draft.words import Nature
from ringfence.spec.checking import EXACT
from ringfence.spec.hierarchies import DatePart
from ringfence.values.codes import SYSTEMS

LONGEST_CODE = 10
SHOWN_OTHERS = 4

MOST_ASIDE = 2
"""So many values beside bands may be words, such as `prefer not to say`."""

_WHOLE = r"(\d{1,9})(?: ?(?:years?|Jahre|ans|años|anni|jaar))?"
OPEN_ENDS = (
    (
        rf"{_WHOLE} ?(?:\+|plus|(?:and|or) (?:over|older|more|above|up)|(?:und|oder) (?:älter|mehr)|et plus|y más)",
        True,
        0,
    ),
    (rf"(?:>=|≥|ab|from|at least|mindestens) ?{_WHOLE}", True, 0),
    (rf"(?:>|over|above|older than|more than|über|mehr als|älter als) ?{_WHOLE}", True, 1),
    (rf"(?:<=|≤|bis|up to|at most|höchstens) ?{_WHOLE}", False, 0),
    (rf"(?:<|under|below|younger than|less than|unter|weniger als|jünger als) ?{_WHOLE}", False, -1),
)
"""How people write all from some number on, or all up to one, which the number with a step stands for as well."""


@dataclass(frozen=True)
class Fit:
    """A hierarchy as a specification states it (a table of its keys, or none for "flat"), and in words.

    `formats` are those that dates are written in, and `order` is that of the values, where these have to be told.
    Values that are `listed` are numbers that stand for something else: a range of them would say nothing.
    """

    hierarchy: Mapping[str, Any]
    words: str
    order: str | Sequence[str] | None = None
    formats: Sequence[str] = ()
    advice: str = ""
    listed: bool = False


FLAT = Fit({}, "as it is or hidden")
WORDS = replace(FLAT, advice="Give it a tree, and values that mean alike are put together rather than hidden")
ITEM_GROUPS = Fit(
    {"fanout": 5, "by": "support"},
    "groups of 5 items that are about as common, and so on",
    advice="Better give a tree of items that mean alike: a file, or nested tables",
)


def fit(column: Profile, nature: Nature, order: Sequence[str] = ()) -> Fit:
    """Return the hierarchy for a column of some nature; `order` is that of its values, where another column told it."""
    found = _fit(column, nature, order)
    bare = not found.hierarchy and found.order is None and not found.formats
    return replace(found, listed=True) if bare and column.is_number else found


def _fit(column: Profile, nature: Nature, order: Sequence[str]) -> Fit:  # noqa: PLR0911  one a kind of values
    if column.kind == "clock":
        return Fit({}, "from one time of day to another", formats=column.formats)
    if column.distinct <= 2 and column.kind != "day":
        return FLAT
    if column.days is not None:
        return _dates(column)
    if order and not column.has_brackets:
        return _neighbours(order, "in their order")
    if scale := scale_of([value for value, _ in column.values]):
        return _neighbours(scale, "on their scale")
    if column.look == "dates" and not column.has_stars:
        advice = "Its dates are not read: a year of two digits, or more than one way to write them"
        return Fit({"mask": "left"}, "characters hidden from the left", advice=advice)
    if column.codes is not None and not column.has_stars:
        return _codes(column)
    if _length(column) and (nature == "postcode" or (nature == "category" and _is_code(column))):
        return Fit({"mask": "right"}, "characters hidden from the right")
    if column.spread is not None and column.is_number and nature != "category":
        return _intervals(column.spread, nature) or replace(FLAT, order="numeric")
    return _bands(column) or (_fanout(column) if column.distinct > LISTED else WORDS)


# Numbers


def _intervals(spread: Spread, nature: Nature) -> Fit | None:
    """Return intervals of nested widths up to half of the spread, with rare numbers at either end put together."""
    least, low, high, greatest = (Decimal(str(x)) for x in (spread.least, spread.low, spread.high, spread.greatest))
    span = high - low or greatest - least
    if not span:  # one number in several spellings
        return None
    is_age = nature == "age" and least >= 0 and greatest <= 130
    in_years = is_age or (nature == "year" and span > 20)
    chain = [Decimal(width) for width in (5, 10, 20, 40)] if in_years else nice_widths(span, whole=spread.whole)
    widths = list(takewhile(lambda width: width < span + spread.whole, chain))
    if not widths:
        return None
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
    sizes = _in_words([str(_number(width)) for width in widths])
    return Fit({"intervals": [_number(width) for width in widths], **ends}, f"intervals of {sizes}{words}")


def nice_widths(span: Decimal, *, whole: bool) -> list[Decimal]:
    """Return widths, each a multiple of the one before, from about a twentieth of a span to nearly all of it.

    >>> [[f"{width:f}" for width in nice_widths(Decimal(span), whole=False)] for span in ("100", "0.7", "43")]
    [['5', '10', '20', '40', '80'], ['0.05', '0.1', '0.2', '0.4', '0.8'], ['2', '10', '20', '40']]
    """
    target = span / 20
    scale = Decimal(1).scaleb(target.adjusted())
    first = min((scale * digit for digit in (1, 2, 5, 10)), key=lambda width: max(width / target, target / width))
    if whole:
        first = max(first, Decimal(2))
    factors = {1: (1, 5, 10, 20), 2: (1, 5, 10, 20), 5: (1, 2, 4, 8, 16)}[int(first.scaleb(-first.adjusted()))]
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


def advise_mending(column: Profile, found: Fit) -> str:
    """Say what would make numbers of a column that is nearly all numbers; nothing where it is not, or need not be."""
    if column.kind != "text" or column.numbers < MOSTLY or {"codes", "mask"} & {*found.hierarchy}:
        return ""
    ends = {value: end for value in column.others if (end := _open_end(value)) is not None}
    words = [repr(shown(value)) for value in column.others if value not in ends]
    told = f"{share(column.numbers)} of the values are numbers"
    if ends:
        written = [f"{number} for {shown(value)!r}" for value, (number, _, _) in ends.items()]
        bottom = max((at for _, key, at in ends.values() if key == "bottom"), default=None)
        top = min((at for _, key, at in ends.values() if key == "top"), default=None)
        keys = [f"{key} = {at}" for key, at in (("bottom", bottom), ("top", top)) if at is not None]
        told += f": write {_in_words(written[:SHOWN_OTHERS])}, and it could have intervals with {_in_words(keys)};"
        told += " say what that stands for where you publish it"
    if words or not ends:
        listed = f" ({', '.join(words[:SHOWN_OTHERS])}{' and others' * (len(words) > SHOWN_OTHERS)})" if words else ""
        told += f"{'. Put' if ends else ': put'} the others{listed} into data.missing_values, or mend them"
        told += "" if ends else ", and it could have intervals"
    return told


def _open_end(value: str) -> tuple[int, str, int] | None:
    """Return the number to write for all from or up to some number, and where intervals end then; else None.

    >>> _open_end("90+"), _open_end("> 90"), _open_end("under 18"), _open_end("18-20")
    ((90, 'top', 90), (91, 'top', 91), (17, 'bottom', 18), None)
    """
    for form, is_top, step in OPEN_ENDS:
        found = re.fullmatch(form, value.strip(), re.IGNORECASE)
        if found is not None:
            number = int(found[1]) + step
            return (number, "top", number) if is_top else (number, "bottom", number + 1)
    return None


# Days and codes


def _dates(column: Profile) -> Fit:
    """Return parts of the calendar by the time that the days span, and how the days are written."""
    assert column.days is not None
    first, last = column.days
    years = (last - first).days / 365.25
    parts: list[DatePart] = ["month"] if years < 0.25 else ["month", "quarter"]
    if years >= 1.5:
        parts = ["month", "quarter", "year"]
    if years >= 15:
        parts = ["month", "quarter", "year", "decade"]
    advice = []
    if len(column.formats) > 1:
        advice.append(f"Its dates are written in {len(column.formats)} ways: {', '.join(column.formats)}")
    if column.swappable:
        advice.append("Day and month could be the other way round: check the format")
    if any("%y" in form for form in column.formats):
        advice.append("Its years have two digits, and are read as 1969 to 2068: check that they are")
    return Fit({"dates": parts}, _in_words(parts), formats=column.formats, advice=". ".join(advice))


def _codes(column: Profile) -> Fit:
    assert column.codes is not None
    system, part = column.codes
    words = SYSTEMS[system].words
    others = "" if part == 1 else "; the others stand for themselves"
    what, groups = (f"{words} codes", f"groups of {words} codes")
    if system == "countries":
        what, groups = ("countries", "regions and continents")
    return Fit({"codes": system}, groups, advice=f"{share(part)} of the values are {what}{others}")


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


def _neighbours(order: Sequence[str], words: str) -> Fit:
    """Return groups of neighbours in an order, of two or three where there are few values."""
    size = 2 if len(order) <= 8 else 3
    return Fit({"fanout": size}, f"groups of {size} neighbours {words}, and so on", tuple(order))


def _fanout(column: Profile) -> Fit:
    """Return groups of neighbours in the order of the values."""
    if column.has_brackets or column.has_stars:  # a value that looks like a group could not be told from one
        return FLAT
    size = 5 if column.distinct <= 500 else 10
    if column.distinct <= size:
        return FLAT
    order = "numeric" if column.is_number else "lexical"
    return Fit({"fanout": size}, f"groups of {size} neighbours in {order} order", order)


def _bands(column: Profile) -> Fit | None:
    """Return groups of neighbouring bands where all values are such, as `20-29` or `85+`, but for a word or two that
    stand for no answer: these come last."""
    starts = {value: _band_start(value) for value, _ in column.values}
    aside = [value for value, start in starts.items() if start is None]
    single = sum(value.isdigit() for value in starts)
    worded = len(aside) <= MOST_ASIDE and not any(re.search(r"\d", value) for value in aside)
    if not worded or len(starts) - len(aside) < 4 or single > len(starts) // 2 or column.has_brackets:
        return None
    bands = sorted(starts, key=lambda value: (starts[value] is None, starts[value] or 0.0, value))
    return _neighbours(bands, "in the order of the bands")


def _band_start(value: str) -> float | None:
    """Return where a band begins, or None for a text that is none.

    >>> [_band_start(band) for band in ("20-29", "85+", "<=30k", "Under 18", "65 und älter", "a-b")]
    [20.0, 85.0, -inf, -inf, 65.0, None]
    """
    unit = r"\d{1,9}(?:\.\d{1,9})? ?(?:[kKmM€$£%]|years?|Jahren?|ans|años|anni|jaar)?"
    if re.fullmatch(
        rf"(?:<=?|≤|under|below|less than|up to|unter|bis|moins de|menos de) ?{unit}", value, re.IGNORECASE
    ):
        return float("-inf")
    more = "over|older|above|more|up|älter|mehr|plus|más"
    found = re.fullmatch(
        rf"(?:(?:>=?|≥|over|above|über|ab) ?)?({unit})"
        rf"(?: ?(?:-|–|to|bis|à|a|\.\.) ?{unit}| ?\+| (?:plus|(?:and|or|und|oder|et|y|o) (?:{more})))?",
        value,
        re.IGNORECASE,
    )
    digits = re.match(r"[\d.]+", found[1]) if found else None
    return float(digits[0]) + (value[0] == ">") / 2 if digits else None  # ">90k" after "60k-90k" and "90k"
