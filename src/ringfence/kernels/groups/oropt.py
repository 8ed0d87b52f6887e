"""Or-opt: an order is made shorter by moving runs of up to three neighbours to where they fit better.

Or: Traveling Salesman-Type Combinatorial Problems and Their Relation to the Logistics of Regional Blood Banking. 1976.
"""

import numpy as np

from ringfence.arrays import Bools, Floats, Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.groups.spans import BARE, Geometry, Span, distance, new_span

NOBODY = -1
LONGEST = 3
LEAST_GAIN = 1e-12
"""Less is a rounding error, and could go on for ever."""


@njit(**BARE)
def _far(space: Geometry, one: int, other: int, span: Span) -> float:
    """Return the distance of two tuples, 0 beyond the ends of the order."""
    if one == NOBODY or other == NOBODY:  # noqa: PLR1714  compiled, a test for membership costs more
        return 0.0
    return float(distance(space, one, other, span))


@njit(cache=True, nogil=True)
def shorten(space: Geometry, order: Longs, near: Ints, losses: Floats, sweeps: int) -> int:
    """Shorten an order in place, in at most so many sweeps over all tuples; return how many runs were moved.

    `near[t]` are tuples near t, nearest first, `losses[t]` their distances. Only tuples near the end of a run are tried
    as its new neighbours; one that is farther than what the run's removal saves cannot be worth it, nor those after it.
    A tuple is tried again only once something next to it has changed.
    """
    count = len(order)
    after, before = np.full(count, NOBODY), np.full(count, NOBODY)
    for i in range(count - 1):
        after[order[i]], before[order[i + 1]] = order[i + 1], order[i]
    restless, run, span, moves = np.ones(count, np.bool_), np.empty(LONGEST, np.int64), new_span(space), 0
    for _ in range(sweeps):
        moved = False
        for i in range(count):
            first = order[i]
            if not restless[first]:
                continue
            restless[first] = False
            last = first
            for length in range(LONGEST):
                run[length] = last
                if _relocate(space, run[: length + 1], after, before, near, losses, restless, span):
                    moves += 1
                    moved = True
                    break
                last = after[last]
                if last == NOBODY:
                    break
        if not moved:
            break
    start = order[0]
    while before[start] != NOBODY:
        start = before[start]
    for i in range(count):
        order[i] = start
        start = after[start]
    return moves


@njit(cache=True, nogil=True)
def _relocate(
    space: Geometry, run: Longs, after: Longs, before: Longs, near: Ints, losses: Floats, restless: Bools, span: Span
) -> bool:
    """Move a run to the first place found at which the order is shorter; return whether there is one."""
    first, last = run[0], run[-1]
    left, right = before[first], after[last]
    saved = _far(space, left, first, span) + _far(space, last, right, span) - _far(space, left, right, span)
    for turn in range(2 if len(run) > 1 else 1):
        head, tail = (first, last) if turn == 0 else (last, first)
        for i in range(near.shape[1]):
            other = near[head, i]
            if losses[head, i] >= saved - LEAST_GAIN:
                break
            for side in range(2):
                beyond = after[other] if side == 0 else before[other]
                if _holds(run, other) or _holds(run, beyond):
                    continue
                added = losses[head, i] + _far(space, tail, beyond, span) - _far(space, other, beyond, span)
                if added < saved - LEAST_GAIN:
                    _link(left, right, after, before, restless)
                    previous = other
                    for j in range(len(run) + 1):
                        member = beyond if j == len(run) else run[j] if turn == 0 else run[len(run) - 1 - j]
                        one, two = (previous, member) if side == 0 else (member, previous)
                        _link(one, two, after, before, restless)
                        previous = member
                    return True
    return False


@njit(cache=True, nogil=True)
def _holds(run: Longs, t: int) -> bool:
    held = False
    for j in range(len(run)):
        held |= run[j] == t
    return held


@njit(cache=True, nogil=True)
def _link(one: int, other: int, after: Longs, before: Longs, restless: Bools) -> None:
    """Let two tuples follow each other; NOBODY stands beyond the ends."""
    if one != NOBODY:
        after[one], restless[one] = other, True
    if other != NOBODY:
        before[other], restless[other] = one, True
