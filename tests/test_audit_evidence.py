"""What the audit leaves in writing; and releases of every method, damaged: each damage fails or shows."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from audit_tables import HOLDS, PEOPLE, PUBLISHED, audited, planted, rules, text_table

import ringfence as rf
from ringfence.audit.verdict import MENDS, Verdict
from ringfence.spec import Spec

SCHEMA = json.loads((Path(__file__).parent.parent / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
TREE = {
    "city": {"north": ["ulm", "bonn"], "south": ["rome", "nice"]},
    "land": {"hill": ["alp"], "sea": ["sylt", "elba"]},
}
TOWNS = ["ulm", "bonn", "rome", "nice", "alp", "sylt", "elba"]
METHODS: dict[str, dict[str, Any]] = {
    "levels of a lattice": {"name": "optimal"},
    "cuts": {"name": "optimal", "scheme": "cut"},
    "sets": {"name": "optimal", "scheme": "set", "time_limit": 1.0},
    "fixed levels": {"name": "levels", "levels": {"age": 2, "town": 2}, "suppression": 1.0},
    "clusters": {"name": "cluster"},
    "clusters as sets": {"name": "cluster", "representation": "set"},
    "local": {"name": "local"},
    "hilbert": {"name": "hilbert"},
    "mondrian": {"name": "mondrian"},
    "homogeneous rings": {"name": "ring", "homogeneous": True},
    "rings": {"name": "ring"},
}


def people() -> pa.Table:
    """Return a seeded table in which every row has a note of its own, so that tracing back is certain."""
    rng = random.Random(3)
    rows = [(str(rng.randint(20, 59)), rng.choice(TOWNS), rng.choice("mno"), f"note {number}") for number in range(60)]
    return text_table(["age", "town", "illness", "note"], rows)


def spec_of(method: dict[str, Any]) -> Spec:
    """Return a specification for a method."""
    return Spec(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
            "town": {"role": "quasi", "hierarchy": {"tree": TREE}},
            "illness": {"role": "sensitive"},
            "note": {"role": "insensitive"},
        },
        privacy={"k": 4} if method["name"] == "ring" else {"k": 4, "p": 2},
        method=method,
    )


Case = tuple[list[dict[str, str]], Callable[[list[dict[str, str]]], Verdict]]


@pytest.fixture(params=[*METHODS.values()], ids=[*METHODS])
def case(request: pytest.FixtureRequest) -> Case:
    """Return the rows of a release, and how to judge them beside the original."""
    spec = spec_of(request.param)
    release = rf.anonymize(people(), spec).table

    def judged(rows: list[dict[str, str]]) -> Verdict:
        return rf.audit(pa.Table.from_pylist(rows, release.schema), spec, people())

    return release.to_pylist(), judged


def test_a_release_of_any_method_holds(case: Case) -> None:
    rows, judged = case
    verdict = judged(rows)
    assert rules(verdict) == []
    assert verdict.measured["suppressed"] == 60 - len(rows)


def test_two_labels_swapped(case: Case) -> None:
    """Rows keep their notes, so that one of them at least has a label that does not hold its value."""
    rows, judged = case
    pairs = [(i, j) for i in range(len(rows)) for j in range(i) if rows[i]["town"] != rows[j]["town"]]
    raw = {row["note"]: row for row in people().to_pylist()}
    found = 0
    for i, j in pairs[:: max(1, len(pairs) // 5)][:5]:
        swapped = [*map(dict, rows)]
        swapped[i]["town"], swapped[j]["town"] = rows[j]["town"], rows[i]["town"]
        kept = all(_holds(row["town"], raw[row["note"]]["town"]) for row in (swapped[i], swapped[j]))
        verdict = judged(swapped)
        assert kept or "original" in rules(verdict)
        assert verdict.ok <= kept
        found += not kept
    assert found or len({row["town"] for row in rows}) <= 2


def _holds(label: str, town: str) -> bool:
    """Whether a label of a town, or a set of such, may stand for it."""
    nodes = {"*": set(TOWNS)}
    for name, groups in TREE.items():
        nodes |= {name: {town for towns in groups.values() for town in towns}, **{g: {*t} for g, t in groups.items()}}
    parts = [part.strip() for part in label.strip("{}").split(",")]
    return any(town in nodes.get(part, {part}) for part in parts)


def test_rows_dropped(case: Case) -> None:
    rows, judged = case
    before = judged(rows)
    after = judged(rows[1:])
    assert after.measured["suppressed"] == before.measured["suppressed"] + 1
    assert after.measured["rows"] == before.measured["rows"] - 1
    if "matches" in before.measured:  # a ring has no classes
        return
    smallest = min(before.smallest, key=lambda each: each.rows)
    gone = [row for row in rows if {name: row[name] for name in ("age", "town")} == dict(smallest.labels)]
    verdict = judged([row for row in rows if row not in gone[: smallest.rows - 3]])
    assert "k" in rules(verdict)


def test_two_releases_merged(case: Case) -> None:
    rows, judged = case
    verdict = judged(rows + rows)
    assert "rows" in rules(verdict)


def test_one_outlier_added(case: Case) -> None:
    rows, judged = case
    outlier = {**rows[0], "age": "[20, 40)", "town": "hill", "note": "note of nobody"}
    assert {"k", "rows"} & {*rules(judged([*rows, outlier]))}
    replaced = judged([*rows[1:], outlier])
    assert "original" in rules(replaced)
    if "matches" not in replaced.measured:  # a ring has no classes: the outlier may be anyone whom its labels hold
        assert replaced.measured["k"] < 4


# In writing


def in_writing(verdict: Verdict) -> Any:
    """Return a verdict as JSON that follows its schema."""
    written = json.loads(json.dumps(verdict.as_dict()))
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    return written


def test_verdicts_follow_their_schema() -> None:
    assert in_writing(audited(text_table(PUBLISHED, HOLDS), PEOPLE))["ok"] is True
    damaged = in_writing(audited(planted(0, age="[20, 26)"), PEOPLE))
    assert {finding["rule"] for finding in damaged["findings"]} >= {"k", "labels"}
    assert all(finding["mend"] for finding in damaged["findings"])
    assert in_writing(audited(text_table(PUBLISHED, []), PEOPLE))["risk"] is None
    raw = people()
    spec = spec_of({"name": "cluster"})
    release = rf.anonymize(raw, spec).table
    full = rf.audit(release, spec, raw, population=raw, other=release, corrupted=1, attacks="all")
    written = in_writing(full)
    assert written["attacks"]
    assert written["risk"]["journalist"]["highest"] <= 1
    assert written["notes"]


def test_every_rule_has_its_mending_and_is_in_the_schema() -> None:
    assert {*MENDS} == {*SCHEMA["properties"]["findings"]["items"]["properties"]["rule"]["enum"]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate({"ok": True})
