"""Random small baskets of items, and the judge of what is published of them."""

import csv
import random
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from .columns import KINDS, Column, missing
from .judge import Rows, Wrong
from .labels import Reader

ITEMS, TRACE, QUASI = "bought", "trace", "town"
POOL = ("ale", "Ale", "bread", "\u00e9", "e\u0301", "7", "07", "milk", "null", "tea", "Ａ")


@dataclass(frozen=True)
class BasketCase:
    """Baskets, what is asked of them, and the sort of table that they come as."""

    seed: int
    baskets: tuple[tuple[str, ...] | None, ...]
    towns: tuple[str, ...]
    """A quasi-identifier beside the baskets; none if empty."""
    attribute: dict[str, Any]
    privacy: dict[str, int]
    source: str
    written: str
    method: str = "itemsets"

    @property
    def separator(self) -> str | None:
        """What stands between two items of a text; None where they are lists."""
        separator: str | None = self.attribute.get("separator")
        return separator

    @property
    def parts(self) -> dict[str, Any]:
        """The specification, as keyword arguments."""
        attributes: dict[str, Any] = {ITEMS: self.attribute, TRACE: {"role": "insensitive"}}
        if self.towns:
            attributes[QUASI] = {"role": "quasi", "hierarchy": "flat"}
        method = {"name": "optimal"} if self.towns else {"name": "itemsets"}
        return {"attributes": attributes, "privacy": self.privacy, "method": method}

    def cells(self) -> list[Any]:
        """The baskets as a column holds them."""
        if self.separator is None:
            return [None if basket is None else list(basket) for basket in self.baskets]
        return [None if basket is None else self.separator.join(basket) for basket in self.baskets]

    def columns(self) -> dict[str, list[Any]]:
        """All columns of the table."""
        traces = [f"t{i}" for i in range(len(self.baskets))]
        return {TRACE: traces, ITEMS: self.cells(), **({QUASI: list(self.towns)} if self.towns else {})}

    def table(self, folder: Path) -> Any:
        """The table: a frame, or the path of a file."""
        columns = self.columns()
        if self.source == "pandas":
            import pandas as pd

            return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
        held = pa.table(
            {
                **columns,
                ITEMS: pa.array(columns[ITEMS], pa.list_(pa.string()) if self.separator is None else pa.string()),
            }
        )
        if self.source == "parquet":
            pyarrow.parquet.write_table(held, folder / "baskets.parquet")
            return folder / "baskets.parquet"
        if self.source == "csv":
            with (folder / "baskets.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*columns.values(), strict=True))
            return folder / "baskets.csv"
        return held

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.method} from {self.source}, written as {self.written}"]
        return "\n".join([*lines, *(f"  {key}: {value}" for key, value in self.parts.items()), f"  {self.columns()}"])


def draw_baskets(seed: int, rng: random.Random) -> BasketCase:
    """Draw the baskets of a seed."""
    items = rng.sample(POOL, rng.randint(2, 7))
    rows = rng.randint(3, 18)
    baskets = tuple(
        None if rng.random() < 0.03 else tuple(rng.choices(items, k=rng.choice([0, 1, 1, 2, 2, 3])))
        for _ in range(rows)
    )
    separator = rng.choice([" ", ";", None])
    trees = {f"Node {i}": items[i::2] for i in range(2)}
    hierarchy = rng.choice(["flat", {"tree": trees}, {"fanout": 2}, {"fanout": 3}, {"fanout": 2, "by": "support"}])
    attribute = {"role": "items", "hierarchy": hierarchy, **({} if separator is None else {"separator": separator})}
    towns = tuple(rng.choice(["Oslo", "Voss"]) for _ in range(rows)) if rng.random() < 0.3 else ()
    sources = ["pandas", "arrow", "parquet", *([] if separator is None else ["csv"])]
    written = "parquet" if separator is None else rng.choice(["csv", "parquet"])
    privacy = {"k": rng.choice([2, 2, 3]), "m": rng.choice([1, 2, 2])}
    return BasketCase(seed, baskets, towns, attribute, privacy, rng.choice(sources), written)


def published_items(case: BasketCase, cell: Any) -> list[str]:
    """The labels in a published cell."""
    if isinstance(cell, str):
        return [label for label in cell.split(case.separator) if label]
    return [] if cell is None or (not hasattr(cell, "__len__") and missing(cell)) else list(cell)


def judge_baskets(case: BasketCase, published: Rows, suppressed: int) -> None:
    """Raise `Wrong` unless published baskets are those of their people, and k^m-anonymous."""
    if len(published) != len(case.baskets) - suppressed:
        raise Wrong(
            f"{len(published)} rows of {len(case.baskets)} are published, {suppressed} are said to be suppressed"
        )
    if len({row[TRACE] for row in published}) != len(published):
        raise Wrong("rows stand twice")
    reader = Reader.of(Column(KINDS["text"], ()), {**case.attribute, "order": sorted(POOL)})
    by_support = isinstance(case.attribute["hierarchy"], dict) and "by" in case.attribute["hierarchy"]
    shown = [published_items(case, row[ITEMS]) for row in published]
    if case.separator == " ":
        shown = [_rejoined(labels) for labels in shown]
    for row, labels in zip(published, shown, strict=True):
        items = {item for item in case.baskets[int(row[TRACE][1:])] or () if item}
        if len(set(labels)) != len(labels):
            raise Wrong(f"a label stands twice: {labels}")
        held = {(label, item) for label in labels for item in items if reader.holds(label, item)}
        if by_support:  # the order of such a tree is not stated: only its ends can be looked for
            continue
        if {label for label, _ in held} != set(labels) or {item for _, item in held} != items:
            raise Wrong(f"the basket {sorted(items)} is published as {labels}")
    for size in range(1, case.privacy["m"] + 1):
        counts = Counter(chosen for labels in shown for chosen in combinations(sorted(labels), size))
        if counts and min(counts.values()) < case.privacy["k"]:
            rare = min(counts, key=lambda chosen: counts[chosen])
            raise Wrong(f"{rare} is in {counts[rare]} baskets, k = {case.privacy['k']}")
    if case.towns and min(Counter(row[QUASI] for row in published).values()) < case.privacy["k"]:
        raise Wrong("a class is too small")


def _rejoined(parts: list[str]) -> list[str]:
    """Put labels with a blank in them together again: those of stated trees have one."""
    labels: list[str] = []
    for part in parts:
        if labels and labels[-1] == "Node":
            labels[-1] += f" {part}"
        else:
            labels.append(part)
    return labels
