"""Drafts: roles and hierarchies that one would expect, and specifications that run, whatever the table."""

import datetime as dt
import random
import tomllib
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringfence as rf
from ringfence.draft.draft import Draft, draft_spec
from ringfence.draft.guess import guess_data
from ringfence.draft.hierarchies import fit, nice_widths
from ringfence.draft.page import key, shown, value
from ringfence.draft.profile import held, look_at
from ringfence.draft.words import is_bare_key, meanings_of, words_of
from ringfence.errors import DataError, RingfenceError, SpecError, Unsatisfiable
from ringfence.methods.candidates import candidates
from ringfence.rows.duckdb import DuckDB
from ringfence.samples import people, visits, write_people
from ringfence.spec.data import Data


def draft_of(source: Any, data: Data | None = None, name: str | None = None) -> Draft:
    """The draft for a table, or for a file; without what is found out about the spelling of cells."""
    data = data or Data()
    with DuckDB(data) as engine:
        return draft_spec(engine, engine.open(source, data), data, name)


def run(draft: Draft, source: Any) -> rf.Release:
    """The release of a draft as it is; its audit must be ok."""
    assert rf.Spec.loads(draft.toml) == draft
    release = rf.anonymize(source, draft)
    assert release.audit.ok, release.audit.findings
    return release


def roles(draft: Draft) -> dict[str, str]:
    """The role of each column."""
    return {column.name: column.role for column in draft.columns}


def hierarchies(draft: Draft) -> dict[str, Any]:
    """The hierarchy of each quasi-identifier as the TOML states it."""
    attributes = tomllib.loads(draft.toml)["attributes"]
    return {name: stated["hierarchy"] for name, stated in attributes.items() if stated["role"] == "quasi"}


def prose(draft: Draft) -> str:
    """The TOML with its comments in one line each."""
    return draft.toml.replace("\n# ", " ")


def shuffled(table: pa.Table, seed: int = 1) -> pa.Table:
    """The same rows in another order."""
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    return table.take(order)


# Tables as one meets them


PEOPLE_ROLES = {
    "name": "identifier",
    **dict.fromkeys(
        ["age", "sex", "origin", "marital_status", "education", "country", "work_class", "occupation"], "quasi"
    ),
    "salary": "sensitive",
    "postcode": "quasi",
}


def test_the_sample_people() -> None:
    table = people(5000)
    draft = draft_of(table)
    assert roles(draft) == PEOPLE_ROLES
    found = hierarchies(draft)
    assert found["age"]["intervals"] == [5, 10, 20, 40]
    assert found["sex"] == "flat"
    assert found["postcode"] == {"mask": "right"}
    assert found["country"] == {"codes": "countries"}
    assert found["work_class"] == "flat"
    release = run(draft, table)
    assert release.audit.measured["k"] >= 5
    assert release.audit.measured["l"] >= 2
    assert release.metrics["suppressed"] == 0
    assert release.metrics["glm"] < 0.3
    stars = {name: release.table[name].to_pylist().count("*") / 5000 for name in found}
    assert stars["age"] == 0, "numbers are ranges"
    assert max(stars[name] for name in ("sex", "origin", "marital_status", "country")) < 0.2
    assert not any(str(cell).startswith("{") for name in found for cell in release.table[name].to_pylist())
    assert "name" not in release.table.column_names


def test_the_figures_are_those_of_the_table() -> None:
    table = people(800)
    frame = table.to_pandas()
    draft = draft_of(table)
    assert draft.rows == 800
    for column in draft.columns:
        counts = frame[column.name].value_counts()
        assert column.distinct == len(counts)
        assert column.unique == (counts == 1).sum() / 800
        assert column.missing == frame[column.name].isna().sum() / 800
    quasi = [name for name, role in roles(draft).items() if role == "quasi"]
    assert len(draft.pairs) == len(quasi) * (len(quasi) - 1) // 2
    for pair in [*draft.pairs, draft.together]:
        sizes = frame.groupby(list(pair.columns), dropna=False).size()
        assert (pair.distinct, pair.unique) == (len(sizes), (sizes == 1).sum() / 800)
    assert [pair.unique for pair in draft.pairs] == sorted((pair.unique for pair in draft.pairs), reverse=True)


def test_text_and_types_make_the_same_draft(tmp_path: Path) -> None:
    write_people(tmp_path, 2000)
    pq.write_table(people(2000), tmp_path / "people.parquet")
    text = tmp_path / "people.csv"
    from_text, from_types = draft_of(text, guess_data(text)), draft_of(tmp_path / "people.parquet")
    assert from_text == from_types
    run(from_text, text)
    run(from_types, tmp_path / "people.parquet")


