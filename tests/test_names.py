"""One name, one thing: what is called alike in two places makes readers think that it is the same."""

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "ringfence"


def test_no_two_classes_have_the_same_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        parts = ast.parse(path.read_text(encoding="utf-8")).body
        for part in parts:
            if isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
                homes[part.name].append(str(path.relative_to(SOURCE)))
    assert len(homes) > 200
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_nobody_asks_which_kind_a_plan_is() -> None:
    """Plans say themselves what is published. What needs one kind asserts that it has it, and does nothing else
    otherwise; so no list of kinds stands anywhere but in the page that a kind has."""
    asking = []
    for path in SOURCE.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"isinstance\([^)]*Plan\b|case \w*Plan\(", line) and not line.lstrip().startswith(
                "assert isinstance("
            ):
                asking.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert asking == []
