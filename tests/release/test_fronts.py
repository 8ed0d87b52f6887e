"""The front as users get it: table, plans, knees, files, command."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.cli import main
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.release.fronts import Frontier, SchemeFrontier, knees
from ringfence.samples import people, people_spec
from ringfence.search.front.frontier import Point
from tests.tables import Case, cases, with_parts


def point(k: int, loss: float) -> Point:
    return Point(k, loss, 0, 1, (0,))


@pytest.fixture(scope="module")
def front() -> Frontier:
    spec = with_parts(people_spec(), privacy={}, method={"metric": "glm", "suppression": 0.02})
    return level_front(people(2_000), spec)


def level_front(table: pa.Table, spec: rf.Spec) -> Frontier:
    found = rf.frontier(table, spec)
    assert isinstance(found, Frontier)
    return found


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
        front = level_front(case.table, with_parts(case.spec, method=method))
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
    asked = '[data]\nsource = "d.csv"\n[attributes.q]\nrole = "quasi"\nhierarchy = "flat"\n[method]\nmetric = "dm"\n'
    (tmp_path / "s.toml").write_text(asked)
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


# Schemes


@given(
    case=cases(),
    scheme=st.sampled_from(["cut", "ordered", "set", "guided-set"]),
    suppression=st.sampled_from([0.0, 0.3]),
    metric=st.sampled_from(["dm", "glm"]),
)
def test_the_points_of_a_scheme_are_what_optimal_finds(
    case: Case, scheme: str, suppression: float, metric: str
) -> None:
    method = {"metric": metric, "suppression": suppression, "scheme": scheme}
    try:
        front = rf.frontier(case.table, with_parts(case.spec, method=method, frontier={"k": [3, 1, 2, 900]}))
    except Unsatisfiable:
        return
    assert isinstance(front, SchemeFrontier)
    ks = [point.k for point in front.front.points]
    assert sorted([*ks, *front.front.impossible]) == [1, 2, 3, 900]
    for k in ks:
        release = rf.anonymize(case.table, with_parts(case.spec, privacy={"k": k}, method=method))
        point = front.front.best(k)
        assert point.search.optimal
        assert point.loss == pytest.approx(release.metrics[metric])
        assert front.plan(k) == point.decision.plan
        over_levels = front.front.level_loss(k)
        if scheme != "ordered" and over_levels is not None:  # runs need not hold what a level merges
            assert point.loss <= over_levels * (1 + 1e-9)


def test_a_front_that_ran_out_of_time_bounds_what_it_left_open() -> None:
    method = {"metric": "dm", "scheme": "ordered", "suppression": 0.02}
    spec = with_parts(people_spec(), privacy={}, method={**method, "time_limit": 0.5}, frontier={"k": [5, 50]})
    front = rf.frontier(people(800), spec)
    assert isinstance(front, SchemeFrontier)
    small, large = front.front.points
    assert not large.search.optimal
    assert small.loss <= large.loss
    assert 0 < small.search.bound <= large.search.bound <= large.loss
    assert f"gap {large.search.gap:.1%}" in str(front)
    unknown = replace(large, search=replace(large.search, bound=0.0))
    assert replace(front, front=replace(front.front, points=(small, unknown))).marked[50] == "gap not known"
    assert "0 of 2 points proven" in front.found
    assert front.plan(6) == large.decision.plan
    with pytest.raises(Unsatisfiable, match="k = 51 is above the front"):
        front.plan(51)


def test_a_scheme_front_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = tmp_path / "spec.toml", tmp_path / "people.csv"
    names = ["age", "sex", "marital_status"]
    pyarrow.csv.write_csv(people(600).select(names), data)
    attributes = {name: people_spec().attributes[name].model_dump(exclude_unset=True) for name in names}
    rf.Spec(
        data={"source": str(data)},
        attributes={**attributes, "age": {**attributes["age"], "scheme": "ordered"}},
        method={"scheme": "set", "suppression": 0.02},
        frontier={"k": [2, 5, 20]},
    ).dump(path)
    monkeypatch.setattr("sys.argv", ["ringfence", "frontier", str(path), "-o", str(tmp_path / "front")])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    told = json.loads((tmp_path / "front/frontier.json").read_text(encoding="utf-8"))
    assert [point["k"] for point in told["points"]] == [2, 5, 20]
    assert told["schemes"] == {"age": "ordered", "sex": "set", "marital_status": "set"}
    assert all(point["at_least"] <= point["loss"] <= point["by_levels"] for point in told["points"])
    page = (tmp_path / "front/frontier.html").read_text(encoding="utf-8")
    assert "less than by levels" in page
    table = pyarrow.csv.read_csv(tmp_path / "front/frontier.csv")
    assert table.column_names == ["k", "loss", "at_least", "proven", "suppressed", "classes", "by_levels", *names]


@pytest.mark.parametrize(
    ("method", "frontier", "message"),
    [
        ({"scheme": "set"}, {"algorithm": "poka"}, "frontier.algorithm = 'poka' is over the levels"),
        ({"scheme": "set"}, {"points": "nodes"}, "frontier.points is over levels"),
        ({"name": "mondrian"}, {"points": "nodes"}, "frontier.points is over levels.*one k after the other"),
        ({}, {"depth": 2}, "frontier.depth with frontier.algorithm = 'exact', which misses nothing"),
        ({}, {"k": [2]}, "frontier.k belongs to schemes other than level"),
        ({"name": "levels", "levels": {}}, {}, "method.name = 'levels': a front is over recodings or groups"),
        ({"name": "cluster"}, {"algorithm": "poka"}, "frontier.algorithm = 'poka' is over recodings by levels"),
    ],
)
def test_what_a_front_cannot_do(method: dict[str, str], frontier: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        rf.frontier(people(100), with_parts(people_spec(), privacy={}, method=method, frontier=frontier))


ILL = {"s": {"role": "sensitive"}, "q": {"role": "quasi", "hierarchy": {"tree": {"g": ["a", "b"], "h": ["c", "d"]}}}}
WHO = [f"{illness} {n // 4}" for n, illness in enumerate("xyxyxxyxyxx" * 3)]  # everybody has one illness
VARIED = pa.table({"q": list("aaaabbbccdd") * 3, "s": list("xyxyxxyxyxx") * 3, "who": WHO})


@pytest.mark.parametrize("privacy", [{"l": 2}, {"p": 2}, {"t": 0.3}])
@pytest.mark.parametrize("data", [{"unlisted": "drop"}, {"entity": "who"}], ids=["rows", "people"])
def test_further_models_go_with_suppression_at_chosen_k(privacy: dict[str, float], data: dict[str, str]) -> None:
    parts = {"data": data, "attributes": ILL, "method": {"metric": "glm", "suppression": 0.4}}
    front = rf.frontier(VARIED, rf.Spec(**parts, privacy=privacy, frontier={"k": [2, 4, 9]}))
    assert isinstance(front, SchemeFrontier)
    assert [row["k"] for row in front.table.to_pylist()] == [2, 4, 9]
    for row in front.table.to_pylist():
        release = rf.anonymize(VARIED, rf.Spec(**parts, privacy={**privacy, "k": row["k"]}))
        assert (row["loss"], row["suppressed"]) == (release.metrics["glm"], release.metrics["suppressed"])
        assert row["proven"]
    assert f"every release keeps the {next(iter(privacy))} that was asked for, too." in " ".join(front.plot().words)


@pytest.mark.parametrize("name", ["local", "mondrian", "cluster", "ring"])
def test_methods_that_group_rows_have_a_front_at_chosen_k(name: str, tmp_path: Path) -> None:
    spec = rf.Spec(attributes={"q": ILL["q"]}, method={"name": name}, data={"unlisted": "drop"})
    front = rf.frontier(VARIED, spec)
    assert isinstance(front, SchemeFrontier)
    rows = front.table.to_pylist()
    assert [row["k"] for row in rows] == [2, 3, 5, 10]
    asked = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": 5})})
    assert rows[2]["loss"] == rf.anonymize(VARIED, asked).metrics[spec.method.minimized]
    assert front.plan(4).kind == front.plan(5).kind
    assert "by_levels" not in rows[0]
    page = front.save(tmp_path).read_text(encoding="utf-8")
    assert f"by the method {name}" in page


def test_the_page_says_what_each_k_costs(front: Frontier, tmp_path: Path) -> None:
    picture = front.plot()
    asked = [row["k"] for row in picture.costs]
    assert asked == [2, 3, 5, 10, 20, 50, 100]
    assert [row["loss"] for row in picture.costs] == [front.front.best(k).loss for k in asked]
    assert picture.sentences[0].startswith("k = 2: a loss of ")
    assert "than for k = 2" in picture.sentences[1]
    page = front.save(tmp_path).read_text(encoding="utf-8")
    below = page[page.rindex("</script>") :]
    assert all(sentence in below for sentence in picture.sentences)
    told, whole = below.split("<details>")
    assert (told.count("<tr>"), whole.count("<tr>")) == (len(asked) + 1, front.table.num_rows + 1)
    assert "General loss: the share of an attribute&#x27;s range" in told
    assert "may miss points" not in page
    assert "privacy.k" not in below
    head = page[: page.index("<script")]  # scripts have the ends of pages in their strings: nothing may be put there
    assert "<title>What each k costs: glm from " in head
    assert "max-width" in head


def test_the_page_says_whom_k_counts_and_where_it_starts(tmp_path: Path) -> None:
    spec = rf.Spec(data={"entity": "who"}, attributes=ILL, privacy={"k": 3}, method={"suppression": 0.4})
    front = level_front(VARIED, spec)
    page = front.save(tmp_path).read_text(encoding="utf-8")
    assert "k counts people, by the column who, not rows." in page
    assert "It starts at k = 3, which privacy.k asks for." in page
    assert front.plot().costs[0]["k"] == 3


def test_poka_says_that_it_may_miss_points(tmp_path: Path) -> None:
    spec = with_parts(
        people_spec(), privacy={}, method={"metric": "dm", "suppression": 0.02}, frontier={"algorithm": "poka"}
    )
    found = level_front(people(300), spec)
    assert "may miss points" in found.found
    page = found.save(tmp_path).read_text(encoding="utf-8")
    below = page[page.rindex("</script>") :]
    assert "may miss points" in below
    assert "that none of the recodings that it looked at betters" in below
    assert "log" in str(found.plot().chart)