def hospital(rows: int = 400) -> pa.Table:
    """Stays in a hospital, with types."""
    draw = random.Random(3)
    born = [dt.date(1930, 1, 1) + dt.timedelta(draw.randrange(33_000)) for _ in range(rows)]
    return pa.table(
        {
            "PatientID": [f"P{i:05}" for i in range(rows)],
            "fullName": [f"{draw.choice('ABCDE')}. {draw.choice(['Smith', 'Jones', 'Lee'])}" for _ in range(rows)],
            "e-mail": [f"p{i}@example.org" for i in range(rows)],
            "date_of_birth": born,
            "Admitted": [dt.datetime(2023, 1, 1) + dt.timedelta(hours=draw.randrange(8000)) for _ in range(rows)],
            "ZIP": [draw.choice([47906, 47907, 47302, 12345]) for _ in range(rows)],
            "gender": [draw.choice(["F", "M"]) for _ in range(rows)],
            "ward": [draw.choice("ABC") for _ in range(rows)],
            "diagnosis": [draw.choice(["flu", "asthma", "diabetes", "fracture"]) for _ in range(rows)],
            "HIV positive": [draw.random() < 0.02 for _ in range(rows)],
            "insurance": [draw.choice(["public", "private"]) for _ in range(rows)],
            "blood pressure": [Decimal(draw.randrange(9000, 18000)) / 100 for _ in range(rows)],
            "remark": [f"Seen on day {i}, to come again in {i % 7} weeks" for i in range(rows)],
        }
    )


def test_a_hospital() -> None:
    table = hospital()
    draft = draft_of(table)
    assert roles(draft) == {
        "PatientID": "identifier",
        "fullName": "identifier",
        "e-mail": "identifier",
        "date_of_birth": "quasi",
        "Admitted": "quasi",
        "ZIP": "quasi",
        "gender": "quasi",
        "ward": "quasi",
        "diagnosis": "sensitive",
        "HIV positive": "sensitive",
        "insurance": "quasi",
        "blood pressure": "quasi",
        "remark": "identifier",
    }
    found = hierarchies(draft)
    assert found["date_of_birth"] == {"dates": ["month", "quarter", "year", "decade"]}
    assert found["blood pressure"] == {"intervals": [5, 10, 20, 40, 80]}
    assert found["Admitted"] == {"dates": ["month", "quarter"]}
    assert found["ZIP"] == {"mask": "right"}
    reasons = {column.name: column.reason for column in draft.columns}
    assert "make it insensitive if not" in reasons["insurance"]
    privacy = tomllib.loads(draft.toml)["privacy"]
    assert privacy == {"k": 5, "l": {"value": 2, "of": "diagnosis"}}
    assert "l-diversity is not asked of HIV positive" in prose(draft)
    run(draft, table)


def test_a_german_file(tmp_path: Path) -> None:
    draw = random.Random(4)
    lines = ["Kundennummer;Nachname;Geburtsdatum;Alter;PLZ;Geschlecht;Familienstand;Beruf;Jahreseinkommen;Konfession"]
    for i in range(300):
        day = f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.{draw.randint(1950, 1999)}"
        lines.append(
            f"{10_000 + i};{draw.choice(['Müller', 'Weiß'])};{day};{draw.randint(18, 80)};0{draw.randint(1067, 1099)};"
            f"{draw.choice('mw')};{draw.choice(['ledig', 'verheiratet', 'geschieden'])};"
            f"{draw.choice(['Bäcker', 'Lehrer', 'Ärztin'])};{draw.randint(10, 90)}000,50;{draw.choice(['rk', 'ev'])}"
        )
    path = tmp_path / "kunden.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    draft = rf.draft(path, tmp_path)
    data = draft.data
    assert (data.delimiter, data.encoding, data.decimal, data.thousands) == (";", "latin-1", ",", None)
    assert roles(draft) == {
        "Kundennummer": "identifier",
        "Nachname": "identifier",
        **dict.fromkeys(["Geburtsdatum", "Alter", "PLZ", "Geschlecht", "Familienstand", "Beruf"], "quasi"),
        "Jahreseinkommen": "sensitive",
        "Konfession": "sensitive",
    }
    found = hierarchies(draft)
    assert found["Geburtsdatum"] == {"dates": ["month", "quarter", "year", "decade"]}
    assert tomllib.loads(draft.toml)["attributes"]["Geburtsdatum"]["format"] == "%d.%m.%Y"
    assert found["PLZ"] == {"mask": "right"}
    assert found["Alter"]["intervals"] == [5, 10, 20, 40]
    assert data.source == "kunden.csv"
    assert rf.anonymize(None, draft.at(tmp_path)).audit.ok


def test_drafts_do_not_depend_on_chance_or_on_the_order_of_rows() -> None:
    for table in (people(700), hospital(150)):
        drafts = [draft_of(table), draft_of(table), draft_of(shuffled(table)), draft_of(shuffled(table, 2))]
        assert all(draft == drafts[0] for draft in drafts)


def test_the_toml_explains_itself() -> None:
    draft = draft_of(people(500), name="people.csv")
    toml = draft.toml
    assert toml.startswith("# A draft of people.csv: 500 rows, 11 columns.")
    assert 'source = "people.csv"' in toml
    assert "# An age, which others know or can guess." in toml
    assert "of the rows are alone with theirs" in toml
    assert "The most identifying pairs" in toml
    assert max(map(len, toml.splitlines())) <= 120
    assert tomllib.loads(toml)["method"] == {"name": "local", "metric": "use", "representation": "plain"}
    table = str(draft)
    assert all(column.name in table and column.reason in table for column in draft.columns)
    assert "age x postcode" in table


