"""Clusterings in plain Python, from their definitions: what the kernels and the search must agree with.

Nothing here uses the package's kernels, groups or searches. A row is (leaves, values), a cluster a list of rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain

import numpy as np

from ringfence.census.census import Census
from ringfence.census.groups import Groups
from ringfence.values.hierarchy import Hierarchy

Row = tuple[tuple[int, ...], tuple[int, ...]]
Cluster = list[Row]


@cache
def ancestors(tree: Hierarchy, node: int) -> tuple[int, ...]:
    """The nodes from one up to the root, both included."""
    above = int(tree.parent[node])
    return (node,) if above == node else (node, *ancestors(tree, above))


def lowest_common(tree: Hierarchy, leaves: Sequence[int]) -> int:
    """The first node on the way up from one leaf that is on the way up from all."""
    ways = [set(ancestors(tree, leaf)) for leaf in leaves]
    return next(node for node in ancestors(tree, leaves[0]) if all(node in way for way in ways))


def height_below(tree: Hierarchy, node: int) -> int:
    """The longest way from a node down to a leaf."""
    return max(path.index(node) for leaf in range(tree.leaves) if node in (path := ancestors(tree, leaf)))


@dataclass(frozen=True)
class Clusterer:
    """What is asked, and the losses of one census; values are those of the sensitive attributes that are looked at."""

    census: Census
    k: int
    least: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def trees(self) -> list[Hierarchy]:
        """The hierarchies of the quasi-identifiers."""
        return [quasi.hierarchy for quasi in self.census.quasi]

    def rows(self) -> list[Row]:
        """Every row of the census, smallest first; sensitive attributes of which one value is enough are left out."""
        joint = self.census.joint
        looked_at = [s for s, least in enumerate(self.least) if least > 1]
        return sorted(
            row
            for t, weight, *values in zip(joint.tuples, joint.weights, *joint.values, strict=True)
            for row in [(tuple(self.census.codes[t].tolist()), tuple(int(values[s]) for s in looked_at))] * int(weight)
        )

    @cached_property
    def place(self) -> dict[Row, int]:
        """The order in which rows that tie are taken: that of the distinct ones, shuffled."""
        distinct = sorted(set(self.rows()))
        return dict(zip(distinct, np.random.default_rng(2010).permutation(len(distinct)).tolist(), strict=True))

    @property
    def asked(self) -> list[tuple[int, float]]:
        """How many values are asked for of each attribute that is looked at, and its weight."""
        return [(least, weight) for least, weight in zip(self.least, self.weights, strict=True) if least > 1]

    def nodes(self, rows: Sequence[Row]) -> tuple[int, ...]:
        """What rows that are published alike are published as."""
        return tuple(lowest_common(tree, [row[0][a] for row in rows]) for a, tree in enumerate(self.trees))

    def cell_loss(self, nodes: Sequence[int]) -> Fraction:
        """What a row loses: the heights below its nodes over the heights of the hierarchies."""
        return sum(
            (_share(tree, node) for tree, node in zip(self.trees, nodes, strict=True)),
            Fraction(0),
        )

    def loss(self, rows: Sequence[Row]) -> Fraction:
        """What each row of a cluster loses."""
        return self.cell_loss(self.nodes(rows))

    def ntil(self, clusters: Sequence[Cluster], suppressed: int) -> Fraction:
        """Definition 11: the loss of all rows over the number of cells; 1 for each suppressed cell."""
        lost = sum((len(cluster) * self.loss(cluster) for cluster in clusters), Fraction(0))
        attributes = len(self.trees)
        return (lost + suppressed * attributes) / (self.census.rows * attributes)

    def holds(self, rows: Sequence[Row]) -> bool:
        """Whether a cluster has rows and values enough."""
        return len(rows) >= self.k and self.has_values(rows)

    def has_values(self, rows: Sequence[Row]) -> bool:
        """Whether there are enough values of each attribute."""
        return all(len({row[1][s] for row in rows}) >= least for s, (least, _) in enumerate(self.asked))

    def maximum_allowed(self) -> list[Cluster]:
        """The rows that may be published alike: those whose values have the same ceilings."""
        groups: dict[tuple[int, ...], Cluster] = defaultdict(list)
        for row in self.rows():
            groups[tuple(int(tree.ceilings[leaf]) for tree, leaf in zip(self.trees, row[0], strict=True))].append(row)
        return list(groups.values())

    def greedy(self) -> tuple[list[Cluster], int]:
        """GreedyCPKA: the clusters, and how many rows are suppressed."""
        clusters, suppressed = [], 0
        for group in self.maximum_allowed():
            if self.holds(group):
                clusters += self.greedy_pk_clustering(group)
            else:
                suppressed += len(group)
        return clusters, suppressed

    def greedy_pk_clustering(self, rows: Sequence[Row]) -> list[Cluster]:
        """The paper's function of this name: of rows that tie, the first; a cluster that has enough gets no more."""
        left, clusters = sorted(rows, key=self.place.__getitem__), []
        seed = left[0]
        while left:
            if self.asked:
                seed = max(left, key=lambda row: self.diversity(row, [seed]))  # the first of the largest
            else:
                seed = max(left, key=lambda row: self.loss([seed, row]))
            cluster = [seed]
            left.remove(seed)
            while left and not self.has_values(cluster):
                most = max(self.diversity(row, cluster) for row in left)
                diverse = [row for row in left if self.diversity(row, cluster) == most]
                self._move(min(diverse, key=lambda row: self.loss([*cluster, row])), left, cluster)
            while left and len(cluster) < self.k:
                self._move(min(left, key=lambda row: self.loss([*cluster, row])), left, cluster)
            if self.holds(cluster):
                clusters.append(cluster)
            else:
                for row in sorted(cluster, key=self.place.__getitem__):
                    joined = [(len(other) + 1) * self.loss([*other, row]) for other in clusters]
                    clusters[joined.index(min(joined))].append(row)
        return clusters

    def diversity(self, row: Row, cluster: Sequence[Row]) -> float:
        """Definitions 12 and 13: the weight of the attributes in which a row has a value that is new."""
        total = 0.0
        for s, (_, weight) in enumerate(self.asked):
            if row[1][s] not in {other[1][s] for other in cluster}:
                total += weight
        return total

    @staticmethod
    def _move(row: Row, source: Cluster, target: Cluster) -> None:
        source.remove(row)
        target.append(row)


