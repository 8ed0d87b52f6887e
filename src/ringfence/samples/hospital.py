"""Sample visits to a hospital, as its desk would write them down: dates, notes, gaps, people who come again."""

import csv
import datetime as dt
import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.samples.drawing import (
    AGE_BANDS,
    GIVEN_NAMES,
    SURNAMES,
    Shares,
    draw,
    sample_postcodes,
    shares_of,
    texts,
    uniform_numbers,
    zipf,
)

DIAGNOSES: Shares = {  # under 20, 20 to 29, 30 to 44, 45 to 64, 65 to 79, 80 and over
    "J06.9": (20, 8, 5, 3, 2, 1), "J45.0": (9, 5, 3, 3, 2, 1), "J18.9": (4, 2, 3, 6, 10, 14),
    "J44.1": (0, 0, 1, 5, 9, 8), "E10.9": (4, 3, 2, 2, 1, 0.5), "E11.9": (0, 1, 3, 9, 12, 9),
    "E11.5": (0, 0, 0.3, 2, 3, 3), "E66.0": (1, 2, 3, 3, 1, 0.2), "I10": (0, 1, 4, 11, 12, 10),
    "I20.0": (0, 0, 0.6, 4, 6, 5), "I21.4": (0, 0, 0.5, 4, 6, 6), "I50.0": (0, 0, 0.3, 3, 9, 16),
    "I63.9": (0, 0.1, 0.4, 2, 6, 9), "K35.8": (9, 7, 4, 2, 1, 0.5), "K40.9": (2, 1, 2, 4, 4, 2),
    "K80.2": (0, 2, 5, 6, 5, 3), "M16.1": (0, 0, 0.5, 4, 8, 4), "M17.1": (0, 0, 0.5, 5, 8, 4),
    "M54.5": (1, 4, 8, 8, 4, 2), "S06.0": (12, 6, 3, 2, 3, 5), "S52.5": (14, 4, 3, 4, 5, 5),
    "S72.0": (0.3, 0.3, 0.5, 1.5, 6, 16), "O80": (1, 20, 16, 0, 0, 0), "O03.9": (0.5, 4, 4, 0, 0, 0),
    "F10.2": (0.5, 4, 6, 6, 2, 0.5), "F32.2": (2, 6, 7, 5, 3, 2), "F20.0": (0.5, 3, 3, 2, 0.5, 0.1),
    "C50.9": (0, 0.3, 3, 7, 4, 3), "C34.1": (0, 0, 0.5, 4, 5, 2), "C18.7": (0, 0, 0.5, 3, 5, 4),
    "N39.0": (3, 4, 3, 3, 5, 9), "B20": (0, 0.5, 1, 0.6, 0.1, 0), "A09": (9, 4, 3, 2, 2, 3),
    "Z51.1": (0.5, 0.5, 3, 8, 7, 2), "G40.3": (4, 2, 2, 2, 2, 2), "R07.4": (2, 4, 5, 6, 4, 3),
}  # fmt: skip
STAYS = {"S72": 9, "I63": 8, "I21": 6, "I50": 7, "F20": 18, "F32": 14, "J44": 6, "J18": 6, "M16": 7, "M17": 7, "C": 5}
"""About how many nights some diagnoses keep people; the others two."""
NOTES = [
    "", "", "", "", "no known allergies", "allergic to penicillin", "fasting before surgery", "walks with a stick",
    "asked for a single room", "speaks little English, brought a friend to interpret for her",
    "daughter {name} wants to be called on {phone} before discharge",
    "lives alone, neighbour {name} has the key, {phone}", "send the letter to Dr {name}, fax {phone}",
    "{name} collects him on Friday, mobile {phone}",
    "complained about the food; wife will bring his own, see her message of last week",
]  # fmt: skip
GAPS = ("", "?", "n/a")
"""How a missing value is spelled: by as many people at the desk, each in their own way."""


