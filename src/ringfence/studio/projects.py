"""Projects: a table, its specification with all earlier ones, and what came of it. One tab, one project.

A project lives in a folder of its own that only this user can read. Who does not know its name, which nobody can guess,
does not find it.
"""

import contextlib
import copy
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from ringfence.errors import RingfenceError, SpecError, suggestion
from ringfence.spec import Spec
from ringfence.studio.jobs import Work
from ringfence.studio.worker import Worker

MOST_PROJECTS = 12
MOST_JOBS = 3
"""So many jobs of a project may be at work at the same time."""
MOST_STEPS = 200


class NotFound(RingfenceError):
    """There is nothing of that name."""


class Busy(RingfenceError):
    """It cannot be done now."""


def check_inside(parts: Mapping[str, Any], source: str) -> None:
    """Refuse a specification that reaches out of a project's folder: who may use the studio may not use the machine."""
    if (parts.get("data") or {}).get("source") != source:
        raise SpecError("data.source cannot be changed: a project is about the table that it was opened with")
    if {*(parts.get("output") or {})} - {"counts"}:
        raise SpecError(
            "a release that is made here stays in its project, to be taken home: leave [output] out, but for counts"
        )
    for name, attribute in (parts.get("attributes") or {}).items():
        hierarchy = attribute.get("hierarchy") if isinstance(attribute, Mapping) else None
        file = hierarchy.get("file") if isinstance(hierarchy, Mapping) else None
        if file is not None and (not isinstance(file, str) or plain_name(file) != file):
            raise SpecError(f"attributes.{name}.hierarchy: {file!r} is not a file of this project; add it first")


