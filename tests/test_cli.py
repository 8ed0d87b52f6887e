"""The command line as a new user meets it: every command, every exit code, and all the input that goes wrong."""

import csv
import datetime as dt
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ringfence import api
from ringfence.cli import main
from ringfence.spec import Spec

PEOPLE = """\
name,age,sex,postcode,illness
Ann,31,f,01234,flu
Bob,32,m,01235,flu
Cyd,38,f,01234,cold
Dan,39,m,01299,flu
Eve,31,f,01234,cold
Fay,33,f,01235,flu
Gus,38,m,01299,ache
Hal,36,m,01299,cold
"""
ATTRIBUTES = """
name = { role = "identifier" }
age = { role = "quasi", hierarchy = { intervals = [5, 10] } }
sex = { role = "quasi", hierarchy = "flat" }
postcode = { role = "quasi", hierarchy = { mask = "right" } }
illness = { role = "sensitive" }
"""
TWO = """
a = { role = "quasi", hierarchy = "flat" }
b = { role = "insensitive" }
"""
JOBS = """
a = { role = "quasi", hierarchy = { file = "jobs.csv" } }
b = { role = "insensitive" }
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its exit code and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it said for machines, in strict JSON."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


Ring = Callable[..., Outcome]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ring:
    """The command line, without a process of its own."""

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["ringfence", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return Outcome(int(left.value.code or 0), said.out, said.err)

    return call


@dataclass(frozen=True)
class Desk:
    """A folder with a table and a specification in it, and the command line at hand."""

    folder: Path
    ring: Ring

    @property
    def spec(self) -> Path:
        """Where the specification lies."""
        return self.folder / "people.toml"

    @property
    def out(self) -> Path:
        """Where releases go."""
        return self.folder / "out"

    @property
    def release(self) -> Path:
        """The release, a text file."""
        return self.out / "public" / "release.csv"

    def put(
        self,
        content: str | bytes | None = PEOPLE,
        attributes: str = ATTRIBUTES,
        *,
        name: str = "people.csv",
        data: str = "",
        privacy: str = "k = 2",
        method: str = 'metric = "dm"',
    ) -> None:
        """Write the table and the specification. By discernibility, none of so few rows is worth leaving out."""
        if content is not None:
            (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        self.spec.write_text(
            f"[data]\nsource = {json.dumps(name)}\n{data}\n[attributes]\n{attributes}\n"
            f"[privacy]\n{privacy}\n[method]\n{method}\n",
            encoding="utf-8",
        )

    def run(self, *options: object) -> Outcome:
        """Anonymize the table."""
        return self.ring("run", self.spec, "-o", self.out, "--no-report", *options)

    def audit(self, *options: object, release: Path | None = None) -> Outcome:
        """Judge the release."""
        return self.ring("audit", release or self.release, self.spec, *options)

    def rows(self, **how: Any) -> list[dict[str, str]]:
        """The rows of the release, as any reader of text files sees them."""
        with self.release.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, **how))


@pytest.fixture
def desk(tmp_path: Path, ring: Ring) -> Desk:
    """An empty folder and the command line."""
    return Desk(tmp_path, ring)


def done(outcome: Outcome) -> Outcome:
    """The same outcome, of a command that did what it should."""
    assert (outcome.code, outcome.err) == (0, "")
    return outcome


def refused(outcome: Outcome, code: int, *words: str) -> None:
    """Check that a command failed with one sentence that says these words, and nothing else."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


# Help


def test_help_lists_every_command(ring: Ring) -> None:
    shown = done(ring("--help")).out
    for command in ("demo", "run", "audit", "methods"):
        assert f" {command} " in shown


@pytest.mark.parametrize("command", ["demo", "run", "audit", "methods"])
def test_each_command_has_help_that_names_its_options(ring: Ring, command: str) -> None:
    shown = done(ring(command, "--help")).out
    assert "--json" in shown
    assert "--debug" in shown


def test_the_bare_command_shows_help(ring: Ring) -> None:
    outcome = ring()
    assert outcome.code in (0, 2)
    assert "demo" in outcome.out + outcome.err
    assert "mistake" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run"], "SPEC"),
        (["run", "people.toml"], "--output"),
        (["bogus"], "bogus"),
        (["methods", "--bogus"], "--bogus"),
        (["demo", "--rows", "many"], "--rows"),
        (["demo", "--rows", "3"], "100"),
        (["audit", "release.csv"], "SPEC"),
    ],
)
def test_a_mistyped_command_exits_2_and_names_what_is_wrong(ring: Ring, arguments: list[str], named: str) -> None:
    outcome = ring(*arguments)
    assert outcome.code == 2
    assert named.lower() in outcome.err.lower()
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("arguments", [["run", "--json"], ["methods", "--json", "--bogus"], ["audit", "x", "--json"]])
def test_a_mistyped_command_is_json_where_json_was_asked_for(ring: Ring, arguments: list[str]) -> None:
    outcome = ring(*arguments)
    assert outcome.code == 2
    assert json.loads(outcome.err)["error"].keys() == {"kind", "message"}


# Commands that do what they should


def test_run_says_what_was_done_what_it_cost_and_where_it_lies(desk: Desk) -> None:
    desk.put()
    shown = done(desk.run()).out
    for words in ("age", "postcode", "8 rows published", "proven optimal", "The promise holds.", "k = 2"):
        assert words in shown
    assert str(desk.out / "public") in shown.replace("\n", "")
    assert {row["postcode"] for row in desk.rows()} == {"01234", "01235", "01299"}
    assert desk.rows()[0].keys() == {"age", "sex", "postcode", "illness"}


def test_run_as_json_has_the_documented_keys(desk: Desk) -> None:
    desk.put()
    shown = done(desk.run("--json")).json
    assert shown.keys() == {"release", "levels", "metrics", "incomplete", "search", "verdict"}
    assert shown["release"] == str(desk.release)
    assert shown["levels"].keys() == {"age", "sex", "postcode"}
    assert {"dm", "glm", "ncp", "rows", "suppressed", "classes"} <= shown["metrics"].keys()
    assert shown["search"].keys() == {"cost", "optimal", "bound", "certificate", "gap", "nodes", "pruned"}
    assert shown["search"]["optimal"] is True
    assert shown["verdict"]["ok"] is True
    assert shown["verdict"]["measured"]["k"] == 2


