"""What shards cost: the loss and the processor seconds of groups that are searched in 1, 2, 8 and 64 parts of a census.

Adult is the 30,162 complete rows with eight quasi-identifiers, Census-Income 199,523 rows with seven; k = 5, sets and
ranges. `local` loses GLM, as `hilbert` and `mondrian` do, `cluster` NTIL, `ring` GCP.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.data import adult_attributes, count, write_adult
from benchmarks.local import income_census
from ringfence.census.census import Census
from ringfence.methods import decide
from ringfence.search.groups.shards import shards
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from ringfence.values.builders import self_contained

METHODS = ["local", "hilbert", "mondrian", "cluster", "ring"]
COUNTS = [1, 2, 8, 64]


def adult_census(folder: Path) -> tuple[Census, Spec]:
    """Return the census of Adult with ages as numbers, and a specification that needs no files."""
    attributes = adult_attributes()
    attributes["age"]["order"] = "numeric"
    with TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        spec = self_contained(Spec(attributes=attributes, privacy={"k": 5}).at(place))
        return count(path, spec), spec


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield loss and processor seconds, by table, method and number of shards."""
    for name, (census, spec) in {"Adult": adult_census(folder), "Census-Income": income_census(folder)}.items():
        for method in METHODS:
            for parts in COUNTS:
                table = spec.method.model_copy(update={"name": method, "shards": parts})
                asked = spec.model_copy(update={"method": table})
                if parts == COUNTS[0]:
                    decide(census, asked, Watch(time_limit=0.01))  # compiled, or loaded
                begun = time.process_time()
                decision = decide(census, asked, Watch())
                took = time.process_time() - begun
                yield {
                    "data": name,
                    "method": method,
                    "shards": parts,
                    "rows of the largest": int(np.bincount(shards(census, asked, parts), census.weights).max()),
                    "loss": round(decision.metrics[table.minimized], 5),
                    "processor seconds": round(took, 1),
                }
