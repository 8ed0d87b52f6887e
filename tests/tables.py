"""Small random tables and their specifications, and the plain-Python definitions that searches are tested against."""

import datetime as dt
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ringfence.census.census import Census, take_census
from ringfence.spec import Spec
from ringfence.values.hierarchy import Hierarchy

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


def place(key: Decimal | dt.date | dt.time) -> Fraction:
    """Where a number lies on its line, or a date, in days."""
    if isinstance(key, Decimal):
        return Fraction(key)
    clock = key if isinstance(key, dt.time) else key.time() if isinstance(key, dt.datetime) else dt.time()
    seconds = Fraction(clock.hour * 3600 + clock.minute * 60 + clock.second) + Fraction(clock.microsecond, 10**6)
    return (0 if isinstance(key, dt.time) else key.toordinal()) + seconds / 86_400


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
def cases(draw: st.DrawFn, *, sensitive: int = 0, max_rows: int = 14, bounded: bool = False) -> Case:
    """Draw a small table with one to three quasi-identifiers of all kinds, and a specification without method.

    If bounded, no value of the first may become "*"; otherwise, some have a boundary for some of their values.
    """
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows = rng.randint(1, max_rows)
    columns: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for a in range(rng.randint(1, 3)):
        name, values = f"q{a}", [f"v{i}" for i in range(rng.randint(1, 5))]
        must = bounded and a == 0
        kind = "tree" if must else rng.choice(["tree", "flat", "intervals", "dates"])
        if kind == "dates":
            columns[name] = [dt.date(2019, 12, 28) + dt.timedelta(rng.choice([0, 1, 5, 70, 900])) for _ in range(rows)]
            hierarchy: Any = rng.choice([{"dates": ["month"]}, {"dates": ["quarter", "decade"]}, "flat"])
        elif kind == "intervals":
            columns[name] = [rng.randint(-6, 12) for _ in range(rows)]
            hierarchy = {"intervals": rng.choice([[2], [3, 6], [2.5, 5]]), "from": rng.choice([0, 1, -0.5])}
        else:
            columns[name] = [rng.choice(values) for _ in range(rows)]
            hierarchy = "flat" if kind == "flat" else {"tree": random_tree(values, rng, name)}
        if rng.random() < 0.2:
            columns[name][rng.randrange(rows)] = None
        attributes[name] = {"role": "quasi", "hierarchy": hierarchy, "weight": rng.choice([1, 1, 2.5])}
        if kind == "dates" and hierarchy == "flat":  # the engine tells by the type of the column
            attributes[name]["format"] = "iso"
        if must:
            attributes[name]["boundary"] = list(hierarchy["tree"])
        elif kind == "tree" and rng.random() < 0.25:
            attributes[name]["boundary"] = [rng.choice(list(hierarchy["tree"]))]
    for s in range(sensitive):
        columns[f"s{s}"] = [rng.choice("xyz" if s else "abcd") for _ in range(rows)]
        attributes[f"s{s}"] = {"role": "sensitive", "order": list("abcdxyz")}
    return Case(_typed(columns), Spec(attributes=attributes))


def _typed(columns: dict[str, list[Any]]) -> pa.Table:
    """Columns of numbers, of dates, and of text, whatever is missing in them."""
    types = {int: pa.int64(), dt.date: pa.date32()}
    kinds = {name: {type(value) for value in values if value is not None} for name, values in columns.items()}
    schema = pa.schema([(name, types.get(next(iter(kind), str), pa.string())) for name, kind in kinds.items()])
    return pa.table(columns, schema)


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


def random_paths(leaves: list[str], rng: random.Random, above: tuple[str, ...] = ("*",)) -> list[list[str]]:
    """Return paths from some leaves to the root: groups of any size, one to three levels deep, some of one member."""
    paths: list[list[str]] = []
    name = "G" if above == ("*",) else above[0]
    while len(paths) < len(leaves):
        part = leaves[len(paths) : len(paths) + rng.randint(1, len(leaves) - len(paths))]
        if len(above) > 3 or (len(part) == 1 and rng.random() < 0.6):
            paths += [[leaf, *above] for leaf in part]
        else:
            paths += random_paths(part, rng, (f"{name}{len(paths)}", *above))
    return paths


def random_attribute(rng: random.Random, most: int) -> tuple[list[Any], dict[str, Any]]:
    """Return up to `most` values and an attribute for them: trees with values that nobody has, flat ones, numbers,
    dates that may be listed; any order; some with a boundary."""
    kind = rng.choice(["tree", "tree", "tree", "flat", "numbers", "dates"])
    size = max(rng.randint(1, most), rng.randint(1, most))
    attribute: dict[str, Any] = {"role": "quasi", "weight": rng.choice([1, 1, 2.5])}
    if kind == "numbers":
        attribute |= rng.choice([{"order": "numeric"}, {"hierarchy": {"intervals": [2, 6]}}, {"hierarchy": "flat"}])
        return rng.sample(range(1, 12), size), attribute
    if kind == "dates":
        attribute |= rng.choice([{"format": "iso"}, {"hierarchy": {"dates": ["month", "decade"]}}])
        days = [dt.date(2019, 12, 28) + dt.timedelta(day) for day in rng.sample([0, 1, 5, 9, 70, 400, 900], size)]
        return days, attribute | {"representation": "set"}
    numbered = kind == "tree" and rng.random() < 0.3
    names = list("1234567" if numbered else "abcdefg")[: size + rng.randint(0, 2)]
    rng.shuffle(names)
    orders = [None, None, "numeric" if numbered else "lexical", [*names], rng.sample(names, len(names))]
    if (order := rng.choice(orders)) is not None:
        attribute["order"] = order
    if kind == "tree":
        paths = random_paths(names, rng)
        attribute["hierarchy"] = {"paths": paths}
        if rng.random() < 0.35:
            labels = list(dict.fromkeys(label for path in paths for label in path))
            level = rng.randint(0, max(map(len, paths)) - 1)
            attribute["boundary"] = rng.choice(
                [{"level": level}, rng.sample(labels, rng.randint(1, min(2, len(labels))))]
            )
    elif rng.random() < 0.5:
        attribute["hierarchy"] = "flat"
    return names[:size], attribute


@st.composite
def scheme_cases(draw: st.DrawFn, *, sensitive: int = 0, max_rows: int = 9, most: tuple[int, ...] = (5, 4, 3)) -> Case:
    """Draw a small table for brute force over partitions: `most` says how many values an attribute of one, of two, ...
    may have. Orders may tear nodes apart."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows, quasi = max(rng.randint(1, max_rows), rng.randint(1, max_rows)), rng.randint(1, len(most))
    columns: dict[str, list[Any]] = {}
    attributes: dict[str, Any] = {}
    for a in range(quasi):
        missing = [None] if rng.random() < 0.2 else []
        values, attributes[f"q{a}"] = random_attribute(rng, most[quasi - 1] - len(missing))
        columns[f"q{a}"] = [*values, *missing, *rng.choices([*values, *missing], k=rows)][:rows]
        rng.shuffle(columns[f"q{a}"])
    for s in range(sensitive):
        columns[f"s{s}"] = [rng.choice("xyz" if s else "abcd") for _ in range(rows)]
        attributes[f"s{s}"] = {"role": "sensitive", "order": list("abcdxyz")}
    return Case(_typed(columns), Spec(attributes=attributes))
