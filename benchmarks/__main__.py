"""Run the benchmarks by name, or all: `python -m benchmarks lattice job ...`; results as JSON lines.

The experiments of papers are run by name only, as `papers.frontier`: they write to docs/papers.
"""

import importlib
import json
import platform
import sys

from benchmarks.data import data_folder

NAMES = [
    *(
        "lattice",
        "frontier",
        "optimal",
        "answers",
        "order",
        "cluster",
        "local",
        "gap",
        "ring",
        "itemsets",
        "people",
        "job",
        "audit",
    ),
    *(
        "drafts",
        "engines",
        "shards",
        "spark",
        "refinement",
        "studio",
        "first",
        "numbering",
        "compare",
        "readers",
        "wide",
    ),
]
PAPERS = [
    "papers.frontier",
    "papers.schemes",
    "papers.cluster",
    "papers.itemsets",
    "papers.ring",
    "papers.local",
    "papers.use",
]


def main() -> None:
    """Run what was asked for; each benchmark yields rows of figures."""
    asked = sys.argv[1:] or NAMES
    if unknown := [name for name in asked if name not in [*NAMES, *PAPERS]]:
        sys.exit(f"unknown benchmark {unknown[0]!r}; allowed: {', '.join([*NAMES, *PAPERS])}")
    folder = data_folder()
    if folder is None:
        sys.exit("the real data is not at hand: set RINGFENCE_DATA to the folder that holds adult/")
    print(f"# Python {platform.python_version()}, {platform.machine()}")
    for name in asked:
        for row in importlib.import_module(f"benchmarks.{name}").measure(folder):
            print(json.dumps({"benchmark": name, **row}), flush=True)


if __name__ == "__main__":
    main()
