"""The dual bound against brute force: prices hold for every group, and no release costs less."""

import json
import sys
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.census.covers import by_attribute, cover_groups
from ringfence.census.groups import Groups, combinations
from ringfence.certificates import CheckedBound, check_certificate
from ringfence.cli import main
from ringfence.errors import DataError, Unsatisfiable
from ringfence.events import Event
from ringfence.judging.metrics import measure_groups
from ringfence.samples import people, people_spec
from ringfence.search import progress
from ringfence.search.groups import dual_bound as bounds
from ringfence.search.groups.asked import GroupsAsked
from ringfence.search.groups.distances import Kept
from ringfence.search.groups.dual_bound import Certificate, dual_bound
from ringfence.search.groups.local import local
from ringfence.search.groups.row_bound import row_bound
from ringfence.search.groups.whole_losses import SLACK, UNIT
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.search.groups.test_local import complete, shown_as
from tests.search.groups.test_row_bound import LOSSES, releases
from tests.tables import Case, cases, with_parts


def found_for(case: Case, k: int, representation: Any, loss: Kept, watch: Watch | None = None) -> Certificate | None:
    """The certificate of a case, beginning at the groups of `local`."""
    census = case.census
    try:
        groups, _ = local(census, GroupsAsked(k, representation=representation, loss=loss, limit=census.rows))
    except Unsatisfiable:
        return None
    return dual_bound(census, k, representation, loss, groups, watch or Watch())


def groups_of(case: Case, k: int) -> list[tuple[int, ...]]:
    """All groups of k rows of one block, by their tuples."""
    census = case.census
    ceilings = np.stack([quasi.hierarchy.ceilings[census.codes[:, a]] for a, quasi in enumerate(census.quasi)], axis=1)
    return [
        group
        for group in combinations_with_replacement(range(len(census.weights)), k)
        if all(group.count(t) <= census.weights[t] for t in group) and len(np.unique(ceilings[[*group]], axis=0)) == 1
    ]


def true_losses(case: Case, groups: list[tuple[int, ...]], representation: Any, loss: Kept) -> list[float]:
    """What a row of each group of tuples loses when it is published, measured as releases are."""
    census, found = case.census, []
    combined = combinations(census, ())
    for group in groups:
        tuples, rows = np.unique(group, return_counts=True)
        alone = Groups.gathered(combined, tuples, np.zeros(len(tuples), np.int64), rows)
        shown = cover_groups(census, alone, representation)
        cost = measure_groups(census, case.spec, alone.sizes, shown)[loss] * census.rows
        found.append((cost - (census.rows - len(group))) / len(group))
    return found


@given(
    case=cases(max_rows=6),
    k=st.integers(1, 3),
    representation=shown_as,
    loss=st.sampled_from(LOSSES),
    tried=st.sampled_from([1, 2_000]),
    most=st.sampled_from([2, 5]),
    parted=st.booleans(),
)
def test_no_release_costs_less(
    case: Case, k: int, representation: Any, loss: Kept, tried: int, most: int, parted: bool
) -> None:
    assume(k <= case.census.rows)
    costs = list(releases(case.census, case.spec, k, representation, loss))
    assume(costs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "TRIED", tried)
        patch.setattr(bounds, "MOST_ROWS", most)
        patch.setattr(bounds, "ROUNDS", 12)
        patch.setattr(bounds, "AT_ONCE", 3)
        patch.setattr(bounds, "LEAST_TUPLES", 0 if parted else 10**9)
        found = found_for(case, k, representation, loss)
    if found is None:
        return
    assert found.bound <= min(costs)


@given(
    case=cases(max_rows=9),
    k=st.integers(1, 4),
    representation=shown_as,
    loss=st.sampled_from(LOSSES),
    parted=st.booleans(),
)
def test_no_group_exceeds_its_prices(case: Case, k: int, representation: Any, loss: Kept, parted: bool) -> None:
    census = case.census
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "ROUNDS", 6)
        patch.setattr(bounds, "LEAST_TUPLES", 0 if parted else 10**9)
        found = found_for(case, k, representation, loss)
    assume(found is not None)
    assert found is not None
    assert found.prices.dtype == np.int64
    assert found.prices.max() <= UNIT
    groups = groups_of(case, k)
    for group, lost in zip(groups, true_losses(case, groups, representation, loss), strict=True):
        assert found.prices[[*group]].sum() <= k * (lost * UNIT + SLACK * len(census.quasi))


def least_ring_loss(case: Case, k: int, representation: Any, loss: Kept) -> float:
    """What a row loses in the best rings: each row's label covers it and the next k - 1 rows of its ring."""
    census = case.census
    rows = np.repeat(np.arange(len(census.weights)), census.weights).tolist()
    groups = groups_of(case, k)
    lost = dict(zip(groups, true_losses(case, groups, representation, loss), strict=True))

    def ring(order: tuple[int, ...]) -> float:
        windows = [tuple(sorted((order + order)[i : i + k])) for i in range(len(order))]
        return sum(lost.get(window, np.inf) for window in windows) if len(order) >= k else np.inf

    ways = (
        ring(order[:cut]) + (ring(order[cut:]) if cut < len(rows) else 0.0)
        for order in {*permutations(rows)}
        for cut in range(k, len(rows) + 1)
    )
    return min(ways) / census.rows


