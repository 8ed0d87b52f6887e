"""Seeded sample people, baskets and visits to a hospital: enough to try everything without data of one's own.

People and baskets come with their specifications; the one of the visits is left to `ringfence init`.

Nobody in them is real. Columns depend on each other as in a census: marital status on age, occupation on education,
salary on all of these. Few values are common and many are rare, since that decides how hard anonymization is. All
randomness is uniform numbers from one stream put through tables of shares, so the same rows and seed always give the
same table.
"""

import csv
import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.arrays import Floats, Longs
from ringfence.spec import Spec
from ringfence.spec.data import Data

Shares: TypeAlias = Mapping[str, Any]
"""Values in the groups of their hierarchy, each with its share, or with one for each of several kinds of people. The
shares of a kind need not add up to anything."""

# People

AGES = np.arange(16, 103)
AGE_BANDS = np.array([20, 30, 45, 65, 80])  # under 20, 20 to 29, ..., 80 and over
SEX: Shares = {"female": 50.3, "male": 49.65, "other": 0.05}
SALARY = ["<=30k", "30k-45k", "45k-60k", "60k-90k", ">90k"]
MARITAL_STATUS: Shares = {  # by age band
    "With a partner": {
        "Married": (0, 12, 46, 58, 62, 38),
        "Cohabiting": (0.2, 26, 20, 8, 3, 1),
        "Civil partnership": (0, 0.4, 1, 0.8, 0.2, 0),
    },
    "Without a partner": {
        "Never married": (99.8, 61, 26, 13, 6, 4),
        "Divorced": (0, 0.4, 5, 14, 12, 6),
        "Separated": (0, 0.5, 2.5, 2, 1, 0.5),
        "Widowed": (0, 0, 0.3, 3, 16, 50),
        "Annulled": (0, 0.02, 0.05, 0.03, 0.02, 0),
    },
}
EDUCATION: Shares = {  # by age band
    "School": {
        "Basic": {
            "No schooling": (0.1, 0.1, 0.1, 0.2, 0.5, 1.5),
            "Primary school": (2, 0.5, 0.7, 2, 9, 26),
            "Lower secondary": (74, 12, 8, 12, 20, 24),
        },
        "Upper secondary": {
            "General upper secondary": (17, 27, 13, 14, 14, 10),
            "Vocational upper secondary": (6.8, 20, 24, 31, 28, 18),
        },
    },
    "Tertiary": {
        "First degree": {"Short-cycle tertiary": (0, 5, 6, 5, 4, 2), "Bachelor": (0, 27, 29, 23, 16, 12)},
        "Higher degree": {"Master": (0, 8, 18, 12, 8, 6), "Doctorate": (0, 0.1, 1.5, 1.5, 0.9, 0.5)},
    },
}
SCHOOLING = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
"""The group of each education: basic, upper secondary, first degree, higher degree."""
WORK_CLASS: Shares = {  # by age band
    "In work": {
        "Private company": (36, 52, 57, 50, 5, 0.5),
        "Municipality": (5, 14, 17, 18, 1, 0.1),
        "State": (0.5, 5, 8, 7, 0.6, 0),
        "Charity": (0.5, 1, 1, 1, 0.3, 0.1),
        "Self-employed, alone": (0.2, 2.5, 5, 7, 3, 0.6),
        "Self-employed, with staff": (0, 0.6, 2.5, 3, 1, 0.2),
        "Family business, unpaid": (0.4, 0.1, 0.1, 0.1, 0.2, 0),
    },
    "Not in work": {
        "Student": (54, 19, 2, 0.2, 0, 0),
        "Looking for work": (3, 4, 3, 2.5, 0, 0),
        "Retired": (0, 0.3, 2, 10, 89, 98),
    },
}
OCCUPATION: Shares = {  # the present or the last one, by group of education
    "Service": {"Shop assistant": (22, 20, 6, 1), "Cook": (7, 6, 1, 0.2), "Office clerk": (6, 14, 15, 5)},
    "Manual": {
        "Elementary": {"Cleaner": (15, 6, 0.6, 0.1), "Labourer": (20, 9, 0.8, 0.1)},
        "Land and sea": {"Farmer": (5, 4, 1, 0.5), "Fisher": (1, 0.4, 0.05, 0)},
        "Trade": {"Driver": (14, 11, 0.8, 0.1), "Carpenter": (9, 12, 0.8, 0.1), "Electrician": (2, 10, 1.5, 0.2)},
    },
    "Professional": {
        "Health and teaching": {"Nurse": (0.4, 3, 17, 4), "Teacher": (0.3, 1, 20, 17), "Physician": (0, 0, 0.3, 11)},
        "Technology": {"Engineer": (0.2, 1.5, 13, 22), "Programmer": (0.4, 1.6, 9, 12)},
        "Law and management": {"Manager": (1.5, 4, 11, 16), "Lawyer": (0, 0, 0.4, 8), "Judge": (0, 0, 0, 0.4)},
    },
}
PAY = np.array([-0.9, -0.7, -0.1, -1, -0.7, -0.6, 0, -0.1, 0.2, 0.6, 0.3, 0.2, 2.2, 1, 1.2, 1.6, 1.9, 2.6])
"""How far the pay in each occupation stands above or below the middle."""
COUNTRY: Shares = {  # of birth, among people born abroad
    "Europe": {
        "Nordic countries": {"Norway": 0, "Sweden": 110, "Denmark": 40, "Finland": 7, "Iceland": 3},
        "Eastern Europe": {"Poland": 220, "Lithuania": 80, "Ukraine": 55, "Romania": 25, "Latvia": 9},
        "Western Europe": {"Germany": 60, "United Kingdom": 28, "Spain": 8, "France": 5, "Malta": 0.3},
    },
    "Outside Europe": {
        "Africa": {"Somalia": 50, "Eritrea": 32, "Morocco": 9, "Ghana": 4, "Lesotho": 0.2},
        "Western Asia": {"Syria": 45, "Iraq": 35, "Iran": 22, "Oman": 0.3},
        "Eastern Asia": {"Philippines": 30, "Pakistan": 27, "India": 18, "Bhutan": 0.5},
        "America": {"United States": 12, "Brazil": 7, "Chile": 6, "Suriname": 0.3},
        "Oceania": {"Australia": 2, "Samoa": 0.3},
    },
}
HOME = 0  # the first of the countries
ORIGIN: Shares = {  # of people born at home and abroad
    "native": (95, 3),
    "second generation": (5, 0),
    "naturalised": (0, 45),
    "immigrant": (0, 51.7),
    "stateless": (0, 0.3),
}

