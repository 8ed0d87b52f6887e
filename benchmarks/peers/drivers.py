"""One call of a tool in its own environment: `python drivers.py TASK`, a JSON file; what came of it goes to another.

There, only the standard library and what the tool brings are at hand: nothing of ours is imported but by our own
driver. A driver gets the task and returns two functions: the call that is timed, on a table that is in memory, and what
writes its result. Seconds of the *job* are from the first line of this file to the written release, those of the *call*
are of the call alone; where it is quick, of a second one in the same process, so that what is loaded or compiled at
first use counts in the job only. `signal.alarm` ends what takes too long, a limit on memory what takes too much.
"""

import csv
import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

BEGAN = time.perf_counter()

Task = dict[str, Any]
Driver = tuple[Callable[[], Any], Callable[[Any, Path], None]]
QUICK = 2.0
"""Calls that took fewer seconds are made again."""


def levels(task: Task) -> dict[str, list[list[str]]]:
    """Return the hierarchy of each quasi-identifier: a line for each value, from the value up to `*`."""
    found = {}
    for name in task["quasi"]:
        with (Path(task["folder"]) / f"{name}.csv").open(encoding="utf-8") as file:
            found[name] = list(csv.reader(file, delimiter=";"))
    return found


def frame(task: Task, *, numbers: bool = False, categories: bool = False) -> Any:
    """Return the table as a pandas DataFrame of text; if asked for, with numbers as such and the rest categories."""
    import pandas

    table = pandas.read_csv(Path(task["folder"]) / "table.csv", dtype=str, keep_default_na=False)
    for name in table.columns:
        if numbers and name in task["numeric"]:
            table[name] = table[name].astype(int)
        elif categories and name in task["quasi"]:
            table[name] = table[name].astype("category")
    return table


def save_frame(table: Any, path: Path) -> None:
    """Write a pandas DataFrame."""
    table.to_csv(path, index=False)


def anjana(task: Task) -> Driver:
    """Full-domain levels: the attribute with the most values goes up a level, until the classes that fail may go."""
    from anjana.anonymity import k_anonymity

    table, names = frame(task), task["quasi"]
    trees = {
        name: {level: [line[level] for line in lines] for level in range(len(lines[0]))}
        for name, lines in levels(task).items()
    }
    return lambda: k_anonymity(table, [], names, task["k"], 100 * task["suppression"], trees), save_frame


def crowds(task: Task) -> Driver:
    """Full-domain levels by OLA, the loss its default: how high the levels are."""
    from crowds.kanonymity.generalizations import GenRule
    from crowds.kanonymity.ola import anonymize

    table = frame(task)
    rules = {
        name: GenRule([{line[0]: line[level] for line in lines}.get for level in range(1, len(lines[0]) - 1)])
        for name, lines in levels(task).items()
    }

    def save(result: Any, path: Path) -> None:
        save_frame(result[0][task["quasi"]].fillna("*"), path)

    return lambda: anonymize(table, rules, k=task["k"], max_sup=100 * task["suppression"]), save


def openmed(task: Task) -> Driver:
    """Full-domain levels, every node of the lattice looked at, the loss its default: how high the levels are."""
    import pandas
    from openmed.risk.kanon import enforce_kanon

    records = frame(task)[task["quasi"]].to_dict("records")
    trees = {
        name: [
            {"name": "value"},
            *(
                {"name": str(at), "values": {line[0]: line[at] for line in lines}, "default": "*"}
                for at in range(1, len(lines[0]))
            ),
        ]
        for name, lines in levels(task).items()
    }

    def call() -> Any:
        return enforce_kanon(
            records, task["quasi"], target_k=task["k"], suppression_rate=task["suppression"], hierarchies=trees
        )

    return call, lambda result, path: save_frame(pandas.DataFrame(result["records"]), path)


def python_anonymity(task: Task) -> Driver:
    """Full-domain levels by Datafly. Its threshold is not one of rows, so nothing may be suppressed."""
    from anonymity.tools import k_anonymity

    table, trees = frame(task), levels(task)
    return lambda: k_anonymity(table.copy(), [], task["quasi"], task["k"], 0, trees, "datafly"), save_frame


def anonypy(task: Task) -> Driver:
    """Mondrian: ranges of numbers, sets of everything else."""
    import pandas
    from anonypy import Preserver

    table = frame(task, numbers=True, categories=True)
    call = Preserver(table, task["quasi"], task["beside"]).anonymize_k_anonymity

    def save(rows: Any, path: Path) -> None:  # every label is a list of one
        save_frame(pandas.DataFrame([{**row, **{name: row[name][0] for name in task["quasi"]}} for row in rows]), path)

    return lambda: call(task["k"]), save


