"""Plans that are used again: new rows recoded, what fails suppressed, the result audited."""

import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.cli import main
from ringfence.errors import DataError, SpecError, Unsatisfiable
from ringfence.plans.recode import GlobalPlan
from ringfence.release.job import AuditFailed
from ringfence.release.jobs import labels_of
from tests.tables import Case, cases, with_parts

SPEC = rf.Spec(
    attributes={
        "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
        "city": {"role": "quasi", "hierarchy": {"tree": {"East": ["Oslo", "Hamar"], "West": ["Bergen", "Voss"]}}},
        "ill": {"role": "sensitive"},
    },
    privacy={"k": 2},
    method={"name": "levels", "levels": {"age": 1, "city": 1}, "suppression": 0.5},
)
OLD = pa.table(
    {
        "age": [31, 32, 38, 41, 45],
        "city": ["Oslo", "Hamar", "Oslo", "Voss", "Bergen"],
        "ill": ["flu", "cold", "flu", "flu", "cold"],
    }
)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.fixture(scope="module")
def plan() -> GlobalPlan:
    return rf.anonymize(OLD, SPEC).decision.recoding


def test_new_rows_become_what_the_plan_says_and_what_fails_goes(plan: GlobalPlan) -> None:
    new = pa.table({"age": [32, 31, 45], "city": ["Oslo", "Hamar", "Voss"], "ill": ["a", "b", "c"]})
    release = rf.apply(plan, new)
    assert rows_of(release.table) == [("[30, 40)", "East", "a"), ("[30, 40)", "East", "b")]
    assert release.audit.ok
    assert release.metrics["suppressed"] == 1
    assert release.metrics["unknown"] == 0


def test_new_rows_have_no_report_and_can_be_saved(plan: GlobalPlan, tmp_path: Path) -> None:
    release = rf.apply(plan, OLD)
    with pytest.raises(SpecError, match="no report of new rows"):
        release.report()
    release.save(tmp_path / "out")
    assert not (tmp_path / "out/private/report.html").exists()


def test_a_value_that_the_plan_does_not_know_is_refused_or_its_rows_go(plan: GlobalPlan) -> None:
    new = pa.table({"age": [31, 32, 99], "city": ["Oslo", "Oslo", "Oslo"], "ill": ["a", "b", "c"]})
    with pytest.raises(DataError, match=r"does not know: 'age': 99"):
        rf.apply(plan, new)
    release = rf.apply(plan, new, unknown="suppress")
    assert rows_of(release.table) == [("[30, 40)", "East", "a"), ("[30, 40)", "East", "b")]
    assert release.metrics["unknown"] == 1


def test_a_missing_value_that_the_plan_has_not_met_is_unknown(plan: GlobalPlan) -> None:
    new = pa.table({"age": [31, 32, None], "city": ["Oslo", "Oslo", "Oslo"], "ill": ["a", "b", "c"]})
    with pytest.raises(DataError, match=r"'age': None"):
        rf.apply(plan, new)
    assert rf.apply(plan, new, unknown="suppress").table.num_rows == 2


def test_more_than_the_limit_may_not_go(plan: GlobalPlan) -> None:
    new = pa.table({"age": [31, 41, 99], "city": ["Oslo", "Voss", "Oslo"], "ill": ["a", "b", "c"]})
    with pytest.raises(Unsatisfiable, match="3 of 3 rows"):
        rf.apply(plan, new, unknown="suppress")


def test_rows_of_which_the_plan_knows_none_are_refused(plan: GlobalPlan) -> None:
    with pytest.raises(DataError, match="none of these rows"):
        rf.apply(plan, pa.table({"age": [1], "city": ["Rome"], "ill": ["a"]}), unknown="suppress")


def test_an_unknown_way_with_the_unknown_is_refused(plan: GlobalPlan) -> None:
    with pytest.raises(SpecError, match="'error', 'suppress'"):
        rf.apply(plan, OLD, unknown="guess")


