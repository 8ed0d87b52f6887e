"""Who could be who: flows between published rows and rows of the original, rows that are alike taken together.

A graph has published nodes on the left and original ones on the right, each with its number of rows; an edge says that
the rows on its left may be those on its right. Rows that are alike are interchangeable, so a flow of whole rows between
nodes stands for a matching of single rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import total_by


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges from the left to the right, sorted by left then right, and the number of rows of each node."""

    left: Longs
    right: Longs
    published: Longs
    """Rows of each left node."""
    original: Longs
    """Rows of each right node."""

    def part(self, edges: Bools) -> "Graph":
        """Return the graph with only some of its edges."""
        return Graph(self.left[edges], self.right[edges], self.published, self.original)

    def components(self) -> tuple[Longs, Longs]:
        """Return the component of each left and of each right node, named by one of its left nodes.

        A node takes the least name among its neighbours', and then the name that this one has taken meanwhile, until
        nothing changes. A right node without edges is a component of its own, named from the number of left nodes on.
        """
        names = np.arange(len(self.published))
        others = np.arange(len(self.original)) + len(names)
        while True:
            np.minimum.at(others, self.right, names[self.left])
            nearer = names.copy()
            np.minimum.at(nearer, self.left, others[self.right])
            nearer = nearer[nearer]
            if (nearer == names).all():
                return names, others
            names = nearer


def max_flow(graph: Graph, supply: Longs, demand: Longs, capacity: Longs) -> Longs:
    """Return how much goes over each edge in a largest flow from the left, which has `supply`, to the right.

    First what can be had without search, the scarcest first; then along shortest paths that may take back what was
    given, many at a time (Dinic: Algorithm for solution of a problem of maximum flow in networks with power estimation.
    Soviet Mathematics Doklady, 1970).
    """
    network = _Network(graph, supply, demand, capacity)
    network.fill()
    while network.reach():
        network.augment()
    return np.array(network.flow, np.int64)


class _Network:
    """The state of a search for a largest flow, in lists: one edge at a time is looked at."""

    def __init__(self, graph: Graph, supply: Longs, demand: Longs, capacity: Longs) -> None:
        self.left, self.right = graph.left.tolist(), graph.right.tolist()
        self.supply, self.demand, self.capacity = supply.tolist(), demand.tolist(), capacity.tolist()
        self.flow = [0] * len(self.left)
        self.out = _edges_by(graph.left, len(supply), np.bincount(graph.right, minlength=len(demand))[graph.right])
        self.back = _edges_by(graph.right, len(demand), graph.left)
        self.left_depth: list[int] = []
        self.right_depth: list[int] = []

    def fill(self) -> None:
        """Give what can be given at once: nodes with few edges first, to those that few can give to."""
        for node in sorted(range(len(self.out)), key=lambda node: len(self.out[node])):
            for edge in self.out[node]:
                amount = min(self.supply[node], self.demand[self.right[edge]], self.capacity[edge])
                self.flow[edge] = amount
                self.supply[node] -= amount
                self.demand[self.right[edge]] -= amount

    def reach(self) -> bool:
        """Measure how far nodes are from what is left to give, up to the nearest that still takes; False if none."""
        self.left_depth = [0 if amount else -1 for amount in self.supply]
        self.right_depth = [-1] * len(self.demand)
        wave = [node for node, amount in enumerate(self.supply) if amount]
        depth, found = 0, False
        while wave and not found:
            reached = []
            for node in wave:
                for edge in self.out[node]:
                    there = self.right[edge]
                    if self.right_depth[there] < 0 and self.flow[edge] < self.capacity[edge]:
                        self.right_depth[there] = depth + 1
                        reached.append(there)
                        found = found or self.demand[there] > 0
            wave = []
            for node in [] if found else reached:
                for edge in self.back[node]:
                    there = self.left[edge]
                    if self.left_depth[there] < 0 and self.flow[edge] > 0:
                        self.left_depth[there] = depth + 2
                        wave.append(there)
            depth += 2
        return found

    def augment(self) -> None:
        """Send what can be sent along shortest paths. An edge that was of no use is not tried again."""
        next_out, next_back = [0] * len(self.out), [0] * len(self.back)
        for source in range(len(self.supply)):
            path: list[int] = []
            while self.supply[source]:
                node = self.left[path[-1]] if path else source
                if len(path) % 2 == 0:
                    edges, at = self.out[node], next_out[node]
                    while at < len(edges) and not (
                        self.flow[edges[at]] < self.capacity[edges[at]]
                        and self.right_depth[self.right[edges[at]]] == self.left_depth[node] + 1
                    ):
                        at += 1
                    next_out[node] = at
                else:
                    node = self.right[path[-1]]
                    if self.demand[node]:
                        self._send(source, node, path)
                        path = []
                        continue
                    edges, at = self.back[node], next_back[node]
                    while at < len(edges) and not (
                        self.flow[edges[at]] > 0 and self.left_depth[self.left[edges[at]]] == self.right_depth[node] + 1
                    ):
                        at += 1
                    next_back[node] = at
                if at < len(edges):
                    path.append(edges[at])
                elif path:
                    if len(path) % 2:
                        next_out[self.left[path.pop()]] += 1
                    else:
                        next_back[self.right[path.pop()]] += 1
                else:
                    break

    def _send(self, source: int, target: int, path: Sequence[int]) -> None:
        room = [self.capacity[edge] - self.flow[edge] for edge in path[::2]] + [self.flow[edge] for edge in path[1::2]]
        amount = min(self.supply[source], self.demand[target], *room)
        for edge in path[::2]:
            self.flow[edge] += amount
        for edge in path[1::2]:
            self.flow[edge] -= amount
        self.supply[source] -= amount
        self.demand[target] -= amount


