"""The audit stands alone: what it imports is on a list, also inside functions, and the linter has the same list."""

import ast
import tomllib
from pathlib import Path

import pytest

import ringfence

ROOT = Path(__file__).parents[2]
AUDIT = Path(ringfence.__file__).parent / "audit"
ALLOWED = {
    *(
        "ringfence.spec",
        "ringfence.spec.attributes",
        "ringfence.spec.checking",
        "ringfence.spec.data",
        "ringfence.spec.hierarchies",
        "ringfence.spec.method",
        "ringfence.spec.privacy",
        "ringfence.spec.written",
        "ringfence.errors",
        "ringfence.arrays",
    ),
    "ringfence.compiling",  # how numba compiles, and where that is kept
    "ringfence.keeping",  # what was made of the same words is not made again
    "ringfence.spec.regions",  # facts that a specification means: which country is where
    *(
        "ringfence.rows.coded",  # texts as numbers, read as the texts that they are
        "ringfence.rows.engine",
        "ringfence.rows.in_python",  # cells as Python has them, or a refusal
        "ringfence.rows.sources",
        "ringfence.rows.columns",
        "ringfence.rows.basket_rows",
        "ringfence.rows.item_columns",
        "ringfence.rows.measured",  # which columns of an original hold dates or numbers: no label is read by it
    ),
}
MARKUP = {"verdict.py": {"ringfence.markup"}}


def imported(source: str) -> set[str]:
    """Return the modules of ours that a source names, wherever it does; of `from a import b`, a, and a.b if a is us."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            package = node.module in ("ringfence", "ringfence.audit")
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if package else {node.module or ""}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("ringfence."):
            found.add(node.value)  # as import_module would have it
    return {name for name in found if name.split(".")[0] == "ringfence"}


@pytest.mark.parametrize("module", sorted(AUDIT.glob("**/*.py")), ids=lambda path: path.name)
def test_imports_are_on_the_list(module: Path) -> None:
    others = {name for name in imported(module.read_text(encoding="utf-8")) if not name.startswith("ringfence.audit")}
    assert others <= ALLOWED | MARKUP.get(module.name, set())


def test_imports_are_found_wherever_they_stand() -> None:
    source = "def f():\n    from ringfence import api\n    import ringfence.cli as c\n    load('ringfence.samples')"
    assert imported(source) == {"ringfence.api", "ringfence.cli", "ringfence.samples"}


def test_the_linter_has_the_same_list() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (each for each in settings["contracts"] if each.get("source_modules") == ["ringfence.audit"])
    assert contract["forbidden_modules"] == ["ringfence.*"]
    allowed = {tuple(line.split(" -> ")) for line in contract["ignore_imports"]}
    assert allowed == {("ringfence.audit.**", name) for name in ALLOWED} | {
        ("ringfence.audit.verdict", "ringfence.markup")
    }
