"""Typed releases: lists and ends say what the labels say."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import Case, cases, with_parts

import ringfence as rf
from ringfence.errors import SpecError, Unsatisfiable

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
    """What is typed covers the value; a list has what the label of a set names."""
    if name not in row:
        low, high = row[f"{name} low"], row[f"{name} high"]
        assert (low is None) == (high is None)
        assert low is None or isinstance(value, str) or low <= value <= high
        assert value is not None or low is None
    elif isinstance(row[name], list):
        assert value in row[name]
        if str(label).startswith("{"):
            assert len(row[name]) == str(label).count(", ") + 1
    else:
        assert row[name] == value == label


def test_types_are_those_of_the_original() -> None:
    sets = rf.anonymize(PEOPLE, spec_of("set")).typed()
    assert (
        sets.schema.field("age").type == pa.list_(pa.int64()) or sets.schema.field("age").type.value_type == pa.int64()
    )
    ranges = rf.anonymize(PEOPLE, spec_of("range")).typed()
    assert ranges.schema.field("age low").type == ranges.schema.field("age high").type == pa.int64()
    assert ranges.column_names[:2] == ["age low", "age high"]


def test_parquet_comes_with_its_typed_form(tmp_path: Path) -> None:
    release = rf.anonymize(PEOPLE, spec_of("set"))
    release.save(tmp_path, "parquet")
    manifest = json.loads((tmp_path / "public/manifest.json").read_text())
    assert manifest["typed"]["file"] == "typed.parquet"
    typed = pyarrow.parquet.read_table(tmp_path / "public/typed.parquet")
    assert typed.num_rows == 6
    release.save(tmp_path, "csv")
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
