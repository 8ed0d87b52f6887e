"""Composite records: all rows of a person together are those of k people, by search, by audit, and by hand."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringfence as rf
from ringfence import api
from ringfence.audit.verdict import Verdict
from ringfence.audit.verify import verify
from ringfence.census.census import Census
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.kernels.recode.alike_records import alike, mark_rare
from ringfence.methods import decide
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.engine import Engine
from ringfence.rows.sources import WHOSE
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.definitions import Class, loss_of
from tests.methods.test_people import FLAT, with_people
from tests.search.recode.test_lattice import METRICS, SUPPRESSION
from tests.tables import Case, all_nodes, cases, limit_of, row_classes, with_parts

Row = tuple[int, int, int | None]
"""The tuple of a row, whose it is, and its label."""


def rows_of(census: Census, target: int | None) -> list[Row]:
    """The rows of a census."""
    joint, people = census.joint, census.joint.values[census.people or 0]
    labels = joint.values[target] if target is not None else [None] * len(people)
    found = zip(joint.tuples.tolist(), people.tolist(), list(labels), joint.weights.tolist(), strict=True)
    return [(t, p, None if s is None else int(s)) for t, p, s, weight in found for _ in range(weight)]


def split_people(census: Census, levels: Sequence[int], k: int) -> tuple[set[int], dict[int, tuple[int, ...]]]:
    """The people who are published at a node, and the class of each tuple."""
    nodes = {t: nodes for t, (nodes, _) in enumerate(row_classes(census, tuple(levels)))}
    records: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for t, person, _ in rows_of(census, None):
        records[person].append(nodes[t])
    shared = Counter(tuple(sorted(record)) for record in records.values())
    return {person for person, record in records.items() if shared[tuple(sorted(record))] >= k}, nodes


@dataclass(frozen=True)
class Found:
    """A node by hand: its cost, its suppressed rows, its levels."""

    cost: float
    suppressed: int
    levels: tuple[int, ...]


def found_at(census: Census, levels: tuple[int, ...], metric: str, k: int, target: int) -> Found | None:
    """What a node costs, by the definitions; None if nothing is published."""
    kept_people, nodes = split_people(census, levels, k)
    parts: dict[bool, dict[tuple[int, ...], Counter[int]]] = {True: defaultdict(Counter), False: defaultdict(Counter)}
    for t, person, label in rows_of(census, target):
        parts[person in kept_people][nodes[t]][label or 0] += 1
    kept, lost = (
        [Class(name, labels.total(), (labels,) * len(census.sensitive)) for name, labels in parts[side].items()]
        for side in (True, False)
    )
    suppressed = sum(c.size for c in lost)
    if not kept:
        return None
    if metric == "hdm":  # it is over tuples, and here some rows of a tuple are lost and others are not
        return Found(hdm_by_rows(census, levels, kept_people), suppressed, levels)
    return Found(loss_of(metric, census, levels, kept, lost, k, target), suppressed, levels)


def hdm_by_rows(census: Census, levels: tuple[int, ...], kept: set[int]) -> float:
    """The hierarchical discernibility, row by row."""
    plain = {}
    for t, codes in enumerate(census.codes):
        row = 0.0
        for quasi, leaf, level in zip(census.quasi, codes.tolist(), levels, strict=True):
            node = quasi.hierarchy.levels[level, leaf]
            same = int(quasi.rows[leaf])
            block = int(quasi.rows[quasi.hierarchy.levels[level] == node].sum())
            row += quasi.weight * ((block - same) / (census.rows - same) if census.rows > same else 0.0)
        plain[t] = row / sum(quasi.weight for quasi in census.quasi)
    return sum(plain[t] if person in kept else 1.0 for t, person, _ in rows_of(census, None))


def best_by_hand(census: Census, metric: str, limit: int, k: int, target: int) -> Found | None:
    """The best of all nodes: least cost, then fewest suppressed, then the smallest levels."""
    best: Found | None = None
    for levels in all_nodes(census):
        found = found_at(census, levels, metric, k, target)
        if found is None or found.suppressed > limit:
            continue
        if best is None or (found.cost < best.cost and not isclose(found.cost, best.cost, rel_tol=1e-12)):
            best = found
        elif isclose(found.cost, best.cost, rel_tol=1e-12):
            best = min(best, found, key=lambda node: (node.suppressed, node.levels))
    return best


def together(case: Case, seed: int, **parts: Any) -> Case:
    """A case of people whose rows stay together."""
    case = with_people(case, seed)
    return Case(case.table, with_parts(case.spec, data={"entity": "patient", "composite": True}, **parts))


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=settings().max_examples // 2)
@given(case=cases(sensitive=2), seed=st.integers(0, 999), k=st.integers(1, 3), suppression=SUPPRESSION)
def test_the_best_levels_are_those_of_brute_force(
    metric: str, case: Case, seed: int, k: int, suppression: float
) -> None:
    method = {"metric": metric, "suppression": suppression, "target": "s1"}
    case = together(case, seed, privacy={"k": k}, method=method)
    census = case.census
    target = [part.name for part in census.sensitive].index("s1")
    best = best_by_hand(census, metric, limit_of(suppression, census.rows), k, target)
    if best is None:
        with pytest.raises(Unsatisfiable):
            decide(census, case.spec, Watch())
        return
    decision = decide(census, case.spec, Watch())
    assert decision.search is not None
    assert decision.search.optimal
    assert decision.search.cost == pytest.approx(best.cost, rel=1e-9, abs=1e-12)
    assert (decision.plan.suppressed_rows, tuple(decision.plan.levels.values())) == (best.suppressed, best.levels)
    for name in METRICS:
        expected = found_at(census, best.levels, name, k, target)
        assert expected is not None
        assert decision.metrics[name] == pytest.approx(expected.cost, rel=1e-9, abs=1e-12), name


@given(case=cases(sensitive=1), seed=st.integers(0, 999), k=st.integers(1, 3), suppression=SUPPRESSION)
def test_a_release_keeps_what_it_promises(case: Case, seed: int, k: int, suppression: float) -> None:
    case = together(case, seed, privacy={"k": k}, method={"suppression": suppression})
    try:
        release = rf.anonymize(case.table, case.spec)
    except Unsatisfiable:
        return
    quasi = case.spec.of_role("quasi")
    records: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for row in release.table.to_pylist():
        records[row["patient"]].append(tuple(str(row[name]) for name in quasi))
    shared = Counter(tuple(sorted(record)) for record in records.values())
    assert min(shared.values()) >= k
    assert {*records} == {*range(1, len(records) + 1)}
    # All rows of a person are published, or none: so many people have so many rows, and no more.
    before = Counter(Counter(case.table["patient"].to_pylist()).values())
    assert not Counter(len(record) for record in records.values()) - before
    assert release.audit.ok
    assert release.audit.measured["k"] == min(shared.values())
    assert release.audit.measured["people"] == len(records)
    alone = rf.audit(release.table, case.spec)
    assert alone.ok
    assert alone.measured["k"] == min(shared.values())
    assert "taken to be one person" in str(alone)
    assert rf.audit(release.table, case.spec, case.table).ok


# Kernels


@given(data=st.data())
def test_records_are_alike_if_they_have_the_same_rows(data: st.DataObject) -> None:
    entry = st.tuples(st.integers(0, 2), st.integers(1, 2))
    records = data.draw(st.lists(st.lists(entry, min_size=1, max_size=4), min_size=1, max_size=8))
    lengths = [len(record) for record in records]
    starts = np.cumsum([0, *lengths])
    homes = np.array([home for record in records for home, _ in record], np.int32)
    rows = np.array([count for record in records for _, count in record], np.int64)
    ends = np.empty(len(records), np.int64)
    room = np.empty((2, max(lengths)), np.int64)
    slots = np.empty(64 if len(homes) < 32 else 128, np.int64)
    nodes = alike(starts, homes, rows, np.empty((len(homes) + 1, 3), np.int64), slots, room, ends)

    def merged(record: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        totals: Counter[int] = Counter()
        for home, count in record:
            totals[home] += count
        return tuple(sorted(totals.items()))

    plain = [merged(record) for record in records]
    for one, end in zip(plain, ends, strict=True):
        assert [other == one for other in plain] == (ends == end).tolist()
    people = np.array([data.draw(st.integers(1, 3)) for _ in records], np.int64)
    k, rare = data.draw(st.integers(1, 5)), np.empty(len(records), np.uint8)
    mark_rare(ends, people, nodes, k, np.empty(nodes, np.int64), rare)
    sharing = Counter[Any]()
    for one, count in zip(plain, people.tolist(), strict=True):
        sharing[one] += count
    assert [bool(mark) for mark in rare] == [sharing[one] < k for one in plain]


# The audit


SPEC = Spec(data={"entity": "patient", "composite": True}, attributes={"town": FLAT}, privacy={"k": 2})


def of(*rows: tuple[Any, str]) -> pa.Table:
    """A table of pseudonyms and towns."""
    return pa.table({"patient": [row[0] for row in rows], "town": [row[1] for row in rows]})


@pytest.mark.parametrize(
    ("rows", "k"),
    [
        ([(1, "a"), (1, "b"), (2, "b"), (2, "a")], 2),
        ([(1, "a"), (1, "b"), (2, "b"), (3, "a")], 1),  # every class has two people, but their records differ
        ([(1, "a"), (1, "a"), (2, "a")], 1),  # as often
        ([(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "b")], 2),
    ],
)
def test_planted_records(rows: list[tuple[int, str]], k: int) -> None:
    verdict = rf.audit(of(*rows), SPEC)
    assert verdict.measured["k"] == k
    assert [finding.rule for finding in verdict.findings] == (["k"] if k < 2 else [])
    assert verdict.risk is not None
    assert verdict.risk.prosecutor.highest == 1 / k


def test_rows_of_nobody_are_found() -> None:
    verdict = rf.audit(of((1, "a"), (2, "a"), (None, "a")), SPEC)
    assert [finding.rule for finding in verdict.findings] == ["missing"]
    with pytest.raises(rf.errors.DataError, match="no column 'patient'"):
        rf.audit(pa.table({"town": ["a", "a"]}), SPEC)


@pytest.mark.parametrize(
    ("whose", "wrong"),
    [
        (["Ann", "Ann", "Bob", "Bob"], []),
        (["Ann", "Bob", "Bob", "Ann"], ["original"]),  # a pseudonym of two people
        (["Cyd", "Cyd", "Bob", "Bob"], ["original"]),  # who is not in the original
    ],
)
def test_pseudonyms_must_be_people(whose: list[str], wrong: list[str]) -> None:
    original = pa.table({"patient": ["Ann", "Ann", "Bob", "Bob"], "town": ["a", "b", "a", "b"]})
    release = of((1, "a"), (1, "b"), (2, "a"), (2, "b"))

    def judged(engine: Engine, traced: pa.Table) -> Verdict:
        return verify(engine, engine.hold(release), SPEC, engine.hold(original), traced=engine.hold(traced))

    with DuckDB(SPEC.data) as engine:
        verdict = judged(engine, release.append_column(WHOSE, pa.array(whose)))
        assert [finding.rule for finding in verdict.findings] == wrong
        moved = of((1, "a"), (2, "b"), (2, "a"), (1, "b")).append_column(WHOSE, pa.array(["Ann", "Bob", "Bob", "Ann"]))
        assert judged(engine, moved).ok  # the same rows in another order
        other = of((1, "a"), (1, "a"), (2, "b"), (2, "b")).append_column(WHOSE, pa.array(["Ann", "Ann", "Bob", "Bob"]))
        assert not judged(engine, other).ok


# From file to file, and what does not go together


@pytest.fixture
def visits(tmp_path: Path) -> Spec:
    """Visits of sixty people, one or two each, in a file."""
    rng = random.Random(3)
    rows = [(f"{p:02}", 20 + p // 3, rng.choice("xyz")) for p in range(60) for _ in range(1 + p % 2)]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(["patient", "age", "ill"])})
    pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}, "ill": {"role": "sensitive"}}
    data = {"source": "visits.csv", "entity": "patient", "composite": True}
    return Spec(data=data, attributes=roles, privacy={"k": 3}, method={"suppression": 0.2}).at(tmp_path)


def test_a_run_publishes_numbers_in_the_place_of_people(visits: Spec, tmp_path: Path) -> None:
    release = api.run(visits, tmp_path / "out")
    assert release.audit.ok
    assert release.audit.measured["k"] >= 3
    written = pyarrow.csv.read_csv(tmp_path / "out/public/release.csv")
    assert written.column_names == ["patient", "age", "ill"]
    assert WHOSE not in (tmp_path / "out/public/release.csv").read_text()
    people = sorted({*written["patient"].to_pylist()})
    assert people == list(range(1, len(people) + 1))
    assert "Rows that stay together" in (tmp_path / "out/private/report.html").read_text()
    release.save(tmp_path / "again")
    in_memory = rf.anonymize(tmp_path / "visits.csv", visits)
    assert in_memory.audit.measured == release.audit.measured
    assert api.audit(tmp_path / "out/public/release.csv", visits).ok
    assert api.audit(tmp_path / "out/public/release.csv", visits, tmp_path / "visits.csv").ok
    with pytest.raises(SpecError, match="composite"):
        api.apply(tmp_path / "out/private/plan.json", tmp_path / "visits.csv")
    with pytest.raises(SpecError, match="composite"):
        release.explain()


def test_levels_can_be_named(visits: Spec, tmp_path: Path) -> None:
    method = {"name": "levels", "levels": {"age": 1}, "suppression": 0.5}
    release = rf.anonymize(tmp_path / "visits.csv", with_parts(visits, method=method).at(tmp_path))
    assert release.audit.ok
    method = {**method, "levels": {"age": 0}, "suppression": 0}
    with pytest.raises(Unsatisfiable, match=r"rows would have to be suppressed, and at most 0 may be"):
        rf.anonymize(tmp_path / "visits.csv", with_parts(visits, method=method, privacy={"k": 3}).at(tmp_path))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"data": {"composite": True}}, "needs data.entity"),
        ({"method": {"name": "mondrian"}}, "not 'mondrian'"),
        ({"method": {"scheme": "set"}}, "the scheme of 'town' is 'set'"),
        ({"method": {"keep_suppressed": True}}, "method.keep_suppressed"),
        ({"privacy": {"k": 2, "t": 0.5}, "attributes": {"town": FLAT, "ill": {"role": "sensitive"}}}, "privacy.t"),
    ],
)
def test_what_composites_do_not_go_with(parts: dict[str, Any], said: str) -> None:
    table = pa.table({"patient": ["Ann", "Bob"], "town": ["a", "a"]})
    with pytest.raises(SpecError, match=said):
        rf.anonymize(table, with_parts(SPEC, **parts))
    with pytest.raises(SpecError, match="front"):
        rf.frontier(table, SPEC)
