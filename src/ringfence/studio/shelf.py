"""How projects come in and go out: tables that are uploaded, samples, and whole projects as one file."""

import json
import re
import zipfile
from collections.abc import AsyncIterable
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from ringfence.errors import DataError, SpecError, listed
from ringfence.spec import Spec
from ringfence.studio.projects import HistoryStep, MadeRelease, Project, Projects
from ringfence.studio.worker import Worker

SAMPLES = {
    "people": "30,000 people: age, sex, postcode, country, work, salary",
    "visits": "6,000 visits to a hospital: somebody may have several",
    "baskets": "30,000 shopping baskets",
}
SUFFIX = ".ringfence"
CONTENT = "project.json"
FORMAT = "ringfence project 1"
MOST_TIMES = 20
"""A project's file may become so many times larger than an upload may be, and no more."""


class TooLarge(DataError):
    """What was sent is larger than allowed."""


def plain_name(name: str) -> str:
    """Return the name of a file without folders, and without what is special to any system.

    >>> plain_name("../../people 2024.csv"), plain_name("C:\\\\a\\\\b.csv"), plain_name("..")
    ('people 2024.csv', 'b.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.\- ]", "_", last).strip(". ")[-100:] or "table"


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
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def open_table(projects: Projects, folder: Path, source: str) -> Project:
    """Open a project on a table that lies in its folder: look at it, and draft a specification."""
    looked = _look(projects, folder, "draft", source=source)
    spec = looked.pop("spec")
    return projects.add(source, folder, source, looked, [HistoryStep("drafted from the table", spec)])


def open_sample(projects: Projects, folder: Path, sample: str) -> Project:
    """Open a project on sample data."""
    if sample not in SAMPLES:
        raise SpecError(f"there is no sample {sample!r}; allowed: {listed(SAMPLES)}")
    looked = _look(projects, folder, "sample", kind=sample)
    spec, source = looked.pop("spec"), looked.pop("source")
    return projects.add(source, folder, source, looked, [HistoryStep("the sample's own specification", spec)])


def _look(projects: Projects, folder: Path, task: str, **arguments: Any) -> Any:
    worker = Worker(folder, projects.most_memory)
    try:
        return worker.do(task, **arguments)
    finally:
        worker.close()


def save_project(project: Project, path: Path) -> None:
    """Write a project into one file: its table, its steps, and its releases. Private as the table is."""
    releases = [{**asdict(made), "folder": made.folder.name} for made in project.releases.values()]
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
        for made in project.releases.values():
            for part in ("public", "private"):
                for each in (made.folder / part).iterdir():
                    if each.is_file():
                        file.write(each, f"releases/{made.folder.name}/{part}/{each.name}")
            file.write(made.folder / "spec.toml", f"releases/{made.folder.name}/spec.toml")


def open_project(projects: Projects, folder: Path, path: Path, most: int) -> Project:
    """Open a project from its file. A file that is none, or holds what none would, is refused."""
    try:
        with zipfile.ZipFile(path) as file:
            content = json.loads(file.read(CONTENT))
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
            if sum(part.file_size for part in file.infolist()) > MOST_TIMES * most:
                raise TooLarge("the project is larger than allowed; `--upload-limit` allows more")
            _unpack(file, folder)
        steps = [HistoryStep(str(step["what"]), step["spec"]) for step in content["steps"]]
        for step in steps:
            Spec(**step.spec)
        releases = [
            MadeRelease(
                each["id"], each["name"], folder / "releases" / plain_name(each["folder"]), each["spec"], each["result"]
            )
            for each in content["releases"]
        ]
        if not (folder / plain_name(content["source"])).is_file() or not 0 <= content["at"] < len(steps):
            raise ValueError("a part of it is missing")
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError) as error:
        raise DataError(f"this is not a project that Ringfence saved, or a damaged one: {error}") from None
    finally:
        path.unlink(missing_ok=True)
    project = projects.add(content["name"], folder, plain_name(content["source"]), content["looked"], steps)
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
        target.write_bytes(file.read(part))
