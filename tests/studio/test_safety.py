"""Who gets in, and who does not."""

import gzip
import io
import signal
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from ringfence.cli import main
from ringfence.rows.staging import staging
from ringfence.studio.bodies import MOST_JSON
from ringfence.studio.projects import Projects
from ringfence.studio.serve import FOLDER
from ringfence.studio.worker import Ending, Killed, Worker
from tests.studio.conftest import PEOPLE, Studio, end, start

Patch = pytest.MonkeyPatch

pytestmark = pytest.mark.xdist_group("studio")


@pytest.fixture
def path(studio: Studio) -> str:
    """A project's path."""
    return f"/api/projects/{studio.upload(PEOPLE)['id']}"


def test_without_token_or_session_nothing_is_shown(studio: Studio, path: str) -> None:
    with httpx.Client(base_url=studio.base) as stranger:
        for each in (path, f"{path}/file", f"{path}/jobs/x/events", "/api/openapi.json", "/api/vocabulary"):
            assert stranger.get(each).status_code == 401, each
        assert stranger.get("/p/anything").headers["location"] == "/login"
        assert stranger.get("/static/studio.js").status_code == 303
        wrong = stranger.get(path, headers={"Authorization": "Bearer " + "x" * 32})
        assert wrong.status_code == 401
        assert stranger.post("/api/session", data={"token": "x"}).status_code == 403
        welcome = stranger.post("/api/session", data={"token": studio.token})
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        root = welcome.headers["location"].rstrip("/")
        assert f"path={root};" in cookie.lower().replace(root.lower(), root) + ";"  # other ports do not get it
        assert len(root) > 20
        assert stranger.get(f"{root}{path}").status_code == 200
        everywhere = {"Cookie": cookie.split(";")[0]}
        assert stranger.get(path, headers=everywhere).status_code == 401  # only where the cookie belongs


def test_address_that_opens_a_browser_lets_in_once(studio: Studio, opened: Path) -> None:
    """Others on the machine can read the command line of a browser."""
    for _ in range(100):
        if opened.exists() and opened.read_text(encoding="utf-8").endswith("\n"):
            break
        time.sleep(0.1)
    address = opened.read_text(encoding="utf-8").strip()
    assert address.startswith(f"{studio.base}/?token=")
    assert studio.token not in address
    assert "set-cookie" in httpx.get(address).headers
    assert "set-cookie" not in httpx.get(address).headers
    for _ in range(2):  # unlike the one that is printed
        assert "set-cookie" in httpx.get(studio.address).headers


def test_other_hosts_and_origins_are_refused_even_with_the_session(studio: Studio, path: str) -> None:
    with httpx.Client(base_url=studio.base) as browser:
        root = browser.get(f"/?token={studio.token}").headers["location"].rstrip("/")
        path = f"{root}{path}"
        assert browser.get(path).status_code == 200
        port = studio.base.rsplit(":", 1)[1]
        events = f"{path}/jobs/x/events"
        for each in (path, events, f"{root}/", "/login"):
            assert browser.get(each, headers={"Host": f"evil.example:{port}"}).status_code == 421
            for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{port}"):
                assert browser.get(each, headers={"Origin": origin}).status_code == 403
            for site in ("cross-site", "same-site"):
                assert browser.get(each, headers={"Sec-Fetch-Site": site}).status_code == 403
            both = [("Origin", studio.base), ("Origin", "http://evil.example")]
            assert browser.get(each, headers=both).status_code == 403
        change = {"tables": {"privacy": {"k": 2}}}
        assert browser.patch(f"{path}/spec", json=change).status_code == 403  # it does not say where from
        assert browser.patch(f"{path}/spec", json=change, headers={"Origin": studio.base}).status_code == 200


def test_pages_may_run_nothing_but_our_own_script(studio: Studio) -> None:
    answer = httpx.get(f"{studio.base}/login")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    for name in ("home", "login", "project", "base"):
        source = (Path(__file__).parents[2] / f"src/ringfence/studio/pages/{name}.html.jinja").read_text()
        assert "style=" not in source
        assert "onclick" not in source
        assert "http://" not in source.replace("http://www.w3.org", "")
        assert "https://" not in source


def test_reports_may_run_no_script_at_all(studio: Studio, made: Any) -> None:
    project, release = made
    file = f"{project}/releases/{release['id']}/files/report.html"
    shown = studio.client.get(file, params={"shown": "true"})
    assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "attachment" in studio.client.get(file).headers["content-disposition"]


def test_files_outside_of_a_release_cannot_be_taken(studio: Studio, made: Any) -> None:
    project, release = made
    base = f"{project}/releases/{release['id']}/files"
    for name in ("..%2F..%2Fpeople.csv", "%2Fetc%2Fpasswd", "people.csv"):
        assert studio.client.get(f"{base}/{name}").status_code == 404
    for name in ("studio.py", "..%2Fserve.py", "%2Fetc%2Fpasswd"):
        assert httpx.get(
            f"{studio.base}/static/{name}", headers={"Authorization": f"Bearer {studio.token}"}
        ).status_code in (404, 405)