# Names hold what readers of text files stumble over: apostrophes, commas, quotation marks, spaces, many scripts.
GIVEN_NAMES = [  # women's first, then as many men's; the commoner first
    "Anne", "Inger", "Kari", "Fatima", "Zoë", "Siân", "Agnieszka", "Ольга", "Ελένη", "娜", "Mary Jane", 'Peg "Meg"',
    "Jan", "Per", "Bjørn", "Ólafur", "José", "Mohammed", "Łukasz", "Дмитрий", "יוסף", "伟", "Jean-Luc", 'Rob "Bob"',
]  # fmt: skip
SURNAMES = [
    "Hansen", "Johansen", "Olsen", "Larsen", "Ødegård", "Kowalski", "Nguyễn", "Khan", "O'Neill", "李", "Müller",
    "García Márquez", "van der Berg", "Þórsdóttir", "Škvorecký", "al-Ḥasan", "Иваненко", "शर्मा", "محمد", "King, Jr.",
]  # fmt: skip


def people(rows: int = 30_000, seed: int = 2008) -> pa.Table:
    """Return a census of made-up people: who they are, what they do and what they earn.

    Age decides on marital status, education and work class; education on occupation; all of these on salary; the place
    of living on the country of birth, and that on origin. Some values are missing in work_class and occupation.

    >>> people(3).column_names[:6]
    ['name', 'age', 'sex', 'origin', 'marital_status', 'education']
    """
    uniforms = _uniforms(rows, seed)
    age = AGES[_draw(next(uniforms), 1 / (1 + np.exp((AGES - 72) / 8)))]
    band = np.searchsorted(AGE_BANDS, age, side="right")
    sex = _draw(next(uniforms), _shares(SEX))
    marital_status = _draw(next(uniforms), _shares(MARITAL_STATUS), band)
    education = _draw(next(uniforms), _shares(EDUCATION), band)
    schooling = SCHOOLING[education]
    work_class = _draw(next(uniforms), _shares(WORK_CLASS), band)
    occupation = _draw(next(uniforms), _shares(OCCUPATION), schooling)

    chance = np.clip(next(uniforms), 1e-9, 1 - 1e-9)
    noise = np.log(chance / (1 - chance))  # logistic, so that no pay is out of the question in any occupation
    career = np.interp(age, [16, 25, 45, 62, 80], [-2.2, -0.5, 0.6, 0.5, -0.2])
    idle = work_class >= len(WORK_CLASS["In work"])
    pay = PAY[occupation] + 0.35 * schooling + career - 1.2 * idle + 0.55 * noise
    salary = np.searchsorted([-0.6, 0.6, 1.6, 2.8], pay)

    postcodes, shares = _postcodes()
    postcode = _draw(next(uniforms), shares)
    in_capital = np.char.startswith(postcodes, "0")[postcode]
    abroad = next(uniforms) < np.where(in_capital, 0.14, 0.05)
    country = np.where(abroad, _draw(next(uniforms), _shares(COUNTRY)), HOME)
    origin = _draw(next(uniforms), _shares(ORIGIN), abroad.astype(np.int64))

    half = len(GIVEN_NAMES) // 2
    man = np.where(sex == 2, next(uniforms) < 0.5, sex == 1)
    given_name = half * man + _draw(next(uniforms), _zipf(half, 0.8))
    surname = _draw(next(uniforms), _zipf(len(SURNAMES), 0.8))
    no_work_class = next(uniforms) < np.where(age >= 80, 0.15, 0.004)  # the oldest often leave that question out
    no_occupation = no_work_class | (next(uniforms) < 0.005)
    return pa.table(
        {
            "name": pc.binary_join_element_wise(_texts(GIVEN_NAMES, given_name), _texts(SURNAMES, surname), " "),
            "age": pa.array(age, pa.int64()),
            "sex": _texts(SEX, sex),
            "origin": _texts(ORIGIN, origin),
            "marital_status": _texts(MARITAL_STATUS, marital_status),
            "education": _texts(EDUCATION, education),
            "country": _texts(COUNTRY, country),
            "work_class": _texts(WORK_CLASS, work_class, no_work_class),
            "occupation": _texts(OCCUPATION, occupation, no_occupation),
            "salary": _texts(SALARY, salary),
            "postcode": _texts(postcodes, postcode),
        }
    )


