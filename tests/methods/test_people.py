"""People with several rows: k counts people, in every search, in fronts, and in the audit beside the original."""

import datetime as dt
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence import api
from ringfence.audit.counts import read_released
from ringfence.audit.trace import fewest as fewest_people
from ringfence.audit.trace.against import read_linked
from ringfence.audit.trace.people import possible_crowd
from ringfence.audit.verdict import Verdict
from ringfence.audit.verify import verify
from ringfence.declared import methods_that
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.methods import decide
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.sources import ROWS
from ringfence.search.progress import Watch
from ringfence.search.recode.contexts import Terms
from ringfence.spec import Spec
from tests.definitions import best_node, distinct
from tests.methods.test_contract import FREER, attempt, sorted_rows
from tests.search.front.test_frontier import METRICS, front_of
from tests.search.recode.test_branch_and_bound import Judge, ask, check_optimum
from tests.search.recode.test_lattice import METRICS as ALL_METRICS
from tests.search.recode.test_lattice import SUPPRESSION
from tests.search.recode.test_partitions import schemes_for
from tests.tables import Case, cases, limit_of, scheme_cases, with_parts

METHODS = methods_that(counts_people=True)
FLAT = {"role": "quasi", "hierarchy": "flat"}


def with_people(case: Case, seed: int, *, tagged: bool = False) -> Case:
    """A case whose rows are of a few people; if tagged, each with a value of its own that is published."""
    rng, rows = random.Random(seed), case.table.num_rows
    people = [f"p{rng.randint(1, max(1, rows * 2 // 3))}" for _ in range(rows)]
    table, parts = case.table.append_column("patient", pa.array(people)), {}
    if tagged:
        table = table.append_column("tag", pa.array([f"t{row}" for row in range(rows)]))
        attributes = case.spec.model_dump(by_alias=True, exclude_unset=True)["attributes"]
        parts["attributes"] = {**attributes, "tag": {"role": "insensitive"}}
    return Case(table, with_parts(case.spec, data={"entity": "patient"}, **parts))


def people_by_class(release: pa.Table, original: pa.Table, quasi: Sequence[str]) -> dict[tuple[Any, ...], set[str]]:
    """Whose rows each class of a tagged release has."""
    owner = {row["tag"]: row["patient"] for row in original.to_pylist()}
    classes = defaultdict(set)
    for row in release.to_pylist():
        classes[tuple(row[name] for name in quasi)].add(owner[row["tag"]])
    return classes


def method_parts(name: str, case: Case, seed: int) -> dict[str, Any]:
    """A method table for any case."""
    if name in FREER:
        return {"scheme": name, "suppression": [0, 0.4, 1][seed % 3]}
    if name == "levels":
        return {"name": name, "levels": dict.fromkeys(case.spec.of_role("quasi"), 1), "suppression": 1}
    return {"name": name, "suppression": [0, 0.4, 1][seed % 3]}


# Searches


@given(case=cases(sensitive=2), seed=st.integers(0, 999), k=st.integers(1, 4), suppression=SUPPRESSION)
@pytest.mark.parametrize("metric", ALL_METRICS)
@settings(max_examples=settings().max_examples // 2)
def test_the_best_levels_are_those_of_brute_force(
    case: Case, metric: str, seed: int, k: int, suppression: float
) -> None:
    case = with_people(case, seed)
    method = {"metric": metric, "suppression": suppression, "target": "s1"}
    spec = with_parts(case.spec, privacy={"k": k}, method=method)
    census = Case(case.table, spec).census
    assert census.people is not None
    assert len(census.sensitive[census.people].hierarchy.labels) == len({*case.table["patient"].to_pylist()}) + 1
    target = [part.name for part in census.sensitive].index("s1")
    rules, limit = [distinct(census.people, k)], limit_of(suppression, census.rows)
    best = best_node(census, rules, metric, limit, k=k, target=target)
    if best is None:
        with pytest.raises(Unsatisfiable):
            decide(census, spec, Watch())
        return
    decision = decide(census, spec, Watch())
    assert decision.search is not None
    assert decision.search.optimal
    assert decision.search.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-12)
    assert (decision.plan.suppressed_rows, tuple(decision.plan.levels.values())) == (best.suppressed, best.levels)


