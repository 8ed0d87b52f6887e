"""Releases: made, judged, attacked, taken home."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from ringfence.errors import listed
from ringfence.methods.checks import check_available
from ringfence.spec import Spec
from ringfence.studio.answers import One, as_file, check_attacks
from ringfence.studio.asked import AskedAttacks, RunAsked
from ringfence.studio.bodies import BoundedRoute
from ringfence.studio.downloads import downloads, without_formulas
from ringfence.studio.guard import REPORT_POLICY
from ringfence.studio.projects import MadeRelease, NotFound, Project, plain_name
from ringfence.studio.shelf import receive

router = APIRouter(route_class=BoundedRoute)


@router.post("/projects/{project}/runs", status_code=202)
def run(one: One, asked: RunAsked) -> dict[str, Any]:
    """Begin to make a release as the specification says now."""
    check_attacks(asked.attacks)
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
        made = MadeRelease(Path(folder).name, name, one.folder / folder, parts, result)
        one.releases[made.id] = made
        return {"release": made.id}

    return finish


@router.get("/projects/{project}/releases/{release}")
def show_release(one: One, release: str) -> dict[str, Any]:
    """Return all that is known of a release: verdict, risk, losses, rows before and after, files to take home."""
    made = one.release(release)
    files = downloads(made.folder, Path(one.source).stem)
    listed_files = [
        {"file": key, "name": file.name, "what": file.what, "private": file.private, "bytes": file.path.stat().st_size}
        for key, file in files.items()
    ]
    return {
        **made.result,
        "id": made.id,
        "name": made.name,
        "saved": made.came_saved,
        "spec": made.spec,
        "files": listed_files,
    }


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
            without_formulas(found.path, Spec(**made.spec)), media_type="text/csv", headers=as_file(found.name)
        )
    return FileResponse(found.path, media_type="application/octet-stream", headers=as_file(found.name))


@router.post("/projects/{project}/releases/{release}/audit", status_code=202)
def judge(one: One, release: str, asked: AskedAttacks) -> dict[str, Any]:
    """Begin to judge a release once more beside the original, with attacks. One that came with a saved project has no
    verdict until then."""
    check_attacks(asked.attacks)
    made = one.release(release)
    table = next(path for key, path in _tables(made) if key.startswith("release"))

    def finish(found: dict[str, Any]) -> dict[str, Any]:
        made.judged(found)
        return {"release": made.id}

    return one.begin(
        f"audit of {made.id}",
        "judge",
        finish,
        spec=made.spec,
        release=str(table.relative_to(one.folder)),
        original=one.source,
        attacks=asked.attacks,
    ).as_dict()


def _tables(made: MadeRelease) -> list[tuple[str, Path]]:
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
    check_attacks(attacks)
    folder = one.folder / "judged" / token_urlsafe(9)
    folder.mkdir(parents=True)
    path = folder / plain_name(name)
    try:
        await receive(request.stream(), path, request.app.state.most_upload)
        return await asyncio.to_thread(
            one.desk.do,
            "judge",
            spec=one.spec,
            release=str(path.relative_to(one.folder)),
            original=one.source,
            attacks=attacks,
        )
    finally:
        path.unlink(missing_ok=True)
        folder.rmdir()


def _promise(spec: Spec) -> list[str]:
    given = spec.privacy.model_dump(exclude_unset=True, exclude_none=True)
    return [f"{key} = {value}" if isinstance(value, int | float) else key for key, value in given.items()]
