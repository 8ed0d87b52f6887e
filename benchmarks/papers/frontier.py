"""Figs. 4 to 6 and Table 3 of POkA on Adult, beside the exact front; and why the two differ where they do.

Dewri, Ray, Ray, Whitley: POkA: Identifying Pareto-Optimal k-Anonymous Nodes in a Domain Hierarchy Lattice. CIKM 2009,
section 6. The page is docs/papers/frontier, the hierarchies are in frontier.toml beside this file.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import frontier as speed
from benchmarks.data import adult, count
from benchmarks.papers.frontier_charts import draw_depths, draw_fronts, draw_lattices, draw_speed
from benchmarks.papers.pages import Page, Row
from benchmarks.timing import best_seconds
from ringfence.census.census import Census
from ringfence.search.front.frontier import Front, exact_front, node_point
from ringfence.search.front.node_costs import NodeCosts
from ringfence.search.front.poka import poka_front, recall_precision
from ringfence.search.progress import Watch
from ringfence.search.recode.lattice import SAME
from ringfence.spec import Spec

SPEC = Path(__file__).with_suffix(".toml")
LABEL = "class"
METRICS = ("glm", "dm", "ce")
DEPTHS = range(1, 7)  # the largest is the height of the highest hierarchy, which the paper takes to be enough
CROWD = 100
"""Nodes crowd below this k."""

AGES = [([5, 10, 20, 40, 80], 0), ([3, 6, 12, 24, 48], 17), ([2, 4, 8, 16, 32], 16)]
DEGREES = {
    "No diploma": {
        "Up to 8th grade": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "9th to 12th grade": ["9th", "10th", "11th", "12th"],
    },
    "Diploma": {"High school": ["HS-grad"], "Some college": ["Some-college", "Assoc-voc", "Assoc-acdm"]},
    "Degree": {"Bachelor": ["Bachelors"], "Graduate": ["Masters", "Prof-school", "Doctorate"]},
}
"""Another tree over education: graduates are not apart just below its root."""


def specification(metric: str, suppression: float = 0.01, hierarchies: Mapping[str, Any] | None = None) -> Spec:
    """Return frontier.toml for a loss; for the classification error the label is no quasi-identifier."""
    parts = Spec.load(SPEC).model_dump(by_alias=True, exclude_unset=True)
    for name, hierarchy in (hierarchies or {}).items():
        parts["attributes"][name]["hierarchy"] = hierarchy
    parts["method"] |= {"metric": metric, "suppression": suppression}
    if metric == "ce":
        parts["attributes"][LABEL] = {"role": "sensitive"}
        parts["method"]["target"] = LABEL
    return Spec(**parts)


@dataclass(frozen=True, eq=False)
class Lattice:
    """The lattice of a census, and its fronts."""

    census: Census
    spec: Spec

    @cached_property
    def exact(self) -> Front:
        """The exact front, over nodes as the paper has it."""
        return self.search("nodes")

    def search(self, points: str) -> Front:
        """Return the exact front, over nodes or over releases."""
        return exact_front(self.census, _with(self.spec, points=points), Watch())

    def poka(self, depth: int | str = "average", *, careful: bool = False) -> Front:
        """Return what POkA finds."""
        return poka_front(self.census, _with(self.spec, depth=depth, careful=careful), Watch())

    def compare(self, found: Front) -> dict[str, Any]:
        """Return how many nodes were evaluated, and how much of the exact front was found for it."""
        true = len(self.exact.points)
        right = round(recall_precision(found, self.exact).recall * true)
        return {
            "nodes": found.lattice,
            "evaluated": found.nodes,
            "evaluated %": _percent(found.nodes / found.lattice),
            "true front": true,
            "found": right,
            "missed": true - right,
            "false": len(found.points) - right,
        }


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of every table; write the tables and the pictures beside the page's text."""
    page, times = Page("frontier"), []
    yield from reproduce(adult(folder), page)
    for row in page.table("speed", speed.measure(folder)):
        times.append(row)
        yield row
    page.picture(
        "speed",
        draw_speed(times),
        "The exact front: time grows with nodes and distinct rows",
        "In one thread, under dm and glm; rings: the lattice of 6,480 nodes, dots: that of 17,920",
    )


