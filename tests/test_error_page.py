"""The page of errors says what the commands print."""

import pytest

from tests.error_cases import CASES, PAGE, ErrorCase, page


def test_the_page_is_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.error_cases` and look at what changed"


@pytest.mark.parametrize("case", [case for cases in CASES.values() for case in cases], ids=lambda case: case.title)
def test_every_error_is_a_sentence_that_helps(case: ErrorCase) -> None:
    code, said = case.provoke()
    assert code in (1, 2, 3)
    assert "Traceback" not in said
    assert "please report" not in said
    assert "mistake in Ringfence" not in said
    assert said.startswith("error: ")
    assert said.endswith("\n")
    assert said.count("\n") == 1
