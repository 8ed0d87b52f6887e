"""The order of schemes under short limits, on tables that searches were not made for (`stress`).

Every scheme should lose no more than those that it contains. Shown are, for each table, loss, promise and limit: what
the answers of all schemes lose, from the simplest on; the seconds that each search `took`, those of the processors, of
all threads together; for each scheme that is `behind` one that it contains, by which share of the loss it is behind the
best of these; and the `peak` of memory, in MB, of a process that did no more than this table. At the end, of how many
answers that might be behind how many were, and by how much at most.

Losses and promises go round, so that each table meets all losses, and each loss most promises. In pieces, by names of
tables and losses, and limits in seconds: `python -m benchmarks.order postcodes births glm dm 1 2 4`.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.data import count
from benchmarks.stress import TABLES
from ringfence.census.census import Census
from ringfence.declared import CONTAINED
from ringfence.errors import Unsatisfiable
from ringfence.methods import decide
from ringfence.search.progress import Watch
from ringfence.spec import Spec

LIMIT = 2.0
"""In seconds, unless others are asked for."""

LONGER = ("births", 5.0)
"""One table is asked for with a longer limit, too."""

LOSSES = ["glm", "dm", "ntil", "ncp", "hdm", "gcp", "ce"]

PROMISES: list[tuple[dict[str, Any], float]] = [
    ({"k": 5}, 0.02),
    ({"k": 5, "l": 3}, 0.0),
    ({"k": 10}, 0.0),
    ({"k": 5, "p": 2}, 0.05),
    ({"k": 5, "l": {"value": 2.5, "kind": "entropy"}}, 0.02),
    ({"k": 5, "l": {"value": 3, "kind": "recursive", "c": 2.0}}, 0.02),
    ({"k": 5, "t": {"value": 0.35}}, 0.05),
    ({"k": 5, "t": {"value": 0.25, "distance": "ordered"}}, 0.0),
]
"""What is promised, and which share of the rows may be suppressed."""

OF_PEOPLE = ("k", "t")
"""What can be promised of people with many rows, here."""


def measure(_: Path) -> Iterator[dict[str, Any]]:
    """Yield what all schemes lose, table by table."""
    yield from _summed_up([*product(TABLES, [LIMIT]), LONGER], LOSSES)


def _summed_up(asked: list[tuple[str, float]], losses: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what each table, in a process of its own, shows under its limit; then how often a scheme was behind."""
    answers, behind = 0, []
    for table, limit in asked:
        command = [sys.executable, "-m", "benchmarks.order", "--one", table, str(limit), *losses]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for row in map(json.loads, process.stdout):
                answers += sum(scheme != "level" for scheme in row["lost"])
                behind += row["behind"].values()
                yield row
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    yield {"answers": answers, "behind": len(behind), "at most": max(behind, default=0.0)}


def _measured(name: str, limit: float, losses: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what all schemes lose on a table, loss by loss."""
    table, said = TABLES[name]()
    for loss in losses:
        promise, suppression = PROMISES[(LOSSES.index(loss) + [*TABLES].index(name)) % len(PROMISES)]
        if "entity" in said.get("data", {}):
            promise = {key: value for key, value in promise.items() if key in OF_PEOPLE}
        method = {"metric": loss, "suppression": suppression} | ({"target": "ill"} if loss == "ce" else {})
        lost: dict[str, float] = {}
        took: dict[str, float] = {}
        for scheme in CONTAINED:
            spec = Spec(**said, privacy=promise, method={**method, "scheme": scheme})
            census = count(table, spec)
            _load_kernels(census, spec)
            begun = time.process_time()
            try:
                found = decide(census, spec, Watch(limit, clock=time.process_time)).search
            except Unsatisfiable:
                continue
            assert found is not None, "it was searched"
            lost[scheme], took[scheme] = found.cost, round(time.process_time() - begun, 2)
        yield {
            "table": name, "loss": loss, "promise": promise, "suppression": suppression, "limit": limit,
            "lost": {scheme: float(f"{cost:.6g}") for scheme, cost in lost.items()}, "took": took,
            "behind": _behind(lost), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }  # fmt: skip


_LOADED: set[str] = set()


def _load_kernels(census: Census, spec: Spec) -> None:
    """Let kernels be compiled or loaded, that this may not count."""
    scheme = str(spec.method.scheme)
    if scheme not in _LOADED:
        decide(census, spec, Watch(0.2))
        _LOADED.add(scheme)


def _behind(lost: dict[str, float]) -> dict[str, float]:
    """Return by which share of their loss schemes are behind the best one that they contain, those that are."""
    found = {}
    for scheme, cost in lost.items():
        least = min((lost[other] for other in CONTAINED[scheme] if other in lost), default=cost)  # type: ignore[index]
        if cost > least * (1 + 1e-6) + 1e-9:
            found[scheme] = round(cost / least - 1, 6) if least > 0 else 1.0
    return found


def _chosen(words: list[str]) -> tuple[list[str], list[str], list[float]]:
    """Return which tables, losses and limits are asked for: all of those of which none is named."""
    limits = [float(word) for word in words if word.replace(".", "", 1).isdigit()]
    tables, losses = ([each for each in known if each in words] for known in (TABLES, LOSSES))
    for word in words:
        if word not in [*tables, *losses] and not word.replace(".", "", 1).isdigit():
            sys.exit(f"unknown table or loss {word!r}; allowed: {', '.join([*TABLES, *LOSSES])}, seconds")
    return tables or [*TABLES], losses or LOSSES, limits or [LIMIT]


if __name__ == "__main__":
    alone = sys.argv[1:2] == ["--one"]
    tables, losses, limits = _chosen(sys.argv[2:] if alone else sys.argv[1:])
    rows = _measured(tables[0], limits[0], losses) if alone else _summed_up([*product(tables, limits)], losses)
    for row in rows:
        print(json.dumps(row), flush=True)
