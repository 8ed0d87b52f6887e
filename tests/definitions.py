"""Models and losses as their papers define them, in plain Python: what the kernels must agree with.

Nothing here uses the package's models, metrics or kernels.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isclose, log

from ringfence.census.census import Census, Quasi, Sensitive
from tests.tables import all_nodes, node_at, place, row_classes

Histogram = Counter[int]
Nodes = tuple[int, ...]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Class:
    """One class: its published nodes, its rows, and how often it holds each value of each sensitive attribute."""

    nodes: Nodes
    size: int
    histograms: tuple[Histogram, ...]


def classes_at(census: Census, levels: Nodes) -> list[Class]:
    """Group the tuples of a census at a node of the level lattice."""
    nodes_of = [nodes for nodes, _ in row_classes(census, levels)]
    sizes: Counter[Nodes] = Counter()
    for nodes, weight in row_classes(census, levels):
        sizes[nodes] += weight
    histograms: list[dict[Nodes, Histogram]] = []
    for sensitive in census.sensitive:
        by_class: dict[Nodes, Histogram] = defaultdict(Counter)
        for home, value, weight in zip(sensitive.tuples, sensitive.values, sensitive.weights, strict=True):
            by_class[nodes_of[home]][int(value)] += int(weight)
        histograms.append(by_class)
    return [Class(nodes, size, tuple(h[nodes] for h in histograms)) for nodes, size in sizes.items()]


def union(classes: Sequence[Class], attribute: int) -> Histogram:
    """The histogram of all rows of some classes."""
    return sum((c.histograms[attribute] for c in classes), Counter())


# Models: whether a class holds, given the rows it is to be compared with.

Rule = Callable[[Class, Sequence[Class]], bool]


def k_anonymous(k: int) -> Rule:
    """At least k rows."""
    return lambda c, _: c.size >= k


def distinct(attribute: int, least: int) -> Rule:
    """At least so many different values."""
    return lambda c, _: len(c.histograms[attribute]) >= least


def entropy(attribute: int, least: float) -> Rule:
    """Entropy of at least log l."""

    def holds(c: Class, _: Sequence[Class]) -> bool:
        shares = [count / c.size for count in c.histograms[attribute].values()]
        return -sum(share * log(share) for share in shares) >= log(least) - TOLERANCE

    return holds


def recursive(attribute: int, c_factor: float, least: int) -> Rule:
    """r_1 < c (r_l + ... + r_m)."""

    def holds(c: Class, _: Sequence[Class]) -> bool:
        counts = sorted(c.histograms[attribute].values(), reverse=True)
        return counts[0] < c_factor * sum(counts[least - 1 :]) - TOLERANCE

    return holds


def close(attribute: int, most: float, distance: str, sensitive: Sensitive) -> Rule:
    """Within t of the rows it is compared with."""

    def holds(c: Class, reference: Sequence[Class]) -> bool:
        p, q = c.histograms[attribute], union(reference, attribute)
        return float(earth_mover(p, q, ground_distance(distance, sensitive, q))) <= most + TOLERANCE

    return holds


def ground_distance(distance: str, sensitive: Sensitive, q: Histogram) -> Callable[[int, int], Fraction]:
    """What it costs to move a unit from one value to another."""
    if distance == "equal":
        return lambda a, b: Fraction(a != b)
    if distance == "ordered":
        places = {value: place for place, value in enumerate(sorted(q, key=lambda value: int(sensitive.ranks[value])))}
        gaps = max(1, len(places) - 1)
        return lambda a, b: Fraction(abs(places[a] - places[b]), gaps)
    tree = sensitive.hierarchy
    return lambda a, b: Fraction(int(tree.heights[tree.common_ancestor([a, b])]), tree.height)


def earth_mover(  # noqa: PLR0912
    p: Histogram, q: Histogram, cost: Callable[[int, int], Fraction]
) -> Fraction:
    """The cheapest way to turn one distribution into another: transportation by successive shortest paths."""
    n, m = p.total(), q.total()
    supply = {value: Fraction(count, n) for value, count in p.items()}
    demand = {value: Fraction(count, m) for value, count in q.items()}
    flow: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    total = Fraction(0)
    while any(supply.values()):
        # Bellman-Ford over sources and sinks: forward along any edge, backward along edges that carry flow.
        best: dict[tuple[str, int], tuple[Fraction, tuple[str, int] | None]] = {
            ("s", a): (Fraction(0), None) for a, left in supply.items() if left
        }
        changed = True
        while changed:
            changed = False
            for a in p:
                for b in q:
                    steps = [(("s", a), ("t", b), cost(a, b))]
                    if flow[a, b] > 0:
                        steps.append((("t", b), ("s", a), -cost(a, b)))
                    for start, end, price in steps:
                        if start in best and (end not in best or best[start][0] + price < best[end][0]):
                            best[end] = (best[start][0] + price, start)
                            changed = True
        end = min((("t", b) for b, left in demand.items() if left), key=lambda node: best[node][0])
        path = [end]
        while (before := best[path[-1]][1]) is not None:
            path.append(before)
        path.reverse()
        moved = min(supply[path[0][1]], demand[end[1]])
        for one, other in pairwise(path):
            if one[0] == "t":
                moved = min(moved, flow[other[1], one[1]])
        for one, other in pairwise(path):
            if one[0] == "s":
                flow[one[1], other[1]] += moved
            else:
                flow[other[1], one[1]] -= moved
        supply[path[0][1]] -= moved
        demand[end[1]] -= moved
        total += moved * best[end][0]
    return total


# Losses: the cost of publishing the classes that hold and suppressing the others.

Loss = Callable[[Census, Sequence[Class], Sequence[Class]], float]


def dm(census: Census, kept: Sequence[Class], lost: Sequence[Class]) -> float:
    """Size² for a published class, size times N for a suppressed one."""
    return float(sum(c.size**2 for c in kept) + census.rows * sum(c.size for c in lost))


def aecs(k: int) -> Loss:
    """N over published classes times k."""
    return lambda census, kept, lost: census.rows / (len(kept) * k)  # noqa: ARG005


def ce(attribute: int) -> Loss:
    """The share of rows suppressed, or not of their class's commonest label."""

    def loss(census: Census, kept: Sequence[Class], lost: Sequence[Class]) -> float:
        minority = sum(c.size - max(c.histograms[attribute].values()) for c in kept)
        return (minority + sum(c.size for c in lost)) / census.rows

    return loss


