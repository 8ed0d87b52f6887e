"""Sample people, as in a census: columns depend on each other, few values are common and many are rare."""

from pathlib import Path
from typing import Any

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
    tree_of,
    uniform_numbers,
    write_sample,
    zipf,
)
from ringfence.spec import Spec

AGES = np.arange(16, 103)
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


def people(rows: int = 30_000, seed: int = 2008) -> pa.Table:
    """Return a census of made-up people: who they are, what they do and what they earn.

    Age decides on marital status, education and work class; education on occupation; all of these on salary; the place
    of living on the country of birth, and that on origin. Some values are missing in work_class and occupation.

    >>> people(3).column_names[:6]
    ['name', 'age', 'sex', 'origin', 'marital_status', 'education']
    """
    uniforms = uniform_numbers(rows, seed)
    age = AGES[draw(next(uniforms), 1 / (1 + np.exp((AGES - 72) / 8)))]
    band = np.searchsorted(AGE_BANDS, age, side="right")
    sex = draw(next(uniforms), shares_of(SEX))
    marital_status = draw(next(uniforms), shares_of(MARITAL_STATUS), band)
    education = draw(next(uniforms), shares_of(EDUCATION), band)
    schooling = SCHOOLING[education]
    work_class = draw(next(uniforms), shares_of(WORK_CLASS), band)
    occupation = draw(next(uniforms), shares_of(OCCUPATION), schooling)

    chance = np.clip(next(uniforms), 1e-9, 1 - 1e-9)
    noise = np.log(chance / (1 - chance))  # logistic, so that no pay is out of the question in any occupation
    career = np.interp(age, [16, 25, 45, 62, 80], [-2.2, -0.5, 0.6, 0.5, -0.2])
    idle = work_class >= len(WORK_CLASS["In work"])
    pay = PAY[occupation] + 0.35 * schooling + career - 1.2 * idle + 0.55 * noise
    salary = np.searchsorted([-0.6, 0.6, 1.6, 2.8], pay)

    postcodes, shares = sample_postcodes()
    postcode = draw(next(uniforms), shares)
    in_capital = np.char.startswith(postcodes, "0")[postcode]
    abroad = next(uniforms) < np.where(in_capital, 0.14, 0.05)
    country = np.where(abroad, draw(next(uniforms), shares_of(COUNTRY)), HOME)
    origin = draw(next(uniforms), shares_of(ORIGIN), abroad.astype(np.int64))

    half = len(GIVEN_NAMES) // 2
    man = np.where(sex == 2, next(uniforms) < 0.5, sex == 1)
    given_name = half * man + draw(next(uniforms), zipf(half, 0.8))
    surname = draw(next(uniforms), zipf(len(SURNAMES), 0.8))
    no_work_class = next(uniforms) < np.where(age >= 80, 0.15, 0.004)  # the oldest often leave that question out
    no_occupation = no_work_class | (next(uniforms) < 0.005)
    return pa.table(
        {
            "name": pc.binary_join_element_wise(texts(GIVEN_NAMES, given_name), texts(SURNAMES, surname), " "),
            "age": pa.array(age, pa.int64()),
            "sex": texts(SEX, sex),
            "origin": texts(ORIGIN, origin),
            "marital_status": texts(MARITAL_STATUS, marital_status),
            "education": texts(EDUCATION, education),
            "country": texts(COUNTRY, country),
            "work_class": texts(WORK_CLASS, work_class, no_work_class),
            "occupation": texts(OCCUPATION, occupation, no_occupation),
            "salary": texts(SALARY, salary),
            "postcode": texts(postcodes, postcode),
        }
    )


def people_spec() -> Spec:
    """Return a specification for `people`: 5-anonymity by the best levels, with at most 2 % of the rows dropped, and
    counts of values beside the release.

    >>> people_spec().of_role("sensitive")
    ['occupation', 'salary']
    """
    quasi: dict[str, Any] = {
        "age": {"intervals": [5, 10, 20], "bottom": 20, "top": 80},
        "sex": "flat",
        "origin": "flat",
        "marital_status": {"tree": tree_of(MARITAL_STATUS)},
        "education": {"tree": tree_of(EDUCATION)},
        "country": {"tree": tree_of(COUNTRY)},
        "work_class": {"tree": tree_of(WORK_CLASS)},
        "postcode": {"mask": "right"},
    }
    return Spec(
        attributes={
            "name": {"role": "identifier"},
            **{name: {"role": "quasi", "hierarchy": hierarchy} for name, hierarchy in quasi.items()},
            "occupation": {"role": "sensitive", "hierarchy": {"tree": tree_of(OCCUPATION)}},
            "salary": {"role": "sensitive", "order": SALARY},
        },
        privacy={"k": 5},
        method={"name": "optimal", "scheme": "level", "suppression": 0.02},
        output={"counts": True},
    )


def write_people(folder: Path, rows: int = 30_000, seed: int = 2008) -> Path:
    """Write people.csv and a people.toml that specifies it into a folder, and return where the latter lies."""
    return write_sample(folder, "people", people(rows, seed), people_spec())
