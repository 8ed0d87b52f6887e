"""The audit alone: three million rows, baskets, releases beside their originals. pycanon is met in `benchmarks.peers`.

The rows are drawn from Adult, with eight quasi-identifiers. Baskets are judged as they are, with k = 1, so that every
combination of up to three items is counted.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.cluster import ADULT, specification
from benchmarks.data import QUASI, adult, sales, webview, whole_adult
from benchmarks.timing import best_seconds
from ringfence.audit.models.km_anonymity import judge_baskets
from ringfence.audit.verify import verify
from ringfence.rows.duckdb import DuckDB
from ringfence.spec import Spec

EVERYTHING: dict[str, Any] = {
    "k": 1,
    "l": [{"value": 1}, {"value": 1, "kind": "entropy"}, {"value": 1, "kind": "recursive", "c": 2}],
    "p": 1,
    "t": 1.0,
    "alpha": 1.0,
    "beta": 1e9,
    "delta": 1e9,
}


def measure(folder: Path, rows: int = 3_000_000) -> Iterator[dict[str, Any]]:
    """Yield the time of each judgement, with reading the table, counting and risk included."""
    many = _audit(_drawn(adult(folder), rows), _attributes(QUASI), EVERYTHING)
    yield {"rows": rows, "judgement": "every model, and risk", "seconds": round(best_seconds(many, runs=2), 3)}
    yield from _baskets(folder)
    yield from _beside_originals(folder)


def _baskets(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time to count all combinations of up to three items."""
    for name, (row_of, items) in (
        ("BMS-WebView-1", webview(folder, 1)),
        ("BMS-WebView-2", webview(folder, 2)),
        ("baskets like BMS-POS", sales()),
    ):
        starts = np.searchsorted(row_of, np.arange(row_of[-1] + 2)).astype(np.int32)
        column = pa.ListArray.from_arrays(pa.array(starts), pa.array(items.astype(str).tolist()))
        seconds = best_seconds(lambda: judge_baskets(column, None, 1, 3), runs=1)  # noqa: B023
        yield {"rows": len(column), "judgement": f"m = 3 of {name}", "seconds": round(seconds, 3)}


def _beside_originals(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time to trace releases of Adult back to their originals, and to judge rings."""
    people = whole_adult(folder)
    given = specification(ADULT, bounded=True).model_dump(by_alias=True, exclude_unset=True)
    for method in ("cluster", "ring"):
        spec = Spec(**{**given, "privacy": {"k": 10}, "method": {"name": method}})
        release = rf.anonymize(people, spec).table
        seconds = best_seconds(lambda: rf.audit(release, spec, people), runs=1)  # noqa: B023
        yield {"rows": len(people), "judgement": f"{method} beside the original", "seconds": round(seconds, 3)}


def _drawn(table: pa.Table, rows: int) -> pa.Table:
    """Draw so many rows, with replacement and a seed."""
    return table.take(pa.array(np.random.default_rng(0).integers(0, table.num_rows, rows)))


def _attributes(quasi: list[str]) -> dict[str, Any]:
    return {**{name: {"role": "quasi", "hierarchy": "flat"} for name in quasi}, "class": {"role": "sensitive"}}


def _audit(table: pa.Table, attributes: Any, privacy: Any) -> Callable[[], Mapping[str, float]]:
    """Return the work to be timed: a fresh engine, the table opened and counted, every judgement."""
    spec = Spec(attributes=attributes, privacy=privacy)

    def work() -> Mapping[str, float]:
        with DuckDB(spec.data) as engine:
            return verify(engine, engine.open(table, spec.data), spec).measured

    return work
