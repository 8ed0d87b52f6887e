"""The errors that users meet, each with what provokes it: `python -m tests.error_cases` writes docs/errors.md anew.

A test compares the page with what the commands really print, and fails when they drift apart.
"""

import contextlib
import io
import os
import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
RUN = "ringfence run spec.toml -o out"

SPEC = """\
[data]
source = "people.csv"

[attributes.age]
role = "quasi"
hierarchy = { intervals = [5, 10] }

[attributes.city]
role = "quasi"
hierarchy = { tree = { East = ["Oslo", "Hamar"], West = ["Bergen", "Voss"] } }

[attributes.illness]
role = "sensitive"

[privacy]
k = 2
"""
PLAN = """\
{
  "format": "ringfence plan 2",
  "kind": "global",
  "columns": {"age": {"level": 1, "leaves": ["31", "33"], "labels": ["[30, 35)", "[30, 35)"]}},
  "suppressed": [],
  "suppressed_rows": 0,
  "masked": false,
  "complete": [],
  "spec": ""
}
"""
PEOPLE = "age,city,illness\n31,Oslo,flu\n33,Oslo,cold\n41,Voss,flu\n44,Bergen,flu\n"


BASKETS = """\
[data]
source = "baskets.csv"

[attributes.basket]
role = "items"
separator = ";"
hierarchy = { tree = { Dairy = ["milk", "brie"], Drink = ["wine", "beer"] } }

[privacy]
k = 2
m = 2

[method]
name = "itemsets"
"""
SHOPPING = "basket\nmilk;wine\nbrie;wine\nbeer\n"


def baskets(title: str, swap: tuple[str, str] = ("", ""), shopping: str = SHOPPING) -> "ErrorCase":
    """Return a case of baskets: what is changed in a specification and a table that would nearly work."""
    assert swap[0] in BASKETS
    files = {"baskets.toml": BASKETS.replace(*swap) if swap[0] else BASKETS, "baskets.csv": shopping}
    return ErrorCase(title, people=None, command="ringfence run baskets.toml -o out", files=files)


