"""Small random tables and their specifications, and the plain-Python definitions that searches are tested against."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ringfence.census import Census, take_census
from ringfence.hierarchy import Hierarchy
from ringfence.spec import Spec

ROWS = "number of rows"


@dataclass(frozen=True)
class Case:
    """A table, its specification, and its census."""

    table: pa.Table
    spec: Spec

    @property
    def census(self) -> Census:
        """The census, counted by Arrow."""
        return count(self.table, self.spec)

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(row) for row in self.table.to_pylist()]


def count(table: pa.Table, spec: Spec) -> Census:
    """Count a table without an engine."""
    columns = table.column_names
    counted = table.group_by(columns).aggregate([([], "count_all")]).rename_columns([*columns, ROWS])
    return take_census(counted, spec, ROWS)


def random_tree(leaves: list[str], rng: random.Random, name: str) -> dict[str, Any]:
    """Return nested tables over some leaves: groups of one to three, one or two levels deep, not always balanced."""
    tree: dict[str, Any] = {}
    remaining = list(leaves)
    while remaining:
        size = rng.randint(1, 3)
        group, remaining = remaining[:size], remaining[size:]
        label = f"{name}{len(tree)}"
        if rng.random() < 0.4 and len(group) > 1:
            tree[label] = {f"{label}-{i}": [leaf] for i, leaf in enumerate(group)}
        else:
            tree[label] = group
    return tree


@st.composite
def cases(draw: st.DrawFn, *, sensitive: int = 0, max_rows: int = 14) -> Case:
    """Draw a small table with two or three quasi-identifiers of all kinds, and a specification without method."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows = rng.randint(1, max_rows)
    columns: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for a in range(rng.randint(1, 3)):
        name, values = f"q{a}", [f"v{i}" for i in range(rng.randint(1, 5))]
        kind = rng.choice(["tree", "flat", "intervals"])
        if kind == "intervals":
            columns[name] = [rng.randint(-6, 12) for _ in range(rows)]
            hierarchy: Any = {"intervals": rng.choice([[2], [3, 6], [2.5, 5]]), "from": rng.choice([0, 1, -0.5])}
        else:
            columns[name] = [rng.choice(values) for _ in range(rows)]
            hierarchy = "flat" if kind == "flat" else {"tree": random_tree(values, rng, name)}
        if rng.random() < 0.2:
            columns[name][rng.randrange(rows)] = None
        attributes[name] = {"role": "quasi", "hierarchy": hierarchy, "weight": rng.choice([1, 1, 2.5])}
        if kind == "tree" and rng.random() < 0.25:
            attributes[name]["boundary"] = [rng.choice(list(hierarchy["tree"]))]
    for s in range(sensitive):
        columns[f"s{s}"] = [rng.choice("xyz" if s else "abcd") for _ in range(rows)]
        attributes[f"s{s}"] = {"role": "sensitive", "order": list("abcdxyz")}
    schema = pa.schema(
        [
            (name, pa.int64() if any(isinstance(v, int) for v in values) else pa.string())
            for name, values in columns.items()
        ]
    )
    return Case(pa.table(columns, schema), Spec(attributes=attributes))


def with_parts(spec: Spec, **parts: Any) -> Spec:
    """Return a specification with some of its tables replaced."""
    return Spec(**{**spec.model_dump(by_alias=True, exclude_unset=True), **parts})


def node_at(hierarchy: Hierarchy, leaf: int, level: int) -> int:
    """Return the node of a leaf at a level, by walking the tree: the definition that `Hierarchy.levels` tabulates."""
    node = leaf
    while hierarchy.depth[node] > hierarchy.height - level and node != hierarchy.ceilings[leaf]:
        node = int(hierarchy.parent[node])
    return node


def all_nodes(census: Census) -> Iterator[tuple[int, ...]]:
    """Return every node of the level lattice."""
    return itertools.product(*(range(height + 1) for height in census.heights))


def row_classes(census: Census, levels: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
    """Return for each distinct tuple its published nodes and its number of rows."""
    return [
        (
            tuple(
                node_at(quasi.hierarchy, int(leaf), level)
                for quasi, leaf, level in zip(census.quasi, codes, levels, strict=True)
            ),
            int(weight),
        )
        for codes, weight in zip(census.codes, census.weights, strict=True)
    ]


def class_sizes(census: Census, levels: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Return the size of each class at a node."""
    sizes: Counter[tuple[int, ...]] = Counter()
    for nodes, weight in row_classes(census, levels):
        sizes[nodes] += weight
    return sizes


def limit_of(suppression: float, rows: int) -> int:
    """Return how many rows may go."""
    return floor(suppression * rows + 1e-12)
