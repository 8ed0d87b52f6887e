"""How values are spelled: which texts stand for a missing value, how numbers and dates are written, which are codes.

All of it is told from the values that a column has and how many rows have each, whatever the source.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from ringfence.draft.words import meanings_of, words_of
from ringfence.spec.hierarchies import CodeSystem
from ringfence.spec.written import BETWEEN_THOUSANDS
from ringfence.values.codes import SYSTEMS, looks_like_group

Counts: TypeAlias = Mapping[str, int]
"""The values of a column, and how many rows have each."""

ALWAYS_MISSING = ("?", "*", "N/A", "n/a", "#N/A", "null", "NULL", "NaN", "nan")
"""Words that stand for a missing value wherever they are rare."""

PERHAPS_MISSING = ("NA", "na", "-", "--", ".", "None", "none", "missing", "unknown", "k.A.", "k. A.", "keine Angabe")
"""Words that do so only among numbers, dates or codes: elsewhere they may be values, and NA may be Namibia."""

DASHES = ("-", "--")
WORDS = re.compile(r"[^\W\d_]{2}.*", re.DOTALL)
"""Where all else is words, a dash is none of them; among single characters it may be a mark of its own."""

SENTINELS = (*(f"{sign}{'9' * size}" for sign in ("", "-") for size in (2, 3, 4, 5, 6)), "-1", "-8", "-9")
"""Numbers that may stand for a missing value: those that no measurement comes near."""

FEWEST_NUMBERS, MANY_NUMBERS = 3, 10
"""Of so many different numbers at least it can be told whether another stands apart; of the second, without doubt."""

MOSTLY = 0.8
"""The share of rows whose values must be codes of a system for a column to be one of them."""

POINTED = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d)?", re.ASCII)


# Missing values


def missing_words(columns: Mapping[str, Counts]) -> tuple[list[str], list[str]]:
    """Return the texts that stand for missing values, as they are written, and why numbers are among them.

    A word is one where it is rare among other values; some only where these are numbers, dates or codes. A number is
    one where it stands apart: it is beyond all others by more than these spread, or the only one below zero. A dash is
    one among words, too. A text that is a value in some other column is none, since what is missing is so in every
    column; unless that one numbers the rows, and is left out.
    """
    found: dict[str, str] = {}
    refused: set[str] = set()
    for name, counts in columns.items():
        total = sum(counts.values())
        words = {word for word in counts if word.strip() in (*ALWAYS_MISSING, *PERHAPS_MISSING)}
        clean = [value for value in counts if value not in words]
        numbers = bool(clean) and all(map(_is_number_or_day, clean))
        system = recognize(name, {value: counts[value] for value in clean})
        for word in words:
            rare = counts[word] * 2 < total and bool(clean)
            odd = numbers or (system is not None and not SYSTEMS[system[0]].above(word))
            odd = odd or (word.strip() in DASHES and all(map(WORDS.fullmatch, clean)))
            if rare and (word.strip() in ALWAYS_MISSING or (odd and not _is_number_or_day(word))):
                found[word] = ""
            else:
                refused.add(word)
        apart = _apart(name, {value: counts[value] for value in clean})
        found |= {value: f"{value!r} stands apart from all other values of {name!r}" for value in apart}
        refused |= set() if _numbers_rows(name, counts) else {value for value in clean if value in SENTINELS} - apart
    kept = {word: reason for word, reason in found.items() if word not in refused}
    return sorted(kept), [reason for reason in kept.values() if reason]


def _apart(name: str, counts: Counts) -> set[str]:
    """Return the numbers of a column that stand apart as those do that mean "missing".

    Of money, the highest may be a ceiling that all above it were given: what is so much is not missing.
    """
    numbers = {value: Decimal(value) for value in counts if POINTED.fullmatch(value)}
    others = sorted(number for value, number in numbers.items() if value not in SENTINELS)
    if len(numbers) < len(counts) or len(others) < FEWEST_NUMBERS:
        return set()
    least, greatest = others[0], others[-1]
    few = len(others) < MANY_NUMBERS
    is_money = any(meaning.key == "money" for meaning in meanings_of(name))
    apart = set()
    for value in {*numbers} & {*SENTINELS}:
        number = numbers[value]
        above = number > greatest and number - greatest >= greatest - least and not is_money
        below = number < 0 <= least and not is_money
        if few:  # the answers of a survey: 99 may be one more code among 10, 20, 30, and -1 one of -1, 0, 1
            above, below = above and least >= 0 and number >= 4 * greatest, below and number <= -8
        if counts[value] >= 2 and (above or below):
            apart.add(value)
    return apart


def _numbers_rows(name: str, counts: Counts) -> bool:
    """Whether a column numbers the rows: whole numbers, all different and with few gaps, not called anything else.

    >>> _numbers_rows("id", dict.fromkeys("123", 1)), _numbers_rows("age", dict.fromkeys("123", 1))
    (True, False)
    """
    once = all(count == 1 for count in counts.values()) and all(map(re.compile(r"\d{1,18}").fullmatch, counts))
    if not once or not counts or any(meaning.role != "identifier" for meaning in meanings_of(name)):
        return False
    numbers = [*map(int, counts)]
    return max(numbers) - min(numbers) < 1.5 * len(numbers)


def _is_number_or_day(cell: str) -> bool:
    number, iso = r"[+-]?\d+([.,]\d+)*", r"\d{4}-\d\d-\d\d.*"
    day = rf"\d{{1,2}}([./-]\d{{1,2}}[./-]|\W{{0,2}}{MONTH.pattern}[a-z]*\W?)\d{{2,4}}([ ,:T].*)?"
    return re.fullmatch(rf"{number}|{iso}|{day}", cell.strip(), re.IGNORECASE) is not None


# Numbers


@dataclass(frozen=True)
class Marks:
    """What stands before the decimals of numbers, and between their thousands: None where nothing does."""

    decimal: Literal[".", ","] = "."
    thousands: str | None = None


PLAIN_NUMBERS = Marks()


def number_marks(columns: Mapping[str, Counts], delimiter: str) -> tuple[Marks, list[str]]:
    """Return how the numbers of a table are written, and the columns that show it.

    Marks count if they make numbers of all values of some column that are none without them. `1,234` alone may be both:
    in files with semicolons between fields it is a little more than one, else more than a thousand. Where columns
    disagree, nothing is said.
    """
    votes: dict[Marks, list[str]] = {}
    for name, counts in columns.items():
        fit = _column_marks(counts, delimiter)
        if fit is not None:
            votes.setdefault(fit, []).append(name)
    whole = [marks for marks in votes if marks.thousands is not None]
    decimals = {marks.decimal for marks in votes}
    if not votes or len(decimals) > 1 or len(whole) > 1:
        return PLAIN_NUMBERS, []
    chosen = whole[0] if whole else next(iter(votes))
    for counts in columns.values():  # a column of plain numbers that these marks would make others of
        if chosen.thousands == "." and all(map(POINTED.fullmatch, counts)) and any("." in value for value in counts):
            return PLAIN_NUMBERS, []
    return chosen, [name for names in votes.values() for name in names]


def _column_marks(counts: Counts, delimiter: str) -> Marks | None:
    if not counts or all(map(POINTED.fullmatch, counts)):
        return None
    fitting = [
        Marks(decimal, thousands)
        for decimal in (",", ".")
        for thousands in (None, *BETWEEN_THOUSANDS)
        if thousands != decimal and all(map(_form(decimal, thousands).fullmatch, counts))
    ]
    fitting = [each for each in fitting if each.thousands is None or any(each.thousands in value for value in counts)]
    if not fitting:
        return None
    by_decimal = next((each for each in fitting if each == Marks(",")), None)
    by_thousands = next((each for each in fitting if each.decimal == "."), None)
    if by_decimal and by_thousands:  # 1,234 only
        return by_decimal if delimiter == ";" else by_thousands
    return by_thousands or fitting[0]  # where there are no decimals, these are as usual


def _form(decimal: str, thousands: str | None) -> re.Pattern[str]:
    point = re.escape(decimal)
    whole = r"\d+" if thousands is None else rf"(?:\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+)"
    return re.compile(rf"\s*[+-]?{whole}(?:{point}\d+)?\s*", re.ASCII)


# Dates


PROBED = 100
"""Formats that read none of about so many texts are not tried on the others."""

SHORT_YEARS_UPTO = 2035
"""Years of two digits are read up to this one: a 45 beyond it would be 1945 rather than 2045."""

IN_NUMBERS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y"),
    *("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y-%m-%d"),
)
IN_WORDS = tuple(
    form.replace("%b", month)
    for month in ("%b", "%B")
    for form in (
        *("%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d. %b %Y", "%d%b%Y", "%b %d, %Y", "%b %d %Y", "%Y-%b-%d"),
        *("%d %b %y", "%d-%b-%y", "%d/%b/%y", "%d%b%y"),
    )
)
MONTH = re.compile(r"(?<![a-z])(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
CLOCK_TIME = re.compile(
    r"(?P<between>,? |T|:)\d{1,2}:\d\d(?P<seconds>:\d\d)?(?P<fraction>\.\d{1,6})?"
    r"(?P<half> ?[ap]m)?(?P<zone> ?(?:Z|[+-]\d\d:?\d\d))?$",
    re.IGNORECASE,
)


def read_days(counts: Counts) -> tuple[tuple[str, ...], tuple[dt.date, dt.date]] | None:
    """Return the formats in which all texts are dates, and the first and the last day; None where some are not.

    One format must read all of them, or a few formats each a part, those that read most first; never both one with the
    day first and one with the month first, which no text tells apart. Years of two digits are read only beside months
    in words, which tell that they are years, and not where they may be of the century before.
    """
    left = [value.strip() for value in counts]
    if not left or not all(7 <= len(value) <= 40 and (value[0].isdigit() or MONTH.match(value)) for value in left):
        return None
    formats: list[str] = []
    days: list[dt.date] = []
    while left and len(formats) < 3:
        probed = left[:: len(left) // PROBED + 1]
        tried = [form for form in ("iso", *_perhaps(probed)) if _read_all(probed, _reader(form))]
        read = {form: _read_all(left, _reader(form)) for form in tried} or {"iso": {}}
        best = max(read, key=lambda form: len(read[form]))
        if not read[best]:
            return None
        formats.append(best)
        days += read[best].values()
        left = [value for value in left if value not in read[best]]
    first = {form[:2] for form in formats if {form[:2], form[3:5]} == {"%d", "%m"}}
    if left or len(first) > 1 or formats == ["iso"] or (formats == ["%Y%m%d"] and not _are_recent(days)):
        return None
    short = any("%y" in form for form in formats)
    return None if short and max(days).year > SHORT_YEARS_UPTO else (tuple(formats), (min(days), max(days)))


def _perhaps(values: Sequence[str]) -> list[str]:
    """Return the formats that some texts may be written in, by their months and their times of day."""
    forms = [*(IN_WORDS if any(map(MONTH.search, values)) else ()), *IN_NUMBERS]
    return [f"{form}{clock}" for clock in sorted({*map(_clock_of, values)}) for form in forms]


def _clock_of(value: str) -> str:
    """Return the format of the time of day that a date ends with.

    >>> _clock_of("05/03/2020 05:04 PM"), _clock_of("3.5.2020, 17:04:00"), _clock_of("3.5.2020")
    (' %I:%M %p', ', %H:%M:%S', '')
    """
    found = CLOCK_TIME.search(value)
    if found is None:
        return ""
    form = found["between"] + ("%I:%M" if found["half"] else "%H:%M")
    form += (":%S" if found["seconds"] else "") + (".%f" if found["fraction"] else "")
    for name, letter in (("half", "%p"), ("zone", "%z")):
        form += f"{' ' * (found[name][0] == ' ')}{letter}" if found[name] else ""
    return form


def could_be_swapped(values: Iterable[str], form: str) -> bool:
    """Whether texts that are read with the day first could as well have the month first.

    >>> could_be_swapped(["01/02/2024"], "%d/%m/%Y"), could_be_swapped(["31/02/2024"], "%d/%m/%Y")
    (True, False)
    """
    given = {value.strip() for value in values}
    swapped = f"%m{form[2]}%d{form[5:]}"
    return (
        form[:2] == "%d"
        and form[3:5] == "%m"
        and "." not in form
        and len(_read_all([*given], _reader(swapped))) == len(given)
    )


def _are_recent(days: Sequence[dt.date]) -> bool:
    """Whether days are such that numbers of eight digits will not be by chance."""
    return min(days).year >= 1850 and max(days).year <= 2100


def _reader(form: str) -> Callable[[str], dt.date]:
    if form == "iso":
        return lambda value: dt.datetime.fromisoformat(value if value[4:5] == "-" else "").date()
    return lambda value: dt.datetime.strptime(value, form).date()


def _read_all(values: Sequence[str], read: Callable[[str], dt.date]) -> dict[str, dt.date]:
    found = {}
    for value in values:
        try:
            found[value] = read(value)
        except ValueError:
            continue
    return found


# Codes


def recognize(name: str, counts: Counts) -> tuple[CodeSystem, float] | None:
    """Return the system of which most values of a column are codes, and the share of rows that have one.

    Where codes could be anything else as well, the column's name must say what they are.
    """
    total = sum(counts.values())
    if total == 0 or max(map(len, counts)) > 60:
        return None
    for system, backed in BACKED.items():
        share = sum(count for value, count in counts.items() if SYSTEMS[system].above(value)) / total
        if share >= MOSTLY and backed(name, counts) and not any(looks_like_group(value, system) for value in counts):
            return system, share
    return None


def _named(name: str, *words: str) -> bool:
    return any(word.startswith(start) for word in words_of(name) for start in words)


def _share(counts: Counts, form: str) -> float:
    return sum(count for value, count in counts.items() if re.fullmatch(form, value.strip())) / sum(counts.values())


def _means(name: str, *keys: str) -> bool:
    return any(meaning.key in keys for meaning in meanings_of(name))


BACKED: dict[CodeSystem, Callable[[str, Counts], bool]] = {
    "atc": lambda name, counts: _share(counts, r"[A-Z]\d\d[A-Z]{2}\d\d") >= MOSTLY or _named(name, "atc"),
    "icd10": lambda name, counts: (
        _named(name, "icd", "diag", "haupt", "neben") or _share(counts, r"[A-Z]\d[\dA-Z]\.[\dA-Z]{1,4}") >= 0.2
    ),
    "uk-postcode": lambda name, counts: _share(counts, r".* .*") >= MOSTLY or _means(name, "postcode"),
    "ipv4": lambda _, counts: len(counts) > 1,
    "countries": lambda name, counts: (
        (_share(counts, r".{4,}") >= 0.5 or _means(name, "place", "origin") or _named(name, "country", "iso"))
        and len(counts) > 1
    ),
    "isco": lambda name, counts: _share(counts, r"\d{4}") >= MOSTLY and (_named(name, "isco") or _means(name, "work")),
    "nuts": lambda name, counts: _named(name, "nuts") and _share(counts, r"[A-Z]{2}[A-Z\d]{1,3}") >= MOSTLY,
}
"""What must be so of a column besides, the surest systems first."""
