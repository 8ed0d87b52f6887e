"""Ring: rings of rows, each row under a value that covers just as many rows as are asked for."""

from typing import TYPE_CHECKING

from ringfence.declared import GROUPS
from ringfence.errors import SpecError
from ringfence.methods.base import WHATEVER, Method

if TYPE_CHECKING:
    from ringfence.census.census import Census
    from ringfence.search.decision import Decision
    from ringfence.search.progress import Watch
    from ringfence.spec import Spec


def _check(spec: "Spec", force: bool) -> None:
    """Refuse what rings cannot promise."""
    method, privacy, asked = spec.method, spec.privacy, spec.diversities()
    promised = "the method 'ring' promises k, and distinct l of one attribute"
    if privacy.p is not None or spec.closenesses() or len(asked) > 1:
        key = "p" if privacy.p is not None else "t" if spec.closenesses() else "l"
        raise SpecError(f"privacy.{key}: {promised}")
    if asked and asked[0].kind != "distinct":
        raise SpecError(f"privacy.l with kind = {asked[0].kind!r}: {promised}")
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'ring' yet")
    if method.keep_suppressed:
        raise SpecError("method.keep_suppressed = true: the method 'ring' drops the rows that it suppresses")
    if asked and (method.homogeneous or method.uncut or method.partition is not None or method.max_ring is not None):
        raise SpecError(
            "privacy.l: rings of different values are dealt out by rules of their own; leave out method.partition,"
            " max_ring, uncut and homogeneous"
        )
    if method.uncut and (method.max_ring is not None or method.homogeneous):
        raise SpecError("method.uncut = true: each group is one ring, however long; leave out max_ring and homogeneous")
    if method.homogeneous and method.max_ring is not None and method.parted != "whole":
        raise SpecError(
            f"method.max_ring = {method.max_ring} with homogeneous = true and partition = {method.parted!r}: each group"
            " of the partition is published alike, however large; leave it out, or set partition = 'whole'"
        )
    if method.draw == "paper" and method.homogeneous:
        raise SpecError("method.draw = 'paper': with homogeneous = true nothing is drawn")
    if method.paper_diversity and not asked:
        raise SpecError("method.paper_diversity = true is about privacy.l, which is not asked for")
    if method.paper_diversity and "order" in method.model_fields_set:
        raise SpecError(
            f"method.order = {method.order!r} with paper_diversity = true: its rings have an order of their own; leave"
            " method.order out"
        )
    if method.paper_diversity and not force:
        raise SpecError(
            "method.paper_diversity = true is not sound: whoever knows how its rings are ordered can work out sensitive"
            " values; it is there for experiments, and has to be forced"
        )


def _decide(census: "Census", spec: "Spec", watch: "Watch") -> "Decision":
    from ringfence.search.groups.grouped import proven
    from ringfence.search.groups.ring_decision import decide_rings

    decision, groups = decide_rings(census, spec, watch)
    return proven(census, spec, decision, groups, watch)


RING = Method(
    name="ring",
    line="each row under a value of its own that covers k rows, drawn from k; quasi-identifiers are not hidden",
    way=GROUPS,
    promises=("k", "l"),
    options=(
        *WHATEVER, "metric", "representation", "partition", "order", "max_ring", "uncut", "draw", "homogeneous",
        "paper_diversity", "shards", "bound", "effort", "seed",
    ),
    losses=("glm", "gcp"),
    rings=True,
    check_run=_check,
    decides=_decide,
)  # fmt: skip
