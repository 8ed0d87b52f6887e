"""Warming up: what is compiled at first use is compiled now, on all cores, for images of machines and for tests.

Every method releases a small table under the promises and losses that bring its kernels in, and what else is compiled
is asked for beside it. Each is a task for some process of its own, since one process compiles one kernel at a time;
what is compiled is kept for all (`compiling`). `ahead` compiles for a kind of processor instead of this one, into a
folder that a wheel is built with.
"""

import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from ringfence import api, samples
from ringfence.compiling import AHEAD, FEATURES, PROCESSOR, timed
from ringfence.declared import BASKETS, BUCKETS, METHODS, SCHEMES, methods_that
from ringfence.errors import Unsatisfiable
from ringfence.rows.numbered import FEW as FEW_CELLS
from ringfence.spec import Spec

ROWS, FEW_ROWS = 400, 40
SECONDS = 0.5
"""How long a search goes on, compiling aside: until it has done a little of everything that it is made of."""
FEW = ("sex", "education", "marital_status")
"""Quasi-identifiers of which everything can be proven at once."""
OTHERS = ("refinement", "bounds", "promises", "fronts", "baskets", "people")
"""What is compiled beside the methods: attacks, proofs of bounds, other promises, fronts, searches for baskets, records
of people."""


def tasks() -> list[str]:
    """Return what there is to compile: methods, the schemes of `optimal`, and all else. The longest come first."""
    first = ["set", "local", "ring", "cluster", "bounds", "refinement"]
    return [*first, *(name for name in [*SCHEMES, *METHODS, *OTHERS] if name not in (*first, "optimal"))]


def specs(task: str) -> list[Spec]:
    """Return what is released for a method, or for a scheme."""
    if task in methods_that(way=BASKETS):
        return [samples.baskets_spec()]
    if task in methods_that(way=BUCKETS):
        return [_changed({"l": 2}, {"name": task})]
    if task in SCHEMES:
        method = {"name": "optimal", "scheme": task, "suppression": 0.02, "time_limit": SECONDS}
        promises: list[dict[str, Any]] = [{"k": 5}, {"k": 5, "l": 2}]
        asked = [(promise, {**method, "metric": metric}) for promise in promises for metric in ("dm", "glm")]
        every = [_changed(*each, quasi) for each in asked for quasi in ((), FEW)]
        return [*every, _changed({"k": 5}, {**method, "metric": "ntil"})]  # losses by nodes
    if "levels" in METHODS[task].options:
        levels = dict.fromkeys(samples.people_spec().of_role("quasi"), 1)
        return [_changed({"k": 1}, {"name": task, "levels": levels})]
    ways: list[dict[str, Any]] = [{}]
    ways += [{key: True} for key in ("relaxed", "homogeneous") if key in METHODS[task].options]
    promised: list[dict[str, Any]] = [{"k": 5, "l": 2}]
    promised += [{"k": 20}] if "effort" in METHODS[task].options else []  # large groups are improved in another way
    return [_changed({"k": 5}, {"name": task, **way}) for way in ways] + [
        _changed(promise, {"name": task}) for promise in promised
    ]


def _changed(
    privacy: Mapping[str, Any],
    method: Mapping[str, Any],
    quasi: Sequence[str] = (),
    of: str = "occupation",
    **data: Any,
) -> Spec:
    """Return a specification of the people by some quasi-identifiers, all if none are named, and promises `of` one
    attribute."""
    attributes = samples.people_spec().model_dump(by_alias=True, exclude_unset=True)["attributes"]
    attributes |= {name: {"role": "insensitive"} for name in ("occupation", "salary") if name != of}
    kept = {name: each for name, each in attributes.items() if each["role"] != "quasi" or not quasi or name in quasi}
    return Spec(attributes=kept, privacy=dict(privacy), method=dict(method), data={"unlisted": "drop", **data})


