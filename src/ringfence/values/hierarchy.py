"""Hierarchy: a tree over the values of one attribute, kept as integer arrays so that every question is a look-up.

Nodes are numbered with the leaves first, 0 to L - 1 in their fixed order, then the inner nodes, the root last. Each
node covers a contiguous range of leaves. `builders` makes hierarchies from what a specification says.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

import numpy as np

from ringfence.arrays import Ints
from ringfence.errors import SpecError, listed, suggestion
from ringfence.markup import paragraph, shortened
from ringfence.values.faults import fault_of

ROOT = "*"
MISSING = "a missing value"
SHARED = "two nodes may share a label only if they cover the same leaves"
Tree = dict[str | None, "Tree"]
"""Children by label, in order; a leaf has none."""


class AmbiguousLabel(SpecError):
    """A label that stands for two different groups of values."""


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree of labels, with the highest node that each leaf may be published as.

    `parent[v]` is the node above `v` (the root's is itself), `first[v]` to `stop[v] - 1` are the leaves below `v`, and
    `depth[v]` counts the edges from the root. `ceilings[leaf]` is the highest node the leaf may be published as: the
    first marked node on its way up, else the root (Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization
    Constraints, 2010, Definition 4). A missing value, where the data has any, is the last leaf, directly under
    the root, and its label is None.

    >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
    >>> work.labels
    ('nurse', 'doctor', 'cook', 'health', '*')
    >>> [work.labels[v] for v in work.levels[1]]
    ['health', 'health', 'cook']
    >>> work.labels[work.common_ancestor([0, 2])]
    '*'
    """

    labels: tuple[str | None, ...]
    parent: Ints
    first: Ints
    stop: Ints
    depth: Ints
    ceilings: Ints

    def loosened(self) -> "Hierarchy":
        """Return the tree without nodes that would tell a value as the label of a group.

        The lowest node above a group says that it has values under two of its children. Where there are but two and one
        of them has one value, that is there. Such a node goes, and its children are its parent's; the root stays. A
        boundary has to stay as well, since nothing above it may be shown instead: one that tells is an error.

        >>> work = Hierarchy.from_paths([("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "*")])
        >>> work.loosened().labels
        ('nurse', 'doctor', 'cook', '*')
        """
        root, gone = len(self.labels) - 1, set()
        children: dict[int, list[int]] = {node: [] for node in range(self.leaves, root + 1)}
        for node in range(root):  # what is below comes before
            below = children.get(node, [])
            tells = len(below) == 2 and min(int(self.stop[each] - self.first[each]) for each in below) == 1
            gone |= {node} if tells else set()
            children[int(self.parent[node])] += below if tells else [node]
        if not gone:
            return self
        paths = [
            [node for node in self._way(leaf) if node not in gone] for leaf in range(self.leaves - self.has_missing)
        ]
        if telling := gone & {*self.ceilings.tolist()}:
            raise SpecError(
                f"{self.labels[min(telling)]!r} is a boundary of loose labels, but as the label of a group it would"
                " tell a value: it has two children, one of them a single value; put the boundary elsewhere, or ask for"
                " labels = 'tight'"
            )
        named = [[self.labels[node] or "" for node in path] for path in paths]
        found = Hierarchy.from_paths(named, missing=self.has_missing)
        highest = [self.labels[node] for node in self.ceilings]
        ceilings = [
            next(node for node in found._way(leaf) if found.labels[node] == label) for leaf, label in enumerate(highest)
        ]
        return replace(found, ceilings=np.array(ceilings, np.int32))

    def _way(self, leaf: int) -> Iterator[int]:
        """Yield the nodes from a leaf up to the root."""
        node = leaf
        while node != self.parent[node]:
            yield node
            node = int(self.parent[node])
        yield node

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str]], *, missing: bool = False, where: str = "the hierarchy"
    ) -> "Hierarchy":
        """Build a tree from one path a leaf, each from the leaf up to the root.

        A root `*` is added where the paths do not end in a common one; a lone leaf is put under it. Leaves keep their
        order as far as the tree allows: children stand in the order in which they are first met. Paths may differ in
        length. A node is told from others by its whole path, so an only child may bear its parent's name.
        """
        given = [tuple(path) for path in paths]
        if not given or not all(given):
            raise SpecError(f"{where} has no leaves")
        ended = _with_common_root(given)
        tree: Tree = {}
        leaves: set[str] = set()
        ends: set[int] = set()  # the tables, by identity, that stand for leaves
        for path in ended:
            if path[0] in leaves:
                first, second, *_ = (listed(map(repr, other[1:])) for other in given if other[0] == path[0])
                raise SpecError(
                    f"{where} has the leaf {path[0]!r} twice, once under {first} and once under {second};"
                    " each leaf may stand in one place only"
                )
            leaves.add(path[0])
            below = tree
            for label in reversed(path[1:]):
                below = below.setdefault(label, {})
                if id(below) in ends:
                    raise SpecError(f"{where} has {label!r} both as a leaf and as a group of other leaves")
            if path[0] in below:
                raise SpecError(f"{where} has {path[0]!r} both as a leaf and as a group of other leaves")
            below[path[0]] = {}
            ends.add(id(below[path[0]]))
        root = ended[0][-1]
        try:
            return cls.from_tree(tree[root], root=root, missing=missing, where=where)
        except AmbiguousLabel as error:
            raise SpecError(f"{error}: {fault_of(ended) or SHARED}") from None

    @classmethod
    def from_tree(
        cls, tree: Tree, *, root: str = ROOT, missing: bool = False, where: str = "the hierarchy"
    ) -> "Hierarchy":
        """Build a hierarchy from the children of its root, by label; a node without children is a leaf.

        The tree is walked with a stack of its own, since trees of masked codes are as deep as the codes are long. An
        inner node is numbered when all below it are; until the leaves have been counted, the i-th inner node is
        called ~i.
        """
        if missing:
            tree = {**tree, None: {}}
        if not tree:
            raise SpecError(f"{where} has no leaves")
        labels: list[str | None] = []
        depth: list[int] = []
        inner: list[tuple[str | None, int, int, int]] = []
        above: dict[int, int] = {}
        path: list[tuple[str | None, int, Iterator[tuple[str | None, Tree]], list[int]]] = [
            (root, 0, iter(tree.items()), [])
        ]
        while path:
            label, start, children, numbered = path[-1]
            child = next(children, None)
            if child is None:
                path.pop()
                inner.append((label, start, len(labels), len(path)))
                for node in numbered:
                    above[node] = ~(len(inner) - 1)
                if path:
                    path[-1][3].append(~(len(inner) - 1))
            elif child[1]:
                path.append((child[0], len(labels), iter(child[1].items()), []))
            else:
                numbered.append(len(labels))
                labels.append(child[0])
                depth.append(len(path))
        leaves, nodes = len(labels), len(labels) + len(inner)

        def final(node: int) -> int:
            return node if node >= 0 else leaves + ~node

        parent = np.full(nodes, nodes - 1, np.int32)
        for node, over in above.items():
            parent[final(node)] = final(over)
        hierarchy = cls(
            labels=(*labels, *(node[0] for node in inner)),
            parent=parent,
            first=np.array([*range(leaves), *(node[1] for node in inner)], np.int32),
            stop=np.array([*range(1, leaves + 1), *(node[2] for node in inner)], np.int32),
            depth=np.array([*depth, *(node[3] for node in inner)], np.int32),
            ceilings=np.full(leaves, nodes - 1, np.int32),
        )
        hierarchy._refuse_ambiguous_labels(where)
        return hierarchy

    def _refuse_ambiguous_labels(self, where: str) -> None:
        covered: dict[str | None, tuple[int, int]] = {}
        for label, first, stop in zip(self.labels, self.first.tolist(), self.stop.tolist(), strict=True):
            if covered.setdefault(label, (first, stop)) != (first, stop):
                raise AmbiguousLabel(f"{where} uses the label {label!r} for two different groups of values")

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.ceilings)

    @property
    def root(self) -> int:
        """The node above all."""
        return len(self.labels) - 1

    @property
    def has_missing(self) -> bool:
        """Whether the last leaf stands for a missing value."""
        return self.labels[self.leaves - 1] is None

    @cached_property
    def height(self) -> int:
        """The number of edges from the root to the deepest leaf: the level that takes every value to the root."""
        return int(self.depth[: self.leaves].max())

    @cached_property
    def heights(self) -> Ints:
        """For each node, the height of the tree below it."""
        heights = np.zeros(len(self.labels), np.int32)
        for node in range(self.root):  # children come before their parents
            heights[self.parent[node]] = max(heights[self.parent[node]], heights[node] + 1)
        return heights

    @cached_property
    def levels(self) -> Ints:
        """`levels[j, leaf]`: the node that stands for the leaf at level j.

        Level j takes a leaf to its ancestor at depth height - j, or leaves it as it is when it is shallower, and never
        past its ceiling. Leaves that share a node share it at all higher levels: they climb the same path, under the
        same ceiling, since a mark between them and that node would have stopped one of them below it.
        """
        levels = np.empty((self.height + 1, self.leaves), np.int32)
        levels[0] = np.arange(self.leaves)
        for level in range(1, self.height + 1):
            below = levels[level - 1]
            climbs = (self.depth[below] > self.height - level) & (below != self.ceilings)
            levels[level] = np.where(climbs, self.parent[below], below)
        return levels

    @cached_property
    def leaf_index(self) -> dict[str | None, int]:
        """The leaf of each leaf label."""
        return {label: leaf for leaf, label in enumerate(self.labels[: self.leaves])}

    @cached_property
    def node_index(self) -> dict[str | None, int]:
        """The node of each label; of nodes that share it (and so their leaves), the lowest."""
        return {label: node for node, label in reversed(list(enumerate(self.labels)))}

    def common_ancestor(self, leaves: Iterable[int]) -> int:
        """Return the lowest node that covers all of `leaves`."""
        low, high = min(leaves := list(leaves)), max(leaves)
        node = low
        while self.stop[node] <= high:  # ranges are nested, and every ancestor of `low` starts at or before it
            node = int(self.parent[node])
        return node

    def common_ancestors(self, lows: Ints, highs: Ints) -> Ints:
        """Return the lowest nodes that cover all leaves from a low to a high one, for many such ranges at once."""
        nodes = lows.copy()
        short = np.flatnonzero(self.stop[nodes] <= highs)
        while len(short):
            nodes[short] = self.parent[nodes[short]]
            short = short[self.stop[nodes[short]] <= highs[short]]
        return nodes

    def with_boundary(self, boundary: Sequence[str] | int, where: str = "boundary") -> "Hierarchy":
        """Return the same tree in which no value is generalized past the named nodes, or past a level.

        The ceiling of a leaf is the first marked node on its way up, the leaf itself included; with none, the root.
        """
        if isinstance(boundary, int):
            if boundary > self.height:
                raise SpecError(
                    f"{where}.level = {boundary} is above the hierarchy's height; allowed: 0 to {self.height}"
                )
            return replace(self, ceilings=self.levels[boundary].copy())
        marked = np.zeros(len(self.labels), bool)
        for label in boundary:
            if label not in self.node_index:
                known = [label for label in self.labels if label is not None]
                groups = known[-min(12, len(known)) :]
                raise SpecError(
                    f"{where}: {label!r} is not a label of the hierarchy{suggestion(label, known)};"
                    f" its highest labels are: {listed(groups[::-1])}"
                )
            marked[self.node_index[label]] = True
        ceilings = np.arange(self.leaves, dtype=np.int32)
        for _ in range(self.height):
            ceilings = np.where(marked[ceilings], ceilings, self.parent[ceilings]).astype(np.int32)
        return replace(self, ceilings=ceilings)

    def without_boundary(self) -> "Hierarchy":
        """Return the same tree in which every value may be generalized up to the root."""
        return replace(self, ceilings=np.full(self.leaves, self.root, np.int32))

    def with_raised_boundary(self) -> "Hierarchy":
        """Return the same tree in which every marked node has moved up to the next that covers more leaves.

        A mark is dropped where it would catch leaves that had more room before. So no ceiling comes lower, and leaves
        that shared one still do, since they climb on from it together.
        """
        covered, moved = self.stop - self.first, np.zeros(len(self.labels), bool)
        for mark in np.unique(self.ceilings):
            above = int(self.parent[mark])
            while above != self.root and covered[above] == covered[mark]:
                above = int(self.parent[above])
            ceilings = self.ceilings[self.first[above] : self.stop[above]]
            moved[above] = (covered[ceilings] <= covered[above]).all()
        ceilings = self.ceilings
        for _ in range(self.height):
            ceilings = np.where(moved[ceilings], ceilings, self.parent[ceilings]).astype(np.int32)
        return replace(self, ceilings=ceilings)

    def __repr__(self) -> str:
        return f"Hierarchy({self.leaves} leaves, {len(self.labels) - self.leaves} groups, height {self.height})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self._lines(self.root, "")])

    def _lines(self, node: int, indent: str, shown: int = 12) -> list[str]:
        """Draw the tree below a node: its groups one under the other, its leaves on one line."""
        children = np.flatnonzero(self.parent[: self.root] == node).tolist()
        groups = [child for child in children if child >= self.leaves]
        leaves = [self.labels[child] or MISSING for child in children if child < self.leaves]
        lines = [f"{indent}{self.labels[node]}" + (f": {shortened(leaves, shown)}" if leaves else "")]
        for group in groups[:shown]:
            lines += self._lines(group, indent + "  ", shown)
        return lines + ([f"{indent}  and {len(groups) - shown:,} more groups"] if len(groups) > shown else [])

    def _repr_html_(self) -> str:
        return f"{paragraph(repr(self), strong=True)}<pre>{escape(str(self))}</pre>"


def _with_common_root(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """End all paths in one root, named once: files are often padded with it, and a lone leaf may leave it out."""
    roots = {path[-1] for path in paths if len(path) > 1}
    lone = any(len(path) == 1 for path in paths)
    root = roots.pop() if len(roots) == 1 and not (lone and roots != {ROOT}) else ROOT
    ended = [path if len(path) > 1 and path[-1] == root else (*path, root) for path in paths]
    while any(len(path) > 2 and path[-2] == root for path in ended):
        ended = [path[:-1] if len(path) > 2 and path[-2] == root else path for path in ended]
    return ended
