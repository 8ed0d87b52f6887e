"""Figs. 8 to 11 of Terrovitis, Mamoulis and Kalnis on BMS-WebView-1 and -2 and on made-up sales: OA, DA and AA beside
the proven optimum.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data. VLDB 2008, section 5. The page is
docs/papers/itemsets. BMS-POS is not public; the sales have its figures.
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import sales, webview
from benchmarks.papers.count_tree import count_tree
from benchmarks.papers.itemsets_charts import draw_panels
from benchmarks.papers.pages import Page, Row
from ringfence.arrays import Longs
from ringfence.census.baskets import Baskets
from ringfence.search.itemsets.find import find_cut
from ringfence.spec import Spec
from ringfence.values.builders import read_domain

Pairs = tuple[Longs, Longs]
"""Rows and items, a pair for each item of a row."""

RUNS = 5  # of searches that take milliseconds
ALGORITHMS: dict[str, dict[str, Any]] = {
    "OA": {"search": "breadth-first"},
    "OA, cheapest first": {"search": "cheapest-first"},
    "DA": {"search": "direct", "specialize": False},
    "AA": {"search": "apriori", "specialize": False},
    "AA, specialized": {"search": "apriori"},
    "optimal": {"search": "optimal"},
}
LARGE = ["AA", "AA, specialized", "optimal"]
"""What runs on whole data sets, over k, height and m."""

MOST_COUNTED = 100_000
"""In more rows the sets that are stored are too many to be counted one by one."""

STORED = {"OA": False, "DA": False, "AA": True}
"""The algorithms that store a count-tree in the paper, and whether it leaves out what was generalized before."""


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of every experiment, and write them to the page with their pictures."""
    page = Page("itemsets")
    made: dict[str, list[dict[str, Any]]] = {}
    for name, experiment in EXPERIMENTS.items():
        made[name] = []
        for row in page.table(name, experiment(folder)):
            made[name].append(row)
            yield row
    draw(page, made)


def draw(page: Page, made: Mapping[str, Sequence[Row]]) -> None:
    """Draw the figures from the tables."""
    small = [*made["records"], *made["domain"], *made["knowledge"]]
    page.picture(
        "figure-8-to-10",
        draw_panels(small, ["records", "items", "m"], "seconds", "algorithm"),
        "Figs. 8 to 10: time on small domains",
        "k = 100, fan-out 4.",
    )
    page.picture(
        "figure-8-to-10-memory",
        draw_panels(
            [row for row in small if row["count-tree"] != ""], ["records", "items", "m"], "count-tree", "algorithm"
        ),
        "Figs. 8 to 10: nodes of the count-tree on small domains",
        "k = 100, fan-out 4. OA and DA store the same tree.",
    )
    page.picture(
        "figure-11",
        draw_panels([*made["over-k"], *made["over-height"], *made["over-m"]], ["k", "height", "m"], "NCP", "algorithm"),
        "Fig. 11: what AA loses, and what must be lost",
        "Made-up sales; m = 3, k = 5, height 6 where nothing else is said. AA, specialized, lies under the optimum.",
    )


def small_domain(pairs: Pairs, records: int, items: int) -> Pairs:
    """Return the first records with each item replaced by the rank of its id modulo a number of items.

    The ids of BMS-WebView-2 are all odd, so that the ids themselves would leave half of the items unused.
    """
    rows, ids = pairs
    ranks = np.unique(ids, return_inverse=True)[1] % items
    return rows[rows < records], ranks[rows < records]


def over_tree(name: str, pairs: Pairs, fanout: int, order: str = "ascending") -> Baskets:
    """Count baskets over an artificial tree: items by ascending id, by falling support, or in a shuffled order."""
    rows, items = pairs
    values, codes = np.unique(items, return_inverse=True)
    attribute: dict[str, Any] = {"role": "items", "hierarchy": {"fanout": fanout}}
    if order == "support":
        attribute["hierarchy"]["by"] = "support"
    elif order != "ascending":
        labels = list(map(str, values.tolist()))
        random.Random(order).shuffle(labels)
        attribute["order"] = labels
    spec = Spec(attributes={name: attribute})
    domain = read_domain(name, spec, values.tolist(), np.bincount(codes).tolist())
    return Baskets.from_pairs(name, domain.hierarchy, rows, domain.leaves[codes], int(rows.max()) + 1)


