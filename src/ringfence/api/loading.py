"""What every verb needs, loaded when the first is called."""

from functools import cache
from importlib import import_module

from ringfence.garbage import not_searched_for

NEEDED = ("ibis", "ringfence.audit.verify", "ringfence.release.job", "ringfence.rows.duckdb")
"""What every verb imports sooner or later; what a method needs besides is its own business."""


@cache
def load() -> None:
    """Load what every verb needs, if that has not been done."""
    with not_searched_for():
        for name in NEEDED:
            import_module(name)