def test_a_column_that_is_given_another_role_says_what_goes_as_well() -> None:
    draft = draft_of(people(300))
    assert "take out the lines below its role" in prose(draft)
    with pytest.raises(SpecError) as found:
        rf.Spec.loads(draft.toml.replace('role = "quasi"', 'role = "insensitive"'))
    below = "the key 'hierarchy' is for the role quasi, sensitive, items"
    alone = f"attributes.sex: {below}, but the role here is 'insensitive': take it out"
    both = f"attributes.postcode: {below}, the key 'representation' is for the role quasi, but the role here is"
    assert alone in str(found.value)
    assert f"{both} 'insensitive': take them out" in str(found.value)
    assert str(found.value).count("attributes.") == len(draft.of_role("quasi"))
    assert "more)" not in str(found.value)
    kept = [line for line in draft.toml.splitlines() if not line.startswith(("hierarchy", "order", "format", "repres"))]
    whole = "\n".join([*kept, ""]).replace('role = "quasi"', 'role = "insensitive"', 5)
    assert len(rf.Spec.loads(whole).of_role("insensitive")) == 5


# Odd tables


def test_names_and_values_of_any_kind_make_valid_toml() -> None:
    names = [
        "a.b",
        'qu"ote',
        "new\nline",
        "back\\slash",
        "#",
        "[x]",
        "身長",
        "tab\t",
        "del\x7f",
        " ",
        "=",
        "'",
        "é\u2028x",
    ]
    values = ['"', "\\", "\n", "\x01", "\x7f", "]", "#", "=", "'", "'''", '"""', "Other", "Rare", "\u2028", "é", ""]
    draw = random.Random(5)
    weights = [40, 30, 25, *[1] * (len(values) - 3)]
    table = pa.table({name: draw.choices(draw.sample(values, len(values)), weights, k=300) for name in names})
    draft = draft_of(table)
    assert list(tomllib.loads(draft.toml)["attributes"]) == names
    run(draft, table)


@pytest.mark.parametrize(
    "word", ["", "a", "a b", "a.b", 'a"b', "a\nb", "\x00\x1f\x7f\x85", "\\", "\U0001f600", "'", "#"]
)
def test_keys_and_values_come_back_from_toml(word: str) -> None:
    nested = {"x y": [word, 1, 0.5, True], "t": {word: word}}
    assert tomllib.loads(f"{key(word)} = {value(nested)}") == {word: nested}
    assert shown(word).isprintable()


def test_words_get_no_tree_that_was_made_up() -> None:
    table = pa.table({"colour": ["red"] * 40 + ["blue"] * 30 + [*"abcdefghijkl"] * 2, "age": [20, 30] * 47})
    draft = draft_of(table)
    assert hierarchies(draft)["colour"] == "flat"
    assert "Give it a tree" in prose(draft)
    assert run(draft, table).table["colour"].to_pylist().count("*") >= 24, "no lists: what is rare is hidden"
    in_lists = draft.model_copy(update={"method": draft.method.model_copy(update={"representation": None})})
    assert rf.anonymize(table, in_lists).table["colour"].to_pylist().count("*") == 0


def test_columns_that_say_nothing() -> None:
    table = pa.table(
        {
            "nothing": pa.array([None] * 60),
            "empty": pa.array([None] * 60, pa.string()),
            "same": ["x"] * 60,
            "one": [1.5] * 60,
            "age": [20, 30, 40] * 20,
        }
    )
    draft = draft_of(table)
    assert roles(draft) == {**dict.fromkeys(["nothing", "empty", "same", "one"], "insensitive"), "age": "quasi"}
    run(draft, table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None] * 6),
        ["x"] * 6,
        [3] * 6,
        ["flu"] * 3 + ["cold"] * 3,
        [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        ["7", "7.0", " 7"] * 2,  # one number
        [2**53, 2**53 + 1, 2**53 + 2] * 2,  # nearly one, as far as fractions tell
        pa.array([Decimal("1e-30"), Decimal(0), Decimal("2e-30")] * 2),
        [0.0, 5e-324, 1e308] * 2,
        pa.array([2**64 - 1, 0, 2**63] * 2, pa.uint64()),
    ],
)
def test_a_lone_column_becomes_the_quasi_identifier(column: Any) -> None:
    table = pa.table({"illness": column})
    draft = draft_of(table)
    assert roles(draft) == {"illness": "quasi"}
    assert "No column looks like a quasi-identifier" in prose(draft)
    assert draft.pairs == ()
    run(draft, table)


def test_without_a_sensitive_attribute_only_k_is_asked_for() -> None:
    draft = draft_of(pa.table({"sex": ["f", "m"] * 20, "age": list(range(20, 60))}))
    assert tomllib.loads(draft.toml)["privacy"] == {"k": 5}


def test_columns_of_unique_values() -> None:
    table = pa.table({"a": [f"x{i}" for i in range(100)], "b": list(range(100)), "id": list(range(100))})
    draft = draft_of(table)
    assert roles(draft) == {"a": "quasi", "b": "identifier", "id": "identifier"}
    assert "no column looked like one" in draft.columns[0].reason
    run(draft, table)


def test_tiny_tables() -> None:
    table = pa.table({"age": [31], "illness": ["flu"]})
    draft = draft_of(table)
    assert rf.Spec.loads(draft.toml).privacy.k == 2
    assert "nobody can be told from 1 other by" in draft.toml
    with pytest.raises(Unsatisfiable):
        run(draft, table)
    table = pa.table({"age": [31, 32], "illness": ["flu", "cold"]})
    assert run(draft_of(table), table).table.num_rows == 2
    table = pa.table({"age": list(range(7)), "illness": list("abcdefg")})
    assert rf.Spec.loads(draft_of(table).toml).privacy.k == 3


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        draft_of(pa.table({"age": pa.array([], pa.int64())}))