def people_spec() -> Spec:
    """Return a specification for `people`: 5-anonymity by the best levels, with at most 2 % of the rows dropped.

    >>> people_spec().of_role("sensitive")
    ['occupation', 'salary']
    """
    quasi: dict[str, Any] = {
        "age": {"intervals": [5, 10, 20], "bottom": 20, "top": 80},
        "sex": "flat",
        "origin": "flat",
        "marital_status": {"tree": _tree(MARITAL_STATUS)},
        "education": {"tree": _tree(EDUCATION)},
        "country": {"tree": _tree(COUNTRY)},
        "work_class": {"tree": _tree(WORK_CLASS)},
        "postcode": {"mask": "right"},
    }
    return Spec(
        attributes={
            "name": {"role": "identifier"},
            **{name: {"role": "quasi", "hierarchy": hierarchy} for name, hierarchy in quasi.items()},
            "occupation": {"role": "sensitive", "hierarchy": {"tree": _tree(OCCUPATION)}},
            "salary": {"role": "sensitive", "order": SALARY},
        },
        privacy={"k": 5},
        method={"name": "optimal", "scheme": "level", "suppression": 0.02},
    )


def write_people(folder: Path, rows: int = 30_000, seed: int = 2008) -> Path:
    """Write people.csv and a people.toml that specifies it into a folder, and return where the latter lies."""
    return _write(folder, "people", people(rows, seed), people_spec())


