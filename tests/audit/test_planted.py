"""The audit against planted violations, and on odd tables."""

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ringfence.errors import DataError, RingfenceError
from ringfence.spec import Spec
from ringfence.values.hierarchy import ROOT
from tests.audit_tables import (
    HOLDS,
    LEVELS,
    PEOPLE,
    PUBLISHED,
    QUASI,
    REGIONS,
    audited,
    planted,
    relaxed,
    rules,
    text_table,
)

# Planted violations: a table that holds, and one cell changed by hand


def test_the_table_holds_before_it_is_damaged() -> None:
    verdict = audited(text_table(PUBLISHED, HOLDS), PEOPLE)
    assert rules(verdict) == []
    assert str(verdict).startswith("The promise holds.")
    assert verdict.measured["k"] == 4
    assert verdict.measured["l:illness:recursive"] == 2
    assert verdict.measured["t:ward"] == 0


def test_a_changed_label_breaks_k() -> None:
    verdict = audited(planted(0, place="North"), relaxed(k=4))
    (finding,) = verdict.findings
    assert (finding.rule, finding.rows) == ("k", 4)  # the row, and the three that it left
    assert finding.example == {"age": "[20, 25)", "zip": "479**", "place": "North", "seen": "2024"}
    assert "k = 4" in finding.message
    assert verdict.measured["k"] == verdict.smallest[0].rows == 1


@pytest.mark.parametrize(
    ("privacy", "cells", "rule", "words"),
    [
        ({"l": {"value": 3, "of": "illness"}}, {"illness": "flu"}, "l", ["l = 3", "'illness'", "the fewest 2"]),
        ({"l": {"value": 2.8, "kind": "entropy", "of": "illness"}}, {"illness": "flu"}, "l", ["entropy", "l = 2.8"]),
        (
            {"l": {"value": 2, "kind": "recursive", "c": 2, "of": "illness"}},
            {"illness": "flu"},
            "l",
            ["(2, 2)", "up to 1"],
        ),
        ({"t": {"value": 0.1, "of": "illness"}}, {"illness": "rare"}, "t", ["t = 0.1", "'illness'", "equal"]),
        (
            {"t": {"value": 0.1, "of": "ward", "distance": "ordered"}},
            {"ward": "A"},
            "t",
            ["t = 0.1", "'ward'", "ordered"],
        ),
    ],
)
def test_a_changed_sensitive_value_breaks_its_model(
    privacy: dict[str, Any], cells: dict[str, str], rule: str, words: list[str]
) -> None:
    assert rules(audited(text_table(PUBLISHED, HOLDS), relaxed(**privacy))) == []
    (finding,) = audited(planted(3, **cells), relaxed(**privacy)).findings
    assert (finding.rule, finding.rows) == (rule, 4)
    assert finding.example["place"] == "South"
    assert all(word in finding.message for word in words), finding.message


def test_a_changed_sensitive_value_breaks_p() -> None:
    table = text_table(["q", "s", "u"], [("x", "a", "1"), ("x", "b", "1")])
    spec = Spec(attributes={"q": QUASI, "s": {"role": "sensitive"}, "u": {"role": "sensitive"}}, privacy={"p": 2})
    (finding,) = audited(table, spec).findings
    assert (finding.rule, finding.rows) == ("p", 2)
    assert "'u'" in finding.message
    whole = text_table(["q", "s", "u"], [("x", "a", "1"), ("x", "b", None)])
    assert audited(whole, spec).ok  # missing is a value of its own


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("age", "[21, 26)"),
        ("age", "[65, 70)"),
        ("zip", "4*9**"),
        ("place", "Europa"),
        ("seen", "2024-Q1"),
        ("seen", "2024-13"),
    ],
)
def test_a_label_that_its_hierarchy_does_not_have(column: str, label: str) -> None:
    verdict = audited(planted(5, **{column: label}), relaxed(k=1))
    (finding,) = verdict.findings
    assert (finding.rule, finding.rows) == ("labels", 1)
    assert f"{column!r} is published as {label!r} (1 row)" in finding.message
    assert "allowed: " in finding.message
    assert finding.example[column] == label


