"""How far the sensitive values of each class are from those of the whole release: t-closeness, from its definitions.

Li, Li, Venkatasubramanian: t-Closeness: Privacy Beyond k-Anonymity and l-Diversity. ICDE 2007, section 5. Only values
that occur in the release count. A missing value is a value of its own: last in the order, directly under the root of
the tree. Each distance costs time by the pairs of class and value that occur, not by classes times values.
"""

import numpy as np

from ringfence.arrays import Floats, Longs
from ringfence.audit.counts import Cells, sum_by
from ringfence.audit.labels.trees import Tree


def equal(cells: Cells, values: int) -> Floats:
    """Return half the sum of the differences in share: the distance where all values are equally far apart.

    As much as some shares are too large, others are too small; so summing what is too large gives half of all, and
    only values that the class has can be too large.
    """
    excess = cells.shares - cells.whole(values)[cells.values]
    return sum_by(cells.classes, np.maximum(excess, 0), len(cells.sizes))


def ordered(cells: Cells, values: int) -> Floats:
    """Return the distance where values i and j, numbered in their order, are |i - j| / (values - 1) apart.

    It is the mean over the steps between neighbouring values of |P - Q|, where P and Q are the shares up to that step
    in the class and in the release. P is constant from one value of the class to the next. Q rises, so on such a
    stretch the steps with Q below P come first: where they end is found by bisection, and each part is summed by Q's
    running totals.
    """
    steps = values - 1
    if steps == 0:
        return np.zeros(len(cells.sizes))
    up_to = np.cumsum(cells.whole(values))[:steps]
    totals = np.concatenate(([0.0], np.cumsum(up_to)))
    running = np.concatenate(([0], np.cumsum(cells.rows)))
    before_class = running[cells.starts]
    ends = np.append(cells.starts[1:], len(cells.values))

    def stretch(share: Floats, first: Longs, stop: Longs) -> Floats:
        """Return the sum of |share - Q| over the steps from `first` up to, not including, `stop`."""
        middle = np.clip(np.searchsorted(up_to, share), first, stop)
        sums: Floats = share * (2 * middle - first - stop) + totals[first] + totals[stop] - 2 * totals[middle]
        return sums

    share = (running[1:] - before_class[cells.classes]) / cells.sizes[cells.classes]
    following = np.append(cells.values[1:], 0)
    following[ends - 1] = steps
    # After its largest value, all of a class is counted, and there may be no step left.
    first = np.minimum(cells.values, steps)
    sums = sum_by(cells.classes, stretch(share, first, following), len(cells.sizes))
    return (sums + totals[cells.values[cells.starts]]).clip(0) / steps  # rounding may take a zero below it


def hierarchical(cells: Cells, tree: Tree) -> Floats:
    """Return the distance where two values are as far apart as their lowest common ancestor is high.

    The paper sums cost(N) = height(N) / height * min(surplus, want) over inner nodes N, where surplus and want are
    the sums of positive and of negative differences in share among N's children. With d(v) the difference in share
    below v, that minimum is half of (the sum of |d| over the children of N) - |d(N)|; so each node v counts |d(v)| /
    2 times the height of its parent less its own. Nodes without rows of the class have |d| = their share of the
    release; they are summed for all classes at once.
    """
    nodes, shares = tree.nodes, cells.whole(len(tree.paths))
    count = int(nodes.max()) + 1
    depths = np.array([len(path) - 1 for path in tree.paths])
    heights = np.zeros(count, np.int64)
    for depth, row in enumerate(nodes):
        np.maximum.at(heights, row[row >= 0], (depths - depth)[row >= 0])
    distances: Floats = np.zeros(len(cells.sizes))
    for depth in range(1, tree.height + 1):
        row = nodes[depth]
        there = row >= 0
        whole = sum_by(row[there], shares[there], count)
        edges: Floats = np.zeros(count)
        edges[row[there]] = (heights[nodes[depth - 1, there]] - heights[row[there]]) / (2 * tree.height)
        held = there[cells.values]
        pairs, which = np.unique(cells.classes[held] * count + row[cells.values[held]], return_inverse=True)
        mass = sum_by(which, cells.shares[held], len(pairs))
        classes, at = np.divmod(pairs, count)
        gain = edges[at] * (np.abs(mass - whole[at]) - whole[at])
        distances += edges @ whole + sum_by(classes, gain, len(distances))
    return distances.clip(0)  # rounding may take a zero below it
