"""What may not be pruned: searches that take models for monotone which are not give wrong answers."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from ringfence.census.census import Census
from ringfence.errors import Unsatisfiable
from ringfence.judging.models import Promise, promise
from ringfence.methods import decide
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.search.recode import schemes
from ringfence.spec import Spec
from tests.tables import count


def gullible(spec: Spec, census: Census) -> Promise:
    """The promise of a specification, all its models taken for monotone."""
    honest = promise(spec, census)
    return Promise(tuple(replace(model, monotone=True) for model in honest.models), honest.least)  # type: ignore[type-var]


def spec_for(privacy: dict[str, Any], suppression: float) -> Spec:
    flat = {"role": "quasi", "hierarchy": "flat"}
    return Spec(
        attributes={"q": flat, "r": flat, "s": {"role": "sensitive"}},
        privacy=privacy,
        method={"suppression": suppression, "metric": "dm"},
    )


def both(
    monkeypatch: pytest.MonkeyPatch, rows: dict[str, list[str]], spec: Spec
) -> tuple[Decision, Decision | Unsatisfiable]:
    """What the search finds, and what it would find if it pruned by every model."""
    census = count(pa.table(rows), spec)
    right = decide(census, spec, Watch())
    monkeypatch.setattr(schemes, "promise", gullible)
    try:
        return right, decide(census, spec, Watch())
    except Unsatisfiable as error:
        return right, error


@pytest.mark.parametrize(
    "diversity",
    [{"value": 2, "kind": "entropy"}, {"value": 2, "kind": "recursive", "c": 1.5}],
    ids=["entropy", "recursive"],
)
def test_a_class_without_diversity_may_have_a_part_with_it(
    monkeypatch: pytest.MonkeyPatch, diversity: dict[str, Any]
) -> None:
    # All four rows together hold u once and v three times, which is not diverse. Those with r = x hold both equally.
    rows = {"q": ["a", "c", "b", "b"], "r": ["x", "x", "y", "y"], "s": ["u", "v", "v", "v"]}
    right, wrong = both(monkeypatch, rows, spec_for({"k": 1, "l": diversity}, 0.5))
    assert right.plan.levels == {"q": 1, "r": 0}
    assert right.plan.suppressed_rows == 2
    assert isinstance(wrong, Unsatisfiable)


def test_a_class_far_from_the_whole_may_have_a_part_close_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"q": ["a", "b", "c", "a", "a"], "r": ["x", "x", "x", "x", "y"], "s": ["w", "w", "w", "v", "v"]}
    right, wrong = both(monkeypatch, rows, spec_for({"k": 1, "t": 0.2}, 0.6))
    assert right.search is not None
    assert right.search.cost == 19
    assert isinstance(wrong, Decision)
    assert wrong.search is not None
    assert wrong.search.cost == 21


def test_classes_that_remain_must_be_close_to_each_other_not_to_what_was_suppressed() -> None:
    rows = {
        "q": ["a"] * 8,
        "r": ["x", "x", "x", "x", "y", "y", "z", "z"],
        "s": ["u", "u", "v", "v", "u", "v", "v", "v"],
    }
    spec = spec_for({"k": 1, "t": 0.2}, 0.5)
    decision = decide(count(pa.table(rows), spec), spec, Watch())
    # z (all v, distance 3/8 from 3 u and 5 v) goes; x and y are then exactly like the whole.
    assert decision.plan.levels == {"q": 0, "r": 0}
    assert decision.plan.suppressed_rows == 2