@given(case=cases(sensitive=1), k=st.integers(1, 4))
def test_a_plan_applied_to_its_own_rows_gives_its_own_release(case: Case, k: int) -> None:
    spec = with_parts(case.spec, privacy={"k": k}, method={"metric": "glm", "suppression": 1})
    try:
        release = rf.anonymize(case.table, spec)
    except Unsatisfiable:
        return
    again = rf.apply(GlobalPlan.loads(release.plan.dumps()), case.table)
    assert rows_of(again.table) == rows_of(release.table)
    assert again.metrics["suppressed"] == release.metrics["suppressed"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with a hierarchy file, a run made with it, and then without that file."""
    (tmp_path / "city.csv").write_text("Oslo;East;*\nHamar;East;*\nBergen;West;*\nVoss;West;*\n")
    attributes = {**SPEC.model_dump(by_alias=True, exclude_unset=True)["attributes"]}
    attributes["city"] = {"role": "quasi", "hierarchy": {"file": "city.csv"}}
    spec = with_parts(SPEC, attributes=attributes).at(tmp_path)
    rf.anonymize(OLD, spec).save(tmp_path / "out", report=False)
    (tmp_path / "city.csv").unlink()
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["ringfence", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_a_saved_plan_needs_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow.csv.write_csv(OLD, saved / "new.csv")
    code = run(
        monkeypatch, "apply", saved / "out/private/plan.json", saved / "new.csv", "-o", saved / "again.csv", "--json"
    )
    assert code == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"]["ok"]
    assert sorted((saved / "again.csv").read_text().splitlines()) == sorted(
        (saved / "out/public/release.csv").read_text().splitlines()
    )


def test_where_the_plan_cannot_be_kept_nothing_is_written(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (saved / "new.csv").write_text("age,city,ill\n31,Oslo,a\n41,Voss,b\n")
    (saved / "again.csv").write_text("before")
    assert run(monkeypatch, "apply", saved / "out/private/plan.json", saved / "new.csv", "-o", saved / "again.csv") == 1
    assert "2 of 2 rows" in capsys.readouterr().err
    assert (saved / "again.csv").read_text() == "before"
    assert {path.name for path in saved.iterdir()} == {"out", "new.csv", "again.csv"}


@pytest.mark.parametrize(
    ("target", "words"),
    [("again.txt", ".csv, .parquet"), ("nowhere/again.csv", "cannot write")],
    ids=["name", "folder"],
)
def test_a_target_that_cannot_be_is_refused(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str, words: str
) -> None:
    pyarrow.csv.write_csv(OLD, saved / "new.csv")
    assert run(monkeypatch, "apply", saved / "out/private/plan.json", saved / "new.csv", "-o", saved / target) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("target", ["new.csv", "link.csv", "parts/one.csv", "first.csv"])
def test_what_is_read_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for name in ("new.csv", "parts/one.csv", "parts/other.csv", "first.csv"):
        pyarrow.csv.write_csv(OLD, name)
    Path("link.csv").symlink_to("new.csv")
    before = Path(target).read_bytes()
    rf.run(with_parts(SPEC, data={"source": "first.csv"}), "out", report=False)
    rows = "parts" if "/" in target else "new.csv"
    assert run(monkeypatch, "apply", "out/private/plan.json", rows, "-o", target) == 2
    assert f"'{target}' holds the rows that" in capsys.readouterr().err
    assert Path(target).read_bytes() == before


def test_a_plan_about_rows_is_not_applied_to_others() -> None:
    plan: Any = rf.anonymize(OLD, with_parts(SPEC, method={"name": "local"})).plan
    with pytest.raises(SpecError, match="a plan of the kind 'group' is about the rows that it was made for"):
        rf.apply(plan, OLD)


# Plans to begin a search with


TOWNS = pa.table({"age": [20 + row % 31 for row in range(900)], "town": [f"t{row * row % 37}" for row in range(900)]})


def searched_for(scheme: str, **method: Any) -> rf.Spec:
    attributes = {
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
        "town": {"role": "quasi", "hierarchy": {"fanout": 3}},
    }
    return rf.Spec(attributes=attributes, privacy={"k": 5}, method={"scheme": scheme, "suppression": 0.02, **method})


def cost_of(release: rf.Release) -> float:
    assert release.search is not None
    return release.search.cost


@pytest.mark.parametrize("scheme", ["ordered", "set"])
def test_a_search_goes_on_from_an_earlier_plan(scheme: str, tmp_path: Path) -> None:
    long, short = searched_for(scheme, time_limit=0.5), searched_for(scheme, time_limit=1e-6)
    found, at_once = rf.anonymize(TOWNS, long), rf.anonymize(TOWNS, short)
    again = rf.anonymize(TOWNS, short, start=found.plan)
    cost = cost_of(found)
    assert cost < cost_of(at_once)
    assert cost_of(again) <= cost
    assert again.audit.ok
    found.plan.save(tmp_path / "plan.json")
    freer = rf.anonymize(TOWNS, searched_for("set", time_limit=1e-6), start=tmp_path / "plan.json")
    assert cost_of(freer) <= cost
    assert "beginning with an earlier plan" in str(freer.log)


def test_a_plan_to_begin_with_need_not_know_all_values_nor_keep_the_promise() -> None:
    found = rf.anonymize(TOWNS.slice(0, 450), searched_for("set", time_limit=0.2))
    ages = pa.array([None, *range(16, 24)] * 100)
    other = pa.table({"age": ages, "town": [f"t{row % 61}" for row in range(900)]})
    release = rf.anonymize(other, searched_for("set", suppression=0.0, time_limit=0.1), start=found.plan)
    assert release.audit.ok
    assert release.table.num_rows == 900


def test_a_run_begins_with_the_plan_of_the_run_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the new release takes the old one's place."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(TOWNS, "towns.csv")
    for name, seconds in {"long": 0.5, "short": 1e-6}.items():
        with_parts(searched_for("set", time_limit=seconds), data={"source": "towns.csv"}).dump(f"{name}.toml")
    plan, run = Path("out/private/plan.json"), "ringfence run {}.toml -o out --no-report"
    for command in (run.format("long"), f"{run.format('short')} --start {plan}"):
        monkeypatch.setattr("sys.argv", command.split())
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    before = rf.anonymize(TOWNS, searched_for("set", time_limit=1e-6))
    assert before.metrics["glm"] > json.loads(Path("out/public/manifest.json").read_text())["metrics"]["glm"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"method": {"name": "local"}}, "the method 'local' begins anew each time; allowed: optimal"),
        ({"data": {"entity": "who", "composite": True}, "method": {}}, "composite = true"),
        ({"attributes": {"job": {"role": "quasi", "hierarchy": "flat"}}}, "says nothing of .* 'job'"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_begun_with_is_refused(parts: dict[str, Any], message: str) -> None:
    begun = rf.anonymize(TOWNS, searched_for("level")).plan
    with pytest.raises(SpecError, match=message):
        rf.anonymize(TOWNS, with_parts(searched_for("level"), **parts), start=begun)


def test_a_plan_of_groups_is_none_to_begin_with() -> None:
    groups = rf.anonymize(TOWNS, with_parts(searched_for("level"), method={"name": "mondrian"})).plan
    with pytest.raises(SpecError, match="not 'group'"):
        rf.anonymize(TOWNS, searched_for("level"), start=groups)


def test_a_plan_knows_the_short_floats_that_it_was_made_for() -> None:
    table = pa.table({"size": pa.array([0.1, 0.1, 0.7, 0.7], pa.float32())})
    attributes = {"size": {"role": "quasi", "hierarchy": {"fanout": 2}}}
    release = rf.anonymize(table, rf.Spec(attributes=attributes, privacy={"k": 2}))
    again = rf.apply(GlobalPlan.loads(release.plan.dumps()), table)
    assert sorted(again.table["size"].to_pylist()) == sorted(release.table["size"].to_pylist())


TREE = {"tree": {"Node 0": ["elm"], "Node 1": ["fir", "ash"], "Node 2": ["oak"]}}


@pytest.mark.parametrize(
    ("values", "attribute", "scheme"),
    [
        (["a", "b", None, "c", "c", None], {"hierarchy": {"fanout": 2}}, "set"),  # a missing one under a label
        (["12", "0", "12.50", "0", "12.50", "12"], {"hierarchy": {"intervals": [2, 10], "top": 20}}, "set"),
        ([Decimal("45.00"), Decimal("1.10"), Decimal("45.00"), Decimal("1.10")], {}, "ordered"),
        (["elm", "fir", "ash", "oak", "oak", "fir"], {"hierarchy": TREE, "boundary": ["Node 0"]}, "cut"),
        ([dt.date(2024, 3, 1), dt.date(2024, 3, 9), dt.date(2023, 1, 1)], {"hierarchy": {"dates": ["year"]}}, "level"),
    ],
    ids=["gap", "intervals", "decimals", "boundary", "days"],
)
@pytest.mark.parametrize("entity", [None, "who"])
def test_the_audit_of_a_plan_that_is_applied_holds_and_can_fail(
    values: list[Any], attribute: dict[str, Any], scheme: str, entity: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"q": values * 2, "who": [f"p{number}" for number in range(2 * len(values))]})
    spec = rf.Spec(
        data={"entity": entity} if entity else {},
        attributes={"q": {"role": "quasi", **attribute}, "who": {"role": "identifier"}},
        privacy={"k": 3},
        method={"name": "optimal", "scheme": scheme, "suppression": 0.5},
    )
    release = rf.anonymize(table, spec)
    plan = GlobalPlan.loads(release.plan.dumps())
    again = rf.apply(plan, table)
    assert Counter(map(str, again.table["q"].to_pylist())) == Counter(map(str, release.table["q"].to_pylist()))
    assert again.audit.ok
    (wrong,) = [{leaf: f"not {label}" for leaf, label in labels.items()} for labels in labels_of(plan).values()]
    monkeypatch.setattr("ringfence.api.in_memory.labels_of", lambda _: {"q": wrong})
    with pytest.raises(AuditFailed, match=r"not those of the original|does not hold the value of the row"):
        rf.apply(plan, table)


def test_a_value_that_only_rows_without_another_have_need_not_be_known() -> None:
    table = pa.table({"age": ["2", "3", "3", "4"], "city": [None, "Oslo", "Oslo", None]})
    spec = rf.Spec(
        data={"missing": "suppress"},
        attributes={"age": {"role": "quasi", "hierarchy": "flat"}, "city": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
    )
    plan = GlobalPlan.loads(rf.anonymize(table, spec).plan.dumps())
    assert rf.apply(plan, table).table.num_rows == 2
    more = pa.table({"age": ["3", "3", "7", "8"], "city": ["Oslo", "Oslo", "Oslo", None]})
    with pytest.raises(DataError, match=r"does not know: 'age': '7'; make"):
        rf.apply(plan, more)
    with pytest.raises(DataError, match="knows none of these rows"):
        rf.apply(plan, more.slice(2), unknown="suppress")


def test_a_value_that_no_number_is_may_stand_in_rows_that_go_anyway() -> None:
    numbers = {"role": "quasi", "hierarchy": {"intervals": [10]}}
    spec = rf.Spec(
        data={"missing": "suppress"},
        attributes={"age": numbers, "city": {"role": "quasi", "hierarchy": "flat"}},
        privacy={"k": 2},
    )
    table = pa.table({"age": ["31", "32", "thirty"], "city": ["Oslo", "Oslo", None]})
    plan = GlobalPlan.loads(rf.anonymize(table, spec).plan.dumps())
    assert rf.apply(plan, table).table["age"].to_pylist() == ["[30, 40)"] * 2
    with pytest.raises(DataError, match=r"column 'age' should hold numbers, but has 'thirty'"):
        rf.apply(plan, pa.table({"age": ["31", "32", "thirty"], "city": ["Oslo"] * 3}))


# Rows with values that a plan does not know


def flat_plan(k: int = 2, **more: Any) -> GlobalPlan:
    """A plan that leaves towns as they are."""
    attributes = {"town": {"role": "quasi", "hierarchy": "flat"}, **more.pop("attributes", {})}
    method = {"name": "levels", "levels": {"town": 0}, "suppression": 1, **more.pop("method", {})}
    spec = rf.Spec(attributes=attributes, privacy={"k": k, **more.pop("privacy", {})}, method=method, **more)
    towns = ["Oslo", "Bern", "Rome"]
    table = pa.table({"town": towns * 3, "ill": sorted(towns * 3)}).select([*attributes])
    return rf.anonymize(table, spec).decision.recoding


def manifest_of(release: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release.parent / "manifest.json").read_text())
    return found


@pytest.mark.parametrize("kept", [False, True])
def test_the_manifest_counts_rows_that_the_plan_does_not_know(kept: bool, tmp_path: Path) -> None:
    plan = flat_plan(method={"keep_suppressed": kept})
    new = pa.table({"town": ["Oslo"] * 2 + ["Quito"] * 20})
    release = rf.apply(plan, new, unknown="suppress")
    assert Counter(release.table["town"].to_pylist()) == {"Oslo": 2, **({"*": 20} if kept else {})}
    path = release.save(tmp_path, report=False)
    counts = manifest_of(path)["counts"]
    assert (counts["rows read"], counts["rows suppressed"]) == (22, 20)
    assert counts["rows published"] == (22 if kept else 2)
    assert manifest_of(path)["suppressed rows"].startswith("kept" if kept else "dropped")
    assert manifest_of(path)["metrics"].keys() == {"dm", "aecs"}
    verdict = rf.audit(path, rf.Spec.loads(plan.spec), new)
    assert verdict.ok, verdict.findings


def test_rows_that_the_plan_does_not_know_are_masked_with_those_that_fail() -> None:
    plan = flat_plan(method={"keep_suppressed": True})
    release = rf.apply(plan, pa.table({"town": ["Oslo", "Oslo", "Bern", "Rome", "Quito"]}), unknown="suppress")
    assert Counter(release.table["town"].to_pylist()) == {"Oslo": 2, "*": 3}
    release = rf.apply(plan, pa.table({"town": ["Oslo", "Oslo", "Bern", "Quito"]}), unknown="suppress")
    assert Counter(release.table["town"].to_pylist()) == {"Oslo": 2, "*": 2}  # neither of them could be alone
    release = rf.apply(plan, pa.table({"town": ["Oslo", "Oslo", "Quito"]}), unknown="suppress")
    assert Counter(release.table["town"].to_pylist()) == {"Oslo": 2}  # nor can this one
    assert not release.plan.masked


def test_rows_may_have_several_values_that_the_plan_does_not_know(tmp_path: Path) -> None:
    age = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}
    spec = with_parts(
        SPEC,
        attributes={**age, "town": {"role": "quasi", "hierarchy": "flat"}},
        method={"name": "levels", "levels": {"age": 1, "town": 0}, "suppression": 1, "keep_suppressed": True},
    )
    plan = rf.anonymize(pa.table({"age": [31, 32], "town": ["Oslo", "Oslo"]}), spec).decision.recoding
    (tmp_path / "new.csv").write_text("age,town\n31,Oslo\n32,Oslo\n99,Quito\n31,Quito\n98,Oslo\n")
    release = rf.apply(plan, tmp_path / "new.csv", unknown="suppress")
    assert rows_of(release.table) == [("*", "*")] * 3 + [("[30, 40)", "Oslo")] * 2


def test_rows_that_miss_a_value_are_dropped_though_others_are_masked() -> None:
    plan = flat_plan(method={"keep_suppressed": True}, data={"missing": "suppress"})
    new = pa.table({"town": ["Oslo", "Oslo", "Bern", "Quito", None]})
    release = rf.apply(plan, new, unknown="suppress")
    assert Counter(release.table["town"].to_pylist()) == {"Oslo": 2, "*": 2}
    assert release.incomplete == 1


def test_masked_rows_keep_what_is_published_as_it_is_and_satisfy_every_model() -> None:
    ill = {"ill": {"role": "sensitive"}}
    plan = flat_plan(method={"keep_suppressed": True}, attributes=ill, privacy={"l": {"value": 2, "of": "ill"}}, k=2)
    new = {"town": ["Oslo", "Oslo", "Quito", "Quito"], "ill": ["flu", "gout", "flu", "flu"]}
    release = rf.apply(plan, pa.table(new), unknown="suppress")
    assert rows_of(release.table) == [("Oslo", "flu"), ("Oslo", "gout")]
    release = rf.apply(plan, pa.table({**new, "ill": ["flu", "gout", "flu", "rare"]}), unknown="suppress")
    assert rows_of(release.table) == [("*", "flu"), ("*", "rare"), ("Oslo", "flu"), ("Oslo", "gout")]


@given(
    case=cases(sensitive=1, max_rows=12),
    k=st.integers(1, 3),
    kept=st.booleans(),
    some=st.lists(st.booleans(), min_size=12, max_size=12),
    asked=st.sampled_from([{}, {"l": 2}, {"l": {"value": 1.5, "kind": "entropy"}}, {"t": 0.4}]),
)
def test_whatever_a_plan_does_not_know_its_releases_pass(
    case: Case, k: int, kept: bool, some: list[bool], asked: dict[str, Any]
) -> None:
    """A plan for some of the rows is applied to all of them."""
    privacy = {"k": k, **asked}
    method = {"suppression": 1, **({"keep_suppressed": True} if kept else {})}
    table = case.table.filter(pa.array(some[: case.table.num_rows]))
    try:
        plan = rf.anonymize(table, with_parts(case.spec, privacy=privacy, method=method)).decision.recoding
        release = rf.apply(plan, case.table, unknown="suppress")
    except (Unsatisfiable, DataError):
        return
    assert release.audit.ok
    masked = release.decision.suppressed if release.plan.masked else 0
    assert release.table.num_rows == release.metrics["rows"] + masked
