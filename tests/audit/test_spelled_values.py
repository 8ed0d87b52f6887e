"""A value in two spellings is one value, and a missing one is none, however it is spelled."""

from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf

TOWN = {"town": {"role": "quasi", "hierarchy": "flat"}}
GAPS = {"missing_values": ["?", "NA"]}


def asked(data: dict[str, Any] | None = None, **ill: Any) -> rf.Spec:
    return rf.Spec(
        data=data or {},
        attributes={**TOWN, "ill": {"role": "sensitive", **ill}},
        privacy={"k": 2, "l": 2},
        method={"name": "levels", "levels": {"town": 0}},
    )


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        (["?", "NA"], asked(GAPS)),
        (["", "?"], asked(GAPS)),
        (["", None], asked()),
        (pa.array([float("nan"), None]), asked()),
        (["01.02.2020", "1.2.2020"], asked(format="%d.%m.%Y")),
        (["01.02.2020", "2020-02-01"], asked(format="%d.%m.%Y")),
        (["2020-02-01", " 2020-02-01"], asked(format="iso")),
        (["2020-02-01 08:00:00", "2020-02-01T08:00:00Z"], asked(format="iso")),
    ],
    ids=str,
)
def test_a_class_has_one_value_of_what_is_spelled_in_two_ways(values: Any, spec: rf.Spec) -> None:
    verdict = rf.audit(pa.table({"town": ["Oslo", "Oslo"], "ill": values}), spec)
    assert verdict.measured["l"] == 1
    assert [finding.rule for finding in verdict.findings] == ["l"]


def test_days_that_differ_are_different_values() -> None:
    table = pa.table({"town": ["Oslo", "Oslo"], "ill": ["01.02.2020", "2.1.2020"]})
    assert rf.audit(table, asked(format="%d.%m.%Y")).ok


def test_a_file_may_leave_a_cell_empty_in_two_ways(tmp_path: Any) -> None:
    (tmp_path / "release.csv").write_text('town,ill\nOslo,""\nOslo,\n')
    assert rf.audit(tmp_path / "release.csv", asked()).measured["l"] == 1


def test_values_of_a_bucket_are_counted_so_too() -> None:
    spec = rf.Spec(
        data=GAPS, attributes={**TOWN, "ill": {"role": "sensitive"}}, privacy={"l": 2}, method={"name": "anatomy"}
    )
    people = pa.table({"town": ["Oslo", "Rome"], "bucket": [1, 1]})
    for values, ok in ((["?", "NA"], False), (["flu", "NA"], True)):
        held = pa.table({"bucket": [1, 1], "ill": values, "count": [1, 1]})
        assert rf.audit(people, spec, sensitive=held).ok is ok


@pytest.mark.parametrize("missing", ["error", "suppress"])
@pytest.mark.parametrize("anatomy", [False, True])
def test_who_may_not_miss_a_value_may_not_miss_it_in_several_spellings(missing: str, anatomy: bool) -> None:
    data = {**GAPS, "missing": missing}
    if anatomy:
        spec = rf.Spec(
            data=data, attributes={**TOWN, "ill": {"role": "sensitive"}}, privacy={"l": 2}, method={"name": "anatomy"}
        )
        held = pa.table({"bucket": [1, 1, 2, 2], "ill": ["flu", "cold"] * 2, "count": [1] * 4})
        found = rf.audit(pa.table({"town": ["?", "?", "NA", "NA"], "bucket": [1, 1, 2, 2]}), spec, sensitive=held)
    else:
        found = rf.audit(pa.table({"town": ["?", "?", "NA", "NA"], "ill": ["flu", "cold"] * 2}), asked(data))
    assert [(finding.rule, finding.rows) for finding in found.findings] == [("missing", 4)]


@pytest.mark.parametrize(
    ("pseudonyms", "nobodys"),
    [
        (["a", "b"], 0),
        (["a", None], 1),
        ([1.0, float("nan")], 1),
        (["?", "NA"], 2),
        (["", ""], 2),
        (["*", "*"], 2),
        ([None, None], 2),
    ],
    ids=str,
)
def test_a_row_under_a_missing_pseudonym_is_nobodys(pseudonyms: list[Any], nobodys: int) -> None:
    spec = rf.Spec(
        data={**GAPS, "entity": "who", "composite": True}, attributes=TOWN, privacy={"k": 2}, method={"name": "optimal"}
    )
    verdict = rf.audit(pa.table({"who": pseudonyms, "town": ["Oslo", "Oslo"]}), spec)
    assert verdict.ok is (nobodys == 0)
    assert sum(finding.rows for finding in verdict.findings if finding.rule == "missing") == nobodys
    assert verdict.measured["people"] == 2 - nobodys


@pytest.mark.parametrize("beside", [False, True])
def test_a_zero_byte_in_a_label_is_a_finding_like_any_other(beside: bool) -> None:
    """No statement can name such a label, so that its first row is not told."""
    spec = rf.Spec(attributes={"town": {"role": "quasi", "hierarchy": {"tree": {"X": ["a", "b"]}}}}, privacy={"k": 2})
    original = pa.table({"town": ["a", "b", "a"]}) if beside else None
    verdict = rf.audit(pa.table({"town": ["X\0", "X\0", "Y"]}), spec, original)
    found = next(finding for finding in verdict.findings if finding.rule == "labels")
    assert "'X\\x00' (2 rows), 'Y' (1 row), which is no label of its hierarchy" in found.message
    assert "first in row 3" in found.message
