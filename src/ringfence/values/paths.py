"""From leaf to root, by kind of hierarchy: files, nested tables, intervals, masks, dates, codes, fan-out."""

import csv
import datetime as dt
import io
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from ringfence.errors import DataError, SpecError
from ringfence.keeping import kept_up_to
from ringfence.rows.moments import read_moment
from ringfence.spec.attributes import Attribute
from ringfence.spec.checking import EXACT
from ringfence.spec.hierarchies import CodeSystem, DatePart, FileHierarchy, IntervalHierarchy, exact
from ringfence.spec.written import ISO
from ringfence.values.codes import SYSTEMS, looks_like_group
from ringfence.values.hierarchy import ROOT
from ringfence.values.keys import label, number, quoted, tally

MASKED = "*"
"""What stands in the place of a masked character."""


def sorted_paths(paths: list[tuple[str, ...]], attribute: Attribute, where: str) -> list[tuple[str, ...]]:
    """Put the leaves of a stated tree into the attribute's order where it has one, else leave them as they stand."""
    if isinstance(attribute.order, list):
        rank = {word: position for position, word in enumerate(attribute.order)}
        return sorted(paths, key=lambda path: rank.get(path[0], len(rank)))
    if attribute.numeric:
        numbered = []
        for leaf, *up in paths:
            try:
                numbered.append((number(leaf), tuple(up)))
            except (ValueError, InvalidOperation):
                raise SpecError(
                    f"{where} has the leaf {leaf!r}, which is not a number, but order = 'numeric'"
                ) from None
        return [(label(leaf), *up) for leaf, up in sorted(numbered, key=lambda path: path[0])]
    if attribute.dates:
        dated = ((read_moment(leaf, attribute.formats or [ISO]), leaf, up) for leaf, *up in paths)
        paths = [(leaf if moment is None else label(moment), *up) for moment, leaf, up in dated]
    return sorted(paths) if attribute.order == "lexical" else paths


def file_paths(path: Path, given: FileHierarchy, where: str) -> list[tuple[str, ...]]:
    """Read one path a row: leaf, parent, ..., root. Empty fields are left out, so short rows make an unbalanced
    tree."""
    try:
        with path.open(encoding=given.encoding, newline="") as file:
            content = file.read().removeprefix("\ufeff")
    except FileNotFoundError:
        raise SpecError(f"{where}.file: there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise SpecError(f"{where}.file: {str(path)!r} is a folder; it should be a file with one row a leaf") from None
    except (OSError, UnicodeError, LookupError) as error:
        raise SpecError(f"{where}.file: cannot read {str(path)!r} as {given.encoding}: {error}") from None
    try:
        paths, leafless = _paths_in(content, given.delimiter or _guess_delimiter(content))
    except csv.Error as error:
        raise SpecError(f"{where}.file: cannot read {str(path)!r}: {error}") from None
    if leafless is not None:
        raise SpecError(f"{where}.file: row {leafless} of {str(path)!r} has no leaf in its first field")
    if not paths:
        raise SpecError(f"{where}.file: {str(path)!r} is empty; it needs one row a leaf: leaf, parent, ..., root")
    return [*paths]


@kept_up_to(50_000)  # letters
def _paths_in(content: str, delimiter: str) -> tuple[tuple[tuple[str, ...], ...], int | None]:
    """Return the paths that a text writes out, each once, and the first row that has no leaf: a job asks for the same
    ones several times, and the next job often again."""
    paths: dict[tuple[str, ...], None] = {}  # a row that stands there twice says the same twice
    for row_number, row in enumerate(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter), 1):
        cells = tuple(cell for cell in row if cell != "")
        if row and row[0] == "" and cells:
            return (), row_number
        if cells:
            paths[cells] = None
    return tuple(paths), None


def _guess_delimiter(content: str) -> str:
    """Return the delimiter that the file uses most; `;` where it uses none, since a lone leaf needs none."""
    return max(";,\t|", key=content.count)


