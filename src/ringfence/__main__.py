"""The command line as a process of its own: `ringfence` and `python -m ringfence`."""

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

UNUSED = ("pandas", "scipy")
"""What nothing here uses, but PyArrow and numba load where they find it, which takes longer than most jobs."""


class _LeaveOut(MetaPathFinder):
    """Answers for libraries that are not to be loaded as if they were not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is left out of the command line", name=name)


def start() -> None:
    """Run the command line, and search for garbage seldom: importing libraries makes many objects that all stay. In the
    end it is not searched for at all: the process goes, and all its memory."""
    gc.set_threshold(1_000_000, 20, 100)
    sys.meta_path.insert(0, _LeaveOut())

    from ringfence.cli import main

    try:
        main()
    finally:
        gc.freeze()


if __name__ == "__main__":
    start()