@pytest.mark.parametrize(
    ("column", "label", "limit"),
    [
        ("zip", "4****", "level 3"),
        ("zip", ROOT, "level 3"),
        ("place", ROOT, "'Europe', 'America'"),
        ("seen", ROOT, "level 2"),
    ],
)
def test_a_label_past_its_boundary(column: str, label: str, limit: str) -> None:
    (finding,) = audited(planted(5, **{column: label}), relaxed(k=1)).findings
    assert (finding.rule, finding.rows) == ("boundary", 1)
    assert f"{column!r} is published as {label!r} (1 row)" in finding.message
    assert finding.message.endswith(f"nothing above {limit}")
    assert finding.example[column] == label


@pytest.mark.parametrize("column", ["age", "illness"])
def test_a_value_that_may_not_be_missing(column: str) -> None:
    spec = relaxed(k=1, l={"value": 1, "of": "illness"})
    (finding,) = audited(planted(5, **{column: None}), spec).findings
    assert (finding.rule, finding.rows) == ("missing", 1)
    assert f"{column!r} has no value in 1 row" in finding.message
    assert finding.example["place"] == "Norway"


def test_many_strange_labels_are_one_finding_that_names_ten() -> None:
    rows = [(f"number {i}", "1") for i in range(12)] + [("number 3", "1")]
    spec = Spec(attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [5]}}, "s": {"role": "sensitive"}})
    (finding,) = audited(text_table(["age", "s"], rows), spec).findings
    assert finding.rows == 13
    assert "published as 'number 3' (2 rows), 'number 0' (1 row)" in finding.message
    assert "and 2 more" in finding.message


# Columns


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["*", "*"], False),
        ([None, None], False),
        (["", ""], False),
        (["*", None], True),  # which marks a row
        (["", None], True),
        (["*", "Ann"], True),
        ([[1], [2]], True),
        ([1.5, None], True),
        ([1.5, 1.5], True),
    ],
)
def test_columns_that_say_nothing_are_passed_over(cells: list[Any], found: bool) -> None:
    spec = Spec(attributes={"q": QUASI, "name": {"role": "identifier"}}, privacy={"k": 2})
    table = pa.table({"q": ["x", "x"], "name": cells, "other": cells})
    assert rules(audited(table, spec)) == ["identifier", "unlisted"] * found


def test_an_identifier_that_is_still_there() -> None:
    table = text_table(PUBLISHED, HOLDS).append_column("name", pa.array(["Ann"] * len(HOLDS)))
    (finding,) = audited(table, PEOPLE).findings
    assert (finding.rule, finding.rows, finding.example) == ("identifier", 16, {})
    assert "'name'" in finding.message


@pytest.mark.parametrize(("unlisted", "ok"), [("error", False), ("drop", False), ("publish", True)])
def test_a_column_without_a_role(unlisted: str, ok: bool) -> None:
    spec = Spec(attributes={"q": QUASI}, data={"unlisted": unlisted}, privacy={"k": 1})
    verdict = audited(text_table(["q", "shoe size"], [("a", "42")]), spec)
    assert rules(verdict) == ([] if ok else ["unlisted"])
    assert ok or "'shoe size'" in verdict.findings[0].message


@pytest.mark.parametrize("column", ["zip", "ward"])
def test_a_column_that_is_missing_cannot_be_judged(column: str) -> None:
    table = text_table(PUBLISHED, HOLDS).rename_columns([name.replace(column, column + "s") for name in PUBLISHED])
    with pytest.raises(DataError, match=f"no column '{column}' \\(did you mean '{column}s'"):
        audited(table, PEOPLE)


