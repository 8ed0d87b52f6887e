"""Codes of public systems as the audit reads them: which groups hold a code, and which labels are those of groups.

What a specification means by `codes` is told here a second time, by taking labels apart rather than by putting them
together: a group holds the codes that begin as its label does. Only the table of countries is the specification's.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from ringfence.spec.hierarchies import CodeSystem
from ringfence.spec.regions import CONTINENTS, REGIONS

_DIGIT, _LETTER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_ICD_PARTS = {  # letters of which a part is a chapter: the first ten of each chapter, and its label
    "D": [(0, "C00-D49"), (5, "D50-D99")],
    "H": [(0, "H00-H59"), (6, "H60-H99")],
}
_ICD_LETTERS = {"A": "A00-B99", "B": "A00-B99", "C": "C00-D49", "S": "S00-T99", "T": "S00-T99"} | dict.fromkeys(
    "VWXY", "V00-Y99"
)


def groups_of(value: str, system: CodeSystem) -> Sequence[str]:  # noqa: PLR0911  one a system
    """Return the labels of the groups that hold a value, the narrowest first; none for what is no code.

    >>> groups_of("E11.9", "icd10"), groups_of("DE212", "nuts"), groups_of("nobody", "icd10")
    (('E11.-', 'E10-E19', 'E00-E99'), ('DE21*', 'DE2**', 'DE***'), ())
    """
    code = value.strip()
    match system:
        case "icd10":
            return _icd_groups(code.upper())
        case "atc":
            return _begun(code.upper(), _is_atc, (1, 3, 4, 5), 7)
        case "nuts":
            return _begun(code, _is_nuts, (2, 3, 4), 5)
        case "isco":
            return _begun(code, lambda text: _all_in(text, _DIGIT) and 1 <= len(text) <= 4, (1, 2, 3), 4)
        case "ipv4":
            return _networks(code)
        case "uk-postcode":
            return _uk_groups(code.upper())
        case "countries":
            return _regions(code)


def is_group(label: str, system: CodeSystem) -> bool:
    """Whether a label is that of a group: whether some code would be in it.

    >>> is_group("E10-E19", "icd10"), is_group("E11", "icd10"), is_group("DE2**", "nuts"), is_group("DE**", "nuts")
    (True, False, True, False)
    """
    if system == "countries":
        return label in CONTINENTS or label in REGIONS
    member = label.removesuffix(".-")[:3] if system == "icd10" else label
    if system == "ipv4":
        member = label.partition("/")[0]
    elif system == "uk-postcode":
        member = label.replace("* ***", "1 1AA").replace("***", "1AA").replace("**", "AA")
    elif system in ("atc", "nuts", "isco"):
        member = label.rstrip("*")
    return member != label and label in groups_of(member, system)


def _all_in(text: str, allowed: str) -> bool:
    return all(character in allowed for character in text)


def _begun(code: str, is_code: Callable[[str], bool], sizes: Sequence[int], full: int) -> tuple[str, ...]:
    """Return the labels that show as many of the first characters of a code as these sizes, stars for the others."""
    if not is_code(code):
        return ()
    shown = [code[:size] for size in sizes if size <= len(code)]
    return tuple(part + "*" * (full - len(part)) for part in reversed(shown))


def _icd_groups(code: str) -> tuple[str, ...]:
    category, rest = code[:3], code[3:].removeprefix(".")
    if len(category) < 3 or category[0] not in _LETTER or category[1] not in _DIGIT:
        return ()
    if not _all_in(category[2] + rest, _DIGIT + _LETTER) or len(rest) > 4 or code[3:] == ".":
        return ()
    letter, ten = category[0], int(category[1])
    chapter = _ICD_LETTERS.get(letter, f"{letter}00-{letter}99")
    for first, label in _ICD_PARTS.get(letter, ()):
        chapter = label if ten >= first else chapter
    return f"{category}.-", f"{letter}{ten}0-{letter}{ten}9", chapter


def _is_atc(code: str) -> bool:
    kinds = [_LETTER, _DIGIT, _DIGIT, _LETTER, _LETTER, _DIGIT, _DIGIT]
    fits = all(character in kind for character, kind in zip(code, kinds, strict=False))
    return fits and len(code) in (1, 3, 4, 5, 7) and code[0] in "ABCDGHJLMNPRSV"


def _is_nuts(code: str) -> bool:
    return 2 <= len(code) <= 5 and _all_in(code[:2], _LETTER) and _all_in(code[2:], _LETTER + _DIGIT)


def _networks(code: str) -> tuple[str, ...]:
    parts = code.split(".")
    if len(parts) != 4 or not all(part and _all_in(part, _DIGIT) and len(part) <= 3 for part in parts):
        return ()
    a, b, c, d = map(int, parts)
    return (f"{a}.{b}.{c}.0/24", f"{a}.{b}.0.0/16", f"{a}.0.0.0/8") if max(a, b, c, d) < 256 else ()


def _uk_groups(code: str) -> tuple[str, ...]:
    found = re.fullmatch(r"(([A-Z]{1,2})[0-9][A-Z0-9]?) ?([0-9])[A-Z]{2}", code)
    return (f"{found[1]} {found[3]}**", f"{found[1]} ***", f"{found[2]}* ***") if found else ()


def _regions(name: str) -> tuple[str, ...]:
    return _places().get(_bare(name), ())


@cache
def _places() -> dict[tuple[str, ...], tuple[str, str]]:
    """Return the region and the continent of each country, by the words that it is called."""
    return {
        _bare(country): (region, continent)
        for continent, parts in CONTINENTS.items()
        for region in parts
        for country in REGIONS[region]
    }


def _bare(name: str) -> tuple[str, ...]:
    return tuple(filter(None, re.split(r"[\s\-_.]+", name.casefold().replace("&", " and "))))
