"""Charts that a process of its own draws: the same pictures, and nothing that stays."""

import os

import pytest

from ringfence.errors import SpecError
from ringfence.report import artist as at_work
from ringfence.report import vega
from ringfence.report.artist import artist, drawn
from ringfence.report.vega import Layer, layered

QUICKER = at_work._is_quicker  # as it is: other tests in this process draw their charts themselves
CHART = layered(
    Layer([{"place": "Ærø", "share": 0.4}, {"place": "Oslo", "share": 0.6}])
    .mark("bar")
    .encode(x="share:Q", y="place:N"),
    width=200,
    height=100,
)


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "_is_quicker", QUICKER)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def test_pictures_are_the_same_wherever_they_are_drawn() -> None:
    here = vega.svg(CHART), vega.png(CHART)
    with artist():
        assert drawn("svg", CHART) == here[0].encode()
        assert drawn("png", CHART) == here[1]
        assert (vega.svg(CHART), vega.png(CHART)) == here
    assert drawn("svg", CHART) is None


def test_the_process_ends_with_the_command() -> None:
    with artist():
        (process,) = at_work._AT_WORK
        assert process.poll() is None
    assert process.returncode is not None
    assert at_work._AT_WORK == []


def test_the_process_ends_with_a_command_that_fails() -> None:
    seen = []

    def fail() -> None:
        with artist():
            seen.extend(at_work._AT_WORK)
            raise SpecError("no k")

    with pytest.raises(SpecError):
        fail()
    assert seen[0].returncode is not None
    assert at_work._AT_WORK == []


def test_a_process_without_input_ends_by_itself() -> None:
    """As it has none when the command was killed."""
    with artist():
        (process,) = at_work._AT_WORK
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("chart", [CHART, {"mark": "no such mark"}], ids=["killed", "at fault"])
def test_what_it_cannot_draw_is_drawn_here(chart: vega.Chart) -> None:
    with artist():
        if chart is CHART:
            (process,) = at_work._AT_WORK
            process.kill()
            process.wait()
            assert vega.svg(chart).startswith("<svg")
        else:
            with pytest.raises(ValueError, match="conversion failed"):
                vega.svg(chart)
            assert drawn("svg", CHART) is None  # it has ended


@pytest.mark.parametrize(("wanted", "processors"), [(False, 2), (True, 1)])
def test_none_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch, wanted: bool, processors: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    with artist(wanted):
        assert at_work._AT_WORK == []
