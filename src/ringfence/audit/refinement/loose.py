"""Loose labels: those that do not tell which values are there. What they may be, by the audit's own reading.

Ranges end at points of a grid that the specification states, and a label of a tree is none that would tell a value: of
two children of which one has one value, that would be there. So where a group lies under such a label, the next one
above is published, and who sees that one does not know which of the two it was.
"""

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from ringfence.audit.labels.spelling import as_number
from ringfence.audit.labels.trees import Tree
from ringfence.spec.attributes import Attribute
from ringfence.spec.hierarchies import DateHierarchy, DatePart, IntervalHierarchy

MONTHS: dict[DatePart, tuple[int, ...]] = {"month": tuple(range(1, 13)), "quarter": (1, 4, 7, 10), "year": (1,)}


def grid_test(attribute: Attribute) -> Callable[[str], bool]:
    """Return what tells points of the grid of an attribute from other numbers and days."""
    match attribute.grid:
        case IntervalHierarchy(intervals=widths, start=start):
            first, width = Fraction(str(start)), Fraction(str(widths[0]))
            return lambda text: ((Fraction(as_number(text) or 0) - first) / width).denominator == 1
        case DateHierarchy(dates=parts):
            return lambda text: _begins(text, parts[0])
    return lambda text: False  # noqa: ARG005  # without a grid, there are no points


def _begins(text: str, part: DatePart) -> bool:
    """Whether a day is the first of some part of the calendar.

    >>> _begins("2024-04-01", "quarter"), _begins("2024-05-01", "quarter"), _begins("2024-04-01 08:00:00", "month")
    (True, False, False)
    """
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return False
    return day.day == 1 and day.month in MONTHS.get(part, (1,)) and (part != "decade" or day.year % 10 == 0)


def loosened(tree: Tree) -> Tree:
    """Return a tree without the labels that would tell a value.

    >>> tree = Tree.of([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> loosened(tree).paths
    (('nurse', '*'), ('doctor', '*'), ('cook', '*'))
    """
    children: dict[str | None, dict[str | None, None]] = {}
    for path in tree.paths:
        for low, high in pairwise(path):
            if low != high:
                children.setdefault(high, {})[low] = None
    gone: set[str | None] = set()

    def held(label: str | None) -> int:
        values = tree.held(label)
        assert values is not None
        return len(values[0])

    def below(label: str | None) -> list[str | None]:
        """Return what is under a label once the labels under it that tell have gone."""
        found = [each for child in children.get(label, ()) for each in (below(child) if child in children else [child])]
        if label != tree.root and len(found) == 2 and 1 in map(held, found):
            gone.add(label)
            return found
        return [label] if label != tree.root else found

    below(tree.root)
    return Tree.of([tuple(label for label in path if label not in gone) for path in tree.paths if path[0] is not None])