def test_a_table_without_a_column_to_recode_is_refused() -> None:
    with pytest.raises(DataError, match="no column could be recoded"):
        draft_of(pa.table({"tags": [[["a"]], [["b"]]], "hidden": ["*", "x"]}))


def test_columns_that_cannot_be_recoded_are_left_out() -> None:
    table = pa.table(
        {
            "tags": [[["a"]], [["b"]]] * 10,
            "parts": [{"x": 1}, {"x": 2}] * 10,
            "image": [b"\x00", b"\xff"] * 10,
            "hidden": ["*", "x"] * 10,
            "sex": ["f", "m"] * 10,
        }
    )
    draft = draft_of(table)
    assert roles(draft) == {**dict.fromkeys(["tags", "parts", "image", "hidden"], "identifier"), "sex": "quasi"}
    run(draft, table)


def test_lists_are_drafted_as_baskets(tmp_path: Path) -> None:
    rows = [["milk", "bread"], ["milk", "wine"], ["bread"], ["milk"]] * 10
    table = pa.table({"basket": rows, "more": rows})
    draft = draft_of(table)
    assert roles(draft) == {"basket": "items", "more": "identifier"}
    spec = rf.Spec.loads(draft.toml)
    assert (spec.method.name, spec.privacy.k, spec.privacy.m) == ("itemsets", 5, 2)
    assert rf.anonymize(table, spec).audit.ok
    assert "alone in the quasi-identifiers" not in str(draft)
    mixed = table.drop("more").append_column("sex", pa.array(["f", "m"] * 20))
    spec = rf.Spec.loads(draft_of(mixed).toml)
    assert (spec.method.name, spec.privacy.m) == ("local", 2)
    assert rf.anonymize(mixed, spec).audit.ok
    path = tmp_path / "rows.dat"
    path.write_text("".join(" ".join(row) + "\n" for row in rows))
    draft = rf.api.draft(path, tmp_path)
    (tmp_path / "rows.toml").write_text(draft.toml)
    assert rf.anonymize(None, rf.Spec.load(tmp_path / "rows.toml")).audit.ok


def test_a_file_that_is_damaged_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(RingfenceError, match="line 3"):
        draft_of(path)


def test_many_columns_stay_within_reach() -> None:
    draw = random.Random(6)
    table = pa.table(
        {f"q{i}": [draw.choice(range(40)) for _ in range(200)] for i in range(24)} | {"age": [30, 40] * 100}
    )
    draft = draft_of(table)
    found = roles(draft)
    assert list(found.values()).count("quasi") == 15
    assert found["age"] == "quasi"
    assert "25 columns look like quasi-identifiers" in prose(draft)
    run(draft, table)


# Roles


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("firstName", "identifier"),
        ("IBAN", "identifier"),
        ("Telefonnummer", "identifier"),
        ("code postal", "quasi"),
        ("CODE_POSTAL", "quasi"),
        ("age_at_diagnosis", "quasi"),
        ("Sexe", "quasi"),
        ("estado civil", "quasi"),
        ("stato_civile", "quasi"),
        ("país", "quasi"),
        ("beroep", "quasi"),
        ("Tätigkeit", "quasi"),
        ("Hauptdiagnose", "sensitive"),
        ("job_satisfaction", "sensitive"),
        ("Nettogehalt", "sensitive"),
        ("account_balance", "identifier"),
        ("trade union", "sensitive"),
        ("salario", "sensitive"),
        ("maladies", "sensitive"),
        ("capital losses", "sensitive"),
        ("country of birth", "quasi"),
    ],
)
def test_names_of_columns_are_understood(name: str, role: str) -> None:
    assert meanings_of(name)[0].role == role


@pytest.mark.parametrize("name", ["average", "x", "stage", "身長", "", "...", "v1", "package"])
def test_other_names_mean_nothing(name: str) -> None:
    assert meanings_of(name) == ()


