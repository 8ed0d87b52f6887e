"""Soft cuts: how rows are parted so that rings of different sensitive values lie among rows that are alike.

A group G of n rows is cut in two by a quasi-identifier if both parts can be dealt out into such rings. *Whether* they
can depends on where sensitive values lie, and a cut that is seen not to be made would tell. So it is refused by chance
as well, the rarer the more room there is, and whoever is in a group where a cut was refused gets a wider ring.

The price q of a group bounds what refusals above it can have told: let U be `UNIT`. A ring of width w keeps a promise
of 1/l if (w - 1) U >= q, where q = (l - 1) U before anything was refused. A cut is tried at a higher price q' > q: it
is refused with probability (q / q')^(s + 1), where s >= 0 is how many rows of one value could be added to either part
until it could not be dealt out any more, and always if it cannot be dealt out now.

Why that is sound. Take a published ring, and permute the values of its rows. What was decided at a group from counts
of the whole of it stays as it was, since the ring lies inside; so does every cut that was made, since the ring lies
inside one of its parts. What remains are cuts that were refused. A ring holds each value at most once, so no count of a
part changes by more than 1, s by no more than 1, and the probability of a refusal by no more than q' / q. Along the
way from the first group to the ring these factors multiply to at most q / ((l - 1) U), with q the price in the end, and
that is at most (w - 1) / (l - 1) =: f. The deal of a group into rings does not change by exchanging rows of one ring
(`deal_out`), and each of the w slots that a row may carry is its own with probability 1/w (`draw_rings`). So the
posterior of any value is at most f / (f + w - 1) = 1/l, also for one who sees every decision, and knows all other rows.

Which cut is tried, at what price and when none is, may follow any rule that looks at quasi-identifiers, at counts of
the whole group and at what was refused above. It is fixed beforehand: to choose between rules by what they lose on the
table at hand would look at values again.
"""

import math
from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.secret import Stream, below

UNIT = 1024
"""Prices are whole numbers of so many parts, so that chances are exact."""
NEED = 2.0
"""A cut is tried if by rough estimate it is refused with e^-NEED or less."""
BALANCE = 0.25
"""The power of the smaller part's share by which a cut's gain counts: even parts are refused less often, and once one
is made, both can be cut again."""


class RingGround(NamedTuple):
    """Where rows lie, and what several rows lose that are published together.

    `ranks[r, a]` is the place of row r's value among those of attribute a. Every value beyond the first loses
    `steps[a]` where values are listed; where `spread[a]`, what lies between the `places[a]` of the outermost is lost.
    """

    ranks: Ints
    steps: Floats
    spread: Bools
    places: Floats


class _Seen(NamedTuple):
    """The values of a group, attribute by attribute: how often each occurs, which do, in order, and how many."""

    counts: Longs
    which: Longs
    different: Longs


class _Desk(NamedTuple):
    """Room to look at a group: how many rows `held` each sensitive value, and how many of them `inside` a part; of each
    attribute's cut what is lost, the last value of the first part and its rows; and room for rows and for counts."""

    held: Longs
    inside: Longs
    losses: Floats
    last: Longs
    size: Longs
    rows: Longs
    counts: Longs