def _edges_by(ends: Longs, nodes: int, rank: Longs) -> list[list[int]]:
    """Return the edges of each node, those of low rank first."""
    order = np.lexsort((rank, ends))
    bounds = np.cumsum([0, *np.bincount(ends, minlength=nodes)]).tolist()
    edges = order.tolist()
    return [edges[start:stop] for start, stop in pairwise(bounds)]


def match(graph: Graph) -> Longs:
    """Return, for each edge, how many rows it links when as many rows as can be are linked.

    In a component where everyone may be anyone, rows are dealt out in turn; only the others need a search.
    """
    names, others = graph.components()
    count = len(names) + len(others)
    edges = np.bincount(names[graph.left], minlength=count)
    full = edges == np.bincount(names, minlength=count) * np.bincount(others, minlength=count)
    easy = full[names[graph.left]]
    flow = np.zeros(len(graph.left), np.int64)
    flow[easy] = _dealt(graph.part(easy), names, others)
    hard = graph.part(~easy)
    capacity = np.minimum(graph.published[hard.left], graph.original[hard.right])
    used, takers = np.unique(hard.left), np.unique(hard.right)
    smaller = Graph(
        np.searchsorted(used, hard.left),
        np.searchsorted(takers, hard.right),
        graph.published[used],
        graph.original[takers],
    )
    flow[~easy] = max_flow(smaller, smaller.published, smaller.original, capacity)
    return flow


def _dealt(graph: Graph, names: Longs, others: Longs) -> Longs:
    """Deal out rows in components where every left node has an edge to every right one.

    The rows of both sides stand in line, component by component; an edge links the rows that stand at the same place.
    """

    def lines(component: Longs, rows: Longs) -> tuple[Longs, Longs]:
        order = np.argsort(component, kind="stable")
        ends = np.cumsum(rows[order])
        begins = ends - rows[order]
        first = np.searchsorted(component[order], component[order])
        start, stop = np.empty_like(rows), np.empty_like(rows)
        start[order], stop[order] = begins - begins[first], ends - begins[first]
        return start, stop

    start, stop = lines(names, graph.published)
    other_start, other_stop = lines(others, graph.original)
    shared = np.minimum(stop[graph.left], other_stop[graph.right]) - np.maximum(
        start[graph.left], other_start[graph.right]
    )
    dealt: Longs = np.maximum(shared, 0)
    return dealt


def effective(graph: Graph, flow: Longs) -> Bools:
    """Return which edges are used by some matching of all published rows, given one such matching.

    From a matching, another is reached by passing rows around in a circle, or on to rows of the original that are not
    published. So an edge that links no row can be made to if its ends are in one strongly connected component of the
    graph in which edges point to the right, those that link rows also back, and rows of the original without a partner
    can be exchanged for others through one common place (Wong, Mamoulis, Cheung: Non-homogeneous Generalization in
    Privacy Preserving Data Publishing. SIGMOD 2010, theorem 1, for tables of the same size).
    """
    lefts, rights = len(graph.published), len(graph.original)
    taken = total_by(graph.right, flow, rights)
    linked = flow > 0
    spare, used = np.flatnonzero(taken < graph.original), np.flatnonzero(taken > 0)
    exchange = lefts + rights
    tails = np.concatenate(
        [graph.left, graph.right[linked] + lefts, spare + lefts, np.full(len(used), exchange, np.int64)]
    )
    heads = np.concatenate(
        [graph.right + lefts, graph.left[linked], np.full(len(spare), exchange, np.int64), used + lefts]
    )
    component = _strong_components(tails, heads, exchange + 1)
    used_by_some: Bools = linked | (component[graph.left] == component[graph.right + lefts])
    return used_by_some


def _strong_components(tails: Longs, heads: Longs, nodes: int) -> Longs:
    """Return the strongly connected component of each node, by one depth-first walk with a stack of its own.

    Tarjan: Depth-first search and linear graph algorithms. SIAM Journal on Computing, 1972.
    """
    order = np.argsort(tails, kind="stable")
    targets = heads[order].tolist()
    stops = np.cumsum(np.bincount(tails, minlength=nodes)).tolist()
    at = [0, *stops[:-1]]
    index, low, component = [-1] * nodes, [0] * nodes, [-1] * nodes
    open_nodes: list[int] = []
    counter = 0
    for root in range(nodes):
        if index[root] >= 0:
            continue
        path = [root]
        while path:
            node = path[-1]
            if index[node] < 0:
                index[node] = low[node] = counter
                counter += 1
                open_nodes.append(node)
            while at[node] < stops[node]:
                target = targets[at[node]]
                if index[target] < 0:
                    path.append(target)
                    break
                if component[target] < 0:
                    low[node] = min(low[node], low[target])
                at[node] += 1
            else:
                path.pop()
                if low[node] == index[node]:
                    while component[node] < 0:
                        component[open_nodes.pop()] = node
    return np.array(component, np.int64)
