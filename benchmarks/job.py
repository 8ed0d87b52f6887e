"""Whole jobs as commands, from process start to written and audited file: seconds and peak memory.

Quoted, not rerun: ARX needs 1.85 s for the 30,162 rows, and 27 s and 1.6 GB for the three million.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import adult_attributes, write_adult
from ringfence.spec import Spec

COMMAND = [sys.executable, "-m", "ringfence"]


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time and memory of each command."""
    yield _command("ringfence --help", ["--help"])
    with TemporaryDirectory() as temporary:
        into = Path(temporary)
        yield _command("ringfence demo", ["demo", "-o", str(into / "demo")])
        for copies, arx in ((1, 1.85), (100, 27.0)):
            source = write_adult(folder, into, copies)
            spec = Spec(
                data={"source": source.name},
                attributes=adult_attributes(),
                privacy={"k": 5},
                method={"suppression": 0.01},
            )
            spec.dump(into / "spec.toml")
            arguments = ["run", str(into / "spec.toml"), "-o", str(into / "out")]
            figures = _command(f"ringfence run, {source.name}", arguments)
            log = (into / "out/private/log.txt").read_text().splitlines()
            yield {**figures, "arx seconds (quoted)": arx, "arx / ours": round(arx / figures["seconds"], 1), "log": log}


def _command(name: str, arguments: Sequence[str], runs: int = 3) -> dict[str, Any]:
    """Run a command several times; the first fills the caches and does not count."""
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return {"command": name, "seconds": round(min(seconds[1:]), 2), "peak GB of all so far": round(peak, 2)}
