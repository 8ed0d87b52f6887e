"""How many published rows have each value of each quasi-identifier, as far as that may be told: the counts beside a
release.

Whoever reads `*` or `[20, 39]` can spread it by these counts instead of evenly. Each line is of k rows or more, of k
people or more where people count; what fewer have is counted together:

- Numbers, dates and listed orders in ranges of neighbours: from the first on, a range ends as soon as it has k.
- All else under the lowest node of the hierarchy at which k have come together. The line of a node is about the values
  below it that have no line of their own, nor a lower node that has one.
- What is left is `*`: all values that no other line is about. If it has fewer than k, the smallest line joins it.

So the lines are about different rows, and about all of them: nothing of fewer than k comes out by taking lines from
each other or from the whole. No value is named that fewer than k have: ranges end at the roundest point between two
values, and a line tells nothing of which values below it occur. Only ranges over a listed order end at values of it.

Why the promise stays (docs/promise.md says it in full): the adversary of k knows the quasi-identifiers of everyone, and
may as well know who is in which class. The counts follow from that, so that they tell them nothing; whoever knows less
has the mean of what the first would say in each case that is possible, which is no more than 1 in k.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from ringfence.arrays import Longs
from ringfence.census.census import Quasi
from ringfence.plans.published import Published
from ringfence.rows.sources import ATTRIBUTE, COUNTED, VALUE
from ringfence.spec import Spec
from ringfence.spec.hierarchies import FanoutHierarchy
from ringfence.values.hierarchy import ROOT
from ringfence.values.keys import MOST_DIGITS, OnLine, label, quoted

LEAST = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
"""The parts of a moment below its year, each with the first that it can be."""


def counted_values(published: Published, spec: Spec) -> pa.Table:
    """Return the counts of every quasi-identifier: the columns attribute, value and rows.

    Lines stand in the order of values, where there is one, else in that of their labels; a missing value, which has no
    label, after these, and `*` last.
    """
    lines = [
        (quasi.name, shown, rows)
        for place, quasi in enumerate(published.census.quasi)
        for shown, rows in _lines(quasi, _tally(published, place), spec)
    ]
    kinds = {ATTRIBUTE: pa.string(), VALUE: pa.string(), COUNTED: pa.int64()}
    return pa.table(
        {name: pa.array([line[place] for line in lines], kind) for place, (name, kind) in enumerate(kinds.items())}
    )


@dataclass(frozen=True, eq=False)
class _Tally:
    """How many rows have each leaf of an attribute; and where people count, `people[starts[v] : starts[v + 1]]` are
    those who have leaf v."""

    rows: Longs
    people: Longs | None = None
    starts: Longs | None = None

    def size(self, leaves: Sequence[int]) -> int:
        """Return how many have one of these leaves: people where these count, else rows."""
        if self.people is None or self.starts is None:
            return int(self.rows[[*leaves]].sum())
        parts = [self.people[self.starts[leaf] : self.starts[leaf + 1]] for leaf in leaves]
        return len(parts[0]) if len(parts) == 1 else len(np.unique(np.concatenate(parts)))


def _tally(published: Published, place: int) -> _Tally:
    leaves, of = published.census.quasi[place].hierarchy.leaves, published.before[:, place]
    rows = np.bincount(of, published.weights, minlength=leaves).astype(np.int64)
    whose = published.whose
    if whose is None:
        return _Tally(rows)
    people = int(whose.values.max(initial=0)) + 1
    pairs = np.unique(of[whose.entries].astype(np.int64) * people + whose.values)
    return _Tally(rows, pairs % people, np.searchsorted(pairs // people, np.arange(leaves + 1)))


_Line = tuple[str | None, int]
"""A label and its number of rows."""


def _lines(quasi: Quasi, tally: _Tally, spec: Spec) -> list[_Line]:
    """Return the lines of an attribute."""
    hierarchy, k = quasi.hierarchy, spec.k
    order = _ordered(quasi, tally, spec)
    found, left = _by_tree(quasi, tally, spec) if order is None else _by_order(quasi, tally, k, *order)
    if left and found and tally.size(left) < k:
        above = {line.node for line in found}
        free = [line for line in found if not any(node in above for node in _way_up(quasi, line.node))]
        least = min(free, key=lambda line: (line.rows, line.label is None, line.label or ""))
        found.remove(least)
        left += least.leaves
    if order is None:
        found.sort(key=lambda line: (line.label is None, line.label or ""))
    missing = hierarchy.leaves - 1 if hierarchy.has_missing else None
    found.sort(key=lambda line: line.node == missing)
    rest = [(ROOT, int(tally.rows[left].sum()))] if left else []
    return [*((line.label, line.rows) for line in found), *rest]


@dataclass(frozen=True, eq=False)
class _Cell:
    """Leaves that are counted together: those of a `node` that no lower one has taken, or a range; then it is -1."""

    label: str | None
    rows: int
    leaves: list[int]
    node: int = -1


def _way_up(quasi: Quasi, node: int) -> list[int]:
    """Return the nodes above a node, without the root; none above a range."""
    hierarchy, above = quasi.hierarchy, []
    while node >= 0 and (node := int(hierarchy.parent[node])) != hierarchy.root:
        above.append(node)
    return above


def _by_tree(quasi: Quasi, tally: _Tally, spec: Spec) -> tuple[list[_Cell], list[int]]:
    """Return the cells of nodes, and the leaves that are left at the root. Children come before their parents.

    Groups of a fan-out are named by their first and last values, which may be anybody's: they are passed over.
    """
    hierarchy, cells = quasi.hierarchy, []
    fanned = isinstance(spec.attributes[quasi.name].hierarchy, FanoutHierarchy)
    left: dict[int, list[int]] = {leaf: [leaf] for leaf in np.flatnonzero(tally.rows).tolist()}
    for node in range(hierarchy.root):
        leaves = left.pop(node, [])
        if leaves and not (fanned and node >= hierarchy.leaves) and tally.size(leaves) >= spec.k:
            cells.append(_Cell(hierarchy.labels[node], int(tally.rows[leaves].sum()), leaves, node))
        elif leaves:
            left.setdefault(int(hierarchy.parent[node]), []).extend(leaves)
    return cells, left.get(hierarchy.root, [])


_Namer = Callable[[Sequence[list[int]], int], str]
"""Returns the label of one of several ranges, each of leaves in their order."""


def _ordered(quasi: Quasi, tally: _Tally, spec: Spec) -> tuple[list[int], _Namer] | None:
    """Return the leaves that occur in their order, without a missing value, and what names ranges of them; None where
    they have no order of their own. (That of letters would have ranges end at values.)"""
    attribute, labels = spec.attributes[quasi.name], quasi.hierarchy.labels
    there = [leaf for leaf in np.flatnonzero(tally.rows).tolist() if labels[leaf] is not None]
    there.sort(key=lambda leaf: int(quasi.ranks[leaf]))
    if attribute.measured and all(quasi.keys[leaf] is not None for leaf in there):
        return there, lambda ranges, number: _between(quasi, ranges, number)
    if isinstance(order := attribute.order, list) and {labels[leaf] for leaf in there} <= {*order}:
        place = {leaf: order.index(labels[leaf] or "") for leaf in there}
        return there, lambda ranges, number: _listed(order, place, ranges, number)
    return None


def _by_order(quasi: Quasi, tally: _Tally, k: int, leaves: list[int], named: _Namer) -> tuple[list[_Cell], list[int]]:
    """Return the cells of ranges and of a missing value, and the leaves that are left.

    Taking each range as short as can be makes the most of them; the last takes in what is left behind it.
    """
    ranges: list[list[int]] = [[]]
    for leaf in leaves:
        ranges[-1].append(leaf)
        if tally.size(ranges[-1]) >= k:
            ranges.append([])
    behind = ranges.pop()
    if ranges:
        ranges[-1] += behind
    left = [] if ranges else behind
    if len(ranges) == 1 and len(ranges[0]) > 1:  # all values on the line: it tells no more than `*`
        left = ranges.pop()
    labels = quasi.hierarchy.labels
    cells = [
        _Cell(labels[each[0]] if len(each) == 1 else named(ranges, number), int(tally.rows[each].sum()), each)
        for number, each in enumerate(ranges)
    ]
    missing = quasi.hierarchy.leaves - 1
    if quasi.hierarchy.has_missing and tally.rows[missing]:
        if tally.size([missing]) >= k:
            cells.append(_Cell(None, int(tally.rows[missing]), [missing], missing))
        else:
            left = [*left, missing]
    return cells, left


def _between(quasi: Quasi, ranges: Sequence[list[int]], number: int) -> str:
    """Return the label of a range of numbers or dates: from the roundest point before it to the one behind it."""

    def before(place: int) -> str | None:
        if place in (0, len(ranges)):
            return None
        last, first = quasi.keys[ranges[place - 1][-1]], quasi.keys[ranges[place][0]]
        return None if last is None or first is None else label(roundest(last, first))  # all on a line have a key

    low, high = before(number), before(number + 1)
    if low is None:
        return f"<{high}"
    return f">={low}" if high is None else f"[{low}, {high})"


def roundest(low: OnLine, high: OnLine) -> OnLine:
    """Return the roundest point above `low` and not above `high`.

    >>> roundest(Decimal(24), Decimal(31)), roundest(Decimal("-1.5"), Decimal("-1.25"))
    (Decimal('3E+1'), Decimal('-1.3'))
    >>> roundest(dt.date(2023, 11, 5), dt.date(2024, 3, 9)), roundest(dt.time(8, 10), dt.time(8, 40, 30))
    (datetime.date(2024, 1, 1), datetime.time(8, 40))
    """
    rounded = _round_numbers(high) if isinstance(high, Decimal) else _round_moments(high)
    above: Callable[[Any], bool] = low.__lt__  # both are of one kind
    return next((point for point in rounded if above(point)), high)


def _round_numbers(number: Decimal) -> Iterator[Decimal]:
    """Yield the number with ever more of its digits, rounded down."""
    with localcontext(prec=4 * MOST_DIGITS):
        for exponent in range(MOST_DIGITS + 1, -2 * MOST_DIGITS, -1):
            step = Decimal(1).scaleb(exponent)
            yield (number / step).to_integral_value(ROUND_FLOOR) * step


def _round_moments(moment: Any) -> Iterator[dt.date | dt.time]:
    """Yield the first moment of its year, its month, its day and so on."""
    parts = [part for part in ("year", *LEAST) if hasattr(moment, part)]
    for kept in range(1, len(parts)):
        yield moment.replace(**{part: LEAST[part] for part in parts[kept:]})


def _listed(order: Sequence[str], place: dict[int, int], ranges: Sequence[list[int]], number: int) -> str:
    """Return the label of a range of an order that is listed: what lies between two ranges goes to both by halves."""

    def begins(at: int) -> int:
        if at in (0, len(ranges)):
            return 0 if at == 0 else len(order)
        return (place[ranges[at - 1][-1]] + place[ranges[at][0]] + 1) // 2

    return f"[{quoted(order[begins(number)])}, {quoted(order[begins(number + 1) - 1])}]"