def cells(cell: Callable[[Quasi, int], float], weight: Callable[[Quasi], float] = lambda quasi: quasi.weight) -> Loss:
    """The mean over attributes (by weight) of a loss per published node, 1 if suppressed; over all rows."""

    def loss(census: Census, kept: Sequence[Class], lost: Sequence[Class]) -> float:
        weights = [weight(quasi) for quasi in census.quasi]
        total = float(sum(c.size for c in lost))
        for c in kept:
            row = sum(w * cell(q, node) for w, q, node in zip(weights, census.quasi, c.nodes, strict=True))
            total += c.size * row / sum(weights)
        return total / census.rows

    return loss


def hdm(census: Census, levels: Nodes, kept: Sequence[Class], lost: Sequence[Class]) -> float:
    """The sum over records of the mean over attributes of (N_e - N_v)/(N - N_v), 1 if suppressed; from the tuples."""
    suppressed = {c.nodes for c in lost}
    assert kept is not None
    total, weights = 0.0, [quasi.weight for quasi in census.quasi]
    for codes, (nodes, weight) in zip(census.codes, row_classes(census, levels), strict=True):
        row = 0.0
        for quasi, leaf, level, w in zip(census.quasi, codes, levels, weights, strict=True):
            same = int(quasi.rows[leaf])
            block = sum(
                int(quasi.rows[other])
                for other in range(quasi.hierarchy.leaves)
                if node_at(quasi.hierarchy, other, level) == node_at(quasi.hierarchy, int(leaf), level)
            )
            row += w * ((block - same) / (census.rows - same) if census.rows > same else 0.0)
        total += weight * (1.0 if nodes in suppressed else row / sum(weights))
    return total


def glm_cell(quasi: Quasi, node: int) -> float:
    """(covered - 1)/(leaves - 1), or the width of the numbers covered over that of all; 0/0 is 0."""
    if quasi.numeric:
        return width(quasi, node)
    covered = int(quasi.hierarchy.stop[node] - quasi.hierarchy.first[node])
    return (covered - 1) / (quasi.hierarchy.leaves - 1) if quasi.hierarchy.leaves > 1 else 0.0


def ncp_cell(quasi: Quasi, node: int) -> float:
    """covered/leaves, 0 for one leaf; numbers as above."""
    if quasi.numeric:
        return width(quasi, node)
    covered = int(quasi.hierarchy.stop[node] - quasi.hierarchy.first[node])
    return covered / quasi.hierarchy.leaves if covered > 1 else 0.0


