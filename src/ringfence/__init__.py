"""Ringfence makes personal data publishable. The public names, and nothing else."""

import ringfence.audit
import ringfence.draft
import ringfence.judging.losses  # what a specification may name is declared before there is one
import ringfence.methods  # noqa: F401
from ringfence import errors
from ringfence.api import anonymize, apply, audit, check_bound, compare, draft, frontier, progress, run
from ringfence.events import Event
from ringfence.release.release import Release
from ringfence.spec import Spec
from ringfence.values.hierarchy import Hierarchy
from ringfence.version import __version__

__all__ = [
    "Event",
    "Hierarchy",
    "Release",
    "Spec",
    "__version__",
    "anonymize",
    "apply",
    "audit",
    "check_bound",
    "compare",
    "draft",
    "errors",
    "frontier",
    "progress",
    "run",
]
