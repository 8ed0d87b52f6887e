"""Every method on every engine: the same plan, the same metrics, the same verdict; only the order of rows is chance."""

import datetime as dt
import functools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.declared import BASKETS, BUCKETS, GROUPS, methods_that
from tests.engines import ENGINES, put

SLOW, WRITTEN = ("spark",), ("anatomy", "long")
"""Engines that take seconds for every step, and what of them is also written into files."""
ALIKE = ("levels", "cluster", "hilbert", "mondrian")
"""What slow engines do not meet here: methods that carry out plans of the same kind as `level` or `local`, from the
same counts."""
OTHERS = [name for name in ENGINES if name != "duckdb"]
RNG = random.Random(11)
AGES = [20, 21, 25, 30, 31, 42, 50, None]
TOWNS = ["O'Hara", 'the "Hill"', "Köln", None, "a, b"]
PEOPLE = pa.table(
    {
        "Age of person": [RNG.choice(AGES) for _ in range(300)],
        'town "x"': [RNG.choice(TOWNS) for _ in range(300)],
        "seen": [dt.date(2020, 1, 1) + dt.timedelta(RNG.choice([0, 1, 40, 400])) for _ in range(300)],
        "size": [RNG.choice([1.5, 2.0, 0.1, None]) for _ in range(300)],
        "illness": [RNG.choice(["flu", "cold", "gout", "ache"]) for _ in range(300)],
        "note": [RNG.choice(["", "x\ny", None, "é\\"]) for _ in range(300)],
        "paid": pa.array([RNG.randint(0, 10**6) for _ in range(300)], pa.int64()),
    }
)
ATTRIBUTES: dict[str, Any] = {
    "Age of person": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
    'town "x"': {"role": "quasi", "hierarchy": "flat"},
    "seen": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}},
    "size": {"role": "quasi", "order": "numeric", "hierarchy": {"intervals": [1, 2]}},
    "illness": {"role": "sensitive"},
    "note": {"role": "insensitive"},
    "paid": {"role": "insensitive"},
}
LEVELS = {"Age of person": 2, 'town "x"': 1, "seen": 1, "size": 1}
SEEDED = {"local": {"seed": 3}, "ring": {"seed": 3}}
SPECS: dict[str, dict[str, Any]] = {
    "level": {"method": {"scheme": "level", "suppression": 0.1}, "privacy": {"k": 4}},
    "masked": {"method": {"scheme": "level", "suppression": 0.2, "keep_suppressed": True}, "privacy": {"k": 4}},
    "diverse": {"method": {"scheme": "level", "suppression": 0.1}, "privacy": {"k": 3, "l": 2, "t": 0.6}},
    "levels": {"method": {"name": "levels", "levels": LEVELS, "suppression": 1}, "privacy": {"k": 3}},
    "anatomy": {"method": {"name": "anatomy", "seed": 3}, "privacy": {"l": 3}},
    "homogeneous": {"method": {"name": "ring", "homogeneous": True, "seed": 3}, "privacy": {"k": 3}},
    **{
        name: {"method": {"name": name, **SEEDED.get(name, {})}, "privacy": {"k": 4}}
        for name in methods_that(way=GROUPS)
    },
}  # fmt: skip


