"""Ring plans: what they keep and what they do not, the draw through the whole program, and what is refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.kernels.secret import new_stream, secret_key
from ringfence.plans.ring import RingPlan, runs_of
from tests.tables import Case, cases, with_parts

AGES = {"age": {"role": "quasi", "order": "numeric"}}


def ring_of_five() -> tuple[pa.Table, rf.Spec]:
    """Five people of different ages, who all are in one ring, each slot covering three."""
    spec = rf.Spec(
        attributes={**AGES, "name": {"role": "insensitive"}},
        privacy={"k": 3},
        method={"name": "ring", "order": "lexicographic", "representation": "set"},
    )
    return pa.table({"age": [20, 21, 30, 31, 40], "name": list("abcde")}), spec


def plan_of(table: pa.Table, spec: rf.Spec) -> RingPlan:
    """The plan of a release."""
    plan = rf.anonymize(table, spec).plan
    assert isinstance(plan, RingPlan)
    return plan


def test_every_match_of_a_plan_is_true_as_often_as_promised() -> None:
    plan = plan_of(*ring_of_five())
    assert plan.rings.to_pylist() == [5]
    assert plan.width == 3
    stream, counts, times = new_stream(secret_key("test", 1)), Counter[tuple[int, int]](), 6000
    for _ in range(times):
        entries = plan.drawn(stream).entries.to_pylist()
        counts.update((entry["combination"], entry["group"]) for entry in entries)
    assert len(counts) == 15
    for row in range(5):
        often = [count for (combination, _), count in counts.items() if combination == row]
        assert len(often) == 3
        assert sum((count - times / 3) ** 2 / (times / 3) for count in often) < 28  # 1 in 1,000,000


def test_published_rows_hold_the_value_of_who_carries_them() -> None:
    table, spec = ring_of_five()
    ages = dict(zip(table["name"].to_pylist(), table["age"].to_pylist(), strict=True))
    seen = set()
    for _ in range(12):
        for row in rf.anonymize(table, spec).table.to_pylist():
            covered = [int(age) for age in row["age"].strip("{}[]").split(", ")]
            low, high = (min(covered), max(covered))
            assert low <= ages[row["name"]] <= high
            seen.add((row["name"], row["age"]))
    assert len(seen) > 5, "the draw is always the same"


@given(case=cases(sensitive=1), k=st.integers(1, 4), asked=st.sampled_from(["k", "l"]))
def test_a_draw_gives_every_slot_one_row_and_every_row_one_slot(case: Case, k: int, asked: str) -> None:
    spec = with_parts(case.spec, privacy={asked: k}, method={"name": "ring"})
    try:
        plan = plan_of(case.table, spec)
    except (Unsatisfiable, SpecError):
        return
    drawn = plan.drawn(new_stream(secret_key("test")))
    rows, kinds = Counter[int](), Counter[int]()
    entries = [tuple(entry.values()) for entry in drawn.entries.to_pylist()]
    for combination, kind, count in entries:
        rows[combination] += count
        kinds[kind] += count
    placed, slots = Counter[int](), Counter[int]()
    for run in plan.order.to_pylist():
        placed[run["what"]] += run["count"]
    for run in plan.slots.to_pylist():
        slots[run["what"]] += run["count"]
    assert rows == placed
    assert kinds == slots
    assert RingPlan.loads(plan.dumps()) == plan
    combinations = plan.combinations.to_pylist()
    for combination, kind, _ in entries:  # what is published covers the row
        for name, column in plan.columns.items():
            assert combinations[combination][name] in column.covers[column.groups[kind].as_py()].as_py()


def test_a_plan_says_nothing_of_the_draw() -> None:
    table, spec = ring_of_five()
    one, other = plan_of(table, spec), plan_of(table, spec)
    assert one.dumps() == other.dumps()
    streams = [new_stream(secret_key("test", seed)) for seed in range(20)]
    assert len({str(one.drawn(stream).entries.to_pydict()) for stream in streams}) > 3


def test_a_seed_repeats_a_release_and_stays_private(tmp_path: Path) -> None:
    table, spec = ring_of_five()
    table.append_column("row", pa.array(range(5)))
    seeded = with_parts(spec, method={**spec.method.model_dump(exclude_unset=True), "seed": 40961})
    releases = [rf.anonymize(table, seeded) for _ in range(5)]
    shown = [sorted((row["name"], row["age"]) for row in release.table.to_pylist()) for release in releases]
    assert all(rows == shown[0] for rows in shown)
    releases[0].save(tmp_path, report=False)
    for path in (tmp_path / "public").iterdir():
        assert b"40961" not in path.read_bytes()
        assert b"seed" not in path.read_bytes()
    assert "40961" not in (tmp_path / "private/log.txt").read_text()


def test_a_release_is_saved_with_its_audit(tmp_path: Path) -> None:
    table, spec = ring_of_five()
    release = rf.anonymize(table, spec)
    path = release.save(tmp_path, "parquet")
    assert rf.audit(path, spec, table).ok
    with pytest.raises(DataError, match="could not be judged"):
        rf.audit(path, spec)
    manifest = json.loads((tmp_path / "public/manifest.json").read_text())
    assert manifest["verdict"]["measured"]["k"] == 3
    assert RingPlan.load(tmp_path / "private/plan.json") == release.plan
    assert "ring" in (tmp_path / "private/report.html").read_text()


def test_a_file_is_run_with_its_audit(tmp_path: Path) -> None:
    lines = [f"{age},{name}" for age, name in zip([20, 21, 30, 31, 40], "abcde", strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,name", *lines]))
    _, spec = ring_of_five()
    spec = with_parts(spec, data={"source": str(tmp_path / "people.csv")})
    release = rf.api.run(spec, tmp_path / "out", report=False)
    assert release.audit.ok
    assert rf.audit(release.table, spec, tmp_path / "people.csv").ok


def test_plans_show_themselves() -> None:
    plan = plan_of(*ring_of_five())
    assert str(plan).startswith("Ring plan: 1 ring of 5 rows, each slot covers 3; 0 rows dropped")
    assert "<table" in plan._repr_html_()


@pytest.mark.parametrize(
    "damage",
    [
        {"width": 0},
        {"width": 6},
        {"rings": (4,)},
        {"rings": ()},
        {"order": {"what": [0, 9], "count": [5, 1]}},
        {"order": {"what": [0, 1], "count": [5]}},
        {"order": {"what": [0], "count": ["5"]}},
        {"order": [[0, 5]]},
        {"slots": {"what": [0], "count": [4]}},
        {"masked": True},
        {"combinations": {"age": [0, 1, 2, 3, 7]}},
        {"combinations": {"town": [0, 1, 2, 3, 4]}},
    ],
    ids=str,
)
def test_damaged_plans_are_refused(damage: dict[str, Any]) -> None:
    plan = plan_of(*ring_of_five())
    parts = json.loads(plan.dumps()) | json.loads(json.dumps(damage))
    with pytest.raises(DataError, match="damaged"):
        RingPlan.loads(json.dumps(parts))


def test_runs_are_read_back() -> None:
    numbers = np.array([3, 3, 3, 0, 3, 1, 1])
    runs = runs_of(numbers).to_pylist()
    assert [run["what"] for run in runs for _ in range(run["count"])] == numbers.tolist()
    assert runs_of(np.empty(0, np.int64)).num_rows == 0


ILL = {**AGES, "ill": {"role": "sensitive"}, "pay": {"role": "sensitive"}}


@pytest.mark.parametrize(
    ("privacy", "method", "words"),
    [
        ({"k": 2, "p": 2}, {}, r"privacy\.p: the method 'ring' promises k, and distinct l"),
        ({"t": {"value": 0.5, "of": "ill"}}, {}, r"privacy\.t"),
        ({"l": [{"value": 2, "of": "ill"}, {"value": 2, "of": "pay"}]}, {}, r"privacy\.l"),
        ({"l": {"value": 2, "of": "ill", "kind": "entropy"}}, {}, "entropy"),
        ({"k": 2}, {"keep_suppressed": True}, "keep_suppressed"),
        ({"l": {"value": 2, "of": "ill"}}, {"max_ring": 9}, "rules of their own"),
        ({"l": {"value": 2, "of": "ill"}}, {"homogeneous": True}, "rules of their own"),
        ({"k": 2}, {"paper_diversity": True}, r"about privacy\.l"),
        ({"l": {"value": 2, "of": "ill"}}, {"paper_diversity": True}, "not sound"),
        ({"k": 2}, {"max_ring": 2}, "allowed: 3 or more"),
        ({"l": {"value": 2, "of": "ill"}}, {"uncut": True}, "rules of their own"),
        ({"k": 2}, {"uncut": True, "max_ring": 9}, "however long"),
        ({"k": 2}, {"uncut": True, "homogeneous": True}, "however long"),
        ({"k": 2}, {"draw": "paper", "homogeneous": True}, "nothing is drawn"),
    ],
    ids=str,
)
def test_what_rings_cannot_promise_is_refused(privacy: Any, method: Any, words: str) -> None:
    table = pa.table({"age": [1, 2, 3, 4], "ill": list("abcd"), "pay": list("abcd")})
    with pytest.raises(SpecError, match=words):
        rf.anonymize(table, rf.Spec(attributes=ILL, privacy=privacy, method={"name": "ring", **method}))


def test_the_rings_and_the_draw_of_the_paper_can_be_asked_for() -> None:
    """Section 5 as printed: groups by values, each one ring, matchings by backtracking. No switch changes nothing."""
    table = pa.table({"sex": list("fffffffmmmm"), "age": [50] * 7 + [20, 21, 22, 23], "pay": list(range(11))})
    printed = {"partition": "lexicographic", "order": "lexicographic", "uncut": True, "draw": "paper"}

    def released(**method: Any) -> tuple[list[int], list[str], Any]:
        attributes = {"sex": {"role": "quasi"}, **AGES, "pay": {"role": "insensitive"}}
        chosen = {"name": "ring", "seed": 1, "representation": "set", **method}
        release = rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 3}, method=chosen))
        assert release.audit.ok
        plan = release.plan
        assert isinstance(plan, RingPlan)
        assert RingPlan.loads(plan.dumps()) == plan
        return plan.rings.to_pylist(), sorted(map(str, release.table.to_pylist())), plan.draw

    sizes, rows, draw = released(**printed)
    assert (sizes, draw) == ([7, 4], "paper")
    cut, _, _ = released(**{**printed, "uncut": False})
    assert max(cut) < 7
    same, others, draw = released(**{**printed, "draw": "walks"})
    assert (same, draw) == (sizes, "walks")
    assert rows != others


def test_the_ring_of_the_paper_runs_if_forced() -> None:
    """Values of a part with no more rows than there are values may repeat in its ring: these are ordered by them."""
    table = pa.table({"age": list(range(12)), "ill": list("aabbccddeeff"), "pay": list("abcdefghijkl")})
    method = {"name": "ring", "paper_diversity": True, "representation": "set"}
    privacy = {"l": {"value": 3, "of": "ill"}}
    releases = [
        rf.anonymize(table, rf.Spec(attributes=ILL, privacy=privacy, method={**method, "seed": seed}), force=True)
        for seed in range(10)
    ]
    assert all(release.metrics["rows"] == 12 for release in releases)
    found = {finding.rule for release in releases for finding in release.audit.findings}
    assert found == {"l"}  # of most of them, the audit sees that no draw could have kept the promise


@pytest.mark.parametrize("privacy", [{"k": 2}, {"l": 2}], ids=str)
def test_rows_that_miss_a_value_can_be_left_out(privacy: dict[str, int]) -> None:
    table = pa.table({"age": [1, 2, 3, 4, 5, None], "ill": ["a", "b", None, "c", "d", "e"]})
    spec = rf.Spec(
        data={"missing": "suppress"},
        attributes={**AGES, "ill": {"role": "sensitive"}},
        privacy=privacy,
        method={"name": "ring", "suppression": 0},
    )
    release = rf.anonymize(table, spec)
    assert release.metrics["suppressed"] == 0
    assert release.table.num_rows == (5 if "k" in privacy else 4)


def test_a_report_of_rings_speaks_of_rings() -> None:
    table, spec = ring_of_five()
    page = str(rf.anonymize(table, spec).report().html)
    assert "1 ring" in page
    assert "probability of 1/3" in page
    assert "Class sizes" not in page
