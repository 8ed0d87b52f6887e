"""A plan as SQL: handed in as text, on both engines, it publishes the rows that the plan itself publishes."""

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import ringfence as rf
from ringfence.cli import app
from ringfence.errors import SpecError
from ringfence.plans.recode import GlobalPlan
from ringfence.plans.sql import as_sql
from tests.engines import postgres, put

RNG = random.Random(3)
PEOPLE = pa.table(
    {
        "age": [RNG.choice([20, 21, 25, 30, 31, 42, 50, None]) for _ in range(300)],
        'town "x"': [RNG.choice(["O'Hara", "Köln", None, "a, b", "?", ""]) for _ in range(300)],
        "sex": [RNG.choice("fm") for _ in range(300)],
        "name": [f"N{n}" for n in range(300)],
        "illness": [RNG.choice(["flu", "cold", "?"]) for _ in range(300)],
    }
)
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
    'town "x"': {"role": "quasi", "hierarchy": "flat"},
    "sex": {"role": "quasi", "hierarchy": "flat"},
    "name": {"role": "identifier"},
    "illness": {"role": "sensitive"},
}


def spec_of(**parts: Any) -> rf.Spec:
    data = {"missing_values": ["?"], **parts.pop("data", {})}
    return rf.Spec(
        **{"data": data, "attributes": ATTRIBUTES, "privacy": {"k": 8}, "method": {"suppression": 0.3}, **parts}
    )


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def handed_in(engine: str, plan: GlobalPlan, folder: Path, people: pa.Table = PEOPLE) -> pa.Table:
    """What becomes of the people when the statement is run, and no more than that."""
    if engine == "duckdb":
        base = duckdb.connect()
        base.register("people", people)
        base.execute(as_sql(plan, "people", "released"))
        return base.execute("SELECT * FROM released").to_arrow_table()
    _, data = put("postgres", people, folder)
    with postgres().connected() as connection:
        connection.execute("DROP TABLE IF EXISTS released")
        connection.execute(as_sql(plan, data["table"], "public.released"))
        found = connection.execute("SELECT * FROM released")
        assert found.description is not None
        names = [column.name for column in found.description]
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in found.fetchall()])


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"privacy": {"k": 3, "l": 2}},
        {"method": {"scheme": "set", "suppression": 0.1, "time_limit": 0.3}},
        {"data": {"missing": "suppress"}},
        {"method": {"name": "levels", "levels": {"age": 0, 'town "x"': 0, "sex": 0}, "suppression": 1}},
    ],
)
def test_a_statement_publishes_what_the_plan_publishes(engine: str, parts: dict[str, Any], tmp_path: Path) -> None:
    spec = spec_of(**parts)
    release = rf.anonymize(PEOPLE, spec)
    assert isinstance(release.plan, GlobalPlan)
    made = handed_in(engine, release.plan, tmp_path)
    assert made.column_names == release.table.column_names
    assert rows_of(made) == rows_of(release.table)
    assert rf.audit(made, spec).ok


SPELLED = {
    "texts": (pa.array(["020", "20", "+20.0", ".50", "0.5", "-0", "0", "31", "31.0", "7", None, "?"]), "numeric"),
    "floats": (pa.array([20.0, 20.0, 0.5, 0.5, 31.0, 31.0, None, None]), "numeric"),
    "floats as words": (pa.array([20.0, 20.0, 0.5, 0.5, 31.0, 31.0, None, None]), None),
    "decimals": (pa.array([Decimal("1.50"), Decimal("1.50"), Decimal("2.00"), Decimal("2.00")]), None),
    "codes": (pa.array(["020", "020", "20", "20", "20.0", "20.0", None, None]), None),
}


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize("kind", SPELLED)
def test_numbers_are_found_however_a_table_spells_them(engine: str, kind: str, tmp_path: Path) -> None:
    """Without that, rows are left out without a word. Codes are what they are."""
    pay, order = SPELLED[kind]
    people = pa.table({"pay": pay, "row": range(len(pay))})
    attribute = {"role": "quasi", "hierarchy": {"fanout": 2}, **({"order": order} if order else {})}
    spec = spec_of(
        attributes={"pay": attribute, "row": {"role": "insensitive"}},
        privacy={"k": 2},
        method={"name": "levels", "levels": {"pay": int(kind == "texts")}},
    )
    plan = rf.anonymize(people, spec).plan
    assert isinstance(plan, GlobalPlan)
    made = handed_in(engine, plan, tmp_path, people)
    assert sorted(made["row"].to_pylist()) == [*range(len(pay))]
    assert rf.audit(made, spec, people).ok


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_what_is_published_as_it_stands_shows_one_spelling_and_no_suppressed_class(engine: str, tmp_path: Path) -> None:
    """Spellings that readers can tell apart are no class, and a class that the plan suppresses goes however its numbers
    are spelled."""
    ill = ["flu", "cold", "flu", "flu", "flu", "cold"]
    spec = spec_of(
        attributes={"pay": {"role": "quasi", "hierarchy": "flat", "order": "numeric"}, "ill": {"role": "sensitive"}},
        privacy={"k": 2, "l": 2},
        method={"name": "levels", "levels": {"pay": 0}, "suppression": 0.5},
    )
    floats = pa.table({"pay": [20.0, 20.0, 31.0, 31.0, 0.0, -0.0], "ill": ill})
    texts = pa.table({"pay": ["20", "20", "31", "31", "0", "-0"], "ill": ill})
    for people in (floats, texts):
        plan = rf.anonymize(people, spec).plan
        assert isinstance(plan, GlobalPlan)
        assert {float(pay) for pay in handed_in(engine, plan, tmp_path, people)["pay"].to_pylist()} == {20.0}


def test_new_rows_lose_what_the_plan_does_not_know_and_what_is_rare() -> None:
    plan = rf.anonymize(PEOPLE, spec_of()).plan
    assert isinstance(plan, GlobalPlan)
    known, strange = PEOPLE.slice(0, 200).to_pylist(), dict.fromkeys(PEOPLE.column_names, "new")
    new = pa.Table.from_pylist([*known, {**strange, "age": 99}, {**known[0], "age": 99}])
    base = duckdb.connect()
    base.register("people", new)
    base.execute(as_sql(plan, "people", "released"))
    made = base.execute("SELECT * FROM released").to_arrow_table()
    assert "new" not in made["illness"].to_pylist()
    assert 0 < made.num_rows <= 200
    assert rf.audit(made, spec_of()).ok


def test_what_sql_cannot_do_is_refused() -> None:
    plan = rf.anonymize(PEOPLE, spec_of()).plan
    assert isinstance(plan, GlobalPlan)
    with pytest.raises(SpecError, match=r"cannot be written as SQL \(method.keep_suppressed"):
        as_sql(replace(plan, masked=True), "people", "released")
    dated = spec_of(attributes={**ATTRIBUTES, "sex": {"role": "quasi", "format": "%d.%m.%Y"}})
    with pytest.raises(SpecError, match=r"cannot be written as SQL \(attributes.sex.format"):
        as_sql(replace(plan, spec=dated.dumps()), "people", "released")


def test_the_command_prints_it(tmp_path: Path) -> None:
    rf.anonymize(PEOPLE, spec_of()).plan.save(tmp_path / "plan.json")
    done = CliRunner().invoke(app, ["apply", "--sql", str(tmp_path / "plan.json")])
    assert done.exit_code == 0
    assert done.stdout.startswith('CREATE TABLE "released" AS\nWITH l0(v, l) AS (VALUES (')
