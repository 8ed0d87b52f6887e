"""Cells: one node for each attribute, grown from one tuple of leaves until it covers enough.

A cell covers a tuple if each node covers the tuple's leaf. A row published as it loses what its nodes lose, in whole
numbers.
"""

from typing import NamedTuple

import numpy as np

from ringfence.arrays import Floats, Ints, Longs
from ringfence.compiling import njit


class Trees(NamedTuple):
    """The hierarchies of all attributes, end to end: node v of attribute a stands at `offsets[a] + v`.

    Leaves are numbered from 0 on in each attribute, in the order of the tree; a node covers those from `first` up to,
    not including, `stop`. The root is its own `parent`. A cell published as a node loses its `steps`, which rise
    towards the root.
    """

    offsets: Longs
    parent: Ints
    first: Ints
    stop: Ints
    steps: Longs


class ClusterNeeds(NamedTuple):
    """What a cluster needs: k rows, and of each sensitive attribute `least` different values.

    Values of all sensitive attributes are numbered together; `owner` is the attribute of each. `weights` says how much
    a new value of an attribute counts.
    """

    k: int
    least: Longs
    owner: Ints
    weights: Floats


class Cell(NamedTuple):
    """A cell under way: its nodes, the first leaf of each, and what it covers.

    `table[a, leaf]` is what attribute a loses once the node is widened to cover a leaf. It rises to both sides of the
    node's own leaves: a node that covers a leaf further off covers those between too. Each growth has a `stamp[0]` of
    its own; `covered[i]` and `seen[v]` have it if the cell covers the i-th tuple and a row with value v. `distinct`
    counts the values seen of each sensitive attribute.
    """

    nodes: Ints
    corner: Ints
    table: Longs
    covered: Longs
    seen: Longs
    stamp: Longs
    distinct: Longs


@njit(cache=True, nogil=True)
def new_cell(size: int, trees: Trees, asked: ClusterNeeds) -> Cell:
    """Return room for a cell among `size` tuples."""
    attributes, leaves = len(trees.offsets) - 1, 0
    for a in range(attributes):
        leaves = max(leaves, trees.stop[trees.offsets[a + 1] - 1])
    return Cell(
        np.empty(attributes, np.int32),
        np.empty(attributes, np.int32),
        np.empty((attributes, leaves), np.int64),
        np.zeros(size, np.int64),
        np.zeros(len(asked.owner), np.int64),
        np.zeros(1, np.int64),
        np.zeros(len(asked.least), np.int64),
    )


@njit(cache=True, nogil=True)
def start_cell(leaves: Ints, trees: Trees, cell: Cell) -> None:
    """Make the cell one of leaves alone, which covers nothing yet."""
    cell.stamp[0] += 1
    cell.distinct[:] = 0
    for a in range(len(leaves)):
        cell.nodes[a] = leaves[a]
        _fill_table(a, trees, cell)


@njit(cache=True, nogil=True)
def widen(leaves: Ints, trees: Trees, cell: Cell) -> None:
    """Widen each node until it covers a leaf."""
    for a in range(len(leaves)):
        node = lowest_over(a, cell.nodes[a], leaves[a], trees)
        if node != cell.nodes[a]:
            cell.nodes[a] = node
            _fill_table(a, trees, cell)


@njit(cache=True, nogil=True)
def lowest_over(a: int, node: int, leaf: int, trees: Trees) -> int:
    """Climb from a node to the lowest that covers a leaf too."""
    at = trees.offsets[a]
    while leaf < trees.first[at + node] or leaf >= trees.stop[at + node]:
        node = trees.parent[at + node]
    return node


@njit(cache=True, nogil=True)
def loss_with(leaves: Ints, nodes: Ints, trees: Trees) -> int:
    """Return what some nodes lose once they are widened to cover leaves."""
    loss = 0
    for a in range(len(leaves)):
        loss += trees.steps[trees.offsets[a] + lowest_over(a, nodes[a], leaves[a], trees)]
    return loss


@njit(cache=True, nogil=True)
def see(value: int, asked: ClusterNeeds, cell: Cell) -> None:
    """Count a sensitive value that the cell covers."""
    if cell.seen[value] != cell.stamp[0]:
        cell.seen[value] = cell.stamp[0]
        cell.distinct[asked.owner[value]] += 1


@njit(cache=True, nogil=True)
def suffice(distinct: Longs, asked: ClusterNeeds) -> bool:
    """Whether there are enough different values of each sensitive attribute."""
    for s in range(len(asked.least)):  # noqa: SIM110
        if distinct[s] < asked.least[s]:
            return False
    return True


@njit(cache=True, nogil=True)
def _fill_table(a: int, trees: Trees, cell: Cell) -> None:
    """Note what the lowest node over the cell's node and each leaf loses, from its own leaves outwards."""
    at, node, table = trees.offsets[a], cell.nodes[a], cell.table[a]
    first, stop = trees.first[at + node], trees.stop[at + node]
    cell.corner[a] = first
    table[first:stop] = trees.steps[at + node]
    while trees.parent[at + node] != node:
        node = trees.parent[at + node]
        table[trees.first[at + node] : first] = trees.steps[at + node]
        table[stop : trees.stop[at + node]] = trees.steps[at + node]
        first, stop = trees.first[at + node], trees.stop[at + node]
