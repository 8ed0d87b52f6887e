"""A small reader of labels: does what is published in a cell hold a person's true value?

Written from the documentation, for the stated hierarchies of a specification and for sets, ranges and masks.
"""

import datetime as dt
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from .columns import Column, missing, spelled

NULL = "null"
QUOTED = r'"(?:[^"\\]|\\.)*"'


@dataclass(frozen=True)
class Reader:
    """Reads the labels of one quasi-identifier: `attribute` is its table in the specification."""

    column: Column
    attribute: dict[str, Any]
    nodes: dict[str, frozenset[str]] = field(default_factory=dict)
    """The nodes of a stated tree, with the leaves under each."""

    @staticmethod
    def of(column: Column, attribute: dict[str, Any]) -> "Reader":
        """Return the reader of an attribute, with its stated tree spread out."""
        hierarchy = attribute.get("hierarchy")
        nodes: dict[str, frozenset[str]] = {}
        if isinstance(hierarchy, dict) and "tree" in hierarchy:
            _spread(hierarchy["tree"], nodes)
        return Reader(column, attribute, nodes)

    def holds(self, label: Any, meaning: Any) -> bool:
        """Whether a published cell holds a value, given as its meaning."""
        if missing(label):
            return meaning is None
        if label == "*":
            return True
        if self.column.canonical(label) == meaning:
            return True
        return isinstance(label, str) and self._holds_within(label, meaning)

    def _holds_within(self, label: str, meaning: Any) -> bool:
        members = set_members(label)
        if members is not None:
            return any(self._is_member(member, quoted, meaning) for member, quoted in members)
        if meaning is None:
            return False
        hierarchy = self.attribute.get("hierarchy")
        if label in self.nodes:
            return spelled(meaning) in self.nodes[label]
        if isinstance(hierarchy, dict) and "mask" in hierarchy and masked(label, spelled(meaning), hierarchy["mask"]):
            return True
        if isinstance(meaning, dt.datetime) and label in date_parts(meaning):
            return True
        return self._in_range(label, meaning)

    def _is_member(self, member: str, quoted: bool, meaning: Any) -> bool:
        if member == NULL and not quoted:
            return meaning is None
        if member == "" and quoted:
            return meaning is None
        return bool(self.column.canonical(member) == meaning) or self._holds_within(member, meaning)

    def _in_range(self, label: str, meaning: Any) -> bool:
        ends = range_ends(label)
        if ends is None:
            return False
        low, high, closed = ends
        limits = [None if end is None else self.column.canonical(end) for end in (low, high)]
        as_text = isinstance(meaning, bytes) and spelled(limits[0]) == low  # so a text file has them, and in that order
        lowest, highest = (None if each is None else self._rank(each, as_text=as_text) for each in limits)
        rank = self._rank(meaning, as_text=as_text)
        numbers = [_number(each) for each in (lowest, rank, highest)]
        if "order" not in self.attribute and None not in numbers and self._all_numbers:
            lowest, rank, highest = numbers
        try:
            above = lowest is None or lowest <= rank
            below = highest is None or rank < highest or (closed and rank == highest)
        except TypeError:
            return False
        return bool(above and below)

    @cached_property
    def _all_numbers(self) -> bool:
        """Whether texts are ordered by the numbers that they spell: beside one that spells none, none is."""
        return all(each is None or _number(each) is not None for each in self.column.meanings())

    def _rank(self, meaning: Any, *, as_text: bool) -> Any:
        order = self.attribute.get("order")
        if isinstance(order, list) and spelled(meaning) in order:
            return order.index(spelled(meaning))
        if as_text:
            return spelled(meaning)
        if isinstance(meaning, bytes):  # in the order of what is read
            return "".join(chr(c) if 32 <= c < 127 and chr(c) not in "'\"\\" else f"\\x{c:02X}" for c in meaning)
        return meaning


def _number(text: Any) -> Decimal | None:
    try:
        number = Decimal(text) if isinstance(text, str) else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def _spread(tree: Any, nodes: dict[str, frozenset[str]]) -> frozenset[str]:
    """Collect the nodes of a nested table with the leaves under each, and return all leaves."""
    if isinstance(tree, list):
        return frozenset(map(str, tree))
    leaves: frozenset[str] = frozenset()
    for name, below in tree.items():
        nodes[name] = _spread(below, nodes)
        leaves |= nodes[name]
    return leaves


def set_members(label: str) -> list[tuple[str, bool]] | None:
    """Return the members of `{a, "b, c"}`, each with whether it was quoted; None if the text is no set."""
    if not (label.startswith("{") and label.endswith("}")):
        return None
    rest, members = label[1:-1], []
    while True:
        rest = rest.lstrip(" ")
        if rest.startswith('"'):
            try:
                member, end = json.JSONDecoder().raw_decode(rest)
            except ValueError:
                return None
            members.append((str(member), True))
            rest = rest[end:]
        else:
            member, found, after = _until_comma(rest)
            members.append((member, False))
            rest = found + after
        if not rest:
            return members
        if not rest.startswith(","):
            return None
        rest = rest[1:]


def _until_comma(text: str) -> tuple[str, str, str]:
    """Split at the first comma that stands outside brackets: `[20, 25)` may be a member of a set."""
    depth = 0
    for i, character in enumerate(text):
        if character in "[{":
            depth += 1
        elif character in "])}":
            depth -= 1
        elif character == "," and depth <= 0:
            return text[:i], ",", text[i + 1 :]
    return text, "", ""


def range_ends(label: str) -> tuple[str | None, str | None, bool] | None:
    """Return the ends of `[a, b]`, `[a, b)`, `[a..b]`, `<a` and `>=a`, and whether the upper one belongs to it."""
    if label.startswith(">="):
        return label[2:].strip(), None, True
    if label.startswith("<"):
        return None, label[1:].strip(), False
    if not (label.startswith("[") and label[-1:] in ("]", ")")):
        return None
    inside, closed = label[1:-1], label.endswith("]")
    for between in (", ", ".."):
        found = re.fullmatch(f"({QUOTED}|.*?){re.escape(between)}({QUOTED}|.*)", inside, re.DOTALL)
        if found is not None:
            low, high = (json.loads(end) if re.fullmatch(QUOTED, end) else end for end in found.groups())
            return low, high, closed
    return None


def masked(label: str, text: str, side: str) -> bool:
    """Whether a label such as `479**` is a text with the characters of one side masked."""
    kept = label.rstrip("*") if side == "right" else label.lstrip("*")
    if len(kept) == len(label):
        return False
    return text.startswith(kept) if side == "right" else text.endswith(kept)


def date_parts(moment: dt.datetime) -> set[str]:
    """The names of the month, the quarter, the year and the decade of a day."""
    year = f"{moment.year:04d}"
    return {f"{year}-{moment.month:02d}", f"{year}-Q{(moment.month + 2) // 3}", year, f"{moment.year // 10 * 10:04d}s"}
