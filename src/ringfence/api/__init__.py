"""The verbs: anonymize, run, compare, audit. Shared by the command line and whatever else speaks for the library.

Heavy libraries are imported inside the verbs, so that importing `ringfence` is quick.
"""

from ringfence.api.choosing import compare, draft, frontier
from ringfence.api.in_memory import anonymize, apply
from ringfence.api.judging import audit, check_bound
from ringfence.api.showing import progress
from ringfence.api.to_files import apply_to_file, run

__all__ = [
    "anonymize",
    "apply",
    "apply_to_file",
    "audit",
    "check_bound",
    "compare",
    "draft",
    "frontier",
    "progress",
    "run",
]