def reproduce(rows: pa.Table, page: Page) -> Iterator[dict[str, Any]]:
    """Yield what the paper's figures and table show of some rows, and what explains it."""
    lattices = {metric: _lattice(rows, specification(metric)) for metric in METRICS}
    average = {metric: lattice.poka() for metric, lattice in lattices.items()}
    found = {(metric, depth): lattices[metric].poka(depth) for metric, depth in product(METRICS, DEPTHS)}
    yield from page.table("fronts", _fronts(lattices, average))
    yield from page.table("points", _points(lattices, average))
    yield from page.table("stops", _stops(lattices["ce"], average["ce"]))
    page.picture(
        "figure-4",
        draw_fronts({metric: (lattices[metric].exact, average[metric]) for metric in METRICS}),
        "Fig. 4. What each k costs under three losses",
        "Above: every node (grey) and the exact front (blue rings)."
        " Below: the exact front and what POkA finds of it (orange dots)",
    )
    yield from page.table("depths", _depths(lattices, found))
    page.picture(
        "figure-5",
        draw_depths(lattices["glm"].exact, {depth: found["glm", depth] for depth in (1, 2, 3)}),
        "Fig. 5. POkA at three depths, under general loss",
        "The exact front (blue rings) and what POkA finds (orange dots)",
    )
    sizes = []
    for row in page.table("lattices", _sizes(rows)):
        sizes.append(row)
        yield row
    page.picture(
        "figure-6",
        draw_lattices(sizes),
        "Fig. 6. Of larger lattices POkA evaluates a smaller share",
        "Under discernibility; orange: the first 2 to 8 attributes, grey: every other choice of attributes",
    )
    yield from page.table("suppression", _suppression(rows))
    yield from page.table("hierarchies", _hierarchies(rows))


def _fronts(lattices: Mapping[str, Lattice], found: Mapping[str, Front]) -> Iterator[Row]:
    """Fig. 4 in figures; how long both searches take, and what the front over releases adds."""
    for metric, lattice in lattices.items():
        releases = lattice.search("release")
        yield {
            "metric": metric,
            **lattice.compare(found[metric]),
            "poka seconds": round(best_seconds(lattice.poka, clock=time.process_time), 2),
            "exact seconds": round(best_seconds(partial(lattice.search, "nodes"), clock=time.process_time), 2),
            "release front": len(releases.points),
            "nodes bettered": sum(_below(releases.best(point.k).loss, point.loss) for point in lattice.exact.points),
            "k up to 100 %": _percent(float((lattice.exact.cloud_k <= CROWD).mean())),
            "k = 2: release": round(releases.best(2).loss, 6),
            "k = 2: node": round(lattice.exact.best(2).loss, 6),
        }


def _stops(lattice: Lattice, found: Front) -> Iterator[Row]:
    """Where POkA stops under classification error: its last node on the way down, and all nodes one level below."""
    costs = NodeCosts(lattice.census, lattice.spec, least=1)
    costs.fill(Watch())
    last = min(found.points, key=lambda point: point.k)
    below = [
        node_point(costs, costs.number((*last.levels[:a], level - 1, *last.levels[a + 1 :])))
        for a, level in enumerate(last.levels)
        if level > 0
    ]
    for point, place in [(last, "last"), *((point, "below") for point in below)]:
        yield {
            "node": place,
            "k": point.k,
            "loss": round(point.loss, 6),
            "suppressed": point.suppressed,
            **dict(zip(lattice.census.names, point.levels, strict=True)),
        }


def _points(lattices: Mapping[str, Lattice], found: Mapping[str, Front]) -> Iterator[Row]:
    """Every node that is on the exact front or that POkA takes to be."""
    for metric, lattice in lattices.items():
        exact = {point.levels: point for point in lattice.exact.points}
        poka = {point.levels: point for point in found[metric].points}
        for levels, point in sorted((exact | poka).items(), key=lambda item: (item[1].k, item[1].loss)):
            yield {
                "metric": metric,
                "k": point.k,
                "loss": round(point.loss, 6),
                "suppressed": point.suppressed,
                "classes": point.classes,
                "on the front": levels in exact,
                "found by poka": levels in poka,
                **dict.fromkeys(lattices["glm"].census.names, ""),
                **dict(zip(lattice.census.names, levels, strict=True)),
            }


