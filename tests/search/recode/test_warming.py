"""The small question that loads kernels: it can be asked for every loss, model and scheme, and always has an answer."""

from typing import Any

import pytest

from ringfence.declared import METRICS, SCHEMES
from ringfence.search.progress import Watch
from ringfence.search.recode.schemes import _best
from ringfence.search.recode.warming import small_question
from ringfence.spec import Spec

TREE = {"tree": {"x": ["a"], "y": ["b"]}}
PROMISES: list[dict[str, Any]] = [
    {},
    {"p": 2},
    *({"l": {"value": 2, "kind": kind, "of": "s"}} for kind in ("distinct", "entropy")),
    {"l": {"value": 2, "kind": "recursive", "c": 2, "of": "s"}},
    *({"t": {"value": 0.2, "of": "s", "distance": distance}} for distance in ("equal", "ordered", "hierarchical")),
]


def ask(metric: str, scheme: str, promise: dict[str, Any], entity: bool) -> None:
    attributes = {"q": {"role": "quasi", "hierarchy": TREE, "scheme": scheme},
                  "s": {"role": "sensitive", "hierarchy": TREE, "order": ["a", "b"]}}  # fmt: skip
    target = {"target": "s"} if metric == "ce" else {}
    data = {"entity": "who"} if entity else {}
    spec = Spec(data=data, attributes=attributes, privacy={"k": 2, **promise}, method={"metric": metric, **target})
    census, small = small_question(spec)
    decision, _ = _best(census, small, Watch(1.0), ())
    assert decision.search is not None


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("entity", [False, True])
def test_every_promise_can_be_asked(promise: dict[str, Any], entity: bool) -> None:
    for scheme in ("level", "ordered"):
        ask("glm", scheme, promise, entity)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "item_ncp"])
def test_every_loss_and_scheme_can_be_asked(metric: str) -> None:
    for scheme in SCHEMES:
        ask(metric, scheme, {}, entity=False)
