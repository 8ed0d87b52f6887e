"""Ringfence makes personal data publishable. The public names, and nothing else."""

import ringfence.audit  # noqa: F401  the package first, so that the verb of the same name below keeps the name
from ringfence import errors
from ringfence.api import anonymize, apply, audit, frontier
from ringfence.hierarchy import Hierarchy
from ringfence.release import Release
from ringfence.spec import Spec
from ringfence.version import __version__

__all__ = ["Hierarchy", "Release", "Spec", "__version__", "anonymize", "apply", "audit", "errors", "frontier"]
