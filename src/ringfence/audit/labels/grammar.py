"""Published labels: which ones an attribute's hierarchy can have, and which of them pass its boundary.

The original data is not at hand, so all of this comes from the specification alone. Stated hierarchies (files, trees)
list their labels. The others are grammars: what a builder can write for *some* data, and nothing else. A value of the
data that looks like a label of another form (a code that contains `*`, a text in square brackets or braces) cannot be
told from a damaged label, and is reported as one. Where the scheme publishes blocks, sets and ranges come on top.

A boundary is judged where the answer is certain whatever the original was. A label of the hierarchy passes it if no
value under the label may be published that high; a set or a range, if its values cannot all have the same ceiling. Not
judged, for want of the original, are

- labels under lists on masks, fan-outs, codes and flat hierarchies, and from level 1 up on fan-outs and codes;
- `*` under a list of labels where missing values may be published, since a missing value has no boundary in such a list
  and may become `*`;
- sets of masked codes under a level that may be that of the root, since no published code is longer, and otherwise more
  of a code than certainly stays at that level;
- sets under lists on fan-outs but for single values that the list marks, and from level 1 up but for their size;
- sets of codes from level 1 up, since how deep the deepest code lies is not known;
- what lies between the ends of a range, but for what a list of labels marks there.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ringfence.audit.labels.blocks import (
    Grammar,
    Stretch,
    Test,
    Values,
    has_blocks,
    position,
    recoded_in_blocks,
    stretch,
    with_blocks,
)
from ringfence.audit.labels.codes import groups_of, is_group
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.intervals import Dates, Intervals, LabelSpan, LabelSpans
from ringfence.audit.labels.moments import as_moment, is_clock, is_moment
from ringfence.audit.labels.reading import read_interval, read_set, speller
from ringfence.audit.labels.spelling import ROOT, as_number, as_range, as_set, ends_in, is_number
from ringfence.audit.labels.trees import Tree
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute, BoundaryLevel
from ringfence.spec.hierarchies import (
    CodeHierarchy,
    CodeSystem,
    DateHierarchy,
    FanoutHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    PathsHierarchy,
    TreeHierarchy,
)


def grammar(name: str, spec: Spec, seen: Iterable[str]) -> Grammar:
    """Return the grammar of an attribute. `seen` are its published labels, where knowing them makes more certain."""
    attribute = spec.attributes[name]
    missing = spec.data.missing == "value"
    if has_blocks(name, spec):
        values = {item for label in seen for item in as_set(label) or (label,) if item is not None}
        form = _of_hierarchy(name, spec, values, missing)
        return replace(with_blocks(form, attribute, missing=missing), disjoint=recoded_in_blocks(name, spec))
    form = _of_hierarchy(name, spec, seen, missing)
    return form if attribute.hierarchy else replace(form, **_without_hierarchy(attribute))


def _without_hierarchy(attribute: Attribute) -> dict[str, Any]:
    """Return what reads where no hierarchy says what may be published: of numbers, whatever can be read as some."""
    if attribute.dates:
        return {"allowed": "a date, '[low, high]' or '{a, b}' of dates, '*'", "reads": _reads_dates}
    if not attribute.numeric:
        return {"allowed": "anything", "reads": lambda _: True}

    def reads(label: str) -> bool:
        items = read_set(label) or (label,)
        return label == ROOT or all(item is None or is_number(item) for item in items) or bool(read_interval(label))

    words = "a number, an interval as '[20, 30)', '20-29', '>=60' or '<20', a set of numbers as '{1, 2}', '*'"
    return {"allowed": words, "reads": reads}


def _reads_dates(label: str) -> bool:
    values = ends_in(label) or read_set(label) or (label,)
    return label == ROOT or all(value is None or as_moment(value) is not None for value in values)


def _of_hierarchy(name: str, spec: Spec, seen: Iterable[str], missing: bool) -> Grammar:  # noqa: PLR0911  one a kind
    """Return the grammar of what an attribute's hierarchy has; of none, single values and `*`."""
    attribute = spec.attributes[name]
    match attribute.hierarchy:
        case FileHierarchy() | PathsHierarchy() | TreeHierarchy():
            tree = stated_tree(name, spec)
            assert tree is not None, "files and trees are written out"
            return _stated(tree, attribute, missing)
        case IntervalHierarchy() as given:
            return _spanning(Intervals.of(given), attribute, missing)
        case DateHierarchy(dates=parts):
            return _spanning(Dates(tuple(parts)), attribute, missing)
        case MaskHierarchy(mask=side):
            return _mask(side == "right", attribute, seen)
        case FanoutHierarchy(fanout=fanout):
            return _fanout(fanout, attribute)
        case CodeHierarchy(codes=system):
            return _codes(system, attribute)
    return _flat(attribute)


def _level(attribute: Attribute) -> int | None:
    """Return the level at which the attribute has its boundary, if it is a level."""
    return attribute.boundary.level if isinstance(attribute.boundary, BoundaryLevel) else None


