"""Small random baskets and item trees, and what k^m-anonymity and its loss mean, in plain Python."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from ringfence.census.baskets import Baskets
from ringfence.spec import Spec
from ringfence.values.hierarchy import Hierarchy, Tree

Cut = tuple[int, ...]
"""The node that each leaf is published as."""


@dataclass(frozen=True)
class Case:
    """Rows of items, which may repeat and be none, and the tree over them."""

    rows: list[list[int]]
    tree: Hierarchy

    @property
    def baskets(self) -> Baskets:
        """The rows, counted."""
        return baskets_of(self.tree, self.rows)


def baskets_of(tree: Hierarchy, rows: Sequence[Sequence[int]]) -> Baskets:
    """Count some rows."""
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    return Baskets.from_lists("basket", tree, offsets, np.array([leaf for row in rows for leaf in row], np.int32))


def random_tree(rng: random.Random, leaves: int) -> Hierarchy:
    """Return a tree over so many leaves: groups of one to four, only children, leaves at any depth."""
    labels = itertools.count()

    def grow(count: int, depth: int) -> Tree:
        tree: Tree = {}
        while count:
            size = min(count, rng.randint(1, 4))
            count -= size
            if depth < 3 and rng.random() < 0.7:
                tree[f"group {next(labels)}"] = grow(size, depth + 1)
            else:
                tree.update({f"item {next(labels)}": {} for _ in range(size)})
        return tree

    return Hierarchy.from_tree(grow(leaves, 0))


@st.composite
def cases(draw: st.DrawFn, *, max_leaves: int = 8, max_rows: int = 14) -> Case:
    """Draw a tree, now and then with boundaries, and rows; some leaves may be in no row."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    tree = random_tree(rng, rng.randint(1, max_leaves))
    if rng.random() < 0.3:
        tree = tree.with_boundary(rng.randint(0, tree.height))
    elif rng.random() < 0.3:
        marked = rng.sample(range(len(tree.labels)), rng.randint(1, min(3, len(tree.labels))))
        tree = tree.with_boundary([str(tree.labels[node]) for node in marked])
    used = rng.sample(range(tree.leaves), rng.randint(1, tree.leaves))
    longest = rng.randint(1, 6)
    rows = [[rng.choice(used) for _ in range(rng.randint(0, longest))] for _ in range(rng.randint(0, max_rows))]
    return Case(rows, tree)


def ancestors(tree: Hierarchy, node: int) -> list[int]:
    """A node and all above it, upwards."""
    path = [node]
    while path[-1] != tree.root:
        path.append(int(tree.parent[path[-1]]))
    return path


def leaves_of(tree: Hierarchy, node: int) -> list[int]:
    """The leaves below a node."""
    return [leaf for leaf in range(tree.leaves) if node in ancestors(tree, leaf)]


def all_cuts(tree: Hierarchy) -> Iterator[Cut]:
    """Every cut in which no leaf is published as something above its ceiling."""

    def below(node: int) -> list[dict[int, int]]:
        leaves = leaves_of(tree, node)
        cuts: list[dict[int, int]] = []
        if all(
            node in ancestors(tree, leaf)[: ancestors(tree, leaf).index(tree.ceilings[leaf]) + 1] for leaf in leaves
        ):
            cuts.append(dict.fromkeys(leaves, node))
        if node >= tree.leaves:
            children = [child for child in range(tree.root) if tree.parent[child] == node]
            for parts in itertools.product(*(below(child) for child in children)):
                cuts.append({leaf: v for part in parts for leaf, v in part.items()})
        return cuts

    for cut in below(tree.root):
        yield tuple(cut[leaf] for leaf in range(tree.leaves))


def set_supports(rows: Sequence[Sequence[int]], cut: Cut, m: int) -> Counter[frozenset[int]]:
    """How many rows hold each set of 1 to m published nodes."""
    supports: Counter[frozenset[int]] = Counter()
    for row in rows:
        published = sorted({cut[leaf] for leaf in row})
        for size in range(1, m + 1):
            supports.update(frozenset(members) for members in itertools.combinations(published, size))
    return supports


def is_anonymous(rows: Sequence[Sequence[int]], cut: Cut, k: int, m: int) -> bool:
    """k^m-anonymity by its definition."""
    return all(support >= k for support in set_supports(rows, cut, m).values())


def ncp(rows: Sequence[Sequence[int]], tree: Hierarchy, cut: Cut) -> Fraction:
    """The loss as section 3.3 has it."""
    items = [leaf for row in rows for leaf in set(row)]
    if not items:
        return Fraction(0)
    loss = Fraction(0)
    for leaf in items:
        leaves = len(leaves_of(tree, cut[leaf]))
        loss += Fraction(leaves, tree.leaves) if leaves > 1 else 0
    return loss / len(items)


def cheapest(case: Case, k: int, m: int) -> Fraction | None:
    """The least loss of any k^m-anonymous cut; None if there is none."""
    losses = [ncp(case.rows, case.tree, cut) for cut in all_cuts(case.tree) if is_anonymous(case.rows, cut, k, m)]
    return min(losses, default=None)


def is_above(tree: Hierarchy, higher: Cut, lower: Cut) -> bool:
    """Whether a cut generalizes another."""
    return all(v in ancestors(tree, u) for v, u in zip(higher, lower, strict=True))


def undone(tree: Hierarchy, cut: Cut, node: int) -> Cut:
    """The cut in which the children of a node stand in its place."""
    return tuple(
        next(v for v in ancestors(tree, leaf) if tree.parent[v] == node) if published == node else published
        for leaf, published in enumerate(cut)
    )


# As users state them


def paths_of(case: Case) -> list[list[str]]:
    """The tree of a case as a specification states it."""
    tree = case.tree
    return [[str(tree.labels[node]) for node in ancestors(tree, leaf)] for leaf in range(tree.leaves)]


def spec_for(case: Case, k: int, m: int, **method: Any) -> Spec:
    """The specification of a random case."""
    tree = case.tree
    marks = sorted({str(tree.labels[node]) for node in tree.ceilings.tolist() if node != tree.root})
    boundary = {"boundary": marks} if marks else {}
    basket = {"role": "items", "hierarchy": {"paths": paths_of(case)}, **boundary}
    return Spec(attributes={"basket": basket}, privacy={"k": k, "m": m}, method={"name": "itemsets", **method})


def table_of(case: Case) -> pa.Table:
    """The rows of a random case."""
    rows = [[case.tree.labels[leaf] for leaf in row] for row in case.rows]
    return pa.table({"basket": pa.array(rows, pa.list_(pa.string()))})


def text_or_lists(rows: Sequence[Sequence[str | None]], separator: str | None) -> pa.Table:
    """Baskets as a column `items`: of text where a separator is given, else of lists."""
    if separator is not None:
        return pa.table({"items": pa.array([separator.join(map(str, row)) for row in rows], pa.string())})
    return pa.table({"items": pa.array([*map(list, rows)], pa.list_(pa.string()))})
