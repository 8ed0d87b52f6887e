"""Hierarchies as specifications describe them: files, nested tables, intervals, masks, dates, fan-out, flat.

`read_domain` takes the distinct values of a column and returns the attribute's hierarchy and the leaf of each value.
Values first become *leaf labels* (`keys`): numbers in one spelling ("7", "7.0" and "07" are one number), dates as ISO
days, all else as its text. The builders see labels only.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from ringfence.errors import DataError, SpecError, listed
from ringfence.keeping import kept_up_to
from ringfence.rows.moments import read_moment
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
from ringfence.spec.written import ISO
from ringfence.values.faults import is_heading, number_hint
from ringfence.values.hierarchy import MISSING, ROOT, Hierarchy
from ringfence.values.keys import Key, OnLine, decimal_of, key_function, label, tally, text
from ringfence.values.paths import (
    MASKED,
    code_paths,
    date_path,
    fanout_paths,
    file_paths,
    interval_path,
    mask_path,
    sorted_paths,
    tree_paths,
)


@dataclass(frozen=True)
class Domain:
    """The values of one attribute as they occur in the data, and the hierarchy above them.

    `leaves[i]` is the leaf of the i-th distinct value that was passed in; `keys[leaf]` is the number, day or moment
    that a leaf stands for, None for text, for a missing value and for leaves that only the hierarchy knows.
    `ranks[leaf]` is the leaf's place in the attribute's order; leaves that do not occur come after those that do, and a
    missing value last.
    """

    hierarchy: Hierarchy
    leaves: npt.NDArray[np.int32]
    keys: tuple[OnLine | None, ...]
    ranks: npt.NDArray[np.int32]


def read_domain(
    name: str, spec: Spec, values: Sequence[Any], counts: Sequence[int], known: Hierarchy | None = None
) -> Domain:
    """Return the domain of attribute `name` for these distinct values (None for missing) and their numbers of rows.

    The hierarchy is the one that the specification states, unless one that is already `known` is to be kept. Values
    that it does not cover are a DataError that lists up to ten of them with their counts.
    """
    attribute = spec.attributes[name]
    keys = read_keys(name, spec, values, counts)
    support: dict[Key, int] = {}
    for key, count in zip(keys, counts, strict=True):
        if key is not None:
            support[key] = support.get(key, 0) + count
    hierarchy = known or _build(name, spec, support, None in keys)
    _refuse_missing_groups(name, hierarchy, spec)
    index = hierarchy.leaf_index
    unknown = uncovered(keys, counts, hierarchy)
    if unknown:
        leaves_known = [leaf for leaf in index if leaf is not None]
        raise DataError(
            f"column {name!r} has values that its hierarchy does not cover: {tally(unknown, leaves_known)};"
            f" add them to attributes.{name}.hierarchy or mend the data"
        )
    typed: list[OnLine | None] = [None] * hierarchy.leaves
    for key in support:
        if not isinstance(key, str):
            typed[index[label(key)]] = key
    leaves = np.array([index[None if key is None else label(key)] for key in keys], np.int32)
    ranks = np.full(hierarchy.leaves, hierarchy.leaves - 1, np.int32)
    occurring = [index[label(key)] for key in _ordered(name, attribute, support)]
    absent = sorted(set(range(hierarchy.leaves - hierarchy.has_missing)) - set(occurring))
    ranks[[*occurring, *absent]] = np.arange(len(occurring) + len(absent))
    return Domain(hierarchy, leaves, tuple(typed), ranks)


def _refuse_missing_groups(name: str, hierarchy: Hierarchy, spec: Spec) -> None:
    """Refuse groups that would be published under what stands for a missing value."""
    groups = {label for label in hierarchy.labels[hierarchy.leaves :] if label is not None} - {ROOT}
    wrong = sorted(groups.intersection(spec.data.missing_values))
    if wrong:
        raise SpecError(
            f"the hierarchy of {name!r} has a group {wrong[0]!r}, which stands for a missing value"
            " (data.missing_values); rename the group"
        )


def uncovered(keys: Sequence[Key | None], counts: Sequence[int], hierarchy: Hierarchy) -> dict[str, int]:
    """Return the labels that a hierarchy does not have, with their numbers of rows; a missing value as MISSING."""
    found: dict[str, int] = {}
    for key, count in zip(keys, counts, strict=True):
        name = None if key is None else label(key)
        if name not in hierarchy.leaf_index:
            found[name or MISSING] = found.get(name or MISSING, 0) + count
    return found


def read_keys(name: str, spec: Spec, values: Sequence[Any], counts: Sequence[int]) -> list[Key | None]:
    """Return values in the form in which their attribute compares them; those that have none are a DataError."""
    attribute = spec.attributes[name]
    key_of = key_function(attribute)
    keys: list[Key | None] = []
    unreadable: dict[str, int] = {}
    for value, count in zip(values, counts, strict=True):
        try:
            keys.append(None if value is None or value != value else key_of(value))  # noqa: PLR0124  NaN is missing
        except (ValueError, InvalidOperation):
            unreadable[text(value)] = unreadable.get(text(value), 0) + count
            keys.append(None)
    if unreadable:
        dates = "times of day (as 08:15:00)" if attribute.clocks else "dates (as 2024-03-31)"
        kind = dates if attribute.dates else "numbers"
        hint = number_hint(unreadable) if attribute.numeric else ""
        if not attribute.dates and any(map(read_moment, unreadable)):
            hint = f"; where these are dates, say so: attributes.{name}.format = {ISO!r}"
        raise DataError(f"column {name!r} should hold {kind}, but has {tally(unreadable)}{hint}")
    return keys


def stated_hierarchy(name: str, spec: Spec) -> Hierarchy | None:
    """Return the attribute's hierarchy where the specification alone determines it (files, paths, trees), else None."""
    if isinstance(spec.attributes[name].hierarchy, FileHierarchy | PathsHierarchy | TreeHierarchy):
        return _build(name, spec, {}, missing=False)
    return None


