"""Figs. 5 and 6 and Tables 5 and 6 of the paper on generalization constraints, on Adult: ours beside what it prints.

Campan, Truta, Cooper: P-Sensitive K-Anonymity with Generalization Constraints. Transactions on Data Privacy 3 (2010),
section 4. The page is docs/papers/cluster, the hierarchies and boundaries are in cluster.toml beside this file.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.cluster import ADULT, over, specification
from benchmarks.data import count, whole_adult
from benchmarks.papers.cluster_charts import draw_losses, draw_times
from benchmarks.papers.pages import Page, Row
from ringfence.census.census import Census
from ringfence.search.groups.boundaries import explain_suppression
from ringfence.search.groups.cluster import ClusterResult
from ringfence.values.hierarchy import Hierarchy

# The paper's Tables 5 and 6: for each k and p the cells in which GreedyPKClustering breaks a boundary, and the rows
# that GreedyCPKA suppresses; for each k the rows that GreedyCKA suppresses.
VIOLATIONS = {
    4: {2: 3958, 3: 6286, 4: 12743},
    8: {2: 7260, 3: 7766, 4: 10836, 6: 21213, 8: 27017},
    10: {2: 8686, 3: 9164, 4: 11345, 6: 22853, 8: 27882, 10: 36073},
    20: {2: 13990, 3: 14171, 4: 14896, 6: 26893, 8: 36437, 10: 43058, 13: 61391},
}
SUPPRESSED = {
    4: {2: 11, 3: 17, 4: 38},
    8: {2: 42, 3: 42, 4: 52, 6: 127, 8: 358},
    10: {2: 51, 3: 51, 4: 61, 6: 136, 8: 358, 10: 463},
    20: {2: 162, 3: 162, 4: 162, 6: 192, 8: 370, 10: 463, 13: 1593},
}
SUPPRESSED_FOR_K = {4: 11, 8: 42, 10: 51, 20: 162}
PAIRS = [(k, p) for k, of in SUPPRESSED.items() for p in of]
PARTS = (50_000, 4000, 2000, 1000, 500, 200)
WAYS = {"best": "ours", "paper": "printed"}


@dataclass(frozen=True)
class Run:
    """One clustering: whether boundaries were kept, k and p (1 for none), which way; what came of it, and how long."""

    bounded: bool
    k: int
    p: int
    way: str
    result: ClusterResult
    seconds: float


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of every table; write the tables and the pictures beside the page's text."""
    yield from reproduce(whole_adult(folder), Page("cluster"), PAIRS)


