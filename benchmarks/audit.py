"""The audit's k, l and t on raw Adult rows (18,109 classes), beside pycanon in the same run."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.data import QUASI, adult
from benchmarks.timing import best_seconds
from ringfence.audit.verify import verify
from ringfence.engine import Engine
from ringfence.spec import Spec


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time of each judgement, ours with reading the table and counting included."""
    from pycanon import anonymity

    table = adult(folder)
    frame = table.to_pandas()
    attributes = {**{name: {"role": "quasi", "hierarchy": "flat"} for name in QUASI}, "class": {"role": "sensitive"}}
    peers: dict[str, tuple[dict[str, float], Callable[[], float]]] = {
        "k": ({"k": 1}, lambda: anonymity.k_anonymity(frame, QUASI)),
        "l": ({"l": 1}, lambda: anonymity.l_diversity(frame, QUASI, ["class"])),
        "t": ({"t": 1.0}, lambda: anonymity.t_closeness(frame, QUASI, ["class"])),
    }
    total = 0.0
    for key, (privacy, peer) in peers.items():
        ours = _audit(table, attributes, privacy)
        value, peer_value = ours()[key], float(peer())
        peer_seconds = best_seconds(peer, runs=1)
        total += peer_seconds
        yield {"judgement": key, "ours": value, "pycanon": peer_value, **_beside(best_seconds(ours), peer_seconds)}
    ours = _audit(table, attributes, {"k": 1, "l": 1, "t": 1.0})
    yield {"judgement": "k, l and t in one audit", **_beside(best_seconds(ours), total)}


def _audit(table: pa.Table, attributes: Any, privacy: Any) -> Callable[[], Mapping[str, float]]:
    """Return the work to be timed: a fresh engine, the table opened and counted, every judgement."""
    spec = Spec(attributes=attributes, privacy=privacy)

    def work() -> Mapping[str, float]:
        with Engine(spec.data) as engine:
            return verify(engine, engine.open(table, spec.data), spec).measured

    return work


def _beside(seconds: float, peer: float) -> dict[str, float]:
    return {"seconds": round(seconds, 3), "pycanon seconds": round(peer, 3), "pycanon / ours": round(peer / seconds, 1)}
