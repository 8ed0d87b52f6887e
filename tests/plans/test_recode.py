"""Plans: what they say, and that they survive JSON unchanged or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError, RingfenceError
from ringfence.plans.recode import ColumnPlan, GlobalPlan

PLAN = GlobalPlan(
    columns={
        "age": ColumnPlan(1, ("31", "32", None), ("[30, 35)", "[30, 35)", None)),
        'the "job"': ColumnPlan(0, ("nurse", "Ärztin"), ("nurse", "Ärztin")),
    },
    suppressed=((0, 1), (2, 0)),
    suppressed_rows=3,
    masked=False,
    complete=("age",),
)


@st.composite
def plans(draw: st.DrawFn) -> GlobalPlan:
    """Draw a plan with any labels."""
    label = st.none() | st.text(max_size=5)
    columns = {}
    for name in draw(st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True)):
        leaves = tuple(draw(st.lists(label, min_size=1, max_size=4, unique=True)))
        labels = tuple(draw(st.lists(label, min_size=len(leaves), max_size=len(leaves))))
        columns[name] = ColumnPlan(draw(st.integers(0, 3)), leaves, labels)
    one_class = st.tuples(*(st.integers(0, len(column.leaves) - 1) for column in columns.values()))
    suppressed = tuple(sorted(draw(st.sets(one_class, max_size=3))))
    return GlobalPlan(
        columns=columns,
        suppressed=suppressed,
        suppressed_rows=len(suppressed) * draw(st.integers(1, 9)),
        masked=bool(suppressed) and draw(st.booleans()),
        complete=tuple(draw(st.sets(st.sampled_from(sorted(columns))))),
    )


@given(plan=plans())
def test_a_plan_survives_json(plan: GlobalPlan) -> None:
    again = GlobalPlan.loads(plan.dumps())
    assert again == plan
    assert list(again.columns) == list(plan.columns)
    assert again.levels == plan.levels
    assert str(again) == str(plan)


def test_a_plan_survives_a_file(tmp_path: Path) -> None:
    PLAN.save(tmp_path / "plan.json")
    assert GlobalPlan.load(tmp_path / "plan.json") == PLAN
    assert "Ärztin" in (tmp_path / "plan.json").read_text(encoding="utf-8")


def test_the_plan_of_a_release_survives_json() -> None:
    table = pa.table({"q": ["x", "x", "y", None], "s": ["1", "2", "1", "2"]})
    spec = rf.Spec(
        attributes={"q": {"role": "quasi", "hierarchy": "flat"}, "s": {"role": "sensitive"}}, privacy={"k": 2, "l": 2}
    )
    plan = rf.anonymize(table, spec).plan
    assert plan.suppressed_rows == 2
    assert GlobalPlan.loads(plan.dumps()) == plan


def test_plans_that_differ_are_not_equal() -> None:
    for part in ({"masked": True}, {"suppressed_rows": 4}, {"suppressed": ((0, 1),)}, {"complete": ()}):
        other = GlobalPlan(**{**vars(PLAN), **part})
        assert other != PLAN


def test_a_plan_says_what_it_does() -> None:
    said = str(PLAN)
    assert "age: level 1, 2 labels for 3 values" in said
    assert "3 rows in 2 classes dropped" in said
    assert "masked" in str(GlobalPlan(**{**vars(PLAN), "masked": True}))
    assert repr(PLAN).startswith("GlobalPlan(")
    assert PLAN.levels == {"age": 1, 'the "job"': 0}
    assert not PLAN.columns["age"].changes_nothing
    assert PLAN.columns['the "job"'].changes_nothing


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "5", '"plan"', "{}", '{"format": "ringfence plan 1"}', PLAN.dumps()[:-20]],
    ids=lambda text: text[:20],
)
def test_what_is_not_a_plan_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="plan"):
        GlobalPlan.loads(text)


Damage = Callable[[dict[str, Any]], object]
DAMAGES: dict[str, Damage] = {
    "another format": lambda plan: plan.update(format="ringfence plan 3"),
    "another kind": lambda plan: plan.update(kind="group"),
    "no suppressed classes": lambda plan: plan.pop("suppressed"),
    "no columns": lambda plan: plan.pop("columns"),
    "columns in a list": lambda plan: plan.update(columns=[]),
    "no labels": lambda plan: plan["columns"]["age"].pop("labels"),
    "too few labels": lambda plan: plan["columns"]["age"]["labels"].pop(),
    "too many labels": lambda plan: plan["columns"]["age"]["labels"].append("*"),
    "labels that are text": lambda plan: plan["columns"]["age"].update(labels="abc"),
    "labels that are numbers": lambda plan: plan["columns"]["age"].update(labels=[1, 2, 3]),
    "a leaf that occurs twice": lambda plan: plan["columns"]["age"].update(leaves=["31", "31", None]),
    "a level that is text": lambda plan: plan["columns"]["age"].update(level="high"),
    "a level below 0": lambda plan: plan["columns"]["age"].update(level=-1),
    "a level between two": lambda plan: plan["columns"]["age"].update(level=1.5),
    "a class of too few leaves": lambda plan: plan.update(suppressed=[[0]]),
    "a class of a leaf that is not there": lambda plan: plan.update(suppressed=[[0, 2]]),
    "a class of a negative leaf": lambda plan: plan.update(suppressed=[[0, -1]]),
    "a number of rows below 0": lambda plan: plan.update(suppressed_rows=-1),
    "a truth that is text": lambda plan: plan.update(masked="false"),
    "complete columns as text": lambda plan: plan.update(complete="age"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_plan_is_refused(damage: str) -> None:
    content = json.loads(PLAN.dumps())
    DAMAGES[damage](content)
    with pytest.raises(DataError, match="plan"):
        GlobalPlan.loads(json.dumps(content))


@pytest.mark.parametrize(("kind", "what"), [("group", "groups"), ("ring", "rings"), ("anatomy", "buckets")])
def test_a_plan_about_rows_says_that_it_cannot_be_applied_to_others(kind: str, what: str) -> None:
    content = json.loads(PLAN.dumps()) | {"kind": kind}
    with pytest.raises(DataError) as refused:
        GlobalPlan.loads(json.dumps(content))
    assert str(refused.value) == (
        f"this is a plan of another kind, '{kind}'; allowed: 'global'. A plan of {what} is about the rows that it was"
        " made for, and cannot be applied to others; method.name = 'optimal' and 'levels' make plans that recode values"
    )


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(b"\xff\xfe")
    for name in ("none.json", "plan.json"):
        with pytest.raises(RingfenceError, match=name):
            GlobalPlan.load(tmp_path / name)