def test_a_sensitive_column_that_no_model_looks_at_may_be_missing() -> None:
    table = text_table(PUBLISHED[:-2], [row[:-2] for row in HOLDS])
    assert audited(table, relaxed(k=4)).ok


def test_values_without_a_place_in_the_order_cannot_be_judged() -> None:
    with pytest.raises(DataError, match=r"'rank'.*'lowest'"):
        audited(
            text_table(["q", "rank"], [("x", "lowest"), ("x", "low")]),
            Spec(
                attributes={"q": QUASI, "rank": {"role": "sensitive", "order": LEVELS}},
                privacy={"t": {"value": 0.2, "distance": "ordered"}},
            ),
        )


def test_nested_columns_cannot_be_judged() -> None:
    with pytest.raises(RingfenceError, match="'q'"):
        audited(pa.table({"q": [[1], [2]]}), Spec(attributes={"q": QUASI}, privacy={"k": 1}))


# Odd tables


TWO = Spec(
    attributes={"q": QUASI, "age": {"role": "quasi", "hierarchy": {"intervals": [5]}}, "s": {"role": "sensitive"}},
    privacy={"k": 2, "l": 2, "p": 2, "t": 0.5},
)


def test_an_empty_table() -> None:
    verdict = audited(text_table(["q", "age", "s"], []), TWO)
    assert rules(verdict) == ["rows"]
    assert verdict.measured == {"k": 0, "rows": 0, "classes": 0, "masked": 0, "missing": 0}
    assert verdict.smallest == ()


def test_one_row() -> None:
    verdict = audited(text_table(["q", "age", "s"], [("x", "31", "flu")]), TWO)
    assert rules(verdict) == ["k", "l", "p"]
    assert [verdict.measured[key] for key in "klpt"] == [1, 1, 1, 0]


def test_all_rows_masked() -> None:
    verdict = audited(text_table(["q", "age", "s"], [(ROOT, ROOT, "flu"), (ROOT, ROOT, "cold")]), TWO)
    assert verdict.ok
    assert verdict.measured["masked"] == verdict.measured["k"] == 2
    assert verdict.measured["classes"] == 1
    assert verdict.notes == ("every row has '*' in every quasi-identifier: the release tells nothing of them any more",)


def test_masked_rows_are_judged_as_a_class() -> None:
    rows = [("x", "31", "flu"), ("x", "31", "cold"), ("x", ROOT, "flu"), ("x", ROOT, "cold"), (ROOT, ROOT, "flu")]
    verdict = audited(text_table(["q", "age", "s"], rows), TWO)
    assert rules(verdict) == ["k", "l", "p"]
    assert verdict.measured["masked"] == 1
    assert verdict.findings[0].example == {"q": ROOT, "age": ROOT}


def test_missing_values_are_counted_as_labels() -> None:
    rows = [("x", None, "flu"), ("x", None, None), (None, "31", "flu"), (None, "31", "cold"), ("", "31", "flu")]
    verdict = audited(text_table(["q", "age", "s"], rows), TWO)
    assert rules(verdict) == ["k", "l", "p"]
    assert verdict.findings[0].example == {"q": "", "age": "31"}  # an empty text is not a missing one
    assert verdict.measured["missing"] == 4
    held = audited(text_table(["q", "age", "s"], rows[:-1]), TWO)
    assert held.ok
    assert held.notes == ("'s' is missing in 1 row, which counts as a value of its own",)
    assert "'q': missing" in str(verdict)


def test_kept_rows_that_were_suppressed_are_not_past_a_boundary() -> None:
    attributes = {"q": QUASI, "place": {"role": "quasi", "hierarchy": {"tree": REGIONS}, "boundary": {"level": 1}}}
    kept = Spec(attributes=attributes, privacy={"k": 1}, method={"keep_suppressed": True})
    masked = text_table(["q", "place"], [("x", "South"), (ROOT, ROOT)])
    assert audited(masked, kept).ok
    assert rules(audited(masked, Spec(attributes=attributes, privacy={"k": 1}))) == ["boundary"]
    assert rules(audited(text_table(["q", "place"], [("x", ROOT)]), kept)) == ["boundary"]


