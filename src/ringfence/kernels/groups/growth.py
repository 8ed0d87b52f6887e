"""Growth: the cell around a tuple that covers what is asked, widened to the nearest tuple at each step.

Tuples of a group stand in an order that keeps neighbours together, and are looked at in *runs*. Of a run the smallest
and the largest leaf of each attribute are known. The leaf between them that is nearest to the cell loses least of them,
so what these leaves lose together is a lower bound for every tuple of the run, and far runs are passed over.
"""

from typing import NamedTuple, cast

import numpy as np

from ringfence.arrays import Ints, Longs, Words
from ringfence.compiling import njit
from ringfence.kernels.groups.cells import Cell, ClusterNeeds, Trees, new_cell, see, start_cell, suffice, widen

# Numbers of numpy, since numba would compile a function once more for each literal that it is called with.
NEVER = cast(int, np.int64(np.iinfo(np.int64).max))
NOWHERE = cast(int, np.int64(-1))
NONE = cast(int, np.int64(0))
WIDENS = cast(bool, np.bool_(True))
STAYS = cast(bool, np.bool_(False))
RUN = 24  # tuples that are looked at together


class Tuples(NamedTuple):
    """Distinct tuples: their leaves, `codes[t]`, and their rows.

    The different sensitive values of tuple t are `values[starts[t]]` up to those of the next, by attribute.
    """

    codes: Ints
    weights: Longs
    starts: Longs
    values: Ints


class Runs(NamedTuple):
    """The tuples left of a group, in runs: which they are, their leaves, and their rows, 0 once they are taken.

    `marks` has bit v modulo 64 for each value v of a tuple. `low` and `high` are the range of leaves of each run,
    `run_marks` the bits of all its values. `run_of[t]` is the run of tuple t, tuples counted from the group's first.
    """

    live: Ints
    codes: Ints
    rows: Longs
    marks: Words
    low: Ints
    high: Ints
    run_marks: Words
    run_of: Ints


@njit(cache=True, nogil=True)
def radii(bounds: Longs, trees: Trees, tuples: Tuples, asked: ClusterNeeds, out: Longs) -> None:
    """Fill `out` with a loss that no cluster of a tuple's group can beat; groups stand between neighbouring `bounds`.

    It is the smallest loss within which the tuple finds k rows and enough values, each row paired with it alone. Any
    two rows of a cluster lose no more than the cluster, since the lowest node over both is not above the cluster's. So
    the rows of a cluster that loses less would be too few, or have too few values.
    """
    for g in range(len(bounds) - 1):
        start, size = bounds[g], bounds[g + 1] - bounds[g]
        cell, runs = new_cell(size, trees, asked), new_runs(start, size, tuples)
        for t in range(start, start + size):
            out[t] = grow(t, runs.run_of[t - start], NEVER, STAYS, size, trees, tuples, asked, runs, cell)


@njit(cache=True, nogil=True)
def new_runs(start: int, size: int, tuples: Tuples) -> Runs:
    """Return the runs of `size` tuples from `start` on."""
    attributes, most = tuples.codes.shape[1], (size + RUN - 1) // RUN
    runs = Runs(
        np.arange(start, start + size).astype(np.int32),
        np.empty((size, attributes), np.int32),
        tuples.weights[start : start + size].copy(),
        np.empty(size, np.uint64),
        np.empty((most, attributes), np.int32),
        np.empty((most, attributes), np.int32),
        np.empty(most, np.uint64),
        np.empty(size, np.int32),
    )
    gather_runs(start, size, tuples, runs)
    return runs


@njit(cache=True, nogil=True)
def gather_runs(start: int, size: int, tuples: Tuples, runs: Runs) -> int:
    """Put the tuples that are left of the first `size` in the runs into runs anew; return how many they are."""
    left = 0
    for i in range(size):
        if runs.rows[i] == 0:
            continue
        t, run, opens = runs.live[i], left // RUN, left % RUN == 0
        for a in range(tuples.codes.shape[1]):
            code = tuples.codes[t, a]
            runs.codes[left, a] = code
            runs.low[run, a] = code if opens else min(code, runs.low[run, a])
            runs.high[run, a] = code if opens else max(code, runs.high[run, a])
        marks = np.uint64(0)
        for j in range(tuples.starts[t], tuples.starts[t + 1]):
            marks |= _bit(NONE + tuples.values[j])
        runs.marks[left] = marks
        runs.run_marks[run] = marks if opens else marks | runs.run_marks[run]
        runs.live[left], runs.rows[left], runs.run_of[t - start] = t, runs.rows[i], run
        left += 1
    return left


@njit(cache=True, nogil=True)
def grow(
    seed: int,
    first_run: int,
    limit: int,
    widens: bool,
    size: int,
    trees: Trees,
    tuples: Tuples,
    asked: ClusterNeeds,
    runs: Runs,
    cell: Cell,
) -> int:
    """Grow the cell around a seed, which stands in `first_run`, until it covers what is asked; return what it loses.

    While rows lack, it is widened to the nearest tuple; if only values lack, to the nearest that has a new one. Above
    `limit` the growth is given up and what the next step would lose is returned: `NEVER` if there is no next tuple. If
    it does not widen, the cell stays the seed's own, and covers all that it would lose no more with, one by one.
    """
    rows, loss = NONE, NONE
    start_cell(tuples.codes[seed], trees, cell)
    while True:
        more, nearest, chosen = _look_around(first_run, loss, size, tuples, asked, runs, cell)
        rows += more
        if rows >= asked.k:
            if suffice(cell.distinct, asked):
                return loss
            nearest, chosen = _look_for_values(first_run, size, tuples, asked, runs, cell)
        if nearest > limit or chosen == NOWHERE:
            return nearest
        loss = nearest
        if widens:
            widen(tuples.codes[chosen], trees, cell)


