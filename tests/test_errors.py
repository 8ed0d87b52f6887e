"""What errors say of what is long: texts of any length may stand in a cell, and none of them makes a sentence."""

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import LONG, MOST, DataError, RingfenceError, SpecError, shortened

TEXT = 'it\'s a "note" of \\ some\n length, \x00 and more; '
NOTE = TEXT * 30_000
AGE = {"role": "quasi", "hierarchy": {"intervals": [10]}}
TREE = {"role": "quasi", "hierarchy": {"tree": {"young": ["20", "21"]}}}
LOCAL = {"name": "local"}


def refusal(attribute: Any, table: pa.Table, **parts: Any) -> str:
    with pytest.raises(RingfenceError) as refused:
        rf.anonymize(table, rf.Spec(**{"attributes": {"age": attribute}, "privacy": {"k": 1}, **parts}))
    return str(refused.value)


@pytest.mark.parametrize(
    ("attribute", "parts", "said"),
    [
        (AGE, {}, "should hold numbers, but has"),
        ({"role": "quasi", "order": "numeric"}, {"method": LOCAL}, "should hold numbers, but has"),
        (TREE, {}, "add them to attributes.age.hierarchy or mend the data"),
        ({"role": "quasi", "order": ["20", "21"]}, {"method": LOCAL}, "attributes.age.order does not list"),
        (
            {"role": "quasi", "format": "%d.%m.%Y"},
            {"method": LOCAL},
            "or say in data.missing_values that they are missing",
        ),
        ({"role": "quasi", "hierarchy": {"codes": "icd10"}}, {}, "see attributes.age.hierarchy, codes = 'icd10'"),
        (AGE, {"data": {"types": {"age": "int"}}}, "should hold whole numbers, as data.types says"),
    ],
)
def test_a_long_cell_is_not_quoted_whole(attribute: Any, parts: dict[str, Any], said: str) -> None:
    message = refusal(attribute, pa.table({"age": ["20", "21", NOTE]}), **parts)
    assert len(message) < 500
    assert said in message
    assert f"{len(NOTE):,} characters" in message


def test_long_names_of_columns_keys_and_values_are_shortened() -> None:
    assert len(refusal(AGE, pa.table({"age": ["20"], NOTE: ["x"]}))) < 400
    assert len(refusal({"role": "quasi"}, pa.table({"age": ["20"]}), attributes={NOTE: {"role": "quasi"}})) < 2 * MOST
    for key, value in ((NOTE, "x"), ("role", NOTE), ("order", [NOTE, NOTE]), ("format", NOTE), ("hierarchy", NOTE)):
        with pytest.raises(SpecError) as refused:
            rf.Spec(attributes={"age": {"role": "quasi", key: value}})
        assert len(str(refused.value)) < 800, key


def test_a_message_that_lists_thousands_of_columns_keeps_its_beginning_and_its_end() -> None:
    table = pa.table({f"column {i}": ["x"] for i in range(3_000)})
    message = refusal(AGE, table)
    assert len(message) < 2 * MOST
    assert message.startswith("the data has no column 'age'; its columns are: 'column 0', 'column 1'")
    assert "characters left out) ..." in message
    assert message.endswith("'column 2999'")


def test_findings_of_audits_are_shortened_and_their_examples_too() -> None:
    spec = rf.Spec(attributes={"age": AGE}, privacy={"k": 1})
    verdict = rf.audit(pa.table({"age": ["[20, 30)", NOTE.replace("\0", "")]}), spec)
    assert not verdict.ok
    assert all(len(finding.message) < 500 and len(str(finding)) < 500 for finding in verdict.findings)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 40), st.text("abc '\"", max_size=50))
def test_whatever_is_quoted_its_length_is_told_and_the_rest_stays(text: str, times: int, after: str) -> None:
    long = text * times + "z" * 300
    message = shortened(f"the person's cell in 'x' holds {long!r}: see {after!r}, or 'mend' it")
    assert message.startswith("the person's cell in 'x' holds ")
    assert message.endswith(f" ({len(long):,} characters): see {after!r}, or 'mend' it")
    assert len(message) < 2 * LONG + 10 * 60  # a character may be written as ten


def test_errors_come_through_processes_as_they_are() -> None:
    error = DataError(f"the cell {NOTE!r} is long")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert len(str(error)) < 150
