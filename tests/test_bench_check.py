"""`make bench-check`: what got worse is noticed, and what is recorded of the search over levels still holds."""

import json

import pytest

from benchmarks import check
from ringfence.search.recode.lattice import _LevelSearch
from ringfence.spec import Spec

RECORDED = json.loads(check.RECORDED.read_text(encoding="utf-8"))


def of_levels() -> dict[str, check.Figures]:
    return {case: figures for case, figures in RECORDED.items() if case.startswith("levels")}


def test_the_search_over_levels_does_the_work_that_is_recorded() -> None:
    assert check.compared(dict(check.levels()), of_levels())[0] == []


def test_a_search_that_rules_nothing_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_LevelSearch, "_hopeless", lambda *_: False)
    worse, _ = check.compared(dict(check.levels()), of_levels())
    assert any(line.startswith("levels, glm, 0%: nodes") for line in worse)


def test_calls_are_counted() -> None:
    def made(times: int) -> check.Figures:
        return check.counted(lambda: [Spec(attributes={"age": {"role": "quasi"}}) for _ in range(times)])

    once, thrice = made(1), made(3)
    assert once["functions"] > 0
    assert thrice["functions"] == 3 * once["functions"]
