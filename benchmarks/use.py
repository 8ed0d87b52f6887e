"""What releases are good for: errors of counts by method, on the table that `metric = "use"` was chosen on and others.

*questions* is the workload of reports (1,000 COUNT queries over one to three attributes), *queries*, *singles* and
*pairs* are the yardsticks read from the published table alone, *auc* that of a logistic regression of salary, trained
on the release and tested on the 15,060 original rows of Adult's test file. Adult is what weights and prices were chosen
on, at k = 5, 10 and 50; Census-Income, the visits and the invented table are not. Everything is shown as sets, but for
the rows that say so.
"""

import csv
import lzma
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.data import COLUMNS, QUASI, adult_attributes, census_income, count, write_adult
from benchmarks.questions import run_workload
from ringfence.arrays import Floats
from ringfence.census.census import Census
from ringfence.plans.published import Published
from ringfence.rows.duckdb import DuckDB
from ringfence.samples import visits
from ringfence.yardsticks.measure import read_rows, ruler

SETS: dict[str, dict[str, Any]] = {
    "local": {"name": "local", "representation": "set"},
    "local, use": {"name": "local", "metric": "use", "representation": "set"},
    "local, use, fast": {"name": "local", "metric": "use", "representation": "set", "effort": "fast"},
    "hilbert": {"name": "hilbert", "representation": "set"},
    "hilbert, use": {"name": "hilbert", "metric": "use", "representation": "set"},
    "cluster": {"name": "cluster", "representation": "set"},
    "mondrian": {"name": "mondrian", "representation": "set"},
    "ring": {"name": "ring", "representation": "set"},
}
OTHERWISE: dict[str, dict[str, Any]] = {
    "local, nodes": {"name": "local", "representation": "hierarchy"},
    "local, use, nodes": {"name": "local", "metric": "use", "representation": "hierarchy"},
    "local, loose": {"name": "local", "labels": "loose"},
    "local, use, loose": {"name": "local", "metric": "use", "labels": "loose"},
    "cluster, nodes": {"name": "cluster"},
}


def invented(rows: int = 20_000, seed: int = 28) -> pa.Table:
    """Return people nobody counted: a skewed region of 60, a job that goes with it, a rare status, two numbers."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61) ** 1.2
    region = rng.choice(60, rows, p=shares / shares.sum())
    job = (region * 7 + rng.poisson(2, rows)) % 25
    status = rng.choice(5, rows, p=[0.93, 0.04, 0.02, 0.007, 0.003])
    year = 1940 + np.minimum(65, rng.gamma(6, 5, rows)).astype(int)
    members = np.minimum(8, 1 + rng.poisson(1.2 + 0.1 * (job % 5)))
    return pa.table(
        {
            "region": [f"r{value:02}" for value in region],
            "job": [f"j{value:02}" for value in job],
            "status": [f"s{value}" for value in status],
            "year": year,
            "members": members,
        }
    )


def tables(folder: Path) -> Iterator[tuple[str, pa.Table, dict[str, Any], list[int], str | None]]:
    """Yield each table with its attributes, some k, and where its hierarchies lie, if it has any."""
    with tempfile.TemporaryDirectory() as place:
        path = write_adult(folder, Path(place))
        attributes = adult_attributes()
        attributes["age"]["order"] = "numeric"
        attributes["class"] = {"role": "sensitive"}
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        yield "Adult", pa.Table.from_pylist(rows), attributes, [5, 10, 50], place
    flat, number = {"role": "quasi", "hierarchy": "flat"}, {"role": "quasi", "order": "numeric"}
    table = census_income(folder).drop_columns(["household"])
    quasi = {name: number if name == "age" else flat for name in table.column_names}
    yield "Census-Income", table, quasi, [5, 50], None
    few = visits()
    drafted = rf.draft(few).attributes
    chosen = {name: drafted[name] for name in drafted if drafted[name].role in ("quasi", "sensitive")}
    yield "visits", few.select([*chosen]), chosen, [5], "."
    made = {name: number if name in ("year", "members") else flat for name in invented(1).column_names}
    yield "invented", invented(), made, [5, 20], None


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of every method on every table."""
    for name, table, attributes, ks, place in tables(folder):
        for k in ks:
            for method, asked in {**SETS, **(OTHERWISE if place and k == 5 else {})}.items():
                spec = rf.Spec(data={"unlisted": "drop"}, attributes=attributes, privacy={"k": k}, method=asked)
                spec, before = spec.at(place or "."), time.process_time()
                try:
                    release = rf.anonymize(table, spec)
                except rf.errors.RingfenceError as error:
                    yield {"data": name, "k": k, "method": method, "refused": str(error)[:80]}
                    continue
                seconds = time.process_time() - before
                census = count(table, spec)
                published = release.plan.published(census)
                assert published is not None, "none of these is about baskets"
                with DuckDB(spec.data) as engine:
                    by = ruler(engine, engine.open(table, spec.data), spec)
                    side = read_rows(engine, engine.open(release.table, spec.data, as_it_stands=True), by, spec)
                    found = by.measure(side)
                row = {
                    "data": name,
                    "k": k,
                    "method": method,
                    "processor seconds": round(seconds, 1),
                    **{key: round(release.metrics[key], 4) for key in ("glm", "use")},
                    "questions": round(float(run_workload(published).errors.mean()), 4),
                    **{key: round(getattr(found, key), 4) for key in ("queries", "singles", "pairs")},
                }
                yield {**row, "auc": round(_auc(published, release.table, folder), 4)} if name == "Adult" else row


def _auc(published: Published, table: pa.Table, folder: Path) -> float:
    """Train on what is published, each value as likely as its label says, and test on the original's other file."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    census, shares = published.census, []
    for a, part in enumerate(published.shown):
        number = {str(label): place for place, label in enumerate(part.covers.labels)}
        labels = [number[str(label)] for label in table[census.names[a]].to_pylist()]
        shares.append(_likely(part.covers.lists(), census, a)[labels])
    rich = np.array([label.startswith(">") for label in table["class"].to_pylist()])
    model = LogisticRegression(max_iter=300).fit(_features(shares, census), rich)
    with lzma.open(folder / "adult" / "adult.test.xz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(COLUMNS) and "?" not in row]
    exact = []
    for name in QUASI:
        tree = census.quasi[census.names.index(name)].hierarchy
        leaf = {str(label): place for place, label in enumerate(tree.labels[: tree.leaves])}
        exact.append(np.eye(tree.leaves)[[leaf[row[COLUMNS.index(name)]] for row in rows]])
    truth = np.array([row[-1].startswith(">") for row in rows])
    ordered = [exact[QUASI.index(name)] for name in census.names]
    return float(roc_auc_score(truth, model.predict_proba(_features(ordered, census))[:, 1]))


def _likely(covers: list[list[int]], census: Census, a: int) -> Floats:
    found = np.zeros((len(covers), census.quasi[a].hierarchy.leaves))
    for label, members in enumerate(covers):
        found[label, members] = 1 / len(members)
    return found


def _features(shares: list[Floats], census: Census) -> Floats:
    """Return the shares of all values; of ages their mean and that of their squares."""
    columns = []
    for quasi, part in zip(census.quasi, shares, strict=True):
        if quasi.name == "age":
            ages = np.nan_to_num(quasi.places) / 50
            columns += [(part @ ages)[:, None], (part @ ages**2)[:, None]]
        else:
            columns.append(part)
    return np.concatenate(columns, axis=1)