def _anonypyx(task: Task, algorithm: str) -> Driver:
    from anonypyx import Anonymiser

    table = frame(task, numbers=True, categories=True)
    if algorithm != "Mondrian":  # it writes distances over the numbers, and whole numbers cannot hold them
        table = table.astype(dict.fromkeys(task["numeric"], float))
    call = Anonymiser(
        table,
        k=task["k"],
        algorithm=algorithm,
        feature_columns=task["quasi"],
        sensitive_column=task["beside"],
        generalisation_strategy="human-readable",
    ).anonymise
    return call, save_frame


def anonypyx_mondrian(task: Task) -> Driver:
    """Mondrian: ranges of numbers, sets of everything else."""
    return _anonypyx(task, "Mondrian")


def anonypyx_mdav(task: Task) -> Driver:
    """MDAV-generic, groups of k by distance; published as ranges and sets."""
    return _anonypyx(task, "MDAV-generic")


def polarfrost(task: Task) -> Driver:
    """Mondrian on Polars: ranges of numbers, sets of everything else."""
    import polars
    from polarfrost.mondrian import mondrian_k_anonymity_polars

    names = task["quasi"]
    table = polars.read_csv(Path(task["folder"]) / "table.csv", infer_schema=False)
    table = table.with_columns(polars.col(task["numeric"]).cast(polars.Int64))
    others = [name for name in names if name not in task["numeric"]]

    def call() -> Any:
        return mondrian_k_anonymity_polars(table, names, task["beside"], task["k"], others)

    return call, lambda result, path: result.write_csv(path)


def privacy_preserver(task: Task) -> Driver:
    """Mondrian: ranges of numbers, sets of everything else."""
    from preserver.mondrian_preserver import Preserver

    table = frame(task, numbers=True)
    others = {name for name in table.columns if name not in task["numeric"]}

    def call() -> Any:
        return Preserver.k_anonymize(table.copy(), task["k"], task["quasi"], task["beside"], others, None)

    return call, save_frame


def ringfence(task: Task) -> Driver:
    """Ours, by any method, as `rf.anonymize` has it, audit included; hierarchies where levels are asked for."""
    import ringfence as rf

    table = frame(task, numbers=True)
    spec = rf.Spec(attributes=task["attributes"], privacy={"k": task["k"]}, method=task["method"]).at(task["folder"])
    return lambda: rf.anonymize(table, spec).table, save_frame


def pycanon(task: Task) -> Driver:
    """Judges a table, and makes none."""
    from pycanon import anonymity

    table, names, beside = frame(task), task["quasi"], [task["beside"]]

    def call() -> dict[str, float]:
        return {
            "k": float(anonymity.k_anonymity(table, names)),
            "alpha": float(anonymity.alpha_k_anonymity(table, names, beside)[0]),
            "l": float(anonymity.l_diversity(table, names, beside)),
            "t": float(anonymity.t_closeness(table, names, beside)),
            "beta": float(anonymity.basic_beta_likeness(table, names, beside)),
            "delta": float(anonymity.delta_disclosure(table, names, beside)),
        }

    def save(values: Any, path: Path) -> None:
        path.write_text(json.dumps(values))

    return call, save


def ringfence_audit(task: Task) -> Driver:
    """Ours, judging the same table by the same models."""
    import ringfence as rf

    table = frame(task)
    every = {"k": 1, "alpha": 1.0, "l": 1, "t": 1.0, "beta": 1e9, "delta": 1e9}
    spec = rf.Spec(attributes=task["attributes"], privacy=every)

    def save(values: Any, path: Path) -> None:
        path.write_text(json.dumps({name: float(values[name]) for name in every}))

    return lambda: rf.audit(table, spec).measured, save


DRIVERS: dict[str, Callable[[Task], Driver]] = {
    each.__name__: each
    for each in (
        *(anjana, crowds, openmed, python_anonymity, anonypy, anonypyx_mondrian, anonypyx_mdav, polarfrost),
        *(privacy_preserver, ringfence, pycanon, ringfence_audit),
    )
}


def processor() -> float:
    """Return the processor's seconds of this process and of what it waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def peak() -> float:
    """Return the most memory that this process has had, in megabytes. `ru_maxrss` would begin with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def run(task: Task) -> dict[str, Any]:
    """Carry a task out, and return what it took."""
    call, save = DRIVERS[task["driver"]](task)
    figures: dict[str, Any] = {"version": version(task["package"])}
    for again in (False, True):
        wall, busy = time.perf_counter(), processor()
        result = call()
        figures |= {"call": time.perf_counter() - wall, "call processor": processor() - busy}
        if not again:
            save(result, Path(task["release"]))
            figures |= {"job": time.perf_counter() - BEGAN, "job processor": processor()}
            figures["peak MB"] = peak()
        if figures["call"] > QUICK or not task["again"]:
            break
    return figures


def main() -> None:
    """Carry out the task of a file; whatever goes wrong is written down as its outcome."""
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    signal.alarm(task["seconds"])
    resource.setrlimit(resource.RLIMIT_AS, (task["bytes"], task["bytes"]))
    try:
        figures = run(task)
    except BaseException as error:  # also SystemExit, and pyo3's panics, which are no Exceptions
        figures = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
    Path(task["figures"]).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
