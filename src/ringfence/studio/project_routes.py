"""Projects and their specifications: open, look at, change, save, close."""

import asyncio
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import Response, StreamingResponse

from ringfence.spec import Spec
from ringfence.studio.answers import All, One, as_file, attached, shown_project
from ringfence.studio.asked import Change, PeopleAsked, RoleAsked, Sample
from ringfence.studio.bodies import BoundedRoute
from ringfence.studio.forms import choices, vocabulary
from ringfence.studio.projects import NotFound, check_inside, plain_name
from ringfence.studio.roles import people_tables, role_tables
from ringfence.studio.shelf import (
    CHUNK,
    SAMPLES,
    SUFFIX,
    open_project,
    open_sample,
    open_table,
    receive,
    save_project,
)

PLACES = ("releases", "judged")
"""Folders of a project, which no file may be in the way of."""

router = APIRouter(route_class=BoundedRoute)


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
            return shown_project(await asyncio.to_thread(open_project, projects, folder, folder / plain, most))
        return shown_project(await asyncio.to_thread(open_table, projects, folder, plain))
    except BaseException:
        await asyncio.to_thread(projects.forget, folder)
        raise


@router.post("/samples", status_code=201)
def sample(projects: All, asked: Sample) -> dict[str, Any]:
    """Open a project on sample data."""
    folder = projects.new_folder()
    try:
        return shown_project(open_sample(projects, folder, asked.sample))
    except BaseException:
        projects.forget(folder)
        raise


@router.get("/projects/{project}")
def show(one: One) -> dict[str, Any]:
    """Return all of a project: columns, specification, history, jobs and releases."""
    return shown_project(one)


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
        saved = path.open("rb")
    finally:
        path.unlink(missing_ok=True)  # what is open can be read to its end
    headers = as_file(f"{Path(one.name).stem}{SUFFIX}") | {"Content-Length": str(os.fstat(saved.fileno()).st_size)}
    return StreamingResponse(_parts(saved), media_type="application/zip", headers=headers)


def _parts(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while part := file.read(CHUNK):
            yield part


# Specification


@router.patch("/projects/{project}/spec")
def change(one: One, asked: Change) -> dict[str, Any]:
    """Change the specification; what has no meaning is refused, and nothing changes."""
    one.change(asked.tables, asked.what)
    return shown_project(one)


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
    return shown_project(one)


@router.post("/projects/{project}/people")
def set_people(one: One, asked: PeopleAsked) -> dict[str, Any]:
    """Say whether somebody may have several rows, and by which column they are known."""
    what = "each row is somebody else's" if asked.column is None else f"rows belong to people by {asked.column}"
    one.change(people_tables(one.spec, asked.column), what)
    return shown_project(one)


@router.post("/projects/{project}/history/{step}")
def go_to(one: One, step: int) -> dict[str, Any]:
    """Undo or redo up to a step."""
    one.go_to(step)
    return shown_project(one)


@router.get("/projects/{project}/spec.toml")
def toml(one: One) -> Response:
    """Return the specification as it is now, as TOML."""
    return attached(Spec(**one.spec).dumps().encode(), f"{Path(one.name).stem}.toml", "application/toml")


@router.post("/projects/{project}/hierarchies/{name:path}")
def hierarchy(one: One, name: str, attribute: Annotated[dict[str, Any] | None, Body()] = None) -> Any:
    """Return the tree of an attribute over the values of the table, as it is or as it would be with another
    attribute."""
    parts = one.spec
    if attribute is not None:
        parts = {**parts, "attributes": {**parts["attributes"], name: attribute}}
        check_inside(parts, one.source)
    if name not in Spec(**parts).attributes:
        raise NotFound(f"the specification has no attribute {name!r}")
    return one.desk.do("hierarchy", spec=parts, name=name)


@router.post("/projects/{project}/files", status_code=201)
async def add_file(
    request: Request, one: One, name: Annotated[str, Query(min_length=1, max_length=300)]
) -> dict[str, Any]:
    """Add a file to the project, such as a hierarchy: it is the body, and is known by the name that is returned.

    None takes the place of another: what earlier steps speak of stays as it was.
    """
    plain = plain_name(name)
    for number in itertools.count(2):
        if plain not in PLACES and not (one.folder / plain).exists():
            break
        plain = f"{number}-{plain_name(name)}"
    await receive(request.stream(), one.folder / plain, request.app.state.most_upload)
    return {"file": plain}


@router.get("/projects/{project}/methods")
def methods(one: One) -> dict[str, Any]:
    """Return the methods that can keep the promise on this table, their options, and why the others cannot."""
    return choices(one.spec)