def test_names_of_uploads_stay_in_their_folder(studio: Studio) -> None:
    assert studio.upload(PEOPLE, "../../../tmp/people.csv")["name"] == "people.csv"
    assert studio.upload(PEOPLE, "a\\b<script>.csv")["name"] == "b_script_.csv"


def test_uploads_are_limited_and_folders_are_private_and_removed(tmp_path: Path) -> None:
    studio = start("--upload-limit", "1", TMPDIR=str(tmp_path))
    try:
        (folder,) = tmp_path.glob("ringfence-studio-*")
        assert folder.stat().st_mode & 0o077 == 0
        large = studio.client.post("/projects", params={"name": "a.csv"}, content=b"a,b\n" + b"1,2\n" * 300_000)
        assert large.status_code == 413
        assert "larger than 1 MB" in large.json()["error"]["message"]
        for name, packed in (("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 300_000)), ("a.xlsx", zeros())):
            assert len(packed) < 100_000
            bomb = studio.client.post("/projects", params={"name": name}, content=packed)
            assert bomb.status_code == 413, name
            assert "unpacks to more" in bomb.json()["error"]["message"]
        project = studio.upload(PEOPLE)
        assert (folder / project["id"]).is_dir()
        assert studio.client.delete(f"/projects/{project['id']}").status_code == 204
        assert not (folder / project["id"]).exists()
        assert (folder / studio.upload(PEOPLE)["id"]).is_dir()
    finally:
        ended = end(studio)
    assert ended == 0
    assert not folder.exists()


def zeros() -> bytes:
    """A small archive of something large."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", b"0" * 30_000_000)
    return found.getvalue()


def test_closing_all_gives_up_what_is_being_opened(tmp_path: Path) -> None:
    projects, desk = Projects(tmp_path, 1), Worker(tmp_path, 1)
    killed: list[bool] = []
    desk.kill = lambda: killed.append(True)  # type: ignore[method-assign]
    with projects.opening(desk):
        projects.close_all()
    assert killed == [True]
    projects.close_all()
    assert killed == [True]


def test_specifications_do_not_reach_out_of_their_project(studio: Studio, path: str) -> None:
    """Who has the token of a studio for several people still has no way to the machine's other files."""
    project = path.removeprefix("/api")
    for file in ("/etc/passwd", "../../../etc/passwd", "..\\people.csv"):
        attribute = {"role": "quasi", "hierarchy": {"file": file, "delimiter": ":"}}
        looked = studio.client.post(f"{project}/hierarchies/town", json=attribute)
        changed = studio.client.patch(f"{project}/spec", json={"tables": {"attributes": {"town": attribute}}})
        for answer in (looked, changed):
            assert answer.status_code == 422
            assert "not a file of this project" in answer.json()["error"]["message"]
    out = studio.client.patch(
        f"{project}/spec", json={"tables": {"output": {"to": "postgresql://localhost/x", "table": "t"}}}
    )
    assert "stays in its project" in out.json()["error"]["message"]
    for tables in ({"attributes": 5}, {"data": None}, {"data": 5}, {"privacy": [1]}):
        assert studio.client.patch(f"{project}/spec", json={"tables": tables}).status_code == 422, tables

    saved = zipfile.ZipFile(io.BytesIO(studio.client.get(f"{project}/file").content))
    content = saved.read("project.json").decode().replace('"source": "people.csv"', '"source": "/etc/passwd"')
    changed_file = io.BytesIO()
    with zipfile.ZipFile(changed_file, "w") as archive:
        archive.writestr("project.json", content)
        archive.writestr("files/passwd", PEOPLE)
    opened = studio.client.post("/projects", params={"name": "a.ringfence"}, content=changed_file.getvalue())
    assert opened.status_code == 422
    assert "data.source" in opened.json()["error"]["message"]


def test_files_do_not_stand_in_the_way_of_releases(studio: Studio, path: str) -> None:
    project = path.removeprefix("/api")
    for name in ("releases", "judged", "people.csv"):
        added = studio.client.post(f"{project}/files", params={"name": name}, content="a;b\n").json()
        assert added["file"] == f"2-{name}"
    again = studio.client.post(f"{project}/files", params={"name": "people.csv"}, content="c;d\n").json()
    assert again["file"] == "3-people.csv"  # what earlier steps speak of stays


def test_requests_are_limited_before_they_are_read(studio: Studio, path: str) -> None:
    long = b'{"tables": {}, "what": "' + b"x" * MOST_JSON + b'"}'
    cases: list[tuple[str, str, bytes | Iterator[bytes]]] = [
        ("PATCH", f"{path}/spec", long),
        ("PATCH", f"{path}/spec", iter([long])),  # which does not say how long it is
        ("POST", f"{path}/hierarchies/age", long),
        ("POST", "/api/session", b"token=" + b"x" * 100_000),
    ]
    for method, where, content in cases:
        headers = {"Authorization": f"Bearer {studio.token}", "Content-Type": "application/json"}
        with httpx.Client(base_url=studio.base, headers=headers, timeout=60) as client:
            answer = client.request(method, where, content=content)
        assert answer.status_code == 413, where
        assert "bytes" in answer.json()["error"]["message"]


def test_whatever_goes_wrong_has_one_shape(studio: Studio, path: str) -> None:
    project = path.removeprefix("/api")
    as_json = {"Content-Type": "application/json"}
    for status, answer in (
        (404, studio.client.get("/nothing")),
        (405, studio.client.put(project)),
        (400, studio.client.patch(f"{project}/spec", content=b"[" * 100_000, headers=as_json)),
        (400, studio.client.patch(f"{project}/spec", content=b"\xff", headers=as_json)),
        (422, studio.client.patch(f"{project}/spec", content=b"{", headers=as_json)),
        (422, studio.client.post(f"{project}/comparison", json={"methods": []})),
    ):
        assert answer.status_code == status, answer.text
        assert {*answer.json()["error"]} == {"kind", "message"}


def test_databases_do_not_read_other_files(studio: Studio, tmp_path: Path) -> None:
    """A view of a database that somebody uploads could name any file of the machine."""
    (tmp_path / "secret.csv").write_text("name,illness\nAnn,flu\nBob,cold\n", encoding="utf-8")
    for name, view, status in (
        ("good", "SELECT range % 7 AS age, 'x' AS town FROM range(50)", 201),
        ("text", f"SELECT content AS a, 1 AS b FROM read_text('{tmp_path}/secret.csv')", 422),
        ("scan", f"SELECT * FROM '{tmp_path}/secret.csv'", 422),
    ):
        with duckdb.connect(tmp_path / f"{name}.duckdb") as made:
            made.execute(f"CREATE VIEW v AS {view}")
        content = (tmp_path / f"{name}.duckdb").read_bytes()
        answer = studio.client.post("/projects", params={"name": f"{name}.duckdb"}, content=content)
        assert answer.status_code == status, answer.text
        assert status == 201 or "reads from outside of its file" in answer.json()["error"]["message"]


def test_work_that_is_ended_before_it_begins_does_not_begin(tmp_path: Path) -> None:
    worker = Worker(tmp_path, 10**10)
    with pytest.raises(Killed):
        worker.do("draft", None, Ending(killed=True), source="nothing.csv")
    assert worker.memory == 0


def test_token_leaves_the_address_and_goes_nowhere(studio: Studio) -> None:
    welcome = httpx.get(studio.address)
    assert studio.token not in welcome.headers["location"]
    assert welcome.headers["referrer-policy"] == "no-referrer"
    assert studio.token not in httpx.get(f"{studio.base}/login", params={"token": studio.token}).text


TOLD_WHILE_IT_ANSWERS = """
import os, runpy
from ringfence.studio.guard import Guard

answer = Guard.__call__

async def told_to_end(self, scope, receive, send):
    async def sent(message):
        os.kill(os.getpid(), {signal})
        await send(message)
    await answer(self, scope, receive, sent if scope["type"] == "http" else send)

Guard.__call__ = told_to_end
runpy.run_module("ringfence", run_name="__main__")
"""


@pytest.mark.parametrize("told_by", [signal.SIGTERM, signal.SIGHUP])
def test_studio_that_is_told_to_end_while_it_answers_leaves_nothing(tmp_path: Path, told_by: signal.Signals) -> None:
    told = start(run=("-c", TOLD_WHILE_IT_ANSWERS.format(signal=int(told_by))), TMPDIR=str(tmp_path))
    assert [*tmp_path.glob("ringfence-studio-*")]
    try:
        told.upload(PEOPLE)
    finally:
        ended = end(told, by=None)
    assert ended == 0
    assert not [*tmp_path.glob("ringfence-studio-*")]


def test_what_a_killed_studio_leaves_is_swept(tmp_path: Path) -> None:
    first = start(TMPDIR=str(tmp_path))
    project = first.upload(PEOPLE)["id"]
    (left,) = tmp_path.glob("ringfence-studio-*")
    assert (left / project).is_dir()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(10)
    first.client.close()
    assert first.process.stdout is not None
    first.process.stdout.close()
    assert left.exists()
    with staging(tmp_path, FOLDER):  # as the next one does first of all
        assert not left.exists()


@pytest.mark.parametrize(
    ("host", "token", "word"),
    [
        ("192.0.2.1", None, "demands a token"),
        ("192.0.2.1", "short", "demands a token"),
        ("0.0.0.0", "x" * 20, "every address"),
        ("192.0.2.1", "x" * 20, "cannot serve"),
    ],
)
def test_another_host_demands_a_token(
    host: str, token: str | None, word: str, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RINGFENCE_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("RINGFENCE_TOKEN", token)
    monkeypatch.setattr(sys, "argv", ["ringfence", "studio", "--no-browser", "--port", "0", "--host", host])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert word in capsys.readouterr().err
