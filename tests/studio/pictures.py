"""The pictures of docs/studio.md and the README, taken anew in a real browser: `python -m tests.studio.pictures`."""

import shutil
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ringfence.samples import write_people
from tests.studio.conftest import Studio, end, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = Path(__file__).parents[2] / "docs"
WIDTH, PATIENT = 1280, 180_000


def main() -> None:
    """Walk through the steps on sample data, and take a picture of those that show most."""
    from playwright.sync_api import sync_playwright

    studio = start()
    try:
        project = people(studio)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": 800})
            page.set_default_timeout(PATIENT)
            page.goto(studio.address)
            page.goto(f"{page.url}p/{project}#hierarchies")
            take_all(page)
            browser.close()
    finally:
        end(studio)


def people(studio: Studio) -> str:
    """Open the sample of people as it comes, but for names in scripts that not every machine has letters for."""
    with TemporaryDirectory() as folder:
        spec = tomllib.loads(write_people(Path(folder), 30_000).read_text(encoding="utf-8"))
        lines = (Path(folder) / spec["data"]["source"]).read_text(encoding="utf-8").splitlines(keepends=True)
    project: str = studio.upload("".join(line for line in lines if max(line) < "\u0250"))["id"]
    parts = {name: spec[name] for name in ("attributes", "privacy", "method")}
    answer = studio.client.patch(f"/projects/{project}/spec", json={"tables": parts, "what": "the sample's own"})
    assert answer.status_code == 200, answer.text
    return project


def take_all(page: "Page") -> None:
    """Take every picture, in the order of the steps."""
    page.click("button:text-is('education')")
    page.wait_for_selector("#widths, .tree >> text=Tertiary")
    take(page, "hierarchies", 860)
    page.click("[data-step=explore]")
    page.wait_for_selector("[data-k]")
    page.select_option("#overlay", "cut")
    page.click("#lay")
    page.wait_for_selector("#job-kill")
    page.wait_for_selector("#job-kill", state="detached")
    page.wait_for_selector("[data-k]")
    page.wait_for_selector(".chart canvas >> nth=2")
    take(page, "explore", 1190)
    page.click("[data-step=compare]")
    page.click("#compare")
    page.wait_for_selector("#use-advised")
    while page.locator("#candidates input:checked").count() < min(4, page.locator("#candidates tbody tr").count()):
        page.locator("#candidates input:not(:checked):not([disabled])").first.click()
        page.wait_for_selector("main:not([aria-busy])")
        page.wait_for_selector("#candidates")
    take(page, "compare", 1450)
    page.click("[data-step=publish]")
    page.check("#attacks")
    page.click("#make")
    page.wait_for_selector("#verdict")
    take(page, "publish", 1120)


def take(page: "Page", name: str, height: int) -> None:
    """Take a picture of the page from its top."""
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(1000)  # charts are drawn on canvas, which no selector sees
    page.screenshot(
        path=DOCS / f"studio-{name}.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": height}, full_page=True
    )


if __name__ == "__main__":
    main()
