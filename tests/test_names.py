"""What the code of the whole project keeps to."""

import re
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
