"""Cuts of item trees on BMS-WebView-1 and -2 and on made-up sales with BMS-POS's figures: seconds and NCP.

The trees are artificial: groups of so many over the ascending numbers of items, as in Terrovitis, Mamoulis, Kalnis
2008. Their optimal search went up to 60 items. For k = 5, fan-out 5 and m = 3 they report an apriori loss of at most
3 % on these sets; which order of items theirs was over they do not say.
"""

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import sales, webview
from benchmarks.timing import best_seconds
from ringfence.arrays import Longs
from ringfence.census.baskets import Baskets
from ringfence.search.itemsets.find import find_cut
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from ringfence.values.builders import read_domain

K = 5
MINUTE = 60.0


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time and loss of each search, loading and counting aside; then how far a minute goes."""
    sets = {"BMS-WebView-1": webview(folder, 1), "BMS-WebView-2": webview(folder, 2), "sales": sales()}
    for name, pairs in sets.items():
        baskets = over_fanout(name, pairs, 5)
        yield {"data": name, "rows": baskets.rows, "baskets": len(baskets.weights), "items": baskets.hierarchy.leaves}
        for m in (2, 3, 4):
            yield _timed(baskets, 5, m, search="optimal")
            yield _timed(baskets, 5, m, search="apriori", specialize=False)
            yield _timed(baskets, 5, m, search="apriori")
    for fanout in (3, 2):
        for name, pairs in sets.items():
            baskets = over_fanout(name, pairs, fanout)
            for m in (2, 3, 4):
                yield _within_a_minute(baskets, fanout, m)


def over_fanout(name: str, pairs: tuple[Longs, Longs], fanout: int) -> Baskets:
    """Count baskets over a tree of that fan-out, items ascending."""
    rows, items = pairs
    values, codes = np.unique(items, return_inverse=True)
    spec = Spec(attributes={name: {"role": "quasi", "hierarchy": {"fanout": fanout}}})
    domain = read_domain(name, spec, values.tolist(), np.bincount(codes).tolist())
    return Baskets.from_pairs(name, domain.hierarchy, rows, domain.leaves[codes], int(rows.max()) + 1)


def _timed(baskets: Baskets, fanout: int, m: int, **options: Any) -> dict[str, Any]:
    search = find_cut(baskets, K, m, **options).search
    seconds = best_seconds(lambda: find_cut(baskets, K, m, **options), runs=3)
    return {
        **_named(baskets, fanout, m),
        **options,
        "ncp": round(search.cost, 6),
        "proven": search.optimal,
        "seconds": round(seconds, 3),
        "peak GB so far": _peak(),
    }


def _within_a_minute(baskets: Baskets, fanout: int, m: int) -> dict[str, Any]:
    search = find_cut(baskets, K, m, watch=Watch(time_limit=MINUTE)).search
    return {
        **_named(baskets, fanout, m),
        "search": "optimal",
        "ncp": round(search.cost, 6),
        "proven": search.optimal,
        "gap": round(search.gap, 4),
        "seconds": round(search.seconds, 2),
        "peak GB so far": _peak(),
    }


def _named(baskets: Baskets, fanout: int, m: int) -> dict[str, Any]:
    return {"data": baskets.name, "fanout": fanout, "k": K, "m": m}


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
