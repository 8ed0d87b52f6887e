"""Trees from what a specification says: written out (files, paths, nested tables), or grown over the values at hand.

Intervals, masks, dates, codes, fan-outs and flat trees have labels for the values that there are: of a release alone,
there is no telling all of them; beside the original, there is.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ringfence.arrays import Longs
from ringfence.audit.labels.codes import groups_of
from ringfence.audit.labels.intervals import Dates, Intervals
from ringfence.audit.labels.moments import written_moment
from ringfence.audit.labels.spelling import ROOT, as_number, plain, spelled_number, written
from ringfence.audit.labels.trees import Path, Tree
from ringfence.audit.verdict import some
from ringfence.errors import DataError, SpecError, listed
from ringfence.keeping import kept_up_to
from ringfence.spec import Spec
from ringfence.spec.attributes import Attribute, BoundaryLevel
from ringfence.spec.hierarchies import (
    CodeHierarchy,
    DateHierarchy,
    FanoutHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    MaskHierarchy,
    PathsHierarchy,
    TreeHierarchy,
)
from ringfence.spec.written import CLOCK

SHOWN_VALUES = 10
DELIMITERS = ";,\t|"


def stated_tree(name: str, spec: Spec, *, missing: bool = False) -> Tree | None:
    """Return the tree of an attribute where the specification writes it out, with a missing value if there is one."""
    attribute, where = spec.attributes[name], f"attributes.{name}.hierarchy"
    match attribute.hierarchy:
        case FileHierarchy() as given:
            paths = _rows(given, spec, where)
        case PathsHierarchy(paths=rows):
            paths = [tuple(row) for row in rows]
        case TreeHierarchy(tree=tree):
            paths = [*_branches(tree, where)]
        case _:
            return None
    boundary, formats = _boundary(attribute), tuple(attribute.formats) if attribute.dates else None
    fixed = tuple(boundary) if isinstance(boundary, Sequence) else boundary
    return _written_out(tuple(paths), attribute.numeric, formats, fixed, missing, where)


@kept_up_to(1_000)  # leaves
def _written_out(
    paths: Sequence[tuple[str, ...]],
    numeric: bool,
    formats: Sequence[str] | None,
    boundary: tuple[str, ...] | int | None,
    missing: bool,
    where: str,
) -> Tree:
    """Return the tree of some paths, over numbers or dates in some formats: an audit asks for the same one several
    times."""
    if numeric:
        strange = [path[0] for path in paths if as_number(path[0]) is None]
        if strange:
            raise SpecError(f"{where} has the leaf {strange[0]!r}, which is not a number, but order = 'numeric'")
        paths = [tuple(map(spelled_number, path)) for path in paths]
    if formats is not None:
        paths = [(written_moment(path[0], formats) or path[0], *path[1:]) for path in paths]
    return Tree.of(paths, boundary, missing=missing, where=where)


def tree_over(
    name: str, spec: Spec, values: Sequence[str | None], counts: Sequence[int], known: Tree | None = None
) -> tuple[Tree, Longs]:
    """Return the tree of an attribute over the values of a table, and the number there of each of them.

    `counts` are the rows of each value. Values that a tree which is written out does not have, or one that is `known`,
    are a DataError.
    """
    attribute = spec.attributes[name]
    leaves = [*_leaves(name, attribute, values)]
    support: dict[str, int] = {}
    for leaf, count in zip(leaves, counts, strict=True):
        if leaf is not None:
            support[leaf] = support.get(leaf, 0) + count
    tree = known or stated_tree(name, spec, missing=None in leaves)
    if tree is None:
        try:
            paths = _grown(name, attribute, support)
            tree = Tree.of(paths, _boundary(attribute), missing=None in leaves, where=f"the hierarchy over {name!r}")
        except SpecError as error:
            raise DataError(str(error)) from None
    strange = [leaf for leaf in dict.fromkeys(leaves) if leaf not in tree.leaf_of]
    if strange:
        shown = [f"{leaf!r} ({some(support.get(leaf or '', 0), 'row')})" for leaf in strange[:SHOWN_VALUES]]
        more = f" and {len(strange) - SHOWN_VALUES} more" if len(strange) > SHOWN_VALUES else ""
        raise DataError(
            f"column {name!r} has values that its hierarchy does not cover: {listed(shown)}{more}; add them to"
            f" attributes.{name}.hierarchy or mend the data"
        )
    return tree, np.array([tree.leaf_of[leaf] for leaf in leaves], np.int64)


def leaves_of(name: str, spec: Spec, values: Sequence[str]) -> list[str]:
    """Return each value as the labels of its attribute spell it."""
    return [leaf for leaf in _leaves(name, spec.attributes[name], values) if leaf is not None]


def orders_of(name: str, spec: Spec, values: Sequence[str]) -> Iterator[list[str]]:
    """Yield the orders that a fan-out may have some of these values in: all of them, or only those that are numbers."""
    attribute = spec.attributes[name]
    if isinstance(attribute.order, list):
        there = {*values}
        yield [value for value in attribute.order if value in there]
        return
    yield _ordered(name, attribute, values)
    numbers = [value for value in values if as_number(value) is not None]
    if attribute.order is None and 0 < len(numbers) < len(values):
        yield _ordered(name, attribute, numbers)


def _boundary(attribute: Attribute) -> Sequence[str] | int | None:
    """Return the marked labels, with numbers in the one spelling that values have, or the level."""
    if isinstance(attribute.boundary, BoundaryLevel):
        return attribute.boundary.level
    if attribute.boundary is None or not attribute.numeric:
        return attribute.boundary
    return [*map(spelled_number, attribute.boundary)]


def _leaves(name: str, attribute: Attribute, values: Iterable[str | None]) -> Iterator[str | None]:
    """Yield each value as labels spell it: a number in its one spelling, a moment as its day, all else as it is."""
    numeric, dates = attribute.numeric, attribute.dates
    for value in values:
        if value is None:
            yield None
        elif numeric:
            if as_number(value) is None:
                raise DataError(f"column {name!r} should hold numbers, but has {value!r}")
            yield spelled_number(value)
        elif dates:
            moment = written_moment(value, [CLOCK] if attribute.clocks else ())
            if moment is None:
                kind = "times of day (as 08:15:00)" if attribute.clocks else "dates (as 2024-03-31)"
                raise DataError(f"column {name!r} should hold {kind}, but has {value!r}")
            yield moment[: len("2024-03-31")] if isinstance(attribute.hierarchy, DateHierarchy) else moment
        else:
            yield value


# What is written out


def _rows(given: FileHierarchy, spec: Spec, where: str) -> list[tuple[str, ...]]:
    """Read a file of one path a row; empty fields are left out."""
    path = spec.locate(given.file)
    try:
        content = path.read_bytes().decode(given.encoding).removeprefix("\ufeff")
        rows, leafless = _written_rows(content, given.delimiter or max(DELIMITERS, key=content.count))
    except FileNotFoundError:
        raise SpecError(f"{where}.file: there is no file {str(path)!r}") from None
    except (OSError, UnicodeError, LookupError, csv.Error) as error:
        raise SpecError(f"{where}.file: cannot read {str(path)!r} as {given.encoding}: {error}") from None
    if leafless:
        raise SpecError(f"{where}.file: row {leafless} of {str(path)!r} has no leaf in its first field")
    return [*rows]


@kept_up_to(50_000)  # letters
def _written_rows(content: str, delimiter: str) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Return the rows of a text that say something, without their empty fields, and the first that has no leaf, or 0.

    The same row twice says it twice.
    """
    rows = [*csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)]
    leafless = next((number for number, row in enumerate(rows, 1) if any(row) and not row[0]), 0)
    return tuple(dict.fromkeys(tuple(filter(None, row)) for row in rows if any(row))), leafless


