"""How projects come in and go out: tables that are uploaded, samples, and whole projects as one file."""

import asyncio
import contextlib
import json
import shutil
import zipfile
from collections.abc import AsyncIterable
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from ringfence.errors import DataError, SpecError, listed
from ringfence.rows.formats import without_compression
from ringfence.spec import Spec
from ringfence.studio.bodies import TooLarge
from ringfence.studio.projects import (
    UNJUDGED,
    HistoryStep,
    MadeRelease,
    Project,
    Projects,
    check_inside,
    plain_name,
)
from ringfence.studio.worker import Worker

SAMPLES = {
    "people": "30,000 people: age, sex, postcode, country, work, salary",
    "visits": "6,000 visits to a hospital: somebody may have several",
    "baskets": "30,000 shopping baskets",
}
SUFFIX = ".ringfence"
CONTENT = "project.json"
FORMAT = "ringfence project 1"
LOOKED = {"rows", "columns", "pairs", "together", "people", "first"}
RESULT = {"ok", "rows", "verdict", "kept", "promises", "limits", "seen", "items"}
"""What a saved project must tell of its table, and of each release."""
MOST_TIMES = 20
"""A project's file may become so many times larger than an upload may be, and no more."""
CHUNK = 1 << 20


async def receive(stream: AsyncIterable[bytes], path: Path, most: int) -> None:
    """Write what is sent into a file; too much of it is refused, and nothing stays."""
    size = 0
    try:
        with path.open("xb") as file:
            async for chunk in stream:
                size += len(chunk)
                if size > most:
                    raise TooLarge(f"the file is larger than {most / 1e6:,.0f} MB; `--upload-limit` allows more")
                file.write(chunk)
        if size == 0:
            raise DataError("the file is empty")
        await asyncio.to_thread(check_unpacked, path, most)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def check_unpacked(path: Path, most: int) -> None:
    """Refuse a file that is small only because it is packed: unpacked it may be as large as a file that is not.

    What office programs and projects pack, which is many times as long as the table in it, may be `MOST_TIMES` that.
    """
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as file:
        if sum(part.file_size for part in file.infolist()) > MOST_TIMES * most:
            raise TooLarge(_too_large(MOST_TIMES * most))
    packing = without_compression(path)[1]
    if packing is None:
        return
    size = 0
    with contextlib.suppress(OSError), pa.CompressedInputStream(pa.OSFile(str(path)), packing) as unpacked:
        while chunk := unpacked.read(CHUNK):  # what is damaged is told by whoever reads it
            size += len(chunk)
            if size > most:
                raise TooLarge(_too_large(most))


def _too_large(most: int) -> str:
    return f"the file unpacks to more than {most / 1e6:,.0f} MB; `--upload-limit` allows more"


def open_table(projects: Projects, folder: Path, source: str) -> Project:
    """Open a project on a table that lies in its folder: look at it, and draft a specification."""
    desk = Worker(folder, projects.most_memory)
    looked = _look(projects, desk, "draft", source=source)
    spec = looked.pop("spec")
    return projects.add(source, desk, source, looked, [HistoryStep("drafted from the table", spec)])


def open_sample(projects: Projects, folder: Path, sample: str) -> Project:
    """Open a project on sample data."""
    if sample not in SAMPLES:
        raise SpecError(f"there is no sample {sample!r}; allowed: {listed(SAMPLES)}")
    desk = Worker(folder, projects.most_memory)
    looked = _look(projects, desk, "sample", kind=sample)
    spec, source = looked.pop("spec"), looked.pop("source")
    return projects.add(source, desk, source, looked, [HistoryStep("the sample's own specification", spec)])


def _look(projects: Projects, desk: Worker, task: str, **arguments: Any) -> Any:
    """Have a table looked at by the worker that will be its project's; it goes if there is nothing to open."""
    try:
        with projects.opening(desk):
            return desk.do(task, **arguments)
    except BaseException:
        desk.close()
        raise


def save_project(project: Project, path: Path) -> None:
    """Write a project into one file: its table, its steps, and its releases. Private as the table is."""
    kept = [*project.releases.values()]
    releases = [{**asdict(made), "folder": made.folder.name} for made in kept]
    content = {
        "format": FORMAT,
        "name": project.name,
        "source": project.source,
        "looked": project.looked,
        "steps": [asdict(step) for step in project.steps],
        "at": project.at,
        "releases": releases,
    }
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as file:
        file.writestr(CONTENT, json.dumps(content, ensure_ascii=False))
        for each in project.folder.iterdir():
            if each.is_file():
                file.write(each, f"files/{each.name}")
        for made in kept:
            for part in ("public", "private"):
                for each in (made.folder / part).iterdir():
                    if each.is_file():
                        file.write(each, f"releases/{made.folder.name}/{part}/{each.name}")
            file.write(made.folder / "spec.toml", f"releases/{made.folder.name}/spec.toml")


def open_project(projects: Projects, folder: Path, path: Path, most: int) -> Project:
    """Open a project from its file. A file that is none, or holds what none would, is refused.

    What it says of its releases is not believed: they are to be audited anew.
    """
    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo(CONTENT).file_size > most:
                raise TooLarge("the project is larger than allowed; `--upload-limit` allows more")
            content = json.loads(file.read(CONTENT))
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
            _unpack(file, folder)
        if not {*content["looked"]} >= LOOKED or any(not {*each["result"]} >= RESULT for each in content["releases"]):
            raise ValueError("a part of it is missing")
        steps = [HistoryStep(str(step["what"]), step["spec"]) for step in content["steps"]]
        name, source = plain_name(content["name"]), plain_name(content["source"])
        for parts in (*(step.spec for step in steps), *(each["spec"] for each in content["releases"])):
            Spec(**parts)
            check_inside(parts, source)
        releases = [
            MadeRelease(
                plain_name(each["folder"]),
                str(each["name"]),
                folder / "releases" / plain_name(each["folder"]),
                each["spec"],
                {**each["result"], **UNJUDGED},
                came_saved=True,
            )
            for each in content["releases"]
        ]
        if not (folder / source).is_file() or not 0 <= content["at"] < len(steps):
            raise ValueError("a part of it is missing")
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError) as error:
        raise DataError(f"this is not a project that Ringfence saved, or a damaged one: {error}") from None
    finally:
        path.unlink(missing_ok=True)
    desk = Worker(folder, projects.most_memory)
    project = projects.add(name, desk, source, content["looked"], steps)
    project.at = content["at"]
    project.releases = {made.id: made for made in releases}
    return project


def _unpack(file: zipfile.ZipFile, folder: Path) -> None:
    """Put the files of a project where they belong, each under a plain name, and no other."""
    for part in file.infolist():
        match PurePosixPath(part.filename).parts:
            case ("files", name):
                target = folder / plain_name(name)
            case ("releases", made, "spec.toml"):
                target = folder / "releases" / plain_name(made) / "spec.toml"
            case ("releases", made, ("public" | "private") as side, name):
                target = folder / "releases" / plain_name(made) / side / plain_name(name)
            case _:
                continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.open(part) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