@njit(cache=True, nogil=True)
def width_at(price: int) -> int:
    """Return the least width of rings that keep the promise at a price."""
    return -(-price // UNIT) + 1


@njit(cache=True, nogil=True)
def cut_softly(
    ground: RingGround, values: Ints, bounds: Longs, width: int, need: float, stream: Stream, rows: Longs, widths: Longs
) -> None:
    """Part the rows of each group, `bounds[g]` to `bounds[g + 1]` - 1, as far as both parts can be dealt out.

    Fill `rows` with the rows in the order of the parts, inside each as they were given. `widths[p]` becomes the width
    of the rings that a part is to be dealt into where it begins, and 0 elsewhere. In each group that was given, no
    value has more than one row in `width`.
    """
    attributes = ground.ranks.shape[1]
    stack, barred = np.empty((128, 3), np.int64), np.zeros((128, attributes), np.bool_)
    seen, desk = _room_for(ground, values)
    refused = np.empty(attributes, np.bool_)
    rows[:] = np.arange(len(rows))
    widths[:] = 0
    for g in range(len(bounds) - 1):
        stack[0] = bounds[g], bounds[g + 1], (width - 1) * UNIT
        barred[0] = False
        waiting = 1
        while waiting:
            waiting -= 1
            first, stop, price = stack[waiting]
            refused[:] = barred[waiting]
            cut = 0  # how many rows go to the first part
            if width > 1 and stop - first >= 2 * width_at(price):
                cut, price = _cut(ground, values, rows[first:stop], price, need, refused, stream, seen, desk)
            if cut == 0:
                widths[first] = width_at(price)
                continue
            halfway, ahead = first + cut, 2 * cut < stop - first  # the smaller part is next, so that few wait
            stack[waiting] = halfway if ahead else first, stop if ahead else halfway, price
            stack[waiting + 1] = first if ahead else halfway, halfway if ahead else stop, price
            barred[waiting] = refused
            barred[waiting + 1] = refused
            waiting += 2


@njit(cache=True, nogil=True)
def _room_for(ground: RingGround, values: Ints) -> tuple[_Seen, _Desk]:
    rows, attributes = ground.ranks.shape
    ranks, sensitive = int(ground.ranks.max()) + 1, int(values.max()) + 1
    seen = _Seen(
        np.zeros((attributes, ranks), np.int64),
        np.empty((attributes, ranks), np.int64),
        np.empty(attributes, np.int64),
    )
    desk = _Desk(
        np.zeros(sensitive, np.int64),
        np.zeros(sensitive, np.int64),
        np.empty(attributes),
        np.empty(attributes, np.int64),
        np.empty(attributes, np.int64),
        np.empty(rows, np.int64),
        np.empty((2, ranks), np.int64),
    )
    return seen, desk


@njit(cache=True, nogil=True)
def _cut(
    ground: RingGround,
    values: Ints,
    group: Longs,
    price: int,
    need: float,
    refused: Bools,
    stream: Stream,
    seen: _Seen,
    desk: _Desk,
) -> tuple[int, int]:
    """Cut a group in two if that may be; return how many rows go to the first part, 0 if it is not cut, and the price.

    The cuts of all attributes are tried, that which gains most first; those that were `refused` here or above are not
    tried again. If none is made, the group is halved along its order, where that tells nothing.
    """
    n, cut, most = len(group), 0, _count_values(values, group, desk.held)
    _look_around(ground, group, width_at(price), seen, desk)
    while cut == 0:
        a = _best(desk.losses)
        if a < 0:
            break
        desk.losses[a] = np.inf
        size, base = desk.size[a], width_at(price)
        low = min(size, n - size)
        if most <= low // base:  # both parts can be dealt out however values lie: nothing is told
            cut = size
        elif not refused[a]:
            higher = _next_price(price, n, most, low, need)
            if higher > price:
                room = _room(ground.ranks[:, a], values, group, desk.last[a], size, base, desk)
                if _is_refused(price, higher, room, stream):
                    price, refused[a] = higher, True
                else:
                    cut = size
        if cut:
            _part(ground.ranks[:, a], group, desk.last[a], desk.rows)
    if cut == 0 and most <= n // 2 // width_at(price):
        cut = n // 2
    _forget(seen)
    for r in group:
        desk.held[values[r]] = 0
    return cut, price


@njit(cache=True, nogil=True)
def _count_values(values: Ints, group: Longs, held: Longs) -> int:
    """Add up the sensitive values of a group; return how many rows have the commonest."""
    most = 0
    for r in group:
        held[values[r]] += 1
        most = max(most, held[values[r]])
    return most


@njit(cache=True, nogil=True)
def _next_price(price: int, n: int, most: int, low: int, need: float) -> int:
    """Return the price at which a cut is tried that leaves `low` rows in its smaller part; the same one if it is not.

    Of the widths that the group could still be dealt out into, it is the least at which a refusal is unlikely enough,
    if half the room remains that there would be without a tie of values and quasi-identifiers. Of what that width has
    room for, one half is left to the next cut that is tried, unless this one needs more.
    """
    base = width_at(price)
    room = low * (1.0 / base - most / n) / 2
    if room <= 0:
        return price
    width = width_at(price + 1)
    while most <= n // width:
        top = (width - 1) * UNIT
        if math.log(top / price) * room >= need:
            enough = price * math.exp(need / room)
            return max(price + 1, min(top, math.ceil(max(enough, math.sqrt(price * top)))))
        width += 1
    return price


@njit(cache=True, nogil=True)
def _room(ranks: Ints, values: Ints, group: Longs, last: int, size: int, width: int, desk: _Desk) -> int:
    """Return how many rows of one value either part of a cut could take up; less than 0 if it has too many of one."""
    first, second, held, inside = 0, 0, desk.held, desk.inside
    for r in group:
        inside[values[r]] += ranks[r] <= last
    for r in group:
        first = max(first, inside[values[r]])
        second = max(second, held[values[r]] - inside[values[r]])
    for r in group:
        inside[values[r]] = 0
    return min(size // width - first, (len(group) - size) // width - second)


@njit(cache=True, nogil=True)
def _is_refused(price: int, higher: int, room: int, stream: Stream) -> bool:
    """Draw whether a cut is refused: with probability (price / higher)^(room + 1), exactly."""
    tries = 0
    while tries <= room and below(stream, higher) < price:
        tries += 1
    return tries > room


@njit(cache=True, nogil=True)
def _part(ranks: Ints, group: Longs, last: int, left: Longs) -> None:
    """Put the rows of the first part before those of the second, each part as it was ordered."""
    kept = gone = 0
    for r in group:
        if ranks[r] <= last:
            group[kept] = r
            kept += 1
        else:
            left[gone] = r
            gone += 1
    group[kept:] = left[:gone]


@njit(cache=True, nogil=True)
def _best(losses: Floats) -> int:
    """Return the attribute whose cut loses least, the first of equal ones; -1 if none is left."""
    best = -1
    for a in range(len(losses)):
        if losses[a] < np.inf and (best < 0 or losses[a] < losses[best] - 1e-9 * abs(losses[best])):
            best = a
    return best


@njit(cache=True, nogil=True)
def _look_around(ground: RingGround, group: Longs, width: int, seen: _Seen, desk: _Desk) -> None:
    """Find for each attribute the cut between two values next to the middle, and what random rows then lose.

    `last[a]` is the last value of the first part, `size[a]` its rows, and `losses[a]` what all rows lose more than
    before if both parts are dealt out by chance into rings of `width`, so less than 0, the nearer to it the smaller the
    smaller part is; infinity if there is no such cut, or nothing is gained.
    """
    ranks, n, before = ground.ranks, len(group), 0.0
    losses, last, size, room = desk.losses, desk.last, desk.size, desk.counts
    for a in range(ranks.shape[1]):
        different = 0
        for r in group:
            value = ranks[r, a]
            if seen.counts[a, value] == 0:
                seen.which[a, different] = value
                different += 1
            seen.counts[a, value] += 1
        seen.which[a, :different] = np.sort(seen.which[a, :different])
        seen.different[a] = different
        before += n * _loss(ground, a, seen.counts[a], seen.which[a, :different], n, width)
    for a in range(ranks.shape[1]):
        losses[a], size[a], upto = np.inf, 0, 0
        for i in range(seen.different[a] - 1):
            upto += seen.counts[a, seen.which[a, i]]
            if min(upto, n - upto) >= width and (size[a] == 0 or abs(2 * upto - n) < abs(2 * size[a] - n)):
                last[a], size[a] = seen.which[a, i], upto
        if size[a]:
            after = 0.0
            for other in range(ranks.shape[1]):
                which = seen.which[other, : seen.different[other]]
                for value in which:
                    room[0, value] = 0
                for r in group:
                    room[0, ranks[r, other]] += ranks[r, a] <= last[a]
                for value in which:
                    room[1, value] = seen.counts[other, value] - room[0, value]
                after += size[a] * _loss(ground, other, room[0], which, size[a], width)
                after += (n - size[a]) * _loss(ground, other, room[1], which, n - size[a], width)
            if after < before - 1e-9 * before:
                losses[a] = (after - before) * (min(size[a], n - size[a]) / n) ** BALANCE


@njit(cache=True, nogil=True)
def _loss(ground: RingGround, a: int, counts: Longs, which: Longs, n: int, width: int) -> float:
    """Return what `width` random ones of n rows may be expected to lose in an attribute, published together."""
    total, before, previous = 0.0, 0, -1
    for value in which:
        if counts[value] == 0:
            continue
        if not ground.spread[a]:
            total += ground.steps[a] * (1.0 - _none(n, counts[value], width))
        elif previous >= 0:  # what lies between two values is lost if rows of both sides are among them
            between = ground.places[a, value] - ground.places[a, previous]
            total += between * (1.0 - _none(n, before, width) - _none(n, n - before, width))
        before, previous = before + counts[value], value
    return total if ground.spread[a] else total - ground.steps[a]


@njit(cache=True, nogil=True)
def _none(n: int, marked: int, width: int) -> float:
    """Return the probability that none of the marked rows is among `width` random ones of n."""
    chance = 1.0
    for i in range(width):
        if n - marked - i <= 0:
            return 0.0
        chance *= (n - marked - i) / (n - i)
    return chance


@njit(cache=True, nogil=True)
def _forget(seen: _Seen) -> None:
    for a in range(len(seen.different)):
        for i in range(seen.different[a]):
            seen.counts[a, seen.which[a, i]] = 0
