"""The exact front on Adult: every node of two lattices at every k, and how time grows with the rows.

Quoted, not rerun: ARX needs 0.53 s for a single k at 5 % suppression on the smaller lattice.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import adult_attributes, count, write_adult
from benchmarks.timing import best_seconds
from ringfence.search.front.frontier import exact_front
from ringfence.search.progress import Watch
from ringfence.spec import Spec

LARGER = Path(__file__).parent / "papers" / "frontier.toml"


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the processor's time for each front, reading and counting aside."""
    with TemporaryDirectory() as temporary:
        for copies in (1, 10, 100):
            source = write_adult(folder, Path(temporary), copies)
            for attributes in (adult_attributes(), Spec.load(LARGER).attributes):
                for metric in ("dm", "glm"):
                    spec = Spec(
                        data={"source": source.name, "unlisted": "drop"},
                        attributes=attributes,
                        method={"metric": metric, "suppression": 0.01},
                    ).at(source.parent)
                    yield _timed(source, spec)


def _timed(source: Path, spec: Spec) -> dict[str, Any]:
    census = count(source, spec)
    front = exact_front(census, spec, Watch())
    seconds = best_seconds(lambda: exact_front(census, spec, Watch()), clock=time.process_time)
    return {
        "rows": census.rows,
        "distinct rows": len(census.weights),
        "nodes": front.lattice,
        "evaluated": front.nodes,
        "metric": spec.method.metric,
        "front": len(front.points),
        "seconds": round(seconds, 2),
        "ns per node and distinct row": round(1e9 * seconds / front.nodes / len(census.weights), 1),
    }