@given(
    case=scheme_cases(sensitive=2, max_rows=10, most=(5, 4)),
    seed=st.integers(0, 999),
    k=st.integers(2, 3),
    suppression=SUPPRESSION,
    metric=st.sampled_from(ALL_METRICS),
)
def test_the_best_of_any_scheme_is_that_of_brute_force(
    case: Case, seed: int, k: int, suppression: float, metric: str
) -> None:
    case, rng = with_people(case, seed), random.Random(seed)
    orders = [case.spec.attributes[name].order for name in case.census.names]
    schemes = [rng.choice(schemes_for(*part)) for part in zip(case.census.quasi, orders, strict=True)]
    question = ask(case, schemes, {"k": k}, metric, suppression)
    census, judge = question.census, question.judge
    assert census.people is not None
    question = replace(
        question, judge=Judge(census, [distinct(census.people, k)], metric, judge.limit, k, judge.target)
    )
    best = question.best()
    for search in ("auto", "bottom-up", "top-down"):
        check_optimum(question, best, search)
    with pytest.MonkeyPatch.context() as patch:  # as if there were too many people for sets of bits
        patch.setattr(Terms, "applies", lambda *_: False)
        check_optimum(question, best, "auto")


@given(case=cases(sensitive=1), seed=st.integers(0, 999), metric=METRICS, suppression=SUPPRESSION)
def test_the_front_is_that_of_brute_force(case: Case, seed: int, metric: str, suppression: float) -> None:
    case = with_people(case, seed)
    method = {"metric": metric, "suppression": suppression, "target": "s0"}
    spec = with_parts(case.spec, method=method, frontier={"points": "release"})
    census = Case(case.table, spec).census
    assert census.people is not None
    front, limit = front_of(census, spec), limit_of(suppression, census.rows)
    expected = {}
    for k in range(2, census.rows + 1):
        rules = [distinct(census.people, k)]
        if (best := best_node(census, rules, metric, limit, k=k, target=0)) is not None:
            expected[k] = best
    assert (front is None) == (not expected)
    for k, best in expected.items():
        assert front is not None
        found = front.best(k)
        assert found.loss == pytest.approx(best.cost, rel=1e-9, abs=1e-12)
        assert (found.suppressed, found.levels) == (best.suppressed, best.levels)
    if front is not None:
        assert front.answers[-1].k == max(expected)


@given(case=cases(), seed=st.integers(0, 999))
def test_without_repeated_people_nothing_changes(case: Case, seed: int) -> None:
    alone = case.table.append_column("patient", pa.array([f"p{row}" for row in range(case.table.num_rows)]))
    suppression = [0, 0.4, 1][seed % 3]
    parts: dict[str, Any] = {"privacy": {"k": 1 + seed % 4}, "method": {"suppression": suppression}}
    one = attempt(case, with_parts(case.spec, **parts))
    other = attempt(Case(alone, case.spec), with_parts(case.spec, data={"entity": "patient"}, **parts))
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert sorted_rows(one.table) == sorted_rows(other.table)
        assert one.metrics == other.metrics


# Every method, from the rows


