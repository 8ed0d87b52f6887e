"""Bad inputs, each with words of the sentence that helps: exit code 2, no traceback, and nothing left behind."""

from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.errors import DataError
from tests.error_cases import PEOPLE, ErrorCase

SOURCE, K, ROLE = 'source = "people.csv"', "k = 2", 'role = "sensitive"'
TREE = 'hierarchy = { tree = { East = ["Oslo", "Hamar"], West = ["Bergen", "Voss"] } }'
INTERVALS = "intervals = [5, 10]"


def data(line: str) -> tuple[str, str]:
    """One more line under [data]."""
    return SOURCE, f"{SOURCE}\n{line}"


def method(line: str) -> tuple[str, str]:
    """A table [method] of one line."""
    return K, f"{K}\n[method]\n{line}"


def tree(*rows: str) -> dict[str, Any]:
    """A hierarchy of cities in a file."""
    return {"swap": (TREE, 'hierarchy = { file = "h.csv" }'), "files": {"h.csv": "\n".join(rows)}}


def age(text: str) -> dict[str, Any]:
    """An age that is written so."""
    return {"people": PEOPLE.replace("31,", f'"{text}",')}


def source(name: str, content: str) -> dict[str, Any]:
    """Another file as the source."""
    return {"swap": (SOURCE, f'source = "{name}"'), "files": {name: content}}