def self_contained(spec: Spec) -> Spec:
    """Return the specification with the rows of hierarchy files in the place of their names."""
    attributes = dict(spec.attributes)
    for name, attribute in spec.attributes.items():
        given = attribute.hierarchy
        if isinstance(given, FileHierarchy):
            rows = file_paths(spec.locate(given.file), given, f"attributes.{name}.hierarchy")
            attributes[name] = attribute.model_copy(update={"hierarchy": _stated(tuple(rows))})
    return spec.model_copy(update={"attributes": attributes})


@kept_up_to(1_000)  # rows
def _stated(rows: Sequence[Sequence[str]]) -> PathsHierarchy:
    """Return the hierarchy that states what a file says, which was checked as it was read."""
    return PathsHierarchy.model_construct(paths=[list(row) for row in rows])


def _build(name: str, spec: Spec, support: Mapping[Key, int], missing: bool) -> Hierarchy:
    """Build the hierarchy of an attribute over the keys that occur, and mark its boundary."""
    attribute, where = spec.attributes[name], f"attributes.{name}.hierarchy"
    keys = _ordered(name, attribute, support)
    match attribute.hierarchy:
        case FileHierarchy() as given:
            paths = file_paths(spec.locate(given.file), given, where)
            if support and paths[0][0] not in map(label, support) and is_heading(paths[0], paths[1:], name):
                raise SpecError(
                    f"{where}.file: row 1 of {given.file!r} seems to name its columns ({listed(map(repr, paths[0]))}),"
                    " and would become a leaf: every row should be leaf, parent, ..., root; take that row out"
                )
            hierarchy = _written_out(tuple(sorted_paths(paths, attribute, where)), missing, where)
        case PathsHierarchy(paths=rows):
            paths = sorted_paths([tuple(row) for row in rows], attribute, where)
            hierarchy = _written_out(tuple(paths), missing, where)
        case TreeHierarchy(tree=tree):
            paths = tree_paths(tree, (ROOT,), where)
            hierarchy = _written_out(tuple(sorted_paths(paths, attribute, where)), missing, where)
        case IntervalHierarchy() as given:
            paths = [interval_path(key, given) for key in keys if isinstance(key, Decimal)]
            hierarchy = _from_data(name, paths, missing)
        case MaskHierarchy(mask=side):
            starred = {label(key): support[key] for key in keys if MASKED in label(key)}
            if starred:
                raise DataError(
                    f"column {name!r} has codes with {MASKED!r}, which stands for a masked character: {tally(starred)}"
                )
            hierarchy = _from_data(name, [mask_path(label(key), side == "right") for key in keys], missing)
        case DateHierarchy(dates=parts):
            paths = [date_path(key, parts) for key in keys if isinstance(key, dt.date)]
            hierarchy = _from_data(name, paths, missing)
        case FanoutHierarchy(fanout=fanout, by=by):
            # Blanks and commas often stand between items, so labels of groups of items do without.
            between = ".." if attribute.role == "items" else ", "
            keys = sorted(keys, key=lambda key: -support[key]) if by == "support" else keys
            _refuse_bracketed(name, {label(key): support[key] for key in keys}, attribute)
            paths = fanout_paths([label(key) for key in keys], fanout, between)
            hierarchy = _from_data(name, paths, missing)
        case CodeHierarchy(codes=system):
            paths = code_paths(name, {label(key): support[key] for key in keys}, system)
            hierarchy = _from_data(name, paths, missing)
        case _:  # flat, or none: the values under one root
            hierarchy = _from_data(name, [(label(key), ROOT) for key in keys], missing)
    boundary = attribute.boundary
    if boundary is None:
        return hierarchy
    marks = boundary.level if isinstance(boundary, BoundaryLevel) else boundary
    return hierarchy.with_boundary(marks, f"attributes.{name}.boundary")