def compile_for(task: str) -> float:
    """Do what a task is about; return how many seconds were spent on compiling."""
    with timed() as compilations:
        rows = 2 * FEW_CELLS if task == "levels" else ROWS  # cells of many rows are numbered by kernels
        for spec in specs(task) if task not in OTHERS else ():
            _release(samples.people(rows) if spec.items is None else samples.baskets(rows), spec)
        match task:
            case "refinement":
                api.anonymize(samples.people(FEW_ROWS), _changed({"k": 3}, {"name": "ring"}, FEW), attacks=task)
            case "bounds":
                _prove_a_bound()
            case "promises":
                _keep_other_promises()
            case "fronts":
                for privacy, metric in (({}, "dm"), ({}, "glm"), ({}, "hdm"), ({"l": 2}, "glm")):
                    method = {"name": "optimal", "metric": metric, "suppression": 0 if privacy else 0.02}
                    api.frontier(samples.people(ROWS), _changed(privacy, method, FEW))
            case "baskets":
                _search_baskets()
            case "people":
                whose = pa.array([str(row // 2) for row in range(ROWS)])
                people = samples.people(ROWS).drop_columns(["name"]).append_column("name", whose)
                asked = {"name": "optimal", "suppression": 0.3}
                _release(people, _changed({"k": 3}, asked, FEW, entity="name", composite=True))
    return compilations.seconds


def _release(table: pa.Table, spec: Spec) -> None:
    with suppress(Unsatisfiable):  # a busy machine may find nothing in that time: what it compiled is kept
        api.anonymize(table, spec)


def _prove_a_bound() -> None:
    """Prove what groups must lose at least, and check the proof."""
    import pyarrow.parquet as pq

    with TemporaryDirectory() as folder:
        source = Path(folder, "people.parquet")
        pq.write_table(samples.people(FEW_ROWS), source)
        method = {"name": "local", "bound": "dual", "time_limit": 6 * SECONDS}
        spec = _changed({"k": 3}, method, ("age", "sex", "education"), source=str(source))
        api.run(spec, Path(folder, "out"), report=False)
        for certificate in Path(folder).rglob("certificate.json"):
            api.check_bound(certificate, spec)


def _keep_other_promises() -> None:
    """Release by levels under the promises and losses that no other task has."""
    people, method = samples.people(ROWS), {"name": "optimal", "suppression": 0.3}
    for kind in ({"kind": "entropy"}, {"kind": "recursive", "c": 3}):
        _release(people, _changed({"l": {"value": 2, **kind}}, method, FEW))
    for of, distance in (("occupation", "equal"), ("occupation", "hierarchical"), ("salary", "ordered")):
        _release(people, _changed({"t": {"value": 0.5, "distance": distance}}, method, FEW, of))
    _release(people, _changed({"k": 3}, {**method, "metric": "ce", "target": "salary"}, FEW, "salary"))


def _search_baskets() -> None:
    """Search for cuts of items in all ways, of a table on which each ends at once; and for some that take long."""
    given = samples.baskets_spec()
    method = given.method.model_copy(update={"time_limit": SECONDS})
    for rows, k, m in ((ROWS, 2, 2), (5 * ROWS, 5, 2), (ROWS, 2, 3)):
        privacy = given.privacy.model_copy(update={"k": k, "m": m})
        _release(samples.baskets(rows), given.model_copy(update={"privacy": privacy, "method": method}))
    tree = {"x": ["a", "b"], "y": ["c", "d"]}
    items = {"role": "items", "separator": " ", "hierarchy": {"tree": tree}}
    table = pa.table({"basket": ["a b", "a", "b c", "c d", "d", "a c", "b d", "a b c", "d a", "c"] * 4})
    for m in (2, 3):
        for search in METHODS["itemsets"].searches:
            asked = {"name": "itemsets", "search": search}
            _release(table, Spec(attributes={"basket": items}, privacy={"k": 7, "m": m}, method=asked))


def warm() -> Iterator[tuple[str, float, float]]:
    """Do all tasks; yield each as it ends, with the seconds that it spent on compiling, and those since the beginning.

    Processes begin anew, and are not copies of this one: what it has loaded may have threads.
    """
    began = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as processes:
        at_work = {processes.submit(compile_for, task): task for task in tasks()}
        for done in as_completed(at_work):
            yield at_work[done], done.result(), time.monotonic() - began


def ahead(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Do all tasks for a kind of processor that most machines have; put what was compiled into a folder, as `compiling`
    looks for it in an installed package."""
    with TemporaryDirectory() as kept:
        # Read by numba when it is imported: by processes that begin anew, not by this one.
        os.environ.update(NUMBA_CACHE_DIR=kept, NUMBA_CPU_NAME=PROCESSOR, NUMBA_CPU_FEATURES=FEATURES)
        yield from warm()
        shutil.rmtree(folder, ignore_errors=True)
        for compiled in Path(kept).glob("*/ringfence.*"):
            shutil.copytree(compiled, folder / AHEAD / compiled.name, ignore=shutil.ignore_patterns("lock"))


if __name__ == "__main__":
    for done, spent, seconds in ahead(Path(sys.argv[1])):
        print(f"{seconds:6.1f} s  {done}: {spent:.1f} s of compiling", flush=True)
