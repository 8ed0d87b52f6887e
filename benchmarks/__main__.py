"""Run the benchmarks by name, or all: `python -m benchmarks lattice job ...`; results as a table and as JSON lines."""

import importlib
import json
import platform
import sys

from benchmarks.data import data_folder

NAMES = ["lattice", "frontier", "itemsets", "job", "audit"]


def main() -> None:
    """Run what was asked for; each benchmark yields rows of figures."""
    asked = sys.argv[1:] or NAMES
    if unknown := [name for name in asked if name not in NAMES]:
        sys.exit(f"unknown benchmark {unknown[0]!r}; allowed: {', '.join(NAMES)}")
    folder = data_folder()
    if folder is None:
        sys.exit("the real data is not at hand: set RINGFENCE_DATA to the folder that holds adult/")
    print(f"# Python {platform.python_version()}, {platform.machine()}")
    for name in asked:
        for row in importlib.import_module(f"benchmarks.{name}").measure(folder):
            print(json.dumps({"benchmark": name, **row}), flush=True)


if __name__ == "__main__":
    main()
