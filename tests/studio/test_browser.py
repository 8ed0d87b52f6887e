"""The studio for people, in a real browser: from a table to files on the disk."""

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.studio.conftest import PEOPLE, Studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Route
    from playwright.sync_api._generated import LocatorAssertions

pytestmark = pytest.mark.xdist_group("studio")

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
PATIENT = 120_000  # milliseconds that something may take on a busy machine


@pytest.fixture
def page(studio: Studio, browser: "Browser") -> "Iterator[Page]":
    """A new browser with nothing in it, which has been let in. Whatever a page complains about fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENT)
    complaints: list[str] = []
    found = context.new_page()
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
    found.goto(studio.address)
    yield found
    context.close()
    assert complaints == []


def is_complaint(said: "ConsoleMessage") -> bool:
    """Whether a browser says that a page does what it may not. That a request was refused is the server's answer."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


def load(page: "Page", content: str, name: str = "people.csv") -> None:
    """Pick a file on the first page."""
    page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content.encode()})


def seen(page: "Page", selector: str) -> "LocatorAssertions":
    """What is said of an element and waited for. Not by `wait_for_function`: it evaluates text within the page again
    and again, which the page's own policy forbids, so it works only where the first look is enough."""
    from playwright.sync_api import expect

    return expect(page.locator(selector))


def settled(page: "Page") -> None:
    """Wait until the page has the answers to all that was asked for."""
    page.wait_for_selector("main:not([aria-busy])")


def step(page: "Page", name: str) -> None:
    """Go to a step of the way."""
    page.click(f"[data-step={name}]")


def test_people_from_upload_to_download(page: "Page", tmp_path: Path) -> None:
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    assert "400 rows" in page.inner_text("#content")
    page.check("#role-4-sensitive", force=True)
    settled(page)
    step(page, "promise")
    page.wait_for_selector("#k-20")
    page.evaluate("for (const id of ['k-20', 'k-3', 'k-10']) document.getElementById(id).click()")  # in a hurry
    page.wait_for_selector("#k-10[aria-pressed=true]")
    page.check("#method-mondrian")
    page.wait_for_selector(".chosen #method-mondrian")
    assert [f"k = {k}" in (page.text_content("#steps") or "") for k in (20, 3, 10)] == [True, True, True]
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector("#verdict")
    assert page.inner_text("#verdict") == "The promise holds"
    assert "k = 10" in page.inner_text("#content")
    with page.expect_download() as taken:
        page.click("a[download=people-release\\.csv]")
    taken.value.save_as(tmp_path / "release.csv")
    published = (tmp_path / "release.csv").read_text(encoding="utf-8").splitlines()
    assert published[0] == "age,sex,town,illness"
    with page.expect_download() as taken:  # as drafted
        page.click("a[download=counts\\.csv]")
    assert taken.value.path().read_text(encoding="utf-8").startswith("attribute,value,rows")
    assert page.locator("text=keep private").count() >= 4
    page.click("text=↶ Undo")
    page.wait_for_selector("#content strong:has-text('local')")


def test_explore_and_use_a_point(page: "Page") -> None:
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    step(page, "explore")
    page.wait_for_selector("[data-k]")
    page.wait_for_selector(".chart canvas")
    before = page.inner_text("#front-words")
    page.focus("#front-k")
    page.keyboard.press("ArrowRight")
    seen(page, "#front-words").not_to_have_text(before, timeout=PATIENT)
    words = page.inner_text("#front-words")
    k = words.split(":")[0].removeprefix("k = ")
    page.wait_for_selector(f"[data-k='{k}']")
    assert page.locator("tr.after").count() > 0
    page.click("#use")
    page.wait_for_selector(f"#content strong:has-text('k = {k}')")
    page.reload()
    page.wait_for_selector(f"#content strong:has-text('k = {k}')")


def test_values_are_text_and_never_markup(page: "Page") -> None:
    column = HOSTILE.replace('"', '""')
    rows = "".join(f'"{column}",{20 + n % 9}\n' for n in range(60))
    load(page, f'"{column}",age\n{rows}', "hostile.csv")
    page.wait_for_selector("text=What is in the table?")
    assert page.locator("th", has_text=HOSTILE).count() >= 2
    assert page.locator("td", has_text=HOSTILE).count() >= 2
    assert page.locator("#content img").count() == 0
    page.check("#role-0-quasi", force=True)
    settled(page)
    for name, sign in (("hierarchies", ".tree"), ("promise", "#method-local"), ("compare", "#compare")):
        step(page, name)
        page.wait_for_selector(sign)
        assert page.locator("#content img").count() == 0, name
    step(page, "explore")
    page.wait_for_selector("[data-k]")
    page.hover(".chart canvas", position={"x": 60, "y": 100})
    page.click("#history summary")
    assert HOSTILE in page.inner_text("#steps")
    page.click("#history summary")
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector("#verdict")
    assert page.locator("#content img, #steps img, #vg-tooltip-element img").count() == 0
    assert "owned" not in page.title()