def test_demo_needs_nothing_and_its_files_can_be_used_again(tmp_path: Path, ring: Ring) -> None:
    folder = tmp_path / "a new" / "folder"
    shown = done(ring("demo", "-o", folder, "--rows", 200)).out
    assert "200 sample people" in shown
    assert "3 ways to promise this, tried, audited and measured." in shown
    assert (folder / "compare" / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert "the most useful that ordinary software can read" in shown
    assert "The promise holds." in shown
    for name in ("people.csv", "public/release.csv", "public/manifest.json", "private/plan.json"):
        assert (folder / name).is_file()
    done(ring("audit", folder / "public/release.csv", folder / "people.toml"))
    again = done(ring("demo", "-o", folder, "--rows", 200, "--json")).json
    assert again["verdict"]["ok"]
    compared = again["comparison"]
    made = next(each for each in compared["candidates"] if each["name"] == compared["advised plain"])
    assert made["plain"]
    assert Spec.load(folder / "people.toml").method.name == made["method"]
    assert again["metrics"]["rows"] + again["metrics"]["suppressed"] == 200


def test_the_demo_of_visits_drafts_its_own_specification(tmp_path: Path, ring: Ring) -> None:
    shown = done(ring("demo", "--visits", "-o", tmp_path, "--rows", 300)).out
    assert "300 sample visits" in shown
    assert "The promise holds." in shown
    assert 'entity = "patient"' in (tmp_path / "visits.toml").read_text(encoding="utf-8")
    released = (tmp_path / "public/release.csv").read_text(encoding="utf-8")
    assert "0471" not in released
    assert released.splitlines()[0] == "sex,born,postcode,admitted,icd10,nights,cost"
    original = ["--original", tmp_path / "visits.csv"]
    judged = ring("audit", tmp_path / "public/release.csv", tmp_path / "visits.toml", *original)
    assert judged.code == 0 or "at least 4 and at most 5" in judged.out  # whose rows are whose is known in the run only
    assert ring("demo", "--visits", "--baskets", "-o", tmp_path).code == 2


def test_methods_lists_what_there_is_to_choose_from(ring: Ring) -> None:
    shown, listed = done(ring("methods")).out, done(ring("methods", "--json")).json
    assert listed.keys() == {"methods", "schemes", "models", "judged", "attacks", "metrics"}
    assert {"optimal", "levels"} <= listed["methods"].keys()
    assert {"k", "l", "p", "t"} <= listed["models"].keys()
    assert {"dm", "hdm", "glm", "ncp", "gcp", "ntil", "ce", "aecs"} <= listed["metrics"].keys()
    for entries in listed.values():
        for name, line in entries.items():
            assert name in shown
            assert line in shown


@pytest.mark.parametrize(
    ("privacy", "measured"),
    [
        ("k = 3", {"k": 3}),
        ("l = 2", {"l": 2}),
        ('l = { value = 1.8, kind = "entropy", of = "illness" }', {"l": 1.8}),
        ('l = { value = 2, kind = "recursive", c = 3 }', {"l": 2}),
        ("p = 2", {"p": 2}),
        ("k = 2\nl = 2\np = 2", {"k": 2, "l": 2, "p": 2}),
    ],
)
def test_every_promise_that_counts_values_is_kept(desk: Desk, privacy: str, measured: dict[str, float]) -> None:
    desk.put(privacy=privacy)
    found = done(desk.run("--json")).json["verdict"]["measured"]
    for key, least in measured.items():
        assert found[key] >= least - 1e-9
    assert done(desk.audit("--json")).json["measured"] == found


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_t_closeness_is_kept_in_every_distance(desk: Desk, distance: str) -> None:
    tree = 'hierarchy = { tree = { x = ["flu", "cold"], y = ["ache"] } }'
    sensitive = f'role = "sensitive", order = ["cold", "flu", "ache"], {tree}'
    desk.put(
        attributes=ATTRIBUTES.replace('role = "sensitive"', sensitive),
        privacy=f't = {{ value = 0.3, distance = "{distance}" }}',
    )
    assert done(desk.run("--json")).json["verdict"]["measured"]["t"] <= 0.3 + 1e-9
    done(desk.audit())


def test_levels_publishes_at_the_levels_that_were_named(desk: Desk) -> None:
    desk.put(method='name = "levels"\nlevels = { age = 1, sex = 1, postcode = 3 }')
    shown = done(desk.run("--json")).json
    assert shown["levels"] == {"age": 1, "sex": 1, "postcode": 3}
    assert shown["search"] is None
    assert {row["postcode"] for row in desk.rows()} == {"01***"}
    assert {row["sex"] for row in desk.rows()} == {"*"}


def test_levels_that_break_the_promise_are_unsatisfiable(desk: Desk) -> None:
    desk.put(method='name = "levels"\nlevels = { age = 0 }')
    refused(desk.run(), 3, "rows")
    assert not desk.out.exists()


# Errors in general


def test_errors_are_json_where_json_was_asked_for(desk: Desk) -> None:
    for privacy, code, kind in (("k = 9", 3, "Unsatisfiable"), ("k = -1", 2, "SpecError")):
        desk.put(privacy=privacy)
        outcome = desk.run("--json")
        assert (outcome.code, outcome.out) == (code, "")
        error = json.loads(outcome.err)
        assert error.keys() == {"error"}
        assert error["error"].keys() == {"kind", "message"}
        assert error["error"]["kind"] == kind


def test_debug_adds_the_traceback_and_keeps_the_exit_code(desk: Desk) -> None:
    desk.put(privacy="k = -1")
    outcome = desk.run("--debug")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("error: ")


def test_an_interrupted_run_exits_130(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    desk.put()
    monkeypatch.setattr(api, "run", interrupt)
    outcome = desk.run()
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err == "error: interrupted; no release was written\n"


def test_an_interruption_after_a_release_took_its_place_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = api.run

    def run_and_interrupt(*given: Any, **named: Any) -> None:
        run(*given, **named)
        raise KeyboardInterrupt

    desk.put()
    done(desk.run())
    monkeypatch.setattr(api, "run", run_and_interrupt)
    assert desk.run().err == f"error: interrupted; the new release is in {str(desk.out)!r}, whole\n"


def test_a_file_that_may_not_be_read_is_no_mistake_of_ours(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "people.csv")

    desk.put()
    monkeypatch.setattr(api, "run", refuse)
    refused(desk.run(), 2, "cannot read or write 'people.csv': Permission denied")


def test_a_mistake_of_ours_says_so_and_has_an_exit_code_of_its_own(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    desk.put()
    monkeypatch.setattr(api, "run", stumble)
    refused(desk.run(), 4, "mistake in Ringfence", "ZeroDivisionError", "--debug")


# Files that are not there, or not what they should be


def test_a_specification_that_is_not_there(desk: Desk) -> None:
    refused(desk.run(), 2, "people.toml")


def test_a_specification_that_is_a_folder(desk: Desk) -> None:
    refused(desk.ring("run", desk.folder, "-o", desk.out), 2, str(desk.folder))


def test_a_table_that_is_not_there(desk: Desk) -> None:
    desk.put(None)
    refused(desk.run(), 2, "people.csv")


def test_a_specification_that_names_no_table(desk: Desk) -> None:
    desk.spec.write_text('[attributes]\na = { role = "quasi", hierarchy = "flat" }\n[privacy]\nk = 2\n')
    refused(desk.run(), 2, "data.source")


def test_a_specification_that_is_not_toml_names_the_line(desk: Desk) -> None:
    desk.put()
    desk.spec.write_text("[data]\nsource = people.csv\n")
    refused(desk.run(), 2, "not valid TOML", "line 2")


def test_an_unknown_key_names_the_nearest(desk: Desk) -> None:
    desk.put(method="supression = 0.1")
    refused(desk.run(), 2, "supression", "did you mean 'suppression'")


@pytest.mark.parametrize("name", ["people.xls", "people", "people.csv.zip"])
def test_a_file_of_an_unknown_kind_says_which_are_known(desk: Desk, name: str) -> None:
    desk.put(name=name)
    refused(desk.run(), 2, name, ".csv", ".parquet")


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.xlsx"])
def test_a_file_that_is_not_what_its_name_says(desk: Desk, name: str) -> None:
    desk.put(name=name)
    refused(desk.run(), 2, name)


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.xlsx"])
def test_an_empty_file_of_columns(desk: Desk, name: str) -> None:
    desk.put(b"", name=name)
    refused(desk.run(), 2, name)


def test_an_empty_file(desk: Desk) -> None:
    desk.put("")
    refused(desk.run(), 2, "people.csv", "empty")


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_a_file_with_nothing_but_its_header(desk: Desk, content: str) -> None:
    desk.put(content, TWO)
    refused(desk.run(), 2, "no rows")


def test_one_row_can_be_published_alone_or_not_at_all(desk: Desk) -> None:
    desk.put("a,b\nx,1\n", TWO, privacy="k = 1")
    done(desk.run())
    assert desk.rows() == [{"a": "x", "b": "1"}]
    desk.put("a,b\nx,1\n", TWO)
    refused(desk.run(), 3, "k = 2", "the largest k that is possible is 1")


@pytest.mark.parametrize("k", [9, 10**6, 2**63, 10**30])
def test_a_huge_k_is_unsatisfiable_and_says_the_largest_possible(desk: Desk, k: int) -> None:
    desk.put(privacy=f"k = {k}")
    refused(desk.run(), 3, str(k), "the largest k that is possible is 8")


@pytest.mark.parametrize("promise", ["l", "p"])
@pytest.mark.parametrize("least", [4, 10**30])
def test_more_values_than_there_are_is_unsatisfiable(desk: Desk, promise: str, least: int) -> None:
    desk.put(privacy=f"{promise} = {least}")
    refused(desk.run(), 3, f"{promise} = {least}")


@pytest.mark.parametrize("privacy", ["k = -1", "k = 0", 'k = "2"', "k = 2.5", "k = true", "p = 0", "t = 2"])
def test_a_promise_without_meaning_is_refused(desk: Desk, privacy: str) -> None:
    desk.put(privacy=privacy)
    refused(desk.run(), 2, f"privacy.{privacy[0]} = ")


def test_no_promise_at_all_is_refused(desk: Desk) -> None:
    desk.put(privacy="")
    refused(desk.run(), 2, "privacy")


# Columns


def test_an_unknown_column_names_the_nearest(desk: Desk) -> None:
    desk.put(attributes=ATTRIBUTES.replace("postcode", "postcodes"))
    refused(desk.run(), 2, "'postcodes'", "did you mean 'postcode'")


def test_a_wrong_delimiter_shows_what_the_header_was_taken_for(desk: Desk) -> None:
    desk.put(PEOPLE.replace(",", ";"))
    refused(desk.run(), 2, "'name'", "name;age;sex")


def test_columns_without_a_role_are_refused_dropped_or_published(desk: Desk) -> None:
    content = "a,b,c,d\nx,1,2,3\nx,4,5,6\n"
    desk.put(content, TWO)
    refused(desk.run(), 2, "without a role", "data.unlisted")
    desk.put(content, TWO, data='unlisted = "drop"')
    done(desk.run())
    assert sorted(map(tuple, map(dict.values, desk.rows()))) == [("x", "1"), ("x", "4")]
    desk.put(content, TWO, data='unlisted = "publish"')
    done(desk.run())
    assert sorted(map(tuple, map(dict.values, desk.rows()))) == [("x", "1", "2", "3"), ("x", "4", "5", "6")]
    done(desk.audit())


def test_a_column_that_occurs_twice(desk: Desk) -> None:
    desk.put("a,b,a\nx,1,y\n", TWO)
    refused(desk.run(), 2, "more than once", "people.csv", "a")


def test_columns_that_differ_in_case_only(desk: Desk) -> None:
    desk.put("a,b,A\nx,1,y\n", TWO, data='unlisted = "drop"')
    refused(desk.run(), 2, "'a'", "'A'", "rename")


def test_a_column_without_a_name(desk: Desk) -> None:
    desk.put("a,b,\nx,1,y\n", TWO)
    refused(desk.run(), 2, "column 3", "no name")


NAMES = ["two words", 'say "hi"', "it's", "a.b", "年齢", "имя", "a;b,c", " a ", "self", "select", "*", "%s {x}", "[/b]"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive", "identifier"])
def test_a_column_may_be_called_anything(desk: Desk, name: str, role: str) -> None:
    content = io.StringIO()
    rows = [("x", "1", "p"), ("y", "2", "q"), ("z", "3", "p"), ("z", "4", "q")]
    csv.writer(content).writerows([(name, "b", "c"), *rows])
    tree = ', hierarchy = { tree = { g = ["x", "y"], h = ["z"] } }' if role == "quasi" else ""
    desk.put(
        content.getvalue(),
        f"{json.dumps(name, ensure_ascii=False)} = {{ role = {json.dumps(role)}{tree} }}\n"
        'b = { role = "insensitive" }\nc = { role = "quasi", hierarchy = "flat" }',
        privacy="k = 2" + ("\nl = 2" if role == "sensitive" else ""),
        method='metric = "dm"\nsuppression = 0',
    )
    done(desk.run())
    released = sorted((row.get(name), row["b"]) for row in desk.rows())
    if role == "quasi":
        assert {b: label for label, b in released} == {"1": "g", "2": "g", "3": "h", "4": "h"}
    elif role == "identifier":
        assert released == [(None, "1"), (None, "2"), (None, "3"), (None, "4")]
    else:
        assert released == [("x", "1"), ("y", "2"), ("z", "3"), ("z", "4")]
    done(desk.audit())


def test_a_column_name_may_hold_a_line_break(desk: Desk) -> None:
    desk.put('"a\nb",b\nx,1\nx,2\n', TWO.replace("a =", '"a\\nb" ='))
    done(desk.run())
    assert [row["a\nb"] for row in desk.rows()] == ["x", "x"]


BESIDE = ["a as read", "a as published", "A as Published", "a fails", "a_right", "fails", "number of rows", "table 1"]


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("keep", ["true", "false"])
def test_no_name_gets_in_the_way_of_the_engines_own(desk: Desk, name: str, keep: str) -> None:
    desk.put(
        f"a,{name}\nx,z\ny,z\nz,x\nz,y\nu,x\nv,y\n",
        f'a = {{ role = "quasi", hierarchy = {{ tree = {{ g = ["x", "y"], h = ["z"], i = ["u"], j = ["v"] }} }} }}\n'
        f'"{name}" = {{ role = "quasi", hierarchy = {{ tree = {{ r = ["x", "y"], s = ["z"] }} }} }}',
        method=f'name = "levels"\nlevels = {{ a = 1 }}\nsuppression = 1\nkeep_suppressed = {keep}',
    )
    done(desk.run())
    expected = [("g", "z"), ("g", "z")]
    masked = [("*", "*")] * 4 if keep == "true" else []
    assert sorted((row["a"], row[name]) for row in desk.rows()) == sorted(expected + masked)


# Values


def test_a_value_outside_its_hierarchy_is_named_with_its_count_and_the_nearest(desk: Desk) -> None:
    (desk.folder / "jobs.csv").write_text("nurse;health;*\ndoctor;health;*\ncook;*\n")
    desk.put("a,b\nnurse,1\ndoctr,2\ndoctr,3\npilot,4\n", JOBS)
    refused(desk.run(), 2, "'a'", "'doctr' (2 rows, nearest is 'doctor')", "'pilot' (1 row)")


def test_a_ragged_hierarchy_works(desk: Desk) -> None:
    (desk.folder / "jobs.csv").write_text("nurse;health;*\ndoctor;health;*\ncook;*\n")
    desk.put("a,b\nnurse,1\ndoctor,2\ncook,3\ncook,4\n", JOBS)
    done(desk.run())
    assert sorted((row["a"], row["b"]) for row in desk.rows()) == [
        ("cook", "3"),
        ("cook", "4"),
        ("health", "1"),
        ("health", "2"),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nurse;health\nnurse;care\n", ["'nurse' twice"]),
        ("", ["jobs.csv", "empty"]),
        (";health\n", ["row 1", "no leaf"]),
        ("Z\xfcrich;Swiss\n".encode("latin-1"), ["jobs.csv", "utf-8"]),
        (None, ["jobs.csv", "no file"]),
    ],
)
def test_a_hierarchy_file_that_cannot_be_used(desk: Desk, content: str | bytes | None, words: list[str]) -> None:
    if content is not None:
        (desk.folder / "jobs.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    desk.put("a,b\nnurse,1\n", JOBS)
    refused(desk.run(), 2, "attributes.a.hierarchy", *words)


def test_text_among_numbers_is_named(desk: Desk) -> None:
    desk.put(PEOPLE.replace("31", "thirty").replace("38", "NaN").replace("39", "inf"))
    refused(desk.run(), 2, "'age'", "numbers", "'thirty' (2 rows)", "'NaN' (2 rows)", "'inf' (1 row)")


def test_text_among_dates_is_named(desk: Desk) -> None:
    desk.put("a,b\n2024-03-31,1\n31/03/2024,2\n2024-02-30,3\n", TWO.replace('"flat"', '{ dates = ["month"] }'))
    refused(desk.run(), 2, "'a'", "dates", "'31/03/2024' (1 row)", "'2024-02-30' (1 row)")


def test_not_a_number_is_missing(desk: Desk) -> None:
    nan = float("nan")
    pq.write_table(pa.table({"a": [1.5, 1.5, nan, None], "b": [1, 2, 3, 4]}), desk.folder / "people.parquet")
    desk.put(None, TWO, name="people.parquet")
    done(desk.run())
    released = pq.read_table(desk.out / "public/release.parquet").to_pylist()
    assert {row["b"]: row["a"] for row in released} == {1: 1.5, 2: 1.5, 3: None, 4: None}
    desk.put(None, TWO, name="people.parquet", data='missing = "error"')
    refused(desk.run(), 2, "'a' (2 rows)")


def test_an_empty_field_is_missing_with_quotes_and_without(desk: Desk) -> None:
    desk.put('a,b\n,1\n"",2\nx,3\nx,\n', TWO)
    done(desk.run())
    assert sorted((row["a"], row["b"]) for row in desk.rows()) == [("", "1"), ("", "2"), ("x", ""), ("x", "3")]
    assert done(desk.audit("--json")).json["measured"]["missing"] == 2


def test_missing_values_are_those_that_the_specification_lists(desk: Desk) -> None:
    content = "a,b\n?,1\n?,2\nNA,3\nNA,4\nx,5\nx,6\n"
    desk.put(content, TWO, data='missing_values = ["?"]\nmissing = "suppress"')
    shown = done(desk.run("--json")).json
    assert shown["incomplete"] == 2
    assert sorted(row["a"] for row in desk.rows()) == ["NA", "NA", "x", "x"]
    desk.put(content, TWO, data='missing_values = ["?", "NA"]\nmissing = "error"')
    refused(desk.run(), 2, "data.missing", "'a' (4 rows)")


ODD_VALUES = [
    "'); DROP TABLE people; --",
    '" OR 1=1; --',
    "a,b",
    "two\nlines",
    "two\r\nlines",
    'say "hi"',
    '"',
    "#comment",
    " space ",
    "\t",
    "null",
    "[/b]",
    "[a, b]",
    "{a}",
    "\\N",
    "x" * 100_000,
    "éß年😀",
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: ascii(value[:12]))
def test_odd_values_travel_unchanged(desk: Desk, value: str) -> None:
    content = io.StringIO()
    csv.writer(content).writerows([("a", "b"), (value, value), (value, "1"), ("other", value), ("other", "2")])
    desk.put(content.getvalue(), TWO)
    done(desk.run())
    assert sorted((row["a"], row["b"]) for row in desk.rows()) == sorted(
        [(value, value), (value, "1"), ("other", value), ("other", "2")]
    )
    done(desk.audit())


def test_a_value_of_megabytes_is_published_or_refused_in_words(desk: Desk) -> None:
    value = "x" * 3_000_000
    desk.put(f"a,b\nx,{value}\nx,2\n", TWO)
    outcome = desk.run()
    if outcome.code:
        refused(outcome, 2, "line 2", "long")
    else:
        assert {row["b"] for row in desk.rows()} == {value, "2"}


def test_labels_in_brackets_are_shown(desk: Desk) -> None:
    desk.put("a,b\na,1\nb,2\nc,3\nd,4\n", TWO.replace('"flat"', "{ fanout = 2 }"))
    assert "[a, b], [c, d]" in done(desk.run()).out.partition("The promise")[0]


# Text files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\nx,1\nx\ny,3\n", ["line 3"]),
        ("a,b\nx,1\nx,2\ny,3,4\n", ["line 4"]),
        ('a,b\nx,1\nx,"2\ny,3\n', ["line 3", "quote"]),
        ('a,"b\nx,1\nx,2\n', ["quote"]),
    ],
)
def test_a_malformed_row_is_named_by_its_line(desk: Desk, content: str, words: list[str]) -> None:
    desk.put(content, TWO)
    refused(desk.run(), 2, "people.csv", *words)
    assert json.loads(desk.run("--json").err)["error"]["kind"] == "DataError"


@pytest.mark.parametrize(
    ("data", "content"),
    [
        ('delimiter = ";"', "a;b\nx,y;1\nx,y;2\n"),
        ('delimiter = "\\t"', "a\tb\nx,y\t1\nx,y\t2\n"),
        ('delimiter = "|"', 'a|b\n"x,y"|1\nx,y|2\n'),
        ('delimiter = ", "', 'a, b\n"x,y", 1\nx,y, 2\n'),
        ('delimiter = ", "', '"a", "b"\n"x,y", "1"\n"x,y", "2"\n'),
        ('delimiter = "::"', 'a::b\nx,y::1\n"x,y"::2\n'),
        ('quote = "\'"', "a,b\n'x,y',1\n'x,y',2\n"),
        ("", '\ufeffa,b\n"x,y",1\n"x,y",2\n'),
        ("", 'a,b\r\n"x,y",1\r\n"x,y",2\r\n'),
        ("", 'a,b\r"x,y",1\r"x,y",2\r'),
        ("", '\ufeff"a","b"\n"x,y",1\n\n"x,y",2\n\n'),
        ("", 'a,b\n"x,y",1\n"x,y",2'),
    ],
)
def test_text_files_of_many_dialects(desk: Desk, data: str, content: str) -> None:
    desk.put(content, TWO, data=data)
    shown = done(desk.run("--json")).json
    assert shown["metrics"]["rows"] == 2
    assert shown["verdict"]["smallest"] == [{"labels": {"a": "x,y"}, "rows": 2, "people": None}]
    done(desk.audit())


def test_quotes_inside_quotes_of_another_kind(desk: Desk) -> None:
    desk.put("a,b\nx,'it''s'\nx,'say \"hi\"'\n", TWO, data='quote = "\'"')
    done(desk.run())
    assert {row["b"] for row in desk.rows(quotechar="'")} == {"it's", 'say "hi"'}
    done(desk.audit())


CITIES = 'a = { role = "quasi", hierarchy = { tree = { Swiss = ["Zürich", "Genève"] } } }\nb = { role = "insensitive" }'


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "UTF8"])
def test_a_file_in_another_encoding_is_read_as_the_specification_says(desk: Desk, encoding: str) -> None:
    content = "a,b\nZürich,é\nZürich,2\nGenève,3\nGenève,4\n".encode(encoding)
    desk.put(content, CITIES, data=f'encoding = "{encoding}"')
    done(desk.run())
    with desk.release.open(encoding="utf-8") as file:
        assert sorted(file) == ["Genève,3\n", "Genève,4\n", "Zürich,2\n", "Zürich,é\n", "a,b\n"]
    done(desk.audit())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_than_said_is_refused(desk: Desk, encoding: str) -> None:
    desk.put("a,b\nZürich,1\nZürich,2\n".encode(encoding), CITIES)
    refused(desk.run(), 2, "people.csv", "UTF-8", "data.encoding")


