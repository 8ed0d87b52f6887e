"""Text files of tests in this folder go by statements of the engine, as larger ones do; elsewhere, tests have them held
in memory."""

import pytest

from ringfence.rows import duckdb_lines


@pytest.fixture(autouse=True)
def _no_text_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_lines, "SMALL", 0)
