"""Tables that others made: how they spell intervals, sets and masks, and what cannot be read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.audit.counts import read_released
from ringfence.audit.labels.gaps import fewest_fitting
from ringfence.audit.labels.reading import AnyOf, Everything, Interval, Masked, read_interval, read_label
from ringfence.errors import DataError
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec
from ringfence.spec.data import Data
from tests.audit_tables import audited, rules, text_table

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
        ("60 and over", 60, None, (True, True)),
        ("Over 60", 60, None, (False, True)),
        ("(60, Inf]", 60, None, (False, True)),
        ("(-inf, 20.0]", None, 20, (True, True)),
        ("(1e+03,2.5e+03]", 1000, 2500, (False, True)),
        ("under 20", None, 20, (True, False)),
        ("up to 19", None, 19, (True, True)),
        ("<20", None, 20, (True, False)),
        ("≤19", None, 19, (True, True)),
    ],
)
def test_intervals_in_the_usual_spellings(text: str, low: Any, high: Any, ends: tuple[bool, bool]) -> None:
    assert read_interval(text) == Interval(low, high, *ends)
    assert isinstance(read_label(f" {text} "), Interval)


@pytest.mark.parametrize(
    "text",
    ["", "20", "a-b", "2024-03-31", "30-20", "[30, 20)", "20-", ">=", "+60", "1,2", "(20)", "(-Inf, Inf)", "(inf, 20]"],
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
    assert read_label("{a, null}") == AnyOf(frozenset({"a", None}))
    assert read_label("{a,b}") == AnyOf(frozenset({"a", "b"}))
    assert read_label("a b") == AnyOf(frozenset({"a b"}))
    assert not read_label("479**").holds("4790")


def test_labels_of_one_meaning_are_read_alike_and_told_apart() -> None:
    """A reader sees that `20-29` is not `[20, 30)`: to take both for one class would promise more than there is."""
    spelled = ["20-29", "20–29", "[20,29]", "[20, 29.0]", "20 to 29"]
    verdict = audited(
        text_table(["age"], [(label,) for label in spelled]), Spec(attributes={"age": AGE}, privacy={"k": 5})
    )
    assert (rules(verdict), verdict.measured["k"], verdict.measured["classes"]) == (["k"], 1, 5)
    spelled = ["20-29", "[20,30[", "[20, 30)", "19<", "<20", "<=19", "60+", ">59", "≥60"]
    verdict = audited(
        text_table(["age"], [(label,) for label in spelled]), Spec(attributes={"age": TENS}, privacy={"k": 1})
    )
    assert rules(verdict) == ["labels"]
    assert "'19<' (1 row)" in verdict.findings[0].message
    assert verdict.measured["classes"] == 9


def test_an_interval_of_whole_numbers_does_not_hold_what_lies_between() -> None:
    spec = Spec(attributes={"age": TENS}, privacy={"k": 1})
    for age, label, found in (
        (29.5, "[20, 30)", []),
        (29.5, "[20,30[", []),
        (29.5, "20-29", ["original"]),
        (29, "20-29", []),
    ):
        assert rules(rf.audit(pa.table({"age": [label]}), spec, pa.table({"age": [age]}))) == found


def test_values_in_two_spellings_are_one_sensitive_value() -> None:
    spec = Spec(attributes={"age": AGE, "pay": {"role": "sensitive", "order": "numeric"}}, privacy={"l": 2})
    assert rules(audited(text_table(["age", "pay"], [("7", "10"), ("7", "10.0")]), spec)) == ["l"]


def test_a_set_that_holds_an_empty_text() -> None:
    table, raw = pa.table({"job": ['{"", a}'] * 2}), pa.table({"job": ["", "a"]})
    assert rules(rf.audit(table, Spec(attributes={"job": {"role": "quasi"}}, privacy={"k": 2}), raw)) == []


def test_an_interval_that_the_hierarchy_does_not_have_is_shown_as_it_stands() -> None:
    table = text_table(["age"], [("20-29",), ("20-28",), ("20-28",)])
    (finding,) = audited(table, Spec(attributes={"age": TENS}, privacy={"k": 1})).findings
    assert finding.rule == "labels"
    assert "'20-28' (2 rows)" in finding.message
    assert finding.message.endswith("first in row 2, not counting the names of columns")


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
    assert finding.message.endswith("first in row 3, not counting the names of columns")
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


# Files as other tools write them


FOLDER = Path(__file__).parents[2] / "foreign"
TEXT: dict[str, Any] = {"role": "quasi"}
MASK: dict[str, Any] = {"role": "quasi", "hierarchy": {"mask": "right"}}


def of_sdcmicro(**data: Any) -> Spec:
    """Return a specification for the table that sdcMicro would write."""
    attributes = {"urbrur": TEXT, "roof": TEXT, "age": AGE, "income": AGE, "disease": {"role": "sensitive"}}
    return Spec(attributes=attributes, data=data, privacy={"k": 2})


def test_a_file_of_sdcmicro() -> None:
    """`cut` writes (20,30], with the lowest end [0,20]; suppressed cells are NA; write.csv adds the names of rows."""
    verdict = rf.audit(FOLDER / "sdcmicro.csv", of_sdcmicro(missing_values=["NA"]))
    assert rules(verdict) == ["unlisted", "k"]
    assert "'row names'" in verdict.findings[0].message
    assert (verdict.measured["k"], verdict.measured["missing"]) == (1, 3)
    (note,) = verdict.notes
    assert "as sdcMicro counts, every row would have 2 that fit" in note
    labels = {label for each in verdict.smallest for label in each.labels.values()}
    assert {"(20,30]", "[0,20]", "2412.5", None} <= labels


def test_what_means_missing_is_asked_for() -> None:
    verdict = rf.audit(FOLDER / "sdcmicro.csv", of_sdcmicro(unlisted="publish"))
    assert rules(verdict) == ["labels", "k"]
    message = verdict.findings[0].message
    assert "'income' is published as 'NA' (1 row), which cannot be read" in message
    assert "data.missing_values" in message
    assert "first in row 7" in message


def test_a_file_of_arx() -> None:
    """Intervals are open above as `[20, 40[`, sets `{a, b}`, suppressed rows and identifiers `*`, what is missing
    NULL."""
    attributes: dict[str, Any] = {
        **{"name": {"role": "identifier"}, "age": AGE, "sex": TEXT, "zip": MASK, "job": TEXT, "weight": AGE},
        "disease": {"role": "sensitive"},
    }
    data = {"delimiter": ";", "missing_values": ["NULL"]}
    spec = Spec(attributes=attributes, data=data, privacy={"k": 2, "l": 2})
    verdict = rf.audit(FOLDER / "arx.csv", spec)
    assert rules(verdict) == ["k", "l"]  # one row was suppressed and left in the file
    assert [verdict.measured[key] for key in ("k", "rows", "classes", "masked", "missing")] == [1, 7, 4, 1, 2]
    assert "take them out of the file" in verdict.notes[0]
    refined = rf.audit(FOLDER / "arx.csv", spec, attacks="refinement").refinement
    assert refined is not None
    assert (refined.rebuilt, refined.determined) == (0, 6)  # two rows each: {nurse, cook} twice, and [40, 60]
    assert refined.sentences[0].startswith("If labels were made for each class by itself")
    original = pa.table(
        {
            **{"name": [*"abcdefg"], "age": [20, 39, 25, 31, 40, 60, 70], "sex": ["male"] * 2 + ["female"] * 5},
            "zip": ["47906", "47911", "13053", "13059", "13001", "13099", "99999"],
            "job": ["nurse", "cook", "clerk", "clerk", "cook", "nurse", "judge"],
            "weight": [50.5, 80.4, 49.0, 50.4, 80.5, 99.0, 70.0],
            "disease": ["flu", "cold", "flu", "cold", "ulcer", "flu", "flu"],
        }
    )
    assert rules(rf.audit(FOLDER / "arx.csv", spec, original)) == ["k", "l"]
    moved = original.set_column(1, "age", pa.array([20, 40, 25, 31, 40, 60, 70]))
    assert "original" in rules(rf.audit(FOLDER / "arx.csv", spec, moved))  # 40 is not in [20, 40[


def test_a_file_of_anjana() -> None:
    """Identifiers are kept as `*`; the rows keep their numbers in the original, which nobody should publish."""
    schooling = {"tree": {"school": ["11th", "12th"], "higher": ["Masters", "Doctorate"]}}
    attributes: dict[str, Any] = {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
        "education": {"role": "quasi", "hierarchy": schooling},
        **{"sex": TEXT, "zip": MASK, "illness": {"role": "sensitive"}},
    }
    spec = Spec(attributes=attributes, privacy={"k": 2, "l": 2})
    verdict = rf.audit(FOLDER / "anjana.csv", spec)
    assert rules(verdict) == ["unlisted"]
    assert "'index'" in verdict.findings[0].message
    assert (verdict.measured["k"], verdict.measured["l"]) == (2, 2)
    original = text_table(
        ["name", "age", "education", "sex", "zip", "illness"],
        [
            ("a", "41", "11th", "Female", "47906", "ulcer"),
            ("b", "59", "12th", "Female", "47905", "flu"),
            ("c", "20", "Masters", "Male", "47905", "cold"),
            ("d", "39", "Doctorate", "Female", "47906", "flu"),
        ],
    )
    assert rules(rf.audit(FOLDER / "anjana.csv", spec, original)) == ["unlisted"]
    loose = Spec(attributes={**attributes, "education": TEXT}, privacy={"k": 2})
    (_, finding) = rf.audit(FOLDER / "anjana.csv", loose, original).findings
    assert "no value of 'education' is under 'higher', 'school'" in finding.message


CELLS = st.sampled_from(["a", "b", None])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
def test_missing_cells_that_fit_anything(rows: list[tuple[str | None, ...]]) -> None:
    attributes = dict.fromkeys("xyz", TEXT)
    with DuckDB(Data()) as engine:
        counted = engine.count(engine.hold(text_table("xyz", rows)), [*"xyz"])
    released = read_released(counted, ROWS, [*"xyz"], [], Spec(attributes=attributes, privacy={"k": 1}))
    fits = [
        sum(
            all(one == two or one is None or two is None for one, two in zip(row, other, strict=True)) for other in rows
        )
        for row in rows
    ]
    assert fewest_fitting(released) == min(fits)


def test_a_column_without_a_name_that_is_not_the_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,,b\n1,2,3\n", encoding="utf-8")
    with pytest.raises(DataError, match="column 2"):
        rf.audit(path, Spec(attributes={"a": TEXT}, privacy={"k": 1}))


@pytest.mark.parametrize("content", ["age\n20\n21,22\n", 'age\n20\n"21\n'])
def test_a_broken_original_is_blamed_and_not_the_release(tmp_path: Path, content: str) -> None:
    release, broken = tmp_path / "release.csv", tmp_path / "broken.csv"
    release.write_text("age\n20\n20\n", encoding="utf-8")
    broken.write_text(content, encoding="utf-8")
    spec = Spec(attributes={"age": AGE}, privacy={"k": 1})
    with pytest.raises(DataError, match=r"broken\.csv") as found:
        rf.audit(release, spec, broken)
    assert "release.csv" not in str(found.value)


@pytest.mark.parametrize(
    ("value", "text"), [(2.0**53, "9007199254740992.0"), (1e20, "1e+20"), (1e16, "1e+16"), (1e-7, "1e-07")]
)
def test_large_numbers_as_text_files_have_them(value: float, text: str) -> None:
    original = pa.table({"n": [value, value, 1.5, 1.5]})
    for hierarchy in ("flat", {"fanout": 2}):
        spec = Spec(attributes={"n": {"role": "quasi", "hierarchy": hierarchy}}, privacy={"k": 2})
        for shown in ([value, value, 1.5, 1.5], [text, text, "1.5", "1.5"]):
            assert rules(rf.audit(pa.table({"n": shown}), spec, original)) == []
