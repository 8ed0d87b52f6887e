"""The front as users get it: table, plans, knees, files, command."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import Case, cases, with_parts

import ringfence as rf
from ringfence.cli import main
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.fronts import Frontier, knees
from ringfence.samples import people, people_spec
from ringfence.search.frontier import Point


def point(k: int, loss: float) -> Point:
    return Point(k, loss, 0, 1, (0,))


@pytest.fixture(scope="module")
def front() -> Frontier:
    spec = with_parts(people_spec(), privacy={}, method={"metric": "glm", "suppression": 0.02})
    return rf.frontier(people(2_000), spec)


def test_the_table_has_a_column_for_each_attribute_and_no_dominated_row(front: Frontier) -> None:
    table = front.table
    assert table.column_names[:4] == ["k", "loss", "suppressed", "classes"]
    assert table.column_names[4:] == list(front.census.names)
    ks, losses = table["k"].to_pylist(), table["loss"].to_pylist()
    assert ks == sorted(set(ks))
    assert losses == sorted(set(losses))


@given(case=cases(), suppression=st.sampled_from([0.0, 0.3, 1.0]), metric=st.sampled_from(["dm", "glm", "hdm", "ncp"]))
def test_the_plan_for_k_is_the_one_that_optimal_finds(case: Case, suppression: float, metric: str) -> None:
    method = {"metric": metric, "suppression": suppression}
    try:
        front = rf.frontier(case.table, with_parts(case.spec, method=method))
    except Unsatisfiable:
        return
    for k in range(2, front.front.answers[-1].k + 1):
        release = rf.anonymize(case.table, with_parts(case.spec, privacy={"k": k}, method=method))
        plan = front.plan(k)
        assert (plan.columns, plan.suppressed) == (release.plan.columns, release.decision.recoding.suppressed)
    with pytest.raises(Unsatisfiable, match="largest k that is possible"):
        front.plan(front.front.answers[-1].k + 1)


def test_with_three_objectives_nothing_is_suppressed() -> None:
    table = pa.table({"q": ["a", "a", "b", "b", "c"], "s": ["x", "y", "x", "x", "y"]})
    flat = {"role": "quasi", "hierarchy": {"tree": {"g": ["a", "b"], "h": ["c"]}}}
    spec = rf.Spec(attributes={"q": flat, "s": {"role": "sensitive"}}, privacy={"l": 1}, method={"metric": "glm"})
    front = rf.frontier(table, spec)
    assert front.table.column_names[:3] == ["k", "l", "loss"]
    assert all(row["suppressed"] == 0 for row in front.table.to_pylist())
    assert front.plan(2).suppressed_rows == 0
    assert front.plan(2).levels == {"q": 2}


def test_a_knee_is_where_k_stops_being_cheap() -> None:
    flat_then_steep = [point(2, 0.10), point(4, 0.11), point(8, 0.12), point(16, 0.13), point(32, 0.6), point(64, 1.0)]
    assert [knee.k for knee in knees(flat_then_steep)] == [16]
    straight = [point(2**i, 0.1 * i) for i in range(1, 10)]
    assert knees(straight) == ()
    assert knees([point(2, 0.1)]) == ()
    assert knees([point(2, 0.1), point(9, 0.9)]) == ()


def test_the_files_say_what_the_table_says(front: Frontier, tmp_path: Path) -> None:
    page = front.save(tmp_path / "new")
    assert {entry.name for entry in page.parent.iterdir()} == {
        f"frontier.{kind}" for kind in ("csv", "json", "html", "png")
    }
    assert pyarrow.csv.read_csv(page.parent / "frontier.csv").to_pylist() == front.table.to_pylist()
    written = json.loads((page.parent / "frontier.json").read_text())
    assert written["points"] == front.table.to_pylist()
    assert written["knees"] == [knee.k for knee in front.knees]
    assert (page.parent / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert "What each k costs" in page.read_text(encoding="utf-8")


def test_the_command_shows_a_table_and_writes_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyarrow.csv.write_csv(pa.table({"q": ["a", "a", "b", "b", "b"]}), tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text('[data]\nsource = "d.csv"\n[attributes.q]\nrole = "quasi"\nhierarchy = "flat"\n')
    monkeypatch.setattr("sys.argv", ["ringfence", "frontier", str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["k", "loss", "suppressed", "classes", "q"]
    assert said.splitlines()[1].split() == ["2", "13", "0", "2", "0"]
    assert (tmp_path / "out/frontier.html").is_file()


def test_below_the_front_there_is_no_plan(front: Frontier) -> None:
    with pytest.raises(SpecError, match="below the front"):
        front.plan(1)