ITEMS = "abcdefgh"
VISITS = pa.table(
    {
        "patient": [f"P{RNG.randrange(60)}" for _ in range(240)],
        "receipt": [row // 3 for row in range(240)],
        "item": [RNG.choice(ITEMS) for _ in range(240)],
        "basket": [RNG.choices(ITEMS, k=RNG.randint(0, 3)) for _ in range(240)],
        "words": [" ".join(RNG.choices(ITEMS, k=RNG.randint(1, 3))) for _ in range(240)],
        "day": [RNG.choice(["1.2.2020", "01.02.2020", "31.12.2021", None]) for _ in range(240)],
        "pay": [RNG.choice(["1.000,50", "7,5", "12", "?"]) for _ in range(240)],
        "count": [RNG.choice(["1", "2.0", "03", None]) for _ in range(240)],
        "weight": [RNG.choice([0.5, 1.0, 2.25]) for _ in range(240)],
        "sex": [RNG.choice("fm") for _ in range(240)],
    }
)
QUASI = {"role": "quasi", "hierarchy": "flat"}
OTHER_SPECS: dict[str, dict[str, Any]] = {
    "people": {"data": {"entity": "patient"}, "attributes": {"sex": QUASI, "day": QUASI}, "privacy": {"k": 3}},
    "composite": {
        "data": {"entity": "patient", "composite": True},
        "attributes": {"sex": QUASI, "count": QUASI},
        "privacy": {"k": 2},
    },
    "text that is more": {
        "data": {
            "decimal": ",", "thousands": ".", "types": {"count": "int"}, "missing_values": ["?"], "weights": "weight",
        },
        "attributes": {
            "day": {"role": "quasi", "format": "%d.%m.%Y", "hierarchy": {"dates": ["month", "year"]}},
            "pay": {"role": "quasi", "order": "numeric", "scheme": "ordered"},
            "count": QUASI,
        },
        "privacy": {"k": 5},
        "method": {"suppression": 0.2},
    },
    "complete": {"data": {"missing": "suppress"}, "attributes": {"day": QUASI, "sex": QUASI}, "privacy": {"k": 5}},
    "baskets": {
        "attributes": {"basket": {"role": "items", "hierarchy": {"fanout": 3}}, "sex": {"role": "insensitive"}},
        "privacy": {"k": 5, "m": 2},
        "method": {"name": "itemsets"},
    },
    "baskets as text": {
        "attributes": {"words": {"role": "items", "separator": " ", "hierarchy": {"fanout": 3}}},
        "privacy": {"k": 5, "m": 2},
        "method": {"name": "itemsets"},
    },
    "long": {
        "data": {"basket_id": "receipt"},
        "attributes": {"item": {"role": "items", "hierarchy": {"fanout": 3}}},
        "privacy": {"k": 3, "m": 2},
        "method": {"name": "itemsets"},
    },
    "beside quasi-identifiers": {
        "attributes": {"sex": QUASI, "basket": {"role": "items", "hierarchy": {"fanout": 3}}},
        "privacy": {"k": 4, "m": 2},
    },
}  # fmt: skip


def spec_of(asked: dict[str, Any], **data: Any) -> rf.Spec:
    return rf.Spec(data=data, attributes=ATTRIBUTES, **asked)


@functools.cache
def ours_of(name: str) -> rf.Release:
    """The release that the other engines' are compared with."""
    return rf.anonymize(PEOPLE, spec_of(SPECS[name]))


def as_arrow(table: Any) -> pa.Table:
    """A release, of Spark too, as a table in memory."""
    return table if isinstance(table, pa.Table) else table.toArrow()


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def decided(release: rf.Release) -> str:
    """A plan as it is saved, but for the specification in it, which says where the rows lie."""
    saved = json.loads(release.plan.dumps())
    return json.dumps({key: part for key, part in saved.items() if key != "spec"})


def same_release(ours: rf.Release, theirs: rf.Release) -> None:
    """Two releases that differ in chance alone."""
    assert decided(ours) == decided(theirs)
    assert ours.metrics == theirs.metrics
    assert ours.audit.ok
    assert theirs.audit.ok
    assert ours.audit.measured == theirs.audit.measured


def test_every_method_is_tried() -> None:
    tried = {asked["method"].get("name", "optimal") for asked in SPECS.values()}
    ways = [BUCKETS, GROUPS, "recodes"]
    assert tried >= {name for way in ways for name in methods_that(way=way)} - {*methods_that(way=BASKETS)}


@pytest.mark.parametrize(
    ("name", "engine"),
    [(name, engine) for name in SPECS for engine in OTHERS if engine not in SLOW or name not in ALIKE],
)
def test_engines_agree(name: str, engine: str, tmp_path: Path) -> None:
    ours = ours_of(name)
    source, data = put(engine, PEOPLE, tmp_path)
    spec = spec_of(SPECS[name], **data)
    theirs = rf.anonymize(source, spec)
    same_release(ours, theirs)
    recodes = spec.recodes_values
    shown = ours.table.column_names if recodes else spec.of_role("quasi")
    if not spec.has_rings:
        assert rows_of(ours.table.select(shown)) == rows_of(as_arrow(theirs.table).select(shown))
    if engine in SLOW and name not in WRITTEN:
        return
    written = rf.run(spec_of(SPECS[name], source=source, **data), tmp_path / "out", report=False)
    assert written.metrics == ours.metrics
    original = PEOPLE if spec.has_rings else None
    assert rf.audit(written.table, spec_of(SPECS[name]), original).ok


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("name", OTHER_SPECS)
def test_engines_agree_on_people_baskets_and_text(name: str, engine: str, tmp_path: Path) -> None:
    asked = OTHER_SPECS[name]
    given = {"unlisted": "drop", **asked.get("data", {})}
    columns = [*asked["attributes"], *(given[key] for key in ("entity", "weights", "basket_id") if key in given)]
    table = VISITS.select(list(dict.fromkeys(columns)))
    ours = rf.anonymize(table, rf.Spec(**{**asked, "data": given}))
    source, data = put(engine, table, tmp_path)
    spec = rf.Spec(**{**asked, "data": {**given, "source": source, **data}})
    theirs = rf.anonymize(None, spec)
    same_release(ours, theirs)
    if spec.recodes_values and spec.pseudonym is None:
        assert rows_of(ours.table) == rows_of(as_arrow(theirs.table))
    if engine in SLOW and name not in WRITTEN:
        return
    written = rf.run(spec, tmp_path / "out", report=False)
    assert written.metrics == ours.metrics
    judged = rf.audit(written.table, spec, source if spec.needs_original else None)
    assert judged.ok, judged.findings
