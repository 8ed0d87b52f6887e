"""Refinement of rings: how many people are rebuilt from a release alone, and what rings over blocks of rows would cost.

The first rows attack rings as they are published, and compare with the table. The others go along one order of rows,
that of `ring`, and cut it where that loses least: into groups, and into rings whose windows are several blocks
of so many rows each. Blocks of one row are the rings of the paper. *Read* are the rows that are exact for whoever has
worked out which values are in which block: those of blocks in which at most one attribute varies, a value for each row.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import CENSUS, adult_attributes, census_income, count, write_adult
from benchmarks.rounds import in_rounds
from ringfence.arrays import Bools, Floats, Longs
from ringfence.audit.counts import Column
from ringfence.audit.refinement.rings import rebuild
from ringfence.audit.refinement.said import say
from ringfence.census.census import Census
from ringfence.census.covers import Representation, cover_groups
from ringfence.judging.metrics import measure_groups
from ringfence.methods import decide
from ringfence.plans.ring import COUNT, WHAT, RingPlan
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.local import local
from ringfence.search.groups.ring import lay_out
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from ringfence.values.builders import self_contained

K = 5


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what is rebuilt from rings, and what rings over blocks cost."""
    census, spec = _adult(folder)
    for k, shown in ((2, "set"), (2, None), (5, "set"), (5, None), (5, "hierarchy"), (10, "set")):
        yield {"data": "Adult", **attacked(census, _ring(spec, k, shown))}
    yield {"data": "Adult", **attacked(census, _ring(spec, K, "set", metric="glm"))}
    yield {"data": "Adult", **grouped(census, spec, "set", "glm")}
    yield {"data": "Adult", **grouped(census, spec, "set", "gcp")}
    yield {"data": "Adult", **grouped(census, spec, "hierarchy", "glm")}
    yield {"data": "Adult", **grouped(census, spec, "hierarchy", "gcp")}
    yield from blocks(census)
    yield from in_rounds(folder)
    yield from loosely(census, spec)
    quasi = {name: {"role": "quasi", "order": "numeric" if name == "age" else "lexical"} for name in CENSUS}
    spec = Spec(data={"unlisted": "drop"}, attributes=quasi)
    census = count(census_income(folder), spec)
    for shown in ("set", None):
        yield {"data": "Census-Income", **attacked(census, _ring(spec, K, shown))}


def _adult(folder: Path) -> tuple[Census, Spec]:
    """Return the census of Adult with ages as numbers, and a specification with its hierarchies in it."""
    attributes = adult_attributes()
    attributes["age"]["order"] = "numeric"
    with tempfile.TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        spec = self_contained(Spec(attributes=attributes).at(place))
        return count(path, spec), spec


def _ring(spec: Spec, k: int, shown: str | None, **others: str) -> Spec:
    method = {"name": "ring", **({} if shown is None else {"representation": shown}), **others}
    return Spec(**{**spec.model_dump(by_alias=True, exclude_unset=True), "privacy": {"k": k}, "method": method})


def attacked(census: Census, spec: Spec) -> dict[str, Any]:
    """Return what is rebuilt from the rings of a specification, and how much of it is true."""
    decision = decide(census, spec, Watch(None, lambda _: None))
    plan = decision.plan
    assert isinstance(plan, RingPlan)
    names = [quasi.name for quasi in census.quasi]
    columns, said = [], []
    for name in names:
        shown = plan.columns[name]
        labels = sorted({*(shown.labels[value] for value in shown.groups)}, key=lambda label: label or "")
        codes = [labels.index(shown.labels[value]) for value in shown.groups]
        columns.append(Column(name, tuple(labels), np.array(codes)))
        said.append(say(columns[-1], spec))
    slots = np.bincount(plan.slots[WHAT], plan.slots[COUNT], minlength=plan.groups).astype(np.int64)
    began = time.perf_counter()
    found = rebuild(columns, [each.said for each in said], slots, plan.width)
    seconds = time.perf_counter() - began
    people = {
        tuple(each.value(number) for each, number in zip(said, numbers, strict=True)): rows
        for numbers, rows in found.tuples.items()
    }
    leaves = [quasi.hierarchy.labels for quasi in census.quasi]
    table = Counter[tuple[str | None, ...]]()
    for codes, rows in zip(census.codes.tolist(), census.weights.tolist(), strict=True):
        table[tuple(labels[code] for labels, code in zip(leaves, codes, strict=True))] += rows
    return {
        "k": plan.width,
        "shown": spec.method.representation or "range, set",
        "minimized": spec.method.minimized,
        "rows": census.rows,
        "glm": round(decision.metrics["glm"], 4),
        "gcp": round(decision.metrics["gcp"], 4),
        "plain": found.plain,
        "rebuilt": sum(people.values()),
        "true": (Counter(people) & table).total(),
        "unique rebuilt": sum(table[person] == 1 for person in people),
        "unique": sum(rows == 1 for rows in table.values()),
        "stopped": found.stopped,
        "seconds": round(seconds, 1),
    }