def _marks(attribute: Attribute) -> list[str]:
    """Return the labels that the attribute has as its boundary, if it is a list."""
    return attribute.boundary if isinstance(attribute.boundary, list) else []


def _differ(ceiling: Callable[[str | None], Hashable]) -> Callable[[Values], bool]:
    """Return whether values have different ceilings, given that of each; a missing value is None."""
    return lambda values: len({*map(ceiling, values)}) > 1


def _stated(tree: Tree, attribute: Attribute, missing: bool) -> Grammar:
    """Return the grammar of a tree that the specification writes out: its labels, and `*` for its root."""
    at, level = position(attribute), _level(attribute)
    roots = (ROOT, tree.root)
    uncertain = roots if missing and _marks(attribute) else ()
    # A missing value is directly under the root: the only level that takes it further is that of the root.
    of_missing = None if level is not None and level < tree.height else tree.root

    def within(label: str) -> Iterable[tuple[int, bool]]:
        """Return the values that a label holds, each with whether it may have it."""
        values, steps = tree.held(label) or ((), ())
        return [(value, climbed <= tree.ceilings[value]) for value, climbed in zip(values, steps, strict=True)]

    def holds(label: str) -> list[Stretch]:
        values = [tree.paths[value][0] or "" for value, may in within(label) if may and label not in roots]
        return [stretch(at(value), at(value), closed=True) for value in values]

    return Grammar(
        allowed="the labels of its hierarchy, '*'",
        reads=lambda label: tree.held(label) is not None,
        passes=lambda label: label not in uncertain and not any(may for _, may in within(label)),
        is_value=tree.leaf_of.__contains__,
        apart=_differ(lambda value: of_missing if value is None else tree.ceiling_labels[tree.leaf_of[value]]),
        holds=holds,
    )


def _spanning(kind: LabelSpans, attribute: Attribute, missing: bool) -> Grammar:
    """Return the grammar of intervals or dates, whose labels tell by themselves what they cover.

    Under a list of labels, a label passes the boundary if marked ones inside it leave none of it free: then each value
    in it stops at one of those. The ceiling of a value is the lowest marked one around it.
    """
    spell, level, root = speller(attribute), _level(attribute), kind.root
    marks = [mark for mark in map(kind.read, _marks(attribute)) if mark is not None]

    def passes(label: str) -> bool:
        span = kind.read(label)
        if span is None:
            return False
        if level is not None:
            return span.level > level
        return not (missing and label == ROOT) and span.covered_by(marks)

    def is_value(text: str) -> bool:
        span = kind.read(text)
        return span is not None and span.level == 0 and spell(text) == text

    def ceiling(value: str | None) -> LabelSpan | None:
        span = None if value is None else kind.read(value)
        if level is not None and level < root.level:
            return None if span is None else kind.around(span, level)
        around = [mark for mark in marks if span is not None and mark.has(span)]
        return min([*around, root], key=lambda mark: mark.level)

    def holds(label: str) -> list[Stretch]:
        span = kind.read(label)
        if span is None or label == ROOT or (marks and span.level > 0):
            return []
        return [stretch(span.low, span.high, closed=span.low == span.high)]

    return Grammar(
        allowed=kind.allowed,
        reads=lambda label: kind.read(label) is not None,
        passes=passes,
        is_value=is_value,
        apart=_differ(ceiling),
        holds=holds,
        marked=[kind.shown(mark.low) for mark in marks if attribute.measured and isinstance(mark.low, Fraction)],
    )


def _flat(attribute: Attribute) -> Grammar:
    """Return the grammar of values under one root. A list of labels marks single values, which stand alone."""
    level, marks = _level(attribute), _marks(attribute)
    is_value = _value_test(attribute)

    def ceiling(value: str | None) -> str | None:
        return value if level == 0 or value in marks else ROOT

    return Grammar(
        allowed=f"{_value_words(attribute)}, '*'",
        reads=lambda label: label == ROOT or is_value(label),
        passes=lambda label: label == ROOT and level == 0,
        is_value=is_value,
        apart=_differ(ceiling),
        holds=_itself(attribute, is_value),
        marked=[mark for mark in marks if attribute.measured and is_value(mark)],
        free=_is_free(attribute),
    )