def _write(folder: Path, name: str, table: pa.Table, spec: Spec) -> Path:
    """Write a table and its specification under a name; return where the specification lies."""
    folder.mkdir(parents=True, exist_ok=True)
    # Arrow would put every text in quotes; a file that people open should have them only where they are needed.
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    path = folder / f"{name}.toml"
    spec.model_copy(update={"data": Data(source=f"{name}.csv")}).dump(path)
    return path


# Baskets

# In each list the commoner items stand first, and lists stand before tables, as in TOML: so a file keeps the order.
BASKET_TREE: dict[str, Any] = {
    "Chemist": ["toothpaste", "shampoo", "soap", "plasters", "painkillers", "nicotine gum", "pregnancy test"],
    "Food": {
        "Bakery": ["bread", "rolls", "crispbread", "cake", "lefse"],
        "Dry goods": ["coffee", "pasta", "rice", "flour", "sugar", "oats", "tea", "saffron"],
        "Sweets": ["chocolate", "crisps", "ice cream", "liquorice"],
        "Tacos": ["tortillas", "taco sauce", "sour cream"],
        "Eggs": ["eggs"],
        "Dairy": {
            "Milk products": ["milk", "butter", "yoghurt", "cream", "buttermilk"],
            "Cheese": ["brown cheese", "gouda", "feta", "blue cheese"],
        },
        "Fruit and vegetables": {
            "Fruit": ["bananas", "apples", "oranges", "grapes", "mangoes", "lychees"],
            "Vegetables": ["tomatoes", "potatoes", "cucumber", "carrots", "onions", "peppers", "kale", "okra"],
        },
        "Meat and fish": {
            "Meat": ["minced meat", "chicken", "sausages", "ham", "lamb", "reindeer"],
            "Fish": ["cod", "salmon", "shrimps", "stockfish"],
        },
    },
    "Drink": {"Soft drinks": ["cola", "juice", "mineral water", "squash"], "Alcohol": ["beer", "cider", "mead"]},
    "Household": {
        "Cleaning": ["toilet paper", "detergent", "washing powder", "sponges", "silver polish"],
        "Baby": ["nappies", "wet wipes", "baby food", "teats"],
        "Pets": ["cat food", "dog food", "cat litter", "bird seed"],
    },
}
TRIPS: dict[str, tuple[float, list[str]]] = {  # what customers come for: how often, and the groups they take more of
    "top-up": (40, ["Dairy", "Bakery"]),
    "weekly": (26, ["Fruit and vegetables", "Meat and fish", "Dry goods"]),
    "friday": (16, ["Tacos", "Sweets", "Soft drinks", "Alcohol"]),
    "family": (8, ["Milk products", "Cleaning", "Baby"]),
    "pets": (5, ["Pets"]),
    "chemist": (5, ["Chemist"]),
}