def test_whose_keys_there_are() -> None:
    assert words_of("HHSizeOfXMLFile") == ["hh", "size", "of", "xml", "file"]
    assert all(map(is_bare_key, ["id", "ID", "PatientNo", "customerid", "user_id", "Patientennummer", "person"]))
    assert not any(map(is_bare_key, ["hospital_id", "zip", "product number"]))


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("x", [f"someone{i % 40}@example.org" for i in range(200)], "identifier"),
        ("x", [f"+47 22 33 {i % 50 + 10} 11" for i in range(200)], "identifier"),
        ("x", [f"DE89 3704 0044 0532 01{i % 50 + 10} 00" for i in range(200)], "identifier"),
        ("x", [f"{i % 90 + 100}-12-3456" for i in range(200)], "identifier"),
        ("x", [f"10.0.0.{i % 100}" for i in range(200)], "identifier"),
        ("phone", ["yes", "no"] * 100, "quasi"),
        ("account_balance", [i * 1.37 for i in range(200)], "quasi"),
        ("hospital_id", [1, 2, 3, 4] * 50, "quasi"),
        ("patient_id", [1, 2, 3, 4] * 50, "identifier"),
        ("zip", ["none", "some"] * 100, "quasi"),
        ("year", [0.5, 1.5] * 100, "quasi"),
        ("age", ["young", "old", "older", "oldest"] * 50, "quasi"),
        ("x", [i * 0.37 for i in range(200)], "quasi"),
        ("x", [i * 37 for i in range(200)], "quasi"),
        ("x", [1_000_000 + i * 37_000 for i in range(200)], "identifier"),
        ("salary", [20_000 + i * 137 for i in range(200)], "quasi"),
        ("salary", [20_000 + i % 10 * 1000 for i in range(200)], "sensitive"),
        ("cost", [i % 60 + 0.5 for i in range(200)], "sensitive"),
        ("x", [i % 7 for i in range(200)], "quasi"),
        ("x", [f"{i} words in a longer sentence {i % 60}" for i in range(200)], "identifier"),
        ("diagnosis_date", [dt.date(2020, 1, 1 + i % 20) for i in range(200)], "quasi"),
        ("occupation", [f"does this and that number {i}" for i in range(200)], "identifier"),
        ("seen", [f"{i % 28 + 1:02}/03/2024" for i in range(200)], "quasi"),
        ("visit_date", [20_240_101 + 7 * i for i in range(200)], "quasi"),
        ("zip", [i * 400 for i in range(200)], "quasi"),
        ("spending class", [f"{i % 4 + 1}0000-{i % 4 + 2}0000" for i in range(200)], "sensitive"),
        ("x", [f"{i % 4 + 1}0000-{i % 4 + 2}0000" for i in range(200)], "quasi"),
        ("Gehalt", [f"{i + 20}.512,{i % 100:02}" for i in range(200)], "identifier"),  # nobody said what the marks are
        ("latitude", [59 + i / 1000 for i in range(200)], "quasi"),
        ("flag", [True, False] * 100, "quasi"),
        ("pregnant", [True, False] * 100, "sensitive"),
    ],
)
def test_values_back_names(name: str, values: list[Any], role: str) -> None:
    table = pa.table({name: values, "sex": ["f", "m"] * 100})
    draft = draft_of(table)
    assert roles(draft)[name] == role
    run(draft, table)


# Hierarchies


def intervals_of(values: list[Any], name: str = "amount of x") -> dict[str, Any]:
    """The intervals that a column of numbers gets."""
    table = pa.table({name: values})
    with DuckDB(Data()) as engine, held(engine, engine.open(table, Data())) as rows:
        (column,) = look_at(engine, rows)
    return dict(fit(column, "amount").hierarchy)


def test_intervals_fit_the_spread() -> None:
    assert intervals_of([*range(100)] * 3) == {"intervals": [5, 10, 20, 40, 80]}
    assert intervals_of([x / 100 for x in range(100)]) == {"intervals": [0.05, 0.1, 0.2, 0.4, 0.8]}
    assert intervals_of([-x for x in range(1000)]) == {"intervals": [50, 100, 200, 400, 800]}
    assert intervals_of([1, 2, 3, 4, 5] * 50) == {"intervals": [2], "from": 1}
    assert intervals_of([7, 7, 7]) == {}
    assert intervals_of([1, 2, 3] * 500 + [0, 4, 5, 6, 90]) == {"intervals": [2]} | {"top": 4}
    tails = intervals_of([*range(1000, 2000), *range(0, 1000, 250), *range(3000, 9000, 1000)])
    assert tails == {"intervals": [50, 100, 200, 400, 800], "bottom": 1000, "top": 2000}


@given(
    span=st.decimals(min_value=Decimal("1e-40"), max_value=Decimal("1e40"), allow_nan=False, allow_infinity=False),
    whole=st.booleans(),
)
def test_widths_nest(span: Decimal, whole: bool) -> None:
    if span == 0:
        return
    widths = nice_widths(span, whole=whole)
    assert all(wide > narrow and wide % narrow == 0 for narrow, wide in pairwise(widths))
    assert widths[0] >= 2 if whole else Decimal("0.5") <= widths[0] / (span / 20) <= 2
    assert whole or widths[-1] >= span / 2


def test_levels_are_kept_however_many_columns_there_are() -> None:
    draw = random.Random(7)
    table = pa.table(
        {f"age {i}": [draw.randint(0, 99) for _ in range(300)] for i in range(7)}
        | {"city": draw.choices(["Oslo", "Bergen", *"abcdefghijklmnopqrstuvw"], [90, 60, *[3] * 23], k=300)}
        | {"zip": [draw.choice(["0150", "0151", "1160", "1163"]) for _ in range(300)]}
    )
    draft = draft_of(table)
    found = hierarchies(draft)
    assert found["zip"] == {"mask": "right"}
    assert [len(found[f"age {i}"]["intervals"]) for i in range(7)] == [4] * 7
    run(draft, table)


@pytest.mark.parametrize("gaps", [False, True])
def test_neighbouring_bands_are_shown_by_the_first_and_the_last_unless_some_are_missing(gaps: bool) -> None:
    bands = ["<18", "18-24", "25-34", "35-44", "45-64", "65+"]
    rows = [*bands[1:2] * 3, *bands[2:3] * 3, *bands[4:] * 20, *bands[:1] * 20, *bands[3:4] * 20, *[None] * (9 * gaps)]
    table = pa.table({"age group": rows})
    draft = draft_of(table)
    stated = tomllib.loads(draft.toml)["attributes"]["age group"]
    assert stated.get("representation") == (None if gaps else "range")
    labels = set(run(draft, table).table["age group"].to_pylist())
    assert ("[18-24, 25-34]" in labels) == (not gaps)  # no group of the fan-out, whose groups begin with <18 and 25-34
    assert not any(str(label).startswith("{") for label in labels)


