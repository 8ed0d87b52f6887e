"""The application: what programs and pages ask for under /api, in JSON. Pages have no other way in.

Endpoints that are plain functions run in threads; the heavy work is done by workers.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from ringfence.declared import SCHEMES
from ringfence.errors import RingfenceError, SpecError, Unsatisfiable, listed
from ringfence.methods.catalogue import ATTACKS
from ringfence.methods.checks import check_available, check_promise
from ringfence.spec import Spec
from ringfence.spec.tables import Role
from ringfence.studio.downloads import downloads, without_formulas
from ringfence.studio.explore import chosen_tables, front_parts
from ringfence.studio.forms import choices, vocabulary
from ringfence.studio.guard import REPORT_POLICY
from ringfence.studio.projects import Busy, Made, NotFound, Project, Projects
from ringfence.studio.roles import people_tables, role_tables
from ringfence.studio.shelf import (
    SAMPLES,
    SUFFIX,
    TooLarge,
    open_project,
    open_sample,
    open_table,
    plain_name,
    receive,
    save_project,
)
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
LOOK_EVERY = 0.1  # seconds between two looks at a job, for whoever listens


class Change(BaseModel):
    """Tables of the specification that take the place of those there are; of attributes each by itself, null removes
    one."""

    tables: dict[str, Any] = Field(examples=[{"attributes": {"age": {"role": "sensitive"}}, "privacy": {"k": 10}}])
    what: str = Field(default="changed", max_length=200, description="what was done, for the history")


class RoleAsked(BaseModel):
    """A role for a column."""

    column: str
    role: Role


class PeopleAsked(BaseModel):
    """The column that says whose a row is; none where each row is somebody else's."""

    column: str | None = None


class Sample(BaseModel):
    """Which sample data to open."""

    sample: str = Field(examples=list(SAMPLES))


class FrontAsked(BaseModel):
    """Which front to find: of a loss, with so many rows that may be suppressed, over a scheme."""

    metric: str = "glm"
    suppression: float = Field(default=0.05, ge=0, le=1)
    scheme: str = "level"
    secrets: bool = Field(default=False, description="keep l, p and t, too; then nothing may be suppressed")
    seconds: float | None = Field(default=None, gt=0, description="at most so long; the best so far is then shown")


class Chosen(BaseModel):
    """A point of the front."""

    k: int = Field(ge=1)
    scheme: str = "level"


class RunAsked(BaseModel):
    """How to make a release: which attacks to carry out on it, and what to call it."""

    attacks: list[str] = []
    name: str | None = Field(default=None, max_length=100)


class CompareAsked(BaseModel):
    """How long to compare."""

    budget: float = Field(default=30, gt=0, le=3600, description="seconds for all candidates together")
    methods: list[str] | None = Field(default=None, description="names of methods to try; all that apply if not given")


class Candidate(BaseModel):
    """A candidate of a comparison."""

    name: str


class Judged(BaseModel):
    """Which attacks to carry out."""

    attacks: list[str] = []


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
    app.include_router(router, prefix="/api")
    return app