def baskets(rows: int = 10_000, seed: int = 2008) -> pa.Table:
    """Return made-up shopping baskets: a receipt number each, and 1 to 20 different items.

    A few items are in many baskets, and most are in few. What a customer comes for makes the items of some groups
    likelier, so these occur together.

    >>> baskets(2)["receipt"].to_pylist()
    ['R000001', 'R000002']
    """
    uniforms = _uniforms(rows, seed)
    trip = _draw(next(uniforms), np.array([share for share, _ in TRIPS.values()]))
    size = 1 + _draw(next(uniforms), np.power(0.82, np.arange(20)))
    items, groups, ranks = zip(*_leaves(BASKET_TREE), strict=True)
    wanted = [[not above.isdisjoint(more) for above in groups] for _, more in TRIPS.values()]
    rates = np.exp(-0.7 * np.array(ranks)) * np.where(wanted, 8, 1)
    # The first of exponential waiting times: drawing by weight without putting back (Efraimidis and Spirakis, Weighted
    # random sampling with a reservoir, 2006).
    waiting = -np.log1p(-np.column_stack([next(uniforms) for _ in items])) / rates[trip]
    taken = np.argsort(waiting, axis=1, kind="stable")[np.arange(len(items)) < size[:, None]]
    numbers = pc.utf8_lpad(pa.array(np.arange(1, rows + 1)).cast(pa.string()), 6, "0")
    ends = pa.array(np.concatenate([[0], size.cumsum()]), pa.int32())
    return pa.table(
        {
            "receipt": pc.binary_join_element_wise("R", numbers, ""),
            "basket": pa.ListArray.from_arrays(ends, _texts(items, taken)),
        }
    )


def baskets_spec() -> Spec:
    """Return a specification for `baskets`: whoever knows two items of a basket still faces five baskets.

    >>> baskets_spec().of_role("items")
    ['basket']
    """
    return Spec(
        attributes={
            "receipt": {"role": "identifier"},
            "basket": {"role": "items", "hierarchy": {"tree": BASKET_TREE}},
        },
        privacy={"k": 5, "m": 2},
        method={"name": "itemsets"},
    )


def write_baskets(folder: Path, rows: int = 10_000, seed: int = 2008) -> Path:
    """Write baskets.csv, items between semicolons, and a baskets.toml that specifies it; return the latter's path."""
    table, spec = baskets(rows, seed), baskets_spec()
    text = pc.binary_join(table["basket"], "; ")
    attribute = spec.attributes["basket"].model_copy(update={"separator": ";"})
    attribute.model_fields_set.add("separator")
    spec = spec.model_copy(update={"attributes": {**spec.attributes, "basket": attribute}})
    return _write(folder, "baskets", table.set_column(1, "basket", text), spec)


