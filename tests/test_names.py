"""What the code of the whole project keeps to."""

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "ringfence"


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


def test_one_name_is_one_thing() -> None:
    """Whoever reads of a class knows which one is meant, without looking where it was imported from."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for part in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(part, ast.ClassDef):
                homes[part.name].append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
