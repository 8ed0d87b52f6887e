"""How diverse the sensitive values of each class are: distinct, entropy and recursive l-diversity, from definitions.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam: l-Diversity: Privacy Beyond k-Anonymity. ICDE 2006, sections 3 and
4. A missing sensitive value counts as a value of its own.
"""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.audit.counts import Cells, sum_by


def distinct(cells: Cells) -> Longs:
    """Return how many different values each class has."""
    return np.bincount(cells.classes, minlength=len(cells.sizes))


def effective(cells: Cells) -> Floats:
    """Return the exponential of each class's entropy: as many values as equally frequent ones would have that entropy.

    A class is entropy l-diverse if its entropy is at least log(l), that is, if this is at least l.
    """
    return np.exp(sum_by(cells.classes, -cells.shares * np.log(cells.shares), len(cells.sizes)))


def recursive(cells: Cells, c: float) -> Longs:
    """Return for each class the largest l for which it is (c, l)-diverse; 0 where it is for none.

    With the counts r1 >= r2 >= ... of its values, a class is (c, l)-diverse if r1 < c (rl + r(l+1) + ...). The sum
    falls as l grows, so the l that hold are the first few, and counting them gives the largest. What differs from
    equality by no more than the rounding of c counts as equal, and so does not hold.
    """
    order = np.lexsort((-cells.rows, cells.classes))  # classes stay where they are; within them, the largest first
    rows = cells.rows[order]
    before = np.concatenate(([0], np.cumsum(rows)))[:-1]
    tails = cells.sizes[cells.classes] - (before - before[cells.starts][cells.classes])
    most = rows[cells.starts][cells.classes]
    return np.bincount(cells.classes[most < c * tails * (1 - 1e-12)], minlength=len(cells.sizes))
