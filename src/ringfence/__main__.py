"""The command line as a process of its own: `ringfence` and `python -m ringfence`."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _NoPandas(MetaPathFinder):
    """Keeps pandas from being imported: nothing here uses it, but PyArrow loads it with the first array it makes.

    That would take longer than most jobs.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out of the command line", name=name)


def start() -> None:
    """Run the command line."""
    sys.meta_path.insert(0, _NoPandas())

    from ringfence.cli import main

    main()


if __name__ == "__main__":
    start()