def test_without_quasi_identifiers_all_rows_are_one_class() -> None:
    spec = Spec(attributes={"s": {"role": "sensitive"}, "note": {"role": "insensitive"}}, privacy={"k": 4})
    verdict = audited(text_table(["note", "s"], [("a", "1"), ("b", "1"), ("b", "2")]), spec)
    assert (rules(verdict), verdict.measured["k"], verdict.measured["classes"]) == (["k"], 3, 1)
    assert verdict.measured["masked"] == 0


def test_numbers_are_compared_by_value_and_text_to_the_letter() -> None:
    """What is text can be told apart, also where it spells the same number; what is a number has no spelling."""
    numbers = ["7", "7.0", "07", " 7", "0.7e1", "+7"]
    for attribute in ({"role": "quasi", "order": "numeric"}, {"role": "quasi"}):
        spec = Spec(attributes={"n": attribute}, privacy={"k": 1})
        assert audited(pa.table({"n": numbers}), spec).measured["classes"] == 6
        assert audited(pa.table({"n": [*map(float, numbers)]}), spec).measured["classes"] == 1


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        ({"intervals": [5]}, pa.array([7, 7, None])),
        ({"intervals": [5]}, pa.array([7.5, 7.5, math.nan])),
        ({"intervals": [5]}, pa.array(["[5, 10)", "[5, 10)", None]).dictionary_encode()),
        ({"dates": ["year"]}, pa.array([dt.date(2024, 2, 29)] * 2 + [None])),
        ({"dates": ["year"]}, pa.array([dt.datetime(2024, 2, 29)] * 2 + [None])),
        ({"dates": ["year"]}, pa.array(["2024-02-29 00:00:00", "2024-02-29 00:00:00", None])),
        ({"tree": {"yes": ["true"], "no": ["false"]}}, pa.array([True, True, None])),
        ({"mask": "right"}, pa.array([47906, 47906, None])),
        ({"tree": {"few": ["1", "2"]}}, pa.array([1.0, 1.0, None])),
    ],
)
def test_columns_of_any_type(hierarchy: Any, values: pa.Array) -> None:
    verdict = audited(pa.table({"q": values}), Spec(attributes={"q": {"role": "quasi", "hierarchy": hierarchy}}))
    assert rules(verdict) == []
    assert (verdict.measured["k"], verdict.measured["classes"], verdict.measured["missing"]) == (1, 2, 1)


def test_a_time_of_day_says_more_than_a_day() -> None:
    seen = pa.array([dt.datetime(2024, 2, 29, 8), dt.datetime(2024, 2, 29, 9)])
    spec = Spec(attributes={"q": {"role": "quasi", "hierarchy": {"dates": ["year"]}}}, privacy={"k": 1})
    verdict = audited(pa.table({"q": seen}), spec)
    assert (rules(verdict), verdict.measured["classes"]) == (["labels"], 2)


def test_a_text_file(tmp_path: Path) -> None:
    spec = Spec(
        attributes={'päron "x"': QUASI, "age": {"role": "quasi", "hierarchy": {"intervals": [5]}}},
        data={"delimiter": ";", "missing_values": ["?"]},
        privacy={"k": 2},
    )
    path = tmp_path / "release.csv"
    path.write_text('"päron ""x""";age\n"a;b";[5, 10)\n"a;b";[5, 10)\n?;7\n?;7\n', encoding="utf-8")
    verdict = audited(path, spec)
    assert (rules(verdict), verdict.measured["classes"], verdict.measured["missing"]) == ([], 2, 2)
    path.write_text(path.read_text(encoding="utf-8").replace("?;7", ";7", 1), encoding="utf-8")
    assert rules(audited(path, spec)) == ["k"]  # two ways to be missing: a reader tells these rows apart
