"""Tables that searches over schemes were not made for, from seeds: thousands of values, forty columns, gaps, skew,
people with many rows, weights, wages."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

Stressed = tuple[pa.Table, dict[str, Any]]
"""A table, and what is said of its attributes and data in a specification."""


def quasi(hierarchy: Any, **more: Any) -> dict[str, Any]:
    """Return the role of a quasi-identifier with a hierarchy."""
    return {"role": "quasi", "hierarchy": hierarchy, **more}


SENSITIVE: dict[str, Any] = {"ill": {"role": "sensitive", "order": list("abcdefgh")}}


def ill(rng: np.random.Generator, rows: int) -> list[str]:
    """Return an illness for each row, some of them rare."""
    return list(rng.choice(list("abcdefgh"), rows, p=np.array([6, 6, 5, 4, 4, 3, 2, 2]) / 32))


def postcodes() -> Stressed:
    """Return 20,000 people: 6,000 postcodes, some of them common, ages and jobs."""
    rng, rows = np.random.default_rng(7), 20_000
    places = np.concatenate([rng.zipf(1.3, rows - 6_000) % 6_000, np.arange(6_000)])
    table = pa.table(
        {
            "postcode": [f"{10_000 + 7 * int(place):05}" for place in places],
            "age": rng.integers(0, 100, rows),
            "job": rng.choice([f"job {job:02}" for job in range(30)], rows),
            "ill": ill(rng, rows),
        }
    )
    roles = {
        "postcode": quasi({"mask": "right"}),
        "age": quasi({"intervals": [5, 10, 20]}),
        "job": quasi({"fanout": 3}),
    }
    return table, {"attributes": {**roles, **SENSITIVE}}


def codes() -> Stressed:
    """Return 8,000 diagnoses: ICD codes, times to the minute, sexes of which some are missing."""
    rng, rows = np.random.default_rng(8), 8_000
    numbers = [f"{number:02}.{digit}" for number in range(0, 100, 3) for digit in "048"]
    icd = [f"{chapter}{number}" for chapter in "ABCDEFGHIJ" for number in numbers]
    chances = 1 / np.arange(1, len(icd) + 1)
    table = pa.table(
        {
            "code": rng.choice(icd, rows, p=chances / chances.sum()),
            "at": [
                str(datetime(2020, 1, 1) + timedelta(minutes=int(m))) for m in np.sort(rng.integers(0, 500_000, rows))
            ],
            "sex": rng.choice(np.array(["f", "m", None], object), rows, p=[0.5, 0.45, 0.05]),
            "ill": ill(rng, rows),
        }
    )
    roles = {
        "code": quasi({"mask": "right"}),
        "at": quasi({"fanout": 8}),
        "sex": quasi("flat"),
    }
    return table, {"attributes": {**roles, **SENSITIVE}}


def forty() -> Stressed:
    """Return 5,000 rows of forty columns of two to eight values, none of which says anything about another."""
    rng, rows = np.random.default_rng(9), 5_000
    columns: dict[str, Any] = {}
    for column in range(40):
        values = [f"v{value}" for value in range(2 + column % 7)]
        columns[f"c{column:02}"] = rng.choice(values, rows, p=rng.dirichlet(np.full(len(values), 0.4)))
    table = pa.table({**columns, "ill": ill(rng, rows)})
    return table, {"attributes": {**{name: quasi({"fanout": 2}) for name in columns}, **SENSITIVE}}


def three() -> Stressed:
    """Return 3,000 rows of three columns, of 12, 15 and 5 values."""
    rng, rows = np.random.default_rng(10), 3_000
    table = pa.table(
        {
            "a": rng.integers(0, 12, rows),
            "b": rng.integers(0, 15, rows),
            "c": rng.choice(list("vwxyz"), rows),
            "ill": ill(rng, rows),
        }
    )
    roles = {"a": quasi({"fanout": 2}), "b": quasi({"fanout": 3}), "c": quasi("flat")}
    return table, {"attributes": {**roles, **SENSITIVE}}


def births() -> Stressed:
    """Return 6,000 visits of people born on some 2,500 days."""
    rng, rows, people = np.random.default_rng(11), 6_000, 2_810
    days = np.sort(rng.choice(32_000, people, replace=False))
    who = rng.integers(0, people, rows)
    sex, town = rng.integers(0, 2, people), np.minimum(rng.geometric(0.15, people), 40)
    table = pa.table(
        {
            "born": [str(date(1925, 1, 1) + timedelta(days=int(day))) for day in days[who]],
            "sex": [f"{'fm'[value]}" for value in sex[who]],
            "postcode": [f"{79_000 + 37 * int(value):05}" for value in town[who]],
            "ill": ill(rng, rows),
        }
    )
    roles = {"born": quasi({"dates": ["month", "year", "decade"]}), "sex": quasi("flat")}
    return table, {"attributes": {**roles, "postcode": quasi({"mask": "right"}), **SENSITIVE}}


def gaps() -> Stressed:
    """Return 10,000 rows of six columns, in each of which a third of the values are missing."""
    rng, rows = np.random.default_rng(12), 10_000
    columns = {
        f"c{column}": pa.array(rng.integers(0, values, rows), mask=rng.random(rows) < 1 / 3)
        for column, values in enumerate((3, 5, 9, 17, 33, 80))
    }
    table = pa.table({**columns, "ill": ill(rng, rows)})
    return table, {"attributes": {**{name: quasi({"intervals": [2, 4, 16]}) for name in columns}, **SENSITIVE}}


def skew() -> Stressed:
    """Return 20,000 rows of seven columns, in each of which most rows have the same value and some have one of their
    own."""
    rng, rows = np.random.default_rng(13), 20_000
    columns = {
        f"c{column}": [f"{value:04}" for value in np.minimum(rng.zipf(power, rows), 3_000)]
        for column, power in enumerate((1.6, 1.8, 2.0, 2.2, 2.5, 3.0, 3.5))
    }
    return pa.table({**columns, "ill": ill(rng, rows)}), {
        "attributes": {**{name: quasi({"fanout": 4}) for name in columns}, **SENSITIVE}
    }


def people() -> Stressed:
    """Return 12,000 rows of 1,500 people, some of whom have hundreds."""
    rng, rows, many = np.random.default_rng(14), 12_000, 1_500
    chances = 1 / np.arange(1, many + 1)
    who = rng.choice(many, rows, p=chances / chances.sum())
    born, town = rng.integers(1930, 2010, many), rng.integers(0, 40, many)
    table = pa.table(
        {
            "who": [f"p{person}" for person in who],
            "born": born[who],
            "town": [f"{10 * int(t):03}" for t in town[who]],
            "weekday": rng.integers(1, 8, rows),
            "ill": ill(rng, rows),
        }
    )
    roles = {"who": {"role": "identifier"}, "born": quasi({"intervals": [5, 10, 20]}), "town": quasi({"mask": "right"})}
    roles |= {"weekday": quasi({"fanout": 3})}
    return table, {"attributes": {**roles, **SENSITIVE}, "data": {"entity": "who"}}


def weights() -> Stressed:
    """Return 15,000 rows of five columns that are worth more and less, one of them with a boundary."""
    rng, rows = np.random.default_rng(15), 15_000
    age = np.clip(rng.normal(45, 20, rows), 0, 95).astype(int)
    table = pa.table(
        {
            "age": age,
            "income": (age * 300 + rng.gamma(2.0, 9_000, rows)).astype(int) // 1_000,
            "region": [f"{chapter}{number}" for chapter, number in zip(
                rng.choice(list("ABCDE"), rows), rng.integers(0, 10, rows), strict=True
            )],
            "sex": rng.choice(["f", "m"], rows),
            "household": np.minimum(rng.poisson(1.6, rows) + 1, 9),
            "ill": ill(rng, rows),
        }
    )  # fmt: skip
    roles = {
        "age": quasi({"intervals": [5, 10, 20]}, weight=3.0),
        "income": quasi({"intervals": [5, 20]}, weight=0.5),
        "region": quasi({"mask": "right"}, weight=2.0, boundary=[f"{chapter}*" for chapter in "ABCDE"]),
        "sex": quasi("flat", weight=0.2),
        "household": quasi({"fanout": 2}),
    }
    return table, {"attributes": {**roles, **SENSITIVE}}


def wages() -> Stressed:
    """Return 9,000 employees: some 800 salaries, 160 towns in a tree of four levels, years of birth."""
    rng, rows = np.random.default_rng(16), 9_000
    born = np.clip(rng.normal(1978, 12, rows), 1945, 2006).astype(int)
    town = np.minimum(rng.zipf(1.4, rows) - 1, 159)
    salary = np.exp(rng.normal(7.9, 0.35, rows) + (2006 - born) / 150 + (town % 5) / 20)
    table = pa.table(
        {
            "salary": 10 * (salary // 10).astype(int),
            "town": [f"{t // 40}{t // 10 % 4}{t // 2 % 5}{t % 2}" for t in town.tolist()],
            "born": born,
            "ill": ill(rng, rows),
        }
    )
    roles = {
        "salary": quasi({"intervals": [100, 500, 2_000]}),
        "town": quasi({"mask": "right"}),
        "born": quasi({"intervals": [5, 10, 20]}),
    }
    return table, {"attributes": {**roles, **SENSITIVE}}


TABLES: dict[str, Callable[[], Stressed]] = {
    each.__name__: each for each in (postcodes, codes, forty, three, births, gaps, skew, people, weights, wages)
}