def test_bands_are_put_together_in_their_order() -> None:
    bands = ["<18", "18-24", "25-34", "5-9", "100+", "35-99"]
    table = pa.table({"age group": bands * 20})
    draft = draft_of(table)
    stated = tomllib.loads(draft.toml)["attributes"]["age group"]
    assert stated["order"] == ["<18", "5-9", "18-24", "25-34", "35-99", "100+"]
    assert stated["hierarchy"] == {"fanout": 2}
    run(draft, table)


@pytest.mark.parametrize(
    "bands",
    [
        ["Under 18", "18-24", "25-34", "35-44", "45 and over", "Prefer not to say"],
        ["unter 18", "18 bis 24", "25 bis 34", "35 bis 44", "45 und älter", "k. A.", "verweigert"],
        ["moins de 18 ans", "18 à 24 ans", "25 à 34 ans", "35 ans et plus"],
    ],
)
def test_bands_are_read_as_people_write_them(bands: list[str]) -> None:
    """What is no band, and stands for no answer, comes last."""
    draft = draft_of(pa.table({"group": sorted(bands) * 20}))
    assert tomllib.loads(draft.toml)["attributes"]["group"]["order"] == bands


def test_ranges_of_very_many_values_are_intervals() -> None:
    """Each group would have a range of its own, and plans list all values in each: that takes gigabytes."""
    rows = 40_000
    table = pa.table({"income": [at * 0.5 for at in range(rows)], "age": [at % 70 for at in range(rows)]})
    vast = tomllib.loads(rf.draft(table).toml)["attributes"]
    assert vast["income"]["representation"] == "hierarchy"
    assert "representation" not in vast["age"]
    few = tomllib.loads(rf.draft(table.slice(0, 20_000)).toml)["attributes"]
    assert "representation" not in few["income"]


def test_words_beside_few_bands_are_no_bands() -> None:
    draft = draft_of(pa.table({"group": ["18-24", "25-34", "35-44", "other"] * 20}))
    assert draft.columns[0].hierarchy == "as it is or hidden"


@pytest.mark.parametrize("gaps", [[None], []])
def test_cells_are_no_lists_but_where_the_draft_says_so(gaps: list[None]) -> None:
    draw = random.Random(9)
    columns: dict[str, list[Any]] = {
        "age_group": ["18-24", "25-34", "35-44", "45-54", "55-64", "65+", *gaps],
        "year": [*range(1928, 1999), *gaps],
        "seen": [dt.date(2020, 1, 1) + dt.timedelta(day) for day in range(300)],
        "arrival": [*(f"{hour:02}:30" for hour in range(24)), *gaps],
        "children": [0, 1, 2, 3, *gaps],
        "zip": [*(f"0{digits}" for digits in range(1067, 1099)), *gaps],
    }
    table = pa.table({name: draw.choices(cells, k=300) for name, cells in columns.items()})
    draft = draft_of(table)
    assert set(roles(draft).values()) == {"quasi"}
    released = run(draft, table).table
    lists = {name for name in columns if any(str(cell)[:1] == "{" for cell in released[name].to_pylist())}
    assert lists == ({"year", "arrival", "children"} if gaps else set())
    told = "where values of year, arrival, children are missing beside others, cells are lists"
    assert (told in prose(draft)) == bool(gaps)


def test_many_texts_are_grouped_by_the_alphabet() -> None:
    towns = [f"{a}{b}{c} town" for a in "abcdef" for b in "aeiou" for c in "lmnr"]
    table = pa.table({"city": towns * 4})
    draft = draft_of(table)
    assert hierarchies(draft)["city"] == {"fanout": 5}
    run(draft, table)
    odd = pa.table({"city": [f"[{town}]" for town in towns] * 4})
    assert hierarchies(draft_of(odd))["city"] == "flat"
    run(draft_of(odd), odd)


