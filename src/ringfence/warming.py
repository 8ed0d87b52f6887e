"""Warming up: what is compiled at first use is compiled now, on all cores, for images of machines and for tests.

Every method releases a small table under the promises and losses that bring its kernels in. Each is a task for some
process of its own, since one process compiles one kernel at a time; what is compiled is kept for all (`compiling`).
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from typing import Any

from ringfence import api, samples
from ringfence.compiling import timed
from ringfence.declared import BASKETS, BUCKETS, METHODS, SCHEMES, methods_that
from ringfence.errors import Unsatisfiable
from ringfence.spec import Spec

ROWS = 400
SECONDS = 0.5
"""How long a search goes on, compiling aside: until it has done a little of everything that it is made of."""


def tasks() -> list[str]:
    """Return what there is to compile: methods, and the schemes of `optimal`. The longest come first."""
    first = ["set", "local", "ring", "cluster"]
    return [*first, *(name for name in [*SCHEMES, *METHODS] if name not in (*first, "optimal"))]


def specs(task: str) -> list[Spec]:
    """Return what is released for a task."""
    if task in methods_that(way=BASKETS):
        return [samples.baskets_spec()]
    if task in methods_that(way=BUCKETS):
        return [_changed({"l": 2}, {"name": task})]
    if task in SCHEMES:
        method = {"name": "optimal", "scheme": task, "suppression": 0.02, "time_limit": SECONDS}
        promises: list[dict[str, Any]] = [{"k": 5}, {"k": 5, "l": 2}]
        return [_changed(promise, {**method, "metric": metric}) for promise in promises for metric in ("dm", "glm")]
    if "levels" in METHODS[task].options:
        levels = dict.fromkeys(samples.people_spec().of_role("quasi"), 1)
        return [_changed({"k": 1}, {"name": task, "levels": levels})]
    return [_changed({"k": 5}, {"name": task}), _changed({"k": 5, "l": 2}, {"name": task})]


def _changed(privacy: Mapping[str, Any], method: Mapping[str, Any]) -> Spec:
    attributes = samples.people_spec().model_dump(by_alias=True, exclude_unset=True)["attributes"]
    attributes["salary"] = {"role": "insensitive"}  # promises of values are then about occupations
    return Spec(attributes=attributes, privacy=dict(privacy), method=dict(method))


def compile_for(task: str) -> float:
    """Release what a task is about; return how many seconds were spent on compiling."""
    with timed() as compilations:
        for spec in specs(task):
            table = samples.people(ROWS) if spec.items is None else samples.baskets(ROWS)
            with suppress(Unsatisfiable):  # a busy machine may find nothing in that time: what it compiled is kept
                api.anonymize(table, spec)
    return compilations.seconds


def warm() -> Iterator[tuple[str, float, float]]:
    """Do all tasks; yield each as it ends, with the seconds that it spent on compiling, and those since the beginning.

    Processes begin anew, and are not copies of this one: what it has loaded may have threads.
    """
    began = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as processes:
        at_work = {processes.submit(compile_for, task): task for task in tasks()}
        for done in as_completed(at_work):
            yield at_work[done], done.result(), time.monotonic() - began
