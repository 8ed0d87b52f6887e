"""Long work: fronts, comparisons, and the jobs that find them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, StreamingResponse

from ringfence.declared import SCHEMES
from ringfence.errors import SpecError, listed
from ringfence.methods.checks import check_available, check_promise
from ringfence.spec import Spec
from ringfence.studio.answers import One, shown_project, without
from ringfence.studio.asked import AskedCandidate, Chosen, CompareAsked, FrontAsked
from ringfence.studio.bodies import BoundedRoute
from ringfence.studio.explore import chosen_tables, front_parts
from ringfence.studio.projects import Busy, NotFound

LOOK_EVERY = 0.1  # seconds between two looks at a job, for whoever listens

router = APIRouter(route_class=BoundedRoute)


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
def front(one: One) -> JSONResponse:
    """Return the front that was found, with what was overlaid."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    current = one.front["of"] == one.at
    return JSONResponse(without(one.front, "of", "spec") | {"current": current})


@router.get("/projects/{project}/front/{scheme}/{k}")
def view(one: One, scheme: str, k: int) -> JSONResponse:
    """Return what the best recoding for a k makes of the table: rows before and after, classes, distributions, risk."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    return JSONResponse(one.desk.do("view", spec=one.front["spec"], scheme=scheme, k=k))


@router.post("/projects/{project}/front/chosen")
def choose(one: One, asked: Chosen) -> dict[str, Any]:
    """Make the specification ask for a point of the front."""
    if one.front is None:
        raise NotFound("no front has been found yet")
    found = one.front["level"] if asked.scheme == "level" else one.front["overlays"].get(asked.scheme, {"points": []})
    if not any(point["k"] >= asked.k for point in found["points"]):
        raise NotFound(f"the front has no release for k = {asked.k} with the scheme {asked.scheme!r}")
    one.change(
        chosen_tables(one.spec, asked.scheme, one.front["spec"], asked.k),
        f"chose k = {asked.k:,} on the front ({asked.scheme})",
    )
    return shown_project(one)


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
def choose_candidate(one: One, asked: AskedCandidate) -> dict[str, Any]:
    """Make the specification ask for a candidate of the comparison."""
    if one.comparison is None or asked.name not in one.comparison["specs"]:
        raise NotFound(f"no candidate {asked.name!r} was made")
    wanted = one.comparison["specs"][asked.name]
    tables = {name: wanted.get(name) for name in ("attributes", "privacy", "method", "output")}
    one.change({name: table for name, table in tables.items() if table is not None}, f"chose {asked.name}")
    return shown_project(one)


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
        last: tuple[int, str] | None = None
        while True:
            now = found.as_dict()
            if (now["version"], now["state"]) != last:
                last = now["version"], now["state"]
                yield f"data: {json.dumps(now)}\n\n"
            if now["state"] != "running":
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
