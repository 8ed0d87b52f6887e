"""How far off readers of drafted releases are, by how they read labels: every value alike, by the release's own
frequencies, or by the counts of values that are published beside it."""

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
from ringfence.rows.dates import open_original
from ringfence.rows.engine import as_released
from ringfence.rows.engines import engine_for
from ringfence.samples import people
from ringfence.yardsticks.measure import read_rows, ruler
from ringfence.yardsticks.reading import ReadRows, Truth
from ringfence.yardsticks.weighing import by_counts

SECONDS = 20

Reader: TypeAlias = Callable[[ReadRows], ReadRows]
"""Says what the labels of a release stand for, given what they hold."""


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
        "evenly": lambda side: side,
        "by its own frequencies": lambda side: _by_itself(side, found.truth),
        "by counts": lambda side: by_counts(side, found.truth, release.counts, spec),
    }
    off = {"each attribute alone": found.naive.off(spec.purpose)}
    off |= {reader: found.measure(reads(side)).off(spec.purpose) for reader, reads in readers.items()}
    return {
        "rows": found.truth.total,
        "k": spec.k,
        "counts": release.counts.num_rows,
        "off": {reader: round(each, 4) for reader, each in off.items()},
    }


def _by_itself(side: ReadRows, truth: Truth) -> ReadRows:
    """Return labels under which each value is as likely as the release has it, read evenly."""
    likely = dict(side.likely)
    for name in truth.quasi:
        rows = np.bincount(side.codes[name], side.rows, minlength=len(likely[name].sizes)).astype(np.float64)
        likely[name] = likely[name].weighed(likely[name].total(rows, len(truth.domains[name])))
    return replace(side, likely=likely)