@dataclass(frozen=True)
class ErrorCase:
    """A title, what is changed in a specification and a table that would work, and the command."""

    title: str
    swap: tuple[str, str] = ("", "")
    people: str | bytes | None = PEOPLE
    command: str = RUN
    files: dict[str, str] = field(default_factory=dict)
    before: str | None = None

    def provoke(self) -> tuple[int, str]:
        """Run the command in a folder of its own; return its exit code and what it says on stderr."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            assert self.swap[0] in SPEC
            Path("spec.toml").write_text(SPEC.replace(*self.swap) if self.swap[0] else SPEC, encoding="utf-8")
            if self.people is not None:
                Path("people.csv").write_bytes(self.people.encode() if isinstance(self.people, str) else self.people)
            for name, content in self.files.items():
                Path(name).write_text(content, encoding="utf-8")
            for command in [self.before] if self.before else []:
                assert _run(command)[0] == 0
            code, said = _run(self.command)
            assert code == 0 or self.before or not Path("out").exists(), "a failed run left a folder behind"
            return code, said


def _run(command: str) -> tuple[int, str]:
    argv, sys.argv = sys.argv, shlex.split(command)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            main()
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    finally:
        sys.argv = argv
    return 0, said.getvalue()


CASES: dict[str, list[ErrorCase]] = {
    "The specification": [
        ErrorCase("There is no such file", command="ringfence run nowhere.toml -o out"),
        ErrorCase("It is not TOML", ("[privacy]", "[privacy")),
        ErrorCase("An unknown key", ('role = "sensitive"', 'role = "sensitive"\nhierachy = "flat"')),
        ErrorCase("An unknown role", ('role = "sensitive"', 'role = "sensitiv"')),
        ErrorCase("A k that is none", ("k = 2", "k = -2")),
        ErrorCase("A share above 1", ("k = 2", "k = 2\n[method]\nsuppression = 5")),
        ErrorCase("A promise of nothing", ("k = 2", "")),
        ErrorCase("Diversity of an attribute that is not sensitive", ("k = 2", 'k = 2\nl = { value = 2, of = "age" }')),
        ErrorCase("Widths that do not nest", ("[5, 10]", "[5, 8]")),
        ErrorCase("An unknown kind of hierarchy", ("intervals = [5, 10]", "interval = 5")),
        ErrorCase(
            "A boundary that the hierarchy does not have",
            ("[attributes.illness]", 'boundary = ["Est"]\n[attributes.illness]'),
        ),
        ErrorCase("A level above the hierarchy", ("k = 2", 'k = 2\n[method]\nname = "levels"\nlevels = { age = 7 }')),
        ErrorCase("A key that the method does not look at", ("k = 2", 'k = 2\n[method]\neffort = "best"')),
        ErrorCase(
            "A loss that the method cannot keep small",
            ("k = 2", 'k = 2\n[method]\nname = "local"\nmetric = "dm"'),
        ),
        ErrorCase(
            "A memory limit of nothing",
            ('source = "people.csv"', 'source = "people.csv"\nmemory_limit = "0GB"'),
        ),
        ErrorCase("A quasi-identifier without a hierarchy", ("hierarchy = { intervals = [5, 10] }", "")),
        ErrorCase(
            "A key that the source has no use for", ('source = "people.csv"', 'source = "people.csv"\ntable = "people"')
        ),
        ErrorCase(
            "People told apart by what is published", ('source = "people.csv"', 'source = "people.csv"\nentity = "age"')
        ),
    ],
    "Hierarchy files": [
        ErrorCase("There is no such file", ("{ intervals = [5, 10] }", '{ file = "age.csv" }')),
        ErrorCase(
            "A leaf that stands twice",
            ("{ intervals = [5, 10] }", '{ file = "age.csv" }'),
            files={"age.csv": "31;30-39;*\n31;40-49;*\n"},
        ),
        ErrorCase(
            "A label for two groups",
            ("{ intervals = [5, 10] }", '{ file = "age.csv" }'),
            files={"age.csv": "31;young;a;*\n33;young;b;*\n"},
        ),
    ],
    "The data": [
        ErrorCase("There is no such file", people=None),
        ErrorCase("An empty file", people=""),
        ErrorCase("No rows", people="age,city,illness\n"),
        ErrorCase("A column that is not there", people=PEOPLE.replace("city", "town")),
        ErrorCase("A column without a role", people="age,city,illness,note\n31,Oslo,flu,x\n"),
        ErrorCase("Names that differ in case only", people="age,Age,city,illness\n31,31,Oslo,flu\n"),
        ErrorCase("A value that the hierarchy does not cover", people=PEOPLE.replace("Voss", "Vos")),
        ErrorCase("Text where numbers should be", people=PEOPLE.replace("41", "forty")),
        ErrorCase("A row with too many fields", people=PEOPLE.replace("41,Voss", "41,Voss,tall")),
        ErrorCase("Another delimiter", people=PEOPLE.replace(",", ";")),
        ErrorCase("A decimal comma", people=PEOPLE.replace("31,", '"31,5",')),
        ErrorCase("A quote that does not end", people=PEOPLE.replace("41,", '"41,')),
        ErrorCase("Another encoding", people=PEOPLE.replace("Voss", "Vøss").encode("latin-1")),
        ErrorCase(
            "Missing values that may not be",
            ("[attributes.age]", 'missing = "error"\n[attributes.age]'),
            PEOPLE.replace("41", ""),
        ),
    ],
    "Promises that cannot be kept": [
        ErrorCase("More people than there are", ("k = 2", "k = 5")),
        ErrorCase("More values than there are", ("k = 2", "l = 3")),
        ErrorCase("Levels that are too fine", ("k = 2", 'k = 2\n[method]\nname = "levels"\nlevels = { age = 1 }')),
    ],
    "Baskets": [
        baskets("An item that the tree does not have", shopping=SHOPPING.replace("beer", "bear")),
        baskets("Text without a separator", ('separator = ";"\n', "")),
        baskets("A boundary that is too low", ("[privacy]", "boundary = { level = 0 }\n\n[privacy]")),
        baskets("Fewer baskets than k", ("k = 2", "k = 4")),
        baskets(
            "Rows of a basket that disagree",
            ('source = "baskets.csv"', 'source = "baskets.csv"\nbasket_id = "receipt"\nunlisted = "publish"'),
            "receipt,basket,shop\n1,milk,A\n1,wine,B\n2,milk,A\n",
        ),
    ],
    "Audits": [
        ErrorCase("There is no such file", command="ringfence audit release.csv spec.toml"),
        ErrorCase(
            "A release without classes, judged without the original",
            ("k = 2", 'k = 2\n[method]\nname = "ring"'),
            command="ringfence audit people.csv spec.toml",
        ),
        ErrorCase(
            "Presence without a population",
            ("k = 2", "k = 2\npresence = { high = 0.5 }"),
            command="ringfence audit people.csv spec.toml",
        ),
        ErrorCase("An attack without the original", command="ringfence audit people.csv spec.toml --attack linkage"),
        ErrorCase("An unknown attack", command="ringfence audit people.csv spec.toml --attack brute"),
        ErrorCase(
            "A column without which nothing can be judged",
            command="ringfence audit release.csv spec.toml",
            files={"release.csv": "age,illness\n31,flu\n"},
        ),
    ],
    "Plans": [
        ErrorCase("There is no such file", command="ringfence apply plan.json people.csv -o new.csv"),
        ErrorCase("It is not a plan", command="ringfence apply spec.toml people.csv -o new.csv"),
        ErrorCase(
            "A value that the plan does not know",
            command="ringfence apply out/private/plan.json new.csv -o again.csv",
            files={"new.csv": PEOPLE.replace("31", "77")},
            before=f"{RUN} --no-report",
        ),
        ErrorCase(
            "Rows that cannot keep the plan's promise",
            ("k = 2", "k = 2\n[method]\nsuppression = 0.1"),
            command="ringfence apply out/private/plan.json new.csv -o again.csv",
            files={"new.csv": "age,city,illness\n31,Oslo,flu\n44,Voss,flu\n"},
            before=f"{RUN} --no-report",
        ),
        ErrorCase(
            "A plan to begin with, for a method that cannot",
            ("k = 2", 'k = 2\n[method]\nname = "mondrian"'),
            command=f"{RUN} --start plan.json",
            files={"plan.json": PLAN},
        ),
        ErrorCase(
            "A plan to begin with that was made for other columns",
            command=f"{RUN} --start plan.json",
            files={"plan.json": PLAN},
        ),
    ],
    "The command": [
        ErrorCase("An output that is a file", command="ringfence run spec.toml -o people.csv"),
    ],
}


INTRODUCTION = """\
# Errors

