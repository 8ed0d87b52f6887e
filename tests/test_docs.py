"""The documentation is complete and true: whatever can be named is named in it, and what it shows runs."""

import contextlib
import io
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pyarrow as pa
import pytest

import ringfence as rf
from ringfence import warming
from ringfence.audit.attacks.carry_out import NAMES as ATTACKS
from ringfence.cli import app
from ringfence.declared import METHODS, METRICS, SCHEMES
from ringfence.methods.catalogue import catalogue
from ringfence.samples import write_people
from ringfence.spec.attributes import Attribute
from ringfence.spec.checking import SpecTable
from ringfence.spec.data import Data, Output
from ringfence.spec.hierarchies import HIERARCHY_KINDS
from ringfence.spec.method import FrontierTable, MethodTable, Purpose
from ringfence.spec.privacy import Privacy
from tests.tables import with_parts
from tests.written_pages import DOCS, PAGES, commands, plan_kinds

ROOT = DOCS.parent
READ = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
SPECIFICATION = (DOCS / "specification.md").read_text(encoding="utf-8")
TABLES: dict[str, type[SpecTable]] = {
    "data": Data,
    "attributes.NAME": Attribute,
    "privacy": Privacy,
    "method": MethodTable,
    "purpose": Purpose,
    "frontier": FrontierTable,
    "output": Output,
}


