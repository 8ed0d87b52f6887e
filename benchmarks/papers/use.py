"""What releases are good for: errors of counts and of a model by method, on the table that `metric = "use"` was chosen
on and on others.

`python -m benchmarks.papers.use TABLE...` measures some tables, writes them to docs/papers/use and prints them. Adult
is what weights and prices were chosen on, at k = 5, 10 and 50; all other tables are not.
"""

import csv
import io
import lzma
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.data import COLUMNS, QUASI, count, data_folder
from benchmarks.papers.pages import DOCS, Page, with_table
from benchmarks.papers.use_tables import SUBJECTS, Subject
from benchmarks.questions import run_workload
from ringfence.arrays import Floats
from ringfence.census.census import Census
from ringfence.plans.published import Published
from ringfence.rows.duckdb import DuckDB
from ringfence.yardsticks.measure import Ruler, Yardsticks, read_rows, ruler
from ringfence.yardsticks.reading import ReadRows
from ringfence.yardsticks.weighing import by_counts

SETS, LABELS, LOOSE = "sets", "labels", "loose labels"
METHODS: dict[tuple[str, str], dict[str, Any]] = {
    ("local, use", SETS): {"name": "local", "metric": "use", "representation": "set"},
    ("local", SETS): {"name": "local", "representation": "set"},
    ("hilbert, use", SETS): {"name": "hilbert", "metric": "use", "representation": "set"},
    ("cluster", SETS): {"name": "cluster", "representation": "set"},
    ("mondrian", SETS): {"name": "mondrian", "representation": "set"},
    ("ring", SETS): {"name": "ring", "representation": "set"},
    ("local, use", LABELS): {"name": "local", "metric": "use", "representation": "hierarchy"},
    ("local", LABELS): {"name": "local", "representation": "hierarchy"},
    ("cluster", LABELS): {"name": "cluster", "representation": "hierarchy"},
    ("optimal, 1 % gone", LABELS): {"name": "optimal", "suppression": 0.01},
    ("local, use", LOOSE): {"name": "local", "metric": "use", "labels": "loose"},
    ("local", LOOSE): {"name": "local", "labels": "loose"},
}
FOR_USE = METHODS["local, use", SETS]
WANTED = {
    "adult": [["age", "sex"], ["education", "occupation"], ["native-country"]],
    "visits": [["sex", "born"], ["postcode"]],
    "invented": [["region", "job"], ["year"]],
}
"""Tables that users may want of some: what is left of their errors where it is said."""
YARDSTICKS = ("questions", "queries", "singles", "pairs")
TRAININGS = 5


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the errors of every method on every table, and write them to the page."""
    page = Page("use")
    for name in SUBJECTS:
        yield from page.table(name, _rows(name, folder))
    yield from page.table("best", best())
    yield from page.table("purpose", purposes(folder))


def _rows(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    with SUBJECTS[name](folder) as subject:
        for k in subject.ks:
            yield from _of_k(subject, k, folder if name == "adult" else None)


def _of_k(subject: Subject, k: int, tests: Path | None) -> Iterator[dict[str, Any]]:
    for (method, shown), asked in METHODS.items():
        if shown != SETS and (not subject.labels or k != subject.ks[0]):
            continue
        spec = _spec(subject, k, asked)
        before = time.process_time()
        release = rf.anonymize(subject.rows, spec)
        seconds = time.process_time() - before
        published = _published(subject, release, spec)
        by, found = _judged(subject, release, spec)
        yield {
            "k": k,
            "method": method,
            "shown as": shown,
            "glm": _digits(release.metrics["glm"]),
            "questions": _digits(float(run_workload(published).errors.mean())),
            **{key: _digits(getattr(found, key)) for key in YARDSTICKS[1:]},
            **({} if tests is None else _auc(published, release.table, tests)),
            "seconds": round(seconds, 1),
        }
    blank = {"glm": "", "questions": ""}
    naive = {key: _digits(getattr(by.naive, key)) for key in YARDSTICKS[1:]}
    auc = {} if tests is None else {"AUC": "0.5000", "spread": "0.0000"}
    yield {"k": k, "method": "independent marginals", "shown as": "", **blank, **naive, **auc, "seconds": ""}


def _spec(subject: Subject, k: int, method: Mapping[str, Any], **more: Any) -> rf.Spec:
    parts = {"data": {"unlisted": "drop"}, "attributes": subject.attributes, "privacy": {"k": k}, "method": method}
    return rf.Spec(**parts, **more).at(subject.place)


def _published(subject: Subject, release: rf.Release, spec: rf.Spec) -> Published:
    published = release.plan.published(count(subject.rows, spec))
    assert published is not None, "none of these is about baskets"
    return published


def _judged(subject: Subject, release: rf.Release, spec: rf.Spec) -> tuple[Ruler, Yardsticks]:
    with DuckDB(spec.data) as engine:
        by = ruler(engine, engine.open(subject.rows, spec.data), spec)
    return by, by.measure(_read(release, spec, by))


def _read(release: rf.Release, spec: rf.Spec, by: Ruler) -> ReadRows:
    """Return the rows of a release, their labels read evenly."""
    with DuckDB(spec.data) as engine:
        return read_rows(engine, engine.open(release.table, spec.data, as_it_stands=True), by, spec)


def purposes(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what `local` with `metric = "use"` is good for where it is told which tables or models are wanted."""
    for name, wanted in WANTED.items():
        told: dict[str, dict[str, Any]] = {"not said": {}, "counts": {"counts": wanted}}
        if name == "adult":
            told["predict"] = {"predict": ["class"]}
        with SUBJECTS[name](folder) as subject:
            for k, (said, purpose) in product(subject.ks, told.items()):
                spec = _spec(subject, k, FOR_USE, purpose=purpose, output={"counts": True})
                release = rf.anonymize(subject.rows, spec)
                published = _published(subject, release, spec)
                told_wanted = _spec(subject, k, FOR_USE, purpose={"counts": wanted})
                by, found = _judged(subject, release, told_wanted)
                counted = by.measure(by_counts(_read(release, told_wanted, by), by.truth, release.counts, spec))
                yield {
                    "table": name,
                    "k": k,
                    "purpose": said,
                    "wanted tables": _digits(found.counts),
                    "by counts": _digits(counted.counts),
                    "queries": _digits(found.queries),
                    "queries by counts": _digits(counted.queries),
                    "questions": _digits(float(run_workload(published).errors.mean())),
                    "AUC": _auc(published, release.table, folder)["AUC"] if name == "adult" else "",
                }


