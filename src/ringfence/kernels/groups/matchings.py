"""Matchings of rings: which row carries which published value.

In a ring of n rows, slot j is published as what rows j to j + k - 1 cover together, counted around. So a row may carry
any of k slots, and a slot may be carried by any of k rows: a regular bipartite graph. It falls into k perfect matchings
that share no edge, and one of them, drawn uniformly, is carried out. Each edge lies in exactly one of the k, so each is
the true one with probability exactly 1/k, however the k were found. A uniform draw over *all* perfect matchings would
not do: some edges lie in more of them than others.

An edge is known by its row and its offset: row i carries slot i - offset.
"""

import numpy as np

from ringfence.arrays import Ints, Longs
from ringfence.compiling import njit
from ringfence.kernels.secret import WORDS, Stream, below, refill, shuffle

NOBODY = -1


@njit(cache=True, nogil=True)
def draw_rings(starts: Longs, widths: Longs, stream: Stream, by_walks: bool, carrier: Longs) -> None:
    """Draw for each ring, rows `starts[r]` to `starts[r + 1]` - 1, who carries which slot: `carrier[slot]` is a row.

    The k of ring r is `widths[r]`. Which of the k matchings is to be carried out is drawn first, from 1 to k; later
    ones need not be found.
    """
    longest = 0
    for r in range(len(starts) - 1):
        longest = max(longest, starts[r + 1] - starts[r])
    offsets, pick = np.empty((longest, widths.max()), np.int32), np.empty(longest, np.int64)
    owner, choice = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for r in range(len(starts) - 1):
        first, size, k = starts[r], starts[r + 1] - starts[r], widths[r]
        fill_offsets(offsets, size, k)
        for left in range(k, k - 1 - below(stream, k), -1):
            next_matching(offsets[:size], left, stream, by_walks, pick[:size], owner[:size], choice[:size])
        for slot in range(size):
            carrier[first + slot] = first + owner[slot]


@njit(cache=True, nogil=True)
def fill_offsets(offsets: Ints, size: int, k: int) -> None:
    """Give every row all its k offsets."""
    for row in range(size):
        for offset in range(k):
            offsets[row, offset] = offset


@njit(cache=True, nogil=True)
def next_matching(
    offsets: Ints, left: int, stream: Stream, by_walks: bool, pick: Longs, owner: Longs, choice: Longs
) -> None:
    """Find a matching among the first `left` offsets of every row, and move its edges behind them: they are used up.

    `owner[slot]` becomes the row that carries it. `pick` and `choice` are room, with a place for each row.
    """
    if by_walks or left == 1:
        _match_by_walks(offsets, left, stream, pick, owner, choice)
    else:
        _match_as_printed(offsets, left, stream, pick, owner, choice)
    for row in range(len(pick)):
        used = offsets[row, pick[row]]
        offsets[row, pick[row]] = offsets[row, left - 1]
        offsets[row, left - 1] = used


@njit(cache=True, nogil=True)
def _slot(row: int, offset: int, size: int) -> int:
    return row - offset if row >= offset else row - offset + size