def tree_paths(tree: object, above: tuple[str, ...], where: str) -> list[tuple[str, ...]]:
    """Walk nested tables: a key is a group, a list holds leaves or further tables."""
    if isinstance(tree, str):
        return [(tree, *above)]
    if isinstance(tree, Mapping) and tree:
        return [path for key, below in tree.items() for path in tree_paths(below, (str(key), *above), where)]
    if isinstance(tree, list) and tree:
        return [path for below in tree for path in tree_paths(below, above, where)]
    raise SpecError(f"{where}.tree: {tree!r} under {above[0]!r} is not allowed; allowed: a label, a list or a table")


def interval_path(key: Decimal, given: IntervalHierarchy) -> tuple[str, ...]:
    """Return number, interval, wider interval, ..., root. Intervals hold their lower end, and not their upper."""
    widths, start = [exact(width) for width in given.intervals], exact(given.start)
    bottom = None if given.bottom is None else exact(given.bottom)
    top = None if given.top is None else exact(given.top)
    path = [label(key)]
    for width in widths:
        if bottom is not None and key < bottom:
            path.append(f"<{label(bottom)}")
        elif top is not None and key >= top:
            path.append(f">={label(top)}")
        else:
            steps = EXACT.divide_int(EXACT.subtract(key, start), width)
            low = EXACT.fma(steps, width, start)
            low = EXACT.subtract(low, width) if low > key else low  # integer division rounds towards zero
            high = EXACT.add(low, width)
            low = low if bottom is None else max(low, bottom)
            high = high if top is None else min(high, top)
            path.append(f"[{label(low)}, {label(high)})")
    return (*path, ROOT)


def mask_path(code: str, right: bool) -> tuple[str, ...]:
    """Return code, then the code with one more character masked each time, then the root.

    >>> mask_path("479", right=True)
    ('479', '47*', '4**', '*')
    """
    size = len(code)
    masked = [code[: size - n] + "*" * n if right else "*" * n + code[n:] for n in range(1, size)]
    return (code, *masked, ROOT)


DATE_PARTS: dict[DatePart, Callable[[dt.date], str]] = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
}


def date_path(day: dt.date, parts: Sequence[DatePart]) -> tuple[str, ...]:
    return (label(day), *(DATE_PARTS[part](day) for part in parts), ROOT)


def code_paths(name: str, counts: Mapping[str, int], system: CodeSystem) -> list[tuple[str, ...]]:
    """Return paths through the groups of a system of codes; what is no code of it is directly under the root."""
    given = SYSTEMS[system]
    above = {value: given.above(value) for value in counts}
    if above and not any(above.values()):
        raise DataError(
            f"column {name!r} has no {given.words} codes such as {given.example!r}, but {tally(counts)}; see"
            f" attributes.{name}.hierarchy, codes = {system!r}"
        )
    groups = {value: count for value, count in counts.items() if looks_like_group(value, system)}
    if groups:
        raise DataError(
            f"column {name!r} has values that look like groups of {given.words} codes, and could not be told from"
            f" these: {tally(groups)}; rename them, or put them into data.missing_values"
        )
    return [(value, *(labels or ()), ROOT) for value, labels in above.items()]


def fanout_paths(leaves: Sequence[str], fanout: int, between: str = ", ") -> list[tuple[str, ...]]:
    """Return paths through consecutive groups of `fanout`, groups of groups, ... up to one root.

    A group is called by its first and its last leaf.

    >>> fanout_paths(["a", "b", "c"], 2)
    [('a', '[a, b]', '*'), ('b', '[a, b]', '*'), ('c', 'c', '*')]
    """
    paths: list[tuple[str, ...]] = [(leaf,) for leaf in leaves]
    size = fanout
    while size < len(leaves):
        for start in range(0, len(leaves), size):
            group = leaves[start : start + size]
            name = group_label(group, between)
            for position in range(start, start + len(group)):
                paths[position] = (*paths[position], name)
        size *= fanout
    return [(*path, ROOT) for path in paths]


def group_label(group: Sequence[str], between: str = ", ") -> str:
    """Return what a group of a fan-out is called: by its first and its last leaf.

    >>> group_label(["a", "b", "c, d"]), group_label(["a"]), group_label(["a", "a"])
    ('[a, "c, d"]', 'a', 'a')
    """
    return group[0] if group[0] == group[-1] else f"[{quoted(group[0])}{between}{quoted(group[-1])}]"