def test_a_stray_byte_far_down_is_refused(desk: Desk) -> None:
    desk.put(b"a,b\n" + b"Genf,1\n" * 50_000 + b"Z\xfcrich,1\n", TWO)
    refused(desk.run(), 2, "people.csv", "UTF-8", "data.encoding")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "ascii", "utf-8-sig", "klingon"])
def test_an_encoding_that_does_not_fit_is_refused(desk: Desk, encoding: str) -> None:
    desk.put("a,b\nZürich,1\nZürich,2\n".encode("latin-1"), CITIES, data=f'encoding = "{encoding}"')
    refused(desk.run(), 2, "UTF-8" if encoding in ("ascii", "utf-8-sig") else encoding)


@pytest.mark.parametrize("limit", ["lots", "4", "-1GB", "0GB", "99999999999999999999TB"])
def test_a_nonsensical_memory_limit_is_refused(desk: Desk, limit: str) -> None:
    desk.put(data=f'memory_limit = "{limit}"')
    refused(desk.run(), 2, "memory_limit")


def test_a_memory_limit_is_accepted(desk: Desk) -> None:
    desk.put(data='memory_limit = "500 MiB"')
    done(desk.run())


# People with several rows


VISITS = PEOPLE.replace("Eve,", "Ann,").replace("Fay,", "Bob,")


