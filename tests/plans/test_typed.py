"""Typed releases: lists and ends say what the labels say."""

import datetime as dt
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.plans.typed import typed_columns
from ringfence.rows.sources import LABEL
from ringfence.spec.attributes import Attribute
from tests.tables import Case, cases, with_parts

PEOPLE = pa.table({"age": [31, 32, 38, 39, None, 40], "town": ["Oslo"] * 3 + ["Voss"] * 3, "ill": list("abcdef")})


def spec_of(representation: str, name: str = "ring") -> rf.Spec:
    """A specification for these people."""
    return rf.Spec(
        attributes={
            "age": {"role": "quasi", "order": "numeric"},
            "town": {"role": "quasi"},
            "ill": {"role": "sensitive"},
        },
        privacy={"k": 2},
        method={"name": name, "representation": representation},
    )


def with_column(spec: rf.Spec, name: str) -> rf.Spec:
    """A specification with one more column, published as it is."""
    parts = spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
    return with_parts(spec, attributes={**parts, name: {"role": "insensitive"}})


@settings(max_examples=settings().max_examples // 5)
@given(case=cases(sensitive=1), k=st.integers(2, 3), name=st.sampled_from(["ring", "hilbert"]))
def test_typed_rows_cover_what_their_rows_are(case: Case, k: int, name: str) -> None:
    identified = case.table.append_column("row", pa.array(range(case.table.num_rows)))
    for representation in ("set", "range"):
        spec = with_parts(case.spec, privacy={"k": k}, method={"name": name, "representation": representation})
        attributes = {
            **spec.model_dump(by_alias=True, exclude_unset=True)["attributes"],
            "row": {"role": "insensitive"},
        }
        try:
            release = rf.anonymize(identified, with_parts(spec, attributes=attributes))
        except Unsatisfiable:
            return
        original = {row["row"]: row for row in identified.to_pylist()}
        labels = {row["row"]: row for row in release.table.to_pylist()}
        typed = release.typed().to_pylist()
        assert sorted(row["row"] for row in typed) == sorted(labels)
        for row in typed:
            for quasi in case.census.quasi:
                check_cell(row, quasi.name, original[row["row"]][quasi.name], labels[row["row"]][quasi.name])


def check_cell(row: dict[str, Any], name: str, value: Any, label: Any) -> None:
    """What is typed covers the value, and each of its words is one of the label."""

    def words(items: Iterable[Any]) -> list[str]:
        return ["null" if item is None else f"{item:g}" if isinstance(item, float) else str(item) for item in items]

    said = re.findall(r"[^][{}(), <>=]+", "null" if label is None else str(label))
    if f"{name} low" in row:
        low, high = row[f"{name} low"], row[f"{name} high"]
        missing = value is None and str(label).endswith(", null}")
        assert low is None or missing or low <= value
        assert high is None or missing or value <= high
        assert {*words([low, high])} <= {*said, "null"}
    if name not in row:
        return
    if isinstance(row[name], list):
        assert words(row[name]) == said
        assert value in row[name] or not str(label).startswith("{")
    elif row[name] is None and label is not None:
        assert label == "*" or str(label).startswith(("[", "{[", "<", ">="))
    else:
        assert row[name] == label, "a column without sets and ranges stays as it is"


@pytest.mark.parametrize(
    ("attribute", "labels", "expected"),
    [
        ({"order": "numeric"}, ["[50, 99]", "7"], {"x low": [50, 7], "x high": [99, 7]}),
        ({"order": "numeric"}, ["{1, 2.5, null}", None, "4"], {"x": [[1.0, 2.5, None], [None], [4.0]]}),
        (
            {"order": "numeric"},
            ["{1, 9}", "[2, 5]", "{3, null}", "*"],
            {"x": [[1, 9], None, [3, None], None], "x low": [1, 2, None, None], "x high": [9, 5, None, None]},
        ),
        (
            {"hierarchy": {"intervals": [5], "bottom": 18, "top": 85}},
            ["[20, 25)", "<18", ">=85", "30"],
            {"x low": [20, None, 85, 30], "x high": [25, 18, None, 30]},
        ),
        (
            {"hierarchy": {"dates": ["year"]}},
            ["{2024-01-31, 2024-03-01}", "2023", "2022-05-05"],
            {"x": [[dt.date(2024, 1, 31), dt.date(2024, 3, 1)], None, [dt.date(2022, 5, 5)]]},
        ),
        ({}, ['{a, "b, c", "null"}', "{01, 1}", "Europe"], {"x": [["a", "b, c", "null"], ["01", "1"], ["Europe"]]}),
        ({"order": "numeric"}, ["[1, 9007199254740993.5]"], {"x low": ["1"], "x high": ["9007199254740993.5"]}),
        ({"order": "numeric"}, ["[1, 9223372036854775807]"], {"x low": [1], "x high": [2**63 - 1]}),
        ({}, ["{a,b}", "[a]", "{}", '{"a}', "a, b"], None),
    ],
    ids=str,
)
def test_labels_are_read_as_they_stand(
    attribute: dict[str, Any], labels: list[str | None], expected: dict[str, Any] | None
) -> None:
    found = typed_columns({"x": labels}, {"x": Attribute(role="quasi", **attribute)})
    if expected is None:
        assert found == {}
    else:
        assert found["x"].drop(LABEL).to_pydict() == expected


def test_what_lies_inside_a_range_is_not_told() -> None:
    people = pa.table({"age": [50, 51, 52, 99], "town": ["Oslo"] * 4, "ill": list("abcd")})
    spec = with_parts(spec_of("set", "hilbert"), privacy={"k": 4})
    release = rf.anonymize(people, spec)
    assert {*release.table["age"].to_pylist()} <= {"[50, 99]", "*"}
    shown = str(release.typed().to_pylist())
    assert "51" not in shown
    assert "52" not in shown


def test_parquet_comes_with_its_typed_form(tmp_path: Path) -> None:
    release = rf.anonymize(PEOPLE, spec_of("set"))
    release.save(tmp_path, "parquet", report=False)
    manifest = json.loads((tmp_path / "public/manifest.json").read_text())
    assert manifest["typed"]["file"] == "typed.parquet"
    typed = pyarrow.parquet.read_table(tmp_path / "public/typed.parquet")
    assert typed.num_rows == 6
    release.save(tmp_path, "csv", report=False)
    assert not (tmp_path / "public/typed.parquet").exists(), "a file of an earlier release is left"
    assert "typed" not in json.loads((tmp_path / "public/manifest.json").read_text())


def test_names_that_are_taken_are_refused() -> None:
    spec = spec_of("range")
    attributes = {
        **spec.model_dump(by_alias=True, exclude_unset=True)["attributes"],
        "age low": {"role": "insensitive"},
    }
    release = rf.anonymize(PEOPLE.append_column("age low", PEOPLE["ill"]), with_parts(spec, attributes=attributes))
    with pytest.raises(SpecError, match="'age low'"):
        release.typed()
