"""Who could be who: flows between published rows and rows of the original, rows that are alike taken together.

A graph has published nodes on the left and original ones on the right, each with its number of rows; an edge says that
the rows on its left may be those on its right. Rows that are alike are interchangeable, so a flow of whole rows between
nodes stands for a matching of single rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import total_by
from ringfence.compiling import njit


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
    few = np.bincount(graph.right, minlength=len(demand))[graph.right]
    out_at, out = _edges_by(graph.left, len(supply), few)
    back_at, back = _edges_by(graph.right, len(demand), graph.left)
    left, right, most = (np.ascontiguousarray(ends, np.int64) for ends in (graph.left, graph.right, capacity))
    edges = _Edges(left, right, most, out_at, out, back_at, back)
    flow, depths = np.zeros(len(graph.left), np.int64), (np.empty_like(supply), np.empty_like(demand))
    give, take = supply.astype(np.int64), demand.astype(np.int64)  # copies: what is left of both
    _fill(edges, np.argsort(np.diff(edges.out_at), kind="stable"), give, take, flow)
    while _reach(edges, give, take, flow, *depths):
        _augment(edges, give, take, flow, *depths)
    return flow


class _Edges(NamedTuple):
    """The ends of edges and what each can hold; those of left node n are `out[out_at[n] : out_at[n + 1]]`, and of
    right nodes `back`."""

    left: Longs
    right: Longs
    capacity: Longs
    out_at: Longs
    out: Longs
    back_at: Longs
    back: Longs


def _edges_by(ends: Longs, nodes: int, rank: Longs) -> tuple[Longs, Longs]:
    """Return where the edges of each node begin, and the edges, those of low rank first."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))])
    return starts.astype(np.int64), np.lexsort((rank, ends)).astype(np.int64)


@njit(cache=True, nogil=True)
def _fill(edges: _Edges, order: Longs, give: Longs, take: Longs, flow: Longs) -> None:
    """Give what can be given at once: nodes with few edges first, to those that few can give to."""
    for node in order:
        for place in range(edges.out_at[node], edges.out_at[node + 1]):
            edge = edges.out[place]
            amount = min(give[node], take[edges.right[edge]], edges.capacity[edge])
            flow[edge] = amount
            give[node] -= amount
            take[edges.right[edge]] -= amount


@njit(cache=True, nogil=True)
def _reach(edges: _Edges, give: Longs, take: Longs, flow: Longs, near: Longs, far: Longs) -> bool:
    """Measure how far nodes are from what is left to give, up to the nearest that still takes; False if none."""
    far[:] = -1
    wave, waiting = np.empty(len(give), np.int64), 0
    reached = np.empty(len(take), np.int64)
    for node in range(len(give)):
        near[node] = 0 if give[node] else -1
        if give[node]:
            wave[waiting] = node
            waiting += 1
    depth, found = 0, False
    while waiting and not found:
        count = 0
        for node in wave[:waiting]:
            for place in range(edges.out_at[node], edges.out_at[node + 1]):
                edge = edges.out[place]
                there = edges.right[edge]
                if far[there] < 0 and flow[edge] < edges.capacity[edge]:
                    far[there] = depth + 1
                    reached[count] = there
                    count += 1
                    found = found or take[there] > 0
        waiting = 0
        for node in reached[: 0 if found else count]:
            for place in range(edges.back_at[node], edges.back_at[node + 1]):
                edge = edges.back[place]
                there = edges.left[edge]
                if near[there] < 0 and flow[edge] > 0:
                    near[there] = depth + 2
                    wave[waiting] = there
                    waiting += 1
        depth += 2
    return found


