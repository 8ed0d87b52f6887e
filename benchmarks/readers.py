"""How far off readers of drafted releases are, by how they read labels: every value alike, by the release's own
frequencies, or so that the counts of each attribute come out that would be published beside it.

Counts below k would be published together. Nothing of this is written by a run: docs/drafts.md says what it would take.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.data import all_adult, census_income
from benchmarks.drafts import pupils
from ringfence.api.making import with_measures
from ringfence.arrays import Floats
from ringfence.rows.dates import open_original
from ringfence.rows.engine import as_released
from ringfence.rows.engines import engine_for
from ringfence.samples import people
from ringfence.yardsticks.measure import read_rows, ruler
from ringfence.yardsticks.reading import Likely, Truth

SECONDS = 20
ROUNDS = 100
"""How often shares are fitted: each round, what is read of a value is scaled to what there is of it."""

Reader: TypeAlias = Callable[[Truth, str, Likely, Floats], Likely]
"""Says what labels of an attribute stand for, where so many rows have each."""


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield for each table, as drafted and in lists, what readers are off by."""
    with TemporaryDirectory() as temporary:
        tables = {
            "people": people(),
            "Adult": all_adult(folder),
            "Census-Income": census_income(folder).slice(0, 50_000),
            "pupils": pupils(Path(temporary)),
        }
        for name, table in tables.items():
            draft = rf.draft(table)
            yield {"table": name, "shown": "plain", **_read(table, draft, draft.method.representation)}
            yield {"table": name, "shown": "lists", **_read(table, draft, None)}


def _read(source: Any, draft: rf.Spec, representation: Any) -> dict[str, Any]:
    asked = {"time_limit": SECONDS, "representation": representation}
    spec = draft.model_copy(update={"method": draft.method.model_copy(update=asked)})
    release = rf.anonymize(None if isinstance(source, Path) else source, spec)
    assert release.metrics["suppressed"] == 0
    with engine_for(spec.data, source) as engine:
        original = open_original(engine, source, spec)
        spec = with_measures(engine, original, spec)
        found = ruler(engine, original, spec)
        table: pa.Table = release.table
        side = read_rows(engine, engine.open(table, as_released(spec.data), as_it_stands=True), found, spec)
    readers: dict[str, Reader] = {
        "evenly": lambda _truth, _name, likely, _rows: likely,
        "by its own frequencies": _by_itself,
        "by counts of k and more": lambda *of: _fitted(spec.k, *of),
    }
    truth = found.truth
    off = {"each attribute alone": found.naive.off(spec.purpose)}
    for reader, reads in readers.items():
        likely = dict(side.likely)
        for name in truth.quasi:
            rows = np.bincount(side.codes[name], side.rows, minlength=len(likely[name].sizes)).astype(np.float64)
            likely[name] = reads(truth, name, likely[name], rows)
        off[reader] = found.measure(replace(side, likely=likely)).off(spec.purpose)
    return {"rows": truth.total, "k": spec.k, "off": {reader: round(each, 4) for reader, each in off.items()}}


def _by_itself(truth: Truth, name: str, likely: Likely, rows: Floats) -> Likely:
    return _weighed(likely, likely.total(rows, len(truth.domains[name])))


def _fitted(k: int, truth: Truth, name: str, likely: Likely, rows: Floats) -> Likely:
    """Return labels of which each value is as likely as lets the counts come out; those below k are one count."""
    counts = truth.marginal(name) * truth.total
    few = counts < k - 0.5
    counts[few] = counts[few].mean() if few.any() else 0.0
    weights = np.ones(len(counts))
    for _ in range(ROUNDS):
        read = _weighed(likely, weights).total(rows, len(counts))
        weights = weights * counts / np.maximum(read, 1e-9)
    return _weighed(likely, weights)


def _weighed(likely: Likely, weights: Floats) -> Likely:
    """Return labels of which each value is as likely as it weighs."""
    labels = np.repeat(np.arange(len(likely.sizes)), likely.sizes)
    shares = np.maximum(weights[likely.members], 1e-300)
    return replace(likely, shares=shares / np.bincount(labels, shares, minlength=len(likely.sizes))[labels])