def test_wrong_file_is_told_on_the_page(page: "Page") -> None:
    load(page, "", "empty.csv")
    page.wait_for_selector("text=the file is empty")
    load(page, "no table", "picture.png")
    page.wait_for_selector("#problem .error")
    load(page, PEOPLE)  # and it goes on
    page.wait_for_selector("text=What is in the table?")


def test_what_cannot_be_is_told_and_one_goes_on(page: "Page") -> None:
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    step(page, "promise")
    page.fill("#k", "2.5")
    page.press("#k", "Tab")
    page.wait_for_selector("#problem >> text=whole number")
    page.fill("#k", "500")
    page.press("#k", "Tab")
    settled(page)
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector(".error >> text=cannot be published with k = 500")
    page.wait_for_selector("#make:not([disabled])")
    step(page, "hierarchies")
    page.click("button:text-is('town')")
    page.wait_for_selector("h2:has-text('town')")  # ages are covered as well
    page.wait_for_selector("text=Every value of the table is covered")
    kinds = page.locator("#kind option").evaluate_all("each => each.map((option) => option.value)")
    assert {"flat", "mask", "fanout", "paths"} <= {*kinds}
    assert not {"intervals", "dates"} & {*kinds}  # towns are neither
    page.click("button:text-is('age')")
    page.fill("#widths", "5, ten")
    page.press("#widths", "Tab")
    page.wait_for_selector("#problem >> text=ten")
    step(page, "promise")
    page.click("#k-3")
    page.wait_for_selector("#k-3[aria-pressed=true]")
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector("#verdict >> text=The promise holds")


def test_saved_project_is_audited_again(page: "Page", studio: Studio, made: Any) -> None:
    path, _ = made
    saved = studio.client.get(f"{path}/file").content
    page.set_input_files("#file", {"name": "a.ringfence", "mimeType": "application/zip", "buffer": saved})
    page.wait_for_selector("text=What is in the table?")
    step(page, "publish")
    page.wait_for_selector("#verdict >> text=The promise holds")
    assert "was audited here just now" in page.inner_text("#content")
    page.click("#attack")
    page.wait_for_selector("text=what an adversary does")


def test_tabs_have_projects_of_their_own(page: "Page") -> None:
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    other = page.context.new_page()
    other.goto(f"{page.url.split('/p/')[0]}/")
    other.wait_for_selector("#samples")
    assert "people.csv" not in other.content()
    load(other, "age,sex\n" + "".join(f"{20 + n % 5},{'fm'[n % 2]}\n" for n in range(80)), "others.csv")
    other.wait_for_selector("text=80 rows")
    page.reload()
    page.wait_for_selector("text=400 rows")
    assert "others.csv" not in page.content()


def test_work_goes_on_when_the_page_is_closed_and_can_be_killed(page: "Page") -> None:
    page.click("[data-sample=people]")
    page.wait_for_selector("text=What is in the table?")
    step(page, "promise")
    page.route("**/api/projects/*", late)  # so that the step is drawn anew after the click
    page.select_option("#option-scheme", "set")
    step(page, "publish")
    page.click("#make")  # at once: it waits for the change
    page.wait_for_selector("#job-kill")
    page.unroute("**/api/projects/*")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#job-stop:not([disabled])")
    step(page, "table")
    page.wait_for_selector("text=What is in the table?")
    step(page, "publish")  # what goes on is still there
    page.click("#job-kill")
    page.wait_for_selector("text=Nothing was kept")
    page.wait_for_selector("#make:not([disabled])")  # and it can be made after all


def late(route: "Route") -> None:
    """Answer after half a second."""
    sleep(0.5)
    route.continue_()


def test_visits_from_sample_to_download(page: "Page") -> None:
    page.click("[data-sample=visits]")
    page.wait_for_selector("text=What is in the table?")
    assert page.is_checked("#people-yes")
    step(page, "promise")
    page.wait_for_selector("#method-local")
    assert page.locator("#method-ring").count() == 0  # it counts rows, not people
    page.check("#method-mondrian")
    page.wait_for_selector(".chosen #method-mondrian")
    page.uncheck("#counts")
    page.wait_for_selector("#steps:has-text('no counts of values')", state="attached")
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector("#verdict")
    assert page.inner_text("#verdict") == "The promise holds"
    assert page.locator("a[download=counts\\.csv]").count() == 0
    with page.expect_download() as taken:
        page.click("a[download=visits-release\\.csv]")
    assert taken.value.path().stat().st_size > 10_000