# Visits

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
    uniforms = _uniforms(people, seed)
    ages = np.arange(100)
    age = _draw(next(uniforms), (1 + ages / 60) / (1 + np.exp((ages - 74) / 7)))
    birthday = np.array(dt.date(2022, 12, 31).toordinal() - 366 * age - (next(uniforms) * 365).astype(np.int64))
    woman = next(uniforms) < 0.52
    postcodes, shares = _postcodes()
    postcode = _draw(next(uniforms), shares)
    half = len(GIVEN_NAMES) // 2
    given, surname = half * ~woman + _draw(next(uniforms), _zipf(half, 0.8)), _draw(next(uniforms), _zipf(20, 0.8))

    uniforms = _uniforms(rows, seed + 1)
    often = np.arange(people) % 97 + 3.0  # how likely a patient comes again
    patient = np.concatenate([np.arange(people), _draw(next(uniforms), 1 / often)[people:]])[:rows]
    patient = patient[np.argsort(next(uniforms), kind="stable")]
    band = np.searchsorted(AGE_BANDS, age, side="right")[patient]
    illness = _draw(next(uniforms), _shares(DIAGNOSES), band)
    codes = list(DIAGNOSES)
    for_women = np.char.startswith(codes, "O")[illness]
    illness = np.where(for_women & ~woman[patient], codes.index("M54.5"), illness)
    stay = np.array([next((nights for start, nights in STAYS.items() if code.startswith(start)), 2) for code in codes])
    nights = np.floor(-np.log1p(-next(uniforms)) * stay[illness] * (0.7 + 0.1 * band)).astype(np.int64)
    cost = np.round((420 + 610 * nights + 90 * stay[illness]) * np.exp(0.5 * next(uniforms)), 2)
    minutes = (next(uniforms) * 731 * 24 * 60).astype(np.int64)  # of 2023 and 2024
    told, caller, line = _draw(next(uniforms), np.ones(len(NOTES))), next(uniforms), next(uniforms)
    whose = _draw(caller, _zipf(len(SURNAMES), 0.8))
    notes = [
        NOTES[which].format(name=SURNAMES[who], phone=f"0471 {int(x * 90) + 10} {int(x * 9000) % 90 + 10} {who + 10}")
        for which, who, x in zip(told.tolist(), whose.tolist(), line.tolist(), strict=True)
    ]
    names = pc.binary_join_element_wise(_texts(GIVEN_NAMES, given), _texts(SURNAMES, surname), " ")
    who = pa.array(patient)
    return pa.table(
        {
            "patient": pa.array([f"P{n:05}" for n in (np.arange(people) * 7919 % 99_991).tolist()]).take(who),
            "name": names.take(who),
            "sex": _texts(["f", "m"], (~woman).astype(np.int64)).take(who),
            "born": pa.array([dt.date.fromordinal(day) for day in birthday.tolist()]).take(who),
            "postcode": _texts(postcodes, postcode[patient], next(uniforms) < 0.02),
            "admitted": pa.array([dt.datetime(2023, 1, 1) + dt.timedelta(minutes=m) for m in minutes.tolist()]),
            "icd10": _texts(codes, illness),
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


# Drawing from tables


def _uniforms(rows: int, seed: int) -> Iterator[Floats]:
    """Yield one column of uniform numbers after the other; of NumPy's draws, these are the least likely to change."""
    generator = np.random.Generator(np.random.PCG64(seed))
    while True:
        yield generator.random(rows)


def _draw(uniforms: Floats, shares: Floats, kind: Longs | None = None) -> Longs:
    """Return the position on which each uniform number falls by these shares, or by those of its kind."""
    edges = shares.cumsum(axis=-1)
    edges = (edges / edges[..., -1:])[..., :-1]  # whatever lies beyond the last edge falls on the last position
    if kind is None:
        return np.searchsorted(edges, uniforms, side="right")
    drawn: Longs = (uniforms[:, None] >= edges[kind]).sum(axis=1)
    return drawn


def _leaves(tree: Any, groups: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str], Any]]:
    """Yield each leaf with the groups it is in and what is said of it: its shares, or its rank in a list of leaves."""
    for name, below in tree.items() if isinstance(tree, Mapping) else zip(tree, itertools.count()):
        if isinstance(below, Mapping | list):
            yield from _leaves(below, groups | {name})
        else:
            yield name, groups, below


def _shares(table: Shares) -> Floats:
    """Return the shares of a table's values, in a row for each kind of people if there are several."""
    shares: Floats = np.array([shares for _, _, shares in _leaves(table)], np.float64).T
    return shares


def _tree(table: Shares) -> Any:
    """Return the hierarchy of a table's values as a specification states it: groups, and lists of values."""
    if any(isinstance(below, Mapping) for below in table.values()):
        return {name: _tree(below) for name, below in table.items()}
    return list(table)


def _texts(table: Sequence[str] | Shares, codes: Longs, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    values = pa.array([value for value, _, _ in _leaves(table)], pa.string())
    return values.take(pa.array(codes, pa.int64(), mask=missing))


def _zipf(count: int, exponent: float) -> Floats:
    shares: Floats = np.arange(1.0, count + 1) ** -exponent
    return shares


def _postcodes() -> tuple[list[str], Floats]:
    """Return four-digit postcodes and their shares: in each region some towns, in each some codes; 0 is the capital."""
    places = [("053716", 0.5), ("148062", 2.0), ("527", 1.5), ("1063", 1.0)]  # the commonest digits first
    codes, shares = [""], np.ones(1)
    for digits, exponent in places:
        codes = [code + digit for code in codes for digit in digits]
        shares = np.outer(shares, _zipf(len(digits), exponent)).ravel()
    return codes, shares