def grouped(census: Census, spec: Spec, shown: Representation, kept: Kept) -> dict[str, Any]:
    """Return what the groups of `local` lose, published alike."""
    groups = local(census, GroupsAsked(K, representation=shown, loss=kept))[0]
    measured = measure_groups(census, spec, groups.sizes, cover_groups(census, groups, shown))
    losses = {name: round(measured[name], 4) for name in ("glm", "gcp")}
    return {"k": K, "cut": "groups of local", "shown": shown, "minimized": kept, "rows": census.rows, **losses}


def loosely(census: Census, spec: Spec) -> Iterator[dict[str, Any]]:
    """Yield what groups lose under nodes that tell no value: searched for so, and those of tight sets shown so."""
    quasi = [replace(quasi, hierarchy=quasi.hierarchy.loosened()) for quasi in census.quasi]
    loose = replace(census, quasi=tuple(quasi))
    asked: list[tuple[str, Representation, Census]] = [
        ("loose nodes", "hierarchy", loose),
        ("tight sets", "set", census),
    ]
    for found_by, shown, over in asked:
        groups = local(over, GroupsAsked(K, representation=shown, loss="glm"))[0]
        measured = measure_groups(loose, spec, groups.sizes, cover_groups(loose, groups, "hierarchy"))
        yield {"data": "Adult", "k": K, "cut": found_by, "shown": "loose nodes", "glm": round(measured["glm"], 4)}


# Rings over blocks


@dataclass(frozen=True, eq=False)
class Line:
    """Rows in an order: `holds[p, v]` says whether the row at place p has the value v, those of all attributes numbered
    together; each attribute has its values from its `first` on."""

    holds: Bools
    first: Longs
    sizes: Longs

    def run(self, rows: int) -> Bools:
        """Return the values of each run of so many rows, by the place where it begins."""
        count = len(self.holds) - rows + 1
        held: Bools = np.logical_or.reduce([self.holds[step : step + count] for step in range(rows)])
        return held

    def loss(self, held: Bools) -> Floats:
        """Return the GCP of a row that is published as these values."""
        different = np.add.reduceat(held, self.first, axis=1, dtype=np.int64)
        losses: Floats = ((different - 1) / np.maximum(self.sizes - 1, 1)).mean(axis=1)
        return losses

    def exact(self, first: int, rows: int) -> int:
        """Return how many rows of a block are exact for whoever knows its values."""
        different = np.add.reduceat(self.holds[first : first + rows].any(axis=0), self.first, dtype=np.int64)
        varies = different[different > 1]
        return rows if len(varies) == 0 or (len(varies) == 1 and varies[0] == rows) else 0


def blocks(census: Census) -> Iterator[dict[str, Any]]:
    """Yield what groups lose, and rings over blocks of one row, two, three and five."""
    tuples, _ = lay_out(census, k=K, order="nearest", limit=0)
    parts = [np.eye(quasi.hierarchy.leaves, dtype=bool)[:, quasi.rows > 0] for quasi in census.quasi]
    sizes = np.array([part.shape[1] for part in parts])
    holds = np.concatenate([part[census.codes[tuples, a]] for a, part in enumerate(parts)], axis=1)
    line = Line(holds, np.cumsum([0, *sizes[:-1]]), sizes)
    groups = {rows: rows * line.loss(line.run(rows)) for rows in range(K, 2 * K)}
    yield {"data": "Adult", "k": K, "cut": "groups", **_cut(line, groups, {})}
    for block, most in ((1, 9), (2, 8), (3, 8), (4, 8), (5, 8)):
        width = -(-K // block)
        rings = {n * block: _ring_losses(line, block, width, n) for n in range(width + 1, most + 1)}
        found = _cut(line, groups, rings, block)
        yield {"data": "Adult", "k": K, "cut": "rings", "block": block, "window": width * block, **found}


def _ring_losses(line: Line, block: int, width: int, count: int) -> Floats:
    """Return what a ring of so many blocks loses, by the place where it begins: windows are `width` blocks."""
    places = len(line.holds) - count * block + 1
    inside = line.loss(line.run(width * block))
    total = np.zeros(places)
    for window in range(count - width + 1):
        total += inside[window * block : window * block + places]
    for head in range(1, width):  # blocks at the beginning of a window that goes around
        tail = (width - head) * block
        begins = count * block - tail
        around = line.run(tail)[begins : begins + places] | line.run(head * block)[:places]
        total += line.loss(around)
    return block * total


def _cut(line: Line, groups: dict[int, Floats], rings: dict[int, Floats], block: int = 1) -> dict[str, Any]:
    """Cut an order into groups and rings so that the least is lost; return what that is, and what can be read."""
    rows = len(line.holds)
    ways = [(size, losses, size) for size, losses in groups.items()]
    ways += [(size, losses, block) for size, losses in rings.items()]
    best, way = np.full(rows + 1, np.inf), np.zeros(rows + 1, np.int64)
    best[0] = 0
    for stop in range(K, rows + 1):
        costs = [best[stop - size] + losses[stop - size] if stop >= size else np.inf for size, losses, _ in ways]
        way[stop] = int(np.argmin(costs))
        best[stop] = costs[way[stop]]
    stop, read, in_rings = rows, 0, 0
    while stop:
        size, _, atom = ways[way[stop]]
        stop -= size
        in_rings += size * (atom < size)
        read += sum(line.exact(first, atom) for first in range(stop, stop + size, atom))
    return {"gcp": round(float(best[rows]) / rows, 5), "rows in rings": in_rings, "read": read}
