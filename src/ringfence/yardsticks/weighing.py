"""What a user reads who has counts of values beside the release: each value under a label is as likely as lets the
counts come out.

The weights of values are the same under every label. They are found by iterative proportional fitting (Deming, Stephan:
On a Least Squares Adjustment of a Sampled Frequency Table When the Expected Marginal Totals are Known. Annals of
Mathematical Statistics 11, 1940): what is read of a line is scaled to what there is of it, again and again. Values of
one line are equally likely, since nothing tells them apart.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ringfence.arrays import Floats, Longs
from ringfence.audit.count_lines import read_lines
from ringfence.spec import Spec
from ringfence.yardsticks.reading import NEVER, Likely, ReadRows, Truth

ROUNDS = 200
CLOSE = 1e-6
"""Fitting ends when no line is off by more than this share of all rows."""


def by_counts(side: ReadRows, truth: Truth, counts: pa.Table, spec: Spec) -> ReadRows:
    """Return the rows of a release as they are read beside counts of values."""
    weights, lines = {}, read_lines(counts, spec)
    for name in truth.quasi:
        held = truth.domains[name].held
        assert held is not None, "quasi-identifiers have trees"
        labels = side.likely[name]
        rows = np.bincount(side.codes[name], side.rows, minlength=len(labels.sizes)).astype(np.float64)
        line_of = lines[name].among(held.tree.paths)
        weights[name] = _fitted(labels, rows, line_of, lines[name].rows.astype(np.float64))
    likely = {**side.likely, **{name: side.likely[name].weighed(each) for name, each in weights.items()}}
    return replace(side, likely=likely, weights=weights)


def _fitted(likely: Likely, rows: Floats, line_of: Longs, counts: Floats) -> Floats:
    """Return what each value weighs, so that the lines have their counts; `rows` are those of each label."""
    lines, of = len(counts), line_of[likely.members]
    keys, times = np.unique((likely.labels * lines + of)[of >= 0], return_counts=True)
    label, line = keys // lines, keys % lines
    weights = counts / np.maximum(np.bincount(line_of[line_of >= 0], minlength=lines), 1)
    for _ in range(ROUNDS):
        parts = times * weights[line]
        parts *= (rows / np.maximum(np.bincount(label, parts, minlength=len(rows)), NEVER))[label]
        read = np.bincount(line, parts, minlength=lines)
        if np.abs(read - counts).max(initial=0.0) <= CLOSE * rows.sum():
            break
        weights = weights * counts / np.maximum(read, NEVER)
        weights /= weights.max()
    return np.where(line_of >= 0, weights[line_of], 0.0)
