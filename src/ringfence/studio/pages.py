"""The pages: shells by Jinja2 that a script fills from /api, how they look, and the libraries they draw with."""

import threading
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from ringfence.studio.bodies import bounded
from ringfence.studio.guard import Guard
from ringfence.version import __version__

HERE = Path(__file__).parent
MOST_FORM = 2_000
"""How many bytes the form with the token may have: nobody has been let in yet."""
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

STEPS = {
    "table": "Table",
    "hierarchies": "Hierarchies",
    "promise": "Promise",
    "explore": "Explore",
    "compare": "Compare",
    "publish": "Publish",
}
"""The steps of the way, by the name that stands in the address."""


@cache
def _template(name: str) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(HERE / "pages")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(f"{name}.html.jinja")


def _page(name: str, status: int = 200, **content: Any) -> Response:
    return HTMLResponse(_template(name).render(version=__version__, steps=STEPS, **content), status)


_drawing = threading.Lock()


@cache
def _vega() -> bytes:
    """Return Vega, Vega-Lite and Vega Embed as one script, which vl-convert brings along."""
    import vl_convert

    return str(vl_convert.javascript_bundle()).encode()  # type: ignore[call-arg]  # the snippet may be left out


def vega() -> bytes:
    """Return the libraries that charts are drawn with; made once."""
    with _drawing:
        return _vega()


def add_pages(app: FastAPI, guard: Guard) -> None:
    """Add the pages to an application."""
    threading.Thread(target=vega, daemon=True).start()

    @app.get("/", include_in_schema=False)
    def home() -> Response:
        return _page("home", root=guard.root)

    @app.get("/login", include_in_schema=False)
    def login() -> Response:
        return _page("login", root="", wrong=False)

    @app.post("/api/session", tags=["session"])
    async def session(request: Request) -> Response:
        """Exchange the token (a form's field `token`) for a session."""
        form = await bounded(request, MOST_FORM)
        given = parse_qs(form.decode("utf-8", "replace")).get("token", [""])[0]
        if not guard.is_token(given.strip()):
            return _page("login", 403, root="", wrong=True)
        return guard.welcome()

    @app.get("/p/{project}", include_in_schema=False)
    def project(project: str) -> Response:
        return _page("project", root=guard.root, project=project)

    @app.get("/favicon.svg", include_in_schema=False)
    def icon() -> Response:
        return _static("favicon.svg")

    @app.get("/static/vega.js", include_in_schema=False)
    async def library() -> Response:
        return Response(await run_in_threadpool(vega), media_type="text/javascript", headers=KEPT)

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        return _static(name)


KEPT = {"Cache-Control": "private, max-age=3600"}


def _static(name: str) -> Response:
    files = {path.name: path for path in (HERE / "static").iterdir()}
    if name not in files or files[name].suffix not in KINDS:
        return Response(status_code=404)
    return Response(files[name].read_bytes(), media_type=KINDS[files[name].suffix])