def test_baskets_from_sample_to_download(page: "Page") -> None:
    page.click("[data-sample=baskets]")
    page.wait_for_selector("text=What is in the table?")
    assert "null" not in page.inner_text("#content")
    assert "k counts baskets, not people" in page.inner_text("#content")
    assert page.locator("#people-yes").count() == 0
    step(page, "hierarchies")
    page.wait_for_selector("text=Every item of the table is covered")
    page.click("#group")
    page.wait_for_selector("text=Tick below what belongs together")
    for item in ("toothpaste", "soap"):
        page.check(f"[aria-label='Pick {item}']")
    page.fill("#group-name", "Washing")
    page.click("#group")
    page.wait_for_selector("li:has(> .leaf [aria-label='Pick Washing']) [aria-label='Pick soap']")
    page.check("[aria-label='Pick Washing']")
    page.fill("#group-name", "Cleanliness")
    page.click("#rename")
    page.wait_for_selector("li:has(> .leaf [aria-label='Pick Cleanliness']) >> text=never beyond this")
    step(page, "explore")
    page.wait_for_selector("text=Baskets go straight to the release")
    step(page, "publish")
    page.click("#make")
    page.wait_for_selector("#verdict")
    assert page.inner_text("#verdict") == "The promise holds"
    assert "The first baskets, before and after" in page.inner_text("#content")
    with page.expect_download() as taken:
        page.click("a[download^=baskets-release]")
    assert taken.value.path().stat().st_size > 10_000


def test_many_columns_with_long_names_keep_their_shape(page: "Page", studio: Studio) -> None:
    names = [f"answer_{n:02d}_of_a_survey_whose_columns_have_long_names" for n in range(24)]
    rows = "".join(",".join(str((n * at) % 7) for at in range(1, 25)) + "\n" for n in range(60))
    load(page, f"{','.join(names)}\n{rows}", "wide.csv")
    page.wait_for_selector("text=What is in the table?")
    choice = page.locator("fieldset.choice").first.bounding_box()
    assert choice is not None
    assert choice["height"] < 40, "roles stand in one line"
    path = f"/projects/{page.url.split('/p/')[1].split('#')[0]}"
    roles = {"attributes": {name: {"role": "quasi"} for name in names}}
    assert studio.client.patch(f"{path}/spec", json={"tables": roles}).status_code == 200
    page.reload()
    page.wait_for_selector("#role-23-quasi:checked")
    step(page, "hierarchies")
    page.wait_for_selector(".tree")
    page.click("#column-23")
    page.wait_for_selector("#column-23[aria-pressed=true]")
    page.wait_for_selector(".tree")
    tabs, last = page.locator(".tabs").bounding_box(), page.locator("#column-23").bounding_box()
    assert tabs is not None
    assert last is not None
    assert tabs["height"] < 200
    assert tabs["y"] <= last["y"] <= tabs["y"] + tabs["height"] - last["height"] / 2, "the chosen one is in sight"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tree_is_made_by_grouping_values(page: "Page") -> None:
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    step(page, "hierarchies")
    page.click("button:text-is('town')")
    page.wait_for_selector("text=Every value of the table is covered")
    for town in ("Oslo", "Hamar"):
        page.check(f"[aria-label='Pick {town}']")
    page.fill("#group-name", "East")
    page.click("#group")
    page.wait_for_selector("[aria-label='Pick East']")
    page.click("li:has([aria-label='Pick East']) >> text=never beyond this")
    page.wait_for_selector("text=may not be passed")
    step(page, "promise")
    page.click("text=↶ Undo")
    settled(page)
    step(page, "hierarchies")
    page.wait_for_selector("text=never beyond this")


def test_pages_serve_everyone(page: "Page", studio: Studio) -> None:
    """Every step, empty and finished, light and dark, by axe-core at WCAG AA; at twice the size nothing hangs over the
    edge."""
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    every = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    of_colours = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}

    def judged(where: str, rules: dict[str, Any] = every) -> None:
        found = axe.run(page, options={"runOnly": rules}).response["violations"]
        told = [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]
        assert told == [], where

    judged("home")
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    ready = {
        "table": "#role-0-quasi",
        "hierarchies": ".tree",
        "promise": "#method-local",
        "explore": "[data-k]",
        "compare": "#compare",
        "publish": "#make",
    }

    def judged_both_ways(name: str, sign: str) -> None:
        step(page, name)
        page.wait_for_selector(sign)
        judged(name)
        page.click("#theme")
        page.wait_for_selector(sign)
        judged(f"{name}, dark", of_colours)  # all else is the same
        page.click("#theme")

    for name, sign in ready.items():
        judged_both_ways(name, sign)
    path = f"/projects/{page.url.split('/p/')[1].split('#')[0]}"
    asked = {"budget": 5, "methods": ["hilbert"]}
    studio.finished(path, studio.client.post(f"{path}/comparison", json=asked).json())
    studio.finished(path, studio.client.post(f"{path}/runs", json={"attacks": ["linkage"]}).json())
    page.reload()
    finished = {"publish": "#verdict", "compare": "#use-advised"}
    for name, sign in finished.items():
        judged_both_ways(name, sign)
    page.click("#history summary")
    judged("history")
    page.click("#history summary")
    page.set_viewport_size({"width": 640, "height": 400})  # what 1280 x 800 is at 200 %
    for name, sign in {**ready, **finished}.items():
        step(page, name)
        page.wait_for_selector(sign)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} hangs over the edge"


