"""The application: what programs and pages ask for under /api, in JSON. Pages have no other way in.

Endpoints that are plain functions run in threads; the heavy work is done by workers.
"""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from ringfence.errors import RingfenceError, Unsatisfiable
from ringfence.studio import project_routes, release_routes, work_routes
from ringfence.studio.bodies import TooLarge
from ringfence.studio.projects import Busy, NotFound, Projects
from ringfence.studio.worker import Bug, Killed
from ringfence.version import __version__

STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    Busy: 409,
    TooLarge: 413,
    Unsatisfiable: 422,
    Killed: 409,
    Bug: 500,
}


def make_app(projects: Projects, most_upload: int) -> FastAPI:
    """Return the application on some projects."""
    app = FastAPI(
        title="Ringfence Studio",
        version=__version__,
        description="Upload a table, draft its specification, explore fronts, run, compare, judge and download.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.projects = projects
    app.state.most_upload = most_upload
    for kind in (RingfenceError, Bug):
        app.add_exception_handler(kind, _told)
    app.add_exception_handler(RequestValidationError, _told_invalid)
    app.add_exception_handler(HTTPException, _told_status)
    app.add_exception_handler(Exception, _told_mistake)
    for routes in (project_routes, work_routes, release_routes):
        app.include_router(routes.router, prefix="/api")
    return app


def _told(_: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    return _answer(status, type(error).__name__, str(error))


def _told_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return _answer(422, "RequestError", f"{where}: {first['msg']}" if where else str(first["msg"]))


def _told_status(request: Request, error: Exception) -> Response:
    """Tell what is refused before any of our functions is asked: a path or a method that is not there, odd JSON."""
    assert isinstance(error, HTTPException)
    return _answer(error.status_code, "RequestError", f"{request.method} {request.url.path}: {error.detail}")


def _told_mistake(_: Request, error: Exception) -> Response:
    return _answer(500, "Bug", f"a mistake in Ringfence, not in your input ({type(error).__name__}: {error})")


def _answer(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status)