@cache
def _share(tree: Hierarchy, node: int) -> Fraction:
    return Fraction(height_below(tree, node), height_below(tree, tree.root))


@dataclass(frozen=True)
class CheapestFirst:
    """Clusters grown cheapest first, tuple by tuple, without any of the kernel's short cuts."""

    clusterer: Clusterer

    def clusters(self) -> list[Cluster]:
        """The clusters of all groups that hold."""
        groups = self.clusterer.maximum_allowed()
        return list(chain.from_iterable(self._cluster(group) for group in groups if self.clusterer.holds(group)))

    def radius(self, seed: tuple[int, ...], rows: Sequence[Row]) -> Fraction:
        """The smallest loss within which a tuple finds what is asked, each row taken with it alone."""
        far = {leaves: self.clusterer.loss([(seed, ()), (leaves, ())]) for leaves in {row[0] for row in rows}}
        return next(
            loss
            for loss in sorted(set(far.values()))
            if self.clusterer.holds([row for row in rows if far[row[0]] <= loss])
        )

    def _cluster(self, rows: Cluster) -> list[Cluster]:
        """Cluster one group."""
        weights = Counter(row[0] for row in rows)
        place = {leaves: i for i, leaves in enumerate(sorted(weights, key=self._neighbourhood))}
        keys = {leaves: self.radius(leaves, rows) for leaves in weights}
        left: Cluster = list(rows)
        clusters: list[Cluster] = []
        while left:
            level = min(keys[row[0]] for row in left)
            for seed in sorted({row[0] for row in left}, key=lambda leaves: (-weights[leaves], place[leaves])):
                if keys[seed] > level or seed not in {row[0] for row in left}:
                    continue
                grown = self._grow(seed, left, level, weights, place)
                if grown is None:  # the rest cannot make a cluster
                    dispersed = self._dispersed(left, clusters, weights, place)
                    return list(chain.from_iterable(self._split(cluster, place) for cluster in dispersed))
                loss, cell = grown
                if loss > level:
                    keys[seed] = loss
                else:
                    clusters.append([row for row in left if row in cell])
                    left = [row for row in left if row not in cell]
        return list(chain.from_iterable(self._split(cluster, place) for cluster in clusters))

    def _split(self, cluster: Cluster, place: dict[tuple[int, ...], int]) -> list[Cluster]:
        """A cluster, or the best two that hold and lose less together, split again."""
        clusterer = self.clusterer
        least, best = len(cluster) * clusterer.loss(cluster), None
        for seed in sorted({row[0] for row in cluster}, key=place.__getitem__):
            part = [row for row in cluster if row[0] == seed]
            while not clusterer.holds(part):
                rest = {row[0] for row in cluster if row not in part}
                if len(part) >= clusterer.k:
                    rest = {leaves for leaves in rest if self._gain(leaves, cluster, part) > 0}
                widened = {leaves: clusterer.loss([*part, (leaves, ())]) for leaves in rest}
                nearest = min(widened, key=lambda leaves: (widened[leaves], place[leaves]))
                part += [row for row in cluster if row[0] == nearest]
            others = [row for row in cluster if row not in part]
            if clusterer.holds(others):
                lost = len(part) * clusterer.loss(part) + len(others) * clusterer.loss(others)
                if lost < least:
                    least, best = lost, (part, others)
        return [cluster] if best is None else [*self._split(best[0], place), *self._split(best[1], place)]

    def _neighbourhood(self, leaves: tuple[int, ...]) -> tuple[int, ...]:
        quasi = self.clusterer.census.quasi
        order = sorted(range(len(quasi)), key=lambda a: (quasi[a].hierarchy.height, quasi[a].occurring))
        return tuple(leaves[a] for a in order)

    def _grow(
        self,
        seed: tuple[int, ...],
        left: Cluster,
        level: Fraction,
        weights: Counter[tuple[int, ...]],
        place: dict[tuple[int, ...], int],
    ) -> tuple[Fraction, Cluster] | None:
        """The loss of the cell around a seed and its rows, or a bound above the level."""
        clusterer = self.clusterer
        nodes = seed
        while True:
            cell = [row for row in left if self._covers(nodes, row[0])]
            if clusterer.holds(cell):
                return clusterer.cell_loss(nodes), cell
            outside = [row for row in left if row not in cell]
            gain = dict.fromkeys((row[0] for row in outside), 0.0)
            if len(cell) >= clusterer.k:
                gain = {leaves: self._gain(leaves, left, cell) for leaves in gain}
                outside = [row for row in outside if gain[row[0]] > 0]
            if not outside:
                return None
            widened = {row[0]: clusterer.cell_loss(self._widened(nodes, row[0])) for row in outside}
            chosen = min(widened, key=lambda leaves: (widened[leaves], -gain[leaves], -weights[leaves], place[leaves]))
            if widened[chosen] > level:
                return widened[chosen], cell
            nodes = self._widened(nodes, chosen)

    def _gain(self, leaves: tuple[int, ...], left: Cluster, cell: Cluster) -> float:
        """The weight of the attributes that lack values and of which a tuple has a new one."""
        total = 0.0
        for s, (least, weight) in enumerate(self.clusterer.asked):
            seen = {row[1][s] for row in cell}
            if len(seen) < least and {row[1][s] for row in left if row[0] == leaves} - seen:
                total += weight
        return total

    def _dispersed(
        self,
        left: Cluster,
        clusters: list[Cluster],
        weights: Counter[tuple[int, ...]],
        place: dict[tuple[int, ...], int],
    ) -> list[Cluster]:
        """Widen, step by step, the cluster that this costs least for each row of the tuple it is widened to."""
        clusterer = self.clusterer
        nodes = [clusterer.nodes(cluster) for cluster in clusters]
        while left:
            prices = {}
            for leaves in {row[0] for row in left}:
                for c, cluster in enumerate(clusters):
                    joined = (len(cluster) + weights[leaves]) * clusterer.cell_loss(self._widened(nodes[c], leaves))
                    price = (joined - len(cluster) * clusterer.cell_loss(nodes[c])) / weights[leaves]
                    prices[price, -weights[leaves], place[leaves], c] = leaves
            cheapest = min(prices)
            c = cheapest[-1]
            nodes[c] = self._widened(nodes[c], prices[cheapest])
            clusters[c] += [row for row in left if self._covers(nodes[c], row[0])]
            left = [row for row in left if not self._covers(nodes[c], row[0])]
        return clusters

    def _covers(self, nodes: Sequence[int], leaves: Sequence[int]) -> bool:
        return all(
            node in ancestors(tree, leaf) for tree, node, leaf in zip(self.clusterer.trees, nodes, leaves, strict=True)
        )

    def _widened(self, nodes: Sequence[int], leaves: Sequence[int]) -> tuple[int, ...]:
        return tuple(
            next(above for above in ancestors(tree, node) if above in ancestors(tree, leaf))
            for tree, node, leaf in zip(self.clusterer.trees, nodes, leaves, strict=True)
        )


def clusters_of(census: Census, groups: Groups) -> list[Cluster]:
    """The clusters of an answer, row by row."""
    clusters: list[Cluster] = [[] for _ in range(groups.count)]
    found = groups.combinations
    for c, group, rows in zip(groups.combination.tolist(), groups.group.tolist(), groups.rows.tolist(), strict=True):
        row = (tuple(census.codes[found.tuples[c]].tolist()), tuple(found.values[c].tolist()))
        clusters[group] += [row] * rows
    return clusters


def in_order(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Clusters in an order of their own, whatever order they were made in."""
    return sorted(sorted(cluster) for cluster in clusters)


def partitions(rows: Sequence[Row]) -> Iterator[list[Cluster]]:
    """Every way to part some rows."""
    if not rows:
        yield []
        return
    for parts in partitions(rows[1:]):
        yield [[rows[0]], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [rows[0], *parts[i]], *parts[i + 1 :]]
