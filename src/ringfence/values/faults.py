"""What is wrong with paths that make no tree, and with values that are no numbers: the fault, not what it led to.

Only for what is said: nothing is decided here.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

HEADINGS = re.compile(
    r"(leaf|value|values|label|name|code|parent|grandparent|root|(level|lvl|l|h|gen)[ _.-]?\d+)", re.I
)
"""What the columns of a hierarchy are called where somebody has given them names."""


def is_heading(first: Sequence[str], others: Iterable[Sequence[str]], attribute: str) -> bool:
    """Whether the first row of a hierarchy file has the names of its columns.

    >>> is_heading(("leaf", "level1", "level2"), [("Oslo", "East", "*")], "city")
    True
    >>> is_heading(("City", "region"), [("Oslo", "East")], "city"), is_heading(("a", "*"), [("b", "*")], "city")
    (True, False)
    """
    elsewhere = {label for row in others for label in row}
    if len(first) < 2 or not elsewhere or elsewhere & {*first}:
        return False
    named = sum(HEADINGS.fullmatch(label.strip()) is not None for label in first)
    return first[0].strip().casefold() == attribute.strip().casefold() or named > 1


def fault_of(paths: Sequence[Sequence[str]]) -> str | None:
    """Say what is wrong with paths, each from a leaf up: a cycle, a leaf that is a group, a label under two others.

    >>> fault_of([("Oslo", "East", "Norway"), ("Hamar", "Norway", "East")])
    "a cycle: 'Norway' is above 'East' on the way up from 'Oslo', and below it on that from 'Hamar'"
    """
    return _cycle(paths) or _leaf_and_group(paths) or _two_parents(paths)


def _cycle(paths: Sequence[Sequence[str]]) -> str | None:
    below: dict[tuple[str, str], str] = {}
    for path in paths:
        steps = [label for at, label in enumerate(path) if at == 0 or label != path[at - 1]]
        for at, label in enumerate(steps):
            if label in steps[:at]:
                return f"a cycle: {label!r} stands twice on the way up from {path[0]!r}"
            for lower in steps[:at]:
                below.setdefault((lower, label), path[0])
                if (label, lower) in below:
                    first = below[label, lower]
                    return (
                        f"a cycle: {lower!r} is above {label!r} on the way up from {first!r}, and below it on that from"
                        f" {path[0]!r}"
                    )
    return None


def _leaf_and_group(paths: Sequence[Sequence[str]]) -> str | None:
    leaves = {path[0] for path in paths}
    for path in paths:
        for label in path[1:]:
            if label in leaves and label != path[0]:
                return f"{label!r} is a leaf with a row of its own, and a group on the way up from {path[0]!r}"
    return None


def _two_parents(paths: Sequence[Sequence[str]]) -> str | None:
    parents: dict[str, tuple[str, Sequence[str]]] = {}
    for path in paths:
        for at, label in enumerate(path[:-1]):
            if label == path[at + 1]:
                continue
            over, other = parents.setdefault(label, (path[at + 1], path))
            if over != path[at + 1]:
                why = "a label may stand for one group only; rename one"
                if len(path) != len(other):
                    why = f"one has {len(other)} fields and the other {len(path)}; is one missing?"
                return (
                    f"{label!r} is under {over!r} on the way up from {other[0]!r}, and under {path[at + 1]!r} on that"
                    f" from {path[0]!r}: {why}"
                )
    return None


SPELLINGS = (
    (r"[+-]?\d{1,3}(\.\d{3})+,\d+", '1.234,5 is read with data.decimal = "," and data.thousands = "."'),
    (r"[+-]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})", 'if commas stand between thousands, set data.thousands = ","'),
    (
        r"[+-]?\d{1,3},\d{3}",
        'a comma between thousands is read with data.thousands = ",", a decimal one with data.decimal = ","',
    ),
    (r"[+-]?\d*,\d+", 'if the comma is a decimal one, set data.decimal = ","'),
    (
        r"[+-]?\d{1,3}((?P<mark>[ '’\u00a0\u202f])\d{3})+([.,]\d+)?",
        'if {mark!r} stands between thousands, set data.thousands = "{mark}"',
    ),
    (r"(?i:[+-]?(inf|infinity|nan))", "{text!r} is no number that can be ordered: put it into data.missing_values"),
)
"""How people and programs write numbers, and what then helps."""


def number_hint(texts: Iterable[str]) -> str:
    """Say how to read texts that are numbers to people: with a decimal comma, or something between thousands.

    >>> number_hint(["40,5"])
    '; if the comma is a decimal one, set data.decimal = ","'
    >>> number_hint(["unknown"])
    ''
    """
    for text in map(str.strip, texts):
        for pattern, hint in SPELLINGS:
            if found := re.fullmatch(pattern, text):
                return "; " + hint.format(text=text, **found.groupdict())
        if _is_finite(text):
            return f"; {text!r} is beyond what is computed with exactly: numbers may have 60 digits"
    return ""


def _is_finite(text: str) -> bool:
    try:
        return Decimal(text).is_finite() and text.isascii() and "_" not in text
    except InvalidOperation:
        return False
