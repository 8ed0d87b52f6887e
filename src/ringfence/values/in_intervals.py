"""Trees of intervals: whether a tree that somebody wrote is over numbers, and says so by the names of its groups.

`20-29`, `[20, 30)` or `60+` over 20, 21, ... tells that these are numbers, which have an order and a width. Groups with
names of another kind may be over codes, of which the order says nothing.
"""

import re

import numpy as np

from ringfence.values.hierarchy import Hierarchy

_NUMBER = r"(-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)"
_VALUE = re.compile(_NUMBER, re.ASCII)
_BETWEEN = re.compile(rf"[\[(]{_NUMBER}, ?{_NUMBER}[\])]|{_NUMBER} ?[-–] ?{_NUMBER}", re.ASCII)
_ABOVE = re.compile(rf"(?:>=?|≥) ?{_NUMBER}|{_NUMBER} ?\+", re.ASCII)
_BELOW = re.compile(rf"(?:<=?|≤) ?{_NUMBER}", re.ASCII)


def in_intervals(tree: Hierarchy) -> bool:
    """Whether leaves are numbers, and every group below the root is an interval of them, by its name and its leaves.

    >>> in_intervals(Hierarchy.from_paths([("20", "20-29", "*"), ("25", "20-29", "*"), ("30", "30+", "*")]))
    True
    >>> in_intervals(Hierarchy.from_paths([("11", "Managers", "*"), ("12", "Managers", "*"), ("21", "Nurses", "*")]))
    False
    """
    names = tree.labels[: tree.leaves]
    if not all(name is not None and _VALUE.fullmatch(name) for name in names):
        return False
    numbers = np.array([float(name or "") for name in names])
    groups = range(tree.leaves, tree.root)
    return len(groups) > 0 and all(_is_interval(tree, group, numbers) for group in groups)


def _is_interval(tree: Hierarchy, group: int, numbers: np.ndarray) -> bool:
    bounds = _bounds(tree.labels[group] or "")
    inside = np.zeros(len(numbers), bool)
    inside[tree.first[group] : tree.stop[group]] = True
    held = numbers[inside]
    if bounds is None or held.min() < bounds[0] or held.max() > bounds[1]:
        return False
    between = (numbers >= held.min()) & (numbers <= held.max())
    return bool((between == inside).all())


def _bounds(label: str) -> tuple[float, float] | None:
    """Return from where to where an interval reaches, by its name; None if it has another."""
    if found := _BETWEEN.fullmatch(label):
        low, high = (float(end) for end in found.groups() if end is not None)
        return low, high
    if found := _ABOVE.fullmatch(label):
        return float(found[1] or found[2]), np.inf
    if found := _BELOW.fullmatch(label):
        return -np.inf, float(found[1])
    return None