def _told(_: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    return JSONResponse({"error": {"kind": type(error).__name__, "message": str(error)}}, status)


def _told_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    message = f"{where}: {first['msg']}" if where else str(first["msg"])
    return JSONResponse({"error": {"kind": "RequestError", "message": message}}, 422)


router = APIRouter()


def _projects(request: Request) -> Projects:
    found: Projects = request.app.state.projects
    return found


def _project(request: Request, project: str) -> Project:
    return _projects(request).get(project)


All = Annotated[Projects, Depends(_projects)]
One = Annotated[Project, Depends(_project)]


@router.get("/vocabulary")
def words() -> dict[str, Any]:
    """Return what may be chosen anywhere: roles, schemes, losses, attacks, models, samples, each with a line."""
    return {**vocabulary(), "samples": SAMPLES}


# Projects


@router.post("/projects", status_code=201)
async def upload(
    request: Request, projects: All, name: Annotated[str, Query(min_length=1, max_length=300)]
) -> dict[str, Any]:
    """Open a project on a table, or one that was saved: the file is the body, `name` what it is called."""
    folder, most = projects.new_folder(), request.app.state.most_upload
    plain = plain_name(name)
    try:
        await receive(request.stream(), folder / plain, most)
        if plain.endswith(SUFFIX):
            return _shown(await asyncio.to_thread(open_project, projects, folder, folder / plain, most))
        return _shown(await asyncio.to_thread(open_table, projects, folder, plain))
    except BaseException:
        await asyncio.to_thread(projects.forget, folder)
        raise


@router.post("/samples", status_code=201)
def sample(projects: All, asked: Sample) -> dict[str, Any]:
    """Open a project on sample data."""
    folder = projects.new_folder()
    try:
        return _shown(open_sample(projects, folder, asked.sample))
    except BaseException:
        projects.forget(folder)
        raise


@router.get("/projects/{project}")
def show(one: One) -> dict[str, Any]:
    """Return all of a project: columns, specification, history, jobs and releases."""
    return _shown(one)


@router.delete("/projects/{project}", status_code=204)
def close(projects: All, project: str) -> None:
    """Close a project, and remove all of it."""
    projects.close(project)


@router.get("/projects/{project}/file")
def save(one: One) -> Response:
    """Return the project as one file, which can be opened again. It holds the original table."""
    path = one.folder.parent / f"{token_urlsafe(12)}{SUFFIX}"
    try:
        save_project(one, path)
        return _attached(path.read_bytes(), f"{Path(one.name).stem}{SUFFIX}", "application/zip")
    finally:
        path.unlink(missing_ok=True)


# Specification


@router.patch("/projects/{project}/spec")
def change(one: One, asked: Change) -> dict[str, Any]:
    """Change the specification; what has no meaning is refused, and nothing changes."""
    one.change(asked.tables, asked.what)
    return _shown(one)


@router.post("/projects/{project}/roles")
def set_role(one: One, asked: RoleAsked) -> dict[str, Any]:
    """Give a column a role, with all that goes with it: a hierarchy that fits, promises that lose their meaning."""
    drafted = one.steps[0].spec["attributes"].get(asked.column, {})
    if drafted.get("role") == asked.role:
        suggested = drafted
    elif asked.role in ("quasi", "items"):
        suggested = one.desk.do("suggest", spec=one.spec, name=asked.column)
    else:
        suggested = {}
    one.change(role_tables(one.spec, asked.column, asked.role, suggested), f"{asked.column}: {asked.role}")
    return _shown(one)


@router.post("/projects/{project}/people")
def set_people(one: One, asked: PeopleAsked) -> dict[str, Any]:
    """Say whether somebody may have several rows, and by which column they are known."""
    what = "each row is somebody else's" if asked.column is None else f"rows belong to people by {asked.column}"
    one.change(people_tables(one.spec, asked.column), what)
    return _shown(one)


@router.post("/projects/{project}/history/{step}")
def go_to(one: One, step: int) -> dict[str, Any]:
    """Undo or redo up to a step."""
    one.go_to(step)
    return _shown(one)


@router.get("/projects/{project}/spec.toml")
def toml(one: One) -> Response:
    """Return the specification as it is now, as TOML."""
    return _attached(Spec(**one.spec).dumps().encode(), f"{Path(one.name).stem}.toml", "application/toml")


@router.post("/projects/{project}/hierarchies/{name}")
def hierarchy(one: One, name: str, attribute: Annotated[dict[str, Any] | None, Body()] = None) -> Any:
    """Return the tree of an attribute over the values of the table, as it is or as it would be with another
    attribute."""
    parts = one.spec
    if attribute is not None:
        parts = {**parts, "attributes": {**parts["attributes"], name: attribute}}
    if name not in Spec(**parts).attributes:
        raise NotFound(f"the specification has no attribute {name!r}")
    return one.desk.do("hierarchy", spec=parts, name=name)


@router.post("/projects/{project}/files", status_code=201)
async def add_file(
    request: Request, one: One, name: Annotated[str, Query(min_length=1, max_length=300)]
) -> dict[str, Any]:
    """Add a file to the project, such as a hierarchy: it is the body, and is known by the name that is returned."""
    plain = plain_name(name)
    if plain == one.source:
        plain = f"hierarchy-{plain}"
    (one.folder / plain).unlink(missing_ok=True)
    await receive(request.stream(), one.folder / plain, request.app.state.most_upload)
    return {"file": plain}


@router.get("/projects/{project}/methods")
def methods(one: One) -> dict[str, Any]:
    """Return the methods that can keep the promise on this table, their options, and why the others cannot."""
    return choices(one.spec)


# Explore


@router.post("/projects/{project}/front", status_code=202)
def find_front(one: One, asked: FrontAsked) -> dict[str, Any]:
    """Begin to find what every k costs; with a scheme other than level, what some k cost with it, to be overlaid."""
    if asked.scheme not in SCHEMES:
        raise SpecError(f"scheme = {asked.scheme!r}; allowed: {listed(SCHEMES)}")
    parts = front_parts(
        one.spec, asked.scheme, asked.metric, asked.suppression, secrets=asked.secrets, seconds=asked.seconds
    )
    check_available(Spec(**parts), promised=False)
    suppression = parts["method"]["suppression"]
    asked_for = {"metric": asked.metric, "suppression": suppression, "secrets": asked.secrets, "spec": parts}
    if asked.scheme == "level":

        def found(result: dict[str, Any]) -> dict[str, Any]:
            one.front = {**asked_for, "of": one.at, "level": result, "overlays": {}}
            return {"scheme": "level"}

        return one.begin("front", "front", found, at_desk=True, spec=parts).as_dict()

    def overlaid(result: dict[str, Any]) -> dict[str, Any]:
        one.desk.do("keep", scheme=asked.scheme, plans=result.pop("plans"))
        if one.front is not None:
            one.front["overlays"][asked.scheme] = result
        return {"scheme": asked.scheme}

    if one.front is None:
        raise Busy("find the front over levels first; the other schemes are drawn over it")
    return one.begin(f"front over {asked.scheme}", "overlay", overlaid, spec=parts).as_dict()


@router.get("/projects/{project}/front")
def front(one: One) -> dict[str, Any]:
    """Return the front that was found, with what was overlaid."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    current = one.front["of"] == one.at
    return {key: value for key, value in one.front.items() if key not in ("of", "spec")} | {"current": current}


@router.get("/projects/{project}/front/{scheme}/{k}")
def view(one: One, scheme: str, k: int) -> Any:
    """Return what the best recoding for a k makes of the table: rows before and after, classes, distributions, risk."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    return one.desk.do("view", spec=one.front["spec"], scheme=scheme, k=k)


@router.post("/projects/{project}/front/chosen")
def choose(one: One, asked: Chosen) -> dict[str, Any]:
    """Make the specification ask for a point of the front."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    one.change(
        chosen_tables(one.spec, asked.scheme, one.front["spec"], asked.k),
        f"chose k = {asked.k:,} on the front ({asked.scheme})",
    )
    return _shown(one)


# Jobs


@router.get("/projects/{project}/jobs/{job}")
def show_job(one: One, job: str) -> dict[str, Any]:
    """Return how far a job is, and what came out of it."""
    return one.job(job).as_dict()


@router.get("/projects/{project}/jobs/{job}/events")
async def listen(one: One, job: str) -> StreamingResponse:
    """Stream how far a job is, as server-sent events, until it is over."""
    found = one.job(job)

    async def stream() -> AsyncIterator[str]:
        version = -1
        while True:
            over = found.is_over
            if found.version != version:
                version = found.version
                yield f"data: {json.dumps(found.as_dict())}\n\n"
            if over and found.version == version:
                return
            await asyncio.sleep(LOOK_EVERY)

    return StreamingResponse(stream(), media_type="text/event-stream")


@router.post("/projects/{project}/jobs/{job}/stop")
def stop(one: One, job: str) -> dict[str, Any]:
    """Ask a search to end with the best so far."""
    found = one.job(job)
    found.stop()
    return found.as_dict()


@router.delete("/projects/{project}/jobs/{job}")
def kill(one: One, job: str) -> dict[str, Any]:
    """End a job at once; nothing of it is kept."""
    found = one.job(job)
    found.kill()
    if found.worker is one.desk:
        one.front = None
    return found.as_dict()


# Releases


@router.post("/projects/{project}/runs", status_code=202)
def run(one: One, asked: RunAsked) -> dict[str, Any]:
    """Begin to make a release as the specification says now."""
    _check_attacks(asked.attacks)
    parts = one.spec
    spec = Spec(**parts)
    check_available(spec)
    name = asked.name or f"{spec.method.name}, {listed(_promise(spec))}"
    return one.begin(
        "run",
        "run",
        _releasing(one, parts, name, folder := f"releases/{token_urlsafe(9)}"),
        spec=parts,
        folder=folder,
        attacks=asked.attacks,
        as_name=one.source,
    ).as_dict()


def _releasing(one: Project, parts: dict[str, Any], name: str, folder: str) -> Callable[[Any], Any]:
    def finish(result: dict[str, Any]) -> dict[str, Any]:
        made = Made(Path(folder).name, name, one.folder / folder, parts, result)
        one.releases[made.id] = made
        return {"release": made.id}

    return finish


# Compare


@router.post("/projects/{project}/comparison", status_code=202)
def compare(one: One, asked: CompareAsked) -> dict[str, Any]:
    """Begin to try every method that can keep the promise; what is done stands in the job's `parts`."""
    parts = one.spec
    check_promise(Spec(**parts))

    def finish(result: dict[str, Any]) -> dict[str, Any]:
        one.comparison = {**result, "of": parts}
        return {"advised": result["advised"]}

    return one.begin("compare", "compare", finish, spec=parts, budget=asked.budget, methods=asked.methods).as_dict()


@router.get("/projects/{project}/comparison")
def comparison(one: One) -> dict[str, Any]:
    """Return the comparison: every candidate with what its users are off by, and the one that is advised."""
    if one.comparison is None:
        raise NotFound("nothing has been compared yet")
    current = without(one.comparison["of"], "method") == without(one.spec, "method")
    return without(one.comparison, "of", "specs") | {"current": current}


@router.post("/projects/{project}/comparison/chosen")
def choose_candidate(one: One, asked: Candidate) -> dict[str, Any]:
    """Make the specification ask for a candidate of the comparison."""
    if one.comparison is None or asked.name not in one.comparison["specs"]:
        raise NotFound(f"no candidate {asked.name!r} was made")
    wanted = one.comparison["specs"][asked.name]
    tables = {name: wanted.get(name) for name in ("attributes", "privacy", "method")}
    one.change({name: table for name, table in tables.items() if table is not None}, f"chose {asked.name}")
    return _shown(one)


@router.get("/projects/{project}/releases/{release}")
def show_release(one: One, release: str) -> dict[str, Any]:
    """Return all that is known of a release: verdict, risk, losses, rows before and after, files to take home."""
    made = one.release(release)
    files = downloads(made.folder, Path(one.source).stem)
    listed_files = [
        {"file": key, "name": file.name, "what": file.what, "private": file.private, "bytes": file.path.stat().st_size}
        for key, file in files.items()
    ]
    return {"id": made.id, "name": made.name, "spec": made.spec, "files": listed_files, **made.result}


@router.get("/projects/{project}/releases/{release}/files/{file}")
def take(one: One, release: str, file: str, formulas: bool = True, shown: bool = False) -> Response:
    """Return a file of a release. `formulas=false` writes cells so that no spreadsheet runs them; `shown` is for
    looking at a report."""
    made = one.release(release)
    known = downloads(made.folder, Path(one.source).stem)
    if file not in known:
        raise NotFound(f"this release has no file {file!r}; there are: {listed(known)}")
    found = known[file]
    if shown and file == "report.html":
        page = FileResponse(found.path, media_type="text/html")
        page.headers["Content-Security-Policy"] = REPORT_POLICY
        return page
    if not formulas and file.endswith(".csv"):
        return StreamingResponse(
            without_formulas(found.path, Spec(**made.spec)), media_type="text/csv", headers=_as_file(found.name)
        )
    return FileResponse(found.path, media_type="application/octet-stream", headers=_as_file(found.name))


@router.post("/projects/{project}/releases/{release}/audit")
def judge(one: One, release: str, asked: Judged) -> Any:
    """Judge a release once more beside the original, with attacks."""
    _check_attacks(asked.attacks)
    made = one.release(release)
    table = next(path for key, path in _tables(made) if key.startswith("release"))
    found = one.desk.do(
        "judge",
        spec=made.spec,
        release=str(table.relative_to(one.folder)),
        original=one.source,
        attacks=asked.attacks,
    )
    found.pop("page")
    made.result["verdict"] = found["verdict"]
    return found


def _tables(made: Made) -> list[tuple[str, Path]]:
    return [(key, file.path) for key, file in downloads(made.folder, "").items()]


@router.post("/projects/{project}/audit")
async def judge_file(
    request: Request,
    one: One,
    name: Annotated[str, Query(min_length=1)],
    attack: Annotated[list[str] | None, Query()] = None,
) -> Any:
    """Judge any table, the body, by the specification of the project and beside its original."""
    attacks = attack or []
    _check_attacks(attacks)
    folder = one.folder / "judged" / token_urlsafe(9)
    folder.mkdir(parents=True)
    path = folder / plain_name(name)
    try:
        await receive(request.stream(), path, request.app.state.most_upload)
        found = await asyncio.to_thread(
            one.desk.do,
            "judge",
            spec=one.spec,
            release=str(path.relative_to(one.folder)),
            original=one.source,
            attacks=attacks,
        )
        found.pop("page")
        return found
    finally:
        path.unlink(missing_ok=True)
        folder.rmdir()


def _check_attacks(attacks: list[str]) -> None:
    for attack in attacks:
        if attack not in (*ATTACKS, "all"):
            raise SpecError(f"there is no attack {attack!r}; allowed: all, {listed(ATTACKS)}")


def _promise(spec: Spec) -> list[str]:
    given = spec.privacy.model_dump(exclude_unset=True, exclude_none=True)
    return [f"{key} = {value}" if isinstance(value, int | float) else key for key, value in given.items()]


def _shown(one: Project) -> dict[str, Any]:
    """Return a project as JSON would have it."""
    wrong = None
    try:
        check_available(Spec(**one.spec))
    except RingfenceError as error:
        wrong = str(error)
    return {
        "id": one.id,
        "name": one.name,
        **one.looked,
        "spec": one.spec,
        "began": {name: part["role"] for name, part in one.steps[0].spec["attributes"].items()},
        "wrong": wrong,
        "steps": [step.what for step in one.steps],
        "at": one.at,
        "jobs": [{"id": job.id, "kind": job.kind, "state": job.state} for job in one.jobs.values()],
        "releases": [
            {"id": made.id, "name": made.name, "ok": made.result["ok"], "rows": made.result["rows"]}
            for made in one.releases.values()
        ],
        "has_comparison": one.comparison is not None,
        "has_front": one.front is not None and one.front["of"] == one.at,
        "memory": {"now": one.memory, "most": one.most_memory, "disk": one.disk},
    }


def without(parts: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return parts without some of them."""
    return {key: value for key, value in parts.items() if key not in keys}


def _as_file(name: str) -> dict[str, str]:
    plain = name.encode("ascii", "replace").decode().replace('"', "_")
    return {"Content-Disposition": f'attachment; filename="{plain}"'}


def _attached(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers=_as_file(name))