WEST = ("Voss;West;Norway;*", "Bergen;West;Norway;*")
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"swap": data('weights = "age"')}, ["data.weights = 'age'", "recoded", "insensitive"]),
    ({"swap": data('weights = "illness"')}, ["data.weights = 'illness'", "'flu'", "no weight"]),
    ({"swap": data('weights = "ilness"')}, ["data.weights", "did you mean 'illness'"]),
    (
        tree("city,region", "Oslo,East", "Voss,West", "Bergen,West"),
        ["row 1 of 'h.csv'", "name its columns", "'region'"],
    ),
    (tree("leaf;level1", "Oslo;East", "Voss;West", "Bergen;West"), ["row 1 of 'h.csv'", "take that row out"]),
    (tree("Oslo;East;Norway;*", "Hamar;East;*", *WEST), ["'East'", "'Oslo'", "'Hamar'", "4 fields", "the other 3"]),
    (tree("Oslo;East;Norway;*", "Hamar;Norway;East;*", *WEST), ["a cycle", "'Norway' is above 'East'"]),
    (tree("Oslo;East;Oslo;*", "Hamar;East;*", *WEST), ["a cycle", "'Oslo' stands twice"]),
    (tree("Oslo;East;Norway;*", "Hamar;East;Sweden;*", *WEST), ["'Norway'", "'Sweden'", "rename one"]),
    (tree("Oslo;East;*", "Oslo;West;*", *WEST), ["'Oslo' twice", "'East'", "'West'"]),
    (tree("Oslo;East;*", "East;West;*", *WEST), ["'East' is a leaf", "a group"]),
    ({"people": PEOPLE.replace(",", ";")}, ['data.delimiter = ";"']),
    ({"people": PEOPLE.replace(",", "\t")}, ['data.delimiter = "\\t"']),
    ({"people": PEOPLE.replace(",", ", ")}, ['data.delimiter = ", "']),
    (age("40,5"), ["'40,5'", 'data.decimal = ","']),
    (age("1,040"), ["'1,040'", 'data.thousands = ","']),
    (age("1.040,50"), ['data.decimal = ","', 'data.thousands = "."']),
    (age("1 040"), ['data.thousands = " "']),
    (age("1e308"), ["'1e308'", "60 digits"]),
    (age("inf"), ["'inf'", "data.missing_values"]),
    ({"people": PEOPLE.replace("41,Voss", "41,Voss,a,b")}, ["line 4", "5 fields", "first line has 3", "quotes"]),
    ({"people": PEOPLE.replace("41,Voss,flu", "41")}, ["line 4", "1 field where", "cut off"]),
    ({"people": PEOPLE.replace("Voss,flu", "Voss," + "x" * 3_000_000)}, ["line 4", "2,000,000 bytes"]),
    ({"people": "\n" + PEOPLE}, ["first line", "is empty"]),
    ({"people": PEOPLE.encode("utf-16")}, ['data.encoding = "utf-16"']),
    ({"people": b"\x1f\x8b\x08\0\0\0"}, [".csv.gz"]),
    ({"people": b"PAR1\x15\x04\0"}, [".parquet"]),
    ({"people": PEOPLE.replace("\n", ",\n")}, ["column 4", "ends with ','"]),
    (source("people.xls", ""), ["save it as .xlsx"]),
    (source("people.zip", ""), ["unpack it"]),
    (source("people.json", "[]"), [".jsonl"]),
    (source("people.jsonl", "[1]\n"), ["one object"]),
    (source("people.jsonl", '{"age": 1}\n{"Age": 2}\n'), ["'Age' and 'age' apart"]),
    ({"swap": (SOURCE, 'source = ""')}, ["data.source = ''"]),
    ({"swap": (SOURCE, 'source = "https://nowhere.invalid/x.csv"')}, ["https://nowhere.invalid/x.csv", "address"]),
    ({"swap": (TREE, 'hierarchy = { tree = "Oslo" }')}, ["hierarchy.tree = 'Oslo'", "a TOML table"]),
    ({"swap": (TREE, 'hierarchy = { file = "." }')}, ["is a folder"]),
    ({"swap": (TREE, 'hierarchy = "flatt"')}, ["did you mean 'flat'"]),
    ({"swap": method('name = "optimall"')}, ["did you mean 'optimal'", "'mondrian'"]),
    ({"swap": method('metric = "gml"')}, ["did you mean 'glm'"]),
    ({"swap": method('scheme = "ordred"')}, ["did you mean 'ordered'"]),
    ({"swap": method('search = "bottomup"')}, ["did you mean 'bottom-up'"]),
    ({"swap": method('representation = "ranges"')}, ["did you mean 'range'"]),
    ({"swap": (ROLE, 'role = "sensitiv"')}, ["did you mean 'sensitive'"]),
    ({"swap": (ROLE, "")}, ["role is missing", "insensitive"]),
    ({"swap": (K, 'l = { value = 2, kind = "distnct" }')}, ["did you mean 'distinct'"]),
    ({"swap": (K, 't = { value = 0.2, distance = "order" }')}, ["did you mean 'ordered'"]),
    ({"swap": (K, "K = 2")}, ["did you mean 'k'"]),
    ({"swap": (INTERVALS, 'dates = ["months"]')}, ["did you mean 'month'"]),
    ({"swap": (INTERVALS, 'mask = "rigth"')}, ["did you mean 'right'"]),
    ({"swap": data('missing = "values"')}, ["did you mean 'value'"]),
    ({"swap": data('types = { age = "integer" }')}, ["did you mean 'int'"]),
    ({"swap": data('types = { city = "int" }')}, ["whole numbers", "data.types", "'Oslo' (2 rows)"]),
    ({"swap": data('sheet = "people"')}, ["data.sheet", "no meaning", "CSV"]),
    ({"swap": data('encoding = "rot13"')}, ["'rot13'", "not an encoding"]),
    ({"swap": data('missing_values = "?"')}, ["a list, in brackets"]),
    ({"swap": data('missing_values = ["West"]')}, ["'city' has a group 'West'", "data.missing_values", "rename"]),
    ({"command": "ringfence run . -o out"}, ["'.' is a folder", "TOML file"]),
    (
        {"command": "ringfence run empty.toml -o out", "files": {"empty.toml": "# nothing"}},
        ["is empty", "[attributes.age]"],
    ),
    ({"command": "ringfence run a.toml -o out", "files": {"a.toml": "attributes = [1]"}}, ["a TOML table"]),
    ({"command": "ringfence run people.csv -o out"}, ["not valid TOML", "ringfence init"]),
    ({"command": "ringfence init peple.csv -o new.toml"}, ["'peple.csv'", "did you mean 'people.csv'"]),
    (
        {
            "command": "ringfence audit people.csv spec.toml --original b.csv",
            "files": {"b.csv": "age,city,illness\n1,2\n"},
        },
        ["'b.csv'", "line 2", "2 fields"],
    ),
    (
        {"command": "ringfence audit people.csv spec.toml --original b.csv", "files": {"b.csv": "age;city\n1;2\n"}},
        ["the original has no column 'age'", 'data.delimiter = ";"'],
    ),
    (
        {
            "command": "ringfence audit people.csv spec.toml --original b.csv",
            "files": {"b.csv": "age,city,illness\nabc,Oslo,flu\n"},
        },
        ["in the original, column 'age' should hold numbers", "'abc'"],
    ),
    (
        {"command": "ringfence audit people.csv spec.toml --original people.csv --attack linkag"},
        ["did you mean 'linkage'"],
    ),
    (
        {"command": "ringfence apply p.json people.csv -o new.csv --unknown supress", "files": {"p.json": "{}"}},
        ["did you mean 'suppress'"],
    ),
]