def test_people_are_counted_and_judged_beside_the_original(desk: Desk) -> None:
    desk.put(VISITS, data='entity = "name"', method="suppression = 0")
    assert "The promise holds." in done(desk.run()).out
    assert "name" not in desk.release.read_text().splitlines()[0]
    unseen = desk.audit()
    assert unseen.code == 2
    assert "could not be judged" in unseen.out
    assert "give the original, with its column 'name'" in unseen.out
    page = desk.folder / "page"
    assert desk.audit("-o", page).code == 2
    assert "It could not be judged whether the promise holds" in (page / "audit.html").read_text()
    assert "not judged" in (page / "audit.html").read_text()
    told = desk.audit("--json").json
    assert (told["ok"], told["findings"], len(told["unjudged"]), told["risk"]) == (False, [], 1, None)
    seen = done(desk.audit("--original", desk.folder / "people.csv", "--json")).json
    assert seen["measured"]["k"] >= 2
    assert seen["risk"]["counts"] == "people"
    done(desk.audit("--original", desk.folder / "people.csv", "-o", page))
    assert "people above" in (page / "audit.html").read_text()
    assert desk.audit("--original", desk.folder / "people.csv", "--attack", "linkage").code == 2
    assert (
        "comes out of the labels" in done(desk.audit("--original", desk.folder / "people.csv", "--attack", "all")).out
    )
    desk.put(VISITS, data='entity = "name"', privacy="k = 5", method="suppression = 0")
    planted = desk.audit("--original", desk.folder / "people.csv")
    assert planted.code == 1
    assert "fewer than k = 5 people" in planted.out


