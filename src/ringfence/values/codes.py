"""Hierarchies that codes carry in themselves: which groups a code is in, told from its characters.

Each system has a form that codes are recognized by, and a rule for the labels above one, the narrowest first. A label
has a character that no code of the system has (`-`, `*`, `/`), or is the name of a region: so no code can be taken for
a group. What is not of the system's form (`unknown`, a slip of the pen) stays a value of its own, directly under the
root, as a missing value does: it can be hidden, and is put together with nothing that it does not belong to.

None of this needs a list that somebody has rights in: it is prefixes, and two small tables.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ringfence.spec.hierarchies import CodeSystem
from ringfence.spec.regions import CONTINENTS, REGIONS

CHAPTERS = (
    "A00-B99", "C00-D49", "D50-D99", "E00-E99", "F00-F99", "G00-G99", "H00-H59", "H60-H99", "I00-I99", "J00-J99",
    "K00-K99", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P99", "Q00-Q99", "R00-R99", "S00-T99", "U00-U99",
    "V00-Y99", "Z00-Z99",
)  # fmt: skip
"""The chapters of ICD-10, each by its first and last category that could be; none parts a letter and its tens."""


@dataclass(frozen=True)
class System:
    """A system of codes: what it is called, a code of it, the form of codes, and the labels above one of that form."""

    words: str
    example: str
    form: re.Pattern[str]
    groups: Callable[[str], tuple[str, ...]]

    def above(self, value: str) -> tuple[str, ...] | None:
        """Return the labels above a code, the narrowest first; None for what is no code of the system."""
        code = value.strip()
        return self.groups(code) if self.form.fullmatch(code) else None


def _icd10(code: str) -> tuple[str, ...]:
    """E11.9 is in category E11, in the ten E10 to E19, and in a chapter."""
    category = code[:3].upper()
    ten = f"{category[:2]}0-{category[:2]}9"
    chapter = next(chapter for chapter in CHAPTERS if chapter[:3] <= f"{category[:2]}0" <= chapter[4:])
    return f"{category}.-", ten, chapter


def _prefixes(code: str, sizes: tuple[int, ...], full: int) -> tuple[str, ...]:
    """Return the code's beginnings of these sizes, filled up with stars."""
    return tuple(code[:size].upper().ljust(full, "*") for size in sizes if size <= len(code))


def _ipv4(code: str) -> tuple[str, ...]:
    parts = [str(int(part)) for part in code.split(".")]
    return tuple(".".join([*parts[:shown], *["0"] * (4 - shown)]) + f"/{8 * shown}" for shown in (3, 2, 1))


def _uk_postcode(code: str) -> tuple[str, ...]:
    """SW1A 1AA is in sector SW1A 1, in district SW1A, and in area SW."""
    outward, inward = code[:-3].strip().upper(), code[-3:]
    area = re.match("[A-Z]+", outward)
    return f"{outward} {inward[0]}**", f"{outward} ***", f"{area[0] if area else ''}* ***"


def _plain(name: str) -> str:
    """Return a name as countries are looked up: hyphens and points are blanks, `&` is "and"."""
    return " ".join(re.sub(r"[-_.]", " ", name.replace("&", " and ")).casefold().split())


@cache
def _countries() -> dict[str, tuple[str, str]]:
    continent_of = {region: continent for continent, regions in CONTINENTS.items() for region in regions}
    return {_plain(name): (region, continent_of[region]) for region, called in REGIONS.items() for name in called}


class _Country(System):
    def above(self, value: str) -> tuple[str, ...] | None:
        return _countries().get(_plain(value))


SYSTEMS: dict[CodeSystem, System] = {
    "icd10": System("ICD-10", "E11.9", re.compile(r"[A-Za-z]\d[\dA-Za-z](\.?[\dA-Za-z]{1,4})?", re.ASCII), _icd10),
    "atc": System(
        "ATC",
        "A10BA02",
        re.compile(r"[ABCDGHJLMNPRSVabcdghjlmnprsv](\d\d([A-Za-z]([A-Za-z](\d\d)?)?)?)?", re.ASCII),
        lambda code: _prefixes(code, (5, 4, 3, 1), 7),
    ),
    "nuts": System(
        "NUTS",
        "DE212",
        re.compile(r"[A-Z]{2}[A-Z\d]{0,3}", re.ASCII),
        lambda code: _prefixes(code, (4, 3, 2), 5),
    ),
    "isco": System("ISCO-08", "2512", re.compile(r"\d{1,4}", re.ASCII), lambda code: _prefixes(code, (3, 2, 1), 4)),
    "countries": _Country("country", "Norway", re.compile(""), lambda _: ()),
    "ipv4": System(
        "IPv4",
        "192.0.2.17",
        re.compile(r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}", re.ASCII),
        _ipv4,
    ),
    "uk-postcode": System(
        "UK postcode", "SW1A 1AA", re.compile(r"[A-Za-z]{1,2}\d[A-Za-z\d]? ?\d[A-Za-z]{2}", re.ASCII), _uk_postcode
    ),
}


def looks_like_group(value: str, system: CodeSystem) -> bool:
    """Whether a value of the data could be taken for a label of the system's groups.

    >>> looks_like_group("E11.-", "icd10"), looks_like_group("E11", "icd10"), looks_like_group("Asia", "countries")
    (True, False, True)
    """
    if system == "countries":
        return value in CONTINENTS or value in REGIONS
    if system == "icd10":
        return value.endswith(".-") or re.fullmatch(r"[A-Z]\d\d-[A-Z]\d\d", value, re.ASCII) is not None
    return "/" in value if system == "ipv4" else "*" in value