@kept_up_to(1_000)  # leaves
def _written_out(paths: tuple[tuple[str, ...], ...], missing: bool, where: str) -> Hierarchy:
    """Return the hierarchy of some paths: the next job often has the same, whatever its rows are."""
    return Hierarchy.from_paths(paths, missing=missing, where=where)


def _refuse_bracketed(name: str, support: Mapping[str, int], attribute: Attribute) -> None:
    """Refuse values that nobody could tell from groups of a fan-out, unless their order lists them."""
    known = attribute.order if isinstance(attribute.order, list) else []
    odd = {
        value: rows for value, rows in support.items() if re.fullmatch(r"\[.*\]", value, re.S) and value not in known
    }
    if odd and attribute.role != "items":
        raise DataError(
            f"column {name!r} has values in square brackets, which stand for groups of a fan-out: {tally(odd)}"
        )


def _from_data(name: str, paths: Sequence[Sequence[str]], missing: bool) -> Hierarchy:
    """Build a hierarchy over the values of a column; one without any (all missing) has the missing leaf alone."""
    if not paths and not missing:
        raise DataError(f"column {name!r} has no values")
    if not paths:
        return Hierarchy.from_tree({}, missing=missing, where=f"column {name!r}")
    try:
        return Hierarchy.from_paths(paths, missing=missing, where=f"the hierarchy over column {name!r}")
    except SpecError as error:  # the data brought the clash: a value that looks like a label of the hierarchy
        raise DataError(str(error)) from None


def _ordered(name: str, attribute: Attribute, support: Mapping[Key, int]) -> list[Key]:
    """Return keys in the attribute's order: as listed, by number, by day, or by text; numbers by value if all are."""
    keys = list(support)
    if isinstance(attribute.order, list):
        rank = {word: position for position, word in enumerate(attribute.order)}
        strange = {label(key): support[key] for key in support if label(key) not in rank}
        if strange:
            found = tally(strange, attribute.order)
            raise DataError(f"column {name!r} has values that attributes.{name}.order does not list: {found}")
        return sorted(keys, key=lambda key: rank[label(key)])
    if attribute.order is None and all(isinstance(key, str) for key in keys):
        try:
            return sorted(keys, key=lambda key: (decimal_of(str(key)), str(key)))
        except (ValueError, InvalidOperation):
            pass
    return sorted(keys)
