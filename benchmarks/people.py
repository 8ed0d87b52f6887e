"""People with several rows: the whole job for 200,000 visits of 50,000 seeded patients, by method, beside rows counted.

`seconds` are those of everything, the audit with the original included; `loss` is glm.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.timing import best_seconds

VISITS, PATIENTS, K = 200_000, 50_000, 10
ROLES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20, 40]}},
    "town": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "job": {"role": "quasi", "hierarchy": {"fanout": 4}},
}
METHODS: list[dict[str, Any]] = [
    {"metric": "glm", "suppression": 0.01},
    {"name": "mondrian"},
    {"name": "hilbert"},
    {"name": "local", "effort": "fast"},
]


def visits() -> pa.Table:
    """Return seeded visits: a patient's town, sex and job stay, the age moves on."""
    rng = np.random.default_rng(12)
    who = rng.integers(0, PATIENTS, VISITS)
    age, town, sex, job = (rng.integers(low, high, PATIENTS)[who] for low, high in ((18, 90), (0, 60), (0, 2), (0, 14)))
    return pa.table(
        {
            "patient": [f"P{number:05}" for number in who.tolist()],
            "age": age + rng.integers(0, 3, VISITS),
            "town": [f"t{number:02}" for number in town.tolist()],
            "sex": [f"s{number}" for number in sex.tolist()],
            "job": [f"j{number:02}" for number in job.tolist()],
        }
    )


def measure(_: Path) -> Iterator[dict[str, Any]]:
    """Yield seconds and losses: rows counted, people counted, and people's rows kept together."""
    table = visits()
    counted: list[tuple[str, dict[str, Any]]] = [("rows", {"unlisted": "drop"}), ("people", {"entity": "patient"})]
    jobs = [(what, data, method) for method in METHODS for what, data in counted]
    together = {"entity": "patient", "composite": True}
    jobs.append(("people, rows together", together, {"metric": "glm", "suppression": 0.3}))
    for what, data, method in jobs:
        spec = rf.Spec(data=data, attributes=ROLES, privacy={"k": K}, method=method)
        made: list[rf.Release] = []
        seconds = best_seconds(lambda: made.append(rf.anonymize(table, spec)), runs=1)  # noqa: B023
        release = made[-1]
        yield {
            "method": method.get("name", "optimal"),
            "k counts": what,
            "seconds": round(seconds, 2),
            "loss": round(release.metrics["glm"], 4),
            "suppressed": release.metrics["suppressed"],
            "classes": release.metrics["classes"],
        }