@pytest.mark.parametrize("name", [*METHODS, *FREER])
@settings(max_examples=settings().max_examples // 3)
@given(case=cases(sensitive=1), seed=st.integers(0, 999), k=st.integers(1, 4))
def test_every_class_has_k_people_and_the_audit_knows(name: str, case: Case, seed: int, k: int) -> None:
    case = with_people(case, seed, tagged=True)
    spec = with_parts(case.spec, privacy={"k": k}, method=method_parts(name, case, seed))
    release = attempt(case, spec)
    if release is None:
        return
    assert "patient" not in release.table.column_names
    assert release.table.num_rows == case.table.num_rows - release.metrics["suppressed"]
    people = people_by_class(release.table, case.table, spec.of_role("quasi"))
    fewest = min(map(len, people.values()))
    assert fewest >= k
    assert release.audit.ok
    assert release.audit.measured["k"] == fewest
    assert release.audit.risk is not None
    assert release.audit.risk.counts == "people"
    assert release.audit.risk.prosecutor.highest == pytest.approx(1 / fewest)
    # Every row can be told by its tag, so that the original alone says whose it is.
    known = rf.audit(release.table, spec, case.table)
    assert known.ok
    assert (known.measured, known.risk) == (release.audit.measured, release.audit.risk)
    unknown = rf.audit(release.table, spec)
    assert (unknown.ok, unknown.findings, "k" in unknown.measured, unknown.risk) == (False, (), False, None)
    assert "give the original" in unknown.unjudged[0]


@pytest.mark.parametrize("name", METHODS)
@given(case=cases(), seed=st.integers(0, 999))
@settings(max_examples=settings().max_examples // 4)
def test_more_people_than_there_are_is_unsatisfiable(name: str, case: Case, seed: int) -> None:
    case = with_people(case, seed)
    k = len({*case.table["patient"].to_pylist()}) + 1
    with pytest.raises(Unsatisfiable):
        rf.anonymize(case.table, with_parts(case.spec, privacy={"k": k}, method=method_parts(name, case, 0)))


@pytest.mark.parametrize("name", METHODS)
@given(case=cases(sensitive=1), seed=st.randoms(use_true_random=False))
@settings(max_examples=settings().max_examples // 4)
def test_the_order_of_rows_does_not_matter(name: str, case: Case, seed: Any) -> None:
    case = with_people(case, 1)
    spec = with_parts(case.spec, privacy={"k": 2}, method=method_parts(name, case, 1))
    rows = list(range(case.table.num_rows))
    seed.shuffle(rows)
    one, other = attempt(case, spec), attempt(Case(case.table.take(rows), case.spec), spec)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.plan == other.plan


def test_a_plan_of_groups_does_not_name_anybody() -> None:
    table = pa.table({"town": ["a", "b", "c", "d"], "patient": ["Ann", "Ann", "Bob", "Bob"]})
    spec = Spec(data={"entity": "patient"}, attributes={"town": FLAT}, privacy={"k": 2}, method={"name": "mondrian"})
    release = rf.anonymize(table, spec)
    assert not any(name in release.plan.dumps() for name in ("Ann", "Bob"))


def test_rows_of_one_person_protect_nobody() -> None:
    table = pa.table({"town": ["a"] * 5 + ["b"] * 2, "patient": ["Ann"] * 5 + ["Bob", "Cyd"]})
    spec = Spec(data={"entity": "patient"}, attributes={"town": FLAT}, privacy={"k": 2})
    release = rf.anonymize(table, spec)
    assert release.table.to_pydict() == {"town": ["b", "b"]}
    assert release.metrics["suppressed"] == 5
    with pytest.raises(Unsatisfiable, match=r"k = 4 people.*largest k that is possible is 3"):
        rf.anonymize(table, with_parts(spec, privacy={"k": 4}))


# The audit


@st.composite
def groupings(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """Draw a table of people, and rows of it published in groups, as sets of values; some perhaps not published."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows = [
        (rng.choice("abc"), rng.choice("xyz"), rng.choice("uv"), rng.choice("PQR")) for _ in range(rng.randint(2, 6))
    ]
    order = rng.sample(range(len(rows)), rng.randint(2, len(rows)))
    size, published = rng.randint(1, 3), []
    for start in range(0, len(order), size):
        members = [rows[row] for row in order[start : start + size]]
        labels = [sorted({member[a] for member in members}) for a in (0, 1)]
        shown = [part[0] if len(part) == 1 else "{" + ", ".join(part) + "}" for part in labels]
        published += [(*shown, member[2]) for member in members]
    names = ["q", "r", "ward"]
    original = pa.table({name: [row[i] for row in rows] for i, name in enumerate([*names, "patient"])})
    return original, pa.table({name: [row[i] for row in published] for i, name in enumerate(names)})


SETS = Spec(
    data={"entity": "patient"},
    attributes={"q": {"role": "quasi"}, "r": {"role": "quasi"}, "ward": {"role": "insensitive"}},
    privacy={"k": 2},
    method={"name": "local", "suppression": 1},
)


def holds(label: str, value: str) -> bool:
    """Whether a set or a value holds a value."""
    return value in label.strip("{}").split(", ")


def traced_by_hand(original: pa.Table, release: pa.Table) -> dict[tuple[str, str], set[int]]:
    """How many people each class may have, over all ways to trace every row back."""
    shown, rows = release.to_pylist(), original.to_pylist()
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for chosen in permutations(rows, len(shown)):
        fits = (
            holds(one["q"], row["q"]) and holds(one["r"], row["r"]) and one["ward"] == row["ward"]
            for one, row in zip(shown, chosen, strict=True)
        )
        if all(fits):
            people = defaultdict(set)
            for one, row in zip(shown, chosen, strict=True):
                people[one["q"], one["r"]].add(row["patient"])
            for name, whose in people.items():
                found[name].add(len(whose))
    return found


@given(tables=groupings())
@settings(max_examples=settings().max_examples * 2)
def test_people_are_bounded_by_all_ways_to_trace_rows_back(tables: tuple[pa.Table, pa.Table]) -> None:
    original, release = tables
    possible = traced_by_hand(original, release)
    with DuckDB(SETS.data) as engine:
        ours, theirs = engine.hold(release), engine.hold(original)
        released = read_released(engine.count(ours, ["q", "r"]), ROWS, ["q", "r"], [], SETS)
        linked = read_linked(engine, ours, theirs, SETS)
        crowd = possible_crowd(engine, ours, theirs, linked, released, SETS)
        three = possible_crowd(engine, ours, theirs, linked, released, with_parts(SETS, privacy={"k": 3}))
    assert crowd is not None
    assert three is not None
    for number in range(len(released.sizes)):
        labels = released.labels_of(number)
        few, many = crowd.least[number], crowd.most[number]
        here = possible[str(labels["q"]), str(labels["r"])]
        assert few <= min(here) <= max(here) <= many
        assert (few >= 2) == (min(here) >= 2), "whether k people are behind it is always found out"
        assert (three.least[number] >= 3) == (min(here) >= 3)
        assert (number in three.either) == (min(here) < 3 <= three.most[number]), "and where not, a way with fewer"
        if crowd.pairs is not None:
            assert {few, many} == here
    verdict = rf.audit(release, SETS, original)
    fewest = min(min(each) for each in possible.values())
    if verdict.ok:
        assert fewest >= 2
    if any(finding.rule == "k" for finding in verdict.findings):
        assert min(max(each) for each in possible.values()) < 2
    assert verdict.measured["k"] <= fewest


def plain(k: int = 2, **method: Any) -> Spec:
    """Two towns, told apart."""
    return Spec(data={"entity": "patient"}, attributes={"town": FLAT}, privacy={"k": k}, method=method)


def test_a_class_of_one_person_is_found_beside_the_original() -> None:
    original = pa.table({"town": ["a", "a", "b", "b"], "patient": ["Ann", "Ann", "Ann", "Bob"]})
    release = original.select(["town"])
    verdict = rf.audit(release, plain(), original)
    assert [finding.rule for finding in verdict.findings] == ["k"]
    assert "2 rows in 1 class of fewer than k = 2 people, the fewest 1" in str(verdict)
    assert verdict.findings[0].example == {"town": "a"}
    assert "2 rows of 1 person: 'town': 'a'" in str(verdict)
    assert (verdict.measured["k"], verdict.measured["k_rows"], verdict.measured["largest_share"]) == (1, 2, 1.0)
    assert "The promise does not hold." in str(verdict)
    assert rf.audit(release.slice(2), plain(suppression=0.5), original).ok


def test_rows_are_judged_from_the_release_alone() -> None:
    verdict = rf.audit(pa.table({"town": ["a", "b", "b"]}), plain())
    assert [finding.rule for finding in verdict.findings] == ["k"]
    assert verdict.unjudged
    assert "The promise does not hold." in str(verdict)
    assert "k" not in verdict.measured
    assert "could not be judged" in str(rf.audit(pa.table({"town": ["b", "b"]}), plain()))


def test_where_rows_could_be_elsewhere_the_audit_does_not_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    original = pa.table({"town": ["a", "a", "b", "b"], "patient": ["Ann", "Bob", "Ann", "Bob"]})
    release = pa.table({"town": ["{a, b}", "{a, b}", "*", "*"]})
    spec = with_parts(plain(name="local"), attributes={"town": {"role": "quasi"}})
    verdict = rf.audit(release, spec, original)
    assert (verdict.ok, verdict.findings) == (False, ())
    assert (verdict.measured["k"], verdict.measured["k_most"]) == (1, 2)
    assert "2 classes may have fewer than k = 2 people, from 1 to 2: other rows could stand" in verdict.unjudged[0]
    assert "not a cell of the release would differ" in verdict.unjudged[0]
    monkeypatch.setattr(fewest_people, "MOST_CHOICES", 1)
    assert "too many ways to try them all" in rf.audit(release, spec, original).unjudged[0]


def test_a_trace_that_lies_is_not_believed() -> None:
    original = pa.table({"town": ["a", "a", "b", "b"], "patient": ["Ann", "Ann", "Ann", "Bob"]})
    release = original.select(["town"])
    with DuckDB(plain().data) as engine:

        def judged(people: list[str], towns: list[str]) -> Verdict:
            traced = engine.hold(pa.table({"town": towns, "patient": people}))
            return verify(engine, engine.hold(release), plain(), engine.hold(original), traced=traced)

        assert [f.rule for f in judged(["Ann", "Ann", "Ann", "Bob"], ["a", "a", "b", "b"]).findings] == ["k"]
        assert [f.rule for f in judged(["Ann", "Bob", "Ann", "Bob"], ["a", "a", "b", "b"]).findings] == ["original"]
        other = judged(["Ann", "Ann", "Ann", "Bob"], ["a", "b", "b", "a"])
        assert "original" in {f.rule for f in other.findings}
        moved = judged(["Ann", "Bob"], ["b", "b"])
        assert "not those of the release" in str(moved)


def test_an_original_that_cannot_tell_people_apart_is_refused() -> None:
    release = pa.table({"town": ["a", "a"]})
    with pytest.raises(DataError, match="no column 'patient'"):
        rf.audit(release, plain(), release)
    with pytest.raises(DataError, match=r"1 row of it is: data\.entity = 'patient' has no value, first in row 2"):
        rf.audit(release, plain(), pa.table({"town": ["a", "a"], "patient": ["Ann", None]}))


def test_whose_a_row_is_must_not_be_published() -> None:
    original = pa.table({"town": ["a", "a"], "patient": ["Ann", "Bob"]})
    assert [finding.rule for finding in rf.audit(original, plain(), original).findings] == ["identifier"]
    published = with_parts(plain(), data={"entity": "patient", "unlisted": "publish"})
    assert rf.anonymize(original, published).table.column_names == ["town"]
    assert [finding.rule for finding in rf.audit(original, published, original).findings] == ["identifier"]


# Rows that are nobody's, and what does not go together


def test_a_row_that_is_nobodys_is_refused_by_its_number(tmp_path: Path) -> None:
    table = pa.table({"town": ["a", "a", "a", "a"], "patient": ["Ann", "Bob", None, None]})
    with pytest.raises(DataError, match=r"'patient' has no value in 2 rows, first in row 3"):
        rf.anonymize(table, plain())
    with pytest.raises(DataError, match="first in row 3"):
        rf.frontier(table, plain())
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    with pytest.raises(DataError, match="first in row 3"):
        rf.anonymize(tmp_path / "people.csv", plain())
    release = rf.anonymize(table, with_parts(plain(), data={"entity": "patient", "missing": "suppress"}))
    assert (release.table.num_rows, release.incomplete, release.audit.measured["k"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"method": {"name": "ring"}}, "counts rows, not people; allowed: optimal, levels, cluster"),
        ({"method": {"name": "anatomy"}, "privacy": {"l": 2}}, "give privacy.k|promises distinct l"),
        ({"privacy": {"k": 2, "l": {"value": 2, "kind": "entropy"}}}, "privacy.l with kind = 'entropy' beside"),
        ({"privacy": {"k": 2, "alpha": 0.5}}, "not there yet|privacy.alpha beside"),
        ({"privacy": {"t": 0.5}}, "give privacy.k"),
        ({"method": {"target": "patient"}}, "never published"),
        ({"data": {"entity": "town"}}, "role can only be identifier"),
        ({"data": {"entity": "nobody"}}, "no column 'nobody'"),
    ],
)
def test_what_cannot_be_promised_of_people_is_refused(parts: dict[str, Any], said: str) -> None:
    table = pa.table({"town": ["a", "a"], "ill": ["x", "y"], "patient": ["Ann", "Bob"]})
    roles = {"town": FLAT, "ill": {"role": "sensitive"}, "patient": {"role": "identifier"}}
    spec = Spec(**{"data": {"entity": "patient"}, "attributes": roles, "privacy": {"k": 2}, **parts})
    with pytest.raises((SpecError, DataError), match=said):
        rf.anonymize(table, spec)


def test_baskets_and_people_point_to_the_basket_id() -> None:
    roles = {"town": FLAT, "bought": {"role": "items", "separator": " ", "hierarchy": {"fanout": 2}}}
    spec = Spec(data={"entity": "patient"}, attributes=roles, privacy={"k": 2, "m": 1})
    table = pa.table({"town": ["a", "a"], "bought": ["x", "x"], "patient": ["Ann", "Bob"]})
    with pytest.raises(SpecError, match=r"data\.basket_id = 'patient'"):
        rf.anonymize(table, spec)


@pytest.mark.parametrize("asked", [{"corrupted": 1}, {"attacks": "linkage"}, {"population": pa.table({"town": ["a"]})}])
def test_what_is_judged_row_by_row_is_refused(asked: dict[str, Any]) -> None:
    table = pa.table({"town": ["a", "a"], "patient": ["Ann", "Bob"]})
    with pytest.raises(SpecError, match="row by row"):
        rf.audit(table.select(["town"]), plain(), table, **asked)


def test_of_all_attacks_those_are_carried_out_that_read_labels_alone() -> None:
    table = pa.table({"town": ["a", "a"], "patient": ["Ann", "Bob"]})
    release = rf.anonymize(table, plain(), attacks="all")
    for verdict in (release.audit, rf.audit(release.table, plain(), table, attacks="all")):
        assert verdict.ok
        assert verdict.attacks == ()
        assert verdict.refinement is not None


def test_attacks_that_cannot_be_carried_out_are_refused_before_any_search(tmp_path: Path) -> None:
    told: list[object] = []
    table = pa.table({"town": ["a", "a"], "patient": ["Ann", "Bob"]})
    with pytest.raises(SpecError, match="row by row"):
        rf.anonymize(table, plain(), attacks="linkage", listener=told.append)
    pyarrow.csv.write_csv(table.select(["town"]), tmp_path / "towns.csv")
    spec = Spec(data={"source": "towns.csv"}, attributes={"town": FLAT}, privacy={"k": 2}).at(tmp_path)
    with pytest.raises(DataError, match="an attribute of role items"):
        rf.run(spec, tmp_path / "out", attacks="items", listener=told.append)
    assert told == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["optimal", "levels"])
@settings(max_examples=settings().max_examples // 2)
@given(case=cases(), seed=st.integers(0, 999), k=st.integers(1, 3))
def test_suppressed_rows_may_stay_masked(name: str, case: Case, seed: int, k: int) -> None:
    case = with_people(case, seed, tagged=True)
    method = {**method_parts(name, case, seed), "keep_suppressed": True}
    release = attempt(case, with_parts(case.spec, privacy={"k": k}, method=method))
    if release is not None:
        people = people_by_class(release.table, case.table, case.spec.of_role("quasi"))
        assert min(map(len, people.values())) >= k
        assert release.audit.measured["k"] == min(map(len, people.values()))
        assert rf.audit(release.table, release.spec, case.table).ok


ODD = 'the "person\'s" id'
VISITS = {ODD: [7, 7, 8, 8, 9, 9, 10, 10], "age": [31, 32, 31, 32, 31, 33, 38, 39], "ward": [*"abcdefgh"]}


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        pd.DataFrame,
        pl.DataFrame,
        lambda columns: pl.DataFrame({**columns, ODD: [*map(str, columns[ODD])]}),
        lambda columns: duckdb.from_arrow(pa.table(columns)),
        lambda columns: pd.DataFrame({**columns, ODD: pd.Categorical(columns[ODD])}),
        lambda columns: pa.table({**columns, ODD: [dt.date(2000, 1, day) for day in columns[ODD]]}),
        lambda columns: pa.table({**columns, ODD: [day > 8 for day in columns[ODD]]}),
        lambda columns: pa.table({**columns, ODD: [*map(float, columns[ODD])]}),
    ],
)
def test_people_may_be_told_apart_by_anything(make: Any, composite: bool, tmp_path: Path) -> None:
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}}, "ward": {"role": "insensitive"}}
    spec = Spec(data={"entity": ODD, "composite": composite}, attributes=roles, privacy={"k": 2})
    source = make(VISITS)
    release = rf.anonymize(source, spec)
    assert type(release.table) is type(source)
    assert [*(release.table.column_names if isinstance(source, pa.Table) else release.table.columns)] == [
        *([ODD] if composite else []), "age", "ward",
    ]  # fmt: skip
    assert release.audit.ok
    release.save(tmp_path, report=False)


# Values of different people


@pytest.mark.parametrize("name", [*METHODS, "cut"])
@settings(max_examples=settings().max_examples // 4)
@given(case=cases(sensitive=1), seed=st.integers(0, 999), k=st.integers(1, 3), key=st.sampled_from(["l", "p"]))
def test_l_values_are_those_of_l_people(name: str, case: Case, seed: int, k: int, key: str) -> None:
    case = with_people(case, seed, tagged=True)
    rows = case.rows()
    value = {row["patient"]: row["s0"] for row in rows}
    table = case.table.set_column(case.table.column_names.index("s0"), "s0", [[value[row["patient"]] for row in rows]])
    spec = with_parts(case.spec, privacy={"k": k, key: 2}, method=method_parts(name, case, seed))
    release = attempt(Case(table, case.spec), spec)
    if release is not None:
        people = people_by_class(release.table, table, spec.of_role("quasi"))
        for whose in people.values():
            assert len(whose) >= k
            assert len({value[person] for person in whose}) >= 2
        assert release.audit.ok
        assert rf.audit(release.table, spec, table).ok
    if table["s0"].to_pylist() != case.table["s0"].to_pylist():
        with pytest.raises(DataError, match="people have several values of 's0'"):
            rf.anonymize(case.table, spec)


def test_values_that_one_person_could_have_are_not_judged() -> None:
    original = pa.table({"town": ["a"] * 3, "ill": ["x", "y", "x"], "patient": ["Ann", "Ann", "Bob"]})
    spec = Spec(
        data={"entity": "patient"}, attributes={"town": FLAT, "ill": {"role": "sensitive"}}, privacy={"k": 2, "l": 2}
    )
    verdict = rf.audit(original.drop(["patient"]), spec, original)
    assert (verdict.ok, verdict.findings) == (False, ())
    assert "1 people have several values of 'ill'" in str(verdict)
    unseen = rf.audit(original.drop(["patient"]), spec, original.drop(["ill"]))
    assert "the original does not have it" in str(unseen)


# From file to file


@pytest.fixture
def visits(tmp_path: Path) -> Spec:
    """Two hundred visits of forty people, in a file."""
    rng = np.random.default_rng(8)
    who = rng.integers(0, 40, 200)
    table = pa.table(
        {
            "patient": [f"{number:03}" for number in who.tolist()],
            "age": (20 + who + rng.integers(0, 2, 200)).tolist(),
            "town": [f"t{number % 5}" for number in who.tolist()],
            "ill": [f"i{number}" for number in rng.integers(0, 4, 200).tolist()],
        }
    )
    pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    age = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}
    roles = {"age": age, "town": FLAT, "ill": {"role": "sensitive"}}
    data = {"source": "visits.csv", "entity": "patient"}
    return Spec(data=data, attributes=roles, privacy={"k": 4}, method={"suppression": 0.1}).at(tmp_path)


@pytest.mark.parametrize(
    "method",
    [
        {},
        {"scheme": "cut"},
        {"name": "local"},
        {"keep_suppressed": True, "name": "levels", "levels": {"age": 1, "town": 1}},
    ],
)
def test_a_run_writes_no_identifier_and_can_be_saved_again(
    visits: Spec, tmp_path: Path, method: dict[str, Any]
) -> None:
    spec = with_parts(visits, method={"suppression": 0.5, **method}).at(tmp_path)
    release = api.run(spec, tmp_path / "out")
    assert release.audit.ok
    assert release.audit.measured["k"] >= 4
    assert "patient" not in (tmp_path / "out/public/release.csv").read_text().splitlines()[0]
    page = (tmp_path / "out/private/report.html").read_text()
    assert "different people" in page
    assert '"entity": "patient"' in (tmp_path / "out/public/manifest.json").read_text()
    assert "Who has many rows" in page
    release.save(tmp_path / "again", report=not method)  # one page more is enough
    assert (tmp_path / "again/public/release.csv").exists()
    in_memory = rf.anonymize(tmp_path / "visits.csv", spec)
    assert in_memory.audit.measured == release.audit.measured
    in_memory.save(tmp_path / "third", report=not method)
    verdict = api.audit(tmp_path / "out/public/release.csv", spec, tmp_path / "visits.csv")
    assert verdict.ok or (verdict.unjudged and method.get("name") == "local")


def test_a_plan_is_reused_for_other_people(visits: Spec, tmp_path: Path) -> None:
    api.run(visits, tmp_path / "out", report=False)
    release = api.apply_to_file(tmp_path / "out/private/plan.json", tmp_path / "visits.csv", tmp_path / "new.csv")
    assert release.audit.ok
    assert release.audit.measured["k"] >= 4
    assert (tmp_path / "new.csv").read_text().splitlines()[0] == "age,town,ill"


def test_t_is_over_rows_beside_people(visits: Spec, tmp_path: Path) -> None:
    spec = with_parts(visits, privacy={"k": 4, "t": 0.4}, method={"suppression": 0}).at(tmp_path)
    release = rf.anonymize(tmp_path / "visits.csv", spec)
    assert release.audit.measured["t"] <= 0.4
    front = rf.frontier(tmp_path / "visits.csv", spec)
    assert front.front.objective == "t"  # type: ignore[union-attr]
    assert front.plan(4).levels == release.plan.levels


def test_risk_counts_people_once_in_a_group_of_columns() -> None:
    original = pa.table(
        {"town": ["a", "b", "a", "b"], "sex": ["m", "m", "f", "f"], "patient": ["Ann", "Ann", "Bob", "Cyd"]}
    )
    spec = Spec(data={"entity": "patient"}, attributes={"town": FLAT, "sex": FLAT}, privacy={"k": 1})
    risk = rf.audit(original.drop(["patient"]), spec, original).risk
    assert risk is not None
    singled = {part.columns: part.unique for part in risk.singling}
    assert singled == {("town",): 0, ("sex",): 1, ("town", "sex"): 4}
    assert Counter({band.low: band.rows for band in risk.distribution})[1] == 4


def test_with_many_people_any_scheme_gives_an_answer_in_time() -> None:
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(72), rng.integers(1, 9, 72))
    table = pa.table({"age": (20 + who % 24).tolist(), "patient": [f"p{number}" for number in who.tolist()]})
    age = {"role": "quasi", "order": "numeric"}
    method = {"scheme": "ordered", "metric": "glm", "suppression": 0, "time_limit": 20}
    spec = Spec(data={"entity": "patient"}, attributes={"age": age}, privacy={"k": 6}, method=method)
    release = rf.anonymize(table, spec)
    assert release.search is not None
    assert release.search.optimal
    assert release.audit.measured["k"] >= 6
    # Three people of each age: six need two ages.
    assert len({*release.table["age"].to_pylist()}) == 12
