"""The data that benchmarks run on: found by RINGFENCE_DATA or beside the checkout, or made here from a seed."""

import csv
import lzma
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ringfence.arrays import Longs
from ringfence.census.census import Census, counted_columns, take_census
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec

COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "class"),
]
CENSUS_INCOME = {
    "age": 0,
    "worker": 1,
    "education": 4,
    "marital": 7,
    "race": 10,
    "sex": 12,
    "country": 34,
    "household": 22,
    "occupation": 3,
    "weight": 24,
}
CENSUS = ["age", "sex", "education", "marital", "race", "worker", "country"]
"""Quasi-identifiers of Census-Income in the order of the paper on rings."""
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def data_folder() -> Path | None:
    """Return where the real data lies, or None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RINGFENCE_DATA", beside))
    return folder if (folder / "adult").is_dir() else None


def adult(folder: Path) -> pa.Table:
    """Return the 30,162 complete rows of Adult: eight quasi-identifiers and the class, as text."""
    rows, keep = _complete_rows(folder / "adult" / "adult.data.xz"), [*QUASI, "class"]
    return pa.table({name: [row[COLUMNS.index(name)] for row in rows] for name in keep})


def whole_adult(folder: Path) -> pa.Table:
    """Return the 45,222 complete rows of both files of Adult, all columns but the class, as text."""
    rows = [row for part in ("data", "test") for row in _complete_rows(folder / "adult" / f"adult.{part}.xz")]
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS[:-1])})


def _complete_rows(path: Path) -> list[list[str]]:
    with lzma.open(path, "rt") as file:
        return [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(COLUMNS) and "?" not in row]


def census_income(folder: Path) -> pa.Table:
    """Return the 199,523 rows of Census-Income (KDD): seven quasi-identifiers and the household, as text."""
    return _census_income(folder).drop_columns(["occupation", "weight"])


def resampled_census(folder: Path, rows: int, seed: int = 2010) -> pa.Table:
    """Return rows of Census-Income drawn with replacement by their weights, which makes them a sample of the people.

    Smaller samples of the same seed are the first rows of larger ones. The columns are those of `CENSUS`, and the
    occupation.
    """
    table = _census_income(folder)
    weights = np.array(table["weight"].to_pylist(), np.float64)
    drawn = np.random.default_rng(seed).random(rows)
    chosen = np.searchsorted(np.cumsum(weights) / weights.sum(), drawn, side="right")
    return table.select([*CENSUS, "occupation"]).take(pa.array(chosen))


def all_adult(folder: Path) -> pa.Table:
    """Return all 32,561 rows of Adult, all columns as text, `?` being a value like any other."""
    with lzma.open(folder / "adult" / "adult.data.xz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(COLUMNS)]
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})


def _census_income(folder: Path) -> pa.Table:
    with lzma.open(folder / "census-income-kdd" / "census_income_1994_1995_train.csv.xz", "rt") as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    return pa.table({name: [row[place] for row in rows] for name, place in CENSUS_INCOME.items()})


def write_adult(folder: Path, into: Path, copies: int = 1) -> Path:
    """Write Adult as CSV with ARX's hierarchies beside it; return the path of the table.

    With `copies`, the rows are repeated and one cell in a thousand is replaced by that of another row, seeded.
    """
    table = adult(folder)
    if copies > 1:
        rng = np.random.default_rng(2008)
        rows = np.tile(np.arange(table.num_rows), copies)[: 3_000_000 if copies == 100 else None]
        columns = {}
        for name in table.column_names:
            source = rows.copy()
            changed = rng.random(len(source)) < 0.001
            source[changed] = rng.integers(0, table.num_rows, int(changed.sum()))
            columns[name] = table[name].take(pa.array(source))
        table = pa.table(columns)
    for name in QUASI:
        with lzma.open(folder / "adult-hierarchies" / "arx" / f"adult_hierarchy_{name}.csv.xz", "rt") as file:
            (into / f"{name}.csv").write_text(file.read(), encoding="utf-8")
    path = into / ("adult.csv" if copies == 1 else f"adult-{copies}.csv")
    pyarrow.csv.write_csv(table, path)
    return path


def adult_attributes() -> dict[str, dict[str, object]]:
    """Return the attributes of a specification for Adult with ARX's hierarchies."""
    quasi: dict[str, dict[str, object]] = {
        name: {"role": "quasi", "hierarchy": {"file": f"{name}.csv"}} for name in QUASI
    }
    return {**quasi, "class": {"role": "insensitive"}}


def count(source: Path | pa.Table, spec: Spec) -> Census:
    """Return the census of a table or a file, as a job takes it."""
    with DuckDB(spec.data) as engine:
        return take_census(engine.count(engine.open(source, spec.data), counted_columns(spec)), spec, ROWS)


def webview(folder: Path, number: int) -> tuple[Longs, Longs]:
    """Return BMS-WebView-1 or -2: rows and items, a pair for each item of a row."""
    name = {1: "bms-webview-1/BMS1.txt.xz", 2: "bms-webview-2/BMS2_itemset_mining.txt.xz"}[number]
    with lzma.open(folder / name, "rt") as file:
        rows = [[int(item) for item in line.split()] for line in file]
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return row_of, np.fromiter((item for row in rows for item in row), np.int64)


def sales(seed: int = 2008) -> tuple[Longs, Longs]:
    """Return made-up sales with the figures of BMS-POS: rows and items, a pair for each item of a row.

    515,597 rows of 1,657 items, at most 164 in a row and 6.5 on average. The lengths of rows are log-normal; items are
    drawn independently, the i-th most popular with a chance of 1 / i; popularity has nothing to do with the number of
    an item.
    """
    rng = np.random.default_rng(seed)
    rows, items, longest = 515_597, 1_657, 164
    lengths = np.clip(np.ceil(rng.lognormal(1.43, 0.85, rows)), 1, longest).astype(np.int64)
    lengths[0] = longest
    chances = np.cumsum(1 / np.arange(1, items + 1))
    numbers = rng.permutation(items)
    full, drawn, lacking = [], np.empty(0, np.int64), lengths.copy()
    while lacking.any():  # draw as many as are lacking, until no row has an item twice
        row_of = np.repeat(np.arange(rows), lacking)
        popularity = np.searchsorted(chances, rng.random(len(row_of)) * chances[-1])
        drawn = np.sort(np.concatenate([drawn, row_of * items + numbers[popularity]]))
        drawn = drawn[np.diff(drawn, prepend=-1) > 0]
        had = np.bincount(drawn // items, minlength=rows)
        lacking = np.where(had > 0, lengths - had, 0)
        done = lacking[drawn // items] == 0
        full.append(drawn[done])
        drawn = drawn[~done]
    pairs = np.sort(np.concatenate(full))
    return pairs // items, pairs % items