Each error that you can meet, with what provokes it and what is printed. Errors go to stderr, in one sentence; with
`--json` as `{{"error": {{"kind": ..., "message": ...}}}}`; with `--debug` after the traceback. Exit codes: 1 the
promise does not hold (`audit`, `apply`); 2 bad input, or it could not be judged; 3 no release can satisfy the
specification.

This page is made from what the commands print. Unless something else is shown, they run on this table and this
specification:

```
{people}```

```toml
{spec}```
"""


def page() -> str:
    """Return the page as it should be."""
    parts = [INTRODUCTION.format(people=PEOPLE, spec=SPEC)]
    for title, cases in CASES.items():
        parts.append(f"## {title}\n")
        for case in cases:
            code, said = case.provoke()
            shown = f"```\n$ {case.command}\n{said.rstrip()}\n```\n\nExit code {code}.\n"
            parts.append(f"### {case.title}\n\n{_provocation(case)}{shown}")
    return "\n".join(parts)


def _provocation(case: ErrorCase) -> str:
    """Say what differs from what would work."""
    lines = []
    if case.swap[0]:
        new = case.swap[1].strip()
        lines.append(f"With `{case.swap[0]}` " + (f"changed to\n\n```toml\n{new}\n```\n" if new else "taken out.\n"))
    if isinstance(case.people, bytes):
        lines.append("With a table in Latin-1 that has `Vøss` in it.\n")
    elif case.people is None and not case.files:
        lines.append("Without the table.\n")
    elif case.people is not None and case.people != PEOPLE:
        lines.append(f"With the table\n\n```\n{case.people}```\n")
    lines += [f"With a file `{name}`:\n\n```\n{content}```\n" for name, content in case.files.items()]
    if case.before:
        lines.append(f"After `{case.before}`.\n")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"
    PAGE.write_text(page(), encoding="utf-8")
