"""One studio and one browser for all tests of the studio: the real ones."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PEOPLE = "name,age,sex,town,illness\n" + "".join(
    f"N{n},{20 + n % 40},{'fm'[n % 2]},{('Oslo', 'Bergen', 'Hamar')[n % 3]},{('flu', 'cold', 'gout')[n % 3 * n % 3]}\n"
    for n in range(400)
)


class Studio:
    """A studio that runs: where it is, its token, and a client that has it."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process, self.address = process, address
        self.base, self.token = address.split("/?token=")
        self.client = httpx.Client(
            base_url=f"{self.base}/api", headers={"Authorization": f"Bearer {self.token}"}, timeout=120
        )

    def upload(self, content: str | bytes, name: str = "people.csv") -> dict[str, Any]:
        """Open a project on a table."""
        answer = self.client.post("/projects", params={"name": name}, content=content)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def finished(self, path: str, job: dict[str, Any]) -> dict[str, Any]:
        """Listen to a job until it is over, and return it."""
        last: dict[str, Any] = {}
        with self.client.stream("GET", f"{path}/jobs/{job['id']}/events") as events:
            for line in events.iter_lines():
                if line:
                    last = json.loads(line.removeprefix("data: "))
        assert last["state"] != "running"
        return last


RUN = ("-m", "ringfence")


def start(*arguments: str, run: tuple[str, ...] = RUN, **environment: str) -> Studio:
    """Start a studio of its own."""
    process = subprocess.Popen(
        [sys.executable, *run, "studio", "--port", "0", "--no-browser", "--json", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    assert process.stdout is not None
    return Studio(process, json.loads(process.stdout.readline())["address"])


def end(studio: Studio, by: signal.Signals | None = signal.SIGINT) -> int:
    """End a studio as Ctrl-C does, or by another signal, or wait until it ends itself; return its exit code.

    The process that its workers would have come from may still be loading what they need: nobody waits for that.
    """
    studio.client.close()
    if by is not None:
        studio.process.send_signal(by)
    try:
        return studio.process.wait(30)
    finally:
        with contextlib.suppress(ProcessLookupError):  # they have ended
            os.killpg(studio.process.pid, signal.SIGKILL)
        studio.process.communicate()


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the address is written that the shared studio opens a browser with."""
    return tmp_path_factory.mktemp("browser") / "opened"


@pytest.fixture(scope="session")
def studio(opened: Path) -> Iterator[Studio]:
    """The studio that all tests share."""
    found = start("--browser", BROWSER=f"sh -c 'echo %s > {opened}'")
    yield found
    end(found)


@pytest.fixture(scope="module")  # a studio forgets projects that were not looked at for long
def made(studio: Studio) -> tuple[str, dict[str, Any]]:
    """A project on a small table, and a release of it."""
    path = f"/projects/{studio.upload(PEOPLE)['id']}"
    over = studio.finished(path, studio.client.post(f"{path}/runs", json={}).json())
    assert over["state"] == "done", over["error"]
    return path, studio.client.get(f"{path}/releases/{over['result']['release']}").json()


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """The browser that all tests share: Debian's Chromium. Without one they are left out, but not under CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        reason = "there is no Chromium here to look at the studio with"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()
