"""What may not be pruned: searches that take models for monotone which are not give wrong answers."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.census.census import Census
from ringfence.census.classes import Classes, Roller
from ringfence.errors import Unsatisfiable
from ringfence.judging.models import Promise, promise
from ringfence.methods import decide
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.search.recode import schemes
from ringfence.search.recode.lattice import level_spaces
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


# What goes of a class, however it is divided


MODELS: list[dict[str, Any]] = [
    {"l": {"value": 2, "kind": "entropy"}},
    {"l": {"value": 2.7, "kind": "entropy"}},
    {"l": {"value": 2, "kind": "recursive", "c": 0.5}},
    {"l": {"value": 2, "kind": "recursive", "c": 1.5}},
    {"l": {"value": 1, "kind": "recursive", "c": 0.4}},
    {"l": {"value": 3, "kind": "recursive", "c": 2.0}},
    *({"t": {"value": t, "distance": each}} for t in (0.05, 0.3, 0.7) for each in ("equal", "ordered")),
    {"t": {"value": 0.2, "distance": "hierarchical"}},
    {"k": 3},
    {"l": 2},
]


@pytest.mark.parametrize("privacy", MODELS, ids=str)
@given(values=st.lists(st.sampled_from("abcd"), min_size=2, max_size=24), data=st.data())
def test_no_division_of_a_class_loses_fewer_rows_than_is_said(
    privacy: dict[str, Any], values: list[str], data: st.DataObject
) -> None:
    """The coarsest classes are those of q; the finest those of q and r, drawn."""
    fine = [data.draw(st.sampled_from("xyz")) for _ in values]
    coarse = [data.draw(st.sampled_from("mn")) for _ in values]
    sensitive: dict[str, Any] = {"role": "sensitive", "order": ["a", "b", "c", "d"]}
    if privacy.get("t", {}).get("distance") == "hierarchical":
        sensitive = {"role": "sensitive", "hierarchy": {"tree": {"low": ["a", "b"], "high": ["c", "d"]}}}
    flat = {"role": "quasi", "hierarchy": "flat"}
    spec = Spec(attributes={"q": flat, "r": flat, "s": sensitive}, privacy={"k": 1, **privacy})
    census = count(pa.table({"q": coarse, "r": fine, "s": values}), spec)
    roller, asked = Roller(census, level_spaces(census)), promise(spec, census)

    def at(levels: tuple[int, int]) -> Classes:
        return roller.roll(roller.finest, roller.fields(list(enumerate(levels))), roller.room())

    coarsest, finest = at((0, 1)), at((0, 0))
    hopeless = asked.mark_hopeless(coarsest)
    assert hopeless == coarsest.gone[: coarsest.size].sum()
    least = asked.raise_gone(coarsest)
    assert hopeless <= least == coarsest.gone[: coarsest.size].sum()
    assert least <= asked.judge(finest)
    assert (coarsest.gone[: coarsest.size] <= coarsest.weights[: coarsest.size]).all()
    assert not least or asked.judge(coarsest) > 0, "of a class that holds, nothing has to go"


def test_so_many_rows_go_at_least_by_hand() -> None:
    """Eight rows of one class; all rows are half u, half v."""
    rows = {"q": ["a"] * 8 + ["b"] * 8, "r": ["x"] * 16, "s": ["u"] * 7 + ["v"] + ["u"] + ["v"] * 7}

    def gone(privacy: dict[str, Any]) -> list[int]:
        spec = spec_for({"k": 1, **privacy}, 0.5)
        census = count(pa.table(rows), spec)
        roller = Roller(census, level_spaces(census))
        classes = roller.roll(roller.finest, roller.fields([(0, 0), (1, 0)]), roller.room())
        asked = promise(spec, census)
        asked.mark_hopeless(classes)
        asked.raise_gone(classes)
        return sorted(classes.gone[: classes.size].tolist())

    # Distance 3/8. If s go, 3/8 <= (1 - s/8) / 8 + s/8, so that s is at least (3/8 - 1/8) / (1 - 1/8) * 8 = 2.29.
    assert gone({"t": 0.125}) == [3, 3]
    assert gone({"t": 0.375}) == [0, 0]
    # 7 u against 1 v: r_1 - c r_2 = 7 - 2 = 5 with c = 2.
    assert gone({"l": {"value": 2, "kind": "recursive", "c": 2}}) == [5, 5]
    # Entropy .377 of log 2 = .693: at least 8 (1 - .377 / .693) = 3.65 rows.
    assert gone({"l": {"value": 2, "kind": "entropy"}}) == [4, 4]