@njit(cache=True, nogil=True)
def too_far(run: int, limit: int, runs: Runs, cell: Cell) -> bool:
    """Whether widening the cell to any tuple of a run loses more than a limit."""
    loss = 0
    for a in range(len(cell.nodes)):
        loss += cell.table[a, min(max(cell.corner[a], runs.low[run, a]), runs.high[run, a])]
        if loss > limit:
            return True
    return False


@njit(cache=True, nogil=True)
def _widened(i: int, runs: Runs, cell: Cell) -> int:
    """Return what the cell loses when it is widened to the i-th tuple of the runs."""
    loss = 0
    for a in range(len(cell.nodes)):
        loss += cell.table[a, runs.codes[i, a]]
    return loss


@njit(cache=True, nogil=True)
def _look_around(
    first_run: int, loss: int, size: int, tuples: Tuples, asked: ClusterNeeds, runs: Runs, cell: Cell
) -> tuple[int, int, int]:
    """Cover all tuples within a loss; return their rows, the nearest of the others, and what widening to it loses.

    Of tuples that tie, the one with most rows is the nearest, then the first. Runs are looked at from that of the seed
    on, since near tuples that are found early spare the others.
    """
    stamp, rows, nearest, chosen = cell.stamp[0], NONE, NEVER, NOWHERE
    count = (size + RUN - 1) // RUN
    for step in range(count):
        run = (first_run + step) % count
        if too_far(run, nearest, runs, cell):
            continue
        for i in range(run * RUN, min(size, run * RUN + RUN)):
            if runs.rows[i] == 0 or cell.covered[i] == stamp:
                continue
            t, widened = runs.live[i], _widened(i, runs, cell)
            if widened <= loss:
                cell.covered[i] = stamp
                rows += runs.rows[i]
                for j in range(tuples.starts[t], tuples.starts[t + 1]):
                    see(tuples.values[j], asked, cell)
            elif widened < nearest or (widened == nearest and _comes_before(t, chosen, tuples)):
                nearest, chosen = widened, t
    return rows, nearest, chosen


@njit(cache=True, nogil=True)
def _look_for_values(
    first_run: int, size: int, tuples: Tuples, asked: ClusterNeeds, runs: Runs, cell: Cell
) -> tuple[int, int]:
    """Return what widening to the nearest tuple with a new value loses, and the tuple; only values that lack count.

    Of tuples that tie, the one with new values of most attributes, by weight, then by rows, then the first.
    """
    stamp, nearest, chosen, best = cell.stamp[0], NEVER, NOWHERE, 0.0
    wanted = _wanted(asked, cell)
    count = (size + RUN - 1) // RUN
    for step in range(count):
        run = (first_run + step) % count
        if runs.run_marks[run] & wanted == 0 or too_far(run, nearest, runs, cell):
            continue
        for i in range(run * RUN, min(size, run * RUN + RUN)):
            if runs.rows[i] == 0 or cell.covered[i] == stamp or runs.marks[i] & wanted == 0:
                continue
            t, widened = runs.live[i], _widened(i, runs, cell)
            if widened > nearest:
                continue
            gain = _gain(t, tuples, asked, cell)
            if gain > 0.0 and (widened < nearest or gain > best or (gain == best and _comes_before(t, chosen, tuples))):
                nearest, chosen, best = widened, t, gain
    return nearest, chosen


@njit(cache=True, nogil=True)
def _comes_before(t: int, other: int, tuples: Tuples) -> bool:
    """Whether a tuple has more rows than another, or as many and stands before it."""
    return tuples.weights[t] > tuples.weights[other] or (tuples.weights[t] == tuples.weights[other] and t < other)


@njit(cache=True, nogil=True)
def _gain(t: int, tuples: Tuples, asked: ClusterNeeds, cell: Cell) -> float:
    """Return the weight of the attributes of which values lack and a tuple has a new one."""
    gain, counted = 0.0, NOWHERE
    for j in range(tuples.starts[t], tuples.starts[t + 1]):
        value = tuples.values[j]
        owner = asked.owner[value]
        if owner != counted and cell.seen[value] != cell.stamp[0] and cell.distinct[owner] < asked.least[owner]:
            gain += asked.weights[owner]
            counted = owner
    return gain


@njit(cache=True, nogil=True)
def _wanted(asked: ClusterNeeds, cell: Cell) -> np.uint64:
    """Return the bits of all values that would be new where values lack; who has none of the bits has none of them."""
    bits = np.uint64(0)
    for value in range(len(asked.owner)):
        owner = asked.owner[value]
        if cell.seen[value] != cell.stamp[0] and cell.distinct[owner] < asked.least[owner]:
            bits |= _bit(value)
            if ~bits == 0:
                break
    return bits


@njit(cache=True, nogil=True)
def _bit(value: int) -> np.uint64:
    return np.uint64(1) << np.uint64(value & 63)