def _mask(right: bool, attribute: Attribute, seen: Iterable[str]) -> Grammar:
    """Return the grammar of masked codes: at least one character stays, and `*` stands only at the masked side.

    A code of s characters at level n of a hierarchy of height h, the length of the longest code, has n - (h - s)
    characters masked: never more than n. And `*` is at level h, which is above n if some code was longer than n. Then
    codes of different length have different ceilings, and so have codes that differ in the h - n characters that stay,
    or in fewer of them: in as many as stay by the longest code that is seen.
    """
    form = re.compile(r"[^*]*|[^*]+\*+" if right else r"[^*]*|\*+[^*]+")
    level, marks = _level(attribute), _marks(attribute)
    fits = _value_test(attribute)
    height = max((len(label) for label in seen if form.fullmatch(label)), default=1)

    def passes(label: str) -> bool:
        if level is None:
            return False
        return height > level if label == ROOT else label.count("*") > level

    def is_value(text: str) -> bool:
        return "*" not in text and fits(text)

    def masked(code: str, hidden: int) -> str:
        stays = len(code) - hidden
        return code[:stays] + "*" * hidden if right else "*" * hidden + code[hidden:]

    def ceiling(code: str | None) -> str | None:
        if level is not None and level < height:
            return None if code is None else masked(code, max(0, len(code) - (height - level)))
        nodes = [] if code is None else [masked(code, hidden) for hidden in range(max(len(code), 1))]
        return next((node for node in nodes if node in marks), ROOT)

    side, example = ("right", "479**") if right else ("left", "**906")
    return Grammar(
        allowed=f"a code without '*', a code with '*' at its {side} end such as {example!r}, '*'",
        reads=lambda label: label == ROOT or form.fullmatch(label) is not None,
        passes=passes,
        is_value=is_value,
        apart=_differ(ceiling),
        holds=_itself(attribute, is_value),
        free=_is_free(attribute),
    )


def _codes(system: CodeSystem, attribute: Attribute) -> Grammar:
    """Return the grammar of a system of codes: a value that is no label of a group, such a label, or `*`.

    Any text may be a value, since what is no code of the system stands for itself. The groups above a value are told by
    the value alone, and so is the lowest of them that a list of labels marks: values that differ in it have different
    ceilings.
    """
    level, marks = _level(attribute), _marks(attribute)
    fits = _value_test(attribute)

    def is_value(text: str) -> bool:
        return fits(text) and not is_group(text, system)

    def ceiling(value: str | None) -> str | None:
        nodes = () if value is None else (value, *groups_of(value, system))
        return next((node for node in nodes if node in marks), ROOT)

    return Grammar(
        allowed=f"a value, a group of codes as {system} has them, '*'",
        reads=lambda label: label == ROOT or is_group(label, system) or is_value(label),
        passes=lambda label: level == 0 and (label == ROOT or is_group(label, system)),
        is_value=is_value,
        apart=(lambda values: len({*values}) > 1 and level == 0) if level is not None else _differ(ceiling),
        holds=_itself(attribute, is_value),
        free=_is_free(attribute),
    )


def _fanout(fanout: int, attribute: Attribute) -> Grammar:
    """Return the grammar of consecutive groups: a value, or the first and the last value of a group in their order.

    A group of level n has at most fanout^n values, and a set of more shows that the root is above level n. A list of
    labels may mark a single value, which then stands alone.
    """
    order, at = attribute.order, position(attribute)
    level, marks = _level(attribute), _marks(attribute)
    is_value = _value_test(attribute)
    itself = _itself(attribute, is_value)

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
        return level == 0 and (label == ROOT or is_group(label))

    def apart(values: Values) -> bool:
        if level is None:
            return any(value in marks for value in values)
        count = len({*values} - {None})
        return level == 0 or (level < count.bit_length() and count > fanout**level)  # since 2^bit_length > count

    def holds(label: str) -> Sequence[Stretch]:
        ends = as_range(label) if attribute.measured and not marks else None
        return itself(label) if ends is None else [stretch(*map(at, ends), closed=True)]

    words = _value_words(attribute)
    return Grammar(
        allowed=f"{words}, '[first, last]' of two such values in rising order, '*'",
        reads=reads,
        passes=passes,
        is_value=is_value,
        apart=apart,
        holds=holds,
        free=_is_free(attribute),
    )


# Values of attributes whose hierarchy does not list them


def _value_test(attribute: Attribute) -> Test:
    """Return what tells values: a number or a date in its one spelling, a text that the order lists, any but `*`."""

    def is_value(text: str) -> bool:
        if isinstance(attribute.order, list):
            return text in attribute.order
        if attribute.dates:
            return is_moment(text) and is_clock(text) == attribute.clocks
        return is_number(text) if attribute.numeric else text != ROOT

    return is_value


def _value_words(attribute: Attribute) -> str:
    """Say what such a value is."""
    if isinstance(attribute.order, list):
        return "a value that its order lists"
    if attribute.clocks:
        return "a time of day"
    return "a date" if attribute.dates else "a number" if attribute.numeric else "a value"


def _is_free(attribute: Attribute) -> bool:
    """Return whether such a value may be any text."""
    return not attribute.measured and not isinstance(attribute.order, list)


def _itself(attribute: Attribute, is_value: Test) -> Callable[[str], Sequence[Stretch]]:
    """Return what labels hold of which only single values are certain: those hold themselves."""
    at = position(attribute)
    return lambda label: [stretch(at(label), at(label), closed=True)] if is_value(label) else []
