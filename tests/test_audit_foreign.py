"""Tables that others made: how they spell intervals, sets and masks, and what cannot be read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from audit_tables import audited, rules, text_table
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.reading import Everything, Interval, Masked, OneOf, read_interval, read_label
from ringfence.spec import Spec

AGE: dict[str, Any] = {"role": "quasi", "order": "numeric"}
TENS: dict[str, Any] = {"role": "quasi", "hierarchy": {"intervals": [10, 20], "bottom": 20, "top": 60}}


@pytest.mark.parametrize(
    ("text", "low", "high", "ends"),
    [
        ("[20, 30)", 20, 30, (True, False)),
        ("[20,30[", 20, 30, (True, False)),
        ("]20; 30]", 20, 30, (False, True)),
        ("(20, 30)", 20, 30, (False, False)),
        ("20-29", 20, 29, (True, True)),
        ("20 – 29", 20, 29, (True, True)),
        ("20 to 29", 20, 29, (True, True)),
        ("20..29", 20, 29, (True, True)),
        ("-5--1.5", -5, Decimal("-1.5"), (True, True)),
        (">=60", 60, None, (True, True)),
        ("≥ 60", 60, None, (True, True)),
        (">60", 60, None, (False, True)),
        ("60+", 60, None, (True, True)),
        ("<20", None, 20, (True, False)),
        ("≤19", None, 19, (True, True)),
    ],
)
def test_intervals_in_the_usual_spellings(text: str, low: Any, high: Any, ends: tuple[bool, bool]) -> None:
    assert read_interval(text) == Interval(low, high, *ends)
    assert isinstance(read_label(f" {text} "), Interval)


@pytest.mark.parametrize(
    "text", ["", "20", "a-b", "2024-03-31", "30-20", "[30, 20)", "20-", ">=", "+60", "1,2", "(20)"]
)
def test_what_is_no_interval(text: str) -> None:
    assert read_interval(text) is None


@given(st.integers(-50, 50), st.integers(0, 20), st.booleans(), st.booleans(), st.integers(-60, 80))
def test_an_interval_holds_what_lies_in_it(low: int, width: int, first: bool, last: bool, value: int) -> None:
    interval = Interval(Decimal(low), Decimal(low + width), first, last)
    inside = low < value < low + width or (first and value == low) or (last and value == low + width)
    inside = inside and not (width == 0 and not (first and last))
    assert interval.holds(str(value)) == inside
    assert interval.as_open_above.holds(str(value)) == inside
    assert width == 0 or read_interval(interval.spelled) == interval


def test_other_labels() -> None:
    assert read_label("***") == Everything()
    assert read_label("479**") == Masked("479**")
    assert read_label("{a, null}") == OneOf(frozenset({"a", None}))
    assert read_label("{a,b}") == OneOf(frozenset({"a", "b"}))
    assert read_label("a b") == OneOf(frozenset({"a b"}))
    assert not read_label("479**").holds("4790")


def test_labels_of_one_meaning_are_one_class() -> None:
    spelled = ["20-29", "20–29", "[20,29]", "[20, 29.0]", "20 to 29"]
    verdict = audited(
        text_table(["age"], [(label,) for label in spelled]), Spec(attributes={"age": AGE}, privacy={"k": 5})
    )
    assert (rules(verdict), verdict.measured["classes"]) == ([], 1)
    spelled = ["20-29", "[20,30[", "[20, 30)", "19<", "<20", "<=19", "60+", ">59", "≥60"]
    verdict = audited(
        text_table(["age"], [(label,) for label in spelled]), Spec(attributes={"age": TENS}, privacy={"k": 1})
    )
    assert rules(verdict) == ["labels"]
    assert "'19<' (1 row)" in verdict.findings[0].message
    assert verdict.measured["classes"] == 4


def test_an_interval_that_the_hierarchy_does_not_have_is_shown_as_it_stands() -> None:
    table = text_table(["age"], [("20-29",), ("20-28",), ("20-28",)])
    (finding,) = audited(table, Spec(attributes={"age": TENS}, privacy={"k": 1})).findings
    assert finding.rule == "labels"
    assert "'20-28' (2 rows)" in finding.message
    assert finding.message.endswith("first in row 2")


def test_what_cannot_be_read_is_shown_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "foreign.csv"
    path.write_text("age;zip\n20-29;479**\n20-29;479**\nabout 30;479**\n;479**\n", encoding="utf-8")
    spec = Spec(
        attributes={"age": AGE, "zip": {"role": "quasi", "hierarchy": {"mask": "right"}}},
        data={"delimiter": ";"},
        privacy={"k": 1},
    )
    (finding,) = rf.audit(path, spec).findings
    assert finding.rule == "labels"
    assert "'about 30' (1 row)" in finding.message
    assert finding.message.endswith("first in row 3")
    assert rf.audit(path, spec).measured["missing"] == 1


def test_a_foreign_table_beside_its_original() -> None:
    """As sdcMicro and ARX would write it: intervals, masks, everything, and cells taken out."""
    original = pa.table(
        {"age": [21, 25, 34, 61], "zip": ["47906", "47905", "13053", "13068"], "job": ["a", "b", "c", "d"]}
    )
    attributes = {"age": AGE, "zip": {"role": "quasi"}, "job": {"role": "quasi"}}
    spec = Spec(attributes=attributes, privacy={"k": 2})
    rows = [("20-29", "4790*", "{a, b}"), ("20-29", "4790*", "{a, b}"), ("≥30", "130**", None), ("≥30", "130**", None)]
    verdict = rf.audit(text_table(["age", "zip", "job"], rows), spec, original)
    assert (rules(verdict), verdict.measured["k"], verdict.measured["suppressed"]) == ([], 2, 0)
    rows[0] = rows[1] = ("20-29", "4790*", "{a, c}")
    assert rules(rf.audit(text_table(["age", "zip", "job"], rows), spec, original)) == ["original"]