def _branches(tree: Any, where: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of nested tables: a key is a group, a list holds values or further tables."""
    waiting: list[tuple[Any, tuple[str, ...]]] = [(tree, (ROOT,))]
    while waiting:
        below, above = waiting.pop()
        if isinstance(below, str):
            yield (below, *above)
        elif isinstance(below, Mapping) and below:
            waiting += [(part, (plain(key), *above)) for key, part in below.items()]
        elif isinstance(below, list) and below:
            waiting += [(part, above) for part in below]
        else:
            raise SpecError(f"{where}.tree: {below!r} under {above[0]!r} is not allowed")


# What is grown over values


def _grown(name: str, attribute: Attribute, support: Mapping[str, int]) -> Iterator[Path]:
    """Yield the paths of the values that there are."""
    match attribute.hierarchy:
        case IntervalHierarchy() as given:
            yield from _spanned(Intervals.of(given), support)
        case DateHierarchy(dates=parts):
            yield from _spanned(Dates(tuple(parts)), support)
        case MaskHierarchy(mask=side):
            for code in support:
                stars = ["*" * hidden for hidden in range(1, len(code))]
                shown = [code[: -len(each)] + each if side == "right" else each + code[len(each) :] for each in stars]
                yield (code, *shown, ROOT)
        case CodeHierarchy(codes=system):
            yield from ((code, *groups_of(code, system), ROOT) for code in support)
        case FanoutHierarchy(fanout=fanout, by=by):
            line = _ordered(name, attribute, support)
            if by == "support":
                line.sort(key=lambda value: -support[value])
            # Blanks and commas often stand between items, so the labels of their groups do without.
            yield from _grouped(line, fanout, ".." if attribute.role == "items" else ", ")
        case _:
            yield from ((value, ROOT) for value in support)


def _spanned(kind: Intervals | Dates, values: Iterable[str]) -> Iterator[Path]:
    """Yield the paths of numbers or days through what holds them at each level.

    From the lowest value on, each is still in what held the one before, or beyond its end.
    """
    read = ((value, kind.read(value)) for value in values)
    line = sorted(((span, value) for value, span in read if span is not None), key=lambda each: each[0].low)
    ends: list[Any] = [None] * (kind.root.level - 1)
    labels = [""] * len(ends)
    for span, value in line:
        for place, end in enumerate(ends):
            if end is None or span.low >= end:
                around = kind.around(span, place + 1)
                ends[place], labels[place] = around.high, kind.label(around)
        yield (value, *labels, ROOT)


def _grouped(line: Sequence[str], fanout: int, between: str) -> Iterator[Path]:
    """Yield the paths of values through consecutive groups, each called by its first and last value."""
    sizes = [fanout]
    while sizes[-1] < len(line):
        sizes.append(sizes[-1] * fanout)
    for place, value in enumerate(line):
        path: list[str] = []
        for size in sizes[:-1]:
            first = place - place % size
            last = min(first + size, len(line)) - 1
            alone = first == last
            path.append(line[first] if alone else f"[{written(line[first])}{between}{written(line[last])}]")
        yield (value, *path, ROOT)


def _ordered(name: str, attribute: Attribute, values: Iterable[str]) -> list[str]:
    """Return values in the attribute's order; without one, by number if all are numbers, else as text."""
    line = [*values]
    if isinstance(attribute.order, list):
        strange = [value for value in line if value not in attribute.order]
        if strange:
            shown = listed(map(repr, strange[:SHOWN_VALUES]))
            raise DataError(f"column {name!r} has values that attributes.{name}.order does not list: {shown}")
        return sorted(line, key=attribute.order.index)
    numbers = {value: as_number(value) for value in line} if attribute.order != "lexical" else {}
    if numbers and None not in numbers.values():
        return sorted(line, key=lambda value: (numbers[value], value))
    return sorted(line)