def gcp_cell(quasi: Quasi, node: int) -> float:
    """(values of the data covered - 1)/(values in the data - 1)."""
    covered = int((quasi.rows[quasi.hierarchy.first[node] : quasi.hierarchy.stop[node]] > 0).sum())
    values = int((quasi.rows > 0).sum())
    return max(covered - 1, 0) / (values - 1) if values > 1 else 0.0


def ntil_cell(quasi: Quasi, node: int) -> float:
    """The height of the tree below the node over that of the hierarchy."""
    deepest = quasi.hierarchy.depth[quasi.hierarchy.first[node] : quasi.hierarchy.stop[node]].max()
    return float((deepest - quasi.hierarchy.depth[node]) / quasi.hierarchy.height)


def use_cell(quasi: Quasi, node: int) -> float:
    """The squared error of whoever takes the leaves under a node to be equally likely: of the right one it is
    (1 - 1/d)², of each of the other d - 1 it is 1/d². Numbers as above."""
    if quasi.numeric:
        return width(quasi, node)
    d = int(quasi.hierarchy.stop[node] - quasi.hierarchy.first[node])
    return (1 - 1 / d) ** 2 + (d - 1) / d**2


def use_weight(quasi: Quasi) -> float:
    """The weight over the root of the chance that two rows, drawn one after the other, differ, but at least .01."""
    if quasi.numeric or quasi.occurring == 1:
        return quasi.weight
    rows = [int(count) for count in quasi.rows]
    alike = sum(count**2 for count in rows) / sum(rows) ** 2
    return float(quasi.weight / max(0.01, 1 - alike) ** 0.5)


def width(quasi: Quasi, node: int) -> float:
    """How far apart the numbers are that a node covers, as a share of the whole range."""
    numbers = [place(key) for key in quasi.keys if key is not None]
    covered = quasi.keys[quasi.hierarchy.first[node] : quasi.hierarchy.stop[node]]
    inside = [place(key) for key in covered if key is not None]
    span = max(numbers, default=Fraction(0)) - min(numbers, default=Fraction(0))
    return float((max(inside) - min(inside)) / span) if inside and span else 0.0


@dataclass(frozen=True)
class Best:
    """The best node of a lattice."""

    cost: float
    suppressed: int
    levels: Nodes


def losses(k: int, target: int | None) -> dict[str, Loss]:
    """Every loss but `hdm`, which needs the tuples."""
    found: dict[str, Loss] = {
        "dm": dm,
        "aecs": aecs(k),
        "glm": cells(glm_cell),
        "glm_nodes": cells(glm_cell),  # what levels publish are nodes
        "detail": cells(glm_cell),
        "ncp": cells(ncp_cell),
        "gcp": cells(gcp_cell, lambda _: 1.0),
        "ntil": cells(ntil_cell, lambda _: 1.0),
        "use": cells(use_cell, use_weight),
    }
    return found if target is None else {**found, "ce": ce(target)}


def split(census: Census, levels: Nodes, rules: Sequence[Rule]) -> tuple[list[Class], list[Class]] | None:
    """The classes that hold and those that are suppressed; None if the former do not hold among themselves."""
    everything = classes_at(census, levels)
    kept = [c for c in everything if all(rule(c, everything) for rule in rules)]
    lost = [c for c in everything if not all(rule(c, everything) for rule in rules)]
    if not all(rule(c, kept) for c in kept for rule in rules):
        return None
    return kept, lost


def loss_of(name: str, census: Census, levels: Nodes, kept: Sequence[Class], lost: Sequence[Class], k: int, target: int | None) -> float:  # fmt: skip  # noqa: E501
    """One loss of one release."""
    return hdm(census, levels, kept, lost) if name == "hdm" else losses(k, target)[name](census, kept, lost)


def best_node(
    census: Census, rules: Sequence[Rule], metric: str, limit: int, *, k: int, target: int | None = None
) -> Best | None:
    """Judge every node: least cost, then fewest suppressed, then the smallest levels."""
    best: Best | None = None
    for levels in all_nodes(census):
        parts = split(census, levels, rules)
        if parts is None or not parts[0] or sum(c.size for c in parts[1]) > limit:
            continue
        found = Best(loss_of(metric, census, levels, *parts, k, target), sum(c.size for c in parts[1]), levels)
        if best is None:
            best = found
        elif isclose(found.cost, best.cost, rel_tol=1e-12):
            best = min(best, found, key=lambda node: (node.suppressed, node.levels))
        elif found.cost < best.cost:
            best = found
    return best