@given(case=cases(max_rows=5), k=st.integers(1, 3), representation=shown_as, loss=st.sampled_from(["glm", "gcp"]))
def test_no_rings_cost_less(case: Case, k: int, representation: Any, loss: Kept) -> None:
    assume(k <= case.census.rows)
    found = found_for(case, k, representation, loss)
    assume(found is not None)
    assert found is not None
    assert found.bound <= least_ring_loss(case, k, representation, loss)


@given(case=cases(max_rows=7), representation=shown_as, loss=st.sampled_from(LOSSES))
def test_prices_rise_to_what_groups_cost_where_rows_do_not_compete(case: Case, representation: Any, loss: Kept) -> None:
    case = complete(case)
    census, k = case.census, case.census.rows
    assume(all(len(np.unique(quasi.hierarchy.ceilings)) == 1 for quasi in census.quasi) and k <= bounds.MOST_ROWS)
    found = found_for(case, k, representation, loss)
    assert found is not None
    everyone = tuple(np.repeat(np.arange(len(census.weights)), census.weights).tolist())
    assert found.bound == pytest.approx(true_losses(case, [everyone], representation, loss)[0], rel=0.02, abs=1e-6)


def checked(case: Case, found: dict[str, Any], k: int, representation: Any, loss: Kept) -> CheckedBound:
    """What a certificate proves, after a journey through JSON."""
    census = case.census
    return check_certificate(json.loads(json.dumps(found)), census, loss, by_attribute(census, representation), k)


