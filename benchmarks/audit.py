"""The audit's k, l and t on raw Adult rows (18,109 classes), beside pycanon in the same run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    peers = {
        "k": ({"k": 1}, lambda: anonymity.k_anonymity(frame, QUASI)),
        "l": ({"l": 1}, lambda: anonymity.l_diversity(frame, QUASI, ["class"])),
        "t": ({"t": 1.0}, lambda: anonymity.t_closeness(frame, QUASI, ["class"])),
    }
    for key, (privacy, peer) in peers.items():
        spec = Spec(attributes=attributes, privacy=privacy)

        def ours(spec: Spec = spec, key: str = key) -> float:
            with Engine(spec.data) as engine:
                return verify(engine, engine.open(table, spec.data), spec).measured[key]

        value, peer_value = ours(), peer()
        seconds, peer_seconds = best_seconds(ours), best_seconds(peer, runs=1)
        yield {
            "judgement": key,
            "ours": value,
            "pycanon": float(peer_value),
            "seconds": round(seconds, 3),
            "pycanon seconds": round(peer_seconds, 3),
            "pycanon / ours": round(peer_seconds / seconds, 1),
        }