def run(baskets: Baskets, k: int, m: int, algorithm: str, runs: int = 1) -> Row:
    """Search one way; of several runs the shortest counts, in seconds of the processor."""
    seconds = math.inf
    for _ in range(runs):
        start = time.process_time()
        found = find_cut(baskets, k, m, **ALGORITHMS[algorithm]).search
        seconds = min(seconds, time.process_time() - start)
    exact = algorithm.startswith(("OA", "optimal"))
    return {
        "algorithm": algorithm,
        "seconds": round(seconds, 3),
        "judged": found.nodes,
        "count-tree": _nodes_stored(baskets, k, m, algorithm),
        "NCP": f"{found.cost:.6f}",
        "proven": "yes" if found.optimal else f"gap {found.gap:.1%}" if exact else "",
    }


def _nodes_stored(baskets: Baskets, k: int, m: int, algorithm: str) -> int | str:
    """Return the nodes of the paper's count-tree, where there is one and room to count them."""
    stored = STORED.get(algorithm)
    if stored is None or baskets.rows > MOST_COUNTED:
        return ""
    found = count_tree(baskets, k, m, apriori=stored)
    return "" if found is None else found


def _compile(folder: Path) -> Pairs:
    """Return BMS-WebView-2, with every kernel compiled before the first figure is taken."""
    pairs = webview(folder, 2)
    for algorithm in ALGORITHMS:
        run(over_tree("basket", small_domain(pairs, 200, 12), 4), 20, 2, algorithm)
    return pairs


def _records(folder: Path) -> Iterator[Row]:
    """Fig. 8: over the number of records; 40 items, m = 3."""
    pairs = _compile(folder)
    for records in (2_000, 5_000, 10_000, 15_000):
        baskets = over_tree("basket", small_domain(pairs, records, 40), 4)
        for algorithm in ALGORITHMS:
            yield {"over": "records", "records": records, **run(baskets, 100, 3, algorithm, RUNS)}


def _domain(folder: Path) -> Iterator[Row]:
    """Fig. 9: over the number of items; 10,000 records, m = 3."""
    pairs = webview(folder, 2)
    for items in (40, 50, 60):
        baskets = over_tree("basket", small_domain(pairs, 10_000, items), 4)
        for algorithm in ALGORITHMS:
            yield {"over": "items", "items": items, **run(baskets, 100, 3, algorithm, RUNS)}


def _knowledge(folder: Path) -> Iterator[Row]:
    """Fig. 10: over m; 10,000 records, 40 items."""
    pairs = small_domain(webview(folder, 2), 10_000, 40)
    baskets = over_tree("basket", pairs, 4)
    for m in (1, 2, 3, 4):
        for algorithm in ALGORITHMS:
            yield {"over": "m", "m": m, **run(baskets, 100, m, algorithm, RUNS)}


def _whole(folder: Path) -> Iterator[Row]:
    """Fig. 11a: whole data sets over trees of fan-out 5, in several orders of their items; k = 5, m = 3."""
    sets = {"BMS-WebView-1": webview(folder, 1), "BMS-WebView-2": webview(folder, 2), "sales": sales()}
    for name, pairs in sets.items():
        for order in ("ascending", "support", "shuffled 1", "shuffled 2"):
            baskets = over_tree("basket", pairs, 5, order)
            for algorithm in ["DA", *LARGE] if order == "ascending" else LARGE:
                yield {"data": name, "order": order, **run(baskets, 5, 3, algorithm)}


def _over_k(folder: Path) -> Iterator[Row]:  # noqa: ARG001  the sales are made up
    """Fig. 11b: over k."""
    baskets = over_tree("basket", sales(), 5)
    for k in (2, 5, 10, 20, 50):
        for algorithm in LARGE:
            yield {"over": "k", "k": k, **run(baskets, k, 3, algorithm)}


def _over_height(folder: Path) -> Iterator[Row]:  # noqa: ARG001
    """Fig. 11c: over the height of the tree, counted in levels as the paper does; the fan-outs that give it."""
    pairs = sales()
    for fanout in (12, 7, 5, 4):
        baskets = over_tree("basket", pairs, fanout)
        for algorithm in LARGE:
            height = baskets.hierarchy.height + 1
            yield {"over": "height", "height": height, "fan-out": fanout, **run(baskets, 5, 3, algorithm)}


def _over_m(folder: Path) -> Iterator[Row]:  # noqa: ARG001
    """Fig. 11d: over m."""
    baskets = over_tree("basket", sales(), 5)
    for m in (1, 2, 3, 4):
        for algorithm in LARGE:
            yield {"over": "m", "m": m, **run(baskets, 5, m, algorithm)}


EXPERIMENTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "records": _records,
    "domain": _domain,
    "knowledge": _knowledge,
    "whole": _whole,
    "over-k": _over_k,
    "over-height": _over_height,
    "over-m": _over_m,
}
