"""The search for garbage, left out while libraries are loaded.

Libraries make some hundred thousand objects while they are loaded, which all stay. Python would look through them again
and again in the meantime for what could be thrown away, and once more after it: a third of the time of a first release.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FROZEN_BY_PYTHON = 1_000
"""Fewer objects than that, Python 3.12 has frozen itself when it starts. Whoever freezes, freezes thousands."""


@contextmanager
def not_searched_for() -> Iterator[None]:
    """Leave the search out inside, and take what is made there for something that stays: it is looked through when
    everything is, and not before. Nothing changes for whoever has turned the search off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() < FROZEN_BY_PYTHON:  # else somebody has frozen what is to stay frozen
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, without a look
        gc.enable()
