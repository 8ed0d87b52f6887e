"""Libraries that only some files need, and that are installed on request."""

import importlib
from types import ModuleType

from ringfence.errors import SpecError


def needed(library: str, what: str, extra: str = "files") -> ModuleType:
    """Return a library that reads `what`; where it is not installed, say how it gets here."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise SpecError(
            f"reading {what} needs {library}, which is not installed: pip install 'ringfence[{extra}]'"
        ) from None