def _depths(lattices: Mapping[str, Lattice], found: Mapping[tuple[str, int], Front]) -> Iterator[Row]:
    """Table 3, for every loss."""
    for (metric, depth), front in found.items():
        yield {"metric": metric, "depth": depth, **lattices[metric].compare(front)}


def _sizes(rows: pa.Table) -> Iterator[Row]:
    """Fig. 6, for every choice of two or more attributes; those `in order` are the first of the specification."""
    whole = specification("dm")
    names = list(whole.attributes)
    for number in range(2, len(names) + 1):
        for chosen in combinations(names, number):
            spec = whole.model_copy(update={"attributes": {name: whole.attributes[name] for name in chosen}})
            lattice = _lattice(rows, spec)
            yield {
                "attributes": number,
                "in order": list(chosen) == names[:number],
                **lattice.compare(lattice.poka()),
                "chosen": " ".join(chosen),
            }


def _suppression(rows: pa.Table) -> Iterator[Row]:
    """How often loss falls from a node to a coarser one, which POkA takes never to happen; and what it finds then."""
    for metric, suppression in product(METRICS, (0.0, 0.01)):
        lattice = _lattice(rows, specification(metric, suppression))
        steps, falls = steps_up(lattice)
        paper, careful = (lattice.compare(lattice.poka(careful=careful)) for careful in (False, True))
        yield {
            "metric": metric,
            "suppression %": _percent(suppression),
            "steps up": steps,
            "loss falls %": _percent(falls / steps),
            "true front": paper["true front"],
            "evaluated %": paper["evaluated %"],
            "missed": paper["missed"],
            "careful: evaluated %": careful["evaluated %"],
            "careful: missed": careful["missed"],
        }


def steps_up(lattice: Lattice) -> tuple[int, int]:
    """Return how many steps there are from a node with k >= 2 to one a level coarser, and at how many loss falls."""
    lattice_costs = NodeCosts(lattice.census, lattice.spec, least=1)
    lattice_costs.fill(Watch())
    shape = [height + 1 for height in lattice.census.heights]
    k, loss = lattice_costs.judged.k.reshape(shape), lattice_costs.judged.cost.reshape(shape)
    steps = falls = 0
    for axis, height in enumerate(lattice.census.heights):
        finer, coarser = (np.take(loss, range(start, start + height), axis) for start in (0, 1))
        counts = np.take(k, range(height), axis) >= 2
        steps += int(counts.sum())
        falls += int((counts & (finer - coarser > SAME * finer)).sum())
    return steps, falls


def _hierarchies(rows: pa.Table) -> Iterator[Row]:
    """The same with other hierarchies of the same heights, and whether a deeper or a careful search misses less."""
    own = specification("dm").attributes["education"].hierarchy
    for (widths, start), (tree, words), metric in product(
        AGES, [(own, "graduates apart"), ({"tree": DEGREES}, "degrees together")], METRICS
    ):
        other = {"age": {"intervals": widths, "from": start}, "education": tree}
        lattice = _lattice(rows, specification(metric, hierarchies=other))
        figures = lattice.compare(lattice.poka())
        yield {
            "age": ", ".join(map(str, widths)),
            "education": words,
            "metric": metric,
            **{key: figures[key] for key in ("evaluated %", "true front", "missed", "false")},
            "depth 6: missed": lattice.compare(lattice.poka(DEPTHS[-1]))["missed"],
            "careful: missed": lattice.compare(lattice.poka(careful=True))["missed"],
            "careful, depth 6: missed": lattice.compare(lattice.poka(DEPTHS[-1], careful=True))["missed"],
        }


def _lattice(rows: pa.Table, spec: Spec) -> Lattice:
    return Lattice(count(rows, spec), spec)


def _with(spec: Spec, **frontier: Any) -> Spec:
    return spec.model_copy(update={"frontier": spec.frontier.model_copy(update=frontier)})


def _below(one: float, other: float) -> bool:
    return other - one > SAME * abs(other)


def _percent(share: float) -> float:
    return round(100 * share, 1)