def plain_name(name: str) -> str:
    r"""Return the name of a file without folders, and without what is special to any system.

    >>> plain_name("../../people 2024.csv"), plain_name("C:\\a\\b.csv"), plain_name("..")
    ('people 2024.csv', 'b.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.\- ]", "_", last).strip(". ")[-100:] or "table"


@dataclass(frozen=True)
class HistoryStep:
    """A specification, and in a few words what was done to get there."""

    what: str
    spec: dict[str, Any]


UNJUDGED: dict[str, Any] = {"ok": None, "headline": None, "verdict": None, "kept": [], "refined": []}
"""What is known of a release that nobody has audited here."""


@dataclass(eq=False)
class MadeRelease:
    """A release: where it is, the specification that it was made by, and all that is known of it."""

    id: str
    name: str
    folder: Path
    spec: dict[str, Any]
    result: dict[str, Any]
    came_saved: bool = False
    """Whether it came with the file of a project. Whoever wrote the file may have written any verdict into it."""

    def judged(self, found: dict[str, Any]) -> None:
        """Add what an audit beside the original found.

        The audit of a run knew more, whose each row is: its verdict stays, with the attacks of this one, unless
        something is found wrong.
        """
        if self.came_saved or found["verdict"]["findings"]:
            self.result |= found
            return
        verdict, new = self.result["verdict"], found["verdict"]
        notes = [*dict.fromkeys([*verdict["notes"], *(note for note in new["notes"] if note.startswith("the attack"))])]
        attacked = {**verdict, "attacks": new["attacks"], "refinement": new["refinement"], "notes": notes}
        self.result |= {"verdict": attacked, "refined": found["refined"]}


@dataclass(eq=False)
class Project:
    """A table and the work on it."""

    id: str
    name: str
    desk: Worker
    source: str
    looked: dict[str, Any]
    steps: list[HistoryStep]
    at: int = 0
    jobs: dict[str, Work] = field(default_factory=dict)
    releases: dict[str, MadeRelease] = field(default_factory=dict)
    front: dict[str, Any] | None = None
    comparison: dict[str, Any] | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.desk.folder

    @property
    def most_memory(self) -> int:
        """How many bytes of memory its processes may have together."""
        return self.desk.most_memory

    @property
    def spec(self) -> dict[str, Any]:
        """The specification as it is now, as nested tables."""
        return self.steps[self.at].spec

    def change(self, tables: Mapping[str, Any], what: str) -> None:
        """Change the specification: each given table takes the place of the one there is, of attributes each by itself.

        What has no meaning is refused, and nothing changes. Steps that were undone are forgotten.
        """
        with self.lock:
            new = copy.deepcopy(self.spec)
            for name, table in tables.items():
                if name == "attributes":
                    for column, attribute in (table or {}).items():
                        new["attributes"][column] = attribute
                        if attribute is None:
                            del new["attributes"][column]
                elif table is None:
                    new.pop(name, None)
                else:
                    new[name] = table
            check_inside(new, self.source)
            Spec(**new)
            columns = [column["name"] for column in self.looked["columns"]]
            for name in new["attributes"]:
                if name not in columns:
                    raise SpecError(f"the table has no column {name!r}{suggestion(name, columns)}")
            if new != self.spec:
                self.steps = [*self.steps[: self.at + 1], HistoryStep(what, new)][-MOST_STEPS:]
                self.at = len(self.steps) - 1

    def go_to(self, step: int) -> None:
        """Undo or redo up to a step."""
        with self.lock:
            if not 0 <= step < len(self.steps):
                raise NotFound(f"there is no step {step}; allowed: 0 to {len(self.steps) - 1}")
            self.at = step

    def begin(
        self, kind: str, task: str, finish: Callable[[Any], Any], *, at_desk: bool = False, **arguments: Any
    ) -> Work:
        """Begin a job in a process of its own, or at the desk, where its result is looked at later."""
        with self.lock:
            running = [job for job in self.jobs.values() if not job.is_over]
            if len(running) >= MOST_JOBS:
                raise Busy(f"{MOST_JOBS} jobs of this project are at work; wait for one, or stop it")
            for old in [job.id for job in self.jobs.values() if job.is_over and job.kind == kind]:
                del self.jobs[old]
            worker = self.desk if at_desk else Worker(self.folder, self.most_memory)
            worker.memory_of_all = lambda: self.memory
            job = Work(kind, worker, is_own=not at_desk)
            self.jobs[job.id] = job
        return job.start(task, finish, **arguments)

    def job(self, name: str) -> Work:
        """Return a job by its name."""
        if name not in self.jobs:
            raise NotFound("there is no such job in this project")
        return self.jobs[name]

    def release(self, name: str) -> MadeRelease:
        """Return a release by its name."""
        if name not in self.releases:
            raise NotFound("there is no such release in this project")
        return self.releases[name]

    @property
    def memory(self) -> int:
        """How many bytes of memory its processes have."""
        return sum(worker.memory for worker in {self.desk, *(job.worker for job in [*self.jobs.values()])})

    @property
    def disk(self) -> int:
        """How many bytes its files have."""
        found = 0
        for place, _, files in os.walk(self.folder):  # which passes over folders that go meanwhile
            for name in files:
                with contextlib.suppress(FileNotFoundError):
                    found += Path(place, name).lstat().st_size
        return found

    def close(self) -> None:
        """End all its work and remove its files."""
        for job in [*self.jobs.values()]:
            job.worker.close()
        self.desk.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Projects:
    """The projects that are open, in one private folder."""

    def __init__(self, folder: Path, most_memory: int) -> None:
        self.folder, self.most_memory = folder, most_memory
        self._open: dict[str, Project] = {}
        self._opening: set[Worker] = set()
        self._lock = threading.Lock()

    def new_folder(self) -> Path:
        """Return a folder for a project to come."""
        if len(self._open) >= MOST_PROJECTS:
            self._make_room()
        folder = self.folder / token_urlsafe(18)
        folder.mkdir(mode=0o700)
        return folder

    def add(self, name: str, desk: Worker, source: str, looked: dict[str, Any], steps: list[HistoryStep]) -> Project:
        """Open a project with a worker in the folder that holds its table."""
        project = Project(desk.folder.name, name, desk, source, looked, steps)
        with self._lock:
            self._open[project.id] = project
        return project

    @contextlib.contextmanager
    def opening(self, desk: Worker) -> Iterator[None]:
        """While a table is looked at that is no project yet: its worker goes, too, when all is closed."""
        self._opening.add(desk)
        try:
            yield
        finally:
            self._opening.discard(desk)

    def get(self, name: str) -> Project:
        """Return a project by its name, and remember that it was used last."""
        with self._lock:
            project = self._open.pop(name, None)
            if project is None:
                raise NotFound("there is no such project: it was closed, or the studio was started anew since")
            self._open[name] = project
            return project

    def close(self, name: str) -> None:
        """Close a project, and remove all of it."""
        project = self.get(name)
        with self._lock:
            del self._open[name]
        project.close()

    def forget(self, folder: Path) -> None:
        """Remove the folder of a project that did not come to be."""
        if folder.name not in self._open:
            shutil.rmtree(folder, ignore_errors=True)

    def close_all(self) -> None:
        """Close every project, and give up those that are being opened."""
        for desk in list(self._opening):
            desk.kill()
        for name in list(self._open):
            self.close(name)

    def _make_room(self) -> None:
        """Close the project that was not used for longest and is not at work."""
        for name, project in list(self._open.items()):
            if all(job.is_over for job in [*project.jobs.values()]):
                self.close(name)
                return
        raise Busy(f"{MOST_PROJECTS} projects are open and all are at work; close one")
