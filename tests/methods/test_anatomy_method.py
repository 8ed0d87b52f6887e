"""The method `anatomy` from specification to files: what is published, what is judged, what is refused."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence import api
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.plans.anatomy import AnatomyPlan
from ringfence.rows.sources import BUCKET, COUNT
from tests.tables import Case, cases, with_parts

ILL = ["flu", "cold", "gout", "flu", "cold", "flu", None, "gout"]
PEOPLE = pa.table(
    {
        "name": [f"person {n}" for n in range(8)],
        "age": [20, 21, 29, 30, 31, 20, 44, 45],
        "ill": ILL,
        "town": list("aabbaabb"),
        "note": [f"note {n}" for n in range(8)],
    }
)
ROLES: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi"},
    "town": {"role": "quasi", "hierarchy": "flat"},
    "ill": {"role": "sensitive"},
    "note": {"role": "insensitive"},
}
SPEC = rf.Spec(attributes=ROLES, privacy={"l": 2}, method={"name": "anatomy"})


def values_in(table: pa.Table, name: str = "ill") -> dict[int, Counter[Any]]:
    """The sensitive values of each bucket."""
    found: dict[int, Counter[Any]] = {}
    for row in table.to_pylist():
        found.setdefault(row[BUCKET], Counter())[row[name]] += row[COUNT]
    return found


def test_two_tables_are_published() -> None:
    release = rf.anonymize(PEOPLE, SPEC)
    assert release.table.column_names == ["age", "town", "note", BUCKET]
    assert release.sensitive.column_names == [BUCKET, "ill", COUNT]
    kept = ["age", "town", "note"]
    assert sorted(map(str, release.table.select(kept).to_pylist())) == sorted(map(str, PEOPLE.select(kept).to_pylist()))
    truth: dict[int, Counter[Any]] = {}
    for row in release.table.to_pylist():
        truth.setdefault(row[BUCKET], Counter())[ILL[int(row["note"].split()[1])]] += 1
    assert values_in(release.sensitive) == truth
    assert sorted(truth) == list(range(1, len(truth) + 1))
    assert release.audit.ok
    assert release.audit.measured == {"l": 2, "rows": 8, "buckets": len(truth)}
    assert release.metrics == {"rows": 8, "suppressed": 0, "buckets": len(truth)}
    assert rf.audit(release.table, SPEC, sensitive=release.sensitive).ok
    assert AnatomyPlan.loads(release.plan.dumps()) == release.plan
    assert "in each of which every row has another value of ill" in str(release)
    assert "buckets" in release._repr_html_()
    assert release.explain().sentences == ("No row has to be suppressed.",)
    assert release.typed().num_rows == 8


@given(case=cases(sensitive=1), l=st.integers(1, 3), missing=st.sampled_from(["value", "suppress"]))
def test_the_tables_say_of_each_bucket_what_is_true(case: Case, l: int, missing: str) -> None:  # noqa: E741
    numbered = case.table.append_column("number", pa.array(range(case.table.num_rows)))
    parts = {**case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"], "number": {"role": "insensitive"}}
    spec = rf.Spec(attributes=parts, data={"missing": missing}, privacy={"l": l}, method={"name": "anatomy"})
    looked_at = [*case.spec.of_role("quasi"), "s0"]
    left = [row for row in numbered.to_pylist() if missing == "value" or None not in [row[n] for n in looked_at]]
    if not left:
        return
    most = max(Counter(row["s0"] for row in left).values())
    if most * l > len(left):
        with pytest.raises(Unsatisfiable, match=f"at most one in {l}"):
            rf.anonymize(numbered, spec)
        return
    release = rf.anonymize(numbered, spec)
    assert sorted(release.table["number"].to_pylist()) == [row["number"] for row in left]
    truth: dict[int, Counter[Any]] = {}
    original = numbered.to_pylist()
    for row in release.table.to_pylist():
        truth.setdefault(row[BUCKET], Counter())[original[row["number"]]["s0"]] += 1
        assert all(row[name] == original[row["number"]][name] for name in case.spec.of_role("quasi"))
    assert values_in(release.sensitive, "s0") == truth
    assert all(max(bucket.values()) * l <= bucket.total() for bucket in truth.values())


def test_who_is_in_which_bucket_is_drawn_anew_whatever_the_seed() -> None:
    many = pa.table({"age": range(400), "ill": ["flu", "cold"] * 200})
    roles = {name: ROLES[name] for name in ("age", "ill")}
    spec = rf.Spec(attributes=roles, privacy={"l": 2}, method={"name": "anatomy", "seed": -1})
    one, other = rf.anonymize(many, spec), rf.anonymize(many, spec)
    assert one.plan == other.plan == rf.anonymize(many.take(list(range(399, -1, -1))), spec).plan
    assert one.sensitive == other.sensitive
    assert one.table["age"].to_pylist() != other.table["age"].to_pylist()
    homes = [dict(zip(*(r.table[n].to_pylist() for n in ("age", BUCKET)), strict=True)) for r in (one, other)]
    assert homes[0] != homes[1]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_tables_are_of_the_callers_kind(kind: type) -> None:
    source = PEOPLE.to_pandas() if kind is pd.DataFrame else pl.from_arrow(PEOPLE)
    release = rf.anonymize(source, SPEC)
    assert isinstance(release.table, kind)
    assert isinstance(release.sensitive, kind)
    assert rf.audit(release.table, SPEC, sensitive=release.sensitive).ok


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical(["a", "b"] * 3),
        pd.date_range("2024-01-01", periods=6),
        pd.date_range("2024-01-01", periods=6, tz="Europe/Rome"),
        [True, False] * 3,
        [0.5, float("nan")] * 3,
        [1, 2, 3, 4, 5, None],
    ],
    ids=str,
)
def test_sensitive_values_of_any_type(values: Any) -> None:
    spec = rf.Spec(
        attributes={"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
        privacy={"l": 2},
        method={"name": "anatomy"},
    )
    release = rf.anonymize(pd.DataFrame({"age": range(6), "ill": values}), spec)
    assert release.audit.ok
    assert release.sensitive[COUNT].sum() == 6
    assert release.sensitive["ill"].nunique(dropna=False) == pd.Series(values).nunique(dropna=False)


def test_numbers_that_are_spelled_in_two_ways_are_one_value() -> None:
    pay = {"age": {"role": "quasi"}, "pay": {"role": "sensitive", "order": "numeric"}}
    spec = rf.Spec(attributes=pay, privacy={"l": 2}, method={"name": "anatomy"})
    release = rf.anonymize(pa.table({"age": range(4), "pay": ["1", "1.0", "2", "02"]}), spec)
    assert release.audit.measured["l"] == 2
    assert len({*release.sensitive["pay"].to_pylist()}) == 2
    split = pa.table({BUCKET: [1, 1, 2, 2], "pay": ["1", "1.0", "2", "02"], COUNT: [1] * 4})
    people = pa.table({"age": range(4), BUCKET: [1, 1, 2, 2]})
    assert {finding.rule for finding in rf.audit(people, spec, sensitive=split).findings} == {"anatomy", "l"}


@pytest.fixture
def files(tmp_path: Path) -> rf.Spec:
    pd.DataFrame(PEOPLE.to_pandas()).to_csv(tmp_path / "people.csv", index=False)
    return with_parts(SPEC, data={"source": str(tmp_path / "people.csv")})


def test_files_are_written_audited_and_hashed(files: rf.Spec, tmp_path: Path) -> None:
    release = api.run(files, tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert {path.name for path in public.iterdir()} == {"release.csv", "sensitive.csv", "manifest.json"}
    assert release.sensitive == public / "sensitive.csv"
    assert release.audit.ok
    assert rf.audit(release.table, files).ok
    manifest = json.loads((public / "manifest.json").read_text())
    assert manifest["sensitive"]["file"] == "sensitive.csv"
    assert manifest["counts"]["buckets"] == release.metrics["buckets"]
    assert manifest["metrics"] == {}
    page = (tmp_path / "out/private/report.html").read_text()
    assert "The promise holds" in page
    assert "There is no k." in page
    assert AnatomyPlan.load(tmp_path / "out/private/plan.json") == release.plan
    with pytest.raises(DataError, match="A plan of buckets is about the rows that it was made for"):
        rf.apply(tmp_path / "out/private/plan.json", PEOPLE)

    release.save(tmp_path / "again", "parquet", plots=True)
    again = tmp_path / "again" / "public"
    assert rf.audit(again / "release.parquet", files).ok
    assert pq.read_table(again / "sensitive.parquet").num_rows == 8
    other = rf.anonymize(PEOPLE, with_parts(SPEC, privacy={"k": 1}, method={"name": "local"}))
    other.save(tmp_path / "again", report=False)
    assert not [*again.glob("sensitive.*")]


@pytest.mark.parametrize(
    ("damage", "rules"),
    [
        (lambda text: re.sub(",[a-z]*,1", ",flu,1", text), {"l", "anatomy", "manifest"}),
        (lambda text: text.replace(",flu,1", ",flu,2"), {"l", "anatomy", "manifest"}),
        (lambda text: text.replace(",count\n", ",count,note\n").replace(",1\n", ",1,x\n"), {"anatomy", "manifest"}),
    ],
)
def test_planted_damage_is_found(files: rf.Spec, tmp_path: Path, damage: Any, rules: set[str]) -> None:
    release = api.run(files, tmp_path / "out", report=False)
    path = Path(release.sensitive)
    path.write_text(damage(path.read_text()))
    verdict = rf.audit(release.table, files)
    assert not verdict.ok
    assert {finding.rule for finding in verdict.findings} == rules
    assert all(finding["mend"] for finding in verdict.as_dict()["findings"])


def test_a_sensitive_column_left_in_is_found() -> None:
    release = rf.anonymize(PEOPLE, SPEC)
    table = release.table.append_column("ill", pa.array(ILL))
    assert "anatomy" in {finding.rule for finding in rf.audit(table, SPEC, sensitive=release.sensitive).findings}
    strange = release.table.append_column("strange", pa.array(ILL))
    assert "unlisted" in {finding.rule for finding in rf.audit(strange, SPEC, sensitive=release.sensitive).findings}


def test_missing_values_are_found_where_they_may_not_be() -> None:
    release = rf.anonymize(PEOPLE, SPEC)
    strict = with_parts(SPEC, data={"missing": "suppress"})
    found = rf.audit(release.table, strict, sensitive=release.sensitive)
    assert [finding.rule for finding in found.findings] == ["missing"]
    assert rf.anonymize(PEOPLE, strict).incomplete == 1


def test_what_cannot_be_judged_says_so(tmp_path: Path, files: rf.Spec) -> None:
    release = rf.anonymize(PEOPLE, SPEC)
    with pytest.raises(DataError, match="is two tables"):
        rf.audit(release.table, SPEC)
    with pytest.raises(DataError, match="by their original only"):
        rf.audit(release.table, SPEC, population=PEOPLE, sensitive=release.sensitive)
    with pytest.raises(DataError, match="'linkage' cannot be carried out: it needs classes"):
        rf.audit(release.table, SPEC, PEOPLE, sensitive=release.sensitive, attacks="linkage")
    with pytest.raises(DataError, match="whole numbers"):
        rf.audit(
            release.table,
            SPEC,
            sensitive=release.sensitive.drop_columns([COUNT]).append_column(COUNT, pa.array(["some"] * 8)),
        )
    written = api.run(files, tmp_path / "out", report=False)
    Path(written.sensitive).unlink()
    with pytest.raises(DataError, match=r"sensitive\.csv"):
        rf.audit(written.table, files)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"privacy": {"k": 2, "l": 2}}, "privacy.k: the method 'anatomy' promises distinct l"),
        ({"privacy": {"p": 2, "l": 2}}, "privacy.p: the method"),
        ({"privacy": {"t": 0.5, "l": 2}}, "privacy.t: the method"),
        ({"privacy": {"k": 2}}, "privacy.k: the method"),
        ({"privacy": {"l": {"value": 2, "kind": "entropy"}}}, "of kind 'entropy'"),
        ({"privacy": {"l": [{"value": 2}, {"value": 3}]}}, "2 times"),
    ],
)
def test_other_promises_are_refused(parts: dict[str, Any], message: str) -> None:
    spec = with_parts(SPEC, **parts)
    with pytest.raises(SpecError, match=message):
        rf.anonymize(PEOPLE, spec)
    with pytest.raises(SpecError, match=message):
        rf.audit(PEOPLE, spec, sensitive=PEOPLE)


def test_a_second_sensitive_attribute_is_refused() -> None:
    roles = {**ROLES, "note": {"role": "sensitive"}}
    spec = rf.Spec(attributes=roles, privacy={"l": {"value": 2, "of": "ill"}}, method={"name": "anatomy"})
    with pytest.raises(SpecError, match="hides one sensitive attribute"):
        rf.anonymize(PEOPLE, spec)


@pytest.mark.parametrize(("old", "new"), [("note", "Bucket"), ("ill", "count")])
def test_columns_that_are_taken_are_refused(old: str, new: str) -> None:
    table = PEOPLE.rename_columns([new if name == old else name for name in PEOPLE.column_names])
    roles = {new if name == old else name: role for name, role in ROLES.items()}
    spec = rf.Spec(attributes=roles, privacy={"l": 2}, method={"name": "anatomy"})
    with pytest.raises(SpecError, match=f"column '{new}'"):
        rf.anonymize(table, spec)


def test_a_value_that_is_too_common_is_unsatisfiable() -> None:
    with pytest.raises(Unsatisfiable, match="3 of 8 rows have 'flu'"):
        rf.anonymize(PEOPLE, with_parts(SPEC, privacy={"l": 3}))


# Beside the original


def test_damaged_tables_beside_their_original() -> None:
    """Everyone is one of a kind, so that what a bucket may hold is certain."""
    release = rf.anonymize(PEOPLE, SPEC)
    people, values = release.table.to_pylist(), release.sensitive.to_pylist()

    def judged(people: list[dict[str, Any]], values: list[dict[str, Any]]) -> Any:
        tables = (pa.Table.from_pylist(people, release.table.schema), release.sensitive.schema)
        return rf.audit(tables[0], SPEC, PEOPLE, sensitive=pa.Table.from_pylist(values, tables[1]))

    def rules(people: list[dict[str, Any]], values: list[dict[str, Any]]) -> list[str]:
        return [finding.rule for finding in judged(people, values).findings]

    sound = judged(people, values)
    assert sound.ok
    assert (sound.measured["original"], sound.measured["suppressed"]) == (8, 0)
    truth = {f"note {n}": ill for n, ill in enumerate(ILL)}
    pairs = [
        (i, j)
        for i, one in enumerate(people)
        for j, two in enumerate(people)
        if one[BUCKET] != two[BUCKET] and truth[one["note"]] != truth[two["note"]]
    ]
    for i, j in pairs[:6]:
        swapped = [*map(dict, people)]
        swapped[i][BUCKET], swapped[j][BUCKET] = people[j][BUCKET], people[i][BUCKET]
        assert rules(swapped, values) == ["original"]
    assert "anatomy" in rules(people[1:], values)
    assert {*rules(people + people, values + values)} >= {"original", "anatomy"}
    outlier = {**people[0], "note": "note of nobody"}
    assert "original" in rules([outlier, *people[1:]], values)
    lines = [*map(dict, values)]
    lines[0]["ill"] = "a new one"
    assert "original" in rules(people, lines)


def test_attacks_on_buckets() -> None:
    release = rf.anonymize(PEOPLE, SPEC, attacks="all")
    plain, knowing = release.audit.attacks
    sizes = Counter(row[BUCKET] for row in release.table.to_pylist())
    assert plain.success == pytest.approx(len(sizes) / 8)
    assert (plain.worst, plain.promised) == (1 / min(sizes.values()), 1 / 2)
    assert plain.baseline == 3 / 8
    assert (knowing.worst, knowing.promised) == (1 / (min(sizes.values()) - 1), 1)
    assert "Attacks" in release.report().html


def test_an_original_without_a_column_cannot_be_judged_by() -> None:
    release = rf.anonymize(PEOPLE, SPEC)
    with pytest.raises(DataError, match="the original has no column 'ill'"):
        rf.audit(release.table, SPEC, PEOPLE.drop_columns(["ill"]), sensitive=release.sensitive)
