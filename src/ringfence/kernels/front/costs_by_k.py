"""Fronts: what the nodes of a lattice cost at every k, from few class tables and without hashing.

The attributes are of two kinds. A table of *entries* has the outer ones recoded and the inner ones as they are.
`contexts[e]` is the class that entry e would belong to if the inner attributes were at their top, `cells[e]` the
combination of its inner leaves as one number. A node of the inner attributes takes each cell to one of a few blocks.
Entries that share a class there share their context, and so the pair (context, block) names the class: rows are added
up in an array that has a place for every pair.

At a node, k decides only which sizes of classes are lost. So what would be lost is added up by size, entry by entry:
`rows_at[s]` rows lie in classes of s rows, which are rows_at[s] / s classes, and losing them adds `spare_at[s]` to the
cost. Every k above one size and up to the next that occurs loses the same classes: the larger size stands for all.

What rows would add to the cost if they were lost is their *spare*. For discernibility it is N less the size of their
class for each row, for cell losses what their cells lack to those of a suppressed row, for labels the majority of the
class. `steps` are the sizes that occur.

The size of a class is its number of rows, or of different people. People who are in two entries cannot be added up, so
where they are counted every entry is a class by itself: there are no inner attributes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit

SIZES, CELLS, LABELS = 0, 1, 2  # what a loss looks at

SAME = 1e-12  # costs this close, relatively, are equal


class Entries(NamedTuple):
    """A table of entries: arrays over entries, and over pairs (home, label) with their rows where labels count.

    `sizes` are what k counts: rows, as `weights`, or people. Labels are numbers below `label_count`.
    """

    contexts: Ints
    cells: Ints
    weights: Longs
    sizes: Longs
    spares: Floats
    homes: Ints
    labels: Ints
    label_rows: Longs
    label_count: int


class Inner(NamedTuple):
    """The nodes of the inner attributes, each before those above it; z is a node.

    `blocks[z, cell]` is one of `counts[z]`; `spares[z, cell]` is the spare of a row of the cell, in inner attributes;
    `losses[z]` is the loss of all inner cells; `numbers[z]` is what the inner levels add to the number of a node;
    `above[z]` are the nodes one level higher in one attribute, or -1.
    """

    blocks: Ints
    counts: Longs
    spares: Floats
    losses: Floats
    numbers: Longs
    above: Ints


class FrontTerms(NamedTuple):
    """The kind of loss and what its sums are divided by; N; the least k, how many rows may be lost, and whether k
    counts people."""

    kind: int
    scale: float
    rows: int
    least: int
    limit: int
    people: bool


class Best(NamedTuple):
    """The best release that loses all classes smaller than k, and keeps one of size k; arrays over k."""

    cost: Floats
    lost: Longs
    classes: Longs
    node: Longs


class Judged(NamedTuple):
    """For each node by number: the largest k that it can have (0 if less than was asked for), and its release there."""

    k: Longs
    cost: Floats
    lost: Longs
    classes: Longs


class FrontScratch(NamedTuple):
    """Scratch. All but the first three are zero whenever no kernel is at work."""

    hopeless: npt.NDArray[np.bool_]
    places: Longs
    steps: Longs
    sums: Longs
    tops: Longs
    counts: Longs
    rows_at: Longs
    classes_at: Longs
    spare_at: Floats


@njit(cache=True, nogil=True)
def number_cells(keys: Longs, size: int, fields: Longs, strides: Longs, cells: Ints) -> None:
    """Fill `cells` with the leaves in some fields of each key as one number, leaf · stride added up over the fields."""
    cells[:size] = 0
    for f in range(fields.shape[0]):
        row, shift, mask, stride = keys[fields[f, 0]], fields[f, 1], fields[f, 2], strides[f]
        for i in range(size):
            cells[i] += ((row[i] >> shift) & mask) * stride


@njit(cache=True, nogil=True)
def add_up_spares(
    keys: Longs, weights: Longs, tallies: Floats, size: int, fields: Longs, savings: Floats, spares: Floats
) -> None:
    """Fill `spares` with the sum over fields of (the field's saving) · (the tally for it, or else the rows)."""
    spares[:size] = 0.0
    for f in range(fields.shape[0]):
        row, shift, mask, table = keys[fields[f, 0]], fields[f, 1], fields[f, 2], savings[fields[f, 3] :]
        for i in range(size):
            rows = tallies[f, i] if len(tallies) else float(weights[i])
            spares[i] += table[(row[i] >> shift) & mask] * rows


@njit(cache=True, nogil=True)
def judge_nodes(
    entries: Entries,
    inner: Inner,
    outer_loss: float,
    number: int,
    terms: FrontTerms,
    best: Best,
    judged: Judged,
    room: FrontScratch,
) -> int:
    """Judge every inner node over a table of entries, at each k that the terms allow; return how many it took.

    `outer_loss` is the loss of the outer cells, `number` what the outer levels add to the number of a node. A node
    below one that loses too many rows at the least k is left out: its classes are parts of those, and a part of a class
    with fewer than k rows or people has fewer than k.
    """
    looked_at, hopeless = 0, room.hopeless
    hopeless[:] = False
    for z in range(len(inner.counts) - 1, -1, -1):
        for higher in inner.above[z]:
            hopeless[z] |= higher >= 0 and hopeless[higher]
        if not hopeless[z]:
            looked_at += 1
            add_up_classes(entries, inner.blocks[z], inner.counts[z], room.places, room.sums)
            found = tabulate_sizes(entries, terms, room)
            hopeless[z] = found == 0
            if found > 0:
                loss = outer_loss + inner.losses[z]
                _judge_node(entries, inner.spares[z], loss, number + inner.numbers[z], terms, found, best, judged, room)
            for e in range(len(entries.weights)):
                room.sums[room.places[e]] = 0
    return looked_at


@njit(cache=True, nogil=True)
def _judge_node(
    entries: Entries, inner_spares: Floats, cell_loss: float, node: int, terms: FrontTerms, found: int, best: Best,
    judged: Judged, room: FrontScratch,
) -> None:  # fmt: skip
    """Offer a node's releases to `best`, each at the largest k that it stands for; keep the last in `judged`.

    `found` sizes of its classes have been tabulated; they are cleared.
    """
    steps, rows_at, classes_at, spare_at = room.steps[:found], room.rows_at, room.classes_at, room.spare_at
    classes, last, below = 0, 0, 0
    for i in range(found):
        classes += classes_at[steps[i]]
        if below <= terms.limit:
            last = i  # all smaller sizes can be lost
        below += rows_at[steps[i]]
    if terms.kind == SIZES and terms.people:
        cost = tabulate_squares_of_entries(entries, terms.rows, spare_at)
    elif terms.kind == SIZES:
        cost = tabulate_squares(steps, terms.rows, rows_at, spare_at)
    elif terms.kind == CELLS:
        cost = cell_loss
        if last > 0:
            tabulate_cells(entries, inner_spares, steps[last], room)
    else:
        cost = float(terms.rows - tabulate_majorities(entries, room))
    lost = 0
    for i in range(last + 1):
        k = steps[i]
        if k >= terms.least:
            offer(best, k, cost / terms.scale, lost, classes, node)
            judged.k[node], judged.cost[node] = k, cost / terms.scale
            judged.lost[node], judged.classes[node] = lost, classes
        lost += rows_at[k]
        cost += spare_at[k]
        classes -= classes_at[k]
    for s in steps:
        rows_at[s] = 0
        classes_at[s] = 0
        spare_at[s] = 0.0


@njit(cache=True, nogil=True)
def add_up_classes(entries: Entries, blocks: Ints, count: int, places: Longs, sums: Longs) -> None:
    """Fill `places` with the place of each entry's class, of `count` a context, and `sums` there with its size."""
    for e in range(len(entries.weights)):
        place = np.int64(entries.contexts[e]) * count + blocks[entries.cells[e]]
        places[e] = place
        sums[place] += entries.sizes[e]


@njit(cache=True, nogil=True)
def tabulate_sizes(entries: Entries, terms: FrontTerms, room: FrontScratch) -> int:
    """Add up rows by the size of their class; fill `steps` with the sizes that occur, rising; return how many do.

    Return 0, with nothing added up, if more rows than may be lost lie in classes smaller than the least k.
    """
    weights = entries.weights
    places, sums, steps, rows_at, classes_at = room.places, room.sums, room.steps, room.rows_at, room.classes_at
    below, found = 0, 0
    if terms.limit < terms.rows:
        for e in range(len(weights)):
            below += weights[e] if sums[places[e]] < terms.least else 0
        if below > terms.limit:
            return 0
    for e in range(len(weights)):
        s = sums[places[e]]
        if rows_at[s] == 0:
            steps[found] = s
            found += 1
        rows_at[s] += weights[e]
        classes_at[s] += 1
    _sort(steps[:found])
    if not terms.people:  # a class has several entries
        for s in steps[:found]:
            classes_at[s] = rows_at[s] // s
    return found


@njit(cache=True, nogil=True)
def _sort(numbers: Longs) -> None:
    """Sort in place, by insertion over gaps that shrink (Shell 1959): `numpy.sort` takes seconds to compile."""
    gap = len(numbers) // 2
    while gap > 0:
        for i in range(gap, len(numbers)):
            number, j = numbers[i], i
            while j >= gap and numbers[j - gap] > number:
                numbers[j] = numbers[j - gap]
                j -= gap
            numbers[j] = number
        gap = 1 if gap == 2 else gap * 5 // 11


@njit(cache=True, nogil=True)
def tabulate_squares(steps: Longs, rows: int, rows_at: Longs, spare_at: Floats) -> float:
    """Set what losing the classes of each size adds to the sum of squares, a lost row counting N; return the sum."""
    total = 0.0
    for s in steps:
        total += float(s) * rows_at[s]
        spare_at[s] = float(rows - s) * rows_at[s]
    return total


@njit(cache=True, nogil=True)
def tabulate_squares_of_entries(entries: Entries, rows: int, spare_at: Floats) -> float:
    """As `tabulate_squares`, where every entry is a class, and its size is not its number of rows."""
    total = 0.0
    for e in range(len(entries.weights)):
        weight = float(entries.weights[e])
        total += weight * weight
        spare_at[entries.sizes[e]] += (rows - weight) * weight
    return total


@njit(cache=True, nogil=True)
def tabulate_cells(entries: Entries, spares: Floats, stop: int, room: FrontScratch) -> None:
    """Add up the spares of entries by the size of their class, for sizes below `stop`.

    No cell costs more than a lost one, so a spare below 0 is one of 0.
    """
    for e in range(len(entries.weights)):
        s = room.sums[room.places[e]]
        if s < stop:
            room.spare_at[s] += max(0.0, entries.spares[e] + entries.weights[e] * spares[entries.cells[e]])


@njit(cache=True, nogil=True)
def tabulate_majorities(entries: Entries, room: FrontScratch) -> int:
    """Add up by size the rows that have the commonest label of their class; return how many there are of any size.

    In `counts`, each class has a place for every label.
    """
    places, tops, counts, labels = room.places, room.tops, room.counts, entries.label_count
    for p in range(len(entries.homes)):
        place = places[entries.homes[p]]
        at = place * labels + entries.labels[p]
        counts[at] += entries.label_rows[p]
        tops[place] = max(tops[place], counts[at])
    for p in range(len(entries.homes)):
        counts[places[entries.homes[p]] * labels + entries.labels[p]] = 0
    total = 0
    for e in range(len(entries.weights)):
        top = tops[places[e]]
        tops[places[e]] = 0  # each class is counted once
        room.spare_at[room.sums[places[e]]] += top
        total += top
    return total


@njit(cache=True, nogil=True)
def offer(best: Best, k: int, cost: float, lost: int, classes: int, node: int) -> None:
    """Take a release for the best at k if it is cheaper, else if fewer rows are lost, else if its number is smaller."""
    if _beats(cost, lost, node, best.cost[k], best.lost[k], best.node[k]):
        best.cost[k], best.lost[k], best.classes[k], best.node[k] = cost, lost, classes, node


@njit(cache=True, nogil=True)
def _beats(cost: float, lost: int, node: int, other_cost: float, other_lost: int, other_node: int) -> bool:
    if other_node < 0:
        return True
    if abs(cost - other_cost) > SAME * max(abs(cost), abs(other_cost)):
        return cost < other_cost
    return lost < other_lost or (lost == other_lost and node < other_node)


@njit(cache=True, nogil=True)
def sweep(best: Best, runs: Longs) -> int:
    """Fill `runs` with the ks, falling, whose best release is the best for all k down to the next; return how many.

    A release that loses all classes below k keeps its promise for every smaller k, so the best for k is the best of all
    that stand at k or above. (For a smaller k its node may lose fewer classes: that release stands lower, costs no more
    and loses fewer rows, so it wins.)
    """
    count, current = 0, -1
    for k in range(len(best.node) - 1, -1, -1):
        if best.node[k] < 0:
            continue
        if current < 0 or _beats(
            best.cost[k], best.lost[k], best.node[k], best.cost[current], best.lost[current], best.node[current]
        ):
            current = k
            runs[count] = k
            count += 1
    return count
