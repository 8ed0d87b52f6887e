"""The studio for programs: from a table to a release, by a client that speaks JSON."""

import csv
import io
import json
import sys
import time
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from ringfence.cli import main
from ringfence.studio.forms import choices
from ringfence.studio.worker import LOADED
from tests.studio.conftest import PEOPLE, Studio, end, start

pytestmark = pytest.mark.xdist_group("studio")


def test_what_workers_begin_with_can_be_loaded() -> None:
    """Where it cannot, processes begin without a word of that, and are slow."""
    warm = import_module(LOADED)
    assert all(name in sys.modules for name in warm.FIRST_NEEDED)


def test_upload_gives_roles_with_reasons_and_first_rows(studio: Studio) -> None:
    project = studio.upload(PEOPLE)
    columns = {column["name"]: column for column in project["columns"]}
    assert project["rows"] == 400
    assert [columns[name]["role"] for name in ("name", "age", "town")] == ["identifier", "quasi", "quasi"]
    assert columns["age"]["kind"] == "numbers"
    assert columns["age"]["reason"]
    assert project["first"]["rows"][0][:2] == ["N0", "20"]
    assert project["wrong"] is None


def test_run_is_judged_and_repeated_exactly_from_its_files(
    studio: Studio, made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, release = made
    assert release["ok"]
    assert release["verdict"]["measured"]["k"] >= 5
    files = {file["file"]: file for file in release["files"]}
    assert not files["release.csv"]["private"]
    assert all(files[name]["private"] for name in ("spec.toml", "plan.json", "report.html", "audit.json"))

    def take(name: str) -> str:
        return studio.client.get(f"{path}/releases/{release['id']}/files/{name}").text

    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "people.toml").write_text(take("spec.toml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ringfence", "run", "people.toml", "-o", "out", "--no-report"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in (None, 0)
    again = (tmp_path / "out/public/release.csv").read_text(encoding="utf-8").splitlines()
    assert sorted(again) == sorted(take("release.csv").splitlines())  # rows are shuffled anew


def test_front_and_what_each_point_makes_of_the_table(studio: Studio) -> None:
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    assert studio.client.get(f"{path}/front").status_code == 404
    studio.client.patch(f"{path}/spec", json={"tables": {"privacy": {"k": 5}}})
    over = studio.finished(path, studio.client.post(f"{path}/front", json={"suppression": 0.1}).json())
    assert over["state"] == "done", over["error"]
    front = studio.client.get(f"{path}/front").json()
    points = front["level"]["points"]
    assert [point["k"] for point in points] == sorted({point["k"] for point in points})
    assert [point["loss"] for point in points] == sorted(point["loss"] for point in points)
    for point in points[:: max(1, len(points) // 4)]:
        seen = studio.client.get(f"{path}/front/level/{point['k']}").json()
        assert seen["suppressed"] == point["suppressed"]
        assert seen["classes"] == point["classes"]
        assert seen["detail"] == pytest.approx(point["loss"])
        assert 1 / seen["risk"]["highest"] >= point["k"]
        assert len(seen["first"]["rows"]) == 30
    overlay = studio.client.post(f"{path}/front", json={"suppression": 0.1, "scheme": "set", "seconds": 1}).json()
    assert studio.finished(path, overlay)["state"] == "done"
    laid = studio.client.get(f"{path}/front").json()["overlays"]["set"]["points"]
    assert laid
    assert studio.client.get(f"{path}/front/set/{laid[0]['k']}").status_code == 200

    for k, scheme in ((401, "level"), (2, "cut"), (2, "magic")):
        off = studio.client.post(f"{path}/front/chosen", json={"k": k, "scheme": scheme})
        assert off.status_code == 404, off.text
    k = points[len(points) // 2]["k"]
    chosen = studio.client.post(f"{path}/front/chosen", json={"k": k}).json()
    assert chosen["spec"]["privacy"]["k"] == k
    over = studio.finished(path, studio.client.post(f"{path}/runs", json={}).json())
    release = studio.client.get(f"{path}/releases/{over['result']['release']}").json()
    assert release["metrics"]["glm"] == pytest.approx(points[len(points) // 2]["loss"])


def test_front_that_keeps_secrets_suppresses_nothing(studio: Studio) -> None:
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    asked = {"tables": {"privacy": {"k": 5, "l": {"value": 2, "of": "illness"}}}}
    assert studio.client.patch(f"{path}/spec", json=asked).status_code == 200
    over = studio.finished(path, studio.client.post(f"{path}/front", json={"secrets": True}).json())
    assert over["state"] == "done", over["error"]
    points = studio.client.get(f"{path}/front").json()["level"]["points"]
    assert {point["suppressed"] for point in points} == {0}
    ks = [point["k"] for point in points]
    assert ks == sorted(set(ks))
    chosen = studio.client.post(f"{path}/front/chosen", json={"k": ks[0]}).json()["spec"]
    assert chosen["privacy"]["l"] == {"value": 2, "of": "illness"}
    assert chosen["method"]["suppression"] == 0


def test_roles_change_with_all_that_goes_with_them_and_can_be_undone(studio: Studio) -> None:
    project = studio.upload(PEOPLE)
    path = f"/projects/{project['id']}"
    asked = studio.client.patch(
        f"{path}/spec", json={"tables": {"privacy": {"k": 4, "l": {"value": 2, "of": "illness"}}}, "what": "l"}
    )
    assert asked.status_code == 200, asked.text
    other = studio.client.post(f"{path}/roles", json={"column": "illness", "role": "quasi"}).json()
    assert other["spec"]["attributes"]["illness"]["role"] == "quasi"
    assert "l" not in other["spec"]["privacy"]
    assert other["steps"][1:] == ["l", "illness: quasi"]
    back = studio.client.post(f"{path}/history/1").json()
    assert back["spec"]["privacy"]["l"] == {"value": 2, "of": "illness"}
    assert back["spec"]["attributes"]["illness"]["role"] == "sensitive"
    people = studio.client.post(f"{path}/people", json={"column": "name"}).json()
    assert people["spec"]["data"]["entity"] == "name"


def test_methods_that_do_not_apply_say_why(studio: Studio, made: Any) -> None:
    path, _ = made
    found = studio.client.get(f"{path}/methods").json()
    assert "local" in [method["name"] for method in found["methods"]]
    why = {method["name"]: method["why"] for method in found["others"]}
    assert "baskets" in why["itemsets"]


def test_counts_of_values_are_offered_where_they_say_something() -> None:
    attributes = {"age": {"role": "quasi", "hierarchy": "flat"}, "illness": {"role": "sensitive"}}
    diverse = {"l": {"value": 2, "of": "illness"}}
    parts = {"attributes": attributes, "privacy": {**diverse, "k": 2}, "method": {"name": "local"}}
    counts = {"output": {"counts": True}}
    for asked in (parts, {**parts, **counts}):
        found = choices(asked)
        assert found["counts"]
        assert all(method["counts"] for method in found["methods"] if method["name"] == "local")
    without_k = {**parts, "privacy": diverse}
    assert not choices(without_k)["counts"]
    assert not choices({**without_k, "method": {"name": "anatomy"}})["counts"]
    assert choices({**without_k, **counts})["counts"]  # so that they can be taken back
    buckets = [method for method in choices({**without_k, **counts})["methods"] if method["name"] == "anatomy"]
    assert [method["counts"] for method in buckets] == [False]  # it can be chosen, and does without them


def test_hierarchies_show_their_tree_and_what_they_do_not_cover(studio: Studio) -> None:
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    ages = studio.client.post(f"{path}/hierarchies/age").json()
    assert ages["uncovered"] == []
    assert ages["tree"]["rows"] == 400
    assert ages["levels"][0]["labels"] == ages["leaves"] == 40
    tree = {"role": "quasi", "hierarchy": {"tree": {"East": ["Oslo", "Hamar"], "West": ["Voss"]}}}
    towns = studio.client.post(f"{path}/hierarchies/town", json=tree).json()
    assert [each["value"] for each in towns["uncovered"]] == ["Bergen"]
    assert towns["uncovered_rows"] == sum(",Bergen," in line for line in PEOPLE.splitlines())
    assert [each["label"] for each in towns["tree"]["children"]] == ["East", "West"]
    wrong = studio.client.post(f"{path}/hierarchies/town", json={"role": "quasi", "hierarchy": {"intervals": [5]}})
    assert wrong.status_code == 422
    assert "should hold numbers" in wrong.json()["error"]["message"]

    sent = studio.client.post(
        f"{path}/files", params={"name": "towns.csv"}, content="Oslo;East;*\nHamar;East;*\n"
    ).json()
    from_file = {"role": "quasi", "hierarchy": {"file": sent["file"], "delimiter": ";"}, "boundary": ["East"]}
    towns = studio.client.post(f"{path}/hierarchies/town", json=from_file).json()
    assert [each["value"] for each in towns["uncovered"]] == ["Bergen"]
    assert towns["tree"]["children"][0]["ceiling"]


def test_names_in_any_script_and_with_slashes(studio: Studio) -> None:
    table = "возраст,a/b\n" + "".join(f"{20 + n % 9},{'xy'[n % 2]}\n" for n in range(60))
    path = f"/projects/{studio.upload(table, 'таблица.csv')['id']}"
    studio.client.post(f"{path}/roles", json={"column": "a/b", "role": "quasi"})
    found = studio.client.post(f"{path}/hierarchies/a%2Fb")
    assert found.status_code == 200, found.text
    assert found.json()["leaves"] == 2
    saved = studio.client.get(f"{path}/file")
    assert unquote(saved.headers["content-disposition"]).endswith("''таблица.ringfence")
    assert len(saved.content) == int(saved.headers["content-length"])
    with zipfile.ZipFile(io.BytesIO(saved.content)) as file:
        content = json.loads(file.read("project.json"))
    for damage, status in (({"name": "a\r\nSet-Cookie: x"}, 201), ({"name": 5}, 422), ({"looked": {}}, 422)):
        damaged = io.BytesIO()
        with zipfile.ZipFile(damaged, "w") as file:
            file.writestr("project.json", json.dumps({**content, **damage}))
            file.writestr("files/таблица.csv", table)
        opened = studio.client.post("/projects", params={"name": "a.ringfence"}, content=damaged.getvalue())
        assert opened.status_code == status, opened.text
        if status == 201:
            assert "set-cookie" not in studio.client.get(f"/projects/{opened.json()['id']}/file").headers


def test_items_have_a_tree_of_their_own(studio: Studio) -> None:
    baskets = "basket\n" + "".join(f"{('tea;bun', 'tea', 'rum;tea;tea')[n % 3]}\n" for n in range(60))
    path = f"/projects/{studio.upload(baskets, 'baskets.csv')['id']}"
    studio.client.post(f"{path}/roles", json={"column": "basket", "role": "items"})
    people = studio.client.post(f"{path}/people", json={"column": "basket"})
    assert people.status_code == 422
    assert "k counts baskets and not people" in people.json()["error"]["message"]
    drinks = [["tea", "drink", "*"], ["rum", "drink", "*"]]
    items: dict[str, Any] = {"role": "items", "separator": ";", "hierarchy": {"paths": drinks}}
    found = studio.client.post(f"{path}/hierarchies/basket", json=items).json()
    assert [(each["value"], each["rows"]) for each in found["uncovered"]] == [("bun", 20)]
    whole = {**items, "hierarchy": {"paths": [*drinks, ["bun", "*"]]}, "boundary": ["drink"]}
    found = studio.client.post(f"{path}/hierarchies/basket", json=whole).json()
    drink = next(each for each in found["tree"]["children"] if each["label"] == "drink")
    assert drink["ceiling"]
    assert {each["label"]: each["rows"] for each in drink["children"]} == {"tea": 60, "rum": 20}  # once a basket
    options = {each["name"]: each["options"] for each in studio.client.get(f"{path}/methods").json()["methods"]}
    assert "metric" not in [option["name"] for option in options["itemsets"]]  # it keeps one loss small, and no other


def test_candidates_are_compared_and_one_is_chosen(studio: Studio) -> None:
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    purpose = {"counts": [["age"], ["sex", "town"]]}
    assert studio.client.patch(f"{path}/spec", json={"tables": {"purpose": purpose}}).status_code == 200
    asked = {"budget": 6, "methods": ["mondrian", "hilbert"]}
    job = studio.finished(path, studio.client.post(f"{path}/comparison", json=asked).json())
    assert job["state"] == "done", job["error"]
    found = studio.client.get(f"{path}/comparison").json()
    assert {row["name"] for row in job["parts"]} == {row["name"] for row in found["candidates"]}
    assert found["advised"] in [row["name"] for row in found["candidates"] if row["made"]]
    assert found["advice"]
    assert found["current"]
    chosen = studio.client.post(f"{path}/comparison/chosen", json={"name": found["advised"]})
    assert chosen.status_code == 200, chosen.text
    assert chosen.json()["steps"][-1] == f"chose {found['advised']}"
    assert chosen.json()["wrong"] is None
    assert studio.client.post(f"{path}/comparison/chosen", json={"name": "magic"}).status_code == 404


def test_comparison_ends_with_the_candidates_so_far(studio: Studio) -> None:
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    job = studio.client.post(f"{path}/comparison", json={"budget": 600}).json()
    with studio.client.stream("GET", f"{path}/jobs/{job['id']}/events") as events:
        for line in events.iter_lines():
            if line and json.loads(line.removeprefix("data: "))["parts"]:
                studio.client.post(f"{path}/jobs/{job['id']}/stop")
                break
    over = studio.finished(path, job)
    assert over["state"] == "done", over["error"]
    found = studio.client.get(f"{path}/comparison").json()["candidates"]
    assert any(row["made"] for row in found)
    assert sum("as you wanted" in (row["reason"] or "") for row in found) > len(found) / 2


def test_work_that_takes_too_much_memory_is_ended_with_a_sentence() -> None:
    small = start("--memory", "0.2")
    try:
        project = small.client.post("/samples", json={"sample": "people"})
        told = project.json().get("error")
        if told is None:  # looking was modest; searching is not
            path = f"/projects/{project.json()['id']}"
            told = small.finished(path, small.client.post(f"{path}/front", json={}).json())["error"]
        assert told["kind"] == "OutOfMemory"
        assert "--memory" in told["message"]
        assert small.client.get("/vocabulary").status_code == 200  # the studio itself goes on
    finally:
        end(small)


def test_visits_are_attacked_as_far_as_that_is_fair(studio: Studio) -> None:
    visits = "patient,town,age\n" + "".join(f"P{n % 50},{'ab'[n % 2]},{20 + n % 5}\n" for n in range(100))
    path = f"/projects/{studio.upload(visits, 'visits.csv')['id']}"
    assert studio.client.post(f"{path}/people", json={"column": "patient"}).status_code == 200
    over = studio.finished(path, studio.client.post(f"{path}/runs", json={"attacks": ["all"]}).json())
    assert over["state"] == "done", over["error"]
    release = studio.client.get(f"{path}/releases/{over['result']['release']}").json()
    assert release["ok"]
    assert release["refined"]
    refused = studio.finished(path, studio.client.post(f"{path}/runs", json={"attacks": ["linkage"]}).json())
    assert "row by row" in refused["error"]["message"]
    assert refused["stages"] == []  # before anything was searched for


def test_any_table_can_be_judged(studio: Studio, made: Any) -> None:
    path, release = made
    table = studio.client.get(f"{path}/releases/{release['id']}/files/release.csv").content
    good = studio.client.post(f"{path}/audit", params={"name": "release.csv"}, content=table)
    assert good.status_code == 200, good.text
    assert good.json()["verdict"]["ok"]
    bad = studio.client.post(f"{path}/audit", params={"name": "people.csv"}, content=PEOPLE).json()
    assert not bad["verdict"]["ok"]


def test_attacks_are_carried_out(studio: Studio, made: Any) -> None:
    path, release = made
    audit = f"{path}/releases/{release['id']}/audit"
    over = studio.finished(path, studio.client.post(audit, json={"attacks": ["linkage"]}).json())
    assert over["state"] == "done", over["error"]
    found = studio.client.get(f"{path}/releases/{release['id']}").json()
    assert found["verdict"]["attacks"]
    assert found["verdict"]["measured"] == release["verdict"]["measured"]  # the run knew more, and its verdict stays
    wrong = studio.client.post(f"{path}/releases/{release['id']}/audit", json={"attacks": ["magic"]})
    assert wrong.status_code == 422
    assert "magic" in wrong.json()["error"]["message"]


def test_project_is_saved_as_one_file_and_opened_again(studio: Studio, made: Any) -> None:
    path, release = made
    saved = studio.client.get(f"{path}/file").content
    opened = studio.upload(saved, "people.ringfence")
    before = studio.client.get(path).json()
    same = ("name", "rows", "columns", "spec", "steps", "at")
    assert {key: opened[key] for key in same} == {key: before[key] for key in same}
    again = studio.client.get(f"/projects/{opened['id']}/releases/{release['id']}").json()
    assert again["files"] == release["files"]
    over = studio.finished(
        f"/projects/{opened['id']}", studio.client.post(f"/projects/{opened['id']}/runs", json={}).json()
    )
    assert over["state"] == "done"


def test_verdicts_of_saved_projects_are_not_believed(studio: Studio, made: Any) -> None:
    """Whoever writes a project's file can write any verdict into it, beside any table."""
    path, release = made
    saved, forged = zipfile.ZipFile(io.BytesIO(studio.client.get(f"{path}/file").content)), io.BytesIO()
    with zipfile.ZipFile(forged, "w") as file:
        for name in saved.namelist():
            is_release = name.endswith("public/release.csv")
            file.writestr(name, PEOPLE.replace("name,", "who,") if is_release else saved.read(name))
    for content, ok in ((forged.getvalue(), False), (studio.client.get(f"{path}/file").content, True)):
        opened = studio.upload(content, "people.ringfence")
        assert [each["ok"] for each in opened["releases"]] == [None]
        where = f"/projects/{opened['id']}"
        came = studio.client.get(f"{where}/releases/{release['id']}").json()
        assert came["saved"]
        assert (came["ok"], came["verdict"], came["headline"], came["kept"]) == (None, None, None, [])
        over = studio.finished(where, studio.client.post(f"{where}/releases/{release['id']}/audit", json={}).json())
        assert over["state"] == "done", over["error"]
        judged = studio.client.get(f"{where}/releases/{release['id']}").json()
        assert judged["ok"] is ok
        assert judged["verdict"]["ok"] is ok
        assert bool(judged["verdict"]["findings"]) is not ok


def test_damaged_projects_are_refused(studio: Studio) -> None:
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as file:
        file.writestr("project.json", "{}")
        file.writestr("../../escaped", "x")
    for content in (b"no zip", outside.getvalue()):
        answer = studio.client.post("/projects", params={"name": "a.ringfence"}, content=content)
        assert answer.status_code == 422
        assert "not a project" in answer.json()["error"]["message"]


def test_wrong_files_get_a_sentence_and_leave_nothing(studio: Studio) -> None:
    cases = {"empty.csv": b"", "head.csv": b"a,b\n", "zeros.csv": b"a,b\n1,\x00\n", "picture.png": b"\x89PNG"}
    for name, content in cases.items():
        answer = studio.client.post("/projects", params={"name": name}, content=content)
        assert answer.status_code == 422, name
        assert answer.json()["error"]["message"], name
    assert studio.client.get("/projects/nothing").status_code == 404


def test_specifications_without_meaning_are_refused_and_nothing_changes(studio: Studio) -> None:
    project = studio.upload(PEOPLE)
    path = f"/projects/{project['id']}"
    for tables, word in (
        ({"privacy": {"k": -1}}, "k"),
        ({"attributes": {"age": {"role": "king"}}}, "king"),
        ({"data": {"source": "/etc/passwd"}}, "data.source"),
        ({"data": {}}, "data.source"),
        ({"attributes": {"agee": {"role": "quasi"}}}, "did you mean 'age'?"),
    ):
        answer = studio.client.patch(f"{path}/spec", json={"tables": tables})
        assert answer.status_code == 422
        assert word in answer.json()["error"]["message"]
    assert studio.client.get(path).json()["spec"] == project["spec"]


def test_long_search_is_stopped_with_the_best_so_far_or_killed(studio: Studio) -> None:
    path = f"/projects/{studio.client.post('/samples', json={'sample': 'people'}).json()['id']}"
    method = {"name": "optimal", "scheme": "set", "metric": "glm", "suppression": 0.02}
    assert studio.client.patch(f"{path}/spec", json={"tables": {"method": method}}).status_code == 200

    def until_it_has_an_answer(job: dict[str, Any]) -> dict[str, Any]:
        for _ in range(600):
            now: dict[str, Any] = studio.client.get(f"{path}/jobs/{job['id']}").json()
            if now["course"] or now["state"] != "running":
                return now
            time.sleep(0.1)
        raise AssertionError("no answer in a minute")

    job = studio.client.post(f"{path}/runs", json={}).json()
    assert until_it_has_an_answer(job)["state"] == "running"
    studio.client.delete(f"{path}/jobs/{job['id']}")
    assert studio.finished(path, job)["state"] == "killed"
    assert studio.client.get(path).json()["releases"] == []

    job = studio.client.post(f"{path}/runs", json={}).json()
    assert until_it_has_an_answer(job)["state"] == "running"
    studio.client.post(f"{path}/jobs/{job['id']}/stop")
    over = studio.finished(path, job)
    assert over["state"] == "done", over["error"]
    release = studio.client.get(f"{path}/releases/{over['result']['release']}").json()
    assert release["ok"]
    assert not release["search"]["optimal"]


def test_formulas_are_escaped_if_asked(studio: Studio) -> None:
    rows = "".join(f"{n % 3},{n % 2}\n" for n in range(60))
    table = "age,note\n" + rows.replace(",1\n", ",=HYPERLINK(1)\n").replace(",0\n", ",-5\n")
    project = studio.upload(table, "formulas.csv")
    path = f"/projects/{project['id']}"
    studio.client.post(f"{path}/roles", json={"column": "age", "role": "quasi"})
    changed = studio.client.post(f"{path}/roles", json={"column": "note", "role": "insensitive"})
    assert changed.status_code == 200, changed.text
    over = studio.finished(path, studio.client.post(f"{path}/runs", json={}).json())
    assert over["state"] == "done", over["error"]
    file = f"{path}/releases/{over['result']['release']}/files/release.csv"
    plain = list(csv.DictReader(io.StringIO(studio.client.get(file).text)))
    safe = list(csv.DictReader(io.StringIO(studio.client.get(file, params={"formulas": "false"}).text)))
    assert {row["note"] for row in plain} == {"=HYPERLINK(1)", "-5"}
    assert {row["note"] for row in safe} == {"'=HYPERLINK(1)", "-5"}


def test_everything_is_described(studio: Studio) -> None:
    described = studio.client.get("/openapi.json").json()
    assert len(described["paths"]) > 20
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path} says nothing of itself"


def test_memory_is_bounded_and_shown(studio: Studio, made: Any) -> None:
    path, _ = made
    studio.client.post(f"{path}/hierarchies/age")
    memory = studio.client.get(path).json()["memory"]
    assert 0 < memory["now"] < memory["most"] == 4_000_000_000
    assert memory["disk"] > len(PEOPLE)
