"""What releases of unedited drafts lose, attribute by attribute, on tables of several shapes: as new users get them."""

import datetime as dt
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import ringfence as rf
from benchmarks.data import all_adult, census_income
from ringfence.report.evidence import attribute_losses
from ringfence.samples import write_visits


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield for each table what its draft asks for and what its release loses."""
    with TemporaryDirectory() as temporary:
        into = Path(temporary)
        yield _drafted("adult", all_adult(folder))
        yield _drafted("visits", write_visits(into))
        yield _drafted("pupils", pupils(into))
        yield _drafted("census", census_income(folder).slice(0, 50_000))
        yield _drafted("42 columns", wide())
        yield from _surveyed(survey())


def _drafted(name: str, source: Any) -> dict[str, Any]:
    start = time.perf_counter()
    draft = rf.draft(source)
    drafted = time.perf_counter()
    release = rf.anonymize(None if isinstance(source, Path) else source, draft)
    published = release.plan.published(release.census)
    assert published is not None
    lost = attribute_losses(published)
    hidden = max(release.table[attribute].to_pylist().count("*") for attribute in lost)
    return {
        "table": name,
        "rows": release.census.rows,
        "entity": draft.data.entity,
        "method": draft.method.name,
        "promise": draft.privacy.model_dump(exclude_none=True),
        "draft seconds": round(drafted - start, 1),
        "release seconds": round(time.perf_counter() - drafted, 1),
        "suppressed": int(release.metrics["suppressed"]),
        "glm": round(release.metrics["glm"], 4),
        "hidden at most": round(hidden / release.census.rows, 4),
        "detail lost": {attribute: round(share, 3) for attribute, share in lost.items()},
    }


def _surveyed(table: pa.Table, seconds: int = 15) -> Iterator[dict[str, Any]]:
    """Yield what is lost and miscounted of a survey, as drafted, and where the order of its answers is not known."""
    parts = rf.draft(table).model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
    parts["method"]["time_limit"] = seconds
    bare = {name: {"role": "quasi", "hierarchy": "flat"} for name in ANSWERS}
    for what, attributes in (("on their scales", {}), ("as words", bare)):
        release = rf.anonymize(table, rf.Spec(**{**parts, "attributes": {**parts["attributes"], **attributes}}))
        assert release.use is not None
        hidden = sum(column.to_pylist().count("*") for column in release.table.columns)
        off = round(release.use.release.queries, 4)
        yield {
            "table": "survey",
            "answers": what,
            "glm": round(release.metrics["glm"], 4),
            "counts off by": off,
            "cells hidden": hidden,
        }


ANSWERS = ["q1", "q2", "q3", "q4", "reads", "sports"]


def survey(rows: int = 5_000) -> pa.Table:
    """Return a survey: four answers that depend on one opinion, and two frequencies that depend on age."""
    draw = random.Random(11)
    scale = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
    often = ["never", "rarely", "sometimes", "often", "always"]
    found = []
    for _ in range(rows):
        age, opinion = draw.randrange(18, 80), draw.gauss(0, 1)
        agrees = [scale[max(0, min(4, int(2.5 + opinion + draw.gauss(0, 0.8))))] for _ in range(4)]
        does = [often[max(0, min(4, int(2 + 0.03 * (age - 45) + draw.gauss(0, 1))))] for _ in range(2)]
        found.append((age, draw.choice("fm"), draw.choice(["North", "South", "East", "West"]), *agrees, *does))
    names = ["age", "sex", "region", *ANSWERS]
    return pa.table({name: list(column) for name, column in zip(names, zip(*found, strict=True), strict=True)})


def pupils(into: Path, rows: int = 2_000) -> Path:
    """Write a list of pupils as a German school has it: semicolons, decimal commas, days first, Latin letters."""
    draw = random.Random(24)
    lines = ["SchülerNr;Name;Klasse;Geburtsdatum;Geschlecht;Ort;Mathenote;Größe;Fehltage;Bemerkung"]
    towns = [
        f"{4 * 10**3 + 37 * number:05} {place}" for number, place in enumerate(["Aue", "Borna", "Calau", "Döbeln"])
    ]
    for number in range(rows):
        year = draw.randint(5, 12)
        born = dt.date(2018 - year, 8, 1) - dt.timedelta(draw.randrange(500))
        remark = draw.choice(["", "arbeitet mit", f"Mutter unter 0351 {draw.randint(1000, 9999)} 12 zurückrufen"])
        lines.append(
            f"{4000 + number};{draw.choice(['Jörg', 'Lea', 'Uwe'])} Weiß;{year}{draw.choice('abc')};{born:%d.%m.%Y};"
            f"{draw.choice('mw')};{draw.choice(towns)};{draw.randint(1, 6)};1,{draw.randint(30, 95)};"
            f"{draw.choice(['-', *'012345678'])};{remark}"
        )
    path = into / "pupils.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    return path


def wide(rows: int = 10_000) -> pa.Table:
    """Return a survey of 42 columns: a few that tell people apart, many answers, gaps and skew."""
    draw = random.Random(42)
    answers = {
        f"answer {number:02}": [draw.choices(range(1, 6), weights=[8, 4, 2, 1, 1])[0] for _ in range(rows)]
        for number in range(36)
    }
    return pa.table(
        {
            "respondent": range(rows),
            "age": [min(99, 18 + int(draw.expovariate(1 / 25))) for _ in range(rows)],
            "sex": [draw.choice("fm") for _ in range(rows)],
            "postcode": [f"{int(9999 * draw.random() ** 3):04}" if draw.random() > 0.03 else None for _ in range(rows)],
            "income": [round(draw.lognormvariate(10, 0.6), -1) for _ in range(rows)],
            "interviewed": [dt.date(2024, 1, 1) + dt.timedelta(draw.randrange(200)) for _ in range(rows)],
            **answers,
        }
    )