def section(title: str, text: str = SPECIFICATION) -> str:
    """What stands under a heading, up to the next one of its rank."""
    found = re.search(rf"^(#+) {re.escape(title)}.*?$(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title}"
    return found[2]


def quoted(text: str) -> set[str]:
    """The words that stand in code, keys and values alike, and the marks that stand there in quotes."""
    found = re.findall(r"`([^`\n]+)`", text)
    return {word for code in found for word in (*re.findall(r"[\w-]+", code), *re.findall(r'"(\W)"', code))}


def rows(text: str) -> dict[str, str]:
    """The rows of the tables in a section, by the word that their first cell begins with."""
    return {row[1]: row[0] for row in re.finditer(r"^\| `(\w+)[^\n]*$", text, re.MULTILINE)}


def keys(table: type[SpecTable]) -> list[str]:
    """The keys of a table of the specification as they are written."""
    return [field.alias or name for name, field in table.model_fields.items()]


def choices(annotation: Any) -> Iterator[str]:
    """The fixed texts that a key may be, wherever they stand in its type."""
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        elif not (isinstance(part, type) and issubclass(part, SpecTable)):
            yield from choices(part)


def parts(annotation: Any) -> Iterator[type[SpecTable]]:
    """The tables that a key may be."""
    if isinstance(annotation, type) and issubclass(annotation, SpecTable):
        yield annotation
    for part in get_args(annotation):
        yield from parts(part)


@pytest.mark.parametrize("name", TABLES)
def test_every_key_of_the_specification_is_documented_and_no_other(name: str) -> None:
    text = section(f"`[{name}]`")
    described = rows(text.split("\n### ")[0])
    assert {*described} == {*keys(TABLES[name])}
    for key, field in TABLES[name].model_fields.items():
        row = described[field.alias or key]
        said = quoted(section("Hierarchies") if key == "hierarchy" else row)
        assert {*choices(field.annotation)} <= said, f"{name}.{key}: what it may be"
        for part in parts(field.annotation):
            assert {*keys(part)} <= said, f"{name}.{key}: the keys of its table"


def test_every_kind_of_hierarchy_is_documented() -> None:
    described = quoted(section("Hierarchies"))
    for kind, part in HIERARCHY_KINDS.items():
        assert {kind, *keys(part)} <= described


@pytest.mark.parametrize(("key", "names"), [("name", METHODS), ("scheme", SCHEMES), ("metric", METRICS)])
def test_methods_schemes_and_metrics_are_documented(key: str, names: dict[str, Any]) -> None:
    assert {*names} <= quoted(rows(section("`[method]`"))[key])


def test_every_search_and_every_option_says_for_which_method_it_is() -> None:
    described = rows(section("`[method]`"))
    assert {search for method in METHODS.values() for search in method.searches} <= quoted(described["search"])
    for option in MethodTable.model_fields:
        takers = [name for name, method in METHODS.items() if option in method.options]
        if len(takers) == 1:
            assert f"`{takers[0]}`" in described[option], f"method.{option} is for {takers[0]}"


def test_models_and_attacks_are_documented() -> None:
    listed = catalogue()
    assert {*listed["models"], *listed["judged"]} == {*Privacy.model_fields} == {*rows(section("`[privacy]`"))}
    described = rows(section("Attacks", (DOCS / "audit.md").read_text(encoding="utf-8")))
    assert {*described} == {*listed["attacks"]} == {*ATTACKS}


@pytest.mark.parametrize("name", PAGES)
def test_pages_that_the_code_writes_are_as_it_writes_them(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run `make pages` and look at what changed"


def test_every_command_is_in_the_readme() -> None:
    shown = section("On the command line", READ[0].read_text(encoding="utf-8"))
    assert {*re.findall(r"^ringfence (\w+)", shown, re.MULTILINE)} == {*commands()}


# Files

PEOPLE = pa.table({"age": [20, 21, 29, 30, 45, 46], "ill": ["flu", "cold", "flu", "gout", "cold", "flu"]})
AGE = {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}
ITEMS = {"role": "items", "hierarchy": {"tree": {"a": ["x", "y"], "b": ["z"]}}}
RELEASES: dict[str, dict[str, Any]] = {
    "global": {"attributes": {"age": AGE, "ill": {"role": "sensitive"}}, "privacy": {"k": 2}},
    "group": {
        "attributes": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
        "privacy": {"k": 2},
        "method": {"name": "local"},
    },
    "ring": {
        "attributes": {"age": {"role": "quasi"}, "ill": {"role": "insensitive"}},
        "privacy": {"k": 2},
        "method": {"name": "ring"},
    },
    "anatomy": {
        "attributes": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
        "privacy": {"l": 2},
        "method": {"name": "anatomy"},
    },
    "item": {"attributes": {"basket": ITEMS}, "privacy": {"k": 1, "m": 1}, "method": {"name": "itemsets"}},
    "both": {"attributes": {"age": AGE, "basket": ITEMS}, "privacy": {"k": 2, "m": 1}},
}


def made(kind: str) -> rf.Release:
    """A release with a plan of some kind."""
    table = PEOPLE.append_column("basket", pa.array([["x"], ["y", "z"], ["z"], ["x"], ["z"], ["z"]]))
    spec = rf.Spec(**RELEASES[kind])
    return rf.anonymize(table.select(list(spec.attributes)), spec)


@pytest.mark.parametrize("kind", RELEASES)
def test_every_file_of_a_release_is_documented(kind: str, tmp_path: Path) -> None:
    made(kind).save(tmp_path, "parquet", plots=kind == "global")
    described = quoted(section("What a run writes"))
    for file in (*tmp_path.iterdir(), *(tmp_path / "public").rglob("*"), *(tmp_path / "private").rglob("*")):
        name = "plots" if file.parent.name == "plots" else file.stem.removeprefix(".")
        assert name in described, f"{file.relative_to(tmp_path)} is not in docs/specification.md"


def test_every_kind_of_plan_is_documented_and_has_a_schema() -> None:
    schema = json.loads((DOCS / "plan.schema.json").read_text(encoding="utf-8"))
    kinds = [plan.kind for plan in plan_kinds()]
    assert {*kinds} == {*rows(section("What a run writes"))} & {*kinds}
    assert {*kinds} == {*RELEASES} - {"both"}
    for kind in kinds:
        saved = json.loads(made(kind).plan.dumps())
        jsonschema.validate(saved, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**saved, "kind": "another"}, schema)


# What is shown runs

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(path: Path, language: str) -> list[str]:
    """The blocks of a page in a language, in their order."""
    return [block for kind, block in FENCED.findall(path.read_text(encoding="utf-8")) if kind == language]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with sample people."""
    write_people(tmp_path, 400)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("path", [path for path in READ if shown(path, "python")], ids=lambda path: path.name)
def test_python_that_is_shown_runs_from_top_to_bottom(path: Path) -> None:
    names: dict[str, Any] = {}
    for block in shown(path, "python"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block, path.name, "exec"), names)
        told = re.sub(r"\s+", " ", said.getvalue())
        for promised in re.findall(r"^print\(.*\) +# ([A-Z].*?)(?: \.\.\.)?$", block, re.MULTILINE):
            assert promised in told


@pytest.mark.parametrize(
    ("path", "block"),
    [(path, block) for path in READ if path.name != "errors.md" for block in shown(path, "toml")],
    ids=lambda part: part.name if isinstance(part, Path) else part.split("\n")[0],
)
def test_toml_that_is_shown_is_a_specification_or_a_part_of_one(path: Path, block: str) -> None:  # noqa: ARG001
    given = tomllib.loads(block)
    if "attributes" in given:
        rf.Spec.loads(block)
        return
    rf.Spec(attributes={"age": {"role": "quasi"}}, **given)


PLACES = {
    **{"DIR": "out", "DATA": "people.csv", "SPEC": "people.toml", "FILE": "again.csv"},
    **{"RELEASE": "out/public/release.csv", "PLAN": "out/private/plan.json", "release.csv": "out/public/release.csv"},
}


def lines(path: Path) -> list[str]:
    """The commands that a page shows, without what is said of them."""
    found = [line for block in shown(path, "") for line in block.splitlines()]
    told = [re.split(r" {2,}| \[", line.removeprefix("$ "))[0] for line in found if re.match(r"(\$ )?ringfence ", line)]
    return [line for line in told if not line.startswith("ringfence studio")]  # which serves until it is ended


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    "path", [path for path in READ if path.name != "errors.md" and lines(path)], ids=lambda path: path.name
)
def test_commands_that_are_shown_run_from_top_to_bottom(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "tasks", lambda: ["levels"])  # what there is to compile, tests/test_warming.py says
    with contextlib.redirect_stdout(io.StringIO()):
        app(["run", "people.toml", "-o", "out", "--no-report"], standalone_mode=False)  # there is a release to judge
        for line in lines(path):
            words = [PLACES.get(word, word) for word in shlex.split(line)[1:]]
            if words[0] == "init":
                words[-1] = "drafted.toml"
            if words[0] == "demo" and "--rows" not in words:
                words += ["--rows", "500"]
            if words[0] == "compare" and "--budget" not in words:
                words += ["--budget", "2"]
            if words[0] == "check":  # of a run that proved something
                grouped = with_parts(rf.Spec.load("people.toml"), method={"name": "mondrian", "bound": "dual"})
                rf.run(grouped, "grouped", report=False)
                words[1:3] = ["grouped/private/certificate.json", "grouped/private/spec.toml"]
            app(words, standalone_mode=False)