def reproduce(rows: pa.Table, page: Page, pairs: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield what the paper's figures and tables show of some rows, for pairs of k and p."""
    censuses = {bounded: count(rows, specification(ADULT, bounded=bounded)) for bounded in (True, False)}
    runs = {(run.bounded, run.k, run.p, run.way): run for run in _runs(censuses, pairs)}
    losses = []
    for row in page.table("losses", _losses(runs, pairs)):
        losses.append(row)
        yield row
    page.picture(
        "figure-5",
        draw_losses(losses),
        "Fig. 5. What is lost (NTIL): diversity costs, boundaries cost little",
        "Orange: as the paper prints it, blue: ours; line: within boundaries, dashes: without, dots: within, k alone",
    )
    times = []
    for row in page.table("times", _times(runs, pairs)):
        times.append(row)
        yield row
    page.picture(
        "figure-6",
        draw_times(times),
        "Fig. 6. How long it takes: boundaries make groups that are quicker to cluster",
        "Orange: as the paper prints it, blue: ours; line: within boundaries, dashes: without, dots: within, k alone;"
        " processor seconds (log)",
    )
    yield from page.table("table-5", _violations(runs, censuses, pairs))
    yield from page.table("table-6", _suppressed(runs, pairs))
    yield from page.table("boundaries", _boundaries(censuses[True], pairs))
    yield from page.table("clusters", _clusters(runs, pairs))
    yield from page.table("parts", _parts(censuses[False]))


def _runs(censuses: Mapping[bool, Census], pairs: Sequence[tuple[int, int]]) -> Iterator[Run]:
    """Cluster in every way: with p and boundaries, with p alone, and with boundaries alone."""
    for bounded, census in censuses.items():
        work = over(census, specification(ADULT, bounded=bounded))
        asked = [*({(k, 1) for k, _ in pairs} if bounded else ()), *pairs]
        for way in WAYS:
            work(*pairs[0], ties=way, threads=1)  # compiled now, and not counted
            for k, p in asked:
                yield _timed(work, bounded, k, p, way)


def _timed(work: Callable[..., ClusterResult], bounded: bool, k: int, p: int, way: str) -> Run:
    start = time.process_time()
    result = work(k, p, ties=way, threads=1)
    return Run(bounded, k, p, way, result, time.process_time() - start)


Runs = Mapping[tuple[bool, int, int, str], Run]
KINDS = {"CPKA": True, "PK": False}
"""The paper's GreedyCPKA and GreedyPKClustering; GreedyCKA is GreedyCPKA with p = 1."""


def _losses(runs: Runs, pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Fig. 5 in figures, and what no clustering can go below."""
    for k, p in pairs:
        row: dict[str, Any] = {"k": k, "p": p}
        for kind, bounded in KINDS.items():
            for way, name in WAYS.items():
                row[f"{kind}: {name}"] = round(runs[bounded, k, p, way].result.ntil, 4)
            row[f"{kind}: bound"] = round(runs[bounded, k, p, "best"].result.search.bound, 4)
        for way, name in WAYS.items():
            row[f"CKA: {name}"] = round(runs[True, k, 1, way].result.ntil, 4)
        yield row


def _times(runs: Runs, pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Fig. 6 in figures: the processor's seconds, in one thread."""
    for k, p in pairs:
        row: dict[str, Any] = {"k": k, "p": p}
        for kind, (bounded, values) in {"CPKA": (True, p), "PK": (False, p), "CKA": (True, 1)}.items():
            for way, name in WAYS.items():
                row[f"{kind}: {name}"] = round(runs[bounded, k, values, way].seconds, 2)
        yield row


def _violations(runs: Runs, censuses: Mapping[bool, Census], pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Table 5: the cells in which a clustering without boundaries breaks them."""
    trees = [quasi.hierarchy for quasi in censuses[True].quasi]
    for k, p in pairs:
        found = {name: violations(censuses[False], trees, runs[False, k, p, way].result) for way, name in WAYS.items()}
        yield {"k": k, "p": p, "paper": VIOLATIONS[k][p], **{name: sum(cells) for name, cells in found.items()}} | {
            f"{name}: {quasi.name}": cells[a]
            for name, cells in found.items()
            for a, quasi in enumerate(censuses[True].quasi)
            if (quasi.hierarchy.ceilings != quasi.hierarchy.root).any()
        }


def violations(census: Census, trees: Sequence[Hierarchy], result: ClusterResult) -> list[int]:
    """Return for each attribute the number of cells published above the boundary that its hierarchy in `trees` has."""
    groups = result.groups
    found = []
    for a, tree in enumerate(trees):
        covered = tree.stop - tree.first
        published = result.nodes[groups.group, a]
        allowed = tree.ceilings[census.codes[groups.tuples, a]]
        found.append(int(groups.rows[covered[published] > covered[allowed]].sum()))  # both are above the same leaf
    return found


def _suppressed(runs: Runs, pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """Table 6: the rows that must go."""
    for k, p in pairs:
        yield {
            "k": k,
            "p": p,
            "CPKA: paper": SUPPRESSED[k][p],
            "CPKA: here": runs[True, k, p, "best"].result.suppressed,
            "CKA: paper": SUPPRESSED_FOR_K[k],
            "CKA: here": runs[True, k, 1, "best"].result.suppressed,
        }


def _boundaries(census: Census, pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """What other boundaries would save."""
    for k, p in pairs:
        explanation = explain_suppression(census, k=k, least_values=[p] * len(census.sensitive))
        row: dict[str, Any] = {"k": k, "p": p, "suppressed": explanation.suppressed}
        for remedy in explanation.remedies:
            row[f"{remedy.attribute} one level more"] = remedy.raised
            row[f"{remedy.attribute} without"] = remedy.removed
        yield row


def _clusters(runs: Runs, pairs: Sequence[tuple[int, int]]) -> Iterator[Row]:
    """How many clusters there are without boundaries, how large they are, and how many there can be."""
    for k, p in pairs:
        row: dict[str, Any] = {"k": k, "p": p}
        for way, name in WAYS.items():
            sizes = runs[False, k, p, way].result.groups.sizes
            row[f"{name}: clusters"], row[f"{name}: largest"] = len(sizes), int(sizes.max())
        yield row


def _parts(census: Census) -> Iterator[Row]:
    """What it costs to cut large groups, without boundaries, at the k and the p of the specification."""
    work = over(census, specification(ADULT, bounded=False))
    whole = work()
    for most in PARTS:
        result = work(max_group=most)
        yield {
            "max_group": most,
            "parts": result.parts,
            "ntil": round(result.ntil, 5),
            "more %": round(100 * (result.ntil / whole.ntil - 1), 1),
        }
