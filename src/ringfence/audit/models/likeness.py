"""How much a class tells about a sensitive attribute: (alpha, k)-anonymity, beta-likeness, delta-disclosure privacy.

Each from its definition, on the shares of values in a class and in the whole release. A missing value is a value of its
own. Values that a class does not have tell something as well, but only delta-disclosure speaks of them, and by its
letter every class that lacks a value would fail; like other tools, we count the values that a class has.
"""

import numpy as np

from ringfence.arrays import Bools, Floats
from ringfence.audit.counts import Cells


def most_common(cells: Cells) -> Floats:
    """Return the largest share of any value in each class, which (alpha, k)-anonymity keeps at alpha.

    Wong, Li, Fu, Wang: (alpha, k)-Anonymity: An Enhanced k-Anonymity Model. KDD 2006, for every value.
    """
    return np.maximum.reduceat(cells.shares, cells.starts)


def gain(cells: Cells, values: int) -> Floats:
    """Return, of each class, by how much the share of a value exceeds its share of the release at most, relatively.

    Basic beta-likeness keeps (q - p) / p at beta. Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee.
    PVLDB 5(11), 2012, Definition 2.
    """
    return np.maximum(np.maximum.reduceat(_gains(cells, values), cells.starts), 0)


def beyond(cells: Cells, values: int, beta: float) -> Bools:
    """Return which classes break enhanced beta-likeness: (q - p) / p at the lesser of beta and -ln p (Definition 3)."""
    limits = np.minimum(beta, -np.log(cells.whole(values)[cells.values]))
    over = _gains(cells, values) > limits + 1e-9
    broken: Bools = np.logical_or.reduceat(over, cells.starts)
    return broken


def disclosure(cells: Cells, values: int) -> Floats:
    """Return the largest |ln(q / p)| of the values of each class, which delta-disclosure privacy keeps below delta.

    Brickell, Shmatikov: The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing. KDD
    2008, Definition 3.
    """
    return np.maximum.reduceat(np.abs(np.log(cells.shares / cells.whole(values)[cells.values])), cells.starts)


def _gains(cells: Cells, values: int) -> Floats:
    whole = cells.whole(values)[cells.values]
    gains: Floats = (cells.shares - whole) / whole
    return gains
