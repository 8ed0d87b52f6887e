"""No name of a column is taken: whatever the data calls its columns, methods do the same."""

from typing import Any

import pyarrow as pa
import pytest

import ringfence as rf

NAMES = ["group", "combination", "rows", "number", "first", "stop", "share", "turn", "key", "count", "which", "label"]


def release(name: str, method: str, limit: dict[str, Any]) -> rf.Release:
    data = pa.table({"age": [31, 32, 38, 39] * 3, name: ["A", "B", "A", "B"] * 3, "ill": ["a", "b", "c"] * 4})
    quasi = {"role": "quasi", "hierarchy": "flat"}
    spec = rf.Spec(
        data=limit,
        attributes={"age": quasi, name: quasi, "ill": {"role": "sensitive"}},
        privacy={"l": 2} if method == "anatomy" else {"k": 2},
        method={"name": method},
    )
    return rf.anonymize(data, spec)


@pytest.mark.parametrize("limit", [{}, {"memory_limit": "1GB"}], ids=["in memory", "by statements"])
@pytest.mark.parametrize("method", ["local", "cluster", "mondrian", "hilbert", "ring", "optimal", "anatomy"])
def test_columns_may_be_called_as_tables_of_ours_are(method: str, limit: dict[str, Any]) -> None:
    for name in NAMES:
        found = release(name, method, limit)
        assert found.audit.ok, name
        assert found.table.num_rows == 12