def test_rows_of_a_person_stay_together_where_asked(desk: Desk) -> None:
    desk.put(VISITS, data='entity = "name"\ncomposite = true', method="suppression = 0.5")
    assert "The promise holds." in done(desk.run()).out
    assert desk.release.read_text().startswith("name,")
    assert "Ann" not in desk.release.read_text()
    assert "people = " in done(desk.audit()).out


def test_fronts_count_people(desk: Desk) -> None:
    desk.put(VISITS, data='entity = "name"', privacy="")
    points = done(desk.ring("frontier", desk.spec, "-o", desk.out, "--json")).json["points"]
    assert max(point["k"] for point in points) == 6


# What comes later


def test_a_key_that_the_source_has_no_use_for_is_refused(desk: Desk) -> None:
    desk.put(data='table = "people"')
    refused(desk.run(), 2, "data.table = 'people' has no meaning for a source of the kind CSV")


def test_anatomy_writes_two_tables_that_are_judged_together(desk: Desk) -> None:
    desk.put(privacy="l = 2", method='name = "anatomy"')
    shown = done(desk.run("--explain")).out
    assert "8 rows published in" in shown
    assert "nothing is generalized" in shown
    assert "anyone can be found" in done(desk.audit()).out
    sensitive = desk.out / "public" / "sensitive.csv"
    assert json.loads(done(desk.run("--json")).out)["sensitive"] == str(sensitive)
    assert "illness" not in desk.rows()[0]
    sensitive.write_text(sensitive.read_text().replace("cold", "flu").replace("ache", "flu"))
    assert "where a value has more than one in l = 2 of the rows, the worst 2 of 2" in desk.audit().out
    sensitive.unlink()
    refused(desk.audit(), 2, "sensitive.csv")


