"""Where labels tell so much that whoever reads a verdict should know."""

from ringfence.audit.trace.ring_matches import has_rings
from ringfence.errors import listed
from ringfence.spec import Spec

RINGS = (
    "quasi-identifiers are not hidden: values of a ring that stand in the same rows belong to one person, and whole"
    " rows can be put together again; the attack 'refinement' does it"
)
SETS_TELL, RANGES_TELL = 3, 2
"""Up to this k, the classes that methods make often have as many rows as their sets, or their ranges, tell values."""


def told_by_labels(spec: Spec) -> list[str]:
    """Say where the labels of a release tell exact rows more often than a reader of the promise would think."""
    if not spec.groups_rows:
        return []
    if has_rings(spec):
        return [RINGS]
    limits = {"set": SETS_TELL, "range": RANGES_TELL}
    tight = [name for name in spec.of_role("quasi") if not spec.is_loose(name)]
    open_ = [name for name in tight if spec.k <= limits.get(spec.shown_as(name), 0)]
    if not open_:
        return []
    show = "shows" if len(open_) == 1 else "show"
    return [
        f"with k = {spec.k}, what {listed(map(repr, open_))} {show} often tells the exact values of a class, and where"
        " nothing else varies, its exact rows; the attack 'refinement' says how many"
    ]
