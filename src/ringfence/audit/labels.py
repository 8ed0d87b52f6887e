"""Published labels: which ones an attribute's hierarchy can have, and which of them pass its boundary.

The original data is not at hand, so all of this comes from the specification alone. Stated hierarchies (files, trees)
list their labels. The others are grammars: what a builder can write for *some* data, and nothing else. A value of the
data that looks like a label of another form (a code that contains `*`, a text in square brackets) cannot be told from a
damaged label, and is reported as one.

A boundary is judged where the answer is certain whatever the original was: a label passes it if no value under the
label may be published that high. Not judged, for want of the original, are lists of labels on masks, fan-outs and
flat hierarchies; levels from 1 up on fan-outs; and `*` under a list of labels where missing values may be published,
since a missing value has no boundary in such a list and may become `*`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ringfence.audit.spans import Dates, Intervals, Spans
from ringfence.audit.spelling import as_number, as_range, speller
from ringfence.builders import stated_hierarchy
from ringfence.hierarchy import ROOT, Hierarchy
from ringfence.spec import (
    Attribute,
    BoundaryLevel,
    DateHierarchy,
    FanoutHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    PathsHierarchy,
    Spec,
    TreeHierarchy,
)

Test: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True)
class Grammar:
    """What may stand in one published column.

    `reads` tells the labels of the hierarchy from other text, `passes` those of them that lie above the boundary;
    `allowed` says in words what reads.
    """

    allowed: str
    reads: Test
    passes: Test


def grammar(name: str, spec: Spec, seen: Iterable[str]) -> Grammar:
    """Return the grammar of an attribute. `seen` are its published labels, where knowing them makes more certain."""
    attribute = spec.attributes[name]
    missing = spec.data.missing == "value"
    match attribute.hierarchy:
        case FileHierarchy() | PathsHierarchy() | TreeHierarchy():
            hierarchy = stated_hierarchy(name, spec)
            assert hierarchy is not None, "files and trees are stated"
            return _stated(hierarchy, attribute, missing)
        case IntervalHierarchy() as given:
            return _spanning(Intervals.of(given), attribute, missing)
        case DateHierarchy(dates=parts):
            return _spanning(Dates(tuple(parts)), attribute, missing)
        case MaskHierarchy(mask=side):
            return _mask(side == "right", attribute, seen)
        case FanoutHierarchy():
            return _fanout(attribute)
    return Grammar("anything", lambda _: True, lambda label: label == ROOT and _level(attribute) == 0)


def _level(attribute: Attribute) -> int | None:
    """Return the level at which the attribute has its boundary, if it is a level."""
    return attribute.boundary.level if isinstance(attribute.boundary, BoundaryLevel) else None


def _stated(hierarchy: Hierarchy, attribute: Attribute, missing: bool) -> Grammar:
    """Return the grammar of a tree that the specification states: its labels, and `*` for its root."""
    spell = speller(attribute)
    nodes = {spell(label): node for node, label in reversed([*enumerate(hierarchy.labels)])}  # the lowest of a name
    nodes.setdefault(ROOT, hierarchy.root)
    uncertain = hierarchy.root if missing and isinstance(attribute.boundary, list) else None

    def passes(label: str) -> bool:
        node = nodes[label]
        ceilings = hierarchy.ceilings[hierarchy.first[node] : hierarchy.stop[node]]
        # A leaf's ceiling and the node both lie on the leaf's way up, so the deeper one is the lower one.
        return node != uncertain and bool((hierarchy.depth[ceilings] > hierarchy.depth[node]).all())

    return Grammar("the labels of its hierarchy, '*'", nodes.__contains__, passes)


def _spanning(kind: Spans, attribute: Attribute, missing: bool) -> Grammar:
    """Return the grammar of intervals or dates, whose labels tell by themselves what they cover.

    Under a list of labels, a label passes the boundary if marked ones inside it leave none of it free: then each value
    in it stops at one of those.
    """
    boundary = attribute.boundary
    marks = [kind.read(label) for label in boundary] if isinstance(boundary, list) else []

    def passes(label: str) -> bool:
        span = kind.read(label)
        if span is None or boundary is None:
            return False
        if isinstance(boundary, BoundaryLevel):
            return span.level > boundary.level
        return not (missing and label == ROOT) and span.covered_by(mark for mark in marks if mark is not None)

    return Grammar(kind.allowed, lambda label: kind.read(label) is not None, passes)


def _mask(right: bool, attribute: Attribute, seen: Iterable[str]) -> Grammar:
    """Return the grammar of masked codes: at least one character stays, and `*` stands only at the masked side.

    A code of s characters at level n of a hierarchy of height h, the length of the longest code, has n - (h - s)
    characters masked: never more than n. And `*` is at level h, which is above n if some code was longer than n.
    """
    form = re.compile(r"[^*]*|[^*]+\*+" if right else r"[^*]*|\*+[^*]+")
    level = _level(attribute)
    longest = max((len(label) for label in seen if form.fullmatch(label)), default=0)

    def passes(label: str) -> bool:
        if level is None:
            return False
        return longest > level if label == ROOT else label.count("*") > level

    side, example = ("right", "479**") if right else ("left", "**906")
    return Grammar(
        f"a code without '*', a code with '*' at its {side} end such as {example!r}, '*'",
        lambda label: label == ROOT or form.fullmatch(label) is not None,
        passes,
    )


def _fanout(attribute: Attribute) -> Grammar:
    """Return the grammar of consecutive groups: a value, or the first and the last value of a group in their order."""
    order, numeric = attribute.order, attribute.numeric

    def is_value(text: str) -> bool:
        if isinstance(order, list):
            return text in order
        return not numeric or as_number(text) is not None

    def rises(low: str, high: str) -> bool:
        if isinstance(order, list):
            return order.index(low) < order.index(high)
        first, last = as_number(low), as_number(high)
        if order == "lexical" or first is None or last is None:
            return low < high
        # Without a stated order, numbers are ordered as text where some other value is no number.
        return first < last or (order is None and low < high)

    def is_group(label: str) -> bool:
        return label.startswith("[") and label.endswith("]") and not (isinstance(order, list) and label in order)

    def reads(label: str) -> bool:
        if is_group(label):
            ends = as_range(label)
            return ends is not None and all(map(is_value, ends)) and rises(*ends)
        return label == ROOT or is_value(label)

    def passes(label: str) -> bool:
        return _level(attribute) == 0 and (label == ROOT or is_group(label))

    value = "a value that its order lists" if isinstance(order, list) else "a number" if numeric else "a value"
    return Grammar(f"{value}, '[first, last]' of two such values in rising order, '*'", reads, passes)
