"""What the audit leaves in writing; and releases of every method, damaged: each damage fails or shows."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.audit.verdict import MENDS, Verdict
from ringfence.spec import Spec
from tests.audit_tables import HOLDS, PEOPLE, PUBLISHED, audited, planted, rules, text_table

pytestmark = pytest.mark.xdist_group("evidence")  # releases are made once
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "audit.schema.json").read_text(encoding="utf-8"))
TREE = {
    "city": {"north": ["ulm", "bonn"], "south": ["rome", "nice"]},
    "land": {"hill": ["alp"], "sea": ["sylt", "elba"]},
}
TOWNS = ["ulm", "bonn", "rome", "nice", "alp", "sylt", "elba"]
METHODS: dict[str, dict[str, Any]] = {
    "levels of a lattice": {"name": "optimal", "metric": "dm"},
    "cuts": {"name": "optimal", "scheme": "cut"},
    "runs": {"name": "optimal", "scheme": "ordered", "time_limit": 0.2},
    "guided runs": {"name": "optimal", "scheme": "guided-ordered", "time_limit": 0.2},
    "guided sets": {"name": "optimal", "scheme": "guided-set", "time_limit": 0.2},
    "sets": {"name": "optimal", "scheme": "set", "time_limit": 0.2},
    "fixed levels": {"name": "levels", "levels": {"age": 2, "town": 2}, "suppression": 1.0},
    "clusters": {"name": "cluster"},
    "clusters as sets": {"name": "cluster", "representation": "set"},
    "local": {"name": "local"},
    "local as ranges": {"name": "local", "representation": "range"},
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


Rows = list[dict[str, str]]
Case = tuple[Rows, Callable[[Rows], Verdict]]


@cache
def released(method: str, k: int = 4) -> tuple[pa.Table, Spec]:
    """Return a release of each method."""
    spec = spec_of(METHODS[method])
    spec = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": k})})
    return rf.anonymize(people(), spec).table, spec


@pytest.fixture(params=[*METHODS])
def method(request: pytest.FixtureRequest) -> str:
    """Return each method in turn."""
    return str(request.param)


@pytest.fixture
def case(method: str) -> Case:
    """Return the rows of a release, and how to judge them beside the original."""
    release, spec = released(method)

    def judged(rows: Rows) -> Verdict:
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


def test_two_releases_mixed(method: str, case: Case) -> None:
    """Half of the people from this release, the others from a coarser one: classes fall apart, or others are there."""
    rows, judged = case
    coarser = {row["note"]: row for row in released(method, k=9)[0].to_pylist()}
    mixed = [coarser.get(row["note"], row) if number % 2 else row for number, row in enumerate(rows)]
    before, after = judged(rows), judged(mixed)
    assert mixed == rows or after.measured != before.measured
    assert "original" not in rules(after)  # every label is true


def test_one_outlier_added(case: Case) -> None:
    rows, judged = case
    outlier = {**rows[0], "age": "[20, 40)", "town": "hill", "note": "note of nobody"}
    assert {"k", "rows"} & {*rules(judged([*rows, outlier]))}
    replaced = judged([*rows[1:], outlier])
    assert "original" in rules(replaced)
    if "matches" not in replaced.measured:  # a ring has no classes: the outlier may be anyone whom its labels hold
        assert replaced.measured["k"] < 4


# Attacked


def test_no_attack_does_better_than_was_promised(method: str) -> None:
    """k bounds whose row it is, other models what its value is; rows in another order, the same rates."""
    release, spec = released(method)
    verdict = rf.audit(release, spec, people(), corrupted=2, attacks="all")
    shuffled = [table.take(pa.array(range(table.num_rows))[::-1]) for table in (release, people())]
    assert verdict.attacks == rf.audit(shuffled[0], spec, shuffled[1], corrupted=2, attacks="all").attacks
    assert {attack.name for attack in verdict.attacks} >= {"linkage", "homogeneity", "corruption"}
    for attack in verdict.attacks:
        assert 0 <= attack.success <= 1
        assert attack.success <= attack.worst + 1e-9 or attack.name in ("minimality", "homogeneity", "background")
        assert attack.within is not False, attack
    assert [attack.promised for attack in verdict.attacks if attack.name == "linkage"] == [1 / 4] * 2


@pytest.mark.parametrize(
    ("privacy", "limit"),
    [
        ({"k": 3, "l": {"value": 2, "kind": "recursive", "c": 2}}, 2 / 3),
        ({"k": 3, "l": {"value": 2.5, "kind": "entropy"}}, None),
        ({"k": 3, "t": 0.3}, None),
    ],
)
def test_what_is_promised_of_sensitive_values(privacy: dict[str, Any], limit: float | None) -> None:
    spec = Spec(**{**spec_of({"name": "mondrian"}).model_dump(exclude_unset=True), "privacy": privacy})
    release = rf.anonymize(people(), spec, attacks=["homogeneity", "background"])
    found = release.audit.attacks[0]
    assert found.promised is not None
    assert found.within
    assert limit is None or found.promised == pytest.approx(limit)
    assert release.attacks == ("homogeneity", "background")


def test_attacks_are_carried_out_on_the_file_that_is_saved(tmp_path: Path) -> None:
    release = rf.anonymize(people(), spec_of({"name": "mondrian"}), attacks="all")
    release.save(tmp_path)
    written = json.loads((tmp_path / "private" / "audit.json").read_text(encoding="utf-8"))
    assert written["attacks"] == release.audit.as_dict()["attacks"]
    assert written["measured"]["original"] == 60
    assert 'id="attacks"' in (tmp_path / "private" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("representation", ["range", "set"])
def test_rings_keep_values_at_what_they_promise(representation: str) -> None:
    """Over many draws, guesses of a value are right no more often than one in l, but for chance.

    That is promised to one who has no idea beforehand who has which value: so values are shuffled anew each time. With
    values that follow the ages, a guess by all rows that fit a range gains from the pattern, whatever was drawn.
    """
    values = ["mnopqr"[n % 6] for n in range(60)]
    parts = spec_of({"name": "ring"}).model_dump(exclude_unset=True)
    parts["attributes"].pop("note")
    parts["attributes"]["age"]["representation"] = representation
    right = []
    for seed in range(12):
        random.Random(seed).shuffle(values)
        rows = [(str(20 + n), TOWNS[n % 7], values[n]) for n in range(60)]
        spec = Spec(**{**parts, "privacy": {"l": 3}, "method": {"name": "ring", "seed": seed}})
        found = rf.anonymize(text_table(["age", "town", "illness"], rows), spec, attacks="homogeneity").audit.attacks[0]
        assert found.within
        assert found.promised == pytest.approx(1 / 3)
        right.append(found.success)
    assert sum(right) / len(right) < 1 / 3 + 3 * (2 / 9 / (12 * 60)) ** 0.5


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


def test_verdicts_of_every_method_follow_the_schema(method: str, case: Case) -> None:
    rows, judged = case
    release, spec = released(method)
    assert in_writing(rf.audit(release, spec, people(), corrupted=1, attacks="all"))["attacks"]
    assert not in_writing(judged(rows[2:] + rows[:1] * 70))["ok"]


def test_verdicts_on_two_tables_and_on_baskets_follow_the_schema() -> None:
    roles = {"age": "quasi", "town": "sensitive", "illness": "insensitive", "note": "insensitive"}
    attributes: dict[str, Any] = {name: {"role": role} for name, role in roles.items()}
    spec = Spec(attributes=attributes, privacy={"l": 2}, method={"name": "anatomy"})
    release = rf.anonymize(people(), spec, attacks="all")
    written = in_writing(release.audit)
    assert [attack["promised"] for attack in written["attacks"]] == [1 / 2, 1]
    baskets = pa.table({"basket": [["a", "b"], ["a", "b"], ["a"]]})
    tree = {"role": "items", "hierarchy": {"tree": {"A": ["a", "b"]}}}
    spec = Spec(attributes={"basket": tree}, privacy={"k": 2, "m": 2}, method={"name": "itemsets"})
    written = in_writing(rf.anonymize(baskets, spec, attacks="all").audit)
    assert [attack["name"] for attack in written["attacks"]] == ["items"]
    assert not in_writing(rf.audit(pa.table({"basket": [["b"], ["a"]]}), spec))["ok"]


def test_every_rule_has_its_mending_and_is_in_the_schema() -> None:
    assert {*MENDS} == {*SCHEMA["properties"]["findings"]["items"]["properties"]["rule"]["enum"]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate({"ok": True})