def visits(rows: int = 6_000, seed: int = 2008) -> pa.Table:
    """Return visits to a made-up hospital, several of each patient: when and why they came, what it cost, a note.

    Who a patient is stays the same from visit to visit; some come once, and a few again and again. Diagnoses go by age,
    nights and cost by diagnosis. Some postcodes, nights and costs are missing.

    >>> visits(3).column_names
    ['patient', 'name', 'sex', 'born', 'postcode', 'admitted', 'icd10', 'nights', 'cost', 'note']
    """
    people = max(1, rows * 5 // 12)
    uniforms = uniform_numbers(people, seed)
    ages = np.arange(100)
    age = draw(next(uniforms), (1 + ages / 60) / (1 + np.exp((ages - 74) / 7)))
    birthday = np.array(dt.date(2022, 12, 31).toordinal() - 366 * age - (next(uniforms) * 365).astype(np.int64))
    woman = next(uniforms) < 0.52
    postcodes, shares = sample_postcodes()
    postcode = draw(next(uniforms), shares)
    half = len(GIVEN_NAMES) // 2
    given, surname = half * ~woman + draw(next(uniforms), zipf(half, 0.8)), draw(next(uniforms), zipf(20, 0.8))

    uniforms = uniform_numbers(rows, seed + 1)
    often = np.arange(people) % 97 + 3.0  # how likely a patient comes again
    patient = np.concatenate([np.arange(people), draw(next(uniforms), 1 / often)[people:]])[:rows]
    patient = patient[np.argsort(next(uniforms), kind="stable")]
    band = np.searchsorted(AGE_BANDS, age, side="right")[patient]
    illness = draw(next(uniforms), shares_of(DIAGNOSES), band)
    codes = list(DIAGNOSES)
    for_women = np.char.startswith(codes, "O")[illness]
    illness = np.where(for_women & ~woman[patient], codes.index("M54.5"), illness)
    stay = np.array([next((nights for start, nights in STAYS.items() if code.startswith(start)), 2) for code in codes])
    nights = np.floor(-np.log1p(-next(uniforms)) * stay[illness] * (0.7 + 0.1 * band)).astype(np.int64)
    cost = np.round((420 + 610 * nights + 90 * stay[illness]) * np.exp(0.5 * next(uniforms)), 2)
    minutes = (next(uniforms) * 731 * 24 * 60).astype(np.int64)  # of 2023 and 2024
    told, caller, line = draw(next(uniforms), np.ones(len(NOTES))), next(uniforms), next(uniforms)
    whose = draw(caller, zipf(len(SURNAMES), 0.8))
    notes = [
        NOTES[which].format(name=SURNAMES[who], phone=f"0471 {int(x * 90) + 10} {int(x * 9000) % 90 + 10} {who + 10}")
        for which, who, x in zip(told.tolist(), whose.tolist(), line.tolist(), strict=True)
    ]
    names = pc.binary_join_element_wise(texts(GIVEN_NAMES, given), texts(SURNAMES, surname), " ")
    who = pa.array(patient)
    return pa.table(
        {
            "patient": pa.array([f"P{n:05}" for n in (np.arange(people) * 7919 % 99_991).tolist()]).take(who),
            "name": names.take(who),
            "sex": texts(["f", "m"], (~woman).astype(np.int64)).take(who),
            "born": pa.array([dt.date.fromordinal(day) for day in birthday.tolist()]).take(who),
            "postcode": texts(postcodes, postcode[patient], next(uniforms) < 0.02),
            "admitted": pa.array([dt.datetime(2023, 1, 1) + dt.timedelta(minutes=m) for m in minutes.tolist()]),
            "icd10": texts(codes, illness),
            "nights": pa.array(nights, mask=next(uniforms) < 0.01),
            "cost": pa.array(cost, mask=next(uniforms) < 0.03),
            "note": notes,
        }
    )


def write_visits(folder: Path, rows: int = 6_000, seed: int = 2008) -> Path:
    """Write visits.csv as a hospital would have it, gaps spelled in three ways, and return where it lies."""
    folder.mkdir(parents=True, exist_ok=True)
    table, path = visits(rows, seed), folder / "visits.csv"
    spelling = itertools.cycle(GAPS)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            writer.writerow(
                next(spelling) if cell is None else f"{cell:%Y-%m-%d %H:%M}" if isinstance(cell, dt.datetime) else cell
                for cell in row
            )
    return path
