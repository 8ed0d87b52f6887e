"""The studio in a real Chromium: the first page, a table explored after the click, and each move along the front.

`seconds` are what somebody waits, `processor` what the server and its workers take for it: on a busy machine only the
latter tells much. Pages are measured from the click until all is drawn that was asked for.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ringfence.samples import write_people

if TYPE_CHECKING:
    from playwright.sync_api import Page

LARGE = 300_000
MOVES = 12
TICKS = os.sysconf("SC_CLK_TCK")


def measure(_: Path) -> Iterator[dict[str, Any]]:
    """Yield what each step of the way takes; the real data is not needed."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "ringfence", "studio", "--port", "0", "--no-browser", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"]
    try:
        with sync_playwright() as playwright, TemporaryDirectory() as temporary:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(180_000)
            page.goto(address)
            yield from _walk(page, server.pid, "30,000 rows, a sample", lambda: page.click("[data-sample=people]"))
            spec = write_people(Path(temporary), LARGE)
            source = tomllib.loads(spec.read_text(encoding="utf-8"))["data"]["source"]
            page.goto(address)
            large = Path(temporary) / source
            yield from _walk(page, server.pid, "300,000 rows", lambda: page.set_input_files("#file", large))
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


def _walk(page: "Page", server: int, table: str, open_it: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    time.sleep(5)  # until all is loaded

    def timed(what: str, act: Callable[[], Any]) -> dict[str, Any]:
        processor, start = _processor_seconds(server), time.perf_counter()
        act()
        seconds = time.perf_counter() - start
        return {
            "table": table,
            "what": what,
            "seconds": round(seconds, 2),
            "processor": round(_processor_seconds(server) - processor, 2),
        }

    def until_drawn(selector: str) -> None:
        page.wait_for_selector(selector)
        page.wait_for_selector(".chart canvas >> nth=2")

    yield timed("first page", page.reload)

    def opened() -> None:
        open_it()
        page.wait_for_selector("text=What is in the table?")

    yield timed("opened", opened)

    def explored() -> None:
        page.click("[data-step=explore]")
        until_drawn("[data-k]")

    yield timed("explored", explored)

    def moved() -> None:
        before = page.get_attribute("[data-k]", "data-k")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"[data-k]:not([data-k='{before}'])")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    page.focus("#front-k")
    moves = [timed("a move along the front", moved) for _ in range(MOVES)]
    yield sorted(moves, key=lambda move: move["seconds"])[MOVES // 2]


def _processor_seconds(session: int) -> float:
    """Return the processor's time of all processes of a session, those that have ended included."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            total += sum(int(fields[place]) for place in (11, 12, 13, 14))
    return total / TICKS
