"""Cells that were taken out: what other tools make of them, beside what is judged here.

A missing cell is judged as a label of its own, and a row with `*` everywhere as one of a class of such rows. sdcMicro
takes a missing cell to fit any value (its manual on `freqCalc`; Templ, Kowarik, Meindl: Statistical Disclosure Control
for Micro-Data Using the R Package sdcMicro. Journal of Statistical Software 67(4), 2015), and ARX does not count rows
that it suppressed. Either is generous: who has the original knows who fits complete rows, strikes these people out,
and is left with those whose cells were taken out.
"""

from collections.abc import Iterator

import numpy as np

from ringfence.audit.counts import Column, Released, classes, total_by
from ringfence.audit.verdict import some

MOST_PATTERNS = 64


def gap_notes(released: Released, k: int) -> Iterator[str]:
    """Say what must be known of cells that were taken out: what counts as a value, and where others count otherwise."""
    masked = released.masked[released.firsts]
    if masked.all():
        yield "every row has '*' in every quasi-identifier: the release tells nothing of them any more"
    elif (released.sizes[masked] < k).any():
        yield (
            f"rows with '*' in every quasi-identifier are judged as a class, here of"
            f" {some(int(released.sizes[masked].sum()), 'row')}; tools that leave suppressed rows in the file do not"
            " count them, but who has the original knows whose they are: take them out of the file"
        )
    fails = released.incomplete.any() and released.sizes.min() < k
    fewest = fewest_fitting(released) if fails else None
    if fewest is not None and fewest > released.sizes.min():
        yield (
            f"a missing cell is judged as a label of its own; taken to fit any value, as sdcMicro counts, every row"
            f" would have {fewest} that fit, but who has the original strikes out those who fit complete rows"
        )
    for column in released.quasi:
        if {column.labels[code] for code in np.unique(column.codes)} == {None}:
            yield f"{column.name!r} is missing in every row: it tells nothing, and could be left out"
    for name, column in released.sensitive.items():
        missing = int(released.rows[column.codes == column.labels.index(None)].sum()) if None in column.labels else 0
        if missing:
            yield f"{name!r} is missing in {some(missing, 'row')}, which counts as a value of its own"


def fewest_fitting(released: Released) -> int | None:
    """Return the fewest rows that fit any row where a missing cell fits every label; None if it takes too long.

    Classes that miss the same columns are looked up together: two classes fit if they agree in the columns that
    neither misses.
    """
    firsts = [Column(each.name, each.labels, each.codes[released.firsts]) for each in released.quasi]
    known = np.stack([np.array([label is not None for label in each.labels])[each.codes] for each in firsts])
    patterns, pattern_of = np.unique(known, axis=1, return_inverse=True)
    if patterns.shape[1] > MOST_PATTERNS:
        return None
    members = [np.flatnonzero(pattern_of.ravel() == number) for number in range(patterns.shape[1])]
    fits = np.zeros(len(released.sizes), np.int64)
    for ours, mine in enumerate(members):
        for theirs, others in enumerate(members):
            both = np.concatenate([mine, others])
            shared = [each for place, each in enumerate(firsts) if patterns[place, ours] and patterns[place, theirs]]
            narrow = [Column(each.name, each.labels, each.codes[both]) for each in shared]
            firsts_of, group = classes(narrow, len(both))
            rows = total_by(group[len(mine) :], released.sizes[others], len(firsts_of))
            fits[mine] += rows[group[: len(mine)]]
    return int(fits.min())