def test_main_path_by_keyboard_alone(page: "Page") -> None:
    def reach(selector: str) -> None:
        for _ in range(600):  # more than once around: a page that is drawn again meanwhile begins from its top
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by keyboard")

    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    reach("#role-0-identifier")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#role-0-quasi:checked")
    seen(page, "#role-0-quasi").to_be_focused(timeout=PATIENT)  # it stays where one was
    page.keyboard.press("ArrowLeft")
    settled(page)
    page.wait_for_selector("#role-0-identifier:checked")
    seen(page, "#role-0-identifier").to_be_focused(timeout=PATIENT)
    reach("[href='#hierarchies'].main")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tree")
    reach("[href='#promise'].main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#method-local")
    reach("[href='#publish']:not([data-step])")
    page.keyboard.press("Enter")
    page.wait_for_selector("#make")
    reach("#make")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    cookies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_page_of_another_origin_gets_nothing(page: "Page", studio: Studio, tmp_path: Path) -> None:
    """The browser has the session; an attacker's page on this very machine, so of the same site, tries everything."""
    load(page, PEOPLE)
    page.wait_for_selector("text=What is in the table?")
    project = page.url.split("/p/")[1].split("#")[0]
    attacks = f"""
    const base = "{page.url.split("/p/")[0]}", path = base + "/api/projects/{project}";  // it knows even that
    window.got = [];
    async function tries(name, attempt) {{
      try {{ window.got.push([name, await attempt()]); }} catch (error) {{ window.got.push([name, "nothing"]); }}
    }}
    const read = async (address, how) => {{
      const answer = await fetch(address, how);
      return answer.type === "opaque" ? "nothing" : await answer.text();
    }};
    const loads = (tag, address) => new Promise((done) => {{
      const node = document.createElement(tag);
      node.onload = () => done("loaded");
      node.onerror = () => done("nothing");
      node.src = address;
      document.body.append(node);
    }});
    window.attack = async () => {{
      await tries("read", () => read(path, {{ credentials: "include" }}));
      await tries("blind", () => read(path, {{ credentials: "include", mode: "no-cors" }}));
      await tries("change", () => read(path + "/history/0", {{ method: "POST", credentials: "include" }}));
      await tries("blind change", () => read(path + "/people", {{
        method: "POST", credentials: "include", mode: "no-cors", body: '{{"column": "name"}}' }}));
      await tries("delete", () => read(path, {{ method: "DELETE", credentials: "include" }}));
      await tries("script", () => loads("script", base + "/static/vega.js"));
      await tries("image", () => loads("img", base + "/favicon.svg"));
      await tries("events", () => new Promise((done) => {{
        const events = new EventSource(path + "/jobs/x/events", {{ withCredentials: true }});
        events.onmessage = () => done("heard");
        events.onerror = () => {{ events.close(); done("nothing"); }};
      }}));
      await tries("frame", () => new Promise((done) => {{
        const frame = document.createElement("iframe");
        frame.onload = () => {{
          try {{ done(frame.contentDocument.body.textContent || "nothing"); }} catch (error) {{ done("nothing"); }}
        }};
        frame.src = "{page.url.split("#")[0]}";
        document.body.append(frame);
      }}));
      return window.got;
    }};
    """
    (tmp_path / "attack.js").write_text(attacks)
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>prize</title><body><script src='attack.js'></script>")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        evil = page.context.new_page()
        evil.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        got = dict(evil.evaluate("window.attack()"))
    finally:
        server.shutdown()
        server.server_close()
    assert len(got) == 9
    assert {*_Quiet.cookies} == {""}  # cookies do not care for ports; the session's does not go there all the same
    assert {name: what for name, what in got.items() if what != "nothing"} == {}
    after = studio.client.get(f"/projects/{project}").json()
    assert after["at"] == 0
    assert "entity" not in after["spec"]["data"]