@pytest.mark.parametrize("scheme", ["cut", "ordered", "set", "guided-ordered", "guided-set"])
@pytest.mark.parametrize("search", ["auto", "bottom-up", "top-down"])
def test_every_scheme_runs_and_passes_its_audit(desk: Desk, scheme: str, search: str) -> None:
    desk.put(method=f'scheme = "{scheme}"\nsearch = "{search}"')
    assert "proven optimal" in done(desk.run()).out
    done(desk.audit())


def test_a_scheme_that_needs_a_hierarchy_says_so(desk: Desk) -> None:
    desk.put(attributes=ATTRIBUTES.replace('hierarchy = "flat"', 'scheme = "cut"'))
    refused(desk.run(), 2, "attributes.sex", "no hierarchy", "'cut'", "'set'")


def test_sets_too_large_to_be_split_say_so(desk: Desk) -> None:
    desk.put(
        "".join(["id\n", *(f"v{n}\n" for n in range(40))]),
        'id = { role = "quasi" }',
        method='scheme = "set"\nsearch = "top-down"',
    )
    refused(desk.run(), 2, "'top-down'", "40 values", "'bottom-up'")


def test_values_that_look_like_sets_are_refused(desk: Desk) -> None:
    desk.put("id\n{a}\n{a}\nb\nb\n", 'id = { role = "quasi" }', method='scheme = "set"')
    refused(desk.run(), 2, "'{a}'", "rename it")


def test_a_front_of_a_scheme(desk: Desk) -> None:
    desk.put(method='scheme = "set"')
    shown = done(desk.ring("frontier", desk.spec, "-o", desk.out)).out
    assert "by_levels" in shown
    assert "points proven in" in shown


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("postgres://someone@127.0.0.1:1/base", "cannot connect to 'postgres://127.0.0.1:1/base'"),
        ("duckdb://people.db", "'duckdb://people.db': duckdb:// cannot be read"),
    ],
)
def test_databases_that_cannot_be_read(desk: Desk, source: str, words: str) -> None:
    desk.put(None, name=source)
    refused(desk.run(), 2, words)


