"""The level search on Adult: against judging every node by `numpy.unique`, and against ARX's published figures.

ARX's seconds were measured elsewhere, warm, for one k = 5 under discernibility: 0.23 at 1 % suppression (701 nodes
checked), 0.53 at 5 % (2,007 nodes). They are quoted, not rerun: compare orders of magnitude. They are of ARX's whole
call, from a table in memory to a release, and so is `whole call`, which also audits what it made; `seconds` is our
search alone, on rows that are counted already, and is not to be compared with them.
"""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.csv

from benchmarks.data import QUASI, adult_attributes, count, write_adult
from benchmarks.timing import best_seconds
from ringfence.api import anonymize
from ringfence.methods import decide
from ringfence.search.progress import Watch
from ringfence.spec import Spec

ARX = {("k", 0.01): 0.23, ("k", 0.05): 0.53, ("other", 0.01): 0.19, ("other", 0.05): 0.42}


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the time of each search, and of the baseline that judges every node from the rows."""
    with TemporaryDirectory() as temporary:
        source = write_adult(folder, Path(temporary))
        attributes = adult_attributes()
        yield from _baseline(source, Path(temporary), attributes)
        for metric, suppression in itertools.product(["dm", "glm"], [0.0, 0.01, 0.05, 1.0]):
            spec = _spec(source, attributes, {"k": 5}, metric, suppression)
            yield _timed("k = 5", spec, ARX.get(("k", suppression)) if metric == "dm" else None)
        attributes["occupation"] = {"role": "sensitive"}
        for name, privacy in {
            "k = 5, distinct l = 3": {"k": 5, "l": 3},
            "k = 5, entropy l = 3": {"k": 5, "l": {"value": 3, "kind": "entropy"}},
            "k = 5, t = 0.2": {"k": 5, "t": 0.2},
        }.items():
            for suppression in (0.01, 0.05):
                spec = _spec(source, attributes, privacy, "dm", suppression)
                yield _timed(name, spec, ARX["other", suppression])


def _spec(source: Path, attributes: Any, privacy: Any, metric: str, suppression: float) -> Spec:
    method = {"metric": metric, "suppression": suppression}
    return Spec(data={"source": source.name}, attributes=attributes, privacy=privacy, method=method).at(source.parent)


def _timed(promise: str, spec: Spec, arx: float | None) -> dict[str, Any]:
    census = count(spec.locate(spec.data.source or ""), spec)
    search = decide(census, spec, Watch()).search
    assert search is not None
    seconds = best_seconds(lambda: decide(census, spec, Watch()))
    table = pyarrow.csv.read_csv(
        spec.locate(spec.data.source or ""),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(spec.attributes, pyarrow.string())),
    )
    whole = best_seconds(lambda: anonymize(table, spec))
    ratio = {"arx seconds (quoted)": arx, "arx / whole call": round(arx / whole, 1)} if arx else {}
    return {
        "promise": promise,
        "metric": spec.method.metric,
        "suppression": spec.method.suppression,
        "seconds": round(seconds, 4),
        "whole call": round(whole, 4),
        "nodes": search.nodes,
        "cost": search.cost,
        **ratio,
    }


def _baseline(source: Path, folder: Path, attributes: Any, sample: int = 200) -> Iterator[dict[str, Any]]:
    """Judge a sample of nodes from the rows with numpy.unique: what every node would take, beside our search."""
    spec = _spec(source, attributes, {"k": 5}, "dm", 0.01)
    census = count(spec.locate(spec.data.source or ""), spec)
    table = pyarrow.csv.read_csv(source)
    columns = []
    for quasi in census.quasi:
        leaf = {label: i for i, label in enumerate(quasi.hierarchy.labels)}
        codes = np.array([leaf[str(value)] for value in table[quasi.name].to_pylist()])
        columns.append([level[codes] for level in quasi.hierarchy.levels])
    nodes = list(itertools.product(*(range(height + 1) for height in census.heights)))
    chosen = np.random.default_rng(2008).choice(len(nodes), sample, replace=False)
    start = time.perf_counter()
    for number in chosen:
        rows = np.stack([space[level] for space, level in zip(columns, nodes[number], strict=True)], axis=1)
        np.unique(rows, axis=0, return_counts=True)
    every = (time.perf_counter() - start) / sample * len(nodes)
    ours = best_seconds(lambda: decide(census, spec, Watch()))
    assert list(census.names) == QUASI
    assert folder.is_dir()
    yield {
        "baseline": "numpy.unique on the rows of every node (extrapolated from a sample)",
        "nodes": len(nodes),
        "seconds": round(every, 2),
        "ours, proven": round(ours, 4),
        "baseline / ours": round(every / ours),
    }
