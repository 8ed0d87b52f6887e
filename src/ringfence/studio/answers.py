"""What all routes share: the project that is asked for, and how answers look."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import Response

from ringfence.errors import RingfenceError, SpecError, listed
from ringfence.methods.catalogue import ATTACKS
from ringfence.methods.checks import check_available
from ringfence.spec import Spec
from ringfence.studio.projects import Project, Projects


def _projects(request: Request) -> Projects:
    found: Projects = request.app.state.projects
    return found


def _project(request: Request, project: str) -> Project:
    return _projects(request).get(project)


All = Annotated[Projects, Depends(_projects)]
One = Annotated[Project, Depends(_project)]


def shown_project(one: Project) -> dict[str, Any]:
    """Return a project as JSON would have it."""
    wrong = None
    try:
        check_available(Spec(**one.spec))
    except RingfenceError as error:
        wrong = str(error)
    return {
        **one.looked,
        "id": one.id,
        "name": one.name,
        "spec": one.spec,
        "began": {name: part["role"] for name, part in one.steps[0].spec["attributes"].items()},
        "drafted": {name: part.get("hierarchy") for name, part in one.steps[0].spec["attributes"].items()},
        "wrong": wrong,
        "steps": [step.what for step in one.steps],
        "at": one.at,
        "jobs": [{"id": job.id, "kind": job.kind, "state": job.state} for job in [*one.jobs.values()]],
        "releases": [
            {"id": made.id, "name": made.name, "ok": made.result["ok"], "rows": made.result["rows"]}
            for made in [*one.releases.values()]  # another may be added meanwhile
        ],
        "has_comparison": one.comparison is not None,
        "has_front": one.front is not None and one.front["of"] == one.at,
        "memory": {"now": one.memory, "most": one.most_memory, "disk": one.disk},
    }


def check_attacks(attacks: list[str]) -> None:
    for attack in attacks:
        if attack not in (*ATTACKS, "all"):
            raise SpecError(f"there is no attack {attack!r}; allowed: all, {listed(ATTACKS)}")


def without(parts: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return parts without some of them."""
    return {key: value for key, value in parts.items() if key not in keys}


def as_file(name: str) -> dict[str, str]:
    """Return the header by which an answer becomes a file; its name may be in any script.

    >>> as_file("données.csv")
    {'Content-Disposition': "attachment; filename*=UTF-8''donn%C3%A9es.csv"}
    """
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}


def attached(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers=as_file(name))