def test_an_audit_against_the_original(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    assert "original = " in done(desk.audit("--original", desk.folder / "people.csv")).out
    refused(desk.audit("--original", desk.folder / "nobody.csv"), 2, "nobody.csv")


def test_attacks_of_a_run_stand_in_its_report(desk: Desk) -> None:
    desk.put()
    shown = done(desk.ring("run", desk.spec, "-o", desk.out, "--attack", "linkage", "--attack", "homogeneity")).out
    assert "[linkage] knowing all quasi-identifiers: right for" in shown
    written = json.loads((desk.out / "private" / "audit.json").read_text())
    assert {attack["name"] for attack in written["attacks"]} == {"linkage", "homogeneity"}
    assert 'id="attacks"' in (desk.out / "private" / "report.html").read_text()
    refused(desk.run("--attack", "brute"), 2, "there is no attack 'brute'", "linkage")
    everything = done(desk.run("--attack", "all", "--json")).json["verdict"]["attacks"]
    assert [attack for attack in everything if attack["name"] in ("linkage", "homogeneity")] == written["attacks"]
    assert len(everything) > len(written["attacks"])


def test_a_verdict_in_a_folder(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    folder = desk.folder / "verdict"
    original = desk.folder / "people.csv"
    shown = done(desk.audit("--original", original, "--attack", "all", "-o", folder)).out
    assert str(folder / "audit.html") in shown
    written = json.loads((folder / "audit.json").read_text())
    assert written["ok"]
    assert written == done(desk.audit("--original", original, "--attack", "all", "--json")).json
    assert "The promise holds" in (folder / "audit.html").read_text()
    assert sorted(part.name for part in folder.iterdir()) == ["audit.html", "audit.json"]
    refused(desk.audit("-o", original), 2, "cannot write")


def test_exit_codes_of_an_audit(desk: Desk) -> None:
    """0: it holds; 1: it does not, and the verdict is shown all the same; 2: it could not be judged."""
    desk.put()
    done(desk.run())
    assert desk.audit().code == 0
    desk.put(privacy="k = 9")
    failed = desk.audit("-o", desk.folder / "verdict")
    assert (failed.code, failed.err) == (1, "")
    assert "to mend it: generalize these rows further, or suppress them" in failed.out
    assert "The promise does not hold" in (desk.folder / "verdict" / "audit.html").read_text()
    assert desk.audit("--json").code == 1
    refused(desk.audit("--attack", "linkage"), 2, "it needs the original")
    desk.put(privacy="k_map = 2")
    refused(desk.audit(), 2, "it needs a table of the population")


# Baskets


def test_baskets_from_the_demo_can_be_run_explained_and_audited(tmp_path: Path, ring: Ring) -> None:
    shown = done(ring("demo", "--baskets", "--rows", "500", "-o", tmp_path)).out
    assert "500 sample baskets" in shown
    assert "item cut" in shown
    shown = done(ring("run", tmp_path / "baskets.toml", "-o", tmp_path, "--explain", "--no-report")).out
    assert "; apart, there would be {" in shown
    told = json.loads(done(ring("run", tmp_path / "baskets.toml", "-o", tmp_path, "--explain", "--json")).out)
    assert told["items"] == told["explanation"]["reasons"]
    assert told["metrics"]["rows"] == 500
    done(ring("audit", tmp_path / "public/release.csv", tmp_path / "baskets.toml"))
    refused = ring("audit", tmp_path / "baskets.csv", tmp_path / "baskets.toml")
    assert refused.code == 1
    assert "[m]" in refused.out


def test_a_table_with_quasi_identifiers_and_baskets_runs(desk: Desk) -> None:
    attributes = """
    age = { role = "quasi", hierarchy = { intervals = [10] } }
    basket = { role = "items", separator = " ", hierarchy = { fanout = 2 } }
    """
    rows = "age,basket\n31,a b\n33,a c\n35,b c\n38,a b\n71,a\n"
    desk.put(rows, attributes, privacy="k = 2\nm = 2")
    shown = done(desk.run("--explain")).out
    assert "4 rows published in 1 class, 1 suppressed" in shown
    assert "search of item cuts: proven optimal" in shown
    assert (desk.out / "private/items.json").is_file()
    assert "k:basket" in done(desk.audit()).out


# Where releases go


@pytest.mark.parametrize("command", ["run", "demo"])
def test_an_output_that_cannot_be_a_folder(desk: Desk, command: str) -> None:
    desk.put()
    desk.out.write_text("a file of mine")
    arguments = [command, desk.spec] if command == "run" else [command, "--rows", "100"]
    for folder in (desk.out, desk.out / "below"):
        refused(desk.ring(*arguments, "-o", folder), 2, str(folder))
    assert desk.out.read_text() == "a file of mine"


@pytest.mark.parametrize("folder", ["k=5", "year=2024/k=5", "results [1]", "it's", "*", "年", "a b"])
def test_folders_may_be_called_anything(desk: Desk, folder: str) -> None:
    below = desk.folder / folder
    below.mkdir(parents=True)
    there = Desk(below, desk.ring)
    there.put()
    done(there.run())
    assert there.rows()[0].keys() == {"age", "sex", "postcode", "illness"}
    done(there.audit())


@pytest.mark.parametrize("name", ["people[1].csv", "people*.csv", "people?.csv", "people1].csv", "it's.csv", "k=5.csv"])
def test_a_file_is_read_by_its_name_and_never_as_a_pattern(desk: Desk, name: str) -> None:
    for other in ("people1.csv", "people2.csv"):
        (desk.folder / other).write_text("a,b\nanother,1\nanother,2\n")
    desk.put("a,b\nmine,1\nmine,2\n", TWO, name=name)
    done(desk.run())
    assert [row["a"] for row in desk.rows()] == ["mine", "mine"]


# The audit


def test_the_release_just_written_passes_its_audit(desk: Desk) -> None:
    desk.put(privacy="k = 2\nl = 2")
    done(desk.run())
    assert "The promise holds." in done(desk.audit()).out
    verdict = done(desk.audit("--json")).json
    keys = {"schema", "ok", "measured", "findings", "smallest", "notes", "risk", "attacks", "refinement", "unjudged"}
    assert verdict.keys() == keys
    assert verdict["ok"] is True
    assert verdict["findings"] == []


def test_attacks_on_the_release_just_written(desk: Desk) -> None:
    desk.put(privacy="k = 2\nl = 2")
    done(desk.run())
    original = desk.folder / "people.csv"
    attacked = done(desk.audit("--original", original, "--attack", "linkage", "--attack", "homogeneity", "--json")).json
    assert {each["name"] for each in attacked["attacks"]} == {"linkage", "homogeneity"}
    assert "Attacks:" in done(desk.audit("--original", original, "--attack", "all", "--population", original)).out
    refused(desk.audit("--attack", "linkage"), 2, "needs the original")
    refused(desk.audit("--attack", "brute"), 2, "'brute'", "allowed: all, linkage")


def test_a_single_cell_changed_by_hand_is_found(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    changed = desk.release.read_text().replace("flu", "gout", 1)
    desk.release.write_text(changed)
    outcome = desk.audit()
    assert (outcome.code, outcome.err) == (1, "")
    assert "The promise does not hold." in outcome.out
    assert "manifest" in outcome.out
    assert desk.audit("--json").json["findings"][0]["rule"] == "manifest"


def test_without_a_manifest_a_class_that_became_too_small_is_found(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    (desk.release.parent / "manifest.json").unlink()
    done(desk.audit())
    desk.release.write_text(desk.release.read_text().replace("01235", "01234", 1))
    outcome = desk.audit()
    assert (outcome.code, outcome.err) == (1, "")
    assert "k = 2" in outcome.out
    findings = desk.audit("--json").json["findings"]
    assert [finding["rule"] for finding in findings] == ["k"]
    assert findings[0]["rows"] == 1
    assert findings[0]["example"]["postcode"] == "01235"


def test_a_label_that_the_hierarchy_does_not_have_is_found(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    (desk.release.parent / "manifest.json").unlink()
    desk.release.write_text(desk.release.read_text().replace("[30, 40)", "[30, 41)"))
    outcome = desk.audit("--json")
    assert outcome.code == 1
    assert [finding["rule"] for finding in outcome.json["findings"]] == ["labels"]


def test_the_original_does_not_pass(desk: Desk) -> None:
    desk.put()
    outcome = desk.audit("--json", release=desk.folder / "people.csv")
    assert outcome.code == 1
    assert {finding["rule"] for finding in outcome.json["findings"]} == {"identifier", "k"}


@pytest.mark.parametrize("column", ["age", "illness"])
def test_a_release_without_a_needed_column_cannot_be_judged(desk: Desk, column: str) -> None:
    desk.put(privacy="k = 2\nl = 2")
    done(desk.run())
    (desk.release.parent / "manifest.json").unlink()
    desk.release.write_text(desk.release.read_text().replace(column, "something", 1))
    refused(desk.audit(), 2, f"'{column}'", "cannot be judged")


def test_an_audit_of_nothing_exits_2(desk: Desk) -> None:
    desk.put()
    refused(desk.audit(), 2, "release.csv")
    refused(desk.ring("audit", desk.folder / "people.csv", desk.folder / "none.toml"), 2, "none.toml")


def test_a_damaged_manifest_is_refused(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    for damaged in ("", "{}", "[1]", '{"release": {}}', "\xff"):
        (desk.release.parent / "manifest.json").write_bytes(damaged.encode("latin-1"))
        refused(desk.audit(), 2, "manifest.json")


def test_a_release_is_judged_wherever_it_lies(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    moved = desk.folder / "moved.csv"
    desk.release.rename(moved)
    done(desk.audit(release=moved))


def test_a_release_of_typed_columns_is_judged_too(desk: Desk) -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 2, 1)]
    pq.write_table(pa.table({"a": days, "b": [1, 2, 3, 4]}), desk.folder / "people.parquet")
    desk.put(None, TWO.replace('"flat"', '{ dates = ["month"] }'), name="people.parquet")
    done(desk.run())
    release = desk.out / "public/release.parquet"
    assert pq.read_schema(release).field("a").type == pa.date32()
    done(desk.audit(release=release))


# A process of its own


def process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "ringfence", *map(str, arguments)],
        capture_output=True,
        check=False,
        env={"PATH": "", **environment},
    )


def test_a_process_writes_results_to_stdout_and_nothing_to_stderr(desk: Desk) -> None:
    desk.put()
    finished = process("run", desk.spec, "--no-report", "-o", desk.out, "--json")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert json.loads(finished.stdout)["verdict"]["ok"] is True


def test_who_does_not_read_what_is_printed_is_not_told_that_the_promise_is_broken(desk: Desk) -> None:
    desk.put()
    done(desk.run())
    audit = [sys.executable, "-u", "-m", "ringfence", "audit", str(desk.release), str(desk.spec)]
    with subprocess.Popen(audit, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as command:
        assert command.stdout is not None
        command.stdout.close()
        assert command.wait() == 141


def test_a_process_writes_errors_to_stderr_and_nothing_to_stdout(desk: Desk) -> None:
    desk.put(privacy="k = 9")
    finished = process("run", desk.spec, "--no-report", "-o", desk.out)
    assert (finished.returncode, finished.stdout) == (3, b"")
    assert finished.stderr.startswith(b"error: ")
    assert finished.stderr.count(b"\n") == 1


def test_a_terminal_that_knows_ascii_only_does_not_stop_a_run(desk: Desk) -> None:
    desk.put("年齢,b\n若い,1\n若い,2\n", TWO.replace("a =", '"年齢" ='))
    finished = process("run", desk.spec, "--no-report", "-o", desk.out, PYTHONIOENCODING="ascii")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"The promise holds." in finished.stdout
    assert desk.rows()[0]["年齢"] == "若い"


def test_run_tells_of_labels_in_the_release_and_not_of_those_of_suppressed_rows(desk: Desk) -> None:
    desk.put(
        "sex,age\n" + "m,31\n" * 6 + "f,32\n" * 6 + "d,95\n",
        '[attributes.sex]\nrole = "quasi"\nhierarchy = "flat"\n'
        '[attributes.age]\nrole = "quasi"\nhierarchy = { intervals = [10] }',
        privacy="k = 3",
        method="suppression = 0.2",
    )
    shown = done(desk.run("--explain")).out
    assert "2 of 3  f, m\n" in shown
    assert "2 of 3  31, 32\n" in shown
    assert "1 of 13 rows was suppressed, which no boundary forces." in shown