@pytest.mark.parametrize(("case", "words"), CASES, ids=[words[0] for _, words in CASES])
def test_the_sentence_names_the_fault(case: dict[str, Any], words: list[str]) -> None:
    code, said = ErrorCase("bad input", **case).provoke()
    assert code == 2, said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert [word for word in words if word not in said] == [], said


def test_one_row_is_one_row() -> None:
    for name in ("optimal", "cluster", "ring", "mondrian"):
        case = ErrorCase("one row", method(f'name = "{name}"'), people="age,city,illness\n31,Oslo,flu\n")
        code, said = case.provoke()
        assert code == 3
        assert "1 rows" not in said, said


FLAT = {"role": "quasi", "hierarchy": "flat"}


def test_a_row_that_stands_twice_in_a_hierarchy_file_is_accepted() -> None:
    code, said = ErrorCase("twice", **tree("Oslo;East", "Oslo;East", "Voss;West", "Bergen;West")).provoke()
    assert code == 0, said


def test_a_heading_that_is_a_value_of_the_data_is_a_leaf(tmp_path: Any) -> None:
    (tmp_path / "h.csv").write_text("city;other\nOslo;East\n")
    spec = rf.Spec(attributes={"city": {"role": "quasi", "hierarchy": {"file": "h.csv"}}}, privacy={"k": 2})
    table = pa.table({"city": ["city", "city", "Oslo", "Oslo"]})
    assert rf.anonymize(table, spec.at(tmp_path)).metrics["rows"] == 4


def test_what_asks_for_nothing_or_tells_nothing_is_noted() -> None:
    table = pa.table({"a": ["x", "y"], "b": pa.array([None, None], pa.string())})
    notes = rf.anonymize(table, rf.Spec(attributes={"a": FLAT, "b": FLAT}, privacy={"k": 1})).audit.notes
    assert any("privacy.k = 1 asks for nothing" in note for note in notes)
    assert any("'b' is missing in every row" in note for note in notes)
    noted = rf.anonymize(table, rf.Spec(attributes={"a": FLAT, "b": FLAT}, privacy={"k": 2})).audit.notes
    assert not any("asks for nothing" in note for note in noted)


def test_an_empty_text_in_a_frame_is_called_missing() -> None:
    spec = rf.Spec(data={"missing": "error"}, attributes={"a": FLAT}, privacy={"k": 2})
    with pytest.raises(DataError, match="missing") as error:
        rf.anonymize(pa.table({"a": ["x", "x", ""]}), spec)
    assert "'a missing value'" not in str(error.value)
    tree_of_x = {"role": "quasi", "hierarchy": {"tree": {"g": ["x"]}}}
    made = rf.anonymize(pa.table({"a": ["x", "x", "", None]}), rf.Spec(attributes={"a": tree_of_x}, privacy={"k": 2}))
    assert made.table["a"].null_count == 2