@njit(cache=True, nogil=True)
def _augment(edges: _Edges, give: Longs, take: Longs, flow: Longs, near: Longs, far: Longs) -> None:
    """Send what can be sent along shortest paths. An edge that was of no use is not tried again.

    A path takes edges forth and back in turn; depths rise along it, so that it is no longer than there are nodes.
    """
    next_out, next_back = edges.out_at[:-1].copy(), edges.back_at[:-1].copy()
    path = np.empty(len(give) + len(take), np.int64)
    for source in range(len(give)):
        length = 0
        while give[source]:
            if length % 2 == 0:
                node = edges.left[path[length - 1]] if length else source
                taken = _forth(edges, flow, near, far, next_out, node)
            else:
                node = edges.right[path[length - 1]]
                if take[node]:
                    _send(edges, give, take, flow, source, path[:length])
                    length = 0
                    continue
                taken = _back(edges, flow, near, far, next_back, node)
            if taken >= 0:
                path[length] = taken
                length += 1
            elif length:
                length -= 1
                if length % 2 == 0:
                    next_out[edges.left[path[length]]] += 1
                else:
                    next_back[edges.right[path[length]]] += 1
            else:
                break


@njit(cache=True, nogil=True)
def _forth(edges: _Edges, flow: Longs, near: Longs, far: Longs, begin: Longs, node: int) -> int:
    """Return the first edge of a left node, from `begin` on, by which a path goes on; -1 if there is none."""
    while begin[node] < edges.out_at[node + 1]:
        edge = edges.out[begin[node]]
        if flow[edge] < edges.capacity[edge] and far[edges.right[edge]] == near[node] + 1:
            return int(edge)
        begin[node] += 1
    return -1


@njit(cache=True, nogil=True)
def _back(edges: _Edges, flow: Longs, near: Longs, far: Longs, begin: Longs, node: int) -> int:
    """Return the first edge of a right node, from `begin` on, by which a path goes back; -1 if there is none."""
    while begin[node] < edges.back_at[node + 1]:
        edge = edges.back[begin[node]]
        if flow[edge] > 0 and near[edges.left[edge]] == far[node] + 1:
            return int(edge)
        begin[node] += 1
    return -1


@njit(cache=True, nogil=True)
def _send(edges: _Edges, give: Longs, take: Longs, flow: Longs, source: int, path: Longs) -> None:
    """Send as much along a path as its ends and its edges allow."""
    target = edges.right[path[-1]]
    amount = min(give[source], take[target])
    for place, edge in enumerate(path):
        amount = min(amount, flow[edge] if place % 2 else edges.capacity[edge] - flow[edge])
    for place, edge in enumerate(path):
        flow[edge] += -amount if place % 2 else amount
    give[source] -= amount
    take[target] -= amount


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
    """Return the strongly connected component of each node.

    Tarjan: Depth-first search and linear graph algorithms. SIAM Journal on Computing, 1972.
    """
    starts, order = _edges_by(tails, nodes, heads)
    return _walk(starts, heads[order].astype(np.int64))


@njit(cache=True, nogil=True)
def _walk(starts: Longs, targets: Longs) -> Longs:
    """Walk through all nodes, depth first, with a stack of its own."""
    nodes = len(starts) - 1
    at = starts[:-1].copy()
    index, low = np.full(nodes, -1, np.int64), np.zeros(nodes, np.int64)
    component = np.full(nodes, -1, np.int64)
    path, open_nodes = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    counter, opened = 0, 0
    for root in range(nodes):
        if index[root] >= 0:
            continue
        path[0], length = root, 1
        while length:
            node = path[length - 1]
            if index[node] < 0:
                index[node] = low[node] = counter
                counter += 1
                open_nodes[opened] = node
                opened += 1
            deeper = False
            while at[node] < starts[node + 1]:
                target = targets[at[node]]
                if index[target] < 0:
                    path[length] = target
                    length += 1
                    deeper = True
                    break
                if component[target] < 0:
                    low[node] = min(low[node], low[target])
                at[node] += 1
            if deeper:
                continue
            length -= 1
            if low[node] == index[node]:
                while component[node] < 0:
                    opened -= 1
                    component[open_nodes[opened]] = node
    return component
