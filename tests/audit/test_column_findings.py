"""Columns that say nothing are no identifiers any more; numbers that have both zeros tell rows apart. Both are the same
where a table is looked at in memory, where that is left to the engine, and where only some columns can be looked at."""

from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf

SAY_NOTHING = {"stars": ["*"] * 6, "gaps": [None] * 6, "empty": [""] * 6, "no numbers": pa.nulls(6, pa.int64())}
SAY_SOMETHING = {
    "some stars": ["*", None] * 3,
    "some empty": ["", None] * 3,
    "stars and empty": ["*", ""] * 3,
    "one value": ["x"] * 6,
    "numbers": [1] * 6,
    "lists": [[1]] * 6,
}
WAYS: list[Any] = [{}, {"memory_limit": "1GB"}]


def audited(data: dict[str, Any], columns: dict[str, Any], rows: int = 6) -> Any:
    table = pa.table({"age": [31, 32] * 3, **columns}).slice(0, rows)
    return rf.audit(table, rf.Spec(attributes={"age": {"role": "quasi"}}, privacy={"k": 1}, data=data))


@pytest.mark.parametrize("data", WAYS)
def test_columns_that_say_nothing_are_passed_over(data: dict[str, Any]) -> None:
    assert audited(data, SAY_NOTHING).ok
    for name, cells in SAY_SOMETHING.items():
        (finding,) = audited(data, {**SAY_NOTHING, name: cells}).findings
        assert finding.rule == "unlisted"
        assert finding.message == f"the release has columns without a role: {name!r}"


@pytest.mark.parametrize("data", WAYS)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_both_zeros_are_found(data: dict[str, Any], kind: pa.DataType) -> None:
    numbers = {
        "both": pa.array([0.0, -0.0, 1, None, 2, 3], kind),
        "plain": pa.array([0.0, 0.0, 1, None, 2, -3], kind),
        "signed": pa.array([-0.0, -0.0, 1, None, 2, -3], kind),
        "gaps": pa.nulls(6, kind),
    }
    found = audited({**data, "unlisted": "publish"}, numbers).findings
    assert [finding.message.split()[0] for finding in found] == ["'both'"]
