"""The tables on which releases are measured by what they are good for: those that were looked at when the loss was made
and others that were not."""

import csv
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ringfence as rf
from benchmarks.data import adult_attributes, census_income, write_adult
from ringfence.samples import visits

NUMBER, FLAT = {"role": "quasi", "order": "numeric"}, {"role": "quasi", "hierarchy": "flat"}


@dataclass(frozen=True)
class Subject:
    """A table with its attributes, the k that are asked for, and where its hierarchies lie; `labels` where it has any,
    so that releases can be shown under their labels."""

    rows: pa.Table
    attributes: Mapping[str, Any]
    ks: tuple[int, ...]
    place: str = "."
    labels: bool = False


@contextmanager
def adult(folder: Path) -> Iterator[Subject]:
    """Yield the 30,162 complete rows of Adult, with ARX's hierarchies, ages as numbers and the class beside them."""
    with tempfile.TemporaryDirectory() as place:
        attributes = adult_attributes()
        attributes["age"]["order"] = "numeric"
        attributes["class"] = {"role": "sensitive"}
        with write_adult(folder, Path(place)).open(encoding="utf-8") as file:
            rows = pa.Table.from_pylist(list(csv.DictReader(file)))
        yield Subject(rows, attributes, (5, 10, 50), place, labels=True)


@contextmanager
def income(folder: Path) -> Iterator[Subject]:
    """Yield the 199,523 rows of Census-Income, seven quasi-identifiers without hierarchies."""
    table = census_income(folder).drop_columns(["household"])
    yield Subject(table, {name: NUMBER if name == "age" else FLAT for name in table.column_names}, (5, 50))


@contextmanager
def stays(_: Path) -> Iterator[Subject]:
    """Yield the 6,000 made-up stays in a hospital of `ringfence demo --visits`, attributes as they are drafted."""
    table = visits()
    drafted = rf.draft(table).attributes
    chosen = {name: drafted[name] for name in drafted if drafted[name].role in ("quasi", "sensitive")}
    yield Subject(table.select([*chosen]), chosen, (5,), labels=True)


@contextmanager
def invented(_: Path, rows: int = 20_000, seed: int = 28) -> Iterator[Subject]:
    """Yield people nobody counted: a skewed region of 60, a job that goes with it, a rare status, two numbers."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61) ** 1.2
    region = rng.choice(60, rows, p=shares / shares.sum())
    job = (region * 7 + rng.poisson(2, rows)) % 25
    status = rng.choice(5, rows, p=[0.93, 0.04, 0.02, 0.007, 0.003])
    year = 1940 + np.minimum(65, rng.gamma(6, 5, rows)).astype(int)
    table = pa.table(
        {
            "region": [f"r{value:02}" for value in region],
            "job": [f"j{value:02}" for value in job],
            "status": [f"s{value}" for value in status],
            "year": year,
            "members": np.minimum(8, 1 + rng.poisson(1.2 + 0.1 * (job % 5))),
        }
    )
    quasi = {name: NUMBER if name in ("year", "members") else FLAT for name in table.column_names}
    yield Subject(table, quasi, (5, 20))


@contextmanager
def survey(_: Path, rows: int = 5_000, seed: int = 28) -> Iterator[Subject]:
    """Yield answers of 5,000 people to 25 questions, all of them quasi-identifiers: 20 on a scale of five words, which
    go with three leanings, a town of 120, a party of nine, an age, an income and hours of work; up to 15 % gaps."""
    rng = np.random.default_rng(seed)
    leanings = rng.normal(size=(rows, 3))
    columns: dict[str, Any] = {}
    for question in range(20):
        felt = leanings @ rng.normal(size=3) + rng.normal(size=rows) + rng.normal()
        columns[f"q{question + 1:02}"] = np.array(["never", "seldom", "at times", "often", "always"])[
            np.digitize(felt, [-1.5, -0.5, 0.5, 1.5])
        ]
    towns = 1 / np.arange(1, 121)
    columns["town"] = np.char.add("t", rng.choice(120, rows, p=towns / towns.sum()).astype(str))
    parties = 2.0 ** -np.arange(9) * np.exp(leanings[:, :1] * np.linspace(-1, 1, 9))
    drawn = (np.cumsum(parties, axis=1) < rng.random((rows, 1)) * parties.sum(axis=1, keepdims=True)).sum(axis=1)
    columns["party"] = np.char.add("p", drawn.astype(str))
    columns["age"] = np.clip(rng.normal(48 + 6 * leanings[:, 1], 15), 18, 95).astype(int)
    columns["income"] = np.round(np.exp(rng.normal(7.6 + 0.3 * leanings[:, 2], 0.6)), -2).astype(int)
    columns["hours"] = np.where(rng.random(rows) < 0.4, 40, rng.poisson(30, rows))
    gaps = {name: rng.random(rows) < rng.uniform(0, 0.15) for name in columns}
    table = pa.table({name: pa.array(values, mask=gaps[name]) for name, values in columns.items()})
    yield Subject(table, {name: NUMBER if name in ("age", "income", "hours") else FLAT for name in columns}, (5,))


SUBJECTS: dict[str, Callable[[Path], Any]] = {
    "adult": adult,
    "census-income": income,
    "visits": stays,
    "invented": invented,
    "survey": survey,
}