@njit(cache=True, nogil=True)
def _match_by_walks(offsets: Ints, left: int, stream: Stream, pick: Longs, owner: Longs, choice: Longs) -> None:
    """Match row after row by random walks: any slot that it may carry; if that is taken, its owner walks on.

    A walk that meets a free slot shows who must move. Each row is left by the edge that it was left by last: what the
    walk did before that was a loop, and the edges kept lead on in time, so that they meet no row twice.

    The expected length of all walks is of the order of n log n, since a regular graph of any degree leads back to each
    slot equally often: Goel, Kapralov, Khanna: Perfect Matchings in O(n log n) Time in Regular Bipartite Graphs. SIAM
    Journal on Computing 42 (2013), section 3. Steps are drawn by 32 bits without refusing any: that some are likelier
    by 2^-26 or less changes which matchings are found, not that each edge lies in one of them.
    """
    size, words, used = len(pick), stream.words, stream.used[0]  # the words at hand: calls would take most of the time
    owner[:] = NOBODY
    for start in range(size):
        row, matched = start, False
        while True:
            if used == WORDS:
                refill(stream)
                used = 0
            at = (words[used] * (left - 1 if matched else left)) >> 32
            used += 1
            if matched and at >= pick[row]:
                at += 1  # not the slot that it has: that is where the walk came from
            choice[row] = at
            slot = _slot(row, offsets[row, at], size)
            if owner[slot] == NOBODY:
                break
            row, matched = owner[slot], True
        row = start
        while row != NOBODY:
            pick[row] = choice[row]
            slot = _slot(row, offsets[row, pick[row]], size)
            row, owner[slot] = owner[slot], row
    stream.used[0] = used


@njit(cache=True, nogil=True)
def _start_anywhere(
    offsets: Ints, left: int, stream: Stream, given: Longs, pick: Longs, owner: Longs, waiting: Longs
) -> int:
    """Give the rows slots by a random permutation; return how many are `waiting`, having none that they may carry."""
    size, unmatched = len(pick), 0
    shuffle(stream, given)
    for row in range(size):
        owner[given[row]] = row
        pick[row] = NOBODY
        for at in range(left):
            if _slot(row, offsets[row, at], size) == given[row]:
                pick[row] = at
        if pick[row] == NOBODY:
            waiting[unmatched] = row
            unmatched += 1
    return unmatched


@njit(cache=True, nogil=True)
def _match_as_printed(offsets: Ints, left: int, stream: Stream, pick: Longs, owner: Longs, choice: Longs) -> None:
    """Match by random cycles with backtracking, from a random permutation on.

    Rows whose slot in the permutation is not theirs to carry look for another: its owner looks for another in turn,
    never twice the same, stepping back from dead ends, until the slot that the first row gave up is found.

    Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, Fig. 7,
    with the start of section 5.2.1.
    """
    size = len(pick)
    given, waiting = np.arange(size), np.empty(size, np.int64)
    visited, parent, edge = np.zeros(size, np.bool_), np.empty(size, np.int64), np.empty(size, np.int64)
    turns = np.empty((size, left), np.int32)
    for row in range(size):
        for at in range(left):
            turns[row, at] = at
    unmatched = _start_anywhere(offsets, left, stream, given, pick, owner, waiting)
    while unmatched:
        which = below(stream, unmatched)
        start = waiting[which]
        goal = given[start]
        visited[:] = False
        choice[:] = 0  # how many of its edges a row has tried on this walk
        row, slot = start, NOBODY
        while slot != goal:
            tried = choice[row]
            if tried == left:  # a dead end: back to the row that led here
                before = parent[given[row]]
                row = start if before == NOBODY else owner[before]
                continue
            if stream.used[0] == WORDS:
                refill(stream)
            other = tried + ((stream.words[stream.used[0]] * (left - tried)) >> 32)
            stream.used[0] += 1
            at = turns[row, other]  # any edge that was not tried yet: those that were stand before
            turns[row, other], turns[row, tried] = turns[row, tried], at
            choice[row] = tried + 1
            further = _slot(row, offsets[row, at], size)
            if visited[further]:
                continue
            visited[further] = True
            parent[further], edge[further] = (NOBODY if row == start else given[row]), at
            slot = further
            row = owner[further]
        while slot != NOBODY:  # back along the cycle, each row takes the slot that it led to
            before = parent[slot]
            mover = start if before == NOBODY else owner[before]
            given[mover], pick[mover] = slot, edge[slot]
            owner[slot] = mover
            slot = before
        still = 0
        for i in range(unmatched):
            if pick[waiting[i]] == NOBODY:
                waiting[still] = waiting[i]
                still += 1
        unmatched = still
