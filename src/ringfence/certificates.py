"""Checks the certificate of a dual bound by itself: of what searches for one, nothing is used here.

A certificate gives every row a price, in billionths of what a row can lose. It holds if no k rows that may be published
alike cost more together than k times what one of them then loses. Then no release loses less than all prices together:
the mean price over a larger group is the mean over its groups of k, none of which loses more than it; and a suppressed
row loses 1, which is no less than its price. All groups of k rows are gone through, dearest row first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from ringfence.arrays import Bools, Ints, Longs
from ringfence.census.census import Census, Quasi
from ringfence.compiling import njit
from ringfence.errors import DataError
from ringfence.judging.losses import cell_metrics

UNIT, ROUNDED, TAKEN_OFF = 10**9, 2, 4
"""Losses are counted in billionths; those of a cell may be rounded by so many, and more than that is taken off."""
FORMAT = "ringfence dual certificate 1"
MOST_LOOKS = 2_000_000_000
"""Sets of rows that are looked at before a check is given up: prices that were made to hold take far fewer."""
LINE, RANK, TREE, SET = range(4)
HELD, EXCEEDED, GIVEN_UP = range(3)


@dataclass(frozen=True)
class CheckedBound:
    """What came of a check: the bound that the prices prove, or the rows whose prices are more than they lose."""

    ok: bool
    bound: float
    rows: int
    tuples: int
    exceeded: tuple[tuple[str, ...], ...] = ()


class _Cells(NamedTuple):
    """What cells lose: tuple t has `codes[t, a]` of attribute a, whose `kind` says how values lose together."""

    kinds: Longs
    codes: Longs
    known: Bools
    tables: Longs
    parent: Ints
    stop: Ints


def check_certificate(
    content: Mapping[str, Any], census: Census, metric: str, shown: Sequence[str], least: int, most: int = MOST_LOOKS
) -> CheckedBound:
    """Return what a certificate proves of all releases of a census, each group of which has `least` rows or more.

    Raises
    ------
    DataError
        If it is none, or not of these rows, or proves less than it says; or if `most` looks did not settle it.
    """
    try:
        rows, stated = int(content["rows"]), float(content["bound"])
        codes, given = np.array(content["tuples"], np.int64), np.array(content["prices"], np.int64)
        values = [content["values"][quasi.name] for quasi in census.quasi]
        spelled = [tuple(values[a][leaf] for a, leaf in enumerate(row)) for row in codes.tolist()]
        known = dict(zip(spelled, given.tolist(), strict=True))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"this is no certificate of a dual bound of these columns ({error!r})") from None
    if content.get("format") != FORMAT:
        raise DataError(f"the format of the certificate is {content.get('format')!r}; allowed: {FORMAT!r}")
    if metric not in ("glm", "gcp", "use"):
        raise DataError(f"there are no certificates for {metric!r}; allowed: glm, gcp, use")
    if not 1 <= rows <= least:
        raise DataError(f"the certificate is about groups of {rows} rows, but groups may have {least}")
    labels = [[quasi.hierarchy.labels[leaf] for leaf in census.codes[:, a]] for a, quasi in enumerate(census.quasi)]
    there = list(zip(*labels, strict=True))
    if len(known) != len(given) or {*there} != known.keys():
        raise DataError("the certificate is about other rows: the combinations of values are not those of the data")
    prices = np.array([known[each] for each in there], np.int64)
    if prices.max() > UNIT or prices.min() < -UNIT:
        raise DataError("a row of the certificate has a price of more than it can lose")
    total = sum(int(w) * int(p) for w, p in zip(census.weights, prices, strict=True))
    bound = Fraction(total, census.rows * UNIT) - Fraction(TAKEN_OFF * len(census.quasi), UNIT)
    if Fraction(stated) > max(bound, Fraction(0)):
        raise DataError(f"the certificate says {stated:.9g}, but its prices add up to {float(bound):.9g} a row")
    ceilings = np.stack([quasi.hierarchy.ceilings[census.codes[:, a]] for a, quasi in enumerate(census.quasi)], axis=1)
    _, blocks = np.unique(ceilings, axis=0, return_inverse=True)
    order = np.lexsort((np.arange(len(prices)), -prices))
    group = np.full(rows, -1)
    spare = ROUNDED * len(census.quasi)
    cells = _cells(census, metric, shown)
    found = _exceeds(cells, blocks.reshape(-1), census.weights, prices, order, rows, spare, group, most)
    if found == GIVEN_UP:
        raise DataError(
            f"the certificate is neither proven nor refuted: {most:,} sets of rows were looked at, and there are more;"
            " certificates as Ringfence makes them take far fewer, so it may have been changed"
        )
    if found == EXCEEDED:
        exceeded = tuple(tuple(str(value) for value in there[t]) for t in group.tolist())
        return CheckedBound(False, 0.0, rows, len(prices), exceeded)
    return CheckedBound(True, stated, rows, len(prices))


def _cells(census: Census, metric: str, shown: Sequence[str]) -> _Cells:
    """Return what cells lose, by the definitions of the metrics (docs/how-it-works.md, losses)."""
    weights = [cell_metrics()[metric].weight(quasi) for quasi in census.quasi]
    parts = [
        _attribute(quasi, metric, form, Fraction(weight) / sum(map(Fraction, weights)))
        for quasi, form, weight in zip(census.quasi, shown, weights, strict=True)
    ]
    trees = [quasi.hierarchy for quasi in census.quasi]
    longest, nodes = max(len(part[2]) for part in parts), max(len(tree.parent) for tree in trees)
    codes = np.stack([part[1][census.codes[:, a]] for a, part in enumerate(parts)], axis=1)
    missing = [tree.has_missing * (tree.leaves - 1) or -1 for tree in trees]
    return _Cells(
        np.array([part[0] for part in parts], np.int64),
        codes,
        np.stack([census.codes[:, a] != missing[a] for a in range(len(trees))], axis=1),
        np.array([np.pad(part[2], (0, longest - len(part[2]))) for part in parts], np.int64),
        np.array([np.pad(tree.parent, (0, nodes - len(tree.parent))) for tree in trees], np.int32),
        np.array([np.pad(tree.stop, (0, nodes - len(tree.stop))) for tree in trees], np.int32),
    )


def _attribute(quasi: Quasi, metric: str, shown: str, share: Fraction) -> tuple[int, Longs, Longs]:
    """Return how the values of an attribute lose together, a number for each of its leaves, and a table of losses: by
    the distance of two ranks, by node, or by how many values there are."""
    tree, places = quasi.hierarchy, quasi.places

    def units(losses: Sequence[Fraction]) -> Longs:
        return np.array([round(share * loss * UNIT) for loss in losses], np.int64)

    def lost(held: int) -> Fraction:  # of so many values of the data
        if metric == "use":
            return 1 - Fraction(1, max(1, held))
        others = (tree.leaves if metric == "glm" else quasi.occurring) - 1
        return Fraction(max(0, held - 1), max(1, others))

    numbers = [Fraction(x) for x in places[~np.isnan(places)].tolist()]
    width = max(numbers, default=Fraction(0)) - min(numbers, default=Fraction(0)) or Fraction(1)
    leaves = np.arange(tree.leaves)
    if shown == "hierarchy":
        losses = []
        for first, stop in zip(tree.first.tolist(), tree.stop.tolist(), strict=True):
            if metric == "gcp":
                losses.append(lost(int((quasi.rows[first:stop] > 0).sum())))
            elif quasi.numeric:
                inside = [Fraction(x) for x in places[first:stop].tolist() if not isnan(x)]
                losses.append((max(inside) - min(inside)) / width if inside else Fraction(0))
            else:
                losses.append(lost(stop - first))
        return TREE, leaves, units(losses)
    if quasi.numeric and metric != "gcp":
        at = [Fraction(0) if isnan(x) else (Fraction(x) - min(numbers)) / width for x in places.tolist()]
        return LINE, units(at), np.zeros(1, np.int64)
    if shown == "range":  # as many values as occur between two, in the attribute's order
        before = np.empty(tree.leaves, np.int64)
        for ceiling in np.unique(tree.ceilings):
            inside = leaves[tree.ceilings == ceiling]
            inside = inside[np.argsort(quasi.ranks[inside], kind="stable")]
            before[inside] = np.cumsum(quasi.rows[inside] > 0)
        return RANK, before, units([lost(held) for held in range(1, tree.leaves + 1)])
    return SET, leaves, units([lost(held) for held in range(tree.leaves + 1)])


@njit(cache=True, nogil=True)
def _lost(cells: _Cells, group: Longs, count: int) -> int:
    """Return what a row loses that is published like the first rows of a group. What is missing has no place on a line,
    and adds nothing to what others lose there."""
    total = np.int64(0)
    for a in range(len(cells.kinds)):
        kind, low, high, held = cells.kinds[a], np.int64(1) << 62, -(np.int64(1) << 62), 0
        for i in range(count):
            t = group[i]
            code = cells.codes[t, a]
            if kind == SET:
                new = True
                for j in range(i):
                    new = new and cells.codes[group[j], a] != code
                held += new
            elif kind == TREE or cells.known[t, a]:
                low, high = min(low, code), max(high, code)
        if kind == SET:
            total += cells.tables[a, held]
        elif kind == TREE:
            node = low
            while cells.stop[a, node] <= high:
                node = np.int64(cells.parent[a, node])
            total += cells.tables[a, node]
        elif high > low:
            total += cells.tables[a, high - low] if kind == RANK else high - low
    return int(total)


@njit(cache=True, nogil=True)
def _within(
    cells: _Cells, blocks: Longs, prices: Longs, order: Longs, place: int, spare: int, group: Longs, near: Longs
) -> int:
    """Fill `near` with the tuples from a place on that a group with the first of them, the dearest, can have: k times
    its price is all that the group can cost."""
    count, seed = 0, order[place]
    for i in range(place, len(order)):
        group[1] = order[i]
        if blocks[order[i]] == blocks[seed] and _lost(cells, group, 2) + spare < prices[seed]:
            near[count] = order[i]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _exceeds(  # noqa: PLR0912  one walk, in which every step is short
    cells: _Cells,
    blocks: Longs,
    weights: Longs,
    prices: Longs,
    order: Longs,
    k: int,
    spare: int,
    group: Longs,
    limit: int,
) -> int:
    """Return whether some k rows of a block cost more than k times what one loses, and `spare`; `group` is then these.
    Given up after `limit` looks.

    Tuples stand in `order` of falling price. The members of a group are taken in this order: whoever comes next costs
    no more, and the group loses no less. `near[d]` are those that may come next when d are chosen.
    """
    near, counts, turns = np.empty((k + 1, len(order)), np.int64), np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    paid, looks = np.zeros(k + 1, np.int64), 0
    for place in range(len(order)):
        seed = order[place]
        if prices[seed] <= 0:
            return HELD  # the dearest row of all that are left
        group[0], paid[1] = seed, prices[seed]
        if k == 1:
            return EXCEEDED if prices[seed] > spare else HELD
        counts[1], turns[1], depth = _within(cells, blocks, prices, order, place, spare, group, near[1]), 0, 1
        looks += len(order) - place
        while 0 < depth < k:
            if looks > limit:
                return GIVEN_UP
            turn = turns[depth]
            if turn >= counts[depth]:
                depth -= 1
                continue
            turns[depth] = turn + 1
            t, used = near[depth, turn], 0
            for i in range(depth):
                used += group[i] == t
            if used >= weights[t]:
                continue
            group[depth] = t
            lost = k * (_lost(cells, group, depth + 1) + spare)
            cost = paid[depth] + prices[t]
            if cost + (k - depth - 1) * prices[t] <= lost:
                continue
            if depth + 1 == k:
                return EXCEEDED
            paid[depth + 1], turns[depth + 1], some = cost, 0, 0
            looks += counts[depth] - turn
            for i in range(turn, counts[depth]):
                group[depth + 1] = other = near[depth, i]
                most = cost + prices[other] + (k - depth - 2) * prices[t]  # the others may be as dear as the last one
                if most <= lost:
                    break
                if most > k * (_lost(cells, group, depth + 2) + spare):
                    near[depth + 1, some] = other
                    some += 1
            counts[depth + 1] = some
            depth += 1
    return HELD
