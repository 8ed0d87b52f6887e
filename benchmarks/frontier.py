"""The exact front on Adult: every node of the level lattice at every k, and how time grows with the rows.

Quoted, not rerun: ARX needs 0.53 s for a single k at 5 % suppression.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import adult_attributes, write_adult
from benchmarks.timing import best_seconds
from ringfence.census import counted_columns, take_census
from ringfence.engine import ROWS, Engine
from ringfence.search.frontier import exact_front
from ringfence.search.poka import poka_front
from ringfence.search.progress import Watch
from ringfence.spec import Spec


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time of each front, reading and counting aside, and what POkA finds of the smallest."""
    with TemporaryDirectory() as temporary:
        for copies in (1, 10, 100):
            source = write_adult(folder, Path(temporary), copies)
            for metric in ("dm", "glm"):
                spec = Spec(
                    data={"source": source.name},
                    attributes=adult_attributes(),
                    method={"metric": metric, "suppression": 0.01},
                ).at(source.parent)
                with Engine(spec.data) as engine:
                    counted = engine.count(engine.open(source, spec.data), counted_columns(spec))
                census = take_census(counted, spec, ROWS)
                front = exact_front(census, spec, Watch())
                yield {
                    "rows": census.rows,
                    "combinations": len(census.weights),
                    "metric": metric,
                    "lattice": front.lattice,
                    "nodes": front.nodes,
                    "points": len(front.points),
                    "seconds": round(best_seconds(lambda c=census, s=spec: exact_front(c, s, Watch()), runs=3), 3),  # type: ignore[misc]
                    **({"poka nodes": poka_front(census, spec, Watch()).nodes} if copies == 1 else {}),
                }