def test_numbers_among_other_words_are_pointed_out() -> None:
    table = pa.table({"age": [str(20 + i % 50) for i in range(195)] + ["unknown"] * 5})
    assert "97.5 % of the values are numbers" in prose(draft_of(table))


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ({"90+": "90"}, "write 90 for '90+', and it could have intervals with top = 90;"),
        ({"> 89": "90"}, "write 90 for '> 89', and it could have intervals with top = 90;"),
        ({"90 and over": "90"}, "write 90 for '90 and over', and it could have intervals with top = 90;"),
        ({"unter 20": "19"}, "write 19 for 'unter 20', and it could have intervals with bottom = 20;"),
        (
            {"88+": "88", "<20": "19"},
            "write 88 for '88+' and 19 for '<20', and it could have intervals with bottom = 20 and top = 88;",
        ),
    ],
)
def test_an_open_end_among_numbers_is_told_from_what_is_missing(ends: dict[str, str], told: str) -> None:
    draw = random.Random(3)
    ages = [*(str(draw.randint(20, 87)) for _ in range(490)), *[*ends] * (10 // len(ends))]
    sex = [draw.choice("fm") for _ in ages]
    draft = draft_of(pa.table({"age": ages, "sex": sex}))
    assert told in prose(draft)
    assert "data.missing_values" not in prose(draft)
    keys = told.rpartition("with ")[2].rstrip(";").replace(" and ", ", ")
    mended = pa.table({"age": [ends.get(age, age) for age in ages], "sex": sex})
    before, _, after = draft.toml.partition("[attributes.age]")
    stated = after.replace('hierarchy = "flat"', f"hierarchy = {{ intervals = [5, 10, 20, 40], {keys} }}", 1)
    release = rf.anonymize(mended, rf.Spec.loads(f"{before}[attributes.age]{stated}"))
    assert release.audit.ok
    assert "*" not in release.table["age"].to_pylist()


def test_what_stands_among_numbers_is_named() -> None:
    draw = random.Random(3)
    words = ["keine", "n.b.", "offen", "Karte", "x"]
    ages = [*(str(draw.randint(20, 87)) for _ in range(400)), "90+", *words[:4], *words]
    told = prose(draft_of(pa.table({"age": ages, "sex": ["f", "m"] * 205})))
    assert "write 90 for '90+'" in told
    assert "Put the others ('Karte', 'keine', 'n.b.', 'offen' and others) into data.missing_values" in told


@pytest.mark.parametrize("odd", [[float("inf")], [float("-inf"), float("inf")], [1e60], [1e-60]])
def test_numbers_that_cannot_be_counted_with_are_not_called_numbers(odd: list[float]) -> None:
    heights = [*(150 + at % 40 + 0.5 for at in range(998)), *odd]
    table = pa.table({"height": heights, "sex": ["f", "m"] * 499 + ["f"] * len(odd)})
    told = prose(draft_of(table))
    assert f"{100 * 998 / len(heights):.1f} % of the values are numbers: put the others ('" in told
    assert "100 % of the values" not in told
    missing = Data(missing_values=["inf", "-inf"])
    if abs(odd[0]) == float("inf"):
        assert hierarchies(draft_of(table, missing))["height"]["intervals"] == [2, 10, 20]


def test_exact_amounts_beside_infinity_are_not_published_as_they_are() -> None:
    pay = [float("inf"), *(1000 + at * 7.37 for at in range(199))]
    assert roles(draft_of(pa.table({"pay": pay, "sex": ["f", "m"] * 100})))["pay"] == "quasi"


def test_types_that_pandas_has() -> None:
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["f", "m", None, "f"] * 10),
            "age": [20.0, 30.0, float("nan"), 40.0] * 10,
            "seen": pd.to_datetime(["2020-01-01 10:00", "2021-02-03 00:00", None, "2024-05-06 23:59"] * 10),
            "born": pd.to_datetime(["2020-01-01", "2021-02-03", "2022-01-01", "2024-05-06"] * 10).tz_localize("UTC"),
            "limit": [1.0, float("inf"), 2.5, 1e300] * 10,
        }
    )
    run(draft_of(frame), frame)


CELLS: dict[str, st.SearchStrategy[Any]] = {
    "odd": st.sampled_from(
        ["*", "", " ", "Other", "Rare", "?", "[a, b]", "a*", "\n", '"', "\\", "\x00", "٣", "NaN", "-"]
    ),
    "text": st.text(max_size=4),
    "numbers": st.sampled_from(["1", "01", "1.0", "-3", "+2", ".5", "7.", "1e3", "1e70", " 4 ", "0", "1_0", "10"]),
    "dates": st.sampled_from(
        ["2024-01-31", "2024-02-30", "0000-01-01", "2024-01-01T10:00", "2024-01-01 24:00", "1999-12-31"]
    ),
    "codes": st.sampled_from(["0150", "0151", "1234", "123", "47906", "A1B2C3"]),
    "bands": st.sampled_from(["<5", "5-9", "10-14", "15+", "1", "5 - 9"]),
    "whole": st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    "floats": st.floats() | st.sampled_from([0.0, -0.0, 0.1, 1e-300, 5.0]),
    "days": st.dates(),
    "times": st.datetimes(),
    "truth": st.booleans(),
}
NAMES = st.sampled_from(
    ["age", "year", "zip", "date", "sex", "city", "income", "diagnosis", "name", "id", "phone", "note", "x", "children"]
)


@st.composite
def odd_tables(draw: st.DrawFn) -> pa.Table:
    """Draw a table whose columns hold anything under any name: few rows of many kinds, or many rows."""
    chance = draw(st.randoms(use_true_random=False))
    rows = draw(st.integers(1, 12) | st.sampled_from([60, 150]))
    columns = {}
    for name in draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)):
        few = draw(st.lists(CELLS[draw(st.sampled_from(sorted(CELLS)))], min_size=1, max_size=30))
        weights = [chance.choice([1, 1, 1, 20]) for _ in few]
        cells = chance.choices(few, weights, k=rows)
        columns[name] = [None if chance.random() < 0.1 else cell for cell in cells]
    return pa.table(columns)


@given(table=odd_tables())
def test_any_table_gets_a_draft_that_runs(table: pa.Table) -> None:
    try:
        draft = draft_of(table)
    except DataError:
        assert all("*" in column.to_pylist() for column in table.columns)
        return
    rf.Spec.loads(draft.toml)
    assert draft == draft_of(shuffled(table))
    try:
        run(draft, table)
    except Unsatisfiable:
        assert table.num_rows == 1


# Text files