def _digits(number: float) -> str:
    return f"{number:.4f}"


def best() -> Iterator[dict[str, Any]]:
    """Yield, for each table and k, how far off `local` with `metric = "use"` is beside the best of all others."""
    for name in SUBJECTS:
        with (DOCS / "use" / f"{name}.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["shown as"] == SETS]
        for k in dict.fromkeys(row["k"] for row in rows):
            of = {row["method"]: row for row in rows if row["k"] == k}
            yield {"table": name, "k": k} | {what: _beside(of, what) for what in YARDSTICKS}


def _beside(of: Mapping[str, Mapping[str, str]], what: str) -> str:
    """Say what share of the best other's error is left, or that the other is better."""
    ours = float(of["local, use"][what])
    other = min((name for name in of if name != "local, use"), key=lambda name: float(of[name][what]))
    share = ours / float(of[other][what])
    return f"{share:.2f} of {other}" if share < 1 else f"**{share:.2f} of {other}**"


def _auc(published: Published, table: pa.Table, folder: Path) -> dict[str, str]:
    """Train on what is published, each value as likely as its label says, and test on the original's other file.

    Trained once on all rows, and again on as many that are drawn from them, which says how much hangs on chance.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    census, shares = published.census, []
    for a, part in enumerate(published.shown):
        number = {str(label): place for place, label in enumerate(part.covers.labels)}
        labels = [number[str(label)] for label in table[census.names[a]].to_pylist()]
        shares.append(_likely(part.covers.lists(), census, a)[labels])
    x = _features(shares, census)
    rich = np.array([label.startswith(">") for label in table["class"].to_pylist()])
    tests, truth = _tests(census, folder)
    model, found = LogisticRegression(solver="newton-cholesky", warm_start=True).fit(x, rich), []
    told = roc_auc_score(truth, model.predict_proba(tests)[:, 1])
    for seed in range(TRAININGS):
        times = np.bincount(np.random.default_rng(seed).integers(0, len(x), len(x)), minlength=len(x))
        model.fit(x, rich, sample_weight=times)
        found.append(roc_auc_score(truth, model.predict_proba(tests)[:, 1]))
    return {"AUC": _digits(told), "spread": _digits(float(np.ptp(found)))}


def _tests(census: Census, folder: Path) -> tuple[Floats, Any]:
    """Return the complete rows of Adult's test file as a model sees them, and who of them earns much."""
    with lzma.open(folder / "adult" / "adult.test.xz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(COLUMNS) and "?" not in row]
    exact = []
    for name in QUASI:
        tree = census.quasi[census.names.index(name)].hierarchy
        leaf = {str(label): place for place, label in enumerate(tree.labels[: tree.leaves])}
        exact.append(np.eye(tree.leaves)[[leaf[row[COLUMNS.index(name)]] for row in rows]])
    ordered = [exact[QUASI.index(name)] for name in census.names]
    return _features(ordered, census), np.array([row[-1].startswith(">") for row in rows])


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


def main(names: Sequence[str]) -> None:
    """Measure some tables, and print what was found; what is best is taken from all that are written."""
    if unknown := [name for name in names if name not in (*SUBJECTS, "purpose")]:
        sys.exit(f"unknown table {unknown[0]!r}; allowed: {', '.join(SUBJECTS)}, purpose")
    folder, page = data_folder(), Page("use")
    if folder is None:
        sys.exit("the real data is not at hand: set RINGFENCE_DATA to the folder that holds adult/")
    names = names or [*SUBJECTS, "purpose"]
    for name in names:
        list(page.table(name, purposes(folder) if name == "purpose" else _rows(name, folder)))
    list(page.table("best", best()))
    for name in [*names, "best"]:
        table = io.StringIO((page.folder / f"{name}.csv").read_text(encoding="utf-8"))
        print(with_table(f"<!-- {name}.csv --><!-- end -->", name, table.getvalue()))


if __name__ == "__main__":
    main(sys.argv[1:])