@given(
    case=cases(max_rows=9),
    k=st.integers(1, 4),
    representation=shown_as,
    loss=st.sampled_from(LOSSES),
)
def test_certificates_are_checked(case: Case, k: int, representation: Any, loss: Kept) -> None:
    census = case.census
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "ROUNDS", 6)
        found = found_for(case, k, representation, loss)
    assume(found is not None)
    assert found is not None
    content = found.as_dict(census)
    assert checked(case, content, k, representation, loss) == CheckedBound(True, found.bound, k, len(census.weights))
    # a price that is raised is refused if some group then costs more than it loses; and only then, but for missing
    # values, which are taken to add nothing to a range
    whole = all(None not in row.values() for row in case.rows())
    groups = groups_of(case, k)
    lost = k * UNIT * np.array(true_losses(case, groups, representation, loss))
    allowed = 3 * k * len(census.quasi)
    for t, more in product(range(len(census.weights)), [UNIT // 1000, UNIT // 100, UNIT // 10]):
        raised = found.prices.copy()
        raised[t] = min(UNIT, raised[t] + more)
        excess = (np.array([raised[[*group]].sum() for group in groups]) - lost).max(initial=0)
        if not 0.3 * allowed < excess < 1.1 * allowed:
            told = checked(case, {**content, "prices": raised.tolist()}, k, representation, loss)
            assert excess < allowed if told.ok else (not whole or excess > allowed) and len(told.exceeded) == k
    with pytest.raises(DataError, match="add up to"):
        checked(case, {**content, "bound": found.bound + 1e-6}, k, representation, loss)


def people_case(rows: int = 120) -> Case:
    """People of four attributes."""
    names = ("age", "sex", "country", "education")
    return Case(
        people(rows).select([*names]), Spec(attributes={name: people_spec().attributes[name] for name in names})
    )


def test_it_proves_more_than_rows_by_themselves() -> None:
    case = people_case()
    census = case.census
    found = found_for(case, 4, "set", "glm")
    assert found is not None
    assert found.bound > 1.2 * row_bound(census, 4, "set", "glm", Watch())


@pytest.mark.parametrize("name", ["local", "hilbert", "mondrian"])
def test_a_release_that_loses_nothing_has_a_certificate_too(tmp_path: Path, name: str) -> None:
    table = pa.table({"age": [20, 20, 30, 30, 30]})
    age = {"role": "quasi", "order": "numeric"}
    spec = Spec(attributes={"age": age}, privacy={"k": 2}, method={"name": name, "bound": "dual"})
    release = rf.anonymize(table, spec)
    assert release.search is not None
    assert (release.search.optimal, release.search.cost, release.search.bound) == (True, 0, 0)
    release.save(tmp_path / "out", report=False)
    told = rf.check_bound(tmp_path / "out" / "private" / "certificate.json", spec, table)
    assert told.ok
    assert told.bound == 0


def test_what_holds_for_fewer_rows_holds_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    case = people_case()
    monkeypatch.setattr(bounds, "MOST_ROWS", 3)
    found = found_for(case, 8, "set", "glm")
    assert found is not None
    assert found.rows == 3
    assert checked(case, found.as_dict(case.census), 8, "set", "glm").ok
    with pytest.raises(DataError, match="groups of 3 rows, but groups may have 2"):
        checked(case, found.as_dict(case.census), 2, "set", "glm")


def test_a_search_that_is_interrupted_keeps_its_best_certificate() -> None:
    case = people_case()
    whole = found_for(case, 4, "set", "glm")
    assert whole is not None
    told: list[float] = []

    def listen(event: Event) -> bool:
        told.append(event.bound or 0.0)
        return told[-1] > 0  # Ctrl-C, once there is something to keep

    watch = Watch(listener=listen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "REPORT_EVERY", -1.0)
        some = found_for(case, 4, "set", "glm", watch)
    assert watch.stopped
    assert some is not None
    assert 0 < some.bound < whole.bound
    assert checked(case, some.as_dict(case.census), 4, "set", "glm").ok
    late = Watch(time_limit=1e-9)
    late.nodes = 1
    assert found_for(case, 4, "set", "glm", late) is None


def test_certificates_of_other_rows_are_refused() -> None:
    case = people_case()
    found = found_for(case, 3, "set", "glm")
    assert found is not None
    content = found.as_dict(case.census)
    other = Case(case.table.slice(1), case.spec)
    with pytest.raises(DataError, match="other rows"):
        checked(other, content, 3, "set", "glm")
    with pytest.raises(DataError, match="other rows"):
        checked(case, {**content, "tuples": content["tuples"][1:], "prices": content["prices"][1:]}, 3, "set", "glm")
    with pytest.raises(DataError, match="no certificate"):
        checked(case, {**content, "prices": content["prices"][1:]}, 3, "set", "glm")
    with pytest.raises(DataError, match="no certificate"):
        checked(case, {}, 3, "set", "glm")
    with pytest.raises(DataError, match="the format"):
        checked(case, {**content, "format": "another"}, 3, "set", "glm")
    with pytest.raises(DataError, match="more than it can lose"):
        checked(case, {**content, "prices": [2 * UNIT, *content["prices"][1:]]}, 3, "set", "glm")
    with pytest.raises(DataError, match="no certificates for 'dm'"):
        check_certificate(content, case.census, "dm", ["set"] * 4, 3)
    with pytest.raises(DataError, match="neither proven nor refuted: 10 sets of rows"):
        check_certificate(content, case.census, "glm", ["set"] * 4, 3, most=10)


@pytest.mark.parametrize("name", ["local", "hilbert", "mondrian", "ring"])
def test_runs_save_certificates_that_can_be_checked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told() -> tuple[Any, str]:
        given = [kept, tmp_path / "out" / "private" / "spec.toml", tmp_path / "people.parquet"]
        monkeypatch.setattr(sys, "argv", ["ringfence", "check", *map(str, given)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr().out

    case = people_case()
    spec = with_parts(case.spec, privacy={"k": 4}, method={"name": name, "bound": "dual"})
    release = rf.anonymize(case.table, spec)
    assert release.search is not None
    assert release.search.certificate == "dual"
    assert 0 < release.search.bound <= release.search.cost
    release.save(tmp_path / "out", report=False)
    kept = tmp_path / "out" / "private" / "certificate.json"
    found = rf.check_bound(kept, spec, case.table)
    assert found.ok
    assert found.bound == release.search.bound
    pq.write_table(case.table, tmp_path / "people.parquet")
    code, said = told()
    assert code in (0, None)
    assert f"can lose less than {found.bound:.6g} (" in said
    content = json.loads(kept.read_text())
    content["prices"] = [price + UNIT // 20 for price in content["prices"]]
    kept.write_text(json.dumps(content))
    code, said = told()
    assert code == 1
    assert "refused: 4 rows cost more by their prices than they lose together" in said
    kept.write_text("[]")
    with pytest.raises(DataError, match="no certificate"):
        rf.check_bound(kept, spec, case.table)
    kept.unlink()
    with pytest.raises(DataError, match="cannot read the certificate"):
        rf.check_bound(kept, spec, case.table)


@pytest.mark.parametrize("name", ["cluster", "optimal"])
def test_other_methods_refuse_the_dual_bound(name: str) -> None:
    case = people_case()
    takers = "ring, local, hilbert, mondrian"
    with pytest.raises(rf.errors.SpecError, match=f"'dual' is for the methods {takers}; '{name}' does not"):
        rf.anonymize(case.table, with_parts(case.spec, privacy={"k": 4}, method={"name": name, "bound": "dual"}))


@pytest.mark.parametrize("name", ["local", "hilbert", "mondrian", "ring"])
def test_the_search_for_a_proof_keeps_its_time(name: str) -> None:
    """Also of methods that count no recodings. It ends before where nothing is left to prove."""
    towns = ["Oslo", "Bergen", "Voss"]
    table = pa.table({"age": [20 + 7 * i % 37 for i in range(20)], "city": [towns[i % 3] for i in range(20)]})
    spec = rf.Spec(
        attributes={"age": {"role": "quasi"}, "city": {"role": "quasi"}},
        privacy={"k": 2},
        method={"name": name, "bound": "dual", "time_limit": 0.5},
    )

    def late(event: rf.Event) -> None:
        assert event.seconds < 20, "it goes on and on"

    release = rf.anonymize(table, spec, listener=late)
    assert release.search is not None
    assert release.search.seconds < 10