def written(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    rows = [["name", "note", "pay"], ["A", "x", "1"], ["B", f'"a{delimiter}b"', "2"], ["C", '"two\nlines"', "3"]]
    path = written(tmp_path, "\n".join(delimiter.join(row) for row in rows) + "\n")
    assert guess_data(path) == (Data() if delimiter == "," else Data(delimiter=delimiter))
    with DuckDB(Data()) as engine:
        assert engine.open(path, guess_data(path)).columns == ("name", "note", "pay")


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a;b\n1,5;2,5\n3,0;4,5\n", ";"),
        ("a, b, c\n1, 2, x\n", ", "),
        ("alone\n1\n2\n", ","),
        ("a,b\n1\n2\n", ";"),
        ("text\none, two\nthree\n", ";"),
        ("a|b;c\n1|2;3\n", ";"),
        ("", ","),
        ("a,b", ","),
    ],
)
def test_harder_delimiters(tmp_path: Path, content: str, delimiter: str) -> None:
    assert guess_data(written(tmp_path, content)).delimiter == delimiter


def test_a_tab_separated_file_with_one_column(tmp_path: Path) -> None:
    assert guess_data(written(tmp_path, "a\n1\n", "data.tsv")).delimiter == "\t"


@pytest.mark.parametrize(
    ("encoding", "text", "expected"),
    [
        ("utf-8", "name,x\nZoë,1\n", "utf-8"),
        ("utf-8-sig", "name,x\nZoë,1\n", "utf-8"),
        ("utf-16", "name,x\nZoë,1\n", "utf-16"),
        ("latin-1", "name,x\nZoë,1\n", "latin-1"),
        ("cp1252", "name,x\nZoë – €,1\n", "cp1252"),
        ("latin-1", "name,x\n" + "plain,1\n" * 200_000 + "Zoë,2\n", "latin-1"),
        ("utf-8", "name,x\n" + "a" * ((1 << 20) - 8) + "ë,1\n", "utf-8"),
    ],
)
def test_the_encoding_is_found(tmp_path: Path, encoding: str, text: str, expected: str) -> None:
    path = written(tmp_path, text.encode(encoding))
    data = guess_data(path)
    assert data.encoding == expected
    with DuckDB(data) as engine:
        assert engine.open(path, data).columns == ("name", "x")


@pytest.mark.parametrize(
    ("cells", "missing"),
    [
        (["1", "2", "NA", "4"], ["NA"]),
        (["1", "2", "-", "4"], ["-"]),
        (["1", "2", "?", "4"], ["?"]),
        (["x", "y", "?", "z"], ["?"]),
        (["DE", "FR", "NA", "NO"], []),
        (["x", "y", "-", "z"], []),
        (["?", "?", "?", "4"], []),
        (["1", "N/A", "null", "4", "5"], ["N/A", "null"]),
        (["2024-01-01", "none", "2024-01-02"], ["none"]),
        (["NA", "NA"], []),
        (["1", "-999", "3"], []),
    ],
)
def test_words_for_missing_values_are_found(tmp_path: Path, cells: list[str], missing: list[str]) -> None:
    path = written(tmp_path, "a,b\n" + "".join(f"{cell},k\n" for cell in cells))
    assert rf.draft(path).data.missing_values == ["", *missing]
    assert rf.draft(pa.table({"a": cells, "b": ["k"] * len(cells)})).data.missing_values == ["", *missing]


def test_numbers_that_stand_apart_are_missing_in_typed_columns_too() -> None:
    table = pa.table({"age": [*range(18, 90), 999, 999], "height": [*map(float, range(150, 222)), -9.0, -9.0]})
    assert rf.draft(table).data.missing_values == ["", "-9", "999"]


def test_a_word_that_is_a_value_elsewhere_is_none_for_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "pay,country\n1,NA\n2,DE\nNA,FR\n3,NO\n")
    assert rf.draft(path).data.missing_values == [""]


def test_files_that_are_no_text(tmp_path: Path) -> None:
    assert guess_data(tmp_path / "data.parquet") == Data()
    with pytest.raises(DataError, match="there is no file"):
        guess_data(tmp_path / "data.csv")
    with pytest.raises(DataError, match="zero bytes"):
        guess_data(written(tmp_path, b"a,b\n\x00\x00,1\n"))


def test_a_file_with_missing_values_runs(tmp_path: Path) -> None:
    draw = random.Random(8)
    rows = [
        f"{draw.choice(['?', *map(str, range(20, 70))])};{draw.choice('fm')};{draw.randint(1, 9)}" for _ in range(300)
    ]
    path = written(tmp_path, "age;sex;score\n" + "\n".join(rows) + "\n")
    draft = rf.draft(path, tmp_path)
    assert hierarchies(draft)["age"]["intervals"] == [5, 10, 20, 40]
    assert rf.anonymize(None, draft.at(tmp_path)).audit.ok


# What is drafted, and what a comparison advises


@pytest.mark.parametrize("sample", [people, visits])
def test_a_draft_is_what_a_comparison_advises_to_whoever_cannot_read_lists(sample: Callable[..., pa.Table]) -> None:
    """It makes and measures four releases, which takes a few seconds. Freer recodings of values would take long to
    end by themselves, and come nowhere near."""
    table = sample(400)
    draft = rf.draft(table)
    tried = [each for each in candidates(draft) if each.plain and each.as_asked]
    assert (tried[0].spec.method, tried[0].spec.attributes) == (draft.method, draft.attributes)
    names = ["local-use-nodes", "local-nodes", "cluster-nodes", "optimal-level"]
    found = rf.compare(table, draft, budget=300, methods=names)
    drafted = next(each for each in found.tried if each.name == tried[0].name)
    assert sum(each.made is not None for each in found.tried) == len(names)
    assert found.off(drafted) <= 1.02 * found.off(found.best_plain), found
